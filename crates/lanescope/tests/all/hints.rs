//! Hints that help: what somebody else's word is called here, what there is in place of what there is not, and the one
//! message that says what is wrong.

use crate::common::{has, plan, wrong};

const HOST: &str = "[parts.host]\nis = \"root-complex\"\n[parts.nic]\nis = \"endpoint\"\n[links.slot]\n\
    between = [\"host\", \
    \"nic\"]\npcie = \"gen3 x8\"\n[flows.rx]\nfrom = \"nic\"\nto = \"host.memory\"\ndo = \"read\"\nsize = \"2 KiB\"\n";

const DRIVE: &str = "[parts.host]\nis = \"root-complex\"\n[parts.d]\nis = \"nvme\"\n[links.slot]\nbetween = [\"host\", \
    \"d\"]\npcie = \"gen3 x4\"\n[flows.io]\nfrom = \"host\"\nto = \"d\"\ndo = \"io\"\naccess = { size = \"4 KiB\" }\n";

#[test]
fn usual_abbreviations_are_understood() {
    let of = |table: &str, key: &str| wrong(&format!("{HOST}[parts.x]\nis = {table:?}\n{key} = 1\n"), &[]);
    for (key, long) in [("mrrs", "max_read_request"), ("MRRS", "max_read_request"), ("mps", "max_payload")] {
        has(&of("endpoint", key), &[&format!("did you mean {long}?")]);
    }
    for (key, long) in [("qd", "outstanding"), ("iodepth", "outstanding"), ("numjobs", "workers")] {
        has(&wrong(&format!("{DRIVE}{key} = 1\n"), &[]), &[&format!("did you mean {long}?")]);
    }
    has(&wrong(&format!("{DRIVE}bs = \"4 KiB\"\n"), &[]), &["size is a field of a line: access = { size = … }"]);
    has(&wrong(&HOST.replace("size =", "bs ="), &[]), &["did you mean size?"]);
}

/// Another number is another thing, and no misspelling.
#[test]
fn a_level_that_there_is_not_is_no_typo() {
    let array = |level: &str| format!("{DRIVE}[parts.a]\nis = \"array\"\nlevel = {level:?}\ndisks = [\"d\"]\n");
    for level in ["raid6", "raid50", "RAID4", "raid"] {
        let said = wrong(&array(level), &[]);
        has(&said, &["raid0, raid1, raid5, raid10"]);
        assert!(!said.contains("did you mean"), "{said}");
    }
    has(&wrong(&array("riad5"), &[]), &["did you mean \"raid5\"?"]);
    has(&wrong(&array("RAID5"), &[]), &["did you mean \"raid5\"?"]);
}

#[test]
fn a_place_and_a_size_that_there_are_not() {
    let store = HOST.replace("is = \"root-complex\"", "is = \"root-complex\"\nstore_size = \"256 B\"");
    has(&wrong(&store, &[]), &["store_size", "one load or store cannot be 256 B", "or 64 B"]);
    let peer = HOST.replace("to = \"host.memory\"", "to = \"gpu.0.memory\"")
        + "[parts.gpu]\nis = \"endpoint\"\ncount = 2\n[links.g]\nbetween = [\"host\", \"gpu.*\"]\npcie = \"gen3 x8\"\n";
    has(&wrong(&peer, &[]), &["a device has no place \"memory\"", "write \"gpu.0\"", "of a root complex"]);
}

/// As many as a requester's field has bits for, at the speed of its link (2.0 and 4.0, 2.2.6.2).
#[test]
fn tags_beyond_the_field_are_a_warning() {
    let of = |pcie: &str, tags: u32| {
        let text = HOST.replace("gen3", pcie).replace("\"endpoint\"", &format!("\"endpoint\"\ntags = {tags}"));
        let (plan, said) = plan(&text, &[]);
        assert!(plan.is_some(), "{said}");
        said.to_string()
    };
    for (pcie, most) in [("gen1", 256), ("gen3", 256), ("gen4", 1024), ("gen5", 1024), ("gen6", 16_384)] {
        assert!(!of(pcie, most).contains("tags"), "{pcie} {most}");
        if most < 16_384 {
            has(&of(pcie, most + 1), &["warning", &format!("has {most} ("), "10 from 4.0 on"]);
        }
    }
}

/// What could not be plugged is not also told to be connected to nothing.
#[test]
fn a_full_switch_is_one_message() {
    for count in [25, 32, 64] {
        let text = format!(
            "[parts.n]\nis = \"channel-adapter\"\ncount = {count}\n[parts.sw]\nis = \"infiniband-switch\"\nports = 24\n\
             [links.c]\nbetween = [\"n.*\", \"sw\"]\ninfiniband = \"edr 4x\"\n[flows.p]\ndo = \"mpi\"\n\
             ranks = [\"n.*\"]\n\
             benchmark = \"imb PingPong\"\n"
        );
        let said = wrong(&text, &[]);
        has(&said, &["sw has no free port: it has 24"]);
        assert!(!said.contains("not connected"), "{count}: {said}");
    }
}

/// Keys that count for nothing, one of each mechanism, in scenarios that are right but for that.
#[test]
fn keys_without_effect_are_warned_of() {
    let lan = |switch: &str| {
        format!(
            "[parts.h]\nis = \"station\"\ncount = 2\n[parts.s]\nis = \"ethernet-switch\"\n{switch}[links.l]\n\
            between = [\"h.*\", \
             \"s\"]\nethernet = \"10 Gb/s\"\n[flows.f]\nfrom = \"h.0\"\nto = \"h.1\"\ndo = \"send\"\n\
             size = \"1500 B\"\n"
        )
    };
    let ranks = |flow: &str| {
        format!(
            "[parts.n]\nis = \"channel-adapter\"\ncount = 4\n[parts.sw]\nis = \"infiniband-switch\"\n[links.c]\n\
            between = \
             [\"n.*\", \"sw\"]\ninfiniband = \"edr 4x\"\n[flows.p]\ndo = \"mpi\"\nranks = [\"n.*\"]\n{flow}"
        )
    };
    let said = |text: &str| {
        let (plan, said) = plan(text, &[]);
        assert!(plan.is_some(), "{said}");
        said.to_string()
    };
    for (key, without, with) in [
        ("weights", lan("weights = { 3 = 20 }\n"), lan("weights = { 3 = 20 }\nscheduling = \"weighted\"\n")),
        ("lossless", lan("lossless = [3]\n"), lan("lossless = [0]\nflow_control = \"pfc\"\n")),
        (
            "ecn_low",
            lan("ecn_low = \"100 KiB\"\n"),
            lan("ecn_low = \"100 KiB\"\nflow_control = \"pfc\"\ncongestion_control = \"dcqcn\"\n"),
        ),
        (
            "sizes",
            ranks("benchmark = \"npb is.A\"\nsizes = [\"8 B\"]\n"),
            ranks("benchmark = \"imb PingPong\"\nsizes = [\"8 B\"]\n"),
        ),
        (
            "eager",
            ranks("benchmark = \"imb PingPong\"\ninterface = \"verbs\"\neager = \"4 KiB\"\n"),
            ranks("benchmark = \"imb PingPong\"\neager = \"4 KiB\"\n"),
        ),
    ] {
        has(&said(&without), &["warning", &format!("{key} has no effect"), "it counts with"]);
        assert!(!said(&with).contains("no effect"), "{key}: {}", said(&with));
    }
}
