"""Compute the measures of one query in plain Python, to verify the values that the SQL computes.

Nothing is shared with `sql/`. Order, gain, discount, ideal and every measure are implemented again here and in
`ndcg_core.measures.registry`, so that a mistake in one implementation shows as a difference.

`tie_bounds` computes how the order of tied scores can change a value: bounds over all orders, and the expected value,
which is the value with ties = average: every document of a tie gets the mean gain of the tie. (F. McSherry and
M. Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR 2008.)
`value_range` is the range of values that a metric can have.
"""

import dataclasses
import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import mul
from typing import NamedTuple

from ndcg_core.measures.metric import Metric, MetricError, format_number
from ndcg_core.measures.notation import ExternalMetric, find_builtin_metric, translate_name
from ndcg_core.measures.registry import DISCOUNTS, GAINS, GradedRanking, Quotient, RankedGains

CACHED_RANKS = 1_000  # top ranks whose discounts are cached
LARGEST_FLOAT32 = 3.4028234663852886e38


class Result(NamedTuple):
    """One document that a system returned for a query.

    Attributes
    ----------
    doc_id : str
        Id of the document; compared as UTF-8 bytes.
    score : float or None, default None
        Finite score, higher is better; None in a ranking that has only ranks.
    rank_given : int or None, default None
        Rank in the ranking's file, lower is better; it orders the results only if there are no scores.
    """

    doc_id: str
    score: float | None = None
    rank_given: int | None = None


class RankedDoc(NamedTuple):
    """A document of a ranking.

    Attributes
    ----------
    doc_id : str
        Id of the document.
    first_rank : int
        First rank, from 1, of the group of documents that have the same score as this one.
    """

    doc_id: str
    first_rank: int


def order_results(results: Sequence[Result], metric: Metric = Metric()) -> list[RankedDoc]:  # noqa: B008  (it is frozen)
    """Return the documents in rank order, by the metric's rules for ties, score precision and duplicates.

    Raises ValueError if a result has neither score nor rank, if only some results have a score, if a document occurs
    twice (unless duplicates = first), and with ties = given if a result has no rank.
    """
    if len({result.score is None for result in results}) > 1:
        raise ValueError("some results have a score and some have none")
    best = {result.doc_id: order_score(result, metric) for result in results}
    if len(best) < len(results):
        best = best_scores(results, metric)
    ranking: list[RankedDoc] = []
    for _, group in groupby(sorted(best, key=best.__getitem__, reverse=True), key=best.__getitem__):
        first_rank = len(ranking) + 1
        tied = list(group)
        if len(tied) > 1:
            tied.sort(key=str.encode, reverse=metric.ties != "doc_id_asc")
        ranking += [RankedDoc(doc_id, first_rank) for doc_id in tied]
    return ranking


def best_scores(results: Sequence[Result], metric: Metric) -> dict[str, float]:
    """Return the best sort key of each document, as doc_id -> `order_score`.

    Raise ValueError if a document is repeated (unless duplicates = first), or if a result has neither score nor rank.
    """
    best: dict[str, float] = {}
    for result in results:
        if result.doc_id in best and metric.duplicates == "error":
            raise ValueError(f"document {result.doc_id!r} comes twice in the results of one query")
        best[result.doc_id] = max(order_score(result, metric), best.get(result.doc_id, -math.inf))
    return best


def order_score(result: Result, metric: Metric) -> float:
    """Return the sort key of a result, highest first: the score in the metric's precision, or minus the given rank.

    The given rank is used with ties = given, and for a result without a score. Raise ValueError if it is needed and
    missing.
    """
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
    """Return the gain, >= 0, of a document with a grade.

    Grades of 0 or below gain 0, except with the gain `judged`. Raises MetricError if the metric's gain table lacks the
    grade.
    """
    return gain_by_rule(metric.effective_gain, metric, grade)


def gain_by_rule(rule: str | Sequence[tuple[float, float]], metric: Metric, grade: float) -> float:
    """Return the gain, >= 0, of a grade by a rule: a name in `ndcg_core.measures.registry.GAINS`, or a gain table.

    Raises MetricError if the gain table lacks the grade.
    """
    if grade <= 0 and not (isinstance(rule, str) and GAINS[rule].is_of_every_grade):
        return 0.0
    if isinstance(rule, str):
        return GAINS[rule].worth(grade, metric.relevant_from)
    table = dict(rule)
    if grade not in table:
        raise MetricError(f"metric {metric.name}: the gain table has no entry for grade {format_number(grade)}")
    return table[grade]


