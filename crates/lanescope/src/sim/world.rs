//! All technologies of a plan in one run: PCIe, Ethernet, storage and shared buses share the agenda, and are counted
//! alike.
//!
//! Flows are those of PCIe, then the streams of Ethernet, then the I/Os of storage, then the flows of buses, then the
//! programs of ranks; wires likewise. Storage and channel adapters ask PCIe and buses for DMA, and hear when it is
//! done.

use crate::plan::{DmaPath, Plan};
use crate::result::SlotCounts;
use crate::sim::core::kernel::{Agenda, World};
use crate::sim::core::source::Transfer;
use crate::sim::core::tally::Tally;
use crate::sim::ethernet::StationEvent;
use crate::sim::infiniband;
use crate::sim::pci;
use crate::sim::pcie::deadlock;
use crate::sim::pcie::{Fabric, Part};
use crate::sim::{ethernet, storage};
use hdrhistogram::Histogram;

/// What the kernel runs.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) pcie: Fabric,
    pub(super) ethernet: ethernet::Fabric,
    pub(super) storage: storage::Fabric,
    pub(super) bus: pci::Fabric,
    pub(super) cluster: infiniband::Fabric,
    /// The first slots of the agenda that are Ethernet's, the buses', and the clusters'.
    split: [u32; 3],
    /// Transfers that are done, on their way to who asked for them.
    done: Vec<(u32, u32, u64)>,
}

impl World for System {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        if slot < self.split[0] {
            self.pcie.on(slot, now, agenda)
        } else if slot >= self.split[2] {
            self.cluster.on(slot, now, agenda);
            self.exchange(now, agenda);
        } else if slot >= self.split[1] {
            self.bus.on(slot, now, agenda)
        } else if slot == self.storage.slot {
            self.storage.on(now);
            self.ask(agenda);
            if !self.storage.commands().is_empty() {
                self.exchange(now, agenda);
            }
        } else {
            self.ethernet.on(slot, now, agenda);
            if self.ethernet.has_events() {
                self.exchange(now, agenda);
            }
        }
        if !self.pcie.net.done.is_empty() || self.bus.has_done() {
            self.tell(now, agenda);
        }
    }
}

/// Asks hosts' buses for DMA.
#[inline]
fn feed(asked: &mut Vec<(DmaPath, Transfer)>, pcie: &mut Fabric, bus: &mut pci::Fabric, agenda: &mut Agenda) {
    for (way, transfer) in asked.drain(..) {
        match way {
            DmaPath::Pcie(flow) => pcie.feed(flow.0, transfer, agenda),
            DmaPath::Bus(flow) => bus.feed(flow, transfer, agenda),
        }
    }
}

impl System {
    /// Asks the hosts' buses for what storage wants of them.
    fn ask(&mut self, agenda: &mut Agenda) {
        feed(self.storage.asked(), &mut self.pcie, &mut self.bus, agenda);
        agenda.set(self.storage.slot, self.storage.next());
        if let Some(trace) = &mut agenda.trace {
            self.storage.carried().for_each(|carried| trace.transport(carried));
        }
    }

    /// Parts that are not given the agenda take down what they do themselves, or do not any more.
    pub(super) fn record(&mut self, on: bool) {
        self.cluster.log(on);
        self.storage.record(on);
    }

    /// What channel adapters, or workers, and their stations on Ethernet tell one another, and what adapters want of
    /// their hosts' buses.
    #[inline]
    fn exchange(&mut self, now: u64, agenda: &mut Agenda) {
        while !self.cluster.commands().is_empty() || !self.storage.commands().is_empty() || self.ethernet.has_events() {
            self.pass_on(now, agenda);
        }
        feed(self.cluster.asked(), &mut self.pcie, &mut self.bus, agenda);
    }

