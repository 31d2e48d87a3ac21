//! Ranks by Zipf's law, of as many things as one likes, in constant time and without a table.
//!
//! Rejection and inversion (Hormann and Derflinger: ACM TOMACS 6, 1996): a rank is drawn by inverting the integral of
//! x^-s from the middle before the first to the middle behind the last, and kept if it lies below the histogram. At
//! most a few are thrown away.

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
pub(super) fn rank(random: &mut Xoshiro256PlusPlus, n: u64, s: f64) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::rand_core::SeedableRng;

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
