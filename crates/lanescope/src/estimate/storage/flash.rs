//! The closed form of a solid-state drive: what a command asks of it, how long one takes by itself, and how long with
//! others outstanding.
//!
//! The demands are bounds: channels, dies and stripes are charged as if they always shared the work evenly and every
//! program were full. How long a read of a drive takes, alone or with others, is in [`followed`]; where several drives
//! share them, or they wait for programs too, they wait at dies, channels and link as a mean-value analysis has it
//! ([`queueing`](super::queueing)), all of one kind and pages anywhere. Writes are followed one by one
//! ([`write_through`](super::write_through)); those of a mix at one drive, and over fabrics, share programs by halves:
//! while one half of those outstanding is programmed, the other waits. What garbage collection moves, erases, and
//! programs that hold their dies are in the usual demands and in no bound; how long reads wait for those is in
//! [`programs`](super::programs). Not in it: mixes of kinds.

use crate::estimate::storage::ends::Ends;
use crate::estimate::storage::followed;
use crate::estimate::storage::queueing::{Station, queue};
use crate::estimate::storage::reads::{self, PLACES, Wire, house, sense};
use crate::estimate::storage::{Kind, Part};
use crate::scenario::keys::{PlaneReads, Ssd};
use crate::scenario::quantity::Corner;
use crate::tools::gcd;

/// Pages that a command has at least.
fn pages(k: &Ssd, bytes: f64) -> f64 {
    (bytes / k.page.typical.f64().max(1.0)).ceil().max(1.0)
}

/// Planes that sense by themselves.
fn planes(k: &Ssd, corner: Corner) -> f64 {
    [&k.channels, &k.dies, &k.planes].map(|q| f64::from(q.at(corner).get())).iter().product()
}

/// What `count` commands ask of the drive of a number.
pub(in crate::estimate) fn ask(
    k: &Ssd,
    (corner, ends): (Corner, Ends),
    target: u32,
    kind: Kind,
    count: f64,
    add: &mut dyn FnMut(Part, f64, f64),
) {
    let n = |q: u32| q as f64;
    let least = ends == Ends::Least;
    add(Part::Controller(target), 1.0, count * k.command_time.at(corner).seconds());
    if let Some(rate) = &k.rate {
        add(Part::Target(target), rate.at(corner).bytes(), count * kind.bytes);
    }
    if kind.read {
        let channels = n(k.channels.at(corner).get());
        add(Part::Channels(target), channels, count * kind.bytes / k.channel_rate.at(corner).bytes());
        let left = if least { 1.0 } else { (1.0 - house(k, corner).0).max(1e-6) };
        add(Part::Dies(target), planes(k, corner), count * pages(k, kind.bytes) * sense(k, corner, least) / left);
    } else {
        // Garbage is collected and blocks are erased now or later: in no bound.
        let all = if least { 1.0 } else { k.write_amplification.at(corner).0 };
        let erase = k.erase_time.at(corner).seconds() / n(k.block_programs.at(corner).get());
        let held = all * (k.program_time.at(corner).seconds() + if least { 0.0 } else { erase });
        let pages = if kind.pages > 0.0 && !least { kind.pages } else { pages(k, kind.bytes) };
        let stripe = n(k.stripe_pages.at(corner).get());
        // A stripe that collects waits for its pages: some of them share a channel.
        let shared = 1.0 + (stripe - 1.0) / n(k.channels.at(corner).get());
        let gather = sense(k, corner, false) + k.page.typical.f64() / k.channel_rate.at(corner).bytes() * shared;
        let gathered = (all - 1.0) * gather;
        let each = pages * (held + gathered) / stripe + kind.bytes / k.stripe_rate.at(corner).bytes();
        add(Part::Stripes(target), n(k.stripes.at(corner).get()), count * each);
        if least {
            return;
        }
        let (moved, page) = (pages * (all - 1.0), k.page.typical.f64());
        let held = if k.die_programs.typical { pages * held * n(k.planes.at(corner).get()) } else { 0.0 };
        let dies = moved * sense(k, corner, false) + held;
        if dies > 0.0 {
            add(Part::Dies(target), planes(k, corner), count * dies);
        }
        if moved > 0.0 {
            let carried = count * moved * page / k.channel_rate.at(corner).bytes();
            add(Part::Channels(target), n(k.channels.at(corner).get()), carried);
        }
    }
}

