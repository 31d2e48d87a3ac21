//! Which link leads where: bridges above one another, ports of switches, and the wires between them.
//!
//! A bus behind a root port or a switch's downstream port is a link; the bus inside a switch, between its upstream and
//! its downstream ports, is none. Where no capability says what a bridge is (no root rights, hwloc), its place does:
//! below a root port comes an upstream port, below that a downstream port, and so on. NCCL's file leaves levels out;
//! there each element stands for the link above it.

use crate::import::host::{Address, Function, Host, Kind, PortType, value};
use std::collections::{BTreeMap, BTreeSet};

/// What a function is to the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A port whose link leads away from the root complex.
    Down,
    /// A switch's upstream port.
    Up,
    /// A bridge to a shared bus, PCI or PCI-X.
    Shared,
    /// An element of NCCL's file that is a bridge: a whole switch, or part of one.
    Switch,
    /// Anything that is no bridge.
    End,
}

/// A wire between two ports.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The port nearer to the root complex, where a dump lists it.
    pub(crate) upper: Option<Address>,
    /// The first function at the other end.
    pub(crate) lower: Address,
    /// All functions at the other end.
    pub(crate) functions: Vec<Address>,
}

/// The tree of a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    parents: BTreeMap<Address, Address>,
    children: BTreeMap<Address, Vec<Address>>,
    roles: BTreeMap<Address, Role>,
    /// All wires.
    pub(crate) links: Vec<Link>,
    above: BTreeMap<Address, usize>,
}

/// Bridges above one another at most; a bus number has eight bits.
const MOST_DEEP: usize = 300;

impl Tree {
    /// The tree of a host.
    pub(crate) fn of(host: &Host) -> Tree {
        let mut tree = Tree { parents: parents(host), ..Tree::default() };
        for (child, parent) in &tree.parents {
            tree.children.entry(*parent).or_default().push(*child);
        }
        // From the root down, so that a parent's role is known first.
        let mut order: Vec<(usize, Address)> = host.functions.keys().map(|a| (tree.path(*a).len(), *a)).collect();
        order.sort_unstable();
        for (_, address) in &order {
            if let Some(function) = host.functions.get(address) {
                let role = tree.role_of(host, *address, function);
                tree.roles.insert(*address, role);
            }
        }
        tree.wire(host, &order);
        tree
    }

    /// The bridge above a function.
    pub(crate) fn parent(&self, address: Address) -> Option<Address> {
        self.parents.get(&address).copied()
    }

    /// What stands right behind a bridge.
    pub(crate) fn children(&self, address: Address) -> &[Address] {
        self.children.get(&address).map_or(&[], Vec::as_slice)
    }

    /// What a function is to the tree.
    pub(crate) fn role(&self, address: Address) -> Role {
        self.roles.get(&address).copied().unwrap_or(Role::End)
    }

    /// The bridges above a function, the nearest first, without itself.
    pub(crate) fn path(&self, address: Address) -> Vec<Address> {
        std::iter::successors(self.parent(address), |a| self.parent(*a)).take(MOST_DEEP).collect()
    }

    /// The wires between a function and the root complex, the nearest first.
    pub(crate) fn links_above(&self, address: Address) -> Vec<usize> {
        std::iter::once(address).chain(self.path(address)).filter_map(|a| self.above.get(&a).copied()).collect()
    }

    /// The wire right above a function.
    pub(crate) fn link_above(&self, address: Address) -> Option<usize> {
        self.above.get(&address).copied()
    }

    /// The shared bus that a function stands on or behind, if any: its bridge.
    pub(crate) fn shared_bus(&self, address: Address) -> Option<Address> {
        self.path(address).into_iter().find(|a| self.role(*a) == Role::Shared)
    }

