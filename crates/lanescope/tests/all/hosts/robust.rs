//! Whatever is fed in, something comes out: no panic, no hang, no control character, bounded time and memory.

use super::{dumps, explained, host, ours};
use crate::bodies::hosts as bodies;
use crate::common::choices::runner;
use crate::common::{everything, some};
use lanescope::import::host::{Dump, read};
use lanescope::pens;
use proptest::collection::vec;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Everything that can be made of a text, printable.
fn all_of(text: &str) -> String {
    let (out, _) = bodies::all_of(text);
    bodies::printable(&out);
    out
}

#[test]
fn a_dump_cut_anywhere_gives_what_can_be_read() {
    for (name, text) in some(dumps(), 8) {
        let whole = host(&text).functions.len();
        let mut before = 0;
        for part in 1..8 {
            let mut end = text.len() * part / 8 + part * 3;
            while !text.is_char_boundary(end.min(text.len())) {
                end += 1;
            }
            let cut = &text[..end.min(text.len())];
            all_of(cut);
            let functions = host(cut).functions.len();
            assert!((before..=whole).contains(&functions), "{name}: {functions} of {whole} in {part}/8");
            before = functions;
        }
    }
}

#[test]
fn line_ends_and_markup_change_nothing() {
    for (name, text) in some(dumps(), 6) {
        let plain = explained(&text);
        let same = |what: &str, changed: &str| {
            let mut other = explained(changed);
            // Evidence points at other lines.
            other.findings.iter_mut().for_each(|f| f.evidence.clear());
            let mut plain = plain.clone();
            plain.findings.iter_mut().for_each(|f| f.evidence.clear());
            let (a, b) = (pens::explain::text(&plain, false), pens::explain::text(&other, false));
            assert!(a == b, "{name} with {what}:\n{a}\n{b}");
        };
        same("Windows line ends", &text.replace("\r\n", "\n").replace('\n', "\r\n"));
        same("a fence around it", &format!("see below\n```\n{text}\n```\nthank you\n"));
        if !name.ends_with(".md") {
            same("quotation marks", &text.lines().map(|l| format!("> {l}\n")).collect::<String>());
            same("an indentation", &text.lines().map(|l| format!("    {l}\n")).collect::<String>());
        }
        same("colours", &text.lines().map(|l| format!("\u{1b}[0m{l}\u{1b}[K\n")).collect::<String>());
    }
}

#[test]
fn indentation_lost_is_no_loss() {
    let text = ours("pcie-bench-t630/sys-lspci.txt");
    let flat: String = text.lines().map(|l| format!("{}\n", l.trim_start())).collect();
    let (a, b) = (explained(&text), explained(&flat));
    assert_eq!(pens::explain::text(&a, false), pens::explain::text(&b, false));
}

#[test]
fn names_are_never_printed_with_control_characters() {
    let evil = "root@a\u{7}b:~# x\n01:00.0 Ethernet controller: A\u{1b}]0;owned\u{7}\u{202e}B\u{9b}31m C\n\tKernel \
        driver in use: x\u{0}y\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tLnkCap:\tPort #0, Speed 8GT/s, \
        Width x4\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n";
    let out = all_of(evil);
    assert!(!out.contains('\u{202e}'), "no turning of lines");
    let xml = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\" \
        vendor=\"&#27;[31m\" link_speed=\"\u{1b}\"><gpu dev=\"\u{7}\"/></pci></cpu></system>";
    all_of(xml);
}

#[test]
fn junk_between_lines_is_passed_over() {
    let text = ours("pcie-bench-t620/sys-lspci.txt");
    let mut noisy = String::new();
    for (n, line) in text.lines().enumerate() {
        noisy += line;
        noisy.push('\n');
        if n % 7 == 3 {
            noisy += "[  123.456] usb 1-1: new high-speed device\n";
        }
        if n % 11 == 5 {
            noisy += "\n<div class=\"post\">I also tried this & that</div>\n";
        }
    }
    let (a, b) = (host(&text), host(&noisy));
    assert_eq!(a.functions.len(), b.functions.len());
    assert!(b.notes.is_empty(), "{:?}", b.notes);
    let rates = |t: &str| explained(t).devices.iter().map(|d| d.to_memory.rate).collect::<Vec<_>>();
    assert_eq!(rates(&text), rates(&noisy));
}

