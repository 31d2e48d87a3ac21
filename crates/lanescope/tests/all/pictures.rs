//! Each picture and table shows the numbers of the method that ran, of every link and part, for every technology.
//!
//! The law is held against pictures of random scenarios: they are read back as XML, and what they print is compared
//! with the report, by names only.

use crate::bodies::tree;
use crate::common;
use crate::common::choices::runner;
use crate::common::grow;
use lanescope::estimate::estimate;
use lanescope::pens::svg::{self, Method};
use lanescope::pens::{links_grid, slots_grid};
use lanescope::plan::Plan;
use lanescope::result::Report;
use lanescope::sim::{Run, Step};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestCaseError};
use roxmltree::{Document, Node};
use std::collections::{HashMap, HashSet};

/// A picture as XML. It is well-formed, self-contained, says by which method, and has no length that is no number.
fn read(svg: &str, method: Method) -> Document<'_> {
    let document = Document::parse(svg).unwrap_or_else(|e| panic!("{e}\n{svg}"));
    let root = document.root_element();
    let title = root.children().find(|n| n.has_tag_name("title")).and_then(|n| n.text()).expect("a title");
    assert!(title.ends_with(method.participle()), "{title:?}");
    for node in root.descendants().filter(Node::is_element) {
        assert!(["svg", "title", "g", "rect", "path", "text", "tspan"].contains(&node.tag_name().name()), "{node:?}");
        for a in node.attributes() {
            let odd = |word: &str| a.value().split([' ', ',', 'M', 'L', 'H', 'V', 'C', 'h', 'v']).any(|w| w == word);
            let named = ["data-id", "data-of"].contains(&a.name());
            assert!(named || !(odd("NaN") || odd("inf") || odd("-inf")), "{} = {}", a.name(), a.value());
        }
        for number in ["width", "height"].iter().filter_map(|n| node.attribute(*n)) {
            assert!(number.parse::<f64>().is_ok_and(|n| n >= 0.0), "a size of {number}");
        }
    }
    document
}

/// A share of slots, as pictures print it: what is above 0 is not 0.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 { "<1 %".into() } else { format!("{} %", ((share * 1e9).round() / 1e7).round()) }
}

/// The share of the slots taken, by method, link and receiving end: straight from the ledgers.
fn loads(report: &Report, method: Method) -> HashMap<(&str, &str), f64> {
    match (method, &report.simulation) {
        (Method::Simulation, Some(s)) => (s.links.iter())
            .map(|l| {
                let idle: u64 = l.slots.idle.iter().sum();
                let share = (l.slots.total() - idle) as f64 / l.slots.total().max(1) as f64;
                ((l.name.as_str(), l.to.as_str()), share)
            })
            .collect(),
        _ => (report.links.iter())
            .map(|l| {
                let coded = l.ledger.raw - l.ledger.line_coding;
                // A difference of large numbers: what is below a float's noise is nothing.
                let taken = ((coded - l.ledger.idle) / coded).max(0.0);
                ((l.name.as_str(), l.to.as_str()), if taken > 1e-12 { taken } else { 0.0 })
            })
            .collect(),
    }
}

/// The names of all parts of a plan.
fn parts(plan: &Plan) -> HashSet<String> {
    plan.settings().into_iter().filter_map(|(name, _)| name.strip_prefix("parts.").map(String::from)).collect()
}

fn title<'a>(node: Node<'a, '_>) -> &'a str {
    node.children().find(|n| n.has_tag_name("title")).and_then(|n| n.text()).unwrap_or("")
}

fn texts(node: Node) -> String {
    node.descendants()
        .filter(|n| n.has_tag_name("text"))
        .flat_map(|n| n.descendants())
        .filter_map(|n| n.text())
        .collect()
}

/// Both ends of `3–97 %`, as they stand there with their unit.
fn ends(text: &str) -> (String, String) {
    let number = text.trim_end_matches(" %");
    match number.split_once('–') {
        Some((low, high)) => (format!("{low} %"), format!("{high} %")),
        None => (format!("{number} %"), format!("{number} %")),
    }
}

