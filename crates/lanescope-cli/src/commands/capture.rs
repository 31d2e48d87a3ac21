//! What crosses one Ethernet link, on its way into a file for Wireshark.

use lanescope::diagnostic::nearest;
use lanescope::pens::pcapng::Pcapng;
use lanescope::plan::Plan;
use lanescope::sim::Run;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Frames of a capture at most.
const MOST_FRAMES: u64 = 10_000_000;
/// Bytes of one at most.
const MOST_BYTES: u64 = 4 << 30;
/// Names of links that an error lists.
const NAMES: usize = 8;

/// The number of the link to capture: the one that was named; else the only one, or the first on the way of the first
/// flow.
pub(super) fn link(plan: &Plan, wanted: Option<&str>) -> Result<usize, String> {
    let network = &plan.network;
    let named = |name: &str| network.links.iter().position(|l| l.name == name);
    if network.links.is_empty() {
        return Err("--pcap writes frames of Ethernet, and no link of this scenario is Ethernet".into());
    }
    let Some(name) = wanted.map(|w| w.strip_prefix("links.").unwrap_or(w)) else {
        // A station has one port.
        return Ok(network.streams.first().map_or(0, |s| network.out(s.source, 0) as usize / 2));
    };
    // A table that makes one link is known by its own name too.
    let alone = || {
        let mut all = network.links.iter().enumerate().filter(|(_, l)| l.group == name);
        all.next().filter(|_| all.next().is_none()).map(|(i, _)| i)
    };
    if let Some(at) = named(name).or_else(alone) {
        return Ok(at);
    }
    if plan.links.iter().any(|l| l.name == name) {
        return Err(format!("--pcap-link: links.{name} is PCIe, and --pcap writes frames of Ethernet"));
    }
    let names = || network.links.iter().map(|l| l.name.as_str());
    let mut near: Vec<&str> = network.links.iter().filter(|l| l.group == name).map(|l| l.name.as_str()).collect();
    if near.is_empty() {
        near.extend(nearest(name, names()));
    }
    let (words, list): (_, Vec<&str>) = match near.is_empty() {
        false => ("did you mean", near),
        true => ("links are", names().collect()),
    };
    let more = if list.len() > NAMES { format!(" … {}", list[list.len() - 1]) } else { String::new() };
    let list = list[..list.len().min(NAMES)].join(", ");
    let end = if words == "did you mean" { "?" } else { "" };
    Err(format!("--pcap-link: there is no Ethernet link {name:?}; {words} {list}{more}{end}"))
}

/// A capture being written.
pub(super) struct Capture {
    /// `None` when it is as long as it may be.
    pen: Option<Pcapng<BufWriter<File>>>,
    file: String,
    link: String,
    frames: u64,
}

impl Capture {
    /// Begins a file, and the capture of a link in a run that has not begun.
    pub(super) fn create(
        path: &Path,
        plan: &Plan,
        link: usize,
        snaplen: u32,
        run: &mut Run,
    ) -> Result<Capture, String> {
        let (file, name) = (path.display().to_string(), plan.network.links[link].name.clone());
        let out = File::create(path).map_err(|e| format!("{file}: {e}"))?;
        let pen = Pcapng::new(BufWriter::new(out), &name, snaplen).map_err(|e| format!("{file}: {e}"))?;
        run.capture(link);
        Ok(Capture { pen: Some(pen), file, link: name, frames: 0 })
    }

    /// Writes what has crossed since the last time; to be called after every piece of a run, which keeps it until then.
    pub(super) fn take(&mut self, run: &mut Run) -> Result<(), String> {
        let wrong = |e: std::io::Error| format!("{}: {e}", self.file);
        for crossed in run.crossed() {
            let Some(pen) = &mut self.pen else { break };
            pen.frame(&crossed).map_err(wrong)?;
            self.frames += 1;
            if (self.frames >= MOST_FRAMES || pen.bytes() >= MOST_BYTES)
                && let Some(pen) = self.pen.take()
            {
                pen.finish().map_err(wrong)?;
                crate::output::say!("note: {} ends after {} frames; the simulation goes on", self.file, self.frames);
            }
        }
        Ok(())
    }

    /// Ends the file.
    pub(super) fn finish(self) -> Result<(), String> {
        if let Some(pen) = self.pen {
            pen.finish().map_err(|e| format!("{}: {e}", self.file))?;
        }
        crate::output::say!("wrote {}, {} frames of links.{}", self.file, self.frames, self.link);
        Ok(())
    }
}
