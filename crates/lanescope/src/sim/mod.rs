//! Packet by packet: what happens to a plan's flows in time, and where every slot of every wire goes.
//!
//! [`Run`] is resumable: `advance` does a piece of the work, `snapshot` tells what there is. `pcie`, `ethernet`,
//! `storage`, `pci` and `infiniband` are the technologies, each with a `report` of what it counts and a `binding` that
//! says what held a flow up; what they share stands in `core`: the `kernel` says what happens next, `subsystem` is what
//! a run asks of each, `tally` and `stats` count, `recorder` writes a time line. `System` joins them, `run` goes on
//! until it has seen enough, `report` says what came out.
//!
//! Flows and wires stand in one row each, by technology, as [`Plan::flow_groups`] has them. Storage and channel
//! adapters ask PCIe and buses for DMA, and hear when it is done; of NVMe over Fabrics, storage asks channel adapters.

mod check;
// For benches, which run the kernel by itself; no part of what others build on.
#[doc(hidden)]
pub mod core;
mod ethernet;
pub mod gpu;
mod infiniband;
mod level;
mod not_modelled;
mod pci;
mod pcie;
mod report;
mod run;
mod storage;
mod trace;

pub use core::source::exponential;
pub(crate) use core::stats::mean as mean_of;
pub use level::has_only_messages;
pub(crate) use level::with_level;
pub use not_modelled::{NOT_AT_FLOW_LEVEL, NOT_MODELLED};
pub use report::{Sample, over_seeds};
pub use run::{Run, Step};

use crate::plan::{DmaPath, FlowGroup, Plan};
use crate::result::{SimulatedLink, SlotCounts};
use crate::scenario::keys::{SimulationLevel, Technology};
use core::kernel::{Agenda, World};
use core::source::Transfer;
use core::subsystem::{OwnReport, Subsystem, Switched, Traffic, Window, WireName};
use core::tally::{Cells, Tally};
use ethernet::StationEvent;
use std::borrow::Cow;

/// What the kernel runs.
#[derive(Clone, Debug)]
struct System {
    pcie: pcie::Fabric,
    ethernet: ethernet::Fabric,
    storage: storage::Fabric,
    pci: pci::Fabric,
    infiniband: infiniband::Fabric,
    /// Ethernet at flow level: then there is none packet by packet.
    flow_level: Option<Box<ethernet::FlowLevel>>,
    /// Ethernet on several threads: then what stands in `ethernet` is how it was before.
    parallel: Option<Box<ethernet::Parallel>>,
    /// The first slots of the agenda that are Ethernet's, the buses', and the clusters'.
    split: [u32; 3],
    /// Transfers that are done, on their way to who asked for them.
    done: Vec<(u32, u32, u64)>,
}

impl World for System {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        // Packets and frames by themselves are nearly all that happens.
        if slot < self.split[0] {
            self.pcie.on(slot, now, agenda);
            if !self.pcie.net.done.is_empty() {
                self.tell(now, agenda);
            }
        } else if slot < self.storage.slot {
            self.ethernet.on(slot, now, agenda);
            if self.ethernet.has_events() {
                self.exchange(now, agenda);
                self.tell_done(now, agenda);
            }
        } else {
            self.on_other(slot, now, agenda);
        }
    }
}

impl System {
    #[inline(never)]
    fn on_other(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        if let Some(flows) = self.flow_level.as_mut().filter(|f| f.slot == slot) {
            flows.on(now, agenda);
            return;
        }
        if slot >= self.split[2] {
            self.infiniband.on(slot, now, agenda);
            self.exchange(now, agenda);
        } else if slot >= self.split[1] {
            self.pci.on(slot, now, agenda)
        } else {
            self.storage.on(now);
            self.ask(agenda);
            if !self.storage.commands().is_empty() || !self.storage.verbs().is_empty() {
                self.exchange(now, agenda);
            }
        }
        self.tell_done(now, agenda);
    }

    #[inline]
    fn tell_done(&mut self, now: u64, agenda: &mut Agenda) {
        if !self.pcie.net.done.is_empty() || self.pci.has_done() {
            self.tell(now, agenda);
        }
    }
}

