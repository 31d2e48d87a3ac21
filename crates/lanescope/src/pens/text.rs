//! A report as a person reads it: each flow in a few lines, then where the bits of the binding links go.

mod ethernet;
mod infiniband;
mod pcie;
mod storage;

use super::svg::Method;
use super::{Paint, binding_links, shown};
use crate::result::{
    Binding, Ending, Excess, FRAMING, FlowReport, Interval, LinkReport, Medium, NotModelled, Ranged, Report,
    SimulatedFlow, SimulatedLink, Simulation, Verdict,
};
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
    for (i, f) in report.flows.iter().enumerate() {
        let simulated = report.simulation.as_ref().and_then(|s| s.flows.get(i));
        if !infiniband::flow(&mut out, report, f, simulated, paint) {
            flow(&mut out, f, simulated, paint);
        }
    }
    remarks(&mut out, report, paint);
    for at in waterfalls(report, all_links) {
        let link = &report.links[at];
        match report.simulation.as_ref().and_then(|s| s.links.get(at)) {
            Some(simulated) => simulated_waterfall(&mut out, link, simulated, paint),
            None => waterfall(&mut out, link, paint),
        }
    }
    if let Some(s) = &report.simulation {
        pcie::backbones(&mut out, s, paint);
        ethernet::network(&mut out, s, paint);
        simulation(&mut out, s, paint);
    }
    out
}

/// What the answers take no account of, and what else is to be said about them.
fn remarks(out: &mut String, report: &Report, paint: Paint) {
    // What many things state alike is one line.
    let mut left_out: Vec<(&NotModelled, Vec<&str>)> = Vec::new();
    for n in &report.not_modelled {
        match left_out.iter_mut().find(|(t, _)| t.methods == n.methods && t.why == n.why) {
            Some((_, keys)) => keys.push(&n.key),
            None => left_out.push((n, vec![&n.key])),
        }
    }
    for (n, keys) in &left_out {
        let by: Vec<&str> = n.methods.iter().map(|m| if m == "simulate" { "simulation" } else { "estimate" }).collect();
        let rest = keys.len().saturating_sub(3);
        let keys = keys.iter().take(3).copied().collect::<Vec<_>>().join(", ");
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let (faint, off, by) = (paint.faint, paint.off, by.join(" and the "));
        let _ = writeln!(out, "{faint}not modelled by the {by}:{off} {keys}{more}: {}", n.why);
    }
    for n in &report.notes {
        let _ = writeln!(out, "{}note:{} {}: {}", paint.faint, paint.off, n.element, n.text);
    }
    if !left_out.is_empty() || !report.notes.is_empty() {
        out.push('\n');
    }
}

/// The directions that have a waterfall. Both methods say above what binds, so beside a simulation what binds either
/// share.
fn waterfalls(report: &Report, all: bool) -> Vec<usize> {
    if report.simulation.is_none() || all {
        return shown(report, Method::Simulation, all);
    }
    let mut list: Vec<usize> =
        [Method::Simulation, Method::Estimate].into_iter().flat_map(|m| binding_links(report, m)).collect();
    list.sort_unstable();
    list.dedup();
    if list.is_empty() { shown(report, Method::Simulation, false) } else { list }
}

/// How far share and simulation may differ before the difference is worth a line.
const AGREE: f64 = 0.02;
/// Operations below which a rate says little.
const ENOUGH: u64 = 50;

