//! The closed form of NVMe: what a command puts on PCIe beside its data, and one command by itself, step by step.
//!
//! The doorbell crosses the link, the controller reads the command, deals with it, reads its lists and lets the drive
//! work; of a read the data follow as they come, the entry and the interrupt right behind the last of them. Twice, as
//! every I/O: at its *least* and *usual*. Commands of one I/O go side by side, and their data one behind the other.
//!
//! Not in it: doorbells that are rung for several commands only where a worker has more to do, entries that wait for
//! others while fewer are outstanding than one interrupt stands for.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::flash;
use crate::estimate::storage::followed;
use crate::estimate::storage::reads::{Commands, Wire};
use crate::estimate::storage::unloaded::One;
use crate::estimate::storage::{Kind, kinds};
use crate::plan::storage::{Adapter, Array, Controller, Device, HostQueues, IoFlow, Storage, Volume};
use crate::plan::{Dma, FlowId};
use crate::protocol::nvme;
use crate::scenario::keys::Ssd;
use crate::scenario::quantity::Corner;

/// Data that a controller moves at once, at most.
const PIECE: u64 = 16 << 10;

/// A drive of a flow, with the worker's queues there.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Drive<'a> {
    pub(in crate::estimate) own: &'a Adapter,
    pub(in crate::estimate) controller: &'a Controller,
    pub(in crate::estimate) flash: &'a Ssd,
    pub(in crate::estimate) queues: &'a HostQueues,
}

/// The NVMe drives of a flow: its own, or those of its array, in order.
pub(in crate::estimate) fn drives<'a>(storage: &'a Storage, flow: &'a IoFlow) -> Vec<Drive<'a>> {
    let target = |i: usize| match flow.volume {
        Volume::Target(t) => Some(t),
        Volume::Array(a) => storage.arrays[a as usize].disks.get(i).copied(),
        Volume::Station(_) => None,
    };
    let one = |(i, queues): (usize, &'a HostQueues)| {
        let own = &storage.adapters[queues.adapter as usize];
        let Device::Ssd(flash) = &storage.targets[target(i)? as usize].device else { return None };
        Some(Drive { own, controller: own.controller()?, flash, queues })
    };
    flow.queues_at_drives().enumerate().filter_map(one).collect()
}

/// The NVMe drives of an array that a RAID controller runs, with its queues there; none of other arrays.
pub(in crate::estimate) fn behind<'a>(storage: &'a Storage, a: &'a Array) -> Vec<Drive<'a>> {
    let one = |(queues, disk): (&'a HostQueues, &u32)| {
        let own = &storage.adapters[queues.adapter as usize];
        let Device::Ssd(flash) = &storage.targets[*disk as usize].device else { return None };
        Some(Drive { own, controller: own.controller()?, flash, queues })
    };
    a.queues.iter().zip(&a.disks).filter_map(one).collect()
}

/// Commands that an I/O of a kind becomes: a trim names its range, however long that is, others move their data.
pub(in crate::estimate) fn commands(controller: &Controller, corner: Corner, k: Kind) -> f64 {
    if k.trim {
        return 1.0;
    }
    (k.bytes / controller.keys.max_transfer.at(corner).f64().max(1.0)).ceil().max(1.0)
}

/// Seconds of the controller for a command that deallocates so many bytes.
pub(in crate::estimate) fn trim(controller: &Controller, corner: Corner, bytes: f64) -> f64 {
    let keys = &controller.keys;
    keys.command_time.at(corner).seconds()
        + keys.trim_time.as_ref().map_or(0.0, |q| q.at(corner).seconds())
        + keys.trim_rate.as_ref().map_or(0.0, |q| bytes / q.at(corner).bytes())
}

/// Commands that share a doorbell.
fn rung_together(queues: &HostQueues, flow: &IoFlow, corner: Corner) -> f64 {
    f64::from(queues.batch.at(corner).get().min(flow.outstanding.at(corner).get()))
}

