//! The picture of a plan: root complexes on top, the tree below, every link as wide as its lanes and as dark as it is busy.
//!
//! Two passes: [`fold`](super::fold) decides which boxes there are and [`Layout`] where they stand; then everything is drawn from that, links
//! first. Where leaves are many they hang in a column below their switch instead of a row, so that the sheet stays narrow.

use super::fold::{Cell, Fold, What, fold, name};
use super::{ACCENT, CLOSE, INK, Pen, Px, RULE, SOFT, escape, put, shorten, width};
use crate::plan::{Link, LinkId, PartId, Plan};
use crate::result::{FlowReport, LinkReport, Report};
use crate::scenario::keys::PartKind;
use std::collections::{HashMap, HashSet};

/// Height of a box.
const BOX: f64 = 46.0;
/// Width of a narrow box.
const LEAST: f64 = 124.0;
/// Width that a column needs so that the label right of its link does not reach the next link.
const COLUMN: f64 = 152.0;
/// From the foot of a row to the head of the next: bends above, labels below.
const GAP: f64 = 100.0;
/// The part of it where links do not bend any more: the height of their labels.
const STRAIGHT: f64 = 48.0;
/// What crosslinks need between two rows, where there are any.
const CROSSING: f64 = 56.0;
/// From the head of a hanging box to the next.
const STEP: f64 = 60.0;
/// From the side of a column to its hanging boxes: a spine and the label on a stub.
const STUB: f64 = 144.0;
/// Where in it the spine is.
const SPINE: f64 = 18.0;
/// Around everything.
const MARGIN: f64 = 32.0;
/// Narrowest sheet.
const SHEET: f64 = 900.0;
/// A row wider than this is drawn with hanging leaves.
const ROOMY: f64 = 1100.0;

/// Idle to busy: lightness falls evenly and the hue turns warm, which also those see who do not tell red from green.
const SCALE: [(f64, f64, f64); 5] =
    [(214.0, 210.0, 196.0), (242.0, 181.0, 107.0), (226.0, 115.0, 62.0), (178.0, 46.0, 78.0), (88.0, 16.0, 82.0)];

/// The colour of a share between 0 and 1.
fn colour(share: f64) -> String {
    let at = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 } * (SCALE.len() - 1) as f64;
    let i = (at as usize).min(SCALE.len() - 2);
    let (a, b, t) = (SCALE[i], SCALE[i + 1], at - i as f64);
    let mix = |a: f64, b: f64| (a + (b - a) * t).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// A drawn link's width.
