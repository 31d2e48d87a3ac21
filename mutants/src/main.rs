//! Mutation testing of the library: `make mutants MODULE=sim/pcie`.
//!
//! A build for each mutant would take minutes, so all are built at once: each stands beside what it replaces, and an
//! environment variable says which is alive (`mutate`). What a compiler does not take is left out, found by its errors.
//! Then each test runs by itself, which tells the mutants that it reaches; and each mutant meets the tests that reach
//! it until one fails: first those that have noticed most for their time, then the quickest. A mutant that none fails
//! for is printed: either nothing depends on it, or a test is missing. What was built and found is kept for as long as
//! the sources stay the same.

mod mutate;

use mutate::Mutant;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The crate whose tests run, and what git lists of a checkout.
const CRATE: &str = "crates/lanescope";
const LISTED: [&str; 5] = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];

type Failure = Box<dyn std::error::Error>;

/// Tests that take longer by themselves are not asked.
const LONGEST_TEST: Duration = Duration::from_secs(6);
/// A mutant that makes tests so many times as long, and a time more, hangs.
const HANGS: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(5);
/// Address space of a test's program.
const MOST_MEMORY_KIB: u64 = 6 << 20;
/// Tests that meet a mutant together at first; then twice as many each time.
const FIRST: usize = 4;
/// Each mutant meets as many of the tests that reach it as take so long together without it.
const MOST_OF_EACH: Duration = Duration::from_secs(150);

