//! Job files: sections of options, of which `[global]` holds for all sections after it.
//!
//! Each section after `[global]` is a job, `numjobs` of it run side by side. What an option means is in fio's HOWTO.
//! Modelled are the kind of I/O and its sizes, how many are outstanding, rates and pauses, the region and the order of
//! jobs; an option with a consequence that is not modelled is named in a warning, once.

use super::options::{self, Effect};
use super::value::{self, Amount, S, US};
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, nearest};
use crate::import::{MOST_MESSAGES, lines, shown};
use crate::scenario::keys::Places;
use crate::units::Time;
use std::collections::BTreeSet;

/// Jobs of a file with their clones, at most.
pub(crate) const MOST_JOBS: u32 = 4096;
/// Bytes of a job file with all that it includes, at most.
const MOST_TEXT: usize = 1 << 20;
/// Files that are included, at most.
const MOST_INCLUDED: usize = 16;
/// Sizes of a direction's I/Os, at most: each is a line of an access specification.
const MOST_SIZES: usize = 50;

/// What follows the colon of `rw=read:4k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skip {
    /// Nothing.
    #[default]
    None,
    /// Of sequential I/Os: so many bytes are left out behind each.
    Hole(u64),
    /// Of random ones: a new place for each so-manieth.
    Every(u32),
}

/// A job file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobFile {
    /// The options of all `[global]` sections, by fio's own names, as written.
    pub global: Vec<(String, String)>,
    /// Its jobs in order.
    pub jobs: Vec<Job>,
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name: that of its section, or what `name` says.
    pub name: String,
    /// Its number among the groups that are reported together: `stonewall` and `new_group` begin one.
    pub group: u32,
    /// Its number among the groups that run together: `stonewall` and `wait_for` begin one.
    pub run: u32,
    /// Its own options by fio's own names, as written.
    pub options: Vec<(String, String)>,
    /// Clones of it.
    pub clones: u32,
    /// Whether the clones and jobs of its group are reported as one.
    pub group_reporting: bool,
    /// `randrw`.
    pub rw: String,
    /// Percent of its I/Os that read.
    pub read: u32,
    /// Percent of the others that are trims.
    pub trims: u32,
    /// Percent of its I/Os with a random place, of reads and writes.
    pub random: [u32; 2],
    /// Behind the colon of `rw`.
    pub skip: Skip,
    /// Bytes of reads and of writes, with shares in hundredths of a percent that add up to 100 %.
    pub sizes: [Vec<(u64, u32)>; 2],
    /// Random places are multiples of this; without it, of the smallest size of their direction.
    pub align: [Option<u64>; 2],
    /// I/Os outstanding, of all files together.
    pub depth: u32,
    /// Its region: size in each file, and where that begins, for each clone later.
    pub size: Option<Amount>,
    /// See `size`.
    pub offset: Amount,
    /// See `size`.
    pub offset_increment: u64,
    /// How long it runs.
    pub runtime: Option<Time>,
    /// What it does before it is counted.
    pub ramp: Time,
    /// I/Os a second at most.
    pub rate: Option<f64>,
    /// Whether they come at random times.
    pub poisson: bool,
    /// Pause.
    pub think: Time,
    /// And after how many I/Os.
    pub think_blocks: u32,
    /// Files that it names. Without any, each clone has its own below `directory`.
    pub files: Vec<String>,
    /// Where its files are.
    pub directory: Option<String>,
    /// Start of its random numbers.
    pub seed: Option<u64>,
    /// Exponent of Zipf's law, by which its random places are wanted.
    pub zipf: Option<f64>,
    /// Another law of its random places, as a scenario writes it.
    pub distribution: Option<String>,
    /// Its I/O engine, and whether that polls for completions (`hipri`).
    pub engine: String,
    /// See `engine`.
    pub polls: bool,
    /// Percentiles that are reported; fio's 17 where there are none.
    pub percentiles: Vec<f64>,
}

/// A line that says something: a section's head, or an option with the byte at which its value begins.
struct Line {
    span: Span,
    body: Body,
}

