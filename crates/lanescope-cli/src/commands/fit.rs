//! `fit`: a scenario's unknown values out of a table of measured rows.

use crate::{ANSWERED, WRONG, input, output};
use clap::Args;
use lanescope::pens::Grid;
use lanescope::scenario::Included;
use lanescope::study::measured::{Fitting, Unknown};
use lanescope::units::digits;
use lanescope_front::measured;

/// Rows of the worst fit that are shown.
const SHOWN: usize = 10;

/// A scenario, what was measured, and what is free.
#[derive(Args)]
pub(crate) struct Fit {
    /// The scenario file
    file: String,
    /// The measured rows, CSV: a column for each path that was set (flows.rx.size) and each metric that was measured
    /// (flows.rx.share (Gb/s)); or - for standard input
    #[arg(long, value_name = "FILE")]
    measured: String,
    /// A value to look for, and where: 'parts.host.read_latency=200 ns..900 ns' (may be repeated)
    #[arg(long, value_name = "PATH=LOW..HIGH", required = true)]
    free: Vec<String>,
    /// Override a value: 'links.uplink.pcie=gen3 x8' (may be repeated)
    #[arg(long = "set", value_name = "PATH=VALUE")]
    sets: Vec<String>,
    /// Fit what is simulated in place of what is estimated
    #[arg(long)]
    simulate: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print every row as CSV
    #[arg(long)]
    csv: bool,
}

pub(crate) fn main(a: &Fit) -> u8 {
    match run(a) {
        Ok(fitted) => {
            if a.json {
                output::json(&fitted);
            } else if a.csv {
                output::csv(&rows(&fitted, usize::MAX, true));
            } else {
                text(&fitted);
            }
            ANSWERED
        }
        Err(message) => {
            output::drawn_or(&message);
            WRONG
        }
    }
}

fn run(a: &Fit) -> Result<Fitting, String> {
    let Included { name, text, .. } = input::scenario(&a.file)?;
    let unknowns = a.free.iter().map(|f| free(f)).collect::<Result<Vec<_>, _>>()?;
    let table = input::lossy(&a.measured, measured::MOST, "measured rows")?;
    let observed = measured::read(&a.measured, &table)?;
    measured::fit(&name, &text, &a.sets, &unknowns, &observed, a.simulate, &|| !crate::interrupt::stopped())
}

fn free(text: &str) -> Result<Unknown, String> {
    let parts = text.split_once('=').and_then(|(path, ends)| Some((path, ends.split_once("..")?)));
    let (path, (low, high)) =
        parts.ok_or_else(|| format!("--free {text:?}: write path=low..high, e.g. parts.nic.tags=8..256"))?;
    Unknown::parse(path, low, high)
}

fn rows(f: &Fitting, most: usize, machine: bool) -> Grid {
    let head = ["row", "measured", "fitted", "error"].map(String::from).to_vec();
    let show = |v: f64| if machine { v.to_string() } else { digits(v) };
    let off = |v: f64| if machine { v.to_string() } else { format!("{:+.1} %", v * 100.0).replace("-0.0", "+0.0") };
    let rows = f.rows.iter().take(most);
    let rows = rows.map(|r| vec![r.name.clone(), show(r.measured), show(r.fitted), off(r.off)]);
    Grid { head, rows: rows.collect() }
}

fn text(f: &Fitting) {
    let head = ["value", "fitted", "95 % interval"].map(String::from).to_vec();
    let values = f.values.iter().map(|v| {
        let interval = v.interval_text.clone().unwrap_or_else(|| "not determined by these numbers".into());
        vec![v.path.clone(), v.value.clone(), interval]
    });
    output::table(&Grid { head, rows: values.collect() });
    output::print(&format!("\n{} % root-mean-square error; the worst rows\n", digits(f.rms * 100.0)));
    output::table(&rows(f, SHOWN, false));
    if !f.notes.is_empty() {
        output::print(&format!("\n{}\n", f.notes.join("\n")));
    }
}
