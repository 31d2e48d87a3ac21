// A peer: the least work that packets through a fat tree can cost. A program by itself, measured side by side with the
// simulator by benches/simulate.rs.
// Run: rustc -C opt-level=3 -C target-cpu=native -C panic=abort limit_fattree.rs -o limit_fattree && taskset -c 1
// ./limit_fattree 8 2000 perm 0.95   (k, simulated us, perm|rand, load; no dependencies)
// the switch scenario of ns3_switch.cc (S16): ./limit_fattree star 500000 rand 1.0   (100 ns wires instead of 5; hops
// printed are link arrivals)
//
// Physical limit for packet-level simulation of a fat tree (same scenario as ns3_fattree.cc --routing=lean: k=8, 10
// Gb/s, 100 ns wires,
// 1500-byte store-and-forward, per-port FIFO of 1024 frames with tail drop, d-mod-k routing, CBR hosts), with only the
// indispensable work per
// packet-hop: find the output port, queue or drop, departure = max(now, port free) + serialisation, per-port counters,
// per-packet latency.
//   wheel : one event per packet-hop, hierarchical timing wheel (what a plain event-driven core can reach)
//   heap  : the same on std BinaryHeap (what a plain Rust port reaches)
// pfc   : two events per packet-hop, real FIFOs, ingress accounting and PAUSE (what a feature-complete event-driven
// switch needs)
// window: no global event queue: time advances in windows of one link latency (serialisation + wire, the lookahead);
// each node
//           merges its input-link FIFOs of the window (what conservative batching can reach on one core)
// packet-hops = frames that arrived over a link at a switch or host. All but pfc under congestion must give the same
// hops and mean latency.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
extern "C" {
    fn clock_gettime(clk: i32, ts: *mut [i64; 2]) -> i32;
}
fn cpu() -> f64 {
    let mut t = [0i64; 2];
    unsafe { clock_gettime(2, &mut t) };
    t[0] as f64 + t[1] as f64 * 1e-9
}
const NIL: u32 = u32::MAX;
const SER: u64 = 1_200_000;
const PROP: u64 = 100_000;
const LIM: u64 = 1024 * SER;

