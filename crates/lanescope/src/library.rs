//! The devices, platforms and studies that come with the program, embedded in it as text.
//!
//! Names are paths without their ending: `example/nic-25g` is `platforms/example/nic-25g.toml`.

use crate::scenario::tree::Author;
use crate::scenario::{Included, Resolver};
use include_dir::{Dir, include_dir};

static PLATFORMS: Dir = include_dir!("$CARGO_MANIFEST_DIR/platforms");
static STUDIES: Dir = include_dir!("$CARGO_MANIFEST_DIR/studies");

/// One entry of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `example/nic-25g`.
    pub name: String,
    /// `device` or `platform`.
    pub kind: String,
    /// What it is, in a line.
    pub about: String,
}

/// Resolves library names, and nothing else.
pub struct Library;

impl Resolver for Library {
    fn resolve(&self, reference: &str, _from: &str) -> Result<Included, String> {
        let text = platform_text(reference).ok_or_else(|| format!("the library has no {reference:?}"))?;
        Ok(Included { name: format!("platforms/{reference}.toml"), text: text.to_owned(), author: Author::Library })
    }

    fn names(&self) -> Vec<String> {
        platforms().into_iter().map(|e| e.name).collect()
    }
}

fn files<'a>(dir: &'a Dir<'a>, out: &mut Vec<(String, &'a str)>) {
    for file in dir.files() {
        if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8()) {
            out.push((path.to_owned(), text));
        }
    }
    for inner in dir.dirs() {
        files(inner, out);
    }
}

/// All devices and platforms, by name.
pub fn platforms() -> Vec<Entry> {
    let mut all = Vec::new();
    files(&PLATFORMS, &mut all);
    let mut entries: Vec<Entry> = all
        .into_iter()
        .filter_map(|(path, text)| {
            let name = path.strip_suffix(".toml")?.to_owned();
            let line = |key: &str| {
                let found = text.lines().find_map(|l| l.strip_prefix(key)?.trim_start().strip_prefix('='))?;
                Some(found.trim().trim_matches('"').to_owned())
            };
            Some(Entry { name, kind: line("kind").unwrap_or_default(), about: line("about").unwrap_or_default() })
        })
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// The keys and values of a file of the library, which is TOML; null where it is not.
pub fn as_json(text: &str) -> serde_json::Value {
    toml::from_str(text).unwrap_or_default()
}

/// The text of a device or platform.
pub fn platform_text(name: &str) -> Option<&'static str> {
    PLATFORMS.get_file(format!("{name}.toml"))?.contents_utf8()
}

/// A scenario that starts from a platform: its name, and a flow to fill in.
pub fn starter(platform: &str) -> Option<String> {
    let text = platform_text(platform)?;
    let mut diagnostics = crate::diagnostic::Diagnostics::default();
    let included = Included { name: platform.to_owned(), text: text.to_owned(), author: Author::Library };
    let parts = crate::scenario::read(&mut diagnostics, included, &[], &Library)?.parts;
    let of = |kind: &dyn Fn(&crate::scenario::PartKeys) -> bool| {
        parts.iter().find(|p| kind(&p.keys)).map(|p| p.name.clone())
    };
    let is_root = |k: &crate::scenario::PartKeys| matches!(k, crate::scenario::PartKeys::RootComplex(_));
    let root = of(&is_root)?;
    // Into an empty machine goes a card, at the last root complex: the first may be a socket's memory.
    let (device, card) = match of(&|k| matches!(k, crate::scenario::PartKeys::Endpoint(_))) {
        Some(device) => (device, String::new()),
        None => {
            let slot = parts.iter().rfind(|p| is_root(&p.keys)).map_or(&root, |p| &p.name);
            let card = format!(
                "[parts.nic]\nuse = \"today/nic-200g\"\n\n\
                 [links.slot]\nbetween = [\"{slot}\", \"nic\"]\npcie = \"gen4 x16\"\n\n"
            );
            ("nic".to_owned(), card)
        }
    };
    Some(format!(
        "# A lanescope scenario. Run it with:  lanescope run FILE        All keys:  lanescope schema --text\n\
         # What the platform holds:  lanescope platform show {platform}\n\
         platform = \"{platform}\"\n\n\
         # Override what you know better, e.g.  [parts.\"{root}\"]  read_latency = \"500 ns\"\n\n{card}\
         [flows.in]\nfrom = \"{device}\"\nto = \"{root}.memory\"\ndo = \"write\"          # the device writes to \
         memory\nsize = \"128 KiB\"\n\n\
         [flows.out]\nfrom = \"{device}\"\nto = \"{root}.memory\"\ndo = \"read\"           # the device reads from \
         memory\nsize = \"128 KiB\"\n"
    ))
}

/// The ids of the studies.
pub fn studies() -> Vec<&'static str> {
    let mut ids: Vec<&str> = STUDIES.dirs().filter_map(|d| d.path().to_str()).collect();
    ids.sort_unstable();
    ids
}

/// The texts of a study's folder, by their names.
pub fn study_files(id: &str) -> Vec<(&'static str, &'static str)> {
    let files = STUDIES.get_dir(id).into_iter().flat_map(|d| d.files());
    files.filter_map(|f| Some((f.path().file_name()?.to_str()?, f.contents_utf8()?))).collect()
}

/// A file of a study.
pub fn study_text(id: &str, file: &str) -> Option<&'static str> {
    STUDIES.get_file(format!("{id}/{file}"))?.contents_utf8()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_library() {
        assert!(platform_text("../Cargo").is_none());
        assert!(study_text("..", "Cargo.toml").is_none());
    }

    #[test]
    fn every_entry_says_what_it_is() {
        for e in platforms() {
            assert!(["device", "platform"].contains(&e.kind.as_str()), "{e:?}");
            assert!(e.about.len() > 10, "{e:?}");
        }
    }
}
