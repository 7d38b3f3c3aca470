"""Define the pytest plugin with the fixture `ranking_baseline` and the option `--update-rankings`.

pytest imports the plugin at every start, so it imports nothing but pytest until a test uses the fixture. It prints
the baselines that were written, and the metrics on which passed tests are undecided.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ndcg_ab.errors import InputError

if TYPE_CHECKING:
    from ndcg_ab.testing.asserting import RankingBaseline

OPTION, DIRECTORY = "--update-rankings", "ndcg_ab_baselines"
# The properties of a test that name a file it wrote, and what it leaves undecided, also when sent by a worker.
WRITTEN, OPEN = "ndcg_ab_baseline", "ndcg_ab_undecided"
ASSERTING = "ndcg_ab.testing.asserting"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ndcg-ab")
    group.addoption(OPTION, action="store_true", help="ranking_baseline: make the candidates the new baselines")
    parser.addini(DIRECTORY, "ranking_baseline: the folder of the baselines, from rootdir", default="tests/baselines")


@pytest.fixture
def ranking_baseline(request: pytest.FixtureRequest) -> "Iterator[Callable[..., RankingBaseline]]":
    """Yield a function that returns the stored baseline of a name.

    Tests call it as ``ranking_baseline("shop").assert_not_worse(judgments, candidate)``.
    """
    from ndcg_ab.testing.asserting import NAME, RankingBaseline

    baselines: list[RankingBaseline] = []

    def named(name: str | None = None, directory: str | Path | None = None) -> RankingBaseline:
        """Return the stored baseline that has a name.

        name: None for the name of the test. Raise InputError if it is None and the test has parameters.
        directory: folder of the baselines, relative to pytest's rootdir; None for the configured folder, by default
        tests/baselines.
        """
        __tracebackhide__ = True
        own = request.node.name
        if name is None and not NAME.fullmatch(own):
            raise InputError(f"ranking_baseline: test {own!r} has parameters: name the baseline")
        root = request.config.rootpath
        folder = root / (directory or str(request.config.getini(DIRECTORY)))
        is_updated = bool(request.config.getoption(OPTION))
        name = own if name is None else name
        baselines.append(RankingBaseline(name, folder, root, request.node.nodeid, is_updated=is_updated))
        return baselines[-1]

    yield named
    request.node.user_properties += [(WRITTEN, path) for baseline in baselines for path in baseline.written]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test, then add to the test's properties the metrics that its comparisons left undecided.

    This happens for every test, whether or not it uses the fixture `ranking_baseline`.
    """
    pop_undecided()
    yield
    item.user_properties += [(OPEN, f"{item.nodeid}: {text}") for text in dict.fromkeys(pop_undecided())]


def pop_undecided() -> list[str]:
    """Return the sentences about undecided metrics that tests have collected, and clear the collection.

    Return [] if no test has imported the module that collects them.
    """
    asserting = sys.modules.get(ASSERTING)
    if asserting is None:
        return []
    undecided = list(asserting.UNDECIDED)
    asserting.UNDECIDED.clear()
    return undecided


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for group in terminalreporter.stats.values() for report in group]
    properties = [each for report in reports for each in getattr(report, "user_properties", ())]
    for path in sorted({value for name, value in properties if name == WRITTEN}):
        terminalreporter.write_line(f"ndcg-ab: baseline written: {path}")
    for text in dict.fromkeys(value for name, value in properties if name == OPEN):
        terminalreporter.write_line(f"ndcg-ab: passed, and undecided: {text}")
