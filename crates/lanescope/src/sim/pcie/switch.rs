//! A PCIe switch: packets wait in the buffer of the port that they came in by, and the port that they leave by takes
//! them in turn.
//!
//! An ingress port sorts what comes in by class and, where it may leave by several ports, by the port that it wants
//! (`queues = "fifo"` forbids it); the heads are candidates there. A crossbar reads one packet of an ingress port at a
//! time, at the faster rate of the two links. An egress port goes past an ingress port that is being read for another,
//! once: at its next turn it takes the packet as soon as that read ends, since two ports whose packets end at different
//! moments would starve a third for good. A shared bus with a bandwidth carries one packet of the whole switch at a
//! time, and a head that waits for it holds up what stands behind it. A shared memory takes packets in one at a time.
//!
//! A crossbar whose ingress ports sort has a buffer at each crosspoint, of one packet a class, which is part of the
//! ingress port's. An ingress port reads for its crosspoints with room in turn, an egress port takes from its
//! crosspoints in turn, and neither waits for the other: so no two ports whose packets end at different moments can
//! starve a third, and packets of any size keep all ports busy (M. Katevenis, G. Passas, D. Simos, I.
//! Papaefstathiou, N. Chrysos, "Variable packet size buffered crossbar (CICQ) switches", ICC 2004; R. Rojas-Cessa,
//! E. Oki, H. J. Chao, "On the combined input-crosspoint buffered switch with round-robin arbitration", IEEE Trans.
//! Commun. 53(11), 2005: one packet and turns are enough). Real switches have such memories behind their crossbars
//! too (IDT 89HPES64H16G2 User Manual, 2013, chapter 3: egress frame buffers).

use crate::protocol::pcie::Class;
use crate::result::Idle;
use crate::scenario::keys::{Arbitration, Core, Queues};
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::pcie::Net;
use crate::sim::pcie::wire::Tlp;
use crate::units::Pace;
use std::collections::VecDeque;

/// No egress port.
const NONE: u16 = u16::MAX;

/// Times through the switch, first bit in to first bit out, fs.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Transit {
    pub(in crate::sim) count: u64,
    pub(in crate::sim) sum: u128,
    pub(in crate::sim) max: u64,
}

#[derive(Clone, Debug)]
struct Ingress {
    wire: u32,
    /// A packet is being read out until then, of this class.
    reading: u64,
    of: Class,
    /// The egress port that each class's head is a candidate at.
    heads: [u16; 3],
    /// Whether packets are sorted by the port that they want: where all leave by one, there is nothing to sort.
    sorted: bool,
    /// What waits, by egress port and class. The first of each is at its crosspoint once it was read.
    stored: Vec<VecDeque<Tlp>>,
    /// Whose first may be read: the crosspoint has room. Four bits for each egress port, one a class.
    unread: Vec<u64>,
    /// The egress port that it was read for last.
    turn: usize,
}

#[derive(Clone, Debug)]
struct Egress {
    wire: u32,
    /// Candidates: four bits for each ingress port, one a class.
    waiting: Vec<u64>,
    /// The ingress port served last.
    turn: usize,
    /// Of a hosted one: whether the port's own was the last to go.
    own_last: bool,
    /// How many ingress ports and classes have a packet for it that may be read.
    unread: u32,
    /// An ingress port whose turn it was while that was read for another port: it is the next, as soon as it is free.
    passed_over: u16,
}

/// Sets or clears the bit of a port and class, of four for each port.
fn mark(words: &mut [u64], port: usize, class: Class, yes: bool) {
    let bit = 4 * port + class as usize;
    let word = &mut words[bit / 64];
    if yes {
        *word |= 1 << (bit % 64);
    } else {
        *word &= !(1 << (bit % 64));
    }
}

/// Ports with a bit and their four bits, from the one after `turn` around.
fn in_turn(words: &[u64], turn: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
    let first = turn + 1;
    // From the turn on to the last port, then from the first port to the turn: the word of the turn comes twice, each
    // time in part.
    let (at, below) = (first / 16, (1 << (4 * (first % 16))) - 1);
    let part = move |word: usize, mask: u64| (word, words[word] & if word == at { mask } else { u64::MAX });
    let upper = (at..words.len()).map(move |w| part(w, !below));
    let lower = (0..words.len().min(at + 1)).map(move |w| part(w, below));
    upper.chain(lower).flat_map(|(word, mut bits)| {
        std::iter::from_fn(move || {
            (bits != 0).then(|| {
                let shift = bits.trailing_zeros() & !3;
                let mine = (bits >> shift) & 0xf;
                bits &= !(0xf << shift);
                (word * 16 + shift as usize / 4, mine)
            })
        })
    })
}

