//! Results of Iometer (.csv): blocks that it appends to a file, one for each run, with access specifications and rows
//! for each test.
//!
//! Rows have 56 columns up to 2008 and 80 in 1.1.0, which has decimal megabytes and 21 latency bins too. Nothing is
//! quoted: a comma in a name is written as a blank. Values have six decimals, counts none; what a row does not have is
//! empty. Lines end as on Windows.

use super::{Assignment, Place, Spec};
use crate::diagnostic::{Diagnostics, SourceId};
use crate::import::{Reading, beginning, lines, shown};
use crate::scenario::keys::Line;
use crate::units::{Bytes, Time};
use std::fmt::Write;

/// Rows of a file of results at most; one takes some 1200 bytes of memory.
const MOST_ROWS: usize = 200_000;

/// Which columns rows have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// 56, of 2006 and 2008.
    Columns56,
    /// 80, of 1.1.0.
    #[default]
    Columns80,
}

impl Form {
    /// How many columns.
    pub fn count(self) -> usize {
        self.columns().count() + 3
    }

    /// The columns behind type, name and access specification.
    pub(crate) fn columns(self) -> impl Iterator<Item = Column> {
        Column::ALL.iter().copied().filter(move |c| self == Form::Columns80 || !c.is_new())
    }

    /// The name of a column.
    fn name(self, column: Column) -> &'static str {
        match (self, column) {
            (Form::Columns56, Column::MibPerSecond) => "MBps",
            (Form::Columns56, Column::ReadMibPerSecond) => "Read MBps",
            (Form::Columns56, Column::WriteMibPerSecond) => "Write MBps",
            _ => column.name(),
        }
    }

    /// The version of Iometer that writes so.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Form::Columns56 => "2008.06.18",
            Form::Columns80 => "1.1.0",
        }
    }
}

/// The columns before those with values.
const TEXTS: [&str; 3] = ["Target Type", "Target Name", "Access Specification Name"];

macro_rules! columns {
    ($($variant:ident $name:literal $decimals:literal,)+) => {
        /// A column with values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "their names say what they are")]
        pub enum Column { $($variant,)+ }

        impl Column {
            /// All, in their order.
            pub(crate) const ALL: &[Column] = &[$(Column::$variant),+];

            /// Its name in 1.1.0.
            pub fn name(self) -> &'static str {
                match self { $(Column::$variant => $name),+ }
            }

            /// Digits behind the point.
            fn decimals(self) -> usize {
                match self { $(Column::$variant => $decimals),+ }
            }
        }
    };
}