/// The law of topologies: every part and link is there or counted, and each line has the loads of its method.
fn topology(plan: &Plan, report: &Report, method: Method) {
    let svg = svg::topology(plan, report, method);
    let document = read(&svg, method);
    let loads = loads(report, method);
    let all = parts(plan);
    let links: HashSet<&str> = report.links.iter().map(|l| l.name.as_str()).collect();
    let (mut n_parts, mut n_links) = (0, 0);
    let mut seen = HashSet::new();
    for group in document.descendants() {
        let Some(id) = group.attribute("data-id").filter(|id| *id != "legend") else { continue };
        let count: usize = group.attribute("data-count").map_or(1, |c| c.parse().expect("a count"));
        assert!(seen.insert(id), "{id} is there twice");
        if let Some(name) = id.strip_prefix("parts.") {
            assert!(all.contains(name), "{id} is no part");
            n_parts += count;
            continue;
        }
        let name = id.strip_prefix("links.").expect("a part or a link");
        assert!(links.contains(name), "{id} is no link");
        n_links += count;
        // The text beside a line, or its own label elsewhere, has what the pointer shows.
        let label = document.descendants().find(|n| n.attribute("data-of") == Some(id));
        let shown = texts(group) + &label.map_or(String::new(), texts);
        let hint = title(group);
        if group.attribute("data-id").is_some_and(|_| hint == "links that are not drawn") {
            continue;
        }
        let mut loads_said: Vec<&str> = hint.split(" of the slots taken").collect();
        // Behind the last load stands why the rest was idle.
        loads_said.pop();
        for part in loads_said {
            // What idled for a reason stands behind; the load is the last number before the words.
            let number = part.rsplit_once([':', ';']).map_or(part, |p| p.1).trim();
            let number = number.rsplit_once(' ').map_or(number, |(head, _)| head);
            let load = format!("{} %", number.rsplit(' ').next().unwrap_or(number));
            assert!(shown.contains(&load), "{load} of {hint:?} is not in {shown:?}");
            // Where channel adapters reach their hosts the estimate says less than there is, and that it does.
            let (low, high) = ends(load.trim_start_matches('≥'));
            if count == 1 {
                let to = part.rsplit_once("toward ").map_or("", |p| p.1.rsplitn(3, ' ').nth(2).unwrap_or(""));
                let load = loads.get(&(name, to)).unwrap_or_else(|| panic!("{name} toward {to:?}: {hint}"));
                assert_eq!((low, high.clone()), (percent(*load), percent(*load)), "{hint}");
                assert!(*load == 0.0 || high != "0 %", "{hint}");
            } else {
                for end in [low, high] {
                    assert!(loads.values().any(|l| percent(*l) == end), "no link has {end}: {hint}");
                }
            }
        }
    }
    assert_eq!((n_parts, n_links), (all.len(), links.len()), "parts and links, drawn and there");
    // What is busiest is busiest in the picture.
    let busiest = loads.values().copied().fold(0.0, f64::max);
    if !loads.is_empty() {
        let all: String = document.descendants().filter_map(|n| n.text()).collect();
        assert!(all.contains(&percent(busiest)), "{} is nowhere", percent(busiest));
    }
}

/// `28.7` of `− 28.7 Gb/s`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches("− ").strip_suffix(" Gb/s")?;
    Some(if text == "<0.001" { 0.0 } else { text.parse().expect("a number") })
}

