//! Where the boxes of a picture stand: each below the one that it hangs from, rows under rows.
//!
//! Where leaves are many they hang in a column below their switch instead of a row, so that the sheet stays narrow.
//! Columns are wide enough for what stands beside the links in them.

use super::fold::Fold;

/// Height of a box.
pub(super) const BOX: f64 = 46.0;
/// Width of a narrow box.
const LEAST: f64 = 124.0;
/// Width that a column has at least.
const COLUMN: f64 = 152.0;
/// From the foot of a row to the head of the next: bends above, labels below.
const GAP: f64 = 52.0;
/// What crosslinks and other lines across need between two rows, where there are any.
const CROSSING: f64 = 56.0;
/// From the head of a hanging box to the next.
const STEP: f64 = 60.0;
/// From the side of a column to its hanging boxes: a spine and the label on a stub.
const STUB: f64 = 144.0;
/// Where in it the spine is.
pub(super) const SPINE: f64 = 18.0;
/// Around everything.
pub(super) const MARGIN: f64 = 32.0;
/// Narrowest sheet.
const SHEET: f64 = 900.0;
/// A row wider than this is drawn with hanging leaves.
const ROOMY: f64 = 1100.0;

/// What one box asks for, by its texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    /// Width of what is in it.
    pub(super) text: f64,
    /// Width of what stands right of the link up from it.
    pub(super) label: f64,
    /// Width of what stands at its right side.
    pub(super) side: f64,
    /// Whether it is a bus, whose text is right of its middle.
    pub(super) bus: bool,
}

/// Where every box stands.
pub(super) struct Layout {
    /// Left, top and width of each box.
    pub(super) boxes: Vec<(f64, f64, f64)>,
    /// Whether a box's children hang in a column.
    pub(super) hangs: Vec<bool>,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The part of a gap where links do not bend any more: the height of their labels.
    pub(super) straight: f64,
}

impl Layout {
    /// `lines` of text stand beside a link.
    pub(super) fn new(fold: &Fold, wishes: &[Wish], lines: usize) -> Layout {
        let row = Layout::measure(fold, wishes, lines, false);
        if row.width <= ROOMY { row } else { Layout::measure(fold, wishes, lines, true) }
    }

    pub(super) fn measure(fold: &Fold, wishes: &[Wish], lines: usize, hang: bool) -> Layout {
        let cells = &fold.cells;
        let n = cells.len();
        let straight = 16.0 + 16.0 * lines as f64;
        let leaf = |c: &usize| cells[*c].below.is_empty() && !wishes[*c].bus;
        // Labels of three lines are too high for a column.
        let hang = hang && lines < 3;
        let hangs: Vec<bool> = (0..n)
            .map(|i| hang && !wishes[i].bus && cells[i].below.len() >= 3 && cells[i].below.iter().all(leaf))
            .collect();
        let stub = |i: usize| cells[i].below.iter().map(|&c| wishes[c].label + SPINE + 24.0).fold(STUB, f64::max);
        let own: Vec<f64> = (0..n)
            .map(|i| {
                // A row of links leaves side by side, so its box is wide enough for all of them.
                let feet = if hangs[i] { 0.0 } else { cells[i].below.len() as f64 * 14.0 + 20.0 };
                let text = if wishes[i].bus { 2.0 * wishes[i].text + 32.0 } else { wishes[i].text + 20.0 };
                LEAST.max(feet).max(text)
            })
            .collect();
        // Right of a link stands its label, and then comes the next link, so boxes side by side are as far apart as the
        // longest label.
        let mut least = vec![COLUMN; n];
        for cell in cells {
            let label = cell.below.iter().map(|&c| wishes[c].label + 24.0).fold(COLUMN, f64::max);
            cell.below.iter().for_each(|&c| least[c] = label);
        }
        for i in 0..n {
            least[i] = least[i].max(own[i] + 28.0 + 2.0 * wishes[i].side);
        }
        // Columns from below, places from above: boxes below come later in the list.
        let mut column = vec![0.0f64; n];
        for i in (0..n).rev() {
            let below = &cells[i].below;
            column[i] = if hangs[i] {
                below.iter().map(|&c| stub(i) + own[c] + 28.0).fold(least[i], f64::max)
            } else {
                below.iter().map(|&c| column[c]).sum::<f64>().max(least[i])
            };
        }
        let tops: Vec<usize> = (0..n).filter(|&i| cells[i].above.is_none()).collect();
        let total: f64 = tops.iter().map(|&i| column[i]).sum();
        let width = (total + 2.0 * MARGIN + 24.0).max(SHEET);
        let mut left = vec![0.0f64; n];
        let mut x = (width - total) / 2.0;
        for &i in &tops {
            left[i] = x;
            x += column[i];
        }
        let crossing = if fold.lines.iter().any(|l| !l.wires.is_empty()) { CROSSING } else { 0.0 };
        let mut boxes = vec![(0.0, 0.0, 0.0); n];
        let mut height = 0.0f64;
        for i in 0..n {
            let (x, y) = match cells[i].above {
                Some(a) if hangs[a] => {
                    let nth = cells[a].below.iter().position(|&c| c == i).unwrap_or(0);
                    (left[a] + stub(a), boxes[a].1 + BOX + 20.0 + crossing + nth as f64 * STEP)
                }
                Some(a) => (left[i] + (column[i] - own[i]) / 2.0, boxes[a].1 + BOX + GAP + straight + crossing),
                None => (left[i] + (column[i] - own[i]) / 2.0, 0.0),
            };
            let x = if hangs[i] { left[i] } else { x };
            boxes[i] = (x, y, own[i]);
            height = height.max(y + BOX);
            let mut next =
                left[i] + (column[i] - cells[i].below.iter().map(|&c| column[c]).sum::<f64>()).max(0.0) / 2.0;
            if !hangs[i] {
                for &c in &cells[i].below {
                    left[c] = next;
                    next += column[c];
                }
            }
        }
        // A box stands above the middle of what hangs below it, which need not be the middle of its column.
        for i in (0..n).rev() {
            let middle = |c: usize| boxes[c].0 + boxes[c].2 / 2.0;
            if let (false, [first, .., last] | [first @ last]) = (hangs[i], cells[i].below.as_slice()) {
                let x = (middle(*first) + middle(*last)) / 2.0 - own[i] / 2.0;
                boxes[i].0 = x.clamp(left[i], left[i] + column[i] - own[i]);
            }
        }
        Layout { boxes, hangs, width, height, straight }
    }
}
