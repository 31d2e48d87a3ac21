//! `wire`: the protocol calculator.

mod infiniband;
mod pci;
mod storage;

use crate::{ANSWERED, WRONG, output};
use clap::{Args, Subcommand};
use lanescope::diagnostic::{Diagnostics, Severity};
use lanescope::estimate::wire::{Answer, Question, ethernet, wire};
use lanescope::pens::chart::{Chart, Series};
use lanescope::pens::{self, Grid};
use lanescope::protocol::ethernet::MOST_QUANTA;
use lanescope::units::{Bytes, digits, human_rate, human_time};
use std::path::PathBuf;

/// One protocol each.
#[derive(Subcommand)]
pub(crate) enum Wire {
    /// A PCIe link: rates, waterfall, efficiency against payload
    Pcie(Pcie),
    /// An Ethernet link: rates, frames, pauses, headroom, efficiency against data
    Ethernet(Ethernet),
    /// A link of InfiniBand: packets of a message, message and payload rates, efficiency against size
    #[command(name = "infiniband", alias = "ib")]
    InfiniBand(infiniband::InfiniBand),
    /// A RoCE packet: InfiniBand's transport in Ethernet frames
    Roce(infiniband::Roce),
    /// ISA, EISA, VL-bus, PCI, PCI-X: peak rates; of PCI and PCI-X, the clocks of a burst
    Pci(pci::Pci),
    /// A Fibre Channel link: rates, frames, credits, SCSI commands, efficiency against payload
    #[command(alias = "fibre-channel")]
    Fc(storage::FibreChannel),
    /// A SAS link: rates, frames, SCSI commands with their connections, efficiency against size
    Sas(storage::Sas),
    /// A parallel SCSI bus: peak rates, how long a command holds it, efficiency against size
    Scsi(storage::Scsi),
}

