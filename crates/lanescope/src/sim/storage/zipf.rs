//! Ranks by Zipf's law, of as many things as one likes, in constant time and without a table; and places by the other
//! laws of fio's `random_distribution`.
//!
//! Rejection and inversion (Hormann and Derflinger: ACM TOMACS 6, 1996): a rank is drawn by inverting the integral of
//! x^-s from the middle before the first to the middle behind the last, and kept if it lies below the histogram. At
//! most a few are thrown away.

use crate::scenario::keys::{Extent, Places, WHOLE, Zone};
use crate::tools::mixed;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The integral of x^-s from 1, and its inverse.
fn integral(x: f64, s: f64) -> f64 {
    if (s - 1.0).abs() < 1e-9 { libm::log(x) } else { (libm::pow(x, 1.0 - s) - 1.0) / (1.0 - s) }
}

fn inverse(h: f64, s: f64) -> f64 {
    if (s - 1.0).abs() < 1e-9 { libm::exp(h) } else { libm::pow((1.0 + h * (1.0 - s)).max(0.0), 1.0 / (1.0 - s)) }
}

/// A rank from 1 to `n`: the first is drawn 2^s times as often as the second.
fn rank(random: &mut Xoshiro256PlusPlus, n: u64, s: f64) -> u64 {
    // From the first one's whole weight, 1, to the middle behind the last.
    let (first, last) = (integral(1.5, s) - 1.0, integral(n as f64 + 0.5, s));
    loop {
        let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let h = first + uniform * (last - first);
        let k = inverse(h, s).round().clamp(1.0, n as f64);
        if h >= integral(k + 0.5, s) - libm::pow(k, -s) {
            return k as u64;
        }
    }
}

/// A number from 0 to 1, without 1.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A number below `n`.
fn below(random: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A number by the normal distribution (Box and Muller: Annals of Mathematical Statistics 29, 1958).
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (a, b) = (1.0 - uniform(random), uniform(random));
    libm::sqrt(-2.0 * libm::log(a)) * libm::cos(std::f64::consts::TAU * b)
}

/// Where an I/O of so many bytes begins in a range, at a multiple of `align`, by a law of places.
pub(super) fn place(random: &mut Xoshiro256PlusPlus, law: &Places, (range, size): (u64, u64), align: u64) -> u64 {
    let places = range.saturating_sub(size) / align + 1;
    let rank = match law {
        Places::Zipf(exponent) => rank(random, places, *exponent),
        // As fio draws it: of all I/Os a part of 1 - h falls below the rank that cuts off h of all.
        Places::Pareto(h) => {
            let power = libm::log(*h) / libm::log(1.0 - h);
            ((places - 1) as f64 * libm::pow(uniform(random), power)) as u64
        }
        Places::Normal(deviation) => loop {
            let at = places as f64 * (0.5 + normal(random) * deviation / 100.0);
            if (0.0..places as f64).contains(&at) {
                break at as u64;
            }
        },
        Places::Zones(zones) => return in_zones(random, zones, range, (places, align)),
    };
    // The most wanted lie anywhere.
    (mixed(rank.min(places - 1)) % places) * align
}

