//! All devices of a class at once, as the estimate shares what they meet in; and where that is not enough.
//!
//! The estimate is exact where every queue is either empty or full. Loads that go both ways, and loads of each device
//! on every other, queue in switches for one another's completions and acknowledgements: the packet simulation answers
//! those.

use super::endpoints::{Endpoint, word};
use super::peers::peer_path;
use super::rate::{Corner, Range, Way};
use super::scenario::{Shares, Transfer, shares};
use super::{Together, Topology};
use crate::import::host::Kind;

/// A load of several devices.
pub(crate) struct Load<'a> {
    /// What they are called together.
    pub(crate) class: String,
    /// How many.
    pub(crate) devices: usize,
    /// `to memory`, `from memory`, `both ways`, `each to each`.
    pub(crate) way: &'static str,
    /// What goes on at once.
    pub(crate) transfers: Vec<Transfer<'a>>,
    /// Why arithmetic does not suffice, where it does not.
    pub(crate) queues: Option<&'static str>,
    /// Whether its numbers have a low end and a typical value: what a root complex forwards is in no dump.
    forwarded: bool,
}

/// Devices of a class that are worked out at once, at most: a host has no more, and a dump of junk may.
const MOST_TOGETHER: usize = 512;

/// Classes that are worked out, with their devices.
fn classes<'a>(topology: &'a Topology) -> impl Iterator<Item = (Kind, Vec<&'a Endpoint>)> {
    [Kind::Gpu, Kind::Nic, Kind::Drive].into_iter().map(|kind| {
        let of_kind = |e: &&Endpoint| e.kind == kind && !e.links.is_empty() && e.bus.is_none();
        (kind, topology.devices.iter().filter(of_kind).collect())
    })
}

/// What is left out, and why.
pub(crate) fn left_out(topology: &Topology) -> Vec<String> {
    let large = classes(topology).filter(|(_, endpoints)| endpoints.len() > MOST_TOGETHER);
    let told = |(kind, endpoints): (Kind, Vec<&Endpoint>)| {
        format!("left out: {} {}s at once, which are more than {MOST_TOGETHER}", endpoints.len(), word(kind))
    };
    large.map(told).collect()
}

/// Devices that an exchange of each with each is worked out for, at most: its flows are as many squared.
const MOST_EXCHANGED: usize = 8;

/// All loads of which a report speaks.
pub(crate) fn loads<'a>(topology: &'a Topology) -> Vec<Load<'a>> {
    let mut all = Vec::new();
    for (kind, endpoints) in classes(topology) {
        if !(2..=MOST_TOGETHER).contains(&endpoints.len()) {
            continue;
        }
        let class = format!("{}s", word(kind));
        let memory = |ways: &[Way]| -> Vec<Transfer> {
            endpoints.iter().flat_map(|e| ways.iter().map(|w| Transfer::Memory(e, *w))).collect()
        };
        let both = "writes and the completions of reads queue for the same links";
        for (way, ways, queues) in [
            ("to memory", &[Way::Write][..], None),
            ("from memory", &[Way::Read], None),
            ("both ways", &[Way::Write, Way::Read], Some(both)),
        ] {
            let (class, devices) = (class.clone(), endpoints.len());
            all.push(Load { class, devices, way, transfers: memory(ways), queues, forwarded: false });
        }
        let joined = topology.joined(endpoints[0], endpoints[1]);
        if kind == Kind::Gpu && (3..=MOST_EXCHANGED).contains(&endpoints.len()) && !joined {
            all.push(exchange(topology, class, &endpoints));
        }
    }
    all
}

/// Each device writes to each other.
fn exchange<'a>(topology: &Topology, class: String, endpoints: &[&'a Endpoint]) -> Load<'a> {
    let mut transfers = Vec::new();
    let mut forwarded = false;
    for from in endpoints {
        for to in endpoints.iter().filter(|to| to.id != from.id) {
            forwarded |= peer_path(topology, from, to).is_forwarded();
            transfers.push(Transfer::Peer(from, to));
        }
    }
    // Where root complexes forward, they bind, and not the queues.
    let queues = (!forwarded).then_some("what goes to one device waits behind what goes to another");
    Load { class, devices: endpoints.len(), way: "each to each", transfers, queues, forwarded }
}

/// Lines of all loads.
pub(crate) fn together(topology: &Topology) -> Vec<Together> {
    loads(topology).iter().filter_map(|load| line(topology, load)).collect()
}

fn line(topology: &Topology, load: &Load) -> Option<Together> {
    let [low, typical, high] = Corner::ALL.map(|c| shares(topology, &load.transfers, c));
    let shares = typical.as_ref().or(high.as_ref())?;
    let mut bound_by = match &shares.by_itself {
        Some(id) => format!("what binds each by itself, of {id} {}", shares.bound_by),
        None => shares.bound_by.clone(),
    };
    if load.forwarded {
        bound_by += ", or what root complexes forward in all, which no dump states";
    }
    let range = |of: fn(&Shares) -> f64| {
        let [low, typical, high] = [&low, &typical, &high].map(|s| s.as_ref().map(of));
        match load.forwarded {
            true => Range { low: None, typical: None, high },
            false => Range::around([low, typical, high]),
        }
    };
    Some(Together {
        class: load.class.clone(),
        devices: load.devices,
        way: load.way.to_owned(),
        total: range(|s| s.total),
        least: range(|s| s.least),
        bound_by,
        queues: load.queues.map(str::to_owned),
        simulated: None,
    })
}