def discount(metric: Metric, rank: int) -> float:
    """Return the metric's discount factor, in (0, 1], at a rank (1, 2, 3 …)."""
    return DISCOUNTS[metric.effective_discount].factor(rank, metric.discount_number)


def discounted_sum(metric: Metric, gains: Sequence[float]) -> float:
    """Return the sum of gain * discount of gains in rank order: DCG (Järvelin and Kekäläinen 2002, section 2)."""
    if len(gains) > CACHED_RANKS:
        return math.fsum(value * discount(metric, rank) for rank, value in enumerate(gains, start=1))
    return math.fsum(map(mul, gains, _first_discounts(metric.effective_discount, metric.discount_number)))


@lru_cache
def _first_discounts(rule: str, parameter: float) -> tuple[float, ...]:
    """Return the discount factors of the top `CACHED_RANKS` ranks, cached because every query uses them.

    rule: name of the discount. parameter: base or persistence of the discount.
    """
    return tuple(DISCOUNTS[rule].factor(rank, parameter) for rank in range(1, CACHED_RANKS + 1))


def ideal_gains(
    metric: Metric, result_gains: Sequence[float], judgments: Mapping[str, float], highest_grade: float, returned: int
) -> list[float]:
    """Return the gains of the metric's ideal ranking, best first, cut at the end of the ideal.

    result_gains: gains of the system's results in rank order, down to the metric's depth. They are used only if the
    ideal consists of the system's own results.
    highest_grade: highest grade in the whole evaluation.
    returned: number of all results of the system.
    Raises MetricError if a grade is above max_grade, or if the gain table lacks a grade.
    """
    if metric.has_endless_ideal:
        pool = [highest_gain(metric, highest_grade)] * max(returned, metric.cutoff or 0)
    elif metric.has_own_ideal:
        pool = list(result_gains[: metric.ideal_depth])
    else:
        worth = {grade: gain(metric, grade) for grade in dict.fromkeys(judgments.values())}
        pool = [worth[grade] for grade in judgments.values()]
    return sorted(pool, reverse=True)[: ideal_end(metric, returned)]


def highest_gain(metric: Metric, highest_grade: float) -> float:
    """Return the gain of the highest grade: of max_grade, or of `highest_grade` if max_grade is None.

    Raises MetricError if `highest_grade` is above max_grade, or if the gain table lacks the grade.
    """
    grade = highest_grade if metric.max_grade is None else metric.max_grade
    if highest_grade > grade:
        raise MetricError(f"metric {metric.name}: grade {format_number(highest_grade)} is above max_grade")
    return gain(metric, grade)


def ideal_end(metric: Metric, returned: int) -> int | None:
    """Return the number of ranks after which the ideal ranking is cut, or None if it is not cut.

    returned: number of the system's results.
    """
    if not metric.traits.takes("ideal"):
        return None
    if metric.has_endless_ideal and metric.cutoff is None:
        return returned
    if metric.ideal_cut == "returned":
        return returned if metric.cutoff is None else min(metric.cutoff, returned)
    return metric.cutoff if metric.ideal_cut == "cutoff" else None


def gains_at_ranks(metric: Metric, ranking: Sequence[RankedDoc], judgments: Mapping[str, float]) -> list[float]:
    """Return the gain at each rank; with ties = average, the mean gain of the documents that have equal scores.

    ranking: the documents in rank order. judgments: doc_id -> grade.
    """
    gains = document_gains(metric, (document.doc_id for document in ranking), judgments)
    if metric.ties != "average":
        return gains
    groups: dict[int, list[float]] = {}
    for document, value in zip(ranking, gains, strict=True):
        groups.setdefault(document.first_rank, []).append(value)
    means = {first_rank: math.fsum(values) / len(values) for first_rank, values in groups.items()}
    return [means[document.first_rank] for document in ranking]


