//! The questions of all studies' quick rows with the library's own answers, a line of JSON each: web/test/rows.mjs asks
//! the engine the same, and holds every number against these. `seconds` is what the simulation took here.

use lanescope::library;
use lanescope::study::select;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Instant;

fn main() -> Result<(), String> {
    let mut asked = BTreeSet::new();
    for (study, rows) in select(&[])? {
        for row in rows.iter().filter(|r| r.quick) {
            let Some(scenario) = row.scenario.as_ref().filter(|s| !study.is_cluster(s)) else { continue };
            let simulate = row.methods != "estimate";
            if !asked.insert((study.id.clone(), scenario.clone(), row.set.clone(), simulate)) {
                continue;
            }
            let begun = Instant::now();
            let mut report = study.report(scenario, &row.set)?;
            let estimated = begun.elapsed();
            let mut seconds = 0.0;
            if simulate {
                report = study.simulated(scenario, &row.set)?;
                seconds = begun.elapsed().saturating_sub(2 * estimated).as_secs_f64();
            }
            let folder = format!("studies/{}", study.id);
            // What a study's scenario may name beside the library: its other files.
            let files: Vec<_> = library::study_files(&study.id)
                .into_iter()
                .filter(|(name, _)| name.ends_with(".toml") && *name != "study.toml" && *name != scenario.as_str())
                .map(|(name, text)| {
                    json!({
                        "reference": format!("./{name}"), "from": format!("{folder}/{scenario}"),
                        "name": format!("{folder}/{name}"), "text": text, "library": true,
                    })
                })
                .collect();
            let question = json!({
                "ask": "estimate", "name": format!("{folder}/{scenario}"), "library": true, "sets": row.set,
                "text": library::study_text(&study.id, scenario).unwrap_or_default(), "files": files,
            });
            let name = format!("{}:{}", study.id, row.id);
            println!("{}", json!({ "row": name, "question": question, "report": report, "seconds": seconds }));
        }
    }
    Ok(())
}
