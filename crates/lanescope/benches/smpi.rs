//! What a message program costs here, and on [SimGrid](https://simgrid.org)'s SMPI: CPU time, memory, and what each
//! says, side by side.
//!
//! SMPI shares bandwidth among flows (a message is one of them), lanescope sends packets. Each measurement is a process
//! of its own, ours and theirs in turn, pinned to one core; medians of CPU seconds, the most memory. Ours is this
//! program again with `--one ROW`: it reads, plans and runs, and only then makes the estimate that `lanescope simulate`
//! prints beside it, which is told apart. Theirs is `peers/smpi_loads.c`, from its start to its last barrier.
//!
//! `cargo bench --bench smpi` measures everything, `cargo bench --bench smpi -- ping` what has "ping" in its name. Exit
//! code 1: a goal was missed. Without SMPI (`apt-get install simgrid libsimgrid-dev`) our side is measured alone, and
//! ratios have no goal.

mod machine;

use lanescope::diagnostic::Diagnostics;
use lanescope::library::Library;
use lanescope::result::Ending;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::{Run, Step};
use machine::{cpu, median, pin};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const FLAT: &str = include_str!("smpi/flat.toml");
const PING: &str = include_str!("smpi/pingpong.toml");
const PCIE: &str = include_str!("smpi/pcie.toml");
const DELL: &str = include_str!("../studies/dell-hpc/ib-pcie.toml");

const MB: f64 = 1e6;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [one, name] = &args[..]
        && one == "--one"
    {
        let all = rows();
        let row = all.iter().find(|r| r.name == name).expect("a row of this name");
        println!("{}", ours(row));
        return ExitCode::SUCCESS;
    }
    // `cargo test --benches` comes without it, and wants no figures.
    if !args.iter().any(|a| a == "--bench") {
        return ExitCode::SUCCESS;
    }
    let words: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    let rows: Vec<Row> = rows().into_iter().filter(|r| words.iter().all(|w| r.name.contains(w.as_str()))).collect();
    let pinned = pin();
    let smpi = match Smpi::new() {
        Ok(smpi) => Some(smpi),
        Err(why) => {
            println!("SMPI is left out: {why}\n");
            None
        }
    };
    let core = if pinned { "core 1" } else { "any core" };
    println!(
        "{}, {core}. CPU seconds: medians; MB: the most of all rounds; goals are of \"lanescope\" against \"SMPI\".\n",
        machine::name()
    );
    println!(
        "| load | rounds | lanescope, s | of it the run, s | estimate beside it, s | MB | SMPI, s | MB | lanescope ÷ \
            SMPI | simulated: lanescope | SMPI | goals |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    // Rows against the same load of SMPI take their turns around one measurement of it.
    let together = rows.chunk_by(|a, b| a.peer.is_some() && a.peer == b.peer);
    let missed: usize = together.map(|group| measure(group, smpi.as_ref())).sum();
    println!("\n{NOTE}");
    if missed > 0 {
        println!("\n{missed} of {} rows miss a goal", rows.len());
    }
    ExitCode::from(u8::from(missed > 0))
}

const NOTE: &str = "Both sides: links of 100 Gb/s, 2.2 us one way for a small message, all-to-alls pairwise, allreduce \
    by reduce-scatter and allgather, nothing charged for the library,\n\
    messages above 64 KiB arranged first. \"with PCIe\": every adapter in a gen3 x16 slot, against the same flat \
    cluster of SMPI, which has no buses. \"steady\": a size ends when\n\
    its repetitions are alike; SMPI makes them all. NPB: the skeletons of this library on studies/dell-hpc, without a \
    peer.";

/// What a row must keep.
enum Goal {
    /// CPU time, of SMPI's.
    Share(f64),
    /// CPU seconds.
    Seconds(f64),
    /// Memory, bytes.
    Memory(f64),
}

