//! Iometer: set-ups (.icf), the tests that a set-up asks for, and results (.csv).
//!
//! A *manager* is a process on a machine; its *workers* are threads; each worker drives its *targets* with the lines of
//! an *access specification*. A test is one access specification in one step of the cycling. Formats and rules are
//! those of the User's Guide 1.1.0 and of files that Iometer wrote; the words are its own.

pub mod csv;
pub mod cycle;
pub mod icf;
pub mod statistic;

pub(crate) use cycle::Active;
pub use cycle::{IometerTest, Load, tests};
pub use statistic::Statistic;

use crate::diagnostic::Span;
use crate::scenario::keys::Line;
use crate::units::{Bytes, Time};

/// Characters of the name of an access specification at most; no commas (User's Guide, 6.2).
pub(crate) const MOST_SPEC_NAME: usize = 128;
/// Characters of a target's name at most.
pub(crate) const MOST_TARGET_NAME: usize = 80;
/// Workers of a manager at most.
pub(crate) const MOST_WORKERS: usize = 128;
/// Targets of a worker at most.
pub(crate) const MOST_TARGETS: usize = 2048;
/// Bar charts of the results display.
pub const CHARTS: usize = 6;
/// Bytes of a sector, the unit of starting sectors and disk sizes.
pub(crate) const SECTOR: u64 = 512;

/// Where in a text something was read. Places are never compared: a set-up is the same wherever its lines stand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(pub Option<Span>);

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}

/// What an .icf holds. Iometer can save and restore its sections one by one; one that is not there is none, or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// The version that wrote it: `1.1.0`, `2008.06.18`.
    pub version: String,
    /// TEST SETUP.
    pub test: Option<TestSetup>,
    /// RESULTS DISPLAY.
    pub display: Option<Display>,
    /// ACCESS SPECIFICATIONS.
    pub specs: Vec<Spec>,
    /// MANAGER LIST.
    pub managers: Vec<Manager>,
}

/// How tests run.
#[derive(Clone, Debug, PartialEq)]
pub struct TestSetup {
    /// Words of whoever made it.
    pub description: String,
    /// Hours, minutes and seconds of a test; all 0: until somebody stops it.
    pub run_time: [u32; 3],
    /// Time before the recording begins, s.
    pub ramp_up: u32,
    /// Disk workers that a new manager gets.
    pub disk_workers: Spawn,
    /// Network workers that a new manager gets.
    pub network_workers: Spawn,
    /// Rows that results have.
    pub record: Record,
    /// Workers of a cycle.
    pub workers: Cycling,
    /// Targets of a cycle.
    pub targets: Cycling,
    /// Outstanding I/Os of a cycle.
    pub queue: Cycling,
    /// Outstanding I/Os at which the cycle ends.
    pub queue_end: u32,
    /// What is cycled.
    pub test_type: TestType,
}

impl Default for TestSetup {
    /// What Iometer 1.1.0 begins with, without a description: an endless test.
    fn default() -> TestSetup {
        TestSetup {
            description: String::new(),
            run_time: [0; 3],
            ramp_up: 0,
            disk_workers: Spawn::Processors,
            network_workers: Spawn::Number(0),
            record: Record::All,
            workers: Cycling::LINEAR,
            targets: Cycling::LINEAR,
            queue: Cycling { start: 1, step: 2, exponential: true },
            queue_end: 32,
            test_type: TestType::Normal,
        }
    }
}

impl TestSetup {
    /// Length of a test, s; 0: until somebody stops it.
    pub(crate) fn seconds(&self) -> u64 {
        let [h, m, s] = self.run_time.map(u64::from);
        h * 3600 + m * 60 + s
    }
}

/// How many workers a new manager gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spawn {
    /// One for each processor.
    Processors,
    /// So many.
    Number(u32),
}

/// A row of numbers of workers, of targets or of outstanding I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycling {
    /// The first.
    pub start: u32,
    /// What is added, or the base of the powers that the first is multiplied by.
    pub step: u32,
    /// Multiplied, not added.
    pub exponential: bool,
}

impl Cycling {
    /// One more each time.
    pub(crate) const LINEAR: Cycling = Cycling { start: 1, step: 1, exponential: false };

