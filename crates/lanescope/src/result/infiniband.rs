//! What a message program took: the rows that an instrument prints, and where each rank's time went.

use super::{Binding, Ending, FlowReport, Idle, Interval, Metric, MetricKind, Note, SimulatedLink, Simulation};
use crate::mpi::{Account, Job, Machine, Section};
use crate::units::{Dimension, digits, human_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message program's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramReport {
    /// The flow of the scenario that runs it.
    pub flow: String,
    /// `imb PingPong, 2 ranks`.
    pub title: String,
    /// Ranks of the job.
    pub ranks: u32,
    /// What was timed, in the order of the program.
    pub rows: Vec<ProgramRow>,
    /// Its collectives and how they are done, each once; at most 64: `allreduce 1 MB: Rabenseifner (reduce-scatter +
    /// allgather)`.
    #[serde(default)]
    pub collectives: Vec<String>,
    /// One per rank; empty where nothing keeps it (an estimate).
    pub accounts: Vec<RankAccount>,
    /// Messages sent, those of collectives among them.
    pub messages: u64,
    /// Bytes in them, without any header.
    pub bytes: u64,
    /// Until the last rank was done, seconds.
    pub time: f64,
}

/// One row: a section of the program under the clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRow {
    /// `PingPong`, `is.C iteration`.
    pub name: String,
    /// Size of a message; null where there is none.
    pub bytes: Option<u64>,
    /// Ranks that took part.
    pub ranks: u32,
    /// Repetitions that the real instrument makes.
    pub repetitions: u64,
    /// Repetitions that these times are means of; 0 where they were worked out.
    pub simulated: u64,
    /// The time printed of the rank that was fastest, seconds: of a repetition, halved where the instrument halves.
    pub t_min: f64,
    /// Of the slowest rank, seconds.
    pub t_max: f64,
    /// The mean over ranks, seconds.
    pub t_avg: f64,
    /// The rate printed, bytes/s, over the slowest rank's time; null where none is.
    pub rate: Option<f64>,
    /// Messages/s, likewise.
    pub messages_per_second: Option<f64>,
    /// The slowest rank's time over repetitions, seconds.
    pub interval: Option<Interval>,
    /// How its collectives are done; null where it has none.
    #[serde(default)]
    pub algorithm: Option<String>,
}

/// Where a rank's time went, seconds; the parts add up to the time until it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankAccount {
    /// Working.
    pub computing: f64,
    /// In the library: the overheads of sending, receiving and matching.
    pub overhead: f64,
    /// Copying between buffers.
    pub copying: f64,
    /// Waiting for messages.
    pub waiting: f64,
}

/// Femtoseconds in a second.
const SECOND: f64 = 1e15;

/// Metrics of a message program: `flows.NAME.METRIC`, and with a size of a row in bytes `flows.NAME.t.SIZE`.
pub const PROGRAM_METRICS: &[MetricKind] = &[
    MetricKind { name: "time", doc: "until the last rank has ended" },
    MetricKind {
        name: "t",
        doc: "time of a row's repetition as the instrument prints it: t.SIZE; without a size, of the first row",
    },
    MetricKind { name: "rate", doc: "bytes per second of a row, as the instrument counts them: rate.SIZE" },
    MetricKind { name: "messages", doc: "messages per second of a row: messages.SIZE" },
    MetricKind { name: "per_second", doc: "repetitions of a row per second: of a program, iterations" },
];

impl ProgramReport {
    /// Gives the times that the program takes where it comes only so far, 0 to 1, in the time that it would take alone.
    /// What is added is waiting.
    pub(crate) fn stretch(&mut self, progress: f64) {
        if progress >= 1.0 || progress <= 0.0 {
            return;
        }
        let more = self.time / progress - self.time;
        self.time += more;
        self.accounts.iter_mut().for_each(|a| a.waiting += more);
        for row in &mut self.rows {
            for time in [&mut row.t_min, &mut row.t_max, &mut row.t_avg] {
                *time /= progress;
            }
            for rate in [&mut row.rate, &mut row.messages_per_second].into_iter().flatten() {
                *rate *= progress;
            }
            if let Some(interval) = &mut row.interval {
                interval.mean /= progress;
                interval.half = interval.half.map(|half| half / progress);
            }
        }
    }