    /// One round between adapters and stations, in order.
    fn pass_on(&mut self, now: u64, agenda: &mut Agenda) {
        let mut commands = std::mem::take(self.cluster.commands());
        for (station, what) in commands.drain(..) {
            self.ethernet.command(station, what, now, agenda);
        }
        // What they answer comes behind it.
        *self.cluster.commands() = commands;
        let mut commands = std::mem::take(self.storage.commands());
        for (station, what) in commands.drain(..) {
            self.ethernet.command(station, what, now, agenda);
        }
        *self.storage.commands() = commands;
        let mut events = std::mem::take(self.ethernet.events());
        for one in events.drain(..) {
            let (StationEvent::Left(packet) | StationEvent::Came(packet)) = one;
            if packet & storage::TALK == 0 {
                self.cluster.on_station_event(one, now, agenda);
            } else {
                self.storage.on_station_event(one, now);
                agenda.set(self.storage.slot, self.storage.next());
            }
        }
        *self.ethernet.events() = events;
    }

    /// What ended a program before its time.
    pub(super) fn fault(&self) -> Option<String> {
        self.cluster.fault().or_else(|| self.ethernet.fault())
    }

    /// Tells who asked which DMA is done, or will be: a write is announced when its last bit is in, and is done a
    /// little later.
    fn tell(&mut self, now: u64, agenda: &mut Agenda) {
        let mut done = std::mem::take(&mut self.done);
        done.append(&mut self.pcie.net.done);
        done.append(self.bus.done());
        let mut stored = false;
        for (_, token, at) in done.drain(..) {
            if token & infiniband::OWN == 0 {
                self.storage.done(token, at, now);
                stored = true;
            } else {
                self.cluster.done(token, at, now, agenda);
            }
        }
        self.done = done;
        self.exchange(now, agenda);
        if stored {
            self.ask(agenda);
        }
    }

    /// Wires a plan; everything begins at time 0.
    pub(super) fn build(plan: &Plan, groups: &[Vec<usize>], seed: u64) -> (System, Agenda) {
        let (mut pcie, split) = Fabric::build(plan, groups, seed);
        let (ethernet, slots, begin) = ethernet::Fabric::build(plan, seed, split);
        let last = split as usize + slots;
        let storage = storage::Fabric::build(plan, seed, last as u32);
        let behind = last as u32 + 1;
        let (bus, buses) = pci::Fabric::build(&plan.buses, seed, behind);
        let own = behind + buses as u32;
        let (cluster, fabric) = infiniband::Fabric::build(plan, own);
        let mut agenda = Agenda::new(own as usize + fabric);
        pcie.begin(&mut agenda);
        begin.into_iter().chain(behind..behind + buses as u32).for_each(|slot| agenda.set(slot, 0));
        agenda.set(storage.slot, storage.next());
        agenda.set(cluster.slot, 0);
        (System { pcie, ethernet, storage, bus, cluster, split: [split, behind, own], done: Vec::new() }, agenda)
    }

    pub(super) fn wires(&self) -> usize {
        self.pcie.net.wires.len()
            + self.ethernet.wires()
            + self.storage.wires()
            + self.bus.wires()
            + self.cluster.wires()
    }

    /// The ledger of every wire since time 0.
    pub(super) fn counts(&self) -> Vec<SlotCounts> {
        let pcie = self.pcie.net.wires.iter().map(|w| w.counts);
        let ethernet = (0..self.ethernet.wires()).map(|on| self.ethernet.slots(on));
        let buses = (0..self.bus.wires()).map(|bus| self.bus.slots(bus));
        pcie.chain(ethernet).chain(self.storage.counts()).chain(buses).chain(self.cluster.counts()).collect()
    }

    /// TLPs and frames carried over links, connections and transactions of buses.
    pub(super) fn packets(&self) -> u64 {
        let pcie = self.pcie.net.wires.iter().map(|w| w.counts.tlps).sum::<u64>();
        pcie + self.ethernet.packets() + self.storage.packets() + self.bus.packets() + self.cluster.packets()
    }

    pub(super) fn tallies(&self, now: u64) -> Vec<Tally> {
        let pcie = self.pcie.tallies(now).into_iter();
        let ethernet = self.ethernet.streams().iter().map(|s| s.tally);
        let buses = self.bus.tallies(now);
        pcie.chain(ethernet).chain(self.storage.tallies()).chain(buses).chain(self.cluster.tallies()).collect()
    }

