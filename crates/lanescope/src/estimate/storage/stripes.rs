//! What a solid-state drive programs, page by page, where its writes are followed one by one.
//!
//! Pages go to its stripes in turn. A stripe that is free takes what waits for it, as many pages as a program holds; so
//! writes share programs, and wait for those under way. What garbage collection moves is read from dies and programmed
//! before more is taken in; programs may hold their dies, and wait until they are free.
//!
//! Data of writes are asked for while the buffer has room for them.
//!
//! Not in it: reads that suspend programs.

use crate::estimate::storage::reads;
use crate::scenario::keys::Ssd;
use crate::scenario::quantity::Corner;
use crate::tools::mixed;
use std::collections::VecDeque;

/// The inside of a drive.
#[derive(Clone, Debug)]
pub(super) struct Flash<'a> {
    k: &'a Ssd,
    corner: Corner,
    /// What tells its log from other drives'.
    log: u64,
    turn: usize,
    stripes: Vec<Stripe>,
    /// When dies, each with its planes, and channels are free, seconds.
    dies: Vec<f64>,
    channels: Vec<f64>,
    /// Pages that were read.
    collected: u64,
    /// Bytes in the buffer or promised to it, those that it has room for, and who waits for some.
    used: u64,
    room: u64,
    waiting: VecDeque<(u32, u64)>,
    /// How long stripes have worked, or are to work, seconds.
    pub(super) worked: f64,
}

/// Nobody waits for a page.
pub(super) const NOBODY: u32 = u32::MAX;

/// A stripe: pages that wait for it, and those that it programs, whose each is; pages that garbage collection owes, in
/// thousandths, and programs since a block was erased.
#[derive(Clone, Debug, Default)]
struct Stripe {
    waiting: VecDeque<(u32, u64)>,
    inside: Vec<(u32, u64)>,
    collects: bool,
    owed: u64,
    programs: u32,
}

