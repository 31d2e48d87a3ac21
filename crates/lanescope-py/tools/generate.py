"""Writes the typed classes of answers from the program's own JSON Schema.

    python tools/generate.py            writes python/lanescope/types.py, hosts.py and collectives.py
    python tools/generate.py --check    says whether they are what it would write

Every number of a report is of a kind: a rate, a time, a share. The schema has numbers only, so the kinds stand in the
table below, and a number that is not in it stops the generator.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent / "python" / "lanescope"


def module() -> Any:
    """The native module alone: the package around it needs what is written here."""
    for built in PACKAGE.glob("_lanescope*.so"):
        spec = importlib.util.spec_from_file_location("_lanescope", built)
        if spec is not None and spec.loader is not None and built.exists():
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
            return found
    return importlib.import_module("lanescope._lanescope")


native = module()

# Classes all of whose numbers are of one kind; then exceptions by field.
ALL = {
    "Alike": "Rate",
    "FlowReport": "Rate",
    "Ledger": "Rate",
    "Measured": "Rate",
    "Total": "Rate",
    "Upgrade": "Rate",
    "ProgramReport": "Time",
    "RankAccount": "Time",
    "SimulatedSwitch": "Time",
    "Simulation": "Time",
    "SwitchReport": "Time",
    "IoSeen": "Time",
    "SimulatedFlow": "Time",
    "ProgramRow": "Time",
    "SimulatedFrames": "Time",
    "OverSeeds": "Time",
    "SimulatedLink": "Rate",
    "LinkReport": "Rate",
    "CollectiveRow": "BytesPerSecond",
    "Parts": "Time",
    "SimulatedCollective": "float",
}
ONE = {
    "CollectiveRow.time": "Time",
    "SimulatedCollective.time": "Time",
    "SimulatedCollective.busbw": "BytesPerSecond",
    "SimulatedCollective.busy": "Share",
    "SimulatedCollective.ledger": "Share",
    "FlowReport.latency": "Time",
    "FlowReport.latency_first": "Time",
    "FlowReport.round_trip": "Time",
    "FlowReport.operation": "Bytes",
    # Counts over seeds.
    "Interval.mean": "float",
    "Interval.half": "float",
    "LinkReport.tlps": "PerSecond",
    "LinkReport.tlp_overhead": "Bytes",
    "OverSeeds.rate": "Rate",
    "OverSeeds.dropped": "float",
    # Bytes a second, as instruments of MPI print it.
    "ProgramRow.rate": "float",
    "ProgramRow.messages_per_second": "PerSecond",
    "SimulatedBackbone.clock": "PerSecond",
    "SimulatedFlow.each": "Rate",
    "SimulatedFlow.goodput": "Rate",
    "SimulatedFlow.rate": "Rate",
    "SimulatedFlow.in_flight": "float",
    "SimulatedFlow.little": "float",
    "SimulatedFrames.rate": "Rate",
    "SimulatedIos.per_second": "PerSecond",
    "SimulatedIos.oldest": "Time",
    "SimulatedIos.stages": "Time",
    "Simulation.both_ways": "Rate",
    "Simulation.until": "Share",
    # Nanoseconds and their squares, as instruments count them.
    "Times.max": "float",
    "Times.min": "float",
    "Times.squares": "float",
    "Times.sum": "float",
}
# Python's words and ours.
SPREAD = {
    "Ranged": ("ranged", {"Rate": "RangedRate", "Time": "RangedTime"}),
    "Interval": ("interval", {"Rate": "MeanRate", "Time": "MeanTime"}),
}


class Writer:
    def __init__(self, schema: dict[str, Any], top: str, plain: bool, known: dict[str, Any]) -> None:
        self.defs: dict[str, Any] = schema["$defs"]
        self.top, self.plain, self.known = top, plain, known
        self.top_schema = schema
        self.words: dict[str, list[str]] = {}

    def kind(self, owner: str, field: str) -> str:
        kind = "float" if self.plain else ONE.get(f"{owner}.{field}") or ALL.get(owner)
        if kind is None:
            sys.exit(f"{owner}.{field} is a number of no kind: say in tools/generate.py what it is of")
        return kind

    def read(self, owner: str, field: str, s: dict[str, Any], raw: str) -> tuple[str, str]:
        """The type of a value, and the expression that makes it of what JSON has."""
        if "anyOf" in s:
            inner = next(x for x in s["anyOf"] if x.get("type") != "null")
            kind, made = self.read(owner, field, inner, raw)
            return f"{kind} | None", made if made == raw else f"None if {raw} is None else {made}"
        if "$ref" in s:
            name = s["$ref"].rsplit("/", 1)[1]
            target = self.top_schema if name == self.top else self.defs[name]
            if name in SPREAD and not self.plain:
                kind = self.kind(owner, field)
                if kind == "float":
                    return "Interval", f"Interval({raw})"
                make, types = SPREAD[name]
                return types[kind], f"cast({types[kind]}, {make}({kind}, {raw}))"
            if target.get("type") == "object":
                return name, f"{name}({raw})"
            if all("const" in x for x in target.get("oneOf", [{}])):
                self.words[name] = [x["const"] for x in target["oneOf"]]
                return name, raw
            if "oneOf" in target:
                return name, f"{name}({raw})"
            if "enum" in target:
                self.words[name] = target["enum"]
                return name, raw
            return self.read(owner, field, target, raw)
        t = s.get("type")
        if isinstance(t, list):
            rest = {**s, "type": next(x for x in t if x != "null")}
            kind, made = self.read(owner, field, rest, raw)
            return f"{kind} | None", made if made == raw else f"None if {raw} is None else {made}"
        if t == "number":
            kind = self.kind(owner, field)
            if kind == "BytesPerSecond":
                # A rate of this package counts bits.
                return "Rate", f"Rate(8 * {raw})"
            return kind, raw if kind == "float" else f"{kind}({raw})"
        if t == "array":
            if "prefixItems" in s:
                if all(x.get("type") == "number" for x in s["prefixItems"]):
                    parts = [self.read(owner, field, x, f"{raw}[{i}]") for i, x in enumerate(s["prefixItems"])]
                    return f"tuple[{', '.join(p[0] for p in parts)}]", f"({', '.join(p[1] for p in parts)})"
                parts = [self.read(owner, field, x, "x") for x in s["prefixItems"]] if not self.numbers(s) else None
                inner = ", ".join(p[0] for p in parts) if parts else "str, float"
                return f"tuple[{inner}]", f"tuple({raw})"
            kind, made = self.read(owner, field, s["items"], "x")
            ref = s["items"].get("$ref", "").rsplit("/", 1)[-1]
            if ref and "name" in self.defs.get(ref, {}).get("properties", {}):
                return f"Named[{ref}]", f"named({ref}, {raw})"
            if ref and self.plain and "id" in self.defs.get(ref, {}).get("properties", {}):
                return f"Named[{ref}]", f"named({ref}, {raw})"
            return f"list[{kind}]", raw if made == "x" else f"[{made} for x in {raw}]"
        return {"string": "str", "integer": "int", "boolean": "bool"}.get(str(t), "Any"), raw

    @staticmethod
    def numbers(s: dict[str, Any]) -> bool:
        return any(x.get("type") == "number" for x in s["prefixItems"])

    def klass(self, name: str, s: dict[str, Any]) -> str:
        fields: dict[str, Any] = dict(s.get("properties", {}))
        required = set(s.get("required", []))
        for way in s.get("oneOf", []):
            for f, p in way.get("properties", {}).items():
                fields.setdefault(f, {"type": "string", "description": "Which of them."} if "const" in p else p)
            required = {f for f in fields if all(f in w.get("required", []) for w in s["oneOf"])}
        out = [f"class {name}(Node):", doc(s.get("description", name), "    "), "", "    __slots__ = ()"]
        for f, p in fields.items():
            attribute = f.replace("-", "_")
            attribute += "_" if keyword.iskeyword(attribute) else ""
            optional = f not in required and "default" not in p
            raw = f"self._raw.get({json.dumps(f)})" if optional else f"self._raw[{json.dumps(f)}]"
            if not optional and isinstance(p.get("default"), list):
                # Left out where it is empty.
                raw = f"self._raw.get({json.dumps(f)}, {p['default']!r})"
            kind, made = self.read(name, f, p, "x" if optional else raw)
            if optional:
                kind = kind if kind.endswith("None") else f"{kind} | None"
                made = raw if made == "x" else f"None if (x := {raw}) is None else {made}"
                made = made.replace(
                    f"None if (x := {raw}) is None else None if x is None else", f"None if (x := {raw}) is None else"
                )
            plain = made in (raw, "x")
            value = f"cast({json.dumps(kind)}, {raw})" if plain or made.startswith("tuple(") else made
            if made.startswith("tuple("):
                value = f"cast({json.dumps(kind)}, {made})"
            out += [
                "",
                "    @property",
                f"    def {attribute}(self) -> {kind}:",
                doc(p.get("description", f), "        "),
            ]
            out += [f"        return {value}"]
        return "\n".join(out)

    def write(self) -> str:
        names = sorted(n for n, s in self.defs.items() if n not in self.known and self.is_class(n, s))
        classes = [self.klass(n, self.defs[n]) for n in names]
        classes.append(self.klass(self.top, self.top_schema))
        wrapped = {n: textwrap.wrap(", ".join(json.dumps(x) for x in w), 110) for n, w in sorted(self.words.items())}
        words = [f"{n} = Literal[\n    " + "\n    ".join(lines) + "\n]" for n, lines in wrapped.items()]
        return "\n\n\n".join(["\n".join(words), *classes] if words else classes) + "\n"

    def is_class(self, name: str, s: dict[str, Any]) -> bool:
        if name == "Ranged":
            return self.plain
        if s.get("type") == "object":
            return True
        return "oneOf" in s and any("properties" in x for x in s["oneOf"])


def doc(text: str, indent: str) -> str:
    """A docstring of at most 120 columns."""
    text = " ".join(text.split()).replace("\\", "\\\\")
    lines = textwrap.wrap(text, 116 - len(indent), break_long_words=False)
    if len(lines) == 1 and len(indent) + len(lines[0]) + 6 <= 120:
        return f'{indent}"""{lines[0]}"""'
    return f'{indent}"""' + f"\n{indent}".join(lines) + f'\n{indent}"""'


def heads(about: str, more: str) -> str:
    return (
        f'"""{about}\n\n'
        "Written by tools/generate.py from the program's JSON Schema: change the library's types, not this file.\n"
        '"""'
        "\n\n# ruff: noqa: E501\n# pylint: skip-file\nfrom __future__ import annotations\n\n"
        "from typing import Any, Literal, cast\n\nfrom .nodes import Named, Node, named\n" + more
    )


