"""Where the ranks of results are known, nothing is ranked but what is judged, and every number is the same."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab import thresholds
from ndcg_ab.checks import id_checks
from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.scoring import parity
from ndcg_ab.scoring.needed_results import reduce_pulled
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import PulledInputs, score_metrics
from ndcg_ab.sources import RANKING, Queries
from ndcg_ab.sources.base import Pulled
from tests.inputs import write_evaluation
from tests.repeated import mostly_soaked
from tests.small_evaluation import pull_inputs

METRICS = ["ndcg@3", "precision@4", "rr@5", "judged@6", "err@3", "ap@5", "ndcg(ideal=max)@5", "ndcg(ideal=local)@3"]
METRICS += ["ndcg(gain=exponential)@3", "recall@8", "ndcg@20"]
SYSTEMS = ("old", "new", "other")
TABLES = {
    "query_score": "system_id, query_id, metric_id",
    "coverage": "system_id, query_id, metric_id",
    "tied_query": "system_id, query_id",
}


def made(folder: Path, chance: random.Random, metrics: list[str], *, bounds: bool = False) -> Evaluation:
    """Rankings of 20 queries, the last 17 judged, with many equal scores, and a few ids that are spelt otherwise."""
    grades = {
        f"q{query:02}": {f"d{doc:02}": chance.choice([-1, 0, 0, 1, 2, 3]) for doc in chance.sample(range(40), 15)}
        for query in range(3, 20)
    }
    rankings: dict[str, dict[str, dict[str, float]]] = {name: {} for name in SYSTEMS}
    for ranking in rankings.values():
        for query in range(20):
            documents = chance.sample(range(40), chance.randrange(1, 25))
            scores = sorted((round(chance.uniform(0, 1), 1) for _ in documents), reverse=True)
            ids = [f"{chance.choice(('D', 'x-d')) if chance.random() < 0.1 else 'd'}{doc:02}" for doc in documents]
            ranking[f"q{query:02}"] = dict(zip(ids, scores, strict=True))
    statistics = {"resamples": 100, "bounds": bounds, "all_pairs": True}
    return write_evaluation(folder, grades, rankings, metrics=metrics, statistics=statistics)


def found_of(evaluation: Evaluation, engine: DuckDBEngine) -> tuple[str, list[list[Any]]]:
    """The outcome, and what its tables hold."""
    read = pull_inputs(evaluation)
    assert read.judgments is not None
    rankings = dict(read.rankings)
    for name, whole in read.rankings.items():
        short = reduce_pulled(whole, read.judgments, evaluation.metric_list, len(SYSTEMS))
        assert short is not None
        rankings[name] = Pulled(lambda whole=whole: whole.table, RANKING, whole.source, reduced=short)
    findings = load_and_check(engine, PulledInputs(read.judgments, Queries(), rankings), evaluation)
    score_metrics(engine, evaluation.metric_list)
    outcome = make_outcome(engine, evaluation, findings, recompute_sample(engine, evaluation.metric_list))
    return outcome.to_json(), [engine.rows(name, order=order) for name, order in TABLES.items()]


@pytest.fixture(autouse=True)
def _few_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that equal scores stand at the last rank in which ids are looked at, and few queries are whole."""
    monkeypatch.setattr(id_checks, "LOOKED_AT", 5)
    monkeypatch.setattr(parity, "SAMPLE", 4)
    monkeypatch.setattr(parity, "LEAST", 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(3), kept=[1, 2]))
def test_known_ranks_come_to_the_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last seed for bounds, too, for which everything that is shown is ranked, later."""
    evaluation = made(tmp_path, random.Random(seed), METRICS, bounds=seed == 2)
    monkeypatch.setattr(thresholds, "FEW_ROWS", 0)
    with DuckDBEngine() as engine:
        ranked = found_of(evaluation, engine)
        assert not engine.may_have_value("ranked", "yes")
    monkeypatch.setattr(thresholds, "RANKED_ROWS", 1)
    monkeypatch.setattr(thresholds, "JOINED_ROWS", 1)
    with DuckDBEngine() as engine:
        by_known_ranks = found_of(evaluation, engine)
        assert not engine.may_have_value("ranked", "no")
    assert by_known_ranks == ranked
    codes = {finding["code"] for finding in json.loads(by_known_ranks[0])["findings"]}
    assert {"id_spelling", "tied_places"} <= codes and all(by_known_ranks[1])


@pytest.mark.first_case
@pytest.mark.parametrize("metric", ["ndcg(ties=average)@3", "ndcg(score_precision=float32)@3", "rr(ties=doc_id_asc)@3"])
def test_another_order_is_made_of_all_results(metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "RANKED_ROWS", 1)
    with DuckDBEngine() as engine:
        found_of(made(tmp_path, random.Random(1), ["ndcg@3", metric]), engine)
        assert not engine.may_have_value("ranked", "yes")
