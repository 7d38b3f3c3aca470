"""Every measure, gain, discount and ideal: one entry each, with what sets it apart from the others.

Nothing else in Python asks for one of them by its name: what has to be decided is decided by a trait of the entry. A
new one is an entry here with its function, its SQL (`sql/3_grade/320_gain.sql`, `360_walk_sum.sql`, `410_discount.sql`,
`480_query_ideal.sql`, `490_query_score.sql`) and its tests. Definitions with examples: docs/definitions.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeVar

from ndcg_core.measures.factors import (
    Walk,
    inferred_precision_factors,
    precision_factors,
    preference_factors,
    stopping_factors,
    within_relevant_factors,
)

CHOSEN = "chosen"
"""Of a measure's gain, discount or ideal: every metric chooses its own."""


# ---- gains: what a grade is worth


@dataclass(frozen=True, slots=True)
class Gain:
    """One way to make a gain from a grade.

    worth: (grade > 0, relevant_from) -> gain >= 0. choices: those that a metric has with this gain alone.
    is_choice: whether metrics can choose it; else it belongs to measures.
    is_of_every_grade: whether grades of 0 and below are worth something, too; else they gain 0.
    highest: the largest gain of any grade; None: it grows with the grade.
    relevance: name of the gain that decides whether a query has anything relevant; None: this one.
    """

    name: str
    worth: Callable[[float, float | None], float]
    choices: tuple[str, ...] = ()
    is_choice: bool = True
    is_of_every_grade: bool = False
    relevance: str | None = None
    highest: float | None = None


def linear(grade: float, _: float | None) -> float:
    """The grade itself. (Järvelin and Kekäläinen, ACM Transactions on Information Systems 20, 2002; trec_eval.)"""
    return float(grade)


def exponential(grade: float, _: float | None) -> float:
    """2^grade - 1. (Burges et al., Learning to Rank using Gradient Descent, ICML 2005; gdeval.)"""
    return float(2.0**grade) - 1.0


def binary(grade: float, relevant_from: float | None) -> float:
    """1 from relevant_from on, or for every grade above 0 where that is None; else 0."""
    return 1.0 if relevant_from is None or grade >= relevant_from else 0.0


def judged(_grade: float, _: float | None) -> float:
    """1 for everything that has a judgment."""
    return 1.0


# ---- discounts: the factor of a rank


@dataclass(frozen=True, slots=True)
class Discount:
    """One way to discount by rank.

    factor: (rank 1, 2, 3 …, its number) -> factor in (0, 1]. choices: those that a metric has with this discount alone;
        the first of them is its number. is_choice: whether metrics can choose it; else it belongs to measures.
    """

    name: str
    factor: Callable[[int, float], float]
    choices: tuple[str, ...] = ()
    is_choice: bool = True


def log2(rank: int, _: float) -> float:
    """1 / log2(rank + 1). (Burges et al. 2005; trec_eval.)"""
    return 1.0 / math.log2(rank + 1)


def jarvelin_kekalainen(rank: int, base: float) -> float:
    """1 / max(1, log_base(rank)): no discount up to the rank `base`. (Järvelin and Kekäläinen 2002, section 2.)"""
    return 1.0 / max(1.0, math.log2(rank) / math.log2(base))


def reciprocal(rank: int, _: float) -> float:
    """1 / rank. (Turnbull's worked examples, docs/definitions.md.)"""
    return 1.0 / rank


def geometric(rank: int, persistence: float) -> float:
    """(1 - p) * p^(rank - 1): how likely it is that a user who goes on with chance p looks there last.

    (Moffat and Zobel, Rank-biased Precision, ACM Transactions on Information Systems 27, 2008.)
    """
    return (1.0 - persistence) * persistence ** (rank - 1)


def no_discount(_rank: int, _: float) -> float:
    """1 at every rank: cumulated gain (CG)."""
    return 1.0


# ---- ideals: what nDCG divides by


class Pool(StrEnum):
    """Where the gains of an ideal come from."""

    JUDGED = "judged"
    """All documents judged for the query, the same for every system."""
    RETURNED = "returned"
    """The system's own first documents; what they are depends on the order of ties."""
    HIGHEST = "highest"
    """No documents: the highest grade at every place, so that the ideal does not end by itself."""


