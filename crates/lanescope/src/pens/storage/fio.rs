//! Results of fio's jobs in fio's own form: its JSON, and a text for a person.
//!
//! Every key of a real file of 3.33 is there, in its type. What a simulated host does not have (context switches, page
//! faults, merges by a scheduler) is 0, as fio prints it for an engine that lacks it. `lat` is from the moment at which
//! a job wants an I/O, `slat` what of it passes before its thread's processor turns to it, and `clat` the rest, from
//! the call to its return, with the time of the call itself. So I/Os a second times the mean `lat` are the I/Os
//! outstanding, which the depths show. The counted time is one sample. As in fio, I/Os a second are those that ended in
//! it; latencies are of those that began in it too.

use super::ios::{Ios, done_by};
use crate::import::fio::json::{DEPTHS, Disk, EDGES, Entry, Lat, SPREAD_MS, SPREAD_NS, Side};
use crate::import::fio::{Job, JobFile, Output, Run};
use crate::pens::Paint;
use crate::result::{IoCounts, SimulatedIos, Simulation, Times};
use crate::units::digits;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The version whose form is written; readers look at it.
pub(crate) const FORM: &str = "fio-3.33";

/// What fio reports where a job does not say: `percentile_list`.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// What the threads that are reported as one have done.
#[derive(Default)]
struct Sum {
    threads: u32,
    time: f64,
    /// I/Os a second and bytes a second.
    rates: [Ios; 3],
    /// From the call, before it, and both together.
    times: [Times; 3],
    waits: [Times; 3],
    whole: [Times; 3],
    latencies: [BTreeMap<u64, u64>; 3],
    /// Time of workers' processors, and I/Os outstanding as each thread saw them, weighted by its I/Os.
    busy: f64,
    depths: [f64; 7],
}

impl Sum {
    fn add(&mut self, ios: &SimulatedIos) {
        let seen = &ios.seen;
        self.threads += 1;
        self.time = self.time.max(seen.time);
        let mut workers: Vec<u32> = seen.counts.iter().map(|c| c.worker).collect();
        workers.dedup();
        self.busy += workers.iter().map(|w| seen.busy_of(*w)).sum::<f64>();
        let rates = done_by(ios);
        for (sum, of) in self.rates.iter_mut().zip(&rates) {
            *sum = sum.plus(of);
        }
        for counts in &seen.counts {
            for (side, of) in [&counts.reads, &counts.writes, &counts.trims].into_iter().enumerate() {
                self.times[side] = self.times[side].plus(&of.times);
                self.waits[side] = self.waits[side].plus(&of.waits);
                self.whole[side] = self.whole[side].plus(&of.whole);
            }
        }
        for (sum, of) in self.latencies.iter_mut().zip(ios.latencies.iter().chain([&ios.trim_latencies])) {
            of.0.iter().for_each(|(edge, n)| *sum.entry(*edge).or_default() += n);
        }
        // By Little's law, with those that wait for the processor; fio counts at each submission.
        let per_second: f64 = rates.iter().map(|r| r.per_second).sum();
        let sides = seen.counts.iter().flat_map(|c| [&c.reads.whole, &c.writes.whole, &c.trims.whole]);
        let whole = sides.fold(Times::default(), |sum, of| sum.plus(of));
        let outstanding = (per_second * whole.mean()).round().clamp(1.0, 1e9) as u64;
        self.depths[outstanding.ilog2().min(6) as usize] += per_second;
    }

    fn per_second(&self) -> f64 {
        self.rates.iter().map(|r| r.per_second).sum()
    }
}

