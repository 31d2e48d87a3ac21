//! From what a flow of ranks says it runs to the [`Job`]: text, an instrument, a skeleton, or a trace.

use crate::diagnostic::{Diagnostic, Diagnostics, nearest};
use crate::import::{goal, ti};
use crate::mpi::{Algorithm, Job, benchmark, npb};
use crate::scenario::keys::{self, Sizes};
use crate::scenario::{Named, Scenario};

/// What the ranks of a flow run.
pub(in crate::plan) fn job(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    flow: &Named<keys::Mpi>,
    ranks: u32,
) -> Option<Job> {
    let k = &flow.keys;
    if let Some(q) = k.algorithm.as_ref().filter(|_| k.benchmark.is_none()) {
        let d = Diagnostic::error(q.span.unwrap_or(flow.span), "algorithm is of an instrument's collective");
        diagnostics.push(d.hint("in a program it stands behind the collective: allreduce 8 B ring"));
        return None;
    }
    let said = [k.program.is_some(), k.benchmark.is_some(), k.trace.is_some()].into_iter().filter(|s| *s).count();
    if said != 1 {
        let d = Diagnostic::error(flow.span, format!("flows.{} runs {said} things", flow.name));
        diagnostics.push(d.hint("one of program = \"…\", benchmark = \"imb PingPong\" and trace = \"file\""));
        return None;
    }
    let (job, span) = if let Some(q) = &k.program {
        (crate::mpi::text::read(diagnostics, &q.typical, q.span, ranks)?, q.span)
    } else if let Some(q) = &k.trace {
        (trace(diagnostics, scenario, flow, &q.typical, ranks)?, q.span)
    } else {
        (instrument(diagnostics, flow, ranks)?, k.benchmark.as_ref().and_then(|q| q.span))
    };
    crate::mpi::check(diagnostics, &job, span.or(Some(flow.span)));
    Some(job)
}

/// What was recorded.
fn trace(
    diagnostics: &mut Diagnostics,
    scenario: &Scenario,
    flow: &Named<keys::Mpi>,
    name: &str,
    ranks: u32,
) -> Option<Job> {
    let trace = scenario.traces.get(name)?;
    let goal = trace.text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with("//"));
    let job = if goal.is_some_and(|l| l.starts_with("num_ranks")) {
        goal::read(diagnostics, trace.source)?
    } else {
        ti::read(diagnostics, trace.source, &mut |other| match scenario.traces.get(other) {
            Some(t) => Ok(t.text.to_string()),
            None => Err("there is no such file".into()),
        })?
    };
    if job.bodies.len() != ranks as usize {
        let span = flow.keys.ranks.span.unwrap_or(flow.span);
        let what = format!("{name} has {} ranks, flows.{} has places for {ranks}", job.bodies.len(), flow.name);
        diagnostics.push(Diagnostic::error(span, what).hint("ranks and each give a place to every rank of the trace"));
        return None;
    }
    Some(Job { title: format!("trace {name}, {ranks} ranks"), ..job })
}

/// An instrument, or the skeleton of a program.
fn instrument(diagnostics: &mut Diagnostics, flow: &Named<keys::Mpi>, ranks: u32) -> Option<Job> {
    let k = &flow.keys;
    let span = k.benchmark.as_ref().and_then(|q| q.span).unwrap_or(flow.span);
    let algorithm = k.algorithm.as_ref().and_then(|q| Algorithm::named(&q.typical));
    if let Some(q) = k.algorithm.as_ref().filter(|_| algorithm.is_none()) {
        let names = Algorithm::ALL.map(Algorithm::name);
        let hint = match nearest(&q.typical, names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are {}", names.join(", ")),
        };
        let d = Diagnostic::error(q.span.unwrap_or(flow.span), "there is no such algorithm of a collective");
        diagnostics.push(d.hint(hint));
        return None;
    }
    let options = benchmark::Options {
        algorithm,
        sizes: match k.sizes.as_ref().map(|q| &q.typical) {
            None => benchmark::Sizes::Ladder,
            Some(Sizes::List(all)) => benchmark::Sizes::List(all.iter().map(|b| b.0).collect()),
            Some(Sizes::Ladder(from, to)) => benchmark::Sizes::Range(from.0, to.0),
        },
        repetitions: k.repetitions.as_ref().map(|q| q.typical as u64),
        ..benchmark::Options::default()
    };
    let name = &k.benchmark.as_ref()?.typical;
    let skeleton = name.trim_start().to_lowercase().starts_with("npb");
    if let Some(q) = k.algorithm.as_ref().filter(|_| skeleton) {
        let d = Diagnostic::error(q.span.unwrap_or(flow.span), "a skeleton calls several collectives");
        diagnostics.push(d.hint("leave algorithm out: it is of instruments, such as \"osu_allreduce\""));
        return None;
    }
    let made = if skeleton {
        npb::named(name).and_then(|(bench, class)| npb::job(bench, class, ranks, None, options.repetitions))
    } else {
        benchmark::job(name, ranks, &options)
    };
    match made {
        Ok(job) => Some(job),
        Err(d) => {
            diagnostics.push(d.at(span));
            None
        }
    }
}
