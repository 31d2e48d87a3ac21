//! Curves: some number over some other, one line with markers per series, drawn by ourselves as SVG.
//!
//! Ticks are round numbers, or powers of two. What cannot be drawn (a value that is not finite, a zero on a logarithmic
//! axis) is left out.

use super::svg::{CLOSE, Pen, Px, escape, open, put, shorten};

/// One curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its points, joined in this order.
    pub points: Vec<(f64, f64)>,
}

/// A picture of curves over one pair of axes.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// One line above it.
    pub title: &'a str,
    /// What the horizontal axis is, with its unit.
    pub x: &'a str,
    /// What the vertical axis is, with its unit.
    pub y: &'a str,
    /// Whether the horizontal axis is logarithmic, with ticks at powers of two.
    pub log_x: bool,
    /// Whether horizontal values are bytes, so that ticks read 64 B, 1 KiB, and so on.
    pub x_unit_bytes: bool,
    /// The curves.
    pub series: &'a [Series],
}

/// Sheet in pixels.
const SHEET: (f64, f64) = (900.0, 500.0);
/// Values beyond this are not drawn; within it no difference or product below overflows.
const MOST: f64 = 1e150;
/// More points than this in a series go without markers.
const MARKED: usize = 80;
/// More series than this are not named in the legend.
const NAMED: usize = 24;
/// Spaces between the ticks of a logarithmic axis, at most.
const TICKS: f64 = 14.0;

/// Okabe and Ito's colours: eight that also those tell apart who do not see all of them. Yellow goes last and darker,
/// for lines on white.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#404040", "#b4a014"];
const INK: &str = "#1f2933";
const SOFT: &str = "#5f6c7b";
const GRID: &str = "#e4e8ed";

/// An axis with its ticks; linear, or by powers of two.
#[derive(Clone)]
struct Axis {
    low: f64,
    high: f64,
    log: bool,
    bytes: bool,
    ticks: Vec<f64>,
}

impl Axis {
    fn at(&self, v: f64) -> f64 {
        if self.log { v.log2() } else { v }
    }

    /// From 0 (or below, where values are) with headroom.
    fn upright(low: f64, high: f64) -> Axis {
        let (low, mut high) = (low.min(0.0), high.max(0.0));
        if high - low < 1e-150 {
            high = 1.0;
        }
        let step = round_step((high - low) / 6.5);
        let ceiling = high + (high - low) * 0.06;
        let bottom = if low < 0.0 { low - (high - low) * 0.04 } else { 0.0 };
        Axis { low: bottom, high: ceiling, log: false, bytes: false, ticks: multiples(bottom, ceiling, step) }
    }

    fn along(low: f64, high: f64, bytes: bool) -> Axis {
        let least = (low.abs().max(high.abs()) * 1e-9).max(1e-150);
        let (low, high) = if high - low > least {
            (low, high)
        } else {
            (low - low.abs().max(1.0) / 2.0, high + high.abs().max(1.0) / 2.0)
        };
        let wanted = (high - low) / 7.0;
        let step = if bytes { wanted.log2().ceil().exp2().max(1.0) } else { round_step(wanted) };
        let air = (high - low) * 0.03;
        Axis { low: low - air, high: high + air, log: false, bytes, ticks: multiples(low, high, step) }
    }

    /// Both above 0.
    fn logarithmic(low: f64, high: f64, bytes: bool) -> Axis {
        let (mut low, mut high) = (low.log2(), high.log2());
        if high - low < 1.0 {
            (low, high) = (low - 1.0, high + 1.0);
        }
        let (first, last) = (low.ceil(), high.floor());
        let step = ((last - first) / TICKS).ceil().max(1.0);
        let ticks = multiples(first, last, step).into_iter().map(f64::exp2).collect();
        let air = (high - low) * 0.03;
        Axis { low: (low - air).exp2(), high: (high + air).exp2(), log: true, bytes, ticks }
    }

