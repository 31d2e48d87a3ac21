//! Random texts: what a property test draws, taken byte by byte, so that a failing case shrinks with its bytes.

use crate::common::plan;
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::result::Simulation;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestCaseResult, TestRng, TestRunner};
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// Fixed cases of a law. LANESCOPE_CASES sets another number: CI has 100, of which these are the first.
const CASES: u64 = 12;

/// How many cases of a law are the same in every run, how many are fresh, and the seed of those. LANESCOPE_FRESH asks
/// for so many fresh ones, which `make fresh` does; LANESCOPE_SEED repeats those of a run that failed; with
/// PROPTEST_CASES there are so many fresh ones and no others.
pub(crate) fn cases() -> (u64, u64, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let seed = number("LANESCOPE_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    match number("PROPTEST_CASES") {
        Some(alone) => (0, alone, seed),
        None => (number("LANESCOPE_CASES").unwrap_or(CASES), number("LANESCOPE_FRESH").unwrap_or(0), seed),
    }
}

/// Of how much a test must see more, so that it says something, where fifty cases or more show `enough`: of fewer cases
/// as large a part.
pub(crate) fn of_fifty(enough: u64) -> u64 {
    let (fixed, fresh, _) = cases();
    enough * (fixed + fresh).min(50) / 50
}

/// Holds a law to scenarios that grow out of random bytes. It gives the simulation, and whether its throughput was held
/// to a bound. Most scenarios are to be simulated, and some held to one.
pub(crate) fn on_random(
    lengths: Range<usize>,
    grow: impl Fn(&[u8]) -> String,
    law: impl Fn(&Plan, &Diagnostics) -> (Simulation, bool),
) {
    let (refused, simulated, held, ios) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = runner(Config { max_shrink_iters: 200, ..Config::default() });
    let result = runner.run(&vec(any::<u8>(), lengths), |bytes| {
        let text = grow(&bytes);
        let (plan, d) = plan(&text, &[]);
        let Some(plan) = plan else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| law(&plan, &d)));
        let (s, was_held) = caught.map_err(|_| TestCaseError::fail(format!("a law is broken:\n{text}")))?;
        simulated.set(simulated.get() + 1);
        held.set(held.get() + u32::from(was_held));
        ios.set(ios.get() + s.flows.iter().filter(|f| f.ios.is_some()).map(|f| f.operations).sum::<u64>());
        Ok(())
    });
    let (refused, simulated, held) = (refused.get(), simulated.get(), held.get());
    println!("{simulated} simulated, {refused} refused, {held} held to a bound, {} I/Os", ios.get());
    if let Err(e) = result {
        panic!("{e}");
    }
    assert!(simulated > 2 * refused, "most should be simulated: {simulated} of {}", simulated + refused);
    // Of a few inputs chance may leave fewer than one in eight.
    let enough = if simulated < 50 { held > 0 } else { held > simulated / 8 };
    assert!(enough, "{held} of {simulated} held to a bound");
}

/// A law was held to all, and nothing was found that is apart; else the first few of that.
pub(crate) fn none_apart(ran: Result<(), String>, apart: &[String]) {
    if let Err(e) = ran {
        panic!("{e}");
    }
    assert!(apart.is_empty(), "{} apart:\n{}", apart.len(), apart[..apart.len().min(12)].join("\n"));
}

/// A law's cases, fixed and fresh.
pub(crate) struct Cases(Config);

/// Cases with a configuration; its number of cases does not count.
pub(crate) fn runner(config: Config) -> Cases {
    Cases(Config { failure_persistence: None, ..config })
}

impl Cases {
    /// Holds a law to all cases. Gives what failed, with the seed that repeats it.
    pub(crate) fn run<S: Strategy>(
        &mut self,
        strategy: &S,
        law: impl Fn(S::Value) -> TestCaseResult,
    ) -> Result<(), String> {
        let hold = |cases: u64, rng: TestRng, again: &str| {
            let config = Config { cases: cases as u32, ..self.0.clone() };
            TestRunner::new_with_rng(config, rng).run(strategy, &law).map_err(|e| format!("{e}\n{again}"))
        };
        let (fixed, fresh, seed) = cases();
        hold(fixed, TestRng::deterministic_rng(RngAlgorithm::ChaCha), "one of the fixed cases")?;
        let bytes = [seed.to_le_bytes(); 4].concat();
        let again = format!("a fresh case: LANESCOPE_SEED={seed} PROPTEST_CASES={fresh} repeats it");
        hold(fresh, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes), &again)
    }
}

/// Bytes that decide.
pub(crate) struct Choices<'a>(pub(crate) std::slice::Iter<'a, u8>);

impl Choices<'_> {
    /// A number below `n`; 0 where the bytes have run out.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |b| *b as usize) % n
    }

    /// One of several words.
    pub(crate) fn of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }

    /// A number whose logarithm is about uniform.
    pub(crate) fn about(&mut self, least: u64, most: u64) -> u64 {
        let (part, fine) = (self.below(256) as f64 / 255.0, self.below(256) as u64);
        ((least as f64 * (most as f64 / least as f64).powf(part)) as u64 + fine).clamp(least, most)
    }

    /// Sometimes a line.
    pub(crate) fn maybe(&mut self, line: impl FnOnce(&mut Self) -> String) -> String {
        if self.below(3) == 0 { line(self) } else { String::new() }
    }
}
