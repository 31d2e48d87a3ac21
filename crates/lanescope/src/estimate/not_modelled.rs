//! What the closed form takes no account of, one line for each key; a test walks the whole language and asks for what
//! is missing here.

use crate::plan::Plan;
use crate::result::{Gap, NotModelled, not_modelled};
use crate::scenario::Stated;

/// Declared by kind of table and key, with what is assumed in its place.
pub static NOT_MODELLED: &[Gap] = &[
    // PCIe: it knows neither queues nor order, only capacities and turns.
    Gap::always("switch", "arbitration", "arbitration", "shares are those of ports that take turns")
        .when(|_, s| s.value != "round-robin"),
    Gap::always(
        "switch",
        "queues",
        "head-of-line-blocking",
        "shares are those of a queue for each output, where nobody holds up who goes elsewhere",
    )
    .when(|_, s| s.value != "per-output"),
    Gap::always("endpoint", "order", "arbitration", "shares are those of flows that take turns")
        .when(|_, s| s.value != "turns"),
    Gap::always("pcie", "dllp_limit", "dllp-timers", "Acks and UpdateFCs are counted by TLPs, not by time"),
    Gap::always(
        "dma",
        "load.arrivals",
        "queueing",
        "a rate is carried or not, however it arrives; what waits is not in it",
    )
    .when(|_, s| s.value != "even"),
    Gap::always(
        "bus-dma",
        "load.arrivals",
        "queueing",
        "a rate is carried or not, however it arrives; what waits is not in it",
    )
    .when(|_, s| s.value != "even"),
    Gap::always("root-complex", "iommu", "translation", "what goes from one port to another is not translated")
        .when(|plan, s| s.value == "on" && plan.parts.iter().any(|p| p.forwards)),
    // Ethernet: what waits, is paused, dropped or slowed down is not in it.
    Gap::always(
        "send",
        "load.arrivals",
        "queueing",
        "a rate is carried or not, however it arrives; what waits is not in it",
    )
    .when(|_, s| s.value != "even"),
    Gap::always(
        "send",
        "load.burst",
        "queueing",
        "a rate is carried or not, however it arrives; what waits is not in it",
    ),
    Gap::always(
        "send",
        "load.bursts",
        "queueing",
        "a rate is carried or not, however it arrives; what waits is not in it",
    ),
    Gap::always("send", "priority", "priorities", "shares are those of one class of frames")
        .when(|_, s| s.value != "0"),
    Gap::always("station", "nic_buffer", "queueing", "what waits at a station is not in it"),
    Gap::always("station", "mac_buffer", "queueing", "what waits at a station is not in it"),
    Gap::always("station", "queue", "queueing", "what waits at a station is not in it"),
    Gap::always("station", "pause_response", "pause", "shares are those of flow control that acts at once"),
    Gap::always("station", "credit", "grants", "shares are those of grants that never run short"),
    Gap::always("station", "cnp_interval", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "dcqcn_gain", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "alpha_timer", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "rate_timer", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "byte_counter", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "fast_recovery", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "additive_increase", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "hyper_increase", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("station", "least_rate", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("ethernet-switch", "buffers", "head-of-line-blocking", "shares are those of a FIFO at each output")
        .when(|_, s| s.value == "input"),
    Gap::always("ethernet-switch", "memory", "queueing", "what waits in a memory is not in it"),
    Gap::always("ethernet-switch", "scheduling", "priorities", "shares are those of one class of frames")
        .when(|_, s| s.value != "turns"),
    Gap::always("ethernet-switch", "high_threshold", "pause", "shares are those of flow control that acts at once"),
    Gap::always("ethernet-switch", "low_threshold", "pause", "shares are those of flow control that acts at once"),
    Gap::always("ethernet-switch", "pause_quanta", "pause", "shares are those of flow control that acts at once"),
    Gap::always("ethernet-switch", "headroom", "pause", "shares are those of flow control that acts at once"),
    Gap::always(
        "ethernet-switch",
        "congestion_control",
        "congestion-control",
        "shares are those of wires that are always full; sources that were slowed down and have not found their rate \
            again get less",
    )
    .when(|_, s| s.value != "none"),
    Gap::always("ethernet-switch", "ecn_low", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always("ethernet-switch", "ecn_high", "congestion-control", "sources are not slowed down by notifications")
        .when(by_dcqcn),
    Gap::always(
        "ethernet-switch",
        "ecn_probability",
        "congestion-control",
        "sources are not slowed down by notifications",
    )
    .when(by_dcqcn),
    // Storage: shares are those of steady streams of commands.
    Gap::always("host-adapter", "port_buffer", "credit", "shares are those of ports whose buffers never run short"),
    Gap::always(
        "host-adapter",
        "cache",
        "cache",
        "a cache counts as filled: what goes through it is what the disks carry",
    ),
    Gap::always("ram-disk", "port_buffer", "credit", "shares are those of ports whose buffers never run short"),
    Gap::always("ssd", "port_buffer", "credit", "shares are those of ports whose buffers never run short"),
    Gap::always("ssd", "buffer", "cache", "a buffer counts as filled: writes go at the pace of the programs"),
    Gap::always("io", "access.align", "placement", "random places are spread evenly, whatever they are multiples of"),
    // Transactions: messages have no places on a disk.
    Gap::always("transact", "access.random", "placement", "messages have no offsets"),
    Gap::always("transact", "access.align", "placement", "messages have no offsets"),
    // Clusters: messages are trains of packets that take turns, and have the credit of one message by itself.
    Gap::always("infiniband", "lanes", "virtual-lanes", "messages take turns on a wire, whatever their lane"),
    Gap::always("mpi", "lane", "virtual-lanes", "messages take turns on a wire, whatever their lane"),
    Gap::always(
        "ethernet-switch",
        "flow_control",
        "retransmission",
        "frames may be dropped here, and what was lost is not sent again: neither RoCE's go-back-N nor TCP's \
            retransmission",
    )
    .when(|plan, _| plan.loses()),
];

/// Where a switch marks: else these keys have no meaning, and nothing is left out.
fn by_dcqcn(plan: &Plan, _: &Stated) -> bool {
    plan.stated.iter().any(|s| s.key == "congestion_control" && s.value != "none")
}

/// Of what the scenario of a plan states.
pub(super) fn of(plan: &Plan) -> Vec<NotModelled> {
    not_modelled(plan, "estimate", NOT_MODELLED)
}
