//! Messages and exit codes: what was typed is what they are about, and what they tell to do helps.

use crate::common::{GOOD, folder, out};

/// What was typed is what a message is about: the scenario behind `wire` nobody has written.
#[test]
fn wire_points_at_the_option_that_was_typed() {
    for (more, says) in [
        (&["gen3", "x3"][..], "GENERATION LANES \"gen3 x3\": there is no width"),
        (&["gen9", "x8"], "GENERATION LANES \"gen9 x8\": there is no generation"),
        (&["gen3", "x8", "--request", "0 B"], "--request \"0 B\": a payload size cannot be 0 B"),
        (&["gen3", "x8", "--payload", "256"], "TLP: it has no unit; 1 B to 4 KiB, e.g. \"256 B\""),
        (&["gen3", "x8", "--payload", "128"], "e.g. \"128 B\""),
        (&["gen3", "x8", "--header", "5DW"], "--header \"5DW\": expected \"3DW\""),
        (&["gen3", "x8", "--ack-every", "0"], "--ack-every \"0\": expected a whole number from 1, or \"never\""),
        (&["gen3", "x8", "--completion", "3"], "--completion \"3\": a size needs its unit"),
    ] {
        let (_, said) = out(&[&["wire", "pcie"], more].concat(), 2);
        assert!(said.contains(says), "{said}");
        assert!(!said.contains("wire:") && !said.contains("bare number"), "{said}");
        assert_eq!(said.matches("error").count(), 1, "{said}");
    }
    let [written, typed] = ["gen3", "Gen3"].map(|g| out(&["wire", "pcie", g, "x8"], 0).0);
    assert_eq!(written, typed);
}

/// A part is listed as what was written for it, though it is an endpoint to PCI Express; and an endpoint is no drive.
#[test]
fn a_plan_lists_parts_as_they_are_stated() {
    let text = |part: &str| {
        format!(
            "[parts.host]\nis = \"root-complex\"\n[parts.d]\n{part}\n[links.a]\nbetween = [\"host\", \"d\"]\npcie = \
             \"gen5 x4\"\n[flows.a]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\naccess = [{{ size = \"4 KiB\", random = \
             \"100 %\" }}]\noutstanding = 4\n"
        )
    };
    let (_dir, file) = folder(&text("is = \"nvme\""));
    let (plan, _) = out(&["plan", &file], 0);
    let is = plan.lines().any(|l| l.split_whitespace().take(2).eq(["is", "nvme"]));
    assert!(is && !plan.contains("host-adapter"), "{plan}");
    let (_dir, file) = folder(&text("use = \"today/nvme-gen5\""));
    let (_, said) = out(&["plan", &file], 2);
    assert!(said.contains("d is an endpoint") && said.contains("is = \"nvme\" makes a drive of it"), "{said}");
}

/// Every message was exchanged, though none over a link; and what is sent again for ever is no answer.
#[test]
fn the_code_says_whether_every_load_is_answered() {
    let pair = "[parts.node]\nis = \"channel-adapter\"\ncount = 2\n[links.cable]\nbetween = [\"node.0\", \"node.1\"]\n\
        infiniband = \"edr 4x\"\n[flows.pp]\ndo = \"mpi\"\nranks = [\"node.0\", \"node.0\"]\n\
        benchmark = \"imb PingPong\"\nsizes = [\"0 B\", \"1 KiB\"]\n";
    let (_dir, file) = folder(pair);
    for method in ["estimate", "simulate", "run"] {
        out(&[method, &file], 0);
    }
    let endless = "[parts.host]\nis = \"station\"\ncount = 3\nretransmission_timeout = \"20 us\"\n[parts.switch]\n\
        is = \"ethernet-switch\"\nscheduling = \"strict\"\nmemory = \"200 kB\"\n[links.net]\n\
        between = [\"host.*\", \"switch\"]\nethernet = \"100 Gb/s\"\n\
        [flows.high]\nfrom = \"host.1\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\npriority = 1\n\
        [flows.low]\nfrom = \"host.2\"\nto = \"host.0\"\ndo = \"send\"\nsize = \"4000 B\"\ntransport = \"rocev2\"\n\
        load = { rate = \"1 Gb/s\" }\n[run]\nfor = \"1 ms\"\nwarmup = \"0 s\"\n";
    let (_dir, file) = folder(endless);
    out(&["run", &file], 1);
}

/// What a message tells to do is what helps: of a card without a link, of a list where there is a pattern.
#[test]
fn hints_lead_on() {
    let lone = GOOD.replace("[links.slot]", "[parts.other]\nis = \"endpoint\"\n[links.slot]");
    let (_dir, file) = folder(&lone.replace("from = \"card\"", "from = \"other\""));
    let (_, said) = out(&["check", &file], 2);
    assert!(said.contains("no link has other at an end") && !said.contains("root complexes"), "{said}");
    let (_dir, file) = folder(
        "[parts.host]\nis = \"station\"\ncount = 3\n[parts.sw]\nis = \"ethernet-switch\"\n[links.lan]\n\
         between = [\"host.*\", \"sw\"]\nethernet = \"10 Gb/s\"\n[flows.f]\nfrom = [\"host.1\", \"host.2\"]\n\
         to = \"host.0\"\ndo = \"send\"\nsize = \"1500 B\"\n",
    );
    let (_, said) = out(&["check", &file], 2);
    assert!(said.contains("\"host.1-4\""), "{said}");
    out(&["check", &file, "--set", "flows.f.from=host.1-2"], 0);
    // The footer's two lines are two commands each.
    let (help, _) = out(&["--help"], 0);
    let (_dir, file) = folder(&out(&["new", "--gpus"], 0).0);
    assert!(help.contains("lanescope new --gpus > my.toml && lanescope collective all_reduce my.toml"), "{help}");
    out(&["collective", "all_reduce", &file], 0);
}

/// What cannot be is answered with what can, in words.
#[test]
fn wire_says_what_completions_it_uses() {
    for (payload, completion, words) in [
        ("128 B", "256 B", "completions of 128 B (256 B are cut at MPS)"),
        ("512 B", "1024 B", "completions of 512 B (1 KiB are cut at"),
        ("256 B", "256 B", "completions of 256 B, nothing else"),
    ] {
        let (text, _) = out(&["wire", "pcie", "gen5", "x4", "--payload", payload, "--completion", completion], 0);
        assert!(text.contains(words), "{text}");
    }
}
