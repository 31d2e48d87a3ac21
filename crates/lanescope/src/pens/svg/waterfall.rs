//! Where the bits of one direction go: raw on the left, one step down for every loss, payload on the right.

use super::{CLOSE, INK, Method, Pen, Px, RULE, SOFT, escape, put, shorten, width};
use crate::result::{Idle, LinkReport, Medium, SimulatedLink};

/// Width of the sheet.
const SHEET: f64 = 900.0;
/// Left of the bars: the axis.
const LEFT: f64 = 62.0;
/// Right of the bars.
const RIGHT: f64 = 24.0;
/// Narrowest place of a bar with its labels; with more bars the sheet is wider.
const SLOT: f64 = 74.0;
/// Top and height of the field that bars are drawn in.
const FIELD: (f64, f64) = (104.0, 250.0);

/// A bar between two levels, as shares of raw.
struct Bar {
    label: &'static str,
    value: f64,
    from: f64,
    to: f64,
    fill: &'static str,
}

fn known(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// The colour of an entry: what the line and its protocol take, what flow control takes, idleness, and idleness that
/// something imposes.
fn fill(entry: &str, imposed: bool) -> &'static str {
    match entry {
        _ if imposed => "#b7a0a0",
        "idle" | "nothing to send" => "#cbd2d9",
        "line coding" | "ordered sets" | "flit CRC, FEC" => "#8f7fb8",
        "Ack DLLPs" | "UpdateFC DLLPs" | "control frames" => "#d9a441",
        _ => "#d9734a",
    }
}

/// The bars: raw, what is lost one after the other, and what is left, the last of the entries. Zero entries are left
/// out.
fn bars(raw: f64, entries: &[(&'static str, f64)], words: impl Fn(&'static str) -> &'static str) -> Vec<Bar> {
    let raw = known(raw);
    let share = |v: f64| if raw > 0.0 { (v / raw).clamp(0.0, 1.0) } else { 0.0 };
    let mut all = vec![Bar { label: "raw", value: raw, from: 1.0, to: 0.0, fill: "#52606d" }];
    let Some(((_, left), lost)) = entries.split_last() else { return all };
    let mut level = raw;
    for (label, value) in lost {
        let value = known(*value);
        if value == 0.0 {
            continue;
        }
        let imposed = Idle::ALL.iter().skip(1).any(|i| i.words() == *label);
        let (from, to) = (share(level), share(level - value));
        all.push(Bar { label: words(label), value, from, to, fill: fill(label, imposed) });
        level -= value;
    }
    let value = known(*left);
    all.push(Bar { label: "payload", value, from: share(value), to: 0.0, fill: "#1b7f79" });
    all
}

/// Gigabits per second with the digits that a bar's label has room for.
fn gigabits(bits: f64) -> String {
    let g = bits / 1e9;
    let places = match g.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        a if a >= 0.9995 => 2,
        a if a >= 0.0005 => 3,
        _ => return if g == 0.0 { "0".into() } else { "<0.001".into() },
    };
    let text = format!("{g:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn percent(share: f64) -> String {
    let p = share * 100.0;
    if p > 0.0 && p < 0.05 {
        "<0.1 %".into()
    } else if p >= 99.95 {
        "100 %".into()
    } else {
        format!("{p:.1} %")
    }
}

/// A label on as many lines as it needs where it is too wide, but three at most.
fn lines(label: &str, room: f64) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in label.split(' ') {
        match all.last_mut() {
            Some(line) if all_fits(line, word, room) => *line += &format!(" {word}"),
            Some(line) if word.len() < 3 => *line += &format!(" {word}"),
            _ => all.push(word.to_owned()),
        }
    }
    all
}

fn all_fits(line: &str, word: &str, room: f64) -> bool {
    width(line, 12.0) + width(word, 12.0) + 7.0 <= room
}

/// Draws one direction of a link as the estimate has it: a waterfall from its raw rate to its payload.
///
/// Each bar has its value in Gb/s and in percent of raw; entries of zero are left out. The steps add up because the
/// ledger does.
pub fn waterfall(link: &LinkReport) -> String {
    let medium = link.medium;
    let around = link.tlp_overhead.map_or(String::new(), |b| around(medium, b));
    let bars = bars(link.ledger.raw, &link.ledger.entries(), |e| medium.estimated(e));
    draw(link, Method::Estimate, link.ledger.payload, &around, &bars)
}

