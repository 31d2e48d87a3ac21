//! What one transaction takes of a bus, in clocks by phase.
//!
//! A transaction is counted from its address phase to the idle clock behind it, so that those of a busy bus lie end to
//! end; arbitration goes on beside them.

use super::{Speed, Standard};
use crate::units::{Time, UnitError};
use std::fmt;

/// Allowable disconnect boundary of PCI-X, bytes: a burst is only interrupted there (1.0b, 2.7.2.1).
pub(crate) const ADB: u64 = 128;
/// Most bytes of one sequence of PCI-X: its byte count has 12 bits (1.0b, 2.5).
pub const MOST_BYTES: u64 = 4096;
/// Maximum Memory Read Byte Count after reset, the least of the four values (PCI-X 1.0b, 7.2.3).
pub(crate) const LEAST_READ: u64 = 512;
/// Most split transactions that a device may have outstanding (PCI-X 1.0b, 7.2.3).
pub(crate) const MOST_SPLITS: u32 = 32;
/// A target moves its first data within so many clocks from FRAME#, or sends the initiator away: a retry (PCI 2.3,
/// 3.5.1.1), or a split response (PCI-X 1.0b, 2.9.1).
pub(crate) const INITIAL_LATENCY: u64 = 16;
/// Clocks of the attribute phase (PCI-X 1.0b, 2.5).
pub(crate) const ATTRIBUTE: u64 = 1;
/// Idle clocks behind every transaction, in which the lines change hands (PCI 2.3, 3.3.4 and 3.4.2; PCI-X 1.0b, 2.7.3:
/// no fast back-to-back).
const TURNAROUND: u64 = 1;

/// How fast a target claims a transaction (PCI 2.3, 3.6.1); in PCI-X decode A, B and C (1.0b, 2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decode {
    /// Fast, or A.
    Fast,
    /// Medium, or B.
    Medium,
    /// Slow, or C.
    Slow,
}

impl Decode {
    /// Clocks after the earliest.
    fn late(self) -> u64 {
        self as u64
    }
}

/// Clocks of one transaction, by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Phases {
    /// The address; two clocks with a dual address cycle.
    pub address: u64,
    /// The attributes of PCI-X.
    pub attribute: u64,
    /// Until the target answers; of reads the lines turn around meanwhile.
    pub response: u64,
    /// Wait states before the first data.
    pub waits: u64,
    /// Data phases.
    pub data: u64,
    /// What a target needs to end a transaction without the initiator's having wanted it.
    pub end: u64,
    /// Idle, for the lines to change hands.
    pub turnaround: u64,
}

impl Phases {
    /// All clocks.
    pub(crate) fn total(self) -> u64 {
        self.before_data() + self.data + self.end + self.turnaround
    }

    /// From the beginning of the address phase to the beginning of the first data phase.
    pub(crate) fn before_data(self) -> u64 {
        self.address + self.attribute + self.response + self.waits
    }

    /// What is neither data, nor a wait state, nor the turn-around.
    pub(crate) fn overhead(self) -> u64 {
        self.address + self.attribute + self.response + self.end
    }
}

/// A delay, in clocks of the bus or in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Clocks of whichever bus it is.
    Clocks(u32),
    /// Time.
    Time(Time),
}

impl Wait {
    /// No delay is longer, clocks.
    pub(crate) const MOST: u32 = 1 << 24;
    /// How it is written.
    pub(crate) const UNITS: &str = "clocks, ns, us or ms";

    /// Reads `60 clocks` or `450 ns`.
    pub(crate) fn parse(text: &str) -> Result<Wait, UnitError> {
        let clocks = text.trim().strip_suffix("clocks").or_else(|| text.trim().strip_suffix("clock"));
        let Some(number) = clocks else { return Time::parse(text).map(Wait::Time) };
        match number.trim().parse::<i64>() {
            Ok(n) if n < 0 => Err(UnitError::Negative),
            Ok(n) if n > Wait::MOST as i64 => Err(UnitError::TooLarge("16777216 clocks")),
            Ok(n) => Ok(Wait::Clocks(n as u32)),
            Err(_) => Err(UnitError::NoNumber),
        }
    }

