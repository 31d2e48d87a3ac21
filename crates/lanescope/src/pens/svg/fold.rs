//! Which boxes a picture of a plan has: one per part while that can be read, stacks of alike ones, and rests where
//! there is too much.
//!
//! Parts are alike when they have the same table and tasks, and their neighbours are alike (colours are refined until
//! they stay). Each box hangs below one in the row above; links that go elsewhere (the other spines of a leaf,
//! crosslinks) are lines of their own. Where these are many, fewer parts stand alone. The work is linear in the plan
//! but for sorting, and the number of boxes has a limit, so a plan of ten thousand parts gives a small picture.

use super::scene::{Joint, Scene};
use std::collections::HashMap;

/// More alike siblings than this become a stack; then fewer, where links cross.
const ALIKE: [usize; 3] = [8, 2, 1];
/// More boxes than this below one box end in a rest.
const WIDE: usize = 16;
/// No box is lower than this.
const DEEP: usize = 16;
/// When there are so many boxes, whatever is below the others becomes a rest.
const MAX_CELLS: usize = 240;
/// A picture with more boxes, more crosslinks, or more other lines that cross those between rows, is folded further.
const ROOMY: (usize, usize, usize) = (80, 16, 2);
/// No more lines across than this are drawn.
const MOST_LINES: usize = 60;
/// Rounds of refinement: what differs farther away than that counts as alike.
const ROUNDS: usize = 64;

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// One part, or one bus.
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
    /// The nodes it stands for.
    pub(super) nodes: Vec<usize>,
    /// The wires between it and the box above.
    pub(super) wires: Vec<usize>,
    /// The wires between its own nodes; of a bus, itself.
    pub(super) inside: Vec<usize>,
    /// The box above.
    pub(super) above: Option<usize>,
    /// The boxes below; all come later in the list.
    pub(super) below: Vec<usize>,
    /// Boxes above it.
    depth: usize,
}

/// What goes between two boxes of which neither hangs below the other.
pub(super) struct Line {
    /// The boxes; toward the second comes first.
    pub(super) ends: [usize; 2],
    /// Its wires, none where it is only a place in an array.
    pub(super) wires: Vec<usize>,
    /// Whether they are crosslinks.
    pub(super) crosslink: bool,
}

/// All boxes, those above before those below.
pub(super) struct Fold {
    /// The boxes.
    pub(super) cells: Vec<Cell>,
    /// The box of each node.
    pub(super) of: Vec<usize>,
    /// Links between other boxes.
    pub(super) lines: Vec<Line>,
    /// Wires for which there was no room.
    pub(super) left: Vec<usize>,
}

/// Which boxes, in which order.
pub(super) fn fold(scene: &Scene) -> Fold {
    let mut last = None;
    for roles in [true, false] {
        let tree = Tree::new(scene, roles);
        for alike in ALIKE {
            let fold = tree.fold(alike);
            let across =
                |crosslink| fold.lines.iter().filter(|l| !l.wires.is_empty() && l.crosslink == crosslink).count();
            let fits = fold.cells.len() <= ROOMY.0 && across(true) <= ROOMY.1 && across(false) <= ROOMY.2;
            if fits {
                return fold;
            }
            last = Some(fold);
        }
    }
    let mut fold =
        last.unwrap_or_else(|| Fold { cells: Vec::new(), of: Vec::new(), lines: Vec::new(), left: Vec::new() });
    let most = MOST_LINES.min(fold.lines.len());
    fold.left = fold.lines.split_off(most).into_iter().flat_map(|l| l.wires).collect();
    fold
}

/// What hangs below what, and for each node a number that is the same for those that are alike.
struct Tree<'a, 'b> {
    scene: &'b Scene<'a>,
    tops: Vec<usize>,
    below: Vec<Vec<usize>>,
    above: Vec<Option<usize>>,
    likeness: Vec<usize>,
}

impl<'a, 'b> Tree<'a, 'b> {
    fn new(scene: &'b Scene<'a>, roles: bool) -> Tree<'a, 'b> {
        let n = scene.nodes.len();
        let likeness = likeness(scene, roles);
        let (mut below, mut above) = (vec![Vec::new(); n], vec![None; n]);
        let mut turns = vec![0usize; n];
        for i in 0..n {
            let row = scene.nodes[i].row;
            let mut up: Vec<usize> = (scene.joints[i].iter())
                .filter(|(joint, to)| scene.is_upright(*joint) && scene.nodes[*to].row + 1 == row)
                .map(|j| j.1)
                .collect();
            up.sort_unstable();
            up.dedup();
            if up.is_empty() {
                continue;
            }
            // Those that are alike take turns among the ones above them.
            let turn = &mut turns[likeness[i]];
            above[i] = Some(up[*turn % up.len()]);
            *turn += 1;
            if let Some(a) = above[i] {
                below[a].push(i);
            }
        }
        let tops = (0..n).filter(|&i| above[i].is_none()).collect();
        Tree { scene, tops, below, above, likeness }
    }

