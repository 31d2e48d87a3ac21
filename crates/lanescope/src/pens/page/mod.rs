//! A report as a page: one file of HTML that opens from a disk, asks for nothing, prints, and is light or dark as its
//! reader has it.
//!
//! A page is a list of [`Section`]s, which [`sections`] makes of a plan and its report, and a [`Document`] around them.
//! The command writes them into a file; the engine inside a live page makes the same sections of a changed scenario, so
//! a page shows what the command would have written. The page itself works out nothing. Every text of a scenario goes
//! through one door that escapes it.

pub mod bars;
mod document;
mod packed;
mod parts;
mod sweep;
mod time;

pub(in crate::pens) use document::STYLE;
pub use document::{Document, Live};
pub use sweep::{grid, pictures, printed};
pub use time::{FRAMES, Film, Shooting};

use super::svg::{self, Method, escape};
use super::{Paint, shown, text};
use crate::plan::Plan;
use crate::result::{LinkReport, Report, SimulatedLink, Verdict};
use crate::units::{digits, human_rate, human_time};
use parts::{Cell, change, note, rate, table, time as time_cell};
use std::fmt::Write;

/// Rows of a table at most, in a page; the rest is what the command prints.
pub(crate) const MOST_ROWS: usize = 2_000;
/// Waterfalls that a page without an engine shows.
const MOST_WATERFALLS: usize = 8;
/// Characters of the report as text at most.
const MOST_TEXT: usize = 60_000;

/// One part of a page, with its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What the page's script and its style call it.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Its content: well-formed markup.
    pub html: String,
}

/// What a page shows.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What ran.
    pub plan: &'a Plan,
    /// What came out.
    pub report: &'a Report,
    /// What came out before something was changed, to stand beside it.
    pub before: Option<&'a Report>,
    /// The run over time.
    pub film: Option<&'a Film>,
    /// Whether links are chosen by a click, and their waterfalls asked for one by one.
    pub live: bool,
}

/// All sections of a report, in their order.
pub fn sections(view: &View) -> Vec<Section> {
    let section = |id: &str, title: &str, html| Section { id: id.into(), title: title.into(), html };
    let mut all = vec![
        section("answer", "Answer", answer(view)),
        section("remarks", "Remarks", remarks(view.report)),
        section("topology", "Topology", topology(view)),
        section("waterfall", "Where the bits of a link go", waterfalls(view)),
        section("links", "Links", links(view)),
        section("latency", "Latency", latency(view.report)),
    ];
    if let Some(film) = view.film {
        all.push(section("time", "The run over time", film.html(view.report)));
    }
    all.push(section("words", "The report in words", words(view.report)));
    all.push(section("provenance", "Provenance", provenance(view.report)));
    all.retain(|s| !s.html.is_empty());
    all
}

