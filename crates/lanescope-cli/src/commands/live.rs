//! `--live`: six statistics of a test under way as bars, like Iometer's results display, with keys to change what they
//! show.
//!
//! [`View`] is what is shown and what a key does, without a terminal; [`Live`] puts it on one, and lets the simulation
//! go on between two looks. The time between updates is that of the person who looks on, not the simulated one.

use super::instrument::Watched;
use lanescope::diagnostic::Diagnostics;
use lanescope::import::iometer::{CHARTS, IometerTest, Setup, Statistic};
use lanescope::pens::iometer::{Counted, Who, full_scale};
use lanescope::plan::Plan;
use lanescope::result::IoSeen;
use lanescope::sim::{Run, Step};
use lanescope::units::human_time;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::{DefaultTerminal, Frame};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Events between two looks at the keyboard: some milliseconds.
const PIECE: u64 = 1 << 16;
/// Times between updates that a key steps through.
const EVERY: [Duration; 9] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
];

/// What a person asks for with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Nothing but another picture.
    Nothing,
    /// The test is to end, and the next to begin.
    Next,
    /// No more tests.
    Stop,
}

/// One bar.
#[derive(Clone, Debug)]
struct Bar {
    statistic: Statistic,
    /// Whose, by place in [`View::whom`].
    who: usize,
    value: Option<f64>,
    /// The largest value since it shows this: its scale follows.
    most: f64,
}

/// The display.
#[derive(Clone, Debug)]
pub(crate) struct View {
    bars: [Bar; CHARTS],
    chosen: usize,
    /// Everyone whose numbers can be shown, and what they are called.
    whom: Vec<(Who, String)>,
    since_last: bool,
    every: Duration,
    paused: bool,
    title: String,
    progress: String,
    colours: bool,
}

impl View {
    /// As a set-up asks for it.
    pub(crate) fn new(setup: &Setup, every: Option<Duration>, colours: bool) -> View {
        let mut whom = vec![(Who::All, "All Managers".to_owned())];
        for (m, manager) in setup.managers.iter().enumerate() {
            whom.push((Who::Manager(m), manager.name.clone()));
            let workers = manager.workers.iter().enumerate();
            whom.extend(workers.map(|(w, worker)| (Who::Worker(m, w), format!("{}: {}", manager.name, worker.name))));
        }
        let display = setup.display.as_ref();
        let bars = std::array::from_fn(|i| {
            let chart = display.map(|d| &d.charts[i]);
            let who = chart.map_or(Who::All, |c| Who::of(setup, c));
            let who = whom.iter().position(|(w, _)| *w == who).unwrap_or(0);
            let statistic = chart.and_then(|c| c.statistic).unwrap_or(Statistic::DEFAULT[i]);
            Bar { statistic, who, value: None, most: 0.0 }
        });
        let stated = display.map(|d| Duration::from_secs(d.frequency.into())).filter(|d| !d.is_zero());
        View {
            bars,
            chosen: 0,
            whom,
            since_last: display.is_some_and(|d| d.since_last),
            every: every.or(stated).unwrap_or(EVERY[3]),
            paused: false,
            title: String::new(),
            progress: String::new(),
            colours,
        }
    }

    /// Takes in what has been counted: since the start of the test, and since the last update.
    fn update(&mut self, test: &IometerTest, whole: &IoSeen, latest: &IoSeen) {
        let seen = if self.since_last { latest } else { whole };
        let counted = Counted::new(test, &[seen]);
        for bar in &mut self.bars {
            bar.value = counted.sums(self.whom[bar.who].0).statistic(bar.statistic);
            bar.most = bar.most.max(bar.value.unwrap_or(0.0));
        }
    }

