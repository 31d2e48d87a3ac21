//! `lanescope`: the command. It owns files, the terminal and threads; the physics is in the library.
//!
//! This file is the table of contents: the arguments, and which function answers them.

#![warn(clippy::print_stderr, clippy::print_stdout, reason = "they panic when the reader has gone: output has others")]

mod commands;
mod input;
mod interrupt;
mod output;
mod say;

use clap::{Args, CommandFactory, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Answered.
const ANSWERED: u8 = 0;
/// A row or a flow has no value, or the load cannot be carried.
const NO_VALUE: u8 = 1;
/// The user's input is wrong.
const WRONG: u8 = 2;

/// Where does my bandwidth go? Expected throughput and latency of an I/O system, what binds them, and every lost byte.
#[derive(Parser)]
#[command(
    name = "lanescope",
    version,
    about,
    after_help = "Start with:  lanescope new > my.toml && lanescope run my.toml      (or new --ethernet, --pci, \
        --storage, --cluster, --roce)\n\
        GPU collectives:  lanescope new --gpus > my.toml && lanescope collective all_reduce my.toml"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read a scenario and say what is wrong or suspicious
    Check(Scenario),
    /// Show what will run: parts, links, routes, every value with its origin
    Plan(Scenario),
    /// Answer in closed form: bound, fair share, latency, what binds
    ///
    /// (A … B) behind a rate is the range of the stated values: the answer with every range of the scenario at its
    /// slower, and at its faster end.
    /// No confidence goes with it.
    Estimate(Answer),
    /// Answer packet by packet: queues, credits, tags, every slot of every wire
    Simulate(Simulate),
    /// Answer by every method, side by side
    ///
    /// (A … B) behind a rate is the range of the stated values: the answer with every range of the scenario at its
    /// slower, and at its faster end.
    /// No confidence goes with it. ± is the 95 % interval of a simulated mean.
    Run(Simulate),
    /// Published systems, reproduced
    #[command(subcommand)]
    Study(commands::study::Study),
    /// A grid of any size into a folder of Parquet: on all cores, in shards, gone on with after it was killed
    Sweep(commands::sweep::Sweep),
    /// Values of a scenario out of measured rows: least squares, with intervals and what the rows cannot tell apart
    Fit(commands::fit::Fit),
    /// Explain a real host from its dumps: links as they are, what to expect, what holds it back
    Explain(commands::explain::Explain),
    /// Fit an NVMe drive to measurements
    #[command(subcommand)]
    Drive(commands::drive::Drive),
    /// Protocol calculator: what a link carries
    #[command(subcommand)]
    Wire(commands::wire::Wire),
    /// What would carry a wanted rate: lanes, generation, tags, outstanding, completion size
    Need(commands::need::Need),
    /// A real result of IMB, OSU, fio, IOzone or Iometer beside the estimate and the simulation
    Compare(commands::compare::Compare),
    /// A set-up of Iometer (.icf) on a simulated machine; results in Iometer's own form
    Iometer(commands::iometer::Iometer),
    /// Run a job file of fio on a machine; results as fio prints them
    Fio(commands::fio::Fio),
    /// Run IOzone's tests on a machine; results as IOzone prints them
    Iozone(commands::iozone::Iozone),
    /// Write the laboratory as a page for a browser: one file, no server
    Page(commands::page::Lab),
    /// Collectives of a GPU cluster as nccl-tests print them: expected time and bus bandwidth by size, and what binds
    Collective(commands::collective::CollectiveArgs),
    /// What moved between two reports written with --json
    Diff(commands::diff::Diff),
    /// Devices and platforms that come with the program
    #[command(subcommand)]
    Platform(commands::library::Platform),
    /// Print a scenario to start from
    New(commands::library::New),
    /// JSON Schema of scenarios or reports, for editors and programs
    Schema(commands::library::Schema),
    /// Completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// A scenario, and what is laid over it.
#[derive(Args, Clone)]
struct Scenario {
    /// The scenario file, or - for standard input
    file: String,
    /// Override a value: 'links.uplink.pcie=gen3 x8', parts.nic.1.tags=16 (may be repeated)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
}

/// A scenario to be answered.
#[derive(Args, Clone)]
struct Answer {
    #[command(flatten)]
    scenario: Scenario,
    /// Run a grid of values: path=a,b,c or path=1..64 by x2 or path=1..9 by 2 (may be repeated)
    #[arg(long = "vary", value_name = "PATH=VALUES")]
    vary: Vec<String>,
    /// Write pictures to this folder: topology and waterfalls by each method that ran, and curves of --vary
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    page: commands::page::Html,
    /// Show the waterfall of every link that carries anything
    #[arg(long)]
    all_links: bool,
    /// With --csv: the links' ledgers in place of the flows
    #[arg(long, requires = "csv")]
    links: bool,
    /// With --csv: the rows of message programs in place of the flows
    #[arg(long, requires = "csv", conflicts_with_all = ["links", "vary"])]
    rows: bool,
    /// Print the tables of message programs as the instrument itself does, in the layout of its own or of this version;
    /// simulated values where there are any
    #[arg(
        long, value_name = "LAYOUT", num_args = 0..=1, require_equals = true,
        default_missing_value = "own", conflicts_with_all = ["csv", "vary"]
    )]
    table: Option<commands::tables::Layout>,
}