    fn fold(&self, alike: usize) -> Fold {
        let mut fold =
            Fold { cells: Vec::new(), of: vec![0; self.scene.nodes.len()], lines: Vec::new(), left: Vec::new() };
        self.place(&mut fold, None, alike);
        let mut next = 0;
        while next < fold.cells.len() {
            if fold.cells[next].what != What::Rest {
                self.place(&mut fold, Some(next), alike);
            }
            next += 1;
        }
        self.wires(&mut fold);
        fold
    }

    /// The first wire up from a node, for its place among its siblings.
    fn first(&self, node: usize) -> usize {
        let up = |j: &&(Joint, usize)| Some(j.1) == self.above[node];
        let wire = |j: &(Joint, usize)| if let Joint::Wire(w) = j.0 { w } else { usize::MAX };
        self.scene.joints[node].iter().filter(up).map(wire).min().unwrap_or(usize::MAX)
    }

    /// Makes the boxes below a box, or those at the top.
    fn place(&self, fold: &mut Fold, above: Option<usize>, alike: usize) {
        let depth = above.map_or(0, |c| fold.cells[c].depth + 1);
        let nodes: Vec<usize> = match above {
            None => self.tops.clone(),
            Some(c) => fold.cells[c].nodes.iter().flat_map(|n| self.below[*n].iter().copied()).collect(),
        };
        if nodes.is_empty() {
            return;
        }
        // By likeness, in the order of the first of each.
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        let mut place: HashMap<usize, usize> = HashMap::new();
        for node in nodes {
            let new = kinds.len();
            let at = *place.entry(self.likeness[node]).or_insert(new);
            if at == new {
                kinds.push(Vec::new());
            }
            kinds[at].push(node);
        }
        // Below a stack everything is stacked: its parts are alike, so each of their children has a like one below
        // every other.
        let stacked = above.is_some_and(|c| fold.cells[c].what == What::Stack);
        let mut boxes: Vec<Vec<usize>> = Vec::new();
        for mut kind in kinds {
            kind.sort_unstable();
            if stacked || kind.len() > alike {
                boxes.push(kind);
            } else {
                boxes.extend(kind.into_iter().map(|node| vec![node]));
            }
        }
        boxes.sort_by_key(|b| (self.first(b[0]), b[0]));
        let room = if depth >= DEEP || fold.cells.len() + boxes.len().min(WIDE) > MAX_CELLS { 1 } else { WIDE };
        let rest: Vec<usize> =
            if boxes.len() > room { boxes.drain(room - 1..).flatten().collect() } else { Vec::new() };
        // A single box at the limit stays, and what is below it does not.
        let end = room == 1 && rest.is_empty();
        for nodes in boxes {
            let whole = end && nodes.iter().any(|n| !self.below[*n].is_empty());
            let what = if whole {
                What::Rest
            } else if nodes.len() > 1 {
                What::Stack
            } else {
                What::One
            };
            self.push(fold, above, depth, what, nodes);
        }
        if !rest.is_empty() {
            self.push(fold, above, depth, What::Rest, rest);
        }
    }

    fn push(&self, fold: &mut Fold, above: Option<usize>, depth: usize, what: What, mut nodes: Vec<usize>) {
        let mut at = 0;
        while what == What::Rest && at < nodes.len() {
            nodes.extend(&self.below[nodes[at]]);
            at += 1;
        }
        let id = fold.cells.len();
        nodes.iter().for_each(|n| fold.of[*n] = id);
        if let Some(above) = above {
            fold.cells[above].below.push(id);
        }
        let (wires, inside, below) = (Vec::new(), Vec::new(), Vec::new());
        fold.cells.push(Cell { what, nodes, wires, inside, above, below, depth });
    }

    /// Gives each wire its line: up from a box, within one, or between two others. Ties that are in no tree are lines
    /// without wires.
    fn wires(&self, fold: &mut Fold) {
        let mut place: HashMap<(usize, usize, bool), usize> = HashMap::new();
        let mut line = |fold: &mut Fold, ends: [usize; 2], crosslink: bool| {
            let new = fold.lines.len();
            let at = *place.entry((ends[0], ends[1], crosslink)).or_insert(new);
            if at == new {
                fold.lines.push(Line { ends, wires: Vec::new(), crosslink });
            }
            at
        };
        for (w, wire) in self.scene.wires.iter().enumerate() {
            let [a, b] = wire.ends.map(|e| fold.of[e]);
            if a == b {
                fold.cells[a].inside.push(w);
            } else if !wire.crosslink && fold.cells[b].above == Some(a) {
                fold.cells[b].wires.push(w);
            } else if !wire.crosslink && fold.cells[a].above == Some(b) {
                fold.cells[a].wires.push(w);
            } else {
                let at = line(fold, [a.min(b), a.max(b)], wire.crosslink);
                fold.lines[at].wires.push(w);
            }
        }
        for (i, joints) in self.scene.joints.iter().enumerate() {
            for (_, to) in joints.iter().filter(|(j, to)| *j == Joint::Tie && *to > i) {
                let (a, b) = (fold.of[i], fold.of[*to]);
                let tree = fold.cells[a].above == Some(b) || fold.cells[b].above == Some(a);
                if a != b && !tree {
                    line(fold, [a.min(b), a.max(b)], false);
                }
            }
        }
    }
}

