//! Messages: matching, eager, rendezvous.

use super::*;

/// A message on its way, or come and not matched yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) tag: u32,
    pub(super) what: What,
    /// Point-to-point or collective.
    pub(super) context: u8,
    /// The sender knows that it has left.
    pub(super) left: bool,
    /// The receiver needs it no more.
    pub(super) taken: bool,
    /// Bytes of the program.
    pub(super) bytes: u64,
    /// The sender's request, if it has one.
    pub(super) send: u32,
    /// The receiver's, from the clear-to-send on.
    pub(super) receive: u32,
}

/// Something begun that the program may wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) rank: u32,
    /// The other rank; [`NONE`]: any.
    pub(super) peer: u32,
    /// [`None`]: any.
    pub(super) tag: Option<u32>,
    pub(super) bytes: u64,
    /// The task of a graph that it is.
    pub(super) task: u32,
    pub(super) sends: bool,
    pub(super) done: bool,
    /// The program waits for it now; it goes when it is done.
    pub(super) awaited: bool,
}

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) from: u32,
    pub(super) tag: Option<u32>,
    pub(super) request: u32,
}

/// A message that waits for its receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unexpected {
    pub(super) from: u32,
    pub(super) tag: u32,
    pub(super) message: u32,
}

impl Core {
    fn same_node(&self, a: u32, b: u32) -> bool {
        self.node_of[a as usize] == self.node_of[b as usize]
    }

    pub(super) fn copy(&mut self, r: u32, bytes: u64) {
        if let Some(speed) = self.copy
            && bytes > 0
        {
            let begin = self.ranks[r as usize].time;
            self.ranks[r as usize].spend(speed.span(bytes), |a| &mut a.copying);
            self.spent(r, Spending::Copying, begin);
        }
    }

    fn pay_send(&mut self, r: u32) {
        let begin = self.ranks[r as usize].time;
        self.ranks[r as usize].spend(self.costs.send, |a| &mut a.sending);
        self.paid(r, begin);
    }

    /// Hands a message over, at the moment until which the processor is busy.
    fn post(&mut self, message: Message, out: &mut Vec<Post>) {
        let at = self.ranks[message.from as usize].time;
        let Message { from, to, what, .. } = message;
        if self.messages.used() >= self.most_open {
            self.fail(format!("more than {} messages are under way, or wait for their receives", self.most_open));
        }
        if self.same_node(from, to) {
            let slot = self.messages.add(Message { left: true, ..message });
            self.mailed(slot);
            self.order += 1;
            self.near.push(Reverse((at, self.order, slot)));
            return;
        }
        let bytes = match what {
            What::Eager => message.bytes.saturating_add(self.costs.header),
            What::Request | What::Clear => self.costs.control,
            What::Data => message.bytes,
        };
        let token = self.messages.add(message);
        self.mailed(token);
        out.push(Post { token, from, to, bytes, what, at });
    }

    /// A program that only begins things must not eat the memory.
    fn enough(&mut self) {
        if self.requests.used() >= self.most_open {
            self.fail(format!("more than {} sends and receives are open", self.most_open));
        }
    }

    /// Begins a send. Its request, or [`NONE`]: the buffer is free already.
    pub(super) fn send(&mut self, r: u32, to: u32, tag: u32, bytes: u64, context: u8, out: &mut Vec<Post>) -> u32 {
        if to as usize >= self.ranks.len() {
            self.fail(format!("rank {r} sends to rank {to} of {}", self.ranks.len()));
            return NONE;
        }
        let account = &mut self.ranks[r as usize].account;
        account.messages += 1;
        account.bytes = account.bytes.saturating_add(bytes);
        self.enough();
        self.pay_send(r);
        let near = self.same_node(r, to);
        let eager = self.costs.verbs || bytes <= self.costs.eager;
        let copied = eager && (near || !self.costs.verbs);
        let mut request = NONE;
        if copied {
            self.copy(r, bytes);
        } else {
            let open = Request {
                rank: r,
                peer: to,
                tag: Some(tag),
                bytes,
                task: NONE,
                sends: true,
                done: false,
                awaited: false,
            };
            request = self.requests.add(open);
        }
        let what = if eager { What::Eager } else { What::Request };
        let message =
            Message { from: r, to, tag, what, context, left: false, taken: false, bytes, send: request, receive: NONE };
        self.post(message, out);
        request
    }

