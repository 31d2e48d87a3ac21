//! Keys of PCIe: root complexes, switches, endpoints, their links, the coherent links between root complexes, and flows
//! of DMA.

use super::*;

words! {
    /// When a switch may begin to send on what it receives.
    Forwarding {
        /// As soon as the header is in and routed.
        CutThrough = "cut-through",
        /// When the whole packet is in.
        StoreAndForward = "store-and-forward",
    }
}

words! {
    /// What joins a switch's ports inside.
    Core {
        /// Any port to any other at once.
        Crossbar = "crossbar",
        /// One packet at a time.
        SharedBus = "shared-bus",
        /// All packets through one memory.
        SharedMemory = "shared-memory",
    }
}

words! {
    /// Whom a switch's port serves next.
    Arbitration {
        /// The ports that have something for it, one after the other.
        RoundRobin = "round-robin",
        /// Who has waited longest.
        OldestFirst = "oldest-first",
    }
}

words! {
    /// How packets wait in a switch's ingress port.
    Queues {
        /// A queue for each egress port.
        PerOutput = "per-output",
        /// One queue of each class: who waits holds up all behind him.
        Fifo = "fifo",
    }
}

words! {
    /// Which of its flows a requester serves next.
    Order {
        /// One TLP of each.
        Turns = "turns",
        /// One at random for each operation.
        Random = "random",
    }
}

words! {
    /// After what an engine pauses for its turn-around.
    After {
        /// Each request by itself.
        Request = "request",
        /// All of its tags together.
        Batch = "batch",
    }
}

words! {
    /// Whether a root complex passes transactions from one of its ports to another.
    PeerToPeer {
        /// It does.
        Forwards = "forwards",
        /// It does not: a peer's request is answered as unsupported.
        Refuses = "refuses",
    }
}

words! {
    /// What an IOMMU does to the addresses of devices.
    Iommu {
        /// There is none, or it is not enabled.
        Off = "off",
        /// It is enabled and lets addresses pass as they are.
        PassThrough = "pass-through",
        /// It translates them, page by page.
        On = "on",
    }
}

words! {
    /// In which order the operations of a flow fall into its window.
    AddressOrder {
        /// One behind the other, and from the beginning again.
        Sequential = "sequential",
        /// Each anywhere, aligned to its size.
        Random = "random",
    }
}

/// Which target each of several requesters has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peers {
    /// Each its counterpart in order, or all the one target.
    Pairs,
    /// The one so many places further on, around.
    Shift(Count),
    /// The next one, around.
    Ring,
    /// Each of all the others, one flow for each.
    AllToAll,
}

impl Shape for Peers {
    fn read(node: &Node) -> Result<Self, Problem> {
        const WORDS: [&str; 3] = ["pairs", "ring", "all-to-all"];
        let hint = "\"pairs\", \"ring\", \"all-to-all\", or { shift = 4 }";
        match &node.value {
            Value::Text(s) => match s.as_str() {
                "pairs" => Ok(Peers::Pairs),
                "ring" => Ok(Peers::Ring),
                "all-to-all" => Ok(Peers::AllToAll),
                _ => {
                    let near = crate::diagnostic::nearest(s, WORDS);
                    let hint = near.map_or(hint.into(), |n| format!("did you mean {n:?}?"));
                    Err(Problem("this is not a pattern".into(), hint))
                }
            },
            Value::Table(t) if t.0.len() == 1 => match t.get("shift").map(Count::read) {
                Some(shift) => Ok(Peers::Shift(shift?)),
                None => Err(Problem("this is not a pattern".into(), hint.into())),
            },
            _ => Err(Problem("this is not a pattern".into(), hint.into())),
        }
    }
    fn show(&self) -> String {
        match self {
            Peers::Pairs => "pairs".into(),
            Peers::Ring => "ring".into(),
            Peers::AllToAll => "all-to-all".into(),
            Peers::Shift(n) => format!("shift by {n}"),
        }
    }
    fn schema() -> Json {
        json!({ "oneOf": [
            { "enum": ["pairs", "ring", "all-to-all"] },
            { "type": "object", "additionalProperties": false, "required": ["shift"],
              "properties": { "shift": Count::schema() } },
        ]})
    }
}

