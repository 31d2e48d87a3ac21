//! What Iometer would say of a simulated run: its 34 statistics for all managers, a manager or a worker, at the end or
//! at any moment, and its results.
//!
//! A simulated host has no interrupts, no deferred procedure calls, no privileged mode and no counters of its network
//! adapter: those have no value, and are empty in results, as Iometer leaves empty what a row does not have; a 0 would
//! say that there were none. Errors are 0: simulated disks have none. A processor belongs to a worker, and % CPU
//! Utilization is the share of the time in which it issues and completes I/Os: of a manager the mean of its processors,
//! of all the mean of the managers, as Iometer has it. Times are counted in ticks of 1 ns, so the "Processor Speed" is
//! 1e9 ticks a second.

pub mod save;

use crate::import::iometer::csv::{Block, Column, Form, Row, RowKind, TestResults};
use crate::import::iometer::{
    Active, Chart, IometerTest, Record, Setup, Spec, Statistic, TestSetup, Worker, WorkerKind, cycle,
};
use crate::result::{IoCounts, IoSeen, IoSide, Latencies, Report, SimulatedIos, Times, lasted};
use serde::Serialize;
use std::collections::BTreeMap;

/// Ticks of the clock in which raw times are counted, per second.
const TICKS: f64 = 1e9;
/// What Iometer prints for a setting that is off, or in which the workers of a row differ.
const AMBIGUOUS: f64 = -1.0;
/// The percentiles that stand beside Iometer's results.
pub const PERCENTILES: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Whose numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// All managers.
    All,
    /// A manager, by its place in the set-up.
    Manager(usize),
    /// A worker, by the places of its manager and of itself.
    Worker(usize, usize),
}

impl Who {
    /// Whom a bar chart is bound to. As in Iometer, a manager that is not there is the only one, or all; a worker
    /// likewise.
    pub fn of(setup: &Setup, chart: &Chart) -> Who {
        let Some((id, name)) = &chart.manager else { return Who::All };
        let all = &setup.managers;
        let same = all.iter().position(|m| m.name == *name && m.id == *id);
        let found = same.or_else(|| all.iter().position(|m| m.name == *name)).or((all.len() == 1).then_some(0));
        let Some(m) = found else { return Who::All };
        let workers = &all[m].workers;
        let Some((_, name)) = &chart.worker else { return Who::Manager(m) };
        let found = workers.iter().position(|w| w.name == *name).or((workers.len() == 1).then_some(0));
        found.map_or(Who::Manager(m), |w| Who::Worker(m, w))
    }

    fn has(self, active: &Active) -> bool {
        match self {
            Who::All => true,
            Who::Manager(m) => active.load.manager == m,
            Who::Worker(m, w) => (active.load.manager, active.load.worker) == (m, w),
        }
    }
}

/// What was counted of a test, by its workers.
pub struct Counted<'a> {
    test: &'a IometerTest,
    /// Of each worker of the test: its counts, one for each target, and the share of the time in which its processor
    /// worked.
    workers: Vec<(Vec<&'a IoCounts>, f64)>,
    time: f64,
}

impl<'a> Counted<'a> {
    /// From what a run has seen, at any moment: of all its flows ([`crate::sim::Run::ios`]), or of each.
    pub fn new(test: &'a IometerTest, seen: &[&'a IoSeen]) -> Counted<'a> {
        let mut workers: Vec<(Vec<&IoCounts>, f64)> = vec![(Vec::new(), 0.0); test.workers.len()];
        // Flows come in the order of the scenario, which is that of the workers; instances have a number behind the
        // name.
        let mut next = 0;
        for seen in seen {
            for c in &seen.counts {
                let is = |a: &Active| c.flow.strip_prefix(&a.flow).is_some_and(|r| r.is_empty() || r.starts_with('.'));
                let found = (next..test.workers.len()).chain(0..next).find(|&i| is(&test.workers[i]));
                let Some(i) = found else { continue };
                next = i;
                workers[i].0.push(c);
                if seen.time > 0.0 {
                    workers[i].1 = seen.busy_of(c.worker) / seen.time;
                }
            }
        }
        Counted { test, workers, time: seen.iter().map(|s| s.time).fold(0.0, f64::max) }
    }

    /// Sums over some workers.
    pub fn sums(&self, who: Who) -> Sums {
        let mut sums = Sums { time: self.time, ..Sums::default() };
        // Means of processors by manager, then of managers.
        let mut managers: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (active, (counts, busy)) in self.test.workers.iter().zip(&self.workers).filter(|(a, _)| who.has(a)) {
            counts.iter().for_each(|c| sums.add(c));
            let (sum, number) = managers.entry(active.load.manager).or_default();
            (*sum, *number) = (*sum + busy, *number + 1.0);
        }
        if !managers.is_empty() {
            let means: f64 = managers.values().map(|(sum, number)| sum / number).sum();
            sums.cpu = Some(means / managers.len() as f64 * 100.0);
        }
        sums.timed()
    }

    /// The same of one target of one worker, by their places in the test.
    fn target(&self, worker: usize, target: usize) -> Sums {
        let mut sums = Sums { time: self.time, ..Sums::default() };
        let volume = &self.test.workers[worker].volumes[target];
        self.workers[worker].0.iter().filter(|c| c.target == *volume).for_each(|c| sums.add(c));
        sums.timed()
    }
}

