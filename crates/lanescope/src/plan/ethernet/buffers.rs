//! What the memory of a switch allows: thresholds where nobody stated them, and whether its flow control is loss-free
//! by construction.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::ethernet::{Network, NodeId};
use crate::protocol::ethernet;
use crate::scenario::NodeKeys;
use crate::scenario::check::{BETWEEN, MARKS};
use crate::scenario::keys::{Buffers, CongestionControl, EthernetSwitch, FlowControl, Scheduling, Setting};
use crate::scenario::quantity::{Confidence, Corner, Origin, Quantity};
use crate::units::{Bytes, Time};

/// The memory of one switch, resolved, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffering {
    /// In all, or of each port.
    pub memory: u64,
    /// What frames of priorities that are not paused may take of it.
    pub lossy: u64,
    /// Senders are stopped above this.
    pub high: u64,
    /// And go on below this.
    pub low: u64,
    /// What there is room for of what may still come in by one port after its sender was told to stop: of one priority,
    /// or at all.
    pub headroom: u64,
    /// What may come in then ([`ethernet::headroom`]), of the worst port, behind the pause frames of other priorities.
    pub asked: u64,
    /// With PFC and a stated headroom: what one port's frames of one priority may take in all.
    pub account: Option<u64>,
    /// Marks begin above this.
    pub ecn_low: u64,
    /// Every frame is marked from here on.
    pub ecn_high: u64,
    /// What a destination may have granted, of this switch's memory.
    pub credit: u64,
    /// What flow control needs so that nothing can be lost, whatever happens; 0 without flow control.
    pub needs: u64,
}

impl Network {
    /// What may still come in by one end of a link after the sender at the other was told to stop, who takes as long as
    /// the standard allows, or as he says where that is longer; `latency`: until the receiver notices.
    pub(in crate::plan) fn headroom(&self, link: u32, end: u8, latency: Time) -> u64 {
        let link = &self.links[link as usize];
        let own = self.station(link.ends[1 - end as usize]).map_or(Time::ZERO, |s| s.pause_response.typical);
        let response = own.max(link.rate.typical.longest_response());
        ethernet::headroom(link.rate.typical, link.delay.at(Corner::Typical), response, latency, self.longest)
    }

    /// Whether switches may drop frames: without flow control, or where its headroom or memory is less than it needs.
    pub(crate) fn can_drop(&self) -> bool {
        self.drops
    }

    /// Works out what the memories of its switches allow, once all else is known.
    pub(in crate::plan) fn buffer(&mut self) {
        let stations = Stations::of(self);
        let of = |i: usize| match &self.nodes[i].keys {
            NodeKeys::Switch(k) => Some(Buffering::of(self, i, k, stations)),
            NodeKeys::Station(_) => None,
        };
        let all: Vec<Option<Buffering>> = (0..self.nodes.len()).map(of).collect();
        let tight = |b: &Buffering| b.needs > b.memory - b.lossy || b.headroom < b.asked;
        self.drops = self.flow_control() == FlowControl::None || all.iter().flatten().any(tight);
        self.buffering = all;
    }
}

/// What a switch must know of all stations.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Stations {
    count: u64,
    /// With credits: what those that say so have granted, in all, and how many say nothing.
    granted: u64,
    silent: u64,
}

impl Stations {
    fn of(network: &Network) -> Stations {
        let mut all = Stations { count: 0, granted: 0, silent: 0 };
        for k in (0..network.nodes.len() as u32).filter_map(|n| network.station(NodeId(n))) {
            all.count += 1;
            match &k.credit {
                Some(q) => all.granted = all.granted.saturating_add(q.typical.0.max(network.longest_frame())),
                None => all.silent += 1,
            }
        }
        all
    }
}

