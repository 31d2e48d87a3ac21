//! Results of instruments of storage: the load is in the result itself, and runs on the machine.

use super::super::fio as jobs;
use super::super::instrument::Answered;
use super::super::iozone::{climb, place};
use super::{Compare, Kind, LEFT_OUT};
use crate::{NO_VALUE, WRONG, output};
use lanescope::diagnostic::{Diagnostics, SourceId};
use lanescope::import::Test;
use lanescope::import::fio::{self, json::Entry};
use lanescope::import::iometer::csv::{Column, Row as CsvRow, RowKind};
use lanescope::import::iometer::{self, Manager, Setup, Spec, Target, TestSetup, Worker};
use lanescope::import::iozone::{self, HEADS, Rung};
use lanescope::pens::compare::Quantity;
use lanescope::pens::compare::storage::{Beside, Row, text};
use lanescope::pens::fio::{self as pen, Spread};
use lanescope::pens::ios::{Came, Ios, came};
use lanescope::units::Bytes;
use std::collections::BTreeMap;

/// A result beside the answers.
pub(super) fn answer(a: &Compare, kind: Kind, mut diagnostics: Diagnostics, source: SourceId) -> Result<u8, u8> {
    let (code, beside) = match kind {
        Kind::Iozone => of_iozone(a, &mut diagnostics, source)?,
        Kind::Iometer => of_iometer(a, &mut diagnostics, source)?,
        Kind::Fio | Kind::Ranks | Kind::Collective => of_fio(a, &mut diagnostics, source)?,
    };
    if beside.rows.is_empty() {
        let why = beside.left_out.iter().take(LEFT_OUT).cloned().collect::<Vec<_>>().join("; ");
        output::error(&format!("no row of {} has an answer: {why}", a.table));
        return Err(if code == NO_VALUE { NO_VALUE } else { WRONG });
    }
    let sections = || {
        let printed = text(&beside, lanescope::pens::Paint::default());
        vec![lanescope::pens::page::printed("comparison", "Measured beside the answers", &printed)]
    };
    let begin = || crate::commands::page::Begin::of(&a.on.machine, &a.on.how.sets, a.on.how.full);
    crate::commands::page::write(&a.page, &a.table, sections, begin, None).map_err(|e| output::wrong(&e))?;
    if a.json {
        output::json(&beside);
    } else {
        let mut short = beside;
        let more = short.left_out.len().saturating_sub(LEFT_OUT);
        short.left_out.truncate(LEFT_OUT);
        if more > 0 {
            short.left_out.push(format!("{more} more"));
        }
        output::print(&text(&short, output::paint()));
    }
    Ok(code)
}

/// What was noticed while reading is said; whether there is something to go on with.
fn said<T>(diagnostics: &Diagnostics, found: Option<T>) -> Result<T, u8> {
    output::diagnostics(diagnostics);
    found.ok_or(WRONG)
}

