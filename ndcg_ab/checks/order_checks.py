"""Check how far a value depends on the order of equal scores, and on the choice between scores and given ranks."""

import dataclasses
import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow.compute as pc

from ndcg_ab.checks.findings import id_examples, make_finding
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.loading import list_system_rows, paused_garbage_collection, read_by_system
from ndcg_ab.scoring.metric_tables import EVERYTHING, deepest_cutoff, rank_rule, reads_below_cutoff
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Result, can_order_change_value, score_query, shared_ideal, tie_bounds
from ndcg_core.statistics.averages import mean, weighted_mean

UNSEEN = 0.0001  # change of a mean by ties below which no range is reported
WORTH_A_WARNING = 0.001  # change of a mean by ties from which on a note becomes a warning
BOUNDED = 200_000  # results up to which all orders of ties are bounded


@dataclasses.dataclass(frozen=True)
class ScoredSystem:
    """The values of one metric for one system, by scores, and the judgments of the queries with ties.

    Attributes
    ----------
    metric : Metric
        The metric.
    system_id : str
        The system.
    values : mapping of str to float
        Query_id -> value.
    grades : mapping
        Query_id -> doc_id -> grade.
    highest : float
        Highest grade of all judgments.
    weights : mapping of str to float, or None
        Query_id -> weight; None for equal weights.
    ideals : dict
        Cache of the method `ideal`, by (metric hash, query_id).
    """

    metric: Metric
    system_id: str
    values: Mapping[str, float]
    grades: Mapping[str, Mapping[str, float]]
    highest: float
    weights: Mapping[str, float] | None
    ideals: dict[tuple[str, str], float | None]

    def ideal(self, query_id: str) -> float | None:
        """Return the normalizing divisor that all rankings of a query share, or None.

        None if the divisor depends on the ranking, or a query cannot be scored.
        """
        key = (self.metric.hash, query_id)
        if key not in self.ideals:
            self.ideals[key] = shared_ideal(self.metric, self.grades[query_id], self.highest)
        return self.ideals[key]

    def mean(self, values: Mapping[str, float]) -> float:
        """Return the mean of the values, weighted if queries have weights; 0 without values.

        values: query_id -> value.
        """
        if self.weights is None:
            return mean(list(values.values())) or 0.0
        return weighted_mean(list(values.values()), [self.weights[query] for query in values]) or 0.0


@paused_garbage_collection()
def check_order(engine: Engine, metrics: Sequence[Metric], weights: Mapping[str, float] | None = None) -> list[Finding]:
    """Return findings on ranks that only ties decide, and on rank columns that disagree with scores.

    Each finding is about one system and one metric. Metrics that use the rank column (ties = given) are skipped.
    weights: query_id -> weight; None: equal weights.
    """
    groups: dict[OrderCheckKey, list[Metric]] = defaultdict(list)
    for metric in sorted(metrics, key=lambda metric: (metric.cutoff or EVERYTHING, metric.name)):
        if metric.ties != "given":
            is_condensed = metric.unjudged == "condense"
            key = OrderCheckKey(rank_rule(metric), deepest_cutoff([metric]), is_condensed, reads_below_cutoff(metric))
            groups[key].append(metric)
    findings: dict[OrderCheckKey, list[Finding]] = {}
    for rule in dict.fromkeys(key.rule for key in groups):
        keys = [key for key in groups if key.rule == rule]
        ranks = find_rank_score_disagreements(engine, keys)
        findings |= {key: [*check_group(engine, key, groups[key], ranks, weights)] for key in keys}
    order = {name: index for index, (name,) in enumerate(engine.rows("system", ("system_id",), order="position"))}
    return sorted(
        (finding for key in groups for finding in findings[key]), key=lambda finding: order[finding.system or ""]
    )


