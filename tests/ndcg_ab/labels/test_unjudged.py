"""What unjudged results mean for comparisons; how far both sides are judged, and by whom; what is owed to it."""

import re
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.comparing.families import metric_columns
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.labels.unjudged import check_judged_shares, read_ranked_results
from ndcg_ab.report.markdown import format_comment, format_note
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Finding, LeftOut, Outcome
from ndcg_core.measures.score import Result
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.record import Labels, Unjudged
from ndcg_core.statistics.verdicts.verdict import State, Verdict
from tests.laboratory import Judgments, Ranking, evaluation_of, fill, in_order, outcome_of, plant_fault
from tests.printing import print_to_text
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


def test_declared_complete_the_judgments_decide() -> None:
    found = compared(JUDGED_FIRST, UNJUDGED_FIRST, complete_judgments=True)
    assert decided(found) is Choice.DO_NOT_SHIP
    assert unjudged_of(found) == Unjudged(0, State.WORSE, 1.2, is_declared=True)
    assert decided(compared(UNJUDGED_FIRST, JUDGED_FIRST, complete_judgments=True)) is Choice.SHIP_IF_CHEAP


def test_without_an_unjudged_result_nothing_tips() -> None:
    judged = {query: {"judged": 1.0, "bad": 0.0, "unjudged": 0.0} for query in TEN}
    found = compared(JUDGED_FIRST, UNJUDGED_FIRST, judged)
    assert decided(found) is Choice.DO_NOT_SHIP
    assert (unjudged_of(found).documents, unjudged_of(found).tipping_factor) == (0, None)


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


# ---- how far both sides are judged


JUDGED = {"a": 1.0, "b": 0.0, "c": 0.0}
Rankings = dict[str, Ranking]

# query -> what old and new show; x and y are unjudged
SHOWN: dict[str, tuple[str, str]] = {
    "both": ("ba", "ab"),
    "old": ("xa", "ab"),
    "new": ("ab", "xa"),
    "neither": ("xy", "yx"),
    "below": ("bax", "aby"),
    "silent": ("", "ab"),
    "short": ("a", "b"),
}


def made(shown: dict[str, tuple[str, str]]) -> tuple[Judgments, Rankings]:
    rankings: Rankings = {
        name: {query: in_order(*pair[index]) for query, pair in shown.items() if pair[index]}
        for index, name in enumerate(("old", "new"))
    }
    return dict.fromkeys(shown, JUDGED), rankings


def row_of(outcome: Outcome, metric: str = "ndcg@2") -> Comparison:
    return next(row for row in outcome.comparisons if row.metric == metric)


def labels_of(outcome: Outcome, metric: str = "ndcg@2") -> Labels:
    labels = row_of(outcome, metric).labels
    assert labels is not None
    return labels


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return outcome_of(*made(SHOWN), ["ndcg@2", "precision@1"])


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("right", "wrong"), [("of_candidate.system_id is null", "true"), ("of_baseline.system_id is null", "true")]
)
def test_both_sides_must_be_judged(monkeypatch: pytest.MonkeyPatch, right: str, wrong: str) -> None:
    plant_fault(monkeypatch, "fully_judged_difference", right, wrong)
    assert labels_of(outcome_of(*made(SHOWN), ["ndcg@2"])).full_queries == 5


def test_with_one_query_there_is_no_interval_and_without_any_no_difference() -> None:
    one = labels_of(outcome_of(*made({name: SHOWN[name] for name in ("both", "old")}), ["ndcg@2"]))
    assert (one.full_queries, one.full_low, one.full_high) == (1, None, None)
    assert one.full_difference == pytest.approx(1 - 0.6309297535714575)
    none = labels_of(outcome_of(*made({"old": SHOWN["old"]}), ["ndcg@2"]))
    assert (none.full_queries, none.full_difference, none.full_low) == (0, None, None)


# ---- verdicts that are owed to the labels


def outcome_with_unequal_judging(count: int, full: str = "", metric: str = "ndcg@2") -> tuple[Judgments, Rankings]:
    """Of `count` queries new shows what is judged, old what is not; full: the same of five queries judged fully."""
    shown = {f"q{number:02}": ("xa", "ab") for number in range(count)}
    shown |= {f"r{number}": (full[:2], full[2:]) for number in range(5) if full}
    return made(shown)


def list_favour_findings(outcome: Outcome) -> list[Finding]:
    return [finding for finding in outcome.findings if finding.code == "labels_favour"]


@pytest.fixture(scope="module")
def owed() -> Outcome:
    return outcome_of(*outcome_with_unequal_judging(30, "abba"), ["ndcg@2"])


