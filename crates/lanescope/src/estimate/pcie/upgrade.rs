//! The inverse questions: what would an upgrade of the binding element give, and what would carry a wanted rate.

use crate::estimate::core::bound::typically_bound;
use crate::estimate::core::elements::{Ceiling, Key};
use crate::estimate::infiniband::{Demand, demands, in_pieces, ran};
use crate::estimate::pcie::report::{ceiling_words, core_key, credit_name, memory_words, walks_key};
use crate::estimate::pcie::requester::ends_with_operation;
use crate::estimate::{Outcome, binding, outcome, outcome_like, wires_of};
use crate::plan::pcie::check::{MOST_READS, MOST_TAGS, leaves_room};
use crate::plan::{PartId, Plan, Program, port_limits};
use crate::protocol::pcie::{self, Class, CompletionSize, Generation, Lanes, PayloadSize, Speed};
use crate::result::{Binding, Upgrade};
use crate::scenario::PartKeys;
use crate::scenario::keys::{Do, Endpoint};
use crate::scenario::quantity::{Corner, Every, MAX_COUNT, Quantity, Shape};
use crate::units::{Bytes, Frequency, Rate, Time, UnitError};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

/// No count of a scenario is larger.
const MOST: u32 = MAX_COUNT as u32;

/// The shares of a group of flows, bits per second, and what binds it.
fn share(plan: &Plan, group: &str, jobs: &[Demand]) -> (Vec<f64>, Binding) {
    of_outcome(plan, &outcome(plan, Corner::Typical, jobs), &plan.members(group))
}

fn of_outcome(plan: &Plan, o: &Outcome, members: &[usize]) -> (Vec<f64>, Binding) {
    let main = typically_bound(&o.shares, members);
    (members.iter().map(|&m| o.shares[m].rate * 8.0).collect(), binding(plan, o, main))
}

/// Flows that are answered together, what binds them, and which of them that is.
type Group<'a> = (&'a [usize], Option<(Key, usize)>);

/// What one step of what binds would give, for each group. What several would have changed is answered once.
pub(in crate::estimate) fn upgrades(
    plan: &Plan,
    typical: &Outcome,
    groups: &[Group],
    jobs: &[Demand],
) -> Vec<Option<Upgrade>> {
    // How to say a change tells which it is: all parts and links of a table change alike.
    let mut changes: BTreeMap<String, (Plan, bool, Vec<usize>)> = BTreeMap::new();
    for (group, (key, flow)) in groups.iter().enumerate().filter_map(|(i, g)| Some((i, g.1?))) {
        if let Some((better, change, fits)) = improve(plan, key, flow) {
            changes.entry(change).or_insert((better, fits, Vec::new())).2.push(group);
        }
    }
    let mut all = vec![None; groups.len()];
    for (change, (better, fits, wanted)) in changes {
        let wires = wires_of(&better, Corner::Typical, None);
        let o = outcome_like(&better, Corner::Typical, jobs, wires, Some(typical));
        for group in wanted {
            let (each, then) = of_outcome(&better, &o, groups[group].0);
            let share = each.iter().sum();
            all[group] = Some(Upgrade { change: change.clone(), fits, share, each, then });
        }
    }
    all
}

