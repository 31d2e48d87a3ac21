//! Rows of an instrument: each is timed by itself, so what it takes hangs neither on other rows nor on the hour.

use super::agree::alike;
use crate::common::choices::{Choices, none_apart, runner};
use crate::common::grow::cluster::grow;
use crate::common::{flow, plan, run};
use lanescope::estimate::estimate;
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
