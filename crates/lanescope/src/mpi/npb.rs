//! Skeletons of the NAS Parallel Benchmarks (NPB 3.4, MPI): what each rank sends in an iteration, to whom and in which
//! order, with the work between.
//!
//! Sizes of problems are those of NASA's table "Problem Sizes and Parameters in NAS Parallel Benchmarks"; operations of
//! an iteration are what the programs themselves count for their Mop/s. Messages follow in closed form from how each
//! program shares out its grid; tests hold them against recorded calls of class C on 16 and on 32 or 36 ranks. How the
//! operations lie between the messages is not recorded: the shares are assumptions, named beside each. Every program
//! has one row, an iteration; the untimed one before the first is left out.

mod cg;
mod grid;
mod mg;
mod transpose;

use super::benchmark::{MOST_RANKS, MOST_STEPS};
use super::op::{Body, Collective, Job, Kind, Op, Section, Step};
use crate::diagnostic::Diagnostic;
use crate::units::Time;
use std::sync::Arc;

/// The programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bench {
    /// Block tridiagonal solver: pipelines along three axes of a multipartition.
    Bt,
    /// Conjugate gradient: exchanges along rows of a process grid, a transposition, sums.
    Cg,
    /// Fourier transform: an all-to-all.
    Ft,
    /// Integer sort: an all-to-all of keys.
    Is,
    /// Multigrid: borders of nine ever smaller grids.
    Mg,
    /// Scalar pentadiagonal solver: as BT with smaller messages.
    Sp,
}

/// Sizes of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Sample.
    S,
    /// Workstation of the nineties.
    W,
    /// Small.
    A,
    /// Medium.
    B,
    /// Large.
    C,
    /// Sixteen times C.
    D,
}

impl Bench {
    /// All of them, in the order of their names.
    pub(crate) const ALL: [Bench; 6] = [Bench::Bt, Bench::Cg, Bench::Ft, Bench::Is, Bench::Mg, Bench::Sp];

    /// `bt`, as NPB's binaries are called.
    pub fn word(self) -> &'static str {
        match self {
            Bench::Bt => "bt",
            Bench::Cg => "cg",
            Bench::Ft => "ft",
            Bench::Is => "is",
            Bench::Mg => "mg",
            Bench::Sp => "sp",
        }
    }

    /// Iterations under the clock.
    pub(crate) fn iterations(self, class: Class) -> u64 {
        let by_class = match self {
            Bench::Bt => [60, 200, 200, 200, 200, 250],
            Bench::Sp => [100, 400, 400, 400, 400, 500],
            Bench::Cg => [15, 15, 15, 75, 75, 100],
            Bench::Ft => [6, 6, 6, 20, 20, 25],
            Bench::Mg => [4, 4, 4, 20, 20, 50],
            Bench::Is => [10; 6],
        };
        by_class[class as usize]
    }

    /// Operations of one iteration, all ranks together, as the program counts them: floating-point, of IS keys ranked.
    pub(crate) fn operations(self, class: Class) -> f64 {
        match self {
            Bench::Bt => {
                let n = f64::from(grid::points(self, class));
                3478.8 * n * n * n - 17655.7 * n * n + 28023.7 * n
            }
            Bench::Sp => {
                let n = f64::from(grid::points(self, class));
                881.174 * n * n * n - 4683.91 * n * n + 11484.5 * n - 19272.4
            }
            Bench::Cg => cg::operations(class).total(),
            Bench::Ft => transpose::fourier_operations(class).total(),
            Bench::Is => transpose::keys(class) as f64,
            Bench::Mg => 58.0 * (mg::points(class) as f64).powi(3),
        }
    }
}

impl Class {
    /// All of them, smallest first.
    pub(crate) const ALL: [Class; 6] = [Class::S, Class::W, Class::A, Class::B, Class::C, Class::D];

    /// Its letter.
    pub(crate) fn letter(self) -> char {
        ['S', 'W', 'A', 'B', 'C', 'D'][self as usize]
    }
}

/// Program and class by name: `npb is.C`, `IS.C`, `is C`.
pub(crate) fn named(name: &str) -> Result<(Bench, Class), Diagnostic> {
    let lower = name.chars().take(100).collect::<String>().to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let words = if words.first() == Some(&"npb") { &words[1..] } else { &words[..] };
    let wrong = |message: String, hint: &str| Err(Diagnostic::error(None, message).hint(hint));
    let [bench, class] = words else {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        return wrong(format!("`{shown}` is not a valid program and class"), "write, for example, `npb is.C`");
    };
    let Some(found) = Bench::ALL.into_iter().find(|b| b.word() == *bench) else {
        return wrong(format!("there is no NPB program `{bench}` here"), "there are bt, cg, ft, is, mg and sp");
    };
    match Class::ALL.into_iter().find(|c| c.letter().to_ascii_lowercase().to_string() == *class) {
        Some(class) => Ok((found, class)),
        None => wrong(format!("{bench} has no class `{class}`"), "the classes are S, W, A, B, C and D"),
    }
}

