//! `study`: published systems, row by row.

use super::page::Begin;
use crate::{ANSWERED, NO_VALUE, WRONG, interrupt, output};
use clap::{Args, Subcommand, ValueEnum};
use lanescope::library;
use lanescope::pens::svg::Method as Shown;
use lanescope::pens::{self, Grid};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::study::{
    Accuracy, Answer, Answers, CONFIDENCE, Misses, Row, Studies, Study as Published, fit, questions, select,
};
use lanescope::units::digits;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What to do with studies.
#[derive(Subcommand)]
pub(crate) enum Study {
    /// List the studies
    List {
        /// Print JSON
        #[arg(long, conflicts_with = "csv")]
        json: bool,
        /// Print CSV
        #[arg(long)]
        csv: bool,
    },
    /// Answer rows: published, predicted before that was known, estimate, simulate, error, what binds
    ///
    /// The range of stated values is the estimate with every range of the scenario at its slower, and at its faster
    /// end: what its author did not know, without a confidence. The 80 % interval is wider by how far other studies'
    /// predictions were off; book/accuracy.md says how.
    Run(Run),
    /// How far off the predictions of all studies were, and are: some minutes of simulation
    Accuracy {
        /// Print JSON, with every row
        #[arg(long)]
        json: bool,
        /// Write the tables into the pages of this repository: README.md, book/accuracy.md, studies/*/README.md
        #[arg(long, value_name = "ROOT", conflicts_with = "json")]
        write: Option<PathBuf>,
    },
    /// Print a study's page, or one of its files
    Show {
        /// The study
        study: String,
        /// A file of its folder, e.g. study.toml
        #[arg(default_value = "README.md")]
        file: String,
        /// Print JSON: the keys and values of a TOML file; of any other file, its text
        #[arg(long)]
        json: bool,
    },
    /// Run a study's fits again, and hold the result against the stored values
    Fit {
        /// The study
        study: String,
        /// Print JSON
        #[arg(long, conflicts_with = "csv")]
        json: bool,
        /// Print CSV
        #[arg(long)]
        csv: bool,
    },
}

#[derive(Args)]
pub(crate) struct Run {
    /// Studies or rows: t5440, t5440:read, nfp6000:bdw.rd; without any, all
    rows: Vec<String>,
    /// Only the rows marked quick
    #[arg(long)]
    quick: bool,
    /// The methods asked for; the exit code speaks of these
    #[arg(long, default_value = "both")]
    method: Method,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
    /// Write the figures of the studies and the pictures of their main scenario, as estimated, to this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    page: super::page::Html,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Method {
    /// Those that each row names
    Both,
    /// The closed form alone
    Estimate,
}

pub(crate) fn main(a: &Study) -> u8 {
    let result = match a {
        Study::List { json, csv } => list(*json, *csv),
        Study::Run(a) => run(a),
        Study::Accuracy { json, write } => accuracy(*json, write.as_deref()),
        Study::Show { study, file, json } => show(study, file, *json),
        Study::Fit { study, json, csv } => fits(study, *json, *csv),
    };
    result.unwrap_or_else(|e| {
        output::error(&e);
        WRONG
    })
}

fn list(json: bool, csv: bool) -> Result<u8, String> {
    let all = select(&[])?;
    if json {
        let list: Vec<_> = all
            .iter()
            .map(
                |(s, rows)| serde_json::json!({ "id": s.id, "title": s.title, "source": s.source, "rows": rows.len() }),
            )
            .collect();
        output::json(&list);
        return Ok(ANSWERED);
    }
    let head = ["study", "rows", "title"].map(String::from).to_vec();
    let grid = Grid {
        head,
        rows: all.iter().map(|(s, r)| vec![s.id.clone(), r.len().to_string(), s.title.clone()]).collect(),
    };
    if csv {
        output::csv(&grid)
    } else {
        output::table(&grid)
    }
    Ok(ANSWERED)
}

fn show(study: &str, file: &str, json: bool) -> Result<u8, String> {
    let text = library::study_text(study, file)
        .ok_or_else(|| format!("there is no studies/{study}/{file}; studies are {}", library::studies().join(", ")))?;
    match json {
        true if file.ends_with(".toml") => output::json(&library::as_json(text)),
        true => output::json(&serde_json::json!({ "study": study, "file": file, "text": text })),
        false => output::print(text),
    }
    Ok(ANSWERED)
}

