"""How far two judges of the same documents agree: the one door to scikit-learn, which the extra `judges` brings."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from ndcg_core.statistics.agreement import ordinal_alpha


class Coefficients(NamedTuple):
    """Agreement beyond chance: 1 at best, 0 as by chance; None where all grades are the same one.

    kappa: Cohen's; linear, quadratic: the same where a disagreement weighs as the distance of its grades, counted in
    grades, or its square; None also where scikit-learn is not installed. alpha: Krippendorff's, ordinal.
    """

    kappa: float | None
    linear: float | None
    quadratic: float | None
    alpha: float | None


def coefficients(counts: Mapping[tuple[float, float], int]) -> Coefficients:
    """counts: how many documents have these two grades, by the one judge and by the other."""
    levels = sorted({grade for pair in counts for grade in pair})
    if len(levels) < 2:
        return Coefficients(None, None, None, None)
    first, second = ([levels.index(grade) for grade in column] for column in zip(*counts, strict=True))
    confusion = np.zeros((len(levels), len(levels)))
    confusion[first, second] = list(counts.values())
    return Coefficients(*cohen_kappas(first, second, list(counts.values())), ordinal_alpha(confusion + confusion.T))


def cohen_kappas(
    first: list[int], second: list[int], counts: list[int]
) -> tuple[float | None, float | None, float | None]:
    """Plain, linear and quadratic; the grades as places in their order."""
    if find_spec("sklearn") is None:
        return None, None, None
    from sklearn.metrics import cohen_kappa_score

    labels = range(max(*first, *second) + 1)
    plain, linear, quadratic = (
        float(cohen_kappa_score(first, second, labels=labels, weights=weights, sample_weight=counts))
        for weights in (None, "linear", "quadratic")
    )
    return plain, linear, quadratic
