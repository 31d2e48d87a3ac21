//! Every link of a host as a line: what it can do, what it does, and what else on it matters; and what is not known.

use super::belief::{Standing, shown};
use super::tree::Role;
use super::{LinkLine, Pair, Topology, Unknown};
use crate::import::host::{Kind, value};

fn word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Full => "full",
        Standing::Lesser => "lesser",
        Standing::Down => "down",
        Standing::Idle => "idle",
        Standing::Empty => "empty",
        Standing::Virtual(_) => "virtual",
        Standing::Unknown(_) => "unknown",
    }
}

/// Lines of all links, each below the one that leads to it.
pub(crate) fn lines(topology: &Topology) -> Vec<LinkLine> {
    let mut order: Vec<usize> = (0..topology.tree.links.len()).collect();
    // The addresses from the root down put a link behind what leads to it.
    order.sort_by_cached_key(|l| {
        let lower = topology.tree.links[*l].lower;
        let mut way = topology.tree.path(lower);
        way.reverse();
        way.push(lower);
        way
    });
    order.into_iter().map(|l| line(topology, l)).collect()
}

fn line(topology: &Topology, index: usize) -> LinkLine {
    let (link, belief) = (&topology.tree.links[index], &topology.beliefs[index]);
    let lower = topology.host.functions.get(&link.lower);
    let express = lower.and_then(|f| f.express.as_ref());
    let endpoint = topology.behind(index).into_iter().find(|s| s.links.first() == Some(&index));
    let why = match &belief.standing {
        Standing::Virtual(why) | Standing::Unknown(why) => Some(why.clone()),
        Standing::Idle if belief.capable.is_none() => Some(
            "the file has the speed of one moment: an idle GPU lowers it, and under load it rises to what the GPU \
                can do, if the slot can"
                .to_owned(),
        ),
        Standing::Idle => Some("an idle GPU lowers its link speed; under load it rises again".to_owned()),
        Standing::Down => Some("both ends can do more".to_owned()),
        _ => None,
    };
    let mps = endpoint.and_then(|s| topology.mps(s)).or_else(|| express.and_then(|e| value(&e.mps)));
    let clamped = endpoint.and_then(|s| {
        let (least, whose) = topology.mps_supported(s)?;
        let own = express.and_then(|e| value(&e.mps_supported))?;
        (own > least && mps.is_some_and(|m| m <= least)).then(|| whose.to_string())
    });
    let upper = link.upper.and_then(|u| topology.host.functions.get(&u));
    LinkLine {
        upper: link.upper.map(|u| u.to_string()),
        lower: link.lower.to_string(),
        name: match endpoint.and_then(|s| topology.host.functions.get(&s.address)).or(lower) {
            Some(f) => f.called(),
            None => String::new(),
        },
        standing: word(&belief.standing).to_owned(),
        capable: belief.capable.map(shown),
        upper_capable: belief.upper_capable.map(shown),
        lower_capable: belief.lower_capable.map(shown),
        shown: belief.negotiated.map(shown),
        taken: belief.typical.map(shown),
        why,
        mps,
        mps_clamped_by: clamped,
        mrrs: express.and_then(|e| value(&e.mrrs)),
        relaxed_ordering: express.and_then(|e| value(&e.relaxed_ordering)),
        extended_tags: express.and_then(|e| value(&e.extended_tags)),
        acs_redirect: upper.and_then(|f| value(&f.acs)).map(|a| a.request_redirect),
        iommu_group: lower.and_then(|f| value(&f.iommu_group)),
        node: endpoint.and_then(|s| s.node).or_else(|| lower.and_then(|f| value(&f.node))),
        depth: topology.tree.path(link.lower).len(),
        evidence: belief.at.map(|at| topology.host.place(at)),
    }
}

