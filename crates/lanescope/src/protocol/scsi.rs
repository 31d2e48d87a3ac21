//! Parallel SCSI: data rates, and how long a command holds the bus.
//!
//! References: SPI-2 to SPI-5 (INCITS 302, 336, 362, 367) and SCSI-2 (X3.131-1994). Delays are those of the table "SCSI
//! bus control timing values" (SPI-3 and SPI-4, clause 9). They are minima, and the rule book takes them as they stand:
//! a bus is never faster. What a device takes of its own accord (an answer to selection, a byte by asynchronous
//! handshake) is no number of a standard; it stands in [`BusPolicy`].

use crate::units::{Bytes, Rate, Time};

const NS: u64 = 1_000_000;

/// Bus free delay, ns: from detecting BUS FREE to asserting BSY.
pub(crate) const BUS_FREE_NS: u64 = 800;
/// Bus settle delay, ns: for detecting BUS FREE, and before the first REQ of a phase (SPI-3 and SPI-4, clauses 9 and
/// 10).
pub(crate) const BUS_SETTLE_NS: u64 = 400;
/// Bus clear delay, ns: in which those who lost arbitration leave the bus.
pub(crate) const BUS_CLEAR_NS: u64 = 800;
/// Arbitration delay, ns: from asserting BSY to looking at the IDs.
pub(crate) const ARBITRATION_NS: u64 = 2_400;
/// Data release delay, ns: in which an initiator leaves the data lines after I/O has been asserted.
pub(crate) const DATA_RELEASE_NS: u64 = 400;
/// System deskew delay, ns.
pub(crate) const DESKEW_NS: u64 = 45;
/// Selection abort time, ns: a selected device answers within it.
pub(crate) const SELECTION_ABORT_NS: u64 = 200_000;
/// QAS arbitration delay, ns (SPI-3 and SPI-4).
pub(crate) const QAS_ARBITRATION_NS: u64 = 1_000;
/// QAS release delay, ns (SPI-3 and SPI-4).
pub(crate) const QAS_RELEASE_NS: u64 = 200;

/// SPI L_Q information unit with its CRC, bytes: it says what the next one is (SPI-4, clause 14).
pub(crate) const L_Q: u64 = 24;
/// SPI command information unit with a CDB of 16 bytes or less and its CRC, bytes (SPI-4, clause 14).
pub(crate) const COMMAND_UNIT: u64 = 24;
/// CRC at the end of data by double transition: pCRC, or iuCRC of an information unit (SPI-3 and SPI-4).
pub(crate) const CRC: u64 = 4;

/// How data are clocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocking {
    /// One transfer a REQ or ACK pulse (ST).
    Single,
    /// One transfer at each edge (DT), with CRC.
    Double,
    /// The same by a free-running clock, with CRC and information units only (paced DT).
    Paced,
}

/// A parallel bus with synchronous data transfers at its highest rate. Everyone on it and both directions share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bus {
    /// The name people use.
    pub name: &'static str,
    /// Data lines.
    pub width_bits: u64,
    /// Transfers per second, in millions.
    pub mega_transfers: u64,
    /// How data are clocked.
    pub clocking: Clocking,
    /// Where the numbers are from.
    pub source: &'static str,
}

const fn bus(
    name: &'static str,
    width_bits: u64,
    mega_transfers: u64,
    clocking: Clocking,
    source: &'static str,
) -> Bus {
    Bus { name, width_bits, mega_transfers, clocking, source }
}

/// SCSI-1 to Ultra320.
pub const BUSES: &[Bus] = &[
    bus("scsi-1", 8, 5, Clocking::Single, "X3.131-1986: REQ period 200 ns (Fast-5)"),
    bus("fast", 8, 10, Clocking::Single, "SCSI-2: REQ period 100 ns (Fast-10)"),
    bus("fast-wide", 16, 10, Clocking::Single, "SCSI-2: Fast-10, two bytes wide"),
    bus("ultra", 8, 20, Clocking::Single, "Fast-20 (X3.277): REQ period 50 ns"),
    bus("ultra-wide", 16, 20, Clocking::Single, "Fast-20, two bytes wide"),
    bus("ultra2-narrow", 8, 40, Clocking::Single, "SPI-2: REQ period 25 ns (Fast-40)"),
    bus("ultra2", 16, 40, Clocking::Single, "SPI-2: Fast-40, two bytes wide"),
    bus("ultra160", 16, 80, Clocking::Double, "SPI-3: Fast-80, 12.5 ns a transfer at both edges"),
    bus("ultra320", 16, 160, Clocking::Paced, "SPI-4: Fast-160, 6.25 ns a transfer, free-running clock"),
];

