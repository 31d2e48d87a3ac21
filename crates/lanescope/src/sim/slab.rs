//! A table whose free entries are used again: an index stays good until its entry is taken out.

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    pub(super) all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
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

    /// How many are in it.
    pub(super) fn used(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Takes a value out.
    pub(super) fn remove(&mut self, i: u32) -> T
    where
        T: Copy,
    {
        self.free.push(i);
        self.all[i as usize]
    }

    /// The same of what is no plain value: an empty one stays behind.
    pub(super) fn take(&mut self, i: u32) -> T
    where
        T: Default,
    {
        self.free.push(i);
        std::mem::take(&mut self.all[i as usize])
    }
}
