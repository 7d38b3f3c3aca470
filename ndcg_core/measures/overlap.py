"""Measure how far two rankings agree: overlap, rank-biased overlap and disagreement."""

from collections.abc import Sequence
from math import log2, sqrt

PERSISTENCE = 0.9  # p of RBO: the first ten ranks have 86 % of the weight


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the overlap of two rankings in [0, 1]: common documents / length of the longer ranking.

    Return 1 if both rankings are empty.
    """
    longest = max(len(first), len(second))
    return len({*first} & {*second}) / longest if longest else 1.0


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """Return the extrapolated rank-biased overlap RBO_ext of two rankings without ties, in [0, 1].

    RBO_ext is the expected agreement for a reader who goes on from each rank with probability `persistence`. It assumes
    that the unseen ranks below the two rankings agree as much as the seen ranks. Rankings may have unequal lengths. The
    result is 1 if both rankings are empty, and 0 if only one is empty. (Webber, Moffat and Zobel 2010, "A similarity
    measure for indefinite rankings", equation 32; the library rbo 0.1.3, `rbo_ext`, agrees.)
    """
    shorter, longer = sorted((first, second), key=len)
    if not shorter:
        return 0.0 if longer else 1.0
    shared_counts = [len({*first[:depth]} & {*second[:depth]}) for depth in range(1, len(longer) + 1)]
    early, shared = shared_counts[len(shorter) - 1], shared_counts[-1]
    total = 0.0
    for depth, common in enumerate(shared_counts, start=1):
        expected = early * max(0, depth - len(shorter)) / len(shorter)
        total += (common + expected) / depth * persistence**depth
    tail = (shared - early) / len(longer) + early / len(shorter)
    return (1 - persistence) / persistence * total + tail * persistence ** len(longer)


def disagreement(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the Euclidean distance, >= 0, between the discounts that two rankings give to the documents.

    The discount of a document is 1 / log2(rank + 1), or 0 in a ranking that lacks the document. If gains are
    independent and identically distributed, the standard deviation of the difference of DCG is proportional to this
    number.
    """
    one, other = ({doc: 1 / log2(rank + 1) for rank, doc in enumerate(ranking, 1)} for ranking in (first, second))
    return sqrt(sum((one.get(doc, 0.0) - other.get(doc, 0.0)) ** 2 for doc in {*one, *other}))
