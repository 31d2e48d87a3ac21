"""Sweeps: the same rows whoever works them out, and every way in which that is interrupted."""

import concurrent.futures
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import command

import lanescope

GRID = {"links.uplink.pcie": ["gen3 x2", "gen3 x4", "gen3 x8"], "flows.rx.size": "64 B..4 KiB by x2"}
VARY = ["--vary", "links.uplink.pcie=gen3 x2,gen3 x4,gen3 x8", "--vary", "flows.rx.size=64 B..4 KiB by x2"]


@pytest.fixture
def expected(scenario):
    found = lanescope.sweep(scenario, GRID, threads=1)
    assert (found.size, found.done, found.errors) == (21, 21, {})
    return found.fingerprint


def test_rows_are_the_estimates(scenario):
    pyarrow = pytest.importorskip("pyarrow")

    found = lanescope.sweep(scenario, {"flows.rx.size": ["64 B", "1 KiB"], "links.uplink.pcie": ["gen3 x4"]})
    table = pyarrow.table(found)
    for i, size in enumerate(["64 B", "1 KiB"]):
        report = scenario.set("flows.rx.size", size).set("links.uplink.pcie", "gen3 x4").estimate()
        assert table["share_bps"][i].as_py() == float(report.flows["rx"].share)
        assert table["plan"][i].as_py() == report.provenance.plan
        assert table["bound_by"][i].as_py() == report.flows["rx"].bound_by.element
    assert found.column("flows.rx.size") == ["64 B", "1 KiB"]
    numbers = lanescope.sweep(scenario, {"run.seed": range(3)})
    assert pyarrow.table(numbers).schema.field("run.seed").type == pyarrow.int64()


def test_threads_shards_and_the_command_give_the_same_rows(scenario, file, expected, tmp_path):
    assert lanescope.sweep(scenario, GRID, threads=2).fingerprint == expected
    for i in (3, 1, 2):
        last = lanescope.sweep(scenario, GRID, out=tmp_path / "shards", shard=f"{i}/3")
        assert last.done == 7 * [3, 1, 2].index(i) + 7
    assert last.complete and last.fingerprint == expected
    for i in (1, 2):
        told = command("sweep", file, *VARY, "--out", tmp_path / "command", "--shard", f"{i}/2", "--json")
    assert json.loads(told.stdout)["fingerprint"] == expected
    # As parquet it is anyone's.
    duckdb = pytest.importorskip("duckdb")

    rows = duckdb.sql(f"select count(*), count(distinct point) from '{tmp_path}/command/*.parquet'").fetchall()
    assert rows == [(21, 21)]


def test_vary_and_sweep_give_one_answer(scenario, file):
    told = json.loads(command("estimate", file, *VARY, "--json", ok=(0, 1)).stdout)
    found = lanescope.sweep(scenario, GRID)
    assert found.column("share_bps") == [r["report"]["flows"][0]["share"]["typical"] for r in told]


def test_simulated_points_have_seeds_and_metrics(scenario):
    found = lanescope.sweep(
        scenario.set("run.for", "20 us"), {"flows.rx.size": ["256 B", "1 KiB"]}, methods="simulate", seeds=2,
        metrics=["links.uplink.up.utilisation"],
    )  # fmt: skip
    assert found.column("seed") == [1, 2, 1, 2] and all(found.column("simulated_bps"))
    assert all(0.5 < u <= 1.0 for u in found.column("links.uplink.up.utilisation"))
    one = scenario.set("flows.rx.size", "1 KiB").simulate(for_="20 us", seed=2)
    assert found.column("simulated_bps")[3] == float(one.simulation.flows["rx"].rate)
    with pytest.raises(lanescope.SweepError, match="seeds are for simulations"):
        lanescope.sweep(scenario, {"flows.rx.size": ["256 B"]}, seeds=2)


def test_columns_are_what_arrow_has(scenario):
    pyarrow = pytest.importorskip("pyarrow")

    found = lanescope.sweep(scenario, {"run.seed": range(2), "flows.rx.size": ["64 B", "0 B"]})
    table = pyarrow.table(found)
    assert found.to_dict() == {n: table[n].to_pylist() for n in found.columns if n != "place"}
    assert found.column("run.seed") == [0, 0, 1, 1]
    assert found.point(3) == {"run.seed": "1", "flows.rx.size": "0 B"} and found.failed == 2
    with pytest.raises(lanescope.LanescopeError, match="there is no column flaws; there are point, place"):
        found.column("flaws")
    with pytest.raises(lanescope.SweepError, match="there is no point 4"):
        found.point(4)


