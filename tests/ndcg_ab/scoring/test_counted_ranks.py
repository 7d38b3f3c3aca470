"""Places that are counted are those of the core's own order, for every rule that orders a ranking."""

import contextlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab import thresholds
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import ParityError
from ndcg_ab.pipeline.stages import score_systems
from ndcg_ab.scoring import parity
from ndcg_ab.scoring.parity import RESULT, count_long_answers, read_results, recompute_sample
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, rank_results, score_query
from tests.inputs import write_evaluation

RULES = ("", "ties=doc_id_asc", "ties=average", "ties=given", "score_precision=float32", "unjudged=condense")
MEASURES = ("ndcg", "ndcg@5", "ap", "err@7", "bpref", "infap", "rprec", "rr", "precision@9", "rbp", "dcg", "recall@4")
COUNT, DOCUMENTS = 6, 60
IDS = [f"d{number}" for number in range(DOCUMENTS)] + ["ä", "Ω", "\U0001f600", "Z", "￿"]


def metrics() -> list[Metric]:
    found = []
    for measure in MEASURES:
        name, _, cutoff = measure.partition("@")
        for rule in RULES:
            with contextlib.suppress(MetricError):  # not every measure takes every rule
                found.append(parse((f"{name}({rule})" if rule else name) + (f"@{cutoff}" if cutoff else "")))
    assert len(found) > len(MEASURES) * 3
    return found


def drawn(draw: random.Random, *, scored: bool) -> list[Result]:
    """Results with many equal scores, some apart only beyond 32 bits, some beyond what 32 bits hold."""
    ids = draw.sample(IDS, draw.randint(1, len(IDS)))
    ranks = draw.sample(range(-5, 90), len(ids))
    scores = (5.0, 5.0 + 1e-9, 4.0, -2.0, 0.0, -0.0, 1e300, 1e299, -1e300, 1e-50, -1e-50, draw.random())
    return [Result(doc, draw.choice(scores) if scored else None, rank) for doc, rank in zip(ids, ranks, strict=True)]


def rows_of(answers: dict[tuple[str, str], list[Result]], draw: random.Random) -> pa.Table:
    rows = [(*answer, *result) for answer, results in answers.items() for result in results]
    draw.shuffle(rows)
    schema = pa.schema([("system_id", pa.string()), ("query_id", pa.string()), *RESULT])
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def close(first: float | None, second: float | None) -> bool:
    return first is second is None or (first is not None and second == pytest.approx(first, abs=1e-12))


def check(seed: int, chosen: Sequence[Metric]) -> None:
    draw = random.Random(seed)
    answers = {(system, query): drawn(draw, scored=bool(seed % 3)) for system in "ab" for query in ("q1", "q2")}
    grades = {
        query: {doc: draw.choice((-1.0, 0.0, 1.0, 2.0, 3.0)) for doc in draw.sample(IDS, draw.randint(1, 30))}
        for query in ("q1", "q2")
    }
    table, size = rows_of(answers, draw), draw.randint(1, 50)

    def pieces() -> Iterator[pa.Table]:
        for start in range(0, table.num_rows, size):
            yield table.slice(start, size)

    wanted = [answer for answer in answers if answer != ("b", "q2")]  # whose results come along
    found = count_long_answers(pieces, wanted, grades, chosen)
    for answer in wanted:
        own, judged = answers[answer], grades[answer[1]]
        assert found[answer].returned == len(own)
        for metric in chosen:
            ranking, expected = found[answer].ranking(metric), rank_results(metric, own, judged)
            assert len(ranking) == len(expected)
            for document, there in zip(ranking, expected, strict=True):
                assert document == there or (there.doc_id not in judged and document.doc_id == ""), (seed, metric.name)
            value = score_query(metric, own, judged, 3.0, ranking)
            assert close(score_query(metric, own, judged, 3.0), value), (seed, metric.name)


@pytest.mark.parametrize("seed", range(COUNT))
def test_counted_ranks_are_those_of_the_core_and_have_its_values(seed: int) -> None:
    check(seed, random.Random(seed).sample(metrics(), 12))


def test_results_of_which_only_some_have_a_score_are_refused_as_by_the_core() -> None:
    mixed = {("a", "q1"): [Result("d1", 1.0, 1), Result("d2", None, 2)]}
    table = rows_of(mixed, random.Random(1))
    with pytest.raises(ValueError, match="some results have a score"):
        count_long_answers(lambda: [table], mixed, {"q1": {"d1": 1.0}}, [parse("ap")])


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    """Three systems of which two answer all queries; one query is answered at length by one system alone."""
    draw = random.Random(7)
    rankings: dict[str, dict[str, dict[str, float]]] = {"old": {}, "new": {}, "short": {}}
    for system, ranking in rankings.items():
        for query in range(system == "short", 8):
            docs = draw.sample(range(60), 3 if system == "short" or query == 0 else draw.randint(5, 40))
            ranking[f"q{query}"] = {f"d{doc}": 50 - rank // 2 for rank, doc in enumerate(docs, 1)}
    grades = {f"q{query}": {f"d{doc}": draw.randint(0, 3) for doc in range(0, 60, 3)} for query in range(8)}
    named = ["ap", "ndcg@5", "ndcg(ties=average)", "bpref(ties=given)", "ndcg(unjudged=condense)@3"]
    return write_evaluation(tmp_path, grades, rankings, metrics=named)


@pytest.mark.slow
@pytest.mark.parametrize(("long", "batch"), [(4, 6), (15, 10**6), (40, 50)])
def test_the_sample_is_recomputed_whole_however_answers_are_read(
    evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch, long: int, batch: int
) -> None:
    """Every value is compared, of long answers and of short ones: a wrong one is found wherever it stands."""
    monkeypatch.setattr(thresholds, "COUNTED_RESULTS", long)
    monkeypatch.setattr(thresholds, "BATCH_RESULTS", batch)
    compared: list[str] = []
    agree = parity.refuse_disagreement

    def noting(about: str, sql: float | None, core: float | None) -> None:
        compared.append(about)
        agree(about, sql, core)

    monkeypatch.setattr(parity, "refuse_disagreement", noting)
    with DuckDBEngine() as engine:
        score_systems(evaluation, engine)
        assert len(compared) == len(set(compared)) == 3 * 8 * 5
        table = engine.read("query_score")
        for at in range(0, table.num_rows, 23):
            refuse_invalid_values(engine, table, at, evaluation.metric_list)


def refuse_invalid_values(engine: Engine, table: pa.Table, at: int, chosen: Sequence[Metric]) -> None:
    values = table["value"].to_pylist()
    values[at] = (values[at] or 0.0) + 1e-6
    document = table.column_names.index("value")
    engine.put_computed("query_score", table.set_column(document, "value", pa.array(values, pa.float64())))
    with pytest.raises(ParityError, match=f"query '{table['query_id'][at]}', system {table['system_id'][at]}"):
        recompute_sample(engine, chosen)


def test_long_answers_become_no_objects(evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counting(*arguments: object) -> Iterator[object]:
        for answer, results in read_results(*arguments):  # type: ignore[arg-type]
            made.append(len(results))
            yield answer, results

    monkeypatch.setattr(thresholds, "COUNTED_RESULTS", 4)
    monkeypatch.setattr(parity, "read_results", counting)
    with DuckDBEngine() as engine:
        score_systems(evaluation, engine)
    assert made and max(made) <= 4
