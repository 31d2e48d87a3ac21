//! 802.3x by hand, and against a second opinion of when a MAC may begin a frame.

use super::by_hand::{BYTE, NS};
use super::{captured, dropped, simulate};
use lanescope::result::{Crossed, Crossing, Idle};

/// Two senders into one sink, who want more than their lines carry from the first moment on; saturating ones would
/// begin at moments of their own. 1482 B make 1508 B with the preamble, 1520 slots: 1206.4 and 1216 ns.
const MERGE: &str = r#"
[parts.a]
is = "station"
pause_response = "100 ns"
[parts.b]
is = "station"
pause_response = "100 ns"
[parts.c]
is = "station"
[parts.sw]
is = "ethernet-switch"
latency = "0 ns"
memory = "64 kB"
flow_control = "pause"
high_threshold = "6 kB"
low_threshold = "3 kB"
[links.a]
between = ["a", "sw"]
ethernet = "10 Gb/s"
delay = "100 ns"
[links.b]
between = ["b", "sw"]
ethernet = "10 Gb/s"
delay = "100 ns"
[links.c]
between = ["sw", "c"]
ethernet = "10 Gb/s"
delay = "100 ns"
[flows.a]
from = "a"
to = "c"
do = "send"
size = "1482 B"
load = { rate = "10 Gb/s" }
[flows.b]
from = "b"
to = "c"
do = "send"
size = "1482 B"
load = { rate = "10 Gb/s" }
[run]
for = "14 us"
warmup = "0 s"
"#;

const FRAME: u64 = 1508 * BYTE;
const SLOT: u64 = 1520 * BYTE;
/// A pause frame with its preamble, and with its gap.
const PAUSE: u64 = 72 * BYTE;
const PAUSE_SLOT: u64 = 84 * BYTE;

/// When each frame began, with the quanta of pauses.
fn began(crossed: &[Crossed], down: bool) -> Vec<(u64, Option<u16>)> {
    let quanta = |what: &Crossing| match what {
        Crossing::Pause { quanta, .. } => Some(*quanta),
        _ => None,
    };
    crossed.iter().filter(|c| c.down == down).map(|c| (c.at - 8 * BYTE, quanta(&c.what))).collect()
}

/// Frames come in pairs at `first` and every slot after. One goes out of each pair: 2, 3, 4, 5 stand there at the first
/// four pairs, and the fourth's second makes 7500 B of more than 6000.
#[test]
fn a_pause_frame_stops_and_xon_starts() {
    let (s, a) = captured(MERGE, &[], "a");
    let (_, c) = captured(MERGE, &[], "c");
    let first = FRAME + 100 * NS;
    let xoff = first + 3 * SLOT;
    // The fifth of each has begun when it comes: xoff + 57.6 + 100 + 100 ns lies within it.
    let mut want: Vec<(u64, Option<u16>)> = (0..5).map(|k| (k * SLOT, None)).collect();
    // The sink's wire is busy with the fourth: its pause frame goes next, and holds up what follows.
    let fifth = first + 4 * SLOT + PAUSE_SLOT;
    let out: Vec<(u64, Option<u16>)> = (0..4).map(|k| (first + k * SLOT, None)).collect();
    let out = [out, vec![(first + 4 * SLOT, Some(65535))]].concat();
    let out = [out, (0..5).map(|k| (fifth + k * SLOT, None)).collect()].concat();
    // Ten frames came; when nine are gone 1500 B are left, below 3000. The wire to the sink is in its gap then.
    let xon = fifth + 4 * SLOT + FRAME;
    let out = [out, vec![(fifth + 5 * SLOT, Some(0)), (fifth + 5 * SLOT + PAUSE_SLOT, None)]].concat();
    assert_eq!(began(&c, true)[..out.len()], out[..]);
    assert_eq!(began(&a, false), [(xoff, Some(65535)), (xon, Some(0))]);
    let again = xon + PAUSE + 100 * NS;
    want.push((again, None));
    want.push((again + SLOT, None));
    assert_eq!(began(&a, true), want);
    assert_eq!(s.links[1].pauses, (1, 1));
    assert_eq!(dropped(&s), 0);
    // Most was there when the fifth pair came: four had left.
    assert_eq!(s.switches[0].memory.expect("a memory").most, 6 * 1500);
}

/// Twenty quanta are 1024 ns: said again every 512, they hold as well as a long one.
#[test]
fn short_pauses_are_said_again() {
    let sets = ["parts.sw.pause_quanta=20"];
    let (s, a) = captured(MERGE, &sets, "a");
    let xoff = FRAME + 100 * NS + 3 * SLOT;
    let fifth = xoff + SLOT + PAUSE_SLOT;
    // The sink's wire has a pause frame behind each data frame, and once two: the sixth refresh comes while one goes
    // out (7514.4 within 7453.6 to 7520.8 ns).
    let due = fifth + 4 * (SLOT + PAUSE_SLOT) + PAUSE_SLOT + FRAME;
    let said: Vec<(u64, Option<u16>)> = (0..16).map(|n| (xoff + n * 512 * NS, Some(20))).collect();
    // The sixteenth is on the wire when the memory falls below the threshold, at 12644 ns.
    let xon = said[15].0 + PAUSE_SLOT;
    assert!(said[15].0 < due && due < xon);
    assert_eq!(began(&a, false), [said, vec![(xon, Some(0))]].concat());
    assert_eq!(began(&a, true)[5].0, xon + PAUSE + 100 * NS);
    assert_eq!(s.links[1].pauses, (16, 1));
}

