//! The end of links: a root complex with its root ports, or a device with its one. It asks (requester) and answers
//! (completer).

use crate::protocol::pcie::{self, Class};
use crate::result::Idle;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::pcie::Net;
use crate::sim::pcie::backbone::Backbone;
use crate::sim::pcie::completer::{Completer, Job};
use crate::sim::pcie::iommu::Iommu;
use crate::sim::pcie::requester::{ENTRIES, Requester};
use crate::sim::pcie::switch::Switch;
use crate::sim::pcie::wire::Tlp;
use std::collections::VecDeque;

/// A port: what it still has to answer, and what it asks for.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Port {
    /// The wire out.
    pub(in crate::sim) wire: u32,
    /// Those of the functions of a device; a root complex has one at each port.
    pub(in crate::sim) requesters: Vec<Requester>,
    /// Whose turn it is.
    turn: usize,
    jobs: VecDeque<Job>,
    /// Whether the last TLP was a completion: the two take turns.
    answered: bool,
}

impl Port {
    /// The next TLP of its functions, which take turns; or why there is none, and when to ask again.
    #[inline]
    fn pull(&mut self, now: u64, net: &mut Net) -> Result<Tlp, (Idle, u64)> {
        let n = self.requesters.len();
        if n == 1 {
            return self.requesters[0].pull(self.wire, now, net);
        }
        let (mut idle, mut wake) = (Idle::NothingToSend, NEVER);
        for k in 0..n {
            let i = if self.turn + k < n { self.turn + k } else { self.turn + k - n };
            match self.requesters[i].pull(self.wire, now, net) {
                Ok(tlp) => {
                    self.turn = if i + 1 < n { i + 1 } else { 0 };
                    return Ok(tlp);
                }
                Err((why, at)) => (idle, wake) = (idle.max(why), wake.min(at)),
            }
        }
        Err((idle, wake))
    }
}

/// A root complex or a device.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Terminal {
    pub(in crate::sim) ports: Vec<Port>,
    pub(in crate::sim) completer: Completer,
    /// Between the ports and memory, in place of the completer.
    pub(in crate::sim) backbone: Option<Box<Backbone>>,
    /// Of a root complex, what passes on what goes from one of its ports to another.
    pub(in crate::sim) peers: Option<Box<Switch>>,
    /// Of a root complex, what translates the addresses of what comes in.
    pub(in crate::sim) iommu: Option<Box<Iommu>>,
    /// From a write's last bit to its being done, fs.
    pub(in crate::sim) write_latency: u64,
    /// Slots of the agenda: the completer's, then one for each requester.
    timer: u32,
    ready: Vec<Job>,
    taken: Vec<u32>,
}

impl Terminal {
    /// `functions` at each of its ports.
    pub(in crate::sim) fn new(wires: &[u32], completer: Completer, write_latency: u64, functions: usize) -> Terminal {
        let port = |&wire: &u32| Port {
            wire,
            requesters: vec![Requester::new(); functions],
            turn: 0,
            jobs: VecDeque::new(),
            answered: false,
        };
        Terminal {
            ports: wires.iter().map(port).collect(),
            completer,
            backbone: None,
            peers: None,
            iommu: None,
            write_latency,
            timer: 0,
            ready: Vec::new(),
            taken: Vec::new(),
        }
    }

    pub(in crate::sim) fn wired(&mut self, timer: u32) {
        self.timer = timer;
        self.completer.wired(timer);
        if let Some(backbone) = &mut self.backbone {
            backbone.wired(timer);
        }
        let behind = timer + 1 + self.requesters();
        if let Some(peers) = &mut self.peers {
            peers.wired(behind);
        }
    }

    /// Slots of the agenda that it wants.
    pub(in crate::sim) fn timers(&self) -> u32 {
        1 + self.requesters() + self.peers.as_ref().map_or(0, |p| p.timers())
    }

    fn requesters(&self) -> u32 {
        self.ports.iter().map(|p| p.requesters.len() as u32).sum()
    }

