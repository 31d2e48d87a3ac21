//! A root complex's backbone: what its keys come to for a TLP or a whole operation.
//!
//! Two buses of one clock. The *request bus* carries writes with their data, and read requests; the *completion bus*
//! what was read. Either carries transactions of at most a line. The estimate counts their clocks, the simulation books
//! them.

use crate::plan::{Flow, PartId, Plan};
use crate::protocol::pcie;
use crate::scenario::PartKeys;
use crate::scenario::keys::RootComplex;
use crate::scenario::quantity::Corner;
use crate::units::Frequency;

/// The backbone of a root complex at one corner of its ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backbone {
    /// Clock of both buses.
    pub clock: Frequency,
    /// Bytes a clock.
    pub width: u64,
    /// Bytes of a transaction at most.
    pub line: u64,
    /// Clocks of a grant.
    pub arbitration: u64,
    /// Clocks of each transaction on the request bus before its data.
    pub request: u64,
    /// Clocks of each transaction on the completion bus beside its data.
    pub completion: u64,
    /// Through a port, one way, ns.
    pub latency: f64,
    /// Read requests that a port works on at once.
    pub reads: Option<u32>,
}

/// What some bytes take of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Transactions.
    pub transactions: u64,
    /// Those that carry data.
    pub with_data: u64,
    /// Clocks of theirs, without arbitration.
    pub clocks: u64,
}

impl std::ops::Add for Taken {
    type Output = Taken;
    fn add(self, other: Taken) -> Taken {
        Taken {
            transactions: self.transactions + other.transactions,
            with_data: self.with_data + other.with_data,
            clocks: self.clocks + other.clocks,
        }
    }
}

impl Taken {
    /// So many times that.
    fn times(self, n: u64) -> Taken {
        Taken { transactions: self.transactions * n, with_data: self.with_data * n, clocks: self.clocks * n }
    }
}

impl Backbone {
    fn of(k: &RootComplex, corner: Corner) -> Option<Backbone> {
        let (clock, width, line) = (k.backbone_clock.as_ref()?, k.backbone_width.as_ref()?, k.backbone_line.as_ref()?);
        Some(Backbone {
            clock: clock.at(corner),
            width: width.at(corner).0,
            line: line.at(corner).0,
            arbitration: k.arbitration_clocks.at(corner) as u64,
            request: k.request_clocks.at(corner).get() as u64,
            completion: k.completion_clocks.at(corner) as u64,
            latency: k.backbone_latency.at(corner).ns(),
            reads: k.backbone_reads.as_ref().map(|q| q.at(corner).get()),
        })
    }

    /// Clocks a second.
    pub fn clocks_per_second(&self) -> f64 {
        1e9 / self.clock.period_ns()
    }

    /// Transactions of some bytes.
    pub(crate) fn lines(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.line)
    }

    /// Clocks of data of some bytes, cut into lines.
    pub fn data(&self, bytes: u64) -> u64 {
        let (full, rest) = pcie::split(bytes, self.line);
        full * (self.line / self.width) + rest.div_ceil(self.width)
    }

    /// The most clocks of a grant that can pass behind the data of another port's transaction.
    pub(crate) fn hidden(&self) -> u64 {
        self.arbitration.min(self.line / self.width)
    }

    /// A write TLP on the request bus.
    pub(crate) fn write(&self, payload: u64) -> Taken {
        let n = self.lines(payload);
        Taken { transactions: n, with_data: n, clocks: n * self.request + self.data(payload) }
    }

    /// A read request on the request bus.
    pub(crate) fn request(&self, asks: u64) -> Taken {
        let n = self.lines(asks);
        Taken { transactions: n, with_data: 0, clocks: n * self.request }
    }

    /// What a read request asks for on the completion bus.
    pub(crate) fn answer(&self, asks: u64) -> Taken {
        let n = self.lines(asks);
        Taken { transactions: n, with_data: n, clocks: n * self.completion + self.data(asks) }
    }

    /// From a write TLP's last byte at the port to the last of its data across the backbone, unloaded, ns. Beside other
    /// ports it never takes less: what hides a grant is waited for.
    pub(crate) fn write_time(&self, payload: u64) -> f64 {
        let taken = self.write(payload);
        self.latency + (taken.clocks + taken.transactions * self.arbitration) as f64 * self.clock.period_ns()
    }

    /// From a read request's last byte at the port to the last of the first `bytes` of it at the port's transmitter,
    /// without what memory takes, unloaded, ns.
    pub(crate) fn read_time(&self, bytes: u64) -> f64 {
        let n = self.lines(bytes).max(1);
        let ask = self.arbitration + self.request;
        let last = match pcie::split(bytes, self.line).1 {
            0 => self.line / self.width,
            rest => rest.div_ceil(self.width),
        };
        // The bus that takes longer for a line sets the step.
        let clocks = (n * ask + self.completion + last).max(ask + self.answer(bytes).clocks);
        2.0 * self.latency + clocks as f64 * self.clock.period_ns()
    }
}

/// What an operation of a flow takes of the two buses of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Of the request bus.
    pub requests: Taken,
    /// Of the completion bus.
    pub completions: Taken,
}

impl Plan {
    /// The backbone of a part, if it has one.
    pub fn backbone(&self, corner: Corner, part: PartId) -> Option<Backbone> {
        match &self.part(part).keys {
            PartKeys::RootComplex(k) => Backbone::of(k, corner),
            _ => None,
        }
    }

    /// What an operation of a flow takes of a backbone.
    pub(crate) fn crossing(&self, corner: Corner, flow: &Flow, backbone: &Backbone) -> Crossing {
        let size = flow.size.at(corner).0;
        let cut = |piece: u64, of: &dyn Fn(u64) -> Taken| {
            let (full, rest) = pcie::split(size, piece);
            of(piece).times(full) + of(rest)
        };
        let (mut requests, mut completions) = (Taken::default(), Taken::default());
        if flow.writes() {
            requests = cut(flow.payload.at(corner).bytes(), &|b| backbone.write(b));
        }
        if flow.reads() {
            let request = self.request_size(corner, flow);
            requests = requests + cut(request, &|b| backbone.request(b));
            completions = cut(request, &|b| backbone.answer(b));
        }
        Crossing { requests, completions }
    }
}