impl Buffering {
    /// What a switch has, and what it would need.
    fn of(network: &Network, index: usize, k: &EthernetSwitch, of_stations: Stations) -> Buffering {
        let node = &network.nodes[index];
        let memory = k.memory.typical.0;
        let ports = node.ports.len().max(1) as u64;
        let stations = of_stations.count;
        let longest = network.longest_frame();
        // Of the worst port.
        let headroom =
            (node.ports.iter()).map(|&(link, end)| network.headroom(link, end, k.latency.typical)).max().unwrap_or(0);
        // A stopped destination holds up the application; what adapters hold comes all the same.
        let neighbours = node.ports.iter().map(|&(link, end)| network.links[link as usize].ends[1 - end as usize]);
        let adapter = neighbours
            .filter_map(|n| network.station(n))
            .map(|s| s.mac_buffer.typical.0.saturating_add(s.nic_buffer.typical.0));
        let ahead = adapter.max().unwrap_or(0);
        // Priorities that are paused, of those in use.
        let all = network.classes.len().max(1);
        let classes = (0..all).filter(|c| network.lossless(*c)).count() as u64;
        let mixed = k.flow_control.typical == FlowControl::Pfc && classes < all as u64;
        let lossy = match (mixed, &k.lossy_memory) {
            (false, _) => 0,
            (true, Some(q)) => q.typical.0.min(memory),
            (true, None) if classes == 0 => memory,
            (true, None) => memory / 2,
        };
        // Other control frames may go before.
        let before = match k.flow_control.typical {
            FlowControl::Pfc => classes.saturating_sub(1),
            FlowControl::Voq => ports - 1,
            _ => 0,
        };
        let headroom = headroom.saturating_add(before * ethernet::wire(ethernet::MIN_FRAME));
        let stated = k.headroom.as_ref().map_or(headroom, |q| q.typical.0);
        // How many accounts there are that may each reach the high threshold, and what may come beyond it for one of
        // them.
        let (accounts, beyond) = match k.flow_control.typical {
            FlowControl::None => (0, 0),
            FlowControl::Pause => (1, ports.saturating_mul(headroom)),
            FlowControl::Pfc => (ports * classes, headroom),
            FlowControl::Voq => (ports, (ports - 1).saturating_mul(headroom.saturating_add(ahead))),
            FlowControl::Credits => (stations.max(1), 0),
        };
        let share = match k.flow_control.typical {
            FlowControl::None => memory,
            FlowControl::Pause => memory / 2,
            _ => ((memory - lossy).saturating_sub(accounts.saturating_mul(beyond)) / accounts.max(1))
                .max(longest.min(memory)),
        };
        let high = k.high_threshold.as_ref().map_or(share, |q| q.typical.0);
        let credit = (memory / stations.max(1)).max(longest);
        let ecn_high = k.ecn_high.as_ref().map_or((memory / 60).max(2 * longest), |q| q.typical.0);
        Buffering {
            memory,
            lossy,
            high,
            low: k.low_threshold.as_ref().map_or(high / 2, |q| q.typical.0),
            headroom: stated,
            asked: headroom,
            account: (k.headroom.as_ref())
                .filter(|_| k.flow_control.typical == FlowControl::Pfc)
                .map(|q| high.saturating_add(q.typical.0)),
            ecn_high,
            ecn_low: k.ecn_low.as_ref().map_or(ecn_high / 40, |q| q.typical.0),
            credit,
            needs: match k.flow_control.typical {
                FlowControl::Credits => of_stations.granted.saturating_add(of_stations.silent.saturating_mul(credit)),
                _ => accounts.saturating_mul(high.saturating_add(beyond)),
            },
        }
    }

    /// Writes the values that were worked out where no key stated them.
    pub(in crate::plan) fn fill(&self, settings: &mut Vec<Setting>) {
        let worked = |bytes: u64| {
            Quantity::derived(
                Bytes(bytes),
                Origin::Assumed,
                Confidence::Likely,
                "computed from the switch's memory and links",
            )
        };
        let all = [
            ("high_threshold", self.high),
            ("low_threshold", self.low),
            ("headroom", self.headroom),
            ("ecn_high", self.ecn_high),
            ("ecn_low", self.ecn_low),
            ("lossy_memory", self.lossy),
        ];
        for (key, bytes) in all {
            let none = key == "lossy_memory" && bytes == 0;
            if !none && settings.iter().all(|s| s.key != key) {
                settings.push(Setting::of(key, &worked(bytes)));
            }
        }
    }
}

