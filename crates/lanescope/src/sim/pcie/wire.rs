//! One direction of a link: the transmitter at its head, what is in flight, and the data link layer of the receiver at
//! its foot.
//!
//! A transmission is booked in whole slots behind what was booked before; nothing booked is ever taken back. DLLPs go
//! before TLPs, which are committed one at a time, when the wire falls free; so booking a DLLP at once is booking it in
//! its right place. Credits and Acks that come back are kept with their moment and applied when the transmitter looks;
//! they wake it only if it waits for them.

use crate::protocol::pcie::{self, Class, Generation};
use crate::result::{Idle, SlotCounts};
use crate::sim::core::clock::Clock;
use crate::sim::core::kernel::{Agenda, NEVER};
use crate::sim::core::recorder::SentTlp;
use crate::sim::pcie::{Reach, Ready};
use std::collections::VecDeque;

/// No TLP's body is smaller.
const LEAST_BODY: u16 = 12;

/// A TLP, from its first transmission on.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Tlp {
    /// When its first bit reaches the end of this hop, fs.
    pub(in crate::sim) head: u64,
    /// When its last bit does.
    pub(in crate::sim) tail: u64,
    /// When the part there may first act on it.
    pub(in crate::sim) ready: u64,
    /// When the operation began that it belongs to.
    pub(in crate::sim) born: u64,
    /// Index into the fabric's paths: the wire that it is on.
    pub(in crate::sim) at: u32,
    /// The flow.
    pub(in crate::sim) flow: u32,
    /// The requester's entry for the read that it belongs to.
    pub(in crate::sim) tag: u32,
    /// Header, payload in whole double words, digest: its wire size without framing.
    pub(in crate::sim) body: u16,
    /// Payload; of a read request, 0.
    pub(in crate::sim) payload: u16,
    /// Of a read request: bytes asked for.
    pub(in crate::sim) asks: u16,
    /// Its class.
    pub(in crate::sim) class: Class,
    /// Whether it is the last of its operation (posted) or request (completion).
    pub(in crate::sim) last: bool,
    /// Whether it carries no payload of its flow, but what belongs to a NIC's packets.
    pub(in crate::sim) control: bool,
}

impl Tlp {
    /// What a time line shows of it.
    pub(in crate::sim) fn sent(&self) -> SentTlp {
        let &Tlp { at, flow, tag, class, last, .. } = self;
        let bytes = if class == Class::NonPosted { self.asks } else { self.payload };
        SentTlp { class, flow, tag, bytes: bytes as u32, at, last }
    }
}

/// Credits of one kind that a transmitter has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Credits {
    /// The receiver advertised infinite credits.
    Infinite,
    /// So many are left.
    Left(u32),
}

impl Credits {
    fn covers(self, n: u32) -> bool {
        match self {
            Credits::Infinite => true,
            Credits::Left(left) => left >= n,
        }
    }

    fn take(&mut self, n: u32) {
        if let Credits::Left(left) = self {
            *left -= n;
        }
    }

    fn give(&mut self, n: u32) {
        if let Credits::Left(left) = self {
            *left += n;
        }
    }
}

/// A class's account at the transmitter, and what the receiver knows to have room for.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Account {
    pub(in crate::sim) headers: Credits,
    pub(in crate::sim) data: Credits,
}

/// Credits or replay space on their way back to the transmitter.
#[derive(Clone, Copy, Debug)]
struct Return {
    at: u64,
    /// The class of an UpdateFC; `None` is an Ack.
    class: Option<Class>,
    /// Header credits, or TLPs acknowledged.
    headers: u32,
    data: u32,
}

/// The retry buffer: TLPs stay in it until they are acknowledged (2.0, 3.5.2.1).
#[derive(Clone, Debug)]
struct Replay {
    left: u32,
    sizes: VecDeque<u32>,
}

/// How a receiver gathers what it answers.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Policy {
    /// After so many; `None` is never.
    pub(in crate::sim) every: Option<u32>,
    /// Or after so long since the first that waits, fs.
    pub(in crate::sim) limit: u64,
}

/// Buffer space of one class that is free again and not yet reported.
#[derive(Clone, Copy, Debug)]
struct Freed {
    count: u32,
    headers: u32,
    data: u32,
    /// An UpdateFC goes out when one of these is reached, so that a small buffer is not sat upon.
    headers_due: u32,
    data_due: u32,
    /// When it goes out in any case.
    deadline: u64,
}

