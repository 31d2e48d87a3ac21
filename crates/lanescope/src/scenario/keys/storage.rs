//! The keys of storage: host adapters, disks, RAM targets, arrays, their links, and the I/O that hosts ask for.

use super::*;
use crate::protocol::fibre_channel::LineRate as FcRate;
use crate::protocol::sas::LineRate as SasRate;
use crate::protocol::scsi;
use crate::scenario::quantity::expected;
use crate::units::Length;

/// No line of an access specification is larger: Iometer takes up to 1 GiB.
const LARGEST_IO: u64 = 1 << 30;
/// Lines of an access specification (Iometer 1.1.0: at most 100).
pub const MOST_LINES: usize = 100;
/// I/Os that one worker keeps outstanding at one target, at most: more than any queue in a host or a target holds.
pub const MOST_OUTSTANDING: u32 = 65_536;

words! {
    /// How an array spreads its data.
    Level {
        /// Striped, nothing redundant.
        Raid0 = "raid0",
        /// Mirrored pairs, one after the other.
        Raid1 = "raid1",
        /// Striped, with one parity strip in each stripe, in turn on all disks.
        Raid5 = "raid5",
        /// Striped over mirrored pairs.
        Raid10 = "raid10",
    }
}

words! {
    /// When the planes of a die sense.
    PlaneReads {
        /// Each when it likes.
        Independent = "independent",
        /// All at one moment: pages that wait for the die go together, one of each plane.
        Together = "together",
    }
}

words! {
    /// When an adapter with a cache says that a write is done.
    WritePolicy {
        /// When the data are in its cache.
        WriteBack = "write-back",
        /// When they are on the disks.
        WriteThrough = "write-through",
    }
}

words! {
    /// A test of IOzone, of a file larger than the host's memory.
    FileTest {
        /// Sequential write of a new file.
        Write = "write",
        /// The same again.
        Rewrite = "rewrite",
        /// Sequential read.
        Read = "read",
        /// The same again.
        Reread = "reread",
        /// Records in random order.
        RandomRead = "random-read",
        /// The same, written.
        RandomWrite = "random-write",
    }
}

impl FileTest {
    /// Whether it reads.
    pub fn reads(self) -> bool {
        matches!(self, FileTest::Read | FileTest::Reread | FileTest::RandomRead)
    }

    /// Whether its records come in random order.
    pub fn random(self) -> bool {
        matches!(self, FileTest::RandomRead | FileTest::RandomWrite)
    }
}

words! {
    /// What a host does.
    IoWord {
        /// Reads and writes of blocks, each from worker to target and back.
        Io = "io",
    }
}

words! {
    /// What two stations do.
    TransactWord {
        /// Messages one after the other, whichever way the lines say.
        Transact = "transact",
    }
}

/// One line of an access specification, as Iometer has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Bytes of an I/O.
    pub size: Bytes,
    /// Its share of the I/Os, in hundredths of a percent.
    pub share: u32,
    /// The probability that it reads, likewise.
    pub read: u32,
    /// The probability that one which does not read deallocates its bytes (a trim), and does not write them.
    pub trim: u32,
    /// The probability that it begins anywhere, and not where the last one ended.
    pub random: u32,
    /// Pause before each burst.
    pub delay: Time,
    /// I/Os of a burst.
    pub burst: u32,
    /// Offsets are multiples of this; 0 is the sector.
    pub align: Bytes,
    /// An answer of this size in the other direction follows each I/O; 0 is none.
    pub reply: Bytes,
}

impl Line {
    /// Whether any of its I/Os writes.
    pub(crate) fn writes(&self) -> bool {
        self.share > 0 && self.read < WHOLE && self.trim < WHOLE
    }
}

/// Bytes of a sector: what disks move at least, and what offsets are multiples of where nothing else is said.
pub const SECTOR: u64 = 512;

/// 100 % in the steps of [`Line`].
pub const WHOLE: u32 = 10_000;

/// An access specification: lines whose shares add up to 100 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access(pub Vec<Line>);

pub(super) const LINE_KEYS: [&str; 9] = ["size", "share", "read", "trim", "random", "delay", "burst", "align", "reply"];

