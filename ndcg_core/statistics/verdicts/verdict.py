"""Conclude a verdict on one comparison as data, and word it as a sentence.

The rules are in docs/statistics.md; the first one that applies decides. A verdict never says "no difference": it says
what could have been detected, or that the difference is too small to matter. Programs read the `Conclusion`; people
read the `sentence`, which is never parsed.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, assert_never

from ndcg_core.statistics.estimates.mean_difference import Interval, Moments

POWER = 0.8
"""The power at which the minimal detectable effect is stated."""
TESTABLE = 6
"""Differing queries that a verdict needs: with five, the smallest possible p is 2^-4 = .0625."""
SMALL_SAMPLE = 30
"""Number of differing queries below which the note `small sample` is given."""


class Verdict(StrEnum):
    """The conclusion of a comparison; the last three values are only for guardrails, which are one-sided."""

    IMPROVED = "improved"
    """p_adjusted <= alpha, and the mean difference is above 0."""
    REGRESSED = "regressed"
    """p_adjusted <= alpha, and the mean difference is below 0."""
    EQUIVALENT = "equivalent"
    """Shown to differ by less than the smallest effect, together with the rest of the family."""
    UNDECIDED = "undecided"
    """Neither better nor worse is shown: what could have been detected, in this family, is the `mde`."""
    IDENTICAL = "identical"
    """Not one query differs."""
    NOT_TESTABLE = "not_testable"
    """Too few queries, or too few that differ: see `Obstacle`."""
    NOT_WORSE = "not_worse"
    """Shown to be not worse than the margin."""
    MAY_BE_WORSE = "may_be_worse"
    """Neither shown to be not worse than the margin, nor shown to be worse: open."""
    WORSE = "worse"
    """Shown to be worse than the baseline (adjusted over all guardrails), and not shown to stay within the margin."""

    @property
    def traits(self) -> "Traits":
        """Return the properties of the verdict on which other code bases its decisions."""
        return _TRAITS[self]

    @property
    def words(self) -> str:
        """Return the verdict in words without qualifiers, such as ``not worse``."""
        return "loss not ruled out" if self is Verdict.MAY_BE_WORSE else self.replace("_", " ")

    @property
    def is_detected(self) -> bool:
        """Return whether a difference is shown: improved or regressed."""
        return self.traits.favours != 0

    @property
    def direction(self) -> int:
        """Return 1 for improved, -1 for regressed, 0 for any other verdict."""
        return self.traits.favours

    @property
    def is_harm(self) -> bool:
        """Return whether harm is shown: regressed, or worse for a guardrail."""
        return self.traits.is_harm

    @property
    def is_guardrail(self) -> bool:
        """Return whether only guardrails have the verdict: not worse, loss not ruled out, worse."""
        return self.traits.is_guardrail

    @property
    def holds_margin(self) -> bool:
        """Return whether the verdict proves a guardrail: "not worse"."""
        return self.traits.is_guardrail and not self.traits.fails_margin

    @property
    def fails_margin(self) -> bool:
        """Return whether the verdict leaves a guardrail unproven: it is neither "not worse" nor "identical"."""
        return self.traits.fails_margin


class Tone(StrEnum):
    """The colour class of a verdict or a decision; each medium maps it to its own colours."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    DIM = "dim"
    PLAIN = "plain"


class Traits(NamedTuple):
    """The properties of a verdict on which other code bases its decisions.

    favours: 1 for the candidate, -1 for the baseline, 0 for neither. is_open: whether the verdict leaves open which
    system is better. is_guardrail: whether only guardrails have the verdict. is_harm: whether the verdict shows harm.
    fails_margin: whether the verdict does not prove a guardrail. tells_difference: whether a reason for a decision
    includes the difference. mark: one character, or empty if another verdict's mark is used. tone: the colour class.
    """

    favours: int = 0
    is_open: bool = False
    is_guardrail: bool = False
    is_harm: bool = False
    fails_margin: bool = True
    tells_difference: bool = False
    mark: str = ""
    tone: Tone = Tone.PLAIN


_TRAITS = {
    Verdict.IMPROVED: Traits(favours=1, tells_difference=True, mark="▲", tone=Tone.GOOD),
    Verdict.REGRESSED: Traits(favours=-1, is_harm=True, tells_difference=True, mark="▼", tone=Tone.BAD),
    Verdict.EQUIVALENT: Traits(tells_difference=True),
    Verdict.UNDECIDED: Traits(is_open=True),
    Verdict.NOT_TESTABLE: Traits(is_open=True),
    Verdict.IDENTICAL: Traits(fails_margin=False, mark="=", tone=Tone.DIM),
    Verdict.NOT_WORSE: Traits(is_guardrail=True, fails_margin=False, mark="✓"),
    Verdict.MAY_BE_WORSE: Traits(is_guardrail=True, tells_difference=True, mark="?", tone=Tone.OPEN),
    Verdict.WORSE: Traits(is_guardrail=True, is_harm=True, tells_difference=True, mark="✗", tone=Tone.BAD),
}