    /// The head of a class is here whole.
    #[inline]
    pub(in crate::sim) fn head(&mut self, id: u32, class: Class, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let wire = &net.wires[id as usize];
        let slot = wire.rx + class as u32;
        let Some(tlp) = wire.queues[class as usize].front() else {
            agenda.set(slot, NEVER);
            return;
        };
        if let Some(peers) = self.peers.as_mut().filter(|_| !net.ends(tlp)) {
            peers.head(id, class, now, net, agenda);
            return;
        }
        if wire.gathers[class as usize] {
            return self.gathered(id, class, now, net, agenda);
        }
        if class == Class::Completion {
            return self.completion(id, now, net, agenda);
        }
        let (at, next) = self.iommu.as_mut().map_or((now, NEVER), |iommu| iommu.translated(id, class, now, net));
        if at > now && (class == Class::Posted || self.backbone.is_some()) {
            // Those behind it stay behind it, and are looked up as they come.
            agenda.set(slot, at.min(next));
            net.wires[id as usize].announced[class as usize] = true;
            return;
        }
        let wire = &net.wires[id as usize];
        let (port, Some(tlp)) = (wire.port_to as usize, wire.queues[class as usize].front()) else { return };
        let taken = match (class, &mut self.backbone) {
            (Class::Posted, None) => self.completer.write(id, wire, tlp.payload, now, agenda),
            (Class::Posted, Some(backbone)) => {
                backbone.write(id, tlp, port, agenda);
                false
            }
            (_, None) => {
                let tlp = *tlp;
                self.completer.request(id, &tlp, (now, at), net, agenda)
            }
            (_, Some(backbone)) => backbone.read(id, Job::of(id, tlp, net), port, now, agenda),
        };
        if !taken {
            agenda.set(slot, NEVER);
        } else if class == Class::Posted {
            self.write(id, now, net, agenda);
        } else {
            self.pop(id, class, now, net, agenda);
        }
    }

    /// A completion is here: its requester takes it.
    fn completion(&mut self, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if let Some(tlp) = self.pop(id, Class::Completion, now, net, agenda) {
            self.complete(id, &tlp, now, net, agenda);
        }
    }

    /// The last completion of a request is here, or the last of a write: it is taken in, but first those before it that
    /// have no event.
    pub(super) fn gathered(&mut self, id: u32, class: Class, now: u64, net: &mut Net, agenda: &mut Agenda) {
        // Copied where it lies: as an `Option` it is put together of pieces, and each copy waits for their stores. That
        // was a sixth of the time of a drive's large reads.
        while let Some(&tlp) = net.wires[id as usize].queues[class as usize].front() {
            net.wires[id as usize].drop_gathered(class, tlp.last, agenda);
            match class {
                Class::Completion => self.complete(id, &tlp, now, net, agenda),
                _ => self.written(&tlp, now, net, agenda),
            }
            let next = net.wires[id as usize].queues[class as usize].front();
            if tlp.last || next.is_none_or(|next| next.ready > now) {
                return;
            }
            agenda.events += 1;
        }
    }

    /// A completion has been taken out of its buffer.
    #[inline(always)]
    fn complete(&mut self, id: u32, tlp: &Tlp, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let wire = &net.wires[id as usize];
        let port = wire.port_to as usize;
        let data = pcie::completion_head(wire.generation) + 4.min(tlp.payload as u64);
        let after = wire.bytes(tlp.body) as u64 - data.min(wire.bytes(tlp.body) as u64);
        let first_data = tlp.tail - wire.clock.span(after).min(tlp.tail);
        let function = net.flows[tlp.flow as usize].function as usize;
        let requester = &mut self.ports[port].requesters[function];
        let (next, finished) = requester.completion(tlp, first_data, now, net);
        // A device has one port, a root complex one requester at each.
        agenda.by(self.timer + 1 + (port + function) as u32, next);
        if finished {
            self.nudge(port, now, net, agenda);
        }
    }

    /// A write is taken in.
    fn write(&mut self, id: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if let Some(tlp) = self.pop(id, Class::Posted, now, net, agenda) {
            self.written(&tlp, now, net, agenda);
        }
    }

