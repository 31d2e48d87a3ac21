//! The closed form of shared buses: the clocks of a bus are a resource that all its flows ask parts of, whichever way
//! their data go.
//!
//! A bound charges the fewest clocks: bursts as long as device and bridge allow, one retry of a delayed read. A share
//! also charges what others cause: bursts cut by the latency timer where somebody else waits, and the retries of a
//! device that has the bus to itself.

mod timetable;

use crate::estimate::core::bound::{bound, held_against, others, typically_bound};
use crate::estimate::core::fill::{Resource, Share, Use, shares};
use crate::plan::pci::{BusFlow, Buses, TransactionTiming};
use crate::plan::{Plan, Program};
use crate::protocol::pci::{Phases, Standard};
use crate::result::{Binding, Excess, FlowReport, Ledger, LinkReport, Medium, Note, Ranged, Total, Verdict};
use crate::scenario::keys::Do;
use crate::scenario::quantity::{Corner, Quantity, Shape};
use crate::units::{Rate, human_time};

/// The buses' side of a report.
pub(in crate::estimate) struct Answer {
    pub(in crate::estimate) flows: Vec<FlowReport>,
    pub(in crate::estimate) total: Option<Total>,
    pub(in crate::estimate) links: Vec<LinkReport>,
    pub(in crate::estimate) notes: Vec<Note>,
}

/// A float's noise.
const NOISE: f64 = 1e-9;

/// What has a capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    /// The clocks of a bus.
    Clocks(u32),
    /// A device's clocks: its transactions, and what it pauses between them.
    Device(u32),
    /// Split transactions of a device, or its one delayed read.
    Splits(u32),
    /// What a device can move: the key that says so.
    Rate(u32, &'static str),
    /// Operations of a closed load.
    Outstanding(u32),
}

/// Clocks of one operation on the bus, by what they are.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::estimate) struct Cost {
    data: f64,
    address: f64,
    waits: f64,
    requests: f64,
    retries: f64,
    turnarounds: f64,
    /// Transactions with data, and all.
    bursts: f64,
    transactions: f64,
    /// Clocks of the device itself, its pauses included.
    pub(in crate::estimate) device: f64,
    /// Clocks that its splits are held, added.
    held: f64,
    /// From the first address phase to the last data, alone.
    alone: f64,
}

impl Cost {
    fn bus(&self) -> f64 {
        self.data + self.address + self.waits + self.requests + self.retries + self.turnarounds
    }

    /// Transactions with data.
    pub(in crate::estimate) fn burst(&mut self, p: Phases, n: f64) {
        self.data += n * p.data as f64;
        self.address += n * p.overhead() as f64;
        self.waits += n * p.waits as f64;
        self.turnarounds += n * p.turnaround as f64;
        self.bursts += n;
        self.transactions += n;
    }

    /// Split requests.
    pub(in crate::estimate) fn asked(&mut self, p: Phases, n: f64) {
        self.requests += n * p.total() as f64;
        self.transactions += n;
    }

    /// Reads that are sent away.
    pub(in crate::estimate) fn in_vain(&mut self, p: Phases, n: f64) {
        self.retries += n * p.total() as f64;
        self.transactions += n;
    }

    fn with(mut self, o: Cost, both: impl Fn(f64, f64) -> f64) -> Cost {
        for (a, b) in [
            (&mut self.data, o.data),
            (&mut self.address, o.address),
            (&mut self.waits, o.waits),
            (&mut self.requests, o.requests),
            (&mut self.retries, o.retries),
            (&mut self.turnarounds, o.turnarounds),
            (&mut self.bursts, o.bursts),
            (&mut self.transactions, o.transactions),
            (&mut self.device, o.device),
            (&mut self.held, o.held),
            (&mut self.alone, o.alone),
        ] {
            *a = both(*a, b);
        }
        self
    }

    fn plus(self, o: Cost) -> Cost {
        self.with(o, |a, b| a + b)
    }

    /// What has come since another count.
    pub(in crate::estimate) fn minus(self, o: Cost) -> Cost {
        self.with(o, |a, b| a - b)
    }

    /// So many times as much.
    pub(in crate::estimate) fn times(self, n: f64) -> Cost {
        self.with(self, |a, _| a * n)
    }
}

/// Whole pieces of a size, and what is left.
fn pieces(size: u64, piece: u64) -> [(u64, f64); 2] {
    [(piece.min(size), (size / piece) as f64), (size % piece, if size.is_multiple_of(piece) { 0.0 } else { 1.0 })]
}

/// The clocks of a transaction without the idle one behind it.
fn busy(p: Phases) -> f64 {
    (p.total() - p.turnaround) as f64
}

