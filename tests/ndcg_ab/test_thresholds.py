"""Every two metrics, with every rule for ties, on both sides of every threshold: the values are those of one alone."""

import functools
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcg_ab import thresholds
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.engines.duckdb.engine import small_settings
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.needed_results import reduce_pulled
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import STEPS, open_engine_for, score_metrics
from ndcg_ab.sources import RANKING, Pulled, Queries
from ndcg_core.measures.metric import VALUES, MetricError
from ndcg_core.measures.notation import PRESETS, parse
from ndcg_core.measures.registry import MEASURES
from ndcg_core.measures.score import Result
from tests.laboratory import Judgments, Ranking, evaluation_of, pulled_judgments, pulled_ranking
from tests.repeated import mostly_soaked
from tests.small_evaluation import small

Value = dict[tuple[str, str], float | None]
# What each threshold becomes, so that the rows of the test lie beyond it.
LOWERED = {
    "FEW_ROWS": 0,
    "QUICKLY_MADE_ROWS": 0,
    "JOINED_ROWS": 1,
    "SORTED_HASHES": 1,
    "READ_ROWS": 7,
    "COUNTED_RESULTS": 3,
    "BATCH_RESULTS": 5,
    "FILE_ROWS": 1,
}
OF_SPARK = {"SPARK_FEW_ROWS", "SPARK_SEVERAL_ROWS", "SPARK_SENT_ROWS"}  # tests/ndcg_ab/engines/test_spark.py
OF_READING = {"SORTED_HASHES", "FILE_ROWS"}  # under a limit
TIES = [each for each in VALUES["ties"] if each != "doc_id_desc"]


def named(*, presets: bool) -> list[str]:
    """Return a metric of every measure, with a cutoff if it can have one; presets: and of all their ideals and cuts."""
    texts = [f"{name}@3" if measure.has_cutoff else name for name, measure in MEASURES.items()]
    texts += [f"ndcg(preset={name})@3" for name in PRESETS] if presets else []
    found = {(each.measure, each.ideal, each.ideal_cut, each.ties): each.name for each in map(parse, texts)}
    return list(found.values())


def with_ties(name: str, ties: str) -> str | None:
    """Return the metric's name with another rule for ties; None if it has no such rule."""
    measure, _, rest = name.partition("(")
    measure, at, cutoff = measure.partition("@")
    choices, _, behind = rest.partition(")")
    parts = [each for each in choices.split(", ") if each and not each.startswith("ties")]
    try:
        return parse(f"{measure}({', '.join([*parts, f'ties={ties}'])}){behind or at + cutoff}").name
    except MetricError:
        return None


@functools.cache
def inputs() -> tuple[Judgments, dict[str, Ranking]]:
    """Return judgments and two rankings of six queries, with ranks that go by other rules than the scores."""
    chance = random.Random(36)
    grades = {
        f"q{query}": {f"d{each:02}": float(chance.randint(0, 3)) for each in chance.sample(range(14), 8)}
        for query in range(6)
    }
    rankings: dict[str, Ranking] = {}
    for name in ("old", "new"):
        rankings[name] = {}
        for query in range(1, 7):
            drawn = sorted(chance.sample(range(14), chance.randint(2, 10)))
            scores = sorted((chance.randint(0, 4) / 2 for _ in drawn), reverse=True)
            found = (
                Result(f"d{each:02}", score, at) for at, (each, score) in enumerate(zip(drawn, scores, strict=True), 1)
            )
            rankings[name][f"q{query}"] = list(found)
    return grades, rankings


@functools.cache
def pulled() -> tuple[Pulled, dict[str, Pulled]]:
    judgments, rankings = inputs()
    return pulled_judgments(judgments), {name: pulled_ranking(name, each) for name, each in rankings.items()}


