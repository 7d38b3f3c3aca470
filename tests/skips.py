"""What a run of the tests did not test, and why: its last lines say it."""

from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec

import pytest

NO_READER = "the fast reader of rankings is not built: there was no C compiler"


def needs_ranking_reader() -> None:
    """Skips a test of the fast way through text where there is none."""
    if not find_spec("ndcg_ab.sources.fast_reader.ranking_reader"):
        pytest.skip(NO_READER)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test, or a whole file, was skipped."""
    told = report.longrepr
    return str(told[2] if isinstance(told, tuple) else told).removeprefix("Skipped: ")


def say_skipped(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> list[str]:
    """A line for each reason with the number of its tests, the most first; nothing where all was tested.

    A file that is skipped as a whole counts as one.
    """
    counted = Counter(map(reason_of, reports))
    return [f"{count} skipped: {reason}" for reason, count in counted.most_common()]
