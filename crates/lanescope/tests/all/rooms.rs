//! A room uses only rooms listed above it, so the walk stays a walk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The rooms in their order. `estimate` and `sim` stand side by side: neither sees the other.
const ROOMS: [&str; 16] = [
    "units",
    "tools",
    "diagnostic",
    "protocol",
    "scenario",
    "mpi",
    "import",
    "plan",
    "result",
    "estimate",
    "sim",
    "explain",
    "pens",
    "library",
    "study",
    "api",
];

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, out);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            out.push(entry);
        }
    }
}

fn sources() -> Vec<PathBuf> {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    all
}

/// The modules of the crate that have a file of their own, and what each names of others: in `use` items and in code,
/// groups, `super` and `self` resolved. What is only compiled for tests may look around.
struct House {
    modules: BTreeMap<Vec<String>, PathBuf>,
    named: BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
}

/// Gathers the paths of a file.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl Paths {
    fn flatten(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(p) => self.flatten(&p.tree, &with(&p.ident)),
            syn::UseTree::Name(n) => self.0.push(with(&n.ident)),
            syn::UseTree::Rename(n) => self.0.push(with(&n.ident)),
            syn::UseTree::Glob(_) => self.0.push(before.to_vec()),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.flatten(t, before)),
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes = match item {
            syn::Item::Mod(m) => &m.attrs,
            syn::Item::Use(u) => &u.attrs,
            syn::Item::Fn(f) => &f.attrs,
            syn::Item::Impl(i) => &i.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.flatten(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if matches!(names[0].as_str(), "crate" | "super" | "self") {
            self.0.push(names);
        }
        visit::visit_path(self, path);
    }
}

/// `#[cfg(test)]`.
fn for_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|i| i == "test")
}

impl House {
    fn read() -> House {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut modules = BTreeMap::new();
        for file in sources() {
            let name = file.strip_prefix(&src).expect("below src").with_extension("");
            let mut module: Vec<String> = name.iter().map(|n| n.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|n| n == "mod") {
                module.pop();
            }
            if module != ["lib"] {
                modules.insert(module, file);
            }
        }
        let mut house = House { modules, named: BTreeMap::new() };
        for (module, file) in &house.modules {
            let parsed = syn::parse_file(&fs::read_to_string(file).expect("text")).expect("Rust");
            if parsed.attrs.iter().any(for_tests) {
                continue;
            }
            let mut paths = Paths::default();
            paths.visit_file(&parsed);
            let mine = paths.0.iter().filter_map(|p| house.resolve(module, p)).filter(|m| m != module);
            let mine = mine.collect();
            house.named.insert(module.clone(), mine);
        }
        house
    }

    /// The module with a file that a path leads into.
    fn resolve(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut at = match path[0].as_str() {
            "crate" => Vec::new(),
            "super" => from[..from.len() - 1].to_vec(),
            "self" => from.to_vec(),
            // A child, or another crate.
            child => {
                let child = [from, &[child.to_owned()]].concat();
                return self.longest(child.clone(), &path[1..]).filter(|m| m.starts_with(&child));
            }
        };
        let up = path[1..].iter().take_while(|n| *n == "super").count();
        at.truncate(at.len() - up);
        self.longest(at, &path[1 + up..])
    }

    fn longest(&self, mut at: Vec<String>, rest: &[String]) -> Option<Vec<String>> {
        let mut found = self.modules.contains_key(&at).then(|| at.clone());
        for name in rest {
            at.push(name.clone());
            if self.modules.contains_key(&at) {
                found = Some(at.clone());
            }
        }
        found
    }
}

