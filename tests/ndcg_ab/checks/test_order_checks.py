"""Findings about ties and about ranks that disagree with scores, by hand."""

import dataclasses
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_ab.checks import order_checks as order
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.report.doubts import is_grave
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query
from tests.commands import invoke
from tests.examples import examples
from tests.laboratory import fill, in_order, outcome_of


def findings(rankings: dict, code: str, metric: str = "ndcg@2", judgments: dict | None = None) -> list:
    judgments = judgments or {"q1": {"a": 3, "b": 1}, "q2": {"a": 1}}
    with DuckDBEngine(1) as engine:
        fill(engine, judgments, rankings, [metric])
        return [found for found in order.check_order(engine, [parse(metric)]) if found.code == code]


def ranked(*rows: tuple[str, float | None, int]) -> list[Result]:
    return [Result(*row) for row in rows]


def test_ties_are_counted_and_bounded() -> None:
    tied = {"q1": [Result("a", 2.0), Result("b", 2.0), Result("c", 1.0)], "q2": in_order("a")}
    (found,) = findings({"new": tied}, "tied_places", "precision(relevant_from=2)@1", {"q1": {"a": 3}, "q2": {"a": 3}})
    assert found.count == 1
    assert found.severity == "warning"
    # q1: a or b at place 1, so 0, 1/2 or 1; q2: 1.
    assert "lies between 0.5000 and 1.0000, expected 0.7500 (here 0.5000)" in found.message
    assert "1 top-1 place in 1 query (such as 'q1')" in found.message


@pytest.mark.parametrize(("moved", "severity"), [(0.0009, "note"), (0.0011, "warning")])
def test_ties_that_move_a_mean_by_a_thousandth_are_a_warning(
    moved: float, severity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "mean_bounds", lambda *_: (0.5, None, 0.5 + moved))
    (found,) = findings({"new": {"q1": [Result("a", 2.0), Result("b", 2.0)]}}, "tied_places")
    assert found.severity == severity


def test_ties_below_the_cutoff_do_not_matter() -> None:
    ranking = [Result("a", 3.0), Result("b", 2.0), Result("c", 1.0), Result("d", 1.0)]
    assert findings({"new": {"q1": ranking}}, "tied_places") == []
    (found,) = findings({"new": {"q1": ranking}}, "tied_places", "ndcg@3")
    assert found.count == 1, "a tie that the cutoff cuts decides the last place"
    assert (found.severity, found.metric, found.value) == ("note", "ndcg@3", 0.0), "neither of the two is judged"
    assert found.message.endswith("their order moves the mean of ndcg@3 by less than 0.0001")


@pytest.mark.parametrize(
    ("q1", "metric"),
    [((("a", 1.0, 1), ("b", 2.0, 2)), "ndcg(ties=given)@2"), ((("a", None, 2), ("b", None, 1)), "ndcg@2")],
)
def test_ranks_that_order_the_results_disagree_with_nothing(q1: tuple, metric: str) -> None:
    assert findings({"new": {"q1": ranked(*q1)}}, "rank_disagrees", metric) == []


def test_a_disagreement_says_what_it_moves() -> None:
    rows = (("a", 0.1, 1), ("b", 2.0, 2), ("c", 3.0, 3), ("d", 1.0, 4))
    (found,) = findings({"new": {"q1": ranked(*rows), "q2": in_order("a")}}, "rank_disagrees", "rr@3")
    assert found.severity == "warning"
    assert found.count == 1
    # By score b is the first relevant, at rank 2; by rank a, at rank 1. The other query has 1.
    assert "rr@3 is 0.7500, by its ranks it would be 1.0000" in found.message
    assert "→ --metric 'rr(ties=given)@3'" in found.message


def test_a_disagreement_that_moves_no_value_is_a_note() -> None:
    """The order of documents that gain nothing; a doubt is a warning."""
    rows = [("a", 3.0, 1), ("x", 1.0, 2), ("y", 2.0, 3)]
    (found,) = findings({"new": {"q1": ranked(*rows)}}, "rank_disagrees", "ndcg@3")
    assert (found.severity, found.value) == ("note", 0.0) and not is_grave(found)
    swapped = {"q1": ranked(*rows), "q2": ranked(("b", 1.0, 1), ("a", 2.0, 2))}
    (found,) = findings({"new": swapped}, "rank_disagrees", "ndcg@3")
    assert found.severity == "warning" and is_grave(found)