@dataclass(frozen=True, slots=True)
class Ideal:
    """One best order to divide by.

    pool: where its gains come from. depth: of a RETURNED pool, the choice that says how many ranks it takes.
    choices: those that a metric has with this ideal alone.
    """

    name: str
    pool: Pool
    depth: str | None = None
    choices: tuple[str, ...] = ()


# ---- measures: the value of one query


class Divisor(StrEnum):
    """What the sum over the places of a ranking is divided by. Expected values and bounds depend on it."""

    NOTHING = "nothing"
    """The sum is the value, or nothing but the first relevant place decides."""
    LENGTH = "length"
    """The cutoff, or the number of results if there is none."""
    SHOWN = "shown"
    """The number of results within the cutoff: the value is the share that is judged, which no grade changes."""
    IDEAL = "ideal"
    """The sum of the ideal."""
    OTHER = "other"
    """Anything else: the measure has neither expected values nor bounds."""


class Quotient(NamedTuple):
    """A value as the last division makes it; below is None where nothing is divided."""

    above: float
    below: float | None = None

    @property
    def value(self) -> float:
        """above / below; 0 where below is 0."""
        if self.below is None:
            return self.above
        return self.above / self.below if self.below > 0 else 0.0


class Counted(NamedTuple):
    """One query of one system as its measure sees it; something was returned, and something is relevant.

    gains: at the places within the cutoff, best first, >= 0, at least one. total: the sum of gain * discount over them.
    ideal: the same sum of the ideal, 0 for measures without one. cutoff: k >= 1, or None.
    returned: results in all, >= 1.
    """

    gains: Sequence[float]
    total: float
    ideal: float
    cutoff: int | None
    returned: int


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    quotient: its value from what is counted.
    divisor: what the quotient divides the sum over places by.
    gain, discount: name of the one that all of its metrics have, or CHOSEN.
    ideal: likewise, or None where it divides by none. A fixed ideal is not cut: all of it counts.
    is_additive: whether the value is a sum over places, up to a divisor that the order of ties does not move. Only then
        can ties be averaged, and is there an expected value over their orders.
    is_bounded: whether values lie in [0, 1]; else they have a unit of their own, that of the gains.
    factors: for a measure that counts a place by what is above it, the factor of every place, >= 0, instead of
        a discount.
    is_monotone: whether a value never falls where a document that gains more moves up.
    is_decided_by_first: whether nothing but the place of the first relevant document decides.
    counts_nonrelevant: whether a document that is judged not to be relevant counts in another way than an unjudged one.
    has_cutoff: whether its metrics can have one; else all that was returned counts.
    choices: those of its own. ignores: rules that every metric has, and that cannot change its value.
    """

    name: str
    quotient: Callable[[Counted], Quotient]
    divisor: Divisor
    is_additive: bool = field(kw_only=True)
    is_bounded: bool = field(kw_only=True)
    gain: str = "binary"
    discount: str = "none"
    ideal: str | None = None
    factors: Callable[[Walk], list[float]] | None = None
    is_monotone: bool = True
    is_decided_by_first: bool = False
    counts_nonrelevant: bool = False
    has_cutoff: bool = True
    choices: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()

    def takes(self, choice: str) -> bool:
        """Whether its metrics choose a `gain`, a `discount` or an `ideal`."""
        return {"gain": self.gain, "discount": self.discount, "ideal": self.ideal}[choice] == CHOSEN

    @property
    def is_graded(self) -> bool:
        """Whether its metrics choose what a grade is worth; else it counts documents."""
        return self.takes("gain")


def normalised(counted: Counted) -> Quotient:
    """DCG / DCG of the ideal; 0 where that is 0. (Järvelin and Kekäläinen 2002, section 2.)"""
    return Quotient(counted.total, counted.ideal)


def cumulated(counted: Counted) -> Quotient:
    """DCG, the sum of gain * discount down to the cutoff; CG without discount. (The same.)"""
    return Quotient(counted.total)


def accuracy(counted: Counted) -> Quotient:
    """1 where anything within the cutoff is relevant, else 0. (trec_eval: success.)"""
    return Quotient(1.0 if any(counted.gains) else 0.0)


def precision(counted: Counted) -> Quotient:
    """Relevant ones / k, also where fewer were returned; without a cutoff / those returned. (trec_eval: P, set_P.)"""
    return Quotient(counted.total, counted.returned if counted.cutoff is None else counted.cutoff)


def recall(counted: Counted) -> Quotient:
    """What relevant ones within the cutoff add / all relevant ones; without a division where none do.

    Each adds 1 (trec_eval: recall), or its factor.
    """
    return Quotient(counted.total, counted.ideal) if counted.total else Quotient(0.0)


def reciprocal_rank(counted: Counted) -> Quotient:
    """1 / rank of the first relevant one; 0 without one. (trec_eval: recip_rank.)"""
    first = next((rank for rank, gain in enumerate(counted.gains, start=1) if gain > 0), None)
    return Quotient(0.0) if first is None else Quotient(1.0, first)


def judged_share(counted: Counted) -> Quotient:
    """Judged ones / those returned within the cutoff: how far the other values can be trusted."""
    return Quotient(counted.total, len(counted.gains))


# ---- the entries; of choices the default first

Entry = TypeVar("Entry", Gain, Discount, Ideal, Measure)


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


GAINS = _by_name(
    [
        Gain("linear", linear),
        Gain("exponential", exponential),
        Gain("binary", binary, choices=("relevant_from",), highest=1.0),
        Gain("judged", judged, is_choice=False, is_of_every_grade=True, relevance="binary", highest=1.0),
    ]
)
DISCOUNTS = _by_name(
    [
        Discount("log2", log2),
        Discount("jarvelin_kekalainen", jarvelin_kekalainen, choices=("discount_base",)),
        Discount("reciprocal", reciprocal),
        Discount("none", no_discount),
        Discount("geometric", geometric, choices=("persistence",), is_choice=False),
    ]
)
IDEALS = _by_name(
    [
        Ideal("global", Pool.JUDGED),
        Ideal("local", Pool.RETURNED, depth="cutoff"),
        Ideal("recall", Pool.RETURNED, depth="recall_depth", choices=("recall_depth",)),
        Ideal("max", Pool.HIGHEST, choices=("max_grade",)),
    ]
)
MEASURES = _by_name(
    [
        Measure(
            "ndcg",
            normalised,
            Divisor.IDEAL,
            is_additive=True,
            is_bounded=True,
            gain=CHOSEN,
            discount=CHOSEN,
            ideal=CHOSEN,
        ),
        Measure("dcg", cumulated, Divisor.NOTHING, is_additive=True, is_bounded=False, gain=CHOSEN, discount=CHOSEN),
        Measure("cg", cumulated, Divisor.NOTHING, is_additive=True, is_bounded=False, gain=CHOSEN),
        Measure("accuracy", accuracy, Divisor.NOTHING, is_additive=False, is_bounded=True, is_decided_by_first=True),
        Measure("precision", precision, Divisor.LENGTH, is_additive=True, is_bounded=True),
        Measure("recall", recall, Divisor.IDEAL, is_additive=True, is_bounded=True, ideal="global"),
        Measure("rr", reciprocal_rank, Divisor.NOTHING, is_additive=False, is_bounded=True, is_decided_by_first=True),
        Measure("judged", judged_share, Divisor.SHOWN, is_additive=True, is_bounded=True, gain="judged"),
        Measure(
            "ap", recall, Divisor.IDEAL, is_additive=False, is_bounded=True, ideal="global", factors=precision_factors
        ),
        Measure("rbp", cumulated, Divisor.NOTHING, is_additive=True, is_bounded=True, discount="geometric"),
        Measure(
            "err",
            cumulated,
            Divisor.NOTHING,
            is_additive=False,
            is_bounded=True,
            gain="exponential",
            factors=stopping_factors,
            choices=("max_grade",),
        ),
        Measure(
            "rprec",
            recall,
            Divisor.IDEAL,
            is_additive=True,
            is_bounded=True,
            ideal="global",
            factors=within_relevant_factors,
            has_cutoff=False,
        ),
        Measure(
            "bpref",
            recall,
            Divisor.IDEAL,
            is_additive=False,
            is_bounded=True,
            ideal="global",
            factors=preference_factors,
            counts_nonrelevant=True,
            has_cutoff=False,
            ignores=("unjudged",),
        ),
        Measure(
            "infap",
            recall,
            Divisor.IDEAL,
            is_additive=False,
            is_bounded=True,
            ideal="global",
            factors=inferred_precision_factors,
            counts_nonrelevant=True,
            is_monotone=False,
            has_cutoff=False,
        ),
    ]
)