enum Body {
    Section(String),
    Option(String, Option<String>),
}

/// Reads a job file; one that it includes comes through `resolve`. `tolerant` reads on where an option is unknown.
pub fn read(
    diagnostics: &mut Diagnostics,
    source: SourceId,
    tolerant: bool,
    resolve: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Option<JobFile> {
    let mut all = Vec::new();
    let mut left = (MOST_INCLUDED, MOST_TEXT);
    if !split(diagnostics, source, resolve, &mut left, &mut all) {
        return None;
    }
    let mut reader = Reader { diagnostics, tolerant, errors: 0, unknown: 0, said: BTreeSet::new() };
    let file = reader.file(&all, Span { source, start: 0, end: 0 });
    let wrong = reader.errors > 0;
    file.filter(|_| !wrong)
}

/// The lines of a text, and of those that it includes.
fn split(
    diagnostics: &mut Diagnostics,
    source: SourceId,
    resolve: &mut dyn FnMut(&str) -> Result<String, String>,
    left: &mut (usize, usize),
    all: &mut Vec<Line>,
) -> bool {
    let text = diagnostics.source(source).text.clone();
    let Some(rest) = left.1.checked_sub(text.len()) else {
        let what = format!("a job file of more than {MOST_TEXT} B");
        diagnostics.push(Diagnostic::error(Span { source, start: 0, end: 0 }, what).hint("is it in another format?"));
        return false;
    };
    left.1 = rest;
    for (at, line) in lines(&text) {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with([';', '#']) {
            continue;
        }
        let start = at + (line.len() - line.trim_start().len());
        let span = |from: usize, to: usize| Span { source, start: from as u32, end: to as u32 };
        if let Some(head) = bare.strip_prefix('[') {
            let Some((name, _)) = head.split_once(']') else {
                let d = Diagnostic::error(span(start, start + bare.len()), "a section's name has no end");
                diagnostics.push(d.hint("[name]"));
                return false;
            };
            let span = span(start, start + name.len() + 2);
            all.push(Line { span, body: Body::Section(name.to_owned()) });
            continue;
        }
        // fio cuts a line at the first of these, wherever it stands.
        let bare = bare.split([';', '#']).next().unwrap_or_default().trim_end();
        let place = span(start, start + bare.len());
        if let Some(name) = bare.strip_prefix("include").filter(|n| n.starts_with(char::is_whitespace)) {
            left.0 = left.0.saturating_sub(1);
            let found = if left.0 == 0 {
                Err(format!("more than {MOST_INCLUDED} files are included"))
            } else {
                resolve(name.trim())
            };
            let included = match found {
                Ok(text) => diagnostics.add_source(name.trim(), text),
                Err(why) => {
                    diagnostics.push(Diagnostic::error(place, format!("cannot include {}: {why}", shown(name.trim()))));
                    return false;
                }
            };
            if !split(diagnostics, included, resolve, left, all) {
                return false;
            }
            continue;
        }
        let (key, value) = bare.split_once('=').map_or((bare, None), |(k, v)| (k, Some(v.trim().to_owned())));
        all.push(Line { span: place, body: Body::Option(key.trim_end().to_owned(), value) });
    }
    true
}

/// What holds while sections are read.
struct Reader<'a> {
    diagnostics: &'a mut Diagnostics,
    tolerant: bool,
    errors: usize,
    unknown: usize,
    /// Options and matters that were warned of.
    said: BTreeSet<String>,
}

/// Options so far, of the global section or of a job.
#[derive(Clone)]
struct Draft {
    job: Job,
    engine: String,
    word: String,
    mix: u32,
    percentage: [Option<u32>; 2],
    written: [u64; 2],
    /// Of trims: their size, their rates of bytes and of I/Os.
    trimmed: u64,
    trim_rates: [Option<f64>; 2],
    splits: [Option<Vec<(u64, u32)>>; 2],
    depth: u32,
    direct: bool,
    kb_base: u64,
    own_size: Option<Amount>,
    file_size: Option<Amount>,
    /// Rates of bytes and of I/Os, by direction.
    rates: [Option<f64>; 2],
    rate_ios: [Option<f64>; 2],
    count: u32,
    stonewall: bool,
    new_group: bool,
    wait: bool,
    /// Where the kind of I/O, the engine, the depth and the sizes were said.
    places: [Option<Span>; 4],
}

