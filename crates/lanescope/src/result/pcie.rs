//! Every clock of a root complex's backbone.

use crate::result::core::causes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a clock of a bus was idle: what held when the idleness began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusIdle {
    /// Nothing to carry.
    #[default]
    Nothing,
    /// What comes next is still on its way through a port, or as a request.
    Port,
    /// Waiting for memory.
    Memory,
    /// Read requests wait because their port works on as many as it can.
    Reads,
}

impl BusIdle {
    /// All of them, in order.
    pub const ALL: [BusIdle; 4] = [BusIdle::Nothing, BusIdle::Port, BusIdle::Memory, BusIdle::Reads];

    /// What a person calls it.
    pub fn words(self) -> &'static str {
        match self {
            BusIdle::Nothing => "nothing to carry",
            BusIdle::Port => "on its way to the bus",
            BusIdle::Memory => "waiting for memory",
            BusIdle::Reads => "all reads in flight",
        }
    }
}

/// The clocks of one bus; the parts add up to the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusClocks {
    /// Data.
    pub data: u64,
    /// Commands and addresses, and whatever else each transaction takes beside its data.
    pub overhead: u64,
    /// Grants that did not pass behind another port's data.
    pub arbitration: u64,
    /// Idle, by cause, in the order of [`BusIdle::ALL`]; in JSON an object with a number for each [`BusIdle`].
    #[serde(with = "causes::of_buses")]
    #[schemars(with = "causes::Buses")]
    pub idle: [u64; 4],
    /// Transactions (not clocks).
    pub transactions: u64,
}

impl BusClocks {
    /// All clocks.
    pub fn total(&self) -> u64 {
        self.busy() + self.idle.iter().sum::<u64>()
    }

    /// Those that are not idle.
    pub fn busy(&self) -> u64 {
        self.data + self.overhead + self.arbitration
    }

    /// What came since an earlier count.
    pub fn since(&self, then: &BusClocks) -> BusClocks {
        let mut idle = self.idle;
        idle.iter_mut().zip(then.idle).for_each(|(now, then)| *now -= then);
        BusClocks {
            data: self.data - then.data,
            overhead: self.overhead - then.overhead,
            arbitration: self.arbitration - then.arbitration,
            idle,
            transactions: self.transactions - then.transactions,
        }
    }

    /// The share of the clocks that is not idle.
    pub fn utilisation(&self) -> f64 {
        self.busy() as f64 / self.total().max(1) as f64
    }

    /// Where its clocks went, with the words a person reads; data last.
    pub fn entries(&self) -> Vec<(&'static str, u64)> {
        let mut all = vec![("command, address", self.overhead), ("arbitration", self.arbitration)];
        all.extend(BusIdle::ALL.into_iter().zip(self.idle).map(|(cause, n)| (cause.words(), n)));
        all.push(("data", self.data));
        all
    }
}

/// A root complex's backbone, simulated: every clock of the measured time, cut between transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedBackbone {
    /// The root complex.
    pub name: String,
    /// Clocks a second, Hz.
    pub clock: f64,
    /// Bytes that a clock carries.
    pub width: u64,
    /// The bus of writes with their data, and of read requests.
    pub request: BusClocks,
    /// The bus of what was read.
    pub completion: BusClocks,
}

impl SimulatedBackbone {
    /// Both, with their names.
    pub fn buses(&self) -> [(&'static str, &BusClocks); 2] {
        [("request bus", &self.request), ("completion bus", &self.completion)]
    }
}
