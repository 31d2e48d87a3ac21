//! How far off: what was given, fitted and predicted, the deviations, and how often ranges and intervals held the
//! truth; as tables for pages.
//!
//! Rows that count as predictions are those that nothing was fitted to and whose author did not know them: *asked*
//! ones, and *predicted* ones (known, and left alone). Each is held against the truth twice: as it stood in the record,
//! and as it is now.

use super::interval::{CONFIDENCE, Misses};
use super::outcome::{Class, Said};
use super::{Answer, Answers, Error, Row, Study, off};
use crate::units::digits;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How far values are off, as shares of the truth, without their signs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deviation {
    /// How many values.
    pub rows: usize,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// The worst.
    pub worst: f64,
    /// Which row that is.
    pub worst_row: String,
}

impl Deviation {
    fn of(values: impl IntoIterator<Item = (String, f64)>) -> Option<Deviation> {
        let mut all: Vec<(String, f64)> = values.into_iter().map(|(row, e)| (row, e.abs())).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (worst_row, worst) = all.last().cloned()?;
        let rows = all.len();
        let mean = all.iter().map(|v| v.1).sum::<f64>() / rows as f64;
        let median = (all[(rows - 1) / 2].1 + all[rows / 2].1) / 2.0;
        Some(Deviation { rows, mean, median, worst, worst_row })
    }

    fn cell(this: &Option<Deviation>) -> String {
        this.as_ref().map_or("–".into(), |d| format!("{}, {}", percent(d.mean), percent(d.worst)))
    }
}

/// How often something held the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Held {
    /// How many there were.
    pub rows: usize,
    /// How many held it.
    pub held: usize,
}

impl Held {
    fn count(&mut self, range: Option<(f64, f64)>, truth: f64) {
        if let Some((low, high)) = range {
            self.rows += 1;
            self.held += usize::from(low <= truth && truth <= high);
        }
    }

    /// As a share; 1 of none.
    pub fn share(&self) -> f64 {
        if self.rows == 0 { 1.0 } else { self.held as f64 / self.rows as f64 }
    }

    fn cell(&self) -> String {
        if self.rows == 0 { "–".into() } else { format!("{} of {}", self.held, self.rows) }
    }
}

/// Predictions of one time held against the truth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Predictions {
    /// By the closed form.
    pub estimate: Option<Deviation>,
    /// By simulation.
    pub simulate: Option<Deviation>,
    /// The ranges of the stated values, of rows that have one.
    pub stated_ranges: Held,
    /// The prediction intervals, of rows that have one.
    pub intervals: Held,
    /// The share of intervals that held the truth, each study counted alike.
    pub by_study: Option<f64>,
}

/// What was said at a time, with its interval.
type Answered = (Said, Option<(f64, f64)>);

/// One prediction and its truth.
struct Case<'a> {
    study: &'a str,
    row: &'a Answer,
    truth: f64,
    blind: Option<Answered>,
    now: Answered,
}

impl Predictions {
    fn of<'a>(cases: impl Iterator<Item = (&'a Case<'a>, &'a Answered)>, long: bool) -> Predictions {
        let (mut estimate, mut simulate) = (Vec::new(), Vec::new());
        let mut p = Predictions::default();
        let mut studies: BTreeMap<&str, Held> = BTreeMap::new();
        for (case, (said, interval)) in cases {
            let name = if long { format!("{}: {}", case.study, case.row.id) } else { case.row.id.clone() };
            estimate.extend(off(said.estimate, Some(case.truth)).map(|e| (name.clone(), e)));
            simulate.extend(off(said.simulate, Some(case.truth)).map(|e| (name, e)));
            p.stated_ranges.count(said.range, case.truth);
            p.intervals.count(*interval, case.truth);
            if interval.is_some() {
                studies.entry(case.study).or_default().count(*interval, case.truth);
            }
        }
        (p.estimate, p.simulate) = (Deviation::of(estimate), Deviation::of(simulate));
        let shares: f64 = studies.values().map(Held::share).sum();
        p.by_study = (!studies.is_empty()).then(|| shares / studies.len() as f64);
        p
    }
}

