//! Measured numbers beside expected ones: verdicts in both directions, and what would explain what is low.

use super::explained::switch;
use super::{host, ours, text};
use crate::common::fixture;
use lanescope::explain::measured::Row;
use lanescope::explain::{Explained, explain, measured};

fn compared(text: &str) -> Explained {
    let host = host(&ours("epyc-4gpu-e12/host.md"));
    let mut report = explain(&host);
    let rows = measured::read("numbers", text).unwrap_or_else(|e| panic!("{e}"));
    measured::compare(&host, &mut report, rows);
    report
}

fn verdict(line: &str) -> (String, String) {
    let report = compared(line);
    assert_eq!(report.measured.len(), 1, "{:#?}", report.measured);
    (report.measured[0].verdict.clone(), report.measured[0].because.clone())
}

#[test]
fn verdicts_go_both_ways() {
    assert_eq!(verdict("gpu0 to memory,26.9").0, "as expected");
    assert_eq!(verdict("gpu0 from memory,26.8").0, "as expected");
    assert_eq!(verdict("0000:01:00.0,26.9").0, "as expected");
    assert_eq!(verdict("gpu0 to memory,11.9").0, "low");
    let (verdict_of, because) = verdict("gpu0 to memory,29.5");
    assert!(verdict_of == "high" && because.contains("MiB"), "{because}");
    let (verdict_of, because) = verdict("gpu0 to memory,62");
    assert!(verdict_of == "high" && because.contains("wire itself"), "{because}");
    assert_eq!(verdict("sdz,1").0, "not placed");
    assert_eq!(verdict("gpu0 -> gpu2,14").0, "as expected");
    assert_eq!(verdict("gpu0 -> gpu2,40").0, "high");
}

#[test]
fn a_matrix_finds_its_gpus_by_number() {
    let text = "Running device_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n           \
        0         1         2         3\n 0     26.9     26.8     13.4     26.9\n";
    let report = compared(text);
    let lines: Vec<_> =
        report.measured.iter().map(|r| (r.device.as_deref().unwrap_or(""), r.verdict.as_str())).collect();
    assert_eq!(lines, [("gpu0", "as expected"), ("gpu1", "as expected"), ("gpu2", "low"), ("gpu3", "as expected")]);
    // Half of Gen4 x16: the candidates are half the speed and half the lanes, and the command that tells them apart.
    let best: Vec<&str> = report.candidates.iter().take(2).map(|c| c.what.as_str()).collect();
    assert!(
        best.iter().any(|c| c.contains("8 GT/s")) && best.iter().any(|c| c.contains("x8")),
        "{:#?}",
        report.candidates
    );
    assert!(report.candidates[0].command.contains("-s 0000:c1:00.0") && report.candidates[0].off_percent < 3.0);
}

#[test]
fn all_rows_are_fitted_at_once() {
    // MPS 128 in both ways of one GPU: writes lose 8 %, which no other speed or width fits.
    let report = compared("gpu0 to memory,24.2\ngpu0 from memory,19.9\n");
    assert!(report.candidates.iter().all(|c| c.off_percent > 0.0));
    // Eight reads of 512 B, 600 ns each, is 6.8 GB/s; writes are as they should be, so that no link is slow.
    let report = compared("gpu0 to memory,27\ngpu0 from memory,6.8\n");
    let first = &report.candidates[0];
    assert!(first.what.starts_with("gpu0 has 8 reads") && first.off_percent < 1.0, "{:#?}", report.candidates);
    assert!(report.candidates.iter().skip(1).all(|c| c.off_percent > 5.0), "{:#?}", report.candidates);
    // The same low number beside a write that is as low: then it is the link.
    let report = compared("gpu0 to memory,6.8\ngpu0 from memory,6.5\n");
    assert!(report.candidates[0].what.contains("runs"), "{:#?}", report.candidates);
    assert_eq!((report.candidates[0].explains, report.candidates[0].of), (2, 2));
}

/// One slow uplink explains four slow GPUs better than any of their own links.
#[test]
fn one_cause_of_many_rows_is_found_at_its_place() {
    let host = host(&super::explained::large(4, 0));
    let mut report = explain(&host);
    let quarter =
        |n: u32| format!("gpu{n} to memory,{}\n", report.devices[0].to_memory.rate.typical.expect("a rate") / 4.03);
    let rows: String = (0..4).map(quarter).collect();
    measured::compare(&host, &mut report, measured::read("n", &rows).expect("rows"));
    let first = &report.candidates[0];
    assert!(first.explains == 4 && first.off_percent < 3.0, "{:#?}", report.candidates);
    let places = report.candidates.iter().filter(|c| c.what.contains("0000:01:00.0")).count();
    assert!(places >= 2, "the uplink, by speed and by width: {:#?}", report.candidates);
    // A pair below the leaf switch as fast as it should be frees the GPUs' own links.
    let pair = report.pairs.iter().find(|p| p.from == "gpu0" && p.to == "gpu1").and_then(|p| p.write.typical);
    let rows = rows + &format!("gpu0 -> gpu1,{}\n", pair.expect("a rate"));
    let mut report = explain(&host);
    measured::compare(&host, &mut report, measured::read("n", &rows).expect("rows"));
    let own = report.candidates.iter().find(|c| c.what.starts_with("each link of 4 devices"));
    assert!(
        own.is_none_or(|c| c.off_percent > 30.0 || c.off_percent > 5.0 * report.candidates[0].off_percent),
        "{own:?}"
    );
}

