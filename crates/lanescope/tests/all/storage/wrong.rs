//! What a user can write wrongly about storage: each message stands at its place and says what to do.

use super::{HOST, IO, RAM};
use crate::common::{has_at as has, plan, wrong};

const GOOD: &str = r#"
[parts.disk]
is = "disk"
count = 4
[links.bus]
between = ["hba", "disk.*"]
scsi = "ultra320"
[parts.lun]
is = "array"
level = "raid5"
disks = ["disk.*"]
[flows.array]
from = "host"
to = "lun"
do = "io"
access = { size = "64 KiB" }
"#;

/// The good scenario, with a cache.
fn text() -> String {
    let host = HOST.replace("status_bytes = \"64 B\"", "status_bytes = \"64 B\"\ncache = \"64 MiB\"");
    format!("{host}{RAM}{IO}access = {{ size = \"2 KiB\" }}\n{GOOD}")
}

/// The same with something else in the place of a piece of it.
fn broken(old: &str, new: &str) -> String {
    let text = text();
    assert!(text.contains(old), "there is no {old:?}");
    wrong(&text.replacen(old, new, 1), &[])
}

#[test]
fn the_good_one_is_good() {
    let (p, d) = plan(&text(), &[]);
    assert!(p.is_some(), "{d}");
}

#[test]
fn access_specifications() {
    let access = "access = { size = \"2 KiB\" }";
    let of = |line: &str| broken(access, &format!("access = {line}"));
    has(
        &of("[{ size = \"2 KiB\", share = \"50 %\" }, { size = \"4 KiB\", share = \"40 %\" }]"),
        &["add up to 90 %", "access"],
    );
    has(&of("{ size = \"0 B\" }"), &["1 B to 1 GiB"]);
    has(&of("{ size = \"2 GiB\" }"), &["1 B to 1 GiB"]);
    has(&of("{ size = \"-1 B\" }"), &["a size cannot be negative"]);
    has(&of("{ size = \"99999999999999999999 B\" }"), &["99999999999999999999"]);
    has(&of("{ size = \"2 KiB\", read = \"101 %\" }"), &["percentage from 0 to 100"]);
    has(&of("{ size = \"2 KiB\", read = \"-1 %\" }"), &["percentage from 0 to 100"]);
    has(&of("{ size = \"2 KiB\", read = \"nan %\" }"), &["percentage from 0 to 100"]);
    has(&of("{ size = \"2 KiB\", random = 50 }"), &["percentage from 0 to 100", "67 %"]);
    has(&of("{ size = \"2 KiB\", read = \"33.333 %\" }"), &["finer than 0.01 %"]);
    has(&of("{ size = \"2 KiB\", raed = \"0 %\" }"), &["no key \"raed\"", "did you mean read?"]);
    has(&of("{ read = \"0 %\" }"), &["needs its size"]);
    has(&of("{ size = \"2 KiB\", burst = 0 }"), &["burst = 0"]);
    has(&of("{ size = \"2 KiB\", delay = \"-1 ms\" }"), &["a duration cannot be negative"]);
    has(&of("[]"), &["1 to 100 lines"]);
    let many = vec!["{ size = \"2 KiB\", share = \"1 %\" }"; 101].join(", ");
    has(&of(&format!("[{many}]")), &["1 to 100 lines"]);
    has(&broken(access, ""), &["neither access nor test", "access = {"]);
    has(&broken(access, &format!("{access}\ntest = \"read\"")), &["has access and test", "one of the two"]);
    has(&broken(access, "test = \"raed\""), &["raed", "did you mean"]);
    has(&broken(access, "test = \"read\"\nrecord = \"0 B\""), &["record = 0 B", "1 B to 1 GiB"]);
    has(&broken(access, "test = \"read\"\nrequest = \"2 GiB\""), &["request = 2 GiB", "1 B to 1 GiB"]);
}

