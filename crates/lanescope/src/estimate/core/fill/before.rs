//! What a filling takes from one that was made before: corners of ranges and changed plans differ in few things, and in
//! fewer that shares depend on.

use super::queue::Passing;
use super::turns::Tree;
use super::{Filled, Filling, Queue, Resource, Tight, Use};
use std::cell::OnceCell;
use std::rc::Rc;

/// What a filling was made of, beside its resources and queues.
pub(super) struct Made {
    pub(super) caps: Vec<f64>,
    pub(super) alone: Vec<(f64, Option<usize>)>,
    /// Resources that may be tight, with their trees and who passes them by.
    pub(super) tight: Vec<(usize, Rc<OnceCell<Tree>>, Vec<Passing>)>,
    /// Trees of queues, with who passes them by.
    pub(super) trees: Vec<(Tree, Vec<Passing>)>,
}

/// A filling that was made before, of the same flows on the same ways.
pub(crate) struct Before<'a, K, Q> {
    /// What it divided.
    pub(crate) resources: &'a [Resource<K>],
    /// The queues in it.
    pub(crate) queues: &'a [Queue<Q>],
    /// What it came to.
    pub(crate) filled: &'a Filled,
}

impl<K: PartialEq, Q> Before<'_, K, Q> {
    /// Whether nothing differs that shares depend on: what never fills up may.
    pub(super) fn same<P>(&self, now: &Filling<K, Q, P>, caps: &[f64]) -> bool {
        let made = &*self.filled.made;
        let alike = |(a, b): (&Resource<K>, &Resource<K>)| a.key == b.key && a.uses.len() == b.uses.len();
        let divided = |(t, (r, ..)): (&Tight, &(usize, _, _))| {
            let (a, b) = (&now.resources[t.resource], &self.resources[*r]);
            t.resource == *r && a.capacity == b.capacity && a.uses == b.uses
        };
        made.caps == caps
            && made.alone == now.alone
            && now.tight.len() == made.tight.len()
            && now.resources.len() == self.resources.len()
            && now.queues.len() == self.queues.len()
            && now.tight.iter().zip(&made.tight).all(divided)
            && now.resources.iter().zip(self.resources).all(alike)
            && now.queues.iter().zip(self.queues).all(|(a, b)| a.room == b.room && a.waits == b.waits)
    }

    /// The tree of a resource, if it is divided among the same flows from the same ports.
    pub(super) fn tree(&self, r: usize, resource: &Resource<K>, passing: &[Passing]) -> Option<Rc<OnceCell<Tree>>> {
        let at = self.filled.made.tight.binary_search_by_key(&r, |(r, ..)| *r).ok()?;
        let (_, tree, passed) = &self.filled.made.tight[at];
        let before = self.resources.get(r).filter(|b| b.key == resource.key && b.uses.len() == resource.uses.len())?;
        let same = |(a, b): (&Use, &Use)| (a.flow, a.hops) == (b.flow, b.hops);
        let ways = |(a, b): (&Passing, &Passing)| a.way == b.way;
        let passing = passing.len() == passed.len() && passing.iter().zip(passed).all(ways);
        (passing && before.uses.iter().zip(&resource.uses).all(same)).then(|| tree.clone())
    }
}
