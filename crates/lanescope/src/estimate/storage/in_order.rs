//! What serves I/Os in the order in which they come, whoever sent them: drives of solid state and in memory, their
//! transports, places at them, and their adapter's processor, memory and parity engine.
//!
//! Flows that differ in what they have outstanding are not served by turns there. Each waits as long as any other,
//! so by Little's law it gets what it has outstanding / (the time of one, unloaded, + that wait).
//!
//! Not in it: disks, whose heads choose; arrays with a parity; writes that a cache has promised before they are on an
//! array's drives; channels and dies where all reads are followed page by page (`among`), which have their waits there.

use crate::estimate::core::elements::{Key, Part};
use crate::estimate::core::fill::{Resource, Use};
use crate::estimate::core::row;
use crate::estimate::pcie::completions::{Completer, Station, Visit};
use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::{Charged, Kind, kinds, wish};
use crate::plan::storage::{Device, IoFlow, Medium, Storage, Volume};
use crate::plan::{Meeting, Plan};
use crate::scenario::keys::{Line, WHOLE};
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// How many of a flow's I/Os come to each drive of its volume, as a part of all; `None` where that does not tell how
/// long they wait.
fn at_each_drive(storage: &Storage, flow: &IoFlow) -> Option<f64> {
    let solid = |t: u32| matches!(storage.targets[t as usize].device, Device::Ssd(_) | Device::Ram(_));
    if !storage.targets_of(flow.volume).into_iter().all(solid) {
        return None;
    }
    let a = match flow.volume {
        Volume::Target(_) => return Some(1.0),
        Volume::Array(a) => &storage.arrays[a as usize],
        Volume::Station(_) => return None,
    };
    let all = kinds(&flow.lines);
    let promised = storage.adapter(flow).is_some_and(|a| a.writes_back()) && all.iter().any(|k| !k.read);
    if a.has_parity() || promised {
        return None;
    }
    let (mut come, mut of) = (0.0, 0.0);
    for k in all {
        let copies = if a.mirrors() && !k.read { 2.0 } else { 1.0 };
        come += k.count * (copies * Cut::of(storage, a, flow, k).disks / a.disks.len() as f64).min(1.0);
        of += k.count;
    }
    Some(come / of)
}

/// Whether something serves in order, and whether it is a drive's own, where not all I/Os of an array come.
fn serves(storage: &Storage, part: Part) -> Option<bool> {
    let solid = |t: u32| !matches!(storage.targets[t as usize].device, Device::Disk(_));
    match part {
        Part::Target(t)
        | Part::Channels(t)
        | Part::Dies(t)
        | Part::Stripes(t)
        | Part::Controller(t)
        | Part::Queue(t) => solid(t).then_some(true),
        Part::Transport(t, _) | Part::Credits(t, _) => {
            matches!(storage.transports[t as usize].medium, Medium::Serial { .. }).then_some(true)
        }
        Part::Processor(_) | Part::Cache(_) | Part::Parity(_) => Some(false),
        _ => None,
    }
}

/// What part of I/Os are reads.
fn reads(all: &[Kind]) -> f64 {
    let count = |which: &dyn Fn(&&Kind) -> bool| all.iter().filter(which).map(|k| k.count).sum::<f64>();
    count(&|k| k.read) / count(&|_| true)
}

/// What part of I/Os, of which so many are reads, wait for something: where data do not come, commands pass between
/// those of others.
fn comes(part: Part, reads: f64) -> f64 {
    match part {
        Part::Dies(_) | Part::Transport(_, true) | Part::Credits(_, true) => reads,
        Part::Stripes(_) | Part::Transport(_, false) | Part::Credits(_, false) => 1.0 - reads,
        _ => 1.0,
    }
}

