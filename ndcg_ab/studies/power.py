"""Plan the number of queries for a difference, or the differences that queries can detect: `ndcg-ab power`."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.comparing.sampling import PLAIN, Sampling, clusters_by_prefix, sampling_of_queries
from ndcg_ab.config.model.by_metric import NamedDifference
from ndcg_ab.config.model.inputs.sources import FileSource, ScoresSource
from ndcg_ab.errors import InputError, RuleError, Setting, format_value, shorten
from ndcg_ab.results.codec import json_text
from ndcg_ab.results.numbers import format_figure, signed
from ndcg_ab.sources import external_scores
from ndcg_ab.sources.external_scores import LARGEST, SCORE
from ndcg_ab.sources.queries import pull_clusters, pull_weights
from ndcg_core.measures.metric import nearest_hint
from ndcg_core.measures.notation import ExternalMetric, canonical_name, match_metric
from ndcg_core.measures.score import value_range
from ndcg_core.statistics.estimates.mean_difference import Moments, compute_moments, effective_number
from ndcg_core.statistics.estimates.power import MOST, power_curve, queries_needed
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE

EFFECTS = (0.005, 0.01, 0.02)
QUERIES = (50, 100, 200, 500, 1000, 2000, 5000)
FEW_DIFFERING = 6  # with fewer differing queries, a standard deviation says little about other queries
LEAST_ALPHA = 1e-12  # below, 1 - alpha / 2 is 1 in floating point
ALONE = "for one two-sided comparison alone; each one of a family needs more queries"


@dataclasses.dataclass(frozen=True)
class PowerSettings:
    """The effects and numbers of queries to plan for, and the test.

    Attributes
    ----------
    effects : tuple of float
        Mean differences, > 0, in the metric's unit.
    queries : tuple of int
        Numbers of queries, >= 2.
    alpha, power : float
        Level of the family of comparisons, and power of the test.
    comparisons : int
        Number of comparisons, >= 1, in the family over which p-values are adjusted. The correlation of future
        candidates is unknown, so each comparison is planned at Bonferroni's alpha / comparisons.
    """

    effects: tuple[float, ...]
    queries: tuple[int, ...]
    alpha: float
    power: float
    comparisons: int = 1

    @property
    def level(self) -> float:
        """Return the significance level of one comparison: alpha divided by the number of comparisons."""
        return self.alpha / self.comparisons

    @property
    def holds(self) -> str:
        """Return the sentence part that says for which comparisons the plan holds: one alone, or each of a family."""
        if self.comparisons == 1:
            return ALONE
        return f"for each of {self.comparisons:,} two-sided comparisons adjusted together, by Bonferroni's bound"


class DetectableEffect(NamedTuple):
    """An effect and the number of queries that detect it.

    Attributes
    ----------
    effect : float
        Mean difference, in the metric's unit.
    queries : int or None
        Number of queries; None if 10^12 are not enough.
    """

    effect: float
    queries: int | None


@dataclasses.dataclass(frozen=True)
class Plan:
    """The numbers of queries and the detectable differences planned for one comparison.

    Attributes
    ----------
    baseline, candidate, metric : str or None
        The comparison; None if only a deviation was given.
    queries : int or None
        Number of queries with a value for both systems; None if only a deviation was given.
    unpaired : int
        Number of queries with only one value, which are left out.
    effective_queries : float or None
        Number of equally weighted queries with as much information; None without weights.
    clusters, effective_clusters : int or float, or None
        Number of clusters, and number of equally weighted ones with as much information; None without clusters.
    differing : int or None
        Number of queries with a difference; None if only a deviation was given.
    is_drawn : bool
        Whether the queries were drawn from a log, as future ones will be; the difference is then a mean over the log.
    difference : float or None
        (Weighted) mean of candidate - baseline; None without queries.
    deviation : float or None
        Standard error of the mean * sqrt(queries); without weights and clusters, the standard deviation (n - 1 in the
        divisor). None for fewer than two queries.
    mde : float or None
        Mean difference that the present queries detect, in a family of the given number of comparisons.
    needed : tuple of DetectableEffect
        Number of queries for each effect.
    curve : tuple of DetectableEffect
        Detectable difference for each number of queries.
    obstacle : str or None
        Reason why nothing can be planned, in words; `mde` is then None, and `needed` and `curve` are empty.
    questions : tuple of str
        Warnings about effects of at least half of the metric's range.
    """

    baseline: str | None = None
    candidate: str | None = None
    metric: str | None = None
    queries: int | None = None
    unpaired: int = 0
    effective_queries: float | None = None
    clusters: int | None = None
    effective_clusters: float | None = None
    differing: int | None = None
    is_drawn: bool = False
    difference: float | None = None
    deviation: float | None = None
    mde: float | None = None
    needed: tuple[DetectableEffect, ...] = ()
    curve: tuple[DetectableEffect, ...] = ()
    obstacle: str | None = None
    questions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        if self.candidate is None:
            return f"standard deviation {self.deviation:g}"
        return f"{self.candidate} against {self.baseline}, {self.metric}"

    def freedom(self, n: int) -> float | None:
        """Return the degrees of freedom of n queries with weights and clusters like the present ones; None means n - 1.

        The effective number of queries or clusters is assumed to be proportional to n.
        """
        effective = self.effective_queries if self.clusters is None else self.effective_clusters
        if effective is None or self.queries is None or effective == self.queries:
            return None
        return max(1.0, n * effective / self.queries - 1)

    def detectable(self, queries: Sequence[int], settings: PowerSettings) -> list[float]:
        """Return the mean difference that each number of queries detects, if they vary as the present queries do."""
        assert self.deviation is not None
        return power_curve(queries, self.deviation, settings.level, settings.power, self.freedom)

    def needed_for(self, effect: float, settings: PowerSettings) -> DetectableEffect:
        """Return the effect with the smallest number of queries that detect it. Queries vary as the present ones do.

        The number is None if 10^12 queries are not enough.
        """
        assert self.deviation is not None
        if self.detectable([MOST], settings)[0] > effect:
            return DetectableEffect(effect, None)
        count = queries_needed(effect, self.deviation, settings.level, settings.power, self.freedom)
        return DetectableEffect(effect, count)


class Scores(NamedTuple):
    """The values of several systems and metrics by query, as read from a file or an argument.

    path: path of the file, or name of the argument. values: (system_id, metric) -> query_id -> value; metrics have
    canonical names.
    """

    path: Path
    values: dict[tuple[str, str], dict[str, float]]

    @property
    def systems(self) -> list[str]:
        """Return the systems in the order of the file."""
        return list(dict.fromkeys(system for system, _ in self.values))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for _, metric in self.values))


# ---- what the options say


def parse_settings(
    effects: Sequence[float] | None, queries: Sequence[int] | None, alpha: float, power: float, comparisons: int = 1
) -> PowerSettings:
    """Return the settings that options give, without duplicate values.

    effects, queries: None for the defaults `EFFECTS` and `QUERIES`. Raises InputError if a value is out of range; the
    message names the option.
    """
    for effect in effects or ():
        if not 0 < effect < math.inf:
            refuse("--effect", f"{effect:g}", "above 0 and finite, in the metric's unit, such as 0.005")
    for count in queries or ():
        if not 2 <= count <= MOST:
            refuse("--queries", count, f"a whole number from 2 to {MOST:,}")
    if not LEAST_ALPHA <= alpha < 0.5:
        refuse("--alpha", f"{alpha:g}", f"at least {LEAST_ALPHA:g} and below 0.5, such as 0.05")
    if not alpha < power < 1:
        refuse("--power", f"{power:g}", f"above alpha ({alpha:g}) and below 1, such as 0.8")
    if not 1 <= comparisons <= alpha / LEAST_ALPHA:
        refuse("--comparisons", comparisons, f"a whole number from 1 to {alpha / LEAST_ALPHA:,.0f}")
    numbers = tuple(sorted(set(queries or QUERIES)))
    return PowerSettings(tuple(dict.fromkeys(effects or EFFECTS)), numbers, alpha, power, comparisons)


def refuse(option: str, value: object, rule: str) -> NoReturn:
    """Raise InputError because the value of an option breaks a rule: ``--power 2: must be above …``."""
    raise InputError(Setting(option), f" {value}: must be {rule}")


def make_plans(
    deviation: float | None,
    scores: Path | Scores | None,
    baseline: str | None,
    candidates: Sequence[str] | None,
    metrics: Sequence[str] | None,
    settings: PowerSettings,
    weights: Path | FileSource | None = None,
    clusters: Path | FileSource | None = None,
    cluster_prefix: str | None = None,
) -> list[Plan]:
    """Make one plan from a standard deviation, or one for each candidate and metric of per-query values.

    deviation: standard deviation of the differences, in the metric's unit. scores: per-query values, or the path of
    their file; exactly one of deviation and scores is needed. baseline, candidates, metrics: names to choose from the
    values; None for the first system, all others and all metrics. weights, clusters: files with weights and clusters of
    the queries, as in the comparison that the values come from. cluster_prefix: a text; query ids that are equal up to
    its last occurrence are one cluster.

    Raises InputError if arguments exclude each other, a name is unknown, or a file or value is invalid.
    """
    if (deviation is None) == (scores is None):
        problem = "neither is given" if scores is None else "both are given"
        one, other = Setting("--deviation"), Setting("--scores")
        rule = f": {problem}; exactly one of them is needed: "
        raise InputError(one, ", ", other, rule, one, " 0.1, or ", other, " and what compare --per-query FILE wrote")
    if scores is not None:
        if clusters and cluster_prefix:
            rule = ": both name the clusters; take one of the two out"
            raise InputError(Setting("--clusters"), ", ", Setting("--cluster-prefix"), rule)
        read = read_scores(scores) if isinstance(scores, Path) else scores
        grouped = pull_clusters(as_file_source(clusters)) if clusters else None
        if cluster_prefix:
            grouped = clusters_by_prefix({query for values in read.values.values() for query in values}, cluster_prefix)
        weighing = pull_weights(as_file_source(weights)) if weights else None
        return plans_from_scores(read, baseline, candidates, metrics, settings, sampling_of_queries(weighing, grouped))
    of_scores: dict[str, object] = {"--baseline": baseline, "--candidate": candidates, "--metric": metrics}
    of_scores |= {"--weights": weights, "--clusters": clusters, "--cluster-prefix": cluster_prefix}
    for option in (name for name, value in of_scores.items() if value):
        about = ": is about the file of ", Setting("--scores"), "; leave it out with ", Setting("--deviation")
        raise InputError(Setting(option), *about)
    assert deviation is not None
    if not 0 <= deviation <= LARGEST:
        refuse("--deviation", f"{deviation:g}", f"from 0 to {LARGEST:g}, in the metric's unit, such as 0.1")
    if deviation == 0:
        return [Plan(deviation=0.0, obstacle="without any spread two queries detect every effect")]
    return [plan_for_settings(Plan(deviation=deviation), settings)]


def as_file_source(file: Path | FileSource) -> FileSource:
    return FileSource(file=file) if isinstance(file, Path) else file


# ---- per-query values


def read_scores(path: Path) -> Scores:
    """Read a file of per-query values; raise InputError for a missing, repeated or non-numeric value.

    Rows with means are left out.
    """
    table = external_scores.Scores(ScoresSource(file=path), Path()).read_all()
    return parse_scores(table.filter(pc.invert(table["is_mean"])), path)


def parse_scores(table: pa.Table, path: Path) -> Scores:
    """Convert a table with the columns of SCORE to values by system, metric and query.

    path: the file that messages name. Raises InputError for a repeated or too large value, or two definitions of a
    metric.
    """
    columns = [table[field.name].to_pylist() for field in SCORE.fields]
    spelt = {text: canonical_name(text) for text in set(columns[2])}
    values: dict[tuple[str, str], dict[str, float]] = {}
    hashes: dict[str, str | None] = {}
    for row, (system, query, text, value, metric_hash) in enumerate(zip(*columns, strict=True), start=1):
        metric = spelt[text]
        queries = values.setdefault((system, metric), {})
        problem = None
        if query in queries:
            problem = "is here a second time; it must come once"
        elif abs(value) > LARGEST:
            problem = f"is {value:g}; must be from {-LARGEST:g} to {LARGEST:g}"
        elif hashes.setdefault(metric, metric_hash) != metric_hash:
            problem = f"has metric_hash {metric_hash}, rows before it {hashes[metric]}; one definition is needed"
        if problem:
            where = f"{path}, row {row} (without the header)"
            raise InputError(
                f"{where}: {shorten(metric)} of system {format_value(system)} on query {format_value(query)} {problem}"
            )
        queries[query] = value
    return Scores(path, values)


def plans_from_scores(
    scores: Scores,
    baseline: str | None,
    candidates: Sequence[str] | None,
    metrics: Sequence[str] | None,
    settings: PowerSettings,
    sampling: Sampling = PLAIN,
) -> list[Plan]:
    """Make one plan for each chosen candidate and metric.

    baseline: None for the first system. candidates: None for all other systems. metrics: None for all metrics. Raises
    InputError for an unknown name, a candidate that is the baseline, or values of only one system.
    """
    if len(scores.systems) < 2:
        raise InputError(f"{scores.path}: holds the values of {scores.systems[0]!r} alone; two systems are needed")
    base = scores.systems[0] if baseline is None else check_known_name(scores, "--baseline", baseline, scores.systems)
    chosen = [check_known_name(scores, "--candidate", name, scores.systems) for name in dict.fromkeys(candidates or ())]
    if base in chosen:
        first = "" if baseline is not None else ", as the first system of the file"
        raise InputError(Setting("--candidate"), f" {format_value(base)}: is the baseline{first}; name another one")
    names = [
        check_known_name(scores, "--metric", match_metric(text, scores.metrics), scores.metrics)
        for text in metrics or ()
    ]
    return [
        plan_from_differences(scores, base, candidate, metric, settings, sampling)
        for candidate in chosen or [name for name in scores.systems if name != base]
        for metric in dict.fromkeys(names or scores.metrics)
    ]


def check_known_name(scores: Scores, option: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    rule = f"is not in {scores.path} (there: {', '.join(names)}){nearest_hint(name, names)}"
    raise InputError(Setting(option), f" {format_value(name)}: {rule}")


# ---- answers


def plan_from_differences(
    scores: Scores, baseline: str, candidate: str, metric: str, settings: PowerSettings, sampling: Sampling = PLAIN
) -> Plan:
    """Make the plan for one candidate and metric from their per-query values.

    If nothing can be planned, for example because too few queries differ, the plan's `obstacle` says why. Raises
    InputError if a query lacks a weight or a cluster, or if an effect exceeds the metric's range.
    """
    ours, theirs = (scores.values.get((system, metric), {}) for system in (candidate, baseline))
    queries = sorted(query for query in ours if query in theirs)
    unpaired = len(ours) + len(theirs) - 2 * len(queries)
    if sampling.log is not None:  # other queries have no known probability
        queries = [query for query in queries if query in sampling.log.weights]
    values = np.array([ours[query] - theirs[query] for query in queries])
    refuse_lacking("--weights", "weight", queries, sampling.weights)
    refuse_lacking("--clusters", "cluster", queries, sampling.clusters)
    scales, weights = sampling.scales_and_weights(queries)
    clusters = sampling.clusters_in_order(queries)
    n, differing, is_drawn = len(values), int((np.abs(values) > TIE_TOLERANCE).sum()), sampling.log is not None
    effective = None if weights is None else effective_number(weights)
    warnings = warn_of_large_effects(settings.effects, metric, [*ours.values(), *theirs.values()])
    plan = Plan(
        baseline, candidate, metric, n, unpaired, effective, differing=differing, is_drawn=is_drawn, questions=warnings
    )
    scaled = values if scales is None else scales * values
    if n < 2:
        mean = float(scaled[0]) if n else None
        have = "one query has a value" if n else "no query has a value"
        return dataclasses.replace(plan, difference=mean, obstacle=f"{have} for both systems; two at least are needed")
    members = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    if members is not None and int(members.max()) == 0:
        return dataclasses.replace(plan, clusters=1, obstacle="all queries are of one cluster; two at least are needed")
    moments = compute_moments(scaled, weights, members, long_tailed=is_drawn)
    obstacle = describe_lack_of_spread(n, differing, moments)
    plan = dataclasses.replace(
        plan,
        difference=moments.mean,
        deviation=moments.error * math.sqrt(n),
        effective_queries=moments.freedom + 1 if is_drawn and members is None else effective,  # fewer by long tails
        clusters=None if members is None else moments.n,
        effective_clusters=None if members is None else moments.freedom + 1,
        obstacle=obstacle,
    )
    return plan if obstacle else plan_for_settings(plan, settings)


def describe_lack_of_spread(queries: int, differing: int, moments: Moments) -> str | None:
    """Return why differences are too much alike to plan with, in words; None if they are not.

    queries: number of queries. differing: number of queries with a difference. moments: those of the differences.
    """
    if differing == 0:
        return f"none of the {queries:,} queries differs; there is no spread to plan with"
    if differing < FEW_DIFFERING:
        differ = f"only {differing} of the {queries:,} queries differ{'s' * (differing == 1)}"
        return f"{differ}; a standard deviation from so few says little about others"
    if moments.deviation == 0:
        return f"all {queries:,} queries differ by {signed(moments.mean)}; there is no spread to plan with"
    return None


def warn_of_large_effects(effects: Sequence[float], metric: str, values: Sequence[float]) -> tuple[str, ...]:
    """Return warnings, as questions, about effects of at least half of the metric's range.

    The range is that of the built-in metric of this name. Without such a metric, or if the values do not fit into its
    range, there is no warning. Raises InputError for an effect that exceeds the range.
    """
    limits = value_range(ExternalMetric(external_name=metric))
    if limits is None or max(values, default=0.0) - min(values, default=0.0) > limits.width:
        return ()
    differences = [NamedDifference("--effect", metric, effect) for effect in effects]
    try:
        for each in differences:
            each.refuse_if_beyond_range(limits)
    except RuleError as error:
        raise InputError(*error.parts) from None
    return tuple(question for each in differences if (question := each.size_warning(limits)))


def refuse_lacking(option: str, noun: str, queries: Sequence[str], values: Mapping[str, object] | None) -> None:
    """Raise InputError if a query has no value.

    values: query_id -> value; None if no query needs one. option, noun: the option, and the word for a value.
    """
    lacking = [] if values is None else [query for query in queries if query not in values]
    if lacking:
        have = "query has" if len(lacking) == 1 else "queries have"
        problem = f": {len(lacking):,} {have} a value and no {noun} (such as {format_value(lacking[0])})"
        raise InputError(Setting(option), problem)


def plan_for_settings(plan: Plan, settings: PowerSettings) -> Plan:
    """Return the plan with the numbers that the settings ask for.

    They are the number of queries for each effect, the detectable difference for each number of queries, and the
    difference that the present queries detect.
    """
    queries = sorted({*settings.queries, *([plan.queries] if plan.queries else [])})
    return dataclasses.replace(
        plan,
        mde=plan.detectable([plan.queries], settings)[0] if plan.queries else None,
        needed=tuple(plan.needed_for(effect, settings) for effect in settings.effects),
        curve=tuple(map(DetectableEffect, plan.detectable(queries, settings), queries)),
    )


# ---- in words


def format_query_count(queries: int | None) -> str:
    return f"more than {MOST:,}" if queries is None else f"{queries:,}"


def format_answer(plan: Plan, settings: PowerSettings) -> str:
    """Return a sentence on a plan.

    It has the number of queries that the first effect needs, and the difference that the present queries detect, or
    else the reason why nothing can be planned.
    """
    if plan.obstacle:
        return f"{plan.name}: {plan.obstacle}."
    effect, queries = plan.needed[0]
    goal = f"to detect {effect:g} with {100 * settings.power:g} % power"
    if plan.queries is None or plan.mde is None:
        return f"{plan.name}: {goal} you need {format_query_count(queries)} queries."
    present = f"the {plan.queries:,} here detect {format_figure(plan.mde)}"
    if queries is not None and queries <= plan.queries:
        return f"{plan.name}: {goal} {format_query_count(queries)} queries like these are enough; {present}."
    return f"{plan.name}: {goal} you need {format_query_count(queries)} queries like these; {present}."


def plans_to_json(plans: Sequence[Plan], settings: PowerSettings) -> str:
    content = {
        "alpha": settings.alpha,
        "power": settings.power,
        "family": settings.comparisons,
        "holds": settings.holds,
        "comparisons": [
            vars(plan)
            | {"needed": [need._asdict() for need in plan.needed]}
            | {"curve": [{"queries": row.queries, "effect": row.effect} for row in plan.curve]}
            | {"sentence": format_answer(plan, settings)}
            for plan in plans
        ],
    }
    return json_text(content)
