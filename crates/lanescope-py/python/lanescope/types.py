"""The classes of a report: every value with its kind and its meaning.

Written by tools/generate.py from the program's JSON Schema: change the library's types, not this file.
"""

# ruff: noqa: E501
# pylint: skip-file
from __future__ import annotations

from typing import Any, Literal, cast

from .nodes import Named, Node, named
from .units import (
    Bytes, MeanRate, MeanTime, PerSecond, RangedRate, RangedTime, Rate, Share, Time, interval, ranged,
)

__all__ = ["ReportValue"]

_ = Any


Excess = Literal[
    "queue", "source", "dropped"
]
Medium = Literal[
    "pcie", "ethernet", "fibre-channel", "sas", "scsi", "infiniband", "pci", "pci-x", "isa"
]
Verdict = Literal[
    "stable", "unstable"
]


class Alike(Node):
    """Instances of a flow with equal shares."""

    __slots__ = ()

    @property
    def from_(self) -> str:
        """Their requesters: `gpu.0-3`, as a scenario names them; at most four ranges."""
        return cast("str", self._raw["from"])

    @property
    def members(self) -> list[int]:
        """Their places among the instances."""
        return cast("list[int]", self._raw["members"])

    @property
    def share(self) -> Rate:
        """Their shares, added."""
        return Rate(self._raw["share"])

    @property
    def to(self) -> str:
        """Their targets."""
        return cast("str", self._raw["to"])


class Binding(Node):
    """The element and resource that binds a flow, with the evidence."""

    __slots__ = ()

    @property
    def element(self) -> str:
        """`links.uplink toward host`, `parts.nic`, or `flows.rx`."""
        return cast("str", self._raw["element"])

    @property
    def evidence(self) -> str:
        """How one can see it."""
        return cast("str", self._raw["evidence"])

    @property
    def resource(self) -> str:
        """What of it: wire slots, tags, engine rate, …"""
        return cast("str", self._raw["resource"])


class BusClocks(Node):
    """The clocks of one bus; the parts add up to the whole."""

    __slots__ = ()

    @property
    def arbitration(self) -> int:
        """Grants that did not pass behind another port's data."""
        return cast("int", self._raw["arbitration"])

    @property
    def data(self) -> int:
        """Data."""
        return cast("int", self._raw["data"])

    @property
    def idle(self) -> BusIdleByCause:
        """Idle, by cause, in the order of [`BusIdle::ALL`]; in JSON an object with a number for each [`BusIdle`]."""
        return BusIdleByCause(self._raw["idle"])

    @property
    def overhead(self) -> int:
        """Commands and addresses, and whatever else each transaction takes beside its data."""
        return cast("int", self._raw["overhead"])

    @property
    def transactions(self) -> int:
        """Transactions (not clocks)."""
        return cast("int", self._raw["transactions"])


class BusIdleByCause(Node):
    """Idle slots by cause."""

    __slots__ = ()

    @property
    def memory(self) -> int:
        """waiting for memory"""
        return cast("int", self._raw["memory"])

    @property
    def nothing(self) -> int:
        """nothing to carry"""
        return cast("int", self._raw["nothing"])

    @property
    def port(self) -> int:
        """on its way to the bus"""
        return cast("int", self._raw["port"])

    @property
    def reads(self) -> int:
        """all reads in flight"""
        return cast("int", self._raw["reads"])


class Ending(Node):
    """Why a simulation ended."""

    __slots__ = ()

    @property
    def ending(self) -> str:
        """Which of them."""
        return cast("str", self._raw["ending"])

    @property
    def circle(self) -> list[str] | None:
        """`links.a toward sw.1: posted credits`."""
        return cast("list[str] | None", self._raw.get("circle"))

    @property
    def waiting(self) -> list[str] | None:
        """What waits, and for what."""
        return cast("list[str] | None", self._raw.get("waiting"))

    @property
    def what(self) -> str | None:
        """Who, and how."""
        return cast("str | None", self._raw.get("what"))


