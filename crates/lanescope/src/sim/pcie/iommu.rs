//! What translates the addresses that come in at a root complex: an IOTLB, page walks behind it, and the translations
//! that devices hold themselves.
//!
//! TLPs carry no addresses here. Those of a flow arrive in the order in which they were sent, so where each falls
//! follows from the flow's window and order, and is worked out on arrival. An entry is there from the moment at which
//! its walk begins; whoever hits it before the walk is over waits for its end. What is translated in a device's own
//! cache takes a walk where it misses there; the messages between the two are not sent.

use crate::plan::{Flow, PartId, Plan, Translation};
use crate::protocol::pcie::Class;
use crate::scenario::keys::AddressOrder;
use crate::scenario::quantity::Corner;
use crate::sim::core::kernel::NEVER;
use crate::sim::pcie::{Net, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// A flow and a page of its window.
type Page = (u32, u64);

/// Translations that are held, the least recently used of which makes room.
#[derive(Clone, Debug, Default)]
struct Held {
    most: u64,
    /// When each is at hand, and when it was used last, in uses.
    pages: HashMap<Page, (u64, u64)>,
    by_use: BTreeMap<u64, Page>,
    uses: u64,
}

/// Where the next TLP of a flow falls, of one class.
#[derive(Clone, Debug)]
struct Cursor {
    /// The operation's first byte, and how far it is.
    base: u64,
    offset: u64,
    /// Draws where the next one falls; without it they follow one another.
    random: Option<Xoshiro256PlusPlus>,
}

/// A flow with a window.
#[derive(Clone, Debug)]
struct Window {
    bytes: u64,
    size: u64,
    /// Which translations it uses.
    held: usize,
    /// Of reads and of writes.
    cursors: [Cursor; 2],
}

/// An IOMMU.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Iommu {
    page: u64,
    walk: u64,
    walks: usize,
    /// Between the starts of walks, and when the next may start.
    interval: u64,
    next: u64,
    /// When walks end.
    busy: BinaryHeap<Reverse<u64>>,
    /// The IOTLB, then those of devices.
    held: Vec<Held>,
    /// By flow.
    windows: BTreeMap<u32, Window>,
    /// When the heads of a port's queues are translated, by port and class, as far as was looked.
    ahead: Vec<[VecDeque<u64>; 2]>,
}

impl Iommu {
    /// That of a root complex with so many ports.
    pub(in crate::sim) fn new(plan: &Plan, part: PartId, of: Translation, ports: usize, seed: u64) -> Iommu {
        let mut held = vec![Held { most: of.entries, ..Held::default() }];
        let mut of_device: BTreeMap<PartId, usize> = BTreeMap::new();
        let mut windows = BTreeMap::new();
        let mine = |f: &&Flow| f.target == part;
        for (index, flow) in plan.flows.iter().enumerate().filter(|(_, f)| mine(f)) {
            let Some(window) = &flow.window else { continue };
            let which = match plan.device_translations(Corner::Typical, flow) {
                None => 0,
                Some(most) => *of_device.entry(flow.source).or_insert_with(|| {
                    held.push(Held { most, ..Held::default() });
                    held.len() - 1
                }),
            };
            let drawn = flow.addresses.typical == AddressOrder::Random;
            let cursor = |what: &str| Cursor {
                base: u64::MAX,
                offset: u64::MAX,
                random: drawn.then(|| random(seed, &format!("{what} of {}", flow.name))),
            };
            let cursors = [cursor("addresses of reads"), cursor("addresses of writes")];
            let (bytes, size) = (window.typical.0, flow.size.typical.0);
            windows.insert(index as u32, Window { bytes, size, held: which, cursors });
        }
        Iommu {
            page: of.page,
            walk: (of.walk * 1e6).round() as u64,
            interval: if of.interval * of.walks as f64 > of.walk { (of.interval * 1e6).round() as u64 } else { 0 },
            next: 0,
            walks: of.walks.min(usize::MAX as u64) as usize,
            busy: BinaryHeap::new(),
            held,
            windows,
            ahead: vec![Default::default(); ports],
        }
    }

    /// When the head of a port's queue is translated, and when the next one comes that is to be looked up: those behind
    /// the head that have come are, too.
    pub(in crate::sim) fn translated(&mut self, wire: u32, class: Class, now: u64, net: &Net) -> (u64, u64) {
        let (port, row) = (net.wires[wire as usize].port_to as usize, usize::from(class == Class::Posted));
        let queue = &net.wires[wire as usize].queues[class as usize];
        let known = self.ahead[port][row].len();
        let mut next = NEVER;
        for (i, tlp) in queue.range(known.min(queue.len())..).enumerate().take_while(|(_, t)| net.ends(t)) {
            if known + i > 0 && tlp.ready > now {
                next = tlp.ready;
                break;
            }
            let bytes = if class == Class::Posted { tlp.payload } else { tlp.asks };
            // Descriptors and entries lie in rings of their own, which are small and in use all the time.
            let ready = if tlp.control { 0 } else { self.look_up(tlp.flow, row, bytes.into(), now) };
            self.ahead[port][row].push_back(ready);
        }
        (self.ahead[port][row].front().copied().unwrap_or(0).max(now), next)
    }

    /// The head of a port's queue has gone.
    pub(in crate::sim) fn went(&mut self, port: usize, class: Class) {
        if class != Class::Completion {
            self.ahead[port][usize::from(class == Class::Posted)].pop_front();
        }
    }

    /// When the next bytes of a flow are translated.
    fn look_up(&mut self, flow: u32, row: usize, bytes: u64, now: u64) -> u64 {
        let Some(window) = self.windows.get_mut(&flow) else { return 0 };
        let cursor = &mut window.cursors[row];
        if cursor.offset >= window.size {
            let places = (window.bytes / window.size).max(1);
            cursor.offset = 0;
            cursor.base = match &mut cursor.random {
                Some(random) => ((random.next_u64() as u128 * places as u128) >> 64) as u64 * window.size,
                None if cursor.base == u64::MAX || cursor.base / window.size + 1 >= places => 0,
                None => cursor.base + window.size,
            };
        }
        let first = cursor.base + cursor.offset;
        cursor.offset += bytes.max(1);
        let pages = first / self.page..=(first + bytes.max(1) - 1) / self.page;
        let held = window.held;
        pages.fold(0, |ready, page| ready.max(self.page(held, (flow, page), now)))
    }

    /// When a page is translated.
    fn page(&mut self, held: usize, page: Page, now: u64) -> u64 {
        let held = &mut self.held[held];
        held.uses += 1;
        let uses = held.uses;
        if let Some((ready, used)) = held.pages.get_mut(&page) {
            held.by_use.remove(used);
            *used = uses;
            held.by_use.insert(uses, page);
            return *ready;
        }
        while self.busy.peek().is_some_and(|end| end.0 <= now) {
            self.busy.pop();
        }
        let free = if self.busy.len() < self.walks { now } else { self.busy.pop().map_or(now, |end| end.0) };
        let start = free.max(self.next);
        self.next = start.saturating_add(self.interval);
        let end = start.saturating_add(self.walk);
        self.busy.push(Reverse(end));
        if held.pages.len() as u64 >= held.most
            && let Some((_, oldest)) = held.by_use.pop_first()
        {
            held.pages.remove(&oldest);
        }
        held.pages.insert(page, (end, uses));
        held.by_use.insert(uses, page);
        end
    }
}
