//! Texts that a scenario is laid together from, parsed once however often it is read with other values laid over it.
//!
//! A tree remembers where each of its keys stands, by the number of its text among all that were read. So a tree serves
//! again where its text has the same number as before, which it has while a scenario is read with as many values laid
//! over it as before; else it is parsed anew.

use super::include::{Included, Resolver};
use super::tree::{self, Author, Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, nearest};
use std::collections::HashMap;

/// A text and its tree.
struct Text {
    source: SourceId,
    included: Included,
    /// Whether its warnings are dropped.
    quiet: bool,
    table: Table,
}

impl Text {
    /// Parses a text; `None` where it is no TOML, which is said.
    fn parse(diagnostics: &mut Diagnostics, included: Included, quiet: bool) -> Option<Text> {
        let source = note(diagnostics, &included, quiet);
        let table = tree::parse(diagnostics, source, included.author)?;
        Some(Text { source, included, quiet, table })
    }

    /// Whether it serves again now; then its text is among those of `diagnostics`.
    fn again(&self, diagnostics: &mut Diagnostics) -> bool {
        let serves = diagnostics.next_source() == self.source;
        if serves {
            note(diagnostics, &self.included, self.quiet);
        }
        serves
    }
}

fn note(diagnostics: &mut Diagnostics, text: &Included, quiet: bool) -> SourceId {
    let source = diagnostics.add_source(text.name.clone(), text.text.clone());
    if quiet {
        diagnostics.quiet(source);
    }
    source
}

/// What is known of the texts of one scenario.
#[derive(Default)]
pub(crate) struct Known {
    own: Option<Text>,
    /// By the reference and the text that it stands in: when it was last asked for, and what it is; `None` where it
    /// cannot be read.
    named: HashMap<(String, String), (u64, Option<Text>)>,
    /// How often the scenario was read.
    times: u64,
}

impl Known {
    /// The scenario's own tree; what is named in it is looked for once more.
    pub(super) fn own(&mut self, diagnostics: &mut Diagnostics, included: Included) -> Option<(SourceId, Table)> {
        self.times += 1;
        let same = |t: &Text| (&t.included.name, &t.included.text) == (&included.name, &included.text);
        match &self.own {
            Some(own) if same(own) && own.again(diagnostics) => {}
            _ => self.own = Some(Text::parse(diagnostics, included, false)?),
        }
        self.own.as_ref().map(|own| (own.source, own.table.clone()))
    }

    /// The table of the text that a node names.
    pub(super) fn include(
        &mut self,
        diagnostics: &mut Diagnostics,
        node: &Node,
        key: &str,
        resolver: &dyn Resolver,
    ) -> Option<Table> {
        let Value::Text(reference) = &node.value else {
            let what = format!("{key} is a name of the library or a path to a file, in quotes");
            diagnostics.push(Diagnostic::error(node.span, what));
            return None;
        };
        // What --set names is named from where the scenario stands.
        let source = diagnostics.source(node.span.source);
        let main = diagnostics.source(SourceId(0));
        let from = if source.name == "--set" { main.name.clone() } else { source.name.clone() };
        let place = (reference.clone(), from);
        let times = self.times;
        let known = self.named.get_mut(&place).is_some_and(|(last, text)| {
            let serves = *last == times || text.as_ref().is_some_and(|t| t.again(diagnostics));
            *last = times;
            serves
        });
        if !known {
            let text = read(diagnostics, node, key, &place, resolver);
            self.named.insert(place.clone(), (times, text));
        }
        self.named.get(&place).and_then(|(_, text)| Some(text.as_ref()?.table.clone()))
    }
}

/// Reads the text that a node names; why it cannot be is said.
fn read(
    diagnostics: &mut Diagnostics,
    node: &Node,
    key: &str,
    (reference, from): &(String, String),
    resolver: &dyn Resolver,
) -> Option<Text> {
    match resolver.resolve(reference, from) {
        Ok(included) => {
            let quiet = included.author == Author::Library;
            let mut text = Text::parse(diagnostics, included, quiet)?;
            let want = if key == "platform" { "platform" } else { "device" };
            if let Some(Node { value: Value::Text(kind), .. }) = text.table.take("kind")
                && kind != want
            {
                diagnostics.push(Diagnostic::error(node.span, format!("{reference} is a {kind}, not a {want}")));
                return None;
            }
            Some(text)
        }
        Err(why) => {
            let names = resolver.names();
            let near = nearest(reference, names.iter().map(String::as_str));
            let hint = near.map_or(
                "lanescope platform list shows what there is; a path to your own file starts with ./".into(),
                |n| format!("did you mean {n:?}?"),
            );
            diagnostics.push(Diagnostic::error(node.span, format!("{key}: {why}")).hint(hint));
            None
        }
    }
}