/// A scenario to be simulated.
#[derive(Args, Clone)]
struct Simulate {
    #[command(flatten)]
    answer: Answer,
    /// Simulate so long, e.g. "50 ms" (the same as --set run.for=…)
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
    /// Or until the 95 % confidence intervals of the means are this narrow, e.g. "±0.5 %"
    #[arg(long, value_name = "PERCENT", conflicts_with = "length")]
    until: Option<String>,
    /// Or the whole of run.max_time, however tight the means are before its end, and however many packets that takes
    #[arg(long, conflicts_with_all = ["length", "until", "vary"])]
    full: bool,
    /// What to follow: every "packet", messages as a "flow" each, which share links max-min fair (streams of frames on
    /// Ethernet, or programs of ranks), or "auto": whichever suits the load (the same as --set run.level=…)
    #[arg(long, value_name = "LEVEL", value_parser = ["packet", "flow", "auto"])]
    level: Option<String>,
    /// Threads for one run, of Ethernet packet by packet where there is enough to do at once: what comes out is the
    /// same with any number of them. Threads that wait for one another lose where cores do other work, too. Default: 1
    #[arg(
        long, value_name = "N", conflicts_with_all = ["seeds", "vary"],
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    threads: Option<u32>,
    /// Start of all random numbers
    #[arg(long)]
    seed: Option<u32>,
    /// Run with so many seeds, from the first on, and say how far apart they are
    #[arg(
        long, value_name = "N", conflicts_with_all = ["series", "vary"],
        value_parser = clap::value_parser!(u32).range(2..=1000)
    )]
    seeds: Option<u32>,
    /// Write a time series to this CSV file: throughput, I/Os a second, queues, credits in use, utilisation, memory of
    /// Ethernet switches
    #[arg(long, value_name = "FILE", requires = "step", conflicts_with = "vary")]
    series: Option<PathBuf>,
    /// Time between the rows of --series, e.g. "1 us"
    #[arg(long, value_name = "TIME", requires = "series")]
    step: Option<String>,
    /// Write the frames that cross an Ethernet link to this file, for Wireshark (pcapng)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "vary"])]
    pcap: Option<PathBuf>,
    /// Which link; without it the only one, or the first on the way of the first flow
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pcap_link: Option<String>,
    /// Bytes that --pcap keeps of each frame; 0 keeps all
    #[arg(long, value_name = "BYTES", requires = "pcap", default_value_t = 128)]
    snaplen: u32,
    /// Write a time line to this file, for Perfetto (ui.perfetto.dev): what ranks, adapters, wires and buses did when,
    /// and what set off what
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "vary"])]
    trace: Option<PathBuf>,
    /// Events that --trace keeps at most, from the beginning of the run: some 100 bytes of memory each
    #[arg(
        long, value_name = "N", requires = "trace", default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000)
    )]
    trace_events: u32,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    interrupt::listen();
    let code = match command {
        Command::Check(a) => commands::answer::check(&a),
        Command::Plan(a) => commands::answer::plan(&a),
        Command::Estimate(a) => commands::answer::estimate_only(&a),
        Command::Simulate(a) => commands::answer::run(&a, true),
        Command::Run(a) => commands::answer::run(&a, false),
        Command::Study(a) => commands::study::main(&a),
        Command::Sweep(a) => commands::sweep::main(&a),
        Command::Fit(a) => commands::fit::main(&a),
        Command::Explain(a) => commands::explain::main(&a),
        Command::Wire(a) => commands::wire::main(&a),
        Command::Drive(a) => commands::drive::main(&a),
        Command::Need(a) => commands::need::main(&a),
        Command::Compare(a) => commands::compare::main(&a),
        Command::Iometer(a) => commands::iometer::main(&a),
        Command::Fio(a) => commands::fio::main(&a),
        Command::Iozone(a) => commands::iozone::main(&a),
        Command::Page(a) => commands::page::main(&a),
        Command::Collective(a) => commands::collective::main(&a),
        Command::Diff(a) => commands::diff::main(&a),
        Command::Platform(a) => commands::library::platform(&a),
        Command::New(a) => commands::library::new(&a),
        Command::Schema(a) => commands::library::schema(&a),
        Command::Completions { shell } => {
            let mut page = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lanescope", &mut page);
            output::print(&String::from_utf8_lossy(&page));
            ANSWERED
        }
    };
    ExitCode::from(code)
}