columns! {
    Managers "# Managers" 0,
    Workers "# Workers" 0,
    Disks "# Disks" 0,
    Iops "IOps" 6,
    ReadIops "Read IOps" 6,
    WriteIops "Write IOps" 6,
    MibPerSecond "MiBps (Binary)" 6,
    ReadMibPerSecond "Read MiBps (Binary)" 6,
    WriteMibPerSecond "Write MiBps (Binary)" 6,
    MbPerSecond "MBps (Decimal)" 6,
    ReadMbPerSecond "Read MBps (Decimal)" 6,
    WriteMbPerSecond "Write MBps (Decimal)" 6,
    Transactions "Transactions per Second" 6,
    Connections "Connections per Second" 6,
    Average "Average Response Time" 6,
    AverageRead "Average Read Response Time" 6,
    AverageWrite "Average Write Response Time" 6,
    AverageTransaction "Average Transaction Time" 6,
    AverageConnection "Average Connection Time" 6,
    Maximum "Maximum Response Time" 6,
    MaximumRead "Maximum Read Response Time" 6,
    MaximumWrite "Maximum Write Response Time" 6,
    MaximumTransaction "Maximum Transaction Time" 6,
    MaximumConnection "Maximum Connection Time" 6,
    Errors "Errors" 0,
    ReadErrors "Read Errors" 0,
    WriteErrors "Write Errors" 0,
    BytesRead "Bytes Read" 0,
    BytesWritten "Bytes Written" 0,
    Reads "Read I/Os" 0,
    Writes "Write I/Os" 0,
    ConnectionCount "Connections" 0,
    TransactionsPerConnection "Transactions per Connection" 0,
    RawRead "Total Raw Read Response Time" 0,
    RawWrite "Total Raw Write Response Time" 0,
    RawTransaction "Total Raw Transaction Time" 0,
    RawConnection "Total Raw Connection Time" 0,
    RawMaximumRead "Maximum Raw Read Response Time" 0,
    RawMaximumWrite "Maximum Raw Write Response Time" 0,
    RawMaximumTransaction "Maximum Raw Transaction Time" 0,
    RawMaximumConnection "Maximum Raw Connection Time" 0,
    RawRunTime "Total Raw Run Time" 0,
    StartingSector "Starting Sector" 0,
    MaximumSize "Maximum Size" 0,
    QueueDepth "Queue Depth" 0,
    Cpu "% CPU Utilization" 6,
    CpuUser "% User Time" 6,
    CpuPrivileged "% Privileged Time" 6,
    CpuDpc "% DPC Time" 6,
    CpuInterrupt "% Interrupt Time" 6,
    ProcessorSpeed "Processor Speed" 6,
    Interrupts "Interrupts per Second" 6,
    Effectiveness "CPU Effectiveness" 6,
    Packets "Packets/Second" 6,
    PacketErrors "Packet Errors" 6,
    Retransmissions "Segments Retransmitted/Second" 6,
    To50us "0 to 50 uS" 0,
    To100us "50 to 100 uS" 0,
    To200us "100 to 200 uS" 0,
    To500us "200 to 500 uS" 0,
    To1ms "0.5 to 1 mS" 0,
    To2ms "1 to 2 mS" 0,
    To5ms "2 to 5 mS" 0,
    To10ms "5 to 10 mS" 0,
    To15ms "10 to 15 mS" 0,
    To20ms "15 to 20 mS" 0,
    To30ms "20 to 30 mS" 0,
    To50ms "30 to 50 mS" 0,
    To100ms "50 to 100 mS" 0,
    To200ms "100 to 200 mS" 0,
    To500ms "200 to 500 mS" 0,
    To1s "0.5 to 1 S" 0,
    To2s "1 to 2 s" 0,
    To4s "2 to 4.7 s" 0,
    To5s "4.7 to 5 s" 0,
    To10s "5 to 10 s" 0,
    Over10s " >= 10 s" 0,
}

impl Column {
    /// The 21 latency bins, the shortest first. The edge that is called 4.7 s is 4 s in Iometer, too.
    pub fn bins() -> &'static [Column] {
        &Column::ALL[Column::To50us as usize..]
    }

    /// Whether only 1.1.0 has it.
    fn is_new(self) -> bool {
        matches!(self, Column::MbPerSecond | Column::ReadMbPerSecond | Column::WriteMbPerSecond)
            || self as usize >= Column::To50us as usize
    }
}

/// How many columns have values.
const VALUES: usize = Column::Over10s as usize + 1;

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// All managers.
    All,
    /// A manager.
    Manager,
    /// A processor of the manager above.
    Processor,
    /// A worker of the manager above.
    Worker,
    /// A disk of the worker above.
    Disk,
    /// A network target of the worker above.
    Network,
}

impl RowKind {
    const ALL: [(RowKind, &'static str); 6] = [
        (RowKind::All, "ALL"),
        (RowKind::Manager, "MANAGER"),
        (RowKind::Processor, "PROCESSOR"),
        (RowKind::Worker, "WORKER"),
        (RowKind::Disk, "DISK"),
        (RowKind::Network, "NETWORK"),
    ];

    /// The word in the first column.
    pub(crate) fn token(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is of.
    pub kind: RowKind,
    /// Its name.
    pub name: String,
    /// The access specification; empty where rows have none, or several.
    pub spec: String,
    values: Box<[Option<f64>; VALUES]>,
}

impl Row {
    /// One without any value.
    pub(crate) fn new(kind: RowKind, name: impl Into<String>, spec: impl Into<String>) -> Row {
        Row { kind, name: name.into(), spec: spec.into(), values: Box::new([None; VALUES]) }
    }

    /// A value; none where the column is empty.
    pub fn get(&self, column: Column) -> Option<f64> {
        self.values[column as usize]
    }

    /// Puts a value in a column, or takes it out.
    pub(crate) fn set(&mut self, column: Column, value: impl Into<Option<f64>>) {
        self.values[column as usize] = value.into();
    }
}

/// One test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestResults {
    /// Access specifications that begin to run with it; none where they are those of the test before.
    pub specs: Vec<Spec>,
    /// Which columns it has in the file.
    pub form: Form,
    /// Its rows.
    pub rows: Vec<Row>,
    /// When it ended: `2010-07-26 09:29:04:245`.
    pub ended: String,
}

/// One run: what one press of the button adds to the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// The test type, by its number.
    pub test_type: u32,
    /// What it was called.
    pub description: String,
    /// The version of Iometer.
    pub version: String,
    /// When it began.
    pub begun: String,
    /// Its tests.
    pub tests: Vec<TestResults>,
}

