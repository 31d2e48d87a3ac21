//! The machine that measures: its name, its clock of CPU time, and one core for ours and theirs.

use std::process::Command;

/// CPU seconds of this thread so far.
pub(crate) fn cpu() -> f64 {
    // The kernel brings the figure up to date when a thread yields.
    std::thread::yield_now();
    let used = std::fs::read_to_string("/proc/self/schedstat").ok();
    let used = used.and_then(|s| s.split(' ').next()?.parse::<f64>().ok());
    used.map_or_else(wall, |ns| ns / 1e9)
}

/// Where there is no such figure, the time on the wall.
fn wall() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0.0, |t| t.as_secs_f64())
}

/// Binds this process, and with it what it starts, to core 1. Says whether that worked.
#[allow(dead_code, reason = "not every bench asks")]
pub(crate) fn pin() -> bool {
    let me = std::process::id().to_string();
    let done = Command::new("taskset").args(["-p", "-c", "1", &me]).output();
    done.is_ok_and(|o| o.status.success())
}

/// What it is called.
pub(crate) fn name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    name.unwrap_or("a machine without a name").to_owned()
}

/// The middle one; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// What something gives, and the CPU seconds that it takes.
#[allow(dead_code, reason = "not every bench asks")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu();
    let result = work();
    (result, cpu() - before)
}
