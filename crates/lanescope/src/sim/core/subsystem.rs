//! What a run asks of each technology between events: what has happened, what waits, what goes into a report.
//!
//! None of it is on the way of a packet: events go to their technology by their slot, in `System::on`.

use crate::plan::{FlowGroup, Plan};
use crate::result::{
    Binding, Ending, Medium, Note, ProgramReport, SimulatedBackbone, SimulatedFrames, SimulatedIos, SimulatedLink,
    SimulatedMemory, SimulatedSwitch, SlotCounts,
};
use crate::scenario::keys::Technology;
use crate::sim::core::recorder::Trace;
use crate::sim::core::tally::{Cells, Tally};
use std::borrow::Cow;

/// A wire with so much of its slots taken is full.
pub(in crate::sim) const FULL: f64 = 0.97;

/// What happened to one flow group in one batch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct Batch {
    pub(in crate::sim) bytes: u64,
    pub(in crate::sim) done: u64,
    pub(in crate::sim) latency: f64,
    pub(in crate::sim) transit: f64,
    pub(in crate::sim) frame_bytes: u64,
    /// At the end of the batch.
    pub(in crate::sim) backlog: u64,
}

impl std::ops::AddAssign for Batch {
    fn add_assign(&mut self, later: Batch) {
        self.bytes += later.bytes;
        self.done += later.done;
        self.latency += later.latency;
        self.transit += later.transit;
        self.frame_bytes += later.frame_bytes;
        self.backlog = later.backlog;
    }
}

/// A wire (one direction of a link, or a bus) as a report names it.
pub(in crate::sim) struct WireName {
    pub(in crate::sim) name: String,
    pub(in crate::sim) from: String,
    /// Empty of a bus.
    pub(in crate::sim) to: String,
    pub(in crate::sim) medium: Medium,
    /// Bits per second after line coding.
    pub(in crate::sim) coded: f64,
}

/// What a switch has carried since time 0.
pub(in crate::sim) struct Switched {
    pub(in crate::sim) name: String,
    pub(in crate::sim) packets: u64,
    /// Sum of what they took, and the longest since the window opened, fs.
    pub(in crate::sim) time: u128,
    pub(in crate::sim) longest: u64,
    /// Of a switch of Ethernet, in the window.
    pub(in crate::sim) memory: Option<SimulatedMemory>,
}

/// What a flow is, as far as its means depend on it.
pub(in crate::sim) struct Traffic<'a> {
    /// The name of its table.
    pub(in crate::sim) group: &'a str,
    /// Payload that the end of a batch may cut off, bytes.
    pub(in crate::sim) cut: f64,
    /// Whether its reads and writes are counted per direction.
    pub(in crate::sim) alternates: bool,
    /// Whether it is counted from its beginning to its end, not by batches.
    pub(in crate::sim) whole: bool,
    /// What it asks for, where that is a rate.
    pub(in crate::sim) offered: Option<Offered>,
}

/// What a flow asks for.
pub(in crate::sim) struct Offered {
    /// Bits per second.
    pub(in crate::sim) rate: f64,
    /// Bytes of an operation.
    pub(in crate::sim) size: f64,
    /// Operations that come together, on average.
    pub(in crate::sim) together: f64,
    /// Whether they come however many are carried.
    pub(in crate::sim) open: bool,
}

/// What a run has seen in its window, for the part of a report that each technology writes.
#[derive(Clone, Copy)]
pub(in crate::sim) struct Window<'a> {
    pub(in crate::sim) plan: &'a Plan,
    /// Everything before has happened, fs; and what instruments that look in the middle of a piece of work may count.
    pub(in crate::sim) now: u64,
    pub(in crate::sim) past: u64,
    /// When it began, fs.
    pub(in crate::sim) begin: u64,
    /// Of each flow, by its place: now, and when it began.
    pub(in crate::sim) tallies: &'a [Tally],
    pub(in crate::sim) at_window: &'a [Tally],
    /// Of each flow group, and how long one is, fs; and whether there are enough of them for an interval.
    pub(in crate::sim) batches: &'a [Vec<Batch>],
    pub(in crate::sim) batch: u64,
    pub(in crate::sim) batched: bool,
    /// What is in the report already.
    pub(in crate::sim) links: &'a [SimulatedLink],
    pub(in crate::sim) switches: &'a [SimulatedSwitch],
    pub(in crate::sim) backbones: &'a [SimulatedBackbone],
    /// Why the run has ended, if it has.
    pub(in crate::sim) ending: &'a Ending,
}

