//! `iometer`: a set-up of Iometer run on a simulated machine, its results in Iometer's own form, and set-ups written.

use super::instrument::{self, Answered, How, On, Watched};
use super::live::{Live, View};
use crate::{ANSWERED, NO_VALUE, Scenario, WRONG, input, interrupt, output};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::iometer::csv::{self, Form, Results};
use lanescope::import::iometer::{IometerTest, Setup, Statistic, icf, tests};
use lanescope::import::{Machine, Test};
use lanescope::pens::Grid;
use lanescope::pens::iometer::{self, Counted, Finished, PERCENTILES, Spread, Who, save};
use lanescope::plan::Plan;
use lanescope::result::{Ending, IoSeen, Report};
use lanescope::scenario::keys::Line;
use lanescope::sim::{Run, Step};
use lanescope::units::{Time, digits, human_time};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a set-up at most.
const MOST_SETUP: usize = 16 << 20;
/// Events between two looks at Ctrl-C.
const PIECE: u64 = 1 << 16;
/// Rows of a time series at most.
const MOST_ROWS: usize = 2_000_000;
/// Time between two updates of the live display at least.
const LEAST_EVERY: Duration = Duration::from_millis(10);
/// Characters of a test's title in a line.
const TITLE: usize = 60;

/// How many columns results have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Columns {
    /// Those of 2006 and 2008
    #[value(name = "56")]
    Old,
    /// Those of 1.1.0
    #[value(name = "80")]
    New,
}

/// A set-up of Iometer and a machine.
#[derive(Args)]
pub(crate) struct Iometer {
    /// The set-up (.icf); with --save it may be a scenario
    setup: String,
    /// The machine: a scenario, whose own flows are left out, or a platform of the library. With --save: more scenarios
    machine: Vec<String>,
    /// Read what Iometer itself refuses, with warnings
    #[arg(long)]
    tolerant: bool,
    /// Put a target on a volume, or a manager on a host: "Pliant LS300S P10"=ssd.0 (may be repeated). Without it, names
    /// count, then the order
    #[arg(long = "map", value_name = "NAME=VOLUME", value_parser = instrument::pair)]
    maps: Vec<(String, String)>,
    /// Append the results to this file, as Iometer does
    #[arg(long, value_name = "FILE", conflicts_with = "estimate")]
    csv: Option<PathBuf>,
    /// Columns of the results
    #[arg(long, value_name = "56|80", default_value = "80", requires = "csv")]
    columns: Columns,
    /// Write percentiles of latencies to this CSV file
    #[arg(long, value_name = "FILE", conflicts_with = "estimate")]
    percentiles: Option<PathBuf>,
    /// Write the whole distribution of latencies to this CSV file
    #[arg(long, value_name = "FILE", conflicts_with = "estimate")]
    histogram: Option<PathBuf>,
    /// Write a time series to this CSV file: the statistics of each --step, of all managers, each manager and each
    /// worker. Tests then run one by one
    #[arg(long, value_name = "FILE", requires = "step", conflicts_with = "estimate")]
    series: Option<PathBuf>,
    /// Time between the rows of --series, e.g. "100 ms"
    #[arg(long, value_name = "TIME", requires = "series")]
    step: Option<String>,
    /// Show six statistics as bars while the tests run, one after the other; keys choose others. Updated so often:
    /// --live=0.5s; without it as the set-up says, or every second
    #[arg(
        long, value_name = "EVERY", num_args = 0..=1, require_equals = true,
        conflicts_with_all = ["estimate", "show", "save", "series"]
    )]
    live: Option<Option<String>>,
    /// Only these tests, by their numbers: 3 or 1-8,12
    #[arg(long, value_name = "LIST")]
    tests: Option<String>,
    /// Print the scenario of each test, and run none
    #[arg(long, conflicts_with_all = ["csv", "percentiles", "histogram", "series", "json"])]
    show: bool,
    /// Write the set-up, or a set-up made of scenarios with --set laid over them, to this file in the form of Iometer
    /// 1.1.0, and run nothing
    #[arg(
        long, value_name = "FILE",
        conflicts_with_all = ["csv", "show", "json", "percentiles", "histogram", "series", "tests", "maps"]
    )]
    save: Option<PathBuf>,
    /// With --save of one scenario: an access specification in the place of its own, NAME={ size = "4 KiB", read = "67
    /// %" } (may be repeated)
    #[arg(long, value_name = "NAME=LINES", requires = "save")]
    access: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: How,
}

