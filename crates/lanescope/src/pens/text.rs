//! A report as a person reads it: each flow in three lines, then where the bits of the binding links go.

use super::Paint;
use crate::result::{Binding, FlowReport, LinkReport, Ranged, Report, Verdict};
use crate::units::{digits, human_rate, human_time};
use std::fmt::Write;

/// Cells of a waterfall's bar.
const BAR: usize = 40;

/// The whole report. `all_links` shows every direction that carries anything, not only those that bind.
pub fn report(report: &Report, paint: Paint, all_links: bool) -> String {
    let mut out = String::new();
    if !report.title.is_empty() {
        let _ = writeln!(out, "{}{}{}\n", paint.strong, report.title, paint.off);
    }
    for f in &report.flows {
        flow(&mut out, f, paint);
    }
    for link in shown(report, all_links) {
        waterfall(&mut out, link, paint);
    }
    out
}

/// The directions worth a waterfall: those that bind a flow; if none does, the busiest.
pub fn shown(report: &Report, all: bool) -> Vec<&LinkReport> {
    let carries = |l: &&LinkReport| l.ledger.utilisation() > 0.01 && l.tlps > 0.0;
    if all {
        return report.links.iter().filter(carries).collect();
    }
    let binds = |l: &&LinkReport| {
        let name = format!("links.{} toward {}", l.name, l.to);
        report.flows.iter().any(|f| f.bound_by.element == name || f.bound_also.contains(&name))
    };
    let list: Vec<_> = report.links.iter().filter(binds).take(4).collect();
    if !list.is_empty() {
        return list;
    }
    let busy =
        report.links.iter().filter(carries).max_by(|a, b| a.ledger.utilisation().total_cmp(&b.ledger.utilisation()));
    busy.into_iter().collect()
}

/// `2 x 14.3 Gb/s`, or `14.3 Gb/s` for one.
fn each(total: f64, n: usize) -> String {
    if n > 1 { format!("{n} x {}", human_rate(total / n as f64)) } else { human_rate(total) }
}

/// `28.73 Gb/s, 2 x 14.37 Gb/s`: the sum first.
fn in_all(all: &[f64]) -> String {
    let (total, n) = (all.iter().sum::<f64>(), all.len());
    let text = amounts(all);
    if n > 1 && !text.contains("in all") { format!("{} in all, {text}", human_rate(total)) } else { text }
}

/// The same, or `35 Gb/s in all (10 Gb/s … 25 Gb/s each)` where instances differ.
fn amounts(all: &[f64]) -> String {
    let (total, n) = (all.iter().sum::<f64>(), all.len());
    let (low, high) = all.iter().fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
    if n > 1 && high - low > 1e-6 * high {
        format!("{} in all ({} … {} each)", human_rate(total), human_rate(low), human_rate(high))
    } else {
        each(total, n)
    }
}

/// ` (12.1 … 15.0)` where a range reaches the value.
fn spread(r: Ranged) -> String {
    let (low, high) = (r.slower.min(r.faster), r.slower.max(r.faster));
    if digits(low) == digits(high) || (high - low) < 5e-4 * high {
        return String::new();
    }
    format!(" ({} … {})", human_rate(low), human_rate(high))
}

fn binding(b: &Binding) -> String {
    format!("{}: {}", b.element, b.evidence)
}

