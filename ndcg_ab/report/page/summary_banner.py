"""The first screen of the page: what to do with each candidate, and the cards below it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ndcg_ab.report.answer import (
    UNDECIDED_MARK,
    deciding_comparisons,
    ordered_decisions,
    reasons_for_doubt,
    speaks_for_candidate,
)
from ndcg_ab.report.words.decision_summary import group_decisions
from ndcg_ab.results.decisions import Choice, Decision
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GUARDRAILS
from ndcg_core.statistics.verdicts.comparison import Comparison

MANY = 4  # candidates; more are grouped by what to do, so that the band stays small
MOVED = {1: "improved", -1: "regressed"}  # what colours a difference that is shown
NAMED = 4  # candidates of a group; more are counted


class Line(NamedTuple):
    """One line of the band. reason: empty where it is for several candidates; more: how many it does not name."""

    choice: Choice
    mark: str
    candidates: Sequence[str]
    reason: str = ""
    more: int = 0


class Row(NamedTuple):
    """One line of a card. kind: of the mark, win, loss or tie; moved: improved or regressed, of a guardrail nothing."""

    comparison: Comparison
    mark: str
    kind: str
    moved: str
    is_guardrail: bool
    value: float | None


class Card(NamedTuple):
    """One candidate; place: from 1, in the order of the decisions."""

    place: int
    decision: Decision
    mark: str
    rows: Sequence[Row]


def summary_lines(outcome: Outcome) -> list[Line]:
    """What must not be shipped first; each candidate with its reason, or many of them in groups."""
    ordered = ordered_decisions(outcome)
    if len(ordered) <= MANY:
        return [Line(each.decision, each.decision.mark, [each.candidate], each.reason) for each in ordered]
    return [
        Line(choice, choice.mark, names[:NAMED], more=max(0, len(names) - NAMED))
        for choice, names in group_decisions({row.candidate: row.decision for row in ordered})
    ]


def candidate_cards(outcome: Outcome) -> list[Card]:
    """Every candidate with each primary metric and each guardrail."""
    means = {(row.system_id, row.metric): row.mean for row in outcome.systems}
    return [
        Card(
            place,
            decision,
            decision.decision.mark,
            [
                card_row(row, means[row.candidate, row.metric])
                for row in deciding_comparisons(outcome, decision.candidate)
            ],
        )
        for place, decision in enumerate(ordered_decisions(outcome), 1)
    ]


def card_row(comparison: Comparison, value: float | None) -> Row:
    marks: dict[bool | None, tuple[str, str]] = {
        True: ("✓", "win"),
        False: ("✗", "loss"),
        None: (UNDECIDED_MARK, "tie"),
    }
    mark, kind = marks[speaks_for_candidate(comparison)]
    is_guardrail = comparison.family == GUARDRAILS
    moved = "" if is_guardrail else MOVED.get(comparison.conclusion.direction, "")
    return Row(comparison, mark, kind, moved, is_guardrail, value)


def banner_template_functions(outcome: Outcome) -> dict[str, Any]:
    """What the templates of the page and of the notebook call; in_doubt: candidate -> why its decision is in doubt."""
    made = candidate_cards(outcome)
    places = {card.decision.candidate: card.place for card in made}
    return {"band": summary_lines(outcome), "cards": made, "places": places, "in_doubt": reasons_for_doubt(outcome)}
