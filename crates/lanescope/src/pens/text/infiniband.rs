//! A flow of ranks: how long its program takes, row by row as its instrument counts, and where the ranks' time went.

use super::{Paint, binding};
use crate::result::{Ending, FlowReport, ProgramReport, ProgramRow, RankAccount, Report, SimulatedFlow};
use crate::units::{Bytes, digits, human_time};
use std::fmt::Write;

/// Ends of a range that are nearer to each other, relatively, are one.
const SAME: f64 = 5e-4;
/// Cells between columns.
const GAP: usize = 3;

/// What is known of one flow.
struct Known<'a> {
    flow: &'a FlowReport,
    /// The estimate: typical, slower, faster.
    estimates: &'a [ProgramReport],
    simulated: Option<&'a SimulatedFlow>,
    program: Option<&'a ProgramReport>,
    /// Why there is no estimate.
    trouble: Option<&'a str>,
    /// Whether the ranks had ended when the simulation did.
    ended: bool,
}

/// The flow in a few lines and a table; whether it is one of ranks.
pub(super) fn flow(
    out: &mut String,
    report: &Report,
    f: &FlowReport,
    simulated: Option<&SimulatedFlow>,
    paint: Paint,
) -> bool {
    let program = simulated.and_then(|s| s.program.as_ref());
    let Some(head) = f.programs.first().or(program) else { return false };
    let start = format!("flows.{}: ", f.name);
    let trouble = report.warnings.iter().find_map(|w| w.strip_prefix(&start)).filter(|_| f.share.typical == 0.0);
    let estimates = if trouble.is_some() { &[] } else { f.programs.as_slice() };
    let ended = report.simulation.as_ref().is_none_or(|s| s.ending == Ending::Finished);
    let known = Known { flow: f, estimates, simulated, program, trouble, ended };
    let _ = writeln!(out, "{}{}{}    {}", paint.strong, f.name, paint.off, head.title);
    times(out, &known, paint);
    binds(out, &known, paint);
    spent(out, &known, paint);
    collectives(out, head);
    rows(out, &known, paint);
    out.push('\n');
    true
}

/// ` (54.8 ms … 70.1 ms)` where the corners differ.
fn spread(all: &[f64]) -> String {
    let (low, high) = all.iter().fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(*v), h.max(*v)));
    if all.len() < 2 || high - low < SAME * high {
        return String::new();
    }
    format!(" ({} … {})", human_time(low), human_time(high))
}

fn off(simulated: f64, estimate: f64) -> Option<String> {
    (estimate > 0.0).then(|| format!("{:+.1} %", 100.0 * (simulated / estimate - 1.0)).replace("-0.0", "+0.0"))
}

/// Whether rows had fewer repetitions than the real program has: then the time of the whole is that of a shorter
/// program.
fn cut(p: &ProgramReport) -> bool {
    p.rows.iter().any(|r| r.simulated < r.repetitions)
}

/// Whether two answers are of the same program, row by row as often repeated.
fn alike(a: &ProgramReport, b: &ProgramReport) -> bool {
    a.rows.iter().map(|r| r.simulated).eq(b.rows.iter().map(|r| r.simulated))
}

/// Repetitions of all rows together.
fn repetitions(p: &ProgramReport) -> u64 {
    p.rows.iter().map(|r| r.simulated).sum()
}

/// ` for 1025 repetitions`.
fn repeated(p: &ProgramReport) -> String {
    let n = repetitions(p);
    format!(" for {n} repetition{}", if n == 1 { "" } else { "s" })
}

/// ` (284.8 us … 12.53 ms, of 40 to 2100 repetitions)`: where the corners make another number of them, they are said.
fn corners(estimates: &[ProgramReport]) -> String {
    let times: Vec<f64> = estimates.iter().map(|e| e.time).collect();
    let range = spread(&times);
    if range.is_empty() || estimates.iter().all(|e| alike(e, &estimates[0])) {
        return range;
    }
    let counts = || estimates.iter().map(repetitions);
    let (low, high) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    format!("{}, of {low} to {high} repetitions)", range.trim_end_matches(')'))
}