    /// Begins a receive. Its request, or [`NONE`]: the message was there.
    pub(super) fn receive(
        &mut self,
        r: u32,
        from: Option<u32>,
        tag: Option<u32>,
        bytes: u64,
        context: u8,
        out: &mut Vec<Post>,
    ) -> u32 {
        if let Some(from) = from.filter(|&f| f as usize >= self.ranks.len()) {
            self.fail(format!("rank {r} receives from rank {from} of {}", self.ranks.len()));
            return NONE;
        }
        self.enough();
        let peer = from.unwrap_or(NONE);
        let open = Request { rank: r, peer, tag, bytes, task: NONE, sends: false, done: false, awaited: false };
        let queue = &mut self.ranks[r as usize].unexpected[context as usize];
        let at = queue.iter().position(|u| (peer == NONE || u.from == peer) && tag.is_none_or(|t| t == u.tag));
        if let Some(found) = at.and_then(|at| queue.remove(at)) {
            let request = self.requests.add(open);
            self.matched(found.message, request, out);
            if self.requests[request].done {
                self.requests.remove(request);
                return NONE;
            }
            return request;
        }
        let request = self.requests.add(open);
        self.ranks[r as usize].posted[context as usize].push_back(Posted { from: peer, tag, request });
        request
    }

    /// A message, or the request for one, and its receive have met.
    fn matched(&mut self, m: u32, request: u32, out: &mut Vec<Post>) {
        let message = self.messages[m];
        let open = self.requests[request];
        if message.bytes > open.bytes {
            let tag = if message.context == 0 { format!(", tag {}", message.tag) } else { String::new() };
            self.fail(format!(
                "rank {} receives at most {} B from rank {}{tag}, which sends {} B",
                message.to, open.bytes, message.from, message.bytes
            ));
            return;
        }
        let (r, sender) = (message.to, message.from);
        if message.what == What::Eager {
            if !self.costs.verbs && !self.same_node(r, sender) {
                self.copy(r, message.bytes);
            }
            self.complete(request);
        } else {
            self.pay_send(r);
            let answer = Message { from: r, to: sender, what: What::Clear, left: false, receive: request, ..message };
            self.post(answer, out);
        }
        self.release(m);
    }

    /// The receiver needs a message no more.
    fn release(&mut self, m: u32) {
        self.messages[m].taken = true;
        if self.messages[m].left {
            self.messages.remove(m);
        }
    }

    fn complete(&mut self, request: u32) {
        let ended = &mut self.requests[request];
        ended.done = true;
        let Request { rank, task, awaited, .. } = *ended;
        let rank = &mut self.ranks[rank as usize];
        if let Some(graph) = rank.graph.as_mut().filter(|_| task != NONE) {
            graph.completed(task);
            self.requests.remove(request);
        } else if awaited {
            rank.pending -= 1;
            self.requests.remove(request);
        }
    }

    /// Handles what has come, in its order.
    pub(super) fn drain(&mut self, r: u32, out: &mut Vec<Post>) {
        while let Some(m) = self.ranks[r as usize].inbox.pop_front() {
            self.steps += 1;
            let rank = &mut self.ranks[r as usize];
            let begin = rank.time;
            rank.spend(self.costs.receive, |a| &mut a.receiving);
            self.received(m, begin);
            let rank = &mut self.ranks[r as usize];
            let message = self.messages[m];
            match message.what {
                What::Eager | What::Request => {
                    let Message { from, tag, context, .. } = message;
                    let queue = &mut rank.posted[context as usize];
                    let fits = |p: &Posted| (p.from == from || p.from == NONE) && p.tag.is_none_or(|t| t == tag);
                    match queue.iter().position(fits).and_then(|at| queue.remove(at)) {
                        Some(posted) => self.matched(m, posted.request, out),
                        None => rank.unexpected[context as usize].push_back(Unexpected { from, tag, message: m }),
                    }
                }
                What::Clear => {
                    self.pay_send(r);
                    let near = self.same_node(r, message.from);
                    if near {
                        self.copy(r, message.bytes);
                        self.complete(message.send);
                    }
                    let data = Message { from: r, to: message.from, what: What::Data, left: false, ..message };
                    self.post(data, out);
                    self.release(m);
                }
                What::Data => {
                    self.complete(message.receive);
                    self.release(m);
                }
            }
        }
    }

    /// A message has come.
    pub(super) fn come(&mut self, job: &Job, m: u32, now: u64, out: &mut Vec<Post>) {
        let to = self.messages[m].to;
        self.ranks[to as usize].inbox.push_back(m);
        self.wake(job, to, now, out);
    }

    /// A message has left.
    pub(super) fn left(&mut self, job: &Job, m: u32, now: u64, out: &mut Vec<Post>) {
        let message = &mut self.messages[m];
        message.left = true;
        let Message { from, what, send, taken, .. } = *message;
        if taken {
            self.messages.remove(m);
        }
        if send != NONE && matches!(what, What::Data | What::Eager) {
            self.complete(send);
            if self.satisfied(from) {
                self.wake(job, from, now, out);
            }
        }
    }
}