def test_files_are_what_others_read(scenario, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    import pyarrow.parquet

    found = lanescope.sweep(
        scenario.set("run.for", "20 us"), {"run.max_packets": [1000, 2000], "flows.rx.size": ["64 B", "0 B"]},
        methods="simulate", seeds=2, metrics=["links.uplink.up.utilisation"], out=tmp_path,
    )  # fmt: skip
    (part,) = tmp_path.glob("*.parquet")
    read, held = pyarrow.parquet.read_table(part), pyarrow.table(found)
    assert read.schema.equals(held.schema) and read.equals(held)
    assert polars.read_parquet(part).equals(polars.DataFrame(found))


def test_more_rows_than_memory_takes_go_to_a_folder(scenario, tmp_path):
    many = {"flows.rx.size": [f"{n} B" for n in range(1, 1002)], "run.seed": range(1000)}
    with pytest.raises(lanescope.SweepError, match="more than are kept in memory .* give out="):
        lanescope.sweep(scenario, many)
    # The largest begins at once, and Ctrl-C leaves what there is.
    most = {"flows.rx.size": [f"{n} B" for n in range(1, 10_001)], "run.seed": range(10_000)}

    def stop(share):
        raise KeyboardInterrupt

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.warns(lanescope.StoppedWarning):
        found = lanescope.sweep(scenario, most, out=tmp_path, progress=stop, threads=1)
    assert found.size == 100_000_000 and found.stopped and len(found) == found.done
    with concurrent.futures.ThreadPoolExecutor(1) as pool, pytest.warns(lanescope.StoppedWarning):
        lanescope.sweep(scenario, most, out=tmp_path, progress=stop, on=pool)
    # kB: bits of all points, and a list of the values of each path.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 300_000


def test_a_point_that_fails_is_a_named_error(scenario):
    found = lanescope.sweep(scenario, {"links.uplink.pcie": ["gen3 x4", "gen9 x4", "gen3 x2"]})
    assert found.done == 3 and list(found.errors) == [1] and 'no generation "gen9"' in found.errors[1]
    assert [b is None for b in found.column("share_bps")] == [False, True, False]


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"parts.nic.tagz": [1, 2]}, "did you mean tags"),
        ({"flows.rx.size": []}, "there is no point"),
        ({"flows.rx.size": "64 B..4 KiB"}, "a range needs its step"),
        ({"flows.rx.size": 7}, "is not a list of values"),
        ({}, "nothing varies"),
        ([{"run.seed": 1}, {"flows.rx.size": "64 B"}], "the same paths"),
        ({f"a{i}": range(1000) for i in range(9)}, "at most"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_at_once(scenario, over, words):
    with pytest.raises(lanescope.SweepError, match=words):
        lanescope.sweep(scenario, over)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeds": 0}, "seeds=0"),
        ({"seeds": [-2]}, "whole numbers from 0"),
        ({"threads": 0}, "at least one works"),
        ({"on": 3}, "on=3: it is a concurrent.futures.Executor"),
        ({"out": __file__}, "it is a file, and rows go to a folder"),
        ({"methods": "simulated"}, "is not a valid method"),
        ({"shard": "1/2"}, "give out="),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(scenario, options, words):
    with pytest.raises(lanescope.SweepError, match=words):
        lanescope.sweep(scenario, {"flows.rx.size": ["64 B"]}, **{"methods": "simulate", **options})


def test_a_metric_that_is_none_is_refused(scenario):
    with pytest.raises(lanescope.SweepError, match="there is no flow"):
        lanescope.sweep(scenario, {"run.seed": [1]}, metrics=["flows.tx.share"])


def test_a_folder_of_another_sweep(scenario, tmp_path):
    lanescope.sweep(scenario, GRID, out=tmp_path / "a")
    for other, words in (
        ((scenario.set("title", '"x"'), GRID), "its --set values differ"),
        ((scenario, {"run.seed": [1, 2]}), "it varies links.uplink.pcie"),
        ((scenario, {**GRID, "flows.rx.size": ["64 B"]}), "its varied values differ"),
    ):
        with pytest.raises(lanescope.SweepError, match=words):
            lanescope.sweep(*other, out=tmp_path / "a")
    lanescope.sweep(scenario, {"run.seed": [1, 2]}, out=tmp_path / "b")
    # A file of the one in the folder of the other, a folder of somebody else's files, and a file cut short.
    part = next((tmp_path / "b").glob("*.parquet"))
    shutil.copy(part, tmp_path / "a" / "stray.parquet")
    with pytest.raises(lanescope.SweepError, match="stray.parquet: it belongs to another sweep"):
        lanescope.sweep(scenario, GRID, out=tmp_path / "a")
    (tmp_path / "a" / "stray.parquet").unlink()
    (tmp_path / "c").mkdir()
    shutil.copy(part, tmp_path / "c" / "mine.parquet")
    with pytest.raises(lanescope.SweepError, match="not a folder of a sweep"):
        lanescope.sweep(scenario, GRID, out=tmp_path / "c")
    whole = next((tmp_path / "a").glob("*.parquet"))
    whole.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(lanescope.SweepError, match="not a whole file of Parquet"):
        lanescope.sweep(scenario, GRID, out=tmp_path / "a")


def test_nothing_is_worked_out_twice(scenario, file, tmp_path):
    first = lanescope.sweep(scenario, GRID, out=tmp_path / "a")
    files = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "a").glob("*.parquet")}
    again = lanescope.sweep(scenario, GRID, out=tmp_path / "a")
    assert again.fingerprint == first.fingerprint
    assert {p.name: p.stat().st_mtime_ns for p in (tmp_path / "a").glob("*.parquet")} == files
    told = json.loads(command("sweep", file, *VARY, "--out", tmp_path / "c", "--json").stdout)
    told = json.loads(command("sweep", file, *VARY, "--out", tmp_path / "c", "--json").stdout)
    assert (told["new"], told["before"]) == (0, 21)


