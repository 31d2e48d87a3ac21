//! What others call a thing, and what is no misspelling of it.

use crate::diagnostic::nearest;

/// What specifications, lspci, fio and Iometer call what is a key here under its whole name.
const USUAL: [(&str, &str); 16] = [
    ("mrrs", "max_read_request"),
    ("mps", "max_payload"),
    ("rcb", "completion_size"),
    ("qd", "outstanding"),
    ("iodepth", "outstanding"),
    ("bs", "size"),
    ("blocksize", "size"),
    ("block_size", "size"),
    ("numjobs", "workers"),
    ("threads", "workers"),
    ("ioengine", "host_software"),
    ("rate_iops", "rate"),
    ("ppn", "each"),
    ("qps", "connections"),
    ("prio", "priority"),
    ("vl", "lane"),
];

/// The keys that somebody may mean by a usual abbreviation.
pub(super) fn names(key: &str) -> impl Iterator<Item = &str> {
    USUAL.iter().filter(move |(short, _)| short.eq_ignore_ascii_case(key)).map(|(_, long)| *long)
}

/// The key among those that there are which is meant: by its usual abbreviation, or nearly as it is written.
pub(super) fn key<'a>(written: &'a str, known: &[&'a str]) -> Option<&'a str> {
    names(written).find(|long| known.contains(long)).or_else(|| nearest(written, known.iter().copied()))
}

/// The word of a list that is nearly as it is written. Where a number is all that differs it is another thing: raid6 is
/// no misspelt raid0.
pub(crate) fn word<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bare = |w: &str| w.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase();
    nearest(written, words).filter(|near| bare(near) != bare(written) || near.eq_ignore_ascii_case(written))
}
