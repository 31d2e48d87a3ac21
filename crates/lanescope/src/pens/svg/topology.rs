//! The picture of a plan: what is there, row by row, every link as wide as its lanes and as dark as it is busy.
//!
//! [`Scene`] is the plan as one graph, [`fold`](super::fold) decides which boxes there are, [`Layout`] where they
//! stand, and [`Sight`] how busy everything is by the method shown; then everything is drawn from that, links first.

use super::fold::{Cell, Fold, Line, What, fold, name};
use super::layout::{BOX, Layout, MARGIN, SPINE, Wish};
use super::load::{Busy, Sight};
use super::scene::{Scene, Wire};
use super::{ACCENT, ALARM, CLOSE, INK, Method, Pen, Px, RULE, SOFT, escape, put, shorten, width};
use crate::plan::Plan;
use crate::result::{Ending, FlowReport, Report, SimulatedFlow, Simulation};
use crate::scenario::keys::{PART_KINDS, PartRole};
use crate::units::{human_rate, human_time};

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

/// The colours of a busy link, from idle to full, in equal steps: for a film of the same picture.
pub(in crate::pens) fn colours() -> Vec<String> {
    (0..=20).map(|n| colour(n as f64 / 20.0)).collect()
}

/// A drawn link's width.
fn stroke(lanes: u64) -> f64 {
    1.2 + 2.0 * (lanes as f64).sqrt()
}

/// Longest name in a box.
const NAME: usize = 24;
/// Arrows of a link between rows: toward its lower end, toward its upper.
const UPRIGHT: [&str; 2] = ["↓", "↑"];

/// All that drawing looks up.
struct Sheet<'a, 'b> {
    scene: &'b Scene<'a>,
    fold: &'b Fold,
    sight: &'b Sight<'a>,
    layout: Layout,
    /// What stands on each box's link up; none at the top, and where it only has a place on a bus.
    links: Vec<Option<Busy<'b>>>,
    /// What stands in or beside each box: its bus, or the links among its own parts.
    inside: Vec<Option<Busy<'b>>>,
}

impl<'a, 'b> Sheet<'a, 'b> {
    fn new(scene: &'b Scene<'a>, fold: &'b Fold, sight: &'b Sight<'a>) -> Sheet<'a, 'b> {
        let mut links = Vec::new();
        let mut inside = Vec::new();
        for (i, cell) in fold.cells.iter().enumerate() {
            links.push(sight.turned(scene, &cell.wires, |w: &Wire| fold.of[w.ends[0]] == i));
            inside.push(sight.busy(scene, &cell.inside));
        }
        let wishes: Vec<Wish> = (fold.cells.iter().enumerate())
            .map(|(i, cell)| {
                let name = width(&shorten(&name(scene, cell), NAME), 14.0);
                let bus = is_bus(scene, cell);
                let (kind, own) = (width(&kinds(scene, cell), 11.0), inside[i].as_ref().map_or(0.0, label_width));
                let text = if bus { name.max(own) } else { name.max(kind) };
                let label = links[i].as_ref().map_or(0.0, |b| label_width(b) + b.lanes as f64 / 4.0);
                Wish { text, label, side: if bus || own == 0.0 { 0.0 } else { own + 34.0 }, bus }
            })
            .collect();
        let held = links.iter().flatten().chain(inside.iter().flatten()).any(|b| b.held(UPRIGHT).is_some());
        let mut layout = Layout::new(fold, &wishes, if held { 3 } else { 2 });
        // The last label of a row may reach beyond its column.
        let reach = |(b, w): (&(f64, f64, f64), &Wish)| b.0 + b.2 / 2.0 + w.label.max(if w.bus { w.text } else { 0.0 });
        let right = layout.boxes.iter().zip(&wishes).map(reach).fold(0.0, f64::max);
        layout.width = layout.width.max(right + MARGIN);
        Sheet { scene, fold, sight, layout, links, inside }
    }
}

/// How wide the lines beside a link are.
fn label_width(busy: &Busy) -> f64 {
    let held = busy.held(UPRIGHT).map_or(0.0, |h| width(&h, 11.0));
    width(&busy.speed(), 12.0).max(width(&busy.plain(UPRIGHT), 11.0)).max(held)
}

fn is_bus(scene: &Scene, cell: &Cell) -> bool {
    cell.what != What::Rest && scene.nodes[cell.nodes[0]].kind.is_none()
}

