// A peer: the least work that a queue of one server can cost. A program by itself, measured side by side with the
// simulator by benches/simulate.rs.
// Run: rustc -C opt-level=3 -C target-cpu=native -C panic=abort limit_mm1.rs -o limit_mm1 && taskset -c 1 ./limit_mm1
// 20000000   (no dependencies)
// Floor for M/M/1 (rho 0.9) in an event loop: a 2-slot pending set (arrival, departure), FIFO of arrival times, one
// -ln(u) per event. 2 timed events a customer.
// Second line: the same through std BinaryHeap.
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};
extern "C" {
    fn clock_gettime(clk: i32, ts: *mut [i64; 2]) -> i32;
}
fn cpu() -> f64 {
    let mut t = [0i64; 2];
    unsafe { clock_gettime(2, &mut t) };
    t[0] as f64 + t[1] as f64 * 1e-9
}
fn main() {
    let n: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(20_000_000);
    let mut x = 88172645463325252u64;
    let mut ex = |mean: f64| -> u64 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (-(((x >> 11) as f64 + 0.5) / 9007199254740992.0).ln() * mean) as u64
    };
    for heap in [false, true] {
        let mut q: VecDeque<u64> = VecDeque::new();
        let (mut made, mut done, mut sum) = (0u64, 0u64, 0u64);
        let mut s = [ex(1e6 / 0.9), u64::MAX];
        let mut h = BinaryHeap::new();
        if heap {
            h.push(Reverse((s[0], 0usize)))
        }
        let c = cpu();
        while done < n {
            let (t, k) = if heap {
                h.pop().unwrap().0
            } else {
                let k = (s[1] < s[0]) as usize;
                let t = s[k];
                s[k] = u64::MAX;
                (t, k)
            };
            macro_rules! at {
                ($t:expr, $k:expr) => {
                    if heap {
                        h.push(Reverse(($t, $k)))
                    } else {
                        s[$k] = $t
                    }
                };
            }
            if k == 0 {
                made += 1;
                if made < n {
                    at!(t + ex(1e6 / 0.9), 0)
                }
                q.push_back(t);
                if q.len() == 1 {
                    at!(t + ex(1e6), 1)
                }
            } else {
                sum += t - q.pop_front().unwrap();
                done += 1;
                if !q.is_empty() {
                    at!(t + ex(1e6), 1)
                }
            }
        }
        let c = cpu() - c;
        println!(
            "limit_mm1 {} customers={n} cpu={c:.3} timed_ev/s={:.0} ns/event={:.1} mean_sys_time={:.3}",
            if heap { "binheap" } else { "2-slot" },
            2.0 * n as f64 / c,
            c / (2 * n) as f64 * 1e9,
            sum as f64 / done as f64 / 1e6
        );
    }
}
