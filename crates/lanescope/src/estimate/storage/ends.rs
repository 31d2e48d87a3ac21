//! Which of two answers is asked for: what no run can beat, or what is expected.

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::estimate) enum Ends {
    /// What no I/O can beat.
    Least,
    /// What is expected of one.
    Usual,
}
