//! Jobs over a machine: those between two stonewalls are one scenario, a flow for each clone of a job.

use super::job::{Job, JobFile, Skip};
use super::value::Amount;
use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::import::{Machine, Test};
use crate::units::{Bytes, Time};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

/// Jobs that run together.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Their scenario.
    pub test: Test,
    /// Their clones, one for each flow of the scenario, in its order.
    pub threads: Vec<Thread>,
}

/// A clone of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The job, by its place in the file.
    pub job: usize,
    /// Its flow.
    pub flow: String,
    /// The volumes that it works on.
    pub volumes: Vec<String>,
}

/// A run that is not asked to be tight earlier ends after this, where its jobs say no runtime.
const LONGEST: &str = "60 s";

/// What a job's files are called where volumes are chosen: a name with its folder, or the folder alone where each clone
/// has files of its own.
fn places(job: &Job) -> Vec<String> {
    let below = |name: &String| match &job.directory {
        Some(folder) if !name.starts_with('/') => format!("{}/{name}", folder.trim_end_matches('/')),
        _ => name.clone(),
    };
    match (&job.files[..], &job.directory) {
        ([], folder) => vec![folder.clone().unwrap_or_else(|| ".".into())],
        (files, _) => files.iter().map(below).collect(),
    }
}

/// The files, or folders of unnamed files, that jobs work on, each once in the order of the file.
pub fn files(file: &JobFile) -> Vec<String> {
    let mut known = HashSet::new();
    file.jobs.iter().flat_map(places).filter(|p| known.insert(p.clone())).collect()
}

/// A volume with its host.
struct Place<'a> {
    host: &'a str,
    name: &'a str,
    capacity: u64,
    nvme: bool,
    trims: bool,
}

/// The runs of a job file on a machine. Files go to volumes in order, or as `map` says: (file, its folder, or a job's
/// name; volume). Without `full` a run ends when its means are tight, with it after the jobs' own runtime, with their
/// own ramp before.
pub fn runs(
    diagnostics: &mut Diagnostics,
    file: &JobFile,
    machine: &Machine,
    map: &[(String, String)],
    full: bool,
) -> Option<Vec<Run>> {
    let volumes: Vec<Place> = machine
        .hosts
        .iter()
        .flat_map(|h| {
            h.volumes.iter().map(|v| Place {
                host: &h.name,
                name: &v.name,
                capacity: v.capacity.0,
                nvme: v.nvme,
                trims: v.trims,
            })
        })
        .collect();
    if volumes.is_empty() {
        let d = Diagnostic::error(None, "the machine has no volumes");
        diagnostics.push(
            d.hint("NVMe drives, or disks, ram-disks or arrays behind an adapter; lanescope new --storage prints some"),
        );
        return None;
    }
    let chosen = choose(diagnostics, file, &volumes, map)?;
    let mut all: Vec<Run> = Vec::new();
    let mut taken = HashSet::new();
    let last = file.jobs.last().map_or(0, |j| j.run);
    for run in 0..=last {
        let members: Vec<usize> = (0..file.jobs.len()).filter(|j| file.jobs[*j].run == run).collect();
        let (mut text, mut threads, mut titles) = (String::new(), Vec::new(), Vec::new());
        taken.clear();
        for &j in &members {
            let job = &file.jobs[j];
            titles.push(title(job));
            let on: Vec<&Place> = chosen[j].iter().map(|v| &volumes[*v]).collect();
            if let Some(other) = on.iter().find(|v| v.host != on[0].host) {
                let what = format!("job {} works on volumes of two hosts, {} and {}", job.name, on[0].host, other.host);
                diagnostics.push(
                    Diagnostic::error(None, what).hint("a job runs on one host: --map its files to the volumes of one"),
                );
                return None;
            }
            if let Some(other) = on.iter().find(|v| job.trims > 0 && !v.trims) {
                let what = format!("job {} trims, and {} takes no trims", job.name, other.name);
                let hint = "an NVMe drive does that has a trim_time: --set parts.DRIVE.trim_time='20 us'";
                diagnostics.push(Diagnostic::error(None, what).hint(hint));
                return None;
            }
            for clone in 0..job.clones {
                let flow = name(job, clone, &mut taken);
                write_flow(diagnostics, &mut text, job, clone, &flow, &on);
                threads.push(Thread { job: j, flow, volumes: on.iter().map(|v| v.name.to_owned()).collect() });
            }
        }
        let jobs: Vec<&Job> = members.iter().map(|j| &file.jobs[*j]).collect();
        write_run(diagnostics, &mut text, &jobs, full);
        all.push(Run { test: Test { title: titles.join("; "), text }, threads });
    }
    Some(all)
}

