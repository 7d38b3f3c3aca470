"""Notes: what to keep in mind beside a verdict."""

import math

from ndcg_core.statistics.estimates.mean_difference import (
    Moments,
    correlate_sizes,
    effective_number,
    mean_difference,
)
from ndcg_core.statistics.paired import Paired
from ndcg_core.statistics.verdicts.verdict import SMALL_SAMPLE, Facts, Tested, Verdict, least_differing, unit_names

FEW_CLUSTERS = 10
"""Of six clusters with exponential means the 95 % interval covers .89, of ten .90, of twenty .92."""
ASSOCIATED = 0.05
"""Up to this p the size of clusters is taken to go with their differences."""


def notes(facts: Facts, kind: Verdict) -> tuple[str, ...]:
    """Return what to keep in mind beside a verdict of this kind, in words; often nothing."""
    if facts.test is None or facts.differing == 0:
        return ()
    found = []
    least = 1 if kind.is_guardrail else least_differing(facts.alpha)
    if facts.of is not None and facts.of.deviation == 0:
        found.append("zero variance")
    if least <= facts.differing < SMALL_SAMPLE:
        found.append("small sample")
    if facts.differing >= least and not facts.test.certain:
        if _at_floor(facts.test, facts.alpha):
            found.append("resamples are too few for so many comparisons; raise resamples")
        elif _near_alpha(facts.test, facts.alpha):
            found.append("within Monte-Carlo error of alpha; raise resamples")
    if not facts.rules_out_rare:
        found.append(f"within {facts.smallest_effect:g} by its interval, but rare losses are not ruled out")
    if facts.unseen is not None and (kind.is_detected or kind.is_harm):
        one, many = unit_names(facts.clusters)
        other = "a gain" if kind.is_harm else "a loss"
        missed = f"{other} of {facts.largest_loss:g} on one {one} in {facts.unseen}"
        if facts.is_drawn:  # whose largest loss is another for every query
            missed = f"{other} on one drawn {one} in {facts.unseen}"
        found.append(f"{missed} would go unseen with {facts.units} {many}")
    return tuple(found)


def _at_floor(test: Tested, alpha: float) -> bool:
    """Whether no flip reached the difference, and an adjustment that multiplies p still lifts it above alpha."""
    floor = 1 / (test.resamples + 1)
    return test.factor > 1 and test.p_adjusted > alpha and math.isclose(test.p_value, floor, rel_tol=1e-12)


def _near_alpha(test: Tested, alpha: float) -> bool:
    """Whether other flips might well put p_adjusted on the other side of alpha: three standard errors."""
    share = alpha / test.factor
    error = test.factor * math.sqrt(share * (1 - share) / test.resamples)
    return abs(test.p_adjusted - alpha) <= 3 * error


def unit_notes(pairs: Paired, of: Moments | None) -> tuple[str, ...]:
    """Notes on what is sampled: weights that leave few units or reverse the sign, clusters that mislead intervals."""
    if of is None:
        return ()
    return (*_cluster_notes(pairs), *_weight_notes(pairs, of))


def _weight_notes(pairs: Paired, of: Moments) -> list[str]:
    units, found = pairs.units, list[str]()
    if pairs.shares is None:
        return found
    if units.shares is not None and (count := effective_number(units.shares)) < min(SMALL_SAMPLE, 0.9 * of.n):
        many = "queries" if units.members is None else "clusters"
        found.append(f"the weights leave {count:.0f} of {of.n} {many}: the interval may be too narrow")
    if (plain := mean_difference(pairs.differences)) * of.mean < 0:
        found.append(f"without weights the difference is {plain:+.4f}")
    return found


def _cluster_notes(pairs: Paired) -> list[str]:
    """No standard error is right of few, skewed clusters, nor where the size of clusters goes with their effect."""
    units, found = pairs.units, list[str]()
    if not pairs.is_clustered or not pairs.differences.any():
        return found
    if len(units.names) < FEW_CLUSTERS:
        found.append(f"only {len(units.names)} clusters: the interval may be too narrow")
    if units.shares is not None:
        correlation, p_value = correlate_sizes(units.values, units.shares)
        if p_value <= ASSOCIATED:
            more = "more" if correlation > 0 else "less"
            found.append(f"large clusters gain {more} (correlation {correlation:+.2f}): the interval may be too narrow")
    return found
