"""What unjudged results mean for comparisons: the tables of the SQL against the core, and whole decisions."""

from random import Random
from typing import Any

import numpy as np
import pytest

import ndcg_ab
from ndcg_ab.comparing.families import metric_columns
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.labels.unjudged import read_ranked_results
from ndcg_ab.results.decisions import Choice
from ndcg_core.measures.score import Result
from ndcg_core.statistics.verdicts.record import Unjudged
from ndcg_core.statistics.verdicts.verdict import State
from tests.laboratory import evaluation_of, fill
from tests.repeated import mostly_soaked

METRICS = (
    "ndcg@3",
    "ndcg(ties=average)@3",
    "ndcg(ideal=local)@3",
    "ndcg(ideal=recall)@3",
    "ndcg(ideal=max)",
    "ndcg(ideal_cut=returned)@5",
    "ndcg(score_precision=float32, ties=doc_id_asc)@4",
    "dcg@2",
    "precision",
    "precision(ties=average)@2",
    "recall@4",
    "rr",
    "accuracy@1",
    "ap",
    "rbp@4",
    "err@4",
    "rprec(ties=average)",
    "bpref",
    "infap",
)


@pytest.mark.first_case
@pytest.mark.parametrize("seed", mostly_soaked(range(6), kept=range(3)))
def test_shown_results_give_the_differences_of_the_sql(seed: int) -> None:
    """With unjudged results gaining nothing, the core makes of the shown places what the SQL made of all of them."""
    random = Random(seed)
    documents = [f"d{number}" for number in range(10)]
    judgments = {
        f"q{query}": {doc: float(random.choice([-1, 0, 0, 1, 2])) for doc in random.sample(documents, 6)} | {"d0": 2.0}
        for query in range(5)
    }
    rankings = {
        name: {
            query: [Result(doc, float(random.randint(1, 4))) for doc in random.sample(documents, random.randint(1, 8))]
            for query in judgments
            if random.random() < 0.9
        }
        for name in ("old", "new", "other")
    }
    evaluation = evaluation_of([*rankings], METRICS)
    with DuckDBEngine(1) as engine:
        fill(engine, judgments, rankings, METRICS)
        shown = read_ranked_results(engine, evaluation.metric_list)
        for column in metric_columns(engine, evaluation, Sampling()):
            metric = evaluation.metric_named(column.metric)
            pair = shown.pair(metric, column.candidate, column.baseline, column.query_ids)
            expected = pytest.approx(np.asarray(column.differences), abs=1e-12)
            assert pair._expect(pair.zero_gains)[0] == expected, column.metric


TEN = [f"q{number}" for number in range(10)]
JUDGED_FIRST = {query: {"judged": 2.0, "bad": 1.0} for query in TEN}
UNJUDGED_FIRST = {query: {"unjudged": 2.0, "bad": 1.0} for query in TEN}
JUDGMENTS = {query: {"judged": 1.0, "bad": 0.0} for query in TEN}


def compared(old: Any, new: Any, judgments: Any = JUDGMENTS, **settings: Any) -> ndcg_ab.CompareResult:
    return ndcg_ab.compare(judgments, {"old": old, "new": new}, **({"metrics": ["ndcg@1"]} | settings))


def decided(found: ndcg_ab.CompareResult) -> Choice:
    (decision,) = found.decisions
    return decision.decision


def unjudged_of(found: ndcg_ab.CompareResult) -> Unjudged:
    row = found.comparisons[0]
    assert row.unjudged is not None
    return row.unjudged


@pytest.mark.first_case
@pytest.mark.parametrize(
    "metric", mostly_soaked(["ndcg@1", "rr@1", "precision@1", "err@1", "accuracy@1"], kept=["ndcg@1", "rr@1"])
)
def test_ten_queries_that_differ_by_an_unjudged_document_ask_for_judgments_both_ways_round(metric: str) -> None:
    for pair in ((JUDGED_FIRST, UNJUDGED_FIRST), (UNJUDGED_FIRST, JUDGED_FIRST)):
        assert decided(compared(*pair, metrics=[metric])) is Choice.JUDGE_RESULTS


@pytest.mark.slow
def test_declared_complete_the_judgments_decide() -> None:
    found = compared(JUDGED_FIRST, UNJUDGED_FIRST, complete_judgments=True)
    assert decided(found) is Choice.DO_NOT_SHIP
    assert unjudged_of(found) == Unjudged(0, State.WORSE, 1.2, is_declared=True)
    assert decided(compared(UNJUDGED_FIRST, JUDGED_FIRST, complete_judgments=True)) is Choice.SHIP_IF_CHEAP


@pytest.mark.slow
def test_without_an_unjudged_result_nothing_tips() -> None:
    judged = {query: {"judged": 1.0, "bad": 0.0, "unjudged": 0.0} for query in TEN}
    found = compared(JUDGED_FIRST, UNJUDGED_FIRST, judged)
    assert decided(found) is Choice.DO_NOT_SHIP
    assert (unjudged_of(found).documents, unjudged_of(found).tipping_factor) == (0, None)


@pytest.mark.slow
def test_a_larger_label_factor_asks_for_more_judgments() -> None:
    """One unjudged document in ten queries of which nine are judged for both: the gain holds, but not at any factor."""
    judgments = {query: {"judged": 1.0, "bad": 0.0, "other": 0.0} for query in TEN}
    del judgments["q0"]["bad"]
    new = JUDGED_FIRST
    old = {query: {"bad": 2.0, "judged": 1.0} for query in TEN}
    assert decided(compared(old, new, judgments, label_factor=1.0)) is Choice.SHIP_IF_CHEAP
    tipping = unjudged_of(compared(old, new, judgments)).tipping_factor
    assert tipping is None or tipping > 1


@pytest.mark.first_case
@pytest.mark.parametrize(("grades", "is_proposed"), [((1.0, 1.0), True), ((1.0, 0.0), False)])
def test_judgments_of_relevant_documents_alone_are_proposed_to_be_complete(
    grades: tuple[float, float], is_proposed: bool
) -> None:
    judgments = {query: {"judged": grades[0], "never": grades[1]} for query in TEN}
    many = {query: {f"u{number}": float(number) for number in range(30)} for query in TEN}
    many["q0"]["judged"] = 99.0
    found = compared(many, many, judgments, metrics=["ndcg@10"])
    assert any(each.code == "perhaps_complete" for each in found.findings) is is_proposed
