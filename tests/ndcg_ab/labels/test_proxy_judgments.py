"""Whether the carefully judged queries can be a random sample: the threshold is shared over what is tested."""

import numpy as np
import pytest

from ndcg_ab.labels import proxy_judgments
from ndcg_core.statistics.estimates.prediction_powered import check_balance
from ndcg_core.statistics.paired import Column

IDS = tuple(f"q{number:02}" for number in range(40))
JUDGED = frozenset(IDS[:20])


def test_the_threshold_is_shared_over_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half as sure as one test alone must be: the baseline's mean, which does not vary, takes half of that."""
    rng = np.random.default_rng(1)
    column = Column("old", "new", "rr", IDS, rng.normal(size=40) + np.repeat([0.5, 0.0], 20))
    monkeypatch.setattr(proxy_judgments, "SURE", 1.5 * check_balance(column, JUDGED).p_value)
    (found,) = proxy_judgments.check_randomness({("rr", "new"): column}, JUDGED)
    assert found.code == "careful_not_random" and "the difference of new on rr" in found.message
    two = Column("old", "new", "rr", IDS, column.differences, baseline_values=np.ones(40))
    assert proxy_judgments.check_randomness({("rr", "new"): two}, JUDGED) == []
