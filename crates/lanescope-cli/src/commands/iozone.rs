//! `iozone`: IOzone's ladders and its throughput mode on a simulated machine, and its own forms of results.

use super::instrument::On;
use crate::output::wrong;
use crate::{ANSWERED, output};
use clap::Args;
use lanescope::import::iozone::{self, Block, COLUMNS, HEADS, Output, Row, Rung, Unit};
use lanescope::import::{Machine, Volume};
use lanescope::pens::ios::{Came, Ios, came};
use lanescope::pens::iozone as pen;
use lanescope::result::Ending;
use lanescope::units::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version whose forms are written.
const FORM: &str = "3.434";

/// Tests of IOzone on a machine.
#[derive(Args)]
pub(crate) struct Iozone {
    #[command(flatten)]
    on: On,
    /// Auto mode: files from 64 KiB to 512 MiB, records from 4 KiB to 16 MiB
    #[arg(short = 'a', conflicts_with_all = ["t", "s", "r"])]
    a: bool,
    /// Least file of auto mode: 64k
    #[arg(short = 'n', value_name = "SIZE", value_parser = size, requires = "a")]
    n: Option<u64>,
    /// Largest file of auto mode: 1g
    #[arg(short = 'g', value_name = "SIZE", value_parser = size, requires = "a")]
    g: Option<u64>,
    /// Least record of auto mode: 4k
    #[arg(short = 'y', value_name = "SIZE", value_parser = size, requires = "a")]
    y: Option<u64>,
    /// Largest record of auto mode: 16m
    #[arg(short = 'q', value_name = "SIZE", value_parser = size, requires = "a")]
    q: Option<u64>,
    /// Keep records below 64 KiB of files from 32 MiB on
    #[arg(short = 'z', requires = "a")]
    z: bool,
    /// Tests: 0 write and rewrite, 1 read and reread, 2 random, 5 stride, 6 fwrite, 7 fread (may be repeated; without
    /// it all)
    #[arg(short = 'i', value_name = "N", value_parser = clap::value_parser!(u32).range(0..=12))]
    i: Vec<u32>,
    /// Print reports for a spreadsheet too
    #[arg(short = 'R')]
    reports: bool,
    /// Throughput mode with so many processes
    #[arg(short = 't', value_name = "PROCESSES", value_parser = clap::value_parser!(u32).range(1..=1024))]
    t: Option<u32>,
    /// Bytes of each file: 512k
    #[arg(short = 's', value_name = "SIZE", value_parser = size)]
    s: Option<u64>,
    /// Bytes of a record: 4k
    #[arg(short = 'r', value_name = "SIZE", value_parser = size)]
    r: Option<u64>,
    /// Operations a second
    #[arg(short = 'O', conflicts_with = "micros")]
    operations: bool,
    /// Microseconds an operation
    #[arg(short = 'N')]
    micros: bool,
    /// Around the page cache: each record is an I/O of its own
    #[arg(short = 'I')]
    direct: bool,
    /// The volume; without it the machine's first
    #[arg(short = 'f', value_name = "VOLUME")]
    f: Option<String>,
    /// Write the results to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the scenario of each test, and run nothing
    #[arg(long)]
    show: bool,
    /// Print JSON: each test with what binds it
    #[arg(long)]
    json: bool,
}

/// A size as IOzone takes it: KiB, or with k, m or g.
fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = match lower.strip_suffix(['k', 'm', 'g']) {
        Some(number) => (number, lower.as_bytes()[lower.len() - 1]),
        None => (lower.as_str(), b'k'),
    };
    let unit: u64 = match unit {
        b'k' => 1 << 10,
        b'm' => 1 << 20,
        _ => 1 << 30,
    };
    let bytes = number.parse::<u64>().ok().filter(|n| *n > 0).and_then(|n| n.checked_mul(unit));
    bytes.filter(|n| *n <= 1 << 50).ok_or_else(|| "a size in KiB, or like 4k, 16m, 1g".into())
}

/// A volume and its host.
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) volume: Volume,
}

/// The volume of this name, or the first.
pub(crate) fn place(machine: &Machine, name: Option<&str>) -> Result<Place, u8> {
    let mut all = machine.hosts.iter().flat_map(|h| h.volumes.iter().map(move |v| (h, v)));
    let found = match name {
        None => all.next(),
        Some(name) => all.find(|(_, v)| v.name == name),
    };
    found.map(|(h, v)| Place { host: h.name.clone(), volume: v.clone() }).ok_or_else(|| {
        let names: Vec<&str> = machine.hosts.iter().flat_map(|h| h.volumes.iter().map(|v| v.name.as_str())).collect();
        match name {
            Some(name) => wrong(&format!("the machine has no volume {name:?} (there are {})", names.join(", "))),
            None => wrong("the machine has no volumes: disks, ram-disks or arrays behind a host adapter"),
        }
    })
}

/// What each process of a rung came to.
#[derive(Clone)]
pub(crate) struct Done {
    pub(crate) processes: Vec<Came>,
    /// How its run ended before its means were as tight as asked for, if it did.
    pub(crate) early: Option<&'static str>,
}

