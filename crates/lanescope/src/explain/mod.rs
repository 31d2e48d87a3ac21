//! A real host explained: its links as they are, what its devices should reach, what holds them back, what it costs.
//!
//! The walk: a [`Host`] that dumps told → its tree of links → what of them is believed →
//! rates by the protocol calculator → [`Explained`], types only, printed by pens. Loads of several devices at once are
//! an ordinary scenario that the estimate answers. What a dump leaves open is a range, and the report names the command
//! that narrows it.

mod belief;
mod bus;
mod capable;
mod endpoints;
mod expect;
mod findings;
mod forward;
pub mod hwloc;
pub mod infragraph;
mod links;
pub mod measured;
pub mod nccl;
mod peers;
mod rate;
pub mod scenario;
pub mod simulate;
pub mod thresholds;
mod together;
mod tree;
pub mod ucx;
pub mod workload;

pub use rate::{Range, Way};

use crate::import::host::{Host, Remark};
use belief::Belief;
use rate::{Corner, Rates};
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::OnceCell;
use tree::Tree;

/// Number of the form of [`Explained`] as JSON.
pub(crate) const SCHEMA: u32 = 3;

/// A host with its tree and what is believed of its links: what the parts of a report work on.
pub(crate) struct Topology<'a> {
    pub(crate) host: &'a Host,
    pub(crate) tree: Tree,
    pub(crate) beliefs: Vec<Belief>,
    pub(crate) devices: Vec<endpoints::Endpoint>,
    /// Devices behind each link.
    behind: Vec<Vec<usize>>,
    /// The class of its root complexes, once it was looked for.
    class: OnceCell<Option<&'static forward::Class>>,
    pub(crate) rates: Rates,
}

impl<'a> Topology<'a> {
    pub(crate) fn of(host: &'a Host) -> Topology<'a> {
        let tree = Tree::of(host);
        let beliefs = tree.links.iter().map(|l| belief::believe(host, &tree, l)).collect();
        let behind = vec![Vec::new(); tree.links.len()];
        let (devices, class) = (Vec::new(), OnceCell::new());
        let mut topology = Topology { host, tree, beliefs, devices, behind, class, rates: Rates::default() };
        topology.devices = endpoints::endpoints(&topology);
        for (index, device) in topology.devices.iter().enumerate() {
            device.links.iter().for_each(|l| topology.behind[*l].push(index));
        }
        topology
    }
}

impl Topology<'_> {
    /// Devices behind a link, in the order of their names.
    pub(crate) fn behind(&self, link: usize) -> Vec<&endpoints::Endpoint> {
        self.behind.get(link).into_iter().flatten().map(|n| &self.devices[*n]).collect()
    }
}

/// What is said of a host.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// Number of this form.
    pub schema: u32,
    /// The host itself.
    pub host: About,
    /// Every link, as it is.
    pub links: Vec<LinkLine>,
    /// Every device behind a link, with what it should reach.
    pub devices: Vec<Device>,
    /// All devices of a class at once.
    pub together: Vec<Together>,
    /// Pairs of devices, peer to peer.
    pub pairs: Vec<Pair>,
    /// What holds the host back, the costliest first.
    pub findings: Vec<Finding>,
    /// What the dumps do not say, and what would.
    pub unknown: Vec<Unknown>,
    /// Where dumps contradict each other, and what could not be read.
    pub notes: Vec<String>,
    /// What was measured, beside what was expected.
    pub measured: Vec<measured::Row>,
    /// What would explain the measured numbers, the best fit first.
    pub candidates: Vec<measured::Candidate>,
    /// The one command that tells those apart that fit about as well, and what it shows of each.
    pub tell_apart: Option<String>,
    /// Low rows of devices and pairs, where no single cause explains them.
    pub unexplained: usize,
    /// What a load of the user's own gets, where there is one.
    pub workload: Option<crate::result::Report>,
}

/// The host itself.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct About {
    /// Its name in a prompt.
    pub name: Option<String>,
    /// Processor.
    pub processor: Option<String>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// NUMA nodes.
    pub nodes: Option<usize>,
    /// Why it is taken for a virtual machine, if it is.
    pub virtual_machine: Option<String>,
    /// Functions in the dumps.
    pub functions: usize,
    /// Dumps with the forms found in them.
    pub dumps: Vec<String>,
}

