//! Instruments as programs: the MPI-1 part of PMB and its successor IMB, and the OSU micro-benchmarks, step by step as
//! the real ones do it, with their ladders of sizes, their numbers of repetitions and their definitions of time and
//! rate.
//!
//! Sources: IMB User's Guide and `IMB_settings.h` (sizes 0 and 2^0 to 2^22; repetitions min(1000, 40 MiB / size); two
//! barriers before each size); OSU
//! 5.6 `osu_util_mpi.h` and its benchmarks (64 messages a window; 10,000 repetitions of a latency, 1,000 above 8 KiB).
//! What changed over the years is a matter of [`Version`]. Not modelled: IMB's cut of repetitions after 10 s, buffers
//! out of cache, limits of memory.

use super::op::{Algorithm, Body, Collective, Job, Kind, Op, Section, Step};
use crate::diagnostic::{Diagnostic, nearest};
use std::sync::Arc;

/// Most ranks of a job.
pub(crate) const MOST_RANKS: u32 = 65_536;
/// Most steps of a job, all ranks together; a step is some 80 bytes.
pub(super) const MOST_STEPS: u64 = 8_000_000;
/// Largest message: an instrument counts bytes in a C `int`.
const LARGEST: u64 = (1 << 31) - 1;
/// Most rows of a table.
const MOST_ROWS: usize = 1000;
/// Bytes that IMB moves at most for one row (`OVERALL_VOL`).
const VOLUME: u64 = 40 << 20;
/// Repetitions before those that count. The real instruments make 2 (IMB) to 200 (OSU) because caches, page tables and
/// connections must be warm; a model has only pipes to fill.
const WARM_UP: u64 = 2;
/// Messages in flight of OSU's bandwidth tests.
const OSU_WINDOW: u32 = 64;

/// Which PMB or IMB, where it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// PMB 2.x.
    Pmb,
    /// IMB 2.x to 4.1.
    Imb4,
    /// IMB 2017: a barrier behind each collective, outside the clock; the root stays.
    Imb2017,
    /// IMB 2018: Mbytes/sec are 10^6.
    Imb2018,
    /// IMB 2019: Reduce_scatter's size is each rank's block, no longer the whole vector.
    #[default]
    Imb2019,
    /// IMB 2021.2 and later: 256 messages a window.
    Imb2021,
}

impl Version {
    /// Bytes in a "Mbyte" of its tables: 2^20 up to IMB 2017, then 10^6.
    pub(crate) fn mbyte(self) -> u64 {
        if self < Version::Imb2018 { 1 << 20 } else { 1_000_000 }
    }

    /// Collectives follow one another without a barrier, and the root moves on at each repetition (`-sync off
    /// -root_shift on` until 2016).
    fn runs_on(self) -> bool {
        self < Version::Imb2017
    }

    fn window(self) -> u32 {
        if self < Version::Imb2021 { 64 } else { 256 }
    }
}

/// The sizes of a table's rows, bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Those of the instrument.
    #[default]
    Ladder,
    /// The powers of two from the first to the second, and 0 where it is the first.
    Range(u64, u64),
    /// These.
    List(Vec<u64>),
}

/// How to run an instrument; the default is as the real one does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Sizes of messages.
    pub sizes: Sizes,
    /// Repetitions of each row.
    pub repetitions: Option<u64>,
    /// Repetitions before, outside the clock; none: 2 (see the file's head).
    pub warm_up: Option<u64>,
    /// Which IMB; none: that of the name (`pmb PingPong`), else 2019.
    pub version: Option<Version>,
    /// How its collective is taken apart; none: as MPICH chooses.
    pub algorithm: Option<Algorithm>,
}

