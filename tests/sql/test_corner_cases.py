"""What a definition says where data runs out or is odd, by hand, from the SQL and from the core."""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ndcg_ab.checks.data_checks import check_tables
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import InputError
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import Queries
from ndcg_core.measures.metric import MetricError
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query
from tests.laboratory import (
    Judgments,
    Ranking,
    Scores,
    both_values,
    core_scores,
    evaluation_of,
    in_order,
    pulled_judgments,
    pulled_ranking,
    sql_scores,
)
from tests.repeated import mostly_soaked

pytestmark = pytest.mark.slow

SECOND, THIRD = 1 / math.log2(3), 1 / 2  # discounts log2 of the ranks 2 and 3
JUDGED = {"q": {"a": 3, "b": 0, "c": 2, "d": 1}}


def hand(judgments: Judgments, returned: list[Result], expected: Mapping[str, float]) -> None:
    """Every metric together, as an evaluation computes them."""
    hands(judgments, (returned, expected))


def hands(judgments: Judgments, *cases: tuple[list[Result], Mapping[str, float]]) -> None:
    """The same of several answers to one query, each that of a system of its own."""
    named = [{parse(metric).name: value for metric, value in expected.items()} for _, expected in cases]
    rankings = {f"s{at}": {"q": returned} for at, (returned, _) in enumerate(cases)}
    asked = list(dict.fromkeys(name for names in named for name in names))
    for scores in (sql_scores(judgments, rankings, asked), core_scores(judgments, rankings, asked)):
        for at, names in enumerate(named):
            found = {of: value for (system, query, of), value in scores.items() if (system, query) == (f"s{at}", "q")}
            assert {of: value for of, value in found.items() if of in names} == pytest.approx(names, abs=1e-12)


def alone(judgments: Judgments, returned: list[Result], expected: Mapping[str, float]) -> None:
    """One metric after the other: no deeper one ranks more documents than it needs itself."""
    for metric, value in expected.items():
        assert both_values(judgments, returned, metric) == pytest.approx((value, value), abs=1e-12), metric


def agreed_values_per_metric(
    judgments: Judgments, rankings: Mapping[str, Ranking], metrics: Sequence[str]
) -> dict[str, dict[tuple[str, str], float]]:
    """The same of several metrics in one evaluation, in their order."""
    names = [parse(metric).name for metric in metrics]
    sql, core = sql_scores(judgments, rankings, names), core_scores(judgments, rankings, names)
    assert sql == pytest.approx(core, rel=1e-12, abs=1e-12)
    return {name: {(s, q): value for (s, q, of), value in sql.items() if of == name} for name in names}


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files for the data check to find a line in (it has only the tables, which hold the same)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b -0.5\n", encoding="utf-8")
    (tmp_path / "new.run").write_text("q Q0 a 1 2 t\nq Q0 a 2 4 t\n", encoding="utf-8")


def checked_scores(judgments: Judgments, rankings: Mapping[str, Ranking], metrics: list[str]) -> Scores:
    """As an evaluation computes them, with the data check before the scoring."""
    tables = {name: pulled_ranking(name, ranking) for name, ranking in rankings.items()}
    evaluation = evaluation_of(list(rankings), metrics)
    with DuckDBEngine() as engine:
        pulled = pulled_judgments(judgments)
        loading.load_tables(engine, pulled, Queries(), tables, evaluation)
        check_tables(engine, pulled, tables, evaluation)
        score_metrics(engine, evaluation.metric_list)
        rows = engine.rows("metric_value", ("system_id", "query_id", "metric", "value"))
    return {(system, query, name): value for system, query, name, value in rows}


@pytest.mark.parametrize("count", mostly_soaked([20_000, 100_000], kept=[20_000]))
def test_many_documents_for_one_query(count: int) -> None:
    judgments = {"q": {f"d{index}": float(index % 5) for index in range(0, count, 2)}}
    returned = [Result(f"d{index}", float(index * 7919 % 20_011)) for index in range(count)]  # every score 5 times
    names = ["ndcg", "ndcg@10", "ndcg(ties=average)", "ndcg(ideal=recall)@10", "ndcg(unjudged=condense)@1000", "rr"]
    started = time.perf_counter()
    sql = sql_scores(judgments, {"new": {"q": returned}}, names, threads=None)
    core = core_scores(judgments, {"new": {"q": returned}}, names)
    assert sql == pytest.approx(core, rel=1e-12)
    assert len(sql) == len(names)
    assert all(0 < value <= 1 for value in sql.values())
    assert time.perf_counter() - started < 90, "it takes 2 seconds; what grows with the square would take minutes"


