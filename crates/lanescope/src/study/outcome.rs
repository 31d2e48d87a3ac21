//! Predictions as they stood before anybody here knew the truth, and the truth that came later.
//!
//! A row that is *asked* has no published number of its own ([`super::Row`] cannot hold one), so a fit cannot see it.
//! What the study measured stands in a table apart, `[outcomes]` of `study.toml`; what the program said before stands
//! in `blind.tsv`, written once.

use super::{Answer, Error, Row, Simulated, Study};
use crate::library;
use crate::units::Dimension;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What kind of number a row asks for: models err alike on numbers of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Throughput of one flow one way, limited by one element.
    Alone,
    /// Throughput of several flows, or of both directions, that share what limits them.
    Shared,
    /// Throughput of a device whose insides limit it, under a sweep of its load: dies and channels of a drive.
    Device,
    /// A time.
    Latency,
    /// How much more one set-up gives than another: a small difference of large numbers.
    Gain,
    /// A number of events, or of events a second.
    Count,
    /// Arithmetic of a specification, without a model.
    Arithmetic,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 7] =
        [Class::Alone, Class::Shared, Class::Device, Class::Latency, Class::Gain, Class::Count, Class::Arithmetic];

    /// As pages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Alone => "throughput of one element",
            Class::Shared => "shared throughput",
            Class::Device => "throughput of a device's insides",
            Class::Latency => "latency",
            Class::Gain => "gain",
            Class::Count => "count",
            Class::Arithmetic => "arithmetic",
        }
    }

    /// Whether it is a throughput, of whatever kind.
    pub(crate) fn is_throughput(self) -> bool {
        matches!(self, Class::Alone | Class::Shared | Class::Device)
    }

    /// What a row is that does not say: by its unit and metric.
    pub(super) fn of(gain: bool, unit: &str, metric: &str) -> Class {
        match Dimension::of_unit(unit) {
            _ if gain => Class::Gain,
            Some(Dimension::Time) => Class::Latency,
            Some(Dimension::Count) => Class::Count,
            // What is read off a link, not off a flow over it, is what its specification says.
            _ if metric.starts_with("links.") => Class::Arithmetic,
            _ => Class::Alone,
        }
    }
}

/// The table `[outcomes]` of `study.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcomes {
    /// Where they are from: a file must say so, for people who read it.
    #[expect(dead_code, reason = "required of the file, read by people")]
    pub(super) source: String,
    /// Row, and what was published, in the row's unit.
    pub(super) values: BTreeMap<String, f64>,
}

/// What the program said of a row before its outcome was known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Blind {
    /// The commit of the program that said it.
    pub commit: String,
    /// When.
    pub date: String,
    /// In closed form.
    pub estimate: Option<f64>,
    /// The range of the stated values, as it was printed.
    pub estimate_range: Option<(f64, f64)>,
    /// By simulation.
    pub simulate: Option<Simulated>,
}

/// What a prediction was made of, whenever it was made: a value by each method, and the range of the stated values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// In closed form.
    pub estimate: Option<f64>,
    /// At the corners of the stated ranges.
    pub range: Option<(f64, f64)>,
    /// By simulation.
    pub simulate: Option<f64>,
}

impl Said {
    /// The value that counts where there is one: the simulation's, else the estimate's.
    pub fn value(&self) -> Option<f64> {
        self.simulate.or(self.estimate)
    }

