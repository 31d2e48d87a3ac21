//! The lane of a serial link that brings the data of a drive's reads: frame by frame, those of the oldest command whose
//! data are there go, and who follows another one opens a connection.
//!
//! Not in it: credits of the port, and that a frame waits until it is full. Frames are taken to be alike.

use crate::estimate::storage::reads::Frames;
use std::collections::BTreeMap;

/// Data of a command that are there: so many bytes, each of which takes so many seconds.
#[derive(Clone, Copy)]
pub(super) struct Data {
    pub(super) command: usize,
    pub(super) bytes: f64,
    pub(super) byte: f64,
    pub(super) serial: Frames,
}

/// What goes: of the command of a number, from a moment on.
#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    from: f64,
    data: Data,
}

/// A lane. Commands have numbers in their order: the oldest has the least.
#[derive(Default)]
pub(super) struct Lane {
    ready: BTreeMap<u64, Data>,
    now: Option<Sent>,
    /// When it is free.
    free: f64,
    /// The command whose connection is open.
    open: Option<u64>,
    /// The number of the event that counts: those before it are outdated.
    turn: u32,
}

impl Lane {
    fn there(&mut self, number: u64, data: Data) {
        self.ready.entry(number).or_insert(Data { bytes: 0.0, ..data }).bytes += data.bytes;
    }

    /// More data of a command are there: when the lane is to be looked at, with the number of that event, or `None`
    /// where the one to come still counts. Who is older than what goes is next, after the frame that goes.
    pub(super) fn add(&mut self, number: u64, data: Data, now: f64) -> Option<(f64, u32)> {
        let idle = self.ready.is_empty();
        self.there(number, data);
        match self.now {
            Some(Sent { number: goes, from, data }) => {
                let frame = data.serial.frame;
                let upto = ((now - from) / (frame * data.byte)).ceil().max(1.0) * frame;
                if number >= goes || upto >= data.bytes {
                    return None;
                }
                self.there(goes, Data { bytes: data.bytes - upto, ..data });
                self.now = Some(Sent { number: goes, from, data: Data { bytes: upto, ..data } });
                self.free = from + upto * data.byte;
            }
            None if !idle => return None,
            None => {}
        }
        Some(self.look(now))
    }

    fn look(&mut self, now: f64) -> (f64, u32) {
        self.turn = self.turn.wrapping_add(1);
        (self.free.max(now), self.turn)
    }

    /// It is looked at: which command has sent data, if any, and whether more of it are there. `None` if the event is
    /// outdated.
    pub(super) fn gone(&mut self, turn: u32) -> Option<Option<(usize, bool)>> {
        let sent = (turn == self.turn).then(|| self.now.take())?;
        Some(sent.map(|sent| (sent.data.command, self.ready.contains_key(&sent.number))))
    }

    /// The status of a read goes behind its data, until a moment.
    pub(super) fn status(&mut self, until: f64) {
        self.free = until;
    }

    /// The oldest command whose data are there goes, if the lane is free: when it is to be looked at again.
    pub(super) fn next(&mut self, now: f64) -> Option<(f64, u32)> {
        let first = self.ready.first_entry()?;
        if self.free <= now {
            let (number, data) = first.remove_entry();
            let from = now + if self.open == Some(number) { 0.0 } else { data.serial.opens };
            self.now = Some(Sent { number, from, data });
            self.open = Some(number);
            self.free = from + data.bytes * data.byte;
        }
        Some(self.look(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte takes a second, a frame has four of them, and a connection opens in ten.
    fn data(command: usize, bytes: f64) -> Data {
        Data { command, bytes, byte: 1.0, serial: Frames { opens: 10.0, frame: 4.0 } }
    }

    #[test]
    fn an_older_command_goes_before_the_next_frame_and_each_opens_a_connection() {
        let mut lane = Lane::default();
        assert_eq!(lane.add(7, data(1, 12.0), 0.0), Some((0.0, 1)));
        assert_eq!(lane.gone(1), Some(None));
        // It opens until 10, and would have sent all at 22.
        assert_eq!(lane.next(0.0), Some((22.0, 2)));
        // A younger one waits; an older one goes when the second frame, which began at 14, is over.
        assert_eq!(lane.add(9, data(2, 4.0), 11.0), None);
        assert_eq!(lane.add(5, data(0, 4.0), 15.0), Some((18.0, 3)));
        assert_eq!(lane.gone(2), None);
        assert_eq!(lane.gone(3), Some(Some((1, true))));
        assert_eq!(lane.next(18.0), Some((32.0, 4)));
        assert_eq!(lane.gone(4), Some(Some((0, false))));
        // Its status goes behind its data, and the rest of the first opens anew.
        lane.status(35.0);
        assert_eq!(lane.next(32.0), Some((35.0, 5)));
        assert_eq!(lane.gone(5), Some(None));
        assert_eq!(lane.next(35.0), Some((49.0, 6)));
        // More of it is there: that goes on without an opening.
        assert_eq!(lane.add(7, data(1, 4.0), 40.0), None);
        assert_eq!(lane.gone(6), Some(Some((1, true))));
        assert_eq!(lane.next(49.0), Some((53.0, 7)));
    }
}