/// Draws a plan with its report: every link with the share of its slots that is taken, and what binds in a frame, both
/// as `method` has them (the estimate's where there was no simulation).
///
/// Parts that are alike are stacked and a large plan is cut short, so the picture stays small. Every element has a
/// `data-id` that reads like a path of the scenario (`parts.nic.0`, `links.uplink`); a stack has that of its first, and
/// `data-count`.
pub fn topology(plan: &Plan, report: &Report, method: Method) -> String {
    let method = method.of(report);
    let scene = Scene::new(plan);
    let fold = fold(&scene);
    let sight = Sight::new(report, method);
    let sheet = Sheet::new(&scene, &fold, &sight);
    let layout = &sheet.layout;
    let title = if report.title.trim().is_empty() { "Topology" } else { &report.title };
    let mut body = String::new();
    let most = (layout.width / 12.5) as usize - 16;
    let heading = format!("{}, {}", shorten(title, most), method.participle());
    Pen::new(18.0, INK).bold().write(&mut body, MARGIN, 38.0, &heading);
    let top = captions(&mut body, report, method, layout.width) + 26.0;
    let mut labels = String::new();
    put!(&mut body, "<g transform=\"translate(0 {})\">\n", Px(top));
    let mut low = 0.0f64;
    for (nth, line) in fold.lines.iter().enumerate() {
        low = low.max(across(&mut body, &mut labels, &sheet, nth, line));
    }
    spines(&mut body, &fold, layout);
    for i in 0..fold.cells.len() {
        draw_link(&mut body, &sheet, i);
    }
    for i in 0..fold.cells.len() {
        match is_bus(&scene, &fold.cells[i]) {
            true => draw_bus(&mut body, &sheet, i),
            false => draw_box(&mut body, &sheet, i),
        }
    }
    body.push_str(&labels);
    body.push_str("</g>\n");
    let mut foot = top + layout.height.max(low) + 44.0;
    if let Some(busy) = sight.busy(&scene, &fold.left) {
        let n = busy.links;
        group(&mut body, &format!("links.{}", busy.first), n, "links that are not drawn");
        let text = format!("and {n} more links between these, {} of their slots taken", busy.plain(["", ""]).trim());
        Pen::new(12.0, SOFT).write(&mut body, MARGIN, foot - 30.0, &text);
        body.push_str("</g>\n");
        foot += 20.0;
    }
    let crosslinks = fold.lines.iter().any(|l| l.crosslink);
    legend(&mut body, (layout.width, foot), &sheet, [!plan.links.is_empty(), crosslinks, sight.marks()]);
    let size = (layout.width, foot + 40.0);
    super::open(size, size, &format!("{title}: topology and utilisation, {}", method.participle())) + &body + CLOSE
}

/// What the method gave in all, then a line for each of three flows, first those that something else than their own
/// load binds; returns the base of the last.
fn captions(out: &mut String, report: &Report, method: Method, width: f64) -> f64 {
    let pen = Pen::new(12.0, SOFT);
    let most = (width / 7.0) as usize;
    let simulation = report.simulation.as_ref().filter(|_| method == Method::Simulation);
    let (about, alarm) = match simulation {
        Some(s) => run(s),
        None => ("Fair shares in closed form; nothing queues".to_owned(), false),
    };
    Pen::new(12.0, if alarm { ALARM } else { SOFT }).write(out, MARGIN, 56.0, &shorten(&about, most));
    let mut y = 56.0;
    let lines: Vec<(bool, String)> = match simulation {
        Some(s) => s.flows.iter().map(simulated_line).collect(),
        None => report.flows.iter().map(estimated_line).collect(),
    };
    let (own, others): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l.0);
    for (_, line) in others.into_iter().chain(own).take(3) {
        y += 18.0;
        pen.write(out, MARGIN, y, &shorten(line, most));
    }
    if lines.len() > 3 {
        y += 18.0;
        pen.write(out, MARGIN, y, &format!("and {} more flows", lines.len() - 3));
    }
    for line in remarks(report, method) {
        y += 18.0;
        pen.write(out, MARGIN, y, &shorten(&line, most));
    }
    y
}

