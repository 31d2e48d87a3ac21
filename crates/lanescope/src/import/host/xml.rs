//! The elements of an XML text, one after the other, also where it is cut anywhere or has other text around it.
//!
//! A parser that knows documents refuses a cut one whole; of a dump what came before the cut is worth as much as ever.
//! So this is a list of tags: names, attributes, and what closes what is the reader's business. No entity is expanded
//! but the five of XML and numbered characters; nothing recurses, nothing is fetched.

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it opens an element; `<a/>` opens and closes.
    pub opens: bool,
    /// Whether it closes one.
    pub closes: bool,
    /// Attributes in their order, entities expanded.
    pub attributes: Vec<(&'a str, String)>,
    /// Byte at which it begins.
    pub at: usize,
    /// Byte after its end.
    pub end: usize,
}

impl Tag<'_> {
    /// The value of an attribute.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }
}

/// Tags of a text.
pub struct Tags<'a> {
    text: &'a str,
    at: usize,
}

/// Most attributes of one tag; the rest is left out.
const MOST_ATTRIBUTES: usize = 64;

/// Reads the tags of a text.
pub fn tags(text: &str) -> Tags<'_> {
    Tags { text, at: 0 }
}

impl<'a> Iterator for Tags<'a> {
    type Item = Tag<'a>;

    fn next(&mut self) -> Option<Tag<'a>> {
        loop {
            let open = self.at + self.text.get(self.at..)?.find('<')?;
            let rest = &self.text[open + 1..];
            let skip = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")];
            if let Some((_, end)) = skip.iter().find(|(start, _)| rest.starts_with(start)) {
                self.at = open + 1 + rest.find(end)? + end.len();
                continue;
            }
            // A quoted value may hold `>`; a cut tag has none.
            let mut quote = None;
            let end = rest.bytes().position(|b| match quote {
                Some(q) => {
                    if b == q {
                        quote = None;
                    }
                    false
                }
                None if b == b'"' || b == b'\'' => {
                    quote = Some(b);
                    false
                }
                None => b == b'>' || b == b'<',
            })?;
            if rest.as_bytes()[end] == b'<' {
                self.at = open + 1 + end;
                continue;
            }
            self.at = open + 1 + end + 1;
            if let Some(tag) = tag(&rest[..end], open, self.at) {
                return Some(tag);
            }
        }
    }
}

fn name_end(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.:".contains(c))).unwrap_or(text.len())
}

fn tag(inside: &str, at: usize, after: usize) -> Option<Tag<'_>> {
    let (inside, ends) = inside.strip_prefix('/').map_or((inside, false), |rest| (rest, true));
    let (inside, empty) = inside.strip_suffix('/').map_or((inside, false), |rest| (rest, true));
    let end = name_end(inside);
    let name = &inside[..end];
    if name.is_empty() {
        return None;
    }
    let mut attributes = Vec::new();
    let mut rest = inside[end..].trim_start();
    while attributes.len() < MOST_ATTRIBUTES {
        let end = name_end(rest);
        let key = &rest[..end];
        let Some(after) = rest[end..].trim_start().strip_prefix('=').filter(|_| !key.is_empty()) else { break };
        let after = after.trim_start();
        let Some(quote) = after.chars().next().filter(|c| *c == '"' || *c == '\'') else { break };
        let Some(close) = after[1..].find(quote) else { break };
        attributes.push((key, expand(&after[1..1 + close])));
        rest = after[close + 2..].trim_start();
    }
    Some(Tag { name, opens: !ends, closes: ends || empty, attributes, at, end: after })
}

/// Expands the entities of XML; others stay as they stand.
fn expand(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out += &rest[..start];
        rest = &rest[start..];
        let known = rest.bytes().take(12).position(|b| b == b';').and_then(|end| {
            let c = match &rest[1..end] {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                number => {
                    let number = number.strip_prefix('#')?;
                    let code = match number.strip_prefix('x') {
                        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                        None => number.parse().ok()?,
                    };
                    char::from_u32(code)?
                }
            };
            Some((c, end))
        });
        match known {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// Writes a value so that it may stand between double quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
