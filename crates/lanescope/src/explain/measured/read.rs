//! What instruments print, as numbers in GB/s: nvbandwidth, p2pBandwidthLatencyTest, rocm-bandwidth-test, nccl-tests,
//! fio, perftest, IMB, OSU, CSV.

mod collective;
mod mpi;

use crate::diagnostic::Diagnostics;
use crate::explain::Way;
use crate::import::fio;
use crate::units::Rate;
use serde_json::Value;

/// What a number is of.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Host memory to the nth GPU.
    ToDevice(usize),
    /// The nth GPU to host memory.
    FromDevice(usize),
    /// One GPU to another, or both ways added.
    Peers {
        /// Who writes.
        from: usize,
        /// To whom.
        to: usize,
        /// Both ways at once, added.
        both: bool,
    },
    /// A device by any name, alone.
    Device {
        /// The name.
        name: String,
        /// Which way the device moves data.
        way: Way,
    },
    /// Two devices by their names.
    Named {
        /// Who writes.
        from: String,
        /// To whom.
        to: String,
    },
    /// GPUs that work together, each with its part of the data.
    Collective {
        /// The test of nccl-tests: `all_reduce`; empty where the text does not say.
        test: String,
        /// The GPUs in the order of their ranks; empty where the text does not list them.
        ranks: Vec<Rank>,
        /// Hosts that they are on.
        hosts: usize,
    },
    /// Messages between processes.
    Messages(Messages),
    /// The instrument does not say.
    Unknown,
}

/// A GPU as nccl-tests lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its number in CUDA.
    pub device: usize,
    /// Its domain and bus, where they stand there; a domain of `None` is any.
    pub bus: Option<(Option<u32>, u8)>,
}

/// A row of IMB or OSU.
#[derive(Clone, Debug, PartialEq)]
pub struct Messages {
    /// `PingPong`, `osu_bw`.
    pub test: String,
    /// Processes; OSU does not print them.
    pub ranks: Option<u32>,
    /// Bytes of a message.
    pub bytes: u64,
    /// What the shortest messages of the table take one way, s: only of tests that wait for each message.
    pub latency: Option<f64>,
    /// Whether buffers are in the memory of a GPU.
    pub on_gpu: bool,
    /// Adapters that stand in the text: `mlx5_0`, `ib0`.
    pub adapters: Vec<String>,
}

/// A measured number.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The file.
    pub file: String,
    /// The row as its instrument names it.
    pub name: String,
    /// Of what.
    pub target: Target,
    /// GB/s, 10^9 bytes a second.
    pub rate: f64,
}

/// Rows of a file at most.
const MOST_ROWS: usize = 20_000;

/// Reads a file of any of the forms.
pub fn read(file: &str, text: &str) -> Result<Vec<Measurement>, String> {
    let file = crate::import::host::clean(file);
    let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\n', '\r', '\t']);
    let mut rows = if trimmed.starts_with('{') {
        json(trimmed)?
    } else if text.contains("memcpy") || text.contains("P2P=") {
        matrices(text)
    } else if text.contains("copy peak bandwidth") {
        rocm(text)
    } else if text.contains("busbw") {
        collective::rows(text)
    } else if text.contains("# Benchmarking ") || text.contains("# OSU ") {
        mpi::rows(text)?
    } else if text.contains("#bytes") {
        perftest(text)
    } else {
        table(text)
    };
    rows.retain(|r| r.rate.is_finite() && r.rate > 0.0);
    rows.truncate(MOST_ROWS);
    for row in &mut rows {
        row.name = crate::import::host::clean(&row.name);
        row.file.clone_from(&file);
    }
    if rows.is_empty() {
        let forms = "nvbandwidth, p2pBandwidthLatencyTest, rocm-bandwidth-test, nccl-tests, fio --output-format=json, \
                     perftest, IMB, OSU, or lines of name,GB/s such as `gpu0 to memory,26.1`";
        return Err(match trimmed.is_empty() {
            true => format!("it is empty; --measured reads {forms}"),
            false => format!("no measured number was found; --measured reads {forms}"),
        });
    }
    Ok(rows)
}

