//! What cannot be simulated is said before any work: too much memory, or a link that the simulator does not know.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::{Hop, Plan, Program};
use crate::protocol::pci::Standard;
use crate::protocol::pcie::Framing;
use crate::scenario::PartKeys;
use crate::sim::level::fits;
use crate::units::Time;

/// Operations that closed loads may hold in flight, all together: a bound on the memory of a run.
const MOST_IN_FLIGHT: u64 = 1 << 22;
/// How long an Ethernet is simulated at most, fs: 2 h. The moment of a message is reckoned from the beginning, in half
/// of what a clock can count.
const LONGEST_ETHERNET: u64 = 7_200_000_000_000_000_000;
/// How long I/Os are simulated at most, fs: 5 h. What is under way then ends later, and a clock counts to 5.1 h.
const LONGEST_STORAGE: u64 = 18_000_000_000_000_000_000;
/// Whether a plan can be simulated; if not, why not is in `diagnostics`.
pub(super) fn check(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let mut fine = true;
    for link in plan.links.iter() {
        let speed = link.speed.typical;
        if speed.generation.framing() == Framing::Flits {
            fine = false;
            diagnostics.push(
                Diagnostic::error(link.speed.span, format!("links.{}: FLIT mode cannot be simulated yet", link.name))
                    .hint("lanescope estimate gives its rates; Gen1 to Gen5 can be simulated"),
            );
        }
    }
    if plan.limits.length == Some(Time::ZERO) || plan.limits.max_time == Time::ZERO {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of 0 s has no answer").hint("run.for and run.max_time are above 0 s"),
        );
    }
    fine &= fits(plan, diagnostics);
    let length = plan.limits.length.unwrap_or(plan.limits.max_time).fs();
    let warmup = plan.limits.warmup.map_or(plan.limits.length.map_or(0, |l| l.fs() / 10), |w| w.fs());
    if !plan.network.streams.is_empty() && length.saturating_add(warmup) > LONGEST_ETHERNET {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of more than 2 h of Ethernet, warm-up included")
                .hint("shorten run.for, run.warmup or run.max_time: a millisecond is many thousand frames"),
        );
    }
    if !plan.storage.flows.is_empty() && length.saturating_add(warmup) > LONGEST_STORAGE {
        fine = false;
        diagnostics.push(
            Diagnostic::error(None, "a simulation of more than 5 h of I/Os, warm-up included")
                .hint("shorten run.for, run.warmup or run.max_time: a minute is many thousand I/Os"),
        );
    }
    let mut flights = 0u64;
    for bus in &plan.buses.buses {
        if bus.speed.typical.standard() == Standard::Isa {
            fine = false;
            let what = format!("links.{}: ISA cannot be simulated: only its peak rate is known", bus.name);
            diagnostics.push(Diagnostic::error(bus.speed.span, what).hint("PCI and PCI-X can be simulated"));
        }
    }
    let pcie = plan.flows.iter().map(|f| (&f.name, &f.load, &f.program));
    for (name, load, program) in pcie.chain(plan.buses.flows.iter().map(|f| (&f.name, &f.load, &f.program))) {
        if let Program::Closed { outstanding, round_trip, .. } = *program {
            flights += outstanding as u64;
            if round_trip.is_some() {
                fine = false;
                let what = format!("flow {name}: a stated round_trip cannot be simulated");
                diagnostics.push(
                    Diagnostic::error(load.span, what)
                        .hint("the simulation finds the round trip; lanescope estimate takes it as given"),
                );
            }
        }
        if flights > MOST_IN_FLIGHT {
            fine = false;
            let what = format!("the closed loads keep more than {MOST_IN_FLIGHT} operations in flight");
            diagnostics.push(Diagnostic::error(load.span, what).hint("a simulation remembers each of them"));
            break;
        }
    }
    fine &= under_way(plan, diagnostics);
    let ports: u64 = plan
        .parts
        .iter()
        .filter(|p| matches!(p.keys, PartKeys::Switch(_)))
        .map(|p| p.ports.len() as u64)
        .map(|n| n * n)
        .sum();
    if ports > 1 << 22 {
        fine = false;
        diagnostics.push(Diagnostic::error(None, "the switches have too many ports to be simulated"));
    }
    fine
}

/// The packets that links and buffers hold, which grow with latency x rate; no more can be than a run may send.
fn under_way(plan: &Plan, diagnostics: &mut Diagnostics) -> bool {
    let mut crossed: Vec<Hop> =
        plan.flows.iter().flat_map(|f| f.route.iter().chain(&f.back)).flat_map(|h| [*h, h.reversed()]).collect();
    crossed.sort_unstable_by_key(|h| (h.link.0, h.direction.from()));
    crossed.dedup();
    let mut all = 0.0;
    for hop in crossed {
        let (link, to) = (plan.link(hop.link), plan.part(plan.arrives(hop)));
        // The least that is sent in numbers: a cache line with its header and framing.
        let packets = link.speed.typical.coded().bytes() / 88.0;
        let (latency, span) = match &to.keys {
            PartKeys::Switch(k) => (k.latency.typical, k.latency.span),
            PartKeys::RootComplex(k) => (k.write_latency.typical, k.write_latency.span),
            PartKeys::Endpoint(_) => (Time::ZERO, None),
        };
        // Credits go round in both delays, and buffers are twice that (see `Plan::buffer`).
        all += packets * (4.0 * link.delay.typical.seconds() + 2.0 * latency.seconds());
        if all.min(plan.limits.max_packets as f64) > MOST_IN_FLIGHT as f64 {
            let longest = if link.delay.typical > latency { link.delay.span } else { span };
            let what = format!("links.{} holds more than {MOST_IN_FLIGHT} packets on their way", link.name);
            let hint = "latency x rate: set a shorter delay or latency, or a smaller run.max_packets";
            diagnostics.push(Diagnostic::error(longest, what).hint(hint));
            return false;
        }
    }
    true
}
