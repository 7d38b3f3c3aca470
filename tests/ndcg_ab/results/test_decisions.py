"""Decisions: the table of docs/verdicts.md, row by row; if every metric decided; properties on random evaluations."""

import dataclasses
from random import Random
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.results.decisions import Choice, decide, measured_state
from ndcg_ab.results.outcome import GateResult, Outcome
from ndcg_ab.results.wording import GATE, GUARDRAILS, PAIRS, PRIMARY, SECONDARY
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.record import Clusters, Unjudged
from ndcg_core.statistics.verdicts.verdict import State, Verdict
from tests.laboratory import in_order, outcome_of
from tests.repeated import mostly_soaked
from tests.sentences import fields_of_sentence

WORDS = [f"q{number}" for number in range(12)]
JUDGMENTS = {query: {"good": 1, "bad": 0} for query in WORDS}
GOOD, BAD = in_order("good", "bad"), in_order("bad", "good")


def night(*new: list[Any], metrics: tuple[str, ...] = ("ndcg@2",)) -> Outcome:
    """`old` is right for every query, except the last; `new`, `new2`, … answer all queries with one ranking each."""
    rankings = {"old": dict.fromkeys(WORDS, GOOD)}
    rankings |= {f"new{index or ''}": dict.fromkeys(WORDS, one) for index, one in enumerate(new)}
    return outcome_of(JUDGMENTS, rankings, list(metrics))


OUTCOME = night(BAD)


def row(verdict: str, family: str = PRIMARY, metric: str = "ndcg@10", **changes: Any) -> Comparison:
    """A comparison with a verdict's sentence, and the numbers that stand in it."""
    known = {field.name: getattr(OUTCOME.comparisons[0], field.name) for field in dataclasses.fields(Comparison)}
    for name in ("conclusion", "size", "underpowered", "obstacle"):
        del known[name]
    known |= {"family": family, "metric": metric, "difference": 0.05, "mde": 0.1, "smallest_effect": None} | changes
    return changed(Comparison(**known | fields_of_sentence(verdict)))


def changed(found: Comparison, **changes: Any) -> Comparison:
    """Return the comparison with other values, and a state that unjudged results do not turn."""
    found = dataclasses.replace(found, **changes)
    return dataclasses.replace(found, unjudged=Unjudged(3, measured_state(found), 1.2))


def turned(found: Comparison, factor: float | None = 1.1) -> Comparison:
    """Return the comparison with a state that unjudged results turn at a factor."""
    return dataclasses.replace(found, unjudged=Unjudged(3, State.UNKNOWN, 1.2, factor))


ENOUGH = row("improved, by more than 0.01", smallest_effect=0.01)
BETTER = row("improved")
OPEN = row("undecided (MDE 0.100)", metric="rr@10")
HOLDS = row("not worse than 0.02", GUARDRAILS, "recall@100", difference=-0.001, smallest_effect=0.02)
DOUBT = row("worse by more than 0.02 not ruled out", GUARDRAILS, "recall@100", difference=-0.03, smallest_effect=0.02)
HARM = changed(DOUBT, conclusion=Verdict.WORSE)
FEW = dataclasses.replace(DOUBT, difference=0.03, queries=19, queries_needed=210)
CLUSTERED = dataclasses.replace(FEW, clusters=Clusters(12, 9, 1, 3, 11.0), queries_needed=15)
CANNOT = "recall@100 worse by more than 0.02 not ruled out (+0.0300): 19 queries, about 210 needed"
UNSETTLED = turned(ENOUGH)
REGRESSED = row("regressed", difference=-0.05)
BY_MORE = "ndcg@10 improved, by more than 0.01 (+0.0500)"
WORSE = "recall@100 worse, and not shown to be within 0.02 (-0.0300)"
NOT_KNOWN = f"{BY_MORE}; it is not known what unjudged results could do to it"
COULD_TURN = (
    "; turns if unjudged results of old are 1.1 times as good as judged ones, and those of new 1.1 times as bad"
)
OTHERWISE = "; turns if unjudged results of new are 1.1 times as good as judged ones, and those of old 1.1 times as bad"

