//! What the closed form takes no account of: it knows neither queues nor order, only capacities and turns.

use crate::plan::Plan;
use crate::result::{Gap, NotModelled, always, not_modelled};

/// One line for each key; a test walks the whole language and asks for what is missing here.
pub static NOT_MODELLED: &[Gap] = &[
    Gap {
        table: "switch",
        key: "arbitration",
        mechanism: "arbitration",
        why: "shares are those of ports that take turns",
        when: |_, s| s.value != "round-robin",
    },
    Gap {
        table: "switch",
        key: "queues",
        mechanism: "head-of-line-blocking",
        why: "shares are those of queues for each output, where nobody holds up who goes elsewhere",
        when: |_, s| s.value != "per-output",
    },
    Gap {
        table: "endpoint",
        key: "order",
        mechanism: "arbitration",
        why: "shares are those of flows that take turns",
        when: |_, s| s.value != "turns",
    },
    Gap {
        table: "pcie",
        key: "dllp_limit",
        mechanism: "dllp-timers",
        why: "Acks and UpdateFCs are counted by TLPs, not by time",
        when: always,
    },
];

/// Of what the scenario of a plan states.
pub(super) fn of(plan: &Plan) -> Vec<NotModelled> {
    not_modelled(plan, "estimate", NOT_MODELLED)
}
