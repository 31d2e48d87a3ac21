//! `check`, `plan`, `estimate`, `simulate`, `run`: one scenario, or a grid of them.

use super::page::{self, Begin};
use super::simulate;
use crate::input::{self, Files, load};
use crate::{ANSWERED, Answer, NO_VALUE, Scenario, Simulate, WRONG, interrupt, output};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lanescope::Base;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::pens::chart::{Chart, Series};
use lanescope::pens::svg::Method;
use lanescope::pens::{self, Grid};
use lanescope::plan::Plan;
use lanescope::plan::gpu::GpuCluster;
use lanescope::result::{Ending, FlowReport, Note, ProgramReport, Report, SimulatedFlow, Verdict};
use lanescope::scenario::gpu;
use lanescope::scenario::quantity::{Confidence, Origin};
use lanescope::units::{digits, human_rate, human_time};
use lanescope_front::pictures;
use lanescope_front::planned::{self, Planned};
use lanescope_front::vary::{self, Axis, position};
use rayon::prelude::*;
use serde_json::json;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::Sender;

pub(crate) fn check(a: &Scenario) -> u8 {
    if a.json || a.csv {
        let included = match input::scenario(&a.file) {
            Ok(i) => i,
            Err(e) => {
                output::error(&e);
                return WRONG;
            }
        };
        let mut diagnostics = Diagnostics::default();
        let valid = match gpu::is_cluster(&included.text) {
            true => GpuCluster::corners(&mut diagnostics, included, &a.sets).is_some(),
            false => lanescope::plan(&mut diagnostics, included, &a.sets, &Files).is_some(),
        };
        let found: Vec<_> =
            diagnostics.sorted().into_iter().map(|d| (d, d.span.map(|s| diagnostics.place(s)))).collect();
        if a.csv {
            let head = ["severity", "file", "line", "column", "message", "label", "hint"].map(String::from).to_vec();
            let rows = found.iter().map(|(d, place)| {
                let (file, line, column) =
                    place.clone().map_or_else(Default::default, |(f, l, c)| (f, l.to_string(), c.to_string()));
                let severity = format!("{:?}", d.severity).to_lowercase();
                vec![
                    severity,
                    file,
                    line,
                    column,
                    d.message.clone(),
                    d.label.clone(),
                    d.hint.clone().unwrap_or_default(),
                ]
            });
            output::csv(&Grid { head, rows: rows.collect() });
        } else {
            let list: Vec<_> = found
                .iter()
                .map(|(d, place)| {
                    let at = place.as_ref();
                    json!({
                        "severity": d.severity, "message": d.message, "label": d.label, "hint": d.hint,
                        "file": at.map(|p| &p.0), "line": at.map(|p| &p.1), "column": at.map(|p| &p.2),
                    })
                })
                .collect();
            output::json(&json!({ "valid": valid, "diagnostics": list }));
        }
        return if valid { ANSWERED } else { WRONG };
    }
    match input::cluster(a) {
        Some(Err(code)) => return code,
        Some(Ok(c)) => {
            output::print(&format!("{}: {} nodes of {} GPUs and {} NICs\n", a.file, c.nodes, c.gpus, c.nics));
            return ANSWERED;
        }
        None => {}
    }
    match load(a) {
        Ok((plan, diagnostics)) => {
            let n = diagnostics.warnings().len();
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let warnings = if n == 0 { String::new() } else { format!(", {}", count(n, "warning")) };
            let (network, cluster) = (&plan.network, &plan.cluster);
            let switches = network.switches().count();
            let kinds = match network.is_empty() {
                true => String::new(),
                false => format!(" ({} stations, {switches} Ethernet switches)", network.nodes.len() - switches),
            };
            let parts = plan.parts.len()
                + network.nodes.len()
                + plan.buses.bridges.len()
                + plan.buses.devices.len()
                + plan.storage.targets.len()
                + plan.storage.arrays.len()
                + alone(&plan)
                + cluster.switches.len();
            let links = plan.links.len()
                + network.links.len()
                + plan.buses.buses.len()
                + plan.storage.transports.len()
                + cluster.links.len();
            let flows = plan.flow_groups().iter().map(|g| g.members.len()).sum::<usize>();
            let (parts, links, flows) = (count(parts, "part"), count(links, "link"), count(flows, "flow"));
            output::print(&format!("{}: {parts}{kinds}, {links}, {flows}{warnings}\n", a.file));
            ANSWERED
        }
        Err(code) => code,
    }
}

