//! A simulation with its surroundings: what it will cost is said before, progress while it runs, Ctrl-C gives what
//! there is.

use super::capture::{self, Capture};
use super::series::Series;
use super::trace::Recording;
use crate::{Simulate, interrupt};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lanescope::diagnostic::Diagnostics;
use lanescope::plan::Plan;
use lanescope::result::{Report, Simulation};
use lanescope::scenario::keys::SimulationLevel;
use lanescope::sim::{Run, Step, has_only_messages, over_seeds};
use lanescope::units::{Time, digits};
use rayon::prelude::*;
use std::io::IsTerminal;

/// Events between two looks at the clock and at Ctrl-C: some milliseconds, some tens in a build without optimisation.
const PIECE: u64 = 1 << 16;
/// Packets on links a second, about what a simulation does on one core.
const SPEED: f64 = 1e7;
/// Seconds from which on a run is called long.
const LONG: f64 = 3.0;

/// The overrides that the options stand for.
pub(crate) fn sets(a: &Simulate) -> Vec<String> {
    let mut sets = a.answer.scenario.sets.clone();
    sets.extend(a.length.as_ref().map(|t| format!("run.for={t}")));
    sets.extend(a.until.as_ref().map(|p| format!("run.until={p}")));
    sets.extend(a.level.as_ref().map(|l| format!("run.level={l}")));
    sets.extend(a.seed.map(|s| format!("run.seed={s}")));
    sets
}

/// Runs a plan without looks at terminal or files; for grids and seeds, of which each core runs one.
pub(crate) fn quietly(plan: &Plan, seed: u32, diagnostics: &mut Diagnostics) -> Option<Simulation> {
    let mut run = Run::new(plan, seed as u64, diagnostics)?;
    while run.advance(PIECE) != Step::Done {
        if interrupt::stopped() {
            run.stop();
        }
    }
    Some(run.snapshot())
}

/// Runs a plan. `None` when it cannot be, with the reasons in `diagnostics`.
pub(crate) fn simulate(
    a: &Simulate,
    plan: &Plan,
    estimate: &Report,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Simulation>, String> {
    if plan.limits.level == SimulationLevel::Flow {
        let needs_packets =
            [("--pcap", a.pcap.is_some()), ("--trace", a.trace.is_some()), ("--series", a.series.is_some())];
        if let Some((option, _)) = needs_packets.into_iter().find(|o| o.1) {
            return Err(format!("{option} shows packets, and at flow level there are none: take --level packet"));
        }
    }
    let link = a.pcap.as_ref().map(|_| capture::link(plan, a.pcap_link.as_deref())).transpose()?;
    let Some(mut run) = Run::new(plan, plan.limits.seed as u64, diagnostics) else { return Ok(None) };
    run.use_threads(a.threads.map_or(1, |n| n as usize));
    let mut series = None;
    if let (Some(file), Some(step)) = (&a.series, &a.step) {
        let step = Time::parse(step).ok().filter(|t| *t > Time::ZERO);
        let step = step.ok_or("--step takes a time above zero, e.g. --step \"1 us\"")?;
        run.sample_every(step);
        series = Some(Series::create(file, plan, estimate, run.sample())?);
    }
    let mut capture = match (&a.pcap, link) {
        (Some(file), Some(link)) => Some(Capture::create(file, plan, link, a.snaplen, &mut run)?),
        _ => None,
    };
    let recording = a.trace.as_ref().map(|file| Recording::create(file, a.trace_events, &mut run)).transpose()?;
    announce(plan, estimate);
    if let Some(n) = a.seeds {
        let one = |i| quietly(plan, plan.limits.seed.wrapping_add(i), &mut Diagnostics::default());
        return Ok(over_seeds((0..n).into_par_iter().filter_map(one).collect()));
    }
    let bar = bar();
    loop {
        let step = run.advance(PIECE);
        if let Some(c) = &mut capture {
            c.take(&mut run)?;
        }
        match step {
            Step::Done => break,
            Step::Sample => {
                if let Some(s) = &mut series
                    && !s.row(run.sample())?
                {
                    run.sample_no_more();
                }
            }
            Step::More => {}
        }
        bar.set_position((run.progress() * 1000.0) as u64);
        let what = if plan.limits.level == SimulationLevel::Flow { "messages" } else { "packets" };
        bar.set_message(format!("{} million {what}, {} us", run.packets() / 1_000_000, digits(run.time() * 1e6)));
        if interrupt::stopped() {
            run.stop();
            crate::output::say!("stopped: what follows covers the run so far");
        }
    }
    bar.finish_and_clear();
    if let Some(s) = series {
        s.finish()?;
    }
    if let Some(c) = capture {
        c.finish()?;
    }
    if let Some(r) = recording {
        r.finish(&mut run)?;
    }
    let done = run.snapshot();
    if a.threads.is_some_and(|n| n as usize > done.threads) {
        let used = if done.threads == 1 { "one thread".to_owned() } else { format!("{} threads", done.threads) };
        crate::output::say!(
            "on {used}: only Ethernet is divided, packet by packet, without hosts, adapters and I/Os, without \
             --series, --pcap and --trace, and where each thread has enough to do at once"
        );
    }
    Ok(Some(done))
}

/// Says what a long run will cost, and which cap will end it early.
fn announce(plan: &Plan, estimate: &Report) {
    // What messages cost at flow level is little against packets.
    if plan.limits.level == SimulationLevel::Flow {
        return;
    }
    let rate: f64 = estimate.links.iter().map(|l| l.tlps).sum();
    let Some(length) = plan.limits.length else {
        let time = estimate.flows.iter().filter_map(|f| f.programs.first()).map(|p| p.time).fold(0.0, f64::max);
        let packets = rate * time;
        if packets / SPEED > LONG && has_only_messages(plan) {
            crate::output::say!(
                "about {} s: {} million packets on links; with --level flow whole messages are followed, much sooner",
                digits(packets / SPEED),
                digits(packets / 1e6)
            );
        }
        return;
    };
    let packets = rate * length.seconds();
    let most = plan.limits.max_packets as f64;
    if packets > most * 1.05 {
        crate::output::say!(
            "note: run.for = {length} is about {} million packets on links, {} s of work; run.max_packets ends it \
                after {} million",
            digits(packets / 1e6),
            digits(packets / SPEED),
            digits(most / 1e6)
        );
    } else if packets / SPEED > LONG {
        crate::output::say!("about {} s: {} million packets on links", digits(packets / SPEED), digits(packets / 1e6));
    }
}

fn bar() -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(1000), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} % {msg}, {elapsed} so far") {
        bar.set_style(style);
    }
    bar
}

/// Says why a plan cannot be simulated, where the estimate stands alone.
pub(crate) fn not_simulated(diagnostics: &Diagnostics) {
    for d in diagnostics.sorted().iter().filter(|d| d.severity == lanescope::diagnostic::Severity::Error) {
        crate::output::say!("note: not simulated: {}", d.message);
    }
}