/// All flows that meet at what serves in order, by groups that have no flow in common, with the stations of each. What
/// they wait for already is in `charged` and `resources`.
pub(in crate::estimate) fn in_order(
    plan: &Plan,
    corner: Corner,
    charged: &[Charged],
    resources: &[Resource<Key>],
) -> Vec<Completer> {
    let storage = &*plan.storage;
    if storage.flows.len() < 2 {
        return Vec::new();
    }
    let first = row::ios(plan).start;
    let of_drives: Vec<Option<f64>> = storage.flows.iter().map(|f| at_each_drive(storage, f)).collect();
    let reads: Vec<f64> = storage.flows.iter().map(|f| reads(&kinds(&f.lines))).collect();
    // Commands that a drive of a flow may have.
    let depth = |u: &Use| {
        let own = u.flow.checked_sub(first).and_then(|i| storage.adapter(&storage.flows[i])?.host_adapter());
        own.map_or(f64::INFINITY, |keys| f64::from(keys.queue_depth.at(corner).get()))
    };
    let mut meeting = Meeting::new(storage.flows.len());
    // With the first of those who meet there.
    let mut shared: Vec<(usize, Station)> = Vec::new();
    for (r, resource) in resources.iter().enumerate().filter(|(_, r)| r.uses.len() > 1) {
        let Key::Storage(part) = resource.key else { continue };
        let Some(of_drive) = serves(storage, part) else { continue };
        // What is followed waits for what there is of all of them already, page by page.
        let followed = |u: &Use| u.flow.checked_sub(first).is_some_and(|i| charged[i].told_apart);
        if matches!(part, Part::Channels(_) | Part::Dies(_)) && resource.uses.iter().all(followed) {
            continue;
        }
        // Where all go to the same drives, an I/O waits at some of them for as long as at any.
        let volume = |u: &Use| Some(storage.flows[u.flow.checked_sub(first)?].volume);
        let apart = of_drive && resource.uses.windows(2).any(|two| volume(&two[0]) != volume(&two[1]));
        // Those that have no place at the drive wait before it, wherever their data go.
        let come = |u: &Use| {
            let i = u.flow.checked_sub(first)?;
            Some(f64::from(storage.flows[i].outstanding.at(corner).get()) * of_drives[i]?)
        };
        let outside = 1.0 - depth(&resource.uses[0]) / resource.uses.iter().filter_map(come).sum::<f64>();
        let visits = |flow: usize| {
            let drives = of_drives[flow.checked_sub(first)?]?;
            let waits = if apart { drives } else { 1.0 } * comes(part, reads[flow - first]).max(outside);
            Some(Visit { flow, part: if of_drive { drives } else { 1.0 }, waits })
        };
        let Some(visits) = resource.uses.iter().map(|u| visits(u.flow)).collect::<Option<Vec<_>>>() else { continue };
        for pair in visits.windows(2) {
            meeting.join(pair[0].flow - first, pair[1].flow - first);
        }
        shared.push((visits[0].flow - first, Station { resource: r, visits, places: matches!(part, Part::Queue(_)) }));
    }
    let mut groups: BTreeMap<usize, Vec<Station>> = BTreeMap::new();
    for (of, station) in shared {
        groups.entry(meeting.first(of)).or_default().push(station);
    }
    let window = |key: Key, flow: usize| {
        let outstanding = matches!(key, Key::Storage(Part::Outstanding(_)));
        outstanding.then(|| 1.0 / storage.flows[flow - first].mix().bytes)
    };
    // What others have outstanding at the same drives counts as if it were like its own, but for reads that are
    // followed.
    let mut alike: BTreeMap<Volume, (&[Line], bool)> = BTreeMap::new();
    for flow in &storage.flows {
        let (lines, all) = alike.entry(flow.volume).or_insert((&flow.lines, true));
        *all &= *lines == &*flow.lines;
    }
    let unsure = |flow: usize| {
        let own = &storage.flows[flow - first];
        let followed = charged[flow - first].told_apart && own.lines.iter().all(|l| l.read == WHOLE);
        match own.volume {
            volume if followed || alike[&volume].1 => 0.0,
            // The pieces of one to an array wait for one another however few are outstanding.
            Volume::Array(_) => 1.0 - 1.0 / f64::from(own.outstanding.at(corner).get()),
            _ => 1.0,
        }
    };
    Completer::at_stations(resources, groups.into_values(), window, |flow| wish(&storage.flows[flow - first]), unsure)
}
