//! Links between GPUs: NVLink and AMD's Infinity Fabric (xGMI). Lanes, signalling, and what packets cost.
//!
//! None of them has a public specification. Rates are the vendors' own words (white papers of V100, A100, H100 and
//! Blackwell; CDNA 3 white paper). The packet is that of Foley and Danskin, "Ultra-Performance Pascal GPU and NVLink
//! Interconnect", IEEE Micro 37(2), 2017: flits of 128 bits, one of header and up to 16 of data. That later generations
//! keep it is an inference, and says so where it is used.

use crate::units::Rate;

/// Bytes of a flit: 128 bits (Foley and Danskin 2017).
pub(crate) const FLIT: u64 = 16;
/// Data bytes of one packet: a GPU stores and loads lines of 128 B. The packet could hold 256 B (Foley and Danskin
/// 2017); inferred.
pub(crate) const DATA: u64 = 128;

/// A generation of links between GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// As the vendor calls it.
    pub name: &'static str,
    /// Links of one GPU.
    pub links: u32,
    /// Lanes of a link in one direction.
    pub lanes: u32,
    /// Gb/s of a lane after coding: what the vendor's rate divides into.
    pub lane: u64,
    /// How bits are signalled.
    pub signalling: &'static str,
    /// Whether a switch can join the GPUs of a node; without one each pair has links of its own.
    pub switched: bool,
    /// Whether the switch reduces and multicasts (NVLink SHARP, third generation of NVSwitch).
    pub reduces: bool,
    /// Memory of the GPU that came with it, bytes per second: HBM of the SXM or OAM module.
    pub memory: u64,
    /// Where the numbers are from.
    pub source: &'static str,
}

const fn nvlink(
    name: &'static str,
    (links, lanes, lane): (u32, u32, u64),
    signalling: &'static str,
    memory: u64,
    source: &'static str,
) -> Generation {
    Generation { name, links, lanes, lane, signalling, switched: true, reduces: links >= 18, memory, source }
}

/// All of them.
pub(crate) const GENERATIONS: [Generation; 5] = [
    nvlink(
        "NVLink 2",
        (6, 8, 25),
        "NRZ",
        900_000_000_000,
        "V100 white paper: 6 links of 25 GB/s a direction; HBM2 of 900 GB/s",
    ),
    nvlink(
        "NVLink 3",
        (12, 4, 50),
        "NRZ",
        2_039_000_000_000,
        "A100 white paper: 12 links of 25 GB/s a direction; data sheet of the 80 GB SXM: HBM2e of 2039 GB/s",
    ),
    nvlink(
        "NVLink 4",
        (18, 2, 100),
        "PAM4",
        3_350_000_000_000,
        "H100 white paper: 18 links of 25 GB/s a direction; data sheet of the SXM: HBM3 of 3.35 TB/s",
    ),
    nvlink(
        "NVLink 5",
        (18, 2, 200),
        "PAM4",
        8_000_000_000_000,
        "Blackwell brief: 18 links of 50 GB/s a direction; HBM3e of 8 TB/s",
    ),
    Generation {
        name: "xGMI 3",
        links: 7,
        lanes: 16,
        lane: 32,
        signalling: "NRZ",
        switched: false,
        reduces: false,
        memory: 5_300_000_000_000,
        source: "CDNA 3 white paper: 7 links of 64 GB/s a direction; HBM3 of 5.3 TB/s",
    },
];

/// NVLink-C2C between a GPU and its processor, bytes per second in one direction, after coding: GH200 Grace Hopper
/// architecture white paper, 2023, 900 GB/s of both.
pub(crate) const C2C: u64 = 450_000_000_000;

impl Generation {
    /// One link, one direction.
    pub(crate) fn link(&self) -> Rate {
        Rate::from_bits(u64::from(self.lanes) * self.lane * 1_000_000_000)
    }

    /// All links of one GPU, one direction.
    pub(crate) fn gpu(&self) -> Rate {
        self.link().scaled(u64::from(self.links), 1)
    }
}

/// Bytes of so much data in packets of whole lines, and how many packets they are.
pub(crate) const fn lines(data: u64) -> (u64, u64) {
    let rest = data % DATA;
    let last = if rest > 0 { packet(rest) } else { 0 };
    (data / DATA * packet(DATA) + last, data.div_ceil(DATA))
}

/// Bytes of a packet with so much data: a flit of header, and whole flits of data. The other way its answer is a
/// [`FLIT`]: a write is acknowledged by one, a read was asked for by one.
pub(crate) const fn packet(data: u64) -> u64 {
    FLIT + data.div_ceil(FLIT) * FLIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_vendors() {
        let gb = |g: &Generation| g.gpu().bytes() / 1e9;
        let rates: Vec<f64> = GENERATIONS.iter().map(gb).collect();
        assert_eq!(rates, [150.0, 300.0, 450.0, 900.0, 448.0]);
    }

    #[test]
    fn a_line_is_nine_flits() {
        // 128 B of data in eight flits behind a header.
        assert_eq!((packet(DATA), FLIT), (144, 16));
        assert_eq!(packet(256), 272);
        assert_eq!(packet(1), 32);
        assert_eq!((lines(128), lines(4096), lines(129)), ((144, 1), (32 * 144, 32), (144 + 32, 2)));
    }
}
