//! Files and standard input, and the resolver that finds library devices and the user's own.

use lanescope::library::Library;
use lanescope::scenario::tree::{Author, MAX_TEXT};
use lanescope::scenario::{Included, Resolver};
use lanescope::units::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a scenario's text, of `-` standard input; what is too long to be one is not read to its end.
///
/// # Errors
///
/// A file that cannot be read, or is no text.
pub fn scenario(file: &str) -> Result<Included, String> {
    let (name, text) = if file == "-" {
        ("<stdin>".to_owned(), limited(std::io::stdin().lock(), "standard input", MAX_TEXT, "a scenario")?)
    } else {
        (file.to_owned(), path(Path::new(file))?)
    };
    Ok(Included { name, text, author: Author::User })
}

/// Reads the text file of a scenario.
///
/// # Errors
///
/// A file that cannot be read, is longer, or is no text.
pub fn path(path: &Path) -> Result<String, String> {
    limited_path(path, MAX_TEXT, "a scenario")
}

/// Reads a text file of at most `most` bytes; what is longer is not `what`, and not read to its end.
///
/// # Errors
///
/// A file that cannot be read, is longer, or is no text.
pub fn limited_path(path: &Path, most: usize, what: &str) -> Result<String, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|e| format!("{shown}: {}", reason(&e)))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(format!("{shown} is a folder"));
    }
    limited(file, &shown.to_string(), most, what)
}

/// Reads a text of at most `most` bytes of any encoding, or standard input; what is no UTF-8 is replaced.
///
/// # Errors
///
/// A file that cannot be read, is longer, or is no text.
pub fn lossy(file: &str, most: usize, what: &str) -> Result<String, String> {
    let (name, bytes) = if file == "-" {
        ("standard input".to_owned(), bytes(std::io::stdin().lock(), most))
    } else {
        let path = Path::new(file);
        let opened = File::open(path).map_err(|e| format!("{file}: {}", reason(&e)))?;
        if opened.metadata().is_ok_and(|m| m.is_dir()) {
            return Err(format!("{file} is a folder"));
        }
        (file.to_owned(), bytes(opened, most))
    };
    let bytes = bytes.map_err(|e| format!("{name}: {}", reason(&e)))?;
    if bytes.len() > most {
        return Err(format!("{name} is longer than {}: too long for a file of {what}", Bytes(most as u64)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn bytes(from: impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes of a trace at most: a million lines and more.
const MAX_TRACE: usize = 64 << 20;

fn limited(from: impl Read, name: &str, most: usize, what: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    from.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|e| format!("{name}: {}", reason(&e)))?;
    if bytes.len() > most {
        return Err(format!("{name} is longer than {}: too long for a file of {what}", Bytes(most as u64)));
    }
    String::from_utf8(bytes)
        .map_err(|e| format!("{name} is not text: byte {} is not UTF-8", e.utf8_error().valid_up_to()))
}

fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::PermissionDenied => "it may not be read".into(),
        _ => e.to_string(),
    }
}

/// Library names, and paths (`./`, `../`, `/`, or ending in `.toml`) relative to the text that names them.
pub struct Files;

impl Resolver for Files {
    fn resolve(&self, reference: &str, from: &str) -> Result<Included, String> {
        let is_path = reference.starts_with(['.', '/']) || reference.ends_with(".toml");
        if !is_path {
            return Library.resolve(reference, from);
        }
        if from.starts_with("platforms/") && !Path::new(from).exists() {
            return Err("a library text names no files".into());
        }
        let place = Path::new(from).parent().unwrap_or(Path::new(""));
        let full = place.join(reference);
        path(&full).map(|text| Included { name: full.display().to_string(), text, author: Author::User })
    }

    fn trace(&self, reference: &str, from: &str) -> Result<Included, String> {
        if from.starts_with("platforms/") && !Path::new(from).exists() {
            return Err("a library text names no files".into());
        }
        let full = Path::new(from).parent().unwrap_or(Path::new("")).join(reference);
        let text = limited_path(&full, MAX_TRACE, "a trace")?;
        Ok(Included { name: full.display().to_string(), text, author: Author::User })
    }

    fn names(&self) -> Vec<String> {
        Library.names()
    }
}