impl<'a> Window<'a> {
    /// The links of a technology, by its own numbers.
    pub(in crate::sim) fn links_of(&self, technology: Technology) -> &'a [SimulatedLink] {
        &self.links[self.plan.links_of(technology)]
    }

    /// Length of the window, fs.
    pub(in crate::sim) fn length(&self) -> f64 {
        ((self.now - self.begin) as f64).max(1.0)
    }

    /// What some count of a group's flows has come to in the window.
    pub(in crate::sim) fn since(&self, group: &FlowGroup, count: impl Fn(&Tally) -> u128) -> u128 {
        group.places().map(|i| count(&self.tallies[i]) - count(&self.at_window[i])).sum()
    }
}

/// What a technology says of one of its flow groups.
pub(in crate::sim) struct OwnReport {
    /// What holds it up.
    pub(in crate::sim) bound_by: Binding,
    /// Of packets, the part of their bytes that is not headers.
    pub(in crate::sim) without_headers: Option<f64>,
    pub(in crate::sim) frames: Option<SimulatedFrames>,
    pub(in crate::sim) ios: Option<SimulatedIos>,
    pub(in crate::sim) program: Option<ProgramReport>,
    /// The links it goes over, by their places among all of the run; empty where that is not known.
    pub(in crate::sim) ways: Vec<u32>,
}

impl From<Binding> for OwnReport {
    fn from(bound_by: Binding) -> OwnReport {
        OwnReport { bound_by, without_headers: None, frames: None, ios: None, program: None, ways: Vec::new() }
    }
}

/// A technology in a run.
pub(in crate::sim) trait Subsystem {
    /// Which it is.
    fn technology(&self) -> Technology;

    /// How many wires it has.
    fn wires(&self) -> usize;

    /// What a report calls them.
    fn wire_names(&self, plan: &Plan) -> Vec<WireName>;

    /// The ledger of every wire since time 0.
    fn counts(&self) -> Vec<SlotCounts>;

    /// Of each wire's ledger the payload alone, which is asked for at the end of each batch.
    fn payloads(&self, _now: u64) -> Vec<u64> {
        self.counts().iter().map(|c| c.payload).collect()
    }

    /// What stands at or is on its way over each wire: packets, and their payload in bytes.
    fn held(&self) -> Vec<(usize, u64)>;

    /// Header credits that the transmitter of each wire has left, by class.
    fn credits(&self) -> Vec<[Option<u32>; 3]> {
        vec![[None; 3]; self.wires()]
    }

    /// Packets carried over links.
    fn packets(&self) -> u64;

    /// What has happened to each flow since time 0.
    fn tallies(&self, now: u64) -> Vec<Tally>;

    /// Operations of each flow that have arrived and not begun.
    fn backlogs(&self, now: u64) -> Vec<u64>;

    /// Hashes of what each flow has done when, and how many operations that were.
    fn fingerprints(&self) -> Vec<(u64, u64)>;

    /// Latencies of operations of a flow group, by its place among those of the technology, ps.
    fn latencies(&self, group: usize) -> Cow<'_, Cells>;

    /// What its switches have carried.
    fn switched(&self, _plan: &Plan, _now: u64) -> Vec<Switched> {
        Vec::new()
    }

    /// The window opens: distributions, maxima and what is kept for the report are of what follows.
    fn open_window(&mut self, now: u64);

    /// Accounts for idle wires up to a moment that everything has reached.
    fn settle(&mut self, now: u64);

    /// Whether nothing is left of how it began.
    fn settled(&self) -> bool {
        true
    }

    /// The longest that something may be blocked by ordinary traffic, fs.
    fn stall_timeout(&self) -> u64;

    /// A circle of wires that have waited for one another since before a moment, with what each lacks. `silent`:
    /// nothing happens any more.
    fn deadlock(&self, _plan: &Plan, _now: u64, _before: u64, _silent: bool) -> Option<Vec<String>> {
        None
    }

    /// What waits, and for what.
    fn waiting(&self, _plan: &Plan) -> Vec<String> {
        Vec::new()
    }

    /// What ended a program before its time.
    fn fault(&self) -> Option<String> {
        None
    }

    /// Rows of a time line for what there is.
    fn rows(&self, plan: &Plan, trace: &mut Trace);

    /// Takes down what is done without the agenda, or does not any more.
    fn record(&mut self, _on: bool) {}

    /// What a flow is, by its number.
    fn traffic<'a>(&self, plan: &'a Plan, flow: usize) -> Traffic<'a>;

    /// What only it knows of a wire's time in the window.
    fn of_wire(&self, _plan: &Plan, _wire: usize, _window: f64, link: SimulatedLink) -> SimulatedLink {
        link
    }

    /// What it says of its flow groups, in their order.
    fn reports(&self, view: &Window, groups: &[FlowGroup]) -> Vec<OwnReport>;

    /// What is to be remarked.
    fn notes(&self, _view: &Window) -> Vec<Note> {
        Vec::new()
    }
}
