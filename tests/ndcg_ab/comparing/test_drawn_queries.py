"""Differences over a log from drawn queries, against the ratio written out with dictionaries."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.comparing.sampling import WHOLE, clusters_by_prefix, describe_log, limit_queries_needed, shares_not_drawn
from ndcg_ab.results.decisions import measured_state
from ndcg_core.measures.notation import parse
from ndcg_core.statistics.paired import Column, sort_by_query
from ndcg_core.statistics.verdicts.record import Clusters

NO_DRAW = {"weight": None, "probability": 1.0, "disagreement": 1.0}
SIZE, DOCS = 40, [f"d{number}" for number in range(8)]
Rows = list[dict[str, Any]]


def rankings(rng: np.random.Generator, rows: Rows) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {"a": {}, "b": {}}
    for row in rows:
        for name in found:
            if name == "a" or row["probability"] != 0:
                order = rng.permutation(DOCS).tolist()
            found[name][row["query_id"]] = {doc: -float(index) for index, doc in enumerate(order)}
    return found


def log(rng: np.random.Generator) -> Rows:
    """Half of the queries show the same, ten of the others were drawn; three more are judged."""
    rows = []
    for index in range(SIZE):
        same, drawn = index % 2 == 0, index % 4 == 1
        rows.append(
            {
                "query_id": f"q{index:02}",
                "weight": float(rng.integers(1, 9)),
                "probability": 0.0 if same else (0.25, 0.5, 1.0)[index % 3] if drawn else None,
                "disagreement": 0.0 if same else round(float(rng.uniform(0.3, 2)), 3),
                "kind": "x" if index % 3 else "y",
            }
        )
    return rows


@pytest.fixture(scope="module")
def world() -> tuple[Rows, dict[str, Any], dict[str, dict[str, int]]]:
    rng = np.random.default_rng(5)
    rows = log(rng)
    systems = rankings(rng, rows)
    judged = [row["query_id"] for row in rows if row["probability"]] + ["q00", "q07", "q11"]
    return rows, systems, {query_id: {doc: int(rng.integers(0, 4)) for doc in DOCS} for query_id in judged}


def ndcg(ranking: Mapping[str, float], grades: Mapping[str, int]) -> float:
    def total(values: list[int]) -> float:
        return sum(value / math.log2(index + 2) for index, value in enumerate(values[:5]))

    order = sorted(ranking, key=lambda doc: -ranking[doc])
    return total([grades[doc] for doc in order]) / total(sorted(grades.values(), reverse=True))


def ratio(world: Any, of: Callable[[dict[str, Any]], bool] = lambda row: True) -> float:
    """mean disagreement of the log * sum(w / p * d) / sum(w / p * disagreement), over the drawn queries of a part."""
    rows, systems, judgments = world
    part = [row for row in rows if of(row)]
    above = below = 0.0
    for row in part:
        if row["probability"]:
            after, before = (ndcg(systems[name][row["query_id"]], judgments[row["query_id"]]) for name in "ba")
            above += row["weight"] / row["probability"] * (after - before)
            below += row["weight"] / row["probability"] * row["disagreement"]
    mean = sum(row["weight"] * row["disagreement"] for row in part) / sum(row["weight"] for row in part)
    return mean * above / below


def compare(world: Any, **options: Any) -> ndcg_ab.CompareResult:
    rows, systems, judgments = world
    table = pa.Table.from_pylist(options.pop("rows", rows))
    return ndcg_ab.compare(judgments, systems, queries=table, metrics=["ndcg@5"], **options)


@pytest.fixture(scope="module")
def result(world: Any) -> ndcg_ab.CompareResult:
    return compare(world, slices=["kind"], guardrails={"rr": 0.3})


def test_the_difference_is_that_over_the_log(world: Any, result: ndcg_ab.CompareResult) -> None:
    found = {(row.family, row.slice): row for row in result.comparisons}
    whole = found["primary", None]
    assert whole.difference == pytest.approx(ratio(world), abs=1e-12) and whole.queries == 10
    for kind in "xy":
        sliced = found["slices by kind", kind]
        assert sliced.difference == pytest.approx(ratio(world, lambda row, kind=kind: row["kind"] == kind), abs=1e-12)


def test_means_are_of_the_drawn_queries(world: Any, result: ndcg_ab.CompareResult) -> None:
    rows, systems, judgments = world
    drawn = [row for row in rows if row["probability"]]
    weights = [row["weight"] / row["probability"] for row in drawn]
    values = [ndcg(systems["a"][row["query_id"]], judgments[row["query_id"]]) for row in drawn]
    (mean,) = (row.mean for row in result.systems if (row.system_id, row.metric) == ("a", "ndcg@5"))
    assert mean == pytest.approx(np.average(values, weights=weights))
    assert result.comparison("b").baseline_mean == pytest.approx(mean)


def test_the_queries_that_carry_a_difference_have_their_own(world: Any, result: ndcg_ab.CompareResult) -> None:
    _, systems, judgments = world
    described = result.comparison("b").descriptive
    assert described is not None and described.carriers
    for each in described.carriers:
        after, before = (ndcg(systems[name][each.query_id], judgments[each.query_id]) for name in "ba")
        assert each.difference == pytest.approx(after - before)


def test_what_was_not_drawn_is_left_out_and_told(result: ndcg_ab.CompareResult, tmp_path: Path) -> None:
    found = {finding.code: finding for finding in result.findings}
    assert found["drawn_queries"].message.startswith("10 of the 40 queries of the log were drawn, from 20 whose")
    assert found["not_drawn"].count == 3 and {*found} == {"drawn_queries", "not_drawn"}
    assert "10 drawn queries" in str(result)
    page = result.report(tmp_path / "page.html").read_text()
    assert "<strong>10 drawn queries</strong>" in page


def test_bounds_are_of_the_log_too(world: Any) -> None:
    """The highest difference is that with every unjudged document judged in the candidate's favour."""
    rows, systems, judgments = world
    query_id = "q01"
    left = {doc: grade for doc, grade in judgments[query_id].items() if doc != "d3"}
    found = compare((rows, systems, judgments | {query_id: left})).comparison("b")
    assert found.unjudged is not None and found.unjudged.documents == 1
    ends = [ratio((rows, systems, judgments | {query_id: left | {"d3": grade}})) for grade in (0, 3)]
    assert sorted(ends) == pytest.approx([found.unjudged.low, found.unjudged.high], abs=1e-9)


