//! An explained host as text: what holds it back first, then what to expect, then its links.

mod html;

pub use html::{MOST, body, page};

use crate::explain::{Device, Explained, LinkLine, Pair, Range, Simulated};
use std::fmt::Write;

/// Where no candidate fits.
const NO_CAUSE: &str = "no single cause that was tried explains the low rows: several at once, or the measurement";

/// Of devices on hosts of several nodes.
const FAR: &str = "with memory of another node: at most the same; what the link between nodes carries no dump states";

/// Lines of a section that are printed without `--all`.
const MOST_LINES: usize = 24;

/// `26.8 (22.7 … 28.3)`; what is not known is a question mark, and of a high end alone it is said.
pub(crate) fn range(range: &Range) -> String {
    let number = |n: Option<f64>| match n {
        None => "?".to_owned(),
        Some(n) if n >= 100.0 => format!("{n:.0}"),
        Some(n) if n >= 10.0 => format!("{n:.1}"),
        Some(n) => format!("{n:.2}"),
    };
    match (range.low, range.typical, range.high) {
        (None, None, None) => "not known".to_owned(),
        (None, None, high) => format!("at most {}", number(high)),
        (low, typical, high) if low == high && low == typical => number(low),
        (low, typical, high) => format!("{} ({} … {})", number(typical), number(low), number(high)),
    }
}

/// The whole report; `all` leaves nothing out.
pub fn text(report: &Explained, all: bool) -> String {
    let mut out = String::new();
    host(&mut out, report);
    measured(&mut out, report, all);
    findings(&mut out, report, all);
    devices(&mut out, report, all);
    together(&mut out, report);
    pairs(&mut out, report, all);
    links(&mut out, report, all);
    if !report.unknown.is_empty() {
        out += "\nnot in the dumps\n";
        for unknown in &report.unknown {
            let _ = writeln!(out, "  {}: {}", unknown.what, unknown.command);
        }
    }
    if !report.notes.is_empty() {
        out += "\nremarks on the dumps\n";
        for note in report.notes.iter().take(if all { usize::MAX } else { MOST_LINES }) {
            let _ = writeln!(out, "  {note}");
        }
    }
    out
}

/// A text on lines of so many columns, further ones below the first.
fn wrap(text: &str, indent: usize) -> String {
    const COLUMNS: usize = 120;
    let (mut out, mut column) = (String::new(), indent);
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > indent && column + width > COLUMNS {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            out.push(' ');
        }
        out += word;
        column += width + 1;
    }
    out
}

fn host(out: &mut String, report: &Explained) {
    let about = &report.host;
    let mut words = Vec::new();
    words.extend(about.name.clone());
    words.extend(about.processor.clone());
    let several = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
    words.extend(about.sockets.map(|n| several(n as usize, "socket", "sockets")));
    words.extend(about.nodes.map(|n| several(n, "NUMA node", "NUMA nodes")));
    words.push(several(about.functions, "function", "functions"));
    let _ = writeln!(out, "{}", words.join(", "));
    if let Some(why) = &about.virtual_machine {
        let _ = writeln!(out, "a virtual machine: {why}; links may be made up");
    }
    for dump in &about.dumps {
        let _ = writeln!(out, "  {dump}");
    }
}

fn measured(out: &mut String, report: &Explained, all: bool) {
    if report.measured.is_empty() {
        return;
    }
    out.push_str("\nmeasured, GB/s\n");
    let most = if all { usize::MAX } else { MOST_LINES };
    // What differs comes first.
    let rank = |v: &str| ["low", "high", "not judged", "not placed"].iter().position(|w| *w == v).unwrap_or(4);
    let mut rows: Vec<_> = report.measured.iter().collect();
    rows.sort_by_key(|r| rank(&r.verdict));
    for row in rows.into_iter().take(most) {
        let device = row.device.as_ref().map_or_else(String::new, |d| format!(" ({d})"));
        let number = &row.measured;
        let _ = writeln!(
            out,
            "  {}{device}: {number:.2}, expected {}: {}, {}",
            row.name,
            range(&row.expected),
            row.verdict,
            row.because
        );
    }
    left(out, report.measured.len(), most);
    if report.unexplained > 0 {
        let _ = writeln!(out, "{NO_CAUSE}");
    }
    if !report.candidates.is_empty() {
        out.push_str("what would explain the low rows, best fit first\n");
        for candidate in &report.candidates {
            let part = match candidate.of {
                1 => String::new(),
                of => format!(" ({} of {of} low rows)", candidate.explains),
            };
            let _ = writeln!(out, "  {:>5.1} % off  {}{part}", candidate.off_percent, candidate.what);
            if report.tell_apart.is_none() || all {
                let _ = writeln!(out, "               {} shows {}", candidate.command, candidate.shows);
            }
        }
        if let Some(command) = &report.tell_apart {
            let _ = writeln!(out, "  to tell them apart: {}", wrap(command, 4));
        }
    }
}

