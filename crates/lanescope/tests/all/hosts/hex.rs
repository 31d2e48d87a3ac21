//! Hex dumps: what is decoded agrees with what lspci itself prints of the same bytes.

use super::{host, shared, topology};
use lanescope::import::host::function::{Express, PciX};
use lanescope::import::host::{Function, Known, value};

/// Both say something and not the same, or the text says more.
fn differ<T: PartialEq + Clone + std::fmt::Debug>(
    what: &str,
    a: &Known<T>,
    b: &Known<T>,
    out: &mut Vec<String>,
) -> u32 {
    match (value(a), value(b)) {
        (Some(a), Some(b)) => {
            if a != b {
                out.push(format!("{what}: hex {a:?}, text {b:?}"));
            }
            1
        }
        // What lspci prints of these bytes is in them.
        (None, Some(b)) => {
            out.push(format!("{what}: not in the hex, text {b:?}"));
            0
        }
        _ => 0,
    }
}

fn express(a: &Express, b: &Express, out: &mut Vec<String>) -> u32 {
    // A field that is new must be compared too.
    let Express {
        port: _,
        mps_supported: _,
        mps: _,
        mrrs: _,
        relaxed_ordering: _,
        extended_tags_supported: _,
        extended_tags: _,
        ten_bit_tags: _,
        no_snoop: _,
        correctable: _,
        speed_capable: _,
        width_capable: _,
        speed: _,
        width: _,
        active: _,
        speed_target: _,
        speed_supported: _,
        rcb: _,
        present: _,
    } = a;
    differ("port", &a.port, &b.port, out)
        + differ("MPS supported", &a.mps_supported, &b.mps_supported, out)
        + differ("MPS", &a.mps, &b.mps, out)
        + differ("MRRS", &a.mrrs, &b.mrrs, out)
        + differ("relaxed ordering", &a.relaxed_ordering, &b.relaxed_ordering, out)
        + differ("extended tags supported", &a.extended_tags_supported, &b.extended_tags_supported, out)
        + differ("extended tags", &a.extended_tags, &b.extended_tags, out)
        + differ("10-bit tags", &a.ten_bit_tags, &b.ten_bit_tags, out)
        + differ("no snoop", &a.no_snoop, &b.no_snoop, out)
        + differ("correctable", &a.correctable, &b.correctable, out)
        + differ("speed capability", &a.speed_capable, &b.speed_capable, out)
        + differ("width capability", &a.width_capable, &b.width_capable, out)
        + differ("speed", &a.speed, &b.speed, out)
        + differ("width", &a.width, &b.width, out)
        + differ("active", &a.active, &b.active, out)
        + differ("target", &a.speed_target, &b.speed_target, out)
        + differ("supported", &a.speed_supported, &b.speed_supported, out)
        + differ("RCB", &a.rcb, &b.rcb, out)
        + differ("presence", &a.present, &b.present, out)
}

fn pcix(a: &PciX, b: &PciX, out: &mut Vec<String>) -> u32 {
    let PciX { bridge: _, wide: _, mhz133: _, read_count: _, outstanding: _, frequency: _ } = a;
    differ("bridge", &a.bridge, &b.bridge, out)
        + differ("64 bit", &a.wide, &b.wide, out)
        + differ("133 MHz", &a.mhz133, &b.mhz133, out)
        + differ("read count", &a.read_count, &b.read_count, out)
        + differ("outstanding", &a.outstanding, &b.outstanding, out)
        + differ("frequency", &a.frequency, &b.frequency, out)
}

fn function(a: &Function, b: &Function, out: &mut Vec<String>) -> u32 {
    let mut both = differ("buses", &a.buses, &b.buses, out)
        + differ("power", &a.power, &b.power, out)
        + differ("ACS capability", &a.acs_capable, &b.acs_capable, out)
        + differ("ACS control", &a.acs, &b.acs, out)
        + differ("corrected", &a.corrected, &b.corrected, out)
        + differ("lane errors", &a.lane_errors, &b.lane_errors, out);
    assert_eq!(a.express.is_some(), b.express.is_some(), "{}", b.called());
    assert_eq!(a.pcix.is_some(), b.pcix.is_some(), "{}", b.called());
    if let (Some(a), Some(b)) = (&a.express, &b.express) {
        both += express(a, b, out);
    }
    if let (Some(a), Some(b)) = (&a.pcix, &b.pcix) {
        both += pcix(a, b, out);
    }
    both
}