/// An error with nothing to say has been reported.
type Reported<T> = Result<T, Option<String>>;

pub(crate) fn main(a: &Iometer) -> u8 {
    let done = if a.save.is_some() { saved(a) } else { run(a) };
    done.unwrap_or_else(|e| {
        if let Some(e) = e {
            output::error(&e);
        }
        WRONG
    })
}

/// Reads a set-up; what is wrong or suspicious is said.
fn read(a: &Iometer) -> Reported<(Setup, String)> {
    let text = input::limited_path(Path::new(&a.setup), MOST_SETUP, "a set-up of Iometer")?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(a.setup.clone(), text.clone());
    let setup = icf::read(&mut diagnostics, source, a.tolerant);
    output::diagnostics(&diagnostics);
    if setup.is_none() && !a.tolerant {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source(a.setup.clone(), text);
        if icf::read(&mut diagnostics, source, true).is_some() {
            crate::output::say!("note: --tolerant reads it, with warnings");
        }
        return Err(None);
    }
    setup.map(|s| (s, text)).ok_or(None)
}

/// The numbers of `1-8,12`, from 0.
fn chosen(list: Option<&str>, all: usize) -> Reported<Vec<usize>> {
    let Some(list) = list else { return Ok((0..all).collect()) };
    let wrong = || Some(format!("--tests {list}: the set-up has tests 1 to {all}; 3 is one of them, 1-8,12 are nine"));
    let mut found = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<usize>(), last.trim().parse::<usize>()) else {
            return Err(wrong());
        };
        if first == 0 || last < first || last > all {
            return Err(wrong());
        }
        found.extend(first - 1..last);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn run(a: &Iometer) -> Reported<u8> {
    let [machine] = a.machine.as_slice() else {
        return Err(Some("iometer takes a set-up and a machine: lanescope iometer SETUP.icf MACHINE.toml".into()));
    };
    let on = On { machine: machine.clone(), how: a.how.clone() };
    let (setup, text) = read(a)?;
    let machine: Machine = on.machine().map_err(|_| None)?;
    let mut diagnostics = Diagnostics::default();
    // The places of messages are in the text of the set-up.
    diagnostics.add_source(a.setup.clone(), text);
    let all = tests(&mut diagnostics, &setup, &machine, &a.maps);
    output::diagnostics(&diagnostics);
    let all = all.ok_or(None)?;
    let numbers = chosen(a.tests.as_deref(), all.len())?;
    let list: Vec<Test> = numbers.iter().map(|&i| all[i].test.clone()).collect();
    if a.show {
        for (&i, test) in numbers.iter().zip(&list) {
            output::print(&format!("# test {}\n{}\n", i + 1, on.scenario(test)));
        }
        return Ok(ANSWERED);
    }
    let begun = stamp(Timestamp::now());
    let mut done: BTreeMap<usize, (Report, String)> = BTreeMap::new();
    let width = list.iter().map(|t| t.title.chars().count().min(TITLE)).max().unwrap_or(0).max(5);
    let (mut lines, mut early) = (heads(width), Vec::new());
    let live = a.live.is_some();
    let say = |text: &str| {
        if !a.json {
            output::print(text);
        }
    };
    if !live {
        say(&lines);
    }
    let each = |i: usize, Answered { plan, report }: Answered| {
        let i = numbers[i];
        let line = line(&setup, &all[i], i, &report, width);
        // A live display has the terminal until all is over.
        match live {
            true => lines += &line,
            false => say(&line),
        }
        early.extend(ended(&plan, &report).map(|e| (i, e)));
        done.insert(i, (report, stamp(Timestamp::now())));
    };
    let code = if let Some(every) = &a.live {
        let view = View::new(&setup, update(every.as_deref())?, !output::paint().strong.is_empty());
        let mut live = Live::begin(view)?;
        let (all, numbers, list) = (&all, &numbers, &list);
        // It goes with the display, which gives the terminal back.
        let watch = move |i: usize, plan: &Plan, d: &mut Diagnostics| {
            let name = format!("test {} of {}: {}", i + 1, list.len(), list[i].title);
            live.watch(name, &all[numbers[i]], plan, d)
        };
        on.watch(list, watch, each)
    } else if let Some(path) = &a.series {
        let step = a.step.as_deref().and_then(|s| Time::parse(s).ok()).filter(|t| *t > Time::ZERO);
        let step = step.ok_or_else(|| "--step takes a time above zero, e.g. --step \"100 ms\"".to_owned())?;
        let mut series = Series::create(path, step)?;
        let code = on.watch(&list, |i, plan, d| series.run(&setup, &all[numbers[i]], numbers[i], plan, d), each);
        series.finish()?;
        code
    } else {
        on.run(&list, each)
    };
    if live {
        say(&lines);
    }
    tell(&early);
    let mut wrote = Vec::new();
    if let Some(path) = &a.csv {
        let form = if a.columns == Columns::Old { Form::Columns56 } else { Form::Columns80 };
        let simulated = done.iter().filter(|(_, (r, _))| r.simulation.is_some());
        let finished: Vec<Finished> = simulated
            .map(|(&index, (r, ended))| Finished { index, seen: iometer::seen(r), ended: ended.clone() })
            .collect();
        let block = iometer::results(&setup, &all, &finished, form, &begun);
        let count = block.tests.len();
        if count == 0 {
            crate::output::say!(
                "note: nothing is written to {}: no test has results, or the set-up records none",
                path.display()
            );
        } else {
            append(path, &csv::write(&Results { blocks: vec![block] }, form))?;
            wrote.push(format!(
                "{count} of {} tests appended to {}, {} columns",
                list.len(),
                path.display(),
                form.count()
            ));
        }
    }
    let grids = [(&a.percentiles, percentiles as fn(&[Beside]) -> Grid), (&a.histogram, histogram)];
    if grids.iter().any(|g| g.0.is_some()) {
        let beside: Vec<Beside> = done.iter().flat_map(|(&i, (r, _))| beside(&setup, &all[i], i, r)).collect();
        for (path, grid) in grids.iter().filter_map(|(p, g)| Some(((*p).as_ref()?, g))) {
            write_grid(path, &grid(&beside))?;
            wrote.push(format!("wrote {}", path.display()));
        }
    }
    if a.json {
        let answers: Vec<Json> = done.iter().map(|(&i, (r, _))| json(&setup, &all[i], i, r)).collect();
        output::json(&answers);
    }
    if let Some(path) = &a.series {
        wrote.push(format!("wrote {}", path.display()));
    }
    wrote.iter().for_each(|w| crate::output::say!("{w}"));
    Ok(if done.len() < list.len() && code == ANSWERED { NO_VALUE } else { code })
}

