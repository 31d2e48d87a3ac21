//! What a link runs at, as far as a dump can be believed.
//!
//! Three speeds stand in a dump: what each end can do (LnkCap), what was negotiated (LnkSta), and what power saving
//! shows at the moment: links of idle GPUs fall to 2.5 GT/s and rise again under load. A wire has one speed and one
//! width, so two ends that say different things are no wire: an emulated port, or a made-up one. XML files claim what
//! somebody wrote into them. The target speed (LnkCtl2) is a limit of the port above, and no speed.

use super::capable::{self, Most};
use super::tree::{Link, Role, Tree};
use crate::import::host::{Address, Function, Host, Kind, Place, gigatransfers, value};
use crate::protocol::pcie::{Generation, Lanes, Speed};

/// How a link stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// It runs at what both ends can do.
    Full,
    /// It runs at what its lesser end can do.
    Lesser,
    /// It runs below what both ends can do.
    Down,
    /// It idles below what both ends can do, to save power.
    Idle,
    /// Nothing is at its other end, or it is not trained.
    Empty,
    /// What the dump says of it is not believed; the words say why.
    Virtual(String),
    /// The dump does not say enough; the words say what is missing.
    Unknown(String),
}

/// What a link runs at: a range where the dump leaves one. A low end of `None` is not known at all.
#[derive(Clone, Debug)]
pub(crate) struct Belief {
    /// How it stands.
    pub(crate) standing: Standing,
    /// At least.
    pub(crate) low: Option<Speed>,
    /// Most likely.
    pub(crate) typical: Option<Speed>,
    /// At most.
    pub(crate) high: Option<Speed>,
    /// What both ends can do.
    pub(crate) capable: Option<Speed>,
    /// What the port above can do.
    pub(crate) upper_capable: Option<Speed>,
    /// What the device below can do.
    pub(crate) lower_capable: Option<Speed>,
    /// What the dump shows as negotiated.
    pub(crate) negotiated: Option<Speed>,
    /// Where it says so.
    pub(crate) at: Option<Place>,
}

impl Belief {
    /// Whether it is the speed of one moment, in which a GPU may have been idle: no file with registers is in doubt.
    pub(crate) fn may_have_idled(&self) -> bool {
        match self.standing {
            Standing::Idle => self.capable.is_none(),
            Standing::Unknown(_) => self.negotiated.is_some(),
            _ => false,
        }
    }
}

/// A speed of a generation and a width, where both are known and legal.
fn speed(generation: Option<Generation>, width: Option<u8>) -> Option<Speed> {
    Some(Speed::new(generation?, Lanes::new(u64::from(width?))?))
}

/// `16 GT/s x16`.
pub(crate) fn shown(speed: Speed) -> String {
    format!("{} GT/s x{}", gigatransfers(speed.generation), speed.lanes.count())
}

/// The lesser of each: what a link of two ends can do.
fn both(a: Option<Speed>, b: Option<Speed>) -> Option<Speed> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Speed::new(a.generation.min(b.generation), a.lanes.min(b.lanes))),
        (a, b) => a.or(b),
    }
}

/// Payload aside, which of two is slower.
pub(crate) fn slower(a: Speed, b: Speed) -> Speed {
    if a.coded() <= b.coded() { a } else { b }
}

fn capability(f: &Function) -> Option<Speed> {
    let e = f.express.as_ref()?;
    speed(value(&e.speed_capable), value(&e.width_capable))
}

fn status(f: &Function) -> Option<Speed> {
    let e = f.express.as_ref()?;
    speed(value(&e.speed), value(&e.width))
}

/// Ports that a hypervisor emulates, by vendor (PCI-SIG's list: Red Hat and QEMU, VMware, Microsoft, Parallels, Xen) or
/// name.
fn emulated(f: &Function) -> bool {
    let vendor = value(&f.ids).map(|i| i.0);
    let name = f.name.as_ref().map_or("", |n| n.value.as_str());
    matches!(vendor, Some(0x1b36 | 0x1af4 | 0x15ad | 0x1414 | 0x1ab8 | 0x5853))
        || ["QEMU", "Red Hat", "VMware", "Microsoft", "Parallels", "XenSource"].iter().any(|n| name.contains(n))
}