/// One link.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LinkLine {
    /// The port nearer to the root complex; absent where the dump does not list it.
    pub upper: Option<String>,
    /// The first function at the other end.
    pub lower: String,
    /// What that is.
    pub name: String,
    /// How the link stands: `full`, `lesser`, `down`, `idle`, `empty`, `virtual`, `unknown`.
    pub standing: String,
    /// What both ends can do, e.g. `16 GT/s x16`.
    pub capable: Option<String>,
    /// What the port above can do.
    pub upper_capable: Option<String>,
    /// What the device can do.
    pub lower_capable: Option<String>,
    /// What the dump shows.
    pub shown: Option<String>,
    /// What it is taken for under load.
    pub taken: Option<String>,
    /// Why, where that is not what the dump shows.
    pub why: Option<String>,
    /// Max_Payload_Size in force over the way to the root complex, bytes.
    pub mps: Option<u32>,
    /// The function that allows no more, where the device could send more.
    pub mps_clamped_by: Option<String>,
    /// Max_Read_Request_Size, bytes.
    pub mrrs: Option<u32>,
    /// Relaxed Ordering enabled.
    pub relaxed_ordering: Option<bool>,
    /// Extended tags enabled.
    pub extended_tags: Option<bool>,
    /// ACS P2P Request Redirect at the port above.
    pub acs_redirect: Option<bool>,
    /// IOMMU group.
    pub iommu_group: Option<u32>,
    /// NUMA node.
    pub node: Option<u32>,
    /// Bridges above this link: how deep it is drawn.
    pub depth: usize,
    /// Where the dump says so.
    pub evidence: Option<String>,
}

/// A device and what it should reach.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Device {
    /// Its name in this report: `gpu0`.
    pub id: String,
    /// Its address.
    pub address: String,
    /// What it is.
    pub name: String,
    /// `gpu`, `nic`, `drive`, `storage`, `other`.
    pub kind: String,
    /// Names of its operating-system devices.
    pub devices: Vec<String>,
    /// NUMA node.
    pub node: Option<u32>,
    /// Into host memory: the device writes.
    pub to_memory: Expected,
    /// Out of host memory: the device reads.
    pub from_memory: Expected,
    /// Unloaded latency of a read of 64 B from host memory, ns.
    pub read_latency_ns: Range,
    /// The same with memory of another node, where the host has several.
    pub far: Option<Far>,
}

/// What a device should reach with memory of another node: at most what it does with its own, since the links between
/// sockets and nodes are in no dump.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Far {
    /// Into it, GB/s.
    pub to_memory: Range,
    /// Out of it, GB/s.
    pub from_memory: Range,
    /// Unloaded latency of a read of 64 B, ns.
    pub read_latency_ns: Range,
}

/// An expected number.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Expected {
    /// GB/s.
    pub rate: Range,
    /// What binds it.
    pub bound_by: String,
    /// The cheapest upgrade of what binds, and what it would give.
    pub upgrade: Option<String>,
}

/// All devices of a class at once.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Together {
    /// Which class.
    pub class: String,
    /// How many.
    pub devices: usize,
    /// `to memory`, `from memory`, `both ways`, `each to each`.
    pub way: String,
    /// All together, GB/s.
    pub total: Range,
    /// The one that gets least, GB/s.
    pub least: Range,
    /// What binds all together: links that several of them share, or, where nothing shared binds, what binds the one
    /// that gets least by itself.
    pub bound_by: String,
    /// Why arithmetic does not suffice, where it does not: queues.
    pub queues: Option<String>,
    /// By the packet simulation, where it was asked for.
    pub simulated: Option<Simulated>,
}

/// What the packet simulation gives, GB/s of payload.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Simulated {
    /// All together.
    pub total: f64,
    /// Half of the total's interval of 95 %.
    pub plus_minus: Option<f64>,
    /// The one that gets least.
    pub least: f64,
    /// Why it ended before its means were tight, if it did.
    pub note: Option<String>,
}

