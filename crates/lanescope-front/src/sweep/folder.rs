//! The rows of a sweep on a disk: one folder, one manifest, many files of Parquet, any number of processes.
//!
//! A file holds whole points and appears under its name only when it is complete, so whoever is killed leaves what was
//! stored and at most a file that begins with a dot. The manifest says which sweep the folder is of; every file says so
//! too. Which points are there is read from the files, in whatever division they were written. A process holds a lock
//! on its shard, which the system takes back when it dies.

use super::{Done, Fingerprint, Missing, Question, Row, from_parquet, points_of, rows_of_bytes, run, to_parquet};
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::Hash;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the manifest is called.
const MANIFEST: &str = "sweep.json";
/// Rows wait so long at most before they are stored: what a killed process has worked out in vain.
const AT_MOST: Duration = Duration::from_secs(2);
/// And so many rows.
const ROWS: usize = 50_000;

/// A part of the points: every `of`th, from the `index`th on, counted from 1. Neighbours cost alike, so shards do too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: u32,
}

impl Shard {
    /// All of them.
    pub const ALL: Shard = Shard { index: 1, of: 1 };

    /// Reads `3/16`.
    ///
    /// # Errors
    ///
    /// Another form, or an index that is not between 1 and the number of shards.
    pub fn parse(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match numbers {
            Some((index, of)) if index >= 1 && index <= of => Ok(Shard { index, of }),
            _ => Err(format!("{text:?} is not a valid shard: 3/16 is the third of sixteen")),
        }
    }

    /// From one of its points to the next.
    pub(super) fn step(self) -> u64 {
        u64::from(self.of)
    }

    /// Its first point that does not come before another.
    pub(super) fn at_or_after(self, point: u64) -> u64 {
        let first = u64::from(self.index - 1);
        first + point.saturating_sub(first).div_ceil(self.step()) * self.step()
    }
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    identity: String,
    program: String,
    points: u64,
    question: Question,
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    question: Question,
    identity: String,
    shard: Shard,
    done: Done,
    waiting: Vec<Row>,
    stored: Instant,
    // Held until the folder is closed.
    _lock: File,
}

fn at(path: &Path, e: &dyn std::fmt::Display) -> String {
    format!("{}: {e}", path.display())
}

