//! What a root complex passes on from one of its ports to another: no dump says it, so it is taken by class of
//! processor, from what people measured there. A class that nobody measured has no low end and no typical value.
//!
//! Parts are of what links carry at the MPS in force, GPUs' engines included, since no instrument tells the two apart.

use super::Topology;
use super::endpoints::Endpoint;
use super::rate::{Corner, Sizes, Way};
use crate::import::host::{Kind, value};

/// Root complexes that forward alike.
pub(crate) struct Class {
    /// What to call them.
    pub(crate) name: &'static str,
    /// Whose they are, by CPUID's family and model.
    of: fn(u32, u32) -> bool,
    /// What the PCI ID Repository calls their root ports.
    ports: &'static [&'static str],
    /// Part of what the links carry: low, typical, high; what nobody measured is not known.
    part: [Option<f64>; 3],
    /// Payload of the TLPs that leave it, where it cuts writes: low, typical, high.
    cut: [Option<u64>; 3],
    /// Whether both ways at once were measured too, each as fast as one.
    pub(crate) both_ways: bool,
    /// What NCCL plans with between two of its sockets, GB/s one way (`src/graph/topo.h`): a planner's number.
    sockets: fn(u32, u32) -> Option<f64>,
    /// Where the parts are from.
    pub(crate) source: &'static str,
}

/// A cache line, which is what Intel's processors make of a write to a peer (NCCL, `src/graph/topo.h`).
const LINE: Option<u64> = Some(64);

/// What was measured on EPYC and Threadripper PRO, and of Xeons with their smaller TLPs.
const MOST: [Option<f64>; 3] = [Some(0.85), Some(0.87), Some(0.98)];

/// Measured on Gen4 x16 at MPS 256, which carries 28.75 GB/s of writes, RTX 4090 in root ports
/// (tinygrad/open-gpu-kernel-modules): EPYC, README, 24.4 GB/s one way, 50.1 to 51.2 both ways; Threadripper PRO
/// 3995WX, issue 6, 50.0 to 51.1 both ways; AMD hosts of Gen4 and Gen5, issue 26, 25 GB/s. Xeon Gold 6430 and 6530
/// there: 20 GB/s of a pair and of a ring, which is what TLPs of 64 B leave of 25. `gpu-pairs`, row `shift.4`: 51 GB/s
/// each way of the 57.5 of Gen5 x16. Xeon E5-2650 v4: drives into a GPU, 7.1 GB/s of the 14.4 of Gen3 x16
/// (forums.developer.nvidia.com, 55564); Haswell 8.2 and EPYC 7261 7.0 there (ROCm/ROCmValidationSuite, issue 427).
/// High ends are what engines sustain below a switch.
const CLASSES: &[Class] = &[
    Class {
        name: "AMD EPYC and Threadripper from Zen 2 on",
        // Rome and Castle Peak; Milan, Genoa, Storm Peak, Bergamo; Turin: Ryzens of these families have other models.
        of: |family, model| matches!((family, model), (23, 49) | (25, 0..=31 | 160..=175) | (26, 0..=31)),
        ports: &[
            "Starship/Matisse GPP Bridge",
            "Starship PCIe GPP Bridge",
            "Genoa/Bergamo GPP Bridge",
            "Turin GPP Bridge",
        ],
        part: MOST,
        cut: [None; 3],
        both_ways: true,
        sockets: |family, _| match family {
            26 => Some(32.0),
            25 => Some(24.0),
            _ => Some(16.0),
        },
        source: "measured on RTX 4090 at Gen4 (tinygrad/open-gpu-kernel-modules, README, issues 6 and 26), and row \
                 shift.4 of the study gpu-pairs at Gen5",
    },
    Class {
        name: "Intel Xeon, Sapphire and Emerald Rapids",
        of: |family, model| matches!((family, model), (6, 143 | 207)),
        ports: &[],
        part: MOST,
        cut: [LINE; 3],
        both_ways: true,
        sockets: |_, model| Some(if model == 207 { 40.0 } else { 22.0 }),
        source: "they cut peers' writes to TLPs of 64 B (NCCL, src/graph/topo.h), as 20 GB/s of RTX 4090 at Gen4 on \
                 Xeon Gold 6430 and 6530 confirm (tinygrad/open-gpu-kernel-modules, issue 26)",
    },
    Class {
        name: "Intel Xeon, Skylake to Ice Lake",
        of: |family, model| matches!((family, model), (6, 85 | 106 | 108)),
        ports: &["Sky Lake-E PCI Express Root Port", "Ice Lake PCI Express Root Port"],
        part: [None, None, Some(0.98)],
        cut: [LINE, LINE, None],
        both_ways: false,
        sockets: |_, _| Some(10.0),
        source: "NCCL takes them to cut peers' writes to TLPs of 64 B (src/graph/topo.h); not measured",
    },
    Class {
        name: "Intel Xeon E5 v3 and v4, AMD EPYC 7001",
        of: |family, model| matches!((family, model), (6, 63 | 79 | 86) | (23, 1)),
        ports: &["Xeon E5 v3/", "Xeon E5 v4/", "Family 17h (Models 00h-0fh) PCIe GPP Bridge"],
        part: [Some(0.48), Some(0.55), Some(0.98)],
        cut: [None; 3],
        both_ways: false,
        sockets: |family, _| Some(if family == 23 { 16.0 } else { 6.0 }),
        source: "measured at Gen3 (forums.developer.nvidia.com, thread 55564; ROCm/ROCmValidationSuite, issue 427)",
    },
];