class FlowReport(Node):
    """One flow group."""

    __slots__ = ()

    @property
    def alike(self) -> list[Alike]:
        """Instances of PCIe that get alike, together; empty of a single one."""
        return [Alike(x) for x in self._raw.get("alike", [])]

    @property
    def both_ways(self) -> bool:
        """Whether it reads and writes in turn: rates are then per direction, and both ways are twice that."""
        return cast("bool", self._raw["both_ways"])

    @property
    def bound(self) -> RangedRate:
        """What no allocation to all instances can exceed."""
        return cast(RangedRate, ranged(Rate, self._raw["bound"]))

    @property
    def bound_also(self) -> list[str]:
        """Elements that bind other instances, where they differ; at most 64."""
        return cast("list[str]", self._raw["bound_also"])

    @property
    def bound_by(self) -> Binding:
        """What binds the share."""
        return Binding(self._raw["bound_by"])

    @property
    def each(self) -> list[Rate]:
        """The fair share of each instance, in their order."""
        return [Rate(x) for x in self._raw["each"]]

    @property
    def excess(self) -> Excess:
        """Where the rest stays when it cannot."""
        return cast("Excess", self._raw["excess"])

    @property
    def frame_rate(self) -> RangedRate | None:
        """Of frames: bits per second from destination address to FCS, all instances."""
        return None if self._raw["frame_rate"] is None else cast(RangedRate, ranged(Rate, self._raw["frame_rate"]))

    @property
    def framing_limit(self) -> Rate:
        """What line coding, framing, headers and read requests alone leave, without DLLPs and ordered sets."""
        return Rate(self._raw["framing_limit"])

    @property
    def goodput(self) -> RangedRate | None:
        """Of packets with headers, the share without these."""
        return None if self._raw["goodput"] is None else cast(RangedRate, ranged(Rate, self._raw["goodput"]))

    @property
    def instances(self) -> int:
        """Number of instances."""
        return cast("int", self._raw["instances"])

    @property
    def latency(self) -> RangedTime:
        """Unloaded time to the last byte of one operation, of the slowest instance."""
        return cast(RangedTime, ranged(Time, self._raw["latency"]))

    @property
    def latency_first(self) -> RangedTime | None:
        """Unloaded time to the first data of one operation (reads: request to first completion data), of the slowest
        instance.
        """
        return None if (x := self._raw.get("latency_first")) is None else cast(RangedTime, ranged(Time, x))

    @property
    def measured(self) -> Measured | None:
        """What the user measured, held against the answer."""
        return None if (x := self._raw.get("measured")) is None else Measured(x)

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", self._raw["name"])

    @property
    def operation(self) -> Bytes | None:
        """Payload bytes of one operation, where all have one size."""
        return None if self._raw["operation"] is None else Bytes(self._raw["operation"])

    @property
    def programs(self) -> list[ProgramReport]:
        """Of ranks: what their program takes; then with every range at its slower and at its faster end."""
        return [ProgramReport(x) for x in self._raw.get("programs", [])]

    @property
    def round_trip(self) -> RangedTime | None:
        """Unloaded time of one request to its last byte: what occupies a tag."""
        return None if (x := self._raw.get("round_trip")) is None else cast(RangedTime, ranged(Time, x))

    @property
    def share(self) -> RangedRate:
        """The fair share of all instances together."""
        return cast(RangedRate, ranged(Rate, self._raw["share"]))

    @property
    def upgrade(self) -> Upgrade | None:
        """What the next step up of what binds would give; of the first 64 flow groups."""
        return None if (x := self._raw.get("upgrade")) is None else Upgrade(x)

    @property
    def verdict(self) -> Verdict:
        """Whether the load can be carried at all."""
        return cast("Verdict", self._raw["verdict"])

    @property
    def wanted_each(self) -> list[Rate]:
        """What each instance asks for, in their order; empty where they take what there is."""
        return [Rate(x) for x in self._raw["wanted_each"]]

    @property
    def what(self) -> str:
        """`write 2 KiB, nic.0 → sw → host`, or `send 1500 B, host.0 → sw → host.1`."""
        return cast("str", self._raw["what"])


class IdleByCause(Node):
    """Idle slots by cause."""

    __slots__ = ()

    @property
    def arbitration(self) -> int:
        """lost arbitration"""
        return cast("int", self._raw["arbitration"])

    @property
    def bridge(self) -> int:
        """waiting for the bridge"""
        return cast("int", self._raw["bridge"])

    @property
    def buffer_credits(self) -> int:
        """no buffer credit"""
        return cast("int", self._raw["buffer-credits"])

    @property
    def completion_credits(self) -> int:
        """no completion credits"""
        return cast("int", self._raw["completion-credits"])

    @property
    def core(self) -> int:
        """waiting for the core"""
        return cast("int", self._raw["core"])

    @property
    def grants(self) -> int:
        """nothing granted"""
        return cast("int", self._raw["grants"])

    @property
    def host(self) -> int:
        """waiting for host memory"""
        return cast("int", self._raw["host"])

    @property
    def lane_credits(self) -> int:
        """no virtual-lane credit"""
        return cast("int", self._raw["lane-credits"])

    @property
    def non_posted_credits(self) -> int:
        """no non-posted credits"""
        return cast("int", self._raw["non-posted-credits"])

    @property
    def nothing_to_send(self) -> int:
        """nothing to send"""
        return cast("int", self._raw["nothing-to-send"])

    @property
    def pace(self) -> int:
        """the engine's own rate"""
        return cast("int", self._raw["pace"])

    @property
    def paused(self) -> int:
        """paused"""
        return cast("int", self._raw["paused"])

    @property
    def posted_credits(self) -> int:
        """no posted credits"""
        return cast("int", self._raw["posted-credits"])

    @property
    def replay_buffer(self) -> int:
        """replay buffer full"""
        return cast("int", self._raw["replay-buffer"])

    @property
    def stopped(self) -> int:
        """its destinations stopped"""
        return cast("int", self._raw["stopped"])

    @property
    def tags(self) -> int:
        """all tags in use"""
        return cast("int", self._raw["tags"])

    @property
    def turn_around(self) -> int:
        """turn-around"""
        return cast("int", self._raw["turn-around"])


class Interval(Node):
    """A mean with its 95 % confidence interval."""

    __slots__ = ()

    @property
    def half(self) -> float | None:
        """Half of the interval's width; null while there are too few batches to tell."""
        return cast("float | None", self._raw.get("half"))

    @property
    def mean(self) -> float:
        """The mean."""
        return cast("float", self._raw["mean"])


class IoCounts(Node):
    """What one worker did at one target."""

    __slots__ = ()

    @property
    def bins(self) -> list[int]:
        """I/Os of all kinds by latency, between [`BIN_EDGES`]."""
        return cast("list[int]", self._raw["bins"])

    @property
    def connections(self) -> Times:
        """Connections that were opened, used and closed; none of disks."""
        return Times(self._raw["connections"])

    @property
    def flow(self) -> str:
        """The flow: `io.3`."""
        return cast("str", self._raw["flow"])

    @property
    def moved(self) -> int:
        """Bytes that have come to their place in the time, with those of I/Os that began before it or have not ended.
        """
        return cast("int", self._raw["moved"])

    @property
    def reads(self) -> IoSide:
        """What was read."""
        return IoSide(self._raw["reads"])

    @property
    def target(self) -> str:
        """What it works on: `drive.0`, or of a network the other end."""
        return cast("str", self._raw["target"])

    @property
    def transactions(self) -> Times:
        """Transactions: an I/O and its reply, or an I/O without one."""
        return Times(self._raw["transactions"])

    @property
    def trims(self) -> IoSide:
        """What was deallocated."""
        return IoSide(self._raw["trims"])

    @property
    def worker(self) -> int:
        """Its worker, by number: several flows of one worker share a processor."""
        return cast("int", self._raw["worker"])

    @property
    def writes(self) -> IoSide:
        """What was written."""
        return IoSide(self._raw["writes"])