/// An UpdateFC that is due.
#[derive(Clone, Copy, Debug)]
struct Update {
    at: u64,
    /// Whether the time of the first that it answers has run out: such go behind those that are complete at that
    /// moment.
    late: bool,
    class: Class,
    headers: u32,
    data: u32,
}

/// The regular SKP ordered sets of a direction.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Skp {
    /// The slot at or after which the next one goes out.
    due: u64,
    every: u64,
    size: u64,
}

/// Slots between two packets.
#[derive(Clone, Copy, Debug, Default)]
struct Gap {
    padding: u64,
    ordered_sets: u64,
    idle: u64,
}

/// What a direction of a link is made of.
pub(in crate::sim) struct WireSpec {
    pub(in crate::sim) clock: Clock,
    pub(in crate::sim) delay: u64,
    /// The part that sends.
    pub(in crate::sim) from: u32,
    pub(in crate::sim) generation: Generation,
    pub(in crate::sim) lanes: u64,
    pub(in crate::sim) skp: Option<(u64, u64)>,
    pub(in crate::sim) accounts: [Account; 3],
    pub(in crate::sim) replay: Option<u32>,
    pub(in crate::sim) acks: Policy,
    pub(in crate::sim) updates: Policy,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Wire {
    pub(in crate::sim) clock: Clock,
    pub(in crate::sim) delay: u64,
    pub(in crate::sim) from: u32,
    /// Slots of the agenda: the three heads and the data link layer at the receiver, and the transmitter.
    pub(in crate::sim) rx: u32,
    pub(in crate::sim) dl: u32,
    pub(in crate::sim) tx: u32,
    /// The local port at either end.
    pub(in crate::sim) port_from: u16,
    pub(in crate::sim) port_to: u16,
    /// Place of its rate among all rates of the plan.
    pub(in crate::sim) rank: u32,
    pub(in crate::sim) reach: Reach,
    pub(in crate::sim) generation: Generation,
    /// How long the first eight bytes of a packet take.
    pub(in crate::sim) header: u64,
    framing: u32,
    dllp: u32,
    lanes: u64,
    /// One less than the lanes, if they are a power of two.
    lane_mask: Option<u64>,
    skp: Skp,
    /// The first slot that is not booked, and its moment.
    next: u64,
    pub(in crate::sim) next_at: u64,
    /// Why nothing was sent when the wire fell idle.
    pub(in crate::sim) idle: Idle,
    /// What is accounted for already of the gap that goes on.
    settled: Gap,
    accounts: [Account; 3],
    replay: Option<Replay>,
    returns: VecDeque<Return>,
    /// The transmitter waits for something to come back.
    pub(in crate::sim) waiting: bool,
    /// Since when it has waited.
    pub(in crate::sim) blocked_since: u64,
    /// When the transmitter would have looked for something to send, in vain; 0 where it looks.
    pub(in crate::sim) spared: u64,
    /// Of which classes a packet that is not the last of something has no event: it is taken in with the next that is.
    pub(in crate::sim) gathers: [bool; 3],
    /// Whether buffers of writes are said to be free ahead, or have been.
    pub(in crate::sim) tells_ahead: bool,
    /// So many of the posted queue have given their credits back already.
    pub(in crate::sim) told: usize,
    /// In flight or in the receiver's buffer, by class.
    pub(in crate::sim) queues: [VecDeque<Tlp>; 3],
    /// Whether each packet of a class is announced to the receiver, not only the first of its queue: while that waits
    /// for a page walk.
    pub(in crate::sim) announced: [bool; 3],
    acks: Policy,
    unacked: u32,
    ack_deadline: u64,
    ack_due: VecDeque<(u64, u32)>,
    updates: Policy,
    freed: [Freed; 3],
    update_due: VecDeque<Update>,
    pub(in crate::sim) counts: SlotCounts,
}

impl Wire {
    pub(in crate::sim) fn new(spec: WireSpec) -> Wire {
        let half = |c: Credits| match c {
            Credits::Infinite => u32::MAX,
            Credits::Left(n) => (n / 2).max(1),
        };
        let freed = spec.accounts.map(|a| Freed {
            count: 0,
            headers: 0,
            data: 0,
            headers_due: half(a.headers),
            data_due: half(a.data),
            deadline: NEVER,
        });
        let (every, size) = spec.skp.unwrap_or((NEVER, 0));
        Wire {
            clock: spec.clock,
            delay: spec.delay,
            from: spec.from,
            rx: 0,
            dl: 0,
            tx: 0,
            port_from: 0,
            port_to: 0,
            rank: 0,
            reach: Reach::End,
            generation: spec.generation,
            header: spec.clock.span(8),
            framing: pcie::tlp_framing(spec.generation) as u32,
            dllp: pcie::dllp(spec.generation) as u32,
            lanes: spec.lanes,
            lane_mask: spec.lanes.is_power_of_two().then(|| spec.lanes - 1),
            skp: Skp { due: every, every, size },
            next: 0,
            next_at: 0,
            idle: Idle::NothingToSend,
            settled: Gap::default(),
            accounts: spec.accounts,
            replay: spec.replay.map(|left| Replay { left, sizes: VecDeque::new() }),
            returns: VecDeque::new(),
            waiting: false,
            blocked_since: NEVER,
            spared: 0,
            gathers: [false; 3],
            tells_ahead: false,
            told: 0,
            queues: Default::default(),
            announced: [false; 3],
            acks: spec.acks,
            unacked: 0,
            ack_deadline: NEVER,
            ack_due: VecDeque::new(),
            updates: spec.updates,
            freed,
            update_due: VecDeque::new(),
            counts: SlotCounts::default(),
        }
    }