/// The results of a job file from its runs, in their order; one that has not run is left out. `now` is the time in ms
/// since 1970.
pub fn output(file: &JobFile, runs: &[(&Run, &Simulation)], now: u64) -> Output {
    let mut output = Output {
        version: FORM.into(),
        program: format!("lanescope-{}", env!("CARGO_PKG_VERSION")),
        timestamp: now,
        global: file.global.clone(),
        ..Output::default()
    };
    let mut disks: Vec<(Disk, f64)> = Vec::new();
    let mut elapsed = 0.0;
    for (run, simulation) in runs {
        elapsed += simulation.warmup + simulation.window;
        let first = output.entries.len();
        // Sums in the order of their entries, with the group that is reported as one.
        let mut sums: Vec<(Option<u32>, &Job, Sum)> = Vec::new();
        for thread in &run.threads {
            let Some(job) = file.jobs.get(thread.job) else { continue };
            let Some(flow) = simulation.flows.iter().find(|f| f.name == thread.flow) else { continue };
            let Some(ios) = &flow.ios else { continue };
            let group = job.group_reporting.then_some(job.group);
            let known = sums.iter().position(|s| group.is_some() && s.0 == group);
            let at = known.unwrap_or_else(|| {
                sums.push((group, job, Sum::default()));
                sums.len() - 1
            });
            sums[at].2.add(ios);
            for of in &ios.seen.counts {
                count_disk(&mut disks, of, &ios.busy, ios.seen.time);
            }
        }
        output.entries.extend(sums.iter().map(|(_, job, sum)| entry(job, sum, elapsed)));
        // The share of a group.
        for side in 0..3 {
            let group: f64 = output.entries[first..].iter().map(|e| e.sides[side].rate).sum();
            for of in output.entries[first..].iter_mut().map(|e| &mut e.sides[side]).filter(|s| s.rate > 0.0) {
                of.share = of.rate / group * 100.0;
            }
        }
    }
    output.disks = disks
        .into_iter()
        .map(|(disk, time)| Disk { busy: if time > 0.0 { disk.busy / time * 100.0 } else { 0.0 }, ..disk })
        .collect();
    output
}

/// Adds to what a volume did; `busy` of it is time until the end, when it becomes a share.
fn count_disk(disks: &mut Vec<(Disk, f64)>, of: &IoCounts, busy: &[(String, f64)], time: f64) {
    let at = disks.iter().position(|d| d.0.name == of.target).unwrap_or_else(|| {
        disks.push((Disk { name: of.target.clone(), ..Disk::default() }, 0.0));
        disks.len() - 1
    });
    let (disk, whole) = &mut disks[at];
    let head = format!("parts.{}: ", of.target);
    let share = busy.iter().find(|(name, _)| name.starts_with(&head)).map_or(0.0, |b| b.1);
    for (side, of) in [&of.reads, &of.writes].into_iter().enumerate() {
        disk.ios[side] += of.times.count;
        disk.ticks[side] += (of.times.sum * 1e3).round() as u64;
    }
    disk.busy += share * time;
    *whole += time;
}

fn entry(job: &Job, sum: &Sum, elapsed: f64) -> Entry {
    let ms = (sum.time * 1e3).round() as u64;
    let mut spread = [0.0; 32];
    for (edge, n) in sum.latencies.iter().flatten() {
        spread[EDGES.partition_point(|e| e < edge)] += *n as f64;
    }
    let whole: f64 = spread.iter().sum();
    let of = |n: f64, whole: f64| if whole > 0.0 { n / whole * 100.0 } else { 0.0 };
    let busy = of(sum.busy, sum.time * f64::from(sum.threads));
    Entry {
        name: job.name.clone(),
        group: job.group,
        options: job.options.clone(),
        error: 0,
        elapsed: elapsed.ceil() as u64,
        sides: [0, 1, 2].map(|s| side(job, sum, s)),
        runtime: ms * u64::from(sum.threads),
        // System calls, drivers and interrupts are what a worker's processor does.
        processor: [0.0, busy],
        depths: sum.depths.map(|d| of(d, sum.per_second())),
        spread: spread.map(|n| of(n, whole)),
        depth: job.depth,
    }
}

/// The time within which so many percent of I/Os in bins are, as fio counts them: the edge of the bin in which that
/// many are reached.
pub fn percentile(bins: &[(u64, u64)], percent: f64) -> u64 {
    let all: u64 = bins.iter().map(|b| b.1).sum();
    let want = (percent / 100.0 * all as f64).ceil().max(1.0) as u64;
    let mut before = 0;
    let found = bins.iter().find(|b| {
        before += b.1;
        before >= want
    });
    found.map_or(0, |b| b.0)
}

/// How long I/Os of one direction took, from the call to its return.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// (time in ns, how many), ascending.
    pub bins: Vec<(u64, u64)>,
    /// The longest, ns.
    pub longest: u64,
}

