#!/usr/bin/env python3
"""What a packet-hop costs, by cause: instructions, cache misses and mispredicted branches of the simulator's loads.

    make bench-causes        builds the command with line tables and prints the table of book/speed.md

Each load is simulated twice under valgrind's callgrind, the second time for twice as long: what the second run takes
more is what its additional packet-hops take. Callgrind counts on a model of a machine (caches as
large as this machine's, a branch predictor of its own), so that what else the machine does changes nothing. Inlined
code of the standard library counts for the line of ours that it stands behind.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

FT16 = ["--set", "links.net.fat_tree.k=16"]
READS = ["--set", 'flows.dma.do="read"', "--set", 'flows.dma.size="512 B"']
MANY = ["--set", "parts.dev.count=15", "--set", 'links.up.pcie="gen3 x16"']
# Name, scenario, settings, microseconds of the shorter run: some 250,000 packet-hops.
LOADS = [
    ("FT8", "ft8.toml", [], 500),
    ("FT16", "ft8.toml", FT16, 150),
    ("S16", "s16.toml", [], 40_000),
    ("writes", "devices.toml", [], 4000),
    ("reads", "devices.toml", READS, 2000),
    ("15 devices", "devices.toml", MANY, 2000),
]

# The first that fits: a part of a file's path, and functions (none: all of them).
CAUSES = [
    ("event queue", "sim/core/kernel.rs", ""),
    ("event queue", "sim/core/tournament.rs", ""),
    ("clock arithmetic", "sim/core/clock.rs", ""),
    ("clock arithmetic", "sim/pcie/wire.rs", "lane0"),
    ("statistics", "sim/core/tally.rs", ""),
    ("statistics", "sim/core/stats.rs", ""),
    ("statistics", "sim/pcie/mod.rs", "finished received first_data started wrote written"),
    ("statistics", "sim/ethernet/mod.rs", "deliver take_in"),
    ("ledger", "sim/pcie/wire.rs", "book rest gap account settle"),
    ("ledger", "sim/ethernet/mod.rs", "rested settle idles"),
    ("credits, Acks, pauses", "sim/pcie/wire.rs", "may_send take_returns covers take give give_back free answer"),
    ("credits, Acks, pauses", "sim/pcie/wire.rs", "update dllp expect_ack wait lack"),
    ("credits, Acks, pauses", "sim/pcie/wire.rs", "will_lack wait_ahead count_spared spare_not"),
    ("credits, Acks, pauses", "sim/ethernet/switch.rs", "write_off sweep tell obey new bytes pool account arm tick"),
    ("credits, Acks, pauses", "sim/ethernet/mod.rs", "blocked pause obey"),
    ("forwarding", "sim/pcie/switch.rs", ""),
    ("forwarding", "sim/ethernet/switch.rs", ""),
    ("forwarding", "plan/ethernet/routes.rs", ""),
    ("transmission", "sim/pcie/wire.rs", ""),
    ("transmission", "sim/pcie/mod.rs", "put wire_of ends"),
    ("transmission", "sim/ethernet/mod.rs", "transmit arrived look control_arrived"),
    ("transmission", "sim/ethernet/frames.rs", ""),
    ("sources and destinations", "sim/pcie/requester.rs", ""),
    ("sources and destinations", "sim/pcie/limits.rs", ""),
    ("sources and destinations", "sim/pcie/completer.rs", ""),
    ("sources and destinations", "sim/pcie/terminal.rs", ""),
    ("sources and destinations", "sim/pcie/spare.rs", ""),
    ("sources and destinations", "sim/ethernet/station.rs", ""),
    ("sources and destinations", "sim/ethernet/lane.rs", ""),
    ("sources and destinations", "sim/ethernet/source.rs", ""),
    ("sources and destinations", "sim/core/source.rs", ""),
    ("sources and destinations", "sim/ethernet/queue_pair.rs", ""),
    ("event dispatch", "sim/mod.rs", ""),
    ("event dispatch", "sim/run.rs", ""),
    ("event dispatch", "sim/pcie/mod.rs", ""),
    ("event dispatch", "sim/ethernet/mod.rs", ""),
]
REST = "the rest"
# Of callgrind's events: what is added up for each column.
COLUMNS = [
    ("instructions", ["Ir"]),
    ("first-level data misses", ["D1mr", "D1mw"]),
    ("last-level misses", ["DLmr", "DLmw"]),
    ("mispredicted branches", ["Bcm", "Bim"]),
]


def costs(path):
    """(events, {(file, line): counts}) of a file that callgrind wrote."""
    names, events, file, line, ours, of_a_call = {}, [], "", 0, None, False
    out = {}
    for text in open(path):
        if text[0].isdigit() or text[0] in "+-*":
            where, *counts = text.split()
            line = line if where == "*" else line + int(where) if where[0] in "+-" else int(where)
            # The line behind a call has what the call took: that is counted where it was taken.
            if of_a_call:
                of_a_call = False
                continue
            if "/crates/lanescope/src/" in file:
                ours = (file, line)
            total = out.setdefault(ours or (file, 0), [0] * len(events))
            for i, n in enumerate(counts):
                total[i] += int(n)
        elif text.startswith("events:"):
            events = text.split()[1:]
        elif text.startswith("calls="):
            of_a_call = True
        elif m := re.match(r"(cfi|cfl|fl|fi|fe)=\((\d+)\)(?: (.*))?$", text):
            kind, number, name = m.groups()
            if name:
                names[number] = name
            if kind in ("fl", "fi", "fe"):
                file = names[number]
        elif text.startswith("fn="):
            ours = None
    return events, out


FUNCTIONS = {}


def function(file, line):
    """The function that a line of ours is in."""
    if file not in FUNCTIONS:
        FUNCTIONS[file], name = [], ""
        for text in open(file):
            if m := re.match(r"\s*(?:pub(?:\([^)]*\))? )?(?:const )?fn (\w+)", text):
                name = m.group(1)
            FUNCTIONS[file].append(name)
    known = FUNCTIONS[file]
    return known[line - 1] if 0 < line <= len(known) else ""


def cause(file, line):
    for name, part, functions in CAUSES:
        if file.endswith("/src/" + part) and (not functions or function(file, line) in functions.split()):
            return name
    return REST


def measured(command, folder, scenario, settings, us):
    """(packet-hops, {cause: [a count for each column]}) of a run of so many microseconds."""
    out = os.path.join(folder, "callgrind")
    valgrind = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--callgrind-out-file=" + out]
    run = [command, "simulate", os.path.join(HERE, scenario), *settings, "--for", f"{us} us", "--json"]
    answer = subprocess.run(valgrind + run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not answer.stdout.startswith("{"):
        sys.exit(answer.stderr)
    events, lines = costs(out)
    sums = collections.defaultdict(lambda: [0] * len(COLUMNS))
    for (file, line), counts in lines.items():
        of = sums[cause(file, line)]
        for i, (_, kinds) in enumerate(COLUMNS):
            of[i] += sum(counts[events.index(kind)] for kind in kinds)
    return json.loads(answer.stdout)["simulation"]["packets"], sums


def main():
    command = sys.argv[1]
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario, settings, us in LOADS:
            print(name, file=sys.stderr)
            short, less = measured(command, folder, scenario, settings, us)
            long, more = measured(command, folder, scenario, settings, 2 * us)
            tables[name] = {
                what: [(more[what][i] - less[what][i]) / (long - short) for i in range(len(COLUMNS))] for what in more
            }
    names = list(dict.fromkeys(name for name, _, _ in CAUSES)) + [REST]
    for i, (column, _) in enumerate(COLUMNS):
        digits = 0 if i == 0 else 2
        print(f"\n| {column} a packet-hop | " + " | ".join(tables) + " |\n| --- |" + " --- |" * len(tables))
        for what in names:
            of = [table.get(what, [0] * len(COLUMNS))[i] for table in tables.values()]
            # What costs nothing in any load has no row.
            if round(max(of), 2) > 0:
                print(f"| {what} | " + " | ".join(f"{max(n, 0):.{digits}f}" for n in of) + " |")
        whole = [sum(row[i] for row in table.values()) for table in tables.values()]
        print("| **all** | " + " | ".join(f"{n:.{digits}f}" for n in whole) + " |")


if __name__ == "__main__":
    main()
