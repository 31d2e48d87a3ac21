//! What one burst takes of a parallel bus, by hand: clocks by phase, and the rate of bursts that lie end to end. All
//! masters and both directions share it.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::estimate::wire::read::read;
use crate::protocol::pci::{BUSES, Bus, Decode, INITIAL_LATENCY, Phases, Speed, Standard, Wait};
use crate::units::{Bytes, UnitError};
use schemars::JsonSchema;
use serde::Serialize;

/// What to calculate; texts with their units.
#[derive(Clone, Debug)]
pub struct Question {
    /// The bus: `pci-x 133 64-bit`, or `pci-x-133`.
    pub bus: String,
    /// Bytes of one burst: `4 KiB`.
    pub burst: String,
    /// How fast targets answer: `fast`, `medium` or `slow` (A, B, C of PCI-X).
    pub decode: String,
    /// From a read's request to its data's being ready: `60 clocks` or `450 ns`.
    pub delay: String,
    /// Whether addresses have 64 bits.
    pub dual: bool,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The bus as a scenario writes it.
    pub bus: String,
    /// Its clock, Hz.
    pub clock: f64,
    /// Bits per second with a transfer on every clock.
    pub peak: f64,
    /// Bytes of one burst.
    pub burst: u64,
    /// A write of that size.
    pub write: Transaction,
    /// What asks for data that are not at hand: a split request of PCI-X, a transaction of PCI that is sent away.
    pub request: Transaction,
    /// What brings the data: a split completion of PCI-X, of PCI the transaction repeated.
    pub data: Transaction,
    /// Clocks from the request's end until the data are ready.
    pub delay: u64,
    /// Whether the target waits that out on the bus: PCI, where it is short enough.
    pub waited: bool,
    /// The rates of one write after the other, of reads one at a time, and of reads whose delay others fill.
    pub rates: Point,
    /// The same by burst.
    pub curve: Vec<Point>,
}

/// Clocks of a transaction by phase; they add up to the total.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq, Eq)]
pub struct Transaction {
    /// Address phase.
    pub address: u64,
    /// Attribute phase of PCI-X.
    pub attribute: u64,
    /// Until the target answers.
    pub response: u64,
    /// Wait states.
    pub waits: u64,
    /// Data phases.
    pub data: u64,
    /// The target's ending it.
    pub end: u64,
    /// The idle clock behind it.
    pub turnaround: u64,
    /// All of them.
    pub total: u64,
}

impl Transaction {
    /// The phases in order, with the words a person reads.
    pub fn entries(&self) -> [(&'static str, u64); 7] {
        [
            ("address", self.address),
            ("attributes", self.attribute),
            ("target's response", self.response),
            ("wait states", self.waits),
            ("data", self.data),
            ("ended by the target", self.end),
            ("turn-around", self.turnaround),
        ]
    }
}

impl From<Phases> for Transaction {
    fn from(p: Phases) -> Transaction {
        let Phases { address, attribute, response, waits, data, end, turnaround } = p;
        Transaction { address, attribute, response, waits, data, end, turnaround, total: p.total() }
    }
}

/// One point of the curve. Rates are payload bits per second; efficiency is data clocks / clocks.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema, PartialEq)]
pub struct Point {
    /// Bytes of one burst.
    pub burst: u64,
    /// Clocks of a write.
    pub write_clocks: u64,
    /// Data clocks / clocks of writes.
    pub write_efficiency: f64,
    /// Writes end to end.
    pub write: f64,
    /// Clocks of the bus that a read takes, its delay left out.
    pub read_clocks: u64,
    /// The same / clocks of reads.
    pub read_efficiency: f64,
    /// Reads whose delay is filled by others'.
    pub read: f64,
    /// Reads one at a time: each waits for its data, and asks for the bus twice.
    pub read_alone: f64,
}

/// The sizes of the curve.
const BURSTS: [u64; 11] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// A way of asking: everything but the size.
#[derive(Clone, Copy)]
struct TransactionTiming {
    speed: Speed,
    decode: Decode,
    delay: u64,
    dual: bool,
}

impl TransactionTiming {
    /// PCI's target waits on the bus for what comes within its time.
    fn waited(self) -> bool {
        let first = self.speed.read(0, self.decode, self.delay, self.dual).before_data();
        !self.speed.is_x() && first <= INITIAL_LATENCY
    }

    fn request(self) -> Phases {
        if self.waited() {
            Phases::default()
        } else if self.speed.is_x() {
            self.speed.split_request(self.decode, self.dual)
        } else {
            self.speed.retry(true, self.decode, self.dual)
        }
    }

    fn data(self, bytes: u64) -> Phases {
        match (self.speed.is_x(), self.waited()) {
            (true, _) => self.speed.completion(bytes, self.decode),
            (false, waited) => self.speed.read(bytes, self.decode, if waited { self.delay } else { 0 }, self.dual),
        }
    }

