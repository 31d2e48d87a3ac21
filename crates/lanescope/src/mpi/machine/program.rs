//! A rank's program: which operation is next, and what it does.

use super::*;
use crate::mpi::op::UNNAMED;

/// What the program counter comes to.
pub(super) enum Next<'j> {
    Op(&'j Op),
    End,
    /// Too many steps at once.
    Later,
}

impl Core {
    /// Moves the program counter to the next operation.
    pub(super) fn fetch<'j>(&mut self, steps: &'j [Step], r: u32) -> Next<'j> {
        loop {
            self.steps += 1;
            self.fuel = self.fuel.saturating_sub(1);
            if self.fuel == 0 {
                return Next::Later;
            }
            let rank = &mut self.ranks[r as usize];
            let Some((top, above)) = rank.frames.split_last_mut() else { return Next::End };
            let mut list = steps;
            for frame in above.iter() {
                let (Step::Repeat { body, .. } | Step::Timed { body, .. } | Step::Untimed(body)) =
                    &list[frame.at as usize]
                else {
                    return Next::End;
                };
                list = body;
            }
            let inner = match list.get(top.at as usize) {
                Some(Step::Do(op)) => {
                    top.at += 1;
                    rank.step += 1;
                    return Next::Op(op);
                }
                Some(Step::Repeat { times, body }) => (*times > 0 && !body.is_empty()).then_some((NONE, *times)),
                Some(Step::Untimed(body)) => (!body.is_empty()).then_some((UNTIMED, 1)),
                Some(Step::Timed { section, times, body }) => {
                    let any = *times > 0 && !body.is_empty();
                    if any && !self.rows.enter(*section, r) {
                        let sections = self.rows.len();
                        self.fail(format!("rank {r} times section {section} of {sections}"));
                        return Next::Later;
                    }
                    (any && self.rows.begins(*section, r, 0)).then_some((*section, *times))
                }
                None => {
                    if above.is_empty() {
                        return Next::End;
                    }
                    let (section, next) = (top.section, top.round + 1);
                    let took = rank.time - top.began;
                    if section == UNTIMED {
                        // The clock around it has stood still.
                        if let Some(timed) = above.iter_mut().rev().find(|f| f.section < UNTIMED) {
                            timed.began += took;
                        }
                    } else if section != NONE {
                        self.rows.ended(section, r, took);
                    }
                    let again = next < top.times && (section >= UNTIMED || self.rows.begins(section, r, next));
                    if again {
                        (top.at, top.round, top.began) = (0, next, rank.time);
                    } else {
                        if let Some(outer) = above.last_mut() {
                            outer.at += 1;
                        }
                        rank.frames.pop();
                    }
                    self.repeats(r, section, false);
                    if again {
                        self.repeats(r, section, true);
                    }
                    continue;
                }
            };
            match inner {
                Some((section, times)) => {
                    let began = rank.time;
                    rank.frames.push(Frame { at: 0, section, times, round: 0, began });
                    self.repeats(r, section, true);
                }
                None => top.at += 1,
            }
        }
    }

    /// Begins an operation; the processor is free.
    pub(super) fn perform(&mut self, op: &Op, r: u32, out: &mut Vec<Post>) {
        self.calls(r, op);
        match op {
            Op::Compute(time) => return self.compute(r, time.fs()),
            Op::Work(work) => return self.compute(r, self.working(*work)),
            _ => {}
        }
        self.drain(r, out); // every call of the library looks at what has come
        match *op {
            Op::Compute(_) | Op::Work(_) => {}
            Op::Send { to, bytes, tag } => {
                let request = self.send(r, to, tag, bytes, 0, out);
                self.await_one(r, request);
            }
            Op::Recv { from, bytes, tag } => {
                let request = self.receive(r, from, tag, bytes, 0, out);
                self.await_one(r, request);
            }
            Op::Sendrecv { to, bytes, from, most, tag } => {
                let request = self.receive(r, Some(from), Some(tag), most, 0, out);
                self.await_one(r, request);
                let request = self.send(r, to, tag, bytes, 0, out);
                self.await_one(r, request);
            }
            Op::Isend { to, bytes, tag, request } => {
                let open = self.send(r, to, tag, bytes, 0, out);
                self.name(r, request, open);
            }
            Op::Irecv { from, bytes, tag, request } => {
                let open = self.receive(r, from, tag, bytes, 0, out);
                self.name(r, request, open);
            }
            Op::Wait(handle) => {
                let rank = &mut self.ranks[r as usize];
                match rank.handles.binary_search_by_key(&handle, |h| h.0) {
                    Ok(at) => {
                        let (_, request) = rank.handles.remove(at);
                        self.await_one(r, request);
                    }
                    Err(_) => self.fail(format!("rank {r} waits for request {handle}, which is not open")),
                }
            }
            Op::WaitAll => self.await_all(r),
            Op::Collective(ref what) => self.call(r, what),
        }
        let rank = &mut self.ranks[r as usize];
        if rank.pending > 0 {
            rank.state = State::Blocked;
        }
    }

    pub(super) fn compute(&mut self, r: u32, time: u64) {
        let begin = self.ranks[r as usize].time;
        self.ranks[r as usize].spend(time, |a| &mut a.computing);
        self.spent(r, Spending::Computing, begin);
    }

    /// How long so many floating-point operations take; at most [`Time::MAX`].
    pub(super) fn working(&self, work: f64) -> u64 {
        let fs = work / self.costs.work * 1e15;
        if fs > 0.0 { Time::from_fs(fs.round() as u64).fs() } else { 0 }
    }

    /// Gives a handle to a request.
    fn name(&mut self, r: u32, handle: u32, request: u32) {
        let handles = &mut self.ranks[r as usize].handles;
        if handle == UNNAMED {
            if request != NONE {
                handles.push((handle, request)); // the highest of all, so they stay sorted
            }
            return;
        }
        match handles.binary_search_by_key(&handle, |h| h.0) {
            Ok(_) => self.fail(format!("rank {r} begins request {handle}, which is still open")),
            Err(at) => handles.insert(at, (handle, request)),
        }
    }

    /// The program goes on when the request is complete.
    fn await_one(&mut self, r: u32, request: u32) {
        if request == NONE {
        } else if self.requests[request].done {
            self.requests.remove(request);
        } else {
            self.requests[request].awaited = true;
            self.ranks[r as usize].pending += 1;
        }
    }

    /// The same of all that is open.
    pub(super) fn await_all(&mut self, r: u32) {
        let handles = std::mem::take(&mut self.ranks[r as usize].handles);
        for &(_, request) in &handles {
            self.await_one(r, request);
        }
        let rank = &mut self.ranks[r as usize];
        rank.handles = handles;
        rank.handles.clear();
        if rank.pending > 0 {
            rank.state = State::Blocked;
        }
    }

    /// Begins a collective, if it is what the others called.
    fn call(&mut self, r: u32, what: &Collective) {
        let rank = &mut self.ranks[r as usize];
        let index = rank.collectives;
        rank.collectives += 1;
        let known = &mut self.called[(index % WINDOW) as usize];
        match known {
            Some(first) if first.index > index => {}
            Some(first) if first.index == index => {
                if !first.what.fits(what) {
                    let text = format!(
                        "collective {}: rank {} calls {}, rank {r} calls {what}",
                        index + 1,
                        first.rank,
                        first.what
                    );
                    return self.fail(text);
                }
            }
            _ => *known = Some(First { index, rank: r, what: what.clone() }),
        }
        match Call::new(what, self.ranks.len() as u32) {
            Ok(call) => {
                let rank = &mut self.ranks[r as usize];
                (rank.call, rank.round, rank.combine) = (Some(call), 0, 0);
            }
            Err(wrong) => self.fail(format!("rank {r} calls {what}: {wrong}")),
        }
    }

    /// The next round of a collective.
    pub(super) fn round(&mut self, r: u32, out: &mut Vec<Post>) {
        let rank = &mut self.ranks[r as usize];
        let Some(call) = rank.call.take() else { return };
        if rank.combine > 0 {
            let bytes = std::mem::take(&mut rank.combine);
            let time = self.reduce.map_or(0, |s| s.span(bytes));
            let work = call.work(bytes);
            let work = if work > 0.0 { self.working(work) } else { 0 };
            self.ranks[r as usize].call = Some(call);
            return self.compute(r, time.saturating_add(work));
        }
        self.steps += 1;
        self.fuel = self.fuel.saturating_sub(1);
        let Some(round) = call.round(r, rank.round) else { return };
        rank.round += 1;
        let tag = rank.collectives as u32;
        self.drain(r, out);
        if let Some((from, part)) = round.receive {
            let bytes = call.bytes(r, part);
            if round.combine {
                self.ranks[r as usize].combine = bytes;
            }
            let request = self.receive(r, Some(from), Some(tag), bytes, 1, out);
            self.await_one(r, request);
        }
        if let Some((to, part)) = round.send {
            let bytes = call.bytes(r, part);
            let request = self.send(r, to, tag, bytes, 1, out);
            self.await_one(r, request);
        }
        self.copy(r, round.copy);
        let rank = &mut self.ranks[r as usize];
        rank.call = Some(call);
        if round.wait && rank.pending > 0 {
            rank.state = State::Blocked;
        }
    }
}
