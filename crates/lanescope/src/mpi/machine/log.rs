//! What ranks did when, for a time line: taken down only while somebody asks for it.

use super::*;
use crate::mpi::op::Kind;

/// What a processor spent time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spending {
    /// The program's own work, and combining.
    Computing,
    /// Copying into and out of buffers of the library.
    Copying,
    /// Nothing: it waited for messages, or for sends to leave.
    Waiting,
}

/// A message as its ends know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// As in [`Post::token`]; messages within a node have one too.
    pub token: u32,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Of the program; of messages of a collective, the collective's number.
    pub tag: u32,
    /// Bytes of the program, whatever is carried of them by this one.
    pub bytes: u64,
    /// Its kind.
    pub what: What,
}

/// What a rank called, or the section that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// A call of the library: its name, other ranks, bytes and tag, as far as it has them.
    Call {
        /// `recv`, `wait`.
        name: &'static str,
        /// Rank to send to, or the root.
        to: Option<u32>,
        /// Rank to receive from.
        from: Option<u32>,
        /// Bytes.
        bytes: Option<u64>,
        /// Tag.
        tag: Option<u32>,
    },
    /// A collective, and its bytes.
    Collective(Kind, u64),
    /// A repetition of a timed section.
    Section(u32),
}

/// One line of the log. Moments are in femtoseconds; lines of a rank come in the order in which their ends became
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logged {
    /// Time went.
    Spent {
        /// Whose.
        rank: u32,
        /// For what.
        on: Spending,
        /// From when.
        begin: u64,
        /// Until when.
        end: u64,
    },
    /// A message was handed over.
    Sent {
        /// Which.
        mail: Mail,
        /// When the sender's overhead began.
        begin: u64,
        /// When it was over.
        end: u64,
    },
    /// A message was taken in.
    Received {
        /// Which.
        mail: Mail,
        /// When the receiver's overhead began.
        begin: u64,
        /// When it was over.
        end: u64,
    },
    /// A call, or a repetition of a section, began. They lie within one another.
    Began {
        /// Whose.
        rank: u32,
        /// When.
        at: u64,
        /// What.
        what: Called,
    },
    /// What began last and has not ended, ended.
    Ended {
        /// Whose.
        rank: u32,
        /// When.
        at: u64,
    },
}

fn called(op: &Op) -> Option<Called> {
    let call = |name, to, from, bytes: Option<u64>, tag| {
        let bytes = bytes.filter(|b| *b < u64::MAX);
        Some(Called::Call { name, to, from, bytes, tag })
    };
    match *op {
        Op::Compute(_) | Op::Work(_) => None,
        Op::Send { to, bytes, tag } => call("send", Some(to), None, Some(bytes), Some(tag)),
        Op::Recv { from, bytes, tag } => call("recv", None, from, Some(bytes), tag),
        Op::Isend { to, bytes, tag, .. } => call("isend", Some(to), None, Some(bytes), Some(tag)),
        Op::Irecv { from, bytes, tag, .. } => call("irecv", None, from, Some(bytes), tag),
        Op::Wait(_) => call("wait", None, None, None, None),
        Op::WaitAll => call("waitall", None, None, None, None),
        Op::Sendrecv { to, bytes, from, tag, .. } => call("sendrecv", Some(to), Some(from), Some(bytes), Some(tag)),
        Op::Collective(ref c) => Some(Called::Collective(c.kind, c.bytes)),
    }
}

/// The log of a machine: nothing while nobody asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    lines: Option<Vec<Logged>>,
    /// By rank: whether a call is open, and its last send overhead.
    open: Vec<bool>,
    paid: Vec<(u64, u64)>,
}

impl Log {
    #[inline]
    fn is_on(&self) -> bool {
        self.lines.is_some()
    }

    #[cold]
    fn add(&mut self, line: Logged) {
        if let Some(lines) = &mut self.lines {
            lines.push(line);
        }
    }
}

impl Machine {
    /// Takes down what ranks do from now on, or does not any more. Begins before the job does.
    pub(crate) fn log(&mut self, on: bool) {
        let ranks = self.core.ranks.len();
        self.core.log = match on {
            true => Log { lines: Some(Vec::new()), open: vec![false; ranks], paid: vec![(0, 0); ranks] },
            false => Log::default(),
        };
    }

    /// What was taken down since the last time; to be called after each call of the machine, since it grows until then.
    pub(crate) fn take_log(&mut self) -> impl Iterator<Item = Logged> + '_ {
        self.core.log.lines.iter_mut().flat_map(|lines| lines.drain(..))
    }
}

impl Core {
    /// A rank's processor was busy until now, or waited.
    #[inline]
    pub(super) fn spent(&mut self, rank: u32, on: Spending, begin: u64) {
        if self.log.is_on() {
            let end = self.ranks[rank as usize].time;
            if end > begin {
                self.log.add(Logged::Spent { rank, on, begin, end });
            }
        }
    }

    /// It paid for a send from a moment on.
    #[inline]
    pub(super) fn paid(&mut self, rank: u32, begin: u64) {
        if self.log.is_on() {
            self.log.paid[rank as usize] = (begin, self.ranks[rank as usize].time);
        }
    }

    /// The message that it was for.
    #[inline]
    pub(super) fn mailed(&mut self, token: u32) {
        if self.log.is_on() {
            let mail = self.mail(token);
            let (begin, end) = self.log.paid[mail.from as usize];
            self.log.add(Logged::Sent { mail, begin, end });
        }
    }

    /// A message was taken in from a moment on.
    #[inline]
    pub(super) fn received(&mut self, token: u32, begin: u64) {
        if self.log.is_on() {
            let mail = self.mail(token);
            let end = self.ranks[mail.to as usize].time;
            self.log.add(Logged::Received { mail, begin, end });
        }
    }

    fn mail(&self, token: u32) -> Mail {
        let Message { from, to, tag, bytes, what, .. } = self.messages[token];
        Mail { token, from, to, tag, bytes, what }
    }

    /// A call of the program begins.
    #[inline]
    pub(super) fn calls(&mut self, rank: u32, op: &Op) {
        if self.log.is_on()
            && let Some(what) = called(op)
        {
            self.log.open[rank as usize] = true;
            self.log.add(Logged::Began { rank, at: self.ranks[rank as usize].time, what });
        }
    }

    /// The program goes on: its call is over.
    #[inline]
    pub(super) fn goes_on(&mut self, rank: u32) {
        if self.log.is_on() && std::mem::take(&mut self.log.open[rank as usize]) {
            self.log.add(Logged::Ended { rank, at: self.ranks[rank as usize].time });
        }
    }

    /// A repetition of a section begins, or ends.
    #[inline]
    pub(super) fn repeats(&mut self, rank: u32, section: u32, begins: bool) {
        if section < UNTIMED && self.log.is_on() {
            let at = self.ranks[rank as usize].time;
            self.log.add(match begins {
                true => Logged::Began { rank, at, what: Called::Section(section) },
                false => Logged::Ended { rank, at },
            });
        }
    }
}