#[test]
fn how_many_and_how_much() {
    let access = "access = { size = \"2 KiB\" }";
    let with = |line: &str| broken(access, &format!("{access}\n{line}"));
    has(&with("outstanding = 0"), &["outstanding"]);
    has(&with("outstanding = 1000000"), &["1000000 I/Os outstanding", "at most 65536"]);
    has(&with("workers = 0"), &["workers"]);
    has(&with("workers = 4000000000"), &["a count is at most 16777216"]);
    has(&with("outstanding = 65536\nworkers = 100"), &["I/Os in flight", "at most 1048576"]);
    has(&with("workers = 2000000"), &["2000000 pairs of a worker and a target", "at most"]);
    has(&with("file = \"0 B\""), &["a file of 0 B", "leave file out"]);
    has(&with("file = \"2 GiB\""), &["a file of 2 GiB on ram, which holds 1 GiB", "at most"]);
    has(&with("file = \"1 KiB\""), &["an I/O of 2 KiB in a range of 1 KiB", "file"]);
    has(&broken("latency = \"20 us\"", "capacity = \"1 KiB\""), &["an I/O of 2 KiB in a range of 1 KiB", "ram"]);
    has(&broken("latency = \"20 us\"", "capacity = \"100 B\""), &["a RAM disk of 100 B", "a sector"]);
    has(&broken("latency = \"20 us\"", "rate = \"0 B/s\""), &["rate"]);
    has(&broken("latency = \"20 us\"", "capacity = \"-1 GiB\""), &["a size cannot be negative"]);
    let test = |line: &str| broken(access, line);
    has(&test("test = \"read\"\nfile = \"4 KiB\""), &["an I/O of 256 KiB in a range of 4 KiB", "request"]);
    has(&test("test = \"random-read\"\nfile = \"4 KiB\""), &["an I/O of 64 KiB in a range of 4 KiB", "record"]);
}

#[test]
fn rates_and_starts() {
    let access = "access = { size = \"2 KiB\" }";
    let with = |line: &str| broken(access, &format!("{access}\n{line}"));
    has(&with("rate = 0"), &["0 would never move anything", "at least 1"]);
    has(&with("rate = \"5 MB/s\""), &["whole number"]);
    has(&with("rate = 1.5"), &["whole number"]);
    has(&with("rate = 4000000000"), &["a count is at most 16777216"]);
    has(&with("rate = 5\narrivals = \"poison\""), &["poison", "did you mean"]);
    has(&with("start = \"1 GiB\""), &["a start of 1 GiB on ram, which holds 1 GiB", "below 1 GiB"]);
    has(&with("start = \"-1 B\""), &["a size cannot be negative"]);
    has(&with("start = \"1 B\"\nfile = \"1 GiB\""), &["a file of 1 GiB behind the first 1 B of ram", "at most"]);
    let end = with("start = \"1073741312 B\"");
    has(&end, &["an I/O of 2 KiB in a range of 512 B", "an earlier start"]);
    // Without a rate there is nothing to space.
    let (p, d) = plan(&text().replacen(access, &format!("{access}\narrivals = \"poisson\""), 1), &[]);
    assert!(p.is_some() && d.to_string().contains("arrivals is not used"), "{d}");
}

#[test]
fn lists_of_targets() {
    let to = |list: &str| broken("to = \"ram\"", &format!("to = {list}"));
    has(&to("[]"), &["has no target", "disks, SSDs, NVMe drives, RAM disks and arrays"]);
    has(&to("[\"ram\", \"rma\"]"), &["there is no part \"rma\"", "did you mean ram?"]);
    has(&to("[\"ram\", 3]"), &["a name in quotes"]);
    has(&to("[\"disk.1\", \"ram\", \"disk.*\"]"), &["disk.1 is named twice", "outstanding"]);
    has(&to("[\"ram\", \"hba\"]"), &["hba cannot be read or written"]);
    has(&to("[\"ram\", \"disk\"]"), &["which disk?", "disk.0 to disk.3"]);
}

