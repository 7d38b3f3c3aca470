"""Register every measure, gain, discount and ideal as one entry with its function and its traits.

Other Python code decides by an entry's traits, never by its name. A new entry needs a function here, SQL
(`sql/3_grade/320_gain.sql`, `360_walk_sum.sql`, `410_discount.sql`, `480_query_ideal.sql`, `490_query_score.sql`) and
tests. Definitions with examples: docs/definitions.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeVar

# ---- factors: the weight of a rank by the documents above it


class GradedRanking(NamedTuple):
    """The gains and grades of a ranking, for measures that weight a rank by the documents above it.

    Attributes
    ----------
    gains : sequence of float
        Gain at each rank within the cutoff, from rank 1.
    grades : sequence of float or None
        Grade at each of these ranks; None if the document is unjudged.
    relevant : int
        Number of documents judged for the query that have a gain > 0.
    nonrelevant : int
        Number of documents judged for the query that have a grade >= 0 and no gain.
    highest : float
        Gain of the highest grade of the evaluation, > 0.
    """

    gains: Sequence[float]
    grades: Sequence[float | None]
    relevant: int
    nonrelevant: int
    highest: float


def precision_at_ranks(ranking: GradedRanking) -> list[float]:
    """Return the precision at every rank, from rank 1 (trec_eval: map, map_cut)."""
    precisions, relevant = [], 0
    for rank, gain in enumerate(ranking.gains, start=1):
        relevant += gain > 0
        precisions.append(relevant / rank)
    return precisions


def stopping_factors(ranking: GradedRanking) -> list[float]:
    """Return the factor of err at every rank: P(no document above satisfied the user) / (rank * 2^highest grade).

    A document satisfies the user with the probability gain / 2^highest grade, so that factor * gain is the term of the
    sum. (Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009; gdeval.)
    """
    factors, looking = [], 1.0
    for rank, gain in enumerate(ranking.gains, start=1):
        factors.append(looking / rank / (ranking.highest + 1.0))
        looking *= 1.0 - gain / (ranking.highest + 1.0)
    return factors


def within_relevant_factors(ranking: GradedRanking) -> list[float]:
    """Return the factor of R-precision at every rank: 1 if the rank is at most R, else 0 (trec_eval: Rprec).

    R is the number of relevant documents of the query.
    """
    return [1.0 if index < ranking.relevant else 0.0 for index in range(len(ranking.gains))]


def preference_factors(ranking: GradedRanking) -> list[float]:
    """Return the factor of bpref at every rank: 1 - (judged non-relevant documents above, at most R) / min(R, N).

    R and N are the numbers of relevant and of judged non-relevant documents. A document with a grade below 0 counts as
    unjudged. The factor is 1 if no judged non-relevant document is above. (Buckley and Voorhees, Retrieval Evaluation
    with Incomplete Information, SIGIR 2004; trec_eval: bpref.)
    """
    factors, above, relevant = [], 0, ranking.relevant
    for gain, grade in zip(ranking.gains, ranking.grades, strict=True):
        share = min(above, relevant) / min(ranking.nonrelevant, relevant) if above and relevant else 0.0
        factors.append(1.0 - share)
        above += gain == 0 and grade is not None and grade >= 0
    return factors


INFERRED = 0.00001  # trec_eval's INFAP_EPSILON


def inferred_precision_factors(ranking: GradedRanking) -> list[float]:
    """Return the expected precision at every rank if only a part of the pool is judged (trec_eval: infAP).

    The document at the rank itself counts as relevant. A grade below 0 marks a document of the pool that was not drawn
    for judging; a document without a grade is not relevant. (Yilmaz and Aslam, Estimating Average Precision with
    Incomplete and Imperfect Judgments, CIKM 2006.)
    """
    factors, relevant, nonrelevant, undrawn = [], 0, 0, 0
    for rank, (gain, grade) in enumerate(zip(ranking.gains, ranking.grades, strict=True), start=1):
        pooled = relevant + nonrelevant + undrawn
        likely = (relevant + INFERRED) / (relevant + nonrelevant + 2 * INFERRED)
        factors.append((1.0 + pooled * likely) / rank)
        if gain > 0:
            relevant += 1
        elif grade is not None:
            nonrelevant += grade >= 0
            undrawn += grade < 0
    return factors


CHOSEN = "chosen"
"""Entry for a measure's gain, discount or ideal if each metric of the measure chooses its own."""


# ---- gains: what a grade is worth