/// Asks hosts' buses for DMA.
#[inline]
fn feed(asked: &mut Vec<(DmaPath, Transfer)>, pcie: &mut pcie::Fabric, bus: &mut pci::Fabric, agenda: &mut Agenda) {
    if asked.is_empty() {
        return;
    }
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
        feed(self.storage.asked(), &mut self.pcie, &mut self.pci, agenda);
        agenda.set(self.storage.slot, self.storage.next());
        if let Some(trace) = &mut agenda.trace {
            self.storage.carried().for_each(|carried| trace.transport(carried));
        }
    }

    /// What channel adapters, or workers, and their stations on Ethernet tell one another, and what adapters want of
    /// their hosts' buses.
    #[inline]
    fn exchange(&mut self, now: u64, agenda: &mut Agenda) {
        loop {
            let of_stations = !self.infiniband.commands().is_empty()
                || !self.storage.commands().is_empty()
                || self.ethernet.has_events();
            if of_stations {
                self.pass_on(now, agenda);
            } else if !self.infiniband.told().is_empty() || !self.storage.verbs().is_empty() {
                self.pass_messages(now, agenda);
            } else {
                break;
            }
        }
        feed(self.infiniband.asked(), &mut self.pcie, &mut self.pci, agenda);
    }

    /// One round between targets or workers and their channel adapters: what has come, and what is to be done.
    #[inline(never)]
    fn pass_messages(&mut self, now: u64, agenda: &mut Agenda) {
        let mut told = std::mem::take(self.infiniband.told());
        told.drain(..).for_each(|token| self.storage.came(token, now));
        *self.infiniband.told() = told;
        let mut verbs = std::mem::take(self.storage.verbs());
        self.infiniband.hand_over(&mut verbs, now, agenda);
        // Whoever is told may want others done at once.
        verbs.append(self.storage.verbs());
        *self.storage.verbs() = verbs;
        self.ask(agenda);
    }

    /// One round between adapters and stations, in order.
    fn pass_on(&mut self, now: u64, agenda: &mut Agenda) {
        let mut commands = std::mem::take(self.infiniband.commands());
        for (station, what) in commands.drain(..) {
            self.ethernet.command(station, what, now, agenda);
        }
        // What they answer comes behind it.
        *self.infiniband.commands() = commands;
        let mut commands = std::mem::take(self.storage.commands());
        for (station, what) in commands.drain(..) {
            self.ethernet.command(station, what, now, agenda);
        }
        *self.storage.commands() = commands;
        let mut events = std::mem::take(self.ethernet.events());
        for one in events.drain(..) {
            let (StationEvent::Left(packet) | StationEvent::Came(packet)) = one;
            if packet & storage::TALK == 0 {
                self.infiniband.on_station_event(one, now, agenda);
            } else {
                self.storage.on_station_event(one, now);
                agenda.set(self.storage.slot, self.storage.next());
            }
        }
        *self.ethernet.events() = events;
    }

    /// Tells who asked which DMA is done, or will be: a write is announced when its last bit is in, and is done a
    /// little later.
    fn tell(&mut self, now: u64, agenda: &mut Agenda) {
        let mut done = std::mem::take(&mut self.done);
        done.append(&mut self.pcie.net.done);
        done.append(self.pci.done());
        let mut stored = false;
        for (_, token, at) in done.drain(..) {
            if token & infiniband::OWN == 0 {
                self.storage.done(token, at, now);
                stored = true;
            } else {
                self.infiniband.done(token, at, now, agenda);
            }
        }
        self.done = done;
        self.exchange(now, agenda);
        if stored {
            self.ask(agenda);
        }
    }

    /// Wires a plan; everything begins at time 0.
    fn build(plan: &Plan, seed: u64) -> (System, Agenda) {
        let (mut pcie, split) = pcie::Fabric::build(plan, seed);
        let (ethernet, slots, begin) = ethernet::Fabric::build(plan, seed, split);
        let last = split as usize + slots;
        let storage = storage::Fabric::build(plan, seed, last as u32);
        let behind = last as u32 + 1;
        let (pci, buses) = pci::Fabric::build(&plan.buses, seed, behind);
        let own = behind + buses as u32;
        let (infiniband, fabric) = infiniband::Fabric::build(plan, own);
        let last = own as usize + fabric;
        let flow_level = (plan.limits.level == SimulationLevel::Flow)
            .then(|| Box::new(ethernet::FlowLevel::build(plan, seed, last as u32)));
        let mut agenda = Agenda::new(last + usize::from(flow_level.is_some()));
        if let Some(flows) = &flow_level {
            agenda.set(flows.slot, flows.next());
        }
        pcie.begin(&mut agenda);
        begin.into_iter().chain(behind..behind + buses as u32).for_each(|slot| agenda.set(slot, 0));
        agenda.set(storage.slot, storage.next());
        agenda.set(infiniband.slot, 0);
        let split = [split, behind, own];
        let done = Vec::new();
        (System { pcie, ethernet, storage, pci, infiniband, flow_level, parallel: None, split, done }, agenda)
    }

    /// From now on what is known ahead to do no more than be counted has no event, where one technology is alone, or
    /// PCIe with storage: packets of others are not foreseen. Whether there may be such.
    fn spare_events(&mut self, plan: &Plan) -> bool {
        let wires = |technology| self.of(technology).wires();
        let others = self.wires() - wires(Technology::Storage);
        match () {
            () if self.wires() == wires(Technology::Ethernet) => self.ethernet.spare_events(),
            () if others == wires(Technology::Pcie) => self.pcie.spare_events(plan),
            () => false,
        }
    }

    /// Each has its event again; what was before has been counted.
    fn spare_no_events(&mut self, agenda: &mut Agenda) {
        self.ethernet.spare_no_events(agenda);
        self.pcie.spare_no_events(agenda);
    }

    /// Counts what had no event and was before a moment. Whether more of it is to come.
    fn take_in(&mut self, before: u64, agenda: &mut Agenda) -> bool {
        match &mut self.parallel {
            Some(parallel) => parallel.take_in(before),
            None => self.ethernet.take_in(before, agenda) | self.pcie.take_in(before, agenda),
        }
    }

    /// Packets that wires of Ethernet, PCIe and storage may begin to carry in such a time, at most.
    fn most_packets(&self, span: u64) -> u64 {
        let all = [self.ethernet.most_packets(span), self.pcie.most_packets(span), self.storage.most_packets(span)];
        all.into_iter().fold(0, u64::saturating_add)
    }

    /// All technologies, in the order of reports.
    fn all(&self) -> [&dyn Subsystem; 5] {
        let ethernet: &dyn Subsystem = match (&self.flow_level, &self.parallel) {
            (Some(flows), _) => &**flows,
            (None, Some(parallel)) => &**parallel,
            (None, None) => &self.ethernet,
        };
        [&self.pcie, ethernet, &self.storage, &self.pci, &self.infiniband]
    }

    fn all_mut(&mut self) -> [&mut dyn Subsystem; 5] {
        let ethernet: &mut dyn Subsystem = match (&mut self.flow_level, &mut self.parallel) {
            (Some(flows), _) => &mut **flows,
            (None, Some(parallel)) => &mut **parallel,
            (None, None) => &mut self.ethernet,
        };
        [&mut self.pcie, ethernet, &mut self.storage, &mut self.pci, &mut self.infiniband]
    }

    /// Ethernet packet by packet, in one piece.
    fn fabric(&self) -> Cow<'_, ethernet::Fabric> {
        match &self.parallel {
            Some(parallel) => Cow::Owned(parallel.whole()),
            None => Cow::Borrowed(&self.ethernet),
        }
    }

    /// The same as a time line lists them: ranks first, and what carries their messages below.
    fn in_order_of_rows(&self) -> [&dyn Subsystem; 5] {
        [&self.infiniband, &self.ethernet, &self.pcie, &self.pci, &self.storage]
    }

    fn of(&self, technology: Technology) -> &dyn Subsystem {
        let all = self.all();
        debug_assert!(all.iter().zip(Technology::ALL).all(|(side, t)| side.technology() == t));
        all[technology as usize]
    }

    fn wires(&self) -> usize {
        self.all().iter().map(|side| side.wires()).sum()
    }

    /// The ledger of every wire since time 0.
    fn counts(&self) -> Vec<SlotCounts> {
        self.all().iter().flat_map(|side| side.counts()).collect()
    }

    fn payloads(&self, now: u64) -> impl Iterator<Item = u64> {
        self.all().into_iter().flat_map(move |side| side.payloads(now))
    }

    fn held(&self) -> Vec<(usize, u64)> {
        self.all().iter().flat_map(|side| side.held()).collect()
    }

    fn credits(&self) -> Vec<[Option<u32>; 3]> {
        self.all().iter().flat_map(|side| side.credits()).collect()
    }

    fn wire_names(&self, plan: &Plan) -> Vec<WireName> {
        self.all().iter().flat_map(|side| side.wire_names(plan)).collect()
    }

    /// What only its technology knows of each wire's time in the window.
    fn of_wires(&self, plan: &Plan, window: f64, links: Vec<SimulatedLink>) -> Vec<SimulatedLink> {
        let mut links = links.into_iter();
        let sides = self.all().into_iter().flat_map(|side| (0..side.wires()).map(move |wire| (side, wire)));
        sides.filter_map(|(side, wire)| Some(side.of_wire(plan, wire, window, links.next()?))).collect()
    }

    /// Whether there is more on Ethernet than a run may hold.
    fn is_full(&self) -> bool {
        match (&self.flow_level, &self.parallel) {
            (Some(flows), _) => flows.is_full(),
            (None, Some(parallel)) => parallel.is_full(),
            (None, None) => self.ethernet.is_full(),
        }
    }

    /// TLPs and frames carried over links (at flow level messages begun), connections and transactions of buses.
    fn packets(&self) -> u64 {
        if self.infiniband.flow_level.is_some() {
            return self.infiniband.packets();
        }
        self.all().iter().map(|side| side.packets()).sum()
    }

    fn tallies(&self, now: u64) -> Vec<Tally> {
        self.all().iter().flat_map(|side| side.tallies(now)).collect()
    }

    /// Operations of each flow that have arrived and not begun.
    fn backlogs(&self, now: u64) -> Vec<u64> {
        self.all().iter().flat_map(|side| side.backlogs(now)).collect()
    }

    /// Hashes of what each flow has done when.
    fn fingerprints(&self) -> impl Iterator<Item = (u64, u64)> {
        self.all().into_iter().flat_map(|side| side.fingerprints())
    }

    /// Latencies of operations, ps, of a flow group.
    fn latencies(&self, group: &FlowGroup) -> Cow<'_, Cells> {
        self.of(group.technology).latencies(group.nth)
    }

    /// What a group's flows are, as far as their means depend on it.
    fn traffic<'a>(&self, plan: &'a Plan, group: &FlowGroup) -> Vec<Traffic<'a>> {
        group.members.iter().map(|flow| self.of(group.technology).traffic(plan, *flow)).collect()
    }

    /// What each switch has carried.
    fn switched(&self, plan: &Plan, now: u64) -> Vec<Switched> {
        // Of programs at flow level nobody counts that.
        if self.infiniband.flow_level.is_some() {
            return Vec::new();
        }
        self.all().iter().flat_map(|side| side.switched(plan, now)).collect()
    }

    /// What each technology says of its flow groups, in their order.
    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport> {
        let all = groups.chunk_by(|a, b| a.technology == b.technology);
        all.flat_map(|groups| self.of(groups[0].technology).reports(view, groups)).collect()
    }

    fn open_window(&mut self, now: u64) {
        self.all_mut().into_iter().for_each(|side| side.open_window(now));
    }

    /// Writes down what lies before a moment.
    fn settle(&mut self, plan: &Plan, now: u64) {
        self.all_mut().into_iter().for_each(|side| side.settle(now));
        self.put_down(plan, now);
    }

    /// Puts down what programs at flow level have moved up to a moment, in the ledgers of everything that carries it.
    fn put_down(&mut self, plan: &Plan, now: u64) {
        let ledgers = self.infiniband.flow_level.as_mut().map(|flows| flows.ledgers(plan, now));
        let Some(([infiniband, pcie], frames)) = ledgers else { return };
        self.infiniband.take_ledgers(infiniband);
        self.pcie.take_ledgers(pcie);
        if let Some(ethernet) = &mut self.flow_level {
            ethernet.take_programs(&frames);
        }
    }

    fn record(&mut self, on: bool) {
        self.all_mut().into_iter().for_each(|side| side.record(on));
    }

    /// Whether nothing is left of how it began: caches that take writes in have stopped filling.
    fn settled(&self) -> bool {
        self.all().iter().all(|side| side.settled())
    }

    fn stall_timeout(&self) -> u64 {
        self.all().iter().map(|side| side.stall_timeout()).max().unwrap_or(0)
    }

    /// A circle of wires that wait for one another for longer than `stall_timeout`.
    fn deadlock(&self, plan: &Plan, now: u64, stall_timeout: u64, silent: bool) -> Option<Vec<String>> {
        let before = if silent { now.max(1) } else { now.saturating_sub(stall_timeout) };
        self.all().iter().find_map(|side| side.deadlock(plan, now, before, silent))
    }

    /// Transmitters that wait, and for what.
    fn waiting(&self, plan: &Plan) -> Vec<String> {
        self.all().iter().flat_map(|side| side.waiting(plan)).collect()
    }

    /// What ended a program before its time: what the program says itself comes first.
    fn fault(&self) -> Option<String> {
        self.all().iter().rev().find_map(|side| side.fault())
    }
}
