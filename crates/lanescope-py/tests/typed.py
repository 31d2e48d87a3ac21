"""What an editor and a checker know of a script: this file is checked, not run."""

from __future__ import annotations

from typing import Literal

import lanescope


def script(scenario: lanescope.Scenario) -> float:
    report = scenario.run(for_="1 ms", seed=1, progress=lambda share: print(share))
    rx: lanescope.types.FlowReport = report.flows["rx"]
    slower: lanescope.Rate = rx.share.slower
    element: str = rx.bound_by.element
    verdict: Literal["stable", "unstable"] = rx.verdict
    half: lanescope.Rate | None = None
    if report.simulation is not None:
        half = report.simulation.flows["rx"].rate.half
    found = lanescope.sweep(scenario, {"parts.nic.tags": range(8)}, metrics=["links.up.utilisation"])
    names: list[str] = found.columns
    best: lanescope.Optimum = lanescope.optimize(scenario, {"parts.nic.tags": [1, 2]}, "flows.rx.share >= 1 Gb/s")
    print(element, verdict, half, names, best.point, slower.gbps)
    return rx.latency.us


def mistakes(report: lanescope.Report) -> None:
    report.flaws  # type: ignore[attr-defined]  # pyright: ignore
    report.flows["rx"].share.furlongs  # type: ignore[attr-defined]  # pyright: ignore
