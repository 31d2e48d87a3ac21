//! What processors and libraries cost where nobody says, and what is said of collectives.

use super::simulate_by;
use crate::common::{flow, planned, run};
use lanescope::pens::rows_grid;

fn case() -> String {
    std::fs::read_to_string(format!("{}/tests/cases/allreduce-32.toml", env!("CARGO_MANIFEST_DIR"))).expect("a case")
}

/// Two nodes of today's machines, nothing stated of processors.
fn two(benchmark: &str, sizes: &str) -> String {
    format!(
        "[parts.host]\nuse = \"example/root-complex\"\ncount = 2\n[parts.hca]\nuse = \"example/hca-edr\"\ncount = 2\n\
         [parts.sw]\nis = \"infiniband-switch\"\n[links.slot]\nbetween = [\"host.*\", \"hca.*\"]\npcie = \"gen3 \
         x16\"\nmps = \"256 B\"\n\
         [links.cable]\nbetween = [\"hca.*\", \"sw\"]\ninfiniband = \"edr 4x\"\nmtu = \"4096 B\"\n\
         [flows.mpi]\ndo = \"mpi\"\nranks = [\"hca.*\"]\nbenchmark = \"{benchmark}\"\nsizes = [{sizes}]\n"
    )
}

#[test]
fn half_a_round_trip_takes_what_it_does_on_todays_machines() {
    // Open MPI 4 over EDR, osu_latency (gist.github.com/jfgrimm/3af692a5475bdd4ed836b5a18197a209, 2021). Of two other
    // tables of the time one has 1.2 us for 8 B.
    let published = [(8, 0.90e-6), (4096, 3.28e-6), (8192, 4.79e-6)];
    let text = two("osu_latency", "\"8 B\", \"4096 B\", \"8192 B\"");
    let report = run(&text, &[]);
    let seen = simulate_by(&planned(&text, &[]), u64::MAX);
    let simulated = seen.flows.last().and_then(|f| f.program.clone()).expect("a program");
    for (rows, method) in [(&flow(&report, "mpi").programs[0].rows, "estimate"), (&simulated.rows, "simulation")] {
        for (row, (bytes, real)) in rows.iter().zip(published) {
            assert_eq!(row.bytes, Some(bytes));
            let off = row.t_max / real - 1.0;
            assert!(off.abs() < 0.15, "{method}, {bytes} B: {} s, {real} s published ({off:+.3})", row.t_max);
        }
    }
}

#[test]
fn the_algorithm_is_named_and_combining_takes_time() {
    let text = case();
    let few = ["parts.host.count=4", "parts.hca.count=4", "flows.ar.repetitions=20"];
    let report = run(&text, &few);
    let program = &flow(&report, "ar").programs[0];
    let algorithms: Vec<&str> = program.rows.iter().filter_map(|r| r.algorithm.as_deref()).collect();
    assert_eq!(algorithms.len(), 4, "every row says how it is done");
    assert_eq!(algorithms[0], "allreduce 8 B: recursive doubling");
    assert_eq!(algorithms[2], "allreduce 1 MiB: Rabenseifner (reduce-scatter + allgather)");
    assert!(program.collectives.iter().any(|c| c == algorithms[2]), "{:?}", program.collectives);
    let grid = rows_grid(&report);
    let column = grid.head.iter().position(|h| h == "algorithm").expect("a column");
    assert!(grid.rows.iter().any(|r| r[column] == algorithms[2]));
    // At 1 GB/s in place of 10, by both methods: of 1 MiB each of four ranks combines 3/4, in 0.79 ms in place of 0.08.
    let rates = ["flows.ar.reduce_rate=10 GB/s", "flows.ar.reduce_rate=1 GB/s"];
    let times = rates.map(|rate| {
        let sets = [&few[..], &[rate, "flows.ar.sizes=[\"1 MiB\"]"]].concat();
        let seen = simulate_by(&planned(&text, &sets), u64::MAX);
        let simulated = seen.flows.last().and_then(|f| f.program.as_ref().map(|p| p.rows[0].t_max)).expect("a row");
        [flow(&run(&text, &sets), "ar").programs[0].rows[0].t_max, simulated]
    });
    let more = 0.75 * f64::from(1 << 20) * (1.0 / 1e9 - 1.0 / 10e9);
    for (fast, slow) in times[0].iter().zip(times[1]) {
        let off = (slow - fast) / more - 1.0;
        // Combining holds the next message up, never hides behind one: it is paid in whole.
        assert!(off.abs() < 0.02, "{fast} s and {slow} s: {off:+.3}");
    }
}
