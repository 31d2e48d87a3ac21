//! Lines of the kernel's log about bandwidth, payload sizes and corrected errors.
//!
//! What they say is what Linux's drivers/pci prints: `pci.c` (`__pcie_print_link_status`), `probe.c`
//! (`pci_configure_mps`), `pcie/aer.c` (`aer_print_error`). They stand for the moment of their printing, mostly boot.

use super::function::{Address, CORRECTABLE, Express, Fact, Limited, PayloadLog, generation};
use super::{Form, Host};
use crate::protocol::pcie::Generation;

/// Names of correctable errors in logs, beside those of lspci: Linux before 5.7, and `NonFatalErr` of all.
const LOGGED: [(u32, &str); 6] = [
    (0, "Receiver Error"),
    (6, "Bad TLP"),
    (7, "Bad DLLP"),
    (8, "RELAY_NUM Rollover"),
    (12, "Replay Timer Timeout"),
    (13, "NonFatalErr"),
];

/// Different limits of one function that are kept.
const MOST_LIMITS: usize = 16;

/// What was read last, as far as the next line depends on it.
#[derive(Default)]
pub(crate) struct Reader {
    /// The function whose corrected error is being told.
    corrected: Option<Address>,
}

/// The line without what a log puts before it: `[    1.234567] `, or `Nov 30 10:32:16 node7 kernel: `.
fn message(line: &str) -> &str {
    let line = line.trim();
    let line = line.split_once(" kernel: ").map_or(line, |(_, rest)| rest.trim_start());
    if line.starts_with('[') { line.split_once("] ").map_or(line, |(_, rest)| rest.trim_start()) } else { line }
}

/// A legal payload size behind a word.
fn size(text: &str, word: &str) -> Option<u32> {
    let digits = text.split_once(word)?.1;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse::<u32>().ok().filter(|n| n.is_power_of_two() && (128..=4096).contains(n))
}

impl Reader {
    /// Reads a line; whether it is the kernel's about a function.
    pub(crate) fn line(&mut self, host: &mut Host, line: &str, at: super::Place) -> bool {
        let Some((driver, rest)) = message(line).split_once(' ') else { return false };
        let fits = driver.len() <= 24 && driver.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let Some((address, rest)) = rest.split_once(": ").filter(|_| fits) else { return false };
        let Some(address) = Address::parse(address) else { return false };
        let read = bandwidth(host, address, rest, at)
            || payload(host, address, rest, at)
            || self.errors(host, address, rest.trim(), at);
        if read {
            host.found(Form::Kernel, at);
        }
        read
    }

    /// Another text begins.
    pub(crate) fn end(&mut self) {
        *self = Reader::default();
    }

    fn errors(&mut self, host: &mut Host, address: Address, rest: &str, at: super::Place) -> bool {
        let rest = rest.strip_prefix("AER: ").unwrap_or(rest);
        if let Some((_, severity)) = rest.split_once("PCIe Bus Error: severity=") {
            self.corrected = severity.starts_with("Correct").then_some(address);
            return true;
        }
        if let Some((_, status)) = rest.split_once("error status/mask=") {
            // The bits mean this only of a corrected error.
            let bits = status.get(..8).and_then(|t| u32::from_str_radix(t, 16).ok());
            if let (Some(bits), true) = (bits, self.corrected == Some(address)) {
                let kinds = CORRECTABLE.iter().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, name)| *name);
                host.corrected(address, kinds.map(|n| (n, 1)).collect(), "AER", at);
            }
            return true;
        }
        // `[ 0] RxErr                  (First)`
        let Some((bit, name)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) else { return false };
        let (Ok(bit), name) = (bit.trim().parse::<u32>(), name.split("(First)").next().unwrap_or("").trim()) else {
            return false;
        };
        let Some((_, known)) = CORRECTABLE.iter().find(|(b, _)| *b == bit) else { return false };
        if name == *known || LOGGED.contains(&(bit, name)) {
            host.corrected(address, [(*known, 1)].into(), "AER", at);
            return true;
        }
        false
    }
}