/// One study.
#[derive(Clone, Debug, Serialize)]
pub struct StudyAccuracy {
    /// Its id.
    pub id: String,
    /// Published numbers that were known: rows marked given, and points of fits.
    pub given: usize,
    /// How many of these a fit whose result is kept was fitted to.
    pub fitted: usize,
    /// How many free parameters these fits have.
    pub free: usize,
    /// Rows that were predicted and whose truth is known.
    pub predicted: usize,
    /// Rows that were asked, and whose truth is not known to us.
    pub unknown: usize,
    /// Given numbers that were fitted to, as they are met now.
    pub fitted_now: Predictions,
    /// Given rows that were not fitted to, as they are met now.
    pub given_now: Predictions,
    /// Predictions as they stood in the record.
    pub blind: Predictions,
    /// Predictions as they are now.
    pub now: Predictions,
}

/// One class of quantity.
#[derive(Clone, Debug, Serialize)]
pub struct ClassAccuracy {
    /// Which.
    pub class: Class,
    /// Studies with predictions whose truth is known.
    pub studies: usize,
    /// Such rows.
    pub rows: usize,
    /// How far intervals of these rows reach beyond what was said, least and most over the studies; `None` where there
    /// are too few studies.
    pub reach: Option<(f64, f64)>,
    /// Predictions as they stood.
    pub blind: Predictions,
    /// Predictions as they are now.
    pub now: Predictions,
}

/// All studies.
#[derive(Clone, Debug, Serialize)]
pub struct Accuracy {
    /// 1.
    pub schema: u32,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The commit of the record.
    pub commit: String,
    /// Its date.
    pub date: String,
    /// Each study.
    pub studies: Vec<StudyAccuracy>,
    /// Each class.
    pub classes: Vec<ClassAccuracy>,
    /// All predictions as they stood.
    pub blind: Predictions,
    /// Asked rows alone, whose truth nobody here knew.
    pub blind_asked: Predictions,
    /// All predictions as they are now.
    pub now: Predictions,
    /// Asked rows alone.
    pub now_asked: Predictions,
    /// Given rows, fitted to or not, as they are met now.
    pub given_now: Predictions,
    /// Of throughputs without an interval, as they stood: how often one learnt from all throughputs of other studies
    /// would have held.
    pub without_interval: Held,
    /// Every row with what was said then, now, and published.
    pub rows: Vec<Answers>,
}