def files() -> dict[str, str]:
    report = native.schema("report")
    units = (
        "from .units import (\n    Bytes, MeanRate, MeanTime, PerSecond, RangedRate, RangedTime, Rate, Share, Time, "
        'interval, ranged,\n)\n\n__all__ = ["ReportValue"]\n\n_ = Any\n\n\n'
    )
    report_text = Writer(report, "ReportValue", False, {}).write()
    explained = native.schema("explained")
    # What a host's report shares with a scenario's is written once.
    known = {n: None for n in report["$defs"] if report["$defs"][n] == explained["$defs"].get(n)}
    known.pop("Simulated", None)
    known["Report"] = None
    for n in explained["$defs"]:
        if n in report["$defs"]:
            known[n] = None
    more = 'from .types import ReportValue as Report\n\n__all__ = ["ExplainedValue"]\n\n_ = (Any, Literal)\n\n\n'
    explained_text = Writer(explained, "ExplainedValue", True, known).write()
    units_of_collectives = "from .units import Rate, Share, Time\n\n__all__ = [\"CollectiveValue\"]\n\n_ = (Any, Named, named)\n\n\n"
    collective_text = Writer(native.schema("collective"), "CollectiveValue", False, {}).write()
    return {
        "types.py": heads("The classes of a report: every value with its kind and its meaning.", units) + report_text,
        "hosts.py": heads("The classes of an explained host. Rates are GB/s, as their names and docs say.", more)
        + explained_text,
        "collectives.py": heads("The classes of a collective of GPUs.", units_of_collectives) + collective_text,
    }


if __name__ == "__main__":
    stale = []
    for file, text in files().items():
        path = PACKAGE / file
        if "--check" in sys.argv:
            if not path.exists() or path.read_text() != text:
                stale.append(file)
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"{', '.join(stale)}: not what the library's schema says; run python tools/generate.py")
