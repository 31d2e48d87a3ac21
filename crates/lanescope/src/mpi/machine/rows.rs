//! What sections took, and when a section has been repeated often enough.
//!
//! The lowest rank of a section looks at the times of its own repetitions, without the first. After three of them it
//! calls them steady when the last three differ by no more than the tolerance, or the last three pairs (long and short
//! often take turns), or when Student's interval of their mean is no wider. Then every rank ends with the repetition
//! that the furthest of them has begun, so all make the same number, as they would have done.

use super::NONE;
use crate::mpi::op::{Body, Job, Step};
use crate::tools::student;

/// What a rank measured in one section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Repetitions made; 0: the rank does not take part.
    pub runs: u64,
    /// Time of all of them, femtoseconds.
    pub time: u64,
    /// Time of the first.
    pub first: u64,
    /// How often the section was entered: later ones make as many repetitions as the first.
    entered: u32,
}

impl Row {
    /// Mean time of a repetition in femtoseconds, if there were `times` of them: those that were left out took as long
    /// as those after the first.
    pub(crate) fn mean(&self, times: u64) -> f64 {
        if self.runs == 0 {
            return 0.0;
        }
        let (runs, time, first) = (self.runs as f64, self.time as f64, self.first as f64);
        if self.runs == 1 || times <= self.runs {
            return time / runs;
        }
        let times = times as f64;
        (first + (time - first) / (runs - 1.0) * (times - 1.0)) / times
    }
}

/// Times of repetitions, as the deciding rank sees them.
#[derive(Clone, Copy, Debug, Default)]
struct RepetitionTimes {
    count: u64,
    mean: f64,
    squares: f64,
    /// The latest last.
    last: [f64; 6],
}

impl RepetitionTimes {
    fn add(&mut self, time: f64) {
        self.count += 1;
        let off = time - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (time - self.mean);
        self.last.rotate_left(1);
        self.last[5] = time;
    }

    /// Half of the 95 % interval of the mean.
    fn half(&self) -> f64 {
        let freedom = self.count as f64 - 1.0;
        if freedom < 1.0 {
            return f64::INFINITY;
        }
        student(freedom) * (self.squares.max(0.0) / freedom / self.count as f64).sqrt()
    }

    fn steady(&self, tolerance: f64) -> bool {
        let alike = |values: [f64; 3]| {
            let (low, high) = values.iter().fold((f64::INFINITY, 0f64), |(l, h), &t| (l.min(t), h.max(t)));
            high - low <= tolerance * high
        };
        let [a, b, c, d, e, f] = self.last;
        self.count >= 3
            && (alike([d, e, f])
                || self.count >= 6 && alike([a + b, c + d, e + f])
                || self.half() <= tolerance * self.mean)
    }
}

#[derive(Clone, Debug)]
struct Section {
    rows: Vec<Row>,
    /// The rank that decides.
    decides: u32,
    /// No rank makes more repetitions.
    limit: u64,
    /// The most that any rank has begun.
    begun: u64,
    repetitions: RepetitionTimes,
}

#[derive(Clone, Debug)]
pub(super) struct Rows {
    sections: Vec<Section>,
    ranks: usize,
    steady: Option<f64>,
}

impl Rows {
    pub(super) fn new(job: &Job, steady: Option<f64>) -> Rows {
        let fresh = |_: &_| Section {
            rows: Vec::new(),
            decides: NONE,
            limit: u64::MAX,
            begun: 0,
            repetitions: RepetitionTimes::default(),
        };
        let mut sections: Vec<Section> = job.sections.iter().map(fresh).collect();
        let mut before: Option<&Body> = None;
        for (r, body) in job.bodies.iter().enumerate() {
            // Neighbours often share a body, and the lowest rank is what counts.
            if before.is_some_and(|b| std::ptr::eq(b, &**body)) {
                continue;
            }
            before = Some(body);
            if let Body::Steps(steps) = &**body {
                name(steps, r as u32, &mut sections);
            }
        }
        Rows { sections, ranks: job.bodies.len(), steady: steady.filter(|s| *s > 0.0) }
    }

    pub(super) fn len(&self) -> usize {
        self.sections.len()
    }

    pub(super) fn of(&self, section: u32) -> &[Row] {
        self.sections.get(section as usize).map_or(&[], |s| &s.rows)
    }

    pub(super) fn half(&self, section: u32) -> Option<f64> {
        let s = self.sections.get(section as usize)?;
        (s.limit != u64::MAX).then(|| s.repetitions.half()).filter(|h| h.is_finite())
    }

    /// A rank comes to a section; false: there is none of this number.
    pub(super) fn enter(&mut self, section: u32, rank: u32) -> bool {
        let Some(s) = self.sections.get_mut(section as usize) else { return false };
        if s.rows.is_empty() {
            s.rows = vec![Row::default(); self.ranks];
        }
        s.rows[rank as usize].entered += 1;
        true
    }

    /// Whether a rank begins repetition `i` (from 0) of a section.
    pub(super) fn begins(&mut self, section: u32, rank: u32, i: u64) -> bool {
        let s = &mut self.sections[section as usize];
        let begins = i < s.limit;
        if begins && s.rows[rank as usize].entered == 1 {
            s.begun = s.begun.max(i + 1);
        }
        begins
    }

    /// A rank has made a repetition.
    pub(super) fn ended(&mut self, section: u32, rank: u32, time: u64) {
        let s = &mut self.sections[section as usize];
        let row = &mut s.rows[rank as usize];
        row.runs += 1;
        row.time = row.time.saturating_add(time);
        if row.runs == 1 {
            row.first = time;
        } else if let Some(tolerance) = self.steady
            && (rank, row.entered) == (s.decides, 1)
            && s.limit == u64::MAX
        {
            s.repetitions.add(time as f64);
            if s.repetitions.steady(tolerance) {
                s.limit = s.begun;
            }
        }
    }
}

/// Notes the lowest rank of each section.
fn name(steps: &[Step], rank: u32, sections: &mut [Section]) {
    for step in steps {
        match step {
            Step::Do(_) => {}
            Step::Repeat { body, .. } | Step::Untimed(body) => name(body, rank, sections),
            Step::Timed { section, body, .. } => {
                if let Some(s) = sections.get_mut(*section as usize) {
                    s.decides = s.decides.min(rank);
                }
                name(body, rank, sections);
            }
        }
    }
}
