//! Message programs from outside: skeletons against recorded calls, traces, and tables of real instruments.
//!
//! Some recordings lie in the shared folder; where it is not there, their tests are skipped and say so.

mod npb;
mod tables;
mod traces;

use crate::common::fixture;

/// The text of a fixture.
fn text(name: &str) -> Option<String> {
    fixture(name).map(|path| std::fs::read_to_string(path).expect("a text"))
}