/// What a processor's root ports can do, by CPUID family and model: vendors' product pages. Intel's Sandy Bridge to
/// Cascade Lake servers are PCIe 3.0, Ice Lake 4.0, Sapphire and Emerald Rapids 5.0; AMD's Naples is 3.0, Rome and
/// Milan are 4.0, Genoa is 5.0.
fn of_processor(host: &Host) -> Option<Generation> {
    Some(match value(&host.family)? {
        (6, 45 | 62 | 63 | 79 | 85 | 86) => Generation::Gen3,
        (6, 106 | 108) => Generation::Gen4,
        (6, 143 | 207) => Generation::Gen5,
        (23, 1) => Generation::Gen3,
        (23, 49) | (25, 1) => Generation::Gen4,
        (25, 17) => Generation::Gen5,
        _ => return None,
    })
}

/// The speed of a link by hwloc's GB/s one way after coding, which have been worked out in these ways:
///
/// - of registers: 8/10 of the bits for 2.5 and 5 GT/s, 128/130 for 8 to 32 GT/s, 242/256 above;
/// - of Linux's `current_link_speed`, where registers may not be read: 8/10 where that begins with `2.5 ` or `5 `, and
///   128/130 of all else, which newer kernels' `5.0 GT/s PCIe` is, too;
/// - 8/10 of 8/10 for 2.5 and 5 GT/s, long ago.
///
/// Several links may carry the same, `2.5 GT/s x16` and `5 GT/s x8`: it is one that the device can have, and of those
/// the widest, since a link that saves power lowers its speed and keeps its lanes. But sixteen lanes at 2.5 GT/s are
/// those of graphics cards, where nothing else is known.
fn of_gigabytes(gigabytes: f64, most: Option<Most>, kind: Kind) -> Option<Speed> {
    let lanes = [16_u64, 8, 4, 2, 1, 12, 32];
    let close = |a: f64| (a / gigabytes - 1.0).abs() < 0.004;
    let speed = |generation: Generation, l: u64| Some(Speed::new(generation, Lanes::new(l)?));
    let all = || lanes.iter().flat_map(|l| Generation::ALL.into_iter().filter_map(move |g| speed(g, *l)));
    let raw = |s: &Speed| gigatransfers(s.generation) * s.lanes.count() as f64 / 8.0;
    let flit = |s: &Speed| s.generation >= Generation::Gen6;
    let exact = |s: &Speed| close(s.coded().bytes() / 1e9) || flit(s) && close(raw(s) * 242.0 / 256.0);
    let of_sysfs = |s: &Speed| (s.generation == Generation::Gen2 || flit(s)) && close(raw(s) * 128.0 / 130.0);
    let of_its_time = |s: &Speed| s.generation <= Generation::Gen2 && close(raw(s) * 0.64);
    let allowed = |s: &Speed| most.is_none_or(|m| m.allows(*s));
    let wide = kind == Kind::Gpu || most.is_some();
    let usual = |s: &Speed| wide || s.generation > Generation::Gen1 || s.lanes.count() < 16;
    let best = |form: &dyn Fn(&Speed) -> bool| {
        let fit = || all().filter(|s| form(s));
        fit().find(|s| allowed(s) && usual(s)).or_else(|| fit().find(allowed)).or_else(|| fit().next())
    };
    best(&exact).or_else(|| best(&of_sysfs)).or_else(|| best(&of_its_time))
}

/// The GPU behind a link, where all that is there is one.
fn gpu_of<'a>(host: &'a Host, tree: &Tree, link: &Link) -> Option<&'a Function> {
    let ends = link.functions.iter().copied().chain(tree.ends_below(link.lower));
    ends.filter_map(|a| host.functions.get(&a)).find(|f| f.kind() == Kind::Gpu)
}

/// Whether all that is behind a link is one GPU, with its audio function and the ports inside its package: links that
/// idle.
fn idles(host: &Host, tree: &Tree, link: &Link) -> bool {
    let gpu = |a: &Address| host.functions.get(a).is_some_and(|f| f.kind() == Kind::Gpu);
    if link.functions.iter().any(gpu) {
        return true;
    }
    let ends = tree.ends_below(link.lower);
    tree.role(link.lower) != Role::End
        && ends.iter().filter(|a| gpu(a)).count() == 1
        && ends.iter().all(|a| {
            host.functions.get(a).is_some_and(|f| f.kind() == Kind::Gpu || value(&f.class).is_some_and(|c| c >> 8 != 1))
        })
}

