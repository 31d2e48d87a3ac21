"""Reports: what a scenario gives, by either method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lanescope as _native
from .picture import Picture, frame
from .types import ReportValue
from .units import KINDS, Quantity

if TYPE_CHECKING:
    from ._lanescope import Table

_METHODS = ("estimate", "simulation")


class Report(ReportValue):
    """The answer to a scenario.

    Its attributes are those of the program's own report: ``report.flows["rx"].share.gbps``,
    ``report.links["uplink toward host"].ledger.payload``, ``report.simulation.flows["rx"].latency.us``. The whole of
    it is taken over from the library when the first of them is asked for.

    >>> import lanescope
    >>> report = lanescope.Scenario.from_text(lanescope.starter("today/desktop")).estimate()
    >>> report.total.share.gbps > 1, report.provenance.methods
    (True, ['estimate'])
    """

    __slots__ = ("_native", "_value")

    def __init__(self, native: _native.Report) -> None:
        self._native = native
        self._value: dict[str, Any] | None = None

    @property
    def _raw(self) -> dict[str, Any]:  # type: ignore[override]
        value = self._value
        if value is None:
            value = self._value = self._native.value()
        return value

    def metric(self, path: str, *, simulated: bool = False) -> Quantity:
        """A number by its path, as rows of studies have it: ``links.uplink.utilisation``, ``flows.rx.latency``.

        Raises :class:`~lanescope.LanescopeError` for a path that leads nowhere; the message lists what is there.
        """
        found = self._native.metric(path, simulated)
        return KINDS.get(found["dimension"], Quantity)(found["value"])

    def to_json(self) -> str:
        """The same as text: what ``lanescope run --json`` prints."""
        return self._native.json()

    def to_arrow(self, table: str = "flows") -> Table:
        """One of its tables by the Arrow PyCapsule interface: ``flows``, ``links``, of a simulation ``slots``, of
        message programs ``rows``. ``pandas.DataFrame.from_arrow``, ``polars.DataFrame``, ``pyarrow.table`` and duckdb
        take it without copies. Rates are bit/s, times s."""
        return self._native.table(table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def plot(self, what: str | None = None, *, method: str | None = None, ax: Any = None) -> Any:
        """The picture called ``what``: ``topology``, or the waterfall of a link; without it the first waterfall.

        With ``ax``, an axes of matplotlib's, the shares and bounds of the flows are drawn there as bars.
        """
        if ax is not None:
            return self._bars(ax)
        all_pictures = self.pictures(method=method)
        for picture in all_pictures:
            if picture.name == what or (what is None and picture.name.startswith("waterfall")):
                return picture
        if what is None and all_pictures:
            return all_pictures[0]
        raise KeyError(f"there is no picture {what!r}; there are {', '.join(p.name for p in all_pictures)}")

    def _bars(self, ax: Any) -> Any:
        names = self.flows.keys()
        ax.barh(names, [f.bound.gbps for f in self.flows], color="#d5dbe1", label="bound")
        ax.barh(names, [f.share.gbps for f in self.flows], color="#0b62b8", height=0.5, label="share")
        if self.simulation is not None:
            rates = [f.rate.gbps for f in self.simulation.flows]
            ax.scatter(rates, names, color="#b3261e", zorder=3, label="simulated")
        ax.set_xlabel("Gb/s of payload")
        ax.legend()
        return ax

    def pictures(self, *, method: str | None = None) -> list[Picture]:
        """The topology, and the waterfall of every direction that binds, as the command's ``--svg`` writes them; of the
        simulation where there is one, unless ``method`` says ``"estimate"``."""
        if method is not None and method not in _METHODS:
            raise ValueError(f"method is one of {', '.join(_METHODS)}")
        simulated = method != "estimate" and self.simulation is not None
        return [Picture(name, svg) for name, svg in self._native.pictures(simulated, not simulated)]

    def text(self, *, all_links: bool = False) -> str:
        """As the command prints it."""
        return self._native.text(all_links)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        flows = ", ".join(f"{f.name} {f.share}" for f in list(self.flows)[:4])
        return f"<Report {self.title!r}: {flows}, {' and '.join(self.provenance.methods)}>"

    def _repr_html_(self) -> str:
        pictures = self.pictures()
        pictures.sort(key=lambda p: not p.name.startswith("waterfall"))
        return frame(pictures[:2] if pictures[0].name.startswith("waterfall") else pictures, self.text())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._raw == other._raw

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a report stays in its process: send its to_dict(), or the scenario")
