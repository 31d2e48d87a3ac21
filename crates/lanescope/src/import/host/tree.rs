//! lspci's tree (`-t`, `-tv`): which function is behind which bridge, without any other fact.
//!
//! A tree is drawn with `+-`, `\-` and `|`; the column of a line's first branch says which bus it goes on with. Buses
//! stand in brackets: `[0000:00]` at the root, `[01]` or `[61-73]` behind a bridge. Markup and prompts before a whole
//! tree move all columns alike.

use super::function::{Address, Place};
use super::{Form, Host, clean, put};

/// A bus while its lines are read.
#[derive(Clone, Copy)]
struct Bus {
    /// Where its branches stand.
    column: usize,
    domain: u32,
    bus: u8,
    bridge: Option<Address>,
}

/// The buses that are open, from the root down.
#[derive(Default)]
pub(crate) struct Reader {
    open: Vec<Bus>,
    domain: u32,
}

/// Buses below one another, at most: each line could else open one more.
const MOST_DEEP: usize = 256;

/// Whether a line looks like one of a tree.
pub(crate) fn looks(line: &str) -> bool {
    let drawn = line.trim_start_matches([' ', '|']);
    let branch = ["+-", "\\-", "-+-", "-["].iter().any(|s| drawn.starts_with(s));
    branch && (drawn.contains("-[") || device(drawn.trim_start_matches(['+', '\\', '-'])).is_some())
}

/// `01.1` at the beginning of a text: device, function and the rest.
fn device(text: &str) -> Option<(u8, u8, &str)> {
    let b = text.as_bytes();
    if b.len() < 4 || b[2] != b'.' || b.get(4).is_some_and(|c| !matches!(c, b'-' | b' ')) {
        return None;
    }
    let device = u8::from_str_radix(text.get(..2)?, 16).ok()?;
    let function = u8::from_str_radix(text.get(3..4)?, 16).ok()?;
    (device < 32 && function < 8).then(|| (device, function, &text[4..]))
}

/// `[0000:00]`, `[01]`, `[61-73]` at the beginning: domain where it is said, first and last bus, the rest.
fn bus(text: &str) -> Option<(Option<u32>, u8, u8, &str)> {
    let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (domain, buses) = match inside.split_once(':') {
        Some((domain, buses)) => (Some(u32::from_str_radix(domain, 16).ok()?), buses),
        None => (None, inside),
    };
    let (first, last) = buses.split_once('-').unwrap_or((buses, buses));
    let hex = |t: &str| u8::from_str_radix(t, 16).ok().filter(|_| t.len() == 2);
    Some((domain, hex(first)?, hex(last)?, rest))
}

impl Reader {
    /// Reads a line that [`looks`] like one of a tree.
    pub(crate) fn line(&mut self, host: &mut Host, line: &str, at: Place) {
        let skipped = line.len() - line.trim_start_matches([' ', '|']).len();
        let mut rest = &line[skipped..];
        // A root bus begins with its bracket; other lines go on with the bus whose branches stand in this column.
        let root = rest.trim_start_matches(['+', '\\', '-']).starts_with('[');
        let mut here = None;
        if root {
            self.open.clear();
        } else {
            while let Some(last) = self.open.last().copied() {
                if last.column <= skipped {
                    here = Some(last).filter(|l| l.column == skipped);
                    break;
                }
                self.open.pop();
            }
            if here.is_none() {
                return;
            }
        }
        let mut above = None;
        while self.open.len() < MOST_DEEP {
            let column = line.len() - rest.len();
            let dashes = rest.len() - rest.trim_start_matches(['+', '\\', '-']).len();
            // "-+-" and "--+-" open a bus whose further branches stand below the plus; "----" has one device only.
            let plus = rest[..dashes].find('+');
            rest = &rest[dashes..];
            if let (Some(open), Some(plus)) = (&mut here, plus.filter(|_| above.is_none()))
                && open.column == usize::MAX
            {
                open.column = column + plus;
                self.open.push(*open);
            }
            if let Some((domain, first, last, after)) = bus(rest) {
                self.domain = domain.unwrap_or(self.domain);
                if let Some(bridge) = above.take() {
                    host.learn(bridge, "bus numbers", (first, last), at, |f| &mut f.buses);
                    here = Some(Bus { column: usize::MAX, domain: self.domain, bus: first, bridge: Some(bridge) });
                } else {
                    here = Some(Bus { column: usize::MAX, domain: self.domain, bus: first, bridge: None });
                }
                rest = after;
            } else if let (Some((device, function, after)), Some(open)) = (device(rest), here) {
                let address = Address { domain: open.domain, bus: open.bus, device, function };
                self.domain = open.domain;
                host.found(Form::Tree, at);
                if let Some(bridge) = open.bridge {
                    host.learn(address, "parent", bridge, at, |f| &mut f.parent);
                }
                let Some(known) = host.function(address, at) else { return };
                rest = after;
                if !rest.starts_with('-') {
                    let name = clean(rest);
                    if !name.is_empty() {
                        let _ = put(&mut known.name, name, at);
                    }
                    return;
                }
                above = Some(address);
            } else {
                return;
            }
        }
    }
}