/// Says of each kind of switch whether its flow control can lose frames, or come to a standstill.
pub(in crate::plan) fn check(diagnostics: &mut Diagnostics, network: &Network) {
    let first = network.switches().next();
    if let (Some((_, node, k)), FlowControl::Pause, true) =
        (first, network.flow_control(), network.switches().count() > 1)
    {
        let what = format!("{}: switches that pause each other when a whole memory is full can deadlock", node.name);
        let hint = "each may be full of frames for the other; \"pfc\" pauses by port and priority";
        diagnostics.push(Diagnostic::warning(k.flow_control.span, what).hint(hint));
    }
    let mut last = "";
    for (id, node, k) in network.switches() {
        let Some(b) = &network.buffering[id.0 as usize] else { continue };
        if node.group == last {
            continue;
        }
        let control = k.flow_control.typical;
        let span = k.flow_control.span.or(k.memory.span);
        if control != FlowControl::None && k.buffers.typical != Buffers::Shared {
            let d = Diagnostic::error(span, format!("{}: flow control watches a shared memory", node.name));
            diagnostics.push(d.hint("set buffers = \"shared\", or flow_control = \"none\""));
            last = &node.group;
            continue;
        }
        if let (FlowControl::Pfc, Some(own)) = (control, &k.headroom) {
            let needed = b.asked;
            if own.typical.0 < needed {
                let what = format!(
                    "{}: too little headroom: {} for each port and priority, {needed} B can still come in after a \
                        pause frame is due",
                    node.name, own.typical
                );
                diagnostics.push(Diagnostic::warning(own.span, what).hint(
                    "three frames, the pause frame, the cable both ways, the latency, and the longest response of a \
                        sender (802.3, 31B.3.7)",
                ));
                last = &node.group;
            }
        }
        if let (FlowControl::Pfc, Some(q)) = (control, &k.lossy_memory)
            && (q.typical > k.memory.typical || q.typical.0 < network.longest_frame())
        {
            let what = format!("{}: a lossy_memory of {} of {}", node.name, q.typical, k.memory.typical);
            let hint = format!("it is a part of the memory that holds a frame, {} B", network.longest_frame());
            diagnostics.push(Diagnostic::error(q.span, what).hint(hint));
            last = &node.group;
            continue;
        }
        // One that is worked out follows from the memory, so a low one alone may be above it.
        let stops = control != FlowControl::None;
        let marks = k.congestion_control.typical == CongestionControl::Dcqcn;
        let pairs = [
            ("low_threshold", "high_threshold", &k.low_threshold, &k.high_threshold, [b.low, b.high], stops, BETWEEN),
            ("ecn_low", "ecn_high", &k.ecn_low, &k.ecn_high, [b.ecn_low, b.ecn_high], marks, MARKS),
        ];
        let above = pairs.into_iter().find_map(|(low_name, high_name, low, high, [least, most], counts, what)| {
            let low = low.as_ref().filter(|_| counts && high.is_none() && least > most)?;
            let most = Bytes(most);
            let text = format!(
                "{}: {low_name} = {} is above {high_name}, which is {most} here: worked out of the memory",
                node.name, low.typical
            );
            let hint = format!("{what}: lower {low_name}, or set {high_name} above it");
            Some(Diagnostic::error(low.span, text).hint(hint))
        });
        if let Some(error) = above {
            diagnostics.push(error);
            last = &node.group;
            continue;
        }
        let (rule, weights) = network.scheduling(k);
        if let (Scheduling::Weighted, Some(class)) = (rule, weights.iter().position(|w| *w == 0)) {
            let span = k.weights.as_ref().and_then(|q| q.span);
            let what =
                format!("{}: priority {} has no weight and would never be served", node.name, network.classes[class]);
            diagnostics.push(Diagnostic::error(span, what).hint("give each priority in use a weight of 1 or more"));
            last = &node.group;
            continue;
        }
        if control != FlowControl::None && b.needs > b.memory - b.lossy {
            let what = format!(
                "{}: too little headroom: flow control \"{}\" needs {} B of memory to be lossless by construction; \
                    this switch has {}",
                node.name,
                crate::scenario::quantity::Shape::show(&control),
                b.needs,
                Bytes(b.memory - b.lossy)
            );
            let hint =
                "frames may be dropped when all ports fill up at once; lower high_threshold, or use fewer priorities";
            diagnostics.push(Diagnostic::warning(span, what).hint(hint));
            last = &node.group;
        }
    }
}
