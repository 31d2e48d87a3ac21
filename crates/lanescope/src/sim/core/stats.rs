//! Means with intervals from one run: batches of equal time, warm-up by MSER, confidence by batch means.
//!
//! A run is cut into batches. When there are too many, neighbours are joined, so memory does not grow and batches
//! become long against whatever correlation there is. The interval of a mean is Student's, taken twice: over the
//! batches as they are and over pairs of them; the wider counts. Sources: White 1997 (MSER); Law, Simulation Modeling
//! and Analysis, 5th ed., 9.5 (batch means).

use crate::result::Interval;
use crate::tools::student;

/// Batches are joined when there are so many.
pub(in crate::sim) const MOST: usize = 64;

/// How many of the first values to leave out, so that the rest give the mean with the least standard error (MSER).
/// Never more than half are proposed: the answer `n / 2` means that the values have not settled.
pub(in crate::sim) fn warmup(values: &[f64]) -> usize {
    let n = values.len();
    let mut best = (f64::INFINITY, 0);
    let (mut sum, mut squares) = (0.0, 0.0);
    // From the end, so that each tail's sums are at hand.
    for d in (0..n).rev() {
        sum += values[d];
        squares += values[d] * values[d];
        let left = (n - d) as f64;
        if d > n / 2 {
            continue;
        }
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        // What differs by rounding only is equal: the earlier start is taken.
        let noise = 1e-12 * squares / left;
        if error <= best.0 + noise {
            best = (error, d);
        }
    }
    best.1
}

/// A mean of ratios: the sum of `tops` over the sum of `bottoms`, with its interval. For a rate, the bottoms are times;
/// for a mean latency, counts.
pub(in crate::sim) fn ratio(tops: &[f64], bottoms: &[f64]) -> Interval {
    let mean = tops.iter().sum::<f64>() / bottoms.iter().sum::<f64>();
    if !mean.is_finite() {
        return Interval { mean: 0.0, half: None };
    }
    let single = half_width(mean, tops, bottoms);
    let pair = |v: &[f64]| v.chunks_exact(2).map(|p| p[0] + p[1]).collect::<Vec<_>>();
    let paired = half_width(mean, &pair(tops), &pair(bottoms));
    Interval { mean, half: Some(single.max(paired)).filter(|h| h.is_finite()) }
}

/// The mean of independent values, with its interval.
pub(crate) fn mean(values: &[f64]) -> Interval {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Interval { mean, half: Some(half_width(mean, values, &vec![1.0; values.len()])).filter(|h| h.is_finite()) }
}

/// Half of the 95 % interval of a ratio (the delta method: residuals of tops against mean x bottoms).
fn half_width(mean: f64, tops: &[f64], bottoms: &[f64]) -> f64 {
    let n = tops.len() as f64;
    if n < 2.0 {
        return f64::INFINITY;
    }
    let squares: f64 = tops.iter().zip(bottoms).map(|(t, b)| (t - mean * b).powi(2)).sum();
    let average = bottoms.iter().sum::<f64>() / n;
    let deviation = (squares / (n - 1.0)).sqrt() / average;
    student(n - 1.0) * deviation / n.sqrt()
}

/// Joins neighbours.
pub(in crate::sim) fn join<T: Copy + std::ops::AddAssign>(values: &mut Vec<T>) {
    for i in 0..values.len() / 2 {
        let mut pair = values[2 * i];
        pair += values[2 * i + 1];
        values[i] = pair;
    }
    values.truncate(values.len() / 2);
}

/// Whether a backlog grows without end: its straight line over the window rises by more than its noise, and by at least
/// a `part` of what came.
pub(in crate::sim) fn grows(backlogs: &[f64], arrived: f64, part: f64) -> bool {
    let n = backlogs.len() as f64;
    if n < 8.0 {
        return false;
    }
    let middle = (n - 1.0) / 2.0;
    let mean = backlogs.iter().sum::<f64>() / n;
    let (mut cross, mut square) = (0.0, 0.0);
    for (i, b) in backlogs.iter().enumerate() {
        cross += (i as f64 - middle) * (b - mean);
        square += (i as f64 - middle).powi(2);
    }
    let slope = cross / square;
    let rest: f64 = backlogs.iter().enumerate().map(|(i, b)| (b - mean - slope * (i as f64 - middle)).powi(2)).sum();
    let error = (rest / (n - 2.0) / square).sqrt();
    let rise = slope * n;
    slope > 4.0 * error && rise > 4.0 && rise > part * arrived && backlogs[backlogs.len() - 1] > 1.5 * backlogs[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::core::source::exponential;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn warmup_is_found_where_it_ends() {
        let mut values: Vec<f64> = (0..64).map(|i| 10.0 + ((i * 7) % 5) as f64 * 0.01).collect();
        assert!(warmup(&values) < 5);
        for (i, v) in values.iter_mut().take(12).enumerate() {
            *v = i as f64 * 0.5;
        }
        assert!((12..16).contains(&warmup(&values)), "{}", warmup(&values));
        let rising: Vec<f64> = (0..64).map(f64::from).collect();
        assert_eq!(warmup(&rising), 32);
        assert_eq!(warmup(&[5.0; 20]), 0);
    }

    #[test]
    fn intervals_of_independent_batches_cover_the_mean_nineteen_times_of_twenty() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut covered = 0;
        for _ in 0..1000 {
            let sums: Vec<f64> =
                (0..32).map(|_| (0..20).map(|_| exponential(&mut random, 1e6) as f64).sum::<f64>()).collect();
            let i = ratio(&sums, &[20.0; 32]);
            covered += i.half.is_some_and(|h| (i.mean - 1e6).abs() <= h) as u32;
        }
        assert!((935..985).contains(&covered), "{covered}");
    }

    #[test]
    fn a_growing_backlog_is_told_from_a_busy_one() {
        let growing: Vec<f64> = (0..32).map(|i| 3.0 + 2.0 * f64::from(i) + f64::from(i * 7 % 5)).collect();
        assert!(grows(&growing, 1000.0, 2e-3));
        let busy: Vec<f64> = (0..32).map(|i| 30.0 + f64::from(i * 13 % 17)).collect();
        assert!(!grows(&busy, 1000.0, 2e-3));
        assert!(!grows(&[0.0; 32], 1000.0, 2e-3));
    }
}