/// A number for each node, the same for those that nothing tells apart: by table, kind and tasks, then by what their
/// neighbours are.
fn likeness(scene: &Scene, roles: bool) -> Vec<usize> {
    let mut speeds: HashMap<(&str, bool), usize> = HashMap::new();
    let labels: Vec<usize> = (scene.wires.iter())
        .map(|w| {
            let new = speeds.len() + 1;
            *speeds.entry((&w.speed, w.crosslink)).or_insert(new)
        })
        .collect();
    let mut first: HashMap<_, usize> = HashMap::new();
    let mut colours: Vec<usize> = (scene.nodes.iter().zip(&scene.roles))
        .map(|(node, tasks)| {
            let speed = node.wire.map(|w| labels[w]);
            let tasks: &[usize] = if roles { tasks } else { &[] };
            let new = first.len();
            *first.entry((node.row, node.kind.map(|k| k as u8), node.group, speed, tasks)).or_insert(new)
        })
        .collect();
    let mut kinds = first.len();
    for _ in 0..ROUNDS {
        let mut seen: HashMap<(usize, Vec<(usize, usize)>), usize> = HashMap::new();
        let new: Vec<usize> = (scene.joints.iter().enumerate())
            .map(|(i, joints)| {
                let label = |j: Joint| if let Joint::Wire(w) = j { labels[w] } else { 0 };
                let mut around: Vec<(usize, usize)> = joints.iter().map(|(j, to)| (label(*j), colours[*to])).collect();
                around.sort_unstable();
                let new = seen.len();
                *seen.entry((colours[i], around)).or_insert(new)
            })
            .collect();
        let now = seen.len();
        colours = new;
        if now == kinds {
            break;
        }
        kinds = now;
    }
    colours
}

/// How a box is called: `nic.3`, `nic.0–15 ×16`, or `984 more parts`.
pub(super) fn name(scene: &Scene, cell: &Cell) -> String {
    let first = &scene.nodes[cell.nodes[0]];
    let n = cell.nodes.len();
    match cell.what {
        What::One => first.name.to_owned(),
        What::Rest => {
            let n = cell.nodes.iter().filter(|n| scene.nodes[**n].kind.is_some()).count();
            format!("{n} more part{}", if n == 1 { "" } else { "s" })
        }
        What::Stack => {
            let number = |n: &usize| scene.nodes[*n].name.strip_prefix(first.group)?.strip_prefix('.')?.parse().ok();
            let mut numbers: Vec<u32> = cell.nodes.iter().filter_map(number).collect();
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
        let scene = Scene::new(&plan);
        let fold = fold(&scene);
        assert!(fold.of.iter().all(|c| *c < fold.cells.len()), "every part has a box");
        let drawn: usize = fold.cells.iter().map(|c| c.wires.len() + c.inside.len()).sum::<usize>()
            + fold.lines.iter().map(|l| l.wires.len()).sum::<usize>()
            + fold.left.len();
        assert_eq!(drawn, scene.wires.len(), "every link has a line");
        fold.cells.iter().map(|c| name(&scene, c)).collect()
    }

    const HOST: &str = "[parts.host]\nis = \"root-complex\"\nports = 10000\n";

    #[test]
    fn many_alike_siblings_are_one_box() {
        let nics = |n: usize| {
            format!(
                "{HOST}[parts.nic]\nis = \"endpoint\"\ncount = {n}\n[links.l]\nbetween = [\"host\", \"nic.*\"]\npcie = \
                    \"gen3 x8\""
            )
        };
        assert_eq!(names(&nics(16)), ["host", "nic.0–15 ×16"]);
        assert_eq!(names(&nics(8)).len(), 9);
    }

    #[test]
    fn switches_with_the_same_below_them_are_one_box_too() {
        let text = format!(
            "{HOST}[parts.sw]\nis = \"switch\"\ncount = 12\n[parts.ssd]\nis = \"endpoint\"\ncount = 48\n\
             [links.a]\nbetween = [\"host\", \"sw.*.up\"]\npcie = \"gen4 x16\"\n[links.b]\nbetween = [\"sw.*.down\", \
             \"ssd.*\"]\npcie = \"gen4 x4\""
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
                "[parts.s{i}]\nis = \"switch\"\n[links.l{i}]\nbetween = [\"s{}.down\", \"s{i}.up\"]\npcie = \"gen3 \
                    x1\"\n",
                i - 1
            );
        }
        let names = names(&text);
        assert_eq!((names.len(), names[16].as_str()), (17, "45 more parts"));
    }
}
