//! `explain`: a real host out of its dumps, or this one; what it should reach, and what holds it back.

use super::page::Begin;
use super::simulate;
use crate::input::Files;
use crate::{ANSWERED, NO_VALUE, WRONG, input, interrupt, output};
use clap::{Args, Subcommand, ValueEnum};
use lanescope::diagnostic::Diagnostics;
use lanescope::explain::{self, measured};
use lanescope::import::host::{self, Dump, Host, Remark};
use lanescope::pens;
use lanescope::result::Report;
use lanescope::scenario::Included;
use lanescope_front::gather;
use lanescope_front::hosts::{hosts, picture, read};
use std::path::{Path, PathBuf};

/// A form for another program.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Emit {
    /// NCCL's and RCCL's topology file, with links as they are believed to be
    NcclXml,
    /// A scenario of this program, to go on with
    Scenario,
    /// A table for health checks: device, test, lowest acceptable, reason
    Thresholds,
    /// hwloc's XML, version 2, with distances and memory attributes
    Hwloc,
    /// Settings of UCX: UCX_DISTANCE_BW and UCX_DISTANCE_LAT, each with its derivation
    Ucx,
    /// JSON of infragraph (Keysight), schema 2.4.0
    Infragraph,
}

/// A real host: its links as they are, what its devices should reach, what holds them back.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Explain {
    #[command(subcommand)]
    command: Option<Command>,
    /// Dumps of one host: lspci -vvv, lspci -tv, lspci -xxxx, NCCL or hwloc XML, nvidia-smi topo -m, numactl -H, lscpu,
    /// a kernel log, a copied sysfs folder, or - for standard input; with anything around them. Without one, this host
    #[arg(value_name = "DUMP")]
    dumps: Vec<String>,
    /// What was measured there: matrices of nvbandwidth, p2pBandwidthLatencyTest or rocm-bandwidth-test, tables of
    /// nccl-tests, perftest, IMB or OSU, JSON of fio, or CSV of name and GB/s (may be repeated)
    #[arg(long, value_name = "FILE")]
    measured: Vec<String>,
    /// A load of your own: a TOML file of [flows.*] as in a scenario, between devices by their name here, address or
    /// name in the operating system
    #[arg(long, value_name = "FILE")]
    workload: Option<String>,
    /// Run the packet simulation of loads of a class at once, of pairs, and of the workload: where packets queue for
    /// one another arithmetic does not suffice
    #[arg(long)]
    simulate: bool,
    /// Leave nothing out: every link, pair and line of evidence
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a picture of its links to this folder, with the load of all devices writing to memory at once
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    page: super::page::Html,
    /// Print it in a form for another program
    #[arg(long, value_name = "FORM", conflicts_with_all = ["json", "html", "svg", "measured", "workload", "simulate"])]
    emit: Option<Emit>,
}

#[derive(Subcommand)]
enum Command {
    /// Gather what explain reads from this host into a folder, for another person to explain elsewhere; only reads
    Record {
        /// The folder; it is made
        dir: PathBuf,
    },
}

pub(crate) fn main(a: &Explain) -> u8 {
    match run(a) {
        Ok(code) => code,
        Err(message) => {
            output::error(&message);
            WRONG
        }
    }
}

fn run(a: &Explain) -> Result<u8, String> {
    if let Some(Command::Record { dir }) = &a.command {
        return record(dir);
    }
    let hosts = hosts(&a.dumps)?;
    let measured = a.measured.iter().map(|f| read(f).map(|text| (f.clone(), text))).collect::<Result<Vec<_>, _>>()?;
    let load = a.workload.as_deref().map(input::scenario).transpose()?;
    let Some(first) = hosts.first().filter(|h| !h.is_empty()) else { return Err(nothing(a)) };
    if hosts.len() > 1 && (a.emit.is_some() || a.page.html.is_some() || load.is_some() || !measured.is_empty()) {
        let names: Vec<&str> = hosts.iter().filter_map(|h| Some(h.name.as_ref()?.value.as_str())).collect();
        return Err(format!("the dumps are of several hosts ({}): give those of one", names.join(", ")));
    }
    if let Some(message) = strangers(first) {
        return Err(message);
    }
    if let Some(form) = a.emit {
        return emit(first, form);
    }
    let mut reports: Vec<_> = hosts.iter().map(explain::explain).collect();
    let mut rows = Vec::new();
    for (name, text) in &measured {
        let found = measured::read(name, text).map_err(|e| {
            let dump = host::read(&[Dump::Text { name: name.clone(), text }]).iter().any(|h| !h.functions.is_empty());
            let hint = if dump { "; it is a dump of a host: give it without --measured" } else { "" };
            format!("{name}: {e}{hint}")
        })?;
        rows.extend(found);
    }
    if let (Some(report), Some(host), false) = (reports.first_mut(), hosts.first(), rows.is_empty()) {
        measured::compare(host, report, rows);
    }
    if a.simulate {
        for (host, report) in hosts.iter().zip(&mut reports) {
            explain::simulate::simulate(host, report, &mut || !interrupt::stopped());
        }
    }
    if let (Some(load), Some(report)) = (load, reports.first_mut()) {
        match workload(first, load, a.simulate) {
            Ok(answer) => report.workload = Some(answer),
            Err(code) => return Ok(code),
        }
    }
    if a.json {
        match reports.as_slice() {
            [one] => output::json(one),
            several => output::json(&several),
        }
    } else {
        for (n, report) in reports.iter().enumerate() {
            let between = if n > 0 { "\n" } else { "" };
            output::print(&format!("{between}{}", pens::explain::text(report, a.all)));
            if let Some(answer) = &report.workload {
                let of = a.workload.as_deref().map_or_else(String::new, host::clean);
                let text = pens::text::report(answer, output::paint(), a.all);
                output::print(&format!("\nworkload {of}\n{}\n", text.trim_end()));
            }
        }
    }
    if let Some(report) = reports.first() {
        page(a, first, report)?;
    }
    if let Some(dir) = &a.svg {
        let picture = picture(first).ok_or("--svg: no device is behind a link whose speed is known")?;
        output::pictures(dir, &[("host".into(), picture)])?;
    }
    let nothing = reports.iter().all(|r| r.devices.is_empty() && r.links.is_empty() && r.pairs.is_empty());
    Ok(if nothing { NO_VALUE } else { ANSWERED })
}