table! {
    /// A root complex: where a host's PCIe links end, and the memory behind it.
    RootComplex, ROOT_COMPLEX, "a root complex" {
        /// Root ports it has.
        ports: default Count, One = "64" Assumed Guess "more than any plan needs";
        /// Widest link of a root port.
        lanes: opt Lanes, One;
        /// Fastest link of a root port.
        generation: opt Generation, One;
        /// Max_Payload_Size_Supported (2.0, 7.8.3).
        max_payload: opt PayloadSize, One;
        /// From the last byte of a read request at the root port to the first byte of its completion, for data in the
        /// processor's cache, without the parts named below.
        read_latency: default Time, High = "{ low = \"200 ns\", typical = \"350 ns\", high = \"800 ns\" }" Assumed Guess
            "servers of 2008 to 2020 answer a device in 400 to 900 ns in all";
        /// Clock that core_cycles and hub_cycles count.
        core_clock: opt Frequency, One;
        /// Clocks of the core that every read adds.
        core_cycles: default Count, High = "0" Assumed Likely "all of it is in read_latency";
        /// What a read from memory adds to one from the cache.
        memory_latency: default Time, High = "\"0 ns\"" Assumed Likely "all of it is in read_latency";
        /// What a read from another socket's memory adds to one from local memory.
        remote_latency: default Time, High = "\"100 ns\"" Assumed Guess "one hop between sockets";
        /// What coherency hubs between the processors add to every read.
        hub_latency: default Time, High = "\"0 ns\"" Assumed Likely "no hubs";
        /// Clocks of the core that coherency hubs add to every read from memory.
        hub_cycles: default Count, High = "0" Assumed Likely "no hubs";
        /// From the last byte of a write at the root port to its being done; delays nobody but a closed load of writes.
        write_latency: default Time, High = "\"100 ns\"" Assumed Guess
            "to the coherence point, without the device seeing it";
        /// Payload of the completions that it returns (2.0, 2.3.1.1 allows RCB multiples up to MPS).
        completion_size: default CompletionSize, Low =
            "{ low = \"64 B\", typical = \"64 B\", high = \"256 B\" }" Assumed Likely
            "most hosts return cache lines of 64 B";
        /// Reads above this size are answered in large_completion_size.
        large_read: opt Bytes, One;
        /// Payload of the completions for reads above large_read.
        large_completion_size: opt CompletionSize, Low;
        /// Reads that it works on at once.
        reads_in_flight: opt NonZeroU32, Low;
        /// When its processor reads a device: bytes of one uncached load, which is one read request.
        load_size: default LoadSize, Low = "\"64 B\"" Assumed Likely
            "a line fill buffer, with streaming loads (MOVNTDQA) from write-combining memory; plain uncached loads are \
             of 8 B or less";
        /// Loads that a core keeps in flight. Each root port is read by one core.
        loads_in_flight: default NonZeroU32, Low = "10" Assumed Likely
            "line fill buffers of an Intel core from Nehalem to Skylake (12 since); plain uncached loads go one at a \
             time";
        /// When its processor writes a device: bytes of one store, which is one write TLP.
        store_size: default LoadSize, Low = "\"64 B\"" Assumed Likely
            "a write-combining buffer that is flushed whole; plain uncached stores are of 8 B or less";
        /// What its processor stores to devices through one root port.
        store_rate: opt Rate, Low;
        /// Whether it passes transactions of one port on to another (peer to peer), and those that come over coherent
        /// links.
        peer_to_peer: default PeerToPeer, One = "\"forwards\"" Assumed Guess
            "1.3.1: optional; servers do, many desktops do not";
        /// What it passes on from port to port, all ports added. Without it, as much as its links carry.
        peer_bandwidth: opt Rate, Low;
        /// From the last byte of a transaction at one port to the first byte at another.
        peer_latency: default Time, High = "{ low = \"100 ns\", typical = \"200 ns\", high = \"500 ns\" }" Assumed Guess
            "across the mesh or the I/O die: between a switch and a read of memory";
        /// What its IOMMU does with the addresses of devices.
        iommu: default Iommu, One = "\"off\"" Assumed Guess
            "what bare metal is tuned to; virtual machines and many distributions turn it on";
        /// Size of the pages that the IOMMU translates: 4 KiB, 16 KiB, 64 KiB, 2 MiB, 32 MiB, 512 MiB or 1 GiB.
        iommu_page: default Bytes, Low = "\"4 KiB\"" Assumed Likely "without huge pages";
        /// Translations that the IOTLB holds, of all devices below it.
        iotlb_entries: default NonZeroU32, Low = "64" Assumed Likely
            "measured on servers of 2014 to 2016 (Neugebauer et al., SIGCOMM 2018)";
        /// Page walks that the IOMMU does at once.
        iommu_walks: default NonZeroU32, Low = "8" Assumed Guess "some walkers side by side";
        /// What a page walk adds to the latency of a request that misses the IOTLB.
        iommu_walk: default Time, High = "{ low = \"150 ns\", typical = \"300 ns\", high = \"500 ns\" }" Assumed Likely
            "Neugebauer et al., SIGCOMM 2018: 330 ns on a server of 2016";
        /// Time between the ends of page walks that wait for one another, where that is not iommu_walk / iommu_walks:
        /// what the memory behind the walkers allows.
        iommu_walk_interval: opt Time, High;
        /// What memory or the path to it carries, reads and writes added.
        memory_bandwidth: opt Rate, Low;
        /// In place of memory_bandwidth: what it carries of reads, whatever is written.
        read_bandwidth: opt Rate, Low;
        /// In place of memory_bandwidth: what it carries of writes, whatever is read.
        write_bandwidth: opt Rate, Low;
        /// Credits it advertises for posted headers: TLPs.
        posted_headers: opt Count, Low;
        /// Credits it advertises for posted data: 16 B each (2.0, 2.6.1).
        posted_data: opt Count, Low;
        /// Credits it advertises for non-posted headers: read requests.
        nonposted_headers: opt Count, Low;
        /// Bytes of TLPs that each port keeps until they are acknowledged (2.0, 3.5.2.1). Without it, as many as are
        /// ever in flight.
        replay_buffer: opt Bytes, Low;
        /// Clock of a backbone between the root ports and memory: a request bus for writes with their data and read
        /// requests, and a completion bus for what was read.
        backbone_clock: opt Frequency, Low;
        /// Bytes that either bus carries in a clock.
        backbone_width: opt Bytes, Low;
        /// Most bytes of one transaction on it: larger TLPs are cut into such.
        backbone_line: opt Bytes, One;
        /// Clocks to grant the request bus; they pass behind the data of the transaction before, where that was another
        /// port's.
        arbitration_clocks: default Count, High = "0" Assumed Guess "always behind the transaction before";
        /// Clocks of the request bus for the command and address of each transaction, before a write's data.
        request_clocks: default NonZeroU32, High = "1" Assumed Guess "one address phase";
        /// Clocks of the completion bus for each transaction, beside its data.
        completion_clocks: default Count, High = "1" Assumed Guess "one address phase";
        /// Time of a packet through a root port: from its last byte to its asking for the backbone, and from the
        /// backbone to the port's transmitter.
        backbone_latency: default Time, High = "\"0 ns\"" Assumed Guess
            "all of it is in read_latency and write_latency";
        /// Read requests that each port works on at once: from a request's last byte to the last byte of its last
        /// completion. Others wait in its buffer.
        backbone_reads: opt NonZeroU32, Low;
    }
}

