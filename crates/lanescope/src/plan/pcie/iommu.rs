//! A root complex's IOMMU: which addresses it translates, what its IOTLB holds, and how often a flow misses it.
//!
//! Addresses matter only where a flow says over what range its operations are spread (`window`): all others are taken
//! to find their translation at hand. The IOTLB is shared by all devices below a root complex and replaces the entry
//! that was used least recently. Of pages that are used at random, all equally often, it holds each for a share of the
//! time of entries / pages, whatever it replaces; of pages that come round in order it holds all or none.

use crate::plan::{Flow, PartId, Plan};
use crate::scenario::PartKeys;
use crate::scenario::keys::{AddressOrder, Iommu};
use crate::scenario::quantity::Corner;
use crate::tools::gcd;

/// Sizes of pages that processors have: of x86 and of ARM with granules of 4, 16 and 64 KiB.
pub(in crate::plan) const PAGES: [u64; 7] = [4 << 10, 16 << 10, 64 << 10, 2 << 20, 32 << 20, 512 << 20, 1 << 30];

/// What translates, at one corner of its ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Translation {
    /// Bytes of a page.
    pub page: u64,
    /// Translations that the IOTLB holds.
    pub entries: u64,
    /// Page walks at once.
    pub walks: u64,
    /// Time of one, ns.
    pub walk: f64,
    /// Between the ends of walks that wait for one another, ns.
    pub interval: f64,
}

/// How often a flow's operations miss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misses {
    /// Page walks of an operation, on average.
    pub walks: f64,
    /// Pages that an operation comes to, less than one where several follow one another in a page; each of them misses
    /// alike.
    pub pages: f64,
    /// Whether a run can have no fewer: not where places are drawn, or where it is other flows that take the entries.
    pub certain: bool,
}

impl Plan {
    /// The IOMMU of a root complex that translates; `None` where it does not.
    pub(crate) fn iommu(&self, corner: Corner, part: PartId) -> Option<Translation> {
        let PartKeys::RootComplex(k) = &self.part(part).keys else { return None };
        let (walks, walk) = (k.iommu_walks.at(corner).get(), k.iommu_walk.at(corner).ns());
        let least = walk / f64::from(walks);
        (k.iommu.typical == Iommu::On).then(|| Translation {
            page: k.iommu_page.at(corner).0,
            entries: k.iotlb_entries.at(corner).get().into(),
            walks: walks.into(),
            walk,
            interval: k.iommu_walk_interval.as_ref().map_or(least, |q| q.at(corner).ns().max(least)),
        })
    }

    /// Translations that a flow's own device holds, if it has any.
    pub(crate) fn device_translations(&self, corner: Corner, flow: &Flow) -> Option<u64> {
        match &self.part(flow.source).keys {
            PartKeys::Endpoint(k) => k.atc_entries.as_ref().map(|n| n.at(corner).get().into()),
            _ => None,
        }
    }

    /// How often the operations of a flow to a root complex miss; `None` where they never do.
    pub(crate) fn misses(&self, corner: Corner, flow: &Flow) -> Option<Misses> {
        let iommu = self.iommu(corner, flow.target)?;
        flow.window.as_ref()?;
        let own = self.device_translations(corner, flow);
        // Who shares the entries: the flows of the device, or all that have none of their own.
        let with = |f: &&Flow| match own {
            Some(_) => f.source == flow.source,
            None => f.target == flow.target && self.device_translations(corner, f).is_none(),
        };
        let window = |f: &Flow| f.window.as_ref().map_or(0, |w| w.at(corner).0.div_ceil(iommu.page));
        let all: u64 = self.flows.iter().filter(with).map(window).fold(0, u64::saturating_add);
        let (held, all) = (own.unwrap_or(iommu.entries) as f64, all as f64);
        let size = flow.size.at(corner).0;
        let each = size as f64 / iommu.page as f64;
        let drawn = flow.addresses.typical == AddressOrder::Random;
        // What is drawn is aligned to its size, so most cross no page.
        let pages = if drawn { each + 1.0 - gcd(size, iommu.page) as f64 / iommu.page as f64 } else { each };
        let walks = match drawn {
            true => pages * (1.0 - held / all).max(0.0),
            false if all > held => pages,
            false => 0.0,
        };
        // A flow that alternates has an operation of either kind at each place.
        let certain = !drawn && window(flow) as f64 > held;
        (walks > 0.0).then_some(Misses { walks, pages, certain })
    }
}