def values_of(metrics: tuple[str, ...], *, reduced: bool = False) -> dict[str, Value]:
    """Return the values of every metric once the core agreed with them; reduced: of rankings that were cut."""
    judgments, rankings = pulled()
    evaluation = evaluation_of(["old", "new"], metrics)
    read: dict[str, Pulled] = dict(rankings)
    if reduced:
        for name, whole in rankings.items():
            short = reduce_pulled(whole, judgments, evaluation.metric_list, 2)
            if short is not None:
                read[name] = Pulled(lambda whole=whole: whole.table, RANKING, whole.source, reduced=short)
    with DuckDBEngine() as engine:
        engine.config |= small_settings()  # whose optimizers do not take longer than the work
        load_tables(engine, judgments, Queries(), read, evaluation)
        score_metrics(engine, evaluation.metric_list)
        assert engine.has_few_rows or not engine.made.keys() & {*STEPS, "rank_gain"}
        assert recompute_sample(engine, evaluation.metric_list) == 6
        rows = engine.rows("metric_value", ("metric", "system_id", "query_id", "value"))
        if reduced:
            assert engine.count("graded_doc") and engine.count("rank_gain")  # made again
    found: dict[str, Value] = {}
    for metric, system_id, query_id, value in rows:
        found.setdefault(metric, {})[system_id, query_id] = value
    return found


@functools.cache
def alone(metric: str) -> Value:
    return values_of((metric,))[metric]


def pairs(ties: str) -> Iterator[tuple[str, str]]:
    """Yield every two metrics, of which one has the rule for ties; both of those that can have it, by turns."""
    for at, (first, second) in enumerate(itertools.combinations(named(presets=ties == "average"), 2)):
        choices = [(with_ties(first, ties), second), (first, with_ties(second, ties))]
        able = [pair for pair in choices if None not in pair and pair[0] != pair[1]]
        yield from able[at % 2 : at % 2 + 1] or able[:1]  # type: ignore[misc]


def test_every_threshold_is_lowered_by_a_test() -> None:
    numbers = {name for name, value in vars(thresholds).items() if name.isupper() and isinstance(value, int)}
    assert numbers == LOWERED.keys() | OF_SPARK


def measures_of(pair: tuple[str, str]) -> frozenset[str]:
    return frozenset(parse(name).measure for name in pair)


def few_pairs(ties: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of `make test`: of every two measures with one of the rules for ties, a third of the pairs."""
    able = {each: {measures_of(pair) for pair in pairs(each)} for each in TIES}
    for measures in sorted(able[ties], key=sorted):
        rules = [each for each in TIES if measures in able[each]]
        number = sum(map([*MEASURES].index, measures))
        if rules[number % len(rules)] == ties:
            same = [pair for pair in pairs(ties) if measures_of(pair) == measures]
            yield from same[number // 3 % 3 :: 3] or same[:1]


@pytest.mark.slow
@pytest.mark.parametrize("every", mostly_soaked([False, True], kept=[False]))
@pytest.mark.parametrize("ties", TIES)
def test_two_metrics_have_the_values_of_each_alone(ties: str, every: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few rows alone, of many together: a table that one metric lets go of may be read by the other.

    every: every two metrics with each rule for ties.
    """
    asked = pairs(ties) if every else few_pairs(ties)
    found = [(pair, {name: alone(name) for name in pair}) for pair in asked]
    assert {parse(name).measure for pair, _ in found for name in pair} == MEASURES.keys()
    monkeypatch.setattr(thresholds, "FEW_ROWS", 0)
    for pair, expected in found:
        assert values_of(pair) == expected, pair


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(LOWERED.keys() - OF_READING), "all"])
def test_beyond_each_threshold_the_values_are_equal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [("ndcg(ties=average)@3", "ap@3"), ("rr@3", "ndcg@3"), ("bpref", "ndcg(ideal=local, ties=given)@3")]
    found = [(pair, {metric: alone(metric) for metric in pair}) for pair in few]
    for each in LOWERED if name == "all" else {name, "FEW_ROWS"}:
        monkeypatch.setattr(thresholds, each, LOWERED[each])
    for pair, expected in found:
        assert values_of(pair, reduced=True) == expected, pair


@pytest.mark.slow
def test_beyond_the_thresholds_of_reading_the_outcome_is_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = {"memory_limit": "4GB", "spill": str(tmp_path / "spill")}
    evaluation = small(tmp_path, metrics=["ndcg(ties=average)@10", "ap"], resources=resources)
    with open_engine_for(evaluation) as engine:
        expected = evaluate(evaluation, engine)[0].to_json()
    for name in LOWERED:
        monkeypatch.setattr(thresholds, name, LOWERED[name])
    with open_engine_for(evaluation) as engine:
        assert evaluate(evaluation, engine)[0].to_json() == expected
