//! A scenario's unknown values out of what was measured: least squares of relative errors, with intervals, and with
//! what the numbers cannot tell apart.
//!
//! Every unknown has two ends, between which it is looked for; inside, all are counted in shares of that range, so that
//! nanoseconds and tags weigh alike. Levenberg-Marquardt (rmpfit) starts at the best few of points spread over the
//! whole box, since a value that does not bind where a search starts moves nothing there. The derivatives at the end
//! tell the rest: a direction in which even half of the box would not be noticed above the scatter of the errors is
//! one that the numbers do not see.

use super::Error;
use crate::result::Report;
use crate::tools::student;
use crate::units::{Bytes, Dimension, Rate, Time, human};
use rmpfit::{MPError, MPFitter, MPPar, MPResult, MPSide};
use serde::Serialize;

/// Points of the box that are tried before a search, and searches from the best of them.
const SPREAD: usize = 48;
const STARTS: usize = 3;
/// What a number of a table is exact to at best: four digits.
const DIGITS: f64 = 1e-4;
/// A direction is not seen where it is not known to this share of its range.
const UNSEEN: f64 = 0.5;
/// Part of a direction that an unknown must have to be named with it.
const NAMED: f64 = 0.3;
/// Unknowns at most: more are no question for a table of measured rows.
const MOST: usize = 16;

/// What kind of value an unknown is, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Count,
    Time,
    Bytes,
    Rate,
}

/// A value of a scenario that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    path: String,
    kind: Kind,
    low: f64,
    high: f64,
}

impl Unknown {
    /// A path as `--set` has it, and the two ends between which its value lies: `"200 ns"`, `"900 ns"`; or two whole
    /// numbers.
    ///
    /// # Errors
    ///
    /// Ends of different kinds, that are no quantities, or in the wrong order.
    pub fn parse(path: &str, low: &str, high: &str) -> Result<Unknown, Error> {
        let end = |text: &str| {
            let text = text.trim().trim_matches('"');
            let count = text.parse::<u32>().ok().map(|n| (Kind::Count, f64::from(n)));
            count
                .or_else(|| Bytes::parse(text).ok().map(|b| (Kind::Bytes, b.f64())))
                .or_else(|| Time::parse(text).ok().map(|t| (Kind::Time, t.fs() as f64)))
                .or_else(|| Rate::parse(text).ok().map(|r| (Kind::Rate, r.bits())))
                .ok_or_else(|| {
                    format!("{path}: {text:?} is not a whole number, time, size or rate, e.g. 32 or \"200 ns\"")
                })
        };
        let ((kind, low), (other, high)) = (end(low)?, end(high)?);
        if kind != other {
            return Err(format!("{path}: its two ends are not of one kind"));
        }
        if low >= high {
            return Err(format!("{path}: its lower end comes first, and is below the other"));
        }
        Ok(Unknown { path: path.trim().to_owned(), kind, low, high })
    }

    /// The value at a share of the range, as a scenario has it.
    fn text(&self, share: f64) -> String {
        let value = (self.low + share.clamp(0.0, 1.0) * (self.high - self.low)).round() as u64;
        match self.kind {
            Kind::Count => value.to_string(),
            Kind::Time => Time::from_fs(value).to_string(),
            Kind::Bytes => Bytes(value).to_string(),
            Kind::Rate => Rate::from_bits(value).to_string(),
        }
    }

    /// The same for a person, and as a number in SI steps.
    fn shown(&self, share: f64) -> (f64, String) {
        let value = self.low + share.clamp(0.0, 1.0) * (self.high - self.low);
        match self.kind {
            Kind::Count => (value.round(), human(value.round(), Dimension::Count)),
            Kind::Time => (value * 1e-15, human(value * 1e-15, Dimension::Time)),
            Kind::Bytes => (value.round(), human(value.round(), Dimension::Bytes)),
            Kind::Rate => (value, human(value, Dimension::Rate)),
        }
    }

    /// A step that changes an answer: a thousandth of the range, but of things that are counted one.
    fn step(&self) -> f64 {
        let whole = if matches!(self.kind, Kind::Count | Kind::Bytes) { 1.0 / (self.high - self.low) } else { 0.0 };
        whole.max(1e-3)
    }
}