/// Channel adapters that are nothing else in the plan: neither on a bus nor stations.
fn alone(plan: &Plan) -> usize {
    let cluster = &plan.cluster;
    let station = |a: usize| cluster.endpoints.iter().any(|e| e.adapter as usize == a && e.station.is_some());
    cluster.adapters.iter().enumerate().filter(|(i, a)| a.host.is_none() && !station(*i)).count()
}

pub(crate) fn plan(a: &Scenario) -> u8 {
    let (all, json) = match input::cluster(a) {
        Some(Err(code)) => return code,
        Some(Ok(c)) => {
            let all = planned::cluster(&c);
            let json = all.json(&c.title);
            (all, json)
        }
        None => match load(a) {
            Ok((plan, _)) => (planned::planned(&plan), planned::json(&plan)),
            Err(code) => return code,
        },
    };
    if a.json {
        output::json(&json);
        return ANSWERED;
    }
    let Planned { settings, routes, .. } = all;
    let head = ["thing", "key", "value", "slower", "faster", "origin", "confidence", "default", "source"]
        .map(String::from)
        .to_vec();
    let word = |o: Origin, c: Confidence| (format!("{o:?}").to_lowercase(), format!("{c:?}").to_lowercase());
    if a.csv {
        let rows = settings.iter().flat_map(|(name, list)| list.iter().map(move |s| (name, s)));
        let rows = rows.map(|(name, s)| {
            let (origin, confidence) = word(s.origin, s.confidence);
            let (slow, fast) = s.range.clone().unwrap_or_default();
            vec![
                name.clone(),
                s.key.to_owned(),
                s.value.clone(),
                slow,
                fast,
                origin,
                confidence,
                s.default.to_string(),
                s.source.to_string(),
            ]
        });
        output::csv(&Grid { head, rows: rows.collect() });
        return ANSWERED;
    }
    let paint = output::paint();
    let mut out = String::new();
    for (name, list) in &settings {
        out += &format!("{}{name}{}\n", paint.strong, paint.off);
        for s in list {
            let (origin, confidence) = word(s.origin, s.confidence);
            let range = s.range.as_ref().map_or(String::new(), |(slow, fast)| format!(" ({slow} … {fast})"));
            let default = if s.default { ", default" } else { "" };
            let why = if s.source.is_empty() { String::new() } else { format!(": {}", s.source) };
            out += &format!(
                "  {:<22} {:<28} {}{origin}, {confidence}{default}{why}{}\n",
                s.key,
                format!("{}{range}", s.value),
                paint.faint,
                paint.off
            );
        }
    }
    for (flow, route) in routes {
        out += &format!("{}{flow}{}  {route}\n", paint.strong, paint.off);
    }
    output::print(&out);
    ANSWERED
}

/// `estimate`.
pub(crate) fn estimate_only(a: &Answer) -> u8 {
    if !a.vary.is_empty() {
        return grid(a, &a.scenario.sets, false);
    }
    match load(&a.scenario) {
        Ok((plan, diagnostics)) => answer(a, &plan, &estimate(&plan, &diagnostics), &[Method::Estimate], false),
        Err(code) => code,
    }
}

/// `run` and `simulate`: the estimate is always worked out, to hold the simulation against. `must` says that there is
/// no answer without a simulation.
pub(crate) fn run(a: &Simulate, must: bool) -> u8 {
    let scenario = Scenario { sets: simulate::sets(a), ..a.answer.scenario.clone() };
    let answered = &Answer { scenario, ..a.answer.clone() };
    if !answered.vary.is_empty() {
        return grid(answered, &answered.scenario.sets, true);
    }
    let (mut plan, mut diagnostics) = match load(&answered.scenario) {
        Ok(p) => p,
        Err(code) => return code,
    };
    if a.full {
        plan.limits = plan.limits.whole();
    }
    let mut report = estimate(&plan, &diagnostics);
    let (form, planned, finished) = (answered.clone(), plan.clone(), report.clone());
    let full = a.full;
    interrupt::otherwise(move || _ = answer(&form, &planned, &finished, &[Method::Estimate], full));
    if !report.flows.is_empty() {
        match simulate::simulate(a, &plan, &report, &mut diagnostics) {
            Ok(Some(simulation)) => report = report.with(simulation),
            Ok(None) if must => {
                output::diagnostics(&diagnostics);
                return WRONG;
            }
            Ok(None) => simulate::not_simulated(&diagnostics),
            Err(e) => {
                output::error(&e);
                return WRONG;
            }
        }
    }
    let methods: &[Method] = match (&report.simulation, must) {
        (None, _) => &[Method::Estimate],
        (Some(_), true) => &[Method::Simulation],
        (Some(_), false) => &[Method::Simulation, Method::Estimate],
    };
    answer(answered, &plan, &report, methods, a.full)
}

