//! NVMe over Fabrics in a run: capsules between a worker's host and a target, and what the target does for a command.
//!
//! The worker's adapter sends a command capsule, with the data of a small write in it. When it has come, the target's
//! processor has the rest of a write read from the worker's memory (RDMA READ), gives the command to its drive by a
//! queue there, and looks at that queue. When the drive is done, the data of a read are written to the worker's memory
//! (RDMA WRITE), and the response capsule is sent behind them on the same queue pair. All of it are work requests of
//! channel adapters: `System` hands them over and tells what has come.

use crate::plan::storage::{IoFlow, Storage};
use crate::protocol::nvme::{COMMAND_CAPSULE, RESPONSE_CAPSULE};
use crate::scenario::quantity::Corner;
use crate::sim::infiniband::{Kind, Verb};
use crate::sim::storage::{Event, Fabric, Io, Owner, Server};
use std::collections::VecDeque;

/// What has come with a message: the low bits of its token, above which is the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    /// The command, with or without data.
    Capsule,
    /// Data of a write that the target has read.
    Read,
    /// Data of a read, in the worker's memory.
    Written,
    /// The response.
    Response,
}

const CAME: [Came; 4] = [Came::Capsule, Came::Read, Came::Written, Came::Response];

/// A queue pair between a worker and a target.
#[derive(Clone, Debug)]
struct Pair {
    /// Its number among all, what decides the way of its packets to the target and back, and the number of the target's
    /// queue at the drive.
    number: u32,
    ways: [u32; 2],
    at_drive: u32,
    /// Commands that it holds, and those that wait in the host.
    held: u32,
    waiting: VecDeque<u32>,
    /// The target's processor, as far as it works for it.
    core: Server,
}

/// A worker's queue pairs to a drive of another host.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    ends: [u32; 2],
    mtu: u32,
    adapter: u32,
    target: u32,
    pairs: Vec<Pair>,
    turn: usize,
    room: u32,
    in_capsule: u64,
    /// Of the target's processor, when a capsule has come and when the drive is done, fs.
    times: [u64; 2],
}

/// A command on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    io: u32,
    flow: u32,
    pair: u32,
    offset: u64,
    size: u64,
    read: bool,
    /// Whether the drive is done with it.
    done: bool,
}

impl Remote {
    /// Those of a flow; numbers of queue pairs begin at `first`.
    pub(super) fn of(storage: &Storage, flow: &IoFlow, target: u32, first: &mut u32) -> Option<Box<Remote>> {
        let remote = flow.remote.as_ref()?;
        let controller = storage.adapters[remote.queues.adapter as usize].controller()?;
        let pairs = controller.pairs(&remote.queues).zip(&remote.ways).map(|(at_drive, &ways)| {
            *first += 1;
            let (waiting, core) = (VecDeque::new(), Server::default());
            Pair { number: *first - 1, ways, at_drive, held: 0, waiting, core }
        });
        let time = remote.target_time.typical.fs();
        Some(Box::new(Remote {
            ends: remote.ends,
            mtu: remote.mtu.bytes() as u32,
            adapter: remote.queues.adapter,
            target,
            pairs: pairs.collect(),
            turn: 0,
            room: remote.room(Corner::Typical),
            in_capsule: remote.in_capsule.typical.0,
            times: [time / 2, time - time / 2],
        }))
    }

    /// Mean time that the target's processors have worked for it before a moment, fs.
    pub(super) fn worked(&self, now: u64) -> u64 {
        let sum: u128 = self.pairs.iter().map(|p| u128::from(p.core.worked(now))).sum();
        (sum / self.pairs.len().max(1) as u128) as u64
    }
}

impl Fabric {
    /// What channel adapters are to do: taken out.
    pub(in crate::sim) fn verbs(&mut self) -> &mut Vec<Verb> {
        &mut self.verbs
    }

    fn remote(&mut self, flow: u32) -> Option<&mut Remote> {
        self.flows[flow as usize].remote.as_deref_mut()
    }

    /// Hands a work request over: of the worker's adapter, or of the target's.
    fn verb(&mut self, command: u32, kind: Kind, came: Came, bytes: u64, capsule: bool) {
        let c = self.commands_out.all[command as usize];
        let Some(remote) = self.remote(c.flow) else { return };
        let [own, target] = remote.ends;
        let Pair { number: queue, ways: [there, back], .. } = remote.pairs[c.pair as usize];
        let (ends, ways) =
            if came == Came::Capsule { ([own, target], [there, back]) } else { ([target, own], [back, there]) };
        let mtu = remote.mtu;
        let token = command << 2 | came as u32;
        self.verbs.push(Verb { kind, ends, ways, bytes, capsule, queue, token, mtu });
    }