/// The time between two updates of the live display, where it was said.
fn update(text: Option<&str>) -> Reported<Option<Duration>> {
    let Some(text) = text else { return Ok(None) };
    let time = Time::parse(text).ok().map(|t| Duration::from_secs_f64(t.seconds())).filter(|t| *t >= LEAST_EVERY);
    let wrong = || Some(format!("--live={text}: the time between updates is 10 ms and more: --live=0.5s"));
    time.map(Some).ok_or_else(wrong)
}

const HEADS: [&str; 5] = ["IOps", "MB/s (10^6)", "MiB/s (2^20)", "mean ms", "p99 ms"];

fn heads(width: usize) -> String {
    let heads: String = HEADS.iter().map(|h| format!("  {h:>12}")).collect();
    format!("{:>4}  {:width$}{heads}  bound by\n", "", "test")
}

/// One test in a line.
fn line(setup: &Setup, test: &IometerTest, index: usize, report: &Report, width: usize) -> String {
    let title: String = match test.test.title.chars().count() {
        n if n > TITLE => test.test.title.chars().take(TITLE - 1).chain(['…']).collect(),
        _ => test.test.title.clone(),
    };
    let values: [Option<f64>; 5] = if report.simulation.is_some() {
        let seen = iometer::seen(report);
        let sums = Counted::new(test, &seen).sums(Who::All);
        let of = |s| sums.statistic(s);
        let [all, ..] = Spread::by_direction(report, test, Who::All);
        let p99 = all.percentiles.get(3).copied();
        [of(Statistic::Iops), of(Statistic::MbpsDecimal), of(Statistic::MbpsBinary), of(Statistic::Average), p99]
    } else {
        estimated(setup, test, report)
    };
    let cells: String = values.iter().map(|v| format!("  {:>12}", v.map_or("-".into(), digits))).collect();
    format!("{:>4}  {title:width$}{cells}  {}\n", index + 1, bound(report))
}

