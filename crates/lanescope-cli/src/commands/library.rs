//! `platform`, `new`, `schema`: what comes with the program.

use crate::{ANSWERED, WRONG, output};
use clap::{Args, Subcommand, ValueEnum};
use lanescope::diagnostic::nearest;
use lanescope::pens::Grid;
use lanescope::{library, scenario};

/// Devices and platforms.
#[derive(Subcommand)]
pub(crate) enum Platform {
    /// List devices and platforms
    List {
        /// Print JSON
        #[arg(long, conflicts_with = "csv")]
        json: bool,
        /// Print CSV
        #[arg(long)]
        csv: bool,
    },
    /// Print one, with origin and confidence of each number
    Show {
        /// Its name, e.g. example/nic-25g
        name: String,
        /// Print its keys and values as JSON
        #[arg(long)]
        json: bool,
    },
}

/// A starter file.
#[derive(Args)]
pub(crate) struct New {
    /// A platform of the library to start from; without it, a host with a switch and two NICs
    platform: Option<String>,
    /// An Ethernet: hosts on a switch
    #[arg(long, conflicts_with = "platform")]
    ethernet: bool,
    /// A shared bus: two NICs on PCI-X
    #[arg(long, conflicts_with_all = ["platform", "ethernet"])]
    pci: bool,
    /// Storage: an adapter with RAM disks, one with an array, Iometer and IOzone
    #[arg(long, conflicts_with_all = ["platform", "ethernet", "pci"])]
    storage: bool,
    /// A cluster: InfiniBand adapters on PCIe, a switch, a ping-pong
    #[arg(long, conflicts_with_all = ["platform", "ethernet", "pci", "storage"])]
    cluster: bool,
    /// The same on Ethernet: RoCE
    #[arg(long, conflicts_with_all = ["platform", "ethernet", "pci", "storage", "cluster"])]
    roce: bool,
    /// A cluster of GPUs, for collectives
    #[arg(long, conflicts_with_all = ["platform", "ethernet", "pci", "storage", "cluster", "roce"])]
    gpus: bool,
}

/// Which schema, and how.
#[derive(Args)]
pub(crate) struct Schema {
    /// Of what
    #[arg(default_value = "scenario")]
    of: Of,
    /// A page for people instead of JSON (scenarios only)
    #[arg(long)]
    text: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Of {
    /// What a user writes
    Scenario,
    /// What `run --json` prints
    Report,
    /// What `explain --json` prints
    Explained,
}

pub(crate) fn platform(a: &Platform) -> u8 {
    match a {
        Platform::List { json, csv } => {
            let all = library::platforms();
            if *json {
                let list: Vec<_> = all
                    .iter()
                    .map(|e| serde_json::json!({ "name": e.name, "kind": e.kind, "about": e.about }))
                    .collect();
                output::json(&list);
                return ANSWERED;
            }
            let head = ["name", "kind", "about"].map(String::from).to_vec();
            let grid = Grid { head, rows: all.into_iter().map(|e| vec![e.name, e.kind, e.about]).collect() };
            if *csv {
                output::csv(&grid)
            } else {
                output::table(&grid)
            }
            ANSWERED
        }
        Platform::Show { name, json } => match library::platform_text(name) {
            Some(text) => {
                if *json {
                    output::json(&library::as_json(text))
                } else {
                    output::print(text)
                }
                ANSWERED
            }
            None => unknown(name),
        },
    }
}

/// Says that the library has no such device or platform.
pub(super) fn unknown(name: &str) -> u8 {
    let names: Vec<String> = library::platforms().into_iter().map(|e| e.name).collect();
    let near =
        nearest(name, names.iter().map(String::as_str)).map_or(String::new(), |n| format!("; did you mean {n}?"));
    output::error(&format!("the library has no {name:?}{near} (lanescope platform list)"));
    WRONG
}

pub(crate) fn new(a: &New) -> u8 {
    match &a.platform {
        None if a.ethernet => output::print(include_str!("../starter-ethernet.toml")),
        None if a.pci => output::print(include_str!("../starter-pci.toml")),
        None if a.storage => output::print(include_str!("../starter-storage.toml")),
        None if a.cluster => output::print(include_str!("../starter-cluster.toml")),
        None if a.roce => output::print(include_str!("../starter-roce.toml")),
        None if a.gpus => output::print(include_str!("../starter-gpus.toml")),
        None => output::print(include_str!("../starter.toml")),
        Some(name) => {
            let all = library::platforms();
            let Some(entry) = all.iter().find(|e| e.name == *name) else { return unknown(name) };
            if entry.kind != "platform" {
                output::error(&format!(
                    "{name} is a device; write [parts.x] use = {name:?} in a scenario, e.g. that of lanescope new"
                ));
                return WRONG;
            }
            output::print(&library::starter(name).unwrap_or_default());
        }
    }
    ANSWERED
}

pub(crate) fn schema(a: &Schema) -> u8 {
    match (a.of, a.text) {
        (Of::Scenario, true) => output::print(&scenario::schema::text()),
        (Of::Scenario, false) => output::json(&scenario::schema::json_schema()),
        (Of::Report, false) => output::json(&lanescope::result::json_schema()),
        (Of::Explained, false) => output::json(&lanescope::explain::json_schema()),
        (Of::Report | Of::Explained, true) => {
            output::error("the schema of reports is JSON only");
            return WRONG;
        }
    }
    ANSWERED
}