impl Accuracy {
    /// From the answers of all studies; puts their intervals beside them.
    pub fn of(mut answered: Vec<(Study, Vec<Row>, Vec<Answer>)>) -> Result<Accuracy, Error> {
        let misses = Misses::recorded()?;
        for (study, _, answers) in &mut answered {
            misses.beside(&study.id, answers);
        }
        let (mut cases, mut given) = (Vec::new(), Vec::new());
        for (study, _, answers) in &answered {
            for row in answers {
                let Some(truth) = row.truth() else { continue };
                let interval = |said: &Said| misses.interval(&study.id, row.class, said);
                let now = (row.said(), interval(&row.said()));
                let blind = row.blind.as_ref().map(|b| (b.said(), interval(&b.said())));
                let case = Case { study: &study.id, row, truth, blind, now };
                if row.status == "given" { given.push(case) } else { cases.push(case) }
            }
        }
        let then = |c: &mut dyn Iterator<Item = &Case>, long| {
            let cases: Vec<&Case> = c.collect();
            Predictions::of(cases.iter().filter_map(|c| Some((*c, c.blind.as_ref()?))), long)
        };
        let now = |c: &mut dyn Iterator<Item = &Case>, long| {
            let cases: Vec<&Case> = c.collect();
            Predictions::of(cases.iter().map(|c| (*c, &c.now)), long)
        };
        let mut studies = Vec::new();
        for (study, rows, _) in &answered {
            let fits = || study.fits.iter().filter(|f| f.stored_in != "nothing");
            let fitted: BTreeSet<&str> = fits().flat_map(|f| f.rows.iter().map(String::as_str)).collect();
            let points: usize = fits().map(|f| f.points.len()).sum();
            let mine = |c: &&Case| c.study == study.id;
            let was_fitted = |c: &&Case| fitted.contains(c.row.id.as_str());
            let mut fitted_now = now(&mut given.iter().filter(mine).filter(was_fitted), false);
            fitted_now.estimate = study.points_met(&given, &fitted)?;
            studies.push(StudyAccuracy {
                id: study.id.clone(),
                given: rows.iter().filter(|r| r.status == "given").count() + points,
                fitted: fitted.len() + points,
                free: fits().map(|f| f.free.len()).sum(),
                predicted: cases.iter().filter(mine).count(),
                unknown: rows.iter().filter(|r| r.status == "asked" && study.outcome(&r.id).is_none()).count(),
                fitted_now,
                given_now: now(&mut given.iter().filter(mine).filter(|c| !was_fitted(c)), false),
                blind: then(&mut cases.iter().filter(mine), false),
                now: now(&mut cases.iter().filter(mine), false),
            });
        }
        let classes = Class::ALL.into_iter().filter(|class| cases.iter().any(|c| c.row.class == *class)).map(|class| {
            let mine = |c: &&Case| c.row.class == class;
            let names: BTreeSet<&str> = cases.iter().filter(mine).map(|c| c.study).collect();
            let reach = |study: &&str| misses.reach(study, class, true).map(|r| r.log.exp() - 1.0);
            let reaches: Vec<f64> = names.iter().filter_map(reach).collect();
            let reach = reaches.iter().copied().reduce(f64::min).zip(reaches.iter().copied().reduce(f64::max));
            ClassAccuracy {
                class,
                studies: names.len(),
                rows: cases.iter().filter(mine).count(),
                reach,
                blind: then(&mut cases.iter().filter(mine), true),
                now: now(&mut cases.iter().filter(mine), true),
            }
        });
        let classes = classes.collect();
        let mut without_interval = Held::default();
        for c in cases.iter().filter(|c| c.row.class.is_throughput()) {
            let Some((said, None)) = c.blind else { continue };
            let reach = misses.of_throughputs(c.study, said.simulate.is_some()).map(|r| r.log.exp());
            let widened = reach.zip(said.span()).map(|(r, (low, high))| (low / r, high * r));
            without_interval.count(widened, c.truth);
        }
        let asked = |c: &&Case| c.row.status == "asked";
        let record = answered.iter().flat_map(|(s, ..)| s.blind().values()).next();
        Ok(Accuracy {
            schema: 1,
            confidence: CONFIDENCE,
            commit: record.map(|r| r.commit.clone()).unwrap_or_default(),
            date: record.map(|r| r.date.clone()).unwrap_or_default(),
            studies,
            classes,
            blind: then(&mut cases.iter(), true),
            blind_asked: then(&mut cases.iter().filter(asked), true),
            now: now(&mut cases.iter(), true),
            now_asked: now(&mut cases.iter().filter(asked), true),
            given_now: now(&mut given.iter(), true),
            without_interval,
            rows: answered.iter().map(|(s, _, a)| Answers { id: s.id.clone(), rows: a.clone() }).collect(),
        })
    }
}

impl Study {
    /// Deviations of what was fitted to: rows by the estimate, and points of fits.
    fn points_met(&self, given: &[Case], fitted: &BTreeSet<&str>) -> Result<Option<Deviation>, Error> {
        let rows = given.iter().filter(|c| c.study == self.id && fitted.contains(c.row.id.as_str()));
        let mut all: Vec<(String, f64)> =
            rows.filter_map(|c| Some((c.row.id.clone(), off(c.row.estimate, Some(c.truth))?))).collect();
        for p in self.fits.iter().flat_map(|f| &f.points) {
            let ours = self.metric(&p.scenario, &p.set, &p.metric, &p.unit)?.value;
            all.extend(off(Some(ours), Some(p.value)).map(|e| (p.name.clone(), e)));
        }
        Ok(Deviation::of(all))
    }
}

