//! Stations of channel adapters, and of workers that exchange messages: packets go out through the buffers of adapter
//! and MAC, and those that come fill a receive buffer that pauses the neighbour.
//!
//! An adapter hands its packets over as frames-to-be; they wait here, outside of the arena, until there is room, and
//! the adapter hears when one has entered. What has come stays counted until the adapter says that its data are in host
//! memory.

use crate::plan::ethernet::NodeId;
use crate::plan::infiniband::Pausing;
use crate::protocol::ethernet::{FCS, HEADER, MOST_QUANTA, QUANTUM_BITS, frame, padding};
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::ethernet::client::{Adapter, Load, StationCommand, StationEvent};
use crate::sim::ethernet::station::{Lanes, Station};
use crate::sim::ethernet::{Fabric, Frame, Kind, NONE, Net};

impl Fabric {
    /// Stations may have something to tell their adapters.
    #[inline]
    pub(in crate::sim) fn has_events(&self) -> bool {
        !self.net.events.is_empty()
    }

    /// What they have.
    pub(in crate::sim) fn events(&mut self) -> &mut Vec<StationEvent> {
        &mut self.net.events
    }

    /// An adapter tells its station something.
    pub(in crate::sim) fn command(&mut self, station: NodeId, what: StationCommand, now: u64, agenda: &mut Agenda) {
        let number = self.net.network.routes.number(station);
        let net = &mut self.net;
        let s = &mut self.stations[number as usize];
        match what {
            StationCommand::Frame(load) => s.load(load, net),
            StationCommand::Holds(class, client) => s.holds_more(class, frame(client as u64), now, net),
            StationCommand::Frees(class, client) => s.holds_less(class, frame(client as u64), now, net),
            StationCommand::Fetches(fetches) => {
                if let Some(a) = &mut s.adapter {
                    a.fetches = fetches;
                }
            }
        }
        s.pull(now, net, agenda);
    }

    /// What ends a run: frames of adapters that were lost, and that nothing sends again.
    pub(in crate::sim) fn lost_frames(&self) -> Option<String> {
        let lost = self.net.lost;
        (lost > 0).then(|| {
            format!("switches have dropped {lost} frames of RoCE or of transactions, and nothing sends them again")
        })
    }
}

impl Station {
    /// It is a channel adapter's.
    pub(super) fn adapts(&mut self, pausing: Pausing, pfc: bool, classes: usize, (in_lanes, lossless): (bool, u8)) {
        let plain = Adapter::new(pausing, pfc, classes, self.inside.len());
        self.adapter = Some(Box::new(Adapter { in_lanes, lossless, ..plain }));
    }

    /// The buffers that frames of a class go through.
    fn buffers(&self, class: u8) -> usize {
        if self.kind == Lanes::Classes { class as usize } else { 0 }
    }

    /// A packet is to go out.
    fn load(&mut self, load: Load, net: &mut Net) {
        let which = self.buffers(load.class);
        let client = load.client as u64;
        let headers = client - load.payload as u64;
        debug_assert_eq!(HEADER + FCS + headers + padding(client) + load.payload as u64, frame(client));
        let made = Frame {
            data: load.payload as u16,
            class: load.class,
            headers: headers as u8,
            opcode: load.opcode,
            left: NONE as u64,
            more: self.node,
            ..Frame::new(Kind::Data, frame(client), load.to.0, load.way, load.packet)
        };
        if load.pair != NONE && self.adapter.as_ref().is_some_and(|a| a.in_lanes) {
            self.load_lane(&load, made, net);
        } else if load.ack {
            self.enter_first(which, made, net);
        } else if let Some(a) = &mut self.adapter {
            a.waiting[which].push_back(made);
        }
    }

    /// Takes in what there is room for. Whether something waits.
    pub(super) fn take_packets(&mut self, net: &mut Net) -> bool {
        let mut full = false;
        let Some(mut adapter) = self.adapter.take() else { return false };
        for (which, list) in adapter.waiting.iter_mut().enumerate() {
            while let Some(&made) = list.front() {
                if !self.has_room(which, made.bytes as u64) {
                    full = true;
                    break;
                }
                list.pop_front();
                adapter.first = false;
                net.events.push(StationEvent::Left(made.lane));
                self.put(which, made, net);
            }
        }
        self.adapter = Some(adapter);
        full
    }

    fn holds_more(&mut self, class: u8, bytes: u64, now: u64, net: &mut Net) {
        let Some(a) = &mut self.adapter else { return };
        let index = if a.kind == Kind::Pfc { class as usize } else { 0 };
        let account = &mut a.accounts[index];
        account.used += bytes;
        let lossless = a.lossless >> class & 1 == 1;
        // What has waited for a lost packet comes at once.
        debug_assert!(!lossless || a.in_lanes || account.used <= a.pausing.buffer, "the neighbour was told in time");
        if lossless && account.used > a.pausing.high && !account.stopped {
            account.stopped = true;
            self.say(index, true, now, net);
        }
    }

    fn holds_less(&mut self, class: u8, bytes: u64, now: u64, net: &mut Net) {
        let Some(a) = &mut self.adapter else { return };
        let index = if a.kind == Kind::Pfc { class as usize } else { 0 };
        let account = &mut a.accounts[index];
        account.used -= bytes;
        if account.stopped && account.used <= a.pausing.low {
            account.stopped = false;
            self.say(index, false, now, net);
        }
    }

    /// Tells the neighbour to stop or to go on.
    fn say(&mut self, account: usize, stop: bool, now: u64, net: &mut Net) {
        let Some(a) = &mut self.adapter else { return };
        let quanta = if stop { MOST_QUANTA } else { 0 };
        // Half of the time that the pause lasts: a longest frame may be before the next.
        a.accounts[account].again = now + MOST_QUANTA * QUANTUM_BITS / 8 * net.wires[self.out as usize].byte / 2;
        net.say(self.out, a.kind, account as u8, quanta, NONE);
    }

    /// Says again what must be; gives the moment of the next.
    pub(super) fn say_again(&mut self, now: u64, net: &mut Net) -> u64 {
        let Some(a) = &self.adapter else { return NEVER };
        if a.again() > now {
            return a.again();
        }
        for account in 0..a.accounts.len() {
            if self.adapter.as_ref().is_some_and(|a| a.accounts[account].stopped && a.accounts[account].again <= now) {
                self.say(account, true, now, net);
            }
        }
        self.adapter.as_ref().map_or(NEVER, |a| a.again())
    }
}