/// Prints a report in the form asked for, and draws what the methods asked for gave.
fn answer(a: &Answer, plan: &Plan, report: &Report, methods: &[Method], full: bool) -> u8 {
    if a.scenario.json {
        output::json(report);
    } else if let Some(layout) = a.table {
        match super::tables::tables(plan, report, layout) {
            Ok(text) => output::print(&text),
            Err(e) => {
                output::error(&e);
                return WRONG;
            }
        }
    } else if a.scenario.csv {
        output::csv(&match (&report.simulation, a.links) {
            _ if a.rows => pens::rows_grid(report),
            (Some(s), true) => pens::slots_grid(s),
            (None, true) => pens::links_grid(report),
            _ => pens::flows_grid(report),
        });
    } else if report.flows.is_empty() {
        output::print("no flows: nothing to answer; lanescope plan shows what is there\n");
    } else {
        output::print(&pens::text::report(report, output::paint(), a.all_links));
    }
    if let Some(dir) = &a.svg
        && let Err(e) = output::pictures(dir, &pictures(plan, report, methods))
    {
        output::error(&e);
        return WRONG;
    }
    let begin = || Begin::of(&a.scenario.file, &a.scenario.sets, full);
    if let Err(e) = page::write(&a.page, &report.title, || page::sections(&a.page, plan, report), begin, Some(report)) {
        output::error(&e);
        return WRONG;
    }
    verdict(report)
}

/// Exit code of a report: every flow has a value and can be carried.
fn verdict(report: &Report) -> u8 {
    // Ranks that only compute, or exchange within a node, move nothing over links, and are done.
    let trouble = |name: &str| report.warnings.iter().any(|w| w.starts_with(&format!("flows.{name}: ")));
    let done = |p: &ProgramReport| p.time > 0.0;
    let moves = |f: &FlowReport| f.share.typical > 0.0 || f.programs.first().is_some_and(done) && !trouble(&f.name);
    let fine = report.flows.iter().all(|f| f.verdict == Verdict::Stable && moves(f));
    let simulated = report.simulation.as_ref().is_none_or(|s| {
        let blocked = matches!(s.ending, Ending::Deadlock { .. } | Ending::Stall { .. } | Ending::Fault { .. });
        // What is sent again and again without an end is delivered in part, and never done.
        let endless = |f: &SimulatedFlow| {
            let on = |n: &Note| n.mechanism == "livelock" && n.element == format!("flows.{}", f.name);
            f.operations == 0 && report.notes.iter().any(on)
        };
        let ended = |f: &SimulatedFlow| s.ending == Ending::Finished && f.program.as_ref().is_some_and(done);
        let computed = |f: &SimulatedFlow| f.program.as_ref().is_some_and(|p| p.messages == 0 && done(p));
        let moves = |f: &SimulatedFlow| f.rate.mean > 0.0 && !endless(f) || ended(f) || computed(f);
        !blocked && s.flows.iter().all(|f| !f.unstable && moves(f))
    });
    if fine && simulated && !report.flows.is_empty() { ANSWERED } else { NO_VALUE }
}

