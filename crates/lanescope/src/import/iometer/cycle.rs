//! The tests of a set-up: which workers drive how many targets with how many outstanding I/Os, one test after the
//! other, and each as a scenario.
//!
//! All workers run their first access specification through the whole cycle, then their second; one with a shorter list
//! idles. Numbers of targets and workers grow until nobody has more: who has fewer stays at his maximum. Only
//! outstanding I/Os end at a number of their own (User's Guide, 4.6).

use super::{Cycling, MOST_TARGETS, SECTOR, Setup, Spec, Target, TestSetup, TestType, Worker, WorkerKind};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::import::{Host, Machine, Test, shown};
use crate::scenario::keys::{Line, MOST_OUTSTANDING};
use crate::units::{Bytes, Time};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// Tests of a set-up at most.
pub const MOST_TESTS: usize = 10_000;
/// Loads of workers in all tests together at most; one takes some 500 bytes of scenario.
const MOST_LOADS: usize = 200_000;
/// Bytes of all scenarios together at most.
const MOST_TEXT: usize = 64 << 20;
/// Names that a message lists.
const SHOWN: usize = 12;

/// What one worker does in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Its manager, by its place in the set-up.
    pub manager: usize,
    /// Its place among the manager's workers.
    pub worker: usize,
    /// How many of its targets it drives: the first so many.
    pub targets: usize,
    /// Outstanding I/Os at each.
    pub outstanding: u32,
}

/// One step of the cycling.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Which of their access specifications the workers run, from 0.
    pub spec: usize,
    /// Those who run.
    pub loads: Vec<Load>,
    /// What the step is called beside the specification: `8 outstanding`; empty without cycling.
    pub label: String,
}

/// A worker in a test on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Active {
    /// What it does.
    pub load: Load,
    /// The flow that does it.
    pub flow: String,
    /// The access specification.
    pub spec: String,
    /// Where its targets are, in their order: `drive.0`.
    pub volumes: Vec<String>,
}

/// A test of Iometer on a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerTest {
    /// The scenario.
    pub test: Test,
    /// Which of their access specifications the workers run, from 0.
    pub spec: usize,
    /// Those who run, in the order of the set-up.
    pub workers: Vec<Active>,
}

/// The access specification that a worker runs as its so-manieth; none where it idles.
pub(crate) fn spec_of<'a>(setup: &'a Setup, worker: &'a Worker, index: usize, builtin: &'a Spec) -> Option<&'a Spec> {
    let named = |name: &str| {
        let own = setup.specs.iter().find(|s| s.name == name);
        own.or((name == builtin.name).then_some(builtin))
    };
    match &worker.specs {
        Some(names) => named(&names.get(index)?.0),
        // A worker that the file says nothing of gets what new workers get.
        None => setup.specs.iter().filter(|s| given(s, worker.kind)).nth(index),
    }
}

fn given(spec: &Spec, kind: WorkerKind) -> bool {
    use super::Assignment::{All, Disk, Network};
    matches!((spec.assignment, kind), (All, _) | (Disk, WorkerKind::Disk) | (Network, WorkerKind::Tcp | WorkerKind::Vi))
}

/// How many access specifications the longest list has.
fn indices(setup: &Setup) -> usize {
    let lists = setup.managers.iter().flat_map(|m| &m.workers);
    lists.map(|w| w.specs.as_ref().map_or(setup.specs.len(), Vec::len)).max().unwrap_or(0)
}

/// The steps that a set-up asks for.
///
/// # Errors
/// Cycling that begins with nothing, ends before it begins, or has more steps than anybody waits for.
pub fn steps(setup: &Setup) -> Result<Vec<Step>, Diagnostic> {
    let default = TestSetup::default();
    let test = setup.test.as_ref().unwrap_or(&default);
    let builtin = Spec::builtin();
    let mut all = Steps { list: Vec::new(), loads: 0 };
    check(test)?;
    for spec in 0..indices(setup) {
        // Who can run now: by manager, workers with the number of their targets.
        let managers: Vec<Vec<Load>> = (setup.managers.iter().enumerate())
            .map(|(manager, m)| {
                let able = m
                    .workers
                    .iter()
                    .enumerate()
                    .filter(|(_, w)| !w.targets.is_empty() && spec_of(setup, w, spec, &builtin).is_some());
                let load = |(worker, w): (usize, &Worker)| {
                    // Network workers always have one.
                    let outstanding = if w.kind == WorkerKind::Disk { w.outstanding } else { 1 };
                    Load { manager, worker, targets: w.targets.len(), outstanding }
                };
                able.map(load).collect()
            })
            .collect();
        if managers.iter().any(|m| !m.is_empty()) {
            cycle(setup, test, spec, &managers, &mut all)?;
        }
    }
    Ok(all.list)
}

