//! Rows of an instrument: each is timed by itself, so what it takes hangs neither on other rows nor on the hour.

use super::agree::alike;
use super::simulate_by;
use crate::common::choices::{Choices, none_apart, runner};
use crate::common::grow::cluster::grow;
use crate::common::{flow, plan, run};
use lanescope::estimate::estimate;
use lanescope::result::{ProgramRow, Report};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::Config;
use std::cell::{Cell, RefCell};

/// Instruments of OSU meet in a barrier and warm up before each size, so a row finds little of the row before: who left
/// the barrier when. That is enough to have messages that meet in another order here and there, also in a run; of
/// alike nodes nine rows in ten are within 3 %.
#[test]
fn a_row_takes_the_same_beside_any_others() {
    let (worst, compared, apart) = (Cell::new(0.0f64), Cell::new(0), RefCell::new(Vec::new()));
    let result = runner(Config::default()).run(&vec(any::<u8>(), 8..32), |bytes| {
        let mut c = Choices(bytes.iter());
        let benchmark = c.of(&["osu_alltoall", "osu_allreduce", "osu_allgather", "osu_bcast"]);
        let sizes = [c.of(&["4 B", "100 B", "1 KiB"]), c.of(&["8 B", "600 B", "2 KiB"]), c.of(&["1536 B", "16 KiB"])];
        let (levels, each) = (1 + c.below(2), 1 + c.below(4));
        let job = format!("{}[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\neach = {each}\n", alike(&mut c, 6, levels));
        let rows = |sizes: &[&str]| {
            let sizes: Vec<String> = sizes.iter().map(|s| format!("\"{s}\"")).collect();
            let sizes = sizes.join(", ");
            let text =
                format!("{job}benchmark = \"{benchmark}\"\nrepetitions = 10\nsteady = false\nsizes = [{sizes}]\n");
            let report = run(&text, &[]);
            flow(&report, "job").programs[0].rows.iter().map(|r| r.t_max).collect::<Vec<_>>()
        };
        for (size, beside) in sizes.iter().zip(rows(&sizes)) {
            let off = beside / rows(&[*size])[0] - 1.0;
            compared.set(compared.get() + 1);
            worst.set(worst.get().max(off.abs()));
            if off.abs() > 0.03 {
                apart.borrow_mut().push(format!("{off:+.4}: {size} of {benchmark} {sizes:?}\n{job}"));
            }
        }
        Ok(())
    });
    let apart = apart.into_inner();
    println!("{} rows, {} apart, at most {:.4}", compared.get(), apart.len(), worst.get());
    let few = apart.len() <= 1 + compared.get() / 10;
    none_apart(result, if few { &[] } else { &apart });
}

/// What a program's messages take does not hang on the hour at which it begins, in any cluster, to the rounding of
/// moments to whole femtoseconds.
#[test]
fn messages_take_the_same_at_any_hour() {
    let (worst, ran, wrong) = (Cell::new(0.0f64), Cell::new(0), RefCell::new(Vec::new()));
    let result =
        runner(Config { max_shrink_iters: 200, ..Config::default() }).run(&vec(any::<u8>(), 0..400), |bytes| {
            let text = grow(&bytes);
            let (cluster, program) = text.split_once("program = \"").expect("a program");
            let latency = |wait: &str| {
                let (made, d) = plan(&format!("{cluster}program = \"{wait}{program}"), &[]);
                made.map(|made| flow(&estimate(&made, &d), "job").latency.typical)
            };
            let Some(at_once) = latency("") else { return Ok(()) };
            ran.set(ran.get() + 1);
            for hour in ["1 ns", "7654321 ns", "123456 us", "2 s"] {
                let later = latency(&format!("compute {hour}; ")).expect("it was planned");
                let off = if at_once > 0.0 { later / at_once - 1.0 } else { later };
                worst.set(worst.get().max(off.abs()));
                if off.abs() > 1e-6 {
                    wrong.borrow_mut().push(format!("{off:+.3e} after {hour}\n{text}"));
                }
            }
            Ok(())
        });
    println!("{} programs, at most {:.3e} apart", ran.get(), worst.get());
    none_apart(result, &wrong.into_inner());
    assert!(ran.get() > 0, "some programs should run");
}

/// Rows end when they are steady, so each method may repeat them another number of times. Then the time of the whole
/// says of how many repetitions it is, and is held against no other.
#[test]
fn the_time_of_a_program_says_of_how_many_repetitions_it_is() {
    let text = "[parts.n]\nis = \"channel-adapter\"\ncount = 3\n[parts.sw]\nis = \"infiniband-switch\"\n[links.c]\n\
                between = [\"n.*\", \"sw\"]\ninfiniband = \"edr 4x\"\n[flows.job]\ndo = \"mpi\"\nranks = [\"n.*\"]\n\
                benchmark = \"osu_alltoall\"\nsizes = [\"8 B\", \"1 KiB\"]\n";
    let (made, d) = plan(text, &[]);
    let made = made.expect("it is planned");
    let report = estimate(&made, &d).with(simulate_by(&made, u64::MAX));
    let line = |report: &Report| {
        let said = lanescope::pens::text::report(report, lanescope::pens::Paint::default(), false);
        said.lines().find(|l| l.starts_with("  time ")).expect("a line").to_owned()
    };
    let counts = |rows: &[ProgramRow]| rows.iter().map(|r| r.simulated).sum::<u64>();
    let simulated = |report: &Report| {
        let simulation = report.simulation.as_ref().expect("it was simulated");
        counts(&simulation.flows[0].program.as_ref().expect("a program").rows)
    };
    let mut other = report.clone();
    // One repetition more of its first row.
    other.flows[0].programs[0].rows[0].simulated = simulated(&report) + 1;
    let n = counts(&other.flows[0].programs[0].rows);
    let said = line(&other);
    assert!(said.contains(&format!(" estimated for {n} repetitions")), "{said}");
    assert!(said.contains(&format!(" simulated for {} repetitions;", simulated(&report))), "{said}");
    // As often as each other, they are one program, and are compared.
    let mut same = report.clone();
    let rows = &report.simulation.as_ref().expect("it was simulated").flows[0].program.as_ref().expect("one").rows;
    for program in &mut same.flows[0].programs {
        program.rows.iter_mut().zip(rows).for_each(|(row, seen)| row.simulated = seen.simulated);
    }
    let said = line(&same);
    assert!(said.contains(" %)") && !said.contains(" repetitions"), "{said}");
}
