//! `compare`: a real instrument's result beside the answers for the same rows.
//!
//! Whose result it is shows in its text. That of an instrument of storage tells its load too, which then runs on the
//! machine ([`storage`]).

mod collective;
mod storage;

use super::instrument::On;
use super::page::Begin;
use super::simulate;
use crate::input;
use crate::{ANSWERED, NO_VALUE, Scenario, WRONG, output};
use clap::Args;
use lanescope::diagnostic::{Diagnostics, nearest};
use lanescope::estimate::estimate;
use lanescope::import;
use lanescope::mpi::benchmark::Version;
use lanescope::pens::compare::{Comparison, compare, points, text};
use lanescope::pens::instrument;
use lanescope::pens::{self, Paint};
use lanescope::plan::Plan;
use lanescope::plan::infiniband::JobFlow;
use lanescope::result::{Binding, ProgramReport};
use serde::Serialize;
use std::path::Path;

/// Bytes of a result at most; a run of all benchmarks prints some 100 KiB, fio's JSON with all bins some MiB.
const MAX_TABLE: usize = 64 << 20;
/// Parts of a table that a message or the last line names.
const LEFT_OUT: usize = 12;

/// A real result and a scenario.
#[derive(Args)]
pub(crate) struct Compare {
    /// What IMB, PMB, an OSU benchmark, nccl-tests or IOzone has printed, fio's JSON, or Iometer's CSV
    table: String,
    #[command(flatten)]
    pub(super) on: On,
    /// Of ranks: the flow to hold against it; without it all of them
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// Of storage: the volume that a file, a target or a job of the result stands for: --map /dev/sda=drive.0 (may be
    /// repeated). Without it they have the volumes in order
    #[arg(long = "map", value_name = "FILE=VOLUME", value_parser = super::instrument::pair, conflicts_with = "flow")]
    maps: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) page: super::page::Html,
}

/// A comparison with what binds.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    comparison: Comparison,
    flows: Vec<Bound>,
}

/// What binds a flow.
#[derive(Serialize)]
struct Bound {
    flow: String,
    title: String,
    estimate: Binding,
    simulated: Option<Binding>,
}

/// Whose result a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// IMB, PMB or OSU.
    Ranks,
    /// JSON of fio.
    Fio,
    /// What IOzone prints.
    Iozone,
    /// Iometer's CSV.
    Iometer,
    /// What nccl-tests print.
    Collective,
}

impl Kind {
    fn of(text: &str) -> Option<Kind> {
        let head = || text.lines().take(2000);
        if import::fio::json::is(text) {
            Some(Kind::Fio)
        } else if head().any(|l| l.trim_start_matches('\u{feff}').starts_with("'Test Type,")) {
            Some(Kind::Iometer)
        } else if import::nccl_tests::is(text) {
            Some(Kind::Collective)
        } else if head().any(|l| l.contains("# OSU ") || l.contains("# Benchmarking") || l.starts_with("#---")) {
            Some(Kind::Ranks)
        } else {
            import::iozone::is(text).then_some(Kind::Iozone)
        }
    }
}

/// What a text is not.
fn nobodys(file: &str, text: &str) -> Option<String> {
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
    let first: String = first.chars().map(|c| if c.is_control() { '?' } else { c }).take(60).collect();
    let none =
        "is none of these: a table of IMB, PMB, OSU or nccl-tests, JSON of fio, output of IOzone, CSV of Iometer";
    Some(match first.is_empty() {
        true => format!("{file} {none}: it is empty"),
        false => format!("{file} {none}: it begins with {first:?}"),
    })
}

pub(crate) fn main(a: &Compare) -> u8 {
    answer(a).unwrap_or_else(|e| {
        if let Some(e) = e {
            output::error(&e);
        }
        WRONG
    })
}