/// The same, of zones that lie one behind the other: each begins at the first place in it. What lies behind the last
/// place is there.
fn in_zones(random: &mut Xoshiro256PlusPlus, zones: &[Zone], range: u64, (places, align): (u64, u64)) -> u64 {
    let (mut left, mut begin) = (below(random, u64::from(WHOLE)), 0_u64);
    let part = |n: u32| (u128::from(range) * u128::from(n) / u128::from(WHOLE)) as u64;
    for zone in zones {
        let length = match zone.extent {
            Extent::Part(n) => part(n),
            Extent::Bytes(n) => n,
            Extent::Rest => range.saturating_sub(begin),
        };
        let end = begin.saturating_add(length).min(range);
        if left < u64::from(zone.share) {
            let first = begin.div_ceil(align).min(places - 1);
            let last = end.div_ceil(align).clamp(first + 1, places.max(first + 1));
            return (first + below(random, last - first)).min(places - 1) * align;
        }
        (left, begin) = (left - u64::from(zone.share), end);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

    /// How many of so many draws fall into parts of a range of 1000 places.
    fn draws(law: &str, parts: &[std::ops::Range<u64>]) -> Vec<f64> {
        let law = Places::parse(law).expect("a law");
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (draws, range) = (100_000, 1000 * 4096);
        let mut counts = vec![0_u32; parts.len()];
        for _ in 0..draws {
            let at = place(&mut random, &law, (range, 4096), 4096);
            assert!(at.is_multiple_of(4096) && at + 4096 <= range, "{at}");
            parts.iter().zip(&mut counts).filter(|(p, _)| p.contains(&(at / 4096))).for_each(|(_, n)| *n += 1);
        }
        counts.iter().map(|n| f64::from(*n) / f64::from(draws)).collect()
    }

    #[test]
    fn zones_get_their_shares() {
        for law in ["zoned:50/5:30/15:20/80", "zoned:50/5:30/15:20/", "zoned_abs:50/200 KiB:30/600 KiB:20/3200 KiB"] {
            let shares = draws(law, &[0..50, 50..200, 200..1000, 0..25]);
            for (share, wanted) in shares.iter().zip([0.5, 0.3, 0.2, 0.25]) {
                assert!((share - wanted).abs() < 0.01, "{law}: {shares:?}");
            }
        }
        // Zones behind the range, and without a length.
        assert_eq!(draws("zoned_abs:100/1 B", &[0..1, 1..1000]), [1.0, 0.0]);
        assert_eq!(draws("zoned_abs:0/1 TB:100/1 TB", &[999..1000, 0..999]), [1.0, 0.0]);
    }

    /// Of Pareto's law with h, a part of 1 - h of all I/Os goes to a part of h of all places; of a normal distribution
    /// 68 % lies within its deviation.
    #[test]
    fn most_go_to_few() {
        for (law, part, wanted) in [("pareto:0.2", 0.2, 0.8), ("pareto:0.8", 0.8, 0.2), ("normal:10", 0.2, 0.683)] {
            let places = Places::parse(law).expect("a law");
            let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
            let mut often = std::collections::HashMap::new();
            for _ in 0..100_000 {
                *often.entry(place(&mut random, &places, (4096 << 20, 4096), 4096) >> 12).or_insert(0_u32) += 1;
            }
            // By the rank behind it: the ranks of the law, drawn again, are what a place is mixed from.
            let n = 1_u64 << 20;
            let bounds = match &places {
                Places::Normal(_) => (0.4 * n as f64) as u64..(0.6 * n as f64) as u64,
                _ => 0..(part * n as f64) as u64,
            };
            let wanted_places: std::collections::HashSet<u64> = bounds.map(|rank| mixed(rank) % n).collect();
            let hits: u32 = often.iter().filter(|(p, _)| wanted_places.contains(p)).map(|(_, n)| n).sum();
            let share = f64::from(hits) / 1e5;
            // Others' ranks are mixed into the same places.
            let strays = (1.0 - wanted) * wanted_places.len() as f64 / n as f64;
            assert!(share >= wanted - 0.02 && share <= wanted + strays + 0.02, "{law}: {share}, not {wanted}");
        }
    }

    #[test]
    fn ranks_are_as_often_as_the_law_says() {
        for (n, s) in [(10_u64, 1.0), (1000, 0.7), (1000, 1.2), (1 << 40, 1.5), (7, 3.0)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            let draws = 200_000;
            let mut counts = [0_u64; 6];
            for _ in 0..draws {
                let k = rank(&mut random, n, s);
                assert!((1..=n).contains(&k));
                if let Some(count) = counts.get_mut(k as usize - 1) {
                    *count += 1;
                }
            }
            // The sum of k^-s; behind what is added up one by one, its integral.
            let near = n.min(10_000);
            let sum: f64 = (1..=near).map(|k| libm::pow(k as f64, -s)).sum();
            let all = sum + integral(n as f64 + 0.5, s) - integral(near as f64 + 0.5, s);
            for (i, count) in counts.iter().enumerate() {
                let p = libm::pow(i as f64 + 1.0, -s) / all;
                let (mean, deviation) = (p * f64::from(draws), (p * f64::from(draws)).sqrt());
                assert!((*count as f64 - mean).abs() < 5.0 * deviation + 1.0, "{n} {s}: {count} of {mean}");
            }
        }
    }
}
