//! Shared buses, clock by clock: devices and the bridge take turns on one set of lines.
//!
//! A transaction is one event: when its last data have moved, what it brought is counted and the next is chosen
//! (`arbiter`). Moments are counts of clocks. A burst may be shortened while it goes on, when its latency timer is over
//! and somebody else asks; so whoever begins to ask looks at the bus.

mod arbiter;
pub(in crate::sim) mod binding;
mod report;

use crate::plan::Program;
use crate::plan::pci::Buses;
use crate::scenario::quantity::Corner;
use crate::sim::core::kernel::{Agenda, NEVER, World};
use crate::sim::core::source::{self, Arrivals, Next, Source, Transfer};
use crate::sim::core::tally::{self, Tally};
use crate::sim::pcie::random;
use crate::tools::Slab;
use crate::units::Pace;
use crate::units::{Rate, Time};
use arbiter::Bus;
use std::collections::VecDeque;

/// Clocks of a bus against moments, exactly.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    rate: Rate,
    pace: Pace,
}

impl Ticks {
    /// When clock `n` begins.
    fn time(&self, n: u64) -> u64 {
        if n == NEVER { NEVER } else { self.pace.span(n) }
    }

    /// The first clock that begins at a moment or later.
    fn clock(&self, at: u64) -> u64 {
        if at >= NEVER / 2 && at > Time::MAX.fs() {
            return NEVER;
        }
        let n = self.past(at);
        if self.pace.span(n) < at { n + 1 } else { n }
    }

    /// Clocks that are over.
    fn past(&self, at: u64) -> u64 {
        self.rate.slots(Time::from_fs(at))
    }
}

/// An operation that is asked for or sent.
#[derive(Clone, Copy, Debug)]
struct Op {
    born: u64,
    read: bool,
    /// Bytes not yet sent, or not yet asked for.
    left: u64,
    token: u32,
    /// Of a read, once it has begun: its place among the reads.
    id: Option<u32>,
    started: bool,
    /// Whether it is born when it starts.
    endless: bool,
}

/// A read, until its last data.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    flow: u32,
    born: u64,
    left: u64,
    token: u32,
    begun: bool,
}

/// What happens to one flow.
#[derive(Clone, Debug)]
pub(in crate::sim) struct FlowState {
    pub(in crate::sim) tally: Tally,
    pub(in crate::sim) fingerprint: u64,
    group: u32,
    bus: u32,
    source: Source,
    size: u64,
    reads: bool,
    writes: bool,
    was_read: bool,
    current: Option<Op>,
    /// Of a closed load: the pause after each operation, and when the next ones may begin.
    think: Option<u64>,
    again: VecDeque<u64>,
}

/// What all buses share.
#[derive(Clone, Debug)]
struct Net {
    flows: Vec<FlowState>,
    reads: Slab<Read>,
    latencies: Vec<tally::Cells>,
    /// Transfers of another side that are done: flow, token, moment.
    done: Vec<(u32, u32, u64)>,
}

impl Net {
    /// The operation that a flow works on, or when the next one is born.
    fn current(&mut self, flow: usize, now: u64) -> Result<Op, u64> {
        let f = &mut self.flows[flow];
        if let Some(op) = f.current {
            return Ok(op);
        }
        let born = match f.source.next(now, &mut f.again) {
            Next::Now(born) => born,
            Next::At(at) => return Err(at),
        };
        f.was_read = if f.reads && f.writes { !f.was_read } else { f.reads };
        let (left, token) = f.source.transfer().map_or((f.size, 0), |t| (t.bytes, t.token));
        let endless = f.source.saturates();
        let op = Op { born, read: f.was_read, left, token, id: None, started: false, endless };
        f.current = Some(op);
        Ok(op)
    }

    /// The first transaction of an operation begins.
    fn start(&mut self, flow: usize, now: u64) {
        let f = &mut self.flows[flow];
        let Some(op) = f.current.as_mut().filter(|op| !op.started) else { return };
        op.started = true;
        if op.endless {
            op.born = now;
        }
        f.tally.start(op.born);
        if op.read {
            let read = Read { flow: flow as u32, born: op.born, left: op.left, token: op.token, begun: false };
            op.id = Some(self.reads.add(read));
        }
    }

