"""Collectives of GPUs: the command's own answers, with names and units."""

import json

import pytest
from conftest import ROOT, command, interrupted

import lanescope
from lanescope import Rate, Time

CLUSTER = ROOT / "crates/lanescope-cli/src/starter-gpus.toml"


def test_an_answer_is_the_command_s(tmp_path):
    found = lanescope.collective("all_reduce", CLUSTER, min="1M", max="64M", simulate=True)
    asked = ("collective", "all_reduce", CLUSTER, "--min", "1M", "--max", "64M", "--simulate")
    assert found.to_dict() == json.loads(command(*asked, "--json").stdout)
    assert str(found) == command(*asked).stdout
    assert found.nccl_tests() == command(*asked, "--table").stdout
    page = tmp_path / "page.html"
    command(*asked, "--html", page, "--static")
    assert found.page() == page.read_text()
    # A text is a cluster as a file is, and what is laid over it the command's --set.
    how = {"algorithm": "ring", "protocol": "simple", "channels": 8, "sets": {"nodes": 4, "node.nics": 4}}
    text = lanescope.collective("alltoall", CLUSTER.read_text(), sizes=[1 << 20, "64M"], **{**how, "algorithm": None})
    told = command(
        *("collective", "alltoall", CLUSTER, "--min", "1M", "--max", "64M", "--factor", "64", "--protocol", "simple"),
        *("--channels", "8", "--set", "nodes=4", "--set", "node.nics=4", "--json"),
    )
    assert text.to_dict() == json.loads(told.stdout)


def test_attributes_have_names_and_units():
    found = lanescope.collective("all_reduce", CLUSTER, sizes=["8", "1G"], simulate=False)
    row = found["1G"]
    assert row is not found.rows[1] and row == found.rows[1] and row == found[1 << 30]
    assert isinstance(row.busbw, Rate) and isinstance(row.time, Time)
    assert row.algbw.gigabytes == pytest.approx(2**30 / float(row.time) / 1e9)
    assert row.busbw / row.algbw == pytest.approx(2 * 15 / 16) and row.busbw <= row.bound
    p = row.parts
    assert p.launch + p.hops + p.filling + p.busy == pytest.approx(row.time)
    slower, faster = row.range or (row.busbw, row.busbw)
    assert slower <= row.busbw <= faster
    assert row.bound_by in row.takes and found.collective == "all_reduce" and found.ranks == 16
    assert all(isinstance(name, str) and why for name, why in found.refused)
    with pytest.raises(KeyError, match="there is no row of 2G; sizes are 8, 1073741824"):
        found["2G"]
    ranged = {"node.nvlink_rate": "{ low = \"22 GB/s\", typical = \"25 GB/s\", high = \"26 GB/s\" }"}
    with pytest.raises(lanescope.LanescopeError):
        lanescope.collective("all_reduce", CLUSTER, sizes=["8"], sets={"node.nothing": ranged})


def test_frames_and_notebooks_take_it():
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    found = lanescope.collective("all_gather", CLUSTER, min="1M", max="4M", simulate=True)
    table = pyarrow.table(found)
    near = [pytest.approx(float(r.busbw) / 8, rel=1e-11) for r in found.rows]
    assert table["busbw_bytes_per_s"].to_pylist() == near
    assert table.schema.field("time_s").type == pyarrow.float64() and table.schema.field("bytes").type == pyarrow.int64()
    assert polars.DataFrame(found)["simulated_time_s"].to_list() == [
        pytest.approx(float(r.simulated.time), rel=1e-11) for r in found.rows
    ]
    page = found._repr_html_()
    assert "<svg" in page and "bound by" in page and "<script" not in page + found.page()
    for row in found.rows:
        assert sum(row.simulated.ledger) == pytest.approx(1) and row.simulated.busy <= 1
    matplotlib = pytest.importorskip("matplotlib")

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    assert found.plot(ax=ax) is ax and len(ax.lines) == 2
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("what", "options", "words"),
    [
        ("all_reduse", {}, "did you mean all_reduce"),
        ("all_reduce", {"min": "2G", "max": "1G"}, "min 2G is above max 1G"),
        ("all_reduce", {"sizes": ["many"]}, "is not a valid size"),
        ("all_reduce", {"sizes": []}, "sizes is empty"),
        ("all_reduce", {"factor": 1}, "at least 2"),
        ("all_reduce", {"algorithm": "rings"}, "ring"),
        ("alltoall", {"algorithm": "ring"}, "ring"),
        ("all_reduce", {"sets": {"nodes": "5 Gb/s"}}, "nodes"),
    ],
)
def test_what_makes_no_sense_is_refused(what, options, words):
    with pytest.raises(lanescope.LanescopeError, match=words):
        lanescope.collective(what, CLUSTER, **options)


def test_mistakes_point_into_the_text():
    text = CLUSTER.read_text().replace("nodes = 2", 'nodes = "5 Gb/s"')
    with pytest.raises(lanescope.ScenarioError) as e:
        lanescope.collective("all_reduce", text)
    assert e.value.text == '"5 Gb/s"'
    with pytest.raises(lanescope.LanescopeError, match="there is no such file"):
        lanescope.collective("all_reduce", "/nowhere/cluster.toml")
    with pytest.raises(lanescope.ScenarioError, match="lanescope collective"):
        lanescope.Scenario.from_file(CLUSTER)


def test_what_is_not_simulated_is_said():
    with pytest.warns(UserWarning, match="at most 64 are simulated"):
        found = lanescope.collective("all_reduce", CLUSTER, sizes=["1K"], sets={"nodes": 16}, simulate=True)
    assert found.rows[0].simulated is None


LONG = """
import sys, warnings, lanescope
print("ready", flush=True)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    r = lanescope.collective("alltoall", sys.argv[1], sizes=["8", "1G"], sets={"nodes": 8}, simulate=True)
print([row.simulated is not None for row in r.rows], [w.category.__name__ for w in told])
"""


def test_ctrl_c_leaves_what_was_finished():
    told, errors = interrupted(LONG, CLUSTER, after=2.5)
    assert told == "[True, False] ['StoppedWarning']\n", errors
