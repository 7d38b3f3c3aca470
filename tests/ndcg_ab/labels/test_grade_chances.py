"""The pool of what the systems show, and the chances of the grades that nobody gave."""

import numpy as np
import pyarrow as pa
import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.labels.grade_chances import Pool, fit_grade_model, load_pool, make_features, why_no_model
from ndcg_core.measures.score import Result
from tests.laboratory import Judgments, Ranking, evaluation_of, fill, in_order

METRICS = ("ndcg@2", "ndcg(ties=average)@2", "precision@1")
JUDGMENTS: Judgments = {"b": {"d1": 2.0, "d2": 1.0, "other": 3.0}, "a": {"d1": -1.0}, "none": {"d1": 1.0}}
RANKINGS: dict[str, Ranking] = {
    "old": {"b": in_order("d1", "x", "deep"), "a": in_order("d1", "y"), "unjudged": in_order("d1")},
    "new": {"b": in_order("x", "d2", "d1"), "a": [Result("z", 2.0), Result("y", 1.0), Result("w", 1.0)]},
}


def pooled(judgments: Judgments, rankings: dict[str, Ranking], metrics: tuple[str, ...] = METRICS) -> Pool:
    with DuckDBEngine(1) as engine:
        fill(engine, judgments, rankings, metrics)
        evaluation = evaluation_of(list(rankings), metrics)
        return load_pool(engine, evaluation, evaluation.metric_list)


def rows_of(pool: Pool) -> list[tuple[str, str, list[int], float | None]]:
    query_ids, doc_ids = pool.query_ids.to_pylist(), pool.doc_ids.to_pylist()
    rows = zip(pool.query, pool.doc, pool.ranks.tolist(), pool.grade.tolist(), strict=True)
    return [
        (query_ids[query], doc_ids[doc], ranks, None if np.isnan(grade) else grade) for query, doc, ranks, grade in rows
    ]


def test_a_pool_has_every_document_that_a_system_shows_once() -> None:
    """Within rank 2, the deepest that a metric looks; where ties are averaged, w begins at 2, too."""
    pool = pooled(JUDGMENTS, RANKINGS)
    assert pool.query_ids.to_pylist() == ["a", "b", "none"]
    assert (pool.systems, pool.grades) == (("old", "new"), (-1.0, 0.0, 1.0, 2.0, 3.0))
    assert rows_of(pool) == [
        ("a", "d1", [1, 0], -1.0),
        ("a", "w", [0, 2], None),
        ("a", "y", [2, 2], None),
        ("a", "z", [0, 1], None),
        ("b", "d1", [1, 0], 2.0),
        ("b", "d2", [0, 2], 1.0),
        ("b", "x", [2, 1], None),
    ]


def test_features_are_what_the_systems_show() -> None:
    """Of y, at 2 in both; of z, which new alone shows at 1."""
    pool = pooled(JUDGMENTS, RANKINGS)
    features = make_features(pool.ranks)
    rows = np.zeros(features.shape)
    rows[features.document, features.feature] = features.value
    second = 1 / np.log2(3)
    assert (np.diff(features.document) >= 0).all()
    assert rows[2].tolist() == [second, 1.0, second, second, 0.0, 0.0]
    assert rows[3].tolist() == [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    assert [(values > 0).sum() for values in rows] == [3, 3, 4, 3, 3, 3, 4]
    assert make_features(pool.ranks[:0]).shape == (0, 6)


def many() -> Pool:
    """100 queries; each shows two judged documents and an unjudged one, the first of 60 is relevant."""
    queries = [f"q{number:03}" for number in range(100)]
    judgments = {query: {"d1": float(number < 60), "d2": 0.0} for number, query in enumerate(queries)}
    return pooled(judgments, {"old": {query: in_order("d1", "d2") for query in queries} | {"q000": in_order("x")}})


def test_chances_and_draws() -> None:
    pool = many()
    model = fit_grade_model(pool)
    chances = model.chances(pool)
    assert model.levels == (0.0, 1.0)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    first, second = (pool.ranks[:, 0] == 1) & pool.is_judged, pool.ranks[:, 0] == 2
    assert chances[first, 1].mean() > 0.4 > 0.1 > chances[second, 1].mean()
    draws = model.draw(pool, np.random.default_rng(1), 200)
    (unjudged,) = np.flatnonzero(~pool.is_judged)
    assert draws.shape == (200, 1)
    assert set(draws[:, 0]) == {0.0, 1.0}
    assert (draws == model.draw(pool, np.random.default_rng(1), 200)).all(), "the same seed, the same draws"
    assert draws.mean() == pytest.approx(chances[unjudged, 1], abs=0.1)


def test_too_little_is_said_why() -> None:
    assert why_no_model(pool_with((1.0,) * 10 + (0.0,) * 90)) is None
    assert why_no_model(pool_with((1.0,) * 9 + (0.0,) * 91)) == (
        "only 9 judged documents have more than the lowest grade, a model needs 10"
    )
    few = pool_with((0.0, 1.0, np.nan))
    assert why_no_model(few) == "only 2 of the documents shown are judged, a model needs 100"
    with pytest.raises(ValueError, match="only 2 of the documents shown are judged"):
        fit_grade_model(few)
    assert why_no_model(pool_with(tuple(map(float, range(21))))) == (
        "the judgments hold 21 grades, a model takes at most 20"
    )


def pool_with(grades: tuple[float, ...]) -> Pool:
    """One query, whose documents a system shows in this order."""
    numbers = np.arange(len(grades))
    levels = sorted({0.0, *grades} - {np.nan})
    ids = pa.array([f"d{number}" for number in numbers])
    line = np.zeros_like(numbers)
    return Pool(pa.array(["q"]), ids, line, numbers, numbers[:, None] + 1, ("old",), np.array(grades), tuple(levels))