    /// So many bytes of an operation have been sent or asked for.
    fn took(&mut self, flow: usize, bytes: u64) -> Option<Op> {
        let f = &mut self.flows[flow];
        let op = f.current.as_mut()?;
        op.left -= bytes;
        let op = *op;
        if op.left == 0 {
            f.current = None;
        }
        Some(op)
    }

    /// Data of a read have come, the first of them at a moment of their own.
    fn received(&mut self, id: u32, bytes: u64, first: u64, now: u64) {
        let read = &mut self.reads.all[id as usize];
        read.left -= bytes;
        let (r, begun) = (*read, std::mem::replace(&mut read.begun, true));
        let tally = &mut self.flows[r.flow as usize].tally;
        tally.bytes += bytes;
        if !begun {
            tally.firsts += 1;
            tally.first_latency += (first - r.born) as u128;
        }
        if r.left == 0 {
            self.reads.remove(id);
            self.finished(r.flow as usize, r.born, r.token, now);
        }
    }

    fn finished(&mut self, flow: usize, born: u64, token: u32, now: u64) {
        let f = &mut self.flows[flow];
        f.tally.finish(born, now);
        f.fingerprint = tally::fingerprint(f.fingerprint, born, now);
        if matches!(f.source, Source::ExternallyDriven(_)) {
            self.done.push((flow as u32, token, now));
            return;
        }
        self.latencies[f.group as usize].record((now - born) / 1000);
        if let Some(think) = f.think {
            source::again(&mut f.again, now.saturating_add(think));
        }
    }
}

/// All shared buses of a plan.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Fabric {
    net: Net,
    buses: Vec<Bus>,
    /// The first slot of the agenda that is a bus's; there is one each.
    base: u32,
    /// Payload that each bus had carried when the window opened, bytes; none before.
    at_window: Vec<u64>,
}

impl World for Fabric {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        let next = self.buses[(slot - self.base) as usize].act(now, &mut self.net, (slot, agenda));
        agenda.set(slot, next);
    }
}

impl Fabric {
    /// Wires the buses of a plan; their slots follow those that are there. Gives their number; all begin at time 0.
    pub(in crate::sim) fn build(plan: &Buses, seed: u64, base: u32) -> (Fabric, usize) {
        let groups = plan.groups();
        let tables = groups.iter().zip(0u32..).flat_map(|(members, table)| members.iter().map(move |_| table));
        let tables = tables.chain(std::iter::repeat(u32::MAX));
        let flows = plan.flows.iter().zip(tables).map(|(f, group)| {
            let size = f.size.typical.0;
            let both = if f.reads() && f.writes() { 2 } else { 1 };
            let (source, think) = match f.program {
                Program::Saturating => (Source::Saturating { from: 0 }, None),
                Program::Open { rate, poisson } => {
                    let random = poisson.then(|| random(seed, &f.name));
                    (Source::Open(Arrivals::new(Pace::new(rate.scaled(both, 1)), size, random)), None)
                }
                Program::Closed { outstanding, think, .. } => {
                    (Source::Closed { first: outstanding, from: 0 }, Some(think.fs()))
                }
                Program::ExternallyDriven => (Source::ExternallyDriven(VecDeque::new()), None),
            };
            FlowState {
                tally: Tally::default(),
                fingerprint: group as u64 + 1,
                group,
                bus: plan.devices[f.device as usize].bus,
                source,
                size,
                reads: f.reads(),
                writes: f.writes(),
                was_read: false,
                current: None,
                think,
                again: VecDeque::new(),
            }
        });
        let net = Net {
            flows: flows.collect(),
            reads: Slab::new(),
            latencies: groups.iter().map(|_| tally::Cells::default()).collect(),
            done: Vec::new(),
        };
        let buses: Vec<Bus> = (0..plan.buses.len()).map(|b| Bus::new(plan, b, Corner::Typical)).collect();
        let slots = buses.len();
        (Fabric { net, buses, base, at_window: Vec::new() }, slots)
    }