    /// Wire bytes of a TLP here.
    #[inline]
    pub(in crate::sim) fn bytes(&self, body: u16) -> u32 {
        self.framing + body as u32
    }

    /// Books `bytes` from `now` on: (begin, end) at the transmitter.
    #[inline]
    fn book(&mut self, now: u64, bytes: u64) -> (u64, u64) {
        let mut begin = self.next;
        let mut begin_at = self.next_at;
        if begin_at < now {
            begin = self.rest(now);
            begin_at = self.clock.time(begin);
        }
        if begin >= self.skp.due {
            while begin >= self.skp.due {
                begin += self.skp.size;
                self.skp.due += self.skp.every;
                self.counts.ordered_sets += self.skp.size;
            }
            begin_at = self.clock.time(begin);
        }
        self.next = begin + bytes;
        self.next_at = self.clock.time(self.next);
        (begin_at, self.next_at)
    }

    /// The first slot from `n` on that is on lane 0. All widths but x12 do without a division.
    #[inline]
    fn lane0(&self, n: u64) -> u64 {
        match self.lane_mask {
            Some(mask) => (n + mask) & !mask,
            None => n.next_multiple_of(self.lanes),
        }
    }

    /// The wire was idle until `now`: accounts for it, and gives the slot where the next packet begins.
    fn rest(&mut self, now: u64) -> u64 {
        let (begin, gap) = self.gap(now);
        self.account(gap);
        self.settled = Gap::default();
        begin
    }

    /// Accounts for what is not yet of a gap.
    #[inline]
    fn account(&mut self, gap: Gap) {
        self.counts.padding += gap.padding - self.settled.padding;
        self.counts.ordered_sets += gap.ordered_sets - self.settled.ordered_sets;
        self.counts.idle[self.idle as usize] += gap.idle - self.settled.idle;
        self.settled = gap;
    }

    /// The slot where a packet of `now` begins, and what lies before it. The last symbol time is filled up with
    /// padding, ordered sets go out when they are due, and a packet after idle begins on lane 0.
    fn gap(&mut self, now: u64) -> (u64, Gap) {
        let padded = self.lane0(self.next);
        let now = self.clock.slot(now);
        let mut begin = self.lane0(now).max(padded);
        let mut sets = 0;
        if self.skp.due < begin {
            let n = (begin - 1 - self.skp.due) / self.skp.every + 1;
            sets = n * self.skp.size;
            let last = self.skp.due + (n - 1) * self.skp.every;
            self.skp.due += n * self.skp.every;
            begin = self.lane0(begin.max(last.max(padded) + self.skp.size).max(padded + sets));
        }
        (begin, Gap { padding: padded - self.next, ordered_sets: sets, idle: begin - padded - sets })
    }

    /// Accounts for idle slots up to a moment, so that the counts can be read. What is sent at this very moment begins
    /// as if nobody had looked.
    pub(in crate::sim) fn settle(&mut self, now: u64) {
        if self.next_at < now {
            let due = self.skp.due;
            let (_, gap) = self.gap(now);
            self.skp.due = due;
            self.account(gap);
        }
    }

    /// Whether credits and replay space allow a TLP now; applies what has come back when they do not.
    #[inline]
    pub(in crate::sim) fn may_send(&mut self, class: Class, body: u16, payload: u16, now: u64) -> bool {
        self.covers(class, body, payload) || self.take_returns(now) && self.covers(class, body, payload)
    }

