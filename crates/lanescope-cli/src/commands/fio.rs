//! `fio`: a job file on a simulated machine, and its results in fio's own form.

use super::instrument::{self, Answered, On};
use crate::output::wrong;
use crate::{ANSWERED, WRONG, input, output};
use clap::{Args, ValueEnum};
use lanescope::diagnostic::Diagnostics;
use lanescope::import::fio::{self, JobFile, Run};
use lanescope::pens::fio as pen;
use lanescope::pens::ios::{Came, came};
use lanescope::pens::{Grid, Paint};
use lanescope::result::Report;
use lanescope::units::{digits, human_time};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of a job file at most.
pub(crate) const MAX_JOBS: usize = 1 << 20;

/// Whose form results have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a person
    Normal,
    /// fio's JSON, as of version 3.33
    Json,
    /// The same with all bins of latencies
    #[value(name = "json+")]
    Plus,
}

/// Jobs of fio on a machine.
#[derive(Args)]
pub(crate) struct Fio {
    /// The job file
    jobs: String,
    #[command(flatten)]
    on: On,
    /// Form of the results
    #[arg(long, value_name = "FORM", default_value = "normal")]
    output_format: Form,
    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The volume that a file of the jobs stands for, by its name, its folder or a job's name: --map /dev/sda=drive.0
    /// (may be repeated). Without it the files have the volumes in order
    #[arg(long = "map", value_name = "FILE=VOLUME", value_parser = instrument::pair)]
    maps: Vec<(String, String)>,
    /// Pass over options that fio does not have
    #[arg(long)]
    tolerant: bool,
    /// Print the scenario of each run, and run nothing
    #[arg(long)]
    show: bool,
    /// Print the reports of all runs as JSON
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
}

/// A run as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    title: &'a str,
    jobs: Vec<Line<'a>>,
    report: &'a Report,
}

/// What a job came to.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    #[serde(flatten)]
    came: Came,
}

pub(crate) fn main(a: &Fio) -> u8 {
    answer(a).unwrap_or_else(|code| code)
}

/// Reads a job file; what it includes lies beside it.
fn read(a: &Fio, diagnostics: &mut Diagnostics) -> Result<JobFile, u8> {
    let text = input::limited_path(Path::new(&a.jobs), MAX_JOBS, "jobs").map_err(|e| wrong(&e))?;
    let source = diagnostics.add_source(a.jobs.clone(), text);
    let folder = Path::new(&a.jobs).parent().unwrap_or(Path::new("")).to_owned();
    let mut beside = |name: &str| input::limited_path(&folder.join(name), MAX_JOBS, "jobs");
    fio::job::read(diagnostics, source, a.tolerant, &mut beside).ok_or_else(|| {
        output::diagnostics(diagnostics);
        WRONG
    })
}

fn answer(a: &Fio) -> Result<u8, u8> {
    if a.on.how.estimate && a.output_format != Form::Normal {
        return Err(wrong("--estimate counts no I/Os, and fio's JSON is what was counted; --json has the estimate"));
    }
    let mut diagnostics = Diagnostics::default();
    let file = read(a, &mut diagnostics)?;
    let machine = a.on.machine()?;
    let runs = fio::runs(&mut diagnostics, &file, &machine, &a.maps, a.on.how.full);
    output::diagnostics(&diagnostics);
    let runs = runs.ok_or(WRONG)?;
    if a.show {
        runs.iter().for_each(|r| output::print(&(a.on.scenario(&r.test) + "\n")));
        return Ok(ANSWERED);
    }
    let tests: Vec<_> = runs.iter().map(|r| r.test.clone()).collect();
    let mut done: Vec<(usize, Answered)> = Vec::new();
    let code = a.on.run(&tests, |i, answered| done.push((i, answered)));
    let text = match (a.json, a.output_format) {
        (true, _) => json(&file, &runs, &done)?,
        (_, Form::Normal) => normal(a, &file, &runs, &done),
        (_, form) => pen::json(&results(&file, &runs, &done), form == Form::Plus),
    };
    match &a.output {
        Some(path) => std::fs::write(path, text).map_err(|e| wrong(&format!("{}: {e}", path.display())))?,
        None => output::print(&text),
    }
    Ok(code)
}

fn results(file: &JobFile, runs: &[Run], done: &[(usize, Answered)]) -> fio::Output {
    let counted: Vec<_> =
        (done.iter()).filter_map(|(i, answered)| Some((&runs[*i], answered.report.simulation.as_ref()?))).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    pen::output(file, &counted, now)
}

/// What the jobs of a run came to, all clones together, by their place in the file.
pub(crate) fn lines(run: &Run, answered: &Answered) -> Vec<(usize, Came)> {
    let mut all: Vec<(usize, Came)> = Vec::new();
    for thread in &run.threads {
        let Some(came) = came(&answered.plan, &answered.report, &thread.flow) else { continue };
        match all.last_mut().filter(|(job, _)| *job == thread.job) {
            Some((_, sum)) => *sum = sum.plus(&came),
            None => all.push((thread.job, came)),
        }
    }
    all
}

fn json(file: &JobFile, runs: &[Run], done: &[(usize, Answered)]) -> Result<String, u8> {
    let shown: Vec<Shown> = done
        .iter()
        .map(|(i, answered)| Shown {
            title: &runs[*i].test.title,
            jobs: lines(&runs[*i], answered)
                .into_iter()
                .map(|(job, came)| Line { name: &file.jobs[job].name, came })
                .collect(),
            report: &answered.report,
        })
        .collect();
    serde_json::to_string_pretty(&shown).map(|t| t + "\n").map_err(|e| wrong(&e.to_string()))
}

/// fio's blocks, then what was worked out beside what was simulated, and what binds.
fn normal(a: &Fio, file: &JobFile, runs: &[Run], done: &[(usize, Answered)]) -> String {
    let paint = if a.output.is_some() { Paint::default() } else { output::paint() };
    let mut out = pen::text(&results(file, runs, done), paint);
    if !out.is_empty() {
        out.push('\n');
    }
    let heads = ["job", "", "estimate", "MB/s", "latency", "simulated", "MB/s", "latency", "bound by"];
    let mut grid = Grid { head: heads.map(str::to_owned).to_vec(), rows: Vec::new() };
    for (i, answered) in done {
        for (job, came) in lines(&runs[*i], answered) {
            for (side, word) in ["read", "write", "trim"].into_iter().enumerate() {
                let estimate = came.estimate[side];
                let simulated = came.simulated.map(|s| s[side]);
                if estimate.per_second <= 0.0 && simulated.is_none_or(|s| s.per_second <= 0.0) {
                    continue;
                }
                let numbers = |ios: Option<lanescope::pens::ios::Ios>| match ios {
                    Some(i) => [format!("{} IOPS", digits(i.per_second)), digits(i.rate / 1e6), human_time(i.latency)],
                    None => ["-".to_owned(), "-".to_owned(), "-".to_owned()],
                };
                let mut row = vec![file.jobs[job].name.clone(), word.to_owned()];
                row.extend(numbers(Some(estimate)));
                row.extend(numbers(simulated));
                row.push(came.bound_by().words());
                grid.rows.push(row);
            }
        }
    }
    out + &lanescope_front::draw::table(&grid)
}