/// When so many bytes of a write are through the drive's own rate, which takes one piece of them after the other, as
/// they come: a tandem. As much as has come when the piece is whole in which the last of them is.
fn through(k: &Ssd, corner: Corner, (piece, size): (u64, u64), bytes: u64, come: &dyn Fn(u64) -> f64) -> f64 {
    let piece = piece.max(1);
    let bytes = bytes.div_ceil(piece).saturating_mul(piece).clamp(1, size.max(1));
    let Some(rate) = &k.rate else { return come(bytes) };
    let takes = |n: u64| n as f64 / rate.at(corner).bytes();
    // Pieces come evenly: what waits longest is the first, the last or, where that is shorter, the one before it.
    let last = (bytes - 1) % piece + 1;
    let ends = (come(piece.min(bytes)) + takes(bytes)).max(come(bytes) + takes(last));
    if bytes == last { ends } else { ends.max(come(bytes - last) + takes(piece + last)) }
}

/// When the status of a write by itself may go: of its data the first are on the link at `begun`, and so many have come
/// at `come`, seconds, in pieces of so many bytes.
pub(in crate::estimate) fn written(
    k: &Ssd,
    corner: Corner,
    kind: Kind,
    begun: f64,
    piece: u64,
    come: &dyn Fn(u64) -> f64,
    least: bool,
) -> f64 {
    let size = (kind.bytes.round() as u64).max(1);
    let there = |bytes: u64| through(k, corner, (piece, size), bytes, come);
    let all = there(size);
    if k.write_cache.typical {
        return all;
    }
    let (intake, stripes) = (k.stripe_rate.at(corner).bytes(), k.stripes.at(corner).get() as f64);
    let (page, pages) = (k.page.typical.f64(), pages(k, kind.bytes));
    if !least && pages > 1.0 && pages <= PAGES {
        return programmed(k, corner, size, &there);
    }
    let last = kind.bytes - (pages - 1.0) * page;
    let first = there(k.page.typical.0.clamp(1, size));
    let taken = (all + last / intake).max(first + kind.bytes.min(page) / intake);
    let program = k.program_time.at(corner).seconds();
    taken.max(begun + kind.bytes / intake / stripes) + program
}

/// Pages of a write by itself that are followed to their stripes.
const PAGES: f64 = 4096.0;

/// When a write by itself is programmed: each stripe begins with the first page that comes to it, and takes what has
/// come meanwhile when it is through.
fn programmed(k: &Ssd, corner: Corner, size: u64, there: &dyn Fn(u64) -> f64) -> f64 {
    let (page, stripes) = (k.page.typical.0.max(1), u64::from(k.stripes.at(corner).get()).max(1));
    let (intake, program) = (k.stripe_rate.at(corner).bytes(), k.program_time.at(corner).seconds());
    let most = k.stripe_pages.at(corner).get() as usize;
    let of_one = |stripe: u64| {
        let mut come = (stripe..size.div_ceil(page)).step_by(stripes as usize).map(|i| {
            let end = ((i + 1) * page).min(size);
            (there(end), end - i * page)
        });
        let (mut free, mut next) = (0.0_f64, come.next());
        while let Some((first, mut bytes)) = next {
            let begins = free.max(first);
            next = come.next();
            for _ in 1..most {
                let Some((_, more)) = next.filter(|(at, _)| *at <= begins) else { break };
                bytes += more;
                next = come.next();
            }
            free = begins + bytes as f64 / intake + program;
        }
        free
    };
    (0..stripes.min(size.div_ceil(page))).map(of_one).fold(0.0, f64::max)
}