fn left(out: &mut String, count: usize, shown: usize) {
    if count > shown {
        let _ = writeln!(out, "  … and {} more: --all", count - shown);
    }
}

/// What is said where nothing was found though speeds are known.
fn no_finding(report: &Explained) -> String {
    match &report.may_have_idled()[..] {
        [] => "no finding: nothing in the dumps slows a device down".to_owned(),
        [first, rest @ ..] => {
            let others = if rest.is_empty() { String::new() } else { format!(" and of {} others", rest.len()) };
            format!(
                "no finding, but the dumps have the speed of the link above {first}{others} at one moment, in which \
                 its GPU may have been idle"
            )
        }
    }
}

fn findings(out: &mut String, report: &Explained, all: bool) {
    if report.findings.is_empty() {
        let known = report.rates_known();
        let said = match (report.links.is_empty() && report.pairs.is_empty(), known) {
            (true, false) => "no PCI Express link is in the dumps: nothing can be said of rates".to_owned(),
            (false, false) => {
                "no link of a device has a speed in the dumps: what holds it back cannot be said".to_owned()
            }
            (_, true) => no_finding(report),
        };
        let _ = writeln!(out, "\n{said}");
        return;
    }
    out.push_str("\nfindings, by cost in GB/s one way\n");
    let most = if all { usize::MAX } else { MOST_LINES };
    for finding in report.findings.iter().take(most) {
        let _ = writeln!(out, "  {:>6.2}  {}", finding.cost, wrap(&finding.text, 10));
        for line in finding.evidence.iter().take(if all { usize::MAX } else { 2 }) {
            let _ = writeln!(out, "          {line}");
        }
        if let (Some(first), Some(last)) = (finding.also.first(), finding.also.last()) {
            let others = match finding.also.len() {
                1 => first.clone(),
                n if all => format!("{n} others: {}", finding.also.join(", ")),
                n => format!("{n} others, {first} to {last}"),
            };
            let _ = writeln!(out, "          the same holds for {others}");
        }
        let _ = writeln!(out, "          cure: {}", wrap(&finding.cure, 16));
    }
    left(out, report.findings.len(), most);
}