/// What the library asks of each mutant, at the end of its `lib.rs`.
const ASKED: &str = r#"
/// Which mutant is alive.
#[doc(hidden)]
#[allow(missing_docs, clippy::all)]
pub mod mutant {
    use std::io::Write;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static ALIVE: OnceLock<(usize, bool)> = OnceLock::new();
    static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    #[inline]
    pub fn is(n: usize) -> bool {
        let (alive, records) = *ALIVE.get_or_init(|| {
            let alive = std::env::var("MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX);
            (alive, std::env::var_os("MUTANTS_REACHED").is_some())
        });
        if records && !SEEN[n].swap(true, Relaxed) {
            let path = std::env::var_os("MUTANTS_REACHED").unwrap_or_default();
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("a file");
            // In one piece, for others write too.
            file.write_all(format!("{n}\n").as_bytes()).expect("it is written");
        }
        alive == n
    }
}
"#;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let usage = "lanescope-mutants ROOT MODULE [SAMPLE [SEED]]";
    let root = PathBuf::from(arguments.next().ok_or(usage)?).canonicalize()?;
    let module = arguments.next().ok_or(usage)?;
    let sample: usize = arguments.next().map_or(Ok(usize::MAX), |n| n.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let work = root.join("target/mutants");
    let tree = work.join("tree");
    let all = find(&root.join(CRATE).join("src"), &module)?;
    println!("{} mutants of {module}", all.len());
    let key = format!("{module} {:016x}", checksum(&root)?);
    let kept = work.join("kept.json");
    let found = match fs::read_to_string(&kept).ok().and_then(|text| serde_json::from_str::<Found>(&text).ok()) {
        Some(found) if found.key == key => found,
        _ => {
            // What it says is of a build that is no more.
            let _ = fs::remove_file(&kept);
            copy(&root, &tree)?;
            let compiled = compile(&tree, &work, &tree.join("crates/lanescope/src"), &all)?;
            println!("{} of them compile", compiled.len());
            let found = Found { key, tests: tests(&build(&tree, &work)?, &tree.join(CRATE), &work)?, compiled };
            fs::write(&kept, serde_json::to_string(&found)?)?;
            found
        }
    };
    let chosen = drawn(found.compiled, sample, seed);
    println!("{} drawn by seed {seed}", chosen.len());
    report(&all, &chosen, &found.tests, &tree.join(CRATE));
    Ok(())
}

/// What a build has shown: the mutants that compile, and the tests.
#[derive(Serialize, Deserialize)]
struct Found {
    key: String,
    compiled: Vec<usize>,
    tests: Vec<Test>,
}

/// Of all that is checked in, or will be, as it stands now.
fn checksum(root: &Path) -> Result<u64, Failure> {
    let listed = Command::new("git").args(LISTED).current_dir(root).output()?;
    let mut hasher = DefaultHasher::new();
    for name in String::from_utf8(listed.stdout)?.split('\0') {
        name.hash(&mut hasher);
        fs::read(root.join(name)).unwrap_or_default().hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// A copy of that.
fn copy(root: &Path, tree: &Path) -> Result<(), Failure> {
    if tree.exists() {
        fs::remove_dir_all(tree)?;
    }
    fs::create_dir_all(tree)?;
    let script = format!("git {} | xargs -0 cp -a --parents -t target/mutants/tree", LISTED.join(" "));
    let copied = Command::new("sh").args(["-c", &script]).current_dir(root).status()?;
    copied.success().then_some(()).ok_or_else(|| "the checkout cannot be copied".into())
}

fn find(sources: &Path, module: &str) -> Result<Vec<Mutant>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![sources.join(module)];
    if folders[0].with_extension("rs").is_file() {
        files.push(folders[0].with_extension("rs"));
    }
    while let Some(folder) = folders.pop().filter(|f| f.is_dir()) {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "rs") && !f.ends_with("tests.rs"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.strip_prefix(sources)?.to_string_lossy().into_owned();
        all.extend(mutate::mutants(&name, &fs::read_to_string(&file)?)?);
    }
    if all.is_empty() { Err(format!("no module {module:?} with anything to change").into()) } else { Ok(all) }
}

/// Writes all mutants that the compiler takes into the sources; gives their numbers.
fn compile(tree: &Path, work: &Path, sources: &Path, all: &[Mutant]) -> Result<Vec<usize>, Failure> {
    let mut left: BTreeSet<usize> = (0..all.len()).collect();
    let names: BTreeSet<&str> = all.iter().map(|m| m.file.as_str()).collect();
    let texts: BTreeMap<&str, String> =
        names.iter().map(|n| Ok((*n, fs::read_to_string(sources.join(n))?))).collect::<std::io::Result<_>>()?;
    let lib = sources.join("lib.rs");
    fs::write(&lib, fs::read_to_string(&lib)? + &ASKED.replace("COUNT", &all.len().to_string()))?;
    loop {
        let mut places: BTreeMap<String, Vec<(usize, Range<usize>)>> = BTreeMap::new();
        for (name, text) in &texts {
            let here: Vec<_> = left.iter().filter(|n| all[**n].file == *name).map(|n| (*n, &all[*n])).collect();
            let (out, moved) = mutate::mutated(text, &here);
            fs::write(sources.join(name), out)?;
            places.insert(format!("crates/lanescope/src/{name}"), moved);
        }
        let (compiles, output) = cargo(tree, work, &["check", "-p", "lanescope", "--message-format=json"])?;
        let mut wrong = BTreeSet::new();
        let mut elsewhere = None;
        for message in output.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok()) {
            let message = &message["message"];
            if message["level"] != "error" {
                continue;
            }
            for span in message["spans"].as_array().into_iter().flatten().filter(|s| s["is_primary"] == true) {
                let file = span["file_name"].as_str().unwrap_or_default();
                let at = span["byte_start"].as_u64().unwrap_or(0) as usize;
                let around = places.get(file).into_iter().flatten().filter(|(_, place)| place.contains(&at));
                // All at the innermost place: which of them it is, the compiler does not say.
                let Some(least) = around.clone().map(|(_, place)| place.len()).min() else {
                    elsewhere = Some(message["rendered"].as_str().unwrap_or_default().to_owned());
                    continue;
                };
                wrong.extend(around.filter(|(_, place)| place.len() == least).map(|(id, _)| *id));
            }
        }
        match (wrong.is_empty(), elsewhere) {
            (true, None) if compiles => return Ok(left.into_iter().collect()),
            (true, None) => return Err("the library does not compile: cargo check says why".into()),
            (true, Some(error)) => return Err(error.into()),
            (false, _) => left.retain(|n| !wrong.contains(n)),
        }
    }
}

/// Whether it succeeds, and what it prints.
fn cargo(tree: &Path, work: &Path, arguments: &[&str]) -> Result<(bool, String), Failure> {
    let output = Command::new("cargo")
        .args(arguments)
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", work.join("build"))
        .stderr(Stdio::null())
        .output()?;
    Ok((output.status.success(), String::from_utf8(output.stdout)?))
}

/// The programs of the library's tests.
fn build(tree: &Path, work: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (_, output) =
        cargo(tree, work, &["test", "-p", "lanescope", "--no-run", "--lib", "--test", "all", "--message-format=json"])?;
    let built = output.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let built = built.filter(|m| {
        m["profile"]["test"] == true && m["package_id"].as_str().is_some_and(|p| p.contains("/lanescope#"))
    });
    let built: Vec<PathBuf> = built.filter_map(|m| Some(m["executable"].as_str()?.into())).collect();
    if built.len() == 2 { Ok(built) } else { Err("the tests are not built: cargo test says why".into()) }
}

/// A test, how long it takes, and the mutants that it reaches.
#[derive(Serialize, Deserialize)]
struct Test {
    binary: PathBuf,
    name: String,
    takes: Duration,
    reaches: BTreeSet<usize>,
}

/// Runs each test by itself.
fn tests(binaries: &[PathBuf], folder: &Path, work: &Path) -> Result<Vec<Test>, Failure> {
    let mut names = Vec::new();
    for binary in binaries {
        let listed = Command::new(binary).args(["--list", "--format", "terse"]).current_dir(folder).output()?;
        let listed = String::from_utf8(listed.stdout)?;
        names.extend(listed.lines().filter_map(|l| Some((binary.clone(), l.strip_suffix(": test")?.to_owned()))));
    }
    let all = Mutex::new(Vec::new());
    let (late, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    in_turn(names.len(), |i| {
        let (binary, name) = &names[i];
        let reached = work.join(format!("reached.{i}"));
        let _ = fs::remove_file(&reached);
        let begun = Instant::now();
        let environment = [("MUTANTS_REACHED", reached.to_string_lossy().into_owned())];
        match run(binary, folder, &[name], &environment, LONGEST_TEST) {
            Ended::Passed => {
                let text = fs::read_to_string(&reached).unwrap_or_default();
                let reaches: BTreeSet<usize> = text.lines().filter_map(|l| l.parse().ok()).collect();
                let test = Test { binary: binary.clone(), name: name.clone(), takes: begun.elapsed(), reaches };
                all.lock().unwrap_or_else(|e| e.into_inner()).push(test);
            }
            Ended::Failed(_) => failed.lock().unwrap_or_else(|e| e.into_inner()).push(name.clone()),
            Ended::Late => _ = late.fetch_add(1, Ordering::Relaxed),
        }
        let _ = fs::remove_file(&reached);
    });
    let mut all = all.into_inner().unwrap_or_else(|e| e.into_inner());
    all.sort_by_key(|t| t.takes);
    let (late, failed) = (late.into_inner(), failed.into_inner().unwrap_or_else(|e| e.into_inner()));
    println!("{} tests; {late} that take more than {LONGEST_TEST:?} are not asked", all.len());
    // Such as those that hold the sources to rules which mutants break.
    failed.iter().for_each(|name| println!("not asked either, since it fails without a mutant: {name}"));
    Ok(all)
}

enum Ended {
    Passed,
    /// With the names of those that failed; none where the program was ended by what a mutant did to it.
    Failed(Vec<String>),
    Late,
}

fn run(binary: &Path, folder: &Path, names: &[&String], environment: &[(&str, String)], most: Duration) -> Ended {
    // A group of its own, so that what it starts ends with it, and no more memory than a test needs.
    let limited = format!("ulimit -v {MOST_MEMORY_KIB}; exec \"$0\" \"$@\"");
    let started = Command::new("sh")
        .args(["-c", &limited])
        .arg(binary)
        .arg("--exact")
        .args(names)
        .args(["--test-threads", "1"])
        .process_group(0)
        .current_dir(folder)
        .env("PROPTEST_MAX_SHRINK_ITERS", "0")
        .envs(environment.iter().cloned())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = started.unwrap_or_else(|e| panic!("{} cannot be started: {e}", binary.display()));
    // Read beside, for a pipe holds little; of a text only what is said of each test.
    let reader = child.stdout.take().map(|mut out| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = out.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status.success()),
            Err(e) => panic!("{} cannot be waited for: {e}", binary.display()),
            Ok(None) if begun.elapsed() > most => {
                let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
                let _ = child.wait();
                break None;
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let text = reader.and_then(|r| r.join().ok()).unwrap_or_default();
    let failed = text.lines().filter_map(|l| l.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    match ended {
        Some(true) => Ended::Passed,
        Some(false) => Ended::Failed(failed.map(str::to_owned).collect()),
        None => Ended::Late,
    }
}

/// Does something for each number below `n`, on all cores.
fn in_turn(n: usize, does: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= n {
                        break;
                    }
                    does(i);
                }
            });
        }
    });
}