    /// A write has been taken out of its buffer.
    #[inline(always)]
    fn written(&mut self, tlp: &Tlp, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if tlp.control && !net.flows[tlp.flow as usize].is_fed() {
            self.control(tlp, now, net, agenda);
            return;
        }
        if let Some(at) = net.written(tlp, self.write_latency, now) {
            // The requester may be waiting for it.
            let first = net.paths[net.flows[tlp.flow as usize].there as usize];
            agenda.by(net.wires[first as usize].tx, at.max(now));
        }
    }

    /// Entries in memory tell a processor of packets, for which it rings; doorbells and interrupts are at their end.
    fn control(&mut self, tlp: &Tlp, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let flow = &mut net.flows[tlp.flow as usize];
        let Some(bell) = flow.doorbell.as_mut().filter(|_| tlp.at < flow.back && tlp.tag == ENTRIES) else { return };
        let times = bell.entries();
        if times > 0 {
            let out = net.paths[flow.back as usize];
            let port = net.wires[out as usize].port_from as usize;
            self.ports[port].requesters[0].rings(tlp.flow, times);
            self.nudge(port, now, net, agenda);
        }
    }

    /// Takes a head out of its buffer, which is free again.
    #[inline]
    fn pop(&mut self, id: u32, class: Class, now: u64, net: &mut Net, agenda: &mut Agenda) -> Option<Tlp> {
        let wire = &mut net.wires[id as usize];
        if let Some(iommu) = &mut self.iommu {
            iommu.went(wire.port_to as usize, class);
            wire.announced[class as usize] = false;
        }
        let tlp = wire.queues[class as usize].pop_front();
        if let Some(tlp) = &tlp {
            if class == Class::Posted && wire.told > 0 {
                wire.told -= 1;
            } else {
                wire.free(class, tlp.payload, now, agenda);
            }
        }
        let next = wire.queues[class as usize].front().map_or(NEVER, |t| t.ready.max(now));
        agenda.set(wire.rx + class as u32, next);
        tlp
    }

    /// A timer: 0 is the completer's, the others the requesters'.
    pub(in crate::sim) fn tick(&mut self, which: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let requesters = self.requesters();
        if let Some(peers) = self.peers.as_mut().filter(|_| which > requesters) {
            peers.tick(which - requesters - 1, now, net, agenda);
            return;
        }
        if let Some(at) = which.checked_sub(1) {
            let (port, function) = if self.ports.len() == 1 { (0, at as usize) } else { (at as usize, 0) };
            let next = self.ports[port].requesters[function].tick(now, net);
            agenda.set(self.timer + which, next);
            self.nudge_late(port, now, net, agenda);
            return;
        }
        let (mut ready, mut taken) = (std::mem::take(&mut self.ready), std::mem::take(&mut self.taken));
        match &mut self.backbone {
            Some(backbone) => backbone.tick(now, &mut ready, &mut taken, net, agenda),
            None => self.completer.tick(now, &mut ready, &mut taken, net, agenda),
        }
        for job in ready.drain(..) {
            let port = job.port as usize;
            self.ports[port].jobs.push_back(job);
            self.nudge_late(port, now, net, agenda);
        }
        for wire in taken.drain(..) {
            self.write(wire, now, net, agenda);
        }
        (self.ready, self.taken) = (ready, taken);
    }

    /// The same of a timer, whose slot is behind that of the transmitter.
    fn nudge_late(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        net.wires[self.ports[port].wire as usize].count_spared(now + 1, agenda);
        self.nudge(port, now, net, agenda);
    }

    /// Something may have become sendable.
    #[inline]
    fn nudge(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let wire = &net.wires[self.ports[port].wire as usize];
        if wire.next_at > now { agenda.by(wire.tx, wire.next_at) } else { self.transmit(port, now, net, agenda) }
    }

    /// The transmitter of a port may act.
    #[inline]
    pub(in crate::sim) fn free(&mut self, wire: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let port = net.wires[wire as usize].port_from as usize;
        self.transmit(port, now, net, agenda);
    }

