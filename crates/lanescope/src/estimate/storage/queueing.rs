//! How long one of several that are outstanding waits: mean-value analysis of a closed network (Reiser, Lavenberg: JACM
//! 27, 1980), with the mean rest of a service that is under way.

/// Commands outstanding that waits are worked out for one by one.
const MOST: u32 = 1024;

/// What a command passes: servers that share its visits, and the time of one. A server may deal with several visits at
/// once, of different kinds: planes of a die that sense together.
#[derive(Clone, Copy, Debug)]
pub(in crate::estimate) struct Station {
    pub(in crate::estimate) servers: f64,
    pub(in crate::estimate) visits: f64,
    pub(in crate::estimate) service: f64,
    pub(in crate::estimate) joint: f64,
    /// What is left of a service when somebody comes, on average, as a part of it: of a constant one, half.
    pub(in crate::estimate) rest: f64,
}

impl Station {
    /// One server, visited once.
    pub(in crate::estimate) fn one(service: f64) -> Station {
        Station::of(1.0, 1.0, service)
    }

    /// Servers that deal with one visit at a time.
    pub(in crate::estimate) fn of(servers: f64, visits: f64, service: f64) -> Station {
        Station { servers, visits, service, joint: 1.0, rest: 0.5 }
    }

    /// The same of drives, which in pairs of mirrors take turns (`mirrored`): visits come to each of a pair more evenly
    /// than by chance (Erlang of two stages, whose variance is half of that), so that who comes waits half as long by
    /// Kingman's formula (Proc. Camb. Phil. Soc. 57, 1961), and as behind one server that is twice as fast.
    pub(in crate::estimate) fn of_drives(drives: f64, mirrored: bool, visits: f64, service: f64) -> Station {
        let turns = if mirrored { 2.0 } else { 1.0 };
        Station::of(drives / turns, visits, service / turns)
    }

    /// How long who comes waits, with so many visits to each server in a second that wait so long: those that wait, and
    /// are of its kind, in full, of what is served the mean rest.
    fn wait(&self, each: f64, waits: f64) -> f64 {
        let waiting = each * waits;
        // Of so many that wait, so many are of different kinds and go at once.
        let at_once = self.joint * (1.0 - (1.0 - 1.0 / self.joint).powf(waiting.max(1.0)));
        self.service * (waiting / self.joint + each * self.service / at_once * self.rest)
    }
}

/// Seconds of one of `n` that are outstanding and pass stations, each with how often a command waits there one behind
/// the other, when it would take so long by itself, and waits so long at the first one for what is no command. More of
/// them never get less done: what the recursion is above the long run it does not give back.
pub(in crate::estimate) fn queue(mut stations: Vec<(Station, f64)>, (n, alone, held): (u32, f64, f64)) -> f64 {
    stations.retain(|(s, _)| s.service > 0.0);
    let mut waits = vec![0.0_f64; stations.len()];
    let (mut before, mut most) = (0.0, 0.0_f64);
    for i in 1..=n.min(MOST) {
        // Who comes finds what one less leaves: those that wait in full, the rest of the one that is served.
        for (at, ((s, _), wait)) in stations.iter().zip(&mut waits).enumerate() {
            // What holds the first station for itself is there whoever else waits.
            *wait = s.wait(before * s.visits / s.servers, *wait) + if at == 0 { held } else { 0.0 };
        }
        let time = alone + stations.iter().zip(&waits).map(|((_, times), wait)| times * wait).sum::<f64>();
        before = i as f64 / time;
        most = most.max(before);
    }
    // Of more than are followed, those behind only wait.
    n as f64 / most.max(1e-300)
}
