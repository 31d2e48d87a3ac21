"""The classes of an explained host. Rates are GB/s, as their names and docs say.

Written by tools/generate.py from the program's JSON Schema: change the library's types, not this file.
"""

# ruff: noqa: E501
# pylint: skip-file
from __future__ import annotations

from typing import Any, Literal, cast

from .nodes import Named, Node, named
from .types import ReportValue as Report

__all__ = ["ExplainedValue"]

_ = (Any, Literal)


class About(Node):
    """The host itself."""

    __slots__ = ()

    @property
    def dumps(self) -> list[str]:
        """Dumps with the forms found in them."""
        return cast("list[str]", self._raw["dumps"])

    @property
    def functions(self) -> int:
        """Functions in the dumps."""
        return cast("int", self._raw["functions"])

    @property
    def name(self) -> str | None:
        """Its name in a prompt."""
        return cast("str | None", self._raw.get("name"))

    @property
    def nodes(self) -> int | None:
        """NUMA nodes."""
        return cast("int | None", self._raw.get("nodes"))

    @property
    def processor(self) -> str | None:
        """Processor."""
        return cast("str | None", self._raw.get("processor"))

    @property
    def sockets(self) -> int | None:
        """Sockets."""
        return cast("int | None", self._raw.get("sockets"))

    @property
    def virtual_machine(self) -> str | None:
        """Why it is taken for a virtual machine, if it is."""
        return cast("str | None", self._raw.get("virtual_machine"))


class Candidate(Node):
    """Something that would explain rows that are low."""

    __slots__ = ()

    @property
    def command(self) -> str:
        """The command that would show it."""
        return cast("str", self._raw["command"])

    @property
    def explains(self) -> int:
        """Low rows that it explains."""
        return cast("int", self._raw["explains"])

    @property
    def of(self) -> int:
        """Low rows in all."""
        return cast("int", self._raw["of"])

    @property
    def off_percent(self) -> float:
        """How far all rows that are low, or that it touches, are from what it predicts, percent, root mean square."""
        return cast("float", self._raw["off_percent"])

    @property
    def shows(self) -> str:
        """What that command would show."""
        return cast("str", self._raw["shows"])

    @property
    def what(self) -> str:
        """What."""
        return cast("str", self._raw["what"])


class Device(Node):
    """A device and what it should reach."""

    __slots__ = ()

    @property
    def address(self) -> str:
        """Its address."""
        return cast("str", self._raw["address"])

    @property
    def devices(self) -> list[str]:
        """Names of its operating-system devices."""
        return cast("list[str]", self._raw["devices"])

    @property
    def far(self) -> Far | None:
        """The same with memory of another node, where the host has several."""
        return None if (x := self._raw.get("far")) is None else Far(x)

    @property
    def from_memory(self) -> Expected:
        """Out of host memory: the device reads."""
        return Expected(self._raw["from_memory"])

    @property
    def id(self) -> str:
        """Its name in this report: `gpu0`."""
        return cast("str", self._raw["id"])

    @property
    def kind(self) -> str:
        """`gpu`, `nic`, `drive`, `storage`, `other`."""
        return cast("str", self._raw["kind"])

    @property
    def name(self) -> str:
        """What it is."""
        return cast("str", self._raw["name"])

    @property
    def node(self) -> int | None:
        """NUMA node."""
        return cast("int | None", self._raw.get("node"))

    @property
    def read_latency_ns(self) -> Range:
        """Unloaded latency of a read of 64 B from host memory, ns."""
        return Range(self._raw["read_latency_ns"])

    @property
    def to_memory(self) -> Expected:
        """Into host memory: the device writes."""
        return Expected(self._raw["to_memory"])


class Expected(Node):
    """An expected number."""

    __slots__ = ()

    @property
    def bound_by(self) -> str:
        """What binds it."""
        return cast("str", self._raw["bound_by"])

    @property
    def rate(self) -> Range:
        """GB/s."""
        return Range(self._raw["rate"])

    @property
    def upgrade(self) -> str | None:
        """The cheapest upgrade of what binds, and what it would give."""
        return cast("str | None", self._raw.get("upgrade"))