/// What a root complex passes on next by one of its ports.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Passing {
    port: usize,
    class: Class,
    /// Whether the port's own comes first, if it has something.
    pub(in crate::sim) yields: bool,
}

/// A switch.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Switch {
    ins: Vec<Ingress>,
    outs: Vec<Egress>,
    arbitration: Arbitration,
    core: Core,
    pace: Option<Pace>,
    /// The shared core is taken until then.
    core_free: u64,
    /// The ingress port that the shared core served last.
    core_turn: usize,
    /// Slots of the agenda: the shared core's, then one for each ingress port, if there are crosspoints.
    timer: u32,
    /// Whether there is a buffer at each crosspoint.
    crosspoints: bool,
    /// It is part of a root complex, whose ports send what these themselves have to say, too: they are asked when
    /// something may go, and take what is chosen here.
    hosted: bool,
    pub(in crate::sim) transit: Transit,
}

impl Switch {
    /// `ports` as (wire in, wire out); `forks` says of each whether what comes in may leave by several ports.
    pub(in crate::sim) fn new(
        ports: &[(u32, u32)],
        forks: &[bool],
        core: Core,
        pace: Option<Pace>,
        arbitration: Arbitration,
        queues: Queues,
    ) -> Switch {
        let n = ports.len();
        let words = (4 * n).div_ceil(64);
        let sorts = |fork: bool| core == Core::SharedMemory || (pace.is_none() && queues == Queues::PerOutput && fork);
        Switch {
            ins: ports
                .iter()
                .zip(forks)
                .map(|(p, &fork)| Ingress {
                    wire: p.0,
                    reading: 0,
                    of: Class::Posted,
                    heads: [NONE; 3],
                    sorted: sorts(fork),
                    stored: vec![VecDeque::new(); if sorts(fork) { 3 * n } else { 0 }],
                    unread: vec![0; if sorts(fork) { words } else { 0 }],
                    turn: 0,
                })
                .collect(),
            outs: ports
                .iter()
                .map(|p| Egress {
                    wire: p.1,
                    waiting: vec![0; words],
                    turn: 0,
                    own_last: false,
                    unread: 0,
                    passed_over: NONE,
                })
                .collect(),
            arbitration,
            core,
            pace,
            core_free: 0,
            core_turn: 0,
            timer: 0,
            crosspoints: core != Core::SharedMemory && forks.iter().any(|f| sorts(*f)),
            hosted: false,
            transit: Transit::default(),
        }
    }

    /// That of a root complex, which passes on what goes from one of its ports to another: any to any other at once, or
    /// through something that carries so much.
    pub(in crate::sim) fn hosted(ports: &[(u32, u32)], forks: &[bool], pace: Option<Pace>) -> Switch {
        // With a pace packets are taken through one by one, and then stand at the port that they leave by.
        let core = if pace.is_some() { Core::SharedMemory } else { Core::Crossbar };
        let switch = Switch::new(ports, forks, core, pace, Arbitration::RoundRobin, Queues::PerOutput);
        Switch { hosted: true, ..switch }
    }

    /// Of a hosted one: what goes next by a port, if its own does not. The port's own has its turn once in each round
    /// of the others.
    pub(in crate::sim) fn next(&self, out: usize, now: u64, net: &mut Net) -> Result<Passing, (Idle, u64)> {
        let (port, class, _) = self.choose(out, now, net)?;
        let yields = port <= self.outs[out].turn && !self.outs[out].own_last;
        Ok(Passing { port, class, yields })
    }

    /// Of a hosted one: sends what was chosen.
    pub(in crate::sim) fn pass_on(&mut self, what: Passing, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        self.outs[out].own_last = false;
        self.forward(what.port, what.class, out, now, net, agenda);
    }

    /// Of a hosted one: the port has sent something of its own.
    pub(in crate::sim) fn passed_by(&mut self, out: usize) {
        self.outs[out].own_last = true;
    }

    pub(in crate::sim) fn wired(&mut self, timer: u32) {
        self.timer = timer;
    }

    /// Slots of the agenda that it wants.
    pub(in crate::sim) fn timers(&self) -> u32 {
        if self.crosspoints { 1 + self.ins.len() as u32 } else { 1 }
    }