    /// Ends below a bridge: functions that are no bridges, at any depth.
    pub(crate) fn ends_below(&self, address: Address) -> Vec<Address> {
        let mut found = Vec::new();
        let mut todo = vec![address];
        while let Some(next) = todo.pop() {
            for child in self.children(next) {
                match self.role(*child) {
                    Role::End => found.push(*child),
                    _ => todo.push(*child),
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// All that is below a bridge, at any depth.
    pub(crate) fn all_below(&self, address: Address) -> Vec<Address> {
        let mut found = self.children(address).to_vec();
        let mut next = 0;
        while let Some(at) = found.get(next).copied() {
            found.extend_from_slice(self.children(at));
            next += 1;
        }
        found
    }

    fn role_of(&self, host: &Host, address: Address, function: &Function) -> Role {
        let bridge = is_bridge(function);
        match function.port() {
            Some(PortType::RootPort | PortType::Downstream | PortType::FromPci) => return Role::Down,
            Some(PortType::Upstream) => return Role::Up,
            Some(PortType::ToPci) => return Role::Shared,
            Some(_) => return Role::End,
            None if function.to_cardbus() => return Role::Shared,
            None if function.limits => return Role::Down,
            None => {}
        }
        let has_children = self.children.contains_key(&address);
        if !bridge && !has_children {
            return Role::End;
        }
        let parent = self.parent(address);
        // Of NCCL's file alone, and not of a dump that lists every level.
        if function.nccl.is_some() && function.buses.is_none() && function.parent.is_none() {
            return Role::Switch;
        }
        // Its capabilities were read, and PCI Express is not among them.
        let read = function.pcix.is_some() || (function.acs.is_some() || function.power.is_some());
        let plain = read && function.express.is_none();
        let below = self.children(address);
        match parent.map(|p| self.role(p)) {
            _ if plain => Role::Shared,
            None if is_chipset_pci(function) => Role::Shared,
            None | Some(Role::Up) => Role::Down,
            Some(Role::Shared) => Role::Shared,
            // Behind a root port: a switch, if there are ports behind it, else a bridge to a shared bus.
            Some(_) => {
                let ports =
                    below.iter().any(|c| self.children.contains_key(c) || host.functions.get(c).is_some_and(is_bridge));
                if ports { Role::Up } else { Role::Shared }
            }
        }
    }

    fn wire(&mut self, host: &Host, order: &[(usize, Address)]) {
        // Functions of one device on one bus share its link.
        let mut seen: BTreeMap<(Option<Address>, u32, u8), usize> = BTreeMap::new();
        for (_, address) in order {
            let Some(function) = host.functions.get(address) else { continue };
            let parent = self.parent(*address);
            let role = parent.map(|p| self.role(p));
            let of_nccl = function.nccl.is_some() && function.parent.is_none() && role != Some(Role::Up);
            let linked = match role {
                Some(Role::Down) => function.port().is_none_or(PortType::has_link),
                Some(Role::Switch) => true,
                Some(Role::Up | Role::Shared | Role::End) => false,
                // No port above is listed: an excerpt, or NCCL's file.
                None => {
                    let ends = matches!(
                        function.port(),
                        Some(PortType::Endpoint | PortType::LegacyEndpoint | PortType::Upstream | PortType::ToPci)
                    );
                    // Of `lspci -vvv | grep Lnk` nothing else is left: whose link it is does not stand there.
                    let cut = function.port().is_none()
                        && !is_bridge(function)
                        && !function.limits
                        && function.express.as_ref().is_some_and(|e| e.width.is_some() || e.width_capable.is_some());
                    let claims = function.claim.speed.is_some() || function.claim.empty;
                    ((ends || cut) && address.bus != 0) || (of_nccl && (claims || function.nccl.is_some()))
                }
            };
            if !linked {
                continue;
            }
            // Below a switch of NCCL's file each element has its own port.
            let slot = match role {
                Some(Role::Down) => (parent, address.domain, address.bus),
                _ => (parent, address.domain, if of_nccl { 0 } else { address.bus }),
            };
            let alone = of_nccl && role != Some(Role::Down);
            match seen.get(&slot).copied().filter(|_| !alone) {
                Some(index) => {
                    self.links[index].functions.push(*address);
                    self.above.insert(*address, index);
                }
                None => {
                    let index = self.links.len();
                    let upper = parent.filter(|_| role == Some(Role::Down) || role == Some(Role::Switch));
                    self.links.push(Link { upper, lower: *address, functions: vec![*address] });
                    self.above.insert(*address, index);
                    seen.insert(slot, index);
                }
            }
        }
    }
}

/// By its class, or by the bus behind it: a bare tree has no classes.
fn is_bridge(function: &Function) -> bool {
    function.kind() == Kind::Bridge || function.buses.is_some()
}

/// Intel's bridge from the chipset to conventional PCI: device 30 of bus 0.
fn is_chipset_pci(function: &Function) -> bool {
    let name = function.name.as_ref().map_or("", |n| n.value.as_str());
    name.contains("PCI Bridge") && !name.contains("Express")
}

/// The bridge above each function: as a tree says, else by bus numbers, else as NCCL's file nests them.
fn parents(host: &Host) -> BTreeMap<Address, Address> {
    let mut by_bus: BTreeMap<(u32, u8), Address> = BTreeMap::new();
    for (address, function) in &host.functions {
        if let Some((second, _)) = value(&function.buses).filter(|(s, _)| *s != 0 && *s != address.bus) {
            by_bus.entry((address.domain, second)).or_insert(*address);
        }
    }
    let mut parents = BTreeMap::new();
    for (address, function) in &host.functions {
        let nested = function.nccl.as_ref().and_then(|n| n.above);
        let parent = value(&function.parent).or_else(|| by_bus.get(&(address.domain, address.bus)).copied()).or(nested);
        // Bus numbers rise along a way, so no bridge is between two buses that follow one another.
        let next = |by: &Address| by.domain == address.domain && by.bus.checked_add(1) == Some(address.bus);
        let parent = parent.or_else(|| function.limited.first().map(|l| l.value.by).filter(next));
        if let Some(parent) = parent.filter(|p| p != address && host.functions.contains_key(p)) {
            parents.insert(*address, parent);
        }
    }
    // A junk dump may put a bridge behind itself.
    let all: Vec<Address> = parents.keys().copied().collect();
    let mut sound: BTreeSet<Address> = BTreeSet::new();
    for start in all {
        let mut walked = BTreeSet::new();
        let mut at = start;
        loop {
            if sound.contains(&at) || walked.len() > MOST_DEEP {
                break;
            }
            if !walked.insert(at) {
                parents.remove(&at);
                break;
            }
            match parents.get(&at) {
                Some(next) => at = *next,
                None => break,
            }
        }
        sound.extend(walked);
    }
    parents
}