/// A file of results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Its runs.
    pub blocks: Vec<Block>,
}

const TEST_TYPE: &str = "'Test Type,Test Description";
const VERSION: &str = "'Version";
const TIME_STAMP: &str = "'Time Stamp";
const SPECS: &str = "'Access specifications";
const END_SPECS: &str = "'End access specifications";
const SPEC_NAME: &str = "'Access specification name,default assignment";
const SPEC_LINES: &str = "'size,% of size,% reads,% random,delay,burst,align,reply";
const RESULTS: &str = "'Results";
const END_TEST: &str = "'End Test";

/// The heads of columns, without the sign before them.
fn head(form: Form) -> String {
    let names: Vec<&str> = TEXTS.into_iter().chain(form.columns().map(|c| form.name(c))).collect();
    names.join(",")
}

/// The text of results, each test in the form that is asked for.
pub fn write(results: &Results, form: Form) -> String {
    let mut out = String::new();
    for block in &results.blocks {
        write_block(block, form, &mut out);
    }
    out.replace('\n', "\r\n")
}

/// What can stand between commas.
fn cell(text: &str) -> String {
    text.chars().map(|c| if c == ',' || c.is_control() { ' ' } else { c }).collect()
}

fn write_block(block: &Block, form: Form, out: &mut String) {
    let plain: String = block.description.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(out, "{TEST_TYPE}\n{},{plain}\n{VERSION}\n{}", block.test_type, cell(&block.version));
    let _ = writeln!(out, "{TIME_STAMP}\n{}", cell(&block.begun));
    for test in &block.tests {
        if !test.specs.is_empty() {
            let _ = writeln!(out, "{SPECS}");
            for spec in &test.specs {
                let _ = writeln!(out, "{SPEC_NAME}\n{},{}\n{SPEC_LINES}", cell(&spec.name), spec.assignment.number());
                for l in &spec.lines {
                    let delay = l.delay.fs() / 1_000_000_000_000;
                    let [share, read, random] = [l.share, l.read, l.random].map(|p| f64::from(p) / 100.0);
                    let (size, align, reply) = (l.size.0, l.align.0, l.reply.0);
                    let _ = writeln!(out, "{size},{share},{read},{random},{delay},{},{align},{reply}", l.burst);
                }
            }
            let _ = writeln!(out, "{END_SPECS}");
        }
        let _ = writeln!(out, "{RESULTS}\n'{}", head(form));
        for row in &test.rows {
            let _ = write!(out, "{},{},{}", row.kind.token(), cell(&row.name), cell(&row.spec));
            for column in form.columns() {
                out.push(',');
                if let Some(value) = row.get(column) {
                    let _ = write!(out, "{value:.*}", column.decimals());
                }
            }
            out.push('\n');
        }
        let _ = writeln!(out, "{TIME_STAMP}\n{}", cell(&test.ended));
    }
}

/// Reads a file of results.
pub fn read(diagnostics: &mut Diagnostics, source: SourceId) -> Option<Results> {
    Reading::of(diagnostics, source, parse)
}

/// What the next line must be.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    /// A key.
    Key,
    /// The value of a key.
    TestType,
    Version,
    TimeStamp,
    SpecName,
    /// Lines of an access specification, or the next key.
    SpecLines,
    /// The heads of columns.
    Head,
    /// Rows, or the next key.
    Rows,
}

type Span = (usize, usize);

