"""Whether what is unjudged can be taken for a random part of what is alike: of each system's own documents.

The likely grades assume it (docs/statistics.md, "Likely grades").  It cannot be shown, and its shape can speak against
it: where clearly less of what one system alone shows is judged than of what the others alone show, and what is judged
of it are those documents that a model expects to be the better ones, a model that has not seen their grades.
"""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.labels.grade_chances import GradeModel, Pool, fit_grade_model, why_no_model

LEAST_GAP = 0.1  # by how much less of a system's own documents must be judged
SURE = 3.0  # and by how many standard errors
BETTER = 2.0  # standard errors of how much better the judged ones are expected to be
FEWEST = 10  # own documents that are judged, and that are not


def systems_judged_by_choice(pool: Pool, model: GradeModel) -> dict[str, str]:
    """System -> in words, why its unjudged documents cannot be taken to be like its judged ones; model: the pool's."""
    shown = pool.ranks > 0
    is_alone = shown.sum(axis=1) == 1
    found = {}
    for place, name in enumerate(pool.systems):
        own, others = is_alone & shown[:, place], is_alone & ~shown[:, place]
        if is_judged_less(pool.is_judged, own, others) and judges_the_better(pool, model, own, pool.ranks[:, place]):
            share, usual = (100 * float(pool.is_judged[chosen].mean()) for chosen in (own, others))
            found[name] = (
                f"of what {name} alone shows {share:.0f} % is judged (of what others alone show {usual:.0f} %), and on"
                " queries where more is relevant: what is unjudged there may well be worse than what is judged"
            )
    return found


def is_judged_less(is_judged: NDArray[np.bool_], own: NDArray[np.bool_], others: NDArray[np.bool_]) -> bool:
    """Whether a part of a system's own documents is judged, and clearly less than of those of the others."""
    judged = int(is_judged[own].sum())
    if min(judged, int(own.sum()) - judged) < FEWEST or not others.any():
        return False
    share, usual, pooled = (float(is_judged[chosen].mean()) for chosen in (own, others, own | others))
    error = math.sqrt(pooled * (1 - pooled) * (1 / own.sum() + 1 / others.sum()))
    return usual - share >= max(LEAST_GAP, SURE * error)


def judges_the_better(pool: Pool, model: GradeModel, own: NDArray[np.bool_], ranks: NDArray[np.int64]) -> bool:
    """Whether those are judged that are expected to be better than the system's others at the same rank.

    Expected by the documents of their queries that other systems show: no grade of the system's own counts.
    """
    without = dataclasses.replace(pool, grade=np.where(own, np.nan, pool.grade))
    if why_no_model(without):
        return False
    expected = 1 - fit_grade_model(without, begin=model).chances(without)[own, pool.grades.index(min(pool.grades))]
    at_rank = np.bincount(ranks[own], expected) / np.maximum(np.bincount(ranks[own]), 1)
    beyond, judged = expected - at_rank[ranks[own]], pool.is_judged[own]
    parts = beyond[judged], beyond[~judged]
    error = math.sqrt(sum(float(part.var(ddof=1)) / len(part) for part in parts))
    return float(parts[0].mean() - parts[1].mean()) > BETTER * error
