//! MG: V-cycles over grids of 2^k points an edge, shared out over a box of ranks.
//!
//! On each grid every smoothing and every residual ends in an exchange of borders, axis by axis: receives are posted
//! for the largest border that there can be, then both borders are sent, then both received. Grids with fewer points
//! than ranks along an axis leave ranks idle; their neighbours are then farther away, and what the idle ranks need on
//! the way up comes in messages of its own.

use super::{Class, Program};
use crate::mpi::op::Op;

/// Work of a visit to a grid, a point of it: residual and smoothing alike, interpolation half, and restriction half of
/// a point of the finer grid. Assumed; only the sum is known.
const RESIDUAL: f64 = 1.0;
const SMOOTHING: f64 = 1.0;
const INTERPOLATION: f64 = 0.5;
const RESTRICTION: f64 = 0.5;

/// Points along an edge.
pub(super) fn points(class: Class) -> u64 {
    1 << log_points(class)
}

fn log_points(class: Class) -> u32 {
    [5, 7, 8, 8, 9, 10][class as usize]
}

/// So many that each rank has two points along each axis.
pub(super) fn most_ranks(class: Class) -> u32 {
    // The longest axis has log2(P) / 3 bits, rounded up.
    1 << (3 * (log_points(class) - 1)).min(16)
}

/// A rank's part of one grid.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Points along each axis; 0 somewhere: the rank is idle here.
    own: [u64; 3],
    /// Neighbours along each axis: below, above.
    neighbours: [[u32; 2]; 3],
    /// Whether the rank hands borders to the idle ones of the next coarser grid, by axis.
    gives: [bool; 3],
    /// Whether it is idle there, and takes them.
    takes: [bool; 3],
}

impl Level {
    fn idle(&self) -> bool {
        self.own.contains(&0)
    }

    fn volume(&self) -> f64 {
        self.own.map(|n| n as f64).iter().product()
    }
}

/// The box of ranks: spare doublings go to z, then y.
fn box_of(ranks: u32) -> [u32; 3] {
    let log = ranks.ilog2();
    [1 << (log / 3), 1 << ((log + 1) / 3), 1 << log.div_ceil(3)]
}

/// The grids of a rank, from 2^1 points an edge up; the first entry is unused.
fn levels(class: Class, ranks: u32, rank: u32) -> Vec<Level> {
    let p = box_of(ranks);
    let place = [rank % p[0], rank / p[0] % p[1], rank / p[0] / p[1]];
    let top = log_points(class);
    let mut all = vec![Level::default(); top as usize + 1];
    let mut step = [1u32; 3];
    for k in (1..=top).rev() {
        let mut level = Level::default();
        let mut beside = place;
        for axis in 0..3 {
            let n = 1u64 << k;
            let share = |i: u32| (u64::from(i) + 1) * n / u64::from(p[axis]) - u64::from(i) * n / u64::from(p[axis]);
            let (own, next) = (share(place[axis]), share(place[axis] + step[axis]));
            level.own[axis] = own;
            if k < top {
                all[k as usize + 1].gives[axis] = next == 0 && own == 1;
                all[k as usize + 1].takes[axis] = next == 1 && own == 0;
            }
            if own == 0 || next == 0 {
                step[axis] *= 2;
            }
            let (here, wide, far) = (place[axis], p[axis], step[axis] % p[axis]);
            level.neighbours[axis] = [(here + wide - far) % wide, (here + far) % wide].map(|there| {
                beside[axis] = there;
                let rank = beside[0] + p[0] * (beside[1] + p[1] * beside[2]);
                beside[axis] = here;
                rank
            });
        }
        // Given and taken is what was found one grid finer; keep it.
        let found = all[k as usize];
        all[k as usize] = Level { gives: found.gives, takes: found.takes, ..level };
    }
    all
}

/// A rank's way through a V-cycle.
struct Cycle<'a> {
    levels: &'a [Level],
    sides: [u32; 3],
    /// Bytes of the largest border, for which every receive is posted.
    largest: u64,
    /// Operations of one unit of work.
    unit: f64,
}

