//! Which boxes a picture of a plan has: one per part while that can be read, stacks of alike siblings, and rests where there is too much.
//!
//! The work is linear in the plan but for sorting, and the number of boxes has a limit, so a plan of ten thousand parts gives a small picture.

use crate::plan::{LinkId, PartId, Plan};
use crate::protocol::pcie::Speed;
use std::collections::HashMap;

/// More alike siblings than this become a stack.
const ALIKE: usize = 8;
/// More boxes than this below one box end in a rest.
const WIDE: usize = 16;
/// No box is lower than this.
const DEEP: usize = 16;
/// When there are so many boxes, whatever is below the others becomes a rest.
const MANY: usize = 240;

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// One part.
    One,
    /// Parts of one table that are wired alike.
    Stack,
    /// Parts of any kind, with all that is below them.
    Rest,
}

/// One box.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// What it stands for.
    pub(super) what: What,
    /// The parts it stands for.
    pub(super) parts: Vec<PartId>,
    /// The links up from it, in the order of the parts; none at the top.
    pub(super) links: Vec<LinkId>,
    /// The box above.
    pub(super) above: Option<usize>,
    /// The boxes below; all come later in the list.
    pub(super) below: Vec<usize>,
    /// Boxes above it.
    pub(super) depth: usize,
}

/// All boxes, those above before those below.
pub(super) struct Fold {
    /// The boxes.
    pub(super) cells: Vec<Cell>,
    /// The box of each part.
    pub(super) of: Vec<Option<usize>>,
}

/// A link down and the part at its end; at the top there is no link.
type Way = (Option<LinkId>, PartId);

/// Measures a plan: which boxes, in which order.
pub(super) fn fold(plan: &Plan) -> Fold {
    let tree = Tree::new(plan);
    let mut fold = Fold { cells: Vec::new(), of: vec![None; plan.parts.len()] };
    fold.place(&tree, None);
    let mut next = 0;
    while next < fold.cells.len() {
        if fold.cells[next].what != What::Rest {
            fold.place(&tree, Some(next));
        }
        next += 1;
    }
    fold
}

/// The tree of a plan, and for each part a number that is the same for parts that look alike with all below them.
struct Tree {
    tops: Vec<Way>,
    below: Vec<Vec<Way>>,
    likeness: Vec<usize>,
}

impl Tree {
    fn new(plan: &Plan) -> Tree {
        let n = plan.parts.len();
        let mut below: Vec<Vec<Way>> = vec![Vec::new(); n];
        let mut up: Vec<Option<Speed>> = vec![None; n];
        for (i, link) in plan.links.iter().enumerate().filter(|(_, l)| !l.crosslink) {
            let [above, under] = link.ends.each_ref().map(|e| e.part.0 as usize);
            below[above].push((Some(LinkId(i as u32)), PartId(under as u32)));
            up[under] = Some(link.speed.typical);
        }
        let tops: Vec<Way> = (0..n).filter(|&i| up[i].is_none()).map(|i| (None, PartId(i as u32))).collect();
        // Those above before those below, so that walking it backwards knows what is below.
        let mut order: Vec<usize> = tops.iter().map(|w| w.1.0 as usize).collect();
        let mut at = 0;
        while at < order.len() {
            order.extend(below[order[at]].iter().map(|w| w.1.0 as usize));
            at += 1;
        }
        let mut likeness = vec![0; n];
        let mut seen: HashMap<(&str, Option<Speed>, Vec<usize>), usize> = HashMap::new();
        for &i in order.iter().rev() {
            let mut under: Vec<usize> = below[i].iter().map(|w| likeness[w.1.0 as usize]).collect();
            under.sort_unstable();
            let new = seen.len();
            likeness[i] = *seen.entry((&plan.parts[i].group, up[i], under)).or_insert(new);
        }
        Tree { tops, below, likeness }
    }
}

impl Fold {
    /// Makes the boxes below a box, or those at the top.
    fn place(&mut self, tree: &Tree, above: Option<usize>) {
        let depth = above.map_or(0, |c| self.cells[c].depth + 1);
        let ways: Vec<Way> = match above {
            None => tree.tops.clone(),
            Some(c) => self.cells[c].parts.iter().flat_map(|p| tree.below[p.0 as usize].iter().copied()).collect(),
        };
        if ways.is_empty() {
            return;
        }
        // By likeness, in the order of the first of each.
        let mut kinds: Vec<Vec<Way>> = Vec::new();
        let mut place: HashMap<usize, usize> = HashMap::new();
        for way in ways {
            let new = kinds.len();
            let at = *place.entry(tree.likeness[way.1.0 as usize]).or_insert(new);
            if at == new {
                kinds.push(Vec::new());
            }
            kinds[at].push(way);
        }
        // Below a stack everything is stacked: its parts are alike, so each of their children has a like one below every other.
        let stacked = above.is_some_and(|c| self.cells[c].what == What::Stack);
        let mut boxes: Vec<Vec<Way>> = Vec::new();
        for kind in kinds {
            if stacked || kind.len() > ALIKE {
                boxes.push(kind);
            } else {
                boxes.extend(kind.into_iter().map(|way| vec![way]));
            }
        }
        boxes.sort_by_key(|b| b[0]);
        let room = if depth >= DEEP || self.cells.len() + boxes.len().min(WIDE) > MANY { 1 } else { WIDE };
        let rest: Vec<Way> = if boxes.len() > room { boxes.drain(room - 1..).flatten().collect() } else { Vec::new() };
        // A single box at the limit stays, and what is below it does not.
        let end = room == 1 && rest.is_empty();
        for ways in boxes {
            let whole = end && ways.iter().any(|w| !tree.below[w.1.0 as usize].is_empty());
            let what = if whole {
                What::Rest
            } else if ways.len() > 1 {
                What::Stack
            } else {
                What::One
            };
            self.push(tree, above, depth, what, ways);
        }
        if !rest.is_empty() {
            self.push(tree, above, depth, What::Rest, rest);
        }
    }