    /// The numbers, without end: a step of 1 is added even where it is called exponential, as in Iometer.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u64> {
        let (step, multiply) = (u64::from(self.step), self.exponential && self.step != 1);
        std::iter::successors(Some(u64::from(self.start)), move |n| {
            Some(if multiply { n.saturating_mul(step) } else { n.saturating_add(step) })
        })
    }
}

/// Declares the words of a list, in the order of their numbers.
macro_rules! tokens {
    ($(#[$m:meta])* $name:ident { $($(#[$v:meta])* $variant:ident = $token:literal,)+ }) => {
        $(#[$m])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$v])* $variant,)+ }

        impl $name {
            /// All, in the order of their numbers from 0.
            pub(crate) const ALL: &[$name] = &[$($name::$variant),+];

            /// The word in an .icf.
            pub(crate) fn token(self) -> &'static str {
                match self { $($name::$variant => $token),+ }
            }

            /// Its number in results, and in old set-ups.
            #[allow(dead_code, reason = "not every one of these enums is written as a number")]
            pub(crate) fn number(self) -> usize {
                self as usize
            }

            /// From its word in any case, or its number.
            pub(crate) fn parse(text: &str) -> Option<$name> {
                let by_name = Self::ALL.iter().find(|t| t.token().eq_ignore_ascii_case(text));
                by_name.or_else(|| Self::ALL.get(text.parse::<usize>().ok()?)).copied()
            }
        }
    };
}

tokens! {
    /// What changes from test to test (`'Test Type`).
    TestType {
        /// All workers with all their targets, once.
        #[default]
        Normal = "NORMAL",
        /// More targets for every worker.
        Targets = "CYCLE_TARGETS",
        /// More workers of every manager, each with all its targets.
        Workers = "CYCLE_WORKERS",
        /// More targets of every manager, filled worker by worker.
        TargetsParallel = "INCREMENT_TARGETS_PARALLEL",
        /// The same, one manager after the other.
        TargetsSerial = "INCREMENT_TARGETS_SERIAL",
        /// More targets for every worker, then more workers.
        WorkersAndTargets = "CYCLE_WORKERS_AND_TARGETS",
        /// More outstanding I/Os.
        Queue = "CYCLE_OUTSTANDING_IOS",
        /// More outstanding I/Os, then more targets.
        QueueAndTargets = "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
    }
}

tokens! {
    /// Which rows results have (`'Record Results`).
    Record {
        /// All.
        #[default]
        All = "ALL",
        /// None of targets.
        NoTargets = "NO_TARGETS",
        /// None of workers and targets.
        NoWorkers = "NO_WORKERS",
        /// Only that of all managers.
        NoManagers = "NO_MANAGERS",
        /// Nothing is written.
        None = "NONE",
    }
}

tokens! {
    /// Which new workers an access specification is given to.
    Assignment {
        /// None.
        #[default]
        None = "NONE",
        /// All.
        All = "ALL",
        /// Disk workers.
        Disk = "DISK",
        /// Network workers.
        Network = "NET",
    }
}

/// The results display.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Display {
    /// Whether the results of each update are recorded too.
    pub record_last: bool,
    /// Time between updates, s; 0: none before the end.
    pub frequency: u32,
    /// Results since the last update, not since the start of the test.
    pub since_last: bool,
    /// The bars.
    pub charts: [Chart; CHARTS],
}

/// A bar chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What it shows; without it, what Iometer shows there by default.
    pub statistic: Option<Statistic>,
    /// Whose: number and name of a manager; without it, of all managers.
    pub manager: Option<(u32, String)>,
    /// Number and name of a worker of that manager; without it, of all its workers.
    pub worker: Option<(u32, String)>,
}

/// An access specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// New workers that get it.
    pub assignment: Assignment,
    /// 1 to 100 lines, whose shares add up to 100 %.
    pub lines: Vec<Line>,
    /// Its name in the text.
    pub place: Place,
}

impl Spec {
    /// The specification that Iometer brings along: `2048,100,67,100,0,1,2048,0`.
    pub fn builtin() -> Spec {
        let line = Line {
            size: Bytes(2048),
            share: 10_000,
            read: 6_700,
            trim: 0,
            random: 10_000,
            delay: Time::ZERO,
            burst: 1,
            align: Bytes(2048),
            reply: Bytes(0),
        };
        Spec { name: "Default".into(), assignment: Assignment::None, lines: vec![line], place: Place::default() }
    }
}