impl Cycle<'_> {
    fn post(&self, level: &Level, axis: usize, program: &mut Program) {
        // What goes up comes from below. Toward below is tag 2 x axis, toward above 2 x axis + 1.
        for (request, way) in [(0, 0), (1, 1)] {
            let from = Some(level.neighbours[axis][1 - way]);
            let tag = Some((2 * axis + way) as u32);
            program.op(Op::Irecv { from, bytes: self.largest, tag, request });
        }
    }

    fn send(&self, level: &Level, axis: usize, bytes: [u64; 2], program: &mut Program) {
        for way in [1, 0] {
            let tag = (2 * axis + way) as u32;
            program.op(Op::Send { to: level.neighbours[axis][way], bytes: bytes[way], tag });
        }
    }

    fn wait(&self, program: &mut Program) {
        program.op(Op::Wait(0));
        program.op(Op::Wait(1));
    }

    /// Borders of a grid: x without those of y and z, y with those of x, z with both.
    fn borders(&self, k: usize, program: &mut Program) {
        let level = &self.levels[k];
        if level.idle() {
            return;
        }
        let [x, y, z] = level.own;
        let bytes = [y * z, (x + 2) * z, (x + 2) * (y + 2)];
        for axis in (0..3).filter(|&a| self.sides[a] > 1) {
            self.post(level, axis, program);
            self.send(level, axis, [8 * bytes[axis]; 2], program);
            self.wait(program);
        }
    }

    /// Borders for ranks that were idle on the grid below: one layer downward, two upward.
    fn wake(&self, k: usize, program: &mut Program) {
        let level = &self.levels[k];
        let [x, y, z] = level.own.map(|n| n + 2);
        let bytes = [y * z, x * z, x * y];
        for axis in (0..3).filter(|&a| self.sides[a] > 1) {
            if level.takes[axis] {
                self.post(level, axis, program);
                self.wait(program);
            }
            if level.gives[axis] {
                self.send(level, axis, [8 * bytes[axis], 16 * bytes[axis]], program);
            }
        }
    }

    fn work(&self, k: usize, weight: f64, program: &mut Program) {
        program.work(self.levels[k].volume() * weight * self.unit);
    }
}

/// Units of work in an iteration, a rank's share of each grid taken as a whole.
fn units(class: Class) -> f64 {
    let top = log_points(class) as i32;
    let volume = |k: i32| 8f64.powi(k);
    let mut sum = volume(1) * SMOOTHING + volume(top) * RESIDUAL;
    for k in 2..=top {
        sum += volume(k) * (RESTRICTION + INTERPOLATION + RESIDUAL + SMOOTHING);
    }
    sum
}

pub(super) fn iteration(class: Class, ranks: u32, rank: u32, program: &mut Program) {
    let top = log_points(class) as usize;
    let levels = levels(class, ranks, rank);
    let edge = 2 + (1u64 << (top as u32 - ranks.ilog2() / 3));
    let unit = super::Bench::Mg.operations(class) / units(class);
    let cycle = Cycle { levels: &levels, sides: box_of(ranks), largest: 2 * edge * edge * 8, unit };
    for k in (2..=top).rev() {
        cycle.work(k, RESTRICTION, program);
        cycle.borders(k - 1, program);
    }
    cycle.work(1, SMOOTHING, program);
    cycle.borders(1, program);
    for k in 2..=top {
        cycle.work(k, INTERPOLATION, program);
        cycle.wake(k, program);
        cycle.work(k, RESIDUAL, program);
        cycle.borders(k, program);
        cycle.work(k, SMOOTHING, program);
        cycle.borders(k, program);
    }
    cycle.work(top, RESIDUAL, program);
    cycle.borders(top, program);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_ranks_are_2_by_2_by_4_and_half_of_them_idle_on_the_coarsest_grid() {
        assert_eq!((box_of(16), box_of(32), box_of(1)), ([2, 2, 4], [2, 4, 4], [1, 1, 1]));
        // Rank 5 is at (1, 0, 1).
        let rank = levels(Class::C, 16, 5);
        assert_eq!((rank[9].own, rank[9].neighbours), ([256, 256, 128], [[4, 4], [7, 7], [1, 9]]));
        assert_eq!((rank[1].own, rank[1].neighbours[2]), ([1, 1, 1], [13, 13]));
        assert_eq!((rank[2].gives, rank[2].takes), ([false, false, true], [false; 3]));
        let beside = levels(Class::C, 16, 1);
        assert!(beside[1].idle() && !beside[2].idle() && beside[2].takes[2]);
    }

    #[test]
    fn all_ranks_together_hold_each_grid_once() {
        for ranks in [2, 16, 32, 1024] {
            let all: Vec<_> = (0..ranks).map(|r| levels(Class::B, ranks, r)).collect();
            for k in 1..=8 {
                let sum: f64 = all.iter().map(|l| l[k].volume()).sum();
                assert_eq!(sum, 8f64.powi(k as i32), "grid {k} on {ranks} ranks");
            }
        }
    }
}