/// An error with nothing to say has been told.
fn answer(a: &Compare) -> Result<u8, Option<String>> {
    let text_of = input::limited_path(Path::new(&a.table), MAX_TABLE, "a table")?;
    let mut diagnostics = Diagnostics::default();
    let kind = Kind::of(&text_of).ok_or_else(|| nobodys(&a.table, &text_of))?;
    let source = diagnostics.add_source(a.table.clone(), text_of);
    if kind == Kind::Collective {
        return collective::beside(a, &mut diagnostics, source);
    }
    if kind != Kind::Ranks {
        return storage::answer(a, kind, diagnostics, source).map_err(|_| None);
    }
    let table = import::instrument(&mut diagnostics, source);
    output::diagnostics(&diagnostics);
    let real = points(&table.ok_or(None)?);
    let scenario = Scenario { file: a.on.machine.clone(), sets: a.on.how.sets.clone(), json: a.json, csv: false };
    let (mut plan, mut diagnostics) = crate::input::load(&scenario).map_err(|_| None)?;
    if a.on.how.full {
        plan.limits = plan.limits.whole();
    }
    plan.limits.seed = a.on.how.seed.unwrap_or(plan.limits.seed);
    let chosen = chosen(&plan, a.flow.as_deref())?;
    let mut report = estimate(&plan, &diagnostics);
    if !a.on.how.estimate {
        match simulate::quietly(&plan, plan.limits.seed, &mut diagnostics) {
            Some(simulation) => report = report.with(simulation),
            None => simulate::not_simulated(&diagnostics),
        }
    }
    let answers = |program: Option<&ProgramReport>| {
        let table = program.and_then(|p| instrument::table(p, Version::default()));
        table.map_or_else(Vec::new, |t| points(&t))
    };
    let (mut estimated, mut simulated, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    for (i, f) in report.flows.iter().enumerate().filter(|(_, f)| chosen.iter().any(|j| j.name == f.name)) {
        let s = report.simulation.as_ref().and_then(|s| s.flows.get(i));
        estimated.extend(answers(f.programs.first().filter(|_| f.share.typical > 0.0)));
        simulated.extend(answers(s.and_then(|s| s.program.as_ref())));
        flows.push(Bound {
            flow: f.name.clone(),
            title: f.programs.first().map_or_else(String::new, |p| p.title.clone()),
            estimate: f.bound_by.clone(),
            simulated: s.map(|s| s.bound_by.clone()),
        });
    }
    let comparison = compare(&real, &estimated, &simulated);
    if comparison.rows.is_empty() {
        return Err(Some(no_rows(a, &real, &flows)));
    }
    let printed = comparison.clone();
    let sections = || {
        let mut all =
            vec![pens::page::printed("comparison", "Measured beside the answers", &text(&printed, Paint::default()))];
        all.extend(super::page::sections(&a.page, &plan, &report));
        all
    };
    let begin = || Begin::of(&a.on.machine, &a.on.how.sets, a.on.how.full);
    super::page::write(&a.page, &report.title, sections, begin, Some(&report)).map_err(Some)?;
    if a.json {
        output::json(&Answer { comparison, flows });
        return Ok(ANSWERED);
    }
    let paint = output::paint();
    let mut short = comparison.clone();
    let more = short.left_out.len().saturating_sub(LEFT_OUT);
    short.left_out.truncate(LEFT_OUT);
    if let (Some(last), true) = (short.left_out.last_mut(), more > 0) {
        last.push_str(&format!(" and {more} more"));
    }
    let mut out = text(&short, paint);
    for f in &flows {
        let by = |b: &Binding| format!("{} ({})", b.words(), b.evidence);
        out += &format!("{}{}{}    {}\n  bound by   {}\n", paint.strong, f.flow, paint.off, f.title, by(&f.estimate));
        if let Some(s) = f.simulated.as_ref().filter(|s| **s != f.estimate) {
            out += &format!("  simulated  bound by {}\n", by(s));
        }
    }
    output::print(&out);
    let complete = a.on.how.estimate || report.simulation.is_some();
    Ok(if complete { ANSWERED } else { NO_VALUE })
}

/// The flows of ranks that are asked for.
fn chosen<'a>(plan: &'a Plan, flow: Option<&str>) -> Result<Vec<&'a JobFlow>, String> {
    let jobs = &plan.cluster.jobs;
    if jobs.is_empty() {
        return Err("the scenario has no flow of ranks: [flows.x] do = \"mpi\", benchmark = \"imb PingPong\"".into());
    }
    let Some(flow) = flow else { return Ok(jobs.iter().collect()) };
    let names = || jobs.iter().map(|j| j.name.as_str());
    let found: Vec<&JobFlow> = jobs.iter().filter(|j| j.name == flow).collect();
    if found.is_empty() {
        let near = nearest(flow, names()).map_or(String::new(), |n| format!("; did you mean {n}?"));
        let all = names().take(16).collect::<Vec<_>>().join(", ");
        return Err(format!("there is no flow of ranks {flow:?}{near} (there are {all})"));
    }
    Ok(found)
}

/// Why nothing stands beside the real rows.
fn no_rows(a: &Compare, real: &[lanescope::pens::compare::Point], flows: &[Bound]) -> String {
    let mut names: Vec<String> =
        (real.iter()).map(|p| p.ranks.map_or(p.name.clone(), |n| format!("{}, {n} ranks", p.name))).collect();
    names.dedup();
    names.truncate(LEFT_OUT);
    let ours: Vec<&str> = flows.iter().map(|f| f.title.as_str()).collect();
    format!(
        "no row of {} has an answer: it has {}; the scenario runs {}, whose names, ranks and sizes must be the same: \
         run what was measured, by --set flows.{}.benchmark=osu_bw or \"imb PingPong\", and so on",
        a.table,
        if names.is_empty() { "none that can be compared".into() } else { names.join("; ") },
        ours.join("; "),
        flows.first().map_or("NAME", |f| f.flow.as_str())
    )
}