class IoSeen(Node):
    """All that an instrument may ask for at a moment: cumulative since the counting began."""

    __slots__ = ()

    @property
    def busy(self) -> list[Time]:
        """Of each worker, from that of the first of `counts` to that of the last: time that its processor has worked,
        s.
        """
        return [Time(x) for x in self._raw["busy"]]

    @property
    def counts(self) -> list[IoCounts]:
        """One for each worker and target, in the order of the plan's flows."""
        return [IoCounts(x) for x in self._raw["counts"]]

    @property
    def time(self) -> Time:
        """How long was counted, s."""
        return Time(self._raw["time"])


class IoSide(Node):
    """I/Os of one direction."""

    __slots__ = ()

    @property
    def bytes(self) -> int:
        """Bytes of those that are done."""
        return cast("int", self._raw["bytes"])

    @property
    def times(self) -> Times:
        """From the call of the worker to its return: Iometer's response time, fio's `clat`."""
        return Times(self._raw["times"])

    @property
    def waits(self) -> Times:
        """Before the call: what they waited for the worker's processor, from the moment at which the program wanted
        them. fio's `slat`.
        """
        return Times(self._raw["waits"])

    @property
    def whole(self) -> Times:
        """Both together, fio's `lat`: I/Os a second times its mean are the I/Os outstanding (Little's law)."""
        return Times(self._raw["whole"])


class Ledger(Node):
    """Where the bits of one direction go; the entries below `raw` add up to it."""

    __slots__ = ()

    @property
    def acks(self) -> Rate:
        """Ack DLLPs."""
        return Rate(self._raw["acks"])

    @property
    def address(self) -> Rate:
        """Of a bus: address, attributes and the target's response around data."""
        return Rate(self._raw["address"])

    @property
    def control(self) -> Rate:
        """Descriptors, completion entries and interrupts of NICs, whole TLPs."""
        return Rate(self._raw["control"])

    @property
    def flits(self) -> Rate:
        """Fixed parts of flits: DLP, CRC, FEC."""
        return Rate(self._raw["flits"])

    @property
    def framing(self) -> Rate:
        """Framing and headers of TLPs with data; of Ethernet header, FCS and padding."""
        return Rate(self._raw["framing"])

    @property
    def gap(self) -> Rate:
        """Preambles and gaps of Ethernet."""
        return Rate(self._raw["gap"])

    @property
    def idle(self) -> Rate:
        """Nothing to send."""
        return Rate(self._raw["idle"])

    @property
    def line_coding(self) -> Rate:
        """Lost to line coding."""
        return Rate(self._raw["line_coding"])

    @property
    def ordered_sets(self) -> Rate:
        """SKP ordered sets."""
        return Rate(self._raw["ordered_sets"])

    @property
    def payload(self) -> Rate:
        """Payload."""
        return Rate(self._raw["payload"])

    @property
    def raw(self) -> Rate:
        """Signalled bits per second."""
        return Rate(self._raw["raw"])

    @property
    def requests(self) -> Rate:
        """Read requests."""
        return Rate(self._raw["requests"])

    @property
    def retries(self) -> Rate:
        """Of a bus: transactions that the target sends away."""
        return Rate(self._raw["retries"])

    @property
    def turnarounds(self) -> Rate:
        """Of a bus: idle clocks behind transactions."""
        return Rate(self._raw["turnarounds"])

    @property
    def update_fc(self) -> Rate:
        """UpdateFC DLLPs."""
        return Rate(self._raw["update_fc"])

    @property
    def waits(self) -> Rate:
        """Of a bus: wait states."""
        return Rate(self._raw["waits"])


class LinkReport(Node):
    """One direction of a link at the estimated load."""

    __slots__ = ()

    @property
    def from_(self) -> str:
        """The end that sends."""
        return cast("str", self._raw["from"])

    @property
    def ledger(self) -> Ledger:
        """Where its bits go."""
        return Ledger(self._raw["ledger"])

    @property
    def medium(self) -> Medium:
        """What it is."""
        return cast("Medium", self._raw["medium"])

    @property
    def name(self) -> str:
        """The link."""
        return cast("str", self._raw["name"])

    @property
    def payload(self) -> RangedRate:
        """Payload bits per second, with the corners."""
        return cast(RangedRate, ranged(Rate, self._raw["payload"]))

    @property
    def speed(self) -> str:
        """`gen3 x8`, `10 Gb/s Ethernet`, `4GFC`, `ultra320 SCSI`, or `pci-x 133 64-bit`: for people."""
        return cast("str", self._raw["speed"])

    @property
    def tlp_overhead(self) -> Bytes | None:
        """Bytes around the payload of one data TLP: framing and header, the mean over its TLPs; of a frame, with
        preamble and gap. `None` without data.
        """
        return None if (x := self._raw.get("tlp_overhead")) is None else Bytes(x)

    @property
    def tlps(self) -> PerSecond:
        """Data-carrying TLPs and read requests per second; of Ethernet, frames."""
        return PerSecond(self._raw["tlps"])

    @property
    def to(self) -> str:
        """The end that receives; empty for a bus, which all its ends share."""
        return cast("str", self._raw["to"])


