"""Compare the costs of requests: statistics of each system, paired differences, and guardrails (docs/costs.md).

Quantiles come from the SQL (500_cost_quantile) and are computed again by the core; intervals are computed by the core
only.

The time of a failed request is a lower bound (it is censored). Low bounds of intervals use it, high
bounds use infinity, so that intervals hold however long the answer would have taken.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.comparing.sampling import Sampling, clusters_by_prefix
from ndcg_ab.config.model.costs import CostStatistic
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.results.cost_records import AT_LEAST, AT_MOST, CostDifference, Costs, CostValue
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.parity import refuse_disagreement
from ndcg_core.statistics.averages import mean, quantile, weighted_mean
from ndcg_core.statistics.estimates import cost_quantiles
from ndcg_core.statistics.estimates.cost_quantiles import Sample, Tails
from ndcg_core.statistics.estimates.mean_difference import Interval
from ndcg_core.statistics.verdicts.verdict import Verdict

MOST = 1_000_000  # needed queries that are reported at most


class RecordedCost(NamedTuple):
    """One cost of all systems, on the queries for which every system has the cost, by rising query id.

    Attributes
    ----------
    query_ids : list of str
        Ids of the n queries.
    values : (n, systems) array
        Costs, in the unit of the cost.
    failed : (n, systems) array of bool
        True if the request failed, so that the cost is only a lower bound.
    sample : Sample
        Weights and clusters of the queries.
    missing : dict of str to list of str
        System -> ids of the queries without the cost.
    """

    query_ids: list[str]
    values: NDArray[np.float64]
    failed: NDArray[np.bool_]
    sample: Sample
    missing: dict[str, list[str]]

    @property
    def values_or_infinity(self) -> NDArray[np.float64]:
        """Return the costs, with infinity for failed requests."""
        return np.where(self.failed, np.inf, self.values)


def compare_costs(engine: Engine, evaluation: Evaluation, sampling: Sampling) -> Costs | None:
    """Return the costs of every system, with the differences of every candidate from the baseline.

    A cost is compared over all queries for which every system has the cost, judged or not. None if no cost is recorded.
    """
    if not evaluation.costs:
        return None
    sampling = sampling.for_whole_log()
    systems = [system.name for system in evaluation.systems]
    baseline = evaluation.baseline_name
    candidates = [name for name in systems if name != baseline]
    quantiles = read_quantiles(engine, sampling)
    measured = dict(engine.rows("pulled_cost_source", ("system_id", "measured")))
    cold: dict[tuple[str, str], list[float]] = defaultdict(list)  # (system, cost) -> those of requests that warmed up
    for name, cost, value in engine.rows("pulled_query_cost", ("system_id", "cost", "value"), where={"is_cold": True}):
        cold[name, cost].append(value)
    tested = len(evaluation.costs.guardrails) * len(candidates)
    values, differences = [], []
    for cost in evaluation.costs.names:
        recorded = read_cost(engine, sampling, cost, systems, evaluation)
        statistics = [each for each in evaluation.costs.statistics if each.cost == cost]
        estimates = Estimates(recorded, statistics, evaluation)
        for at, system in enumerate(systems):
            times = cold[system, cost]
            about = {"cold_requests": len(times), "cold_mean": mean(times), "measured": measured.get(system, "")}
            about |= {"failed": estimates.count_failed(at), "missing": len(recorded.missing[system])}
            about |= {"asked": len(recorded.query_ids) + len(set().union(*recorded.missing.values()))}
            for which, each in enumerate(statistics):
                value = estimates.value(at, which)
                if each.share is not None:
                    refuse_other_quantile(quantiles.get((system, cost, each.statistic)), value, system, each)
                ends = estimates.interval(which, Tails(estimates.alpha / 2, estimates.alpha / 2), at)
                row = (len(recorded.query_ids), value.low, finite_or_none(ends.low), finite_or_none(ends.high))
                bound = None if value.low == value.high else AT_LEAST
                values.append(CostValue(system, cost, each.statistic, *row, **about, bound=bound))
        for candidate in candidates:
            pair = systems.index(baseline), systems.index(candidate)
            for which, each in enumerate(statistics):
                margin = evaluation.costs.guardrails.get(each.name)
                differences.append(make_cost_difference(estimates, pair, which, (baseline, candidate), margin, tested))
    return Costs(tuple(values), tuple(differences))


class Estimates:
    """The values, confidence intervals and differences of the statistics of one cost.

    All quantiles are computed from shared bootstrap draws. cost: the recorded cost of all systems. statistics: the mean
    and the quantiles to compute. evaluation: the configuration with alpha, number of draws and seed.
    """

    def __init__(self, cost: RecordedCost, statistics: Sequence[CostStatistic], evaluation: Evaluation) -> None:
        self.cost = cost
        self.statistics = statistics
        self.alpha = evaluation.statistics.alpha
        shares = [each.share for each in statistics if each.share is not None]
        self.columns = {each.statistic: shares.index(each.share) for each in statistics if each.share is not None}
        settings = evaluation.statistics
        about = {"draws": settings.resamples, "seed": settings.seed}
        self.low, self.high = cost_quantiles.draw_quantile_bounds(cost.values, shares, sample=cost.sample, **about)
        if cost.failed.any():  # the same draws again
            self.high = cost_quantiles.draw_quantile_bounds(
                cost.values_or_infinity, shares, sample=cost.sample, **about
            )[1]

    def count_failed(self, system: int) -> int:
        return int(self.cost.failed[:, system].sum())

    def value(self, system: int, which: int) -> Interval:
        """Return a statistic of one system as an interval from its lowest to its highest possible value.

        The two ends are equal if no request failed. The cost of a failed request has only a lower bound, so that the
        upper end can be infinite. system: index of the system. which: index of the statistic.
        """
        values, share = self.cost.values[:, system].tolist(), self.statistics[which].share
        weights = None if self.cost.sample.weights is None else self.cost.sample.weights.tolist()
        if share is not None:
            endless = self.cost.values_or_infinity[:, system].tolist()
            return Interval(quantile(values, share, weights), quantile(endless, share, weights))
        value = mean(values) if weights is None else weighted_mean(values, weights)
        assert value is not None
        return Interval(value, math.inf if self.count_failed(system) else value)

    def interval(self, which: int, tails: Tails, system: int, base: int | None = None) -> Interval:
        """Return the confidence interval of a statistic of one system, or of its difference from another system.

        An end is infinite if failed requests leave a mean without it. which: index of the statistic. tails: error
        probabilities. system: index of the system. base: index of the system that is subtracted; None for none.
        """
        if self.statistics[which].share is None:
            values = self.cost.values[:, system] - (0.0 if base is None else self.cost.values[:, base])
            ends = cost_quantiles.mean_interval(values, tails, self.cost.sample)
            low = -math.inf if base is not None and self.count_failed(base) else ends.low
            return Interval(low, math.inf if self.count_failed(system) else ends.high)
        column = self.columns[self.statistics[which].statistic]
        low_draws, high_draws = self.low[:, system, column], self.high[:, system, column]
        if base is not None:
            low_draws, high_draws = low_draws - self.high[:, base, column], high_draws - self.low[:, base, column]
        return cost_quantiles.interval_from_draws(low_draws, high_draws, tails)


def make_cost_difference(
    estimates: Estimates, pair: tuple[int, int], which: int, names: tuple[str, str], margin: float | None, tested: int
) -> CostDifference:
    """Make the record of the difference of two systems in one statistic of a cost, with the verdict of a guardrail.

    If a guardrail is neither shown to hold nor to be exceeded, the record has the number of queries needed.
    pair, names: indices and names of the baseline and of the candidate. which: index of the statistic. margin: margin
    of the guardrail, or None. tested: number of cost guardrails over all candidates.
    """
    statistic, alpha = estimates.statistics[which], estimates.alpha
    base, other = (estimates.value(system, which) for system in pair)
    base_is_open, other_is_open = (value.low < value.high for value in (base, other))
    is_hidden = base_is_open and other_is_open
    bound = None if is_hidden else AT_MOST if base_is_open else AT_LEAST if other_is_open else None
    tails = Tails(alpha / 2 / (tested if margin is not None else 1), alpha / 2)
    ends = estimates.interval(which, tails, pair[1], pair[0])
    row = CostDifference(
        candidate=names[1],
        baseline=names[0],
        cost=statistic.cost,
        statistic=statistic.statistic,
        queries=len(estimates.cost.query_ids),
        difference=None if is_hidden else other.low - base.low,
        low=finite_or_none(ends.low),
        high=finite_or_none(ends.high),
        margin=margin,
        bound=bound,
        failed=estimates.count_failed(pair[1]),
    )
    if margin is None:
        return row
    is_shown_to_hold = row.high is not None and row.high <= margin
    if is_shown_to_hold or (row.low is not None and row.low > margin):
        return replace(row, conclusion=Verdict.NOT_WORSE if is_shown_to_hold else Verdict.WORSE)
    return replace(row, conclusion=Verdict.MAY_BE_WORSE, queries_needed=queries_to_decide(row, statistic, tails))


def queries_to_decide(row: CostDifference, statistic: CostStatistic, tails: Tails) -> int | None:
    """Return the number of queries that are needed to decide an open cost guardrail, or None.

    If the interval has no upper bound, the result is the smallest number of queries with which it can have one.
    Otherwise the result is the number with which the interval would end at the margin: with its upper bound if the
    estimate is within the margin, else with its lower bound. The distance of a bound from the estimate is assumed to
    fall as 1 / sqrt(number). The result is None if the number is not above the present one or above a million, if the
    estimate equals the margin, if the lower bound is missing, or if failed requests leave the guardrail open.
    """
    least = 2 if statistic.share is None else cost_quantiles.least_queries(statistic.share, tails.high)
    if row.has_unknown_upper_bound and row.bound == AT_LEAST:
        return None
    if row.high is None or row.difference is None or row.margin is None:
        return least if least > row.queries else None
    room = row.margin - row.difference
    end = row.high if room > 0 else row.low
    if room == 0 or end is None:
        return None
    needed = row.queries * ((end - row.difference) / room) ** 2
    return max(least, math.ceil(needed)) if row.queries < needed <= MOST else None


def finite_or_none(end: float) -> float | None:
    return end if math.isfinite(end) else None


def read_cost(
    engine: Engine, sampling: Sampling, cost: str, systems: Sequence[str], evaluation: Evaluation
) -> RecordedCost:
    """Return one cost of all systems, with weights and clusters, on the queries for which every system has the cost.

    Queries without a weight are left out if queries are weighted; a query without a cluster is its own cluster. Raises
    InputError if no query is left.
    """
    columns = ("query_id", "system_id", "value", "is_failed")
    rows = {row[:2]: row[2:] for row in engine.rows("query_cost", columns, where={"cost": cost})}
    weights = sampling.weights
    query_ids = sorted({name for name, _ in rows if weights is None or name in weights})
    missing: dict[str, list[str]] = {system: [] for system in systems}
    lacking = engine.rows("missing_cost", ("system_id", "query_id"), where={"cost": cost}, order="query_id")
    for system, query_id in lacking:
        if weights is None or query_id in weights:
            missing[system].append(query_id)
    if rows and not query_ids:
        raise InputError(f"costs: no query that has a {cost} for every system has a weight")
    if not query_ids:
        refuse_missing_cost(evaluation, cost, missing)
    values, failed = (
        np.array([[rows[name, system][at] for system in systems] for name in query_ids]) for at in range(2)
    )
    members = None
    if sampling.clusters is not None:
        known_clusters = dict(sampling.clusters)
        if (prefix := evaluation.statistics.cluster_prefix) is not None:
            known_clusters |= clusters_by_prefix(query_ids, prefix)
        names = [known_clusters.get(name, f"\0{name}") for name in query_ids]
        members = np.unique(names, return_inverse=True)[1]
    weighed = None if weights is None else np.array([weights[name] for name in query_ids])
    return RecordedCost(query_ids, values, failed, Sample(weighed, members), missing)


def refuse_missing_cost(evaluation: Evaluation, cost: str, missing: Mapping[str, Sequence[str]]) -> NoReturn:
    """Raise InputError because no query has a cost for all systems, or because a system has the cost for no query.

    missing: the ids of queries without the cost, by system.
    """
    query_count = len(set().union(*missing.values()))
    for system in evaluation.systems:
        if len(missing[system.name]) == query_count:
            problem = f"costs: system {system.name} has no {cost} for any of {queries_text(query_count)}"
            if isinstance(system.source, HttpSource) and cost in system.source.http.costs:
                path = f"http.costs.{cost} = {system.source.http.costs[cost]!r}"
                problem += f": {path} finds nothing in the answers; correct the path (JMESPath, from the top)"
            raise InputError(problem)
    without = ", ".join(f"{name} {len(query_ids)}" for name, query_ids in missing.items())
    raise InputError(
        f"costs: no query has a {cost} for every system: of {queries_text(query_count)} it is missing for {without}"
    )


def read_quantiles(engine: Engine, sampling: Sampling) -> dict[tuple[str, str, str], Interval]:
    """Return the quantiles that the SQL computed, by (system, cost, statistic), as intervals (lower, upper).

    Lower and upper value are equal unless requests failed.
    """
    columns = ("system_id", "cost", "statistic", "value", "at_most")
    rows = engine.rows("cost_quantile", columns, weighted=sampling.weights is not None)
    return {
        (system, cost, statistic): Interval(value, math.inf if at_most is None else at_most)
        for system, cost, statistic, value, at_most in rows
    }


def refuse_other_quantile(stored: Interval | None, core: Interval, system: str, statistic: CostStatistic) -> None:
    """Raise ParityError if the SQL and the core have different values for a quantile."""
    for sql, computed in zip(stored or (math.nan, math.nan), core, strict=True):
        refuse_disagreement(f"system {system}, {statistic.name}", sql, computed)