#[derive(Clone, Copy, Default)]
struct Pkt {
    born: u64,
    dst: u32,
    node: u32,
}
#[derive(Clone, Copy, Default)]
struct Port {
    free: u64,
    pkts: u64,
    drops: u64,
    peer: u32,
    link: u32,
}
struct Net {
    star: bool,
    k: u32,
    h: u32,
    hosts: u32,
    n: u32,
    base: Vec<u32>,
    port: Vec<Port>,
    inl: Vec<Vec<u32>>,
}
impl Net {
    fn new(k: u32) -> Net {
        let h = k / 2;
        let hosts = k * h * h;
        let n = hosts + 2 * k * h + h * h;
        let mut adj: Vec<Vec<u32>> = vec![vec![]; n as usize];
        let mut link = |a: u32, b: u32| {
            adj[a as usize].push(b);
            adj[b as usize].push(a)
        };
        for i in 0..hosts {
            link(i, hosts + i / h)
        }
        for p in 0..k {
            for e in 0..h {
                for g in 0..h {
                    link(hosts + p * h + e, hosts + k * h + p * h + g)
                }
            }
        }
        for p in 0..k {
            for g in 0..h {
                for j in 0..h {
                    link(hosts + k * h + p * h + g, hosts + 2 * k * h + g * h + j)
                }
            }
        }
        let mut base = vec![];
        let mut port = vec![];
        let mut inl = vec![vec![]; n as usize];
        for a in 0..n {
            base.push(port.len() as u32);
            for &b in &adj[a as usize] {
                inl[b as usize].push(port.len() as u32);
                port.push(Port { peer: b, link: port.len() as u32, ..Default::default() })
            }
        }
        Net { star: false, k, h, hosts, n, base, port, inl }
    }
    fn star() -> Net {
        let mut port = vec![];
        let mut base = vec![];
        let mut inl = vec![vec![]; 17];
        for i in 0..16 {
            base.push(i);
            inl[16].push(i);
            port.push(Port { peer: 16, link: i, ..Default::default() })
        }
        base.push(16);
        for i in 0..16 {
            inl[i as usize].push(16 + i);
            port.push(Port { peer: i, link: 16 + i, ..Default::default() })
        }
        Net { star: true, k: 0, h: 0, hosts: 16, n: 17, base, port, inl }
    }
    #[inline(always)]
    fn route(&self, n: u32, dst: u32) -> u32 {
        if self.star {
            return if n < 16 { n } else { 16 + dst };
        }
        let (h, k, hs) = (self.h, self.k, self.hosts);
        let e = dst / h;
        self.base[n as usize]
            + if n < hs {
                0
            } else if n < hs + k * h {
                if n - hs == e {
                    dst % h
                } else {
                    h + dst % h
                }
            } else if n < hs + 2 * k * h {
                if (n - hs - k * h) / h == e / h {
                    e % h
                } else {
                    h + e % h
                }
            } else {
                e / h
            }
    }
    // returns (arrival time at peer, peer) or None if dropped
    #[inline(always)]
    fn forward(&mut self, now: u64, n: u32, dst: u32) -> Option<(u64, u32, u32)> {
        let r = self.route(n, dst) as usize;
        let p = unsafe { self.port.get_unchecked_mut(r) };
        let start = p.free.max(now);
        if start - now > LIM {
            p.drops += 1;
            return None;
        }
        p.free = start + SER;
        p.pkts += 1;
        Some((start + SER + PROP, p.peer, p.link))
    }
}
#[derive(Default)]
struct Out {
    hops: u64,
    events: u64,
    delivered: u64,
    drops: u64,
    lat: u64,
    maxlat: u64,
}
trait Q {
    fn push(&mut self, t: u64, id: u32);
    fn pop(&mut self) -> Option<(u64, u32)>;
}
struct Heap(BinaryHeap<Reverse<(u64, u32)>>);
impl Q for Heap {
    #[inline(always)]
    fn push(&mut self, t: u64, id: u32) {
        self.0.push(Reverse((t, id)))
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<(u64, u32)> {
        self.0.pop().map(|x| x.0)
    }
}
struct Wheel {
    occ: [u64; 11],
    head: [[u32; 64]; 11],
    tail: [[u32; 64]; 11],
    node: Vec<(u64, u32)>,
    now: u64,
    len: usize,
}
impl Wheel {
    fn new() -> Wheel {
        Wheel { occ: [0; 11], head: [[NIL; 64]; 11], tail: [[NIL; 64]; 11], node: vec![], now: 0, len: 0 }
    }
    #[inline(always)]
    fn put(&mut self, t: u64, id: u32) {
        let x = t ^ self.now;
        let l = if x == 0 { 0 } else { (63 - x.leading_zeros()) as usize / 6 };
        let s = (t >> (6 * l)) as usize & 63;
        unsafe {
            self.node.get_unchecked_mut(id as usize).1 = NIL;
            if self.occ[l] >> s & 1 == 0 {
                self.occ[l] |= 1 << s;
                self.head[l][s] = id
            } else {
                self.node.get_unchecked_mut(self.tail[l][s] as usize).1 = id
            }
        }
        self.tail[l][s] = id
    }
}
impl Q for Wheel {
    #[inline(always)]
    fn push(&mut self, t: u64, id: u32) {
        self.len += 1;
        if id as usize >= self.node.len() {
            self.node.resize(id as usize + 1, (0, NIL))
        }
        self.node[id as usize].0 = t;
        self.put(t, id)
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<(u64, u32)> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        loop {
            if self.occ[0] != 0 {
                let s = self.occ[0].trailing_zeros() as usize;
                let i = self.head[0][s];
                let (t, nx) = unsafe { *self.node.get_unchecked(i as usize) };
                self.head[0][s] = nx;
                if nx == NIL {
                    self.occ[0] &= !(1 << s)
                }
                self.now = t;
                return Some((t, i));
            }
            let mut l = 1;
            while self.occ[l] == 0 {
                l += 1
            }
            let s = self.occ[l].trailing_zeros() as usize;
            self.occ[l] &= !(1 << s);
            let mut i = self.head[l][s];
            let (t, nx) = unsafe { *self.node.get_unchecked(i as usize) };
            if nx == NIL {
                self.now = t;
                return Some((t, i));
            }
            self.now = (self.now >> (6 * l + 6) << (6 * l + 6)) | (s as u64) << (6 * l);
            while i != NIL {
                let (t, nx) = unsafe { *self.node.get_unchecked(i as usize) };
                self.put(t, i);
                i = nx
            }
        }
    }
}
#[derive(Clone, Copy)]
struct Gen {
    gap: u64,
    stop: u64,
    rand: bool,
    hosts: u32,
    star: bool,
}
#[inline(always)]
fn pick(g: &Gen, src: u32, x: &mut u64) -> u32 {
    if g.star {
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        return 8 + (*x >> 40) as u32 % 4;
    }
    if !g.rand {
        return (src + g.hosts / 2) % g.hosts;
    }
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    let d = ((*x >> 32) * (g.hosts as u64 - 1) >> 32) as u32;
    if d >= src {
        d + 1
    } else {
        d
    }
}
fn seed(i: u32) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9E3779B97F4A7C15) | 1
}

