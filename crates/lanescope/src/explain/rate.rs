//! GB/s of links and of classes of device: the protocol calculator's numbers, times what engines sustain.

use crate::estimate::wire::{Carried, carried};
use crate::import::host::Kind;
use crate::protocol::pcie::{PayloadSize, Speed};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::HashMap;

/// A number with its ends, GB/s (10^9 bytes a second) of payload. `low` is absent where nothing bounds it from below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Range {
    /// At least this, where the dump says enough.
    pub low: Option<f64>,
    /// Most likely.
    pub typical: Option<f64>,
    /// At most.
    pub high: Option<f64>,
}

impl Range {
    /// How far apart the ends are: high over low.
    pub fn spread(&self) -> Option<f64> {
        Some(self.high? / self.low.filter(|l| *l > 0.0)?)
    }

    /// A range of what was worked out at the slower, the likely and the faster end of all that is unknown: of what is
    /// shared somebody may get less where all is faster, so the ends are the least and the greatest of the three.
    pub(crate) fn around([low, typical, high]: [Option<f64>; 3]) -> Range {
        let all = || [low, typical, high].into_iter().flatten();
        Range {
            low: low.and_then(|_| all().reduce(f64::min)),
            typical,
            high: high.and_then(|_| all().reduce(f64::max)),
        }
    }

    /// At each corner.
    pub(crate) fn at(&self, corner: Corner) -> Option<f64> {
        match corner {
            Corner::Low => self.low,
            Corner::Typical => self.typical,
            Corner::High => self.high,
        }
    }
}

/// GB/s in MiB/s, which some programs call MB/s.
pub(crate) fn mebibytes(gigabytes: f64) -> u64 {
    (gigabytes * 1e9 / f64::from(1 << 20)).round() as u64
}

/// Which end of what is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Corner {
    /// The slower.
    Low,
    /// The likely one.
    Typical,
    /// The faster.
    High,
}

impl Corner {
    pub(crate) const ALL: [Corner; 3] = [Corner::Low, Corner::Typical, Corner::High];
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// The device writes.
    Write,
    /// The device reads.
    Read,
}

/// What an engine of a class sustains of what its link carries: low, typical, high.
///
/// GPUs' copy engines: three values a way, chosen by hand to hold given rows of the study `gpu-pairs`: `turin.same`
/// 56.3, `trpro.pair.write` 52.5 and `broadcom.same.write` 53.5 of the 57.5 GB/s that Gen5 x16 carries; `ada.h2d` 26.8
/// GB/s of reads at Gen4 x16. Other classes: assumed, as their engines are made for their port.
pub(crate) fn efficiency(kind: Kind, way: Way, corner: Corner) -> f64 {
    // Of reads the size of completions is the larger unknown; where they are small the link is full with them.
    let [low, typical, high] = match (kind, way) {
        (Kind::Gpu, Way::Write) => [0.91, 0.94, 0.98],
        (Kind::Gpu, Way::Read) => [0.955, 0.96, 0.98],
        (_, Way::Write) => [0.95, 0.98, 1.0],
        (_, Way::Read) => [0.97, 0.98, 0.99],
    };
    match corner {
        Corner::Low => low,
        Corner::Typical => typical,
        Corner::High => high,
    }
}

/// Sizes on a path: what is in force, or what is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sizes {
    /// Max_Payload_Size.
    pub(crate) mps: u64,
    /// Max_Read_Request_Size.
    pub(crate) mrrs: u64,
    /// Payload of completions from host memory.
    pub(crate) completion: u64,
}

/// Rates by link and sizes, asked of the calculator once each.
#[derive(Default)]
pub(crate) struct Rates {
    known: RefCell<HashMap<(Speed, Sizes), Option<Carried>>>,
}

impl Rates {
    /// What a link carries of a way, GB/s of payload.
    pub(crate) fn of(&self, speed: Speed, sizes: Sizes, way: Way) -> Option<f64> {
        let found = *self.known.borrow_mut().entry((speed, sizes)).or_insert_with(|| {
            carried(speed, Bytes(sizes.mps), PayloadSize::new(Bytes(sizes.mrrs))?, Bytes(sizes.completion))
        });
        let carried = found?;
        Some(match way {
            Way::Write => carried.write / 8e9,
            Way::Read => carried.read / 8e9,
        })
    }
}
