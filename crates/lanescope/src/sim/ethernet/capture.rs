//! What crosses a link, taken down for a capture file.

use crate::protocol::ethernet::{FCS, HEADER, PREAMBLE};
use crate::protocol::roce as packet;
use crate::result::{Crossed, Crossing};
use crate::sim::ethernet::{Fabric, Kind, NONE, Net};
use std::collections::HashMap;

/// What a capture takes down.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    link: u32,
    crossed: Vec<Crossed>,
    /// Frames of each stream so far, and of channel adapters.
    numbers: Vec<u64>,
    /// The same of packets of RoCE, by flow and ends.
    packets: HashMap<(u32, u32, u32), u32>,
}

impl Net {
    #[cold]
    pub(super) fn take_down(&mut self, on: u32, id: u32, now: u64) {
        let w = &self.wires[on as usize];
        let numbered = self.numbers(&self.frames[id]);
        let Some(c) = self.capture.as_mut().filter(|c| c.link == on / 2) else { return };
        let f = &self.frames[id];
        // The priority that a class stands for.
        let mut quanta = [None; 8];
        let what = match f.kind {
            Kind::Data => {
                // Frames of channel adapters are those of one more flow.
                let (flow, from, data) = match self.network.streams.get(f.stream as usize) {
                    Some(stream) => (f.stream, stream.source.0, f.data as u32),
                    None => {
                        let from = self.pairs.get(f.pair() as usize).map_or(f.more, |p| p.from);
                        (self.streams.len() as u32, from, f.bytes as u32 - (HEADER + FCS) as u32)
                    }
                };
                let number = &mut c.numbers[flow as usize];
                *number += 1;
                let number = *number - 1;
                if f.opcode != packet::NONE {
                    let connection = if f.pair() == NONE { flow } else { f.pair() };
                    // Without numbers they are counted here, which comes to the same as long as none is lost.
                    let counted = c.packets.entry((flow, from, f.target)).or_default();
                    *counted += 1;
                    let number = if numbered { f.more } else { *counted - 1 };
                    let priority = self.network.classes.get(f.class as usize).copied().unwrap_or(0);
                    let (payload, marked) = (f.data as u32, f.marked);
                    let said =
                        packet::Packet { opcode: f.opcode, payload, connection, number, syndrome: 0, marked, priority };
                    c.crossed.push(Crossed {
                        at: now + PREAMBLE * w.byte,
                        down: on & 1 == 0,
                        what: Crossing::Roce { from, to: f.target, packet: said },
                    });
                    return;
                }
                Crossing::Data { from, to: f.target, data, flow, number, marked: f.marked }
            }
            Kind::Pause => Crossing::Pause { from: w.from, quanta: f.born as u16 },
            Kind::Pfc => {
                let priority = self.network.classes.get(f.class as usize).copied().unwrap_or(0);
                quanta[priority as usize] = Some(f.born as u16);
                Crossing::Pfc { from: w.from, quanta }
            }
            Kind::Ack | Kind::Nak | Kind::Reply | Kind::Cnp => {
                let (opcode, syndrome) = match f.kind {
                    Kind::Cnp => (packet::CNP, 0),
                    Kind::Nak => (packet::ACKNOWLEDGE, packet::NAK_SEQUENCE),
                    _ => (packet::ACKNOWLEDGE, packet::ACK),
                };
                // A positive one names the last that has come.
                let number = (f.born as u32).saturating_sub(u32::from(f.kind != Kind::Nak));
                let connection = if f.kind == Kind::Reply { f.left as u32 } else { f.lane };
                let said =
                    packet::Packet { opcode, payload: 0, connection, number, syndrome, marked: false, priority: 7 };
                Crossing::Roce { from: f.account, to: f.target, packet: said }
            }
            kind => {
                let to = (!kind.is_local()).then_some(f.target);
                let value = if kind.is_local() { f.target as u64 } else { f.born };
                Crossing::Notice { from: w.from, to, word: kind as u8, value }
            }
        };
        c.crossed.push(Crossed { at: now + PREAMBLE * w.byte, down: on & 1 == 0, what });
    }
}

impl Fabric {
    /// Takes down what crosses a link from now on.
    pub(in crate::sim) fn capture(&mut self, link: u32) {
        let numbers = vec![0; self.net.streams.len() + 1];
        self.net.capture = Some(Capture { link, crossed: Vec::new(), numbers, packets: HashMap::new() });
    }

    /// What was taken down since the last time, in order of time.
    pub(in crate::sim) fn crossed(&mut self) -> Vec<Crossed> {
        let mut all = self.net.capture.as_mut().map(|c| std::mem::take(&mut c.crossed)).unwrap_or_default();
        all.sort_by_key(|c| (c.at, !c.down));
        all
    }
}