/// What must hold of the numbers that the test type uses.
fn check(test: &TestSetup) -> Result<(), Diagnostic> {
    use TestType::{Normal, Queue, QueueAndTargets, Workers, WorkersAndTargets};
    let wrong = |what: &str, hint: &str| Err(Diagnostic::error(None, what).hint(hint));
    let kind = test.test_type;
    let used = [
        ("Worker Cycling", test.workers, matches!(kind, Workers | WorkersAndTargets)),
        ("Disk Cycling", test.targets, !matches!(kind, Normal | Workers | Queue)),
        ("Queue Depth Cycling", test.queue, matches!(kind, Queue | QueueAndTargets)),
    ];
    for (name, Cycling { start, step, .. }, _) in used.into_iter().filter(|u| u.2) {
        if start == 0 || step == 0 {
            return wrong(&format!("'{name} starts at {start} with step {step}"), "both are at least 1");
        }
    }
    if used[2].2 {
        let (start, end) = (test.queue.start, test.queue_end);
        if start > end {
            return wrong(
                &format!("'Queue Depth Cycling ends at {end}, before it starts at {start}"),
                "its fields are start, end, step and step type",
            );
        }
        if end > MOST_OUTSTANDING {
            let hint = format!("a worker keeps at most {MOST_OUTSTANDING} I/Os outstanding at a target");
            return wrong(&format!("'Queue Depth Cycling goes up to {end}"), &hint);
        }
    }
    Ok(())
}

struct Steps {
    list: Vec<Step>,
    loads: usize,
}

impl Steps {
    /// Adds a step, while there are not too many.
    fn add(&mut self, spec: usize, loads: Vec<Load>, label: String) -> Result<(), Diagnostic> {
        self.loads += loads.len();
        if self.list.len() == MOST_TESTS || self.loads > MOST_LOADS {
            let message = format!("the set-up asks for more than {} tests", self.list.len());
            return Err(Diagnostic::error(None, message)
                .hint("make the steps of its cycling larger, or multiply with EXPONENTIAL"));
        }
        self.list.push(Step { spec, loads, label });
        Ok(())
    }
}

fn total(loads: &[Load]) -> usize {
    loads.iter().map(|l| l.targets).sum()
}

/// `1 target`, `3 targets`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Numbers that grow, for as long as what `make` makes of them has more than before.
fn growing(
    numbers: Cycling,
    mut size: impl FnMut(&[Load]) -> usize,
    mut make: impl FnMut(usize) -> Vec<Load>,
    mut each: impl FnMut(usize, Vec<Load>) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    let mut before = 0;
    for n in numbers.numbers() {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let loads = make(n);
        let now = size(&loads);
        if now <= before {
            break;
        }
        before = now;
        each(n, loads)?;
    }
    Ok(())
}

/// At most so many targets of each.
fn fewer(loads: &[Load], targets: usize) -> Vec<Load> {
    loads.iter().map(|l| Load { targets: l.targets.min(targets), ..*l }).collect()
}

/// So many targets, worker by worker; what is left. Those without any do not run.
fn dealt(loads: &[Load], mut targets: usize, out: &mut Vec<Load>) -> usize {
    for l in fewer(loads, usize::MAX) {
        let some = l.targets.min(targets);
        targets -= some;
        if some > 0 {
            out.push(Load { targets: some, ..l });
        }
    }
    targets
}