impl<'a> Flash<'a> {
    pub(super) fn new(k: &'a Ssd, corner: Corner, place: usize) -> Flash<'a> {
        let [channels, dies, planes] = [&k.channels, &k.dies, &k.planes].map(|q| q.at(corner).get() as usize);
        Flash {
            k,
            corner,
            log: mixed(place as u64),
            turn: 0,
            stripes: vec![Stripe::default(); k.stripes.at(corner).get() as usize],
            dies: vec![0.0; channels * dies * planes],
            channels: vec![0.0; channels],
            collected: 0,
            used: 0,
            room: k.buffer.at(corner).0,
            waiting: VecDeque::new(),
            worked: 0.0,
        }
    }

    /// Fills its buffer with pages of so many bytes that nobody waits for, as far as programs to come need: stripes
    /// that begin, and when what they take is programmed.
    pub(super) fn fill(&mut self, bytes: u64, most: u64) -> Vec<(usize, f64)> {
        self.room = self.room.min(most.max(bytes));
        let mut begun = Vec::new();
        while self.used + bytes <= self.room {
            self.used += bytes;
            let (stripe, ends) = self.page(NOBODY, bytes, 0.0);
            begun.extend(ends.map(|ends| (stripe, ends)));
        }
        begun
    }

    /// Whether the data of a command may come; if not, it waits. What is larger than the buffer comes when that is
    /// empty, and who waits already goes first.
    pub(super) fn admit(&mut self, whose: u32, bytes: u64) -> bool {
        if !self.waiting.is_empty() || !self.fits(bytes) {
            self.waiting.push_back((whose, bytes));
            return false;
        }
        self.used += bytes;
        true
    }

    fn fits(&self, bytes: u64) -> bool {
        self.used == 0 || self.used + bytes <= self.room
    }

    /// How long a read of so many bytes from an offset waits for dies that program or read others: beside its own time,
    /// in which its pages have met one another already.
    pub(super) fn held(&mut self, offset: u64, bytes: u64, now: f64) -> f64 {
        let page = self.k.page.typical.0.max(1);
        let pages = offset / page..(offset + bytes).div_ceil(page);
        let most = pages.clone().map(|page| self.dies[self.plane(page)] - now).fold(0.0, f64::max);
        for page in pages {
            self.sense(page, now);
        }
        most
    }

    /// The plane of a page, as its log has it: anywhere, and always there.
    fn plane(&self, page: u64) -> usize {
        (mixed(page ^ self.log) % self.dies.len() as u64) as usize
    }

    /// Reads a page: of which plane. It is read when the plane is free again.
    fn sense(&mut self, page: u64, now: f64) -> usize {
        let plane = self.plane(page);
        self.dies[plane] = self.dies[plane].max(now) + reads::sense(self.k, self.corner, false);
        plane
    }

    /// A page of somebody, so many bytes of it, is in the buffer: the stripe that it goes to, and when what that takes
    /// is programmed, if it was free.
    pub(super) fn page(&mut self, whose: u32, bytes: u64, now: f64) -> (usize, Option<f64>) {
        let stripe = self.turn;
        self.turn = (stripe + 1) % self.stripes.len();
        self.stripes[stripe].waiting.push_back((whose, bytes));
        (stripe, self.begin(stripe, now))
    }

    /// A stripe is programmed: whose pages those were, when what it takes next is, and whose data may come now.
    pub(super) fn programmed(&mut self, stripe: usize, now: f64) -> (Vec<(u32, u64)>, Option<f64>, Vec<u32>) {
        let s = &mut self.stripes[stripe];
        s.collects = false;
        let through = std::mem::take(&mut s.inside);
        self.used -= through.iter().map(|page| page.1).sum::<u64>().min(self.used);
        let next = self.begin(stripe, now);
        let mut come = Vec::new();
        while let Some((whose, bytes)) = self.waiting.front().copied().filter(|w| self.fits(w.1)) {
            self.waiting.pop_front();
            self.used += bytes;
            come.push(whose);
        }
        (through, next, come)
    }

    /// When what a free stripe takes is programmed; none where nothing waits, or it is not free.
    fn begin(&mut self, stripe: usize, now: f64) -> Option<f64> {
        let (k, corner) = (self.k, self.corner);
        let most = k.stripe_pages.at(corner).get() as usize;
        let s = &mut self.stripes[stripe];
        if !s.inside.is_empty() || s.collects {
            return None;
        }
        let full = most as u64 * 1000;
        let ready = if s.owed >= full {
            s.owed -= full;
            s.collects = true;
            self.collect(most, now)
        } else if s.waiting.is_empty() {
            return None;
        } else {
            let n = s.waiting.len().min(most);
            s.inside.extend(s.waiting.drain(..n));
            s.owed += n as u64 * ((k.write_amplification.at(corner).0 - 1.0) * 1000.0).round() as u64;
            now + s.inside.iter().map(|page| page.1).sum::<u64>() as f64 / k.stripe_rate.at(corner).bytes()
        };
        let s = &mut self.stripes[stripe];
        s.programs += 1;
        let mut span = k.program_time.at(corner).seconds();
        if s.programs > k.block_programs.at(corner).get() {
            s.programs = 1;
            span += k.erase_time.at(corner).seconds();
        }
        let begins = if k.die_programs.typical { self.hold(stripe, ready, span) } else { ready };
        self.worked += begins + span - now;
        Some(begins + span)
    }

    /// A program takes the dies of its stripe, when all are free: when it begins. Those that reads may suspend stay
    /// free for them.
    fn hold(&mut self, stripe: usize, ready: f64, span: f64) -> f64 {
        let (k, corner) = (self.k, self.corner);
        let [most, planes] = [&k.stripe_pages, &k.planes].map(|q| q.at(corner).get() as usize);
        let dies = self.dies.len() / planes;
        let held = |i: usize| {
            let die = (stripe * most + i) % dies;
            die * planes..(die + 1) * planes
        };
        let all = most.min(dies);
        let begins = (0..all).flat_map(held).fold(ready, |at, plane| at.max(self.dies[plane]));
        if k.suspend_time.is_none() {
            (0..all).flat_map(held).for_each(|plane| self.dies[plane] = begins + span);
        }
        begins
    }

    /// When as many pages as a program holds have been read for garbage collection.
    fn collect(&mut self, pages: usize, now: f64) -> f64 {
        let (k, corner) = (self.k, self.corner);
        let planes = k.planes.at(corner).get() as usize;
        let moves = k.page.typical.f64() / k.channel_rate.at(corner).bytes();
        let mut all = now;
        for _ in 0..pages {
            self.collected += 1;
            let plane = self.sense(mixed(self.collected.rotate_left(32)), now);
            let channel = plane / planes % self.channels.len();
            self.channels[channel] = self.channels[channel].max(self.dies[plane]) + moves;
            all = all.max(self.channels[channel]);
        }
        all
    }
}
