"""Protocol calculators: what a link carries at all."""

from __future__ import annotations

from typing import Any

from . import _lanescope as _native
from .nodes import Node
from .picture import Picture
from .types import LinkReport
from .units import Bytes, PerSecond, Rate, Share

__all__ = ["PcieLink", "pcie"]


class PcieLink(Node):
    """What a PCIe link carries, one way."""

    __slots__ = ("_waterfall",)

    def __init__(self, raw: dict[str, Any], waterfall: str) -> None:
        super().__init__(raw)
        self._waterfall = waterfall

    def __reduce__(self) -> tuple[Any, ...]:
        return PcieLink, (self._raw, self._waterfall)

    @property
    def speed(self) -> str:
        """``gen3 x8``."""
        return str(self._raw["speed"])

    @property
    def raw(self) -> Rate:
        """Signalled bits per second."""
        return Rate(self._raw["raw"])

    @property
    def coded(self) -> Rate:
        """After line coding."""
        return Rate(self._raw["coded"])

    @property
    def write(self) -> Rate:
        """Payload of writes, with as many directions loaded as the question says."""
        return Rate(self._raw["write"])

    @property
    def write_alone(self) -> Rate:
        """The same with this direction alone loaded."""
        return Rate(self._raw["write_alone"])

    @property
    def read(self) -> Rate:
        """Payload of reads with completions of that size."""
        return Rate(self._raw["read"])

    @property
    def completion(self) -> Bytes:
        """Payload of one completion as used: what was asked, cut at MPS and at what one request asks for."""
        return Bytes(self._raw["completion"])

    @property
    def efficiency(self) -> Share:
        """Payload / bytes of TLPs and DLLPs, of writes."""
        return Share(self._raw["efficiency"])

    @property
    def tlp_overhead(self) -> Bytes:
        """Framing and header around the payload of a write TLP."""
        return Bytes(self._raw["tlp_overhead"])

    @property
    def tlps_per_second(self) -> PerSecond:
        """Write TLPs per second."""
        return PerSecond(self._raw["tlps_per_second"])

    @property
    def direction(self) -> LinkReport:
        """The direction away from the device, at the write load."""
        return LinkReport(self._raw["direction"])

    @property
    def curve(self) -> list[tuple[Bytes, Share, Rate]]:
        """Payload of a TLP, efficiency with DLLPs, and payload of writes."""
        return [(Bytes(p["payload"]), Share(p["with_dllps"]), Rate(p["write"])) for p in self._raw["curve"]]

    def plot(self) -> Picture:
        """Where its bits go."""
        return Picture("waterfall", self._waterfall)

    def _repr_svg_(self) -> str:
        return self._waterfall


def pcie(
    speed: str,
    *,
    payload: str = "256 B",
    header: str = "4DW",
    ecrc: bool = False,
    ack_every: int | str = 4,
    update_fc_every: int | str = 4,
    completion: str = "64 B",
    request: str = "512 B",
    ordered_sets: bool = True,
    both_ways: bool = True,
) -> PcieLink:
    """A PCIe link, ``"gen4 x8"``: the command's ``wire pcie`` with the same defaults.

    >>> pcie("gen3 x8").raw.gbps
    64.0

    Raises :class:`~lanescope.ScenarioError` for a speed or size that there is not.
    """
    raw, waterfall = _native.wire_pcie(
        speed, payload, header, ecrc, str(ack_every), str(update_fc_every), completion, request, ordered_sets, both_ways
    )
    return PcieLink(raw, waterfall)
