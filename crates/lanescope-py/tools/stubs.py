"""Writes python/lanescope/_lanescope.pyi from what the native module says of itself.

    python tools/stubs.py               builds the module and writes the stub
    python tools/stubs.py --check       says whether the stub is what it would write

PyO3 puts the description into the module (its feature ``experimental-inspect``), maturin reads it. maturin must be
installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
STUB = HERE / "python" / "lanescope" / "_lanescope.pyi"


def wrapped(line: str) -> str:
    """A line of at most 120 columns, broken where brackets allow it."""
    if len(line) <= 120:
        return line
    left = line.index("[" if line.startswith("__all__") else "(") + 1
    right = line.rindex("]" if line.startswith("__all__") else ") ->")
    indent = " " * (len(line) - len(line.lstrip()))
    inside = textwrap.wrap(line[left:right], 110, break_long_words=False, break_on_hyphens=False)
    return "\n".join([line[:left], *(f"{indent}    {part}" for part in inside), indent + line[right:]])


def generated(profile: str) -> str:
    with tempfile.TemporaryDirectory() as out:
        command = ["maturin", "generate-stubs", "--quiet", "--profile", profile, "--out", out]
        # The description is in symbols, which a release strips.
        keep = ["--", "-C", "strip=none"]
        subprocess.run([*command, "-i", sys.executable, *keep], cwd=HERE, check=True, stderr=subprocess.DEVNULL)
        (stub,) = Path(out).rglob("_lanescope.pyi")
        text = stub.read_text(encoding="utf-8")
    # The standard library has it from 3.13 on; checkers know the other for every version.
    text = text.replace("from types import CapsuleType\n", "")
    text = text.replace("from typing import Any", "from typing_extensions import CapsuleType\nfrom typing import Any")
    return "\n".join(wrapped(line) for line in text.splitlines()) + "\n"


if __name__ == "__main__":
    named = [a for a in sys.argv[1:] if not a.startswith("--")]
    text = generated(named[0] if named else "dev")
    if "--check" not in sys.argv:
        STUB.write_text(text, encoding="utf-8")
    elif not STUB.exists() or STUB.read_text(encoding="utf-8") != text:
        sys.exit(f"{STUB.name}: not what the module says of itself; run python tools/stubs.py")