    fn point(self, burst: u64) -> Point {
        let (write, data) = (self.speed.write(burst, self.decode, 0, self.dual), self.data(burst));
        let read = self.request().total() + data.total();
        // Alone, completer and requester each find the bus idle; both turn-arounds are a part of what they wait.
        let arbitration = 2 * self.speed.arbitration() - 2;
        let alone = if self.waited() { read } else { read + self.delay + arbitration };
        let rate = |clocks: u64| burst as f64 * 8.0 * self.speed.hertz() / clocks as f64;
        let part = |clocks: u64| data.data as f64 / clocks as f64;
        Point {
            burst,
            write_clocks: write.total(),
            write_efficiency: part(write.total()),
            write: rate(write.total()),
            read_clocks: read,
            read_efficiency: part(read),
            read: rate(read),
            read_alone: rate(alone),
        }
    }
}

/// A bus by either of its names.
pub fn named(text: &str) -> Option<Speed> {
    Speed::parse(text).ok().filter(|s| s.standard() != Standard::Isa).or_else(|| Bus::named(text)?.speed())
}

/// Answers; what is wrong with the question is in `diagnostics`, all of it at once.
pub fn wire(diagnostics: &mut Diagnostics, q: &Question) -> Option<Answer> {
    let speed = named(&q.bus);
    if speed.is_none() {
        let names: Vec<&str> = BUSES.iter().filter(|b| b.speed().is_some()).map(|b| b.name).collect();
        let what = format!("{:?} is not a bus whose transactions are known", q.bus);
        let hint = format!("there are {}; or as a scenario says it, \"pci-x 133 64-bit\"", names.join(", "));
        diagnostics.push(Diagnostic::error(None, what).hint(hint));
    }
    let burst = read(diagnostics, (&q.burst, "size", Bytes::UNITS, "4 KiB"), Bytes::parse);
    let burst = burst.and_then(|b| {
        let fits = (1..=crate::protocol::pci::MOST_BYTES).contains(&b.0);
        if !fits {
            let what = format!("{:?} is not a valid burst", q.burst);
            diagnostics.push(Diagnostic::error(None, what).hint("1 B to 4 KiB, what PCI-X's byte count holds"));
        }
        fits.then_some(b.0)
    });
    let decode = match q.decode.as_str() {
        "fast" => Some(Decode::Fast),
        "medium" => Some(Decode::Medium),
        "slow" => Some(Decode::Slow),
        other => {
            let hint = "fast, medium or slow (of PCI-X A, B or C)";
            diagnostics
                .push(Diagnostic::error(None, format!("{other:?} is not a valid speed of an answer")).hint(hint));
            None
        }
    };
    let parse = |text: &str| match Wait::parse(text) {
        Ok(Wait::Clocks(n)) if n > 1 << 20 => Err(UnitError::TooLarge("1048576 clocks")),
        Ok(Wait::Time(t)) if t.fs() > 1_000_000_000_000 => Err(UnitError::TooLarge("1 ms")),
        other => other,
    };
    let delay = read(diagnostics, (&q.delay, "delay", Wait::UNITS, "60 clocks"), parse);
    let (speed, burst, decode, delay) = (speed?, burst?, decode?, delay?);
    let timing = TransactionTiming { speed, decode, delay: delay.clocks(speed), dual: q.dual };
    Some(Answer {
        bus: speed.to_string(),
        clock: speed.hertz(),
        peak: speed.peak().bits(),
        burst,
        write: speed.write(burst, decode, 0, q.dual).into(),
        request: timing.request().into(),
        data: timing.data(burst).into(),
        delay: timing.delay,
        waited: timing.waited(),
        rates: timing.point(burst),
        curve: BURSTS.map(|b| timing.point(b)).to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(bus: &str, burst: &str, decode: &str, delay: &str) -> Result<Answer, Vec<String>> {
        let mut d = Diagnostics::default();
        let q =
            Question { bus: bus.into(), burst: burst.into(), decode: decode.into(), delay: delay.into(), dual: false };
        wire(&mut d, &q).ok_or_else(|| d.sorted().iter().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn hand_worked() {
        let a = ask("pci-x-133", "4 KiB", "fast", "60 clocks").expect("a valid question");
        assert_eq!((a.bus.as_str(), a.write.total, a.request.total, a.data.total), ("pci-x 133 64-bit", 516, 6, 516));
        // 4096 B in 516 clocks of 7.5 ns.
        assert!((a.rates.write / 8e6 - 4096.0 / 3.87).abs() < 1e-6);
        // Alone: 5 + 60 + 4 + 515 + 4 clocks.
        assert!((a.rates.read_alone / 8e6 - 4096.0 / (588.0 * 0.0075)).abs() < 1e-6);
        assert!((a.rates.read_efficiency - 512.0 / 522.0).abs() < 1e-12);
        let a = ask("pci 33.33 32-bit", "64 B", "medium", "10 clocks").expect("a valid question");
        // Address, turn-around, ten waits: the first data in the 13th clock, so the target keeps the bus.
        assert_eq!((a.waited, a.request.total, a.data.total), (true, 0, 29));
        let a = ask("pci 33.33 32-bit", "64 B", "medium", "500 ns").expect("a valid question");
        assert_eq!((a.waited, a.request.total, a.data.total, a.delay), (false, 5, 19, 17));
    }

    #[test]
    fn phases_add_up_and_longer_bursts_are_never_worse() {
        for bus in BUSES.iter().filter(|b| b.speed().is_some()) {
            let a = ask(bus.name, "64 B", "slow", "1 us").expect("a valid question");
            for t in [a.write, a.request, a.data] {
                assert_eq!(t.entries().iter().map(|e| e.1).sum::<u64>(), t.total);
            }
            for p in a.curve.windows(2) {
                assert!(p[1].write >= p[0].write && p[1].read >= p[0].read && p[1].read_alone >= p[0].read_alone);
                assert!(p[1].read_alone <= p[1].read && p[1].write <= a.peak);
            }
        }
    }

    #[test]
    fn every_mistake_is_said_at_once() {
        let wrong = ask("pci-x 134 64-bit", "0 B", "quick", "60").expect_err("nothing of it is right");
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        assert!(ask("isa", "64 B", "fast", "0 clocks").is_err());
        assert!(ask("pci-x-133", "8 KiB", "fast", "0 clocks").is_err());
        assert!(ask("pci-x-133", "4 KiB", "fast", "2 s").is_err());
    }
}
