"""Conclude a verdict on one comparison as data, and reduce it to a state: better, worse, equal or open.

The rules are in docs/statistics.md; the first one that applies decides. A verdict never says "no difference": it says
what could have been detected, or that the difference is too small to matter. Programs read the `Conclusion`; people
read the sentence `verdicts.record.Comparison.verdict`, which is never parsed.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ndcg_core.statistics.estimates.mean_difference import Interval, Moments

POWER = 0.8
"""The power at which the minimal detectable effect is stated."""
TESTABLE = 6
"""Differing queries that a verdict needs: with five, the smallest possible p is 2^-4 = .0625."""
SMALL_SAMPLE = 30
"""Number of differing queries below which the note `small sample` is given."""


class Verdict(StrEnum):
    """The conclusion of a comparison. The last three values are only for guardrails, whose tests are one-sided."""

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
        """Return whether harm is shown: the verdict is regressed, or worse for a guardrail."""
        return self.traits.is_harm

    @property
    def is_guardrail(self) -> bool:
        """Return whether only guardrails can have the verdict: it is not worse, loss not ruled out, or worse."""
        return self.traits.is_guardrail

    @property
    def holds_margin(self) -> bool:
        """Return whether the verdict proves that a guardrail holds: it is "not worse"."""
        return self.traits.is_guardrail and not self.traits.fails_margin

    @property
    def fails_margin(self) -> bool:
        """Return whether the verdict does not prove that a guardrail holds.

        That is so unless the verdict is "not worse" or "identical".
        """
        return self.traits.fails_margin


class Tone(StrEnum):
    """The colour class of a verdict or a decision; each medium maps it to its own colours."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    DIM = "dim"
    PLAIN = "plain"


class State(StrEnum):
    """The state of one comparison, by the deciding test and the smallest effect."""

    BETTER_BY_MORE = "better_by_more"
    """Better, and the simultaneous interval lies beyond the smallest effect."""
    BETTER = "better"
    """Better; by how much is open, or no smallest effect is set."""
    HOLDS = "holds"
    """A guardrail: not worse than its margin."""
    SAME = "same"
    """The systems have equal values on every query."""
    SMALLER = "smaller"
    """A difference smaller than the smallest effect, in either direction."""
    WORSE = "worse"
    """Worse, and not shown to be smaller than the smallest effect or margin."""
    WORSE_BY_MORE = "worse_by_more"
    """Worse, and the simultaneous interval lies beyond the smallest effect."""
    OPEN = "open"
    """Open: the queries show no other state."""
    UNKNOWN = "unknown"
    """Not computed, or not certain under other assumptions. It never counts as a good result."""

    @property
    def is_harm(self) -> bool:
        """Return whether the state shows harm: the candidate is worse."""
        return self in (State.WORSE, State.WORSE_BY_MORE)

    @property
    def is_gain(self) -> bool:
        """Return whether the state shows a gain: the candidate is better."""
        return self in (State.BETTER, State.BETTER_BY_MORE)

    @property
    def is_undecided(self) -> bool:
        """Return whether the state is open or unknown."""
        return self in (State.OPEN, State.UNKNOWN)

    def has_same_direction(self, other: "State") -> bool:
        """Return whether another state agrees with this one, whatever the size of the difference.

        The other state is that of the comparison under other assumptions. Gains agree with gains, and harms with harms.
        SAME and SMALLER agree with SAME, SMALLER and HOLDS; HOLDS agrees with HOLDS and SAME; OPEN and UNKNOWN agree
        only with themselves.
        """
        if self.is_gain or self.is_harm:
            return (self.is_gain, self.is_harm) == (other.is_gain, other.is_harm)
        if self in (State.SAME, State.SMALLER):
            return other in (State.SAME, State.SMALLER, State.HOLDS)
        return other is self or (self is State.HOLDS and other is State.SAME)


class Traits(NamedTuple):
    """The properties of a verdict on which other code bases its decisions.

    Attributes
    ----------
    state : State
        State of a comparison with the verdict if the size of its difference is unknown.
    favours : int
        1 if the verdict favours the candidate, -1 if the baseline, 0 if neither.
    is_guardrail : bool
        True if only guardrails can have the verdict.
    is_harm : bool
        True if the verdict shows that the candidate is worse.
    fails_margin : bool
        True if the verdict does not prove that a guardrail holds.
    tells_difference : bool
        True if a decision that gives the verdict as its reason prints the difference in brackets after the verdict.
    mark : str
        One character that stands for the verdict; empty if the mark of another verdict is used.
    tone : Tone
        Colour class of the verdict.
    """

    state: State = State.OPEN
    favours: int = 0
    is_guardrail: bool = False
    is_harm: bool = False
    fails_margin: bool = True
    tells_difference: bool = False
    mark: str = ""
    tone: Tone = Tone.PLAIN


_TRAITS = {
    Verdict.IMPROVED: Traits(State.BETTER, favours=1, tells_difference=True, mark="▲", tone=Tone.GOOD),
    Verdict.REGRESSED: Traits(State.WORSE, favours=-1, is_harm=True, tells_difference=True, mark="▼", tone=Tone.BAD),
    Verdict.EQUIVALENT: Traits(State.SMALLER, tells_difference=True),
    Verdict.UNDECIDED: Traits(),
    Verdict.NOT_TESTABLE: Traits(),
    Verdict.IDENTICAL: Traits(State.SAME, fails_margin=False, mark="=", tone=Tone.DIM),
    Verdict.NOT_WORSE: Traits(State.HOLDS, is_guardrail=True, fails_margin=False, mark="✓"),
    Verdict.MAY_BE_WORSE: Traits(is_guardrail=True, tells_difference=True, mark="?", tone=Tone.OPEN),
    Verdict.WORSE: Traits(State.WORSE, is_guardrail=True, is_harm=True, tells_difference=True, mark="✗", tone=Tone.BAD),
}