/// A number of I/Os: its name, what it is of, how it is found.
type Value = (&'static str, Quantity, fn(&Ios) -> f64);

/// Rows of the I/Os of one direction, or of both: how many, how much, how long.
fn rows(name: &str, side: &str, real: Ios, came: &Came, of: impl Fn(&[Ios; 3]) -> Ios) -> Vec<Row> {
    let (estimate, simulated) = (of(&came.estimate), came.simulated.as_ref().map(of));
    let by = came.bound_by().words();
    let values: [Value; 3] = [
        ("IOPS", Quantity::PerSecond, |i| i.per_second),
        ("rate", Quantity::Rate, |i| i.rate),
        ("mean time", Quantity::Time, |i| i.latency),
    ];
    let row = |(what, quantity, value): Value| {
        let what = format!("{side} {what}").trim_start().to_owned();
        Row::new(
            (name, what, quantity),
            value(&real),
            Some(value(&estimate)),
            simulated.as_ref().map(value),
            by.clone(),
        )
    };
    values.into_iter().filter(|v| v.2(&real) > 0.0).map(row).collect()
}

/// The reads, writes and trims of a real job.
fn ios(entry: &Entry) -> [Ios; 3] {
    let side = |s: &fio::json::Side| {
        let lat = if s.lat.count > 0 || s.lat.mean > 0.0 { &s.lat } else { &s.clat };
        Ios { per_second: s.per_second, rate: s.rate, latency: lat.mean / 1e9, response: s.clat.mean / 1e9 }
    };
    entry.sides.each_ref().map(side)
}

/// The percentiles of one direction that fio printed: those of `clat`, or where it printed none, of `lat`. Of clones
/// that it reported one by one only those of all together tell something, which their bins give.
struct Printed {
    what: &'static str,
    percentiles: Vec<(f64, u64)>,
    /// Of `json+`.
    bins: BTreeMap<u64, u64>,
    clones: u32,
    slat: bool,
}

impl Printed {
    fn of(side: &fio::json::Side) -> Printed {
        let (what, lat) = match side.clat.percentiles.is_empty() {
            true => ("lat", &side.lat),
            false => ("clat", &side.clat),
        };
        let slat = !side.slat.percentiles.is_empty();
        Printed {
            what,
            percentiles: lat.percentiles.clone(),
            bins: lat.bins.iter().copied().collect(),
            clones: 1,
            slat,
        }
    }

    fn add(&mut self, other: Printed) {
        self.clones += 1;
        let both = !self.bins.is_empty() && !other.bins.is_empty();
        let bins = if both { other.bins } else { BTreeMap::new() };
        if !both {
            self.bins.clear();
        }
        bins.into_iter().for_each(|(time, n)| *self.bins.entry(time).or_default() += n);
    }

    /// Those that can stand beside others, and why the rest cannot.
    fn all(&self) -> Result<Vec<(f64, u64)>, String> {
        if self.clones > 1 && self.bins.is_empty() && !self.percentiles.is_empty() {
            let why = "percentiles of clones that fio reported one by one (group_reporting, or json+ with its bins)";
            return Err(format!("{} {why}", self.clones));
        }
        if self.clones == 1 {
            return Ok(self.percentiles.clone());
        }
        let bins: Vec<(u64, u64)> = self.bins.iter().map(|(time, n)| (*time, *n)).collect();
        Ok(self.percentiles.iter().map(|(p, _)| (*p, pen::percentile(&bins, *p))).collect())
    }
}

/// Rows of the percentiles of one direction, and what has no answer.
fn percentiles(name: &str, side: &str, real: &Printed, spread: Option<&Spread>, by: &str) -> (Vec<Row>, Vec<String>) {
    let job = |why: String| format!("job {name}, {side}: {why}");
    let printed = match real.all() {
        Ok(printed) => printed,
        Err(why) => return (Vec::new(), vec![job(why)]),
    };
    let mut left = Vec::new();
    if real.slat {
        left.push(job("percentiles of slat: of the time of a call alone no distribution is simulated".into()));
    }
    let Some(spread) = spread.filter(|s| s.count() > 0) else {
        if !printed.is_empty() {
            left.push(job("percentiles: only a simulation has a distribution".into()));
        }
        return (Vec::new(), left);
    };
    let (mut rows, mut few) = (Vec::new(), Vec::new());
    for (percent, time) in printed {
        let Some(simulated) = spread.within(percent) else {
            few.push(format!("{percent}"));
            continue;
        };
        let what = format!("{side} {} {percent} %", real.what);
        let (real, simulated) = (time as f64 * 1e-9, simulated as f64 * 1e-9);
        rows.push(Row::new((name, what, Quantity::Time), real, None, Some(simulated), by));
    }
    if !few.is_empty() {
        let why = format!("percentiles {}: {} simulated I/Os are too few for them", few.join(", "), spread.count());
        left.push(job(why));
    }
    (rows, left)
}

fn of_fio(a: &Compare, diagnostics: &mut Diagnostics, source: SourceId) -> Result<(u8, Beside), u8> {
    let found = fio::json::read(diagnostics, source);
    let real = said(diagnostics, found)?;
    // The load, as a job file of its own. Of jobs that were reported as one, fio repeats the first one's options alone.
    let mut d = Diagnostics::default();
    let source = d.add_source(format!("{}: its options", a.table), fio::json::load_of(&real));
    let mut none = |_: &str| Err("the result says all that is known".to_owned());
    let file = fio::job::read(&mut d, source, true, &mut none);
    let machine = a.on.machine()?;
    let runs = file.as_ref().and_then(|f| fio::runs(&mut d, f, &machine, &a.maps, a.on.how.full));
    let runs = said(&d, runs)?;
    let tests: Vec<Test> = runs.iter().map(|r| r.test.clone()).collect();
    // By the place of their job, which is that of its entries.
    let mut answers: BTreeMap<usize, Came> = BTreeMap::new();
    let mut times: BTreeMap<usize, [Spread; 3]> = BTreeMap::new();
    let code = a.on.run(&tests, |i, answered: Answered| {
        answers.extend(jobs::lines(&runs[i], &answered));
        times.extend(answered.report.simulation.iter().flat_map(|s| pen::spreads(&runs[i], s)));
    });
    // Clones that fio has reported one by one are one job here.
    let mut entries: Vec<(&Entry, [Ios; 3], [Printed; 3])> = Vec::new();
    for entry in &real.entries {
        let (now, printed) = (ios(entry), entry.sides.each_ref().map(Printed::of));
        match entries
            .last_mut()
            .filter(|(b, ..)| (&b.name, b.group, &b.options) == (&entry.name, entry.group, &entry.options))
        {
            Some((_, sum, all)) => {
                *sum = [0, 1, 2].map(|side| sum[side].plus(&now[side]));
                all.iter_mut().zip(printed).for_each(|(all, now)| all.add(now));
            }
            None => entries.push((entry, now, printed)),
        }
    }
    let mut all = Vec::new();
    let mut left = Vec::new();
    for (i, (entry, real, printed)) in entries.iter().enumerate() {
        let Some(came) = answers.get(&i) else {
            left.push(format!("job {}", entry.name));
            continue;
        };
        for (side, word) in ["read", "write", "trim"].into_iter().enumerate().filter(|s| real[s.0].per_second > 0.0) {
            all.extend(rows(&entry.name, word, real[side], came, |s| s[side]));
            let spread = times.get(&i).map(|t| &t[side]);
            let by = came.bound_by().words();
            let (more, why) = percentiles(&entry.name, word, &printed[side], spread, &by);
            all.extend(more);
            left.extend(why);
        }
        if real.iter().all(|s| s.per_second <= 0.0) {
            left.push(format!("job {}: it has done no I/O", entry.name));
        }
    }
    Ok((code, Beside::new(real.version, all, left)))
}

fn of_iozone(a: &Compare, diagnostics: &mut Diagnostics, source: SourceId) -> Result<(u8, Beside), u8> {
    let found = iozone::read(diagnostics, source);
    let real = said(diagnostics, found)?;
    let machine = a.on.machine()?;
    // There is one file: whatever its name, it is on this volume.
    let place = place(&machine, a.maps.first().map(|m| m.1.as_str()))?;
    let mut wanted: Vec<(String, String, f64, Rung)> = Vec::new();
    let mut left = Vec::new();
    for row in &real.rows {
        let of = format!("{} in records of {}", Bytes(row.file), Bytes(row.record));
        let columns = (0..HEADS.len()).filter(|c| row.values[*c].is_some());
        for (column, rung) in iozone::measures(row.file, row.record, real.direct, columns) {
            let value = row.values[column].map_or(0.0, |v| real.unit.rate(v, row.record));
            wanted.push((of.clone(), HEADS[column].2.to_lowercase(), value, rung));
        }
    }
    for block in &real.blocks {
        match iozone::measure(&real, block) {
            Some(rung) => {
                let of = format!(
                    "{} {}, {} each in records of {}",
                    block.processes,
                    block.name,
                    Bytes(rung.file),
                    Bytes(rung.record)
                );
                wanted.push((of, "throughput".into(), real.unit.rate(block.children, rung.record), rung));
            }
            None => left.push(format!(
                "{} {}: the sizes of file and record are not known, or the test is not simulated",
                block.processes, block.name
            )),
        }
    }
    let blank =
        (0..HEADS.len()).filter(|c| iozone::column(*c).is_none() && real.rows.iter().any(|r| r.values[*c].is_some()));
    left.extend(blank.map(|c| format!("{} report: the test is not simulated", HEADS[c].2.to_lowercase())));
    if !real.direct && !real.rows.is_empty() {
        crate::output::say!(
            "note: a simulated host has no page cache; of a file that fits into memory, IOzone without -I measures that"
        );
    }
    let rungs: Vec<Rung> = wanted.iter().map(|w| w.3).collect();
    let (code, done) = climb(&a.on, &rungs, &place);
    let mut all = Vec::new();
    let mut missing = 0;
    for (name, what, value, rung) in wanted {
        let Some(done) = done.get(&rung).filter(|d| !d.processes.is_empty()) else {
            missing += 1;
            continue;
        };
        let sum = |sides: &[Ios; 3]| sides.iter().map(|s| s.rate).sum::<f64>();
        let estimate = done.processes.iter().map(|c| sum(&c.estimate)).sum();
        let simulated = done.processes.iter().map(|c| c.simulated.as_ref().map(sum)).sum::<Option<f64>>();
        let by = done.processes[0].bound_by().words();
        all.push(Row::new((name, what, Quantity::Rate), value, Some(estimate), simulated, by));
    }
    if missing > 0 {
        left.push(format!("{missing} numbers of files that do not fit on {}", place.volume.name));
    }
    Ok((code, Beside::new(format!("iozone {}", real.version).trim_end(), all, left)))
}

/// The set-up of one test from its rows: managers, workers and targets follow one another as they belong together.
fn setup(rows: &[CsvRow], specs: &[Spec]) -> Option<Setup> {
    let number = |row: &CsvRow, column: Column| row.get(column).unwrap_or(0.0).max(0.0);
    let mut managers: Vec<Manager> = Vec::new();
    for row in rows {
        match row.kind {
            RowKind::Manager => managers.push(Manager { name: row.name.clone(), ..Manager::default() }),
            RowKind::Worker => managers.last_mut()?.workers.push(Worker {
                name: row.name.clone(),
                outstanding: number(row, Column::QueueDepth).max(1.0) as u32,
                maximum_size: number(row, Column::MaximumSize) as u64,
                starting_sector: number(row, Column::StartingSector) as u64,
                specs: Some(vec![(row.spec.clone(), iometer::Place::default())]),
                ..Worker::default()
            }),
            RowKind::Disk => managers.last_mut()?.workers.last_mut()?.targets.push(Target {
                name: row.name.clone(),
                kind: iometer::WorkerKind::Disk,
                manager: None,
                place: iometer::Place::default(),
            }),
            _ => {}
        }
    }
    let busy = managers.iter().any(|m| m.workers.iter().any(|w| !w.targets.is_empty()));
    // Long enough to be a time; the text says what is simulated.
    let test = TestSetup { run_time: [0, 0, 1], ..TestSetup::default() };
    busy.then(|| Setup {
        version: "1.1.0".into(),
        test: Some(test),
        specs: specs.to_vec(),
        managers,
        ..Setup::default()
    })
}

/// The time of a test as `[run]`: as long as the real one took.
fn length(row: &CsvRow) -> String {
    let (ios, rate) = (
        row.get(Column::Reads).unwrap_or(0.0) + row.get(Column::Writes).unwrap_or(0.0),
        row.get(Column::Iops).unwrap_or(0.0),
    );
    let seconds = if rate > 0.0 { (ios / rate).clamp(0.001, 18_000.0) } else { 60.0 };
    format!("[run]\nuntil = \"±1 %\"\nmax_time = \"{seconds:.3} s\"\n")
}

fn of_iometer(a: &Compare, diagnostics: &mut Diagnostics, source: SourceId) -> Result<(u8, Beside), u8> {
    let found = iometer::csv::read(diagnostics, source);
    let real = said(diagnostics, found)?;
    let machine = a.on.machine()?;
    let mut tests: Vec<Test> = Vec::new();
    let mut behind: Vec<(&CsvRow, Vec<String>)> = Vec::new();
    let mut left = Vec::new();
    let mut d = Diagnostics::default();
    for block in &real.blocks {
        let mut specs: Vec<Spec> = Vec::new();
        for (i, test) in block.tests.iter().enumerate() {
            if !test.specs.is_empty() {
                specs.clone_from(&test.specs);
            }
            let whole = test.rows.iter().find(|r| r.kind == RowKind::All);
            let Some((row, setup)) = whole.zip(setup(&test.rows, &specs)) else {
                left.push(format!("test {} of {}: it has no rows of workers and their disks", i + 1, block.begun));
                continue;
            };
            let Some(found) = iometer::tests(&mut d, &setup, &machine, &a.maps) else {
                return said(&d, None);
            };
            for one in found.into_iter().take(1) {
                let flows = one.test.text.split("[run]").next().unwrap_or_default();
                let text = format!("{flows}{}", length(row));
                behind.push((row, one.workers.iter().map(|w| w.flow.clone()).collect()));
                let depth = row.get(Column::QueueDepth).unwrap_or(1.0);
                tests.push(Test { title: format!("{}, {depth} outstanding", row.spec), text });
            }
        }
    }
    output::diagnostics(&d);
    let mut all = Vec::new();
    let code = if tests.is_empty() {
        crate::ANSWERED
    } else {
        a.on.run(&tests, |i, answered| {
            let (row, flows) = &behind[i];
            let each = flows.iter().filter_map(|f| came(&answered.plan, &answered.report, f));
            let Some(came) = each.reduce(|a, b| a.plus(&b)) else { return };
            let value = |column: Column| row.get(column).unwrap_or(0.0);
            let mib = f64::from(1 << 20);
            let real = Ios {
                per_second: value(Column::Iops),
                rate: value(Column::MibPerSecond) * mib,
                latency: value(Column::Average) / 1e3,
                response: value(Column::Average) / 1e3,
            };
            // Iometer takes the time from the call.
            let both = |s: &[Ios; 3]| {
                let both = s[0].plus(&s[1]);
                Ios { latency: both.response, ..both }
            };
            all.extend(rows(&tests[i].title, "", real, &came, both));
        })
    };
    let version = real.blocks.first().map_or(String::new(), |b| b.version.clone());
    Ok((code, Beside::new(format!("Iometer {version}").trim_end(), all, left)))
}
