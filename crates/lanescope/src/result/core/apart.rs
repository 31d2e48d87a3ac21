//! Where an estimate and a simulation part, and by what mechanism, as the simulation's own ledgers show it.
//!
//! The estimate divides what is full by turns. It knows neither how packets bunch nor how deep a buffer is when they
//! do. Each difference is put down to what the simulation saw hold the flow up, and the note says where that can be
//! seen.

use crate::result::{Ending, FlowReport, Idle, Note, Report, SimulatedFlow, SimulatedLink, Simulation};
use crate::units::{digits, human_time};

/// Shares and simulated rates of loads that queue should not be further apart.
const QUEUED: f64 = 0.05;
/// Nor those of loads that are carried whole.
const CARRIED: f64 = 0.02;

/// A link with so much of its time taken is full.
const FULL: f64 = 0.97;

/// An I/O that has been in flight for so many times the longest of those that were done is being overtaken.
const OVERTAKEN: f64 = 2.0;

/// The mechanism behind what the simulation found, by the resource that it named.
fn mechanism(resource: &str, evidence: &str) -> (&'static str, &'static str) {
    let said = |word: &str| evidence.contains(word);
    match resource {
        "credits" if said("buffer credit") || said("lane") => {
            ("credits", "the receiver returns credits more slowly under this load than unloaded")
        }
        "credits" => ("head-of-line-blocking", "packets that wait for something else fill the receiver's buffer"),
        "slots" => ("arbitration", "it is full, and packets reach it in another order than round robin by port"),
        "read requests in flight" => ("tags-under-load", "reads hold their tags for longer than unloaded"),
        "turn-around" | "engine" => ("requester", "the requester itself decides when it sends"),
        "replay buffer" => ("replay-buffer", "packets wait longer for their Ack than unloaded"),
        "its own load" => ("bunching", "operations arrive in bursts, and between them nothing waits"),
        _ => ("queueing", "it is held up there for longer than unloaded"),
    }
}