@pytest.mark.slow
def test_bounds_of_what_was_not_drawn_can_be_left_out(world: Any) -> None:
    """Everything is judged; q00 counts as 0, and is turned around."""
    rows, systems, judgments = world
    turned = systems["b"] | {"q00": {doc: -score for doc, score in systems["a"]["q00"].items()}}
    moved = (rows, {"a": systems["a"], "b": turned}, judgments)
    wanted, without = (compare(moved, bounds=bounds).comparison("b") for bounds in (None, False))
    assert wanted.unjudged is not None and without.unjudged is not None
    assert wanted.unjudged.low is not None and without.unjudged.low is None
    assert without.unjudged.state is wanted.unjudged.state


def test_power_plans_with_drawn_queries(world: Any, result: ndcg_ab.CompareResult) -> None:
    """`power` plans with the difference over the log that the comparison reports."""
    (plan,) = ndcg_ab.power(result, weights=pa.Table.from_pylist(world[0]), metrics="ndcg@5").plans
    found = result.comparison("b")
    assert plan.difference == pytest.approx(found.difference) and plan.is_drawn
    assert plan.queries == 10 and plan.effective_queries is not None and plan.effective_queries < 10


def test_power_of_one_drawn_query_shows_what_it_says_of_the_log(world: Any, result: ndcg_ab.CompareResult) -> None:
    rows = [row if row["query_id"] == "q01" else row | {"probability": row["probability"] and None} for row in world[0]]
    (plan,) = ndcg_ab.power(result, weights=pa.Table.from_pylist(rows), metrics="ndcg@5").plans
    assert plan.queries == 1 and plan.difference == pytest.approx(ratio((rows, *world[1:])))


def test_no_more_queries_are_asked_for_than_differ(world: Any) -> None:
    rows = compare(world, smallest_effect=0.001, guardrails={"rr": 0.001}).comparisons
    assert all((row.queries_needed or 0) <= 20 for row in rows) and any(
        measured_state(row).is_undecided for row in rows
    )