def document_gains(metric: Metric, doc_ids: Iterable[str], judgments: Mapping[str, float]) -> list[float]:
    """Return the gain of each document; unjudged documents gain 0."""
    worth: dict[float, float] = {}
    gains = []
    for grade in map(judgments.get, doc_ids):
        if grade is not None and grade not in worth:
            worth[grade] = gain(metric, grade)
        gains.append(0.0 if grade is None else worth[grade])
    return gains


def has_relevant_judgment(metric: Metric, judgments: Mapping[str, float]) -> bool:
    """Return whether a query has a relevant judgment, which is a judgment with a gain above 0.

    For the gain `judged`, which every judgment has, it is a judgment with a grade above 0.
    """
    rule = metric.effective_gain
    if isinstance(rule, str):
        rule = GAINS[rule].relevance or rule
    return any(gain_by_rule(rule, metric, grade) > 0 for grade in judgments.values())


def score_query(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    ranking: Sequence[RankedDoc] | None = None,
    ideal: float | None = None,
) -> float | None:
    """Compute a metric's value for one query of one system.

    Parameters
    ----------
    metric : Metric
        The metric to compute.
    results : sequence of Result
        The results that the system returned, in any order; empty for an unanswered query.
    judgments : mapping of str to float
        Grades of all judged documents of the query, by doc_id; at least one.
    highest_grade : float, optional
        Highest grade in the whole evaluation, for ``ideal=max``. Default: the query's highest grade.
    ranking : sequence of RankedDoc, optional
        The results in the metric's order, if already known (`rank_results`).
    ideal : float, optional
        The divisor of every ranking of the query, if already known (`shared_ideal`).

    Returns
    -------
    float or None
        The value, or None if the query is left out. Values lie in [0, 1], except for dcg and cg (>= 0), and for ndcg
        with averaged ties over an ideal of the system's own documents, which can exceed 1.

    Raises
    ------
    MetricError
        If the metric refuses a grade.
    ValueError
        If the results cannot be ordered: a repeated document, or a missing score or rank.

    Notes
    -----
    Agrees with pytrec_eval-terrier 0.5 (ndcg, ndcg_cut, P, recall, recip_rank, success) on the defaults.
    """
    ratio = quotient(metric, results, judgments, highest_grade, ranking, ideal)
    return None if ratio is None else ratio.value


def quotient(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    ranking: Sequence[RankedDoc] | None = None,
    ideal: float | None = None,
) -> Quotient | None:
    """Return the numerator and the divisor of a metric's value for one query of one system.

    Return None if the query is left out. If a rule decides the value instead of the sums, the divisor is None.
    Parameters and errors are described in `score_query`, which returns the quotient of the two.
    """
    if metric.negative == "error" and min(judgments.values()) < 0:
        raise MetricError(f"metric {metric.name}: grade {format_number(min(judgments.values()))} is below 0")
    if not results and metric.unanswered == "exclude":
        return None
    if not has_relevant_judgment(metric, judgments):
        return {"exclude": None, "zero": Quotient(0.0), "one": Quotient(1.0)}[metric.no_relevant]
    if ranking is None:
        ranking = rank_results(metric, results, judgments)
    if not ranking:
        return Quotient(0.0)
    highest = max(judgments.values()) if highest_grade is None else highest_grade
    return metric.traits.quotient(collect_ranked_gains(metric, ranking, judgments, highest, ideal))


def shared_ideal(metric: Metric, judgments: Mapping[str, float], highest_grade: float) -> float | None:
    """Return the sum of gain * discount of the ideal ranking that all rankings of a query share.

    Return None if the ideal depends on the system's ranking, or if the measure has no ideal.
    highest_grade: highest grade in the evaluation.
    """
    depends = metric.has_own_ideal or metric.has_endless_ideal or metric.ideal_cut == "returned"
    if metric.ideal_entry is None or depends:
        return None
    return discounted_sum(metric, ideal_gains(metric, (), judgments, highest_grade, 0))


