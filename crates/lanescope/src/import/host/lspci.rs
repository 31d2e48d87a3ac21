//! lspci's text, of any version, and the rows of its hex dumps.
//!
//! A header line (`01:00.0 Ethernet controller: …`) begins a function. What follows is read by the words that pciutils
//! prints, not by indentation, since forums take that away: `LnkSta:` begins a field, the flags behind it and on the
//! lines below belong to it, until another word with a colon comes. Older versions wrap fields elsewhere and name some
//! differently; the same words are looked for in all of them. Rows of hex are gathered and decoded when the function
//! ends. Speeds that the text does not know (`unknown`, `Speed unknown`) stay unknown.

use super::config::{self, Space};
use super::function::{Acs, Address, CLASSES, CORRECTABLE, Express, Fact, Function, Known, PciX, Place};
use super::function::{PortType, generation};
use super::{Form, Host, Remark, clean, put};
use std::collections::BTreeMap;

/// What a line of a function belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Field {
    #[default]
    None,
    DevCap,
    DevCtl,
    DevSta,
    LnkCap,
    LnkCtl,
    LnkSta,
    SltSta,
    LnkCap2,
    DevCtl2,
    LnkCtl2,
}

/// Which capability a line stands below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Capability {
    #[default]
    None,
    Power,
    PciX,
    Secondary,
}

/// The function that lines belong to.
#[derive(Default)]
pub(crate) struct Reader {
    current: Option<Address>,
    field: Field,
    capability: Capability,
    bytes: Vec<u8>,
    bytes_at: Place,
}

/// A header line.
pub(crate) struct Header<'a> {
    /// The address.
    pub address: Address,
    /// Class code.
    class: Option<u16>,
    class_name: Option<&'a str>,
    ids: Option<(u16, u16)>,
    name: Option<&'a str>,
}

fn hex4(text: &str) -> Option<u16> {
    (text.len() == 4).then(|| u16::from_str_radix(text, 16).ok()).flatten()
}

fn id_pair(text: &str) -> Option<(u16, u16)> {
    let (a, b) = text.split_once(':')?;
    Some((hex4(a)?, hex4(b)?))
}

/// Takes `[0604]` or `[8086:2f02]` from the end of a text.
fn bracket<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<(&str, T)> {
    let (front, inside) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((front.trim_end(), read(inside)?))
}

/// Reads a header line; `None` for any other.
pub(crate) fn header(line: &str) -> Option<Header<'_>> {
    let line = line.trim();
    let (address, rest) = line.split_once(' ')?;
    // Domains and buses are short; this is asked of every line of a text.
    if !(7..=16).contains(&address.len()) {
        return None;
    }
    let address = Address::parse(address)?;
    let (class, name) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let class = class.trim();
    let (class_name, code) = match bracket(class, hex4) {
        Some((name, code)) => (Some(name), Some(code)),
        None => match hex4(class.strip_prefix("Class ").unwrap_or(class)) {
            Some(code) => (None, Some(code)),
            None => (Some(class), CLASSES.iter().find(|(n, _)| *n == class).map(|(_, c)| *c)),
        },
    };
    code?;
    let name = name.split(" (prog-if").next().unwrap_or(name);
    let name = name.split(" (rev ").next().unwrap_or(name).trim();
    let (name, ids) = match bracket(name, id_pair) {
        Some((name, ids)) => (name, Some(ids)),
        None => match id_pair(name) {
            Some(ids) => ("", Some(ids)),
            None => (name, None),
        },
    };
    let some = |text: Option<&'_ str>| text.is_some_and(|t| !t.is_empty());
    Some(Header {
        address,
        class: code,
        class_name: class_name.filter(|c| some(Some(c))),
        ids,
        name: Some(name).filter(|n| some(Some(n))),
    })
}

impl Header<'_> {
    /// Whether a function that is known already is another one than this.
    pub(crate) fn is_another(&self, known: &Function) -> bool {
        let class = known.class.as_ref().is_some_and(|c| self.class.is_some_and(|s| s != c.value));
        let ids = known.ids.as_ref().is_some_and(|i| self.ids.is_some_and(|s| s != i.value));
        let said = known.class_name.is_some();
        let name = known.name.as_ref().is_some_and(|n| self.name.is_some_and(|s| clean(s) != n.value));
        class || ids || (said && name)
    }
}