def test_intended_queries_need_not_be_drawn(world: Any) -> None:
    """q03 was not, though it differs: the drawn ones stand for it."""
    found = compare(world, intended=["q01", "q03", "q05", "q09"])
    assert "intended_unknown" not in {each.code for each in found.findings}


def test_intervals_allow_for_long_tails(world: Any) -> None:
    """Of differences that are divided by their disagreement, and of no others."""
    ids = tuple(f"q{index}" for index in range(20))
    column = Column("a", "b", "ndcg@5", ids, np.array([0.4, 0.2] + 18 * [0.0]))
    (plain,) = sort_by_query([column])
    (drawn,) = sort_by_query([replace(column, scales=np.ones(20))])
    of_plain, of_drawn = plain.moments(), drawn.moments()
    assert of_plain is not None and of_drawn is not None
    assert of_plain.freedom == 19 and of_drawn.freedom < 6 and of_drawn.error == of_plain.error


def test_clusters_are_not_held_against_the_queries_that_differ(result: ndcg_ab.CompareResult) -> None:
    row, log = result.comparison("b"), describe_log([{"query_id": "q", **NO_DRAW}], {WHOLE: ["q"]})
    rows = [replace(row, queries_needed=2), replace(row, queries_needed=2, clusters=Clusters(3, 3, 1, 1, 3.0))]
    assert [each.queries_needed for each in limit_queries_needed(rows, log)] == [None, 2]


@pytest.mark.slow
def test_unweighted_takes_the_judged_queries_as_they_are(world: Any) -> None:
    _, systems, judgments = world
    plain = ndcg_ab.compare(judgments, systems, metrics=["ndcg@5"]).comparison("b")
    assert compare(world, weighted=False).comparison("b").difference == plain.difference


def test_drawn_queries_must_be_judged_and_zeros_stay_zero(world: Any) -> None:
    rows, systems, judgments = world
    moved = systems["b"] | {"q00": dict(zip(reversed(DOCS), systems["b"]["q00"].values(), strict=True))}
    left = {query_id: grades for query_id, grades in judgments.items() if query_id != "q01"}
    found = {each.code: each for each in compare((rows, {"a": systems["a"], "b": moved}, left)).findings}
    assert found["no_longer_zero"].examples == ("query 'q00'",)
    assert found["drawn_unjudged"].examples == ("query 'q01'",) and found["drawn_unjudged"].severity == "warning"


def test_what_counts_as_0_and_differs_now_could_be_anything(world: Any) -> None:
    """q00 shows another document at place 4: its weight in the log is by what the mean over 5 places could be off."""
    rows, systems, judgments = world
    order = [*systems["a"]["q00"]]
    order[3], order[5] = order[5], order[3]
    moved = systems["b"] | {"q00": {doc: -float(index) for index, doc in enumerate(order)}}
    table, named = pa.Table.from_pylist(rows), {"a": systems["a"], "b": moved, "c": systems["b"]}
    found = ndcg_ab.compare(judgments, named, queries=table, metrics=["ndcg@5", "ndcg@3"])
    weights = {row["query_id"]: row["weight"] for row in rows}
    share = weights["q00"] / sum(weights.values())
    deep, shallow = (found.comparison("b", metric) for metric in ("ndcg@5", "ndcg@3"))
    other = found.comparison("c", "ndcg@5")
    assert deep.difference is not None and deep.unjudged and shallow.unjudged and other.unjudged
    assert shallow.unjudged.low == shallow.difference
    assert other.unjudged.low == other.difference, "another candidate shows the same there"
    ends = (deep.difference - share, deep.difference + share)
    assert (deep.unjudged.low, deep.unjudged.high) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("metric", "share"), [("ndcg@3", None), ("ndcg@4", 3 / 4), ("ndcg", 3 / 4), ("ndcg(unjudged=condense)@3", 3 / 4)]
)
def test_what_was_not_drawn_counts_as_deep_as_a_metric_looks(metric: str, share: float | None) -> None:
    """q0 has weight 3 of 4, and shows another document at place 4, which a condensed ranking may have further up."""
    rows = [{"query_id": f"q{at}", "weight": 3.0 - 2 * at, "probability": at, "disagreement": at} for at in (0, 1)]
    engine = SimpleNamespace(rows=lambda *_, **__: [("b", "q0", 4)])
    evaluation = SimpleNamespace(scores=None, metric_list=[parse(metric)])
    drawn = describe_log(rows, {WHOLE: ["q0", "q1"]})
    found = shares_not_drawn(cast(Any, engine), cast(Any, evaluation), drawn)
    assert found == ({} if share is None else {(metric, "b"): share})