class OrderCheckKey(NamedTuple):
    """The key of a group of metrics that are checked together.

    Attributes
    ----------
    rule : str
        Rule by which results are ranked.
    cutoff : int
        Number of top ranks that the metrics read.
    is_condensed : bool
        True if unjudged results are left out.
    beyond : bool
        True if a value can depend on results below the cutoff.
    """

    rule: str
    cutoff: int
    is_condensed: bool
    beyond: bool

    @property
    def depth_to_check(self) -> int:
        """The depth to check; unlimited for a condensed ranking, whose judged documents can be at any rank."""
        return EVERYTHING - 1 if self.is_condensed else self.cutoff


# (system, query) -> the first rank at which given ranks and scores may disagree; system -> query -> the first rank at
# which a result has another score by given ranks; both by one rank rule
OwnRanks = tuple[Mapping[tuple[str, str], int], Mapping[str, Mapping[str, int]]]


def find_rank_score_disagreements(engine: Engine, keys: Sequence[OrderCheckKey]) -> OwnRanks:
    """Find the first rank, per system and query, at which the rank column and the scores disagree.

    Returns two mappings. The first is (system, query) -> the first rank at which a quick test suspects a disagreement.
    The second is system -> query -> the first rank at which there is a disagreement: the result that has this rank by
    the rank column has another score than the result that has it by score. Both mappings are empty if only the needed
    results of every ranking were loaded.
    """
    if not engine.may_have_value("reduced", "no"):  # in what was reduced scores fall where ranks rise
        return {}, {}
    reach = max(key.depth_to_check for key in keys)
    engine.build("suspicious_query", cutoff=reach, rank_rule=keys[0].rule)
    columns = ("system_id", "query_id", "first_rank")
    suspicious = {(system, query): rank for system, query, rank in engine.iter_rows("suspicious_query", columns)}
    disagreeing: dict[str, dict[str, int]] = defaultdict(dict)
    if suspicious:  # else spares a look at every result
        beyond = any(key.beyond for key in keys)
        engine.build("contending_result", cutoff=EVERYTHING - 1 if beyond else max(key.cutoff for key in keys))
        engine.build("disagreeing_query", cutoff=reach)
        for system, query, rank in engine.iter_rows("disagreeing_query", columns, order="query_id"):
            disagreeing[system][query] = rank
    return suspicious, disagreeing


def check_group(
    engine: Engine, key: OrderCheckKey, metrics: Sequence[Metric], ranks: OwnRanks, weights: Mapping[str, float] | None
) -> Iterator[Finding]:
    """Yield the findings on ties, and on rank columns that disagree with scores, for one group of metrics.

    key: the key of the group. ranks: the result of `find_rank_score_disagreements`. weights: query_id -> weight; None:
    equal weights.
    """
    engine.build("tied_query", cutoff=key.cutoff, rank_rule=key.rule)
    tied = read_by_system(engine, "tied_query", ("query_id", "ranks"))
    disagree = any(rank <= key.depth_to_check for queries in ranks[1].values() for rank in queries.values())
    if not tied and not disagree:
        return
    if disagree:
        engine.build("own_order", depth=EVERYTHING if key.beyond else key.cutoff)
    too_many = is_beyond_bound(engine, key)
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    judgment = ("query_id", "doc_id", "grade")
    for query_id, doc_id, grade in () if too_many else engine.iter_rows("sensitive_judgment", judgment):
        grades[query_id][doc_id] = grade
    judgments = (grades, engine.rows("highest_grade")[0][0], weights, dict[tuple[str, str], float | None]())
    columns = ("query_id", "doc_id", "score", "rank_given")
    sensitive = {} if too_many else read_by_system(engine, "sensitive_doc", columns)
    values = [
        read_by_system(engine, "query_score", ("query_id", "value"), {"metric_id": metric.hash}) for metric in metrics
    ]
    for (system_id,) in engine.rows("system", ("system_id",), order="position"):  # one at a time: memory
        results: dict[str, list[Result]] = defaultdict(list)
        for query_id, *row in list_system_rows(sensitive, system_id):
            results[query_id].append(Result(*row))
        tied_counts = dict(list_system_rows(tied, system_id))
        for metric, every in zip(metrics, values, strict=True):
            scored = ScoredSystem(metric, system_id, dict(list_system_rows(every, system_id)), *judgments)
            yield from check_rank_column(engine, scored, ranks, key.depth_to_check)
            if tied_counts:
                yield make_tie_finding(scored, results, tied_counts)