/// A percentage from 0 to 100, in hundredths.
fn part(key: &str, node: &Node) -> Result<u32, Problem> {
    let hint = || Problem(format!("{key} is a percentage from 0 to 100"), format!("for example {key} = \"67 %\""));
    let Value::Text(s) = &node.value else { return Err(hint()) };
    let number = s.trim().strip_suffix('%').ok_or_else(hint)?.trim().parse::<f64>().map_err(|_| hint())?;
    if !(0.0..=100.0).contains(&number) {
        return Err(hint());
    }
    let hundredths = (number * 100.0).round();
    if (hundredths / 100.0 - number).abs() > 1e-9 {
        return Err(Problem(format!("{key} is finer than 0.01 %"), String::new()));
    }
    Ok(hundredths as u32)
}

impl Line {
    fn read(node: &Node) -> Result<Line, Problem> {
        Line::parse(node).map_err(|(problem, _)| problem)
    }

    /// The line, or what is wrong with it and where.
    fn parse(node: &Node) -> Result<Line, (Problem, Span)> {
        let example = "for example { size = \"2 MiB\", share = \"67 %\", read = \"100 %\", random = \"0 %\" }";
        let Value::Table(t) = &node.value else {
            return Err((Problem(expected("a line of an access specification", node).0, example.into()), node.span));
        };
        if let Some((key, wrong)) = t.0.iter().find(|(k, _)| !LINE_KEYS.contains(&k.as_str())) {
            let near = crate::diagnostic::nearest(key, LINE_KEYS);
            let hint = near.map_or(format!("a line has: {}", LINE_KEYS.join(", ")), |n| format!("did you mean {n}?"));
            return Err((Problem(format!("a line of an access specification has no key {key:?}"), hint), wrong.key));
        }
        let at = |key: &str| t.get(key).map_or(node.span, |n| n.span);
        let of =
            |key: &'static str| move |Problem(what, hint): Problem| (Problem(format!("{key}: {what}"), hint), at(key));
        let Some(size) = t.get("size") else {
            return Err((Problem("a line needs its size".into(), example.into()), node.span));
        };
        let size = Bytes::read(size).map_err(of("size"))?;
        let bytes = |key: &'static str| t.get(key).map_or(Ok(Bytes(0)), Bytes::read).map_err(of(key));
        let (align, reply) = (bytes("align")?, bytes("reply")?);
        for (what, bytes) in [("size", size), ("align", align), ("reply", reply)] {
            if bytes.0 > LARGEST_IO || what == "size" && bytes.0 == 0 {
                return Err((Problem(format!("{what} = {bytes}: an I/O has 1 B to 1 GiB"), String::new()), at(what)));
            }
        }
        let percent =
            |key: &str, default: u32| t.get(key).map_or(Ok(default), |n| part(key, n)).map_err(|p| (p, at(key)));
        let burst = t.get("burst").map_or(Ok(1), u32::read).map_err(of("burst"))?;
        if burst == 0 {
            return Err((Problem("burst = 0 never issues anything".into(), "at least 1 I/O".into()), at("burst")));
        }
        let (read, trim) = (percent("read", WHOLE)?, percent("trim", 0)?);
        if trim > 0 && (read == WHOLE || reply.0 > 0) {
            let (what, hint) = match reply.0 {
                0 => ("trim of I/Os that all read", "trim is the part of those that do not read: set read = \"0 %\""),
                _ => ("trim of I/Os with a reply", "a trim has no data, and none that answers"),
            };
            return Err((Problem(what.into(), hint.into()), at("trim")));
        }
        Ok(Line {
            size,
            share: percent("share", WHOLE)?,
            read,
            trim,
            random: percent("random", 0)?,
            delay: t.get("delay").map_or(Ok(Time::ZERO), Time::read).map_err(of("delay"))?,
            burst,
            align,
            reply,
        })
    }
}

