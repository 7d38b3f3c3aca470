"""Collect the answer of one evaluation as data, which every report renders.

It holds the decision on each candidate, the best first, with estimates and intervals; the reasons to doubt the answer;
and the warnings, one per cause with its command.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ndcg_ab.report.doubts import HARDLY, Doubt, Line, comparison_notes, finding_lines, list_doubts, warn_of_few_weights
from ndcg_ab.report.sections import format_judges_line, leading_costs
from ndcg_ab.report.words import order_candidates, query_kind
from ndcg_ab.results.cost_records import CostDifference
from ndcg_ab.results.decisions import FAILURES, NO_REGRESSION, Choice, can_be_reversed
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, SECONDARY
from ndcg_core.measures.unjudged.contributions import has_grade_effect
from ndcg_core.statistics.verdicts.comparison import Comparison

JUDGE = "ndcg-ab judge-next"
DRAW_AGAIN = "ndcg-ab draw --kept"
# What to run about a finding; of any other its code is explained.
COMMANDS = {
    "few_judged": JUDGE,
    "no_longer_zero": DRAW_AGAIN,
    "judged_differs": JUDGE,
    "labels_favour": JUDGE,
    "looks_clustered": "",
    "reversed_grades": "",
}
OVERTURNING = ("looks_clustered", "few_judged", "judged_differs")  # warnings that more often change a verdict
# Findings with one cause share a line, which the first of them begins.
CAUSES = dict.fromkeys(("few_judged", "judged_differs", "labels_favour"), "unjudged results")
CAUSES |= dict.fromkeys(("unanswered_query", "different_depths", "few_queries"), "short rankings")


@dataclass(frozen=True)
class Candidate:
    """The decision on one candidate, with the comparisons behind it.

    Attributes
    ----------
    reason : str
        The reason for the decision; if the decision is in doubt, the doubt comes first.
    doubt : str or None
        The reason to doubt the decision; None without one.
    rows : tuple of Comparison
        The comparisons with the baseline, in the order of the metrics.
    costs : tuple of CostDifference
        The cost differences that reports display beside the metrics.
    """

    name: str
    choice: Choice
    reason: str
    doubt: str | None
    rows: tuple[Comparison, ...]
    costs: tuple[CostDifference, ...] = ()

    @property
    def deciding(self) -> list[Comparison]:
        """Return the comparisons on primary metrics and guardrails."""
        return [row for row in self.rows if row.family in (PRIMARY, GUARDRAILS)]


class Cell(NamedTuple):
    """The cell of one system and one metric in the matrix of a report.

    mean: the system's mean; None if no query was scored. row: the comparison with the baseline; None for the baseline
    and for systems that are not compared.
    """

    mean: float | None
    row: Comparison | None


@dataclass(frozen=True)
class Answer:
    """The answer of one evaluation, which every report renders.

    Attributes
    ----------
    metric : str
        Name of the first metric, by which candidates are ordered.
    queries : int or None
        Number of queries on which the baseline is scored by `metric`; None if the baseline has no summary.
    mean : float or None
        Mean of the baseline on `metric`; None if no query was scored.
    candidates : tuple of Candidate
        The best decision first; among equal decisions, the largest difference first.
    matrix : mapping
        System -> metric -> cell. The baseline is first, then come the candidates; secondary metrics are last.
    warnings : tuple of Line
        One line per cause, over all systems. A line of severity "error" is a reason to doubt the answer.
    notes : tuple of Line
        The notes of the data check, and remarks about the comparisons.
    gate : str
        Whether the gates passed, in one line; empty without gates.
    is_clean : bool
        True if there is no finding, no doubt and no warning.
    kind : str
        "drawn" if the queries were drawn from a log, else empty.
    """

    baseline: str
    metric: str
    queries: int | None
    mean: float | None
    candidates: tuple[Candidate, ...]
    matrix: Mapping[str, Mapping[str, Cell]]
    warnings: tuple[Line, ...]
    notes: tuple[Line, ...]
    gate: str
    is_clean: bool
    kind: str = ""

    @property
    def choices(self) -> dict[str, Choice]:
        """Return the decision on each candidate by name."""
        return {each.name: each.choice for each in self.candidates}

    @property
    def doubts(self) -> list[Line]:
        """Return the reasons to doubt the answer, which reports print above it."""
        return [line for line in self.warnings if line.severity == "error"]

    @property
    def findings(self) -> list[Line]:
        """Return the warnings and notes that reports print below the answer."""
        return [line for line in (*self.warnings, *self.notes) if line.severity != "error"]


def make_answer(outcome: Outcome) -> Answer:
    """Collect the answer of an evaluation from its outcome."""
    first = outcome.metrics[0]
    base = next((row for row in outcome.systems if (row.system_id, row.metric) == (outcome.baseline, first.name)), None)
    findings, doubts = finding_lines(outcome), list_doubts(outcome)
    gates = ", ".join(gate.name for gate in outcome.failures or outcome.gates)
    candidates = tuple(describe_candidates(outcome, doubts))
    return Answer(
        baseline=outcome.baseline,
        metric=first.name,
        queries=base.queries if base else None,
        mean=base.mean if base else None,
        candidates=candidates,
        matrix=arrange_matrix(outcome, [outcome.baseline, *(each.name for each in candidates)]),
        warnings=tuple(list_warnings(outcome, doubts, findings)),
        notes=(
            *(line for line in findings if line.severity == "note"),
            *(Line("note", text) for text in comparison_notes(outcome)),
        ),
        gate=f"{'✗ gate failed' if outcome.failures else '✓ gate passed'}: {gates}" if gates else "",
        is_clean=not (outcome.findings or doubts or warn_of_few_weights(outcome)),
        kind=query_kind(outcome),
    )


def arrange_matrix(outcome: Outcome, systems: Sequence[str]) -> dict[str, dict[str, Cell]]:
    """Return the cell of each system and metric, as a mapping system -> metric -> cell.

    systems: the baseline and the candidates, in the order of the rows. Other systems follow. Secondary metrics are the
    last columns.
    """
    means = {(row.system_id, row.metric): row.mean for row in outcome.systems}
    rows = {(row.candidate, row.metric): row for row in outcome.main}
    names = dict.fromkeys([*systems, *(row.system_id for row in outcome.systems)])
    secondary = {row.metric for row in outcome.main if row.family == SECONDARY}
    metrics = sorted((metric.name for metric in outcome.metrics), key=lambda metric: metric in secondary)
    return {
        name: {metric: Cell(means.get((name, metric)), rows.get((name, metric))) for metric in metrics}
        for name in names
    }


def reasons_for_doubt(outcome: Outcome, doubts: Sequence[Doubt]) -> dict[str, str]:
    """Return the reason to doubt the decision on each candidate in doubt, by the candidate's name."""
    reasons = {
        row.candidate: [reason for doubt in doubts for reason in doubt.reasons_about(row.candidate, outcome.baseline)]
        for row in outcome.decisions
    }
    return {candidate: " and ".join(dict.fromkeys(texts)) for candidate, texts in reasons.items() if texts}


