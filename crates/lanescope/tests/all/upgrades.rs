//! What an answer says of an upgrade is what the scenario gives with it, and what binds a flow is what holds it back.

use crate::bodies::{pattern, tree};
use crate::common::choices::{none_apart, of_fifty, runner};
use crate::common::plan;
use crate::extremes;
use lanescope::estimate::{estimate, need};
use lanescope::plan::{Flow, Program};
use lanescope::result::{FlowReport, Report};
use lanescope::units::Rate;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// A float's noise, after as many steps as a filling takes; and that of one flow alone.
const NOISE: f64 = 1e-6;
const NOISE_ALONE: f64 = 1e-12;

fn answer(text: &str, sets: &[&str]) -> Result<Report, String> {
    let (plan, diagnostics) = plan(text, sets);
    plan.map(|plan| estimate(&plan, &diagnostics)).ok_or_else(|| diagnostics.to_string())
}

/// The flows whose upgrade gives something else than the scenario with that change. Counts those that were compared.
fn apart(text: &str, sets: &[&str], compared: &Cell<u64>) -> Vec<String> {
    let Ok(report) = answer(text, sets) else { return Vec::new() };
    let one = |flow: &FlowReport| {
        let upgrade = flow.upgrade.as_ref()?;
        let after = match answer(text, &[sets, &[&upgrade.change]].concat()) {
            Ok(after) => after,
            // Other parts are needed, as was said.
            Err(_) if !upgrade.fits => return None,
            Err(why) => return Some(format!("{} is refused:\n{why}\n{sets:?}{text}", upgrade.change)),
        };
        compared.set(compared.get() + 1);
        let then = after.flows.iter().find(|f| f.name == flow.name)?;
        let same = (then.share.typical - upgrade.share).abs() <= NOISE * upgrade.share.max(then.share.typical);
        let (is, said) = (then.share.typical, upgrade.share);
        (!same).then(|| format!("{}: {} gives {is}, and not {said}:\n{sets:?}{text}", flow.name, upgrade.change))
    };
    report.flows.iter().filter_map(one).collect()
}

