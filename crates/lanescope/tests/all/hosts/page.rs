//! The page of one file: nothing of a dump becomes markup, nothing is fetched, and no dump makes it large.

use super::explained::{large, switch};
use super::{dumps, explained, host};
use crate::common::choices::{cases, runner};
use lanescope::explain::{Explained, measured, simulate};
use lanescope::pens::explain::{MOST, page};
use proptest::collection::vec;
use proptest::prelude::*;

/// The page as XML: it is written so that a strict parser reads it.
fn elements(page: &str) -> Vec<String> {
    let text = page.strip_prefix("<!DOCTYPE html>\n").expect("a document type");
    let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}\n{page}"));
    let of = |n: roxmltree::Node| {
        let attributes = n.attributes().map(|a| a.name().to_owned()).collect::<Vec<_>>().join(" ");
        format!("{} {attributes}", n.tag_name().name())
    };
    document.descendants().filter(|n| n.is_element()).map(of).collect()
}

/// Neither scripts nor anything that a browser would fetch.
fn closed(page: &str) {
    assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme:dark"), "{page}");
    for element in elements(page) {
        let (name, attributes) = element.split_once(' ').expect("a name");
        assert!(
            !["script", "img", "link", "iframe", "object", "a", "form", "image", "use"].contains(&name),
            "{element}"
        );
        let loads = |a: &str| a.starts_with("on") || ["src", "href", "action", "srcset"].contains(&a);
        assert!(!attributes.split(' ').any(loads), "{element}");
    }
    assert!(!page.contains("url(") && !page.contains("@import"));
}

#[test]
fn every_dump_has_a_page_that_is_small_and_closed() {
    for (name, text) in dumps() {
        let page = page(&explained(&text), None);
        assert!(page.len() < MOST, "{name}: {}", page.len());
        closed(&page);
    }
}

#[test]
fn a_large_host_has_a_small_page() {
    let report = explained(&large(64, 0));
    let picture = format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><!--{}--></svg>", "x".repeat(MOST));
    let page = page(&report, Some(&picture));
    assert!(page.len() < MOST && page.contains("--svg DIR"), "{}", page.len());
    let all = report.devices.iter().all(|d| page.contains(&d.id));
    assert!(all || page.contains("more: lanescope explain --all"), "what is left out is said");
    closed(&page);
}

#[test]
fn a_page_holds_what_the_report_holds() {
    let host = host(&switch("-", ""));
    let mut report = explained(&switch("-", ""));
    simulate::simulate(&host, &mut report, &mut || true);
    measured::compare(&host, &mut report, measured::read("numbers", "gpu0 to memory,11\n").expect("rows"));
    let page = page(&report, Some("<svg xmlns=\"http://www.w3.org/2000/svg\"><g/></svg>"));
    for words in ["gpu0", "low: ", "what would explain", "± ", "16 GT/s x16", "both ways", "Not in the dumps", "<svg"]
    {
        assert!(page.contains(words), "{words}\n{page}");
    }
    closed(&page);
}

/// Names out of a dump stand in the page as text, whatever they are.
#[test]
fn names_never_become_markup() {
    let dump = |name: &str| {
        switch("-", "").replace("NVIDIA Corporation X", name).replace("A B", name)
            + &format!("\tKernel driver in use: {name}\nroot@{name}:~# lspci\n")
    };
    let pieces = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</style>",
        "]]>",
        "<!--",
        "-->",
        "&lt;",
        "&#60;",
        "'",
        "\"",
        "</title>",
        "<svg onload=x>",
        "javascript:",
        "\u{202e}",
        "\u{1b}[31m",
        "\u{0}",
        "ü",
        "{{",
        "</td>",
    ];
    let word = prop_oneof![(0..pieces.len()).prop_map(move |n| pieces[n].to_owned()), "\\PC{0,12}"];
    let before = explained(&dump("NVIDIA Corporation Y"));
    let plain = elements(&page(&before, None));
    let shape = |r: &Explained| {
        let lines = r.findings.iter().map(|f| f.evidence.len() + f.also.len()).sum::<usize>();
        [
            r.devices.len(),
            r.links.len(),
            r.pairs.len(),
            r.findings.len(),
            lines,
            r.unknown.len(),
            r.notes.len(),
            r.together.len(),
        ]
    };
    let alike = std::cell::Cell::new(0_u64);
    let law = |words: Vec<String>| {
        let name = format!("NVIDIA Corporation {}", words.concat().replace(['\n', '\r'], " "));
        let report = explained(&dump(&name));
        let written = page(&report, None);
        closed(&written);
        // The same elements, whatever the names are, as long as they change nothing of what was read.
        if shape(&report) == shape(&before) {
            alike.set(alike.get() + 1);
            prop_assert_eq!(elements(&written).len(), plain.len(), "{}", name);
        }
        let odd = written.chars().find(|c| c.is_control() && *c != '\n');
        prop_assert!(odd.is_none(), "{:?}", odd);
        Ok(())
    };
    runner(ProptestConfig::default()).run(&vec(word, 1..5), law).expect("no markup");
    let (fixed, fresh, _) = cases();
    assert!(4 * alike.get() > fixed + fresh, "{} pages were compared", alike.get());
}