/// The law of waterfalls: each number is one of the method's ledger, and what is taken off leads from raw to payload.
fn waterfalls(report: &Report, method: Method) {
    for (i, link) in report.links.iter().enumerate() {
        let simulated = report.simulation.as_ref().filter(|_| method == Method::Simulation).map(|s| &s.links[i]);
        let svg = match simulated {
            Some(s) => svg::simulated_waterfall(link, s),
            None => svg::waterfall(link),
        };
        let document = read(&svg, method);
        let entries: Vec<f64> = match simulated {
            Some(s) => {
                let coded = |n: u64| n as f64 / s.slots.total().max(1) as f64 * s.coded;
                let mut all = vec![link.ledger.raw - s.coded];
                all.extend(s.entries().iter().map(|e| coded(e.1)));
                all
            }
            None => link.ledger.entries().iter().map(|e| e.1).collect(),
        };
        let shown: Vec<f64> = document.descendants().filter(Node::is_text).filter_map(|n| number(n.text()?)).collect();
        let raw = link.ledger.raw / 1e9;
        // Three digits from 1 Gb/s, three places below it.
        let close = |a: f64, b: f64| (a - b).abs() <= (0.006 * a.abs()).max(0.0006);
        assert!(shown.iter().any(|s| close(*s, raw)), "raw of links.{}", link.name);
        for value in &shown {
            let in_ledger = close(*value, raw) || entries.iter().any(|e| close(*value, e / 1e9));
            assert!(in_ledger, "{value} of links.{} is in no {method:?}: {entries:?}", link.name);
        }
        let bars = entries[..entries.len() - 1].iter().filter(|e| **e != 0.0).count() + 2;
        assert_eq!(shown.len(), bars, "bars of links.{}", link.name);
        if simulated.is_none_or(|s| s.slots.total() > 0) {
            let sum: f64 = entries.iter().sum();
            assert!((sum / link.ledger.raw - 1.0).abs() < 1e-6, "links.{}: {sum} of {}", link.name, link.ledger.raw);
        }
    }
}

