#![doc = "How many tags does a NIC need? A sweep of one key on all cores, as a table."]

use std::thread;

const TEXT: &str = r#"
    [parts.host]
    is = "root-complex"
    read_latency = "900 ns"
    [parts.nic]
    is = "endpoint"
    tags = 1
    max_read_request = "512 B"
    [links.slot]
    between = ["host", "nic"]
    pcie = "gen4 x8"
    mps = "256 B"
    [flows.fetch]
    from = "nic"
    to = "host.memory"
    do = "read"
    size = "64 KiB"
"#;

fn main() -> Result<(), lanescope::api::Error> {
    let model = lanescope::api::load("nic.toml", TEXT)?;
    let tags = [1, 2, 4, 8, 16, 32, 64, 128];
    let models = tags.map(|n| model.set("parts.nic.tags", &n.to_string()));
    let models = models.into_iter().collect::<Result<Vec<_>, _>>()?;
    // A model is not changed by what is asked of it, so threads may share it.
    let reports = thread::scope(|scope| {
        let asked: Vec<_> = models.iter().map(|m| scope.spawn(|| m.estimate())).collect();
        asked.into_iter().map(|a| a.join().expect("an estimate does not panic")).collect::<Vec<_>>()
    });
    let mut before = 0.0;
    for (n, report) in tags.iter().zip(&reports) {
        let flow = &report.flows[0];
        println!("{n:4} tags {:7.2} Gb/s, bound by {}", flow.share.typical / 1e9, flow.bound_by.resource);
        // More tags never give less, and with enough of them the link binds.
        assert!(flow.share.typical >= before);
        before = flow.share.typical;
    }
    assert_eq!(reports[0].flows[0].bound_by.resource, "read requests in flight");
    assert_eq!(reports[7].flows[0].bound_by.resource, "slots");
    Ok(())
}