def collect_ranked_gains(
    metric: Metric,
    ranking: Sequence[RankedDoc],
    judgments: Mapping[str, float],
    highest: float,
    ideal: float | None = None,
) -> RankedGains:
    """Return the gains, sums and counts of one ranking from which a measure computes its value for the query.

    ranking: at least one document, in the metric's order. highest: the highest grade of the evaluation. ideal: the
    ideal sum if already known (`shared_ideal`); None to compute it.
    """
    returned = len(ranking)
    if metric.ties != "average" and not metric.has_deeper_ideal:
        ranking = ranking[: metric.cutoff]
    gains = gains_at_ranks(metric, ranking, judgments)[: metric.cutoff]
    if metric.ideal_entry is None:
        ideal = 0.0
    elif ideal is None:
        doc_ids = (document.doc_id for document in ranking)
        result_gains = document_gains(metric, doc_ids, judgments) if metric.has_own_ideal else []
        ideal = discounted_sum(metric, ideal_gains(metric, result_gains, judgments, highest, returned))
    if metric.traits.factors is None:
        total = discounted_sum(metric, gains)
    else:
        total = math.fsum(map(mul, gains, factors_at_ranks(metric, ranking, gains, judgments, highest)))
    return RankedGains(gains, total, ideal, metric.cutoff, returned)


def factors_at_ranks(
    metric: Metric, ranking: Sequence[RankedDoc], gains: Sequence[float], judgments: Mapping[str, float], highest: float
) -> list[float]:
    """Return the factor of each rank: its discount, or a factor that depends on the documents above."""
    if metric.traits.factors is None:
        return [discount(metric, rank) for rank in range(1, len(gains) + 1)]
    grades = [judgments.get(document.doc_id) for document in ranking[: len(gains)]]
    judged = Counter(judgments.values())
    relevant = sum(count for grade, count in judged.items() if gain(metric, grade) > 0)
    nonrelevant = sum(count for grade, count in judged.items() if grade >= 0) - relevant
    return metric.traits.factors(GradedRanking(gains, grades, relevant, nonrelevant, highest_gain(metric, highest)))


def rank_results(metric: Metric, results: Sequence[Result], judgments: Mapping[str, float]) -> list[RankedDoc]:
    """Return the documents that the metric ranks, in rank order.

    Unjudged results are removed first if unjudged = condense. Raises ValueError if a result lacks a score or rank that
    the order needs, or if a document is repeated (unless duplicates = first).
    """
    return order_results(condense_results(metric, results, judgments), metric)


def condense_results(metric: Metric, results: Sequence[Result], judgments: Mapping[str, float]) -> Sequence[Result]:
    """Return the results that the metric ranks: all of them, or only the judged ones if unjudged = condense.

    With negative = unjudged, results with a grade below 0 are removed as well.
    """
    if metric.unjudged == "zero":
        return results
    least = 0.0 if metric.negative == "unjudged" else -math.inf
    return [result for result in results if judgments.get(result.doc_id, math.nan) >= least]


class TieBounds(NamedTuple):
    """The lowest, expected and highest value of a metric over all orders of equal scores, in the metric's unit.

    Attributes
    ----------
    worst : float
        The lowest value; worst <= expected <= best up to rounding.
    expected : float or None
        The mean value over all orders; None if the measure is no sum over ranks, such as rr and ap.
    best : float
        The highest value.
    """

    worst: float
    expected: float | None
    best: float


@lru_cache
def with_ties(metric: Metric, ties: str) -> Metric:
    """Return a copy of the metric whose rule for the order of equal scores is `ties`."""
    return dataclasses.replace(metric, ties=ties)


