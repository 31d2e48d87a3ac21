"""What goes wrong, with its place in the user's text.

Every exception of the package is a :class:`LanescopeError`. One about a scenario carries its diagnostics and prints as
the command prints it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One message about a scenario, and where in its text it points."""

    severity: str
    """``error`` or ``warning``."""
    message: str
    """What is wrong, in one line."""
    label: str
    """A few words at that place."""
    hint: str | None
    """What to do."""
    file: str | None = None
    """The text's name; ``--set`` for a value laid over it."""
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""
    span: tuple[int, int] | None = None
    """First byte in the text, and one past the last."""
    text: str | None = None
    """What stands there."""


class LanescopeError(Exception):
    """Something that the user can mend; the message says how."""


class ScenarioError(LanescopeError, ValueError):
    """A scenario that cannot be answered.

    >>> import lanescope
    >>> try:
    ...     lanescope.Scenario.from_text("[parts.host]\\nis = 'root-komplex'\\n")
    ... except lanescope.ScenarioError as e:
    ...     print(e.span, e.text, e.diagnostics[0].line)
    (18, 32) 'root-komplex' 2
    """

    def __init__(self, drawn: str, diagnostics: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(drawn)
        self._raw = [dict(d) for d in diagnostics]
        self.diagnostics: list[Diagnostic] = [Diagnostic(**d) for d in self._raw]
        """All that was found, errors first."""

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception goes back from a worker as what it was made of.
        return type(self), (str(self), self._raw)

    @property
    def _first(self) -> Diagnostic | None:
        return self.diagnostics[0] if self.diagnostics else None

    @property
    def span(self) -> tuple[int, int] | None:
        """Where the first error points, in bytes of its text."""
        return self._first.span if self._first else None

    @property
    def text(self) -> str | None:
        """What stands there."""
        return self._first.text if self._first else None

    @property
    def hint(self) -> str | None:
        """What to do about it, or else the words at its place."""
        return (self._first.hint or self._first.label or None) if self._first else None


class SweepError(LanescopeError):
    """A sweep that cannot begin or go on: its folder, its values, its workers."""

    sweep: Any = None
    """What there was of it when its workers died."""


class StoppedWarning(UserWarning):
    """Ctrl-C ended something before its end; what it returned is what there was."""


def read(path: str | os.PathLike[str]) -> str:
    """The text of a file of the user's; raises :class:`LanescopeError` where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as e:
        raise LanescopeError(f"{os.fspath(path)}: {e.strerror}") from e