fn stroke(lanes: u64) -> f64 {
    1.2 + 2.0 * (lanes as f64).sqrt()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Where every box stands.
struct Layout {
    /// Left, top and width of each box.
    boxes: Vec<(f64, f64, f64)>,
    /// Whether a box's children hang in a column.
    hangs: Vec<bool>,
    width: f64,
    height: f64,
}

impl Layout {
    fn new(plan: &Plan, fold: &Fold) -> Layout {
        let row = Layout::measure(plan, fold, false);
        if row.width <= ROOMY { row } else { Layout::measure(plan, fold, true) }
    }

    fn measure(plan: &Plan, fold: &Fold, hang: bool) -> Layout {
        let cells = &fold.cells;
        let leaf = |c: &usize| cells[*c].below.is_empty();
        let hangs: Vec<bool> = cells.iter().map(|c| hang && c.below.len() >= 3 && c.below.iter().all(leaf)).collect();
        let own: Vec<f64> = cells
            .iter()
            .enumerate()
            .map(|(i, c)| {
                // A row of links leaves side by side, so its box is wide enough for all of them.
                let feet = if hangs[i] { 0.0 } else { c.below.len() as f64 * 14.0 + 20.0 };
                let text = width(&shorten(&name(plan, c), NAME), 14.0) + 20.0;
                LEAST.max(feet).max(text)
            })
            .collect();
        // Columns from below, places from above: boxes below come later in the list.
        let mut column = vec![0.0f64; cells.len()];
        for i in (0..cells.len()).rev() {
            let below = &cells[i].below;
            column[i] = if hangs[i] {
                below.iter().map(|&c| STUB + own[c] + 28.0).fold(COLUMN, f64::max).max(own[i] + 28.0)
            } else {
                below.iter().map(|&c| column[c]).sum::<f64>().max(COLUMN).max(own[i] + 28.0)
            };
        }
        let tops: Vec<usize> = (0..cells.len()).filter(|&i| cells[i].above.is_none()).collect();
        let total: f64 = tops.iter().map(|&i| column[i]).sum();
        let width = (total + 2.0 * MARGIN + 24.0).max(SHEET);
        let mut left = vec![0.0f64; cells.len()];
        let mut x = (width - total) / 2.0;
        for &i in &tops {
            left[i] = x;
            x += column[i];
        }
        let crossing = if plan.links.iter().any(|l| l.crosslink) { CROSSING } else { 0.0 };
        let mut boxes = vec![(0.0, 0.0, 0.0); cells.len()];
        let mut height = 0.0f64;
        for i in 0..cells.len() {
            let above = cells[i].above;
            let (x, y) = match above {
                Some(a) if hangs[a] => {
                    let nth = cells[a].below.iter().position(|&c| c == i).unwrap_or(0);
                    (left[a] + STUB, boxes[a].1 + BOX + 20.0 + crossing + nth as f64 * STEP)
                }
                Some(a) => (left[i] + (column[i] - own[i]) / 2.0, boxes[a].1 + BOX + GAP + crossing),
                None => (left[i] + (column[i] - own[i]) / 2.0, 0.0),
            };
            let x = if hangs[i] { left[i] } else { x };
            boxes[i] = (x, y, own[i]);
            height = height.max(y + BOX);
            let mut next =
                left[i] + (column[i] - cells[i].below.iter().map(|&c| column[c]).sum::<f64>()).max(0.0) / 2.0;
            if !hangs[i] {
                for &c in &cells[i].below {
                    left[c] = next;
                    next += column[c];
                }
            }
        }
        // A box stands above the middle of what hangs below it, which need not be the middle of its column.
        for i in (0..cells.len()).rev() {
            let middle = |c: usize| boxes[c].0 + boxes[c].2 / 2.0;
            if let (false, [first, .., last] | [first @ last]) = (hangs[i], cells[i].below.as_slice()) {
                let x = (middle(*first) + middle(*last)) / 2.0 - own[i] / 2.0;
                boxes[i].0 = x.clamp(left[i], left[i] + column[i] - own[i]);
            }
        }
        Layout { boxes, hangs, width, height }
    }
}

/// Longest name in a box.
const NAME: usize = 24;

/// Both directions of what one line shows, the busiest of each where it stands for several links.
struct Busy<'a> {
    first: &'a Link,
    links: usize,
    /// Whether they differ in speed.
    mixed: bool,
    /// Toward the second end, then toward the first.
    shares: [f64; 2],
    /// Whether the links differ in that direction.
    spread: [bool; 2],
    /// Whether that direction binds a flow.
    binds: [bool; 2],
}

impl Busy<'_> {
    fn colour(&self) -> String {
        colour(self.shares[0].max(self.shares[1]))
    }

    fn stroke(&self) -> f64 {
        stroke(self.first.speed.typical.lanes.count())
    }

    fn speed(&self) -> String {
        let speed = self.first.speed.typical;
        match (self.links, self.mixed) {
            (1, _) => speed.to_string(),
            (n, false) => format!("{speed} ×{n}"),
            (n, true) => format!("{n} links"),
        }
    }

    /// `↑ 97 % ↓ 3 %` as XML, what binds in the accent colour.
    fn shares(&self, arrows: [&str; 2]) -> String {
        let one = |i: usize| {
            let most = if self.spread[i] { "≤" } else { "" };
            let text = format!("{} {most}{}", arrows[i], percent(self.shares[i]));
            if self.binds[i] { format!("<tspan fill=\"{ACCENT}\" font-weight=\"600\">{text}</tspan>") } else { text }
        };
        format!("{}  {}", one(1), one(0))
    }
}

/// All that drawing looks up.
struct Sight<'a> {
    plan: &'a Plan,
    fold: Fold,
    reports: HashMap<&'a str, Vec<&'a LinkReport>>,
    binding_links: HashSet<(&'a str, &'a str)>,
    binding_parts: HashSet<&'a str>,
}

