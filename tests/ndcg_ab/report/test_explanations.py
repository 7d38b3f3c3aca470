"""Plain words: every verdict has its sentence, and each part says what the numbers of the comparison say."""

import dataclasses
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.report.explanations import TITLES, advise_more_queries, explain_candidate, explain_outcome, format_chance
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_core.measures.meanings import MEASURE_MEANINGS, PLAIN_MEANINGS
from ndcg_core.statistics.verdicts.comparison import Clusters, Comparison
from ndcg_core.statistics.verdicts.record import Unjudged
from ndcg_core.statistics.verdicts.verdict import Size, State, Verdict, state_of
from tests.laboratory import in_order, outcome_of

QUERIES = [f"q{number:02d}" for number in range(30)]
COMPARED, ANSWER, SURE, OVERTURN, NEXT = TITLES
WEAKENED = Unjudged(9, State.BETTER, 1.2)
FEW = Clusters(15, 12, 1, 4, 14.0)


@pytest.fixture(scope="module")
def improved() -> Outcome:
    """The candidate shows the relevant document first; the baseline on the first queries alone."""
    judgments = {query: {"a": 2, "z": 0} for query in QUERIES}
    old = {query: in_order(*("az" if index < 6 else "za")) for index, query in enumerate(QUERIES)}
    return outcome_of(judgments, {"old": old, "new": {query: in_order(*"az") for query in QUERIES}}, ["ndcg@2"])


def changed(outcome: Outcome, **changes: Any) -> Outcome:
    (row,) = outcome.comparisons
    row = dataclasses.replace(row, **changes)
    if "unjudged" not in changes:
        row = dataclasses.replace(row, unjudged=Unjudged(0, state_of(row.conclusion, row.size), 1.2))
    return dataclasses.replace(outcome, comparisons=(row,))


def told(outcome: Outcome, title: str) -> str:
    return " ".join(explain_candidate(outcome, "new")[title])


def row_of(outcome: Outcome, **changes: Any) -> Comparison:
    return dataclasses.replace(outcome.comparisons[0], **changes)


def test_a_clear_improvement_is_told_from_what_was_compared_to_what_is_next(improved: Outcome) -> None:
    (words,) = explain_outcome(improved).values()
    assert list(words) == [*TITLES]
    assert told(improved, COMPARED).startswith(
        "new against the baseline old, on 30 queries. The deciding metric: ndcg@2: how close"
    )
    assert "Every result in the top 2 is judged." in told(improved, COMPARED)
    assert "new ranks better than old: a mean of 1.0000 against 0.7047 (+0.2953, +41.9 %)" in told(improved, ANSWER)
    assert "better on 24 queries, worse on 0, equal on 6" in told(improved, ANSWER)
    assert "once in 1,000 evaluations" in told(improved, SURE)
    assert told(improved, NEXT) == "Ship it if it costs little."
    assert told(improved, OVERTURN) == "All of this holds only for queries like these, chosen in the same way."


@pytest.mark.parametrize(
    ("changes", "title", "expected"),
    [
        ({"conclusion": Verdict.REGRESSED}, ANSWER, "new ranks worse than old"),
        ({"conclusion": Verdict.REGRESSED}, NEXT, "Do not ship it."),
        ({"smallest_effect": 0.1}, ANSWER, "it is open whether by the 0.1 that matters"),
        ({"smallest_effect": 0.1, "size": Size.BY_MORE_THAN}, ANSWER, "by more than the 0.1 that matters"),
        ({"smallest_effect": 0.1, "size": Size.BY_MORE_THAN}, NEXT, "Ship it."),
        ({"smallest_effect": 0.9, "size": Size.SMALLER_THAN}, ANSWER, "by less than the 0.9 that matters"),
        ({"conclusion": Verdict.EQUIVALENT, "smallest_effect": 0.1}, ANSWER, "as well as old, to within 0.1"),
        ({"conclusion": Verdict.UNDECIDED, "mde": 0.2}, ANSWER, "the data do not show which of the two"),
        ({"conclusion": Verdict.UNDECIDED, "mde": 0.2}, SURE, "difference of 0.2000 would be detected four times"),
        ({"conclusion": Verdict.UNDECIDED, "mde": 0.2}, NEXT, "half of the present limit, needs about 120 queries"),
        ({"conclusion": Verdict.UNDECIDED, "mde": 0.2, "clusters": FEW}, NEXT, "needs about 60 clusters like these"),
        ({"wins": 1}, ANSWER, "better on 1 query, worse on 0"),
        ({"conclusion": Verdict.IDENTICAL}, ANSWER, "both give the same value on every query."),
        ({"conclusion": Verdict.IDENTICAL}, NEXT, "Nothing that matters."),
        ({"notes": ("small sample",)}, SURE, "Note: small sample."),
        (
            {"unjudged": Unjudged(9, State.UNKNOWN, 1.2, 1.1, -0.1, 0.4)},
            OVERTURN,
            "those of new 1.1 times as bad; over all their grades the difference is -0.1000 to +0.4000",
        ),
        ({"unjudged": Unjudged(9, State.UNKNOWN, 1.2, 1.1, -0.1, 0.4)}, NEXT, "Judge documents"),
        (
            {"unjudged": Unjudged(9, State.BETTER, 1.2, None, 0.1, 0.4)},
            OVERTURN,
            "the verdict stands even if unjudged results are 5 times as good, or as bad, as judged ones",
        ),
        ({"size": Size.BY_MORE_THAN, "smallest_effect": 0.1, "unjudged": WEAKENED}, OVERTURN, "direction of the diff"),
    ],
)
def test_what_a_comparison_says_is_said_in_its_part(
    improved: Outcome, changes: dict[str, Any], title: str, expected: str
) -> None:
    assert expected in told(changed(improved, **changes), title)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mde": 0.2, "smallest_effect": 0.1}, "about 90 more queries like these to detect a difference of 0.1"),
        ({"mde": 0.05, "smallest_effect": 0.1}, "been detected; more queries can show that it is smaller"),
        ({"mde": 0.9, "smallest_effect": 0.0001}, "needs more than 1,000,000 queries like these"),
        ({"mde": None}, ""),
    ],
)
def test_how_many_more_queries_follows_from_what_these_notice(
    improved: Outcome, changes: dict[str, Any], expected: str
) -> None:
    row = row_of(improved, conclusion=Verdict.UNDECIDED, **changes)
    assert expected in advise_more_queries(row) and bool(expected) == bool(advise_more_queries(row))