impl Done {
    fn rates(&self) -> Vec<f64> {
        let sum = |sides: &[Ios; 3]| sides.iter().map(|s| s.rate).sum::<f64>();
        self.processes.iter().map(|c| sum(c.simulated.as_ref().unwrap_or(&c.estimate))).collect()
    }

    /// Bytes a second of all processes.
    pub(crate) fn rate(&self) -> f64 {
        self.rates().iter().sum()
    }

    /// Whether it has a number: not where it was stopped.
    pub(crate) fn is_whole(&self) -> bool {
        self.early != Some("stopped")
    }
}

/// How a run ended before it had what was asked of it.
fn early(ending: &Ending) -> Option<&'static str> {
    match ending {
        Ending::Running | Ending::Stopped => Some("stopped"),
        Ending::TimeCap => Some("at its limit of time (run.max_time)"),
        Ending::PacketCap => Some("at its limit of packets (run.max_packets)"),
        _ => None,
    }
}

/// Says which numbers of a table are of runs that ended early; those of a run that was stopped are not in it.
fn say_early(done: &BTreeMap<Rung, Done>) {
    let mut by_end: BTreeMap<&str, Vec<&Rung>> = BTreeMap::new();
    for (rung, of) in done {
        by_end.entry(of.early.unwrap_or_default()).or_default().push(rung);
    }
    by_end.remove("");
    for (end, rungs) in by_end {
        let Some(first) = rungs.first() else { continue };
        let (kind, file, record) = (first.kind, Bytes(first.file), Bytes(first.record));
        let more = if rungs.len() > 1 { format!(" and {} more", rungs.len() - 1) } else { String::new() };
        let what = if end == "stopped" { "left blank" } else { "its mean is not as tight as asked for" };
        crate::output::say!("note: {kind:?} of {file} in records of {record}{more} ended {end}: {what}");
    }
}

/// The rungs of each load, which is worked out once.
fn by_load(rungs: &[Rung]) -> Vec<Vec<Rung>> {
    let mut loads: BTreeMap<Rung, Vec<Rung>> = BTreeMap::new();
    for rung in rungs {
        loads.entry(rung.load()).or_default().push(*rung);
    }
    loads.into_values().collect()
}

/// Runs rungs, each load once. What does not fit the volume is left out, and said.
pub(crate) fn climb(on: &On, rungs: &[Rung], place: &Place) -> (u8, BTreeMap<Rung, Done>) {
    let capacity = place.volume.capacity.0;
    let mut all: Vec<Rung> = rungs.to_vec();
    all.sort_unstable();
    all.dedup();
    let before = all.len();
    all.retain(|r| r.file <= capacity && r.record <= r.file && r.record <= 1 << 30);
    if all.len() < before {
        let (name, most) = (&place.volume.name, place.volume.capacity);
        crate::output::say!(
            "note: {} tests are left out: {name} holds {most}, and a record is at most 1 GiB",
            before - all.len()
        );
    }
    let loads = by_load(&all);
    let tests: Vec<_> = loads.iter().map(|l| iozone::tests(&l[0], &place.host, &place.volume.name, capacity)).collect();
    let mut done = BTreeMap::new();
    if tests.is_empty() {
        return (ANSWERED, done);
    }
    let code = on.run(&tests, |i, answered| {
        let of = |p: u32| came(&answered.plan, &answered.report, &format!("p{p}"));
        let early = answered.report.simulation.as_ref().and_then(|s| early(&s.ending));
        let of_load = Done { processes: (0..loads[i][0].processes).filter_map(of).collect(), early };
        done.extend(loads[i].iter().map(|rung| (*rung, of_load.clone())));
    });
    say_early(&done);
    (code, done)
}

/// A test as JSON.
#[derive(Serialize)]
struct Shown<'a> {
    test: String,
    file: u64,
    record: u64,
    processes: &'a [Came],
}

pub(crate) fn main(a: &Iozone) -> u8 {
    answer(a).unwrap_or_else(|code| code)
}

