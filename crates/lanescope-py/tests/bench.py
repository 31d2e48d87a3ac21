"""The goals of speed, measured: run by ``make python-bench`` with a release build of module and command.

A call's own cost is what Python's ``estimate()`` takes beyond the library's own estimate of the same plan. A sweep of
10,000 estimates runs on one thread and on two, and by the command's ``--vary``, in turn.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import readme_scenario

import lanescope

GRID = {"flows.rx.size": [f"{n} B" for n in range(64, 2564)], "links.uplink.pcie": [f"gen{g} x4" for g in range(1, 5)]}
ROUNDS = 3


def processor(work):
    """Seconds of processor time: what a busy machine does not stretch."""
    began = time.process_time()
    work()
    return time.process_time() - began


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def call(scenario):
    """Microseconds of a whole call, and of an answer that is asked for by the thousand within one call."""
    for _ in range(200):
        scenario.estimate()
    whole = min(seconds(lambda: [scenario.estimate() for _ in range(200)]) for _ in range(20)) / 200
    # The same from inside: no way in or out of Python, no object of Python's.
    native = scenario._model
    inside = min(native.estimate_time(200) for _ in range(20)) / 200
    return 1e6 * whole, 1e6 * inside


def main():
    scenario = lanescope.Scenario.from_text(readme_scenario(), name="two-nics.toml")
    whole, inside = call(scenario)
    print(
        f"estimate of the README's first scenario: {whole:.1f} us by Python, {inside:.1f} us in the library, "
        f"{whole - inside:.1f} us for the call (goal: under 50)"
    )
    one, two, vary = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "two-nics.toml"
        file.write_text(readme_scenario())
        sizes = ",".join(GRID["flows.rx.size"])
        assert not lanescope.sweep(scenario, GRID).errors
        arguments = [
            "--vary",
            f"flows.rx.size={sizes}",
            "--vary",
            "links.uplink.pcie=" + ",".join(GRID["links.uplink.pcie"]),
        ]
        command = [os.environ["LANESCOPE_COMMAND"], "estimate", str(file), *arguments, "--csv"]
        for _ in range(ROUNDS):
            one.append(seconds(lambda: lanescope.sweep(scenario, GRID, threads=1)))
            two.append(seconds(lambda: lanescope.sweep(scenario, GRID, threads=2)))
            vary.append(seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=False)))
    one, two, vary = (statistics.median(x) for x in (one, two, vary))
    print(f"10,000 estimates: {one:.2f} s on one thread, {two:.2f} s on two: {one / two:.2f} times as fast (goal: 1.8)")
    cpu = [processor(lambda n=n: lanescope.sweep(scenario, GRID, threads=n)) for n in (1, 2)]
    print(
        f"  processor time {cpu[0]:.2f} s on one, {cpu[1]:.2f} s on two; load of the machine {os.getloadavg()[0]:.1f}"
    )
    print(f"  {vary:.2f} s by the command's --vary: {two / vary:.2f} of it (goal: at most 1.10)")
    good = whole - inside < 50 and one / two >= 1.8 and two / vary <= 1.1
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
