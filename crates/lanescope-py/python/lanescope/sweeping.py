"""Sweeps: a scenario at many points, on threads, executors, Dask, or a cluster's job arrays.

The engine is the command's: the same points give the same rows, whoever works them out and however often it was killed.
"""

from __future__ import annotations

import contextlib
import os
import queue
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _lanescope as _native
from .errors import LanescopeError, StoppedWarning, SweepError
from .picture import Picture
from .progress import Progress, callback
from .scenario import Scenario, written

Over = Mapping[str, object] | Sequence[Mapping[str, object]]
"""Paths with their values, or a list of points."""

# Points that one task of an executor works out: enough that the sending does not count.
_ESTIMATES, _SIMULATIONS = 200, 4
# Tasks that wait at an executor at most.
_WINDOW = 256


class Sweep:
    """The rows of a sweep: one for each point and flow.

    Frames take it as it is, without copies: ``pandas.DataFrame.from_arrow(s)``, ``polars.DataFrame(s)``,
    ``pyarrow.table(s)``, ``duckdb.from_arrow(s)``. Rates are bit/s, times s; a point without an answer has one row
    whose ``error`` says why. Of more than a million rows, which only a folder takes, it knows the number, the
    fingerprint and the errors; the rows stay in the folder, for whatever reads Parquet piece by piece.
    """

    __slots__ = ("_paths", "_rows", "_size", "stopped")

    def __init__(self, native: _native.Sweep, paths: Sequence[str], stopped: bool) -> None:
        self._size = native.size()
        self._paths = list(paths)
        # Another sweep may have the folder from now on.
        self._rows = native.close()
        self.stopped = stopped
        """Whether Ctrl-C ended it."""

    @property
    def paths(self) -> list[str]:
        """What varies."""
        return list(self._paths)

    @property
    def size(self) -> int:
        """Points in all."""
        return self._size

    @property
    def done(self) -> int:
        """Points whose rows are here."""
        return self._rows.done

    @property
    def complete(self) -> bool:
        """Whether that is all of them."""
        return self.done == self.size

    @property
    def columns(self) -> list[str]:
        """Heads of the columns."""
        return self._rows.columns

    @property
    def fingerprint(self) -> str:
        """A hash of all rows: the same sweep has the same on any number of threads, shards or workers."""
        return self._rows.fingerprint

    @property
    def failed(self) -> int:
        """How many points have no answer."""
        return self._rows.failed

    @property
    def errors(self) -> dict[int, str]:
        """Points without an answer, and why; of more than a thousand the first."""
        return dict(self._rows.errors())

    def column(self, name: str) -> list[Any]:
        """One column as a list: numbers in SI steps, whole numbers, text, or ``None``."""
        return self._rows.table().column(name)

    def to_dict(self) -> dict[str, list[Any]]:
        """All columns as lists."""
        return {name: self.column(name) for name in self.columns if name != "place"}

    def point(self, number: int) -> dict[str, str]:
        """The values of a point, as the scenario has them."""
        return dict(zip(self._paths, self._rows.point(number)))

    def to_arrow(self) -> _native.Table:
        """The rows by the Arrow PyCapsule interface."""
        return self._rows.table()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.table().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._rows.table().__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._rows)

    def plot(self, x: str | None = None, y: str = "share_bps", *, ax: Any = None, altair: bool = False) -> Any:
        """A column against a varied path whose values are numbers or quantities; flows, other paths and seeds are the
        curves. Without ``x`` it is the last path. The picture is the command's; with ``ax`` the curves are drawn on an
        axes of matplotlib's, with ``altair`` it is a chart of altair's.
        """
        x = x or self._paths[-1]
        if ax is None and not altair:
            return Picture(f"{y} against {x}", self._rows.chart(x, y))
        words, series = self._rows.series(x, y)
        if ax is not None:
            for name, points in series:
                ax.plot([p[0] for p in points], [p[1] for p in points], marker="o", label=name)
            ax.set_xlabel(words)
            ax.set_ylabel(y)
            ax.legend()
            return ax
        try:
            import altair as alt
        except ImportError:
            raise LanescopeError("a chart of altair's needs altair: pip install 'lanescope[plot]'") from None
        values = [{"x": p[0], "y": p[1], "curve": name} for name, points in series for p in points]
        chart = alt.Chart(alt.Data(values=values)).mark_line(point=True)
        return chart.encode(x=alt.X("x:Q", title=words), y=alt.Y("y:Q", title=y), color="curve:N")

    def __repr__(self) -> str:
        wrong = f", {self.failed} with an error" if self.failed else ""
        return f"<Sweep of {', '.join(self._paths)}: {self.done} of {self.size} points{wrong}>"