impl Folder {
    /// Opens a folder for a shard of a sweep, and makes it where it is missing.
    ///
    /// # Errors
    ///
    /// A folder of another sweep, or with files of Parquet that are of none; one that another process is working on
    /// with the same shard; a broken file; what the disk says.
    pub fn open(dir: &Path, question: &Question, shard: Shard) -> Result<Folder, String> {
        let points = question.size()?;
        let identity = question.identity();
        if dir.exists() && !dir.is_dir() {
            return Err(at(dir, &"it is a file, and rows go to a folder: give another name"));
        }
        fs::create_dir_all(dir).map_err(|e| at(dir, &e))?;
        let manifest = Manifest {
            identity: identity.clone(),
            program: format!("lanescope {}", env!("CARGO_PKG_VERSION")),
            points,
            question: question.clone(),
        };
        claim(dir, &manifest)?;
        let name = format!(".lock-{}-of-{}", shard.index, shard.of);
        let path = dir.join(name);
        let lock = OpenOptions::new().create(true).append(true).open(&path).map_err(|e| at(&path, &e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "{}: another process is working on this sweep{}; wait for it, or divide the points with shards",
                    dir.display(),
                    if shard.of > 1 { ", on the same shard" } else { "" }
                ));
            }
            // A file system without locks: whoever starts two processes there computes twice, and nothing else.
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(at(&path, &e)),
        }
        let mut folder = Folder {
            dir: dir.to_owned(),
            question: question.clone(),
            identity,
            shard,
            done: Done::none(points),
            waiting: Vec::new(),
            stored: Instant::now(),
            _lock: lock,
        };
        folder.sweep_up();
        for path in files(dir)? {
            for point in folder.of_file(&path, points_of)? {
                folder.done.insert(point);
            }
        }
        Ok(folder)
    }

    /// Removes what a killed process of this shard has left half written.
    fn sweep_up(&self) {
        let own = self.unfinished("");
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(|n| n.starts_with(&own)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn unfinished(&self, name: &str) -> String {
        format!(".unfinished-{}-of-{}-{name}", self.shard.index, self.shard.of)
    }

    /// The points of this shard that are still to be worked out.
    pub fn pending(&self) -> Missing {
        self.done.clone().missing(self.shard)
    }

    /// The first of them, from one on.
    pub fn first_pending(&self, from: u64) -> Option<u64> {
        self.done.first_missing(self.shard, from)
    }

    /// How many points the folder has, of all shards.
    pub fn done(&self) -> u64 {
        self.done.len()
    }

    /// What a reader makes of a file, or what is wrong with that.
    fn of_file<T>(&self, path: &Path, read: fn(&Question, &str, File) -> Result<T, String>) -> Result<T, String> {
        let file = File::open(path).map_err(|e| at(path, &e))?;
        let read = read(&self.question, &self.identity, file);
        read.map_err(|e| format!("{}; move it away and run the sweep again", at(path, &e)))
    }

    /// Hands over all rows of the folder, each once, file by file: no more than one file is in memory.
    ///
    /// # Errors
    ///
    /// A broken file, one of another sweep, or two that contradict each other.
    pub fn each(&self, mut take: impl FnMut(Row)) -> Result<(), String> {
        let paths = files(&self.dir)?;
        let size = self.question.size()?;
        let (mut seen, mut twice) = (Done::none(size), Done::none(size));
        for path in &paths {
            let mut points = Vec::new();
            for row in self.of_file(path, from_parquet)? {
                if seen.has(row.point) {
                    twice.insert(row.point);
                } else {
                    points.push(row.point);
                    take(row);
                }
            }
            points.into_iter().for_each(|p| {
                seen.insert(p);
            });
        }
        // Where a file system has no locks two processes may have stored the same point, and then the same rows.
        let mut hashes = HashMap::new();
        for path in paths.iter().filter(|_| !twice.is_empty()) {
            for row in self.of_file(path, from_parquet)?.into_iter().filter(|r| twice.has(r.point)) {
                let hash = Fingerprint::of(&row);
                if *hashes.entry((row.point, row.place)).or_insert(hash) != hash {
                    return Err(at(&self.dir, &format!("two files have point {} with different rows", row.point)));
                }
            }
        }
        Ok(())
    }

    /// All rows of the folder, in the order of their points.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::each`].
    pub fn rows(&self) -> Result<Vec<Row>, String> {
        let mut rows: Vec<Row> = Vec::new();
        self.each(|row| rows.push(row))?;
        rows.sort_by_key(|r| (r.point, r.place));
        Ok(rows)
    }

    /// What can be said of all rows of the folder without holding them.
    ///
    /// # Errors
    ///
    /// Those of [`Folder::each`].
    pub fn summary(&self) -> Result<Summary, String> {
        let mut summary = Summary::default();
        self.each(|row| summary.take(&row))?;
        summary.shorten();
        Ok(summary)
    }

    /// Takes the rows of one point; they are stored with others, after two seconds at most.
    ///
    /// # Errors
    ///
    /// What the disk says. What was stored stays; a sweep that is run again goes on there.
    pub fn take(&mut self, rows: Vec<Row>) -> Result<(), String> {
        self.waiting.extend(rows);
        if self.waiting.len() >= ROWS || self.stored.elapsed() >= AT_MOST { self.flush() } else { Ok(()) }
    }

    /// Takes rows that another process has worked out: a file of Parquet with whole points.
    ///
    /// # Errors
    ///
    /// What is no such file, or of another sweep; what the disk says.
    pub fn take_parquet(&mut self, bytes: Vec<u8>) -> Result<u64, String> {
        let rows = rows_of_bytes(&self.question, &self.identity, bytes)?;
        let points = count(&rows);
        self.waiting.extend(rows.into_iter().filter(|r| !self.done.has(r.point)));
        if self.waiting.len() >= ROWS || self.stored.elapsed() >= AT_MOST {
            self.flush()?;
        }
        Ok(points)
    }

    /// Stores what is waiting: a file that has its name when it is whole.
    ///
    /// # Errors
    ///
    /// What the disk says.
    pub fn flush(&mut self) -> Result<(), String> {
        self.stored = Instant::now();
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.waiting.sort_by_key(|r| (r.point, r.place));
        let points: Vec<u64> = {
            let mut all: Vec<u64> = self.waiting.iter().map(|r| r.point).collect();
            all.dedup();
            all
        };
        let mut hash = SipHasher13::new_with_keys(0, 0);
        points.hash(&mut hash);
        let name = format!("{:09}-{}-{:016x}.parquet", points[0], points.len(), hash.finish128().h1);
        let (half, whole) = (self.dir.join(self.unfinished(&name)), self.dir.join(&name));
        let stored = File::create(&half).map_err(|e| e.to_string()).and_then(|file| {
            to_parquet(&self.question, &self.identity, &self.waiting, &file)?;
            file.sync_all().and_then(|()| fs::rename(&half, &whole)).map_err(|e| e.to_string())
        });
        if let Err(e) = stored {
            let _ = fs::remove_file(&half);
            return Err(format!(
                "{}: {} points cannot be stored: {e}; what was stored before stays, and the sweep continues there when \
                 it is run again",
                self.dir.display(),
                points.len()
            ));
        }
        points.into_iter().for_each(|p| {
            self.done.insert(p);
        });
        self.waiting.clear();
        Ok(())
    }

    /// Works out the points of the shard that are missing, on threads of this process. `tick` as [`run`] has it. Gives
    /// how many were worked out.
    ///
    /// # Errors
    ///
    /// What the disk says.
    pub fn run(&mut self, threads: usize, tick: impl FnMut(u64) -> bool) -> Result<u64, String> {
        let (question, pending) = (self.question.clone(), self.pending());
        let done = run(&question, pending, threads, |rows| self.take(rows), tick)?;
        self.flush()?;
        Ok(done)
    }

    /// Rows that are taken and not stored: after the disk has failed, what is left of them.
    pub fn waiting(&self) -> &[Row] {
        &self.waiting
    }
}

/// What can be said of rows one after the other, in any order.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many rows there are.
    pub rows: u64,
    /// A hash of all of them.
    pub fingerprint: Fingerprint,
    /// How many points have no answer.
    pub failed: u64,
    /// The first of them, and why.
    pub errors: Vec<(u64, String)>,
}