/// What the numbers shown take no account of, and the first remark.
fn remarks(report: &Report, method: Method) -> impl Iterator<Item = String> {
    let word = if method == Method::Simulation { "simulate" } else { "estimate" };
    let mut missing = report.not_modelled.iter().filter(|n| n.methods.iter().any(|m| m == word));
    let missing = missing.next().map(|n| {
        let more = missing.count();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("not modelled: {}{more}: {}", n.key, n.why)
    });
    missing.into_iter().chain(report.notes.first().map(|n| format!("note: {}: {}", n.element, n.text)))
}

/// How a simulation went, and whether that is bad news.
fn run(s: &Simulation) -> (String, bool) {
    let (window, warmup) = (human_time(s.window), human_time(s.warmup));
    let (how, bad) = match &s.ending {
        Ending::Deadlock { .. } => ("; it ends in a deadlock", true),
        Ending::Stall { .. } => ("; it ends in a stall", true),
        Ending::Fault { .. } => ("; its ranks contradict one another", true),
        Ending::Unstable => ("; a backlog grows without end", true),
        Ending::Stopped => ("; stopped from outside", false),
        _ => ("", false),
    };
    (format!("{window} simulated after {warmup} of warm-up, {}{how}", s.followed()), bad)
}

/// Whether its own load binds a flow, and what the picture says about it.
fn estimated_line(f: &FlowReport) -> (bool, String) {
    let time = f.programs.first().map(|p| p.time);
    line_of(&f.name, f.share.typical, time, &f.bound_by.element, &f.bound_by.resource, "")
}

fn simulated_line(f: &SimulatedFlow) -> (bool, String) {
    let time = f.program.as_ref().map(|p| p.time);
    let unstable = if f.unstable { ", and a queue grows without end" } else { "" };
    line_of(&f.name, f.rate.mean, time, &f.bound_by.element, &f.bound_by.resource, unstable)
}

fn line_of(name: &str, rate: f64, time: Option<f64>, element: &str, resource: &str, more: &str) -> (bool, String) {
    let own = element.starts_with("flows.");
    let time = time.map_or(String::new(), |t| format!(" in {}", human_time(t)));
    let by = if own { resource.to_owned() } else { format!("{element} ({resource})") };
    (own, format!("{name}: {}{time}, bound by {by}{more}", human_rate(rate)))
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
    let w = stroke(busy.lanes);
    if busy.binds() {
        put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{ACCENT}\" stroke-width=\"{}\"/>\n", Px(w + 7.0));
        put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#ffffff\" stroke-width=\"{}\"/>\n", Px(w + 3.0));
    }
    let dash = if dashed { " stroke-dasharray=\"9 5\"" } else { "" };
    let colour = colour(busy.share());
    put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"{dash}/>\n", Px(w));
}