/// Until the last rank has ended. Where rows end when they are steady, each answer may have repeated them another
/// number of times: then each says how often.
fn times(out: &mut String, k: &Known, paint: Paint) {
    let _ = write!(out, "  time       ");
    let counted = k.program.zip(k.estimates.first()).is_some_and(|(p, e)| !alike(p, e));
    match (k.estimates.first(), k.trouble) {
        (_, Some(trouble)) => {
            let _ = write!(out, "{}no estimate{}: {trouble}", paint.alarm, paint.off);
        }
        (Some(e), _) => {
            let times = if counted { repeated(e) } else { String::new() };
            let range = corners(k.estimates);
            let _ = write!(out, "{}{}{} estimated{times}{range}", paint.strong, human_time(e.time), paint.off);
        }
        (None, None) => {}
    }
    if let Some(p) = k.program {
        if !k.estimates.is_empty() || k.trouble.is_some() {
            out.push_str("; ");
        }
        let _ = write!(out, "{}{}{} simulated", paint.strong, human_time(p.time), paint.off);
        if !k.ended {
            out.push_str(" so far");
        }
        if counted {
            out.push_str(&repeated(p));
        }
        let same = |e: &&ProgramReport| k.ended && alike(p, e);
        if let Some(off) = k.estimates.first().filter(same).and_then(|e| off(p.time, e.time)) {
            let _ = write!(out, " ({off})");
        }
    }
    if let Some(p) = k.program.or(k.estimates.first()) {
        let _ = write!(out, "; {} messages", p.messages);
        if p.bytes > 0 {
            let _ = write!(out, ", {} MB", digits(p.bytes as f64 / 1e6));
        }
        if k.program.into_iter().chain(k.estimates.first()).any(cut) {
            out.push_str("; rows ended when they were steady");
        }
    }
    out.push('\n');
}

/// What binds, by both methods; once where they agree.
fn binds(out: &mut String, k: &Known, paint: Paint) {
    let accent = |text: String| format!("{}{text}{}", paint.accent, paint.off);
    let e = &k.flow.bound_by;
    let by = |b| accent(binding(b));
    match k.simulated.map(|s| &s.bound_by) {
        None => drop(writeln!(out, "  bound by   {}", by(e))),
        Some(s) if k.trouble.is_some() => drop(writeln!(out, "  bound by   {}", by(s))),
        Some(s) if (&s.element, &s.resource) == (&e.element, &e.resource) => {
            let _ = writeln!(out, "  bound by   {}", by(e));
            if s.evidence != e.evidence {
                let _ = writeln!(out, "  simulated  the same element: {}", s.evidence);
            }
        }
        Some(s) => {
            let _ = writeln!(out, "  bound by   {}\n  simulated  bound by {}", by(e), by(s));
        }
    }
}

