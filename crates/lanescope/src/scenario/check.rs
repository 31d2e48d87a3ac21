//! Values of one thing that do not fit each other, whatever stands around it.

mod backbone;

use super::keys::{Core, EthernetSwitch, FileTest, Io, MOST_OUTSTANDING, Nvme, SECTOR, Ssd};
use super::quantity::Corner;
use super::{Named, NodeKeys, Part, PartKeys, StoreKeys};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::protocol::nvme;

/// Checks every part that could be read, so that all errors of a file are shown at once.
pub(super) fn parts(diagnostics: &mut Diagnostics, parts: &[Part]) {
    for part in parts {
        match &part.keys {
            PartKeys::RootComplex(k) => {
                if k.large_read.is_some() != k.large_completion_size.is_some() {
                    let d = Diagnostic::error(
                        part.span,
                        format!("{}: large_read and large_completion_size go together", part.name),
                    );
                    diagnostics.push(d.hint("the second is the completion size of reads larger than the first"));
                }
                if let (Some(_), Some(q)) =
                    (&k.memory_bandwidth, k.read_bandwidth.as_ref().or(k.write_bandwidth.as_ref()))
                {
                    let what = format!("{}: memory_bandwidth is for reads and writes together", part.name);
                    diagnostics.push(
                        Diagnostic::error(q.span.unwrap_or(part.span), what)
                            .hint("set memory_bandwidth, or read_bandwidth and write_bandwidth"),
                    );
                }
                let cycles = |c| k.core_cycles.at(c) + k.hub_cycles.at(c);
                if [Corner::Slower, Corner::Typical, Corner::Faster].map(cycles) != [0; 3] && k.core_clock.is_none() {
                    let what = format!("{}: core_cycles and hub_cycles need core_clock", part.name);
                    diagnostics.push(Diagnostic::error(part.span, what).hint("add core_clock = …"));
                }
                backbone::keys(diagnostics, part, k);
            }
            PartKeys::Switch(k) => {
                if k.core.typical == Core::Crossbar && k.core_bandwidth.is_some() {
                    diagnostics.push(
                        Diagnostic::warning(
                            k.core.span.or(Some(part.span)),
                            format!("{}: a crossbar does not block, so core_bandwidth is not used", part.name),
                        )
                        .hint("set core = \"shared-bus\" or \"shared-memory\""),
                    );
                }
                if k.core.typical != Core::Crossbar && k.core_bandwidth.is_none() {
                    let what = format!("{}: a shared core needs its core_bandwidth", part.name);
                    diagnostics.push(Diagnostic::error(part.span, what).hint("add core_bandwidth = …"));
                }
            }
            PartKeys::Endpoint(_) => {}
        }
    }
}

/// The same of Ethernet.
pub(super) fn nodes(diagnostics: &mut Diagnostics, nodes: &[Part<NodeKeys>]) {
    let mut last = "";
    for part in nodes {
        // What is wrong with a table is wrong with each of its instances.
        if let (NodeKeys::Switch(k), true) = (&part.keys, part.group != last) {
            let before = diagnostics.count();
            thresholds(diagnostics, part, k);
            last = if diagnostics.count() > before { &part.group } else { last };
        }
    }
}

/// What the thresholds of flow control are.
pub(crate) const BETWEEN: &str = "senders stop above the high one and resume below the low one";
/// What those of ECN are.
pub(crate) const MARKS: &str = "marks begin above the low one, and above the high one every frame is marked";

/// Thresholds of an Ethernet switch against each other and its memory.
fn thresholds(diagnostics: &mut Diagnostics, part: &Part<NodeKeys>, k: &EthernetSwitch) {
    let memory = k.memory.typical;
    let pairs = [
        ("high_threshold", &k.high_threshold, "low_threshold", &k.low_threshold, BETWEEN),
        ("ecn_high", &k.ecn_high, "ecn_low", &k.ecn_low, MARKS),
    ];
    for (high_name, high, low_name, low, hint) in pairs {
        for (name, q) in [(high_name, high), (low_name, low)] {
            if let Some(q) = q.as_ref().filter(|q| q.typical > memory) {
                let what = format!("{}: {name} = {} is above its memory of {memory}", part.name, q.typical);
                let d = Diagnostic::error(q.span.or(Some(part.span)), what);
                diagnostics.push(d.hint("it would never be reached"));
            }
        }
        if let (Some(high), Some(low)) = (high, low)
            && low.typical > high.typical
        {
            let what = format!("{}: {low_name} = {} is above {high_name} = {}", part.name, low.typical, high.typical);
            let d = Diagnostic::error(low.span.or(Some(part.span)), what);
            diagnostics.push(d.hint(hint));
        }
    }
    let quanta = k.pause_quanta.typical;
    if quanta == 0 || quanta > u16::MAX as u32 {
        let what = format!("{}: pause_quanta = {quanta}, but a pause frame holds 1 to 65535", part.name);
        let d = Diagnostic::error(k.pause_quanta.span.or(Some(part.span)), what);
        diagnostics.push(d.hint("a quantum is 512 bit times; 65535 is what most switches send"));
    }
}

