//! Captures as another program reads them: tshark, where it is installed.

use crate::common::planned;
use lanescope::diagnostic::Diagnostics;
use lanescope::pens::pcapng::Pcapng;
use lanescope::result::{Crossed, Crossing};
use lanescope::sim::{Run, Step};
use std::collections::BTreeSet;
use std::process::Command;

/// Three frames of data, two PAUSE, one PFC; a microsecond and a picosecond apart.
fn frames() -> Vec<Crossed> {
    let data = |number, size| Crossing::Data { from: 0, to: 2, data: size, flow: 1, number, marked: number == 2 };
    let mut quanta = [None; 8];
    (quanta[3], quanta[4]) = (Some(0xFFFF), Some(0));
    let all = [
        (true, data(0, 1500)),
        (true, data(1, 1)),
        (false, Crossing::Pause { from: 2, quanta: 1000 }),
        (true, data(2, 9216)),
        (false, Crossing::Pause { from: 2, quanta: 0 }),
        (false, Crossing::Pfc { from: 2, quanta }),
    ];
    let at = |i: usize| 1_000_001_000 * i as u64;
    all.into_iter().enumerate().map(|(i, (down, what))| Crossed { at: at(i), down, what }).collect()
}

#[test]
fn tshark_reads_what_was_written() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let file = std::env::temp_dir().join(format!("lanescope-pcapng-{}.pcapng", std::process::id()));
    let out = std::io::BufWriter::new(std::fs::File::create(&file).expect("a file"));
    let mut pen = Pcapng::new(out, "uplink", 128).expect("written");
    frames().iter().for_each(|f| pen.frame(f).expect("written"));
    pen.finish().expect("written");

    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.packet_flags_direction",
        "frame.len",
        "frame.cap_len",
        "eth.type",
        "eth.src",
        "macc.opcode",
        "macc.pause_time",
        "macc.cbfc.enbv",
        "macc.cbfc.pause_time.c3",
        "macc.cbfc.pause_time.c4",
        "_ws.malformed",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;"]);
    fields.iter().for_each(|f| {
        tshark.args(["-e", f]);
    });
    let output = tshark.output().expect("tshark runs");
    let said = String::from_utf8_lossy(&output.stderr);
    std::fs::remove_file(&file).expect("removed");
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(';').collect()).collect();
    assert!(rows.iter().all(|r| r.len() == fields.len()), "{text}{said}");
    let column = |name: &str| -> Vec<&str> {
        let at = fields.iter().position(|f| *f == name).expect("a field");
        rows.iter().map(|r| r[at]).collect()
    };
    // 0x0101 or 257: versions of tshark differ in how they write a number.
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).expect("a number"),
        None => text.parse().unwrap_or(-1),
    };
    let numbers = |name: &str| -> Vec<i64> { column(name).into_iter().map(number).collect() };

    // Nanoseconds, rounded down.
    let times: Vec<&str> = column("frame.time_epoch").iter().map(|t| t.trim_end_matches('0')).collect();
    assert_eq!(times, ["0.", "0.000001", "0.000002", "0.000003", "0.000004", "0.000005"], "{text}");
    assert!(column("frame.interface_name").iter().all(|n| *n == "uplink"), "{text}");
    assert_eq!(numbers("frame.packet_flags_direction"), [2, 2, 1, 2, 1, 1], "{text}");
    assert_eq!(numbers("frame.len"), [1514, 60, 60, 9230, 60, 60], "{text}");
    assert_eq!(numbers("frame.cap_len"), [128, 60, 60, 128, 60, 60], "{text}");
    let (data, control) = (0x88B5, 0x8808);
    assert_eq!(numbers("eth.type"), [data, data, control, data, control, control], "{text}");
    assert_eq!(column("eth.src")[2], "02:00:00:00:00:02", "{text}");
    assert_eq!(numbers("macc.opcode"), [-1, -1, 1, -1, 1, 0x101], "{text}");
    assert_eq!(numbers("macc.pause_time"), [-1, -1, 1000, -1, 0, -1], "{text}");
    let last = |name: &str| numbers(name)[5];
    assert_eq!(last("macc.cbfc.enbv"), 0b1_1000, "{text}");
    assert_eq!((last("macc.cbfc.pause_time.c3"), last("macc.cbfc.pause_time.c4")), (0xFFFF, 0), "{text}");
    assert!(column("_ws.malformed").iter().all(|m| m.is_empty()), "{text}");
}