impl Spread {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|b| b.1).sum()
    }

    /// The time within which so many percent of them are, ns. A bin's edge may lie behind all that is in it.
    fn reached(&self, percent: f64) -> u64 {
        percentile(&self.bins, percent).min(self.longest)
    }

    /// The same; none where there are too few to tell: not one beyond it.
    pub fn within(&self, percent: f64) -> Option<u64> {
        let beyond = (1.0 - percent / 100.0) * self.count() as f64;
        (beyond >= 1.0 - 1e-9).then(|| self.reached(percent))
    }
}

/// How long the I/Os of each job of a run took, all of its clones together: by its place in the file, reads, writes and
/// trims.
pub fn spreads(run: &Run, simulation: &Simulation) -> BTreeMap<usize, [Spread; 3]> {
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    for thread in &run.threads {
        let flow = simulation.flows.iter().find(|f| f.name == thread.flow);
        if let Some(ios) = flow.and_then(|f| f.ios.as_ref()) {
            sums.entry(thread.job).or_default().add(ios);
        }
    }
    sums.iter().map(|(job, sum)| (*job, [0, 1, 2].map(|side| spread(sum, side)))).collect()
}

fn spread(sum: &Sum, side: usize) -> Spread {
    Spread {
        bins: sum.latencies[side].iter().map(|(edge, n)| (*edge, *n)).collect(),
        longest: (sum.times[side].max * 1e9).round() as u64,
    }
}

fn side(job: &Job, sum: &Sum, side: usize) -> Side {
    let times = &sum.times[side];
    if times.count == 0 || sum.time <= 0.0 {
        return Side::default();
    }
    let Ios { rate, per_second, .. } = sum.rates[side];
    let ios = (per_second * sum.time).round();
    let spread = spread(sum, side);
    let list = if job.percentiles.is_empty() { &PERCENTILES[..] } else { &job.percentiles };
    let lat = |times: &Times| {
        let n = times.count as f64;
        let variance = if times.count > 1 { (times.squares - times.sum * times.sum / n) / (n - 1.0) } else { 0.0 };
        Lat {
            count: times.count,
            min: (times.min * 1e9).round() as u64,
            max: (times.max * 1e9).round() as u64,
            mean: times.mean() * 1e9,
            deviation: variance.max(0.0).sqrt() * 1e9,
            ..Lat::default()
        }
    };
    let mut percentiles: Vec<(f64, u64)> = list.iter().map(|p| (*p, spread.reached(*p))).collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let kib = rate / 1024.0;
    Side {
        bytes: (ios * rate / per_second).round() as u64,
        rate,
        per_second,
        runtime: (sum.time * 1e3).round() as u64,
        ios: ios as u64,
        slat: if sum.waits[side].max > 0.0 { lat(&sum.waits[side]) } else { Lat::default() },
        clat: Lat { percentiles, bins: spread.bins, ..lat(times) },
        lat: lat(&sum.whole[side]),
        rates: [kib, kib, kib, 0.0],
        ios_rates: [per_second, per_second, per_second, 0.0],
        samples: 1,
        share: 0.0,
    }
}

/// A value of fio's JSON: whole numbers have no point, others six digits behind it.
enum Json {
    Text(String),
    Whole(i128),
    Float(f64),
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
}

use Json::{Array, Float, Object, Text, Whole};

fn object<K: Into<String>>(pairs: impl IntoIterator<Item = (K, Json)>) -> Json {
    Object(pairs.into_iter().map(|(k, v)| (k.into(), v)).collect())
}

fn whole(n: u64) -> Json {
    Whole(i128::from(n))
}