class Size(StrEnum):
    """The size of a difference that is shown, relative to the smallest effect."""

    BY_MORE_THAN = "by_more_than"
    """The simultaneous interval lies beyond the smallest effect."""
    SMALLER_THAN = "smaller_than"
    """The simultaneous interval lies within -smallest effect and +smallest effect."""


class Obstacle(StrEnum):
    """The reason why a verdict could not be reached."""

    FEW_QUERIES = "few_queries"
    """Not testable: fewer than `least_queries`."""
    ONE_HEAVY_QUERY = "one_heavy_query"
    """Not testable: one query (or cluster) has all the weight."""
    ONE_CLUSTER = "one_cluster"
    """Not testable: all queries are of one cluster."""
    FEW_DIFFERING = "few_differing"
    """Not testable: no outcome of so few differing queries, or clusters, could reach alpha."""
    ZERO_VARIANCE = "zero_variance"
    """Undecided: the differences do not vary, so that no detectable effect can be stated."""
    FEW_TO_RULE_OUT = "few_to_rule_out"
    """Identical, or loss not ruled out (guardrails): so few queries rule out no loss, even if none of them differs."""


class Conclusion(NamedTuple):
    """A verdict with its qualifiers.

    size: for improved and regressed, the size of the difference; None without a smallest effect or if the simultaneous
    interval covers it. underpowered: for undecided, whether the mde is above the smallest effect. obstacle: the reason,
    for not testable, for undecided with zero variance, and for a guardrail with too few queries; else None.
    """

    kind: Verdict
    size: Size | None = None
    underpowered: bool = False
    obstacle: Obstacle | None = None


_WITH_MARGIN = (Verdict.EQUIVALENT, Verdict.NOT_WORSE, Verdict.MAY_BE_WORSE, Verdict.WORSE)


class HalfWidths(NamedTuple):
    """The half-widths, in standard errors, of a family's simultaneous intervals; None if there is no such interval.

    wide: half-width at level 1 - alpha, for sizes and the mde. narrow: half-width at 1 - 2 alpha, for equivalence.
    """

    wide: float | None = None
    narrow: float | None = None


ALONE = HalfWidths()


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test procedure for one comparison.

    p_value, p_adjusted, procedure: as in `verdicts.record.Comparison`. certain: whether p_adjusted has no Monte-Carlo
        error. reaches: half-widths of the simultaneous intervals; all None for guardrails, which are tested alone.
    factor: with Benjamini-Hochberg p_adjusted / p_value, by which the Monte-Carlo error is scaled; else 1. resamples:
        number of resamples drawn for p_adjusted. harm: for a guardrail, the adjusted p-value of the two-sided test;
        else
        None.
    """

    p_value: float
    p_adjusted: float
    procedure: str
    certain: bool
    reaches: HalfWidths = ALONE
    factor: float = 1.0
    resamples: int = 1
    harm: float | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers from which a verdict is concluded.

    queries: number of queries. clusters: number of clusters; None if every query is a unit. differing: number of units
        that the test can flip. moments: moments of the differences; None for fewer than two.
    together, narrow: simultaneous intervals of the mean at 1 - alpha and at 1 - 2 alpha, or None.
    test: result of the test; None if there are too few queries for one.
    mde: minimal detectable effect in this family; None if nothing varies.
    smallest_effect: the smallest effect that matters, or a guardrail's margin. least_queries: with fewer queries there
        is no test; >= 2.
    unseen: M, if losses of `largest_loss` on one query in M would reach the smallest effect, and are missing in such a
        sample with a chance of 5 %; else None. largest_loss: the most that one query can lose; math.inf if unknown.
    rules_out_rare: whether the bound for bounded differences lies within the smallest effect on both sides, too, so
        that rare harm cannot hide; True if the largest loss is unknown.
    is_drawn: whether the queries were drawn from a log, and the differences scaled.
    """

    queries: int
    differing: int
    moments: Moments | None
    together: Interval | None
    narrow: Interval | None
    test: TestResult | None
    mde: float | None
    smallest_effect: float | None
    alpha: float
    least_queries: int = 2
    clusters: int | None = None
    rules_out_rare: bool = True
    unseen: int | None = None
    is_drawn: bool = False
    largest_loss: float = math.inf

    @property
    def units(self) -> int:
        """Return the number of sampled units: clusters, or queries."""
        return self.queries if self.clusters is None else self.clusters


def unit_names(clusters: int | None) -> tuple[str, str]:
    """Return the name of a sampled unit, singular and plural. clusters: number of clusters, or None for queries."""
    return ("query", "queries") if clusters is None else ("cluster", "clusters")


def least_differing(alpha: float) -> int:
    """Return the fewest differing queries that can reach alpha: 2^(1 - differing) <= alpha; at least TESTABLE."""
    return max(TESTABLE, math.ceil(1 - math.log2(alpha)))


