//! Who waits for whom, in words: for runs that come to a standstill.

use super::*;
use crate::units::Bytes;
use std::fmt::Write;

/// So many lines tell a person enough.
const LINES: usize = 64;

impl Machine {
    /// One line for each rank that waits: for what, and what became of the other; then the messages that nobody
    /// received. At most 64 lines. When nothing is under way and [`next`](Machine::next) is `u64::MAX`, those that wait
    /// do so for ever.
    pub fn waiting(&self) -> Vec<String> {
        let core = &self.core;
        let mut lines = Vec::new();
        let open = core.open();
        let mut rest = &open[..];
        for (r, rank) in core.ranks.iter().enumerate() {
            let own = rest.iter().take_while(|q| q.rank as usize == r).count();
            let (mine, others) = rest.split_at(own);
            rest = others;
            if rank.state == State::Blocked && !rank.scheduled {
                lines.push(core.wait_of(r, rank, mine));
            }
        }
        for (r, rank) in core.ranks.iter().enumerate() {
            let Some((first, count)) = core.unreceived_of(rank) else { continue };
            let plural = if count == 1 { "a message" } else { "messages" };
            let many = if count == 1 { String::new() } else { format!("{count} ") };
            let size = Bytes(first.bytes);
            let mut line = format!("rank {r} has {many}{plural} that it never received: ");
            if count > 1 {
                line += "the first ";
            }
            let _ = write!(line, "from rank {}", first.from);
            if first.context == 0 {
                let _ = write!(line, ", tag {}, {size}", first.tag);
            } else {
                let _ = write!(line, " in a collective, {size}");
            }
            lines.push(line);
        }
        if lines.len() > LINES {
            let more = lines.len() - (LINES - 1);
            lines.truncate(LINES - 1);
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// Ranks that wait for one another in a circle, each for the next and the last for the first; empty where there is
    /// none.
    pub fn circle(&self) -> Vec<u32> {
        let core = &self.core;
        let open = core.open();
        let blocked = |r: u32| core.ranks[r as usize].state == State::Blocked && !core.ranks[r as usize].scheduled;
        // All that a rank waits for must come, so each of them is an edge; a receive from any rank is none. A walk in
        // depth, without recursion.
        let n = core.ranks.len();
        let mut first = vec![0usize; n + 1];
        for q in &open {
            first[q.rank as usize + 1] += 1;
        }
        for r in 0..n {
            first[r + 1] += first[r];
        }
        let mut state = vec![0u8; n]; // 0 new, 1 on the path, 2 leads nowhere
        for start in 0..n as u32 {
            let mut path = vec![(start, first[start as usize])];
            if state[start as usize] != 0 || !blocked(start) {
                continue;
            }
            state[start as usize] = 1;
            while let Some((r, edge)) = path.last_mut() {
                let Some(q) = (*edge < first[*r as usize + 1]).then(|| &open[*edge]) else {
                    state[*r as usize] = 2;
                    path.pop();
                    continue;
                };
                *edge += 1;
                if q.peer == NONE || !blocked(q.peer) {
                    continue;
                }
                match state[q.peer as usize] {
                    0 => {
                        state[q.peer as usize] = 1;
                        path.push((q.peer, first[q.peer as usize]));
                    }
                    1 => {
                        return path.iter().map(|p| p.0).skip_while(|&p| p != q.peer).collect();
                    }
                    _ => {}
                }
            }
        }
        Vec::new()
    }

    /// Messages that have come and that no receive has asked for.
    pub fn unreceived(&self) -> u64 {
        self.core.ranks.iter().filter_map(|r| self.core.unreceived_of(r)).map(|u| u.1).sum()
    }
}

impl Core {
    /// Requests that programs wait for, by rank and in their order.
    fn open(&self) -> Vec<Request> {
        let mut open: Vec<Request> =
            self.requests.all.iter().filter(|q| !q.done && (q.awaited || q.task != NONE)).copied().collect();
        open.sort_by_key(|q| (q.rank, q.sends));
        open
    }

    fn unreceived_of(&self, rank: &Rank) -> Option<(Message, u64)> {
        let held = rank.unexpected.iter().flatten().map(|u| u.message);
        let mut all = held.chain(rank.inbox.iter().copied()).map(|m| self.messages[m]);
        let mut asked = all.by_ref().filter(|m| matches!(m.what, What::Eager | What::Request));
        let first = asked.next()?;
        Some((first, 1 + asked.count() as u64))
    }

    fn wait_of(&self, r: usize, rank: &Rank, open: &[Request]) -> String {
        let mut line = format!("rank {r} waits ");
        let Some(q) = open.first() else {
            let tasks = rank.graph.as_ref().map_or(0, |g| g.open);
            let _ = write!(line, "for tasks that never end: {tasks} are left");
            return line;
        };
        let who = if q.peer == NONE { "any rank".to_owned() } else { format!("rank {}", q.peer) };
        match &rank.call {
            Some(call) => {
                let what = if q.sends { "to take what it sends" } else { "to send" };
                let _ = write!(line, "in {} for {who} {what} (its collective {}", call.kind().name(), rank.collectives);
            }
            None => {
                let what = if q.sends { "send to" } else { "recv from" };
                let _ = write!(line, "in {what} {who}");
                match q.tag {
                    Some(tag) => {
                        let _ = write!(line, ", tag {tag}");
                    }
                    None => line += ", any tag",
                }
                if q.bytes != u64::MAX {
                    let _ = write!(line, ", {}", Bytes(q.bytes));
                }
                line += " (";
            }
        }
        if rank.call.is_some() {
            line += ", ";
        }
        if rank.ending {
            line += "at its end";
        } else {
            let _ = write!(line, "step {}", rank.step);
        }
        if open.len() > 1 {
            let _ = write!(line, ", and for {} more", open.len() - 1);
        }
        line += ")";
        if q.peer != NONE && self.ranks[q.peer as usize].state == State::Done {
            let _ = write!(line, "; {who} has finished");
        }
        line
    }
}