/// The methods that must have answered a row.
fn methods(row: &Row, asked: Method) -> &str {
    match (asked, row.methods.as_str()) {
        (Method::Both, m) => m,
        (Method::Estimate, "simulate") => "none",
        (Method::Estimate, _) => "estimate",
    }
}

/// The answers to rows of a study, in their order; questions are asked on all cores.
fn answered(study: &lanescope::study::Study, rows: &[Row], simulate: bool) -> Vec<Answer> {
    let together = |question: &Vec<usize>| {
        let asked: Vec<&Row> = question.iter().map(|&i| &rows[i]).collect();
        question.iter().copied().zip(study.answers(&asked, simulate)).collect::<Vec<_>>()
    };
    let mut answers: Vec<(usize, Answer)> = questions(rows).par_iter().flat_map_iter(together).collect();
    answers.sort_by_key(|(row, _)| *row);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn accuracy(json: bool, write: Option<&Path>) -> Result<u8, String> {
    let all = select(&[])?.into_iter().map(|(study, rows)| {
        let answers = answered(&study, &rows, true);
        (study, rows, answers)
    });
    let accuracy = Accuracy::of(all.collect())?;
    if json {
        output::json(&accuracy);
        return Ok(ANSWERED);
    }
    for (page, name, table) in accuracy.blocks() {
        let Some(root) = write else {
            output::print(&format!("{page}, {name}\n\n{table}\n"));
            continue;
        };
        let path = root.join(&page);
        let at = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| at(&e))?;
        let text = lanescope::study::filled(&text, name, &table).map_err(|e| at(&e))?;
        std::fs::write(&path, text).map_err(|e| at(&e))?;
    }
    Ok(ANSWERED)
}

fn run(a: &Run) -> Result<u8, String> {
    let mut chosen = select(&a.rows)?;
    if a.quick {
        chosen.iter_mut().for_each(|(_, rows)| rows.retain(|r| r.quick));
        if chosen.iter().all(|(_, rows)| rows.is_empty()) {
            let of: Vec<&str> = chosen.iter().map(|(study, _)| study.id.as_str()).collect();
            return Err(format!("no row of {} is marked quick: leave --quick out", of.join(", ")));
        }
        chosen.retain(|(_, rows)| !rows.is_empty());
    }
    let mut complete = true;
    let mut studies = Vec::new();
    let misses = Misses::recorded()?;
    let chosen = Arc::new(chosen);
    let (all, both) = (chosen.clone(), a.method == Method::Both);
    let work = move |send: Sender<(usize, usize, Answer)>| {
        for (at, (study, rows)) in all.iter().enumerate() {
            questions(rows).par_iter().for_each_with(send.clone(), |send, question| {
                if interrupt::stopped() {
                    return;
                }
                let asked: Vec<&Row> = question.iter().map(|&i| &rows[i]).collect();
                for (row, answer) in question.iter().zip(study.answers(&asked, both)) {
                    let _ = send.send((at, *row, answer));
                }
            });
        }
    };
    let mut found: Vec<BTreeMap<usize, Answer>> = vec![BTreeMap::new(); chosen.len()];
    interrupt::gather(work, |(study, row, answer)| _ = found[study].insert(row, answer));
    for ((study, rows), answers) in chosen.iter().zip(found) {
        complete &= answers.len() == rows.len()
            && answers.iter().all(|(row, answer)| answer.complete(methods(&rows[*row], a.method)));
        let mut answers: Vec<Answer> = answers.into_values().collect();
        misses.beside(&study.id, &mut answers);
        studies.push(Answers { id: study.id.clone(), rows: answers });
    }
    if interrupt::stopped() {
        let done: usize = studies.iter().map(|s| s.rows.len()).sum();
        let asked: usize = chosen.iter().map(|(_, rows)| rows.len()).sum();
        crate::output::say!("stopped: {done} of {asked} rows have an answer");
    }
    if a.json {
        output::json(&Studies { schema: lanescope::result::SCHEMA, studies: studies.clone() });
    } else if a.csv {
        output::csv(&grid(&studies, true));
    } else {
        for ((study, rows), answers) in chosen.iter().zip(&studies).filter(|(_, s)| !s.rows.is_empty()) {
            let paint = output::paint();
            output::print(&format!("{}{}{}  {}\n", paint.strong, study.id, paint.off, study.title));
            output::table(&grid(std::slice::from_ref(answers), false));
            output::print("\n");
            if interrupt::stopped() {
                continue;
            }
            let all = study.rows()?;
            let main = study.waterfall.as_ref().and_then(|id| all.iter().find(|r| r.id == *id));
            if let (Some(Row { scenario: Some(scenario), set, .. }), false) = (main, rows.is_empty()) {
                let report = if a.method == Method::Both {
                    study.simulated(scenario, set)?
                } else {
                    study.report(scenario, set)?
                };
                output::print(&pens::text::report(&report, paint, false));
            }
        }
    }
    if let Some(dir) = a.svg.as_ref().filter(|_| !interrupt::stopped()) {
        for (study, _) in &*chosen {
            let mut pictures = Vec::new();
            for figure in &study.figures {
                pictures.push((figure.file.clone(), study.draw(figure)?));
            }
            let all = study.rows()?;
            let main = study.waterfall.as_ref().and_then(|id| all.iter().find(|r| r.id == *id));
            if let Some(Row { scenario: Some(scenario), set, .. }) = main {
                let (plan, diagnostics) = study.plan(scenario, set)?;
                let report = lanescope::estimate::estimate(&plan, &diagnostics);
                pictures.extend(lanescope_front::pictures(&plan, &report, &[Shown::Estimate]));
            }
            output::pictures(&dir.join(&study.id), &pictures)?;
        }
    }
    if !interrupt::stopped() {
        page(a, &chosen, &studies)?;
    }
    if !complete && a.method == Method::Both {
        crate::output::say!("note: some rows have no value by a method that they name; the last column says why");
    }
    Ok(if complete { ANSWERED } else { NO_VALUE })
}