fn row(name: impl Into<String>, target: Target, rate: f64) -> Measurement {
    Measurement { file: String::new(), name: name.into(), target, rate }
}

/// Which way a test of nvbandwidth goes, by its name.
fn of_test(test: &str, from: usize, to: usize) -> Target {
    let both = test.contains("bidirectional");
    if test.contains("host_to_device") || test.contains("CPU(row) -> GPU") {
        Target::ToDevice(to)
    } else if test.contains("device_to_host") || test.contains("CPU(row) <- GPU") {
        Target::FromDevice(to)
    } else {
        // Whoever of the two moves them, data go from row to column.
        Target::Peers { from, to, both }
    }
}

/// Matrices of GB/s with numbered columns, each below a line that says what it is.
fn matrices(text: &str) -> Vec<Measurement> {
    let mut rows = Vec::new();
    let (mut test, mut columns): (String, Option<Vec<usize>>) = (String::new(), None);
    let mut peers = false;
    for line in text.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Running ") {
            (test, columns) = (name.trim_end_matches('.').to_owned(), None);
            continue;
        }
        if line.contains("Matrix (GB/s)") || (line.contains("Matrix (") && line.contains("P2P=")) {
            // Latencies have the same form, and other units; without P2P copies go over the host.
            peers = true;
            let gigabytes = line.contains("(GB/s)") && line.contains("P2P=Enabled");
            test = if gigabytes { line.to_owned() } else { String::new() };
            columns = None;
            continue;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let numbers: Option<Vec<usize>> =
            words.iter().skip(usize::from(words.first() == Some(&"D\\D"))).map(|w| w.parse().ok()).collect();
        if let Some(numbers) = numbers.filter(|n| !n.is_empty() && n.iter().enumerate().all(|(i, v)| i == *v)) {
            columns = Some(numbers);
            continue;
        }
        let (Some(known), false) = (&columns, test.is_empty()) else { continue };
        let Some(from) = words.first().and_then(|w| w.parse::<usize>().ok()) else {
            columns = None;
            continue;
        };
        for (to, value) in known.iter().zip(&words[1..]) {
            let Ok(rate) = value.parse::<f64>() else { continue };
            let both = peers && test.starts_with("Bidirectional");
            let target = if peers { Target::Peers { from, to: *to, both } } else { of_test(&test, from, *to) };
            // A GPU's copy to itself stays in its memory.
            if matches!(target, Target::Peers { from, to, .. } if from == to) {
                continue;
            }
            rows.push(row(format!("{test} {from},{to}"), target, rate));
        }
    }
    rows
}

/// rocm-bandwidth-test: matrices over processors and GPUs, which a list before them tells apart.
fn rocm(text: &str) -> Vec<Measurement> {
    let mut rows = Vec::new();
    let (mut processors, mut both, mut columns) = (0, false, 0);
    for line in text.lines() {
        let line = line.trim();
        if let Some((_, kind)) = line.split_once("Device Type:") {
            processors += usize::from(kind.trim() == "CPU");
        } else if line.contains("copy peak bandwidth GB/s") {
            (both, columns) = (line.starts_with("Bidirectional"), 0);
        } else if let Some(names) = line.strip_prefix("D/D") {
            columns = names.split_ascii_whitespace().count();
        } else if let Some((from, values)) = line.split_once(' ')
            && let Ok(from) = from.parse::<usize>()
        {
            for (to, value) in values.split_ascii_whitespace().take(columns).enumerate() {
                let Ok(rate) = value.parse::<f64>() else { continue };
                // One way of both is not told apart: only copies of one direction are located.
                let target = match (from.checked_sub(processors), to.checked_sub(processors)) {
                    (None, Some(gpu)) if !both => Target::ToDevice(gpu),
                    (Some(gpu), None) if !both => Target::FromDevice(gpu),
                    (Some(from), Some(to)) if from != to => Target::Peers { from, to, both },
                    _ => continue,
                };
                rows.push(row(format!("rocm-bandwidth-test {from},{to}"), target, rate));
            }
        }
    }
    rows
}