    /// In whole clocks of a bus, rounded up: what is ready between two clocks waits for the next.
    pub(crate) fn clocks(self, speed: Speed) -> u64 {
        match self {
            Wait::Clocks(n) => n as u64,
            Wait::Time(time) => {
                let (per, period) = (speed.step.clock.0 as u128, speed.step.clock.1 as u128 * 1_000_000_000_000_000);
                (time.fs() as u128 * per).div_ceil(period) as u64
            }
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Clocks(n) => write!(f, "{n} clocks"),
            Wait::Time(time) => write!(f, "{time}"),
        }
    }
}

impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Wait) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Wait::Clocks(a), Wait::Clocks(b)) => a.partial_cmp(b),
            (Wait::Time(a), Wait::Time(b)) => a.partial_cmp(b),
            _ => None,
        }
    }
}

impl Speed {
    /// Clocks of data phases for so many bytes that begin where a data phase begins.
    pub(crate) fn data(self, bytes: u64) -> u64 {
        bytes.div_ceil(self.per_clock())
    }

    /// The address phase; a 64-bit address costs a clock more on any width (PCI 2.3, 3.9; PCI-X 1.0b, 2.12.1).
    fn address(self, dual: bool) -> u64 {
        match self.standard() {
            Standard::Isa => 0,
            _ => 1 + u64::from(dual),
        }
    }

    fn turnaround(self) -> u64 {
        if self.standard() == Standard::Isa { 0 } else { TURNAROUND }
    }

    /// Phases up to the target's answer. Of PCI a fast target answers a write in the clock after the address; read data
    /// need a clock for the lines to turn around, in which a fast target's and a medium one's answer is hidden (2.3,
    /// 3.3.1 and 3.3.2). Of PCI-X attributes come between, and the target's response takes a clock of its own (1.0b,
    /// 2.8).
    fn claimed(self, read: bool, decode: Decode, dual: bool) -> Phases {
        let (attribute, response) = match self.standard() {
            Standard::Isa => (0, 0),
            Standard::Pci if read => (0, decode.late().max(1)),
            Standard::Pci => (0, decode.late()),
            Standard::PciX => (ATTRIBUTE, 1 + decode.late()),
        };
        Phases { address: self.address(dual), attribute, response, turnaround: self.turnaround(), ..Phases::default() }
    }

    /// Wait states before the first data: what a target pushes data into, of PCI-X, inserts them in pairs (1.0b,
    /// 2.9.2).
    fn waits(self, asked: u64) -> u64 {
        if self.is_x() { asked.next_multiple_of(2) } else { asked }
    }

    /// A burst write.
    pub(crate) fn write(self, bytes: u64, decode: Decode, waits: u64, dual: bool) -> Phases {
        Phases { waits: self.waits(waits), data: self.data(bytes), ..self.claimed(false, decode, dual) }
    }

    /// A read of conventional PCI whose target has its data at hand, after so many wait states.
    pub(crate) fn read(self, bytes: u64, decode: Decode, waits: u64, dual: bool) -> Phases {
        Phases { waits, data: self.data(bytes), ..self.claimed(true, decode, dual) }
    }

    /// The request of a split transaction: the target answers with a split response in the first data phase, which the
    /// initiator, its inputs registered, sees a clock later (PCI-X 1.0b, 2.11.2 and 2.10.2).
    pub(crate) fn split_request(self, decode: Decode, dual: bool) -> Phases {
        Phases { end: 2, ..self.claimed(true, decode, dual) }
    }

    /// A split completion, a transaction of the completer's own: it pushes data as a write does, to an address of one
    /// clock (PCI-X 1.0b, 2.10.3).
    pub(crate) fn completion(self, bytes: u64, decode: Decode) -> Phases {
        self.write(bytes, decode, 0, false)
    }

