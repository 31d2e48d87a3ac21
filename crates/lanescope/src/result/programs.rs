//! What a message program took: the rows that an instrument prints, and where each rank's time went.

use super::Interval;
use crate::mpi::Section;
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

impl RankAccount {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.computing + self.overhead + self.copying + self.waiting
    }
}

impl ProgramRow {
    /// A row from the mean time of a repetition on the fastest and the slowest rank and over all, seconds. Rates follow as the section defines them.
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