fn event_driven<T: Q>(net: &mut Net, g: Gen, q: &mut T) -> Out {
    let mut o = Out::default();
    let hs = net.hosts;
    let mut pk: Vec<Pkt> = (0..hs).map(|_| Pkt::default()).collect();
    let mut freel: Vec<u32> = vec![];
    let mut rng: Vec<u64> = (0..hs).map(seed).collect();
    let srcs = if g.star { 4 } else { hs };
    for i in 0..srcs {
        q.push(i as u64 * 9001, i)
    } // ids below hs are the hosts' generators
    while let Some((t, id)) = q.pop() {
        o.events += 1;
        if id < hs {
            if t >= g.stop {
                continue;
            }
            q.push(t + g.gap, id);
            let dst = pick(&g, id, &mut rng[id as usize]);
            if let Some((at, peer, _)) = net.forward(t, id, dst) {
                let n = freel.pop().unwrap_or_else(|| {
                    pk.push(Pkt::default());
                    pk.len() as u32 - 1
                });
                pk[n as usize] = Pkt { born: t, dst, node: peer };
                q.push(at, n)
            }
        } else {
            o.hops += 1;
            let p = &mut pk[id as usize];
            if p.node < hs {
                o.delivered += 1;
                let l = t - p.born;
                o.lat += l;
                o.maxlat = o.maxlat.max(l);
                freel.push(id)
            } else {
                match net.forward(t, p.node, p.dst) {
                    Some((at, peer, _)) => {
                        p.node = peer;
                        q.push(at, id)
                    }
                    None => freel.push(id),
                }
            }
        }
    }
    o
}

fn window(net: &mut Net, g: Gen) -> Out {
    #[derive(Clone, Copy)]
    struct E {
        t: u64,
        born: u64,
        dst: u32,
    }
    let mut o = Out::default();
    let hs = net.hosts;
    let l = SER + PROP;
    let mut q: Vec<VecDeque<E>> = net.port.iter().map(|_| VecDeque::with_capacity(4)).collect();
    let mut rng: Vec<u64> = (0..hs).map(seed).collect();
    let mut next: Vec<u64> = (0..hs).map(|i| i as u64 * 9001).collect();
    if g.star {
        for i in 4..16 {
            next[i] = u64::MAX / 2
        }
    }
    let mut w = 0u64;
    let mut flying = 0u64;
    let mut buf: Vec<E> = vec![];
    let inl = std::mem::take(&mut net.inl);
    while w < g.stop || flying > 0 {
        let end = w + l;
        for i in 0..hs {
            while next[i as usize] < end && next[i as usize] < g.stop {
                let t = next[i as usize];
                next[i as usize] += g.gap;
                let dst = pick(&g, i, &mut rng[i as usize]);
                o.events += 1;
                if let Some((at, _, lk)) = net.forward(t, i, dst) {
                    q[lk as usize].push_back(E { t: at, born: t, dst });
                    flying += 1
                }
            }
            let f = &mut q[inl[i as usize][0] as usize];
            while let Some(e) = f.front() {
                if e.t >= end {
                    break;
                }
                o.hops += 1;
                o.delivered += 1;
                let x = e.t - e.born;
                o.lat += x;
                o.maxlat = o.maxlat.max(x);
                flying -= 1;
                f.pop_front();
            }
        }
        for n in hs..net.n {
            buf.clear();
            for &lk in &inl[n as usize] {
                let f = unsafe { q.get_unchecked_mut(lk as usize) };
                while let Some(&e) = f.front() {
                    if e.t >= end {
                        break;
                    }
                    f.pop_front();
                    let mut j = buf.len();
                    buf.push(e);
                    while j > 0 && buf[j - 1].t > e.t {
                        buf[j] = buf[j - 1];
                        j -= 1
                    }
                    buf[j] = e
                }
            }
            o.hops += buf.len() as u64;
            for e in &buf {
                match net.forward(e.t, n, e.dst) {
                    Some((at, _, lk)) => unsafe { q.get_unchecked_mut(lk as usize).push_back(E { t: at, ..*e }) },
                    None => flying -= 1,
                }
            }
        }
        w = end
    }
    net.inl = inl;
    o
}