/// The program on so many ranks. `rate`: operations a second of a rank, in 10^9; none leaves that to the host
/// ([`Op::Work`]). `iterations`: none is the class's number.
pub fn job(
    bench: Bench,
    class: Class,
    ranks: u32,
    rate: Option<f64>,
    iterations: Option<u64>,
) -> Result<Job, Diagnostic> {
    let name = format!("{}.{}", bench.word(), class.letter());
    let wrong = |message: String, hint: String| Err(Diagnostic::error(None, message).hint(hint));
    if !(1..=MOST_RANKS).contains(&ranks) {
        return wrong(format!("{name} on {ranks} ranks"), format!("it takes from 1 to {MOST_RANKS}"));
    }
    if let Some(rate) = rate.filter(|r| !(1e-6..=1e6).contains(r)) {
        return wrong(format!("{rate} x 10^9 operations a second"), "write between 1e-6 and 1e6".into());
    }
    if iterations == Some(0) {
        return wrong("0 iterations".into(), "write at least 1".into());
    }
    let square = matches!(bench, Bench::Bt | Bench::Sp);
    let most = match bench {
        Bench::Bt | Bench::Sp => grid::most_ranks(bench, class),
        Bench::Cg => MOST_RANKS,
        Bench::Ft => transpose::most_fourier_ranks(class),
        Bench::Is => transpose::buckets(class),
        Bench::Mg => mg::most_ranks(class),
    }
    .min(MOST_RANKS);
    let fits = if square { ranks.isqrt().pow(2) == ranks } else { ranks.is_power_of_two() };
    if !fits || ranks > most {
        let kind = if square { "square number" } else { "power of two" };
        return wrong(
            format!("{name} on {ranks} ranks"),
            format!("it takes a {kind} of ranks, at most {most}, for example {}", near(ranks.min(most), square)),
        );
    }
    let program = || Program { steps: Vec::new(), rate };
    let first = iteration(bench, class, ranks, 0, program());
    if first.len() as u64 * u64::from(ranks) > MOST_STEPS && !alike(bench) {
        return wrong(format!("{name} on {ranks} ranks has more than {MOST_STEPS} steps"), "take fewer ranks".into());
    }
    let times = iterations.unwrap_or(bench.iterations(class));
    let whole = |body| Arc::new(Body::Steps(vec![barrier(), Step::Timed { section: 0, times, body }]));
    let mut bodies = vec![whole(first)];
    if !alike(bench) {
        bodies.extend((1..ranks).map(|rank| whole(iteration(bench, class, ranks, rank, program()))));
    }
    bodies.resize(ranks as usize, bodies[0].clone());
    let section = Section {
        name: format!("{name} iteration"),
        size: None,
        ranks,
        repetitions: bench.iterations(class),
        halves: 1,
        counted: 0,
        messages: 0,
    };
    Ok(Job { title: format!("npb {name}, {ranks} ranks"), bodies, sections: vec![section] })
}

/// Whether all ranks take the same steps.
fn alike(bench: Bench) -> bool {
    matches!(bench, Bench::Ft | Bench::Is)
}

/// The largest number that fits and is not above.
fn near(ranks: u32, square: bool) -> u32 {
    if square { ranks.isqrt().pow(2) } else { 1 << ranks.max(1).ilog2() }
}

fn iteration(bench: Bench, class: Class, ranks: u32, rank: u32, mut program: Program) -> Vec<Step> {
    match bench {
        Bench::Bt | Bench::Sp => grid::iteration(bench, class, ranks, rank, &mut program),
        Bench::Cg => cg::iteration(class, ranks, rank, &mut program),
        Bench::Ft => transpose::fourier(class, ranks, &mut program),
        Bench::Is => transpose::sort(class, ranks, &mut program),
        Bench::Mg => mg::iteration(class, ranks, rank, &mut program),
    }
    program.steps
}

fn barrier() -> Step {
    let kind = Kind::Barrier;
    Step::Do(Op::Collective(Collective { kind, bytes: 0, root: 0, algorithm: None, each: None, work: 0.0 }))
}

/// A rank's iteration while it is written.
struct Program {
    steps: Vec<Step>,
    rate: Option<f64>,
}

impl Program {
    fn op(&mut self, op: Op) {
        self.steps.push(Step::Do(op));
    }