#[derive(Args)]
pub(crate) struct Pcie {
    /// Generation: gen1 to gen7
    generation: String,
    /// Width: x1, x2, x4, x8, x12, x16, x32
    lanes: String,
    /// Payload of one TLP (MPS, for large transfers)
    #[arg(long, alias = "mps", default_value = "256 B")]
    payload: String,
    /// Header of requests: 3DW or 4DW
    #[arg(long, default_value = "4DW")]
    header: String,
    /// With the ECRC digest
    #[arg(long)]
    ecrc: bool,
    /// TLPs per Ack, or never
    #[arg(long, default_value = "4")]
    ack_every: String,
    /// TLPs per UpdateFC, or never
    #[arg(long, default_value = "4")]
    update_fc_every: String,
    /// Payload of one completion
    #[arg(long, default_value = "64 B")]
    completion: String,
    /// Bytes of one read request (MRRS)
    #[arg(long, default_value = "512 B")]
    request: String,
    /// Without SKP ordered sets
    #[arg(long)]
    no_ordered_sets: bool,
    /// One direction loaded; without it both, so that each carries the other's DLLPs
    #[arg(long)]
    one_way: bool,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub(crate) struct Ethernet {
    /// Rate of the MAC: 10 Mb/s to 1.6 Tb/s
    rate: String,
    /// MAC client data of one frame
    #[arg(long, default_value = "1500 B")]
    data: String,
    /// Length of the cable, for the headroom of PFC
    #[arg(long, default_value = "100 m")]
    length: String,
    /// How long a sender takes to heed a pause, for the headroom of PFC; without it, as long as 802.3 allows
    #[arg(long)]
    response: Option<String>,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
struct Form {
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV
    #[arg(long)]
    csv: bool,
    /// Write pictures to this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

pub(crate) fn main(a: &Wire) -> u8 {
    match a {
        Wire::Pcie(a) => pcie(a),
        Wire::Ethernet(a) => ethernet_link(a),
        Wire::InfiniBand(a) => infiniband::infiniband(a),
        Wire::Roce(a) => infiniband::roce(a),
        Wire::Pci(a) => pci::main(a),
        Wire::Fc(a) => storage::fibre_channel(a),
        Wire::Sas(a) => storage::sas(a),
        Wire::Scsi(a) => storage::scsi(a),
    }
}

/// `never` is a word in a scenario and needs its quotes.
fn every(text: &str) -> String {
    if text == "never" { "\"never\"".into() } else { text.to_owned() }
}

/// Nothing of an argument may break out of the scenario that it is put into.
fn harmless(text: &str) -> bool {
    !text.contains(['"', '\\', '\n', '#', '[', '=']) && text.len() < 60
}

/// Says what is wrong with a question by the options that were typed: (key, option, value). The scenario behind it
/// nobody has written.
fn refused(diagnostics: &Diagnostics, options: &[(&str, &str, &String)]) -> u8 {
    let mut said: Vec<String> = Vec::new();
    for d in diagnostics.sorted().into_iter().filter(|d| d.severity == Severity::Error) {
        let named = options
            .iter()
            .find_map(|(key, option, value)| Some((d.message.strip_prefix(key)?.strip_prefix(": ")?, option, value)));
        let what = match named {
            Some((message, option, value)) => format!("{option} {value:?}: {message}"),
            None => d.message.clone(),
        };
        let hint = d.hint.as_deref().filter(|h| !h.starts_with("lanescope schema"));
        let line = what + &hint.map_or(String::new(), |h| format!("; {h}"));
        if !said.contains(&line) {
            output::error(&line);
            said.push(line);
        }
    }
    WRONG
}

fn pcie(a: &Pcie) -> u8 {
    for text in
        [&a.generation, &a.lanes, &a.payload, &a.header, &a.ack_every, &a.update_fc_every, &a.completion, &a.request]
    {
        if !harmless(text) {
            output::error(&format!("{text:?} is not a value"));
            return WRONG;
        }
    }
    let question = Question {
        speed: format!("{} {}", a.generation.to_lowercase(), a.lanes.to_lowercase()),
        payload: a.payload.clone(),
        header: a.header.to_uppercase(),
        ecrc: a.ecrc,
        ack_every: every(&a.ack_every),
        update_fc_every: every(&a.update_fc_every),
        completion: a.completion.clone(),
        request: a.request.clone(),
        ordered_sets: !a.no_ordered_sets,
        both_ways: !a.one_way,
    };
    let mut diagnostics = Diagnostics::default();
    let Some(answer) = wire(&mut diagnostics, &question) else {
        let pcie = format!("{} {}", a.generation, a.lanes);
        return refused(
            &diagnostics,
            &[
                ("pcie", "GENERATION LANES", &pcie),
                ("header", "--header", &a.header),
                ("ack_every", "--ack-every", &a.ack_every),
                ("update_fc_every", "--update-fc-every", &a.update_fc_every),
                ("completion_size", "--completion", &a.completion),
                ("max_read_request", "--request", &a.request),
            ],
        );
    };
    if a.form.json {
        output::json(&answer);
    } else if a.form.csv {
        let head = ["payload_B", "efficiency", "with_dllps", "write_bps_one_way"].map(String::from).to_vec();
        let rows = answer.curve.iter().map(|p| {
            vec![p.payload.to_string(), p.efficiency.to_string(), p.with_dllps.to_string(), p.write.to_string()]
        });
        output::csv(&Grid { head, rows: rows.collect() });
    } else {
        text(&answer, a);
    }
    if let Some(dir) = &a.form.svg
        && let Err(e) = output::pictures(dir, &pictures(&answer))
    {
        output::error(&e);
        return WRONG;
    }
    ANSWERED
}

fn text(w: &Answer, a: &Pcie) {
    let paint = output::paint();
    let both = |bits: f64| format!("{} one way = {} MB/s", human_rate(bits), digits(bits / 8e6));
    let mut out = format!("{}{}{}\n", paint.strong, w.speed, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<18}{value}\n");
    line("raw", both(w.raw));
    line("after line coding", both(w.coded));
    line(
        "write TLP",
        format!(
            "{} payload + {} B = {} B on the wire, {} million/s",
            a.payload,
            w.tlp_overhead,
            w.tlp_bytes,
            digits(w.tlps_per_second / 1e6)
        ),
    );
    let alone =
        format!("both directions loaded, each with the other's DLLPs; {} with one flow", human_rate(w.write_alone));
    line("writes", if a.one_way { both(w.write) } else { format!("{}, {alone}", both(w.write)) });
    // What is used is said, and why it is not what was asked for.
    let used = Bytes(w.completion);
    let completions = match Bytes::parse(&a.completion) {
        Ok(asked) if asked > used => {
            let by = if Bytes::parse(&a.request) == Ok(used) { "the request" } else { "MPS" };
            format!("{used} ({asked} are cut at {by})")
        }
        _ => a.completion.clone(),
    };
    line("reads", format!("{}, requests of {}, completions of {completions}, nothing else", both(w.read), a.request));
    line("efficiency", format!("{} % of TLP and DLLP bytes are payload", digits(w.efficiency * 100.0)));
    if let Some(limit) = w.ack_limit_symbols {
        line("Ack limit", format!("{limit} symbol times of a lane"));
    }
    out.push('\n');
    pens::text::waterfall(&mut out, &w.direction, paint);
    output::print(&out);
    let head = ["payload", "efficiency", "with DLLPs", "writes, one way"].map(String::from).to_vec();
    let percent = |v: f64| format!("{} %", digits(v * 100.0));
    let rows = w
        .curve
        .iter()
        .map(|p| vec![format!("{} B", p.payload), percent(p.efficiency), percent(p.with_dllps), human_rate(p.write)]);
    output::table(&Grid { head, rows: rows.collect() });
}

fn pictures(w: &Answer) -> Vec<(String, String)> {
    let line = |name: &str, f: &dyn Fn(&lanescope::estimate::wire::Point) -> f64| Series {
        name: name.into(),
        points: w.curve.iter().map(|p| (p.payload as f64, f(p))).collect(),
    };
    let efficiency = [line("TLPs", &|p| p.efficiency * 100.0), line("TLPs and DLLPs", &|p| p.with_dllps * 100.0)];
    let rate = [line("writes", &|p| p.write / 1e9)];
    let chart = |title: &str, y: &str, series: &[Series]| {
        Chart { title, x: "payload of one TLP", y, log_x: true, x_unit_bytes: true, series }.svg()
    };
    vec![
        ("waterfall".into(), pens::svg::waterfall(&w.direction)),
        ("efficiency".into(), chart(&format!("{}: link efficiency", w.speed), "%", &efficiency)),
        ("payload-rate".into(), chart(&format!("{}: payload, one way", w.speed), "Gb/s", &rate)),
    ]
}

fn ethernet_link(a: &Ethernet) -> u8 {
    let question = ethernet::Question {
        rate: a.rate.clone(),
        data: a.data.clone(),
        length: a.length.clone(),
        response: a.response.clone(),
    };
    let mut diagnostics = Diagnostics::default();
    let Some(answer) = ethernet::wire(&mut diagnostics, &question) else {
        output::diagnostics(&diagnostics);
        return WRONG;
    };
    if a.form.json {
        output::json(&answer);
    } else if a.form.csv {
        let head = ["data_B", "wire_B", "frames_per_s", "efficiency", "payload_bps_one_way"].map(String::from).to_vec();
        let rows = answer.curve.iter().map(|p| {
            vec![
                p.data.to_string(),
                p.wire.to_string(),
                p.frames_per_second.to_string(),
                p.efficiency.to_string(),
                p.payload.to_string(),
            ]
        });
        output::csv(&Grid { head, rows: rows.collect() });
    } else {
        ethernet_text(&answer, a);
    }
    if let Some(dir) = &a.form.svg
        && let Err(e) = output::pictures(dir, &ethernet_pictures(&answer))
    {
        output::error(&e);
        return WRONG;
    }
    ANSWERED
}

fn ethernet_text(w: &ethernet::Answer, a: &Ethernet) {
    let paint = output::paint();
    let both = |bits: f64| format!("{} one way = {} MB/s", human_rate(bits), digits(bits / 8e6));
    let percent = |v: f64| format!("{} %", digits(v * 100.0));
    let mut out = format!("{}{} Ethernet{}\n", paint.strong, w.rate, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<18}{value}\n");
    line("raw", format!("{}, {}", both(w.shares.raw), w.coding));
    line("MAC", both(w.mac));
    line("frame", format!("{} B data, {} B with header and FCS, {} B on the wire", w.data, w.frame, w.wire));
    line("frames", format!("{} million/s, {} each", digits(w.frames_per_second / 1e6), human_time(w.frame_time)));
    line("payload", both(w.shares.payload));
    line("efficiency", format!("{} of the MAC's bytes are payload", percent(w.efficiency)));
    line("pause quantum", human_time(w.quantum));
    line("longest pause", format!("{}, {MOST_QUANTA} quanta", human_time(w.longest_pause)));
    if let Some(quanta) = w.pause_response {
        let time = human_time(w.quantum * quanta as f64);
        line("pause response", format!("at most {quanta} quanta = {time} (802.3, 31B.3.7)"));
    }
    line(
        "PFC headroom",
        format!(
            "{} B, {} of cable, response {}, such frames both ways",
            w.headroom,
            a.length.trim(),
            human_time(w.response)
        ),
    );
    out += "\n  of the raw bits\n";
    for (name, bits) in w.shares.entries().into_iter().filter(|e| e.1 > 0.0) {
        out += &format!("  {name:<18}{:<13}{}\n", human_rate(bits), percent(bits / w.shares.raw));
    }
    out.push('\n');
    output::print(&out);
    let head = ["data", "on the wire", "million/s", "efficiency", "payload, one way"].map(String::from).to_vec();
    let rows = w.curve.iter().map(|p| {
        vec![
            format!("{} B", p.data),
            format!("{} B", p.wire),
            digits(p.frames_per_second / 1e6),
            percent(p.efficiency),
            human_rate(p.payload),
        ]
    });
    output::table(&Grid { head, rows: rows.collect() });
}

fn ethernet_pictures(w: &ethernet::Answer) -> Vec<(String, String)> {
    let line = |name: &str, f: &dyn Fn(&ethernet::Point) -> f64| Series {
        name: name.into(),
        points: w.curve.iter().map(|p| (p.data as f64, f(p))).collect(),
    };
    let chart = |title: &str, y: &str, series: &[Series]| {
        Chart { title, x: "data of one frame", y, log_x: true, x_unit_bytes: true, series }.svg()
    };
    let efficiency = [line("frames", &|p| p.efficiency * 100.0)];
    let rate = [line("payload", &|p| p.payload / 1e9)];
    vec![
        ("efficiency".into(), chart(&format!("{} Ethernet: link efficiency", w.rate), "%", &efficiency)),
        ("payload-rate".into(), chart(&format!("{} Ethernet: payload, one way", w.rate), "Gb/s", &rate)),
    ]
}