def describe_candidates(outcome: Outcome, all_doubts: Sequence[Doubt]) -> Iterator[Candidate]:
    """Yield each candidate that has a decision, with its comparisons.

    The best decision comes first; among equal decisions, the largest difference on the first metric.
    """
    doubts = reasons_for_doubt(outcome, all_doubts)
    decisions = {decision.candidate: decision for decision in outcome.decisions}
    for name in order_candidates(outcome):
        if decision := decisions.get(name):
            yield Candidate(
                name,
                decision.decision,
                f"in doubt, since {doubts[name]}: {decision.reason}" if name in doubts else decision.reason,
                doubts.get(name),
                tuple(each for each in outcome.main if each.candidate == name),
                leading_costs(outcome.costs, name),
            )


def list_warnings(outcome: Outcome, doubts: Sequence[Doubt], findings: Sequence[Line]) -> list[Line]:
    """Return the warnings about the answer as lines, one per cause over all systems.

    Doubts come first, as lines of severity "error"; then the warnings that most often change a verdict; then the
    others.
    """
    lines = [Line("error", doubt.sentence, command=JUDGE * (doubt.reason == HARDLY)) for doubt in doubts]
    lines += [Line("warning", text) for text in warn_of_few_weights(outcome)]
    if judges := format_judges_line(outcome):
        lines.append(Line("warning", judges, command="ndcg-ab judgments"))
    hardly = [index for index, doubt in enumerate(doubts) if doubt.reason == HARDLY]
    places = {CAUSES["few_judged"]: hardly[-1]} if hardly else {}
    for line in findings:
        if line.severity == "warning":
            index = places.setdefault(CAUSES.get(line.code, line.code), len(lines))
            if index == len(lines):
                lines.append(line._replace(command=COMMANDS.get(line.code, f"ndcg-ab findings {line.code}")))
            else:
                lines[index] = lines[index]._replace(more=(*lines[index].more, line))
    return sorted(lines, key=lambda each: (each.severity != "error", each.code not in OVERTURNING))