@pytest.mark.first_case
@pytest.mark.parametrize("metric", ["ndcg@3", "ndcg(ideal=local)@3", "ndcg(unjudged=condense)@3", "recall", "dcg@3"])
def test_what_ranks_move_is_what_the_core_says(metric: str) -> None:
    draw = random.Random(7)
    rankings, judgments = {}, {}
    for query in map(str, range(12)):
        count = draw.randint(1, 9)
        rows = [(f"d{index}", draw.randint(1, 5), draw.randint(1, 12)) for index in range(count)]
        rankings[query] = ranked(*rows)
        judgments[query] = {f"d{index}": float(draw.randint(0, 3)) for index in range(0, 12, 2)} | {"d0": 1.0}
    (found,) = findings({"new": rankings}, "rank_disagrees", metric, judgments)
    by_rank = dataclasses.replace(parse(metric), ties="given")
    values = [score_query(by_rank, rankings[query], judgments[query], 3.0) for query in rankings]
    assert f"by its ranks it would be {sum(values) / len(values):.4f};" in found.message


ANSWERS = st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 6)), min_size=1, max_size=8)


@pytest.mark.slow
@given(st.lists(ANSWERS, min_size=1, max_size=20), st.integers(1, 4))
@settings(max_examples=examples(12), deadline=None)
def test_a_disagreement_is_other_scores_in_the_top(answers: list[list[tuple[int, int]]], cutoff: int) -> None:
    """The truth: read by rank (equal ranks as the scores have it), the top k hold other scores than read by score.

    Every answer is that of a system of its own, which the finding names.
    """
    systems, truth = {}, []
    for number, rows in enumerate(answers):
        answer = ranked(*((f"d{index}", float(score), rank) for index, (score, rank) in enumerate(rows)))
        systems[f"s{number:02}"] = {"q1": answer}
        by_rank = [score for score, _ in sorted(rows, key=lambda row: (row[1], -row[0]))]
        by_score = sorted((score for score, _ in rows), reverse=True)
        if by_rank[:cutoff] != by_score[:cutoff]:
            truth.append(f"s{number:02}")
    found = findings(systems, "rank_disagrees", f"ndcg@{cutoff}", {"q1": {"d0": 1}})
    assert [re.findall(r"\bs\d\d\b", one.message)[:1] for one in found] == [[name] for name in truth]


@pytest.mark.slow
def test_too_many_ties_below_the_cutoff_and_an_own_ideal_have_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "BOUNDED", 10)
    ranking = {"q1": [Result(f"d{number:03}", 1.0) for number in range(11)]}
    (found,) = findings({"new": ranking}, "tied_places", "precision@10")
    assert "lies between" not in found.message
    (found,) = findings({"new": {"q1": ranking["q1"][:10]}}, "tied_places", "precision@9")
    assert "lies between" in found.message or "by less than" in found.message
    rows = {"q1": [Result("a", 5.0), Result("b", 4.0), Result("c", 4.0)]}
    (found,) = findings({"new": rows}, "tied_places", "ndcg(ideal=local)@2")
    assert "lies between" not in found.message


