//! What a page can ask for: an answer to a text, a simulation step by step, a changed value, a film.
//!
//! A [`Lab`] holds the last plan and report, so that a picture of one link or the next piece of a run is a short
//! question. Nothing here works out a rate, and no markup is made here: both are the library's.

use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::estimate::estimate;
use lanescope::library::Library;
use lanescope::pens::page::bars::{self, Bar};
use lanescope::pens::page::{self, Film, View};
use lanescope::pens::planned::planned;
use lanescope::plan::Plan;
use lanescope::plan::gpu::ladder::Ladder;
use lanescope::result::{Report, SCHEMA};
use lanescope::scenario::edit::{dotted, values_of, with_value};
use lanescope::scenario::keys::{Key, Setting, TABLES};
use lanescope::scenario::tree::Author;
use lanescope::scenario::{Included, Resolver, schema};
use lanescope::sim::{Run, Step};
use lanescope::units::{Time, human_time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

mod gpu;

/// Things of a scenario (parts, links and flows, all instances counted) that a page answers for; beyond it answers take
/// seconds and the tables of the page do not help.
const MOST_THINGS: usize = 4_000;
/// Events of one piece of a run at most.
const MOST_EVENTS: u64 = 1 << 24;
/// Diagnostics that are handed to the page.
const MOST_SAID: usize = 50;
/// Tables of values that are handed to the page.
const MOST_VALUES: usize = 400;

/// A text that the scenario names, or one that such a text names: it stands in the page beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The reference as written.
    pub reference: String,
    /// The name of the text that it is written in.
    pub from: String,
    /// What messages call it.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether the library's authors wrote it.
    #[serde(default)]
    pub library: bool,
}

/// A scenario as a page has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Asked {
    /// What messages call it.
    name: String,
    /// Its text.
    text: String,
    /// Values laid over it, as `--set` has them.
    sets: Vec<String>,
    /// Files that it names.
    files: Vec<Held>,
    /// Whether a run goes on to its longest time, as `--full` has it.
    full: bool,
    /// Whether the text is the library's own.
    library: bool,
    /// What is asked of a cluster of GPUs, where the text is one.
    collective: Option<Ladder>,
}

/// A question.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum Question {
    /// The answer in closed form. `keep` makes it the one that others are held against.
    Estimate {
        #[serde(flatten)]
        asked: Asked,
        #[serde(default)]
        keep: bool,
        /// The answer that the page was written with: it stands where it is of the same plan.
        #[serde(default)]
        report: Option<Box<Report>>,
    },
    /// Begins to simulate what was estimated last.
    Begin,
    /// Goes on for some milliseconds.
    Advance { events: u64 },
    /// Ends the run and gives the report with it.
    End {
        #[serde(default)]
        keep: bool,
    },
    /// The present answer is what others are held against from now on; `off` for none.
    Keep {
        #[serde(default)]
        off: bool,
    },
    /// The waterfall of a direction of a link.
    Link { at: usize },
    /// The report as JSON.
    Report,
    /// A text with a value changed.
    Set { text: String, path: String, value: String },
    /// A text with all overrides written into it.
    Fold {
        #[serde(flatten)]
        asked: Asked,
    },
    /// Iometer's bars of the run under way, or of the one that was simulated last.
    Bars {
        #[serde(default)]
        bars: Vec<Bar>,
        #[serde(default)]
        latest: bool,
    },
    /// Values of the scenario that was estimated last.
    Values,
    /// Begins a film of the run that was simulated last.
    Film { step: Option<String> },
    /// Shoots some milliseconds of it.
    Shoot,
    /// What the language has: for completion.
    Language,
}

/// What a page asks, and what it last got.
#[derive(Debug, Default)]
pub struct Lab {
    asked: Asked,
    plan: Option<Plan>,
    report: Option<Report>,
    before: Option<Report>,
    diagnostics: Diagnostics,
    run: Option<Run>,
    shooting: Option<page::Shooting>,
    film: Option<Film>,
    /// The cluster of GPUs that was asked about last, in place of a plan.
    gpus: Option<gpu::Cluster>,
}

/// Finds texts in the page, then in the library.
struct Texts<'a>(&'a [Held]);

impl Resolver for Texts<'_> {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        let held = self.0.iter().find(|h| h.reference == reference && h.from == from);
        // A file that another text names too has one text.
        let held = held.or_else(|| self.0.iter().find(|h| h.reference == reference));
        if let Some(h) = held {
            let author = if h.library { Author::Library } else { Author::User };
            return Ok(Included { name: h.name.clone(), text: h.text.clone(), author });
        }
        if reference.starts_with(['.', '/']) || reference.ends_with(".toml") {
            return Err("a page reads no files: this one is not among those that it was made with".into());
        }
        Library.resolve(reference, from)
    }

    fn names(&self) -> Vec<String> {
        Library.names()
    }
}

