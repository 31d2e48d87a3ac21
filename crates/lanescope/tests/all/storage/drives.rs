//! Drives of the library: what their data sheets state is what comes out, and what was fitted is what the program fits.

use crate::common::{everything, run as answer, simulate, simulated};
use lanescope::library::{platform_text, platforms};
use lanescope::study::sheet::{Kind, fit, scenario};

/// How far a number may be off its sheet, by its part: what the sheet leaves out, and what the model has no key for. A
/// controller takes as long for a write as for a read, so the 990 PRO, whose writes are faster, is between the two.
const ESTIMATE: f64 = 0.02;
const BETWEEN: (&str, f64) = ("nvme/samsung-990-pro", 0.06);
/// The same of a run.
const SIMULATION: f64 = 0.05;

fn drives() -> Vec<String> {
    let all: Vec<String> = platforms().into_iter().map(|e| e.name).filter(|n| n.starts_with("nvme/")).collect();
    assert!(all.len() >= 14, "{all:?}");
    all
}

/// The keys and values of a drive's file.
fn file(drive: &str) -> serde_json::Value {
    lanescope::library::as_json(platform_text(drive).expect("it is in the library"))
}

/// What stands in a file is what the command that it names gives: nobody has chosen it.
#[test]
fn what_is_stored_is_what_the_command_fits() {
    for drive in drives() {
        let file = file(&drive);
        let fitted = fit(&drive, platform_text(&drive).expect("a text")).unwrap_or_else(|e| panic!("{drive}: {e}"));
        let of = |key: &str| file.get(key).and_then(|v| v.get("value")?.as_str()).unwrap_or_default().to_owned();
        assert!(fitted.values.len() >= 4 && fitted.compared.len() >= 4, "{drive}: {fitted:?}");
        for v in &fitted.values {
            assert_eq!(of(&v.key), v.value, "{drive}: {} is not what lanescope drive fit {drive} gives", v.key);
            assert_eq!(file[&v.key]["source"], format!("lanescope drive fit {drive}").as_str(), "{drive}: {}", v.key);
        }
        // And nothing else calls itself fitted.
        let keys = file.as_object().expect("a table");
        let others = keys.iter().filter(|(_, v)| v.get("origin").is_some_and(|o| o == "fitted"));
        for (key, _) in others {
            assert!(fitted.values.iter().any(|v| v.key == *key), "{drive}: {key} is fitted by nothing");
        }
    }
}

#[test]
fn drives_do_what_their_data_sheets_state() {
    state(0);
}

#[test]
fn more_drives_do_what_their_data_sheets_state() {
    state(1);
}

#[test]
fn and_others_do_what_their_data_sheets_state() {
    state(2);
}

#[test]
fn the_last_drives_do_what_their_data_sheets_state() {
    state(3);
}

