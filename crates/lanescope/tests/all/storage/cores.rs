//! Workers that share cores: the time of a core is theirs together, in both methods.

use crate::common::{has, plan, run as answer, simulate, simulated, within, wrong};

/// Four workers whose cores are all that holds them up: 4 us of each I/O.
fn text(more: &str) -> String {
    format!(
        r#"
[parts.host]
is = "root-complex"
[parts.drive]
is = "nvme"
channels = 32
dies = 16
command_time = "200 ns"
[links.slot]
between = ["host", "drive"]
pcie = "gen4 x4"
[flows.io]
from = "host"
to = "drive"
do = "io"
submit_time = "3 us"
complete_time = "1 us"
access = {{ size = "4 KiB", random = "100 %", align = "4 KiB" }}
outstanding = 64
workers = 4
{more}
[run]
for = "5 ms"
warmup = "1 ms"
"#
    )
}

#[test]
fn a_core_gives_its_time_to_its_workers() {
    for (cores, of) in [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0)] {
        let text = text(&format!("cores = {cores}"));
        let (e, s) = (answer(&text, &[]), simulate(&text, &[]));
        let most = of * 250_000.0;
        let [estimated, seen] =
            [e.flows[0].share.typical, simulated(&s, "io").rate.mean].map(|rate| rate / 8.0 / 4096.0);
        // Of three cores one has two workers, and each keeps its own I/Os outstanding: all cores are busy all the time.
        within(0.02, seen, most);
        within(0.02, estimated, most);
        assert!(estimated <= e.flows[0].bound.typical / 8.0 / 4096.0 * (1.0 + 1e-9));
        within(0.02, e.flows[0].bound.typical / 8.0 / 4096.0, most);
        within(1e-12, simulated(&s, "io").in_flight, 256.0);
        let ios = simulated(&s, "io").ios.as_ref().expect("I/Os");
        let busy: f64 = (0..4).map(|w| ios.seen.busy_of(w)).sum::<f64>() / ios.seen.time;
        within(0.02, busy, of);
    }
}

/// A core that several share is named so.
#[test]
fn what_binds_is_a_core() {
    let text = text("cores = 2").replace("outstanding = 64", "outstanding = 256");
    let (planned, d) = plan(&text, &[]);
    let storage = planned.unwrap_or_else(|| panic!("{d}")).storage;
    assert_eq!([0, 1].map(|w| storage.core_of(w)), ["core of worker 0 and 1 more", "core of worker 1 and 1 more"]);
    let by = simulated(&simulate(&text, &[]), "io").bound_by.resource.clone();
    assert!(by.starts_with("core of worker "), "{by}");
}

/// As many cores as workers, or more, are what there is without the key.
#[test]
fn cores_of_their_own_change_nothing() {
    let [none, four, nine] = ["", "cores = 4", "cores = 9"].map(|more| simulate(&text(more), &[]));
    assert_eq!(none.flows, four.flows);
    assert_eq!(none.flows, nine.flows);
}

/// Who polls never gives its core away.
#[test]
fn polling_on_fewer_cores_than_workers_is_refused() {
    has(
        &wrong(&text("cores = 2\ncompletions = \"polling\""), &[]),
        &["4 workers poll on 2 cores", "as many cores as workers", "interrupts"],
    );
    has(&wrong(&text("cores = 3\nhost_software = \"spdk\""), &[]), &["4 workers poll on 3 cores"]);
    has(&wrong(&text("cores = 0"), &[]), &["cores"]);
    assert!(plan(&text("cores = 4\nhost_software = \"spdk\""), &[]).0.is_some());
}
