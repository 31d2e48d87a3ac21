//! The sections of a set-up.

use super::super::{
    Assignment, CHARTS, Chart, Cycling, Display, MOST_SPEC_NAME, MOST_TARGET_NAME, MOST_TARGETS, MOST_WORKERS, Manager,
    Place, Record, Spawn, Spec, Statistic, Target, TestSetup, TestType, Worker, WorkerKind,
};
use super::{Line, Reader};
use crate::import::{shown, words};
use crate::scenario::keys::{Line as Access, MOST_LINES, MOST_OUTSTANDING, WHOLE};
use crate::units::{Bytes, Time};
use std::collections::HashSet;

/// A line of an access specification is smaller than this: 1 GiB.
const LARGEST_IO: u64 = (1 << 30) - 1;

const DESCRIPTION: &str = "'Test Description";
const RUN_TIME: &str = "'Run Time";
const RAMP_UP: &str = "'Ramp Up Time";
const DISK_WORKERS: &str = "'Default Disk Workers to Spawn";
const NETWORK_WORKERS: &str = "'Default Network Workers to Spawn";
const OLD_WORKERS: &str = "'Default Workers to Spawn";
const RECORD: &str = "'Record Results";
const WORKER_CYCLING: &str = "'Worker Cycling";
const DISK_CYCLING: &str = "'Disk Cycling";
const QUEUE_CYCLING: &str = "'Queue Depth Cycling";
const TEST_TYPE: &str = "'Test Type";
const TEST_KEYS: [&str; 10] = [
    DESCRIPTION,
    RUN_TIME,
    RAMP_UP,
    DISK_WORKERS,
    NETWORK_WORKERS,
    RECORD,
    WORKER_CYCLING,
    DISK_CYCLING,
    QUEUE_CYCLING,
    TEST_TYPE,
];

const UPDATE: &str = "'Record Last Update Results,Update Frequency,Update Type";
const OLD_UPDATE: &str = "'Update Frequency,Update Type";
const BAR: &str = "'Bar chart";

const SPEC_NAME: &str = "'Access specification name,default assignment";
const OLD_SPEC_NAME: &str = "'Access specification name";
const SPEC_LINES: &str = "'size,% of size,% reads,% random,delay,burst,align,reply";
const OLD_SPEC_LINES: &str = "'size, % of size, % reads, % random, delay, burst";
/// From this version on, specifications have names and eight fields.
const NAMED_SPECS: u64 = 19_980_521;

const MANAGER: &str = "'Manager ID, manager name";
const ADDRESS: &str = "'Manager network address";
const WORKER: &str = "'Worker";
const END_MANAGER: &str = "'End manager";
const WORKER_TYPE: &str = "'Worker type";
const DEFAULTS: &str = "'Default target settings for worker";
const ASSIGNED: &str = "'Assigned access specs";
const TARGETS: &str = "'Target assignments";
const END_WORKER: &str = "'End worker";
const END_LIST: &str = "'END manager list";
const OUTSTANDING: &str = "'Number of outstanding IOs,test connection rate,transactions per connection";
const OUTSTANDING_SEED: &str =
    "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value";
const DISK: &str = "'Disk maximum size,starting sector";
const DISK_PATTERN: &str = "'Disk maximum size,starting sector,Data pattern";
const INTERFACE: &str = "'Local network interface";
const VI: &str = "'VI outstanding IOs";