fn bandwidth(host: &mut Host, address: Address, rest: &str, at: super::Place) -> bool {
    if let Some((_, limited)) = rest.split_once("available PCIe bandwidth, limited by ") {
        let by = limited.split(" link at ").nth(1).and_then(|t| t.split(' ').next()).and_then(Address::parse);
        let capable = limited.split_once("(capable of ").and_then(|(_, t)| speed_and_width(t.split_once(" with ")?.1));
        if let (Some(by), Some(now)) = (by, speed_and_width(limited)) {
            if let Some(port) = host.function(by, at) {
                status(port.express.get_or_insert_default(), now, at);
                port.limits |= by != address;
            }
            if let (Some(capable), Some(function)) = (capable, host.function(address, at)) {
                let value = Limited { by, now, capable };
                let known = function.limited.iter().any(|l| l.value == value);
                if !known && function.limited.len() < MOST_LIMITS {
                    function.limited.push(Fact { value, at });
                }
            }
        }
        if let (Some((speed, width)), Some(function)) = (capable, host.function(address, at)) {
            let express = function.express.get_or_insert_default();
            express.speed_capable.get_or_insert(Fact { value: speed, at });
            express.width_capable.get_or_insert(Fact { value: width, at });
        }
        return true;
    }
    let Some((_, full)) = rest.split_once("available PCIe bandwidth (") else { return false };
    if let (Some(now), Some(function)) = (speed_and_width(full), host.function(address, at)) {
        status(function.express.get_or_insert_default(), now, at);
    }
    true
}

fn status(express: &mut Express, (speed, width): (Generation, u8), at: super::Place) {
    express.speed.get_or_insert(Fact { value: speed, at });
    express.width.get_or_insert(Fact { value: width, at });
}

fn payload(host: &mut Host, address: Address, rest: &str, at: super::Place) -> bool {
    let said = if let Some(rest) = rest.strip_prefix("Max Payload Size set to ") {
        let (now, max) = (size(rest, ""), size(rest, "max "));
        if let Some(mps) = now {
            host.learn(address, "MPS", mps, at, |f| &mut f.express.get_or_insert_default().mps);
        }
        supported(host, address, max, at);
        now.zip(max).filter(|(now, max)| now < max).map(|(now, max)| PayloadLog::Set { now, max })
    } else if let Some(rest) = rest.strip_prefix("can't set Max Payload Size to ") {
        size(rest, "").map(|port| PayloadLog::Refused { port })
    } else if let Some(rest) = rest.strip_prefix("Upstream bridge's Max Payload Size set to ") {
        let (now, from) = (size(rest, ""), size(rest, "was "));
        // The port is set to what the function supports at most.
        supported(host, address, now, at);
        now.zip(from).map(|(now, from)| PayloadLog::Lowered { now, from })
    } else if let (Some(rest), true) = (rest.strip_prefix("Max Payload Size "), rest.contains(", but upstream ")) {
        size(rest, "").zip(size(rest, " set to ")).map(|(own, port)| PayloadLog::Unequal { own, port })
    } else {
        return false;
    };
    if let Some(function) = host.function(address, at) {
        let worse = said.filter(|s| function.payload_log.as_ref().is_none_or(|old| old.value < *s));
        function.payload_log = worse.map(|value| Fact { value, at }).or(function.payload_log.take());
    }
    true
}

fn supported(host: &mut Host, address: Address, most: Option<u32>, at: super::Place) {
    if let Some(most) = most {
        host.learn(address, "MPS supported", most, at, |f| &mut f.express.get_or_insert_default().mps_supported);
    }
}

/// `2.5 GT/s PCIe x4 link …` or `8 GT/s x16 link …`.
fn speed_and_width(text: &str) -> Option<(Generation, u8)> {
    let speed = generation(text)?;
    let (_, rest) = text.split_once(" x")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((speed, rest[..end].parse().ok().filter(|w| *w <= 32)?))
}
