//! SIGINT and SIGTERM end the program within a second, whatever it is doing, and leave finished results behind.
//!
//! Whoever works in pieces looks at [`stopped`] between them, and answers with what there is. What cannot look (a plan,
//! an estimate, a search, a fit) is done beside: [`gather`] takes results as they come and stops waiting [`GRACE`]
//! after a signal. Where even that is too little, a watchman ends the program [`GRACE`] after the signal; before, he
//! prints what [`otherwise`] was told to.

use crate::say::say;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long work may go on after a signal, for what it has to be shown.
const GRACE: Duration = Duration::from_millis(500);
/// How long a second signal is taken for an echo of the first: some programs signal a process and its group.
const ECHO: Duration = Duration::from_secs(1);
/// Ended by a signal without an answer: what a shell reports of a program that SIGINT has ended.
const SIGNALLED: i32 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static FIRST: OnceLock<Instant> = OnceLock::new();

type Last = Box<dyn FnOnce() + Send>;
static OTHERWISE: Mutex<Option<Last>> = Mutex::new(None);

/// From now on a signal asks to stop.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        STOP.store(true, Ordering::Relaxed);
        if FIRST.get().is_some_and(|first| first.elapsed() > ECHO) {
            std::process::exit(SIGNALLED);
        }
        if FIRST.set(Instant::now()).is_ok() {
            std::thread::spawn(watch);
        }
    });
}

/// Whether somebody has asked to stop.
pub(crate) fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// What is printed, in the place of an answer, if a signal finds the program where it cannot look up. The answer itself
/// takes it back.
pub(crate) fn otherwise(last: impl FnOnce() + Send + 'static) {
    *OTHERWISE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last));
}

/// The answer is being printed.
pub(crate) fn answered() -> Option<Box<dyn FnOnce() + Send>> {
    OTHERWISE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn watch() {
    // Whoever looks at the signal is given his grace first.
    std::thread::sleep(GRACE + GRACE / 2);
    // What is being printed is printed to its end, unless nobody reads it.
    std::thread::spawn(|| {
        std::thread::sleep(2 * GRACE);
        std::process::exit(SIGNALLED);
    });
    let mut out = std::io::stdout().lock();
    match answered() {
        Some(last) => {
            say!("stopped: what follows is what was finished");
            last();
        }
        None => say!("stopped"),
    }
    let _ = out.flush();
    std::process::exit(SIGNALLED);
}

/// Does work beside, and hands over what it sends as it comes; after a signal no longer than [`GRACE`]. Gives whether
/// the work came to its end.
pub(crate) fn gather<T: Send + 'static>(
    work: impl FnOnce(Sender<T>) + Send + 'static,
    mut each: impl FnMut(T),
) -> bool {
    let (send, receive) = channel();
    let worker = std::thread::spawn(move || work(send));
    loop {
        match receive.recv_timeout(Duration::from_millis(20)) {
            Ok(result) => each(result),
            Err(RecvTimeoutError::Timeout) => {
                if FIRST.get().is_some_and(|first| first.elapsed() > GRACE) {
                    return false;
                }
            }
            // A panic of the work is one of the program.
            Err(RecvTimeoutError::Disconnected) => {
                return match worker.join() {
                    Ok(()) => true,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
            }
        }
    }
}