/// What a link runs at.
pub(crate) fn believe(host: &Host, tree: &Tree, link: &Link) -> Belief {
    let lower = host.functions.get(&link.lower);
    let upper = link.upper.and_then(|u| host.functions.get(&u));
    let (Some(lower), upper) = (lower, upper.filter(|_| link.upper.is_some_and(|u| tree.role(u) == Role::Down))) else {
        return nothing("it is not in the dump");
    };
    let read = |f: &Function| f.express.as_ref().is_some_and(|e| e.speed_capable.is_some() || e.width.is_some());
    let emulated_above = upper.is_some_and(emulated);
    let with_registers = read(lower) || (upper.is_some_and(read) && !emulated_above);
    if with_registers {
        return registers(host, tree, link, lower, upper);
    }
    let claims = lower.claim.speed.is_some() || lower.claim.gigabytes.is_some() || lower.claim.empty;
    if claims || upper.is_some_and(|u| u.claim.gigabytes.is_some()) {
        return claim(host, tree, link, lower, upper);
    }
    if emulated_above {
        let why = "the port above is emulated, and the device shows no link of its own";
        return Belief { standing: Standing::Virtual(why.into()), ..nothing("") };
    }
    let why = match &lower.denied {
        Some(_) => "its capabilities could not be read without root",
        None => "the dump has no link registers",
    };
    nothing(why)
}

fn nothing(why: &str) -> Belief {
    Belief {
        standing: Standing::Unknown(why.into()),
        low: None,
        typical: None,
        high: None,
        capable: None,
        upper_capable: None,
        lower_capable: None,
        negotiated: None,
        at: None,
    }
}

fn registers(host: &Host, tree: &Tree, link: &Link, lower: &Function, upper: Option<&Function>) -> Belief {
    let emulated_above = upper.is_some_and(emulated);
    // An emulated port's registers are constants of a program.
    let upper = upper.filter(|_| !emulated_above);
    let (above, below) = (upper.and_then(capability), capability(lower));
    let capable = both(above, below);
    let width = |f: &Function| f.express.as_ref().and_then(|e| value(&e.width));
    let place = |f: &Function| f.express.as_ref().and_then(|e| e.speed.as_ref().map(|s| s.at));
    let base = Belief {
        standing: Standing::Full,
        low: None,
        typical: None,
        high: capable,
        capable,
        upper_capable: above,
        lower_capable: below,
        negotiated: status(lower).or_else(|| upper.and_then(status)),
        at: place(lower).or_else(|| upper.and_then(place)),
    };
    if width(lower) == Some(0) || (width(lower).is_none() && upper.and_then(width) == Some(0)) {
        return Belief { standing: Standing::Empty, high: None, ..base };
    }
    let (Some(now), Some(capable)) = (base.negotiated, capable) else {
        let why = "LnkCap or LnkSta is missing at both ends".to_owned();
        return match base.negotiated {
            Some(now) => Belief { low: Some(now), typical: Some(now), high: Some(now), ..base },
            None => Belief { standing: Standing::Unknown(why), typical: base.capable, ..base },
        };
    };
    if now.generation > capable.generation || now.lanes > capable.lanes {
        let why = format!("it claims {}, and its ends can do {}", shown(now), shown(capable));
        return Belief { standing: Standing::Virtual(why), typical: Some(capable), ..base };
    }
    let at_rest = idles(host, tree, link);
    if let Some(other) = upper.and_then(status)
        && other != now
    {
        // Two reads of a link that rises and falls are two moments; its width is one.
        if !(at_rest && other.lanes == now.lanes) {
            let why = format!("its ends say {} and {}: no wire has two", shown(other), shown(now));
            let typical = slower(other, now);
            let high = if typical == now { other } else { now };
            let belief = Belief { low: Some(typical), typical: Some(typical), high: Some(high), ..base };
            return Belief { standing: Standing::Virtual(why), ..belief };
        }
    }
    if emulated_above {
        let why = format!("the port above is emulated; the device itself shows {}", shown(now));
        let rest = at_rest && now.lanes == capable.lanes;
        let speed = Some(if rest { capable } else { now });
        return Belief { standing: Standing::Virtual(why), low: speed, typical: speed, high: speed, ..base };
    }
    if now == capable {
        let full = above.is_none() || below.is_none() || above == below;
        let standing = if full { Standing::Full } else { Standing::Lesser };
        return Belief { standing, low: Some(now), typical: Some(now), high: Some(now), ..base };
    }
    if at_rest && now.lanes == capable.lanes {
        let up = Some(capable);
        return Belief { standing: Standing::Idle, low: up, typical: up, high: up, ..base };
    }
    Belief { standing: Standing::Down, low: Some(now), typical: Some(now), high: Some(now), ..base }
}

