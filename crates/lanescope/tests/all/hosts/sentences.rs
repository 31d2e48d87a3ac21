//! Sentences of `explain` that must be true of every dump, as it is and with links and sizes changed.

use super::explained::switch;
use super::{dumps, explained, host, topology};
use crate::common::some;
use lanescope::explain::{Explained, LinkLine, Together, nccl};
use serde_json::Value;

/// Dumps as they are, and with what their links run at, and their sizes, made worse here and there.
fn all() -> Vec<(String, String)> {
    const CHANGES: [(&str, &str, &str); 7] = [
        ("LnkSta:", "Width x16", "Width x8"),
        ("LnkSta:", "Width x8", "Width x2"),
        ("LnkSta:", "Speed 8GT/s", "Speed 5GT/s"),
        ("MaxPayload", "MaxPayload 256", "MaxPayload 128"),
        ("pci_link_speed", "\"15.753846\"", "\"7.876923\""),
        ("pci_link_speed", "\"15.753846\"", "\"4.000000\""),
        ("link_speed=", "16.0 GT/s", "8.0 GT/s"),
    ];
    let mut all = dumps();
    all.push(("two below a switch".into(), switch("-", "")));
    let whole = all.clone();
    for (name, text) in some(whole, 3) {
        for (n, (line, from, to)) in CHANGES.iter().enumerate() {
            // Every line of its kind, and every third.
            for of in [1, 3] {
                let mut seen = 0;
                let changed: String = text
                    .lines()
                    .map(|l| {
                        seen += usize::from(l.contains(line));
                        let change = l.contains(line) && seen % of == 0;
                        if change { l.replace(from, to) + "\n" } else { format!("{l}\n") }
                    })
                    .collect();
                if changed != text {
                    all.push((format!("{name}, {n} every {of}"), changed));
                }
            }
        }
    }
    all
}

/// Every range in a report: objects with a low, a typical and a high value.
fn ranges(value: &Value, path: &str, each: &mut dyn FnMut(&str, [Option<f64>; 3])) {
    match value {
        Value::Object(map) => {
            if ["low", "typical", "high"].iter().all(|k| map.contains_key(*k)) {
                each(path, ["low", "typical", "high"].map(|k| map[k].as_f64()));
            }
            map.iter().for_each(|(k, v)| ranges(v, &format!("{path}.{k}"), each));
        }
        Value::Array(list) => list.iter().enumerate().for_each(|(n, v)| ranges(v, &format!("{path}[{n}]"), each)),
        _ => {}
    }
}

/// Addresses of the devices behind a link: of all lines below its own that are deeper.
fn behind<'a>(report: &'a Explained, link: &LinkLine) -> Vec<&'a str> {
    let at = report.links.iter().position(|l| l.lower == link.lower).expect("the link");
    let deeper = report.links[at + 1..].iter().take_while(|l| l.depth > link.depth);
    std::iter::once(&report.links[at]).chain(deeper).map(|l| l.lower.as_str()).collect()
}

/// Whether two functions are of one device.
fn beside(a: &str, b: &str) -> bool {
    a.rsplit_once('.').map(|x| x.0) == b.rsplit_once('.').map(|x| x.0)
}

fn named<'a>(report: &'a Explained, words: &str) -> Option<&'a LinkLine> {
    let is = |l: &&LinkLine| match &l.upper {
        Some(upper) => words.contains(&format!("link {upper} – {}", l.lower)),
        None => words.contains(&format!("link above {}", l.lower)),
    };
    report.links.iter().find(is)
}