/// A cause whose register is in the dump and says otherwise is none.
#[test]
fn what_the_dump_refutes_is_not_proposed() {
    let gpu = |mps: &str| {
        format!(
            "01:00.0 3D controller: NVIDIA Corporation X\n\tNUMA node: 0\n\tCapabilities: [60] Express (v2) Endpoint, \
             MSI 00\n\t\tDevCap:\tMaxPayload 256 bytes, PhantFunc 0\n{mps}\t\tLnkCap:\tPort #0, Speed 16GT/s, Width \
             x16\n\t\tLnkSta:\tSpeed 16GT/s, Width x16\n"
        )
    };
    let said = "\t\tDevCtl:\tCorrErr+\n\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n";
    let causes = |text: &str, rows: &str| {
        let host = host(text);
        let mut report = explain(&host);
        measured::compare(&host, &mut report, measured::read("n", rows).expect("rows"));
        report.candidates.iter().map(|c| c.what.clone()).collect::<Vec<_>>()
    };
    // What MPS 128 gives, and a tenth less.
    for rate in ["23.6", "22", "24.4"] {
        let rows = format!("gpu0 to memory,{rate}\n");
        assert!(causes(&gpu(said), &rows).iter().all(|c| !c.contains("MPS 128")), "{:#?}", causes(&gpu(said), &rows));
    }
    let open = causes(&gpu(""), "gpu0 to memory,22\n");
    assert!(open.iter().any(|c| c.contains("MPS 128")), "{open:#?}");
    // One node: nothing is far.
    let one = gpu(said) + "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 1024 MB\n";
    let two = one.clone() + "node 1 cpus: 2 3\nnode 1 size: 1024 MB\n";
    let far = |text: &str| causes(text, "gpu0 to memory,18.5\n").iter().any(|c| c.contains("far node"));
    assert!(!far(&one) && far(&two));
    // ACS that is read and off.
    let rows =
        "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 700 28.6\n     1 28.6 700\n";
    let redirect = |text: &str| causes(text, rows).iter().any(|c| c.starts_with("ACS"));
    let unsaid: String = switch("-", "").lines().filter(|l| !l.contains("ACSCtl")).flat_map(|l| [l, "\n"]).collect();
    assert!(!redirect(&switch("-", "")) && redirect(&unsaid), "{:#?}", causes(&unsaid, rows));
}

#[test]
fn what_fits_alike_is_told_apart_by_one_command() {
    let report = compared("gpu0 to memory,13.4\ngpu0 from memory,12.9\n");
    let apart = report.tell_apart.expect("two causes fit alike");
    assert!(apart.starts_with("sudo lspci -vvv -s 0000:01:00.0 | grep -E 'LnkSta:', while it is loaded: "), "{apart}");
    assert!(apart.contains("Speed 8GT/s") && apart.contains("Width x8"), "{apart}");
    // Nothing is low: nothing to explain.
    let report = compared("gpu0 to memory,27\n");
    assert!(report.candidates.is_empty() && report.tell_apart.is_none());
    // Low without a cause among these: said, not made up.
    let report = compared("gpu0 to memory,0.9\ngpu1 to memory,0.013\ngpu2 to memory,21\n");
    let text = lanescope::pens::explain::text(&report, false);
    assert!(report.candidates.is_empty() == text.contains("no single cause"), "{text}");
}

#[test]
fn fio_and_nvbandwidth_json_are_read() {
    let fio = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"seq",
        "job options":{"filename":"/dev/nvme0n1"},"read":{"bw_bytes":3200000000,"bw":3125000},
        "write":{"bw_bytes":0}}]}"#;
    let rows = measured::read("fio", fio).expect("rows");
    assert_eq!((rows.len(), rows[0].rate), (1, 3.2));
    let nv = r#"{"nvbandwidth":{"testcases":[{"name":"host_to_device_memcpy_ce","bandwidth_matrix":[["26.1","25.9"]]},
        {"name":"device_to_device_memcpy_write_ce","bandwidth_matrix":[["N/A","25.0"],["24.9","N/A"]]}]}}"#;
    let rows = measured::read("nv", nv).expect("rows");
    assert_eq!(rows.iter().map(|r| r.rate).collect::<Vec<_>>(), [26.1, 25.9, 25.0, 24.9]);
    for nothing in ["", "{", "{}", "hello", "a,b", "Running x.\n"] {
        assert!(measured::read("x", nothing).is_err(), "{nothing}");
    }
}

