"""Test guardrails: whether a candidate is not worse than a margin, one-sided, declared before the run.

The bound is Gaffke's, which rare harm cannot pass, or Student's t if the largest loss of a query is unknown
(docs/guardrails.md). Gaffke's lower bound of the mean of bounded differences allows for rare harm that the sample
lacks: one query that loses as much as a query can is added to the sample. The n + 1 queries get random weights,
Dirichlet(1, …, 1): exponential variables over their sum (the Bayesian bootstrap). The bound is the alpha quantile of
the weighted mean, and p the chance that the mean is at or below -margin. No random numbers are drawn: the chance is
computed as an integral.

Sources: N. Gaffke, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable, Mathematical Methods of Statistics 14 (2005); E. Learned-Miller and P. S. Thomas, A new confidence interval
for the mean of a bounded random variable (2020). The bound is proved for two values, of which one is the largest loss
(Clopper and Pearson, Biometrika 26, 1934); for every distribution it is a conjecture (docs/calibration.md). R.
Lugannani and S. Rice, Saddle point approximation for the distribution of the sum of independent random variables,
Advances in Applied Probability 12 (1980) (the path of integration).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcg_core.statistics.distributions import ndtri
from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.mean_difference import Interval, Moments
from ndcg_core.statistics.estimates.power import queries_needed, queries_to_hold
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.paired import FloatArray, Paired
from ndcg_core.statistics.verdicts import verdict as verdicts
from ndcg_core.statistics.verdicts.verdict import POWER, SMALL_SAMPLE, Conclusion, Facts, Obstacle, Verdict

_STEP = 0.1  # width of the trapezoids: the error is below 1e-9 of the chance
_NODES = 16
_NEGLIGIBLE = 1e-17
_ROUNDS = 200
_MOST = 2_048  # distinct factors at most


def not_worse_p_value(
    values: FloatArray, margin: float, largest_loss: float, shares: FloatArray | None = None
) -> float:
    """Compute the one-sided p-value, in [0, 1], of Gaffke's test that the mean is -margin or less.

    The test adds one unit with the largest loss to the sample, and gives the units random weights.

    values: (n,) differences of the units, n >= 1, none below -largest_loss.
    margin: in the unit of the values.
    largest_loss: the most that one unit can lose, > 0.
    shares: (n,) weights over their mean, if the mean is weighted; None for equal weights. The added unit then has the
        largest weight.
    """
    distances, heaviest = values + margin, 1.0
    if shares is not None:
        distances, heaviest = shares * distances, float(shares.max())
    return _chance_not_positive(np.append(distances, heaviest * (margin - largest_loss)))


def bounded_p_value(values: FloatArray, largest_loss: float, shares: FloatArray | None = None) -> float:
    """Compute the two-sided p-value, in [0, 1], of Gaffke's test that the mean is 0.

    It is twice the smaller one-sided p-value, at most 1.

    values: (n,) differences of the units, n >= 1, each in [-largest_loss, largest_loss].
    shares: (n,) weights over their mean; None for equal weights.

    Rare losses that a sample does not show can outweigh its mean, so that p is small only if n times the mean is
    several times largest_loss. For example, if all n values are v > 0, p is 2 (1 + v / largest_loss)^-n.
    """
    total = float(values.sum() if shares is None else shares @ values)
    return min(1.0, 2 * not_worse_p_value(values if total > 0 else -values, 0.0, largest_loss, shares))


def lower_bound(values: FloatArray, alpha: float, largest_loss: float, shares: FloatArray | None = None) -> float:
    """Compute Gaffke's lower one-sided (1 - alpha) bound of the mean, in [-largest_loss, max(values)).

    The one-sided p-value for a margin is below alpha exactly if the bound is above -margin.
    values: (n,) differences of the units, n >= 1, none below -largest_loss. shares: (n,) weights over their mean, or
    None.
    """
    low, high = -largest_loss, float(values.max())
    if high <= low:
        return low
    target = float(ndtri(alpha))
    limit, slope = _normal(values, largest_loss, shares, target)
    trials: list[tuple[float, float]] = []
    for _ in range(_ROUNDS):
        if not low < limit < high:
            limit = (low + high) / 2
        off = float(ndtri(not_worse_p_value(values, -limit, largest_loss, shares))) - target
        low, high = (low, limit) if off > 0 else (limit, high)
        if trials and math.isfinite(off) and off != trials[-1][1]:
            slope = (limit - trials[-1][0]) / (off - trials[-1][1])
        trials = [(limit, off)] if math.isfinite(off) else []
        following = limit - off * slope if trials else (low + high) / 2
        if abs(following - limit) <= 1e-12 * largest_loss or high - low <= 1e-12 * largest_loss:
            break
        limit = following
    return limit


def queries_to_rule_out(
    margin: float, alpha: float = 0.05, largest_loss: float = 1.0, shares: FloatArray | None = None
) -> int:
    """Return the smallest number of queries without a difference that rules out a loss of the margin.

    The result is the least n with (1 - margin / largest_loss)^n < alpha: about 3 / margin at alpha .05.
    shares: (n,) weights over their mean, as an example of how unequal the weights of the queries are; None for equal
        weights.
    """
    if margin >= largest_loss:
        return 1
    relative = np.ones(1) if shares is None else shares / shares.max()
    of_one_query = float(np.log1p(relative * margin / (largest_loss - margin)).mean())
    return math.floor(-math.log(alpha) / of_one_query) + 1


def _normal(values: FloatArray, largest_loss: float, shares: FloatArray | None, target: float) -> tuple[float, float]:
    """Return the normal approximation of Gaffke's lower bound, and the standard deviation of the weighted mean.

    The mean is the mean of the values and one largest loss, with random weights.
    target: the quantile of the standard normal distribution at the level of the bound.
    """
    weights = np.ones(len(values)) if shares is None else shares
    weights = np.append(weights, weights.max())
    weights = weights / weights.sum()
    completed = np.append(values, -largest_loss)
    mean = float(weights @ completed)
    deviation = math.sqrt(float(np.square(weights) @ np.square(completed - mean)))
    return mean + target * deviation, deviation


def _chance_not_positive(factors: FloatArray) -> float:
    """Compute P(sum of factor_i E_i <= 0) for independent standard exponential variables E_i.

    factors: (n,) the factors, of any sign.

    With M(s) = prod 1 / (1 - s factor_i), the probability is the integral of M(s) / (-s), divided by 2 pi i, along a
    curve through the saddle point c < 0. The sum over equal steps of the curve's parameter u converges exponentially.
    """
    least, most = float(factors.min()), float(factors.max())
    if least >= 0:
        return float(most <= 0)
    if most <= 0:
        return 1.0
    x, counts = _count_distinct(factors / max(-least, most))
    is_lower = float(counts @ x) > 0
    if not is_lower:
        x, counts = -x[::-1], counts[::-1]
    c = _saddle_point(x, counts)
    ratios = x / (1 - c * x)
    width = 1 / math.sqrt(float(counts @ np.square(ratios)) + 1 / c**2)
    bend = 2 / 3 * (float(counts @ ratios**3) - 1 / c**3) * width**3
    total, nodes = 0.0, np.arange(_NODES)
    while True:
        u = _STEP * nodes
        s = c + width * (bend * (np.cosh(u) - 1) + 1j * np.sinh(u))
        logs = np.log1p(-np.multiply.outer(s, x)) @ counts
        if not nodes[0]:
            peak = float(logs[0].real) + math.log(-c)
        terms = np.exp(peak - logs - np.log(-s)) * (width * (np.cosh(u) - 1j * bend * np.sinh(u)))
        total += float(terms.real.sum()) - (0.5 * float(terms[0].real) if not nodes[0] else 0.0)
        if abs(terms[-1]) <= _NEGLIGIBLE * width:
            break
        nodes = nodes + _NODES
    tail = min(1.0, max(0.0, math.exp(-peak) * _STEP * total / math.pi))
    return tail if is_lower else 1 - tail


def _count_distinct(factors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct factors other than 0, rising, and how often each occurs.

    If there are more than _MOST distinct factors, they are moved to a grid of _MOST points. Each is split between its
    two neighbours, so that the mean stays and the spread grows by less than one part in a million of the range.
    """
    x, counts = np.unique(factors[factors != 0], return_counts=True)
    if len(x) <= _MOST:
        return x, counts.astype(np.float64)
    grid = np.linspace(float(x[0]), float(x[-1]), _MOST)
    steps = (x - x[0]) / (grid[1] - grid[0])
    lower = np.minimum(steps.astype(np.intp), _MOST - 2)
    upper_share = counts * (steps - lower)
    shared = np.bincount(lower, counts - upper_share, _MOST) + np.bincount(lower + 1, upper_share, _MOST)
    is_used = (shared > 0) & (grid != 0)
    return grid[is_used], shared[is_used]


