//! Set-ups of Iometer from scenarios: hosts become managers, workers workers, and each scenario's access an access
//! specification.

use crate::import::iometer::{Assignment, MOST_SPEC_NAME, MOST_TARGETS, MOST_WORKERS};
use crate::import::iometer::{Manager, Place, SECTOR, Setup, Spawn, Spec, Target, TestSetup, Worker, WorkerKind};
use crate::plan::Plan;
use crate::plan::storage::IoFlow;
use crate::scenario::keys::Line;
use crate::units::Time;

/// Femtoseconds of a millisecond and of a second.
const MS: u64 = 1_000_000_000_000;
const SECOND: u64 = 1000 * MS;

/// The set-up that runs scenarios one after the other, each by its name: all workers run the first access
/// specification, then the second.
///
/// # Errors
/// What a set-up of Iometer has no words for: other flows, tests of IOzone, fractions of a percent, workers that differ
/// from scenario to scenario.
pub fn setup(scenarios: &[(String, &Plan)]) -> Result<Setup, String> {
    let mut setup = Setup { version: "1.1.0".into(), display: Some(Default::default()), ..Setup::default() };
    for (index, (name, plan)) in scenarios.iter().enumerate() {
        let storage = &plan.storage;
        if let Some(f) = storage.flows.iter().find(|f| f.test.is_some()) {
            return Err(format!("{name}: flow {} is a test of IOzone, which Iometer does not have", f.name));
        }
        if let Some(f) = storage.flows.iter().find(|f| f.rate.is_some()) {
            return Err(format!(
                "{name}: flow {} has a rate; workers of Iometer wait for nothing but their I/Os",
                f.name
            ));
        }
        if storage.flows.is_empty() {
            return Err(format!("{name}: there is no flow of I/Os (do = \"io\")"));
        }
        let others = plan.flows.iter().filter(|f| !matches!(f.program, crate::plan::Program::ExternallyDriven)).count();
        let ranks = plan.cluster.jobs.len();
        if others + ranks + plan.network.streams.len() > 0 {
            return Err(format!("{name}: there are flows that are no I/Os; Iometer has nothing for them"));
        }
        // Workers of each host are told by their order.
        let mut seen: Vec<(u32, &IoFlow)> = Vec::new();
        for flow in &storage.flows {
            if seen.iter().all(|(w, _)| *w != flow.worker) {
                seen.push((flow.worker, flow));
            }
        }
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for (number, first) in &seen {
            let host = storage.workers[*number as usize].as_str();
            let own: Vec<&IoFlow> = storage.flows.iter().filter(|f| f.worker == *number).collect();
            let spec = spec(&mut setup, name, first, seen.iter().any(|(_, f)| f.lines != first.lines))?;
            let nth = match counts.iter_mut().find(|(h, _)| *h == host) {
                Some((_, n)) => {
                    *n += 1;
                    *n
                }
                None => {
                    counts.push((host, 0));
                    0
                }
            };
            let worker = worker(&mut setup, host, nth)?;
            let made = made(plan, name, &own, nth)?;
            let specs = worker.specs.take().unwrap_or_default();
            let known = !worker.targets.is_empty();
            if known
                && (&worker.targets, worker.outstanding, worker.maximum_size, worker.starting_sector)
                    != (&made.targets, made.outstanding, made.maximum_size, made.starting_sector)
            {
                return Err(format!(
                    "{name}: worker {} of {host} has other targets, outstanding I/Os or sectors than in the scenarios \
                        before; \
                     in Iometer they belong to the worker",
                    nth + 1
                ));
            }
            *worker = made;
            let mut specs = specs;
            specs.resize(index, ("Idle".into(), Place::default()));
            specs.push((spec, Place::default()));
            worker.specs = Some(specs);
        }
        let time = plan.limits.length.unwrap_or(plan.limits.max_time).fs().div_ceil(SECOND) as u32;
        let ramp_up = plan.limits.warmup.map_or(0, |w| w.fs().div_ceil(SECOND) as u32);
        let test = setup.test.get_or_insert_with(|| TestSetup {
            description: name.clone(),
            run_time: [time / 3600, time / 60 % 60, time % 60],
            ramp_up,
            disk_workers: Spawn::Number(0),
            ..TestSetup::default()
        });
        if (test.seconds(), test.ramp_up) != (u64::from(time), ramp_up) {
            return Err(format!(
                "{name}: it runs for {time} s behind {ramp_up} s of warm-up, those before for {} s behind {} s; in \
                    Iometer all tests run as long",
                test.seconds(),
                test.ramp_up
            ));
        }
    }
    Ok(setup)
}