impl Bus {
    /// A bus by name.
    pub(crate) fn named(name: &str) -> Option<&'static Bus> {
        BUSES.iter().find(|b| b.name == name)
    }

    /// Data rate while data go; shared by both directions.
    pub fn peak(&self) -> Rate {
        Rate::from_bits(self.width_bits * self.mega_transfers * 1_000_000)
    }

    /// From one transfer to the next.
    pub(crate) fn period(&self) -> Time {
        self.peak().time(Bytes(self.width_bits / 8))
    }

    /// Whether information units can be agreed on: with double transition (SPI-3 and later).
    pub(crate) fn can_packetize(&self) -> bool {
        self.clocking != Clocking::Single
    }

    /// Bytes on the data lines for so many bytes of data in one go: padded to whole transfers, by double transition to
    /// four bytes and with a CRC.
    pub(crate) fn carried(&self, bytes: u64) -> u64 {
        match self.clocking {
            Clocking::Single => bytes.next_multiple_of(self.width_bits / 8),
            Clocking::Double | Clocking::Paced => bytes.next_multiple_of(4) + CRC,
        }
    }
}

/// Which way data go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// A read: from the target.
    In,
    /// A write: to the target.
    Out,
}

/// How initiator and target use their bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusPolicy {
    /// One byte of a message, command or status, by asynchronous handshake.
    pub byte: Time,
    /// How long a selected device takes to answer, beyond the delays of the standard; within `SELECTION_ABORT_NS`.
    pub response: Time,
    /// Bytes of the command: 6, 10, 12 or 16.
    pub cdb: u64,
    /// With a queue tag: two bytes beside IDENTIFY.
    pub tagged: bool,
    /// Whether the target leaves the bus between command, bursts and status.
    pub disconnects: bool,
    /// Whether status comes with a connection of its own, instead of with the last burst.
    pub status_alone: bool,
    /// Command, data and status as information units in data phases, no messages (SPI-3 and later).
    pub packetized: bool,
    /// Quick arbitration and selection: the bus is passed on without BUS FREE. Only with information units (SPI-4).
    pub quick: bool,
}

impl BusPolicy {
    /// Those usual on a bus: tags, disconnects, status with the last burst; information units and QAS where data are
    /// paced. A byte takes 200 ns, and the response 1 us, so that a selection takes 1.58 us: assumed, near what the T10
    /// reflector reckoned with on 23 May 1995 (5 MB/s and 1.6 us).
    pub(crate) fn of(bus: &Bus) -> BusPolicy {
        let paced = bus.clocking == Clocking::Paced;
        BusPolicy {
            byte: Time::from_fs(200 * NS),
            response: Time::from_fs(1_000 * NS),
            cdb: 10,
            tagged: true,
            disconnects: true,
            status_alone: false,
            packetized: paced,
            quick: paced,
        }
    }

    /// From the end of one connection to the start of selection: detecting BUS FREE, bus free, arbitration, bus clear
    /// and bus settle delay (SPI-3, clause 10); with QAS its arbitration delay after its release delay.
    pub(crate) fn arbitration(&self) -> Time {
        Time::from_fs(NS * if self.quick { QAS_RELEASE_NS + QAS_ARBITRATION_NS } else { NORMAL_NS })
    }

    /// Selection or reselection: two deskew delays, bus settle delay, the answer, two deskew delays (SPI-3, clause 10).
    pub(crate) fn selection(&self) -> Time {
        Time::from_fs((NS * (4 * DESKEW_NS + BUS_SETTLE_NS)).saturating_add(self.response.fs()))
    }
}

/// Normal arbitration.
const NORMAL_NS: u64 = BUS_SETTLE_NS + BUS_FREE_NS + ARBITRATION_NS + BUS_CLEAR_NS + BUS_SETTLE_NS;