class Measured(Node):
    """A measured value against the answer."""

    __slots__ = ()

    @property
    def above_bound(self) -> int:
        """How many instances are above their bound, every range at its faster end: then measurement or scenario is
        wrong.
        """
        return cast("int", self._raw["above_bound"])

    @property
    def each(self) -> Rate:
        """As given, of each instance."""
        return Rate(self._raw["each"])

    @property
    def unexplained(self) -> list[Rate]:
        """What is not explained: share minus measured, of each instance; negative when more was measured than
        predicted.
        """
        return [Rate(x) for x in self._raw["unexplained"]]


class NotModelled(Node):
    """A key that stands in the scenario and that an answer takes no account of."""

    __slots__ = ()

    @property
    def key(self) -> str:
        """The key as `--set` would write it: `links.lan.ecmp`."""
        return cast("str", self._raw["key"])

    @property
    def mechanism(self) -> str:
        """What it has to do with, in one word of kebab-case: `arbitration`, `congestion-control`."""
        return cast("str", self._raw["mechanism"])

    @property
    def methods(self) -> list[str]:
        """Which methods do not model it: `estimate`, `simulate`."""
        return cast("list[str]", self._raw["methods"])

    @property
    def why(self) -> str:
        """Why, and what is assumed in its place: one sentence."""
        return cast("str", self._raw["why"])


class Note(Node):
    """A remark on an answer."""

    __slots__ = ()

    @property
    def element(self) -> str:
        """What it is about: `flows.rx`, `links.uplink toward host`, `parts.sw`."""
        return cast("str", self._raw["element"])

    @property
    def mechanism(self) -> str:
        """What is at work, in one word of kebab-case: `head-of-line-blocking`, `pause`."""
        return cast("str", self._raw["mechanism"])

    @property
    def text(self) -> str:
        """For a person: one sentence."""
        return cast("str", self._raw["text"])


class OverSeeds(Node):
    """A flow group over several seeds: means of independent runs. Maxima and tail percentiles have their intervals
    only from here.
    """

    __slots__ = ()

    @property
    def dropped(self) -> Interval | None:
        """Frames dropped in each run."""
        return None if self._raw["dropped"] is None else Interval(self._raw["dropped"])

    @property
    def latency(self) -> MeanTime:
        """Mean time of an operation."""
        return cast(MeanTime, interval(Time, self._raw["latency"]))

    @property
    def max(self) -> MeanTime:
        """The longest of each run."""
        return cast(MeanTime, interval(Time, self._raw["max"]))

    @property
    def p99(self) -> MeanTime:
        """99 % of the operations took no longer."""
        return cast(MeanTime, interval(Time, self._raw["p99"]))

    @property
    def rate(self) -> MeanRate:
        """Payload of all instances."""
        return cast(MeanRate, interval(Rate, self._raw["rate"]))

    @property
    def seeds(self) -> int:
        """How many."""
        return cast("int", self._raw["seeds"])

    @property
    def transit_max(self) -> MeanTime | None:
        """The longest of each run, from leaving the application."""
        return None if self._raw["transit_max"] is None else cast(MeanTime, interval(Time, self._raw["transit_max"]))


class ProgramReport(Node):
    """A message program's answer."""

    __slots__ = ()

    @property
    def accounts(self) -> list[RankAccount]:
        """One per rank; empty where nothing keeps it (an estimate)."""
        return [RankAccount(x) for x in self._raw["accounts"]]

    @property
    def bytes(self) -> int:
        """Bytes in them, without any header."""
        return cast("int", self._raw["bytes"])

    @property
    def collectives(self) -> list[str]:
        """Its collectives and how they are done, each once; at most 64: `allreduce 1 MB: Rabenseifner (reduce-scatter
        + allgather)`.
        """
        return cast("list[str]", self._raw.get("collectives", []))

    @property
    def flow(self) -> str:
        """The flow of the scenario that runs it."""
        return cast("str", self._raw["flow"])

    @property
    def messages(self) -> int:
        """Messages sent, those of collectives among them."""
        return cast("int", self._raw["messages"])

    @property
    def ranks(self) -> int:
        """Ranks of the job."""
        return cast("int", self._raw["ranks"])

    @property
    def rows(self) -> Named[ProgramRow]:
        """What was timed, in the order of the program."""
        return named(ProgramRow, self._raw["rows"])

    @property
    def time(self) -> Time:
        """Until the last rank was done, seconds."""
        return Time(self._raw["time"])

    @property
    def title(self) -> str:
        """`imb PingPong, 2 ranks`."""
        return cast("str", self._raw["title"])


