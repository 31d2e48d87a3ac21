//! `wire pci`: parallel buses, all of them by their peaks, one of them by the clocks of a burst.

use super::Form;
use crate::{ANSWERED, WRONG, output};
use clap::Args;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::wire::pci::{Answer, Point, Question, Transaction, named, wire};
use lanescope::pens::Grid;
use lanescope::pens::chart::{Chart, Series};
use lanescope::protocol::pci::{BUSES, Bus};
use lanescope::units::digits;

#[derive(Args)]
pub(crate) struct Pci {
    /// One bus, "pci-x 133 64-bit" or pci-x-133; without it all
    bus: Option<String>,
    /// Bytes of one burst
    #[arg(long, default_value = "4 KiB")]
    burst: String,
    /// How fast targets answer: fast, medium or slow (A, B or C of PCI-X)
    #[arg(long, default_value = "medium")]
    decode: String,
    /// From a read's request until its data are ready, in clocks or time
    #[arg(long, default_value = "60 clocks")]
    delay: String,
    /// 64-bit addresses: a dual address cycle
    #[arg(long)]
    dual: bool,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn main(a: &Pci) -> u8 {
    let (Some(bus), pictures) = (&a.bus, a.form.svg.is_some()) else { return list(a, BUSES.iter().collect()) };
    // Of what is older than PCI, only the peak is known.
    if let (Some(old), None, false) = (Bus::named(bus), named(bus), pictures) {
        return list(a, vec![old]);
    }
    let question = Question {
        bus: bus.clone(),
        burst: a.burst.clone(),
        decode: a.decode.clone(),
        delay: a.delay.clone(),
        dual: a.dual,
    };
    let mut diagnostics = Diagnostics::default();
    let Some(answer) = wire(&mut diagnostics, &question) else {
        output::diagnostics(&diagnostics);
        return WRONG;
    };
    if a.form.json {
        output::json(&answer);
    } else if a.form.csv {
        output::csv(&curve(&answer));
    } else {
        text(&answer);
    }
    if let Some(dir) = &a.form.svg
        && let Err(e) = output::pictures(dir, &drawn(&answer))
    {
        output::error(&e);
        return WRONG;
    }
    ANSWERED
}

fn list(a: &Pci, list: Vec<&Bus>) -> u8 {
    if a.form.json {
        let bus = |b: &&Bus| {
            serde_json::json!({
                "bus": b.name, "width_bits": b.width_bits, "peak_bps_shared_by_both_directions": b.peak().bits(),
                "source": b.source,
            })
        };
        let list: Vec<_> = list.iter().map(bus).collect();
        output::json(&list);
        return ANSWERED;
    }
    if a.form.csv {
        let head = ["bus", "width_bits", "peak_bps_both_directions_together", "source"].map(String::from).to_vec();
        let rows = list.iter().map(|b| {
            vec![b.name.to_owned(), b.width_bits.to_string(), b.peak().bits().to_string(), b.source.to_owned()]
        });
        output::csv(&Grid { head, rows: rows.collect() });
        return ANSWERED;
    }
    let head = ["bus", "width", "peak, both directions together", "source"].map(String::from).to_vec();
    let rows = list.iter().map(|b| {
        vec![
            b.name.to_owned(),
            format!("{} bit", b.width_bits),
            format!("{} MB/s", digits(b.peak().bytes() / 1e6)),
            b.source.to_owned(),
        ]
    });
    output::table(&Grid { head, rows: rows.collect() });
    ANSWERED
}

fn curve(w: &Answer) -> Grid {
    let head = [
        "burst_B",
        "write_clocks",
        "write_efficiency",
        "write_bps",
        "read_clocks",
        "read_efficiency",
        "read_bps",
        "read_alone_bps",
    ];
    let row = |p: &Point| {
        vec![
            p.burst.to_string(),
            p.write_clocks.to_string(),
            p.write_efficiency.to_string(),
            p.write.to_string(),
            p.read_clocks.to_string(),
            p.read_efficiency.to_string(),
            p.read.to_string(),
            p.read_alone.to_string(),
        ]
    };
    Grid { head: head.map(String::from).to_vec(), rows: w.curve.iter().map(row).collect() }
}

/// `516 clocks: 1 address, 1 attributes, …`
fn phases(t: &Transaction) -> String {
    let some = t.entries().into_iter().filter(|e| e.1 > 0);
    let list: Vec<String> = some.map(|(name, clocks)| format!("{clocks} {name}")).collect();
    format!("{} clocks: {}", t.total, list.join(", "))
}

fn text(w: &Answer) {
    let paint = output::paint();
    let rate = |bits: f64| format!("{} MB/s", digits(bits / 8e6));
    let percent = |v: f64| format!("{} %", digits(v * 100.0));
    let mut out = format!("{}{}{}, shared by all masters and both directions\n", paint.strong, w.bus, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<18}{value}\n");
    line("clock", format!("{} MHz", digits(w.clock / 1e6)));
    line("peak", rate(w.peak));
    line("burst", format!("{} B", w.burst));
    line("write", phases(&w.write));
    if w.waited {
        line("read", format!("{}, while the target waits for its data", phases(&w.data)));
    } else {
        line("read, request", phases(&w.request));
        line("read, delay", format!("{} clocks", w.delay));
        line("read, data", phases(&w.data));
    }
    line(
        "writes",
        format!("{}, end to end: {} of the clocks are data", rate(w.rates.write), percent(w.rates.write_efficiency)),
    );
    let uncut = "if others fill the delay and no latency timer cuts a burst";
    line("reads", format!("{}, {uncut}: {}", rate(w.rates.read), percent(w.rates.read_efficiency)));
    let again = if w.bus.starts_with("pci ") && !w.waited {
        "; in a run it asks again every few clocks, and may find its data so much later"
    } else {
        ""
    };
    line("reads, alone", format!("{}, one at a time{again}", rate(w.rates.read_alone)));
    out.push('\n');
    output::print(&out);
    let head = ["burst", "write", "efficiency", "writes", "read", "efficiency", "reads", "reads, alone"];
    let rows = w.curve.iter().map(|p| {
        vec![
            format!("{} B", p.burst),
            format!("{} clocks", p.write_clocks),
            percent(p.write_efficiency),
            rate(p.write),
            format!("{} clocks", p.read_clocks),
            percent(p.read_efficiency),
            rate(p.read),
            rate(p.read_alone),
        ]
    });
    output::table(&Grid { head: head.map(String::from).to_vec(), rows: rows.collect() });
}

fn drawn(w: &Answer) -> Vec<(String, String)> {
    let line = |name: &str, f: &dyn Fn(&Point) -> f64| Series {
        name: name.into(),
        points: w.curve.iter().map(|p| (p.burst as f64, f(p))).collect(),
    };
    let chart = |title: &str, y: &str, series: &[Series]| {
        Chart { title, x: "bytes of one burst", y, log_x: true, x_unit_bytes: true, series }.svg()
    };
    let efficiency = [line("writes", &|p| p.write_efficiency * 100.0), line("reads", &|p| p.read_efficiency * 100.0)];
    let rate = [
        line("writes", &|p| p.write / 8e6),
        line("reads, the delay filled", &|p| p.read / 8e6),
        line("reads, one at a time", &|p| p.read_alone / 8e6),
    ];
    vec![
        ("efficiency".into(), chart(&format!("{}: clocks with data", w.bus), "%", &efficiency)),
        ("payload-rate".into(), chart(&format!("{}: payload", w.bus), "MB/s", &rate)),
    ]
}
