//! Six statistics of a run under way as bars, like Iometer's results display: what each shows a reader chooses.

use crate::import::iometer::{CHARTS, Statistic};
use crate::pens::iometer::{Sums, full_scale};
use crate::result::{IoSeen, Report};
use crate::sim::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Flows and workers that a bar can be of, at most; all of them together are always one.
const WHOM: usize = 200;

/// What a bar is to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// A statistic by the name that Iometer gives it.
    pub statistic: String,
    /// Whose: `all`, the name of a flow, or that of one of its workers.
    pub who: String,
    /// The largest value since it shows this.
    #[serde(default)]
    pub most: f64,
}

/// What a bar shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// The bar, with its largest value brought up to date.
    #[serde(flatten)]
    pub bar: Bar,
    /// The value, with as many digits as Iometer shows; `none` of what a simulated host does not have.
    pub value: String,
    /// The same, not rounded.
    pub exact: Option<f64>,
    /// Its share of the whole bar, 0 to 1.
    pub share: f64,
    /// What the whole bar stands for.
    pub of: String,
}

/// The display at a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bars {
    /// Seconds that were counted.
    pub time: f64,
    /// All statistics there are.
    pub statistics: Vec<&'static str>,
    /// All whom a bar can be of.
    pub whom: Vec<String>,
    /// The bars.
    pub bars: Vec<Shown>,
}

/// Of a run under way: since its counting began, or (`latest`) since the last look. `None` where no flow does I/Os.
pub fn of_run(run: &mut Run, wanted: Vec<Bar>, latest: bool) -> Option<Bars> {
    // Both looks are taken, so that the next begins here whichever is shown.
    let (whole, last) = (run.ios(), run.latest_ios());
    bars(&[if latest { &last } else { &whole }], wanted)
}

/// Of a run that is over.
pub fn of_report(report: &Report, wanted: Vec<Bar>) -> Option<Bars> {
    let flows = report.simulation.iter().flat_map(|s| &s.flows);
    let seen: Vec<&IoSeen> = flows.filter_map(|f| f.ios.as_ref()).map(|i| &i.seen).collect();
    bars(&seen, wanted)
}

fn bars(seen: &[&IoSeen], wanted: Vec<Bar>) -> Option<Bars> {
    let counts = || seen.iter().flat_map(|s| s.counts.iter().map(move |c| (c, *s)));
    counts().next()?;
    let worker = |flow: &str, worker: u32| format!("{flow}, worker {worker}");
    let mut whom = vec!["all".to_owned()];
    let mut known = BTreeSet::new();
    for (c, _) in counts() {
        let several = counts().any(|(o, _)| o.flow == c.flow && o.worker != c.worker);
        let names = [Some(c.flow.clone()), several.then(|| worker(&c.flow, c.worker))];
        for name in names.into_iter().flatten() {
            if whom.len() <= WHOM && known.insert(name.clone()) {
                whom.push(name);
            }
        }
        if whom.len() > WHOM {
            break;
        }
    }
    let default = |i: usize| Bar { statistic: Statistic::DEFAULT[i].name().into(), who: "all".into(), most: 0.0 };
    let wanted = if wanted.is_empty() { (0..CHARTS).map(default).collect() } else { wanted };
    let shown = wanted.into_iter().take(CHARTS).enumerate().map(|(i, mut bar)| {
        let statistic = Statistic::ALL.iter().copied().find(|s| s.name() == bar.statistic);
        let statistic = statistic.unwrap_or(Statistic::DEFAULT[i]);
        if !whom.contains(&bar.who) {
            bar.who = "all".into();
        }
        bar.statistic = statistic.name().into();
        let who = bar.who.as_str();
        let is = |flow: &str, nth: u32| who == "all" || who == flow || who == worker(flow, nth);
        let exact = Sums::over(counts().filter(|(c, _)| is(&c.flow, c.worker))).statistic(statistic);
        bar.most = bar.most.max(exact.unwrap_or(0.0));
        let scale = full_scale(statistic, bar.most);
        Shown {
            value: exact.map_or("none".into(), |v| statistic.show(v)),
            share: exact.map_or(0.0, |v| (v / scale).clamp(0.0, 1.0)),
            of: statistic.show(scale),
            exact,
            bar,
        }
    });
    Some(Bars {
        time: seen.iter().map(|s| s.time).fold(0.0, f64::max),
        statistics: Statistic::ALL.iter().map(|s| s.name()).collect(),
        bars: shown.collect(),
        whom,
    })
}