impl<'t> Reader<'_, 't> {
    /// A number in a range.
    fn number(&mut self, line: Line<'t>, what: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let number = line.text.parse::<u64>().ok().filter(|n| range.contains(n));
        if number.is_none() {
            let (low, high) = range.into_inner();
            let hint = if high == u64::MAX {
                format!("a whole number from {low} on")
            } else {
                format!("a whole number from {low} to {high}")
            };
            let message = format!(
                "{what} is {}",
                if line.text.is_empty() { "missing".into() } else { format!("no such number: {}", shown(line.text)) }
            );
            self.fault(line, message, hint);
        }
        number
    }

    fn small(&mut self, line: Line<'t>, what: &str, low: u32) -> Option<u32> {
        self.number(line, what, u64::from(low)..=i32::MAX as u64).map(|n| n as u32)
    }

    /// As many words as there should be, or a fault.
    fn fields<const N: usize>(&mut self, line: Line<'t>, what: &str, parts: &[&'t str]) -> Option<[Line<'t>; N]> {
        let fields: Option<[&str; N]> = parts.try_into().ok();
        if fields.is_none() {
            self.fault(line, format!("{what}: {} fields, not {N}", parts.len()), "fields are as in the key above");
        }
        fields.map(|f| f.map(|word| line.part(word)))
    }

    fn blank_fields<const N: usize>(&mut self, line: Line<'t>, what: &str) -> Option<[Line<'t>; N]> {
        let parts: Vec<&str> = words(line.at, line.text).map(|w| w.1).take(N + 1).collect();
        self.fields(line, what, &parts)
    }

    /// One of the words of a list.
    fn token<T>(&mut self, line: Line<'t>, what: &str, found: Option<T>, all: &str) -> Option<T> {
        if found.is_none() {
            self.fault(line, format!("{what} cannot be {}", shown(line.text)), format!("there are {all}"));
        }
        found
    }

    fn switch(&mut self, line: Line<'t>, what: &str) -> Option<bool> {
        let found = ["DISABLED", "ENABLED"].iter().position(|w| line.text.eq_ignore_ascii_case(w));
        self.token(line, what, found.map(|i| i == 1), "ENABLED and DISABLED")
    }

    /// `1,M1`: what names a manager or worker.
    fn numbered(&mut self, line: Line<'t>, what: &str) -> Option<(u32, String)> {
        let Some((id, name)) = line.text.split_once(',') else {
            self.fault(line, format!("{what} has no name"), "for example 1,MYHOST");
            return None;
        };
        let id = self.small(line.part(id), what, 0)?;
        Some((id, name.trim().to_owned()))
    }

    fn steps(&mut self, start: Line<'t>, step: Line<'t>, kind: Line<'t>) -> Option<Cycling> {
        let found = ["LINEAR", "EXPONENTIAL"].iter().position(|w| kind.text.eq_ignore_ascii_case(w));
        let exponential = self.token(kind, "the step type", found, "LINEAR and EXPONENTIAL")? == 1;
        Some(Cycling { start: self.small(start, "the start", 0)?, step: self.small(step, "the step", 0)?, exponential })
    }

    fn cycling(&mut self, key: Line<'t>) -> Option<Cycling> {
        let line = self.value(key)?;
        let [start, step, kind] = self.blank_fields(line, "cycling")?;
        self.steps(start, step, kind)
    }

    fn spawn(&mut self, key: Line<'t>) -> Option<Spawn> {
        let line = self.value(key)?;
        if line.text.eq_ignore_ascii_case("NUMBER_OF_CPUS") {
            return Some(Spawn::Processors);
        }
        self.number(line, "the number of workers", 0..=MOST_WORKERS as u64).map(|n| Spawn::Number(n as u32))
    }

    /// Notes a key that comes twice.
    fn twice(&mut self, line: Line<'t>, seen: &mut HashSet<&'static str>, key: &'static str) {
        if !seen.insert(key) {
            self.fault(line, format!("{key} is given twice"), "the last one counts");
        }
    }

    pub(super) fn test_setup(&mut self) -> TestSetup {
        let mut test = TestSetup::default();
        let mut seen = HashSet::new();
        self.until("TEST SETUP", "'END test setup", &[], &TEST_KEYS, |me, line| {
            let Some(key) = TEST_KEYS.into_iter().find(|k| line.is(k) || (*k == RAMP_UP && line.begins(RAMP_UP)))
            else {
                if line.is(OLD_WORKERS) {
                    if me.date >= 19_990_217 {
                        me.fault(
                            line,
                            format!("{OLD_WORKERS} is of before 1999"),
                            format!("since then there is {DISK_WORKERS}"),
                        );
                    }
                    test.disk_workers = me.spawn(line).unwrap_or(test.disk_workers);
                    return true;
                }
                if line.is("'Target Cycling") {
                    me.fault(line, "'Target Cycling is none of Iometer's keys", format!("{DISK_CYCLING} is meant"));
                    test.targets = me.cycling(line).unwrap_or(test.targets);
                    return true;
                }
                return false;
            };
            me.twice(line, &mut seen, key);
            match key {
                DESCRIPTION => {
                    if let Some(value) = me.value(line) {
                        test.description = value.text.to_owned();
                    }
                }
                RUN_TIME => {
                    if let Some(value) = me.value(line)
                        && let Some(parts) = me.blank_fields::<3>(value, "run time: hours, minutes, seconds")
                        && let [Some(h), Some(m), Some(s)] = parts.map(|p| me.number(p, "the run time", 0..=1_000_000))
                    {
                        test.run_time = [h as u32, m as u32, s as u32];
                    }
                }
                RAMP_UP => {
                    if let Some(value) = me.value(line)
                        && let Some(seconds) = me.number(value, "the ramp-up time", 0..=1_000_000)
                    {
                        test.ramp_up = seconds as u32;
                    }
                }
                DISK_WORKERS => test.disk_workers = me.spawn(line).unwrap_or(test.disk_workers),
                NETWORK_WORKERS => test.network_workers = me.spawn(line).unwrap_or(test.network_workers),
                RECORD => {
                    if let Some(value) = me.value(line) {
                        let all = "ALL, NO_TARGETS, NO_WORKERS, NO_MANAGERS and NONE";
                        let found = me.token(value, "what to record", Record::parse(value.text), all);
                        test.record = found.unwrap_or(test.record);
                    }
                }
                WORKER_CYCLING => test.workers = me.cycling(line).unwrap_or(test.workers),
                DISK_CYCLING => test.targets = me.cycling(line).unwrap_or(test.targets),
                QUEUE_CYCLING => {
                    if let Some(value) = me.value(line)
                        && let Some([start, end, step, kind]) = me.blank_fields(value, "queue depth cycling")
                        && let Some(end) = me.small(end, "the end", 0)
                        && let Some(cycling) = me.steps(start, step, kind)
                    {
                        (test.queue, test.queue_end) = (cycling, end);
                    }
                }
                _ => {
                    if let Some(value) = me.value(line) {
                        let all: Vec<&str> = TestType::ALL.iter().map(|t| t.token()).collect();
                        let found = me.token(value, "the test type", TestType::parse(value.text), &all.join(", "));
                        test.test_type = found.unwrap_or(test.test_type);
                    }
                }
            }
            true
        });
        test
    }

    pub(super) fn display(&mut self) -> Display {
        let mut display = Display::default();
        let known = [UPDATE, "'Bar chart 1 statistic", "'Bar chart 1 manager ID, manager name"];
        self.until("RESULTS DISPLAY", "'END results display", &[], &known, |me, line| {
            if line.is(UPDATE) || line.is(OLD_UPDATE) {
                if let Some(value) = me.value(line) {
                    me.update(value, line.is(UPDATE), &mut display);
                }
                return true;
            }
            if !line.begins(BAR) {
                return false;
            }
            let rest = line.part(&line.text[BAR.len()..]);
            let (number, item) = rest.text.split_once(char::is_whitespace).unwrap_or((rest.text, ""));
            let Some(number) = me.number(rest.part(number), "the number of the bar chart", 1..=CHARTS as u64) else {
                let _ = me.values();
                return true;
            };
            let chart = &mut display.charts[number as usize - 1];
            match item.trim().to_ascii_lowercase().as_str() {
                "statistic" => {
                    if let Some(value) = me.value(line) {
                        chart.statistic = Statistic::named(value.text);
                        if chart.statistic.is_none() {
                            let near = crate::diagnostic::nearest(value.text, Statistic::ALL.iter().map(|s| s.name()));
                            let hint = near.map_or("the names are those of Iometer's menu".into(), |n| {
                                format!("did you mean {n}?")
                            });
                            me.fault(value, format!("there is no statistic {}", shown(value.text)), hint);
                        }
                    }
                    true
                }
                "manager id, manager name" => {
                    chart.manager = me.value(line).and_then(|v| me.numbered(v, "the manager of a bar chart"));
                    true
                }
                "worker id, worker name" => {
                    chart.worker = me.value(line).and_then(|v| me.numbered(v, "the worker of a bar chart"));
                    true
                }
                _ => false,
            }
        });
        for Chart { manager, worker, .. } in &mut display.charts {
            // A worker is one of a manager: without that, Iometer passes over it.
            *worker = worker.take().filter(|_| manager.is_some());
        }
        display
    }

    fn update(&mut self, value: Line<'t>, with_switch: bool, display: &mut Display) {
        let parts: Vec<&str> = value.text.split(',').take(4).collect();
        let (record, rest) = match with_switch {
            true => (parts.first().copied(), parts.get(1..).unwrap_or_default()),
            false => (None, parts.as_slice()),
        };
        if let Some(record) = record {
            display.record_last = self.switch(value.part(record), "recording of last updates").unwrap_or(false);
        }
        let Some([frequency, kind]) = self.fields(value, "updates", rest) else { return };
        let found = ["WHOLE_TEST", "LAST_UPDATE"].iter().position(|w| kind.text.eq_ignore_ascii_case(w));
        let found = self.token(kind, "the update type", found, "WHOLE_TEST and LAST_UPDATE");
        display.since_last = found == Some(1);
        display.frequency = self.small(frequency, "the update frequency", 0).unwrap_or(0);
    }

    pub(super) fn specs(&mut self, specs: &mut Vec<Spec>) {
        let known = [SPEC_NAME, SPEC_LINES];
        // Lines belong to the name above them.
        let mut open = false;
        // Those with a line that is wrong: that has been said.
        let mut spoiled = HashSet::new();
        self.until("ACCESS SPECIFICATIONS", "'END access specifications", &[], &known, |me, line| {
            if line.is(SPEC_NAME) || line.is(OLD_SPEC_NAME) {
                open = true;
                let Some(value) = me.value(line) else { return true };
                let with = line.is(SPEC_NAME);
                let (name, assignment) = match value.text.rsplit_once(',') {
                    Some((name, word)) if with => (name, Some(word)),
                    _ => (value.text, None),
                };
                let all = "NONE, ALL, DISK and NET";
                let found = Assignment::parse(assignment.unwrap_or_default().trim());
                let assignment = match with {
                    true => me.token(value.part(assignment.unwrap_or_default()), "the default assignment", found, all),
                    false => None,
                };
                let name = value.part(name);
                me.length(name, "the name of an access specification", MOST_SPEC_NAME);
                if name.text.contains(',') {
                    me.fault(
                        name,
                        format!("a comma in the name {}", shown(name.text)),
                        "results are separated by commas",
                    );
                }
                if specs.iter().any(|s| s.name == name.text) {
                    me.fault(
                        name,
                        format!("a second access specification {}", shown(name.text)),
                        "workers get the first",
                    );
                }
                specs.push(Spec {
                    name: name.text.to_owned(),
                    assignment: assignment.unwrap_or_default(),
                    lines: Vec::new(),
                    place: me.place(name),
                });
                true
            } else if line.is(SPEC_LINES) || (line.is(OLD_SPEC_LINES) && me.date < NAMED_SPECS) {
                let old = line.is(OLD_SPEC_LINES);
                if !open && !old {
                    me.fault(
                        line,
                        "lines of an access specification without its name",
                        format!("{SPEC_NAME} comes first"),
                    );
                    let _ = me.values();
                    return true;
                }
                if !open {
                    let place = me.place(line);
                    specs.push(Spec { name: String::new(), assignment: Assignment::None, lines: Vec::new(), place });
                }
                open = false;
                let lines = me.access(old);
                if lines.is_none() {
                    spoiled.insert(specs.len() - 1);
                }
                if let Some(spec) = specs.last_mut() {
                    spec.lines = lines.unwrap_or_default();
                }
                true
            } else {
                false
            }
        });
        for (_, spec) in specs.iter_mut().enumerate().filter(|(i, _)| !spoiled.contains(i)) {
            let sum: u64 = spec.lines.iter().map(|l| u64::from(l.share)).sum();
            if spec.lines.is_empty() {
                let hint = format!("they come below {SPEC_LINES}");
                self.fault(self.at(spec.place), format!("{} has no lines", shown(&spec.name)), hint);
            } else if sum != u64::from(WHOLE) {
                let message = format!("the lines of {} add up to {} %", shown(&spec.name), sum as f64 / 100.0);
                self.fault(self.at(spec.place), message, "the second field, % of size, of all lines adds up to 100");
                spec.lines.clear();
            }
        }
        specs.retain(|s| !s.lines.is_empty());
    }

    /// The line of a place.
    fn at(&self, place: Place) -> Line<'t> {
        let (at, end) = place.0.map_or((0, 0), |s| (s.start as usize, s.end as usize));
        Line { at, text: self.text.get(at..end).unwrap_or_default() }
    }

    fn place(&self, line: Line) -> Place {
        let end = super::beginning(self.text, line.at).1.min(line.at + line.text.len());
        Place(Some(self.reading.span((line.at, end))))
    }

    fn length(&mut self, line: Line<'t>, what: &str, most: usize) {
        if line.text.is_empty() {
            self.fault(line, format!("{what} is empty"), "it needs one");
        } else if line.text.chars().nth(most).is_some() {
            self.fault(line, format!("{what} has more than {most} characters"), "Iometer cuts it there");
        }
    }

    /// Lines of an access specification, unless one is wrong; `old` ones have six fields between blanks.
    fn access(&mut self, old: bool) -> Option<Vec<Access>> {
        let mut all = Vec::new();
        let mut whole = true;
        for line in self.values() {
            // Old versions wrote an empty line so.
            if line.text == "0,0,0,0,0,0,0,0" {
                continue;
            }
            if all.len() == MOST_LINES {
                self.fault(
                    line,
                    format!("an access specification of more than {MOST_LINES} lines"),
                    "Iometer takes no more",
                );
                return None;
            }
            let fields: Option<[Line; 8]> = if old {
                let zero = Line { at: line.at, text: "0" };
                let fields = self.blank_fields::<6>(line, "a line of before 1998-05-21");
                fields.map(|[a, b, c, d, e, f]| [a, b, c, d, e, f, zero, zero])
            } else {
                let parts: Vec<&str> = line.text.split(',').take(9).collect();
                self.fields(line, "a line of an access specification", &parts)
            };
            let Some([size, share, read, random, delay, burst, align, reply]) = fields else {
                whole = false;
                continue;
            };
            let mut percent = |field, what| self.number(field, what, 0..=100).map(|p| p as u32 * 100);
            let shares = (percent(share, "% of size"), percent(read, "% reads"), percent(random, "% random"));
            let most_delay = Time::MAX.fs() / 1_000_000_000_000;
            let (Some(share), Some(read), Some(random)) = shares else {
                whole = false;
                continue;
            };
            let (Some(size), Some(delay), Some(burst), Some(align), Some(reply)) = (
                self.number(size, "the size", 1..=LARGEST_IO),
                self.number(delay, "the delay, ms", 0..=most_delay),
                self.number(burst, "the burst", 1..=i32::MAX as u64),
                self.number(align, "the alignment", 0..=LARGEST_IO),
                self.number(reply, "the reply", 0..=LARGEST_IO),
            ) else {
                whole = false;
                continue;
            };
            all.push(Access {
                size: Bytes(size),
                share,
                read,
                trim: 0,
                random,
                delay: Time::from_fs(delay * 1_000_000_000_000),
                burst: burst as u32,
                align: Bytes(align),
                reply: Bytes(reply),
            });
        }
        whole.then_some(all)
    }

    pub(super) fn managers(&mut self, managers: &mut Vec<Manager>) {
        self.until("MANAGER LIST", END_LIST, &[], &[MANAGER], |me, line| {
            if !line.is(MANAGER) {
                return false;
            }
            let Some(value) = me.value(line) else { return true };
            let (id, name) = me.numbered(value, "a manager").unwrap_or_default();
            let mut manager = Manager { id, name, place: me.place(value), ..Manager::default() };
            me.manager(&mut manager);
            managers.push(manager);
            true
        });
    }

    fn manager(&mut self, manager: &mut Manager) {
        let mut seen = HashSet::new();
        self.until("a manager", END_MANAGER, &[END_LIST, MANAGER], &[ADDRESS, WORKER, END_MANAGER], |me, line| {
            if line.is(ADDRESS) {
                me.twice(line, &mut seen, ADDRESS);
                manager.address = me.value(line).map(|v| v.text.to_owned()).unwrap_or_default();
                return true;
            }
            if !line.is(WORKER) {
                return false;
            }
            let Some(value) = me.value(line) else { return true };
            me.length(value, "the name of a worker", MOST_SPEC_NAME);
            let mut worker = Worker { name: value.text.to_owned(), place: me.place(value), ..Worker::default() };
            me.worker(&mut worker);
            if manager.workers.len() == MOST_WORKERS {
                me.fault(
                    value,
                    format!("a manager of more than {MOST_WORKERS} workers"),
                    "Iometer takes no more; the others are left out",
                );
            } else {
                manager.workers.push(worker);
            }
            true
        });
    }

    fn worker(&mut self, worker: &mut Worker) {
        let outer = [END_LIST, MANAGER, END_MANAGER, WORKER];
        let known = [WORKER_TYPE, DEFAULTS, ASSIGNED, TARGETS, END_WORKER];
        let mut seen = HashSet::new();
        self.until("a worker", END_WORKER, &outer, &known, |me, line| {
            let Some(key) = known.into_iter().find(|k| line.is(k)) else { return false };
            me.twice(line, &mut seen, key);
            if key != WORKER_TYPE && !seen.contains(WORKER_TYPE) {
                me.fault(line, format!("{key} before {WORKER_TYPE}"), "a worker's type comes first");
            }
            match key {
                WORKER_TYPE => {
                    if let Some(value) = me.value(line) {
                        worker.kind = me.kind(value).unwrap_or_default();
                    }
                }
                DEFAULTS => me.defaults(worker),
                ASSIGNED => {
                    let mut names = Vec::new();
                    for value in me.values() {
                        names.push((value.text.to_owned(), me.place(value)));
                    }
                    worker.specs = Some(names);
                    me.until(
                        "'Assigned access specs",
                        "'End assigned access specs",
                        &[END_WORKER, TARGETS],
                        &[],
                        |_, _| false,
                    );
                }
                _ => me.targets(worker),
            }
            true
        });
    }

    fn kind(&mut self, value: Line<'t>) -> Option<WorkerKind> {
        self.token(value, "the type", WorkerKind::parse(value.text), "DISK, NETWORK,TCP and NETWORK,VI")
    }

    fn defaults(&mut self, worker: &mut Worker) {
        let what = "'Default target settings for worker";
        let known = [OUTSTANDING_SEED, DISK_PATTERN, INTERFACE, VI];
        let outer = [END_WORKER, ASSIGNED, TARGETS];
        self.until(what, "'End default target settings for worker", &outer, &known, |me, line| {
            let Some(key) =
                [OUTSTANDING, OUTSTANDING_SEED, DISK, DISK_PATTERN, INTERFACE, VI].into_iter().find(|k| line.is(k))
            else {
                return false;
            };
            let Some(value) = me.value(line) else { return true };
            let parts: Vec<&str> = value.text.split(',').take(6).collect();
            match key {
                OUTSTANDING | OUTSTANDING_SEED => {
                    let fields = match key == OUTSTANDING {
                        true => me
                            .fields(value, "settings", &parts)
                            .map(|[a, b, c]| [a, b, c, value.part("DISABLED"), value]),
                        false => me.fields::<5>(value, "settings", &parts),
                    };
                    if let Some([outstanding, rate, transactions, fixed, seed]) = fields {
                        let most = u64::from(MOST_OUTSTANDING);
                        let found = me.number(outstanding, "the number of outstanding I/Os", 1..=most);
                        worker.outstanding = found.map_or(1, |n| n as u32);
                        let on = me.switch(rate, "the test connection rate").unwrap_or(false);
                        let number = me.small(transactions, "transactions per connection", 0);
                        worker.transactions_per_connection = number.filter(|_| on);
                        if key == OUTSTANDING_SEED {
                            let on = me.switch(fixed, "the fixed seed").unwrap_or(false);
                            let number = me.number(seed, "the seed", 0..=u64::MAX);
                            worker.fixed_seed = number.filter(|_| on);
                        }
                    }
                }
                DISK | DISK_PATTERN => {
                    let fields = match key == DISK {
                        true => me.fields(value, "disk settings", &parts).map(|[a, b]| (a, b, None)),
                        false => me.fields(value, "disk settings", &parts).map(|[a, b, c]| (a, b, Some(c))),
                    };
                    if let Some((size, start, pattern)) = fields {
                        // Beyond 2^60 bytes no scenario has room.
                        let most = (1u64 << 60) / super::super::SECTOR;
                        worker.maximum_size = me.number(size, "the maximum size", 0..=most).unwrap_or(0);
                        worker.starting_sector = me.number(start, "the starting sector", 0..=most).unwrap_or(0);
                        let pattern = pattern.and_then(|p| me.number(p, "the data pattern", 0..=2));
                        worker.data_pattern = pattern.unwrap_or(0) as u32;
                    }
                }
                INTERFACE => worker.interface = Some(value.text.to_owned()).filter(|i| !i.is_empty()),
                _ => worker.vi_outstanding = me.small(value, "the VI outstanding I/Os", 1),
            }
            true
        });
    }

    fn targets(&mut self, worker: &mut Worker) {
        let outer = [END_WORKER, END_MANAGER];
        self.until(TARGETS, "'End target assignments", &outer, &["'Target"], |me, line| {
            if !line.is("'Target") {
                return false;
            }
            let Some(value) = me.value(line) else { return true };
            me.length(value, "the name of a target", MOST_TARGET_NAME);
            let mut target =
                Target { name: value.text.to_owned(), kind: worker.kind, manager: None, place: me.place(value) };
            let known = ["'Target type", "'Target manager ID, manager name"];
            let outer = ["'Target", "'End target assignments", END_WORKER];
            me.until("a target", "'End target", &outer, &known, |me, line| {
                let Some(key) = known.iter().position(|k| line.is(k)) else { return false };
                if let Some(value) = me.value(line) {
                    match key {
                        0 => target.kind = me.kind(value).unwrap_or_default(),
                        _ => target.manager = me.numbered(value, "the other manager"),
                    }
                }
                true
            });
            if (target.kind == WorkerKind::Disk) != (worker.kind == WorkerKind::Disk) {
                let message =
                    format!("a target of type {} for a worker of type {}", target.kind.token(), worker.kind.token());
                me.fault(value, message, "disk workers have disks, network workers have interfaces");
            } else if worker.targets.len() == MOST_TARGETS {
                me.fault(
                    value,
                    format!("a worker of more than {MOST_TARGETS} targets"),
                    "Iometer takes no more; the others are left out",
                );
            } else {
                worker.targets.push(target);
            }
            true
        });
    }

    /// Names that stand for something elsewhere in the file.
    pub(super) fn names(&mut self, setup: &mut super::Setup) {
        // Up to 1998-05-21 the only specification had no name of its own: it is the one that workers call by a name
        // nobody has.
        if let Some(i) = setup.specs.iter().position(|s| s.name.is_empty()) {
            let assigned = setup.managers.iter().flat_map(|m| &m.workers).flat_map(|w| w.specs.iter().flatten());
            let unknown = assigned.map(|(name, _)| name).find(|n| setup.specs.iter().all(|s| s.name != **n));
            setup.specs[i].name = unknown.cloned().unwrap_or_else(|| "Untitled 1".into());
        }
        if setup.specs.is_empty() {
            return;
        }
        let names: HashSet<&str> = setup.specs.iter().map(|s| s.name.as_str()).collect();
        for (name, place) in setup.managers.iter().flat_map(|m| &m.workers).flat_map(|w| w.specs.iter().flatten()) {
            if names.contains(name.as_str()) || ["Idle", "Default"].contains(&name.as_str()) {
                continue;
            }
            let near = crate::diagnostic::nearest(name, names.iter().copied());
            let hint = near.map_or("it is under 'ACCESS SPECIFICATIONS".into(), |n| format!("did you mean {n}?"));
            self.fault(self.at(*place), format!("there is no access specification {}", shown(name)), hint);
        }
    }
}
