"""Published systems, row by row."""

from __future__ import annotations

import os
import warnings

from . import _lanescope as _native
from .errors import StoppedWarning
from .nodes import Named, Node, named
from .progress import Progress, callback

__all__ = ["Answer", "Answers", "names", "run"]


class Answer(Node):
    """What a row gave."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The row."""
        return str(self._raw["id"])

    @property
    def unit(self) -> str:
        """The unit of its numbers."""
        return str(self._raw["unit"])

    @property
    def status(self) -> str:
        """``given``, ``asked`` or ``predicted``."""
        return str(self._raw["status"])

    @property
    def published(self) -> float | None:
        """The published number: known when the row was written, or its outcome after it was predicted."""
        known: float | None = self._raw["published"]
        later: float | None = self._raw["outcome"]
        return known if known is not None else later

    @property
    def estimate(self) -> float | None:
        """In closed form."""
        value: float | None = self._raw["estimate"]
        return value

    @property
    def simulate(self) -> float | None:
        """By simulation."""
        value: dict[str, float] | None = self._raw["simulate"]
        return None if value is None else value["value"]

    @property
    def bound_by(self) -> str | None:
        """What binds."""
        value: str | None = self._raw["bound_by"]
        return value

    @property
    def why(self) -> str | None:
        """Why there is no value."""
        value: str | None = self._raw["why"]
        return value


class Answers(Node):
    """The answers of one study."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._raw["id"])

    @property
    def rows(self) -> Named[Answer]:
        """Its rows by id."""
        return named(Answer, self._raw["rows"])


def names() -> list[str]:
    """The studies that come with the program."""
    return [name for name, _, _ in _native.studies()]


def run(
    *rows: str, quick: bool = False, simulate: bool = True, threads: int | None = None, progress: Progress = None
) -> Named[Answers]:
    """Answers rows: studies or rows, ``"t5440"``, ``"t5440:read"``; without any, all. ``quick`` takes only those marked
    so. Ctrl-C ends it with what there is.

    >>> run("one-lane", simulate=False)["one-lane"].rows[0].unit
    'MB/s'

    Raises :class:`~lanescope.LanescopeError` for a study or row that there is not.
    """
    with callback(progress, "studies") as called:
        raw, stopped = _native.study_run(list(rows), quick, simulate, threads or os.cpu_count() or 1, called)
    if stopped:
        warnings.warn("stopped: some rows have no answer", StoppedWarning, stacklevel=2)
    return named(Answers, raw["studies"])