/// What some workers did together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// How long those counted took, s ([`lasted`]).
    pub time: f64,
    /// Reads.
    pub reads: IoSide,
    /// Writes.
    pub writes: IoSide,
    /// Transactions.
    pub transactions: Times,
    /// Connections.
    pub connections: Times,
    /// I/Os by latency.
    pub bins: [u64; 21],
    /// Share of processors that worked, %; none of targets.
    pub cpu: Option<f64>,
    /// Bytes that moved in the time, counted or not.
    moved: u64,
}

/// What a whole bar of a statistic stands for: 100 of a percentage, else the next 1, 2 or 5 with zeros above the most
/// that was seen.
pub fn full_scale(statistic: Statistic, most: f64) -> f64 {
    if statistic.show(0.0).ends_with('%') {
        return 100.0;
    }
    if !(most > 0.0 && most.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf(most.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|s| *s >= most).unwrap_or(10.0 * power)
}

impl Sums {
    /// Of some of the counts that runs have seen, each with the run it is of. Processors are the mean over workers.
    pub(crate) fn over<'a>(counts: impl Iterator<Item = (&'a IoCounts, &'a IoSeen)>) -> Sums {
        let mut sums = Sums::default();
        let mut busy: BTreeMap<u32, f64> = BTreeMap::new();
        for (c, seen) in counts {
            sums.add(c);
            sums.time = sums.time.max(seen.time);
            if seen.time > 0.0 {
                busy.insert(c.worker, seen.busy_of(c.worker) / seen.time);
            }
        }
        sums.cpu = (!busy.is_empty()).then(|| busy.values().sum::<f64>() / busy.len() as f64 * 100.0);
        sums.timed()
    }

    fn add(&mut self, c: &IoCounts) {
        let side = |a: &IoSide, b: &IoSide| IoSide {
            bytes: a.bytes + b.bytes,
            times: a.times.plus(&b.times),
            waits: a.waits.plus(&b.waits),
            whole: a.whole.plus(&b.whole),
        };
        self.reads = side(&self.reads, &c.reads);
        self.writes = side(&self.writes, &c.writes);
        self.transactions = self.transactions.plus(&c.transactions);
        self.connections = self.connections.plus(&c.connections);
        self.bins.iter_mut().zip(c.bins).for_each(|(sum, n)| *sum += n);
        self.moved += c.moved;
    }

    /// The same, with the time that those counted took.
    fn timed(mut self) -> Sums {
        self.time = lasted(self.time, self.reads.bytes + self.writes.bytes, self.moved);
        self
    }

    /// Times of all I/Os.
    pub(crate) fn ios(&self) -> Times {
        self.reads.times.plus(&self.writes.times)
    }

    /// A statistic; none where a simulated host has none.
    pub fn statistic(&self, statistic: Statistic) -> Option<f64> {
        let per_second = |n: f64| if self.time > 0.0 { n / self.time } else { 0.0 };
        let count = |t: &Times| per_second(t.count as f64);
        let rate = |sides: &[&IoSide], unit: f64| per_second(sides.iter().map(|s| s.bytes as f64).sum::<f64>()) / unit;
        let both: [&IoSide; 2] = [&self.reads, &self.writes];
        let ms = |seconds: f64| Some(seconds * 1e3);
        let (reads, writes) = (&self.reads.times, &self.writes.times);
        use Statistic as S;
        match statistic {
            S::Iops => Some(count(&self.ios())),
            S::ReadIops => Some(count(reads)),
            S::WriteIops => Some(count(writes)),
            S::Transactions => Some(count(&self.transactions)),
            S::Connections => Some(count(&self.connections)),
            S::MbpsDecimal => Some(rate(&both, 1e6)),
            S::ReadMbpsDecimal => Some(rate(&both[..1], 1e6)),
            S::WriteMbpsDecimal => Some(rate(&both[1..], 1e6)),
            S::MbpsBinary => Some(rate(&both, 1048576.0)),
            S::ReadMbpsBinary => Some(rate(&both[..1], 1048576.0)),
            S::WriteMbpsBinary => Some(rate(&both[1..], 1048576.0)),
            S::Average => ms(self.ios().mean()),
            S::AverageRead => ms(reads.mean()),
            S::AverageWrite => ms(writes.mean()),
            S::AverageTransaction => ms(self.transactions.mean()),
            S::AverageConnection => ms(self.connections.mean()),
            S::Maximum => ms(self.ios().max),
            S::MaximumRead => ms(reads.max),
            S::MaximumWrite => ms(writes.max),
            S::MaximumTransaction => ms(self.transactions.max),
            S::MaximumConnection => ms(self.connections.max),
            S::Cpu => self.cpu,
            S::Effectiveness => self.cpu.map(|cpu| if cpu > 0.0 { count(&self.ios()) / cpu } else { 0.0 }),
            S::CpuUser | S::CpuPrivileged | S::CpuDpc | S::CpuInterrupt | S::Interrupts => None,
            S::Packets | S::PacketErrors | S::Retransmissions => None,
            S::TotalErrors | S::ReadErrors | S::WriteErrors => Some(0.0),
        }
    }
}