/// Dies, and stripes, of one drive that are told apart.
const MOST_DIES: u64 = 65_536;

/// What a drive's parts can be.
fn drive(diagnostics: &mut Diagnostics, name: &str, k: &Ssd, span: Span) {
    let page = k.page.typical.0;
    if !(4096..=1 << 24).contains(&page) || !page.is_multiple_of(SECTOR) {
        let what = format!("{name}: a page of {}", k.page.typical);
        diagnostics.push(
            Diagnostic::error(k.page.span.unwrap_or(span), what).hint("a multiple of 512 B from 4 KiB to 16 MiB"),
        );
    }
    let planes = k.planes.typical.get() as u64;
    let dies = (k.channels.typical.get() as u64 * k.dies.typical.get() as u64).saturating_mul(planes);
    if planes > 64 {
        let what = format!("{name}: {planes} planes of a die");
        diagnostics.push(Diagnostic::error(k.planes.span.unwrap_or(span), what).hint("at most 64: flash has 1 to 6"));
    }
    let counts = [
        (dies, "dies and planes, channels x dies x planes", k.dies.span.or(k.channels.span)),
        (k.stripes.typical.get() as u64, "stripes", k.stripes.span),
        (k.stripe_pages.typical.get() as u64, "pages of a stripe", k.stripe_pages.span),
    ];
    for (n, of, at) in counts.into_iter().filter(|c| c.0 > MOST_DIES) {
        let what = format!("{name}: {n} {of}");
        diagnostics.push(Diagnostic::error(at.unwrap_or(span), what).hint(format!("at most {MOST_DIES}")));
    }
    if k.capacity.typical.0 < 1 << 20 {
        let what = format!("{name}: a drive of {}", k.capacity.typical);
        diagnostics.push(Diagnostic::error(k.capacity.span.unwrap_or(span), what).hint("at least 1 MiB"));
    }
}

/// What a controller's queues and transfers can be.
fn controller(diagnostics: &mut Diagnostics, name: &str, k: &Nvme, span: Span) {
    let mut wrong = |at: Option<Span>, what: String, hint: &str| {
        diagnostics.push(Diagnostic::error(at.unwrap_or(span), format!("{name}: {what}")).hint(hint.to_owned()));
    };
    let (entries, pairs) = (k.queue_entries.slow.get().min(k.queue_entries.typical.get()), k.queue_pairs.typical.get());
    if entries < 2 || k.queue_entries.typical.get() > nvme::MOST_ENTRIES {
        let hint = "2 to 65536: one of them stays free (CAP.MQES; Base 2.0, 3.1.3.1 and 3.3.1.5)";
        wrong(k.queue_entries.span, format!("a queue of {entries} entries"), hint);
    }
    if pairs > nvme::MOST_QUEUES {
        wrong(k.queue_pairs.span, format!("{pairs} queue pairs"), "at most 65535: queues have numbers of 16 bits");
    }
    let page = k.memory_page.typical.0;
    if !page.is_power_of_two() || !(4096..=1 << 27).contains(&page) {
        let hint = "a power of two from 4 KiB to 128 MiB (CC.MPS; Base 2.0, 3.1.3.5)";
        wrong(k.memory_page.span, format!("memory pages of {}", k.memory_page.typical), hint);
    }
    let most = k.max_transfer.slow.min(k.max_transfer.typical).0;
    if most < 4096 || !most.is_multiple_of(SECTOR) {
        let hint = "a multiple of 512 B from 4 KiB (MDTS counts pages of at least that)";
        wrong(k.max_transfer.span, format!("transfers of {}", k.max_transfer.typical), hint);
    }
}

/// The same of storage.
pub(super) fn stores(diagnostics: &mut Diagnostics, stores: &[Part<StoreKeys>]) {
    let mut last = "";
    for part in stores {
        // What is wrong with a table is wrong with each of its instances.
        if part.group == last {
            continue;
        }
        let name = &part.name;
        let before = diagnostics.count();
        match &part.keys {
            StoreKeys::Array(k) => {
                let strip = k.strip.typical.0;
                if strip == 0 || !strip.is_multiple_of(SECTOR) || strip > 1 << 30 {
                    let why =
                        if strip > 0 && strip.is_multiple_of(SECTOR) { "" } else { " does not divide into sectors" };
                    diagnostics.push(
                        Diagnostic::error(
                            k.strip.span.or(Some(part.span)),
                            format!("{name}: a strip of {}{why}", k.strip.typical),
                        )
                        .hint("a strip is a multiple of 512 B, up to 1 GiB; adapters offer 8 KiB to 1 MiB"),
                    );
                }
            }
            StoreKeys::Ssd(k) => drive(diagnostics, name, k, part.span),
            StoreKeys::Nvme(k) => {
                drive(diagnostics, name, &k.flash, part.span);
                controller(diagnostics, name, &k.controller, part.span);
            }
            StoreKeys::Disk(k) => {
                if k.inner_rate.typical > k.outer_rate.typical {
                    let what = format!("{name}: its inner_rate is above its outer_rate");
                    diagnostics.push(
                        Diagnostic::error(k.inner_rate.span.or(Some(part.span)), what)
                            .hint("outer tracks are longer, and turn in the same time"),
                    );
                }
                if k.track_seek.typical > k.average_seek.typical || k.average_seek.typical > k.full_seek.typical {
                    let stated = [&k.track_seek, &k.average_seek, &k.full_seek].into_iter().find_map(|q| q.span);
                    let at = stated.unwrap_or(part.span);
                    diagnostics.push(
                        Diagnostic::error(at, format!("{name}: longer seeks take less time than shorter ones"))
                            .hint("track_seek is at most average_seek, and that at most full_seek"),
                    );
                }
                if k.capacity.typical.0 < 1 << 20 {
                    let what = format!("{name}: a disk of {}", k.capacity.typical);
                    diagnostics
                        .push(Diagnostic::error(k.capacity.span.or(Some(part.span)), what).hint("at least 1 MiB"));
                }
            }
            StoreKeys::Ram(k) if k.capacity.typical.0 < SECTOR => {
                let what = format!("{name}: a RAM disk of {}", k.capacity.typical);
                diagnostics
                    .push(Diagnostic::error(k.capacity.span.or(Some(part.span)), what).hint("at least a sector"));
            }
            _ => {}
        }
        if diagnostics.count() > before {
            last = &part.group;
        }
    }
}

