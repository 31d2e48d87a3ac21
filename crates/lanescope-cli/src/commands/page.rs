//! Pages: a report in one file of HTML, with the engine in it or without, and the empty laboratory.
//!
//! The engine and the page's scripts are built by `make page` into the folder `page` of this crate, and stand in the
//! command as they are; a test holds them against their sources.

use crate::{ANSWERED, WRONG, input, output};
use clap::Args;
use input::Files;
use lanescope::diagnostic::Diagnostics;
use lanescope::library;
use lanescope::pens::page::{self, Document, Film, Live, Section, View};
use lanescope::plan::Plan;
use lanescope::plan::gpu::ladder::Ladder;
use lanescope::result::Report;
use lanescope::scenario::tree::Author;
use lanescope::scenario::{Included, Resolver};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

const ENGINE: &[u8] = include_bytes!("../../page/engine.wasm.gz");
const LOADER: &str = include_str!("../../page/loader.js");
const PAGE: &[u8] = include_bytes!("../../page/page.js.gz");
const HASHES: &str = include_str!("../../page/scripts.sha256");
const WORKER: &str = include_str!("../../page/worker.js");

/// Bytes of a report that stands in its page as JSON, too, at most: the engine works it out again where it is larger.
const MOST_REPORT: usize = 300_000;

/// A report as a page.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Html {
    /// Write the report to this file as a page that answers to changes: one file with scenario, report and engine,
    /// which needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// With --html: without the engine, a small page to read and print
    #[arg(long = "static", requires = "html")]
    pub(crate) fixed: bool,
}

/// The empty laboratory.
#[derive(Args)]
pub(crate) struct Lab {
    /// The file; without it, standard output
    file: Option<PathBuf>,
}

/// What a live page begins with.
#[derive(Debug, Default)]
pub(crate) struct Begin {
    /// The scenario; none where the page is of something else.
    pub(crate) included: Option<Included>,
    /// What is laid over it.
    pub(crate) sets: Vec<String>,
    /// Whether a run goes on to its longest time.
    pub(crate) full: bool,
    /// Whether the editor is open at first.
    pub(crate) open: bool,
    /// What is asked of a cluster of GPUs, where the scenario is one.
    pub(crate) collective: Option<Ladder>,
}

/// Finds texts as the command does, and keeps those of files for the page.
#[derive(Default)]
struct Gathering(RefCell<Vec<Value>>);

impl Gathering {
    fn keep(&self, reference: &str, from: &str, found: &Included) {
        // The engine has the library itself.
        if found.name.starts_with("platforms/") && found.author == Author::Library {
            return;
        }
        self.0.borrow_mut().push(json!({
            "reference": reference, "from": from, "name": found.name, "text": found.text,
            "library": found.author == Author::Library,
        }));
    }
}

impl Resolver for Gathering {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        // A study's scenario names files of its own folder, which is in the program.
        let own = from.strip_prefix("studies/").and_then(|f| f.split_once('/')).zip(reference.strip_prefix("./"));
        let own = own.and_then(|((id, _), file)| Some((id, file, library::study_text(id, file)?)));
        let found = match own {
            Some((id, file, text)) => {
                Included { name: format!("studies/{id}/{file}"), text: text.to_owned(), author: Author::Library }
            }
            None => Files.resolve(reference, from)?,
        };
        self.keep(reference, from, &found);
        Ok(found)
    }

    fn trace(&self, reference: &str, from: &str) -> Result<Included, String> {
        let found = Files.trace(reference, from)?;
        self.keep(reference, from, &found);
        Ok(found)
    }

    fn names(&self) -> Vec<String> {
        Files.names()
    }
}

impl Begin {
    /// Of a scenario's file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub(crate) fn of(file: &str, sets: &[String], full: bool) -> Result<Begin, String> {
        Ok(Begin { included: Some(input::scenario(file)?), sets: sets.to_vec(), full, ..Begin::default() })
    }

    fn json(&self, report: Option<&Report>) -> String {
        let Some(included) = &self.included else {
            return json!({ "name": "scenario.toml", "text": "", "open": self.open }).to_string();
        };
        let gathering = Gathering::default();
        if self.collective.is_none() {
            let _ = lanescope::plan(&mut Diagnostics::default(), included.clone(), &self.sets, &gathering);
        }
        let report = report.and_then(|r| serde_json::to_value(r).ok()).filter(|r| r.to_string().len() <= MOST_REPORT);
        json!({
            "name": included.name, "text": included.text, "sets": self.sets, "files": gathering.0.into_inner(),
            "full": self.full, "open": self.open, "report": report, "library": included.author == Author::Library,
            "collective": self.collective,
        })
        .to_string()
    }
}

/// The sections of a report, with the run in time.
pub(crate) fn sections(a: &Html, plan: &Plan, report: &Report) -> Vec<Section> {
    let film = report.simulation.as_ref().and_then(|_| Film::of(plan, report));
    page::sections(&View { plan, report, before: None, film: film.as_ref(), live: !a.fixed })
}

/// Writes the page of a report, where one is asked for.
///
/// # Errors
///
/// A file that cannot be written.
pub(crate) fn write(
    a: &Html,
    title: &str,
    sections: impl FnOnce() -> Vec<Section>,
    begin: impl FnOnce() -> Result<Begin, String>,
    report: Option<&Report>,
) -> Result<(), String> {
    let Some(file) = &a.html else { return Ok(()) };
    let text = html(a.fixed, title, sections(), &begin()?, report);
    to(file, &text)
}

pub(super) fn to(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    crate::output::say!("wrote {}", file.display());
    Ok(())
}

fn html(fixed: bool, title: &str, sections: Vec<Section>, begin: &Begin, report: Option<&Report>) -> String {
    let json = begin.json(report);
    let live = Live { loader: LOADER, page: PAGE, hashes: HASHES, worker: WORKER, engine: ENGINE, begin: &json };
    let about = match &begin.included {
        Some(i) => format!("lanescope {}, {}", env!("CARGO_PKG_VERSION"), i.name),
        None => format!("lanescope {}", env!("CARGO_PKG_VERSION")),
    };
    let scenario = begin.included.as_ref().map_or("", |i| i.text.as_str());
    Document { title, about: &about, sections, scenario, live: (!fixed).then_some(live) }.html()
}

/// `page`: the laboratory with the scenario that `new` prints.
pub(crate) fn main(a: &Lab) -> u8 {
    let text = include_str!("../starter.toml").to_owned();
    let included = Included { name: "scenario.toml".into(), text, author: Author::User };
    let mut diagnostics = Diagnostics::default();
    let plan = lanescope::plan(&mut diagnostics, included.clone(), &[], &Files);
    let Some(plan) = plan else { return output::wrong("the starter does not read") };
    let report = lanescope::estimate::estimate(&plan, &diagnostics);
    let begin = Begin { included: Some(included), open: true, ..Begin::default() };
    let text = html(false, &report.title, sections(&Html::default(), &plan, &report), &begin, Some(&report));
    match &a.file {
        None => output::print(&text),
        Some(file) => {
            if let Err(e) = to(file, &text) {
                output::error(&e);
                return WRONG;
            }
        }
    }
    ANSWERED
}