/// `5.6 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `29.37 (-8.0 %)`.
fn held_against(ours: Option<f64>, truth: f64) -> String {
    let Some(ours) = ours else { return "–".into() };
    let error = off(Some(ours), Some(truth)).map(|e| format!(" ({:+.1} %)", e * 100.0).replace("-0.0", "+0.0"));
    format!("{}{}", digits(ours), error.unwrap_or_default())
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn head(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|c| (*c).to_owned()).collect();
    line(&cells) + &line(&vec!["---".into(); cells.len()])
}

/// `estimate 5.6 % on average, 3.0 % in the middle, 26.5 % at worst (bdw.rw.128B)`.
fn sentence(p: &Predictions) -> String {
    let of = |name: &str, d: &Option<Deviation>| {
        d.as_ref().map(|d| {
            let (mean, median, worst) = (percent(d.mean), percent(d.median), percent(d.worst));
            format!("{name} {mean} off on average, median {median}, worst {worst} (`{}`)", d.worst_row)
        })
    };
    let both: Vec<String> =
        [of("the estimate", &p.estimate), of("the simulation", &p.simulate)].into_iter().flatten().collect();
    both.join("; ")
}

impl Accuracy {
    /// The table of a study's page, with a summary; `None` where nothing was predicted.
    fn study_block(&self, study: &StudyAccuracy) -> Option<String> {
        let answers = self.rows.iter().find(|a| a.id == study.id)?;
        let mut text = head(&[
            "row",
            "published",
            &format!("estimate at {}", self.commit),
            &format!("simulation at {}", self.commit),
            "estimate now",
            "simulation now",
            &format!("{:.0} % interval now", self.confidence * 100.0),
        ]);
        let mut any = false;
        for a in answers.rows.iter().filter(|a| a.status != "given") {
            let Some(truth) = a.truth() else { continue };
            any = true;
            let blind = a.blind.as_ref().map(super::Blind::said);
            let interval = a.interval.map_or("none".into(), |(low, high)| {
                let missed = if (low..=high).contains(&truth) { "" } else { ", missed" };
                format!("{} … {}{missed}", digits(low), digits(high))
            });
            text += &line(&[
                format!("`{}`", a.id),
                format!("{} {}", digits(truth), a.unit),
                held_against(blind.and_then(|b| b.estimate), truth),
                held_against(blind.and_then(|b| b.simulate), truth),
                held_against(a.estimate, truth),
                held_against(a.simulate.map(|s| s.value), truth),
                interval,
            ]);
        }
        for (when, p) in
            [(format!("As they stood at {} ({})", self.commit, self.date), &study.blind), ("Now".into(), &study.now)]
        {
            text += &format!("\n{when}: {}. ", sentence(p));
            text += &format!(
                "Ranges of the stated values contained the published value: {}; {:.0} % intervals: {}.\n",
                p.stated_ranges.cell(),
                self.confidence * 100.0,
                p.intervals.cell()
            );
        }
        if study.unknown > 0 {
            text += &format!("\n{} more rows were asked; of these no published value is known to us.\n", study.unknown);
        }
        any.then_some(text)
    }