ODD = [
    "with space",
    " ",
    "'quoted'",
    '"double"',
    "it's; drop table ranking --",
    "🦆",
    "👩‍👩‍👧",
    "x" * 1000,
    "x" * 999 + "y",
    "back\\slash\t",
]


def test_odd_document_ids() -> None:
    judgments = {"q": {doc_id: float(index + 1) for index, doc_id in enumerate(ODD)}}
    best = in_order(*reversed(ODD))
    second = in_order(*ODD[:1], *ODD[:0:-1]), {"judged@10": 1.0, "rr(relevant_from=10)": 1 / 2}
    hands(judgments, (best, {"ndcg": 1.0, "ndcg@3": 1.0, "recall": 1.0, "judged": 1.0}), second)
    # all tied: by bytes, descending; what differs in the thousandth letter only is two documents
    tied = [Result(doc_id, 1.0) for doc_id in ODD]
    last = max(ODD, key=str.encode)
    hand({"q": {last: 1}}, tied, {"rr": 1.0, "rr(ties=doc_id_asc)": 1 / len(ODD), "ndcg(ties=average)@1": 1 / len(ODD)})
    hand({"q": {"x" * 1000: 1, "x" * 999 + "y": 0}}, tied[7:9], {"ndcg@1": 0.0, "ndcg(ties=doc_id_asc)@1": 1.0})


GAPS = {"answered": {"a": 1}, "unanswered": {"a": 2}, "hopeless": {"a": 0}, "hopeless and unanswered": {"a": 0}}
MEASURED = [("ndcg", "@10"), ("precision", "@1"), ("rr", "")]
GAPPED = {"new": {"answered": in_order("a"), "hopeless": in_order("a")}}


OF_GAPS = {  # choices -> query -> value
    "": {"answered": 1.0, "unanswered": 0.0},
    "(unanswered=exclude)": {"answered": 1.0},
    "(no_relevant=zero)": {"answered": 1.0, "unanswered": 0.0, "hopeless": 0.0, "hopeless and unanswered": 0.0},
    "(no_relevant=one)": {"answered": 1.0, "unanswered": 0.0, "hopeless": 1.0, "hopeless and unanswered": 1.0},
    "(unanswered=exclude, no_relevant=one)": {"answered": 1.0, "hopeless": 1.0},
    "(unanswered=exclude, no_relevant=zero)": {"answered": 1.0, "hopeless": 0.0},
}


def test_unanswered_comes_before_nothing_relevant_before_nothing_returned() -> None:
    asked = {f"{name}{inner}{cutoff}": inner for inner in OF_GAPS for name, cutoff in MEASURED}
    for inner, found in zip(asked.values(), agreed_values_per_metric(GAPS, GAPPED, list(asked)).values(), strict=True):
        assert {query: value for (_, query), value in found.items()} == OF_GAPS[inner], inner


def test_grades_below_0_can_be_condensed_away() -> None:
    """As trec_eval -J does, which calls them in the pool and unjudged."""
    judged = {"q": {"a": 3, "n": -1, "b": 2}}
    expected = {"precision(unjudged=condense, negative=unjudged)": 1.0, "precision(unjudged=condense)": 2 / 3}
    hand(judged, in_order("a", "n", "x", "b"), expected)
    with pytest.raises(MetricError, match="negative = unjudged: has no effect with unjudged = zero"):
        parse("ndcg(negative=unjudged)@10")


@pytest.mark.usefixtures("sources")
def test_negative_error_refuses_and_names_the_grade() -> None:
    judgments = {"q": {"a": 1, "b": -0.5}}
    with pytest.raises(MetricError, match=r"grade -0\.5 is below 0"):
        score_query(parse("ndcg(negative=error)@3"), in_order("a"), judgments["q"])
    with pytest.raises(InputError, match=r"-0\.5.*must not be below 0 \(negative = error\)"):
        checked_scores(judgments, {"new": {"q": in_order("a")}}, ["ndcg(negative=error)@3"])
    hand({"q": {"a": 1, "b": 0}}, in_order("b", "a"), {"ndcg(negative=error)@3": SECOND})