/// Why a test ended before its time.
fn ended(plan: &Plan, report: &Report) -> Option<String> {
    let s = report.simulation.as_ref()?;
    let asked = plan.limits.length.map(|t| t.seconds());
    match (&s.ending, asked) {
        (Ending::Length | Ending::TimeCap | Ending::Tight | Ending::Stopped, _) => None,
        (Ending::PacketCap, Some(asked)) => Some(format!(
            "counted for {} of {}: run.max_packets ended it; --full goes on",
            human_time(s.window),
            human_time(asked)
        )),
        (other, _) => Some(format!("counted for {}: {}", human_time(s.window), other.name())),
    }
}

/// Says what ended early, once for tests in a row.
fn tell(early: &[(usize, String)]) {
    const MOST: usize = 5;
    for (i, why) in early.iter().take(MOST) {
        crate::output::say!("note: test {} {why}", i + 1);
    }
    if early.len() > MOST {
        crate::output::say!("note: and so {} more", early.len() - MOST);
    }
}

/// A time series on its way into a file.
struct Series {
    out: ::csv::Writer<File>,
    path: PathBuf,
    step: Time,
    rows: usize,
    /// What went wrong while writing.
    wrong: Option<String>,
}

impl Series {
    fn create(path: &Path, step: Time) -> Result<Series, String> {
        let out = ::csv::Writer::from_path(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut series = Series { out, path: path.to_owned(), step, rows: 0, wrong: None };
        let head =
            ["test", "title", "time s", "row", "name"].into_iter().chain(Statistic::ALL.iter().map(|s| s.name()));
        series.write(head);
        Ok(series)
    }

    fn write<T: AsRef<[u8]>>(&mut self, row: impl IntoIterator<Item = T>) {
        if let Err(e) = self.out.write_record(row) {
            self.wrong = Some(format!("{}: {e}", self.path.display()));
        }
    }

    /// Simulates a test, and writes what it did in each step.
    fn run(
        &mut self,
        setup: &Setup,
        test: &IometerTest,
        index: usize,
        plan: &Plan,
        diagnostics: &mut Diagnostics,
    ) -> Watched {
        let Some(mut run) = Run::new(plan, plan.limits.seed as u64, diagnostics) else {
            return Watched { simulation: None, enough: false };
        };
        run.sample_every(self.step);
        loop {
            let step = run.advance(PIECE);
            if step != Step::More {
                let (all, latest) = (run.ios(), run.latest_ios());
                // Nothing is counted before the end of the ramp.
                if latest.time > 0.0 {
                    self.rows(setup, test, index, all.time, &latest);
                }
            }
            match step {
                Step::Done => break,
                Step::Sample => _ = run.sample(),
                Step::More => {}
            }
            if self.wrong.is_some() || self.rows > MOST_ROWS {
                run.sample_no_more();
            }
            if interrupt::stopped() {
                run.stop();
            }
        }
        Watched { simulation: Some(run.snapshot()), enough: interrupt::stopped() }
    }

    fn rows(&mut self, setup: &Setup, test: &IometerTest, index: usize, time: f64, latest: &IoSeen) {
        let counted = Counted::new(test, &[latest]);
        for (who, kind, name) in everybody(setup, test) {
            let sums = counted.sums(who);
            let mut row = vec![(index + 1).to_string(), test.test.title.clone(), time.to_string(), kind.into(), name];
            row.extend(Statistic::ALL.iter().map(|s| sums.statistic(*s).map_or(String::new(), |v| v.to_string())));
            self.write(row);
            self.rows += 1;
        }
    }

    fn finish(mut self) -> Result<(), String> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        if self.rows > MOST_ROWS {
            crate::output::say!(
                "note: {} ends after {MOST_ROWS} rows; a longer --step needs fewer",
                self.path.display()
            );
        }
        self.out.flush().map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

/// What the estimate says of a test: rates of its flows, I/Os of the mean size, and by Little's law the mean time.
fn estimated(setup: &Setup, test: &IometerTest, report: &Report) -> [Option<f64>; 5] {
    let (mut bytes, mut ios, mut outstanding) = (0.0, 0.0, 0.0);
    for active in &test.workers {
        let Some(flow) = report.flows.iter().find(|f| f.name == active.flow) else { continue };
        let builtin = lanescope::import::iometer::Spec::builtin();
        let lines = setup.specs.iter().find(|s| s.name == active.spec).map_or(&builtin.lines, |s| &s.lines);
        let rate = flow.share.typical / 8.0;
        bytes += rate;
        ios += rate / mean_size(lines);
        outstanding += f64::from(active.load.outstanding) * active.volumes.len() as f64;
    }
    let mean = (ios > 0.0).then(|| outstanding / ios * 1e3);
    [Some(ios), Some(bytes / 1e6), Some(bytes / 1048576.0), mean, None]
}

/// Mean bytes of an I/O; a reply is an I/O of its own.
fn mean_size(lines: &[Line]) -> f64 {
    let sum = |f: fn(&Line) -> f64| lines.iter().map(|l| f64::from(l.share) * f(l)).sum::<f64>();
    let bytes = sum(|l| l.size.f64() + l.reply.f64());
    let ios = sum(|l| if l.reply.0 > 0 { 2.0 } else { 1.0 });
    (bytes / ios).max(1.0)
}

/// What binds the flows of a test, each element once.
fn bound(report: &Report) -> String {
    let mut all: Vec<String> = match &report.simulation {
        Some(s) => s.flows.iter().map(|f| f.bound_by.words()).collect(),
        None => report.flows.iter().map(|f| f.bound_by.words()).collect(),
    };
    let mut known = std::collections::HashSet::new();
    all.retain(|b| known.insert(b.clone()));
    match all.len() {
        0..=2 => all.join("; "),
        n => format!("{}; and {} more", all[0], n - 1),
    }
}

/// Latencies of somebody in a test, by direction.
struct Beside {
    test: usize,
    title: String,
    kind: &'static str,
    name: String,
    spreads: [Spread; 3],
}

/// Everybody in a test: all managers, each manager, each worker.
fn everybody(setup: &Setup, test: &IometerTest) -> Vec<(Who, &'static str, String)> {
    let mut all = vec![(Who::All, "ALL", "All".to_owned())];
    let mut last = None;
    for a in &test.workers {
        let manager = &setup.managers[a.load.manager];
        if last.replace(a.load.manager) != Some(a.load.manager) {
            all.push((Who::Manager(a.load.manager), "MANAGER", manager.name.clone()));
        }
        let name = format!("{}: {}", manager.name, manager.workers[a.load.worker].name);
        all.push((Who::Worker(a.load.manager, a.load.worker), "WORKER", name));
    }
    all
}

fn beside(setup: &Setup, test: &IometerTest, index: usize, report: &Report) -> Vec<Beside> {
    let of = |(who, kind, name)| {
        let spreads = Spread::by_direction(report, test, who);
        Beside { test: index + 1, title: test.test.title.clone(), kind, name, spreads }
    };
    everybody(setup, test).into_iter().map(of).collect()
}

const DIRECTIONS: [&str; 3] = ["all", "read", "write"];

fn percentiles(all: &[Beside]) -> Grid {
    let mut head: Vec<String> = ["test", "title", "row", "name", "direction", "ios"].map(String::from).to_vec();
    head.extend(PERCENTILES.iter().map(|p| format!("p{p} ms")));
    let mut rows = Vec::new();
    for b in all {
        for (direction, spread) in DIRECTIONS.iter().zip(&b.spreads).filter(|(_, s)| s.count > 0) {
            let mut row = vec![
                b.test.to_string(),
                b.title.clone(),
                b.kind.into(),
                b.name.clone(),
                (*direction).into(),
                spread.count.to_string(),
            ];
            row.extend(spread.percentiles.iter().map(|p| p.to_string()));
            rows.push(row);
        }
    }
    Grid { head, rows }
}

fn histogram(all: &[Beside]) -> Grid {
    let head = ["test", "title", "row", "name", "direction", "at most ms", "ios"].map(String::from).to_vec();
    let mut rows = Vec::new();
    for b in all {
        for (direction, spread) in DIRECTIONS.iter().zip(&b.spreads).skip(1) {
            for (edge, n) in &spread.histogram {
                let (test, edge, n) = (b.test.to_string(), edge.to_string(), n.to_string());
                rows.push(vec![test, b.title.clone(), b.kind.into(), b.name.clone(), (*direction).into(), edge, n]);
            }
        }
    }
    Grid { head, rows }
}

/// A test as JSON.
#[derive(Serialize)]
struct Json {
    test: usize,
    title: String,
    bound_by: String,
    simulated: bool,
    rows: Vec<JsonRow>,
}

/// Somebody in a test as JSON: the statistics by Iometer's names; null is what a simulated host does not have.
#[derive(Serialize)]
struct JsonRow {
    row: &'static str,
    name: String,
    statistics: BTreeMap<&'static str, Option<f64>>,
    percentiles: Vec<f64>,
    latencies: BTreeMap<&'static str, Spread>,
}

fn json(setup: &Setup, test: &IometerTest, index: usize, report: &Report) -> Json {
    let simulated = report.simulation.is_some();
    let seen = iometer::seen(report);
    let counted = Counted::new(test, &seen);
    let rows = match simulated {
        true => everybody(setup, test),
        false => Vec::new(),
    };
    let row = |(who, row, name): (Who, &'static str, String)| {
        let sums = counted.sums(who);
        JsonRow {
            row,
            name,
            statistics: Statistic::ALL.iter().map(|s| (s.name(), sums.statistic(*s))).collect(),
            percentiles: PERCENTILES.to_vec(),
            latencies: DIRECTIONS.into_iter().zip(Spread::by_direction(report, test, who)).collect(),
        }
    };
    let mut rows: Vec<JsonRow> = rows.into_iter().map(row).collect();
    if !simulated {
        let [ios, mb, mib, mean, _] = estimated(setup, test, report);
        let names =
            [Statistic::Iops, Statistic::MbpsDecimal, Statistic::MbpsBinary, Statistic::Average].map(|s| s.name());
        let statistics = names.into_iter().zip([ios, mb, mib, mean]).collect();
        let (percentiles, latencies) = (Vec::new(), BTreeMap::new());
        rows.push(JsonRow { row: "ALL", name: "All".into(), statistics, percentiles, latencies });
    }
    Json { test: index + 1, title: test.test.title.clone(), bound_by: bound(report), simulated, rows }
}

fn write_grid(path: &Path, grid: &Grid) -> Result<(), String> {
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    let mut out = ::csv::Writer::from_path(path).map_err(|e| wrong(&e))?;
    out.write_record(&grid.head).map_err(|e| wrong(&e))?;
    grid.rows.iter().try_for_each(|r| out.write_record(r)).map_err(|e| wrong(&e))?;
    out.flush().map_err(|e| wrong(&e))
}

/// Appends to a file of results, in a line of its own.
fn append(path: &Path, text: &str) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut file = std::fs::OpenOptions::new().create(true).append(true).read(true).open(path).map_err(wrong)?;
    let mut last = [b'\n'];
    if file.metadata().map_err(wrong)?.len() > 0 {
        file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last)).map_err(wrong)?;
    }
    let gap = if last == [b'\n'] { "" } else { "\r\n" };
    file.write_all(format!("{gap}{text}").as_bytes()).map_err(wrong)
}