/// A plan with what binds a flow improved by a step, how to say that in a scenario, and whether the parts as described
/// allow it.
fn improve(plan: &Plan, key: Key, flow: usize) -> Option<(Plan, String, bool)> {
    let mut better = plan.clone();
    match key {
        Key::Storage(_) | Key::Cluster(_) => None,
        Key::Wire(hop) => {
            let link = plan.link(hop.link);
            let (speed, fits) = faster(plan, &link.group, link.speed.typical)?;
            set_speed(&mut better, &link.group, speed);
            let change = match speed.is_coherent() {
                true => format!("links.{}.coherent=\"{}\"", link.group, speed.coherent),
                false => format!("links.{}.pcie=\"{speed}\"", link.group),
            };
            Some((better, change, fits))
        }
        Key::Outstanding(i) => more_outstanding(plan, i),
        // Tags are left, and operations are not.
        Key::Tags(_) if plan.flows.get(flow).is_some_and(|f| ends_with_operation(plan, f)) => {
            more_outstanding(plan, flow)
        }
        // Its reads wait for tags, those of whom it asks.
        Key::InTurn(i) => {
            let id = plan.flows[i].source;
            part_change(plan, id, "tags", |k| double_tags(endpoint(k)?))
        }
        Key::Walks(id) => {
            let key = walks_key(plan, id);
            part_change(plan, id, key, |k| match k {
                PartKeys::RootComplex(r) if key == "iommu_walks" => double(Some(&mut r.iommu_walks)),
                PartKeys::RootComplex(r) => halve(r.iommu_walk_interval.as_mut()),
                _ => None,
            })
        }
        Key::Stores(hop) => part_change(plan, plan.leaves(hop), "store_rate", |k| match k {
            PartKeys::RootComplex(r) => double_rate(r.store_rate.as_mut()),
            _ => None,
        }),
        Key::Loads(hop) => part_change(plan, plan.leaves(hop), "loads_in_flight", |k| match k {
            PartKeys::RootComplex(r) => double(Some(&mut r.loads_in_flight)),
            _ => None,
        }),
        Key::Tags(id) => part_change(plan, id, "tags", |k| double_tags(endpoint(k)?)),
        Key::Engine(id, ceiling) => {
            let key = ceiling_words(plan, id, ceiling, flow).1;
            part_change(plan, id, key, |k| {
                let e = endpoint(k)?;
                match ceiling {
                    Ceiling::Both => double_rate(e.rate.as_mut()),
                    Ceiling::Read => double_rate(e.read_rate.as_mut()),
                    Ceiling::Bus => double_rate(e.bus_rate.as_mut()),
                    Ceiling::Write => double_rate(e.write_rate.as_mut()),
                    Ceiling::ReadInterval => halve(e.read_interval.as_mut()),
                    Ceiling::WriteInterval => halve(e.write_interval.as_mut()),
                    Ceiling::Port => halve(Some(match key {
                        "transfer_gap" => &mut e.transfer_gap,
                        "direction_change" => &mut e.direction_change,
                        _ => &mut e.tlp_gap,
                    })),
                    Ceiling::LineIn | Ceiling::LineOut => double_rate(e.line.as_mut()),
                    // It is what a class of device can do.
                    Ceiling::SustainedWrites | Ceiling::SustainedReads => None,
                }
            })
        }
        Key::ReadsInFlight(id) => part_change(plan, id, "reads_in_flight", |k| match k {
            PartKeys::RootComplex(r) => double(r.reads_in_flight.as_mut()),
            _ => None,
        }),
        Key::Memory(id, way) => part_change(plan, id, memory_words(way).1, |k| match k {
            PartKeys::RootComplex(r) => double_rate(match way {
                Do::Alternate => r.memory_bandwidth.as_mut(),
                Do::Read | Do::Transmit => r.read_bandwidth.as_mut(),
                Do::Write | Do::Receive => r.write_bandwidth.as_mut(),
            }),
            _ => None,
        }),
        Key::RequestBus(id) | Key::CompletionBus(id) => part_change(plan, id, "backbone_clock", |k| {
            let PartKeys::RootComplex(r) = k else { return None };
            let q = r.backbone_clock.as_mut()?;
            map(q, |f| Frequency(f.0.saturating_mul(2)));
            said(q, Frequency::parse)
        }),
        Key::PortReads(hop) => part_change(plan, plan.leaves(hop), "backbone_reads", |k| match k {
            PartKeys::RootComplex(r) => double(r.backbone_reads.as_mut()),
            _ => None,
        }),
        Key::Core(id) => part_change(plan, id, core_key(plan, id), |k| match k {
            PartKeys::Switch(s) => double_rate(s.core_bandwidth.as_mut()),
            PartKeys::RootComplex(r) => double_rate(r.peer_bandwidth.as_mut()),
            PartKeys::Endpoint(_) => None,
        }),
        Key::Replay(hop) => part_change(plan, plan.leaves(hop), "replay_buffer", |k| {
            let buffer = match k {
                PartKeys::RootComplex(k) => &mut k.replay_buffer,
                PartKeys::Switch(k) => &mut k.replay_buffer,
                PartKeys::Endpoint(k) => &mut k.replay_buffer,
            };
            let q = buffer.as_mut()?;
            map(q, |b| Bytes(b.0.saturating_mul(2)));
            said(q, Bytes::parse)
        }),
        Key::Credits(hop, class, headers) => {
            let id = plan.arrives(hop);
            part_change(plan, id, credit_name(class, headers), |k| double_count(credits_mut(k, class, headers)))
        }
    }
}

