"""`assert_not_worse`: when it fails, and what it says then."""

import dataclasses
import math
import re
from typing import Any

import pytest

from ndcg_ab import CompareResult, InputError, compare
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, SECONDARY
from ndcg_ab.testing import assert_not_worse
from ndcg_ab.testing.asserting import UNDECIDED, compare_arguments, deepest_cutoff, fails_gate
from ndcg_core.measures.notation import parse
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.verdict import Size, Verdict
from tests.paths import DATA
from tests.repeated import mostly_soaked

JUDGMENTS = DATA / "judgments.qrels"
OLD, NEW = DATA / "old.run", DATA / "new.run"
QUERIES = DATA / "queries.tsv"
ON = {"metrics": "ndcg@5"}


def test_margins_must_be_proven() -> None:
    asked = {"metrics": ["ndcg@5"], "margin": 0.02, "gate": {"unanswered": 0}}
    gate = {"no_regression": False, "proof": True, "not_worse": {"ndcg@5": 0.02}, "unanswered": 0}
    assert compare_arguments(asked)["gate"] == gate
    assert compare_arguments(asked | {"metrics": ["ndcg@5", "rr"], "margin": {"rr": 0.1}})["gate"]["no_regression"]


# what is given beside the better ranking as the baseline -> how the failure begins; None: it passes
WORSE: dict[str, tuple[dict[str, Any], str | None]] = {
    "a regression": (ON, "no regression: candidate against baseline, ndcg@5: regressed (-0.1615)"),
    "a margin that it keeps": (ON | {"margin": 0.49}, None),
    "a margin that it does not keep": (
        ON | {"margin": 0.1},
        "not worse: candidate against baseline, ndcg@5: worse, and not shown to be within 0.1 (-0.1615)",
    ),
    "a metric without a margin": (
        {"metrics": ["ndcg@5", "precision@1"], "margin": {"precision@1": 0.49}},
        "no regression: candidate against baseline, ndcg@5: regressed (-0.1615)",
    ),
    "margins by other spellings": ({"metrics": "nDCG@5", "margin": {"ndcg(gain=linear)@5": 0.49}}, None),
    "a regression within the margin that is forbidden": (
        ON | {"margin": 0.49, "gate": {"no_regression": True}},
        "no regression: ",
    ),
}
# the same, with the better ranking as the candidate
BETTER: dict[str, tuple[dict[str, Any], str | None]] = {
    "a margin": (ON | {"margin": 0.1}, None),
    "a margin that twenty queries cannot show": (ON | {"margin": 0.01}, "not worse: candidate against baseline, "),
    "a guardrail that may not hold": (ON | {"guardrails": {"recall@5": 0.05}}, "guardrails: candidate against"),
    "more that must hold": (ON | {"gate": {"judged": 0.99}}, "judged: "),
}
ROWS = {name: (OLD, NEW, *row) for name, row in BETTER.items()} | {
    name: (NEW, OLD, *row) for name, row in WORSE.items()
}
KEPT = ("a regression", "a margin that it does not keep", "a guardrail that may not hold", "a margin")  # others: soak


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_soaked(ROWS, kept=KEPT))
def test_it_fails_where_the_candidate_is_worse(name: str) -> None:
    baseline, candidate, options, said = ROWS[name]
    if said is None:
        assert isinstance(assert_not_worse(JUDGMENTS, baseline, candidate, **options), CompareResult)
        return
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(JUDGMENTS, baseline, candidate, **options)
    assert str(failure.value).startswith(said)


def test_a_failure_is_the_answer_and_the_queries_that_lost_most() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(JUDGMENTS, NEW, OLD, metrics="ndcg@5", queries=QUERIES)
    lines = str(failure.value).splitlines()
    assert lines[2].startswith("? judge more results  candidate: ndcg@5 regressed")
    assert any(line.startswith("? candidate ") for line in lines)
    place = lines.index("the 10 queries that lost most, ndcg@5")
    lost = [line.split() for line in lines[place + 1 :]]
    assert len(lost) == 10
    assert len(lost[0]) > 2, "the query's text"
    assert not [line for line in lines if line.startswith("gate ")], "said in the first line"


SWAPPED = {f"q{number}": {"good": 1.0, "bad": 2.0} if number % 2 else {"good": 2.0, "bad": 1.0} for number in range(20)}
REVERSED = {query: {doc: -score for doc, score in found.items()} for query, found in SWAPPED.items()}
GOOD = {query: {"good": 1, "bad": 0} for query in SWAPPED}
OPEN_WORDS = r"ndcg@2 undecided \(\+0\.0000\): 20 queries find only differences of (0\.\d+) or more"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "is_said"),
    [
        ({}, True),
        ({"smallest_effect": 0.01}, True),
        ({"smallest_effect": 0.45}, False),  # that would have been found
        ({"gate": {"no_regression": False}}, False),  # nothing had to hold
    ],
)
def test_a_ranking_that_passes_undecided_says_what_would_have_been_found(options: Any, is_said: bool) -> None:
    """Every query is reversed, as many of them for the better as for the worse."""
    UNDECIDED.clear()
    result = assert_not_worse(GOOD, SWAPPED, REVERSED, metrics="ndcg@2", **options)
    said = [re.fullmatch(OPEN_WORDS, text) for text in UNDECIDED]
    assert len(said) == is_said
    for found in said:
        assert found and float(found[1]) == pytest.approx(result.comparison().mde, abs=0.0006)