    /// What a key does.
    fn key(&mut self, key: KeyEvent) -> Asked {
        let bar = &mut self.bars[self.chosen];
        let around = |at: usize, n: usize, by: isize| (at as isize + by).rem_euclid(n as isize) as usize;
        let mut statistic = |by| {
            let at = Statistic::ALL.iter().position(|s| *s == bar.statistic).unwrap_or(0);
            let next = Statistic::ALL[around(at, Statistic::ALL.len(), by)];
            *bar = Bar { statistic: next, value: None, most: 0.0, ..*bar };
        };
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Asked::Stop,
            KeyCode::Char('q') | KeyCode::Esc => return Asked::Stop,
            KeyCode::Char('n') => return Asked::Next,
            KeyCode::Char(c @ '1'..='6') => self.chosen = c as usize - '1' as usize,
            KeyCode::Tab => self.chosen = around(self.chosen, CHARTS, 1),
            KeyCode::BackTab => self.chosen = around(self.chosen, CHARTS, -1),
            KeyCode::Down => statistic(1),
            KeyCode::Up => statistic(-1),
            KeyCode::Right | KeyCode::Left => {
                let by = if key.code == KeyCode::Right { 1 } else { -1 };
                *bar = Bar { who: around(bar.who, self.whom.len(), by), value: None, most: 0.0, ..*bar };
            }
            KeyCode::Char('u') => {
                self.since_last = !self.since_last;
                self.bars.iter_mut().for_each(|b| b.most = 0.0);
            }
            KeyCode::Char('+') => self.every = *EVERY.iter().find(|e| **e > self.every).unwrap_or(&EVERY[8]),
            KeyCode::Char('-') => self.every = *EVERY.iter().rev().find(|e| **e < self.every).unwrap_or(&EVERY[0]),
            KeyCode::Char(' ') => self.paused = !self.paused,
            _ => {}
        }
        Asked::Nothing
    }

    fn draw(&self, frame: &mut Frame) {
        let area = frame.area();
        let [head, middle, foot] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(0), Constraint::Length(2)]).areas(area);
        let strong = Style::new().add_modifier(Modifier::BOLD);
        let since = if self.since_last { "since the last update" } else { "since the start of the test" };
        let paused = if self.paused { ", paused" } else { "" };
        let state = format!("{}, {since}, every {}{paused}", self.progress, human_time(self.every.as_secs_f64()));
        frame.render_widget(Paragraph::new(vec![Line::styled(self.title.as_str(), strong), Line::raw(state)]), head);
        let rows = Layout::vertical([Constraint::Fill(1); CHARTS]).split(middle);
        for (i, (bar, area)) in self.bars.iter().zip(rows.iter()).enumerate() {
            self.draw_bar(frame, i, bar, *area);
        }
        let keys = "1-6 bar   up, down statistic   left, right whose   u since start or last update\n\
                    + - interval   space pause   n next test   q stop; what is finished is kept";
        frame.render_widget(Paragraph::new(keys).style(Style::new().add_modifier(Modifier::DIM)), foot);
    }

    fn draw_bar(&self, frame: &mut Frame, i: usize, bar: &Bar, area: Rect) {
        let value = bar.value.map_or("none".to_owned(), |v| bar.statistic.show(v));
        let mark = if i == self.chosen { '>' } else { ' ' };
        let name = format!("{mark}{} {}, {}", i + 1, bar.statistic.name(), self.whom[bar.who].1);
        let scale = scale(bar);
        let width = area.width as usize;
        let gap = width.saturating_sub(name.chars().count() + value.chars().count()).max(1);
        let weight = if i == self.chosen { Modifier::BOLD } else { Modifier::empty() };
        let title = Line::from(vec![
            Span::styled(name, Style::new().add_modifier(weight)),
            Span::raw(" ".repeat(gap)),
            Span::styled(value, Style::new().add_modifier(Modifier::BOLD)),
        ]);
        let of = format!(" of {}", bar.statistic.show(scale));
        let room = width.saturating_sub(of.chars().count());
        let share = bar.value.map_or(0.0, |v| (v / scale).clamp(0.0, 1.0));
        let colour = if self.colours { Style::new().fg(Color::Cyan) } else { Style::new() };
        let drawn = Line::from(vec![Span::styled(blocks(share, room), colour), Span::raw(of)]);
        frame.render_widget(Paragraph::new(vec![title, drawn]), area);
    }
}

fn scale(bar: &Bar) -> f64 {
    full_scale(bar.statistic, bar.most)
}

/// A bar of eighths of a character.
fn blocks(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let mut bar = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    let used = bar.chars().count();
    bar.extend(std::iter::repeat_n('·', width.saturating_sub(used)));
    bar
}

/// The display on a terminal; it gives the terminal back when it goes.
pub(crate) struct Live {
    terminal: DefaultTerminal,
    view: View,
}

