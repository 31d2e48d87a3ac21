//! How long requests wait at a completer, which answers them in the order in which they come.
//!
//! A completer takes in each request at once and has its completions leave in that order. Where these have to wait
//! for a full link, its own or one further on whose flows fill the buffers before it, every request behind them waits
//! as long, whoever sent it. So readers are not served in turn there: by Little's law each gets what it keeps in flight
//! (its tags, loads or operations outstanding) / (the time of one, unloaded, + that wait), and the wait is such that
//! the full link carries it all. Who keeps sixteen times as much in flight gets sixteen times as much.
//!
//! Whatever serves operations in their order is shared so: of storage these are stations (`storage/in_order`), without
//! a way there and without buffers on it.
//!
//! Not in it: completers that work on so many reads at once and take requests from their ports in turn
//! (`reads_in_flight`, backbones); flows that alternate are counted with their reads alone.

use crate::estimate::core::elements::Key;
use crate::estimate::core::fill::{Resource, Share, Use};
use crate::estimate::pcie::queues;
use crate::plan::{Hop, Plan};
use crate::protocol::pcie::Class;
use crate::scenario::keys::After;
use crate::scenario::quantity::Corner;
use std::collections::BTreeMap;

/// What a reader has so many of: an entry of a resource.
#[derive(Clone, Copy)]
struct Window {
    resource: usize,
    /// Its place among the uses.
    at: usize,
    /// Seconds of it that a payload byte takes with no more wait than is counted already (seconds), and for each second
    /// of one.
    unloaded: f64,
    counted: f64,
    /// How much of what is counted a wait may be less than, seconds.
    unsure: f64,
    per_wait: f64,
    /// The wait that is added already, seconds.
    added: f64,
    /// How much of it readers of this completer have, and how many they are.
    part: f64,
    users: usize,
}

impl Window {
    /// A use of a resource, by their places.
    fn new((resource, at): (usize, usize), used: &Use, per_wait: f64) -> Window {
        let (unloaded, counted) = (used.whole(), used.first.max(0.0) / per_wait);
        Window { resource, at, unloaded, counted, unsure: 0.0, per_wait, added: 0.0, part: 0.0, users: 1 }
    }

    /// Counts such a wait in place of what was added.
    fn add(&mut self, used: &mut Use, wait: f64) {
        let more = |bound: &dyn Fn(f64) -> f64| (bound(wait) - bound(self.added)) * self.per_wait;
        let (longer, shorter) = (more(&|w| w.max(0.0)), more(&|w| w.min(0.0)));
        used.weight += longer;
        used.first_least -= longer;
        used.first += shorter;
        self.added = wait;
    }

    /// How much longer than unloaded one takes whose last byte leaves something full so long after it has come there,
    /// seconds. A payload byte takes so long of that by itself (`each`), which is in its unloaded time.
    fn longer(&self, wait: f64, each: f64) -> f64 {
        (wait - each / self.per_wait - self.counted).max(-self.unsure)
    }
}

/// A reader of a completer.
struct Reader {
    flow: usize,
    windows: Vec<Window>,
    /// Bytes per second that anything but its windows and the ways of completions allows.
    most: f64,
    /// On the way of its completions, what it could have of each with nobody else there.
    way: Vec<(usize, f64)>,
    wait: Option<Wait>,
}

/// How long a reader's requests are behind what is full, seconds, by which a payload byte takes so many of.
#[derive(Clone, Copy)]
struct Wait {
    time: f64,
    each: f64,
    by: usize,
}

impl Reader {
    fn new(flow: usize) -> Reader {
        Reader { flow, windows: Vec::new(), most: f64::INFINITY, way: Vec::new(), wait: None }
    }

    /// The most that it could have if it did not have to pass this.
    fn most_but(&self, passage: usize) -> f64 {
        self.way.iter().filter(|w| w.0 != passage).map(|w| w.1).fold(self.most, f64::min)
    }
}

/// Something full that the completions of some readers of a completer have to pass.
struct Passage<'a> {
    resource: usize,
    /// What a payload byte of each reader takes of it; 0 of those that do not pass it.
    takes: Vec<f64>,
    /// What part of the operations of each waits for it.
    visits: Vec<f64>,
    /// Whether it is places that operations have until they are done, so that they wait before it alone.
    places: bool,
    /// Seconds of them for a payload byte.
    held: Vec<f64>,
    /// Units per second that others leave them.
    left: f64,
    /// Seconds that it takes for a unit.
    unit: f64,
    /// The way there, and of each hop the bytes of payload that the buffer at its end holds.
    way: &'a [Hop],
    rooms: Vec<f64>,
}