/// Why dumps are not of one host, if they are not: the same addresses have devices of other classes. One card that was
/// changed between two dumps is no other host.
fn strangers(host: &Host) -> Option<String> {
    const MANY: usize = 3;
    let of_class = |n: &&host::Note| n.remark == Remark::Contradiction && n.text.contains(" class: ");
    let mut all = host.notes.iter().filter(of_class);
    let first = all.next()?;
    let more = all.count();
    let what = first.text.replace(" contradict each other; the first is kept", "");
    (more + 1 >= MANY).then(|| {
        format!(
            "these dumps are not of one host: {what} ({}), and {more} more devices are of another class in one dump \
             than in another; give the dumps of one host",
            host.place(first.at)
        )
    })
}

/// The page of a host: to read, or with the engine and the scenario of its links to try changes on.
fn page(a: &Explain, host: &Host, report: &explain::Explained) -> Result<(), String> {
    let Some(file) = &a.page.html else { return Ok(()) };
    let picture = picture(host);
    if a.page.fixed {
        return super::page::to(file, &pens::explain::page(report, picture.as_deref()));
    }
    let section = pens::page::Section {
        id: "host".into(),
        title: "The host".into(),
        html: pens::explain::body(report, picture.as_deref()),
    };
    let text = explain::scenario::emit(host);
    let included = text.contains("\n[parts.").then(|| Included {
        name: "host.toml".into(),
        text,
        author: lanescope::scenario::tree::Author::User,
    });
    let begin = Begin { included, ..Begin::default() };
    let title = format!("{} explained", report.host.name.as_deref().unwrap_or("A host"));
    super::page::write(&a.page, &title, || vec![section], || Ok(begin), None)
}

/// Why there is no answer: what was given, and what could be.
fn nothing(a: &Explain) -> String {
    let forms = "it reads lspci -vvv, NCCL and hwloc XML and others: lanescope explain --help";
    match a.dumps.as_slice() {
        [one] if read(one).is_ok_and(|text| measured::read(one, &text).is_ok()) => {
            format!("{one}: these are measured numbers: give them with --measured, beside a dump of their host")
        }
        [one] => format!("{one}: nothing in it is of a form that explain reads; {forms}"),
        _ => format!("nothing in these dumps is of a form that explain reads; {forms}"),
    }
}

fn emit(host: &Host, form: Emit) -> Result<u8, String> {
    let text = match form {
        Emit::NcclXml => explain::nccl::emit(host),
        Emit::Scenario => explain::scenario::emit(host),
        Emit::Thresholds => explain::thresholds::emit(host),
        Emit::Hwloc => explain::hwloc::emit(host),
        Emit::Ucx => explain::ucx::emit(host),
        Emit::Infragraph => explain::infragraph::emit(host),
    };
    if matches!(form, Emit::Scenario) && !text.contains("\n[parts.") {
        return Err(NO_SPEED.into());
    }
    output::print(&text);
    Ok(ANSWERED)
}

const NO_SPEED: &str = "no link of these dumps has a speed that can be believed, so there is nothing to simulate; \
                        explain says what would narrow it";

/// What a load of the user's own gets on a host; the code to end with where it cannot be planned, which has been said.
fn workload(host: &Host, load: Included, simulated: bool) -> Result<Report, u8> {
    if !explain::scenario::emit(host).contains("\n[parts.") {
        return Err(output::wrong(&format!("--workload: {NO_SPEED}")));
    }
    let mut diagnostics = Diagnostics::default();
    let plan = explain::workload::plan(&mut diagnostics, host, load, &Files);
    output::diagnostics(&diagnostics);
    let plan = plan.ok_or(WRONG)?;
    let mut report = lanescope::estimate::estimate(&plan, &diagnostics);
    if simulated {
        match simulate::quietly(&plan, plan.limits.seed, &mut diagnostics) {
            Some(run) => report = report.with(run),
            None => simulate::not_simulated(&diagnostics),
        }
    }
    Ok(report)
}

fn record(dir: &Path) -> Result<u8, String> {
    let wrote = |path: &Path, bytes: &[u8]| -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        std::fs::write(path, bytes).map_err(failed)
    };
    let files = gather::this_host(Path::new("/"));
    for (name, bytes) in &files {
        wrote(&dir.join(name), bytes)?;
    }
    let mut said = vec![format!("{} files of sysfs", files.len())];
    for (name, text) in gather::commands() {
        wrote(&dir.join(&name), &text)?;
        said.push(name);
    }
    if files.is_empty() && said.len() == 1 {
        return Err("there is nothing to record: no /sys/bus/pci, and none of the commands".into());
    }
    let short = files.iter().any(|(name, bytes)| name.ends_with("/config") && bytes.len() <= 64);
    let mut text = format!("recorded in {}: {}\n", dir.display(), said.join(", "));
    if short {
        text += "as root it would hold all of configuration space too: MPS, MRRS, ACS and what both ends can do\n";
    }
    output::print(&text);
    Ok(ANSWERED)
}