fn cycle(
    setup: &Setup,
    test: &TestSetup,
    spec: usize,
    managers: &[Vec<Load>],
    all: &mut Steps,
) -> Result<(), Diagnostic> {
    let everyone: Vec<Load> = managers.iter().flatten().copied().collect();
    let most = everyone.iter().map(|l| l.targets).max().unwrap_or(0);
    let crowd = managers.iter().map(Vec::len).max().unwrap_or(0);
    let first = |n: usize| managers.iter().flat_map(|m| m.iter().take(n)).copied().collect::<Vec<_>>();
    // Outstanding I/Os, for disk workers.
    let is_disk = |l: &Load| setup.managers[l.manager].workers[l.worker].kind == WorkerKind::Disk;
    let depths = |loads: Vec<Load>, suffix: &str, all: &mut Steps| {
        if !loads.iter().any(is_disk) {
            return all.add(spec, loads, suffix.trim_start_matches(", ").to_owned());
        }
        for q in test.queue.numbers().take_while(|q| *q <= u64::from(test.queue_end)) {
            let deeper = |l: &Load| Load { outstanding: if is_disk(l) { q as u32 } else { 1 }, ..*l };
            all.add(spec, loads.iter().map(deeper).collect(), format!("{q} outstanding{suffix}"))?;
        }
        Ok(())
    };
    match test.test_type {
        TestType::Normal => all.add(spec, everyone, String::new()),
        TestType::Targets => {
            let each = |n: usize, loads| all.add(spec, loads, count(n.min(most), "target"));
            growing(test.targets, total, |n| fewer(&everyone, n), each)
        }
        TestType::Workers => {
            let each = |n: usize, loads| all.add(spec, loads, count(n.min(crowd), "worker"));
            growing(test.workers, total, first, each)
        }
        TestType::TargetsParallel => {
            let make = |n| {
                let mut loads = Vec::new();
                managers.iter().for_each(|m| _ = dealt(m, n, &mut loads));
                loads
            };
            let largest = managers.iter().map(|m| total(m)).max().unwrap_or(0);
            let each =
                |n: usize, loads| all.add(spec, loads, format!("{} of each manager", count(n.min(largest), "target")));
            growing(test.targets, total, make, each)
        }
        TestType::TargetsSerial => {
            let make = |n| {
                let mut loads = Vec::new();
                dealt(&everyone, n, &mut loads);
                loads
            };
            let each = |_, loads: Vec<Load>| {
                let label = format!("{} of all", count(total(&loads), "target"));
                all.add(spec, loads, label)
            };
            growing(test.targets, total, make, each)
        }
        TestType::WorkersAndTargets => growing(test.workers, <[Load]>::len, first, |w, some| {
            let workers = count(w.min(crowd), "worker");
            let most = some.iter().map(|l| l.targets).max().unwrap_or(0);
            let each = |n: usize, loads| all.add(spec, loads, format!("{workers}, {}", count(n.min(most), "target")));
            growing(test.targets, total, |n| fewer(&some, n), each)
        }),
        TestType::Queue => depths(everyone, "", all),
        TestType::QueueAndTargets => growing(
            test.targets,
            total,
            |n| fewer(&everyone, n),
            |n, loads| depths(loads, &format!(", {}", count(n.min(most), "target")), all),
        ),
    }
}

/// The tests of a set-up on a machine. `map` gives managers their hosts and targets their volumes, by names, before
/// anything else does; then a name that both sides have counts, then the order in which they appear.
pub fn tests(
    diagnostics: &mut Diagnostics,
    setup: &Setup,
    machine: &Machine,
    map: &[(String, String)],
) -> Option<Vec<IometerTest>> {
    let mut wrong = Vec::new();
    let found = laid(setup, machine, map, &mut wrong);
    let refused = wrong.iter().any(|d| d.severity == crate::diagnostic::Severity::Error);
    wrong.into_iter().for_each(|d| diagnostics.push(d));
    found.filter(|_| !refused)
}

/// Where managers and targets are.
struct Mapping<'a> {
    /// The host of each manager whose disk workers run.
    hosts: Vec<Option<&'a Host>>,
    /// The station of each manager whose network workers run, or that is at their other end.
    stations: Vec<Option<&'a str>>,
    /// By manager and name of the target.
    volumes: HashMap<(usize, &'a str), &'a str>,
}