/// One measured number.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// What messages call it: `line 3, flows.rx.share`.
    pub name: String,
    /// What is laid over the scenario for it: `path=value`.
    pub set: Vec<String>,
    /// The metric, as `Report::metric` has it.
    pub metric: String,
    /// Its value in SI steps (bits/s, s, B).
    pub value: f64,
}

/// An unknown, found.
#[derive(Clone, Debug, Serialize)]
pub struct Value {
    /// Its path.
    pub path: String,
    /// Its value, as a scenario has it.
    pub value: String,
    /// The same in SI steps (bits/s, s, B, or as it is).
    pub number: f64,
    /// Its 95 % interval in the same, within the two ends; none where the numbers do not see it.
    pub interval: Option<(f64, f64)>,
    /// The same for a person.
    pub interval_text: Option<String>,
    /// Whether it ended at one of its two ends: then the truth may lie beyond.
    pub at_limit: bool,
}

/// A measured number beside the fitted one.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// What it is.
    pub name: String,
    /// As measured, in SI steps.
    pub measured: f64,
    /// With the fitted values.
    pub fitted: f64,
    /// fitted / measured − 1.
    pub off: f64,
}

/// What a fit came to.
#[derive(Clone, Debug, Serialize)]
pub struct Fitting {
    /// The unknowns.
    pub values: Vec<Value>,
    /// Every number, the worst fit first.
    pub rows: Vec<Compared>,
    /// Root of the mean square of the relative errors.
    pub rms: f64,
    /// Unknowns that these numbers do not see at all.
    pub unseen: Vec<String>,
    /// Unknowns that they see together only: one makes up for another.
    pub together: Vec<Vec<String>>,
    /// The same, and what else is to be said, in words.
    pub notes: Vec<String>,
}

/// Who answers: a scenario with these values laid over it.
pub(crate) type Answers<'a> = dyn Fn(&[String]) -> Result<Report, Error> + 'a;

struct Problem<'a> {
    answers: &'a Answers<'a>,
    unknowns: &'a [Unknown],
    observed: &'a [Observed],
    simulated: bool,
    limits: Vec<MPPar>,
    failed: Option<Error>,
}

impl Problem<'_> {
    /// The numbers at a point of the box.
    fn numbers(&self, at: &[f64]) -> Result<Vec<f64>, Error> {
        let own: Vec<String> =
            self.unknowns.iter().zip(at).map(|(u, share)| format!("{}={}", u.path, u.text(*share))).collect();
        // Numbers of one setting stand together: it is answered once for all of them.
        let mut last: Option<(&[String], Report)> = None;
        let mut all = Vec::new();
        for o in self.observed {
            if last.as_ref().is_none_or(|(set, _)| *set != o.set) {
                let set = [o.set.as_slice(), &own].concat();
                last = Some((&o.set, (self.answers)(&set).map_err(|e| format!("{}: {e}", o.name))?));
            }
            let Some((_, report)) = &last else { continue };
            let value = match self.simulated {
                true => report.simulated(&o.metric).map(|m| m.value.mean),
                false => report.metric(&o.metric).map(|m| m.value),
            };
            all.push(value.map_err(|e| format!("{}: {e}", o.name))?);
        }
        Ok(all)
    }

    fn errors(&self, at: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.numbers(at)?.iter().zip(self.observed).map(|(v, o)| v / o.value - 1.0).collect())
    }
}

impl MPFitter for Problem<'_> {
    fn eval(&mut self, params: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        match self.errors(params) {
            Ok(errors) => {
                deviates.copy_from_slice(&errors);
                Ok(())
            }
            Err(e) => {
                self.failed = Some(e);
                Err(MPError::Eval)
            }
        }
    }

    fn number_of_points(&self) -> usize {
        self.observed.len()
    }

    fn parameters(&self) -> &[MPPar] {
        &self.limits
    }
}

fn squares(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e * e).sum()
}

/// The `n`th number of the sequence of a prime base (van der Corput), of which Halton's points are made.
fn radical_inverse(mut n: usize, base: usize) -> f64 {
    let (mut share, mut out) = (1.0 / base as f64, 0.0);
    while n > 0 {
        out += (n % base) as f64 * share;
        n /= base;
        share /= base as f64;
    }
    out
}

