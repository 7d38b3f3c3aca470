"""Record the result of comparing two systems on one metric: every number that is stored, and the verdict in words."""

from dataclasses import dataclass
from typing import assert_never

from ndcg_core.statistics.estimates.descriptive import Descriptive
from ndcg_core.statistics.verdicts.verdict import Obstacle, Size, State, Verdict, format_distinct_effect, unit_names

_WITH_MARGIN = (Verdict.EQUIVALENT, Verdict.NOT_WORSE, Verdict.MAY_BE_WORSE, Verdict.WORSE)


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of queries that a comparison's tests flip as single units.

    Attributes
    ----------
    count : int
        Number of clusters, >= 1.
    differing : int
        Number of clusters that the test can flip.
    smallest, largest : int
        Number of queries in the smallest and in the largest cluster, >= 1.
    effective : float
        Number of equally weighted clusters with as much information, in [1, count].
    """

    count: int
    differing: int
    smallest: int
    largest: int
    effective: float


@dataclass(frozen=True, slots=True)
class ProxyCorrected:
    """A mean difference from a few careful judgments, corrected by many proxy judgments.

    Attributes
    ----------
    difference : float or None
        Mean difference by the careful judgments, corrected by the proxy judgments, in the metric's unit; None if
        `why_none` gives a reason.
    low, high : float or None
        Bounds of the (1 - alpha) interval, not adjusted for the family. It is never wider than Student's t interval of
        the careful judgments alone.
    p_value : float or None
        Two-sided p-value, in [0, 1], not adjusted for the family.
    careful_queries : int
        Number of queries that the careful judgments score.
    cheap_queries : int
        Number of queries with proxy judgments, including the carefully judged queries.
    correlation : float or None
        Correlation of careful and proxy differences, in [-1, 1]; None if the proxy differences do not vary.
    share : float
        Factor by which the proxy differences are multiplied, >= 0; 0 if they do not help.
    saved : float
        Number of further careful queries that would give an equally narrow interval, >= 0.
    seen_queries : int or None
        Number of queries left out because the proxy judge may have seen their careful grades; None if unknown.
    why_none : str or None
        Reason if there is no difference; else None.
    """

    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    careful_queries: int
    cheap_queries: int
    correlation: float | None
    share: float
    saved: float
    seen_queries: int | None = None
    why_none: str | None = None


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The effect of two systems' unjudged results on the conclusion about one metric.

    Attributes
    ----------
    documents : int
        Number of unjudged documents, over all queries, that at least one system returns within the metric's depth.
    state : State
        The state on judged results, or a weaker state of the same direction, that still holds at `label_factor`.
        UNKNOWN if the direction does not hold, or if the measure has no expected value. A state that is open on judged
        results stays open.
    label_factor : float
        Factor >= 1 by which unjudged results are assumed to gain more often, or less often, than judged results.
    tipping_factor : float or None
        Smallest factor of `tipping.FACTORS` that changes the conclusion; None if no factor does.
    low, high : float or None
        Lowest and highest mean difference over all grades of the unjudged results, in the metric's unit; None if the
        metric has no bounds in closed form.
    is_declared : bool
        True if the user has declared the judgments complete, so that unjudged results are not relevant.
    """

    documents: int
    state: State
    label_factor: float
    tipping_factor: float | None = None
    low: float | None = None
    high: float | None = None
    is_declared: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """The judged shares of two systems' results, with the mean difference on fully judged queries.

    Attributes
    ----------
    baseline_judged, candidate_judged : float or None
        Mean share, in [0, 1], of judged results within the metric's cutoff, over the queries that the system answered;
        None if it answered none.
    full_queries : int
        Number of fully judged queries, on which neither system returns an unjudged result within the cutoff.
    full_difference : float or None
        (Weighted) mean difference on fully judged queries; None without such a query.
    full_low, full_high : float or None
        Bounds of the (1 - alpha) interval of `full_difference`, by Student's t; None for fewer than two units.
    """

    baseline_judged: float | None
    candidate_judged: float | None
    full_queries: int
    full_difference: float | None
    full_low: float | None
    full_high: float | None

    @property
    def lead(self) -> float:
        """Return the candidate's judged share minus the baseline's, in [-1, 1]; 0 if a share is unknown."""
        if self.baseline_judged is None or self.candidate_judged is None:
            return 0.0
        return self.candidate_judged - self.baseline_judged


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing one candidate with the baseline on one metric, slice and family.

    Attributes
    ----------
    baseline, candidate : str
        Ids of the two systems.
    metric : str
        Name of the metric.
    queries : int
        Number n >= 0 of queries that both systems are scored on.
    differing : int
        Number of queries with a win or a loss.
    wins, ties, losses : int
        Numbers of queries with a difference > 0, = 0 (magnitude <= 1e-9), < 0.
    difference : float or None
        (Weighted) mean of candidate - baseline, in the metric's unit; None without a query.
    low, high : float or None
        Bounds of the comparison's own (1 - alpha) confidence interval, not adjusted for the family; None for n < 2.
        Reports print simultaneous_low and simultaneous_high instead, unless these are None.
    p_value : float or None
        Two-sided sign-flip p-value, in (0, 1]; for a guardrail one-sided, from its bound; None if not tested.
    p_adjusted : float or None
        p-value adjusted over the family, in [p_value, 1]; None if p_value is None.
    mde : float or None
        Minimal detectable effect: mean difference, > 0, that the family's test at alpha finds with 80 % power; None for
        n < 2 and if the differences do not vary.
    conclusion : Verdict
        The verdict (docs/statistics.md); also accepted as text. The property `verdict` is the sentence.
    notes : tuple of str
        Notes on the result, in words; often empty.
    family : str
        Name of the family of comparisons that p_adjusted covers.
    family_size : int
        Number of comparisons in the family that were tested.
    procedure : str
        How p_value and p_adjusted were computed; contains `exact` if all patterns of signs were counted.
    alpha : float
        Threshold for p_adjusted, in (0, 1).
    seed, resamples : int
        The settings that repeat the tests. (A large family has fewer bootstrap resamples.)
    exploratory : bool
        Whether the family only suggests where to look (secondary metrics, slices, pairs).
    attribute, slice : str or None
        Name and value of the query attribute of a slice; None for all queries.
    baseline_mean : float or None
        The baseline's (weighted) mean over the queries; None if unknown.
    smallest_effect : float or None
        Smallest effect that matters, or a guardrail's margin, in the metric's unit; None if not set.
    simultaneous_low, simultaneous_high : float or None
        Bounds that hold together with those of the whole family at 1 - alpha; `size` follows from them. None for
        guardrails, if not tested, and if n is too small.
    lower_bound : float or None
        For a guardrail the lower one-sided (1 - alpha) bound of the mean difference; else None.
    effective_queries : float or None
        Number of equally weighted queries with as much information, in [1, n]; None without weights.
    unweighted_difference : float or None
        Mean difference with equal weights; None without weights.
    descriptive : Descriptive or None
        Descriptive statistics, which decide nothing; None for n < 2.
    size : Size or None
        For improved and regressed, the size of the difference; None without a smallest effect, or if the simultaneous
        interval contains it.
    underpowered : bool
        For undecided, True if the minimal detectable effect is above the smallest effect.
    obstacle : Obstacle or None
        Why no verdict could be reached, or why it proves little; else None.
    least_queries : int
        Comparisons with fewer queries are not tested; >= 2.
    flippable : int or None
        Number of queries that the test can flip, >= 1, if weights near 0 make it smaller than `differing`; else None.
    clusters : Clusters or None
        The clusters of queries that were flipped as single units; None if every query is a unit.
    bound_method : str or None
        For a guardrail the method of lower_bound and p_value: `gaffke`, or `t` if the largest loss of a query is
        unknown; else None.
    needed : int or None
        For a guardrail the number of queries (or clusters) without a difference that rule out a loss of the margin, >=
        1; None if unknown.
    cheap : ProxyCorrected or None
        The difference corrected by proxy judgments, which decides nothing; None without proxy judgments.
    unjudged : Unjudged or None
        The effect of unjudged results on the conclusion; None for comparisons that do not decide.
    labels : Labels or None
        The judged shares of the two systems; None for slices, pairs and margins of the gate, and if unknown.
    harm_p_adjusted : float or None
        Two-sided p-value of a guardrail's difference, adjusted over all guardrails of the evaluation. If it is at most
        alpha and the difference is below 0, the candidate is worse. None for other comparisons and if not tested.
    queries_needed : int or None
        Number of queries (or clusters) like those observed, >= 2, with which the deciding rule decides with 80 %
        probability: for an open guardrail that it holds (or is worse, if the measured loss is beyond the margin); for
        an undecided comparison that a difference of smallest_effect is found. None otherwise, if no number
        suffices, and if the number is not above the present one.
    bounded_p_value : float or None
        For a difference that is shown the two-sided p-value of Gaffke's bound, in (0, 1], not adjusted, which allows
        for rare losses that the sample does not show. It decides over repeated evaluations (`over_time`), not here.
        None otherwise, and if the largest loss of a query is unknown.
    largest_loss : float or None
        The most that one query can lose, in the metric's unit, > 0; None if unknown.
    measured_error : float or None
        Standard error of the difference, in the metric's unit, >= 0; None for fewer than two queries.
    reach, narrow_reach : float or None
        Half-widths, in standard errors, of the simultaneous intervals of the family at 1 - alpha and at 1 - 2 alpha;
        for a guardrail, of the family of the test for harm. None if there is no such interval.

    Raises
    ------
    ValueError
        If a conclusion, a size or an obstacle does not exist.

    Notes
    -----
    Fields with a default are newer than some stored records, which lack them.
    """

    baseline: str
    candidate: str
    metric: str
    queries: int
    differing: int
    wins: int
    ties: int
    losses: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    mde: float | None
    conclusion: Verdict
    notes: tuple[str, ...]
    family: str
    family_size: int
    procedure: str
    alpha: float
    seed: int
    resamples: int
    exploratory: bool
    attribute: str | None
    slice: str | None
    baseline_mean: float | None
    smallest_effect: float | None
    simultaneous_low: float | None
    simultaneous_high: float | None
    lower_bound: float | None
    effective_queries: float | None
    unweighted_difference: float | None
    descriptive: Descriptive | None
    size: Size | None = None
    underpowered: bool = False
    obstacle: Obstacle | None = None
    least_queries: int = 2
    flippable: int | None = None
    clusters: Clusters | None = None
    bound_method: str | None = None
    needed: int | None = None
    cheap: ProxyCorrected | None = None
    unjudged: Unjudged | None = None
    labels: Labels | None = None
    harm_p_adjusted: float | None = None
    queries_needed: int | None = None
    bounded_p_value: float | None = None
    largest_loss: float | None = None
    measured_error: float | None = None
    reach: float | None = None
    narrow_reach: float | None = None

    def __post_init__(self) -> None:
        for name, kind in (("conclusion", Verdict), ("size", Size), ("obstacle", Obstacle)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, kind(getattr(self, name)))

    @property
    def verdict(self) -> str:
        """Return the conclusion in words, such as ``improved, by more than 0.02`` (docs/statistics.md).

        Raises ValueError if the words need a smallest_effect and it is None.
        """
        kind, size, obstacle = self.conclusion, self.size, self.obstacle
        if self.smallest_effect is None and (size or self.underpowered or kind in _WITH_MARGIN):
            raise ValueError(f"smallest_effect is None, must be given for {kind!r} with its qualifiers")
        margin = "" if self.smallest_effect is None else f"{self.smallest_effect:g}"
        count = None if self.clusters is None else self.clusters.count
        one, many = unit_names(count)
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
                units = f"{self.queries if count is None else count} {many}"
                return f"identical ({units}; {self.needed} needed to rule out a loss of {margin})"
            case Verdict.IDENTICAL:
                return "identical"
            case Verdict.NOT_TESTABLE if obstacle is Obstacle.FEW_DIFFERING:
                flipped = self.differing if self.flippable is None else self.flippable
                differing = flipped if self.clusters is None else self.clusters.differing
                return f"not testable ({differing} differing {one if differing == 1 else many})"
            case Verdict.NOT_TESTABLE if obstacle is Obstacle.ONE_HEAVY_QUERY:
                return f"not testable (one {one} has all the weight)"
            case Verdict.NOT_TESTABLE if obstacle is Obstacle.ONE_CLUSTER:
                return "not testable (all queries are of one cluster)"
            case Verdict.NOT_TESTABLE:
                least = f", fewer than {self.least_queries}" if self.least_queries > 2 else ""
                return f"not testable (n = {self.queries}{least})"
            case Verdict.UNDECIDED if self.mde is None:
                return "undecided (zero variance)"
            case Verdict.UNDECIDED:
                lacking = f" > {margin}" if self.underpowered else ""
                return f"undecided (MDE {format_distinct_effect(self.mde, self.smallest_effect)}{lacking})"
            case _:
                assert_never(kind)