@pytest.mark.slow
def test_what_is_proven_or_cannot_be_tested_is_not_called_undecided() -> None:
    UNDECIDED.clear()
    assert_not_worse(JUDGMENTS, OLD, NEW, metrics="ndcg@5", margin=0.1)
    assert_not_worse(GOOD, SWAPPED, SWAPPED, metrics="ndcg@2")
    assert UNDECIDED == []
    for count in (3, 1):
        assert_not_worse(dict(list(GOOD.items())[:count]), SWAPPED, REVERSED, metrics="ndcg@2")
    assert UNDECIDED == ["ndcg@2 undecided (-0.1230): 3 queries can find no difference", "ndcg@2 not testable (n = 1)"]


def test_the_queries_are_those_of_the_metric_that_failed() -> None:
    options: dict[str, Any] = {"metrics": "ndcg@5", "guardrails": {"recall@5": 0.05}}
    with pytest.raises(AssertionError, match=r"the \w+ quer\w+ that lost most, recall@5\n  -"):
        assert_not_worse(JUDGMENTS, OLD, NEW, **options)


(ROW,) = compare_family([Column("baseline", "candidate", "ndcg@5", tuple("abcdefgh"), [-0.1, -0.2] * 4)])


@pytest.mark.parametrize("family", [PRIMARY, SECONDARY, GUARDRAILS, GATE])
@pytest.mark.parametrize("verdict", Verdict)
def test_what_fails(verdict: Verdict, family: str) -> None:
    """Of the metrics that decide a regression; of margins what is not shown to keep them."""
    margins, harms = {*Verdict} - {Verdict.IDENTICAL, Verdict.NOT_WORSE}, {Verdict.REGRESSED, Verdict.WORSE}
    failing = {PRIMARY: harms, SECONDARY: set(), GUARDRAILS: margins, GATE: margins}[family]
    row = dataclasses.replace(ROW, family=family, conclusion=verdict, smallest_effect=0.01)
    assert fails_gate(row) == (verdict in failing)
    if family == PRIMARY:
        assert not fails_gate(dataclasses.replace(row, conclusion=Verdict.REGRESSED, size=Size.SMALLER_THAN))


# options that cannot be used -> the sentence
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a margin of 0": ({"margin": 0}, "margin = 0: must be a number above 0, or map metrics to such numbers"),
    "a margin in words": ({"margin": {"ndcg@10": "1%"}}, "margin = "),
    "no finite margin": ({"margin": math.inf}, "margin = "),
    "a margin of another metric": ({"margin": {"rr": 0.1}}, "gate: rr: is none of the metrics"),
    "two margins": ({"margin": 0.1, "gate": {"not_worse": {"ndcg@10": 0.1}}}, "margin and gate['not_worse']: both"),
    "a gate in words": ({"gate": "judged=0.8"}, "gate = 'judged=0.8': must be a mapping, such as {'judged': 0.8}"),
    "an unknown metric": ({"metrics": "ndgc@10"}, "metrics: metric 'ndgc@10': metric = 'ndgc': must be one of"),
    "an unknown metric with a margin": ({"metrics": "ndgc@10", "margin": 0.1}, "metrics: metric 'ndgc@10'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_an_input_error(name: str) -> None:
    options, said = BAD[name]
    with pytest.raises(InputError) as error:
        assert_not_worse(JUDGMENTS, OLD, NEW, **options)
    assert str(error.value).startswith(said)


def test_a_bad_row_is_named_and_leads_to_the_test_alone() -> None:
    with pytest.raises(InputError) as error:
        assert_not_worse(JUDGMENTS, OLD, {"bread": {"bread-song": math.nan}})
    assert str(error.value).startswith("systems['candidate'], query 'bread', document 'bread-song': score = 'nan'")
    places = {entry.path.name for entry in error.traceback if not entry.ishidden(error)}
    assert places == {"test_asserting.py"}


def test_losses() -> None:
    """Against the differences of the per-query values."""
    result = compare(JUDGMENTS, {"old": OLD, "new": NEW}, metrics="ndcg@5", queries=QUERIES)
    values = result.query_scores.to_pandas().pivot(index="query_id", columns="system_id", values="value")
    lost = (values["new"] - values["old"]).loc[lambda column: column < -1e-9].nsmallest(2)
    found = result.losses(most=2)
    assert [row.query_id for row in found] == list(lost.index)
    assert [row.difference for row in found] == pytest.approx(list(lost))
    assert found[0].text is not None
    assert len(result.losses()) == sum((values["new"] - values["old"]) < -1e-9)


def test_an_argument_that_is_misspelt_or_of_another_function_is_named() -> None:
    with pytest.raises(TypeError, match=r"assert_not_worse\(\) .* argument 'metric'; did you mean 'metrics'\?"):
        assert_not_worse({}, {}, {}, metric="rr")
    with pytest.raises(InputError, match=r"scores: assert_not_worse needs judgments and rankings"):
        assert_not_worse({}, {}, {}, scores={"old": {}})


# ---- how many results of a query a baseline keeps


@pytest.mark.parametrize(
    ("metric", "depth"),
    [
        ("ndcg@10", 10),
        ("ndcg", None),
        ("ndcg(unjudged=condense)@10", None),
        ("ndcg(ideal=recall)@10", None),
        ("ndcg(ideal=recall,recall_depth=50)@10", 50),
    ],
)
def test_how_deep_a_metric_looks(metric: str, depth: int | None) -> None:
    assert deepest_cutoff([parse(metric)]) == depth