table! {
    /// A PCIe switch.
    Switch, SWITCH, "a switch" {
        /// Downstream ports it has.
        ports: default Count, One = "64" Assumed Guess "more than any plan needs";
        /// Widest link of a port.
        lanes: opt Lanes, One;
        /// Fastest link of a port.
        generation: opt Generation, One;
        /// Max_Payload_Size_Supported (2.0, 7.8.3).
        max_payload: opt PayloadSize, One;
        /// From the first bit in to the first bit out, empty switch, equal links.
        latency: default Time, High = "{ low = \"100 ns\", typical = \"150 ns\", high = \"250 ns\" }" Assumed Likely
            "vendors of Gen1 to Gen4 switches state 100 to 250 ns";
        /// When it begins to send on what it receives.
        forwarding: default Forwarding, One = "\"cut-through\"" Assumed Likely "PCIe switches are cut-through";
        /// What joins the ports.
        core: default Core, One = "\"crossbar\"" Assumed Likely "and not blocking";
        /// Whom a port serves next. The estimate knows only turns.
        arbitration: default Arbitration, One = "\"round-robin\"" Assumed Likely
            "the arbitration that every switch has (2.0, 6.3.3)";
        /// How packets wait in an ingress port. The estimate knows no blocking.
        queues: default Queues, One = "\"per-output\"" Assumed Likely "vendors call their switches non-blocking";
        /// What a shared bus or memory carries, all ports added.
        core_bandwidth: opt Rate, Low;
        /// Credits each port advertises for posted headers: TLPs.
        posted_headers: opt Count, Low;
        /// Credits each port advertises for posted data: 16 B each.
        posted_data: opt Count, Low;
        /// Credits each port advertises for non-posted headers: read requests.
        nonposted_headers: opt Count, Low;
        /// Credits each port advertises for completion headers: TLPs.
        completion_headers: opt Count, Low;
        /// Credits each port advertises for completion data: 16 B each.
        completion_data: opt Count, Low;
        /// Bytes of TLPs that each port keeps until they are acknowledged (2.0, 3.5.2.1). Without it, as many as are
        /// ever in flight.
        replay_buffer: opt Bytes, Low;
    }
}

