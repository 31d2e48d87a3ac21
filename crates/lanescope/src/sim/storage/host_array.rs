//! An array that a host runs over NVMe drives: each of its commands is one of a drive's, in the worker's queue pair
//! there, and crosses the host's bus by itself.
//!
//! A read or write is cut by [`storage::Array::spread`]; of two mirrors that one reads which has read less (`mirrors`).
//! Of a stripe of RAID 5 that is not written whole the old data and parity come to host memory first; then the worker's
//! processor makes the parity, and the new data and it are written.

use crate::plan::storage::{self, Piece, Spread, Storage};
use crate::sim::storage::mirrors::Mirrors;
use crate::sim::storage::{Event, Fabric, Owner};
use crate::units::Pace;
use std::collections::HashMap;

/// An array, and what it takes of a worker's processor.
#[derive(Clone, Debug)]
pub(super) struct HostArray {
    planned: storage::Array,
    /// For each command beyond an I/O's first, fs; and for the bytes that parity is made of.
    command: u64,
    parity: Pace,
    mirrors: Mirrors,
    /// What becomes of I/Os whose last commands have not gone.
    spreads: HashMap<u32, Spread>,
}

impl HostArray {
    pub(super) fn of(array: &storage::Array) -> Option<HostArray> {
        let host = array.host()?;
        let (command, parity) = (host.command.typical.fs(), Pace::new(host.parity.typical));
        Some(HostArray {
            planned: array.clone(),
            command,
            parity,
            mirrors: Mirrors::default(),
            spreads: HashMap::new(),
        })
    }

    /// What the worker's processor has to do for so many commands beyond the first, and for so much parity, fs.
    fn cost(&self, commands: usize, parity: u64) -> u64 {
        self.command.saturating_mul(commands as u64).saturating_add(if parity > 0 {
            self.parity.span(parity)
        } else {
            0
        })
    }
}

/// For each array of a plan.
pub(super) fn all(storage: &Storage) -> Vec<Option<HostArray>> {
    storage.arrays.iter().map(HostArray::of).collect()
}

impl Fabric {
    /// What becomes of an I/O of an array that its host runs, and what that adds to the time of a worker's processor to
    /// issue it.
    pub(super) fn spread(&self, array: u32, read: bool, offset: u64, size: u64) -> Option<(u64, Spread)> {
        let a = self.host_arrays[array as usize].as_ref()?;
        let s = a.planned.spread(read, offset, size);
        let cost = if s.before.is_empty() {
            a.cost(writes(a, read, &s.pieces) - 1, s.parity)
        } else {
            a.cost(s.before.len() - 1, 0)
        };
        Some((cost, s))
    }

    /// Keeps what becomes of an I/O until its last commands go.
    pub(super) fn keep(&mut self, array: u32, io: u32, spread: Spread) {
        if let Some(a) = self.host_arrays[array as usize].as_mut() {
            a.spreads.insert(io, spread);
        }
    }

    fn kept(&mut self, array: u32, io: u32) -> Option<Spread> {
        self.host_arrays[array as usize].as_mut()?.spreads.remove(&io)
    }

    /// An I/O has left its worker's processor: its commands go to the drives; of RAID 5, at first those that read what
    /// there was.
    pub(super) fn spread_out(&mut self, array: u32, io: u32, now: u64) {
        let Some(spread) = self.kept(array, io) else { return };
        if spread.before.is_empty() {
            self.pieces(array, io, &spread.pieces, now);
        } else {
            self.ios.all[io as usize].before = true;
            for piece in &spread.before {
                self.put(Owner::Beside(io), piece.disk, true, (piece.offset, piece.bytes), now);
            }
            self.keep(array, io, spread);
        }
    }

    fn pieces(&mut self, array: u32, io: u32, pieces: &[Piece], now: u64) {
        let read = self.ios.all[io as usize].read;
        for piece in pieces {
            let Some(a) = self.host_arrays[array as usize].as_mut() else { return };
            let mirrors = a.planned.mirrors();
            let other = mirrors && read && a.mirrors.second_reads(piece.disk / 2, piece.offset, piece.bytes);
            let owner = if piece.own { Owner::Io(io) } else { Owner::Beside(io) };
            let range = (piece.offset, piece.bytes);
            self.put(owner, piece.disk + usize::from(other), read, range, now);
            if mirrors && !read {
                self.put(Owner::Beside(io), piece.disk + 1, false, range, now);
            }
        }
    }

    /// All commands of an I/O of an array are done, or all that read what there was: then its worker's processor makes
    /// the parity.
    pub(super) fn spread_over(&mut self, array: u32, io: u32, now: u64) {
        if !std::mem::take(&mut self.ios.all[io as usize].before) {
            self.answered(io, now);
            return;
        }
        let Some(a) = self.host_arrays[array as usize].as_ref() else { return };
        let Some(spread) = a.spreads.get(&io) else { return };
        let (cost, flow) = (a.cost(writes(a, false, &spread.pieces), spread.parity), self.ios.all[io as usize].flow);
        let f = &mut self.flows[flow as usize];
        f.submitting += 1;
        let turn = self.awake(flow, now);
        let core = self.flows[flow as usize].core;
        let at = self.workers[core as usize].work(cost, turn);
        self.plan_at(at, Event::Parity(io));
    }

    /// The parity of an I/O is made: new data and it go to the drives.
    pub(super) fn parity_made(&mut self, io: u32, now: u64) {
        let flow = self.ios.all[io as usize].flow;
        let storage::Volume::Array(array) = self.volume(flow) else { return };
        let Some(spread) = self.kept(array, io) else { return };
        self.pieces(array, io, &spread.pieces, now);
        self.rings(flow, now);
    }
}

/// Commands that pieces become.
fn writes(a: &HostArray, read: bool, pieces: &[Piece]) -> usize {
    pieces.len() * if a.planned.mirrors() && !read { 2 } else { 1 }
}