/// The page of studies: their rows and figures, with the main scenario of the first to try changes on.
fn page(a: &Run, chosen: &[(Published, Vec<Row>)], studies: &[Answers]) -> Result<(), String> {
    if a.page.html.is_none() {
        return Ok(());
    }
    let (mut sections, mut begin) = (Vec::new(), None);
    for ((study, _), answers) in chosen.iter().zip(studies).filter(|(_, s)| !s.rows.is_empty()) {
        let id = &study.id;
        let title = format!("{id}: {}", study.title);
        let rows = grid(std::slice::from_ref(answers), false);
        sections.push(pens::page::grid(&format!("study-{id}"), &title, &rows));
        let figures: Result<Vec<_>, String> =
            study.figures.iter().map(|f| Ok((f.file.clone(), study.draw(f)?))).collect();
        let figures = figures?;
        if !figures.is_empty() {
            sections.push(pens::page::pictures(&format!("figures-{id}"), &format!("{id}: figures"), &figures));
        }
        let all = study.rows()?;
        let main = study.waterfall.as_ref().and_then(|id| all.iter().find(|r| r.id == *id));
        if let (Some(Row { scenario: Some(scenario), set, .. }), None) = (main, &begin) {
            let text = library::study_text(id, scenario).unwrap_or_default().to_owned();
            let included = Included { name: format!("studies/{id}/{scenario}"), text, author: Author::Library };
            begin = Some(Begin { included: Some(included), sets: set.clone(), ..Begin::default() });
            let report = study.report(scenario, set)?;
            let (plan, _) = study.plan(scenario, set)?;
            sections.extend(super::page::sections(&a.page, &plan, &report));
        }
    }
    let title = match chosen {
        [(one, _)] => one.title.clone(),
        all => format!("{} studies", all.len()),
    };
    super::page::write(&a.page, &title, || sections, || Ok(begin.unwrap_or_default()), None)
}