#[test]
fn rooms_use_only_rooms_above() {
    let house = House::read();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (module, named) in &house.named {
        let level = |room: &str| ROOMS.iter().position(|r| *r == room);
        let Some(mine) = level(&module[0]) else { panic!("{} is in no room", module.join("::")) };
        for other in named {
            seen += 1;
            if level(&other[0]).is_some_and(|o| o > mine) || module[0] == "sim" && other[0] == "estimate" {
                wrong.push(format!("{} uses {}", module.join("::"), other.join("::")));
            }
        }
    }
    assert!(seen > 500, "the test reads the source: {seen} uses");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Files that use one another in a circle can only be read all at once. A module and those in it are one thing: what a
/// child takes from the modules that it lies in does not count.
#[test]
fn no_files_use_each_other_in_a_circle() {
    let house = House::read();
    let mut left: BTreeMap<&[String], BTreeSet<&[String]>> = (house.named.iter())
        .map(|(m, named)| {
            let others = named.iter().filter(|o| !m.starts_with(o)).map(Vec::as_slice);
            (m.as_slice(), others.collect())
        })
        .collect();
    // What each leads to, however many steps away: who leads to himself is in a circle.
    let direct = left.clone();
    loop {
        let before: usize = left.values().map(BTreeSet::len).sum();
        for m in direct.keys() {
            let more: Vec<&[String]> =
                left[m].iter().flat_map(|u| left.get(u).into_iter().flatten().copied()).collect();
            left.entry(m).or_default().extend(more);
        }
        if left.values().map(BTreeSet::len).sum::<usize>() == before {
            break;
        }
    }
    let leads = |from: &&[String], to: &&[String]| left.get(from).is_some_and(|l| l.contains(to));
    let circles: Vec<String> = (direct.iter())
        .flat_map(|(m, uses)| uses.iter().filter(|u| leads(u, m)).map(move |u| (m, u)))
        .map(|(m, u)| format!("{} uses {}", m.join("::"), u.join("::")))
        .collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn the_laboratory_is_pure() {
    // No file, socket or clock in the library, and threads in one place: what a run gives depends on none of them.
    let forbidden = [
        "std::fs",
        "std::net",
        "std::thread",
        "Instant::now",
        "SystemTime",
        "println!",
        "eprintln!",
        "static mut",
        "unsafe",
    ];
    for file in sources() {
        let text = fs::read_to_string(&file).expect("text");
        // A content security policy has words for a page's own styles and for its own WebAssembly.
        let text = text.replace("unsafe-inline", "").replace("wasm-unsafe-eval", "");
        let threads = file.ends_with("sim/core/threads.rs");
        for word in forbidden.into_iter().filter(|word| !threads || *word != "std::thread") {
            assert!(!text.contains(word), "{} has {word}", file.display());
        }
    }
}

#[test]
fn no_file_is_long() {
    for file in sources() {
        let lines = fs::read_to_string(&file).expect("text").lines().count();
        assert!(lines <= 800, "{} has {lines} lines", file.display());
    }
}

#[test]
fn no_line_is_wide() {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut all);
    for file in all {
        for (i, line) in fs::read_to_string(&file).expect("text").lines().enumerate() {
            assert!(line.chars().count() <= 120, "{}:{} has {} columns", file.display(), i + 1, line.chars().count());
        }
    }
}

/// `make laws` and CI's fresh cases name the files that hold random inputs to laws: all of them, and no others.
#[test]
fn every_file_of_laws_is_run_on_fresh_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let makefile = fs::read_to_string(root.join("../../Makefile")).expect("the Makefile");
    let list = makefile.split_once("LAWS :=").and_then(|(_, rest)| rest.split_once("\n\n")).expect("the list").0;
    let listed: BTreeSet<&str> = list.split_whitespace().filter_map(|w| w.strip_suffix("::")).collect();
    let tests = root.join("tests/all");
    let mut all = Vec::new();
    files(&tests, &mut all);
    let draws = |f: &PathBuf| {
        let text = fs::read_to_string(f).expect("text");
        text.lines().any(|l| l.starts_with("use crate::common::choices::"))
    };
    let name = |f: &PathBuf| {
        let path = f.strip_prefix(&tests).expect("below tests").with_extension("");
        path.iter().map(|n| n.to_string_lossy().into_owned()).collect::<Vec<_>>().join("::")
    };
    let laws: BTreeSet<String> = all.iter().filter(|f| draws(f)).map(name).collect();
    assert_eq!(listed, laws.iter().map(String::as_str).collect());
}
