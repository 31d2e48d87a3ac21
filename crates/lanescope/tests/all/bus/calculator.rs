//! `wire pci` and a run of one flow give one number for one bus.

use super::simulate;
use crate::common::{planned, within};
use lanescope::diagnostic::Diagnostics;
use lanescope::estimate::estimate;
use lanescope::estimate::wire::pci::{Question, wire};

#[test]
fn the_calculator_and_a_scenario_give_one_number() {
    let mut worst = 0.0_f64;
    for bus in ["pci 33 32-bit", "pci 66 64-bit", "pci-x 66 32-bit", "pci-x 133 64-bit", "pci-x 266 64-bit"] {
        for (burst, decode, delay) in
            [("64 B", "medium", "5 clocks"), ("512 B", "fast", "60 clocks"), ("4 KiB", "slow", "333 ns")]
        {
            let question = Question {
                bus: bus.into(),
                burst: burst.into(),
                decode: decode.into(),
                delay: delay.into(),
                dual: false,
            };
            let answer = wire(&mut Diagnostics::default(), &question).expect("a valid question");
            let text = |op: &str, load: &str, splits: u32| {
                format!(
                    "[parts.bridge]\nis = \"host-bridge\"\nread_latency = \"{delay}\"\nwrite_waits = 0\n\
                     decode = \"{decode}\"\nlatency_timer = 255\n\
                     disconnect = \"4 KiB\"\nprefetch = \"4 KiB\"\n[parts.d]\nis = \"pci-device\"\n\
                     turnaround = \"1 clock\"\n\
                     read_byte_count = \"4 KiB\"\nburst = \"4 KiB\"\nsplits = {splits}\ndecode = \"{decode}\"\n\
                     [links.slots]\nbetween = [\"bridge\", \"d\"]\npci = \"{bus}\"\n[flows.f]\nfrom = \"d\"\n\
                     to = \"bridge.memory\"\n\
                     do = \"{op}\"\nsize = \"{burst}\"\nload = {load}\n[run]\nfor = \"20 ms\"\nwarmup = \"1 ms\"\n"
                )
            };
            let mut same = |what: &str, text: String, calculated: f64| {
                let plan = planned(&text, &[]);
                let share = estimate(&plan, &Diagnostics::default()).flows[0].share.typical;
                let simulated = simulate(&text, &[]).flows[0].rate.mean;
                println!("{bus}, {burst} {what}: {calculated}, {share} estimated, {simulated} simulated");
                within(1e-9, share, calculated);
                within(0.002, simulated, calculated);
                worst = worst.max((share / calculated - 1.0).abs());
            };
            same("writes", text("write", "\"saturate\"", 1), answer.rates.write);
            if answer.waited {
                same("reads, waited for", text("read", "\"saturate\"", 1), answer.rates.read_alone);
            } else if bus.starts_with("pci-x") {
                same("reads, alone", text("read", "{ outstanding = 1 }", 1), answer.rates.read_alone);
                // What is longer than the latency timer is cut: the line of the calculator says so.
                if answer.data.total > 255 {
                    continue;
                }
                same("reads that overlap", text("read", "\"saturate\"", 32), answer.rates.read);
            }
        }
    }
    println!("at most {worst:e} apart");
}