#[test]
fn who_and_where() {
    let from = "from = \"host\"\nto = \"ram\"";
    has(&broken(from, "from = \"hba\"\nto = \"ram\""), &["\"hba\" is not a host", "root complex"]);
    has(&broken(from, "from = \"hots\"\nto = \"ram\""), &["\"hots\" is not a host", "did you mean host?"]);
    has(
        &broken(from, "from = \"host\"\nto = \"hba\""),
        &["hba cannot be read or written", "disks, SSDs, NVMe drives, RAM disks and arrays"],
    );
    has(
        &broken(from, "from = \"host\"\nto = \"host.memory\""),
        &["host.memory", "disks, SSDs, NVMe drives, RAM disks and arrays"],
    );
    has(&broken(from, "from = \"host\"\nto = \"rma\""), &["rma", "did you mean ram?"]);
    let switch = format!(
        "{}[parts.sw]\nis = \"switch\"\n",
        text().replace("between = [\"host\", \"hba\"]", "between = [\"sw.down.0\", \"hba\"]")
    );
    let switch = format!("{switch}[links.up]\nbetween = [\"host\", \"sw.up\"]\npcie = \"gen1 x4\"\n");
    has(
        &wrong(&switch.replacen(from, "from = \"sw\"\nto = \"ram\"", 1), &[]),
        &["\"sw\" is not a host", "root complex"],
    );
    assert!(plan(&switch, &[]).0.is_some());
    let two = format!(
        "{}[parts.other]\nis = \"root-complex\"\n[parts.card]\nis = \"endpoint\"\n[links.b]\nbetween = [\"other\", \
            \"card\"]\npcie = \"gen1 x4\"\n",
        text()
    );
    has(
        &wrong(&two.replacen(from, "from = \"other\"\nto = \"ram\"", 1), &[]),
        &["ram is attached to hba, which is not other's"],
    );
    // The drive of another socket: whose it is, and what to write.
    let sockets = "[parts.s]\nis = \"root-complex\"\ncount = 2\n[parts.d]\nis = \"nvme\"\n[links.between]\n\
        between = [\"s.0\", \"s.1\"]\ncoherent = \"60 GB/s\"\n[links.b]\nbetween = [\"s.1\", \"d\"]\n\
        pcie = \"gen4 x4\"\n[flows.f]\nfrom = \"s.0\"\nto = \"d\"\ndo = \"io\"\naccess = { size = \"4 KiB\" }\n";
    has(&wrong(sockets, &[]), &["d is below s.1, not s.0", "another socket", "from = \"s.1\""]);
    assert!(plan(&sockets.replace("from = \"s.0\"", "from = \"s.1\""), &[]).0.is_some());
}

#[test]
fn arrays() {
    has(&broken("disks = [\"disk.*\"]", "disks = [\"disk.0\", \"disk.1\"]"), &["raid5 of 2 disks", "at least three"]);
    has(&broken("raid5", "raid1"), &["raid1 of 4 disks", "raid10"]);
    has(
        &broken("disks = [\"disk.*\"]", "disks = [\"disk.0\", \"disk.1\", \"disk.0\"]"),
        &["disk.0 is in the array twice"],
    );
    has(&broken("disks = [\"disk.*\"]", "disks = [\"disk.*\", \"disk.1\"]"), &["is in the array twice"]);
    has(&broken("disks = [\"disk.*\"]", "disks = [\"disk.*\", \"hba\"]"), &["hba is not a disk"]);
    has(&broken("disks = [\"disk.*\"]", "disks = []"), &["disks"]);
    has(
        &broken("disks = [\"disk.*\"]", "disks = [\"disk.*\"]\nstrip = \"1000 B\""),
        &["does not divide into sectors", "512 B"],
    );
    has(&broken("disks = [\"disk.*\"]", "disks = [\"disk.*\"]\nstrip = \"0 B\""), &["does not divide into sectors"]);
    let small = text().replace("count = 4", "count = 4\ncapacity = \"1 MiB\"");
    let coarse = small.replace("level = \"raid5\"", "level = \"raid5\"\nstrip = \"2 MiB\"");
    has(&wrong(&coarse, &[]), &["a strip of 2 MiB does not fit on its disks", "the smallest of them holds 1 MiB"]);
    has(&broken("cache = \"64 MiB\"", ""), &["hba has no cache to run an array in", "parts.hba.cache"]);
    let again = format!("{}[parts.second]\nis = \"array\"\nlevel = \"raid0\"\ndisks = [\"disk.3\"]\n", text());
    has(&wrong(&again, &[]), &["disk.3 already belongs to lun"]);
    let nested = text().replace("disks = [\"disk.*\"]", "disks = [\"disk.*\", \"lun\"]");
    has(&wrong(&nested, &[]), &["lun is not a disk"]);
}

