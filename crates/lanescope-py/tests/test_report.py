"""Scenarios and reports: the command's own answers, with names and units."""

import json
import pickle
import re
import subprocess
import sys
import threading
import time
import warnings

import pytest
from conftest import ROOT, command, interrupted

import lanescope
from lanescope import Bytes, Rate, Share, Time

DUMP = """01:00.0 VGA compatible controller: NVIDIA Corporation AD102GL [RTX 6000 Ada Generation] (rev a1)
        Capabilities: [78] Express (v2) Legacy Endpoint, MSI 00
                DevCtl: MaxPayload 256 bytes, MaxReadReq 512 bytes
                LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
                LnkSta: Speed 2.5GT/s (downgraded), Width x16
"""


def test_an_answer_is_the_command_s(file):
    report = lanescope.Scenario.from_file(file).run()
    told = json.loads(command("run", file, "--json").stdout)
    assert report.to_dict() == told
    assert json.loads(report.to_json()) == told
    assert str(report) == command("run", file).stdout


def test_attributes_have_names_and_units(scenario):
    report = scenario.run(seed=3)
    rx = report.flows["rx"]
    assert rx is not report.flows[0] and rx == report.flows[0]
    assert round(rx.share.gbps, 2) == 28.73
    assert rx.share.slower <= rx.share <= rx.share.faster
    assert rx.share.gigabytes == pytest.approx(rx.share.gbps / 8)
    assert rx.bound_by.element == "links.uplink toward host"
    assert rx.latency.ns == pytest.approx(820.8, abs=0.1)
    assert isinstance(rx.latency, Time) and isinstance(rx.operation, Bytes)
    assert report.simulation.seed == 3
    assert report.simulation.flows["rx"].rate.half > 0
    assert report.links["uplink toward host"].ledger.payload == rx.share
    assert report.metric("links.uplink.up.utilisation") == pytest.approx(1.0)
    assert isinstance(report.metric("links.uplink.up.utilisation"), Share)
    with pytest.raises(KeyError, match="there is no 'tx'; there are rx"):
        report.flows["tx"]
    with pytest.raises(KeyError, match="is several"):
        report.links["uplink"]
    with pytest.raises(lanescope.LanescopeError, match="there is no flow"):
        report.metric("flows.tx.share")


def test_quantities_hold_their_unit():
    rate = Rate.parse("25 Gb/s")
    assert (rate + rate).gbps == 50 and (2 * rate).gbps == 50 and rate / rate == 1 and sum([rate, rate]) == 2 * rate
    assert type(rate + rate) is Rate and type(rate / 2) is Rate
    assert str(rate) == "25 Gb/s" and rate.to("MB/s") == 3125
    for wrong in ("ns", "furlong"):
        with pytest.raises(lanescope.LanescopeError, match="is not a valid unit of a rate"):
            rate.to(wrong)
    with pytest.raises(TypeError, match="do not add up"):
        rate + Time.parse("1 ns")
    with pytest.raises(lanescope.LanescopeError, match="is a time, not a rate"):
        Rate.parse("1 ns")
    assert pickle.loads(pickle.dumps(rate)) == rate


def every_node(node, seen):
    """Asks every attribute of every class of an answer once or more."""
    for name in [n for n in dir(type(node)) if isinstance(getattr(type(node), n, None), property)]:
        value = getattr(node, name)
        seen.add((type(node).__name__, name))
        for one in value if isinstance(value, (list, lanescope.types.Named)) else [value]:
            if isinstance(one, lanescope.types.Node):
                every_node(one, seen)