struct Row {
    name: &'static str,
    text: &'static str,
    sets: Vec<String>,
    /// Ranks and arguments of the peer.
    peer: Option<(u32, &'static str)>,
    rounds: usize,
    goals: Vec<Goal>,
}

fn rows() -> Vec<Row> {
    let row = |name, text, sets: &[&str], peer, rounds, goals| {
        let sets = sets.iter().map(|s| s.to_string()).collect();
        Row { name, text, sets, peer, rounds, goals }
    };
    let dell = |benchmark: &'static str| ["flows.mpi.ranks=[\"hca.*\"]", "flows.mpi.speed=0.15 Gflop/s", benchmark];
    let flows = |benchmark| {
        let [ranks, speed, benchmark] = dell(benchmark);
        [ranks, speed, benchmark, "run.level=flow"]
    };
    let few = ["parts.node.count=16", "flows.load.program=repeat 2000 { alltoall 1 KiB pairwise }"];
    let few_hosts = [few[0], few[1], "parts.host.count=16"];
    let large = ["parts.node.count=64", "flows.load.program=alltoall 1 MiB pairwise"];
    let large_hosts = [large[0], large[1], "parts.host.count=64"];
    let [large_count, large_load, large_hosts_count] = large_hosts;
    let large_flows = [large_count, large_load, large_hosts_count, "run.level=flow"];
    let larger = ["parts.node.count=16", "flows.load.program=alltoall 16 MiB pairwise"];
    let reduce = ["flows.load.program=allreduce 1 MB scatter_allgather"];
    use Goal::*;
    let (ping, small, whole) = ("pingpong 100", "alltoall 2000 1024", "alltoall 1 1024");
    let mib = "alltoall 1 1048576 shared";
    vec![
        row("ping-pong, 8 B to 4 MiB", PING, &[], Some((16, ping)), 5, vec![Seconds(5.0)]),
        row("ping-pong, steady", PING, &["flows.load.steady=true"], Some((16, ping)), 5, vec![Seconds(5.0)]),
        row("all-to-all of 1 KiB, 16 x 2000", FLAT, &few, Some((16, small)), 5, vec![]),
        row("all-to-all of 1 KiB, 16 x 2000, with PCIe", PCIE, &few_hosts, Some((16, small)), 5, vec![]),
        row("all-to-all of 1 KiB, 1024", FLAT, &[], Some((1024, whole)), 3, vec![Share(0.1), Memory(300.0 * MB)]),
        row("all-to-all of 1 KiB, 1024, with PCIe", PCIE, &[], Some((1024, whole)), 3, vec![Share(0.5)]),
        row(
            "allreduce of 1 MB, 1024",
            FLAT,
            &reduce,
            Some((1024, "allreduce 1 1000000 shared")),
            3,
            vec![Seconds(10.0), Memory(1024.0 * 1024.0 * 1024.0)],
        ),
        row("all-to-all of 1 MiB, 64", FLAT, &large, Some((64, mib)), 3, vec![]),
        row("all-to-all of 1 MiB, 64, with PCIe", PCIE, &large_hosts, Some((64, mib)), 3, vec![]),
        row(
            "all-to-all of 1 MiB, 64, with PCIe, flow level",
            PCIE,
            &large_flows,
            Some((64, mib)),
            3,
            vec![Share(1.0), Seconds(0.4)],
        ),
        row("all-to-all of 16 MiB, 16", FLAT, &larger, Some((16, "alltoall 1 16777216 shared")), 3, vec![]),
        row("NPB is.C, 16", DELL, &dell("flows.mpi.benchmark=npb is.C"), None, 1, vec![Seconds(60.0)]),
        row("NPB is.C, 16, flow level", DELL, &flows("flows.mpi.benchmark=npb is.C"), None, 3, vec![Seconds(1.0)]),
        row("NPB cg.C, 16, flow level", DELL, &flows("flows.mpi.benchmark=npb cg.C"), None, 3, vec![Seconds(1.0)]),
        row("NPB cg.C, 16", DELL, &dell("flows.mpi.benchmark=npb cg.C"), None, 1, vec![Seconds(60.0)]),
    ]
}

/// Measures rows and their peer in turn and prints them. How many miss a goal.
fn measure(group: &[Row], smpi: Option<&Smpi>) -> usize {
    let peer = group[0].peer.zip(smpi);
    let (mut ours, mut theirs) = (vec![Vec::new(); group.len()], Vec::new());
    let me = std::env::current_exe().expect("this program's own path");
    for _ in 0..group[0].rounds {
        for (row, lines) in group.iter().zip(&mut ours) {
            let done = Command::new(&me).args(["--one", row.name]).output().expect("this program again");
            assert!(done.status.success(), "{}: {}", row.name, String::from_utf8_lossy(&done.stderr));
            lines.push(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        theirs.extend(peer.map(|((ranks, load), smpi)| smpi.run(ranks, load)));
    }
    group.iter().zip(&ours).filter(|(row, lines)| !row.print(lines, &theirs)).count()
}

impl Row {
    /// Prints the row of what both sides said. Whether all goals are met.
    fn print(&self, ours: &[String], theirs: &[String]) -> bool {
        let of = |lines: &[String], name: &str| lines.iter().filter_map(|l| field(l, name)).collect::<Vec<f64>>();
        let most = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
        let (own, memory) = (median(&of(ours, "cpu=")), most(of(ours, "kib=")) * 1024.0);
        let other = (!theirs.is_empty()).then(|| median(&of(theirs, "cpu=")));
        let share = other.map(|o| own / o);
        let mut met = true;
        let goals = self.goals.iter().filter_map(|goal| {
            let (fine, what) = match goal {
                Goal::Share(most) => (share? < *most, format!("ratio < {most}")),
                Goal::Seconds(most) => (own < *most, format!("< {most} s")),
                Goal::Memory(most) => (memory < *most, format!("< {:.0} MB", most / MB)),
            };
            met &= fine;
            Some(format!("{what}: {}", if fine { "met" } else { "**missed**" }))
        });
        let goals = goals.collect::<Vec<_>>().join(", ");
        let dash = || "–".to_owned();
        let theirs_memory = (!theirs.is_empty()).then(|| most(of(theirs, "kib=")) * 1024.0 / MB);
        println!(
            "| {} | {} | {own:.3} | {:.3} | {:.3} | {:.0} | {} | {} | {} | {} | {} | {goals} |",
            self.name,
            self.rounds,
            median(&of(ours, "run=")),
            median(&of(ours, "estimate=")),
            memory / MB,
            other.map_or_else(dash, |s| format!("{s:.3}")),
            theirs_memory.map_or_else(dash, |m| format!("{m:.0}")),
            share.map_or_else(dash, |s| format!("{s:.3}")),
            said(&ours[0]),
            theirs.first().map_or_else(dash, |l| said(l)),
        );
        met
    }
}

/// What a side says: half round trips where there are any, else the simulated time.
fn said(line: &str) -> String {
    match (field(line, "half_8="), field(line, "half_1048576=")) {
        (Some(small), Some(large)) => format!("8 B {small:.3} us, 1 MiB {large:.2} us"),
        _ => field(line, "simulated=")
            .map_or_else(String::new, |s| if s < 1.0 { format!("{:.4} ms", s * 1e3) } else { format!("{s:.3} s") }),
    }
}

/// Runs a row in this process: what it cost, and what came out.
fn ours(row: &Row) -> String {
    let mut diagnostics = Diagnostics::default();
    let included = Included { name: "bench".into(), text: row.text.to_owned(), author: Author::User };
    let Some(plan) = lanescope::plan(&mut diagnostics, included, &row.sets, &Library) else {
        panic!("{:?}", diagnostics.sorted())
    };
    let planned = cpu();
    let mut run = Run::new(&plan, 1, &mut diagnostics).expect("a run");
    while run.advance(u64::MAX) != Step::Done {}
    let ran = cpu();
    let memory = status("VmHWM:").unwrap_or(0);
    let simulation = run.snapshot();
    assert_eq!(simulation.ending, Ending::Finished);
    let program = simulation.flows[0].program.as_ref().expect("a program");
    let mut line = format!(
        "cpu={ran:.4} run={:.4} kib={memory} simulated={} packets={} fingerprint={}",
        ran - planned,
        program.time,
        run.packets(),
        simulation.fingerprint
    );
    for row in program.rows.iter().filter(|r| matches!(r.bytes, Some(8 | 1_048_576))) {
        line += &format!(" half_{}={}", row.bytes.unwrap_or(0), row.t_avg * 1e6);
    }
    drop(run);
    let before = cpu();
    lanescope::estimate::estimate(&plan, &diagnostics);
    line + &format!(" estimate={:.4}", cpu() - before)
}

/// SimGrid's program and platform, ready to be run.
struct Smpi {
    program: PathBuf,
    platform: PathBuf,
    folder: PathBuf,
}

impl Smpi {
    fn new() -> Result<Smpi, String> {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let program = folder.join("smpi_loads");
        let missing = "smpicc cannot be run (apt-get install simgrid libsimgrid-dev)";
        let done = Command::new("smpicc").arg("-O3").arg(peers.join("smpi_loads.c")).arg("-o").arg(&program).output();
        let done = done.map_err(|e| format!("{missing}: {e}"))?;
        if !done.status.success() {
            return Err(format!("smpicc cannot compile its program: {}", String::from_utf8_lossy(&done.stderr)));
        }
        Ok(Smpi { program, platform: peers.join("smpi_cluster.xml"), folder })
    }

    /// The last line that its program prints.
    fn run(&self, ranks: u32, load: &str) -> String {
        let hosts = self.folder.join(format!("smpi_hosts_{ranks}"));
        let names: String = (0..ranks).map(|i| format!("node-{i}.c\n")).collect();
        std::fs::write(&hosts, names).expect("the list of hosts can be written");
        let mut command = Command::new("smpirun");
        command.arg("-platform").arg(&self.platform).arg("-hostfile").arg(&hosts).args(["-np", &ranks.to_string()]);
        let ways = ["smpi/simulate-computation:no", "smpi/alltoall:pair", "smpi/allreduce:rab_rdb"];
        command.args(ways.map(|way| format!("--cfg={way}"))).arg("--log=root.thres:warning");
        let done = command.arg(&self.program).args(load.split(' ')).output().expect("smpirun runs");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let line = text.lines().find(|l| l.contains("simulated="));
        line.unwrap_or_else(|| panic!("smpirun says {text}{}", String::from_utf8_lossy(&done.stderr))).to_owned()
    }
}

/// A line of this process's status, KiB.
fn status(name: &str) -> Option<u64> {
    let all = std::fs::read_to_string("/proc/self/status").ok()?;
    all.lines().find_map(|l| l.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

fn field(line: &str, name: &str) -> Option<f64> {
    line.split_whitespace().find_map(|w| w.strip_prefix(name))?.parse().ok()
}