impl<'a> Sight<'a> {
    fn new(plan: &'a Plan, report: &'a Report) -> Sight<'a> {
        let mut reports: HashMap<&str, Vec<&LinkReport>> = HashMap::new();
        for link in &report.links {
            reports.entry(&link.name).or_default().push(link);
        }
        let (mut binding_links, mut binding_parts) = (HashSet::new(), HashSet::new());
        let elements = report.flows.iter().flat_map(|f| std::iter::once(&f.bound_by.element).chain(&f.bound_also));
        for element in elements {
            if let Some((link, end)) = element.strip_prefix("links.").and_then(|e| e.rsplit_once(" toward ")) {
                binding_links.insert((link, end));
            } else if let Some(part) = element.strip_prefix("parts.") {
                binding_parts.insert(part);
            }
        }
        Sight { plan, fold: fold(plan), reports, binding_links, binding_parts }
    }

    fn busy(&self, links: &[LinkId]) -> Option<Busy<'a>> {
        let first = self.plan.link(*links.first()?);
        let mixed = links.iter().any(|&l| self.plan.link(l).speed.typical != first.speed.typical);
        let mut busy =
            Busy { first, links: links.len(), mixed, shares: [0.0; 2], spread: [false; 2], binds: [false; 2] };
        let mut least = [f64::INFINITY; 2];
        for &id in links {
            let link = self.plan.link(id);
            let ends = link.ends.each_ref().map(|e| self.plan.part(e.part).name.as_str());
            for (i, to) in [ends[1], ends[0]].into_iter().enumerate() {
                let report = self.reports.get(link.name.as_str()).and_then(|r| r.iter().find(|r| r.to == to));
                let share = report.map_or(0.0, |r| r.ledger.utilisation());
                let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
                busy.shares[i] = busy.shares[i].max(share);
                least[i] = least[i].min(share);
                busy.binds[i] |= self.binding_links.contains(&(link.name.as_str(), to));
            }
        }
        busy.spread = [0, 1].map(|i| busy.shares[i] - least[i] > 0.005);
        Some(busy)
    }
}

/// Draws a plan with its report: every link with the share of its slots that is taken, and what binds in a frame.
///
/// Parts that are alike are stacked and a large plan is cut short, so the picture stays small. Every element has a `data-id` that reads like a
/// path of the scenario (`parts.nic.0`, `links.uplink`); a stack has that of its first, and `data-count`.
pub fn topology(plan: &Plan, report: &Report) -> String {
    let sight = Sight::new(plan, report);
    let layout = Layout::new(plan, &sight.fold);
    let title = if report.title.trim().is_empty() { "Topology" } else { &report.title };
    let mut body = String::new();
    Pen::new(18.0, INK).bold().write(&mut body, MARGIN, 38.0, &shorten(title, (layout.width / 11.0) as usize));
    let top = captions(&mut body, report, layout.width) + 26.0;
    let mut labels = String::new();
    put!(&mut body, "<g transform=\"translate(0 {})\">\n", Px(top));
    let low = crosslinks(&mut body, &mut labels, &sight, &layout);
    spines(&mut body, &sight.fold, &layout);
    for i in 0..sight.fold.cells.len() {
        draw_link(&mut body, &sight, &layout, i);
    }
    for i in 0..sight.fold.cells.len() {
        draw_box(&mut body, &sight, &layout, i);
    }
    body.push_str(&labels);
    body.push_str("</g>\n");
    let foot = top + layout.height.max(low) + 44.0;
    legend(&mut body, (layout.width, foot), plan, !sight.binding_links.is_empty() || !sight.binding_parts.is_empty());
    let size = (layout.width, foot + 40.0);
    super::open(size, size, &format!("{title}: topology and utilisation")) + &body + CLOSE
}

