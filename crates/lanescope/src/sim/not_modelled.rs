//! What the simulation takes no account of, one line for each reason; a test walks the whole language and asks for
//! what is missing here.

use crate::plan::Plan;
use crate::result::{DCQCN, Gap, NO_OFFSETS, NotModelled, OVER_A_FABRIC, UNTRANSLATED, not_modelled};
use crate::scenario::Stated;
use crate::scenario::keys::SimulationLevel;

/// At either level.
pub(super) const FIXED_LENGTH: Gap =
    Gap::always("run", &["until", "max_time"], "length", "run.for sets the length, and the run ends then").when(fixed);

/// Declared by kind of table and key, with what happens in its place.
pub static NOT_MODELLED: &[Gap] = &[
    UNTRANSLATED,
    OVER_A_FABRIC,
    NO_OFFSETS,
    // One of the two says how long: a stated length is kept, however tight the means are.
    FIXED_LENGTH,
    Gap::always(
        "ethernet-switch",
        &["congestion_control"],
        "congestion-control",
        "segments of TCP are not slowed down: neither by DCQCN nor by a window",
    )
    .when(|plan, s| s.value == "dcqcn" && !plan.storage.pairs.is_empty()),
    Gap::always("ethernet-switch", &["ecmp"], "flowlets", "each TCP connection keeps one path")
        .when(|plan, s| matches!(s.value.as_str(), "flowlet" | "packet") && !plan.storage.pairs.is_empty()),
    Gap::always(
        "io",
        &["fabric"],
        "retransmission",
        "what is lost of an RDMA READ is sent again like any other message, not asked for by another READ",
    )
    .when(|plan, _| plan.resends() && plan.storage.remote().any(|(_, f, _)| plan.over_roce(f))),
    Gap::always(
        "ethernet-switch",
        &["flow_control"],
        "retransmission",
        "segments of TCP may be dropped here, and what was lost is not sent again",
    )
    .when(|plan, _| plan.loses()),
];

/// The same at flow level.
pub static NOT_AT_FLOW_LEVEL: &[Gap] = &[
    FIXED_LENGTH,
    Gap::always(
        "ethernet-switch",
        &[
            "buffers",
            "memory",
            "flow_control",
            "high_threshold",
            "low_threshold",
            "pause_quanta",
            "lossless",
            "lossy_memory",
            "headroom",
        ],
        "memory",
        "switches hold nothing: nothing is paused or dropped; whether a station has one FIFO or lanes is as by packets",
    ),
    Gap::always(
        "ethernet-switch",
        &["congestion_control", "ecn_low", "ecn_high", "ecn_probability"],
        "congestion-control",
        "sources are at their max-min fair rate at once",
    ),
    Gap::always(
        "ethernet-switch",
        &["scheduling", "weights"],
        "priorities",
        "all messages are alike, whatever their priority",
    ),
    Gap::always(
        "ethernet-switch",
        &["ecmp", "flowlet_gap"],
        "packet-spraying",
        "a message of a stream takes all shortest paths at once, evenly, one of a program keeps one path; nothing \
         arrives out of order",
    )
    .when(|plan, _| plan.network.reorders()),
    Gap::always(
        "station",
        &["nic_buffer", "mac_buffer", "queue", "pause_response", "credit"],
        "memory",
        "what waits in a station has room, and nothing pauses it",
    ),
    Gap::always("station", DCQCN, "congestion-control", "sources are at their max-min fair rate at once"),
    Gap::always(
        "station",
        &["retransmission", "retransmission_timeout", "reordering", "window"],
        "retransmission",
        "nothing is lost",
    ),
    Gap::always("send", &["priority"], "priorities", "all messages are alike, whatever their priority"),
    Gap::always("infiniband", &["lanes"], "virtual-lanes", "all messages are alike, whatever their virtual lane")
        .when(on_several_lanes),
    Gap::always("mpi", &["lane"], "virtual-lanes", "all messages are alike, whatever their virtual lane")
        .when(on_several_lanes),
    // Hosts' PCIe is taken from the closed form.
    Gap::always("endpoint", &["order"], "arbitration", "what meets shares a link max-min fair")
        .when(|_, s| s.value != "turns"),
    Gap::always("switch", &["arbitration"], "arbitration", "what meets shares a link max-min fair")
        .when(|_, s| s.value != "round-robin"),
    Gap::always("switch", &["queues"], "head-of-line-blocking", "nothing waits in a queue")
        .when(|_, s| s.value != "per-output"),
];

/// Whether programs use different virtual lanes.
fn on_several_lanes(plan: &Plan, _: &Stated) -> bool {
    plan.cluster.jobs.windows(2).any(|jobs| jobs[0].keys.lane.typical != jobs[1].keys.lane.typical)
}

fn fixed(plan: &Plan, _: &Stated) -> bool {
    // With ranks it says when repetitions are steady.
    plan.limits.length.is_some() && plan.cluster.jobs.is_empty()
}

/// Of what the scenario of a plan states.
pub(super) fn of(plan: &Plan) -> Vec<NotModelled> {
    let gaps = match plan.limits.level {
        SimulationLevel::Packet | SimulationLevel::Auto => NOT_MODELLED,
        SimulationLevel::Flow => NOT_AT_FLOW_LEVEL,
    };
    not_modelled(plan, "simulate", gaps)
}
