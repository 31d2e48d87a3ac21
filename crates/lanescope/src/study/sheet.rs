//! A drive out of its data sheet: from the numbers that a vendor states (`sheet_…`) to those of the model.
//!
//! Six numbers stand on a sheet at most, and each has one key that it determines nearly alone: random reads what the
//! controller takes for a command, reads in order the rate of the drive, the time of a write that of the firmware
//! (where writes are done in the buffer), the time of a read that of the flash, and writes at random and in order how
//! long programs and the way into them take. They are found together, by least squares of relative errors of the
//! estimate. What is left (channels, dies, pages, stripes, the buffer) stays as the drive's file has it; which of that
//! the sheet says nothing about is found by changing it and looking whether any number moves.

use super::Error;
use crate::diagnostic::Diagnostics;
use crate::estimate::estimate;
use crate::library::Library;
use crate::plan::storage::Device;
use crate::result::Report;
use crate::scenario::keys::Ssd;
use crate::scenario::tree::Author;
use crate::scenario::{Included, Resolver};
use crate::units::{Bytes, Rate, Time};
use rmpfit::{MPError, MPFitter, MPPar, MPResult};
use serde::Serialize;

/// A change that moves no number of a sheet by more than this part is one that it does not tell.
const UNSEEN: f64 = 0.005;
/// A number that is off by more than this is said.
const OFF: f64 = 0.01;
/// Bytes of an I/O at random.
const RANDOM: f64 = 4096.0;

/// A host that binds none of the numbers, with the drive in a slot of its own.
const HOST: &str = "[parts.host]\nuse = \"example/root-complex\"\ngeneration = \"gen5\"\nmax_payload = \"512 B\"\n\
                    completion_size = \"256 B\"\n";

/// What a number of a sheet is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// I/Os a second.
    Ios,
    /// Bytes a second.
    Rate,
    /// Seconds.
    Time,
}

/// The numbers that a sheet may have: the key, what it is of, whether it is of reads, and the key that follows from it.
const NUMBERS: [(&str, Kind, bool, &str); 6] = [
    ("sheet_random_read", Kind::Ios, true, "command_time"),
    ("sheet_sequential_read", Kind::Rate, true, "rate"),
    ("sheet_read_latency", Kind::Time, true, "read_time"),
    ("sheet_write_latency", Kind::Time, false, "command_latency"),
    ("sheet_random_write", Kind::Ios, false, "program_time"),
    ("sheet_sequential_write", Kind::Rate, false, "stripe_rate"),
];

/// A key that was fitted.
#[derive(Clone, Debug, Serialize)]
pub struct Value {
    /// Its name.
    pub key: String,
    /// Its value, as it is written.
    pub value: String,
}

/// A number of the sheet beside the fitted drive's.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The key.
    pub key: String,
    /// What it is of.
    pub kind: Kind,
    /// As stated: I/Os a second, bytes a second or seconds.
    pub sheet: f64,
    /// The estimate of the fitted drive.
    pub fitted: f64,
}

/// A drive that a sheet came to.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// What was fitted.
    pub values: Vec<Value>,
    /// How well.
    pub compared: Vec<Beside>,
    /// What the sheet cannot tell, in words.
    pub unknown: Vec<String>,
}

/// The scenario that a number is measured with, in which `drive` is a drive of the library or of a resolver: 4 KiB at
/// random by eight polling workers with 64 outstanding each; 128 KiB in order, 128 outstanding; 4 KiB at random one by
/// one, through the kernel and polled.
pub fn scenario(drive: &str, link: &str, key: &str) -> String {
    let (read, kind) =
        NUMBERS.iter().find(|n| n.0 == key).map_or((100, Kind::Ios), |n| (if n.2 { 100 } else { 0 }, n.1));
    let random = format!("{{ size = \"4 KiB\", read = \"{read} %\", random = \"100 %\", align = \"4 KiB\" }}");
    let flow = match kind {
        Kind::Ios => format!("access = {random}\nworkers = 8\noutstanding = 64\nhost_software = \"spdk\"\n"),
        Kind::Rate => format!(
            "access = {{ size = \"128 KiB\", read = \"{read} %\" }}\noutstanding = 128\nhost_software = \"spdk\"\n"
        ),
        Kind::Time => format!("access = {random}\noutstanding = 1\nhost_software = \"io_uring-polled\"\n"),
    };
    format!(
        "{HOST}[parts.drive]\nuse = \"{drive}\"\n[links.slot]\nbetween = [\"host\", \"drive\"]\npcie = \"{link}\"\n\
         [flows.io]\nfrom = \"host\"\nto = \"drive\"\ndo = \"io\"\n{flow}"
    )
}

