#![doc = "A card writes to host memory: what it gets, what binds it, and what the next step up would give."]

fn main() -> Result<(), lanescope::api::Error> {
    let text = r#"
        [parts.host]
        is = "root-complex"
        [parts.card]
        is = "endpoint"
        [links.slot]
        between = ["host", "card"]
        pcie = "gen3 x8"
        mps = "256 B"
        [flows.capture]
        from = "card"
        to = "host.memory"
        do = "write"
        size = "4 KiB"
    "#;
    let model = lanescope::api::load("capture.toml", text)?;
    let report = model.estimate();
    let flow = &report.flows[0];
    assert_eq!(flow.bound_by.element, "links.slot toward host");
    // 63.02 Gb/s after line coding, 256 of 280 B of each TLP, one block of 375 an ordered set.
    assert!((flow.share.typical / 57.46e9 - 1.0).abs() < 1e-3);
    println!("{}", lanescope::api::text(&report));

    // The same card in a Gen4 slot.
    let faster = model.set("links.slot.pcie", "gen4 x8")?.estimate();
    assert!(faster.flows[0].share.typical > 1.9 * flow.share.typical);

    // Mistakes carry their place and what to do.
    let mistake = model.set("parts.card.tag", "8").expect_err("there is no such key");
    assert!(mistake.to_string().contains("tags"));
    Ok(())
}
