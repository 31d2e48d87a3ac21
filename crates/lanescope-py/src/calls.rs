//! Everything that is a question and an answer: calculators, real hosts, studies, fits, units.

use crate::convert::{any, object, of_sweep, plain, wrong};
use crate::ticks::{Ticks, alone};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::wire;
use lanescope::explain as explained;
use lanescope::explain::measured;
use lanescope::pens;
use lanescope::result::SCHEMA;
use lanescope::study::{Answer, Answers, Misses, Studies, questions, select};
use lanescope::units::{Bytes, Dimension, Frequency, Rate, Time, human as written, in_unit as converted};
use lanescope_front::hosts::{hosts_and_texts, picture};
use lanescope_front::{measured as rows, sweep, vary as axes};
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The version of the program.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

fn dimension_of(name: &str) -> Option<Dimension> {
    Some(match name {
        "rate" => Dimension::Rate,
        "time" => Dimension::Time,
        "bytes" => Dimension::Bytes,
        "share" => Dimension::Share,
        "per-second" => Dimension::PerSecond,
        "count" => Dimension::Count,
        _ => return None,
    })
}

/// A value in SI steps in a unit; `None` where there is no such unit.
#[pyfunction]
pub(crate) fn in_unit(value: f64, unit: &str) -> Option<f64> {
    converted(value, unit)
}

/// What a unit is of: `rate`, `time`, `bytes`, `share`, `per-second`, `count`.
#[pyfunction]
pub(crate) fn dimension(unit: &str) -> Option<String> {
    let value = serde_json::to_value(Dimension::of_unit(unit)?).ok()?;
    value.as_str().map(str::to_owned)
}

/// A value in SI steps as a person writes it.
#[pyfunction]
pub(crate) fn human(py: Python, value: f64, dimension: &str) -> PyResult<String> {
    let known = dimension_of(dimension).ok_or_else(|| plain(py, &format!("{dimension:?} is not a valid dimension")))?;
    Ok(written(value, known))
}

/// A text like `"25 Gb/s"` in SI steps, and what it is of.
#[pyfunction]
pub(crate) fn quantity(py: Python, text: &str) -> PyResult<(f64, &'static str)> {
    let rate = Rate::parse(text).ok().map(|r| (r.bits(), "rate"));
    let found = rate
        .or_else(|| Time::parse(text).ok().map(|t| (t.seconds(), "time")))
        .or_else(|| Bytes::parse(text).ok().map(|b| (b.f64(), "bytes")))
        .or_else(|| Frequency::parse(text).ok().map(|f| (1e9 / f.period_ns(), "per-second")));
    found
        .ok_or_else(|| plain(py, &format!("{text:?} is not a valid quantity, e.g. \"25 Gb/s\", \"200 ns\", \"4 KiB\"")))
}

/// The JSON Schema of reports (`report`), explained hosts (`explained`) or collectives (`collective`).
#[pyfunction]
pub(crate) fn schema<'py>(py: Python<'py>, which: &str) -> PyResult<Bound<'py, PyAny>> {
    let schema = match which {
        "report" => lanescope::result::json_schema(),
        "explained" => explained::json_schema(),
        "collective" => lanescope::result::gpu::json_schema(),
        _ => {
            let there = "there are report, explained and collective";
            return Err(plain(py, &format!("there is no schema of {which:?}; {there}")));
        }
    };
    object(py, &schema)
}

/// Names and docs of the metrics of flows and links.
#[pyfunction]
pub(crate) fn metrics() -> Vec<(String, String)> {
    use lanescope::result::{FLOW_METRICS, LINK_METRICS};
    let of = |kind: &str, list: &[lanescope::result::MetricKind]| {
        list.iter().map(|m| (format!("{kind}.NAME.{}", m.name), m.doc.to_owned())).collect::<Vec<_>>()
    };
    [of("flows", FLOW_METRICS), of("links", LINK_METRICS)].concat()
}

/// Names of the devices and platforms that come with the program.
#[pyfunction]
pub(crate) fn platforms() -> Vec<String> {
    use lanescope::scenario::Resolver;
    lanescope::library::Library.names()
}

/// A scenario to start from, with a platform of the library.
#[pyfunction]
pub(crate) fn starter(py: Python, platform: &str) -> PyResult<String> {
    lanescope::library::starter(platform)
        .ok_or_else(|| plain(py, &format!("there is no platform {platform:?}; lanescope.platforms() lists them")))
}

