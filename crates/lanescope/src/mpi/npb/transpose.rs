//! FT and IS: everything to everybody, once an iteration.

use super::{Class, Program};
use crate::mpi::op::Kind;
use std::sync::Arc;

/// Points along x, y and z.
fn box_of(class: Class) -> [u64; 3] {
    [[64, 64, 64], [128, 128, 32], [256, 256, 128], [512, 256, 256], [512, 512, 512], [2048, 1024, 1024]]
        [class as usize]
}

/// One slab a rank; with more ranks FT goes over to pencils, which are not modelled.
pub(super) fn most_fourier_ranks(class: Class) -> u32 {
    box_of(class).into_iter().min().unwrap_or(1) as u32
}

/// Operations of an FT iteration, all ranks together: `ft.f` counts 5.23518 + 7.21113 ln N a point.
pub(super) struct Fourier {
    /// The step in time and the checksum.
    evolve: f64,
    /// The transform along the distributed axis, before the exchange.
    along: f64,
    /// The transforms along the two local axes, after it.
    across: f64,
}

impl Fourier {
    pub(super) fn total(&self) -> f64 {
        self.evolve + self.along + self.across
    }
}

/// The transform's operations go by the logarithm of each axis's length: 5 N log2 N in all, so a third before the
/// exchange of a cube.
pub(super) fn fourier_operations(class: Class) -> Fourier {
    let [x, y, z] = box_of(class).map(|n| n as f64);
    let all = x * y * z;
    let of = |points: f64| all * 7.21113 * libm::log(points);
    Fourier { evolve: all * 5.23518, along: of(z), across: of(x * y) }
}

pub(super) fn fourier(class: Class, ranks: u32, program: &mut Program) {
    let all = fourier_operations(class);
    let p = f64::from(ranks);
    program.work((all.evolve + all.along) / p);
    if ranks > 1 {
        let points: u64 = box_of(class).into_iter().product();
        program.collective(Kind::Alltoall, 16 * points / u64::from(ranks).pow(2), None);
    }
    program.work(all.across / p);
    if ranks > 1 {
        program.collective(Kind::Reduce, 16, None);
    }
}

/// Keys of an IS iteration.
pub(super) fn keys(class: Class) -> u64 {
    1 << [16, 20, 23, 25, 27, 31][class as usize]
}

/// Buckets of keys; each rank takes some.
pub(super) fn buckets(class: Class) -> u32 {
    if class == Class::S { 512 } else { 1024 }
}

/// Half of the work is put before the exchange (counting and filling of buckets), half behind it (ranking). Assumed.
/// Keys are taken to spread evenly; NPB cuts its bell-shaped keys into shares that differ by a bucket.
pub(super) fn sort(class: Class, ranks: u32, program: &mut Program) {
    let p = u64::from(ranks);
    let work = keys(class) as f64 / f64::from(ranks);
    program.work(work / 2.0);
    if ranks > 1 {
        // The buckets' counts, and five numbers for the check.
        program.collective(Kind::Allreduce, 4 * (u64::from(buckets(class)) + 5), None);
        program.collective(Kind::Alltoall, 4, None);
        let each: Arc<[u64]> = vec![4 * keys(class) / p / p; ranks as usize].into();
        program.collective(Kind::Alltoallv, 0, Some(each));
    }
    program.work(work / 2.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::op::{Op, Step};

    #[test]
    fn an_iteration_of_class_c_moves_what_was_measured() {
        let mut program = Program { steps: Vec::new(), rate: None };
        fourier(Class::C, 16, &mut program);
        let of = |s: &Step| match s {
            Step::Do(Op::Collective(c)) => Some((c.kind, c.bytes)),
            _ => None,
        };
        let calls: Vec<_> = program.steps.iter().filter_map(of).collect();
        assert_eq!(calls, [(Kind::Alltoall, 8_388_608), (Kind::Reduce, 16)]);
        let mut program = Program { steps: Vec::new(), rate: None };
        sort(Class::C, 32, &mut program);
        let calls: Vec<_> = program.steps.iter().filter_map(of).collect();
        assert_eq!(calls[..2], [(Kind::Allreduce, 4116), (Kind::Alltoall, 4)]);
        let Step::Do(Op::Collective(c)) = &program.steps[3] else { panic!("{:?}", program.steps) };
        assert_eq!(c.each.as_deref().map(|e| (e.len(), e[0])), Some((32, 524_288)));
    }
}