impl Summary {
    /// Points without an answer that are kept at most.
    pub const SHOWN: usize = 1000;

    /// Takes a row.
    pub fn take(&mut self, row: &Row) {
        self.rows += 1;
        self.fingerprint.add(row);
        if let Some(why) = row.error().filter(|_| row.place == 0) {
            self.failed += 1;
            self.errors.push((row.point, why.to_owned()));
            if self.errors.len() >= 2 * Summary::SHOWN {
                self.shorten();
            }
        }
    }

    fn shorten(&mut self) {
        self.errors.sort();
        self.errors.truncate(Summary::SHOWN);
    }
}

/// How many points rows are of, where those of a point stand together.
fn count(rows: &[Row]) -> u64 {
    rows.chunk_by(|a, b| a.point == b.point).count() as u64
}

/// The files of rows of a folder, in the order of their names.
fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| at(dir, &e))? {
        let path = entry.map_err(|e| at(dir, &e))?.path();
        let hidden = path.file_name().and_then(|n| n.to_str()).is_none_or(|n| n.starts_with('.'));
        if !hidden && path.extension().is_some_and(|e| e == "parquet") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Writes the manifest where there is none, and holds the sweep against it where there is. Of several processes that
/// come at once one writes it.
fn claim(dir: &Path, manifest: &Manifest) -> Result<(), String> {
    let path = dir.join(MANIFEST);
    if !path.exists() {
        if let Some(stray) = files(dir)?.first() {
            return Err(format!(
                "{}: it has files of Parquet ({}) but no {MANIFEST}: it is not a folder of a sweep; give an empty one",
                dir.display(),
                stray.file_name().unwrap_or_default().to_string_lossy()
            ));
        }
        let text = serde_json::to_string(manifest).map_err(|e| e.to_string())?;
        let half = dir.join(format!(".{MANIFEST}-{}", std::process::id()));
        let mut file = File::create(&half).map_err(|e| at(&half, &e))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|e| at(&half, &e))?;
        // Unlike a renaming this fails where the other is there already.
        let linked = fs::hard_link(&half, &path);
        let _ = fs::remove_file(&half);
        match linked {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(at(&path, &e)),
        }
    }
    let mut text = String::new();
    File::open(&path).and_then(|mut f| f.read_to_string(&mut text)).map_err(|e| at(&path, &e))?;
    let found: Manifest =
        serde_json::from_str(&text).map_err(|e| format!("{}: it is not a manifest of a sweep: {e}", path.display()))?;
    if found.identity == manifest.identity {
        return Ok(());
    }
    Err(format!("{} belongs to another sweep: {}; give another folder", dir.display(), differ(&found, manifest)))
}

/// In what two sweeps differ.
fn differ(a: &Manifest, b: &Manifest) -> String {
    let (qa, qb) = (&a.question, &b.question);
    let mut what = Vec::new();
    let mut say = |differs: bool, words: &str| {
        if differs {
            what.push(words.to_owned());
        }
    };
    say(a.program != b.program, &format!("written by {}, this is {}", a.program, b.program));
    say(qa.text != qb.text, "the scenario's text differs");
    say(qa.sets != qb.sets, "its --set values differ");
    say(qa.paths != qb.paths, &format!("it varies {}", qa.paths.join(", ")));
    say(qa.paths == qb.paths && qa.points != qb.points, "its varied values differ");
    say(qa.simulate != qb.simulate, if qa.simulate { "it simulates" } else { "it only estimates" });
    say(qa.seeds != qb.seeds, "its seeds differ");
    say(qa.metrics != qb.metrics, "its metrics differ");
    if what.is_empty() { "a file that the scenario names has changed".into() } else { what.join("; ") }
}