impl Lab {
    /// Answers one question, JSON to JSON. What cannot be answered gives `{"error": …}`.
    pub fn call(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str::<Question>(request) {
            Ok(question) => self.answer(question),
            Err(e) => json!({ "error": format!("the page asked for what the engine does not know: {e}") }),
        };
        answer.to_string()
    }

    fn answer(&mut self, question: Question) -> Value {
        if let Some(gpus) = &mut self.gpus {
            match question {
                Question::Begin => return gpus.begin(),
                Question::Advance { events } => return gpus.advance(events.clamp(1, MOST_EVENTS)),
                Question::End { .. } => return gpus.end(),
                Question::Keep { off } => return gpus.keep(off),
                Question::Report => return gpus.report(),
                Question::Values => return gpus.values(),
                _ => {}
            }
        }
        match question {
            Question::Estimate { asked, keep, report } => self.estimate(asked, keep, report),
            Question::Begin => self.begin(),
            Question::Advance { events } => self.advance(events),
            Question::End { keep } => self.end(keep),
            Question::Keep { off } => {
                self.before = if off { None } else { self.report.clone() };
                json!({ "kept": self.before.is_some(), "sections": self.sections() })
            }
            Question::Link { at } => match self.report.as_ref().and_then(|r| page::link(r, at)) {
                Some(html) => json!({ "html": html }),
                None => error("there is no such link"),
            },
            Question::Report => json!({ "report": self.report }),
            Question::Set { text, path, value } => match with_value(&text, &path, &value) {
                Ok(text) => json!({ "text": text }),
                Err(e) => error(&e),
            },
            Question::Fold { asked } => fold(asked),
            Question::Bars { bars, latest } => {
                let shown = match (&mut self.run, &self.report) {
                    (Some(run), _) => bars::of_run(run, bars, latest),
                    (None, Some(report)) => bars::of_report(report, bars),
                    (None, None) => None,
                };
                json!({ "shown": shown })
            }
            Question::Values => self.values(),
            Question::Film { step } => self.begin_film(step.as_deref()),
            Question::Shoot => self.shoot(),
            Question::Language => language(),
        }
    }

    fn estimate(&mut self, asked: Asked, keep: bool, written: Option<Box<Report>>) -> Value {
        (self.run, self.shooting, self.film) = (None, None, None);
        if let Some(ladder) = &asked.collective {
            (self.plan, self.report) = (None, None);
            return gpu::Cluster::estimate(&mut self.gpus, &asked, ladder, keep);
        }
        self.gpus = None;
        let mut diagnostics = Diagnostics::default();
        let Some(mut plan) = plan(&mut diagnostics, &asked) else {
            self.diagnostics = diagnostics;
            return json!({ "diagnostics": said(&self.diagnostics, &asked.name), "refused": true });
        };
        let things = things(&plan);
        if things > MOST_THINGS {
            return json!({
                "diagnostics": said(&diagnostics, &asked.name),
                "error": format!(
                    "{things} parts, links and flows are too many for this page (it answers for {MOST_THINGS}); \
                     save the scenario and run it natively: lanescope run {}", file_name(&asked.name)
                ),
            });
        }
        if asked.full {
            plan.limits = plan.limits.whole();
        }
        let written = written.filter(|r| r.provenance.plan == plan.fingerprint && r.schema == SCHEMA);
        let report = written.map_or_else(|| estimate(&plan, &diagnostics), |r| *r);
        self.diagnostics = diagnostics;
        if keep {
            self.before = Some(report.clone());
        }
        (self.asked, self.plan, self.report) = (asked, Some(plan), Some(report));
        json!({
            "diagnostics": said(&self.diagnostics, &self.asked.name),
            "sections": self.sections(),
            "title": self.report.as_ref().map(|r| &r.title),
            "plan": self.report.as_ref().map(|r| &r.provenance.plan),
            "simulated": self.report.as_ref().is_some_and(|r| r.simulation.is_some()),
            "ios": self.plan.as_ref().is_some_and(|p| !p.storage.flows.is_empty()),
        })
    }

    /// The sections of the present answer.
    fn sections(&self) -> Vec<Value> {
        let (Some(plan), Some(report)) = (&self.plan, &self.report) else { return Vec::new() };
        // The same answer has nothing to stand beside it.
        let before = self.before.as_ref().filter(|b| *b != report);
        let view = View { plan, report, before, film: self.film.as_ref(), live: true };
        let section = |s: page::Section| json!({ "id": s.id, "title": s.title, "html": s.html });
        page::sections(&view).into_iter().map(section).collect()
    }