LONG = """
import sys, lanescope
s = lanescope.Scenario.from_file(sys.argv[1]).set("run.for", sys.argv[3])
print("ready", flush=True)
r = lanescope.sweep(s, {"run.seed": range(60)}, methods="simulate", out=sys.argv[2], threads=2)
print(r.done, r.fingerprint)
"""


@pytest.fixture(scope="session")
def slow(two_nics):
    """How long each of sixty points is to be simulated, so that all of them take some six seconds of this build."""
    scenario = lanescope.Scenario.from_text(two_nics)
    scenario.simulate(for_="200 us")
    took = []
    # The shortest of some: what else the machine does just then would make the points too short.
    for _ in range(5):
        began = time.monotonic()
        scenario.simulate(for_="1 ms")
        took.append(time.monotonic() - began)
    return f"{max(1.0, 6 / 60 / min(took)):.1f} ms"


def started(file, out, slow):
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LONG, file, out, slow],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    return process


def stored(out):
    end = time.monotonic() + 60
    while not list(out.glob("[!.]*.parquet")):
        assert time.monotonic() < end, "nothing was stored"
        time.sleep(0.05)


def under_way(file, tmp_path, slow):
    """A sweep that has stored some of its points, not all: its process, its folder, and how long its points are.
    The process is stopped (SIGSTOP), so that it stays so however the machine shares its time."""
    # Before there is a process that nobody would end.
    pytest.importorskip("pyarrow")
    for n in range(6):
        out = tmp_path / f"out{n}"
        process = started(file, out, slow)
        stored(out)
        process.send_signal(signal.SIGSTOP)
        if len(lanescope_rows(out)) < 60:
            return process, out, slow
        # All was done before it was stored for the first time: the machine is faster than when it was measured.
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
        slow = f"{2 * float(slow.split()[0]):.1f} ms"
    raise AssertionError(f"sixty points of {slow} are done at once")


def test_a_killed_sweep_goes_on(file, slow, tmp_path):
    whole = started(file, tmp_path / "whole", slow).communicate(timeout=300)[0].split()
    assert whole[0] == "60"
    out = tmp_path / "killed"
    process = started(file, out, slow)
    stored(out)
    process.kill()
    process.wait()
    # What was being written when it died has a name that begins with a dot.
    before = {p.name: p.read_bytes() for p in out.glob("[!.]*.parquet")}
    again = started(file, out, slow).communicate(timeout=300)[0].split()
    assert again == whole
    # What was there was left as it was, and nothing half written stayed.
    assert all((out / name).read_bytes() == text for name, text in before.items())
    assert not list(out.glob(".unfinished*"))
    points = lanescope_rows(out)
    assert sorted(points) == list(range(60)) and len(points) == 60


