//! Holding things against their neighbours: what cannot be is an error, what is legal but suspicious a warning.
//! (Values that are wrong by themselves were refused when they were read.)

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::plan::pcie::iommu::PAGES;
use crate::plan::pcie::route::Map;
use crate::plan::{Flow, Hop, Link, Part, Plan, Program};
use crate::protocol::pcie::{self, Class, PayloadSize, Speed};
use crate::scenario::quantity::{Corner, Every, Quantity};
use crate::scenario::{PartKeys, Scenario};
use crate::units::Bytes;
use std::num::NonZeroU32;

/// The most that a part's port can do, as far as it says.
pub(crate) struct PortLimits<'a> {
    pub(crate) lanes: Option<&'a Quantity<pcie::Lanes>>,
    pub(crate) generation: Option<&'a Quantity<pcie::Generation>>,
    pub(crate) max_payload: Option<&'a Quantity<PayloadSize>>,
}

/// Of a part.
pub(crate) fn port_limits(keys: &PartKeys) -> PortLimits<'_> {
    let (lanes, generation, max_payload) = match keys {
        PartKeys::RootComplex(k) => (&k.lanes, &k.generation, &k.max_payload),
        PartKeys::Switch(k) => (&k.lanes, &k.generation, &k.max_payload),
        PartKeys::Endpoint(k) => (&k.lanes, &k.generation, &k.max_payload),
    };
    PortLimits { lanes: lanes.as_ref(), generation: generation.as_ref(), max_payload: max_payload.as_ref() }
}

/// Speeds, widths and payload sizes of links and parts.
pub(in crate::plan) fn links(diagnostics: &mut Diagnostics, plan: &Plan, spans: &[Span]) {
    for (link, span) in plan.links.iter().zip(spans).filter(|(l, _)| !l.speed.typical.is_coherent()) {
        let at = link.speed.span.unwrap_or(*span);
        let speed = link.speed.typical;
        let ends = link.ends.each_ref().map(|e| plan.part(e.part));
        for part in ends {
            let PortLimits { lanes, generation, .. } = port_limits(&part.keys);
            if let Some(g) = generation.filter(|g| speed.generation > g.typical) {
                diagnostics.push(
                    Diagnostic::error(
                        at,
                        format!(
                            "links.{} runs at {}, but {} is a {} part",
                            link.name,
                            speed.generation.name(),
                            part.name,
                            g.typical.name()
                        ),
                    )
                    .hint(format!(
                        "a link trains to the slower of its ends: \"{} x{}\"",
                        g.typical.name(),
                        speed.lanes.count()
                    )),
                );
            }
            if let Some(l) = lanes.filter(|l| speed.lanes > l.typical) {
                diagnostics.push(
                    Diagnostic::error(
                        at,
                        format!(
                            "links.{} is x{}, but {} has x{} ports",
                            link.name,
                            speed.lanes.count(),
                            part.name,
                            l.typical.count()
                        ),
                    )
                    .hint(format!(
                        "a link trains to the narrower of its ends: \"{} x{}\"",
                        speed.generation.name(),
                        l.typical.count()
                    )),
                );
            }
        }
        ordered_sets(diagnostics, link, at);
        let device = ends[1];
        let PortLimits { lanes, generation, .. } = port_limits(&device.keys);
        if let (Some(l), PartKeys::Endpoint(_)) = (lanes.filter(|l| l.typical > speed.lanes), &device.keys) {
            diagnostics.push(
                Diagnostic::warning(
                    at,
                    format!(
                        "{} could use x{} and runs at x{} on links.{}",
                        device.name,
                        l.typical.count(),
                        speed.lanes.count(),
                        link.name
                    ),
                )
                .hint("the slot is narrower than the card"),
            );
        }
        if let (Some(g), PartKeys::Endpoint(_)) = (generation.filter(|g| g.typical > speed.generation), &device.keys) {
            diagnostics.push(Diagnostic::warning(
                at,
                format!(
                    "{} could run at {} and runs at {} on links.{}",
                    device.name,
                    g.typical.name(),
                    speed.generation.name(),
                    link.name
                ),
            ));
        }
    }
}

