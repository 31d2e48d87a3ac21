//! Circles of what waits.
//!
//! What is blocked waits for something else to move. Wires are the nodes of this graph. A set of wires that have all
//! been blocked for longer than anything ordinary takes, and each of which waits only for wires of the set, will never
//! move again: a deadlock.

/// A circle among those that wait, if there is one; each waits for the next, and the last for the first. `None` is one
/// that moves; a list, those that it waits for.
pub(in crate::sim) fn circle(mut waits: Vec<Option<Vec<u32>>>) -> Option<Vec<u32>> {
    // Take out, again and again, whoever waits for a wire that moves: what is left waits only for itself.
    loop {
        let moves: Vec<usize> = (0..waits.len())
            .filter(|&w| {
                waits[w].as_ref().is_some_and(|l| l.is_empty() || l.iter().any(|&n| waits[n as usize].is_none()))
            })
            .collect();
        if moves.is_empty() {
            break;
        }
        moves.into_iter().for_each(|w| waits[w] = None);
    }
    let start = waits.iter().position(Option::is_some)?;
    let mut walk = vec![start as u32];
    loop {
        let next = waits[walk[walk.len() - 1] as usize].as_ref()?.first().copied()?;
        if let Some(at) = walk.iter().position(|w| *w == next) {
            return Some(walk.split_off(at));
        }
        walk.push(next);
    }
}