#[test]
fn wires() {
    has(&broken("fc = \"4GFC\"", "fc = \"3GFC\""), &["no Fibre Channel of \"3GFC\"", "4GFC"]);
    has(&broken("fc = \"4GFC\"", "fc = \"4GFC\"\nframe = \"2116 B\""), &["a frame with 2116 B", "2112 B"]);
    has(&broken("fc = \"4GFC\"", "fc = \"4GFC\"\nframe = \"0 B\""), &["a frame with 0 B", "1 B to 2112 B"]);
    has(&broken("scsi = \"ultra320\"", "scsi = \"ultra3200\""), &["no SCSI bus \"ultra3200\"", "did you mean"]);
    has(
        &broken("scsi = \"ultra320\"", "scsi = \"ultra320\"\nburst = \"100 B\""),
        &["bursts of 100 B", "512 B to 16 MiB"],
    );
    let more = |link: &str| wrong(&format!("{}[links.more]\n{link}\n", text()), &[]);
    has(&more("between = [\"hba\", \"ram\"]\nfc = \"4GFC\""), &["ram is already plugged into links.fc", "one port"]);
    has(&more("between = [\"hba\", \"disk.*\"]\nscsi = \"ultra2\""), &["disk.0 is already plugged into links.bus"]);
    has(
        &more("between = [\"ram\", \"hba\"]\nfc = \"4GFC\""),
        &["ram is not a host adapter", "the adapter comes first"],
    );
    has(&more("between = [\"hba\", \"lun\"]\nfc = \"4GFC\""), &["lun is not a disk, SSD or RAM disk"]);
    has(
        &more("between = [\"hba\", \"host\"]\nfc = \"4GFC\""),
        &["host is not a disk, SSD or RAM disk", "adapter comes first"],
    );
    has(&more("between = [\"hba\"]\nfc = \"4GFC\""), &["a link joins an adapter and its targets"]);
    has(&more("between = []\nfc = \"4GFC\""), &["a link joins an adapter and its targets"]);
    let loose = format!("{}[parts.lost]\nis = \"disk\"\n", text());
    has(&wrong(&loose, &[]), &["lost is not connected to anything", "fc, sas or scsi"]);
    has(&broken("count = 4", "count = 16"), &["17 devices on one bus", "16 identifiers"]);
    let narrow = text().replace("count = 4", "count = 8").replace("ultra320", "ultra2-narrow");
    has(&wrong(&narrow, &[]), &["9 devices on one bus", "ultra2-narrow has 8 identifiers"]);
    has(
        &broken("between = [\"hba\", \"disk.*\"]", "between = [\"hba\", \"disk.0\", \"disk.1\", \"disk.2\"]"),
        &["disk.3 is not connected to anything"],
    );
    let text = text()
        .replace(
            "[links.bus]",
            "[parts.second]\nis = \"host-adapter\"\ncache = \"1 \
        MiB\"\n[links.slot2]\nbetween = [\"host\", \"second\"]\npcie = \"gen1 x4\"\n[links.bus2]\nbetween = \
        [\"second\", \"disk.3\"]\nscsi = \"ultra2\"\n[links.bus]",
        )
        .replace("[\"hba\", \"disk.*\"]", "[\"hba\", \"disk.0\", \"disk.1\", \"disk.2\"]");
    has(&wrong(&text, &[]), &["disk.3 is attached to another adapter", "an array and its disks belong to one adapter"]);
    has(
        &broken(
            "between = [\"host\", \"hba\"]\npcie = \"gen1 x4\"",
            "between = [\"host\", \"nothing\"]\npcie = \"gen1 x4\"",
        ),
        &["nothing"],
    );
}

