//! DLLPs that answer reads of which each waits for the one before, and go before what that one waits for.
//!
//! A receiver answers every so many TLPs, or what has come when a limit ends (2.0, 2.6.1.2 and 3.5.3.1). What that
//! costs where TLPs come back to back the slots of the wires say. Where reads go one by one it hangs on when an answer
//! is due: on an idle link it stands in nobody's way, between completions or when the next request is to go it takes
//! its time. So the moments of some reads are followed, as they repeat.
//!
//! Not in it: links but the requester's own; answers of TLPs that others send there.

use crate::estimate::pcie::latency::{Unloaded, completions};
use crate::plan::Flow;
use crate::protocol::pcie;
use crate::scenario::PartKeys;

/// Reads that are followed; the second half of them counts.
const READS: usize = 32;

impl Unloaded<'_> {
    /// How long a read takes in the mean, ns, that takes so long by itself (`alone`) and begins so long behind the one
    /// before (`pause`): with the answers that go before its data or the next request, and ordered sets.
    pub(crate) fn answered(&self, flow: &Flow, size: u64, request: u64, (alone, pause): (f64, f64)) -> f64 {
        let Unloaded { plan, corner, .. } = *self;
        let (Some(hop), true) = (flow.route.first(), size > 0) else { return alone };
        let link = plan.link(hop.link);
        let speed = link.speed.at(corner);
        let (byte, ecrc) = (1e9 / speed.coded().bytes(), plan.ecrc(flow));
        let (dllp, limit) = (pcie::dllp(speed.generation) as f64 * byte, link.held_back(corner) * 1e9);
        let piece = plan.completion_size(corner, flow, request.min(size));
        let (tlps, bytes) = completions(speed.generation, size, request, piece, ecrc);
        let (requests, each) = (size.div_ceil(request), bytes as f64 * byte / tlps.max(1) as f64);
        let asks = pcie::tlp(speed.generation, flow.header.at(corner), 0, ecrc) as f64 * byte;
        // From the last completion's end until the requester goes on.
        let own = match &plan.part(flow.source).keys {
            PartKeys::Endpoint(k) => k.latency.at(corner).ns(),
            _ => 0.0,
        };
        let behind = own + self.placed(flow, size as f64);
        let begins = |read: usize| read as f64 * (alone + pause);
        let ends = |read: usize| begins(read) + alone - behind;
        let asked = (0..READS).flat_map(|read| (1..=requests).map(move |i| begins(read) + i as f64 * asks));
        let came = (0..READS).flat_map(|read| (0..tlps).rev().map(move |left| ends(read) - left as f64 * each));
        // The requests are answered where their data come from.
        let (asked, came): (Vec<f64>, Vec<f64>) = (asked.collect(), came.collect());
        let policies = [link.ack_every.at(corner).0, link.update_fc_every.at(corner).0];
        let of_requests = policies.into_iter().flatten().flat_map(|every| due(&asked, every, limit));
        let half = READS / 2..READS;
        let within = |at: f64| half.clone().find(|r| at > ends(*r) - tlps as f64 * each - dllp && at < ends(*r) - each);
        let before_data = of_requests
            .filter_map(|at| within(at).map(|r| (at + dllp - (ends(r) - tlps as f64 * each)).clamp(0.0, dllp)));
        let of_data = policies[0].into_iter().flat_map(|every| due(&came, every, limit));
        let before_next = of_data.filter_map(|at| {
            let next = half.clone().map(|r| begins(r + 1)).find(|next| at <= *next && at + dllp > *next)?;
            Some(at + dllp - next)
        });
        let waited = before_data.sum::<f64>() + before_next.sum::<f64>();
        let sets = (requests as f64 * asks + bytes as f64 * byte) * (1.0 / link.usable(corner).max(1e-9) - 1.0);
        alone + waited / half.len() as f64 + sets
    }
}

/// When TLPs that come at these moments are answered: every so many, or so long after the first that waits.
fn due(came: &[f64], every: u32, limit: f64) -> Vec<f64> {
    let (mut all, mut first, mut waiting) = (Vec::new(), 0.0, 0);
    for at in came {
        if waiting > 0 && first + limit < *at {
            all.push(first + limit);
            waiting = 0;
        }
        if waiting == 0 {
            first = *at;
        }
        waiting += 1;
        if waiting >= every {
            all.push(*at);
            waiting = 0;
        }
    }
    all.extend((waiting > 0).then_some(first + limit));
    all
}

#[cfg(test)]
mod tests {
    use super::due;

    #[test]
    fn so_many_or_after_so_long() {
        assert_eq!(due(&[1.0, 2.0, 3.0, 10.0], 3, 5.0), [3.0, 15.0]);
        assert_eq!(due(&[1.0, 2.0, 8.0], 3, 5.0), [6.0, 13.0]);
        assert_eq!(due(&[1.0, 2.0], 1, 5.0), [1.0, 2.0]);
    }
}