/// Twice as many operations in flight of a group of flows.
fn more_outstanding(plan: &Plan, flow: usize) -> Option<(Plan, String, bool)> {
    let mut better = plan.clone();
    let name = plan.flows[flow].group.clone();
    let mut now = None;
    for flow in Arc::make_mut(&mut better.flows).iter_mut().filter(|f| f.group == name) {
        if let Program::Closed { outstanding, .. } = &mut flow.program {
            now = twice(*outstanding, MOST);
            *outstanding = now?;
        }
    }
    Some((better, format!("flows.{name}.load.outstanding={}", now?), true))
}

/// Changes one value of all parts of a group.
fn part_change(
    plan: &Plan,
    id: PartId,
    key: &str,
    change: impl Fn(&mut PartKeys) -> Option<String>,
) -> Option<(Plan, String, bool)> {
    let mut better = plan.clone();
    let group = plan.part(id).group.clone();
    let mut said = None;
    for part in Arc::make_mut(&mut better.parts).iter_mut().filter(|p| p.group == group) {
        said = change(&mut part.keys).or(said);
    }
    said.map(|value| (better, format!("parts.{group}.{key}={value}"), true))
}

fn endpoint(keys: &mut PartKeys) -> Option<&mut Endpoint> {
    match keys {
        PartKeys::Endpoint(e) => Some(e),
        _ => None,
    }
}

fn credits_mut(keys: &mut PartKeys, class: Class, headers: bool) -> Option<&mut Quantity<u32>> {
    match (keys, class, headers) {
        (PartKeys::RootComplex(k), Class::Posted, true) => k.posted_headers.as_mut(),
        (PartKeys::RootComplex(k), Class::Posted, false) => k.posted_data.as_mut(),
        (PartKeys::RootComplex(k), Class::NonPosted, _) => k.nonposted_headers.as_mut(),
        (PartKeys::Switch(k), Class::Posted, true) => k.posted_headers.as_mut(),
        (PartKeys::Switch(k), Class::Posted, false) => k.posted_data.as_mut(),
        (PartKeys::Switch(k), Class::NonPosted, _) => k.nonposted_headers.as_mut(),
        (PartKeys::Switch(k), Class::Completion, true) => k.completion_headers.as_mut(),
        (PartKeys::Switch(k), Class::Completion, false) => k.completion_data.as_mut(),
        (PartKeys::Endpoint(k), Class::Posted, true) => k.posted_headers.as_mut(),
        (PartKeys::Endpoint(k), Class::Posted, false) => k.posted_data.as_mut(),
        (PartKeys::Endpoint(k), Class::NonPosted, _) => k.nonposted_headers.as_mut(),
        (_, Class::Completion, _) => None,
    }
}

fn map<T: Clone>(q: &mut Quantity<T>, f: impl Fn(&T) -> T) {
    (q.slow, q.typical, q.fast) = (f(&q.slow), f(&q.typical), f(&q.fast));
}

/// A value as a scenario would state it, and in its place what that says: what is printed may be rounded. None where no
/// scenario may state it.
fn said<T: std::fmt::Display>(q: &mut Quantity<T>, parse: impl Fn(&str) -> Result<T, UnitError>) -> Option<String> {
    let text = q.typical.to_string();
    q.typical = parse(&text).ok()?;
    Some(format!("\"{text}\""))
}

/// Twice as many, or as many as a scenario may have; none where there are so many already.
fn twice(n: u32, most: u32) -> Option<u32> {
    Some(n.saturating_mul(2).min(most)).filter(|twice| *twice > n)
}

fn double_count(q: Option<&mut Quantity<u32>>) -> Option<String> {
    let q = q?;
    let now = twice(q.typical, MOST)?;
    map(q, |n| twice(*n, MOST).unwrap_or(*n));
    Some(now.to_string())
}

fn double(q: Option<&mut Quantity<NonZeroU32>>) -> Option<String> {
    double_to(q?, MOST)
}

fn double_to(q: &mut Quantity<NonZeroU32>, most: u32) -> Option<String> {
    let now = twice(q.typical.get(), most)?;
    map(q, |n| twice(n.get(), most).and_then(NonZeroU32::new).unwrap_or(*n));
    Some(now.to_string())
}

/// An engine has so many tags at most, and all engines of a device together.
fn double_tags(k: &mut Endpoint) -> Option<String> {
    let most = MOST_TAGS.min(MOST_READS / k.engines.typical.get());
    double_to(&mut k.tags, most)
}

fn double_rate(q: Option<&mut Quantity<Rate>>) -> Option<String> {
    let q = q?;
    map(q, |r| r.scaled(2, 1));
    said(q, Rate::parse)
}