def lanescope_rows(out):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    return [p for f in sorted(out.glob("*.parquet")) for p in pyarrow.parquet.read_table(f)["point"].to_pylist()]


def test_ctrl_c_stores_what_there_is(file, slow, tmp_path):
    for attempt in range(6):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        process, out, slow = under_way(file, folder, slow)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        told, errors = process.communicate(timeout=60)
        if int(told.split()[0]) < 60:
            break
        # It was done before it heard of the signal.
        slow = f"{2 * float(slow.split()[0]):.1f} ms"
    assert 0 < int(told.split()[0]) < 60, errors
    assert started(file, out, slow).communicate(timeout=300)[0].split()[0] == "60"


def test_two_sweeps_into_one_folder(scenario, file, slow, tmp_path):
    process, out, slow = under_way(file, tmp_path, slow)
    try:
        s = lanescope.Scenario.from_file(file).set("run.for", slow)
        with pytest.raises(lanescope.SweepError, match="another process is working on this sweep"):
            lanescope.sweep(s, {"run.seed": range(60)}, methods="simulate", out=out)
        with pytest.raises(lanescope.SweepError, match="belongs to another sweep"):
            lanescope.sweep(s, {"run.seed": range(61)}, methods="simulate", out=out)
    finally:
        process.kill()
        process.wait()


FULL = """
import resource, sys, lanescope
s = lanescope.Scenario.from_file(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    lanescope.sweep(s, {"flows.rx.size": [f"{n} B" for n in range(64, 3064)]}, out=sys.argv[2])
except lanescope.SweepError as e:
    print(e)
"""


def test_a_full_disk(file, tmp_path):
    assert resource.RLIMIT_FSIZE
    out = tmp_path / "out"
    told = subprocess.run([sys.executable, "-c", FULL, file, out], capture_output=True, text=True, timeout=120)
    assert "cannot be stored" in told.stdout and "continues there when it is run again" in told.stdout, told.stderr
    assert not list(out.glob("*.parquet")) and not list(out.glob(".unfinished*"))
    s = lanescope.Scenario.from_file(file)
    found = lanescope.sweep(s, {"flows.rx.size": [f"{n} B" for n in range(64, 3064)]}, out=out)
    assert found.done == 3000 and not found.errors


def test_a_fork_after_a_run(scenario, expected):
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(forked, scenario, GRID).result(timeout=60) == expected


def forked(scenario, grid):
    return lanescope.sweep(scenario, grid, threads=2).fingerprint


