//! The part of a volume that a flow of I/Os uses, if it is there and holds its largest I/O.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::scenario::Named;
use crate::scenario::keys;
use crate::units::Bytes;

/// Bytes for a person, who does not want the last of them.
fn roughly(bytes: u64) -> String {
    match bytes {
        b if b >= 10 << 30 => format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64),
        b => Bytes(b).to_string(),
    }
}

/// A volume and the flow that wants a part of it.
pub(super) struct Room<'a> {
    pub(super) flow: &'a Named<keys::Io>,
    pub(super) name: &'a str,
    pub(super) capacity: u64,
}

impl Room<'_> {
    /// The bytes that the flow uses from its start, if they are there and hold its largest I/O.
    pub(super) fn range(&self, diagnostics: &mut Diagnostics, largest: u64) -> Option<Bytes> {
        let Room { flow, name, capacity } = *self;
        let k = &flow.keys;
        let start = k.start.typical;
        if start.0 >= capacity {
            let what = format!("a start of {start} on {name}, which holds {}", roughly(capacity));
            let d = Diagnostic::error(k.start.span.unwrap_or(flow.span), what);
            diagnostics.push(d.hint(format!("below {}: the first byte that is used", Bytes(capacity))));
            return None;
        }
        let behind = capacity - start.0;
        let range = k.file.as_ref().map_or(behind, |f| f.typical.0);
        if range <= behind && largest <= range {
            return Some(Bytes(range));
        }
        let test = k.test.as_ref().map(|t| t.typical);
        let (what, span, hint) = match &k.file {
            Some(f) if range > behind => (
                match start.0 {
                    0 => format!("a file of {} on {name}, which holds {}", f.typical, roughly(capacity)),
                    _ => format!(
                        "a file of {} behind the first {start} of {name}, which holds {}",
                        f.typical,
                        roughly(capacity)
                    ),
                },
                f.span,
                format!("at most {}; without file, I/Os use all of it", Bytes(behind)),
            ),
            file => (
                format!("an I/O of {} in a range of {}", Bytes(largest), Bytes(range)),
                match test {
                    None => k.access.as_ref().and_then(|a| a.span),
                    Some(t) if t.random() => k.record.span,
                    Some(_) => k.request.span,
                },
                match (file, test) {
                    (None, _) if start.0 > 0 => {
                        format!("smaller I/Os, or an earlier start: {name} holds {}", roughly(capacity))
                    }
                    (None, _) => format!("use smaller I/Os: {name} holds no more"),
                    (_, Some(t)) if t.random() => "a larger file, or a smaller record".into(),
                    (_, Some(_)) => "a larger file, or a smaller request".into(),
                    (_, None) => "a larger file, or smaller I/Os".into(),
                },
            ),
        };
        diagnostics.push(Diagnostic::error(span.unwrap_or(flow.span), what).hint(hint));
        None
    }
}