def values(path: str, of: object) -> list[str]:
    """The values of a path as texts: of a list, a range, an array, or a text as ``--vary`` has it.

    >>> values("parts.nic.tags", "8..64 by x2"), values("parts.nic.tags", range(1, 4))
    (['8', '16', '32', '64'], ['1', '2', '3'])
    """
    if isinstance(of, str):
        return _native.vary(f"{path}={of}")[1]
    try:
        return [written(v) for v in of]  # type: ignore[attr-defined]
    except TypeError:
        raise SweepError(f"{path}: {of!r} is not a list of values; a single one goes into Scenario.set") from None


def _block(question: str, identity: str, points: list[int]) -> bytes:
    """What a worker does: the rows of some points."""
    return _native.Sweep.answer(question, identity, points, 1)


class _Ray:
    """Ray as an executor: its tasks give futures of ``concurrent.futures``."""

    def __init__(self, ray: Any) -> None:
        self._task = ray.remote(_block)

    def submit(self, task: object, *arguments: object) -> Any:
        return self._task.remote(*arguments).future()


def sweep(
    scenario: Scenario,
    over: Over,
    *,
    methods: str | Sequence[str] = "estimate",
    seeds: int | Sequence[int] | None = None,
    metrics: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    shard: str | None = None,
    threads: int | None = None,
    on: Any = None,
    progress: Progress = None,
) -> Sweep:
    """A scenario at every combination of values, or at each point of a list.

    ``methods`` is ``"estimate"``, or ``"simulate"`` for both side by side. ``seeds`` simulates every point with
    each of them. ``metrics`` become columns. With ``out`` rows go to a folder of Parquet, which a sweep that was
    killed goes on with, and which several may fill, each with its ``shard`` (``"3/16"``). It runs on ``threads`` of
    this machine; or ``on`` a ``concurrent.futures.Executor``, a ``distributed.Client`` or the module ``ray``
    (``on=ray``, after ``ray.init``), whose workers need this package and the files that the scenario names. Ctrl-C
    ends it with what there is, and a :class:`~lanescope.StoppedWarning`.

    >>> import lanescope
    >>> scenario = Scenario.from_text(lanescope.starter("today/desktop"))
    >>> s = sweep(scenario, {"run.seed": [1, 2, 3]})
    >>> s.done, s.errors
    (3, {})

    Raises :class:`~lanescope.SweepError` for a path or metric that leads nowhere, a folder of another sweep, workers
    that died; its ``sweep`` has the rows that were there.
    """
    asked = [methods] if isinstance(methods, str) else list(methods)
    for method in asked:
        if method not in ("estimate", "simulate", "run"):
            raise SweepError(f"{method!r} is not a valid method; there are estimate and simulate")
    simulate = "simulate" in asked or "run" in asked
    if isinstance(over, Mapping):
        paths = list(over)
        lists = [values(path, over[path]) for path in paths]
    else:
        points = list(over)
        paths = list(points[0]) if points else []
        if any(list(p) != paths for p in points):
            raise SweepError("every point of a list has the same paths in the same order")
        lists = [[written(p[path]) for path in paths] for p in points]
    if not paths:
        raise SweepError("nothing varies: give a path and its values")
    wanted = list(range(1, seeds + 1)) if isinstance(seeds, int) else [int(s) for s in seeds or ()]
    if seeds is not None and not (wanted and all(0 <= s < 2**32 for s in wanted)):
        raise SweepError(f"seeds={seeds!r}: it is how many there are, or a list of whole numbers from 0 to 2^32 - 1")
    if threads is not None and threads < 1:
        raise SweepError(f"threads={threads!r}: at least one works")
    on = _Ray(on) if getattr(on, "__name__", "") == "ray" else on
    if on is not None and not hasattr(on, "submit"):
        raise SweepError(f"on={on!r}: it is a concurrent.futures.Executor, a distributed.Client, or the module ray")
    native = _native.Sweep(
        (scenario.name, scenario.text, scenario.sets), paths, lists, isinstance(over, Mapping), simulate,
        wanted, list(metrics), None if out is None else os.fspath(out), shard,
    )  # fmt: skip
    try:
        with callback(progress, "sweep") as called:
            if on is None:
                stopped = native.run(threads or os.cpu_count() or 1, called)
            else:
                stopped = _elsewhere(native, on, _SIMULATIONS if simulate else _ESTIMATES, called, paths)
    except BaseException:
        # What was worked out is stored as far as the disk takes it; the first error is the one to tell.
        with contextlib.suppress(SweepError):
            native.close()
        raise
    if stopped:
        warnings.warn("stopped: the sweep has the points that were done", StoppedWarning, stacklevel=2)
    return Sweep(native, paths, stopped)