/// The column of results that shows a statistic.
fn column(statistic: Statistic) -> Column {
    use Column as C;
    use Statistic as S;
    match statistic {
        S::Iops => C::Iops,
        S::ReadIops => C::ReadIops,
        S::WriteIops => C::WriteIops,
        S::Transactions => C::Transactions,
        S::Connections => C::Connections,
        S::MbpsDecimal => C::MbPerSecond,
        S::ReadMbpsDecimal => C::ReadMbPerSecond,
        S::WriteMbpsDecimal => C::WriteMbPerSecond,
        S::MbpsBinary => C::MibPerSecond,
        S::ReadMbpsBinary => C::ReadMibPerSecond,
        S::WriteMbpsBinary => C::WriteMibPerSecond,
        S::Average => C::Average,
        S::AverageRead => C::AverageRead,
        S::AverageWrite => C::AverageWrite,
        S::AverageTransaction => C::AverageTransaction,
        S::AverageConnection => C::AverageConnection,
        S::Maximum => C::Maximum,
        S::MaximumRead => C::MaximumRead,
        S::MaximumWrite => C::MaximumWrite,
        S::MaximumTransaction => C::MaximumTransaction,
        S::MaximumConnection => C::MaximumConnection,
        S::Cpu => C::Cpu,
        S::CpuUser => C::CpuUser,
        S::CpuPrivileged => C::CpuPrivileged,
        S::CpuDpc => C::CpuDpc,
        S::CpuInterrupt => C::CpuInterrupt,
        S::Interrupts => C::Interrupts,
        S::Effectiveness => C::Effectiveness,
        S::Packets => C::Packets,
        S::PacketErrors => C::PacketErrors,
        S::Retransmissions => C::Retransmissions,
        S::TotalErrors => C::Errors,
        S::ReadErrors => C::ReadErrors,
        S::WriteErrors => C::WriteErrors,
    }
}

/// What a row says of sums: statistics, counts, bins, and raw times but for that of all managers.
fn fill(row: &mut Row, sums: &Sums) {
    for &s in Statistic::ALL {
        row.set(column(s), sums.statistic(s));
    }
    let (reads, writes) = (&sums.reads, &sums.writes);
    let counts = [
        (Column::BytesRead, reads.bytes),
        (Column::BytesWritten, writes.bytes),
        (Column::Reads, reads.times.count),
        (Column::Writes, writes.times.count),
        (Column::ConnectionCount, sums.connections.count),
    ];
    for (column, n) in counts {
        row.set(column, n as f64);
    }
    for (column, n) in Column::bins().iter().zip(sums.bins) {
        row.set(*column, n as f64);
    }
    if row.kind == RowKind::All {
        return;
    }
    let ticks = |seconds: f64| (seconds * TICKS).round();
    let times = [
        (Column::RawRead, Column::RawMaximumRead, &reads.times),
        (Column::RawWrite, Column::RawMaximumWrite, &writes.times),
        (Column::RawTransaction, Column::RawMaximumTransaction, &sums.transactions),
        (Column::RawConnection, Column::RawMaximumConnection, &sums.connections),
    ];
    for (total, longest, t) in times {
        row.set(total, ticks(t.sum));
        row.set(longest, ticks(t.max));
    }
    row.set(Column::RawRunTime, ticks(sums.time));
    row.set(Column::ProcessorSpeed, TICKS);
}