/// A worker of a host, made where it is not there yet.
fn worker<'a>(setup: &'a mut Setup, host: &str, nth: usize) -> Result<&'a mut Worker, String> {
    let at = match setup.managers.iter().position(|m| m.name == host) {
        Some(at) => at,
        None => {
            let id = setup.managers.len() as u32 + 1;
            setup.managers.push(Manager { id, name: host.to_owned(), ..Manager::default() });
            setup.managers.len() - 1
        }
    };
    let workers = &mut setup.managers[at].workers;
    if nth >= MOST_WORKERS {
        return Err(format!("host {host} has more than {MOST_WORKERS} workers, Iometer's most"));
    }
    if nth >= workers.len() {
        workers.push(Worker::default());
    }
    let last = workers.len() - 1;
    Ok(&mut workers[nth.min(last)])
}

/// A worker from its flows.
fn made(plan: &Plan, name: &str, own: &[&IoFlow], nth: usize) -> Result<Worker, String> {
    let storage = &plan.storage;
    if own.len() > MOST_TARGETS {
        return Err(format!("{name}: a worker has more than {MOST_TARGETS} targets, Iometer's most"));
    }
    let first = own[0];
    let whole = own.iter().all(|f| f.range.0 + f.start.0 >= storage.capacity(f.volume));
    let sectors = |bytes: u64| bytes.is_multiple_of(SECTOR);
    if !sectors(first.start.0) || (!whole && !sectors(first.range.0)) {
        return Err(format!("{name}: flow {} begins or ends within a sector of {SECTOR} B", first.name));
    }
    let target = |f: &&IoFlow| Target {
        name: storage.volume_name(f.volume).to_owned(),
        kind: WorkerKind::Disk,
        manager: None,
        place: Place::default(),
    };
    Ok(Worker {
        name: format!("Worker {}", nth + 1),
        outstanding: first.outstanding.typical.get(),
        maximum_size: if whole { 0 } else { first.range.0 / SECTOR },
        starting_sector: first.start.0 / SECTOR,
        targets: own.iter().map(target).collect(),
        ..Worker::default()
    })
}

/// The name of a flow's access specification, which is put into the set-up where it is not there yet.
fn spec(setup: &mut Setup, name: &str, flow: &IoFlow, several: bool) -> Result<String, String> {
    let whole = |l: &Line| [l.share, l.read, l.random].iter().all(|p| p % 100 == 0) && l.delay.fs().is_multiple_of(MS);
    if flow.lines.iter().any(|l| l.trim > 0) {
        return Err(format!("{name}: flow {} has trims; Iometer has none", flow.name));
    }
    if let Some(l) = flow.lines.iter().find(|l| !whole(l)) {
        let delay = if l.delay > Time::ZERO { format!(" and a delay of {}", l.delay) } else { String::new() };
        let [share, read, random] = [l.share, l.read, l.random].map(|p| f64::from(p) / 100.0);
        return Err(format!(
            "{name}: flow {} has a line of {share} %, {read} % reads, {random} % random{delay}; Iometer has whole \
                percentages and milliseconds",
            flow.name
        ));
    }
    let wanted = if several { format!("{name}: {}", flow.group) } else { name.to_owned() };
    let wanted: String = wanted.replace(',', ";").chars().take(MOST_SPEC_NAME - 8).collect();
    let mut n = 1;
    loop {
        let name = if n == 1 { wanted.clone() } else { format!("{wanted} ({n})") };
        match setup.specs.iter().find(|s| s.name == name) {
            Some(s) if s.lines[..] == flow.lines[..] => return Ok(name),
            Some(_) => n += 1,
            None => {
                let lines = flow.lines.to_vec();
                setup.specs.push(Spec {
                    name: name.clone(),
                    assignment: Assignment::None,
                    lines,
                    place: Place::default(),
                });
                return Ok(name);
            }
        }
    }
}