/// The same as it was simulated: every slot of the measured time, idle ones by their cause.
pub fn simulated_waterfall(link: &LinkReport, simulated: &SimulatedLink) -> String {
    let (medium, slots) = (link.medium, &simulated.slots);
    let mut around = match slots.data_tlps {
        0 => String::new(),
        n => around(medium, slots.framing as f64 / n as f64),
    };
    let (stop, go) = simulated.pauses;
    if stop + go > 0 {
        around += &format!(", pause frames: {stop} XOFF, {go} XON");
    }
    let bars = bars(link.ledger.raw, &simulated.rates(link.ledger.raw), |e| medium.simulated(e));
    draw(link, Method::Simulation, simulated.payload.mean, &around, &bars)
}

/// Bytes around a packet's payload.
fn around(medium: Medium, bytes: f64) -> String {
    if !bytes.is_finite() || bytes <= 0.0 {
        return String::new();
    }
    format!(", {} B around the payload of each {}", crate::units::digits(bytes), medium.unit())
}

fn draw(link: &LinkReport, method: Method, payload: f64, around: &str, bars: &[Bar]) -> String {
    let (raw, payload) = (known(link.ledger.raw), known(payload));
    let (top, tall) = FIELD;
    let foot = top + tall;
    let sheet = SHEET.max(LEFT + RIGHT + SLOT * bars.len() as f64);
    let slot = (sheet - LEFT - RIGHT) / bars.len() as f64;
    let wide = (slot * 0.66).min(92.0);
    let y = |share: f64| foot - tall * share;
    let title = match link.to.is_empty() {
        true => format!("{}: {}", link.name, link.from),
        false => format!("{}: {} → {}", link.name, link.from, link.to),
    };
    let deepest = bars.iter().map(|b| lines(b.label, slot - 6.0).len()).max().unwrap_or(1);
    let size = (sheet, foot + 47.0 + 15.0 * deepest.saturating_sub(1).max(1) as f64);
    let participle = method.participle();
    let mut out = super::open(size, size, &format!("{title}, where its bits go, {participle}"));
    put!(&mut out, "<g data-id=\"links.{}\">\n", escape(&link.name));
    Pen::new(18.0, INK).bold().write(&mut out, 24.0, 38.0, &format!("{}, {participle}", shorten(&title, 64)));
    let mut about = format!("{}, {} Gb/s raw, {} Gb/s payload", link.speed, gigabits(raw), gigabits(payload));
    if raw > 0.0 {
        about += &format!(" ({} of raw)", percent(payload / raw));
    }
    about += around;
    Pen::new(12.0, SOFT).write(&mut out, 24.0, 58.0, &shorten(&about, 125));
    for quarter in 0..=4 {
        let share = quarter as f64 / 4.0;
        let at = Px(y(share));
        put!(
            &mut out,
            "<path d=\"M{} {at}H{}\" stroke=\"{}\"/>\n",
            Px(LEFT),
            Px(sheet - RIGHT),
            if quarter == 0 { "#8796a5" } else { "#e8ecf0" }
        );
        Pen::new(11.0, SOFT).end().write(&mut out, LEFT - 8.0, y(share) + 4.0, &format!("{} %", quarter * 25));
    }
    for (i, bar) in bars.iter().enumerate() {
        let centre = LEFT + slot * (i as f64 + 0.5);
        let x = centre - wide / 2.0;
        let (high, low) = (y(bar.from), y(bar.to));
        let ends = i == 0 || i + 1 == bars.len();
        if i + 1 < bars.len() {
            // From where this bar ends to where the next begins.
            let level = if i == 0 { high } else { low };
            put!(
                &mut out,
                "<path d=\"M{} {}h{}\" stroke=\"{}\" stroke-dasharray=\"3 3\"/>\n",
                Px(x + wide),
                Px(level),
                Px(slot - wide),
                "#8796a5"
            );
        }
        put!(
            &mut out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>\n",
            Px(x),
            Px(high),
            Px(wide),
            Px((low - high).max(1.5)),
            bar.fill
        );
        let sign = if ends { "" } else { "− " };
        let strong = Pen::new(12.0, INK).middle();
        let value = if ends { strong.bold() } else { strong };
        // Two lines above the bar, in a slot of its own, so no label meets another; on white, so no rule runs through
        // them.
        put!(
            &mut out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"30\" fill=\"#ffffff\"/>\n",
            Px(centre - slot / 2.0 + 3.0),
            Px(high - 32.0),
            Px(slot - 6.0)
        );
        value.write(&mut out, centre, high - 20.0, &format!("{sign}{} Gb/s", gigabits(bar.value)));
        let of = if raw > 0.0 { percent(bar.value / raw) } else { "–".into() };
        Pen::new(11.0, SOFT).middle().write(&mut out, centre, high - 6.0, &of);
        for (n, line) in lines(bar.label, slot - 6.0).into_iter().enumerate() {
            value.write(&mut out, centre, foot + 20.0 + n as f64 * 15.0, &line);
        }
    }
    put!(&mut out, "<path d=\"M{} {}V{}\" stroke=\"{RULE}\"/>\n</g>\n", Px(LEFT), Px(top), Px(foot));
    out + CLOSE
}

