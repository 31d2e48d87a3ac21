"""Progress: a callback of the user's, or tqdm's bar where tqdm is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

Progress = bool | Callable[[float], object] | None
"""``True`` for a bar, a callable that takes the share that is done, or nothing."""


@contextmanager
def callback(progress: Progress, what: str) -> Generator[Callable[[float], object] | None, None, None]:
    """What the native side calls with the share that is done, every some milliseconds."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        # Without tqdm a line is better than silence.
        yield lambda share: print(f"\r{what} {share:4.0%}", end="" if share < 1 else "\n", file=sys.stderr, flush=True)
        return
    bar: Any = tqdm(total=100, desc=what, unit="%", bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}")
    try:
        yield lambda share: bar.update(100 * share - bar.n)
    finally:
        bar.close()