/// All readers that one completer answers through one port; or all flows that meet at some stations, directly or by
/// others.
pub(in crate::estimate) struct Completer {
    readers: Vec<Reader>,
    stations: Vec<Station>,
}

/// Something that serves operations in the order in which they come, by its resource.
pub(in crate::estimate) struct Station {
    pub(in crate::estimate) resource: usize,
    pub(in crate::estimate) visits: Vec<Visit>,
    /// Whether it is places that operations have until they are done.
    pub(in crate::estimate) places: bool,
}

/// A flow that comes to a station: which part of its operations does, and which part of the wait there an operation
/// has on average.
pub(in crate::estimate) struct Visit {
    pub(in crate::estimate) flow: usize,
    pub(in crate::estimate) part: f64,
    pub(in crate::estimate) waits: f64,
}

/// Waits at completers, of all flows of a plan.
pub(in crate::estimate) struct Waits(Vec<Completer>);

/// How often shares are divided anew for the waits that they lead to.
pub(in crate::estimate) const PASSES: usize = 5;

/// How often in the mean the waits for something are worked out beside longer ones, at most.
const AGAIN: usize = 4;

/// A station is full of which this part is taken: as far as flows fill it that wait for their like elsewhere, too.
const FULL: f64 = 0.99;

/// Of a wait: by so much less is counted, that what makes them wait is full and not just not.
const SHORT: f64 = 1e-7;

impl Waits {
    /// Of completers that answer several flows, and of `others`. Nobody waits yet.
    pub(in crate::estimate) fn new(
        plan: &Plan,
        corner: Corner,
        resources: &[Resource<Key>],
        others: Vec<Completer>,
    ) -> Waits {
        let mut completers: BTreeMap<Hop, Vec<usize>> = BTreeMap::new();
        for (index, flow) in plan.flows.iter().enumerate().filter(|(_, f)| queues::in_order(plan, corner, f)) {
            completers.entry(flow.back[0]).or_default().push(index);
        }
        completers.retain(|_, flows| flows.len() > 1);
        if completers.is_empty() {
            return Waits(others);
        }
        // By flow, since a flow has one completer.
        let mut readers: Vec<Option<Reader>> = Vec::new();
        readers.resize_with(plan.flows.len(), || None);
        completers.values().flatten().for_each(|flow| readers[*flow] = Some(Reader::new(*flow)));
        for (r, resource) in resources.iter().enumerate() {
            let window = |index: usize| {
                let flow = &plan.flows[index];
                match (resource.key, plan.asking(corner, flow)) {
                    (Key::Tags(_) | Key::Loads(_), asking) if asking.after == After::Batch => {
                        Some(1.0 / asking.tags as f64)
                    }
                    (Key::Tags(_) | Key::Loads(_), _) => Some(1.0),
                    _ => None,
                }
            };
            let own = |key: Key| matches!(key, Key::Wire(_) | Key::Replay(_) | Key::Credits(_, Class::Completion, _));
            for (at, used) in resource.uses.iter().enumerate().filter(|(_, u)| u.weight > 0.0) {
                let Some(Some(reader)) = readers.get_mut(used.flow) else { continue };
                let per_wait = match resource.key {
                    Key::Outstanding(_) => Some(1.0 / plan.flows[used.flow].size.at(corner).f64()),
                    _ => window(used.flow).map(|part| used.packets * part),
                };
                match per_wait {
                    Some(per_wait) => {
                        reader.windows.push(Window::new((r, at), used, per_wait));
                    }
                    None if own(resource.key) => reader.way.push((r, resource.capacity / used.whole())),
                    None => reader.most = reader.most.min(resource.capacity / used.whole()),
                }
            }
        }
        let of = |flows: &Vec<usize>| Completer {
            readers: flows.iter().filter_map(|f| readers[*f].take()).collect(),
            stations: Vec::new(),
        };
        Waits(completers.values().map(of).chain(others).collect())
    }

