//! BT and SP: a cube shared out by multipartition.
//!
//! q x q ranks hold q cells each, one on each diagonal, so that every plane of cells across an axis is spread over all
//! ranks and a sweep along an axis keeps all of them at work (Naik 1993; Van der Wijngaart, NAS-99-002). An iteration
//! exchanges the faces of all cells with six neighbours at once, then sweeps along x, y and z: q cells forward, each
//! after the one before it on the neighbour, and q cells back.

use super::{Bench, Class, Program};
use crate::mpi::op::Op;

/// Share of the work that is the right-hand side, between the faces and the sweeps. Assumed: sequential profiles give
/// BT about a sixth, SP (with its block-diagonal inversions) two fifths.
const RIGHT_HAND_SIDE: [f64; 2] = [0.16, 0.40];
/// Share of a sweep's work on the way back. Assumed: BT multiplies one 5 x 5 block a cell, SP two rows.
const BACK: [f64; 2] = [0.05, 0.15];
/// Share of a forward cell's work that SP does while it waits: its left-hand side. BT waits at once. Assumed.
const MEANWHILE: f64 = 0.2;

/// Points along an edge of the cube.
pub(super) fn points(bench: Bench, class: Class) -> u32 {
    let w = if bench == Bench::Bt { 24 } else { 36 };
    [12, w, 64, 102, 162, 408][class as usize]
}

/// So many that a cell has three points along an edge.
pub(super) fn most_ranks(bench: Bench, class: Class) -> u32 {
    (points(bench, class) / 3).pow(2)
}

/// What a rank holds: q cells, cell c at ((i + c) mod q, (j - c) mod q, c).
struct Holding {
    q: u32,
    i: u32,
    j: u32,
    n: u32,
}

impl Holding {
    fn cell(&self, c: u32) -> [u32; 3] {
        let q = self.q;
        [(self.i + c) % q, (self.j + q - c % q) % q, c]
    }

    /// The cell that lies at a position along an axis.
    fn at(&self, axis: usize, position: u32) -> [u32; 3] {
        let q = self.q;
        self.cell(match axis {
            0 => (position + q - self.i) % q,
            1 => (self.j + q - position) % q,
            _ => position,
        })
    }

    /// Who holds the next cell along an axis.
    fn next(&self, axis: usize) -> u32 {
        let (q, i, j) = (self.q, self.i, self.j);
        match axis {
            0 => (i + 1) % q + q * j,
            1 => i + q * ((j + 1) % q),
            _ => (i + q - 1) % q + q * ((j + 1) % q),
        }
    }

    /// Who holds the one before.
    fn previous(&self, axis: usize) -> u32 {
        let (q, i, j) = (self.q, self.i, self.j);
        match axis {
            0 => (i + q - 1) % q + q * j,
            1 => i + q * ((j + q - 1) % q),
            _ => (i + 1) % q + q * ((j + q - 1) % q),
        }
    }

    /// Points of a cell along an axis where it stands at this position.
    fn extent(&self, position: u32) -> u64 {
        u64::from(self.n / self.q + u32::from(position < self.n % self.q))
    }

    /// The same without the points on the cube's surface.
    fn inner(&self, position: u32) -> u64 {
        self.extent(position) - u64::from(position == 0) - u64::from(position == self.q - 1)
    }

    /// Bytes to a neighbour: two layers of five numbers from every cell that has a neighbour there.
    fn face(&self, axis: usize, edge: u32) -> u64 {
        let across = |c: [u32; 3]| self.extent(c[(axis + 1) % 3]) * self.extent(c[(axis + 2) % 3]);
        (0..self.q).map(|c| self.cell(c)).filter(|c| c[axis] != edge).map(|c| across(c) * 2 * 5 * 8).sum()
    }

    /// Bytes that a sweep hands on from the cell at a position: BT has buffers for its largest cell, a 5 x 5 block and
    /// a vector a point, back a vector; SP sends what there is, 22 numbers a line, back 10.
    fn handed_on(&self, bench: Bench, axis: usize, position: u32, forward: bool) -> u64 {
        if bench == Bench::Bt {
            let n = u64::from(self.n / self.q + 1);
            return n * n * if forward { 30 } else { 5 } * 8;
        }
        let c = self.at(axis, position);
        self.inner(c[(axis + 1) % 3]) * self.inner(c[(axis + 2) % 3]) * if forward { 22 } else { 10 } * 8
    }
}