fn halve(q: Option<&mut Quantity<Time>>) -> Option<String> {
    let q = q?;
    map(q, |t| Time::from_fs(t.fs() / 2));
    said(q, Time::parse)
}

fn set_speed(plan: &mut Plan, group: &str, speed: Speed) {
    for link in Arc::make_mut(&mut plan.links).iter_mut().filter(|l| l.group == group) {
        let (n, d) = (link.speed.typical.generation.framing(), speed.generation.framing());
        link.speed = link.speed.with(speed);
        if n != d && link.skp_interval.default {
            // The interval of ordered sets is counted in symbols or in blocks; one that a scenario states stays.
            let every = |n: u64| Every(Some(n as u32));
            let interval = pcie::skp_intervals(speed.generation);
            link.skp_interval = link.skp_interval.with(interval.map_or(Every(None), |(_, high)| every(high)));
            link.skp_interval.slow = interval.map_or(Every(None), |(low, _)| every(low));
        }
    }
}

/// What the ends of a group of links allow at most.
fn limits(plan: &Plan, group: &str) -> (Option<Lanes>, Option<Generation>) {
    let ends = plan.links.iter().filter(|l| l.group == group).flat_map(|l| &l.ends);
    let limits: Vec<_> = ends.map(|e| port_limits(&plan.part(e.part).keys)).collect();
    let lanes = limits.iter().filter_map(|l| l.lanes).map(|q| q.typical).min();
    let generation = limits.iter().filter_map(|l| l.generation).map(|q| q.typical).min();
    (lanes, generation)
}

/// The next speed that the ends allow: twice the lanes, else the next generation; else twice the lanes with other parts
/// (`false`).
fn faster(plan: &Plan, group: &str, speed: Speed) -> Option<(Speed, bool)> {
    if speed.is_coherent() {
        let twice = Rate::parse(&speed.coherent.scaled(2, 1).to_string()).ok()?;
        return Some((Speed::coherent(twice), false));
    }
    let (lanes, generation) = limits(plan, group);
    let wider = speed.lanes.doubled().filter(|w| w.count() <= 16);
    let newer = speed.generation.next();
    if let Some(w) = wider.filter(|w| lanes.is_none_or(|l| *w <= l)) {
        return Some((Speed { lanes: w, ..speed }, true));
    }
    if let Some(g) = newer.filter(|g| generation.is_none_or(|l| *g <= l)) {
        return Some((Speed { generation: g, ..speed }, true));
    }
    wider.map(|w| Speed { lanes: w, ..speed }).or(newer.map(|g| Speed { generation: g, ..speed })).map(|s| (s, false))
}

/// One change that was tried.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Step {
    /// What is changed, as `path=value` for `--set`.
    pub change: String,
    /// What it is now.
    pub now: String,
    /// The share of all instances with it, bits per second.
    pub share: f64,
    /// Whether that is enough.
    pub enough: bool,
    /// Whether the parts as described allow it; else one of them must change too.
    pub fits: bool,
}

/// What would carry a wanted rate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Need {
    /// The flow.
    pub flow: String,
    /// Payload of all its instances that is wanted, bits per second.
    pub wanted: f64,
    /// Its share now.
    pub now: f64,
    /// What binds it now.
    pub bound_by: Binding,
    /// For each thing that could be changed alone: the smallest change that is enough, or the largest that is not.
    pub alone: Vec<Step>,
    /// Changes one after the other, each to what binds then, until it is enough; empty when one alone is, or none is
    /// needed.
    pub together: Vec<Step>,
}