/// The slots from one ordered set to the next at the least, and those of one, where nothing is left between them.
fn crowded(skp: &Quantity<Every>, speed: Speed) -> Option<(u64, u64)> {
    let least = [skp.slow, skp.typical, skp.fast].into_iter().filter_map(|every| every.0).min();
    let sets = least.and_then(|every| pcie::ordered_set_slots(speed.generation, speed.lanes, every as u64));
    sets.filter(|(every, size)| every <= size)
}

/// Whether a stated interval of ordered sets leaves room for packets at a speed; the standard's always does.
pub(crate) fn leaves_room(skp: &Quantity<Every>, speed: Speed) -> bool {
    skp.default || crowded(skp, speed).is_none()
}

/// Ordered sets must leave room for packets: where one falls due before the one before is over, nothing else is ever
/// sent.
fn ordered_sets(diagnostics: &mut Diagnostics, link: &Link, at: Span) {
    let (skp, speed) = (&link.skp_interval, link.speed.typical);
    if let Some((every, size)) = crowded(skp, speed) {
        let lanes = speed.lanes.count();
        let what = format!(
            "links.{}: an ordered set of {} symbols every {} leaves nothing for packets",
            link.name,
            size / lanes,
            every / lanes
        );
        let hint =
            "symbols of Gen1 and Gen2, blocks from Gen3 on: 1180 to 1538, and 370 to 375; \"never\" leaves them out";
        diagnostics.push(Diagnostic::error(skp.span.unwrap_or(at), what).hint(hint));
    }
}

/// Most tags of one requester: 14 bits (6.0, 2.2.6.2).
pub(crate) const MOST_TAGS: u32 = 1 << 14;

/// Most reads in flight of all engines of a device.
pub(crate) const MOST_READS: u32 = 1 << 20;

/// Tags that no device has.
pub(in crate::plan) fn tags(diagnostics: &mut Diagnostics, plan: &Plan) {
    for part in plan.parts.iter() {
        let PartKeys::Endpoint(k) = &part.keys else { continue };
        for tags in [k.tags.slow, k.tags.typical, k.tags.fast].map(|t| t.get()) {
            if tags > MOST_TAGS {
                diagnostics.push(
                    Diagnostic::error(
                        k.tags.span,
                        format!("{}: an engine has at most {MOST_TAGS} tags, not {tags}", part.name),
                    )
                    .hint("8 bits, or 10 from 4.0 on, or 14 from 6.0 on; more engines have more tags (engines = …)"),
                );
                break;
            }
        }
        tags_of_generation(diagnostics, plan, part, &k.tags);
        if u64::from(k.engines.typical.get()) * u64::from(k.tags.typical.get()) > u64::from(MOST_READS) {
            let what = format!(
                "{}: {} engines of {} tags keep more than a million reads in flight",
                part.name, k.engines.typical, k.tags.typical
            );
            let d = Diagnostic::error(k.engines.span.or(k.tags.span), what);
            diagnostics.push(d.hint("fewer engines, or fewer tags of each"));
        }
    }
}

/// Warns of more tags than a requester has at the speed of its link: 8 bits, or 10 from 4.0 on, or 14 from 6.0 on. What
/// a device cannot have at that speed it may have none the less, as several functions do, so it is no error.
fn tags_of_generation(diagnostics: &mut Diagnostics, plan: &Plan, part: &Part, tags: &Quantity<NonZeroU32>) {
    let link = part.ports.first().and_then(|p| plan.links.get(p.link.0 as usize));
    let Some(speed) = link.map(|l| l.speed.typical).filter(|s| !s.is_coherent()) else { return };
    let most = speed.generation.tags();
    if tags.typical.get() > most && tags.typical.get() <= MOST_TAGS {
        let what = format!(
            "{}: {} tags of an engine on {}, which has {most} ({} bits)",
            part.name,
            tags.typical,
            speed.generation.name(),
            most.ilog2()
        );
        let d = Diagnostic::warning(tags.span, what);
        diagnostics
            .push(d.hint("8 bits, or 10 from 4.0 on, or 14 from 6.0 on; more engines have more tags (engines = …)"));
    }
}

/// What sizes there are.
const SIZES: &str = "an operation moves 1 B to 1 TiB, for example size = \"4 KiB\"";

