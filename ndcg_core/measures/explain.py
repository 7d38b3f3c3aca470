"""Where a value comes from: every place of a ranking, the ideal beside it, and what a choice changes."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.registry import Quotient
from ndcg_core.measures.score import (
    Result,
    condense_results,
    discount,
    document_gains,
    gain,
    ideal_end,
    ideal_gains,
    is_relevant,
    order_results,
    place_factors,
    placed_gains,
    quotient,
    score_query,
)
from ndcg_core.measures.writing import format_number, written


class Place(NamedTuple):
    """One place of a ranking or of its ideal.

    rank: from 1. doc_id: None where the ideal names a grade, not a document. score: None without scores.
    grade: None where unjudged. discount: the factor of the place, which some measures make from what is above it.
    contribution = gain · discount; cumulated: their sum down to here (DCG).
    """

    rank: int
    doc_id: str | None
    score: float | None
    grade: float | None
    gain: float
    discount: float
    contribution: float
    cumulated: float


@dataclasses.dataclass(frozen=True)
class Explanation:
    """One metric on one query of one system.

    places: the whole ranking in the metric's order. ideal: the best order that it is divided by; empty for measures
        that do not choose one (all but ndcg).
    quotient: the last division, as `ndcg_core.measures.score.quotient` gives it; None where the query is left out.
    because: why a rule decides the value, not the sums; else empty.
    """

    metric: Metric
    places: tuple[Place, ...]
    ideal: tuple[Place, ...]
    quotient: Quotient | None
    because: str

    @property
    def value(self) -> float | None:
        """As `ndcg_core.measures.score.score_query` gives it; None where the query is left out."""
        return None if self.quotient is None else self.quotient.value

    @property
    def last_step(self) -> str:
        """The last division, as ``2 / 5 = `` of counts or ``1.630930 / 2.000000 = `` of gains; empty without one."""
        if self.because or self.quotient is None or self.quotient.below is None:
            return ""
        above, below = self.quotient.above, self.quotient.below
        if self.metric.traits.is_graded:
            return f"{above:.6f} / {below:.6f} = "
        return f"{above:g} / {format_number(below)} = "

    @property
    def counted(self) -> tuple[Place, ...]:
        """The places within the cutoff."""
        return self.places[: self.metric.cutoff]


class Step(NamedTuple):
    """One choice changed between one metric and another; value: None where the query is left out."""

    choices: str
    metric: Metric
    value: float | None


def explain(
    metric: Metric, results: Sequence[Result], judgments: Mapping[str, float], highest_grade: float | None = None
) -> Explanation:
    """The places, the ideal and the value; arguments and errors as for `ndcg_core.measures.score.score_query`."""
    found = quotient(metric, results, judgments, highest_grade)
    highest = max(judgments.values()) if highest_grade is None else highest_grade
    kept = condense_results(metric, results, judgments)
    places = order_results(kept, metric)
    gains = placed_gains(metric, places, judgments)
    scores = {row.doc_id: row.score for row in kept}
    shown = [
        (place.doc_id, scores[place.doc_id], judgments.get(place.doc_id), own)
        for place, own in zip(places, gains, strict=True)
    ]
    factors = place_factors(metric, places, gains, judgments, highest)
    ideal: list[tuple[str | None, float | None, float | None, float]] = []
    if metric.traits.takes("ideal"):
        ideal = ideal_documents(metric, [place.doc_id for place in places], judgments, highest)
    best = running_places(ideal, [discount(metric, rank) for rank in range(1, len(ideal) + 1)])
    return Explanation(
        metric, running_places(shown, factors), best, found, explain_value(metric, kept, results, judgments)
    )


def running_places(
    rows: Sequence[tuple[str | None, float | None, float | None, float]], factors: Sequence[float]
) -> tuple[Place, ...]:
    """The places of (doc_id, score, grade, gain) in rank order, with their factors and running sums."""
    found: list[Place] = []
    for rank, ((doc_id, score, grade, worth), factor) in enumerate(zip(rows, factors, strict=True), start=1):
        total = (found[-1].cumulated if found else 0.0) + worth * factor
        found.append(Place(rank, doc_id, score, grade, worth, factor, worth * factor, total))
    return tuple(found)


def ideal_documents(
    metric: Metric, returned: Sequence[str], judgments: Mapping[str, float], highest: float
) -> list[tuple[str | None, float | None, float | None, float]]:
    """(doc_id, no score, grade, gain) of the ideal, best first; places that gain nothing are left out."""
    own = document_gains(metric, returned, judgments)
    worths = [worth for worth in ideal_gains(metric, own, judgments, highest, len(own)) if worth > 0]
    if metric.has_endless_ideal:
        return [(None, None, metric.max_grade or highest, worth) for worth in worths]
    pool = list(judgments)
    if metric.has_own_ideal:
        pool = [doc_id for doc_id in returned[: metric.ideal_depth] if doc_id in judgments]
    pool.sort(key=lambda doc_id: (-gain(metric, judgments[doc_id]), doc_id.encode()))
    end = ideal_end(metric, len(returned))
    best = [(doc_id, gain(metric, judgments[doc_id])) for doc_id in pool[:end]]
    return [(doc_id, None, judgments[doc_id], worth) for doc_id, worth in best if worth > 0]


def explain_value(
    metric: Metric, kept: Sequence[Result], results: Sequence[Result], judgments: Mapping[str, float]
) -> str:
    """Why a rule decided the value, or empty."""
    if not results and metric.unanswered == "exclude":
        return "the system returned nothing, and unanswered = exclude leaves the query out"
    if not is_relevant(metric, judgments):
        return f"nothing judged has a gain (no_relevant = {metric.no_relevant})"
    if not results:
        return "the system returned nothing"
    return "" if kept else "nothing that the system returned is judged (unjudged = condense)"


def steps(
    first: Metric,
    last: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
) -> Iterator[Step]:
    """The way from one metric to another, a choice at a time, in the order in which choices are written.

    Choices that only make sense together (gain = binary and relevant_from) are changed together.  The first
    step is the first metric as it is.
    """
    yield Step("", first, score_query(first, results, judgments, highest_grade))
    current, waiting = first, dict[str, Any]()
    for field in dataclasses.fields(Metric):
        value = getattr(last, field.name)
        if value == getattr(current, field.name):
            continue
        waiting[field.name] = value
        try:
            changed_metric = dataclasses.replace(current, **waiting)
            found = score_query(changed_metric, results, judgments, highest_grade)
        except MetricError:
            continue
        current = changed_metric
        changed = ", ".join(f"{name} = {'none' if new is None else written(new)}" for name, new in waiting.items())
        waiting = {}
        yield Step(changed, current, found)