    fn begin(&mut self) -> Value {
        let Some(plan) = &self.plan else { return error("there is nothing to simulate") };
        let mut diagnostics = Diagnostics::default();
        self.run = Run::new(plan, plan.limits.seed as u64, &mut diagnostics);
        (self.shooting, self.film) = (None, None);
        match &self.run {
            Some(_) => json!({ "begun": true }),
            None => {
                let why: Vec<String> = diagnostics.sorted().iter().map(|d| d.message.clone()).collect();
                error(&format!("this cannot be simulated: {}", why.join("; ")))
            }
        }
    }

    fn advance(&mut self, events: u64) -> Value {
        let Some(run) = &mut self.run else { return error("no simulation has begun") };
        let done = run.advance(events.clamp(1, MOST_EVENTS)) == Step::Done;
        json!({
            "done": done, "progress": run.progress(), "packets": run.packets(),
            "said": format!("{} million packets, {} simulated", run.packets() / 1_000_000, human_time(run.time())),
        })
    }

    fn end(&mut self, keep: bool) -> Value {
        let (Some(mut run), Some(plan)) = (self.run.take(), &self.plan) else {
            return error("no simulation has begun");
        };
        run.stop();
        let report = estimate(plan, &self.diagnostics).with(run.snapshot());
        if keep {
            self.before = Some(report.clone());
        }
        let fingerprint = report.simulation.as_ref().map(|s| s.fingerprint.clone());
        self.report = Some(report);
        json!({ "sections": self.sections(), "fingerprint": fingerprint })
    }

    fn begin_film(&mut self, step: Option<&str>) -> Value {
        let (Some(plan), Some(report)) = (&self.plan, &self.report) else { return error("there is nothing to film") };
        let step = match step.map(Time::parse).transpose() {
            Ok(step) => step,
            Err(_) => return error("a step is a time above zero, e.g. 1 us"),
        };
        self.shooting = Film::begin(plan, report, step);
        match &self.shooting {
            Some(_) => json!({ "begun": true }),
            None => error("simulate first: a film shows the run that was simulated"),
        }
    }

    fn shoot(&mut self) -> Value {
        let Some(shooting) = &mut self.shooting else { return error("no film has begun") };
        if !shooting.advance() {
            return json!({ "done": false, "progress": shooting.progress() });
        }
        let film = self.shooting.take().map(page::Shooting::finish);
        self.film = film;
        json!({
            "done": true, "film": self.film.as_ref().map(Film::frames), "sections": self.sections(),
        })
    }

    /// Every table with its values, each with the menu or the kind of text that its key takes.
    fn values(&self) -> Value {
        let Some(plan) = &self.plan else { return json!({ "things": [] }) };
        let mut tables: BTreeMap<usize, (String, Vec<Value>)> = BTreeMap::new();
        let all = planned(plan).settings;
        // Instances of a table that are set alike are one thing, called as the text calls it.
        let mut order: Vec<(String, Vec<_>)> = Vec::new();
        for (name, settings) in all {
            let table = match name.rsplit_once('.') {
                Some((table, n)) if n.parse::<u32>().is_ok() => table.to_owned(),
                _ => name.clone(),
            };
            let shown: Vec<_> = settings.iter().map(|s| (s.key, s.value.clone())).collect();
            match order.iter_mut().find(|(t, same)| *t == table && *same == shown) {
                Some(_) => {}
                None => {
                    let alone = order.iter().all(|(t, _)| *t != table);
                    order.push((if alone { table.clone() } else { name.clone() }, shown));
                    let at = order.len() - 1;
                    let path = match (alone, name.split_once('.')) {
                        (true, _) => dotted(&table.split('.').collect::<Vec<_>>()),
                        (false, Some((section, thing))) => dotted(&[section, thing]),
                        (false, None) => name,
                    };
                    let section = path.split('.').next().unwrap_or("");
                    let of = || TABLES.iter().filter(|t| t.section == section).flat_map(|t| t.keys);
                    let rows = settings.iter().map(|s| row(of().find(|k| k.name == s.key), s)).collect::<Vec<_>>();
                    if at < MOST_VALUES {
                        tables.insert(at, (path, rows));
                    }
                }
            }
        }
        let left = order.len().saturating_sub(MOST_VALUES);
        let mut things: Vec<(String, Vec<Value>)> = tables.into_values().collect();
        // What the text says itself beside: its title, what is used, how many there are, what a link joins, the run.
        for (keys, value) in values_of(&self.asked.text).into_iter().rev().filter(|(keys, _)| keys.len() <= 3) {
            let Some((key, table)) = keys.split_last() else { continue };
            let path = dotted(table);
            let had = |rows: &[Value]| rows.iter().any(|r| r["key"] == key.as_str());
            let section = table.first().map_or("", String::as_str);
            let known = TABLES.iter().filter(|t| t.section == section).flat_map(|t| t.keys).find(|k| k.name == *key);
            let row = json!({
                "key": key, "value": value, "range": null, "origin": "stated", "confidence": null, "default": false,
                "source": null, "words": words(known), "doc": known.map(|k| k.doc.trim()), "known": true,
            });
            match things.iter_mut().find(|(p, _)| *p == path) {
                Some((_, rows)) if had(rows) => {}
                Some((_, rows)) => rows.insert(0, row),
                None if path.is_empty() => things.insert(0, (path, vec![row])),
                None => things.push((path, vec![row])),
            }
        }
        let things: Vec<Value> =
            things.into_iter().map(|(path, values)| json!({ "path": path, "values": values })).collect();
        json!({ "things": things, "left": left })
    }
}