/// Pages that no IOMMU has, and redirects that lead nowhere.
pub(in crate::plan) fn hosts(diagnostics: &mut Diagnostics, plan: &Plan, map: &Map, spans: &[Span]) {
    for part in plan.parts.iter() {
        let PartKeys::RootComplex(k) = &part.keys else { continue };
        let page = &k.iommu_page;
        if let Some(wrong) = [page.slow, page.typical, page.fast].into_iter().find(|p| !PAGES.contains(&p.0)) {
            let what = format!("{}: no IOMMU has pages of {wrong}", part.name);
            let sizes: Vec<String> = PAGES.iter().map(|p| Bytes(*p).to_string()).collect();
            let d = Diagnostic::error(page.span, what);
            diagnostics.push(d.hint(format!("they are of {}", sizes.join(", "))));
        }
    }
    for (link, span) in plan.links.iter().zip(spans) {
        let acs = [&link.acs.request_redirect, &link.acs.completion_redirect];
        let Some(redirect) = acs.into_iter().find(|q| q.typical) else { continue };
        let at = redirect.span.unwrap_or(*span);
        if !matches!(plan.part(link.ends[0].part).keys, PartKeys::Switch(_)) {
            let what = format!("links.{}: only a switch's ports have ACS redirects", link.name);
            let hint = "what peers send through a root port goes through the root complex as it is";
            diagnostics.push(Diagnostic::warning(at, what).hint(hint));
            continue;
        }
        if !matches!(plan.part(map.root(link.ends[0].part)).keys, PartKeys::RootComplex(_)) {
            let what = format!("links.{}: a redirect needs a root complex above, and there is none", link.name);
            diagnostics.push(Diagnostic::error(at, what).hint("wire the switch's up port to a root complex"));
        }
    }
}

/// What a flow asks of the memory of its target, and of its own range of addresses.
fn memory(diagnostics: &mut Diagnostics, plan: &Plan, flow: &Flow, place: Option<Span>) {
    let size = flow.size.typical;
    if let Some(window) = flow.window.as_ref().filter(|w| w.slow.min(w.typical).min(w.fast) < size) {
        let what = format!("flow {}: a window of {} is smaller than one operation", flow.group, window.typical);
        let d = Diagnostic::error(window.span.or(place), what);
        diagnostics.push(d.hint(format!("it holds at least one: window = \"{size}\" or more")));
    }
    let target = plan.part(flow.target);
    let PartKeys::Endpoint(k) = &target.keys else { return };
    let Some(bar) = &k.bar else { return };
    if bar.typical.0 == 0 {
        let what = format!("flow {}: {} has no memory that others reach", flow.group, target.name);
        diagnostics.push(Diagnostic::error(place.or(bar.span), what).hint("its bar = \"0 B\" says so"));
    } else if let Some(needs) = [Some(size), flow.window.as_ref().map(|w| w.typical)].into_iter().flatten().max()
        && needs > bar.typical
    {
        let what = format!("flow {}: {needs} do not fit in the {} that {} shows", flow.group, bar.typical, target.name);
        diagnostics.push(Diagnostic::error(place.or(bar.span), what).hint("a smaller window, or a larger bar"));
    }
}

/// Sizes, rates and buffers of flows.
pub(in crate::plan) fn flows(diagnostics: &mut Diagnostics, scenario: &Scenario, plan: &Plan) {
    for flow in plan.flows.iter() {
        let place = scenario.flows.iter().find(|f| f.name == flow.group).map(|f| f.span);
        let at = flow.size.span.or(place);
        if flow.size.typical.0 == 0 {
            let d = Diagnostic::error(at, format!("flow {}: an operation of 0 B moves nothing", flow.group));
            diagnostics.push(d.hint(SIZES));
            continue;
        }
        if flow.size.typical.0 > 1 << 40 {
            let what = format!("flow {}: an operation of {} is more than 1 TiB", flow.group, flow.size.typical);
            diagnostics.push(Diagnostic::error(at, what).hint(SIZES));
            continue;
        }
        rate(diagnostics, flow, place);
        memory(diagnostics, plan, flow, place);
        payload(diagnostics, plan, flow, place);
        packets(diagnostics, plan, flow, place);
        let ways: &[bool] = match (flow.reads(), flow.writes()) {
            (true, true) => &[true, false],
            (true, false) => &[true],
            _ => &[false],
        };
        for &read in ways {
            buffers(diagnostics, plan, flow, read, place);
        }
    }
}