    /// Another side asks for DMA; [`Fabric::done`] tells when it is over.
    pub(in crate::sim) fn feed(&mut self, flow: u32, transfer: Transfer, agenda: &mut Agenda) {
        let f = &mut self.net.flows[flow as usize];
        let bus = f.bus;
        if let Source::ExternallyDriven(transfers) = &mut f.source {
            transfers.push_back(transfer);
            let ticks = self.buses[bus as usize].ticks;
            agenda.by(self.base + bus, ticks.time(ticks.clock(transfer.born)));
        }
    }

    /// Whether any transfer is done that nobody has been told of.
    #[inline]
    pub(in crate::sim) fn has_done(&self) -> bool {
        !self.net.done.is_empty()
    }

    /// Transfers that are done and nobody has been told of: flow, token, moment. To be taken out.
    pub(in crate::sim) fn done(&mut self) -> &mut Vec<(u32, u32, u64)> {
        &mut self.net.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::library::Library;
    use crate::plan::pci::BusFlow;
    use crate::scenario::{Included, tree::Author};

    const TEXT: &str = "[parts.bridge]\nis = \"host-bridge\"\nread_latency = \"60 clocks\"\ndecode = \"fast\"\n\
        [parts.card]\nis = \"pci-device\"\nread_byte_count = \"4 KiB\"\nturnaround = \"1 clock\"\ndecode = \"fast\"\n\
        [links.slot]\nbetween = [\"bridge\", \"card\"]\npci = \"pci-x 133 64-bit\"\n\
        [flows.reads]\nfrom = \"card\"\nto = \"bridge.memory\"\ndo = \"read\"\nsize = \"4 KiB\"\n\
        [flows.writes]\nfrom = \"card\"\nto = \"bridge.memory\"\ndo = \"write\"\nsize = \"4 KiB\"\n";

    #[test]
    fn what_another_side_asks_for_is_done_and_told() {
        let mut d = Diagnostics::default();
        let included = Included { name: "t.toml".into(), text: TEXT.into(), author: Author::User };
        let plan = crate::plan(&mut d, included, &[], &Library).expect("a plan");
        let mut buses = (*plan.buses).clone();
        buses.flows.iter_mut().for_each(|f: &mut BusFlow| f.program = Program::ExternallyDriven);
        assert!(buses.groups().is_empty(), "they are in no table");
        let (mut fabric, slots) = Fabric::build(&buses, 1, 0);
        let mut agenda = Agenda::new(slots);
        agenda.set(0, 0);
        // Two reads at clock 2, one behind the other; a write just before clock 600.
        let clock = 7_500_000;
        fabric.feed(0, Transfer { bytes: 4096, token: 7, born: 2 * clock, control: false }, &mut agenda);
        fabric.feed(0, Transfer { bytes: 1000, token: 8, born: 2 * clock, control: false }, &mut agenda);
        fabric.feed(1, Transfer { bytes: 64, token: 9, born: 600 * clock - 1, control: false }, &mut agenda);
        // Arbitration, request, delay, arbitration, three clocks and the data.
        let first = 2 + 4 + 5 + 60 + 4 + 3 + 512;
        agenda.run(&mut fabric, (first + 2) * clock, 1 << 20);
        assert_eq!(std::mem::take(fabric.done()), [(0, 7, first * clock)]);
        // The second is asked for then; the write goes while the bridge works on it.
        agenda.run(&mut fabric, 1 << 40, 1 << 20);
        let done = std::mem::take(fabric.done());
        let (write, second) = (600 + 4 + 3 + 8, first + 4 + 5 + 60 + 4 + 3 + 125);
        assert_eq!(done, [(1, 9, write * clock), (0, 8, second * clock)]);
        assert_eq!(fabric.net.flows.iter().map(|f| f.tally.bytes).collect::<Vec<_>>(), [5096, 64]);
        assert!(fabric.done().is_empty());
        // A silent bus hears of the next.
        fabric.feed(1, Transfer { bytes: 8, token: 1, born: 1 << 40, control: false }, &mut agenda);
        agenda.run(&mut fabric, 1 << 41, 1 << 20);
        assert_eq!(fabric.done().len(), 1);
    }
}
