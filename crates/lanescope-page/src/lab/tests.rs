//! Questions that a page asks, answered on this machine: the answers are the library's.

use super::*;
use lanescope::study::select;

const TEXT: &str = include_str!("../../../lanescope-cli/src/starter.toml");

fn ask(lab: &mut Lab, question: Value) -> Value {
    serde_json::from_str(&lab.call(&question.to_string())).expect("JSON")
}

fn estimated(lab: &mut Lab, text: &str) -> Value {
    ask(lab, json!({ "ask": "estimate", "name": "s.toml", "text": text, "keep": false }))
}

#[test]
fn an_estimate_is_the_librarys_and_a_run_in_pieces_too() {
    let mut lab = Lab::default();
    let answer = estimated(&mut lab, TEXT);
    let ids: Vec<&str> =
        answer["sections"].as_array().expect("sections").iter().filter_map(|s| s["id"].as_str()).collect();
    assert!(ids.contains(&"answer") && ids.contains(&"topology") && !ids.contains(&"time"), "{ids:?}");
    assert_eq!(ask(&mut lab, json!({ "ask": "begin" }))["begun"], true);
    while ask(&mut lab, json!({ "ask": "advance", "events": 5_000 }))["done"] != true {}
    ask(&mut lab, json!({ "ask": "end" }));
    let report = ask(&mut lab, json!({ "ask": "report" }))["report"].clone();
    let model = lanescope::api::load("s.toml", TEXT).expect("reads");
    let wanted = model.simulate().expect("simulated");
    assert_eq!(serde_json::from_value::<Report>(report).expect("a report"), wanted);
    // Sampling it for a film is the same run.
    assert_eq!(ask(&mut lab, json!({ "ask": "film" }))["begun"], true);
    let film = loop {
        let answer = ask(&mut lab, json!({ "ask": "shoot" }));
        if answer["done"] == true {
            break answer["film"].clone();
        }
    };
    let frames = film["times"].as_array().map_or(0, Vec::len);
    assert!(frames > 100 && frames <= page::FRAMES, "{frames}");
    for column in film["columns"].as_array().expect("columns") {
        assert_eq!(column["shares"].as_array().map(Vec::len), Some(frames), "{column}");
    }
}

#[test]
fn what_is_wrong_is_said_where_it_is_and_the_last_answer_stays() {
    let mut lab = Lab::default();
    estimated(&mut lab, TEXT);
    // The place is in UTF-16 units: one letter of two bytes, and one of two units, stand before it.
    let text = TEXT.replace("title = \"two", "title = \"é𝄞").replace("\"gen3 x4\"", "\"gen3 x5\"");
    let answer = estimated(&mut lab, &text);
    assert_eq!(answer["refused"], true);
    let first = &answer["diagnostics"][0];
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |k: &str| first[k].as_u64().expect("a place") as usize;
    assert_eq!(String::from_utf16_lossy(&units[at("from")..at("to")]), "\"gen3 x5\"");
    assert!(ask(&mut lab, json!({ "ask": "link", "at": 0 }))["html"].is_string());
    for wrong in ["", "{}", "{\"ask\":\"estimate\"", "{\"ask\":\"fly\"}"] {
        assert!(lab.call(wrong).starts_with("{\"error\""), "{wrong}");
    }
    for early in ["begin", "end", "film", "shoot", "report", "values", "keep", "language"] {
        let answer = ask(&mut Lab::default(), json!({ "ask": early }));
        assert!(answer.is_object(), "{early}");
    }
    assert!(ask(&mut lab, json!({ "ask": "link", "at": 9999 }))["error"].is_string());
}

#[test]
fn a_scenario_too_large_for_a_page_names_the_command() {
    let text = TEXT.replace("count = 2", "count = 4500").replace("[parts.nic]", "ports = 4600\n[parts.nic]");
    let answer = estimated(&mut Lab::default(), &text);
    let said = format!("{}{}", answer["error"], answer["diagnostics"]);
    assert!(said.contains("lanescope run s.toml"), "{said}");
    // What is no plain name is not put into a command.
    assert_eq!(file_name("x; rm y"), "scenario.toml");
}