class ProgramRow(Node):
    """One row: a section of the program under the clock."""

    __slots__ = ()

    @property
    def algorithm(self) -> str | None:
        """How its collectives are done; null where it has none."""
        return cast("str | None", self._raw["algorithm"])

    @property
    def bytes(self) -> int | None:
        """Size of a message; null where there is none."""
        return cast("int | None", self._raw.get("bytes"))

    @property
    def interval(self) -> MeanTime | None:
        """The slowest rank's time over repetitions, seconds."""
        return None if (x := self._raw.get("interval")) is None else cast(MeanTime, interval(Time, x))

    @property
    def messages_per_second(self) -> PerSecond | None:
        """Messages/s, likewise."""
        return None if (x := self._raw.get("messages_per_second")) is None else PerSecond(x)

    @property
    def name(self) -> str:
        """`PingPong`, `is.C iteration`."""
        return cast("str", self._raw["name"])

    @property
    def ranks(self) -> int:
        """Ranks that took part."""
        return cast("int", self._raw["ranks"])

    @property
    def rate(self) -> float | None:
        """The rate printed, bytes/s, over the slowest rank's time; null where none is."""
        return cast("float | None", self._raw.get("rate"))

    @property
    def repetitions(self) -> int:
        """Repetitions that the real instrument makes."""
        return cast("int", self._raw["repetitions"])

    @property
    def simulated(self) -> int:
        """Repetitions that these times are means of; 0 where they were worked out."""
        return cast("int", self._raw["simulated"])

    @property
    def t_avg(self) -> Time:
        """The mean over ranks, seconds."""
        return Time(self._raw["t_avg"])

    @property
    def t_max(self) -> Time:
        """Of the slowest rank, seconds."""
        return Time(self._raw["t_max"])

    @property
    def t_min(self) -> Time:
        """The time printed of the rank that was fastest, seconds: of a repetition, halved where the instrument halves.
        """
        return Time(self._raw["t_min"])


class Provenance(Node):
    """What made a report: the same plan and version give the same answer."""

    __slots__ = ()

    @property
    def methods(self) -> list[str]:
        """Methods that answered."""
        return cast("list[str]", self._raw["methods"])

    @property
    def plan(self) -> str:
        """Hash of the resolved plan."""
        return cast("str", self._raw["plan"])

    @property
    def program(self) -> str:
        """Program and version."""
        return cast("str", self._raw["program"])


class RankAccount(Node):
    """Where a rank's time went, seconds; the parts add up to the time until it was done."""

    __slots__ = ()

    @property
    def computing(self) -> Time:
        """Working."""
        return Time(self._raw["computing"])

    @property
    def copying(self) -> Time:
        """Copying between buffers."""
        return Time(self._raw["copying"])

    @property
    def overhead(self) -> Time:
        """In the library: the overheads of sending, receiving and matching."""
        return Time(self._raw["overhead"])

    @property
    def waiting(self) -> Time:
        """Waiting for messages."""
        return Time(self._raw["waiting"])


class SimulatedBackbone(Node):
    """A root complex's backbone, simulated: every clock of the measured time, cut between transactions."""

    __slots__ = ()

    @property
    def clock(self) -> PerSecond:
        """Clocks a second, Hz."""
        return PerSecond(self._raw["clock"])

    @property
    def completion(self) -> BusClocks:
        """The bus of what was read."""
        return BusClocks(self._raw["completion"])

    @property
    def name(self) -> str:
        """The root complex."""
        return cast("str", self._raw["name"])

    @property
    def request(self) -> BusClocks:
        """The bus of writes with their data, and of read requests."""
        return BusClocks(self._raw["request"])

    @property
    def width(self) -> int:
        """Bytes that a clock carries."""
        return cast("int", self._raw["width"])


class SimulatedFlow(Node):
    """One flow group, simulated. Rates are payload bits per second, times are seconds."""

    __slots__ = ()

    @property
    def backlog(self) -> int:
        """Of an open load: operations that had arrived and not begun, at the end."""
        return cast("int", self._raw["backlog"])

    @property
    def bound_by(self) -> Binding:
        """What binds, as the ledger shows it."""
        return Binding(self._raw["bound_by"])

    @property
    def each(self) -> list[Rate]:
        """Payload of each instance."""
        return [Rate(x) for x in self._raw["each"]]

    @property
    def frames(self) -> SimulatedFrames | None:
        """Of frames: what Ethernet counts."""
        return None if self._raw["frames"] is None else SimulatedFrames(self._raw["frames"])

    @property
    def goodput(self) -> Rate | None:
        """Of packets with headers, the rate without these."""
        return None if self._raw["goodput"] is None else Rate(self._raw["goodput"])

    @property
    def in_flight(self) -> float:
        """Operations in flight, on average: by their beginnings and ends."""
        return cast("float", self._raw["in_flight"])

    @property
    def ios(self) -> SimulatedIos | None:
        """Of I/Os: where their time went."""
        return None if self._raw["ios"] is None else SimulatedIos(self._raw["ios"])

    @property
    def latency(self) -> MeanTime:
        """Time of an operation, from its beginning (an arrival, or the first TLP of a saturating load) to its last
        byte.
        """
        return cast(MeanTime, interval(Time, self._raw["latency"]))

    @property
    def latency_first(self) -> Time | None:
        """To the first data, of reads."""
        return None if (x := self._raw.get("latency_first")) is None else Time(x)

    @property
    def little(self) -> float:
        """The same by Little's law: operations per second x mean latency."""
        return cast("float", self._raw["little"])

    @property
    def max(self) -> Time:
        """The longest."""
        return Time(self._raw["max"])

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", self._raw["name"])

    @property
    def operations(self) -> int:
        """Operations done in the measured time."""
        return cast("int", self._raw["operations"])

    @property
    def over_seeds(self) -> OverSeeds | None:
        """The same over several seeds, where there were several."""
        return None if self._raw["over_seeds"] is None else OverSeeds(self._raw["over_seeds"])

    @property
    def p50(self) -> Time:
        """Percentiles of the same over the measured time; of I/Os, of those that began in it."""
        return Time(self._raw["p50"])

    @property
    def p99(self) -> Time:
        """99 %."""
        return Time(self._raw["p99"])

    @property
    def p999(self) -> Time:
        """99.9 %."""
        return Time(self._raw["p999"])

    @property
    def program(self) -> ProgramReport | None:
        """Of ranks: what their program took."""
        return None if self._raw["program"] is None else ProgramReport(self._raw["program"])

    @property
    def rate(self) -> MeanRate:
        """Payload of all instances; per direction where it alternates."""
        return cast(MeanRate, interval(Rate, self._raw["rate"]))

    @property
    def unstable(self) -> bool:
        """Whether the backlog grows without end, or the load gets far less than it asks for."""
        return cast("bool", self._raw["unstable"])