impl Json {
    fn write(&self, out: &mut String, depth: usize) {
        let inner = "  ".repeat(depth + 1);
        let quoted = |s: &str| serde_json::Value::from(s).to_string();
        match self {
            Text(s) => out.push_str(&quoted(s)),
            Whole(n) => out.push_str(&n.to_string()),
            Float(v) => {
                let _ = write!(out, "{v:.6}");
            }
            Object(pairs) => {
                out.push_str("{\n");
                for (i, (key, value)) in pairs.iter().enumerate() {
                    let _ = write!(out, "{inner}{} : ", quoted(key));
                    value.write(out, depth + 1);
                    out.push_str(if i + 1 < pairs.len() { ",\n" } else { "\n" });
                }
                let _ = write!(out, "{}}}", &inner[2..]);
            }
            Array(list) => {
                out.push_str("[\n");
                for (i, value) in list.iter().enumerate() {
                    out.push_str(&inner);
                    value.write(out, depth + 1);
                    out.push_str(if i + 1 < list.len() { ",\n" } else { "\n" });
                }
                let _ = write!(out, "{}]", &inner[2..]);
            }
        }
    }
}

/// fio's JSON, or with `plus` its json+, in the form and units of `FORM` whatever the version that was read.
pub fn json(output: &Output, plus: bool) -> String {
    let options = |of: &[(String, String)]| object(of.iter().map(|(k, v)| (k.clone(), Text(v.clone()))));
    let mut pairs = vec![("fio version", Text(FORM.into()))];
    if !output.program.is_empty() {
        pairs.push(("lanescope", Text(output.program.clone())));
    }
    pairs.extend([
        ("timestamp", whole(output.timestamp / 1000)),
        ("timestamp_ms", whole(output.timestamp)),
        ("time", Text(clock(output.timestamp / 1000))),
        ("global options", options(&output.global)),
        ("jobs", Array(output.entries.iter().map(|e| entry_json(e, options(&e.options), plus)).collect())),
        ("disk_util", Array(output.disks.iter().map(disk_json).collect())),
    ]);
    let mut out = String::new();
    object(pairs).write(&mut out, 0);
    out + "\n"
}

fn disk_json(disk: &Disk) -> Json {
    object([
        ("name", Text(disk.name.clone())),
        ("read_ios", whole(disk.ios[0])),
        ("write_ios", whole(disk.ios[1])),
        ("read_merges", whole(0)),
        ("write_merges", whole(0)),
        ("read_ticks", whole(disk.ticks[0])),
        ("write_ticks", whole(disk.ticks[1])),
        ("in_queue", whole(disk.ticks[0] + disk.ticks[1])),
        ("util", Float(disk.busy)),
    ])
}

fn entry_json(e: &Entry, options: Json, plus: bool) -> Json {
    let labelled = |labels: &[&str], values: &[f64]| {
        object(labels.iter().map(|l| (*l).to_owned()).zip(values.iter().map(|v| Float(*v))))
    };
    // Workers of the simulator issue and see I/Os one at a time.
    let ios = e.sides.iter().any(|s| s.ios > 0);
    let single = || {
        let share = if ios { 100.0 } else { 0.0 };
        labelled(&["0", "4", "8", "16", "32", "64", ">=64"], &[0.0, share, 0.0, 0.0, 0.0, 0.0, 0.0])
    };
    let nothing = Lat::default();
    object([
        ("jobname", Text(e.name.clone())),
        ("groupid", whole(u64::from(e.group))),
        ("error", Whole(i128::from(e.error))),
        ("eta", whole(0)),
        ("elapsed", whole(e.elapsed)),
        ("job options", options),
        ("read", side_json(&e.sides[0], plus)),
        ("write", side_json(&e.sides[1], plus)),
        ("trim", side_json(&e.sides[2], plus)),
        ("sync", object([("total_ios", whole(0)), ("lat_ns", lat_json(&nothing, plus))])),
        ("job_runtime", whole(e.runtime)),
        ("usr_cpu", Float(e.processor[0])),
        ("sys_cpu", Float(e.processor[1])),
        ("ctx", whole(0)),
        ("majf", whole(0)),
        ("minf", whole(0)),
        ("iodepth_level", labelled(&DEPTHS, &e.depths)),
        ("iodepth_submit", single()),
        ("iodepth_complete", single()),
        ("latency_ns", labelled(&SPREAD_NS, &e.spread[..10])),
        ("latency_us", labelled(&SPREAD_NS, &e.spread[10..20])),
        ("latency_ms", labelled(&SPREAD_MS, &e.spread[20..])),
        ("latency_depth", whole(u64::from(e.depth))),
        ("latency_target", whole(0)),
        ("latency_percentile", Float(100.0)),
        ("latency_window", whole(0)),
    ])
}