impl Shape for Access {
    const NUMBER: bool = false;
    fn blame(node: &Node) -> Span {
        let lines = match &node.value {
            Value::Array(list) => list.as_slice(),
            _ => std::slice::from_ref(node),
        };
        lines.iter().find_map(|l| Line::parse(l).err()).map_or(node.span, |(_, span)| span)
    }
    fn read(node: &Node) -> Result<Self, Problem> {
        let one = std::slice::from_ref(node);
        let lines = match &node.value {
            Value::Array(list) => list.as_slice(),
            _ => one,
        };
        if lines.is_empty() || lines.len() > MOST_LINES {
            return Err(Problem(format!("an access specification has 1 to {MOST_LINES} lines"), String::new()));
        }
        let lines: Vec<Line> = lines.iter().map(Line::read).collect::<Result<_, _>>()?;
        let sum: u32 = lines.iter().map(|l| l.share).sum();
        if sum != WHOLE {
            return Err(Problem(
                format!("the shares of its lines add up to {} %, not to 100 %", sum as f64 / 100.0),
                "share is the probability of each line; a line alone has 100 %".into(),
            ));
        }
        Ok(Access(lines))
    }
    fn show(&self) -> String {
        let percent = |n: u32| n as f64 / 100.0;
        let line = |l: &Line| {
            let mut s = format!("{}, {} % read, {} % random", l.size, percent(l.read), percent(l.random));
            if l.trim > 0 {
                s += &format!(", {} % of the others trims", percent(l.trim));
            }
            if self.0.len() > 1 {
                s = format!("{} % of {s}", percent(l.share));
            }
            if l.delay > Time::ZERO {
                s += &format!(", {} before each {}", l.delay, l.burst);
            }
            if l.align.0 > 0 {
                s += &format!(", at multiples of {}", l.align);
            }
            if l.reply.0 > 0 {
                s += &format!(", reply {}", l.reply);
            }
            s
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("; ")
    }
    fn schema() -> Json {
        let percent = json!({ "type": "string", "pattern": "^ *[0-9.]+ *%$" });
        let line = json!({ "type": "object", "additionalProperties": false, "required": ["size"], "properties": {
            "size": Bytes::schema(), "share": percent, "read": percent, "trim": percent, "random": percent,
            "delay": Time::schema(),
            "burst": { "type": "integer", "minimum": 1 }, "align": Bytes::schema(), "reply": Bytes::schema() } });
        json!({ "oneOf": [line, { "type": "array", "items": line, "minItems": 1, "maxItems": MOST_LINES }] })
    }
}

impl Shape for FcRate {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let all: Vec<String> = FcRate::all().map(|s| s.to_string()).collect();
        let hint = format!("Fibre Channel has {}", all.join(", "));
        match &node.value {
            Value::Text(s) => FcRate::parse(s).ok_or_else(|| {
                Problem(format!("there is no Fibre Channel of {:?}", s.chars().take(40).collect::<String>()), hint)
            }),
            _ => Err(Problem(expected("a speed of Fibre Channel", node).0, hint)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "enum": FcRate::all().map(|s| s.to_string()).collect::<Vec<_>>() })
    }
}

impl Shape for SasRate {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let all: Vec<String> = SasRate::all().map(|s| s.to_string()).collect();
        let hint = format!("SAS has {}", all.join(", "));
        match &node.value {
            Value::Text(s) => SasRate::parse(s).ok_or_else(|| {
                Problem(format!("there is no SAS of {:?}", s.chars().take(40).collect::<String>()), hint)
            }),
            _ => Err(Problem(expected("a speed of SAS", node).0, hint)),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "enum": SasRate::all().map(|s| s.to_string()).collect::<Vec<_>>() })
    }
}

/// A parallel SCSI bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiBus(pub &'static scsi::Bus);

impl Serialize for ScsiBus {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.0.name)
    }
}

impl Shape for ScsiBus {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let Value::Text(s) = &node.value else { return Err(expected("the name of a parallel SCSI bus", node)) };
        scsi::Bus::named(s).map(ScsiBus).ok_or_else(|| {
            let names = scsi::BUSES.iter().map(|b| b.name);
            let near = crate::diagnostic::nearest(s, names.clone());
            let all = || format!("parallel SCSI has {}", names.clone().collect::<Vec<_>>().join(", "));
            let hint = near.map_or_else(&all, |n| format!("did you mean {n:?}? {}", all()));
            Problem(format!("there is no SCSI bus {:?}", s.chars().take(40).collect::<String>()), hint)
        })
    }
    fn show(&self) -> String {
        self.0.name.into()
    }
    fn schema() -> Json {
        json!({ "enum": scsi::BUSES.iter().map(|b| b.name).collect::<Vec<_>>() })
    }
}

/// How many bytes are programmed for each that is written: at least 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Amplification(pub f64);