/// An open load asks for something. More than the source's own link carries is answered like any other load that is too
/// much: what is carried, and what binds.
fn rate(diagnostics: &mut Diagnostics, flow: &Flow, place: Option<Span>) {
    let Program::Open { rate, .. } = &flow.program else { return };
    if rate.bits() <= 0.0 {
        let d = Diagnostic::error(flow.load.span.or(place), format!("flow {} has a rate of 0", flow.group));
        diagnostics.push(d.hint("a rate is above 0 b/s"));
    }
}

/// Bytes of a doorbell: a register that a processor writes at once.
const DOORBELL: u64 = 64;

/// What belongs to packets is read by one request, and written by one write.
fn packets(diagnostics: &mut Diagnostics, plan: &Plan, flow: &Flow, place: Option<Span>) {
    let corners = [Corner::Slower, Corner::Typical, Corner::Faster];
    let queues = corners.into_iter().filter_map(|c| Some((c, plan.packet_queue(c, flow)?)));
    let part = plan.part(flow.source);
    let PartKeys::Endpoint(k) = &part.keys else { return };
    let fewer = ["fewer descriptors_fetched, or a larger maximum", "fewer entries_written, or a larger maximum"];
    let pieces = queues.flat_map(|(c, q)| {
        let (asked, written) = (plan.request_size(c, flow), plan.write_payload(c, flow));
        [
            ("descriptors_fetched", k.descriptors_fetched.span, q.fetch.bytes, asked, fewer[0]),
            ("entries_written", k.entries_written.span, q.writes[0].bytes, written, fewer[1]),
            ("doorbell", k.doorbell.span, q.doorbell.bytes, DOORBELL, "4 B or 8 B for doorbell"),
        ]
    });
    let wrong = pieces.into_iter().find(|(_, _, bytes, most, _)| bytes > most || *bytes == 0);
    if let Some((key, span, bytes, most, hint)) = wrong {
        let what = format!("{}: {key} = {bytes} B does not fit into one TLP of 1 to {most} B", part.name);
        diagnostics.push(Diagnostic::error(span.or(place), what).hint(hint));
    }
}

fn payload(diagnostics: &mut Diagnostics, plan: &Plan, flow: &Flow, place: Option<Span>) {
    let least = flow.payload.typical;
    let first = flow.route.first().map(|h| plan.link(h.link));
    let narrow = flow.route.iter().map(|h| plan.link(h.link)).find(|l| l.mps.typical == least);
    if let (Some(first), Some(narrow)) = (first, narrow)
        && first.mps.typical > least
        && !first.mps.default
    {
        diagnostics.push(
            Diagnostic::warning(
                place,
                format!(
                    "flow {}: MPS {} is clamped to {least} by links.{}",
                    flow.group, first.mps.typical, narrow.name
                ),
            )
            .hint("a TLP is not split on its route, so the smallest MPS of the route holds for all of it"),
        );
    }
}

