"""Collectives of GPU clusters: what nccl-tests should print, and why."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _lanescope as _native
from .collectives import CollectiveRow, CollectiveValue
from .errors import LanescopeError, StoppedWarning
from .picture import Picture, frame
from .progress import Progress, callback
from .scenario import written

if TYPE_CHECKING:
    from ._lanescope import Table


class Collective(CollectiveValue):
    """What a collective takes: a row for each size, with what binds it and where its time goes.

    Frames take it as it is, without copies, as they take a :class:`~lanescope.Report`: a row for each size, in bytes,
    seconds and bytes per second, as nccl-tests count.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Collective) -> None:
        super().__init__(native.value())
        self._native = native

    def __getitem__(self, size: int | str) -> CollectiveRow:
        """The row of a size, in bytes or as nccl-tests take it: ``found["64M"]``."""
        wanted = _native.collective_size(str(size))
        for row in self.rows:
            if row.bytes == wanted:
                return row
        raise KeyError(f"there is no row of {size}; sizes are {', '.join(str(r.bytes) for r in self.rows)}")

    def to_arrow(self) -> Table:
        """A row for each size by the Arrow PyCapsule interface."""
        return self._native.table()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def text(self) -> str:
        """As the command prints it."""
        return self._native.text()

    __str__ = text

    def nccl_tests(self) -> str:
        """The lines that nccl-tests would print, for whoever has scripts for those."""
        return self._native.nccl_tests()

    def page(self) -> str:
        """One page of HTML, without scripts or anything from elsewhere: what ``--html`` writes."""
        return self._native.page()

    def plot(self, *, ax: Any = None) -> Any:
        """Bus bandwidth against the size: expected, bound, and simulated where it was; with ``ax`` on an axes of
        matplotlib's."""
        if ax is None:
            return Picture("busbw", self._native.chart())
        sizes = [r.bytes for r in self.rows]
        ax.plot(sizes, [r.busbw.gigabytes for r in self.rows], marker="o", label="expected")
        ax.plot(sizes, [r.bound.gigabytes for r in self.rows], linestyle="--", label="bound")
        simulated = [(r.bytes, r.simulated.busbw.gigabytes) for r in self.rows if r.simulated is not None]
        if simulated:
            ax.scatter([s[0] for s in simulated], [s[1] for s in simulated], color="#b3261e", label="simulated")
        ax.set_xscale("log", base=2)
        ax.set_xlabel("bytes")
        ax.set_ylabel("busbw, GB/s")
        ax.legend()
        return ax

    def _repr_html_(self) -> str:
        return frame([self.plot()], self.text())

    def __repr__(self) -> str:
        return f"<Collective {self.collective} over {self.ranks} GPUs: {len(self.rows)} sizes>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an answer stays in its process: send its to_dict(), or the question")


def collective(
    what: str,
    cluster: str | os.PathLike[str],
    *,
    sizes: Sequence[int | str] | None = None,
    min: str | int = "8",
    max: str | int = "16G",
    factor: int = 2,
    algorithm: str | None = None,
    protocol: str | None = None,
    channels: int | None = None,
    sets: Mapping[str, object] | None = None,
    simulate: bool = False,
    progress: Progress = None,
) -> Collective:
    """What a collective (``"all_reduce"``, …) takes on a GPU cluster, as ``lanescope collective`` has it.

    ``cluster`` is a file with ``kind = "gpu-cluster"``, or its text. ``sizes`` are written as nccl-tests take them
    (``"8"``, ``"512K"``, ``"64M"``; powers of 1024); without them it is the ladder from ``min`` to ``max`` by ``factor``.
    ``algorithm``, ``protocol`` and ``channels`` are in place of the fastest; ``sets`` lays other values over the
    cluster: ``{"nodes": 4}``. With ``simulate`` each size is simulated packet by packet, too: clusters of up to 64
    GPUs. Ctrl-C leaves what was finished, and a :class:`~lanescope.StoppedWarning` says so.

    >>> cluster = '''
    ... kind = "gpu-cluster"
    ... nodes = 2
    ... [node]
    ... gpus = 8
    ... nvlink = "4"
    ... nics = 8
    ... infiniband = "ndr 4x"
    ... '''
    >>> found = collective("all_reduce", cluster, sizes=["1G"])
    >>> found["1G"].busbw.gigabytes > 100, found["1G"].bound >= found["1G"].busbw
    (True, True)

    Raises :class:`~lanescope.ScenarioError` for a cluster that cannot be answered, :class:`~lanescope.LanescopeError`
    for a collective, size or algorithm that there is not.
    """
    # Not every caller has a type checker.
    if not isinstance(factor, int) or factor < 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanescopeError(f"factor={factor!r}: from a size to the next it is a whole number of at least 2")
    if sizes is not None and not sizes:
        raise LanescopeError("sizes is empty: leave it out for the ladder from min to max")
    given: tuple[str, str | None] = (os.fspath(cluster), None)
    if isinstance(cluster, str) and "\n" in cluster:
        given = ("cluster", cluster)
    with callback(progress, "simulating") as called:
        native, stopped, left = _native.collective(
            what,
            given,
            [f"{path}={written(value)}" for path, value in (sets or {}).items()],
            [str(s) for s in sizes or ()],
            (str(min), str(max), factor),
            (algorithm, protocol, channels),
            simulate,
            called,
        )
    if stopped:
        warnings.warn("stopped: sizes that were finished have their simulation", StoppedWarning, stacklevel=2)
    if left is not None:
        warnings.warn(f"not all simulated: {left}", UserWarning, stacklevel=2)
    return Collective(native)
