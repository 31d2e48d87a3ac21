//! Random mixtures of technologies below one root complex: DMA engines, a storage adapter with its targets, and a
//! channel adapter of a small cluster share its memory, perhaps a switch, and the links between.

use super::Choices;

/// Links of PCIe, some too narrow for what is behind them.
const SLOTS: [&str; 6] = ["gen1 x1", "gen1 x4", "gen2 x8", "gen3 x4", "gen3 x16", "gen4 x8"];

/// A scenario of these bytes.
pub(crate) fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let mut text = "[parts.host]\nis = \"root-complex\"\n".to_owned();
    text += &c.maybe(|c| format!("memory_bandwidth = \"{} MB/s\"\n", c.about(500, 20_000)));
    text += &c.maybe(|c| format!("reads_in_flight = {}\n", c.about(1, 64)));
    let switched = c.below(3) > 0;
    let upper = if switched { "sw.down" } else { "host" };
    if switched {
        text += "[parts.sw]\nis = \"switch\"\n";
        text += &c.maybe(|_| "queues = \"fifo\"\n".into());
        text += &format!("[links.uplink]\nbetween = [\"host\", \"sw.up\"]\npcie = \"{}\"\n", c.of(&SLOTS));
    }
    let slot = |c: &mut Choices, part: &str| {
        format!("[links.slot-{part}]\nbetween = [\"{upper}\", \"{part}\"]\npcie = \"{}\"\n", c.of(&SLOTS))
    };
    for d in 0..1 + c.below(3) {
        let part = format!("d{d}");
        text += &format!("[parts.{part}]\nis = \"endpoint\"\n");
        text += &c.maybe(|c| format!("tags = {}\nengines = {}\n", c.about(1, 64), 1 + c.below(3)));
        text += &slot(&mut c, &part);
        let load = match c.below(4) {
            0 => format!("{{ outstanding = {} }}", c.about(1, 64)),
            1 => format!("{{ rate = \"{} MB/s\" }}", c.about(1, 150)),
            _ => "\"saturate\"".into(),
        };
        let (way, size) = (c.of(&["write", "read", "alternate"]), c.about(1, 20_000));
        text += &format!(
            "[flows.dma{d}]\nfrom = \"{part}\"\nto = \"host.memory\"\ndo = \"{way}\"\nsize = \"{size} B\"\nload = \
                {load}\n"
        );
    }
    if c.below(3) > 0 {
        text += "[parts.hba]\nis = \"host-adapter\"\n[parts.t]\ncount = 2\ncapacity = \"16 MiB\"\n";
        text += c.of(&["is = \"ram-disk\"\n", "is = \"ssd\"\n"]);
        text += &slot(&mut c, "hba");
        let wire = c.of(&["fc = \"4GFC\"", "sas = \"6G\"", "fc = \"16GFC\""]);
        text += &format!("[links.wire]\nbetween = [\"hba\", \"t.*\"]\n{wire}\n");
        let (size, read) = (c.about(512, 200_000), c.of(&["0", "100", "60"]));
        text += "[flows.ios]\nfrom = \"host\"\nto = \"t.*\"\ndo = \"io\"\n";
        text += &format!("access = {{ size = \"{size} B\", read = \"{read} %\" }}\n");
        text += &format!("outstanding = {}\nworkers = {}\n", c.about(1, 16), 1 + c.below(2));
    }
    if c.below(3) > 0 {
        text += "[parts.ca]\nis = \"channel-adapter\"\n[parts.far]\nis = \"channel-adapter\"\ncount = 2\n";
        text += &slot(&mut c, "ca");
        let (is, wire) = match c.below(2) {
            0 => ("infiniband-switch", format!("infiniband = \"{}\"", c.of(&["sdr 4x", "qdr 4x", "edr 4x"]))),
            _ => (
                "ethernet-switch\"\nflow_control = \"pfc",
                format!("ethernet = \"{}\"\nmtu = \"9000 B\"", c.of(&["10 Gb/s", "100 Gb/s"])),
            ),
        };
        text += &format!("[parts.fabric]\nis = \"{is}\"\n[links.cable]\nbetween = [\"fabric\", \"ca\"]\n{wire}\n");
        text += &format!("[links.cables]\nbetween = [\"fabric\", \"far.*\"]\n{wire}\n");
        let program = c.of(&[
            "allreduce 200 KiB",
            "alltoall 64 KiB",
            "bcast 1 MiB",
            "sendrecv 4 KiB to (rank + 1) % ranks from (rank - 1) % ranks",
        ]);
        text +=
            &format!("[flows.job]\ndo = \"mpi\"\nranks = [\"ca\", \"far.0\", \"far.1\"]\nprogram = \"{program}\"\n");
        text += &c.maybe(|c| {
            let program =
                c.of(&["repeat 4 { alltoall 32 KiB }", "repeat 9 { sendrecv 100 KiB to 1 - rank from 1 - rank }"]);
            format!("[flows.beside]\ndo = \"mpi\"\nranks = [\"ca\", \"far.1\"]\nprogram = \"{program}\"\n")
        });
    }
    text + "[run]\nfor = \"500 us\"\nwarmup = \"0 s\"\nmax_packets = 60000\n"
}
