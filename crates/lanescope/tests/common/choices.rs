//! Random texts: what a property test draws, taken byte by byte, so that a failing case shrinks with its bytes.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The same cases in every run; or other ones each time, as many as PROPTEST_CASES says.
pub(crate) fn runner(config: Config) -> TestRunner {
    let config = Config { failure_persistence: None, ..config };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => TestRunner::new(Config { cases: Config::default().cases, ..config }),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
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
