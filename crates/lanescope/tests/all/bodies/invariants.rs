//! What every estimate must keep, whatever the scenario.

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::{at_corners, estimate};
use lanescope::plan::{Plan, Program};
use lanescope::result::{FlowReport, Ranged, Report, Verdict};
use lanescope::scenario::PartKeys;
use lanescope::scenario::quantity::Quantity;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A float's noise.
const NOISE: f64 = 1e-9;

/// Longest time that one estimate may take; sized for a slow machine and an unoptimised build.
const LONGEST: Duration = Duration::from_secs(20);

/// Panics with a sentence where a report breaks a law.
pub fn check(plan: &Plan, report: &Report) {
    for flow in &report.flows {
        flow_law(plan, flow);
    }
    if let Some(total) = &report.total {
        for (what, r) in [("share", total.share), ("both_ways", total.both_ways)] {
            finite(&format!("total {what}"), &[r.slower, r.typical, r.faster]);
            assert!(in_order(r), "total {what}: {r:?}");
        }
        finite("total bound", &[total.bound.slower, total.bound.typical, total.bound.faster, total.framing_limit]);
        let sum: f64 = report.flows.iter().map(|f| f.share.typical).sum();
        near("the total is the sum of its flows", sum, total.share.typical);
        bounded("total", total.share, total.bound);
    }
    for link in &report.links {
        let name = format!("links.{} toward {}", link.name, link.to);
        assert!(in_order(link.payload), "{name}: payload {:?}", link.payload);
        let entries = link.ledger.entries();
        for (what, value) in entries {
            assert!(value >= 0.0 && value.is_finite(), "{name}: {what} is {value}");
        }
        finite(&name, &[link.ledger.raw, link.tlps, link.tlp_overhead.unwrap_or(0.0)]);
        let sum: f64 = entries.iter().map(|e| e.1).sum();
        let off = (sum - link.ledger.raw).abs() / link.ledger.raw;
        assert!(off <= 1e-6, "{name}: the entries add up to {sum}, not to {}", link.ledger.raw);
        at_most(&format!("{name}: utilisation"), link.ledger.utilisation(), 1.0);
    }
    for switch in &report.switches {
        let r = switch.latency;
        finite(&switch.name, &[r.slower, r.typical, r.faster]);
    }
}

fn flow_law(plan: &Plan, flow: &FlowReport) {
    let name = &flow.name;
    let all = |r: &Ranged| [r.slower, r.typical, r.faster];
    finite(&format!("{name}: share"), &all(&flow.share));
    // At a corner somebody may lose what others gain, and the range holds that.
    for r in flow.goodput.iter().chain([&flow.share]) {
        assert!(in_order(*r), "{name}: {r:?}");
    }
    finite(&format!("{name}: latency"), &all(&flow.latency));
    for r in flow.latency_first.iter().chain(&flow.round_trip) {
        finite(&format!("{name}: latency"), &all(r));
    }
    finite(&format!("{name}: bound"), &all(&flow.bound));
    finite(&format!("{name}: framing limit"), &[flow.framing_limit]);
    finite(&format!("{name}: wanted"), &flow.wanted_each);
    finite(&format!("{name}: each"), &flow.each);
    finite(&format!("{name}: upgrade"), &[flow.upgrade.as_ref().map_or(0.0, |l| l.share)]);
    if let Some(m) = &flow.measured {
        assert!(m.each.is_finite() && m.unexplained.iter().all(|u| u.is_finite()), "{name}: {m:?}");
    }
    assert_eq!(flow.each.len(), flow.instances);
    near(&format!("{name}: the share is the sum of its instances"), flow.each.iter().sum(), flow.share.typical);
    bounded(name, flow.share, flow.bound);
    let members = plan.flows.iter().filter(|f| f.group == *name);
    let mut short = false;
    for (member, share) in members.zip(&flow.each) {
        if let Program::Open { rate, .. } = member.program {
            at_most(&format!("{}: an open load's share", member.name), *share, rate.bits());
            short |= *share < rate.bits() * (1.0 - 1e-6);
        }
    }
    assert!(!short || flow.verdict == Verdict::Unstable, "{name} gets less than it offers and is called stable");
}