/// One write. `cut`: others wait, so the latency timer ends its bursts.
fn write(m: &TransactionTiming, size: u64, cut: bool) -> Cost {
    let mut cost = Cost::default();
    let (most, sent_away) = m.write;
    let whole = most.min(size);
    let piece = if cut { m.speed.cut(m.write(whole), whole, m.timers[0]) } else { most };
    let n = size.div_ceil(piece) as f64;
    for (bytes, count) in pieces(size, piece).into_iter().filter(|p| p.1 > 0.0) {
        cost.burst(m.write(bytes), count);
        cost.device += busy(m.write(bytes)) * count;
    }
    let ended = if sent_away && piece == most { n - 1.0 } else { 0.0 };
    let end = m.speed.disconnect() as f64;
    cost.address += ended * end;
    cost.device += ended * (end + m.again() as f64) + (n - ended) * m.turnaround as f64;
    let last_pause = m.turnaround as f64;
    cost.alone = m.speed.arbitration() as f64 + cost.device - last_pause;
    cost
}

/// One read. `cut` as before; `least`: the fewest retries.
fn read(m: &TransactionTiming, size: u64, cut: bool, least: bool) -> Cost {
    let arbitration = m.speed.arbitration() as f64;
    let mut cost = Cost::default();
    let (most, sent_away) = m.read;
    if m.speed.is_x() {
        let request = m.request();
        let mut first_of_last = 0.0;
        let mut longest = 0.0f64;
        for (bytes, count) in pieces(size, most).into_iter().filter(|p| p.1 > 0.0) {
            let whole = m.completion.min(bytes);
            let piece = if cut { m.speed.cut(m.data(whole), whole, m.timers[1]) } else { whole };
            let mut data = 0.0;
            for (bytes, n) in pieces(bytes, piece).into_iter().filter(|p| p.1 > 0.0) {
                cost.burst(m.data(bytes), n * count);
                data += m.data(bytes).total() as f64 * n;
            }
            cost.asked(request, count);
            cost.device += count * (busy(request) + m.turnaround as f64);
            let trip = busy(request) + m.delay as f64 + arbitration + data - m.data(bytes).turnaround as f64;
            cost.held += count * (trip + arbitration.max(m.turnaround as f64));
            (first_of_last, longest) = (trip, longest.max(trip + arbitration.max(m.turnaround as f64)));
        }
        // The last request waits for its split, the last data for all data before.
        let n = size.div_ceil(most);
        let rounds = ((n - 1) / m.splits as u64) as f64;
        let data = cost.data + cost.address + cost.waits + cost.turnarounds;
        let streamed = busy(request) + m.delay as f64 + arbitration + data - 1.0;
        cost.alone = arbitration + (rounds * longest + first_of_last).max(streamed);
        return cost;
    }
    let retry = m.request();
    let pause = (m.speed.pause_after_retry() as f64) + arbitration;
    let period = busy(retry) + pause;
    // How often it asks in vain, and how long from the first time to the data.
    let again = if least { 0.0 } else { ((m.delay as f64 - pause).max(0.0) / period).ceil() };
    let wait = if least { (m.delay as f64).max(pause) } else { pause + again * period };
    let whole = most.min(size);
    let piece = if cut { m.speed.cut(m.data(whole), whole, m.timers[0]) } else { most };
    let n = size.div_ceil(piece) as f64;
    for (bytes, count) in pieces(size, piece).into_iter().filter(|p| p.1 > 0.0) {
        cost.burst(m.data(bytes), count);
        cost.device += count * busy(m.data(bytes));
    }
    let ended = if sent_away && piece == most { n - 1.0 } else { 0.0 };
    let end = m.speed.disconnect() as f64;
    cost.address += ended * end;
    let pauses = ended * (end + m.again() as f64) + (n - ended) * m.turnaround as f64;
    cost.device += pauses;
    cost.held = cost.device;
    if !m.waited {
        // What was cut has its data at hand.
        let asked = size.div_ceil(most) as f64;
        cost.in_vain(retry, asked * (1.0 + again));
        cost.device += asked * (1.0 + again) * retry.total() as f64;
        cost.held += asked * (busy(retry) + wait);
    }
    cost.alone = arbitration + cost.held - m.turnaround as f64;
    cost
}

