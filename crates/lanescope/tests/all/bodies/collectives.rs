//! Clusters of GPUs and tables of nccl-tests.

use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::gpu::collective;
use lanescope::import;
use lanescope::plan::gpu::GpuCluster;
use lanescope::plan::gpu::collective::Collective;
use lanescope::scenario::Included;
use lanescope::scenario::tree::Author;
use lanescope::sim::gpu::CollectiveRun;

/// GPUs of which a ladder is worked out and a run is begun: what larger clusters take is a bench's to say.
const MOST: u32 = 64;

/// A cluster: every collective is answered or refused, and what was chosen can be simulated, or why not is said.
pub fn gpu_cluster(data: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(data) else { return false };
    let mut d = Diagnostics::default();
    let text = Included { name: "cluster.toml".into(), text: text.to_owned(), author: Author::User };
    let Some(corners) = GpuCluster::corners(&mut d, text, &[]) else {
        assert!(d.has_errors(), "refused without a reason");
        return false;
    };
    let c = &corners[0];
    if c.ranks() > MOST || c.channels > 64 {
        return true;
    }
    for what in Collective::ALL {
        let Ok(report) = collective(&corners, what, &[8, 1 << 16, 1 << 30]) else { continue };
        for row in &report.rows {
            assert!(row.time.is_finite() && row.time > 0.0, "{row:?}");
            assert!(row.busbw <= row.bound * (1.0 + 1e-9), "{row:?}");
        }
        let row = &report.rows[0];
        let Ok(mut run) = CollectiveRun::new(c, what, row.algorithm, row.protocol, row.bytes) else { continue };
        // So few bytes have ended by then.
        assert!(run.advance(5_000_000).expect("no deadlock"), "8 B that do not end");
        assert!(run.result().busbw <= row.bound * (1.0 + 1e-6), "{row:?}");
    }
    true
}

/// What nccl-tests print.
pub fn nccl_tests(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data).into_owned();
    let mut d = Diagnostics::default();
    let source = d.add_source("nccl.txt", text);
    let table = import::nccl_tests::read(&mut d, source);
    assert_eq!(table.is_none(), d.has_errors());
    table.is_some_and(|t| t.rows.iter().all(|r| r.bytes > 0 && r.time.is_finite() && r.busbw.is_finite()))
}