/// The volumes of each job.
fn choose(
    diagnostics: &mut Diagnostics,
    file: &JobFile,
    volumes: &[Place],
    map: &[(String, String)],
) -> Option<Vec<Vec<usize>>> {
    let known = files(file);
    let names = || volumes.iter().map(|v| v.name);
    // Where each name of a mapping leads.
    let mut mapped: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, volume) in map {
        let Some(at) = names().position(|v| v == volume) else {
            let near = nearest(volume, names()).map_or_else(
                || format!("there are {}", names().take(16).collect::<Vec<_>>().join(", ")),
                |n| format!("did you mean {n}?"),
            );
            diagnostics
                .push(Diagnostic::error(None, format!("--map: the machine has no volume {volume:?}")).hint(near));
            return None;
        };
        let ends = |path: &String| path == name || path.rsplit('/').next() == Some(name.as_str());
        let job = file.jobs.iter().any(|j| j.name == *name);
        if !job && !known.iter().any(ends) {
            let all = known.iter().map(String::as_str).chain(file.jobs.iter().map(|j| j.name.as_str()));
            let near = nearest(name, all).map_or_else(
                || format!("it has {}", known.iter().take(16).cloned().collect::<Vec<_>>().join(", ")),
                |n| format!("did you mean {n}?"),
            );
            diagnostics.push(Diagnostic::error(None, format!("--map: the jobs have no file {name:?}")).hint(near));
            return None;
        }
        mapped.insert(name, at);
    }
    let of = |path: &str, job: &Job| {
        let end = path.rsplit('/').next().unwrap_or(path);
        mapped.get(path).or(mapped.get(end)).or(mapped.get(job.name.as_str())).copied()
    };
    let mut next = (0..volumes.len()).filter(|v| !mapped.values().any(|m| m == v));
    let mut given: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for job in &file.jobs {
        let mut own = Vec::new();
        for path in places(job) {
            let at = match of(&path, job).or(given.get(&path).copied()) {
                Some(at) => at,
                None => {
                    let Some(at) = next.next() else {
                        let what = format!(
                            "the jobs work on {} files, the machine has {} volumes",
                            known.len(),
                            volumes.len()
                        );
                        let hint =
                            format!("--map {path}={}, for each of them; two files may share a volume", volumes[0].name);
                        diagnostics.push(Diagnostic::error(None, what).hint(hint));
                        return None;
                    };
                    given.insert(path, at);
                    at
                }
            };
            if !own.contains(&at) {
                own.push(at);
            }
        }
        all.push(own);
    }
    Some(all)
}

/// What a person calls a job: `seq: read 128 KiB, 8 outstanding`.
fn title(job: &Job) -> String {
    let sizes = job.sizes[usize::from(job.read == 0)].as_slice();
    let size = match sizes {
        [(one, _)] => Bytes(*one).to_string(),
        many => format!("{} sizes", many.len()),
    };
    let mut text = format!("{}: {} {size}, {} outstanding", job.name, job.rw, job.depth);
    if job.clones > 1 {
        let _ = write!(text, ", {} clones", job.clones);
    }
    text
}

/// A flow's name: the job's with letters, digits, `-` and `_` alone, and the clone's number; one that is new.
fn name(job: &Job, clone: u32, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let mut base: String = job.name.chars().map(plain).take(60).collect();
    if base.is_empty() {
        base.push_str("job");
    }
    if job.clones > 1 {
        let _ = write!(base, "-{clone}");
    }
    let mut name = base.clone();
    let mut n = 1;
    while !taken.insert(name.clone()) {
        n += 1;
        name = format!("{base}_{n}");
    }
    name
}

/// Hundredths of a percent as a user writes them.
fn percent(hundredths: u32) -> String {
    format!("{} %", f64::from(hundredths) / 100.0)
}

