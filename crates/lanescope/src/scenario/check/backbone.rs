//! The keys of a root complex's backbone against each other.

use super::super::Part;
use super::super::keys::RootComplex;
use super::super::quantity::{Corner, Quantity, Shape};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::units::Bytes;

/// Clocks of one phase of a transaction, at most: a bus that takes longer is no bus.
const MOST_CLOCKS: u32 = 4096;
/// Bytes of a transaction, at most: the largest payload of a TLP.
const MOST_LINE: u64 = 4096;
/// Slowest clock: the moments of a run must stay countable.
const SLOWEST_NS: f64 = 1e6;

/// Checks one root complex.
pub(super) fn keys(diagnostics: &mut Diagnostics, part: &Part, k: &RootComplex) {
    let mut wrong = |span: Option<Span>, what: String, hint: &str| {
        let d = Diagnostic::error(span.or(Some(part.span)), format!("{}: {what}", part.name));
        diagnostics.push(if hint.is_empty() { d } else { d.hint(hint) });
    };
    let Some(clock) = &k.backbone_clock else {
        let clocks = [("arbitration_clocks", &k.arbitration_clocks), ("completion_clocks", &k.completion_clocks)];
        let set = [
            ("backbone_width", k.backbone_width.as_ref().map(|q| q.span)),
            ("backbone_line", k.backbone_line.as_ref().map(|q| q.span)),
            ("backbone_reads", k.backbone_reads.as_ref().map(|q| q.span)),
            ("request_clocks", (!k.request_clocks.default).then_some(k.request_clocks.span)),
            ("backbone_latency", (!k.backbone_latency.default).then_some(k.backbone_latency.span)),
        ];
        let set = set.into_iter().chain(clocks.map(|(name, q)| (name, (!q.default).then_some(q.span))));
        if let Some((name, span)) = set.filter_map(|(name, span)| span.map(|s| (name, s))).next() {
            let hint = "a backbone has backbone_clock, backbone_width and backbone_line";
            wrong(span, format!("{name} needs backbone_clock"), hint);
        }
        return;
    };
    let (Some(width), Some(line)) = (&k.backbone_width, &k.backbone_line) else {
        let hint = "what a clock carries, and what a transaction carries at most: \"8 B\" and \"64 B\"";
        wrong(clock.span, "a backbone needs backbone_width and backbone_line".into(), hint);
        return;
    };
    if clock.slow.period_ns() > SLOWEST_NS {
        wrong(clock.span, format!("a backbone of {} is too slow to be simulated", clock.slow.show()), "at least 1 kHz");
    }
    let corners = |q: &Quantity<Bytes>| [Corner::Slower, Corner::Typical, Corner::Faster].map(|c| q.at(c).0);
    for width_at in corners(width) {
        if width_at == 0 {
            wrong(width.span, "a backbone_width of 0 B carries nothing".into(), "for example \"8 B\" a clock");
            return;
        }
        if line.typical.0 == 0 || line.typical.0 % width_at != 0 {
            let what =
                format!("backbone_line = {} is not a multiple of backbone_width = {}", line.typical, Bytes(width_at));
            wrong(line.span, what, "a transaction is so many whole clocks of data");
            return;
        }
    }
    if line.typical.0 > MOST_LINE {
        wrong(line.span, format!("backbone_line = {} is more than any TLP carries", line.typical), "at most 4 KiB");
    }
    let most = |q: &Quantity<u32>| q.slow.max(q.typical).max(q.fast);
    let request = &k.request_clocks;
    for (name, clocks, span) in [
        ("arbitration_clocks", most(&k.arbitration_clocks), k.arbitration_clocks.span),
        ("request_clocks", request.slow.max(request.typical).max(request.fast).get(), request.span),
        ("completion_clocks", most(&k.completion_clocks), k.completion_clocks.span),
    ] {
        if clocks > MOST_CLOCKS {
            wrong(span, format!("{name} = {clocks} is more clocks than a transaction can take"), "at most 4096");
        }
    }
    if let Some(q) = &k.backbone_reads
        && q.slow.max(q.typical).max(q.fast).get() > 1 << 16
    {
        wrong(q.span, format!("backbone_reads = {} is more than any port holds", q.typical), "at most 65536");
    }
    if let Some(q) = k.memory_bandwidth.as_ref().or(k.read_bandwidth.as_ref()).or(k.write_bandwidth.as_ref()) {
        let hint = "the backbone is the path to memory: its clock and width set what it carries";
        wrong(q.span, "a memory bandwidth contradicts a backbone".into(), hint);
    }
    if let Some(q) = &k.reads_in_flight {
        let hint = "set backbone_reads: what each port works on at once";
        wrong(q.span, "reads_in_flight has no meaning with a backbone".into(), hint);
    }
}