    /// What a machine has come to.
    pub fn of(flow: &str, job: &Job, machine: &Machine) -> ProgramReport {
        const MOST: usize = 64;
        let called = job.collectives(MOST);
        let algorithm = |i: u32| {
            let mine = called.iter().filter(|c| c.0 == Some(i)).map(|c| c.1.as_str());
            Some(mine.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
        };
        let rows = (job.sections.iter().zip(0..)).filter_map(|(section, i)| {
            let rows: Vec<_> = machine.rows(i).iter().filter(|r| r.runs > 0).collect();
            let simulated = rows.iter().map(|r| r.runs).max()?;
            let means = || rows.iter().map(|r| r.mean(section.repetitions) / SECOND);
            let [min, max] = [means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max)];
            let row = ProgramRow::new(section, simulated, min, max, means().sum::<f64>() / rows.len() as f64);
            let row = ProgramRow { algorithm: algorithm(i), ..row };
            Some(match machine.half(i) {
                Some(half) => row.within(section, Interval { mean: max, half: Some(half / SECOND) }),
                None => row,
            })
        });
        let seconds = |fs: u64| fs as f64 / SECOND;
        let (mut messages, mut bytes) = (0, 0);
        let accounts = (machine.accounts())
            .map(|a| {
                messages += a.messages;
                bytes += a.bytes;
                RankAccount {
                    computing: seconds(a.computing),
                    overhead: seconds(a.sending + a.receiving),
                    copying: seconds(a.copying),
                    waiting: seconds(a.waiting),
                }
            })
            .collect();
        ProgramReport {
            flow: flow.into(),
            title: job.title.clone(),
            ranks: job.bodies.len() as u32,
            rows: rows.collect(),
            collectives: {
                let mut all: Vec<String> = Vec::new();
                called.iter().for_each(|c| {
                    if !all.contains(&c.1) {
                        all.push(c.1.clone())
                    }
                });
                all
            },
            accounts,
            messages,
            bytes,
            time: seconds(machine.time()),
        }
    }

    /// One of [`PROGRAM_METRICS`]; `None`: it is none of them.
    pub fn metric(&self, name: &str, size: Option<u64>) -> Option<Result<Metric, String>> {
        let plain = |value: f64, dimension| Metric { value, range: None, dimension, bound: None, bound_by: None };
        if (name, size) == ("time", None) {
            return Some(Ok(plain(self.time, Dimension::Time)));
        }
        if !PROGRAM_METRICS.iter().any(|m| m.name == name) {
            return None;
        }
        let Some(row) = self.rows.iter().find(|r| size.is_none() || r.bytes == size) else {
            let sizes: Vec<String> = self.rows.iter().filter_map(|r| r.bytes).take(32).map(|b| b.to_string()).collect();
            return Some(Err(format!("flow {} has no such row; its sizes are {}", self.flow, sizes.join(", "))));
        };
        let none = || format!("flow {} has no {name} in its rows", self.flow);
        Some(match name {
            "t" => Ok(plain(row.t_max, Dimension::Time)),
            "rate" => row.rate.map(|r| plain(8.0 * r, Dimension::Rate)).ok_or_else(none),
            "messages" => row.messages_per_second.map(|m| plain(m, Dimension::PerSecond)).ok_or_else(none),
            _ if row.t_max > 0.0 => Ok(plain(1.0 / row.t_max, Dimension::PerSecond)),
            _ => Err(none()),
        })
    }
}