def is_beyond_bound(engine: Engine, key: OrderCheckKey) -> bool:
    """Return whether the queries with ties have more than `BOUNDED` results in total.

    Only ties within the cutoff of `key` count. As a side effect, the table `sensitive_doc` is built, unless the results
    within the cutoff are too many already.
    """
    if (pc.sum(engine.read("tied_query", ("looked_at",))["looked_at"]).as_py() or 0) > BOUNDED:
        return True
    engine.build("sensitive_doc", everything=key.beyond)
    return engine.count("sensitive_doc") > BOUNDED


def check_rank_column(engine: Engine, scored: ScoredSystem, ranks: OwnRanks, reach: int) -> Iterator[Finding]:
    """Yield a finding if the rank column orders the first `reach` results differently from the scores.

    The finding compares the mean by scores with the mean by the rank column. ranks: the result of
    `find_rank_score_disagreements`.
    """
    metric, system_id, values = scored.metric, scored.system_id, scored.values
    suspicious, disagreeing = ranks
    queries = [
        query
        for query, rank in disagreeing.get(system_id, {}).items()
        if rank <= reach and suspicious[system_id, query] <= reach
    ]
    if not queries:
        return
    by_rank = dataclasses.replace(metric, ties="given")
    moved = dict(values)
    where = {"system_id": system_id}
    for grades, all_grades, alike in engine.iter_rows("own_order", ("grades", "judged", "query_ids"), where=where):
        value = score_of_order(by_rank, grades, all_grades, scored.highest)
        affected = (query for query in alike if query in values and suspicious[system_id, query] <= reach)
        moved.update((query, value) for query in affected)
    by_score, there = scored.mean(values), scored.mean(moved)
    message = (
        f"system {system_id}: its rank column disagrees with its scores in {queries_text(len(queries))} (such as"
        f" {queries[0]!r}); scores decide: {metric.name} is {by_score:.4f}, by its ranks it would be {there:.4f}; if"
        f" the ranks are right → --metric {shlex.quote(by_rank.name)}"
    )
    row = (len(queries), system_id, metric.name, abs(there - by_score), id_examples(queries))
    is_equal = all(math.isclose(moved[query], value, abs_tol=UNSEEN**2) for query, value in values.items())
    yield make_finding("rank_disagrees", message, *row, severity="note" if is_equal else None)


def score_of_order(by_rank: Metric, grades: Sequence[float | None], judged: Sequence[float], highest: float) -> float:
    """Return the value of a metric for one query whose results are given by their grades; 0 if it cannot be scored.

    by_rank: the metric, with ties = given. grades: the grades of the results in rank order; None: unjudged. judged: the
    grades of all judged documents of the query. highest: the highest grade of all judgments.
    """
    results = [Result(str(index), rank_given=index) for index in range(len(grades))]
    judgments = {str(index): grade for index, grade in enumerate(grades) if grade is not None}
    others = Counter(judged) - Counter(judgments.values())
    judgments |= {f"not returned {index}": grade for index, grade in enumerate(others.elements())}
    return score_query(by_rank, results, judgments, highest) or 0.0