    /// From the least to the most of all that was said; `None` where nothing was.
    pub(crate) fn span(&self) -> Option<(f64, f64)> {
        let corners = self.range.map(|(a, b)| [a, b]).into_iter().flatten();
        let all = self.estimate.into_iter().chain(self.simulate).chain(corners);
        all.fold(None, |span, v| Some(span.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
    }

    /// The same without the simulation.
    pub(crate) fn closed(self) -> Said {
        Said { simulate: None, ..self }
    }
}

impl Blind {
    /// What it said.
    pub fn said(&self) -> Said {
        Said { estimate: self.estimate, range: self.estimate_range, simulate: self.simulate.map(|s| s.value) }
    }
}

impl Answer {
    /// What it says now.
    pub(crate) fn said(&self) -> Said {
        Said { estimate: self.estimate, range: self.estimate_range, simulate: self.simulate.map(|s| s.value) }
    }

    /// The published number, whether it was known before or came after the prediction.
    pub fn truth(&self) -> Option<f64> {
        self.outcome.or(self.published)
    }
}

impl Study {
    /// What was published of an asked row after it had been predicted. For pages and tests: nothing may be fitted to
    /// it.
    pub fn outcome(&self, row: &str) -> Option<f64> {
        self.outcomes.as_ref()?.values.get(row).copied()
    }

    /// Every outcome is one of an asked row, and a number.
    pub(super) fn check_outcomes(&self, rows: &[Row]) -> Result<(), Error> {
        for (id, value) in self.outcomes.iter().flat_map(|o| &o.values) {
            let asked = rows.iter().any(|r| r.id == *id && r.status == "asked");
            if !asked || !value.is_finite() {
                return Err(format!("studies/{}: an outcome belongs to an asked row, and {id} is none", self.id));
            }
        }
        Ok(())
    }

    /// Predictions as they stood, by row; empty for a study without such a record.
    pub fn blind(&self) -> &BTreeMap<String, Blind> {
        &self.blind
    }
}

/// The record of a study.
pub(super) fn recorded(id: &str) -> Result<BTreeMap<String, Blind>, Error> {
    library::study_text(id, "blind.tsv")
        .map_or(Ok(BTreeMap::new()), |text| records(text).map_err(|e| format!("studies/{id}/blind.tsv: {e}")))
}

/// Reads `blind.tsv`: lines of provenance (`# commit: …`), a head, and for each row
/// `row unit estimate slower faster simulate low high`; what was not said is left empty.
fn records(text: &str) -> Result<BTreeMap<String, Blind>, Error> {
    let said = |key: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix("# ")?.strip_prefix(key)?.strip_prefix(": "));
        line.map(|l| l.trim().to_owned()).ok_or_else(|| format!("it does not say its {key}"))
    };
    let (commit, date) = (said("commit")?, said("date")?);
    let mut all = BTreeMap::new();
    for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [row, _unit, numbers @ ..] = fields.as_slice() else { return Err(format!("{line:?} is not a row")) };
        let number = |field: &&str| match *field {
            "" => Ok(None),
            text => text.parse::<f64>().map(Some).map_err(|e| format!("{row}: {text:?}: {e}")),
        };
        let numbers: Vec<Option<f64>> = numbers.iter().map(number).collect::<Result<_, _>>()?;
        let [estimate, slower, faster, value, low, high] = numbers[..] else {
            return Err(format!("{row} has {} numbers", numbers.len()));
        };
        let simulate = value.zip(low).zip(high).map(|((value, low), high)| Simulated { value, low, high });
        let record = Blind {
            commit: commit.clone(),
            date: date.clone(),
            estimate,
            estimate_range: slower.zip(faster),
            simulate,
        };
        all.insert((*row).to_owned(), record);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let text = "# commit: abc\n# date: \
            2026-01-02\nrow\tunit\t…\na.b\tGb/s\t1.5\t1\t2\t1.25\t1\t1.5\nc\tus\t\t\t\t7\t7\t7\n";
        let all = records(text).expect("a record");
        let a = &all["a.b"];
        assert_eq!((a.commit.as_str(), a.estimate, a.estimate_range), ("abc", Some(1.5), Some((1.0, 2.0))));
        assert_eq!((a.said().value(), a.said().span()), (Some(1.25), Some((1.0, 2.0))));
        assert_eq!((all["c"].said().span(), all["c"].said().closed().span()), (Some((7.0, 7.0)), None));
        assert!(records("row\n").is_err() && records("# commit: a\n# date: b\nhead\nx\tGb/s\t1\n").is_err());
    }
}