/// Clocks that a transfer saves at most where other masters may cut its bursts, beside those that the device or the
/// bridge ends: a cut falls between whole data phases, and the bridge has not begun to end the burst. `overhead` is
/// what each burst takes beside its data, `ended` what the bridge's end of one adds.
///
/// Of `n` bursts `j` are of `most` bytes, the last of what is left, and all others of `whole`, the most that a cut
/// burst moves: `(n - 1 - j) whole + (j + 1) most >= size`. More bursts make for fewer that waste, in proportion; so
/// the fewest clocks are those of as few bursts as there can be, or of as many as it takes to waste nothing.
fn saved(m: &TransactionTiming, size: u64, most: u64, overhead: f64, ended: f64) -> f64 {
    let whole = (most - 1) / m.speed.boundary() * m.speed.boundary();
    if whole == 0 || size <= most {
        return 0.0;
    }
    let wasted = m.speed.data(most) as f64 - most as f64 / m.speed.per_clock() as f64 + ended;
    let (few, many) = (size.div_ceil(most), 1 + (size - most).div_ceil(whole));
    let of_most = (size - most).saturating_sub((few - 1) * whole).div_ceil(most - whole);
    let fewest = f64::min(few as f64 * overhead + of_most as f64 * wasted, many as f64 * overhead);
    // The last data phase may be in part empty, with cuts or without; of bursts in whole data phases, by as much.
    let last = |size: u64| m.speed.data(size) as f64 - size as f64 / m.speed.per_clock() as f64;
    let least = if most.is_multiple_of(m.speed.per_clock()) { last(size) } else { 0.0 };
    let uncut = few as f64 * overhead + (few - 1) as f64 * wasted + last(size - (few - 1) * most);
    (uncut - fewest - least).max(0.0)
}

/// The fewest clocks of one that others may cut; of its bus, of its device, and of what it holds.
fn cut_by_others(mut cost: Cost, m: &TransactionTiming, size: u64, read: bool) -> Cost {
    let (end, again) = (m.speed.disconnect() as f64, (m.again() - m.turnaround) as f64);
    if read && m.speed.is_x() {
        for (bytes, count) in pieces(size, m.read.0).into_iter().filter(|p| p.1 > 0.0) {
            let most = m.completion.min(bytes);
            let p = m.data(most);
            let fewer = saved(m, bytes, most, (p.total() - p.data) as f64, 0.0) * count;
            (cost.data, cost.held) = (cost.data - fewer, cost.held - fewer);
        }
        return cost;
    }
    let (most, sent_away) = if read { m.read } else { m.write };
    let p = if read { m.data(most) } else { m.write(most) };
    let [ended, pause] = if sent_away { [end, end + again] } else { [0.0; 2] };
    cost.data -= saved(m, size, most, (p.total() - p.data) as f64, ended);
    let fewer = saved(m, size, most, busy(p) - p.data as f64 + m.turnaround as f64, pause);
    (cost.device, cost.held) = (cost.device - fewer, cost.held - if read { fewer } else { 0.0 });
    cost
}

/// What a flow asks for, per operation; reads and writes of an alternating flow added.
#[derive(Clone)]
struct Asked {
    timing: TransactionTiming,
    size: f64,
    least: Cost,
    usual: Cost,
    /// From a read's request to its last data, and to its first, clocks.
    trip: Option<(f64, f64)>,
}

fn asked(buses: &Buses, flow: &BusFlow, corner: Corner) -> Asked {
    let m = buses.timing(flow.device, corner);
    let size = flow.size.typical.0;
    let bus = buses.devices[flow.device as usize].bus;
    // Others that may want the bus while it is used: other devices, adapters among them, and the bridge with data.
    let on_it = || buses.flows.iter().filter(|f| buses.devices[f.device as usize].bus == bus);
    let devices = on_it().any(|f| f.device != flow.device);
    // An adapter's own DMA is in what others see of it, not in what it sees itself: it reads and writes in turn.
    let other = |f: &&BusFlow| !f.is_externally_driven() || f.device != flow.device;
    let bridge = m.speed.is_x() && on_it().filter(other).any(|f| f.reads());
    let writes = on_it().filter(other).any(|f| f.writes());
    let costs = |share: bool| {
        let mut cost = Cost::default();
        // Completions of PCI-X are cut by requests, too, also by those of the same device.
        let may_cut = |read: bool| !share && (devices || bridge || read && m.speed.is_x());
        let fewest = |cost: Cost, read: bool| if may_cut(read) { cut_by_others(cost, &m, size, read) } else { cost };
        if flow.writes() {
            cost = cost.plus(fewest(write(&m, size, share && (devices || bridge)), false));
        }
        if flow.reads() {
            // Requests of PCI-X are short and wait for one completion: only writes cut them as a rule.
            let cut = share && if m.speed.is_x() { writes } else { devices };
            cost = cost.plus(fewest(read(&m, size, cut, !share || devices), true));
        }
        cost
    };
    let trip = flow.reads().then(|| {
        let bytes = size.min(m.read.0);
        let one = read(&m, bytes, false, true).alone;
        let data = m.data(bytes.min(m.completion));
        (one, one - busy(m.data(bytes)) + data.before_data() as f64 + 1.0)
    });
    Asked { size: size as f64, least: costs(false), usual: costs(true), timing: m, trip }
}

