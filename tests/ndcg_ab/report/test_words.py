"""Numbers and verdicts as words: every branch, on records that are made here, without an evaluation."""

import dataclasses
from typing import Any

import pytest

from ndcg_ab.report import words as text
from ndcg_ab.report.explanations import explain_label_effect
from ndcg_ab.results import numbers
from ndcg_ab.results.outcome import FunctionJudge, Outcome, SystemSummary
from ndcg_ab.results.wording import GUARDRAILS, PRIMARY, SECONDARY, queries_text
from ndcg_core.measures.notation import ExternalMetric, parse
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, compare_family
from ndcg_core.statistics.verdicts.record import Clusters, Labels, ProxyCorrected, Unjudged
from ndcg_core.statistics.verdicts.verdict import State, Verdict

(PLAIN,) = compare_family(
    [Column("old", "new", "ndcg@10", tuple(f"q{number}" for number in range(12)), [0.25, 0.5] * 6)], family=PRIMARY
)

STANDS, TURNS = (Unjudged(3, state, 1.2) for state in (State.HOLDS, State.UNKNOWN))


def row(**changes: Any) -> Comparison:
    return dataclasses.replace(PLAIN, **changes)


def relative(*values: float | None) -> str:
    """Return the words for a relative change with these ends."""
    assert PLAIN.descriptive is not None
    names = ("relative", "relative_low", "relative_high")
    return text.format_relative_change(dataclasses.replace(PLAIN.descriptive, **dict(zip(names, values, strict=True))))


def outcome(*rows: Comparison, systems: tuple[SystemSummary, ...] = (), **changes: Any) -> Outcome:
    made = Outcome("old", 0.05, 0, 10_000, (parse("ndcg@10"),), systems, rows, (), 12)
    return dataclasses.replace(made, **changes)


def system(name: str, queries: int = 12, **changes: Any) -> SystemSummary:
    return SystemSummary(name, "ndcg@10", 0.5, 0.5, queries, 0, 1.0, **changes)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (numbers.format_plain(None), "–"),
        (numbers.format_plain(0.12345), "0.1235"),
        (numbers.format_plain(-1e12), "-1.0000e+12"),
        (numbers.signed(1e80), "+1.0000e+80"),
        (queries_text(1, "judged"), "1 judged query"),
        (numbers.format_percent(None), "–"),
        (numbers.format_percent(0.5), "50 %"),
        (numbers.format_percent(0.9996), "99.96 %"),
        (numbers.format_percent(1.0), "100 %"),
        (numbers.format_probability(None), "–"),
        (numbers.format_probability(0), "–"),
        (numbers.format_probability(0.0001), "0.0001"),
        (numbers.format_probability(0.000012), "1e-05"),
        (text.format_confidence_level(0.05), "95 %"),
        (text.format_confidence_level(0.001), "99.9 %"),
        (numbers.format_range(None, 1.0), "–"),
        (numbers.format_range(1.0, None), "–"),
        (numbers.format_range(-0.5, 0.25), "[-0.5000, +0.2500]"),
        (text.format_interval(row(simultaneous_low=0.1, simultaneous_high=0.3)), "[+0.1000, +0.3000]"),
        (numbers.format_range(0.1, 0.2), "[+0.1000, +0.2000]"),
        (text.format_wins_ties_losses(row(wins=5, ties=4, losses=3)), "5/4/3"),
        (text.comparison_mark(row(conclusion=Verdict.IDENTICAL, family=GUARDRAILS)), "="),
        (text.comparison_mark(row(conclusion=Verdict.NOT_TESTABLE, family=GUARDRAILS, obstacle="few_queries")), "●"),
        (text.format_marked(row(conclusion=Verdict.NOT_WORSE, unjudged=STANDS), "+1"), "✓ +1"),
        (text.format_marked(row(conclusion=Verdict.NOT_WORSE, unjudged=TURNS), "+1"), "? +1 L"),
        (text.format_relative_change(None), "–"),
        (relative(None, None, None), "–"),
        (relative(0.031, None, 0.1), "+3.1 %"),
        (relative(0.031, 0.1, None), "+3.1 %"),
        (relative(0.031, 0.004, 0.058), "+3.1 % (+0.4 … +5.8)"),
        (text.judged_label(parse("ndcg@7")), "judged@7"),
        (text.judged_label(parse("ndcg")), "judged"),
        (text.metric_origin(parse("ndcg@7")), f"definition {parse('ndcg@7').hash}"),
        (text.metric_origin(ExternalMetric("", external_name="ctr")), "computed by another tool"),
        (text.metric_origin(ExternalMetric("", external_name="P@5", tool="a 1.0")), "computed once, by a 1.0"),
        (text.add_recomputed_count(outcome(), "{} recomputed"), "12 queries recomputed"),
        (text.add_recomputed_count(outcome(parity_queries=1), "{} recomputed"), "1 query recomputed"),
        (text.add_recomputed_count(outcome(parity_queries=None), "{} recomputed"), "scores computed by another tool"),
    ],
)
def test_numbers(said: str, expected: str) -> None:
    assert said == expected


