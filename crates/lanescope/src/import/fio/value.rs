//! Values as fio writes them: sizes with suffixes, times, lists by direction.

use crate::units::Time;

/// Bytes, or a share of something that has a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So many percent.
    Percent(u32),
}

/// Largest number of bytes.
const MOST: u64 = 1 << 60;

/// A whole number with fio's suffixes. With `kb_base` 1024, fio's default, `k` and `kb` are 1024 and `ki` and `kib` are
/// 1000: the opposite of IEC 80000-13, as its HOWTO says; with 1000 they are what they should be.
pub(super) fn amount(text: &str, kb_base: u64) -> Option<Amount> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(percent) = text.strip_suffix('%') {
        return percent.trim().parse().ok().filter(|p| *p <= 100).map(Amount::Percent);
    }
    let (digits, radix) = text.strip_prefix("0x").map_or((text.as_str(), 10), |hex| (hex, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let number = u64::from_str_radix(number, radix).ok()?;
    let power = match suffix.chars().next() {
        None => return (number <= MOST).then_some(Amount::Bytes(number)),
        Some(c) => "kmgtp".find(c)? as u32 + 1,
    };
    let iec = match &suffix[1..] {
        "" | "b" => false,
        "i" | "ib" => true,
        _ => return None,
    };
    let base: u64 = if iec == (kb_base == 1000) { 1024 } else { 1000 };
    let bytes = number.checked_mul(base.checked_pow(power)?)?;
    (bytes <= MOST).then_some(Amount::Bytes(bytes))
}

/// Bytes alone.
pub(super) fn bytes(text: &str, kb_base: u64) -> Option<u64> {
    match amount(text, kb_base)? {
        Amount::Bytes(n) => Some(n),
        Amount::Percent(_) => None,
    }
}

/// A time; a number alone is in `unit` fs. What is too long for a clock of 5 h is as long as that.
pub(super) fn time(text: &str, unit: u64) -> Option<Time> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let unit = match suffix {
        "" => unit,
        "us" | "usec" => US,
        "ms" | "msec" => 1000 * US,
        "s" | "sec" => S,
        "m" | "min" => 60 * S,
        "h" | "hour" => 3600 * S,
        // Longer than the clock by itself.
        "d" | "day" => u64::MAX,
        _ => return None,
    };
    let fs = number.parse::<u64>().ok()?.saturating_mul(unit);
    Some(Time::from_fs(fs.min(Time::MAX.fs())))
}

/// A microsecond, in fs.
pub(super) const US: u64 = 1_000_000_000;
/// A second, in fs.
pub(super) const S: u64 = 1_000_000 * US;

/// `read,write[,trim]`: one value holds for all, an empty one leaves what was.
pub(super) fn sides<T: Copy>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<[Option<T>; 2]> {
    all_sides(text, read).map(|[reads, writes, _]| [reads, writes])
}

/// The same, of trims too: a missing one is that of writes.
pub(super) fn all_sides<T: Copy>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<[Option<T>; 3]> {
    let mut parts = Some(text).filter(|t| !t.trim().is_empty())?.split(',').map(str::trim);
    let one = |part: &str| if part.is_empty() { Some(None) } else { read(part).map(Some) };
    let first = one(parts.next()?)?;
    let second = match parts.next() {
        Some(part) => one(part)?,
        None => first,
    };
    let third = match parts.next() {
        Some(part) => one(part)?,
        None => second,
    };
    parts.next().is_none().then_some([first, second, third])
}

/// `size/percent:size/percent`, each percent in hundredths; empty ones share what is left.
pub(super) fn split(text: &str, kb_base: u64) -> Option<Vec<(u64, u32)>> {
    let mut list = Vec::new();
    for part in text.split(':').map(str::trim) {
        let (size, percent) = part.split_once('/').map_or((part, ""), |(s, p)| (s, p.trim()));
        let percent = match percent {
            "" => None,
            p => Some(p.parse::<u32>().ok().filter(|p| *p <= 100)? * 100),
        };
        list.push((bytes(size, kb_base).filter(|b| *b > 0)?, percent));
    }
    let said: u32 = list.iter().filter_map(|l| l.1).sum();
    let open = list.iter().filter(|l| l.1.is_none()).count();
    if said > 10_000 || open == 0 && said != 10_000 {
        return None;
    }
    let shares = apportion(10_000 - said, open);
    let mut shares = shares.into_iter();
    let filled = list.into_iter().map(|(size, percent)| (size, percent.or_else(|| shares.next()).unwrap_or(0)));
    Some(filled.filter(|l| l.1 > 0).collect())
}

