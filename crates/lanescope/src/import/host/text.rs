//! A text is cut into the forms that stand in it, line by line: prompts, markup, other texts and other hosts between
//! them.

use super::lspci::{self, header};
use super::{Fact, hwloc, kernel, nccl};
use super::{Form, Host, Place, matrix, other, system, tree, xml};

/// Line ends within a text, by byte.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: u32,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, u32, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|r| !r.is_empty())?;
        let start = self.at;
        // Old Macs end lines with a carriage return alone; a text from Windows has both.
        let (line, ended) = match rest.find(['\n', '\r']) {
            Some(end) => {
                let both = rest[end..].starts_with("\r\n");
                (&rest[..end], end + 1 + usize::from(both))
            }
            None => (rest, rest.len()),
        };
        self.at += ended;
        self.number += 1;
        Some((start, self.number, line))
    }
}

/// A line without the marks of quotations, and without colours.
fn plain(line: &str) -> std::borrow::Cow<'_, str> {
    let mut line = line;
    while let Some(rest) = line.trim_start().strip_prefix("> ").or_else(|| line.strip_prefix('\u{feff}')) {
        line = rest;
    }
    if !line.contains('\u{1b}') {
        return line.into();
    }
    // ESC [ … letter: Control Sequence Introducer of ECMA-48.
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.next_if_eq(&'[').is_some() {
            while chars.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
            chars.next();
        }
    }
    out.into()
}

/// The host's name in a prompt: `$ user@host:~$ command`, `[root@host ~]# command`.
fn prompt(line: &str) -> Option<Option<&str>> {
    let line = line.trim();
    let start = line.strip_prefix("$ ").unwrap_or(line);
    let (user, rest) = start.split_once('@').unwrap_or(("", ""));
    let user = user.trim_start_matches(['[', '(']);
    let word =
        |t: &str| !t.is_empty() && t.len() <= 64 && t.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if word(user) {
        let end = rest.find([':', ' ', ']', '$', '#']).unwrap_or(rest.len());
        let ends = rest[end..].contains(['$', '#', '%', '>']);
        if word(&rest[..end]) && ends {
            return Some(Some(&rest[..end]));
        }
    }
    // Without a name: "$ lspci", "# lspci -vvv", a fence of markdown, a tag of a forum.
    let bare = ["$ ", "# lspci", "# cat ", "# n", "```", "~~~", "[code]", "[/code]", "[CODE]", "[/CODE]", "## "];
    bare.iter().any(|b| line.starts_with(b)).then_some(None)
}

/// The readers, and the host that they write to.
#[derive(Default)]
struct State {
    host: usize,
    lspci: lspci::Reader,
    tree: tree::Reader,
    matrix: matrix::Reader,
    system: system::Reader,
    kernel: kernel::Reader,
}

impl State {
    fn end(&mut self, host: &mut Host) {
        self.lspci.end(host);
        self.tree = tree::Reader::default();
        self.matrix.end();
        self.system.end();
        self.kernel.end();
    }
}

/// Reads a text of a dump into the hosts; further ones are begun where the text shows others.
pub(super) fn read(hosts: &mut Vec<Host>, dump: u32, text: &str) {
    let mut state = State::default();
    let mut lines = Lines { text, at: 0, number: 0 };
    while let Some((start, number, raw)) = lines.next() {
        let at = Place { dump, line: number };
        if let Some(begin) = xml_begins(raw) {
            state.end(&mut hosts[state.host]);
            let length = xml_ends(text, start + begin);
            xml_read(&mut hosts[state.host], &text[start + begin..start + begin + length], at);
            // Go on behind it.
            let inside = &text[start..start + begin + length];
            let end = start + begin + length;
            // What is left of its last line is read as a line of the same number.
            let rest = u32::from(end > lines.at);
            lines.number += inside.matches('\n').count() as u32 - rest.min(inside.matches('\n').count() as u32);
            lines.at = lines.at.max(end);
            continue;
        }
        let line = plain(raw);
        line_of(hosts, &mut state, &line, at);
    }
    state.end(&mut hosts[state.host]);
}