def test_a_fork_while_a_run_goes_on(scenario):
    native = lanescope._lanescope.Sweep(
        (scenario.name, scenario.text, ["run.for=1 ms"]),
        ["run.seed"],
        [[str(i) for i in range(40)]],
        True,
        True,
        [],
        [],
    )
    running, go_on = threading.Event(), threading.Event()

    def told(_):
        running.set()
        go_on.wait()

    thread = threading.Thread(target=native.run, args=(2, told))
    thread.start()
    # It has worked on some points, and stays so.
    running.wait()
    # Here the other thread has it; in the child that thread is not there at all.
    with pytest.raises(lanescope.SweepError, match="another thread is running this sweep"):
        native.done()
    child = os.fork()
    if child == 0:
        try:
            native.done()
        except lanescope.SweepError:
            os._exit(7 if lanescope.sweep(scenario, GRID).done == 21 else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    go_on.set()
    thread.join()
    assert native.done() == 40 and native.left() == 0 and native.close().done == 40
    with pytest.raises(lanescope.SweepError, match="is closed"):
        native.done()


def test_executors_give_the_same_rows(scenario, expected, tmp_path):
    seen = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert lanescope.sweep(scenario, GRID, on=pool, progress=seen.append).fingerprint == expected
    assert seen[-1] == 1.0
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = lanescope.sweep(scenario, GRID, on=pool, out=tmp_path / "rows")
    assert found.fingerprint == expected and found.complete
    assert lanescope.sweep(scenario, GRID, out=tmp_path / "rows").fingerprint == expected


class Dying(concurrent.futures.ProcessPoolExecutor):
    """An executor whose workers are killed after some tasks."""

    tasks = 0

    def submit(self, task, *arguments, **named):
        self.tasks += 1
        if self.tasks == 5:
            for process in list(self._processes.values()):
                process.kill()
        return super().submit(task, *arguments, **named)


def test_an_executor_that_dies(scenario, expected, tmp_path):
    with Dying(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(lanescope.SweepError, match="the workers failed with BrokenProcessPool") as e:
            lanescope.sweep(scenario, GRID, on=pool, out=tmp_path / "rows")
    assert e.value.sweep.done < 21
    assert lanescope.sweep(scenario, GRID, out=tmp_path / "rows").fingerprint == expected


def test_a_worker_that_reads_another_scenario(scenario, tmp_path):
    device = tmp_path / "nic.toml"
    device.write_text('is = "endpoint"\nwrite_rate = "25 Gb/s"\n')
    text = scenario.text.replace("example/nic-25g", "./nic.toml")
    named = lanescope.Scenario.from_text(text, name=str(tmp_path / "s.toml"))
    native = lanescope._lanescope.Sweep((named.name, text, []), ["run.seed"], [["1", "2"]], True, False, [], [])
    device.write_text('is = "endpoint"\nwrite_rate = "10 Gb/s"\n')
    with pytest.raises(lanescope.SweepError, match="another scenario"):
        lanescope.sweeping._block(native.question(), native.identity, [0])
    # And a folder notices it, too.
    device.write_text('is = "endpoint"\nwrite_rate = "25 Gb/s"\n')
    lanescope.sweep(named, {"run.seed": [1]}, out=tmp_path / "rows")
    device.write_text('is = "endpoint"\nwrite_rate = "10 Gb/s"\n')
    with pytest.raises(lanescope.SweepError, match="belongs to another sweep"):
        lanescope.sweep(lanescope.Scenario.from_text(text, name=named.name), {"run.seed": [1]}, out=tmp_path / "rows")


def test_ten_thousand_points_on_dask_with_a_worker_killed(scenario, tmp_path):
    distributed = pytest.importorskip("distributed")
    grid = {
        "flows.rx.size": [f"{n} B" for n in range(64, 2564)],
        "links.uplink.pcie": [f"gen{g} x4" for g in range(1, 5)],
    }
    alone = lanescope.sweep(scenario, grid, threads=2)
    assert alone.size == 10_000 and not alone.errors
    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as client:
        killed = []

        def kill(share):
            if share > 0.4 and not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        found = lanescope.sweep(scenario, grid, on=client, out=tmp_path / "rows", progress=kill)
    assert killed and found.complete and found.fingerprint == alone.fingerprint


def test_ray_gives_the_same_rows(scenario, expected, tmp_path):
    ray = pytest.importorskip("ray")
    # Its workers find the package where this process does.
    here = {"env_vars": {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=here)
    try:
        assert lanescope.sweep(scenario, GRID, on=ray, out=tmp_path / "rows").fingerprint == expected
    finally:
        ray.shutdown()


def test_a_job_array_runs_in_any_shell(file, tmp_path):
    out = tmp_path / "it's here"
    script = command("sweep", file, *VARY, "--out", out, "--emit", "slurm", "--tasks", "3").stdout
    assert "#SBATCH --array=1-3" in script
    program = os.environ.get("LANESCOPE_COMMAND") or shutil.which("lanescope")
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "lanescope").symlink_to(program)
    for task in ("2", "1", "3"):
        env = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": task}
        subprocess.run(["bash", "-c", script], env=env, check=True, capture_output=True)
    told = json.loads(command("sweep", file, *VARY, "--out", out, "--json").stdout)
    assert (told["done"], told["new"]) == (21, 0)
    ours = lanescope.slurm(file, GRID, out=out, tasks=3)
    assert ours.splitlines()[:-1] == script.splitlines()[:-1]


def test_curves_are_drawn(scenario):
    found = lanescope.sweep(scenario, GRID)
    picture = found.plot("flows.rx.size")
    assert "<svg" in picture.svg and "links.uplink.pcie=gen3 x8" in picture.svg
    matplotlib = pytest.importorskip("matplotlib")

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    assert len(found.plot(ax=ax).lines) == 3
    pyplot.close(figure)
    pytest.importorskip("altair")
    assert len(found.plot(altair=True).to_dict()["data"]["values"]) == 21
    with pytest.raises(lanescope.SweepError, match="are not numbers"):
        found.plot("links.uplink.pcie")
    with pytest.raises(lanescope.SweepError, match="does not vary"):
        found.plot("run.seed")
