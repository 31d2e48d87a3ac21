//! CG: a sparse matrix shared out over rows x columns of ranks.
//!
//! An outer iteration has 26 products with the matrix. Each sums its segment over the ranks of a row, log2(columns)
//! pairwise exchanges, near partners first, and sends it to the rank at the transposed place; each sum of a vector is
//! log2(columns) exchanges of a number, far partners first. Every exchange posts its receive, sends, and waits.

use super::{Class, Program};
use crate::mpi::op::Op;

/// Inner steps of an outer iteration.
const STEPS: u32 = 25;

/// Rows, and the parameter of the nonzeros of a row.
fn matrix(class: Class) -> (u32, u32) {
    [(1400, 7), (7000, 8), (14_000, 11), (75_000, 13), (150_000, 15), (1_500_000, 21)][class as usize]
}

/// Operations of an outer iteration, all ranks together: `cg.f` counts 2 n (3 + z + 25 (5 + z) + 3) with z = nonzer
/// (nonzer + 1).
pub(super) struct Operations {
    /// One operation on each element of a vector, and an addition.
    element: f64,
    /// One product with the matrix.
    product: f64,
}

impl Operations {
    pub(super) fn total(&self) -> f64 {
        let steps = f64::from(STEPS);
        self.element * (6.0 + steps * 5.0) + self.product * (steps + 1.0)
    }
}

pub(super) fn operations(class: Class) -> Operations {
    let (n, z) = matrix(class);
    let element = 2.0 * f64::from(n);
    Operations { element, product: element * f64::from(z * (z + 1)) }
}

/// A rank's place.
struct Place {
    rank: u32,
    rows: u32,
    columns: u32,
    /// Bytes of a segment; where n does not divide, of the larger ones.
    segment: u64,
}

impl Place {
    /// The rank at the transposed place. With twice as many columns as rows, pairs of columns change together.
    fn transposed(&self) -> u32 {
        let (rank, rows) = (self.rank, self.rows);
        if self.columns == rows {
            rank % rows * rows + rank / rows
        } else {
            2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2
        }
    }

    fn exchange(&self, with: u32, bytes: u64, program: &mut Program) {
        program.op(Op::Irecv { from: Some(with), bytes, tag: Some(1), request: 0 });
        program.op(Op::Send { to: with, bytes, tag: 1 });
        program.op(Op::Wait(0));
    }

    /// Sums numbers over the ranks of the row.
    fn sum(&self, bytes: u64, program: &mut Program) {
        for k in (0..self.columns.ilog2()).rev() {
            self.exchange(self.rank ^ (1 << k), bytes, program);
        }
    }

    fn product(&self, work: f64, program: &mut Program) {
        program.work(work);
        for k in 0..self.columns.ilog2() {
            self.exchange(self.rank ^ (1 << k), self.segment, program);
        }
        if self.columns > 1 {
            self.exchange(self.transposed(), self.segment, program);
        }
    }
}

pub(super) fn iteration(class: Class, ranks: u32, rank: u32, program: &mut Program) {
    let rows = 1 << (ranks.ilog2() / 2);
    let columns = ranks / rows;
    let segment = 8 * u64::from(matrix(class).0.div_ceil(columns));
    let place = Place { rank, rows, columns, segment };
    let all = operations(class);
    let (element, product) = (all.element / f64::from(ranks), all.product / f64::from(ranks));
    // rho = r.r
    program.work(element);
    place.sum(8, program);
    for _ in 0..STEPS {
        // q = A p; d = p.q; z and r; rho = r.r; p.
        place.product(product, program);
        program.work(element);
        place.sum(8, program);
        program.work(3.0 * element);
        place.sum(8, program);
        program.work(element);
    }
    // The residual |x - A z|, then the two norms of the outer iteration, summed together, and x.
    place.product(product, program);
    program.work(2.0 * element);
    place.sum(8, program);
    program.work(2.0 * element);
    place.sum(16, program);
    program.work(element);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_twice_is_nothing() {
        for log in 1..10 {
            let rows = 1 << (log / 2);
            let columns = (1 << log) / rows;
            for rank in 0..1 << log {
                let there = Place { rank, rows, columns, segment: 8 }.transposed();
                let back = Place { rank: there, rows, columns, segment: 8 }.transposed();
                assert!(there < 1 << log);
                assert_eq!(back, rank, "{rank} of {}", 1 << log);
            }
        }
    }
}