def _saddle_point(x: FloatArray, counts: FloatArray) -> float:
    """Find the saddle point c < 0 of the integral in `_chance_not_positive` by Newton's method with bisection.

    The saddle point lies in (1 / x[0], 0) and satisfies counts @ (x / (1 - c x)) = 1 / c.
    x: distinct factors in rising order, with x[0] < 0. counts: how often each factor occurs, with counts @ x > 0.
    """
    low, high = 1 / float(x[0]), 0.0
    c = max(low / 2, -1 / math.sqrt(float(counts @ np.square(x))))
    for _ in range(_ROUNDS):
        ratios = x / (1 - c * x)
        slope = float(counts @ ratios) - 1 / c
        low, high = (low, c) if slope > 0 else (c, high)
        step = slope / (float(counts @ np.square(ratios)) + 1 / c**2)
        following = c - step
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - c) <= 1e-9 * abs(c):
            return following
        c = following
    return c


GAFFKE, STUDENT = "gaffke", "t"


class Bound(NamedTuple):
    """The evidence that a mean difference is above -margin.

    Attributes
    ----------
    p_value : float
        One-sided p-value of the test that the mean is -margin or less.
    low : float or None
        Lower one-sided (1 - alpha) bound of the mean, in the metric's unit; None if nothing differs and the metric's
        range is unknown.
    method : str
        How `p_value` and `low` are computed: "gaffke", or "t" if the largest loss of a query is unknown.
    is_shown_worse : bool
        True if the upper bound shows that the mean is below -margin.
    needed : int or None
        Number of units that rule out a loss of the margin if all of them are ties; None if unknown.
    """

    p_value: float
    low: float | None
    method: str
    is_shown_worse: bool
    needed: int | None


