//! How large messages are, where they are not all alike: a cumulative distribution, by the name under which it was
//! published or point by point.

use crate::scenario::quantity::{Problem, Shape};
use crate::scenario::tree::{Node, Value};
use crate::units::{Bytes, digits};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// Points of a distribution at most.
const MOST_POINTS: usize = 1000;
/// The largest message: 1 TiB.
const LARGEST: u64 = 1 << 40;
/// Messages that a mean over a function of their sizes takes, each for an equal part of the distribution.
const SAMPLED: u32 = 4096;

/// Distributions of message sizes as simulators of data centres use them: bytes, and percent of the messages that are
/// no larger.
///
/// - `web-search`: queries and background traffic of a web search cluster (Alizadeh et al., Data Center TCP, SIGCOMM
///   2010), in the points of the artifact of HPCC (Li et al., SIGCOMM 2019).
/// - `data-mining`: a cluster that mines data (Greenberg et al., VL2, SIGCOMM 2009), in the points of HKUST's traffic
///   generator.
/// - `hadoop`: a Hadoop cluster of Facebook's (Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM
///   2015), in the points of the artifact of HPCC.
const PUBLISHED: [(&str, &[(u64, f64)]); 3] = [
    (
        "web-search",
        &[
            (0, 0.0),
            (10_000, 15.0),
            (20_000, 20.0),
            (30_000, 30.0),
            (50_000, 40.0),
            (80_000, 53.0),
            (200_000, 60.0),
            (1_000_000, 70.0),
            (2_000_000, 80.0),
            (5_000_000, 90.0),
            (10_000_000, 97.0),
            (30_000_000, 100.0),
        ],
    ),
    (
        "data-mining",
        &[
            (0, 0.0),
            (180, 10.0),
            (216, 20.0),
            (560, 30.0),
            (900, 40.0),
            (1_100, 50.0),
            (1_870, 60.0),
            (3_160, 70.0),
            (10_000, 80.0),
            (400_000, 90.0),
            (3_160_000, 95.0),
            (100_000_000, 98.0),
            (1_000_000_000, 100.0),
        ],
    ),
    (
        "hadoop",
        &[
            (0, 0.0),
            (100, 1.0),
            (200, 2.0),
            (300, 5.0),
            (350, 15.0),
            (400, 20.0),
            (500, 30.0),
            (600, 40.0),
            (700, 50.0),
            (1_000, 60.0),
            (2_000, 67.0),
            (7_000, 70.0),
            (30_000, 72.0),
            (50_000, 82.0),
            (80_000, 87.0),
            (120_000, 90.0),
            (300_000, 95.0),
            (1_000_000, 97.5),
            (2_000_000, 99.0),
            (10_000_000, 100.0),
        ],
    ),
];

/// A distribution of message sizes: between two points sizes are evenly distributed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeDistribution {
    /// The name under which it was published; empty where its points were written.
    pub name: String,
    /// Bytes, and the part of the messages that is no larger (0 to 1); both never fall, and the last part is 1.
    pub points: Vec<(u64, f64)>,
}

impl SizeDistribution {
    /// A published one.
    fn published(name: &str) -> Option<SizeDistribution> {
        let (name, points) = PUBLISHED.iter().find(|p| p.0 == name)?;
        Some(SizeDistribution { name: (*name).into(), points: points.iter().map(|(b, p)| (*b, p / 100.0)).collect() })
    }

    /// The size that such a part of the messages (0 to 1) does not exceed, in whole bytes and at least one.
    pub fn at(&self, part: f64) -> u64 {
        let next = self.points.partition_point(|p| p.1 < part).clamp(1, self.points.len() - 1);
        let [(low, below), (high, above)] = [self.points[next - 1], self.points[next]];
        let along = if above > below { ((part - below) / (above - below)).clamp(0.0, 1.0) } else { 1.0 };
        ((low as f64 + (high - low) as f64 * along).round() as u64).max(1)
    }

    /// The largest, bytes.
    pub fn largest(&self) -> u64 {
        self.points.last().map_or(1, |p| p.0).max(1)
    }

    /// The mean, bytes.
    pub fn mean(&self) -> f64 {
        self.moment(|a, b| (a + b) / 2.0).max(1.0)
    }

    /// The mean of the squares, as a multiple of the square of the mean.
    pub fn spread(&self) -> f64 {
        self.moment(|a, b| (a * a + a * b + b * b) / 3.0) / self.mean().powi(2)
    }

    /// The mean of a power, which between two points has a mean of its own.
    fn moment(&self, between: impl Fn(f64, f64) -> f64) -> f64 {
        let of = |pair: &[(u64, f64)]| between(pair[0].0 as f64, pair[1].0 as f64) * (pair[1].1 - pair[0].1);
        self.points.windows(2).map(of).sum()
    }

    /// Sizes that stand for all, each for as many messages.
    pub fn sampled(&self) -> impl Iterator<Item = u64> {
        (0..SAMPLED).map(|i| self.at((i as f64 + 0.5) / SAMPLED as f64))
    }
}

/// `1.71 MB`.
fn decimal(bytes: f64) -> String {
    let (unit, scale) = match bytes {
        b if b >= 1e9 => ("GB", 1e9),
        b if b >= 1e6 => ("MB", 1e6),
        b if b >= 1e3 => ("kB", 1e3),
        _ => ("B", 1.0),
    };
    format!("{} {unit}", digits(bytes / scale))
}

