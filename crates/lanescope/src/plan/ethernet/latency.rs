//! One message alone in an Ethernet: when its last byte has come.

use crate::plan::ethernet::{Network, Stream};
use crate::protocol::ethernet::{HEADER, PREAMBLE, frame, wire};
use crate::scenario::NodeKeys;
use crate::scenario::keys::Forwarding;
use crate::scenario::quantity::Corner;

/// The frames of a message: bytes of the first, of those behind it, and of the last; and how many are before that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    leading: u64,
    each: u64,
    last: u64,
    before: u128,
}

impl Train {
    /// So much client data in plain frames with at most so much.
    pub(crate) fn plain(data: u64, size: u64) -> Train {
        let (full, rest) = (size / data, size % data);
        let last = frame(if rest > 0 { rest } else { data });
        let before = if rest > 0 { full } else { full - 1 } as u128;
        Train { leading: frame(data), each: frame(data), last, before }
    }

    /// A message of a stream.
    pub(crate) fn of(network: &Network, stream: &Stream, size: u64) -> Train {
        let cut = network.cut(stream, size);
        let bytes = |i: usize| cut.get(i).or(cut.last()).map_or(0, |c| c.2);
        let before = cut.iter().map(|c| c.0 as u128).sum::<u128>().saturating_sub(1);
        Train { leading: bytes(0), each: bytes(1), last: bytes(cut.len()), before }
    }
}

/// From a message's birth to its last bit at the destination, in femtoseconds.
///
/// Frames leave the source back to back, and at each hop one follows the other as soon as both it and the port are
/// there. The first may be longer (RETH), the last is what is left of the message, and those between are alike: they
/// follow one another as the slowest wire so far has them, so that the last of them begins when it has come, or right
/// behind all others if the second had to wait. Behind a first frame alone, the last follows that.
pub(crate) fn message(network: &Network, path: &[u32], train: Train, corner: Corner) -> u128 {
    let Train { leading, each, last, before } = train;
    // When each begins on a wire.
    let (mut first, mut second, mut alike, mut begins) = (0u128, 0u128, 0u128, 0u128);
    for (i, &on) in path.iter().enumerate() {
        let byte = network.link(on).rate.typical.byte_fs() as u128;
        let [long, one] = [leading, each].map(|bytes| wire(bytes) as u128 * byte);
        second = second.max(first + long);
        match before {
            0 => {}
            1 => begins = begins.max(first + long),
            _ => {
                alike = alike.max(second + (before - 2) * one);
                begins = begins.max(alike + one);
            }
        }
        first += crossing(network, path, i, leading, corner);
        second += crossing(network, path, i, each, corner);
        alike += crossing(network, path, i, each, corner);
        begins += crossing(network, path, i, last, corner);
    }
    begins
}

/// From the first bit of a frame's preamble on a wire of a path to that on the next; or to its last bit at the end of
/// the path.
pub(crate) fn crossing(network: &Network, path: &[u32], i: usize, bytes: u64, corner: Corner) -> u128 {
    let on = path[i];
    let byte = network.link(on).rate.typical.byte_fs();
    let delay = network.delay(on, corner).fs() as u128;
    let taking = |bytes: u64| (PREAMBLE + bytes) as u128 * byte as u128;
    let (Some(&next), NodeKeys::Switch(k)) = (path.get(i + 1), &network.node(network.arrives(on)).keys) else {
        return taking(bytes) + delay;
    };
    // A faster port would run out of bits before the frame is in.
    let waits = network.link(next).rate.typical.byte_fs() < byte;
    let seen = match k.forwarding.typical {
        Forwarding::CutThrough if !waits => HEADER,
        _ => bytes,
    };
    taking(seen) + delay + k.latency.at(corner).fs() as u128
}