#[test]
fn files_that_a_scenario_names_are_found_in_the_page() {
    let device = "kind = \"device\"\nabout = \"a NIC\"\nis = \"endpoint\"\n";
    let text = TEXT.replace("use = \"example/nic-25g\"", "use = \"./nic.toml\"");
    let mut lab = Lab::default();
    assert_eq!(estimated(&mut lab, &text)["refused"], true);
    let nic = lanescope::library::platform_text("example/nic-25g").unwrap_or(device);
    let held =
        json!([{ "reference": "./nic.toml", "from": "s.toml", "name": "./nic.toml", "text": nic, "library": true }]);
    let answer = ask(&mut lab, json!({ "ask": "estimate", "name": "s.toml", "text": text, "files": held }));
    assert_eq!(answer["refused"], Value::Null, "{answer}");
}

/// Every value that the form offers can be written into the text as it stands, and the plan is what `--set` makes of
/// it.
#[test]
fn a_value_in_the_form_is_the_same_as_set() {
    let mut lab = Lab::default();
    let mut tried = 0;
    for text in [
        TEXT,
        include_str!("../../../lanescope-cli/src/starter-ethernet.toml"),
        include_str!("../../../lanescope-cli/src/starter-pci.toml"),
        include_str!("../../../lanescope-cli/src/starter-storage.toml"),
        include_str!("../../../lanescope-cli/src/starter-cluster.toml"),
        // One instance has values of its own, and another name needs quotes.
        &format!(
            "{TEXT}\n[parts.\"nic.1\"]\ntags = 8\n[flows.\"a < \\\"b\\\"\"]\nfrom = \"nic.0\"\nto = \"host.memory\"\n\
             do = \"write\"\nsize = \"1 KiB\"\n"
        ),
    ] {
        estimated(&mut lab, text);
        let values = ask(&mut lab, json!({ "ask": "values" }));
        assert_ne!(values["things"], json!([]), "{text}");
        for thing in values["things"].as_array().expect("things") {
            for v in thing["values"].as_array().expect("values").iter().filter(|v| v["known"] == true) {
                let (of, key) = (thing["path"].as_str().unwrap_or(""), v["key"].as_str().unwrap_or(""));
                let path = if of.is_empty() { key.to_owned() } else { format!("{of}.{key}") };
                let value = v["value"].as_str().unwrap_or("");
                let planned = |text: &str, sets: Vec<String>| {
                    let asked = Asked { name: "s.toml".into(), text: text.into(), sets, ..Asked::default() };
                    plan(&mut Diagnostics::default(), &asked).map(|p| p.fingerprint)
                };
                let by_set = planned(text, vec![format!("{path}={value}")]);
                match with_value(text, &path, value) {
                    Ok(edited) => {
                        assert_eq!(planned(&edited, Vec::new()), by_set, "{path} = {value}\n{edited}");
                        tried += 1;
                    }
                    Err(e) => panic!("{path} = {value}: {e}"),
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn overrides_become_part_of_the_text() {
    let sets = ["links.uplink.pcie=gen3 x8", "run.seed=7", "parts.\"nic.1\".tags=4"];
    let folded = ask(&mut Lab::default(), json!({ "ask": "fold", "name": "s.toml", "text": TEXT, "sets": sets }));
    assert_eq!(folded["sets"], json!([]), "{folded}");
    let text = folded["text"].as_str().expect("a text");
    assert!(text.contains("pcie = \"gen3 x8\"") && text.contains("seed = 7"));
    // One that cannot be written there stays what it is.
    let kept = ask(&mut Lab::default(), json!({ "ask": "fold", "name": "s.toml", "text": "x = ", "sets": ["a.b=1"] }));
    assert_eq!(kept["sets"], json!(["a.b=1"]));
}

#[test]
fn the_first_quick_row_of_every_study_is_the_studys_own() {
    for (study, rows) in select(&[]).expect("studies") {
        // Clusters of GPUs answer by their collectives, which the page does not ask.
        let plain = |s: &String| !study.is_cluster(s);
        let Some(row) = rows.iter().find(|r| r.quick && r.scenario.as_ref().is_some_and(plain)) else { continue };
        let scenario = row.scenario.as_deref().unwrap_or("");
        let files: Vec<Value> = lanescope::library::study_files(&study.id)
            .into_iter()
            .map(|(name, text)| {
                json!({
                    "reference": format!("./{name}"), "from": "", "name": format!("studies/{}/{name}", study.id),
                    "text": text, "library": true,
                })
            })
            .collect();
        let text = lanescope::library::study_text(&study.id, scenario).unwrap_or("");
        let mut lab = Lab::default();
        let name = format!("studies/{}/{scenario}", study.id);
        let question = json!({
            "ask": "estimate", "name": name, "text": text, "sets": row.set, "library": true, "files": files,
        });
        let answer = ask(&mut lab, question);
        assert!(answer["sections"].is_array(), "{}: {answer}", study.id);
        let report = ask(&mut lab, json!({ "ask": "report" }))["report"].clone();
        let wanted = study.report(scenario, &row.set).expect("answered");
        assert_eq!(serde_json::from_value::<Report>(report).expect("a report"), wanted, "{}", study.id);
    }
}

#[test]
fn bars_are_iometers_statistics_of_the_run() {
    let text = include_str!("../../../lanescope-cli/src/starter-storage.toml");
    let mut lab = Lab::default();
    assert_eq!(estimated(&mut lab, text)["ios"], true);
    let nothing = ask(&mut lab, json!({ "ask": "bars" }));
    assert!(nothing["shown"].is_null(), "{nothing}");
    ask(&mut lab, json!({ "ask": "begin" }));
    while ask(&mut lab, json!({ "ask": "advance", "events": 50_000 }))["done"] != true {}
    let whole = ask(&mut lab, json!({ "ask": "bars" }))["shown"].clone();
    ask(&mut lab, json!({ "ask": "end" }));
    let after = ask(&mut lab, json!({ "ask": "bars" }))["shown"].clone();
    let exact = |shown: &Value, i: usize| shown["bars"][i]["exact"].as_f64().expect("a number");
    assert_eq!(whole["bars"].as_array().map(Vec::len), Some(6));
    let rates = lab.report.as_ref().and_then(|r| r.simulation.as_ref()).expect("a run");
    let per_second: f64 = rates.flows.iter().filter_map(|f| f.ios.as_ref()).map(|i| i.per_second).sum();
    assert!((exact(&after, 0) / per_second - 1.0).abs() < 0.02, "{after} and {per_second}");
    assert!((exact(&whole, 0) / exact(&after, 0) - 1.0).abs() < 1e-9, "{whole} and {after}");
    // Reads and writes are all there is; who is asked for is who is shown.
    let bar = |statistic: &str, who: &str| json!({ "statistic": statistic, "who": who });
    let whom: Vec<String> = serde_json::from_value(after["whom"].clone()).expect("names");
    let parts = json!([
        bar("Read I/Os per Second", "all"),
        bar("Write I/Os per Second", "all"),
        bar("Total I/Os per Second", &whom[1]),
        bar("no statistic", "nobody")
    ]);
    let shown = ask(&mut lab, json!({ "ask": "bars", "bars": parts }))["shown"].clone();
    assert!((exact(&shown, 0) + exact(&shown, 1) - exact(&after, 0)).abs() < 1e-6, "{shown}");
    assert_eq!((shown["bars"][2]["who"].as_str(), shown["bars"][3]["who"].as_str()), (Some(&*whom[1]), Some("all")));
}