# (comparisons, decision, reason)
TABLE: dict[str, tuple[list[Comparison], str, str]] = {
    "improved by more": ([ENOUGH, HOLDS], "ship", BY_MORE),
    "improved by more on one, nothing on the other": (
        [ENOUGH, row("identical", metric="rr@10", difference=0.0, differing=0)],
        "ship",
        BY_MORE,
    ),
    "too few queries for a guardrail, and no loss": ([ENOUGH, FEW], "judge_more", CANNOT),
    "enough queries, and no answer": ([ENOUGH, changed(FEW, queries=210)], "judge_more", CANNOT.partition(": 19")[0]),
    "too few clusters for a guardrail": (
        [ENOUGH, CLUSTERED],
        "judge_more",
        "recall@100 worse by more than 0.02 not ruled out (+0.0300): 12 clusters, about 15 needed",
    ),
    "too few queries for a guardrail, and a failed gate": ([ENOUGH, FEW], "do_not_ship", "unanswered (…)"),
    "labels could turn it": ([UNSETTLED, HOLDS], "judge_results", f"{BY_MORE}{COULD_TURN}"),
    "labels could turn a guardrail": (
        [ENOUGH, turned(HOLDS)],
        "judge_results",
        f"recall@100 not worse than 0.02{COULD_TURN}",
    ),
    "labels could turn a harm": ([turned(REGRESSED)], "judge_results", f"ndcg@10 regressed (-0.0500){OTHERWISE}"),
    "labels could turn a harm, and a guardrail is open": (
        [turned(REGRESSED), FEW],
        "judge_results",
        f"ndcg@10 regressed (-0.0500){OTHERWISE}",
    ),
    "harm that labels do not turn comes before harm that they do": ([turned(REGRESSED), HARM], "do_not_ship", WORSE),
    "labels could turn that nothing changed": (
        [turned(row("equivalent within ±0.1", smallest_effect=0.1), 1.0)],
        "judge_results",
        "ndcg@10 equivalent within ±0.1 (+0.0500); turns if unjudged results are as good as judged ones",
    ),
    "labels could turn that nothing changed, in one direction": (
        [turned(row("identical", differing=0, difference=0.0))],
        "judge_results",
        "ndcg@10 identical; turns if unjudged results of one system are 1.1 times as good as judged ones, and those of"
        " the other 1.1 times as bad",
    ),
    "queries outside the draw could turn it": (
        [dataclasses.replace(ENOUGH, unjudged=Unjudged(0, State.UNKNOWN, 1.2, 1.0))],
        "judge_results",
        f"{BY_MORE}; turns if queries of the log that were not drawn differ enough",
    ),
    "what labels do is not known": ([turned(ENOUGH, None)], "judge_results", NOT_KNOWN),
    "what labels do was not computed": ([dataclasses.replace(ENOUGH, unjudged=None)], "judge_results", NOT_KNOWN),
    "labels weaken it": (
        [dataclasses.replace(ENOUGH, unjudged=Unjudged(3, State.BETTER, 1.2))],
        "ship_if_cheap",
        f"{BY_MORE}, not shown to be by more than 0.01, if unjudged results are considered",
    ),
    "what is open comes before what labels could turn": ([UNSETTLED, FEW], "judge_more", CANNOT),
    "improved, no smallest effect": ([BETTER], "ship_if_cheap", "ndcg@10 improved (+0.0500)"),
    "improved, not shown to be by more": (
        [row("improved", smallest_effect=0.04)],
        "ship_if_cheap",
        "ndcg@10 improved (+0.0500), not shown to be by more than 0.04",
    ),
    "improved by less": (
        [row("improved, smaller than 0.1", smallest_effect=0.1)],
        "nothing_changed",
        "ndcg@10 improved, smaller than 0.1 (+0.0500)",
    ),
    "improved on one, open on the other": ([ENOUGH, OPEN], "judge_more", "rr@10 undecided (MDE 0.100)"),
    "worse by less": (
        [row("regressed, smaller than 0.1", smallest_effect=0.1, difference=-0.05)],
        "nothing_changed",
        "ndcg@10 regressed, smaller than 0.1 (-0.0500)",
    ),
    "equivalent": (
        [row("equivalent within ±0.1", smallest_effect=0.1)],
        "nothing_changed",
        "ndcg@10 equivalent within ±0.1 (+0.0500)",
    ),
    "undecided": ([OPEN, HOLDS], "judge_more", "rr@10 undecided (MDE 0.100)"),
    "not testable": ([row("not testable (n = 1)", queries=1)], "judge_more", "ndcg@10 not testable (n = 1)"),
    "identical": (
        [row("identical", differing=0), row("identical", metric="rr@10", differing=0), HOLDS],
        "nothing_changed",
        "every query has the same value on ndcg@10 and rr@10",
    ),
    "regressed": ([REGRESSED], "do_not_ship", "ndcg@10 regressed (-0.0500)"),
    "regressed on one, improved on the other": (
        [ENOUGH, row("regressed", metric="rr@10", difference=-0.05)],
        "do_not_ship",
        "rr@10 regressed (-0.0500)",
    ),
    "a guardrail comes first": ([ENOUGH, HARM], "do_not_ship", WORSE),
    "a guardrail, and a regression": ([REGRESSED, HARM], "do_not_ship", f"{WORSE}; ndcg@10 regressed (-0.0500)"),
    "a guardrail that cannot be tested": (
        [ENOUGH, row("not testable (n = 1)", GUARDRAILS, "recall@100", queries=1)],
        "judge_more",
        "recall@100 not testable (n = 1)",
    ),
    "a margin of the gate": (
        [ENOUGH, row("worse by more than 0.02 not ruled out", GATE, smallest_effect=0.02, difference=-0.01)],
        "judge_more",
        "ndcg@10 worse by more than 0.02 not ruled out (-0.0100)",
    ),
    "another gate": ([ENOUGH], "do_not_ship", "gate unanswered failed: new"),
    "secondary metrics and pairs decide nothing": (
        [ENOUGH, row("regressed", SECONDARY, "rr@10"), row("regressed", PAIRS)],
        "ship",
        BY_MORE,
    ),
    "many regressions": (
        [row("regressed", metric=f"ndcg@{cutoff}", difference=-0.05) for cutoff in (1, 2, 3, 4)],
        "do_not_ship",
        "ndcg@1 regressed (-0.0500); ndcg@2 regressed (-0.0500); and 2 more",
    ),
}
GATES = {  # the failed gates of two cases
    "too few queries for a guardrail, and a failed gate": ["unanswered (…)"],
    "another gate": ["gate unanswered failed: new"],
}


