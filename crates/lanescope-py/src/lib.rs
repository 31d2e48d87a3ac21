//! What Python sees of the library: thin objects, without physics and without manners.
//!
//! The package `lanescope` (folder `python/`) is what users meet; it wraps what is here, names things and draws the
//! pictures' frames. Every call that may last releases the interpreter's lock, and looks at signals every some
//! milliseconds. Everything is immutable but a sweep's folder, so objects may be used from several threads.

mod calls;
mod convert;
mod gpus;
mod model;
mod sweep;
mod table;
mod ticks;

/// The native module of the package.
#[pyo3::pymodule]
mod _lanescope {
    #[pymodule_export]
    use crate::calls::{
        dimension, explain, explain_emit, fit, human, in_unit, metrics, platforms, quantity, schema, slurm, starter,
        studies, study_run, vary, version, wire_pcie,
    };
    #[pymodule_export]
    use crate::gpus::{Collective, collective, collective_size};
    #[pymodule_export]
    use crate::model::{Model, Report};
    #[pymodule_export]
    use crate::sweep::{Rows, Sweep, curves};
    #[pymodule_export]
    use crate::table::Table;
}
