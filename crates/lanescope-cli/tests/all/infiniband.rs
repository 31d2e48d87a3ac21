//! `wire infiniband` and `wire roce` as a person meets them.

use crate::common::{out, wrong};

/// What `wire` refuses.
fn refused(args: &[&str], words: &[&str]) {
    wrong(&[&["wire"], args].concat(), words);
}

/// What the standards say of the same questions, worked out by hand.
#[test]
fn the_tables_by_hand() {
    let says = |args: &[&str], lines: &[&str]| {
        let text = out(args, 0).0;
        lines.iter().for_each(|l| assert!(text.contains(l), "{args:?}: {l}: {text}"));
    };
    // Four lanes of 25.78125 Gb/s, 66 bits for 64. 64 KiB are 32 packets of the MTU, each with delimiters (2), LRH (8),
    // BTH (12), ICRC (4) and VCRC (2); the first has an RETH (16). Credit counts blocks of 64 B without delimiters.
    let edr = ["103.1 Gb/s", "100 Gb/s = 12500 MB/s", "66448 B in 32 packets, 1056 blocks", "32 B in 1 packet"];
    says(&["wire", "infiniband", "edr", "4x"], &edr);
    // Four packets of 1024 B: preamble and gap (20), Ethernet (18), IPv4 (20), UDP (8), BTH (12), ICRC (4), one RETH.
    let roce = ["25 Gb/s = 3125 MB/s", "4440 B in 4 packets", "86 B in 1 packet"];
    says(&["wire", "roce", "25 Gb/s", "--size", "4 KiB"], &roce);
}

/// Golden: the program's own output, so that no figure of these tables changes unseen. Whether they are true is for
/// [`the_tables_by_hand`], and for the tests of `protocol/infiniband` against the specification.
#[test]
fn the_tables_are_golden() {
    insta::assert_snapshot!(out(&["wire", "infiniband", "edr", "4x"], 0).0);
    let read = ["wire", "infiniband", "sdr", "4x", "--operation", "read", "--size", "10 kB", "--mtu", "4096 B"];
    insta::assert_snapshot!(out(&read, 0).0);
    let datagram = ["wire", "ib", "ndr", "4x", "--operation", "send", "--service", "ud", "--grh", "--size", "1 B"];
    insta::assert_snapshot!(out(&[datagram.as_slice(), &["--immediate"]].concat(), 0).0);
    insta::assert_snapshot!(out(&["wire", "roce", "25 Gb/s", "--size", "4 KiB"], 0).0);
}

#[test]
fn a_rate_is_one_word_or_two() {
    let two = out(&["wire", "infiniband", "HDR", "2X", "--csv"], 0);
    assert_eq!(two, out(&["wire", "ib", "hdr 2x", "--csv"], 0));
    assert!(two.0.starts_with("size_B,packets,wire_B,messages_per_s,"));
}

#[test]
fn json_has_every_part_of_every_packet() {
    let (text, _) = out(&["wire", "ib", "qdr 4x", "--size", "3 B", "--json"], 0);
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let packet = &answer["packets"][0];
    // 1 + 8 + 12 + 16 + 3 + 1 + 4 + 2 + 1.
    assert_eq!((&packet["wire"], &packet["blocks"], &packet["name"]), (&48.into(), &1.into(), &"RDMA WRITE".into()));
    let parts = packet["parts"].as_array().expect("parts");
    assert_eq!(parts.iter().map(|p| p["bytes"].as_u64().expect("bytes")).sum::<u64>(), 48);
    assert_eq!(answer["coded"], 32e9);
}

#[test]
fn versions_of_roce_differ_by_their_headers() {
    let wire = |more: &[&str]| {
        let (text, _) = out(&[&["wire", "roce", "100 Gb/s", "--size", "1 KiB", "--json"], more].concat(), 0);
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["with_data"]["wire"].as_u64()
    };
    assert_eq!([wire(&[]), wire(&["--ipv6"]), wire(&["--v1"])], [Some(1122), Some(1142), Some(1134)]);
    refused(&["roce", "100 Gb/s", "--v1", "--ipv6"], &["cannot be used with"]);
}

#[test]
fn pictures_are_written() {
    let dir = tempfile::tempdir().expect("a folder");
    for command in [["wire", "ib", "fdr 4x"], ["wire", "roce", "40 Gb/s"]] {
        let to = dir.path().join(command[1]);
        out(&[command.as_slice(), &["--svg", &to.to_string_lossy()]].concat(), 0);
        for file in ["efficiency.svg", "payload-rate.svg"] {
            let text = std::fs::read_to_string(to.join(file)).expect("a picture");
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{command:?} {file}");
        }
    }
}

#[test]
fn wrong_questions_are_answered_with_what_there_is() {
    for rate in ["edr", "edr 3x", "edr4x", "gen3 x8", "", "100 Gb/s"] {
        refused(&["ib", "--", rate], &["there is no InfiniBand of", "\"edr 4x\""]);
    }
    refused(&["ib", "edr", "4x", "--mtu", "1500 B", "--size", "64"], &["is not a valid MTU", "4096 B", "no unit"]);
    refused(&["ib", "edr", "4x", "--operation", "wirte"], &["is not a valid operation", "did you mean write?"]);
    refused(&["ib", "edr", "4x", "--service", "rd"], &["is not a valid transport service", "rc, uc, ud, xrc"]);
    refused(&["ib", "edr", "4x", "--service", "ud"], &["ud has no RDMA WRITE"]);
    refused(&["ib", "edr", "4x", "--size", "3 GiB"], &["is not a valid message", "2 GiB"]);
    refused(&["roce", "edr 4x"], &["is not a valid rate"]);
    refused(&["roce", "9 Gb/s"], &["no Ethernet MAC runs", "10 Gb/s"]);
    refused(&["ib"], &["SPEED"]);
    refused(&["ib", "edr", "4x", "2048"], &["2048"]);
}
