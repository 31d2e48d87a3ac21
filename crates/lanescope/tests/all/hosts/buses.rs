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