/// Keys of a flow of I/Os that have no effect beside its access or test, where they are written, and why.
fn unused(k: &Io) -> Vec<(&'static str, Option<Span>, &'static str)> {
    if k.access.is_some() && k.test.is_some() {
        return Vec::new();
    }
    let Some(test) = k.test.as_ref().map(|t| t.typical) else {
        let why = "it belongs to a file test; lines of access have their own size, and outstanding sets how many are \
            in flight";
        return vec![("record", k.record.span, why), ("request", k.request.span, why), ("ahead", k.ahead.span, why)];
    };
    let mut all = Vec::new();
    if test.random() {
        all.push(("request", k.request.span, "random records go to the disk unmerged"));
    }
    if test == FileTest::RandomRead {
        all.push(("ahead", k.ahead.span, "random reads cannot be read ahead; outstanding sets the number of readers"));
    } else {
        all.push(("outstanding", k.outstanding.span, "for this test, ahead sets the requests in flight"));
    }
    all
}

/// Flows of I/Os by themselves.
pub(super) fn ios(diagnostics: &mut Diagnostics, ios: &[Named<Io>]) {
    for io in ios {
        let k = &io.keys;
        let at = |span: Option<crate::diagnostic::Span>| span.unwrap_or(io.span);
        match (&k.access, &k.test) {
            (None, None) => {
                diagnostics
                    .push(Diagnostic::error(io.span, format!("flow {} has neither access nor test", io.name)).hint(
                    "state what the workers do: access = { size = \"2 MiB\", read = \"100 %\" }, or test = \"read\"",
                ))
            }
            (Some(_), Some(t)) => diagnostics.push(
                Diagnostic::error(at(t.span), format!("flow {} has access and test", io.name))
                    .hint("keep one of the two"),
            ),
            _ => {}
        }
        let lonely = k.arrivals.span.filter(|_| k.rate.is_none());
        let why = "it spaces the I/Os of a rate, e.g. rate = 500 (I/Os a second)";
        let random = |a: &super::keys::Access| a.0.iter().any(|l| l.random > 0);
        let in_order = k.access.as_ref().is_some_and(|a| !random(&a.typical));
        let zipf = k.zipf.as_ref().and_then(|q| q.span).filter(|_| in_order);
        let of_random = "it applies to random offsets, and all lines are sequential";
        let processor = k.host_processor.span.filter(|_| k.host_software.is_none());
        let of_software = "it scales the times of host_software, which is not said";
        let more = [("arrivals", lonely, why), ("zipf", zipf, of_random), ("host_processor", processor, of_software)];
        for (key, span, why) in unused(k).into_iter().chain(more) {
            if let Some(span) = span {
                let what = format!("flow {}: {key} is not used", io.name);
                diagnostics.push(Diagnostic::warning(span, what).hint(why));
            }
        }
        if k.outstanding.typical.get() > MOST_OUTSTANDING {
            diagnostics.push(
                Diagnostic::error(
                    at(k.outstanding.span),
                    format!("{} I/Os outstanding at each target", k.outstanding.typical),
                )
                .hint(format!("at most {MOST_OUTSTANDING}: no host or target queues more")),
            );
        }
        for (what, bytes, span) in
            [("record", k.record.typical, k.record.span), ("request", k.request.typical, k.request.span)]
        {
            if bytes.0 == 0 || bytes.0 > 1 << 30 {
                let d = Diagnostic::error(at(span), format!("{what} = {bytes}"));
                diagnostics.push(d.hint("an I/O has 1 B to 1 GiB"));
            }
        }
        if let Some(file) = k.file.as_ref().filter(|f| f.typical.0 == 0) {
            diagnostics
                .push(Diagnostic::error(at(file.span), "a file of 0 B").hint("leave file out for the whole target"));
        }
    }
}
