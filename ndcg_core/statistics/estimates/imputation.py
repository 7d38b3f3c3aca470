"""One estimate from several completions of data that miss some: Rubin's rules.

Each of m draws of what is missing gives an estimate and its squared error. Their mean is the estimate, and its squared
error the mean squared error plus (1 + 1/m) times the variance between the draws; the t distribution's degrees of
freedom allow for few draws and few units.

Sources: D. B. Rubin, Multiple Imputation for Nonresponse in Surveys (1987), chapter 3. J. Barnard and D. B. Rubin,
Small-sample degrees of freedom with multiple imputation, Biometrika 86 (1999); R's `mice::pool` agrees.
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance

from ndcg_core.statistics.estimates.mean_difference import Moments, interval_from_moments
from ndcg_core.statistics.verdicts.record import Likely


def combine_draws(of: Sequence[Moments], alpha: float) -> Likely:
    """The interval of level 1 - alpha over draws and units. of: the moments of each draw, two or more."""
    if len(of) < 2:
        raise ValueError(f"{len(of)} draws, must be at least 2")
    within = fmean(each.error**2 for each in of)
    between = (1 + 1 / len(of)) * variance(each.mean for each in of)
    total = within + between
    share = between / total if total > 0 else 0.0
    mean = fmean(each.mean for each in of)
    freedom = degrees_of_freedom(fmean(each.freedom for each in of), share, len(of))
    n = of[0].n
    low, high = interval_from_moments(Moments(n, mean, math.sqrt(total * n), freedom, of[0].widest), 1 - alpha)
    return Likely(len(of), mean, low, high, share)


def degrees_of_freedom(complete: float, share: float, draws: int) -> float:
    """complete: those of the units, if nothing were missing; share: of the variance that lies between the draws."""
    observed = (complete + 1) / (complete + 3) * complete * (1 - share)
    if share == 0:
        return complete
    of_draws = (draws - 1) / share**2
    return of_draws * observed / (of_draws + observed) if share < 1 else of_draws