/// Settings of workers in a row: what they have in common.
fn settings<'a>(row: &mut Row, setup: &'a Setup, workers: &[&'a Active]) {
    let of = |a: &Active| &setup.managers[a.load.manager].workers[a.load.worker];
    fn common(mut values: impl Iterator<Item = f64>) -> f64 {
        let first = values.next().unwrap_or(AMBIGUOUS);
        if values.all(|v| v == first) { first } else { AMBIGUOUS }
    }
    let disks = |f: fn(&Worker) -> u64| {
        common(workers.iter().map(|a| of(a)).filter(|w| w.kind == WorkerKind::Disk).map(|w| f(w) as f64))
    };
    row.set(Column::StartingSector, disks(|w| w.starting_sector));
    row.set(Column::MaximumSize, disks(|w| w.maximum_size));
    row.set(Column::QueueDepth, common(workers.iter().map(|a| f64::from(a.load.outstanding))));
    let per_connection = |a: &&Active| of(a).transactions_per_connection.map_or(AMBIGUOUS, f64::from);
    row.set(Column::TransactionsPerConnection, common(workers.iter().map(per_connection)));
}

/// The access specification of a row; none where workers have several.
fn common_spec(workers: &[&Active]) -> String {
    let first = workers.first().map_or("", |a| a.spec.as_str());
    if workers.iter().all(|a| a.spec == first) { first.to_owned() } else { String::new() }
}

/// A test that is over, for [`results`].
pub struct Finished<'a> {
    /// Its place among the tests.
    pub index: usize,
    /// What was counted.
    pub seen: Vec<&'a IoSeen>,
    /// When it ended, as Iometer writes it: `2010-07-26 09:29:04:245`.
    pub ended: String,
}

/// What the flows of a report have counted.
pub fn seen(report: &Report) -> Vec<&IoSeen> {
    ios(report).map(|(_, ios)| &ios.seen).collect()
}

fn ios(report: &Report) -> impl Iterator<Item = (&str, &SimulatedIos)> {
    let flows = report.simulation.iter().flat_map(|s| &s.flows);
    flows.filter_map(|f| Some((f.name.as_str(), f.ios.as_ref()?)))
}

/// The results of a run, as Iometer records them: the rows that the set-up asks for.
pub fn results(setup: &Setup, tests: &[IometerTest], finished: &[Finished], form: Form, begun: &str) -> Block {
    let default = TestSetup::default();
    let of = setup.test.as_ref().unwrap_or(&default);
    let mut block = Block {
        test_type: of.test_type.number() as u32,
        description: format!("{} (simulated by lanescope {})", of.description, env!("CARGO_PKG_VERSION")),
        version: form.version().to_owned(),
        begun: begun.to_owned(),
        tests: Vec::new(),
    };
    if of.record == Record::None {
        return block;
    }
    let builtin = Spec::builtin();
    let mut last = None;
    for done in finished {
        let Some(test) = tests.get(done.index) else { continue };
        let mut specs: Vec<Spec> = Vec::new();
        if last.replace(test.spec) != Some(test.spec) {
            for a in &test.workers {
                let worker = &setup.managers[a.load.manager].workers[a.load.worker];
                let spec = cycle::spec_of(setup, worker, test.spec, &builtin);
                specs.extend(spec.filter(|s| specs.iter().all(|have| have.name != s.name)).cloned());
            }
        }
        let rows = rows(setup, of.record, test, &Counted::new(test, &done.seen));
        block.tests.push(TestResults { specs, form, rows, ended: done.ended.clone() });
    }
    block
}