impl Shape for Amplification {
    fn read(node: &Node) -> Result<Self, Problem> {
        let value = match &node.value {
            Value::Integer(Some(i)) => *i as f64,
            Value::Float(f) => f.parse().unwrap_or(f64::NAN),
            _ => return Err(expected("a factor from 1 to 100", node)),
        };
        match (1.0..=100.0).contains(&value) {
            true => Ok(Amplification(value)),
            false => Err(Problem(
                format!("{value} is not a valid write amplification"),
                "from 1 (nothing is moved) to 100; 2 to 5 under random writes".into(),
            )),
        }
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
    fn order(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.0.partial_cmp(&other.0)
    }
    fn schema() -> Json {
        json!({ "type": "number", "minimum": 1, "maximum": 100 })
    }
}

/// The exponent of Zipf's law.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Exponent(pub f64);

impl Shape for Exponent {
    fn read(node: &Node) -> Result<Self, Problem> {
        let value = match &node.value {
            Value::Integer(Some(i)) => *i as f64,
            Value::Float(f) => f.parse().unwrap_or(f64::NAN),
            _ => return Err(expected("an exponent above 0 and up to 5", node)),
        };
        match value > 0.0 && value <= 5.0 {
            true => Ok(Exponent(value)),
            false => Err(Problem(
                format!("{value} is not a valid exponent of Zipf's law"),
                "above 0 and up to 5; fio's is 1.1".into(),
            )),
        }
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
    fn schema() -> Json {
        json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 5 })
    }
}

table! {
    /// A host adapter: on the host's side a device with DMA engines, on the other the ports that its disks hang on. It
    /// has the keys of an endpoint too.
    HostAdapter, HOST_ADAPTER, "a host adapter" {
        /// Commands of one target that it works on at once; more wait in the host.
        queue_depth: default NonZeroU32, Low = "32" Assumed Likely
            "drivers of Fibre Channel adapters allow a logical unit 30 to 32 commands";
        /// Time of its processor for one command, one after the other.
        command_time: default Time, High = "{ low = \"2 us\", typical = \"5 us\", high = \"20 us\" }" Assumed Guess
            "vendors of 2004 to 2010 state 50,000 to 500,000 I/Os per second";
        /// What it reads from host memory for a command: the command and its scatter list.
        command_bytes: default Bytes, High = "\"128 B\"" Assumed Guess "a work queue entry";
        /// What it writes to host memory when a command is done.
        status_bytes: default Bytes, High = "\"64 B\"" Assumed Guess "a completion queue entry";
        /// Header of its requests on PCIe: 3DW for 32-bit addresses, 4DW above 4 GiB (2.0, 2.2.4.1).
        header: default Header, Low = "\"4DW\"" Assumed Likely "buffers above 4 GiB";
        /// Data that a port holds on the way to or from host memory, each way. On Fibre Channel, what comes in decides
        /// its credit.
        port_buffer: default Bytes, Low = "\"64 KiB\"" Assumed Guess "some thirty frames";
        /// Cache. Without it, data go straight through; an array needs it.
        cache: opt Bytes, Low;
        /// When a write is done.
        write_policy: default WritePolicy, One = "\"write-back\"" Assumed Likely "adapters with a battery";
        /// What its cache memory carries: every byte counts once each time that it is written to or read from the
        /// memory.
        memory_bandwidth: opt Rate, Low;
        /// What its parity engine takes in.
        xor_rate: opt Rate, Low;
        /// Of a RAID controller with NVMe drives behind it: the root complex that stands for its memory and its ports
        /// to them. Arrays of drives below that are its own, and what they move for mirrors and parity crosses their
        /// links only.
        drive_ports: opt String, One;
        /// Of arrays: time of its processor for each command that it gives a disk or drive, beside command_time for an
        /// I/O of the host. Without it, none: hardware makes them.
        drive_command_time: opt Time, High;
    }
}

table! {
    /// A target without moving parts: RAM behind a controller.
    RamDisk, RAM_DISK, "a RAM disk" {
        /// Bytes that it holds.
        capacity: default Bytes, One = "\"1 GiB\"" Assumed Guess "what offsets are drawn from";
        /// From a command's arrival to its first data, or to its being ready for them.
        latency: default Time, High = "{ low = \"10 us\", typical = \"20 us\", high = \"100 us\" }" Assumed Guess
            "a controller without seek";
        /// What it can move, reads and writes added.
        rate: opt Rate, Low;
        /// Data that its port holds, each way. On Fibre Channel, what comes in decides its credit.
        port_buffer: default Bytes, Low = "\"64 KiB\"" Assumed Guess "some thirty frames";
    }
}

