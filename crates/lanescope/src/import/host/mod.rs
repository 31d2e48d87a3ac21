//! A host as its dumps tell it: what people paste into forums, read into one typed model.
//!
//! Each [`Dump`] is a text (or a folder's files) of any of the forms below, with prompts, markup and other texts around
//! it; a line that belongs to no form is skipped. Several dumps are of one host and merge; where two say different
//! things, the first stays and a [`Note`] says so. Nothing is assumed: what no dump says is unknown.
//!
//! | form | reader |
//! | --- | --- |
//! | `lspci -v`, `-vv`, `-vvv`, `-n`, `-nn` | [`lspci`] |
//! | `lspci -x`, `-xxx`, `-xxxx` | [`lspci`] and [`config`] |
//! | `lspci -t`, `-tv` | [`tree`] |
//! | NCCL's and RCCL's topology XML | [`nccl`] |
//! | hwloc's XML | [`hwloc`] |
//! | `nvidia-smi topo -m`, its table | [`matrix`] |
//! | `numactl -H`, `lscpu`, lstopo's text | [`system`] |
//! | the kernel's log | [`kernel`] |
//! | a copy of sysfs | [`sysfs`] |

pub mod config;
pub mod function;
pub mod hwloc;
pub mod kernel;
pub mod lspci;
pub mod matrix;
pub mod nccl;
pub mod sysfs;
pub mod system;
mod text;
pub mod tree;
pub mod xml;

pub use function::{Address, Function, Kind, Known, Place, generation, value};
pub(crate) use function::{Corrected, Fact, PortType, gigatransfers};

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Display};

/// Most functions of a host; what comes then is another's.
pub(crate) const MOST_FUNCTIONS: usize = 20_000;
/// Most notes that are kept; further ones are counted.
pub(crate) const MOST_NOTES: usize = 100;
/// Most hosts of one reading.
const MOST_HOSTS: usize = 64;
/// Most characters of a name that is kept.
const LONGEST: usize = 120;

/// What is read: a text, or the files of a folder.
#[derive(Clone, Debug)]
pub enum Dump<'a> {
    /// A text under a name.
    Text {
        /// What to call it.
        name: String,
        /// The text.
        text: &'a str,
    },
    /// Files by their path below the folder, `/` between its parts.
    Files {
        /// What to call the folder.
        name: String,
        /// Their contents; `config` is binary.
        files: &'a BTreeMap<String, Vec<u8>>,
    },
}

/// A form that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Form {
    /// lspci's text.
    #[serde(rename = "lspci")]
    Lspci,
    /// lspci's hex dump.
    #[serde(rename = "lspci -x")]
    Hex,
    /// lspci's tree.
    #[serde(rename = "lspci -t")]
    Tree,
    /// NCCL's or RCCL's topology file.
    #[serde(rename = "NCCL topology")]
    Nccl,
    /// hwloc's XML.
    #[serde(rename = "hwloc XML")]
    Hwloc,
    /// `nvidia-smi topo -m`.
    #[serde(rename = "nvidia-smi topo")]
    Matrix,
    /// `nvidia-smi`.
    #[serde(rename = "nvidia-smi")]
    Smi,
    /// `numactl -H`.
    #[serde(rename = "numactl")]
    Numactl,
    /// `lscpu`.
    #[serde(rename = "lscpu")]
    Lscpu,
    /// lstopo's text.
    #[serde(rename = "lstopo")]
    Lstopo,
    /// The kernel's log.
    #[serde(rename = "kernel log")]
    Kernel,
    /// A copy of sysfs.
    #[serde(rename = "sysfs")]
    Sysfs,
}

/// A dump that was read.
#[derive(Clone, Debug, Serialize)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// What was found in it.
    pub forms: BTreeSet<Form>,
}

/// What kind of remark a reader makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remark {
    /// Two places say different things.
    Contradiction,
    /// Something could not be read, and is left out.
    Skipped,
}

/// A remark of a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What kind.
    pub remark: Remark,
    /// In one line.
    pub text: String,
    /// Where.
    pub at: Place,
}

/// A NUMA node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Node {
    /// Memory, bytes.
    pub memory: Known<u64>,
    /// Its processors as the dump lists them: `0-31`.
    pub processors: Known<String>,
    /// NCCL's attributes of its `cpu` element.
    pub nccl: Option<Vec<(String, String)>>,
    /// Interfaces that NCCL's file has below the node itself, behind no function.
    pub nets: Vec<function::Net>,
    /// Where the element stands among its like.
    pub order: u32,
}