class SimulatedFrames(Node):
    """The frames of a flow group in the measured time."""

    __slots__ = ()

    @property
    def delivered(self) -> int:
        """Frames delivered."""
        return cast("int", self._raw["delivered"])

    @property
    def discarded(self) -> int:
        """Frames of RoCE that came and that their receiver did not take: behind a lost one, or twice."""
        return cast("int", self._raw["discarded"])

    @property
    def dropped(self) -> int:
        """Frames dropped, anywhere."""
        return cast("int", self._raw["dropped"])

    @property
    def in_flight(self) -> int:
        """Frames in adapters, on wires and in switches at the end."""
        return cast("int", self._raw["in_flight"])

    @property
    def marked(self) -> int:
        """Frames delivered with a mark of congestion, and the notifications that their sources were sent for them."""
        return cast("int", self._raw["marked"])

    @property
    def notified(self) -> int:
        """See `marked`."""
        return cast("int", self._raw["notified"])

    @property
    def rate(self) -> MeanRate:
        """Bits per second delivered, from destination address to FCS, all instances."""
        return cast(MeanRate, interval(Rate, self._raw["rate"]))

    @property
    def refused(self) -> int:
        """Of `dropped`: frames of messages for which the station's queue had no room."""
        return cast("int", self._raw["refused"])

    @property
    def resent(self) -> int:
        """Of `sent`: frames of RoCE that were sent again."""
        return cast("int", self._raw["resent"])

    @property
    def sent(self) -> int:
        """Frames that left the application, or were dropped there."""
        return cast("int", self._raw["sent"])

    @property
    def transit(self) -> MeanTime:
        """Time of an operation from its first byte's leaving the application to its last byte."""
        return cast(MeanTime, interval(Time, self._raw["transit"]))

    @property
    def transit_max(self) -> Time:
        """The longest."""
        return Time(self._raw["transit_max"])

    @property
    def transit_p99(self) -> Time:
        """99 % of them took no longer."""
        return Time(self._raw["transit_p99"])


class SimulatedIos(Node):
    """The I/Os of a flow group in the measured time."""

    __slots__ = ()

    @property
    def busy(self) -> list[tuple[str, float]]:
        """What of that which takes part in them has worked, and the share of the time: workers, adapters and their
        memories, targets; the busiest first, at most 16.
        """
        return [tuple(x) for x in self._raw["busy"]]

    @property
    def cached(self) -> int:
        """Bytes that the write caches of its targets held more at the end than when measuring began; negative where
        they held less. Those that other flows write to as well count whole.
        """
        return cast("int", self._raw["cached"])

    @property
    def latencies(self) -> list[list[tuple[int, int]]]:
        """The latencies of the same, reads and writes."""
        return [[tuple(x) for x in x] for x in self._raw.get("latencies", [[], []])]

    @property
    def oldest(self) -> Time:
        """How long the oldest I/O that is in flight at the end has been wanted, s; 0 where none is. What is longer
        than any I/O that was done has been overtaken by others.
        """
        return Time(self._raw["oldest"])

    @property
    def per_second(self) -> PerSecond:
        """I/Os done per second, all instances."""
        return PerSecond(self._raw["per_second"])

    @property
    def seen(self) -> IoSeen:
        """What instruments count: of I/Os that began in the measured time and are done."""
        return IoSeen(self._raw["seen"])

    @property
    def stages(self) -> list[Time]:
        """Mean time in each of [`STAGES`], s; they add up to the mean latency of the I/Os counted."""
        return [Time(x) for x in self._raw["stages"]]

    @property
    def trim_latencies(self) -> list[tuple[int, int]]:
        """Those of trims."""
        return [tuple(x) for x in self._raw.get("trim_latencies", [])]


class SimulatedLink(Node):
    """One direction of a link, simulated: every slot of the measured time."""

    __slots__ = ()

    @property
    def coded(self) -> Rate:
        """Bits per second after line coding: the rate of the slots."""
        return Rate(self._raw["coded"])

    @property
    def from_(self) -> str:
        """The end that sends."""
        return cast("str", self._raw["from"])

    @property
    def medium(self) -> Medium:
        """What it is."""
        return cast("Medium", self._raw["medium"])

    @property
    def name(self) -> str:
        """The link."""
        return cast("str", self._raw["name"])

    @property
    def pauses(self) -> tuple[int, int]:
        """Pause frames (PAUSE or PFC) that ask to stop, and to go on, in the measured time."""
        return cast("tuple[int, int]", tuple(self._raw.get("pauses", [0, 0])))

    @property
    def payload(self) -> MeanRate:
        """Payload bits per second."""
        return cast(MeanRate, interval(Rate, self._raw["payload"]))

    @property
    def slots(self) -> SlotCounts:
        """Slots of the measured time, cut between packets."""
        return SlotCounts(self._raw["slots"])

    @property
    def to(self) -> str:
        """The end that receives; empty for a bus, which all its ends share."""
        return cast("str", self._raw["to"])


