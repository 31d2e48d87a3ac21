"""The classes of a collective of GPUs.

Written by tools/generate.py from the program's JSON Schema: change the library's types, not this file.
"""

# ruff: noqa: E501
# pylint: skip-file
from __future__ import annotations

from typing import Any, Literal, cast

from .nodes import Named, Node, named
from .units import Rate, Share, Time

__all__ = ["CollectiveValue"]

_ = (Any, Named, named)


Collective = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"
]


class CollectiveRow(Node):
    """One size."""

    __slots__ = ()

    @property
    def algbw(self) -> Rate:
        """Bytes by time, bytes per second."""
        return Rate(8 * self._raw["algbw"])

    @property
    def algorithm(self) -> str:
        """How ranks pass data on."""
        return cast("str", self._raw["algorithm"])

    @property
    def bound(self) -> Rate:
        """The most that this algorithm can have: what its busiest element carries."""
        return Rate(8 * self._raw["bound"])

    @property
    def bound_by(self) -> str:
        """That element."""
        return cast("str", self._raw["bound_by"])

    @property
    def busbw(self) -> Rate:
        """As nccl-tests relates it to links, bytes per second."""
        return Rate(8 * self._raw["busbw"])

    @property
    def bytes(self) -> int:
        """Bytes, as nccl-tests counts them."""
        return cast("int", self._raw["bytes"])

    @property
    def parts(self) -> Parts:
        """Seconds of it: the call, hops, filling the pipeline, and the busiest element."""
        return Parts(self._raw["parts"])

    @property
    def protocol(self) -> str:
        """How they tell one another."""
        return cast("str", self._raw["protocol"])

    @property
    def range(self) -> tuple[Rate, Rate] | None:
        """Bus bandwidth with every range at its slower, and at its faster end."""
        return None if (x := self._raw.get("range")) is None else (Rate(8 * x[0]), Rate(8 * x[1]))

    @property
    def simulated(self) -> SimulatedCollective | None:
        """Packet by packet, where it was simulated."""
        return None if (x := self._raw.get("simulated")) is None else SimulatedCollective(x)

    @property
    def takes(self) -> str:
        """What most of the time goes to: that element, hops, or the launch."""
        return cast("str", self._raw["takes"])

    @property
    def time(self) -> Time:
        """Expected time, seconds."""
        return Time(self._raw["time"])


class Parts(Node):
    """Where the time goes, seconds."""

    __slots__ = ()

    @property
    def busy(self) -> Time:
        """The busiest element, at work."""
        return Time(self._raw["busy"])

    @property
    def filling(self) -> Time:
        """What the busiest element waits for beside that: pipelines that fill and drain, steps that wait for a slice.
        """
        return Time(self._raw["filling"])

    @property
    def hops(self) -> Time:
        """Hops and stages, one after the other."""
        return Time(self._raw["hops"])

    @property
    def launch(self) -> Time:
        """The call."""
        return Time(self._raw["launch"])


class SimulatedCollective(Node):
    """A simulated row."""

    __slots__ = ()

    @property
    def busbw(self) -> Rate:
        """Bytes per second."""
        return Rate(8 * self._raw["busbw"])

    @property
    def busiest(self) -> str:
        """The element that was busy longest."""
        return cast("str", self._raw["busiest"])

    @property
    def busy(self) -> Share:
        """Which share of the time."""
        return Share(self._raw["busy"])

    @property
    def ledger(self) -> list[Share]:
        """Where the byte times of that element went: payload, headers, answers, idle; they add up to all of them."""
        return [Share(x) for x in self._raw["ledger"]]

    @property
    def packets(self) -> int:
        """Packets on elements."""
        return cast("int", self._raw["packets"])

    @property
    def time(self) -> Time:
        """Seconds."""
        return Time(self._raw["time"])


class CollectiveValue(Node):
    """The answer of `lanescope collective`."""

    __slots__ = ()

    @property
    def collective(self) -> Collective:
        """What was asked for."""
        return cast("Collective", self._raw["collective"])

    @property
    def nodes(self) -> int:
        """Nodes."""
        return cast("int", self._raw["nodes"])

    @property
    def not_modelled(self) -> list[str]:
        """What the methods leave out."""
        return cast("list[str]", self._raw["not_modelled"])

    @property
    def ranks(self) -> int:
        """GPUs in all."""
        return cast("int", self._raw["ranks"])

    @property
    def refused(self) -> list[tuple[str, str]]:
        """Algorithms that this cluster cannot do, and why."""
        return [tuple(x) for x in self._raw["refused"]]

    @property
    def rows(self) -> list[CollectiveRow]:
        """A row for each size."""
        return [CollectiveRow(x) for x in self._raw["rows"]]

    @property
    def rule(self) -> str:
        """How algorithm and protocol were chosen."""
        return cast("str", self._raw["rule"])

    @property
    def schema(self) -> int:
        """1."""
        return cast("int", self._raw["schema"])

    @property
    def title(self) -> str:
        """The cluster's title."""
        return cast("str", self._raw["title"])