/// A drive's file that is not in the library.
struct Own<'a> {
    name: &'a str,
    text: &'a str,
}

impl Resolver for Own<'_> {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        if reference != self.name {
            return Library.resolve(reference, from);
        }
        Ok(Included { name: self.name.to_owned(), text: self.text.to_owned(), author: Author::User })
    }

    fn names(&self) -> Vec<String> {
        Library.names()
    }
}

/// What is fitted: a number of the sheet and a key, and the key's value, in seconds or bytes a second.
#[derive(Clone, Copy, Debug)]
struct Free {
    key: &'static str,
    start: f64,
}

struct Sheet<'a> {
    own: Own<'a>,
    link: String,
    /// Which of [`NUMBERS`], and what is stated.
    stated: Vec<(usize, f64)>,
    free: Vec<Free>,
    limits: Vec<MPPar>,
    failed: Option<Error>,
}

/// Four digits, with a unit.
fn written(key: &str, value: f64) -> String {
    let four = |x: f64| {
        let before = x.abs().max(1e-9).log10().floor() as i32;
        format!("{:.*}", (3 - before).max(0) as usize, x)
    };
    match key {
        "rate" | "stripe_rate" => format!("{} MB/s", four(value * 1e-6)),
        _ => format!("{} us", four(value * 1e6)),
    }
}

impl Sheet<'_> {
    fn sets(&self, values: &[f64]) -> Vec<String> {
        let set = |(free, value): (&Free, &f64)| format!("parts.drive.{}={}", free.key, written(free.key, *value));
        self.free.iter().zip(values).map(set).collect()
    }

    /// The answer to the load of one of [`NUMBERS`].
    fn answer(&self, which: usize, sets: &[String]) -> Result<Report, Error> {
        let mut d = Diagnostics::default();
        let text = scenario(self.own.name, &self.link, NUMBERS[which].0);
        let text = Included { name: "machine".into(), text, author: Author::User };
        let plan = crate::plan(&mut d, text, sets, &self.own).ok_or_else(|| d.to_string())?;
        Ok(estimate(&plan, &d))
    }

    /// What the sheet's numbers are with these values set.
    fn run(&self, sets: &[String]) -> Result<Vec<f64>, Error> {
        let one = |&(which, _): &(usize, f64)| {
            let report = self.answer(which, sets)?;
            let flow = report.flows.first().ok_or("the drive has no answer")?;
            let rate = flow.share.typical / 8.0;
            Ok(match NUMBERS[which].1 {
                Kind::Ios => rate / RANDOM,
                Kind::Rate => rate,
                Kind::Time => flow.latency.typical,
            })
        };
        self.stated.iter().map(one).collect()
    }

    /// How far the numbers are off, each by its part.
    fn off(&self, sets: &[String]) -> Result<Vec<f64>, Error> {
        Ok(self.run(sets)?.iter().zip(&self.stated).map(|(ours, (_, stated))| ours / stated - 1.0).collect())
    }
}

impl MPFitter for Sheet<'_> {
    fn eval(&mut self, params: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let values: Vec<f64> = params.iter().map(|p| p.exp()).collect();
        match self.off(&self.sets(&values)) {
            Ok(all) => {
                deviates.copy_from_slice(&all);
                Ok(())
            }
            Err(e) => {
                self.failed = Some(e);
                Err(MPError::Eval)
            }
        }
    }

    fn number_of_points(&self) -> usize {
        self.stated.len()
    }

    fn parameters(&self) -> &[MPPar] {
        &self.limits
    }
}

/// What is stated of one of [`NUMBERS`].
fn stated(drive: &Ssd, which: usize) -> Option<f64> {
    let time = |q: &Option<crate::scenario::quantity::Quantity<Time>>| q.as_ref().map(|q| q.typical.seconds());
    let rate = |q: &Option<crate::scenario::quantity::Quantity<Rate>>| q.as_ref().map(|q| q.typical.bytes());
    match which {
        0 => drive.sheet_random_read.as_ref().map(|q| f64::from(q.typical.get())),
        1 => rate(&drive.sheet_sequential_read),
        2 => time(&drive.sheet_read_latency),
        3 => time(&drive.sheet_write_latency),
        4 => drive.sheet_random_write.as_ref().map(|q| f64::from(q.typical.get())),
        _ => rate(&drive.sheet_sequential_write),
    }
}