/// A manager.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manager {
    /// Its number in the file.
    pub id: u32,
    /// Its name: that of its machine, unless it was given one.
    pub name: String,
    /// Where it is; empty is the machine of Iometer itself.
    pub address: String,
    /// Its workers.
    pub workers: Vec<Worker>,
    /// Its name in the text.
    pub place: Place,
}

/// A worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// What its targets are.
    pub kind: WorkerKind,
    /// Outstanding I/Os at each of its targets.
    pub outstanding: u32,
    /// Transactions after which it opens its targets anew; without it, never.
    pub transactions_per_connection: Option<u32>,
    /// Start of its random numbers, where it is fixed.
    pub fixed_seed: Option<u64>,
    /// Sectors of each disk that it uses; 0: all.
    pub maximum_size: u64,
    /// The first sector that it uses.
    pub starting_sector: u64,
    /// What it writes: 0 repeating bytes, 1 pseudo-random, 2 fully random.
    pub data_pattern: u32,
    /// Network workers: the local interface.
    pub interface: Option<String>,
    /// Virtual-interface workers: outstanding sends.
    pub vi_outstanding: Option<u32>,
    /// Names of its access specifications, in the order in which they run; none where the file does not say.
    pub specs: Option<Vec<(String, Place)>>,
    /// What it works on.
    pub targets: Vec<Target>,
    /// Its name in the text.
    pub place: Place,
}

impl Default for Worker {
    fn default() -> Worker {
        Worker {
            name: String::new(),
            kind: WorkerKind::Disk,
            outstanding: 1,
            transactions_per_connection: None,
            fixed_seed: None,
            maximum_size: 0,
            starting_sector: 0,
            data_pattern: 0,
            interface: None,
            vi_outstanding: None,
            specs: None,
            targets: Vec::new(),
            place: Place::default(),
        }
    }
}

/// What a worker works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerKind {
    /// Disks.
    #[default]
    Disk,
    /// TCP connections.
    Tcp,
    /// Virtual-interface connections.
    Vi,
}

impl WorkerKind {
    /// The word in an .icf.
    pub(crate) fn token(self) -> &'static str {
        match self {
            WorkerKind::Disk => "DISK",
            WorkerKind::Tcp => "NETWORK,TCP",
            WorkerKind::Vi => "NETWORK,VI",
        }
    }

    /// From its word; blanks after the comma do not matter.
    pub(crate) fn parse(text: &str) -> Option<WorkerKind> {
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        [WorkerKind::Disk, WorkerKind::Tcp, WorkerKind::Vi].into_iter().find(|k| k.token().eq_ignore_ascii_case(&bare))
    }
}

/// A target of a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// `8: "Pliant LS300S P10"`, or an address.
    pub name: String,
    /// What it is.
    pub kind: WorkerKind,
    /// Of a network: number and name of the manager at the other end.
    pub manager: Option<(u32, String)>,
    /// Its name in the text.
    pub place: Place,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycling_adds_or_multiplies() {
        let first = |c: Cycling| c.numbers().take(5).collect::<Vec<_>>();
        assert_eq!(first(Cycling::LINEAR), [1, 2, 3, 4, 5]);
        assert_eq!(first(Cycling { start: 3, step: 4, exponential: false }), [3, 7, 11, 15, 19]);
        assert_eq!(first(Cycling { start: 3, step: 4, exponential: true }), [3, 12, 48, 192, 768]);
        // Iometer adds a step of 1 whatever it is called, so that a cycle always ends.
        assert_eq!(first(Cycling { start: 3, step: 1, exponential: true }), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn words_have_numbers_and_numbers_words() {
        assert_eq!(TestType::parse("6"), Some(TestType::Queue));
        assert_eq!(TestType::parse("cycle_outstanding_ios"), Some(TestType::Queue));
        assert_eq!((TestType::parse("8"), TestType::parse("CYCLE")), (None, None));
        assert_eq!(WorkerKind::parse("NETWORK, TCP"), Some(WorkerKind::Tcp));
        assert_eq!(Assignment::Network.number(), 3);
    }
}