table! {
    /// A disk.
    Disk, DISK, "a disk" {
        /// Bytes that it holds.
        capacity: default Bytes, One = "\"73 GB\"" Assumed Guess "a server's disk of 2004";
        /// Turns per minute.
        rpm: default NonZeroU32, Low = "10000" Assumed Guess "a server's disk of 2004";
        /// Seek to the next track.
        track_seek: default Time, High = "\"500 us\"" Assumed Likely "10,000 rpm disks of 2004: 0.3 to 0.6 ms";
        /// Seek over a third of the disk.
        average_seek: default Time, High = "\"4700 us\"" Assumed Likely "10,000 rpm disks of 2004: 4.5 to 5.2 ms";
        /// Seek from one end to the other.
        full_seek: default Time, High = "\"10 ms\"" Assumed Likely "10,000 rpm disks of 2004: 9 to 12 ms";
        /// Media rate of the outermost zone.
        outer_rate: default Rate, Low = "\"72 MB/s\"" Assumed Likely
            "10,000 rpm, 73 GB disks of 2004 sustain 60 to 80 MB/s outside";
        /// Media rate of the innermost zone.
        inner_rate: default Rate, Low = "\"43 MB/s\"" Assumed Likely
            "inner tracks are about 0.6 of the outer ones long";
        /// Zones of equal size between them.
        zones: default NonZeroU32, One = "16" Assumed Guess "some";
        /// From a command's arrival to its being worked on.
        command_time: default Time, High = "\"100 us\"" Assumed Guess "firmware of 2004";
        /// Cache: how far it reads ahead of a sequential reader, and how much it takes in ahead of the media.
        cache: default Bytes, Low = "\"2 MiB\"" Assumed Guess "one segment of 8 MiB";
        /// Whether a write is done when it is in the cache.
        write_cache: default bool, One = "false" Assumed Likely "adapters with arrays turn it off";
    }
}

table! {
    /// A solid-state drive. Data lie where a log has put them: pages are found on dies at random, and written to
    /// stripes in turn. Where nothing else is said, erasing and collecting garbage are in the program time, and reads
    /// do not wait for dies that program.
    Ssd, SSD, "a solid-state drive" {
        /// Bytes that it holds.
        capacity: default Bytes, One = "\"200 GB\"" Assumed Guess "what offsets are drawn from";
        /// Time of its controller for one command, one after the other.
        command_time: default Time, High = "{ low = \"2 us\", typical = \"5 us\", high = \"20 us\" }" Assumed Guess
            "50,000 to 500,000 commands per second";
        /// Buses between its controller and its flash.
        channels: default NonZeroU32, Low = "8" Assumed Likely "controllers of 2008 to 2015 have 4 to 16";
        /// Dies on each channel: one senses a page while others, or the page before, go over the channel.
        dies: default NonZeroU32, Low = "4" Assumed Guess "two packages of two dies";
        /// What lies in one place: read from one die, and one entry of a stripe. Planes that work together make one
        /// page.
        page: default Bytes, High = "\"16 KiB\"" Assumed Guess "two planes of 8 KiB";
        /// Planes of a die: each senses one page at a time.
        planes: default NonZeroU32, Low = "1" Assumed Likely "planes that work together make one page";
        /// When they do: whether each begins when it likes, or all that have something to sense at one moment.
        plane_reads: default PlaneReads, One = "\"independent\"" Assumed Guess "flash since about 2019 can";
        /// Time of a die to sense a page. With lower_read_time and upper_read_time, a middle page.
        read_time: default Time, High = "{ low = \"25 us\", typical = \"50 us\", high = \"90 us\" }" Assumed Likely
            "SLC 25 us, MLC 50 to 90 us";
        /// Of flash with three bits in a cell: time to sense a lower page, a third of all pages. It has the fewest
        /// thresholds.
        lower_read_time: opt Time, High;
        /// Time to sense an upper page, which has the most thresholds.
        upper_read_time: opt Time, High;
        /// What a channel carries of the bytes that are asked for.
        channel_rate: default Rate, Low = "\"200 MB/s\"" Assumed Likely
            "asynchronous flash 40 MB/s, ONFI 2 and toggle mode 133 to 200 MB/s";
        /// Stripes of pages that it programs side by side: writes go to them in turn.
        stripes: default NonZeroU32, Low = "8" Assumed Guess "one on each channel";
        /// Pages that one program of a stripe takes at most: what waits goes together. A page holds data of one
        /// command.
        stripe_pages: default NonZeroU32, Low = "4" Assumed Guess "one on each die of a channel";
        /// Time of a program, whatever it holds.
        program_time: default Time, High = "{ low = \"250 us\", typical = \"900 us\", high = \"2 ms\" }" Assumed Likely
            "SLC 200 to 300 us, MLC 0.9 to 2 ms";
        /// What a stripe takes its data in at, before it is programmed.
        stripe_rate: default Rate, Low = "\"200 MB/s\"" Assumed Guess "as one channel";
        /// Whether reads wait for a die that programs or erases.
        die_programs: default bool, One = "false" Assumed Guess "controllers read around what is being programmed";
        /// With die_programs: time to suspend a program for reads, which then goes on behind them. Without it they wait
        /// for its end.
        suspend_time: opt Time, High;
        /// Time for which a die is busy with what the drive does by itself, now and then: it reads blocks anew, writes
        /// its tables, levels wear.
        housekeeping: opt Time, High;
        /// With housekeeping: each die once in so long, on average.
        housekeeping_interval: default Time, Low = "\"100 ms\"" Assumed Guess "some per cent of the time at most";
        /// Bytes programmed for each byte written, in steady state: what garbage collection moves is read from dies and
        /// programmed again.
        write_amplification: default Amplification, High = "1" Assumed Guess "collecting garbage is in program_time";
        /// Time to erase a block of a stripe.
        erase_time: default Time, High = "\"0 ms\"" Assumed Guess "erasing is in program_time";
        /// Programs of a stripe that fill a block, which was erased before.
        block_programs: default NonZeroU32, Low = "256" Assumed Likely "blocks of 256 to 1024 pages";
        /// Memory for data of writes that are not programmed; more are not asked for.
        buffer: default Bytes, Low = "\"64 MiB\"" Assumed Guess "a part of its DRAM";
        /// Whether a write is done when it is there.
        write_cache: default bool, One = "false" Assumed Likely "only with capacitors is it safe";
        /// What it can move, reads and writes added.
        rate: opt Rate, Low;
        /// Data that its port holds, each way: what comes in decides its credit.
        port_buffer: default Bytes, Low = "\"64 KiB\"" Assumed Guess "some frames";
        /// What its data sheet states: random reads of 4 KiB in a second. To it and those that follow `drive fit` fits
        /// an NVMe drive.
        sheet_random_read: tell NonZeroU32, One;
        /// Random writes of 4 KiB in a second.
        sheet_random_write: tell NonZeroU32, One;
        /// What it reads in order, in I/Os of 128 KiB.
        sheet_sequential_read: tell Rate, One;
        /// What it writes in order, in I/Os of 128 KiB.
        sheet_sequential_write: tell Rate, One;
        /// Time of a random read of 4 KiB alone.
        sheet_read_latency: tell Time, One;
        /// Time of a random write of 4 KiB alone.
        sheet_write_latency: tell Time, One;
    }
}

