"""What is cheapest, and what matters: both ask the sweep engine, and other people's libraries what to ask it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from . import _lanescope as _native
from .errors import LanescopeError, SweepError
from .scenario import Scenario
from .sweeping import Sweep, sweep, values

Cost = Callable[[dict[str, str]], float]
# Units in which a value between two ends is written.
_WRITTEN = {"rate": "Mb/s", "time": "ns", "bytes": "B"}


@dataclass(frozen=True)
class Optimum:
    """The cheapest point, or the nearest where none reaches the goal."""

    reached: bool
    """Whether it reaches the goal."""
    point: dict[str, str]
    """Its values."""
    value: float
    """The metric there, in SI steps."""
    cost: float
    """What it costs."""
    scenario: Scenario
    """The scenario at that point."""
    tried: int
    """Points that were answered."""


@dataclass(frozen=True)
class Sensitivity:
    """Which inputs move the answer: Sobol' indices, shares of the metric's variance."""

    first: dict[str, float]
    """What each moves by itself."""
    total: dict[str, float]
    """What each moves together with the others."""
    first_half: dict[str, float]
    """Half of the 95 % interval of ``first``."""
    total_half: dict[str, float]
    """Half of the 95 % interval of ``total``."""
    sweep: Sweep
    """The points that were answered."""


class _Between:
    """A value between two ends."""

    def __init__(self, path: str, low: object, high: object) -> None:
        self.path = path
        self.dimension = ""
        if isinstance(low, str) and isinstance(high, str) and not low.strip().isdigit():
            (self.low, self.dimension), (self.high, other) = _native.quantity(low), _native.quantity(high)
            if self.dimension != other or other not in _WRITTEN:
                raise SweepError(f"{path}: {low} and {high} are not of one kind that can be varied between them")
        else:
            self.low, self.high = float(str(low)), float(str(high))
        if not self.low < self.high:
            raise SweepError(f"{path}: its lower end comes first, and is below the other")

    def text(self, share: float) -> str:
        value = self.low + share * (self.high - self.low)
        if not self.dimension:
            return str(round(value))
        unit = _WRITTEN[self.dimension]
        number = _native.in_unit(value, unit) or 0.0
        return f"{round(number) if unit == 'B' else round(number, 4)} {unit}"


def _goal(goal: str | tuple[str, object]) -> tuple[str, float, bool]:
    """A metric, the number that it is to reach, and whether from below."""
    if isinstance(goal, tuple):
        metric, text, least = goal[0], str(goal[1]), True
    else:
        match = re.fullmatch(r"\s*(\S+)\s*(>=|<=)\s*(.+?)\s*", goal)
        if match is None:
            raise LanescopeError(f'{goal!r} is not a valid goal; e.g. "flows.rx.share >= 40 Gb/s"')
        metric, text, least = match[1], match[3], match[2] == ">="
    try:
        return metric, float(text), least
    except ValueError:
        return metric, _native.quantity(text)[0], least


def _numbers(found: Sweep, metric: str) -> list[float | None]:
    """The metric of each point: every row of a point has it."""
    numbers: list[float | None] = []
    for place, value in zip(found.column("point"), found.column(metric)):
        if place == len(numbers):
            numbers.append(value)
    return numbers


def optimize(
    scenario: Scenario,
    over: Mapping[str, object],
    goal: str | tuple[str, object],
    *,
    cost: Cost | None = None,
    methods: str = "estimate",
    threads: int | None = None,
) -> Optimum:
    """The cheapest point that reaches a goal, ``"flows.rx.share >= 40 Gb/s"``.

    ``over`` has for each path its values, the cheapest first; every combination is answered. Or it has for each path a
    tuple of two ends, ``("200 ns", "900 ns")``, between which scipy's ``differential_evolution`` searches; the first
    end is the cheap one then, so it may be the greater. ``cost`` takes the values of a point; without it, a step of any
    path costs 1, and the way between two ends costs 1.

    Raises :class:`~lanescope.SweepError` for a path or metric that leads nowhere, and where nothing has an answer.
    """
    metric, wanted, least = _goal(goal)
    pairs = [isinstance(v, tuple) and len(v) == 2 for v in over.values()]
    if any(pairs):
        if not all(pairs):
            raise SweepError("either all paths have two ends, or all have lists of values")
        return _between(scenario, over, metric, wanted, least, cost, methods, threads)
    lists = {path: values(path, of) for path, of in over.items()}
    found = sweep(scenario, lists, methods=methods, metrics=[metric], threads=threads)
    best: tuple[tuple[float, float], dict[str, str], float, float] | None = None
    for number, value in enumerate(_numbers(found, metric)):
        if value is None:
            continue
        point = found.point(number)
        price = float(sum(lists[p].index(v) for p, v in point.items())) if cost is None else float(cost(point))
        missing = max(0.0, wanted - value if least else value - wanted)
        # First whatever reaches it, then by what it costs, then the better one.
        key = (missing, price) if missing else (0.0, price)
        if best is None or key < best[0] or (key == best[0] and (value > best[2]) == least and value != best[2]):
            best = (key, point, value, price)
    if best is None:
        raise SweepError(f"no point has an answer; the first says: {next(iter(found.errors.values()), 'nothing')}")
    at_best = scenario
    for path, text in best[1].items():
        at_best = at_best.set(path, text)
    return Optimum(best[0][0] == 0.0, best[1], best[2], best[3], at_best, found.done)


def _between(
    scenario: Scenario,
    over: Mapping[str, object],
    metric: str,
    wanted: float,
    least: bool,
    cost: Cost | None,
    methods: str,
    threads: int | None,
) -> Optimum:
    try:
        from scipy.optimize import differential_evolution
    except ImportError:
        raise LanescopeError("a search between two ends needs scipy: pip install 'lanescope[optimize]'") from None
    ends: list[tuple[_Between, bool]] = []
    for path, pair in over.items():
        cheap, dear = cast("tuple[object, object]", pair)
        try:
            ends.append((_Between(path, cheap, dear), False))
        except SweepError:
            ends.append((_Between(path, dear, cheap), True))
    tried = 0
    best: tuple[tuple[float, float], dict[str, str], float] | None = None

    def judge(shares: Any) -> Any:
        nonlocal tried, best
        points = [
            {b.path: b.text(1.0 - s if turned else s) for (b, turned), s in zip(ends, column)}
            for column in shares.T.tolist()
        ]
        found = sweep(scenario, points, methods=methods, metrics=[metric], threads=threads)
        tried += found.done
        scores: list[float] = []
        for point, column, value in zip(points, shares.T.tolist(), _numbers(found, metric)):
            if value is None:
                scores.append(1e9)
                continue
            price = float(sum(column)) if cost is None else float(cost(point))
            missing = max(0.0, wanted - value if least else value - wanted)
            if best is None or (missing, price) < best[0]:
                best = ((missing, price), point, value)
            # Whatever misses the goal is worse than anything that reaches it.
            scores.append(price if missing == 0.0 else 1e6 * (1.0 + missing / max(abs(wanted), 1e-30)))
        import numpy

        return numpy.array(scores)

    differential_evolution(
        judge, [(0.0, 1.0)] * len(ends), rng=7, polish=False, vectorized=True, updating="deferred", maxiter=60,
        popsize=12, tol=1e-6,
    )  # fmt: skip
    if best is None:
        raise SweepError("no point between the ends has an answer")
    at_best = scenario
    for path, text in best[1].items():
        at_best = at_best.set(path, text)
    return Optimum(best[0][0] == 0.0, best[1], best[2], best[0][1], at_best, tried)


def sensitivity(
    scenario: Scenario,
    over: Mapping[str, tuple[object, object]],
    metric: str,
    *,
    samples: int = 256,
    methods: str = "estimate",
    threads: int | None = None,
    on: Any = None,
) -> Sensitivity:
    """Which inputs move a metric, by themselves and together with the others: Sobol' indices by SALib, over the box
    between two ends of each path. It answers ``samples * (2 + len(over))`` points.

    Raises :class:`~lanescope.LanescopeError` where SALib is missing, or a point of the box has no answer.
    """
    try:
        from SALib.analyze import sobol as analyze
        from SALib.sample import sobol as sample
    except ImportError:
        raise LanescopeError("sensitivity needs SALib: pip install 'lanescope[sensitivity]'") from None
    import numpy

    ends = [_Between(path, low, high) for path, (low, high) in over.items()]
    problem = {"num_vars": len(ends), "names": [b.path for b in ends], "bounds": [[0.0, 1.0]] * len(ends)}
    drawn = sample.sample(problem, samples, calc_second_order=False, seed=7)
    points: Sequence[dict[str, str]] = [{b.path: b.text(s) for b, s in zip(ends, row)} for row in drawn.tolist()]
    found = sweep(scenario, points, methods=methods, metrics=[metric], threads=threads, on=on)
    numbers = _numbers(found, metric)
    if found.errors or any(n is None for n in numbers):
        why = next(iter(found.errors.values()), f"{metric} has no value at some point")
        raise LanescopeError(f"every point between the ends needs an answer: {why}")
    out = numpy.array(numbers, dtype=float)
    if float(out.std()) == 0.0:
        zero = {b.path: 0.0 for b in ends}
        return Sensitivity(zero, dict(zero), dict(zero), dict(zero), found)
    result = analyze.analyze(problem, out, calc_second_order=False, seed=7)
    names = [b.path for b in ends]
    pick = {key: {n: float(v) for n, v in zip(names, result[key])} for key in ("S1", "ST", "S1_conf", "ST_conf")}
    return Sensitivity(pick["S1"], pick["ST"], pick["S1_conf"], pick["ST_conf"], found)
