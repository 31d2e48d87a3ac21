//! Outputs of real instruments (`fixtures/mpi`): read, and printed again line by line.

use super::text;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::{Suite, Table, instrument};
use lanescope::pens;

fn read(name: &str) -> Option<(String, Table)> {
    let text = text(&format!("mpi/{name}"))?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(name, text.clone());
    let table = instrument(&mut diagnostics, source);
    assert_eq!(diagnostics.to_string(), "");
    Some((text, table.expect("a table")))
}

#[test]
fn imb_outputs_are_read_and_printed_again_to_the_byte() {
    for (name, version, mbyte, blocks) in [
        ("juno-gbe-IMB41-MPI1-internode.txt", "4.1", 1 << 20, 17),
        ("juno-IMB41-MPI1-intranode.txt", "4.1", 1 << 20, 17),
        ("stackhpc-alaska-roce-gcc9-openmpi4-ucx-IMB_PingPong.txt", "2019 Update 5", 1_000_000, 1),
    ] {
        let Some((text, table)) = read(name) else { return };
        assert_eq!((table.suite, table.version.as_str(), table.mbyte), (Suite::Imb, version, mbyte));
        assert_eq!((table.blocks.len(), table.blocks[0].rows.len()), (blocks, 24));
        let printed = pens::instrument::text(&table);
        // All but the head, which tells whose it is, when and where it ran.
        let tail = |s: &str| s[s.find("# Minimum message").expect("sizes")..].to_owned();
        assert_eq!(tail(&printed), tail(&text), "{name}");
    }
}

#[test]
fn the_mbytes_of_both_ages_are_bytes() {
    let Some((_, juno)) = read("juno-gbe-IMB41-MPI1-internode.txt") else { return };
    let last = |block: &str| {
        let block = juno.blocks.iter().find(|b| b.name == block).expect("a block");
        *block.rows.last().expect("rows")
    };
    // 4 MiB in 36946.39 us; twice that, over the slowest rank's time.
    let row = last("PingPong");
    assert!((row.rate.expect("a rate") / 113.524e6 - 1.0).abs() < 1e-4);
    let row = last("Sendrecv");
    assert!((row.rate.expect("a rate") / (2.0 * 4194304.0 / 68961.41e-6) - 1.0).abs() < 1e-4);
    assert_eq!((row.repetitions, row.t_min), (Some(10), Some(68766.19 / 1e6)));
    let row = last("Barrier");
    assert_eq!((row.bytes, row.rate), (None, None));
    let Some((_, roce)) = read("stackhpc-alaska-roce-gcc9-openmpi4-ucx-IMB_PingPong.txt") else { return };
    let row = roce.blocks[0].rows[23];
    assert!((row.rate.expect("a rate") / 3043.13e6 - 1.0).abs() < 1e-9);
}

#[test]
fn osu_outputs_are_read_and_printed_again_to_the_byte() {
    for (name, test, rows) in [("Osu_latency", "osu_latency", 24), ("Osu_bibw", "osu_bibw", 23)] {
        let Some((text, table)) = read(&format!("stackhpc-alaska-roce-gcc9-openmpi4-ucx-{name}.txt")) else { return };
        assert_eq!((table.suite, table.version.as_str()), (Suite::Osu, "5.6.2"));
        assert_eq!((table.blocks[0].name.as_str(), table.blocks[0].rows.len()), (test, rows));
        let printed = pens::instrument::text(&table);
        assert_eq!(printed.split_once('\n').map(|p| p.1), Some(text.as_str()));
    }
}

#[test]
fn a_real_table_agrees_with_itself() {
    let Some((_, real)) = read("juno-gbe-IMB41-MPI1-internode.txt") else { return };
    let points = pens::compare::points(&real);
    let comparison = pens::compare::compare(&points, &[], &points);
    assert_eq!((comparison.rows.len(), comparison.left_out.len()), (points.len(), 0));
    assert!(comparison.rows.iter().all(|r| r.simulated_off == Some(0.0) && r.estimate.is_none()));
    assert_eq!(comparison.parts.len(), 17);
}
