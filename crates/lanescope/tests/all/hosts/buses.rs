//! Devices on shared buses: their rates are those of the calculator, for the modes that the bridge shows.

use super::{explained, topology};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::wire::pci::{Question, wire};

/// A bridge from PCI Express to a bus, and an adapter on it.
fn behind(secondary: &str) -> String {
    let express = "\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\t\tLnkCap:\tPort #0, Speed 5GT/s, Width \
        x4\n\t\tLnkSta:\tSpeed 5GT/s, Width x4\n";
    format!(
        "00:01.0 PCI bridge: A B\n\tBus: primary=00, secondary=01, subordinate=02, sec-latency=0\n\
         \tCapabilities: [60] Express (v2) Root Port (Slot+), MSI 00\n{express}\
         01:00.0 PCI bridge: C D\n\tBus: primary=01, secondary=02, subordinate=02, sec-latency=64\n\
         \tCapabilities: [60] Express (v1) PCI-Express to PCI/PCI-X Bridge, MSI 00\n{express}{secondary}\
         02:01.0 SCSI storage controller: E F\n\tKernel driver in use: x\n"
    )
}

fn calculated(bus: &str, burst: &str, decode: &str) -> f64 {
    let (bus, burst, decode) = (bus.to_owned(), burst.to_owned(), decode.to_owned());
    let question = Question { bus, burst, decode, delay: "250 ns".into(), dual: false };
    wire(&mut Diagnostics::default(), &question).expect("a bus").rates.write / 8e9
}

#[test]
fn a_device_on_a_bus_gets_what_the_calculator_says() {
    let report = explained(&behind(""));
    let device = report.devices.iter().find(|d| d.address == "0000:02:01.0").expect("the adapter");
    let rate = device.to_memory.rate;
    assert_eq!(rate.low, Some(calculated("pci 33.33 32-bit", "64 B", "slow")));
    assert_eq!(rate.high, Some(calculated("pci 66.67 64-bit", "4096 B", "fast")));
    assert!(rate.low < rate.typical && rate.typical < Some(0.1334), "33 MHz of 32 bits, likely: {rate:?}");
    let reads = device.from_memory.rate;
    assert!(reads.typical < rate.typical && reads.low < rate.low, "reads wait: {reads:?} {rate:?}");
    assert!(device.to_memory.bound_by.contains("shared bus behind 0000:01:00.0"), "{device:#?}");
    // A bridge that shows its mode narrows the range.
    let said = behind(
        "\tCapabilities: [a0] PCI-X bridge device\n\t\tSecondary Status: 64bit+ 133MHz+ SCD- USC- SCO- SRD- \
            Freq=133MHz\n",
    );
    let report = explained(&said);
    let rate = report.devices.iter().find(|d| d.address == "0000:02:01.0").expect("the adapter").to_memory.rate;
    // The link above carries 1.7 GB/s, the bus less.
    assert_eq!(rate.high, Some(calculated("pci-x 133 64-bit", "4096 B", "fast")));
    let finding = report.findings.iter().find(|f| f.kind == "pci-bus").expect("a finding");
    assert!(finding.text.contains("1.067 GB/s") && finding.text.contains("pci-x 133 64-bit"), "{finding:#?}");
}

#[test]
fn buses_of_an_old_machine_have_rates() {
    let Some(text) = topology("pciutils-PCI-X-bridges-and-domains.lspci-vvv.txt") else { return };
    let report = explained(&text);
    assert!(report.devices.len() >= 5, "{:#?}", report.devices);
    for device in &report.devices {
        for rate in [&device.to_memory.rate, &device.from_memory.rate] {
            // Of a network adapter whose ports are not known no lower end is.
            let none = if device.kind == "nic" { f64::MIN_POSITIVE } else { 9.0 };
            let (low, typical, high) =
                (rate.low.unwrap_or(none), rate.typical.unwrap_or(9.0), rate.high.unwrap_or(9.0));
            assert!(0.0 < low && low <= typical && typical <= high && high < 0.534, "{device:#?}");
        }
    }
    // They stand in no scenario of PCI Express.
    let text = lanescope::explain::scenario::emit(&super::host(&text));
    assert!(!text.contains("[parts.") && text.contains("shared bus behind"), "{text}");
}

