"""The measures of one query in plain Python: the second opinion on what the SQL computes.

Nothing is shared with `sql/`: order, gain, discount, ideal and every measure are written out again, here and in
`ndcg_core.measures.registry`, from one query's results and judgments, so that a slip in one shows as a difference.
"""

import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import mul
from typing import NamedTuple

from ndcg_core.measures.factors import Walk
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.registry import DISCOUNTS, GAINS, Counted, Quotient
from ndcg_core.measures.writing import format_number


class Result(NamedTuple):
    """One document that a system returned for a query.

    doc_id: compared as UTF-8 bytes.
    score: higher is better, finite; None in a ranking that has only ranks.
    rank_given: the ranking's own rank, lower is better; it orders only where there is no score.
    """

    doc_id: str
    score: float | None = None
    rank_given: int | None = None


KEPT = 1_000  # ranks whose discounts are kept
LARGEST_FLOAT32 = 3.4028234663852886e38


class Placed(NamedTuple):
    """One place of a ranking: the document that is there, and the first rank of its group of equal scores."""

    doc_id: str
    first_rank: int


def order_results(results: Sequence[Result], metric: Metric = Metric()) -> list[Placed]:  # noqa: B008  (it is frozen)
    """The places best first, by the metric's rules for ties, precision and duplicates.

    Raises ValueError when a result has neither score nor rank, when only some have a score, when a document
    comes twice (unless duplicates = first), and with ties = given when a result has no rank.
    """
    if len({result.score is None for result in results}) > 1:
        raise ValueError("some results have a score and some have none")
    best = {result.doc_id: order_score(result, metric) for result in results}
    if len(best) < len(results):
        best = best_scores(results, metric)
    places: list[Placed] = []
    for _, group in groupby(sorted(best, key=best.__getitem__, reverse=True), key=best.__getitem__):
        first_rank = len(places) + 1
        tied = list(group)
        if len(tied) > 1:
            tied.sort(key=str.encode, reverse=metric.ties != "doc_id_asc")
        places += [Placed(doc_id, first_rank) for doc_id in tied]
    return places


def best_scores(results: Sequence[Result], metric: Metric) -> dict[str, float]:
    """doc_id -> what orders it, the highest where it comes twice; ValueError unless duplicates = first."""
    best: dict[str, float] = {}
    for result in results:
        if result.doc_id in best and metric.duplicates == "error":
            raise ValueError(f"document {result.doc_id!r} comes twice in the results of one query")
        best[result.doc_id] = max(order_score(result, metric), best.get(result.doc_id, -math.inf))
    return best


def order_score(result: Result, metric: Metric) -> float:
    """What orders a result, higher first: its score in the metric's precision, or its rank with the sign reversed."""
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
    """What a document of this grade is worth, >= 0; a grade of 0 or below is worth 0 (but for `judged`).

    Raises MetricError when the metric's gain table lacks the grade.
    """
    return gain_by_rule(metric.effective_gain, metric, grade)


def gain_by_rule(rule: str | Sequence[tuple[float, float]], metric: Metric, grade: float) -> float:
    """The same by a given gain: a name in `ndcg_core.measures.registry.GAINS`, or a table."""
    if grade <= 0 and not (isinstance(rule, str) and GAINS[rule].is_of_every_grade):
        return 0.0
    if isinstance(rule, str):
        return GAINS[rule].worth(grade, metric.relevant_from)
    table = dict(rule)
    if grade not in table:
        raise MetricError(f"metric {metric.name}: the gain table has no entry for grade {format_number(grade)}")
    return table[grade]


def discount(metric: Metric, rank: int) -> float:
    """The factor of a rank (1, 2, 3 …), in (0, 1]."""
    return DISCOUNTS[metric.effective_discount].factor(rank, metric.discount_number)


def discounted_sum(metric: Metric, gains: Sequence[float]) -> float:
    """DCG of gains in rank order: the sum of gain * discount (Järvelin and Kekäläinen 2002, section 2)."""
    if len(gains) > KEPT:
        return math.fsum(value * discount(metric, rank) for rank, value in enumerate(gains, start=1))
    return math.fsum(map(mul, gains, _first_discounts(metric.effective_discount, metric.discount_number)))