fn laid(
    setup: &Setup,
    machine: &Machine,
    map: &[(String, String)],
    wrong: &mut Vec<Diagnostic>,
) -> Option<Vec<IometerTest>> {
    if setup.managers.is_empty() {
        let hint = "a section 'MANAGER LIST says who works on what; Iometer saves it with \"Manager/Worker List\"";
        wrong.push(Diagnostic::error(None, "the set-up has no managers: only access specifications").hint(hint));
        return None;
    }
    let steps = steps(setup).map_err(|d| wrong.push(d)).ok()?;
    let loads = || steps.iter().flat_map(|s| &s.loads);
    let worker_of = |l: &Load| &setup.managers[l.manager].workers[l.worker];
    if steps.is_empty() {
        let hint = "a worker runs when it has a target and an access specification";
        wrong.push(Diagnostic::error(setup.managers[0].place.0, "no worker has anything to do").hint(hint));
        return None;
    }
    if let Some(l) = loads().find(|l| worker_of(l).kind == WorkerKind::Vi) {
        let worker = worker_of(l);
        let message = format!("worker {} is of type {}", shown(&worker.name), worker.kind.token());
        let hint = "there are networks with TCP; without targets it does not run";
        wrong.push(Diagnostic::error(worker.place.0, message).hint(hint));
        return None;
    }
    let reopens =
        |l: &&Load| worker_of(l).kind == WorkerKind::Disk && worker_of(l).transactions_per_connection.is_some();
    if let Some(l) = loads().find(reopens) {
        let worker = worker_of(l);
        let message = format!("worker {} opens its disks anew after some transactions", shown(&worker.name));
        wrong.push(Diagnostic::warning(worker.place.0, message).hint("that takes no time here"));
    }
    let mapping = Mapping::of(setup, machine, map, loads(), wrong)?;
    let run = run(setup, wrong);
    let builtin = Spec::builtin();
    let mut all = Vec::with_capacity(steps.len());
    let mut letters = 0;
    for step in &steps {
        let mut text = String::new();
        let mut workers: Vec<Active> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for load in &step.loads {
            let worker = worker_of(load);
            let from = match worker.kind {
                WorkerKind::Disk => mapping.hosts[load.manager].map(|h| h.name.as_str()),
                _ => mapping.stations[load.manager],
            };
            let (Some(spec), Some(from)) = (spec_of(setup, worker, step.spec, &builtin), from) else { continue };
            let targets = &worker.targets[..load.targets];
            let volume = |t: &Target| mapping.volumes.get(&(load.manager, t.name.as_str())).map(|v| (*v).to_owned());
            let active = Active {
                load: *load,
                flow: format!("m{}-w{}", load.manager + 1, load.worker + 1),
                spec: spec.name.clone(),
                volumes: targets.iter().filter_map(volume).collect(),
            };
            flow(&mut text, &setup.managers[load.manager].name, worker, from, spec, &active);
            if !names.contains(&spec.name.as_str()) && names.len() < SHOWN {
                names.push(&spec.name);
            }
            workers.push(active);
        }
        text += &run;
        letters += text.len();
        if letters > MOST_TEXT {
            let message = format!("the scenarios of {} tests are larger than {}", steps.len(), Bytes(MOST_TEXT as u64));
            wrong.push(Diagnostic::error(None, message).hint("make the steps of its cycling larger"));
            return None;
        }
        let mut title = names.join(" + ");
        if !step.label.is_empty() {
            title = format!("{title}, {}", step.label);
        }
        all.push(IometerTest { test: Test { title, text }, spec: step.spec, workers });
    }
    Some(all)
}

/// The table `[run]`.
fn run(setup: &Setup, wrong: &mut Vec<Diagnostic>) -> String {
    let default = TestSetup::default();
    let test = setup.test.as_ref().unwrap_or(&default);
    let time = |seconds: u64| Time::from_fs(seconds.saturating_mul(1_000_000_000_000_000));
    if test.seconds() == 0 {
        let hint = "until means are within 1 %; 'Run Time gives a time, or --set run.for=10s";
        wrong.push(Diagnostic::warning(None, "the tests run until somebody stops them").hint(hint));
        return "[run]\nuntil = \"±1 %\"\n".into();
    }
    if test.seconds() > Time::MAX.fs() / 1_000_000_000_000_000 {
        let message = format!("tests of {} s", test.seconds());
        wrong.push(
            Diagnostic::warning(None, message)
                .hint(format!("they are cut to {}, the longest that can be simulated", Time::MAX)),
        );
    }
    // As long as it takes to know the means, and no longer than the test; who wants the whole of it asks for that.
    let ramp = match test.ramp_up {
        0 => String::new(),
        ramp => format!("warmup = \"{}\"\n", time(ramp.into())),
    };
    format!("[run]\nuntil = \"±1 %\"\nmax_time = \"{}\"\n{ramp}", time(test.seconds()))
}