/// A line for each of three flows, first those that something else than their own load binds; returns the base of the last.
fn captions(out: &mut String, report: &Report, width: f64) -> f64 {
    let pen = Pen::new(12.0, SOFT);
    let most = (width / 7.0) as usize;
    let mut y = 38.0;
    let own = |f: &FlowReport| f.bound_by.element.starts_with("flows.");
    let mut flows: Vec<&FlowReport> = report.flows.iter().collect();
    flows.sort_by_key(|f| own(f));
    for flow in flows.into_iter().take(3) {
        y += 18.0;
        let total = crate::units::human_rate(flow.share.typical);
        let line = match own(flow) {
            true => format!("{}: {total}, bound by {}", flow.name, flow.bound_by.resource),
            false => format!("{}: {total}, bound by {} ({})", flow.name, flow.bound_by.element, flow.bound_by.resource),
        };
        pen.write(out, MARGIN, y, &shorten(&line, most));
    }
    if report.flows.len() > 3 {
        y += 18.0;
        pen.write(out, MARGIN, y, &format!("and {} more flows", report.flows.len() - 3));
    }
    y
}

/// Opens the group of an element, with its id and what a pointer shows.
fn group(out: &mut String, id: &str, count: usize, hint: &str) {
    put!(out, "<g data-id=\"{}\"", escape(id));
    if count > 1 {
        put!(out, " data-count=\"{count}\"");
    }
    put!(out, "><title>{}</title>\n", escape(hint));
}

/// A line along `path`; what binds lies on a band.
fn line(out: &mut String, path: &str, busy: &Busy, dashed: bool) {
    let w = busy.stroke();
    if busy.binds[0] || busy.binds[1] {
        put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{ACCENT}\" stroke-width=\"{}\"/>\n", Px(w + 7.0));
        put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#ffffff\" stroke-width=\"{}\"/>\n", Px(w + 3.0));
    }
    let dash = if dashed { " stroke-dasharray=\"9 5\"" } else { "" };
    put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash}/>\n", busy.colour(), Px(w));
}

/// What hanging boxes hang from. All of their links share it, so it has no colour of its own.
fn spines(out: &mut String, fold: &Fold, layout: &Layout) {
    for (i, cell) in fold.cells.iter().enumerate().filter(|(i, _)| layout.hangs[*i]) {
        let ((x, y, _), last) = (layout.boxes[i], cell.below.last().map_or(0.0, |&c| layout.boxes[c].1));
        put!(
            &mut *out,
            "<path d=\"M{} {}V{}\" stroke=\"{RULE}\" stroke-width=\"4\"/>\n",
            Px(x + SPINE),
            Px(y + BOX),
            Px(last + BOX / 2.0)
        );
    }
}

/// What a pointer shows of a link.
fn link_hint(plan: &Plan, busy: &Busy) -> String {
    let link = busy.first;
    let [a, b] = link.ends.each_ref().map(|e| plan.part(e.part).name.as_str());
    let more = if busy.links > 1 { format!(" and {} alike", busy.links - 1) } else { String::new() };
    format!(
        "{}{more}: {}, toward {a} {}, toward {b} {}",
        link.name,
        link.speed.typical,
        percent(busy.shares[1]),
        percent(busy.shares[0])
    )
}

/// The link up from a box.
fn draw_link(out: &mut String, sight: &Sight, layout: &Layout, i: usize) {
    let cell = &sight.fold.cells[i];
    let (Some(above), Some(busy)) = (cell.above, sight.busy(&cell.links)) else { return };
    let (ax, ay, aw) = layout.boxes[above];
    let (x, y, w) = layout.boxes[i];
    let siblings = &sight.fold.cells[above].below;
    let nth = siblings.iter().position(|&c| c == i).unwrap_or(0);
    let foot = ay + BOX;
    group(out, &format!("links.{}", busy.first.name), busy.links, &link_hint(sight.plan, &busy));
    let speed = Pen::new(12.0, INK);
    let share = Pen::new(11.0, SOFT);
    if layout.hangs[above] {
        let (sx, sy) = (ax + SPINE, y + BOX / 2.0);
        line(out, &format!("M{} {}H{}", Px(sx - 2.0), Px(sy), Px(x)), &busy, false);
        let clear = busy.stroke() / 2.0 + if busy.binds[0] || busy.binds[1] { 4.0 } else { 0.0 };
        speed.write(out, sx + 10.0, sy - clear - 4.0, &busy.speed());
        share.write_xml(out, sx + 10.0, sy + clear + 12.0, &busy.shares(["↓", "↑"]));
    } else {
        let n = siblings.len() as f64;
        // Side by side below the box above, straight down where there is only one.
        let (cx, span) = (x + w / 2.0, (n - 1.0) * 14.0);
        let sx = if siblings.len() == 1 { cx } else { ax + aw / 2.0 - span / 2.0 + nth as f64 * 14.0 };
        let bend = y - STRAIGHT;
        let mid = (foot + bend) / 2.0;
        let path = format!(
            "M{} {}C{} {} {} {} {} {}V{}",
            Px(sx),
            Px(foot),
            Px(sx),
            Px(mid),
            Px(cx),
            Px(mid),
            Px(cx),
            Px(bend),
            Px(y)
        );
        line(out, &path, &busy, false);
        let lx = cx + busy.stroke() / 2.0 + 8.0;
        speed.write(out, lx, y - 26.0, &busy.speed());
        share.write_xml(out, lx, y - 10.0, &busy.shares(["↓", "↑"]));
    }
    out.push_str("</g>\n");
}