/// The flows: what they get, what binds them, and what lifting it gives.
fn answer(view: &View) -> String {
    let report = view.report;
    if report.flows.is_empty() {
        return "<p>No flows: nothing to answer.</p>\n".into();
    }
    let simulation = report.simulation.as_ref();
    let before = view.before;
    let mut head = vec!["flow", "what", "bound", "share"];
    if before.is_some() {
        head.extend(["share before", "change"]);
    }
    if simulation.is_some() {
        head.extend(["simulated", "± (95 %)"]);
        if before.is_some_and(|b| b.simulation.is_some()) {
            head.push("simulated before");
        }
    }
    head.extend(["unloaded latency", "bound by", "evidence"]);
    let rows = report.flows.iter().enumerate().map(|(i, f)| {
        let was = before.and_then(|b| b.flows.iter().find(|o| o.name == f.name));
        let place = before.and_then(|b| b.flows.iter().position(|o| o.name == f.name));
        let mut row = vec![Cell::name(&f.name), Cell::text(&f.what), rate(f.bound.typical), rate(f.share.typical)];
        if f.verdict == Verdict::Unstable {
            row[3].text += " (unstable)";
            row[3].class = "n alarm";
        }
        if before.is_some() {
            row.push(was.map_or(Cell::text("new"), |w| rate(w.share.typical)));
            row.push(was.map_or(Cell::text(""), |w| change(w.share.typical, f.share.typical)));
        }
        if let Some(s) = simulation {
            let s = s.flows.get(i);
            row.push(s.map_or(Cell::text(""), |s| rate(s.rate.mean)));
            row.push(s.and_then(|s| s.rate.half).map_or(Cell::text(""), rate));
            if let Some(old) = before.and_then(|b| b.simulation.as_ref()) {
                let old = place.and_then(|p| old.flows.get(p));
                row.push(old.map_or(Cell::text(""), |o| rate(o.rate.mean)));
            }
        }
        row.push(time_cell(f.latency.typical));
        row.push(Cell { class: "binds", ..Cell::text(&f.bound_by.words()) });
        row.push(Cell::text(&f.bound_by.evidence));
        row
    });
    let mut out = table("flows", &head, rows, MOST_ROWS);
    if let Some(total) = report.total.as_ref().filter(|_| report.flows.len() > 1) {
        let was = before.and_then(|b| b.total.as_ref());
        let was = was.map_or(String::new(), |w| format!(" (before: {})", human_rate(w.share.typical)));
        note(
            &mut out,
            "",
            &format!(
                "Together: {}{was} of at most {}; {} binds most flows.",
                human_rate(total.share.typical),
                human_rate(total.bound.typical),
                total.bound_by.words()
            ),
        );
    }
    let mut upgrades = String::new();
    for f in report.flows.iter().take(64) {
        let Some(u) = &f.upgrade else { continue };
        let gain = u.share / f.share.typical - 1.0;
        let what = if u.fits { u.change.clone() } else { format!("{} (with other parts)", u.change) };
        let text = match gain > 1e-3 {
            true => format!(
                "{what} would give {} in all (+{} %); then {} would bind.",
                human_rate(u.share),
                digits(gain * 100.0),
                u.then.words()
            ),
            false => format!("{what} alone would gain nothing; {} would bind.", u.then.words()),
        };
        let (name, text) = (escape(&f.name), escape(&text));
        let _ = match u.fits {
            true => writeln!(
                upgrades,
                "<li><b>{name}</b>: <span class=\"upgrade\" data-set=\"{}\">{text}</span></li>",
                escape(&u.change)
            ),
            false => writeln!(upgrades, "<li><b>{name}</b>: {text}</li>"),
        };
    }
    if !upgrades.is_empty() {
        let _ = write!(out, "<h3>What an upgrade would give</h3>\n<ul class=\"upgrades\">\n{upgrades}</ul>\n");
    }
    out
}

/// Warnings, notes, and what is not modelled.
fn remarks(report: &Report) -> String {
    let mut out = String::new();
    let mut left = 0;
    let mut line = |kind: &str, class: &str, text: &str| {
        if out.len() < 24_000 {
            let _ = writeln!(out, "<li class=\"{class}\"><b>{kind}</b> {}</li>", escape(text));
        } else {
            left += 1;
        }
    };
    if let Some(s) = &report.simulation {
        use crate::result::Ending;
        match &s.ending {
            Ending::Deadlock { circle } => {
                line("deadlock", "alarm", &format!("each waits for the next: {}", circle.join("; ")));
            }
            Ending::Stall { waiting } => line("stall", "alarm", &format!("waiting: {}", waiting.join("; "))),
            Ending::Fault { what } => line("fault", "alarm", what),
            Ending::Unstable => line("unstable", "alarm", "a backlog grows without end"),
            _ => {}
        }
    }
    report.warnings.iter().for_each(|w| line("warning", "warning", w));
    report.notes.iter().for_each(|n| line("note", "", &format!("{}: {}", n.element, n.text)));
    for n in &report.not_modelled {
        let by = n.methods.join(" and ");
        line("not modelled", "soft", &format!("{} ({by}): {}", n.key, n.why));
    }
    if out.is_empty() {
        return out;
    }
    let mut out = format!("<ul class=\"remarks\">\n{out}</ul>\n");
    if left > 0 {
        note(&mut out, "soft", &format!("and {left} more, which the command prints"));
    }
    out
}

/// The picture of each method. An SVG of its own may begin with a declaration, which has no place inside a page.
fn topology(view: &View) -> String {
    let mut out = String::new();
    let one = |out: &mut String, method: Method| {
        let svg = svg::topology(view.plan, view.report, method);
        let from = svg.find("<svg").unwrap_or(0);
        let _ = writeln!(
            out,
            "<figure class=\"picture\" data-method=\"{}\">{}</figure>",
            method.participle(),
            svg[from..].trim()
        );
    };
    if view.report.simulation.is_some() {
        one(&mut out, Method::Simulation);
        let mut other = String::new();
        one(&mut other, Method::Estimate);
        let _ = write!(out, "<details><summary>The same as estimated</summary>\n{other}</details>\n");
    } else {
        one(&mut out, Method::Estimate);
    }
    out
}