class Size(StrEnum):
    """The size of a difference that is shown, relative to the smallest effect."""

    BY_MORE_THAN = "by_more_than"
    """The simultaneous interval lies beyond the smallest effect."""
    SMALLER_THAN = "smaller_than"
    """The simultaneous interval lies within -smallest effect and +smallest effect."""


class Obstacle(StrEnum):
    """The reason why a verdict could not be reached, or why it proves little."""

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

    Attributes
    ----------
    kind : Verdict
        The verdict.
    size : Size or None
        For improved and regressed, the size of the difference; None without a smallest effect, or if the simultaneous
        interval contains it.
    underpowered : bool
        For undecided, True if the minimal detectable effect is above the smallest effect.
    obstacle : Obstacle or None
        Why no verdict could be reached, or why it proves little. It is set if the verdict is 'not testable', if it is
        'undecided' because the differences do not vary, or if a guardrail has too few queries; else None.
    """

    kind: Verdict
    size: Size | None = None
    underpowered: bool = False
    obstacle: Obstacle | None = None


class HalfWidths(NamedTuple):
    """The half-widths, in standard errors, of the simultaneous intervals of a family of comparisons.

    Attributes
    ----------
    wide : float or None
        Half-width at level 1 - alpha, for sizes and detectable effects; None if there is no such interval.
    narrow : float or None
        Half-width at level 1 - 2 alpha, for equivalence; None if there is no such interval.
    """

    wide: float | None = None
    narrow: float | None = None


ALONE = HalfWidths()


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test procedure for one comparison.

    Attributes
    ----------
    p_value : float
        p-value of the comparison, not adjusted, in [0, 1].
    p_adjusted : float
        p-value adjusted over the family, in [p_value, 1].
    procedure : str
        How the p-values were computed, in words.
    certain : bool
        True if p_adjusted has no Monte-Carlo error.
    reaches : HalfWidths
        Half-widths of the simultaneous intervals; both are None for guardrails, which are tested alone.
    factor : float
        With Benjamini and Hochberg's adjustment p_adjusted / p_value, by which the Monte-Carlo error is multiplied;
        else 1.
    resamples : int
        Number of resamples drawn for p_adjusted.
    harm : float or None
        For a guardrail, the adjusted p-value of the two-sided test for harm; else None.
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

    Attributes
    ----------
    queries : int
        Number of queries.
    differing : int
        Number of units (queries or clusters) that the test can flip.
    moments : Moments or None
        Moments of the differences; None for fewer than two units, or if one unit has nearly all the weight.
    together, narrow : Interval or None
        Simultaneous intervals of the mean at the levels 1 - alpha and 1 - 2 alpha.
    test : TestResult or None
        Result of the test; None if the column was not tested.
    mde : float or None
        Minimal detectable effect in the family; None if the differences do not vary.
    smallest_effect : float or None
        Smallest effect that matters, or a guardrail's margin.
    alpha : float
        Level of the test.
    least_queries : int
        With fewer queries there is no test; >= 2.
    clusters : int or None
        Number of clusters; None if every query is a unit.
    rules_out_rare : bool
        True if the bound for bounded differences lies within the smallest effect on both sides, too, so that rare harm
        cannot hide. Also True if the largest loss is unknown.
    unseen : int or None
        M, if losses of `largest_loss` on one query in M would make the mean loss larger than the smallest effect, and
        yet are missing in a sample of this size with a probability of alpha; else None.
    is_drawn : bool
        True if the queries were drawn from a log by disagreement, and the differences scaled.
    largest_loss : float
        The most that one query can lose; ``math.inf`` if unknown.
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
    """Return the word for a sampled unit, singular and plural.

    clusters: number of clusters; None if the units are queries.
    """
    return ("query", "queries") if clusters is None else ("cluster", "clusters")


def least_differing(alpha: float) -> int:
    """Return the smallest number of differing queries with which a sign-flip test can reach alpha.

    It is the least number with 2^(1 - number) <= alpha, and at least TESTABLE.
    """
    return max(TESTABLE, math.ceil(1 - math.log2(alpha)))


def conclude(facts: Facts) -> Conclusion:
    """Conclude the verdict on a comparison that is no guardrail: the first one in docs/statistics.md that applies.

    Guardrails are concluded by `guardrail_verdict`.
    """
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


def format_distinct_effect(effect: float, margin: float | None = None) -> str:
    """Format an effect > 0 with three decimals.

    Two significant digits are used instead if three decimals would be 0.000. More decimals are used if the effect would
    otherwise look equal to a margin that it does not equal.
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
    """Return the size of a difference that is shown, compared with the smallest effect.

    together: the simultaneous interval of the mean. margin: the smallest effect.
    Return None if one of them is None, or if the interval contains the smallest effect in either direction.
    """
    if margin is None or together is None:
        return None
    if together.low > margin or together.high < -margin:
        return Size.BY_MORE_THAN
    return Size.SMALLER_THAN if is_within(together, margin) else None


def is_within(interval: Interval | None, margin: float) -> bool:
    """Return whether an interval lies between -margin and margin; False if the interval is None."""
    return interval is not None and -margin < interval.low and interval.high < margin


def state_of(conclusion: Verdict, size: Size | None) -> State:
    """Convert a verdict and the size of the difference (None if unknown) to a state."""
    if conclusion.is_detected and size is Size.SMALLER_THAN:
        return State.SMALLER
    if conclusion.is_detected and size is Size.BY_MORE_THAN:
        return State.BETTER_BY_MORE if conclusion is Verdict.IMPROVED else State.WORSE_BY_MORE
    return conclusion.traits.state