/// A part, a stack or a rest.
fn draw_box(out: &mut String, sight: &Sight, layout: &Layout, i: usize) {
    let (plan, cell) = (sight.plan, &sight.fold.cells[i]);
    let (x, y, w) = layout.boxes[i];
    let kind = plan.part(cell.parts[0]).keys.kind();
    let binds = cell.parts.iter().any(|&p| sight.binding_parts.contains(plan.part(p).name.as_str()));
    let fill = match (cell.what, kind) {
        (What::Rest, _) => "#fafafa",
        (_, PartKind::RootComplex) => "#dfe8f2",
        (_, PartKind::Switch) => "#eef1f4",
        // Nothing else is in this picture: Ethernet, storage and buses are not.
        _ => "#ffffff",
    };
    let name = name(plan, cell);
    group(
        out,
        &format!("parts.{}", plan.part(cell.parts[0]).name),
        cell.parts.len(),
        &format!("{name}: {}", kinds(plan, cell)),
    );
    let (edge, thick) = if binds { (ACCENT, 3.0) } else { ("#8796a5", 1.2) };
    let dash = if cell.what == What::Rest { " stroke-dasharray=\"3 3\"" } else { "" };
    let mut sheet = |shift: f64| {
        put!(
            &mut *out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"7\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"{}\"{dash}/>\n",
            Px(x + shift),
            Px(y + shift),
            Px(w),
            Px(BOX),
            Px(thick)
        );
    };
    if cell.what == What::Stack {
        sheet(8.0);
        sheet(4.0);
    }
    sheet(0.0);
    Pen::new(14.0, INK).bold().middle().write(out, x + w / 2.0, y + 20.0, &shorten(&name, NAME));
    Pen::new(11.0, SOFT).middle().write(out, x + w / 2.0, y + 36.0, &kinds(plan, cell));
    out.push_str("</g>\n");
}

/// `endpoint`, `endpoints`, or `switches and endpoints`.
fn kinds(plan: &Plan, cell: &Cell) -> String {
    let one = cell.parts.len() == 1;
    let words = [
        (PartKind::RootComplex, "root complex", "root complexes"),
        (PartKind::Switch, "switch", "switches"),
        (PartKind::Endpoint, "endpoint", "endpoints"),
    ];
    let there = |k: PartKind| cell.parts.iter().any(|&p| plan.part(p).keys.kind() == k);
    let all: Vec<&str> = words.into_iter().filter(|w| there(w.0)).map(|w| if one { w.1 } else { w.2 }).collect();
    all.join(" and ")
}