    fn push(&mut self, tree: &Tree, above: Option<usize>, depth: usize, what: What, ways: Vec<Way>) {
        let links = ways.iter().filter_map(|w| w.0).collect();
        let mut parts: Vec<PartId> = ways.iter().map(|w| w.1).collect();
        let mut at = 0;
        while what == What::Rest && at < parts.len() {
            parts.extend(tree.below[parts[at].0 as usize].iter().map(|w| w.1));
            at += 1;
        }
        let id = self.cells.len();
        for part in &parts {
            self.of[part.0 as usize] = Some(id);
        }
        if let Some(above) = above {
            self.cells[above].below.push(id);
        }
        self.cells.push(Cell { what, parts, links, above, below: Vec::new(), depth });
    }
}

/// How a box is called: `nic.3`, `nic.0–15 ×16`, or `984 more parts`.
pub(super) fn name(plan: &Plan, cell: &Cell) -> String {
    let first = plan.part(cell.parts[0]);
    let n = cell.parts.len();
    match cell.what {
        What::One => first.name.clone(),
        What::Rest => format!("{n} more part{}", if n == 1 { "" } else { "s" }),
        What::Stack => {
            let mut numbers: Vec<u32> = cell
                .parts
                .iter()
                .filter_map(|&p| plan.part(p).name.strip_prefix(first.group.as_str())?.strip_prefix('.')?.parse().ok())
                .collect();
            numbers.sort_unstable();
            match numbers.as_slice() {
                [low, .., high] if numbers.len() == n => {
                    let between = if (high - low) as usize + 1 == n { "–" } else { "…" };
                    format!("{}.{low}{between}{high} ×{n}", first.group)
                }
                _ => format!("{} ×{n}", first.group),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::answer;
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let (plan, _) = answer(text);
        let fold = fold(&plan);
        assert!(fold.of.iter().all(|c| c.is_some_and(|c| c < fold.cells.len())), "every part has a box");
        fold.cells.iter().map(|c| name(&plan, c)).collect()
    }

    const HOST: &str = "[parts.host]\nis = \"root-complex\"\nports = 10000\n";

    #[test]
    fn many_alike_siblings_are_one_box() {
        let nics = |n: usize| {
            format!(
                "{HOST}[parts.nic]\nis = \"endpoint\"\ncount = {n}\n[links.l]\nbetween = [\"host\", \"nic.*\"]\npcie = \"gen3 x8\""
            )
        };
        assert_eq!(names(&nics(16)), ["host", "nic.0–15 ×16"]);
        assert_eq!(names(&nics(8)).len(), 9);
    }

    #[test]
    fn switches_with_the_same_below_them_are_one_box_too() {
        let text = format!(
            "{HOST}[parts.sw]\nis = \"switch\"\ncount = 12\n[parts.ssd]\nis = \"endpoint\"\ncount = 48\n\
             [links.a]\nbetween = [\"host\", \"sw.*.up\"]\npcie = \"gen4 x16\"\n[links.b]\nbetween = [\"sw.*.down\", \"ssd.*\"]\npcie = \"gen4 x4\""
        );
        assert_eq!(names(&text), ["host", "sw.0–11 ×12", "ssd.0–47 ×48"]);
    }

    #[test]
    fn different_ones_end_in_a_rest() {
        let mut text = HOST.to_owned();
        for i in 0..300 {
            text += &format!(
                "[parts.d{i}]\nis = \"endpoint\"\n[links.l{i}]\nbetween = [\"host\", \"d{i}\"]\npcie = \"gen3 x1\"\n"
            );
        }
        let names = names(&text);
        assert_eq!(names.len(), 17);
        assert_eq!(names[16], "285 more parts");
    }

    #[test]
    fn a_deep_chain_ends() {
        let mut text = format!(
            "{HOST}[parts.s0]\nis = \"switch\"\n[links.l0]\nbetween = [\"host\", \"s0.up\"]\npcie = \"gen3 x1\"\n"
        );
        for i in 1..60 {
            text += &format!(
                "[parts.s{i}]\nis = \"switch\"\n[links.l{i}]\nbetween = [\"s{}.down\", \"s{i}.up\"]\npcie = \"gen3 x1\"\n",
                i - 1
            );
        }
        let names = names(&text);
        assert_eq!((names.len(), names[16].as_str()), (17, "45 more parts"));
    }
}
