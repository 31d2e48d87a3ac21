//! A load of the user's own on a host out of its dumps: a scenario of flows alone, which stands on the host's.
//!
//! The text is read as any scenario, with the emitted one as its platform: places of mistakes are those of the user's
//! file. A flow may name a device as the report does (`gpu0`), by its address or by its name in the operating system.

use super::{Topology, scenario};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::import::host::Host;
use crate::plan::Plan;
use crate::scenario::tree::{Author, Node, Table, Value, parse};
use crate::scenario::{Included, Resolver};

/// What the host is called where the load names it as its platform.
const HOST: &str = "the explained host";

/// The emitted scenario below everything that another resolver knows.
struct OnHost<'a> {
    text: String,
    others: &'a dyn Resolver,
}

impl Resolver for OnHost<'_> {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        match reference == HOST {
            true => Ok(Included { name: HOST.into(), text: self.text.clone(), author: Author::User }),
            false => self.others.resolve(reference, from),
        }
    }

    fn trace(&self, reference: &str, from: &str) -> Result<Included, String> {
        self.others.trace(reference, from)
    }

    fn names(&self) -> Vec<String> {
        self.others.names()
    }
}

/// The plan of a load on a host; what is wrong is in `diagnostics`. `others` finds what the load itself includes.
pub fn plan(diagnostics: &mut Diagnostics, host: &Host, load: Included, others: &dyn Resolver) -> Option<Plan> {
    if load.text.trim().is_empty() {
        diagnostics.push(Diagnostic::error(None, format!("{} is empty", load.name)).hint(EXAMPLE));
        return None;
    }
    let topology = Topology::of(host);
    // Read twice: once for names of devices, whose mistakes the second reading tells.
    let mut first = Diagnostics::default();
    let source = first.add_source(load.name.clone(), load.text.clone());
    let mut sets = vec![format!("platform=\"{HOST}\"")];
    if let Some(root) = parse(&mut first, source, Author::User) {
        let Some(flows) = table(root.get("flows")).filter(|f| !f.0.is_empty()) else {
            let source = diagnostics.add_source(load.name, load.text);
            let whole = Span { source, start: 0, end: 1 };
            diagnostics.push(Diagnostic::error(whole, "this workload has no flows").hint(EXAMPLE));
            return None;
        };
        if let Some(platform) = root.get("platform") {
            let source = diagnostics.add_source(load.name, load.text);
            let span = Span { source, ..platform.span };
            let hint = "leave the line out, or plan the file by itself: lanescope run";
            diagnostics.push(Diagnostic::error(span, "a workload's platform is the host of the dumps").hint(hint));
            return None;
        }
        sets.extend(renamed(&topology, flows));
    }
    let text = scenario::emit(host);
    crate::plan(diagnostics, load, &sets, &OnHost { text, others })
}

const EXAMPLE: &str = "it has a table for each flow: [flows.copy] with from = \"gpu0\", to = \"node0.memory\", \
                       do = \"write\", size = \"1 MiB\"; names are those of --emit scenario";

fn table(node: Option<&Node>) -> Option<&Table> {
    match &node?.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// What lays the report's names over other names of devices.
fn renamed(topology: &Topology, flows: &Table) -> Vec<String> {
    let mut sets = Vec::new();
    for (name, flow) in &flows.0 {
        let Some(flow) = table(Some(flow)).filter(|_| !name.contains(['"', '\\'])) else { continue };
        for key in ["from", "to"] {
            let Some(Value::Text(text)) = flow.get(key).map(|n| &n.value) else { continue };
            // A name of the report is one of the scenario already.
            let known = topology.devices.iter().any(|d| d.id == *text);
            let Some(device) = topology.device(text).filter(|_| !known) else { continue };
            sets.push(format!("flows.\"{name}\".{key}=\"{}\"", device.id));
        }
    }
    sets
}