table! {
    /// A device with DMA engines.
    Endpoint, ENDPOINT, "an endpoint" {
        /// Widest link of its port.
        lanes: opt Lanes, One;
        /// Fastest link of its port.
        generation: opt Generation, One;
        /// Max_Payload_Size_Supported (2.0, 7.8.3).
        max_payload: opt PayloadSize, One;
        /// DMA engines that work side by side.
        engines: default NonZeroU32, One = "1" Assumed Guess "one engine";
        /// Read requests that one engine keeps outstanding.
        tags: default NonZeroU32, Low = "32" Standard Likely "2.0, 2.2.6.2: 32 tags where extended tags are off";
        /// Max_Read_Request_Size (2.0, 7.8.4).
        max_read_request: default PayloadSize, Low = "\"512 B\"" Standard Likely "2.0, 7.8.4: the value after reset";
        /// Pause of an engine between the last byte of what it waited for and its next request. Operations of a closed
        /// load pass to another engine or tag, and do not wait for it.
        turnaround: default Time, High = "\"0 ns\"" Assumed Guess "none";
        /// Whether the pause follows each request or all tags of the engine together.
        turnaround_after: default After, One = "\"request\"" Assumed Guess "each tag is used again by itself";
        /// Of a NIC that receives or transmits: bytes of a descriptor.
        descriptor: default Bytes, High = "\"16 B\"" Assumed Likely "what NICs of most vendors have";
        /// Descriptors that one read fetches.
        descriptors_fetched: default NonZeroU32, Low = "8" Assumed Guess "128 B at a time: two cache lines";
        /// Bytes of a completion entry: a descriptor written back, or an entry of a completion queue.
        completion_entry: default Bytes, High = "\"16 B\"" Assumed Likely "the size of the descriptor";
        /// Such entries that one write carries.
        entries_written: default NonZeroU32, Low = "4" Assumed Guess "a cache line at a time";
        /// Packets that one interrupt stands for, a write of 4 B (MSI-X: 3.0, 6.8.2).
        packets_an_interrupt: default NonZeroU32, Low = "32" Assumed Guess
            "moderated to some ten thousand a second and port";
        /// Bytes that a processor writes to it to say that descriptors are there: a doorbell, or the tail of a ring. It
        /// goes from the memory's root complex to the device, once so many packets are done.
        doorbell: default Bytes, High = "\"4 B\"" Assumed Likely
            "a tail register of 32 bits, as of Intel's NICs; others have 8 B";
        /// Packets that one doorbell is for.
        packets_a_doorbell: default NonZeroU32, Low = "32" Assumed Guess
            "a burst of a polling driver: rx_free_thresh and tx_rs_thresh of DPDK's are 32";
        /// Of a NIC: the rate of its port, each way. Packets take its FCS, preamble and gap there (24 B in all), and 84
        /// B at least; their size is without. Without it, the port never binds.
        line: opt Rate, Low;
        /// The device whose port it is on: one function of several there, with engines, tags and queues of its own. Its
        /// requests take turns with those of the others; ports, credits and completions are those of that device.
        function_of: opt Names, One;
        /// Bytes of its memory that processors and peers reach through its BARs; "0 B" where there is none. Held
        /// against what is asked of it.
        bar: tell Bytes, One;
        /// Share of what its link carries in TLPs (those of writes, and completions) that its engines keep up, reads
        /// and writes each: pauses between descriptors, pages and bursts. One number for a class of device.
        engine_efficiency: opt Percent, Low;
        /// Translations that the device itself holds (an address translation cache, 4.0, 10.1): what hits in it passes
        /// the IOMMU by, and goes straight to a peer where the port says acs_direct_translated. A miss costs its page
        /// walk; the messages for it are not sent.
        atc_entries: opt NonZeroU32, Low;
        /// Payload that it can move, reads and writes added.
        rate: opt Rate, Low;
        /// Payload that it can read.
        read_rate: opt Rate, Low;
        /// Payload that it can write.
        write_rate: opt Rate, Low;
        /// Time between the starts of two transfers that read.
        read_interval: opt Time, High;
        /// Time between the starts of two transfers that write.
        write_interval: opt Time, High;
        /// Time that its port loses after each TLP that it sends as a requester: writes and read requests of its
        /// operations (not a NIC's descriptors and entries, nor what it answers).
        tlp_gap: default Time, High = "\"0 ns\"" Assumed Likely "back to back";
        /// Time that its port loses after each transfer, beside `tlp_gap`: what an operation costs whatever its size.
        transfer_gap: default Time, High = "\"0 ns\"" Assumed Likely "transfers follow as their TLPs do";
        /// Time that its port loses when it turns from read requests to writes, or back.
        direction_change: default Time, High = "\"0 ns\"" Assumed Likely "reads and writes have paths of their own";
        /// Its own part of every read's latency.
        latency: default Time, High = "\"0 ns\"" Assumed Guess "none";
        /// From the last byte of another part's read request at its port to the first byte of its completion.
        read_latency: default Time, High = "\"300 ns\"" Assumed Guess "a device's memory over its own bus";
        /// Internal bus that carries what was read to its place before the read is done: adds size / bus_rate to a
        /// read's latency, and carries no more.
        bus_rate: opt Rate, Low;
        /// Rate at which it moves the data of one read to their place before the read is done: adds size / move_rate to
        /// a read's latency, and is no ceiling, since reads in flight are moved side by side.
        move_rate: opt Rate, Low;
        /// Whether TLPs between it and its partners carry the ECRC digest (2.0, 2.7.1).
        ecrc: default bool, One = "false" Standard Likely "2.0, 7.10.7: off after reset";
        /// Credits it advertises for posted headers: TLPs.
        posted_headers: opt Count, Low;
        /// Credits it advertises for posted data: 16 B each.
        posted_data: opt Count, Low;
        /// Credits it advertises for non-posted headers: read requests.
        nonposted_headers: opt Count, Low;
        /// Bytes of TLPs that each port keeps until they are acknowledged (2.0, 3.5.2.1). Without it, as many as are
        /// ever in flight.
        replay_buffer: opt Bytes, Low;
        /// Which of its flows it serves next. The estimate knows only turns.
        order: default Order, One = "\"turns\"" Assumed Likely "queues are served in turn";
    }
}