/// The first primes, a base for each unknown.
const PRIMES: [usize; MOST] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// Fits unknowns to measured numbers. `simulated` says that reports carry a simulation and that its means are meant.
///
/// # Errors
///
/// Fewer numbers than unknowns, a number that is not above zero, a metric that is not there, or a scenario that cannot
/// be answered with a value between the ends.
pub fn fit(answers: &Answers, unknowns: &[Unknown], observed: &[Observed], simulated: bool) -> Result<Fitting, Error> {
    let (n, k) = (observed.len(), unknowns.len());
    if k == 0 || k > MOST {
        return Err(format!("a fit has 1 to {MOST} free values; these are {k}"));
    }
    if n <= k {
        return Err(format!("{k} free values for {n} numbers cannot be determined: measure more, or free fewer"));
    }
    if let Some(o) = observed.iter().find(|o| !(o.value > 0.0 && o.value.is_finite())) {
        return Err(format!("{}: a measured number must be above zero", o.name));
    }
    let limit = |u: &Unknown| MPPar {
        limited_low: true,
        limited_up: true,
        limit_low: 0.0,
        limit_up: 1.0,
        step: u.step(),
        side: MPSide::Auto,
        ..MPPar::new()
    };
    let limits = unknowns.iter().map(limit).collect();
    let mut p = Problem { answers, unknowns, observed, simulated, limits, failed: None };
    let mut starts = vec![vec![0.5; k]];
    starts.extend((1..SPREAD).map(|i| PRIMES[..k].iter().map(|base| radical_inverse(i, *base)).collect()));
    let mut tried = Vec::new();
    for start in starts {
        tried.push((squares(&p.errors(&start)?), start));
    }
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    tried.truncate(STARTS);
    let mut best = tried[0].clone();
    for (_, mut at) in tried {
        if let Err(e) = p.mpfit(&mut at) {
            return Err(p.failed.unwrap_or_else(|| format!("the fit failed: {e}")));
        }
        let left = squares(&p.errors(&at)?);
        if left < best.0 {
            best = (left, at);
        }
    }
    judged(&p, &best.1)
}

/// Intervals, what is not seen, and the rows, at the end of a search.
fn judged(p: &Problem, at: &[f64]) -> Result<Fitting, Error> {
    let (n, k) = (p.observed.len(), at.len());
    let numbers = p.numbers(at)?;
    let errors: Vec<f64> = numbers.iter().zip(p.observed).map(|(v, o)| v / o.value - 1.0).collect();
    let scatter = (squares(&errors) / (n - k) as f64).sqrt().max(DIGITS);
    // Derivatives, and from them the matrix of normal equations.
    let mut slopes = Vec::new();
    for i in 0..k {
        let step = p.unknowns[i].step();
        let (mut low, mut high) = (at.to_vec(), at.to_vec());
        low[i] = (at[i] - step).max(0.0);
        high[i] = (at[i] + step).min(1.0);
        let (below, above) = (p.errors(&low)?, p.errors(&high)?);
        let width = high[i] - low[i];
        slopes.push(above.iter().zip(below).map(|(a, b)| (a - b) / width).collect::<Vec<f64>>());
    }
    let normal: Vec<Vec<f64>> =
        slopes.iter().map(|a| slopes.iter().map(|b| a.iter().zip(b).map(|(x, y)| x * y).sum()).collect()).collect();
    let reach = student((n - k) as f64) * scatter;
    let (mut spread, mut dark) = (vec![0.0; k], vec![false; k]);
    let (mut unseen, mut together) = (Vec::new(), Vec::new());
    for (strength, direction) in principal(normal) {
        let width = if strength > 0.0 { reach / strength.sqrt() } else { f64::INFINITY };
        if width < UNSEEN {
            spread.iter_mut().zip(&direction).for_each(|(s, d)| *s += (d * width).powi(2));
            continue;
        }
        let named: Vec<usize> = (0..k).filter(|i| direction[*i].abs() >= NAMED).collect();
        named.iter().for_each(|i| dark[*i] = true);
        let mut names: Vec<String> = named.iter().map(|i| p.unknowns[*i].path.clone()).collect();
        if names.len() == 1 { unseen.append(&mut names) } else { together.push(names) }
    }
    let values = p.unknowns.iter().enumerate().map(|(i, u)| {
        let half = spread[i].sqrt();
        let ends = (!dark[i]).then(|| (u.shown(at[i] - half), u.shown(at[i] + half)));
        Value {
            path: u.path.clone(),
            value: u.text(at[i]),
            number: u.shown(at[i]).0,
            interval: ends.as_ref().map(|(low, high)| (low.0, high.0)),
            interval_text: ends.map(|(low, high)| format!("{} … {}", low.1, high.1)),
            at_limit: at[i] < 1e-3 || at[i] > 1.0 - 1e-3,
        }
    });
    let values: Vec<Value> = values.collect();
    let rows = p.observed.iter().zip(numbers).zip(&errors);
    let rows = rows.map(|((o, fitted), off)| Compared { name: o.name.clone(), measured: o.value, fitted, off: *off });
    let mut rows: Vec<Compared> = rows.collect();
    rows.sort_by(|a, b| b.off.abs().total_cmp(&a.off.abs()));
    let mut notes: Vec<String> = unseen
        .iter()
        .map(|u| format!("these numbers do not determine {u}: it may be anything between its two ends"))
        .collect();
    notes.extend(
        together
            .iter()
            .map(|t| format!("these numbers do not tell {} apart: one makes up for another", t.join(" and "))),
    );
    let ends = values.iter().filter(|v| v.at_limit && !unseen.contains(&v.path));
    notes.extend(ends.map(|v| format!("{} ended at a limit of its range: the true value may lie beyond", v.path)));
    Ok(Fitting { values, rows, rms: (squares(&errors) / n as f64).sqrt(), unseen, together, notes })
}

