#![doc = "Reads that wait for their tags: closed form and packet by packet, with the run watched and stopped."]

fn main() -> Result<(), lanescope::api::Error> {
    let text = r#"
        [parts.host]
        is = "root-complex"
        read_latency = "600 ns"
        [parts.nic]
        is = "endpoint"
        tags = 8
        max_read_request = "512 B"
        [links.slot]
        between = ["host", "nic"]
        pcie = "gen3 x8"
        mps = "256 B"
        [flows.fetch]
        from = "nic"
        to = "host.memory"
        do = "read"
        size = "4 KiB"
    "#;
    let model = lanescope::api::load("fetch.toml", text)?;
    let report = model.simulate()?;
    let simulation = report.simulation.as_ref().expect("it was simulated");
    let (share, simulated) = (report.flows[0].share.typical, simulation.flows[0].rate.mean);
    assert!((simulated / share - 1.0).abs() < 0.02, "{simulated} of {share}");
    // Little's law: what is in flight is rate x latency.
    let flow = &simulation.flows[0];
    assert!((flow.in_flight / flow.little - 1.0).abs() < 0.02);

    // A run may be watched, and stopped: what was found until then is the answer.
    let early = model.simulate_while(7, |run| run.progress() < 0.5)?;
    assert!(early.simulation.is_some());
    Ok(())
}
