//! What a run asks of storage between events, and what its report says of it.

use crate::plan::{self, FlowGroup, Plan};
use crate::result::{IoCounts, IoSeen, SimulatedIos, SlotCounts};
use crate::scenario::keys::Technology;
use crate::sim::core::recorder::Trace;
use crate::sim::core::subsystem::{Offered, OwnReport, Subsystem, Traffic, Window, WireName};
use crate::sim::core::tally::{Cells, SECOND, Tally};
use crate::sim::storage::count::{self, Counts};
use crate::sim::storage::{Fabric, Link, STALL_TIMEOUT, Stages, Volume, binding};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Frames and bursts are counted one by one: payload of one, at most, that the end of a batch cuts off.
const LARGEST_PIECE: f64 = 64.0 * 1024.0;
/// Things that worked on a flow's I/Os which a report names.
const MOST_BUSY: usize = 16;

/// Counts at the moment at which the window opened; none before.
#[derive(Clone, Debug, Default)]
pub(super) struct AtWindow {
    stages: Vec<Stages>,
    worked: Vec<u64>,
    /// What is in the write caches behind each flow, bytes.
    cached: Vec<u64>,
    /// When an instrument asked last, and the counts of then.
    update: Update,
}

/// What had been counted when an instrument asked last.
#[derive(Clone, Debug, Default)]
struct Update {
    time: f64,
    counts: Vec<Counts>,
    busy: Vec<f64>,
}

impl Subsystem for Fabric {
    fn technology(&self) -> Technology {
        Technology::Storage
    }

    /// Two lanes of each serial link, one of each bus.
    fn wires(&self) -> usize {
        let wires = |l: &Link| match l {
            Link::Serial(_) => 2,
            Link::Scsi(_) => 1,
            Link::Inside => 0,
        };
        self.links.iter().map(wires).sum()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        let name = |wire: plan::storage::Wire| WireName {
            name: wire.transport.name.clone(),
            from: wire.from.to_owned(),
            to: wire.to.to_owned(),
            medium: (&wire.transport.medium).into(),
            coded: wire.transport.rate().bits(),
        };
        plan.storage.wires().map(name).collect()
    }

    fn counts(&self) -> Vec<SlotCounts> {
        let mut all = Vec::with_capacity(self.wires());
        for link in &self.links {
            match link {
                Link::Serial(l) => all.extend(l.lanes.iter().map(|l| l.counts)),
                Link::Scsi(b) => all.push(b.counts),
                Link::Inside => {}
            }
        }
        all
    }

    /// Units, and commands with data: how many bytes of those are at hand is not known.
    fn held(&self) -> Vec<(usize, u64)> {
        let mut all = Vec::with_capacity(self.wires());
        for link in &self.links {
            match link {
                Link::Serial(l) => all.extend(l.lanes.iter().map(|l| (l.waiting(), 0))),
                Link::Scsi(b) => all.push((b.waiting(), 0)),
                Link::Inside => {}
            }
        }
        all
    }

    fn packets(&self) -> u64 {
        self.counts().iter().map(|c| c.tlps).sum()
    }

    fn tallies(&self, _now: u64) -> Vec<Tally> {
        self.flows.iter().map(|f| f.tally).collect()
    }

    /// I/Os that have come by their rate and have not begun.
    fn backlogs(&self, now: u64) -> Vec<u64> {
        self.flows.iter().map(|f| f.backlog(now)).collect()
    }

    fn fingerprints(&self) -> Vec<(u64, u64)> {
        self.flows.iter().map(|f| (f.fingerprint, f.tally.done)).collect()
    }