/// Where simulated programs take a time that is not the estimated one: a note for each, with what the simulation shows
/// to be at work; `said` is what the simulation itself remarked.
pub(super) fn apart(flows: &[FlowReport], simulation: &Simulation, said: &[Note]) -> Vec<Note> {
    // Programs that will never end have no time to be held against another.
    if matches!(simulation.ending, Ending::Deadlock { .. } | Ending::Stall { .. } | Ending::Fault { .. }) {
        return Vec::new();
    }
    /// Nearer than this nothing is to be explained.
    const NEAR: f64 = 0.05;
    const CAUSES: [(Idle, &str); 3] =
        [(Idle::LaneCredits, "credits"), (Idle::Paused, "pause"), (Idle::Host, "host-memory")];
    /// What queue pairs of RoCE do that the estimate does not, the costlier first.
    const QUEUE_PAIRS: [(&str, &str); 2] = [
        ("retransmission", "packets were lost, and what follows a lost one waits until it has been sent again"),
        ("congestion-control", "DCQCN holds its queue pairs below their line rate"),
    ];
    let mut notes = Vec::new();
    for (flow, seen) in flows.iter().zip(&simulation.flows) {
        let (Some(closed), Some(program)) = (flow.programs.first(), &seen.program) else { continue };
        let pairs = program.rows.iter().zip(&closed.rows).filter(|(a, b)| (&a.name, a.bytes) == (&b.name, b.bytes));
        let offs = pairs.map(|(a, b)| a.t_max / b.t_max - 1.0);
        // What has not come to an end has no time, and of several parts none may have been reached.
        let finished = simulation.ending == Ending::Finished;
        if program.rows.is_empty() && !(finished && closed.rows.is_empty()) {
            let text = "the run ended before any part of it had: there is no time to hold against the estimate".into();
            notes.push(Note { element: format!("flows.{}", flow.name), mechanism: "unfinished".into(), text });
            continue;
        }
        let whole = program.rows.is_empty().then(|| program.time / closed.time - 1.0);
        let offs = offs.chain(whole).filter(|off| off.is_finite());
        let Some(off) = offs.max_by(|a, b| a.abs().total_cmp(&b.abs())).filter(|off| off.abs() > NEAR) else {
            continue;
        };
        let part = |l: &SimulatedLink, cause: Idle| l.slots.idle[cause as usize] as f64 / l.slots.total().max(1) as f64;
        // Whatever holds a program up makes none quicker, and holds up its messages: a wire waits for credit or for its
        // host in the closed form, too.
        let longer = seen.latency.mean > flow.latency.typical;
        let links = seen.links(simulation).filter(|_| off > 0.0 && longer);
        let held = links.flat_map(|l| CAUSES.map(|(cause, word)| (part(l, cause), l, cause, word)));
        // What takes less than a quarter of the time in question explains none of it.
        let enough = (off / (1.0 + off)).abs() / 4.0;
        let most = held.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|held| held.0 >= enough);
        let element = format!("flows.{}", flow.name);
        let slowed = QUEUE_PAIRS.iter().find(|(mechanism, _)| {
            off > 0.0 && said.iter().any(|n| (n.element.as_str(), n.mechanism.as_str()) == (&element, mechanism))
        });
        let (mechanism, why) = match (most, slowed) {
            (Some((part, link, cause, word)), _) => {
                let name = super::way(&link.name, &link.to);
                (word, format!("{name} was idle for {} % of its time: {}", digits(100.0 * part), cause.words()))
            }
            (None, Some((mechanism, why))) => (*mechanism, (*why).to_string()),
            (None, None) => {
                let meet = match (simulation.flow_level, off > 0.0) {
                    (true, _) => {
                        "messages that meet share what they meet on; the estimate serves whole messages round robin"
                    }
                    (false, true) => {
                        "packets of concurrent messages wait for one another, short ones also behind what an \
                        adapter has read ahead; the estimate serves whole messages round robin"
                    }
                    (false, false) => {
                        "packets of concurrent messages take turns, where the estimate has whole messages wait for \
                        one another"
                    }
                };
                // The mean of all messages explains a time only if it is longer where that is, or shorter, by a good
                // part of it.
                let (simulated, closed) = (seen.latency.mean, flow.latency.typical);
                let why = if (simulated / closed - 1.0) / off > 0.25 {
                    let [simulated, closed] = [simulated, closed].map(human_time);
                    format!("a message takes {simulated}, {closed} as estimated: {meet}")
                } else if simulation.flow_level {
                    meet.to_owned()
                } else {
                    "messages that meet go in another order, so other ranks wait: the estimate carries each along its \
                    whole way when it is handed over, packets go in the order in which they come"
                        .to_owned()
                };
                ("queueing", why)
            }
        };
        let text = format!("simulated {:+.1} % against the estimate: {why}", 100.0 * off);
        notes.push(Note { element, mechanism: mechanism.into(), text });
    }
    notes
}

/// A path's last words as the metric of a program and the size of its row.
pub(super) fn program_metric<'a>(words: &mut Vec<&'a str>, last: &'a str) -> (&'a str, Option<u64>) {
    match (last.parse::<u64>(), words.last()) {
        (Ok(size), Some(&metric)) if words.len() > 2 && PROGRAM_METRICS.iter().any(|m| m.name == metric) => {
            words.pop();
            (metric, Some(size))
        }
        _ => (last, None),
    }
}

impl RankAccount {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.computing + self.overhead + self.copying + self.waiting
    }
}