/// 50 MB of each form, or 8 MB where not everything is tested; sized for an unoptimised build on a busy machine.
#[test]
fn fifty_megabytes_are_bounded() {
    let size: usize = if everything() { 50 << 20 } else { 8 << 20 };
    let function = |n: usize| {
        format!(
            "{:04x}:{:02x}:{:02x}.{} Ethernet controller: A B\n\tNUMA node: {}\n\tCapabilities: [60] Express (v2) \
                Endpoint, MSI 00\n",
            n >> 16,
            n >> 8 & 0xff,
            n >> 3 & 0x1f,
            n & 7,
            n % 5000
        )
    };
    let mut many = String::new();
    for n in 0.. {
        many += &function(n);
        if many.len() > size {
            break;
        }
    }
    let same = function(8).repeat(size / function(8).len());
    let words = "lorem ipsum dolor sit amet, consectetur adipiscing elit\n".repeat(size / 56);
    let line = "x".repeat(size);
    let nested = "<system version=\"1\"><cpu numaid=\"0\">".to_owned()
        + &"<pci busid=\"0000:01:00.0\" class=\"0x060400\">".repeat(size / 43);
    let begun = "<system \n".repeat(size / 9);
    let quoted = "<topology a=\"".repeat(size / 13);
    let tree = "-[0000:00]-+-00.0-[01]--+-00.0-[02]----00.0\n".repeat(size / 45);
    for (what, text) in [
        ("many functions", many),
        ("one function", same),
        ("words", words),
        ("one line", line),
        ("nested elements", nested),
        ("elements begun", begun),
        ("quotes", quoted),
        ("trees", tree),
    ] {
        let start = Instant::now();
        let dumps = [Dump::Text { name: what.into(), text: &text }];
        let hosts = read(&dumps);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(40), "{what}: {took:?}");
        let held: usize = hosts.iter().map(|h| h.functions.len()).sum();
        assert!(held <= 64 * 20_000 && hosts.iter().all(|h| h.notes.len() <= 100), "{what}");
    }
}

/// Far more devices than a host has are explained too, and what is left out is said. Sized for an unoptimised build on
/// a busy machine.
#[test]
fn thousands_of_devices_are_bounded() {
    for class in ["3D controller: NVIDIA X", "Non-Volatile memory controller: S", "Ethernet controller: M 100GbE"] {
        let function = |n: usize| {
            format!(
                "{:04x}:{:02x}:00.0 {class}\n\tNUMA node: {}\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
                 \t\tDevCtl:\tRlxdOrd- ExtTag- PhantFunc-\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4\n\
                 \t\tLnkSta:\tSpeed 8GT/s, Width x4\n",
                n / 250,
                n % 250 + 1,
                n % 7
            )
        };
        let text: String = (0..2000).map(function).collect();
        let start = Instant::now();
        let report = explained(&text);
        assert!(start.elapsed() < Duration::from_secs(40), "{class}: {:?}", start.elapsed());
        assert!(report.devices.len() == 2000 && report.pairs.len() <= 2000, "{class}");
        assert!(report.notes.iter().any(|n| n.contains("left out: 2000")), "{:?}", report.notes);
    }
}

#[test]
fn random_bytes_and_random_pieces_do_not_panic() {
    // Stretches of real dumps, in any order and mixture.
    let chunks = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        lines.chunks(11).step_by(3).map(|c| c.join("\n")).collect::<Vec<_>>()
    };
    let pieces: Vec<String> = dumps().iter().flat_map(|(_, text)| chunks(text)).collect();
    let piece = (0..pieces.len()).prop_map(move |n| pieces[n].clone());
    let junk = vec(any::<u8>(), 0..80).prop_map(|b| String::from_utf8_lossy(&b).into_owned());
    let texts = vec(prop_oneof![4 => piece, 1 => junk], 0..60).prop_map(|lines| lines.join("\n"));
    let law = |text: String| {
        all_of(&text);
        Ok(())
    };
    runner(ProptestConfig::default()).run(&texts, law).expect("no panic");
    let bytes = vec(any::<u8>(), 0..4096);
    let law = |bytes: Vec<u8>| {
        bodies::host(&bytes);
        Ok(())
    };
    runner(ProptestConfig::default()).run(&bytes, law).expect("no panic");
}

/// Bridges behind themselves, and buses that are everywhere.
#[test]
fn a_tree_that_loops_ends() {
    let text = "00:01.0 PCI bridge: A\n\tBus: primary=00, secondary=01, subordinate=ff, sec-latency=0\n01:00.0 PCI \
        bridge: A\n\tBus: primary=01, secondary=02, subordinate=02, sec-latency=0\n02:00.0 PCI bridge: A\n\tBus: \
        primary=02, secondary=01, subordinate=01, sec-latency=0\n02:01.0 3D controller: NVIDIA X\n";
    all_of(text);
    let xml = "<system><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\"><pci busid=\"0000:02:00.0\"><pci \
        busid=\"0000:01:00.0\"><gpu/></pci></pci></pci></cpu></system>";
    all_of(xml);
}
