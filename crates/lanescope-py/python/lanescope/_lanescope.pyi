"""
The native module of the package.
"""

from _typeshed import SupportsGetItem
from typing_extensions import CapsuleType
from typing import Any, SupportsFloat, SupportsIndex, final

__all__ = [
    "Collective", "Model", "Report", "Rows", "Sweep", "Table", "collective", "collective_size", "curves",
    "dimension", "explain", "explain_emit", "fit", "human", "in_unit", "metrics", "platforms", "quantity",
    "schema", "slurm", "starter", "studies", "study_run", "vary", "version", "wire_pcie"
]

@final
class Collective:
    """
    What a collective takes, with the cluster's text.
    """
    def chart(self, /) -> str:
        """
        Bus bandwidth against the size, as SVG.
        """
    def nccl_tests(self, /) -> str:
        """
        The lines of nccl-tests.
        """
    def page(self, /) -> str:
        """
        The page of `--html`.
        """
    def table(self, /) -> Table:
        """
        A row for each size, for frames.
        """
    def text(self, /) -> str:
        """
        As the command prints it.
        """
    def value(self, /) -> Any:
        """
        All of it, as `--json` prints it.
        """

@final
class Model:
    """
    A scenario, read and planned.
    """
    def __new__(cls, /, name: str, text: str, sets: SupportsGetItem[int, str]) -> Model: ...
    def estimate(self, /) -> Report:
        """
        The answer in closed form.
        """
    def estimate_time(self, /, times: SupportsIndex) -> float:
        """
        Seconds that the library takes for so many estimates: what the cost of a call is measured against.
        """
    @property
    def fingerprint(self, /) -> str: ...
    @property
    def name(self, /) -> str: ...
    def not_simulated(self, /) -> str | None:
        """
        Why it cannot be simulated; `None` where it can.
        """
    @staticmethod
    def open(path: str, sets: SupportsGetItem[int, str]) -> Model:
        """
        Reads a file.
        """
    def plan(self, /) -> Any:
        """
        What will run, as `lanescope plan --json` prints it.
        """
    def set(self, /, set: str) -> Model:
        """
        The same with another value laid over it.
        """
    @property
    def sets(self, /) -> list[str]: ...
    def simulate(self, /, must: bool, progress: Any | None) -> tuple[Report, bool]:
        """
        The same with the simulation beside it, and whether Ctrl-C ended that. `must` says that there is no answer
        without a simulation.
        """
    @property
    def text(self, /) -> str: ...
    @property
    def title(self, /) -> str: ...
    @property
    def warnings(self, /) -> list[str]: ...

@final
class Report:
    """
    An answer, with the plan that it is of.
    """
    def json(self, /) -> str:
        """
        The same as text of JSON.
        """
    def metric(self, /, path: str, simulated: bool) -> Any:
        """
        A metric by its path: its value, its dimension, and the range or half of the interval.
        """
    def pictures(self, /, simulation: bool, estimated: bool) -> list[tuple[str, str]]:
        """
        Its pictures, names and SVG: the simulation's where there is one, then the estimate's.
        """
    def table(self, /, which: str) -> Table:
        """
        One of its tables: `flows`, `links`, `slots`, `rows`.
        """
    def text(self, /, all_links: bool) -> str:
        """
        As the command prints it, without colours.
        """
    def value(self, /) -> Any:
        """
        All of it, as `--json` prints it.
        """

@final
class Rows:
    """
    Rows of a sweep, as columns.
    """
    def __len__(self, /) -> int: ...
    def chart(self, /, x: str, y: str) -> str:
        """
        The same as SVG.
        """
    @property
    def columns(self, /) -> list[str]:
        """
        Heads of the columns.
        """
    @property
    def done(self, /) -> int:
        """
        How many points have rows.
        """
    def errors(self, /) -> list[tuple[int, str]]:
        """
        The first thousand of them, and why.
        """
    @property
    def failed(self, /) -> int:
        """
        How many points have no answer.
        """
    @property
    def fingerprint(self, /) -> str:
        """
        A hash of all rows: the same rows give the same.
        """
    def point(self, /, number: SupportsIndex) -> list[str]:
        """
        The values of a point as the scenario has them, one for each path.
        """
    def series(self, /, x: str, y: str) -> tuple[str, list[tuple[str, list[tuple[float, float]]]]]:
        """
        Curves of a column against a path: the words of the horizontal axis, and each curve's name and points.
        """
    def table(self, /) -> Table:
        """
        The columns, for frames.
        """