/// The text behind a word: `after("…, Width x8, …", "Width ")`.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.find(word).map(|at| &text[at + word.len()..])
}

/// The number behind a word.
fn number(text: &str, word: &str) -> Option<u32> {
    let digits = after(text, word)?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// `Word+` or `Word-`, the word whole.
fn flag(text: &str, word: &str) -> Option<bool> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find(word) {
        let (start, end) = (from + found, from + found + word.len());
        let whole = !text[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match text.as_bytes().get(end) {
            Some(b'+') if whole => return Some(true),
            Some(b'-') if whole => return Some(false),
            _ => from = end,
        }
    }
    None
}

/// Values of Max_Payload_Size and of Max_Read_Request_Size.
fn payload(text: &str, word: &str) -> Option<u32> {
    number(text, word).filter(|n| n.is_power_of_two() && (128..=16384).contains(n))
}

fn acs(text: &str) -> Option<Acs> {
    Some(Acs {
        request_redirect: flag(text, "ReqRedir")?,
        completion_redirect: flag(text, "CmpltRedir").unwrap_or(false),
        upstream_forwarding: flag(text, "UpstreamFwd").unwrap_or(false),
        direct_translated: flag(text, "DirectTrans").unwrap_or(false),
    })
}

fn port(text: &str) -> Option<PortType> {
    // The longer names first: one is part of another.
    let names = [
        ("Root Complex Integrated Endpoint", PortType::Integrated),
        ("Root Complex Event Collector", PortType::Collector),
        ("PCI/PCI-X to PCI-Express Bridge", PortType::FromPci),
        ("PCI-Express to PCI/PCI-X Bridge", PortType::ToPci),
        ("Legacy Endpoint", PortType::LegacyEndpoint),
        ("Endpoint", PortType::Endpoint),
        ("Root Port", PortType::RootPort),
        ("Upstream Port", PortType::Upstream),
        ("Downstream Port", PortType::Downstream),
        // pciutils 2 and 3.0
        ("PCI/PCI-X Bridge", PortType::ToPci),
        ("PCI/PCI-X to PCI-Express", PortType::FromPci),
    ];
    names.iter().find(|(name, _)| text.contains(name)).map(|(_, port)| *port)
}

impl Reader {
    /// Whether lines may belong to a function.
    pub(crate) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// Begins a function.
    pub(crate) fn begin(&mut self, host: &mut Host, header: &Header, at: Place) {
        self.end(host);
        host.found(Form::Lspci, at);
        self.current = Some(header.address);
        let address = header.address;
        if let Some(class) = header.class {
            host.learn(address, "class", class, at, |f| &mut f.class);
        }
        if let Some(ids) = header.ids {
            host.learn(address, "ids", ids, at, |f| &mut f.ids);
        }
        let Some(function) = host.function(address, at) else { return };
        // Names come from the pci.ids of whoever made the dump: another edition's name is no contradiction.
        if let Some(name) = header.name {
            let _ = put(&mut function.name, clean(name), at);
        }
        if let Some(class) = header.class_name {
            let _ = put(&mut function.class_name, clean(class), at);
        }
    }

    /// Ends a function: what hex rows it had are decoded.
    pub(crate) fn end(&mut self, host: &mut Host) {
        let Some(address) = self.current.take() else { return };
        self.field = Field::None;
        self.capability = Capability::None;
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() {
            return;
        }
        let at = self.bytes_at;
        host.found(Form::Hex, at);
        let Some(function) = host.function(address, at) else { return };
        for what in Space::new(&bytes, at).decode(function) {
            let said = format!("{address}: the hex dump has another {what} than the text; the text is kept");
            host.note(Remark::Contradiction, said, at);
        }
    }

    /// Reads a line below a header; whether it belongs to the function.
    pub(crate) fn line(&mut self, host: &mut Host, line: &str, at: Place) -> bool {
        let line = line.trim();
        let Some(address) = self.current else { return false };
        if let Some((offset, bytes)) = config::row(line) {
            // Rows follow one another; a gap ends what can be decoded.
            if offset == self.bytes.len() {
                if offset == 0 {
                    self.bytes_at = at;
                }
                self.bytes.extend(bytes);
            }
            return true;
        }
        self.detail(host, address, line, at)
    }

    fn detail(&mut self, host: &mut Host, address: Address, line: &str, at: Place) -> bool {
        let Some((key, rest)) = key(line) else {
            if self.field != Field::None {
                self.field_of(host, address, line, at);
                return true;
            }
            return false;
        };
        let before = self.field;
        self.field = match key {
            "DevCap" => Field::DevCap,
            "DevCtl" => Field::DevCtl,
            "DevSta" => Field::DevSta,
            "LnkCap" => Field::LnkCap,
            "LnkCtl" => Field::LnkCtl,
            "LnkSta" => Field::LnkSta,
            "SltSta" => Field::SltSta,
            "LnkCap2" => Field::LnkCap2,
            "DevCtl2" => Field::DevCtl2,
            "LnkCtl2" => Field::LnkCtl2,
            // Stands within DevCtl2.
            "AtomicOpsCtl" => before,
            _ => Field::None,
        };
        if self.field != Field::None {
            self.field_of(host, address, rest, at);
            return true;
        }
        self.other(host, address, key, rest, at)
    }

    fn field_of(&mut self, host: &mut Host, address: Address, text: &str, at: Place) {
        let mut say = Say { host, address, at };
        match self.field {
            Field::DevCap => {
                say.of("MPS supported", payload(text, "MaxPayload "), |e| &mut e.mps_supported);
                say.of("extended tags supported", flag(text, "ExtTag"), |e| &mut e.extended_tags_supported);
            }
            Field::DevCtl => {
                say.of("MPS", payload(text, "MaxPayload "), |e| &mut e.mps);
                say.of("MRRS", payload(text, "MaxReadReq "), |e| &mut e.mrrs);
                say.of("relaxed ordering", flag(text, "RlxdOrd"), |e| &mut e.relaxed_ordering);
                say.of("extended tags", flag(text, "ExtTag"), |e| &mut e.extended_tags);
                say.of("no snoop", flag(text, "NoSnoop"), |e| &mut e.no_snoop);
            }
            Field::DevSta => say.moment(flag(text, "CorrErr"), |e| &mut e.correctable, |new, old| new & !old),
            Field::LnkCap => {
                say.of("link speed capability", speed(text), |e| &mut e.speed_capable);
                say.of("link width capability", width(text), |e| &mut e.width_capable);
            }
            Field::LnkCtl => say.of("RCB", number(text, "RCB ").filter(|n| [64, 128].contains(n)), |e| &mut e.rcb),
            Field::LnkSta => {
                say.moment(speed(text), |e| &mut e.speed, |new, old| new > old);
                say.of("link width", width(text), |e| &mut e.width);
                say.moment(flag(text, "DLActive"), |e| &mut e.active, |new, old| new & !old);
            }
            Field::SltSta => say.moment(flag(text, "PresDet"), |e| &mut e.present, |new, old| new & !old),
            Field::LnkCap2 => {
                let fastest = after(text, "Supported Link Speeds: ")
                    .and_then(|t| t.split(',').next())
                    .and_then(|t| generation(t.rsplit(['-', ' ']).next()?));
                say.of("supported link speeds", fastest, |e| &mut e.speed_supported);
            }
            Field::DevCtl2 => say.of("10-bit tags", flag(text, "10BitTagReq"), |e| &mut e.ten_bit_tags),
            Field::LnkCtl2 => {
                let target = after(text, "Target Link Speed: ").and_then(generation);
                say.moment(target, |e| &mut e.speed_target, |new, old| new > old);
            }
            Field::None => {}
        }
    }

    fn other(&mut self, host: &mut Host, address: Address, key: &str, rest: &str, at: Place) -> bool {
        match key {
            "Capabilities" => {
                self.capability = Capability::None;
                let name = rest.split_once("] ").map_or(rest, |(_, name)| name);
                if rest.contains("access denied") {
                    host.learn(address, "access", true, at, |f| &mut f.denied);
                } else if name.starts_with("Express") {
                    let mut say = Say { host, address, at };
                    say.of("port type", port(name), |e| &mut e.port);
                } else if name.starts_with("PCI-X") {
                    self.capability = Capability::PciX;
                    let bridge = name.contains("PCI-X bridge");
                    if let Some(function) = host.function(address, at) {
                        let pcix = function.pcix.get_or_insert_with(PciX::default);
                        let _ = put(&mut pcix.bridge, bridge, at);
                    }
                } else if name.starts_with("Power Management") {
                    self.capability = Capability::Power;
                } else if name.starts_with("Secondary PCI Express") {
                    self.capability = Capability::Secondary;
                }
            }
            "Bus" => {
                let hex = |word| after(rest, word).and_then(|t| u8::from_str_radix(t.get(..2)?, 16).ok());
                if let (Some(second), Some(last)) = (hex("secondary="), hex("subordinate=")) {
                    host.learn(address, "bus numbers", (second, last), at, |f| &mut f.buses);
                }
            }
            "NUMA node" => {
                if let Ok(node) = rest.trim().parse() {
                    host.learn(address, "NUMA node", node, at, |f| &mut f.node);
                }
            }
            "IOMMU group" => {
                if let Ok(group) = rest.trim().parse() {
                    host.learn(address, "IOMMU group", group, at, |f| &mut f.iommu_group);
                }
            }
            "Kernel driver in use" => host.learn(address, "driver", clean(rest), at, |f| &mut f.driver),
            "Status" if self.capability == Capability::Power => {
                let state = rest.trim().strip_prefix('D').and_then(|d| d.get(..1)?.parse().ok());
                if let (Some(state), Some(function)) = (state, host.function(address, at)) {
                    let _ = put(&mut function.power, state, at);
                }
            }
            // Before any capability: the header's own.
            "Status" if flag(rest, "Cap").is_some() => learn_clock(host, address, flag(rest, "66MHz"), at, false),
            "Secondary status" => learn_clock(host, address, flag(rest, "66MHz"), at, true),
            // Of lspci -v, which writes only what is set.
            "Flags" if rest.contains("devsel") => {
                learn_clock(host, address, Some(rest.contains("66MHz")), at, false);
            }
            "Command" | "Status" | "Secondary Status" if self.capability == Capability::PciX => {
                if let Some(pcix) = host.function(address, at).and_then(|f| f.pcix.as_mut()) {
                    pcix_line(pcix, key, rest, at);
                }
            }
            "ACSCap" => {
                if let Some(acs) = acs(rest) {
                    host.learn(address, "ACS capability", acs, at, |f| &mut f.acs_capable);
                }
            }
            "ACSCtl" => {
                if let Some(acs) = acs(rest) {
                    host.learn(address, "ACS control", acs, at, |f| &mut f.acs);
                }
            }
            "CESta" => corrected(host, address, rest, at),
            "LaneErrStat" if self.capability == Capability::Secondary => {
                // Lanes by number, or 0: "LaneErrStat: LaneErr at lane: 0 3".
                let lanes = rest.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
                let bits = match rest.contains("lane:") {
                    true => lanes.filter(|n| *n < 32).fold(0, |bits, n| bits | 1 << n),
                    false => 0,
                };
                if let Some(function) = host.function(address, at) {
                    let _ = put(&mut function.lane_errors, bits, at);
                }
            }
            _ => return KEYS.contains(&key),
        }
        true
    }
}

/// 66 MHz Capable of a function's status, or of a bridge's on its other side.
fn learn_clock(host: &mut Host, address: Address, capable: Option<bool>, at: Place, secondary: bool) {
    if let (Some(capable), Some(function)) = (capable, host.function(address, at)) {
        let slot = if secondary { &mut function.secondary_mhz66 } else { &mut function.mhz66 };
        let _ = put(slot, capable, at);
    }
}

/// Correctable errors of a function.
fn corrected(host: &mut Host, address: Address, text: &str, at: Place) {
    let mut kinds: BTreeMap<_, _> =
        CORRECTABLE.iter().filter(|(_, name)| flag(text, name) == Some(true)).map(|(_, name)| (*name, 1)).collect();
    // The same bit in pciutils before 3.6.
    if flag(text, "NonFatalErr") == Some(true) {
        kinds.insert("AdvNonFatalErr", 1);
    }
    host.corrected(address, kinds, "CESta", at);
}

fn pcix_line(pcix: &mut PciX, key: &str, rest: &str, at: Place) {
    fn learn<T: PartialEq>(slot: &mut Known<T>, value: Option<T>, at: Place) {
        if let Some(value) = value {
            let _ = put(slot, value, at);
        }
    }
    let bridge = pcix.bridge.as_ref().is_some_and(|b| b.value);
    // The secondary bus counts of a bridge; its own status is of the primary.
    if bridge == (key == "Secondary Status") && key != "Command" {
        learn(&mut pcix.wide, flag(rest, "64bit"), at);
        learn(&mut pcix.mhz133, flag(rest, "133MHz"), at);
    }
    if key == "Secondary Status" {
        // Modes by their clock (PCI-X 2.0, table 8-5): conventional, 66, 100, 133; double and quad data rate beyond.
        let modes = ["conv", "66MHz", "100MHz", "133MHz"];
        let mode =
            after(rest, "Freq=").and_then(|t| t.split(' ').next()).and_then(|t| modes.iter().position(|m| m == &t));
        learn(&mut pcix.frequency, mode.map(|m| m as u32), at);
    }
    if key == "Command" {
        learn(&mut pcix.read_count, number(rest, "RBC="), at);
        learn(&mut pcix.outstanding, number(rest, "OST="), at);
    }
}

fn speed(text: &str) -> Option<crate::protocol::pcie::Generation> {
    after(text, "Speed ").filter(|t| t.starts_with(|c: char| c.is_ascii_digit())).and_then(generation)
}

fn width(text: &str) -> Option<u8> {
    number(text, "Width x").filter(|w| *w <= 32).map(|w| w as u8)
}

/// Keys of lines that say nothing here, but are lspci's.
const KEYS: &[&str] = &[
    "Subsystem",
    "Control",
    "Status",
    "Latency",
    "Interrupt",
    "Region 0",
    "Region 1",
    "Region 2",
    "Region 3",
    "Region 4",
    "Region 5",
    "Flags",
    "Memory behind bridge",
    "I/O behind bridge",
    "Prefetchable memory behind bridge",
    "Secondary status",
    "BridgeCtl",
    "SltCap",
    "SltCtl",
    "RootCtl",
    "RootCap",
    "RootSta",
    "DevCap2",
    "LnkSta2",
    "UESta",
    "UEMsk",
    "UESvrt",
    "CEMsk",
    "AERCap",
    "HeaderLog",
    "Kernel modules",
    "Address",
    "Masking",
    "Vector table",
    "PBA",
    "AtomicOpsCap",
    "LnkCtl3",
    "Physical Slot",
    "DeviceName",
    "Bridge",
    "Arb",
    "Caps",
    "Ctrl",
    "Product Name",
];

/// `Key: rest` of a line; the key has no more than four words.
fn key(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let fits = key.len() <= 34 && !key.is_empty() && key.starts_with(|c: char| c.is_ascii_alphabetic());
    // "Transmit Margin: …" and "Compliance De-emphasis: …" go on with LnkCtl2; "Changed: …" with SltSta.
    let inside = ["Transmit Margin", "Compliance", "Completion Timeout"];
    (fits && !inside.iter().any(|i| key.starts_with(i)) && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then_some((key, rest.trim_start()))
}

/// Writes facts of the PCI Express capability.
struct Say<'a> {
    host: &'a mut Host,
    address: Address,
    at: Place,
}

impl Say<'_> {
    /// A fact that does not change while a host is up.
    fn of<T: PartialEq + Clone + std::fmt::Debug>(
        &mut self,
        what: &str,
        value: Option<T>,
        slot: impl FnOnce(&mut Express) -> &mut Known<T>,
    ) {
        if let Some(value) = value {
            self.host.learn(self.address, what, value, self.at, |f| slot(f.express.get_or_insert_default()));
        }
    }

    /// A fact of the moment: of two, the one that says more.
    fn moment<T: PartialEq + Copy>(
        &mut self,
        value: Option<T>,
        slot: impl FnOnce(&mut Express) -> &mut Known<T>,
        more: impl FnOnce(T, T) -> bool,
    ) {
        let (Some(value), Some(function)) = (value, self.host.function(self.address, self.at)) else { return };
        let slot = slot(function.express.get_or_insert_default());
        if slot.as_ref().is_none_or(|old| more(value, old.value)) {
            *slot = Some(Fact { value, at: self.at });
        }
    }
}