    fn transmit(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let p = &mut self.ports[port];
        let id = p.wire;
        let wire = &mut net.wires[id as usize];
        let (tx, free) = (wire.tx, wire.next_at);
        if free > now {
            agenda.set(tx, free);
            return;
        }
        wire.count_spared(now, agenda);
        wire.spared = 0;
        let passing = match &mut self.peers {
            Some(peers) => peers.next(port, now, net),
            None => Err((Idle::NothingToSend, NEVER)),
        };
        // What passes goes before the port's own, after it where it yields and there is something, or not at all.
        let went = match passing {
            Ok(passing) if !passing.yields => Ok(Some(passing)),
            Ok(passing) => Ok(self.own(port, now, net, agenda).map_or(Some(passing), |()| None)),
            Err((idle, wake)) => match self.own(port, now, net, agenda) {
                Ok(()) => Ok(None),
                Err((why, at)) => Err((idle.max(why), wake.min(at))),
            },
        };
        match (went, &mut self.peers) {
            (Ok(Some(passing)), Some(peers)) => peers.pass_on(passing, port, now, net, agenda),
            (Ok(None), Some(peers)) => peers.passed_by(port),
            (Ok(_), None) => {}
            (Err((idle, wake)), _) => {
                let wire = &mut net.wires[id as usize];
                wire.idle = idle;
                agenda.set(tx, wake);
                if idle.is_credit() {
                    wire.wait(now, agenda);
                }
                return;
            }
        }
        let wire = &net.wires[id as usize];
        if wire.spared == 0 {
            agenda.set(tx, wire.next_at);
        }
    }

    /// Sends what a port has to say itself, or says why not, and when to ask again. Completions and requests take
    /// turns.
    #[inline]
    fn own(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) -> Result<(), (Idle, u64)> {
        let p = &self.ports[port];
        if p.jobs.is_empty() {
            return self.ask(port, now, net, agenda);
        }
        let answered = p.answered;
        let (mut idle, mut wake) = (Idle::NothingToSend, NEVER);
        for answers in [!answered, answered] {
            let went = if answers { self.answer(port, now, net, agenda) } else { self.ask(port, now, net, agenda) };
            let Err((why, at)) = went else { return Ok(()) };
            (idle, wake) = (idle.max(why), wake.min(at));
        }
        Err((idle, wake))
    }

    /// Sends the next completion.
    fn answer(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) -> Result<(), (Idle, u64)> {
        let p = &mut self.ports[port];
        let id = p.wire;
        let Some(job) = p.jobs.front_mut() else { return Err((Idle::NothingToSend, NEVER)) };
        let mut tlp = job.next(net);
        let wire = &mut net.wires[id as usize];
        if !wire.may_send(tlp.class, tlp.body, tlp.payload, now) {
            return Err((wire.lack(tlp.class, tlp.payload), NEVER));
        }
        job.sent(tlp.payload);
        let done = job.left == 0;
        p.answered = true;
        if done {
            p.jobs.pop_front();
        }
        net.put(id, &mut tlp, now, agenda);
        match &mut self.backbone {
            None if tlp.last => self.completer.sent(now, net, agenda),
            Some(backbone) if tlp.last => backbone.leaves(port, net.wires[id as usize].next_at, agenda),
            _ => {}
        }
        Ok(())
    }

    /// Sends the next TLP of its requesters.
    #[inline]
    fn ask(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) -> Result<(), (Idle, u64)> {
        let p = &mut self.ports[port];
        let mut tlp = p.pull(now, net)?;
        p.answered = false;
        let begin = net.put(p.wire, &mut tlp, now, agenda);
        if !tlp.control {
            let function = net.flows[tlp.flow as usize].function as usize;
            p.requesters[function].limits.gaps.went(&tlp, begin, net.wires[p.wire as usize].next_at);
        }
        if net.foresees && self.peers.is_none() && p.jobs.is_empty() {
            let wire = &mut net.wires[p.wire as usize];
            if let ([requester], true) = (&p.requesters[..], wire.will_lack(tlp.class, tlp.body, tlp.payload))
                && requester.repeats(&tlp)
            {
                wire.wait_ahead(wire.lack(tlp.class, tlp.payload), agenda);
            }
        }
        Ok(())
    }
}