fn parse(text: &str, reading: &mut Reading) -> Option<Results> {
    let mut results = Results::default();
    let mut expect = Expect::Key;
    // Between 'Access specifications and its end.
    let mut in_specs = false;
    let mut specs: Vec<Spec> = Vec::new();
    // The test whose rows come, or whose time stamp does.
    let mut test: Option<TestResults> = None;
    let mut rows = 0;
    let mut last = (0, 0);
    for (at, line) in lines(text) {
        if reading.enough() {
            return None;
        }
        let line = line.trim_start_matches('\u{feff}');
        let span = (at, beginning(text, at).1.min(at + line.len()));
        last = span;
        match expect {
            Expect::TestType => {
                let found = line.split_once(',').and_then(|(n, d)| Some((n.trim().parse().ok()?, d)));
                let Some((test_type, description)) = found else {
                    reading.error(
                        span,
                        "no test type",
                        format!("below {TEST_TYPE} are a number and a text: 6,My test"),
                    );
                    return None;
                };
                results.blocks.push(Block { test_type, description: description.to_owned(), ..Block::default() });
                expect = Expect::Key;
                continue;
            }
            Expect::Version | Expect::TimeStamp => {
                let Some(block) = results.blocks.last_mut() else { return unbegun(reading, span) };
                let value = line.to_owned();
                if expect == Expect::Version {
                    block.version = value;
                } else if let Some(test) = test.take() {
                    block.tests.push(TestResults { ended: value, ..test });
                } else {
                    block.begun = value;
                }
                expect = Expect::Key;
                continue;
            }
            Expect::SpecName => {
                let (name, number) = line.rsplit_once(',').unwrap_or((line, ""));
                let assignment = Assignment::parse(number.trim()).unwrap_or_default();
                specs.push(Spec { name: name.to_owned(), assignment, lines: Vec::new(), place: Place::default() });
                expect = Expect::Key;
                continue;
            }
            Expect::Head => {
                let form = columns(line, span, reading)?;
                test = Some(TestResults { specs: std::mem::take(&mut specs), form, ..TestResults::default() });
                expect = Expect::Rows;
                continue;
            }
            Expect::SpecLines if !line.starts_with('\'') => {
                let Some(found) = spec_line(line) else {
                    reading.error(
                        span,
                        format!("no line of an access specification: {}", shown(line)),
                        "it has eight numbers",
                    );
                    return None;
                };
                specs.last_mut()?.lines.push(found);
                continue;
            }
            Expect::Rows if !line.starts_with('\'') && !line.is_empty() => {
                rows += 1;
                if rows > MOST_ROWS {
                    reading.error(span, format!("more than {MOST_ROWS} rows"), "cut the file into pieces");
                    return None;
                }
                let test = test.as_mut()?;
                test.rows.extend(row(line, at, test.form, reading));
                continue;
            }
            Expect::Key | Expect::SpecLines | Expect::Rows => {}
        }
        let key = line.trim();
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        expect = if key.is_empty() {
            Expect::Key
        } else if is(TEST_TYPE) {
            Expect::TestType
        } else if is(VERSION) {
            Expect::Version
        } else if is(TIME_STAMP) {
            Expect::TimeStamp
        } else if is(SPECS) && !in_specs {
            in_specs = true;
            specs.clear();
            Expect::Key
        } else if is(END_SPECS) && in_specs {
            in_specs = false;
            Expect::Key
        } else if is(SPEC_NAME) && in_specs {
            Expect::SpecName
        } else if is(SPEC_LINES) && !specs.is_empty() && in_specs {
            Expect::SpecLines
        } else if is(RESULTS) && !in_specs {
            if results.blocks.is_empty() {
                return unbegun(reading, span);
            }
            Expect::Head
        } else if is(END_TEST) {
            Expect::Key
        } else {
            let hint = "a file of results has 'Test Type,Test Description; 'Version; 'Time Stamp; 'Access \
                specifications; 'Results";
            reading.error(span, format!("nothing of a file of results: {}", shown(key)), hint);
            return None;
        };
    }
    if results.blocks.is_empty() {
        reading.error(beginning(text, 0), "no results of Iometer", format!("they begin with a line {TEST_TYPE}"));
        return None;
    }
    if expect != Expect::Key || test.is_some() || in_specs {
        reading.error(
            last,
            "the results end in the middle",
            "is the file cut short? a test ends with 'Time Stamp and its value",
        );
        return None;
    }
    Some(results)
}