@pytest.mark.parametrize("name", TABLE)
def test_decision(name: str) -> None:
    rows, choice, reason = TABLE[name]
    found = decide("new", rows, GATES.get(name, ()))
    assert (found.candidate, found.decision, found.reason) == ("new", choice, reason)
    assert "\n" not in found.reason


def test_every_choice_is_decided_somewhere() -> None:
    assert {choice for _, choice, _ in TABLE.values()} == set(Choice) - {Choice.MEASURE_MORE}  # test_costs.py
    assert [choice.words for choice in Choice] == [
        "ship",
        "ship if cheap",
        "do not ship",
        "judge more queries",
        "measure more queries",
        "judge more results",
        "nothing changed",
    ]


@pytest.fixture(scope="module")
def two_good() -> Outcome:
    return night(GOOD, GOOD)


@pytest.mark.parametrize(
    ("systems", "concerned"),
    [(("new1",), {"new1"}), (("old",), {"new", "new1"}), (("new", "old"), {"new", "new1"}), ((), {"new", "new1"})],
)
def test_a_failed_gate_concerns_those_it_names(
    systems: tuple[str, ...], concerned: set[str], two_good: Outcome
) -> None:
    """What fails for the baseline concerns everyone, as does a gate that names nobody."""
    reasons = tuple(f"{name}: few" for name in systems)
    message = "; ".join(reasons) or "too few"
    gates = (GateResult("unanswered", False, message, systems, reasons), GateResult("judged", True, "fine"))
    decisions = dataclasses.replace(two_good, gates=gates).decisions
    assert {found.candidate for found in decisions if found.decision is Choice.DO_NOT_SHIP} == concerned
    for found in decisions:
        if found.candidate in concerned:
            told = [f"{name}: few" for name in systems if name in ("old", found.candidate)]
            assert found.reason == f"gate unanswered failed: {'; '.join(told) or 'too few'}"


