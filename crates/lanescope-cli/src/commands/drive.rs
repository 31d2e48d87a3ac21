//! `drive`: an NVMe drive's parameters out of a sweep of queue depths, or out of its data sheet.

use crate::{ANSWERED, WRONG, input, output};
use clap::{Args, Subcommand};
use lanescope::diagnostic::Diagnostics;
use lanescope::library::{Library, platform_text};
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::study::drive::{self, Drive as Fitted};
use lanescope::study::sheet::{self, Kind};
use std::fmt::Write;
use std::path::Path;

/// Bytes of a sweep at most.
const MOST: usize = 1 << 24;

/// Where none is given: a drive on four lanes of Gen4, read by io_uring.
const MACHINE: &str = r#"
[parts.host]
is = "root-complex"
[parts.drive]
is = "nvme"
[links.slot]
between = ["host", "drive"]
pcie = "gen4 x4"
[flows.read]
from = "host"
to = "drive"
do = "io"
access = { size = "4 KiB", read = "100 %", random = "100 %", align = "4 KiB" }
host_software = "io_uring"
"#;

/// Drives.
#[derive(Subcommand)]
pub(crate) enum Drive {
    /// Fit units, their time and the controller's cap to I/Os a second at several depths; or a drive to its data sheet
    ///
    /// By least squares of relative errors of the estimate. What the sweep or the sheet cannot tell apart is said.
    Fit(Fit),
}

/// A sweep and the machine that it was measured on, or a drive.
#[derive(Args)]
pub(crate) struct Fit {
    /// The sweep: lines of a depth and I/Os a second, or the JSON of fio with a job for each depth; - for standard
    /// input. Or a drive that states numbers of its data sheet (sheet_random_read, …): its name in the library
    /// (nvme/samsung-pm9a3), or the file of a device, which ends in .toml
    #[arg(value_name = "SWEEP|DRIVE")]
    sweep: String,
    /// The machine: a scenario with an NVMe drive and a flow of I/Os to it. Without it, 4 KiB random reads by io_uring
    /// of a drive on Gen4 x4
    machine: Option<String>,
    /// Print the drive as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(a: &Drive) -> u8 {
    let Drive::Fit(a) = a;
    fit(a).unwrap_or_else(|code| code)
}

fn fit(a: &Fit) -> Result<u8, u8> {
    let failed = |e: String| {
        output::error(&e);
        WRONG
    };
    if let Some(text) = platform_text(&a.sweep) {
        return of_sheet(a, text);
    }
    if a.sweep.ends_with(".toml") {
        return of_sheet(a, &input::path(Path::new(&a.sweep)).map_err(failed)?);
    }
    let mut diagnostics = Diagnostics::default();
    let text = match a.sweep.as_str() {
        "-" => input::lossy("-", MOST, "sweeps"),
        file => input::limited_path(Path::new(file), MOST, "sweeps"),
    };
    let source = diagnostics.add_source(a.sweep.clone(), text.map_err(failed)?);
    let points = drive::points(&mut diagnostics, source);
    output::diagnostics(&diagnostics);
    let points = points.ok_or(WRONG)?;
    let machine = match &a.machine {
        Some(file) => input::path(Path::new(file)).map_err(failed)?,
        None => MACHINE.to_owned(),
    };
    let mut diagnostics = Diagnostics::default();
    let name = a.machine.clone().unwrap_or_else(|| "machine".into());
    let included = Included { name, text: machine.clone(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library);
    output::diagnostics(&diagnostics);
    let plan = plan.ok_or(WRONG)?;
    let found = plan.storage.flows.iter().find(|f| !f.queues.is_empty());
    let (Some(flow), Some(own)) = (found, found.and_then(|f| plan.storage.adapter(f))) else {
        return Err(failed("the machine has no flow of I/Os to an NVMe drive".into()));
    };
    let fitted = drive::fit(&machine, &own.group, &flow.group, &points).map_err(failed)?;
    if a.json {
        output::json(&fitted);
    } else {
        output::print(&text_of(&fitted));
    }
    Ok(ANSWERED)
}

/// A drive's data sheet, fitted to.
fn of_sheet(a: &Fit, text: &str) -> Result<u8, u8> {
    let failed = |e: String| {
        output::error(&e);
        WRONG
    };
    if a.machine.is_some() {
        return Err(failed("a data sheet needs no machine: its numbers are of the drive".into()));
    }
    let fitted = sheet::fit(&a.sweep, text).map_err(failed)?;
    if a.json {
        output::json(&fitted);
    } else {
        output::print(&sheet_text(&a.sweep, &fitted));
    }
    Ok(ANSWERED)
}

/// The keys that were fitted, as they stand in a device's file, how well, and what the sheet does not tell.
fn sheet_text(name: &str, d: &sheet::Fitted) -> String {
    let mut out = String::new();
    for v in &d.values {
        let source = format!("lanescope drive fit {name}");
        let _ = writeln!(
            out,
            "{} = {{ value = {:?}, origin = \"fitted\", confidence = \"likely\", source = {source:?} }}",
            v.key, v.value
        );
    }
    out.push('\n');
    let _ = writeln!(out, "# {:<24}{:>14}{:>14}{:>10}", "data sheet", "stated", "estimate", "off");
    for c in &d.compared {
        let shown = |x: f64| match c.kind {
            Kind::Ios => format!("{x:.0} IOPS"),
            Kind::Rate => format!("{:.0} MB/s", x * 1e-6),
            Kind::Time => format!("{:.2} us", x * 1e6),
        };
        let off = 100.0 * (c.fitted / c.sheet - 1.0);
        let _ = writeln!(out, "# {:<24}{:>14}{:>14}{:>+8.1} %", c.key, shown(c.sheet), shown(c.fitted), off);
    }
    out.push('\n');
    for what in &d.unknown {
        let _ = writeln!(out, "# {what}");
    }
    out
}

/// A device's file, how well it does, and what the sweep does not tell.
fn text_of(d: &Fitted) -> String {
    let mut out = String::new();
    let us = |ns: f64| format!("{:.2} us", ns * 1e-3);
    let line = |out: &mut String, key: &str, value: String| {
        let _ = writeln!(out, "{key} = {{ value = {value}, origin = \"fitted\", source = \"lanescope drive fit\" }}");
    };
    let _ = writeln!(out, "is = \"nvme\"");
    line(&mut out, "channels", d.units.to_string());
    let _ = writeln!(out, "dies = 1");
    line(&mut out, "read_time", format!("{:?}", us(d.read_time)));
    line(&mut out, "command_time", format!("{:?}", us(d.command_time)));
    out.push('\n');
    let _ = writeln!(out, "# depth  measured    fitted      off");
    for (depth, measured, ours) in &d.compared {
        let off = 100.0 * (ours / measured - 1.0);
        let _ = writeln!(out, "# {depth:>5}  {measured:>8.0}  {ours:>8.0}  {off:>+5.1} %");
    }
    out.push('\n');
    for what in &d.unknown {
        let _ = writeln!(out, "# {what}");
    }
    out
}