/// The same plan gives the same report, and its JSON the same again, in bounded time.
pub fn repeatable(plan: &Plan, diagnostics: &Diagnostics, report: &Report) {
    let start = Instant::now();
    let again = estimate(plan, diagnostics);
    assert!(start.elapsed() < LONGEST, "{:?} for {} flows", start.elapsed(), plan.flows.len());
    assert_eq!(again, *report, "two runs differ");
    let json = serde_json::to_string(report).expect("a report is JSON");
    let back: Report = serde_json::from_str(&json).unwrap_or_else(|e| panic!("a report is not read back: {e}\n{json}"));
    // Numbers may come back off by their last bit, depending on how the JSON reader was built.
    let (a, b) = (serde_json::to_value(report).expect("JSON"), serde_json::to_value(&back).expect("JSON"));
    assert!(alike(&a, &b), "JSON changes a report:\n{a}\n{b}");
}

fn alike(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Number(x), Number(y)) => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => x == y || (x - y).abs() <= 2.0 * f64::EPSILON * x.abs().max(y.abs()),
            _ => x == y,
        },
        (Array(x), Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| alike(x, y)),
        (Object(x), Object(y)) => x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| alike(v, w))),
        _ => a == b,
    }
}

/// Each flow by itself: the shares at the corners are in order. Other flows aside, nothing that is faster makes it
/// slower; sizes of packets are left at their typical value, because larger ones cost fewer bytes on the wire and more
/// time in a switch that stores and forwards.
pub fn alone(plan: &Plan, diagnostics: &Diagnostics) {
    let mut parts = plan.parts.to_vec();
    for part in &mut parts {
        match &mut part.keys {
            PartKeys::RootComplex(k) => {
                pin(&mut k.completion_size);
                pin(&mut k.load_size);
                k.large_completion_size.iter_mut().for_each(pin);
            }
            PartKeys::Endpoint(k) => pin(&mut k.max_read_request),
            PartKeys::Switch(_) => {}
            other => panic!("a part that no law knows: {other:?}"),
        }
    }
    let parts = Arc::new(parts);
    for flow in plan.flows.iter() {
        let single = Plan { flows: Arc::new(vec![flow.clone()]), parts: parts.clone(), ..plan.clone() };
        let report = estimate(&single, diagnostics);
        check(&single, &report);
        for f in &at_corners(&single, diagnostics).flows {
            assert!(in_order(f.share), "{} alone: {:?} {:?}", flow.name, f.share, f.bound_by);
        }
    }
}

fn pin<T: Clone>(q: &mut Quantity<T>) {
    (q.slow, q.fast) = (q.typical.clone(), q.typical.clone());
}

/// Little's law: a closed load keeps no more in flight than is outstanding, although no operation takes less than it
/// does unloaded.
pub fn little(plan: &Plan, report: &Report) {
    for flow in plan.flows.iter() {
        let Program::Closed { outstanding, think, round_trip: None } = flow.program else { continue };
        let Some(told) = report.flows.iter().find(|f| f.name == flow.group && f.instances == 1) else { continue };
        // Of one that alternates a read and a write for each byte of its share; its latency is the mean of both.
        let ways = if flow.reads() && flow.writes() { 2.0 } else { 1.0 };
        let each = ways * told.share.typical / (8.0 * flow.size.typical.f64());
        let held = each * (told.latency.typical + think.seconds());
        at_most(&format!("{}: operations in flight", flow.name), held, outstanding as f64);
    }
}

/// Whether the ends of a range hold what is typical.
fn in_order(r: Ranged) -> bool {
    r.slower <= r.typical * (1.0 + NOISE) && r.typical <= r.faster * (1.0 + NOISE)
}

fn finite(what: &str, values: &[f64]) {
    assert!(values.iter().all(|v| v.is_finite() && *v >= 0.0), "{what}: {values:?}");
}

fn near(what: &str, a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()), "{what}: {a} against {b}");
}

/// At each corner by its own bound.
fn bounded(name: &str, share: Ranged, bound: Ranged) {
    at_most(&format!("{name}: share"), share.typical, bound.typical);
    at_most(&format!("{name}: share at the slower corner"), share.slower, bound.slower);
    at_most(&format!("{name}: share at the faster corner"), share.faster, bound.faster);
}

fn at_most(what: &str, value: f64, most: f64) {
    assert!(value <= most * (1.0 + NOISE), "{what}: {value} is above {most}, by {}", value / most - 1.0);
}
