//! Which medium a link or a flow is of. What says none gets one message that lists them, and no others that follow from
//! it.

use super::tree::{Node, Table, Value};
use crate::diagnostic::{Diagnostic, Diagnostics, Span, nearest};

/// A table with its name and the place of that.
type Thing = (String, Table, Span);

/// What flows do, and where.
const DOES: [&str; 9] = ["read", "write", "alternate", "receive", "transmit", "send", "io", "transact", "mpi"];
/// Keys that only a flow of I/Os has, and that say what it does.
const IO_OWN: [&str; 2] = ["access", "test"];
/// The same of ranks.
const MPI_OWN: [&str; 4] = ["ranks", "program", "benchmark", "trace"];
/// Keys that say what a link is.
const MEDIA: [&str; 8] = ["pcie", "coherent", "ethernet", "infiniband", "fc", "scsi", "sas", "pci"];

/// Flows of DMA, of frames, of I/Os, of transactions and of ranks.
pub(super) struct Flows {
    pub(super) dma: Vec<Thing>,
    pub(super) frames: Vec<Thing>,
    pub(super) ios: Vec<Thing>,
    pub(super) transactions: Vec<Thing>,
    pub(super) jobs: Vec<Thing>,
}

/// Sorts flows by what they do.
pub(super) fn flows(diagnostics: &mut Diagnostics, flows: Vec<Thing>) -> Flows {
    let mut sorted =
        Flows { dma: Vec::new(), frames: Vec::new(), ios: Vec::new(), transactions: Vec::new(), jobs: Vec::new() };
    for flow in flows {
        let own = IO_OWN.into_iter().find(|k| flow.1.get(k).is_some());
        match flow.1.get("do") {
            Some(Node { value: Value::Text(word), span, .. }) => match (word.as_str(), own) {
                ("send", _) => sorted.frames.push(flow),
                ("io", _) => sorted.ios.push(flow),
                ("transact", _) => sorted.transactions.push(flow),
                ("mpi", _) => sorted.jobs.push(flow),
                ("read" | "write" | "alternate" | "receive" | "transmit", Some(own)) => {
                    let what = format!("do: {own} belongs to a flow of I/Os, and {word:?} is DMA");
                    diagnostics.push(Diagnostic::error(*span, what).hint("say do = \"io\""));
                }
                ("read" | "write" | "alternate" | "receive" | "transmit", None) => sorted.dma.push(flow),
                (word, own) => {
                    let shown: String = word.chars().take(40).collect();
                    let near = match own {
                        Some(_) => nearest(&shown, ["transact"]).or(Some("io")),
                        None => nearest(&shown, DOES),
                    };
                    let what = format!(
                        "do: {shown:?} is none of read, write, alternate, receive, transmit (DMA), send (frames), io (I/Os), transact (messages and replies), mpi (ranks)"
                    );
                    let d = Diagnostic::error(*span, what);
                    diagnostics.push(near.map_or(d.clone(), |n| d.hint(format!("did you mean {n:?}?"))));
                }
            },
            // Without the word its keys tell.
            None if own.is_some() => sorted.ios.push(flow),
            None if MPI_OWN.iter().any(|k| flow.1.get(k).is_some()) => sorted.jobs.push(flow),
            _ => sorted.dma.push(flow),
        }
    }
    sorted
}

/// Keeps the links that say what they are, or seem to be of PCIe.
pub(super) fn links(diagnostics: &mut Diagnostics, links: Vec<Thing>) -> Vec<Thing> {
    let mut kept = Vec::new();
    for link in links {
        let (name, table, span) = &link;
        if table.get("pcie").is_some() {
            kept.push(link);
            continue;
        }
        let meant = table.0.iter().find_map(|(k, n)| {
            let known = super::keys::LINK.iter().any(|l| l.name == k);
            (!known).then(|| nearest(k, MEDIA)).flatten().map(|m| (k, n, m))
        });
        match meant {
            // Its other keys are read as well.
            Some((_, _, "pcie")) => kept.push(link),
            Some((key, node, medium)) => diagnostics.push(
                Diagnostic::error(node.key, format!("a link has no key {key:?}")).label(format!("did you mean {medium}?")),
            ),
            None => diagnostics.push(Diagnostic::error(*span, format!("links.{name} does not say what it is")).hint(
                "add pcie = \"gen3 x8\", coherent = \"64 GB/s\" (between root complexes), ethernet = \"10 Gb/s\", infiniband = \"edr 4x\", pci = \"pci-x 133 64-bit\", fc = \"4GFC\", sas = \"3G\" or scsi = \"ultra320\"",
            )),
        }
    }
    kept
}