fn side_json(s: &Side, plus: bool) -> Json {
    let round = |v: f64| whole(v.round().max(0.0) as u64);
    object([
        ("io_bytes", whole(s.bytes)),
        ("io_kbytes", whole(s.bytes / 1024)),
        ("bw_bytes", round(s.rate)),
        ("bw", whole((s.rate / 1024.0) as u64)),
        ("iops", Float(s.per_second)),
        ("runtime", whole(s.runtime)),
        ("total_ios", whole(s.ios)),
        ("short_ios", whole(0)),
        ("drop_ios", whole(0)),
        ("slat_ns", lat_json(&s.slat, plus)),
        ("clat_ns", lat_json(&s.clat, plus)),
        ("lat_ns", lat_json(&s.lat, plus)),
        ("bw_min", round(s.rates[0])),
        ("bw_max", round(s.rates[1])),
        ("bw_agg", Float(s.share)),
        ("bw_mean", Float(s.rates[2])),
        ("bw_dev", Float(s.rates[3])),
        ("bw_samples", whole(s.samples)),
        ("iops_min", round(s.ios_rates[0])),
        ("iops_max", round(s.ios_rates[1])),
        ("iops_mean", Float(s.ios_rates[2])),
        ("iops_stddev", Float(s.ios_rates[3])),
        ("iops_samples", whole(s.samples)),
    ])
}

fn lat_json(l: &Lat, plus: bool) -> Json {
    let mut pairs = vec![
        ("min", whole(l.min)),
        ("max", whole(l.max)),
        ("mean", Float(l.mean)),
        ("stddev", Float(l.deviation)),
        ("N", whole(l.count)),
    ];
    if !l.percentiles.is_empty() {
        pairs.push(("percentile", object(l.percentiles.iter().map(|(p, t)| (format!("{p:.6}"), whole(*t))))));
    }
    if plus && !l.bins.is_empty() {
        pairs.push(("bins", object(l.bins.iter().map(|(t, n)| (t.to_string(), whole(*n))))));
    }
    object(pairs)
}

/// A moment as C's `ctime` writes it, in UTC: `Sat Nov 21 19:05:54 2026`; empty behind the year 9999.
fn clock(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|s| jiff::Timestamp::from_second(s).ok());
    moment.map_or_else(String::new, |m| m.strftime("%a %b %e %H:%M:%S %Y").to_string())
}

