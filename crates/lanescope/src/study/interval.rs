//! Prediction intervals: how far off a prediction may be, learnt from how far off others were.
//!
//! What a scenario states as ranges says what its author did not know; it does not say how wrong the model is. That is
//! learnt from predictions whose truth came later, at the commit that made them: a row's *miss* is how far, as a
//! logarithm, the truth lay outside of all that was said of it (estimate, simulation, range of the stated values). A
//! new row is widened by a quantile of the misses of *other* studies.
//!
//! Rows of a study err together, so studies are what is exchanged, not rows: with K other studies each counts 1/(K+1),
//! divided evenly among its rows, and 1/(K+1) stands for the study at hand, of which nothing is known (Dunn, Wasserman,
//! Ramdas, "Distribution-free prediction sets for two-layer hierarchical models", 2023; Lee, Barber, Willett,
//! "Distribution-free inference with hierarchical data", 2023). If the study at hand is one like the others, its rows
//! are held with the stated probability or more, whatever the misses' distribution is. Where K/(K+1) is below the
//! confidence (fewer than four other studies for 80 %) no finite interval can be stated, and none is.
//!
//! A class has few studies, so that it may look easy by luck: the wider of two quantiles counts, that of its class and
//! that of all throughputs. Both are at the stated confidence, so the wider one is too.

use super::outcome::{Class, Said};
use super::{Answer, Error, select};
use serde::Serialize;

/// The confidence of the intervals.
pub const CONFIDENCE: f64 = 0.8;

/// The miss of one row whose truth came after its prediction.
#[derive(Clone, Debug)]
struct Miss {
    study: String,
    class: Class,
    /// Of the estimate and the range; `None` where only a simulation answers.
    closed: Option<f64>,
    /// Of these and the simulation.
    all: Option<f64>,
}

/// The misses of all studies' recorded predictions.
#[derive(Clone, Debug)]
pub struct Misses(Vec<Miss>);

/// How far an interval reaches beyond what was said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// As a logarithm of the ratio.
    pub log: f64,
    /// How many other studies it is learnt from.
    pub studies: usize,
}

/// How far `truth` lies outside of what was said, as a logarithm of the ratio; 0 inside. `None` where a ratio has no
/// meaning.
pub fn miss(said: &Said, truth: f64) -> Option<f64> {
    let (low, high) = said.span()?;
    (low > 0.0 && truth > 0.0).then(|| (low / truth).ln().max((truth / high).ln()).max(0.0))
}

impl Misses {
    /// Those of every recorded prediction whose truth is known: of asked rows their outcomes, of predicted ones what
    /// was published.
    pub fn recorded() -> Result<Misses, Error> {
        Misses::recorded_without(&[])
    }

    /// The same, as if these studies did not exist.
    pub fn recorded_without(without: &[&str]) -> Result<Misses, Error> {
        let mut all = Vec::new();
        for (study, rows) in select(&[])?.into_iter().filter(|(s, _)| !without.contains(&s.id.as_str())) {
            for row in &rows {
                let truth = study.outcome(&row.id).or(row.published.filter(|_| row.status == "predicted"));
                if let (Some(truth), Some(record)) = (truth, study.blind().get(&row.id)) {
                    let (study, said) = (study.id.clone(), record.said());
                    let (closed, all_) = (miss(&said.closed(), truth), miss(&said, truth));
                    all.push(Miss { study, class: row.class, closed, all: all_ });
                }
            }
        }
        Ok(Misses(all))
    }