/// Searches for what would give a group of flows `wanted` bits per second in all. The error says what is wrong with the
/// question.
pub fn need(plan: &Plan, group: &str, wanted: Rate) -> Result<Need, String> {
    let members = plan.members(group);
    let Some(&first) = members.first() else {
        if plan.network.streams.iter().any(|s| s.group == group) {
            return Err(format!("flow {group:?} is of Ethernet; what would help is worked out for PCIe alone"));
        }
        if plan.buses.flows.iter().any(|f| f.group == group) {
            return Err(format!("flow {group:?} is of a shared bus; what would help is worked out for PCIe alone"));
        }
        if plan.storage.flows.iter().any(|f| f.group == group) {
            return Err(format!(
                "flow {group:?} is of I/Os; what would help is worked out for PCIe alone: try values with lanescope \
                    run --vary"
            ));
        }
        let mut names: Vec<&str> = plan.groups().iter().map(|g| plan.flows[g[0]].group.as_str()).collect();
        names.extend(plan.storage.groups().iter().map(|g| plan.storage.flows[g[0]].group.as_str()));
        let names = if names.is_empty() { "none that it works for".into() } else { names.join(", ") };
        return Err(format!("there is no flow {group:?}; flows are {names}"));
    };
    // An open load never takes more than it offers; the question is what could be carried.
    let mut plan = plan.clone();
    for flow in Arc::make_mut(&mut plan.flows).iter_mut().filter(|f| f.group == group) {
        if matches!(flow.program, Program::Open { .. }) {
            flow.program = Program::Saturating;
        }
    }
    let (plan, ways) = in_pieces(&plan);
    let plan = &*plan;
    let wanted = wanted.bits();
    let jobs = demands(&ran(plan, &ways), Corner::Typical);
    let (now, bound_by) = share(plan, group, &jobs);
    let now: f64 = now.iter().sum();
    let enough = |s: f64| s >= wanted * (1.0 - 1e-9);
    let mut result = Need { flow: group.to_owned(), wanted, now, bound_by, alone: Vec::new(), together: Vec::new() };
    if enough(now) {
        return Ok(result);
    }
    for (change, now, fits, plans) in candidates(plan, first) {
        let mut best: Option<Step> = None;
        for (value, candidate) in plans {
            let s = share(&candidate, group, &jobs).0.iter().sum();
            let step = Step {
                change: format!("{change}={value}"),
                now: now.clone(),
                share: s,
                enough: enough(s),
                fits: fits(&value),
            };
            if step.enough {
                best = Some(step);
                break;
            }
            if best.as_ref().is_none_or(|b| s > b.share * (1.0 + 1e-9)) {
                best = Some(step);
            }
        }
        result.alone.extend(best.filter(|b| b.share > result.now * (1.0 + 1e-6)));
    }
    result.alone.sort_by(|a, b| b.enough.cmp(&a.enough).then(b.fits.cmp(&a.fits)).then(b.share.total_cmp(&a.share)));
    if !result.alone.iter().any(|s| s.enough) {
        let mut at = plan.clone();
        for _ in 0..16 {
            let o = outcome(&at, Corner::Typical, &jobs);
            let main = typically_bound(&o.shares, &members);
            let Some((better, change, fits)) = o.shares[main].by.and_then(|r| improve(&at, o.resources[r].key, main))
            else {
                break;
            };
            let s = share(&better, group, &jobs).0.iter().sum();
            result.together.push(Step { change, now: String::new(), share: s, enough: enough(s), fits });
            at = better;
            if enough(s) {
                break;
            }
        }
    }
    Ok(result)
}

type Fits = Box<dyn Fn(&str) -> bool>;
/// Values from small to large, each with its plan, made when it is looked at.
type Plans<'a> = Box<dyn Iterator<Item = (String, Plan)> + 'a>;
type Candidate<'a> = (String, String, Fits, Plans<'a>);