fn devices(out: &mut String, report: &Explained, all: bool) {
    let known = |d: &&Device| d.to_memory.rate != Range::default() || d.from_memory.rate != Range::default();
    let wanted: Vec<&Device> = report.devices.iter().filter(|d| all || d.kind != "device").collect();
    if wanted.is_empty() {
        return;
    }
    let (shown, dark): (Vec<&Device>, Vec<&Device>) = wanted.into_iter().partition(|d| known(d));
    out.push_str("\nalone, GB/s: typical (at least … at most)\n");
    let most = if all { usize::MAX } else { MOST_LINES };
    let width =
        |of: &dyn Fn(&Device) -> String| shown.iter().take(most).map(|d| of(d).chars().count()).max().unwrap_or(0);
    let id = width(&|d| d.id.clone());
    let (to, from) = (width(&|d| range(&d.to_memory.rate)), width(&|d| range(&d.from_memory.rate)));
    for d in shown.iter().take(most) {
        let node = d.node.map_or_else(String::new, |n| format!(", node {n}"));
        let names = if d.devices.is_empty() { String::new() } else { format!(" [{}]", d.devices.join(" ")) };
        let _ = writeln!(
            out,
            "  {:id$}  to memory {:to$}  from memory {:from$}  {}{node} {}{names}",
            d.id,
            range(&d.to_memory.rate),
            range(&d.from_memory.rate),
            d.address,
            d.name
        );
        let ns = |n: Option<f64>| n.map_or_else(|| "?".to_owned(), |n| format!("{n:.0}"));
        let far = d.far.as_ref().and_then(|f| f.read_latency_ns.typical);
        let far = far.map_or_else(String::new, |f| format!(", {f:.0} from another node"));
        let read = &d.read_latency_ns;
        let latency = match read.typical {
            Some(_) => {
                let (low, typical, high) = (ns(read.low), ns(read.typical), ns(read.high));
                format!("; a read of 64 B takes {typical} ns ({low} … {high}) unloaded{far}")
            }
            None => String::new(),
        };
        let _ = writeln!(out, "  {:id$}  bound by {}{latency}", "", d.to_memory.bound_by);
        for (way, expected) in [("to memory", &d.to_memory), ("from memory", &d.from_memory)] {
            if let Some(upgrade) = expected.upgrade.as_ref().filter(|_| all || way == "to memory") {
                let _ = writeln!(out, "  {:id$}  upgrade, {way}: {upgrade}", "");
            }
        }
    }
    left(out, shown.len(), most);
    if shown.iter().any(|d| d.far.is_some()) {
        let _ = writeln!(out, "  {FAR}");
    }
    if let (Some(first), Some(last)) = (dark.first(), dark.last()) {
        let which = if dark.len() == 1 {
            first.id.clone()
        } else {
            format!("{} devices, {} to {}", dark.len(), first.id, last.id)
        };
        let _ = writeln!(out, "  not known for {which}: {}", first.to_memory.bound_by);
    }
}

fn together(out: &mut String, report: &Explained) {
    if report.together.is_empty() {
        return;
    }
    out.push_str("\nall of a class at once, GB/s\n");
    for t in &report.together {
        let _ = writeln!(
            out,
            "  {} {} {}: {} in total, {} for the slowest; bound by {}{}",
            t.devices,
            t.class,
            t.way,
            range(&t.total),
            range(&t.least),
            t.bound_by,
            t.simulated.as_ref().map_or_else(String::new, |s| format!(
                "; simulated {} in total, {:.2} for the slowest",
                simulated(s),
                s.least
            ))
        );
    }
    let open: Vec<&str> = report
        .together
        .iter()
        .filter(|t| t.queues.is_some() && t.simulated.is_none())
        .map(|t| t.way.as_str())
        .collect();
    if !open.is_empty() {
        let mut ways = open;
        ways.sort_unstable();
        ways.dedup();
        let which = ways.join(" and ");
        let _ = writeln!(
            out,
            "  {which}: packets queue here, which these numbers leave out; --simulate runs them one by one"
        );
    }
}

/// `26.9 ± 0.12`; what ended early says so.
pub(super) fn simulated(s: &Simulated) -> String {
    let half = s.plus_minus.map_or_else(String::new, |h| format!(" ± {h:.2}"));
    let note = s.note.as_ref().map_or_else(String::new, |n| format!(" ({n})"));
    format!("{:.2}{half}{note}", s.total)
}

fn pairs(out: &mut String, report: &Explained, all: bool) {
    if report.pairs.is_empty() {
        return;
    }
    out.push_str("\npeer to peer, writes, GB/s\n");
    let groups = pair_groups(report, all);
    let most = if all { usize::MAX } else { MOST_LINES };
    for group in groups.iter().take(most) {
        let first = group[0];
        let more = match group.len() - 1 {
            0 => String::new(),
            1 => " and 1 more pair".to_owned(),
            n => format!(" and {n} more pairs"),
        };
        let direct = first.direct.as_ref().map_or_else(String::new, |d| format!("; {d} joins them, copies go there"));
        let _ = writeln!(
            out,
            "  {} → {}{more}: {}, {}; bound by {}{direct}{}",
            first.from,
            first.to,
            range(&first.write),
            first.through,
            first.bound_by,
            run(first)
        );
    }
    left(out, groups.len(), most);
    let mut classes: Vec<&str> = report.pairs.iter().filter_map(|p| p.forwarded_as.as_deref()).collect();
    classes.dedup();
    for class in classes {
        let _ = writeln!(out, "  root complex taken for {}", wrap(class, 4));
    }
}