/// Holds random inputs to a law that says what is apart, and counts what it compared: of fifty more than `enough`.
fn held<S: Strategy>(inputs: &S, enough: u64, law: impl Fn(S::Value, &Cell<u64>) -> Vec<String>) {
    let (compared, wrong) = (Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(inputs, |input| {
        wrong.borrow_mut().extend(law(input, &compared));
        Ok(())
    });
    println!("{} compared", compared.get());
    none_apart(result, &wrong.into_inner());
    assert!(compared.get() > of_fifty(enough), "{}", compared.get());
}

#[test]
fn an_upgrade_gives_what_was_said_in_trees() {
    held(&vec(any::<u8>(), 0..1500), 25, |bytes, compared| apart(&tree::grow(&bytes), &[], compared));
}

#[test]
fn an_upgrade_gives_what_was_said_in_patterns() {
    held(&vec(any::<u8>(), 0..64), 25, |bytes, compared| apart(&pattern::grow(&bytes).text, &[], compared));
}

/// However much of something there is already.
#[test]
fn an_upgrade_gives_what_was_said_at_extremes() {
    held(&any::<u64>(), 8, |seed, compared| {
        let (text, sets) = extremes::case_of_pcie(seed);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        apart(text, &sets, compared)
    });
}

/// Twice 1.1 GiB/s is no whole number of bits a second, and is printed with four digits: those are what is answered.
#[test]
fn a_rounded_upgrade_gives_what_is_printed() {
    let text = r#"
[parts.host]
is = "root-complex"
[parts.dev]
is = "endpoint"
tags = 256
read_rate = "1.1 GiB/s"
[links.slot]
between = ["host", "dev"]
pcie = "gen4 x16"
[flows.dma]
from = "dev"
to = "host.memory"
do = "read"
size = "4 KiB"
"#;
    let compared = Cell::new(0);
    none_apart(Ok(()), &apart(text, &[], &compared));
    assert_eq!(compared.get(), 1);
    let change = answer(text, &[]).ok().and_then(|r| r.flows[0].upgrade.as_ref().map(|u| u.change.clone()));
    assert_eq!(change.as_deref(), Some("parts.dev.read_rate=\"18.9 Gb/s\""));
}

/// The same text with its first table of flows alone.
fn with_one_table(text: &str) -> String {
    let mut tables = text.split("\n[");
    let head = tables.next().unwrap_or_default().to_owned();
    let mut flows = 0;
    let kept = tables.filter(|t| {
        flows += u32::from(t.starts_with("flows."));
        !t.starts_with("flows.") || flows == 1
    });
    kept.fold(head, |text, table| text + "\n[" + table)
}

/// What binds a flow that is alone: with more of it the flow gets more, or something else binds it as tightly, so that
/// more of that alone gives nothing either.
#[test]
fn what_binds_a_lone_flow_holds_it_back() {
    let (seen, tied, wrong) = (Cell::new(0), Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..1500), |bytes| {
        let text = with_one_table(&tree::grow(&bytes));
        let Ok(report) = answer(&text, &[]) else { return Ok(()) };
        let [flow] = &report.flows[..] else { return Ok(()) };
        let (Some(upgrade), 1) = (&flow.upgrade, flow.each.len()) else { return Ok(()) };
        seen.set(seen.get() + 1);
        let more = |share: f64| share > flow.share.typical * (1.0 + NOISE_ALONE);
        if more(upgrade.share) {
            return Ok(());
        }
        tied.set(tied.get() + 1);
        let other = upgrade.then.element != flow.bound_by.element || upgrade.then.resource != flow.bound_by.resource;
        let after = answer(&text, &[&upgrade.change]).ok();
        let next = after.and_then(|r| r.flows[0].upgrade.as_ref().map(|u| u.change.clone()));
        let alone = next.and_then(|change| answer(&text, &[&change]).ok()).map(|r| r.flows[0].share.typical);
        if !other || alone.is_some_and(more) {
            let (before, by) = (flow.share.typical, &flow.bound_by);
            wrong.borrow_mut().push(format!("{before} by {by:?}; {upgrade:?}; {alone:?}:\n{text}"));
        }
        Ok(())
    });
    println!("{} flows, {} bound by two things alike", seen.get(), tied.get());
    none_apart(result, &wrong.into_inner());
    assert!(seen.get() > of_fifty(15), "{}", seen.get());
}

/// What would give a flow more, each thing by itself: so much it gives.
#[test]
fn what_is_needed_gives_what_was_said() {
    held(&vec(any::<u8>(), 0..1500), 15, |bytes, compared| {
        let mut wrong = Vec::new();
        let text = tree::grow(&bytes);
        let Some(first) = plan(&text, &[]).0 else { return wrong };
        // An open load is asked what it could have if it offered more.
        let open = |f: &&Flow| matches!(f.program, Program::Open { .. });
        let Some(flow) = first.flows.iter().find(|f| !open(f)) else { return wrong };
        let Ok(needed) = need(&first, &flow.group, Rate::from_bits(1 << 50)) else { return wrong };
        for step in needed.alone.iter().filter(|s| s.fits && !s.change.starts_with("mps=")) {
            let report = match answer(&text, &[&step.change]) {
                Ok(report) => report,
                Err(why) => {
                    wrong.push(format!("{} is refused:\n{why}\n{text}", step.change));
                    continue;
                }
            };
            compared.set(compared.get() + 1);
            let Some(then) = report.flows.iter().find(|f| f.name == flow.group) else { continue };
            let (is, said) = (then.share.typical, step.share);
            if (is - said).abs() > NOISE * is.max(said) {
                wrong.push(format!("{}: {} gives {is}, and not {said}:\n{text}", then.name, step.change));
            }
        }
        wrong
    });
}