/// A row of an instrument beside what a dump lets it reach.
fn judged(dump: &str, output: &str) -> Row {
    let host = host(dump);
    let mut report = explain(&host);
    let rows = measured::read("numbers", output).unwrap_or_else(|e| panic!("{e}"));
    measured::compare(&host, &mut report, rows);
    assert_eq!(report.measured.len(), 1, "{:#?}", report.measured);
    report.measured.remove(0)
}

/// A run of nccl-tests on GPUs of these buses, each on its host, with this bus bandwidth of long messages.
fn collective(test: &str, ranks: &[(&str, u8)], busbw: f64) -> String {
    let mut out =
        format!("$ ./{test}_perf -b 8 -e 128M -g {}\n# nThread 1 nGpus {} minBytes 8\n", ranks.len(), ranks.len());
    for (n, (host, bus)) in ranks.iter().enumerate() {
        out += &format!("#  Rank {n:2} Group  0 Pid 42 on {host} device {n:2} [0x{bus:02x}] NVIDIA X\n");
    }
    out += "#   size   count  type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong\n";
    out += "       8       2  float    sum    -1   12.9   0.00   0.00      0   12.6   0.00   0.00      0\n";
    out + &format!("134217728 33554432 float sum -1 5932.4 {busbw} {busbw:.2} 0 5932.4 {busbw} {busbw:.2} N/A\n")
}

#[test]
fn a_ring_is_as_fast_as_its_slowest_transfer() {
    let two = [("a", 3), ("a", 4)];
    let row = judged(&switch("-", ""), &collective("all_reduce", &two, 22.0));
    assert_eq!(
        (row.verdict.as_str(), row.device.as_deref()),
        ("as expected", Some("2 GPUs, gpu0 to gpu1")),
        "{row:#?}"
    );
    // Two GPUs below one switch: each of them is written to as fast as a pair is.
    let pair = &explain(&host(&switch("-", ""))).pairs[0];
    let ends = row.expected.high.zip(pair.write.high).expect("both are known");
    assert!((ends.0 / ends.1 - 1.0).abs() < 0.03, "{row:#?} {pair:#?}");
    for (busbw, verdict) in [(12.0, "low"), (60.0, "high")] {
        let row = judged(&switch("-", ""), &collective("all_reduce", &two, busbw));
        assert_eq!(row.verdict, verdict, "{row:#?}");
    }
    // Through root complexes nothing bounds it from below.
    let epyc = ours("epyc-4gpu-e12/host.md");
    let four = [("a", 0x01), ("a", 0x41), ("a", 0xc1), ("a", 0xe1)];
    let row = judged(&epyc, &collective("all_gather", &four, 14.5));
    assert!(row.verdict == "as expected" && row.expected.low.is_none(), "{row:#?}");
    assert!(row.expected.high.is_some_and(|h| (26.0..29.0).contains(&h)), "{row:#?}");
}

#[test]
fn what_is_no_ring_puts_more_on_links_that_are_shared() {
    // Pairs of GPUs behind two switches behind one root port: what goes from one pair to the other shares their ways.
    let dump = super::explained::large(4, 0);
    let four = [("a", 5), ("a", 6), ("a", 11), ("a", 12)];
    let ring = judged(&dump, &collective("all_reduce", &four, 40.0)).expected.high.expect("known");
    let exchange = judged(&dump, &collective("alltoall", &four, 40.0)).expected.high.expect("known");
    // Of three parts that each sends two leave its switch, and two do so: 4/3 of one GPU's on the switch's way up.
    assert!((ring / exchange - 4.0 / 3.0).abs() < 0.05, "{ring} {exchange}");
    let gather = judged(&dump, &collective("gather", &four, 40.0)).expected.high.expect("known");
    assert!(gather <= ring * 1.01, "{gather} {ring}");
}

