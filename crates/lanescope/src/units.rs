//! Quantities with names: [`Time`], [`Bytes`], [`Rate`], [`Frequency`], [`Length`].
//!
//! Everything is an integer (a rate is a ratio of two), so that a moment on a wire is computed, never accumulated: a
//! float clock drifts, and a rounded "picoseconds per byte" is 5.8 % wrong on a Gen5 x16 link. This is the only room
//! that knows 10^9 and 2^20. Texts carry their unit: `"420 ns"`, `"2 KiB"`, `"25 Gb/s"`; a bare number is refused,
//! because nobody agrees on what it would mean.

use serde::{Serialize, Serializer};
use std::fmt;

/// Femtoseconds in a second.
const FS_PER_S: u128 = 1_000_000_000_000_000;

/// A duration or a moment, in whole femtoseconds; at most [`Time::MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// No time at all.
    pub const ZERO: Time = Time(0);
    /// Five hours: the longest duration that the clock accepts (a `u64` of femtoseconds holds 5.1 h).
    pub const MAX: Time = Time(5 * 3600 * FS_PER_S as u64);

    /// From whole femtoseconds, clamped to [`Time::MAX`].
    pub fn from_fs(fs: u64) -> Time {
        Time(fs.min(Self::MAX.0))
    }

    /// In whole femtoseconds.
    pub fn fs(self) -> u64 {
        self.0
    }

    /// In nanoseconds.
    pub fn ns(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / FS_PER_S as f64
    }
}

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// As a float, for closed forms.
    pub fn f64(self) -> f64 {
        self.0 as f64
    }
}

/// Femtoseconds that 8 bits of a rate of 1 b/s take.
const BYTE_FS: u128 = 8_000_000_000_000_000;

/// A data rate as an exact ratio: `bits / per` bits per second, in lowest terms. One direction, unless a name says
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    bits: u64,
    per: u64,
}

impl Rate {
    /// `bits / per` bits per second; `per` must not be 0.
    pub fn ratio(bits: u128, per: u128) -> Rate {
        debug_assert!(per > 0);
        let g = gcd(bits, per).max(1);
        let (mut bits, mut per) = (bits / g, per / g);
        // Only a text with an absurd number of digits gets here; keep the leading 64 bits of both.
        while bits > u64::MAX as u128 || per > u64::MAX as u128 {
            bits >>= 1;
            per = (per >> 1).max(1);
        }
        Rate { bits: bits as u64, per: per as u64 }
    }

    /// The ratio itself: (bits, per).
    pub(crate) fn parts(self) -> (u64, u64) {
        (self.bits, self.per)
    }

    /// Femtoseconds per byte as a fraction in lowest terms.
    pub(crate) fn slot_ratio(self) -> (u64, u64) {
        // Both are read off the rate's own arithmetic: a byte at `bits / per` takes 8e15 x per / bits fs.
        let (bits, per) = self.parts();
        let ratio = Rate::ratio(BYTE_FS * per as u128, bits.max(1) as u128);
        ratio.parts()
    }

    /// Whole bits per second.
    pub fn from_bits(bits: u64) -> Rate {
        Rate::ratio(bits as u128, 1)
    }

    /// The same times `n / d`.
    pub fn scaled(self, n: u64, d: u64) -> Rate {
        Rate::ratio(self.bits as u128 * n as u128, self.per as u128 * d as u128)
    }

    /// Bits per second.
    pub fn bits(self) -> f64 {
        self.bits as f64 / self.per as f64
    }

    /// Bytes per second.
    pub fn bytes(self) -> f64 {
        self.bits() / 8.0
    }

    /// Whole bytes that have passed by `t`: floor(t x rate), exact.
    pub fn slots(self, t: Time) -> u64 {
        (t.0 as u128 * self.bits as u128 / (self.per as u128 * 8 * FS_PER_S)) as u64
    }

    /// When the `n`-th byte has passed: ceil(n / rate), exact; clamped to [`Time::MAX`].
    pub fn time(self, n: Bytes) -> Time {
        if self.bits == 0 {
            return Time::MAX;
        }
        // n x 8 x 1e15 x per: n below 2^50 and per below 2^20 in practice; saturate beyond.
        let top = (n.0 as u128 * 8).saturating_mul(FS_PER_S).saturating_mul(self.per as u128);
        Time(top.div_ceil(self.bits as u128).min(Time::MAX.0 as u128) as u64)
    }
}

