"""Real hosts out of their dumps."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

from . import _lanescope as _native
from .errors import StoppedWarning, read
from .hosts import ExplainedValue
from .picture import Picture

Dump = str | os.PathLike[str]


def given(dumps: Dump | Sequence[Dump] | None) -> tuple[list[str], list[tuple[str, str]]]:
    """Paths, and texts with names: a string of several lines is a text."""
    if dumps is None:
        return [], []
    alone = isinstance(dumps, (str, os.PathLike))
    every: Sequence[Any] = [dumps] if alone else list(dumps)  # type: ignore[arg-type]
    paths: list[str] = []
    texts: list[tuple[str, str]] = []
    for dump in every:
        if isinstance(dump, str) and "\n" in dump:
            texts.append((f"text {len(texts) + 1}", dump))
        else:
            paths.append(os.fspath(dump))
    return paths, texts


class Explained(ExplainedValue):
    """What is said of a host: links as they are, what its devices should reach, what holds them back."""

    __slots__ = ("_page", "_picture", "_text")

    def __init__(self, raw: dict[str, Any], text: str, picture: str | None, page: str) -> None:
        super().__init__(raw)
        self._text, self._picture, self._page = text, picture, page

    def text(self) -> str:
        """As the command prints it."""
        return self._text

    __str__ = text

    def page(self) -> str:
        """One page of HTML, without scripts or anything from elsewhere."""
        return self._page

    def plot(self) -> Picture:
        """Its links, with the load of all devices writing to memory at once.

        Raises ``ValueError`` where no device is behind a link whose speed is known.
        """
        if self._picture is None:
            raise ValueError("no device is behind a link whose speed is known")
        return Picture("host", self._picture)

    def _repr_html_(self) -> str:
        from .picture import frame

        return frame([] if self._picture is None else [self.plot()], self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Explained, (self._raw, self._text, self._picture, self._page)


def explain(
    dump: Dump | Sequence[Dump] | None = None,
    *,
    measured: Dump | Sequence[Dump] | None = None,
    simulate: bool = False,
) -> Explained:
    """A real host out of its dumps; without one, this host.

    A dump is a file or a folder of what ``lanescope explain`` reads (``lspci -vvv``, NCCL's or hwloc's XML, a copied
    sysfs, …), or the text itself. ``measured`` is what was measured there, in any of the forms that the command reads.

    >>> found = explain('''01:00.0 VGA compatible controller: NVIDIA Corporation AD102GL
    ...         Capabilities: [78] Express (v2) Legacy Endpoint, MSI 00
    ...                 DevCtl: MaxPayload 256 bytes, MaxReadReq 512 bytes
    ...                 LnkCap: Port #0, Speed 16GT/s, Width x16
    ...                 LnkSta: Speed 16GT/s, Width x16
    ... ''')
    >>> found.devices["gpu0"].to_memory.rate.typical > 20
    True

    Raises :class:`~lanescope.LanescopeError` for dumps in which nothing is of a form that is known.
    """
    paths, texts = given(dump)
    files, rows = given(measured)
    rows = [(f, read(f)) for f in files] + rows
    raw, text, picture, page, stopped = _native.explain(paths, texts, rows, simulate)
    if stopped:
        warnings.warn("stopped: some loads are not simulated", StoppedWarning, stacklevel=2)
    return Explained(raw, text, picture, page)
