//! `wire fc` and `wire scsi` as a person meets them.

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
    // 4.25 Gbaud, 8b/10b. A frame: SOF 4, header 24, CRC 4, EOF 4, and six primitive signals of 4 B: 425 MB/s / 2108 B.
    let fc = ["3.4 Gb/s one way = 425 MB/s", "2084 B from SOF to EOF, 2108 B on the wire", "201613/s", "412.9 MB/s"];
    says(&["wire", "fc", "4GFC"], &fc);
    // Two bytes every 6.25 ns; 64 KiB at 320 MB/s.
    says(&["wire", "scsi", "ultra320"], &["2.56 Gb/s = 320 MB/s", "16 bit every 6.25 ns", "204.8 us"]);
    // 10 kB at 80 MB/s, in bursts of 4 KiB: three of data, one for the command, one for the status.
    let write = ["wire", "scsi", "ultra2", "--write", "--size", "10 kB", "--burst", "4 KiB", "--status-alone"];
    says(&write, &["640 Mb/s = 80 MB/s", "in 5 connections", "125 us"]);
}

/// Golden: the program's own output, so that no figure of these tables changes unseen. Whether they are true is for
/// [`the_tables_by_hand`], and for the tests of `protocol/fibre_channel` and `protocol/scsi` against their standards.
#[test]
fn the_tables_are_golden() {
    insta::assert_snapshot!(out(&["wire", "fc", "4GFC"], 0).0);
    let far =
        ["wire", "fc", "32 Gb/s", "--data", "2001 B", "--optional", "16 B", "--length", "10 km", "--response", "1 us"];
    insta::assert_snapshot!(
        out(&[far.as_slice(), &["--credits", "8", "--transfer", "1 MiB", "--burst", "64 KiB"]].concat(), 0).0
    );
    insta::assert_snapshot!(out(&["wire", "scsi"], 0).0);
    insta::assert_snapshot!(out(&["wire", "scsi", "ultra320"], 0).0);
    let write =
        ["wire", "scsi", "ultra2", "--write", "--size", "10 kB", "--burst", "4 KiB", "--status-alone", "--untagged"];
    insta::assert_snapshot!(out(&write, 0).0);
    insta::assert_snapshot!(
        out(&["wire", "scsi", "fast", "--no-disconnect", "--byte", "300 ns", "--response", "0 ns"], 0).0
    );
}

#[test]
fn the_same_speed_has_two_names() {
    assert_eq!(out(&["wire", "fc", "4GFC"], 0), out(&["wire", "fibre-channel", "4 Gb/s"], 0));
}

#[test]
fn pictures_are_written() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, command) in [("fc", ["wire", "fc", "8GFC"]), ("scsi", ["wire", "scsi", "ultra160"])] {
        let to = dir.path().join(name);
        out(&[command.as_slice(), &["--svg", &to.to_string_lossy()]].concat(), 0);
        for file in ["efficiency.svg", "payload-rate.svg"] {
            let text = std::fs::read_to_string(to.join(file)).expect("a picture");
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{name} {file}");
        }
    }
}

#[test]
fn wrong_questions_about_fibre_channel_are_answered_with_what_there_is() {
    for rate in ["3GFC", "4", "4.25 Gb/s", "425 MB/s", "gen3", "", "-4GFC"] {
        refused(
            &["fc", "--", rate],
            &["is not a valid speed of Fibre Channel", "1GFC, 2GFC, 4GFC, 8GFC, 16GFC, 32GFC"],
        );
    }
    for data in ["0 B", "2113 B", "1 GB"] {
        refused(&["fc", "4GFC", "--data", data], &["is not a valid payload of a frame", "1 B to 2112 B"]);
    }
    for data in ["0", "2113", "much", ""] {
        refused(&["fc", "4GFC", "--data", data], &["is not a valid size", "2048 B"]);
    }
    refused(&["fc", "4GFC", "--data", "2112 B", "--optional", "16 B"], &["2112 B", "1 B to 2096 B"]);
    refused(&["fc", "4GFC", "--optional", "6 B"], &["multiple of 4 B"]);
    refused(&["fc", "4GFC", "--optional", "116 B"], &["0 B to 112 B"]);
    for credits in ["0", "65536", "two", "1.5"] {
        refused(&["fc", "4GFC", "--credits", credits], &["is not a valid number of credits", "1 to 65535"]);
    }
    refused(&["fc", "4GFC", "--length", "50"], &["is not a valid length", "no unit"]);
    refused(
        &["fc", "4GFC", "--transfer", "0 B", "--burst", "5 GB"],
        &["is not a valid transfer", "is not a valid burst"],
    );
    refused(&["fc"], &["RATE"]);
}

#[test]
fn wrong_questions_about_scsi_are_answered_with_what_there_is() {
    refused(&["scsi", "ultra640"], &["no SCSI bus \"ultra640\"", "scsi-1", "ultra320"]);
    refused(&["scsi", "ultra2", "--size", "0 B"], &["is not a valid transfer", "1 B to 1 GiB"]);
    refused(&["scsi", "ultra2", "--size", "64"], &["is not a valid size", "no unit"]);
    refused(&["scsi", "ultra2", "--burst", "0 B"], &["is not a valid burst"]);
    refused(&["scsi", "ultra2", "--byte", "2 ms"], &["by handshake", "at most 1 ms"]);
    refused(&["scsi", "ultra2", "--response", "201 us"], &["selection abort time", "at most 200 us"]);
    refused(&["scsi", "ultra2", "--packetized"], &["no information units", "ultra160, ultra320"]);
    refused(&["scsi", "ultra160", "--qas"], &["needs information units", "--packetized"]);
}