/// Bytes that the DMA beside the data moves for an I/O of a kind, by flow of PCIe.
pub(in crate::estimate) fn around(drive: &Drive, flow: &IoFlow, corner: Corner, k: Kind) -> Vec<(FlowId, f64)> {
    let Drive { controller, queues, .. } = drive;
    let n = commands(controller, corner, k);
    let most = controller.keys.max_transfer.at(corner).f64();
    let of = |bytes: f64| controller.lists(corner, bytes.round() as u64) as f64;
    let lists = match k.trim {
        true => nvme::RANGE as f64,
        false => (n - 1.0) * of(most) + of(k.bytes - (n - 1.0) * most),
    };
    let (together, _) = controller.coalescing(corner);
    let interrupts = if queues.polls() { 0.0 } else { n / f64::from(together) };
    // For the tail, and for the head.
    let bells = 2.0 * n / rung_together(queues, flow, corner);
    vec![
        (controller.commands, n * nvme::COMMAND as f64),
        (controller.lists, lists),
        (controller.entries, n * nvme::COMPLETION as f64),
        (controller.interrupts, interrupts * nvme::INTERRUPT as f64),
        (controller.doorbells, bells * controller.doorbell() as f64),
    ]
}

impl Drive<'_> {
    /// How it cuts a read, whose commands its controller deals with one after the other.
    pub(in crate::estimate) fn cut(&self, corner: Corner) -> Commands {
        let keys = &self.controller.keys;
        Commands { most: keys.max_transfer.at(corner).0.max(1), apart: keys.command_time.at(corner).seconds() }
    }

    /// Whether another has the same queues.
    pub(in crate::estimate) fn alike(&self, other: &Drive) -> bool {
        self.queues.count.typical == other.queues.count.typical && self.queues.polls() == other.queues.polls()
    }
}