/// How long the bus is held, and for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Times that the bus was won.
    pub connections: u64,
    /// Waiting for a free bus to settle, and arbitration.
    pub arbitration: Time,
    /// Selection and reselection.
    pub selection: Time,
    /// Messages, command, status, information units, CRC and padding, and settling at changes of phase.
    pub control: Time,
    /// Data at the full rate.
    pub data: Time,
}

fn sum(a: Time, b: Time) -> Time {
    Time::from_fs(a.fs().saturating_add(b.fs()))
}

impl Held {
    /// All of it.
    pub(crate) fn total(&self) -> Time {
        sum(sum(self.arbitration, self.selection), sum(self.control, self.data))
    }

    /// This and that.
    pub(crate) fn and(self, other: Held) -> Held {
        Held {
            connections: self.connections + other.connections,
            arbitration: sum(self.arbitration, other.arbitration),
            selection: sum(self.selection, other.selection),
            control: sum(self.control, other.control),
            data: sum(self.data, other.data),
        }
    }

    /// So many times this.
    pub(crate) fn times(self, n: u64) -> Held {
        let of = |t: Time| Time::from_fs(t.fs().saturating_mul(n));
        Held {
            connections: self.connections.saturating_mul(n),
            arbitration: of(self.arbitration),
            selection: of(self.selection),
            control: of(self.control),
            data: of(self.data),
        }
    }
}

/// A connection that is being walked through, phase by phase.
struct Walk<'a> {
    bus: &'a Bus,
    policy: &'a BusPolicy,
    held: Held,
    /// Who drove the data lines last.
    driven: Direction,
}

impl Walk<'_> {
    /// Wins the bus; an initiator selects (`Out`) or a target reselects (`In`).
    fn connect<'a>(bus: &'a Bus, policy: &'a BusPolicy, driven: Direction) -> Walk<'a> {
        let held = Held {
            connections: 1,
            arbitration: policy.arbitration(),
            selection: policy.selection(),
            ..Held::default()
        };
        Walk { bus, policy, held, driven }
    }

    fn control(&mut self, fs: u64) {
        self.held.control = sum(self.held.control, Time::from_fs(fs));
    }

    /// Another phase: bus settle delay, after a data release delay where the data lines turn from out to in (SPI-3,
    /// clause 10; SCSI-2, 6.1).
    fn phase(&mut self, to: Direction) {
        let turned = self.driven == Direction::Out && to == Direction::In;
        self.driven = to;
        self.control(NS * (BUS_SETTLE_NS + if turned { DATA_RELEASE_NS } else { 0 }));
    }

    /// Bytes by handshake in a phase of their own.
    fn handshake(&mut self, to: Direction, bytes: u64) {
        self.phase(to);
        self.control(self.policy.byte.fs().saturating_mul(bytes));
    }

    /// Information units with their CRC, in the phase that there is.
    fn units(&mut self, bytes: u64) {
        self.control(self.bus.peak().time(Bytes(bytes)).fs());
    }

    /// IDENTIFY and the queue tag.
    fn identify(&mut self, to: Direction) {
        self.handshake(to, if self.policy.tagged { 3 } else { 1 });
    }

    fn command(&mut self) {
        if self.policy.packetized {
            self.phase(Direction::Out);
            self.units(L_Q + COMMAND_UNIT);
        } else {
            self.identify(Direction::Out);
            self.handshake(Direction::Out, self.policy.cdb);
        }
    }

    /// IDENTIFY after reselection; information units need none.
    fn back(&mut self) {
        if !self.policy.packetized {
            self.identify(Direction::In);
        }
    }

    fn data(&mut self, direction: Direction, bytes: u64) {
        if self.policy.packetized {
            self.phase(Direction::In);
            self.units(L_Q);
        }
        // A read's data follow their L_Q in the same phase.
        if !self.policy.packetized || direction == Direction::Out {
            self.phase(direction);
        }
        let alone = self.bus.peak().time(Bytes(bytes));
        let carried = self.bus.peak().time(Bytes(self.bus.carried(bytes)));
        self.control(carried.fs() - alone.fs());
        self.held.data = sum(self.held.data, alone);
    }

    /// Status GOOD and COMMAND COMPLETE; as information unit an L_Q alone (SPI-4: its data length is 0).
    fn status(&mut self, after_data_in: bool) {
        if self.policy.packetized {
            if !after_data_in {
                self.phase(Direction::In);
            }
            self.units(L_Q);
        } else {
            self.handshake(Direction::In, 1);
            self.handshake(Direction::In, 1);
        }
    }

    /// Leaves the bus for others, with so many bytes of messages; information units just end, or QAS REQUEST passes the
    /// bus on.
    fn leave(mut self, messages: u64) -> Held {
        if !self.policy.packetized {
            if messages > 0 {
                self.handshake(Direction::In, messages);
            }
        } else if self.policy.quick {
            self.handshake(Direction::In, 1);
        }
        self.held
    }
}

