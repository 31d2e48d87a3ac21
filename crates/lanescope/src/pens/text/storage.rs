//! What only a simulation of I/Os has to say: how many a second, where their time went, and what worked.

use super::Paint;
use crate::pens::BUSIEST;
use crate::result::{STAGES, SimulatedIos};
use crate::units::{digits, human_time};
use std::fmt::Write;

/// The I/Os of a flow.
pub(super) fn ios(out: &mut String, ios: &SimulatedIos, paint: Paint) {
    let _ = writeln!(out, "  I/Os       {} a second; the time of one:", digits(ios.per_second));
    let all: f64 = ios.stages.iter().sum();
    for (what, time) in STAGES.iter().zip(ios.stages) {
        let share = if all > 0.0 { 100.0 * time / all } else { 0.0 };
        let share = if share < 0.1 { "< 0.1".into() } else { digits(share) };
        let _ = writeln!(out, "    {:>10}  {:>5} %  {what}", human_time(time), share);
    }
    let busiest: Vec<String> =
        ios.busy.iter().take(BUSIEST).map(|(name, share)| format!("{name} {} %", digits(100.0 * share))).collect();
    if !busiest.is_empty() {
        let _ = writeln!(out, "  {}busiest    {}{}", paint.faint, busiest.join(", "), paint.off);
    }
}