/// Tables of links have the numbers of their method.
fn tables(report: &Report) {
    let same = |a: &str, b: f64| a.parse::<f64>().is_ok_and(|a| (a - b).abs() <= 1e-9 * b.abs().max(1e-3));
    let grid = links_grid(report);
    let at = |head: &[String], name: &str| head.iter().position(|h| h == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(grid.rows.len(), report.links.len());
    for (row, l) in grid.rows.iter().zip(&report.links) {
        assert_eq!((&row[0], &row[2]), (&l.name, &l.to));
        for (name, value) in [
            ("raw_bps", l.ledger.raw),
            ("payload_bps", l.ledger.payload),
            ("idle_bps", l.ledger.idle),
            ("utilisation", l.ledger.utilisation()),
        ] {
            assert!(same(&row[at(&grid.head, name)], value), "{name} of links.{}", l.name);
        }
    }
    let Some(s) = &report.simulation else { return };
    let grid = slots_grid(s);
    assert_eq!(grid.rows.len(), s.links.len());
    for (row, l) in grid.rows.iter().zip(&s.links) {
        assert_eq!((&row[0], &row[2]), (&l.name, &l.to));
        for (name, value) in [
            ("slots", l.slots.total() as f64),
            ("payload", l.slots.payload as f64),
            ("coded_bps", l.coded),
            ("payload_bps", l.payload.mean),
            ("utilisation", l.utilisation()),
        ] {
            assert!(same(&row[at(&grid.head, name)], value), "{name} of links.{}: {row:?}", l.name);
        }
    }
}

fn answered(plan: &Plan, diagnostics: &lanescope::diagnostic::Diagnostics) -> Report {
    let report = estimate(plan, diagnostics);
    let Some(mut run) = Run::new(plan, 1, &mut lanescope::diagnostic::Diagnostics::default()) else { return report };
    while run.advance(1 << 16) != Step::Done {}
    report.with(run.snapshot())
}

fn hold(plan: &Plan, report: &Report) {
    topology(plan, report, Method::Estimate);
    waterfalls(report, Method::Estimate);
    tables(report);
    if report.simulation.is_some() {
        topology(plan, report, Method::Simulation);
        waterfalls(report, Method::Simulation);
    }
}

fn law(grow: impl Fn(&[u8]) -> String, most: usize) {
    let result = runner(Config::default()).run(&vec(any::<u8>(), 0..most), |bytes| {
        let text = grow(&bytes);
        let (Some(plan), diagnostics) = common::plan(&text, &[]) else { return Ok(()) };
        std::panic::catch_unwind(|| hold(&plan, &answered(&plan, &diagnostics)))
            .map_err(|_| TestCaseError::fail(format!("a picture is not what was found:\n{text}")))
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}

#[test]
fn pictures_of_trees_show_what_was_found() {
    law(|b| tree::grow(b) + "[run]\nfor = \"5 us\"\nwarmup = \"0 s\"\n", 500);
}

#[test]
fn pictures_of_ethernet_show_what_was_found() {
    law(grow::ethernet::grow, 300);
}

/// Slots that are all idle are not taken, though their rates differ from all by the noise of a float.
#[test]
fn an_idle_link_is_idle() {
    let (plan, diagnostics) = common::plan(include_str!("../cases/picture-of-an-idle-link.toml"), &[]);
    let plan = plan.unwrap_or_else(|| panic!("{diagnostics}"));
    hold(&plan, &answered(&plan, &diagnostics));
}

#[test]
fn pictures_of_buses_show_what_was_found() {
    law(grow::bus::grow, 300);
}

#[test]
fn pictures_of_storage_show_what_was_found() {
    law(grow::storage::grow, 300);
}

#[test]
fn pictures_of_clusters_show_what_was_found() {
    law(grow::cluster::grow, 300);
}

/// What is in no generator: many parts, names that are markup, several technologies side by side.
#[test]
fn large_and_mixed_pictures_show_what_was_found() {
    let disks = "[parts.host]\nis = \"root-complex\"\nports = 64\n[parts.hba]\nis = \"host-adapter\"\ncount = 12\n\
        [parts.disk]\nis = \"disk\"\ncount = 12\n[links.slot]\nbetween = [\"host\", \"hba.*\"]\npcie = \"gen3 x8\"\n\
        [links.fc]\nbetween = [\"hba.*\", \"disk.*\"]\nfc = \"8GFC\"\n\
        [flows.io]\nfrom = \"host\"\nto = \"disk.*\"\ndo = \"io\"\naccess = { size = \"64 KiB\" }\n[run]\nfor = \"5 \
        ms\"\nwarmup = \"0 s\"\n";
    let fabric = |rule: &str, switches: &[&str]| {
        let switches: String = switches
            .iter()
            .map(|s| format!("[parts.{s}]\nis = \"ethernet-switch\"\nflow_control = \"pause\"\n"))
            .collect();
        format!(
            "title = \"<b>&amp; \\\"all\\\" to one\"\n[parts.host]\nis = \"station\"\n{switches}\
             [links.lan]\n{rule}\nethernet = \"10 Gb/s\"\n\
             [flows.incast]\nfrom = \"host.*\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\n\
             [run]\nfor = \"20 us\"\nwarmup = \"0 s\"\n"
        )
    };
    let texts = [
        fabric("leaf_spine = { leaves = 4, spines = 2, hosts = 4 }", &["leaf", "spine"]),
        fabric("fat_tree = { k = 4 }", &["switch"]),
        fabric("fat_tree = { k = 16 }", &["switch"]),
        fabric("star = { hosts = 1000 }", &["switch"]),
    ];
    for text in &texts {
        let (plan, diagnostics) = common::plan(text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{diagnostics}\n{text}"));
        let report = match plan.network.nodes.len() {
            0..200 => answered(&plan, &diagnostics),
            _ => estimate(&plan, &diagnostics),
        };
        hold(&plan, &report);
        assert!(svg::topology(&plan, &report, Method::Estimate).len() < 100_000);
    }
    let (plan, diagnostics) = common::plan(disks, &[]);
    match plan {
        Some(plan) => hold(&plan, &answered(&plan, &diagnostics)),
        None => panic!("{diagnostics}"),
    }
}