table! {
    /// A link between two ports, or one each between two lists of ports.
    Link, LINK, "a link" {
        /// The two ends, the one nearer to the root first: "part", "part.port", with * for all. A switch has ports up
        /// and down.N.
        between: must Names, One;
        /// Generation and width it trained to, e.g. "gen3 x8".
        pcie: must Speed, One;
        /// Max_Payload_Size in use on it; without it, the smallest that its ends support, or 128 B.
        mps: opt PayloadSize, One;
        /// Time of flight, one way.
        delay: default Time, High = "\"1 ns\"" Assumed Likely "20 cm of board or cable at 5 ns/m";
        /// TLPs that one Ack answers (2.0, 3.5.3.1); "never" leaves Acks out.
        ack_every: default Every, Low = "{ low = 1, typical = 4, high = 8 }" Assumed Likely
            "the Ack latency limit of x8 at MPS 128 is 67 symbol times, 3.6 full TLPs; the same for all studies";
        /// TLPs of one class that one UpdateFC answers (2.0, 2.6.1.2); "never" leaves them out.
        update_fc_every: default Every, Low = "{ low = 1, typical = 4, high = 8 }" Assumed Guess
            "as often as Acks; the same for all studies";
        /// Symbols (8b/10b) or blocks (128b/130b) between SKP ordered sets; "never" leaves them out. Without it, 1538
        /// or 375 (2.0 and 3.0, 4.2.7).
        skp_interval: opt Every, Low;
        /// Longest that a receiver holds back an Ack or UpdateFC while fewer than so many have come. Without it, the
        /// Ack latency limit (2.0, 3.5.3.1).
        dllp_limit: opt Time, Low;
        /// ACS at its upper end, of a switch: requests of a peer to another go up to the root complex (2.0, 6.12.1.1:
        /// P2P Request Redirect).
        acs_request_redirect: default bool, One = "false" Standard Likely
            "2.0, 7.16.3: off after reset; hypervisors turn it on";
        /// Completions to a peer go up, too (P2P Completion Redirect).
        acs_completion_redirect: default bool, One = "false" Standard Likely "2.0, 7.16.3: off after reset";
        /// Requests whose address the device has had translated (atc_entries) are not redirected (Direct Translated
        /// P2P).
        acs_direct_translated: default bool, One = "false" Standard Likely "2.0, 7.16.3: off after reset";
        /// Whether it lies outside the tree and only carries what it is told to.
        crosslink: default bool, One = "false" Standard Exact "PCIe is a tree";
        /// The parts whose flows cross it, for a crosslink.
        carries: opt Names, One;
    }
}