/// Where the ranks' time went: the mean share, and the least and greatest of any rank.
fn spent(out: &mut String, k: &Known, paint: Paint) {
    type Part = (&'static str, fn(&RankAccount) -> f64);
    const PARTS: [Part; 4] = [
        ("computing", |a| a.computing),
        ("library", |a| a.overhead),
        ("copying", |a| a.copying),
        ("waiting", |a| a.waiting),
    ];
    let methods = [("estimated", k.estimates.first()), ("simulated", k.program)];
    let mut word = "ranks";
    for (method, report) in methods {
        let accounts = report.map_or(&[][..], |r| r.accounts.as_slice());
        let ranks: Vec<&RankAccount> = accounts.iter().filter(|a| a.total() > 0.0).collect();
        if ranks.is_empty() {
            continue;
        }
        let parts = PARTS.iter().filter_map(|(name, part)| {
            let shares = || ranks.iter().map(|a| 100.0 * part(a) / a.total());
            let mean = shares().sum::<f64>() / ranks.len() as f64;
            let (low, high) = shares().fold((f64::INFINITY, 0.0f64), |(l, h), s| (l.min(s), h.max(s)));
            let spread = if high - low < 0.1 { String::new() } else { format!(" ({low:.1} … {high:.1})") };
            (high > 0.0).then(|| format!("{name} {mean:.1} %{spread}"))
        });
        let parts: Vec<String> = parts.collect();
        let _ = writeln!(out, "  {word:<9}  {}{method}{} {}", paint.faint, paint.off, parts.join(", "));
        word = "";
    }
}

/// How its collectives are done: sizes in a row that are done alike in one line.
fn collectives(out: &mut String, head: &ProgramReport) {
    let apart = |text: &'_ String| text.split_once(": ").map(|(what, how)| (what.to_owned(), how.to_owned()));
    let all: Vec<(String, String)> = head.collectives.iter().filter_map(apart).collect();
    let mut word = "collective";
    for alike in all.chunk_by(|a, b| a.1 == b.1 && a.0.split(' ').next() == b.0.split(' ').next()) {
        let last = alike.last().filter(|_| alike.len() > 1);
        let size = |what: &str| what.split_once(' ').map_or(String::new(), |(_, size)| size.to_owned());
        let to = last.map_or(String::new(), |last| format!(" to {}", size(&last.0)));
        let _ = writeln!(out, "  {word:<10} {}{to}: {}", alike[0].0, alike[0].1);
        word = "";
    }
}

/// One row by both methods.
struct Line<'a> {
    row: &'a ProgramRow,
    estimates: Vec<&'a ProgramRow>,
    simulated: Option<&'a ProgramRow>,
}

/// The rows of the longer answer, in its order, each with its likes. Rows are of the same program: those of a run that
/// was cut short are its first.
fn lines<'a>(k: &Known<'a>) -> Vec<Line<'a>> {
    let of = |report: &'a ProgramReport| report.rows.as_slice();
    let [estimate, simulated] = [k.estimates.first().map_or(&[][..], of), k.program.map_or(&[][..], of)];
    let all = if estimate.len() >= simulated.len() { estimate } else { simulated };
    let like = |rows: &'a [ProgramRow], i: usize, row: &ProgramRow| {
        let same = |r: &&ProgramRow| (&r.name, r.bytes, r.ranks) == (&row.name, row.bytes, row.ranks);
        rows.get(i).filter(same).or_else(|| rows.iter().find(same))
    };
    let line = |(i, row)| Line {
        row,
        estimates: k.estimates.iter().filter_map(|e| like(&e.rows, i, row)).collect(),
        simulated: like(simulated, i, row),
    };
    all.iter().enumerate().map(line).collect()
}

fn megabytes(row: &ProgramRow) -> String {
    row.rate.filter(|r| *r > 0.0).map_or("-".into(), |r| digits(r / 1e6))
}

fn tight(row: &ProgramRow) -> Option<f64> {
    row.interval.and_then(|i| i.half.map(|h| h / i.mean)).filter(|r| *r >= 5e-5)
}

/// Rows with sizes as tables, one for each name; others in a line each.
fn rows(out: &mut String, k: &Known, paint: Paint) {
    let lines = lines(k);
    let tables = lines.chunk_by(|a, b| {
        (&a.row.name, a.row.ranks, a.row.bytes.is_some()) == (&b.row.name, b.row.ranks, b.row.bytes.is_some())
    });
    for block in tables {
        match block[0].row.bytes {
            Some(_) => table(out, block, paint),
            None => block.iter().for_each(|l| alone(out, l, paint)),
        }
    }
}

/// `cg.C iteration  265.1 ms estimated, 278.9 ms ± 0.1 % simulated (+5.2 %), 75 times`.
fn alone(out: &mut String, line: &Line, paint: Paint) {
    let rate = |r: &ProgramRow| if r.rate.is_some() { format!(", {} MB/s", megabytes(r)) } else { String::new() };
    let mut said = Vec::new();
    if let Some(e) = line.estimates.first() {
        let all: Vec<f64> = line.estimates.iter().map(|e| e.t_max).collect();
        let time = human_time(e.t_max);
        said.push(format!("{}{time}{} estimated{}{}", paint.strong, paint.off, spread(&all), rate(e)));
    }
    if let Some(s) = line.simulated {
        let near = tight(s).map_or(String::new(), |t| format!(" ± {:.2} %", 100.0 * t));
        let off =
            line.estimates.first().and_then(|e| off(s.t_max, e.t_max)).map_or(String::new(), |o| format!(" ({o})"));
        let time = human_time(s.t_max);
        said.push(format!("{}{time}{}{near} simulated{off}{}", paint.strong, paint.off, rate(s)));
    }
    let n = line.row.repetitions;
    let times = if n == 1 { String::new() } else { format!(", {n} times") };
    let _ = writeln!(out, "  {}  {}{times}", line.row.name, said.join("; "));
}