def test_a_guardrail_counts_clusters_where_clusters_are_tested(improved: Outcome) -> None:
    guarded = {
        "conclusion": Verdict.MAY_BE_WORSE,
        "family": "guardrails",
        "smallest_effect": 0.02,
        "queries_needed": 1490,
    }
    assert advise_more_queries(row_of(improved, **guarded)).startswith("about 1,490 queries like these")
    clustered = advise_more_queries(row_of(improved, **guarded, clusters=FEW))
    assert clustered.startswith("about 1,490 clusters like these")
    for needed in (None, 30):  # no number would do, and as many as there are
        assert advise_more_queries(row_of(improved, **{**guarded, "queries_needed": needed})) == ""


def test_warnings_of_other_systems_are_not_told(improved: Outcome) -> None:
    findings = [Finding("id_spelling", "warning", f"about {name or 'all'}", 1, name) for name in ("other", "new", None)]
    said = told(dataclasses.replace(improved, findings=tuple(findings)), OVERTURN)
    assert "about new" in said and "about all" in said and "about other" not in said


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0.04, "4 times in 100 evaluations"),
        (0.0096, "once in 100 evaluations"),
        (0.002, "2 times in 1,000 evaluations"),
        (0.0003, "3 times in 10,000 evaluations"),
        (0.00001, "less than once in 10,000 evaluations"),
    ],
)
def test_chance_is_counted_in_whole_evaluations(p: float, expected: str) -> None:
    assert format_chance(p) == expected


def test_every_measure_has_plain_words() -> None:
    assert set(PLAIN_MEANINGS) == set(MEASURE_MEANINGS)
    assert all("results" in words.format(results="the results") for words in PLAIN_MEANINGS.values())


def test_the_python_result_says_the_same_as_markdown() -> None:
    judgments = {query: {"a": 1, "z": 0} for query in QUERIES}
    systems = {
        "old": {query: {"z": 2.0, "a": 1.0} for query in QUERIES},
        "*new*": {query: {"a": 2.0, "z": 1.0} for query in QUERIES},
    }
    said = ndcg_ab.compare(judgments=judgments, systems=systems).in_words()
    assert said.startswith("**What was compared**\n\n- \\*new\\* against the baseline old")
    assert "**What to do next**" in said


def test_drawn_queries_are_told_from_their_log(improved: Outcome) -> None:
    """Their means are not those that the difference is between, and what should be the same is drawn again."""
    codes = ("drawn_queries", "no_longer_zero")
    drawn = dataclasses.replace(improved, findings=tuple(Finding(code, "note", code, 1) for code in codes))
    assert "on 30 drawn queries." in told(drawn, COMPARED)
    assert "+0.2953 over the whole log; of the drawn queries better on 24" in told(drawn, ANSWER)
    open_one = changed(drawn, conclusion=Verdict.IMPROVED, unjudged=Unjudged(0, State.UNKNOWN, 1.2))
    assert "Draw again (`ndcg-ab draw --kept`)" in told(open_one, NEXT) and "Judge documents" not in told(
        open_one, NEXT
    )
    few = row_of(drawn, conclusion=Verdict.UNDECIDED, smallest_effect=0.1, mde=0.2, queries_needed=75)
    assert advise_more_queries(few, "drawn").startswith("about 75 drawn queries would detect a difference of 0.1")
