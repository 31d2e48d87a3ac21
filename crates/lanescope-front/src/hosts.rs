//! Real hosts out of files, folders and texts, for `explain`.

use crate::files::lossy;
use crate::gather::{self, MAX_DUMP};
use lanescope::diagnostic::Diagnostics;
use lanescope::explain;
use lanescope::import::host::{self, Dump, Host};
use lanescope::library::Library;
use lanescope::pens;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a dump, or `-` for standard input.
///
/// # Errors
///
/// A file that cannot be read, or is longer.
pub fn read(file: &str) -> Result<String, String> {
    lossy(file, MAX_DUMP, "a dump")
}

/// The links of a host, drawn as those of a scenario are; none where no device is behind a link of known speed.
pub fn picture(host: &Host) -> Option<String> {
    let text = explain::scenario::emit(host);
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "host".into(), text, author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library)?;
    let report = lanescope::estimate::estimate(&plan, &diagnostics);
    Some(pens::svg::topology(&plan, &report, pens::svg::Method::Estimate))
}

/// What was read of the arguments: texts, and folders of files.
enum Source {
    Text(String, String),
    Files(String, BTreeMap<String, Vec<u8>>),
}

/// Reads dumps of one host, files or folders of files; without one, this host. More than one host only where a dump
/// itself holds several.
///
/// # Errors
///
/// What cannot be read, or is empty.
pub fn hosts(dumps: &[String]) -> Result<Vec<Host>, String> {
    hosts_and_texts(dumps, &[])
}

/// The same with dumps that are texts already: a name and the text.
///
/// # Errors
///
/// Those of [`hosts`].
pub fn hosts_and_texts(dumps: &[String], texts: &[(String, String)]) -> Result<Vec<Host>, String> {
    let mut sources: Vec<Source> = texts.iter().map(|(name, text)| Source::Text(name.clone(), text.clone())).collect();
    if dumps.is_empty() && texts.is_empty() {
        let files = gather::this_host(Path::new("/"));
        if files.is_empty() {
            return Err("this host has no /sys/bus/pci; give a dump: lspci -vvv > dump.txt".into());
        }
        sources.push(Source::Files("this host".into(), files));
    }
    for dump in dumps {
        let path = Path::new(dump);
        if !path.is_dir() {
            let text = read(dump)?;
            if text.trim().is_empty() {
                return Err(format!("{dump}: it is empty; sudo lspci -vvv > dump.txt writes what explain reads best"));
            }
            sources.push(Source::Text(dump.clone(), text));
            continue;
        }
        // A folder: texts at its top, and files of sysfs below.
        let mut files = gather::folder(path)?;
        let texts: Vec<String> = files.keys().filter(|k| !k.contains('/')).cloned().collect();
        for name in texts {
            if let Some(bytes) = files.remove(&name) {
                sources.push(Source::Text(format!("{dump}/{name}"), String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        if !files.is_empty() {
            sources.push(Source::Files(dump.clone(), files));
        }
    }
    let dumps: Vec<Dump> = sources
        .iter()
        .map(|s| match s {
            Source::Text(name, text) => Dump::Text { name: name.clone(), text },
            Source::Files(name, files) => Dump::Files { name: name.clone(), files },
        })
        .collect();
    Ok(host::read(&dumps))
}
