"""Pictures: SVG as the command writes it, shown by a notebook as it stands."""

from __future__ import annotations

import os
import re
from pathlib import Path


class Picture:
    """One picture. A notebook draws it; ``save`` writes it."""

    __slots__ = ("name", "svg")

    def __init__(self, name: str, svg: str) -> None:
        self.name = name
        """What it shows, as a file's name without its ending."""
        self.svg = svg
        """The text of the picture."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({self.name!r}, {len(self.svg)} characters of SVG)"


def frame(pictures: list[Picture], text: str) -> str:
    """Pictures and a text as HTML that runs nothing and fetches nothing."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # The declaration of a file has no place inside of a page.
    drawn = [re.sub(r"<\?xml.*?\?>\s*", "", p.svg) for p in pictures]
    figures = "".join(f'<div style="max-width:960px;margin:0 0 1em">{svg}</div>' for svg in drawn)
    return f'<div class="lanescope">{figures}<pre style="overflow-x:auto">{escaped}</pre></div>'