/// `lanescope wire pcie`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each of the command's options")]
pub(crate) fn wire_pcie<'py>(
    py: Python<'py>,
    speed: &str,
    payload: &str,
    header: &str,
    ecrc: bool,
    ack_every: &str,
    update_fc_every: &str,
    completion: &str,
    request: &str,
    ordered_sets: bool,
    both_ways: bool,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    // Nothing of an argument may break out of the scenario that it is put into.
    let harmless = |text: &str| !text.contains(['"', '\\', '\n', '#', '[', '=']) && text.len() < 60;
    for text in [speed, payload, header, ack_every, update_fc_every, completion, request] {
        if !harmless(text) {
            return Err(plain(py, &format!("{text:?} is not a value")));
        }
    }
    let every = |text: &str| if text == "never" { "\"never\"".to_owned() } else { text.to_owned() };
    let question = wire::Question {
        speed: speed.to_owned(),
        payload: payload.to_owned(),
        header: header.to_uppercase(),
        ecrc,
        ack_every: every(ack_every),
        update_fc_every: every(update_fc_every),
        completion: completion.to_owned(),
        request: request.to_owned(),
        ordered_sets,
        both_ways,
    };
    let mut diagnostics = Diagnostics::default();
    match py.detach(|| wire::wire(&mut diagnostics, &question)) {
        Some(answer) => Ok((any(py, &answer)?, pens::svg::waterfall(&answer.direction))),
        None => Err(wrong(py, &diagnostics)),
    }
}

/// `lanescope explain`: the value, the text, a picture where there is one, the page, and whether Ctrl-C ended the
/// simulations.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "one call, all forms of one answer")]
pub(crate) fn explain<'py>(
    py: Python<'py>,
    dumps: Vec<String>,
    texts: Vec<(String, String)>,
    measured: Vec<(String, String)>,
    simulate: bool,
) -> PyResult<(Bound<'py, PyAny>, String, Option<String>, String, bool)> {
    let mut ticks = Ticks::new(None);
    let worked = py.detach(|| -> Result<_, String> {
        let hosts = hosts_and_texts(&dumps, &texts)?;
        let host = match hosts.as_slice() {
            [one] if !one.is_empty() => one,
            [_, _, ..] => return Err("the dumps are of several hosts: give those of one".into()),
            _ => return Err("nothing in these dumps is of a form that explain reads".into()),
        };
        let mut report = explained::explain(host);
        let mut found = Vec::new();
        for (name, text) in &measured {
            found.extend(measured::read(name, text).map_err(|e| format!("{name}: {e}"))?);
        }
        if !found.is_empty() {
            measured::compare(host, &mut report, found);
        }
        if simulate {
            explained::simulate::simulate(host, &mut report, &mut || ticks.go_on(0.0));
        }
        let picture = picture(host);
        let text = pens::explain::text(&report, false);
        let page = pens::explain::page(&report, picture.as_deref());
        Ok((report, text, picture, page))
    });
    let interrupted = ticks.end()?;
    let (report, text, picture, page) = worked.map_err(|e| plain(py, &e))?;
    Ok((any(py, &report)?, text, picture, page, interrupted))
}

/// A host as a scenario to go on with, or in a form for another program.
#[pyfunction]
pub(crate) fn explain_emit(
    py: Python,
    dumps: Vec<String>,
    texts: Vec<(String, String)>,
    form: &str,
) -> PyResult<String> {
    let made = py.detach(|| -> Result<String, String> {
        let hosts = hosts_and_texts(&dumps, &texts)?;
        let Some(host) = hosts.first().filter(|h| !h.is_empty()) else {
            return Err("nothing in these dumps is of a form that explain reads".into());
        };
        let text = match form {
            "scenario" => explained::scenario::emit(host),
            "nccl-xml" => explained::nccl::emit(host),
            "thresholds" => explained::thresholds::emit(host),
            "hwloc" => explained::hwloc::emit(host),
            "ucx" => explained::ucx::emit(host),
            "infragraph" => explained::infragraph::emit(host),
            _ => {
                return Err(format!(
                    "{form:?} is not a valid form; there are scenario, nccl-xml, thresholds, hwloc, ucx and infragraph"
                ));
            }
        };
        match form == "scenario" && !text.contains("\n[parts.") {
            true => {
                Err("no link of these dumps has a speed that can be believed, so there is no scenario of it".into())
            }
            false => Ok(text),
        }
    });
    made.map_err(|e| plain(py, &e))
}