def test_a_verdict_for_the_better_judged_system_is_warned_of(owed: Outcome) -> None:
    (found,) = list_favour_findings(owed)
    assert found.message.startswith("ndcg@2: new improved, which favours new, of whose results 100 % are judged, of")
    assert "of those of old 57 %; on the 5 queries judged fully for both -0.3691 (-0.3691 … -0.3691)" in found.message
    assert (found.severity, found.count, found.system, found.metric) == ("warning", 30, "new", "ndcg@2")
    assert found.value == pytest.approx(3 / 7)


def test_a_verdict_against_the_less_judged_candidate_is_warned_of() -> None:
    judgments, rankings = outcome_with_unequal_judging(30, "abba")
    turned = {"old": rankings["new"], "new": rankings["old"]}
    (found,) = list_favour_findings(outcome_of(judgments, turned, ["ndcg@2"]))
    assert found.message.startswith("ndcg@2: new regressed, which favours old, of whose results 100 % are judged")
    assert "judge what new alone shows" in found.message


LABELS = Labels(0.8, 0.85, 20, 0.1, 0.01, 0.19)
STANDS, TURNS = (Unjudged(9, state, 1.2) for state in (State.BETTER, State.UNKNOWN))
ROW: dict[str, Any] = {"conclusion": Verdict.IMPROVED, "unjudged": STANDS}
HARM = ROW | {"conclusion": Verdict.REGRESSED}
HOLDS = ROW | {"conclusion": Verdict.NOT_WORSE, "smallest_effect": 0.1}
FEWER = {"baseline_judged": 0.95}  # of the candidate's results are judged than of the baseline's


@pytest.mark.parametrize(
    ("row", "labels", "warned"),
    [
        (ROW, {}, False),
        (ROW, {"full_low": 0.0}, True),
        (ROW, {"full_low": None}, True),
        (ROW | {"unjudged": TURNS}, {}, True),
        (ROW | {"unjudged": None}, {}, True),
        (ROW, {"full_low": 0.0, "candidate_judged": 0.84}, False),
        (ROW, {"full_low": 0.0, "candidate_judged": None}, False),
        (ROW, {"full_low": 0.0, "baseline_judged": 0.95}, False),
        (HARM, {"full_low": -0.2, "full_high": -0.1}, False),
        (HARM, FEWER | {"full_low": -0.2, "full_high": 0.0}, True),
        (HARM, FEWER | {"full_low": -0.2, "full_high": -0.1}, False),
        (HARM | {"unjudged": TURNS}, FEWER | {"full_low": -0.2, "full_high": -0.1}, True),
        (HARM | {"conclusion": Verdict.WORSE, "smallest_effect": 0.1}, FEWER | {"full_high": 0.0}, True),
        (ROW | {"conclusion": Verdict.UNDECIDED}, {"full_low": -1.0}, False),
        (ROW | {"conclusion": Verdict.MAY_BE_WORSE}, FEWER | {"full_low": -1.0}, False),
        (HOLDS, {"full_low": -0.1}, True),
        (HOLDS, {"full_low": -0.09}, False),
    ],
)
def test_who_is_warned(outcome: Outcome, row: dict[str, Any], labels: dict[str, Any], warned: bool) -> None:
    compared = [replace(row_of(outcome), **row, labels=replace(LABELS, **labels))]
    assert bool(list(check_judged_shares(compared))) is warned


# ---- where it is told


def printed(outcome: Outcome, details: bool = False) -> str:
    return print_to_text(print_outcome, outcome, width=200, details=details)


def test_shares_that_lie_apart_are_told_beside_the_verdict(owed: Outcome) -> None:
    line = "judged: 100 % of its results, 57 % of the baseline's; on the 5 queries judged fully for both -0.3691"
    shown = printed(owed, details=True)
    assert line not in " ".join(shown.split()), "the tables say it"
    assert re.search(r" 57 %.*\n", shown) and re.search(r" 5 +-0\.3691 ", shown)
    assert f": {line}" in format_comment(owed)
    assert f": {line}" in format_note(owed)


def test_shares_that_are_near_are_told_with_details_alone(outcome: Outcome) -> None:
    assert "of the baseline" not in printed(outcome)
    assert "judged: " not in format_comment(outcome)
    metrics, _, table = printed(outcome, details=True).partition("described")
    assert [word in metrics for word in ("79 %", "75 %")] == [True] * 2
    assert "queries judged fully" in table


def test_scores_of_another_tool_have_no_labels() -> None:
    scores = {"old": {"a": {"ndcg@2": 0.1}, "b": {"ndcg@2": 0.2}}, "new": {"a": {"ndcg@2": 0.2}, "b": {"ndcg@2": 0.2}}}
    assert [row.labels for row in ndcg_ab.compare(scores=scores).comparisons] == [None]


# ---- without what one of the systems alone contributed to the judgments


QUERIES = [f"q{number:02}" for number in range(30)]
Judged = list[tuple[str, str, float, str | None]]