table! {
    /// An array of disks behind one adapter, which runs it; or of NVMe drives, which their host runs, or the controller
    /// whose drive_ports they hang below.
    Array, ARRAY, "an array" {
        /// How it spreads its data.
        level: must Level, One;
        /// Its disks: parts, with * for all instances.
        disks: must Names, One;
        /// Bytes on one disk before the next one's turn.
        strip: default Bytes, One = "\"64 KiB\"" Assumed Likely "the default of RAID adapters";
        /// Of NVMe drives: time of a worker's processor for each command of a drive beyond the first that an I/O
        /// becomes. Without it, 0.3 us, from 0.1 us to 1 us.
        command_time: opt Time, High;
        /// Of NVMe drives: how fast a worker's processor makes parity, of bytes that it takes in. Without it, 8 GB/s,
        /// from 4 GB/s to 20 GB/s.
        parity_rate: opt Rate, Low;
    }
}

table! {
    /// A Fibre Channel link between an adapter's port and a target, or one each between two lists.
    FcLink, FC_LINK, "a Fibre Channel link" {
        /// The adapter, then the target, with * for all instances.
        between: must Names, One;
        /// Its speed, e.g. "4GFC".
        fc: must FcRate, One;
        /// Data field of a full frame.
        frame: default Bytes, High = "\"2048 B\"" Standard Likely "FC-FS: up to 2112 B; 2048 is what ports agree on";
        /// How long it is: 5 ns a metre.
        length: default Length, High = "\"5 m\"" Assumed Likely "within a rack";
    }
}