/// A note for each flow group whose share and simulated rate differ by more than either method can be trusted to.
pub(in crate::result) fn notes(report: &Report, simulation: &Simulation) -> Vec<Note> {
    let mut all = Vec::new();
    for (f, s) in report.flows.iter().zip(&simulation.flows) {
        all.extend(overtaken(s));
        // What chance may be explains nothing; what a cache took in is counted, and no chance.
        let cached = s.filled_caches(f.share.typical);
        let Some(off) = s.off(f.share.typical).or(cached.map(|_| s.rate.mean / f.share.typical - 1.0)) else {
            continue;
        };
        // A flow that has the system to itself queues for nothing but itself.
        let alone = report.flows.len() == 1 && f.instances == 1;
        let limit = if alone || f.bound_by.resource == "its own load" { CARRIED } else { QUEUED };
        // What has begun before the window and what ends after it are as many, but for one operation of each instance.
        let expected = f.share.typical / 8.0 * simulation.window / f.operation.unwrap_or(0.0);
        let edge = f.instances as f64 / expected;
        if !off.is_finite() || off.abs() <= limit || s.program.is_some() {
            continue;
        }
        if off.abs() <= limit + edge {
            let why = format!(
                "{} operations were counted, and one more or less of each instance at the window's ends is {:.1} %",
                s.operations,
                edge * 100.0
            );
            all.push(note(&f.name, "short-window", off, why));
            continue;
        }
        if matches!(simulation.ending, Ending::Deadlock { .. }) {
            all.push(note(&f.name, "deadlock", off, "the run ended in a deadlock".into()));
            continue;
        }
        if let Some((mechanism, why)) = of_priorities(s, report, simulation) {
            all.push(note(&f.name, mechanism, off, why));
            continue;
        }
        if let Some((mechanism, why)) = of_order(s, off, simulation).or_else(|| of_frames(s, off, report, simulation)) {
            all.push(note(&f.name, mechanism, off, why));
            continue;
        }
        if let Some((cached, time)) = cached {
            let (cached, time) = (digits(cached / 1e6), human_time(time));
            let why =
                format!("write caches were filling, {cached} MB in the {time} that count: a longer run gets less");
            all.push(note(&f.name, "filling", off, why));
            continue;
        }
        let (mechanism, why) = match mechanism(&s.bound_by.resource, &s.bound_by.evidence) {
            ("arbitration", _) if simulation.flow_level => {
                ("flow-level", "messages share it max-min fair, where the estimate divides it by turns")
            }
            ("arbitration", _) if s.frames.is_some() && idle(&s.bound_by.element, simulation) > 1.0 - FULL => {
                ("head-of-line-blocking", "it is idle at times: packets for it wait behind others that cannot go on")
            }
            named => named,
        };
        // Closed loads that wait behind one another wait about as long each, so who has the shorter way asks again
        // sooner: their rates are as what they have outstanding over its time, not as turns.
        if off > 0.0
            && mechanism == "bunching"
            && let Some(other) = farther(report, simulation, f)
        {
            let [near, far] = [&f.latency, &other.latency].map(|l| human_time(l.typical));
            let why = format!("its round trip is short: {near} unloaded, {far} of {}, which waits as long", other.name);
            all.push(note(&f.name, "round-trip", off, why));
            continue;
        }
        // By Little's law a load that waits for what it has sent gets less by as much as its operations take longer.
        let (loaded, unloaded) = (s.latency.mean, f.latency.typical);
        let longer = loaded / unloaded - 1.0;
        let explains = longer > -0.5 * off && longer < -3.0 * off;
        // As many in flight as the share counts with: the longer time is all that it lacks, however full a link is.
        let waits = off < 0.0 && mechanism == "arbitration" && ((1.0 + off) * (1.0 + longer)).ln().abs() < 0.1;
        // What idles for want of credit for a small part of what the flow lacks holds it up less than what it waits
        // for.
        let minor = mechanism == "head-of-line-blocking"
            && longer > -0.5 * off
            && starved(&s.bound_by.element, simulation) < off.abs() / 4.0;
        let dllps = if alone { before_packets(simulation) } else { 0.0 };
        let (mechanism, why) = if explains && (alone || mechanism == "bunching") || minor || waits {
            let [loaded, unloaded] = [loaded, unloaded].map(human_time);
            let takes = format!("each takes {loaded}, {unloaded} unloaded");
            match alone {
                true if dllps >= -off => {
                    let part = dllps * 100.0;
                    let why = format!("its packets wait for DLLPs and ordered sets ({part:.1} % of the time): {takes}");
                    ("dllps", why)
                }
                // One at a time has no other to wait for.
                true if s.in_flight < 1.5 => {
                    let why = format!("parts of an operation (TLPs, commands, pages) wait for each other: {takes}");
                    ("latency-under-load", why)
                }
                true => ("latency-under-load", format!("its operations wait for each other: {takes}")),
                false => ("latency-under-load", format!("its operations wait behind packets of others: {takes}")),
            }
        } else {
            (mechanism, why.to_owned())
        };
        let (mechanism, why) = match mechanism {
            // Whatever holds a flow up makes none faster.
            "queueing" | "credits" | "replay-buffer" if off > 0.0 => {
                ("overlap", "waits overlap by more than the estimate assumes".to_owned())
            }
            _ => (mechanism, why),
        };
        let why = format!("{}, {}: {why}", s.bound_by.element, s.bound_by.evidence);
        all.push(note(&f.name, mechanism, off, why));
    }
    all
}