#[test]
fn what_cannot_be_expected_of_a_collective_is_said() {
    let dump = switch("-", "");
    let why = |output: &str| {
        let row = judged(&dump, output);
        assert_eq!((row.verdict.as_str(), row.expected.high), ("not judged", None), "{row:#?}");
        row.because
    };
    assert!(why(&collective("all_reduce", &[("a", 3), ("b", 4)], 20.0)).contains("2 hosts"));
    assert!(why(&collective("all_reduce", &[("a", 3), ("a", 0x99)], 20.0)).contains("not all of its GPUs"));
    assert!(why(&collective("all_reduce", &[("a", 3)], 20.0)).contains("one GPU"));
    assert!(why(&collective("all_reduce", &[("a", 3), ("a", 3)], 20.0)).contains("share a GPU"));
    assert!(why(&collective("hypercube", &[("a", 3), ("a", 4)], 20.0)).contains("no closed form"));
    let whole = collective("all_reduce", &[("a", 3), ("a", 4)], 20.0);
    let head = whole.find("#   size").expect("the head of the table");
    assert!(why(&whole[head..]).contains("header is missing"));
    assert!(why(&whole[whole.find('#').unwrap_or(0)..]).contains("command line"));
    // NVLink is faster than PCI Express, and no dump says how fast.
    let joined =
        judged(&ours("oci-h100/H100-topology.xml"), &collective("all_reduce", &[("a", 0x0f), ("a", 0x2d)], 350.0));
    assert!(joined.verdict == "not judged" && joined.because.contains("NVLink"), "{joined:#?}");
}

/// An adapter of 25 Gb/s in a slot of Gen3 with so many lanes.
fn adapter(lanes: u32, name: &str) -> String {
    format!(
        "03:00.0 Ethernet controller: {name}\n\tNUMA node: 0\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
         \t\tDevCap:\tMaxPayload 256 bytes\n\t\tDevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\
         \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x{lanes}\n\t\tLnkSta:\tSpeed 8GT/s, Width x{lanes}\n"
    )
}

const PORT: &str = "Mellanox Technologies Card 25GbE";

#[test]
fn messages_are_held_against_slot_and_port() {
    let file = |name: &str| fixture(&format!("mpi/stackhpc-alaska-roce-gcc9-openmpi4-ucx-{name}.txt"));
    let run = |name: &str| text(&file(name).expect("a fixture of our own"));
    for (name, least) in [("IMB_PingPong", 2.8), ("Osu_bibw", 5.5), ("Osu_latency", 2.8)] {
        // The port binds: 25 Gb/s less headers.
        let row = judged(&adapter(8, PORT), &run(name));
        assert_eq!((row.verdict.as_str(), row.device.as_deref()), ("as expected", Some("nic0")), "{name} {row:#?}");
        assert!(row.because.contains("port of 25 Gb/s") && row.expected.low > Some(least - 0.4), "{name} {row:#?}");
        let both = if name == "Osu_bibw" { 2.0 } else { 1.0 };
        assert!(row.expected.high < Some(3.125 * both), "{name} {row:#?}");
        // A slot of two lanes carries less than was measured: that cannot have been this host.
        let row = judged(&adapter(2, PORT), &run(name));
        assert!(row.verdict == "high" && row.because.contains("one host"), "{name} {row:#?}");
        // Of an adapter whose port is not known the slot bounds it from above.
        let row = judged(&adapter(8, "Mellanox Technologies MT27700"), &run(name));
        assert!(row.expected.low.is_none() && row.because.contains("ethtool"), "{name} {row:#?}");
    }
}

#[test]
fn what_cannot_be_expected_of_messages_is_said() {
    let imb = |name: &str, ranks: u32| {
        format!(
            "#    Intel(R) MPI Benchmarks 2019 Update 5, MPI-1 part\n# Benchmarking {name}\n# #processes = {ranks}\n\
             #bytes #repetitions  t[usec]   Mbytes/sec\n      4194304    10   1400.00     2995.93\n"
        )
    };
    let why = |dump: &str, output: &str| {
        let row = judged(dump, output);
        assert_eq!((row.verdict.as_str(), row.expected.high), ("not judged", None), "{row:#?}");
        row.because
    };
    assert!(why(&adapter(8, PORT), &imb("Sendrecv", 8)).contains("more than two"));
    assert!(why(&switch("-", ""), &imb("PingPong", 2)).contains("no network adapter"));
    let allreduce = "# OSU MPI Allreduce Latency Test v5.6.2\n# Size       Avg Latency(us)\n1048576   900.0\n";
    assert!(why(&adapter(8, PORT), allreduce).contains("algorithm"));
    let device = "# OSU MPI-CUDA Bandwidth Test v5.6.2\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE \
        (D)\n# Size      Bandwidth (MB/s)\n4194304  3000.0\n";
    assert!(why(&adapter(8, PORT), device).contains("memory of a GPU"));
    // Two adapters of which no port is known: the text around the table tells them apart.
    let second = adapter(8, "Intel Corporation E810").replace("03:00.0", "04:00.0");
    let two = adapter(8, "Mellanox Technologies MT27700") + &second;
    let row = judged(&two, &imb("PingPong", 2));
    assert!(row.device.as_deref().is_some_and(|d| d.contains("taken as the fastest")), "{row:#?}");
}