/// Everything that could be changed for a flow, each with its values from small to large.
fn candidates(plan: &Plan, first: usize) -> Vec<Candidate<'_>> {
    let flow = &plan.flows[first];
    let mut all: Vec<Candidate<'_>> = Vec::new();
    let always = || -> Fits { Box::new(|_| true) };
    let mut seen = Vec::new();
    for hop in &flow.route {
        let link = plan.link(hop.link);
        if seen.contains(&link.group) {
            continue;
        }
        seen.push(link.group.clone());
        let now = link.speed.typical;
        if now.is_coherent() {
            continue;
        }
        let mut speeds: Vec<Speed> = Generation::ALL[..5]
            .iter()
            .flat_map(|&generation| {
                [1, 2, 4, 8, 16].into_iter().filter_map(Lanes::new).map(move |lanes| Speed::new(generation, lanes))
            })
            .filter(|s| s.coded() > now.coded() && leaves_room(&link.skp_interval, *s))
            .collect();
        // The least faster one first; of equals the older generation.
        speeds.sort_by(|a, b| a.coded().cmp(&b.coded()).then(a.generation.cmp(&b.generation)));
        let of = move |speed: Speed| {
            let mut p = plan.clone();
            set_speed(&mut p, &link.group, speed);
            (format!("\"{speed}\""), p)
        };
        let (lanes, generation) = limits(plan, &link.group);
        let fits: Fits = Box::new(move |text| {
            let text = text.trim_matches('"');
            let speed =
                text.split_once(" x").and_then(|(g, l)| Some((Generation::parse(g)?, Lanes::new(l.parse().ok()?)?)));
            speed.is_some_and(|(g, l)| lanes.is_none_or(|m| l <= m) && generation.is_none_or(|m| g <= m))
        });
        all.push((format!("links.{}.pcie", link.group), now.to_string(), fits, Box::new(speeds.into_iter().map(of))));
        let sizes = PayloadSize::all().filter(|&s| s > flow.payload.typical).map(move |s| {
            let mut p = plan.clone();
            for l in Arc::make_mut(&mut p.links) {
                l.mps = l.mps.with(s.max(l.mps.typical));
            }
            for f in Arc::make_mut(&mut p.flows) {
                f.payload = f.payload.with(s.max(f.payload.typical));
            }
            (format!("\"{s}\" (all links)"), p)
        });
        if seen.len() == 1 {
            let most = flow
                .route
                .iter()
                .flat_map(|h| &plan.link(h.link).ends)
                .filter_map(|e| port_limits(&plan.part(e.part).keys).max_payload.map(|q| q.typical))
                .min();
            let fits: Fits = Box::new(move |text| {
                most.is_none_or(|m| {
                    PayloadSize::all().filter(|s| *s <= m).any(|s| text.starts_with(&format!("\"{s}\"")))
                })
            });
            all.push(("mps".into(), flow.payload.typical.to_string(), fits, Box::new(sizes)));
        }
    }
    if let PartKeys::Endpoint(k) = &plan.part(flow.source).keys
        && flow.reads()
    {
        let most = (MOST_READS / k.engines.typical.get()).min(1024);
        let counts = (1..=10)
            .filter_map(move |i| NonZeroU32::new(k.tags.typical.get().saturating_mul(1 << i)))
            .take_while(move |n| n.get() <= most);
        let tags = counts.filter_map(move |n| {
            with_part(plan, flow.source, |k| endpoint(k).map(|e| map(&mut e.tags, |_| n))).map(|p| (n.to_string(), p))
        });
        all.push((
            format!("parts.{}.tags", plan.part(flow.source).group),
            k.tags.typical.to_string(),
            always(),
            Box::new(tags),
        ));
        let sizes = PayloadSize::all().filter(|&s| s > k.max_read_request.typical);
        let sizes = sizes.filter_map(move |s| {
            with_part(plan, flow.source, |k| endpoint(k).map(|e| map(&mut e.max_read_request, |_| s)))
                .map(|p| (format!("\"{s}\""), p))
        });
        all.push((
            format!("parts.{}.max_read_request", plan.part(flow.source).group),
            k.max_read_request.typical.show(),
            always(),
            Box::new(sizes),
        ));
    }
    if let (PartKeys::RootComplex(k), true) = (&plan.part(flow.target).keys, flow.reads()) {
        let sizes = [64, 128, 256, 512]
            .into_iter()
            .filter_map(|s| CompletionSize::new(Bytes(s)))
            .filter(|&s| s > k.completion_size.typical);
        let sizes = sizes.filter_map(move |s| {
            with_part(plan, flow.target, |k| match k {
                PartKeys::RootComplex(r) => {
                    map(&mut r.completion_size, |_| s);
                    Some(())
                }
                _ => None,
            })
            .map(|p| (format!("\"{s}\""), p))
        });
        all.push((
            format!("parts.{}.completion_size", plan.part(flow.target).group),
            k.completion_size.typical.show(),
            always(),
            Box::new(sizes),
        ));
    }
    if let Program::Closed { outstanding, .. } = flow.program {
        let counts = (1..=16).map(move |i| outstanding.saturating_mul(1 << i)).take_while(|&n| n <= 1 << 20);
        let plans = counts.map(move |n| {
            let mut p = plan.clone();
            for f in Arc::make_mut(&mut p.flows).iter_mut().filter(|f| f.group == flow.group) {
                if let Program::Closed { outstanding, .. } = &mut f.program {
                    *outstanding = n;
                }
            }
            (n.to_string(), p)
        });
        all.push((
            format!("flows.{}.load.outstanding", flow.group),
            outstanding.to_string(),
            always(),
            Box::new(plans),
        ));
    }
    all
}

fn with_part(plan: &Plan, id: PartId, change: impl Fn(&mut PartKeys) -> Option<()>) -> Option<Plan> {
    part_change(plan, id, "", |k| change(k).map(|()| String::new())).map(|c| c.0)
}
