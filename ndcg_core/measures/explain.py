"""Explain a metric's value on one query: every rank, the ideal ranking, and the effect of each choice."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_core.measures import score as scoring
from ndcg_core.measures.metric import Metric, MetricError, choice_text, format_number
from ndcg_core.measures.registry import Quotient
from ndcg_core.measures.score import Result


class ExplainedRank(NamedTuple):
    """One rank of a ranking or of an ideal ranking, with the amount that its document adds to the sum.

    Attributes
    ----------
    rank : int
        The rank, from 1.
    doc_id : str or None
        Document at this rank; None if the ideal ranking has a grade there instead of a document.
    score : float or None
        Score of the document; None if the ranking has no scores, and in an ideal ranking.
    grade : float or None
        Judged grade of the document; None if the document is unjudged.
    gain : float
        Gain of the document, >= 0.
    discount : float
        Factor of the rank, >= 0. Some measures compute it from the documents above.
    contribution : float
        gain * discount.
    cumulated : float
        Sum of the contributions from rank 1 to this rank (DCG).
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
    """The explanation of one metric's value on one query of one system.

    Attributes
    ----------
    metric : Metric
        The metric that is explained.
    ranking : tuple of ExplainedRank
        All ranks of the ranking, in the metric's order.
    ideal : tuple of ExplainedRank
        The ideal ranking, whose sum divides the sum of the ranking; empty for measures other than ndcg.
    quotient : Quotient or None
        Numerator and divisor of the value, as `ndcg_core.measures.score.quotient` returns them; None if the query is
        left out.
    because : str
        If a rule decides the value instead of the sums, the reason in words; else empty.
    """

    metric: Metric
    ranking: tuple[ExplainedRank, ...]
    ideal: tuple[ExplainedRank, ...]
    quotient: Quotient | None
    because: str

    @property
    def value(self) -> float | None:
        """Return the metric's value on the query, or None if the query is left out."""
        return None if self.quotient is None else self.quotient.value

    @property
    def last_step(self) -> str:
        """Return the division that gives the value as text, such as ``2 / 5 = `` or ``1.630930 / 2.000000 = ``.

        Return "" if nothing is divided, if a rule decides the value, or if the query is left out.
        """
        if self.because or self.quotient is None or self.quotient.below is None:
            return ""
        above, below = self.quotient.above, self.quotient.below
        if self.metric.traits.is_graded:
            return f"{above:.6f} / {below:.6f} = "
        return f"{above:g} / {format_number(below)} = "

    @property
    def ranking_within_cutoff(self) -> tuple[ExplainedRank, ...]:
        """Return the ranks from 1 to the metric's cutoff; all ranks if the metric has none."""
        return self.ranking[: self.metric.cutoff]


class Step(NamedTuple):
    """One step on the way from one metric to another, with the value of the metric after the step.

    Attributes
    ----------
    choices : str
        The choices that changed, with their new values (``gain = binary``); empty in the first step.
    metric : Metric
        The metric after the step.
    value : float or None
        The metric's value on the query; None if the query is left out.
    """

    choices: str
    metric: Metric
    value: float | None


def explain(
    metric: Metric, results: Sequence[Result], judgments: Mapping[str, float], highest_grade: float | None = None
) -> Explanation:
    """Explain a metric's value for one query of one system.

    Parameters
    ----------
    metric : Metric
        The metric to explain.
    results : sequence of Result
        The results that the system returned for the query, in any order; empty for an unanswered query.
    judgments : mapping of str to float
        Grades of all judged documents of the query, by doc_id; at least one.
    highest_grade : float, optional
        Highest grade in the whole evaluation, for a metric with ``ideal=max``. Default: the query's highest grade.

    Returns
    -------
    Explanation
        Every rank of the ranking, the ideal ranking and the last division.

    Raises
    ------
    MetricError
        If the metric refuses a grade.
    ValueError
        If the results cannot be ordered: a repeated document, or a missing score or rank.
    """
    value = scoring.quotient(metric, results, judgments, highest_grade)
    highest = max(judgments.values()) if highest_grade is None else highest_grade
    judged_results = scoring.condense_results(metric, results, judgments)
    ranking = scoring.order_results(judged_results, metric)
    gains = scoring.gains_at_ranks(metric, ranking, judgments)
    scores = {row.doc_id: row.score for row in judged_results}
    rows = [
        (document.doc_id, scores[document.doc_id], judgments.get(document.doc_id), own)
        for document, own in zip(ranking, gains, strict=True)
    ]
    factors = scoring.factors_at_ranks(metric, ranking, gains, judgments, highest)
    ideal: list[tuple[str | None, float | None, float | None, float]] = []
    if metric.traits.takes("ideal"):
        ideal = ideal_rows(metric, [document.doc_id for document in ranking], judgments, highest)
    best = add_running_sums(ideal, [scoring.discount(metric, rank) for rank in range(1, len(ideal) + 1)])
    return Explanation(
        metric, add_running_sums(rows, factors), best, value, explain_value(metric, judged_results, results, judgments)
    )