    /// An I/O has left its worker's processor: its commands go out, as large as the drive takes them.
    pub(super) fn send_out(&mut self, io: u32, now: u64) {
        let Io { flow, read, offset, size, .. } = self.ios.all[io as usize];
        let Some(remote) = self.remote(flow) else { return };
        let (adapter, pair, room) = (remote.adapter, remote.turn, remote.room);
        remote.turn = (pair + 1) % remote.pairs.len();
        let largest = self.largest(adapter);
        let mut at = 0;
        while at < size {
            let part = largest.min(size - at);
            let (pair_of, offset) = (pair as u32, offset + at);
            let command = Command { io, flow, pair: pair_of, offset, size: part, read, done: false };
            let command = self.commands_out.add(command);
            self.ios.all[io as usize].tasks += 1;
            let Some(remote) = self.remote(flow) else { return };
            let p = &mut remote.pairs[pair];
            if p.held < room {
                p.held += 1;
                self.capsule(command, now);
            } else {
                p.waiting.push_back(command);
            }
            at += part;
        }
    }

    /// A command's capsule goes out.
    fn capsule(&mut self, command: u32, now: u64) {
        let c = self.commands_out.all[command as usize];
        let data = if self.is_in_capsule(&c) { c.size } else { 0 };
        if data > 0 {
            self.first(c.io, now);
        }
        self.verb(command, Kind::Send, Came::Capsule, COMMAND_CAPSULE + data, data == 0);
    }

    fn is_in_capsule(&mut self, c: &Command) -> bool {
        let (read, size) = (c.read, c.size);
        self.remote(c.flow).is_some_and(|r| !read && size <= r.in_capsule)
    }

    /// A message has come.
    pub(in crate::sim) fn came(&mut self, token: u32, now: u64) {
        let (command, came) = (token >> 2, CAME[(token & 3) as usize]);
        let c = self.commands_out.all[command as usize];
        match came {
            Came::Capsule => self.at_target(command, now),
            Came::Read => self.hand_on(command, now),
            Came::Written => self.delivered(c.io, c.size, now),
            Came::Response => self.responded(command, now),
        }
    }

    /// The target's processor turns to a command: a capsule that has come, or one that the drive is done with.
    fn at_target(&mut self, command: u32, now: u64) {
        let c = self.commands_out.all[command as usize];
        let Some(remote) = self.remote(c.flow) else { return };
        let time = remote.times[usize::from(c.done)];
        let at = remote.pairs[c.pair as usize].core.work(time, now);
        if at > now {
            self.plan_at(at, Event::Remote(command));
        } else {
            self.dealt_with(command, now);
        }
    }

    /// It is through with it.
    pub(super) fn dealt_with(&mut self, command: u32, now: u64) {
        let c = self.commands_out.all[command as usize];
        match (c.done, c.read) {
            (false, true) => {
                self.ios.all[c.io as usize].marks[2] = now;
                self.hand_on(command, now);
            }
            (false, false) => {
                self.ios.all[c.io as usize].marks[2] = now;
                if self.is_in_capsule(&c) {
                    self.hand_on(command, now);
                } else {
                    self.first(c.io, now);
                    self.verb(command, Kind::Read, Came::Read, c.size, false);
                }
            }
            (true, true) => {
                self.first(c.io, now);
                self.verb(command, Kind::Write, Came::Written, c.size, false);
                self.verb(command, Kind::Send, Came::Response, RESPONSE_CAPSULE, true);
            }
            (true, false) => self.verb(command, Kind::Send, Came::Response, RESPONSE_CAPSULE, true),
        }
    }

    /// The target gives a command to its drive, and rings for it.
    fn hand_on(&mut self, command: u32, now: u64) {
        let c = self.commands_out.all[command as usize];
        let Some(remote) = self.remote(c.flow) else { return };
        let (target, pair) = (remote.target, remote.pairs[c.pair as usize].at_drive);
        let task = self.new_task(Owner::Remote(command), target, c.read, c.offset, c.size);
        self.tasks.all[task as usize].pair = pair;
        self.put_one(task, now);
    }

    /// The drive is done with a command: its entry is in the target's memory.
    pub(super) fn drive_done(&mut self, command: u32, now: u64) {
        self.commands_out.all[command as usize].done = true;
        self.at_target(command, now);
    }

    /// The response has come: the queue pair has room again, and the I/O is over with its last command.
    fn responded(&mut self, command: u32, now: u64) {
        let c = self.commands_out.remove(command);
        if !c.read {
            self.delivered(c.io, c.size, now);
        }
        let Some(remote) = self.remote(c.flow) else { return };
        let p = &mut remote.pairs[c.pair as usize];
        match p.waiting.pop_front() {
            Some(next) => self.capsule(next, now),
            None => p.held -= 1,
        }
        let i = &mut self.ios.all[c.io as usize];
        i.tasks -= 1;
        if i.tasks == 0 {
            debug_assert_eq!(i.left, 0, "a response that came before its data");
            self.answered(c.io, now);
        }
    }
}