/// What another side's DMA asks of a bus, per byte.
pub(in crate::estimate) struct ExternalLoad {
    /// The bus, and its clocks per second.
    pub(in crate::estimate) bus: u32,
    pub(in crate::estimate) hertz: f64,
    /// Its clocks, the fewest, and what comes to that usually.
    pub(in crate::estimate) least: f64,
    pub(in crate::estimate) more: f64,
    /// The device, its split transactions (or its one delayed read) in clocks, and the clocks that they are held; none
    /// of writes.
    pub(in crate::estimate) device: u32,
    pub(in crate::estimate) splits: f64,
    pub(in crate::estimate) held: f64,
    /// The device's own clocks, pauses included.
    pub(in crate::estimate) own: f64,
}

/// What the DMA of a flow costs.
pub(in crate::estimate) fn external_load(buses: &Buses, flow: u32, corner: Corner) -> ExternalLoad {
    let f = &buses.flows[flow as usize];
    let a = asked(buses, f, corner);
    let hertz = a.timing.speed.hertz();
    ExternalLoad {
        bus: buses.devices[f.device as usize].bus,
        hertz,
        least: a.least.bus() / a.size,
        more: (a.usual.bus() - a.least.bus()).max(0.0) / a.size,
        device: f.device,
        splits: a.timing.splits as f64 * hertz,
        held: a.least.held / a.size,
        own: a.least.device / a.size,
    }
}

/// One transfer of an adapter's DMA in a row of them, seconds.
pub(in crate::estimate) struct Transfer {
    /// By itself, from the moment at which it is asked for to its last data.
    pub(in crate::estimate) alone: f64,
    /// Of the bus; and where something else wants it at the same time, whose turn the latency timer gives it.
    pub(in crate::estimate) bus: f64,
    pub(in crate::estimate) crowded: f64,
    /// From one's last data to the next one's.
    pub(in crate::estimate) next: f64,
}

/// What a transfer of so many bytes takes.
pub(in crate::estimate) fn transfer(buses: &Buses, flow: u32, corner: Corner, bytes: u64) -> Transfer {
    let f = &buses.flows[flow as usize];
    let m = buses.timing(f.device, corner);
    // By itself on a bus, an adapter asks for a delayed read until it is there; beside others, as in a share. Of the
    // bus it takes the fewest clocks.
    let bus = |f: &BusFlow| buses.devices[f.device as usize].bus;
    let others = buses.flows.iter().any(|other| bus(other) == bus(f) && other.device != f.device);
    let cost = |cut, least| if f.reads() { read(&m, bytes, cut, least) } else { write(&m, bytes, cut) };
    let (usual, least, cut) = (cost(false, others), cost(false, true), cost(true, true));
    let next = usual.bus().max(usual.device).max(usual.held / m.splits as f64);
    let [alone, bus, crowded, next] =
        [usual.alone, least.bus(), cut.bus(), next].map(|clocks| clocks / m.speed.hertz());
    Transfer { alone, bus, crowded, next }
}

/// A write of the host's processor to a device, seconds.
pub(in crate::estimate) fn programmed(buses: &Buses, flow: u32, corner: Corner, bytes: u64) -> f64 {
    let m = buses.timing(buses.flows[flow as usize].device, corner);
    let p = m.programmed(bytes);
    (m.speed.arbitration() as f64 + busy(p)) / m.speed.hertz()
}

/// Everything at one corner.
#[derive(Clone)]
struct Outcome {
    /// Of the buses' own flows, of which there are so many, and behind them of what other sides want.
    asked: Vec<Asked>,
    own: usize,
    resources: Vec<Resource<Key>>,
    shares: Vec<Share>,
    /// Buses whose timetable does not come round.
    drifting: Vec<u32>,
}