@lru_cache
def _first_discounts(rule: str, made_with: float) -> tuple[float, ...]:
    """The factors of the first `KEPT` ranks: they are the same for every query."""
    return tuple(DISCOUNTS[rule].factor(rank, made_with) for rank in range(1, KEPT + 1))


def ideal_gains(
    metric: Metric, own: Sequence[float], judgments: Mapping[str, float], highest_grade: float, returned: int
) -> list[float]:
    """The gains of the best order that this metric divides by, best first, cut where it ends.

    own: the gains of what the system returned, in rank order, as far as the metric looks.
    highest_grade: in the whole evaluation. returned: how many results there are in all.
    Raises MetricError where a grade is above max_grade, or a gain table lacks one.
    """
    if metric.has_endless_ideal:
        pool = [highest_gain(metric, highest_grade)] * max(returned, metric.cutoff or 0)
    elif metric.has_own_ideal:
        pool = list(own[: metric.ideal_depth])
    else:
        worth = {grade: gain(metric, grade) for grade in dict.fromkeys(judgments.values())}
        pool = [worth[grade] for grade in judgments.values()]
    return sorted(pool, reverse=True)[: ideal_end(metric, returned)]


def highest_gain(metric: Metric, highest_grade: float) -> float:
    """The gain of max_grade, or of the highest grade of all; MetricError where a grade is above max_grade."""
    grade = highest_grade if metric.max_grade is None else metric.max_grade
    if highest_grade > grade:
        raise MetricError(f"metric {metric.name}: grade {format_number(highest_grade)} is above max_grade")
    return gain(metric, grade)


def ideal_end(metric: Metric, returned: int) -> int | None:
    """How many places the ideal has; None: as many as there are gains."""
    if not metric.traits.takes("ideal"):
        return None
    if metric.has_endless_ideal and metric.cutoff is None:
        return returned
    if metric.ideal_cut == "returned":
        return returned if metric.cutoff is None else min(metric.cutoff, returned)
    return metric.cutoff if metric.ideal_cut == "cutoff" else None


def placed_gains(metric: Metric, places: Sequence[Placed], judgments: Mapping[str, float]) -> list[float]:
    """The gain of every place: that of its document, or with ties = average the mean of its group."""
    own = document_gains(metric, (place.doc_id for place in places), judgments)
    if metric.ties != "average":
        return own
    groups: dict[int, list[float]] = {}
    for place, value in zip(places, own, strict=True):
        groups.setdefault(place.first_rank, []).append(value)
    means = {first_rank: math.fsum(values) / len(values) for first_rank, values in groups.items()}
    return [means[place.first_rank] for place in places]


def document_gains(metric: Metric, doc_ids: Iterable[str], judgments: Mapping[str, float]) -> list[float]:
    """What each document is worth; 0 where nobody judged it."""
    worth: dict[float, float] = {}
    found = []
    for grade in map(judgments.get, doc_ids):
        if grade is not None and grade not in worth:
            worth[grade] = gain(metric, grade)
        found.append(0.0 if grade is None else worth[grade])
    return found


def is_relevant(metric: Metric, judgments: Mapping[str, float]) -> bool:
    """Whether something among a query's judgments has a gain (for `judged`: a grade above 0)."""
    rule = metric.effective_gain
    if isinstance(rule, str):
        rule = GAINS[rule].relevance or rule
    return any(gain_by_rule(rule, metric, grade) > 0 for grade in judgments.values())


def score_query(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    places: Sequence[Placed] | None = None,
    ideal: float | None = None,
) -> float | None:
    """The metric's value for one query of one system, or None where the query is left out.

    results: what the system returned, in any order; empty for an unanswered query.
    judgments: doc_id -> grade, all judgments of the query, at least one.
    highest_grade: the highest grade in the whole evaluation (ideal = max); by default that of the query.
    places: the results in this metric's order where the caller has it already (`arrange_places`).
    ideal: what every ranking of the query is divided by where the caller has it already (`shared_ideal`).
    Values lie in [0, 1], except dcg and cg (>= 0), and ndcg with ties = average over an ideal of the system's own
    documents, which can exceed 1.  Raises MetricError for grades that the metric refuses.
    Agrees with pytrec_eval-terrier 0.5 (ndcg, ndcg_cut, P, recall, recip_rank, success) on the defaults.
    """
    found = quotient(metric, results, judgments, highest_grade, places, ideal)
    return None if found is None else found.value