/// A grid of runs on all cores; Ctrl-C keeps what is done.
fn grid(a: &Answer, sets: &[String], simulated: bool) -> u8 {
    let axes: Result<Vec<Axis>, String> = a.vary.iter().map(|v| vary::axis(v)).collect();
    let (axes, points) = match axes.and_then(|axes| vary::points(&axes).map(|p| (axes, p))) {
        Ok(x) => x,
        Err(e) => {
            output::error(&e);
            return WRONG;
        }
    };
    let included = match input::scenario(&a.scenario.file) {
        Ok(i) => i,
        Err(e) => {
            output::error(&e);
            return WRONG;
        }
    };
    let target = if std::io::stderr().is_terminal() && (simulated || points.len() > 100) {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(points.len() as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left") {
        bar.set_style(style);
    }
    let asked = Arc::new((axes, points));
    let (all, own) = (asked.clone(), sets.to_vec());
    let one = move |base: &mut Base, point: &Vec<String>| -> Result<Report, Diagnostics> {
        let mut sets = own.clone();
        sets.extend(all.0.iter().zip(point).map(|(axis, value)| format!("{}={value}", axis.path)));
        let mut diagnostics = Diagnostics::default();
        let plan = base.plan(&mut diagnostics, &sets, &Files);
        let report = plan.map(|p| {
            let report = estimate(&p, &diagnostics);
            // A point that cannot be simulated has its estimate.
            let simulation =
                simulated.then(|| simulate::quietly(&p, p.limits.seed, &mut Diagnostics::default())).flatten();
            simulation.into_iter().fold(report, Report::with)
        });
        report.ok_or(diagnostics)
    };
    let all = asked.clone();
    // Estimates take less than handing them out one by one.
    let least = if simulated { 1 } else { 16 };
    let work = move |send: Sender<_>| {
        let begin = || (send.clone(), Base::new(included.clone()));
        all.1.par_iter().enumerate().with_min_len(least).for_each_init(begin, |(send, base), (i, point)| {
            if !interrupt::stopped() {
                let _ = send.send((i, one(base, point)));
            }
        });
    };
    let (axes, points) = &*asked;
    let mut results: Vec<Option<Result<Report, Diagnostics>>> = points.iter().map(|_| None).collect();
    interrupt::gather(work, |(i, result)| {
        results[i] = Some(result);
        bar.inc(1);
    });
    bar.finish_and_clear();
    let mut done = Vec::new();
    for (point, result) in points.iter().zip(results) {
        match result {
            None => {}
            Some(Ok(report)) => done.push((point, report)),
            Some(Err(diagnostics)) => {
                output::error(&format!(
                    "--vary {}",
                    axes.iter().zip(point).map(|(a, v)| format!("{}={v}", a.path)).collect::<Vec<_>>().join(" ")
                ));
                output::diagnostics(&diagnostics);
                return WRONG;
            }
        }
    }
    let not = done.iter().filter(|(_, r)| simulated && r.simulation.is_none()).count();
    if not > 0 {
        crate::output::say!("note: {not} of {} points cannot be simulated; lanescope simulate says why", done.len());
    }
    if interrupt::stopped() {
        crate::output::say!("stopped: {} of {} runs are done", done.len(), points.len());
    }
    if a.scenario.json {
        let list: Vec<_> = done
            .iter()
            .map(|(point, report)| {
                let set: serde_json::Map<_, _> =
                    axes.iter().zip(*point).map(|(a, v)| (a.path.clone(), json!(v))).collect();
                json!({ "set": set, "report": report })
            })
            .collect();
        output::json(&list);
    } else {
        let table = sweep(axes, &done, a.scenario.csv);
        if a.scenario.csv { output::csv(&table) } else { output::table(&table) }
    }
    if let Err(e) = drawn(a, sets, axes, &done) {
        output::error(&e);
        return WRONG;
    }
    done.iter().map(|(_, r)| verdict(r)).max().unwrap_or(NO_VALUE)
}

/// The curves and the page of a grid, where they are asked for.
fn drawn(a: &Answer, sets: &[String], axes: &[Axis], done: &[(&Vec<String>, Report)]) -> Result<(), String> {
    if let Some(dir) = &a.svg {
        output::pictures(dir, &curves(axes, done)?)?;
    }
    let sections = || {
        let mut all = vec![pens::page::grid("sweep", "Sweep", &sweep(axes, done, false))];
        // A grid over words has no curves.
        if let Ok(pictures) = curves(axes, done) {
            all.push(pens::page::pictures("curves", "Curves", &pictures));
        }
        all.push(pens::page::grid("numbers", "All digits", &sweep(axes, done, true)));
        all
    };
    let title = done.first().map_or("", |(_, r)| r.title.as_str());
    page::write(&a.page, title, sections, || Begin::of(&a.scenario.file, sets, false), None)
}

/// Whether a flow is one of I/Os that were simulated.
fn ios(done: &[(&Vec<String>, Report)], flow: &str) -> bool {
    let of =
        |r: &Report| r.simulation.as_ref().is_some_and(|s| s.flows.iter().any(|f| f.name == flow && f.ios.is_some()));
    done.iter().any(|(_, r)| of(r))
}

/// Columns of a flow of ranks: its time, and of a program with one row that row.
fn program_heads(program: &ProgramReport, simulated: bool, machine: bool) -> Vec<String> {
    let mut words = vec![if machine { "time_s" } else { "time" }];
    if let [row] = program.rows.as_slice() {
        words.push(if machine { "t_s" } else { "t" });
        if row.rate.is_some() {
            words.push(if machine { "rate_bytes_per_s" } else { "MB/s" });
        }
    }
    let mut heads: Vec<String> = words.iter().map(|w| format!("{} {w}", program.flow)).collect();
    heads.push(format!("{} bound by", program.flow));
    if simulated {
        let method = if machine { "simulated_" } else { "simulated " };
        heads.extend(words.iter().map(|w| format!("{} {method}{w}", program.flow)));
    }
    heads
}

/// What stands under [`program_heads`] of the first report.
fn program_cells(report: &Report, flow: usize, first: &ProgramReport, simulated: bool, machine: bool) -> Vec<String> {
    let time = |t: f64| if machine { t.to_string() } else { human_time(t) };
    let cells = |program: Option<&ProgramReport>| {
        let mut all = vec![program.map_or("-".to_owned(), |p| time(p.time))];
        if let [one] = first.rows.as_slice() {
            let row = program.and_then(|p| p.rows.first());
            all.push(row.map_or("-".to_owned(), |r| time(r.t_max)));
            if one.rate.is_some() {
                let rate = |r: f64| if machine { r.to_string() } else { digits(r / 1e6) };
                all.push(row.and_then(|r| r.rate).map_or("-".to_owned(), rate));
            }
        }
        all
    };
    let f = &report.flows[flow];
    let mut all = cells(f.programs.first());
    all.push(f.bound_by.words());
    if simulated {
        let s = report.simulation.as_ref();
        let mut values = cells(s.and_then(|s| s.flows.get(flow)?.program.as_ref()));
        if let Some(s) = s.filter(|s| s.ending != Ending::Finished) {
            values[0] = format!("{} ({})", values[0], s.ending.name());
        }
        all.extend(values);
    }
    all
}

fn sweep(axes: &[Axis], done: &[(&Vec<String>, Report)], machine: bool) -> Grid {
    let mut head: Vec<String> = axes.iter().map(|a| a.path.clone()).collect();
    let show = |bits: f64| if machine { bits.to_string() } else { human_rate(bits) };
    let unit = if machine { "_bps" } else { "" };
    for flow in done.first().map(|(_, r)| r.flows.as_slice()).unwrap_or_default() {
        if let Some(program) = flow.programs.first() {
            head.extend(program_heads(program, done.iter().any(|(_, r)| r.simulation.is_some()), machine));
            continue;
        }
        head.extend([
            format!("{} share{unit}", flow.name),
            format!("{} bound{unit}", flow.name),
            format!("{} bound by", flow.name),
        ]);
        if done.iter().any(|(_, r)| r.simulation.is_some()) {
            head.push(format!("{} simulated{unit}", flow.name));
        }
        if ios(done, &flow.name) {
            let [count, time] =
                if machine { ["ios_per_s", "simulated_latency_s"] } else { ["I/Os a second", "latency"] };
            head.extend([format!("{} {count}", flow.name), format!("{} {time}", flow.name)]);
        }
    }
    let rows = done.iter().map(|(point, report)| {
        let mut row: Vec<String> = (*point).clone();
        for (i, f) in report.flows.iter().enumerate() {
            let by = f.bound_by.words();
            if let Some(first) = done.first().and_then(|(_, r)| r.flows.get(i)?.programs.first()) {
                let many = done.iter().any(|(_, r)| r.simulation.is_some());
                row.extend(program_cells(report, i, first, many, machine));
                continue;
            }
            let by = if f.verdict == Verdict::Unstable { format!("{by} (unstable)") } else { by };
            row.extend([show(f.share.typical), show(f.bound.typical), by]);
            if done.iter().any(|(_, r)| r.simulation.is_some()) {
                row.push(report.simulation.as_ref().map_or("-".to_owned(), |s| match &s.ending {
                    Ending::Deadlock { .. } | Ending::Stall { .. } | Ending::Fault { .. } => s.ending.name().to_owned(),
                    _ => s.flows.get(i).map_or("-".to_owned(), |f| {
                        let unstable = if f.unstable { " (unstable)" } else { "" };
                        format!("{}{unstable}", show(f.rate.mean))
                    }),
                }));
            }
            if ios(done, &f.name) {
                let s = report.simulation.as_ref().and_then(|s| s.flows.get(i)).filter(|s| s.operations > 0);
                let of = |s: &SimulatedFlow| {
                    let per_second = s.ios.as_ref().map_or(0.0, |ios| ios.per_second);
                    match machine {
                        true => [per_second, s.latency.mean].map(|v| v.to_string()),
                        false => [digits(per_second), human_time(s.latency.mean)],
                    }
                };
                row.extend(s.map_or(["-", "-"].map(String::from), of));
            }
        }
        row
    });
    Grid { head, rows: rows.collect() }
}

/// Pictures of the shares, and of the times of message programs, against the last axis, when its values are numbers;
/// the other axes give the lines.
fn curves(axes: &[Axis], done: &[(&Vec<String>, Report)]) -> Result<Vec<(String, String)>, String> {
    let last = axes.len() - 1;
    let both = done.iter().any(|(_, r)| r.simulation.is_some());
    let (mut shares, mut times): (Vec<Series>, Vec<Series>) = (Vec::new(), Vec::new());
    let mut words = axes[last].path.clone();
    for (point, report) in done {
        let Some((x, unit)) = position(&point[last]) else {
            return Err(format!("--svg: the values of {} are not numbers, so there is no curve", axes[last].path));
        };
        words = format!("{}{unit}", axes[last].path);
        let others: Vec<String> = axes[..last].iter().zip(*point).map(|(a, v)| format!("{}={v}", a.path)).collect();
        let add = |series: &mut Vec<Series>, name: String, y: f64| match series.iter_mut().find(|s| s.name == name) {
            Some(s) => s.points.push((x, y)),
            None => series.push(Series { name, points: vec![(x, y)] }),
        };
        for (i, f) in report.flows.iter().enumerate() {
            let name = [std::slice::from_ref(&f.name), others.as_slice()].concat().join(" ");
            let s = report.simulation.as_ref().and_then(|s| s.flows.get(i));
            // Where any point was simulated, each curve says whose it is.
            let simulated = format!("{name} simulated");
            let name = if both { format!("{name} estimated") } else { name };
            // Of a program with one row, that row's time.
            let time = |p: &ProgramReport| if let [row] = p.rows.as_slice() { row.t_max * 1e6 } else { p.time * 1e6 };
            match f.programs.first() {
                Some(program) => {
                    if let Some(program) = s.and_then(|s| s.program.as_ref()) {
                        add(&mut times, simulated, time(program));
                    }
                    add(&mut times, name, time(program));
                }
                None => {
                    if let Some(s) = s {
                        add(&mut shares, simulated, s.rate.mean / 1e9);
                    }
                    add(&mut shares, name, f.share.typical / 1e9);
                }
            }
        }
    }
    let bytes = axes[last].values.iter().all(|v| lanescope::units::Bytes::parse(v.trim_matches('"')).is_ok());
    let mut pictures = Vec::new();
    for (series, file, what, y) in [(shares, "curve", "share", "Gb/s of payload"), (times, "time", "time", "us")] {
        if series.is_empty() {
            continue;
        }
        let xs: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        let (low, high) = xs.iter().fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
        let chart = Chart {
            title: &format!("{what} against {}", axes[last].path),
            x: &words,
            y,
            log_x: low > 0.0 && high / low >= 8.0,
            x_unit_bytes: bytes,
            series: &series,
        };
        pictures.push((file.to_owned(), chart.svg()));
    }
    Ok(pictures)
}