/// `moved` is what other sides want of the buses: flows, and bytes per second.
fn outcome(buses: &Buses, corner: Corner, moved: &[(u32, f64)]) -> Outcome {
    let own = buses.flows.iter().take_while(|f| !f.is_externally_driven()).count();
    let flows: Vec<&BusFlow> =
        buses.flows[..own].iter().chain(moved.iter().map(|(f, _)| &buses.flows[*f as usize])).collect();
    let mut asked: Vec<Asked> = flows.iter().map(|f| asked(buses, f, corner)).collect();
    let mut resources: Vec<Resource<Key>> = Vec::new();
    let mut put = |key: Key, capacity: f64, used: Use| match resources.iter_mut().find(|r| r.key == key) {
        Some(r) => r.uses.push(used),
        None => resources.push(Resource { key, capacity, uses: vec![used] }),
    };
    for (i, (f, a)) in flows.iter().zip(&asked).enumerate() {
        let device = &buses.devices[f.device as usize];
        let (k, hertz, size) = (&device.keys, a.timing.speed.hertz(), a.size);
        let used = |weight: f64, more: f64| Use {
            flow: i,
            weight: weight / size,
            packets: a.usual.bursts / size,
            first: (more - weight).max(0.0) / size,
            first_least: 0.0,
            hops: 0,
        };
        put(Key::Clocks(device.bus), hertz, used(a.least.bus(), a.usual.bus()));
        if a.timing.speed.standard() != Standard::Isa {
            put(Key::Device(f.device), hertz, used(a.least.device, a.usual.device));
            if f.reads() {
                put(Key::Splits(f.device), a.timing.splits as f64 * hertz, used(a.least.held, a.usual.held));
            }
        }
        let ways = if f.reads() && f.writes() { 2.0 } else { 1.0 };
        let rates = [
            (&k.rate, "rate", true),
            (&k.read_rate, "read_rate", f.reads()),
            (&k.write_rate, "write_rate", f.writes()),
        ];
        for (rate, name, used_here) in rates {
            if let (Some(rate), true) = (rate, used_here) {
                let weight = if name == "rate" { ways } else { 1.0 } * size;
                put(Key::Rate(f.device, name), rate.at(corner).bytes(), used(weight, weight));
            }
        }
        if let Program::Closed { outstanding, think, round_trip } = f.program {
            let think = think.seconds() * hertz;
            let of = |cost: &Cost| match round_trip {
                Some(time) => ways * (time.seconds() * hertz + think),
                None => cost.alone + ways * think,
            };
            put(Key::Outstanding(i as u32), outstanding as f64 * hertz, used(of(&a.least), of(&a.usual)));
        }
    }
    let caps: Vec<f64> = flows
        .iter()
        .map(|f| match f.program {
            Program::Open { rate, .. } => rate.bytes(),
            _ => f64::INFINITY,
        })
        .take(own)
        .chain(moved.iter().map(|(_, rate)| *rate))
        .collect();
    // Masters take turns: devices with what they write, and the bridge with what all of them read by splits.
    let master = |flow: usize| match asked[flow].timing.speed.is_x() && flows[flow].op.typical == Do::Read {
        true => vec![u64::MAX],
        false => vec![flows[flow].device as u64],
    };
    let mut shares = shares(&resources, &caps, |flow, _| master(flow));
    // What other sides want they have been given: where the division has not settled to the last clock, the bus's own
    // flows make do with the rest.
    for r in resources.iter().filter(|r| matches!(r.key, Key::Clocks(_))) {
        let of = |u: &&Use| u.flow < own;
        let (mine, others): (Vec<&Use>, Vec<&Use>) = r.uses.iter().partition(of);
        let taken: f64 = others.iter().map(|u| u.whole() * moved[u.flow - own].1).sum();
        let wanted: f64 = mine.iter().map(|u| u.whole() * shares[u.flow].rate).sum();
        if wanted > 0.0 && taken + wanted > r.capacity {
            let part = (r.capacity - taken).max(0.0) / wanted;
            mine.iter().for_each(|u| shares[u.flow].rate *= part);
        }
    }
    let timed = (0..buses.buses.len() as u32).filter(|bus| {
        timetable::covers(buses, *bus) && !timed(buses, *bus, corner, &mut asked, &mut resources, &mut shares)
    });
    let drifting = timed.collect();
    Outcome { asked, own, resources, shares, drifting }
}

/// The part of a resource that shares take.
fn taken(r: &Resource<Key>, shares: &[Share]) -> f64 {
    r.uses.iter().map(|u| u.whole() * shares[u.flow].rate).sum::<f64>() / r.capacity
}

/// Shares of a bus that has a timetable are those of it, and clocks what each took there. What binds is what is used
/// most. Says whether it comes round.
fn timed(
    buses: &Buses,
    bus: u32,
    corner: Corner,
    asked: &mut [Asked],
    resources: &mut [Resource<Key>],
    shares: &mut [Share],
) -> bool {
    let (rows, comes_round) = timetable::rows(buses, bus, corner);
    for row in &rows {
        let (i, size) = (row.flow, asked[row.flow].size);
        let least = asked[i].least;
        asked[i].usual = Cost { device: least.device, held: least.held, alone: least.alone, ..row.cost };
        shares[i].rate = row.rate;
        for r in resources.iter_mut() {
            let clocks = matches!(r.key, Key::Clocks(_));
            for u in r.uses.iter_mut().filter(|u| u.flow == i) {
                u.first = if clocks { (row.cost.bus() / size - u.weight).max(0.0) } else { 0.0 };
            }
        }
    }
    // What has no period is cut off somewhere: no more than there is.
    let mine = |r: &&Resource<Key>| r.uses.iter().any(|u| rows.iter().any(|row| row.flow == u.flow));
    let most = resources.iter().filter(mine).map(|r| taken(r, shares)).fold(1.0, f64::max);
    rows.iter().for_each(|row| shares[row.flow].rate /= most);
    let taken: Vec<f64> = resources.iter().map(|r| taken(r, shares)).collect();
    for row in &rows {
        let used = (0..resources.len()).filter(|r| resources[*r].uses.iter().any(|u| u.flow == row.flow));
        shares[row.flow].by = used.max_by(|a, b| taken[*a].total_cmp(&taken[*b]));
    }
    comes_round
}