fn json(text: &str) -> Result<Vec<Measurement>, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("it is not JSON: {e}"))?;
    if let Some(tests) = value.pointer("/nvbandwidth/testcases").and_then(Value::as_array) {
        return Ok(nvbandwidth(tests));
    }
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("it", text);
    let output = fio::json::read(&mut diagnostics, source).ok_or_else(|| diagnostics.to_string())?;
    let filename = |options: &[(String, String)]| options.iter().find(|o| o.0 == "filename").map(|o| o.1.clone());
    let mut rows = Vec::new();
    for job in &output.entries {
        let device = filename(&job.options).or_else(|| filename(&output.global)).unwrap_or_else(|| job.name.clone());
        // A drive's read is a write of the drive into host memory.
        for (what, way, side) in [("read", Way::Write, &job.sides[0]), ("write", Way::Read, &job.sides[1])] {
            let target = Target::Device { name: device.clone(), way };
            rows.push(row(format!("{} {what}", job.name), target, side.rate / 1e9));
        }
    }
    Ok(rows)
}

fn nvbandwidth(tests: &[Value]) -> Vec<Measurement> {
    let mut rows = Vec::new();
    for test in tests {
        let name = test.get("name").and_then(Value::as_str).unwrap_or_default();
        for (from, line) in test.get("bandwidth_matrix").and_then(Value::as_array).into_iter().flatten().enumerate() {
            for (to, cell) in line.as_array().into_iter().flatten().enumerate() {
                let rate = cell.as_f64().or_else(|| cell.as_str()?.parse().ok());
                let Some(rate) = rate else { continue };
                rows.push(row(format!("{name} {from},{to}"), of_test(name, from, to), rate));
            }
        }
    }
    rows
}

/// perftest's table: the largest message's average; MB are 2^20 bytes there.
fn perftest(text: &str) -> Vec<Measurement> {
    let mut rows: Vec<Measurement> = Vec::new();
    let (mut device, mut test, mut scale) = (String::new(), "perftest".to_owned(), None);
    for line in text.lines() {
        let line = line.trim();
        if let Some((_, name)) = line.split_once("Device").filter(|_| line.contains(':')) {
            device = name.trim_start_matches([' ', ':', '\t']).split(' ').next().unwrap_or_default().to_owned();
        } else if line.ends_with(" Test") {
            test = line.to_owned();
        } else if line.starts_with("#bytes") {
            scale = Some(if line.contains("Gb/sec") { 0.125 } else { (1 << 20) as f64 / 1e9 });
        } else if let (Some(scale), [size, _, _, average, ..]) =
            (scale, line.split_ascii_whitespace().collect::<Vec<_>>().as_slice())
            && let (Ok(size), Ok(average)) = (size.parse::<u64>(), average.parse::<f64>())
        {
            // What the sender's adapter moves it reads.
            let target = Target::Device { name: device.clone(), way: Way::Read };
            rows.push(row(format!("{test} {size} B"), target, average * scale));
        }
    }
    // Small messages are bound by their number; the fastest row is the link's.
    let best = rows.iter().map(|r| r.rate).fold(0.0, f64::max);
    rows.into_iter().find(|r| r.rate == best).into_iter().collect()
}

/// Lines of `name,GB/s`: `gpu0 to memory`, `from memory`, `gpu0 -> gpu1`, or a device, which then writes.
fn table(text: &str) -> Vec<Measurement> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        // Where another sign parts the columns, a comma is a decimal one: spreadsheets of half the world. Before three
        // digits it may be one of thousands as well, and nothing says which.
        let columns = line.rsplit_once([';', '\t']).map(|(name, rate)| (name, rate, true));
        let Some((name, rate, decimal)) = columns.or_else(|| line.rsplit_once(',').map(|(n, r)| (n, r, false))) else {
            continue;
        };
        let name = name.trim().trim_matches('"');
        let rate = rate.trim().trim_matches('"');
        let rate = match rate.split_once(',').filter(|_| decimal) {
            Some((_, digits)) if digits.chars().take_while(char::is_ascii_digit).count() == 3 => continue,
            Some((whole, digits)) => format!("{whole}.{digits}"),
            None => rate.to_owned(),
        };
        let Some(rate) = quantity(&rate) else { continue };
        let target = if let Some((from, to)) = name.split_once("->").or_else(|| name.split_once('→')) {
            Target::Named { from: from.trim().into(), to: to.trim().into() }
        } else if let Some(device) = name.strip_suffix(" from memory") {
            Target::Device { name: device.into(), way: Way::Read }
        } else {
            let device = name.strip_suffix(" to memory").unwrap_or(name);
            Target::Device { name: device.into(), way: Way::Write }
        };
        rows.push(row(name, target, rate));
    }
    rows
}