/// Each fourth drive, since tests run side by side; but where not everything is tested only the first of these is
/// simulated.
fn state(first: usize) {
    let mut worst = [0.0_f64; 2];
    for (n, drive) in drives().into_iter().skip(first).step_by(4).enumerate() {
        let file = file(&drive);
        let text = platform_text(&drive).expect("a text");
        let fitted = fit(&drive, text).unwrap_or_else(|e| panic!("{drive}: {e}"));
        let of = |key: &str| file[key].get("value").unwrap_or(&file[key]).as_str().expect("a text").to_owned();
        let link = format!("{} {}", of("generation"), of("lanes"));
        let more = if drive == BETWEEN.0 { BETWEEN.1 } else { 0.0 };
        for c in &fitted.compared {
            // As it is stored, rounded and all.
            let scenario = scenario(&drive, &link, &c.key) + "[run]\nuntil = \"±1 %\"\nmax_time = \"500 ms\"\n";
            let report = answer(&scenario, &[]);
            let estimated = match c.kind {
                Kind::Ios => report.flows[0].share.typical / 8.0 / 4096.0,
                Kind::Rate => report.flows[0].share.typical / 8.0,
                Kind::Time => report.flows[0].latency.typical,
            };
            let ran = (everything() || n == 0).then(|| {
                let run = simulate(&scenario, &[]);
                let flow = simulated(&run, "io");
                let each = flow.each.iter().sum::<f64>() / 8.0;
                match c.kind {
                    Kind::Ios => each / 4096.0,
                    Kind::Rate => each,
                    Kind::Time => flow.latency.mean,
                }
            });
            let off = |x: f64| x / c.sheet - 1.0;
            let simulated = ran.map_or("not simulated".to_owned(), |x| format!("simulation {:+.1} %", 100.0 * off(x)));
            println!("{drive}: {} {:.4e}: estimate {:+.1} %, {simulated}", c.key, c.sheet, 100.0 * off(estimated));
            if more == 0.0 {
                worst[0] = worst[0].max(off(estimated).abs());
                worst[1] = worst[1].max(ran.map_or(0.0, |x| off(x).abs()));
            }
            assert!((estimated / c.fitted - 1.0).abs() < 1e-9, "{drive}: {}: {estimated} and {}", c.key, c.fitted);
            assert!(off(estimated).abs() < ESTIMATE.max(more), "{drive}: {}: {estimated}, stated {}", c.key, c.sheet);
            if let Some(ran) = ran {
                let most = SIMULATION.max(more + 0.01);
                assert!(off(ran).abs() < most, "{drive}: {}: {ran} simulated, stated {}", c.key, c.sheet);
            }
        }
    }
    println!("at worst {worst:?}");
}

/// A sheet may state less: what it says nothing about stays, and is named.
#[test]
fn half_a_sheet_is_enough_and_none_is_not() {
    let device = |sheet: &str| {
        format!("kind = \"device\"\nabout = \"x\"\nis = \"nvme\"\ndies = 16\nchannel_rate = \"10 GB/s\"\n{sheet}")
    };
    let half =
        fit("own.toml", &device("sheet_random_read = 400000\nsheet_sequential_read = \"3 GB/s\"\n")).expect("a fit");
    let keys: Vec<&str> = half.values.iter().map(|v| v.key.as_str()).collect();
    assert_eq!(keys, ["command_time", "rate"]);
    assert!(half.compared.iter().all(|c| (c.fitted / c.sheet - 1.0).abs() < 0.001), "{half:?}");
    assert!(half.unknown.iter().any(|u| u.starts_with("read_time")), "{half:?}");
    let none = fit("own.toml", &device("")).expect_err("nothing to fit to");
    assert!(none.contains("sheet_random_read") && none.contains("own.toml"), "{none}");
    // What the slot does not carry is said, with what binds.
    let more = fit("own.toml", &device("sheet_sequential_read = \"30 GB/s\"\n")).expect("a fit");
    assert!(more.unknown.iter().any(|u| u.contains("sheet_sequential_read") && u.contains("slot")), "{more:?}");
    let no_drive = fit("own.toml", "kind = \"device\"\nabout = \"x\"\nis = \"ssd\"\n").expect_err("not on PCIe");
    assert!(!no_drive.is_empty());
}

/// A drive of the library says of every number of its sheet where it is from.
#[test]
fn every_number_names_its_origin() {
    for drive in drives() {
        let file = file(&drive);
        let stated = file.as_object().expect("a table").iter().filter(|(key, _)| key.starts_with("sheet_"));
        for (key, number) in stated {
            let of = |what: &str| number.get(what).and_then(|w| w.as_str()).unwrap_or_default().to_owned();
            assert!(of("source").len() > 20 && of("origin") == "stated", "{drive}: {key}: {number}");
            // What no page confirms is a guess, and says so.
            assert_eq!(
                of("source").contains("no search found it again"),
                of("confidence") == "guess",
                "{drive}: {key}"
            );
        }
    }
}
