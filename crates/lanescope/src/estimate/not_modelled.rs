//! What the closed form takes no account of, one line for each reason; a test walks the whole language and asks for
//! what is missing here.

use crate::estimate::ethernet::MOST_PAIRS;
use crate::estimate::storage::followed;
use crate::plan::Plan;
use crate::plan::storage::{IoFlow, Volume};
use crate::result::{DCQCN, Gap, NO_OFFSETS, NotModelled, OVER_A_FABRIC, UNTRANSLATED, not_modelled};
use crate::scenario::Stated;
use crate::scenario::keys::Line;
use crate::scenario::quantity::Corner;

/// Declared by kind of table and key, with what is assumed in its place.
pub static NOT_MODELLED: &[Gap] = &[
    // PCIe: it knows neither queues nor order, only capacities and turns.
    Gap::always("switch", &["arbitration"], "arbitration", "shares assume round robin between ports")
        .when(|_, s| s.value != "round-robin"),
    Gap::always(
        "switch",
        &["queues"],
        "head-of-line-blocking",
        "shares assume a queue for each output, without head-of-line blocking",
    )
    .when(|_, s| s.value != "per-output"),
    Gap::always("endpoint", &["order"], "arbitration", "shares assume round robin between flows")
        .when(|_, s| s.value != "turns"),
    Gap::always(
        "dma",
        &["load.arrivals"],
        "queueing",
        "only the mean rate counts, however operations arrive: queueing is not modelled",
    )
    .when(|_, s| s.value != "even"),
    Gap::always(
        "bus-dma",
        &["load.arrivals"],
        "queueing",
        "only the mean rate counts, however operations arrive: queueing is not modelled",
    )
    .when(|_, s| s.value != "even"),
    UNTRANSLATED,
    // Ethernet: what waits, is paused, dropped or slowed down is not in it.
    Gap::always(
        "send",
        &["load.arrivals"],
        "queueing",
        "only the mean rate counts, however operations arrive: queueing is not modelled",
    )
    .when(|_, s| s.value != "even"),
    Gap::always(
        "send",
        &["load.burst", "load.bursts"],
        "queueing",
        "only the mean rate counts, however operations arrive: queueing is not modelled",
    ),
    Gap::always(
        "send",
        &["pattern"],
        "sampled-pairs",
        "of more than a million pairs of a source and a destination evenly spaced ones stand for all; over parallel \
            links of one rule their hashed ways are taken as spread evenly, unless too many flows beside have one way",
    )
    .when(|plan, _| plan.network.pairs() > MOST_PAIRS),
    Gap::always("station", &["nic_buffer", "mac_buffer", "queue"], "queueing", "queueing at stations is not modelled"),
    Gap::always("station", &["pause_response"], "pause", "shares assume that flow control acts at once"),
    Gap::always("station", &["credit"], "grants", "shares assume that grants never run short"),
    Gap::always("station", DCQCN, "congestion-control", "DCQCN's reaction to notifications is not modelled")
        .when(by_dcqcn),
    Gap::always("ethernet-switch", &["buffers"], "head-of-line-blocking", "shares assume a FIFO at each output")
        .when(|_, s| s.value == "input"),
    Gap::always(
        "ethernet-switch",
        &["memory", "lossy_memory"],
        "queueing",
        "queueing in switch memories is not modelled",
    ),
    Gap::always(
        "ethernet-switch",
        &["high_threshold", "low_threshold", "pause_quanta", "headroom"],
        "pause",
        "shares assume that flow control acts at once",
    ),
    Gap::always(
        "ethernet-switch",
        &["ecn_low", "ecn_high", "ecn_probability"],
        "congestion-control",
        "DCQCN's reaction to notifications is not modelled",
    )
    .when(by_dcqcn),
    // Storage: shares are those of steady streams of commands.
    Gap::always(
        "host-adapter",
        &["cache"],
        "cache",
        "a cache is assumed full: what goes through it is what the disks carry",
    ),
    Gap::always("ssd", &["buffer"], "cache", "a buffer is assumed full: writes go at the pace of the page programs")
        .when(|plan, _| plan.storage.flows.iter().any(|f| f.lines.iter().any(Line::writes))),
    Gap::always(
        "io",
        &["zipf", "distribution"],
        "placement",
        "random offsets are spread evenly, whatever the distribution",
    ),
    Gap::always("io", &["access.align"], "placement", "random offsets are spread evenly, whatever their alignment")
        .when(|plan, s| !cut_at_strips(plan, s) && !by_heads(plan, s)),
    OVER_A_FABRIC,
    NO_OFFSETS,
    // Clusters: messages are trains of packets that take turns, and have the credit of one message by itself.
    Gap::always(
        "infiniband",
        &["lanes"],
        "virtual-lanes",
        "messages share a wire round robin, whatever their virtual lane",
    ),
    Gap::always("mpi", &["lane"], "virtual-lanes", "messages share a wire round robin, whatever their virtual lane"),
    Gap::always(
        "ethernet-switch",
        &["flow_control"],
        "retransmission",
        "frames may be dropped here, and what was lost is not sent again: neither RoCE's retransmission nor TCP's",
    )
    .when(|plan, _| plan.loses() || plan.resends()),
    Gap::always(
        "station",
        &["retransmission", "retransmission_timeout", "reordering", "window"],
        "retransmission",
        "retransmission is not modelled",
    ),
    Gap::always("ethernet-switch", &["flowlet_gap"], "flowlets", "shares assume that flowlets are spread evenly"),
    Gap::always(
        "ethernet-switch",
        &["ecmp"],
        "flowlets",
        "shares assume that frames are spread evenly over equal-cost paths and that none overtakes another; \
            packets of programs keep one path",
    )
    .when(|_, s| matches!(s.value.as_str(), "flowlet" | "packet" | "adaptive")),
];

/// Where a switch marks: else these keys have no meaning, and nothing is left out.
fn by_dcqcn(plan: &Plan, _: &Stated) -> bool {
    plan.stated.iter().any(|s| s.key == "congestion_control" && s.value != "none")
}

/// Whether all I/Os of a table are to arrays behind controllers: where these begin says how many strips each touches.
fn cut_at_strips(plan: &Plan, s: &Stated) -> bool {
    let storage = &plan.storage;
    let cut = |f: &IoFlow| matches!(f.volume, Volume::Array(_)) && storage.host_array(f).is_none();
    let mut here = storage.flows.iter().filter(|f| s.path == format!("flows.{}.{}", f.group, s.key)).peekable();
    here.peek().is_some() && here.all(cut)
}

/// Whether what is stated is of flows whose disk's heads are followed from place to place.
fn by_heads(plan: &Plan, s: &Stated) -> bool {
    let storage = &plan.storage;
    let mut here = storage.flows.iter().filter(|f| s.path == format!("flows.{}.{}", f.group, s.key)).peekable();
    here.peek().is_some() && here.all(|f| followed(storage, Corner::Typical, f))
}

/// Of what the scenario of a plan states.
pub(super) fn of(plan: &Plan) -> Vec<NotModelled> {
    not_modelled(plan, "estimate", NOT_MODELLED)
}
