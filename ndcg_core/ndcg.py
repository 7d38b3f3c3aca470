"""The measures of one query in plain Python: the second opinion on what the SQL computes.

Nothing here is shared with `sql/`: order, gain, discount, ideal and every measure are written out again,
from one query's results and judgments, so that a slip in one of the two shows as a difference.
"""

import dataclasses
import math
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ndcg_core.metric import Metric, MetricError, number


class Result(NamedTuple):
    """One document that a system returned for a query.

    doc_id: compared as UTF-8 bytes.
    score: higher is better, finite; None in a ranking that has only ranks.
    rank_given: the ranking's own rank, lower is better; it orders only where there is no score.
    """

    doc_id: str
    score: float | None = None
    rank_given: int | None = None


LARGEST_FLOAT32 = 3.4028234663852886e38


class Placed(NamedTuple):
    """One place of a ranking: the document that stands there, and the first rank of its group of equal scores."""

    doc_id: str
    first_rank: int


def order(results: Sequence[Result], metric: Metric = Metric()) -> list[Placed]:  # noqa: B008  (it is frozen)
    """The places best first, by the metric's rules for ties, precision and duplicates.

    Raises ValueError when a result has neither score nor rank, when only some have a score, when a document
    comes twice (unless duplicates = first), and with ties = given when a result has no rank.
    """
    if len({result.score is None for result in results}) > 1:
        raise ValueError("some results have a score and some have none")
    best: dict[str, float] = {}
    for result in results:
        if result.doc_id in best and metric.duplicates == "error":
            raise ValueError(f"document {result.doc_id!r} comes twice in the results of one query")
        best[result.doc_id] = max(order_score(result, metric), best.get(result.doc_id, -math.inf))
    by_id = sorted(best, key=str.encode, reverse=metric.ties != "doc_id_asc")
    ordered = sorted(by_id, key=lambda doc_id: -best[doc_id])
    places: list[Placed] = []
    for rank, doc_id in enumerate(ordered, start=1):
        tied = rank > 1 and best[doc_id] == best[ordered[rank - 2]]
        places.append(Placed(doc_id, places[-1].first_rank if tied else rank))
    return places


def order_score(result: Result, metric: Metric) -> float:
    """What orders a result, higher first: its score in the metric's precision, or its rank turned round."""
    if metric.ties == "given" or result.score is None:
        if result.rank_given is None:
            missing = "a rank, which ties = given needs" if metric.ties == "given" else "either a score or a rank"
            raise ValueError(f"document {result.doc_id!r} does not have {missing}")
        return float(-result.rank_given)
    if metric.score_precision == "float32":
        clipped = min(max(result.score, -LARGEST_FLOAT32), LARGEST_FLOAT32)
        return float(struct.unpack("f", struct.pack("f", clipped))[0])
    return result.score


def gain(metric: Metric, grade: float) -> float:
    """What a document of this grade is worth, >= 0; a grade of 0 or below is worth 0.

    Raises MetricError when the metric's gain table lacks the grade.
    """
    if metric.measure == "judged":
        return 1.0
    if grade <= 0:
        return 0.0
    if metric.gain == "binary" or metric.measure not in ("ndcg", "dcg", "cg"):
        return 1.0 if metric.relevant_from is None or grade >= metric.relevant_from else 0.0
    if metric.gain == "linear":
        return float(grade)
    if metric.gain == "exponential":
        return float(2.0**grade) - 1.0
    table = dict(metric.gain) if not isinstance(metric.gain, str) else {}
    if grade not in table:
        raise MetricError(f"metric {metric.name}: the gain table has no entry for grade {number(grade)}")
    return table[grade]


def discount(metric: Metric, rank: int) -> float:
    """The factor of a rank (1, 2, 3 …), in (0, 1]."""
    if metric.measure not in ("ndcg", "dcg") or metric.discount == "none":
        return 1.0
    if metric.discount == "log2":
        return 1.0 / math.log2(rank + 1)
    if metric.discount == "reciprocal":
        return 1.0 / rank
    return 1.0 / max(1.0, math.log2(rank) / math.log2(metric.discount_base))


def discounted_sum(metric: Metric, gains: Sequence[float]) -> float:
    """DCG of gains in rank order (Järvelin and Kekäläinen 2002, section 2)."""
    return math.fsum(value * discount(metric, rank) for rank, value in enumerate(gains, start=1))


def ideal_gains(
    metric: Metric, own: Sequence[float], judgments: Mapping[str, float], highest_grade: float, returned: int
) -> list[float]:
    """The gains of the best order that this metric divides by, best first, cut where it ends.

    own: the gains of what the system returned, in rank order, as far as the metric looks.
    returned: how many results there are in all.
    """
    if metric.ideal == "max":
        grade = highest_grade if metric.max_grade is None else metric.max_grade
        if highest_grade > grade:
            raise MetricError(f"metric {metric.name}: grade {number(highest_grade)} is above max_grade")
        pool = [gain(metric, grade)] * max(returned, metric.cutoff or 0)
    elif metric.ideal == "local":
        pool = list(own[: metric.cutoff])
    elif metric.ideal == "recall":
        pool = list(own[: metric.recall_depth])
    else:
        pool = [gain(metric, grade) for grade in judgments.values()]
    return sorted(pool, reverse=True)[: ideal_end(metric, returned)]


def ideal_end(metric: Metric, returned: int) -> int | None:
    """How many places the ideal has; None: as many as there are gains."""
    if metric.ideal == "max" and metric.cutoff is None:
        return returned
    if metric.ideal_cut == "returned":
        return returned if metric.cutoff is None else min(metric.cutoff, returned)
    return metric.cutoff if metric.ideal_cut == "cutoff" else None