    /// The head of a class has come in and is routed.
    pub(in crate::sim) fn head(&mut self, wire: u32, class: Class, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let (port, slot) = {
            let w = &net.wires[wire as usize];
            (w.port_to as usize, w.rx + class as u32)
        };
        let ingress = &self.ins[port];
        if !ingress.sorted && ingress.of == class && ingress.reading > now {
            // It came in behind a packet that is still read out: it is the head after that one, whether it was sent
            // before that began or since.
            agenda.set(slot, ingress.reading);
            return;
        }
        agenda.set(slot, NEVER);
        let Some(tlp) = net.wires[wire as usize].queues[class as usize].front() else { return };
        let (body, payload) = (tlp.body, tlp.payload);
        let out = net.wires[net.paths[tlp.at as usize + 1] as usize].port_from as usize;
        if self.pace.is_some() {
            self.ins[port].heads[class as usize] = out as u16;
            self.serve_core(now, net, agenda);
        } else if self.ins[port].sorted {
            let unread = self.ins[port].unread.iter().any(|w| *w != 0);
            if !unread && self.alone(port, class, out, (body, payload), now, net) {
                self.pass(port, class, out, now, net, agenda);
            } else {
                self.store(port, class, out, now, net, agenda);
            }
        } else if self.alone(port, class, out, (body, payload), now, net) {
            if !self.crosspoints && self.outs[out].passed_over == port as u16 {
                self.outs[out].passed_over = NONE;
            }
            self.read_out(port, class, out, now, net, agenda);
        } else {
            self.offer(port, class, out, true);
            self.transmit(out, now, net, agenda);
        }
    }

    /// Whether a head that comes up can leave at once: nobody else wants its egress port, which is free and has credits
    /// for such a body and payload. Then there is nothing to arbitrate.
    #[inline]
    fn alone(&self, port: usize, class: Class, out: usize, bytes: (u16, u16), now: u64, net: &mut Net) -> bool {
        let egress = &self.outs[out];
        let wire = &mut net.wires[egress.wire as usize];
        !self.hosted
            && wire.next_at <= now
            && self.ins[port].reading <= now
            && egress.waiting.iter().all(|w| *w == 0)
            && wire.may_send(class, bytes.0, bytes.1, now)
    }

    /// A timer: 0 is that of the shared core, which is free again; the others those of the ingress ports.
    pub(in crate::sim) fn tick(&mut self, which: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        agenda.set(self.timer + which, NEVER);
        match which.checked_sub(1) {
            None => self.serve_core(now, net, agenda),
            Some(port) => self.read(port as usize, now, net, agenda),
        }
    }

    /// The transmitter of an egress wire may act.
    pub(in crate::sim) fn free(&mut self, wire: u32, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let w = &net.wires[wire as usize];
        let (out, slot) = (w.port_from as usize, w.tx);
        agenda.set(slot, NEVER);
        if self.pace.is_some() && self.core == Core::SharedBus {
            self.serve_core(now, net, agenda);
        } else {
            self.transmit(out, now, net, agenda);
        }
    }

    fn offer(&mut self, port: usize, class: Class, out: usize, yes: bool) {
        mark(&mut self.outs[out].waiting, port, class, yes);
    }

    /// The first packet for an egress port may be read: its crosspoint has room.
    fn ask(&mut self, port: usize, class: Class, out: usize) {
        mark(&mut self.ins[port].unread, out, class, true);
        self.outs[out].unread += 1;
    }

    /// Reads a packet of an ingress port, if that is free and has one, for the crosspoint whose turn it is.
    fn read(&mut self, port: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let ingress = &self.ins[port];
        let slot = self.timer + 1 + port as u32;
        if ingress.reading > now {
            agenda.by(slot, ingress.reading);
            return;
        }
        let mut next: Option<(u64, usize, Class, u16)> = None;
        for (out, bits) in in_turn(&ingress.unread, ingress.turn) {
            for class in Class::ALL.into_iter().filter(|c| bits & (1 << *c as u64) != 0) {
                let Some(tlp) = ingress.stored[3 * out + class as usize].front() else { continue };
                if next.is_none_or(|n| tlp.ready < n.0) {
                    next = Some((tlp.ready, out, class, tlp.body));
                }
            }
            if self.arbitration == Arbitration::RoundRobin {
                break;
            }
        }
        let Some((_, out, class, body)) = next else { return };
        let span = self.span(port, out, body, net);
        let ingress = &mut self.ins[port];
        mark(&mut ingress.unread, out, class, false);
        (ingress.turn, ingress.reading) = (out, now + span);
        self.outs[out].unread -= 1;
        self.offer(port, class, out, true);
        let ingress = &self.ins[port];
        if ingress.unread.iter().any(|w| *w != 0) {
            agenda.by(slot, ingress.reading);
        }
        self.transmit(out, now, net, agenda);
    }