/// RoCE v2 of a run whose frames are lost and marked: Wireshark names IP, UDP 4791, and what the BTH says.
#[test]
fn tshark_names_packets_of_roce() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let text = "[parts.host]\nis = \"station\"\ncount = 3\nretransmission_timeout = \"50 us\"\n[parts.switch]\n\
        is = \"ethernet-switch\"\nmemory = \"40 kB\"\ncongestion_control = \"dcqcn\"\necn_low = \"4 kB\"\n\
        ecn_high = \"20 kB\"\n[links.net]\nbetween = [\"host.*\", \"switch\"]\nethernet = \"10 Gb/s\"\n\
        mtu = \"1500 B\"\n[flows.f]\nfrom = \"host.*\"\nto = \"host.0\"\ndo = \"send\"\n\
        transport = \"rocev2\"\nsize = \"5000 B\"\npriority = 3\n[run]\nfor = \"400 us\"\nwarmup = \"0 s\"\n";
    let plan = planned(text, &[]);
    let mut run = Run::new(&plan, 1, &mut Diagnostics::default()).expect("a run");
    run.capture(1);
    while run.advance(u64::MAX) != Step::Done {}
    let file = std::env::temp_dir().join(format!("lanescope-roce-{}.pcapng", std::process::id()));
    let out = std::io::BufWriter::new(std::fs::File::create(&file).expect("a file"));
    let mut pen = Pcapng::new(out, "net.1", 0).expect("written");
    let crossed = run.crossed();
    crossed.iter().for_each(|f| pen.frame(f).expect("written"));
    pen.finish().expect("written");
    let fields = [
        "udp.dstport",
        "ip.checksum.status",
        "ip.dsfield.dscp",
        "ip.dsfield.ecn",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband.aeth.syndrome.opcode",
        "ip.src",
        "ip.dst",
        "_ws.malformed",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&file).args(["-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "separator=;"]);
    fields.iter().for_each(|f| {
        tshark.args(["-e", f]);
    });
    let output = tshark.output().expect("tshark runs");
    std::fs::remove_file(&file).expect("removed");
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(';').collect()).collect();
    assert_eq!(rows.len(), crossed.len(), "{said}");
    assert!(rows.iter().all(|r| r[0] == "4791" && r[1] == "1" && r[9].is_empty()), "{text}");
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).expect("a number"),
        None => text.parse().unwrap_or(u64::MAX),
    };
    let data: Vec<_> = rows.iter().filter(|r| (r[7], r[8]) == ("10.0.0.2", "10.0.0.1")).collect();
    let opcodes: BTreeSet<u64> = data.iter().map(|r| number(r[4])).collect();
    // WRITE first, middle, last.
    assert_eq!(opcodes, BTreeSet::from([6, 7, 8]), "{text}");
    // Class selector 3.
    assert!(data.iter().all(|r| number(r[2]) == 24), "{text}");
    let back: BTreeSet<u64> = rows.iter().filter(|r| r[8] == "10.0.0.2").map(|r| number(r[4])).collect();
    assert!(back.contains(&0x11) && back.contains(&0x81), "acknowledgements and CNPs: {back:?}");
    // Numbers follow one another, and go back to what was lost.
    let numbers: Vec<u64> = data.iter().map(|r| number(r[5])).collect();
    assert!(numbers.windows(2).all(|n| n[1] <= n[0] + 1), "{numbers:?}");
    assert!(numbers.windows(2).any(|n| n[1] <= n[0]), "something is sent again: {numbers:?}");
}
