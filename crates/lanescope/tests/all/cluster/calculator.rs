//! `wire infiniband`, `wire roce` and a run of one flow of messages give one number for one link.

use super::{BARE, VERBS, simulate_by};
use crate::common::{planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::estimate::wire::infiniband::{Question, wire};
use lanescope::protocol::infiniband::Carrier;

#[test]
fn the_calculator_and_a_scenario_give_one_number() {
    let roce = Carrier::RoceV2 { ipv6: false };
    let infiniband = Carrier::InfiniBand { grh: false };
    for (rate, carrier, mtu) in [
        ("sdr 4x", infiniband, "2048 B"),
        ("fdr 4x", infiniband, "256 B"),
        ("edr 4x", infiniband, "4096 B"),
        ("hdr 2x", infiniband, "1024 B"),
        ("10 Gb/s", roce, "1024 B"),
        ("100 Gb/s", roce, "4096 B"),
    ] {
        for size in ["256 B", "1000 B", "64 KiB"] {
            let question = Question {
                rate: rate.into(),
                carrier,
                mtu: mtu.into(),
                operation: "send".into(),
                service: "rc".into(),
                immediate: false,
                size: size.into(),
            };
            let answer = wire(&mut Diagnostics::default(), &question).expect("a valid question");
            let medium = match carrier {
                Carrier::InfiniBand { .. } => format!("infiniband = \"{rate}\"\nmtu = \"{mtu}\""),
                _ => format!("ethernet = \"{rate}\"\nmtu = \"{}\"", if mtu == "1024 B" { "1500 B" } else { "4200 B" }),
            };
            // What passes before the first packet and behind the last is a part of all that is below 1e-5.
            let count = 40_000_000 / answer.size.max(4000);
            let text = format!(
                "[parts.node]\nis = \"channel-adapter\"\ncount = 2\nreceive_buffer = \"1 MiB\"\n{BARE}\
                 [links.cable]\nbetween = [\"node.0\", \"node.1\"]\n{medium}\ndelay = \"0 ns\"\n\
                 [flows.job]\nranks = [\"node.*\"]\n{VERBS}\
                 program = \"if rank == 0 {{ repeat {count} {{ isend {size} to 1 }}; waitall }} \
                 else {{ repeat {count} {{ irecv from 0 }}; waitall }}\"\n"
            );
            let plan = planned(&text, &[]);
            let report = estimate(&plan, &Diagnostics::default());
            let (flow, seen) = (&report.flows[0], &simulate_by(&plan, u64::MAX));
            let simulated = seen.flows[0].rate.mean;
            println!("{rate}, {size}: {} {} {simulated}", answer.payload, flow.share.typical);
            // Flow control packets go as rarely as they may: a part of 8 in 262144 of the wire, less or more.
            within(1e-4, flow.share.typical, answer.payload);
            within(1e-4, simulated, answer.payload);
            assert!(simulated <= flow.bound.typical * (1.0 + 1e-9), "{simulated} of {:?}", flow.bound);
        }
    }
}
