//! What fio prints with `--output-format=json` or `json+`, as plain numbers.
//!
//! Which numbers mean what depends on the version: before 3.0, `io_bytes` is KiB and times are microseconds under names
//! without `_ns`; since then bytes and nanoseconds have names that say so, and `bw` is still KiB/s (fio's HOWTO and
//! change log). With `--status-interval` one file is several documents, each cumulative since the start: the last whole
//! one counts.

use crate::diagnostic::{Diagnostics, SourceId};
use crate::import::{Reading, beginning, lines, shown};
use serde_json::{Map, Value};
use std::fmt::Write;

/// Jobs of an output, at most.
const MOST_ENTRIES: usize = 65_536;

/// The results of one call of fio.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// `fio-3.33`.
    pub version: String,
    /// Who made it, where that was not fio.
    pub program: String,
    /// When it was written, ms since 1970.
    pub timestamp: u64,
    /// The options of `[global]`.
    pub global: Vec<(String, String)>,
    /// One for each job that is reported.
    pub entries: Vec<Entry>,
    /// What volumes did.
    pub disks: Vec<Disk>,
}

/// The results of a job, or of a group that is reported as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The group that it is reported in.
    pub group: u32,
    /// Its own options.
    pub options: Vec<(String, String)>,
    /// 0 where nothing went wrong.
    pub error: i64,
    /// Since the first job began, s.
    pub elapsed: u64,
    /// Reads, writes and trims.
    pub sides: [Side; 3],
    /// How long its clones ran, added up, ms.
    pub runtime: u64,
    /// Time of processors outside and inside the kernel, %.
    pub processor: [f64; 2],
    /// I/Os by how many were outstanding, %: from 1, 2, 4, 8, 16, 32, 64.
    pub depths: [f64; 7],
    /// I/Os by latency, %, between `EDGES`.
    pub spread: [f64; 32],
    /// I/Os that are kept outstanding.
    pub depth: u32,
}

/// What is in `latency_ns`, `_us` and `_ms`: the longest latency of each, ns; the last has none.
pub(crate) const EDGES: [u64; 31] = [
    2,
    4,
    10,
    20,
    50,
    100,
    250,
    500,
    750,
    1000,
    2000,
    4000,
    10_000,
    20_000,
    50_000,
    100_000,
    250_000,
    500_000,
    750_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    750_000_000,
    1_000_000_000,
    2_000_000_000,
];

/// I/Os of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes a second.
    pub rate: f64,
    /// I/Os a second.
    pub per_second: f64,
    /// How long there were any, ms.
    pub runtime: u64,
    /// How many.
    pub ios: u64,
    /// From the begin of the call to submission.
    pub slat: Lat,
    /// From submission to completion.
    pub clat: Lat,
    /// From the begin of the call to completion.
    pub lat: Lat,
    /// Rates of samples: the least, the largest, the mean, the deviation, KiB/s.
    pub rates: [f64; 4],
    /// I/Os a second of samples, likewise.
    pub ios_rates: [f64; 4],
    /// How many samples.
    pub samples: u64,
    /// The mean rate's share of its group's, %.
    pub share: f64,
}

/// Times, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lat {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// (percentage, time), ascending.
    pub percentiles: Vec<(f64, u64)>,
    /// (time, how many), ascending: of json+.
    pub bins: Vec<(u64, u64)>,
}

/// What a volume did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    /// Its name.
    pub name: String,
    /// Reads and writes.
    pub ios: [u64; 2],
    /// Their times, added up, ms.
    pub ticks: [u64; 2],
    /// The share of the time in which it was busy, %.
    pub busy: f64,
}

/// Whether a text looks like one: an object that names fio, or its parts, near its beginning.
pub fn is(text: &str) -> bool {
    start(text).is_some_and(|at| {
        let (from, to) = (at, text.len().min(at + 4096));
        let head = &text.as_bytes()[from..to];
        [&b"\"fio version\""[..], b"\"global options\"", b"\"jobname\""]
            .iter()
            .any(|w| head.windows(w.len()).any(|h| h == *w))
    })
}

/// Where the first document begins: fio says other things before it.
fn start(text: &str) -> Option<usize> {
    lines(text).take(1000).find(|(_, line)| line.trim_start().starts_with('{')).map(|(at, _)| at)
}

/// Reads the last document of an output.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Output> {
    Reading::of(diagnostics, source, parse)
}