/// A text in quotes, for TOML.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// One line of an access specification, for TOML; what is zero is left out.
pub(super) fn line(l: &Line) -> String {
    let percent = |n: u32| format!("\"{} %\"", f64::from(n) / 100.0);
    let (share, read, random) = (percent(l.share), percent(l.read), percent(l.random));
    let mut out = format!("{{ size = \"{}\", share = {share}, read = {read}, random = {random}", l.size);
    if l.delay > Time::ZERO {
        let _ = write!(out, ", delay = \"{}\", burst = {}", l.delay, l.burst);
    }
    for (key, bytes) in [("align", l.align), ("reply", l.reply)] {
        if bytes.0 > 0 {
            let _ = write!(out, ", {key} = \"{bytes}\"");
        }
    }
    out + " }"
}

/// The table of one worker's flow.
fn flow(out: &mut String, manager: &str, worker: &Worker, host: &str, spec: &Spec, active: &Active) {
    let plain = |s: &str| s.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let _ = writeln!(out, "# {}, {}: {}", plain(manager), plain(&worker.name), plain(&spec.name));
    let _ = writeln!(out, "[flows.{}]\nfrom = {}", active.flow, quoted(host));
    let volumes: Vec<String> = active.volumes.iter().map(|v| quoted(v)).collect();
    let _ = match volumes.as_slice() {
        [one] => writeln!(out, "to = {one}"),
        _ => writeln!(out, "to = [{}]", volumes.join(", ")),
    };
    let network = worker.kind != WorkerKind::Disk;
    let does = if network { "transact" } else { "io" };
    let lines: Vec<String> = spec.lines.iter().map(line).collect();
    let _ = match lines.as_slice() {
        [one] => writeln!(out, "do = \"{does}\"\naccess = {one}"),
        _ => writeln!(out, "do = \"{does}\"\naccess = [\n    {},\n]", lines.join(",\n    ")),
    };
    if network {
        // One at a time at each other end; a connection is opened anew behind so many.
        if let Some(n) = worker.transactions_per_connection {
            let _ = writeln!(out, "connections = {n}");
        }
        let _ = writeln!(out, "workers = 1\n");
        return;
    }
    let _ = writeln!(out, "outstanding = {}\nworkers = 1", active.load.outstanding);
    if worker.maximum_size > 0 {
        let _ = writeln!(out, "file = \"{}\"", Bytes(worker.maximum_size.saturating_mul(SECTOR)));
    }
    if worker.starting_sector > 0 {
        let _ = writeln!(out, "start = \"{}\"", Bytes(worker.starting_sector.saturating_mul(SECTOR)));
    }
    out.push('\n');
}

/// `Pliant LS300S P10` of `8: "Pliant LS300S P10"`.
fn inner(name: &str) -> &str {
    name.split_once('"').map_or(name, |(_, rest)| rest.trim_end_matches('"')).trim()
}

/// Whether a name of the set-up is meant.
fn same(name: &str, written: &str) -> bool {
    name.eq_ignore_ascii_case(written.trim()) || inner(name).eq_ignore_ascii_case(written.trim())
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = names.collect();
    let some = all.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match all.len() {
        0 => "none".into(),
        n if n > SHOWN => format!("{some} and {} more", n - SHOWN),
        _ => some,
    }
}

