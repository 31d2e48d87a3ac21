//! `wire infiniband` and `wire roce`: messages of one operation, packet by packet.

use super::Form;
use crate::{ANSWERED, WRONG, output};
use clap::Args;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::wire::infiniband::{Answer, Kind, Point, Question, Way, wire};
use lanescope::pens::Grid;
use lanescope::pens::chart::{Chart, Series};
use lanescope::protocol::infiniband::Carrier;
use lanescope::units::{Bytes, digits, human_rate};

#[derive(Args)]
pub(crate) struct InfiniBand {
    /// Speed and width: sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr or xdr; 1x, 2x, 4x, 8x or 12x
    #[arg(required = true, num_args = 1..=2, value_names = ["SPEED", "WIDTH"])]
    rate: Vec<String>,
    /// Largest payload of a packet
    #[arg(long, default_value = "2048 B")]
    mtu: String,
    /// With a global route header: to another subnet
    #[arg(long)]
    grh: bool,
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub(crate) struct Roce {
    /// Rate of the MAC: 10 Mb/s to 1.6 Tb/s
    rate: String,
    /// Largest payload of a packet; the frame is larger
    #[arg(long, default_value = "1024 B")]
    mtu: String,
    /// RoCE v1: a global route header in place of IP and UDP
    #[arg(long, conflicts_with = "ipv6")]
    v1: bool,
    /// Over IPv6
    #[arg(long)]
    ipv6: bool,
    #[command(flatten)]
    load: Load,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
struct Load {
    /// What messages do: send, write or read
    #[arg(long, default_value = "write")]
    operation: String,
    /// Bytes of one message
    #[arg(long, default_value = "64 KiB")]
    size: String,
    /// Transport service: rc, uc, ud or xrc
    #[arg(long, default_value = "rc")]
    service: String,
    /// With immediate data
    #[arg(long)]
    immediate: bool,
}

pub(super) fn infiniband(a: &InfiniBand) -> u8 {
    answer(a.rate.join(" "), Carrier::InfiniBand { grh: a.grh }, &a.mtu, &a.load, &a.form)
}

pub(super) fn roce(a: &Roce) -> u8 {
    let carrier = if a.v1 { Carrier::RoceV1 } else { Carrier::RoceV2 { ipv6: a.ipv6 } };
    answer(a.rate.clone(), carrier, &a.mtu, &a.load, &a.form)
}

fn answer(rate: String, carrier: Carrier, mtu: &str, load: &Load, form: &Form) -> u8 {
    let question = Question {
        rate,
        carrier,
        mtu: mtu.to_owned(),
        operation: load.operation.clone(),
        service: load.service.clone(),
        immediate: load.immediate,
        size: load.size.clone(),
    };
    let mut diagnostics = Diagnostics::default();
    let Some(w) = wire(&mut diagnostics, &question) else {
        output::diagnostics(&diagnostics);
        return WRONG;
    };
    if form.json {
        output::json(&w);
    } else if form.csv {
        let head =
            ["size_B", "packets", "wire_B", "messages_per_s", "efficiency", "payload_bps", "payload_bps_both_ways"];
        let row = |p: &Point| {
            let numbers = [p.messages_per_second, p.efficiency, p.payload, p.payload_both_ways];
            let whole = [p.size, p.packets, p.wire].map(|n| n.to_string());
            whole.into_iter().chain(numbers.map(|n| n.to_string())).collect()
        };
        output::csv(&Grid { head: head.map(String::from).to_vec(), rows: w.curve.iter().map(row).collect() });
    } else {
        text(&w);
    }
    if let Some(dir) = &form.svg
        && let Err(e) = output::pictures(dir, &pictures(&w))
    {
        output::error(&e);
        return WRONG;
    }
    ANSWERED
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

fn both(bits: f64) -> String {
    format!("{} = {} MB/s", human_rate(bits), digits(bits / 8e6))
}

fn text(w: &Answer) {
    let paint = output::paint();
    let mut out = format!("{}{}, {}{}\n", paint.strong, w.rate, w.carrier, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<23}{value}\n");
    let raw = w.shares.first().map_or(0.0, |s| s.bits);
    line("raw", format!("{} one way, {}", both(raw), w.coding));
    line("after line coding", format!("{} one way", both(w.coded)));
    line("message", format!("{} of {}, {}, MTU {} B", w.operation, Bytes(w.size), w.service, w.mtu));
    line("data direction", way(&w.with_data));
    line("other direction", if w.against.packets == 0 { "nothing".into() } else { way(&w.against) });
    if let Some(every) = w.flow_control_every {
        line(
            "flow control",
            format!("a packet of 8 B every {every} B at least, each way and virtual lane; one lane counted"),
        );
    }
    let rates = |bits, per_second| format!("{}, {} messages/s", both(bits), digits(per_second));
    line("payload, one way", rates(w.payload, w.messages_per_second));
    line("payload, both ways", format!("{} each", rates(w.payload_both_ways, w.messages_per_second_both_ways)));
    line("efficiency", format!("{} of the bytes in the data direction are payload", percent(w.efficiency)));
    out += "\n  packets of a message\n";
    let longest = w.packets.iter().map(|k| label(k).chars().count()).max().unwrap_or(0);
    for k in &w.packets {
        let parts: Vec<String> = k.parts.iter().map(|p| format!("{} {}", p.name, p.bytes)).collect();
        let blocks = if k.blocks > 0 { format!(" ({})", count(k.blocks, "block")) } else { String::new() };
        out += &format!("  {:<longest$}  {} B{blocks}: {}\n", label(k), k.wire, parts.join(", "));
    }
    out += "\n  of the raw bits, one way\n";
    for s in w.shares.iter().skip(1) {
        out += &format!("  {:<23}{:<13}{}\n", s.name, human_rate(s.bits), percent(s.bits / raw));
    }
    out.push('\n');
    output::print(&out);
    let head = ["message", "packets", "on the wire", "messages/s", "efficiency", "payload, one way", "both ways, each"];
    let row = |p: &Point| {
        vec![
            Bytes(p.size).to_string(),
            p.packets.to_string(),
            format!("{} B", p.wire),
            digits(p.messages_per_second),
            percent(p.efficiency),
            format!("{} MB/s", digits(p.payload / 8e6)),
            format!("{} MB/s", digits(p.payload_both_ways / 8e6)),
        ]
    };
    output::table(&Grid { head: head.map(String::from).to_vec(), rows: w.curve.iter().map(row).collect() });
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn way(w: &Way) -> String {
    let blocks = if w.blocks > 0 { format!(", {} of credit", count(w.blocks, "block")) } else { String::new() };
    format!("{} B in {}{blocks}", w.wire, count(w.packets, "packet"))
}

fn label(k: &Kind) -> String {
    if k.count == 1 { k.name.clone() } else { format!("{} x {}", k.count, k.name) }
}

fn pictures(w: &Answer) -> Vec<(String, String)> {
    type Line = (&'static str, fn(&Point) -> f64);
    let chart = |title: &str, y: &str, lines: &[Line]| {
        let series = |(name, f): &Line| {
            let points = w.curve.iter().map(|p| (p.size as f64, f(p))).collect();
            Series { name: (*name).into(), points }
        };
        let series: Vec<Series> = lines.iter().map(series).collect();
        let title = format!("{}, {}: {title}", w.rate, w.operation);
        Chart { title: &title, x: "bytes of a message", y, log_x: true, x_unit_bytes: true, series: &series }.svg()
    };
    let efficiency: [Line; 1] = [("packets", |p| p.efficiency * 100.0)];
    let rate: [Line; 2] = [("one way", |p| p.payload / 8e6), ("both ways, each", |p| p.payload_both_ways / 8e6)];
    vec![
        ("efficiency".into(), chart("payload of the bytes in the data direction", "%", &efficiency)),
        ("payload-rate".into(), chart("payload", "MB/s", &rate)),
    ]
}