const ENGINE: usize = 0;
const WORD: usize = 1;
const DEPTH: usize = 2;
const SIZES: usize = 3;

impl Draft {
    fn new() -> Draft {
        let job = Job {
            name: String::new(),
            group: 0,
            run: 0,
            options: Vec::new(),
            clones: 1,
            group_reporting: false,
            rw: String::new(),
            read: 100,
            trims: 0,
            random: [0; 2],
            skip: Skip::None,
            sizes: [Vec::new(), Vec::new()],
            align: [None; 2],
            depth: 1,
            size: None,
            offset: Amount::Bytes(0),
            offset_increment: 0,
            runtime: None,
            ramp: Time::ZERO,
            rate: None,
            poisson: false,
            think: Time::ZERO,
            think_blocks: 1,
            files: Vec::new(),
            directory: None,
            seed: None,
            zipf: None,
            distribution: None,
            engine: String::new(),
            polls: false,
            percentiles: Vec::new(),
        };
        Draft {
            job,
            engine: "psync".into(),
            word: "read".into(),
            mix: 50,
            percentage: [None; 2],
            written: [4096; 2],
            trimmed: 4096,
            trim_rates: [None; 2],
            splits: [None, None],
            depth: 1,
            direct: false,
            kb_base: 1024,
            own_size: None,
            file_size: None,
            rates: [None; 2],
            rate_ios: [None; 2],
            count: 1,
            stonewall: false,
            new_group: false,
            wait: false,
            places: [None; 4],
        }
    }
}

/// A switch: on without a value.
fn switch(value: Option<&str>) -> Option<bool> {
    match value {
        None => Some(true),
        Some(v) => v.parse::<u32>().ok().map(|n| n != 0),
    }
}

/// Lays what is said over what was.
fn lay<T: Copy>(under: &mut [Option<T>; 2], over: [Option<T>; 2]) {
    for (under, over) in under.iter_mut().zip(over) {
        *under = over.or(*under);
    }
}

/// Names separated by colons that no backslash precedes.
fn names(text: &str) -> Vec<String> {
    let (mut all, mut one, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            ':' if !escaped => all.push(std::mem::take(&mut one)),
            c => {
                // What is no colon keeps its backslash.
                if escaped && c != ':' {
                    one.push('\\');
                }
                one.push(c);
            }
        }
        escaped = false;
    }
    all.push(one);
    all.retain(|n| !n.is_empty());
    all
}