pub(super) fn iteration(bench: Bench, class: Class, ranks: u32, rank: u32, program: &mut Program) {
    let q = ranks.isqrt();
    let holding = Holding { q, i: rank % q, j: rank / q, n: points(bench, class) };
    let work = bench.operations(class) / f64::from(ranks);
    let kind = usize::from(bench == Bench::Sp);
    if q > 1 {
        // Toward +x, -x, +y, ...: each with a tag of its own.
        let faces = (0..3).flat_map(|axis| [(axis, true), (axis, false)]);
        for (request, (axis, up)) in (0u32..).zip(faces.clone()) {
            let from = if up { holding.next(axis) } else { holding.previous(axis) };
            let bytes = holding.face(axis, if up { q - 1 } else { 0 });
            program.op(Op::Irecv { from: Some(from), bytes, tag: Some(request ^ 1), request });
        }
        for (tag, (axis, up)) in (0u32..).zip(faces) {
            let to = if up { holding.next(axis) } else { holding.previous(axis) };
            let bytes = holding.face(axis, if up { q - 1 } else { 0 });
            program.op(Op::Isend { to, bytes, tag, request: 6 + tag });
        }
        program.op(Op::WaitAll);
    }
    program.work(work * RIGHT_HAND_SIDE[kind]);
    let sweep = work * (1.0 - RIGHT_HAND_SIDE[kind]) / 3.0;
    for axis in 0..3 {
        for forward in [true, false] {
            let share = if forward { 1.0 - BACK[kind] } else { BACK[kind] };
            along(bench, &holding, axis, forward, sweep * share / f64::from(q), program);
        }
    }
}

/// One sweep: work on a cell, hand on, receive for the next.
fn along(bench: Bench, holding: &Holding, axis: usize, forward: bool, work: f64, program: &mut Program) {
    let q = holding.q;
    let tag = 6 + 2 * axis as u32 + u32::from(forward);
    let (to, from) = match forward {
        true => (holding.next(axis), holding.previous(axis)),
        false => (holding.previous(axis), holding.next(axis)),
    };
    let position = |stage: u32| if forward { stage } else { q - 1 - stage };
    let meanwhile = if bench == Bench::Sp && forward { work * MEANWHILE } else { 0.0 };
    program.work(work);
    for stage in 0..q - 1 {
        let bytes = holding.handed_on(bench, axis, position(stage), forward);
        program.op(Op::Isend { to, bytes, tag, request: 0 });
        let bytes = holding.handed_on(bench, axis, position(stage + 1), forward);
        program.op(Op::Irecv { from: Some(from), bytes, tag: Some(tag), request: 1 });
        program.work(meanwhile);
        if bench == Bench::Bt {
            program.op(Op::Wait(0));
            program.op(Op::Wait(1));
        } else {
            program.op(Op::WaitAll);
        }
        program.work(work - meanwhile);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_and_neighbours_of_rank_0_of_16_are_those_worked_out() {
        // 162 points on 4 cells: 41, 41, 40, 40. Rank 0 has the cells (0,0,0), (1,3,1), (2,2,2), (3,1,3).
        let h = Holding { q: 4, i: 0, j: 0, n: 162 };
        assert_eq!([h.extent(0), h.extent(1), h.extent(2), h.extent(3)], [41, 41, 40, 40]);
        assert_eq!(h.cell(1), [1, 3, 1]);
        // Toward +x all but the last: 41 x 41 + 40 x 41 + 40 x 40 points, two layers of 40 bytes.
        assert_eq!(h.face(0, 3), 4921 * 80);
        assert_eq!([h.next(0), h.previous(0), h.next(2), h.previous(2)], [1, 3, 7, 13]);
        // The cell at x = 1 has 40 - 1 points along y, 41 along z.
        assert_eq!(h.handed_on(Bench::Sp, 0, 1, true), 39 * 41 * 176);
        assert_eq!(h.handed_on(Bench::Bt, 0, 1, true), 41 * 41 * 240);
    }

    #[test]
    fn what_a_rank_sends_its_neighbour_expects() {
        for q in 2..7 {
            for rank in 0..q * q {
                let h = Holding { q, i: rank % q, j: rank / q, n: 162 };
                for axis in 0..3 {
                    let to = h.next(axis);
                    let other = Holding { q, i: to % q, j: to / q, n: 162 };
                    assert_eq!(other.previous(axis), rank);
                    assert_eq!(h.face(axis, q - 1), other.face(axis, 0));
                    for p in 0..q - 1 {
                        let sent = h.handed_on(Bench::Sp, axis, p, true);
                        assert_eq!(sent, other.handed_on(Bench::Sp, axis, p + 1, true));
                    }
                }
            }
        }
    }
}