/// What no dump says of devices that matter, and the command that says it.
pub(crate) fn unknown(topology: &Topology, pairs: &[Pair]) -> Vec<Unknown> {
    let mut all = Vec::new();
    let mut say = |what: String, command: &str| all.push(Unknown { what, command: command.to_owned() });
    let devices: Vec<_> = topology.devices.iter().filter(|s| s.kind < Kind::Bridge).collect();
    let list = |ids: &[String]| match ids {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{} devices, {first} to {last}", ids.len()),
    };
    let ids = |with: &dyn Fn(&super::endpoints::Endpoint) -> bool| -> Vec<String> {
        devices.iter().filter(|s| with(s)).map(|s| s.id.clone()).collect()
    };
    let speed = ids(&|s| s.links.iter().any(|l| topology.beliefs[*l].low.is_none()));
    if !speed.is_empty() {
        say(format!("the speed of a link on the path of {}", list(&speed)), "sudo lspci -vvv");
    }
    let moment = ids(&|s| s.links.iter().any(|l| topology.beliefs[*l].may_have_idled()));
    if !moment.is_empty() {
        let what = format!("whether the link of {} was idle when the file was written", list(&moment));
        say(what, "sudo lspci -vvv, under load");
    }
    let above = ids(&|s| s.links.len() == 1 && topology.tree.links[s.links[0]].upper.is_none());
    if !above.is_empty() {
        say(format!("the ports above {}", list(&above)), "sudo lspci -vvv, of all functions");
    }
    let mps = ids(&|s| topology.mps(s).is_none() && s.bus.is_none());
    if !mps.is_empty() {
        say(format!("MPS and MRRS of {}", list(&mps)), "sudo lspci -vvv");
    }
    let several = topology.host.nodes.len() > 1 || topology.host.sockets.as_ref().is_some_and(|s| s.value > 1);
    let node = ids(&|s| s.node.is_none());
    if !node.is_empty() && (several || topology.host.nodes.is_empty()) {
        say(format!("the NUMA node of {}", list(&node)), "cat /sys/bus/pci/devices/*/numa_node");
    }
    if topology.host.nodes.is_empty() && !devices.is_empty() {
        say("how many NUMA nodes there are, and how far apart".to_owned(), "numactl -H");
    }
    if topology.tree.links.is_empty() && virtual_machine(topology).is_some() {
        let what = "what the devices of this virtual machine can carry: none hangs on a link that it shows";
        say(what.to_owned(), "sudo lspci -vvv on the host beneath it, or the provider's limits");
    }
    // Peers below one switch: does a port send them up?
    let said = |id: &str| {
        let above = devices.iter().find(|d| d.id == id).and_then(|d| topology.tree.parent(d.address));
        let port = above.and_then(|p| topology.host.functions.get(&p));
        port.is_some_and(|f| f.acs.is_some() || (f.power.is_some() && f.denied.is_none()))
    };
    let open = pairs.iter().any(|p| p.way == "switch" && p.write.high.is_some() && !(said(&p.from) && said(&p.to)));
    let grepped = topology.host.loose_acs.as_ref().is_some_and(|f| f.value.1 == 0);
    if open && !grepped {
        say("whether ACS redirects peer-to-peer traffic at the switches".to_owned(), "sudo lspci -vvv | grep ACSCtl");
    }
    let over = |way: &[&str]| {
        let known = |p: &Pair| p.direct.is_none() && p.write.high.is_some() && p.write.typical.is_none();
        pairs.iter().any(|p| known(p) && way.contains(&p.way.as_str()))
    };
    let measure = "nvbandwidth -t device_to_device_memcpy_write_ce, then --measured";
    if topology.forwarding().is_none_or(|c| !c.is_measured()) && over(&["root", "redirected"]) {
        let class = "no host of its class was measured, or no dump names the processor: lscpu";
        say(format!("what this root complex forwards between its ports ({class})"), measure);
    }
    if over(&["sockets"]) {
        say("what the link between the sockets leaves of peers' writes".to_owned(), measure);
    }
    if devices.iter().any(|d| d.bus.is_none()) {
        say("the size of completions of this root complex (64 to 256 B)".to_owned(), "a measured read: --measured");
    }
    all
}

/// Why a host is taken for a virtual machine.
pub(crate) fn virtual_machine(topology: &Topology) -> Option<String> {
    if let Some(hypervisor) = &topology.host.hypervisor {
        return Some(format!("it runs under {}", hypervisor.value));
    }
    if let Some(made_up) = topology.host.functions.keys().find(|a| a.made_up()) {
        return Some(format!("{made_up} is not a real address"));
    }
    let virtio = topology.host.functions.iter().find(|(_, f)| {
        matches!(value(&f.ids), Some((0x1af4 | 0x1b36 | 0x15ad | 0x1414 | 0x5853, _)))
            || f.name.as_ref().is_some_and(|n| ["Virtio", "QEMU", "VMware"].iter().any(|w| n.value.contains(w)))
    });
    virtio.map(|(a, f)| format!("{a} is {}", f.called()))
}

impl Topology<'_> {
    /// Whether a function is part of a switch.
    pub(crate) fn in_switch(&self, address: crate::import::host::Address) -> bool {
        matches!(self.tree.role(address), Role::Up | Role::Switch)
    }
}