fn unbegun(reading: &mut Reading, span: Span) -> Option<Results> {
    reading.error(span, "this comes before the beginning", format!("results begin with a line {TEST_TYPE}"));
    None
}

/// Which columns these heads are of.
fn columns(line: &str, span: Span, reading: &mut Reading) -> Option<Form> {
    let heads: Vec<&str> = line.strip_prefix('\'').unwrap_or(line).trim_end_matches(',').split(',').take(200).collect();
    let form = [Form::Columns56, Form::Columns80].into_iter().find(|f| f.count() == heads.len());
    let Some(form) = form else {
        let message = format!("{} columns", heads.len());
        reading.error(span, message, "results of Iometer have 56 (2006, 2008) or 80 (1.1.0)");
        return None;
    };
    let names = TEXTS.into_iter().chain(form.columns().map(|c| form.name(c)));
    for (i, (head, name)) in heads.iter().zip(names).enumerate() {
        // The binary ones are called MBps in some files of 1.1.0.
        let alike = head.trim().eq_ignore_ascii_case(name.trim()) || head.trim() == name.replace("MiBps (", "MBps (");
        if !alike {
            let message = format!("column {} is called {}, not {name}", i + 1, shown(head));
            reading.error(
                span,
                message,
                format!("are these the {} columns of Iometer {}?", heads.len(), form.version()),
            );
            return None;
        }
    }
    Some(form)
}

/// Eight numbers; 1.1.0 may end the line with a comma.
fn spec_line(line: &str) -> Option<Line> {
    let parts: Vec<&str> = line.trim().trim_end_matches(',').split(',').map(str::trim).take(9).collect();
    let [size, share, read, random, delay, burst, align, reply] = parts.try_into().ok()?;
    let number = |s: &str| s.parse::<u64>().ok().filter(|n| *n < 1 << 40);
    let percent =
        |s: &str| s.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p)).map(|p| (p * 100.0).round() as u32);
    Some(Line {
        size: Bytes(number(size)?),
        share: percent(share)?,
        read: percent(read)?,
        trim: 0,
        random: percent(random)?,
        delay: Time::from_fs(number(delay)?.saturating_mul(1_000_000_000_000)),
        burst: burst.parse().ok()?,
        align: Bytes(number(align)?),
        reply: Bytes(number(reply)?),
    })
}