table! {
    /// A SAS link between an adapter's phy and a target, or one each between two lists.
    SasLink, SAS_LINK, "a SAS link" {
        /// The adapter, then the target, with * for all instances.
        between: must Names, One;
        /// Its speed, e.g. "3G".
        sas: must SasRate, One;
        /// Information unit of a full DATA frame.
        frame: default Bytes, High = "\"1024 B\"" Standard Exact "SPL: up to 1024 B";
        /// For how long an opened connection carries nothing: the way of OPEN and OPEN_ACCEPT, DONE and CLOSE through
        /// both ends.
        connection: default Time, High = "{ low = \"500 ns\", typical = \"1 us\", high = \"5 us\" }" Assumed Guess
            "some hundred nanoseconds for each turn";
        /// How long it is: 5 ns a metre.
        length: default Length, High = "\"1 m\"" Assumed Likely "within a case";
    }
}

table! {
    /// A parallel SCSI bus that an adapter shares with its disks.
    ScsiLink, SCSI_LINK, "a SCSI bus" {
        /// The adapter, then all targets on it.
        between: must Names, One;
        /// Which bus, e.g. "ultra320".
        scsi: must ScsiBus, One;
        /// Data that a target moves before it lets the bus go.
        burst: default Bytes, Low = "\"64 KiB\"" Assumed Guess "the disconnect-reconnect page of disks";
    }
}

table! {
    /// I/O of a host's workers to targets.
    Io, IO, "a flow of I/Os" {
        /// What it stands for.
        about: tell String, One;
        /// The hosts whose workers ask, with * for all.
        from: must String, One;
        /// The targets, one name or a list: disks, drives, RAM disks or arrays, with * for all; each worker works on
        /// each.
        to: must Names, One;
        /// "io".
        r#do: must IoWord, One;
        /// The access specification: a line { size, share, read, trim, random, delay, burst, align, reply } with the
        /// fields of Iometer, and trim, the part of the I/Os which do not read that deallocate; or a list of lines
        /// whose shares add up to 100 %.
        access: opt Access, One;
        /// In its place, a test of IOzone.
        test: opt FileTest, One;
        /// Of random offsets: the n-th most wanted place is wanted 1 / n^zipf as often as the first; which places these
        /// are is as good as random (fio's random_distribution). Without it, all alike.
        zipf: opt Exponent, One;
        /// Of random offsets: another law of fio's random_distribution, written as there: "pareto:0.2", "normal:20",
        /// "zoned:50/5:30/15:20/80" (percent of the I/Os / percent of the range), "zoned_abs:50/10 GiB:50/90 GiB".
        distribution: opt Places, One;
        /// Where the file, or the range, begins on each target: Iometer's starting sector times 512 B.
        start: default Bytes, One = "\"0 B\"" Standard Likely "Iometer's default";
        /// Bytes of the file, or of each target's range. Without it, all that is behind its start.
        file: opt Bytes, One;
        /// Record of a file test.
        record: default Bytes, One = "\"64 KiB\"" Assumed Guess "between IOzone's 4 KiB and 16 MiB";
        /// Of a file test: what the file system makes of sequential records, one request.
        request: default Bytes, Low = "\"256 KiB\"" Assumed Guess "Linux 2.6 asks a device for up to 512 KiB at once";
        /// Of a file test: requests that read-ahead, or write-behind, keep outstanding.
        ahead: default NonZeroU32, Low = "8" Assumed Guess
            "a queue of 128 requests, as far as dirty pages and read-ahead fill it";
        /// I/Os that each worker keeps outstanding at each of its targets.
        outstanding: default NonZeroU32, Low = "1" Standard Likely "Iometer's default";
        /// I/Os a second that each worker issues at each of its targets, at most: one is issued when it is due if fewer
        /// than outstanding are out, else as soon as one returns, and what is late is made up for (fio's rate_iops). A
        /// reply belongs to its request.
        rate: opt NonZeroU32, Low;
        /// With rate: when I/Os are due, evenly spaced or at random (fio's rate_process).
        arrivals: default Arrivals, One = "\"even\"" Standard Likely "fio's default, rate_process = linear";
        /// Workers of each host; each has a core of its own where cores says nothing else.
        workers: default NonZeroU32, One = "1" Assumed Likely "one thread";
        /// Cores of each host that the workers of this flow run on: taken in turn, they share their time. Without it,
        /// one for each worker.
        cores: opt NonZeroU32, Low;
        /// How the host issues I/Os: says what submit_time, complete_time, wake_time, completions and
        /// commands_a_doorbell are where they are not written.
        host_software: opt HostSoftware, One;
        /// With host_software: the processor that it runs on. Its times are those of a server of 2021.
        host_processor: default HostProcessor, One = "\"server-2021\"" Assumed Guess "what host_software was stated on";
        /// Of NVMe drives: queue pairs over which each worker spreads its I/Os, in turn, at each drive.
        queue_pairs: default NonZeroU32, Low = "1" Assumed Likely "one for each processor";
        /// Of NVMe drives: how a worker hears that an I/O is done.
        completions: opt Completions, One;
        /// Of NVMe drives: commands that a worker puts into a queue before it rings, as far as it has more to do.
        commands_a_doorbell: opt NonZeroU32, Low;
        /// Time from an interrupt until a worker that sleeps goes on: leaving an idle state, the scheduler. One that
        /// has something to do finds what is done by itself.
        wake_time: opt Time, High;
        /// Of drives of another host, NVMe over Fabrics: the channel adapters that the I/Os may go through, with * for
        /// all, of which each host has one. Without it, all that there are.
        fabric: opt Names, One;
        /// Of NVMe over Fabrics: data of a write that come in its command capsule, at most; larger writes are read by
        /// the target (RDMA READ).
        in_capsule_data: default Bytes, Low = "\"4 KiB\"" Assumed Likely
            "one page: Linux's target (NVMET_RDMA_DEFAULT_INLINE_DATA_SIZE); IOCCSZ of a controller says more or less";
        /// Of NVMe over Fabrics: entries of each queue pair, of which one stays free; more commands wait in the host.
        fabric_entries: default NonZeroU32, Low = "128" Assumed Likely "Linux's host (NVMF_DEF_QUEUE_SIZE)";
        /// Of NVMe over Fabrics: time of the target's processor for a command, one after the other for each queue pair;
        /// half of it when the capsule has come, half when the drive is done.
        target_time: default Time, High = "{ low = \"500 ns\", typical = \"2 us\", high = \"10 us\" }" Assumed Guess
            "a core of a target that polls does 1 to 2 million commands a second, one by interrupts 100,000 to 300,000";
        /// Time of the worker's processor to issue an I/O.
        submit_time: default Time, High = "{ low = \"2 us\", typical = \"5 us\", high = \"20 us\" }" Assumed Guess
            "system call, driver";
        /// Time of the worker's processor when an I/O is done: interrupt, driver, wake-up.
        complete_time: default Time, High = "{ low = \"2 us\", typical = \"10 us\", high = \"40 us\" }" Assumed Guess
            "interrupt, driver, wake-up";
        /// What was measured, data per second of each pair of a worker and a target; held against the answer.
        measured: tell Rate, One;
    }
}