#[test]
fn no_range_is_reversed_and_what_binds_a_group_is_what_limits_it() {
    let (mut held, mut shared) = (0, 0);
    for (name, text) in all() {
        let report = explained(&text);
        let json = serde_json::to_value(&report).expect("JSON");
        ranges(&json, "", &mut |path, [low, typical, high]| {
            let rises = |a: Option<f64>, b: Option<f64>| a.zip(b).is_none_or(|(a, b)| a <= b * (1.0 + 1e-12));
            // An unloaded latency is a range of times, and rises too.
            assert!(
                rises(low, typical) && rises(typical, high) && rises(low, high),
                "{name}{path}: {low:?} {typical:?} {high:?}"
            );
            held += 1;
        });
        for t in &report.together {
            shared += usize::from(binds(&name, &report, t));
        }
    }
    assert!(held > 3000 && shared > 20, "{held} ranges and {shared} shared links");
}

/// What is said to bind a group is true; whether links that they share do.
fn binds(name: &str, report: &Explained, t: &Together) -> bool {
    let Some(total) = t.total.typical else { return false };
    let kind = t.class.trim_end_matches('s');
    let of_class: Vec<_> = report
        .devices
        .iter()
        .filter(|d| d.kind == kind && d.to_memory.rate.typical.is_some())
        .map(|d| {
            let (w, r) = (d.to_memory.rate.typical, d.from_memory.rate.typical);
            let alone = match t.way.as_str() {
                "to memory" => w,
                "from memory" => r,
                _ => w.zip(r).map(|(w, r)| w + r),
            };
            (d, alone.unwrap_or(0.0))
        })
        .collect();
    if t.way == "each to each" || of_class.len() != t.devices {
        return false;
    }
    let sum: f64 = of_class.iter().map(|d| d.1).sum();
    let what = format!("{name}: {t:#?}");
    let least = t.least.typical.expect("the least");
    if let Some(words) = t.bound_by.strip_prefix("what binds each by itself, of ") {
        // Both ways at once, requests and acknowledgements of the one take slots of the other.
        let part = if t.way == "both ways" { 0.93 } else { 0.995 };
        assert!(total >= sum * part, "{what}: of {sum} alone");
        let id = words.split(' ').next().expect("a device");
        let (device, alone) = of_class.iter().find(|d| d.0.id == id).expect("the device");
        assert!(least <= alone * 1.001 && least >= alone * part, "{what}: of {alone} alone");
        let ports = |text: &str| text.contains("network ports");
        assert_eq!(ports(words), ports(&device.to_memory.bound_by), "{what}: {:?}", device.to_memory);
        return false;
    }
    let link = named(report, &t.bound_by).unwrap_or_else(|| panic!("{what}: no link of that name"));
    let below = behind(report, link);
    let sharing: Vec<_> = of_class.iter().filter(|d| below.iter().any(|b| beside(b, &d.0.address))).collect();
    assert!(sharing.len() > 1, "{what}: nobody shares it");
    assert!(total < sum * 0.9999, "{what}: alone they get {sum} too");
    if !t.bound_by.contains("more such link") {
        // The others get what they get alone; what is left of the total is what the link carries.
        let theirs: f64 = sharing.iter().map(|d| d.1).sum();
        assert!(total - (sum - theirs) < theirs * 0.9999, "{what}: {theirs} of {sum}");
    }
    true
}