/// Crosslinks as dashed lines between the boxes of their ends; returns how low they reach.
fn crosslinks(out: &mut String, labels: &mut String, sight: &Sight, layout: &Layout) -> f64 {
    let plan = sight.plan;
    // All links between the same two boxes, at the same speed, are one line; so there are never more lines than pairs of boxes.
    let mut lines: Vec<((usize, usize), Vec<LinkId>)> = Vec::new();
    let mut place = HashMap::new();
    for (i, link) in plan.links.iter().enumerate().filter(|(_, l)| l.crosslink) {
        let of = |p: PartId| sight.fold.of[p.0 as usize];
        let (Some(a), Some(b)) = (of(link.ends[0].part), of(link.ends[1].part)) else { continue };
        if a != b {
            let new = lines.len();
            let at = *place.entry((a, b, link.speed.typical)).or_insert(new);
            if at == new {
                lines.push(((a, b), Vec::new()));
            }
            lines[at].1.push(LinkId(i as u32));
        }
    }
    let mut low = 0.0f64;
    for (nth, ((a, b), links)) in lines.iter().take(MOST_CROSS).enumerate() {
        let Some(busy) = sight.busy(links) else { continue };
        let (p, q) = (layout.boxes[*a], layout.boxes[*b]);
        let (from, to) = if p.0 <= q.0 { (p, q) } else { (q, p) };
        let (x1, x2) = (from.0 + from.2, to.0);
        let between = layout.boxes.iter().any(|o| o.1 == from.1 && o.0 > from.0 && o.0 < to.0);
        let straight = from.1 == to.1 && !between && x2 - x1 > WIDE + 30.0;
        let (path, mid) = if straight {
            let y = from.1 + BOX / 2.0;
            (format!("M{} {}H{}", Px(x1), Px(y), Px(x2)), ((x1 + x2) / 2.0, y))
        } else if from.1 == to.1 {
            // Staggered below the row, so that labels do not fall on one another.
            let (dip, y) = (32.0 + (nth % 3) as f64 * 24.0, from.1 + BOX);
            let (x1, x2) = (x1 - 24.0, x2 + 24.0);
            (
                format!(
                    "M{} {}C{} {} {} {} {} {}",
                    Px(x1),
                    Px(y),
                    Px(x1 + 24.0),
                    Px(y + dip),
                    Px(x2 - 24.0),
                    Px(y + dip),
                    Px(x2),
                    Px(y)
                ),
                ((x1 + x2) / 2.0, y + dip * 0.75 + busy.stroke() / 2.0 + 19.0),
            )
        } else {
            let (y1, y2) = (from.1 + BOX / 2.0, to.1 + BOX / 2.0);
            let pull = 50.0f64.max((x2 - x1) / 2.0);
            (
                format!(
                    "M{} {}C{} {} {} {} {} {}",
                    Px(x1),
                    Px(y1),
                    Px(x1 + pull),
                    Px(y1),
                    Px(x2 - pull),
                    Px(y2),
                    Px(x2),
                    Px(y2)
                ),
                ((x1 + x2) / 2.0, (y1 + y2) / 2.0),
            )
        };
        let (id, hint) = (format!("links.{}", busy.first.name), link_hint(plan, &busy));
        group(out, &id, busy.links, &hint);
        line(out, &path, &busy, true);
        out.push_str("</g>\n");
        // First toward the end on the right.
        let arrows = if p.0 <= q.0 { ["→", "←"] } else { ["←", "→"] };
        group(labels, &id, busy.links, &hint);
        // On a straight line the label parts around it, otherwise it stands on white.
        let part = if straight { busy.stroke() / 2.0 + 4.0 } else { 0.0 };
        let ground = if straight { 0.0 } else { 0.92 };
        put!(
            &mut *labels,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"34\" rx=\"5\" fill=\"#ffffff\" fill-opacity=\"{ground}\"/>\n",
            Px(mid.0 - WIDE / 2.0),
            Px(mid.1 - 17.0),
            Px(WIDE)
        );
        Pen::new(12.0, INK).middle().write(labels, mid.0, mid.1 - part - 3.0, &busy.speed());
        Pen::new(11.0, SOFT).middle().write_xml(labels, mid.0, mid.1 + part + 11.0, &busy.shares(arrows));
        labels.push_str("</g>\n");
        low = low.max(mid.1 + 20.0);
    }
    low
}

/// No more crosslinks than this are drawn.
const MOST_CROSS: usize = 60;
/// Width of a crosslink's label.
const WIDE: f64 = 104.0;