/// What the numbers determine, with a value near it: by what of the model they are caps of.
fn free(drive: &Ssd, stated: &[(usize, f64)]) -> Vec<Free> {
    let of = |which: usize| stated.iter().find(|s| s.0 == which).map(|s| s.1);
    let page = drive.page.typical.f64();
    let programs = f64::from(drive.stripes.typical.get()) * f64::from(drive.stripe_pages.typical.get());
    let stripes = f64::from(drive.stripes.typical.get());
    let mut all = Vec::new();
    let mut add = |which: usize, start: Option<f64>| {
        all.extend(start.map(|start| Free { key: NUMBERS[which].3, start }));
    };
    add(0, of(0).map(|ios| 1.0 / ios));
    add(1, of(1));
    add(2, of(2).map(|time| time * 0.7));
    // Where a write is done when it is programmed, its time is that of the program.
    add(3, of(3).filter(|_| drive.write_cache.typical).map(|time| time * 0.7));
    match (of(4), of(5)) {
        // Of a page: 1/ios = a + 4 KiB b, 1/rate = a/page + b, where a is of programs and b of the way in.
        (Some(ios), Some(rate)) if page > RANDOM => {
            let a = ((1.0 / ios - RANDOM / rate) / (1.0 - RANDOM / page)).max(0.02 / ios);
            let b = (1.0 / rate - a / page).max(0.02 / rate);
            add(4, Some(a * programs));
            add(5, Some(1.0 / (b * stripes)));
        }
        // A page is an I/O then: both say the same, and the way in stays as it is.
        (Some(ios), _) => {
            let taken = RANDOM / drive.stripe_rate.typical.bytes();
            add(4, Some((programs / ios - programs / stripes * taken).max(0.1 * programs / ios)));
        }
        (None, Some(rate)) => add(5, Some(2.0 * rate / stripes)),
        (None, None) => {}
    }
    all
}

/// Fits the NVMe drive of a device file, by name, to its data sheet.
pub fn fit(name: &str, text: &str) -> Result<Fitted, Error> {
    let own = Own { name, text };
    let mut d = Diagnostics::default();
    let included =
        Included { name: "machine".into(), text: scenario(name, "gen3 x4", NUMBERS[0].0), author: Author::User };
    let plan = crate::plan(&mut d, included, &[], &own).ok_or_else(|| d.to_string())?;
    let drive = plan.storage.targets.iter().find_map(|t| match &t.device {
        Device::Ssd(drive) => Some(drive.clone()),
        _ => None,
    });
    let drive = drive.ok_or_else(|| format!("{name} is no NVMe drive"))?;
    let stated: Vec<(usize, f64)> = (0..NUMBERS.len()).filter_map(|n| Some((n, stated(&drive, n)?))).collect();
    if stated.is_empty() {
        let keys: Vec<&str> = NUMBERS.iter().map(|n| n.0).collect();
        return Err(format!("{name} states no number of a data sheet: {}", keys.join(", ")));
    }
    let link = link_of(text).unwrap_or_else(|| "gen3 x4".to_owned());
    let free = free(&drive, &stated);
    // From a nanosecond or a megabyte a second, as logarithms.
    let limits = free.iter().map(|f| {
        let [low, high] = if f.key.ends_with("rate") { [1e6, 1e12] } else { [1e-9, 1e-1] };
        let [limit_low, limit_up] = [f64::ln(low), f64::ln(high)];
        MPPar { limited_low: true, limited_up: true, limit_low, limit_up, step: 0.01, ..MPPar::new() }
    });
    let limits = limits.collect();
    let mut sheet = Sheet { own, link, stated, free, limits, failed: None };
    let mut params: Vec<f64> = sheet.free.iter().map(|f| f.start.ln()).collect();
    if let Err(e) = sheet.mpfit(&mut params) {
        return Err(sheet.failed.take().unwrap_or_else(|| format!("{name} cannot be fitted: {e}")));
    }
    // What ran against its limit binds nothing: it stays at what the sheet has.
    let close = |p: f64, limit: f64| (p - limit).abs() < 0.1;
    for ((p, free), limit) in params.iter_mut().zip(&sheet.free).zip(&sheet.limits) {
        if close(*p, limit.limit_low) || close(*p, limit.limit_up) {
            *p = free.start.ln();
        }
    }
    let values: Vec<f64> = params.iter().map(|p| p.exp()).collect();
    let sets = sheet.sets(&values);
    let ours = sheet.run(&sets)?;
    let unknown = unknown(&sheet, &drive, &values, &ours)?;
    let beside = |((which, stated), fitted): (&(usize, f64), &f64)| {
        let (key, kind, ..) = NUMBERS[*which];
        Beside { key: key.to_owned(), kind, sheet: *stated, fitted: *fitted }
    };
    let compared = sheet.stated.iter().zip(&ours).map(beside).collect();
    let value = |(free, value): (&Free, &f64)| Value { key: free.key.to_owned(), value: written(free.key, *value) };
    Ok(Fitted { values: sheet.free.iter().zip(&values).map(value).collect(), compared, unknown })
}

