//! fio: job files as loads, and the JSON of its results.
//!
//! Options and their meaning are those of fio's HOWTO; [`job`] says which of them are modelled. A [`JobFile`] becomes
//! scenarios over a machine ([`runs`]); what fio printed about a real run, or what is printed about a simulated one, is
//! an [`Output`].

pub mod job;
pub mod json;
mod options;
mod run;
mod value;

pub use job::{Job, JobFile};
pub use json::Output;
pub use run::{Run, files, runs};
