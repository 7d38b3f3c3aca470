"""The first screen of the page: what to do with each candidate, and the cards below it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ndcg_ab.evaluation.decisions import Choice, Decision
from ndcg_ab.evaluation.outcome import Outcome
from ndcg_ab.evaluation.phrases import GUARDRAILS
from ndcg_ab.report.answer import CHOICE_MARKS, UNDECIDED_MARK, deciding, holds
from ndcg_core.statistics.comparison import Comparison

MANY = 4  # candidates; more are grouped by what to do, so that the band stays small
NAMED = 4  # candidates of a group; more are counted
ORDER = (Choice.DO_NOT_SHIP, Choice.SHIP, Choice.SHIP_IF_CHEAP, Choice.JUDGE_MORE, Choice.NOTHING_CHANGED)


class Line(NamedTuple):
    """One line of the band. reason: empty where it stands for several candidates; more: how many it does not name."""

    choice: Choice
    mark: str
    candidates: Sequence[str]
    reason: str = ""
    more: int = 0


class Row(NamedTuple):
    """One line of a card. kind: win, loss or tie."""

    comparison: Comparison
    mark: str
    kind: str
    is_guardrail: bool
    value: float | None


class Card(NamedTuple):
    """One candidate; place: from 1, in the order given."""

    place: int
    decision: Decision
    mark: str
    rows: Sequence[Row]


def band(outcome: Outcome) -> list[Line]:
    """What must not be shipped first; each candidate with its reason, or many of them in groups."""
    ordered = sorted(outcome.decisions, key=lambda each: ORDER.index(each.decision))
    if len(ordered) <= MANY:
        return [Line(each.decision, CHOICE_MARKS[each.decision], [each.candidate], each.reason) for each in ordered]
    groups = {choice: [each.candidate for each in ordered if each.decision is choice] for choice in ORDER}
    return [
        Line(choice, CHOICE_MARKS[choice], names[:NAMED], more=max(0, len(names) - NAMED))
        for choice, names in groups.items()
        if names
    ]


def cards(outcome: Outcome) -> list[Card]:
    """Every candidate with each primary metric and each guardrail."""
    means = {(row.system_id, row.metric): row.mean for row in outcome.systems}
    return [
        Card(
            place,
            decision,
            CHOICE_MARKS[decision.decision],
            [row_of(row, means[row.candidate, row.metric]) for row in deciding(outcome, decision.candidate)],
        )
        for place, decision in enumerate(outcome.decisions, 1)
    ]


def row_of(comparison: Comparison, value: float | None) -> Row:
    marks: dict[bool | None, tuple[str, str]] = {
        True: ("✓", "win"),
        False: ("✗", "loss"),
        None: (UNDECIDED_MARK, "tie"),
    }
    mark, kind = marks[holds(comparison)]
    return Row(comparison, mark, kind, comparison.family == GUARDRAILS, value)


def first_screen(outcome: Outcome) -> dict[str, Any]:
    """What the templates of the page and of the notebook call."""
    made = cards(outcome)
    return {"band": band(outcome), "cards": made, "places": {card.decision.candidate: card.place for card in made}}