    /// What holds the readers back, with how long they wait at such shares; `None` where that changes nothing.
    pub(in crate::estimate) fn charged(
        &mut self,
        plan: &Plan,
        corner: Corner,
        resources: &[Resource<Key>],
        shares: &[Share],
    ) -> Option<Vec<Resource<Key>>> {
        let mut charged = None;
        for completer in &mut self.0 {
            completer.settle(plan, corner, resources, shares);
            for reader in &mut completer.readers {
                for window in &mut reader.windows {
                    let wait = reader.wait.map_or(0.0, |w| window.longer(w.time, w.each) * (1.0 - SHORT));
                    if (wait - window.added).abs() * window.per_wait > 1e-6 * window.unloaded {
                        let charged = charged.get_or_insert_with(|| resources.to_vec());
                        window.add(&mut charged[window.resource].uses[window.at], wait);
                    }
                }
            }
        }
        charged
    }

    /// Gives up the waits of completers that wait for something that is not full at such shares; `None` if there are
    /// none.
    pub(in crate::estimate) fn without(
        &mut self,
        resources: &[Resource<Key>],
        shares: &[Share],
    ) -> Option<Vec<Resource<Key>>> {
        let idle = |r: &Reader| r.wait.is_some_and(|w| resources[w.by].load(shares) < resources[w.by].capacity * 0.98);
        let mut left = None;
        for completer in self.0.iter_mut().filter(|c| c.readers.iter().any(idle)) {
            let left = left.get_or_insert_with(|| resources.to_vec());
            for reader in &mut completer.readers {
                reader.wait = None;
                for window in &mut reader.windows {
                    let used = &mut left[window.resource].uses[window.at];
                    window.add(used, 0.0);
                }
            }
        }
        left
    }

    /// What makes those wait that are held back by what they keep in flight.
    pub(in crate::estimate) fn name(&self, shares: &mut [Share]) {
        for reader in self.0.iter().flat_map(|c| &c.readers) {
            let by = &mut shares[reader.flow].by;
            if let Some(wait) = reader.wait
                && by.is_some_and(|by| reader.windows.iter().any(|w| w.resource == by && w.added > 0.0))
            {
                *by = Some(wait.by);
            }
        }
    }
}

impl Completer {
    /// Those of groups of stations that have no flow in common. Of what else flows use `window` tells what each has so
    /// many of, and what share of one for each second of a wait a payload byte takes; `wish` is the most that one asks
    /// for, and `unsure` the part of what is counted that it may wait less. Groups are left out of which a flow has no
    /// such.
    pub(in crate::estimate) fn at_stations(
        resources: &[Resource<Key>],
        groups: impl Iterator<Item = Vec<Station>>,
        window: impl Fn(Key, usize) -> Option<f64>,
        wish: impl Fn(usize) -> f64,
        unsure: impl Fn(usize) -> f64,
    ) -> Vec<Completer> {
        let group = |stations: Vec<Station>| {
            let mut flows: Vec<usize> = stations.iter().flat_map(|s| s.visits.iter().map(|v| v.flow)).collect();
            flows.sort_unstable();
            flows.dedup();
            let reader = |flow| Reader { most: wish(flow), ..Reader::new(flow) };
            Completer { readers: flows.into_iter().map(reader).collect(), stations }
        };
        let mut all: Vec<Completer> = groups.map(group).collect();
        if all.is_empty() {
            return all;
        }
        // Of each flow its group, and its place there.
        let mut places: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (group, completer) in all.iter().enumerate() {
            places.extend(completer.readers.iter().enumerate().map(|(at, r)| (r.flow, (group, at))));
        }
        for (r, resource) in resources.iter().enumerate() {
            for (at, used) in resource.uses.iter().enumerate().filter(|(_, u)| u.weight > 0.0) {
                let Some(&(group, place)) = places.get(&used.flow) else { continue };
                let reader = &mut all[group].readers[place];
                match window(resource.key, used.flow) {
                    Some(per_wait) => {
                        let made = Window::new((r, at), used, per_wait);
                        let unsure = unsure(used.flow) * made.counted;
                        reader.windows.push(Window { unsure, ..made });
                    }
                    None => reader.way.push((r, resource.capacity / used.whole())),
                }
            }
        }
        all.retain(|c| c.readers.iter().all(|r| !r.windows.is_empty()));
        all
    }

