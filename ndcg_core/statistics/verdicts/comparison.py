"""Compare candidates with the baseline as a family: from paired differences to one verdict per comparison.

The unit is the query, or a cluster of queries. p_value comes from the sign-flip test (`hypothesis_tests.flips`,
with the sources), p_adjusted from two step-down max-T tests or Benjamini-Hochberg over the family; the interval from
Student's t (`estimates.mean_difference`); sizes, equivalence and the minimal detectable effect from simultaneous
intervals (`hypothesis_tests.procedures`). Guardrails are tested one by one for their margin, and together for harm. The
verdict's rules and words are in `verdicts.verdict`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.descriptive import describe_differences
from ndcg_core.statistics.estimates.mean_difference import Interval, Moments
from ndcg_core.statistics.estimates.power import queries_to_detect
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED, flips, guardrails
from ndcg_core.statistics.hypothesis_tests.procedures import FamilyTest, adjust_family
from ndcg_core.statistics.paired import Column, Paired, sort_by_query
from ndcg_core.statistics.verdicts import verdict as verdicts
from ndcg_core.statistics.verdicts.record import Clusters, Comparison
from ndcg_core.statistics.verdicts.verdict import POWER, SMALL_SAMPLE, Conclusion, Facts, TestResult, Verdict

__all__ = ["Clusters", "Column", "Comparison", "check_guardrails", "compare_family"]
DEFAULT_ALPHA = 0.05
FEW_CLUSTERS = 10
"""Number of clusters below which a note is given: with exponential means, the 95 % interval covers .90 for ten."""
ASSOCIATED = 0.05
"""p-value up to which the size of clusters counts as correlated with their differences."""


def compare_family(
    columns: Sequence[Column],
    *,
    alpha: float = DEFAULT_ALPHA,
    seed: int = DEFAULT_SEED,
    resamples: int = DEFAULT_RESAMPLES,
    workers: int | None = None,
    family: str = "primary",
    exploratory: bool = False,
    least_queries: int = 2,
) -> list[Comparison]:
    """Compare candidates with the baseline as one family of tests.

    Parameters
    ----------
    columns : sequence of Column
        The paired differences, one column for each comparison. Columns may have different queries; for p_adjusted a
        query absent from a column counts as a tie.
    alpha : float, default 0.05
        Level of the family, in (0, 1).
    seed : int, default 1935
        Seed of the random flips and resamples, >= 0.
    resamples : int, default 10,000
        Number of random flips and resamples, >= 1 / alpha.
    workers : int, optional
        Number of threads, >= 1. Default: the number of processors of the process.
    family : str, default "primary"
        Name of the family.
    exploratory : bool, default False
        True for a family that only suggests where to look: it has Benjamini-Hochberg on sign-flip p-values. A family
        that decides has the larger p_adjusted of two step-down max-T tests, and the wider simultaneous intervals: sign
        flips, exact if differences are symmetric about 0, and the studentised bootstrap, which assumes only a mean of
        0.
    least_queries : int, default 2
        Columns with fewer queries are not tested and do not count in the size of the family; >= 2.

    Returns
    -------
    list of Comparison
        One comparison per column, in the order of the columns. p_value depends only on a column's own query ids and
        differences, on seed and resamples.

    Raises
    ------
    ValueError
        For NaN or infinity (naming candidate, metric and query), a repeated query_id, a number of differences other
        than the number of query ids, and settings out of range.

    References
    ----------
    P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993); J. P. Romano and M. Wolf, Journal of the
    American Statistical Association 100 (2005); Y. Benjamini and Y. Hochberg, Journal of the Royal Statistical Society
    B 57 (1995).
    """
    estimates.check_probability("alpha", alpha)
    if 1 / (resamples + 1) > alpha:
        raise ValueError(f"resamples == {resamples}, must be at least {round(1 / alpha)} for alpha == {alpha}")
    if least_queries < 2:
        raise ValueError(f"least_queries == {least_queries}, must be at least 2")
    how, rows = _test_family(columns, FamilyTest(alpha, seed, resamples, workers, family, exploratory, least_queries))
    comparisons = []
    for pairs, moments, test in rows:
        facts = _make_facts(pairs, moments, test, how.size, how)
        row = _make_comparison(pairs, facts, verdicts.conclude(facts), how)
        comparisons.append(replace(row, queries_needed=_more_units(_queries_for_effect(facts, row.conclusion), facts)))
    return comparisons


def check_guardrails(
    columns: Sequence[Column],
    *,
    alpha: float = DEFAULT_ALPHA,
    family: str = "guardrails",
    seed: int = DEFAULT_SEED,
    resamples: int = DEFAULT_RESAMPLES,
    workers: int | None = None,
) -> list[Comparison]:
    """Test whether each candidate is not worse than the baseline by more than a margin.

    Parameters
    ----------
    columns : sequence of Column
        The paired differences, one column for each guardrail; `smallest_effect` is the margin.
    alpha : float, default 0.05
        Level of each one-sided test, in (0, 1).
    family : str, default "guardrails"
        Name of the family.
    seed : int, default 1935
        Seed of the two-sided test for harm, >= 0.
    resamples : int, default 10,000
        Number of random flips and resamples of the test for harm, >= 1.
    workers : int, optional
        Number of threads, >= 1. Default: the number of processors of the process.

    Returns
    -------
    list of Comparison
        One comparison per column, in the order of the columns.

    Raises
    ------
    ValueError
        For NaN or infinity, a repeated query_id, a wrong number of differences, settings out of range, a column without
        smallest_effect, and a difference below -largest_loss.

    Notes
    -----
    The test is one-sided (non-inferiority) and declared before the run: Gaffke's bound for bounded differences, which
    allows for rare harm, or Student's t if a column's largest_loss is infinite. p-values are not adjusted: every
    guardrail of a candidate must hold, and the chance that all hold by mistake is at most that of one (R. L. Berger,
    Technometrics 24, 1982).

    A guardrail that is not shown to hold may be shown to be worse than the baseline, by the two-sided test of a family
    of all columns. If no column is worse, the chance of finding harm in any of them is at most alpha / 2.
    """
    estimates.check_probability("alpha", alpha)
    for column in columns:
        if column.smallest_effect is None:
            raise ValueError(f"{column}: a guardrail needs a smallest_effect")
    how, rows = _test_family(columns, FamilyTest(alpha, seed, resamples, workers, family))
    comparisons = []
    for pairs, moments, harm in rows:
        margin = pairs.column.smallest_effect
        if moments is None or harm is None or margin is None:
            facts = _make_facts(pairs, moments, None, 1, how)
            comparisons.append(_make_comparison(pairs, facts, guardrails.guardrail_verdict(facts, None), how))
            continue
        bound = guardrails.margin_evidence(pairs, moments, margin, alpha)
        name = "Gaffke's bound" if bound.method == guardrails.GAFFKE else "t"
        procedure = f"one-sided {name}, every guardrail must hold"
        test = TestResult(bound.p_value, bound.p_value, procedure, True, harm=harm.p_adjusted)
        facts = _make_facts(pairs, moments, test, 1, how)
        row = _make_comparison(pairs, facts, guardrails.guardrail_verdict(facts, bound), how)
        is_open = row.conclusion is Verdict.MAY_BE_WORSE
        needed = guardrails.queries_to_decide(pairs, moments, margin, alpha) if is_open else None
        comparisons.append(
            replace(
                row,
                notes=(*guardrails.guardrail_notes(facts, bound), *row.notes),
                lower_bound=bound.low,
                bound_method=bound.method,
                needed=bound.needed,
                harm_p_adjusted=harm.p_adjusted,
                queries_needed=_more_units(needed, facts),
                reach=harm.reaches.wide,
            )
        )
    return comparisons


def _test_family(
    columns: Sequence[Column], how: FamilyTest
) -> tuple[FamilyTest, list[tuple[Paired, Moments | None, TestResult | None]]]:
    """Test the columns that can be tested as one family, and return a row for each column.

    Return the settings, with the number of tested columns, and the rows (column, moments, result of the test). The
    moments are None if they cannot be computed; the result is None if the column was not tested.
    """
    flips.check_settings(how.resamples, how.seed, how.workers)
    paired = sort_by_query(columns)
    moments = [pairs.moments() for pairs in paired]
    tested = {
        index: (paired[index], each)
        for index, each in enumerate(moments)
        if each is not None and len(paired[index].query_ids) >= how.least_queries
    }
    how = how._replace(size=len(tested))
    results = adjust_family([pairs for pairs, _ in tested.values()], [each for _, each in tested.values()], how)
    tests = dict(zip(tested, results, strict=True))
    return how, [
        (pairs, each, tests.get(index)) for index, (pairs, each) in enumerate(zip(paired, moments, strict=True))
    ]


def _make_comparison(pairs: Paired, facts: Facts, concluded: Conclusion, how: FamilyTest) -> Comparison:
    """Make the record of a comparison from its facts and its conclusion."""
    column, differences, n, moments, test = pairs.column, pairs.differences, facts.queries, facts.moments, facts.test
    wins, losses = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    between = estimates.interval_from_moments(moments, 1 - how.alpha) if moments else None
    clusters = _describe_clusters(pairs)
    unit_notes = (*_cluster_notes(pairs), *_weight_notes(pairs, moments)) if moments else ()
    return Comparison(
        baseline=column.baseline,
        candidate=column.candidate,
        metric=column.metric,
        queries=n,
        differing=wins + losses,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        difference=moments.mean if moments else pairs.mean,
        low=between.low if between else None,
        high=between.high if between else None,
        p_value=test.p_value if test else None,
        p_adjusted=test.p_adjusted if test else None,
        mde=facts.mde,
        conclusion=concluded.kind,
        notes=(*verdict_notes(facts, concluded.kind), *unit_notes),
        family=how.family,
        family_size=how.size,
        procedure=test.procedure if test else "not tested",
        alpha=how.alpha,
        seed=how.seed,
        resamples=how.resamples,
        exploratory=how.exploratory,
        attribute=column.attribute,
        slice=column.slice,
        baseline_mean=pairs.baseline_mean,
        smallest_effect=column.smallest_effect,
        simultaneous_low=facts.together.low if facts.together else None,
        simultaneous_high=facts.together.high if facts.together else None,
        lower_bound=None,
        effective_queries=estimates.effective_number(pairs.shares) if pairs.shares is not None else None,
        unweighted_difference=estimates.mean_difference(differences) if pairs.shares is not None else None,
        descriptive=describe_differences(pairs, moments, 1 - how.alpha) if moments else None,
        size=concluded.size,
        underpowered=concluded.underpowered,
        obstacle=concluded.obstacle,
        least_queries=how.least_queries,
        flippable=None if clusters is not None or facts.differing == wins + losses else facts.differing,
        clusters=clusters,
        bounded_p_value=guardrails.difference_p_value(pairs) if concluded.kind.is_detected else None,
        largest_loss=None if np.isinf(column.largest_loss) else column.largest_loss,
        measured_error=moments.error if moments else None,
        reach=test.reaches.wide if test else None,
        narrow_reach=test.reaches.narrow if test else None,
    )


def _make_facts(pairs: Paired, moments: Moments | None, test: TestResult | None, size: int, how: FamilyTest) -> Facts:
    """Collect the numbers from which the verdict on a column is concluded.

    moments: None if they cannot be computed. test: None if the column was not tested. size: number of tested columns.
    """
    alpha = how.alpha
    narrow = _interval(moments, test.reaches.narrow if test else None)
    return Facts(
        queries=len(pairs.query_ids),
        differing=pairs.flippable_units or int(pairs.differences.any()),
        moments=moments,
        together=_interval(moments, test.reaches.wide if test else None),
        narrow=narrow,
        test=test,
        mde=_detectable_difference(moments, test, size, alpha) if moments and moments.deviation > 0 else None,
        smallest_effect=pairs.column.smallest_effect,
        alpha=alpha,
        least_queries=how.least_queries,
        clusters=len(pairs.units.names) if pairs.is_clustered else None,
        unseen=guardrails.unseen_losses(pairs, alpha),
        largest_loss=pairs.column.largest_loss,
        is_drawn=pairs.scales is not None,
        rules_out_rare=narrow is None or guardrails.rules_out_rare(pairs, narrow, alpha / max(1, size)),
    )


def _interval(moments: Moments | None, reach: float | None) -> Interval | None:
    return None if moments is None or reach is None else estimates.interval_from_half_width(moments, reach)


def _detectable_difference(moments: Moments, test: TestResult | None, size: int, alpha: float) -> float:
    """Return the mean difference that a family's test detects with the power `POWER`.

    If `test` has no half-widths, Bonferroni's method adjusts for the family. size: number of tested columns.
    """
    reach = test.reaches.wide if test else None
    if reach is None:
        reach = estimates.half_width(moments, 1 - alpha, size if test else 1)
    return estimates.detectable_effect(moments, reach, POWER)


def _queries_for_effect(facts: Facts, conclusion: Verdict) -> int | None:
    """Return the number of queries with which the family's test detects the smallest effect.

    Return None if the conclusion is not "undecided", if there is no smallest effect, if the differences do not vary, if
    it is only open whether rare losses hide (`facts.rules_out_rare` is False), or if no number of queries suffices.
    """
    if conclusion is not Verdict.UNDECIDED or not facts.rules_out_rare:
        return None
    if facts.mde is None or facts.smallest_effect is None or facts.moments is None:
        return None
    return queries_to_detect(facts.moments, facts.mde, facts.smallest_effect, POWER)


def _more_units(needed: int | None, facts: Facts) -> int | None:
    """Return a needed number of units, or None if it is unknown or not above the present number."""
    return needed if needed is not None and needed > facts.units else None


def _describe_clusters(pairs: Paired) -> Clusters | None:
    """Describe the clusters of a column. Return None if it has no clusters or no query."""
    if not pairs.is_clustered or not pairs.query_ids:
        return None
    count = len(pairs.units.names)
    sizes = np.ones(count) if pairs.units.members is None else np.bincount(pairs.units.members)
    effective = float(count) if pairs.units.shares is None else estimates.effective_number(pairs.units.shares)
    return Clusters(count, pairs.flippable_units, int(sizes.min()), int(sizes.max()), effective)


def verdict_notes(facts: Facts, kind: Verdict) -> Iterator[str]:
    """Yield notes on a verdict, as sentences; often empty. They say, for example, that the sample is small."""
    if facts.test is None or facts.differing == 0:
        return
    least = 1 if kind.is_guardrail else verdicts.least_differing(facts.alpha)
    if facts.moments is not None and facts.moments.deviation == 0:
        yield "zero variance"
    if least <= facts.differing < SMALL_SAMPLE:
        yield "small sample"
    if facts.differing >= least and not facts.test.certain:
        if _is_at_floor(facts.test, facts.alpha):
            yield "resamples are too few for so many comparisons; raise resamples"
        elif _is_near_alpha(facts.test, facts.alpha):
            yield "within Monte-Carlo error of alpha; raise resamples"
    if not facts.rules_out_rare:
        yield f"within {facts.smallest_effect:g} by its interval, but rare losses are not ruled out"
    if facts.unseen is not None and (kind.is_detected or kind.is_harm):
        one, many = verdicts.unit_names(facts.clusters)
        other = "a gain" if kind.is_harm else "a loss"
        missed = f"{other} of {facts.largest_loss:g} on one {one} in {facts.unseen}"
        if facts.is_drawn:  # whose largest loss is another for every query
            missed = f"{other} on one drawn {one} in {facts.unseen}"
        yield f"{missed} would go unseen with {facts.units} {many}"


def _is_at_floor(test: TestResult, alpha: float) -> bool:
    """Return whether Benjamini and Hochberg's p_adjusted is above alpha because there are too few resamples.

    That is so if no flip reached the observed difference, so that p_value is the smallest value that the number of
    flips can give. Return False if `test.factor` is 1: the method left the p-value as it is, or another one was used.
    """
    floor = 1 / (test.resamples + 1)
    return test.factor > 1 and test.p_adjusted > alpha and math.isclose(test.p_value, floor, rel_tol=1e-12)


def _is_near_alpha(test: TestResult, alpha: float) -> bool:
    """Return whether p_adjusted is within three Monte-Carlo standard errors of alpha, on either side."""
    share = alpha / test.factor
    error = test.factor * math.sqrt(share * (1 - share) / test.resamples)
    return abs(test.p_adjusted - alpha) <= 3 * error


def _weight_notes(pairs: Paired, moments: Moments) -> list[str]:
    """Return notes on weights that leave few units, or that reverse the sign of the difference."""
    units, texts = pairs.units, list[str]()
    if pairs.shares is None:
        return texts
    if units.shares is not None and (count := estimates.effective_number(units.shares)) < min(
        SMALL_SAMPLE, 0.9 * moments.n
    ):
        many = "queries" if units.members is None else "clusters"
        texts.append(f"the weights leave {count:.0f} of {moments.n} {many}: the interval may be too narrow")
    if (plain := estimates.mean_difference(pairs.differences)) * moments.mean < 0:
        texts.append(f"without weights the difference is {plain:+.4f}")
    return texts


def _cluster_notes(pairs: Paired) -> list[str]:
    """Return notes on few or skewed clusters, and on clusters whose size is associated with their effect.

    Standard errors are unreliable in these cases.
    """
    units, texts = pairs.units, list[str]()
    if not pairs.is_clustered or not pairs.differences.any():
        return texts
    if len(units.names) < FEW_CLUSTERS:
        texts.append(f"only {len(units.names)} clusters: the interval may be too narrow")
    if units.shares is not None:
        correlation, p_value = estimates.correlate_sizes(units.values, units.shares)
        if p_value <= ASSOCIATED:
            more = "more" if correlation > 0 else "less"
            texts.append(f"large clusters gain {more} (correlation {correlation:+.2f}): the interval may be too narrow")
    return texts