    /// One line for each study: predictions as they stood and as they are now, mean and worst.
    fn overview(&self) -> String {
        let mut text = head(&[
            "study",
            "given",
            "fitted to, free parameters",
            "predicted",
            "estimate then: mean, worst",
            "simulation then",
            "estimate now",
            "simulation now",
            &format!("{:.0} % intervals that hold, then", self.confidence * 100.0),
        ]);
        let row = |name: String, counts: [String; 3], blind: &Predictions, now: &Predictions| {
            let [given, fitted, predicted] = counts;
            line(&[
                name,
                given,
                fitted,
                predicted,
                Deviation::cell(&blind.estimate),
                Deviation::cell(&blind.simulate),
                Deviation::cell(&now.estimate),
                Deviation::cell(&now.simulate),
                blind.intervals.cell(),
            ])
        };
        for s in &self.studies {
            let fitted = if s.fitted == 0 { "–".into() } else { format!("{}, {}", s.fitted, s.free) };
            let counts = [s.given.to_string(), fitted, s.predicted.to_string()];
            text += &row(format!("[{0}]({{studies}}/{0}/README.md)", s.id), counts, &s.blind, &s.now);
        }
        let sum = |of: &dyn Fn(&StudyAccuracy) -> usize| self.studies.iter().map(of).sum::<usize>();
        let fitted = format!("{}, {}", sum(&|s| s.fitted), sum(&|s| s.free));
        let counts = [sum(&|s| s.given).to_string(), fitted, sum(&|s| s.predicted).to_string()];
        text += &row("**all**".into(), counts, &self.blind, &self.now);
        let asked = self.rows.iter().flat_map(|a| &a.rows).filter(|a| a.outcome.is_some()).count();
        text += &row(
            "all that were blind (asked)".into(),
            ["".into(), "".into(), asked.to_string()],
            &self.blind_asked,
            &self.now_asked,
        );
        text
    }

    /// Median and where the worst is, by study.
    fn detail(&self) -> String {
        let mut text = head(&["study", "when", "by", "rows", "mean", "median", "worst", "row"]);
        let mut add = |name: &str, when: &str, p: &Predictions| {
            for (by, d) in [("estimate", &p.estimate), ("simulation", &p.simulate)] {
                let Some(d) = d else { continue };
                let worst = format!("`{}`", d.worst_row);
                let numbers = [percent(d.mean), percent(d.median), percent(d.worst)];
                let cells = [name.to_owned(), when.into(), by.into(), d.rows.to_string()];
                text += &line(&cells.into_iter().chain(numbers).chain([worst]).collect::<Vec<_>>());
            }
        };
        for s in &self.studies {
            add(&s.id, "then", &s.blind);
            add(&s.id, "now", &s.now);
        }
        add("**all**", "then", &self.blind);
        add("**all**", "now", &self.now);
        text
    }

    /// What was given: fitted to, and not.
    fn given(&self) -> String {
        let mut text = head(&[
            "study",
            "fitted to, free parameters",
            "met by the estimate: mean, worst",
            "by the simulation",
            "given and not fitted to: estimate",
            "simulation",
        ]);
        for s in self.studies.iter().filter(|s| s.given > 0) {
            let fitted = if s.fitted == 0 { "–".into() } else { format!("{}, {}", s.fitted, s.free) };
            let (met, rest) = (&s.fitted_now, &s.given_now);
            let cells = [&met.estimate, &met.simulate, &rest.estimate, &rest.simulate].map(Deviation::cell);
            text += &line(&[s.id.clone(), fitted].into_iter().chain(cells).collect::<Vec<_>>());
        }
        text
    }