    /// A transaction that the target ends before any data: STOP# in the first data phase, and a clock until FRAME# has
    /// gone (PCI 2.3, 3.3.3.2.1; PCI-X 1.0b,
    /// 2.11.2.2).
    pub(crate) fn retry(self, read: bool, decode: Decode, dual: bool) -> Phases {
        // Nothing is driven back, so no line turns around: a target that is fast enough stops at once.
        let claimed = self.claimed(read && self.is_x(), decode, dual);
        Phases { end: 2, ..claimed }
    }

    /// Clocks that a target's disconnecting adds at the end of a transaction: STOP# comes with the last data, and
    /// FRAME# goes a clock later (PCI 2.3, 3.3.3.2.1). Of PCI-X it is said ahead, at least four data phases before the
    /// boundary, and costs nothing (1.0b, 2.11.2.1).
    pub(crate) fn disconnect(self) -> u64 {
        u64::from(self.standard() == Standard::Pci)
    }

    /// From REQ# to the address phase on an idle bus. PCI: the arbiter sees REQ# and gives GNT#, the master sees that
    /// (2.3, 3.4.1). PCI-X: inputs and outputs of both are registered, which makes it twice two (1.0b, 4.1).
    pub(crate) fn arbitration(self) -> u64 {
        match self.standard() {
            Standard::Isa => 0,
            Standard::Pci => 2,
            Standard::PciX => 4,
        }
    }

    /// How long a master that was sent away keeps its REQ# deasserted, clocks from the end of the transaction, its idle
    /// clock included (PCI 2.3, 3.4.1: two clocks).
    pub(crate) fn pause_after_retry(self) -> u64 {
        2
    }

    /// Bytes between two places where a burst may be interrupted: any data phase of PCI, the disconnect boundaries of
    /// PCI-X.
    pub(crate) fn boundary(self) -> u64 {
        if self.is_x() { ADB } else { self.per_clock() }
    }