/// A link's finding is about what is at the link's own ends, whoever is behind it.
#[test]
fn a_slow_link_is_that_of_the_device_named() {
    let mut seen = 0;
    for (name, text) in all() {
        let report = explained(&text);
        for finding in report.findings.iter().filter(|f| ["trained-down", "narrow-slot"].contains(&f.kind.as_str())) {
            let link = named(&report, &finding.at).unwrap_or_else(|| panic!("{name}: {finding:#?}"));
            let own = report.devices.iter().any(|d| beside(&d.address, &link.lower));
            let told = finding.text.starts_with(&link.name) || finding.text.contains(&link.lower);
            assert!(told && (own || finding.text.contains(&link.lower)), "{name}: {finding:#?} {link:#?}");
            if let Some((_, who)) = finding.text.split_once("; it costs ") {
                let id = who.split(' ').next().expect("a device");
                let device = report.devices.iter().find(|d| d.id == id).expect("the device");
                assert!(behind(&report, link).iter().any(|b| beside(b, &device.address)), "{name}: {finding:#?}");
            }
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

/// The way up of a switch trained down: the switch is named, and no card behind it is to be reseated.
#[test]
fn a_switch_that_trained_down_is_named() {
    let mut lines = 0;
    let slow: String = switch("-", "")
        .lines()
        .map(|l| {
            // The root port and the upstream port.
            lines += usize::from(l.contains("LnkSta:"));
            let l = if lines <= 2 {
                l.replace("LnkSta:\tSpeed 16GT/s, Width x16", "LnkSta:\tSpeed 8GT/s, Width x8")
            } else {
                l.into()
            };
            l + "\n"
        })
        .collect();
    let report = explained(&slow);
    let first = &report.findings[0];
    assert_eq!((first.kind.as_str(), first.at.as_str()), ("trained-down", "link 0000:00:01.0 – 0000:01:00.0"));
    assert!(first.text.starts_with("the switch at 0000:01:00.0") && first.text.contains("gpu0 and gpu1"), "{first:#?}");
    assert!(!first.cure.contains("the card"), "{first:#?}");
}

/// An hwloc file with a device below a port, and the GB/s of both.
fn hwloc(class: &str, ids: &str, name: &str, gigabytes: f64) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topology version=\"2.0\">\n<object \
         type=\"Machine\" os_index=\"0\">\n\
         <object type=\"NUMANode\" os_index=\"0\"/>\n<object type=\"Bridge\" bridge_type=\"0-1\" \
         bridge_pci=\"0000:[00-01]\">\n<object type=\"Bridge\" bridge_type=\"1-1\" bridge_pci=\"0000:[01-01]\" \
         pci_busid=\"0000:00:01.0\" pci_type=\"0604 [8086:3c02] [0000:0000] 07\" \
         pci_link_speed=\"{gigabytes:.6}\">\n<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"{class} \
         [{ids}] [0000:0000] 01\" pci_link_speed=\"{gigabytes:.6}\"><info name=\"PCIDevice\" \
         value=\"{name}\"/></object>\n</object>\n</object>\n</object>\n</topology>\n"
    )
}

/// hwloc's two readers of a link: of registers, and of Linux's `current_link_speed`, which spells out 5 GT/s as `5.0`.
fn reckoned(gigatransfers: f64, lanes: u64) -> Vec<f64> {
    let raw = gigatransfers * lanes as f64 / 8.0;
    match gigatransfers {
        2.5 => vec![raw * 0.8],
        5.0 => vec![raw * 0.8, raw * 128.0 / 130.0],
        _ => vec![raw * 128.0 / 130.0],
    }
}

/// Of datasheets: the most that a chip can do, GT/s and lanes.
#[test]
fn the_speed_of_an_hwloc_link_is_one_that_its_device_can_have() {
    const RATES: [f64; 5] = [2.5, 5.0, 8.0, 16.0, 32.0];
    for (class, ids, name, most, lanes) in [
        ("0200", "8086:10fb", "82599ES 10-Gigabit SFI/SFP+ Network Connection", 5.0, 8),
        ("0200", "8086:1521", "I350 Gigabit Network Connection", 5.0, 4),
        ("0107", "1000:0072", "SAS2008 PCI-Express Fusion-MPT SAS-2 [Falcon]", 5.0, 8),
        ("0280", "15b3:1003", "MT27500 Family [ConnectX-3]", 8.0, 8),
        ("0108", "144d:a80a", "NVMe SSD Controller PM9A1/PM9A3/980PRO", 16.0, 4),
        ("0302", "10de:1db6", "GV100GL [Tesla V100 PCIe 32GB]", 8.0, 16),
        ("0200", "15b3:101d", "MT2892 Family [ConnectX-6 Dx]", 16.0, 16),
    ] {
        for rate in RATES.into_iter().filter(|r| *r <= most) {
            for width in [1, 2, 4, 8, 16].into_iter().filter(|w| *w <= lanes) {
                for gigabytes in reckoned(rate, width) {
                    let text = hwloc(class, ids, name, gigabytes);
                    let link = &explained(&text).links[0];
                    let shown = link.shown.as_deref().expect("a speed");
                    let (r, w) = shown.split_once(" GT/s x").expect("a rate and lanes");
                    let (r, w): (f64, u64) = (r.parse().expect("a rate"), w.parse().expect("lanes"));
                    let what = format!("{name} at {rate} GT/s x{width}, {gigabytes} GB/s: {shown}");
                    assert!(r <= most && w <= lanes, "{what}");
                    // 5 GT/s by 128/130 is nothing else; of what carries the same, the device's own width is meant.
                    let alone = rate == 5.0 && gigabytes > rate * width as f64 / 8.0 * 0.9;
                    assert!(!(alone || width == lanes) || (r, w) == (rate, width), "{what}");
                    assert!(reckoned(r, w).iter().any(|g| (g / gigabytes - 1.0).abs() < 1e-5), "{what}");
                }
            }
        }
    }
    // What is written for NCCL is the same.
    if let Some(text) = topology("../hosts/infragraph/supermicro.xml") {
        let file = nccl::emit(&host(&text));
        assert!(file.contains("device=\"0x1521\" link_speed=\"5.0 GT/s PCIe\" link_width=\"4\""), "{file}");
    }
}

/// An idle GPU's link is slow, and hwloc has no other speed of it.
#[test]
fn an_idle_gpu_of_hwloc_is_not_taken_for_slow() {
    let idle = |ids: &str, name: &str| explained(&hwloc("0300", ids, name, 4.0));
    let of = |report: &Explained| lanescope::pens::explain::text(report, false);
    let known = idle("10de:27b2", "AD104GL [RTX 4000 Ada Generation]");
    let rate = known.devices[0].to_memory.rate;
    // 2.5 GT/s x16 as it is, 16 GT/s x16 as it can.
    assert!(rate.low.is_some_and(|r| r < 4.0) && rate.typical.is_some_and(|r| r > 25.0), "{rate:?}");
    assert_eq!((known.links[0].standing.as_str(), known.links[0].taken.as_deref()), ("idle", Some("16 GT/s x16")));
    let nobody = idle("10de:ffff", "A GPU of some kind");
    let rate = nobody.devices[0].to_memory.rate;
    assert!(rate.low.is_some_and(|r| r < 4.0) && rate.typical.is_none() && rate.high.is_none(), "{rate:?}");
    for report in [&known, &nobody] {
        let text = of(report);
        assert!(!text.contains("nothing in the dumps slows") && text.contains("idle"), "{text}");
        assert!(report.unknown.iter().any(|u| u.what.contains("was idle when the file was written")), "{text}");
    }
    // At all that it can do it is not idle.
    let busy = explained(&hwloc("0302", "10de:1db6", "GV100GL [Tesla V100 PCIe 32GB]", 15.753846));
    assert!(busy.links[0].standing == "full" && of(&busy).contains("nothing in the dumps slows"), "{}", of(&busy));
}

/// A port's rate is that of its chip's name, whichever dump it stands in.
#[test]
fn ports_without_a_name_have_that_of_their_ids() {
    if let Some(text) = topology("../hosts/infragraph/NVIDIA-DGX2H-2pa24co+16nvml+1nvswitch+10ib.xml") {
        let report = explained(&text);
        let device = report.devices.iter().find(|d| d.name.contains("I210")).expect("the gigabit adapter");
        assert_eq!(device.to_memory.rate.high, Some(0.125), "{device:#?}");
        assert!(device.to_memory.bound_by.contains("its network ports"), "{device:#?}");
    }
    if let Some(text) = topology("../hosts/infragraph/supermicro.xml") {
        let report = explained(&text);
        let pair = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "nic0").expect("the pair");
        assert_eq!(pair.bound_by, "network ports, 0.250 GB/s", "{pair:#?}");
    }
}