/// What colours, widths and frames mean.
fn legend(out: &mut String, (width, y): (f64, f64), plan: &Plan, binds: bool) {
    let pen = Pen::new(11.0, SOFT);
    put!(
        &mut *out,
        "<g data-id=\"legend\">\n<path d=\"M{} {}H{}\" stroke=\"{RULE}\"/>\n",
        Px(MARGIN),
        Px(y - 22.0),
        Px(width - MARGIN)
    );
    let mut x = MARGIN;
    pen.write(out, x, y + 4.0, "slots taken, busier direction");
    x += 168.0;
    pen.end().write(out, x + 22.0, y + 4.0, "0 %");
    x += 28.0;
    for i in 0..20 {
        put!(
            &mut *out,
            "<rect x=\"{}\" y=\"{}\" width=\"7.5\" height=\"11\" fill=\"{}\"/>\n",
            Px(x + i as f64 * 7.0),
            Px(y - 6.0),
            colour(i as f64 / 19.0)
        );
    }
    x += 20.0 * 7.0 + 6.0;
    pen.write(out, x, y + 4.0, "100 %");
    x += 56.0;
    for lanes in [1, 4, 16] {
        put!(
            &mut *out,
            "<path d=\"M{} {}h18\" stroke=\"#8796a5\" stroke-width=\"{}\"/>\n",
            Px(x),
            Px(y),
            Px(stroke(lanes))
        );
        pen.write(out, x + 23.0, y + 4.0, &format!("x{lanes}"));
        x += 52.0;
    }
    x += 8.0;
    if binds {
        put!(
            &mut *out,
            "<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"13\" rx=\"4\" fill=\"#ffffff\" stroke=\"{ACCENT}\" stroke-width=\"3\"/>\n",
            Px(x),
            Px(y - 6.5)
        );
        pen.write(out, x + 28.0, y + 4.0, "binds");
        x += 80.0;
    }
    if plan.links.iter().any(|l| l.crosslink) {
        put!(
            &mut *out,
            "<path d=\"M{} {}h26\" stroke=\"#8796a5\" stroke-width=\"4\" stroke-dasharray=\"9 5\"/>\n",
            Px(x),
            Px(y)
        );
        pen.write(out, x + 32.0, y + 4.0, "crosslink");
    }
    out.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, well_formed};
    use super::*;

    const TWO: &str = "title = \"two <nics> & \\\"one\\\" uplink\"\n\
        [parts.host]\nis = \"root-complex\"\n[parts.sw]\nis = \"switch\"\n[parts.nic]\nis = \"endpoint\"\ncount = 2\nrate = \"25 Gb/s\"\n\
        [links.uplink]\nbetween = [\"host\", \"sw.up\"]\npcie = \"gen3 x4\"\nmps = \"256 B\"\n\
        [links.slots]\nbetween = [\"sw.down.*\", \"nic.*\"]\npcie = \"gen3 x8\"\nmps = \"256 B\"\n\
        [flows.rx]\nfrom = \"nic.*\"\nto = \"host.memory\"\ndo = \"write\"\nsize = \"2 KiB\"\n";

    #[test]
    fn every_element_is_there_with_its_label() {
        let (plan, report) = answer(TWO);
        let svg = topology(&plan, &report);
        well_formed(&svg);
        for id in
            ["parts.host", "parts.sw", "parts.nic.0", "parts.nic.1", "links.uplink", "links.slots.0", "links.slots.1"]
        {
            assert_eq!(svg.matches(&format!("data-id=\"{id}\"")).count(), 1, "{id}");
        }
        assert!(svg.contains(">gen3 x4<") && svg.contains(">gen3 x8<") && svg.contains("root complex"));
        assert!(svg.contains("two &lt;nics&gt; &amp; &quot;one&quot; uplink"));
        // The uplink binds toward the host: on a band, its direction in the accent colour, and all of its slots taken.
        assert!(svg.contains("links.uplink toward host"));
        assert!(svg.contains(&format!("<tspan fill=\"{ACCENT}\" font-weight=\"600\">↑ 100 %</tspan>")));
    }

    #[test]
    fn a_part_that_binds_has_a_frame() {
        let (plan, report) = answer(&TWO.replace("gen3 x4", "gen3 x16"));
        let svg = topology(&plan, &report);
        let at = svg.find("data-id=\"parts.nic.0\"").expect("it is drawn");
        let end = at + svg[at..].find("</g>").expect("a group ends");
        assert!(svg[at..end].contains(ACCENT), "{}", &svg[at..end]);
    }

    #[test]
    fn a_box_stands_above_what_hangs_below_it() {
        // Eight devices hang in a column below each switch, off the middle; the root complex is above its switch all the same.
        let text = "[parts.rc]\nis = \"root-complex\"\ncount = 2\n[parts.sw]\nis = \"switch\"\ncount = 2\n\
            [parts.ssd]\nis = \"endpoint\"\ncount = 16\n\
            [links.up]\nbetween = [\"rc.*\", \"sw.*.up\"]\npcie = \"gen4 x16\"\n\
            [links.bay]\nbetween = [\"sw.*.down.*\", \"ssd.*\"]\npcie = \"gen3 x4\"\n";
        let (plan, _) = answer(text);
        let fold = fold(&plan);
        let layout = Layout::measure(&plan, &fold, true);
        for (i, cell) in fold.cells.iter().enumerate() {
            if let Some(above) = cell.above.filter(|&a| fold.cells[a].below.len() == 1) {
                let (x, w) = (layout.boxes[above].0, layout.boxes[above].2);
                let middle = layout.boxes[i].0 + layout.boxes[i].2 / 2.0;
                assert!((x..x + w).contains(&middle), "box {i}");
            }
        }
    }

    #[test]
    fn thousands_of_parts_make_a_small_picture() {
        let text = "[parts.host]\nis = \"root-complex\"\ncount = 160\n[parts.nic]\nis = \"endpoint\"\ncount = 8000\n\
            [links.l]\nbetween = [\"host.*\", \"nic.*\"]\npcie = \"gen3 x8\"\n";
        let (plan, mut report) = answer(text);
        report.flows.clear();
        let svg = topology(&plan, &report);
        well_formed(&svg);
        assert!(svg.len() < 10_000 && svg.contains("nic.0–7999 ×8000") && svg.contains("data-count=\"8000\""));
    }

    #[test]
    fn a_crosslink_is_dashed() {
        let text = "[parts.rc]\nis = \"root-complex\"\n[parts.sw]\nis = \"switch\"\ncount = 2\n[parts.gpu]\nis = \"endpoint\"\ncount = 2\n\
            [links.up]\nbetween = [\"rc\", \"sw.*.up\"]\npcie = \"gen4 x16\"\n[links.slot]\nbetween = [\"sw.*.down\", \"gpu.*\"]\npcie = \"gen4 x16\"\n\
            [links.cross]\nbetween = [\"sw.0.down\", \"sw.1.down\"]\npcie = \"gen4 x8\"\ncrosslink = true\ncarries = [\"gpu.0\"]\n\
            [flows.p2p]\nfrom = \"gpu.0\"\nto = \"gpu.1\"\ndo = \"write\"\nsize = \"4 KiB\"\n";
        let (plan, report) = answer(text);
        let svg = topology(&plan, &report);
        well_formed(&svg);
        assert!(
            svg.contains("stroke-dasharray=\"9 5\"")
                && svg.contains("data-id=\"links.cross\"")
                && svg.contains(">crosslink<")
        );
    }

    #[test]
    fn a_report_of_another_plan_or_without_numbers_is_drawn_too() {
        let (plan, mut report) = answer(TWO);
        report.links.iter_mut().for_each(|l| l.ledger = Default::default());
        report.links.truncate(1);
        well_formed(&topology(&plan, &report));
    }

    #[test]
    fn colours_darken_evenly() {
        let light = |c: (f64, f64, f64)| 0.2126 * c.0.powf(2.2) + 0.7152 * c.1.powf(2.2) + 0.0722 * c.2.powf(2.2);
        assert!(SCALE.windows(2).all(|w| light(w[0]) > light(w[1])));
        assert_eq!(
            (colour(0.0), colour(f64::NAN), colour(7.0)),
            ("#d6d2c4".into(), "#d6d2c4".into(), "#581052".into())
        );
    }
}
