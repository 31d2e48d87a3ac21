//! The studies: every row's contract, the given numbers within tolerance, and fits that give their stored values again.

use crate::common::{everything, in_full};
use lanescope::library;
use lanescope::result::Idle;
use lanescope::scenario::schema::json_schema;
use lanescope::study::{
    Accuracy, Answer, CONFIDENCE, Class, Fit, Misses, PointText, Row, Said, Study, filled, fit, select,
};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The rows that studies have promised: id, quantity's unit, methods, status and the number that was given. A study may
/// gain rows; what it has it keeps. `LANESCOPE_CONTRACT=write` writes those of today.
const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract.tsv");

/// Lines of fields behind a line of names.
fn fields(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|l| l.split('\t').map(str::to_owned).collect()).collect()
}

/// Rows of `systems/rows.tsv`, where the shared folder is there.
fn published() -> Option<Vec<Vec<String>>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/systems/rows.tsv");
    match std::fs::read_to_string(path) {
        Ok(text) => Some(fields(&text)),
        Err(_) => {
            eprintln!("skipped: {path} is not here");
            None
        }
    }
}

#[test]
fn rows_are_those_of_our_own_copy() {
    let mut now = vec!["study\tid\tunit\tmethods\tstatus\tgiven".to_owned()];
    for id in library::studies() {
        for row in Study::load(id).and_then(|s| s.rows()).expect("a study") {
            let number = row.published.map(|p| p.to_string()).or(row.published_text).unwrap_or_default();
            now.push([id, &row.id, &row.unit, &row.methods, &row.status, &number].join("\t"));
        }
    }
    if std::env::var_os("LANESCOPE_CONTRACT").is_some_and(|v| v == "write") {
        std::fs::write(CONTRACT, now.join("\n") + "\n").expect("it can be written");
    }
    let promised = std::fs::read_to_string(CONTRACT).expect("the contract");
    let missing: Vec<&str> = promised.lines().filter(|line| !now.iter().any(|n| n == line)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(promised.lines().count() > 340, "{}", promised.lines().count());
}

#[test]
fn rows_are_those_of_the_contract() {
    let Some(published) = published() else { return };
    for id in library::studies().into_iter().filter(|id| *id != OURS) {
        let rows = Study::load(id).and_then(|s| s.rows()).expect("a study");
        let wanted: Vec<_> = published.iter().filter(|r| r[0] == id).collect();
        assert_eq!(rows.iter().map(|r| &r.id).collect::<Vec<_>>(), wanted.iter().map(|r| &r[1]).collect::<Vec<_>>());
        for (row, want) in rows.iter().zip(wanted) {
            assert_eq!((&row.unit, &row.methods, &row.status), (&want[3], &want[4], &want[5]), "{id} {}", row.id);
            let number = want.get(6).and_then(|p| p.parse::<f64>().ok());
            assert_eq!(row.published, number, "{id} {}", row.id);
            let words = want.get(6).filter(|p| !p.is_empty() && number.is_none()).cloned();
            assert_eq!(row.published_text, words, "{id} {}", row.id);
        }
    }
}

/// A study that is in no contract: its published numbers are those of a file.
const OURS: &str = "sas-ssd";

#[test]
fn the_numbers_of_the_ssd_are_those_of_its_file() {
    let Some(path) = crate::common::shared("iometer/pliant-ls300s-qd-sweep-results.csv") else { return };
    let text = std::fs::read_to_string(path).expect("a text");
    // Column 3 is the specification, column 10 MBps; the queue depth of each specification doubles from 1.
    let mut wanted = std::collections::BTreeMap::new();
    let mut before: (String, u32) = Default::default();
    for line in text.lines().filter(|l| l.starts_with("ALL,")) {
        let field: Vec<&str> = line.split(',').collect();
        before = if before.0 == field[2] { (before.0, before.1 * 2) } else { (field[2].to_owned(), 1) };
        let spec = &before.0;
        let size = if spec.starts_with("64k") { 64 } else { 8 };
        let read = if spec.contains("100% Read") { "read" } else { "write" };
        let order = if spec.contains("100% Random") { "random" } else { "sequential" };
        wanted.insert(format!("{size}k.{read}.{order}.q{}", before.1), field[9].parse::<f64>().expect("a number"));
    }
    let rows = Study::load(OURS).and_then(|s| s.rows()).expect("a study");
    assert_eq!((rows.len(), wanted.len()), (64, 64));
    for row in &rows {
        assert_eq!((row.published, row.unit.as_str()), (wanted.get(&row.id).copied(), "MiB/s"), "{}", row.id);
    }
    assert_eq!(rows.iter().filter(|r| r.status == "given").count(), 4);
}

/// Four tests decide four values; the other sixty are what the study's page says.
#[test]
fn the_ssd_is_predicted_as_its_page_says() {
    if skipped_without_all_rows() {
        return;
    }
    let (mut simulated, mut estimated) = (Vec::new(), Vec::new());
    for (_, row, answer) in answers().iter().filter(|(s, ..)| s.id == OURS) {
        let published = row.published.expect("a number");
        let error = |value: f64| (value / published - 1.0).abs() * 100.0;
        if row.status == "predicted" {
            simulated.push(error(answer.simulate.expect("a value").value));
            estimated.push(error(answer.estimate.expect("a value")));
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    assert_eq!(simulated.len(), 60);
    let page = library::study_text(OURS, "README.md").expect("a page");
    let said = format!("**{:.1} %** by simulation and **{:.1} %** by the estimate", mean(&simulated), mean(&estimated));
    assert!(page.contains(&said), "the page does not say {said:?}");
    assert!(mean(&simulated) < 8.0);
}

/// A given number that is not fitted to, and lies off: its page says by how much, and why. (study, row, estimate,
/// simulation)
const OFF: (&str, &str, f64, f64) = ("pes16t4g2", "iometer.without.mix", 0.12, 0.05);

/// Whether all rows are answered, or those alone that are marked quick: all take minutes.
fn all_rows() -> bool {
    everything() || std::env::var_os("LANESCOPE_PAGES").is_some_and(|v| v == "write")
}

/// The same, for tests that say nothing of some rows.
fn skipped_without_all_rows() -> bool {
    if !all_rows() {
        eprintln!("skipped: it needs all rows of the studies: LANESCOPE_ROWS=all");
    }
    !all_rows()
}

/// Every row that has a scenario (or every quick one), answered by its methods, once and by two threads.
fn answers() -> &'static [(Study, Row, Answer)] {
    static ANSWERS: OnceLock<Vec<(Study, Row, Answer)>> = OnceLock::new();
    ANSWERS.get_or_init(|| {
        let all = select(&[]).expect("studies").into_iter();
        let rows: Vec<(Study, Row)> = all.flat_map(|(s, rows)| rows.into_iter().map(move |r| (s.clone(), r))).collect();
        let rows: Vec<(Study, Row)> =
            rows.into_iter().filter(|(_, r)| r.scenario.is_some() && (r.quick || all_rows())).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut mine = Vec::new();
            while let Some((i, (study, row))) = Some(next.fetch_add(1, Relaxed)).and_then(|i| Some((i, rows.get(i)?))) {
                mine.push((i, study.answer(row, true)));
            }
            mine
        };
        let mut done = std::thread::scope(|s| {
            let other = s.spawn(work);
            let mut mine = work();
            mine.extend(other.join().expect("rows"));
            mine
        });
        done.sort_by_key(|(i, _)| *i);
        rows.into_iter().zip(done).map(|((study, row), (_, answer))| (study, row, answer)).collect()
    })
}

#[test]
fn given_rows_are_met_within_three_percent() {
    assert!(answers().len() > 30, "{} rows", answers().len());
    for (study, row, answer) in answers() {
        let Some(published) = row.published.filter(|_| row.status != "predicted") else { continue };
        let off = if study.id == OFF.0 && row.id == OFF.1 { (OFF.2, OFF.3) } else { (0.03, 0.03) };
        for (value, most) in [(answer.estimate, off.0), (answer.simulate.map(|s| s.value), off.1)] {
            let error = value.map_or(0.0, |v| v / published - 1.0);
            assert!(error.abs() < most, "{} {}: {:+.2} %", study.id, row.id, error * 100.0);
        }
    }
}

#[test]
fn floors_are_met() {
    if skipped_without_all_rows() {
        return;
    }
    let mut floors = 0;
    for (study, row, answer) in answers() {
        let floor = || row.published_text.as_deref()?.strip_prefix("more than ")?.parse::<f64>().ok();
        let Some(floor) = floor() else { continue };
        for value in [answer.estimate, answer.simulate.map(|s| s.value)] {
            let value = value.expect("a value");
            assert!(value > floor, "{} {}: {value} against more than {floor}", study.id, row.id);
        }
        floors += 1;
    }
    assert_eq!(floors, 4);
}

/// No study has a timing of the bus of its own: what one states, all that state it state alike.
#[test]
fn one_set_of_bus_parameters_serves_all_studies() {
    let studies = concat!(env!("CARGO_MANIFEST_DIR"), "/studies");
    let folders = std::fs::read_dir(studies).expect("studies").map(|f| f.expect("a folder").path());
    let files = folders.flat_map(|f| std::fs::read_dir(f).expect("a folder")).map(|f| f.expect("a file").path());
    let texts: Vec<String> = files.map(|f| std::fs::read_to_string(f).unwrap_or_default()).collect();
    for key in ["latency_timer", "write_waits", "decode", "dual_address", "disconnect"] {
        let stated = texts.iter().flat_map(|t| t.lines()).map(str::trim_start).filter(|l| l.starts_with(key));
        let values: std::collections::BTreeSet<&str> = stated.filter_map(|l| l.split(['=', ',']).nth(2)).collect();
        assert!(values.len() <= 1, "{key}: {values:?}");
    }
}

#[test]
fn the_readme_says_how_close_we_come() {
    let worst = |wanted: &[&str], simulate: bool| {
        let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
        let (study, rows) = select(&wanted).expect("rows").remove(0);
        let given = rows.iter().filter(|r| r.published.is_some());
        given.filter_map(|r| study.answer(r, simulate).error()).map(f64::abs).fold(0.0, f64::max)
    };
    assert!(worst(&["t5440:read", "t5440:write"], false) < 0.011);
    assert!(worst(&["t5440:read", "t5440:write"], true) < 0.011);
    assert!(worst(&["t5440:latency"], false) < 0.022);
    assert!(worst(&["t5440:latency"], true) < 0.0275);
    assert!(worst(&["sch-us15w"], false) < 0.007 && worst(&["sch-us15w"], true) < 0.007);
    assert!(worst(&["polarfire"], true) < 0.002);
    assert!(worst(&["nfp6000"], true) < 0.001);
    let nfp = Study::load("nfp6000").expect("a study");
    let latencies = fit(&nfp, &nfp.fits[0]).expect("a fit");
    assert!(latencies.targets.iter().all(|(_, published, _, stored)| (stored / published - 1.0).abs() < 0.026));
}

#[test]
fn every_row_with_a_scenario_has_a_value_by_its_methods() {
    for (study, row, answer) in answers() {
        assert!(answer.complete(&row.methods), "{} {}: {:?}", study.id, row.id, answer.why);
        if let (Some(simulated), Some(bound)) = (answer.simulate, answer.bound) {
            // What is in flight at the ends of the window may count twice.
            assert!(simulated.value <= bound * 1.005, "{} {}: {simulated:?} above bound {bound}", study.id, row.id);
        }
        if let (Some(bound), Some(share)) = (answer.bound, answer.estimate) {
            assert!(share <= bound * (1.0 + 1e-9), "{} {}: share {share} above bound {bound}", study.id, row.id);
        }
    }
}

#[test]
fn the_reports_arithmetic_agrees_to_its_precision() {
    let study = Study::load("pes16t4g2").expect("a study");
    let rows = study.rows().expect("rows");
    let value =
        |id: &str| study.answer(rows.iter().find(|r| r.id == id).expect("a row"), false).estimate.expect("a value");
    let truncated = |v: f64, places: i32| (v * 10f64.powi(places) + 1e-9).floor() / 10f64.powi(places);
    assert_eq!(value("raw.x4"), 40.0);
    assert_eq!(value("coded.x4"), 32.0);
    assert_eq!(value("coded.x2"), 16.0);
    assert_eq!(value("coded.x1"), 8.0);
    assert_eq!(value("overhead.tlp").round(), 20.0);
    assert_eq!(truncated(value("packets.64B.x4"), 2), 47.61);
    assert_eq!(truncated(value("payload.64B.x4"), 2), 24.38);
    assert!((value("efficiency.64B") - 76.19).abs() < 0.005);
    let t5440 = Study::load("t5440").expect("a study");
    let rows = t5440.rows().expect("rows");
    let value =
        |id: &str| t5440.answer(rows.iter().find(|r| r.id == id).expect("a row"), false).estimate.expect("a value");
    assert_eq!(value("outstanding.512B.1.2us").round(), 256.0);
    assert_eq!(value("outstanding.512B.1.1us").round(), 512.0);
}

#[test]
fn where_nothing_queues_share_and_simulation_agree() {
    // Every row of these studies is one flow, or several that take turns at one link.
    for (study, rows) in
        select(&["pes16t4g2:loaded".into(), "polarfire".into(), "cm4-nvme".into(), "nfp6000".into()]).expect("rows")
    {
        for row in rows.iter().filter(|r| r.methods == "both") {
            let a = study.answer(row, true);
            let (share, simulated) = (a.estimate.expect("a share"), a.simulate.expect("a value").value);
            assert!((simulated / share - 1.0).abs() < 0.02, "{} {}: {share} {simulated}", study.id, row.id);
        }
    }
}

/// The value of a row by both methods.
fn both(study: &str, row: &str) -> (f64, f64) {
    let (study, rows) = select(&[format!("{study}:{row}")]).expect("rows").remove(0);
    let row = rows.iter().find(|r| r.id == row).expect("the row");
    let answer = study.answer(row, true);
    (answer.estimate.expect("a share"), answer.simulate.expect("a value").value)
}

#[test]
fn the_pages_say_where_the_methods_part() {
    for (study, row, low, high) in [
        // Acks and UpdateFCs by time: in step where requests come evenly, as many as the estimate has.
        ("cm4-nvme", "write", -0.001, 0.001),
        ("polarfire", "a.x1.gen2", -0.001, 0.001),
        ("nfp6000", "bdw.rd.512B", -0.001, 0.001),
        ("t5440", "bidir.1", -0.008, -0.004),
        // Packets that begin on a whole symbol time.
        ("polarfire", "b.x4.gen1", -0.005, -0.003),
        ("t5440", "latency.l2.expander-1.4", 0.009, 0.012),
        ("t5440", "expander.read.512B.8", -0.014, -0.007),
    ] {
        let (share, simulated) = both(study, row);
        let apart = simulated / share - 1.0;
        assert!((low..high).contains(&apart), "{study} {row}: {share} {simulated}");
    }
    let study = Study::load("pes16t4g2").expect("a study");
    let rows = study.rows().expect("rows");
    let last = rows.iter().find(|r| r.id == "latency.loaded.last.64B").expect("the row");
    assert_eq!(study.answer(last, true).simulate.expect("a value").value.round(), 235.0);
}

#[test]
fn the_hub_prefers_small_writes_and_large_reads_at_its_faster_clock_alone() {
    let by = |row: &str| both("sch-us15w", row);
    for (better, worse) in [("wr.64B.1600", "wr.128B.1600"), ("rd.128B.1600", "rd.64B.1600")] {
        let (better, worse) = (by(better), by(worse));
        assert!(better.0 > 1.08 * worse.0 && better.1 > 1.08 * worse.1, "{better:?} {worse:?}");
    }
    for pattern in ["rd", "wr", "rdrd", "wrwr", "rdwr"] {
        let (small, large) = (by(&format!("{pattern}.64B.1100")), by(&format!("{pattern}.128B.1100")));
        assert!(
            (small.0 / large.0 - 1.0).abs() < 1e-9 && (small.1 / large.1 - 1.0).abs() < 0.003,
            "{small:?} {large:?}"
        );
    }
}

#[test]
fn a_burst_of_the_disk_halves_a_reading_port() {
    let (study, rows) = select(&["sch-us15w:burst".into()]).expect("rows").remove(0);
    let share = |sets: &[&str]| {
        let set = sets.iter().map(|s| (*s).to_owned()).collect();
        study.answer(&Row { set, ..rows[0].clone() }, true).simulate.expect("a value").value
    };
    assert!((share(&[]) - 50.2).abs() < 0.3);
    // Half for half in turns, or what a slower disk leaves of 133 MB/s.
    assert!((share(&["parts.disk.read_rate=33 MB/s"]) - 75.2).abs() < 0.4);
    assert!((share(&["flows.burst.size=16 KiB"]) - 50.0).abs() < 0.3);
    let nobody = share(&["flows.burst.do=write", "parts.disk.write_rate=66 MB/s"]);
    assert!((nobody - 100.0).abs() < 0.2, "{nobody}");
}

#[test]
fn cards_behind_crosslinks_read_as_much_as_others_when_simulated() {
    let study = Study::load("t5440").expect("a study");
    let report = study.simulated("crosslink-1.toml", &[]).expect("a report");
    let rates: Vec<f64> = report.simulation.expect("a simulation").flows.iter().map(|f| f.rate.mean).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!(rates.len() == 8 && rates.iter().all(|r| (r / mean - 1.0).abs() < 0.02), "{rates:?}");
}

#[test]
fn fits_give_their_stored_values_again() {
    for id in library::studies() {
        let study = Study::load(id).expect("a study");
        // Those of a simulation take minutes: `lanescope study fit` runs them, and the next test holds what they gave
        // against the published numbers. One of the others takes as long as all of them together.
        let quick = |f: &&Fit| (id, &*f.name) != ("t5440", "latency") || in_full("the fit latency of study t5440");
        for f in study.fits.iter().filter(|f| f.seeds == 0).filter(quick) {
            let result = fit(&study, f).expect("a fit");
            for (name, published, fitted, stored) in &result.targets {
                let (a, b) = (fitted / published - 1.0, stored / published - 1.0);
                assert!((a - b).abs() < 2e-3, "{id} {}: {name} fitted {fitted} stored {stored}", f.name);
            }
        }
    }
}

#[test]
fn what_a_simulation_was_fitted_to_comes_out() {
    let study = Study::load("ethernet-backplane").expect("a study");
    let rows = study.rows().expect("rows");
    for id in ["throughput.a", "throughput.b", "discards.b"] {
        let row = rows.iter().find(|r| r.id == id).expect("the row");
        let ours = study.answer(&Row { seeds: 1, ..row.clone() }, true).simulate.expect("a value").value;
        let given = row.published.unwrap_or(135_000.0);
        assert!((ours / given - 1.0).abs() < 0.05, "{id}: {ours} of {given}");
    }
}

/// Whatever fit of whatever study: no row of it is asked or predicted, and none can be made so, by name or as a point
/// that asks the same.
#[test]
fn asked_rows_cannot_be_fitted() {
    let mut refused = 0;
    // For studies that fit nothing: somebody else's fit, of nothing.
    let other = Study::load("t5440").expect("a study").fits.remove(0);
    let other = [Fit { rows: Vec::new(), points: Vec::new(), ..other }];
    for (study, rows) in select(&[]).expect("studies") {
        let hidden: Vec<&Row> = rows.iter().filter(|r| r.status != "given").collect();
        for f in study.fits.iter().chain(&other) {
            assert!(f.rows.iter().all(|id| hidden.iter().all(|r| r.id != *id)), "{} {}", study.id, f.name);
            for row in &hidden {
                let Some(scenario) = &row.scenario else { continue };
                let mut by_name = f.clone();
                by_name.rows.push(row.id.clone());
                let mut by_question = f.clone();
                by_question.points.push(PointText {
                    name: "another name".into(),
                    scenario: scenario.clone(),
                    set: row.set.clone(),
                    metric: row.metric.clone(),
                    unit: row.unit.clone(),
                    value: study.outcome(&row.id).unwrap_or(1.0),
                });
                for f in [by_name, by_question] {
                    let e = fit(&study, &f).expect_err("refused");
                    assert!(e.contains("never fitted") && e.contains(&row.id), "{} {}: {e}", study.id, row.id);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Outcomes are in `[outcomes]` and on pages: no scenario, fit or row of a study has one for its published number, and
/// rows stay asked.
#[test]
fn outcomes_stand_apart_from_what_can_be_fitted() {
    let mut known = 0;
    for (study, rows) in select(&[]).expect("studies") {
        for row in rows.iter().filter(|r| study.outcome(&r.id).is_some()) {
            assert_eq!((row.status.as_str(), row.published, &row.published_text), ("asked", None, &None), "{}", row.id);
            assert!(study.blind().contains_key(&row.id), "{} {} has no record", study.id, row.id);
            known += 1;
        }
        // The same fit with other outcomes: the text before `[outcomes]` is all that it is made of.
        let text = library::study_text(&study.id, "study.toml").expect("a text");
        let (before, after) = text.split_once("\n[outcomes]").unwrap_or((text, ""));
        assert!(!before.contains("outcome"), "{}", study.id);
        assert!(!after.contains("[[") && after.matches('[').count() <= 1, "{}: a table after the outcomes", study.id);
    }
    assert_eq!(known, 100);
}

/// Outcomes of the shared folder, where it is there.
#[test]
fn outcomes_are_those_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/systems/outcomes.tsv");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not here");
        return;
    };
    let mut seen = 0;
    for line in text.lines().skip(1) {
        let [study, row, value] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let known = Study::load(study).expect("a study").outcome(row);
        assert_eq!(known, Some(value.parse::<f64>().expect("a number")), "{study} {row}");
        seen += 1;
    }
    assert_eq!(seen, 100);
}

/// What was predicted blind is written once: whoever changes it has to change this number too.
#[test]
fn the_record_of_blind_predictions_is_never_rewritten() {
    // FNV-1a over all records, in the order of studies; what was recorded later has a number of its own.
    let mut kept = [(0, 0xcbf2_9ce4_8422_2325_u64); 4];
    for id in library::studies() {
        let Some(text) = library::study_text(id, "blind.tsv") else { continue };
        let (rows, hash) = match id {
            "nvme-queue" => &mut kept[1],
            "collectives" => &mut kept[2],
            "roce-classes" => &mut kept[3],
            _ => &mut kept[0],
        };
        for byte in text.bytes() {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let study = Study::load(id).expect("a study");
        // The first studies, those of today's hosts, NVMe drives, clusters of GPUs, and classes of RoCE.
        let commit = match id {
            "gpu-pairs" | "one-lane" | "iotlb" | "cpu-access" => "b6fdd15",
            "nvme-queue" => "43a51a8",
            "collectives" => "ca70757",
            "roce-classes" => "3fcf2fc",
            _ => "ba92cd9",
        };
        assert!(study.blind().values().all(|b| b.commit == commit), "{id}");
        let names: Vec<String> = study.rows().expect("rows").into_iter().map(|r| r.id).collect();
        assert!(study.blind().keys().all(|row| names.contains(row)), "{id}");
        *rows += study.blind().len();
    }
    assert_eq!(kept[0], (264, 0x6eb7_91f0_7d82_c233));
    assert_eq!(kept[1], (24, 0x8261_83a1_9a47_597f));
    assert_eq!(kept[2], (8, 0x90bd_2be7_d8c5_f271));
    assert_eq!(kept[3], (5, 0xaabf_932a_01dc_ecde));
}

/// The accuracy of all studies, of the answers that these tests share.
fn accuracy() -> Accuracy {
    let all = select(&[]).expect("studies").into_iter().map(|(study, rows)| {
        // Rows without a scenario have no answer, and no part in it.
        let mine = answers().iter().filter(|(s, ..)| s.id == study.id).map(|(_, _, answer)| answer.clone()).collect();
        (study, rows, mine)
    });
    Accuracy::of(all.collect()).expect("an accuracy")
}

/// The tables on the pages are those that `lanescope study accuracy` prints. `LANESCOPE_PAGES=write` writes them.
#[test]
fn the_pages_have_the_tables_of_the_command() {
    if skipped_without_all_rows() {
        return;
    }
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    if !root.join("book").is_dir() {
        eprintln!("skipped: the pages are not here");
        return;
    }
    let mut wrong = Vec::new();
    for (page, name, table) in accuracy().blocks() {
        let text = std::fs::read_to_string(root.join(&page)).expect("the page");
        let should = filled(&text, name, &table).unwrap_or_else(|e| panic!("{page}: {e}"));
        if std::env::var_os("LANESCOPE_PAGES").is_some_and(|v| v == "write") {
            std::fs::write(root.join(&page), should).expect("written");
        } else if let Some((is, should)) = text.lines().zip(should.lines()).find(|(a, b)| a != b) {
            wrong.push(format!("{page}, {name}\n  {is}\n  {should}"));
        }
    }
    assert!(wrong.is_empty(), "lanescope study accuracy --write .\n{}", wrong.join("\n"));
}

/// An interval that says 80 % holds the truth of 80 % of the rows, and of each study alike, as predictions stood and as
/// they are now.
#[test]
fn intervals_hold_as_often_as_they_say() {
    if skipped_without_all_rows() {
        return;
    }
    let a = accuracy();
    for (when, p) in [("then", &a.blind), ("asked, then", &a.blind_asked), ("now", &a.now), ("given", &a.given_now)] {
        assert!(p.intervals.rows >= 25, "{when}: {p:?}");
        assert!(p.intervals.share() >= CONFIDENCE, "{when}: {:?}", p.intervals);
        assert!(p.by_study.expect("studies") >= CONFIDENCE, "{when}: {:?}", p.by_study);
    }
    // They are worth printing: none reaches further than a sixth beyond what was said.
    let most: Vec<f64> = a.classes.iter().filter_map(|c| c.reach).map(|(_, most)| most).collect();
    assert!(most.len() >= 2 && most.iter().all(|m| *m < 1.0 / 6.0), "{most:?}");
}

/// No interval of a study moves when its own outcomes do, and others' do move it; and no interval changes a prediction.
#[test]
fn a_study_does_not_teach_its_own_intervals() {
    let misses = Misses::recorded().expect("records");
    let said = Said { estimate: Some(100.0), range: Some((90.0, 105.0)), simulate: Some(108.0) };
    for id in library::studies() {
        let without = Misses::recorded_without(&[id]).expect("records");
        for class in Class::ALL {
            assert_eq!(misses.reach(id, class, true), without.reach(id, class, true), "{id} {class:?}");
        }
        if let Some((low, high)) = misses.interval(id, Class::Shared, &said) {
            assert!(low < 90.0 && high > 108.0, "{id}: {low} {high}");
        }
    }
    let others = Misses::recorded_without(&["polarfire", "nfp6000"]).expect("records");
    assert_ne!(misses.reach("t5440", Class::Alone, true), others.reach("t5440", Class::Alone, true));
    // Three studies are too few.
    let few: Vec<&str> = library::studies().into_iter().filter(|id| !["fc-4g", "cm4-nvme"].contains(id)).collect();
    assert_eq!(Misses::recorded_without(&few).expect("records").reach("t5440", Class::Alone, true), None);
}

#[test]
fn how_often_updates_are_sent_is_chosen_once() {
    // The default of the language, and the same four where a study states it.
    for (study, rows) in select(&[]).expect("studies") {
        for row in rows {
            let Some(scenario) = row.scenario.as_ref().filter(|s| !study.is_cluster(s)) else { continue };
            let (plan, _) = study.plan(scenario, &row.set).expect("a plan");
            // A coherent link has none.
            for link in plan.links.iter().filter(|l| !l.speed.typical.is_coherent()) {
                let every = [link.ack_every.typical.0, link.update_fc_every.typical.0];
                assert!(
                    every == [Some(4); 2] || row.set.iter().any(|s| s.contains("never")),
                    "{} {}",
                    study.id,
                    row.id
                );
            }
        }
    }
}

#[test]
fn every_shipped_text_fits_the_schema() {
    let schema = json_schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut seen = 0;
    let mut hold = |name: &str, text: &str| {
        let value: serde_json::Value = toml::from_str(text).expect("TOML");
        if let Err(e) = validator.validate(&value) {
            panic!("{name}: {e} at {}", e.instance_path());
        }
        seen += 1;
    };
    for (study, rows) in select(&[]).expect("studies") {
        let mut files: Vec<_> = rows.into_iter().filter_map(|r| r.scenario).collect();
        files.sort();
        files.dedup();
        for file in files {
            hold(&file, library::study_text(&study.id, &file).expect("a file"));
        }
    }
    for entry in library::platforms().into_iter().filter(|e| e.kind == "platform") {
        hold(&entry.name, library::platform_text(&entry.name).expect("a text"));
    }
    assert!(seen >= 10);
}

#[test]
fn every_platform_and_device_loads() {
    use lanescope::diagnostic::Diagnostics;
    use lanescope::library::Library;
    use lanescope::scenario::{Included, tree::Author};
    for entry in library::platforms() {
        let text = if entry.kind == "platform" {
            library::starter(&entry.name).expect("a starter")
        } else {
            // What a channel adapter knows depends on what it stands on.
            let slot =
                "[parts.h]\nis = \"root-complex\"\n[links.slot]\nbetween = [\"h\", \"x\"]\npcie = \"gen3 x16\"\n";
            let slot = if entry.name.contains("/hca") { slot } else { "" };
            format!("[parts.x]\nuse = \"{}\"\n{slot}", entry.name)
        };
        let mut d = Diagnostics::default();
        let included = Included { name: entry.name.clone(), text, author: Author::User };
        assert!(lanescope::scenario::read(&mut d, included, &[], &Library).is_some(), "{}: {d}", entry.name);
    }
}

#[test]
fn figures_can_be_drawn() {
    for id in library::studies() {
        let study = Study::load(id).expect("a study");
        for mut figure in study.figures.clone() {
            if figure.seeds > 0 {
                // Some of the points tell as much as all.
                figure.values.truncate(2);
                figure.series.iter_mut().for_each(|line| line.published.truncate(2));
                figure.seeds = 1;
            }
            assert!(study.draw(&figure).expect("a picture").contains("</svg>"), "{id} {}", figure.file);
        }
    }
}

#[test]
fn a_port_that_nobody_wants_has_nothing_to_send() {
    let study = Study::load("pes16t4g2").expect("a study");
    let report = study.simulated("loaded.toml", &[]).expect("a report");
    let links = report.simulation.expect("a simulation").links;
    for link in links.iter().filter(|l| l.name.starts_with("down.") && l.from == "sw") {
        // Two thirds of its slots, and no packet ever waited for another there.
        assert!(link.slots.idle[Idle::NothingToSend as usize] > link.slots.total() / 2, "{link:?}");
        assert_eq!(link.slots.idle[Idle::Arbitration as usize], 0, "{link:?}");
    }
}