/// Eigenvalues and unit eigenvectors of a symmetric matrix, by Jacobi's rotations (Golub and Van Loan, Matrix
/// Computations, 8.5).
fn principal(mut m: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    const SWEEPS: usize = 60;
    let n = m.len();
    let mut v: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..SWEEPS {
        for i in 0..n {
            for j in i + 1..n {
                if m[i][j] == 0.0 {
                    continue;
                }
                let tau = (m[j][j] - m[i][i]) / (2.0 * m[i][j]);
                let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                let t = if tau == 0.0 { 1.0 } else { t };
                let c = 1.0 / (1.0 + t * t).sqrt();
                let s = t * c;
                for row in &mut m {
                    let (a, b) = (row[i], row[j]);
                    (row[i], row[j]) = (c * a - s * b, s * a + c * b);
                }
                let (above, below) = m.split_at_mut(j);
                for (a, b) in above[i].iter_mut().zip(&mut below[0]) {
                    (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
                }
                for row in &mut v {
                    let (a, b) = (row[i], row[j]);
                    (row[i], row[j]) = (c * a - s * b, s * a + c * b);
                }
            }
        }
    }
    (0..n).map(|i| (m[i][i], v.iter().map(|row| row[i]).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principal_directions_put_a_matrix_together_again() {
        let m = vec![vec![4.0, 1.0, -2.0], vec![1.0, 3.0, 0.5], vec![-2.0, 0.5, 9.0]];
        let parts = principal(m.clone());
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = parts.iter().map(|(value, v)| value * v[i] * v[j]).sum();
                assert!((sum - m[i][j]).abs() < 1e-9, "{i} {j}: {sum}");
            }
        }
    }

    #[test]
    fn ends_are_of_one_kind_and_in_order() {
        assert!(Unknown::parse("a.b", "1", "64").is_ok());
        assert!(Unknown::parse("a.b", "200 ns", "0.9 us").is_ok());
        for (low, high) in [("1", "2 ns"), ("2 ns", "1 ns"), ("x", "y"), ("1 ns", "1 ns"), ("", "3")] {
            assert!(Unknown::parse("a.b", low, high).is_err(), "{low} {high}");
        }
    }

    #[test]
    fn a_value_is_read_as_it_was_written() {
        let u = Unknown::parse("a.b", "200 ns", "900 ns").expect("valid");
        assert_eq!(Time::parse(&u.text(0.5)).expect("a time"), Time::from_fs(550_000_000));
    }
}