@pytest.mark.parametrize(
    ("decided", "choice"), [(ENOUGH, "judge_results"), (OPEN, "judge_more"), (HARM, "do_not_ship")]
)
def test_too_few_judgments_ask_for_more_of_them(decided: Comparison, choice: str) -> None:
    found = decide("new", [decided], few_judged=["gate judged failed: new 3 %"])
    assert found.decision == choice


# ---- what would be decided if every metric did: said where the default made another decision


QUERIES = [f"q{index:02d}" for index in range(20)]
TWO_RELEVANT = {query: {"first": 1.0, "second": 1.0, "bad": 0.0} for query in QUERIES}
OLD = in_order("first", "bad", "other")
NEW = in_order("bad", "first", "second")  # more of the good ones, and the first of them later
METRICS = ["recall@3", "rr@10"]


def decided_by(primary: str, metrics: list[str] = METRICS) -> Outcome:
    rankings = {name: dict.fromkeys(QUERIES, found) for name, found in (("old", OLD), ("new", NEW))}
    return outcome_of(TWO_RELEVANT, rankings, metrics, primary_metrics=primary)


@pytest.mark.slow
def test_it_is_said_where_the_default_changed_a_decision() -> None:
    by_first, by_all = decided_by("first"), decided_by("all")
    (decision,) = by_first.decisions
    assert decision.decision == "judge_results"
    assert decision.reason.endswith("; if every metric decided: do not ship")
    assert by_first.if_all_decided == by_all.decisions
    assert [row.family for row in by_first.main] == ["primary", "secondary"]
    assert {row.family_size for row in by_first.main} == {1}
    assert Outcome.from_dict(by_first.to_dict()).decisions == by_first.decisions


@pytest.mark.slow
def test_unjudged_results_are_weighed_anew_where_every_metric_decides() -> None:
    """rr@3 is shown better in the family of all metrics alone, and every result is judged."""
    better, worse = in_order("first", "bad"), in_order("bad", "first")
    old = {query: worse if query < "q08" else better for query in QUERIES}
    rankings = {"old": old, "new": dict.fromkeys(QUERIES, better)}
    metrics = ["accuracy@3", "rr@3", "recall@3", "precision@3", "judged@3", "recall@2", "precision@2", "accuracy@2"]
    by_first, by_all = (outcome_of(TWO_RELEVANT, rankings, metrics, primary_metrics=each) for each in ("first", "all"))
    assert [each.decision for each in by_first.decisions] == ["nothing_changed"]
    assert [each.decision for each in by_all.decisions] == ["ship_if_cheap"]
    assert by_first.if_all_decided == by_all.decisions


@pytest.mark.slow
def test_nothing_is_said_where_nothing_changed_or_the_roles_are_named() -> None:
    assert decided_by("all").if_all_decided == ()
    backwards = decided_by("first", METRICS[::-1])
    assert [each.decision for each in backwards.decisions] == ["do_not_ship"]
    assert backwards.if_all_decided == ()


def test_a_failed_gate_decides_both_ways() -> None:
    gate = GateResult("unanswered", False, "new left 3 unanswered", ("new",), ("new left 3 unanswered",))
    (decision,) = dataclasses.replace(decided_by("first"), gates=(gate,)).decisions
    assert decision.decision == "do_not_ship" and "every metric decided" not in decision.reason


# ---- properties of the rule that decides, on whole random evaluations through the Python API (docs/verdicts.md)


Rankings = dict[str, dict[str, float]]
EXCHANGED = {
    Choice.SHIP: {Choice.DO_NOT_SHIP},
    Choice.SHIP_IF_CHEAP: {Choice.DO_NOT_SHIP},
    Choice.DO_NOT_SHIP: {Choice.SHIP, Choice.SHIP_IF_CHEAP},
}
ANY_METRIC = ("ndcg@5", "ap", "rr@5", "precision@3", "recall@5", "err@5", "bpref", "rprec", "rbp@5", "dcg@5")