/// Weights as shares of 10,000, by largest remainders.
fn shares(weights: &[u64]) -> Vec<u32> {
    let whole: u64 = weights.iter().sum::<u64>().max(1);
    let mut all: Vec<u32> = weights.iter().map(|w| (w * 10_000 / whole) as u32).collect();
    let left = 10_000u32.saturating_sub(all.iter().sum());
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(weights[*i] * 10_000 % whole));
    order.iter().cycle().take(if all.is_empty() { 0 } else { left as usize }).for_each(|i| all[*i] += 1);
    all
}

/// The lines of a job's access specification as TOML.
fn access(job: &Job) -> String {
    // (size, weight, read, side whose rules hold)
    let alike = job.sizes[0] == job.sizes[1] && job.random[0] == job.random[1] && job.align[0] == job.align[1];
    let read = job.read;
    let mut lines: Vec<(u64, u64, u32, usize)> = Vec::new();
    if alike || read == 0 || read == 100 {
        let side = usize::from(read == 0);
        lines.extend(job.sizes[side].iter().map(|(size, share)| (*size, u64::from(*share), read * 100, side)));
    } else {
        for (side, part, kind) in [(0, read, 10_000), (1, 100 - read, 0)] {
            let all = job.sizes[side].iter();
            lines.extend(all.map(|(size, share)| (*size, u64::from(share * part), kind, side)));
        }
    }
    let shares = shares(&lines.iter().map(|l| l.1).collect::<Vec<_>>());
    let mut texts = Vec::new();
    for ((size, _, read, side), share) in lines.iter().zip(shares) {
        if share == 0 {
            continue;
        }
        let mut text = format!("{{ size = \"{}\"", Bytes(*size));
        if share < 10_000 {
            let _ = write!(text, ", share = \"{}\"", percent(share));
        }
        let random = match job.skip {
            Skip::Every(n) => job.random[*side] * 100 / n,
            _ => job.random[*side] * 100,
        };
        let _ = write!(text, ", read = \"{}\"", percent(*read));
        if job.trims > 0 && *read < 10_000 {
            let _ = write!(text, ", trim = \"{}\"", percent(job.trims * 100));
        }
        let _ = write!(text, ", random = \"{}\"", percent(random));
        let least = job.sizes[*side].iter().map(|s| s.0).min();
        let align = match (job.align[*side], job.skip) {
            (Some(said), _) => Some(said),
            (None, Skip::Hole(hole)) => Some(size.saturating_add(hole)),
            (None, _) if random > 0 => least,
            (None, _) => None,
        };
        // A sector is what offsets are multiples of anyway.
        if let Some(align) = align.filter(|a| *a > 0 && *a != 512) {
            let _ = write!(text, ", align = \"{}\"", Bytes(align.min(1 << 30)));
        }
        if job.think > Time::ZERO {
            let _ = write!(text, ", delay = \"{}\", burst = {}", job.think, job.think_blocks);
        }
        texts.push(text + " }");
    }
    match &texts[..] {
        [one] => one.clone(),
        many => format!("[\n    {},\n]", many.join(",\n    ")),
    }
}

/// What of [`HostSoftware`](crate::scenario::keys::HostSoftware) an engine is: on an NVMe drive the host's share of an
/// I/O depends on it.
fn software(job: &Job) -> &'static str {
    match job.engine.as_str() {
        "spdk" | "nvme" => "spdk",
        "io_uring" | "io_uring_cmd" if job.polls => "io_uring-polled",
        "io_uring" | "io_uring_cmd" | "xnvme" | "libblkio" => "io_uring",
        engine if super::options::SYNC_ENGINES.contains(&engine) => "psync",
        _ => "libaio",
    }
}