fn flow(out: &mut String, f: &FlowReport, paint: Paint) {
    let n = f.instances;
    let way = if f.both_ways { " each way" } else { "" };
    let megabytes = format!("{} MB/s", digits(f.share.typical / 8e6));
    let _ = write!(out, "{}{}{}", paint.strong, f.name, paint.off);
    if !f.wanted_each.is_empty() {
        let _ = write!(out, "    {} wanted", amounts(&f.wanted_each));
    }
    let _ = writeln!(
        out,
        "    bound {}{}    share {}{}{}{}{way} = {megabytes}{way}",
        human_rate(f.bound.typical),
        spread(f.bound),
        paint.strong,
        in_all(&f.each),
        paint.off,
        spread(f.share),
    );
    let _ = writeln!(out, "  {}{}{}", paint.faint, f.what, paint.off);
    if f.verdict == Verdict::Unstable {
        let wanted = f.wanted_each.iter().sum::<f64>();
        let queue = human_rate(wanted - f.share.typical);
        let _ = writeln!(
            out,
            "  {}unstable{}   more is offered than can be carried: the queue before {} grows by {queue}",
            paint.alarm, paint.off, f.bound_by.element
        );
    }
    let also = match f.bound_also.as_slice() {
        [] => String::new(),
        [one] => format!("; likewise {one}"),
        [one, rest @ ..] => format!("; likewise {one} and {} more", rest.len()),
    };
    let _ = writeln!(out, "  bound by   {}{}{also}{}", paint.accent, binding(&f.bound_by), paint.off);
    if let Some(l) = &f.lifting {
        let gain = l.share / f.share.typical - 1.0;
        let then = binding(&l.then);
        let change = if l.fits { l.change.clone() } else { format!("{} (other parts)", l.change) };
        if gain > 1e-3 {
            let _ = writeln!(
                out,
                "  lifting    {change} gives {} (+{} %), then {then}",
                amounts(&l.each),
                digits(gain * 100.0)
            );
        } else {
            let _ = writeln!(out, "  lifting    {change} alone gives nothing: {then}");
        }
    }
    let first = f.latency_first.map_or(String::new(), |l| format!("{} to the first data, ", human_time(l.typical)));
    let _ = writeln!(out, "  latency    {first}{} for the whole operation, unloaded", human_time(f.latency.typical));
    if let Some(m) = &f.measured {
        let what = if m.above_bound > 0 {
            let who = if n > 1 { format!("{} of {n} ", m.above_bound) } else { String::new() };
            format!("{}{who}above the bound: the measurement or the scenario is wrong{}", paint.alarm, paint.off)
        } else if m.unexplained.iter().all(|u| *u >= 0.0) {
            format!("{} unexplained", amounts(&m.unexplained))
        } else if m.unexplained.iter().all(|u| *u < 0.0) {
            format!("{} more than its fair share", amounts(&m.unexplained.iter().map(|u| -u).collect::<Vec<_>>()))
        } else {
            format!("{} unexplained in all, some above their fair share", human_rate(m.unexplained.iter().sum()))
        };
        let _ = writeln!(out, "  measured   {} ({what})", each(m.each * n as f64, n));
    }
    out.push('\n');
}

/// One direction of a link: raw, what is lost, what is left.
pub fn waterfall(out: &mut String, link: &LinkReport, paint: Paint) {
    let l = &link.ledger;
    let _ = writeln!(
        out,
        "{}links.{}{} {} → {} ({}, one way)",
        paint.strong, link.name, paint.off, link.from, link.to, link.speed
    );
    let cells = |v: f64| ((v / l.raw * BAR as f64).round() as usize).min(BAR);
    let entries = l.entries();
    let _ = writeln!(out, "  {:<17}{:>9}  {}", "raw", gb(l.raw), "█".repeat(BAR));
    let mut left = l.raw;
    for (name, value) in &entries[..entries.len() - 1] {
        if *value <= l.raw * 5e-5 {
            continue;
        }
        left -= value;
        let overhead = match (*name, link.tlp_overhead) {
            ("headers, framing", Some(b)) => {
                format!("  {} B a TLP of {} B payload", digits(b), digits(l.payload / l.framing * b))
            }
            _ => String::new(),
        };
        let lost = cells(left + value).saturating_sub(cells(left));
        let _ = writeln!(
            out,
            "  {name:<17}{:>9}  {}{}{}{overhead}",
            format!("- {}", gb(*value)),
            "█".repeat(cells(left)),
            paint.faint,
            "░".repeat(lost) + paint.off
        );
    }
    let _ = writeln!(
        out,
        "  {:<17}{:>9}  {}{}{}  {} % of raw\n",
        "payload",
        gb(l.payload),
        paint.accent,
        "█".repeat(cells(l.payload)),
        paint.off,
        digits(100.0 * l.payload / l.raw)
    );
}

fn gb(bits: f64) -> String {
    if bits >= 1e10 { format!("{:.2}", bits / 1e9) } else { format!("{:.3}", bits / 1e9) }
}