    /// From the moment at which the program wanted them.
    fn latencies(&self, group: usize) -> Cow<'_, Cells> {
        Cow::Borrowed(&self.whole[group])
    }

    /// Distributions, and what instruments count, are of I/Os that begin now or later.
    fn open_window(&mut self, now: u64) {
        let stages = self.flows.iter().map(|f| f.stages).collect();
        let cached = self.flows.iter().map(|f| self.in_caches(f.volume, now)).collect();
        self.at_window = AtWindow { stages, worked: self.worked(now), cached, update: Update::default() };
        self.latencies.iter_mut().flatten().chain(&mut self.whole).for_each(|h| h.reset());
        self.flows.iter_mut().for_each(|f| f.counts = Counts::new());
        self.counting = now;
    }

    fn settle(&mut self, now: u64) {
        for link in &mut self.links {
            match link {
                Link::Serial(l) => l.lanes.iter_mut().for_each(|l| l.settle(now)),
                Link::Scsi(b) => b.settle(now),
                Link::Inside => {}
            }
        }
    }

    /// Whether every cache that takes writes in has stopped filling.
    fn settled(&self) -> bool {
        let writers = |a: usize| self.flows.iter().filter(move |f| f.volume == Volume::Array(a as u32) && f.writes());
        let mut arrays = self.arrays.iter().enumerate();
        arrays.all(|(i, a)| writers(i).next().is_none() || a.settled(writers(i).any(|f| f.presses())))
            && self.targets.iter().all(|t| t.flash.as_ref().is_none_or(|f| f.settled()))
    }

    fn stall_timeout(&self) -> u64 {
        if self.flows.is_empty() { 0 } else { STALL_TIMEOUT }
    }

    fn rows(&self, plan: &Plan, trace: &mut Trace) {
        for wire in plan.storage.wires() {
            let toward = if wire.to.is_empty() { String::new() } else { format!(" toward {}", wire.to) };
            let row = trace.line.track("storage", &format!("links.{}{toward}", wire.transport.name));
            // A bus has one, whichever way.
            let rows = if wire.to.is_empty() { 2 } else { 1 };
            trace.transports.extend(std::iter::repeat_n(row, rows));
        }
    }

    fn record(&mut self, on: bool) {
        self.seen = on.then(Vec::new);
    }

    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a> {
        let f = &plan.storage.flows[flow];
        let size = f.mix().bytes;
        Traffic {
            group: &f.group,
            // Messages between stations are counted as a whole, and so is what comes over a fabric.
            cut: match plan.storage.pair(f).is_none() && f.remote.is_none() {
                true => size.min(LARGEST_PIECE),
                false => size,
            },
            alternates: false,
            whole: false,
            offered: f.wanted().map(|rate| Offered { rate, size, together: 1.0, open: true }),
        }
    }

    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        let report = |group: &FlowGroup| {
            let times = self.io_times(group, view);
            let bound_by = binding::io(view, &group.members, &times);
            OwnReport { ios: Some(times), ..bound_by.into() }
        };
        groups.iter().map(report).collect()
    }
}

impl Fabric {
    /// Frames and connections that its wires may begin to carry in such a time, at most.
    pub(in crate::sim) fn most_packets(&self, span: u64) -> u64 {
        let of_link = |l: &Link| match l {
            Link::Serial(l) => l.most_packets(span),
            Link::Scsi(b) => b.most_packets(span),
            Link::Inside => 0,
        };
        self.links.iter().map(of_link).fold(0, u64::saturating_add)
    }

    /// Time that the processor of each worker has worked, fs.
    fn workers_worked(&self, now: u64) -> impl Iterator<Item = u64> {
        self.workers.iter().map(move |w| w.worked(now))
    }

    /// Time that each thing has worked, fs: workers, adapters (processor, memory, parity), targets, hosts that work for
    /// flows of others.
    fn worked(&self, now: u64) -> Vec<u64> {
        let workers = self.workers_worked(now);
        let adapters = self.adapters.iter().flat_map(|a| a.worked(now));
        let targets = self.targets.iter().flat_map(|t| match &t.flash {
            Some(flash) => flash.worked(now).to_vec(),
            None => vec![t.device.worked(now)],
        });
        let hosts = self.flows.iter().filter_map(|f| Some(f.remote.as_ref()?.worked(now)));
        workers.chain(adapters).chain(targets).chain(hosts).collect()
    }

    /// Where the time of a table's I/Os went, and what worked.
    fn io_times(&self, group: &FlowGroup, view: &Window) -> SimulatedIos {
        let (window, storage) = (view.length(), &*view.plan.storage);
        let done = view.since(group, |t| t.done as u128) as u64;
        let mut stages = [0.0; 6];
        for &i in &group.members {
            let (now, before) = (self.flows[i].stages, self.at_window.stages.get(i).copied().unwrap_or_default());
            stages.iter_mut().enumerate().for_each(|(k, s)| *s += (now.0[k] - before.0[k]) as f64);
        }
        let names = storage.workers_and_parts();
        let taking_part = storage.taking_part(&group.members);
        let mut busy: Vec<(String, f64)> = (names.into_iter().zip(self.worked(view.now)).enumerate())
            .filter(|(i, _)| taking_part[*i])
            .map(|(i, (name, now))| {
                let before = self.at_window.worked.get(i).copied().unwrap_or(0);
                (name, now.saturating_sub(before) as f64 / window)
            })
            .filter(|(_, share)| *share > 0.0)
            .collect();
        busy.sort_by(|a, b| b.1.total_cmp(&a.1));
        busy.truncate(MOST_BUSY);
        let [reads, writes, trims] = self.latencies[group.nth].each_ref().map(|c| count::latencies(&c.histogram()));
        SimulatedIos {
            per_second: done as f64 / window * SECOND,
            stages: stages.map(|s| s / done.max(1) as f64 / SECOND),
            busy,
            seen: self.instruments(storage, group.members.iter().copied(), (view.begin, view.past)),
            oldest: self.oldest(group, view.now) as f64 / SECOND,
            cached: self.more_in_caches(group, view.now),
            latencies: [reads, writes],
            trim_latencies: trims,
        }
    }