def _elsewhere(native: _native.Sweep, on: Any, most: int, called: Any, paths: list[str]) -> bool:
    """Hands blocks of points to an executor's workers and takes their rows, in whatever order they come."""
    left = native.left()
    size = max(1, min(most, -(-left // 8)))
    question, identity = native.question(), native.identity
    # Dask would take tasks that look alike for one.
    extra: dict[str, Any] = {"pure": False} if hasattr(on, "scheduler") else {}
    came: queue.Queue[Any] = queue.Queue()
    running: set[Any] = set()
    done = 0

    def submit() -> Iterator[None]:
        begin = 0
        while block := native.pending(begin, size):
            begin = block[-1] + 1
            future = on.submit(_block, question, identity, block, **extra)
            running.add(future)
            future.add_done_callback(came.put)
            yield

    submitting = submit()
    try:
        try:
            for _ in zip(range(_WINDOW), submitting):
                pass
            while running:
                future = came.get()
                running.discard(future)
                done += native.take(future.result())
                next(submitting, None)
                if called is not None:
                    called(done / max(1, left))
        except KeyboardInterrupt:
            return True
        finally:
            for future in running:
                future.cancel()
            native.flush()
    except SweepError:
        raise
    except Exception as e:
        partial = Sweep(native, paths, False)
        error = SweepError(
            f"the workers failed with {type(e).__name__} ({e}): {partial.done} of {partial.size} points have rows; "
            "with out= they are stored, and the same sweep goes on there"
        )
        error.sweep = partial
        raise error from e
    return False


def slurm(
    file: str | os.PathLike[str],
    over: Mapping[str, object],
    *,
    out: str | os.PathLike[str],
    tasks: int,
    sets: Sequence[str] = (),
    simulate: bool = False,
    seeds: Sequence[int] = (),
    metrics: Sequence[str] = (),
) -> str:
    """A job array for SLURM that works a sweep out with the command ``lanescope``, a shard in each task.

    >>> print(slurm("a.toml", {"parts.nic.tags": [8, 16]}, out="rows", tasks=4).splitlines()[-1])
    exec lanescope sweep a.toml --vary parts.nic.tags=8,16 --out rows --threads ... --shard "${SLURM_ARRAY_TASK_ID}/4"
    """
    arguments = ["sweep", os.fspath(file)]
    for option, given in (("--set", sets), ("--metric", metrics)):
        for value in given:
            arguments += [option, value]
    for path, of in over.items():
        arguments += ["--vary", f"{path}={','.join(values(path, of))}"]
    if simulate:
        arguments.append("--simulate")
    if seeds:
        arguments += ["--seeds", ",".join(str(s) for s in seeds)]
    return _native.slurm("lanescope", [*arguments, "--out", os.fspath(out)], tasks)
