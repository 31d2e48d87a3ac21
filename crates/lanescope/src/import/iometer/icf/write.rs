//! Writes set-ups as Iometer 1.1.0 does: what it writes, it reads.

use super::super::{
    Cycling, MOST_SPEC_NAME, MOST_TARGET_NAME, Manager, Setup, Spawn, Spec, Statistic, Worker, WorkerKind,
};
use super::version;
use std::fmt::Write;

/// The first and the last line.
const VERSION: &str = "Version 1.1.0 ";
/// What section names are filled with.
const WIDE: &str = "====================================================================";
/// What a field of a number is filled to.
const WIDTH: usize = 11;

/// The text of a set-up. What cannot stand in such a line (breaks, a leading ', commas in names of specifications) is
/// taken out of names.
pub fn write(setup: &Setup) -> String {
    let mut out = String::new();
    let _ = text(setup, &mut out);
    out
}

/// A name that can stand alone in a line and is still itself when read again.
fn clean(name: &str, most: usize) -> String {
    let flat: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let bare = flat.trim_start_matches(|c: char| c.is_whitespace() || c == '\'' || c == '\u{feff}');
    let short: String = bare.chars().take(most).collect();
    // A line Version 1 ends the file.
    if version(short.trim_end()).is_some() {
        short.trim_end().replace(char::is_whitespace, "-")
    } else {
        short.trim_end().to_owned()
    }
}

/// The same where there must be one.
fn named(name: &str, most: usize, without: &str) -> String {
    let name = clean(name, most);
    if name.is_empty() { without.to_owned() } else { name }
}

/// The name of an access specification.
fn spec_name(name: &str) -> String {
    named(&name.replace(',', ";"), MOST_SPEC_NAME, "Untitled 1")
}

/// `'TEST SETUP ====…`, 80 characters in all.
fn section(name: &str, out: &mut String) -> std::fmt::Result {
    writeln!(out, "'{name} {}", &("=".repeat(12) + WIDE)[..78 - name.len()])
}

fn text(setup: &Setup, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{VERSION}")?;
    if let Some(test) = &setup.test {
        section("TEST SETUP", out)?;
        writeln!(out, "'Test Description\n\t{}", clean(&test.description, usize::MAX))?;
        let [h, m, s] = test.run_time;
        writeln!(out, "'Run Time\n'\thours      minutes    seconds\n\t{h:<WIDTH$}{m:<WIDTH$}{s}")?;
        writeln!(out, "'Ramp Up Time (s)\n\t{}", test.ramp_up)?;
        let spawn = |spawn| match spawn {
            Spawn::Processors => "NUMBER_OF_CPUS".to_owned(),
            Spawn::Number(n) => n.to_string(),
        };
        writeln!(out, "'Default Disk Workers to Spawn\n\t{}", spawn(test.disk_workers))?;
        writeln!(out, "'Default Network Workers to Spawn\n\t{}", spawn(test.network_workers))?;
        writeln!(out, "'Record Results\n\t{}", test.record.token())?;
        let kind = |c: Cycling| if c.exponential { "EXPONENTIAL" } else { "LINEAR" };
        for (name, c) in [("Worker", test.workers), ("Disk", test.targets)] {
            writeln!(out, "'{name} Cycling\n'\tstart      step       step type")?;
            writeln!(out, "\t{:<WIDTH$}{:<WIDTH$}{}", c.start, c.step, kind(c))?;
        }
        let c = test.queue;
        writeln!(out, "'Queue Depth Cycling\n'\tstart      end        step       step type")?;
        writeln!(out, "\t{:<WIDTH$}{:<WIDTH$}{:<WIDTH$}{}", c.start, test.queue_end, c.step, kind(c))?;
        writeln!(out, "'Test Type\n\t{}\n'END test setup", test.test_type.token())?;
    }
    if let Some(display) = &setup.display {
        section("RESULTS DISPLAY", out)?;
        let record = if display.record_last { "ENABLED" } else { "DISABLED" };
        let since = if display.since_last { "LAST_UPDATE" } else { "WHOLE_TEST" };
        writeln!(
            out,
            "'Record Last Update Results,Update Frequency,Update Type\n\t{record},{},{since}",
            display.frequency
        )?;
        for (i, (chart, usual)) in display.charts.iter().zip(Statistic::DEFAULT).enumerate() {
            let n = i + 1;
            writeln!(out, "'Bar chart {n} statistic\n\t{}", chart.statistic.unwrap_or(usual).name())?;
            if let Some((id, name)) = &chart.manager {
                writeln!(out, "'Bar chart {n} manager ID, manager name\n\t{id},{}", clean(name, usize::MAX))?;
                if let Some((id, name)) = &chart.worker {
                    writeln!(out, "'Bar chart {n} worker ID, worker name\n\t{id},{}", clean(name, usize::MAX))?;
                }
            }
        }
        writeln!(out, "'END results display")?;
    }
    if !setup.specs.is_empty() {
        section("ACCESS SPECIFICATIONS", out)?;
        for spec in &setup.specs {
            writeln!(out, "'Access specification name,default assignment")?;
            writeln!(out, "\t{},{}", spec_name(&spec.name), spec.assignment.token())?;
            writeln!(out, "'size,% of size,% reads,% random,delay,burst,align,reply")?;
            lines(spec, out)?;
        }
        writeln!(out, "'END access specifications")?;
    }
    if !setup.managers.is_empty() {
        section("MANAGER LIST", out)?;
        setup.managers.iter().try_for_each(|m| manager(m, out))?;
        writeln!(out, "'END manager list")?;
    }
    writeln!(out, "{VERSION}")
}

