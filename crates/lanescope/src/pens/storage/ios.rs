//! What flows of I/Os come to, by direction: what instruments of storage print.

use crate::plan::Plan;
use crate::plan::storage::IoFlow;
use crate::result::{Binding, IoCounts, IoSide, Report, SimulatedIos, Times, lasted};
use crate::scenario::keys::WHOLE;
use serde::Serialize;

/// I/Os of one direction, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ios {
    /// How many a second.
    pub per_second: f64,
    /// Bytes a second.
    pub rate: f64,
    /// Their mean time from the moment at which the program wants one, s: fio's `lat`.
    pub latency: f64,
    /// The same from the call to its return, s: Iometer's response time. The estimate does not tell them apart.
    pub response: f64,
}

/// What a load came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Came {
    /// Reads, writes and trims, worked out. Their time is that of a load which keeps its I/Os outstanding (Little's
    /// law), of one with a rate that of an I/O alone.
    pub estimate: [Ios; 3],
    /// What was simulated.
    pub simulated: Option<[Ios; 3]>,
    /// What binds.
    pub estimate_by: Binding,
    /// What binds in the simulation.
    pub simulated_by: Option<Binding>,
}

impl Ios {
    /// With those of another.
    pub fn plus(&self, other: &Ios) -> Ios {
        let per_second = self.per_second + other.per_second;
        let waited = self.per_second * self.latency + other.per_second * other.latency;
        let latency = if per_second > 0.0 { waited / per_second } else { 0.0 };
        let waited = self.per_second * self.response + other.per_second * other.response;
        let response = if per_second > 0.0 { waited / per_second } else { 0.0 };
        Ios { per_second, rate: self.rate + other.rate, latency, response }
    }
}

impl Came {
    /// With that of another; what binds is what binds the first.
    pub fn plus(&self, other: &Came) -> Came {
        let add = |a: &[Ios; 3], b: &[Ios; 3]| [0, 1, 2].map(|side| a[side].plus(&b[side]));
        let simulated = self.simulated.as_ref().zip(other.simulated.as_ref());
        Came {
            estimate: add(&self.estimate, &other.estimate),
            simulated: simulated.map(|(a, b)| add(a, b)),
            ..self.clone()
        }
    }

    /// What binds: in the simulation where there was one.
    pub fn bound_by(&self) -> &Binding {
        self.simulated_by.as_ref().unwrap_or(&self.estimate_by)
    }
}

/// I/Os for a draw of a line and the shares of them that read and that deallocate, a reply being one more the other
/// way.
fn reads(flow: &IoFlow) -> (f64, [f64; 2]) {
    let (mut ios, mut read, mut trim) = (0.0, 0.0, 0.0);
    for line in flow.lines.iter() {
        let share = f64::from(line.share) / f64::from(WHOLE);
        let reads = f64::from(line.read) / f64::from(WHOLE);
        let reply = f64::from(u8::from(line.reply.0 > 0));
        ios += share * (1.0 + reply);
        read += share * (reads + reply * (1.0 - reads));
        trim += share * (1.0 - reads) * f64::from(line.trim) / f64::from(WHOLE);
    }
    (ios, [read / ios, trim / ios])
}

/// What was done, by direction: rates and times of the I/Os counted.
pub(super) fn done_by(ios: &SimulatedIos) -> [Ios; 3] {
    let sides = |of: fn(&IoCounts) -> &IoSide| {
        let counts = ios.seen.counts.iter().map(of);
        counts
            .fold((0u64, Times::default(), 0.0), |sum, s| (sum.0 + s.bytes, sum.1.plus(&s.times), sum.2 + s.whole.sum))
    };
    let all = [sides(|c| &c.reads), sides(|c| &c.writes), sides(|c| &c.trims)];
    let time = lasted(ios.seen.time, all.iter().map(|s| s.0).sum(), ios.seen.counts.iter().map(|c| c.moved).sum());
    let per_second = |n: f64| if time > 0.0 { n / time } else { 0.0 };
    all.map(|(bytes, times, whole)| Ios {
        per_second: per_second(times.count as f64),
        rate: per_second(bytes as f64),
        latency: if times.count > 0 { whole / times.count as f64 } else { 0.0 },
        response: times.mean(),
    })
}

/// What a flow group came to; none where it is no table of I/Os.
pub fn came(plan: &Plan, report: &Report, name: &str) -> Option<Came> {
    let at = report.flows.iter().position(|f| f.name == name)?;
    let flow = &report.flows[at];
    let members: Vec<&IoFlow> = plan.storage.flows.iter().filter(|f| f.group == name).collect();
    let first = members.first()?;
    let mix = first.mix();
    let (ios, [read, trim]) = reads(first);
    let rate = flow.share.typical / 8.0;
    let per_second = if mix.bytes > 0.0 { rate / mix.bytes * ios } else { 0.0 };
    let outstanding: f64 = members.iter().map(|f| f64::from(f.outstanding.typical.get())).sum();
    // A load with a rate does not keep all of its I/Os outstanding, and one with pauses waits without any.
    let idle = first.rate.is_some() || mix.delay > 0.0;
    let latency = if idle || per_second <= 0.0 { flow.latency.typical } else { outstanding / per_second };
    let sides = [(read, mix.read), (1.0 - read - trim, mix.written), (trim, mix.trimmed)];
    let estimate = sides.map(|(share, bytes)| match per_second * share {
        n if n > 0.0 => Ios { per_second: n, rate: rate * bytes / mix.bytes, latency, response: latency },
        _ => Ios::default(),
    });
    let done = report.simulation.as_ref().and_then(|s| s.flows.get(at));
    let simulated = done.and_then(|f| f.ios.as_ref()).map(done_by);
    Some(Came {
        estimate,
        simulated,
        estimate_by: flow.bound_by.clone(),
        simulated_by: done.map(|f| f.bound_by.clone()),
    })
}