/// What the shares take of clocks, engines and reads outstanding, with what other sides move.
pub(in crate::estimate) fn loads(plan: &Plan, corner: Corner, moved: &[(u32, f64)]) -> Vec<crate::estimate::Load> {
    let o = outcome(&plan.buses, corner, moved);
    crate::estimate::loads_of(&o.resources, &o.shares)
}

/// What the simulation sees on a bus and the estimate does not, by its mechanism.
fn notes(buses: &Buses, typical: &Outcome) -> Vec<Note> {
    let mut notes = Vec::new();
    for (i, bus) in buses.buses.iter().enumerate() {
        let on_it = || {
            buses.flows.iter().filter(|f| !f.is_externally_driven() && buses.devices[f.device as usize].bus == i as u32)
        };
        let several = on_it().count() > 1 || on_it().any(|f| f.reads() && f.writes());
        if !several {
            continue;
        }
        if timetable::covers(buses, i as u32) {
            if typical.drifting.contains(&(i as u32)) {
                let text = "the order of its transactions has no short period: devices that ask at the same time stand \
                    in each other's way until they have moved apart, over many operations, and a run that ends before \
                    shows other rates; the share is the mean of the last operations that were followed";
                let (element, mechanism) = (format!("links.{}", bus.name), "no-period".into());
                notes.push(Note { element, mechanism, text: text.into() });
            }
            continue;
        }
        let (mechanism, text) = if bus.speed.typical.is_x() {
            (
                "burst-cutting",
                "every burst is assumed to be cut by its latency timer where others may wait; where nobody waits at \
                    that moment it is not",
            )
        } else if on_it().any(|f| f.reads()) {
            (
                "retries",
                "a delayed read is assumed to be retried once; while others hold the bus it is retried more often, or \
                    its data wait",
            )
        } else {
            (
                "burst-cutting",
                "every burst is assumed to be cut by its latency timer where others may wait; where nobody waits at \
                    that moment it is not",
            )
        };
        notes.push(Note { element: format!("links.{}", bus.name), mechanism: mechanism.into(), text: text.into() });
    }
    notes
}

/// Of what other sides want of the buses, the part that each gets beside the flows there, and the bus that it is on.
pub(in crate::estimate) fn beside(plan: &Plan, corner: Corner, moved: &[(u32, f64)]) -> Vec<(f64, u32)> {
    let buses = &*plan.buses;
    let outcome = outcome(buses, corner, moved);
    (moved.iter().zip(&outcome.shares[outcome.own..]))
        .map(|((flow, rate), got)| {
            let part = if *rate > 0.0 { (got.rate / rate).min(1.0) } else { 1.0 };
            (part, buses.devices[buses.flows[*flow as usize].device as usize].bus)
        })
        .collect()
}

/// Whether buses and devices are at a corner what they typically are.
fn certain(buses: &Buses, corner: Corner) -> bool {
    (0..buses.devices.len()).all(|d| {
        let k = &buses.devices[d].keys;
        let rates = [&k.rate, &k.read_rate, &k.write_rate];
        let same = |q: &Quantity<Rate>| q.at(corner) == q.typical;
        buses.timing(d as u32, corner) == buses.timing(d as u32, Corner::Typical)
            && rates.into_iter().flatten().all(same)
    })
}

/// Answers the buses' side of a plan; `moved` is what other sides ask for at each corner: flows and their bytes per
/// second.
pub(in crate::estimate) fn answer(plan: &Plan, moved: [&[(u32, f64)]; 3]) -> Answer {
    let buses = &*plan.buses;
    if buses.is_empty() {
        return Answer { flows: Vec::new(), total: None, links: Vec::new(), notes: Vec::new() };
    }
    let typical = outcome(buses, Corner::Typical, moved[1]);
    // A timetable is long, and where nothing is uncertain one answers for all corners.
    let at_corner = |corner: Corner, moved_there: &[(u32, f64)]| match moved_there == moved[1] && certain(buses, corner)
    {
        true => typical.clone(),
        false => outcome(buses, corner, moved_there),
    };
    let slower = at_corner(Corner::Slower, moved[0]);
    let faster = at_corner(Corner::Faster, moved[2]);
    let outcomes = [&slower, &typical, &faster];
    let groups = buses.groups();
    Answer {
        flows: groups.iter().map(|members| flow(buses, members, outcomes)).collect(),
        total: total(buses, outcomes),
        links: (0..buses.buses.len()).map(|b| link(buses, b as u32, outcomes, moved[1])).collect(),
        notes: notes(buses, &typical),
    }
}