/// What ranks do in one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    PingPong,
    PingPing,
    Sendrecv,
    Exchange,
    /// A window of messages from the lower half of ranks to the upper, then a word back.
    Uniband,
    /// The same both ways at once.
    Biband,
    /// Both ways at once without a word back.
    Bibw,
    All(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suite {
    Imb,
    Osu,
}

/// All instruments: name as it prints it, pattern, and whether exactly two ranks take part.
const INSTRUMENTS: &[(Suite, &str, Pattern, bool)] = &[
    (Suite::Imb, "PingPong", Pattern::PingPong, true),
    (Suite::Imb, "PingPing", Pattern::PingPing, true),
    (Suite::Imb, "Sendrecv", Pattern::Sendrecv, false),
    (Suite::Imb, "Exchange", Pattern::Exchange, false),
    (Suite::Imb, "Uniband", Pattern::Uniband, false),
    (Suite::Imb, "Biband", Pattern::Biband, false),
    (Suite::Imb, "Allreduce", Pattern::All(Kind::Allreduce), false),
    (Suite::Imb, "Reduce", Pattern::All(Kind::Reduce), false),
    (Suite::Imb, "Reduce_scatter", Pattern::All(Kind::ReduceScatter), false),
    (Suite::Imb, "Allgather", Pattern::All(Kind::Allgather), false),
    (Suite::Imb, "Gather", Pattern::All(Kind::Gather), false),
    (Suite::Imb, "Scatter", Pattern::All(Kind::Scatter), false),
    (Suite::Imb, "Alltoall", Pattern::All(Kind::Alltoall), false),
    (Suite::Imb, "Bcast", Pattern::All(Kind::Bcast), false),
    (Suite::Imb, "Barrier", Pattern::All(Kind::Barrier), false),
    (Suite::Osu, "osu_latency", Pattern::PingPong, true),
    (Suite::Osu, "osu_multi_lat", Pattern::PingPong, false),
    (Suite::Osu, "osu_bw", Pattern::Uniband, true),
    (Suite::Osu, "osu_bibw", Pattern::Bibw, true),
    (Suite::Osu, "osu_mbw_mr", Pattern::Uniband, false),
    (Suite::Osu, "osu_allreduce", Pattern::All(Kind::Allreduce), false),
    (Suite::Osu, "osu_reduce", Pattern::All(Kind::Reduce), false),
    (Suite::Osu, "osu_reduce_scatter", Pattern::All(Kind::ReduceScatter), false),
    (Suite::Osu, "osu_allgather", Pattern::All(Kind::Allgather), false),
    (Suite::Osu, "osu_gather", Pattern::All(Kind::Gather), false),
    (Suite::Osu, "osu_scatter", Pattern::All(Kind::Scatter), false),
    (Suite::Osu, "osu_alltoall", Pattern::All(Kind::Alltoall), false),
    (Suite::Osu, "osu_bcast", Pattern::All(Kind::Bcast), false),
    (Suite::Osu, "osu_barrier", Pattern::All(Kind::Barrier), false),
];

/// The names of all instruments, as [`job`] takes them: `imb PingPong`, `osu_latency`.
pub(crate) fn names() -> impl Iterator<Item = String> {
    INSTRUMENTS.iter().map(|i| if i.0 == Suite::Imb { format!("imb {}", i.1) } else { i.1.to_owned() })
}

/// An instrument found by its name, and how it is run.
struct Instrument {
    suite: Suite,
    name: &'static str,
    pattern: Pattern,
    pair: bool,
    version: Version,
    ranks: u32,
    algorithm: Option<Algorithm>,
}

/// One row of the table.
struct Row {
    size: Option<u64>,
    repetitions: u64,
}

/// The program of an instrument on so many ranks. Names are read without regard to case, blanks, `_` and `-`: `imb
/// pingpong`, `PMB-MPI1 PingPong`, `reduce-scatter`, `osu_latency`. Ranks beyond the two of a PingPong wait in a
/// barrier, as IMB's do.
pub(crate) fn job(name: &str, ranks: u32, options: &Options) -> Result<Job, Diagnostic> {
    let instrument = find(name, ranks, options)?;
    let rows = instrument.rows(options)?;
    let warm_up = options.warm_up.unwrap_or(WARM_UP);
    let same = matches!(instrument.pattern, Pattern::All(_));
    let alone = if same { 1 } else { u64::from(instrument.active()) };
    let steps = alone * rows.iter().map(|r| 2 * instrument.steps(r) + 4).sum::<u64>();
    if steps > MOST_STEPS {
        return Err(Diagnostic::error(
            None,
            format!("{name} on {ranks} ranks has {steps} steps, more than {MOST_STEPS}"),
        )
        .hint("take fewer ranks or fewer sizes"));
    }
    let mut bodies = Vec::with_capacity(ranks as usize);
    for rank in 0..if same { 1 } else { instrument.active() } {
        bodies.push(Arc::new(Body::Steps(instrument.steps_of(rank, &rows, warm_up))));
    }
    let last = if same { bodies[0].clone() } else { Arc::new(Body::Steps(vec![barrier()])) };
    bodies.resize(ranks as usize, last);
    Ok(Job {
        title: format!("{}, {ranks} ranks", instrument.title()),
        bodies,
        sections: rows.iter().map(|r| instrument.section(r)).collect(),
    })
}

/// Letters and digits alone, in lower case.
fn plain(name: &str) -> String {
    name.chars().take(100).filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn find(name: &str, ranks: u32, options: &Options) -> Result<Instrument, Diagnostic> {
    let written = plain(name);
    let suites = [("imbmpi1", None), ("imb", None), ("pmbmpi1", Some(Version::Pmb)), ("pmb", Some(Version::Pmb))];
    let (rest, version) = suites
        .into_iter()
        .find_map(|(suite, version)| Some((written.strip_prefix(suite)?, version)))
        .unwrap_or((&written, None));
    let Some(&(suite, name, pattern, pair)) = INSTRUMENTS.iter().find(|i| plain(i.1) == rest) else {
        let known: Vec<String> = names().collect();
        let near = nearest(name, known.iter().map(String::as_str)).or_else(|| {
            let near = nearest(rest, INSTRUMENTS.iter().map(|i| i.1))?;
            known.iter().map(String::as_str).find(|k| k.ends_with(near))
        });
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        return Err(Diagnostic::error(None, format!("there is no instrument `{}`", shown(name))).hint(hint));
    };
    let (version, algorithm) = (options.version.or(version).unwrap_or_default(), options.algorithm);
    let instrument = Instrument { suite, name, pattern, pair, version, ranks, algorithm };
    let choices = if let Pattern::All(kind) = pattern { kind.choices() } else { &[] };
    if let Some(stated) = algorithm.filter(|a| !choices.contains(a)) {
        let hint = Algorithm::one_of(choices).unwrap_or_else(|| "leave algorithm out".to_owned());
        return Err(Diagnostic::error(None, format!("{name} is not done by {}", stated.name())).hint(hint));
    }
    if !(2..=MOST_RANKS).contains(&ranks) {
        return Err(Diagnostic::error(None, format!("{name} on {ranks} ranks"))
            .hint(format!("it takes from 2 to {MOST_RANKS}")));
    }
    if suite == Suite::Osu && pair && ranks != 2 {
        let many = if pattern == Pattern::PingPong { "osu_multi_lat" } else { "osu_mbw_mr" };
        return Err(Diagnostic::error(None, format!("{name} takes exactly 2 ranks, not {ranks}"))
            .hint(format!("pairs of ranks are measured by {many}")));
    }
    if instrument.pairs() > 0 && !pair && ranks % 2 == 1 {
        return Err(
            Diagnostic::error(None, format!("{name} pairs ranks, and there are {ranks}")).hint("take an even number")
        );
    }
    Ok(instrument)
}

/// A name of the user's, short enough for a message.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn barrier() -> Step {
    collective(Kind::Barrier, 0, 0, None)
}

fn collective(kind: Kind, bytes: u64, root: u32, algorithm: Option<Algorithm>) -> Step {
    Step::Do(Op::Collective(Collective { kind, bytes, root, algorithm, each: None, work: 0.0 }))
}

impl Instrument {
    fn title(&self) -> String {
        match (self.suite, self.version) {
            (Suite::Osu, _) => self.name.into(),
            (_, Version::Pmb) => format!("pmb {}", self.name),
            _ => format!("imb {}", self.name),
        }
    }

    /// Ranks that take part.
    fn active(&self) -> u32 {
        if self.pair { 2 } else { self.ranks }
    }

    /// Pairs of ranks that talk to each other, 0 where all talk to all.
    fn pairs(&self) -> u32 {
        match self.pattern {
            Pattern::Sendrecv | Pattern::Exchange | Pattern::All(_) => 0,
            _ => self.active() / 2,
        }
    }

    fn window(&self) -> u32 {
        if self.suite == Suite::Osu { OSU_WINDOW } else { self.version.window() }
    }

    /// Whether it combines numbers, four bytes each.
    fn reduces(&self) -> bool {
        matches!(self.pattern, Pattern::All(Kind::Allreduce | Kind::Reduce | Kind::ReduceScatter))
    }

    /// A barrier behind each repetition, outside the clock.
    fn synchronised(&self) -> bool {
        let data = matches!(self.pattern, Pattern::All(kind) if kind != Kind::Barrier);
        data && (self.suite == Suite::Osu || !self.version.runs_on())
    }

    fn rows(&self, options: &Options) -> Result<Vec<Row>, Diagnostic> {
        let wrong = |message: String, hint: &str| Err(Diagnostic::error(None, message).hint(hint));
        if options.repetitions == Some(0) {
            return wrong("0 repetitions".into(), "write at least 1");
        }
        if self.pattern == Pattern::All(Kind::Barrier) {
            if options.sizes != Sizes::Ladder {
                return wrong(format!("{} sends no data, so it has no sizes", self.name), "leave the sizes out");
            }
            return Ok(vec![Row { size: None, repetitions: options.repetitions.unwrap_or(self.repetitions(0)) }]);
        }
        let (low, high) = match options.sizes {
            // osu_latency and IMB begin with nothing; reductions add floats.
            Sizes::Ladder if self.suite == Suite::Imb => (0, 4 << 20),
            Sizes::Ladder if self.pattern == Pattern::PingPong => (0, 4 << 20),
            Sizes::Ladder if matches!(self.pattern, Pattern::All(_)) => (1, 1 << 20),
            Sizes::Ladder => (1, 4 << 20),
            Sizes::Range(low, high) => (low, high),
            Sizes::List(_) => (0, 0),
        };
        let sizes = match &options.sizes {
            Sizes::List(list) => list.clone(),
            _ => {
                let least = if self.reduces() { 4 } else { 1 };
                let powers = (0..31).map(|k| 1 << k).filter(|s| (low.max(least)..=high).contains(s));
                (low == 0).then_some(0).into_iter().chain(powers).collect()
            }
        };
        if sizes.is_empty() {
            return wrong(format!("no power of two lies from {low} to {high} bytes"), "a range is low, then high");
        }
        if sizes.len() > MOST_ROWS {
            return wrong(format!("{} sizes, more than {MOST_ROWS}", sizes.len()), "leave some out");
        }
        if let Some(large) = sizes.iter().find(|&&s| s > LARGEST) {
            return wrong(format!("a message of {large} bytes"), "the most is 2147483647, what a C int counts");
        }
        Ok(sizes
            .into_iter()
            .map(|s| Row { size: Some(s), repetitions: options.repetitions.unwrap_or(self.repetitions(s)) })
            .collect())
    }

    /// How often the real instrument repeats.
    fn repetitions(&self, size: u64) -> u64 {
        if self.suite == Suite::Imb {
            return VOLUME.checked_div(size).map_or(1000, |r| r.clamp(1, 1000));
        }
        // Reductions compare the number of floats with 8192, not of bytes.
        let large = if self.reduces() { size / 4 > 8192 } else { size > 8192 };
        match (self.pattern, large) {
            (Pattern::PingPong, false) => 10_000,
            (Pattern::PingPong, true) => 1000,
            (Pattern::All(_), false) => 1000,
            (Pattern::All(_), true) => 100,
            (_, false) => 100,
            (_, true) => 20,
        }
    }

    /// How many collectives one repetition of the model holds, each with the next rank as its root.
    fn roots(&self, row: &Row) -> u32 {
        let rooted = matches!(self.pattern, Pattern::All(Kind::Bcast | Kind::Reduce | Kind::Gather | Kind::Scatter));
        if rooted && self.suite == Suite::Imb && self.version.runs_on() {
            u64::from(self.ranks).min(row.repetitions) as u32
        } else {
            1
        }
    }

    fn section(&self, row: &Row) -> Section {
        let size = row.size.unwrap_or(0);
        let (pairs, window) = (u64::from(self.pairs()), u64::from(self.window()));
        let (counted, messages) = match self.pattern {
            Pattern::PingPong if self.pair && self.suite == Suite::Imb => (size, 0),
            Pattern::PingPong => (0, 0),
            Pattern::PingPing => (size, 0),
            Pattern::Sendrecv => (2 * size, 0),
            Pattern::Exchange => (4 * size, 0),
            Pattern::Uniband => (pairs * window * size, pairs * window),
            Pattern::Biband | Pattern::Bibw => (2 * pairs * window * size, 2 * pairs * window),
            Pattern::All(_) => (0, 0),
        };
        Section {
            name: self.name.into(),
            size: row.size,
            ranks: self.active(),
            repetitions: row.repetitions,
            halves: if self.pattern == Pattern::PingPong { 2 } else { self.roots(row) },
            counted,
            messages,
        }
    }

    /// Steps of a repetition, at most.
    fn steps(&self, row: &Row) -> u64 {
        match self.pattern {
            Pattern::Uniband => u64::from(self.window()) + 2,
            Pattern::Biband | Pattern::Bibw => 2 * u64::from(self.window()) + 2,
            _ => 5.max(u64::from(self.roots(row))),
        }
    }

    fn steps_of(&self, rank: u32, rows: &[Row], warm_up: u64) -> Vec<Step> {
        let mut steps = Vec::new();
        for (section, row) in (0u32..).zip(rows) {
            let body = self.repetition(rank, row);
            let warm = |steps: &mut Vec<Step>| {
                if warm_up > 0 {
                    steps.push(Step::Repeat { times: warm_up, body: body.clone() });
                }
            };
            // IMB warms up once, with the first size; OSU before each size, in one loop with the rest.
            if self.suite == Suite::Imb {
                if section == 0 {
                    self.meet(rank, &mut steps);
                    warm(&mut steps);
                }
                self.meet(rank, &mut steps);
            } else {
                if !matches!(self.pattern, Pattern::Uniband | Pattern::Bibw) || !self.pair {
                    steps.push(barrier());
                }
                warm(&mut steps);
            }
            let times = (row.repetitions / u64::from(self.roots(row))).max(1);
            steps.push(Step::Timed { section, times, body });
        }
        if self.ranks > self.active() {
            steps.push(barrier());
        }
        steps
    }

    /// The two barriers before each size. Two ranks among more have them to themselves: a message of nothing each way.
    fn meet(&self, rank: u32, steps: &mut Vec<Step>) {
        for _ in 0..2 {
            steps.push(if self.ranks == self.active() {
                barrier()
            } else {
                Step::Do(Op::Sendrecv { to: 1 - rank, bytes: 0, from: 1 - rank, most: 0, tag: 0 })
            });
        }
    }

    fn repetition(&self, rank: u32, row: &Row) -> Vec<Step> {
        let bytes = row.size.unwrap_or(0);
        let ranks = self.active();
        let (right, left) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let pairs = self.pairs().max(1);
        let first = rank < pairs;
        let other = if first { rank + pairs } else { rank - pairs };
        let send = |to| Op::Send { to, bytes, tag: 1 };
        let recv = |from| Op::Recv { from: Some(from), bytes, tag: Some(1) };
        let isend = |to, request| Op::Isend { to, bytes, tag: 1, request };
        let irecv = |request| Op::Irecv { from: Some(other), bytes, tag: Some(1), request };
        let window = self.window();
        // The word that ends a window: IMB sends a byte, OSU four.
        let word = if self.suite == Suite::Osu { 4 } else { 1 };
        let answer = if first {
            Op::Recv { from: Some(other), bytes: word, tag: Some(2) }
        } else {
            Op::Send { to: other, bytes: word, tag: 2 }
        };
        let ops = match self.pattern {
            Pattern::PingPong if first => vec![send(other), recv(other)],
            Pattern::PingPong => vec![recv(other), send(other)],
            Pattern::PingPing => vec![isend(other, 0), recv(other), Op::Wait(0)],
            Pattern::Sendrecv => vec![Op::Sendrecv { to: right, bytes, from: left, most: bytes, tag: 1 }],
            Pattern::Exchange => vec![isend(right, 0), isend(left, 1), recv(left), recv(right), Op::WaitAll],
            Pattern::Uniband => {
                let way = |request| if first { isend(other, request) } else { irecv(request) };
                (0..window).map(way).chain([Op::WaitAll, answer]).collect()
            }
            Pattern::Biband | Pattern::Bibw => {
                let both = (0..window).map(irecv).chain((window..2 * window).map(|r| isend(other, r)));
                let end = (self.pattern == Pattern::Biband).then_some(answer);
                both.chain([Op::WaitAll]).chain(end).collect()
            }
            Pattern::All(kind) => {
                // A vector that is shared out, but in IMB since 2019.
                let whole = self.suite == Suite::Osu || self.version < Version::Imb2019;
                let bytes = if kind == Kind::ReduceScatter && whole { bytes.div_ceil(u64::from(ranks)) } else { bytes };
                let one = |root| collective(kind, bytes, root, self.algorithm);
                let mut steps: Vec<Step> = (0..self.roots(row)).map(one).collect();
                if self.synchronised() {
                    steps.push(Step::Untimed(vec![barrier()]));
                }
                return steps;
            }
        };
        ops.into_iter().map(Step::Do).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(name: &str, ranks: u32) -> Job {
        job(name, ranks, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e:?}"))
    }

    fn steps(job: &Job, rank: usize) -> &[Step] {
        match &*job.bodies[rank] {
            Body::Steps(steps) => steps,
            Body::Graph(_) => panic!("steps"),
        }
    }

    fn timed(job: &Job, rank: usize, row: u32) -> (u64, Vec<Step>) {
        let row = steps(job, rank).iter().find_map(|s| match s {
            Step::Timed { section, times, body } if *section == row => Some((*times, body.clone())),
            _ => None,
        });
        row.expect("a row")
    }

    #[test]
    fn the_ladder_of_imb_has_24_rows_and_40_mebibytes_each_at_most() {
        let job = ok("imb PingPong", 2);
        let rows: Vec<_> = job.sections.iter().map(|s| (s.size.expect("a size"), s.repetitions)).collect();
        assert_eq!(rows.len(), 24);
        // As printed by IMB 4.1 and 2019 (juno, stackhpc).
        assert_eq!(rows[..3], [(0, 1000), (1, 1000), (2, 1000)]);
        assert_eq!(rows[16..19], [(32768, 1000), (65536, 640), (131072, 320)]);
        assert_eq!(rows[23], (4_194_304, 10));
        assert_eq!((job.sections[23].halves, job.sections[23].counted), (2, 4_194_304));
    }

    #[test]
    fn a_ping_pong_is_a_send_and_a_receive_after_two_barriers() {
        let job = ok("IMB-MPI1 pingpong", 2);
        let (times, body) = timed(&job, 0, 23);
        let recv = Op::Recv { from: Some(1), bytes: 4 << 20, tag: Some(1) };
        assert_eq!((times, body), (10, vec![Step::Do(Op::Send { to: 1, bytes: 4 << 20, tag: 1 }), Step::Do(recv)]));
        let (_, body) = timed(&job, 1, 23);
        assert!(matches!(body[..], [Step::Do(Op::Recv { from: Some(0), .. }), Step::Do(Op::Send { to: 0, .. })]));
        // Two barriers, the warm-up, two barriers, the first row, two barriers, ...
        let all = steps(&job, 0);
        assert_eq!(all.len(), 3 + 3 * 24);
        assert_eq!(all[..2], [barrier(), barrier()]);
        assert!(matches!(all[2], Step::Repeat { times: 2, .. }));
    }

    #[test]
    fn the_others_wait_in_a_barrier() {
        let job = ok("imb pingping", 5);
        assert_eq!((job.bodies.len(), job.sections[0].ranks), (5, 2));
        assert_eq!(steps(&job, 2), [barrier()]);
        assert!(Arc::ptr_eq(&job.bodies[2], &job.bodies[4]));
        assert_eq!(steps(&job, 1).last(), Some(&barrier()));
        // No other rank takes part in what the two do before each size.
        let alone = steps(&job, 0).iter().filter(|s| **s == barrier()).count();
        assert_eq!(alone, 1);
    }

    #[test]
    fn rings_have_neighbours() {
        let job = ok("imb Sendrecv", 4);
        let (_, body) = timed(&job, 3, 1);
        assert_eq!(body, [Step::Do(Op::Sendrecv { to: 0, bytes: 1, from: 2, most: 1, tag: 1 })]);
        assert_eq!(job.sections[1].counted, 2);
        let job = ok("imb Exchange", 4);
        let (_, body) = timed(&job, 0, 1);
        assert!(matches!(body[0], Step::Do(Op::Isend { to: 1, request: 0, .. })));
        assert!(matches!(body[1], Step::Do(Op::Isend { to: 3, request: 1, .. })));
        assert!(matches!(body[2], Step::Do(Op::Recv { from: Some(3), .. })));
        assert_eq!((body.len(), job.sections[1].counted), (5, 4));
    }

    #[test]
    fn windows_end_with_a_word_but_not_in_osu_bibw() {
        let job = ok("imb Biband", 6);
        let (_, body) = timed(&job, 1, 3);
        assert_eq!(body.len(), 64 + 64 + 2);
        assert!(matches!(body[129], Step::Do(Op::Recv { from: Some(4), bytes: 1, .. })));
        // 3 pairs, 64 messages, both ways, 4 bytes.
        assert_eq!((job.sections[3].counted, job.sections[3].messages), (3 * 64 * 2 * 4, 384));
        let job = ok("osu_bw", 2);
        let (times, body) = timed(&job, 1, 0);
        assert_eq!((times, body.len()), (100, 66));
        assert!(matches!(body[0], Step::Do(Op::Irecv { from: Some(0), request: 0, .. })));
        assert_eq!(body[65], Step::Do(Op::Send { to: 0, bytes: 4, tag: 2 }));
        assert_eq!(timed(&ok("osu_bibw", 2), 0, 0).1.last(), Some(&Step::Do(Op::WaitAll)));
        // 1 B to 4 MiB, as the fixture.
        assert_eq!((job.sections.len(), job.sections[22].size, job.sections[22].repetitions), (23, Some(4 << 20), 20));
    }

    #[test]
    fn old_collectives_run_on_and_move_the_root_newer_ones_meet() {
        let old = Options { version: Some(Version::Imb4), ..Options::default() };
        let bcast = job("imb bcast", 4, &old).expect("a job");
        let (times, body) = timed(&bcast, 0, 23);
        // 10 repetitions of 4 MiB: two rounds of four roots.
        assert_eq!((times, body.len(), bcast.sections[23].halves, bcast.sections[23].repetitions), (2, 4, 4, 10));
        assert_eq!(body[3], collective(Kind::Bcast, 4 << 20, 3, None));
        let (times, body) = timed(&ok("imb bcast", 4), 0, 23);
        assert_eq!((times, body.len()), (10, 2));
        assert_eq!(body[1], Step::Untimed(vec![barrier()]));
        // All ranks do the same.
        assert!(Arc::ptr_eq(&bcast.bodies[0], &bcast.bodies[3]));
        // Reductions begin with a float; a vector is shared out until 2018.
        let of = |v| job("imb reduce-scatter", 4, &Options { version: Some(v), ..Options::default() }).expect("a job");
        assert_eq!(of(Version::Imb4).sections[1].size, Some(4));
        assert_eq!(timed(&of(Version::Imb4), 0, 3).1[0], collective(Kind::ReduceScatter, 4, 0, None));
        assert_eq!(timed(&of(Version::Imb2019), 0, 3).1[0], collective(Kind::ReduceScatter, 16, 0, None));
    }

    #[test]
    fn osu_repeats_more_where_messages_are_small() {
        let of = |name: &str| -> Vec<(u64, u64)> {
            ok(name, 2).sections.iter().map(|s| (s.size.unwrap_or(0), s.repetitions)).collect()
        };
        let latency = of("osu_latency");
        assert_eq!((latency[0], latency[14], latency[15]), ((0, 10_000), (8192, 10_000), (16384, 1000)));
        let allreduce = of("OSU_allreduce");
        assert_eq!((allreduce[0], allreduce.last()), ((4, 1000), Some(&(1 << 20, 100))));
        assert!(allreduce.contains(&(32768, 1000)) && allreduce.contains(&(65536, 100)));
        assert_eq!(of("osu_barrier"), [(0, 1000)]);
    }

    #[test]
    fn what_was_chosen_is_taken() {
        let options = Options {
            sizes: Sizes::Range(0, 5),
            repetitions: Some(7),
            warm_up: Some(0),
            version: Some(Version::Imb2021),
            algorithm: None,
        };
        let of = job("imb uniband", 2, &options).expect("a job");
        let rows: Vec<_> = of.sections.iter().map(|s| (s.size, s.repetitions)).collect();
        assert_eq!(rows, [(Some(0), 7), (Some(1), 7), (Some(2), 7), (Some(4), 7)]);
        assert_eq!(of.sections[1].messages, 256);
        assert!(!steps(&of, 0).iter().any(|s| matches!(s, Step::Repeat { .. })));
        let list = Options { sizes: Sizes::List(vec![3, 1]), ..Options::default() };
        let sizes: Vec<_> = job("osu_bcast", 3, &list).expect("a job").sections.iter().map(|s| s.size).collect();
        assert_eq!(sizes, [Some(3), Some(1)]);
        assert_eq!(ok("pmb PingPong", 2).title, "pmb PingPong, 2 ranks");
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_hint() {
        let refused = |name: &str, ranks, sizes| {
            let e = job(name, ranks, &Options { sizes, ..Options::default() }).expect_err(name);
            format!("{} ({})", e.message, e.hint.unwrap_or_default())
        };
        assert_eq!(
            refused("imb PingPogn", 2, Sizes::Ladder),
            "there is no instrument `imb PingPogn` (did you mean `imb PingPong`?)"
        );
        assert!(refused("osu_latencies", 2, Sizes::Ladder).contains("`osu_latency`?"));
        assert!(refused("linpack", 2, Sizes::Ladder).contains("imb PingPong, imb PingPing"));
        assert!(refused(&"é".repeat(1000), 2, Sizes::Ladder).len() < 1500);
        assert!(refused("imb barrier", 1, Sizes::Ladder).contains("from 2 to 65536"));
        assert!(refused("imb barrier", 2, Sizes::Range(1, 2)).contains("no sizes"));
        assert!(refused("osu_latency", 4, Sizes::Ladder).contains("osu_multi_lat"));
        assert!(refused("imb uniband", 3, Sizes::Ladder).contains("even"));
        assert!(refused("imb alltoall", 3, Sizes::Range(9, 3)).contains("no power of two"));
        assert!(refused("imb alltoall", 3, Sizes::List(vec![1 << 40])).contains("C int"));
        assert!(refused("imb biband", 65_536, Sizes::Ladder).contains("fewer ranks"));
    }
}
