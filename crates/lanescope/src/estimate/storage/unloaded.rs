//! One I/O by itself: from the moment at which its worker turns to it until that is done with it, step by step, its
//! data frame by frame.
//!
//! Data go through stages in order (media, wire, cache memory, DMA), each of which takes one frame after the other: a
//! tandem of queues, whose last departure is known in closed form once the first frames have passed. Twice: at its
//! *least*, which no I/O can beat (heads are where they should be, data are read ahead, pages lie on different
//! channels, pieces of an array are cut so that they help most), for bounds; and *usual*, for shares.

use crate::estimate::pci;
use crate::estimate::pcie::latency::Unloaded;
use crate::estimate::storage::Kind;
use crate::estimate::storage::cut::Cut;
use crate::estimate::storage::disk::{fastest, last_of, later_mirror, mean_rate, media_rate, positioning, range, turn};
use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::flash;
use crate::estimate::storage::followed;
use crate::estimate::storage::reads;
use crate::estimate::storage::rotation::Row;
use crate::estimate::storage::shape::Shape;
use crate::estimate::storage::transact;
use crate::plan::storage::{
    Adapter, AdapterKind, Array, Device, IoFlow, Medium, Serial, Storage, Target, Unit, Volume,
};
use crate::plan::{Dma, Plan};
use crate::protocol::scsi;
use crate::scenario::keys::Disk;
use crate::scenario::quantity::Corner;

/// Data of one transfer between host memory and an array's cache.
const PIECE: u64 = 64 << 10;

/// What a stage does with a frame: for how long it takes no other, and when the frame is through.
type Stage = (f64, f64);

/// Frames that are followed one by one; behind them each stage goes on as fast as the slowest up to it.
const FOLLOWED: u64 = 8;

/// When the last of `full` equal frames and, where there is one, a shorter one behind them is through each stage. Each
/// stage: of a full frame, of the last. The second stage, the wire, takes so much longer for the first frame.
fn tandem(start: f64, opening: f64, stages: &[[Stage; 2]], full: u64, rest: bool) -> Vec<f64> {
    let mut free = vec![start; stages.len()];
    let (mut out, mut opening) = (vec![start; stages.len()], opening);
    let mut frame = |which: usize, free: &mut [f64]| {
        let mut at = start;
        for (i, ((stage, free), out)) in stages.iter().zip(free.iter_mut()).zip(&mut out).enumerate() {
            let (takes, through) = stage[which];
            let opens = if i == 1 { std::mem::take(&mut opening) } else { 0.0 };
            let begins = at.max(*free) + opens;
            *free = begins + takes;
            at = begins + through;
            *out = at;
        }
    };
    let near = full.min(FOLLOWED);
    (1..near).for_each(|_| frame(0, &mut free));
    let mut slowest = 0.0_f64;
    for (free, stage) in free.iter_mut().zip(stages) {
        slowest = slowest.max(stage[0].0);
        *free += (full - near) as f64 * slowest;
    }
    if full > 0 {
        frame(0, &mut free);
    }
    if rest {
        frame(1, &mut free);
    }
    out
}

/// What an I/O meets: its plan, corner and flow, the DMA of its adapter, and which of the two times is asked for.
pub(in crate::estimate) struct One<'a> {
    pub(in crate::estimate) plan: &'a Plan,
    pub(in crate::estimate) corner: Corner,
    pub(in crate::estimate) flow: &'a IoFlow,
    /// Seconds of a byte of DMA on the host's PCIe: of reads, of writes.
    pub(in crate::estimate) paces: [f64; 2],
    /// The same of every flow of PCIe.
    pub(in crate::estimate) of_flows: &'a [f64],
    pub(in crate::estimate) ends: Ends,
}

/// Where data of a target come from or go to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    /// Host memory, by DMA.
    Host,
    /// The cache of the adapter, and from there host memory.
    Through,
    /// The cache of the adapter.
    Cache,
}

