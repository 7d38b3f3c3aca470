"""The first screen of the page: what to do with each candidate, and the cards below it."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ndcg_ab.report.answer import (
    UNDECIDED_MARK,
    deciding_comparisons,
    ordered_decisions,
    reasons_for_doubt,
    speaks_for_candidate,
)
from ndcg_ab.report.page.data import PageData, QueryLoss, largest_losses
from ndcg_ab.report.words.decision_summary import group_decisions
from ndcg_ab.results.decisions import Choice, Decision
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GUARDRAILS
from ndcg_core.statistics.verdicts.comparison import Comparison

MANY = 4  # candidates; more are grouped by what to do, so that the band stays small
MOVED = {1: "improved", -1: "regressed"}  # what colours a difference that is shown
LOSSES = 3  # queries that a card names
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
    """One candidate.

    place: from 1, in the order of the decisions. rows: the metric that decides, then the others. losses: the queries
    that lose most on the first one, each with its address; empty where there are many candidates.
    """

    place: int
    decision: Decision
    mark: str
    rows: Sequence[Row]
    losses: Sequence[tuple[QueryLoss, str]] = ()


def summary_lines(outcome: Outcome) -> list[Line]:
    """The best first; each candidate with its reason, or many of them in groups."""
    ordered = ordered_decisions(outcome)
    if len(ordered) <= MANY:
        return [Line(each.decision, each.decision.mark, [each.candidate], each.reason) for each in ordered]
    return [
        Line(choice, choice.mark, names[:NAMED], more=max(0, len(names) - NAMED))
        for choice, names in group_decisions({row.candidate: row.decision for row in ordered})
    ]


def candidate_cards(data: PageData) -> list[Card]:
    """Every candidate with each primary metric and each guardrail."""
    outcome, first = data.outcome, data.outcome.metrics[0].name
    means = {(row.system_id, row.metric): row.mean for row in outcome.systems}
    ordered = ordered_decisions(outcome)
    made = []
    for place, decision in enumerate(ordered, 1):
        name = decision.candidate
        rows = [card_row(row, means[name, row.metric]) for row in deciding_comparisons(outcome, name)]
        found = largest_losses(data, first, name, LOSSES) if len(ordered) <= MANY else []
        losses = [(each, query_address(each.query, name)) for each in found]
        made.append(Card(place, decision, decision.decision.mark, rows, losses))
    return made


def query_address(query_id: str, candidate: str) -> str:
    """The place of an opened query inside the page, spelled as its script does (URLSearchParams)."""
    return "#" + urlencode({"q": query_id, "c": candidate}, safe="*").replace("~", "%7E")


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
    return {"band": summary_lines(outcome), "in_doubt": reasons_for_doubt(outcome)}


def card_template_functions(data: PageData) -> dict[str, Any]:
    """What the page's template calls; base: the baseline on the first metric."""
    made = candidate_cards(data)
    outcome = data.outcome
    first = outcome.metrics[0]
    base = next((row for row in outcome.systems if (row.system_id, row.metric) == (outcome.baseline, first.name)), None)
    places = {card.decision.candidate: card.place for card in made}
    return {"cards": made, "places": places, "first": first, "base": base, "many": len(made) > MANY}