/// The connection that brings a command, up to DISCONNECT.
pub(crate) fn command(bus: &Bus, policy: &BusPolicy) -> Held {
    let mut walk = Walk::connect(bus, policy, Direction::Out);
    walk.command();
    walk.leave(1)
}

/// The connection of one burst: reselection, data, and either SAVE DATA POINTER and DISCONNECT or, with `status`, the
/// end of the command.
pub(crate) fn burst(bus: &Bus, policy: &BusPolicy, direction: Direction, bytes: u64, status: bool) -> Held {
    let mut walk = Walk::connect(bus, policy, Direction::In);
    walk.back();
    walk.data(direction, bytes);
    if status {
        walk.status(direction == Direction::In);
    }
    walk.leave(if status { 0 } else { 2 })
}

/// The connection that brings status alone.
pub(crate) fn status(bus: &Bus, policy: &BusPolicy) -> Held {
    let mut walk = Walk::connect(bus, policy, Direction::In);
    walk.back();
    walk.status(false);
    walk.leave(0)
}

/// One command with so many bytes of data in bursts of at most `most` bytes (0: all at once). Between the connections
/// the bus is free for others.
pub(crate) fn io(bus: &Bus, policy: &BusPolicy, direction: Direction, bytes: u64, most: u64) -> Held {
    if !policy.disconnects {
        let mut walk = Walk::connect(bus, policy, Direction::Out);
        walk.command();
        if bytes > 0 {
            walk.data(direction, bytes);
        }
        walk.status(bytes > 0 && direction == Direction::In);
        return walk.leave(0);
    }
    let most = if most == 0 { bytes } else { most };
    let mut held = command(bus, policy);
    let alone = policy.status_alone || bytes == 0;
    if bytes > 0 {
        let before = bytes.div_ceil(most) - 1;
        held = held.and(burst(bus, policy, direction, most, false).times(before)).and(burst(
            bus,
            policy,
            direction,
            bytes - before * most,
            !alone,
        ));
    }
    if alone { held.and(status(bus, policy)) } else { held }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> &'static Bus {
        Bus::named(name).expect("listed")
    }

    fn ns(t: Time) -> f64 {
        t.fs() as f64 / NS as f64
    }

    #[test]
    fn peaks_as_everyone_quotes_them() {
        let peaks: Vec<f64> = BUSES.iter().map(|b| b.peak().bytes() / 1e6).collect();
        assert_eq!(peaks, [5.0, 10.0, 20.0, 20.0, 40.0, 40.0, 80.0, 160.0, 320.0]);
        assert_eq!(ns(named("ultra160").period()), 12.5);
        assert_eq!(ns(named("ultra320").period()), 6.25);
        assert_eq!(Bus::named("ultra640"), None);
    }

    #[test]
    fn a_read_on_ultra2_by_hand() {
        let bus = named("ultra2");
        let h = BusPolicy::of(bus);
        // 400 + 800 + 2400 + 800 + 400, and 90 + 400 + 1000 + 90.
        assert_eq!((ns(h.arbitration()), ns(h.selection())), (4800.0, 1580.0));
        // IDENTIFY and tag, 10 bytes of command, and DISCONNECT after the lines have turned.
        let c = command(bus, &h);
        assert_eq!(ns(c.control), (400.0 + 600.0) + (400.0 + 2000.0) + (800.0 + 200.0));
        // 4 KiB: IDENTIFY and tag; data; status; COMMAND COMPLETE.
        let b = burst(bus, &h, Direction::In, 4096, true);
        assert_eq!(ns(b.data), 51_200.0);
        assert_eq!(ns(b.control), (400.0 + 600.0) + 400.0 + (400.0 + 200.0) + (400.0 + 200.0));
        let all = io(bus, &h, Direction::In, 4096, 0);
        assert_eq!(all, c.and(b));
        assert_eq!((all.connections, ns(all.total())), (2, 2.0 * 6380.0 + 4400.0 + 2600.0 + 51_200.0));
    }

    #[test]
    fn bursts_of_a_write_by_hand() {
        let bus = named("ultra160");
        let h = BusPolicy { status_alone: true, ..BusPolicy::of(bus) };
        let all = io(bus, &h, Direction::Out, 10_000, 4096);
        // Command, three bursts, status.
        assert_eq!((all.connections, ns(all.data)), (5, 62_500.0));
        // Each burst: IDENTIFY and tag, out, CRC 25 ns, and turned in SAVE DATA POINTER and DISCONNECT; 1808 and 4096 B
        // need no padding.
        let each = (400.0 + 600.0) + 400.0 + 25.0 + (800.0 + 400.0);
        let status = (400.0 + 600.0) + 2.0 * 600.0;
        assert_eq!(ns(all.control), 4400.0 + 3.0 * each + status);
        // An odd byte is padded on a wide bus, to four bytes with CRC.
        assert_eq!((named("ultra2").carried(3), named("ultra").carried(3), bus.carried(3)), (4, 3, 8));
    }

    #[test]
    fn information_units_by_hand() {
        let bus = named("ultra320");
        let h = BusPolicy::of(bus);
        assert_eq!(ns(h.arbitration()), 1200.0);
        // 48 B of information units are 150 ns; QAS REQUEST follows, turned in.
        assert_eq!(ns(command(bus, &h).control), 400.0 + 150.0 + 800.0 + 200.0);
        // L_Q 75 ns, data, iuCRC 12.5 ns, L_Q as status, QAS REQUEST.
        let read = burst(bus, &h, Direction::In, 4096, true);
        assert_eq!((ns(read.control), ns(read.data)), (400.0 + 75.0 + 12.5 + 75.0 + 400.0 + 200.0, 12_800.0));
        // A write turns out for its data, and in again.
        let write = burst(bus, &h, Direction::Out, 4096, true);
        assert_eq!(ns(write.control), 400.0 + 75.0 + 400.0 + 12.5 + 800.0 + 75.0 + 400.0 + 200.0);
        // Without QAS a connection just ends.
        let slow = BusPolicy { quick: false, ..h };
        assert_eq!(ns(command(bus, &slow).total()), 4800.0 + 1580.0 + 550.0);
    }

    #[test]
    fn information_units_of_one_connection_by_hand() {
        let bus = named("ultra320");
        let h = BusPolicy { disconnects: false, ..BusPolicy::of(bus) };
        let control = |direction, bytes| ns(io(bus, &h, direction, bytes, 0).control);
        // The command, 48 B. Turned in, L_Q, data and iuCRC; status goes on in the same phase. QAS REQUEST.
        assert_eq!(control(Direction::In, 4096), 550.0 + (800.0 + 75.0 + 12.5) + 75.0 + 600.0);
        // Of a write L_Q comes in, data go out, and status comes in.
        assert_eq!(control(Direction::Out, 4096), 550.0 + (800.0 + 75.0) + (400.0 + 12.5) + (800.0 + 75.0) + 600.0);
        // Without data status alone comes in, whatever way data would have gone.
        assert_eq!([Direction::In, Direction::Out].map(|d| control(d, 0)), [550.0 + 875.0 + 600.0; 2]);
    }

    #[test]
    fn without_disconnect_there_is_one_connection() {
        let bus = named("fast");
        let h = BusPolicy { disconnects: false, tagged: false, ..BusPolicy::of(bus) };
        let all = io(bus, &h, Direction::In, 512, 64);
        assert_eq!((all.connections, ns(all.data)), (1, 51_200.0));
        // IDENTIFY, command, turned in for data, status, COMMAND COMPLETE.
        assert_eq!(ns(all.control), 600.0 + 2400.0 + 800.0 + 600.0 + 600.0);
        assert_eq!(io(bus, &h, Direction::In, 0, 0).data, Time::ZERO);
        let h = BusPolicy::of(bus);
        assert_eq!(io(bus, &h, Direction::Out, 0, 0).connections, 2);
        // The most that numbers can say does not overflow.
        assert!(io(bus, &h, Direction::In, 1 << 60, 1).total() <= Time::MAX);
    }
}