fn write_flow(diagnostics: &mut Diagnostics, out: &mut String, job: &Job, clone: u32, flow: &str, on: &[&Place]) {
    let least = on.iter().map(|v| v.capacity).min().unwrap_or(0);
    let of = |amount: Amount| match amount {
        Amount::Bytes(n) => n,
        Amount::Percent(p) => (u128::from(least) * u128::from(p) / 100) as u64,
    };
    let mut warn = |what: String, hint: &str| diagnostics.push(Diagnostic::warning(None, what).hint(hint));
    let (whole, volume) = (Bytes(least), on[0].name);
    let mut start = of(job.offset).saturating_add(u64::from(clone).saturating_mul(job.offset_increment));
    if start >= least {
        warn(
            format!("job {}: offset {} is beyond the end of {volume}, which holds {whole}", job.name, Bytes(start)),
            "it begins at 0",
        );
        start = 0;
    }
    let room = least - start;
    let size = job.size.map(of).filter(|n| *n > 0);
    let largest = job.sizes.iter().flatten().map(|s| s.0).max().unwrap_or(0);
    if let Some(size) = size.filter(|n| *n > room) {
        warn(
            format!("a region of {} on {volume}, which holds {whole}", Bytes(size)),
            "all that the volume has is used",
        );
    }
    // The least that a region can be is one I/O.
    let size = size.map(|n| n.max(largest)).filter(|n| *n < room);
    let to: Vec<String> = on.iter().map(|v| format!("{:?}", v.name)).collect();
    let to = if let [one] = &to[..] { one.clone() } else { format!("[{}]", to.join(", ")) };
    let files = on.len() as u32;
    let depth = job.depth.div_ceil(files);
    if !job.depth.is_multiple_of(files) {
        let what =
            format!("job {}: {} I/Os outstanding are {depth} at each of its {files} volumes", job.name, job.depth);
        warn(what, "fio counts them together, and goes from file to file");
    }
    let _ =
        writeln!(out, "[flows.{flow}]\nfrom = \"{}\"\nto = {to}\ndo = \"io\"\naccess = {}", on[0].host, access(job));
    let _ = writeln!(out, "outstanding = {depth}");
    if let Some(zipf) = job.zipf.filter(|_| job.random.iter().any(|r| *r > 0)) {
        let _ = writeln!(out, "zipf = {zipf}");
    }
    if let Some(law) = job.distribution.as_ref().filter(|_| job.random.iter().any(|r| *r > 0)) {
        let _ = writeln!(out, "distribution = \"{law}\"");
    }
    if on.iter().all(|v| v.nvme) {
        let _ = writeln!(out, "host_software = \"{}\"", software(job));
    }
    if start > 0 {
        let _ = writeln!(out, "start = \"{}\"", Bytes(start));
    }
    if let Some(size) = size {
        let _ = writeln!(out, "file = \"{}\"", Bytes(size));
    }
    if let Some(rate) = job.rate {
        let each = rate / f64::from(files);
        let whole = each.round().clamp(1.0, f64::from(u32::MAX));
        if (whole / each - 1.0).abs() > 0.01 {
            warn(format!("job {}: {each:.3} I/Os a second are taken for {whole}", job.name), "rates are whole numbers");
        }
        let _ = writeln!(out, "rate = {whole}");
        if job.poisson {
            let _ = writeln!(out, "arrivals = \"poisson\"");
        }
    }
    out.push('\n');
}

fn write_run(diagnostics: &mut Diagnostics, out: &mut String, jobs: &[&Job], full: bool) {
    let longest = jobs.iter().filter_map(|j| j.runtime).max();
    let ramp = jobs.iter().map(|j| j.ramp).max().unwrap_or(Time::ZERO);
    if full && jobs.iter().any(|j| j.runtime != longest || j.ramp != ramp) {
        let what = format!("the jobs of {} run for different times: all run for the longest", jobs[0].name);
        diagnostics.push(Diagnostic::warning(None, what));
    }
    out.push_str("[run]\n");
    match (longest, full) {
        (Some(time), true) => {
            let _ = writeln!(out, "for = \"{time}\"\nwarmup = \"{ramp}\"\nmax_packets = 1_000_000_000_000");
            let most = Time::from_fs(time.fs().saturating_add(ramp.fs()).min(Time::MAX.fs()));
            let _ = writeln!(out, "max_time = \"{most}\"");
        }
        (time, _) => {
            let most = time.map_or(LONGEST.to_owned(), |t| t.to_string());
            let _ = writeln!(out, "until = \"±1 %\"\nmax_time = \"{most}\"");
        }
    }
    if let Some(seed) = jobs.iter().find_map(|j| j.seed) {
        let _ = writeln!(out, "seed = {}", seed as u32);
    }
}