/// A moment as Iometer writes it, in UTC: `2010-07-26 09:29:04:245`.
fn stamp(moment: Timestamp) -> String {
    format!("{}:{:03}", moment.strftime("%Y-%m-%d %H:%M:%S"), moment.as_millisecond().rem_euclid(1000))
}

/// Writes a set-up: one that is there in the form of 1.1.0, or one of scenarios.
fn saved(a: &Iometer) -> Reported<u8> {
    let Some(path) = &a.save else { return Ok(ANSWERED) };
    let is_scenario = |f: &String| Path::new(f).extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    let setup = if is_scenario(&a.setup) {
        let mut plans: Vec<(String, Plan)> = Vec::new();
        for file in std::iter::once(&a.setup).chain(&a.machine) {
            let plan = planned(a, file, &[])?;
            let stem = Path::new(file).file_stem().map_or(file.clone(), |s| s.to_string_lossy().into_owned());
            plans.push((if plan.title.trim().is_empty() { stem } else { plan.title.clone() }, plan));
        }
        if !a.access.is_empty() {
            let [(_, plan)] = plans.as_slice() else {
                return Err(Some("--access takes the place of one scenario's own: give one".into()));
            };
            plans = specified(a, plan)?;
        }
        let named: Vec<(String, &Plan)> = plans.iter().map(|(n, p)| (n.clone(), p)).collect();
        save::setup(&named)?
    } else if a.machine.is_empty() {
        read(a)?.0
    } else {
        return Err(Some(format!("--save takes one set-up, or scenarios (.toml): {} is none", a.setup)));
    };
    std::fs::write(path, icf::write(&setup)).map_err(|e| format!("{}: {e}", path.display()))?;
    let workers: usize = setup.managers.iter().map(|m| m.workers.len()).sum();
    let many = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    crate::output::say!(
        "wrote {}: {}, {}, {}",
        path.display(),
        many(setup.specs.len(), "access specification"),
        many(setup.managers.len(), "manager"),
        many(workers, "worker")
    );
    Ok(ANSWERED)
}