/// What commands pass beside the inside of a drive.
pub(in crate::estimate) struct Beside {
    /// On the way to it.
    pub(in crate::estimate) stations: Vec<Station>,
    /// Behind it, with their data.
    pub(in crate::estimate) link: Station,
    /// That link, and how a read is cut, where those of one drive alone may be followed.
    pub(in crate::estimate) follow: Option<(Wire, reads::Commands)>,
    /// Drives that share them.
    pub(in crate::estimate) drives: f64,
    /// Bytes that lie side by side on one of several drives, which one I/O after the other reads; 0 where none do.
    pub(in crate::estimate) strip: f64,
}

/// Seconds of one of `n` commands that are outstanding, when it would take so long by itself and wait so long for
/// programs: at one drive, or anywhere on several that share them.
pub(in crate::estimate) fn among(
    k: &Ssd,
    corner: Corner,
    kind: Kind,
    (n, alone, held): (u32, f64, f64),
    beside: &Beside,
) -> f64 {
    let drives = beside.drives;
    if let Some((wire, cut)) = beside.follow.filter(|_| kind.read && !kind.trim && held == 0.0 && drives == 1.0)
        && let Some(time) = followed::among(k, corner, (kind, cut), wire, (n, alone), (&beside.stations, &beside.link))
    {
        return time;
    }
    let count = pages(k, kind.bytes);
    if kind.trim {
        let stations = beside.stations.iter().chain([&beside.link]);
        return queue(stations.map(|s| (*s, s.visits)).collect(), (n, alone, 0.0));
    }
    if !kind.read {
        if k.write_cache.typical {
            return alone;
        }
        let (stripes, most) = (k.stripes.at(corner).get(), k.stripe_pages.at(corner).get());
        let each = n as f64 * count / (drives * f64::from(stripes));
        let (one, program) =
            (kind.bytes / count / k.stripe_rate.at(corner).bytes(), k.program_time.at(corner).seconds());
        if each <= 1.0 {
            return alone;
        }
        // Half of those that wait, as far as a program holds them: then every program is full, and what waits longer
        // waits for the next.
        let together = (each / 2.0).clamp(1.0, f64::from(most).max(1.0));
        return alone.max(each / together * (program + together * one));
    }
    // Pages that a command touches on average, and how much longer the last of several waits than one.
    let step = gcd(kind.step.max(1), k.page.typical.0.max(1)) as f64;
    let touched = 1.0 + (kind.bytes - step).max(0.0) / k.page.typical.f64();
    let last = (1..=touched.round() as u64).take(PLACES as usize).map(|i| 1.0 / i as f64).sum::<f64>();
    // Commands that follow one another lie side by side on channels: so many pages, and no more of them.
    let near = |all: f64| match kind.random > 0.0 {
        true => all,
        false => all.min(1.0 + n as f64 * kind.bytes / k.page.typical.f64()),
    };
    let channels = near(drives * f64::from(k.channels.at(corner).get()));
    let service = kind.bytes / touched / k.channel_rate.at(corner).bytes();
    let joint = match k.plane_reads.typical {
        PlaneReads::Independent => 1.0,
        PlaneReads::Together => f64::from(k.planes.at(corner).get()),
    };
    let mut stations: Vec<(Station, f64)> = vec![
        (Station { joint, ..Station::of(drives * planes(k, corner) / joint, touched, sense(k, corner, false)) }, last),
        (Station::of(channels, touched, service), last),
    ];
    stations.extend(beside.stations.iter().chain([&beside.link]).map(|s| (*s, s.visits)));
    let time = queue(stations, (n, alone, held));
    if kind.random > 0.0 || held > 0.0 || kind.bytes >= beside.strip {
        return time;
    }
    // As many of those that follow one another are at one drive as lie in a strip: on the same pages, too.
    let at_work = (f64::from(n) * kind.bytes / beside.strip).clamp(1.0, drives);
    let of_one = (f64::from(n) / at_work).round().max(1.0) as u32;
    let link = Station::one(beside.link.service);
    let side_by_side = beside
        .follow
        .and_then(|(wire, cut)| followed::among(k, corner, (kind, cut), wire, (of_one, alone), (&[], &link)));
    side_by_side.map_or(time, |side_by_side| time.max(side_by_side))
}