    /// Takes a head out of the queue of its class, where packets are sorted: the one behind it is the next head at
    /// once.
    fn take(&mut self, port: usize, class: Class, now: u64, net: &mut Net, agenda: &mut Agenda) -> Option<Tlp> {
        let ingress = &mut self.ins[port];
        ingress.heads[class as usize] = NONE;
        let wire = &mut net.wires[ingress.wire as usize];
        let tlp = wire.queues[class as usize].pop_front();
        if let Some(next) = wire.queues[class as usize].front() {
            agenda.set(wire.rx + class as u32, next.ready.max(now));
        }
        tlp
    }

    /// Sorts a head into the queue of its egress port; its buffer stays taken until it has left.
    fn store(&mut self, port: usize, class: Class, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if let Some(tlp) = self.take(port, class, now, net, agenda) {
            self.ins[port].stored[3 * out + class as usize].push_back(tlp);
        }
        if !self.crosspoints {
            self.offer(port, class, out, true);
        } else if self.ins[port].stored[3 * out + class as usize].len() == 1 {
            self.ask(port, class, out);
            self.read(port, now, net, agenda);
        }
        self.transmit(out, now, net, agenda);
    }

    /// Sends a head on at once, where packets are sorted.
    #[inline]
    fn pass(&mut self, port: usize, class: Class, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if let Some(mut tlp) = self.take(port, class, now, net, agenda) {
            self.leave(port, &mut tlp, out, now, net, agenda);
        }
    }

    /// The next packet that an ingress port could give to `out`, of its classes the one that has waited longest, if
    /// there are credits for it.
    fn candidate(&self, port: usize, out: usize, bits: u64, now: u64, net: &mut Net) -> Result<(Class, u64), Idle> {
        let wire = self.outs[out].wire as usize;
        let mut best: Option<(Class, u64)> = None;
        let mut lack = Idle::NothingToSend;
        for class in Class::ALL {
            if bits & (1 << class as u64) == 0 {
                continue;
            }
            let ingress = &self.ins[port];
            let head = if ingress.sorted {
                ingress.stored[3 * out + class as usize].front()
            } else {
                net.wires[ingress.wire as usize].queues[class as usize].front()
            };
            let Some(tlp) = head.copied().filter(|t| best.is_none_or(|b| t.ready < b.1)) else { continue };
            if net.wires[wire].may_send(class, tlp.body, tlp.payload, now) {
                best = Some((class, tlp.ready));
            } else {
                lack = net.wires[wire].lack(class, tlp.payload);
            }
        }
        best.ok_or(lack)
    }

    /// Whether a packet of an ingress port is being read, whose heads no egress port can take meanwhile: not where they
    /// stand at crosspoints or in a shared memory.
    fn is_read(&self, port: usize, now: u64) -> bool {
        let ingress = &self.ins[port];
        !ingress.sorted && ingress.reading > now
    }

    /// Whom the egress port serves next, (ingress port, class), and from when on; or why nobody, and until when to
    /// wait.
    fn choose(&self, out: usize, now: u64, net: &mut Net) -> Result<(usize, Class, u64), (Idle, u64)> {
        let egress = &self.outs[out];
        let (mut idle, mut wake) = (Idle::NothingToSend, NEVER);
        if egress.unread > 0 {
            idle = Idle::Arbitration;
        }
        let mut oldest: Option<(u64, usize, Class)> = None;
        for (port, bits) in in_turn(&egress.waiting, egress.turn) {
            let ingress = &self.ins[port];
            let busy = self.is_read(port, now);
            if busy && egress.passed_over != port as u16 {
                wake = wake.min(ingress.reading);
                idle = idle.max(Idle::Arbitration);
                continue;
            }
            match self.candidate(port, out, bits, now, net) {
                Ok((class, _)) if busy => return Ok((port, class, ingress.reading)),
                Ok((class, _)) if self.arbitration == Arbitration::RoundRobin => return Ok((port, class, now)),
                Ok((class, ready)) => {
                    if oldest.is_none_or(|o| ready < o.0) {
                        oldest = Some((ready, port, class));
                    }
                }
                Err(lack) => idle = idle.max(lack),
            }
        }
        oldest.map(|(_, port, class)| (port, class, now)).ok_or((idle, wake))
    }

