//! Who is held back, by what, and what is said of it: DCQCN, and the victims of pauses.

use super::{frames, plan, planned, simulate, simulate_by};
use crate::common::flow;
use lanescope::estimate::estimate;
use lanescope::result::{Ending, Simulation};

fn case(name: &str) -> String {
    std::fs::read_to_string(format!("{}/tests/cases/{name}.toml", env!("CARGO_MANIFEST_DIR"))).expect("a case")
}

#[test]
fn a_source_that_dcqcn_holds_back_is_told_so() {
    let text = case("dcqcn-incast");
    let (made, diagnostics) = plan(&text, &[]);
    let made = made.expect("a plan");
    let report = estimate(&made, &diagnostics);
    // What the closed form says: the port that all meet at; and that it knows nothing of rates that are found again.
    assert_eq!(flow(&report, "incast").bound_by.element, "links.net.0 toward host.0");
    let told = report.notes.iter().find(|n| n.mechanism == "congestion-control").expect("a note");
    assert!(told.text.contains("have not recovered their rate get less"), "{told:?}");
    let seen = simulate_by(&made, 1, u64::MAX);
    let incast = &seen.flows[0];
    assert!(incast.rate.mean < 0.5 * flow(&report, "incast").share.typical, "it is held back");
    let f = frames(incast);
    assert!(f.notified > 0 && f.notified <= f.marked && f.marked <= f.delivered, "{f:?}");
    let by = &incast.bound_by;
    assert_eq!(by.resource, "congestion control", "{by:?}");
    let evidence = [format!("{} CNPs", f.notified), format!("{} marked", f.marked), "held back by DCQCN".to_owned()];
    assert!(evidence.iter().all(|e| by.evidence.contains(e)), "{by:?}");
    // Without it the port is full.
    let none = ["parts.leaf.congestion_control=none", "parts.spine.congestion_control=none"];
    let seen = simulate(&text, &none);
    assert!(seen.flows[0].rate.mean > 0.95 * flow(&report, "incast").share.typical);
}

/// Six send to one of another leaf over spines, and one of them to somebody else there.
fn victim(control: &str) -> Simulation {
    let text = case("dcqcn-incast").replace("flow_control = \"pfc\"", &format!("flow_control = \"{control}\""));
    simulate(&text, &["parts.leaf.congestion_control=none", "parts.spine.congestion_control=none"])
}

#[test]
fn a_victim_of_pauses_is_named_with_the_port_that_pauses_it() {
    let seen = victim("pfc");
    assert_eq!(seen.ending, Ending::Length);
    let said: Vec<_> = seen.notes.iter().filter(|n| n.mechanism == "pause").collect();
    let [note] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(note.element, "flows.victim");
    // It goes host.5, leaf.1, spine.0, leaf.0, host.1, and stands behind what is for host.0.
    assert!(note.text.contains("because of links.net.0 toward host.0"), "{}", note.text);
    assert!(note.text.contains("spine.0 port") || note.text.contains("leaf.1 port"), "{}", note.text);
    // Nobody pauses, nobody is a victim.
    assert_eq!(victim("none").notes, []);
}

/// A stream that saturates and gets less than its line carries has a reason, whatever slows it down.
#[test]
fn nobody_who_is_held_back_gets_all_that_it_asks_for() {
    for control in ["pause", "pfc", "credits", "none"] {
        for congestion in ["none", "dcqcn"] {
            for priority in ["0", "\"destination\""] {
                let text = case("dcqcn-incast")
                    .replace("flow_control = \"pfc\"", &format!("flow_control = \"{control}\""))
                    .replace("congestion_control = \"dcqcn\"", &format!("congestion_control = \"{congestion}\""))
                    .replace("size = ", &format!("priority = {priority}\nsize = "))
                    .replace("for = \"5 ms\"", "for = \"2 ms\"");
                let made = planned(&text, &[]);
                for f in simulate_by(&made, 1, u64::MAX).flows {
                    let line = 100e9 * f.each.len() as f64;
                    assert!(
                        f.rate.mean > 0.9 * line || f.bound_by.resource != "its own load",
                        "{control} {congestion} {priority}: {:?}",
                        f.bound_by
                    );
                }
            }
        }
    }
}

/// Each class is marked by its own queue: one that never waits behind its own frames is not marked, however long the
/// queues of others at the same port.
#[test]
fn marks_are_of_the_class_that_queues() {
    for (rule, flow_control) in [("turns", "pfc"), ("weighted", "pfc"), ("strict", "pfc"), ("turns", "none")] {
        let text = format!(
            "[parts.host]\nis = \"station\"\ncount = 4\n[parts.switch]\nis = \"ethernet-switch\"\n\
             flow_control = \"{flow_control}\"\ncongestion_control = \"dcqcn\"\nscheduling = \"{rule}\"\n\
             [links.net]\nbetween = [\"host.*\", \"switch\"]\nethernet = \"100 Gb/s\"\n\
             [flows.heavy]\nfrom = \"host.1-2\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\n\
             [flows.light]\nfrom = \"host.3\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\npriority = 5\n\
             load = {{ share = \"5 %\" }}\n[run]\nfor = \"2 ms\"\nwarmup = \"0 s\"\n"
        );
        let seen = simulate(&text, &[]);
        let of = |name: &str| frames(seen.flows.iter().find(|f| f.name == name).expect("a flow"));
        assert!(of("heavy").marked > 0, "{rule}: {:?}", of("heavy"));
        assert_eq!(of("light").marked, 0, "{rule}: {:?}", of("light"));
    }
}
