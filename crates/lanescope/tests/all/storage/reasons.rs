//! What an answer names as its reason is one: relaxed, it raises the share.

use crate::common::choices::{none_apart, of_fifty, runner};
use crate::common::grow::storage::one_flow;
use crate::common::plan;
use lanescope::estimate::estimate;
use lanescope::result::{Binding, FlowReport};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// What relaxes a resource of an element: what is set, all of it at once.
fn relaxed(element: &str, resource: &str) -> Option<&'static [&'static str]> {
    Some(match (element, resource) {
        (_, "I/Os outstanding") => &["flows.f0.outstanding=4096"],
        (_, "rotation") => &["parts.d.rpm=16000000"],
        (_, "rate") => &["flows.f0.rate=4000000"],
        (_, "its rate") => &["parts.d.rate=100 GB/s"],
        (_, "heads") => &[
            "parts.d.rpm=16000000",
            "parts.d.outer_rate=100 GB/s",
            "parts.d.inner_rate=100 GB/s",
            "parts.d.track_seek=0 s",
            "parts.d.average_seek=0 s",
            "parts.d.full_seek=0 s",
            "parts.d.command_time=0 s",
        ],
        (_, "channels") => &["parts.d.channel_rate=100 GB/s"],
        (_, "dies") => &["parts.d.read_time=1 ns"],
        (_, "stripes") => &["parts.d.program_time=1 ns", "parts.d.stripe_rate=100 GB/s"],
        (_, "controller") => &["parts.d.command_time=0 s"],
        (_, "cache memory") => &["parts.hba.memory_bandwidth=100 GB/s"],
        (_, "parity engine") => &["parts.hba.xor_rate=100 GB/s"],
        (_, "processor") => &["parts.hba.command_time=0 s"],
        (_, "commands at it") => &["parts.hba.queue_depth=4096"],
        (host, _) if host.starts_with("parts.host") => &["flows.f0.submit_time=0 s", "flows.f0.complete_time=0 s"],
        (slot, "slots") if slot.starts_with("links.slot") => &["links.slot.pcie=gen4 x16"],
        (wire, "slots") if wire.starts_with("links.wire") => &["links.wire.sas=22.5G"],
        _ => return None,
    })
}

/// The same of a wire of another kind.
const WIRES: [&str; 2] = ["links.wire.fc=32GFC", "links.wire.scsi=ultra320"];

/// The flow without what binds it; none where nothing here relaxes that, or it is as good as can be.
fn without(text: &str, by: &Binding) -> Option<FlowReport> {
    let sets = relaxed(&by.element, &by.resource)?;
    let mut tries = vec![sets.to_vec()];
    if by.element.starts_with("links.wire") && !text.contains("ultra320") {
        tries.extend(WIRES.map(|w| vec![w]));
    }
    if by.element.starts_with("links.wire") && text.contains("22.5G") {
        return None;
    }
    let (plan, d) = tries.iter().map(|sets| plan(text, sets)).find(|(plan, _)| plan.is_some())?;
    Some(estimate(&plan?, &d).flows.remove(0))
}

/// Whatever binds a flow: without it, the flow gets more. Two may bind it alike: then neither alone gives more, and one
/// is named after the other.
#[test]
fn what_binds_relaxed_gives_more() {
    let mut runner = runner(Config { max_shrink_iters: 200, ..Config::default() });
    let (seen, wrong) = (RefCell::new(BTreeMap::<String, u32>::new()), RefCell::new(Vec::new()));
    let unknown = Cell::new(0);
    let result = runner.run(&vec(any::<u8>(), 60..160), |bytes| {
        let text = one_flow(&bytes);
        let (Some(first), d) = plan(&text, &[]) else { return Ok(()) };
        let before = estimate(&first, &d).flows.remove(0);
        if !before.bound_also.is_empty() {
            return Ok(());
        }
        let Some(after) = without(&text, &before.bound_by) else {
            println!("not relaxed: {:?}", before.bound_by);
            unknown.set(unknown.get() + 1);
            return Ok(());
        };
        *seen.borrow_mut().entry(before.bound_by.resource.clone()).or_default() += 1;
        let more = |f: &FlowReport| f.share.typical > before.share.typical * (1.0 + 1e-6);
        let alike = || after.bound_by != before.bound_by && without(&text, &after.bound_by).is_none_or(|f| !more(&f));
        if !more(&after) && !alike() {
            let (now, then) = (&before.bound_by, &after.bound_by);
            let (b, a) = (before.share.typical, after.share.typical);
            wrong.borrow_mut().push(format!("{b}: {now:?}, then {a}: {then:?}\n{text}"));
        }
        Ok(())
    });
    let seen = seen.into_inner();
    println!("{seen:?}, {} not relaxed", unknown.get());
    none_apart(result, &wrong.into_inner());
    assert!(u64::from(seen.values().sum::<u32>()) > of_fifty(25), "{seen:?}");
}
