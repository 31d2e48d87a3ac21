//! Curves: some number over some other, one line with markers per series, drawn with plotters.
//!
//! The axes are ours: plotters' own search for round numbers does not end, or asserts, for some ranges. What cannot be
//! drawn (a value that is not finite, a zero on a logarithmic axis) is left out. All is drawn at four times its size,
//! because plotters places things on whole pixels.

use super::svg::{CLOSE, allowed, open, shorten};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Write;
use std::ops::Range;

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
const SHEET: (i32, i32) = (900, 500);
/// Steps of plotters per pixel.
const FINE: i32 = 4;
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
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(64, 64, 64),
    RGBColor(180, 160, 20),
];
const INK: RGBColor = RGBColor(31, 41, 51);
const SOFT: RGBColor = RGBColor(95, 108, 123);
const GRID: RGBColor = RGBColor(228, 232, 237);

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

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, v: &f64, limit: (i32, i32)) -> i32 {
        let (low, high) = (self.at(self.low), self.at(self.high));
        let share = ((self.at(*v) - low) / (high - low)).clamp(0.0, 1.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Asked once for the grid with labels, and once for finer lines, which there are none of.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, v: &f64) -> String {
        self.label(*v)
    }
}

/// A text that XML can hold; plotters escapes it.
fn clean(text: &str, most: usize) -> String {
    shorten(text, most).chars().map(allowed).collect()
}

/// plotters' font size for one of so many pixels.
fn font(pixels: f64, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", pixels * 1.24 * f64::from(FINE)).into_font().color(&colour)
}

/// A length of so many pixels in plotters' steps.
fn px(pixels: i32) -> i32 {
    pixels * FINE
}

/// Runs a body with one series' markers at some places: another shape each time the colours begin again. (The shapes
/// differ in type.)
macro_rules! mark {
    ($i:expr, $places:expr, $shapes:ident => $body:expr) => {{
        let colour = COLOURS[$i % COLOURS.len()];
        match ($i / COLOURS.len()) % 3 {
            0 => {
                let $shapes = $places.map(|at| Circle::new(at, px(7) / 2, colour.filled()));
                $body;
            }
            1 => {
                let $shapes = $places.map(|at| TriangleMarker::new(at, px(5), colour.filled()));
                $body;
            }
            _ => {
                let $shapes = $places.map(|at| Cross::new(at, px(4), colour.stroke_width(2 * FINE as u32)));
                $body;
            }
        }
    }};
}

impl Chart<'_> {
    /// Draws it. Any input gives a picture; without a point that can be drawn, it says so.
    pub fn svg(&self) -> String {
        let mut drawn = String::new();
        let title = if self.title.trim().is_empty() { "Chart" } else { self.title };
        let head = open(
            (f64::from(SHEET.0), f64::from(SHEET.1)),
            (f64::from(px(SHEET.0)), f64::from(px(SHEET.1))),
            &format!("{title}: {} over {}", self.y, self.x),
        );
        // A String takes everything, so drawing fails only where plotters has a bug; then the sheet stays empty.
        if self.draw(&mut drawn).is_err() {
            return head + CLOSE;
        }
        // plotters writes a head without title or role: ours takes its place.
        let body = drawn.split_once('>').map_or("", |b| b.1);
        head + body.trim_start()
    }

    /// The points of each series that can be drawn.
    fn points(&self) -> Vec<Vec<(f64, f64)>> {
        let fits = |v: f64| v.abs() <= MOST;
        let can = |(x, y): &(f64, f64)| fits(*x) && fits(*y) && (!self.log_x || *x >= 1.0 / MOST);
        self.series.iter().map(|s| s.points.iter().copied().filter(can).collect()).collect()
    }

    fn draw(&self, out: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let points = self.points();
        let root = SVGBackend::with_string(out, (px(SHEET.0) as u32, px(SHEET.1) as u32)).into_drawing_area();
        let bold = TextStyle { font: font(18.0, INK).font.style(FontStyle::Bold), ..font(18.0, INK) };
        root.draw(&Text::new(clean(self.title, 80), (px(24), px(20)), bold))?;
        let top = self.legend(&root, &points)?;

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
        let widest = upward.ticks.iter().map(|t| upward.label(*t).chars().count()).max().unwrap_or(1) as i32;

        let mut chart = ChartBuilder::on(&root)
            .margin_left(px(16))
            .margin_right(px(32))
            .margin_top(px(top))
            .margin_bottom(px(12))
            .x_label_area_size(px(48))
            .y_label_area_size(px(34 + 7 * widest))
            .build_cartesian_2d(across, upward)?;
        let axis = SOFT.stroke_width(FINE as u32);
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(FINE as u32))
            .axis_style(axis)
            .set_all_tick_mark_size(px(5))
            .label_style(font(11.5, SOFT))
            .axis_desc_style(font(13.0, INK))
            .x_desc(clean(self.x, 90))
            .y_desc(clean(self.y, 55))
            .draw()?;
        for (i, points) in points.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2 * FINE as u32)))?;
            if points.len() <= MARKED {
                mark!(i, points.iter().copied(), shapes => chart.draw_series(shapes)?);
            }
        }
        if empty {
            let middle = font(14.0, SOFT).pos(Pos::new(HPos::Center, VPos::Center));
            root.draw(&Text::new("nothing to draw", (px(SHEET.0 / 2), px(SHEET.1 / 2)), middle))?;
        }
        root.present()?;
        Ok(())
    }

    /// Names of the series in rows below the title, where no curve can run through them. Returns where the field may
    /// begin.
    fn legend(
        &self,
        root: &DrawingArea<SVGBackend, plotters::coord::Shift>,
        points: &[Vec<(f64, f64)>],
    ) -> Result<i32, Box<dyn std::error::Error>> {
        let (mut x, mut y) = (24, 60);
        let style = font(12.0, INK).pos(Pos::new(HPos::Left, VPos::Center));
        for (i, series) in self.series.iter().enumerate().take(NAMED) {
            let mut name = clean(&series.name, 40);
            if points[i].is_empty() {
                let _ = write!(name, " (no points)");
            }
            let wide = 34 + name.chars().count() as i32 * 7 + 20;
            if x > 24 && x + wide > SHEET.0 - 24 {
                (x, y) = (24, y + 19);
            }
            let colour = COLOURS[i % COLOURS.len()];
            root.draw(&PathElement::new([(px(x), px(y)), (px(x + 26), px(y))], colour.stroke_width(2 * FINE as u32)))?;
            mark!(i, std::iter::once((px(x + 13), px(y))), shapes => for shape in shapes { root.draw(&shape)? });
            root.draw(&Text::new(name, (px(x + 34), px(y)), style.clone()))?;
            x += wide;
        }
        if self.series.len() > NAMED {
            (x, y) = if x + 120 > SHEET.0 { (24, y + 19) } else { (x, y) };
            root.draw(&Text::new(format!("and {} more", self.series.len() - NAMED), (px(x), px(y)), style))?;
        }
        Ok(if self.series.is_empty() { y - 6 } else { y + 20 })
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
            "64 B\n",
            "1 KiB\n",
            "1 MiB\n",
            "write\n",
            "Gb/s\n",
            "size\n",
            "Writes &amp; &quot;reads&quot; &lt;both&gt;\n",
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
