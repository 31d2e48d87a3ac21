//! A collective over a cluster of GPUs, asked for in a page: the ladder of sizes in closed form, and packet by packet
//! where somebody simulates it.

use super::{Asked, MOST_THINGS, error, file_name, row, said};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::gpu::collective;
use lanescope::pens::gpu::sections;
use lanescope::plan::gpu::GpuCluster;
use lanescope::plan::gpu::ladder::Ladder;
use lanescope::result::gpu::CollectiveReport;
use lanescope::scenario::keys::{COLLECTIVES, GPU_CLUSTER, GPU_NETWORK, GPU_NODE, Key};
use lanescope::scenario::tree::Author;
use lanescope::scenario::{Included, edit::with_value};
use lanescope::sim::gpu::RowsRun;
use serde_json::{Value, json};

/// What was last asked for, and its answer.
#[derive(Debug)]
pub(super) struct Cluster {
    corners: Vec<GpuCluster>,
    report: CollectiveReport,
    before: Option<CollectiveReport>,
    run: Option<RowsRun>,
}

fn read(diagnostics: &mut Diagnostics, asked: &Asked, sets: &[String]) -> Option<Vec<GpuCluster>> {
    let text = Included { name: asked.name.clone(), text: asked.text.clone(), author: Author::User };
    GpuCluster::corners(diagnostics, text, sets)
}

impl Cluster {
    /// Answers a scenario into `held`; what was kept there is what the answer is held against.
    pub(super) fn estimate(held: &mut Option<Cluster>, asked: &Asked, ladder: &Ladder, keep: bool) -> Value {
        let mut diagnostics = Diagnostics::default();
        let Some(corners) = read(&mut diagnostics, asked, &asked.sets) else {
            return json!({ "diagnostics": said(&diagnostics, &asked.name), "refused": true });
        };
        let told = said(&diagnostics, &asked.name);
        let wrong = |what: String| json!({ "diagnostics": told, "error": what });
        let ranks = corners.first().map_or(0, GpuCluster::ranks) as usize;
        if ranks > MOST_THINGS {
            return wrong(format!(
                "{ranks} GPUs are too many for this page (it answers for {MOST_THINGS}); save the scenario and run it \
                 natively: lanescope collective all_reduce {}",
                file_name(&asked.name)
            ));
        }
        let asked = ladder.what().and_then(|what| Ok((what, ladder.sizes()?)));
        let report = match asked.and_then(|(what, sizes)| collective(&corners, what, &sizes)) {
            Ok(report) => report,
            Err(why) => return wrong(why),
        };
        let before = if keep { Some(report.clone()) } else { held.take().and_then(|h| h.before) };
        let cluster = held.insert(Cluster { corners, report, before, run: None });
        json!({ "diagnostics": told, "sections": cluster.sections(), "title": cluster.report.title })
    }

    /// The sections of the present answer; beside another only where that is of the same collective.
    fn sections(&self) -> Vec<Value> {
        let same = |b: &&CollectiveReport| b.collective == self.report.collective && b.rows != self.report.rows;
        let all = sections(&self.report, self.before.as_ref().filter(same));
        all.into_iter().map(|s| json!({ "id": s.id, "title": s.title, "html": s.html })).collect()
    }

    pub(super) fn keep(&mut self, off: bool) -> Value {
        self.before = (!off).then(|| self.report.clone());
        json!({ "kept": !off, "sections": self.sections() })
    }

    pub(super) fn begin(&mut self) -> Value {
        self.report.rows.iter_mut().for_each(|r| r.simulated = None);
        self.run = Some(RowsRun::default());
        json!({ "begun": true })
    }

    pub(super) fn advance(&mut self, events: u64) -> Value {
        let (Some(run), Some(cluster)) = (&mut self.run, self.corners.first()) else {
            return error("no simulation has begun");
        };
        match run.advance(cluster, &mut self.report, events) {
            Ok(done) => {
                let (rows, progress) = (self.report.rows.len(), run.done(self.report.rows.len()));
                let simulated = self.report.rows.iter().filter(|r| r.simulated.is_some()).count();
                json!({ "done": done, "progress": progress, "said": format!("{simulated} of {rows} sizes") })
            }
            Err(why) => error(&why),
        }
    }

    /// What has been simulated stands in the report; why other sizes were not is said.
    pub(super) fn end(&mut self) -> Value {
        let Some(run) = self.run.take() else { return error("no simulation has begun") };
        json!({ "sections": self.sections(), "left": run.left() })
    }

    pub(super) fn report(&self) -> Value {
        json!({ "report": self.report })
    }

    /// Every value, each with the menu or the kind of text that its key takes.
    pub(super) fn values(&self) -> Value {
        let Some(cluster) = self.corners.first() else { return json!({ "things": [] }) };
        let tables: [(&str, &str, &[Key]); 4] = [
            ("cluster", "", GPU_CLUSTER),
            ("node", "node", GPU_NODE),
            ("network", "network", GPU_NETWORK),
            ("collectives", "collectives", COLLECTIVES),
        ];
        let things = tables.iter().filter_map(|(name, path, keys)| {
            let (_, settings) = cluster.settings.iter().find(|(n, _)| n == name)?;
            let known = |s: &lanescope::scenario::keys::Setting| keys.iter().find(|k| k.name == s.key);
            let rows: Vec<Value> = settings.iter().map(|s| row(known(s), s)).collect();
            Some(json!({ "path": path, "name": name, "values": rows }))
        });
        json!({ "things": things.collect::<Vec<_>>(), "left": 0 })
    }
}

/// The text with its overrides in it, as far as they can be written there without changing the cluster.
pub(super) fn fold(asked: &Asked) -> Value {
    let all = |asked: &Asked, sets: &[String]| {
        let corners = read(&mut Diagnostics::default(), asked, sets)?;
        let of = |c: &GpuCluster| c.settings.iter().flat_map(|(_, s)| s).map(|s| (s.key, s.value.clone())).collect();
        corners.first().map(of).map(|values: Vec<_>| values)
    };
    let mut text = Ok(asked.text.clone());
    for set in &asked.sets {
        text = text.and_then(|t| {
            let (path, value) = set.split_once('=').ok_or_else(String::new)?;
            with_value(&t, path, value)
        });
    }
    let folded = text.map(|text| Asked { text, sets: Vec::new(), ..asked.clone() });
    match folded {
        Ok(f) if all(&f, &[]) == all(asked, &asked.sets) => json!({ "text": f.text, "sets": [] }),
        _ => json!({ "text": asked.text, "sets": asked.sets }),
    }
}