/// The rows of a test.
fn rows(setup: &Setup, record: Record, test: &IometerTest, counted: &Counted) -> Vec<Row> {
    let everyone: Vec<&Active> = test.workers.iter().collect();
    let mut managers: Vec<usize> = everyone.iter().map(|a| a.load.manager).collect();
    managers.sort_unstable();
    managers.dedup();
    let targets = |workers: &[&Active]| workers.iter().map(|a| a.volumes.len()).sum::<usize>() as f64;
    let mut all = Row::new(RowKind::All, "All", common_spec(&everyone));
    fill(&mut all, &counted.sums(Who::All));
    settings(&mut all, setup, &everyone);
    all.set(Column::Managers, managers.len() as f64);
    all.set(Column::Workers, everyone.len() as f64);
    all.set(Column::Disks, targets(&everyone));
    let mut rows = vec![all];
    if record == Record::NoManagers {
        return rows;
    }
    for m in managers {
        let here: Vec<(usize, &Active)> =
            test.workers.iter().enumerate().filter(|(_, a)| a.load.manager == m).collect();
        let own: Vec<&Active> = here.iter().map(|(_, a)| *a).collect();
        let manager = &setup.managers[m];
        let mut row = Row::new(RowKind::Manager, &manager.name, common_spec(&own));
        fill(&mut row, &counted.sums(Who::Manager(m)));
        settings(&mut row, setup, &own);
        row.set(Column::Workers, own.len() as f64);
        row.set(Column::Disks, targets(&own));
        rows.push(row);
        for (cpu, (_, a)) in here.iter().enumerate() {
            let mut row = Row::new(RowKind::Processor, format!("CPU {cpu}"), "");
            row.set(Column::Cpu, counted.sums(Who::Worker(m, a.load.worker)).cpu);
            row.set(Column::ProcessorSpeed, TICKS);
            rows.push(row);
        }
        if record == Record::NoWorkers {
            continue;
        }
        for (i, a) in here {
            let worker = &manager.workers[a.load.worker];
            let mut row = Row::new(RowKind::Worker, &worker.name, &a.spec);
            // Processors have rows of their own.
            fill(&mut row, &Sums { cpu: None, ..counted.sums(Who::Worker(m, a.load.worker)) });
            settings(&mut row, setup, &[a]);
            row.set(Column::Disks, a.volumes.len() as f64);
            rows.push(row);
            if record == Record::NoTargets {
                continue;
            }
            for (t, target) in worker.targets.iter().take(a.volumes.len()).enumerate() {
                let mut row = match &target.manager {
                    Some((_, other)) => {
                        let own = worker.interface.as_deref().unwrap_or(&manager.name);
                        let name = format!("{}:{own} >> {other}:{}", manager.name, target.name);
                        Row::new(RowKind::Network, name, "")
                    }
                    None => Row::new(RowKind::Disk, &target.name, ""),
                };
                fill(&mut row, &counted.target(i, t));
                settings(&mut row, setup, &[a]);
                rows.push(row);
            }
        }
    }
    rows
}

/// Percentiles and the histogram of some workers' I/Os, for what stands beside Iometer's results.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many I/Os.
    pub count: u64,
    /// The [`PERCENTILES`], ms; none without I/Os. So many took no longer, to 1/128.
    pub percentiles: Vec<f64>,
    /// At most this long, ms, and how many.
    pub histogram: Vec<(f64, u64)>,
}

impl Spread {
    /// Of distributions together.
    pub(crate) fn of<'a>(all: impl Iterator<Item = &'a Latencies>) -> Spread {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        for &(edge, n) in all.flat_map(|l| &l.0) {
            *bins.entry(edge).or_default() += n;
        }
        let count: u64 = bins.values().sum();
        let at = |percent: f64| {
            let rank = ((percent / 100.0 * count as f64).ceil() as u64).max(1);
            let mut below = 0;
            let found = bins.iter().find(|(_, n)| {
                below += **n;
                below >= rank
            });
            found.map(|(edge, _)| *edge as f64 / 1e6)
        };
        let percentiles = PERCENTILES.iter().filter_map(|&p| at(p)).collect();
        Spread { count, percentiles, histogram: bins.iter().map(|(edge, n)| (*edge as f64 / 1e6, *n)).collect() }
    }

    /// Of some workers in a report: all I/Os, reads, writes.
    pub fn by_direction(report: &Report, test: &IometerTest, who: Who) -> [Spread; 3] {
        let chosen: Vec<&str> = test.workers.iter().filter(|a| who.has(a)).map(|a| a.flow.as_str()).collect();
        let latencies: Vec<_> =
            ios(report).filter(|(name, _)| chosen.contains(name)).map(|(_, i)| &i.latencies).collect();
        [&[0usize, 1][..], &[0], &[1]]
            .map(|sides| Spread::of(sides.iter().flat_map(|&s| latencies.iter().map(move |l| &l[s]))))
    }
}

#[cfg(test)]
mod tests;