/// The results for a person, near to fio's own: a block for each job.
pub fn text(output: &Output, paint: Paint) -> String {
    let mut out = String::new();
    for e in &output.entries {
        let _ = writeln!(out, "{}{}{}: (groupid={}): err={:2}", paint.strong, e.name, paint.off, e.group, e.error);
        for (side, name) in e.sides.iter().zip(["read", "write", "trim"]).filter(|s| s.0.ios > 0) {
            let (mib, mb) = (side.rate / f64::from(1 << 20), side.rate / 1e6);
            let _ = writeln!(
                out,
                "  {name}: IOPS={}, BW={}MiB/s ({}MB/s)({}MiB/{}msec)",
                digits(side.per_second),
                digits(mib),
                digits(mb),
                digits(side.bytes as f64 / f64::from(1 << 20)),
                side.runtime
            );
            let us = |ns: f64| digits(ns / 1e3);
            let l = &side.lat;
            let _ = writeln!(
                out,
                "    lat (usec): min={}, max={}, avg={}, stdev={}",
                us(l.min as f64),
                us(l.max as f64),
                us(l.mean),
                us(l.deviation)
            );
            let list = &side.clat.percentiles;
            if !list.is_empty() {
                let _ = writeln!(out, "    clat percentiles (usec):");
            }
            for row in list.chunks(4) {
                let cells: Vec<String> = row.iter().map(|(p, t)| format!("{p:5.2}th=[{:>7}]", us(*t as f64))).collect();
                let _ = writeln!(out, "     | {}", cells.join(", "));
            }
        }
        for (labels, from, unit) in [(&SPREAD_NS[..], 0, "nsec"), (&SPREAD_NS, 10, "usec"), (&SPREAD_MS, 20, "msec")] {
            let shares = labels.iter().zip(&e.spread[from..]).filter(|s| *s.1 >= 0.005);
            let shares: Vec<String> = shares.map(|(l, s)| format!("{l}={s:.2}%")).collect();
            if !shares.is_empty() {
                let _ = writeln!(out, "  lat ({unit})   : {}", shares.join(", "));
            }
        }
        let [user, system] = e.processor;
        let _ = writeln!(out, "  cpu          : usr={user:.2}%, sys={system:.2}%");
        let depths: Vec<String> = DEPTHS.iter().zip(e.depths).map(|(l, s)| format!("{l}={s:.1}%")).collect();
        let _ = writeln!(out, "  IO depths    : {}", depths.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{IoSeen, Latencies};

    #[test]
    fn moments_are_written_as_ctime_writes_them() {
        assert_eq!(clock(0), "Thu Jan  1 00:00:00 1970");
        // As in a real file.
        assert_eq!(clock(1_795_287_954), "Sat Nov 21 19:05:54 2026");
        assert_eq!(clock(951_782_399), "Mon Feb 28 23:59:59 2000");
        assert_eq!(clock(951_782_400), "Tue Feb 29 00:00:00 2000");
        assert_eq!(clock(u64::MAX), "");
    }

    #[test]
    fn what_threads_count_is_added_up() {
        let times = |n: u64, each: f64| Times {
            count: n,
            sum: n as f64 * each,
            squares: n as f64 * each * each,
            min: each,
            max: each,
        };
        let counts = |n: u64, each: f64| IoCounts {
            reads: crate::result::IoSide {
                bytes: n * 4096,
                times: times(n, each),
                whole: times(n, each),
                ..Default::default()
            },
            ..IoCounts::default()
        };
        let ios = |n: u64, each: f64, busy: f64| SimulatedIos {
            per_second: n as f64,
            stages: [0.0; 6],
            busy: Vec::new(),
            seen: IoSeen { time: 1.0, counts: vec![counts(n, each)], busy: vec![busy] },
            oldest: 0.0,
            cached: 0,
            latencies: [Latencies(vec![((each * 1e9) as u64, n)]), Latencies::default()],
            trim_latencies: Latencies::default(),
        };
        let mut sum = Sum::default();
        // 1000 I/Os of 10 ms in 1 s: ten are outstanding; then 500 of 2 ms: one.
        sum.add(&ios(1000, 10e-3, 0.5));
        sum.add(&ios(500, 2e-3, 0.1));
        let mut file = JobFile::default();
        let mut d = crate::diagnostic::Diagnostics::default();
        let source = d.add_source("a.fio", "[a]\nrw=randread\ndirect=1\npercentile_list=30:99\n");
        file.jobs.extend(
            crate::import::fio::job::read(&mut d, source, false, &mut |_| Err(String::new())).expect("a job").jobs,
        );
        let e = entry(&file.jobs[0], &sum, 1.2);
        let s = &e.sides[0];
        assert_eq!((s.ios, s.bytes, s.per_second, s.runtime), (1500, 1500 * 4096, 1500.0, 1000));
        assert_eq!((e.runtime, e.elapsed, e.processor[1]), (2000, 2, 30.0));
        assert_eq!(s.clat.percentiles, [(30.0, 2_000_000), (99.0, 10_000_000)]);
        // Eight to fifteen, and one.
        assert!((e.depths[3] - 200.0 / 3.0).abs() < 1e-9 && (e.depths[0] - 100.0 / 3.0).abs() < 1e-9, "{:?}", e.depths);
        // 2 ms and 10 ms are the last of their bins.
        assert!(
            (e.spread[20] - 100.0 / 3.0).abs() < 1e-9 && (e.spread[22] - 200.0 / 3.0).abs() < 1e-9,
            "{:?}",
            e.spread
        );
        let mean: f64 = (1000.0 * 10e6 + 500.0 * 2e6) / 1500.0;
        assert!((s.lat.mean - mean).abs() < 1e-3);
        // Two values, 8 ms apart: sqrt(1/3 x 2/3) x 8 ms.
        assert!((s.lat.deviation / (8e6 * (2.0f64 / 9.0).sqrt()) - 1.0).abs() < 1e-3, "{}", s.lat.deviation);
    }
}