#[test]
fn decoded_bytes_agree_with_lspcis_text() {
    let known = [
        ("DERIVED-mps-mismatch-from-asus-p6t6", 330),
        ("pciutils-PCI-X-bridges-and-domains", 100),
        ("pciutils-cap-aer-root", 45),
        ("pciutils-cap-exp-lnkcap2", 80),
        ("pciutils-cap-phy32", 20),
        ("pciutils-tree-asus-p6t6", 330),
        ("pciutils-tree-fsl-p2020", 60),
        ("pciutils-tree-fujitsu-p8010", 60),
    ];
    // Every hex dump that is here is one of them.
    let Some(folder) = shared("topology") else { return };
    let mut all = Vec::new();
    super::files(&folder, &mut all);
    let stem = |p: &std::path::PathBuf| Some(p.file_name()?.to_str()?.strip_suffix(".lspci-xxxx")?.to_owned());
    let mut dumps: Vec<String> = all.iter().filter_map(stem).collect();
    dumps.sort_unstable();
    assert_eq!(dumps, known.map(|k| k.0), "a dump without a number of facts that must be compared");
    for (name, least) in known {
        let (Some(bytes), Some(text)) =
            (topology(&format!("{name}.lspci-xxxx")), topology(&format!("{name}.lspci-vvv.txt")))
        else {
            return;
        };
        // Bytes alone: what the header line says is taken away.
        let mut alone = String::new();
        for line in bytes.lines() {
            let header = line.contains(": ") && line.split(' ').next().is_some_and(|w| w.contains('.'));
            match header {
                true => alone += &format!("{} 0880:\n", line.split(' ').next().unwrap_or_default()),
                false => alone += &format!("{line}\n"),
            }
        }
        let (decoded, printed) = (host(&alone), host(&text));
        assert_eq!(
            decoded.functions.keys().collect::<Vec<_>>(),
            printed.functions.keys().collect::<Vec<_>>(),
            "{name}"
        );
        let (mut wrong, mut compared) = (Vec::new(), 0);
        for (address, a) in &decoded.functions {
            let mut here = Vec::new();
            compared += function(a, &printed.functions[address], &mut here);
            wrong.extend(here.into_iter().map(|w| format!("{address} {w}")));
        }
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
        assert!(compared >= least, "{name}: {compared} facts compared");
        // And both together contradict each other nowhere, classes and ids among it.
        let both = &super::hosts(&[&text, &bytes])[0];
        assert!(both.notes.is_empty(), "{name}: {:?}", both.notes);
    }
}

#[test]
fn a_short_dump_is_decoded_as_far_as_it_goes() {
    let Some(bytes) = topology("pciutils-tree-asus-p6t6.lspci-xxxx") else { return };
    let whole = host(&bytes);
    let linked = whole.functions.values().filter(|f| f.express.is_some()).count();
    assert!(linked > 15, "{linked}");
    // lspci -x: 64 bytes, buses and classes but no capability.
    let row = |line: &&str, most: usize| match line.split_once(':') {
        Some((offset, _)) if !line.contains('.') => usize::from_str_radix(offset, 16).is_ok_and(|o| o < most),
        _ => true,
    };
    let cut = |most| host(&bytes.lines().filter(|l| row(l, most)).collect::<Vec<_>>().join("\n"));
    let short = cut(64);
    assert_eq!(short.functions.len(), whole.functions.len());
    assert!(short.functions.values().all(|f| f.express.is_none() && f.ids.is_some()));
    // lspci -xxx: 256 bytes, no extended capabilities.
    let middle = cut(256);
    assert_eq!(middle.functions.values().filter(|f| f.express.is_some()).count(), linked);
    assert!(middle.functions.values().all(|f| f.corrected.is_none()));
}