/// What binds a program, where most of its ranks' time is their own computing.
pub(crate) fn computing(flow: &str, accounts: &[Account]) -> Option<Binding> {
    let [computing, waiting] = [share(accounts, |a| a.computing), share(accounts, |a| a.waiting)];
    (computing > 0.5).then(|| Binding {
        element: format!("flows.{flow}"),
        resource: "computing".into(),
        evidence: format!("{} % of the ranks' time, {} % waiting", digits(100.0 * computing), digits(100.0 * waiting)),
    })
}

/// A part of the time of all ranks together.
pub(crate) fn share(accounts: &[Account], part: fn(&Account) -> u64) -> f64 {
    let sum = |part: fn(&Account) -> u64| accounts.iter().map(|a| part(a) as f64).sum::<f64>();
    sum(part) / sum(Account::total).max(1.0)
}

impl ProgramRow {
    /// A row from the mean time of a repetition on the fastest and the slowest rank and over all, seconds. Rates follow
    /// as the section defines them.
    pub fn new(section: &Section, simulated: u64, t_min: f64, t_max: f64, t_avg: f64) -> ProgramRow {
        let parts = f64::from(section.halves.max(1));
        let t_max = t_max / parts;
        let per_second = |n: u64| (n > 0 && t_max > 0.0).then(|| n as f64 / t_max);
        ProgramRow {
            name: section.name.clone(),
            bytes: section.size,
            ranks: section.ranks,
            repetitions: section.repetitions,
            simulated,
            t_min: t_min / parts,
            t_max,
            t_avg: t_avg / parts,
            rate: per_second(section.counted),
            messages_per_second: per_second(section.messages),
            interval: None,
            algorithm: None,
        }
    }

    /// With the interval of the slowest rank's time of a repetition, seconds.
    pub fn within(mut self, section: &Section, interval: Interval) -> ProgramRow {
        self.interval = Some(interval.times(1.0 / f64::from(section.halves.max(1))));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::benchmark::{Options, Sizes, job};

    fn section(name: &str, size: u64) -> Section {
        let options = Options { sizes: Sizes::List(vec![size]), ..Options::default() };
        job(name, 2, &options).expect("an instrument").sections.remove(0)
    }

    #[test]
    fn a_ping_pong_is_halved_and_a_ring_counts_both_ways() {
        // IMB 2019 on RoCE: 4 MiB in 1378.29 us, 3043.13 Mbytes/sec.
        let row = ProgramRow::new(&section("imb PingPong", 4 << 20), 10, 2756.58e-6, 2756.58e-6, 2756.58e-6);
        assert!((row.t_max - 1378.29e-6).abs() < 1e-12);
        assert!((row.rate.expect("a rate") / 3043.13e6 - 1.0).abs() < 1e-5);
        assert_eq!(row.messages_per_second, None);
        // IMB 4.1 on Gigabit Ethernet: Sendrecv of 4 MiB in at most 68961.41 us, 116.01 MiB/s.
        let row = ProgramRow::new(&section("imb Sendrecv", 4 << 20), 10, 68766.19e-6, 68961.41e-6, 68863.80e-6);
        assert!((row.rate.expect("a rate") / 1048576.0 - 116.01).abs() < 5e-3);
        // 64 messages in 64 us.
        let row = ProgramRow::new(&section("imb Uniband", 8), 1, 64e-6, 64e-6, 64e-6);
        assert_eq!((row.rate.map(f64::round), row.messages_per_second.map(f64::round)), (Some(8e6), Some(1e6)));
        let nothing = ProgramRow::new(&section("imb Uniband", 8), 0, 0.0, 0.0, 0.0);
        assert_eq!((nothing.rate, nothing.messages_per_second), (None, None));
    }

    #[test]
    fn an_interval_is_halved_with_its_time() {
        let section = section("osu_latency", 0);
        let whole = Interval { mean: 4e-6, half: Some(2e-7) };
        let row = ProgramRow::new(&section, 5, 4e-6, 4e-6, 4e-6).within(&section, whole);
        assert_eq!(row.interval, Some(Interval { mean: 2e-6, half: Some(1e-7) }));
        assert_eq!(row.t_max, 2e-6);
    }

    #[test]
    fn an_account_adds_up() {
        let account = RankAccount { computing: 1.0, overhead: 0.25, copying: 0.5, waiting: 2.0 };
        assert_eq!(account.total(), 3.75);
    }
}
