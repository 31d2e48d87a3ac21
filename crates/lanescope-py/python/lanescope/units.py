"""Quantities that know their unit: numbers in SI steps, read in any unit by name.

A quantity is a ``float`` (bits per second, seconds, bytes, a share, events per second), so it goes wherever a number
goes. Two of a kind add up to one of that kind; two of different kinds refuse.

>>> rate = Rate.parse("25 Gb/s")
>>> rate.gbps, rate.gigabytes, str(rate / 2)
(25.0, 3.125, '12.5 Gb/s')
>>> rate + Time.parse("1 us")
Traceback (most recent call last):
TypeError: Rate and Time do not add up
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from . import _lanescope as _native
from .errors import LanescopeError

Q = TypeVar("Q", bound="Quantity")


class Quantity(float):
    """A number with a dimension."""

    dimension: ClassVar[str] = "count"
    """``rate``, ``time``, ``bytes``, ``share``, ``per-second`` or ``count``."""

    @classmethod
    def parse(cls: type[Q], text: str) -> Q:
        """Reads a text with a unit, e.g. ``"200 ns"``.

        Raises :class:`~lanescope.LanescopeError` for a text that is no quantity, or one of another kind.
        """
        value, dimension = _native.quantity(text)
        if dimension != cls.dimension:
            raise LanescopeError(f"{text!r} is a {dimension}, not a {cls.dimension}")
        return cls(value)

    def to(self, unit: str) -> float:
        """The number in a unit: ``rate.to("MB/s")``.

        Raises :class:`~lanescope.LanescopeError` for a unit of something else.
        """
        value = _native.in_unit(float(self), unit)
        if value is None or _native.dimension(unit) != self.dimension:
            raise LanescopeError(f"{unit!r} is not a valid unit of a {self.dimension}")
        return value

    def __str__(self) -> str:
        return _native.human(float(self), self.dimension)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float(self)!r}, {str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (float(self),)

    def _same(self, other: object) -> None:
        if isinstance(other, Quantity) and other.dimension != self.dimension:
            raise TypeError(f"{type(self).__name__} and {type(other).__name__} do not add up")

    def _plain(self) -> type[Quantity]:
        return KINDS.get(self.dimension, Quantity)

    def __add__(self, other: float) -> Quantity:
        self._same(other)
        return self._plain()(float.__add__(self, other))

    def __sub__(self, other: float) -> Quantity:
        self._same(other)
        return self._plain()(float.__sub__(self, other))

    def __radd__(self, other: float) -> Quantity:
        return self + other

    def __mul__(self, other: float) -> Any:
        if isinstance(other, Quantity):
            return float(self) * float(other)
        return self._plain()(float.__mul__(self, other))

    def __rmul__(self, other: float) -> Any:
        return self * other

    def __truediv__(self, other: float) -> Any:
        if isinstance(other, Quantity):
            return float(self) / float(other)
        return self._plain()(float.__truediv__(self, other))


class Rate(Quantity):
    """Payload bits per second, one way unless it says otherwise."""

    dimension = "rate"

    @property
    def bps(self) -> float:
        """Bits per second."""
        return float(self)

    @property
    def mbps(self) -> float:
        """Mb/s: millions of bits per second."""
        return self.to("Mb/s")

    @property
    def gbps(self) -> float:
        """Gb/s: 10^9 bits per second."""
        return self.to("Gb/s")

    @property
    def megabytes(self) -> float:
        """MB/s, decimal."""
        return self.to("MB/s")

    @property
    def gigabytes(self) -> float:
        """GB/s, decimal."""
        return self.to("GB/s")


class Time(Quantity):
    """A time in seconds."""

    dimension = "time"

    @property
    def s(self) -> float:
        """Seconds."""
        return float(self)

    @property
    def ms(self) -> float:
        """Milliseconds."""
        return self.to("ms")

    @property
    def us(self) -> float:
        """Microseconds."""
        return self.to("us")

    @property
    def ns(self) -> float:
        """Nanoseconds."""
        return self.to("ns")


class Bytes(Quantity):
    """A number of bytes."""

    dimension = "bytes"

    @property
    def bytes(self) -> float:
        """Bytes."""
        return float(self)

    @property
    def kib(self) -> float:
        """KiB: 1024 bytes."""
        return self.to("KiB")


class Share(Quantity):
    """A part of a whole, 1 being all of it."""

    dimension = "share"

    @property
    def percent(self) -> float:
        """In hundredths."""
        return self.to("%")


class PerSecond(Quantity):
    """Events per second."""

    dimension = "per-second"

    @property
    def millions(self) -> float:
        """Millions per second."""
        return self.to("million/s")


KINDS: dict[str, type[Quantity]] = {k.dimension: k for k in (Rate, Time, Bytes, Share, PerSecond)}


def ranged(kind: type[Q], value: dict[str, Any]) -> Any:
    """A value with its corners."""
    made = RANGED[kind](value["typical"])
    made.slower = kind(value["slower"])
    made.faster = kind(value["faster"])
    return made


def interval(kind: type[Q], value: dict[str, Any]) -> Any:
    """A mean with its interval."""
    made = INTERVALS[kind](value["mean"])
    made.half = None if value["half"] is None else kind(value["half"])
    return made


class RangedRate(Rate):
    """A rate at its typical, with the corners of the scenario's ranges."""

    slower: Rate
    """Every range at its slower end, or the least of the three: of several flows one may lose what others gain."""
    faster: Rate
    """Every range at its faster end, or the greatest of the three."""


class RangedTime(Time):
    """A time at its typical, with the corners of the scenario's ranges."""

    slower: Time
    """Every range at its slower end."""
    faster: Time
    """Every range at its faster end."""


class MeanRate(Rate):
    """A simulated mean rate."""

    half: Rate | None
    """Half of its 95 % confidence interval; none while there are too few batches to tell."""


class MeanTime(Time):
    """A simulated mean time."""

    half: Time | None
    """Half of its 95 % confidence interval; none while there are too few batches to tell."""


RANGED: dict[Any, Any] = {Rate: RangedRate, Time: RangedTime}
INTERVALS: dict[Any, Any] = {Rate: MeanRate, Time: MeanTime}
