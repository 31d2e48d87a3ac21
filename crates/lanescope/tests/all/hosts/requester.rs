//! Findings of a device's own control register: tags, and the order of its writes.

use super::explained;
use super::explained::switch;
use lanescope::explain::{Explained, Finding};

fn of<'a>(report: &'a Explained, kind: &str) -> Vec<&'a Finding> {
    report.findings.iter().filter(|f| f.kind == kind).collect()
}

/// The two GPUs below a switch, with this control register.
fn with(control: &str, speed: &str) -> Explained {
    let text = switch("-", "").replace("16GT/s", speed);
    let old = "DevCtl:\tMaxPayload 256 bytes, MaxReadReq 512 bytes";
    assert!(text.contains(old));
    explained(
        &text.replace(
            old,
            &format!("DevCtl:\tCorrErr+\n\t\t\t{control}\n\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes"),
        ),
    )
}

#[test]
fn few_tags_cost_what_the_estimate_says() {
    let report = with("RlxdOrd+ ExtTag- PhantFunc-", "32GT/s");
    let found = of(&report, "few-tags");
    // 32 requests of 128 B in flight do not fill Gen5 x16 over any round trip of a server.
    assert!(found.len() == 1 && found[0].cost > 10.0 && !found[0].also.is_empty(), "{:#?}", report.findings);
    assert!(found[0].text.contains("32 reads of 128 B") && found[0].evidence[0].contains("DevCtl"), "{found:#?}");
    // With extended tags, or where the link is slow, there is nothing to say.
    assert!(of(&with("RlxdOrd+ ExtTag+ PhantFunc-", "32GT/s"), "few-tags").is_empty());
    assert!(of(&with("RlxdOrd+ ExtTag- PhantFunc-", "8GT/s"), "few-tags").is_empty());
    // What the dump does not say is no finding.
    assert!(of(&explained(&switch("-", "")), "few-tags").is_empty());
}

#[test]
fn ordered_writes_of_peers_are_a_risk() {
    let report = with("RlxdOrd- ExtTag+ PhantFunc-", "16GT/s");
    let found = of(&report, "relaxed-ordering");
    assert!(found.len() == 1 && found[0].cost == 0.0 && found[0].also == ["gpu1"], "{:#?}", report.findings);
    assert!(found[0].text.contains("At risk") && found[0].evidence[0].contains("DevCtl"), "{found:#?}");
    assert!(of(&with("RlxdOrd+ ExtTag+ PhantFunc-", "16GT/s"), "relaxed-ordering").is_empty());
    // A GPU that has nobody to write to.
    let alone = "01:00.0 3D controller: NVIDIA Corporation X\n\tCapabilities: [60] Express (v2) Endpoint, MSI \
        00\n\t\tDevCtl:\tCorrErr+\n\t\t\tRlxdOrd- ExtTag+\n\t\t\tMaxPayload 256 bytes, MaxReadReq 512 \
        bytes\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 16GT/s, Width x16\n";
    assert!(of(&explained(alone), "relaxed-ordering").is_empty());
}