#[test]
fn disks() {
    let with = |line: &str| broken("count = 4", &format!("count = 4\n{line}"));
    has(&with("inner_rate = \"100 MB/s\""), &["inner_rate is above its outer_rate"]);
    has(&with("track_seek = \"20 ms\""), &["longer seeks take less time", "at most"]);
    has(&with("capacity = \"1 KiB\""), &["a disk of 1 KiB", "at least 1 MiB"]);
    has(&with("rpm = 0"), &["rpm"]);
    has(&with("zones = 0"), &["zones"]);
    has(&with("outer_rate = \"0 B/s\""), &["rate"]);
    has(&with("rpm = 99999999999999999999"), &["rpm"]);
    has(&with("command_time = \"6 h\""), &["5 h"]);
    has(&with("queue_depth = 3"), &["queue_depth"]);
    has(&broken("command_time = \"5 us\"", "queue_depth = 0"), &["queue_depth"]);
    has(&broken("command_time = \"5 us\"", "memory_bandwidth = \"0 B/s\""), &["memory_bandwidth"]);
}

#[test]
fn mistakes_stand_at_the_field_and_bring_no_others() {
    let access = "access = { size = \"64 KiB\" }";
    let m =
        broken(access, "access = [{ size = \"64 KiB\", share = \"50 %\" },\n  { size = \"4096\", share = \"50 %\" }]");
    has(&m, &["t.toml:53:12", "access: size: a size needs its unit"]);
    let m = broken(access, "access = { size = \"64 KiB\", raed = \"0 %\" }");
    assert!(m.contains("\"raed\"") && !m.contains("t.toml:52:10"), "{m}");
    // One table of disks is wrong once, at the key that was written.
    let m = broken("is = \"disk\"", "is = \"disk\"\nfull_seek = \"1 ms\"");
    has(&m, &["t.toml:40:13", "longer seeks take less time"]);
    assert_eq!(m.matches("longer seeks take less time").count(), 1, "{m}");
}

#[test]
fn a_word_that_is_none_brings_one_message() {
    let one = |m: &str, parts: &[&str]| {
        has(m, parts);
        assert_eq!(m.matches("error:").count(), 1, "{m}");
    };
    one(&broken("to = \"lun\"\ndo = \"io\"", "to = \"lun\"\ndo = \"IO\""), &["send (frames)", "did you mean \"io\"?"]);
    one(&broken("to = \"lun\"\ndo = \"io\"", "to = \"lun\"\ndo = \"read\""), &["set do = \"io\""]);
    one(&broken("to = \"lun\"\ndo = \"io\"", "to = \"lun\""), &["a flow of I/Os has no do"]);
    one(&broken("level = \"raid5\"", "level = 5"), &["raid0, raid1, raid5, raid10, found a bare number"]);
    one(&broken("scsi = ", "scis = "), &["no key \"scis\"", "did you mean scsi?"]);
    one(&broken("scsi = \"ultra320\"", ""), &["links.bus does not say of which technology it is", "fc = \"4GFC\""]);
    one(&broken("\"ultra320\"", "\"sas\""), &["no SCSI bus \"sas\"", "ultra320"]);
    one(&broken("count = 4\n[links.bus]", "count = -4\n[links.bus]"), &["a count is not negative"]);
}