fn at(outcomes: [&Outcome; 3], value: impl Fn(&Outcome) -> f64) -> Ranged {
    let [slower, typical, faster] = outcomes.map(value);
    Ranged { typical, slower, faster }
}

/// What some flows together cannot exceed, bits per second.
fn most(outcome: &Outcome, members: &[usize]) -> f64 {
    bound(&outcome.resources, members, |u| u.weight, |_, capacity| capacity, |_| 0) * 8.0
}

/// The same of the bus's clocks alone.
fn most_clocks(outcome: &Outcome, members: &[usize]) -> f64 {
    let clocks: Vec<Resource<Key>> =
        outcome.resources.iter().filter(|r| matches!(r.key, Key::Clocks(_))).cloned().collect();
    bound(&clocks, members, |u| u.weight, |_, capacity| capacity, |_| 0) * 8.0
}

fn flow(buses: &Buses, members: &[usize], outcomes: [&Outcome; 3]) -> FlowReport {
    let first = &buses.flows[members[0]];
    let typical = outcomes[1];
    let each: Vec<f64> = members.iter().map(|&i| typical.shares[i].rate * 8.0).collect();
    let slowest = |o: &Outcome, clocks: &dyn Fn(&Asked) -> f64| {
        members.iter().map(|&i| clocks(&o.asked[i]) / o.asked[i].timing.speed.hertz()).fold(0.0, f64::max)
    };
    let ways = if first.op.typical == Do::Alternate { 2.0 } else { 1.0 };
    let wanted = |i: &usize| match buses.flows[*i].program {
        Program::Open { rate, .. } => Some(rate.bits()),
        _ => None,
    };
    let short = |i: &usize| wanted(i).is_some_and(|w| typical.shares[*i].rate * 8.0 < w * (1.0 - NOISE));
    let bound = at(outcomes, |o| most(o, members));
    let main = typically_bound(&typical.shares, members);
    let bound_by = binding(buses, typical, main);
    let bound_also = others(members.iter().map(|&i| binding(buses, typical, i).element), &bound_by.element);
    let alone = |i: usize| most(outcomes[2], &[i]).max(most(typical, &[i]));
    let measured = first.measured.map(|m| held_against(m, &each, members, bound, alone));
    let reads = first.reads();
    FlowReport {
        operation: Some(first.size.typical.f64()),
        goodput: None,
        frame_rate: None,
        alike: Vec::new(),
        name: first.group.clone(),
        instances: members.len(),
        what: format!("{} {}, {}", first.op.typical.show(), first.size.typical, buses.route_text(first)),
        both_ways: first.op.typical == Do::Alternate,
        wanted_each: members.iter().map(wanted).collect::<Option<Vec<f64>>>().unwrap_or_default(),
        bound,
        share: at(outcomes, |o| members.iter().map(|&i| o.shares[i].rate).sum::<f64>() * 8.0),
        each,
        framing_limit: most_clocks(typical, members),
        latency_first: reads.then(|| at(outcomes, |o| slowest(o, &|a| a.trip.map_or(0.0, |t| t.1)))),
        latency: at(outcomes, |o| slowest(o, &|a| a.least.alone / ways)),
        round_trip: reads.then(|| at(outcomes, |o| slowest(o, &|a| a.trip.map_or(0.0, |t| t.0)))),
        bound_by,
        bound_also,
        upgrade: None,
        measured,
        verdict: if members.iter().any(short) { Verdict::Unstable } else { Verdict::Stable },
        excess: Excess::Source,
        programs: Vec::new(),
    }
}

fn total(buses: &Buses, outcomes: [&Outcome; 3]) -> Option<Total> {
    let members: Vec<usize> = (0..outcomes[1].own).collect();
    if members.is_empty() {
        return None;
    }
    let sum = |o: &Outcome, both: bool| {
        let ways = |i: usize| if both && buses.flows[i].op.typical == Do::Alternate { 16.0 } else { 8.0 };
        members.iter().map(|&i| o.shares[i].rate * ways(i)).sum::<f64>()
    };
    Some(Total {
        share: at(outcomes, |o| sum(o, false)),
        both_ways: at(outcomes, |o| sum(o, true)),
        bound: at(outcomes, |o| most(o, &members)),
        framing_limit: most_clocks(outcomes[1], &members),
        bound_by: binding(buses, outcomes[1], typically_bound(&outcomes[1].shares, &members)),
    })
}

