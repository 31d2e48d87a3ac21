"""Where does my bandwidth go?

Describe a machine and its load in a few lines; lanescope says what throughput and latency to expect, which element is
the bottleneck, and where every other bit of the link went.

>>> import lanescope
>>> scenario = lanescope.Scenario.from_text('''
... [parts.host]
... use = "example/root-complex"
... [parts.nic]
... use = "example/nic-25g"
... [links.slot]
... between = ["host", "nic"]
... pcie = "gen3 x4"
... [flows.rx]
... from = "nic"
... to = "host.memory"
... do = "write"
... size = "2 KiB"
... ''')
>>> report = scenario.estimate()
>>> round(report.flows["rx"].share.gbps, 1), report.flows["rx"].bound_by.element
(25.0, 'parts.nic')

Rates are one way unless "both ways" is said; GB/s are decimal, GiB/s binary, Gb/s bits.
"""

from . import collectives, errors, hosts, study, types, units, wire
from ._lanescope import metrics, platforms, starter, version
from .errors import Diagnostic, LanescopeError, ScenarioError, StoppedWarning, SweepError
from .explaining import Explained, explain
from .fitting import Fit, fit
from .gpus import Collective, collective
from .optimizing import Optimum, Sensitivity, optimize, sensitivity
from .picture import Picture
from .report import Report
from .scenario import Plan, Scenario
from .sweeping import Sweep, slurm, sweep
from .units import Bytes, PerSecond, Quantity, Rate, Share, Time

__version__ = version()

__all__ = [
    "Bytes",
    "Collective",
    "Diagnostic",
    "Explained",
    "Fit",
    "LanescopeError",
    "Optimum",
    "PerSecond",
    "Picture",
    "Plan",
    "Quantity",
    "Rate",
    "Report",
    "Scenario",
    "ScenarioError",
    "Sensitivity",
    "Share",
    "StoppedWarning",
    "Sweep",
    "SweepError",
    "Time",
    "collective",
    "collectives",
    "errors",
    "explain",
    "fit",
    "hosts",
    "metrics",
    "optimize",
    "platforms",
    "sensitivity",
    "slurm",
    "starter",
    "study",
    "sweep",
    "types",
    "units",
    "version",
    "wire",
]