fn parse(text: &str, reading: &mut Reading) -> Option<Output> {
    let hint = "fio --output-format=json writes one; lanescope fio too";
    let Some(start) = start(text) else {
        reading.error(beginning(text, 0), "no JSON of fio", hint);
        return None;
    };
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let (mut last, mut count) = (None, 0usize);
    loop {
        let at = start + documents.byte_offset();
        match documents.next() {
            None => break,
            Some(Ok(Value::Object(document))) => (last, count) = (Some((document, at)), count + 1),
            Some(Ok(_)) => {
                reading.warning(
                    beginning(text, at),
                    "after the JSON comes something that is not an object",
                    "it is left out",
                );
                break;
            }
            Some(Err(why)) => {
                // `why` counts lines and columns from the first document.
                let line = lines(&text[start..]).nth(why.line().saturating_sub(1)).map_or(0, |l| l.0);
                let place = floor(text, (start + line + why.column().saturating_sub(1)).min(text.len()));
                let what =
                    if why.is_eof() { "the text ends within a document".into() } else { format!("no JSON: {why}") };
                if last.is_some() {
                    reading.warning(beginning(text, place), what, "what comes from there on is left out");
                    break;
                }
                reading.error(beginning(text, place), what, hint);
                return None;
            }
        }
    }
    let (document, at) = last?;
    if count > 1 {
        let what = format!("{count} documents, as --status-interval writes them: the last one counts");
        reading.warning(beginning(text, at), what, "each is cumulative since the start");
    }
    output(&document, reading, beginning(text, at))
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

type At = (usize, usize);
type Object = Map<String, Value>;

fn output(document: &Object, reading: &mut Reading, at: At) -> Option<Output> {
    let hint = "fio's JSON has \"fio version\" and \"jobs\"";
    let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default().chars().take(200).collect();
    let version: String = text("fio version");
    // A client names the jobs of its servers otherwise.
    let jobs = document.get("jobs").or(document.get("client_stats")).and_then(Value::as_array);
    let Some(jobs) = jobs else {
        reading.error(at, "this JSON has no jobs of fio", hint);
        return None;
    };
    let number = version.strip_prefix("fio-").map(|v| v.split('.').next().unwrap_or_default().parse::<u32>());
    let old = matches!(number, Some(Ok(major)) if major < 3);
    match number {
        Some(Ok(major)) if major < 3 => {
            let what = format!("{}: io_bytes is KiB and times are us, as before 3.0", shown(&version));
            reading.warning(at, what, "3.0 and later say so in the names");
        }
        Some(Ok(_)) => {}
        _ => reading.warning(
            at,
            format!("{:?} is not a valid version of fio", shown(&version)),
            "it is read as 3.0 or later",
        ),
    }
    if jobs.len() > MOST_ENTRIES {
        reading.error(at, format!("more than {MOST_ENTRIES} jobs"), "");
        return None;
    }
    let mut entries = Vec::new();
    for (i, job) in jobs.iter().enumerate() {
        let Some(job) = job.as_object() else {
            reading.error(at, format!("jobs[{i}] is not an object"), hint);
            return None;
        };
        let name = job.get("jobname").and_then(Value::as_str);
        let Some(name) = name else {
            reading.error(at, format!("jobs[{i}] has no jobname"), hint);
            return None;
        };
        // What a client adds up.
        if name != "All clients" {
            entries.push(entry(name, job, old));
        }
    }
    if entries.is_empty() {
        reading.error(at, "no job is in it", hint);
        return None;
    }
    let global = match document.get("global options") {
        Some(Value::Array(list)) => list.first(),
        other => other,
    };
    let disks = document.get("disk_util").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Some(Output {
        version,
        program: text("lanescope"),
        timestamp: document.get("timestamp_ms").and_then(Value::as_u64).unwrap_or(0),
        global: options(global),
        entries,
        disks: disks.iter().take(MOST_ENTRIES).filter_map(Value::as_object).map(disk).collect(),
    })
}

fn options(of: Option<&Value>) -> Vec<(String, String)> {
    let one = |(key, value): (&String, &Value)| match value {
        Value::String(s) => (key.clone(), s.clone()),
        other => (key.clone(), other.to_string()),
    };
    of.and_then(Value::as_object).map_or_else(Vec::new, |o| o.iter().map(one).collect())
}

fn float(of: &Object, key: &str) -> f64 {
    of.get(key).and_then(Value::as_f64).filter(|v| (0.0..1e300).contains(v)).unwrap_or(0.0)
}

/// A whole number; one that is printed with a point is rounded.
fn whole(of: &Object, key: &str) -> u64 {
    of.get(key).and_then(Value::as_u64).unwrap_or_else(|| float(of, key).round() as u64)
}

fn entry(name: &str, job: &Object, old: bool) -> Entry {
    let none = Object::new();
    let table = |key: &str| job.get(key).and_then(Value::as_object).unwrap_or(&none);
    let depths = table("iodepth_level");
    let mut spread = [0.0; 32];
    let labels = |list: &[&str], from: usize, of: &Object, spread: &mut [f64; 32]| {
        for (i, label) in list.iter().enumerate() {
            spread[from + i] = float(of, label);
        }
    };
    labels(&SPREAD_NS, 0, table("latency_ns"), &mut spread);
    labels(&SPREAD_NS, 10, table("latency_us"), &mut spread);
    labels(&SPREAD_MS, 20, table("latency_ms"), &mut spread);
    Entry {
        name: name.to_owned(),
        group: whole(job, "groupid").min(u64::from(u32::MAX)) as u32,
        options: options(job.get("job options")),
        error: job.get("error").and_then(Value::as_i64).unwrap_or(0),
        elapsed: whole(job, "elapsed"),
        sides: ["read", "write", "trim"].map(|key| side(table(key), old)),
        runtime: whole(job, "job_runtime"),
        processor: [float(job, "usr_cpu"), float(job, "sys_cpu")],
        depths: DEPTHS.map(|d| float(depths, d)),
        spread,
        depth: whole(job, "latency_depth").min(u64::from(u32::MAX)) as u32,
    }
}

/// The keys of `latency_ns`, and of `latency_us`.
pub(crate) const SPREAD_NS: [&str; 10] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
/// The keys of `latency_ms`.
pub(crate) const SPREAD_MS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
/// The keys of `iodepth_level`.
pub(crate) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];

