//! Message programs: what each rank of a parallel program does, step by step, and what an MPI library makes of it.
//!
//! A [`Job`] is the program of all ranks, with every number worked out: nothing is left to evaluate but time. It comes
//! from a few lines of text (`text`), from an instrument (`benchmark`), from a skeleton of the NAS Parallel Benchmarks
//! (`npb`), or from a trace (room `import`). [`check`] counts whether messages can meet. A [`Machine`] runs it: it
//! keeps each rank's processor, matches messages, chooses eager or rendezvous, takes collectives apart into messages
//! (`collective`), and asks whoever carries messages to carry them. The estimate carries them in closed form, the
//! simulation packet by packet; the machine is the same.

pub mod benchmark;
mod check;
mod collective;
mod machine;
pub mod npb;
mod op;
pub mod text;
mod traffic;

pub use check::check;
pub(crate) use machine::{Account, Called, Logged, MOST_RANKS, Mail, Post, Spending};
pub use machine::{Costs, Machine, Placement, Row, What};
pub(crate) use op::Task;
pub use op::{Algorithm, Body, Collective, Job, Kind, Op, Section, Step};