/// How a simulation went: how long, how tight, why it ended.
fn simulation(out: &mut String, s: &Simulation, paint: Paint) {
    let asked = s.until.map_or(String::new(), |u| format!("±{} %", digits(u * 100.0)));
    let how = match &s.ending {
        Ending::Tight => format!("all means within {asked}"),
        Ending::Length => "as long as asked for".into(),
        Ending::TimeCap => format!("stopped by run.max_time before all means were within {asked}"),
        Ending::PacketCap => format!(
            "stopped by run.max_packets before it was {}",
            if s.until.is_some() { format!("within {asked}") } else { "done".into() }
        ),
        Ending::Unstable => "ended because a backlog grows without end".into(),
        Ending::Stopped => "stopped from outside".into(),
        Ending::Running => "still running".into(),
        Ending::Silent => "no event was left".into(),
        Ending::Finished => "all ranks have ended".into(),
        Ending::Fault { what } => format!("ended because its ranks contradict one another\n  {what}"),
        Ending::Deadlock { circle } => {
            let _ = writeln!(
                out,
                "{}deadlock{}    each waits for the next, and the last for the first:",
                paint.alarm, paint.off
            );
            circle.iter().for_each(|c| {
                let _ = writeln!(out, "  {c}");
            });
            "a deadlock".into()
        }
        Ending::Stall { waiting } => {
            let _ = writeln!(out, "{}stall{}    nothing is delivered any more; waiting:", paint.alarm, paint.off);
            waiting.iter().for_each(|w| {
                let _ = writeln!(out, "  {w}");
            });
            "a stall".into()
        }
    };
    let _ = writeln!(
        out,
        "{}simulated {} after {} of warm-up, {}; {how}; seed {}, fingerprint {}{}",
        paint.faint,
        human_time(s.window),
        human_time(s.warmup),
        s.followed(),
        s.seed,
        s.fingerprint,
        paint.off
    );
}

/// ` ± 0.02 Gb/s`, where it is known and not nothing.
fn plus_minus(i: Interval, human: fn(f64) -> String) -> String {
    match i.half {
        Some(half) if half > 5e-5 * i.mean => format!(" ± {}", human(half)),
        Some(_) => String::new(),
        None => " (too short for an interval)".into(),
    }
}

/// ` in all, 2 x 14.37 Gb/s`: alike within their interval, or how far apart.
fn instances(s: &SimulatedFlow) -> String {
    let n = s.each.len();
    if n < 2 {
        return String::new();
    }
    let (low, high) = s.each.iter().fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let noise = s.rate.relative().max(AGREE) * s.rate.mean / n as f64;
    if high - low <= noise {
        format!(" in all, {n} x {}", human_rate(s.rate.mean / n as f64))
    } else {
        format!(" in all ({} … {} each)", human_rate(low), human_rate(high))
    }
}

/// What the simulation says about a flow.
fn simulated_flow(out: &mut String, f: &FlowReport, s: &SimulatedFlow, paint: Paint) {
    let way = if f.both_ways { " each way" } else { "" };
    if s.operations == 0 {
        let rate = human_rate(s.rate.mean);
        let _ = writeln!(out, "  simulated  {}{rate}{}{way}; no operation was finished", paint.strong, paint.off);
        return;
    }
    // Latencies are of operations that begin and end in the measured time: there may be none.
    let tail = match s.max > 0.0 {
        true => format!(", 99 % within {}, longest {}", human_time(s.p99), human_time(s.max)),
        false => String::from(", the mean"),
    };
    let _ = writeln!(
        out,
        "  simulated  {}{}{}{}{}{way}; {} an operation{}{tail} of {} operation{}",
        paint.strong,
        human_rate(s.rate.mean),
        paint.off,
        plus_minus(s.rate, human_rate),
        instances(s),
        human_time(s.latency.mean),
        if s.unstable { " so far".into() } else { plus_minus(s.latency, human_time) },
        s.operations,
        if s.operations == 1 { "" } else { "s" }
    );
    if let Some(frames) = &s.frames {
        ethernet::frames(out, s, frames, paint);
    }
    if let Some(ios) = &s.ios {
        storage::ios(out, ios, paint);
    }
    if let Some(o) = &s.over_seeds {
        let _ = writeln!(
            out,
            "             over {} seeds: {}{}, an operation {}{}, 99 % within {}{}, longest {}{}",
            o.seeds,
            human_rate(o.rate.mean),
            plus_minus(o.rate, human_rate),
            human_time(o.latency.mean),
            plus_minus(o.latency, human_time),
            human_time(o.p99.mean),
            plus_minus(o.p99, human_time),
            human_time(o.max.mean),
            plus_minus(o.max, human_time)
        );
        ethernet::over_seeds(out, o);
    }
    if let Some(off) = s.off(f.share.typical).filter(|off| off.abs() > AGREE && s.operations >= ENOUGH) {
        let why = match off < 0.0 {
            true => "queueing or blocking holds it back",
            false if s.filled_caches(f.share.typical).is_some() => "write caches were filling",
            false => "more than round robin would give it, or its waits overlap",
        };
        let _ = writeln!(out, "             {:+.1} % against the share: {why}; {}", off * 100.0, binding(&s.bound_by));
    }
    if s.unstable && s.backlog == 0 {
        let wanted = f.wanted_each.iter().sum::<f64>();
        let (got, wanted, by) = (human_rate(s.rate.mean), human_rate(wanted), &s.bound_by.element);
        let _ = writeln!(out, "  {}unstable{}   {got} of {wanted} wanted: {by} binds", paint.alarm, paint.off);
    } else if s.unstable {
        let _ = writeln!(
            out,
            "  {}unstable{}   {} operations wait at the source, and their number grows: they queue for {}",
            paint.alarm, paint.off, s.backlog, s.bound_by.element
        );
    }
}