    /// Where on the axis a value is, from 0 to 1.
    fn share(&self, v: f64) -> f64 {
        let (low, high) = (self.at(self.low), self.at(self.high));
        ((self.at(v) - low) / (high - low)).clamp(0.0, 1.0)
    }

    fn label(&self, v: f64) -> String {
        if self.bytes { bytes(v) } else { number(v) }
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`, which is above 0.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|s| *s >= least * (1.0 - 1e-9)).unwrap_or(power * 10.0)
}

/// The multiples of a step in a range. Counted, never added up, so that the end is reached whatever the numbers are.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
    let n = (last - first).clamp(-1.0, 40.0);
    // Adding 0 turns -0 into 0.
    (0..=n as i64).filter(|_| n >= 0.0).map(|i| (first + i as f64) * step + 0.0).collect()
}

/// A tick's number: plain where that is short.
fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if (1e-4..1e7).contains(&a) => {
            let places = (5 - a.log10().floor() as i32).clamp(0, 9) as usize;
            let text = format!("{v:.places$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
        _ => {
            let text = format!("{v:.3e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
            format!("{digits}e{power}")
        }
    }
}

/// 64 B, 1.5 KiB, 4 MiB.
fn bytes(v: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let step = units.iter().enumerate().rev().find(|(i, _)| v.abs() >= 1024f64.powi(*i as i32));
    let (i, unit) = step.unwrap_or((0, &"B"));
    format!("{} {unit}", number(v / 1024f64.powi(i as i32)))
}

/// The path of one series' marker about a place: another shape each time the colours begin again.
fn mark(out: &mut String, i: usize, (x, y): (f64, f64)) {
    let colour = COLOURS[i % COLOURS.len()];
    match (i / COLOURS.len()) % 3 {
        0 => put!(out, "<circle cx=\"{}\" cy=\"{}\" r=\"3.5\" fill=\"{colour}\"/>\n", Px(x), Px(y)),
        1 => put!(out, "<path d=\"M{} {}l-4.6 -8h9.2z\" fill=\"{colour}\"/>\n", Px(x), Px(y + 4.5)),
        _ => put!(
            out,
            "<path d=\"M{} {}l8 8m0 -8l-8 8\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
            Px(x - 4.0),
            Px(y - 4.0)
        ),
    }
}

/// The field of a chart, and the axes along it.
struct Field {
    left: f64,
    right: f64,
    top: f64,
    foot: f64,
    across: Axis,
    upward: Axis,
}

impl Field {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let x = self.left + self.across.share(x) * (self.right - self.left);
        (x, self.foot - self.upward.share(y) * (self.foot - self.top))
    }

    /// Rules, ticks with their labels, and what the axes are.
    fn draw(&self, out: &mut String, x: &str, y: &str) {
        let Field { left, right, top, foot, .. } = *self;
        for t in &self.upward.ticks {
            let at = self.place((self.across.low, *t)).1;
            put!(out, "<path d=\"M{} {}H{}\" stroke=\"{GRID}\"/>\n", Px(left - 5.0), Px(at), Px(right));
            Pen::new(11.5, SOFT).end().write(out, left - 9.0, at + 4.0, &self.upward.label(*t));
        }
        for t in &self.across.ticks {
            let at = self.place((*t, self.upward.low)).0;
            put!(out, "<path d=\"M{} {}V{}\" stroke=\"{GRID}\"/>\n", Px(at), Px(top), Px(foot + 5.0));
            Pen::new(11.5, SOFT).middle().write(out, at, foot + 20.0, &self.across.label(*t));
        }
        put!(
            out,
            "<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"{SOFT}\"/>\n",
            Px(left),
            Px(top),
            Px(foot),
            Px(right)
        );
        Pen::new(13.0, INK).middle().write(out, (left + right) / 2.0, foot + 42.0, &shorten(x, 90));
        let middle = (top + foot) / 2.0;
        put!(
            out,
            "<text transform=\"translate(28 {}) rotate(-90)\" font-size=\"13\" fill=\"{INK}\" \
                text-anchor=\"middle\">{}</text>\n",
            Px(middle),
            escape(&shorten(y, 55))
        );
    }
}

impl Chart<'_> {
    /// Draws it. Any input gives a picture; without a point that can be drawn, it says so.
    pub fn svg(&self) -> String {
        let title = if self.title.trim().is_empty() { "Chart" } else { self.title };
        let mut out = open(SHEET, SHEET, &format!("{title}: {} over {}", self.y, self.x));
        self.draw(&mut out);
        out + CLOSE
    }

    /// The points of each series that can be drawn.
    fn points(&self) -> Vec<Vec<(f64, f64)>> {
        let fits = |v: f64| v.abs() <= MOST;
        let can = |(x, y): &(f64, f64)| fits(*x) && fits(*y) && (!self.log_x || *x >= 1.0 / MOST);
        self.series.iter().map(|s| s.points.iter().copied().filter(can).collect()).collect()
    }

    fn draw(&self, out: &mut String) {
        let points = self.points();
        Pen::new(18.0, INK).bold().write(out, 24.0, 36.0, &shorten(self.title, 80));
        let top = self.legend(out, &points);
        let all = || points.iter().flatten();
        let fold = |get: fn(&(f64, f64)) -> f64| {
            all().map(get).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)))
        };
        let empty = all().next().is_none();
        let ((left, right), (low, high)) =
            if empty { ((1.0, 2.0), (0.0, 1.0)) } else { (fold(|p| p.0), fold(|p| p.1)) };
        let across = if self.log_x {
            Axis::logarithmic(left, right, self.x_unit_bytes)
        } else {
            Axis::along(left, right, self.x_unit_bytes)
        };
        let upward = Axis::upright(low, high);
        let widest = upward.ticks.iter().map(|t| upward.label(*t).chars().count()).max().unwrap_or(1) as f64;
        // A tall legend leaves the field some room all the same.
        let (left, foot) = (50.0 + 7.0 * widest, SHEET.1 - 60.0);
        let field = Field { left, right: SHEET.0 - 32.0, top: top.min(foot - 80.0), foot, across, upward };
        field.draw(out, self.x, self.y);
        for (i, points) in points.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let places: Vec<(f64, f64)> = points.iter().map(|p| field.place(*p)).collect();
            if let [first, rest @ ..] = places.as_slice() {
                put!(out, "<path d=\"M{} {}", Px(first.0), Px(first.1));
                rest.iter().for_each(|(x, y)| put!(out, "L{} {}", Px(*x), Px(*y)));
                put!(out, "\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n");
            }
            if points.len() <= MARKED {
                places.iter().for_each(|at| mark(out, i, *at));
            }
        }
        if empty {
            Pen::new(14.0, SOFT).middle().write(out, SHEET.0 / 2.0, SHEET.1 / 2.0, "nothing to draw");
        }
    }

    /// Names of the series in rows below the title, where no curve can run through them. Returns where the field may
    /// begin.
    fn legend(&self, out: &mut String, points: &[Vec<(f64, f64)>]) -> f64 {
        let (mut x, mut y) = (24.0, 60.0);
        let pen = Pen::new(12.0, INK);
        for (i, series) in self.series.iter().enumerate().take(NAMED) {
            let mut name = shorten(&series.name, 40);
            if points[i].is_empty() {
                name += " (no points)";
            }
            let wide = 34.0 + name.chars().count() as f64 * 7.0 + 20.0;
            if x > 24.0 && x + wide > SHEET.0 - 24.0 {
                (x, y) = (24.0, y + 19.0);
            }
            let colour = COLOURS[i % COLOURS.len()];
            put!(out, "<path d=\"M{} {}h26\" stroke=\"{colour}\" stroke-width=\"2\"/>\n", Px(x), Px(y));
            mark(out, i, (x + 13.0, y));
            pen.write(out, x + 34.0, y + 4.0, &name);
            x += wide;
        }
        if self.series.len() > NAMED {
            (x, y) = if x + 120.0 > SHEET.0 { (24.0, y + 19.0) } else { (x, y) };
            pen.write(out, x, y + 4.0, &format!("and {} more", self.series.len() - NAMED));
        }
        if self.series.is_empty() { y - 6.0 } else { y + 20.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::svg::tests::well_formed;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn chart(series: &[Series], log_x: bool, x_unit_bytes: bool) -> String {
        Chart { title: "Writes & \"reads\" <both>", x: "size", y: "Gb/s", log_x, x_unit_bytes, series }.svg()
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.into(), points: points.to_vec() }
    }

    #[test]
    fn ticks_of_sizes_are_powers_of_two() {
        let points: Vec<(f64, f64)> = (6..=20).map(|i| (2f64.powi(i), f64::from(i))).collect();
        let svg = chart(&[series("write", &points)], true, true);
        well_formed(&svg);
        for text in [
            ">64 B<",
            ">1 KiB<",
            ">1 MiB<",
            ">write<",
            ">Gb/s<",
            ">size<",
            ">Writes &amp; &quot;reads&quot; &lt;both&gt;<",
        ] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 16, "one for each point, one in the legend");
    }

    #[test]
    fn the_vertical_axis_begins_at_zero_and_leaves_room() {
        let axis = Axis::upright(13.0, 28.7);
        assert!(axis.low == 0.0 && axis.high > 28.7);
        assert_eq!(axis.ticks, [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
        assert!(Axis::upright(-3.0, 5.0).low < -3.0);
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let odd = [(f64::NAN, 1.0), (1.0, f64::INFINITY), (0.0, 3.0), (-4.0, 3.0), (8.0, 2.0)];
        let svg = chart(&[series("odd", &odd), series("none", &[])], true, false);
        well_formed(&svg);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("none (no points)"));
        assert!(chart(&[], false, false).contains("nothing to draw"));
    }

    #[test]
    fn single_points_and_equal_values_have_axes() {
        for (log, bytes) in [(false, false), (false, true), (true, false), (true, true)] {
            for points in [vec![(512.0, 7.0)], vec![(0.0, 0.0)], vec![(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]] {
                let svg = chart(&[series("s", &points)], log, bytes);
                well_formed(&svg);
                assert!(svg.matches("<text").count() > 4, "{log} {bytes} {points:?}");
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 2.5, 1e6, 1e7, 0.25, 2e-7, -40.0].map(number),
            ["0", "2.5", "1000000", "1e7", "0.25", "2e-7", "-40"]
        );
        assert_eq!([64.0, 1024.0, 1536.0, 4194304.0, 0.5].map(bytes), ["64 B", "1 KiB", "1.5 KiB", "4 MiB", "0.5 B"]);
    }

    proptest! {
        #[test]
        fn any_input_gives_a_picture(
            names in proptest::collection::vec(".{0,60}", 0..30),
            points in vec(vec((proptest::num::f64::ANY, proptest::num::f64::ANY), 0..5), 30),
            near in proptest::collection::vec((0.0f64..1e6, -10.0f64..1e6), 0..5),
            (log, bytes) in (any::<bool>(), any::<bool>()),
        ) {
            let pairs = names.iter().zip(points);
            let mut all: Vec<Series> = pairs.map(|(n, points)| Series { name: n.clone(), points }).collect();
            all.push(Series { name: "near".into(), points: near });
            let title = names.first().map_or("", |n| n.as_str());
            for series in [all.as_slice(), &all[all.len() - 1..]] {
                let svg = Chart { title, x: title, y: title, log_x: log, x_unit_bytes: bytes, series }.svg();
                well_formed(&svg);
                prop_assert!(svg.len() < 100_000);
            }
        }
    }
}