class Far(Node):
    """What a device should reach with memory of another node: at most what it does with its own, since the links
    between sockets and nodes are in no dump.
    """

    __slots__ = ()

    @property
    def from_memory(self) -> Range:
        """Out of it, GB/s."""
        return Range(self._raw["from_memory"])

    @property
    def read_latency_ns(self) -> Range:
        """Unloaded latency of a read of 64 B, ns."""
        return Range(self._raw["read_latency_ns"])

    @property
    def to_memory(self) -> Range:
        """Into it, GB/s."""
        return Range(self._raw["to_memory"])


class Finding(Node):
    """Something that costs, or may."""

    __slots__ = ()

    @property
    def also(self) -> list[str]:
        """Others of which the same is to be said."""
        return cast("list[str]", self._raw["also"])

    @property
    def at(self) -> str:
        """Which device or link."""
        return cast("str", self._raw["at"])

    @property
    def cost(self) -> float:
        """What it costs a device, GB/s."""
        return cast("float", self._raw["cost"])

    @property
    def cure(self) -> str:
        """What to do."""
        return cast("str", self._raw["cure"])

    @property
    def evidence(self) -> list[str]:
        """The dump's lines."""
        return cast("list[str]", self._raw["evidence"])

    @property
    def kind(self) -> str:
        """What it is about: `trained-down`, `narrow-slot`, `shared-uplink`, …"""
        return cast("str", self._raw["kind"])

    @property
    def text(self) -> str:
        """In one sentence."""
        return cast("str", self._raw["text"])


class LinkLine(Node):
    """One link."""

    __slots__ = ()

    @property
    def acs_redirect(self) -> bool | None:
        """ACS P2P Request Redirect at the port above."""
        return cast("bool | None", self._raw.get("acs_redirect"))

    @property
    def capable(self) -> str | None:
        """What both ends can do, e.g. `16 GT/s x16`."""
        return cast("str | None", self._raw.get("capable"))

    @property
    def depth(self) -> int:
        """Bridges above this link: how deep it is drawn."""
        return cast("int", self._raw["depth"])

    @property
    def evidence(self) -> str | None:
        """Where the dump says so."""
        return cast("str | None", self._raw.get("evidence"))

    @property
    def extended_tags(self) -> bool | None:
        """Extended tags enabled."""
        return cast("bool | None", self._raw.get("extended_tags"))

    @property
    def iommu_group(self) -> int | None:
        """IOMMU group."""
        return cast("int | None", self._raw.get("iommu_group"))

    @property
    def lower(self) -> str:
        """The first function at the other end."""
        return cast("str", self._raw["lower"])

    @property
    def lower_capable(self) -> str | None:
        """What the device can do."""
        return cast("str | None", self._raw.get("lower_capable"))

    @property
    def mps(self) -> int | None:
        """Max_Payload_Size in force over the way to the root complex, bytes."""
        return cast("int | None", self._raw.get("mps"))

    @property
    def mps_clamped_by(self) -> str | None:
        """The function that allows no more, where the device could send more."""
        return cast("str | None", self._raw.get("mps_clamped_by"))

    @property
    def mrrs(self) -> int | None:
        """Max_Read_Request_Size, bytes."""
        return cast("int | None", self._raw.get("mrrs"))

    @property
    def name(self) -> str:
        """What that is."""
        return cast("str", self._raw["name"])

    @property
    def node(self) -> int | None:
        """NUMA node."""
        return cast("int | None", self._raw.get("node"))

    @property
    def relaxed_ordering(self) -> bool | None:
        """Relaxed Ordering enabled."""
        return cast("bool | None", self._raw.get("relaxed_ordering"))

    @property
    def shown(self) -> str | None:
        """What the dump shows."""
        return cast("str | None", self._raw.get("shown"))

    @property
    def standing(self) -> str:
        """How the link stands: `full`, `lesser`, `down`, `idle`, `empty`, `virtual`, `unknown`."""
        return cast("str", self._raw["standing"])

    @property
    def taken(self) -> str | None:
        """What it is taken for under load."""
        return cast("str | None", self._raw.get("taken"))

    @property
    def upper(self) -> str | None:
        """The port nearer to the root complex; absent where the dump does not list it."""
        return cast("str | None", self._raw.get("upper"))

    @property
    def upper_capable(self) -> str | None:
        """What the port above can do."""
        return cast("str | None", self._raw.get("upper_capable"))

    @property
    def why(self) -> str | None:
        """Why, where that is not what the dump shows."""
        return cast("str | None", self._raw.get("why"))


