//! What a device on a shared bus should reach: PCI and PCI-X, by the calculator of their transactions.
//!
//! The bridge says the mode of its bus where it has a PCI-X capability; else the bus is conventional PCI, of 33 or
//! 66 MHz, unless something on it cannot do the faster. How long bursts are and how fast targets answer no dump says,
//! so both are ranges.

use super::Topology;
use super::endpoints::Endpoint;
use super::rate::{Corner, Way};
use crate::diagnostic::Diagnostics;
use crate::estimate::wire::pci::{Answer, Question, wire};
use crate::import::host::{Address, Function, Known, value};
use crate::protocol::pci::Speed;

/// Bytes of one burst: a cache line, which is the least that bridges gather; some lines; what PCI-X's byte count holds.
/// Assumed.
const BURSTS: [(Corner, u64); 3] = [(Corner::Low, 64), (Corner::Typical, 512), (Corner::High, 4096)];

/// Which of three values is a corner's.
fn pick<T: Copy>(corner: Corner, [low, typical, high]: [T; 3]) -> T {
    match corner {
        Corner::Low => low,
        Corner::Typical => typical,
        Corner::High => high,
    }
}

impl Topology<'_> {
    /// The bus behind a bridge as the calculator names it. A bus of PCI-X runs in the mode that its bridge shows
    /// (PCI-X 2.0, 8.6.2.3); one of conventional PCI at 33 MHz and 32 bits (PCI 3.0, 1.1), at 66 MHz and 64 bits at
    /// most; CardBus has 32 bits and 33 MHz (PC Card Standard 8.0, volume 2, 5.1).
    fn bus_speed(&self, bridge: Address, corner: Corner) -> Option<Speed> {
        let pcix = self.host.functions.get(&bridge).and_then(|f| f.pcix.as_ref());
        let said = |bits: u32| format!("{bits}-bit");
        let wide = pcix.and_then(|p| value(&p.wide)).map(|w| if w { 64 } else { 32 });
        let text = match pcix.and_then(|p| value(&p.frequency)) {
            Some(1) => format!("pci-x 66 {}", said(wide.unwrap_or(64))),
            Some(2) => format!("pci-x 100 {}", said(wide.unwrap_or(64))),
            Some(3) => format!("pci-x 133 {}", said(wide.unwrap_or(64))),
            _ if self.host.functions.get(&bridge).is_some_and(Function::to_cardbus) => {
                format!("pci 33.33 {}", said(32))
            }
            _ => {
                let bits = wide.unwrap_or(pick(corner, [32, 32, 64]));
                let clock = if self.slow_clock(bridge).is_some() { "33.33" } else { "66.67" };
                format!("pci {} {}", pick(corner, ["33.33", "33.33", clock]), said(bits))
            }
        };
        Speed::parse(&text).ok()
    }

    /// Who keeps the bus behind a bridge at 33 MHz: the bridge, or a device on it, that cannot do 66 MHz grounds M66EN
    /// for all (PCI 3.0, 7.5.1). With the words of the dump, and where they stand.
    pub(crate) fn slow_clock(&self, bridge: Address) -> Option<String> {
        let line = |known: &Known<bool>, what: &str, whose: Address| {
            let fact = known.as_ref().filter(|f| !f.value)?;
            Some(format!("{}: 66MHz- in the {what} of {whose}", self.host.place(fact.at)))
        };
        let own = self.host.functions.get(&bridge).and_then(|f| line(&f.secondary_mhz66, "Secondary status", bridge));
        let on_it = |a: &Address| line(&self.host.functions.get(a)?.mhz66, "Status", *a);
        own.or_else(|| self.tree.children(bridge).iter().find_map(on_it))
    }

    /// What to call the bus behind a bridge.
    pub(crate) fn bus_name(&self, bridge: Address) -> String {
        let [low, high] = [Corner::Low, Corner::High].map(|c| self.bus_speed(bridge, c).map(|s| s.to_string()));
        match (low, high) {
            (Some(low), Some(high)) if low != high => format!("the shared bus behind {bridge}, {low} to {high}"),
            (Some(low), _) => format!("the shared bus behind {bridge}, {low}"),
            _ => format!("the shared bus behind {bridge}"),
        }
    }

    /// What the bus behind a bridge carries with a transfer on every clock, GB/s.
    pub(crate) fn bus_peak(&self, bridge: Address) -> Option<f64> {
        self.bus_speed(bridge, Corner::High).map(|s| s.peak().bytes() / 1e9)
    }

    fn burst(&self, endpoint: &Endpoint, way: Way, corner: Corner) -> u64 {
        let burst = BURSTS.iter().find(|b| b.0 == corner).map_or(64, |b| b.1);
        let pcix = self.host.functions.get(&endpoint.address).and_then(|f| f.pcix.as_ref());
        // A device of PCI-X says how long its reads are at most.
        let most = pcix.filter(|_| way == Way::Read).and_then(|p| value(&p.read_count));
        most.map_or(burst, |most| burst.min(u64::from(most.max(64))))
    }

    /// What a device gets of the bus behind a bridge while it has it alone, GB/s.
    pub(crate) fn bus_rate(&self, bridge: Address, endpoint: &Endpoint, way: Way, corner: Corner) -> Option<f64> {
        let question = Question {
            bus: self.bus_speed(bridge, corner)?.to_string(),
            burst: format!("{} B", self.burst(endpoint, way, corner)),
            decode: pick(corner, ["slow", "medium", "fast"]).into(),
            // From a read's request to its data: memory behind a bridge and a link. Assumed.
            delay: pick(corner, ["2 us", "500 ns", "250 ns"]).into(),
            dual: false,
        };
        let answer: Answer = wire(&mut Diagnostics::default(), &question)?;
        let bits = match (way, corner) {
            (Way::Write, _) => answer.rates.write,
            // At best other requests fill what one waits.
            (Way::Read, Corner::High) => answer.rates.read,
            (Way::Read, _) => answer.rates.read_alone,
        };
        Some(bits / 8e9)
    }
}
