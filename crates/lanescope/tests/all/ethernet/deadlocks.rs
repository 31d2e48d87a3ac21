//! Circles of switches that wait for one another.

use super::{frames, simulate};
use lanescope::result::{Ending, Simulation};
use std::fmt::Write;

/// Five switches in a ring, a host on each; host i sends to host i + `ahead`, the way around clockwise.
pub(super) fn ring(ahead: usize, control: &str) -> String {
    let mut text = format!(
        "[parts.h]\nis = \"station\"\ncount = 5\n[parts.s]\nis = \"ethernet-switch\"\ncount = 5\nflow_control = \
            \"{control}\"\nmemory = \"100 kB\"\n\
         [links.host]\nbetween = [\"h.*\", \"s.*\"]\nethernet = \"10 Gb/s\"\ndelay = \"50 ns\"\n"
    );
    for i in 0..5 {
        let (next, to) = ((i + 1) % 5, (i + ahead) % 5);
        let _ = write!(
            text,
            "[links.ring{i}]\nbetween = [\"s.{i}\", \"s.{next}\"]\nethernet = \"10 Gb/s\"\ndelay = \"50 ns\"\n\
             [flows.f{i}]\nfrom = \"h.{i}\"\nto = \"h.{to}\"\ndo = \"send\"\nsize = \"1482 B\"\n"
        );
    }
    text + "[run]\nfor = \"100 ms\"\nwarmup = \"0 s\"\n"
}

fn circle(s: &Simulation) -> Vec<String> {
    match &s.ending {
        Ending::Deadlock { circle } => circle.clone(),
        other => panic!("no deadlock, but {other:?} at {} s", s.window),
    }
}

#[test]
fn a_ring_that_waits_for_itself_is_found() {
    for control in ["pause", "pfc"] {
        for quanta in [65535, 100] {
            let s = simulate(&ring(2, control), &[&format!("parts.s.pause_quanta={quanta}")]);
            let mut circle = circle(&s);
            println!("{control} {quanta}: {circle:?} at {} s", s.window);
            assert!(s.window < 0.05, "found at {} s", s.window);
            circle.sort();
            let want: Vec<String> = (0..5).map(|i| format!("links.ring{i} toward s.{}: paused", (i + 1) % 5)).collect();
            assert_eq!(circle, want, "{control}");
            assert!(s.flows.iter().all(|f| frames(f).dropped == 0));
        }
    }
}

#[test]
fn a_ring_of_neighbours_never_waits_for_itself() {
    for control in ["pause", "pfc"] {
        for quanta in [65535, 100] {
            let s = simulate(&ring(1, control), &[&format!("parts.s.pause_quanta={quanta}"), "run.for=20 ms"]);
            assert_eq!(s.ending, Ending::Length, "{control}");
            assert!(s.flows.iter().all(|f| f.rate.mean > 9.7e9 && frames(f).dropped == 0), "{control}");
        }
    }
}

/// Without flow control there is loss, and no circle; with credits neither.
#[test]
fn what_pauses_nobody_has_no_circles() {
    let s = simulate(&ring(2, "none"), &["run.for=20 ms"]);
    assert_eq!(s.ending, Ending::Length);
    assert!(s.flows.iter().any(|f| frames(f).dropped > 100));
    let s = simulate(&ring(2, "credits"), &["run.for=20 ms"]);
    assert_eq!(s.ending, Ending::Length);
    for f in &s.flows {
        assert!(frames(f).dropped == 0 && f.rate.mean > 3e9, "{}", f.rate.mean);
    }
}