def test_the_findings_quote_weighted_means_where_the_table_does(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    # q1: a is tied for the first place; q2: a is first by its score, b by its rank; q3: a is first.
    rows = ["q1 Q0 a 1 2 t", "q1 Q0 b 2 2 t", "q2 Q0 a 2 2 t", "q2 Q0 b 1 1 t", "q3 Q0 a 1 1 t"]
    (tmp_path / "new.run").write_text("\n".join(rows))
    (tmp_path / "queries.csv").write_text("query_id,weight\nq1,5\nq2,3\nq3,2\n")
    command = ["compare", "--judgments", f"{tmp_path}/qrels", "--system", f"new={tmp_path}/new.run", "--metric"]
    command += ["precision@1", "--queries", f"{tmp_path}/queries.csv", "--json", "-"]
    content = json.loads(invoke(command).stdout)
    (system,) = content["systems"]
    assert system["mean"] == pytest.approx(0.5)  # the ties put b before a
    found = {row["code"]: row["message"] for row in content["findings"]}
    assert "between 0.5000 and 1.0000, expected 0.7500 (here 0.5000)" in found["tied_places"]
    # By ranks a is first in q1, too, where its score is tied.
    assert "precision@1 is 0.5000, by its ranks it would be 0.7000" in found["rank_disagrees"]


TIED = {"q1": [Result("a", 2.0), Result("b", 2.0), Result("c", 1.0)], "q2": in_order("a")}


@pytest.mark.parametrize("metrics", [["ndcg@1", "recall@3"], ["recall@3", "ndcg@1"]])
def test_findings_depend_on_no_order_and_no_depth(metrics: list[str]) -> None:
    """The ties move ndcg@1, not the deeper recall@3: a warning of the one, a note of the other."""
    judgments = {"q1": {"a": 3}, "q2": {"a": 3}}
    outcome = outcome_of(judgments, {"new": TIED}, metrics)
    found, other = [one for one in outcome.findings if one.code == "tied_places"]
    assert (found.severity, found.system, found.metric, found.value) == ("warning", "new", "ndcg@1", 0.5)
    assert (other.severity, other.system, other.metric, other.value) == ("note", "new", "recall@3", 0.0)
    assert "ndcg@1 lies between 0.5000 and 1.0000" in found.message


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["ndcg{}@{}", "ndcg{}@{}; ties=average"])
def test_what_several_cutoffs_tell_together_each_tells_alone(rule: str) -> None:
    """Ranks disagree at the first, the fourth and the sixth place, and in a query whose scores are tied."""
    draw = random.Random(9)
    judgments = {f"q{number}": {name: float(draw.randrange(3)) for name in "abcdefgh"} for number in range(8)}
    swapped = {"q0": (1, 2), "q1": (4, 5), "q2": (6, 7), "q3": (4, 5), "q4": (1, 8)}
    rankings = {}
    for query in judgments:
        ranks = list(range(1, 9))
        one, other = swapped.get(query, (1, 1))
        ranks[one - 1], ranks[other - 1] = ranks[other - 1], ranks[one - 1]
        scores = [9.0 - index // 2 if query in ("q3", "q5") else 9.0 - index for index in range(8)]
        rankings[query] = ranked(*zip(draw.sample("abcdefgh", 8), scores, ranks, strict=True))
    name, _, choice = rule.partition("; ")
    metrics = [name.format(f"({choice})" if choice else "", cutoff) for cutoff in (2, 5)]
    together = outcome_of(judgments, {"new": rankings}, metrics).findings
    alone = [outcome_of(judgments, {"new": rankings}, [metric]).findings for metric in metrics]
    codes = ("rank_disagrees", "tied_places")
    assert [each for each in together if each.code in codes] == [
        each for findings in alone for each in findings if each.code in codes
    ]
    assert {each.count for each in together if each.code == "rank_disagrees"} == {2, 4}


@pytest.mark.first_case
@pytest.mark.parametrize("metrics", [["ndcg@1", "ndcg@4", "recall@4"], ["recall@4", "ndcg@4", "ndcg@1"]])
def test_few_judged_results_are_told_for_each_metric(metrics: list[str]) -> None:
    """Half of the top 4 is unjudged, and nothing of the top 1: one does not hide the other."""
    judgments = {"q": {"a": 1, "b": 1}}
    rankings = {"old": {"q": in_order("x", "a", "b", "y")}, "new": {"q": in_order("a", "b", "x", "y")}}
    found = [one for one in outcome_of(judgments, rankings, metrics).findings if one.code == "few_judged"]
    assert [(one.system, one.metric, one.value) for one in found] == [
        ("old", "ndcg@1", 0.0),
        ("old", "ndcg@4", 0.5),
        ("new", "ndcg@4", 0.5),
        ("old", "recall@4", 0.5),
        ("new", "recall@4", 0.5),
    ]