fn line_of(hosts: &mut Vec<Host>, state: &mut State, line: &str, at: Place) {
    if line.trim().is_empty() {
        return;
    }
    if let Some(header) = header(line) {
        let here = &hosts[state.host];
        // The same address with another device behind it: another host in the same text.
        let seen = here.functions.get(&header.address);
        let same_dump = |f: &super::Function| f.class.as_ref().is_some_and(|c| c.at.dump == at.dump);
        if seen.is_some_and(|known| same_dump(known) && header.is_another(known)) {
            state.end(&mut hosts[state.host]);
            state.host = other(hosts, None);
        }
        state.lspci.begin(&mut hosts[state.host], &header, at);
        return;
    }
    if let Some(name) = prompt(line) {
        state.end(&mut hosts[state.host]);
        if let Some(name) = name {
            named(hosts, state, name, at);
        }
        return;
    }
    let host = &mut hosts[state.host];
    if tree::looks(line) {
        state.lspci.end(host);
        state.tree.line(host, line, at);
        return;
    }
    // Rows of tables and of logs first: below a function's flags a line could else be taken for more of them.
    let read = state.matrix.line(host, line, at)
        || matrix::smi(host, line, at)
        || state.kernel.line(host, line, at)
        || state.lspci.line(host, line, at)
        || state.system.line(host, line, at)
        || (!state.lspci.is_open() && loose_acs(host, line, at));
    if !read {
        host.skipped_lines += 1;
    }
}

fn named(hosts: &mut Vec<Host>, state: &mut State, name: &str, at: Place) {
    let here = &mut hosts[state.host];
    match &here.name {
        None => here.name = Some(Fact { value: super::clean(name), at }),
        Some(known) if known.value == name => {}
        Some(_) => state.host = other(hosts, Some((super::clean(name), at))),
    }
}

/// `ACSCtl:` without a function above it, as grep leaves it.
fn loose_acs(host: &mut Host, line: &str, at: Place) -> bool {
    let Some(rest) = line.trim().strip_prefix("ACSCtl:") else { return false };
    host.found(Form::Lspci, at);
    let (mut all, mut redirecting) = host.loose_acs.as_ref().map_or((0, 0), |f| f.value);
    all += 1;
    redirecting += u32::from(rest.contains("ReqRedir+"));
    host.loose_acs = Some(Fact { value: (all, redirecting), at });
    true
}

fn xml_begins(line: &str) -> Option<usize> {
    let fits = |rest: &str| rest.is_empty() || rest.starts_with([' ', '>', '\t']);
    ["<system", "<topology"].iter().find_map(|t| {
        let at = line.find(t)?;
        fits(&line[at + t.len()..]).then_some(at)
    })
}

/// How long an element is: to its end tag, or to a line that cannot be its own.
fn xml_ends(text: &str, start: usize) -> usize {
    let end = if text[start..].starts_with("<system") { "</system>" } else { "</topology>" };
    for (at, _, line) in (Lines { text, at: start, number: 0 }) {
        if let Some(found) = line.find(end) {
            return at + found + end.len() - start;
        }
        let foreign = header(line).is_some() || prompt(line).is_some_and(|_| !line.contains('<'));
        if at > start && (foreign || xml_begins(line).is_some()) {
            return at - start;
        }
    }
    text.len() - start
}

fn xml_read(host: &mut Host, text: &str, at: Place) {
    // Lines of tags, counted once: tags come in order.
    let counted = std::cell::Cell::new((0_usize, at.line));
    let place = |byte: usize| {
        let (from, line) = counted.get();
        let more = text.get(from..byte).map_or(0, |t| t.bytes().filter(|b| *b == b'\n').count() as u32);
        counted.set((byte.max(from), line + more));
        Place { line: line + more, ..at }
    };
    if text.starts_with("<system") {
        nccl::read(host, xml::tags(text), place);
    } else {
        hwloc::read(host, text, xml::tags(text), place);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Address;
    use super::*;

    #[test]
    fn prompts_are_seen() {
        assert_eq!(prompt("$ sonata@coyote2:~$ lspci -tv"), Some(Some("coyote2")));
        assert_eq!(prompt("[root@node7 ~]# lspci -vvv"), Some(Some("node7")));
        assert_eq!(prompt("```"), Some(None));
        assert_eq!(prompt("\tSubsystem: someone@example.com"), None);
        assert_eq!(Address::parse("00000000:C1:00.0"), Some(Address { bus: 0xc1, ..Address::default() }));
    }
}
