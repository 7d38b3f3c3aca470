"""What holds for every test."""

import functools
import gc
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.testing

from tests import examples, skips, stores
from tests.references import Collection, collections

# ranx without a compiler, which takes half a minute for what the tests ask of it.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
# As in the commands: several processes test at once, whose threads for small matrices would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
gc.set_threshold(50_000, *gc.get_threshold()[1:])  # as in the commands, which import as much
# Nothing in the tests may reach for a server or a store of the developer's own.
SERVERS = ("MLFLOW_TRACKING_URI", "PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
WIDTH = ("COLUMNS", "LINES")  # of a terminal that nobody sees: pytest-xdist sets them
ALL_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)
for name in SERVERS:
    os.environ.pop(name, None)
# The commands are made of their functions once, as in a process of their own, and not at every call.
typer.testing._get_command = functools.cache(typer.testing._get_command)

examples.draw_fewer()
stores.folder()  # before the processes that test are started, so that they know it


@pytest.fixture(scope="session", params=collections(), ids=str)
def collection(request: pytest.FixtureRequest) -> Collection:
    """A test collection of our own, and real rankings where the folder of shared data is there."""
    found: Collection = request.param
    return found


@pytest.fixture(autouse=True)
def _nobody_s_servers() -> None:
    """Nor for those of an earlier test of its process, which MLflow and Prefect leave in the environment."""
    for name in (*SERVERS, *WIDTH):
        os.environ.pop(name, None)


@pytest.fixture
def plain_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations get a page of one word, since theirs takes most of a small evaluation's time."""
    page = lambda folder: (folder / "report.html").write_text("page\n")  # noqa: E731
    monkeypatch.setattr("ndcg_ab.report.bundle_files.write_report", page)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that are slow as a whole are not even imported where no slow test is asked for."""
    if config.option.markexpr == "not slow" and collection_path.suffix == ".py":
        return True if ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and begin with it: the tests of tests/slow first, so that none is left alone at the end."""
    folder = f"{Path(__file__).parent / 'slow'}{os.sep}"
    places, started = {}, set()
    for item in items:
        in_slow = str(item.path).startswith(folder)
        name = item.nodeid.partition("[")[0]
        is_later_case = name in started and item.get_closest_marker("first_case")
        if in_slow or is_later_case or item.get_closest_marker("soak"):
            item.add_marker("slow")
        started.add(name)
        places[item] = (item.get_closest_marker("slow") is None, not in_slow)
    items.sort(key=places.__getitem__)


def pytest_collection_finish() -> None:
    """The thousands of tests stay for the whole run: the garbage collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let DuckDB's types be collected at the end: it prints a list of those that are not.

    Two things live longer than the modules of the tests and keep them: the callback by which Hypothesis times the
    garbage collector, and errors that were raised from a table of cases, with the frames of their tracebacks.
    """
    gc.unfreeze()
    gc.callbacks.clear()
    for each in gc.get_objects():
        if issubclass(type(each), BaseException):
            each.__traceback__ = None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """After all that others say, so that nobody takes what is missing here for tested."""
    yield
    if lines := skips.say_skipped(terminalreporter.getreports("skipped")):
        terminalreporter.write_sep("=", "NOT TESTED HERE", yellow=True)
        for line in lines:
            terminalreporter.write_line(line)