class SimulatedMemory(Node):
    """The memory of an Ethernet switch in the measured time."""

    __slots__ = ()

    @property
    def at_end(self) -> int:
        """In use at the end, bytes."""
        return cast("int", self._raw["at_end"])

    @property
    def most(self) -> int:
        """The most in use, bytes."""
        return cast("int", self._raw["most"])

    @property
    def no_headroom(self) -> int:
        """Frames dropped because a port and priority had used up its headroom."""
        return cast("int", self._raw["no_headroom"])

    @property
    def no_memory(self) -> int:
        """Frames dropped because the memory was full."""
        return cast("int", self._raw["no_memory"])

    @property
    def size(self) -> int:
        """Bytes that there are, of all ports together."""
        return cast("int", self._raw["size"])


class SimulatedSwitch(Node):
    """A switch, simulated."""

    __slots__ = ()

    @property
    def latency(self) -> Time:
        """First bit in to first bit out, the mean, s; 0 without packets. Of Ethernet from where the key `latency`
        counts: the last bit in, or that of the header.
        """
        return Time(self._raw["latency"])

    @property
    def latency_max(self) -> Time:
        """The longest, s."""
        return Time(self._raw["latency_max"])

    @property
    def memory(self) -> SimulatedMemory | None:
        """Of an Ethernet switch: what its memory held and what it dropped."""
        return None if self._raw["memory"] is None else SimulatedMemory(self._raw["memory"])

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", self._raw["name"])

    @property
    def tlps(self) -> int:
        """TLPs or frames that it carried."""
        return cast("int", self._raw["tlps"])


class Simulation(Node):
    """What a simulation gave."""

    __slots__ = ()

    @property
    def backbones(self) -> Named[SimulatedBackbone]:
        """Backbones of root complexes, in the order of the parts."""
        return named(SimulatedBackbone, self._raw.get("backbones", []))

    @property
    def both_ways(self) -> MeanRate:
        """All flows together, bits per second, with reads and writes of alternating flows added."""
        return cast(MeanRate, interval(Rate, self._raw["both_ways"]))

    @property
    def ending(self) -> Ending:
        """Why it ended."""
        return Ending(self._raw["ending"])

    @property
    def events(self) -> int:
        """Events of the kernel, from the beginning."""
        return cast("int", self._raw["events"])

    @property
    def fingerprint(self) -> str:
        """A hash of what was done when: the same plan, seed and version give the same."""
        return cast("str", self._raw["fingerprint"])

    @property
    def flow_level(self) -> bool | None:
        """Whether messages were followed as flows, not packet by packet."""
        return cast("bool | None", self._raw.get("flow_level"))

    @property
    def flows(self) -> Named[SimulatedFlow]:
        """One per flow group, in the order of the report."""
        return named(SimulatedFlow, self._raw["flows"])

    @property
    def links(self) -> Named[SimulatedLink]:
        """Directions of links, in the order of the report."""
        return named(SimulatedLink, self._raw["links"])

    @property
    def not_modelled(self) -> list[NotModelled] | None:
        """Keys that the scenario states and the simulation does not model; in a [`Report`] they stand there."""
        return None if (x := self._raw.get("not_modelled")) is None else [NotModelled(x) for x in x]

    @property
    def notes(self) -> list[Note] | None:
        """Remarks; in a [`Report`] they stand there."""
        return None if (x := self._raw.get("notes")) is None else [Note(x) for x in x]

    @property
    def packets(self) -> int:
        """TLPs and frames carried over links, from the beginning; at flow level, messages begun."""
        return cast("int", self._raw["packets"])

    @property
    def seed(self) -> int:
        """Start of all random numbers."""
        return cast("int", self._raw["seed"])

    @property
    def switches(self) -> Named[SimulatedSwitch]:
        """Switches, in the order of the report."""
        return named(SimulatedSwitch, self._raw["switches"])

    @property
    def threads(self) -> int | None:
        """Threads that it ran on, at most at once; left out where it is one. The outcome is the same with any number.
        """
        return cast("int | None", self._raw.get("threads"))

    @property
    def until(self) -> Share | None:
        """Intervals of the means asked for, as a share; `None` when the length was asked for."""
        return None if (x := self._raw.get("until")) is None else Share(x)

    @property
    def warmup(self) -> Time:
        """What was left out at the beginning, s."""
        return Time(self._raw["warmup"])

    @property
    def window(self) -> Time:
        """The measured time after that, s."""
        return Time(self._raw["window"])


class SlotCounts(Node):
    """The slots (bytes after line coding) of one direction of a link; the parts add up to the whole."""

    __slots__ = ()

    @property
    def acks(self) -> int:
        """Ack DLLPs."""
        return cast("int", self._raw["acks"])

    @property
    def address(self) -> int:
        """Of a bus: address, attributes and the target's response around data."""
        return cast("int", self._raw["address"])

    @property
    def arbitration(self) -> int:
        """Arbitration and selection on a shared bus."""
        return cast("int", self._raw["arbitration"])

    @property
    def control(self) -> int:
        """PAUSE, PFC and other control frames, with their preamble and gap."""
        return cast("int", self._raw["control"])

    @property
    def controls(self) -> int:
        """Control frames (not slots)."""
        return cast("int", self._raw["controls"])

    @property
    def data_tlps(self) -> int:
        """TLPs or frames with data (not slots)."""
        return cast("int", self._raw["data_tlps"])

    @property
    def framing(self) -> int:
        """Framing, headers and fill of TLPs with data."""
        return cast("int", self._raw["framing"])

    @property
    def gap(self) -> int:
        """Preamble, start delimiter and gap of frames."""
        return cast("int", self._raw["gap"])

    @property
    def idle(self) -> IdleByCause:
        """Idle, by cause, in the order of [`Idle::ALL`]; in JSON an object with a number for each [`Idle`]."""
        return IdleByCause(self._raw["idle"])

    @property
    def ordered_sets(self) -> int:
        """SKP ordered sets."""
        return cast("int", self._raw["ordered_sets"])

    @property
    def padding(self) -> int:
        """Fill of the last symbol time before idle."""
        return cast("int", self._raw["padding"])

    @property
    def payload(self) -> int:
        """Payload, first transmissions."""
        return cast("int", self._raw["payload"])

    @property
    def replays(self) -> int:
        """Second and later transmissions, whole."""
        return cast("int", self._raw["replays"])

    @property
    def requests(self) -> int:
        """Read requests."""
        return cast("int", self._raw["requests"])

    @property
    def retries(self) -> int:
        """Of a bus: transactions that the target sent away."""
        return cast("int", self._raw["retries"])

    @property
    def tlps(self) -> int:
        """TLPs or frames (not slots)."""
        return cast("int", self._raw["tlps"])

    @property
    def turnarounds(self) -> int:
        """Of a bus: idle clocks behind transactions, in which the lines change hands."""
        return cast("int", self._raw["turnarounds"])

    @property
    def update_fc(self) -> int:
        """UpdateFC DLLPs."""
        return cast("int", self._raw["update_fc"])

    @property
    def waits(self) -> int:
        """Of a bus: wait states."""
        return cast("int", self._raw["waits"])


