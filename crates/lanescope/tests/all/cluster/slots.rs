//! What holds a program up is named by the element that is busy, also where that is behind an adapter.

use super::simulate_by;
use crate::common::choices::{Choices, runner};
use crate::common::{flow, planned, run};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};

#[test]
fn the_slot_behind_an_adapter_is_named() {
    let text = std::fs::read_to_string(format!("{}/tests/cases/roce-narrow-slot.toml", env!("CARGO_MANIFEST_DIR")))
        .expect("a case");
    let report = run(&text, &[]);
    let by = &flow(&report, "incast").bound_by;
    assert_eq!((by.element.as_str(), by.resource.as_str()), ("links.slot0 toward host.0", "slots"), "{by:?}");
    let none = ["parts.leaf.congestion_control=none", "parts.spine.congestion_control=none"];
    let seen = simulate_by(&planned(&text, &none), u64::MAX);
    assert_eq!(seen.flows.last().map(|f| f.bound_by.element.as_str()), Some(by.element.as_str()));
    // With DCQCN rates are not found again in so short a time, and nobody says that it gets all that it asks for.
    let slow = simulate_by(&planned(&text, &[]), u64::MAX);
    let by = &slow.flows.last().expect("a program").bound_by;
    assert!(by.resource == "congestion control" && by.evidence.contains("not converged"), "{by:?}");
    assert!(slow.window > 1.2 * seen.window, "{} {}", slow.window, seen.window);
    assert!(slow.notes.iter().any(|n| n.mechanism == "congestion-control" && n.text.contains("CNPs")));
}

/// Hosts with slots of their own on one switch; large messages, to one, from one, around, or all to all.
fn grow(bytes: &[u8]) -> String {
    let mut c = Choices(bytes.iter());
    let nodes = 2 + c.below(4);
    let ethernet = c.below(2) == 0;
    let switch =
        if ethernet { "is = \"ethernet-switch\"\nflow_control = \"pfc\"\n" } else { "is = \"infiniband-switch\"\n" };
    let cable = match ethernet {
        true => format!("ethernet = \"{}\"\nmtu = \"4200 B\"\n", c.of(&["10 Gb/s", "25 Gb/s", "100 Gb/s"])),
        false => format!("infiniband = \"{}\"\nmtu = \"4096 B\"\n", c.of(&["sdr 4x", "fdr 4x", "edr 4x"])),
    };
    let mut text = format!("[parts.sw]\n{switch}");
    for n in 0..nodes {
        let slot = c.of(&["gen2 x4", "gen3 x4", "gen3 x8", "gen3 x16"]);
        text += &format!(
            "[parts.h{n}]\nuse = \"example/root-complex\"\n[parts.n{n}]\nuse = \"example/hca-edr\"\n\
             [links.s{n}]\nbetween = [\"h{n}\", \"n{n}\"]\npcie = \"{slot}\"\nmps = \"256 B\"\n\
             [links.c{n}]\nbetween = [\"n{n}\", \"sw\"]\n{cable}"
        );
    }
    let names: Vec<String> = (0..nodes).map(|n| format!("\"n{n}\"")).collect();
    let size = c.of(&["256 KiB", "1 MiB"]);
    let program = match c.below(4) {
        0 => format!(
            "if rank == 0 {{ repeat 8 * (ranks - 1) {{ irecv from any }} }} else {{ repeat 8 {{ isend {size} to 0 }} \
                }} waitall"
        ),
        1 => format!(
            "if rank == 0 {{ repeat 8 {{ isend {size} to 1 }} }}  if rank == 1 {{ repeat 8 {{ irecv from 0 }} }} \
                waitall"
        ),
        2 => {
            format!("repeat 8 {{ isend {size} to (rank + 1) % ranks; irecv from (rank + ranks - 1) % ranks }} waitall")
        }
        _ => format!("repeat 4 {{ alltoall {size} }}"),
    };
    text + &format!(
        "[flows.job]\ndo = \"mpi\"\nranks = [{}]\ninterface = \"verbs\"\nprogram = \"{program}\"\n",
        names.join(", ")
    )
}

#[test]
fn the_element_that_is_named_is_the_busiest() {
    let result = runner(Config::default()).run(&vec(any::<u8>(), 16..40), |bytes| {
        let text = grow(&bytes);
        let check = || {
            let report = run(&text, &[]);
            let by = &flow(&report, "job").bound_by;
            let seen = simulate_by(&planned(&text, &[]), u64::MAX);
            let busy = |l: &lanescope::result::SimulatedLink| l.slots.busy() as f64 / l.slots.total().max(1) as f64;
            let most = seen.links.iter().map(busy).fold(0.0, f64::max);
            let Some(named) = seen.links.iter().find(|l| format!("links.{} toward {}", l.name, l.to) == by.element)
            else {
                // Not a wire: then none is nearly full.
                assert!(most < 0.9, "{by:?}, but a link is {most} busy");
                return;
            };
            // Of several that are alike any may be named: those that do the same work differ by DLLPs and requests,
            // some per cent of the slots.
            assert!(busy(named) >= most - 0.05, "{by:?} is {} busy, the busiest {most}", busy(named));
        };
        std::panic::catch_unwind(check).map_err(|_| TestCaseError::fail(format!("another is busier:\n{text}")))
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}
