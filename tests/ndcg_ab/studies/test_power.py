"""Questions about the number of queries, as they are read from options, and plans with drawn queries."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ndcg_ab.comparing.sampling import WHOLE, Sampling, describe_log
from ndcg_ab.studies.power import Scores, parse_settings, plan_from_differences


def test_numbers_of_queries_are_in_order_and_once() -> None:
    settings = parse_settings([0.05, 0.01, 0.05], [200, 50, 200, 100], 0.05, 0.8)
    assert settings.queries == (50, 100, 200)
    assert settings.effects == (0.05, 0.01), "effects keep their order"


def test_drawn_queries_alone_plan_and_their_long_tails_count() -> None:
    """Thirty of forty queries that differ were drawn; the others have values, and nobody knows what they stand for."""
    differences = np.random.default_rng(2).standard_t(3, 40) / 50
    ids = [f"q{index:02}" for index in range(40)]
    rows = [
        {"query_id": each, "weight": None, "probability": 0.5 if index < 30 else None, "disagreement": 1.0}
        for index, each in enumerate(ids)
    ]
    drawn = describe_log(rows, {WHOLE: ids})
    values = {"old": dict.fromkeys(ids, 0.5), "new": dict(zip(ids, (0.5 + differences).tolist(), strict=True))}
    scores = Scores(Path("values.csv"), {(system, "rr"): found for system, found in values.items()})
    settings = parse_settings([0.01], [30], 0.05, 0.8)
    plan = plan_from_differences(scores, "old", "new", "rr", settings, Sampling(drawn.weights, None, drawn))
    known = differences[:30]
    assert (plan.queries, plan.difference) == (30, pytest.approx(known.mean()))
    freedom = 1 / (1 / 29 + stats.kurtosis(known) / (2 * 30))
    assert plan.effective_queries == pytest.approx(freedom + 1) and freedom < 25
    quantiles = stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)
    assert plan.mde == pytest.approx(quantiles * known.std(ddof=1) / 30**0.5)
