//! Law: what message programs move over PCIe is the same in both methods, TLP by TLP, whatever the messages are.

use super::simulate_by;
use crate::common::choices::{Choices, runner};
use crate::common::{plan, simulated};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::prop_assert;
use proptest::test_runner::Config;
use std::cell::Cell;

/// How often each message is sent.
const TIMES: u64 = 20;

/// The longest header of a TLP, its digest and its framing, bytes (2.0, 2.2.1 and 4.2.2).
const HEADER: f64 = 28.0;

/// Two hosts, and messages of two sizes from the one to the other and back; and how many transfers each adapter reads.
fn grow(c: &mut Choices) -> (String, u64) {
    let sizes = [(); 2].map(|()| c.about(1, 20_000));
    let mps = [128, 256, 512][c.below(3)];
    let request = [128, 512, 1024, 4096][c.below(4)];
    let inline = c.maybe(|c| format!("inline = \"{} B\"\n", c.below(700)));
    let descriptor = [0, 16, 64, 200][c.below(4)];
    let completion = [0, 4, 32, 64][c.below(4)];
    let bell = [4, 8][c.below(2)];
    let sends = sizes.map(|size| format!("isend {size} B to 1 - rank; irecv from 1 - rank"));
    let text = format!(
        "[parts]\nhost = {{ is = \"root-complex\", count = 2 }}\n[parts.hca]\nis = \"channel-adapter\"\n\
         count = 2\nmax_read_request = \"{request} B\"\n{inline}descriptor_bytes = \"{descriptor} B\"\n\
         completion_bytes = \"{completion} B\"\ndoorbell_bytes = \"{bell} B\"\n[links]\n\
         slot = {{ between = [\"host.*\", \"hca.*\"], pcie = \"gen3 x8\", mps = \"{mps} B\" }}\n\
         cable = {{ between = [\"hca.0\", \"hca.1\"], infiniband = \"edr 4x\", mtu = \"4096 B\" }}\n\
         [flows.job]\ndo = \"mpi\"\nranks = [\"hca.*\"]\ninterface = \"verbs\"\nheader_bytes = \"0 B\"\n\
         program = \"repeat {TIMES} {{ {}; {}; waitall }}\"\n",
        sends[0], sends[1]
    );
    (text, sizes.iter().map(|size| TIMES * (1 + size.div_ceil(4096))).sum())
}

/// Bytes are the same, but of what is shorter than a double word, which counts as one; and what pads the last double
/// word of a transfer the estimate does not count. A TLP ends where 4 KiB do (2.0, 2.2.7), and then there is one more,
/// which the estimate does not know of. A read of more than a completion that ends in a part of a request has part of a
/// request too much in the estimate.
#[test]
fn both_methods_fill_the_same_ledger() {
    let compared = Cell::new(0);
    let result = runner(Config { max_shrink_iters: 200, ..Config::default() }).run(&vec(any::<u8>(), 30), |bytes| {
        let (text, transfers) = grow(&mut Choices(bytes.iter()));
        let (made, d) = plan(&text, &[]);
        let made = made.unwrap_or_else(|| panic!("{text}{d}"));
        let (e, s) = (estimate(&made, &Diagnostics::default()), simulate_by(&made, u64::MAX));
        let scale = simulated(&s, "job").rate.mean / e.flows[0].share.typical * s.window / 8.0;
        for (told, seen) in e.links.iter().zip(&s.links).filter(|(l, _)| l.name.starts_with("slot")) {
            assert_eq!((&told.name, &told.to), (&seen.name, &seen.to));
            let (ledger, slots) = (&told.ledger, &seen.slots);
            let more = |told: f64, seen: u64| seen as f64 - told * scale;
            let what = format!("{} toward {}", told.name, told.to);
            let payload = more(ledger.payload, slots.payload);
            let padding = 3.0 * transfers as f64;
            let bytes = (-0.01 - padding..=0.01).contains(&payload);
            prop_assert!(bytes, "{}: payload {}\n{}", what, payload, text);
            // Those of both ways: a request that is cut has two completions.
            let ends = HEADER * (1.0 + s.links.iter().map(|l| l.slots.payload).max().unwrap_or(0) as f64 / 4096.0);
            let framing = more(ledger.framing, slots.framing);
            prop_assert!(
                (-0.01..=ends + padding).contains(&framing),
                "{}: framing {} of {}\n{}",
                what,
                framing,
                ends,
                text
            );
            let requests = more(ledger.requests, slots.requests);
            let least = -HEADER * transfers as f64;
            prop_assert!((least..=ends).contains(&requests), "{}: requests {}\n{}", what, requests, text);
            compared.set(compared.get() + 1);
        }
        Ok(())
    });
    result.unwrap_or_else(|e| panic!("{e}"));
    assert!(compared.get() > 0);
}

