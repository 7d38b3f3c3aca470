"""What a comparison of two systems on one metric came to: every number that is kept of it, and its words."""

from dataclasses import dataclass

from ndcg_core.statistics.estimates.descriptive import Descriptive
from ndcg_core.statistics.verdicts.state import State
from ndcg_core.statistics.verdicts.verdict import Conclusion, Obstacle, Size, Verdict, sentence


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of queries that a comparison's tests flip as wholes.

    count: >= 1. differing: clusters that the test can flip. smallest, largest: queries in one cluster, >= 1.
    effective: number of clusters of equal weight that would settle as much, in [1, count].
    """

    count: int
    differing: int
    smallest: int
    largest: int
    effective: float


@dataclass(frozen=True, slots=True)
class ProxyCorrected:
    """A difference by a few careful judgments and many proxy ones (`estimates.prediction_powered`).

    difference: mean difference of the careful judgments, corrected by the proxy ones, in the metric's unit.
    low, high: bounds of its (1 - alpha) interval, not adjusted for the family, never wider than Student's t interval of
        the careful judgments alone. p_value: two-sided, in [0, 1], not adjusted.
    careful_queries: scored by the careful judgments. cheap_queries: with proxy judgments, those among them.
    correlation: of careful and proxy differences, in [-1, 1]; None if the proxy ones do not vary.
    share: of the proxy differences that was taken, >= 0; 0 if they are of no use.
    saved: number of further careful queries that would make as narrow an interval, >= 0.
    seen_queries: left out, since the proxy judge may have seen their careful grades; None if nobody says which ones.
    why_none: why no difference is given; else None.
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
    """What the unjudged results of two systems mean for the conclusion on one metric (`verdicts.tipping`).

    documents: unjudged documents, >= 0, over all queries, that either system shows within the metric's depth.
    state: the state that stands at `label_factor`; UNKNOWN if it is another one there than on what is judged, or if the
        measure has no expected value.
    label_factor: >= 1, by how much unjudged results may be better or worse than judged ones.
    tipping_factor: the smallest factor of `tipping.FACTORS` that turns the conclusion; None if none of them does.
    low, high: the lowest and the highest mean difference over all grades of the unjudged results, in the metric's unit;
        None if the metric has no bounds in closed form.
    is_declared: whether the judgments are declared complete, so that unjudged results are not relevant.
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
    """How far the results of two systems are judged, and their difference on fully judged queries.

    baseline_judged, candidate_judged: mean share of a system's results within the metric's cutoff that have a judgment,
        in [0, 1], over the queries that it answered; None if it answered none.
    full_queries: queries, >= 0, on which neither system shows an unjudged result within the cutoff.
    full_difference: (weighted) mean difference on these; None without one. full_low, full_high: bounds of its
        (1 - alpha) interval, by Student's t; None for fewer than two units.
    """

    baseline_judged: float | None
    candidate_judged: float | None
    full_queries: int
    full_difference: float | None
    full_low: float | None
    full_high: float | None

    @property
    def lead(self) -> float:
        """By how much the candidate's share is above the baseline's, in [-1, 1]; 0 where one is not known."""
        if self.baseline_judged is None or self.candidate_judged is None:
            return 0.0
        return self.candidate_judged - self.baseline_judged


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result for one candidate, metric, slice and family.

    baseline, candidate: system ids. metric: its name.
    queries: n >= 0, those that both systems are scored on. differing: queries with a win or a loss.
    wins, ties, losses: queries with a difference > 0, = 0 (magnitude <= 1e-9), < 0.
    difference: (weighted) mean of candidate - baseline, in the metric's unit; None without a query.
    low, high: bounds of its (1 - alpha) confidence interval, not adjusted for the family; None for n < 2.
    p_value: sign-flip p, two-sided, in (0, 1]; of a guardrail one-sided, from its bound; None if not tested.
    p_adjusted: adjusted over the family, in [p_value, 1]; None if p_value is None.
    mde: mean difference, > 0, that the family's test at alpha finds with 80 % power; None for n < 2 and if the
        differences do not vary.
    conclusion: the verdict (docs/statistics.md); also taken from text. size, underpowered, obstacle: its qualifiers
        (`verdicts.verdict.Conclusion`). The sentence is the property `verdict`.
    notes: what to keep in mind, in words; often empty.
    family: name of the comparisons that p_adjusted covers. family_size: number of them that were tested.
    procedure: how p_value and p_adjusted were made; `exact` if all patterns of signs were counted.
    alpha: threshold for p_adjusted, in (0, 1).
    seed, resamples: the settings that repeat the tests. (A large family has fewer bootstrap resamples.)
    exploratory: whether the family only suggests where to look (secondary metrics, slices, pairs).
    attribute, slice: the queries' attribute and value, of a slice; else None.
    baseline_mean: the baseline's (weighted) mean over the queries; None if it is not known.
    smallest_effect: delta, or the guardrail's margin, in the metric's unit; None if none was set.
    simultaneous_low, simultaneous_high: bounds that hold together with those of the whole family at 1 - alpha, the
        source of `size`; None of guardrails, if not tested, and if n is too small for them.
    lower_bound: of a guardrail the lower one-sided (1 - alpha) bound; else None.
    effective_queries: number of equally weighted queries that settle as much, in [1, n]; None without weights.
    unweighted_difference: mean difference if every query counts alike; None without weights.
    descriptive: describes the differences and decides nothing; None for n < 2.
    least_queries: comparisons with fewer queries are not tested; >= 2.
    flippable: queries that the test can flip, >= 1, if weights near 0 leave fewer than differing; else None.
    clusters: the clusters of queries that were flipped as wholes; None if every query is a unit of its own.
    bound_method: of a guardrail the source of lower_bound and p_value: `gaffke`, or `t` if the largest loss of a query
        is not known; else None.
    needed: of a guardrail the number of queries (or clusters) without a difference that rule out a loss of its margin,
        >= 1; None if it is not known.
    harm_p_adjusted: of a guardrail the two-sided p of its difference, adjusted over all guardrails of the evaluation:
        at most alpha with a difference below 0 shows that it is worse. None if not tested.
    queries_needed: number of queries (or clusters) like those observed with which the deciding rule decides with 80 %
        chance, >= 2: of an open guardrail that it holds (or is worse, if the measured loss is beyond the margin); of an
        undecided comparison that a difference of smallest_effect is found. None else, and if no number would do.
    bounded_p_value: of a difference that is shown the two-sided p of Gaffke's bound, in (0, 1], which allows for rare
        losses that the sample does not show; not adjusted. It decides over many evaluations (`over_time`), not
        here. None else, and if the largest loss of a query is not known.
    largest_loss: the most that one query can lose, in the metric's unit, > 0; None if it is not known.
    measured_error: standard error of the difference, in the metric's unit, >= 0; None for fewer than two queries.
    reach, narrow_reach: standard errors from the difference to each end of the interval that holds together with those
        of its whole family, at 1 - alpha and at 1 - 2 alpha; of a guardrail, of the family of its test for harm. None
        if there is no such interval.
    cheap: the difference corrected by proxy judgments, which decides nothing; None without them.
    unjudged: what unjudged results mean for the conclusion; None for rows that do not decide.
    labels: how far both systems are judged; None of slices, pairs and margins of the gate, and if it is not known.

    Fields with a default are younger than some stored records, which lack them. Raises ValueError for a conclusion, a
    size or an obstacle that does not exist.
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
        """The conclusion in words, from the fields (`verdicts.verdict.sentence`; docs/statistics.md)."""
        flipped = self.differing if self.flippable is None else self.flippable
        return sentence(
            self._concluded,
            queries=self.queries,
            differing=flipped if self.clusters is None else self.clusters.differing,
            least_queries=self.least_queries,
            mde=self.mde,
            smallest_effect=self.smallest_effect,
            clusters=None if self.clusters is None else self.clusters.count,
            needed=self.needed,
        )

    @property
    def _concluded(self) -> Conclusion:
        return Conclusion(self.conclusion, self.size, self.underpowered, self.obstacle)