/// The slot that a drive's file asks for: its generation and lanes.
fn link_of(text: &str) -> Option<String> {
    let file = crate::library::as_json(text);
    let of = |key: &str| {
        let value = file.get(key)?;
        value.as_str().or_else(|| value.get("value")?.as_str()).map(str::to_owned)
    };
    Some(format!("{} {}", of("generation")?, of("lanes")?))
}

/// What the sheet says nothing about, and what it was not fitted to.
fn unknown(sheet: &Sheet, drive: &Ssd, values: &[f64], ours: &[f64]) -> Result<Vec<String>, Error> {
    let fitted = |key: &str| sheet.free.iter().position(|f| f.key == key);
    let seen = |more: &[String]| -> Result<bool, Error> {
        let mut sets = sheet.sets(values);
        sets.extend(more.iter().cloned());
        Ok(sheet.run(&sets)?.iter().zip(ours).any(|(a, b)| (a / b - 1.0).abs() > UNSEEN))
    };
    let set = |key: &str, value: String| format!("parts.drive.{key}={value}");
    let with = |key: &str, factor: f64| {
        let at = fitted(key);
        at.map(|i| set(key, written(key, values[i] * factor))).into_iter().collect::<Vec<String>>()
    };
    let mut all = Vec::new();
    let sets = sheet.sets(values);
    for ((which, stated), ours) in sheet.stated.iter().zip(ours) {
        let off = ours / stated - 1.0;
        if off.abs() > OFF {
            let report = sheet.answer(*which, &sets)?;
            let by = report.flows.first().map(|f| f.bound_by.words()).unwrap_or_default();
            let off = 100.0 * off;
            all.push(format!("{}: the model comes to {off:+.1} % of it, bound by {by}", NUMBERS[*which].0));
        }
    }
    // One for the other: so many stripes or pages of a program, as much longer.
    let (stripes, pages) = (drive.stripes.typical.get(), drive.stripe_pages.typical.get());
    if fitted("program_time").is_some() {
        let mut more = vec![set("stripes", (2 * stripes).to_string())];
        more.extend(with("program_time", 2.0));
        more.extend(with("stripe_rate", 0.5));
        if !seen(&more)? {
            all.push(
                "stripes, program_time, stripe_rate: twice the stripes, each half as fast, write as much: only what \
                 all of them do together is seen"
                    .into(),
            );
        }
        let mut more = vec![set("stripe_pages", (2 * pages).to_string())];
        more.extend(with("program_time", 2.0));
        if !seen(&more)? {
            all.push("stripe_pages, program_time: twice the pages in twice the time are as many".into());
        }
    }
    // What nothing on it depends on.
    let twice = [
        ("channels", (2 * drive.channels.typical.get()).to_string()),
        ("dies", (2 * drive.dies.typical.get()).to_string()),
        ("channel_rate", format!("{:.0} B/s", 2.0 * drive.channel_rate.typical.bytes())),
        ("buffer", Bytes(2 * drive.buffer.typical.0).to_string()),
    ];
    let mut unseen = Vec::new();
    for (key, value) in twice {
        if !seen(&[set(key, value)])? {
            unseen.push(key);
        }
    }
    if !unseen.is_empty() {
        all.push(format!("{}: twice of each changes no number", unseen.join(", ")));
    }
    let has = |which: usize| sheet.stated.iter().any(|s| s.0 == which);
    match (has(2), has(3) && drive.write_cache.typical) {
        (false, _) => all.push("read_time: no number is of a read alone; it is what drives of its class take".into()),
        (true, false) => all.push(
            "read_time holds what a command takes beside command_latency: a read alone shows only their sum".into(),
        ),
        (true, true) => {}
    }
    Ok(all)
}
