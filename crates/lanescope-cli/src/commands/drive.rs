//! `drive`: an NVMe drive's parameters out of a sweep of queue depths.

use crate::{ANSWERED, WRONG, input, output};
use clap::{Args, Subcommand};
use lanescope::diagnostic::Diagnostics;
use lanescope::library::Library;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::study::drive::{self, Drive as Fitted};
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
    /// Fit units, their time and the controller's cap to I/Os a second at several depths
    ///
    /// By least squares of relative errors of the estimate. What the sweep cannot tell apart is said.
    Fit(Fit),
}

/// A sweep and the machine that it was measured on.
#[derive(Args)]
pub(crate) struct Fit {
    /// The sweep: lines of a depth and I/Os a second, or the JSON of fio with a job for each depth; - for standard
    /// input
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
