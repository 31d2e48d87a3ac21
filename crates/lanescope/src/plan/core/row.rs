//! Flows and links of all technologies in one row each, as reports, samples and runs list them.
//!
//! A technology numbers its own from 0. Where they stand in the row is worked out here and nowhere else.

use crate::plan::Plan;
use crate::scenario::keys::Technology;
use std::ops::Range;

/// A flow of any technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowRef {
    /// Whose it is.
    pub technology: Technology,
    /// Its number there.
    pub number: usize,
}

/// One direction of a link of any technology, or a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkRef {
    /// Whose it is.
    pub technology: Technology,
    /// Its number there: of links with two directions, twice the link's for the first and one more for the other.
    pub number: usize,
}

/// The flows that one table of a scenario declares.
#[derive(Clone, Debug)]
pub struct FlowGroup {
    /// Whose they are.
    pub technology: Technology,
    /// Its place among all groups, and among those of the technology.
    pub index: usize,
    /// See `index`.
    pub nth: usize,
    /// Their numbers.
    pub members: Vec<usize>,
    /// The place of the technology's first flow in the row of all.
    first: usize,
}

impl FlowGroup {
    /// Where its flows stand in the row of all.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|m| self.first + m)
    }

    /// One of its flows, by its place among them.
    pub fn flow(&self, nth: usize) -> FlowRef {
        FlowRef { technology: self.technology, number: self.members[nth] }
    }
}

/// The place of a technology in a row, when each has so many.
fn range(of: Technology, count: impl Fn(Technology) -> usize) -> Range<usize> {
    let first = Technology::ALL.into_iter().take_while(|t| *t != of).map(&count).sum();
    first..first + count(of)
}

impl Plan {
    /// Where the flows of a technology stand in the row of all: those that tables declare, and of PCIe and buses the
    /// DMA of adapters.
    pub fn flows_of(&self, technology: Technology) -> Range<usize> {
        range(technology, |t| self.side(t).flows())
    }

    /// Where the links of a technology stand in the row of all: both directions of each, or a bus once.
    pub fn links_of(&self, technology: Technology) -> Range<usize> {
        range(technology, |t| self.side(t).links())
    }

    /// The place of a flow in the row of all.
    pub fn flow_place(&self, flow: FlowRef) -> usize {
        self.flows_of(flow.technology).start + flow.number
    }

    /// The place of a link in the row of all.
    pub fn link_place(&self, link: LinkRef) -> usize {
        self.links_of(link.technology).start + link.number
    }

    /// All flow groups, in the order of reports. An adapter's DMA is part of its I/Os or messages, and in no group.
    pub fn flow_groups(&self) -> Vec<FlowGroup> {
        let mut all = Vec::new();
        for technology in Technology::ALL {
            let first = self.flows_of(technology).start;
            for (nth, members) in self.side(technology).groups().into_iter().enumerate() {
                all.push(FlowGroup { technology, index: all.len(), nth, members, first });
            }
        }
        all
    }
}
