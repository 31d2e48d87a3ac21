//! Trains of packets through stages, with the room that packets wait for: credit of a receive buffer, and data that an
//! adapter reads ahead.
//!
//! The first packets of a message find room and go behind one another; later ones wait for the room that the first
//! have left. A receiver tells of free room only when there is enough of it (`blocks_told`), so a command finds what
//! those before it have left untold, and an acknowledgement may be on its way when the next message is sent. One
//! command after the other comes back to the same in the end, and what one takes is the mean until then.

use crate::estimate::infiniband::credit::Window;

/// Packets of a message that are followed one by one; behind them each stage goes on as fast as the slowest up to it.
const FOLLOWED: u64 = 1024;

/// Commands that are followed until what one leaves untold is the same again.
const ROUNDS: usize = 64;

/// A stage with a packet, seconds.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    /// For how long it takes no other.
    pub(super) busy: f64,
    /// The same in the long run, where packets like this one wait for room.
    pub(super) paced: f64,
    /// When the packet is through.
    pub(super) through: f64,
    /// The packet waits here for room.
    pub(super) room: Option<Room>,
}

impl Stage {
    pub(super) fn new(busy: f64, through: f64) -> Stage {
        Stage { busy, paced: busy, through, room: None }
    }
}

/// Room that packets take where they are sent, and leave further on.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// How much there is in all, and how much a packet needs.
    pub(super) whole: u64,
    pub(super) needs: u64,
    /// How much is free again before the sender is told, and how long that takes, seconds.
    pub(super) told: u64,
    pub(super) back: f64,
    /// The packet leaves it so long after it begins in which stage, seconds.
    pub(super) until: usize,
    pub(super) after: f64,
}

/// What is sent as one message: packets with their stages, so many of each kind.
pub(super) struct Sent {
    /// Who sends it.
    pub(super) from: usize,
    pub(super) kinds: Vec<(u64, Vec<Stage>)>,
    /// The stages of its acknowledgement on the way back.
    pub(super) acknowledged: Option<Vec<Stage>>,
}

/// A message that may be sent from a moment on.
pub(super) struct Ready<'a> {
    pub(super) at: f64,
    /// When its work request is asked for, if it is read from memory, and how long that keeps others behind it: it
    /// comes behind what was asked for before it.
    pub(super) descriptor: Option<(f64, f64)>,
    pub(super) sent: &'a Sent,
}

/// Both ways between two hosts, with the room that packets have left there.
#[derive(Default)]
pub(super) struct Ways {
    windows: [Vec<Option<Window>>; 2],
    now: f64,
    /// Each message finds as little known room as there ever is.
    scarce: bool,
    waited: bool,
}

impl Ways {
    /// The mean of what one command takes of many behind one another. `command` sends its messages, and gives how long
    /// it took.
    pub(super) fn mean(command: impl Fn(&mut Ways) -> f64) -> f64 {
        let mut scarce = Ways { scarce: true, ..Ways::default() };
        let time = command(&mut scarce);
        if !scarce.waited {
            return time;
        }
        let (mut ways, mut rounds) = (Ways::default(), Vec::<(Vec<u64>, f64)>::new());
        let mut first = ROUNDS / 2;
        while rounds.len() < ROUNDS {
            let untold = ways.windows.iter().flatten().map(|w| w.as_ref().map_or(0, Window::left_untold)).collect();
            if let Some(same) = rounds.iter().position(|(before, _)| *before == untold) {
                first = same;
                break;
            }
            let time = command(&mut ways);
            rounds.push((untold, time));
        }
        let periodic = &rounds[first..];
        periodic.iter().map(|(_, time)| time).sum::<f64>() / periodic.len() as f64
    }

    /// So much time, which it gives back, goes by in which nothing is sent.
    pub(super) fn pause(&mut self, time: f64) -> f64 {
        self.now += time;
        time
    }

    /// Messages behind one another from one side, each from a moment on: when the last packet is through, after which
    /// time goes on.
    pub(super) fn carry(&mut self, all: &[Ready]) -> f64 {
        let Some(Ready { sent: Sent { from, .. }, .. }) = all.first() else { return 0.0 };
        let windows = std::mem::take(&mut self.windows[*from]);
        let mut train = Train { windows, scarce: self.scarce, ..Train::default() };
        for (i, Ready { at, descriptor, sent: message }) in all.iter().enumerate() {
            let behind = descriptor.map_or(0.0, |(_, busy)| train.landed + busy);
            let ready = (self.now + at).max(behind);
            let next = all.get(i + 1).and_then(|next| next.descriptor);
            train.asked_by = next.map_or(f64::NEG_INFINITY, |(asked, _)| self.now + asked);
            for (n, stages) in &message.kinds {
                let near = (*n).min(FOLLOWED);
                (0..near).for_each(|_| train.packet(ready, stages));
                train.skip(n - near, stages);
            }
            if let (Some(stages), false) = (&message.acknowledged, self.scarce) {
                let windows = std::mem::take(&mut self.windows[1 - from]);
                let mut back = Train { windows, ..Train::default() };
                back.packet(train.come, stages);
                self.windows[1 - from] = back.windows;
            }
        }
        self.waited |= train.waited;
        self.windows[*from] = if self.scarce { Vec::new() } else { train.windows };
        let time = train.out - self.now;
        self.now = train.out;
        time
    }
}

/// Stages that packets of messages go through in order.
#[derive(Default)]
struct Train {
    free: Vec<f64>,
    windows: Vec<Option<Window>>,
    begins: Vec<f64>,
    /// When the last packet has come to its receiver, and when it is through.
    come: f64,
    out: f64,
    /// When the sender has all data that it asks for by a moment.
    asked_by: f64,
    landed: f64,
    scarce: bool,
    /// A packet has waited for room.
    waited: bool,
}