    /// Bytes in the write caches of a volume: an adapter's of an array, and those of its drives.
    fn in_caches(&self, volume: Volume, now: u64) -> u64 {
        let drive = |t: &u32| {
            let target = &self.targets[*t as usize];
            target.flash.as_ref().map_or_else(|| target.device.cached(now), |flash| flash.cached())
        };
        match volume {
            Volume::Target(t) => drive(&t),
            Volume::Array(a) => {
                let array = &self.arrays[a as usize];
                array.cached() + array.disks.iter().map(drive).sum::<u64>()
            }
            Volume::Station(_) => 0,
        }
    }

    /// How much more the caches that a table writes to hold than when the window opened, each of them counted once.
    fn more_in_caches(&self, group: &FlowGroup, now: u64) -> i64 {
        let writers = group.members.iter().map(|&i| (i, &self.flows[i])).filter(|(_, f)| f.writes());
        let volumes: BTreeMap<Volume, usize> = writers.map(|(i, f)| (f.volume, i)).collect();
        let more = |(volume, i): (Volume, usize)| {
            let before = self.at_window.cached.get(i).copied().unwrap_or(0);
            self.in_caches(volume, now) as i64 - before as i64
        };
        volumes.into_iter().map(more).sum()
    }

    /// How long the oldest I/O of a table that is in flight has been wanted, fs.
    fn oldest(&self, group: &FlowGroup, now: u64) -> u64 {
        let mine = self.ios.used_entries().filter(|io| group.members.contains(&(io.flow as usize)));
        mine.map(|io| now.saturating_sub(io.marks[0])).max().unwrap_or(0)
    }

    /// What instruments count of some flows, from the beginning of a window up to a moment.
    pub(in crate::sim) fn instruments(
        &self,
        storage: &plan::storage::Storage,
        flows: impl Iterator<Item = usize>,
        (window, now): (u64, u64),
    ) -> IoSeen {
        let counts: Vec<IoCounts> = flows
            .map(|i| {
                let flow = &storage.flows[i];
                self.flows[i].counts.report(&flow.name, flow.worker, storage.volume_name(flow.volume))
            })
            .collect();
        let (first, last) = (counts.first().map_or(0, |c| c.worker), counts.last().map_or(0, |c| c.worker));
        let worked: Vec<u64> = self.workers_worked(now).collect();
        // Who shares a core has a part of its time.
        let (cores, mates) = storage.cores();
        let all = (first as usize..=last as usize).filter(|w| *w < worked.len());
        let busy = all.map(|w| {
            let core = cores[w] as usize;
            let before = self.at_window.worked.get(core).copied().unwrap_or(0);
            worked[core].saturating_sub(before) as f64 / SECOND / f64::from(mates[core] + 1)
        });
        IoSeen { time: (now - window) as f64 / SECOND, busy: busy.collect(), counts }
    }

    /// The same of all flows since the last such question; without one, since the counting began. The shortest times
    /// are those of the whole.
    pub(in crate::sim) fn latest(&mut self, storage: &plan::storage::Storage, span: (u64, u64)) -> IoSeen {
        let all = self.instruments(storage, 0..self.flows.len(), span);
        let mut before = std::mem::take(&mut self.at_window.update);
        before.counts.resize(all.counts.len(), Counts::new());
        before.busy.resize(all.busy.len(), 0.0);
        let counts = all.counts.iter().zip(&mut before.counts).zip(&mut self.flows);
        let latest = IoSeen {
            time: all.time - before.time,
            counts: counts.map(|((c, then), f)| f.counts.update(then).report(&c.flow, c.worker, &c.target)).collect(),
            busy: all.busy.iter().zip(&before.busy).map(|(now, then)| now - then).collect(),
        };
        (before.time, before.busy) = (all.time, all.busy);
        self.at_window.update = before;
        latest
    }
}