def add_running_sums(
    rows: Sequence[tuple[str | None, float | None, float | None, float]], factors: Sequence[float]
) -> tuple[ExplainedRank, ...]:
    """Return one `ExplainedRank` per row, with its contribution and the sum of the contributions so far.

    rows: (doc_id, score, grade, gain) in rank order. factors: the discount or other factor of each rank, one per row.
    """
    lines: list[ExplainedRank] = []
    for rank, ((doc_id, score, grade, worth), factor) in enumerate(zip(rows, factors, strict=True), start=1):
        total = (lines[-1].cumulated if lines else 0.0) + worth * factor
        lines.append(ExplainedRank(rank, doc_id, score, grade, worth, factor, worth * factor, total))
    return tuple(lines)


def ideal_rows(
    metric: Metric, returned: Sequence[str], judgments: Mapping[str, float], highest: float
) -> list[tuple[str | None, float | None, float | None, float]]:
    """Return the ideal ranking as rows (doc_id, None, grade, gain), best first.

    Documents that gain nothing are left out. With ``ideal=max`` each doc_id is None, since every rank has the highest
    grade. returned: ids of the system's documents in rank order. highest: highest grade in the whole evaluation.
    """
    result_gains = scoring.document_gains(metric, returned, judgments)
    worths = [
        worth for worth in scoring.ideal_gains(metric, result_gains, judgments, highest, len(result_gains)) if worth > 0
    ]
    if metric.has_endless_ideal:
        return [(None, None, metric.max_grade or highest, worth) for worth in worths]
    pool = list(judgments)
    if metric.has_own_ideal:
        pool = [doc_id for doc_id in returned[: metric.ideal_depth] if doc_id in judgments]
    pool.sort(key=lambda doc_id: (-scoring.gain(metric, judgments[doc_id]), doc_id.encode()))
    end = scoring.ideal_end(metric, len(returned))
    best = [(doc_id, scoring.gain(metric, judgments[doc_id])) for doc_id in pool[:end]]
    return [(doc_id, None, judgments[doc_id], worth) for doc_id, worth in best if worth > 0]


def explain_value(
    metric: Metric, judged_results: Sequence[Result], results: Sequence[Result], judgments: Mapping[str, float]
) -> str:
    """Return the reason if a rule decides the value, such as that nothing relevant is judged; else "".

    judged_results: the results that the metric ranks. results: all results of the system. judgments: doc_id -> grade.
    """
    if not results and metric.unanswered == "exclude":
        return "the system returned nothing, and unanswered = exclude leaves the query out"
    if not scoring.has_relevant_judgment(metric, judgments):
        return f"nothing judged has a gain (no_relevant = {metric.no_relevant})"
    if not results:
        return "the system returned nothing"
    return "" if judged_results else "nothing that the system returned is judged (unjudged = condense)"


def steps(
    first: Metric,
    last: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
) -> Iterator[Step]:
    """Change one metric into another, one choice at a time, and yield the value after each change.

    Parameters
    ----------
    first, last : Metric
        The metric to start from and the metric to end with.
    results : sequence of Result
        The results that the system returned for the query, in any order.
    judgments : mapping of str to float
        Grades of all judged documents of the query, by doc_id; at least one.
    highest_grade : float, optional
        Highest grade in the whole evaluation, for a metric with ``ideal=max``. Default: the query's highest grade.

    Yields
    ------
    Step
        First `first` unchanged, then one step for each changed choice, in the order in which a metric's name lists
        choices.

    Raises
    ------
    MetricError
        If a metric refuses a grade.

    Notes
    -----
    Choices that are valid only together, such as ``gain = binary`` and ``relevant_from``, change in one step.
    """
    yield Step("", first, scoring.score_query(first, results, judgments, highest_grade))
    current, waiting = first, dict[str, Any]()
    for field in dataclasses.fields(Metric):
        value = getattr(last, field.name)
        if value == getattr(current, field.name):
            continue
        waiting[field.name] = value
        try:
            changed_metric = dataclasses.replace(current, **waiting)
            changed_value = scoring.score_query(changed_metric, results, judgments, highest_grade)
        except MetricError:
            continue
        current = changed_metric
        changed = ", ".join(f"{name} = {'none' if new is None else choice_text(new)}" for name, new in waiting.items())
        waiting = {}
        yield Step(changed, current, changed_value)