fn side(of: &Object, old: bool) -> Side {
    let kib = if old { 1024 } else { 1 };
    let none = Object::new();
    let times = |name: &str| {
        let table = of.get(&format!("{name}_ns")).or(of.get(name)).and_then(Value::as_object).unwrap_or(&none);
        lat(table, if of.contains_key(&format!("{name}_ns")) { 1.0 } else { 1000.0 })
    };
    let bytes_rate = float(of, "bw_bytes");
    Side {
        bytes: whole(of, "io_bytes").saturating_mul(kib),
        rate: if bytes_rate > 0.0 { bytes_rate } else { float(of, "bw") * 1024.0 },
        per_second: float(of, "iops"),
        runtime: whole(of, "runtime"),
        ios: whole(of, "total_ios"),
        slat: times("slat"),
        clat: times("clat"),
        lat: times("lat"),
        rates: ["bw_min", "bw_max", "bw_mean", "bw_dev"].map(|k| float(of, k)),
        ios_rates: ["iops_min", "iops_max", "iops_mean", "iops_stddev"].map(|k| float(of, k)),
        samples: whole(of, "bw_samples"),
        share: float(of, "bw_agg"),
    }
}

fn lat(of: &Object, ns: f64) -> Lat {
    let time = |v: f64| (v * ns).round() as u64;
    let list = |key: &str| of.get(key).and_then(Value::as_object).into_iter().flatten();
    let mut percentiles: Vec<(f64, u64)> = list("percentile")
        .filter_map(|(k, v)| Some((k.parse().ok().filter(|p| (0.0..=100.0).contains(p))?, time(v.as_f64()?.max(0.0)))))
        .collect();
    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut bins: Vec<(u64, u64)> = list("bins").filter_map(|(k, v)| Some((k.parse().ok()?, v.as_u64()?))).collect();
    bins.sort_unstable();
    Lat {
        count: whole(of, "N"),
        min: time(float(of, "min")),
        max: time(float(of, "max")),
        mean: float(of, "mean") * ns,
        deviation: float(of, "stddev") * ns,
        percentiles,
        bins,
    }
}

fn disk(of: &Object) -> Disk {
    Disk {
        name: of.get("name").and_then(Value::as_str).unwrap_or_default().chars().take(200).collect(),
        ios: [whole(of, "read_ios"), whole(of, "write_ios")],
        ticks: [whole(of, "read_ticks"), whole(of, "write_ticks")],
        busy: float(of, "util"),
    }
}