    /// What a burst of `bytes` has moved when it must end as soon as it may after `clocks` from its address phase: at
    /// least one boundary, at most all.
    pub(crate) fn cut(self, phases: Phases, bytes: u64, clocks: u64) -> u64 {
        let moved = clocks.saturating_sub(phases.before_data()) * self.per_clock();
        // The data phase that goes on is finished, and one more is the last.
        let last = (moved + 1).next_multiple_of(self.boundary());
        last.min(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use Decode::{Fast, Medium, Slow};

    fn bus(text: &str) -> Speed {
        Speed::parse(text).expect("a bus")
    }

    #[test]
    fn a_write_of_six_data_phases_as_the_textbooks_draw_it() {
        // Nine clocks of PCI: address, one until a medium target answers, six data, turn-around. Ten of PCI-X: the
        // attributes more.
        assert_eq!(bus("pci 33 32-bit").write(24, Medium, 0, false).total(), 9);
        assert_eq!(bus("pci-x 133 32-bit").write(24, Fast, 0, false).total(), 10);
    }

    #[test]
    fn hand_worked_bursts() {
        let pci = bus("pci 33.33 32-bit");
        let w = pci.write(64, Medium, 0, false);
        assert_eq!((w.address, w.response, w.data, w.turnaround, w.total()), (1, 1, 16, 1, 19));
        // 19 clocks of 30 ns.
        assert_eq!(pci.clock_rate().time(Bytes(19)).fs(), 570_000_000);
        assert_eq!(pci.write(64, Fast, 0, false).total(), 18);
        // A read with its data at hand: address, turn-around, data, idle.
        assert_eq!(pci.read(64, Fast, 0, false).total(), 19);
        assert_eq!(pci.read(64, Medium, 0, false).total(), 19);
        assert_eq!(pci.read(64, Slow, 5, true).total(), 1 + 1 + 2 + 5 + 16 + 1);
        assert_eq!(pci.retry(true, Medium, false).total(), 5);
        // No line turns around for data: a fast target stops in the clock behind the address.
        assert_eq!(pci.retry(true, Fast, false).total(), 4);

        let x = bus("pci-x 133 64-bit");
        let w = x.write(4096, Fast, 0, false);
        assert_eq!((w.address, w.attribute, w.response, w.data, w.total()), (1, 1, 1, 512, 516));
        // 516 clocks of 7.5 ns.
        assert_eq!(x.clock_rate().time(Bytes(516)).fs(), 3_870_000_000);
        assert_eq!(x.write(4096, Medium, 3, true).total(), 2 + 1 + 2 + 4 + 512 + 1);
        assert_eq!(x.split_request(Fast, false).total(), 6);
        assert_eq!(x.completion(4096, Fast).total(), 516);
        assert_eq!(x.write(1, Fast, 0, false).data, 1);
    }

    #[test]
    fn clocks_around_a_burst_by_hand() {
        let (pci, x) = (bus("pci 33 32-bit"), bus("pci-x 133 64-bit"));
        // STOP# with the last data keeps FRAME# a clock longer; of PCI-X it is said ahead. REQ#, then GNT#: a clock
        // each, two each where inputs and outputs are registered.
        assert_eq!((pci.disconnect(), x.disconnect()), (1, 0));
        assert_eq!((pci.arbitration(), x.arbitration()), (2, 4));
        assert_eq!((pci.pause_after_retry(), x.pause_after_retry()), (2, 2));
        // Address and a medium answer; address, attributes, response, and two until the split response is seen.
        assert_eq!(pci.write(64, Medium, 3, false).overhead(), 2);
        assert_eq!(x.split_request(Fast, false).overhead(), 5);
        assert_eq!(bus("pci 33.33 32-bit").hertz(), 1e8 / 3.0);
    }

    #[test]
    fn two_and_four_transfers_a_clock_shorten_only_the_data() {
        for (text, data) in [("pci-x 133 64-bit", 512), ("pci-x 266 64-bit", 256), ("pci-x 533 64-bit", 128)] {
            let w = bus(text).write(4096, Fast, 0, false);
            assert_eq!((w.data, w.total() - w.data), (data, 4), "{text}");
        }
        assert_eq!(bus("pci-x 133 32-bit").data(4096), 1024);
    }

    #[test]
    fn a_burst_is_cut_where_it_may_be() {
        let x = bus("pci-x 133 64-bit");
        let w = x.write(4096, Fast, 0, false);
        // 64 clocks: 3 before the data, 61 data phases, 488 B: the boundary at 512.
        assert_eq!(x.cut(w, 4096, 64), 512);
        assert_eq!(x.cut(w, 4096, 0), 128);
        assert_eq!(x.cut(w, 400, 64), 400);
        let pci = bus("pci 33 32-bit");
        let w = pci.write(4096, Medium, 0, false);
        assert_eq!(pci.cut(w, 4096, 32), 124);
    }

    #[test]
    fn delays_in_clocks_or_time() {
        let x = bus("pci-x 133 64-bit");
        assert_eq!(Wait::parse("60 clocks").map(|w| w.clocks(x)), Ok(60));
        assert_eq!(Wait::parse("450 ns").map(|w| w.clocks(x)), Ok(60));
        assert_eq!(Wait::parse("451 ns").map(|w| w.clocks(x)), Ok(61));
        assert_eq!(Wait::parse("1 clock").map(|w| w.to_string()), Ok("1 clocks".into()));
        for text in ["clocks", "-1 clocks", "99999999999 clocks", "60", "1.5 clocks", "60 B"] {
            assert!(Wait::parse(text).is_err(), "{text}");
        }
        assert_eq!(Wait::parse("0 clocks"), Ok(Wait::Clocks(0)));
        assert_eq!(Wait::parse("16777216 clocks"), Ok(Wait::Clocks(1 << 24)));
        assert_eq!(Wait::parse("16777217 clocks"), Err(UnitError::TooLarge("16777216 clocks")));
        assert!(Wait::Clocks(1) < Wait::Clocks(2) && Wait::Time(Time::ZERO) < Wait::Time(Time::from_fs(1)));
        assert!(Wait::Clocks(1).partial_cmp(&Wait::Time(Time::ZERO)).is_none());
    }
}