table! {
    /// Messages between workers of stations and their mirrored clients, over TCP: Iometer's network workers.
    Transact, TRANSACT, "a flow of transactions" {
        /// What it stands for.
        about: tell String, One;
        /// The stations whose workers these are, with * for all.
        from: must String, One;
        /// The stations at the other end, one name or a list, with * for all; each worker exchanges messages with each,
        /// one at a time.
        to: must Names, One;
        /// "transact".
        r#do: must TransactWord, One;
        /// The access specification: a read is a message that the worker receives, a write one that it sends, a reply
        /// one in the other direction. Offsets mean nothing here.
        access: must Access, One;
        /// Transactions of a connection, which is opened before and closed behind them; 0 opens and closes. Without it,
        /// one connection lasts for ever.
        connections: opt Count, One;
        /// Workers of each station; each has a processor of its own.
        workers: default NonZeroU32, One = "1" Assumed Likely "one thread";
        /// Time of a processor to issue an I/O, at both ends.
        submit_time: default Time, High = "{ low = \"2 us\", typical = \"5 us\", high = \"20 us\" }" Assumed Guess
            "system call, driver";
        /// Time of a processor when an I/O is done, at both ends: interrupt, driver, wake-up.
        complete_time: default Time, High = "{ low = \"2 us\", typical = \"10 us\", high = \"40 us\" }" Assumed Guess
            "interrupt, driver, wake-up";
        /// What was measured, data per second of each pair of a worker and its other end; held against the answer.
        measured: tell Rate, One;
    }
}

parts! {
    /// The keys of one part of storage.
    StoreKeys {
        /// A host adapter; its DMA engines are an endpoint of the same name.
        Adapter(HostAdapter) = HostAdapter,
        /// A RAM disk.
        Ram(RamDisk) = RamDisk,
        /// A disk.
        Disk(Disk) = Disk,
        /// A solid-state drive.
        Ssd(Ssd) = Ssd,
        /// An NVMe controller and the drive behind it; its port is an endpoint of the same name.
        Nvme(NvmeDrive) = Nvme,
        /// An array.
        Array(Array) = Array,
    }
}