class Drawn:
    """A random evaluation: judgments, two rankings whose qualities differ by chance, and its settings."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        documents = [f"d{number}" for number in range(12)]
        share, self.metric = random.choice([0.5, 0.8, 0.95, 1.0]), random.choice(ANY_METRIC)
        better, queries = random.choice([-1.5, -0.5, 0.0, 0.5, 1.5]), random.choice([8, 25, 60])
        self.smallest_effect = random.choice([None, 0.02, 0.2])
        self.judgments: Rankings = {}
        self.old: Rankings = {}
        self.new: Rankings = {}
        for query in (f"q{number:02d}" for number in range(queries)):
            grades = {document: float(random.choice([0, 0, 0, 1, 2])) for document in documents}
            grades["d0"] = 2.0
            self.judgments[query] = {
                each: grade for each, grade in grades.items() if random.random() < share or each == "d0"
            }
            noise = {document: random.gauss(0, 2) for document in documents}
            self.old[query] = {each: grades[each] + noise[each] for each in documents}
            self.new[query] = {
                each: grades[each] * (1 + better) + noise[each] + random.gauss(0, 0.7) for each in documents
            }

    def decide(self, baseline: Rankings, candidate: Rankings, **changes: Any) -> Choice:
        """Return the decision on a candidate."""
        settings: dict[str, Any] = {
            "metrics": [self.metric],
            "smallest_effect": None if self.smallest_effect is None else {self.metric: self.smallest_effect},
            "resamples": 500,
        }
        found = ndcg_ab.compare(self.judgments, {"a": baseline, "b": candidate}, **(settings | changes))
        (decision,) = found.decisions
        return decision.decision


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(60), kept=range(4)))
def test_exchanging_the_systems_exchanges_the_decision(seed: int) -> None:
    drawn = Drawn(seed)
    decision, other = drawn.decide(drawn.old, drawn.new), drawn.decide(drawn.new, drawn.old)
    assert other in EXCHANGED.get(decision, {decision})


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(300), kept=range(4)))
def test_what_only_describes_never_changes_a_decision(seed: int) -> None:
    """Describing metrics, bounds or none: one of the changes for each seed."""
    drawn = Drawn(seed)
    others = [name for name in ANY_METRIC if name != drawn.metric]
    change: dict[str, Any] = [
        {"metrics": [drawn.metric, *others[:8]]},
        {"metrics": [drawn.metric, *others[7::-1]]},
        {"bounds": True},
        {"bounds": False},
    ][seed % 4]
    assert drawn.decide(drawn.old, drawn.new) is drawn.decide(drawn.old, drawn.new, **change)


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(30), kept=range(2)))
def test_an_unjudged_document_put_first_everywhere_is_no_harm(seed: int) -> None:
    drawn = Drawn(seed)
    candidate = {query: {"unseen": 1e9, **ranking} for query, ranking in drawn.old.items()}
    settings = {"metrics": ["ndcg@5"], "smallest_effect": 0.01}
    assert drawn.decide(drawn.old, candidate, **settings) in (Choice.JUDGE_RESULTS, Choice.JUDGE_MORE)
    assert drawn.decide(candidate, drawn.old, **settings) in (Choice.JUDGE_RESULTS, Choice.JUDGE_MORE)
    assert drawn.decide(drawn.old, candidate) is not Choice.DO_NOT_SHIP


@pytest.mark.first_case
@pytest.mark.parametrize("seed", mostly_soaked(range(30), kept=range(2)))
def test_complete_judgments_leave_nothing_to_judge(seed: int) -> None:
    drawn = Drawn(seed)
    assert drawn.decide(drawn.old, drawn.new, complete_judgments=True) is not Choice.JUDGE_RESULTS


@pytest.mark.slow
def test_the_decisions_drawn_here_are_of_every_kind() -> None:
    """A generator whose evaluations all end alike would prove nothing: these are the first of each kind."""
    drawn = [Drawn(seed) for seed in (0, 3, 5, 7, 11, 14)]
    assert {each.decide(each.old, each.new) for each in drawn} >= {*Choice} - {Choice.MEASURE_MORE}