/// An adapter on a bus reads one thing at a time, descriptors too: a burst of small messages goes at the pace of those.
/// Which of the two ranks' reads comes first is not the estimate's to know; it had given twice the simulated rate.
#[test]
fn on_a_bus_descriptors_wait_for_their_turn() {
    for size in ["8 B", "128 B"] {
        let text = format!(
            "[parts]\nhost = {{ is = \"host-bridge\", count = 2 }}\nhca = {{ is = \"channel-adapter\", count = 2 }}\n\
             [links]\nslot = {{ between = [\"host.*\", \"hca.*\"], pci = \"pci-x 133 64-bit\" }}\n\
             cable = {{ between = [\"hca.0\", \"hca.1\"], infiniband = \"sdr 4x\" }}\n[flows.job]\ndo = \"mpi\"\n\
             ranks = [\"hca.*\"]\neach = 2\ninterface = \"verbs\"\nsend_time = \"30 ns\"\nreceive_time = \"30 ns\"\n\
             program = \"repeat 20 {{ if rank < 2 {{ repeat 64 {{ isend {size} to rank + 2 }}; waitall }} \
             else {{ repeat 64 {{ irecv from rank - 2 }}; waitall }} }}\"\n"
        );
        let (made, d) = plan(&text, &[]);
        let made = made.unwrap_or_else(|| panic!("{text}{d}"));
        let (e, s) = (estimate(&made, &Diagnostics::default()), simulate_by(&made, u64::MAX));
        let off = simulated(&s, "job").rate.mean / e.flows[0].share.typical - 1.0;
        assert!(off.abs() < 0.15, "{size}: {off:+.3}");
    }
}

/// Adapters of which a program uses none change nothing of those that it uses, though they are alike.
#[test]
fn adapters_that_no_program_uses_change_nothing() {
    let text = |hosts: u32, ranks: [u32; 2]| {
        let [a, b] = ranks;
        format!(
            "[parts]\nhost = {{ is = \"root-complex\", count = {hosts} }}\n\
             hca = {{ is = \"channel-adapter\", count = {hosts} }}\nsw = {{ is = \"infiniband-switch\" }}\n[links]\n\
             slot = {{ between = [\"host.*\", \"hca.*\"], pcie = \"gen1 x1\" }}\n\
             cable = {{ between = [\"hca.*\", \"sw\"], infiniband = \"edr 4x\" }}\n[flows.job]\ndo = \"mpi\"\n\
             ranks = [\"hca.{a}\", \"hca.{b}\"]\ninterface = \"verbs\"\n\
             program = \"if rank == 0 {{ send 64 KiB to 1 }} else {{ recv from 0 }}\"\n"
        )
    };
    let [few, many] = [text(2, [0, 1]), text(4, [2, 3])].map(|text| {
        let (made, d) = plan(&text, &[]);
        let report = estimate(&made.unwrap_or_else(|| panic!("{text}{d}")), &Diagnostics::default());
        (report.flows[0].share.typical, report.flows[0].latency.typical)
    });
    assert_eq!(few, many);
}