/// A scenario's plan, with more laid over it than all scenarios have.
fn planned(a: &Iometer, file: &str, more: &[String]) -> Reported<Plan> {
    let sets = a.how.sets.iter().chain(more).cloned().collect();
    let scenario = Scenario { file: file.to_owned(), sets, json: false, csv: false };
    crate::input::load(&scenario).map(|(plan, _)| plan).map_err(|_| None)
}

/// The one scenario once for each access specification of `--access`, which all its workers run.
fn specified(a: &Iometer, plan: &Plan) -> Reported<Vec<(String, Plan)>> {
    let groups: BTreeSet<&str> = plan.storage.flows.iter().map(|f| f.group.as_str()).collect();
    let one = |text: &String| {
        let (name, lines) = text
            .split_once('=')
            .ok_or_else(|| format!("--access {text}: write a name, = and lines: small='{{ size = \"4 KiB\" }}'"))?;
        let more: Vec<String> = groups.iter().map(|g| format!("flows.{g}.access={lines}")).collect();
        Ok((name.trim().to_owned(), planned(a, &a.setup, &more)?))
    };
    a.access.iter().map(one).collect()
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn moments_and_lists() {
        let at = |ms| stamp(Timestamp::from_millisecond(ms).expect("a moment"));
        assert_eq!(at(7), "1970-01-01 00:00:00:007");
        assert_eq!(at(1_280_136_544_245), "2010-07-26 09:29:04:245");
        assert_eq!(chosen(Some("3,1-2"), 4), Ok(vec![0, 1, 2]));
        assert!(["0", "5", "2-1", "x", ""].iter().all(|l| chosen(Some(l), 4).is_err()));
    }
}
