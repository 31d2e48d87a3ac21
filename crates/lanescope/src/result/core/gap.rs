//! What a method does not model, as it declares it: one line for each key, and when the key would matter.

use crate::plan::Plan;
use crate::result::NotModelled;
use crate::scenario::Stated;

/// Keys of a table that a method takes no account of, for one reason.
pub struct Gap {
    /// The kind of table, one of [`crate::scenario::keys::TABLES`].
    pub table: &'static str,
    /// Keys in it; `load.arrivals` of a key whose value is a table.
    pub keys: &'static [&'static str],
    /// What it has to do with, in one word of kebab-case.
    pub mechanism: &'static str,
    /// Why, and what is assumed in its place: one sentence.
    pub why: &'static str,
    /// Whether it would matter where it is stated so.
    pub when: fn(&Plan, &Stated) -> bool,
}

impl Gap {
    /// Of keys that would matter whatever their values.
    pub const fn always(
        table: &'static str,
        keys: &'static [&'static str],
        mechanism: &'static str,
        why: &'static str,
    ) -> Gap {
        Gap { table, keys, mechanism, why, when: |_, _| true }
    }

    /// Only where that holds.
    pub const fn when(self, when: fn(&Plan, &Stated) -> bool) -> Gap {
        Gap { when, ..self }
    }
}

/// Parameters of DCQCN that stations have.
pub(crate) const DCQCN: &[&str] = &[
    "cnp_interval",
    "dcqcn_gain",
    "alpha_timer",
    "rate_timer",
    "byte_counter",
    "fast_recovery",
    "additive_increase",
    "hyper_increase",
    "least_rate",
];

/// What neither method models of I/Os to drives of other hosts.
pub(crate) const OVER_A_FABRIC: Gap = Gap::always(
    "io",
    &["completions", "commands_a_doorbell"],
    "nvme-over-fabrics",
    "over a fabric the worker's adapter completes and is rung for each message",
)
.when(|plan, s| plan.storage.remote().any(|(_, f, _)| s.path == format!("flows.{}.{}", f.group, s.key)));

/// What neither models of transactions: messages have no places on a disk.
pub(crate) const NO_OFFSETS: Gap =
    Gap::always("transact", &["access.random", "access.align"], "placement", "messages have no offsets");

/// What neither translates: addresses are known only of DMA that has a window of them, and no way between devices is.
pub(crate) const UNTRANSLATED: Gap = Gap::always(
    "root-complex",
    &["iommu"],
    "translation",
    "only DMA with a window is translated: no other flows, I/O, messages or peer-to-peer transactions",
)
.when(|plan, s| {
    let none = || plan.flows.iter().all(|f| f.window.is_none());
    s.value == "on" && (none() || plan.parts.iter().any(|p| p.forwards))
});

/// What `method` leaves out of what the scenario of a plan states.
pub fn not_modelled(plan: &Plan, method: &str, gaps: &[Gap]) -> Vec<NotModelled> {
    let one = |s: &Stated| {
        let gap = gaps.iter().find(|g| g.table == s.table && g.keys.contains(&s.key.as_str()) && (g.when)(plan, s))?;
        let (mechanism, why) = (gap.mechanism.to_owned(), gap.why.to_owned());
        Some(NotModelled { key: s.path.clone(), methods: vec![method.to_owned()], mechanism, why })
    };
    plan.stated.iter().filter_map(one).collect()
}