class Pair(Node):
    """Two devices, peer to peer."""

    __slots__ = ()

    @property
    def bound_by(self) -> str:
        """What binds them."""
        return cast("str", self._raw["bound_by"])

    @property
    def direct(self) -> str | None:
        """NVLink or xGMI between them: copies do not cross PCI Express."""
        return cast("str | None", self._raw.get("direct"))

    @property
    def forwarded_as(self) -> str | None:
        """Whose root complexes forward as this range has it, and where that is from, if one forwards."""
        return cast("str | None", self._raw.get("forwarded_as"))

    @property
    def from_(self) -> str:
        """Who writes."""
        return cast("str", self._raw["from"])

    @property
    def simulated(self) -> Simulated | None:
        """The same by the packet simulation, where it was asked for."""
        return None if (x := self._raw.get("simulated")) is None else Simulated(x)

    @property
    def simulated_both_ways(self) -> Simulated | None:
        """Both directions at once, added, by the packet simulation: no arithmetic is given for it, since it queues."""
        return None if (x := self._raw.get("simulated_both_ways")) is None else Simulated(x)

    @property
    def through(self) -> str:
        """In words."""
        return cast("str", self._raw["through"])

    @property
    def to(self) -> str:
        """To whom."""
        return cast("str", self._raw["to"])

    @property
    def way(self) -> str:
        """`switch`, `root`, `redirected`, `sockets`, `direct`."""
        return cast("str", self._raw["way"])

    @property
    def write(self) -> Range:
        """Writes, GB/s."""
        return Range(self._raw["write"])


class Range(Node):
    """A number with its ends, GB/s (10^9 bytes a second) of payload. `low` is absent where nothing bounds it from
    below.
    """

    __slots__ = ()

    @property
    def high(self) -> float | None:
        """At most."""
        return cast("float | None", self._raw.get("high"))

    @property
    def low(self) -> float | None:
        """At least this, where the dump says enough."""
        return cast("float | None", self._raw.get("low"))

    @property
    def typical(self) -> float | None:
        """Most likely."""
        return cast("float | None", self._raw.get("typical"))


class Row(Node):
    """A measured number beside what was expected."""

    __slots__ = ()

    @property
    def because(self) -> str:
        """Why."""
        return cast("str", self._raw["because"])

    @property
    def device(self) -> str | None:
        """The device, or `gpu0 → gpu1`; absent where none fits."""
        return cast("str | None", self._raw.get("device"))

    @property
    def expected(self) -> Range:
        """GB/s."""
        return Range(self._raw["expected"])

    @property
    def file(self) -> str:
        """The file."""
        return cast("str", self._raw["file"])

    @property
    def measured(self) -> float:
        """GB/s of payload."""
        return cast("float", self._raw["measured"])

    @property
    def name(self) -> str:
        """The row as its instrument names it."""
        return cast("str", self._raw["name"])

    @property
    def verdict(self) -> str:
        """`as expected`, `low`, `high`; `not judged` where nothing can be expected, `not placed` where no device fits.
        """
        return cast("str", self._raw["verdict"])