/// Every receiver must be able to take the largest packet that it gets.
fn buffers(diagnostics: &mut Diagnostics, plan: &Plan, flow: &Flow, read: bool, place: Option<Span>) {
    let data = flow.size.typical.0.min(plan.write_payload(Corner::Typical, flow));
    let there = if read { (Class::NonPosted, 0) } else { (Class::Posted, data) };
    let back = read.then_some((Class::Completion, data.min(completion(plan, flow, data))));
    let mut demand: Vec<(Hop, Class, u64)> = flow.route.iter().map(|h| (*h, there.0, there.1)).collect();
    if let Some((class, data)) = back {
        demand.extend(flow.back.iter().map(|h| (*h, class, data)));
    }
    if let Some(queue) = plan.packet_queue(Corner::Typical, flow) {
        let (asked, entries) = (queue.fetch.bytes, queue.writes.map(|w| w.bytes).into_iter().max().unwrap_or(0));
        let there = [(Class::NonPosted, 0), (Class::Posted, entries)];
        let back =
            [(Class::Completion, asked.min(completion(plan, flow, asked))), (Class::Posted, queue.doorbell.bytes)];
        demand.extend(flow.route.iter().flat_map(|h| there.map(|(class, data)| (*h, class, data))));
        demand.extend(flow.back.iter().flat_map(|h| back.map(|(class, data)| (*h, class, data))));
    }
    for (hop, class, data) in demand {
        let (from, generation) = (plan.part(plan.leaves(hop)), plan.link(hop.link).speed.typical.generation);
        let whole = pcie::tlp(generation, flow.header.typical, data, plan.ecrc(flow));
        if let Some(b) = replay_buffer(&from.keys).filter(|b| b.slow.min(b.typical).0 < whole) {
            diagnostics.push(
                Diagnostic::error(
                    b.span.or(place),
                    format!(
                        "{}: a replay_buffer of {} is smaller than one packet of flow {} ({whole} B)",
                        from.name,
                        b.slow.min(b.typical),
                        flow.group
                    ),
                )
                .hint("a TLP stays in it until it is acknowledged"),
            );
        }
        let part = plan.part(plan.arrives(hop));
        let (headers, credits) = credits(&part.keys, class);
        let name = match class {
            Class::Posted => "posted",
            Class::NonPosted => "nonposted",
            Class::Completion => "completion",
        };
        if let Some(h) = headers.filter(|h| h.slow == 0 || h.typical == 0) {
            let what = format!(
                "{} advertises no {name}_headers, so nothing of flow {} can ever be sent to it",
                part.name, flow.group
            );
            let hint = format!("{name}_headers is 1 or more; without the key, the buffer covers the link's round trip");
            diagnostics.push(Diagnostic::error(h.span.or(place), what).hint(hint));
        }
        let needed = pcie::data_credits(data);
        if let Some(c) = credits.filter(|c| (c.slow.min(c.typical) as u64) < needed) {
            diagnostics.push(
                Diagnostic::error(
                    c.span.or(place),
                    format!(
                        "{}: a buffer of {} B is smaller than one packet of flow {} ({data} B)",
                        part.name,
                        c.slow.min(c.typical) as u64 * pcie::DATA_CREDIT,
                        flow.group
                    ),
                )
                .hint(format!("{name}_data counts credits of 16 B: at least {needed}, or lower the MPS")),
            );
        }
    }
}

fn completion(plan: &Plan, flow: &Flow, size: u64) -> u64 {
    match &plan.part(flow.target).keys {
        PartKeys::RootComplex(k) => {
            let large = k.large_read.as_ref().is_some_and(|l| size > l.typical.0);
            let q =
                if large { k.large_completion_size.as_ref().unwrap_or(&k.completion_size) } else { &k.completion_size };
            q.fast.bytes()
        }
        _ => size,
    }
}

/// Bytes of TLPs that a part's ports keep until they are acknowledged, where it says so.
pub(crate) fn replay_buffer(keys: &PartKeys) -> Option<&Quantity<Bytes>> {
    match keys {
        PartKeys::RootComplex(k) => k.replay_buffer.as_ref(),
        PartKeys::Switch(k) => k.replay_buffer.as_ref(),
        PartKeys::Endpoint(k) => k.replay_buffer.as_ref(),
    }
}

/// Header and data credits that a part's ports advertise for a class; `None` is infinite.
pub(crate) fn credits(keys: &PartKeys, class: Class) -> (Option<&Quantity<u32>>, Option<&Quantity<u32>>) {
    match (keys, class) {
        (PartKeys::RootComplex(k), Class::Posted) => (k.posted_headers.as_ref(), k.posted_data.as_ref()),
        (PartKeys::RootComplex(k), Class::NonPosted) => (k.nonposted_headers.as_ref(), None),
        (PartKeys::Switch(k), Class::Posted) => (k.posted_headers.as_ref(), k.posted_data.as_ref()),
        (PartKeys::Switch(k), Class::NonPosted) => (k.nonposted_headers.as_ref(), None),
        (PartKeys::Switch(k), Class::Completion) => (k.completion_headers.as_ref(), k.completion_data.as_ref()),
        (PartKeys::Endpoint(k), Class::Posted) => (k.posted_headers.as_ref(), k.posted_data.as_ref()),
        (PartKeys::Endpoint(k), Class::NonPosted) => (k.nonposted_headers.as_ref(), None),
        // 2.0, table 2-33: an endpoint and a root complex advertise infinite completion credits.
        (PartKeys::RootComplex(_) | PartKeys::Endpoint(_), Class::Completion) => (None, None),
    }
}