/// The menu of a key that takes one of some words.
fn words(key: Option<&Key>) -> Option<Value> {
    let schema = (key?.schema)();
    let yes_or_no = || (schema.get("type")? == "boolean").then(|| json!(["false", "true"]));
    schema.get("enum").cloned().or_else(yes_or_no)
}

/// One value, for a form.
fn row(key: Option<&Key>, s: &Setting) -> Value {
    json!({
        "key": s.key, "value": s.value, "range": s.range, "origin": s.origin, "confidence": s.confidence,
        "default": s.default, "source": s.source, "words": words(key), "doc": key.map(|k| k.doc.trim()),
        "known": key.is_some(),
    })
}

fn error(what: &str) -> Value {
    json!({ "error": what })
}

fn plan(diagnostics: &mut Diagnostics, asked: &Asked) -> Option<Plan> {
    let author = if asked.library { Author::Library } else { Author::User };
    let scenario = Included { name: asked.name.clone(), text: asked.text.clone(), author };
    lanescope::plan(diagnostics, scenario, &asked.sets, &Texts(&asked.files))
}

/// Parts, links and flows with all their instances.
fn things(plan: &Plan) -> usize {
    let flows: usize = plan.flow_groups().iter().map(|g| g.members.len()).sum();
    plan.parts.len()
        + plan.links.len()
        + plan.network.nodes.len()
        + plan.network.links.len()
        + flows
        + plan.storage.targets.len()
        + plan.cluster.adapters.len()
        + plan.cluster.links.len()
}

/// A name for a command line.
fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(plain) {
        name.to_owned()
    } else {
        "scenario.toml".into()
    }
}

/// Diagnostics for an editor: places are in UTF-16 units, as JavaScript counts them, where they are in the scenario's
/// own text.
fn said(all: &Diagnostics, name: &str) -> Vec<Value> {
    let one = |d: &lanescope::diagnostic::Diagnostic| {
        let place = d.span.map(|s| all.place(s));
        let own = d.span.map(|s| (s, all.source(s.source))).filter(|(_, source)| source.name == name);
        let at = |n: u32, text: &str| {
            let mut n = (n as usize).min(text.len());
            while !text.is_char_boundary(n) {
                n -= 1;
            }
            text[..n].encode_utf16().count()
        };
        json!({
            "error": d.severity == Severity::Error, "message": d.message, "label": d.label, "hint": d.hint,
            "file": place.as_ref().map(|p| &p.0), "line": place.as_ref().map(|p| p.1),
            "from": own.as_ref().map(|(s, source)| at(s.start, &source.text)),
            "to": own.as_ref().map(|(s, source)| at(s.end, &source.text)),
        })
    };
    all.sorted().into_iter().take(MOST_SAID).map(one).collect()
}

/// The text with its overrides in it, as far as they can be written there without changing the plan.
fn fold(asked: Asked) -> Value {
    if asked.collective.is_some() {
        return gpu::fold(&asked);
    }
    let wanted = plan(&mut Diagnostics::default(), &asked).map(|p| p.fingerprint);
    let mut text = asked.text.clone();
    for set in &asked.sets {
        let Some((path, value)) = set.split_once('=') else { return json!({ "text": asked.text, "sets": asked.sets }) };
        match with_value(&text, path, value) {
            Ok(edited) => text = edited,
            Err(_) => return json!({ "text": asked.text, "sets": asked.sets }),
        }
    }
    let folded = Asked { text, sets: Vec::new(), ..asked.clone() };
    let got = plan(&mut Diagnostics::default(), &folded).map(|p| p.fingerprint);
    if got == wanted {
        json!({ "text": folded.text, "sets": [] })
    } else {
        json!({ "text": asked.text, "sets": asked.sets })
    }
}

/// Sections, keys and the names of the library.
fn language() -> Value {
    json!({ "schema": schema::json_schema(), "library": Library.names() })
}

#[cfg(test)]
mod tests;
