//! `need`: what would carry a wanted rate.

use crate::input::load;
use crate::{ANSWERED, NO_VALUE, Scenario, WRONG, output};
use clap::Args;
use lanescope::estimate::need;
use lanescope::pens::Grid;
use lanescope::units::{Rate, human_rate};

/// A flow and the rate that it should reach.
#[derive(Args)]
pub(crate) struct Need {
    #[command(flatten)]
    scenario: Scenario,
    /// The flow (all its instances together)
    #[arg(long)]
    flow: String,
    /// Payload that it should carry in all, e.g. "40 Gb/s"
    #[arg(long)]
    rate: String,
}

pub(crate) fn main(a: &Need) -> u8 {
    let rate = match Rate::parse(&a.rate) {
        Ok(r) if r.bits() > 0.0 => r,
        _ => {
            output::error(&format!("--rate {:?} is not a rate; units are {}, e.g. \"40 Gb/s\"", a.rate, Rate::UNITS));
            return WRONG;
        }
    };
    let (plan, _) = match load(&a.scenario) {
        Ok(p) => p,
        Err(code) => return code,
    };
    let answer = match need(&plan, &a.flow, rate) {
        Ok(n) => n,
        Err(e) => {
            output::error(&e);
            return WRONG;
        }
    };
    let reached = answer.now >= answer.wanted * (1.0 - 1e-9)
        || answer.alone.iter().chain(answer.together.last()).any(|s| s.enough);
    let code = if reached { ANSWERED } else { NO_VALUE };
    if a.scenario.json {
        output::json(&answer);
        return code;
    }
    let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
    let head = ["change", "now", "share", "enough", "fits the parts"].map(String::from).to_vec();
    let row = |s: &lanescope::estimate::Step| {
        vec![s.change.clone(), s.now.clone(), human_rate(s.share), yes(s.enough), yes(s.fits)]
    };
    if a.scenario.csv {
        let head = ["how", "change", "now", "share_bps", "enough", "fits_the_parts"].map(String::from).to_vec();
        let row = |how: &str, s: &lanescope::estimate::Step| {
            vec![
                how.to_owned(),
                s.change.clone(),
                s.now.clone(),
                s.share.to_string(),
                s.enough.to_string(),
                s.fits.to_string(),
            ]
        };
        let rows =
            answer.alone.iter().map(|s| row("alone", s)).chain(answer.together.iter().map(|s| row("together", s)));
        output::csv(&Grid { head, rows: rows.collect() });
        return code;
    }
    output::print(&format!(
        "{}: {} wanted, {} now, bound by {} ({})\n\n",
        answer.flow,
        human_rate(answer.wanted),
        human_rate(answer.now),
        answer.bound_by.element,
        answer.bound_by.evidence
    ));
    if answer.now >= answer.wanted * (1.0 - 1e-9) {
        output::print("that is enough: nothing needs to change\n");
        return code;
    }
    if answer.alone.is_empty() {
        output::print("no single change helps\n");
    } else {
        output::print("one change alone\n");
        output::table(&Grid { head: head.clone(), rows: answer.alone.iter().map(row).collect() });
    }
    if !answer.together.is_empty() {
        output::print("\none after the other\n");
        output::table(&Grid {
            head: vec!["change".into(), "share".into(), "enough".into(), "fits the parts".into()],
            rows: answer
                .together
                .iter()
                .map(|s| vec![s.change.clone(), human_rate(s.share), yes(s.enough), yes(s.fits)])
                .collect(),
        });
    }
    if !reached {
        output::print("\nnothing that lanescope can change is enough\n");
    }
    code
}