impl One<'_> {
    fn storage(&self) -> &Storage {
        &self.plan.storage
    }

    pub(super) fn least(&self) -> bool {
        self.ends == Ends::Least
    }

    /// The time of a command that finds its place when it comes, or finds it anywhere, seconds.
    pub(super) fn in_time(&self, k: Kind) -> f64 {
        let storage = self.storage();
        let own = match (storage.adapter(self.flow), storage.pair(self.flow)) {
            (Some(own), _) => own,
            (None, Some(pair)) => return transact::time(self.plan, self.corner, self.flow, pair, k),
            (None, None) => return self.nvme(k),
        };
        if own.host_adapter().is_none() {
            return self.nvme(k);
        }
        self.around(own)
            + match self.flow.volume {
                Volume::Target(t) => self.target(own, t, k, k.bytes, Other::Host),
                Volume::Array(a) => self.array(own, &storage.arrays[a as usize], k),
                Volume::Station(_) => 0.0,
            }
    }

    /// What a command takes at its worker and its adapter, and on the way between them, seconds.
    pub(super) fn around(&self, own: &Adapter) -> f64 {
        let c = self.corner;
        let host = self.flow.submit.at(c).seconds() + self.flow.complete.at(c).seconds();
        let AdapterKind::Host(keys) = &own.kind else { return host };
        let status = self.dma(own, false, keys.status_bytes.at(c).0).1;
        let before = self.dma(own, true, keys.command_bytes.at(c).0).1 + keys.command_time.at(c).seconds();
        host + before + status
    }

    /// How long a write's data take into its adapter's cache, seconds.
    pub(super) fn to_cache(&self, own: &Adapter, k: Kind) -> f64 {
        let bandwidth = own.host_adapter().and_then(|k| k.memory_bandwidth.as_ref());
        let memory = |n: f64| bandwidth.map_or(0.0, |r| n / r.at(self.corner).bytes());
        let n = (k.bytes.round() as u64).max(1);
        let (next, all) = self.dma(own, true, n.min(PIECE));
        let rest = (n - n.min(PIECE)) as f64 * next / n.min(PIECE) as f64;
        let fetched = all + rest;
        (fetched + memory((n - 1) as f64 % PIECE as f64 + 1.0)).max(all + memory(k.bytes))
    }

    /// The time of a command by itself, seconds: of a row of writes to disks, of one at a time.
    pub(in crate::estimate) fn time(&self, k: Kind) -> f64 {
        if self.known_alone(k).is_none()
            && let Some(alone) = self.through(k, (1, 1.0, 1.0), false)
        {
            return alone.time;
        }
        let (storage, time) = (self.storage(), self.in_time(k));
        let own = storage.adapter(self.flow).filter(|own| own.host_adapter().is_some());
        let Some(own) = own.filter(|_| k.random == 0.0 && !self.least()) else { return time };
        let outstanding = f64::from(self.flow.outstanding.at(self.corner).get());
        if let Some(row) = Row::of(storage, self.corner, self.flow, k) {
            return match outstanding == 1.0 {
                true => row.spacing(storage, row.ways(storage, time, 0.0), 0.0)[0],
                false => time,
            };
        }
        if k.read {
            return time;
        }
        match self.flow.volume {
            Volume::Target(t) if outstanding == 1.0 => self.come_round(t, k.bytes, time),
            Volume::Array(a) if !own.writes_back() => {
                let a = &storage.arrays[a as usize];
                // The next strip of a disk is a stripe away: a write there is not outstanding yet when the one before
                // is done.
                let away = (a.data_disks() - 1) as f64 * a.keys.strip.typical.f64();
                let waits = outstanding == 1.0 || outstanding * k.bytes <= away;
                let on_one = k.bytes / Cut::of(storage, a, self.flow, k).disks;
                a.disks.first().filter(|_| waits).map_or(time, |first| self.come_round(*first, on_one, time))
            }
            _ => time,
        }
    }

    /// A command of a disk by itself, without its heads, workers and the adapter's processor, seconds: from when the
    /// media are through with its last byte, and from when the disk turns to it with all of its data at hand, as if its
    /// way there came last.
    pub(super) fn around_heads(&self, own: &Adapter, d: &Disk, k: Kind) -> [f64; 2] {
        let (c, at) = (self.corner, range(self.storage(), self.flow));
        let processor = own.host_adapter().map_or(0.0, |keys| keys.command_time.at(c).seconds());
        let host = self.flow.submit.at(c).seconds() + self.flow.complete.at(c).seconds();
        let others = host + processor + d.command_time.at(c).seconds();
        let anywhere = Kind { random: 1.0, anywhere: 1.0, ..k };
        // What a write cache takes in waits for no media.
        let cache = if k.read || !d.write_cache.typical { 0.0 } else { d.cache.at(c).f64() };
        let media = match cache > 0.0 && k.bytes <= cache {
            true => 0.0,
            false => self.positions(d, anywhere, k.bytes, 1.0) + (k.bytes - cache) / mean_rate(d, c, at, 1.0),
        };
        let at_hand = Kind { random: 0.0, anywhere: 0.0, step: 1, ..k };
        [self.in_time(anywhere) - others - media, self.in_time(at_hand) - others].map(|time| time.max(0.0))
    }

    /// The time of a command at its target: for so long it is one of those that the adapter may have there.
    pub(in crate::estimate) fn at_target(&self, own: &Adapter, target: u32, k: Kind) -> f64 {
        self.target(own, target, k, k.bytes, Other::Host)
    }

    /// The same of so many bytes of an array's command.
    pub(in crate::estimate) fn piece_at_target(&self, own: &Adapter, target: u32, k: Kind, bytes: f64) -> f64 {
        self.target(own, target, k, bytes, Other::Cache)
    }

    /// A writer that waits for each of its writes finds its place gone by: the disk has to come round.
    fn come_round(&self, target: u32, bytes: f64, time: f64) -> f64 {
        match &self.storage().targets[target as usize].device {
            Device::Disk(d) if !d.write_cache.typical => {
                let media = bytes / media_rate(d, self.corner, range(self.storage(), self.flow).0);
                let turn = turn(d, self.corner);
                media + ((time - media) / turn).ceil() * turn
            }
            _ => time,
        }
    }

    /// Seconds from one of a row of I/Os to the next, where one may come too late for its place, expected and at most;
    /// each comes at least so long behind the one before.
    pub(in crate::estimate) fn in_a_row(&self, k: Kind, apart: f64) -> Option<[f64; 2]> {
        let storage = self.storage();
        let row = Row::of(storage, self.corner, self.flow, k)?;
        let own = storage.adapter(self.flow)?;
        let at_disk = match self.flow.volume {
            Volume::Array(a) => {
                let a = &storage.arrays[a as usize];
                let piece = k.bytes / Cut::of(storage, a, self.flow, k).disks;
                self.target(own, *a.disks.first()?, k, piece, Other::Cache)
            }
            Volume::Target(t) => self.at_target(own, t, k),
            Volume::Station(_) => return None,
        };
        Some(row.spacing(storage, row.ways(storage, self.in_time(k), at_disk), apart))
    }

    /// What an empty system does with packets of DMA.
    pub(super) fn unloaded(&self) -> Unloaded<'_> {
        let truly = Unloaded::new(self.plan, self.corner);
        if self.least() { truly.least() } else { truly }
    }

    /// A transfer of DMA: how long the next one waits for it, and how long it takes.
    fn dma(&self, own: &Adapter, reads: bool, bytes: u64) -> Stage {
        if bytes == 0 {
            return (0.0, 0.0);
        }
        match own.dma {
            Dma::Pcie { read, write } => {
                let (pace, alone) = if reads {
                    let flow = &self.plan.flows[read.0 as usize];
                    let request = self.plan.request_size(self.corner, flow);
                    (self.paces[0], self.unloaded().read(flow, bytes, request.min(bytes)).last)
                } else {
                    (self.paces[1], self.unloaded().write(&self.plan.flows[write.0 as usize], bytes))
                };
                (pace * bytes as f64, alone * 1e-9)
            }
            Dma::Bus { read, write } => {
                let t = pci::transfer(&self.plan.buses, if reads { read } else { write }, self.corner, bytes);
                (if self.least() { t.bus } else { t.next }, t.alone)
            }
        }
    }

    /// SKP ordered sets in the way of a read by DMA of so many bytes: how often its data (their headers left out) meet
    /// one, and by how many seconds that makes it longer. Those few reads are told apart only where it matters what
    /// they come too late for.
    fn ordered_sets(&self, own: &Adapter, bytes: u64) -> (f64, f64) {
        let Dma::Pcie { read, .. } = own.dma else { return (0.0, 0.0) };
        let (mut often, mut longer) = (0.0_f64, 0.0);
        for hop in &self.plan.flows[read.0 as usize].back {
            let link = self.plan.link(hop.link);
            let Some((every, size)) = link.ordered_sets(self.corner) else { continue };
            often += bytes as f64 / every as f64;
            longer += size as f64 / link.speed.at(self.corner).coded().bytes();
        }
        (often.min(1.0), longer)
    }

    /// A command at a target, from the adapter's processor until its data are where they belong and its status has
    /// come.
    pub(super) fn target(&self, own: &Adapter, target: u32, k: Kind, bytes: f64, other: Other) -> f64 {
        let Target { device, transport, .. } = &self.storage().targets[target as usize];
        match &self.storage().transports[*transport as usize].medium {
            Medium::Inside => self.of_ports(target, Kind { bytes, ..k }, |last| match other {
                Other::Through => Some(self.onward(own, k, last, other).1),
                Other::Host | Other::Cache => None,
            }),
            Medium::Serial { keys, .. } => self.serial(own, device, &keys.at(self.corner), k, bytes, other),
            Medium::Scsi { keys, policy } => {
                let (scsi, most) = (keys.scsi.typical.0, keys.burst.at(self.corner).0.max(1));
                let held = |x: scsi::Held| x.total().seconds();
                let begin = held(scsi::command(scsi, policy));
                let Media { wait, hand, rate, taken, early } = self.media(device, k, bytes);
                let size = bytes.round() as u64;
                let way = if k.read { scsi::Direction::In } else { scsi::Direction::Out };
                let (full, rest) = ((size - 1) / most, (size - 1) % most + 1);
                let each = held(scsi::burst(scsi, policy, way, most, false));
                // The last burst, and the status behind it or with it.
                let apart = [held(scsi::burst(scsi, policy, way, rest, false)), held(scsi::status(scsi, policy))];
                let joined = [held(scsi::burst(scsi, policy, way, rest, true)), 0.0];
                if k.read {
                    let [last, status] = if policy.status_alone { apart } else { joined };
                    // Bursts go as their data come from the media.
                    let ready = |n: f64| (n - hand).max(0.0) / rate;
                    let there =
                        (ready(size as f64) + last).max(full as f64 * each + last + ready(rest.min(most) as f64));
                    let data = begin + wait + there;
                    let (next, through) = self.onward(own, k, rest, other);
                    let drained = begin + wait + each.min(last) + full as f64 * next + through;
                    return (data + status).max(data + through).max(drained);
                }
                // Each burst is fetched when the one before has gone.
                let fetch = |n: u64| if other == Other::Host { self.dma(own, true, n).1 } else { 0.0 };
                let begins = wait.max(fetch(most.min(size)))
                    + full as f64 * each
                    + if full > 0 { (full - 1) as f64 * fetch(most) + fetch(rest) } else { 0.0 };
                let taken = if early { 0.0 } else { taken };
                // Of a last burst that is held up until everything is taken in.
                let held_up = taken + joined[0];
                let done = |[last, status]: [f64; 2]| (begins + last).max(taken) + status;
                // The status goes with the last burst if the target has taken everything in by then.
                begin
                    + if policy.status_alone {
                        done(apart)
                    } else if begins >= taken {
                        done(joined)
                    } else if self.least() {
                        // A burst that is held up until then may end sooner than one whose status wins the bus anew.
                        done(apart).min(held_up)
                    } else {
                        let (often, longer) = match other {
                            Other::Host => self.ordered_sets(own, most.min(size)),
                            Other::Through | Other::Cache => (0.0, 0.0),
                        };
                        let late = if begins + longer >= taken { often } else { 0.0 };
                        done(apart) + late * (held_up - done(apart))
                    }
            }
        }
    }

    /// What follows the wire on the way to host memory, of so many bytes.
    fn onward(&self, own: &Adapter, k: Kind, bytes: u64, other: Other) -> Stage {
        debug_assert!(k.read);
        let memory = match own.host_adapter().and_then(|k| k.memory_bandwidth.as_ref()) {
            Some(rate) if other == Other::Through => 2.0 * bytes as f64 / rate.at(self.corner).bytes(),
            _ => 0.0,
        };
        let (next, through) = if other == Other::Cache { (0.0, 0.0) } else { self.dma(own, false, bytes) };
        (next.max(memory), through + memory)
    }

    /// The same of a serial link.
    fn serial(&self, own: &Adapter, device: &Device, link: &Serial, k: Kind, bytes: f64, other: Other) -> f64 {
        let slots = |n: u64| n as f64 / link.rate.bytes();
        let hop = link.flight.seconds();
        let unit = |u: Unit, opens: bool| slots(link.bytes(u) + if opens { link.opening() } else { 0 }) + hop;
        let size = (bytes.round() as u64).max(1);
        let (full, rest) = (size / link.frame.max(1), size % link.frame.max(1));
        let each = |f: &dyn Fn(u64) -> Stage| [f(link.frame.min(size)), if rest > 0 { f(rest) } else { (0.0, 0.0) }];
        let gap = slots(link.gap(0, 0));
        let wire = |n: u64| {
            let frame = slots(link.bytes(Unit::Data(n as u32)));
            (frame + gap, frame + hop)
        };
        let command = unit(Unit::Command, true);
        let Media { wait, hand, rate, taken, early } = self.media(device, k, bytes);
        let last_frame = if rest > 0 { rest } else { link.frame.min(size) };
        if k.read {
            let (begin, opening) = (command + wait, slots(link.opening()));
            let (sent, landed) = if let Device::Ssd(d) = device {
                // Pages come as they come; the drive's own arithmetic has the wire in it, or what is slower behind it,
                // for all frames but the first.
                let (next, through) = self.onward(own, k, last_frame, other);
                let wire_of = reads::wire(link, bytes);
                let kind = (Kind { bytes, ..k }, reads::Commands::ONE);
                let by = |pace: f64| {
                    let slower = reads::Wire { byte: wire_of.byte.max(pace), ..wire_of };
                    begin + followed::alone(d, self.corner, kind, slower, self.least()) + hop
                };
                (by(0.0), by(next / last_frame as f64) - (next - wire(last_frame).0).max(0.0) + through)
            } else {
                let media = |n: u64| {
                    let takes = if bytes > hand { n as f64 / rate * (bytes - hand) / bytes } else { 0.0 };
                    (takes, takes)
                };
                let onward = |n: u64| self.onward(own, k, n, other);
                let out = tandem(begin, opening, &[each(&media), each(&wire), each(&onward)], full, rest > 0);
                (out[1], out[2])
            };
            return landed.max(sent + gap + slots(link.bytes(Unit::Response)));
        }
        let ready = command + wait + unit(Unit::Ready, true);
        let fetch = |n: u64| if other == Other::Host { self.dma(own, true, n) } else { (0.0, 0.0) };
        let opening = slots(link.opening());
        // When so many bytes have come: frames are fetched while the connection opens and while others are sent.
        let sent = |bytes: u64| {
            let (full, rest) = (bytes / link.frame.max(1), bytes % link.frame.max(1));
            let each =
                |f: &dyn Fn(u64) -> Stage| [f(link.frame.min(bytes)), if rest > 0 { f(rest) } else { (0.0, 0.0) }];
            tandem(ready, opening, &[each(&fetch), each(&wire)], full, rest > 0)[1]
        };
        let done = match device {
            Device::Ssd(d) => {
                let begun = ready + fetch(link.frame.min(size)).1 + opening + hop;
                flash::written(d, self.corner, Kind { bytes, ..k }, begun, link.frame, &sent, self.least())
            }
            _ if early => sent(size),
            _ => sent(size).max(command + taken),
        };
        done + unit(Unit::Response, true)
    }

    /// What a target does with a command's data.
    fn media(&self, device: &Device, k: Kind, bytes: f64) -> Media {
        let c = self.corner;
        match device {
            Device::Ram(d) => {
                let rate = d.rate.as_ref().map_or(f64::INFINITY, |r| r.at(c).bytes());
                let wait = d.latency.at(c).seconds();
                Media { wait, hand: 0.0, rate, taken: wait + bytes / rate, early: d.rate.is_none() }
            }
            Device::Disk(d) => {
                let at = range(self.storage(), self.flow);
                let rate = if self.least() { fastest(d, c, at) } else { mean_rate(d, c, at, k.anywhere) };
                let moves = if self.least() { 0.0 } else { k.random * self.positions(d, k, bytes, rate) };
                // Who reads on finds what the disk has read ahead; a random read finds nothing.
                let gaps = matches!(self.flow.volume, Volume::Target(_)) && k.left_out() > 0.0;
                let ahead = self.least() || k.random < 1.0 && !gaps;
                let hand = if ahead { d.cache.at(c).f64() } else { 0.0 };
                let cache = d.cache.at(c).f64();
                let command = d.command_time.at(c).seconds();
                if !k.read && d.write_cache.typical {
                    // Of what is longer than the cache, the media have to take what does not fit.
                    let rest = moves + (bytes - cache).max(0.0) / rate;
                    return Media { wait: command, hand: 0.0, rate, taken: command + rest, early: bytes <= cache };
                }
                let wait = command + moves;
                Media { wait, hand, rate, taken: wait + bytes / rate, early: false }
            }
            Device::Ssd(d) => {
                let wait = d.command_time.at(c).seconds();
                Media { wait, hand: 0.0, rate: f64::INFINITY, taken: wait, early: true }
            }
        }
    }

    /// What a random command waits for the heads of a disk; of a read that an array cuts, those of the last of its
    /// disks, beyond what so many bytes take.
    fn positions(&self, d: &Disk, k: Kind, bytes: f64, rate: f64) -> f64 {
        let (c, at) = (self.corner, range(self.storage(), self.flow));
        let Volume::Array(a) = self.flow.volume else { return positioning(d, c, at, bytes, k.disks) };
        let a = &self.storage().arrays[a as usize];
        let cut = Cut::of(self.storage(), a, self.flow, k);
        // Where a write reads there is a parity beside; and of very many pieces all disks have as much.
        if !k.read || k.disks <= 1.0 || k.disks != cut.disks || cut.pieces > 4096.0 {
            return positioning(d, c, at, bytes, k.disks);
        }
        let swept = cut.swept(a, k);
        let mut cuts = Cut::ways(a, self.flow, k);
        cuts.iter_mut().flatten().for_each(|bytes| *bytes *= swept);
        // Of disks side by side those that read last what both were asked for, among those that either was; of mirrors
        // it is one or the other.
        let all = if a.mirrors() { a.data_disks() } else { a.disks.len() as u64 } as f64;
        let both = if k.disks >= all { 1.0 } else { (k.disks - 1.0) / (k.disks + 1.0) };
        let alike = if a.mirrors() { both / 2.0 } else { both };
        last_of(d, c, at, &cuts, (rate, alike)) - bytes / rate
    }

    /// An array's part: what lies between the adapter's processor and the status.
    fn array(&self, own: &Adapter, a: &Array, k: Kind) -> f64 {
        let (strip, size) = (a.keys.strip.typical.f64(), k.bytes);
        let cut = Cut::of(self.storage(), a, self.flow, k);
        // However an I/O is cut at the strips, one of its pieces is half of it or a whole strip. On a disk all that lie
        // there go by one after the other, and the last disk is waited for.
        let heads = a.has_heads(self.storage());
        let (piece, disks) = match self.least() {
            true => ((0.5 * size).min(strip).max(1.0), 1.0),
            // What a disk has read ahead is at hand, parities or not.
            false if heads && k.random == 0.0 => (size / cut.disks, cut.disks),
            false if heads => (size / cut.disks * cut.swept(a, k), cut.disks),
            // All pieces of a read that lie on a drive go by together.
            false if k.read => ((size / cut.disks).max(size.min(strip)), 1.0),
            false => (size.min(strip), 1.0),
        };
        let Some(&first) = a.disks.first() else { return 0.0 };
        // Each command is made by the adapter's processor, one after the other.
        let pieces = if self.least() { 1.0 } else { cut.pieces };
        let given = own.host_adapter().and_then(|k| k.drive_command_time.as_ref());
        let given = given.map_or(0.0, |q| q.at(self.corner).seconds()) * pieces;
        if k.read {
            let one = given + self.target(own, first, Kind { disks, ..k }, piece, Other::Through);
            // The other pieces come at the same time, through one memory and by one DMA.
            let whole = self.onward(own, k, size.round() as u64, Other::Through).0;
            return one.max(whole);
        }
        let cached = self.to_cache(own, k);
        if own.writes_back() {
            return cached;
        }
        // Through to the disks: old data first where a parity is made of them.
        let width = strip * a.data_disks() as f64;
        // Beside the data there is a parity, or a mirror whose disk stands at another angle.
        let written = if heads && a.has_parity() { disks + 1.0 } else { disks };
        let later = match &self.storage().targets[first as usize].device {
            Device::Disk(d) if a.mirrors() && !self.least() && k.random > 0.0 && !d.write_cache.typical => {
                k.random * later_mirror(d, self.corner, a.disks.len())
            }
            _ => 0.0,
        };
        let write = later + self.target(own, first, Kind { read: false, disks: written, ..k }, piece, Other::Cache);
        let torn = match self.least() {
            true => size < width,
            false => Shape::of(a, self.flow, k, (self.ends, 0)).commands[0] > 0.0,
        };
        if !a.has_parity() || !torn {
            return cached + given + write;
        }
        let old = given + self.target(own, first, Kind { read: true, disks: written, ..k }, piece, Other::Cache);
        // The last disk to have read comes to the same place again after a turn, and the others sooner.
        let write = match &self.storage().targets[first as usize].device {
            Device::Disk(d) if !self.least() && !d.write_cache.typical => turn(d, self.corner).max(given),
            _ => given + write,
        };
        cached + old + write
    }
}

/// What a target does with a command's data: how long until the first are there or may come, bytes that are at hand
/// then, and how fast the media move the others; when it has taken in all of a write, and whether that is as soon as
/// the data have come.
struct Media {
    wait: f64,
    hand: f64,
    rate: f64,
    taken: f64,
    early: bool,
}