impl Train {
    /// A packet that may begin at a moment.
    fn packet(&mut self, ready: f64, stages: &[Stage]) {
        let mut at = ready;
        self.free.resize(stages.len(), 0.0);
        self.windows.resize(stages.len(), None);
        self.begins.clear();
        let mut asked = ready;
        for ((free, window), stage) in self.free.iter_mut().zip(&mut self.windows).zip(stages) {
            let mut begin = at.max(*free);
            if let Some(room) = &stage.room {
                let new = || match self.scarce {
                    true => Window::scarce(room.whole, room.told),
                    false => Window::new(room.whole, room.told, 0),
                };
                let window = window.get_or_insert_with(new);
                self.waited |= window.lacks(room.needs);
                let from = window.take(room.needs, room.back);
                self.waited |= from > begin;
                begin = begin.max(from);
                if self.begins.is_empty() {
                    asked = asked.max(from);
                }
            }
            *free = begin + stage.busy;
            self.begins.push(begin);
            at = begin + stage.through;
        }
        for (stage, window) in stages.iter().zip(&mut self.windows) {
            let (Some(room), Some(window)) = (&stage.room, window) else { continue };
            window.leaves(self.begins[room.until] + room.after, room.needs);
        }
        if let (true, Some(begin), Some(read)) = (asked <= self.asked_by, self.begins.first(), stages.first()) {
            self.landed = begin + read.through;
        }
        // In the last stage it goes to memory.
        self.come = self.begins.last().copied().unwrap_or(at);
        self.out = at;
    }

    /// So many packets like the one before.
    fn skip(&mut self, packets: u64, stages: &[Stage]) {
        let mut slowest = 0.0_f64;
        for ((free, window), stage) in self.free.iter_mut().zip(&mut self.windows).zip(stages) {
            slowest = slowest.max(stage.paced);
            let later = packets as f64 * slowest;
            *free += later;
            window.iter_mut().for_each(|w| w.later(later));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wire of 2 a packet, and a memory of 1: room is left 3 after a packet begins, and that is known 4 later.
    fn stages(whole: u64, told: u64) -> Vec<Stage> {
        let room = Room { whole, needs: 10, told, back: 4.0, until: 1, after: 1.0 };
        vec![Stage { room: Some(room), ..Stage::new(2.0, 2.0) }, Stage::new(1.0, 1.0)]
    }

    fn sent(n: u64, stages: Vec<Stage>) -> Sent {
        Sent { from: 0, kinds: vec![(n, stages)], acknowledged: None }
    }

    fn ready(at: f64, sent: &Sent) -> Ready<'_> {
        Ready { at, descriptor: None, sent }
    }

    /// Room for three: they begin at 0, 2 and 4, and the fourth when the first has left, at 7. Two more begin with the
    /// next two, at 9 and 11, and the seventh when the fourth has left, at 14.
    #[test]
    fn the_first_packets_wait_for_no_room() {
        for (n, out) in [(1, 3.0), (3, 7.0), (4, 10.0), (6, 14.0), (7, 17.0)] {
            assert_eq!(Ways::default().carry(&[ready(0.0, &sent(n, stages(30, 1)))]), out, "{n} packets");
        }
    }

    /// Room of 35, of which the sender is told by 15. A command of three packets finds all of it, and leaves 10 untold;
    /// the next has 25 for two packets, and the third waits for the first to leave, which is told of at 7.
    #[test]
    fn what_is_untold_stays_for_the_next_command() {
        let three = sent(3, stages(35, 15));
        let mut ways = Ways::default();
        let mut command = || {
            ways.pause(100.0);
            ways.carry(&[ready(0.0, &three)])
        };
        assert_eq!([command(), command(), command()], [7.0, 10.0, 7.0]);
        let mean = |pause: f64| {
            Ways::mean(|ways| {
                ways.pause(pause);
                ways.carry(&[ready(0.0, &three)])
            })
        };
        assert_eq!(mean(100.0), 8.5);
        let two = sent(2, stages(35, 15));
        assert_eq!(Ways::mean(|ways| ways.carry(&[ready(0.0, &two)])), 5.0);
    }

    /// Far packets begin as far apart as the long run has them.
    #[test]
    fn packets_behind_the_first_are_paced() {
        let paced = |n: u64| {
            let mut all = stages(10, 1);
            all[0].paced = 7.0;
            let last = (1, all.clone());
            let all = Sent { kinds: vec![(n - 1, all), last], ..sent(0, Vec::new()) };
            Ways::default().carry(&[ready(0.0, &all)])
        };
        assert_eq!(paced(1000) - paced(999), 7.0);
        assert_eq!(paced(40) - paced(39), 7.0);
    }

    /// Three packets of 2 are read from memory, 5 each, all asked for at 0: they come at 5, 7 and 9. A descriptor of 1
    /// that is asked for right behind them comes at 10, one asked for before them whenever it was ready.
    #[test]
    fn a_descriptor_comes_behind_the_data_asked_for_before_it() {
        let data = sent(3, vec![Stage::new(2.0, 5.0)]);
        let short = sent(1, vec![Stage::new(0.0, 0.0)]);
        let out = |descriptor| Ways::default().carry(&[ready(0.0, &data), Ready { descriptor, ..ready(4.0, &short) }]);
        assert_eq!([out(Some((0.0, 1.0))), out(Some((-1.0, 1.0))), out(None)], [10.0, 6.0, 6.0]);
    }
}