def test_a_verdict_has_its_notes_and_a_guardrail_its_bound() -> None:
    assert text.format_verdict(row(notes=())) == PLAIN.verdict == "improved"
    assert text.format_verdict(row(notes=("one", "two"), lower_bound=-0.01)) == "improved; one; two"
    guardrail = row(conclusion=Verdict.NOT_WORSE, smallest_effect=0.02, lower_bound=-0.0123, notes=("one",))
    assert text.format_verdict(guardrail) == "not worse than 0.02 (lower 95 % bound -0.0123); one"


def test_a_family_is_counted_once_for_each_way_to_adjust_it() -> None:
    two = outcome(row(family_size=2, procedure="a"), row(family_size=2, procedure="b"))
    assert text.format_family(two, PRIMARY) == f"{PRIMARY}: 2 comparisons, a / b"
    none = outcome(row(family=SECONDARY, family_size=1, p_value=None, exploratory=True))
    end = "(exploratory: shows where to look, decides nothing)"
    assert text.format_family(none, SECONDARY) == f"{SECONDARY}: 1 comparison, none tested {end}"
    with pytest.raises(StopIteration):
        text.format_family(none, GUARDRAILS)


def test_shared_queries_are_said_where_they_are_fewer() -> None:
    both = (system("old"), system("new"), system("third", 3))
    assert text.format_shared_queries(outcome(PLAIN, systems=both), PLAIN) == ""
    assert text.format_shared_queries(outcome(PLAIN, systems=(system("old"), system("new", 11))), PLAIN) == (
        "over 12 shared queries"
    )


def test_weights() -> None:
    assert text.format_weights(outcome(PLAIN, systems=(system("old"),))) is None
    weighted = (system("old", unweighted_mean=0.4),)
    begin = "means and differences are weighted by the queries' weights"
    assert text.format_weights(outcome(PLAIN, systems=weighted)) == begin
    fewest = (row(effective_queries=7.6, queries=12), row(candidate="other", effective_queries=9.0, queries=10))
    assert text.format_weights(outcome(*fewest, systems=weighted)) == (
        f"{begin}: 12 queries settle as much as 8 of equal weight"
    )
    alone = row(effective_queries=1.0, queries=1)
    assert text.format_weights(outcome(alone, systems=weighted)) == begin, "as many as there are"


@pytest.mark.parametrize(
    ("clusters", "said"),
    [
        (None, None),
        (Clusters(12, 12, 1, 1, 12.0), None),
        (Clusters(4, 4, 3, 3, 4.0), "queries are tested in 4 clusters of 3"),
        (Clusters(1, 1, 3, 3, 1.0), "queries are tested in 1 cluster of 3"),
        (Clusters(5, 5, 1, 4, 3.2), "queries are tested in 5 clusters of 1 to 4, as much as 3 equal ones"),
    ],
)
def test_clusters(clusters: Clusters | None, said: str | None) -> None:
    many = row(clusters=Clusters(9, 9, 2, 2, 9.0) if clusters and clusters.largest > 1 else None)
    assert text.format_clusters(outcome(many, row(clusters=clusters, candidate="other"))) == said


def test_the_tipping_factor_is_said_where_it_turns_the_verdict() -> None:
    found = Unjudged(33, State.UNKNOWN, 1.2, 1.1, -0.02, 0.34)
    words = "turns if unjudged results of old are 1.1 times as good as judged ones, and those of new 1.1 times as bad"
    assert text.format_tipping(row(unjudged=found)) == words
    assert text.format_tipping(row(unjudged=dataclasses.replace(found, state=State.BETTER))) is None
    assert text.format_unjudged(row(unjudged=found)) == "33 unjudged: tips at 1.1; over all grades -0.0200 to +0.3400"
    assert text.format_unjudged(row(unjudged=Unjudged(3, State.BETTER, 1.2))) == "3 unjudged: does not tip up to 5"
    assert text.format_unjudged(row(unjudged=Unjudged(0, State.BETTER, 1.2))) is None


@pytest.mark.parametrize("verdict", [Verdict.UNDECIDED, Verdict.NOT_TESTABLE, Verdict.MAY_BE_WORSE])
def test_what_the_queries_leave_open_is_not_said_to_stand(verdict: Verdict) -> None:
    """A guardrail whose loss is not ruled out is as open as an undecided comparison."""
    found = row(conclusion=verdict, smallest_effect=0.01, unjudged=Unjudged(3, State.OPEN, 1.2))
    assert text.format_unjudged(found) == "3 unjudged: open by the queries"
    assert explain_label_effect(found) == ""