def test_every_attribute_of_every_technology_is_there():
    seen = set()
    starters = ROOT / "crates" / "lanescope-cli" / "src"
    # A cluster of GPUs has no flows: test_collective asks it.
    for path in sorted(p for p in starters.glob("starter*.toml") if p.name != "starter-gpus.toml"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            every_node(lanescope.Scenario.from_file(path).run(for_="20 us"), seen)
    assert len(seen) > 240
    every_node(lanescope.explain(DUMP), seen)


def test_mistakes_print_as_the_command_prints_them(tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[parts.host]\nuse = "example/root-complex"\nread_latency = "5 Gb/s"\n')
    with pytest.raises(lanescope.ScenarioError) as e:
        lanescope.Scenario.from_file(wrong)
    told = command("estimate", wrong, ok=(2,)).stderr
    assert str(e.value).strip() == told.strip()
    first = e.value.diagnostics[0]
    assert (first.line, first.text, e.value.text) == (3, '"5 Gb/s"', '"5 Gb/s"')
    assert wrong.read_bytes()[slice(*e.value.span)] == b'"5 Gb/s"'
    again = pickle.loads(pickle.dumps(e.value))
    assert str(again) == str(e.value) and again.diagnostics == e.value.diagnostics


def test_a_path_that_does_not_exist_and_a_value_with_a_wrong_unit(scenario):
    with pytest.raises(lanescope.ScenarioError) as e:
        scenario.set("parts.nic.tagz", 8)
    assert e.value.hint == "did you mean tags?" and e.value.text == "parts.nic.tagz"
    with pytest.raises(lanescope.ScenarioError) as e:
        scenario.set("parts.host.read_latency", "5 Gb/s")
    assert "5 Gb/s" in str(e.value)
    with pytest.raises(lanescope.LanescopeError, match="there is no such file"):
        lanescope.Scenario.from_file("/nowhere/at-all.toml")
    with pytest.raises(lanescope.ScenarioError):
        scenario.simulate(for_="5 Gb/s")


def test_a_scenario_is_set_planned_and_sent(scenario):
    narrow = scenario.set("links.uplink.pcie", "gen3 x2")
    assert narrow.estimate().total.share < scenario.estimate().total.share
    assert scenario.sets == [] and narrow.sets == ["links.uplink.pcie=gen3 x2"]
    again = pickle.loads(pickle.dumps(narrow))
    assert again == narrow and again.fingerprint == narrow.fingerprint
    plan = narrow.plan()
    assert plan.fingerprint == narrow.fingerprint
    keys = {s.key: s.value for s in plan.things["links.uplink"].settings}
    assert keys["pcie"] == "gen3 x2"
    assert plan.routes[0][0].startswith("flows.rx")


def test_frames_take_tables_without_copies(scenario):
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")

    report = scenario.run(for_="50 us")
    table = pyarrow.table(report)
    # The pens round to twelve digits.
    near = pytest.approx(float(report.flows["rx"].share), rel=1e-11)
    assert table["share_bps"].to_pylist() == [near] and table.schema.field("share_bps").type == pyarrow.float64()
    assert table.schema.field("instances").type == pyarrow.int64()
    assert polars.DataFrame(report.to_arrow())["share_bps"][0] == near
    assert pandas.DataFrame.from_arrow(report.to_arrow())["flow"][0] == "rx"
    links = report.to_arrow("links")
    assert len(links) == len(report.links)
    assert duckdb.from_arrow(pyarrow.table(links)).count("*").fetchall() == [(len(links),)]
    # Twice, and after its owner is gone.
    assert pyarrow.table(links).equals(pyarrow.table(links))
    with pytest.raises(lanescope.LanescopeError, match="is not a table"):
        report.to_arrow("flaws")


def test_a_notebook_shows_it_without_scripts(scenario):
    page = scenario.run(for_="50 us")._repr_html_()
    assert "<svg" in page and "bound by" in page
    for forbidden in ("<script", "javascript:", "http-equiv", "<iframe", "onload", "src="):
        assert forbidden not in page.lower(), forbidden
    # Names of a scenario are text in it.
    odd = lanescope.Scenario.from_text(scenario.text.replace("[run]", "") + "\n", name="<script>")
    assert "<script" not in odd.set("title", '"<script>alert(1)</script>"').estimate()._repr_html_().lower()


def test_pictures_are_the_command_s(file, tmp_path):
    command("estimate", file, "--svg", tmp_path / "svg")
    report = lanescope.Scenario.from_file(file).estimate()
    for picture in report.pictures():
        assert picture.svg == (tmp_path / "svg" / f"{picture.name}.svg").read_text()
    assert report.plot().name.startswith("waterfall") and report.plot("topology").name == "topology"
    with pytest.raises(KeyError, match="there is no picture"):
        report.plot("nothing")
    matplotlib = pytest.importorskip("matplotlib")

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    assert report.plot(ax=ax) is ax and len(ax.patches) == 2
    pyplot.close(figure)


def test_progress_is_told_and_may_refuse(scenario):
    seen = []
    scenario.simulate(until="±0.05 %", progress=seen.append)
    assert seen and seen == sorted(seen) and seen[-1] == 1.0

    def refuse(share):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        scenario.simulate(for_="5 s", progress=refuse)


LONG = """
import sys, warnings, lanescope
s = lanescope.Scenario.from_file(sys.argv[1])
print("ready", flush=True)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    r = s.set("run.max_packets", 10**12).simulate(for_="1000 s")
print(r.simulation.ending.ending, [w.category.__name__ for w in told])
"""


def test_ctrl_c_leaves_what_there_is(file):
    told, errors = interrupted(LONG, file)
    assert told == "stopped ['StoppedWarning']\n", errors


# A thousand ranks, all to all: many seconds of closed form.
ESTIMATE = """
import sys, lanescope
s = lanescope.Scenario.from_text('''
parts.hca = { is = "channel-adapter", count = 1024 }
parts.sw = { is = "infiniband-switch", ports = 1024 }
links.cable = { between = ["hca.*", "sw"], infiniband = "edr 4x" }
flows.a = { do = "mpi", ranks = ["hca.*"], program = "repeat 9 { alltoall 64 KiB }" }
''')
print("ready", flush=True)
try:
    s.estimate()
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_an_estimate():
    told, errors = interrupted(ESTIMATE)
    assert told == "interrupted\n", errors


def test_the_interpreter_goes_on_while_a_run_goes_on(scenario):
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    scenario.simulate(until="±0.02 %")
    lasted = time.monotonic() - began
    done.set()
    thread.join()
    # A run that held the lock would let the other thread count a few times at most.
    assert lasted < 0.2 or counted[0] > 20 * lasted


def test_one_scenario_on_two_threads(scenario):
    expected = scenario.run(for_="100 us").to_dict()
    found = []

    def ask():
        for _ in range(5):
            found.append(scenario.run(for_="100 us").to_dict() == expected)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert found == [True] * 10


def test_a_host_is_explained(tmp_path):
    found = lanescope.explain(DUMP, measured="gpu0 to memory,13.4\n")
    assert found.measured[0].verdict == "low"
    assert "tell them apart" in found.text() and "<svg" in found._repr_html_() and "<script" not in found.page()
    dump = tmp_path / "dump.txt"
    dump.write_text(DUMP)
    assert lanescope.explain(dump).devices["gpu0"] == lanescope.explain(DUMP).devices["gpu0"]
    assert (
        lanescope.explain([dump]).to_dict()["devices"]
        == json.loads(command("explain", dump, "--json").stdout)["devices"]
    )
    assert lanescope.Scenario.from_host(dump).plan().things
    with pytest.raises(lanescope.LanescopeError, match="nothing in these dumps"):
        lanescope.explain("not\na dump\n")
    with pytest.raises(lanescope.LanescopeError, match="there is no such file"):
        lanescope.explain("/nowhere/dump.txt")
    with pytest.raises(lanescope.LanescopeError, match="No such file"):
        lanescope.explain(DUMP, measured="/nowhere/copy.csv")


def test_calculator_and_studies_are_the_command_s():
    link = lanescope.wire.pcie("gen4 x8", payload="128 B")
    told = json.loads(command("wire", "pcie", "gen4", "x8", "--payload", "128 B", "--json").stdout)
    assert link.to_dict() == told and link.write.gigabytes == pytest.approx(told["write"] / 8e9)
    assert "<svg" in link._repr_svg_()
    with pytest.raises(lanescope.ScenarioError):
        lanescope.wire.pcie("gen9 x8")
    rows = lanescope.study.run("one-lane", simulate=False)["one-lane"].rows
    told = json.loads(command("study", "run", "one-lane", "--method", "estimate", "--json").stdout)
    assert [r.to_dict() for r in rows] == told["studies"][0]["rows"]
    assert "t5440" in lanescope.study.names()
    with pytest.raises(lanescope.LanescopeError):
        lanescope.study.run("nothing")


def test_the_wheel_s_classes_are_the_schema_s():
    done = subprocess.run(
        [sys.executable, ROOT / "crates/lanescope-py/tools/generate.py", "--check"], capture_output=True
    )
    assert done.returncode == 0, done.stderr


def test_docs_name_every_public_thing():
    for name in lanescope.__all__:
        thing = getattr(lanescope, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{name}.{member}"
    assert re.match(r"\d+\.\d+\.\d+", lanescope.__version__)
