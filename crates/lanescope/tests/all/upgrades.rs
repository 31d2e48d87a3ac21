//! What an answer says of an upgrade is what the scenario gives with it, and what binds a flow is what holds it back.

use crate::bodies::{pattern, tree};
use crate::common::choices::{none_apart, of_fifty, runner};
use crate::common::plan;
use crate::extremes;
use lanescope::estimate::estimate;
use lanescope::result::{FlowReport, Report};
use proptest::collection::vec;
use proptest::prelude::any;
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

#[test]
fn an_upgrade_gives_what_was_said_in_trees() {
    let (compared, wrong) = (Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..1500), |bytes| {
        wrong.borrow_mut().extend(apart(&tree::grow(&bytes), &[], &compared));
        Ok(())
    });
    println!("{} compared", compared.get());
    none_apart(result.map_err(|e| e.to_string()), &wrong.into_inner());
    assert!(compared.get() > of_fifty(25), "{}", compared.get());
}

#[test]
fn an_upgrade_gives_what_was_said_in_patterns() {
    let (compared, wrong) = (Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..64), |bytes| {
        wrong.borrow_mut().extend(apart(&pattern::grow(&bytes).text, &[], &compared));
        Ok(())
    });
    println!("{} compared", compared.get());
    none_apart(result.map_err(|e| e.to_string()), &wrong.into_inner());
    assert!(compared.get() > of_fifty(25), "{}", compared.get());
}

/// However much of something there is already.
#[test]
fn an_upgrade_gives_what_was_said_at_extremes() {
    let (compared, wrong) = (Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&any::<u64>(), |seed| {
        let (text, sets) = extremes::case_of_pcie(seed);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        wrong.borrow_mut().extend(apart(text, &sets, &compared));
        Ok(())
    });
    println!("{} compared", compared.get());
    none_apart(result.map_err(|e| e.to_string()), &wrong.into_inner());
    assert!(compared.get() > of_fifty(25), "{}", compared.get());
}

/// What binds a flow that is alone: with more of it the flow gets more, or something else binds it as tightly.
#[test]
fn what_binds_a_lone_flow_holds_it_back() {
    let (seen, wrong) = (Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..1500), |bytes| {
        let text = tree::grow(&bytes);
        let Ok(report) = answer(&text, &[]) else { return Ok(()) };
        let [flow] = &report.flows[..] else { return Ok(()) };
        let (Some(upgrade), 1) = (&flow.upgrade, flow.each.len()) else { return Ok(()) };
        seen.set(seen.get() + 1);
        let more = upgrade.share > flow.share.typical * (1.0 + NOISE_ALONE);
        let another =
            (&upgrade.then.element, &upgrade.then.resource) != (&flow.bound_by.element, &flow.bound_by.resource);
        if !more && !another {
            let (before, by) = (flow.share.typical, &flow.bound_by);
            wrong.borrow_mut().push(format!("{before} by {by:?}; {upgrade:?}:\n{text}"));
        }
        Ok(())
    });
    println!("{} flows", seen.get());
    none_apart(result.map_err(|e| e.to_string()), &wrong.into_inner());
    assert!(seen.get() > 0, "{}", seen.get());
}