/// How long an amount takes at a rate that is no wire's (an engine, a memory): ceil(bytes / rate), remembered as a
/// ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    fs: u128,
    slots: u128,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Pace {
        let (fs, slots) = rate.slot_ratio();
        Pace { fs: fs as u128, slots: slots as u128 }
    }

    #[inline]
    pub(crate) fn span(&self, bytes: u64) -> u64 {
        let top = bytes as u128 * self.fs;
        match u64::try_from(top) {
            Ok(top) => top.div_ceil(self.slots as u64),
            Err(_) => top.div_ceil(self.slots).min(u64::MAX as u128 >> 1) as u64,
        }
    }

    /// What is over of a period, which has begun with the first byte, after so many bytes: rounded down.
    pub(crate) fn phase(&self, bytes: u64, period: u64) -> u64 {
        (bytes as u128 * self.fs / self.slots % u128::from(period.max(1))) as u64
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Rate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Rate) -> std::cmp::Ordering {
        (self.bits as u128 * other.per as u128).cmp(&(other.bits as u128 * self.per as u128))
    }
}

/// A clock, in whole hertz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(pub u64);

impl Frequency {
    /// The length of one period in nanoseconds.
    pub fn period_ns(self) -> f64 {
        1e9 / self.0.max(1) as f64
    }
}

/// The length of a cable, in whole millimetres; at most 1000 km.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(u64);