/// The links that bind, or the busiest, with their waterfalls. A live page has one place, for the link chosen.
fn waterfalls(view: &View) -> String {
    let report = view.report;
    let simulated = report.simulation.is_some();
    let mut list = shown(report, if simulated { Method::Simulation } else { Method::Estimate }, false);
    if simulated {
        list.extend(shown(report, Method::Estimate, false));
        let mut seen = std::collections::HashSet::new();
        list.retain(|at| seen.insert(*at));
    }
    if view.live {
        return list.first().and_then(|at| link(report, *at)).unwrap_or_default();
    }
    list.iter().take(MOST_WATERFALLS).filter_map(|at| link(report, *at)).collect()
}

/// One direction of a link by its place in the report: its waterfall by each method, and how each step comes about.
/// `None` where there is no such link.
pub fn link(report: &Report, at: usize) -> Option<String> {
    let link = report.links.get(at)?;
    let simulated = report.simulation.as_ref().and_then(|s| s.links.get(at));
    let mut out = format!("<div class=\"link\" data-link=\"{at}\">\n<h3>{}</h3>\n", escape(&link.path()));
    let mut figure = |svg: String| {
        let from = svg.find("<svg").unwrap_or(0);
        let _ = writeln!(out, "<figure class=\"picture\">{}</figure>", svg[from..].trim());
    };
    if let Some(s) = simulated {
        figure(svg::simulated_waterfall(link, s));
    }
    figure(svg::waterfall(link));
    out += &formula(link, simulated);
    out += "</div>\n";
    Some(out)
}

/// The steps from raw to payload with their numbers, so that one can add them up.
fn formula(link: &LinkReport, simulated: Option<&SimulatedLink>) -> String {
    let l = &link.ledger;
    let mut head = vec!["step", "estimated", "of raw", "how"];
    if simulated.is_some() {
        head.push("simulated");
    }
    let slots = simulated.map(|s| s.rates(l.raw)).unwrap_or_default();
    let share = |v: f64| {
        if l.raw > 0.0 { Cell::number(v / l.raw, format!("{} %", digits(100.0 * v / l.raw))) } else { Cell::text("") }
    };
    let mut rows =
        vec![vec![Cell::name("raw"), rate(l.raw), share(l.raw), Cell::text(&format!("{}, as signalled", link.speed))]];
    if simulated.is_some() {
        rows[0].push(rate(l.raw));
    }
    for (name, value) in l.entries() {
        let seen = slots.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        if value == 0.0 && seen.unwrap_or(0.0) == 0.0 {
            continue;
        }
        let how = how(link, name, value);
        let mut row = vec![Cell::name(link.medium.estimated(name)), rate(value), share(value), Cell::text(&how)];
        if simulated.is_some() {
            row.push(seen.map_or(Cell::text(""), rate));
        }
        rows.push(row);
    }
    for (name, value) in slots.iter().filter(|(n, v)| *v > 0.0 && !l.entries().iter().any(|(e, _)| e == n)) {
        let mut row =
            vec![Cell::name(link.medium.simulated(name)), Cell::text(""), Cell::text(""), Cell::text("simulated only")];
        row.push(rate(*value));
        rows.push(row);
    }
    table("steps", &head, rows.into_iter(), MOST_ROWS)
}

/// How one entry of a ledger comes about, with its numbers.
fn how(link: &LinkReport, entry: &str, value: f64) -> String {
    let l = &link.ledger;
    let unit = link.medium.unit();
    match entry {
        "line coding" if l.raw > 0.0 => {
            let kept = l.coded() / l.raw;
            format!("raw × (1 − {}) of which {} are left", digits(kept), human_rate(l.coded()))
        }
        "headers, framing" => match link.tlp_overhead {
            Some(around) if around > 0.0 => {
                // What stands around the payload of a data packet, times the packets that carry data.
                let packets = (l.framing + l.gap) / (8.0 * around);
                let gap = if l.gap > 0.0 { ", preamble and gap among them" } else { "" };
                format!("{} {unit}s with data a second × {} B × 8{gap}", digits(packets), digits(around))
            }
            _ => String::new(),
        },
        "payload" => {
            let lost = l.raw - value;
            format!("raw − {} of the steps above", human_rate(lost))
        }
        "idle" => format!("{} of {} after line coding", human_rate(value), human_rate(l.coded())),
        _ if l.coded() > 0.0 => format!("{} % of what is left after line coding", digits(100.0 * value / l.coded())),
        _ => String::new(),
    }
}