/// A whole in so many parts, as equal as can be.
pub(super) fn apportion(whole: u32, parts: usize) -> Vec<u32> {
    let n = parts.max(1) as u32;
    (0..parts as u32).map(|i| whole / n + u32::from(i < whole % n)).collect()
}

/// A percentage.
pub(super) fn percent(n: u32) -> Result<u32, String> {
    if n <= 100 { Ok(n) } else { Err("a percentage from 0 to 100".into()) }
}
/// Zones of absolute sizes, as a scenario writes them: fio's units may be powers of two.
pub(super) fn absolute(text: &str, base: u64) -> Option<String> {
    let zones = text.strip_prefix("zoned_abs:")?.split(':').map(|zone| {
        let (share, size) = zone.split_once('/')?;
        let size = if size.trim().is_empty() { String::new() } else { format!("{} B", bytes(size, base)?) };
        Some(format!("{share}/{size}"))
    });
    Some(format!("zoned_abs:{}", zones.collect::<Option<Vec<_>>>()?.join(":")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        for (text, n) in [
            ("4096", 4096),
            ("0x10", 16),
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4kib", 4000),
            ("2m", 2 << 20),
            ("1G", 1 << 30),
            ("1t", 1 << 40),
        ] {
            assert_eq!(amount(text, 1024), Some(Amount::Bytes(n)), "{text}");
        }
        assert_eq!((amount("4k", 1000), amount("4ki", 1000)), (Some(Amount::Bytes(4000)), Some(Amount::Bytes(4096))));
        assert_eq!(amount("50%", 1024), Some(Amount::Percent(50)));
        for text in ["", "k", "4x", "4kk", "1.5k", "-4", "101%", "99999999999999999999", "9999999p", "(4*2)"] {
            assert_eq!(amount(text, 1024), None, "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        let us = |text: &str, unit: u64| time(text, unit).map(|t| t.fs() / US);
        assert_eq!((us("5", S), us("5", US), us("20ms", S)), (Some(5_000_000), Some(5), Some(20_000)));
        assert_eq!((us("2m", S), us("1h", US), us("7usec", S)), (Some(120_000_000), Some(3_600_000_000), Some(7)));
        assert_eq!((time("1w", S), time("", S), time("9d", S)), (None, None, Some(Time::MAX)));
    }

    #[test]
    fn splits_share_what_is_left() {
        assert_eq!(split("4k/10:64k/50:32k/40", 1024), Some(vec![(4096, 1000), (65536, 5000), (32768, 4000)]));
        assert_eq!(split("4k/50:1k/:32k/", 1024), Some(vec![(4096, 5000), (1024, 2500), (32768, 2500)]));
        assert_eq!(split("4k:8k:16k", 1024).map(|s| s.iter().map(|s| s.1).collect()), Some(vec![3334, 3333, 3333]));
        assert_eq!(split("64k/100:1024k/0", 1024), Some(vec![(65536, 10_000)]));
        for text in ["4k/60:8k/60", "4k/50", "", "0/100", "4k/x"] {
            assert_eq!(split(text, 1024), None, "{text}");
        }
    }

    #[test]
    fn directions_are_separated_by_commas() {
        let read = |text: &str| sides(text, |t| t.parse::<u32>().ok());
        assert_eq!(read("4"), Some([Some(4), Some(4)]));
        assert_eq!(
            (read("4,8"), read("4,"), read(",8,")),
            (Some([Some(4), Some(8)]), Some([Some(4), None]), Some([None, Some(8)]))
        );
        assert_eq!((read("4,8,x"), read("1,2,3,4"), read("x"), read("")), (None, None, None, None));
    }
}
