//! `wire fc`, `wire sas` and `wire scsi`: what storage goes over.

use super::Form;
use crate::{ANSWERED, WRONG, output};
use clap::Args;
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::wire::{fibre_channel, sas, scsi};
use lanescope::pens::Grid;
use lanescope::pens::chart::{Chart, Series};
use lanescope::protocol::scsi::BUSES;
use lanescope::units::{Bytes, digits, human_rate, human_time};

#[derive(Args)]
pub(crate) struct FibreChannel {
    /// Speed: 1GFC, 2GFC, 4GFC, 8GFC, 16GFC or 32GFC
    rate: String,
    /// Payload of one frame
    #[arg(long, default_value = "2048 B")]
    data: String,
    /// Optional headers in the data field of one frame
    #[arg(long, default_value = "0 B")]
    optional: String,
    /// Length of the cable, for the credits
    #[arg(long, default_value = "50 m")]
    length: String,
    /// From a frame's end to the moment when its buffer is free, for the credits
    #[arg(long, default_value = "0 ns")]
    response: String,
    /// Buffer-to-buffer credits that there are: what do they allow?
    #[arg(long)]
    credits: Option<String>,
    /// Bytes of one SCSI command
    #[arg(long, default_value = "64 KiB")]
    transfer: String,
    /// What one FCP_XFER_RDY of a write asks for; all at once without it
    #[arg(long)]
    burst: Option<String>,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub(crate) struct Sas {
    /// Speed: 1.5G, 3G, 6G, 12G or 22.5G
    rate: String,
    /// Information unit of one DATA frame
    #[arg(long, default_value = "1024 B")]
    data: String,
    /// Bytes of one SCSI command
    #[arg(long, default_value = "64 KiB")]
    size: String,
    /// For how long an opened connection carries nothing: turns of both ends
    #[arg(long, default_value = "1 us")]
    connection: String,
    #[command(flatten)]
    form: Form,
}

#[derive(Args)]
pub(crate) struct Scsi {
    /// One bus, e.g. ultra320; without it the peak rates of all
    bus: Option<String>,
    /// Bytes of one command
    #[arg(long, default_value = "64 KiB")]
    size: String,
    /// Most bytes of one connection; all at once without it
    #[arg(long)]
    burst: Option<String>,
    /// A write instead of a read
    #[arg(long)]
    write: bool,
    /// One byte of a message, command or status by asynchronous handshake [default: 200 ns]
    #[arg(long, value_name = "TIME")]
    byte: Option<String>,
    /// How long a selected device takes to answer [default: 1 us]
    #[arg(long, value_name = "TIME")]
    response: Option<String>,
    /// Without queue tags
    #[arg(long)]
    untagged: bool,
    /// The target keeps the bus from command to status
    #[arg(long)]
    no_disconnect: bool,
    /// Status comes with a connection of its own
    #[arg(long)]
    status_alone: bool,
    /// Command and status as information units (always on ultra320)
    #[arg(long)]
    packetized: bool,
    /// Quick arbitration and selection (always on ultra320)
    #[arg(long)]
    qas: bool,
    #[command(flatten)]
    form: Form,
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

fn both(bits: f64) -> String {
    format!("{} = {} MB/s", human_rate(bits), digits(bits / 8e6))
}

fn grid<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> Grid {
    Grid { head: head.map(String::from).to_vec(), rows: rows.map(|r| r.to_vec()).collect() }
}

fn chart(title: &str, x: &str, y: &str, name: &str, points: impl Iterator<Item = (f64, f64)>) -> String {
    let series = [Series { name: name.into(), points: points.collect() }];
    Chart { title, x, y, log_x: true, x_unit_bytes: true, series: &series }.svg()
}

fn pictures(form: &Form, pictures: &[(String, String)]) -> u8 {
    if let Some(dir) = &form.svg
        && let Err(e) = output::pictures(dir, pictures)
    {
        output::error(&e);
        return WRONG;
    }
    ANSWERED
}

pub(super) fn fibre_channel(a: &FibreChannel) -> u8 {
    let question = fibre_channel::Question {
        rate: a.rate.clone(),
        data: a.data.clone(),
        optional: a.optional.clone(),
        length: a.length.clone(),
        response: a.response.clone(),
        credits: a.credits.clone(),
        transfer: a.transfer.clone(),
        burst: a.burst.clone(),
    };
    let mut diagnostics = Diagnostics::default();
    let Some(w) = fibre_channel::wire(&mut diagnostics, &question) else {
        output::diagnostics(&diagnostics);
        return WRONG;
    };
    if a.form.json {
        output::json(&w);
    } else if a.form.csv {
        let head = ["data_B", "wire_B", "frames_per_s", "efficiency", "payload_bps_one_way", "credits"];
        output::csv(&grid(
            head,
            w.curve.iter().map(|p| {
                [
                    p.data.to_string(),
                    p.wire.to_string(),
                    p.frames_per_second.to_string(),
                    p.efficiency.to_string(),
                    p.payload.to_string(),
                    p.credits.to_string(),
                ]
            }),
        ));
    } else {
        fibre_channel_text(&w, a);
    }
    let line = |title: &str, y, name, f: fn(&fibre_channel::Point) -> f64| {
        let points = w.curve.iter().map(|p| (p.data as f64, f(p)));
        chart(&format!("{}: {title}", w.rate), "payload of one frame", y, name, points)
    };
    pictures(
        &a.form,
        &[
            ("efficiency".into(), line("link efficiency", "%", "frames", |p| p.efficiency * 100.0)),
            ("payload-rate".into(), line("payload, one way", "MB/s", "payload", |p| p.payload / 8e6)),
        ],
    )
}

pub(super) fn sas(a: &Sas) -> u8 {
    let question = sas::Question {
        rate: a.rate.clone(),
        data: a.data.clone(),
        size: a.size.clone(),
        connection: a.connection.clone(),
    };
    let mut diagnostics = Diagnostics::default();
    let Some(w) = sas::wire(&mut diagnostics, &question) else {
        output::diagnostics(&diagnostics);
        return WRONG;
    };
    if a.form.json {
        output::json(&w);
    } else if a.form.csv {
        let head = ["data_B", "frame_B", "frames_per_s", "efficiency", "payload_bps_one_way"];
        output::csv(&grid(
            head,
            w.curve.iter().map(|p| {
                [
                    p.data.to_string(),
                    p.frame.to_string(),
                    p.frames_per_second.to_string(),
                    p.efficiency.to_string(),
                    p.payload.to_string(),
                ]
            }),
        ));
    } else {
        sas_text(&w);
    }
    let line = |title: &str, y, name, f: fn(&sas::Point) -> f64| {
        let points = w.curve.iter().map(|p| (p.data as f64, f(p)));
        chart(&format!("SAS {}: {title}", w.rate), "data of one frame", y, name, points)
    };
    pictures(
        &a.form,
        &[
            ("efficiency".into(), line("link efficiency", "%", "frames", |p| p.efficiency * 100.0)),
            ("payload-rate".into(), line("payload, one way", "MB/s", "payload", |p| p.payload / 8e6)),
        ],
    )
}

fn sas_text(w: &sas::Answer) {
    let paint = output::paint();
    let one_way = |bits: f64| format!("{} one way = {} MB/s", human_rate(bits), digits(bits / 8e6));
    let mut out = format!("{}SAS {}{}\n", paint.strong, w.rate, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<19}{value}\n");
    line("raw", format!("{}, {}", one_way(w.raw), w.coding));
    line("after line coding", one_way(w.coded));
    line("frame", format!("{} B data, {} B from SOF to EOF", w.data, w.frame));
    line("frames", format!("{}/s, {} each", digits(w.frames_per_second), human_time(w.frame_time)));
    line("payload", one_way(w.payload));
    line("efficiency", format!("{} of the bytes on the wire are data", percent(w.efficiency)));
    let mut command = |name: &str, c: &sas::Command| {
        line(
            &format!("SCSI {name}"),
            format!(
                "{}: {} B in {} to the target, {} B in {} back, {} connections; at most {}/s, {} MB/s",
                Bytes(c.bytes),
                c.to_target,
                frames(c.frames_to_target),
                c.to_initiator,
                frames(c.frames_to_initiator),
                c.connections,
                digits(c.per_second),
                digits(c.payload / 8e6)
            ),
        );
    };
    command("read", &w.read);
    command("write", &w.write);
    out.push('\n');
    output::print(&out);
    output::table(&grid(
        ["data", "frame", "frames/s", "efficiency", "payload, one way"],
        w.curve.iter().map(|p| {
            [
                format!("{} B", p.data),
                format!("{} B", p.frame),
                digits(p.frames_per_second),
                percent(p.efficiency),
                format!("{} MB/s", digits(p.payload / 8e6)),
            ]
        }),
    ));
}

fn fibre_channel_text(w: &fibre_channel::Answer, a: &FibreChannel) {
    let paint = output::paint();
    let one_way = |bits: f64| format!("{} one way = {} MB/s", human_rate(bits), digits(bits / 8e6));
    let mut out = format!("{}{}{}\n", paint.strong, w.rate, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<19}{value}\n");
    line("raw", format!("{}, {}", one_way(w.shares.raw), w.coding));
    line("after line coding", one_way(w.coded));
    line("frame", format!("{} B payload, {} B from SOF to EOF, {} B on the wire", w.data, w.frame, w.wire));
    line("frames", format!("{}/s, {} each", digits(w.frames_per_second), human_time(w.frame_time)));
    line("payload", one_way(w.shares.payload));
    line("efficiency", format!("{} of the bytes on the wire are payload", percent(w.efficiency)));
    line(
        "credits",
        format!(
            "{} ({} when such frames go both ways), {} of cable, response {}",
            w.credits,
            w.credits_both_ways,
            a.length.trim(),
            a.response.trim()
        ),
    );
    if let Some(g) = &w.given {
        let name = format!("with {} credit{}", g.credits, if g.credits == 1 { "" } else { "s" });
        let two = percent(g.used_both_ways);
        line(&name, format!("{}, {} of the wire ({two} both ways)", one_way(g.payload), percent(g.used)));
    }
    let mut command = |name: &str, c: &fibre_channel::Command| {
        line(
            &format!("SCSI {name}"),
            format!(
                "{}: {} B in {} to the target, {} B in {} back; at most {}/s, {} MB/s",
                Bytes(c.bytes),
                c.to_target,
                frames(c.frames_to_target),
                c.to_initiator,
                frames(c.frames_to_initiator),
                digits(c.per_second),
                digits(c.payload / 8e6)
            ),
        );
    };
    command("read", &w.read);
    command("write", &w.write);
    out += "\n  of the raw bits\n";
    for (name, bits) in w.shares.entries().into_iter().filter(|e| e.1 > 0.0) {
        out += &format!("  {name:<19}{:<13}{}\n", human_rate(bits), percent(bits / w.shares.raw));
    }
    out.push('\n');
    output::print(&out);
    output::table(&grid(
        ["payload", "on the wire", "frames/s", "efficiency", "payload, one way", "credits"],
        w.curve.iter().map(|p| {
            [
                format!("{} B", p.data),
                format!("{} B", p.wire),
                digits(p.frames_per_second),
                percent(p.efficiency),
                format!("{} MB/s", digits(p.payload / 8e6)),
                p.credits.to_string(),
            ]
        }),
    ));
}

fn frames(n: u64) -> String {
    format!("{n} frame{}", if n == 1 { "" } else { "s" })
}

pub(super) fn scsi(a: &Scsi) -> u8 {
    let Some(bus) = &a.bus else { return scsi_buses(&a.form) };
    let question = scsi::Question {
        bus: bus.clone(),
        size: a.size.clone(),
        burst: a.burst.clone(),
        write: a.write,
        byte: a.byte.clone(),
        response: a.response.clone(),
        untagged: a.untagged,
        keeps: a.no_disconnect,
        status_alone: a.status_alone,
        packetized: a.packetized,
        quick: a.qas,
    };
    let mut diagnostics = Diagnostics::default();
    let Some(w) = scsi::wire(&mut diagnostics, &question) else {
        output::diagnostics(&diagnostics);
        return WRONG;
    };
    if a.form.json {
        output::json(&w);
    } else if a.form.csv {
        let head = ["size_B", "held_s", "commands_per_s", "efficiency", "payload_bps_shared"];
        output::csv(&grid(
            head,
            w.curve.iter().map(|p| {
                [
                    p.size.to_string(),
                    p.held.to_string(),
                    p.per_second.to_string(),
                    p.efficiency.to_string(),
                    p.payload.to_string(),
                ]
            }),
        ));
    } else {
        scsi_text(&w);
    }
    let line = |title: &str, y, name, f: fn(&scsi::Point) -> f64| {
        let points = w.curve.iter().map(|p| (p.size as f64, f(p)));
        chart(&format!("{}: {title}", w.bus), "data of one command", y, name, points)
    };
    pictures(
        &a.form,
        &[
            ("efficiency".into(), line("time in which data go", "%", "data", |p| p.efficiency * 100.0)),
            ("payload-rate".into(), line("data of a bus never idle", "MB/s", "data", |p| p.payload / 8e6)),
        ],
    )
}

/// All buses and their peak rates. Nothing is drawn of them.
fn scsi_buses(form: &Form) -> u8 {
    if form.json {
        let one = |b: &lanescope::protocol::scsi::Bus| {
            serde_json::json!({
                "bus": b.name, "width_bits": b.width_bits,
                "peak_bps_shared_by_both_directions": b.peak().bits(), "source": b.source,
            })
        };
        output::json(&BUSES.iter().map(one).collect::<Vec<_>>());
    } else if form.csv {
        output::csv(&grid(
            ["bus", "width_bits", "peak_bps_both_directions_together", "source"],
            BUSES
                .iter()
                .map(|b| [b.name.into(), b.width_bits.to_string(), b.peak().bits().to_string(), b.source.to_owned()]),
        ));
    } else {
        output::table(&grid(
            ["bus", "width", "peak, both directions together", "source"],
            BUSES.iter().map(|b| {
                [
                    b.name.into(),
                    format!("{} bit", b.width_bits),
                    format!("{} MB/s", digits(b.peak().bytes() / 1e6)),
                    b.source.to_owned(),
                ]
            }),
        ));
    }
    ANSWERED
}

fn scsi_text(w: &scsi::Answer) {
    let paint = output::paint();
    let mut out = format!("{}{}{}\n", paint.strong, w.bus, paint.off);
    let mut line = |name: &str, value: String| out += &format!("  {name:<18}{value}\n");
    let period = human_time(w.period);
    line("peak", format!("{}, {} bit every {period}; {}", both(w.peak), w.width_bits, w.source));
    line(
        "command",
        format!(
            "{} of {} {}, {}{}",
            if w.write { "write" } else { "read" },
            Bytes(w.size),
            if w.command.is_some() { format!("in bursts of {}", Bytes(w.burst)) } else { "at one go".into() },
            if w.packetized { "information units" } else { "messages and phases" },
            if w.quick { ", quick arbitration" } else { "" }
        ),
    );
    let times =
        if w.held.connections == 1 { "1 connection".into() } else { format!("{} connections", w.held.connections) };
    let first = w.command.map_or(String::new(), |c| format!(", the first {}", human_time(c)));
    line("holds the bus", format!("{} in {times}{first}", human_time(w.held.total)));
    line("at most", format!("{} commands/s, {}", digits(w.per_second), both(w.payload)));
    out += "\n  of the time\n";
    for (name, seconds) in w.held.entries() {
        out += &format!("  {name:<18}{:<13}{}\n", human_time(seconds), percent(seconds / w.held.total));
    }
    out.push('\n');
    output::print(&out);
    output::table(&grid(
        ["data", "holds the bus", "commands/s", "efficiency", "data, both directions together"],
        w.curve.iter().map(|p| {
            [
                Bytes(p.size).to_string(),
                human_time(p.held),
                digits(p.per_second),
                percent(p.efficiency),
                format!("{} MB/s", digits(p.payload / 8e6)),
            ]
        }),
    ));
}
