"""Scenarios: a text that describes a machine and its load, and what can be asked of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from . import _lanescope as _native
from .errors import StoppedWarning
from .nodes import Named, Node, named
from .progress import Progress, callback
from .report import Report


class Setting(Node):
    """A value of the plan, with where it is from."""

    __slots__ = ()

    @property
    def key(self) -> str:
        """Its key."""
        return str(self._raw["key"])

    @property
    def value(self) -> str:
        """Its value, as a scenario has it."""
        return str(self._raw["value"])

    @property
    def origin(self) -> str:
        """``stated``, ``assumed``, ``fitted``, …: who says so."""
        return str(self._raw["origin"])

    @property
    def confidence(self) -> str:
        """How sure that is."""
        return str(self._raw["confidence"])

    @property
    def default(self) -> bool:
        """Whether nobody said it."""
        return bool(self._raw["default"])


class Thing(Node):
    """A part, link or flow of the plan, with all its values."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """``parts.nic.0``."""
        return str(self._raw["name"])

    @property
    def settings(self) -> list[Setting]:
        """Every value, stated or not."""
        return [Setting(s) for s in self._raw["settings"]]


class Plan(Node):
    """What will run: every part, link and flow with all its values, and the ways of the flows."""

    __slots__ = ()

    @property
    def fingerprint(self) -> str:
        """A hash of all of it: the same plan gives the same answers."""
        return str(self._raw["plan"])

    @property
    def title(self) -> str:
        """The scenario's title."""
        return str(self._raw["title"])

    @property
    def things(self) -> Named[Thing]:
        """Parts, links and flows by name."""
        return named(Thing, self._raw["things"])

    @property
    def routes(self) -> list[tuple[str, str]]:
        """Flows and their ways, in words."""
        return [(r["flow"], r["route"]) for r in self._raw["routes"]]


class Scenario:
    """A machine and its load. It never changes: :meth:`set` gives another one. So it may be used from several threads,
    and sent to other processes, where it is read again.

    >>> scenario = Scenario.from_text(_native.starter("today/desktop"))
    >>> scenario.set("run.seed", 7) is scenario
    False
    """

    __slots__ = ("_model",)

    def __init__(self, model: _native.Model) -> None:
        self._model = model

    @classmethod
    def from_text(cls, text: str, *, name: str = "scenario") -> Scenario:
        """Reads a text as a scenario file has it; ``name`` is what messages call it.

        Raises :class:`~lanescope.ScenarioError` for whatever ``lanescope check`` refuses, all mistakes at once.
        """
        return cls(_native.Model(name, text, []))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file. Files that it names are looked for beside it.

        Raises :class:`~lanescope.LanescopeError` for a file that cannot be read, and what :meth:`from_text` does.
        """
        return cls(_native.Model.open(os.fspath(path), []))

    @classmethod
    def from_host(cls, dump: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Scenario:
        """A real host out of its dumps, as ``lanescope explain --emit scenario`` writes it: its links as they are
        believed to be. A dump is a file, a folder, or the text itself.

        Raises :class:`~lanescope.LanescopeError` where no link has a speed that can be believed.
        """
        from .explaining import given

        paths, texts = given(dump)
        return cls(_native.Model("host", _native.explain_emit(paths, texts, "scenario"), []))

    @classmethod
    def _restore(cls, name: str, text: str, sets: list[str]) -> Scenario:
        return cls(_native.Model(name, text, sets))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scenario._restore, (self.name, self.text, self.sets)

    @property
    def name(self) -> str:
        """What messages call it: the file's path."""
        return self._model.name

    @property
    def text(self) -> str:
        """The text, without what was laid over it."""
        return self._model.text

    @property
    def sets(self) -> list[str]:
        """What was laid over it: ``path=value``."""
        return self._model.sets

    @property
    def title(self) -> str:
        """Its title."""
        return self._model.title

    @property
    def fingerprint(self) -> str:
        """A hash of its plan: the same plan gives the same answers."""
        return self._model.fingerprint

    @property
    def warnings(self) -> list[str]:
        """What the text says that is likely not meant."""
        return self._model.warnings

    def set(self, path: str, value: object) -> Scenario:
        """The same with another value, as ``--set`` has it: ``set("links.uplink.pcie", "gen3 x8")``.

        Raises :class:`~lanescope.ScenarioError` for a path that leads nowhere, or a value that its key does not take.
        """
        return Scenario(self._model.set(f"{path}={written(value)}"))

    def plan(self) -> Plan:
        """What will run: every value with its origin, and every route."""
        return Plan(self._model.plan())

    def estimate(self) -> Report:
        """The answer in closed form: bound, fair share, latency, what binds."""
        return Report(self._model.estimate())

    def simulate(
        self,
        *,
        for_: str | None = None,
        until: str | None = None,
        seed: int | None = None,
        progress: Progress = None,
    ) -> Report:
        """The answer packet by packet, beside the estimate.

        ``for_`` is how long (``"50 ms"``), or ``until`` how narrow the 95 % intervals of the means are to be
        (``"±0.5 %"``); without them, what the scenario's ``[run]`` says. Ctrl-C ends the run: what was seen so far is
        returned, its ``simulation.ending`` is ``stopped``, and a :class:`~lanescope.StoppedWarning` says so.

        Raises :class:`~lanescope.ScenarioError` for a scenario that the simulation does not know.
        """
        return self._answer(True, for_, until, seed, progress)

    def run(
        self,
        *,
        for_: str | None = None,
        until: str | None = None,
        seed: int | None = None,
        progress: Progress = None,
    ) -> Report:
        """The answer by every method, side by side. Where the simulation does not know the scenario the estimate stands
        alone, and a warning says why."""
        return self._answer(False, for_, until, seed, progress)

    def _answer(self, must: bool, for_: str | None, until: str | None, seed: int | None, progress: Progress) -> Report:
        model = self._model
        for path, value in (("run.for", for_), ("run.until", until), ("run.seed", seed)):
            if value is not None:
                model = model.set(f"{path}={value}")
        with callback(progress, "simulating") as called:
            native, stopped = model.simulate(must, called)
        report = Report(native)
        if stopped:
            warnings.warn("stopped: the report has what was seen so far", StoppedWarning, stacklevel=3)
        if not must and report.simulation is None and len(report.flows):
            warnings.warn(f"not simulated: {model.not_simulated()}", UserWarning, stacklevel=3)
        return report

    def __eq__(self, other: object) -> bool:
        mine = (self.name, self.text, self.sets)
        return isinstance(other, Scenario) and mine == (other.name, other.text, other.sets)

    def __hash__(self) -> int:
        return hash((self.name, self.text, tuple(self.sets)))

    def __repr__(self) -> str:
        sets = "".join(f", {s}" for s in self.sets)
        return f"<Scenario {self.title or self.name!r}{sets}>"


def written(value: object) -> str:
    """A value of Python's as a scenario has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inner = ", ".join(f"{k} = {_quoted(v)}" for k, v in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_quoted(v) for v in value)}]"
    # A number of numpy's knows Python's.
    item = getattr(value, "item", None)
    return str(value if item is None else item())


def _quoted(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return written(value)
