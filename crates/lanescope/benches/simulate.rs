//! How fast the simulator is, as a share of the least work that such a simulation can cost on this machine.
//!
//! The yardsticks are programs of their own in `peers/`: packets through a fat tree of bare FIFOs without an event
//! queue (FT8, FT16), and a queue with one server (M/M/1). They are compiled here, and each of our figures is measured
//! in turn with its yardstick, in CPU time on one core; only the ratio of the medians means something on a machine that
//! others use too. Where ns-3 is installed (`apt-get install libns3-dev g++`), it is such a program too: the rows that
//! are named after it say how many times its rate ours is. So is htsim, where `HTSIM` says the folder of its source
//! (https://github.com/Broadcom/csg-htsim) with its library built: `make -C $HTSIM/sim libhtsim.a`.
//!
//! `cargo bench --bench simulate` measures everything, `cargo bench --bench simulate -- reads` what has "reads" in its
//! name.

mod machine;

use lanescope::diagnostic::Diagnostics;
use lanescope::library::Library;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::core::kernel::{Agenda, NEVER, World};
use lanescope::sim::{Run, Step, exponential};
use machine::{cpu, median, pin};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROUNDS: usize = 5;

/// Customers of the queue with one server.
const CUSTOMERS: u64 = 1_000_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` comes without it, and wants no figures.
    if !args.iter().any(|a| a == "--bench") {
        return;
    }
    let wanted = |row: &Row| args.iter().all(|a| a.starts_with('-') || row.name.contains(a.as_str()));
    let pinned = pin();
    let mut rows: Vec<Row> = rows().into_iter().filter(wanted).collect();
    let ns3 = rows.iter().any(|r| r.against.is_ns3()).then(ns3).flatten();
    let htsim = rows.iter().any(|r| r.against.is_htsim()).then(htsim).flatten();
    let peers = Peers { fat_tree: compile("limit_fattree"), mm1: compile("limit_mm1"), ns3, htsim };
    let missing = |against: Against| match () {
        () if against.is_ns3() && peers.ns3.is_none() => Some(NO_NS3),
        () if against.is_htsim() && peers.htsim.is_none() => Some(NO_HTSIM),
        () => None,
    };
    let skipped = rows.extract_if(.., |r| missing(r.against).is_some());
    let skipped: Vec<_> = skipped.filter_map(|r| Some((r.name, missing(r.against)?))).collect();
    for _ in 0..ROUNDS {
        for row in &mut rows {
            let theirs = row.against.measure(&peers);
            let ours = (row.work)();
            row.differs |= ours.checked.is_some() && ours.checked != theirs.checked;
            row.ours.push(ours.rate);
            row.theirs.push(theirs.rate);
        }
    }
    let core = if pinned { "on core 1" } else { "on any core" };
    println!("{}; CPU time {core}, medians of {ROUNDS} rounds, ours and theirs in turn\n", machine::name());
    print(&rows);
    if rows.iter().any(|r| r.against.is_ns3() || r.against.is_htsim()) {
        println!("\n{PEERS_NOTE}");
    }
    for (name, why) in skipped {
        println!("{name:<30} skipped: {why}");
    }
}

/// What a measurement gave.
struct Outcome {
    /// Hops or events per second.
    rate: f64,
    /// What must be the same on both sides.
    checked: Option<String>,
}

/// A figure, and what it is held against.
struct Row {
    name: &'static str,
    unit: &'static str,
    work: Box<dyn FnMut() -> Outcome>,
    against: Against,
    /// Least share of the other's rate, and the share to hope for.
    goal: Option<f64>,
    mark: Option<f64>,
    /// Whether the two did not simulate the same.
    differs: bool,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Row {
    fn new(name: &'static str, unit: &'static str, against: Against, work: impl FnMut() -> Outcome + 'static) -> Row {
        let (work, goal, mark, differs) = (Box::new(work), None, None, false);
        Row { name, unit, work, against, goal, mark, differs, ours: Vec::new(), theirs: Vec::new() }
    }

    fn goal(self, goal: f64) -> Row {
        Row { goal: Some(goal), ..self }
    }

    fn mark(self, mark: f64) -> Row {
        Row { mark: Some(mark), ..self }
    }
}

/// A yardstick.
#[derive(Clone, Copy)]
enum Against {
    FatTree {
        k: u32,
        us: u64,
    },
    Mm1,
    /// ns-3, bare devices that forward in their receive callback: the fat tree, and the switch of 16 ports.
    Ns3Tree {
        k: u32,
        us: u64,
    },
    Ns3Switch,
    /// htsim, packets that carry their route over its queues and pipes: the fat tree.
    HtsimTree {
        k: u32,
        us: u64,
    },
    /// A busy device alone in its plan.
    Alone,
}

struct Peers {
    fat_tree: PathBuf,
    mm1: PathBuf,
    /// Where it is installed: its fat tree and its switch.
    ns3: Option<[PathBuf; 2]>,
    htsim: Option<PathBuf>,
}

impl Against {
    fn name(self) -> String {
        match self {
            Against::FatTree { k, .. } => format!("FT{k}"),
            Against::Mm1 => "loop".into(),
            Against::Ns3Tree { .. } | Against::Ns3Switch => "ns-3".into(),
            Against::HtsimTree { .. } => "htsim".into(),
            Against::Alone => "writes".into(),
        }
    }

    fn is_ns3(self) -> bool {
        matches!(self, Against::Ns3Tree { .. } | Against::Ns3Switch)
    }

    fn is_htsim(self) -> bool {
        matches!(self, Against::HtsimTree { .. })
    }

    fn measure(self, peers: &Peers) -> Outcome {
        let ns3 = |program: usize, args: &[String]| {
            let programs = peers.ns3.as_ref().expect("rows against ns-3 are skipped where it is not");
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let said = output(&programs[program], &args, NS3[program].0);
            Outcome { rate: field(&said, "hops/s="), checked: None }
        };
        match self {
            Against::FatTree { k, us } => {
                let said = output(&peers.fat_tree, &[&k.to_string(), &us.to_string(), "perm", "0.95"], "window");
                let (hops, latency) = (field(&said, "hops="), field(&said, "mean_lat_ns="));
                Outcome { rate: field(&said, "hops/s="), checked: Some(same_way(hops as u64, latency)) }
            }
            Against::Mm1 => {
                let said = output(&peers.mm1, &[&CUSTOMERS.to_string()], "2-slot");
                Outcome { rate: field(&said, "timed_ev/s="), checked: None }
            }
            Against::Ns3Tree { k, us } => {
                ns3(0, &["--routing=lean".into(), format!("--k={k}"), format!("--simtime={us}e-6")])
            }
            Against::Ns3Switch => ns3(1, &["--mode=lean".into(), "--simtime=0.1".into()]),
            Against::HtsimTree { k, us } => {
                let program = peers.htsim.as_ref().expect("rows against htsim are skipped where it is not");
                let said = output(program, &[&k.to_string(), &us.to_string()], HTSIM);
                Outcome { rate: field(&said, "hops/s="), checked: None }
            }
            Against::Alone => simulated(&devices(1, 256, "write")),
        }
    }
}

/// The programs on ns-3, and the modules that each is linked with.
const NS3: [(&str, &str); 2] = [
    ("ns3_fattree", "core network point-to-point internet applications traffic-control nix-vector-routing"),
    ("ns3_switch", "core network point-to-point csma bridge internet applications traffic-control"),
];

/// The program on htsim.
const HTSIM: &str = "htsim_fattree";

const NO_NS3: &str = "pkg-config knows no ns3-core, or it cannot be linked (apt-get install libns3-dev g++)";
const NO_HTSIM: &str = "HTSIM names no folder of its source with sim/libhtsim.a, or it cannot be linked";

const PEERS_NOTE: &str = "ns-3, htsim: the same topology, pattern and simulated time on both sides. Their frames take \
    1500 B of the wire; ours are 1500 B from address to\n\
    FCS, and 20 B of preamble and gap. A hop is a frame carried over one link. Their switches have FIFOs of 1024 \
    frames a port; ours, one memory.";

fn rows() -> Vec<Row> {
    let ft8 = Against::FatTree { k: 8, us: 500 };
    let ft16 = Against::FatTree { k: 16, us: 100 };
    let (ns3_ft8, ns3_ft16) = (Against::Ns3Tree { k: 8, us: 1000 }, Against::Ns3Tree { k: 16, us: 200 });
    let (htsim_ft8, htsim_ft16) = (Against::HtsimTree { k: 8, us: 1000 }, Against::HtsimTree { k: 16, us: 200 });
    vec![
        Row::new("writes of 256 B, one device", "hop", ft8, || simulated(&devices(1, 256, "write")))
            .goal(0.1)
            .mark(0.2),
        Row::new("reads of 512 B in 64 B", "hop", ft8, || simulated(&devices(1, 512, "read"))).goal(0.05).mark(0.1),
        Row::new("writes, 15 devices", "hop", ft8, || simulated(&devices(15, 256, "write"))),
        Row::new("Iometer, 5 drives, a switch", "hop", ft8, || simulated(include_str!("iometer.toml"))),
        Row::new("NVMe, 4 KiB reads, hops", "hop", ft8, || simulated(NVME)),
        Row::new("NVMe, 4 KiB reads, I/Os", "I/O", ft8, || ios(NVME)),
        Row::new("writes, 1 of 1,024 parts busy", "hop", Against::Alone, || simulated(&mostly_idle())).goal(0.5),
        Row::new("Ethernet FT8, plain FIFOs", "hop", ft8, || simulated(&fat_tree_of(8, false))).goal(0.25).mark(0.5),
        Row::new("Ethernet FT8, PFC", "hop", ft8, || simulated(&fat_tree_of(8, true))).goal(1.0 / 7.0).mark(0.25),
        Row::new("Ethernet S16, PAUSE", "hop", ft8, || simulated(S16)).goal(1.0 / 7.0).mark(0.25),
        Row::new("Ethernet FT16, PFC", "hop", ft8, || simulated(&fat_tree_of(16, true))).goal(1.0 / 7.0),
        Row::new("bare FIFOs, fat tree k = 8", "hop", ft8, || fat_tree(8, 500)),
        Row::new("bare FIFOs, fat tree k = 16", "hop", ft16, || fat_tree(16, 100)),
        Row::new("M/M/1", "event", Against::Mm1, mm1).goal(0.4),
        Row::new("ns-3: FT8, plain FIFOs", "hop", ns3_ft8, || simulated(&fat_tree_of(8, false))),
        Row::new("ns-3: FT8, PFC", "hop", ns3_ft8, || simulated(&fat_tree_of(8, true))),
        Row::new("ns-3: FT16, plain FIFOs", "hop", ns3_ft16, || simulated(&fat_tree_of(16, false))),
        Row::new("ns-3: FT16, PFC", "hop", ns3_ft16, || simulated(&fat_tree_of(16, true))),
        Row::new("htsim: FT8, plain FIFOs", "hop", htsim_ft8, || simulated(&fat_tree_of(8, false))),
        Row::new("htsim: FT16, plain FIFOs", "hop", htsim_ft16, || simulated(&fat_tree_of(16, false))),
        Row::new("ns-3: S16, plain FIFOs", "hop", Against::Ns3Switch, || {
            simulated(&S16.replace("\"pause\"", "\"none\""))
        }),
        Row::new("ns-3: S16, PAUSE", "hop", Against::Ns3Switch, || simulated(S16)),
    ]
}

fn print(rows: &[Row]) {
    println!(
        "{:<30} {:>7} {:>9}   {:>15} {:>6} {:>6} {:>6}",
        "", "M/s", "ns each", "against M/s", "share", "goal", "mark"
    );
    for row in rows {
        let (ours, theirs) = (median(&row.ours), median(&row.theirs));
        let share = ours / theirs;
        let against = format!("{} {:.1}", row.against.name(), theirs / 1e6);
        let shown = |goal: Option<f64>| goal.map_or("-".to_owned(), |g| format!("{g:.2}"));
        let verdict = match row.goal {
            _ if row.differs => "differs",
            Some(goal) if share < goal => "below",
            Some(_) => "ok",
            None => "",
        };
        println!(
            "{:<30} {:>7.2} {:>6.1}/{:<5} {:>12} {:>6.3} {:>6} {:>6}  {verdict}",
            row.name,
            ours / 1e6,
            1e9 / ours,
            row.unit,
            against,
            share,
            shown(row.goal),
            shown(row.mark),
        );
    }
}

// Peers.

/// Compiles a peer for this very machine.
fn compile(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(name).with_extension("rs");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let rustc = std::env::var_os("CARGO").map_or("rustc".into(), |cargo| Path::new(&cargo).with_file_name("rustc"));
    let flags = ["-C", "opt-level=3", "-C", "target-cpu=native", "-C", "panic=abort", "-A", "warnings", "-o"];
    let done = Command::new(rustc).args(flags).arg(&program).arg(&source).status();
    assert!(done.is_ok_and(|s| s.success()), "{} can be compiled", source.display());
    program
}

/// Compiles the programs on ns-3, where it is installed.
fn ns3() -> Option<[PathBuf; 2]> {
    let known = Command::new("pkg-config").args(["--exists", "ns3-core"]).status();
    known.ok().filter(|s| s.success())?;
    let mut programs = NS3.iter().map(|(name, modules)| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(name).with_extension("cc");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let libraries = modules.split(' ').map(|module| format!("-lns3-{module}"));
        let mut compiler = Command::new("g++");
        compiler.args(["-O3", "-march=native", "-DNDEBUG"]).arg(&source).arg("-o").arg(&program).args(libraries);
        compiler.status().is_ok_and(|s| s.success()).then_some(program)
    });
    Some([programs.next()??, programs.next()??])
}

/// Compiles the program on htsim, where its library has been built.
fn htsim() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("HTSIM")?).join("sim");
    let library = folder.join("libhtsim.a");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers").join(HTSIM).with_extension("cc");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(HTSIM);
    let mut compiler = Command::new("g++");
    compiler.args(["-O3", "-march=native", "-DNDEBUG", "-I"]).arg(&folder).arg(&source).arg(&library);
    (library.exists() && compiler.arg("-o").arg(&program).status().is_ok_and(|s| s.success())).then_some(program)
}

/// The line that a program prints about one of its ways.
fn output(program: &Path, args: &[&str], way: &str) -> String {
    let done = Command::new(program).args(args).output().expect("a peer runs");
    let text = String::from_utf8_lossy(&done.stdout);
    text.lines().find(|l| l.split_whitespace().any(|w| w == way)).expect("the peer's line").to_owned()
}

fn field(line: &str, name: &str) -> f64 {
    let value = line.split_whitespace().find_map(|w| w.strip_prefix(name)).and_then(|v| v.parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {line}"))
}

// PCIe.

/// A host, a switch, and devices below it that all do the same.
const DEVICES: &str = include_str!("devices.toml");

fn devices(n: usize, bytes: u64, what: &str) -> String {
    let text = DEVICES.replace("count = 1", &format!("count = {n}")).replace("\"write\"", &format!("{what:?}"));
    let text = text.replace("size = \"256 B\"", &format!("size = \"{bytes} B\""));
    if n > 1 { text.replacen("gen3 x8", "gen3 x16", 1) } else { text }
}

/// A device that writes, and 1,021 parts beside the three on its way that do nothing.
fn mostly_idle() -> String {
    let idle = r#"
[parts]
spare = { is = "endpoint" }
quiet-sw = { is = "switch", count = 60 }
quiet = { is = "endpoint", count = 960 }
[links]
spare = { between = ["host", "spare"], pcie = "gen3 x8" }
quiet-up = { between = ["host", "quiet-sw.*.up"], pcie = "gen3 x8" }
quiet-down = { between = ["quiet-sw.*.down.*", "quiet.*"], pcie = "gen3 x8" }
"#;
    let (parts, links) = idle.split_once("[links]\n").expect("two tables");
    let busy = devices(1, 256, "write");
    busy.replace("[parts]\n", parts).replace("[links]\n", &format!("[links]\n{links}"))
}

/// A drive on Gen4 x4 that is read at random, 32 outstanding, with every TLP on the wire.
const NVME: &str = r#"
[parts]
host = { is = "root-complex", max_payload = "256 B" }
drive = { use = "example/nvme-drive", max_payload = "256 B" }
[links]
slot = { between = ["host", "drive"], pcie = "gen4 x4", mps = "256 B" }
[flows.read]
from = "host"
to = "drive"
do = "io"
access = { size = "4 KiB", read = "100 %", random = "100 %", align = "4 KiB" }
outstanding = 32
host_software = "io_uring"
[run]
for = "100 ms"
"#;

/// Simulates a scenario: I/Os per CPU second of the run itself.
fn ios(text: &str) -> Outcome {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "bench".into(), text: text.to_owned(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library).expect("a plan");
    let mut run = Run::new(&plan, 1, &mut diagnostics).expect("a run");
    let begin = cpu();
    while run.advance(u64::MAX) != Step::Done {}
    let done: u64 = run.snapshot().flows.iter().map(|f| f.operations).sum();
    Outcome { rate: done as f64 / (cpu() - begin), checked: None }
}

/// Simulates a scenario: packet-hops per CPU second of the run itself.
fn simulated(text: &str) -> Outcome {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "bench".into(), text: text.to_owned(), author: Author::User };
    let plan = lanescope::plan(&mut diagnostics, included, &[], &Library).expect("a plan");
    let mut run = Run::new(&plan, 1, &mut diagnostics).expect("a run");
    let begin = cpu();
    while run.advance(u64::MAX) != Step::Done {}
    Outcome { rate: run.packets() as f64 / (cpu() - begin), checked: None }
}

// Ethernet.

/// A permutation of a fat tree at 95 % load, as the peer has it, and a switch of sixteen ports.
const FT8: &str = include_str!("ft8.toml");
const S16: &str = include_str!("s16.toml");

fn fat_tree_of(k: u32, controlled: bool) -> String {
    let control = if controlled { "pfc" } else { "none" };
    let text = FT8.replace("\"none\"", &format!("\"{control}\"")).replace("k = 8", &format!("k = {k}"));
    // As long as the peers' figures were taken over.
    text.replace("1 ms", if k > 8 { "500 us" } else { "2 ms" })
}

// The kernel alone: customers before one server.

struct Server {
    random: Xoshiro256PlusPlus,
    to_come: u64,
    /// When those who wait came.
    waiting: VecDeque<u64>,
    time_spent: u64,
}

impl Server {
    const ARRIVAL: u32 = 0;
    const DEPARTURE: u32 = 1;
    const SERVICE: f64 = 1e6;
    const LOAD: f64 = 0.9;

    fn gap(&mut self) -> u64 {
        exponential(&mut self.random, Server::SERVICE / Server::LOAD)
    }

    fn service(&mut self) -> u64 {
        exponential(&mut self.random, Server::SERVICE)
    }
}

impl World for Server {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        if slot == Server::ARRIVAL {
            self.to_come -= 1;
            let next = if self.to_come > 0 { now + self.gap() } else { NEVER };
            agenda.set(Server::ARRIVAL, next);
            self.waiting.push_back(now);
            if self.waiting.len() == 1 {
                let done = now + self.service();
                agenda.set(Server::DEPARTURE, done);
            }
        } else {
            let came = self.waiting.pop_front().unwrap_or(now);
            self.time_spent += now - came;
            let next = if self.waiting.is_empty() { NEVER } else { now + self.service() };
            agenda.set(Server::DEPARTURE, next);
        }
    }
}

/// Arrivals and departures per CPU second. The peer draws with a shift register and the platform's logarithm; we draw
/// as the simulator does, with Xoshiro and `libm`.
fn mm1() -> Outcome {
    let random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut server = Server { random, to_come: CUSTOMERS, waiting: VecDeque::new(), time_spent: 0 };
    let mut agenda = Agenda::new(2);
    agenda.set(Server::ARRIVAL, server.gap());
    let begin = cpu();
    agenda.run(&mut server, NEVER, u64::MAX);
    let seconds = cpu() - begin;
    // In theory a customer spends 10 services there.
    let mean = server.time_spent as f64 / CUSTOMERS as f64 / Server::SERVICE;
    assert!((8.0..12.0).contains(&mean), "a customer spends {mean} services");
    Outcome { rate: agenda.events() as f64 / seconds, checked: None }
}

// The kernel alone: the peer's fat tree, a slot for each link that comes in.

/// Picoseconds that a frame takes at 10 Gb/s, and that a wire takes.
const FRAME: u64 = 1_200_000;
const WIRE: u64 = 100_000;
/// The most that waits at a port.
const QUEUE: u64 = 1024 * FRAME;

struct Frame {
    at: u64,
    born: u64,
    to: u32,
}

/// An output port: when it is free, and the slot at the other end.
struct Output {
    free: u64,
    sent: u64,
    slot: u32,
}

/// What a slot belongs to.
struct Input {
    node: u32,
    /// On their way, or waiting to be looked at.
    frames: VecDeque<Frame>,
}

struct FatTree {
    /// Half the ports of a switch.
    half: u32,
    hosts: u32,
    /// The first output port of each node.
    first: Vec<u32>,
    /// The first slot of each node.
    starts: Vec<u32>,
    outputs: Vec<Output>,
    /// By slot. The first slot of a host is its source.
    inputs: Vec<Input>,
    gap: u64,
    until: u64,
    hops: u64,
    delivered: u64,
    latency: u64,
}

impl FatTree {
    fn new(k: u32, us: u64) -> (FatTree, Agenda) {
        let half = k / 2;
        let hosts = k * half * half;
        let (edges, spines) = (hosts, hosts + k * half);
        let cores = spines + k * half;
        let mut near = vec![Vec::new(); (cores + half * half) as usize];
        let mut link = |a: u32, b: u32| {
            near[a as usize].push(b);
            near[b as usize].push(a);
        };
        (0..hosts).for_each(|i| link(i, edges + i / half));
        for pod in 0..k {
            for (edge, spine) in pairs(half) {
                link(edges + pod * half + edge, spines + pod * half + spine);
            }
        }
        for pod in 0..k {
            for (spine, core) in pairs(half) {
                link(spines + pod * half + spine, cores + spine * half + core);
            }
        }
        let sources = |node: usize| usize::from(node < hosts as usize);
        let inputs: Vec<u32> = near.iter().enumerate().map(|(n, near)| (near.len() + sources(n)) as u32).collect();
        let starts: Vec<u32> = inputs.iter().scan(0, |sum, n| Some(std::mem::replace(sum, *sum + n))).collect();
        let agenda = Agenda::new(inputs.iter().sum::<u32>() as usize);
        let mut tree = FatTree {
            half,
            hosts,
            first: Vec::new(),
            starts: starts.clone(),
            outputs: Vec::new(),
            inputs: Vec::new(),
            gap: (FRAME as f64 / 0.95) as u64,
            until: us * 1_000_000,
            hops: 0,
            delivered: 0,
            latency: 0,
        };
        for (node, peers) in near.iter().enumerate() {
            tree.first.push(tree.outputs.len() as u32);
            tree.inputs.extend((0..inputs[node]).map(|_| Input { node: node as u32, frames: VecDeque::new() }));
            for &peer in peers {
                let port = near[peer as usize].iter().position(|&n| n == node as u32).expect("links go both ways");
                let slot = starts[peer as usize] + (port + sources(peer as usize)) as u32;
                tree.outputs.push(Output { free: 0, sent: 0, slot });
            }
        }
        (tree, agenda)
    }

    /// The output port towards a host: down where it lies below, else up by its number.
    #[inline]
    fn route(&self, node: u32, to: u32) -> u32 {
        let (half, edges) = (self.half, self.hosts);
        let switches = 2 * half * half;
        let (pod, edge) = (to / (half * half), to / half);
        self.first[node as usize]
            + if node < edges {
                0
            } else if node < edges + switches {
                if node - edges == edge { to % half } else { half + to % half }
            } else if node < edges + 2 * switches {
                if (node - edges - switches) / half == pod { edge % half } else { half + edge % half }
            } else {
                pod
            }
    }

    #[inline]
    fn forward(&mut self, node: u32, now: u64, born: u64, to: u32, agenda: &mut Agenda) {
        let port = self.route(node, to);
        let output = &mut self.outputs[port as usize];
        let start = output.free.max(now);
        if start - now > QUEUE {
            return;
        }
        output.free = start + FRAME;
        output.sent += 1;
        let (slot, at) = (output.slot, output.free + WIRE);
        let frames = &mut self.inputs[slot as usize].frames;
        if frames.is_empty() {
            agenda.set(slot, at);
        }
        frames.push_back(Frame { at, born, to });
    }
}

/// All pairs of numbers below `n`.
fn pairs(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..n).flat_map(move |a| (0..n).map(move |b| (a, b)))
}

impl World for FatTree {
    #[inline]
    fn on(&mut self, slot: u32, now: u64, agenda: &mut Agenda) {
        let input = &mut self.inputs[slot as usize];
        let node = input.node;
        let Some(frame) = input.frames.pop_front() else {
            // A source.
            let next = now + self.gap;
            agenda.set(slot, if next < self.until { next } else { NEVER });
            self.forward(node, now, now, (node + self.hosts / 2) % self.hosts, agenda);
            return;
        };
        agenda.set(slot, input.frames.front().map_or(NEVER, |f| f.at));
        self.hops += 1;
        if node < self.hosts {
            self.delivered += 1;
            self.latency += now - frame.born;
        } else {
            self.forward(node, now, frame.born, frame.to, agenda);
        }
    }
}

/// Frames over links per CPU second; the median of five, as the peer does.
fn fat_tree(k: u32, us: u64) -> Outcome {
    let mut rates = Vec::new();
    let mut checked = None;
    for _ in 0..5 {
        let (mut tree, mut agenda) = FatTree::new(k, us);
        for host in 0..tree.hosts {
            agenda.set(tree.starts[host as usize], host as u64 * 9001);
        }
        let begin = cpu();
        agenda.run(&mut tree, NEVER, u64::MAX);
        rates.push(tree.hops as f64 / (cpu() - begin));
        checked = Some(same_way(tree.hops, tree.latency as f64 / tree.delivered as f64 / 1e3));
    }
    Outcome { rate: median(&rates), checked }
}

/// What shows that two simulated the same: frames over links, and their mean time.
fn same_way(hops: u64, latency: f64) -> String {
    format!("{hops} hops, {latency:.2} ns")
}