impl<'a> Mapping<'a> {
    fn of<'l>(
        setup: &'a Setup,
        machine: &'a Machine,
        map: &'a [(String, String)],
        loads: impl Iterator<Item = &'l Load>,
        wrong: &mut Vec<Diagnostic>,
    ) -> Option<Mapping<'a>> {
        // The targets of each worker that are ever driven.
        let mut driven: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for l in loads {
            let most = driven.entry((l.manager, l.worker)).or_default();
            *most = (*most).max(l.targets).min(MOST_TARGETS);
        }
        // Those of disks and those of networks, by manager.
        let mut targets: [BTreeMap<usize, Vec<(&Worker, &Target)>>; 2] = Default::default();
        for (&(m, w), &n) in &driven {
            let worker = &setup.managers[m].workers[w];
            let own = targets[usize::from(worker.kind != WorkerKind::Disk)].entry(m).or_default();
            own.extend(worker.targets.iter().take(n).map(|t| (worker, t)));
        }
        let [disks, networks] = targets;
        unknown(setup, machine, map, wrong);
        let mut mapping = Mapping { hosts: Vec::new(), stations: Vec::new(), volumes: HashMap::new() };
        let active: Vec<usize> = disks.keys().copied().collect();
        let names: Vec<&str> = machine.hosts.iter().map(|h| h.name.as_str()).collect();
        let hosts = placed(setup, "host", &names, map, &active, wrong)?;
        mapping.hosts = hosts.into_iter().map(|n| machine.hosts.iter().find(|h| Some(h.name.as_str()) == n)).collect();
        for (m, targets) in disks {
            let mut known = HashSet::new();
            let names: Vec<&Target> =
                targets.into_iter().map(|t| t.1).filter(|t| known.insert(t.name.as_str())).collect();
            mapping.find_volumes(setup, map, m, &names, wrong);
        }
        mapping.find_stations(setup, machine, map, &networks, wrong)?;
        Some(mapping)
    }

    /// Stations of managers at both ends, and which is behind each target.
    fn find_stations(
        &mut self,
        setup: &'a Setup,
        machine: &'a Machine,
        map: &[(String, String)],
        networks: &BTreeMap<usize, Vec<(&'a Worker, &'a Target)>>,
        wrong: &mut Vec<Diagnostic>,
    ) -> Option<()> {
        let other = |t: &Target| {
            let (id, name) = t.manager.as_ref()?;
            let managers = || setup.managers.iter();
            managers().position(|m| m.name == *name && m.id == *id).or_else(|| managers().position(|m| m.name == *name))
        };
        let mut active: Vec<usize> = networks.keys().copied().collect();
        for (_, target) in networks.values().flatten() {
            let Some(m) = other(target) else {
                let message = format!("network target {} is on no manager of the set-up", shown(&target.name));
                let hint = "'Target manager ID, manager name says on which";
                wrong.push(Diagnostic::error(target.place.0, message).hint(hint));
                return None;
            };
            active.push(m);
        }
        active.sort_unstable();
        active.dedup();
        let names: Vec<&str> = machine.stations.iter().map(String::as_str).collect();
        self.stations = placed(setup, "station", &names, map, &active, wrong)?;
        for (&m, targets) in networks {
            let mut taken: HashSet<(*const Worker, &str)> = HashSet::new();
            for (worker, target) in targets {
                let station = other(target).and_then(|o| self.stations[o]);
                let station = station.filter(|s| Some(*s) != self.stations[m]);
                let Some(station) = station else {
                    let message =
                        format!("network target {} is on the machine of its own manager", shown(&target.name));
                    let hint = "what a machine sends to itself crosses no network";
                    wrong.push(Diagnostic::error(target.place.0, message).hint(hint));
                    return None;
                };
                if !taken.insert((std::ptr::from_ref(*worker), station)) {
                    let message = format!("worker {} has two targets at station {station}", shown(&worker.name));
                    let hint = "each other end is one station; give the second target to another worker";
                    wrong.push(Diagnostic::error(target.place.0, message).hint(hint));
                    return None;
                }
                self.volumes.insert((m, &target.name), station);
            }
        }
        Some(())
    }

    fn find_volumes(
        &mut self,
        setup: &Setup,
        map: &'a [(String, String)],
        m: usize,
        targets: &[&'a Target],
        wrong: &mut Vec<Diagnostic>,
    ) {
        let Some(host) = self.hosts[m] else { return };
        let volume =
            |name: &str| host.volumes.iter().find(|v| v.name.eq_ignore_ascii_case(name)).map(|v| v.name.as_str());
        let mut taken = HashSet::new();
        let mut rest = Vec::new();
        for &target in targets {
            let mapped = map.iter().find(|(from, _)| same(&target.name, from));
            if let Some((_, to)) = mapped
                && volume(to).is_none()
            {
                let message = format!("--map: host {} has no volume {}", host.name, shown(to));
                let hint = format!("it has {}", list(host.volumes.iter().map(|v| v.name.as_str())));
                wrong.push(Diagnostic::error(target.place.0, message).hint(hint));
                continue;
            }
            let found = mapped
                .and_then(|(_, to)| volume(to))
                .or_else(|| volume(&target.name))
                .or_else(|| volume(inner(&target.name)));
            match found {
                Some(v) => {
                    taken.insert(v);
                    self.volumes.insert((m, &target.name), v);
                }
                None => rest.push(target),
            }
        }
        let mut free = host.volumes.iter().map(|v| v.name.as_str()).filter(|v| !taken.contains(v));
        for target in rest {
            let Some(v) = free.next() else {
                let message = format!("no volume is left for target {}", shown(&target.name));
                let volumes = list(host.volumes.iter().map(|v| v.name.as_str()));
                let hint = format!(
                    "manager {} has {}, host {} has: {volumes}; --map \"{}\"=VOLUME puts two on one",
                    shown(&setup.managers[m].name),
                    count(targets.len(), "target"),
                    host.name,
                    shown(inner(&target.name))
                );
                wrong.push(Diagnostic::error(target.place.0, message).hint(hint));
                return;
            };
            self.volumes.insert((m, &target.name), v);
        }
    }
}