/// The load behind an output, as a job file: fio repeats the options of its jobs. Clones that are reported one by one
/// are one job again.
pub fn load_of(output: &Output) -> String {
    let mut text = String::from("; the options that fio repeats in its results\n[global]\n");
    let write = |text: &mut String, options: &[(String, String)]| {
        // What other values depend on comes first.
        let (first, rest): (Vec<_>, Vec<_>) = options.iter().partition(|o| o.0 == "kb_base");
        for (key, value) in first.into_iter().chain(rest) {
            let plain = |s: &str| s.chars().filter(|c| !c.is_control()).collect::<String>();
            let _ = match value.as_str() {
                "" => writeln!(text, "{}", plain(key)),
                value => writeln!(text, "{}={}", plain(key), plain(value)),
            };
        }
    };
    write(&mut text, &output.global);
    let mut before: Option<&Entry> = None;
    for entry in &output.entries {
        if before.is_some_and(|b| (&b.name, b.group, &b.options) == (&entry.name, entry.group, &entry.options)) {
            continue;
        }
        let name: String = entry.name.chars().filter(|c| !c.is_control() && !"[]".contains(*c)).collect();
        let _ = writeln!(text, "[job {name}]\nname={name}");
        if before.is_some_and(|b| b.group != entry.group) {
            text.push_str("stonewall\n");
        }
        write(&mut text, &entry.options);
        before = Some(entry);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Option<Output>, String) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("fio.json", text);
        let output = read(&mut diagnostics, source);
        assert_eq!(output.is_none(), diagnostics.has_errors());
        (output, diagnostics.to_string())
    }

    #[test]
    fn both_ages_are_read() {
        let new = r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "groupid": 0, "job options": {"bs": "4k"},
 "read": {"io_bytes": 8192, "bw_bytes": 4096, "bw": 4, "iops": 1.0, "runtime": 2000, "total_ios": 2,
  "lat_ns": {"min": 5, "max": 9, "mean": 7.0, "stddev": 2.0, "N": 2,
   "percentile": {"99.000000": 9, "1.000000": 5}, "bins": {"9": 1, "5": 1}}}}]}"#;
        let (output, said) = with(new);
        let side = output.expect(&said).entries[0].sides[0].clone();
        assert_eq!((side.bytes, side.rate, side.ios, said.as_str()), (8192, 4096.0, 2, ""));
        assert_eq!((side.lat.percentiles, side.lat.bins), (vec![(1.0, 5), (99.0, 9)], vec![(5, 1), (9, 1)]));
        let old = r#"{"fio version": "fio-2.2.10", "jobs": [{"jobname": "a", "groupid": 0,
 "read": {"io_bytes": 8, "bw": 4, "iops": 1.0, "runtime": 2000, "total_ios": 2,
  "lat": {"min": 5, "max": 9, "mean": 7.5, "stddev": 2.0}}}]}"#;
        let (output, said) = with(old);
        let side = output.expect(&said).entries[0].sides[0].clone();
        assert_eq!((side.bytes, side.rate, side.lat.min, side.lat.mean), (8192, 4096.0, 5000, 7500.0));
        assert!(said.contains("before 3.0"), "{said}");
    }

    #[test]
    fn the_last_whole_document_counts() {
        let one = |ios: u64| {
            format!(
                "{{\"fio version\": \"fio-3.1\", \"jobs\": [{{\"jobname\": \"a\", \"read\": {{\"total_ios\": \
                    {ios}}}}}]}}\n"
            )
        };
        let (output, said) = with(&(one(1) + &one(2) + &one(3)[..30]));
        assert_eq!(output.expect(&said).entries[0].sides[0].ios, 2);
        assert!(said.contains("ends within a document") && said.contains("2 documents"), "{said}");
        for text in ["", "hello", "{", "{\"a\": 1}", "{\"jobs\": [1]}", "{\"jobs\": [{}]}", "{\"jobs\": []}", "{]"] {
            let (output, said) = with(text);
            assert!(output.is_none() && said.contains("error"), "{text}: {said}");
        }
    }

    #[test]
    fn a_load_is_told_by_its_results() {
        let job = |name: &str, group: u32, bs: &str| Entry {
            name: name.into(),
            group,
            options: vec![("bs".into(), bs.into()), ("thread".into(), String::new())],
            ..Entry::default()
        };
        let entries = vec![job("a", 0, "4k"), job("a", 0, "4k"), job("b", 1, "8k")];
        let output = Output { global: vec![("direct".into(), "1".into())], entries, ..Output::default() };
        let text = load_of(&output);
        assert!(
            text.ends_with(
                "[global]\ndirect=1\n[job a]\nname=a\nbs=4k\nthread\n[job b]\nname=b\nstonewall\nbs=8k\nthread\n"
            ),
            "{text}"
        );
    }
}
