//! What the simulation takes no account of, one line for each key; a test walks the whole language and asks for what is
//! missing here.

use crate::plan::Plan;
use crate::result::{Gap, NotModelled, not_modelled};
use crate::scenario::Stated;

/// Declared by kind of table and key, with what happens in its place.
pub static NOT_MODELLED: &[Gap] = &[
    Gap::always("root-complex", "iommu", "translation", "peer-to-peer transactions are not translated")
        .when(|plan, s| s.value == "on" && plan.parts.iter().any(|p| p.forwards)),
    Gap::always("transact", "access.random", "placement", "messages have no offsets"),
    Gap::always("transact", "access.align", "placement", "messages have no offsets"),
    // One of the two says how long: a stated length is kept, however tight the means are.
    Gap::always("run", "until", "length", "run.for says how long, and the run ends then").when(fixed),
    Gap::always("run", "max_time", "length", "run.for says how long, and the run ends then").when(fixed),
    Gap::always(
        "ethernet-switch",
        "congestion_control",
        "congestion-control",
        "packets of programs are not slowed down: CNPs go to plain flows only",
    )
    .when(|plan, s| s.value == "dcqcn" && plan.programs_on_ethernet()),
    Gap::always(
        "ethernet-switch",
        "flow_control",
        "retransmission",
        "frames may be dropped here, and what was lost is not sent again: neither RoCE's go-back-N nor TCP's \
            retransmission",
    )
    .when(|plan, _| plan.loses()),
];

fn fixed(plan: &Plan, _: &Stated) -> bool {
    // With ranks it says when repetitions are steady.
    plan.limits.length.is_some() && plan.cluster.jobs.is_empty()
}

/// Of what the scenario of a plan states.
pub(super) fn of(plan: &Plan) -> Vec<NotModelled> {
    not_modelled(plan, "simulate", NOT_MODELLED)
}