/// How two devices of `nvidia-smi topo -m` reach each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relation {
    /// One of them.
    pub from: String,
    /// The other.
    pub to: String,
    /// `X`-free word of the matrix: PIX, PXB, PHB, NODE, SYS, NV12.
    pub way: String,
    /// Where it stands.
    pub at: Place,
}

/// A host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// Its name where a prompt shows it.
    pub name: Known<String>,
    /// The dumps.
    pub dumps: Vec<Source>,
    /// Functions by address.
    #[serde(serialize_with = "by_address")]
    pub functions: BTreeMap<Address, Function>,
    /// NUMA nodes.
    pub nodes: BTreeMap<u32, Node>,
    /// ACPI SLIT distances between nodes; 10 is local.
    #[serde(skip)]
    pub distances: BTreeMap<(u32, u32), Fact<u32>>,
    /// Ways between GPUs and adapters.
    pub relations: Vec<Relation>,
    /// Processor's model name.
    pub processor: Known<String>,
    /// Its CPUID family and model, decoded.
    pub family: Known<(u32, u32)>,
    /// Sockets.
    pub sockets: Known<u32>,
    /// The hypervisor, where lscpu names one.
    pub hypervisor: Known<String>,
    /// `ACSCtl` lines that stand by themselves (`lspci -vvv | grep ACSCtl`): how many, and how many redirect.
    pub loose_acs: Known<(u32, u32)>,
    /// NUMA node by name of a device, from `nvidia-smi topo -m`.
    pub device_nodes: BTreeMap<String, Fact<u32>>,
    /// Attributes of NCCL's `system` element.
    pub nccl_system: Option<Vec<(String, String)>>,
    /// Remarks of the readers.
    pub notes: Vec<Note>,
    /// Remarks beyond `MOST_NOTES`.
    pub more_notes: u64,
    /// Lines of all dumps that belong to no known form.
    pub skipped_lines: u64,
}

fn by_address<S: serde::Serializer>(all: &BTreeMap<Address, Function>, s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(all.iter().map(|(a, f)| (a.to_string(), f)))
}

impl Host {
    /// The function at an address, made where it is new; `None` where there are too many.
    pub(crate) fn function(&mut self, address: Address, at: Place) -> Option<&mut Function> {
        if self.functions.len() >= MOST_FUNCTIONS && !self.functions.contains_key(&address) {
            let text = format!("more than {MOST_FUNCTIONS} functions: what follows is left out");
            if self.notes.iter().all(|n| n.text != text) {
                self.note(Remark::Skipped, text, at);
            }
            return None;
        }
        Some(self.functions.entry(address).or_default())
    }

    /// Correctable errors of a function, as somebody tells them. They add up over dumps: a bit that was seen once was
    /// seen; but who counts them knows more.
    pub(crate) fn corrected(
        &mut self,
        address: Address,
        mut kinds: BTreeMap<&'static str, u64>,
        told_by: &'static str,
        at: Place,
    ) {
        let Some(function) = self.function(address, at) else { return };
        match &mut function.corrected {
            Some(known) if !known.value.counted => known.value.kinds.append(&mut kinds),
            Some(_) => {}
            none => *none = Some(Fact { value: Corrected { kinds, counted: false, told_by }, at }),
        }
    }

