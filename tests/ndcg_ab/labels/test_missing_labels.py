"""Where a system's own documents were judged by how good they are, the likely band is not shown; else it is."""

import numpy as np
import pyarrow as pa
import pytest

from ndcg_ab.labels.grade_chances import Pool, fit_grade_model
from ndcg_ab.labels.missing_labels import is_judged_less, systems_judged_by_choice

QUERIES, OWN = 60, 8  # documents that each of two systems alone shows for a query
SYSTEMS = ("old", "new")
NEW = 1  # its place among the systems


def pool(hidden_bad: float, hidden_good: float, hidden_old: float = 0.0) -> Pool:
    """On half of the queries most documents are relevant, of either system; hidden: shares of new's, and of old's."""
    rng = np.random.default_rng(5)
    count = QUERIES * OWN * 2
    numbers = np.arange(count)
    query, system = numbers // (OWN * 2), numbers // OWN % 2
    ranks = np.zeros((count, 2), dtype=np.int64)
    ranks[numbers, system] = numbers % OWN + 1
    grade = (rng.random(count) < np.where(query % 2, 0.75, 0.15)).astype(np.float64)
    share = np.where(system == NEW, np.where(grade > 0, hidden_good, hidden_bad), hidden_old)
    grade[rng.random(count) < share] = np.nan
    ids = pa.array(np.arange(QUERIES).astype(str)), pa.array(numbers.astype(str))
    return Pool(*ids, query, numbers, ranks, SYSTEMS, grade, (0.0, 1.0))


def judged_by_choice(of: Pool) -> dict[str, str]:
    return systems_judged_by_choice(of, fit_grade_model(of))


@pytest.mark.parametrize(
    ("hidden", "named"),
    [
        ((0.0, 0.0), set()),
        ((0.8, 0.1), {"new"}),
        ((0.5, 0.1), {"new"}),
        ((0.5, 0.5), set()),  # at random
        ((0.3, 0.3, 0.3), set()),  # of both, at random
        ((1.0, 1.0), set()),  # not pooled: nothing of it is judged
    ],
)
def test_judged_by_how_good_they_are(hidden: tuple[float, ...], named: set[str]) -> None:
    assert set(judged_by_choice(pool(*hidden))) == named


def test_the_reason_has_its_numbers() -> None:
    reason = judged_by_choice(pool(0.8, 0.1))["new"]
    assert reason.startswith("of what new alone shows 5") and "(of what others alone show 100 %)" in reason


@pytest.mark.parametrize(
    ("judged", "own", "less"), [(40, 100, True), (95, 100, False), (4, 20, False), (100, 100, False), (91, 100, False)]
)
def test_a_part_that_is_judged_less(judged: int, own: int, less: bool) -> None:
    """Of another system's 200 documents all are judged: the gap must be clear, and of more than a few documents."""
    is_judged = np.r_[np.arange(own) < judged, np.ones(200, dtype=np.bool_)]
    is_own = np.arange(own + 200) < own
    assert is_judged_less(is_judged, is_own, ~is_own) is less