/// Every direction of every link with its load against its ceiling.
fn links(view: &View) -> String {
    let report = view.report;
    if report.links.is_empty() {
        return String::new();
    }
    let simulation = report.simulation.as_ref();
    let mut head = vec!["link", "from", "to", "speed", "raw", "payload", "utilisation"];
    if simulation.is_some() {
        head.extend(["payload, simulated", "utilisation, simulated"]);
    }
    let share = |v: f64| Cell::number(v, format!("{} %", digits(100.0 * v)));
    let rows = report.links.iter().enumerate().map(|(i, l)| {
        let mut row = vec![
            Cell { link: Some(i), ..Cell::name(&l.name) },
            Cell::text(&l.from),
            Cell::text(&l.to),
            Cell::text(&l.speed),
            rate(l.ledger.raw),
            rate(l.payload.typical),
            share(l.ledger.utilisation()),
        ];
        if let Some(s) = simulation {
            let s = s.links.get(i);
            row.push(s.map_or(Cell::text(""), |s| rate(s.payload.mean)));
            row.push(s.map_or(Cell::text(""), |s| share(s.utilisation())));
        }
        row
    });
    // A page without an engine has to stay small.
    table("links", &head, rows, if view.live { MOST_ROWS } else { 300 })
}

/// Times of an operation: unloaded, and as simulated with its percentiles.
fn latency(report: &Report) -> String {
    if report.flows.is_empty() {
        return String::new();
    }
    let simulation = report.simulation.as_ref();
    let mut head = vec!["flow", "unloaded, first data", "unloaded", "slower end", "faster end"];
    if simulation.is_some() {
        head.extend(["mean", "± (95 %)", "50 %", "99 %", "99.9 %", "longest", "operations"]);
    }
    let rows = report.flows.iter().enumerate().map(|(i, f)| {
        let mut row = vec![
            Cell::name(&f.name),
            f.latency_first.map_or(Cell::text(""), |l| time_cell(l.typical)),
            time_cell(f.latency.typical),
            time_cell(f.latency.slower),
            time_cell(f.latency.faster),
        ];
        if let Some(s) = simulation {
            match s.flows.get(i).filter(|s| s.operations > 0) {
                Some(s) => {
                    row.push(time_cell(s.latency.mean));
                    row.push(s.latency.half.map_or(Cell::text(""), time_cell));
                    row.extend([s.p50, s.p99, s.p999, s.max].map(time_cell));
                    row.push(Cell::number(s.operations as f64, s.operations.to_string()));
                }
                None => row.extend((0..7).map(|_| Cell::text(""))),
            }
        }
        row
    });
    let mut out = table("latencies", &head, rows, MOST_ROWS);
    let curve = |s: &crate::result::SimulatedFlow| {
        let points = [(s.p50, 50.0), (s.p99, 99.0), (s.p999, 99.9), (s.max, 100.0)];
        super::chart::Series { name: s.name.clone(), points: points.map(|(t, p)| (t * 1e6, p)).to_vec() }
    };
    let curves: Vec<_> =
        simulation.iter().flat_map(|s| s.flows.iter().filter(|s| s.operations > 0).take(8).map(curve)).collect();
    if !curves.is_empty() {
        let chart = super::chart::Chart {
            title: "operations that are done within a time, simulated",
            x: "time, us",
            y: "% of operations",
            log_x: true,
            x_unit_bytes: false,
            series: &curves,
        };
        let _ = writeln!(out, "<figure class=\"picture\">{}</figure>", chart.svg().trim());
    }
    out
}

/// The report as the command prints it.
fn words(report: &Report) -> String {
    let whole = text::report(report, Paint::default(), false);
    let cut = whole.char_indices().nth(MOST_TEXT).map_or(whole.len(), |(at, _)| at);
    let lines: Vec<String> = whole[..cut].lines().map(escape).collect();
    let mut out = format!(
        "<details><summary>As the command prints it</summary>\n<pre tabindex=\"0\">{}</pre></details>\n",
        lines.join("\n")
    );
    if cut < whole.len() {
        note(&mut out, "soft", "and more, which the command prints");
    }
    out
}

/// What made the report, and how to make it again.
fn provenance(report: &Report) -> String {
    let p = &report.provenance;
    let mut out = String::new();
    note(&mut out, "soft", &format!("{}, by {}; plan {}", p.program, p.methods.join(" and "), p.plan));
    if let Some(s) = &report.simulation {
        note(
            &mut out,
            "soft",
            &format!(
                "simulated {} after {} of warm-up, {}; ending: {}; seed {}, fingerprint {}",
                human_time(s.window),
                human_time(s.warmup),
                s.followed(),
                s.ending.name(),
                s.seed,
                s.fingerprint
            ),
        );
    }
    note(
        &mut out,
        "soft",
        "Rates are payload bits a second, one way unless both are said. Cells of tables hold all digits: copy them as \
         CSV.",
    );
    out
}