fn answer(a: &Iozone) -> Result<u8, u8> {
    let machine = a.on.machine()?;
    let place = place(&machine, a.f.as_deref())?;
    let mut wanted: Vec<u32> = a.i.clone();
    if let Some(n) =
        wanted.iter().find(|n| !HEADS.iter().enumerate().any(|(c, h)| h.3 == **n && iozone::column(c).is_some()))
    {
        let why = "reading backward, rewriting one record, mixed and vector I/O have no counterpart here";
        crate::output::say!("note: test {n} is left blank: {why}");
    }
    if wanted.is_empty() {
        wanted = (0..8).collect();
    }
    let unit = if a.operations {
        Unit::Operations
    } else if a.micros {
        Unit::Micros
    } else {
        Unit::Kib
    };
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("lanescope {}", words.join(" "));
    let mut output = Output { version: FORM.into(), command, unit, direct: a.direct, ..Output::default() };
    let file = a.s.unwrap_or(512 << 10);
    let record = a.r.unwrap_or(4 << 10);
    let mut lines = Vec::new();
    // Cells and blocks with the rungs that fill them.
    let (mut cells, mut heard) = (Vec::new(), Vec::new());
    if let Some(processes) = a.t {
        output.each = Some((file, record));
        for (name, kind) in iozone::heard(&a.i) {
            heard.push((name, Rung { file, record, kind, direct: a.direct, processes }));
        }
    } else {
        let files = (a.n.unwrap_or(64 << 10), a.g.unwrap_or(512 << 20));
        let records = (a.y.unwrap_or(4 << 10), a.q.unwrap_or(16 << 20));
        let rows = match a.a {
            true => iozone::ladder(files, records, a.z),
            false => vec![(file, record)],
        };
        if a.a {
            lines.push("Auto Mode".to_owned());
            lines.push(format!("Using minimum file size of {} kilobytes.", files.0 / 1024));
            lines.push(format!("Using maximum file size of {} kilobytes.", files.1 / 1024));
            lines.push(format!("Using Minimum Record Size {} kB", records.0 / 1024));
            lines.push(format!("Using Maximum Record Size {} kB", records.1 / 1024));
        }
        for (file, record) in rows {
            let columns = (0..COLUMNS).filter(|c| wanted.contains(&HEADS[*c].3));
            cells.push(((file, record), iozone::measures(file, record, a.direct, columns)));
        }
    }
    let rungs: Vec<Rung> =
        cells.iter().flat_map(|c| c.1.iter().map(|m| m.1)).chain(heard.iter().map(|h| h.1)).collect();
    if rungs.is_empty() {
        return Err(wrong(
            "nothing is to be run: the largest file or record is smaller than the least, or -i has no test that is \
                simulated",
        ));
    }
    if a.show {
        let mut all = rungs;
        all.sort_unstable();
        all.dedup();
        let capacity = place.volume.capacity.0;
        let tests = by_load(&all).into_iter().map(|l| iozone::tests(&l[0], &place.host, &place.volume.name, capacity));
        tests.for_each(|t| output::print(&(a.on.scenario(&t) + "\n")));
        return Ok(ANSWERED);
    }
    if !a.direct {
        crate::output::say!("note: a simulated host has no page cache: files are as if they were larger than memory");
    }
    let (code, done) = climb(&a.on, &rungs, &place);
    for ((file, record), measures) in cells {
        let mut row = Row { file, record, ..Row::default() };
        for (column, rung) in measures {
            let rate = done.get(&rung).filter(|d| d.is_whole()).map(Done::rate).filter(|r| *r > 0.0);
            row.values[column] = rate.map(|r| unit.of_rate(r, record));
        }
        output.rows.push(row);
    }
    output.rows.retain(|r| r.values.iter().any(Option::is_some));
    for (name, rung) in heard {
        if let Some(done) = done.get(&rung).filter(|d| d.is_whole()) {
            output.blocks.push(block(name, done, &rung, unit));
        }
    }
    let text = match a.json {
        true => json(&done)?,
        false => {
            let mut text = pen::head(&output, &lines) + &pen::table(&output) + "\n" + &pen::blocks(&output);
            text.push_str("iozone test complete.\n");
            if a.reports {
                text.push_str("Excel output is below:\n\n");
                text.push_str(&pen::reports(&output));
            }
            text
        }
    };
    match &a.output {
        Some(path) => std::fs::write(path, text).map_err(|e| wrong(&format!("{}: {e}", path.display())))?,
        None => output::print(&text),
    }
    Ok(code)
}

fn block(name: &str, done: &Done, rung: &Rung, unit: Unit) -> Block {
    let rates = done.rates();
    // Throughput has no microseconds an operation.
    let unit = if unit == Unit::Operations { unit } else { Unit::Kib };
    let of = |rate: f64| unit.of_rate(rate, rung.record);
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let sum: f64 = rates.iter().sum();
    // When the first has moved its file, the slowest has moved as much less as it is slower.
    let moved = if most > 0.0 { least / most * rung.file as f64 } else { 0.0 };
    let moved = if unit == Unit::Operations { moved / rung.record as f64 } else { moved / 1024.0 };
    Block {
        processes: rung.processes,
        name: name.to_owned(),
        children: of(sum),
        parent: Some(of(sum)),
        min: Some(of(least)),
        max: Some(of(most)),
        avg: Some(of(sum / f64::from(rung.processes))),
        min_xfer: Some(moved),
    }
}

fn json(done: &BTreeMap<Rung, Done>) -> Result<String, u8> {
    let shown: Vec<Shown> = done
        .iter()
        .map(|(rung, done)| Shown {
            test: format!("{:?}{}", rung.kind, if rung.direct { ", direct" } else { "" }),
            file: rung.file,
            record: rung.record,
            processes: &done.processes,
        })
        .collect();
    serde_json::to_string_pretty(&shown).map(|t| t + "\n").map_err(|e| wrong(&e.to_string()))
}