def metric_to_judge(outcome: Outcome) -> list[str]:
    """Return a list with the metric to name in the command `ndcg-ab judge-next`; [] if its default, the first, will do.

    The metric is the first with a deciding verdict that unjudged results could turn by a known factor, else the first
    on which the effect of a grade is known.
    """
    rows = [row for row in outcome.comparisons if row.family in (PRIMARY, GUARDRAILS, GATE) and can_be_reversed(row)]
    turned = [row.metric for row in rows if row.unjudged and row.unjudged.tipping_factor]
    known = [metric.name for metric in outcome.metrics if has_grade_effect(metric)] or ["ndcg@10"]
    named = [name for name in known if name in turned] or known
    return [] if outcome.metrics[0].name in named else named[:1]


BEST_FIRST = sorted(Choice, key=lambda choice: choice.traits.position)
NAMED = 2  # candidates that one decision names; more are counted


def group_decisions(decisions: Mapping[str, Choice]) -> list[tuple[Choice, list[str]]]:
    """Return each decision with the candidates that it applies to, the best decision first."""
    groups = [(choice, [name for name, found in decisions.items() if found is choice]) for choice in BEST_FIRST]
    return [(choice, names) for choice, names in groups if names]


def choices_by_candidate(outcome: Outcome) -> dict[str, Choice]:
    """Return candidate -> decision, the best decision first.

    The name of a candidate in doubt has the suffix "(in doubt)".
    """
    candidates = make_answer(outcome).candidates
    return {f"{each.name} (in doubt)" if each.doubt else each.name: each.choice for each in candidates}


def format_choice(choice: Choice, names: list[str]) -> str:
    """Return a decision with its candidates: ``do not ship dense, ance and 3 more``; ``judge more queries: dense``."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    verb = choice.words if choice.words.endswith("ship") else f"{choice.words}:"
    return f"{verb} {', '.join(names[:NAMED])}{more}"


def format_decisions(decisions: Mapping[str, Choice]) -> str:
    """Return all decisions in one line, the best first: ``ship hybrid; do not ship dense``.

    The text is ``nothing is compared`` if there is no decision.
    """
    parts = [format_choice(choice, names) for choice, names in group_decisions(decisions)]
    return "; ".join(parts) or "nothing is compared"


def format_headline(outcome: Outcome) -> str:
    """Return one line with a failed gate, the best candidate with its difference, and the other decisions.

    For example ``✗ dense regressed (gate failed); ship hybrid +0.0762 ndcg@10``, or ``nothing is compared``.
    """
    groups = group_decisions(choices_by_candidate(outcome))
    parts = [format_best(outcome, *groups[0])] if groups else ["nothing is compared"]
    for choice, names in groups[1:]:
        parts.append(format_choice(choice, names) if len(names) == 1 else f"{choice.words} {len(names)}")
    text = "; ".join(parts)
    if outcome.gate == "failed":
        return f"✗ {describe_failures(outcome)} (gate failed); {text}"
    return f"{groups[0][0].mark} {text}" if groups else text


def describe_failures(outcome: Outcome) -> str:
    """Return what happened by the first failed gate, and the number of further ones: ``dense regressed, 1 more``."""
    first, *others = outcome.failures
    systems = list(dict.fromkeys(first.systems))
    more = f" and {len(systems) - 1} more" if len(systems) > 1 else ""
    rows = [row for row in outcome.main if row.family == PRIMARY and row.candidate in systems[:1]]
    has_regressed = first.name != NO_REGRESSION or not rows or any(row.conclusion.is_harm for row in rows)
    says_what = systems and first.name in FAILURES and has_regressed  # else no query is scored
    subject = f"{systems[0]}{more} {FAILURES[first.name]}" if says_what else first.name
    return f"{subject}, {len(others)} more" if others else subject


def format_best(outcome: Outcome, choice: Choice, names: list[str]) -> str:
    """Return the best decision with its first candidate and difference: ``ship hybrid +0.0762 ndcg@10 and 1 more``.

    A decision that ends in "ship" is the beginning of the text. Any other decision is longer, and is the end of the
    text, because MLflow cuts the end of long names: ``hybrid +0.0732 ndcg@10: judge more results``.
    choice: the best decision.
    names: the candidates with this decision.
    """
    best = next(each for each in make_answer(outcome).candidates if each.choice is choice)
    rows = [row for row in best.deciding if row.family == PRIMARY and row.difference is not None]
    figure = f" {signed(rows[0].difference)} {rows[0].metric}" if rows else ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    text = f"{best.name}{figure}{more}"
    return f"{choice.words} {text}" if choice.words.endswith("ship") else f"{text}: {choice.words}"


def format_reasons(outcome: Outcome) -> str:
    """Return all decisions with their reasons in one line."""
    candidates = make_answer(outcome).candidates
    each = [f"{row.choice.mark} {format_choice(row.choice, [row.name])} ({row.reason})" for row in candidates]
    return "; ".join(each) or "nothing is compared"
