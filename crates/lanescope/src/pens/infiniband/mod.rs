//! Tables of message benchmarks, in the forms of IMB and of the OSU benchmarks.

pub mod instrument;