    /// Hashes of what each flow has done when.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> {
        let pcie = self.pcie.net.flows.iter().map(|f| (f.fingerprint, f.tally.done));
        let ethernet = self.ethernet.streams().iter().map(|s| (s.fingerprint, s.tally.done));
        let buses = self.bus.flows().iter().map(|f| (f.fingerprint, f.tally.done));
        pcie.chain(ethernet).chain(self.storage.fingerprints()).chain(buses).chain(self.cluster.fingerprints())
    }

    /// Latencies of operations, ps, of a flow group.
    pub(super) fn latencies(&self, group: usize) -> &Histogram<u64> {
        let (pcie, ethernet) = (&self.pcie.net.latencies, self.ethernet.latencies());
        let behind = self.bus.latencies().iter().chain(self.cluster.latencies());
        let mut all = pcie.iter().chain(ethernet).chain(self.storage.whole()).chain(behind);
        all.nth(group).unwrap_or_else(|| unreachable!("every table has its histogram"))
    }

    /// The same from leaving the application, of a table of Ethernet's.
    pub(super) fn transits(&self, group: usize) -> &Histogram<u64> {
        &self.ethernet.transits()[group]
    }

    /// What each switch has carried: packets, the sum of their times, the longest, fs.
    pub(super) fn carried(&self, now: u64) -> Vec<(u64, u128, u64)> {
        let pcie = self.pcie.parts.iter().filter_map(|p| p.transit()).map(|t| (t.count, t.sum, t.max));
        pcie.chain(self.ethernet.stored(now).into_iter().map(|s| (s.frames, s.transit, s.transit_most))).collect()
    }

    /// Distributions and maxima are counted from now on.
    pub(super) fn forget(&mut self, now: u64) {
        self.pcie.net.latencies.iter_mut().for_each(|h| h.reset());
        for part in &mut self.pcie.parts {
            if let Part::Switch(s) = part {
                s.transit.max = 0;
            }
        }
        self.ethernet.forget(now);
        self.bus.forget();
        self.storage.forget(now);
        self.cluster.forget();
    }

    /// Operations of each flow that have arrived and not begun.
    pub(super) fn backlogs(&self, now: u64) -> Vec<u64> {
        let mut all = self.pcie.backlogs(now);
        all.extend(self.ethernet.backlogs(now));
        all.extend(self.storage.backlogs(now));
        all.extend(self.bus.backlogs(now));
        all.extend(self.cluster.tallies().map(|_| 0));
        all
    }

    /// Writes down what lies before a moment.
    pub(super) fn settle(&mut self, now: u64) {
        self.pcie.settle(now);
        self.ethernet.settle(now);
        self.storage.settle(now);
        self.bus.settle(now);
        self.cluster.settle(now);
    }

    /// Whether nothing is left of how it began: caches that take writes in have been full once.
    pub(super) fn settled(&self) -> bool {
        self.storage.settled()
    }

    pub(super) fn stall_timeout(&self) -> u64 {
        let packets = self.pcie.stall_timeout().max(self.ethernet.stall_timeout());
        packets.max(self.storage.stall_timeout()).max(self.bus.stall_timeout()).max(self.cluster.stall_timeout())
    }

    /// A circle of wires that wait for one another for longer than `stall_timeout`.
    pub(super) fn deadlock(&self, plan: &Plan, now: u64, stall_timeout: u64, silent: bool) -> Option<Vec<String>> {
        let before = if silent { now.max(1) } else { now.saturating_sub(stall_timeout) };
        deadlock::deadlock(plan, &self.pcie, before, silent)
            .or_else(|| ethernet::deadlock(&self.ethernet, now, before))
            .or_else(|| infiniband::deadlock(&self.cluster, before))
    }

    /// Transmitters that wait, and for what.
    pub(super) fn waiting(&self, plan: &Plan) -> Vec<String> {
        let mut all = deadlock::waiting(plan, &self.pcie);
        all.extend(ethernet::waiting(&self.ethernet));
        all.extend(self.cluster.waiting());
        all
    }
}
