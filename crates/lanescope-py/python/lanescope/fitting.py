"""Fits: a scenario's unknown values out of measured rows."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from typing import Any

from . import _lanescope as _native
from .errors import LanescopeError, read
from .nodes import Named, Node
from .scenario import Scenario, written


class Value(Node):
    """A value that was looked for."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """Its path."""
        return str(self._raw["path"])

    @property
    def value(self) -> str:
        """Its value, as a scenario has it."""
        return str(self._raw["value"])

    @property
    def number(self) -> float:
        """The same in SI steps (bit/s, s, B, or as it is)."""
        return float(self._raw["number"])

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval; none where the rows do not tell it."""
        ends = self._raw["interval"]
        return None if ends is None else (ends[0], ends[1])

    @property
    def at_limit(self) -> bool:
        """Whether it ended at one of its two ends: then the truth may lie beyond."""
        return bool(self._raw["at_limit"])


class Row(Node):
    """A measured number beside the fitted one."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Which line, and which metric."""
        return str(self._raw["name"])

    @property
    def measured(self) -> float:
        """As measured, in SI steps."""
        return float(self._raw["measured"])

    @property
    def fitted(self) -> float:
        """With the fitted values."""
        return float(self._raw["fitted"])

    @property
    def off(self) -> float:
        """fitted / measured - 1."""
        return float(self._raw["off"])


class Fit(Node):
    """What a fit came to."""

    __slots__ = ("_scenario",)

    def __init__(self, raw: dict[str, Any], scenario: Scenario) -> None:
        super().__init__(raw)
        self._scenario = scenario

    def __reduce__(self) -> tuple[Any, ...]:
        return Fit, (self._raw, self._scenario)

    @property
    def values(self) -> Named[Value]:
        """The values by path."""
        raw = self._raw["values"]
        return Named([Value(v) for v in raw], [v["path"] for v in raw])

    @property
    def rows(self) -> list[Row]:
        """Every measured number, the worst fit first."""
        return [Row(r) for r in self._raw["rows"]]

    @property
    def rms(self) -> float:
        """Root of the mean square of the relative errors."""
        return float(self._raw["rms"])

    @property
    def unseen(self) -> list[str]:
        """Values that the rows do not tell at all."""
        return list(self._raw["unseen"])

    @property
    def together(self) -> list[list[str]]:
        """Values that the rows tell together only: one makes up for another."""
        return [list(t) for t in self._raw["together"]]

    @property
    def notes(self) -> list[str]:
        """The same in words."""
        return list(self._raw["notes"])

    @property
    def scenario(self) -> Scenario:
        """The scenario with the fitted values."""
        fitted = self._scenario
        for value in self.values:
            fitted = fitted.set(value.path, value.value)
        return fitted


def _ends(path: str, of: object) -> tuple[str, str, str]:
    if not isinstance(of, (tuple, list)) or len(of) != 2:
        raise LanescopeError(f'{path}: {of!r} are no two ends, e.g. ("200 ns", "900 ns")')
    return path, written(of[0]), written(of[1])


def _table(measured: Any) -> tuple[str, str]:
    """A name and CSV of: a path, a text, a mapping of columns, a list of rows, or a frame."""
    if isinstance(measured, str) and "\n" in measured:
        return "table", measured
    if isinstance(measured, (str, os.PathLike)):
        return os.fspath(measured), read(measured)
    if hasattr(measured, "to_dict") and not isinstance(measured, Mapping):
        # pandas has lists only on request, polars without one.
        try:
            measured = measured.to_dict("list")
        except (TypeError, ValueError):
            measured = measured.to_dict(as_series=False)
    if isinstance(measured, Mapping):
        heads = list(measured)
        rows = [dict(zip(heads, cells)) for cells in zip(*(list(measured[h]) for h in heads))]
    else:
        rows = [dict(r) for r in measured]
        heads = list(dict.fromkeys(h for r in rows for h in r))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(heads)
    # An empty cell of a frame is a number that is none.
    empty = {"", "nan", "None", "NaN"}
    cells = ([written(row.get(h, "")) for h in heads] for row in rows)
    writer.writerows(["" if c in empty else c for c in line] for line in cells)
    return "table", out.getvalue()


def fit(
    scenario: Scenario,
    measured: Any,
    free: Mapping[str, tuple[object, object]],
    *,
    simulate: bool = False,
) -> Fit:
    """Values of a scenario by least squares of relative errors, as ``lanescope fit`` has it.

    ``measured`` is a frame, a mapping of columns, a list of rows, or a file of CSV: a column for each path that was set
    (``flows.rx.size``) and each metric that was measured (``flows.rx.share (Gb/s)``). ``free`` says for each value the
    two ends between which it is looked for: ``{"parts.host.read_latency": ("200 ns", "900 ns")}``.

    Raises :class:`~lanescope.LanescopeError` for a table without a metric, fewer numbers than values, or a scenario
    that cannot be answered with a value between the ends.
    """
    raw = _native.fit(
        (scenario.name, scenario.text, scenario.sets),
        _table(measured),
        [_ends(path, of) for path, of in free.items()],
        simulate,
    )
    return Fit(raw, scenario)