def test_complete_judgments_are_said_once() -> None:
    declared = row(unjudged=Unjudged(0, State.BETTER, 1.2, is_declared=True))
    said = "unjudged results count as not relevant, as declared"
    assert text.completeness_note(outcome(declared, declared)) == said
    assert text.completeness_note(outcome(row(unjudged=Unjudged(0, State.BETTER, 1.2)))) is None


def test_shares_of_judged_results_are_said_where_they_lie_apart() -> None:
    for labels in (None, Labels(0.86, 0.85, 12, 0.1, 0.0, 0.2), Labels(None, 0.2, 0, None, None, None)):
        assert text.format_labels(row(labels=labels)) is None
    apart = row(labels=Labels(0.86, 0.7, 12, -0.0049, -0.1398, 0.1301))
    assert text.format_labels(apart) == (
        "judged: 70 % of its results, 86 % of the baseline's;"
        " on the 12 queries judged fully for both -0.0049 (-0.1398 … +0.1301)"
    )
    nothing = row(labels=Labels(0.86, 0.7, 0, None, None, None))
    assert text.format_labels(nothing) == (
        "judged: 70 % of its results, 86 % of the baseline's; no query is judged fully for both"
    )


@pytest.mark.parametrize(
    ("saved", "worth"),
    [
        (130.4, "130 more queries judged carefully"),
        (0.6, "1 more query judged carefully"),
        (0.4, "no careful judgment"),
    ],
)
def test_proxy_judgments(saved: float, worth: str) -> None:
    corrected = row(cheap=ProxyCorrected(0.0123, 0.004, 0.0206, 0.0042, 100, 2000, 0.7, 0.5, saved))
    assert text.format_proxy_correction(corrected) == (
        "corrected by 2000 queries with proxy judgments: +0.0123 ([+0.0040, +0.0206], p 0.0042), worth " + worth
    )
    assert (text.format_proxy_correction(PLAIN), text.proxy_note(outcome(PLAIN))) == (None, None)
    note = text.proxy_note(outcome(PLAIN, dataclasses.replace(corrected, candidate="other"))) or ""
    assert note.startswith("careful grades must be unknown to the proxy judge; proxy judgments correct the difference")


def test_proxy_judgments_whose_judge_has_seen_some_careful_grades() -> None:
    """What the estimate rests on is said; and why there is none."""
    unseen = row(cheap=ProxyCorrected(0.01, 0.0, 0.02, 0.05, 70, 1970, 0.7, 0.5, 3.0, seen_queries=30))
    told = text.format_proxy_correction(unseen) or ""
    assert told.startswith("corrected by 1970 queries with proxy judgments and 70 judged carefully afterwards: +0.0100")
    note = text.proxy_note(outcome(unseen)) or ""
    assert note.startswith("careful grades judged before the proxy judge was fixed are left out; ")
    none = row(cheap=ProxyCorrected(None, None, None, None, 40, 400, None, 0.0, 0.0, why_none="12 … differ"))
    assert text.format_proxy_correction(none) == "not corrected by proxy judgments: 12 … differ"


JUDGE = FunctionJudge("a:b", 1200, 0, 0, 0, None, None, None)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, None),
        (JUDGE, "a:b judged 1,200 documents; with no grade of a file to compare its own with"),
        (
            dataclasses.replace(JUDGE, judged=1, unsaid=2000),
            "a:b judged 1 document, and could not say the grade of 2,000;"
            " with no grade of a file to compare its own with",
        ),
        (
            dataclasses.replace(JUDGE, compared=200, equal=150, mean_difference=-0.25),
            "a:b judged 1,200 documents; it agrees with 150 of 200 grades of files (mean difference -0.2500)",
        ),
        (
            FunctionJudge("a:b", 2, 0, 200, 0, 0.0, 0.0, -0.125),
            "a:b judged 2 documents; it agrees with 0 of 200 grades of files"
            " (mean difference +0.0000, kappa 0.00, alpha -0.12)",
        ),
    ],
)
def test_a_function_that_judges(found: FunctionJudge | None, said: str | None) -> None:
    assert text.function_note(outcome(function_judge=found)) == said


def test_rows_stand_in_the_order_of_their_differences_after_the_baseline() -> None:
    differences = {"a": -0.1, "b": None, "c": 0.3, "d": 0.0}
    rows = [row(candidate=name, difference=difference) for name, difference in differences.items()]
    other = row(candidate="c", metric="rr", difference=9.0)
    both = (parse("ndcg@10"), parse("rr"))
    found = outcome(other, *rows, metrics=both, systems=tuple(map(system, ["a", "b", "old", "c", "d"])))
    assert [each.candidate for each in text.order_comparisons(found, parse("ndcg@10"))] == ["c", "d", "a", "b"]
    pairs = [(each.system_id, pair and pair.difference) for each, pair in text.system_rows(found, parse("ndcg@10"))]
    assert pairs == [("old", None), ("c", 0.3), ("d", 0.0), ("a", -0.1), ("b", None)]
