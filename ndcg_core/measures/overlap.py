"""How far two rankings agree: overlap, rank-biased overlap, and how far they are apart."""

from collections.abc import Sequence
from math import log2, sqrt

PERSISTENCE = 0.9  # p: the first ten ranks have 86 % of the weight


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of the places of the longer ranking that hold documents of both; 1 where neither has a place."""
    longest = max(len(first), len(second))
    return len({*first} & {*second}) / longest if longest else 1.0


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """RBO_ext (Webber, Moffat and Zobel 2010, "A similarity measure for indefinite rankings", equation 32), 0 to 1.

    The expected agreement of a reader who goes on from each rank with probability p, where what lies beyond the
    rankings is taken to agree as much as what was seen; also of rankings of unequal length, without ties.  Agrees with
    the library rbo 0.1.3 (`rbo_ext`).  1 where neither has a place, 0 where one has none.
    """
    shorter, longer = sorted((first, second), key=len)
    if not shorter:
        return 0.0 if longer else 1.0
    seen = [len({*first[:depth]} & {*second[:depth]}) for depth in range(1, len(longer) + 1)]
    early, shared = seen[len(shorter) - 1], seen[-1]
    total = 0.0
    for depth, common in enumerate(seen, start=1):
        expected = early * max(0, depth - len(shorter)) / len(shorter)
        total += (common + expected) / depth * persistence**depth
    tail = (shared - early) / len(longer) + early / len(shorter)
    return (1 - persistence) / persistence * total + tail * persistence ** len(longer)


def disagreement(first: Sequence[str], second: Sequence[str]) -> float:
    """How far two rankings are apart: the root of the sum of squared differences of 1 / log2(rank + 1), 0 at the least.

    The sum goes over all documents; one that a ranking does not hold counts 0 there.  Where gains are alike and
    independent, the deviation of the difference of DCG is in proportion to it.
    """
    places = [{doc: 1 / log2(rank + 1) for rank, doc in enumerate(ranking, 1)} for ranking in (first, second)]
    return sqrt(sum((places[0].get(doc, 0.0) - places[1].get(doc, 0.0)) ** 2 for doc in {*places[0], *places[1]}))