@dataclass(frozen=True, slots=True)
class Gain:
    """A gain function, from grades to gains, with the properties that other code bases its decisions on.

    Attributes
    ----------
    name : str
        Name of the gain in a metric's definition.
    worth : callable
        Function of a grade > 0 and of `relevant_from` (a grade, or None) that returns the gain, >= 0.
    choices : tuple of str
        Names of the choices that only metrics with this gain have.
    is_choice : bool
        True if the user can choose the gain for a metric; False if a measure implies it.
    is_of_every_grade : bool
        True if grades of 0 and below can have a gain, too; False if they gain 0.
    relevance : str or None
        Name of another gain function, which decides instead of this one whether a query has relevant documents; or
        None.
    highest : float or None
        Largest gain of any grade; None if the gain grows with the grade.
    """

    name: str
    worth: Callable[[float, float | None], float]
    choices: tuple[str, ...] = ()
    is_choice: bool = True
    is_of_every_grade: bool = False
    relevance: str | None = None
    highest: float | None = None


def linear(grade: float, _: float | None) -> float:
    """Return the grade (Järvelin and Kekäläinen, ACM Transactions on Information Systems 20, 2002; trec_eval)."""
    return float(grade)


def exponential(grade: float, _: float | None) -> float:
    """Return 2^grade - 1 (Burges et al., Learning to Rank using Gradient Descent, ICML 2005; gdeval)."""
    return float(2.0**grade) - 1.0


def binary(grade: float, relevant_from: float | None) -> float:
    """Return 1 for grades >= relevant_from (for grades > 0 if relevant_from is None), else 0."""
    return 1.0 if relevant_from is None or grade >= relevant_from else 0.0


def judged(_grade: float, _: float | None) -> float:
    """Return 1 for every judged document."""
    return 1.0


# ---- discounts: the factor of a rank


@dataclass(frozen=True, slots=True)
class Discount:
    """A discount function, from ranks to factors, with the properties that other code bases its decisions on.

    Attributes
    ----------
    name : str
        Name of the discount in a metric's definition.
    factor : callable
        Function of the rank (1, 2, 3 …) and of a parameter that returns the factor, in (0, 1].
    choices : tuple of str
        Names of the choices that only metrics with this discount have. The first one is the parameter of `factor`.
    is_choice : bool
        True if the user can choose the discount for a metric; False if a measure implies it.
    """

    name: str
    factor: Callable[[int, float], float]
    choices: tuple[str, ...] = ()
    is_choice: bool = True


def log2(rank: int, _: float) -> float:
    """Return 1 / log2(rank + 1) (Burges et al. 2005; trec_eval)."""
    return 1.0 / math.log2(rank + 1)


def jarvelin_kekalainen(rank: int, base: float) -> float:
    """Return 1 / max(1, log_base(rank)), 1 up to the rank `base` (Järvelin and Kekäläinen 2002, section 2)."""
    return 1.0 / max(1.0, math.log2(rank) / math.log2(base))


def reciprocal(rank: int, _: float) -> float:
    """Return 1 / rank (Turnbull's worked examples, docs/definitions.md)."""
    return 1.0 / rank


def geometric(rank: int, persistence: float) -> float:
    """Return (1 - p) * p^(rank - 1): the probability that a user with persistence p looks at this rank last.

    (Moffat and Zobel, Rank-biased Precision, ACM Transactions on Information Systems 27, 2008.)
    """
    return (1.0 - persistence) * persistence ** (rank - 1)


def no_discount(_rank: int, _: float) -> float:
    """Return 1 for every rank, as in cumulated gain (CG)."""
    return 1.0


# ---- ideals: what nDCG divides by


class GainSource(StrEnum):
    """The documents whose gains make up an ideal ranking."""

    JUDGED = "judged"
    """All documents judged for the query, whatever the system."""
    RETURNED = "returned"
    """The system's own top results, which depend on the order of ties."""
    HIGHEST = "highest"
    """No documents: the highest grade at every rank, so that the ideal has no end of its own."""


@dataclass(frozen=True, slots=True)
class Ideal:
    """A kind of ideal ranking, whose sum divides the sum of a ranking.

    Attributes
    ----------
    name : str
        Name of the ideal in a metric's definition.
    pool : GainSource
        The documents whose gains make up the ideal ranking.
    depth : str or None
        For an ideal of the system's own results: name of the choice that limits it to the top ranks. None for others.
    choices : tuple of str
        Names of the choices that only metrics with this ideal have.
    """

    name: str
    pool: GainSource
    depth: str | None = None
    choices: tuple[str, ...] = ()


# ---- measures: the value of one query