impl One<'_> {
    pub(super) fn write_of(&self, flow: FlowId, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        self.unloaded().write(&self.plan.flows[flow.0 as usize], bytes) * 1e-9
    }

    pub(super) fn read_of(&self, flow: FlowId, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        let flow = &self.plan.flows[flow.0 as usize];
        let request = self.plan.request_size(self.corner, flow).min(bytes);
        self.unloaded().read(flow, bytes, request).last * 1e-9
    }

    /// Seconds that so many bytes of a flow keep the others behind them.
    pub(super) fn behind(&self, flow: FlowId, bytes: u64) -> f64 {
        self.of_flows[flow.0 as usize] * bytes as f64
    }

    /// A command at an NVMe drive behind a RAID controller: from its doorbell until its entry is in the controller's
    /// memory, and of a read until the last of its data, so many bytes, have gone on to the host's, where they do.
    pub(in crate::estimate) fn of_ports(&self, target: u32, k: Kind, onward: impl Fn(u64) -> Option<f64>) -> f64 {
        let Volume::Array(a) = self.flow.volume else { return 0.0 };
        let a = &self.plan.storage.arrays[a as usize];
        let drives = behind(&self.plan.storage, a);
        let at = a.disks.iter().position(|d| *d == target);
        let Some(drive) = at.and_then(|at| drives.get(at)) else { return 0.0 };
        let k = Kind { bytes: k.bytes.max(1.0), ..k };
        let done = self.of_queue(drive, k);
        // The last of the data that come at once: a page, or what is left of one.
        let page = drive.flash.page.at(self.corner).0;
        let last = match self.ends {
            Ends::Least => 1,
            Ends::Usual => (k.bytes.round() as u64).min(page).clamp(1, PIECE),
        };
        let landed = done - self.behind(drive.controller.entries, nvme::COMPLETION);
        onward(last).map_or(done, |onward| done.max(landed + onward))
    }

    /// Seconds of a byte of data on a drive's way: to host memory, and from there.
    pub(in crate::estimate) fn paces_of(&self, drive: &Drive) -> [f64; 2] {
        match drive.own.dma {
            Dma::Pcie { read, write } => [self.of_flows[read.0 as usize], self.of_flows[write.0 as usize]],
            Dma::Bus { .. } => [0.0; 2],
        }
    }

    /// From the doorbell until the worker hears of it: for so long it has an entry of its queue.
    pub(in crate::estimate) fn of_queue(&self, drive: &Drive, k: Kind) -> f64 {
        let Drive { own, controller, flash, queues } = *drive;
        let paces = self.paces_of(drive);
        let (c, n) = (self.corner, commands(controller, self.corner, k));
        let Dma::Pcie { read, write } = own.dma else { return 0.0 };
        let keys = &controller.keys;
        let each = k.bytes.min(keys.max_transfer.at(c).f64());
        let size = (each.round() as u64).max(1);
        let before = self.write_of(controller.doorbells, controller.doorbell())
            + self.read_of(controller.commands, nvme::COMMAND)
            + keys.queue_time.at(c).seconds();
        let dealt = keys.command_time.at(c).seconds() + keys.command_latency.at(c).seconds();
        let lists = self.read_of(controller.lists, controller.lists(c, size));
        let kind = Kind { bytes: each, ..k };
        let own_pace = if k.read { paces[1] } else { paces[0] };
        let done = if k.trim {
            // It deallocates once it has read the range, and writes its entry.
            let dealt = trim(controller, c, k.bytes) + keys.command_latency.at(c).seconds();
            self.read_of(controller.lists, nvme::RANGE) + dealt + self.write_of(controller.entries, nvme::COMPLETION)
        } else if k.read {
            let last = size.min(flash.page.at(c).0);
            let through = self.write_of(write, last) - last as f64 * own_pace;
            // All pages of its commands are on their way at once; at least, those of the last one.
            let cut = drive.cut(c);
            let all = if self.least() { (kind, cut) } else { (Kind { bytes: k.bytes, ..k }, cut) };
            let sent = followed::alone(flash, c, all, Wire::in_order(own_pace), self.least());
            let first = lists + all.0.bytes * own_pace;
            (dealt + sent).max(first) + through.max(0.0) + self.behind(controller.entries, nvme::COMPLETION)
        } else {
            let begun = dealt.max(lists);
            let come = |bytes: u64| begun + self.read_of(read, bytes);
            flash::written(flash, c, kind, begun, PIECE, &come, self.least())
                + self.write_of(controller.entries, nvme::COMPLETION)
        };
        let (together, time) = controller.coalescing(c);
        let waits = self.ends == Ends::Usual && self.flow.outstanding.at(c).get() < together;
        let told = match queues.polls() {
            true => 0.0,
            false => self.behind(controller.interrupts, nvme::INTERRUPT) + if waits { time.seconds() } else { 0.0 },
        };
        // What several commands bring comes one behind the other, however early each began: on the link and through the
        // drive.
        let pace = flash.rate.as_ref().map_or(own_pace, |r| own_pace.max(1.0 / r.at(c).bytes()));
        let rest = if k.trim { 0.0 } else { (k.bytes - each) * pace };
        let one = before + done + told;
        match self.ends {
            Ends::Least if k.trim => one,
            Ends::Least => one.max(k.bytes * pace),
            Ends::Usual if k.read => one,
            Ends::Usual => one + rest + (n - 1.0) * keys.command_time.at(c).seconds(),
        }
    }
}

/// I/Os of a kind outstanding at a flow's volume, how many workers have them there, and how many cores there were if
/// all had as many of them as the flow's own. Of others that keep to a rate, as many as come while one is dealt with
/// alone.
pub(in crate::estimate) fn outstanding(
    storage: &Storage,
    flow: &IoFlow,
    corner: Corner,
    (k, alone): (Kind, f64),
) -> (u32, u32, f64) {
    let alike = |f: &IoFlow| kinds(&f.lines).iter().any(|other| (other.read, other.trim) == (k.read, k.trim));
    let there = storage.flows.iter().filter(|f| f.volume == flow.volume);
    let (mut n, mut mine, mut workers) = (0.0, 0.0, Vec::new());
    for f in there {
        let all = f64::from(f.outstanding.at(corner).get());
        let own = match &f.rate {
            _ if f.name == flow.name => all,
            _ if !alike(f) => continue,
            Some(rate) => all.min(f64::from(rate.at(corner).get()) * alone),
            None => all,
        };
        n += own;
        if f.core == flow.core {
            mine += own;
        }
        workers.push(f.worker);
    }
    workers.dedup();
    (n.round().clamp(1.0, 1e9) as u32, workers.len() as u32, n / f64::max(mine, 1.0))
}