#[cfg(test)]
mod tests {
    use super::super::tests::well_formed;
    use super::*;
    use crate::result::Ledger;

    fn link(ledger: Ledger) -> LinkReport {
        LinkReport {
            name: "up<link>".into(),
            from: "sw".into(),
            to: "host".into(),
            medium: crate::result::Medium::Pcie,
            speed: "gen3 x4".into(),
            payload: crate::result::Ranged { typical: ledger.payload, slower: ledger.payload, faster: ledger.payload },
            ledger,
            tlps: 1e7,
            tlp_overhead: Some(24.0),
        }
    }

    const LEDGER: Ledger = Ledger {
        raw: 32e9,
        line_coding: 0.492e9,
        ordered_sets: 0.084e9,
        flits: 0.0,
        gap: 0.0,
        framing: 2.68e9,
        address: 0.0,
        waits: 0.0,
        retries: 0.0,
        turnarounds: 0.0,
        requests: 0.0,
        control: 0.0,
        acks: 0.07e9,
        update_fc: 0.02e9,
        payload: 28.6e9,
        idle: 0.054e9,
    };

    #[test]
    fn every_loss_is_a_step_and_zeros_are_left_out() {
        let svg = waterfall(&link(LEDGER));
        well_formed(&svg);
        for text in [
            "32 Gb/s<",
            "− 0.492 Gb/s<",
            "− 2.68 Gb/s<",
            "28.6 Gb/s<",
            "89.4 %",
            "up&lt;link&gt;: sw → host",
            ">headers,<",
            ">framing<",
            ">idle<",
        ] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(!svg.contains("flit") && !svg.contains("read requests"));
    }

    #[test]
    fn steps_end_where_payload_begins() {
        let bars = bars(LEDGER.raw, &LEDGER.entries(), |e| e);
        assert!(bars.windows(2).skip(1).rev().skip(1).all(|w| (w[0].to - w[1].from).abs() < 1e-12));
        let [.., last, payload] = bars.as_slice() else { panic!("bars") };
        assert!((last.to - payload.from).abs() < 1e-9);
    }

    #[test]
    fn nonsense_is_drawn_without_a_panic() {
        well_formed(&waterfall(&link(Ledger::default())));
        well_formed(&waterfall(&link(Ledger { raw: f64::NAN, idle: f64::INFINITY, payload: -1.0, ..LEDGER })));
        well_formed(&waterfall(&link(Ledger { raw: 1.0, idle: 1e300, ..LEDGER })));
    }

    #[test]
    fn values_have_few_digits() {
        assert_eq!(
            [504.12e9, 63.02e9, 7.876e9, 0.0512e9, 1e3, 0.0].map(gigabits),
            ["504", "63", "7.88", "0.051", "<0.001", "0"]
        );
    }
}