table! {
    /// A link of a host's coherent fabric between two root complexes, in one socket or across sockets.
    CoherentLink, COHERENT_LINK, "a coherent link" {
        /// The two root complexes, with * for all: "rc.0".
        between: must Names, One;
        /// What it carries one way, headers of transactions (12 or 16 B) counted.
        coherent: must Rate, Low;
        /// From the last byte of a transaction at one end to the last at the other, beside the time that its bytes
        /// take.
        delay: default Time, High = "{ low = \"20 ns\", typical = \"50 ns\", high = \"150 ns\" }" Assumed Guess
            "within a package 20 to 60 ns, between sockets 60 to 150";
    }
}

impl CoherentLink {
    /// As a link that carries transactions whole: no framing, no DLLPs, no ordered sets, and none is cut.
    pub(in crate::scenario) fn link(self) -> Link {
        let why = "a coherent link has none";
        let never = || Quantity::derived(Every(None), Origin::Assumed, Confidence::Exact, why);
        let off = || Quantity::derived(false, Origin::Assumed, Confidence::Exact, why);
        let rate = self.coherent;
        let pcie = Quantity {
            slow: Speed::coherent(rate.slow),
            fast: Speed::coherent(rate.fast),
            span: rate.span,
            ..rate.with(Speed::coherent(rate.typical))
        };
        Link {
            between: self.between,
            pcie,
            mps: None,
            delay: self.delay,
            ack_every: never(),
            update_fc_every: never(),
            skp_interval: Some(never()),
            dllp_limit: None,
            acs_request_redirect: off(),
            acs_completion_redirect: off(),
            acs_direct_translated: off(),
            crosslink: off(),
            carries: None,
        }
    }
}

table! {
    /// Traffic from a requester to a target; with * in `from`, one flow for each.
    Flow, FLOW, "a flow" {
        /// What it stands for.
        about: tell String, One;
        /// The requester: a part; "gpu.*" are all instances, "gpu.0-3" some, and a comma lists several.
        from: must String, One;
        /// The target: "host.memory", "host.cache", "host.remote", or a part, written like `from`.
        to: must String, One;
        /// Who has whom for a target, where both are several.
        pattern: default Peers, One = "\"pairs\"" Assumed Likely "what the names say";
        /// What the requester does.
        r#do: must Do, One;
        /// Bytes of one operation.
        size: must Bytes, One;
        /// Of packets: how much of their size is headers (Ethernet, IP, UDP or TCP), which goodput leaves out.
        headers: opt Bytes, High;
        /// Range of addresses in which its operations fall, of each instance, which is what an IOMMU's pages are
        /// counted over. Without it, so small a range that every translation is at hand.
        window: opt Bytes, High;
        /// In which order they fall there.
        addresses: default AddressOrder, One = "\"sequential\"" Assumed Likely
            "a large buffer from its beginning to its end";
        /// How much it wants.
        load: default Load, One = "\"saturate\"" Assumed Likely "what the system can carry is the question";
        /// Request headers: 3DW for 32-bit addresses, 4DW above 4 GiB (2.0, 2.2.4.1).
        header: default Header, One = "\"4DW\"" Assumed Likely "buffers above 4 GiB";
        /// What was measured, payload per second of each instance; held against the answer.
        measured: tell Rate, One;
    }
}

parts! {
    /// The keys of one part of PCIe.
    PartKeys {
        /// A root complex.
        RootComplex(RootComplex) = RootComplex,
        /// A switch.
        Switch(Switch) = Switch,
        /// An endpoint.
        Endpoint(Endpoint) = Endpoint,
    }
}