    /// Applies what has come back by now, if anything has.
    #[inline(never)]
    fn take_returns(&mut self, now: u64) -> bool {
        let mut any = false;
        while let Some(r) = self.returns.front().copied().filter(|r| r.at <= now) {
            self.returns.pop_front();
            any = true;
            match r.class {
                Some(class) => {
                    let account = &mut self.accounts[class as usize];
                    account.headers.give(r.headers);
                    account.data.give(r.data);
                }
                None => {
                    if let Some(replay) = &mut self.replay {
                        replay.left += replay.sizes.drain(..r.headers as usize).sum::<u32>();
                    }
                }
            }
        }
        any
    }

    #[inline]
    fn covers(&self, class: Class, body: u16, payload: u16) -> bool {
        let account = &self.accounts[class as usize];
        account.headers.covers(1)
            && account.data.covers(data_credits(payload))
            && self.replay.as_ref().is_none_or(|r| r.left >= self.bytes(body))
    }

    /// Why a TLP could not go: credits of its class, or the retry buffer.
    pub(in crate::sim) fn lack(&self, class: Class, payload: u16) -> Idle {
        let account = &self.accounts[class as usize];
        if account.headers.covers(1) && account.data.covers(data_credits(payload)) {
            return Idle::ReplayBuffer;
        }
        match class {
            Class::Posted => Idle::PostedCredits,
            Class::NonPosted => Idle::NonPostedCredits,
            Class::Completion => Idle::CompletionCredits,
        }
    }

    /// Waits for what is on its way back: wakes the transmitter then.
    pub(in crate::sim) fn wait(&mut self, now: u64, agenda: &mut Agenda) {
        if !self.waiting {
            self.waiting = true;
            self.blocked_since = now;
        }
        if let Some(r) = self.returns.front() {
            agenda.by(self.tx, r.at.max(now + 1));
        }
    }

    /// Whether credits and replay space will lack for such a TLP when the wire falls free, as far as is known by now.
    #[inline]
    pub(in crate::sim) fn will_lack(&self, class: Class, body: u16, payload: u16) -> bool {
        !self.covers(class, body, payload) && self.returns.front().is_none_or(|r| r.at > self.next_at)
    }

    /// Nothing can be sent when the wire falls free, unless something happens before: so nobody looks for it then, and
    /// the transmitter waits as if somebody had.
    pub(in crate::sim) fn wait_ahead(&mut self, idle: Idle, agenda: &mut Agenda) {
        (self.idle, self.spared) = (idle, self.next_at);
        let mut wake = NEVER;
        if idle.is_credit() {
            (self.waiting, self.blocked_since) = (true, self.next_at);
            wake = self.returns.front().map_or(NEVER, |r| r.at);
        }
        agenda.set(self.tx, wake);
    }

    /// Counts the event that the transmitter was spared, if it was before a moment. Whether one is still to come.
    #[inline]
    pub(in crate::sim) fn count_spared(&mut self, before: u64, agenda: &mut Agenda) -> bool {
        if self.spared < before && self.spared > 0 {
            agenda.events += 1;
            self.spared = 0;
        }
        self.spared > 0
    }

    /// The transmitter is not spared the event that is to come.
    pub(in crate::sim) fn spare_not(&mut self, agenda: &mut Agenda) {
        agenda.by(self.tx, self.spared);
        (self.spared, self.waiting, self.blocked_since) = (0, false, NEVER);
    }