impl Length {
    /// In whole millimetres.
    pub fn mm(self) -> u64 {
        self.0
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// There is no number at the start.
    NoNumber,
    /// A number alone.
    NoUnit,
    /// A unit that this quantity does not have; holds what was written.
    WrongUnit(String),
    /// More than can be held; holds the largest value as text.
    TooLarge(&'static str),
    /// Less than the smallest step of the quantity, but not zero.
    TooSmall(&'static str),
    /// A minus sign.
    Negative,
    /// Nothing, where nothing would ever move.
    Zero,
}

/// A unit and what it is worth: multiplier and divisor to the quantity's own step.
type Unit = (&'static str, u128, u128);

const TIME: &[Unit] = &[
    ("fs", 1, 1),
    ("ps", 1_000, 1),
    ("ns", 1_000_000, 1),
    ("us", 1_000_000_000, 1),
    ("µs", 1_000_000_000, 1),
    ("ms", 1_000_000_000_000, 1),
    ("s", FS_PER_S, 1),
    ("min", 60 * FS_PER_S, 1),
    ("h", 3600 * FS_PER_S, 1),
];

const BYTES: &[Unit] = &[
    ("B", 1, 1),
    ("kB", 1_000, 1),
    ("MB", 1_000_000, 1),
    ("GB", 1_000_000_000, 1),
    ("TB", 1_000_000_000_000, 1),
    ("KiB", 1 << 10, 1),
    ("MiB", 1 << 20, 1),
    ("GiB", 1 << 30, 1),
    ("TiB", 1 << 40, 1),
];

const RATE: &[Unit] = &[
    ("b/s", 1, 1),
    ("kb/s", 1_000, 1),
    ("Mb/s", 1_000_000, 1),
    ("Gb/s", 1_000_000_000, 1),
    ("Tb/s", 1_000_000_000_000, 1),
    ("B/s", 8, 1),
    ("kB/s", 8_000, 1),
    ("MB/s", 8_000_000, 1),
    ("GB/s", 8_000_000_000, 1),
    ("TB/s", 8_000_000_000_000, 1),
    ("KiB/s", 8 << 10, 1),
    ("MiB/s", 8 << 20, 1),
    ("GiB/s", 8 << 30, 1),
];

const FREQUENCY: &[Unit] = &[("Hz", 1, 1), ("kHz", 1_000, 1), ("MHz", 1_000_000, 1), ("GHz", 1_000_000_000, 1)];

const LENGTH: &[Unit] = &[("mm", 1, 1), ("cm", 10, 1), ("m", 1_000, 1), ("km", 1_000_000, 1)];

/// Splits `"1.25 us"` into the exact decimal (digits, power of ten below the point) and the unit.
fn split(text: &str) -> Result<(u128, u32, &str), UnitError> {
    let text = text.trim();
    if text.starts_with(['-', '−']) {
        return Err(UnitError::Negative);
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (mut digits, mut below, mut point, mut any) = (0u128, 0u32, false, false);
    for c in number.chars() {
        match c {
            '.' if point => return Err(UnitError::NoNumber),
            '.' => point = true,
            '_' => {}
            c => {
                any = true;
                digits = digits
                    .checked_mul(10)
                    .and_then(|d| d.checked_add(c as u128 - '0' as u128))
                    .filter(|&d| d < 10u128.pow(24))
                    .ok_or(UnitError::TooLarge("a number of 24 digits"))?;
                below += u32::from(point);
                if below > 24 {
                    return Err(UnitError::TooLarge("a number of 24 digits"));
                }
            }
        }
    }
    if any { Ok((digits, below, unit.trim())) } else { Err(UnitError::NoNumber) }
}

/// The exact value in steps as a fraction (numerator, denominator).
fn parse(text: &str, units: &[Unit]) -> Result<(u128, u128), UnitError> {
    let (digits, below, unit) = split(text)?;
    if unit.is_empty() {
        return Err(UnitError::NoUnit);
    }
    let &(_, times, over) = units.iter().find(|u| u.0 == unit).ok_or_else(|| UnitError::WrongUnit(unit.to_owned()))?;
    let top = digits.checked_mul(times).ok_or(UnitError::TooLarge("a number of 24 digits"))?;
    Ok((top, over * 10u128.pow(below)))
}

/// The nearest whole number of steps; a value that is not zero may not become so.
fn whole(text: &str, units: &[Unit], max: u64, most: &'static str, least: &'static str) -> Result<u64, UnitError> {
    let (top, bottom) = parse(text, units)?;
    let n = top / bottom + u128::from(top % bottom >= bottom.div_ceil(2));
    if n > max as u128 {
        return Err(UnitError::TooLarge(most));
    }
    if n == 0 && top > 0 {
        return Err(UnitError::TooSmall(least));
    }
    Ok(n as u64)
}

impl Time {
    /// Units a duration is written in.
    pub const UNITS: &str = "fs, ps, ns, us, ms, s, min or h";

    /// Reads `"420 ns"`.
    pub fn parse(text: &str) -> Result<Time, UnitError> {
        whole(text, TIME, Self::MAX.0, "5 h", "1 fs").map(Time)
    }
}

impl Bytes {
    /// Units a size is written in.
    pub const UNITS: &str = "B, kB, MB, GB (decimal) or KiB, MiB, GiB (binary)";

    /// Reads `"2 KiB"`; a fraction of a byte is an error.
    pub fn parse(text: &str) -> Result<Bytes, UnitError> {
        let (top, bottom) = parse(text, BYTES)?;
        if top % bottom != 0 {
            return Err(UnitError::TooSmall("whole bytes"));
        }
        whole(text, BYTES, 1 << 60, "1 EiB", "1 B").map(Bytes)
    }
}

impl Rate {
    /// Units a rate is written in.
    pub const UNITS: &str = "Gb/s, Mb/s, GB/s, MB/s (decimal) or GiB/s, MiB/s (binary)";

    /// Reads `"25 Gb/s"`, exactly.
    pub fn parse(text: &str) -> Result<Rate, UnitError> {
        let (top, bottom) = parse(text, RATE)?;
        if top == 0 {
            return Err(UnitError::Zero);
        }
        if top / bottom > 10u128.pow(18) {
            return Err(UnitError::TooLarge("1,000,000 Tb/s"));
        }
        if top < bottom {
            return Err(UnitError::TooSmall("1 b/s"));
        }
        Ok(Rate::ratio(top, bottom))
    }
}

impl Frequency {
    /// Units a clock is written in.
    pub const UNITS: &str = "Hz, kHz, MHz or GHz";

    /// Reads `"1.2 GHz"`.
    pub fn parse(text: &str) -> Result<Frequency, UnitError> {
        match whole(text, FREQUENCY, 1_000_000_000_000, "1000 GHz", "1 Hz")? {
            0 => Err(UnitError::Zero),
            hertz => Ok(Frequency(hertz)),
        }
    }
}

impl Length {
    /// Units a length is written in.
    pub const UNITS: &str = "mm, cm, m or km";

    /// Reads `"100 m"`.
    pub fn parse(text: &str) -> Result<Length, UnitError> {
        whole(text, LENGTH, 1_000_000_000, "1000 km", "1 mm").map(Length)
    }
}

/// A value of a named unit as a plain number, e.g. of a study's row: `value` in SI steps (bits/s, s, B, or as it is) to
/// `unit`.
pub fn in_unit(value: f64, unit: &str) -> Option<f64> {
    let find = |units: &[Unit]| units.iter().find(|u| u.0 == unit).map(|u| u.1 as f64);
    if let Some(step) = find(RATE) {
        Some(value / step)
    } else if let Some(step) = find(TIME) {
        Some(value / (step / FS_PER_S as f64))
    } else if let Some(step) = find(BYTES) {
        Some(value / step)
    } else {
        match unit {
            "%" => Some(value * 100.0),
            "million/s" | "M/s" => Some(value / 1e6),
            "frames" | "frames/s" | "IO/s" => Some(value),
            _ => None,
        }
    }
}

/// What a value is of, so that two numbers are only compared when they can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// Bits per second.
    Rate,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// A plain ratio, 1 = 100 %.
    Share,
    /// Events per second.
    PerSecond,
    /// A number of things.
    Count,
}

impl Dimension {
    /// The dimension that a row's unit belongs to.
    pub fn of_unit(unit: &str) -> Option<Dimension> {
        let has = |units: &[Unit]| units.iter().any(|u| u.0 == unit);
        match unit {
            "%" => Some(Dimension::Share),
            "million/s" | "M/s" | "frames/s" | "IO/s" => Some(Dimension::PerSecond),
            "frames" => Some(Dimension::Count),
            _ if has(RATE) => Some(Dimension::Rate),
            _ if has(TIME) => Some(Dimension::Time),
            _ if has(BYTES) => Some(Dimension::Bytes),
            _ => None,
        }
    }
}

/// A value in SI steps with the unit a person would choose, three or four significant digits.
pub fn human(value: f64, dimension: Dimension) -> String {
    match dimension {
        Dimension::Rate => human_rate(value),
        Dimension::Time => human_time(value),
        Dimension::Bytes => format!("{} B", digits(value)),
        Dimension::Share => format!("{} %", digits(value * 100.0)),
        Dimension::PerSecond if value < 1e5 => format!("{}/s", digits(value)),
        Dimension::PerSecond => format!("{} million/s", digits(value / 1e6)),
        Dimension::Count => digits(value),
    }
}

/// Bits per second for a person: `"28.7 Gb/s"`.
pub fn human_rate(bits: f64) -> String {
    let (step, unit) = match bits.abs() * (1.0 + 5e-5) {
        b if b < 1e6 => (1e3, "kb/s"),
        b if b < 1e9 => (1e6, "Mb/s"),
        b if b < 1e12 => (1e9, "Gb/s"),
        _ => (1e12, "Tb/s"),
    };
    format!("{} {unit}", digits(bits / step))
}

/// Seconds for a person: `"1.25 us"`.
pub fn human_time(seconds: f64) -> String {
    let (step, unit) = match seconds.abs() * (1.0 + 5e-5) {
        s if s < 1e-6 => (1e-9, "ns"),
        s if s < 1e-3 => (1e-6, "us"),
        s if s < 1.0 => (1e-3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", digits(seconds / step))
}

/// Four significant digits at most, without trailing zeros: 28.73, 1520, 0.031.
pub fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { "-".into() };
    }
    let places = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `n` steps in the largest unit that keeps the number whole, else with decimals in the largest that is not above it.
fn show(n: u128, units: &[(&str, u128)], f: &mut fmt::Formatter) -> fmt::Result {
    if let Some(&(unit, step)) = units.iter().find(|u| n >= u.1 && n.is_multiple_of(u.1)) {
        return write!(f, "{} {unit}", n / step);
    }
    let &(unit, step) = units.iter().find(|u| n >= u.1).unwrap_or(&units[units.len() - 1]);
    let exact = n as f64 / step as f64;
    write!(f, "{exact} {unit}")
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 ns");
        }
        let of = |unit: &str| TIME.iter().find(|u| u.0 == unit).map_or(1, |u| u.1);
        let (unit, step) = ["s", "ms", "us", "ns", "ps", "fs"]
            .into_iter()
            .map(|u| (u, of(u)))
            .find(|u| self.0 as u128 >= u.1)
            .unwrap_or(("fs", 1));
        // In whole numbers: a float has the digits of 9 s in femtoseconds, and no more.
        let (whole, rest) = (self.0 as u128 / step, self.0 as u128 % step);
        if rest == 0 {
            return write!(f, "{whole} {unit}");
        }
        let rest = format!("{rest:0width$}", width = step.ilog10() as usize);
        write!(f, "{whole}.{} {unit}", rest.trim_end_matches('0'))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        show(self.0 as u128, &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)], f)
    }
}

impl fmt::Display for Rate {
    /// Exact where it is a whole number of bits per second, as written rates are; four digits for derived ones (63.02
    /// Gb/s).
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.per != 1 {
            return f.write_str(&human_rate(self.bits()));
        }
        let units = [("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)];
        let (unit, step) = units.into_iter().find(|u| self.bits as f64 >= u.1).unwrap_or(("b/s", 1.0));
        write!(f, "{} {unit}", self.bits as f64 / step)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        show(self.0 as u128, &[("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1_000), ("Hz", 1)], f)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            mm if mm >= 1_000_000 => write!(f, "{} km", mm as f64 / 1e6),
            mm => write!(f, "{} m", mm as f64 / 1e3),
        }
    }
}

macro_rules! serialize_as_text {
    ($($t:ty),*) => {$(impl Serialize for $t {
        fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> { s.collect_str(self) }
    })*};
}
serialize_as_text!(Time, Bytes, Rate, Frequency, Length);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_exactly() {
        assert_eq!(Time::parse("1.25 us"), Ok(Time(1_250_000_000)));
        assert_eq!(Time::parse("15.625ps"), Ok(Time(15_625)));
        assert_eq!(Bytes::parse("2 KiB"), Ok(Bytes(2048)));
        assert_eq!(Bytes::parse("2 kB"), Ok(Bytes(2000)));
        assert_eq!(Rate::parse("25 Gb/s"), Ok(Rate::from_bits(25_000_000_000)));
        assert_eq!(Rate::parse("1 MiB/s"), Ok(Rate::from_bits(8 << 20)));
        assert_eq!(Frequency::parse("1.2 GHz"), Ok(Frequency(1_200_000_000)));
    }

    #[test]
    fn lengths_are_whole_millimetres() {
        assert_eq!(Length::parse("2.5 m").map(|l| (l.mm(), l.to_string())), Ok((2500, "2.5 m".into())));
        assert_eq!(Length::parse("1.2 km").map(|l| l.to_string()), Ok("1.2 km".into()));
        assert_eq!(Length::parse("0 m").map(Length::mm), Ok(0));
        assert_eq!(Length::parse("1001 km"), Err(UnitError::TooLarge("1000 km")));
        assert_eq!(Length::parse("3"), Err(UnitError::NoUnit));
    }

    #[test]
    fn what_is_not_a_quantity_says_why() {
        assert_eq!(Bytes::parse("256"), Err(UnitError::NoUnit));
        assert_eq!(Bytes::parse("256 ns"), Err(UnitError::WrongUnit("ns".into())));
        assert_eq!(Bytes::parse("0.3 B"), Err(UnitError::TooSmall("whole bytes")));
        assert_eq!(Time::parse("ns"), Err(UnitError::NoNumber));
        assert_eq!(Time::parse("-3 ns"), Err(UnitError::Negative));
        assert_eq!(Time::parse("6 h"), Err(UnitError::TooLarge("5 h")));
        assert_eq!(Time::parse("0.1 fs"), Err(UnitError::TooSmall("1 fs")));
        assert!(matches!(Time::parse(&"9".repeat(99)), Err(UnitError::TooLarge(_))));
    }

    #[test]
    fn slots_and_times_are_inverse_and_do_not_drift() {
        // Gen5 x16 after 128b/130b: 15.869... ps a byte; a day of whole picoseconds would be 5.8 % off.
        let rate = Rate::ratio(32_000_000_000 * 16 * 128, 130);
        for n in [1u64, 7, 280, 1 << 20, 1 << 40] {
            let t = rate.time(Bytes(n));
            assert_eq!(rate.slots(t), n);
            assert_eq!(rate.slots(Time(t.0 - 1)), n - 1);
        }
    }

    #[test]
    fn people_read_what_was_meant() {
        assert_eq!(Time::parse("420 ns").expect("valid").to_string(), "420 ns");
        assert_eq!(Time::parse("1250 ns").expect("valid").to_string(), "1.25 us");
        assert_eq!(Bytes(2048).to_string(), "2 KiB");
        assert_eq!(Bytes(1500).to_string(), "1500 B");
        assert_eq!(Rate::from_bits(25_000_000_000).to_string(), "25 Gb/s");
        assert_eq!(digits(28.7345), "28.73");
        assert_eq!(digits(1520.4), "1520");
        assert_eq!(human(0.8941, Dimension::Share), "89.41 %");
    }

    #[test]
    fn rows_convert_only_within_a_dimension() {
        assert_eq!(in_unit(8e6, "MB/s"), Some(1.0));
        assert_eq!(in_unit(1e-9, "ns"), Some(1.0));
        assert_eq!(in_unit(0.5, "%"), Some(50.0));
        assert_eq!(in_unit(1.0, "furlongs"), None);
        assert_eq!(Dimension::of_unit("MiB/s"), Some(Dimension::Rate));
    }
}