    /// An egress port has served a port, or nobody: whose turn was before that, but who was read for another port.
    fn pass_over(&mut self, out: usize, served: Option<usize>, now: u64) {
        let egress = &self.outs[out];
        if served.is_some_and(|port| egress.passed_over == port as u16) {
            self.outs[out].passed_over = NONE;
        } else if egress.passed_over == NONE {
            let first = in_turn(&egress.waiting, egress.turn)
                .map(|(port, _)| port)
                .find(|port| Some(*port) == served || self.is_read(*port, now))
                .filter(|port| Some(*port) != served);
            self.outs[out].passed_over = first.map_or(NONE, |port| port as u16);
        }
    }

    /// Sends the next packet of an egress port, if it is free and has one.
    fn transmit(&mut self, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let id = self.outs[out].wire as usize;
        let wire = &net.wires[id];
        let (free, slot) = (wire.next_at, wire.tx);
        if free > now {
            agenda.set(slot, free);
            return;
        }
        if self.hosted {
            agenda.by(slot, now);
            return;
        }
        match self.choose(out, now, net) {
            Ok((port, class, start)) => {
                if !self.crosspoints {
                    self.pass_over(out, Some(port), now);
                }
                if start > now {
                    net.wires[id].idle = Idle::Arbitration;
                }
                self.forward(port, class, out, start, net, agenda);
                if self.outs[out].waiting.iter().any(|w| *w != 0) {
                    agenda.set(slot, net.wires[id].next_at);
                }
            }
            Err((idle, wake)) => {
                if wake != NEVER {
                    self.pass_over(out, None, now);
                }
                let wire = &mut net.wires[id];
                wire.idle = idle;
                agenda.set(slot, wake);
                if idle.is_credit() {
                    wire.wait(now, agenda);
                }
            }
        }
    }

    /// Takes the next packet of a class for an egress port and puts it on the wire, not before `now`.
    fn forward(&mut self, port: usize, class: Class, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        if self.ins[port].sorted {
            let stored = &mut self.ins[port].stored[3 * out + class as usize];
            let tlp = stored.pop_front();
            let more = !stored.is_empty();
            self.offer(port, class, out, more && !self.crosspoints);
            let Some(mut tlp) = tlp else { return };
            if !self.crosspoints {
                self.leave(port, &mut tlp, out, now, net, agenda);
                return;
            }
            let read = now + self.span(port, out, tlp.body, net);
            self.send(port, &mut tlp, out, read, now, net, agenda);
            if more {
                self.ask(port, class, out);
                self.read(port, now, net, agenda);
            }
            return;
        }
        self.offer(port, class, out, false);
        self.read_out(port, class, out, now, net, agenda);
    }

    /// Takes the head of a class out of the queue that it came in by, where packets are not sorted, and puts it on the
    /// wire. The one behind it is the next head when it has been read.
    #[inline]
    fn read_out(&mut self, port: usize, class: Class, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let ingress = &mut self.ins[port];
        (ingress.heads[class as usize], ingress.of) = (NONE, class);
        let inward = ingress.wire as usize;
        if let Some(mut tlp) = net.wires[inward].queues[class as usize].pop_front() {
            self.leave(port, &mut tlp, out, now, net, agenda);
        }
        let wire = &net.wires[inward];
        if let Some(next) = wire.queues[class as usize].front() {
            agenda.set(wire.rx + class as u32, next.ready.max(self.ins[port].reading));
        }
    }

    /// How long a packet is read for, at the faster of the two links' rates: what is in whole is not held up by the
    /// link that it came by. A shared memory has it already.
    fn span(&self, port: usize, out: usize, body: u16, net: &Net) -> u64 {
        if self.core == Core::SharedMemory {
            return 0;
        }
        let span = |wire: u32| {
            let w = &net.wires[wire as usize];
            w.clock.span_below(w.bytes(body) as u64)
        };
        span(self.ins[port].wire).min(span(self.outs[out].wire))
    }

    /// Reads a packet out of its buffer, and puts it on the wire.
    #[inline]
    fn leave(&mut self, port: usize, tlp: &mut Tlp, out: usize, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let read = now + self.span(port, out, tlp.body, net);
        self.ins[port].reading = read;
        self.send(port, tlp, out, read, now, net, agenda);
    }