/// What the numbers of an instrument are.
fn counts(name: &str, rates: bool) -> String {
    let half = matches!(name, "osu_latency" | "osu_multi_lat") || name.starts_with("PingPong");
    let times = if half { "times are half a round trip" } else { "times are a repetition's on the slowest rank" };
    let way = match name {
        "Sendrecv" | "Exchange" | "Biband" | "osu_bibw" => ", what goes out and what comes in",
        "Uniband" | "osu_bw" | "osu_mbw_mr" | "PingPing" => ", one way",
        _ if half => ", one way",
        _ => ", as the program counts them",
    };
    if rates { format!("{times}; MB/s are 10^6 bytes/s{way}") } else { times.into() }
}

/// The rows of one name.
fn table(out: &mut String, block: &[Line], paint: Paint) {
    let any = |has: &dyn Fn(&Line) -> bool| block.iter().any(has);
    let row = block[0].row;
    let estimated = any(&|l| !l.estimates.is_empty());
    let simulated = any(&|l| l.simulated.is_some());
    let rates = any(&|l| l.row.rate.is_some());
    let messages = any(&|l| l.row.messages_per_second.is_some());
    let mut heads = vec!["bytes", "repetitions"];
    for (there, head) in [(estimated, "estimated"), (simulated, "simulated")] {
        if there {
            heads.push(head);
            heads.push(if head == "estimated" { "" } else { "±" });
            heads.extend(rates.then_some("MB/s"));
            heads.extend(messages.then_some("messages/s"));
        }
    }
    heads.extend((estimated && simulated).then_some("off"));
    let per_second = |r: &ProgramRow| r.messages_per_second.map_or("-".into(), digits);
    let cells: Vec<Vec<String>> = (block.iter())
        .map(|l| {
            let mut cells =
                vec![l.row.bytes.map_or(String::new(), |b| Bytes(b).to_string()), l.row.repetitions.to_string()];
            let mut method = |row: Option<&ProgramRow>, near: String| {
                cells.push(row.map_or("-".into(), |r| human_time(r.t_max)));
                cells.push(near);
                if rates {
                    cells.push(row.map_or("-".into(), megabytes));
                }
                if messages {
                    cells.push(row.map_or("-".into(), per_second));
                }
            };
            if estimated {
                let all: Vec<f64> = l.estimates.iter().map(|e| e.t_max).collect();
                method(l.estimates.first().copied(), spread(&all).trim_start().to_owned());
            }
            if simulated {
                let near = l.simulated.and_then(tight);
                method(l.simulated, near.map_or(String::new(), |t| format!("± {:.2} %", 100.0 * t)));
            }
            if estimated && simulated {
                let both = l.simulated.zip(l.estimates.first());
                cells.push(both.and_then(|(s, e)| off(s.t_max, e.t_max)).unwrap_or_else(|| "-".into()));
            }
            cells
        })
        .collect();
    let length = |text: &str| text.chars().count();
    // A column that says nothing is left out.
    let used: Vec<usize> = (0..heads.len()).filter(|&c| cells.iter().any(|row| !row[c].is_empty())).collect();
    let widths: Vec<usize> =
        (0..heads.len()).map(|c| cells.iter().map(|row| length(&row[c])).fold(length(heads[c]), usize::max)).collect();
    let _ = writeln!(out, "  {}, {} ranks; {}", row.name, row.ranks, counts(&row.name, rates));
    let mut put = |row: &[&str], before: &str| {
        let mut line = String::new();
        for &c in &used {
            // Beside a time stands how sure it is, to the left; all else stands to the right.
            let (text, beside) = (row[c], heads[c].is_empty() || heads[c] == "±");
            let pad = " ".repeat(widths[c].saturating_sub(length(text)));
            match beside {
                true => line += &format!(" {text}{pad}"),
                false => line += &format!("{}{pad}{text}", " ".repeat(GAP)),
            }
        }
        let _ = writeln!(out, "{before}{}{}", line.trim_end(), if before.is_empty() { "" } else { paint.off });
    };
    put(&heads.iter().map(|h| if *h == "±" { "" } else { h }).collect::<Vec<_>>(), paint.faint);
    cells.iter().for_each(|row| put(&row.iter().map(String::as_str).collect::<Vec<_>>(), ""));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Interval;

    fn row(bytes: Option<u64>, us: f64, simulated: u64) -> ProgramRow {
        let (name, t) = ("PingPong".into(), us / 1e6);
        let rate = bytes.map(|b| b as f64 / t);
        ProgramRow {
            name,
            bytes,
            ranks: 2,
            repetitions: 10,
            simulated,
            t_min: t,
            t_max: t,
            t_avg: t,
            rate,
            ..ProgramRow::default()
        }
    }

    fn program(rows: Vec<ProgramRow>, time: f64) -> ProgramReport {
        ProgramReport { rows, time, ranks: 2, ..ProgramReport::default() }
    }

    #[test]
    fn a_range_is_left_out_where_its_ends_are_one() {
        assert_eq!(spread(&[1e-6, 1e-6, 1.0004e-6]), "");
        assert_eq!(spread(&[1e-6, 2e-6, 0.5e-6]), " (500 ns … 2 us)");
        assert_eq!((off(0.9999999, 1.0).as_deref(), off(1.0, 0.0)), (Some("+0.0 %"), None));
    }

    #[test]
    fn a_range_of_other_numbers_of_repetitions_says_so() {
        let of = |time: f64, n: u64| program(vec![row(Some(8), 1.0, n), row(Some(16), 1.0, 4)], time);
        assert_eq!(corners(&[of(2e-6, 6), of(3e-6, 6), of(1e-6, 6)]), " (1 us … 3 us)");
        let apart = [of(2e-6, 6), of(30e-6, 90), of(1e-6, 3)];
        assert_eq!(corners(&apart), " (1 us … 30 us, of 7 to 94 repetitions)");
        assert_eq!((repeated(&apart[0]), corners(&apart[..1])), (" for 10 repetitions".into(), String::new()));
    }

    #[test]
    fn rows_stand_beside_their_likes() {
        // 1000 B in 2 us are 500 MB/s, in 2.5 us 400: 25 % later.
        let estimate = [row(Some(0), 1.0, 10), row(Some(1000), 2.0, 10)].to_vec();
        let mut simulated = [row(Some(1000), 2.5, 10)];
        simulated[0].interval = Some(Interval { mean: 2.5e-6, half: Some(2.5e-8) });
        let lines: Vec<Line> = estimate
            .iter()
            .map(|r| Line { row: r, estimates: vec![r], simulated: simulated.iter().find(|s| s.bytes == r.bytes) })
            .collect();
        let mut out = String::new();
        table(&mut out, &lines, Paint::default());
        let text: Vec<&str> = out.lines().collect();
        assert_eq!(text[0], "  PingPong, 2 ranks; times are half a round trip; MB/s are 10^6 bytes/s, one way");
        let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>().join(" ");
        assert_eq!(words(text[1]), "bytes repetitions estimated MB/s simulated MB/s off");
        assert_eq!(words(text[2]), "0 B 10 1 us - - - -");
        assert_eq!(words(text[3]), "1000 B 10 2 us 500 2.5 us ± 1.00 % 400 +25.0 %");
    }

    #[test]
    fn a_program_that_was_cut_short_has_no_deviation() {
        assert!(cut(&program(vec![row(None, 1.0, 9)], 1.0)) && !cut(&program(vec![row(None, 1.0, 10)], 1.0)));
    }
}
