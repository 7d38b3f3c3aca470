"""The order of systems under two sets of judgments; tests/flows/cli/test_judgments.py has the rest."""

import pytest

from ndcg_ab.studies.judgments import compare_verdicts, order_agreement
from ndcg_core.statistics.verdicts.verdict import Size
from tests.ndcg_ab.report.test_words import outcome, row


@pytest.mark.parametrize(
    ("second", "tau", "weighted"),
    [
        ([3, 2, 1], 1, 1),
        ([1, 2, 3], -1, -1),
        ([3, 1, 2], 1 / 3, (3 / 2 + 4 / 3 - 5 / 6) / (11 / 3)),  # the last two change places
        ([2, 3, 1], 1 / 3, (-3 / 2 + 4 / 3 + 5 / 6) / (11 / 3)),  # the first two: it weighs more
        ([5, 5, 5], None, None),
        ([0.1 + 0.2, 0.3, 0.3], None, None),  # equal but for rounding
    ],
)
def test_orders_by_hand(second: list[float], tau: float | None, weighted: float | None) -> None:
    found = order_agreement([0.9, 0.8, 0.7], second)
    assert found == tuple(None if value is None else pytest.approx(value) for value in (tau, weighted))


def test_another_size_of_a_difference_is_another_verdict() -> None:
    found = [outcome(row(size=size, smallest_effect=0.01)) for size in Size]
    assert [pair.changed for other in found for pair in compare_verdicts(found[0], other)] == [False, True]
