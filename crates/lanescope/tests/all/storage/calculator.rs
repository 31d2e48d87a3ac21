//! `wire scsi`, `wire fc`, `wire sas` and a run of one flow give one number for one transport.

use crate::common::{planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::estimate::wire::{fibre_channel, sas, scsi};

/// Share and simulation of a flow whose transport is all that holds it back, bits per second.
fn carried(wire: &str, size: &str, write: bool) -> (f64, f64) {
    let text = format!(
        "[parts.host]\nis = \"root-complex\"\n[parts.hba]\nis = \"host-adapter\"\ncommand_time = \"0 s\"\n\
         queue_depth = 256\n\
         [links.slot]\nbetween = [\"host\", \"hba\"]\npcie = \"gen5 x16\"\n[parts.ram]\nis = \"ram-disk\"\n\
         latency = \"0 s\"\n\
         [links.wire]\nbetween = [\"hba\", \"ram\"]\n{wire}\n[flows.f]\nfrom = \"host\"\nto = \"ram\"\n\
         do = \"io\"\noutstanding = 64\n\
         submit_time = \"0 s\"\ncomplete_time = \"0 s\"\naccess = {{ size = \"{size}\", read = \"{}\" }}\n\
         [run]\nfor = \"200 ms\"\nwarmup = \"20 ms\"\n",
        if write { "0 %" } else { "100 %" }
    );
    let plan = planned(&text, &[]);
    let flow = estimate(&plan, &Diagnostics::default()).flows.remove(0);
    assert!(flow.bound_by.element.starts_with("links.wire"), "{wire}, {size}: {:?}", flow.bound_by);
    let simulated = super::simulate(&text, &[]);
    (flow.share.typical, simulated.flows[0].rate.mean)
}

/// Both within what they are: the share to a float's noise, the simulation with a command cut off at each end of its
/// window.
fn same(what: &str, calculated: f64, (share, simulated): (f64, f64)) {
    println!("{what}: {calculated} by the calculator, {share} estimated, {simulated} simulated");
    within(1e-9, share, calculated);
    within(0.01, simulated, calculated);
}

#[test]
fn scsi_gives_one_number() {
    for (bus, size, write) in [
        ("ultra2", "4 KiB", false),
        ("ultra160", "64 KiB", true),
        ("ultra320", "8 KiB", false),
        ("fast", "512 B", true),
    ] {
        let question = scsi::Question {
            bus: bus.into(),
            size: size.into(),
            burst: None,
            write,
            byte: None,
            response: None,
            untagged: false,
            keeps: false,
            status_alone: false,
            packetized: false,
            quick: false,
        };
        let answer = scsi::wire(&mut Diagnostics::default(), &question).expect("a valid question");
        same(bus, answer.payload, carried(&format!("scsi = \"{bus}\""), size, write));
    }
}

#[test]
fn fibre_channel_gives_one_number() {
    for (rate, frame, size, write) in
        [("1GFC", 2048, "64 KiB", false), ("4GFC", 512, "64 KiB", true), ("8GFC", 2048, "4 KiB", false)]
    {
        let question = fibre_channel::Question {
            rate: rate.into(),
            data: format!("{frame} B"),
            optional: "0 B".into(),
            length: "50 m".into(),
            response: "0 ns".into(),
            credits: None,
            transfer: size.into(),
            burst: None,
        };
        let answer = fibre_channel::wire(&mut Diagnostics::default(), &question).expect("a valid question");
        let calculated = if write { answer.write.payload } else { answer.read.payload };
        same(rate, calculated, carried(&format!("fc = \"{rate}\"\nframe = \"{frame} B\""), size, write));
    }
}

#[test]
fn sas_gives_one_number() {
    for (rate, size, write) in [("3G", "64 KiB", false), ("6G", "64 KiB", true), ("12G", "4 KiB", false)] {
        let question =
            sas::Question { rate: rate.into(), data: "1024 B".into(), size: size.into(), connection: "1 us".into() };
        let answer = sas::wire(&mut Diagnostics::default(), &question).expect("a valid question");
        let calculated = if write { answer.write.payload } else { answer.read.payload };
        same(rate, calculated, carried(&format!("sas = \"{rate}\"\nconnection = \"1 us\""), size, write));
    }
}