fn row(line: &str, at: usize, form: Form, reading: &mut Reading) -> Option<Row> {
    let span = |cell: &str| {
        let start = at + (cell.as_ptr() as usize - line.as_ptr() as usize);
        (start, start + cell.len().min(60))
    };
    let whole = (at, at + line.len().min(60));
    let whole = if line.is_char_boundary(whole.1 - at) { whole } else { (at, at + line.len()) };
    let cells: Vec<&str> = line.split(',').take(form.count() + 2).collect();
    // Some end with a comma.
    let cells = match cells.split_last() {
        Some((&"", front)) if front.len() == form.count() => front,
        _ => &cells,
    };
    if cells.len() != form.count() {
        let message = format!("a row of {} cells, not {}", cells.len(), form.count());
        reading.error(whole, message, "each row has as many as there are columns");
        return None;
    }
    let (texts, values) = cells.split_at(TEXTS.len());
    let Some(kind) = RowKind::ALL.iter().find(|k| k.1.eq_ignore_ascii_case(texts[0].trim())).map(|k| k.0) else {
        let all = RowKind::ALL.map(|k| k.1).join(", ");
        reading.error(whole, format!("there are no rows of {}", shown(texts[0])), format!("rows are of {all}"));
        return None;
    };
    let mut row = Row::new(kind, texts[1], texts[2]);
    for (cell, column) in values.iter().zip(form.columns()) {
        let cell = cell.trim();
        if cell.is_empty() {
            continue;
        }
        let Some(value) = cell.parse::<f64>().ok().filter(|v| v.is_finite()) else {
            let place = if cell.is_ascii() { span(cell) } else { whole };
            reading.error(place, format!("{} is not a number: {}", form.name(column), shown(cell)), "or nothing");
            return None;
        };
        row.set(column, value);
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> (Option<Results>, String) {
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.add_source("a.csv", text);
        let results = read(&mut diagnostics, source);
        assert_eq!(results.is_none(), diagnostics.has_errors(), "{diagnostics}");
        (results, diagnostics.to_string())
    }

    fn results() -> Results {
        let mut all = Row::new(RowKind::All, "All", "a");
        all.set(Column::Iops, 1196.489673);
        all.set(Column::BytesRead, 588_210_176.0);
        all.set(Column::MbPerSecond, 9.8016);
        all.set(Column::To50us, 3.0);
        let mut disk = Row::new(RowKind::Disk, "C: \"a, b\"", "");
        disk.set(Column::TransactionsPerConnection, -1.0);
        let rows = vec![all, disk];
        let specs = vec![Spec::builtin()];
        let test = |specs| TestResults { specs, rows: rows.clone(), ended: "then".into(), ..TestResults::default() };
        let tests = vec![test(specs), test(Vec::new())];
        let (description, version) = ("a, b".to_owned(), "1.1.0".to_owned());
        let block = Block { test_type: 6, description, version, begun: "now".into(), tests };
        Results { blocks: vec![block.clone(), block] }
    }

    #[test]
    fn columns_are_56_and_80() {
        assert_eq!((Form::Columns56.count(), Form::Columns80.count(), Column::bins().len()), (56, 80, 21));
        for row in RowKind::ALL {
            assert_eq!(row.0.token(), row.1);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let written = write(&results(), Form::Columns80);
        let (read, said) = with(&written);
        let read = read.expect(&said);
        let mut expected = results();
        expected.blocks.iter_mut().flat_map(|b| &mut b.tests).for_each(|t| t.rows[1].name = "C: \"a  b\"".into());
        assert_eq!((&read, write(&read, Form::Columns80)), (&expected, written.clone()));
        assert!(
            written.contains("\r\nALL,All,a,,,,1196.489673,,,,,,9.801600,") && written.contains(",588210176,"),
            "{written}"
        );
        assert_eq!(written.matches("'Access specifications\r\n").count(), 2);
        // The short form loses what only the long one has.
        let (short, said) = with(&write(&results(), Form::Columns56));
        let short = short.expect(&said);
        let row = &short.blocks[0].tests[0].rows[0];
        assert_eq!(
            (row.get(Column::Iops), row.get(Column::MbPerSecond), row.get(Column::To50us)),
            (Some(1196.489673), None, None)
        );
        assert_eq!(short.blocks[1].tests[1].form, Form::Columns56);
    }

    #[test]
    fn other_columns_are_refused() {
        let text = write(&results(), Form::Columns80).replace("\r\n", "\n");
        let (_, said) = with(&text.replace(",% DPC Time", ""));
        assert!(said.contains("a.csv:14:1: error: 79 columns") && said.contains("56 (2006, 2008) or 80"), "{said}");
        let (_, said) = with(&text.replace("% DPC Time", "% GPU Time"));
        assert!(said.contains("column 52 is called % GPU Time, not % DPC Time"), "{said}");
        let (_, said) = with(&text.replace("1196.489673", "1196.489673,1,1"));
        assert!(said.contains("a row of 82 cells, not 80"), "{said}");
        let (_, said) = with(&text.replace("1196.489673", "inf"));
        assert!(said.contains("IOps is not a number: inf"), "{said}");
        let (_, said) = with(&text.replace("DISK", "DISC"));
        assert!(said.contains("there are no rows of DISC"), "{said}");
        assert!(with("IOps\n").1.contains("nothing of a file of results"));
        assert!(with("").1.contains("no results of Iometer"));
        assert!(with("'Version\n1\n").1.contains("before the beginning"));
        // The old name of a column in 1.1.0, and commas at the ends.
        let (found, said) = with(&text.replace("MiBps (", "MBps (").replace(",2048,0\n", ",2048,0,\n"));
        assert_eq!(found.map(|r| r.blocks.len()), Some(2), "{said}");
    }

    #[test]
    fn cut_anywhere_it_is_refused_or_shorter() {
        let text = write(&results(), Form::Columns56);
        for end in 0..text.len() {
            if let (Some(found), _) = with(&text[..end]) {
                assert!(found.blocks.len() <= 2);
                // Whole tests only: a stamp may be cut, which nobody can see.
                assert!(found.blocks.iter().flat_map(|b| &b.tests).all(|t| t.rows.len() == 2));
            }
        }
    }
}
