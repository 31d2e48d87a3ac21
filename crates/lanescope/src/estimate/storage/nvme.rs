//! The closed form of NVMe: what a command puts on PCIe beside its data, and one command by itself, step by step.
//!
//! The doorbell crosses the link, the controller reads the command, deals with it, reads its lists and lets the drive
//! work; of a read the data follow as they come, the entry and the interrupt right behind the last of them. Twice, as
//! every I/O: at its *least* and *usual*. Commands of one I/O go side by side, and their data one behind the other.
//!
//! Not in it: doorbells that are rung for several commands only where a worker has more to do, entries that wait for
//! others while fewer are outstanding than one interrupt stands for.

use crate::estimate::pcie::latency;
use crate::estimate::storage::Kind;
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::flash;
use crate::estimate::storage::unloaded::One;
use crate::plan::storage::{Adapter, Controller, Device, HostQueues, IoFlow, Storage, Volume};
use crate::plan::{Dma, FlowId};
use crate::protocol::nvme;
use crate::scenario::keys::Ssd;
use crate::scenario::quantity::Corner;

/// Commands that an I/O of so many bytes becomes.
pub(in crate::estimate) fn commands(controller: &Controller, corner: Corner, bytes: f64) -> f64 {
    (bytes / controller.keys.max_transfer.at(corner).f64().max(1.0)).ceil().max(1.0)
}

/// Commands that share a doorbell.
fn rung_together(queues: &HostQueues, flow: &IoFlow, corner: Corner) -> f64 {
    f64::from(queues.batch.at(corner).get().min(flow.outstanding.at(corner).get()))
}

/// Bytes that the DMA beside the data moves for an I/O of a kind, by flow of PCIe.
pub(in crate::estimate) fn around(
    controller: &Controller,
    flow: &IoFlow,
    corner: Corner,
    k: Kind,
) -> Vec<(FlowId, f64)> {
    let Some(queues) = &flow.queues else { return Vec::new() };
    let n = commands(controller, corner, k.bytes);
    let most = controller.keys.max_transfer.at(corner).f64();
    let of = |bytes: f64| controller.lists(corner, bytes.round() as u64) as f64;
    let lists = (n - 1.0) * of(most) + of(k.bytes - (n - 1.0) * most);
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

impl One<'_> {
    fn write_of(&self, flow: FlowId, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        latency::write(self.plan, self.corner, &self.plan.flows[flow.0 as usize], bytes) * 1e-9
    }

    fn read_of(&self, flow: FlowId, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        let flow = &self.plan.flows[flow.0 as usize];
        let request = self.plan.request_size(self.corner, flow).min(bytes);
        latency::read(self.plan, self.corner, flow, bytes, request).last * 1e-9
    }

    /// Seconds that so many bytes of a flow keep the others behind them.
    fn behind(&self, flow: FlowId, bytes: u64) -> f64 {
        self.of_flows[flow.0 as usize] * bytes as f64
    }

    /// The drive behind a controller.
    fn flash(&self) -> Option<&Ssd> {
        let Volume::Target(t) = self.flow.volume else { return None };
        match &self.plan.storage.targets[t as usize].device {
            Device::Ssd(k) => Some(k),
            _ => None,
        }
    }

    /// An I/O of an NVMe drive, with its host, seconds.
    pub(in crate::estimate) fn nvme(&self, own: &Adapter, controller: &Controller, k: Kind) -> f64 {
        let (c, flow) = (self.corner, self.flow);
        let host = flow.submit.at(c).seconds() + flow.complete.at(c).seconds();
        // Who has others outstanding may be awake.
        let sleeps = self.ends == Ends::Usual || flow.outstanding.at(c).get() == 1;
        let wake = if sleeps { flow.wake.at(c).seconds() } else { 0.0 };
        host + wake + self.of_queue(own, controller, k)
    }

    /// From the doorbell until the worker hears of it: for so long it has an entry of its queue.
    pub(in crate::estimate) fn of_queue(&self, own: &Adapter, controller: &Controller, k: Kind) -> f64 {
        let (c, n) = (self.corner, commands(controller, self.corner, k.bytes));
        let (Some(flash), Some(queues)) = (self.flash(), &self.flow.queues) else { return 0.0 };
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
        let own_pace = if k.read { self.paces[1] } else { self.paces[0] };
        let done = if k.read {
            let last = size.min(flash.page.at(c).0);
            let through = self.write_of(write, last) - last as f64 * own_pace;
            let sent = flash::read(flash, c, own_pace, kind, self.ends == Ends::Least);
            let first = lists + each * own_pace;
            (dealt + sent).max(first) + through.max(0.0) + self.behind(controller.entries, nvme::COMPLETION)
        } else {
            let begun = dealt.max(lists);
            let page = flash.page.at(c).0.min(size);
            let come = |bytes: u64| begun + self.read_of(read, bytes);
            flash::written(flash, c, kind, begun, come(page), come(size))
                + self.write_of(controller.entries, nvme::COMPLETION)
        };
        let (together, time) = controller.coalescing(c);
        let waits = self.ends == Ends::Usual && self.flow.outstanding.at(c).get() < together;
        let told = match queues.polls() {
            true => 0.0,
            false => self.behind(controller.interrupts, nvme::INTERRUPT) + if waits { time.seconds() } else { 0.0 },
        };
        // What several commands bring comes one behind the other, however early each began.
        let rest = (k.bytes - each) * own_pace;
        let one = before + done + told;
        match self.ends {
            Ends::Least => one.max(k.bytes * own_pace),
            Ends::Usual => one + rest + (n - 1.0) * keys.command_time.at(c).seconds(),
        }
    }
}

/// I/Os outstanding at a target, and how many workers have them there.
pub(in crate::estimate) fn outstanding(storage: &Storage, volume: Volume, corner: Corner) -> (u32, u32) {
    let there = storage.flows.iter().filter(|f| f.volume == volume);
    let (mut n, mut workers) = (0_u32, Vec::new());
    for f in there {
        n = n.saturating_add(f.outstanding.at(corner).get());
        workers.push(f.worker);
    }
    workers.dedup();
    (n, workers.len() as u32)
}