/// What cannot do 66 MHz grounds M66EN for its whole bus (PCI 3.0, 7.5.1), whoever it is and however the dump says so.
#[test]
fn one_slow_device_keeps_a_bus_at_33_mhz() {
    let bridge = |able: char| format!("\tSecondary status: 66MHz{able} FastB2B+ ParErr- DEVSEL=medium <SERR- <PERR-\n");
    let status = |able: char| format!("\tStatus: Cap+ 66MHz{able} UDF- FastB2B+ ParErr- DEVSEL=medium\n");
    let flags =
        |able: char| format!("\tFlags: bus master,{} medium devsel\n", if able == '+' { " 66MHz," } else { "" });
    for (first, second) in [('+', '+'), ('+', '-'), ('-', '+'), ('-', '-')] {
        for device in [status(second), flags(second)] {
            let text = behind(&bridge(first)).replace("\tKernel driver", &format!("{device}\tKernel driver"));
            let report = explained(&text);
            let adapter = report.devices.iter().find(|d| d.address == "0000:02:01.0").expect("the adapter");
            let clock = if first == '+' && second == '+' { "66.67" } else { "33.33" };
            let most = calculated(&format!("pci {clock} 64-bit"), "4096 B", "fast");
            assert_eq!(adapter.to_memory.rate.high, Some(most), "{text}");
            let finding = report.findings.iter().find(|f| f.kind == "pci-bus").expect("a finding");
            assert_eq!(finding.evidence.iter().any(|e| e.contains("66MHz-")), clock == "33.33", "{finding:#?}");
        }
    }
}

/// CardBus has 32 bits and 33 MHz, behind whatever it stands.
#[test]
fn cardbus_is_no_faster_than_133_mb_a_second() {
    let card = "1c:03.0 CardBus bridge: O2 Micro, Inc. A\n\tBus: primary=1c, secondary=1d, subordinate=20, \
        sec-latency=176\n1d:00.0 Network controller: 3Com Corporation B\n\tLatency: 64\n";
    let outer = "00:1e.0 PCI bridge: A B\n\tBus: primary=00, secondary=1c, subordinate=20, sec-latency=32\n\
        \tCapabilities: [50] Subsystem: C\n";
    for text in [card.to_owned(), format!("{outer}{card}")] {
        let report = explained(&text);
        let device = report.devices.iter().find(|d| d.address == "0000:1d:00.0").expect("the card");
        assert_eq!(device.to_memory.rate.high, Some(calculated("pci 33.33 32-bit", "4096 B", "fast")), "{device:#?}");
        assert!(device.from_memory.rate.high < Some(0.1334), "{device:#?}");
    }
}

/// The hex says of the clocks what lspci wrote of them.
#[test]
fn clocks_in_hex_are_those_of_the_text() {
    let mut told = [0; 2];
    for name in ["PCI-X-bridges-and-domains", "tree-fujitsu-p8010", "tree-asus-p6t6", "tree-fsl-p2020"] {
        let both = ["lspci-vvv.txt", "lspci-xxxx"].map(|form| topology(&format!("pciutils-{name}.{form}")));
        let [Some(text), Some(hex)] = both else { return };
        let (text, hex) = (super::host(&text), super::host(&hex));
        for (address, function) in &text.functions {
            let clocks = |f: &lanescope::import::host::Function| {
                [&f.mhz66, &f.secondary_mhz66].map(|k| k.as_ref().map(|k| k.value))
            };
            // lspci writes no secondary status of a CardBus bridge.
            for (text, hex) in clocks(function).into_iter().zip(clocks(&hex.functions[address])) {
                assert!(text.is_none() || text == hex, "{name} {address}: {text:?} {hex:?}");
            }
            clocks(function).iter().flatten().for_each(|able| told[usize::from(*able)] += 1);
        }
        // Who says 66MHz- on a bus keeps all that is on it below 66 MHz of 64 bits.
        for device in lanescope::explain::explain(&text).devices.iter().filter(|d| d.to_memory.bound_by.contains("bus"))
        {
            assert!(device.to_memory.rate.high < Some(0.534), "{name}: {device:#?}");
        }
    }
    assert!(told[0] > 20 && told[1] > 0, "{told:?}");
}