# document -> grade and sources: old's pool had a and b; new alone brought n, which is relevant, and x, which is not
POOL: list[tuple[str, float, str | None]] = [("a", 1.0, "old"), ("b", 0.0, "old"), ("n", 2.0, "new"), ("x", 0.0, "new")]
SHOWN_BY = {"old": "ab", "new": "nx"}


def judged(pool: list[tuple[str, float, str | None]] = POOL) -> Judged:
    return [(query, *row) for query in QUERIES for row in pool]


def compared_by_source(rows: Judged, shown: dict[str, str] = SHOWN_BY, **options: Any) -> Outcome:
    columns = dict(zip(("query_id", "doc_id", "grade", "source"), map(list, zip(*rows, strict=True)), strict=True))
    systems = {
        name: {query: {doc: float(9 - rank) for rank, doc in enumerate(docs)} for query in QUERIES}
        for name, docs in shown.items()
    }
    return ndcg_ab.compare(pa.table(columns), systems, metrics="ndcg@2", **options)._outcome


def told(each: LeftOut) -> tuple[Any, ...]:
    """Whose labels are left out, and the one comparison without them."""
    (row,) = each.comparisons
    numbers = (each.hidden, row.queries, row.difference, row.low, row.high, row.conclusion)
    return (each.system, row.candidate, row.metric, *numbers)


@pytest.mark.first_case
@pytest.mark.parametrize("other", mostly_soaked(["old", "clicks", None], kept=["old", None]))
def test_what_another_one_contributed_too_stays(other: str | None) -> None:
    """n is new's and another's: x alone, which gains nothing, is hidden."""
    rows = judged([*POOL, ("n", 2.0, other)])
    new = next(each for each in compared_by_source(rows).left_out if each.system == "new")
    assert (new.hidden, told(new)[-1]) == (30, Verdict.IMPROVED)


def test_sources_that_are_no_system_are_not_left_out() -> None:
    assert compared_by_source(judged([("a", 1.0, "clicks"), ("n", 2.0, None)])).left_out == ()


def test_where_nothing_is_left_nothing_can_be_tested() -> None:
    outcome = compared_by_source(judged([("n", 2.0, "new")]), {"old": "xn", "new": "nx"})
    assert [*map(told, outcome.left_out)] == [("new", "new", "ndcg@2", 30, 0, None, None, None, Verdict.NOT_TESTABLE)]


# ---- the warning


def test_a_verdict_that_rests_on_the_winner_s_own_labels_is_warned_of() -> None:
    rows = judged([("a", 1.0, "pool"), ("b", 0.0, "pool"), ("n", 2.0, "new"), ("x", 0.0, "new")])
    (message,) = (found.message for found in list_favour_findings(compared_by_source(rows)))
    assert message.startswith("ndcg@2: new improved, which favours new, of whose results 100 % are judged, of those")
    assert "; without the 60 judgments that new alone contributed it is regressed (-1.0000); on the 30" in message
    assert message.endswith("judge what old alone shows before relying on it")


@pytest.mark.slow
def test_its_source_answers_in_the_place_of_the_shares() -> None:
    """Old shows y, which nobody judged: by the shares new would be favoured; it wins without its own labels as well."""
    pool: list[tuple[str, float, str | None]] = [("a", 1.0, "pool"), ("b", 0.0, "pool"), ("x", 0.0, "new")]
    shown = {"old": "yb", "new": "ax"}
    assert list_favour_findings(compared_by_source(judged(pool), shown)) == []
    without_source: Judged = [(query, doc, grade, "pool") for query, doc, grade, _ in judged(pool)]
    assert len(list_favour_findings(compared_by_source(without_source, shown))) == 1


def test_it_is_in_the_json_and_in_the_terminal_s_tables_and_no_warning_if_both_are_sources() -> None:
    outcome = compared_by_source(judged())  # new is better as long as its own labels count
    assert list_favour_findings(outcome) == []
    assert Outcome.from_dict(outcome.to_dict()).left_out == outcome.left_out
    table = printed(outcome, details=True).partition("left out")[2]
    assert "regressed" in table and "-1.0000" in table


@pytest.mark.parametrize("shown", [{"old": "bv", "new": "au"}, {"old": "au", "new": "bv"}])
def test_a_verdict_turns_where_results_of_the_worse_one_are_better_than_judged(shown: dict[str, str]) -> None:
    queries = [f"q{number:02}" for number in range(40)]
    systems = {
        name: {each: in_order(*(docs if each < "q34" else "cb")) for each in queries} for name, docs in shown.items()
    }
    outcome = outcome_of({query: {"a": 1, "b": 0, "c": 1} for query in queries}, systems, ["precision@2"])
    assert row_of(outcome, "precision@2").unjudged.tipping_factor == pytest.approx(5.0)  # type: ignore[union-attr]