    /// The waits at such shares, and what makes them.
    fn settle(&mut self, plan: &Plan, corner: Corner, resources: &[Resource<Key>], shares: &[Share]) {
        self.divide(resources, shares);
        let passages = self.passages(plan, corner, resources, shares);
        let waits = self.longest(plan, &passages);
        // Where each gets as much as by turns, nobody gets less for it.
        let waited = self.readers.iter().any(|r| r.wait.is_some());
        let less = |(reader, wait): (&Reader, &Option<Wait>)| {
            let Some(wait) = wait else { return false };
            reader.windows.iter().any(|w| {
                let takes = w.unloaded + w.longer(wait.time, wait.each) * w.per_wait;
                w.users > 1 || w.part / takes < shares[reader.flow].rate * (1.0 - 1e-6)
            })
        };
        if waited || self.readers.iter().zip(&waits).any(less) {
            self.readers.iter_mut().zip(waits).for_each(|(reader, wait)| reader.wait = wait);
        }
    }

    /// How long each reader waits, by what it waits for longest. What makes nobody wait as long as something else does
    /// is passed by readers that this holds back already, so the longest come first: what others find is less for it.
    fn longest(&self, plan: &Plan, passages: &[Passage]) -> Vec<Option<Wait>> {
        let mut waits: Vec<Option<Wait>> = vec![None; self.readers.len()];
        let nobody = waits.clone();
        // Before places one waits whatever is waited for behind them.
        let with = |passage: &Passage, waits: &[Option<Wait>]| {
            let times = self.before(plan, passage, if passage.places { &nobody } else { waits });
            (times.iter().copied().fold(0.0, f64::max), times)
        };
        // Beside how many others each was worked out.
        let mut left: Vec<_> = passages.iter().map(|passage| (0, with(passage, &waits), passage)).collect();
        let mut again = AGAIN * passages.len();
        let mut taken = 0;
        while let Some(at) = (0..left.len()).max_by(|a, b| left[*a].1.0.total_cmp(&left[*b].1.0)) {
            let (beside, _, passage) = left[at];
            if beside < taken && again > 0 {
                left[at] = (taken, with(passage, &waits), passage);
                again -= 1;
                continue;
            }
            let (_, (_, times), passage) = left.swap_remove(at);
            for (i, (wait, time)) in waits.iter_mut().zip(times).enumerate() {
                if time > wait.map_or(0.0, |w| w.time) {
                    *wait = Some(Wait { time, each: passage.takes[i] * passage.unit, by: passage.resource });
                }
            }
            taken += 1;
        }
        waits
    }

    /// How long each reader waits for a passage, where they wait for `others`. Whoever has hops of the way there in
    /// common waits before the last of these, if what is in flight fills the buffers behind it.
    fn before(&self, plan: &Plan, passage: &Passage, others: &[Option<Wait>]) -> Vec<f64> {
        let mut times: Vec<Option<f64>> = vec![None; passage.way.len() + 1];
        let one = |(i, reader): (usize, &Reader)| {
            if passage.way.is_empty() && passage.takes[i] <= 0.0 {
                return 0.0;
            }
            let own = passage.way.iter().enumerate();
            let common = own.take_while(|(i, hop)| plan.flows[reader.flow].back.get(*i) == Some(*hop)).count();
            let time = *times[common].get_or_insert_with(|| {
                let room = passage.rooms.iter().skip(common.saturating_sub(1)).sum();
                self.behind(passage, room, others)
            });
            time * passage.visits[i]
        };
        self.readers.iter().enumerate().map(one).collect()
    }

    /// What its readers have of tags that readers of other completers have, too: what these leave, and their turns.
    fn divide(&mut self, resources: &[Resource<Key>], shares: &[Share]) {
        // Readers of one device come one behind the other, mostly.
        let mut shared = (usize::MAX, 0.0, 1);
        for i in 0..self.readers.len() {
            for w in 0..self.readers[i].windows.len() {
                let at = self.readers[i].windows[w].resource;
                let Resource { capacity, uses, .. } = &resources[at];
                if uses.len() > 1 && shared.0 != at {
                    let (mut own, mut left) = (0, *capacity);
                    for used in uses {
                        match self.place(used.flow) {
                            Some(_) => own += 1,
                            None => left -= used.whole() * shares[used.flow].rate,
                        }
                    }
                    shared = (at, left.max(capacity * own as f64 / uses.len() as f64), own.max(1));
                }
                let window = &mut self.readers[i].windows[w];
                (window.part, window.users) = if uses.len() > 1 { (shared.1, shared.2) } else { (*capacity, 1) };
            }
        }
    }

