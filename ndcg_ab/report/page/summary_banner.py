"""The first screen of the page: what to do with each candidate, and the queries that lose most."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ndcg_ab.report.answer.answer import Answer, Candidate, Estimate
from ndcg_ab.report.answer.marks import UNDECIDED_MARK
from ndcg_ab.report.page.data import Loss, PageData, largest_losses
from ndcg_ab.report.words.decision_summary import group_decisions
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.wording import GUARDRAILS

MANY = 4  # candidates; more are grouped by what to do, so that the band stays small
MOVED = {1: "improved", -1: "regressed"}  # what colours a difference that is shown
LOSSES = 3  # queries that a card names
NAMED = 4  # candidates of a group; more are counted
SPEAKS: dict[bool | None, tuple[str, str]] = {
    True: ("✓", "win"),
    False: ("✗", "loss"),
    None: (UNDECIDED_MARK, "tie"),
}


class Line(NamedTuple):
    """One line of the band. reason: empty where it is for several candidates; more: how many it does not name."""

    choice: Choice
    candidates: Sequence[str]
    reason: str = ""
    more: int = 0


class Row(NamedTuple):
    """One line of a card. kind: of the mark, win, loss or tie; moved: improved or regressed, of a guardrail nothing."""

    estimate: Estimate
    mark: str
    kind: str
    moved: str
    is_guardrail: bool


class Card(NamedTuple):
    """One candidate.

    place: from 1, in the order of the answer. rows: the metric that decides, then the others. losses: the queries that
    lose most on the first one, each with its address; empty where there are many candidates.
    """

    place: int
    candidate: Candidate
    rows: Sequence[Row]
    losses: Sequence[tuple[Loss, str]] = ()


def summary_lines(answer: Answer) -> list[Line]:
    """Each candidate with its reason, or many of them in groups."""
    if len(answer.candidates) <= MANY:
        return [Line(each.choice, [each.name], each.reason) for each in answer.candidates]
    return [
        Line(choice, names[:NAMED], more=max(0, len(names) - NAMED))
        for choice, names in group_decisions(answer.choices)
    ]


def candidate_cards(data: PageData, answer: Answer) -> list[Card]:
    """Every candidate with each primary metric and each guardrail."""
    made = []
    for place, each in enumerate(answer.candidates, 1):
        found = largest_losses(data, answer.metric, each.name, LOSSES) if len(answer.candidates) <= MANY else []
        losses = [(loss, query_address(loss.query_id, each.name)) for loss in found]
        made.append(Card(place, each, [card_row(row) for row in each.deciding], losses))
    return made


def query_address(query_id: str, candidate: str) -> str:
    """The place of an opened query inside the page, spelled as its script does (URLSearchParams)."""
    return "#" + urlencode({"q": query_id, "c": candidate}, safe="*").replace("~", "%7E")


def card_row(estimate: Estimate) -> Row:
    mark, kind = SPEAKS[estimate.favours]
    is_guardrail = estimate.comparison.family == GUARDRAILS
    moved = "" if is_guardrail else MOVED.get(estimate.comparison.conclusion.direction, "")
    return Row(estimate, mark, kind, moved, is_guardrail)


def banner_template_functions(answer: Answer) -> dict[str, Any]:
    """What the templates of the page and of the notebook call; in_doubt: candidate -> why its decision is in doubt."""
    in_doubt = {each.name: each.doubt for each in answer.candidates if each.doubt}
    return {"answer": answer, "band": summary_lines(answer), "in_doubt": in_doubt}


def card_template_functions(data: PageData, answer: Answer) -> dict[str, Any]:
    """What the page's template calls."""
    made = candidate_cards(data, answer)
    places = {card.candidate.name: card.place for card in made}
    return {"cards": made, "places": places, "many": len(made) > MANY}