def test_the_drawn_queries_alone_do_not_say_what_they_stand_for(world: Any) -> None:
    rows = [row for row in world[0] if row["probability"]]
    with pytest.raises(
        ndcg_ab.InputError, match="no query has an empty probability, so those that were not drawn are missing"
    ):
        compare(world, rows=rows)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("probability", 1.5, "query 'q01': probability = 1.5: must be from 0 to 1, or empty"),
        ("disagreement", 0.0, "query 'q01': disagreement = 0: must be above 0 where the probability is not 0"),
    ],
)
def test_what_draw_cannot_have_written_is_refused(world: Any, column: str, value: Any, sentence: str) -> None:
    rows = [row | ({column: value} if row["query_id"] == "q01" else {}) for row in world[0]]
    with pytest.raises(ndcg_ab.InputError) as refused:
        compare(world, rows=rows)
    assert sentence in str(refused.value)


def test_proxy_judgments_correct_by_their_mean_over_the_log() -> None:
    """Forty drawn of sixty queries that differ; the share is the slope of the careful differences on the proxy ones."""
    rng = np.random.default_rng(8)
    rows: Rows = [
        {
            "query_id": f"q{index:03}",
            "probability": 0.0 if index % 2 else None if index % 6 == 0 else 0.5,
            "disagreement": 0.0 if index % 2 else round(float(rng.uniform(0.3, 2)), 3),
        }
        for index in range(120)
    ]
    systems = rankings(rng, rows)
    truth = {row["query_id"]: {doc: int(rng.integers(0, 4)) for doc in DOCS} for row in rows}
    proxy = {
        query_id: {doc: min(3, max(0, grade + int(rng.integers(-1, 2)))) for doc, grade in grades.items()}
        for query_id, grades in truth.items()
    }
    drawn = [row for row in rows if row["probability"]]
    careful = {row["query_id"]: truth[row["query_id"]] for row in drawn}
    found = compare((rows, systems, careful), cheap_judgments=proxy).comparison("b")

    def difference(query_id: str, grades: Mapping[str, Mapping[str, int]]) -> float:
        return ndcg(systems["b"][query_id], grades[query_id]) - ndcg(systems["a"][query_id], grades[query_id])

    mean = np.mean([row["disagreement"] for row in rows])
    apart = np.array([row["disagreement"] for row in drawn])
    exact, near = (
        mean / apart * np.array([difference(row["query_id"], grades) for row in drawn]) for grades in (truth, proxy)
    )
    shares = apart / apart.mean()  # equal probabilities
    errors, close = (shares * (values - np.average(values, weights=apart)) for values in (exact, near))
    share = (errors @ close) / (close @ close)
    over_log = np.mean([difference(row["query_id"], proxy) for row in rows])
    expected = np.average(exact, weights=apart) - share * (np.average(near, weights=apart) - over_log)
    assert found.cheap is not None and found.cheap.share == pytest.approx(share) and share > 0
    assert found.cheap.difference == pytest.approx(expected, abs=1e-12)
    assert found.difference == pytest.approx(np.average(exact, weights=apart), abs=1e-12)
    assert found.cheap.low is not None and found.low is not None and found.cheap.low > found.low


# ---- which queries belong together, by their ids


def test_the_last_of_the_text_ends_a_cluster_s_name() -> None:
    """Conversation 106_1 has the turns 106_1_1 and 106_1_2; an id without the text, or only with it, is its own."""
    found = clusters_by_prefix(["106_1_1", "106_1_2", "106_2_1", "plain", "_x"], "_")
    assert found == {"106_1_1": "106_1", "106_1_2": "106_1", "106_2_1": "106_2", "plain": "plain", "_x": "_x"}


def test_a_text_that_no_id_contains_is_refused() -> None:
    with pytest.raises(ndcg_ab.InputError, match=r"cluster_prefix = '#': no query id contains it \(such as '1'\)"):
        clusters_by_prefix(["2", "1"], "#")
    assert clusters_by_prefix([], "#") == {}