/// A flow whose I/Os do not all come to an end: averages of those that do say nothing of the others.
fn overtaken(s: &SimulatedFlow) -> Option<Note> {
    let oldest = s.ios.as_ref()?.oldest;
    // Where none began and ended in the window, none overtakes.
    (s.operations > 0 && s.max > 0.0 && oldest > OVERTAKEN * s.max).then(|| {
        let [oldest, longest] = [oldest, s.max].map(human_time);
        let text = format!(
            "at the end of the run an I/O had been in flight for {oldest}, and the longest of those that were done \
             took {longest}: others overtake it, and latencies count only what is done"
        );
        Note { element: format!("flows.{}", s.name), mechanism: "starvation".into(), text }
    })
}

/// The flow with the longest way, if that is longer than that of this one and it gets less than its share.
fn farther<'a>(report: &'a Report, simulation: &Simulation, f: &FlowReport) -> Option<&'a FlowReport> {
    let pairs = report.flows.iter().zip(&simulation.flows);
    let less = pairs.filter(|(g, s)| s.rate.mean < g.share.typical && g.latency.typical > 1.02 * f.latency.typical);
    less.map(|(g, _)| g).max_by(|a, b| a.latency.typical.total_cmp(&b.latency.typical))
}

/// For what part of the time links sent what goes before packets, all directions added: DLLPs and ordered sets. Packets
/// that wait for one another cannot lose more to them.
fn before_packets(simulation: &Simulation) -> f64 {
    let of = |l: &SimulatedLink| {
        let s = &l.slots;
        (s.acks + s.update_fc + s.ordered_sets) as f64 / s.total().max(1) as f64
    };
    simulation.links.iter().map(of).sum()
}

/// For what part of its time a link carried nothing.
fn idle(element: &str, simulation: &Simulation) -> f64 {
    let named = simulation.links.iter().find(|l| crate::result::way(&l.name, &l.to) == element);
    named.map_or(0.0, |l| 1.0 - l.utilisation())
}

/// For what part of its time a link was idle for want of credit.
fn starved(element: &str, simulation: &Simulation) -> f64 {
    let named = simulation.links.iter().find(|l| crate::result::way(&l.name, &l.to) == element);
    named.map_or(0.0, |l| {
        let idle = Idle::ALL.into_iter().zip(l.slots.idle).filter(|(c, _)| c.is_credit());
        idle.map(|(_, n)| n).sum::<u64>() as f64 / l.slots.total().max(1) as f64
    })
}

fn note(flow: &str, mechanism: &str, off: f64, why: String) -> Note {
    let way = if off < 0.0 { "below" } else { "above" };
    let text = format!("simulated {:.1} % {way} its share: {why}", off.abs() * 100.0);
    Note { element: format!("flows.{flow}"), mechanism: mechanism.into(), text }
}

/// Priorities that one of the methods does not know, where a link on the way is full: it sends others first.
fn of_priorities(s: &SimulatedFlow, report: &Report, simulation: &Simulation) -> Option<(&'static str, String)> {
    s.frames.as_ref()?;
    let ignored = report.not_modelled.iter().find(|n| n.mechanism == "priorities")?;
    let full = s.links(simulation).filter(|l| l.utilisation() > FULL);
    let full = full.reduce(|a, b| if b.utilisation() > a.utilisation() { b } else { a })?;
    let method = if ignored.methods.iter().any(|m| m == "simulate") { "simulation" } else { "estimate" };
    let name = crate::result::way(&full.name, &full.to);
    Some(("priorities", format!("{name} is full, and the {method} takes no account of {}", ignored.key)))
}

/// Frames that nobody dropped and that are sent again all the same: they overtook one another.
fn of_order(s: &SimulatedFlow, off: f64, simulation: &Simulation) -> Option<(&'static str, String)> {
    let frames = s.frames.as_ref()?;
    let lost = simulation.flows.iter().filter_map(|f| f.frames.as_ref()).any(|f| f.dropped > 0);
    let again = frames.resent as f64 / frames.sent.max(1) as f64;
    (off < 0.0 && !lost && again > 0.01).then(|| {
        let part = 100.0 * again;
        let why = format!(
            "{part:.1} % of its frames were sent again though none was dropped: they overtake one another on parallel \
             paths, and a receiver that is missing one (go-back-N) takes none behind it"
        );
        ("reordering", why)
    })
}

