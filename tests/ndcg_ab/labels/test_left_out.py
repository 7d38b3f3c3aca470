"""The comparisons again, without what one of the systems alone contributed to the judgments."""

from typing import Any

import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.results.outcome import LeftOut, Outcome
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.printing import print_to_text
from tests.repeated import mostly_soaked

QUERIES = [f"q{number:02}" for number in range(30)]
Judged = list[tuple[str, str, float, str | None]]

# document -> grade and sources: old's pool had a and b; new alone brought n, which is relevant, and x, which is not
POOL: list[tuple[str, float, str | None]] = [("a", 1.0, "old"), ("b", 0.0, "old"), ("n", 2.0, "new"), ("x", 0.0, "new")]
SHOWN = {"old": "ab", "new": "nx"}


def judged(pool: list[tuple[str, float, str | None]] = POOL) -> Judged:
    return [(query, *row) for query in QUERIES for row in pool]


def compared(rows: Judged, shown: dict[str, str] = SHOWN, **options: Any) -> Outcome:
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
    new = next(each for each in compared(rows).left_out if each.system == "new")
    assert (new.hidden, told(new)[-1]) == (30, Verdict.IMPROVED)


@pytest.mark.slow
def test_sources_that_are_no_system_are_not_left_out() -> None:
    assert compared(judged([("a", 1.0, "clicks"), ("n", 2.0, None)])).left_out == ()


@pytest.mark.slow
def test_where_nothing_is_left_nothing_can_be_tested() -> None:
    outcome = compared(judged([("n", 2.0, "new")]), {"old": "xn", "new": "nx"})
    assert [*map(told, outcome.left_out)] == [("new", "new", "ndcg@2", 30, 0, None, None, None, Verdict.NOT_TESTABLE)]


# ---- the warning


def warned(outcome: Outcome) -> list[str]:
    return [finding.message for finding in outcome.findings if finding.code == "labels_favour"]


@pytest.mark.slow
def test_a_verdict_that_rests_on_the_winner_s_own_labels_is_warned_of() -> None:
    rows = judged([("a", 1.0, "pool"), ("b", 0.0, "pool"), ("n", 2.0, "new"), ("x", 0.0, "new")])
    (message,) = warned(compared(rows))
    assert message.startswith("ndcg@2: new improved, which favours new, of whose results 100 % are judged, of those")
    assert "; without the 60 judgments that new alone contributed it is regressed (-1.0000); on the 30" in message
    assert message.endswith("judge what old alone shows before relying on it")


@pytest.mark.slow
def test_it_is_not_where_the_verdict_stands_without_them() -> None:
    """New alone contributed x, which gains nothing; a and b are of a pool."""
    rows = judged([("a", 1.0, "pool"), ("b", 0.0, "pool"), ("x", 0.0, "new")])
    shown = {"old": "ba", "new": "ax"}
    outcome = compared(rows, shown)
    rows = [*outcome.comparisons, *(row for each in outcome.left_out for row in each.comparisons)]
    assert [row.conclusion for row in rows] == [Verdict.IMPROVED] * 2
    assert warned(outcome) == []


@pytest.mark.slow
def test_its_source_answers_in_the_place_of_the_shares() -> None:
    """Old shows y, which nobody judged: by the shares new would be favoured; it wins without its own labels as well."""
    pool: list[tuple[str, float, str | None]] = [("a", 1.0, "pool"), ("b", 0.0, "pool"), ("x", 0.0, "new")]
    shown = {"old": "yb", "new": "ax"}
    assert warned(compared(judged(pool), shown)) == []
    without_source: Judged = [(query, doc, grade, "pool") for query, doc, grade, _ in judged(pool)]
    assert len(warned(compared(without_source, shown))) == 1


def test_it_is_in_the_json_and_in_the_terminal_s_tables_and_no_warning_if_both_are_sources() -> None:
    outcome = compared(judged())  # new is better as long as its own labels count
    assert warned(outcome) == []
    assert Outcome.from_dict(outcome.to_dict()).left_out == outcome.left_out
    table = print_to_text(print_outcome, outcome, width=160, details=True).partition("left out")[2]
    assert "regressed" in table and "-1.0000" in table
