//! An explained host as one static page: no script, no font, no request; light and dark as the reader has it.
//!
//! A content security policy forbids everything but the page's own style, names of a dump go through one door that
//! escapes them, and each section has a budget of bytes, so that no dump makes the page larger than [`MOST`].

use super::{FAR, NO_CAUSE, no_finding, pair_groups, range};
use crate::explain::{Device, Explained, Finding, LinkLine, Simulated, Together};
use crate::pens::page::STYLE;
use crate::pens::svg::escape;
use std::fmt::Write;

/// Bytes of a page at most.
pub const MOST: usize = 300_000;
/// Bytes of the picture at most; a larger one is left out.
const PICTURE: usize = 110_000;

/// A page in the making.
struct Page {
    out: String,
}

/// The page of a report; `picture` is the SVG of its links, where one can be drawn.
pub fn page(report: &Explained, picture: Option<&str>) -> String {
    let mut page = Page { out: String::new() };
    let title = report.host.name.as_deref().unwrap_or("A host");
    let _ = write!(
        page.out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"referrer\" content=\"no-referrer\"/>\n<title>{} explained</title>\n\
         <style>\n{STYLE}</style>\n</head>\n\
         <body>\n<h1>{}</h1>\n",
        escape(title),
        escape(title)
    );
    page.content(report, picture);
    page.out += "<footer>lanescope explain; GB/s are 10^9 bytes of payload a second, one way unless both are said. \
                 typical (at least … at most); ? is what no dump says.</footer>\n</body>\n</html>\n";
    page.out
}

/// What stands in a page below its heading, for another page to hold it.
pub fn body(report: &Explained, picture: Option<&str>) -> String {
    let mut page = Page { out: String::new() };
    page.content(report, picture);
    page.out
}