impl Class {
    /// Whether somebody measured what it passes on.
    pub(crate) fn is_measured(&self) -> bool {
        self.part[Corner::Typical as usize].is_some()
    }
}

impl Topology<'_> {
    /// The class of the host's root complexes: by its processor, else by the name of a root port.
    pub(crate) fn forwarding(&self) -> Option<&'static Class> {
        *self.class.get_or_init(|| self.find_class())
    }

    fn find_class(&self) -> Option<&'static Class> {
        let by_processor = |(family, model)| CLASSES.iter().find(|c| (c.of)(family, model));
        let by_name = || {
            let roots = self.host.functions.iter().filter(|(a, _)| self.tree.parent(**a).is_none());
            let names = roots.filter(|(_, f)| f.kind() == Kind::Bridge).map(|(_, f)| f.called());
            names.into_iter().find_map(|name| CLASSES.iter().find(|c| c.ports.iter().any(|port| name.contains(port))))
        };
        match value(&self.host.family) {
            Some(known) => by_processor(known),
            None => by_name(),
        }
    }

    /// Whether two devices are on different sockets, as far as nodes tell: nodes of one socket are no sockets.
    pub(crate) fn far(&self, from: &Endpoint, to: &Endpoint) -> bool {
        let one = self.host.sockets.as_ref().is_some_and(|s| s.value == 1);
        !one && matches!((from.node, to.node), (Some(a), Some(b)) if a != b)
    }

    /// What a GPU writes to a peer over a root complex at a corner, GB/s; `None` where a link or the class is unknown.
    pub(crate) fn forwarded(&self, from: &Endpoint, to: &Endpoint, corner: Corner) -> Option<f64> {
        let class = self.forwarding().filter(|_| from.kind == Kind::Gpu)?;
        let sizes = self.sizes(from, corner);
        let pick = corner as usize;
        let cut = class.cut[pick].map_or(sizes, |size| Sizes { mps: sizes.mps.min(size), ..sizes });
        let least = |links: &[usize], sizes: Sizes| {
            let rate = |l: &usize| self.rates.of(self.speed(*l, corner)?, sizes, Way::Write);
            links.iter().map(rate).try_fold(f64::INFINITY, |least, rate| Some(least.min(rate?)))
        };
        let carried = least(&from.links, sizes)?.min(least(&to.links, cut)?);
        carried.is_finite().then_some(carried * class.part[pick]?)
    }

    /// What NCCL plans with between the sockets of this host, GB/s.
    pub(crate) fn between_sockets(&self) -> Option<f64> {
        let (family, model) = value(&self.host.family)?;
        (self.forwarding()?.sockets)(family, model)
    }
}
