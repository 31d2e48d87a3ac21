//! A table whose free entries are used again: an index stays good until its entry is taken out.

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    pub(super) all: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(super) const fn new() -> Slab<T> {
        Slab { all: Vec::new(), free: Vec::new() }
    }

    /// Puts a value in; its index.
    pub(super) fn add(&mut self, value: T) -> u32 {
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

    /// Takes a value out.
    pub(super) fn remove(&mut self, i: u32) -> T {
        self.free.push(i);
        self.all[i as usize]
    }
}