fn grid(studies: &[Answers], machine: bool) -> Grid {
    let number = |v: Option<f64>| {
        v.map_or(if machine { String::new() } else { "-".into() }, |v| if machine { v.to_string() } else { digits(v) })
    };
    // What was said before a number was known stands beside it where there is such a number.
    let blind = machine || studies.iter().flat_map(|s| &s.rows).any(|r| r.blind.is_some() && r.truth().is_some());
    let mut head = ["row", "unit", "published"].map(String::from).to_vec();
    if blind {
        head.extend(["blind", "error then"].map(String::from));
    }
    head.extend(["estimate", "range of stated values", "simulate", "error"].map(String::from));
    head.extend([format!("{:.0} % interval", CONFIDENCE * 100.0), "bound by".into()]);
    if machine {
        head.insert(0, "study".into());
        head.push("bound".into());
    }
    let mut rows = Vec::new();
    for study in studies {
        for r in &study.rows {
            let published = r
                .published_text
                .clone()
                .or_else(|| r.truth().map(digits))
                .unwrap_or_else(|| if machine { String::new() } else { r.status.clone() });
            let range =
                |of: Option<(f64, f64)>| of.map_or(String::new(), |(a, b)| format!("{} … {}", digits(a), digits(b)));
            let error =
                |of: Option<f64>| of.map_or(String::new(), |e| format!("{:+.1} %", e * 100.0).replace("-0.0", "+0.0"));
            let by = r.bound_by.clone().or_else(|| r.why.as_ref().map(|w| format!("({w})"))).unwrap_or_default();
            let mut row = vec![r.id.clone(), r.unit.clone(), published];
            if blind {
                let said = r.blind.as_ref().and_then(|b| b.said().value());
                row.extend([said.map_or(String::new(), |v| number(Some(v))), error(r.blind_error())]);
            }
            row.extend([
                number(r.estimate),
                range(r.estimate_range),
                number(r.simulate.map(|s| s.value)),
                error(r.error()),
                range(r.interval),
                by,
            ]);
            if machine {
                row.insert(0, study.id.clone());
                row.push(number(r.bound));
            }
            rows.push(row);
        }
    }
    Grid { head, rows }
}

fn fits(id: &str, json: bool, csv: bool) -> Result<u8, String> {
    let study = lanescope::study::Study::load(id)?;
    let fitted = study.clone();
    let mut results = Vec::new();
    let work = move |send: Sender<_>| fitted.fits.iter().for_each(|f| _ = send.send(fit(&fitted, f)));
    interrupt::gather(work, |one| results.push(one));
    let results = results.into_iter().collect::<Result<Vec<_>, String>>()?;
    if interrupt::stopped() {
        crate::output::say!("stopped: {} of {} fits have an answer", results.len(), study.fits.len());
    }
    if json {
        output::json(&results);
        return Ok(ANSWERED);
    }
    if csv {
        let head = ["fit", "fitted_to", "published", "fitted", "stored"].map(String::from).to_vec();
        let rows = results.iter().flat_map(|r| r.targets.iter().map(move |t| (&r.name, t)));
        let rows = rows
            .map(|(fit, (name, p, v, s))| vec![fit.clone(), name.clone(), p.to_string(), v.to_string(), s.to_string()]);
        output::csv(&Grid { head, rows: rows.collect() });
        return Ok(ANSWERED);
    }
    if results.is_empty() {
        output::print(&format!("study {id} fits nothing\n"));
    }
    for (f, r) in study.fits.iter().zip(&results) {
        output::print(&format!(
            "{}: {}\n{} free parameters, {} numbers, stored in {}\n",
            f.name,
            f.about,
            f.free.len(),
            r.targets.len(),
            f.stored_in
        ));
        let head = ["parameter", "fitted", ""].map(String::from).to_vec();
        let rows = r.parameters.iter().map(|p| {
            vec![
                p.path.clone(),
                format!("{:.3} {}", p.value, p.unit),
                if p.at_limit { "at its limit".into() } else { String::new() },
            ]
        });
        output::table(&Grid { head, rows: rows.collect() });
        let head = ["fitted to", "published", "fitted", "error", "stored", "error"].map(String::from).to_vec();
        let percent = |v: f64, p: f64| format!("{:+.2} %", (v / p - 1.0) * 100.0).replace("-0.00", "+0.00");
        let rows = r.targets.iter().map(|(name, p, v, s)| {
            vec![name.clone(), digits(*p), digits(*v), percent(*v, *p), digits(*s), percent(*s, *p)]
        });
        output::table(&Grid { head, rows: rows.collect() });
        output::print("\n");
    }
    Ok(ANSWERED)
}