    /// Puts a packet on the wire; its buffer is free when it has been read.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn send(
        &mut self,
        port: usize,
        tlp: &mut Tlp,
        out: usize,
        read: u64,
        now: u64,
        net: &mut Net,
        agenda: &mut Agenda,
    ) {
        self.outs[out].turn = port;
        net.wires[self.ins[port].wire as usize].free(tlp.class, tlp.payload, tlp.tail.max(read), agenda);
        let head = tlp.head;
        tlp.at += 1;
        let begin = net.put(self.outs[out].wire, tlp, now, agenda);
        // Unless somebody is found waiting when it falls free again.
        net.wires[self.outs[out].wire as usize].idle = Idle::NothingToSend;
        let through = begin - head;
        self.transit.count += 1;
        self.transit.sum += through as u128;
        self.transit.max = self.transit.max.max(through);
    }

    /// A shared bus or memory with a bandwidth: takes heads of the ingress ports in turn, one at a time.
    fn serve_core(&mut self, now: u64, net: &mut Net, agenda: &mut Agenda) {
        let ports = self.ins.len();
        let Some(pace) = self.pace else { return };
        let mut passed = 0;
        while passed < ports {
            let port = (self.core_turn + 1 + passed) % ports;
            passed += 1;
            if self.ins[port].heads == [NONE; 3] {
                continue;
            }
            if self.by_age(port, net).into_iter().any(|class| self.serve_head(port, class, pace, now, net, agenda)) {
                passed = 0;
            }
        }
    }

    /// The classes of an ingress port, the one whose head has waited longest first: of completions and writes that meet
    /// neither always comes before the other.
    fn by_age(&self, port: usize, net: &Net) -> [Class; 3] {
        let queues = &net.wires[self.ins[port].wire as usize].queues;
        let mut classes = Class::ALL;
        classes.sort_by_key(|class| queues[*class as usize].front().map_or(NEVER, |tlp| tlp.ready));
        classes
    }

    /// Takes the head of a class of an ingress port through the shared core, if there is one and it may. Says whether.
    fn serve_head(
        &mut self,
        port: usize,
        class: Class,
        pace: Pace,
        now: u64,
        net: &mut Net,
        agenda: &mut Agenda,
    ) -> bool {
        let bus = self.core == Core::SharedBus;
        let out = self.ins[port].heads[class as usize];
        if out == NONE {
            return false;
        }
        let id = self.outs[out as usize].wire as usize;
        if self.core_free > now {
            net.wires[id].idle = net.wires[id].idle.max(Idle::Core);
            agenda.by(self.timer, self.core_free);
            return false;
        }
        let Some(tlp) = net.wires[self.ins[port].wire as usize].queues[class as usize].front().copied() else {
            return false;
        };
        let mut start = now;
        if bus {
            let wire = &mut net.wires[id];
            if wire.next_at > now {
                agenda.by(wire.tx, wire.next_at);
                return false;
            }
            if !wire.may_send(class, tlp.body, tlp.payload, now) {
                wire.idle = wire.lack(class, tlp.payload);
                wire.wait(now, agenda);
                return false;
            }
            // A bus slower than the link must not let it run dry.
            let out = wire.clock.span(wire.bytes(tlp.body) as u64);
            start = now.max((now + pace.span(tlp.body as u64)).saturating_sub(out));
        }
        self.core_turn = port;
        self.core_free = now + pace.span(tlp.body as u64);
        if bus {
            net.wires[id].idle = Idle::NothingToSend;
            self.forward(port, class, out as usize, start, net, agenda);
            agenda.by(net.wires[id].tx, net.wires[id].next_at);
        } else {
            self.store(port, class, out as usize, now, net, agenda);
        }
        true
    }

    /// Blocked heads, for the search of deadlocks: (wire that it sits on, wire that it wants).
    pub(in crate::sim) fn blocked(&self, net: &Net) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for ingress in &self.ins {
            for class in Class::ALL {
                let head = net.wires[ingress.wire as usize].queues[class as usize].front();
                let stored = ingress.stored.iter().filter_map(|q| q.front()).filter(|t| t.class == class);
                for tlp in head.into_iter().chain(stored) {
                    all.push((ingress.wire, net.paths[tlp.at as usize + 1]));
                }
            }
        }
        all
    }
}