class SwitchReport(Node):
    """A switch."""

    __slots__ = ()

    @property
    def latency(self) -> RangedTime:
        """First bit in to first bit out, empty switch; of Ethernet, its `latency`: from the last bit that it waits
        for.
        """
        return cast(RangedTime, ranged(Time, self._raw["latency"]))

    @property
    def name(self) -> str:
        """Its name."""
        return cast("str", self._raw["name"])


class Times(Node):
    """Times of something that was counted."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many."""
        return cast("int", self._raw["count"])

    @property
    def max(self) -> float:
        """The longest, s; 0 without any."""
        return cast("float", self._raw["max"])

    @property
    def min(self) -> float:
        """The shortest, s; 0 without any."""
        return cast("float", self._raw["min"])

    @property
    def squares(self) -> float:
        """The sum of their squares, s²."""
        return cast("float", self._raw["squares"])

    @property
    def sum(self) -> float:
        """Their sum, s."""
        return cast("float", self._raw["sum"])


class Total(Node):
    """All flows together. Flows that alternate count per direction, except in `both_ways`."""

    __slots__ = ()

    @property
    def both_ways(self) -> RangedRate:
        """The same with the reads and writes of alternating flows added."""
        return cast(RangedRate, ranged(Rate, self._raw["both_ways"]))

    @property
    def bound(self) -> RangedRate:
        """What no allocation can exceed."""
        return cast(RangedRate, ranged(Rate, self._raw["bound"]))

    @property
    def bound_by(self) -> Binding:
        """What binds most flows."""
        return Binding(self._raw["bound_by"])

    @property
    def framing_limit(self) -> Rate:
        """What line coding, framing, headers and read requests alone leave."""
        return Rate(self._raw["framing_limit"])

    @property
    def share(self) -> RangedRate:
        """Fair shares, added."""
        return cast(RangedRate, ranged(Rate, self._raw["share"]))


class Upgrade(Node):
    """What a change of the binding element would give."""

    __slots__ = ()

    @property
    def change(self) -> str:
        """The change, as `path=value` where a scenario can say it."""
        return cast("str", self._raw["change"])

    @property
    def each(self) -> list[Rate]:
        """The share of each instance then."""
        return [Rate(x) for x in self._raw["each"]]

    @property
    def fits(self) -> bool:
        """Whether the parts as described allow it; else they must change too."""
        return cast("bool", self._raw["fits"])

    @property
    def share(self) -> Rate:
        """The share of all instances then."""
        return Rate(self._raw["share"])

    @property
    def then(self) -> Binding:
        """What would bind then."""
        return Binding(self._raw["then"])


class ReportValue(Node):
    """The answer to one scenario."""

    __slots__ = ()

    @property
    def flows(self) -> Named[FlowReport]:
        """One per flow group."""
        return named(FlowReport, self._raw["flows"])

    @property
    def links(self) -> Named[LinkReport]:
        """One per link and direction."""
        return named(LinkReport, self._raw["links"])

    @property
    def not_modelled(self) -> list[NotModelled]:
        """Keys that the scenario states and a method does not model."""
        return [NotModelled(x) for x in self._raw.get("not_modelled", [])]

    @property
    def notes(self) -> list[Note]:
        """What a method has to say about its answer: why two of them differ, what holds a flow back that its share
        does not show.
        """
        return [Note(x) for x in self._raw.get("notes", [])]

    @property
    def provenance(self) -> Provenance:
        """What made this report."""
        return Provenance(self._raw["provenance"])

    @property
    def schema(self) -> int:
        """[`SCHEMA`]."""
        return cast("int", self._raw["schema"])

    @property
    def simulation(self) -> Simulation | None:
        """The same, packet by packet, where it was simulated. Flows, links and switches are in the same order."""
        return None if self._raw["simulation"] is None else Simulation(self._raw["simulation"])

    @property
    def switches(self) -> Named[SwitchReport]:
        """Unloaded latency of each switch, in seconds."""
        return named(SwitchReport, self._raw["switches"])

    @property
    def title(self) -> str:
        """The scenario's title."""
        return cast("str", self._raw["title"])

    @property
    def total(self) -> Total | None:
        """All flows together; `None` when there are none."""
        return None if (x := self._raw.get("total")) is None else Total(x)

    @property
    def warnings(self) -> list[str]:
        """Warnings that came up on the way."""
        return cast("list[str]", self._raw["warnings"])