def quotient(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    places: Sequence[Placed] | None = None,
    ideal: float | None = None,
) -> Quotient | None:
    """The value of `score_query` before its last division; a value that a rule decides is divided by nothing."""
    if metric.negative == "error" and min(judgments.values()) < 0:
        raise MetricError(f"metric {metric.name}: grade {format_number(min(judgments.values()))} is below 0")
    if not results and metric.unanswered == "exclude":
        return None
    if not is_relevant(metric, judgments):
        return {"exclude": None, "zero": Quotient(0.0), "one": Quotient(1.0)}[metric.no_relevant]
    if places is None:
        places = arrange_places(metric, results, judgments)
    if not places:
        return Quotient(0.0)
    highest = max(judgments.values()) if highest_grade is None else highest_grade
    return metric.traits.quotient(count_places(metric, places, judgments, highest, ideal))


def shared_ideal(metric: Metric, judgments: Mapping[str, float], highest_grade: float) -> float | None:
    """What every ranking of a query is divided by; None where that depends on the ranking, or nothing is divided."""
    depends = metric.has_own_ideal or metric.has_endless_ideal or metric.ideal_cut == "returned"
    if metric.ideal_traits is None or depends:
        return None
    return discounted_sum(metric, ideal_gains(metric, (), judgments, highest_grade, 0))


def count_places(
    metric: Metric,
    places: Sequence[Placed],
    judgments: Mapping[str, float],
    highest: float,
    ideal: float | None = None,
) -> Counted:
    """What the measure makes its value from; places: at least one, in the metric's order."""
    returned = len(places)
    if metric.ties != "average" and not metric.has_deeper_ideal:
        places = places[: metric.cutoff]
    gains = placed_gains(metric, places, judgments)[: metric.cutoff]
    if metric.ideal_traits is None:
        ideal = 0.0
    elif ideal is None:
        own = document_gains(metric, (place.doc_id for place in places), judgments) if metric.has_own_ideal else []
        ideal = discounted_sum(metric, ideal_gains(metric, own, judgments, highest, returned))
    if metric.traits.factors is None:
        total = discounted_sum(metric, gains)
    else:
        total = math.fsum(map(mul, gains, place_factors(metric, places, gains, judgments, highest)))
    return Counted(gains, total, ideal, metric.cutoff, returned)


def place_factors(
    metric: Metric, places: Sequence[Placed], gains: Sequence[float], judgments: Mapping[str, float], highest: float
) -> list[float]:
    """What the gain of every place is multiplied by: the discount of its rank, or a factor by what is above it."""
    if metric.traits.factors is None:
        return [discount(metric, rank) for rank in range(1, len(gains) + 1)]
    grades = [judgments.get(place.doc_id) for place in places[: len(gains)]]
    judged = Counter(judgments.values())
    relevant = sum(count for grade, count in judged.items() if gain(metric, grade) > 0)
    nonrelevant = sum(count for grade, count in judged.items() if grade >= 0) - relevant
    return metric.traits.factors(Walk(gains, grades, relevant, nonrelevant, highest_gain(metric, highest)))


def arrange_places(metric: Metric, results: Sequence[Result], judgments: Mapping[str, float]) -> list[Placed]:
    """The places of a ranking by a metric's rules for order, without what it takes out."""
    return order_results(condense_results(metric, results, judgments), metric)


def condense_results(metric: Metric, results: Sequence[Result], judgments: Mapping[str, float]) -> Sequence[Result]:
    """The results without those that a metric takes out before ranks are given."""
    if metric.unjudged == "zero":
        return results
    least = 0.0 if metric.negative == "unjudged" else -math.inf
    return [result for result in results if judgments.get(result.doc_id, math.nan) >= least]
