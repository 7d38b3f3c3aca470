"""The same rankings scored by other judgments, in tables of their own; whether carefully judged queries are random."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from ndcg_ab.comparing.families import metric_columns
from ndcg_ab.comparing.sampling import PLAIN
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError
from ndcg_ab.labels import proxy_judgments
from ndcg_ab.labels.rescoring import rescore
from ndcg_ab.pipeline.stages import evaluate
from ndcg_core.statistics.estimates.prediction_powered import check_balance
from ndcg_core.statistics.paired import Column
from tests.inputs import write_evaluation

QUERIES = [f"q{number}" for number in range(12)]


def evaluation_in(folder: Path, judged: dict[str, int]) -> Evaluation:
    """Return an evaluation of two rankings in which every query has the same judgments."""
    rankings = {"old": dict.fromkeys(QUERIES, "abc"), "new": dict.fromkeys(QUERIES, "bac")}
    keys = {"metrics": ["rr"], "guardrails": {"recall@2": 0.1}}
    return write_evaluation(folder, dict.fromkeys(QUERIES, judged), rankings, **keys)


@pytest.mark.slow
def test_scores_are_those_of_the_other_judgments_and_nothing_of_the_first_is_touched(tmp_path: Path) -> None:
    evaluation = evaluation_in(tmp_path, {"a": 1, "b": 0})
    with open_engine() as engine:
        outcome, store = evaluate(evaluation, engine)
        read = store.inputs()
        assert read.judgments is not None
        table = read.judgments.table
        turned = table.set_column(2, "grade", pc.subtract(1.0, table["grade"]))
        with rescore(evaluation, read, turned, "turned") as (other, alone, _):
            (column,) = metric_columns(other, alone, PLAIN)
            assert list(column.differences) == [0.5] * len(QUERIES)
            assert alone.metrics == ["rr"] and not alone.guardrails
        (first, *_) = metric_columns(engine, evaluation, PLAIN)
        assert list(first.differences) == [-0.5] * len(QUERIES) and outcome.main[0].difference == -0.5


def test_what_is_wrong_with_them_says_whose_they_are(tmp_path: Path) -> None:
    evaluation = evaluation_in(tmp_path, {"a": 1})
    with open_engine() as engine:
        read = evaluate(evaluation, engine)[1].inputs()
    assert read.judgments is not None
    table = read.judgments.table
    strange = table.set_column(0, "query_id", pc.binary_join_element_wise(table["query_id"], "x", "-"))
    with (
        pytest.raises(InputError, match=r"^judgments of ann: .*answers none of the 12 judged queries"),
        rescore(evaluation, read, strange, "judgments of ann"),
    ):
        pass


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