impl Reader<'_> {
    fn error(&mut self, span: Span, what: impl Into<String>, hint: impl Into<String>) {
        self.errors += 1;
        self.diagnostics.push(Diagnostic::error(span, what).hint(hint));
    }

    /// A warning about a matter that is not told again.
    fn once(&mut self, matter: &str, span: Option<Span>, what: impl Into<String>, hint: impl Into<String>) {
        if self.said.insert(matter.to_owned()) {
            self.diagnostics.push(Diagnostic::warning(span, what).hint(hint));
        }
    }

    fn file(&mut self, all: &[Line], start: Span) -> Option<JobFile> {
        let mut file = JobFile::default();
        let mut global = Draft::new();
        // The draft in work: of a job with its section's place, or the global one.
        let mut open: Option<(Draft, Span)> = None;
        let mut within = false;
        let mut total = 0;
        for line in all {
            if self.errors >= MOST_MESSAGES {
                return None;
            }
            match &line.body {
                Body::Section(name) => {
                    if let Some((draft, span)) = open.take() {
                        self.end(&mut file, draft, span, &mut total)?;
                    }
                    within = true;
                    if !name.trim().to_ascii_lowercase().starts_with("global") {
                        let mut draft = global.clone();
                        draft.job.name = name.chars().filter(|c| !c.is_control()).take(200).collect();
                        draft.job.options.clear();
                        open = Some((draft, line.span));
                    }
                }
                Body::Option(key, value) if within => {
                    let draft = open.as_mut().map_or(&mut global, |o| &mut o.0);
                    self.option(draft, key, value.as_deref(), line.span);
                }
                Body::Option(key, _) => {
                    let hint = "a job file is sections, [name], with options, key=value, below";
                    self.error(line.span, format!("{} is in no section", shown(key)), hint);
                    return None;
                }
            }
        }
        if let Some((draft, span)) = open.take() {
            self.end(&mut file, draft, span, &mut total)?;
        }
        file.global = global.job.options;
        if file.jobs.is_empty() && self.errors == 0 {
            self.error(start, "no job", "each section but [global] is a job: [name]");
        }
        Some(file)
    }

    /// One option, laid over a draft.
    fn option(&mut self, draft: &mut Draft, key: &str, value: Option<&str>, span: Span) {
        let lower = key.to_ascii_lowercase();
        let Some((name, effect)) = options::find(&lower) else {
            let near = nearest(&lower, options::names());
            let what = format!("fio has no option {}", shown(key));
            let hint = near.map_or_else(String::new, |n| format!("did you mean {n}?"));
            if !self.tolerant {
                let hint = if hint.is_empty() { "--tolerant passes over it".into() } else { hint };
                return self.error(span, what, hint);
            }
            self.unknown += 1;
            if self.unknown <= MOST_MESSAGES {
                self.once(&format!("unknown {lower}"), Some(span), what, hint);
            }
            return;
        };
        if !["stonewall", "new_group"].contains(&name) {
            let kept = &mut draft.job.options;
            kept.retain(|(k, _)| k != name);
            kept.push((name.to_owned(), value.unwrap_or_default().chars().take(4096).collect()));
        }
        match effect {
            Effect::Nothing => return,
            Effect::Missing => {
                // What is turned off is as if it were not there.
                if value != Some("0") && value != Some("none") {
                    let what = format!("{name} is not modelled: the job runs without it");
                    self.once(name, Some(span), what, "");
                }
                return;
            }
            Effect::Modelled => {}
        }
        let text = value.unwrap_or_default();
        if text.contains("${") || text.starts_with('$') {
            let what = format!("{name}={}: environment variables and $names are not expanded", shown(text));
            let matter = format!("{name}={text}");
            self.once(
                &matter,
                Some(span),
                what,
                "write the value in its place; without it, the option is as if it were not there",
            );
            // Names of files are names, whatever they are.
            if !["filename", "directory", "name"].contains(&name) {
                return;
            }
        }
        if let Err(hint) = self.set(draft, name, value, span) {
            let what = if text.is_empty() { format!("{name} has no value") } else { format!("{name}={}", shown(text)) };
            self.error(span, format!("{what}: this is not understood"), hint);
        }
    }

    /// Sets what is modelled; an error is what was expected.
    fn set(&mut self, d: &mut Draft, name: &'static str, value: Option<&str>, span: Span) -> Result<(), String> {
        let text = value.unwrap_or_default();
        let base = d.kb_base;
        let size = "a size: 4096, 4k, 2m, 1g";
        let sizes = "a size, or read,write: 4k or 4k,64k";
        let number = |what: &str| text.parse::<u32>().map_err(|_| what.to_owned());
        let need = |what: &str| what.to_owned();
        let flag = || switch(value).ok_or_else(|| "1 or 0, or nothing".to_owned());
        match name {
            "name" => d.job.name = text.chars().filter(|c| !c.is_control()).take(200).collect(),
            "ioengine" => (d.engine, d.places[ENGINE]) = (text.to_owned(), Some(span)),
            "rw" => (d.word, d.places[WORD]) = (text.to_owned(), Some(span)),
            "rwmixread" => d.mix = number("a percentage from 0 to 100").and_then(value::percent)?,
            "rwmixwrite" => d.mix = 100 - number("a percentage from 0 to 100").and_then(value::percent)?,
            "bs" => {
                let said = value::all_sides(text, |t| value::bytes(t, base).filter(|b| *b > 0));
                let [reads, writes, trims] = said.ok_or_else(|| need(sizes))?;
                d.trimmed = trims.unwrap_or(d.trimmed);
                for (side, said) in [reads, writes].into_iter().enumerate() {
                    if let Some(bytes) = said {
                        (d.written[side], d.splits[side]) = (bytes, None);
                    }
                }
                d.places[SIZES] = Some(span);
            }
            "bsrange" => {
                let expected = "least-most: 4k-64k, or read,write: 4k-64k,1k-8k";
                let range = |t: &str| {
                    let (least, most) = t.split_once('-')?;
                    let (least, most) = (value::bytes(least, base)?, value::bytes(most, base)?);
                    (least > 0 && least <= most).then_some((least, most))
                };
                let said = value::sides(text, range).ok_or_else(|| need(expected))?;
                for (side, range) in said.into_iter().enumerate() {
                    let Some((least, most)) = range else { continue };
                    // Any multiple of the least, each as likely as another.
                    let n = most / least;
                    if n > MOST_SIZES as u64 {
                        return Err(format!("at most {MOST_SIZES} sizes, all multiples of the least: this has {n}"));
                    }
                    let shares = value::apportion(10_000, n as usize);
                    (d.written[side], d.splits[side]) = (least, Some((1..=n).map(|i| i * least).zip(shares).collect()));
                }
                d.places[SIZES] = Some(span);
            }
            "bssplit" => {
                let expected = "size/percent:size/percent that add up to 100, for reads,writes: 4k/60:64k/40";
                let mut parts = text.split(',');
                let first = value::split(parts.next().unwrap_or_default(), base).ok_or_else(|| need(expected))?;
                let second = match parts.next() {
                    Some(text) => value::split(text, base).ok_or_else(|| need(expected))?,
                    None => first.clone(),
                };
                if first.len().max(second.len()) > MOST_SIZES {
                    return Err(format!("at most {MOST_SIZES} sizes"));
                }
                d.splits = [Some(first), Some(second)];
                d.places[SIZES] = Some(span);
            }
            "ba" => lay(&mut d.job.align, value::sides(text, |t| value::bytes(t, base)).ok_or_else(|| need(sizes))?),
            "iodepth" => {
                d.depth = number("a number of I/Os, at least 1")?;
                if d.depth == 0 || d.depth > 65_536 {
                    return Err("1 to 65536 I/Os".into());
                }
                d.places[DEPTH] = Some(span);
            }
            "numjobs" => {
                d.job.clones = number("a number of clones, at least 1")?;
                if d.job.clones == 0 || d.job.clones > MOST_JOBS {
                    return Err(format!("1 to {MOST_JOBS} clones"));
                }
            }
            "group_reporting" => d.job.group_reporting = flag()?,
            "stonewall" => d.stonewall = flag()?,
            "new_group" => d.new_group = flag()?,
            "wait_for" => {
                d.wait = true;
                let what = "wait_for: the job begins when all jobs before it have ended";
                self.once(name, Some(span), what, "stonewall says the same");
            }
            "size" => d.own_size = Some(value::amount(text, base).ok_or_else(|| need(size))?),
            "filesize" => {
                let least = text.split('-').next().unwrap_or_default();
                d.file_size = Some(value::amount(least, base).ok_or_else(|| need(size))?);
                if least.len() < text.len() {
                    self.once(name, Some(span), "filesize: all files have the smallest size of the range", "");
                }
            }
            "offset" => d.job.offset = value::amount(text, base).ok_or_else(|| need(size))?,
            "offset_increment" => d.job.offset_increment = value::bytes(text, base).ok_or_else(|| need(size))?,
            // How much is done changes how long a run is, not what it comes to.
            "io_size" => drop(value::amount(text, base).ok_or_else(|| need(size))?),
            "loops" => drop(number("a number of times")?),
            "nrfiles" => d.count = number("a number of files")?.max(1),
            "runtime" => {
                let time = value::time(text, S).ok_or_else(|| need("a time: 60, 500ms, 2m"))?;
                if time == Time::MAX {
                    self.once(name, Some(span), "runtime: a simulated clock goes to 5 h, no further", "");
                }
                d.job.runtime = Some(time).filter(|t| *t > Time::ZERO);
            }
            "ramp_time" => d.job.ramp = value::time(text, S).ok_or_else(|| need("a time: 60, 500ms, 2m"))?,
            "startdelay" => {
                let (first, _) = text.split_once('-').unwrap_or((text, ""));
                value::time(first, S).ok_or_else(|| need("a time: 60, 500ms, 2m"))?;
                self.once(name, Some(span), "startdelay is not modelled: jobs of a group begin together", "");
            }
            "time_based" | "norandommap" => drop(flag()?),
            "rate" | "rate_iops" => {
                let said = value::all_sides(text, |t| value::bytes(t, base)).ok_or_else(|| need(sizes))?;
                let [reads, writes, trims] = said.map(|s| s.filter(|n| *n > 0).map(|n| n as f64));
                let of_trims = &mut d.trim_rates[usize::from(name == "rate_iops")];
                *of_trims = trims.or(*of_trims);
                lay(if name == "rate" { &mut d.rates } else { &mut d.rate_ios }, [reads, writes]);
            }
            "rate_process" => {
                d.job.poisson = match text {
                    "linear" => false,
                    "poisson" => true,
                    _ => return Err("linear or poisson".into()),
                }
            }
            "thinktime" => d.job.think = value::time(text, US).ok_or_else(|| need("a time: 500 (us), 20ms"))?,
            "thinktime_blocks" => d.job.think_blocks = number("a number of I/Os, at least 1")?.max(1),
            "percentage_random" => {
                let one = |t: &str| t.parse::<u32>().ok().filter(|p| *p <= 100);
                lay(&mut d.percentage, value::sides(text, one).ok_or_else(|| need("a percentage, or read,write"))?);
            }
            "random_distribution" => {
                const LAWS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];
                let law = text.split(':').next().unwrap_or_default();
                if !LAWS.contains(&law) {
                    let near = nearest(law, LAWS).map_or_else(String::new, |n| format!("did you mean {n}? "));
                    return Err(format!("{near}there are {}", LAWS.join(", ")));
                }
                let theta = text.split(':').nth(1).map_or(Some(1.1), |t| t.trim().parse::<f64>().ok());
                if law == "zipf" {
                    let good = theta.filter(|t| *t > 0.0 && *t <= 5.0);
                    d.job.zipf = Some(good.ok_or_else(|| need("an exponent above 0 and up to 5: zipf:1.2"))?);
                    d.job.distribution = None;
                } else if law != "random" {
                    let (reads, others) = text.split_once(',').map_or((text, None), |(r, o)| (r, Some(o)));
                    if others.is_some() {
                        let what = format!("random_distribution={law}: one for reads and another for writes");
                        self.once(name, Some(span), what, "that of reads holds for both");
                    }
                    let text = match law {
                        "zoned_abs" => value::absolute(reads, base)
                            .ok_or_else(|| need("sizes of zones: zoned_abs:50/10G:50/90G"))?,
                        _ => reads.to_owned(),
                    };
                    Places::parse(&text)?;
                    (d.job.distribution, d.job.zipf) = (Some(text), None);
                } else {
                    (d.job.distribution, d.job.zipf) = (None, None);
                }
            }
            "hipri" => d.job.polls = flag()?,
            "randseed" => d.job.seed = Some(value::bytes(text, base).ok_or_else(|| need("a number"))?),
            "filename" => d.job.files = names(text).into_iter().take(256).collect(),
            "directory" => d.job.directory = names(text).into_iter().next(),
            "direct" => d.direct = flag()?,
            "buffered" => d.direct = !flag()?,
            "kb_base" => {
                d.kb_base = match text {
                    "1024" => 1024,
                    "1000" => 1000,
                    _ => return Err("1024 or 1000".into()),
                }
            }
            "percentile_list" => {
                let all: Option<Vec<f64>> = text.split(':').map(|p| p.trim().parse::<f64>().ok()).collect();
                let all = all.filter(|l| l.len() <= 20 && l.iter().all(|p| (0.0..=100.0).contains(p)));
                d.job.percentiles = all.ok_or_else(|| need("up to 20 percentages: 50:99:99.9"))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A section is over: its job, or why there is none.
    fn end(&mut self, file: &mut JobFile, mut d: Draft, section: Span, total: &mut u32) -> Option<()> {
        let before = self.errors;
        self.engine(&mut d, section);
        self.kind(&mut d, section);
        self.sizes(&mut d, section);
        let job = &mut d.job;
        job.size = d.file_size.or(match d.own_size {
            // The size of a job is that of all its files.
            Some(Amount::Bytes(n)) => Some(Amount::Bytes(n / u64::from(d.count.max(job.files.len() as u32)))),
            other => other,
        });
        *total = total.saturating_add(job.clones);
        if *total > MOST_JOBS {
            self.error(section, format!("more than {MOST_JOBS} jobs with their clones"), "");
            return None;
        }
        if self.errors == before {
            let last = file.jobs.last().map(|j| (j.group, j.run));
            let (group, run) = last.unwrap_or_default();
            let job = &mut d.job;
            job.group = group + u32::from(last.is_some() && (d.stonewall || d.new_group));
            job.run = run + u32::from(last.is_some() && (d.stonewall || d.wait));
            file.jobs.push(d.job);
        }
        Some(())
    }

    fn engine(&mut self, d: &mut Draft, section: Span) {
        let span = d.places[ENGINE].unwrap_or(section);
        // `external:path` and the like.
        let engine = d.engine.split(':').next().unwrap_or_default().to_owned();
        if let Some((_, why)) = options::OTHER_ENGINES.iter().find(|e| e.0 == engine) {
            return self.error(
                span,
                format!("ioengine={engine} cannot be modelled: {why}"),
                "take the job out of the file",
            );
        }
        let sync = options::SYNC_ENGINES.contains(&engine.as_str());
        if !sync && !options::ASYNC_ENGINES.contains(&engine.as_str()) {
            let all = options::SYNC_ENGINES.iter().chain(options::ASYNC_ENGINES).copied();
            let near = nearest(&engine, all).map_or_else(String::new, |n| format!("did you mean {n}?"));
            return self.error(span, format!("there is no I/O engine {}", shown(&engine)), near);
        }
        if !d.direct {
            let what =
                "without direct=1, a real host's page cache stands between a job and its volume: that is not modelled";
            self.once("direct", Some(section), what, "every I/O goes to the volume here");
        }
        d.job.depth = d.depth;
        d.job.engine.clone_from(&engine);
        let buffered = engine == "libaio" && !d.direct;
        if d.depth > 1 && (sync || buffered) {
            let why =
                if sync { "waits for each I/O" } else { "waits for each buffered I/O (on Linux, without direct=1)" };
            let what = format!("iodepth={} has no effect: {engine} {why}", d.depth);
            self.once(
                &format!("depth {engine}"),
                d.places[DEPTH],
                what,
                "one I/O is outstanding; libaio with direct=1, or io_uring, keep several",
            );
            d.job.depth = 1;
        }
    }

    fn kind(&mut self, d: &mut Draft, section: Span) {
        const WORDS: [(&str, u32, bool); 11] = [
            ("read", 100, false),
            ("write", 0, false),
            ("randread", 100, true),
            ("randwrite", 0, true),
            ("rw", 50, false),
            ("readwrite", 50, false),
            ("randrw", 50, true),
            ("trim", 0, false),
            ("randtrim", 0, true),
            ("trimwrite", 0, false),
            ("randtrimwrite", 0, true),
        ];
        let span = d.places[WORD].unwrap_or(section);
        let whole = d.word.clone();
        let (word, behind) = whole.split_once(':').map_or((whole.as_str(), None), |(w, b)| (w, Some(b)));
        let Some((_, read, random)) = WORDS.iter().find(|w| w.0 == word) else {
            let words = WORDS.map(|w| w.0);
            let near = nearest(word, words).map_or_else(String::new, |n| format!("did you mean {n}? "));
            let hint = format!("{near}there are {}", words.join(", "));
            return self.error(span, format!("rw={}: there is no such kind of I/O", shown(word)), hint);
        };
        let (read, random) = (*read, *random);
        if word.ends_with("trimwrite") {
            d.job.trims = 50;
            let what = format!("rw={word}: trims and writes come as often, each at a place of its own");
            self.once("trimwrite", Some(span), what, "fio trims a block and writes it then, one after the other");
        } else if word.ends_with("trim") {
            self.trims(d, word, span);
        }
        d.job.rw = word.replace("readwrite", "rw");
        d.job.read = if read == 50 { d.mix } else { read };
        d.job.random = if random { d.percentage.map(|p| p.unwrap_or(100)) } else { [0; 2] };
        d.job.skip = match (behind, random) {
            (None, _) => Skip::None,
            (Some(n), true) => match n.parse() {
                Ok(n) if n > 0 => Skip::Every(n),
                _ => return self.error(span, format!("rw={}", shown(&d.word)), "a number of I/Os behind the colon"),
            },
            (Some(n), false) => match value::bytes(n, d.kb_base) {
                Some(n) => Skip::Hole(n),
                None if n.starts_with('-') => {
                    return self.error(span, "sequential I/Os that go backward are not modelled", "");
                }
                None => return self.error(span, format!("rw={}", shown(&d.word)), "a size behind the colon"),
            },
        };
    }

    /// A job that trims alone: its sizes and rates are those of trims.
    fn trims(&mut self, d: &mut Draft, word: &str, span: Span) {
        d.job.trims = 100;
        d.written[1] = d.trimmed;
        [d.rates[1], d.rate_ios[1]] = d.trim_rates;
        // Most engines have one call that ends with the trim (do_io_u_trim in fio's engines), whatever the depth.
        if d.job.depth > 1 && !["io_uring", "io_uring_cmd", "spdk", "xnvme"].contains(&d.job.engine.as_str()) {
            let what = format!("rw={word}: {} trims one at a time, whatever iodepth says", d.job.engine);
            self.once("trims wait", Some(span), what, "io_uring keeps several outstanding");
            d.job.depth = 1;
        }
    }

    fn sizes(&mut self, d: &mut Draft, section: Span) {
        let job = &mut d.job;
        job.sizes = [0, 1].map(|side| d.splits[side].clone().unwrap_or_else(|| vec![(d.written[side], 10_000)]));
        let used = [job.read > 0, job.read < 100];
        let mean = [0, 1].map(|side| job.sizes[side].iter().map(|(n, p)| *n as f64 * f64::from(*p) / 1e4).sum::<f64>());
        let all = || (0..2).filter(|side| used[*side]);
        let largest = all().flat_map(|side| job.sizes[side].iter().map(|s| s.0)).max().unwrap_or(0);
        // Rates of both directions add up; the mix says how they are shared.
        let ios: [Option<f64>; 2] = [0, 1].map(|s| d.rate_ios[s].or(d.rates[s].map(|r| r / mean[s])));
        let rates: Vec<f64> = all().filter_map(|side| ios[side]).collect();
        let both = all().count();
        job.rate = match rates.len() {
            0 => None,
            // One direction of two: the other follows by the mix.
            1 if both == 2 => {
                let (side, share) = if ios[0].is_some() { (0, job.read) } else { (1, 100 - job.read) };
                ios[side].map(|r| r * 100.0 / f64::from(share.max(1)))
            }
            _ => Some(rates.iter().sum()),
        };
        if rates.len() == 2 && (rates[0] / (rates[0] + rates[1]) - f64::from(job.read) / 100.0).abs() > 0.005 {
            let what = "the rates of reads and writes contradict rwmixread: their sum and rwmixread are kept";
            self.once("mixed rates", Some(section), what, "give rates whose proportion is that of rwmixread");
        }
        if largest > 1 << 30 {
            let span = d.places[SIZES].unwrap_or(section);
            self.error(span, "an I/O of more than 1 GiB", "1 B to 1 GiB");
        }
    }
}
