//! The bodies of the fuzz targets. They live with the tests of `lanescope`, so that `cargo test` replays the corpus
//! through the same code.

#[path = "../../crates/lanescope/tests/all/bodies/mod.rs"]
pub mod bodies;