/// A second opinion: when a saturated station begins its frames, given the pause frames that came in over its link.
fn obedient(crossed: &[Crossed], response: u64, delay: u64, end: u64) -> Vec<u64> {
    let mut pauses = began(crossed, false).into_iter().filter_map(|(at, q)| Some((at + PAUSE + delay, q?))).peekable();
    let (mut from, mut until, mut at, mut all) = (0, 0, 0, Vec::new());
    while at < end {
        // What has come by the moment at which a frame could begin; an end of a pause may come while it waits.
        while let Some(&(came, quanta)) = pauses.peek() {
            let held = from <= at && at < until;
            if came > if held { until } else { at } {
                break;
            }
            pauses.next();
            if held && quanta == 0 {
                at = at.max(came);
            }
            if quanta > 0 && came >= until {
                from = came + response;
            }
            until = if quanta == 0 { until.min(came) } else { came + quanta as u64 * 64 * BYTE };
        }
        if from <= at && at < until {
            at = until;
            continue;
        }
        all.push(at);
        at += SLOT;
    }
    all.retain(|at| *at < end);
    all
}

/// The way back is busy with frames, so that pause frames come late and lapse: the station sends in between, just as
/// they say.
#[test]
fn a_station_obeys_whatever_pause_frames_say() {
    let back = format!(
        "{MERGE}\n[flows.back]\nfrom = \"c\"\nto = \"a\"\ndo = \"send\"\nsize = \"1482 B\"\nload = {{ rate = \"10 \
            Gb/s\" }}\n"
    );
    let text = back.replace("14 us", "300 us");
    let mut lapsed = 0;
    for quanta in [1, 5, 10, 14, 20, 24, 30, 100, 65535] {
        for response in [0, 100, 900, 3000] {
            let (q, r) = (format!("parts.sw.pause_quanta={quanta}"), format!("parts.a.pause_response={response} ns"));
            let (_, a) = captured(&text, &[&q, &r], "a");
            let began: Vec<u64> = began(&a, true).into_iter().map(|b| b.0).collect();
            let want = obedient(&a, response * NS, 100 * NS, 300_000 * NS);
            assert_eq!(began, want, "{quanta} quanta, {response} ns");
            lapsed += u32::from(began.len() > 140);
        }
    }
    println!("{lapsed} of 36 let more through than the sink takes");
    assert!(lapsed > 0, "some pauses lapse");
}

/// Causes of idleness that end between slots: whenever a window opens, none of them gives a slot back.
#[test]
fn windows_may_open_at_any_moment() {
    let mut paused = 0;
    for n in 0..200 {
        let warmup = format!("run.warmup={} ps", 1_000_000_000 + 333_337 * n);
        let seed = format!("run.seed={n}");
        let odd = [
            "links.a.delay=100123 ps",
            "links.b.delay=77777 ps",
            "parts.a.pause_response=33333 ps",
            "run.for=4000437 ps",
        ];
        // Paused and without anything to send in turns: the fractions of slots of both add up.
        let load = ["flows.a.load={ share = \"48 %\", burst = 30 }", "flows.b.load={ share = \"48 %\", burst = 30 }"];
        let s = simulate(MERGE, &[&odd[..], &load, &[&warmup, &seed]].concat());
        paused += s.links.iter().map(|l| l.slots.idle[Idle::Paused as usize]).sum::<u64>();
    }
    assert!(paused > 100);
}

/// PFC stops one priority of one port; the other goes on.
#[test]
fn pfc_stops_only_the_priority_that_fills_the_memory() {
    let text =
        MERGE.replace("\"pause\"", "\"pfc\"").replace("14 us", "1 ms").replace("high_threshold = \"6 kB\"\n", "");
    let text = text.replace("low_threshold = \"3 kB\"\n", "").replace("64 kB", "200 kB");
    let other = "[parts.d]\nis = \"station\"\n[links.d]\nbetween = [\"sw\", \"d\"]\nethernet = \"10 \
        Gb/s\"\n[flows.free]\nfrom = \"a\"\nto = \"d\"\ndo = \"send\"\nsize = \"1482 B\"\npriority = 3\n";
    let s = simulate(&format!("{text}{other}"), &[]);
    let rate =
        |name: &str| s.flows.iter().find(|f| f.name == name).expect("the flow").rate.mean / 10e9 * 1520.0 / 1482.0;
    assert_eq!(dropped(&s), 0);
    assert!(s.links.iter().any(|l| l.pauses.0 > 0));
    // The sink is shared; what is left of a's link goes elsewhere, but for what pause frames take.
    assert!((rate("a") - 0.5).abs() < 0.02 && (rate("b") - 0.5).abs() < 0.02, "{} {}", rate("a"), rate("b"));
    assert!(rate("free") > 0.48, "{}", rate("free"));
}
