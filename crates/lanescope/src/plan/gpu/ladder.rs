//! What is asked of a cluster: a collective over a ladder of sizes, in the words of nccl-tests.

use super::collective::Collective;
use super::schedule::size;
use serde::{Deserialize, Serialize};

/// Sizes of a ladder at most.
const MOST_SIZES: usize = 1000;
/// Bytes of a size at most: 16 TiB.
const MOST_BYTES: u64 = 1 << 44;

/// A question as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// `all_reduce`, as nccl-tests call it.
    pub collective: String,
    /// The smallest size: 8, 512K, 64M (powers of 1024).
    pub min: String,
    /// The largest.
    pub max: String,
    /// From a size to the next.
    pub factor: u64,
}

impl Ladder {
    /// Which collective.
    ///
    /// # Errors
    ///
    /// A name that is none.
    pub fn what(&self) -> Result<Collective, String> {
        named(&self.collective)
    }

    /// The sizes, in bytes.
    ///
    /// # Errors
    ///
    /// As [`sizes`].
    pub fn sizes(&self) -> Result<Vec<u64>, String> {
        sizes(["min", "max"], [&self.min, &self.max], self.factor)
    }
}

/// The collective of a name, as nccl-tests, their programs or MPI call it.
///
/// # Errors
///
/// There is none of that name; the message says which there are.
pub fn named(text: &str) -> Result<Collective, String> {
    let name = text.trim_end_matches("_perf").replace("all_to_all", "alltoall");
    Collective::named(&name).ok_or_else(|| {
        let near = crate::diagnostic::nearest(&name, Collective::ALL.map(Collective::name));
        let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
        format!("there is no collective {text:?}{near} There are {}", Collective::ALL.map(Collective::name).join(", "))
    })
}

/// A size in bytes, as nccl-tests take it: `512K`, `64M` (powers of 1024).
///
/// # Errors
///
/// Another text, or more than 16 TiB. `what` is what messages call it.
pub fn bytes(what: &str, text: &str) -> Result<u64, String> {
    match size(text).map_err(|e| format!("{what}: {e}"))? {
        n if n > MOST_BYTES => Err(format!("{what} {text}: at most 16 TiB")),
        n => Ok(n),
    }
}

/// A ladder of sizes: from the first, each by a factor larger, up to the second. `names` are what messages call the
/// ends.
///
/// # Errors
///
/// Ends that are no sizes, or in the wrong order; a factor below 2.
pub fn sizes(names: [&str; 2], ends: [&str; 2], factor: u64) -> Result<Vec<u64>, String> {
    let (least, most) = (bytes(names[0], ends[0])?, bytes(names[1], ends[1])?);
    if least > most {
        return Err(format!("{} {} is above {} {}", names[0], ends[0], names[1], ends[1]));
    }
    if factor < 2 {
        return Err(format!("factor {factor}: from a size to the next it is at least 2"));
    }
    let next = |s: &u64| s.checked_mul(factor).filter(|s| *s <= most);
    Ok(std::iter::successors(Some(least), next).take(MOST_SIZES).collect())
}
