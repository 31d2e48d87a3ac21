//! Signals and progress, looked at from inside of long work that has released the interpreter's lock.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
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

/// Work that nothing inside of can look at signals, e.g. one large estimate, on a thread of its own: Ctrl-C raises at
/// once. What was begun goes on until it sees `stop` or has ended, and nobody takes its answer.
pub(crate) fn alone<T: Send + 'static>(
    py: Python,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (send, receive) = sync_channel(1);
    let own = stop.clone();
    let began = std::thread::Builder::new().name("lanescope".into()).spawn(move || {
        // Who asked may be gone.
        let _ = send.send(work(&own));
    });
    began?;
    py.detach(move || {
        loop {
            match receive.recv_timeout(EVERY) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the program failed: this is a bug of lanescope"));
                }
            }
            if let Err(e) = Python::attach(|py| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                return Err(e);
            }
        }
    })
}