/// What binds a flow, with the evidence.
fn binding(buses: &Buses, outcome: &Outcome, flow: usize) -> Binding {
    let part = |device: u32| format!("parts.{}", buses.devices[device as usize].name);
    let by = outcome.shares[flow].by.map(|r| &outcome.resources[r]);
    let (element, resource, evidence) = match by.map(|r| r.key) {
        None => (format!("flows.{}", buses.flows[flow].name), "its own load", "the load is carried in full".into()),
        Some(Key::Clocks(bus)) => {
            let taken = by.map_or(1.0, |r| taken(r, &outcome.shares).min(1.0));
            let text = format!("{:.0} % of its clocks taken", 100.0 * taken);
            (format!("links.{}", buses.buses[bus as usize].name), "clocks", text)
        }
        Some(Key::Device(device)) => {
            let clocks = outcome.asked[flow].timing.turnaround;
            (part(device), "turn-around", format!("{clocks} clocks between its transactions"))
        }
        Some(Key::Splits(device)) => {
            let a = &outcome.asked[flow];
            let trip = a.trip.map_or(0.0, |t| t.0) / a.timing.speed.hertz();
            let what = if a.timing.speed.is_x() { "splits" } else { "delayed read" };
            let text =
                format!("{} {what} of {} B, {} each, unloaded", a.timing.splits, a.timing.read.0, human_time(trip));
            (part(device), "reads outstanding", text)
        }
        Some(Key::Rate(device, name)) => (part(device), "engine", format!("its {name}")),
        Some(Key::Outstanding(i)) => {
            let evidence = "its operations outstanding / (latency + think time)".to_owned();
            (format!("flows.{}", buses.flows[i as usize].name), "operations in flight", evidence)
        }
    };
    Binding { element, resource: resource.into(), evidence }
}

/// A bus: all that goes over it, whichever way.
fn link(buses: &Buses, index: u32, outcomes: [&Outcome; 3], moved: &[(u32, f64)]) -> LinkReport {
    let bus = &buses.buses[index as usize];
    let speed = bus.speed.typical;
    let typical = outcomes[1];
    let bits = speed.per_clock() as f64 * 8.0;
    let on_it = |i: &usize| buses.devices[buses.flows[*i].device as usize].bus == index;
    let members: Vec<usize> = (0..typical.own).filter(on_it).collect();
    let ways = |i: usize| if buses.flows[i].op.typical == Do::Alternate { 16.0 } else { 8.0 };
    let mut ledger = Ledger { raw: speed.peak().bits(), ..Ledger::default() };
    let mut transactions = 0.0;
    let fed = moved.iter().filter(|(f, _)| on_it(&(*f as usize)));
    let fed: Vec<(usize, Asked, f64)> =
        fed.map(|&(f, rate)| (f as usize, asked(buses, &buses.flows[f as usize], Corner::Typical), rate)).collect();
    let own = members.iter().map(|&i| (i, &typical.asked[i], typical.shares[i].rate));
    for (i, a, share) in own.chain(fed.iter().map(|(i, a, rate)| (*i, a, *rate))) {
        let per_second = share / a.size;
        let of = |clocks: f64| clocks * per_second * bits;
        let payload = share * ways(i);
        ledger.payload += payload;
        // Of a narrow last data phase a part is not payload.
        ledger.address += of(a.usual.address) + (of(a.usual.data) - payload).max(0.0);
        ledger.waits += of(a.usual.waits);
        ledger.requests += of(a.usual.requests);
        ledger.retries += of(a.usual.retries);
        ledger.turnarounds += of(a.usual.turnarounds);
        transactions += per_second * a.usual.transactions;
    }
    // DMA of channel adapters was worked out packet by packet: of a bus that is all theirs, what is not payload is what
    // they leave.
    let more: f64 = ledger.entries().iter().map(|e| e.1).sum::<f64>() - ledger.payload;
    let least = (ledger.raw - ledger.payload).max(0.0);
    if more > least && !fed.is_empty() {
        let part = least / more;
        let l = &mut ledger;
        for entry in [&mut l.address, &mut l.waits, &mut l.requests, &mut l.retries, &mut l.turnarounds] {
            *entry *= part;
        }
    }
    let used = ledger.payload + ledger.address + ledger.waits + ledger.requests + ledger.retries + ledger.turnarounds;
    debug_assert!(used <= ledger.raw * (1.0 + 1e-6), "links.{} carries {used} of {}", bus.name, ledger.raw);
    ledger.idle = (ledger.raw - used).max(0.0);
    LinkReport {
        name: bus.name.clone(),
        from: buses.ends_text(bus),
        to: String::new(),
        medium: Medium::from(speed.standard()),
        speed: speed.to_string(),
        payload: at(outcomes, |o| {
            let own: f64 = members.iter().map(|&i| o.shares[i].rate * ways(i)).sum();
            own + fed.iter().map(|(_, _, rate)| rate * 8.0).sum::<f64>()
        }),
        ledger,
        tlps: transactions,
        tlp_overhead: None,
    }
}