fn claim(host: &Host, tree: &Tree, link: &Link, lower: &Function, upper: Option<&Function>) -> Belief {
    let at_rest = idles(host, tree, link);
    let device = gpu_of(host, tree, link).filter(|_| at_rest).unwrap_or(lower);
    let most = capable::most(device);
    // Both ends of a link have the one speed that the device can have.
    let of_hwloc = |f: &Function| f.claim.gigabytes.as_ref().and_then(|g| of_gigabytes(g.value, most, device.kind()));
    let claimed = speed(value(&lower.claim.speed), value(&lower.claim.width)).or_else(|| of_hwloc(lower));
    let above = upper.and_then(of_hwloc);
    let said = lower.claim.speed.as_ref().map(|f| f.at);
    let at = said.or_else(|| lower.claim.gigabytes.as_ref().map(|f| f.at));
    let base = Belief { negotiated: claimed.or(above), at, ..nothing("the file leaves its speed empty") };
    let Some(now) = claimed.or(above) else {
        return match upper.is_none() && lower.claim.gigabytes.is_some() {
            true => nothing("its rate is none that a link has"),
            false => base,
        };
    };
    let doubt = |why: String, low, typical, high| Belief {
        standing: Standing::Virtual(why),
        low,
        typical,
        high,
        ..base.clone()
    };
    if link.lower.made_up() {
        let why = format!("{} is not a real address: the file's author put a bridge there", link.lower);
        return doubt(why, None, None, None);
    }
    if let Some(above) = above.filter(|a| *a != now) {
        let (slow, fast) = (slower(now, above), if slower(now, above) == now { above } else { now });
        let why = format!("its ends say {} and {}: no wire has two", shown(above), shown(now));
        return doubt(why, Some(slow), Some(slow), Some(fast));
    }
    let most = most.and_then(|m| m.generation).map(|g| (g, "the device"));
    let below_processor = tree.parent(link.lower).is_none();
    let processor = of_processor(host).filter(|_| below_processor).map(|g| (g, "the processor"));
    let least = [most, processor].into_iter().flatten().min_by_key(|(g, _)| *g);
    if let Some((most, whose)) = least.filter(|(g, _)| now.generation > *g) {
        let real = Speed { generation: most, ..now };
        let why = format!("it claims {}, and {whose} can do {} GT/s", shown(now), gigatransfers(most));
        return doubt(why, None, Some(real), Some(real));
    }
    // hwloc has the speed of the moment, and a GPU that does nothing lowers it.
    if at_rest && lower.claim.speed.is_none() {
        match least.map(|(g, _)| g) {
            Some(can) if most.is_some() && can > now.generation => {
                let up = Some(Speed { generation: can, ..now });
                return Belief {
                    standing: Standing::Idle,
                    low: Some(now),
                    typical: up,
                    high: up,
                    lower_capable: up,
                    ..base
                };
            }
            // Of a processor alone nothing follows: its port may lead to an older GPU.
            _ if most.is_none() && now.generation <= Generation::Gen2 => {
                let why = format!(
                    "{} when the file was written, and the link of a GPU that is idle is slower than under load",
                    shown(now)
                );
                return Belief { standing: Standing::Unknown(why), low: Some(now), ..base };
            }
            _ => {}
        }
    }
    // A switch whose way up is claimed slower than what hangs below it: the claim that is not believed is the way up's,
    // and it is taken for what is below, as far as its ends can do that. Where they can do no more it is believed.
    let claim_of = |a: &Address| host.functions.get(a).and_then(|f| f.claim.speed.as_ref().map(|s| s.value));
    let fastest_below = tree.all_below(link.lower).iter().filter_map(claim_of).max();
    let cap = fastest_below.map(|below| least.map_or(below, |(g, _)| below.min(g)));
    if let (Some(below), Some(cap)) = (fastest_below, cap.filter(|cap| *cap > now.generation)) {
        let why = format!("it claims {} above {} GT/s", shown(now), gigatransfers(below));
        let fast = Some(Speed { generation: cap, ..now });
        // 2.5 and 5 GT/s above faster links are what switches show of their inside; more may be a slower host.
        return doubt(why, (now.generation >= Generation::Gen3).then_some(now), fast, fast);
    }
    Belief { standing: Standing::Full, low: Some(now), typical: Some(now), high: Some(now), ..base }
}
