//! Flows and links of all technologies in one row each, as reports, samples and runs list them.
//!
//! A technology numbers its own from 0. Where they stand in the row is worked out here and nowhere else.

use crate::plan::Plan;
use crate::scenario::keys::Technology;
use std::ops::Range;

/// A flow of any technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FlowRef {
    /// Whose it is.
    pub technology: Technology,
    /// Its number there.
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
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.members.iter().map(|m| self.first + m)
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
    pub(crate) fn flows_of(&self, technology: Technology) -> Range<usize> {
        range(technology, |t| self.side(t).flows())
    }

    /// Where the links of a technology stand in the row of all: both directions of each, or a bus once.
    pub(crate) fn links_of(&self, technology: Technology) -> Range<usize> {
        range(technology, |t| self.side(t).links())
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