/// Ids and titles of the studies.
#[pyfunction]
pub(crate) fn studies(py: Python) -> PyResult<Vec<(String, String, usize)>> {
    let all = select(&[]).map_err(|e| plain(py, &e))?;
    Ok(all.into_iter().map(|(s, rows)| (s.id, s.title, rows.len())).collect())
}

/// `lanescope study run`: answers, and whether Ctrl-C ended it before all rows had one.
#[pyfunction]
pub(crate) fn study_run<'py>(
    py: Python<'py>,
    wanted: Vec<String>,
    quick: bool,
    simulate: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let mut ticks = Ticks::new(progress);
    let worked = py.detach(|| -> Result<Studies, String> {
        let mut chosen = select(&wanted)?;
        if quick {
            chosen.iter_mut().for_each(|(_, rows)| rows.retain(|r| r.quick));
            chosen.retain(|(_, rows)| !rows.is_empty());
        }
        let misses = Misses::recorded()?;
        let asked: Vec<(usize, Vec<usize>)> = chosen
            .iter()
            .enumerate()
            .flat_map(|(at, (_, rows))| questions(rows).into_iter().map(move |q| (at, q)))
            .collect();
        let found: Mutex<Vec<BTreeMap<usize, Answer>>> = Mutex::new(vec![BTreeMap::new(); chosen.len()]);
        let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.clamp(1, 1024))
                .map(|_| {
                    scope.spawn(|| {
                        while !stop.load(Ordering::Relaxed) {
                            let Some((at, question)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                            let (study, rows) = &chosen[*at];
                            let these: Vec<_> = question.iter().map(|&i| &rows[i]).collect();
                            let answers = study.answers(&these, simulate);
                            if let Ok(mut found) = found.lock() {
                                found[*at].extend(question.iter().copied().zip(answers));
                            }
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            while !workers.iter().all(|w| w.is_finished()) {
                std::thread::sleep(std::time::Duration::from_millis(10));
                if !ticks.go_on(done.load(Ordering::Relaxed) as f64 / asked.len().max(1) as f64) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let found = found.into_inner().map_err(|_| "a row of a study failed".to_owned())?;
        let studies = chosen.iter().zip(found).map(|((study, _), answers)| {
            let mut rows: Vec<Answer> = answers.into_values().collect();
            misses.beside(&study.id, &mut rows);
            Answers { id: study.id.clone(), rows }
        });
        Ok(Studies { schema: SCHEMA, studies: studies.collect() })
    });
    let interrupted = ticks.end()?;
    let studies = worked.map_err(|e| plain(py, &e))?;
    Ok((any(py, &studies)?, interrupted))
}

/// Values of `--vary` as a list: `1..64 by x2`.
#[pyfunction]
pub(crate) fn vary(py: Python, text: &str) -> PyResult<(String, Vec<String>)> {
    let axis = axes::axis(text).map_err(|e| of_sweep(py, &e))?;
    Ok((axis.path, axis.values))
}

/// A job array for SLURM.
#[pyfunction]
pub(crate) fn slurm(program: &str, arguments: Vec<String>, tasks: u32) -> String {
    sweep::script(program, &arguments, tasks)
}

/// `lanescope fit`.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    scenario: (String, String, Vec<String>),
    table: (String, String),
    free: Vec<(String, String, String)>,
    simulate: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let worked = alone(py, move |stop| -> Result<_, String> {
        let unknowns = free.iter().map(|(path, low, high)| lanescope::study::measured::Unknown::parse(path, low, high));
        let unknowns = unknowns.collect::<Result<Vec<_>, _>>()?;
        let observed = rows::read(&table.0, &table.1)?;
        let (name, text, sets) = &scenario;
        rows::fit(name, text, sets, &unknowns, &observed, simulate, &|| !stop.load(Ordering::Relaxed))
    })?;
    let fitted = worked.map_err(|e| plain(py, &e))?;
    object(py, &json!(fitted))
}