    /// The quantile of the misses of all studies but one, among rows of these classes.
    fn quantile(&self, without: &str, classes: &dyn Fn(Class) -> bool, simulated: bool) -> Option<Reach> {
        let mut others: Vec<(f64, &str)> = Vec::new();
        for m in self.0.iter().filter(|m| m.study != without && classes(m.class)) {
            others.extend(if simulated { m.all } else { m.closed }.map(|v| (v, m.study.as_str())));
        }
        let rows = |study: &str| others.iter().filter(|o| o.1 == study).count() as f64;
        let mut names: Vec<&str> = others.iter().map(|o| o.1).collect();
        names.sort_unstable();
        names.dedup();
        let studies = names.len();
        let mut weighed: Vec<(f64, f64)> =
            others.iter().map(|&(v, study)| (v, 1.0 / ((studies + 1) as f64 * rows(study)))).collect();
        weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        // A sum of as many terms as there are rows may be short of the confidence by its rounding.
        let enough = CONFIDENCE - weighed.len() as f64 * f64::EPSILON;
        let found = weighed.into_iter().find(|&(_, weight)| {
            sum += weight;
            sum >= enough
        });
        found.map(|(log, _)| Reach { log, studies })
    }

    /// How far an interval of a row of this study and class reaches, never learnt from the study itself. `simulated`:
    /// whether a simulation is among what was said. `None` for what no four other studies say anything about.
    pub fn reach(&self, study: &str, class: Class, simulated: bool) -> Option<Reach> {
        let own = self.quantile(study, &|c| c == class, simulated)?;
        if !class.is_throughput() {
            return Some(own);
        }
        Some(Reach { log: own.log.max(self.of_throughputs(study, simulated)?.log), ..own })
    }

    /// How far an interval would reach if all throughputs of other studies were alike.
    pub(super) fn of_throughputs(&self, study: &str, simulated: bool) -> Option<Reach> {
        self.quantile(study, &Class::is_throughput, simulated)
    }

    /// The interval of a prediction at [`CONFIDENCE`].
    pub fn interval(&self, study: &str, class: Class, said: &Said) -> Option<(f64, f64)> {
        let reach = self.reach(study, class, said.simulate.is_some())?.log;
        said.span().map(|(low, high)| (low / reach.exp(), high * reach.exp()))
    }

    /// Puts the intervals beside the answers of a study.
    pub fn beside(&self, study: &str, answers: &mut [Answer]) {
        for a in answers {
            a.interval = self.interval(study, a.class, &a.said());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn misses(all: &[(&str, f64)]) -> Misses {
        let one = |&(study, miss): &(&str, f64)| Miss {
            study: study.into(),
            class: Class::Latency,
            closed: Some(miss),
            all: Some(miss),
        };
        Misses(all.iter().map(one).collect())
    }

    #[test]
    fn studies_count_alike_however_many_rows_they_have() {
        // Four others: 1/5 each, so 80 % is all that they have together: the largest miss.
        let four = misses(&[("a", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.4), ("d", 0.0)]);
        assert_eq!(four.reach("x", Class::Latency, true), Some(Reach { log: 0.4, studies: 4 }));
        // Its own misses do not count, and three others are too few.
        assert_eq!(four.reach("d", Class::Latency, true), None);
        // Nine others, 1/10 each: eight of them are 80 %, and the ninth's hundred rows count as one.
        let mut nine: Vec<(&str, f64)> =
            "abcdefgh".split("").filter(|s| !s.is_empty()).zip((1..).map(f64::from)).collect();
        nine.extend(std::iter::repeat_n(("i", 100.0), 100));
        assert_eq!(misses(&nine).reach("x", Class::Latency, true), Some(Reach { log: 8.0, studies: 9 }));
    }

    #[test]
    fn a_miss_is_outside_of_all_that_was_said() {
        let said = Said { estimate: Some(10.0), range: Some((8.0, 11.0)), simulate: Some(12.0) };
        assert_eq!((miss(&said, 8.5), miss(&said, 12.0)), (Some(0.0), Some(0.0)));
        assert_eq!(miss(&said, 24.0), Some(2f64.ln()));
        assert_eq!(miss(&said.closed(), 5.5), Some((8.0f64 / 5.5).ln()));
        assert_eq!(miss(&said, 0.0), None);
    }
}