/// So many of them, drawn by a seed.
fn drawn(mut all: Vec<usize>, most: usize, seed: u64) -> Vec<usize> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for i in (1..all.len()).rev() {
        // Xorshift; nothing depends on how good it is.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        all.swap(i, (state % (i as u64 + 1)) as usize);
    }
    all.truncate(most);
    all
}

/// Lets each mutant meet the tests that reach it, and prints those that none fails for.
fn report(all: &[Mutant], chosen: &[usize], tests: &[Test], folder: &Path) {
    let done = Mutex::new((0, 0, Vec::new()));
    // How many mutants each test has noticed.
    let noticed: Vec<AtomicUsize> = tests.iter().map(|_| AtomicUsize::new(0)).collect();
    in_turn(chosen.len(), |i| {
        let id = chosen[i];
        let mut reach: Vec<usize> = (0..tests.len()).filter(|t| tests[*t].reaches.contains(&id)).collect();
        // Stable: of equal ones the quickest first.
        let worth = |t: &usize| noticed[*t].load(Ordering::Relaxed) as f64 / tests[*t].takes.as_secs_f64().max(0.01);
        let worths: BTreeMap<usize, f64> = reach.iter().map(|t| (*t, worth(t))).collect();
        reach.sort_by(|a, b| worths[b].total_cmp(&worths[a]));
        let mut time = Duration::ZERO;
        reach.retain(|t| {
            time += tests[*t].takes;
            time <= MOST_OF_EACH
        });
        let caught = meets_all(id, &reach, tests, folder, &noticed);
        let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
        let Mutant { file, line, what, .. } = &all[id];
        match (reach.is_empty(), caught) {
            (true, _) => done.2.push(format!("{file}:{line}: {what} (no test that was asked reaches it)")),
            (_, false) => {
                done.2.push(format!("{file}:{line}: {what} ({} tests that reach it do not notice)", reach.len()))
            }
            (_, true) => done.0 += 1,
        }
        done.1 += 1;
        if done.1 % 50 == 0 {
            eprintln!("{} of {}, {} noticed", done.1, chosen.len(), done.0);
        }
    });
    let (caught, of, mut left) = done.into_inner().unwrap_or_else(|e| e.into_inner());
    left.sort();
    left.iter().for_each(|l| println!("{l}"));
    println!("{caught} of {of} mutants are noticed");
}

fn meets_all(id: usize, meets: &[usize], tests: &[Test], folder: &Path, noticed: &[AtomicUsize]) -> bool {
    let environment = [("MUTANT", id.to_string())];
    let (mut from, mut many) = (0, FIRST);
    while from < meets.len() {
        let some = &meets[from..meets.len().min(from + many)];
        // The programs of unit tests and of the others run one after the other.
        let binaries: BTreeSet<&PathBuf> = some.iter().map(|t| &tests[*t].binary).collect();
        for binary in binaries {
            let mine: Vec<usize> = some.iter().copied().filter(|t| tests[*t].binary == *binary).collect();
            let usual: Duration = mine.iter().map(|t| tests[*t].takes).sum();
            let names: Vec<&String> = mine.iter().map(|t| &tests[*t].name).collect();
            match run(binary, folder, &names, &environment, usual * HANGS + PATIENCE) {
                Ended::Passed => {}
                Ended::Late => return true,
                Ended::Failed(failed) => {
                    let who = mine.iter().filter(|t| failed.contains(&tests[**t].name));
                    who.for_each(|t| _ = noticed[*t].fetch_add(1, Ordering::Relaxed));
                    return true;
                }
            }
        }
        (from, many) = (from + many, many * 2);
    }
    false
}