def placed_gains(metric: Metric, places: Sequence[Placed], judgments: Mapping[str, float]) -> list[float]:
    """The gain of every place: that of its document, or with ties = average the mean of its group."""
    own = [document_gain(metric, place.doc_id, judgments) for place in places]
    if metric.ties != "average":
        return own
    groups: dict[int, list[float]] = {}
    for place, value in zip(places, own, strict=True):
        groups.setdefault(place.first_rank, []).append(value)
    return [math.fsum(groups[place.first_rank]) / len(groups[place.first_rank]) for place in places]


def document_gain(metric: Metric, doc_id: str, judgments: Mapping[str, float]) -> float:
    return gain(metric, judgments[doc_id]) if doc_id in judgments else 0.0


def is_relevant(metric: Metric, judgments: Mapping[str, float]) -> bool:
    """Whether something among a query's judgments has a gain (for `judged`: a grade above 0)."""
    if metric.measure == "judged":
        return any(grade > 0 for grade in judgments.values())
    return any(gain(metric, grade) > 0 for grade in judgments.values())


def score_query(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    places: Sequence[Placed] | None = None,
) -> float | None:
    """The metric's value for one query of one system, or None where the query is left out.

    results: what the system returned, in any order; empty for an unanswered query.
    judgments: doc_id -> grade, all judgments of the query, at least one.
    highest_grade: the highest grade in the whole evaluation (ideal = max); by default that of the query.
    places: the results in this metric's order where the caller has it already (`arrange`).
    Values lie in [0, 1], except dcg and cg (>= 0), and ndcg with ties = average over an ideal of the system's own
    documents, which can exceed 1.  Raises MetricError for grades that the metric refuses.
    Agrees with pytrec_eval-terrier 0.5 (ndcg, ndcg_cut, P, recall, recip_rank, success) on the defaults.
    """
    if metric.negative == "error" and min(judgments.values()) < 0:
        raise MetricError(f"metric {metric.name}: grade {number(min(judgments.values()))} is below 0")
    if not results and metric.unanswered == "exclude":
        return None
    if not is_relevant(metric, judgments):
        return {"exclude": None, "zero": 0.0, "one": 1.0}[metric.no_relevant]
    if places is None:
        places = arrange(metric, results, judgments)
    if not places:
        return 0.0
    highest = max(judgments.values()) if highest_grade is None else highest_grade
    returned = len(places)
    if metric.ties != "average" and metric.ideal != "recall":
        places = places[: metric.cutoff]
    gains = placed_gains(metric, places, judgments)
    if metric.measure == "ndcg":
        own = [document_gain(metric, place.doc_id, judgments) for place in places]
        ideal = discounted_sum(metric, ideal_gains(metric, own, judgments, highest, returned))
        return discounted_sum(metric, gains[: metric.cutoff]) / ideal if ideal > 0 else 0.0
    return unnormalised(metric, gains, judgments, returned)


def arrange(metric: Metric, results: Sequence[Result], judgments: Mapping[str, float]) -> list[Placed]:
    """The places of a ranking by a metric's rules for order, without what it takes out."""
    kept = results
    if metric.unjudged == "condense":
        kept = [result for result in results if result.doc_id in judgments]
    return order(kept, metric)


def unnormalised(metric: Metric, gains: Sequence[float], judgments: Mapping[str, float], returned: int) -> float:
    """Every measure but ndcg, from the gains in rank order; returned: how many results there are in all."""
    top = gains[: metric.cutoff]
    if metric.measure in ("dcg", "cg"):
        return discounted_sum(metric, top)
    if metric.measure == "accuracy":
        return 1.0 if any(top) else 0.0
    if metric.measure == "precision":
        return math.fsum(top) / (returned if metric.cutoff is None else metric.cutoff)
    if metric.measure == "recall":
        return math.fsum(top) / math.fsum(gain(metric, grade) for grade in judgments.values())
    if metric.measure == "rr":
        return next((1.0 / rank for rank, value in enumerate(top, start=1) if value > 0), 0.0)
    return math.fsum(top) / len(top)


class TieBounds(NamedTuple):
    """A value over all orders of equal scores; expected is None for rr and accuracy, which are no sums over places."""

    worst: float
    expected: float | None
    best: float


def tie_bounds(
    metric: Metric, results: Sequence[Result], judgments: Mapping[str, float], highest_grade: float | None = None
) -> TieBounds:
    """The lowest, the expected and the highest value that the order of equal scores can give one query.

    Arguments and errors as for `score_query`; a query that is left out has 0 everywhere.  Raises ValueError for an
    ideal of the system's own documents: there the order of ties moves the ideal as well.
    """
    if metric.measure == "ndcg" and metric.ideal in ("local", "recall"):
        raise ValueError(f"metric {metric.name}: the order of ties moves its ideal, too")

    def ordered(sign: float) -> float:
        """The value when ties are ordered by gain: best first (sign 1) or last (-1)."""

        def key(result: Result) -> tuple[float, float, bytes]:
            worth = document_gain(metric, result.doc_id, judgments)
            return order_score(result, metric), sign * worth, result.doc_id.encode()

        ranked = sorted(results, key=key, reverse=True)
        placed = [Result(result.doc_id, None, rank) for rank, result in enumerate(ranked, start=1)]
        by_rank = dataclasses.replace(metric, ties="given")
        return score_query(by_rank, placed, judgments, highest_grade) or 0.0

    expected = None
    if metric.measure not in ("rr", "accuracy"):
        averaged = dataclasses.replace(metric, ties="average")
        by_rank = [Result(result.doc_id, None, result.rank_given) for result in results]
        tied = by_rank if metric.ties == "given" else results
        expected = score_query(averaged, tied, judgments, highest_grade) or 0.0
    return TieBounds(ordered(-1.0), expected, ordered(1.0))