    /// Where a flow is among the readers, which are in the order of flows.
    fn place(&self, flow: usize) -> Option<usize> {
        self.readers.binary_search_by_key(&flow, |reader| reader.flow).ok()
    }

    /// What is full on the ways of the completions, or was.
    fn passages<'a>(
        &self,
        plan: &'a Plan,
        corner: Corner,
        resources: &[Resource<Key>],
        shares: &[Share],
    ) -> Vec<Passage<'a>> {
        let full = |r: &Resource<Key>| r.load(shares) >= r.capacity * (1.0 - 1e-4);
        let mut all = Vec::new();
        let taken = |resource: &Resource<Key>, passes: &dyn Fn(usize) -> bool| {
            let mut takes = vec![0.0; self.readers.len()];
            for used in &resource.uses {
                if let Some(i) = self.place(used.flow).filter(|i| passes(*i)) {
                    takes[i] = used.whole();
                }
            }
            takes
        };
        for Station { resource: index, visits, places } in &self.stations {
            let resource = &resources[*index];
            let waited = self.readers.iter().any(|r| r.wait.is_some_and(|w| w.by == *index));
            if !waited && resource.load(shares) < resource.capacity * FULL {
                continue;
            }
            let mut waits = vec![0.0; self.readers.len()];
            let mut held = waits.clone();
            for visit in visits {
                if let Some(i) = self.place(visit.flow) {
                    (waits[i], held[i]) = (visit.waits, 1.0 / visit.part);
                }
            }
            let takes = taken(resource, &|i| waits[i] > 0.0);
            held.iter_mut().zip(&takes).for_each(|(held, takes)| *held *= if *places { *takes } else { 0.0 });
            let own: f64 = self.readers.iter().zip(&takes).map(|(r, takes)| takes * shares[r.flow].rate).sum();
            let left = resource.capacity - (resource.load(shares) - own).max(0.0);
            if left <= 0.0 || takes.iter().all(|t| *t <= 0.0) {
                continue;
            }
            let unit = if *places { 0.0 } else { 1.0 / resource.capacity };
            all.push(Passage {
                resource: *index,
                takes,
                visits: waits,
                places: *places,
                held,
                left,
                unit,
                way: &[],
                rooms: Vec::new(),
            });
        }
        if !self.stations.is_empty() {
            return all;
        }
        for (index, resource) in resources.iter().enumerate() {
            let (Key::Wire(hop) | Key::Replay(hop) | Key::Credits(hop, Class::Completion, _)) = resource.key else {
                continue;
            };
            if !full(resource) {
                continue;
            }
            let at = |i: usize| plan.flows[self.readers[i].flow].back.iter().position(|h| *h == hop);
            let takes = taken(resource, &|i| at(i).is_some());
            let Some((i, at)) = takes.iter().position(|t| *t > 0.0).and_then(|i| Some((i, at(i)?))) else { continue };
            let flow = &plan.flows[self.readers[i].flow];
            let before = flow.back[..at].iter();
            let rooms = before.map(|hop| queues::room(plan, corner, flow, *hop, Class::Completion)).collect();
            let own: f64 = self.readers.iter().zip(&takes).map(|(r, takes)| takes * shares[r.flow].rate).sum();
            let left = resource.capacity - (resource.load(shares) - own).max(0.0);
            if left > 0.0 {
                let (unit, way) = (1.0 / resource.capacity, &flow.back[..=at]);
                let visits = vec![1.0; takes.len()];
                all.push(Passage {
                    resource: index,
                    takes,
                    visits,
                    places: false,
                    held: Vec::new(),
                    left,
                    unit,
                    way,
                    rooms,
                });
            }
        }
        all
    }

    /// How long requests wait until what is left of something carries what comes, where of what is in flight behind
    /// them the buffers before it hold some bytes.
    fn behind(&self, passage: &Passage, room: f64, others: &[Option<Wait>]) -> f64 {
        let passing = || passage.takes.iter().enumerate().filter(|t| *t.1 > 0.0);
        let in_flight: f64 = passing().map(|(i, _)| self.in_flight(i, |w| w.users)).sum();
        let waits = (1.0 - room / in_flight).max(0.0);
        let asked = |wait: f64, counted: bool| -> f64 {
            let rates = self.rates(wait, counted, passage, others);
            passing().map(|(i, takes)| rates[i] * takes * waits).sum()
        };
        // How long until no more is asked for.
        let until = |left: f64, counted: bool, mut high: f64| {
            let mut low = 0.0;
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if asked(middle, counted) > left { low = middle } else { high = middle }
            }
            high
        };
        let most: f64 = passing().map(|(i, takes)| self.in_flight(i, |_| 1) * takes).sum();
        let stations = !self.stations.is_empty();
        if asked(0.0, !stations) <= passage.left * (1.0 + 1e-9) {
            return 0.0;
        }
        // By Little's law all that is in flight waits no longer than this; it is asked for the less the longer.
        let least = passing().map(|(i, _)| passage.visits[i]).fold(1.0, f64::min);
        let longest = most / passage.left / least;
        if !longest.is_finite() {
            return 0.0;
        }
        let wait = until(passage.left, !stations, longest);
        // Flows that wait for their like elsewhere, too, do not fill it alone: others wait the less.
        let enough = passage.left * FULL;
        if stations && !passage.places && asked(wait, true) < enough {
            return if asked(0.0, true) <= enough { 0.0 } else { until(enough, true, wait) };
        }
        wait
    }

    /// Bytes that a reader keeps in flight, where so many share each of its windows.
    fn in_flight(&self, i: usize, users: impl Fn(&Window) -> usize) -> f64 {
        let windows = self.readers[i].windows.iter();
        windows.map(|w| w.part / users(w) as f64 / w.per_wait).fold(f64::INFINITY, f64::min)
    }

    /// Seconds of a window that a payload byte takes of one that waits so long, and no less than is `counted` already.
    /// Else the wait stands for what one waits for its like, too: at a station all are in one queue.
    fn takes(window: &Window, wait: f64, each: f64, counted: bool) -> f64 {
        if counted {
            return window.unloaded + window.longer(wait, each) * window.per_wait;
        }
        window.unloaded + ((wait - each / window.per_wait).max(0.0) - window.counted) * window.per_wait
    }

    /// What each reader can have that waits so long, or as for others, bytes per second: of tags that several have,
    /// each as many, but for those that need fewer. What the passage itself leaves them is not looked at.
    fn rates(&self, wait: f64, counted: bool, passage: &Passage, others: &[Option<Wait>]) -> Vec<f64> {
        let mut rates: Vec<f64> = self.readers.iter().map(|r| r.most_but(passage.resource)).collect();
        let mut shared: Vec<(usize, f64, f64, usize)> = Vec::new();
        for (i, reader) in self.readers.iter().enumerate() {
            let own = passage.takes[i] * passage.unit;
            for w in &reader.windows {
                let times = [(wait * passage.visits[i], own)].into_iter().chain(others[i].map(|o| (o.time, o.each)));
                let takes = times.map(|(wait, each)| Self::takes(w, wait, each, counted)).fold(0.0, f64::max);
                // Who waits before places waits no less inside for it.
                let takes = match passage.places && passage.takes[i] > 0.0 {
                    true => takes.max(passage.held[i] + wait * passage.visits[i] * w.per_wait),
                    false => takes,
                };
                match w.users {
                    1 => rates[i] = rates[i].min(w.part / takes),
                    _ => shared.push((w.resource, w.part, takes, i)),
                }
            }
        }
        shared.sort_by_key(|s| s.0);
        for users in shared.chunk_by_mut(|a, b| a.0 == b.0) {
            users.sort_by(|a, b| (a.2 * rates[a.3]).total_cmp(&(b.2 * rates[b.3])));
            let (mut left, all) = (users[0].1, users.len());
            for (n, &mut (_, _, takes, i)) in users.iter_mut().enumerate() {
                let part = (rates[i] * takes).min(left / (all - n) as f64);
                rates[i] = part / takes;
                left -= part;
            }
        }
        rates
    }
}
