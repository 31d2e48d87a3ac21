//! `--table`: answers of ranks as IMB and OSU print them.

use clap::ValueEnum;
use lanescope::import::Suite;
use lanescope::mpi::benchmark::Version;
use lanescope::pens::{gpu, instrument};
use lanescope::plan::Plan;
use lanescope::result::gpu::CollectiveReport;
use lanescope::result::{ProgramReport, Report};

/// Whose layout a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// That of the benchmark which ran: pmb as PMB, imb as IMB 2019, osu as OSU; of GPUs, nccl-tests
    Own,
    /// IMB 2019: megabytes of 10^6
    Imb,
    /// PMB 2.2: megabytes of 2^20
    Pmb,
    /// IMB 4.1: megabytes of 2^20
    Imb4,
    /// IMB 2017: megabytes of 2^20
    Imb2017,
    /// IMB 2018
    Imb2018,
    /// IMB 2021
    Imb2021,
    /// The OSU micro-benchmarks, of which there is one layout
    Osu,
}

impl Layout {
    fn version(self, pmb: bool) -> Version {
        match self {
            Layout::Own if pmb => Version::Pmb,
            Layout::Own | Layout::Osu | Layout::Imb => Version::Imb2019,
            Layout::Pmb => Version::Pmb,
            Layout::Imb4 => Version::Imb4,
            Layout::Imb2017 => Version::Imb2017,
            Layout::Imb2018 => Version::Imb2018,
            Layout::Imb2021 => Version::Imb2021,
        }
    }
}

/// The table of a collective of GPUs; the own layout is that of nccl-tests.
pub(super) fn collective(report: &CollectiveReport, layout: Layout) -> Result<String, String> {
    let suite = match layout {
        Layout::Own => return Ok(gpu::nccl_tests(report)),
        Layout::Osu => Suite::Osu,
        _ => Suite::Imb,
    };
    let table = gpu::instrument(report, suite, layout.version(false));
    let none = || format!("--table: OSU has no {}; imb has", report.collective.name());
    Ok(instrument::text(&table.ok_or_else(none)?))
}

/// The flows of ranks of a report: simulated where they were, else estimated.
fn programs(report: &Report) -> impl Iterator<Item = &ProgramReport> {
    report.flows.iter().enumerate().filter_map(|(i, f)| {
        let simulated = report.simulation.as_ref().and_then(|s| s.flows.get(i)?.program.as_ref());
        simulated.or(f.programs.first())
    })
}

/// The tables of all flows of ranks.
pub(crate) fn tables(plan: &Plan, report: &Report, layout: Layout) -> Result<String, String> {
    if plan.cluster.jobs.is_empty() {
        return Err("--table: there is no flow of ranks (do = \"mpi\")".into());
    }
    let mut out = String::new();
    for program in programs(report) {
        let osu = program.rows.first().is_some_and(|r| r.name.starts_with("osu_"));
        if (layout == Layout::Osu && !osu) || (osu && !matches!(layout, Layout::Osu | Layout::Own)) {
            let name = if osu { "of OSU" } else { "of IMB, or no instrument" };
            return Err(format!(
                "--table: flow {} is {name}: {}; --table alone has its own layout",
                program.flow, program.title
            ));
        }
        let table = instrument::table(program, layout.version(program.title.starts_with("pmb "))).ok_or_else(|| {
            format!(
                "--table: flow {} ({}) is not a benchmark of IMB or OSU, which have such tables",
                program.flow, program.title
            )
        })?;
        out += &instrument::text(&table);
    }
    Ok(out)
}