def tie_bounds(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    ideal: float | None = None,
) -> TieBounds:
    """Compute the lowest, expected and highest value that the order of equal scores can give one query.

    Parameters
    ----------
    metric : Metric
        A metric whose ideal does not depend on the system's own documents.
    results : sequence of Result
        The results that the system returned, in any order; empty for an unanswered query.
    judgments : mapping of str to float
        Grades of all judged documents of the query, by doc_id; at least one.
    highest_grade : float, optional
        Highest grade in the whole evaluation, for ``ideal=max``. Default: the query's highest grade.
    ideal : float, optional
        The divisor of every ranking of the query, if already known.

    Returns
    -------
    TieBounds
        The lowest, the expected and the highest value; the expected one is None if the measure is no sum over ranks.
        All are 0 for a query that the metric leaves out.

    Raises
    ------
    MetricError
        If the metric refuses a grade.
    ValueError
        If the ideal depends on the order of ties, or if moving a document with a larger gain up can lower the value.
    """
    if metric.has_own_ideal:
        raise ValueError(f"metric {metric.name}: the order of ties moves its ideal, too")
    if not metric.traits.is_monotone:
        raise ValueError(f"metric {metric.name}: the best order of ties is not that of the gains")

    gains = document_gains(metric, (result.doc_id for result in results), judgments)
    worth = {result.doc_id: value for result, value in zip(results, gains, strict=True)}
    scored = [(order_score(result, metric), result.doc_id) for result in results]

    def score_with_ordered_ties(sign: float) -> float:
        """Return the value if documents with equal scores are ordered by gain.

        sign: 1 to put the best first, -1 to put the best last.
        """

        def key(row: tuple[float, str]) -> tuple[float, float, bytes]:
            score, doc_id = row
            return score, sign * worth[doc_id], doc_id.encode()

        ranked = sorted(scored, key=key, reverse=True)
        results_in_order = [Result(doc_id, None, rank) for rank, (_, doc_id) in enumerate(ranked, start=1)]
        return score_query(with_ties(metric, "given"), results_in_order, judgments, highest_grade, ideal=ideal) or 0.0

    expected = None
    if metric.traits.is_additive:
        by_rank = [Result(result.doc_id, None, result.rank_given) for result in results]
        tied = by_rank if metric.ties == "given" else results
        expected = score_query(with_ties(metric, "average"), tied, judgments, highest_grade, ideal=ideal) or 0.0
    return TieBounds(score_with_ordered_ties(-1.0), expected, score_with_ordered_ties(1.0))


def can_order_change_value(metric: Metric, results: Iterable[Result], judgments: Mapping[str, float]) -> bool:
    """Return whether documents with equal scores have different grades, so that their order can change the value.

    An unjudged document differs from a judged one.
    """
    grades: dict[float, float | None] = {}
    for result in results:
        grade = judgments.get(result.doc_id)
        if grades.setdefault(order_score(result, metric), grade) != grade:
            return True
    return False


class Range(NamedTuple):
    """The range of values that a metric can have: from low to high, in the metric's unit; low < high."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Return high - low.

        Every difference of two values, and every mean of such differences, lies in [-width, width].
        """
        return self.high - self.low


def value_range(metric: Metric, highest_grade: float | None = None) -> Range | None:
    """Return the lowest and the highest value that a metric can have; None if the range is unknown or unbounded.

    highest_grade: highest grade of all judgments; None if judgments have not been read. It is needed for dcg and cg,
    whose range depends on it unless the gain is binary or a table.

    A metric of another tool has the range of the built-in metric with its name, if the tool uses the same unit.
    """
    if isinstance(metric, ExternalMetric):
        builtin = find_builtin_metric(metric.source_name) or find_builtin_metric(
            translate_name(metric.source_name) or ""
        )
        limits = None if builtin is None else value_range(builtin)
        return Range(-limits.high, -limits.low) if limits and metric.is_negated else limits
    if metric.has_own_ideal and metric.ties == "average":
        return None  # the mean gains of a tie can exceed the ideal of the documents that are shown
    if metric.traits.is_bounded:
        return Range(0.0, 1.0)
    if metric.cutoff is None:
        return None
    most = largest_gain(metric, highest_grade)
    if most is None:
        return None
    high = most * math.fsum(discount(metric, rank) for rank in range(1, metric.cutoff + 1))
    return Range(0.0, max(high, 1.0) if metric.no_relevant == "one" else high) if high > 0 else None


def largest_gain(metric: Metric, highest_grade: float | None) -> float | None:
    """Return the largest gain that one document can have.

    Return None if the gain grows with the grade, and either `highest_grade` is None or the gain exceeds a float.
    """
    rule = metric.effective_gain
    if not isinstance(rule, str):
        return max(worth for _, worth in rule)
    if GAINS[rule].highest is not None:
        return GAINS[rule].highest
    if highest_grade is None:
        return None
    try:
        return highest_gain(metric, highest_grade)
    except OverflowError:
        return None  # refused where it is scored