@pytest.mark.usefixtures("sources")
def test_duplicates_first_counts_the_better_placed() -> None:
    returned = [Result("x", 3.0, 1), Result("a", 2.0, 2), Result("a", 4.0, 4), Result("c", 1.0, 3)]
    expected = {
        "ndcg(duplicates=first)@3": (3 + 2 * THIRD) / (3 + 2 * SECOND + 1 * THIRD),  # a, x, c
        "ndcg(duplicates=first, ties=given)@3": (3 * SECOND + 2 * THIRD) / (3 + 2 * SECOND + 1 * THIRD),  # x, a, c
        "precision(duplicates=first)": 2 / 3,
    }
    for metric, value in expected.items():
        name = parse(metric).name
        rankings = {"new": {"q": returned}}
        assert checked_scores(JUDGED, rankings, [name])["new", "q", name] == pytest.approx(value, abs=1e-12), metric
        assert core_scores(JUDGED, rankings, [name])["new", "q", name] == pytest.approx(value, abs=1e-12), metric
    with pytest.raises(InputError, match="is 2 times"):
        checked_scores(JUDGED, {"new": {"q": returned}}, ["ndcg@3"])
    with pytest.raises(ValueError, match="comes twice"):
        score_query(parse("ndcg@3"), returned, JUDGED["q"])


def test_ties_average_across_the_cutoff() -> None:
    # scikit-learn documents .75 for these (10 and 5 tied at the top, the cutoff at 1), and .5 when ties are ignored
    judgments = {"q": {"a": 10, "b": 0, "c": 0, "d": 1, "e": 5}}
    returned = [Result("a", 1.0), Result("b", 0.0), Result("c", 0.0), Result("d", 0.0), Result("e", 1.0)]
    hand(judgments, returned, {"ndcg(ties=average)@1": 0.75, "ndcg@1": 0.5, "ndcg(ties=doc_id_asc)@1": 1.0})
    alone(judgments, returned, {"ndcg(ties=average)@1": 0.75})
    # a stands first; three share the ranks 2 to 4, of which the cutoff keeps one, two or three
    judgments = {"q": {"a": 3, "b": 2, "c": 0, "d": 1}}
    returned = [Result("a", 2.0), Result("b", 1.0), Result("c", 1.0), Result("x", 1.0)]
    mean = 2 / 3
    expected = {
        "dcg(ties=average)@1": 3,
        "dcg(ties=average)@2": 3 + mean * SECOND,
        "dcg(ties=average)@3": 3 + mean * (SECOND + THIRD),
        "dcg(ties=average)": 3 + mean * (SECOND + THIRD + 1 / math.log2(5)),
        "ndcg(ties=average)@2": (3 + mean * SECOND) / (3 + 2 * SECOND),
        "ndcg(ties=average, ideal=recall)@2": (3 + mean * SECOND) / (3 + 2 * SECOND),
        "precision(ties=average)@2": (1 + 1 / 3) / 2,
        "recall(ties=average)@2": (1 + 1 / 3) / 3,
        "judged(ties=average)@2": (1 + 2 / 3) / 2,
        "cg(ties=average)@3": 3 + 2 * mean,
    }
    hand(judgments, returned, expected)
    alone(judgments, returned, {name: expected[name] for name in ("dcg(ties=average)@2", "precision(ties=average)@2")})


def test_a_recall_depth_below_the_cutoff_is_refused() -> None:
    with pytest.raises(MetricError, match="recall_depth = 9: not below k = 10"):
        parse("ndcg(ideal=recall, recall_depth=9)@10")
    # four returned, the best of them last: a depth of 3 does not see it
    expected = {"ndcg(ideal=recall, recall_depth=3)@1": 1 / 2, "ndcg(ideal=recall)@1": 1 / 3}
    alone(JUDGED, in_order("d", "c", "b", "a"), expected)