    /// How often ranges and intervals held the truth.
    fn coverage(&self) -> String {
        let confidence = format!("{:.0} % intervals", self.confidence * 100.0);
        let mut text = head(&[
            "rows",
            "studies",
            "ranges of stated values that held, then",
            &format!("{confidence} that held, then"),
            "as a share",
            "each study alike",
            "ranges, now",
            &format!("{confidence}, now"),
            "as a share",
            "each study alike",
            "an interval reaches beyond what was said",
        ]);
        let share = |h: &Held| if h.rows == 0 { "–".into() } else { percent(h.share()) };
        let alike = |p: &Predictions| p.by_study.map_or("–".into(), percent);
        let row = |name: String, studies: String, then: &Predictions, now: &Predictions, reach: String| {
            line(&[
                name,
                studies,
                then.stated_ranges.cell(),
                then.intervals.cell(),
                share(&then.intervals),
                alike(then),
                now.stated_ranges.cell(),
                now.intervals.cell(),
                share(&now.intervals),
                alike(now),
                reach,
            ])
        };
        for c in &self.classes {
            let reach = c.reach.map_or("none: too few studies".into(), |(a, b)| match percent(a) == percent(b) {
                true => format!("by {}", percent(a)),
                false => format!("by {} to {}", percent(a), percent(b)),
            });
            text +=
                &row(format!("{}, {} rows", c.class.name(), c.rows), c.studies.to_string(), &c.blind, &c.now, reach);
        }
        let studies = |of: &dyn Fn(&&StudyAccuracy) -> bool| self.studies.iter().filter(of).count().to_string();
        let predicted = studies(&|s| s.predicted > 0);
        text += &row("**all predicted**".into(), predicted, &self.blind, &self.now, String::new());
        text += &row("asked alone".into(), String::new(), &self.blind_asked, &self.now_asked, String::new());
        let none = Predictions::default();
        text += &row("given, for comparison".into(), String::new(), &none, &self.given_now, String::new());
        let unlike = Predictions { intervals: self.without_interval, ..none.clone() };
        let name = "throughputs without an interval, were they like the others".into();
        text += &row(name, String::new(), &unlike, &none, String::new());
        text
    }

    /// Tables by page and name, as [`filled`] wants them; a page is named by its path in the repository.
    pub fn blocks(&self) -> Vec<(String, &'static str, String)> {
        let readme = self.overview().replace("{studies}", "studies");
        let book = "book/accuracy.md";
        let overview = self.overview().replace("{studies}", "../studies");
        let mut all = vec![
            ("README.md".to_owned(), "studies", readme),
            (book.to_owned(), "studies", overview),
            (book.to_owned(), "detail", self.detail()),
            (book.to_owned(), "given", self.given()),
            (book.to_owned(), "coverage", self.coverage()),
        ];
        for s in &self.studies {
            all.extend(self.study_block(s).map(|text| (format!("studies/{}/README.md", s.id), "rows", text)));
        }
        all
    }
}

/// A page with one of its tables put in: what stands between `<!-- accuracy: NAME -->` and `<!-- end of accuracy -->`.
pub fn filled(page: &str, name: &str, table: &str) -> Result<String, Error> {
    let (begin, end) = (format!("<!-- accuracy: {name} -->\n"), "<!-- end of accuracy -->");
    let lacks = || format!("it has no place for the table {name:?}: {} … {end}", begin.trim_end());
    let (before, rest) = page.split_once(&begin).ok_or_else(lacks)?;
    let (_, after) = rest.split_once(end).ok_or_else(lacks)?;
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", table.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_those_worked_out_by_hand() {
        let all = [("a", -0.1), ("b", 0.4), ("c", 0.01), ("d", 0.02)].map(|(r, e)| (r.to_owned(), e));
        let d = Deviation::of(all).expect("some");
        assert_eq!((d.rows, d.worst, d.worst_row.as_str()), (4, 0.4, "b"));
        assert!((d.mean - 0.1325).abs() < 1e-12 && (d.median - 0.06).abs() < 1e-12, "{d:?}");
        assert_eq!(Deviation::of([]), None);
    }

    #[test]
    fn a_table_is_put_in_its_place_again_and_again() {
        let page = "head\n<!-- accuracy: x -->\nold\n<!-- end of accuracy -->\nfoot\n";
        let once = filled(page, "x", "| new |\n").expect("a place");
        assert!(once.contains("\n\n| new |\n\n") && !once.contains("old") && once.ends_with("foot\n"), "{once}");
        assert_eq!(filled(&once, "x", "| new |\n").expect("a place"), once);
        assert!(filled(page, "y", "").is_err());
    }
}