    /// So many operations of this rank.
    fn work(&mut self, operations: f64) {
        if operations > 0.0 {
            self.op(match self.rate {
                Some(rate) => Op::Compute(Time::from_fs((operations / rate * 1e6).round() as u64)),
                None => Op::Work(operations),
            });
        }
    }

    fn collective(&mut self, kind: Kind, bytes: u64, each: Option<Arc<[u64]>>) {
        self.op(Op::Collective(Collective { kind, bytes, root: 0, algorithm: None, each, work: 0.0 }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_those_of_the_published_totals() {
        // Class C, 10^9 operations in all: NPB's own count, measured runs (workloads.md, section 5).
        for (bench, total) in [
            (Bench::Bt, 2867.0),
            (Bench::Sp, 1448.0),
            (Bench::Cg, 143.3),
            (Bench::Mg, 155.7),
            (Bench::Ft, 20.0 * 18.82),
            (Bench::Is, 1.342),
        ] {
            let ours = bench.operations(Class::C) * bench.iterations(Class::C) as f64 / 1e9;
            assert!((ours / total - 1.0).abs() < 2e-3, "{bench:?}: {ours} for {total}");
        }
    }

    #[test]
    fn the_work_of_all_ranks_is_that_of_the_iteration() {
        for bench in Bench::ALL {
            for (class, ranks) in [(Class::C, 16), (Class::C, 64), (Class::S, 4), (Class::A, 1)] {
                let job = job(bench, class, ranks, None, None).expect("a job");
                let mut sum = 0.0;
                for body in &job.bodies {
                    let Body::Steps(steps) = &**body else { panic!("steps") };
                    let [_, Step::Timed { body, .. }] = &steps[..] else { panic!("one row: {steps:?}") };
                    sum += body.iter().map(|s| if let Step::Do(Op::Work(w)) = s { *w } else { 0.0 }).sum::<f64>();
                }
                let whole = bench.operations(class);
                assert!((sum / whole - 1.0).abs() < 1e-9, "{bench:?} {class:?} on {ranks}: {sum} of {whole}");
            }
        }
    }

    #[test]
    fn a_rate_makes_time_of_work() {
        let job = job(Bench::Ft, Class::C, 16, Some(2.0), Some(3)).expect("a job");
        let Body::Steps(steps) = &*job.bodies[15] else { panic!("steps") };
        let [_, Step::Timed { body, times: 3, .. }] = &steps[..] else { panic!("one row: {steps:?}") };
        let time: u64 = body.iter().map(|s| if let Step::Do(Op::Compute(t)) = s { t.fs() } else { 0 }).sum();
        // 18.8 x 10^9 operations on 16 ranks at 2 x 10^9 a second: 0.588 s.
        assert!((time as f64 / 1e15 / (Bench::Ft.operations(Class::C) / 32e9) - 1.0).abs() < 1e-9);
        assert_eq!((job.sections[0].repetitions, job.title.as_str()), (20, "npb ft.C, 16 ranks"));
    }

    #[test]
    fn names_are_found_and_what_is_wrong_is_said() {
        for name in ["npb is.C", "IS.C", "is c", "NPB-IS-C"] {
            assert_eq!(named(name), Ok((Bench::Is, Class::C)), "{name}");
        }
        let hint = |e: Diagnostic| format!("{} ({})", e.message, e.hint.unwrap_or_default());
        let said = |name: &str| hint(named(name).expect_err("no name"));
        assert!(said("lu.C").contains("bt, cg, ft"));
        assert!(said("is.E").contains("S, W, A"));
        assert!(said("").contains("npb is.C"));
        let refused = |bench, ranks| hint(job(bench, Class::C, ranks, None, None).expect_err("refused"));
        assert!(refused(Bench::Bt, 32).contains("a square number of ranks, at most 2916, for example 25"));
        assert!(refused(Bench::Ft, 1024).contains("a power of two of ranks, at most 512, for example 512"));
        assert!(refused(Bench::Mg, 0).contains("from 1"));
        assert!(job(Bench::Mg, Class::S, 8, Some(f64::NAN), None).is_err());
        assert!(job(Bench::Mg, Class::S, 8, None, Some(0)).is_err());
    }

    #[test]
    fn every_class_runs_on_every_number_of_ranks_that_it_allows() {
        for bench in Bench::ALL {
            for class in Class::ALL {
                for ranks in (0..7).map(|k| 4u32.pow(k)) {
                    match job(bench, class, ranks, None, None) {
                        Ok(job) => assert_eq!(job.bodies.len(), ranks as usize),
                        Err(e) => assert!(ranks > 4 && e.hint.is_some(), "{bench:?} {class:?} on {ranks}: {e:?}"),
                    }
                }
            }
        }
    }
}
