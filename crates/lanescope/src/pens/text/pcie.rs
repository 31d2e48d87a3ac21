//! Where the clocks of a root complex's backbone went.

use super::{BAR, Paint};
use crate::result::{SimulatedBackbone, Simulation};
use crate::units::{digits, human_rate};
use std::fmt::Write;

/// Both buses of every backbone that carried anything.
pub(super) fn backbones(out: &mut String, simulation: &Simulation, paint: Paint) {
    for backbone in &simulation.backbones {
        for (name, clocks) in backbone.buses().into_iter().filter(|(_, c)| c.transactions > 0) {
            bus(out, backbone, name, clocks.total(), &clocks.entries(), paint);
        }
    }
}

/// One bus as a waterfall of its clocks; the last of the entries is data.
fn bus(out: &mut String, b: &SimulatedBackbone, name: &str, all: u64, entries: &[(&str, u64)], paint: Paint) {
    let carries = human_rate(b.clock * b.width as f64 * 8.0);
    let _ = writeln!(
        out,
        "{}parts.{}{} {name} ({} bit at {} MHz, {carries})",
        paint.strong,
        b.name,
        paint.off,
        8 * b.width,
        digits(b.clock * 1e-6)
    );
    let cells = |n: u64| (n as f64 / all as f64 * BAR as f64).round() as usize;
    let _ = writeln!(out, "  {:<21}{all:>12}  {}", "clocks", "█".repeat(BAR));
    let Some(((_, data), others)) = entries.split_last() else { return };
    let mut left = all;
    for (what, n) in others.iter().filter(|(_, n)| *n > 0) {
        let lost = cells(left).saturating_sub(cells(left - n));
        left -= n;
        let bar = "█".repeat(cells(left)) + paint.faint + &"░".repeat(lost) + paint.off;
        let _ = writeln!(out, "  {what:<21}{:>12}  {bar}", format!("- {n}"));
    }
    let bar = "█".repeat(cells(*data));
    let share = digits(100.0 * *data as f64 / all as f64);
    let _ = writeln!(out, "  {:<21}{data:>12}  {}{bar}{}  {share} % of its clocks\n", "data", paint.accent, paint.off);
}