class Simulated(Node):
    """What the packet simulation gives, GB/s of payload."""

    __slots__ = ()

    @property
    def least(self) -> float:
        """The one that gets least."""
        return cast("float", self._raw["least"])

    @property
    def note(self) -> str | None:
        """Why it ended before its means were tight, if it did."""
        return cast("str | None", self._raw.get("note"))

    @property
    def plus_minus(self) -> float | None:
        """Half of the total's interval of 95 %."""
        return cast("float | None", self._raw.get("plus_minus"))

    @property
    def total(self) -> float:
        """All together."""
        return cast("float", self._raw["total"])


class Together(Node):
    """All devices of a class at once."""

    __slots__ = ()

    @property
    def bound_by(self) -> str:
        """What binds all together: links that several of them share, or, where nothing shared binds, what binds the
        one that gets least by itself.
        """
        return cast("str", self._raw["bound_by"])

    @property
    def class_(self) -> str:
        """Which class."""
        return cast("str", self._raw["class"])

    @property
    def devices(self) -> int:
        """How many."""
        return cast("int", self._raw["devices"])

    @property
    def least(self) -> Range:
        """The one that gets least, GB/s."""
        return Range(self._raw["least"])

    @property
    def queues(self) -> str | None:
        """Why arithmetic does not suffice, where it does not: queues."""
        return cast("str | None", self._raw.get("queues"))

    @property
    def simulated(self) -> Simulated | None:
        """By the packet simulation, where it was asked for."""
        return None if (x := self._raw.get("simulated")) is None else Simulated(x)

    @property
    def total(self) -> Range:
        """All together, GB/s."""
        return Range(self._raw["total"])

    @property
    def way(self) -> str:
        """`to memory`, `from memory`, `both ways`, `each to each`."""
        return cast("str", self._raw["way"])


class Unknown(Node):
    """What no dump says."""

    __slots__ = ()

    @property
    def command(self) -> str:
        """The command that says it."""
        return cast("str", self._raw["command"])

    @property
    def what(self) -> str:
        """What."""
        return cast("str", self._raw["what"])


class ExplainedValue(Node):
    """What is said of a host."""

    __slots__ = ()

    @property
    def candidates(self) -> list[Candidate]:
        """What would explain the measured numbers, the best fit first."""
        return [Candidate(x) for x in self._raw["candidates"]]

    @property
    def devices(self) -> Named[Device]:
        """Every device behind a link, with what it should reach."""
        return named(Device, self._raw["devices"])

    @property
    def findings(self) -> list[Finding]:
        """What holds the host back, the costliest first."""
        return [Finding(x) for x in self._raw["findings"]]

    @property
    def host(self) -> About:
        """The host itself."""
        return About(self._raw["host"])

    @property
    def links(self) -> Named[LinkLine]:
        """Every link, as it is."""
        return named(LinkLine, self._raw["links"])

    @property
    def measured(self) -> Named[Row]:
        """What was measured, beside what was expected."""
        return named(Row, self._raw["measured"])

    @property
    def notes(self) -> list[str]:
        """Where dumps contradict each other, and what could not be read."""
        return cast("list[str]", self._raw["notes"])

    @property
    def pairs(self) -> list[Pair]:
        """Pairs of devices, peer to peer."""
        return [Pair(x) for x in self._raw["pairs"]]

    @property
    def schema(self) -> int:
        """Number of this form."""
        return cast("int", self._raw["schema"])

    @property
    def tell_apart(self) -> str | None:
        """The one command that tells those apart that fit about as well, and what it shows of each."""
        return cast("str | None", self._raw.get("tell_apart"))

    @property
    def together(self) -> list[Together]:
        """All devices of a class at once."""
        return [Together(x) for x in self._raw["together"]]

    @property
    def unexplained(self) -> int:
        """Low rows of devices and pairs, where no single cause explains them."""
        return cast("int", self._raw["unexplained"])

    @property
    def unknown(self) -> list[Unknown]:
        """What the dumps do not say, and what would."""
        return [Unknown(x) for x in self._raw["unknown"]]

    @property
    def workload(self) -> Report | None:
        """What a load of the user's own gets, where there is one."""
        return None if (x := self._raw.get("workload")) is None else Report(x)