@final
class Sweep:
    """
    A sweep: its question, and the rows that are there.
    """
    def __new__(
        cls, /, scenario: tuple[str, str, SupportsGetItem[int, str]], paths: SupportsGetItem[int, str], lists:
        SupportsGetItem[int, SupportsGetItem[int, str]], grid: bool, simulate: bool, seeds: SupportsGetItem[int,
        SupportsIndex], metrics: SupportsGetItem[int, str], out: str | None = None, shard: str | None = None
    ) -> Sweep:
        """
        `lists` are the values of each path of a grid, or, with `grid` false, a list of points. Without `out` rows stay
        in memory.
        """
    @staticmethod
    def answer(
        question: str, identity: str, points: SupportsGetItem[int, SupportsIndex], threads: SupportsIndex
    ) -> bytes:
        """
        The rows of some points as bytes of Parquet: what a worker of another process or machine calls. `None` when a
        signal ended it.
        """
    def close(self, /) -> Rows:
        """
        Stores what is taken, gives the folder free for others, and hands over the rows that are there.
        """
    @staticmethod
    def columns() -> list[tuple[str, str]]:
        """
        Names and docs of the columns that every sweep has.
        """
    def done(self, /) -> int:
        """
        How many have rows.
        """
    def flush(self, /) -> None:
        """
        Stores what is taken and not stored yet.
        """
    @property
    def identity(self, /) -> str: ...
    def left(self, /) -> int:
        """
        How many points are missing.
        """
    def pending(self, /, first: SupportsIndex, most: SupportsIndex) -> list[int]:
        """
        The numbers of so many points that are missing, from one on.
        """
    def question(self, /) -> str:
        """
        The question as text, for [`answer`](Sweep::answer) elsewhere.
        """
    def run(self, /, threads: SupportsIndex, progress: Any | None = None) -> bool:
        """
        Works out what is missing on threads of this process. Gives whether Ctrl-C ended it.
        """
    def size(self, /) -> int:
        """
        How many points there are in all.
        """
    def take(self, /, bytes: SupportsGetItem[int, SupportsIndex]) -> int:
        """
        Takes such bytes. Gives how many points they have.
        """

@final
class Table:
    """
    A table that pandas, polars, duckdb and pyarrow take as it is.
    """
    def __arrow_c_schema__(self, /) -> CapsuleType: ...
    def __arrow_c_stream__(self, /, requested_schema: Any | None = None) -> CapsuleType: ...
    def __len__(self, /) -> int: ...
    def column(self, /, name: str) -> list[Any]:
        """
        One column as a list: numbers in SI steps, whole numbers, text, or `None`.
        """
    @property
    def columns(self, /) -> list[str]:
        """
        Heads of the columns.
        """

def collective(
    what: str, cluster: tuple[str, str | None], sets: SupportsGetItem[int, str], sizes: SupportsGetItem[int, str],
    ladder: tuple[str, str, SupportsIndex], how: tuple[str | None, str | None, SupportsIndex | None], simulate:
    bool, progress: Any | None
) -> tuple[Collective, bool, str | None]:
    """
    `lanescope collective`: the answer; whether Ctrl-C ended the simulations; and why some are missing, if any.
    `cluster` is a name with its text, or without one a file; `sizes` are sizes, `ladder` the two ends and the factor
    of what is asked for where there are none.
    """

def collective_size(text: str) -> int:
    """
    A size in bytes, as nccl-tests take it.
    """

def curves(
    title: str, x: str, y: str, log_x: bool, bytes: bool, series: SupportsGetItem[int, tuple[str,
    SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, SupportsFloat | SupportsIndex]]]]
) -> str:
    """
    Any curves as SVG, drawn as the command draws its own.
    """

def dimension(unit: str) -> str | None:
    """
    What a unit is of: `rate`, `time`, `bytes`, `share`, `per-second`, `count`.
    """

def explain(
    dumps: SupportsGetItem[int, str], texts: SupportsGetItem[int, tuple[str, str]], measured: SupportsGetItem[int,
    tuple[str, str]], simulate: bool
) -> tuple[Any, str, str | None, str, bool]:
    """
    `lanescope explain`: the value, the text, a picture where there is one, the page, and whether Ctrl-C ended the
    simulations.
    """

def explain_emit(dumps: SupportsGetItem[int, str], texts: SupportsGetItem[int, tuple[str, str]], form: str) -> str:
    """
    A host as a scenario to go on with, or in a form for another program.
    """

def fit(
    scenario: tuple[str, str, SupportsGetItem[int, str]], table: tuple[str, str], free: SupportsGetItem[int,
    tuple[str, str, str]], simulate: bool
) -> Any:
    """
    `lanescope fit`.
    """

def human(value: SupportsFloat | SupportsIndex, dimension: str) -> str:
    """
    A value in SI steps as a person writes it.
    """

def in_unit(value: SupportsFloat | SupportsIndex, unit: str) -> float | None:
    """
    A value in SI steps in a unit; `None` where there is no such unit.
    """

def metrics() -> list[tuple[str, str]]:
    """
    Names and docs of the metrics of flows and links.
    """

def platforms() -> list[str]:
    """
    Names of the devices and platforms that come with the program.
    """

def quantity(text: str) -> tuple[float, str]:
    """
    A text like `"25 Gb/s"` in SI steps, and what it is of.
    """

def schema(which: str) -> Any:
    """
    The JSON Schema of reports (`report`), explained hosts (`explained`) or collectives (`collective`).
    """

def slurm(program: str, arguments: SupportsGetItem[int, str], tasks: SupportsIndex) -> str:
    """
    A job array for SLURM.
    """

def starter(platform: str) -> str:
    """
    A scenario to start from, with a platform of the library.
    """

def studies() -> list[tuple[str, str, int]]:
    """
    Ids and titles of the studies.
    """

def study_run(
    wanted: SupportsGetItem[int, str], quick: bool, simulate: bool, threads: SupportsIndex, progress: Any | None
) -> tuple[Any, bool]:
    """
    `lanescope study run`: answers, and whether Ctrl-C ended it before all rows had one.
    """

def vary(text: str) -> tuple[str, list[str]]:
    """
    Values of `--vary` as a list: `1..64 by x2`.
    """

def version() -> str:
    """
    The version of the program.
    """

def wire_pcie(
    speed: str, payload: str, header: str, ecrc: bool, ack_every: str, update_fc_every: str, completion: str,
    request: str, ordered_sets: bool, both_ways: bool
) -> tuple[Any, str]:
    """
    `lanescope wire pcie`.
    """