def make_tie_finding(
    scored: ScoredSystem, answers: Mapping[str, Sequence[Result]], tied_counts: Mapping[str, int]
) -> Finding:
    """Return a finding on the number of ranks that ties decide, with bounds of the mean over all orders of ties.

    The finding has no bounds if `answers` is empty or if the metric does not allow bounds. answers: query_id ->
    results; empty if there are too many to compute bounds. tied_counts: query_id -> number of tied ranks within the
    metric's depth.
    """
    metric, system_id = scored.metric, scored.system_id
    decided = sum(tied_counts.values())
    where = (f"top-{metric.cutoff} " if metric.cutoff else "") + ("place" if decided == 1 else "places")
    start = (
        f"system {system_id}: equal scores decide {decided} {where} in {queries_text(len(tied_counts))} (such as"
        f" {min(tied_counts)!r}), ordered here by ties = {metric.ties}"
    )
    examples = id_examples(sorted(tied_counts))
    if not answers or metric.has_own_ideal or not metric.traits.is_monotone:
        return make_finding("tied_places", start, decided, system_id, metric.name, examples=examples)
    low, expected, high = mean_bounds(scored, answers)
    middle = "" if expected is None else f", expected {expected:.4f}"
    message = (
        f"{start}; over their orders {metric.name} lies between {low:.4f} and {high:.4f}{middle}"
        f" (here {scored.mean(scored.values):.4f})"
    )
    if high - low <= UNSEEN:
        message = f"{start}; their order moves the mean of {metric.name} by less than {UNSEEN:g}"
    severity = None if high - low > WORTH_A_WARNING else "note"
    return make_finding("tied_places", message, decided, system_id, metric.name, high - low, examples, severity)


def mean_bounds(scored: ScoredSystem, tied: Mapping[str, Sequence[Result]]) -> tuple[float, float | None, float]:
    """Return the lowest, expected and highest mean over all orders of ties.

    The expected mean is None for metrics that are not sums over ranks. tied: query_id -> results of a query with ties.
    """
    metric, values = scored.metric, scored.values
    worst, expected, best = dict(values), dict(values), dict(values)
    for query, results in tied.items():
        if query in values and can_order_change_value(metric, results, scored.grades[query]):
            bounds = tie_bounds(metric, results, scored.grades[query], scored.highest, scored.ideal(query))
            worst[query], best[query] = bounds.worst, bounds.best
            expected[query] = values[query] if bounds.expected is None else bounds.expected
    middle = scored.mean(expected) if metric.traits.is_additive else None
    return scored.mean(worst), middle, scored.mean(best)


# ---- without judgments


def check_order_alone(engine: Engine, metric: Metric) -> Iterator[Finding]:
    """Yield findings on ties within a metric's depth, and on rank columns that disagree with the scores there.

    Nothing is yielded for a metric with ties = given or unjudged = condense.
    """
    if metric.ties == "given" or metric.unjudged == "condense":  # what stays in a condensed ranking is not known
        return
    cutoff, rule = deepest_cutoff([metric]), rank_rule(metric)
    engine.build("tied_query", cutoff=cutoff, rank_rule=rule)
    engine.build("suspicious_query", cutoff=cutoff, rank_rule=rule)
    engine.build("disagreeing_query", cutoff=cutoff)
    columns = ("system_id", "query_id", "ranks")
    where = f"top-{metric.cutoff} " if (metric.cutoff or EVERYTHING) < EVERYTHING else ""
    for (name,) in engine.rows("system", ("system_id",), order="position"):
        other, tied = (
            [row[1:] for row in engine.rows(table, columns, where={"system_id": name}, order="query_id")]
            for table in ("disagreeing_query", "tied_query")
        )
        for code, severity, rows, observation in (
            ("rank_disagrees", "warning", other, "its rank column disagrees with its scores, of which scores decide"),
            ("tied_places", "note", tied, f"equal scores decide {sum(row[1] for row in tied)} {where}places"),
        ):
            if rows:
                message = f"system {name}: {observation}, in {queries_text(len(rows))} (such as {rows[0][0]!r})"
                examples = id_examples([query_id for query_id, _ in rows])
                count = len(rows) if code == "rank_disagrees" else sum(row[1] for row in rows)
                yield make_finding(code, message, count, name, metric.name, None, examples, severity)
