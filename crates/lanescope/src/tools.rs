//! What several rooms need and no crate gives as they need it: a table whose entries are used again, the greatest
//! common divisor, bits without order, and Student's distribution.

/// The greatest common divisor; with 0, the other number.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Bits without order from a number, the same always (Steele, Lea, Flood: SplitMix, 2014).
pub(crate) fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// A table whose free entries are used again: an index stays good until its entry is taken out.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    pub(crate) all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Slab<T> {
        Slab { all: Vec::new(), free: Vec::new() }
    }

    /// Puts a value in; its index.
    pub(crate) fn add(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(i) => {
                self.all[i as usize] = value;
                i
            }
            None => {
                self.all.push(value);
                self.all.len() as u32 - 1
            }
        }
    }

    /// What is in it, in no particular order; this looks at every entry.
    pub(crate) fn used_entries(&self) -> impl Iterator<Item = &T> {
        let mut used = vec![true; self.all.len()];
        self.free.iter().for_each(|i| used[*i as usize] = false);
        self.all.iter().zip(used).filter(|(_, used)| *used).map(|(value, _)| value)
    }

    /// How many are in it.
    pub(crate) fn used(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Takes a value out.
    pub(crate) fn remove(&mut self, i: u32) -> T
    where
        T: Copy,
    {
        self.free.push(i);
        self.all[i as usize]
    }

    /// The same of what is no plain value: an empty one stays behind.
    pub(crate) fn take(&mut self, i: u32) -> T
    where
        T: Default,
    {
        self.free.push(i);
        std::mem::take(&mut self.all[i as usize])
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, i: u32) -> &T {
        &self.all[i as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, i: u32) -> &mut T {
        &mut self.all[i as usize]
    }
}

/// The 97.5 % quantile of Student's distribution (Abramowitz and Stegun 26.7.5, exact where it is poor).
pub(crate) fn student(freedom: f64) -> f64 {
    const STUDENT_T: [f64; 5] = [12.706, 4.303, 3.182, 2.776, 2.571];
    if let Some(&t) = STUDENT_T.get((freedom as usize).wrapping_sub(1)) {
        return t;
    }
    let x = 1.959964f64;
    let (g1, g2) = ((x.powi(3) + x) / 4.0, (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0);
    let g3 = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    x + g1 / freedom + g2 / freedom.powi(2) + g3 / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_is_students() {
        for (freedom, t) in [(1.0, 12.706), (6.0, 2.447), (10.0, 2.228), (31.0, 2.040), (63.0, 1.998)] {
            assert!((student(freedom) - t).abs() < 0.003, "{freedom}: {}", student(freedom));
        }
    }
}
