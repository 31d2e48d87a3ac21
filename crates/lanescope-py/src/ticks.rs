//! Signals and progress, looked at from inside of long work that has released the interpreter's lock.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// How often the interpreter is asked.
const EVERY: Duration = Duration::from_millis(50);

/// Who asks.
pub(crate) struct Ticks {
    callback: Option<Py<PyAny>>,
    last: Instant,
    /// Whether somebody pressed Ctrl-C: the work ends with what there is.
    pub(crate) interrupted: bool,
    /// What the callback, or a handler of a signal, raised.
    pub(crate) failed: Option<PyErr>,
}

impl Ticks {
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Ticks {
        Ticks { callback, last: Instant::now(), interrupted: false, failed: None }
    }

    /// Whether to go on; `progress` is handed to the callback.
    pub(crate) fn go_on(&mut self, progress: f64) -> bool {
        if self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            self.ask(progress);
        }
        !self.interrupted && self.failed.is_none()
    }

    /// Tells the callback at once, e.g. that all is done.
    pub(crate) fn ask(&mut self, progress: f64) {
        let asked = Python::attach(|py| -> PyResult<()> {
            py.check_signals()?;
            if let Some(callback) = &self.callback {
                callback.call1(py, (progress,))?;
            }
            Ok(())
        });
        if let Err(e) = asked {
            if Python::attach(|py| e.is_instance_of::<PyKeyboardInterrupt>(py)) {
                self.interrupted = true;
            } else if self.failed.is_none() {
                self.failed = Some(e);
            }
        }
    }

    /// Whether Ctrl-C ended it, or what the callback raised.
    pub(crate) fn end(self) -> PyResult<bool> {
        match self.failed {
            Some(e) => Err(e),
            None => Ok(self.interrupted),
        }
    }
}