def conclude(facts: Facts) -> Conclusion:
    """Return the first verdict in docs/statistics.md that applies; guardrails are concluded by `guardrail_verdict`."""
    if facts.test is None or facts.moments is None:
        return conclude_not_testable(facts)
    if facts.differing == 0:
        return Conclusion(Verdict.IDENTICAL)
    if facts.differing < least_differing(facts.alpha):
        return Conclusion(Verdict.NOT_TESTABLE, obstacle=Obstacle.FEW_DIFFERING)
    margin = facts.smallest_effect
    if facts.test.p_adjusted <= facts.alpha:
        direction = Verdict.IMPROVED if facts.moments.mean > 0 else Verdict.REGRESSED
        return Conclusion(direction, size=size_of(facts.together, margin))
    # The 1 - 2 alpha interval: two one-sided tests at alpha (Schuirmann 1987); and, as for guardrails, rare harm.
    if margin is not None and is_within(facts.narrow, margin) and facts.rules_out_rare:
        return Conclusion(Verdict.EQUIVALENT)
    if facts.mde is None:
        return Conclusion(Verdict.UNDECIDED, obstacle=Obstacle.ZERO_VARIANCE)
    return Conclusion(Verdict.UNDECIDED, underpowered=margin is not None and facts.mde > margin)


def sentence(
    conclusion: Conclusion,
    *,
    queries: int,
    differing: int,
    least_queries: int = 2,
    mde: float | None = None,
    smallest_effect: float | None = None,
    clusters: int | None = None,
    needed: int | None = None,
) -> str:
    """Return a conclusion in words, such as ``improved, by more than 0.02``.

    The numbers are those of `Facts`. needed: units without a difference that would rule out a loss of smallest_effect.
    Raises ValueError if the words need a smallest_effect and there is none.
    """
    kind, size, underpowered, obstacle = conclusion
    if smallest_effect is None and (size or underpowered or kind in _WITH_MARGIN):
        raise ValueError(f"smallest_effect is None, must be given for {kind!r} with its qualifiers")
    margin = "" if smallest_effect is None else f"{smallest_effect:g}"
    one, many = unit_names(clusters)
    match kind:
        case Verdict.IMPROVED | Verdict.REGRESSED:
            return f"{kind}, {size.replace('_', ' ')} {margin}" if size else str(kind)
        case Verdict.EQUIVALENT:
            return f"equivalent within ±{margin}"
        case Verdict.NOT_WORSE:
            return f"not worse than {margin}"
        case Verdict.MAY_BE_WORSE:
            return f"worse by more than {margin} not ruled out"
        case Verdict.WORSE:
            return f"worse, and not shown to be within {margin}"
        case Verdict.IDENTICAL if obstacle is Obstacle.FEW_TO_RULE_OUT:
            count = queries if clusters is None else clusters
            return f"identical ({count} {many}; {needed} needed to rule out a loss of {margin})"
        case Verdict.IDENTICAL:
            return "identical"
        case Verdict.NOT_TESTABLE if obstacle is Obstacle.FEW_DIFFERING:
            return f"not testable ({differing} differing {one if differing == 1 else many})"
        case Verdict.NOT_TESTABLE if obstacle is Obstacle.ONE_HEAVY_QUERY:
            return f"not testable (one {one} has all the weight)"
        case Verdict.NOT_TESTABLE if obstacle is Obstacle.ONE_CLUSTER:
            return "not testable (all queries are of one cluster)"
        case Verdict.NOT_TESTABLE:
            least = f", fewer than {least_queries}" if least_queries > 2 else ""
            return f"not testable (n = {queries}{least})"
        case Verdict.UNDECIDED if mde is None:
            return "undecided (zero variance)"
        case Verdict.UNDECIDED:
            lacking = f" > {margin}" if underpowered else ""
            return f"undecided (MDE {format_effect(mde, smallest_effect)}{lacking})"
        case _:
            assert_never(kind)


def format_effect(effect: float, margin: float | None = None) -> str:
    """Format an effect > 0 with three decimals, or with two significant digits if three decimals would be 0.000.

    More decimals are used if the effect would otherwise look equal to a margin that it does not equal.
    """
    decimals = 3 if round(effect, 3) > 0 else 1 - math.floor(math.log10(effect))
    while margin is not None and effect != margin and round(effect, decimals) == margin and decimals < 15:
        decimals += 1
    return f"{effect:.{decimals}f}"


def conclude_not_testable(facts: Facts) -> Conclusion:
    """Return the conclusion "not testable" with its reason."""
    obstacle = Obstacle.ONE_CLUSTER if facts.clusters == 1 else Obstacle.ONE_HEAVY_QUERY
    few = facts.queries < facts.least_queries
    return Conclusion(Verdict.NOT_TESTABLE, obstacle=Obstacle.FEW_QUERIES if few else obstacle)


def size_of(together: Interval | None, margin: float | None) -> Size | None:
    """Return the size of a difference that is shown, relative to the smallest effect, by its simultaneous interval.

    None without a smallest effect or an interval, or if the interval contains the smallest effect.
    """
    if margin is None or together is None:
        return None
    if together.low > margin or together.high < -margin:
        return Size.BY_MORE_THAN
    return Size.SMALLER_THAN if is_within(together, margin) else None


def is_within(interval: Interval | None, margin: float) -> bool:
    """Return whether an interval lies between -margin and margin; False without an interval."""
    return interval is not None and -margin < interval.low and interval.high < margin