#[test]
fn keys_without_effect_are_said() {
    let said = |old: &str, new: &str, words: &[&str]| {
        let (p, d) = plan(&text().replacen(old, new, 1), &[]);
        let shown = d.to_string();
        assert!(p.is_some() && words.iter().all(|w| shown.contains(w)), "{shown}");
    };
    let access = "access = { size = \"64 KiB\" }";
    said(access, &format!("{access}\nrecord = \"4 KiB\""), &["record is not used"]);
    said(access, "test = \"read\"\noutstanding = 4", &["outstanding is not used", "ahead"]);
    said(
        access,
        "test = \"random-read\"\nahead = 4\nrequest = \"1 MiB\"",
        &["ahead is not used", "request is not used"],
    );
    said("cache = \"64 MiB\"", "cache = \"64 KiB\"", &["does not hold a stripe of 192 KiB"]);
}

#[test]
fn keys_and_parts_of_elsewhere_are_named() {
    has(&broken("scsi = \"ultra320\"", "scsi = \"ultra320\"\nmps = \"128 B\""), &["mps belongs to a link of PCIe"]);
    has(
        &broken("access = { size = \"64 KiB\" }", "size = \"64 KiB\""),
        &["a field of a line", "access = { size = … }"],
    );
    has(&broken("is = \"host-adapter\"", "is = \"host-adapter\"\nsplits = 2"), &["on a PCI bus, and this one on PCIe"]);
    let m = broken("[\"hba\", \"disk.*\"]\nscsi = \"ultra320\"", "[\"host\", \"disk.*\"]\npcie = \"gen1 x1\"");
    has(&m, &["disk is a disk, which has no place here", "disks go to an adapter"]);
}

#[test]
fn drives_and_their_links() {
    let drive = "[parts.drive]\nis = \"ssd\"\n[links.sas]\nbetween = [\"hba\", \"drive\"]\nsas = \"3G\"\n";
    let of = |old: &str, new: &str| wrong(&format!("{}{drive}", text()).replacen(old, new, 1), &[]);
    let (p, d) = plan(&format!("{}{drive}", text()), &[]);
    assert!(p.is_some(), "{d}");
    let ssd = "is = \"ssd\"\n";
    has(&of("sas = \"3G\"", "sas = \"4G\""), &["no SAS of \"4G\"", "1.5G, 3G, 6G, 12G, 22.5G"]);
    has(&of("sas = \"3G\"", "sas = \"3G\"\nframe = \"2 KiB\""), &["a frame with 2 KiB", "1 B to 1024 B (SPL"]);
    has(&of("sas = \"3G\"", "scsi = \"ultra320\""), &["drive is an SSD", "sas or fc"]);
    has(&of("sas = \"3G\"", "sss = \"3G\""), &["no key \"sss\"", "did you mean sas?"]);
    has(&of(ssd, "is = \"ssd\"\npage = \"1 KiB\"\n"), &["drive: a page of 1 KiB", "4 KiB to 16 MiB"]);
    has(&of(ssd, "is = \"ssd\"\nchannels = 1000\ndies = 1000\n"), &["1000000 dies", "at most 65536"]);
    has(&of(ssd, "is = \"ssd\"\nstripe_pages = 100000\n"), &["100000 pages of a stripe", "at most 65536"]);
    has(&of(ssd, "is = \"ssd\"\ncapacity = \"1 KiB\"\n"), &["a drive of 1 KiB", "at least 1 MiB"]);
    has(
        &of("[links.sas]\nbetween = [\"hba\", \"drive\"]\nsas = \"3G\"\n", ""),
        &["drive is not connected to anything", "fc, sas or scsi"],
    );
}