impl Live {
    /// Takes the terminal over.
    pub(crate) fn begin(view: View) -> Result<Live, String> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return Err(
                "--live draws on a terminal and reads its keys: standard input and output are not terminals".into()
            );
        }
        let terminal = ratatui::try_init().map_err(|e| format!("--live: {e}"))?;
        Ok(Live { terminal, view })
    }

    /// Simulates a test, and shows it meanwhile.
    pub(crate) fn watch(
        &mut self,
        name: String,
        test: &IometerTest,
        plan: &Plan,
        diagnostics: &mut Diagnostics,
    ) -> Watched {
        let Some(mut run) = Run::new(plan, plan.limits.seed as u64, diagnostics) else {
            return Watched { simulation: None, enough: false };
        };
        self.view.title = name;
        let (mut asked, mut next) = (Asked::Nothing, Instant::now());
        loop {
            let over = run.advance(PIECE) == Step::Done;
            if over || Instant::now() >= next {
                self.update(test, &mut run);
                next = Instant::now() + self.view.every;
            }
            if over {
                break;
            }
            match self.keys() {
                Asked::Nothing => {}
                wanted => {
                    asked = wanted;
                    run.stop();
                }
            }
        }
        Watched { simulation: Some(run.snapshot()), enough: asked == Asked::Stop }
    }

    fn update(&mut self, test: &IometerTest, run: &mut Run) {
        let (whole, latest) = (run.ios(), run.latest_ios());
        self.view.progress = format!("{} counted, {:.0} % done", human_time(whole.time), run.progress() * 100.0);
        self.view.update(test, &whole, &latest);
        self.picture();
    }

    /// Deals with the keys that were pressed; while it is paused, waits for one.
    fn keys(&mut self) -> Asked {
        let mut asked = Asked::Nothing;
        while asked == Asked::Nothing && (self.view.paused || event::poll(Duration::ZERO).unwrap_or(false)) {
            match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    asked = self.view.key(key);
                    self.picture();
                }
                Ok(Event::Resize(..)) => self.picture(),
                Ok(_) => {}
                // A terminal that has gone asks for nothing more.
                Err(_) => asked = Asked::Stop,
            }
        }
        asked
    }

    fn picture(&mut self) {
        // A picture that cannot be drawn is not worth the run.
        let _ = self.terminal.draw(|frame| self.view.draw(frame));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn view() -> View {
        View::new(&Setup::default(), None, false)
    }

    fn screen(view: &View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
        terminal.draw(|f| view.draw(f)).expect("drawn");
        terminal.backend().to_string()
    }

    fn press(view: &mut View, code: KeyCode) -> Asked {
        view.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn a_bar_is_its_share_of_the_next_round_number() {
        let mut bar = Bar { statistic: Statistic::Iops, who: 0, value: None, most: 0.0 };
        let mut of = |most: f64| {
            bar.most = most;
            scale(&bar)
        };
        assert_eq!([0.0, 1.0, 1.1, 2.5, 7.0, 1234.0].map(&mut of), [1.0, 1.0, 2.0, 5.0, 10.0, 2000.0]);
        bar.statistic = Statistic::Cpu;
        assert_eq!(scale(&bar), 100.0);
        assert_eq!((blocks(0.5, 4), blocks(0.0, 2), blocks(1.0, 2)), ("██··".into(), "··".into(), "██".into()));
        assert_eq!(blocks(0.28, 4), "█▏··");
    }

    #[test]
    fn six_statistics_of_iometer_are_shown_at_first() {
        let mut view = view();
        view.bars[0].value = Some(1196.49);
        view.bars[0].most = 1196.49;
        let text = screen(&view);
        for s in Statistic::DEFAULT {
            assert!(text.contains(s.name()), "{}: {text}", s.name());
        }
        assert!(text.contains(">1 Total I/Os per Second, All Managers") && text.contains("1196.49"), "{text}");
        assert!(text.contains("of 2000.00") && text.contains("none") && text.contains("since the start"), "{text}");
    }

    #[test]
    fn keys_change_what_is_shown() {
        let mut view = view();
        assert_eq!(press(&mut view, KeyCode::Char('2')), Asked::Nothing);
        press(&mut view, KeyCode::Down);
        assert_eq!(view.bars[1].statistic, Statistic::ReadMbpsDecimal);
        press(&mut view, KeyCode::Up);
        press(&mut view, KeyCode::Char('u'));
        press(&mut view, KeyCode::Char('-'));
        assert_eq!((view.bars[1].statistic, view.since_last, view.every), (Statistic::MbpsDecimal, true, EVERY[2]));
        press(&mut view, KeyCode::Right);
        assert_eq!(view.bars[1].who, 0, "nobody but all managers is there");
        assert_eq!(press(&mut view, KeyCode::Char('n')), Asked::Next);
        assert_eq!(view.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Asked::Stop);
    }

    #[test]
    fn a_small_terminal_is_no_reason_to_fall_over() {
        for (width, height) in [(1, 1), (10, 3), (200, 60)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
            terminal.draw(|f| view().draw(f)).expect("drawn");
        }
    }
}