/// What frames of Ethernet met that shares know nothing of: memories that were full, sources that were held back. Who
/// is faster than its share was not held up by it: others were, and more.
fn of_frames(s: &SimulatedFlow, off: f64, report: &Report, simulation: &Simulation) -> Option<(&'static str, String)> {
    /// Less explains nothing.
    const MUCH: f64 = 0.01;
    let lost = |s: &SimulatedFlow| s.frames.map_or(0.0, |f| f.dropped as f64 / f.sent.max(1) as f64);
    let frames = s.frames.as_ref()?;
    let mine = lost(s);
    let others = simulation.flows.iter().filter(|t| t.name != s.name);
    if off > 0.0 {
        let most = others.clone().map(lost).fold(0.0, f64::max);
        if most > mine + MUCH {
            let [mine, most] = [mine, most].map(|part| 100.0 * part);
            let why =
                format!("others lost more: {most:.1} % of the frames of one were dropped, {mine:.1} % of its own");
            return Some(("drops", why));
        }
    } else if mine > MUCH {
        let why = if 2 * frames.refused > frames.dropped {
            "a station's queue takes no message that it has no room for"
        } else {
            "a full memory drops whatever arrives, even what would leave by another port"
        };
        return Some(("drops", format!("{:.1} % of its frames were dropped: {why}", mine * 100.0)));
    }
    const CAUSES: [(Idle, &str); 3] = [(Idle::Grants, "grants"), (Idle::Stopped, "stops"), (Idle::Paused, "pause")];
    let part = |l: &SimulatedLink, cause: Idle| l.slots.idle[cause as usize] as f64 / l.slots.total().max(1) as f64;
    let most = |s: &SimulatedFlow| {
        let held = s.links(simulation).flat_map(|l| CAUSES.map(|(cause, word)| (part(l, cause), l, cause, word)));
        held.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|held| held.0 > MUCH)
    };
    let own = most(s);
    if off > 0.0 {
        let held = own.map_or(0.0, |own| own.0);
        let (most, _, cause, word) = others.filter_map(most).max_by(|a, b| a.0.total_cmp(&b.0))?;
        return (most > held + MUCH).then(|| {
            let [most, held] = [most, held].map(|part| 100.0 * part);
            let why = format!("others are held up more ({}), {most:.1} % of the time, it {held:.1} %", cause.words());
            (word, why)
        });
    }
    let (most, link, cause, word) = own?;
    let victim = || {
        let element = format!("flows.{}", s.name);
        report.notes.iter().any(|n| n.element == element && n.mechanism == "pause")
    };
    let why = match cause {
        Idle::Grants => "what is granted to sources on slow paths is not available to others",
        Idle::Stopped => "a source that was stopped learns late that it may send again",
        _ if victim() => "a pause also holds up frames for other destinations",
        _ => "who is paused has no turn meanwhile, whoever is not may go on",
    };
    let name = crate::result::way(&link.name, &link.to);
    Some((word, format!("{name} was idle for {:.1} % of its time: {}: {why}", most * 100.0, cause.words())))
}

impl SimulatedFlow {
    /// The links of a run that it goes over. A flow that has a run to itself goes over all that carry anything.
    pub(in crate::result) fn links<'a>(&self, simulation: &'a Simulation) -> impl Iterator<Item = &'a SimulatedLink> {
        let (ways, alone) = (self.ways.clone(), self.ways.is_empty() && simulation.flows.len() == 1);
        let all = simulation.links.iter().zip(0u32..);
        all.filter(move |(l, at)| ways.binary_search(at).is_ok() || alone && l.slots.tlps > 0).map(|(l, _)| l)
    }
}