/// The lines of an access specification, each field as Iometer has it: whole percentages and milliseconds.
fn lines(spec: &Spec, out: &mut String) -> std::fmt::Result {
    for l in &spec.lines {
        let delay = l.delay.fs() / 1_000_000_000_000;
        let percent = |hundredths: u32| hundredths / 100;
        let (share, read, random) = (percent(l.share), percent(l.read), percent(l.random));
        let (size, align, reply) = (l.size.0, l.align.0, l.reply.0);
        writeln!(out, "\t{size},{share},{read},{random},{delay},{},{align},{reply}", l.burst)?;
    }
    Ok(())
}

fn manager(manager: &Manager, out: &mut String) -> std::fmt::Result {
    writeln!(out, "'Manager ID, manager name\n\t{},{}", manager.id, clean(&manager.name, usize::MAX))?;
    writeln!(out, "'Manager network address\n\t{}", clean(&manager.address, usize::MAX))?;
    manager.workers.iter().try_for_each(|w| worker(w, out))?;
    writeln!(out, "'End manager")
}

fn worker(worker: &Worker, out: &mut String) -> std::fmt::Result {
    let switch = |on: bool| if on { "ENABLED" } else { "DISABLED" };
    writeln!(out, "'Worker\n\t{}", named(&worker.name, MOST_SPEC_NAME, "Worker"))?;
    writeln!(out, "'Worker type\n\t{}", worker.kind.token())?;
    writeln!(out, "'Default target settings for worker")?;
    writeln!(
        out,
        "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value"
    )?;
    let (transactions, seed) = (worker.transactions_per_connection, worker.fixed_seed);
    writeln!(
        out,
        "\t{},{},{},{},{}",
        worker.outstanding,
        switch(transactions.is_some()),
        transactions.unwrap_or(1),
        switch(seed.is_some()),
        seed.unwrap_or(0)
    )?;
    if worker.kind == WorkerKind::Disk {
        writeln!(out, "'Disk maximum size,starting sector,Data pattern")?;
        writeln!(out, "\t{},{},{}", worker.maximum_size, worker.starting_sector, worker.data_pattern)?;
    }
    if let Some(interface) = &worker.interface {
        writeln!(out, "'Local network interface\n\t{}", clean(interface, usize::MAX))?;
    }
    if let Some(sends) = worker.vi_outstanding {
        writeln!(out, "'VI outstanding IOs\n\t{sends}")?;
    }
    writeln!(out, "'End default target settings for worker")?;
    if let Some(specs) = &worker.specs {
        writeln!(out, "'Assigned access specs")?;
        specs.iter().try_for_each(|(name, _)| writeln!(out, "\t{}", spec_name(name)))?;
        writeln!(out, "'End assigned access specs")?;
    }
    writeln!(out, "'Target assignments")?;
    for target in &worker.targets {
        writeln!(out, "'Target\n\t{}", named(&target.name, MOST_TARGET_NAME, "Target"))?;
        writeln!(out, "'Target type\n\t{}", target.kind.token())?;
        if let Some((id, name)) = &target.manager {
            writeln!(out, "'Target manager ID, manager name\n\t{id},{}", clean(name, usize::MAX))?;
        }
        writeln!(out, "'End target")?;
    }
    writeln!(out, "'End target assignments\n'End worker")
}