class Divisor(StrEnum):
    """The kind of number that divides the sum over a ranking; expected values and bounds depend on the kind."""

    NOTHING = "nothing"
    """Nothing: the value is the sum, or the rank of the first relevant document decides."""
    LENGTH = "length"
    """The cutoff, or the number of results if there is none."""
    SHOWN = "shown"
    """The number of results within the cutoff: the value is the judged share, which no grade changes."""
    IDEAL = "ideal"
    """The sum of the ideal."""
    OTHER = "other"
    """Anything else: the measure has neither expected values nor bounds."""


class Quotient(NamedTuple):
    """The numerator (`above`) and the divisor (`below`) of a metric's value.

    `below` is None if nothing is divided; `above` is then the value.
    """

    above: float
    below: float | None = None

    @property
    def value(self) -> float:
        """Return above / below; 0 if below is 0, and above if below is None."""
        if self.below is None:
            return self.above
        return self.above / self.below if self.below > 0 else 0.0


class RankedGains(NamedTuple):
    """The gains of one answered query of one system, from which a measure computes its value.

    Attributes
    ----------
    gains : sequence of float
        Gain at each rank within the cutoff, from rank 1, >= 0; at least one.
    total : float
        Sum over these ranks of gain * discount, or of gain * factor for measures that have factors.
    ideal : float
        Sum of gain * discount over the ideal ranking; 0 for measures without one.
    cutoff : int or None
        The metric's cutoff k >= 1; None if it has none.
    returned : int
        Number of results that the metric ranks, >= 1; results beyond the cutoff count, too.
    """

    gains: Sequence[float]
    total: float
    ideal: float
    cutoff: int | None
    returned: int


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure: the function that computes its value, and the properties that other code bases its decisions on.

    Attributes
    ----------
    name : str
        Name of the measure in a metric's name.
    quotient : callable
        Function that computes numerator and divisor of the value from a `RankedGains`.
    divisor : Divisor
        Kind of number that divides the sum over ranks.
    is_additive : bool
        True if the value is a sum over ranks, up to a divisor that does not depend on the order of ties. Only then can
        ties be averaged, and only then is there an expected value over the orders of ties.
    is_bounded : bool
        True if values lie in [0, 1]; False if they have the unit of the gains.
    gain, discount : str
        Name of the gain or discount that all metrics of this measure have, or CHOSEN if each metric chooses its own.
    ideal : str or None
        Name of the ideal, or CHOSEN; None if the measure does not divide by an ideal. A named ideal is not cut: it
        counts all of its documents.
    factors : callable or None
        For a measure that weights a rank by the documents above it: function that returns the factor, >= 0, of every
        rank. None for measures with a discount.
    is_monotone : bool
        True if moving a document with a larger gain up never lowers the value.
    is_decided_by_first : bool
        True if the value depends only on the rank of the first relevant document.
    has_cutoff : bool
        True if a metric of this measure can have a cutoff; False if all results always count.
    choices : tuple of str
        Names of the choices that only this measure has.
    ignores : tuple of str
        Names of the choices that have no effect on this measure.
    """

    name: str
    quotient: Callable[[RankedGains], Quotient]
    divisor: Divisor
    is_additive: bool = field(kw_only=True)
    is_bounded: bool = field(kw_only=True)
    gain: str = "binary"
    discount: str = "none"
    ideal: str | None = None
    factors: Callable[[GradedRanking], list[float]] | None = None
    is_monotone: bool = True
    is_decided_by_first: bool = False
    has_cutoff: bool = True
    choices: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()

    def takes(self, choice: str) -> bool:
        """Return whether each metric of this measure chooses its own gain, discount or ideal.

        choice: "gain", "discount" or "ideal".
        """
        return {"gain": self.gain, "discount": self.discount, "ideal": self.ideal}[choice] == CHOSEN

    @property
    def is_graded(self) -> bool:
        """Return whether a metric of this measure chooses a gain; if not, the measure counts documents."""
        return self.takes("gain")


def normalised(ranked: RankedGains) -> Quotient:
    """Return nDCG as the quotient of DCG and the DCG of the ideal (Järvelin and Kekäläinen 2002, section 2)."""
    return Quotient(ranked.total, ranked.ideal)


def cumulated(ranked: RankedGains) -> Quotient:
    """Return the sum of gain * discount (or gain * factor) down to the cutoff, without a divisor.

    The sum is the value of dcg, cg, rbp and err. (Järvelin and Kekäläinen 2002 for DCG and CG.)
    """
    return Quotient(ranked.total)


def accuracy(ranked: RankedGains) -> Quotient:
    """Return 1 if any document within the cutoff is relevant, else 0 (trec_eval: success)."""
    return Quotient(1.0 if any(ranked.gains) else 0.0)


def precision(ranked: RankedGains) -> Quotient:
    """Return precision: the number of relevant documents within the cutoff / k (trec_eval: P, set_P).

    The divisor is the cutoff k even if fewer results were returned. Without a cutoff it is the number of results.
    """
    return Quotient(ranked.total, ranked.returned if ranked.cutoff is None else ranked.cutoff)


def recall(ranked: RankedGains) -> Quotient:
    """Return a sum over ranks, divided by the number of all relevant documents of the query.

    The sum is over the relevant documents within the cutoff. For recall, each of them adds 1 (trec_eval: recall); for
    ap, rprec, bpref and infap, the factor of its rank. If the sum is 0, the value is 0, without a divisor.
    """
    return Quotient(ranked.total, ranked.ideal) if ranked.total else Quotient(0.0)


def reciprocal_rank(ranked: RankedGains) -> Quotient:
    """Return 1 / rank of the first relevant document within the cutoff, or 0 without one (trec_eval: recip_rank)."""
    first = next((rank for rank, gain in enumerate(ranked.gains, start=1) if gain > 0), None)
    return Quotient(0.0) if first is None else Quotient(1.0, first)


def judged_share(ranked: RankedGains) -> Quotient:
    """Return the share of the results within the cutoff that are judged."""
    return Quotient(ranked.total, len(ranked.gains))


# ---- the entries; of choices the default first

Entry = TypeVar("Entry", Gain, Discount, Ideal, Measure)


def _index_by_name(*entries: Entry) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


GAINS = _index_by_name(
    Gain("linear", linear),
    Gain("exponential", exponential),
    Gain("binary", binary, choices=("relevant_from",), highest=1.0),
    Gain("judged", judged, is_choice=False, is_of_every_grade=True, relevance="binary", highest=1.0),
)
"""Name of a gain -> its entry."""
DISCOUNTS = _index_by_name(
    Discount("log2", log2),
    Discount("jarvelin_kekalainen", jarvelin_kekalainen, choices=("discount_base",)),
    Discount("reciprocal", reciprocal),
    Discount("none", no_discount),
    Discount("geometric", geometric, choices=("persistence",), is_choice=False),
)
"""Name of a discount -> its entry."""
IDEALS = _index_by_name(
    Ideal("global", GainSource.JUDGED),
    Ideal("local", GainSource.RETURNED, depth="cutoff"),
    Ideal("recall", GainSource.RETURNED, depth="recall_depth", choices=("recall_depth",)),
    Ideal("max", GainSource.HIGHEST, choices=("max_grade",)),
)
"""Name of an ideal ranking -> its entry."""
sum_measure = partial(Measure, is_additive=True, is_bounded=True)
"""Make a measure with values in [0, 1] that is a sum over ranks, up to a divisor."""
recall_measure = partial(Measure, quotient=recall, divisor=Divisor.IDEAL, is_bounded=True, ideal="global")
"""Make a measure whose sum over the ranks of a ranking is divided by the number of all relevant documents."""
MEASURES = _index_by_name(
    sum_measure("ndcg", normalised, Divisor.IDEAL, gain=CHOSEN, discount=CHOSEN, ideal=CHOSEN),
    Measure("dcg", cumulated, Divisor.NOTHING, is_additive=True, is_bounded=False, gain=CHOSEN, discount=CHOSEN),
    Measure("cg", cumulated, Divisor.NOTHING, is_additive=True, is_bounded=False, gain=CHOSEN),
    Measure("accuracy", accuracy, Divisor.NOTHING, is_additive=False, is_bounded=True, is_decided_by_first=True),
    sum_measure("precision", precision, Divisor.LENGTH),
    recall_measure("recall", is_additive=True),
    Measure("rr", reciprocal_rank, Divisor.NOTHING, is_additive=False, is_bounded=True, is_decided_by_first=True),
    sum_measure("judged", judged_share, Divisor.SHOWN, gain="judged"),
    recall_measure("ap", is_additive=False, factors=precision_at_ranks),
    sum_measure("rbp", cumulated, Divisor.NOTHING, discount="geometric"),
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
    recall_measure("rprec", is_additive=True, factors=within_relevant_factors, has_cutoff=False),
    recall_measure("bpref", is_additive=False, factors=preference_factors, has_cutoff=False, ignores=("unjudged",)),
    recall_measure("infap", is_additive=False, factors=inferred_precision_factors, is_monotone=False, has_cutoff=False),
)
"""Name of a measure -> its entry (docs/definitions.md)."""
