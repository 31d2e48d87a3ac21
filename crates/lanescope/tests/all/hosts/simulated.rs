//! Where arithmetic does not suffice: the simulation beside the ranges, and loads of the user's own.

use super::explained::switch;
use super::{host, ours};
use lanescope::diagnostic::Diagnostics;
use lanescope::explain::{explain, simulate, workload};
use lanescope::library::Library;
use lanescope::plan::Plan;
use lanescope::scenario::{Included, tree::Author};

#[test]
fn loads_and_pairs_are_simulated() {
    let host = host(&switch("-", ""));
    let mut report = explain(&host);
    let queues = |way: &str| report.together.iter().find(|t| t.way == way).expect("a load").queues.is_some();
    assert!(queues("both ways") && !queues("to memory"), "the report says where arithmetic does not suffice");
    simulate::simulate(&host, &mut report, &mut || true);
    for load in &report.together {
        let run = load.simulated.as_ref().expect("simulated");
        let (low, high) = (load.total.low.expect("low"), load.total.high.expect("high"));
        // What only goes one way is what was expected; both ways at once give less than twice that, and more than once.
        let least = if load.queues.is_some() { 0.6 } else { 0.97 };
        assert!((low * least..=high * 1.03).contains(&run.total), "{load:#?}");
        assert!(run.least <= run.total && run.plus_minus.is_none_or(|p| p < run.total * 0.1), "{load:#?}");
    }
    let pair = &report.pairs[0];
    let (one, both) = (pair.simulated.as_ref().expect("one"), pair.simulated_both_ways.as_ref().expect("both"));
    let typical = pair.write.typical.expect("typical");
    assert!((one.total / typical - 1.0).abs() < 0.03, "{pair:#?}");
    assert!(both.total > 1.5 * one.total && both.total < 2.01 * one.total, "{pair:#?}");
}

#[test]
fn a_simulation_that_is_stopped_leaves_the_rest_out() {
    let host = host(&ours("epyc-4gpu-e12/host.md"));
    let mut report = explain(&host);
    simulate::simulate(&host, &mut report, &mut || false);
    assert!(
        report.together.iter().all(|t| t.simulated.is_none()) && report.pairs.iter().all(|p| p.simulated.is_none())
    );
}

fn load(text: &str) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "load.toml".into(), text: text.into(), author: Author::User };
    let plan = workload::plan(&mut diagnostics, &host(&ours("epyc-4gpu-e12/host.md")), included, &Library);
    (plan, diagnostics)
}

#[test]
fn a_load_of_ones_own_names_devices_in_any_way() {
    let flow = |from: &str| {
        format!("[flows.copy]\nfrom = \"{from}\"\nto = \"node0.memory\"\ndo = \"write\"\nsize = \"1 MiB\"\n")
    };
    let share = |text: &str| {
        let (plan, diagnostics) = load(text);
        let plan = plan.unwrap_or_else(|| panic!("{diagnostics}"));
        let report = lanescope::estimate::estimate(&plan, &diagnostics);
        assert_eq!(report.flows.len(), 1, "the load is the user's, and nobody else's");
        report.flows[0].share.typical / 8e9
    };
    let plain = share(&flow("gpu0"));
    assert!((25.0..29.0).contains(&plain), "{plain}");
    for name in ["0000:01:00.0", "01:00.0", "GPU0"] {
        assert_eq!(share(&flow(name)), plain, "{name}");
    }
}

#[test]
fn mistakes_of_a_load_point_into_its_file() {
    for (text, place, words) in [
        (
            "[flows.a]\nfrom = \"gpu9\"\nto = \"node0.memory\"\ndo = \"write\"\nsize = \"1 KiB\"\n",
            "load.toml:2",
            "gpu9",
        ),
        (
            "[flows.a]\nfrom = \"gpu0\"\nto = \"node0.memory\"\ndo = \"wriet\"\nsize = \"1 KiB\"\n",
            "load.toml:4",
            "wriet",
        ),
        (
            "[flows.a]\nfrom = \"gpu0\"\nto = \"gpu0\"\ndo = \"write\"\nsize = \"1 KiB\"\n",
            "load.toml:3",
            "ends where it starts",
        ),
        ("[flows.a\n", "load.toml:1", ""),
        ("[run]\nseed = 1\n", "load.toml:1", "no flows"),
        ("platform = \"x\"\n[flows.a]\nfrom = \"gpu0\"\n", "load.toml:1", "platform"),
        ("", "", "empty"),
    ] {
        let (plan, diagnostics) = load(text);
        let said = diagnostics.to_string();
        assert!(plan.is_none() && said.contains(place) && said.contains(words), "{text}:\n{said}");
    }
}