/// What the simulation says of a pair.
fn run(pair: &Pair) -> String {
    match (&pair.simulated, &pair.simulated_both_ways) {
        (Some(one), Some(both)) => {
            format!("; simulated {}, both ways at once {} in total", simulated(one), simulated(both))
        }
        (Some(one), None) => format!("; simulated {}", simulated(one)),
        _ => String::new(),
    }
}

/// Pairs that are alike, together; each by itself where all are wanted.
fn pair_groups(report: &Explained, all: bool) -> Vec<Vec<&Pair>> {
    let mut groups: Vec<(Vec<&Pair>, String)> = Vec::new();
    for pair in &report.pairs {
        let key = match all {
            true => format!("{}{}", pair.from, pair.to),
            false => format!("{}{}{}{:?}", kind(&pair.from), kind(&pair.to), pair.through, pair.write),
        };
        match groups.iter_mut().find(|g| g.1 == key) {
            Some(group) => group.0.push(pair),
            None => groups.push((vec![pair], key)),
        }
    }
    groups.into_iter().map(|g| g.0).collect()
}

fn kind(id: &str) -> &str {
    id.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn links(out: &mut String, report: &Explained, all: bool) {
    // Of links that lead to nothing that moves data, or of which nothing is known, a list would hide the others.
    let device = |l: &LinkLine| report.devices.iter().any(|d| d.address == l.lower && d.kind != "device");
    let matters = |l: &LinkLine| l.standing != "empty" && (l.standing != "unknown" || device(l));
    let shown: Vec<&LinkLine> = report.links.iter().filter(|l| all || matters(l)).collect();
    if shown.is_empty() {
        return;
    }
    out.push_str("\nlinks\n");
    let most = if all { usize::MAX } else { 2 * MOST_LINES };
    for link in shown.iter().take(most) {
        let _ = writeln!(out, "  {}{}", "  ".repeat(link.depth.min(20)), self::link(link));
    }
    left(out, shown.len(), most);
}

fn link(link: &LinkLine) -> String {
    let mut words = vec![format!("{} {}:", link.lower, link.name)];
    let capable = link.capable.as_deref().unwrap_or("?");
    let now = link.shown.as_deref().unwrap_or("?");
    let taken = link.taken.as_deref().unwrap_or("not known");
    words.push(match link.standing.as_str() {
        "full" => now.to_owned(),
        "lesser" => {
            let end = |c: &Option<String>| c.as_deref().unwrap_or("?").to_owned();
            format!("{now} (port {}, device {})", end(&link.upper_capable), end(&link.lower_capable))
        }
        "down" => format!("{now}, below the {capable} that it can do"),
        "idle" if link.capable.is_none() => {
            format!(
                "{now} when the file was written, its GPU perhaps idle; {taken} under load, if the slot can do that"
            )
        }
        "idle" => format!("idle at {now}; {capable} under load"),
        "empty" => "no link".to_owned(),
        "virtual" => format!("not believed: {}; taken for {taken}", link.why.as_deref().unwrap_or("")),
        _ => format!("not known: {}", link.why.as_deref().unwrap_or("")),
    });
    if let Some(mps) = link.mps.filter(|_| link.standing != "empty") {
        let clamp = link.mps_clamped_by.as_ref().map_or_else(String::new, |c| format!(" (clamped by {c})"));
        words.push(format!("MPS {mps}{clamp}"));
    }
    if let Some(mrrs) = link.mrrs.filter(|_| link.standing != "empty") {
        words.push(format!("MRRS {mrrs}"));
    }
    let flags = [
        (link.relaxed_ordering, "RO"),
        (link.extended_tags, "ExtTag"),
        (link.acs_redirect.filter(|a| *a), "ACS redirect"),
    ];
    for (flag, name) in flags {
        if let Some(on) = flag {
            words.push(format!(
                "{name}{}",
                if name.starts_with("ACS") {
                    ""
                } else if on {
                    "+"
                } else {
                    "-"
                }
            ));
        }
    }
    words.extend(link.node.map(|n| format!("node {n}")));
    words.join(" ")
}
