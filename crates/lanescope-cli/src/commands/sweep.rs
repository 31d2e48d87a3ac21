//! `sweep`: a grid of any size into a folder of Parquet, which any number of processes fill and a killed one goes on
//! with.

use crate::{ANSWERED, NO_VALUE, WRONG, input, interrupt, output};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lanescope_front::sweep::{Folder, Points, Question, Shard, script};
use lanescope_front::vary;
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Points with an error that are shown.
const SHOWN: usize = 5;

/// What runs a sweep elsewhere.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Emit {
    /// A job array of SLURM, for sbatch: a task for each shard
    Slurm,
}

/// A scenario at many points.
#[derive(Args, Clone)]
pub(crate) struct Sweep {
    /// The scenario file
    file: String,
    /// Override a value at every point: 'links.uplink.pcie=gen3 x8' (may be repeated)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Vary a value: path=a,b,c or path=1..64 by x2 or path=1..9 by 2 (may be repeated)
    #[arg(long = "vary", value_name = "PATH=VALUES", required = true)]
    vary: Vec<String>,
    /// The folder of the results: it is made, or gone on with
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Simulate every point, too
    #[arg(long)]
    simulate: bool,
    /// Simulate every point with each of these seeds: 1,2,3
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "simulate")]
    seeds: Vec<u32>,
    /// A column for a metric, e.g. links.uplink.utilisation (may be repeated)
    #[arg(long = "metric", value_name = "METRIC")]
    metrics: Vec<String>,
    /// Work out one shard of the points, e.g. 3/16; others may fill the same folder
    #[arg(long, value_name = "I/N", conflicts_with = "emit")]
    shard: Option<String>,
    /// Threads; without it, as many as this machine has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Print what runs the sweep elsewhere, and run nothing
    #[arg(long, value_name = "FORM")]
    emit: Option<Emit>,
    /// Tasks of --emit, a shard each
    #[arg(
        long, value_name = "N", requires = "emit", default_value_t = 16,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    tasks: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(a: &Sweep) -> u8 {
    sweep(a).unwrap_or_else(|message| {
        output::drawn_or(&message);
        WRONG
    })
}

fn question(a: &Sweep) -> Result<Question, String> {
    let axes = a.vary.iter().map(|v| vary::axis(v)).collect::<Result<Vec<_>, _>>()?;
    let included = input::scenario(&a.file)?;
    let (paths, values) = axes.into_iter().map(|axis| (axis.path, axis.values)).unzip();
    Ok(Question {
        name: included.name,
        text: included.text,
        sets: a.sets.clone(),
        paths,
        points: Points::Grid(values),
        simulate: a.simulate,
        seeds: a.seeds.clone(),
        metrics: a.metrics.clone(),
    })
}

/// The command line of one task, without its shard.
fn arguments(a: &Sweep) -> Vec<String> {
    let mut all = vec!["sweep".to_owned(), a.file.clone()];
    let each = |all: &mut Vec<String>, option: &str, values: &[String]| {
        values.iter().for_each(|v| all.extend([option.to_owned(), v.clone()]));
    };
    each(&mut all, "--set", &a.sets);
    each(&mut all, "--vary", &a.vary);
    each(&mut all, "--metric", &a.metrics);
    if a.simulate {
        all.push("--simulate".into());
    }
    if !a.seeds.is_empty() {
        let seeds: Vec<String> = a.seeds.iter().map(u32::to_string).collect();
        all.extend(["--seeds".to_owned(), seeds.join(",")]);
    }
    all.extend(["--out".to_owned(), a.out.display().to_string()]);
    all
}

fn sweep(a: &Sweep) -> Result<u8, String> {
    let question = question(a)?;
    question.check()?;
    if let Some(Emit::Slurm) = a.emit {
        output::print(&script("lanescope", &arguments(a), a.tasks));
        return Ok(ANSWERED);
    }
    let shard = a.shard.as_deref().map_or(Ok(Shard::ALL), Shard::parse)?;
    let mut folder = Folder::open(&a.out, &question, shard)?;
    let (before, wanted) = (folder.done(), folder.pending().len() as u64);
    let target = if std::io::stderr().is_terminal() && (a.simulate || wanted > 1000) {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(wanted), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} points, {eta} left") {
        bar.set_style(style);
    }
    let threads = a.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |n| n as usize);
    let new = folder.run(threads, |done| {
        bar.set_position(done);
        !interrupt::stopped()
    });
    bar.finish_and_clear();
    let new = new?;
    let all = folder.summary()?;
    let size = question.size()?;
    // Only of all points together: a part has other rows with every run.
    let whole = (folder.done() == size).then(|| all.fingerprint.to_string());
    if a.json {
        let errors: Vec<_> = all.errors.iter().map(|(p, why)| json!({ "point": p, "error": why })).collect();
        output::json(&json!({
            "points": size, "done": folder.done(), "new": new, "before": before, "rows": all.rows,
            "failed": all.failed, "errors": errors, "fingerprint": whole,
        }));
    } else {
        let mut text = format!("{}: {} of {size} points, {new} of them new\n", a.out.display(), folder.done());
        if all.failed > 0 {
            let words = if all.failed == 1 { "point has" } else { "points have" };
            text += &format!("{} {words} an error in place of an answer:\n", all.failed);
        }
        for (point, why) in all.errors.iter().take(SHOWN) {
            let values = question.paths.iter().zip(question.point(*point).0);
            let values: Vec<String> = values.map(|(path, value)| format!("{path}={value}")).collect();
            text += &format!("  {}: {why}\n", values.join(" "));
        }
        if all.failed > SHOWN as u64 {
            text += &format!("  and {} more: column error of the rows\n", all.failed - SHOWN as u64);
        }
        if let Some(whole) = &whole {
            text += &format!("fingerprint {whole}\n");
        }
        output::print(&text);
    }
    if interrupt::stopped() {
        crate::output::say!("stopped: the same command continues from here");
    }
    Ok(if new < wanted || all.failed > 0 { NO_VALUE } else { ANSWERED })
}