impl Page {
    fn content(&mut self, report: &Explained, picture: Option<&str>) {
        self.about(report);
        self.measured(report);
        self.findings(report);
        self.devices(&report.devices);
        self.together(&report.together);
        self.pairs(report);
        self.picture(picture);
        self.links(&report.links);
        self.workload(report);
        self.unknown(report);
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.out, "<h2>{}</h2>", escape(text));
    }

    fn paragraph(&mut self, class: &str, text: &str) {
        let _ = writeln!(self.out, "<p class=\"{class}\">{}</p>", escape(text));
    }

    /// Pieces of markup, as many as a budget holds; what is left out is said.
    fn pieces(&mut self, pieces: impl Iterator<Item = String>, budget: usize, end: &str) {
        let (mut used, mut left) = (0, 0);
        for piece in pieces {
            used += piece.len();
            if used <= budget {
                self.out += &piece;
            } else {
                left += 1;
            }
        }
        self.out += end;
        if left > 0 {
            self.paragraph("soft", &format!("… and {left} more: lanescope explain --all"));
        }
    }

    /// A table; a cell is a class and a text.
    fn table<const N: usize>(
        &mut self,
        head: [&str; N],
        rows: impl Iterator<Item = [(&'static str, String); N]>,
        budget: usize,
    ) {
        self.out += "<div class=\"scroll\"><table data-table=\"explained\">\n<thead><tr>";
        for cell in head {
            let _ = write!(self.out, "<th>{}</th>", escape(cell));
        }
        self.out += "</tr></thead>\n<tbody>\n";
        let row = |cells: [(&'static str, String); N]| {
            let mut out = "<tr>".to_owned();
            for (class, text) in &cells {
                let _ = match class.is_empty() {
                    true => write!(out, "<td>{}</td>", escape(text)),
                    false => write!(out, "<td class=\"{class}\">{}</td>", escape(text)),
                };
            }
            out + "</tr>\n"
        };
        self.pieces(rows.map(row), budget, "</tbody>\n</table></div>\n");
    }

    fn about(&mut self, report: &Explained) {
        let about = &report.host;
        let mut words = Vec::new();
        words.extend(about.processor.clone());
        words.extend(about.sockets.map(|n| format!("{n} socket{}", if n == 1 { "" } else { "s" })));
        words.extend(about.nodes.map(|n| format!("{n} NUMA node{}", if n == 1 { "" } else { "s" })));
        words.push(format!("{} function{}", about.functions, if about.functions == 1 { "" } else { "s" }));
        self.paragraph("soft", &words.join(", "));
        if let Some(why) = &about.virtual_machine {
            self.paragraph("soft", &format!("a virtual machine: {why}; links may be made up"));
        }
        let line = |d: &String| format!("<div class=\"place\">{}</div>\n", escape(d));
        self.pieces(about.dumps.iter().map(line), 4_000, "");
    }

    fn measured(&mut self, report: &Explained) {
        if report.measured.is_empty() {
            return;
        }
        self.heading("Measured beside expected, GB/s");
        let rows = report.measured.iter().map(|r| {
            let class = match r.verdict.as_str() {
                "low" => "low",
                "high" => "high",
                "as expected" => "expected",
                _ => "soft",
            };
            let device = r.device.clone().unwrap_or_default();
            [
                ("", r.name.clone()),
                ("", device),
                ("n", format!("{:.2}", r.measured)),
                ("n", range(&r.expected)),
                (class, format!("{}: {}", r.verdict, r.because)),
            ]
        });
        self.table(["row", "device", "measured", "expected", "verdict"], rows, 25_000);
        if report.unexplained > 0 {
            self.paragraph("soft", NO_CAUSE);
        }
        if !report.candidates.is_empty() {
            self.paragraph("soft", "what would explain the low rows, best fit first");
            let rows = report.candidates.iter().map(|c| {
                let command = format!("{} shows {}", c.command, c.shows);
                let fit = format!("{:.1} % off, {} of {} rows", c.off_percent, c.explains, c.of);
                [("n", fit), ("", c.what.clone()), ("place", command)]
            });
            self.table(["fit", "cause", "the command that shows it"], rows, 4_000);
            if let Some(command) = &report.tell_apart {
                self.paragraph("soft", &format!("to tell them apart: {command}"));
            }
        }
    }

    fn findings(&mut self, report: &Explained) {
        let findings = &report.findings;
        self.heading("What it costs, GB/s");
        if findings.is_empty() {
            let known = report.rates_known();
            self.paragraph(
                "",
                &match known {
                    true => no_finding(report),
                    false => {
                        "no link of a device has a speed in the dumps: what holds it back cannot be said".to_owned()
                    }
                },
            );
        }
        let piece = |f: &Finding| {
            let class = if f.cost > 0.0 { "finding costs" } else { "finding" };
            let mut out = format!(
                "<div class=\"{class}\"><p><span class=\"cost\">{:.2}</span> {}</p>\n",
                f.cost,
                escape(&f.text)
            );
            for line in f.evidence.iter().take(4) {
                let _ = writeln!(out, "<div class=\"place\">{}</div>", escape(line));
            }
            if let Some(first) = f.also.first() {
                let others = match f.also.len() {
                    1 => first.clone(),
                    n => format!("{n} others, {first} and on"),
                };
                let _ = writeln!(out, "<p class=\"soft\">the same holds for {}</p>", escape(&others));
            }
            let _ = writeln!(out, "<p>cure: {}</p></div>", escape(&f.cure));
            out
        };
        self.pieces(findings.iter().map(piece), 40_000, "");
    }

    fn devices(&mut self, devices: &[Device]) {
        let wanted = || devices.iter().filter(|d| d.kind != "device");
        if wanted().next().is_none() {
            return;
        }
        self.heading("Each device alone, GB/s");
        let rows = wanted().map(|d| {
            let names = if d.devices.is_empty() { String::new() } else { format!(" [{}]", d.devices.join(" ")) };
            let upgrade = d.to_memory.upgrade.as_ref().map_or_else(String::new, |u| format!("; upgrade: {u}"));
            [
                ("n", d.id.clone()),
                ("", format!("{} {}{names}", d.address, d.name)),
                ("n", d.node.map_or_else(|| "?".to_owned(), |n| n.to_string())),
                ("n", range(&d.to_memory.rate)),
                ("n", range(&d.from_memory.rate)),
                ("n", d.read_latency_ns.typical.map_or_else(|| "?".to_owned(), |ns| format!("{ns:.0}"))),
                ("", format!("{}{upgrade}", d.to_memory.bound_by)),
            ]
        });
        self.table(
            ["device", "what it is", "node", "to memory", "from memory", "read of 64 B, ns", "bound by"],
            rows,
            40_000,
        );
        if wanted().any(|d| d.far.is_some()) {
            self.paragraph("soft", FAR);
        }
    }

    fn together(&mut self, together: &[Together]) {
        if together.is_empty() {
            return;
        }
        self.heading("All of a class at once, GB/s");
        let rows = together.iter().map(|t| {
            [
                ("", format!("{} {} {}", t.devices, t.class, t.way)),
                ("n", range(&t.total)),
                ("n", range(&t.least)),
                ("n", simulated(t.simulated.as_ref())),
                ("", format!("{}{}", t.bound_by, t.queues.as_ref().map_or_else(String::new, |q| format!("; {q}")))),
            ]
        });
        self.table(["load", "in total", "the slowest", "simulated in total", "bound by"], rows, 10_000);
    }

    fn pairs(&mut self, report: &Explained) {
        if report.pairs.is_empty() {
            return;
        }
        self.heading("Peer to peer, writes, GB/s");
        let rows = pair_groups(report, false).into_iter().map(|group| {
            let first = group[0];
            let more = if group.len() > 1 { format!(" and {} more", group.len() - 1) } else { String::new() };
            let direct = first.direct.as_ref().map_or_else(String::new, |d| format!("; {d} joins them"));
            [
                ("", format!("{} → {}{more}", first.from, first.to)),
                ("n", range(&first.write)),
                ("n", simulated(first.simulated.as_ref())),
                ("n", simulated(first.simulated_both_ways.as_ref())),
                ("", format!("{}; bound by {}{direct}", first.through, first.bound_by)),
            ]
        });
        self.table(["pair", "expected", "simulated", "both ways, in total", "way"], rows, 25_000);
        if let Some(class) = report.pairs.iter().find_map(|p| p.forwarded_as.as_ref()) {
            self.paragraph("soft", &format!("root complex taken for {class}"));
        }
    }

    fn picture(&mut self, picture: Option<&str>) {
        let Some(picture) = picture else { return };
        self.heading("Links, with all devices writing to memory at once");
        match picture.len() <= PICTURE {
            true => {
                // An SVG of its own may begin with a declaration, which has no place inside a page.
                let from = picture.find("<svg").unwrap_or(0);
                let _ = writeln!(
                    self.out,
                    "<figure class=\"picture\" data-method=\"estimate\">{}</figure>",
                    picture[from..].trim()
                );
            }
            false => self.paragraph("soft", "the picture is too large for this page: lanescope explain --svg DIR"),
        }
    }

    fn links(&mut self, links: &[LinkLine]) {
        let shown = || links.iter().filter(|l| l.standing != "empty");
        if shown().next().is_none() {
            return;
        }
        self.heading("Links");
        let rows = shown().map(|l| {
            let indent = "\u{2003}".repeat(l.depth.min(12));
            let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
            let state = match &l.why {
                Some(why) => format!("{}: {why}", l.standing),
                None => l.standing.clone(),
            };
            [
                ("n", format!("{indent}{}", l.lower)),
                ("", l.name.clone()),
                ("n", l.capable.clone().unwrap_or_else(|| "?".into())),
                ("n", l.shown.clone().unwrap_or_else(|| "?".into())),
                ("n", l.taken.clone().unwrap_or_else(|| "?".into())),
                ("", state),
                ("n", number(l.mps)),
                ("n", number(l.mrrs)),
            ]
        });
        let head = ["below", "what it is", "both can", "shown", "under load", "state", "MPS", "MRRS"];
        self.table(head, rows, 45_000);
    }

    fn workload(&mut self, report: &Explained) {
        let Some(workload) = &report.workload else { return };
        self.heading("The workload, GB/s");
        let rows = workload.flows.iter().enumerate().map(|(n, f)| {
            let run = workload.simulation.as_ref().and_then(|s| s.flows.get(n));
            let run = run.map_or_else(String::new, |s| format!("{:.2}", s.rate.mean / 8e9));
            [
                ("", f.name.clone()),
                ("n", format!("{:.2}", f.share.typical / 8e9)),
                ("n", run),
                ("", format!("{}: {}", f.bound_by.element, f.bound_by.evidence)),
            ]
        });
        self.table(["flow", "estimated", "simulated", "bound by"], rows, 10_000);
    }

    fn unknown(&mut self, report: &Explained) {
        if !report.unknown.is_empty() {
            self.heading("Not in the dumps");
            let rows = report.unknown.iter().map(|u| [("", u.what.clone()), ("place", u.command.clone())]);
            self.table(["what", "the command that says it"], rows, 6_000);
        }
        if !report.notes.is_empty() {
            self.heading("Remarks on the dumps");
            let line = |n: &String| format!("<div class=\"place\">{}</div>\n", escape(n));
            self.pieces(report.notes.iter().map(line), 6_000, "");
        }
    }
}

fn simulated(simulated: Option<&Simulated>) -> String {
    simulated.map_or_else(String::new, super::simulated)
}