    /// Puts a TLP on the wire, `now` or as soon as it is free, and announces it to the receiver, where a part may act
    /// as `ready` says. Gives the moment of its first bit at the transmitter.
    #[inline]
    pub(in crate::sim) fn send(&mut self, tlp: &mut Tlp, now: u64, ready: Ready, agenda: &mut Agenda) -> u64 {
        let wire = self.bytes(tlp.body);
        let account = &mut self.accounts[tlp.class as usize];
        account.headers.take(1);
        account.data.take(data_credits(tlp.payload));
        if let Some(replay) = &mut self.replay {
            replay.left -= wire;
            replay.sizes.push_back(wire);
        }
        let (begin, end) = self.book(now, wire as u64);
        let counts = &mut self.counts;
        counts.tlps += 1;
        if tlp.class == Class::NonPosted {
            counts.requests += wire as u64;
        } else if tlp.control {
            counts.control += wire as u64;
        } else {
            counts.payload += tlp.payload as u64;
            counts.framing += (wire - tlp.payload as u32) as u64;
            counts.data_tlps += 1;
        }
        tlp.head = begin + self.delay;
        tlp.tail = end + self.delay;
        tlp.ready = (tlp.head + ready.after_head).max((tlp.tail + ready.after_tail).saturating_sub(ready.early));
        self.waiting = false;
        self.blocked_since = NEVER;
        self.expect_ack(tlp.tail, agenda);
        let class = tlp.class as usize;
        if matches!(self.reach, Reach::Counted(_)) {
            // Its buffer is free at once: that can be said now.
            self.free(tlp.class, tlp.payload, tlp.ready, agenda);
        } else if self.gathers[class] {
            if tlp.class == Class::Posted {
                self.free(tlp.class, tlp.payload, tlp.ready, agenda);
            }
            if tlp.last {
                agenda.by(self.rx + class as u32, tlp.ready);
            }
        } else if self.queues[class].is_empty() {
            agenda.set(self.rx + class as u32, tlp.ready);
        } else if self.announced[class] {
            agenda.by(self.rx + class as u32, tlp.ready);
        }
        self.queues[class].push_back(*tlp);
        begin
    }

    /// The receiver will acknowledge a TLP whose last bit comes at `tail`: with the N-th since its last Ack, or when
    /// the limit ends.
    #[inline]
    fn expect_ack(&mut self, tail: u64, agenda: &mut Agenda) {
        let Some(every) = self.acks.every else { return };
        if self.unacked > 0 && self.ack_deadline <= tail {
            self.ack_due.push_back((self.ack_deadline, self.unacked));
            self.unacked = 0;
        }
        self.unacked += 1;
        if self.unacked == 1 {
            self.ack_deadline = tail + self.acks.limit;
            agenda.by(self.dl, self.ack_deadline);
        }
        if self.unacked >= every {
            self.ack_due.push_back((tail, self.unacked));
            self.unacked = 0;
            agenda.by(self.dl, tail);
        }
    }

    /// The receiver's buffer is free of a TLP from `since` on.
    #[inline]
    pub(in crate::sim) fn free(&mut self, class: Class, payload: u16, since: u64, agenda: &mut Agenda) {
        let account = &self.accounts[class as usize];
        if account.headers == Credits::Infinite && account.data == Credits::Infinite {
            return;
        }
        let data = data_credits(payload);
        let Some(every) = self.updates.every else {
            // Without UpdateFCs the credits fly back by themselves.
            let at = since + self.delay + self.clock.span(self.dllp.max(8) as u64);
            self.give_back(Return { at, class: Some(class), headers: 1, data }, agenda);
            return;
        };
        let f = &mut self.freed[class as usize];
        if f.count > 0 && f.deadline <= since {
            let (at, headers, data) = (f.deadline, f.headers, f.data);
            (f.count, f.headers, f.data) = (0, 0, 0);
            self.due(Update { at, late: at < since, class, headers, data });
        }
        let f = &mut self.freed[class as usize];
        f.count += 1;
        f.headers += 1;
        f.data += data;
        if f.count >= every || f.headers >= f.headers_due || f.data >= f.data_due {
            let (headers, data) = (f.headers, f.data);
            (f.count, f.headers, f.data) = (0, 0, 0);
            let mut at = since;
            if !self.tells_ahead {
                // A class of packets may be read out while another still is: reports stay in order.
                at = at.max(self.update_due.back().map_or(0, |u| u.at));
            }
            self.due(Update { at, late: false, class, headers, data });
            agenda.by(self.dl, at);
        } else if f.count == 1 {
            f.deadline = since + self.updates.limit;
            agenda.by(self.dl, f.deadline);
        }
    }

    /// An UpdateFC is due: behind all others, unless those are of writes and are said ahead.
    #[inline]
    fn due(&mut self, update: Update) {
        let order = |u: &Update| (u.at, u.late);
        let sooner = |u: &&Update| self.tells_ahead && order(u) > order(&update);
        let behind = self.update_due.iter().rev().take_while(sooner).count();
        self.update_due.insert(self.update_due.len() - behind, update);
    }

    /// Drops the next of a class from a buffer that is free of it by itself, and sets the event of the next last one
    /// where this was a last one.
    #[inline]
    pub(in crate::sim) fn drop_gathered(&mut self, class: Class, last: bool, agenda: &mut Agenda) {
        let queue = &mut self.queues[class as usize];
        queue.pop_front();
        if last {
            let next = queue.iter().find(|tlp| tlp.last).map_or(NEVER, |tlp| tlp.ready);
            agenda.set(self.rx + class as u32, next);
        }
    }