/// `11`, `11 GB/s`, `10.2 GiB/s`, `88 Gb/s`, `950 MB/s`: GB/s, where no unit stands.
fn quantity(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return Some(number);
    }
    let text = text.replace("Gbit/s", "Gb/s").replace("Gbps", "Gb/s");
    Rate::parse(&text).ok().map(|rate| rate.bytes() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_read() {
        let text = "Running host_to_device_memcpy_ce.\n\
            memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     26.03     12.5\n\n\
            SUM host_to_device_memcpy_ce 38.5\n";
        let rows = read("n", text).expect("rows");
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[1].target.clone(), rows[1].rate), (Target::ToDevice(1), 12.5));
        let text = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 700.1  \
            9.9\n     1 9.9 700\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      \
            1\n     0 700.1  25.1\n     1 26.0 700\n\
            P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1\n     0   1.5  2.5\n";
        let rows = read("p", text).expect("rows");
        assert_eq!(rows.iter().map(|r| r.rate).collect::<Vec<_>>(), [25.1, 26.0]);
        assert_eq!(rows[0].target, Target::Peers { from: 0, to: 1, both: false });
    }

    #[test]
    fn processors_and_gpus_are_told_apart() {
        let text = "Device Index: 0\nDevice Type: CPU\nDevice Index: 1\nDevice Type: GPU\nDevice Index: 2\n\
            Device Type: GPU\n\nUnidirectional copy peak bandwidth GB/s\n\nD/D 0 1 2\n0 N/A 26.5 26.4\n\
            1 28.3 900.1 25.0\n2 28.2 24.9 901\n";
        let rows = read("r", text).expect("rows");
        let expected = [
            (Target::ToDevice(0), 26.5),
            (Target::ToDevice(1), 26.4),
            (Target::FromDevice(0), 28.3),
            (Target::Peers { from: 0, to: 1, both: false }, 25.0),
            (Target::FromDevice(1), 28.2),
            (Target::Peers { from: 1, to: 0, both: false }, 24.9),
        ];
        assert_eq!(rows.into_iter().map(|r| (r.target, r.rate)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn units_are_kept_apart() {
        let rows =
            read("c", "nvme0n1,3.2\nnic0, 88 Gb/s\ngpu0 from memory;25000 MB/s\ngpu0 -> gpu1,1 GiB/s\n").expect("rows");
        assert_eq!(rows.iter().map(|r| r.rate).collect::<Vec<_>>(), [3.2, 11.0, 25.0, 1.073741824]);
        let rows = read("c", "gpu0 to memory;13,4\ngpu1 to memory\t\"12,9 GB/s\"\n").expect("rows");
        assert_eq!(rows.iter().map(|r| r.rate).collect::<Vec<_>>(), [13.4, 12.9]);
        let perftest = " RDMA_Write BW Test\n Device         : mlx5_0\n #bytes     #iterations    BW peak[MB/sec]    \
            BW average[MB/sec]   MsgRate[Mpps]\n 65536      5000             11500.00             11444.1             \
            0.18\n";
        let rows = read("r", perftest).expect("rows");
        assert!((rows[0].rate - 12.0).abs() < 0.001, "{rows:?}");
        assert_eq!(rows[0].target, Target::Device { name: "mlx5_0".into(), way: Way::Read });
    }
}
