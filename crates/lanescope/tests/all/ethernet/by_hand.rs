//! Frames whose every moment can be worked out on paper.

use super::{captured, frames, fs, plan, simulate, within};
use lanescope::estimate::estimate;
use lanescope::result::{Crossing, Idle, Simulation};

/// A byte at 10 Gb/s, fs.
pub(crate) const BYTE: u64 = 800_000;
pub(crate) const NS: u64 = 1_000_000;

/// One message a while: 1482 B make a frame of 1500 B, 1508 with its preamble, 1520 with its gap.
const TWO: &str = r#"
[parts.a]
is = "station"
[parts.b]
is = "station"
[parts.sw]
is = "ethernet-switch"
latency = "400 ns"
[links.in]
between = ["a", "sw"]
ethernet = "10 Gb/s"
delay = "100 ns"
[links.out]
between = ["sw", "b"]
ethernet = "10 Gb/s"
delay = "70 ns"
[flows.f]
from = "a"
to = "b"
do = "send"
size = "1482 B"
load = { rate = "100 Mb/s" }
[run]
for = "10 ms"
warmup = "0 s"
"#;

/// Latency of the only kind of message, and when the first frame begins on the second link.
fn way(sets: &[&str]) -> (u64, u64) {
    let (s, crossed) = captured(TWO, sets, "out");
    let f = &s.flows[0];
    assert!(f.operations > 50 && frames(f).dropped == 0);
    assert_eq!(fs(frames(f).transit.mean), fs(f.latency.mean), "nothing waits in the application");
    assert!((f.max / f.latency.mean - 1.0).abs() < 2e-3, "all take as long");
    let byte = 8_000_000_000_000_000 / s.links[2].coded as u64;
    (fs(f.latency.mean), crossed[0].at - 8 * byte)
}

#[test]
fn store_and_forward_to_the_femtosecond() {
    let begin = 1508 * BYTE + 100 * NS + 400 * NS;
    assert_eq!(way(&[]), (begin + 1508 * BYTE + 70 * NS, begin));
    // To a link of 40 Gb/s, and from one.
    assert_eq!(way(&["links.out.ethernet=40 Gb/s"]), (begin + 1508 * BYTE / 4 + 70 * NS, begin));
    let begin = 1508 * BYTE / 4 + 100 * NS + 400 * NS;
    assert_eq!(way(&["links.in.ethernet=40 Gb/s"]), (begin + 1508 * BYTE + 70 * NS, begin));
}

#[test]
fn cut_through_waits_for_the_header_and_from_slow_to_fast_for_all() {
    const CUT: &str = "parts.sw.forwarding=cut-through";
    // Preamble and header are 22 B.
    let begin = 22 * BYTE + 100 * NS + 400 * NS;
    assert_eq!(way(&[CUT]), (begin + 1508 * BYTE + 70 * NS, begin));
    let slower = 22 * BYTE / 4 + 100 * NS + 400 * NS;
    assert_eq!(way(&[CUT, "links.in.ethernet=40 Gb/s"]), (slower + 1508 * BYTE + 70 * NS, slower));
    let faster = 1508 * BYTE + 100 * NS + 400 * NS;
    assert_eq!(way(&[CUT, "links.out.ethernet=40 Gb/s"]), (faster + 1508 * BYTE / 4 + 70 * NS, faster));
}

#[test]
fn a_byte_is_padded_to_a_smallest_frame() {
    let s = simulate(TWO, &["flows.f.size=1 B", "flows.f.load={ rate = \"1 Mb/s\" }"]);
    assert_eq!(fs(s.flows[0].latency.mean), 2 * 72 * BYTE + 570 * NS);
    let slots = s.links[0].slots;
    let n = slots.data_tlps;
    assert!(n > 1000);
    assert_eq!((slots.payload, slots.framing, slots.padding, slots.gap), (n, 18 * n, 45 * n, 20 * n));
    assert_eq!(s.links[0].slots.data_tlps, frames(&s.flows[0]).sent);
}

#[test]
fn a_long_message_is_cut_into_frames_that_follow_one_another() {
    let (s, crossed) = captured(TWO, &["flows.f.size=4000 B"], "in");
    // 1538 slots, 1538, and 8 + 1018: the third leaves the switch when the second has.
    let second = (1538 + 1526) * BYTE + 500 * NS;
    assert_eq!(fs(s.flows[0].latency.mean), second + (1538 + 1026) * BYTE + 70 * NS);
    let data = |i: usize| match crossed[i].what {
        Crossing::Data { data, number, .. } => (crossed[i].at - 8 * BYTE, data, number),
        _ => panic!("data only"),
    };
    assert_eq!([0, 1, 2].map(data), [(0, 1500, 0), (1538 * BYTE, 1500, 1), (3076 * BYTE, 1000, 2)]);
}

fn slots(s: &Simulation, link: usize) -> [u64; 5] {
    let l = s.links[link].slots;
    [l.payload, l.framing, l.gap, l.padding, l.control]
}

#[test]
fn a_saturated_link_carries_1500_of_1538() {
    let s = simulate(TWO, &["flows.f.size=1500 B", "flows.f.load=saturate"]);
    let n = frames(&s.flows[0]).sent;
    // 10 ms are 12,500,000 B.
    let begun = 12_500_000u64.div_ceil(1538);
    assert_eq!(slots(&s, 0), [1500 * begun, 18 * begun, 20 * begun, 0, 0]);
    assert_eq!(s.links[0].slots.idle.iter().sum::<u64>(), 0, "it never idles");
    // 16 KiB hold 10 frames in the MAC and 10 in the adapter.
    assert!((begun + 19..=begun + 20).contains(&n), "{n} {begun}");
    within(3e-4, s.flows[0].rate.mean, 10e9 * 1500.0 / 1538.0);
    // The second link idles until the first frame is in, and no more.
    let idle = s.links[2].slots.idle[Idle::NothingToSend as usize];
    assert_eq!(idle, (1526 * BYTE + 500 * NS) / BYTE);
}