/// A place on a bus, or in an array: no link.
fn tie(out: &mut String, path: &str) {
    put!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#8796a5\" stroke-width=\"1.5\"/>\n");
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

/// Where the line of a bus is in the place of its box.
const BAR: f64 = 40.0;

/// The lines of a label from the top, right of `x`: speed, directions, and what held one back.
fn label(out: &mut String, x: f64, y: f64, busy: &Busy, arrows: [&str; 2]) {
    Pen::new(12.0, INK).write(out, x, y, &busy.speed());
    Pen::new(11.0, SOFT).write_xml(out, x, y + 16.0, &busy.shares(arrows));
    if let Some(held) = busy.held(arrows) {
        Pen::new(11.0, ALARM).write(out, x, y + 32.0, &held);
    }
}

/// The link up from a box, or its place on a bus.
fn draw_link(out: &mut String, sheet: &Sheet, i: usize) {
    let (fold, layout) = (sheet.fold, &sheet.layout);
    let cell = &fold.cells[i];
    let Some(above) = cell.above else { return };
    let (ax, ay, aw) = layout.boxes[above];
    let (x, y, w) = layout.boxes[i];
    let cx = x + w / 2.0;
    let own_bus = is_bus(sheet.scene, cell);
    let head = if own_bus { y + BAR } else { y };
    let Some(busy) = &sheet.links[i] else {
        let path = match (is_bus(sheet.scene, &fold.cells[above]), layout.hangs[above]) {
            (true, _) => format!("M{} {}V{}", Px(cx), Px(ay + BAR), Px(head)),
            (_, true) => format!("M{} {}H{}", Px(ax + SPINE), Px(y + BOX / 2.0), Px(x)),
            _ => bent((ax + aw / 2.0, ay + BOX), (cx, head), y - layout.straight),
        };
        return tie(out, &path);
    };
    let siblings = &fold.cells[above].below;
    let nth = siblings.iter().position(|&c| c == i).unwrap_or(0);
    let hint = busy.hint();
    group(out, &format!("links.{}", busy.first), busy.links, &hint);
    if layout.hangs[above] {
        let (sx, sy) = (ax + SPINE, y + BOX / 2.0);
        line(out, &format!("M{} {}H{}", Px(sx - 2.0), Px(sy), Px(x)), busy, false);
        let clear = stroke(busy.lanes) / 2.0 + if busy.binds() { 4.0 } else { 0.0 };
        Pen::new(12.0, INK).write(out, sx + 10.0, sy - clear - 4.0, &busy.speed());
        Pen::new(11.0, SOFT).write_xml(out, sx + 10.0, sy + clear + 12.0, &busy.shares(UPRIGHT));
    } else {
        let n = siblings.len() as f64;
        // Side by side below the box above, straight down where there is only one.
        let span = (n - 1.0) * 14.0;
        let sx = if siblings.len() == 1 { cx } else { ax + aw / 2.0 - span / 2.0 + nth as f64 * 14.0 };
        line(out, &bent((sx, ay + BOX), (cx, head), y - layout.straight), busy, false);
        let lines = if busy.held(UPRIGHT).is_some() { 42.0 } else { 26.0 };
        label(out, cx + stroke(busy.lanes) / 2.0 + 8.0, y - lines, busy, UPRIGHT);
    }
    out.push_str("</g>\n");
}

/// Down from a foot, bending until `bend`, then straight to a head.
fn bent(from: (f64, f64), to: (f64, f64), bend: f64) -> String {
    let mid = (from.1 + bend) / 2.0;
    let [sx, sy, mid, cx, bend, y] = [from.0, from.1, mid, to.0, bend, to.1].map(Px);
    format!("M{sx} {sy}C{sx} {mid} {cx} {mid} {cx} {bend}V{y}")
}

/// A shared bus: a line under all that is on it.
fn draw_bus(out: &mut String, sheet: &Sheet, i: usize) {
    let cell = &sheet.fold.cells[i];
    let Some(busy) = &sheet.inside[i] else { return };
    let (x, y, w) = sheet.layout.boxes[i];
    let middle = |c: &usize| sheet.layout.boxes[*c].0 + sheet.layout.boxes[*c].2 / 2.0;
    let (left, right) = cell.below.iter().map(middle).fold((x, x + w), |(l, r), m| (l.min(m - 20.0), r.max(m + 20.0)));
    let hint = busy.hint();
    group(out, &format!("links.{}", busy.first), busy.links, &hint);
    line(out, &format!("M{} {}H{}", Px(left), Px(y + BAR), Px(right)), busy, false);
    let at = x + w / 2.0 + 12.0;
    // Its name on the other side of what it hangs from.
    Pen::new(14.0, INK).bold().end().write(out, at - 24.0, y + BAR - 14.0, &shorten(&name(sheet.scene, cell), NAME));
    let lines = if busy.held(UPRIGHT).is_some() { 46.0 } else { 30.0 };
    label(out, at, y + BAR - lines, busy, ["", ""]);
    out.push_str("</g>\n");
}

/// A part, a stack or a rest.
fn draw_box(out: &mut String, sheet: &Sheet, i: usize) {
    let (scene, cell) = (sheet.scene, &sheet.fold.cells[i]);
    let (x, y, w) = sheet.layout.boxes[i];
    let binds =
        cell.nodes.iter().any(|&n| scene.nodes[n].kind.is_some() && sheet.sight.part_binds(scene.nodes[n].name));
    let first = cell.nodes.iter().find(|n| scene.nodes[**n].kind.is_some()).unwrap_or(&cell.nodes[0]);
    let fill = match (cell.what, scene.nodes[*first].kind.map(|k| k.row().role)) {
        (What::Rest, _) => "#fafafa",
        (_, Some(PartRole::Root)) => "#dfe8f2",
        (_, Some(PartRole::Switch)) => "#eef1f4",
        _ => "#ffffff",
    };
    let (name, kinds) = (name(scene, cell), kinds(scene, cell));
    let parts = cell.nodes.iter().filter(|n| scene.nodes[**n].kind.is_some()).count();
    let dropped: u64 = cell.nodes.iter().map(|n| sheet.sight.dropped(scene.nodes[*n].name)).sum();
    let lost = if dropped > 0 { format!(", {dropped} frames dropped") } else { String::new() };
    group(out, &format!("parts.{}", scene.nodes[*first].name), parts, &format!("{name}: {kinds}{lost}"));
    let (edge, thick) = if binds { (ACCENT, 3.0) } else { ("#8796a5", 1.2) };
    let dash = if cell.what == What::Rest { " stroke-dasharray=\"3 3\"" } else { "" };
    let mut sheet_at = |shift: f64| {
        put!(
            &mut *out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"7\" fill=\"{fill}\" stroke=\"{edge}\" \
                stroke-width=\"{}\"{dash}/>\n",
            Px(x + shift),
            Px(y + shift),
            Px(w),
            Px(BOX),
            Px(thick)
        );
    };
    if cell.what == What::Stack {
        sheet_at(8.0);
        sheet_at(4.0);
    }
    sheet_at(0.0);
    Pen::new(14.0, INK).bold().middle().write(out, x + w / 2.0, y + 20.0, &shorten(&name, NAME));
    let (text, fill) = if dropped > 0 { (format!("{dropped} dropped"), ALARM) } else { (kinds, SOFT) };
    Pen::new(11.0, fill).middle().write(out, x + w / 2.0, y + 36.0, &text);
    out.push_str("</g>\n");
    // Links among the parts of the box.
    if let Some(busy) = &sheet.inside[i] {
        let hint = busy.hint();
        group(out, &format!("links.{}", busy.first), busy.links, &hint);
        let (right, mid) = (x + w + if cell.what == What::Stack { 8.0 } else { 0.0 }, y + BOX / 2.0);
        line(out, &format!("M{} {}h14v20h-14", Px(right), Px(mid - 10.0)), busy, false);
        label(out, right + 22.0, mid - 6.0, busy, ["→", "←"]);
        out.push_str("</g>\n");
    }
}

/// `endpoint`, `endpoints`, or `switches and endpoints`.
fn kinds(scene: &Scene, cell: &Cell) -> String {
    let parts = || cell.nodes.iter().filter_map(|&n| scene.nodes[n].kind);
    let one = parts().count() == 1;
    let mut rows: Vec<_> = PART_KINDS.iter().filter(|row| parts().any(|p| p.row().word == row.word)).collect();
    // From the top of the picture down.
    rows.sort_by_key(|row| row.role);
    let all: Vec<&str> = rows.iter().map(|row| row.names[usize::from(!one)]).collect();
    match all.as_slice() {
        [first, .., last] if all.len() > 2 => format!("{first} … {last}"),
        _ => all.join(" and "),
    }
}

/// What joins two boxes of which none hangs below the other; returns how low it reaches.
fn across(out: &mut String, labels: &mut String, sheet: &Sheet, nth: usize, l: &Line) -> f64 {
    let (scene, layout) = (sheet.scene, &sheet.layout);
    let [a, b] = l.ends;
    let (p, q) = (layout.boxes[a], layout.boxes[b]);
    let centre = |b: (f64, f64, f64)| b.0 + b.2 / 2.0;
    let busy = sheet.sight.turned(scene, &l.wires, |w: &Wire| sheet.fold.of[w.ends[0]] == b);
    let (from, to) = if p.0 <= q.0 { (p, q) } else { (q, p) };
    let (x1, x2) = (from.0 + from.2, to.0);
    let wide = busy.as_ref().map_or(0.0, label_width) + 12.0;
    let between = layout.boxes.iter().any(|o| o.1 == from.1 && o.0 > from.0 && o.0 < to.0);
    let level = from.1 == to.1;
    let straight = level && !between && x2 - x1 > wide + 30.0;
    let thick = busy.as_ref().map_or(0.0, |b| stroke(b.lanes));
    // Staggered, so that labels do not fall on one another.
    let turn = (nth % 3) as f64;
    // (where it begins, two points that pull, where it ends), and where on it its label is.
    let (points, at) = if straight {
        let y = from.1 + BOX / 2.0;
        ([(x1, y), (x1, y), (x2, y), (x2, y)], 0.5)
    } else if level {
        let (dip, y) = (32.0 + turn * 24.0, from.1 + BOX);
        let (x1, x2) = (x1 - 24.0, x2 + 24.0);
        ([(x1, y), (x1 + 24.0, y + dip), (x2 - 24.0, y + dip), (x2, y)], 0.5)
    } else if l.crosslink {
        let (y1, y2) = (from.1 + BOX / 2.0, to.1 + BOX / 2.0);
        let pull = 50.0f64.max((x2 - x1) / 2.0);
        ([(x1, y1), (x1 + pull, y1), (x2 - pull, y2), (x2, y2)], 0.5)
    } else {
        // From the foot of the upper to the head of the lower.
        let (up, down) = if p.1 < q.1 { (p, q) } else { (q, p) };
        let shift = if centre(up) < centre(down) { 1.0 } else { -1.0 };
        // Labels are on the right of what comes down in the middle.
        let head = (centre(down) - down.2 / 4.0, down.1);
        let foot = (centre(up) + shift * up.2 / 4.0, up.1 + BOX);
        let mid = (foot.1 + head.1) / 2.0;
        ([foot, (foot.0, mid), (head.0, mid), head], 0.3 + 0.08 * turn)
    };
    let [s, c, d, e] = points.map(|(x, y)| format!("{} {}", Px(x), Px(y)));
    let path = if straight { format!("M{s}L{e}") } else { format!("M{s}C{c} {d} {e}") };
    let Some(busy) = busy else {
        tie(out, &path);
        return 0.0;
    };
    let hint = busy.hint();
    group(out, &format!("links.{}", busy.first), busy.links, &hint);
    line(out, &path, &busy, l.crosslink);
    out.push_str("</g>\n");
    let [k0, k1, k2, k3] = [
        (1.0 - at) * (1.0 - at) * (1.0 - at),
        3.0 * (1.0 - at) * (1.0 - at) * at,
        3.0 * (1.0 - at) * at * at,
        at * at * at,
    ];
    let on = |pick: fn((f64, f64)) -> f64| {
        k0 * pick(points[0]) + k1 * pick(points[1]) + k2 * pick(points[2]) + k3 * pick(points[3])
    };
    let below = if level && !straight { thick / 2.0 + 19.0 } else { 0.0 };
    let mid = (on(|p| p.0), on(|p| p.1) + below);
    // Along a level line toward the end on the right or left, else down and up.
    let arrows = match (level || l.crosslink, p.0 <= q.0) {
        (true, true) => ["→", "←"],
        (true, false) => ["←", "→"],
        (false, _) if p.1 < q.1 => UPRIGHT,
        (false, _) => ["↑", "↓"],
    };
    // On a straight line the label parts around it, otherwise it stands on white.
    let part = if straight { thick / 2.0 + 4.0 } else { 0.0 };
    let held = busy.held(arrows);
    let tall = if held.is_some() { 48.0 } else { 34.0 };
    put!(&mut *labels, "<g data-of=\"links.{}\"><title>{}</title>\n", escape(busy.first), escape(&hint));
    if !straight {
        put!(
            &mut *labels,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"#ffffff\" fill-opacity=\"0.92\"/>\n",
            Px(mid.0 - wide / 2.0),
            Px(mid.1 - 17.0),
            Px(wide),
            Px(tall)
        );
    }
    Pen::new(12.0, INK).middle().write(labels, mid.0, mid.1 - part - 3.0, &busy.speed());
    Pen::new(11.0, SOFT).middle().write_xml(labels, mid.0, mid.1 + part + 11.0, &busy.shares(arrows));
    if let Some(held) = held {
        Pen::new(11.0, ALARM).middle().write(labels, mid.0, mid.1 + part + 26.0, &held);
    }
    labels.push_str("</g>\n");
    mid.1 - 14.0 + tall
}

/// What colours, widths and frames mean.
fn legend(out: &mut String, (width, y): (f64, f64), sheet: &Sheet, [pcie, crosslinks, binds]: [bool; 3]) {
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
    for lanes in [1, 4, 16].into_iter().filter(|_| pcie) {
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
            "<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"13\" rx=\"4\" fill=\"#ffffff\" stroke=\"{ACCENT}\" \
                stroke-width=\"3\"/>\n",
            Px(x),
            Px(y - 6.5)
        );
        pen.write(out, x + 28.0, y + 4.0, "binds");
        x += 80.0;
    }
    if crosslinks {
        put!(
            &mut *out,
            "<path d=\"M{} {}h26\" stroke=\"#8796a5\" stroke-width=\"4\" stroke-dasharray=\"9 5\"/>\n",
            Px(x),
            Px(y)
        );
        pen.write(out, x + 32.0, y + 4.0, "crosslink");
        x += 96.0;
    }
    let several = |b: &Option<Busy>| b.as_ref().is_some_and(|b| b.links > 1);
    if sheet.links.iter().chain(&sheet.inside).any(several) {
        pen.write(out, x, y + 4.0, "×16: so many alike, least–most");
        x += 190.0;
    }
    let fed = |b: &Option<Busy>| b.as_ref().is_some_and(|b| b.fed());
    if sheet.links.iter().chain(&sheet.inside).any(fed) {
        pen.write(out, x, y + 4.0, "≥: without what channel adapters move");
    }
    out.push_str("</g>\n");
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answer, well_formed};
    use super::*;

    const TWO: &str = "title = \"two <nics> & \\\"one\\\" uplink\"\n\
        [parts.host]\nis = \"root-complex\"\n[parts.sw]\nis = \"switch\"\n[parts.nic]\nis = \"endpoint\"\ncount = \
        2\nrate = \"25 Gb/s\"\n\
        [links.uplink]\nbetween = [\"host\", \"sw.up\"]\npcie = \"gen3 x4\"\nmps = \"256 B\"\n\
        [links.slots]\nbetween = [\"sw.down.*\", \"nic.*\"]\npcie = \"gen3 x8\"\nmps = \"256 B\"\n\
        [flows.rx]\nfrom = \"nic.*\"\nto = \"host.memory\"\ndo = \"write\"\nsize = \"2 KiB\"\n";

    #[test]
    fn every_element_is_there_with_its_label() {
        let (plan, report) = answer(TWO);
        let svg = topology(&plan, &report, Method::Estimate);
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
        let svg = topology(&plan, &report, Method::Estimate);
        let at = svg.find("data-id=\"parts.nic.0\"").expect("it is drawn");
        let end = at + svg[at..].find("</g>").expect("a group ends");
        assert!(svg[at..end].contains(ACCENT), "{}", &svg[at..end]);
    }

    #[test]
    fn a_box_stands_above_what_hangs_below_it() {
        // Eight devices hang in a column below each switch, off the middle; the root complex is above its switch all
        // the same.
        let text = "[parts.rc]\nis = \"root-complex\"\ncount = 2\n[parts.sw]\nis = \"switch\"\ncount = 2\n\
            [parts.ssd]\nis = \"endpoint\"\ncount = 16\n\
            [links.up]\nbetween = [\"rc.*\", \"sw.*.up\"]\npcie = \"gen4 x16\"\n\
            [links.bay]\nbetween = [\"sw.*.down.*\", \"ssd.*\"]\npcie = \"gen3 x4\"\n";
        let (plan, _) = answer(text);
        let scene = Scene::new(&plan);
        let fold = fold(&scene);
        let layout = Layout::measure(&fold, &vec![Wish::default(); fold.cells.len()], 2, true);
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
        let svg = topology(&plan, &report, Method::Estimate);
        well_formed(&svg);
        assert!(svg.len() < 10_000 && svg.contains("nic.0–7999 ×8000") && svg.contains("data-count=\"8000\""));
    }

    #[test]
    fn a_crosslink_is_dashed() {
        let text = "[parts.rc]\nis = \"root-complex\"\n[parts.sw]\nis = \"switch\"\ncount = 2\n[parts.gpu]\nis = \
            \"endpoint\"\ncount = 2\n\
            [links.up]\nbetween = [\"rc\", \"sw.*.up\"]\npcie = \"gen4 x16\"\n[links.slot]\nbetween = [\"sw.*.down\", \
            \"gpu.*\"]\npcie = \"gen4 x16\"\n\
            [links.cross]\nbetween = [\"sw.0.down\", \"sw.1.down\"]\npcie = \"gen4 x8\"\ncrosslink = true\ncarries = \
            [\"gpu.0\"]\n\
            [flows.p2p]\nfrom = \"gpu.0\"\nto = \"gpu.1\"\ndo = \"write\"\nsize = \"4 KiB\"\n";
        let (plan, report) = answer(text);
        let svg = topology(&plan, &report, Method::Estimate);
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
        well_formed(&topology(&plan, &report, Method::Estimate));
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
