"""What the tests share: the README's first scenario, and the command that the package is held against."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lanescope

# What runs in the background of a script ignores SIGINT, and so do its children, which some tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[3]


def readme_scenario() -> str:
    """The README's first scenario."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```toml file=two-nics.toml\n(.*?)```", text, re.S)
    assert found
    return found[1]


@pytest.fixture(scope="session")
def two_nics() -> str:
    return readme_scenario()


@pytest.fixture
def scenario(two_nics: str) -> lanescope.Scenario:
    return lanescope.Scenario.from_text(two_nics, name="two-nics.toml")


@pytest.fixture
def file(two_nics: str, tmp_path: Path) -> Path:
    path = tmp_path / "two-nics.toml"
    path.write_text(two_nics)
    return path


def command(
    *arguments: object, cwd: Path | None = None, ok: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    """Runs the command of the same build; $LANESCOPE_COMMAND says where it is."""
    program = os.environ.get("LANESCOPE_COMMAND") or shutil.which("lanescope")
    if program is None:
        pytest.fail("set LANESCOPE_COMMAND to the command of the same build; make test does")
    done = subprocess.run([program, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode in ok, done.stderr
    return done


def interrupted(code: str, *arguments: object, after: float = 0.7) -> tuple[str, str]:
    """What a program says, on both outputs, that gets SIGINT some time after it has said that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    told = process.communicate(timeout=60)
    assert time.monotonic() - began < 5
    return told


SKIPPED = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        SKIPPED.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    # Where everything is installed, what is not run is a mistake.
    if SKIPPED and os.environ.get("LANESCOPE_SKIPS") == "none":
        print("\nskipped, and nothing may be:", *SKIPPED, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return True if collection_path.name == "typed.py" else None