/// Two devices, peer to peer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Pair {
    /// Who writes.
    pub from: String,
    /// To whom.
    pub to: String,
    /// `switch`, `root`, `redirected`, `sockets`, `direct`.
    pub way: String,
    /// In words.
    pub through: String,
    /// Writes, GB/s.
    pub write: Range,
    /// Whose root complexes forward as this range has it, and where that is from, if one forwards.
    pub forwarded_as: Option<String>,
    /// What binds them.
    pub bound_by: String,
    /// NVLink or xGMI between them: copies do not cross PCI Express.
    pub direct: Option<String>,
    /// The same by the packet simulation, where it was asked for.
    pub simulated: Option<Simulated>,
    /// Both directions at once, added, by the packet simulation: no arithmetic is given for it, since it queues.
    pub simulated_both_ways: Option<Simulated>,
}

/// Something that costs, or may.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// What it is about: `trained-down`, `narrow-slot`, `shared-uplink`, …
    pub kind: String,
    /// Which device or link.
    pub at: String,
    /// Others of which the same is to be said.
    pub also: Vec<String>,
    /// What it costs a device, GB/s.
    pub cost: f64,
    /// In one sentence.
    pub text: String,
    /// The dump's lines.
    pub evidence: Vec<String>,
    /// What to do.
    pub cure: String,
}

/// What no dump says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// What.
    pub what: String,
    /// The command that says it.
    pub command: String,
}

/// Explains a host.
pub fn explain(host: &Host) -> Explained {
    let topology = Topology::of(host);
    let devices = expect::devices(&topology);
    let pairs = peers::pairs(&topology);
    Explained {
        schema: SCHEMA,
        host: about(&topology),
        links: links::lines(&topology),
        together: together::together(&topology),
        findings: findings::of(&topology),
        unknown: links::unknown(&topology, &pairs),
        pairs,
        notes: [notes(host), together::left_out(&topology), findings::left_out(&topology)].concat(),
        measured: Vec::new(),
        candidates: Vec::new(),
        tell_apart: None,
        unexplained: 0,
        workload: None,
        devices,
    }
}

impl Explained {
    /// Links of GPUs of which the file has the speed of one moment, in which they may have been idle: by their lower
    /// ends' addresses.
    pub fn may_have_idled(&self) -> Vec<&str> {
        let idle = |l: &&LinkLine| match l.standing.as_str() {
            "idle" => l.capable.is_none(),
            "unknown" => l.shown.is_some(),
            _ => false,
        };
        self.links.iter().filter(idle).map(|l| l.lower.as_str()).collect()
    }

    /// Whether the dumps say what any device's link runs at: without that nothing can be found to be in order.
    pub fn rates_known(&self) -> bool {
        let known = |l: &LinkLine| l.shown.is_some() && l.standing != "empty";
        let rated = self.devices.iter().any(|d| d.to_memory.rate.high.is_some());
        rated && (self.links.is_empty() || self.links.iter().any(known))
    }
}

/// The JSON Schema of [`Explained`].
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Explained).to_value()
}

fn about(topology: &Topology) -> About {
    let host = topology.host;
    About {
        name: host.name.as_ref().map(|n| n.value.clone()),
        processor: host.processor.as_ref().map(|n| n.value.clone()),
        sockets: host.sockets.as_ref().map(|n| n.value),
        nodes: (!host.nodes.is_empty()).then_some(host.nodes.len()),
        virtual_machine: links::virtual_machine(topology),
        functions: host.functions.len(),
        dumps: host
            .dumps
            .iter()
            .map(|d| {
                let forms = d.forms.iter().filter_map(|f| serde_json::to_value(f).ok()?.as_str().map(str::to_owned));
                let forms: Vec<String> = forms.collect();
                match forms.is_empty() {
                    true => format!("{}: nothing that is known", d.name),
                    false => format!("{}: {}", d.name, forms.join(", ")),
                }
            })
            .collect(),
    }
}

fn notes(host: &Host) -> Vec<String> {
    let word = |r: Remark| match r {
        Remark::Contradiction => "contradiction",
        Remark::Skipped => "left out",
    };
    let mut notes: Vec<String> =
        host.notes.iter().map(|n| format!("{}: {} ({})", word(n.remark), n.text, host.place(n.at))).collect();
    if host.more_notes > 0 {
        notes.push(format!("and {} more of these", host.more_notes));
    }
    notes
}