/// `2 x 14.3 Gb/s`, or `14.3 Gb/s` for one.
fn each(total: f64, n: usize) -> String {
    if n > 1 { format!("{n} x {}", human_rate(total / n as f64)) } else { human_rate(total) }
}

/// `28.73 Gb/s in all (27.1 Gb/s … 29 Gb/s), 2 x 14.37 Gb/s`: the sum with its range, then the instances.
fn in_all(all: &[f64], range: Ranged, paint: Paint) -> String {
    let total = format!("{}{}{}", paint.strong, human_rate(all.iter().sum()), paint.off);
    let range = spread(range);
    match all.len() {
        0 | 1 => format!("{total}{range}"),
        _ => match amounts(all).split_once(" in all ") {
            Some((_, apart)) => format!("{total} in all{range} {apart}"),
            None => format!("{total} in all{range}, {}", each(all.iter().sum(), all.len())),
        },
    }
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

/// ` (12.1 … 15.0)` where a range reaches the value: the range of the stated values, at their slower and at their
/// faster ends, and the value itself. No confidence goes with it.
fn spread(r: Ranged) -> String {
    let (low, high) = r.ends();
    if digits(low) == digits(high) || (high - low) < 5e-4 * high {
        return String::new();
    }
    format!(" ({} … {})", human_rate(low), human_rate(high))
}

fn binding(b: &Binding) -> String {
    format!("{}: {}", b.element, b.evidence)
}

fn flow(out: &mut String, f: &FlowReport, s: Option<&SimulatedFlow>, paint: Paint) {
    let n = f.instances;
    let way = if f.both_ways { " each way" } else { "" };
    let megabytes = format!("{} MB/s", digits(f.share.typical / 8e6));
    let _ = write!(out, "{}{}{}", paint.strong, f.name, paint.off);
    if !f.wanted_each.is_empty() {
        let _ = write!(out, "    {} wanted", amounts(&f.wanted_each));
    }
    let _ = writeln!(
        out,
        "    bound {}{}    share {}{way} = {megabytes}{way}",
        human_rate(f.bound.typical),
        spread(f.bound),
        in_all(&f.each, f.share, paint),
    );
    let _ = writeln!(out, "  {}{}{}", paint.faint, f.what, paint.off);
    folds(out, f);
    if let Some(goodput) = f.goodput {
        let (rate, range) = (human_rate(goodput.typical), spread(goodput));
        let _ = writeln!(out, "  goodput    {rate}{range} without the headers of packets");
    }
    if f.verdict == Verdict::Unstable {
        let wanted = f.wanted_each.iter().sum::<f64>();
        let (rest, by) = (human_rate(wanted - f.share.typical), &f.bound_by.element);
        let then = match f.excess {
            Excess::Queue => format!("the queue in front of {by} grows by {rest}"),
            Excess::Source => format!("{rest} stays at the source, where a queue grows"),
            Excess::Dropped => format!("{rest} is dropped in front of {by}"),
        };
        let (got, wanted) = (human_rate(f.share.typical), human_rate(wanted));
        let _ = writeln!(
            out,
            "  {}unstable{}   more is offered than can be carried, {got} of {wanted}: {then}",
            paint.alarm, paint.off
        );
    }
    let also = match f.bound_also.as_slice() {
        [] => String::new(),
        [one] => format!("; likewise {one}"),
        [one, rest @ ..] => format!("; likewise {one} and {} more", rest.len()),
    };
    let _ = writeln!(out, "  bound by   {}{}{also}{}", paint.accent, binding(&f.bound_by), paint.off);
    if let Some(l) = &f.upgrade {
        let gain = l.share / f.share.typical - 1.0;
        let then = binding(&l.then);
        let change = if l.fits { l.change.clone() } else { format!("{} (with other parts)", l.change) };
        if gain > 1e-3 {
            let _ = writeln!(
                out,
                "  upgrade    {change} would give {} (+{} %), then bound by {then}",
                amounts(&l.each),
                digits(gain * 100.0)
            );
        } else {
            let _ = writeln!(out, "  upgrade    {change} alone would gain nothing: {then}");
        }
    }
    let first = f.latency_first.map_or(String::new(), |l| format!("{} to the first data, ", human_time(l.typical)));
    // The report has that of the slowest, the line above the path of the first.
    let slowest = if n > 1 { ", of the slowest instance" } else { "" };
    let whole = human_time(f.latency.typical);
    let _ = writeln!(out, "  latency    {first}{whole} for the whole operation, unloaded{slowest}");
    if let Some(s) = s {
        simulated_flow(out, f, s, paint);
    }
    if let Some(m) = &f.measured {
        let what = if m.above_bound > 0 {
            let who = if n > 1 { format!("{} of {n} ", m.above_bound) } else { String::new() };
            format!("{}{who}above the bound: the measurement or the scenario is wrong{}", paint.alarm, paint.off)
        } else if m.unexplained.iter().all(|u| *u >= 0.0) {
            format!("{} unexplained", amounts(&m.unexplained))
        } else if m.unexplained.iter().all(|u| *u < 0.0) {
            format!("{} more than its fair share", amounts(&m.unexplained.iter().map(|u| -u).collect::<Vec<_>>()))
        } else {
            format!(
                "{} unexplained in all, some instances above their fair share",
                human_rate(m.unexplained.iter().sum())
            )
        };
        let _ = writeln!(out, "  measured   {} ({what})", each(m.each * n as f64, n));
    }
    out.push('\n');
}

/// Groups of equal flows that are written out.
const FOLDS: usize = 8;

/// Instances that get alike together, where not all do.
fn folds(out: &mut String, f: &FlowReport) {
    if f.alike.len() < 2 {
        return;
    }
    for fold in f.alike.iter().take(FOLDS) {
        let (n, ways) = (fold.members.len(), format!("{} → {}", fold.from, fold.to));
        let all = if n > 1 { format!(", {} in all", human_rate(fold.share)) } else { String::new() };
        let flows = if n > 1 { "flows" } else { "flow" };
        let _ = writeln!(out, "  {n:>4} {flows} {ways}: {}{all}", each(fold.share, n));
    }
    let rest: usize = f.alike.iter().skip(FOLDS).map(|fold| fold.members.len()).sum();
    if rest > 0 {
        let share: f64 = f.alike.iter().skip(FOLDS).map(|fold| fold.share).sum();
        let _ = writeln!(out, "  {rest:>4} more: {} in all", human_rate(share));
    }
}

/// One direction of a link as it was simulated: every slot of the measured time, idle ones by their cause.
fn simulated_waterfall(out: &mut String, link: &LinkReport, s: &SimulatedLink, paint: Paint) {
    let raw = link.ledger.raw;
    let entries = s.rates(raw);
    let overhead = (s.slots.data_tlps > 0).then(|| {
        let n = s.slots.data_tlps as f64;
        (s.slots.framing as f64 / n, s.slots.payload as f64 / n)
    });
    draw(out, link, raw, &entries, Medium::simulated, overhead, paint);
}

/// One direction of a link: raw, what is lost, what is left.
pub fn waterfall(out: &mut String, link: &LinkReport, paint: Paint) {
    let l = &link.ledger;
    let overhead = link.tlp_overhead.map(|b| (b, l.payload / (l.framing + l.gap) * b));
    draw(out, link, l.raw, &l.entries(), Medium::estimated, overhead, paint);
}

/// Draws a waterfall; the last of the entries is what is left. `overhead`: bytes around a TLP's payload, and payload.
fn draw(
    out: &mut String,
    link: &LinkReport,
    raw: f64,
    entries: &[(&'static str, f64)],
    words: fn(Medium, &'static str) -> &'static str,
    overhead: Option<(f64, f64)>,
    paint: Paint,
) {
    let medium = link.medium;
    let ends = match link.to.is_empty() {
        true => format!("{} ({}, shared by all on it)", link.from, link.speed),
        _ if medium.is_shared_by_targets() => {
            format!("{} and its targets ({}, shared by all on it)", link.from, link.speed)
        }
        false => format!("{} → {} ({}, one way)", link.from, link.to, link.speed),
    };
    let _ = writeln!(out, "{}links.{}{} {ends}", paint.strong, link.name, paint.off);
    let cells = |v: f64| ((v / raw * BAR as f64).round() as usize).min(BAR);
    let words: Vec<&str> = entries.iter().map(|e| words(medium, e.0)).collect();
    let seen = entries.iter().zip(&words).filter(|(e, _)| e.1 > raw * 5e-5);
    let width = seen.map(|(_, w)| w.len()).fold(17, usize::max);
    let _ = writeln!(out, "  {:<width$}{:>9}  {}", "raw", gb(raw), "█".repeat(BAR));
    let mut left = raw;
    for ((name, value), shown) in entries[..entries.len() - 1].iter().zip(&words) {
        if *value <= raw * 5e-5 {
            continue;
        }
        left -= value;
        let overhead = match (*name, overhead) {
            (FRAMING, Some((around, payload))) => {
                let (around, payload, unit) = (digits(around), digits(payload), medium.unit());
                // A bus is measured in the bytes that it could have moved.
                let time = if medium.is_shared_by_targets() { "time of " } else { "" };
                format!("  {time}{around} B a {unit} of {payload} B payload")
            }
            _ => String::new(),
        };
        let lost = cells(left + value).saturating_sub(cells(left));
        let _ = writeln!(
            out,
            "  {shown:<width$}{:>9}  {}{}{}{overhead}",
            format!("- {}", gb(*value)),
            "█".repeat(cells(left)),
            paint.faint,
            "░".repeat(lost) + paint.off
        );
    }
    let payload = entries.last().map_or(0.0, |e| e.1);
    let _ = writeln!(
        out,
        "  {:<width$}{:>9}  {}{}{}  {} % of raw\n",
        "payload",
        gb(payload),
        paint.accent,
        "█".repeat(cells(payload)),
        paint.off,
        digits(100.0 * payload / raw)
    );
}

fn gb(bits: f64) -> String {
    if bits >= 1e10 { format!("{:.2}", bits / 1e9) } else { format!("{:.3}", bits / 1e9) }
}