    /// Keeps a remark, or counts it.
    pub(crate) fn note(&mut self, remark: Remark, text: impl Into<String>, at: Place) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(Note { remark, text: text.into(), at });
        } else {
            self.more_notes += 1;
        }
    }

    /// Writes a fact of a function: `slot` chooses it; another value than before is a contradiction.
    pub(crate) fn learn<T: PartialEq + Clone + Debug>(
        &mut self,
        address: Address,
        what: &str,
        value: T,
        at: Place,
        slot: impl FnOnce(&mut Function) -> &mut Known<T>,
    ) {
        let Some(function) = self.function(address, at) else { return };
        if let Err(before) = put(slot(function), value.clone(), at) {
            let [before, value] = match what {
                // As lspci -nn and the PCI ID Repository write them.
                "class" | "ids" => [format!("{before:#06x?}"), format!("{value:#06x?}")],
                _ => [format!("{before:?}"), format!("{value:?}")],
            };
            let said = format!("{address} {what}: {before} and {value} contradict each other; the first is kept");
            self.note(Remark::Contradiction, said, at);
        }
    }

    /// What to call a place: dump and line.
    pub fn place(&self, at: Place) -> String {
        let name = self.dumps.get(at.dump as usize).map_or("a dump", |d| d.name.as_str());
        if at.line == 0 { name.to_owned() } else { format!("{name}:{}", at.line) }
    }

    /// The distance of two nodes, where a dump says it.
    pub fn distance(&self, from: u32, to: u32) -> Option<u32> {
        self.distances.get(&(from, to)).map(|f| f.value)
    }

    /// Notes a contradiction about the host itself.
    pub(crate) fn learn_host<T: PartialEq + Clone + Display>(
        &mut self,
        what: &str,
        value: T,
        at: Place,
        slot: impl FnOnce(&mut Host) -> &mut Known<T>,
    ) {
        let before = put(slot(self), value.clone(), at).err().cloned();
        if let Some(before) = before {
            self.note(Remark::Contradiction, format!("{what}: {before} and {value}; the first is kept"), at);
        }
    }

    /// Notes that a form was found in a dump.
    pub(crate) fn found(&mut self, form: Form, at: Place) {
        if let Some(dump) = self.dumps.get_mut(at.dump as usize) {
            dump.forms.insert(form);
        }
    }
}

/// Writes a fact; what was known before where it differs.
pub(crate) fn put<T: PartialEq>(slot: &mut Known<T>, value: T, at: Place) -> Result<(), &T> {
    match slot {
        Some(known) if known.value == value => Ok(()),
        Some(known) => Err(&known.value),
        None => {
            *slot = Some(Fact { value, at });
            Ok(())
        }
    }
}

/// A text of a dump as it may be kept and printed: no control characters, not long, no spaces at its ends.
pub fn clean(text: &str) -> String {
    let mut kept: String =
        text.trim().chars().take(LONGEST).map(|c| if c.is_control() || unprintable(c) { '?' } else { c }).collect();
    kept.truncate(kept.trim_end().len());
    kept
}

/// Characters that turn the direction of a line or show nothing, though they are no control characters of C0 or C1.
fn unprintable(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Reads dumps of one host; more than one host only where a dump itself holds several.
pub fn read(dumps: &[Dump]) -> Vec<Host> {
    let sources: Vec<Source> = dumps
        .iter()
        .map(|d| match d {
            Dump::Text { name, .. } | Dump::Files { name, .. } => clean(name),
        })
        .map(|name| Source { name, forms: BTreeSet::new() })
        .collect();
    let mut hosts = vec![Host { dumps: sources, ..Host::default() }];
    for (index, dump) in dumps.iter().enumerate() {
        match dump {
            Dump::Text { text, .. } => text::read(&mut hosts, index as u32, text),
            Dump::Files { files, .. } => sysfs::read(&mut hosts[0], index as u32, files),
        }
    }
    // A text before the first prompt may have made a host of nothing.
    let real = hosts.iter().position(|h| !h.is_empty()).unwrap_or(0);
    let (first, mut rest) = (hosts.swap_remove(real), hosts);
    rest.retain(|h| !h.is_empty());
    let mut all = vec![first];
    all.append(&mut rest);
    all
}

impl Host {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
            && self.nodes.is_empty()
            && self.relations.is_empty()
            && self.processor.is_none()
            && self.sockets.is_none()
    }
}

/// Begins another host, or goes on with it where its name was seen before.
fn other(hosts: &mut Vec<Host>, name: Option<(String, Place)>) -> usize {
    if let Some((name, _)) = &name
        && let Some(known) = hosts.iter().position(|h| h.name.as_ref().is_some_and(|n| n.value == *name))
    {
        return known;
    }
    if hosts.len() >= MOST_HOSTS {
        return hosts.len() - 1;
    }
    let dumps = hosts.first().map(|h| h.dumps.clone()).unwrap_or_default();
    let dumps = dumps.into_iter().map(|d| Source { forms: BTreeSet::new(), ..d }).collect();
    hosts.push(Host { dumps, name: name.map(|(value, at)| Fact { value, at }), ..Host::default() });
    hosts.len() - 1
}