/// Entries of the map that name nothing.
fn unknown(setup: &Setup, machine: &Machine, map: &[(String, String)], wrong: &mut Vec<Diagnostic>) {
    let targets = || setup.managers.iter().flat_map(|m| &m.workers).flat_map(|w| &w.targets).map(|t| t.name.as_str());
    let managers = || setup.managers.iter().map(|m| m.name.as_str());
    let hosts = || machine.hosts.iter().map(|h| h.name.as_str());
    let volumes = || machine.hosts.iter().flat_map(|h| &h.volumes).map(|v| v.name.as_str());
    let stations = || machine.stations.iter().map(String::as_str);
    for (from, to) in map {
        let message = if !targets().chain(managers()).any(|n| same(n, from)) {
            let mut known = HashSet::new();
            let all = targets().chain(managers()).filter(|n| known.insert(*n));
            Some((
                format!("--map: the set-up has no target or manager {}", shown(from)),
                format!("there are {}", list(all)),
            ))
        } else if !hosts().chain(volumes()).chain(stations()).any(|n| n == to) {
            let near = nearest(to, volumes().chain(hosts())).map_or(String::new(), |n| format!("did you mean {n}? "));
            let mut all = format!("{near}hosts: {}; volumes: {}", list(hosts()), list(volumes()));
            if !machine.stations.is_empty() {
                all += &format!("; stations: {}", list(stations()));
            }
            Some((format!("--map: the machine has no volume or host {}", shown(to)), all))
        } else {
            None
        };
        wrong.extend(message.map(|(message, hint)| Diagnostic::error(None, message).hint(hint)));
    }
}

/// The host or station of each manager that is active: as mapped, by name, or in order.
fn placed<'a>(
    setup: &Setup,
    what: &str,
    all: &[&'a str],
    map: &[(String, String)],
    active: &[usize],
    wrong: &mut Vec<Diagnostic>,
) -> Option<Vec<Option<&'a str>>> {
    let mut places = vec![None; setup.managers.len()];
    let named = |name: &str| all.iter().find(|n| n.eq_ignore_ascii_case(name)).copied();
    for &m in active {
        let name = &setup.managers[m].name;
        let mapped = map.iter().filter(|(from, _)| same(name, from)).find_map(|(_, to)| named(to));
        places[m] = mapped.or_else(|| named(name));
    }
    let taken: HashSet<&str> = places.iter().flatten().copied().collect();
    // Who maps a manager to a host may mean that two share it.
    let mapped = |n: &&str| map.iter().any(|(_, to)| *to == **n);
    let (free, shared): (Vec<&str>, Vec<&str>) = all.iter().partition(|n| !taken.contains(**n));
    let mut free = free.into_iter().chain(shared.into_iter().filter(mapped));
    for &m in active {
        if places[m].is_none() {
            places[m] = free.next();
        }
        if places[m].is_none() {
            let manager = &setup.managers[m];
            let message = format!("no {what} is left for manager {}", shown(&manager.name));
            let hint = format!(
                "{} run; the machine has {what}s: {}; --map \"{}\"={} puts two on one",
                count(active.len(), "manager"),
                list(all.iter().copied()),
                shown(&manager.name),
                what.to_uppercase()
            );
            wrong.push(Diagnostic::error(manager.place.0, message).hint(hint));
            return None;
        }
    }
    Some(places)
}

#[cfg(test)]
mod tests;