def margin_evidence(pairs: Paired, moments: Moments, margin: float, alpha: float) -> Bound:
    """Return the evidence that the mean difference of a column is above -margin, or that it is below.

    pairs: a column of at least two units. moments: the moments of its differences.
    margin: > 0, in the metric's unit. alpha: level of the one-sided bounds, in (0, 1).
    Raises ValueError if a difference is below -largest_loss, or if margin or largest_loss is not above 0.
    """
    worst = pairs.column.largest_loss
    if not 0 < margin < math.inf:
        raise ValueError(f"{pairs.column}: smallest_effect == {margin}, must be above 0 and finite")
    if not worst > 0:
        raise ValueError(f"{pairs.column}: largest_loss == {worst}, must be above 0")
    lost = pairs.differences < -worst - TIE_TOLERANCE
    if lost.any():
        index = int(np.argmax(lost))
        query_id, value = pairs.query_ids[index], pairs.differences[index]
        raise ValueError(
            f"{pairs.column}: the difference of query {query_id!r} == {value}, must not be below -largest_loss =="
            f" {-worst}; math.inf says that the largest loss is not known"
        )
    if np.isinf(worst) and not pairs.differences.any():
        return Bound(1.0, None, STUDENT, False, None)
    if np.isinf(worst):
        p_value = estimates.not_worse_p_value(moments, margin)
        return Bound(p_value, estimates.lower_bound(moments, alpha), STUDENT, p_value > 1 - alpha, None)
    values, shares = np.clip(pairs.units.values, -worst, None), pairs.units.shares
    needed = queries_to_rule_out(margin, alpha, worst, shares)
    return Bound(
        not_worse_p_value(values, margin, worst, shares),
        moments.clip(lower_bound(values, alpha, worst, shares)),
        GAFFKE,
        moments.mean < -margin and not_worse_p_value(-np.minimum(values, worst), -margin, worst, shares) < alpha,
        needed,
    )


def guardrail_verdict(facts: Facts, bound: Bound | None) -> Conclusion:
    """Conclude the verdict on a guardrail.

    It is the first of these that applies: not testable, not worse, worse, identical, loss not ruled out. No number of
    differing queries is required, because the bound allows for few of them.
    bound: the evidence of `margin_evidence`; None if the guardrail cannot be tested.
    """
    if facts.test is None or bound is None:
        return verdicts.conclude_not_testable(facts)
    if bound.p_value < facts.alpha:
        return Conclusion(Verdict.NOT_WORSE)
    has_loss, harm = facts.moments is not None and facts.moments.mean < 0, facts.test.harm
    is_shown = harm is not None and harm <= facts.alpha and facts.differing >= verdicts.least_differing(facts.alpha)
    if has_loss and is_shown:  # by the rule of `verdict.conclude` for primary metrics
        return Conclusion(Verdict.WORSE)
    lacks = bound.needed is not None and facts.units < bound.needed and not bound.is_shown_worse
    obstacle = Obstacle.FEW_TO_RULE_OUT if lacks else None
    return Conclusion(Verdict.MAY_BE_WORSE if facts.differing else Verdict.IDENTICAL, obstacle=obstacle)


