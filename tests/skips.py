"""What a run of the tests did not test, and why: its last lines say it."""

from collections import Counter
from collections.abc import Iterable

import pytest


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