impl Shape for SizeDistribution {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let names = PUBLISHED.map(|p| format!("{:?}", p.0)).join(", ");
        let hint = format!(
            "{names}, or points of the cumulative distribution: [[\"0 B\", \"0 %\"], [\"4 KiB\", \"60 %\"], \
             [\"1 MiB\", \
             \"100 %\"]]"
        );
        let wrong = |what: String| Problem(what, hint.clone());
        let list = match &node.value {
            Value::Text(name) => {
                return SizeDistribution::published(name).ok_or_else(|| {
                    let near = crate::diagnostic::nearest(name, PUBLISHED.map(|p| p.0));
                    let hint = near.map_or(hint.clone(), |n| format!("did you mean {n:?}?"));
                    Problem(format!("{name:?} is no published distribution of sizes that is known here"), hint)
                });
            }
            Value::Array(list) => list,
            _ => return Err(wrong("this is no distribution of sizes".into())),
        };
        if !(2..=MOST_POINTS).contains(&list.len()) {
            return Err(wrong(format!("a distribution has 2 to {MOST_POINTS} points, not {}", list.len())));
        }
        let mut points: Vec<(u64, f64)> = Vec::with_capacity(list.len());
        for node in list {
            let Value::Array(point) = &node.value else {
                return Err(wrong("each point is a size and a percentage".into()));
            };
            let [size, part] = point.as_slice() else {
                return Err(wrong(format!("each point is a size and a percentage, not {} values", point.len())));
            };
            let bytes = Bytes::read(size)?.0;
            let percent = match &part.value {
                Value::Text(s) => s.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()),
                _ => None,
            };
            let Some(percent) = percent.filter(|p| (0.0..=100.0).contains(p)) else {
                return Err(wrong("the second value of a point is a percentage of 0 to 100".into()));
            };
            if bytes > LARGEST {
                return Err(wrong(format!("a message has 1 B to 1 TiB, not {}", Bytes(bytes))));
            }
            if points.last().is_some_and(|l| l.0 > bytes || l.1 > percent / 100.0) {
                return Err(wrong("neither sizes nor percentages may fall from one point to the next".into()));
            }
            points.push((bytes, percent / 100.0));
        }
        if points[0].1 > 0.0 || points[points.len() - 1].1 < 1.0 {
            return Err(wrong("the first point is at 0 %, the last at 100 %".into()));
        }
        Ok(SizeDistribution { name: String::new(), points })
    }
    fn show(&self) -> String {
        let of = format!("mean {}, up to {}", decimal(self.mean()), decimal(self.largest() as f64));
        let name = if self.name.is_empty() { format!("{} points", self.points.len()) } else { self.name.clone() };
        format!("{name} ({of})")
    }
    fn schema() -> Json {
        let point = json!({ "type": "array", "minItems": 2, "maxItems": 2,
            "prefixItems": [Bytes::schema(), { "type": "string", "pattern": "^.*%$" }] });
        json!({ "oneOf": [
            { "enum": PUBLISHED.map(|p| p.0) },
            { "type": "array", "items": point, "minItems": 2, "maxItems": MOST_POINTS },
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Worked by hand: half of the messages evenly between 0 and 100 B, a quarter of exactly 100 B, a quarter evenly
    /// from there to 300 B.
    #[test]
    fn between_points_sizes_are_even() {
        let sizes =
            SizeDistribution { name: String::new(), points: vec![(0, 0.0), (100, 0.5), (100, 0.75), (300, 1.0)] };
        assert_eq!([0.0, 0.25, 0.5, 0.6, 0.75, 0.875, 1.0].map(|p| sizes.at(p)), [1, 50, 100, 100, 100, 200, 300]);
        assert_eq!(sizes.mean(), 0.5 * 50.0 + 0.25 * 100.0 + 0.25 * 200.0);
        let squares = 0.5 * 10_000.0 / 3.0 + 0.25 * 10_000.0 + 0.25 * (10_000.0 + 30_000.0 + 90_000.0) / 3.0;
        assert!((sizes.spread() - squares / 100.0 / 100.0).abs() < 1e-12);
    }

    /// The mean of web search is what papers that use it print: 1.7 MB (HPCC's load generator computes its arrivals of
    /// it); that of Hadoop 122 kB.
    #[test]
    fn published_means() {
        let mean = |name: &str| SizeDistribution::published(name).expect("it is there").mean();
        assert_eq!([mean("web-search"), mean("hadoop")].map(|m| (m / 1e3).round()), [1711.0, 120.0]);
    }

    proptest! {
        /// Sizes that stand for all have the mean of all, as far as rounding to bytes and the coarseness of
        /// the parts allow: each part of them errs by no more than its width.
        #[test]
        fn samples_have_the_mean(steps in prop::collection::vec((0u64..10_000, 1u32..100), 1..20)) {
            let whole: u32 = steps.iter().map(|s| s.1).sum();
            let mut points = vec![(0, 0.0)];
            let mut done = 0;
            for (step, part) in steps {
                done += part;
                points.push((points[points.len() - 1].0 + step, done as f64 / whole as f64));
            }
            let sizes = SizeDistribution { name: String::new(), points };
            let all: Vec<u64> = sizes.sampled().collect();
            let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
            // A part's size is right in its middle where it lies between two points; around a point it may be off by
            // what the part spans, and all parts together span the largest size. No size is below a byte.
            let slack = sizes.largest() as f64 / SAMPLED as f64 + 1.5;
            prop_assert!((mean - sizes.mean()).abs() <= slack, "{mean} {}", sizes.mean());
            prop_assert!(all.is_sorted());
        }
    }
}