/// A MAC that holds one frame, and an adapter that holds one: whatever looks at the station meanwhile, the second
/// follows the first.
#[test]
fn small_buffers_let_frames_follow_one_another() {
    let s = simulate(TWO, &["parts.a.mac_buffer=1518 B", "parts.a.nic_buffer=1518 B", "flows.f.load=saturate"]);
    within(3e-4, s.flows[0].rate.mean, 10e9 * 1482.0 / 1520.0);
    let sets =
        ["parts.a.mac_buffer=1518 B", "parts.a.nic_buffer=3036 B", "flows.f.load={ share = \"70 %\", burst = 3 }"];
    let mut sets: Vec<&str> = sets.to_vec();
    sets.push("flows.f.load={ share = \"70 %\", arrivals = \"poisson\" }");
    let small = simulate(TWO, &sets);
    let large = simulate(TWO, &sets[3..]);
    assert_eq!(small.flows[0].latency, large.flows[0].latency, "a FIFO is a FIFO, wherever its frames stand");
}

/// `a` sends where nothing else does, now and then more than its queue takes; what `busy` sends fills a switch's
/// memory, which `a` passes too. Each flow is told of its own losses.
const TWO_LOSSES: &str = r#"
[parts.a]
is = "station"
queue = "10 kB"
nic_buffer = "2 kB"
mac_buffer = "2 kB"
[parts.end]
is = "station"
[parts.busy]
is = "station"
count = 2
[parts.hot]
is = "station"
[parts.sw]
is = "ethernet-switch"
memory = "100 kB"
[links.a]
between = ["a", "sw"]
ethernet = "10 Gb/s"
[links.end]
between = ["end", "sw"]
ethernet = "10 Gb/s"
[links.busy]
between = ["busy.*", "sw"]
ethernet = "10 Gb/s"
[links.hot]
between = ["hot", "sw"]
ethernet = "10 Gb/s"
[flows.queue]
from = "a"
to = "end"
do = "send"
size = "9000 B"
load = { rate = "5 Gb/s", arrivals = "poisson" }
[flows.memory]
from = "busy.*"
to = "hot"
do = "send"
size = "1500 B"
load = { rate = "7 Gb/s", arrivals = "poisson" }
[run]
for = "20 ms"
"#;

#[test]
fn frames_dropped_by_a_queue_are_no_switchs_losses() {
    let (made, d) = plan(TWO_LOSSES, &[]);
    let made = made.expect("a plan");
    let report = estimate(&made, &d).with(simulate(TWO_LOSSES, &[]));
    let s = report.simulation.as_ref().expect("simulated");
    let of = |name: &str| s.flows.iter().find(|f| f.name == name).expect("a flow");
    let (queue, memory) = (of("queue"), of("memory"));
    assert!(frames(queue).refused > 100 && frames(memory).refused == 0);
    assert_eq!((queue.bound_by.resource.as_str(), queue.bound_by.element.as_str()), ("queue", "parts.a"));
    assert!(frames(memory).dropped > 100, "{:?}", frames(memory));
    let said = report.notes.iter().any(|n| n.element == "flows.queue" && n.text.contains("a station's queue takes no"));
    assert!(said, "{:?}", report.notes);
}

/// What is larger than the queue is dropped whole, whenever it comes.
#[test]
fn messages_that_no_queue_takes_are_said() {
    let of = |text: &str, sets: &[&str]| {
        let (made, d) = plan(text, sets);
        (made.is_some(), d.to_string())
    };
    let checked = |sets: &[&str]| of(TWO_LOSSES, sets);
    assert_eq!(checked(&[]), (true, String::new()));
    let (made, says) = checked(&["flows.queue.size=10001 B"]);
    assert!(!made && says.contains("a queue of 10000 B holds no message of flow queue (10001 B)"), "{says}");
    let (made, says) = of(&TWO_LOSSES.replace("size = \"9000 B\"", "sizes = \"web-search\""), &[]);
    assert!(made && says.contains("% of the messages of flow queue"), "{says}");
    // What is drawn is never as large as the last point, which no message reaches.
    let points = "sizes = [[\"0 B\", \"0 %\"], [\"9000 B\", \"100 %\"], [\"1 MB\", \"100 %\"]]";
    assert_eq!(of(&TWO_LOSSES.replace("size = \"9000 B\"", points), &[]), (true, String::new()));
    assert_eq!(checked(&["flows.queue.size=1 MB", "flows.queue.load=saturate"]), (true, String::new()));
}

/// What a saturating source has begun never waited: another flow of its station finds the queue empty.
#[test]
fn an_endless_message_is_not_in_the_queue() {
    let beside = "[flows.beside]\nfrom = \"a\"\nto = \"end\"\ndo = \"send\"\nsize = \"1500 B\"\n\
                  load = { rate = \"10 Mb/s\" }\n[run]";
    let behind = TWO_LOSSES.replace("[run]", beside);
    let before = behind.replace("beside]", "a]").replace("queue]", "z]");
    for (text, endless, beside) in [(behind, "queue", "beside"), (before, "z", "a")] {
        let sets = [format!("flows.{endless}.size=1 MB"), format!("flows.{endless}.load=saturate")];
        let s = simulate(&text, &[&sets[0], &sets[1]]);
        let beside = s.flows.iter().find(|f| f.name == beside).expect("a flow");
        assert!(beside.operations > 5 && frames(beside).refused == 0, "{:?}", frames(beside));
    }
}