def guardrail_notes(facts: Facts, bound: Bound | None) -> Iterator[str]:
    """Yield notes on a guardrail's result, as sentences; nothing if `bound` is None because it was not tested."""
    if bound is None:
        return
    conclusion = guardrail_verdict(facts, bound)
    if bound.is_shown_worse and conclusion.kind is Verdict.WORSE:
        yield f"shown to be worse than {facts.smallest_effect:g}"
    if bound.method == STUDENT:
        yield "the metric's range is not known: rare harm may go unseen"
    if conclusion.kind is Verdict.MAY_BE_WORSE and conclusion.obstacle is not None:
        count, (one, many) = facts.units, verdicts.unit_names(facts.clusters)
        few = facts.differing < min(SMALL_SAMPLE, count)
        verb = "differs" if facts.differing == 1 else "differ"
        size = f"only {facts.differing} of {count} {many} {verb}" if few else f"{count} {one if count == 1 else many}"
        yield f"{size}: {bound.needed} without a difference rule out a loss of {facts.smallest_effect:g}"


def queries_to_decide(pairs: Paired, moments: Moments, margin: float, alpha: float) -> int | None:
    """Estimate the number of units with which an undecided guardrail is decided with 80 % probability.

    The units are assumed to be like the observed ones. If the measured loss is within the margin, the guardrail must be
    shown to hold; otherwise it must be shown to be worse. Return None if no number of units suffices.
    """
    worst = pairs.column.largest_loss
    if moments.mean > -margin and np.isfinite(worst):
        values, shares = np.clip(pairs.units.values, -worst, None), pairs.units.shares
        if shares is not None:  # as the bound counts them: by how far from -margin, next to the heaviest one
            values = shares / shares.max() * (values + margin) - margin
        return queries_to_hold(values, margin, worst, alpha, POWER)
    effect = moments.mean + margin if moments.mean > -margin else -moments.mean
    sides = 2 if moments.mean > -margin else 1  # the bound is one-sided, the test for harm is not
    if moments.deviation == 0 or effect <= 0:
        return None
    least = (
        verdicts.least_differing(alpha) if sides == 1 else 2
    )  # the test for harm needs as many, however large the loss
    return max(least, queries_needed(effect, moments.deviation, sides * alpha, POWER))


def rules_out_rare(pairs: Paired, narrow: Interval, level: float) -> bool:
    """Return whether rare large losses and gains are ruled out, as a verdict of equivalence requires.

    They are ruled out if Gaffke's bounds lie within the smallest effect on both sides. The result is True, too, if
    Gaffke's bounds have nothing to decide:

    - there is no smallest effect, or `narrow` does not lie within it;
    - the largest loss of a query is unknown, or at most the smallest effect;
    - an observed difference is larger than the largest loss.

    narrow: the simultaneous interval of the mean. level: level of Gaffke's one-sided tests.
    """
    margin, worst, values = pairs.column.smallest_effect, pairs.column.largest_loss, _bounded_values(pairs)
    if margin is None or values is None or margin >= worst or not -margin < narrow.low <= narrow.high < margin:
        return True
    shares = pairs.units.shares
    return all(not_worse_p_value(side, margin, worst, shares) < level for side in (values, -values))


def difference_p_value(pairs: Paired) -> float | None:
    """Compute the two-sided p-value of the mean difference by Gaffke's test.

    Return None if the largest possible loss of a query is unknown, or if the difference of a unit (query or cluster) is
    larger than that, as a loss or as a gain.
    """
    values = _bounded_values(pairs)
    return None if values is None else bounded_p_value(values, pairs.column.largest_loss, pairs.units.shares)


def _bounded_values(pairs: Paired) -> FloatArray | None:
    """Return the values of the units, clipped to [-largest loss, largest loss].

    Return None if the largest loss is unknown, or if a value exceeds it by more than rounding.
    """
    worst, values = pairs.column.largest_loss, pairs.units.values
    if np.isinf(worst) or float(np.abs(values).max(initial=0.0)) > worst + TIE_TOLERANCE:
        return None
    return np.clip(values, -worst, worst)


def unseen_losses(pairs: Paired, alpha: float) -> int | None:
    """Return M if losses on one query in M could matter and yet be missing in the sample; else None.

    If one query in M = n / -log(alpha) has the largest loss (n / 3 at .05), a sample of n queries has no such query
    with probability alpha. Return None if the mean loss would then be at most the smallest effect, if there is no
    smallest effect, if the largest loss is unknown, or if there are fewer than two units.
    """
    effect, worst, count = pairs.column.smallest_effect, pairs.column.largest_loss, len(pairs.units.names)
    if effect is None or np.isinf(worst) or count < 2:
        return None
    loss = count / -math.log(alpha)
    return max(1, round(loss)) if worst / loss > effect else None