// 'pfc': what a switch model with real queues needs: two events per packet-hop (arrival, end of transmission), explicit
// output FIFOs,
// shared-buffer and per-ingress accounting, PAUSE at XOFF = 40 frames of one ingress, resume at XON = 20 (lossless,
// hosts obey too)
fn pfc(net: &mut Net, g: Gen, q: &mut Wheel) -> Out {
    #[derive(Clone, Copy, Default)]
    struct P {
        born: u64,
        dst: u32,
        at: u32,
        inp: u32,
        next: u32,
    } // at: node reached next; inp: port of that node it enters by
    #[derive(Clone, Copy)]
    struct O {
        head: u32,
        tail: u32,
        busy: bool,
        paused: bool,
        want: bool,
        sent: bool,
        pend: bool,
        ing: u32,
        rev: u32,
        owner: u32,
        pkts: u64,
    }
    let mut o = Out::default();
    let hs = net.hosts;
    let np = net.port.len() as u32;
    let mut x: Vec<O> = vec![
        O {
            head: NIL,
            tail: NIL,
            busy: false,
            paused: false,
            want: false,
            sent: false,
            pend: false,
            ing: 0,
            rev: 0,
            owner: 0,
            pkts: 0
        };
        np as usize
    ];
    for a in 0..net.n {
        let e = if a + 1 < net.n { net.base[a as usize + 1] } else { np };
        for p in net.base[a as usize]..e {
            x[p as usize].owner = a;
            let b = net.port[p as usize].peer;
            let eb = if b + 1 < net.n { net.base[b as usize + 1] } else { np };
            x[p as usize].rev = (net.base[b as usize]..eb).find(|&r| net.port[r as usize].peer == a).unwrap();
        }
    }
    let mut occ = vec![0u32; net.n as usize];
    let mut maxocc = 0u32;
    let mut rng: Vec<u64> = (0..hs).map(seed).collect();
    // event ids: 0..np end of transmission, np..2np pause/resume arriving at that port, 2np..2np+hs generators, then
    // packets
    let g0 = 2 * np;
    let p0 = g0 + hs;
    let mut pk: Vec<P> = vec![];
    let mut freel: Vec<u32> = vec![];
    let mut born: Vec<u64> = vec![];
    let _ = &mut born;
    let srcs = if g.star { 4 } else { hs };
    for i in 0..srcs {
        q.push(i as u64 * 9001, g0 + i)
    }
    macro_rules! start {
        ($t:expr, $p:expr) => {{
            let pp = &mut x[$p as usize];
            if !pp.busy && !pp.paused && pp.head != NIL {
                pp.busy = true;
                q.push($t + SER, $p);
            }
        }};
    }
    macro_rules! enq {
        ($t:expr, $p:expr, $id:expr) => {{
            pk[$id as usize].next = NIL;
            let pp = &mut x[$p as usize];
            if pp.head == NIL {
                pp.head = $id
            } else {
                pk[pp.tail as usize].next = $id
            }
            pp.tail = $id;
            start!($t, $p)
        }};
    }
    while let Some((t, id)) = q.pop() {
        o.events += 1;
        if id >= p0 {
            let i = id - p0;
            o.hops += 1;
            let p = pk[i as usize];
            let n = p.at;
            if n < hs {
                o.delivered += 1;
                let l = t - p.born;
                o.lat += l;
                o.maxlat = o.maxlat.max(l);
                freel.push(i)
            } else {
                occ[n as usize] += 1;
                maxocc = maxocc.max(occ[n as usize]);
                let ip = &mut x[p.inp as usize];
                ip.ing += 1;
                if ip.ing >= 40 && !ip.sent {
                    ip.sent = true;
                    let r = ip.rev;
                    let z = &mut x[r as usize];
                    z.want = true;
                    if !z.pend {
                        z.pend = true;
                        q.push(t + 51_200 + PROP, np + r)
                    }
                    o.drops += 1
                }
                let out = net.route(n, p.dst);
                enq!(t, out, i)
            }
        } else if id < np {
            let p = id;
            let (i, ow) = {
                let pp = &mut x[p as usize];
                pp.busy = false;
                pp.pkts += 1;
                let i = pp.head;
                pp.head = pk[i as usize].next;
                (i, pp.owner)
            };
            if ow >= hs {
                occ[ow as usize] -= 1;
                let ip = &mut x[pk[i as usize].inp as usize];
                ip.ing -= 1;
                if ip.sent && ip.ing <= 20 {
                    ip.sent = false;
                    let r = ip.rev;
                    let z = &mut x[r as usize];
                    z.want = false;
                    if !z.pend {
                        z.pend = true;
                        q.push(t + 51_200 + PROP, np + r)
                    }
                }
            }
            let r = x[p as usize].rev;
            let k = &mut pk[i as usize];
            k.at = net.port[p as usize].peer;
            k.inp = r;
            q.push(t + PROP, p0 + i);
            start!(t, p)
        } else if id < g0 {
            let p = id - np;
            let z = &mut x[p as usize];
            z.pend = false;
            z.paused = z.want;
            start!(t, p)
        } else {
            let h = id - g0;
            if t >= g.stop {
                continue;
            }
            q.push(t + g.gap, id);
            let dst = pick(&g, h, &mut rng[h as usize]);
            let i = freel.pop().unwrap_or_else(|| {
                pk.push(P::default());
                pk.len() as u32 - 1
            });
            pk[i as usize] = P { born: t, dst, at: h, inp: 0, next: NIL };
            let out = net.base[h as usize];
            enq!(t, out, i)
        }
    }
    let _ = maxocc;
    o
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let star = a.get(1).map_or(false, |s| s == "star");
    let k = if star { 0 } else { a.get(1).map_or(8, |s| s.parse().unwrap()) };
    let us: u64 = a.get(2).map_or(2000, |s| s.parse().unwrap());
    let rand = a.get(3).map_or(false, |s| s == "rand");
    let load: f64 = a.get(4).map_or(0.95, |s| s.parse().unwrap());
    for mode in ["heap", "wheel", "pfc", "window"] {
        let mut r = vec![];
        let mut o = Out::default();
        for _ in 0..5 {
            let mut net = if star { Net::star() } else { Net::new(k) };
            let g = Gen { gap: (SER as f64 / load) as u64, stop: us * 1_000_000, rand, hosts: net.hosts, star };
            let c = cpu();
            o = match mode {
                "heap" => event_driven(&mut net, g, &mut Heap(BinaryHeap::new())),
                "wheel" => event_driven(&mut net, g, &mut Wheel::new()),
                "pfc" => pfc(&mut net, g, &mut Wheel::new()),
                _ => window(&mut net, g),
            };
            r.push(cpu() - c);
            if mode != "pfc" {
                o.drops = net.port.iter().map(|p| p.drops).sum()
            }
        }
        r.sort_by(|x, y| x.total_cmp(y));
        let c = r[2];
        let ev = o.events;
        println!("limit_fattree {mode:>6} k={k} us={us} {} load={load} cpu={c:.4} (min {:.4}) hops={} delivered={} \
            dropped(pfc: pauses)={} events={ev} mean_lat_ns={:.2} max_lat_ns={:.1} ns/hop={:.1} \
            hops/s={:.0}",
            if rand { "rand" } else { "perm" },
            r[0],
            o.hops,
            o.delivered,
            o.drops,
            o.lat as f64 / o.delivered as f64 / 1e3,
            o.maxlat as f64 / 1e3,
            c / o.hops as f64 * 1e9,
            o.hops as f64 / c
        );
    }
}