    /// Whether its receiver may say ahead when a buffer will be free: not where credits fly back by themselves, since
    /// Acks may be sooner.
    pub(in crate::sim) fn may_tell_ahead(&self) -> bool {
        self.updates.every.is_some()
    }

    /// TLPs that it may begin to carry in such a time, at most.
    pub(in crate::sim) fn most_packets(&self, span: u64) -> u64 {
        span / self.clock.span(self.bytes(LEAST_BODY).into()).max(1) + 1
    }

    fn give_back(&mut self, mut r: Return, agenda: &mut Agenda) {
        r.at = r.at.max(self.returns.back().map_or(0, |b| b.at));
        if let (Some(trace), Some(class)) = (&mut agenda.trace, r.class) {
            trace.returns(self.tx, class as usize, r.headers, r.at);
        }
        self.returns.push_back(r);
        if self.waiting {
            agenda.by(self.tx, r.at.max(self.spared));
        }
    }

    /// The data link layer at the receiver: sends the DLLPs that are due over `back`, the other direction.
    pub(in crate::sim) fn answer(&mut self, back: &mut Wire, now: u64, agenda: &mut Agenda) {
        loop {
            let count = match self.ack_due.front() {
                Some(&(at, count)) if at <= now => {
                    self.ack_due.pop_front();
                    count
                }
                None if self.unacked > 0 && self.ack_deadline <= now => std::mem::take(&mut self.unacked),
                _ => break,
            };
            let at = back.dllp(now, false, agenda);
            back.counts.acks += back.dllp as u64;
            if self.replay.is_some() {
                self.give_back(Return { at, class: None, headers: count, data: 0 }, agenda);
            }
        }
        while let Some(u) = self.update_due.front().copied().filter(|u| u.at <= now) {
            self.update_due.pop_front();
            self.update(back, now, u, agenda);
        }
        let mut next = match self.ack_due.front() {
            Some(&(at, _)) => at,
            None if self.unacked > 0 => self.ack_deadline,
            None => NEVER,
        };
        for class in Class::ALL {
            let f = &mut self.freed[class as usize];
            if f.count == 0 {
                continue;
            }
            if f.deadline <= now {
                let (headers, data) = (f.headers, f.data);
                (f.count, f.headers, f.data) = (0, 0, 0);
                self.update(back, now, Update { at: now, late: true, class, headers, data }, agenda);
            } else {
                next = next.min(f.deadline);
            }
        }
        if let Some(u) = self.update_due.front() {
            next = next.min(u.at);
        }
        agenda.set(self.dl, next);
    }

    fn update(&mut self, back: &mut Wire, now: u64, u: Update, agenda: &mut Agenda) {
        let at = back.dllp(now, true, agenda);
        back.counts.update_fc += back.dllp as u64;
        self.give_back(Return { at, class: Some(u.class), headers: u.headers, data: u.data }, agenda);
    }

    /// Books a DLLP; gives when its last bit is at the other end.
    fn dllp(&mut self, now: u64, update: bool, agenda: &mut Agenda) -> u64 {
        if self.dllp == 0 {
            return now + self.delay + self.clock.span(8);
        }
        if self.spared >= now.max(1) {
            // The wire falls free later, and nobody knows yet what has come back by then.
            self.spare_not(agenda);
        }
        let (begin, end) = self.book(now, self.dllp as u64);
        if let Some(trace) = &mut agenda.trace {
            trace.dllp(self.tx, update, begin, end);
        }
        end + self.delay
    }

    /// TLPs in flight and in the receiver's buffer, and the payload in them.
    pub(in crate::sim) fn held(&self) -> (usize, u64) {
        let all = self.queues.iter().flatten();
        all.fold((0, 0), |(n, bytes), tlp| (n + 1, bytes + tlp.payload as u64))
    }

    /// Credits of a class that the transmitter has left: (headers, data), of finite accounts.
    pub(in crate::sim) fn left(&self, class: Class) -> (Option<u32>, Option<u32>) {
        let left = |c: Credits| match c {
            Credits::Infinite => None,
            Credits::Left(n) => Some(n),
        };
        let a = &self.accounts[class as usize];
        (left(a.headers), left(a.data))
    }
}

#[inline]
fn data_credits(payload: u16) -> u32 {
    pcie::data_credits(payload as u64) as u32
}
