"""How far a value depends on the order of equal scores, and on whether scores or ranks are believed."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ndcg_ab.engines.base import Engine
from ndcg_ab.evaluation.examples import MOST
from ndcg_ab.evaluation.many_objects import many_objects
from ndcg_ab.evaluation.metric_tables import EVERYTHING, deepest_cutoff, looks_beyond, rank_rule
from ndcg_ab.evaluation.outcome import Finding
from ndcg_ab.evaluation.phrases import queries_text
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Result, score_query
from ndcg_core.measures.ties import tie_bounds
from ndcg_core.statistics.averages import mean, weighted_mean

UNSEEN = 0.0001  # what ties must move a mean by to be told as a range
WORTH_A_WARNING = 0.001  # how far ties may move a mean before it is more than a note
BOUNDED = 200_000  # results that are ordered again and again to bound what ties can do


@dataclasses.dataclass(frozen=True)
class _Judged:
    """The judgments of the queries with ties, the highest grade of all, and what queries weigh (None: all alike)."""

    grades: Mapping[str, Mapping[str, float]]
    highest: float
    weights: Mapping[str, float] | None

    def mean(self, values: Mapping[str, float]) -> float:
        """The mean over queries, weighted as the tables' means are; 0 of nothing."""
        if self.weights is None:
            return mean(list(values.values())) or 0.0
        return weighted_mean(list(values.values()), [self.weights[query] for query in values]) or 0.0


@many_objects()
def check_order(engine: Engine, metrics: Sequence[Metric], weights: Mapping[str, float] | None = None) -> list[Finding]:
    """Findings about places decided by ties, and about ranks that disagree with the scores.

    Each is about one metric, and what it says does not depend on the others. weights: of the queries, where the means
    are weighted.
    """
    groups: dict[tuple[int, str, bool, bool], list[Metric]] = defaultdict(list)
    for metric in sorted(metrics, key=lambda metric: (metric.cutoff or EVERYTHING, metric.name)):
        if metric.ties != "given":
            is_condensed = metric.unjudged == "condense"
            groups[deepest_cutoff([metric]), rank_rule(metric), is_condensed, looks_beyond(metric)].append(metric)
    found = [finding for group in groups.values() for finding in check_group(engine, group, weights)]
    places = [name for (name,) in engine.rows("system", ("system_id",), order="place")]
    return sorted(found, key=lambda finding: places.index(finding.system or ""))


def check_group(engine: Engine, metrics: Sequence[Metric], weights: Mapping[str, float] | None) -> list[Finding]:
    """The findings of metrics that order results alike and look at the same places."""
    first = metrics[0]
    cutoff, rule = deepest_cutoff([first]), rank_rule(first)
    engine.build("tied_query", cutoff=cutoff, rank_rule=rule)
    # Judged documents may stand anywhere in the ranking that a condensed one is made from.
    reach = EVERYTHING - 1 if first.unjudged == "condense" else cutoff
    engine.build("suspicious_query", cutoff=reach, rank_rule=rule)
    tied = {(row[0], row[1]): row[2] for row in engine.rows("tied_query", ("system_id", "query_id", "places"))}
    suspicious = engine.count("suspicious_query")
    if not tied and not suspicious:  # spares a look at every result
        return []
    engine.build("contending_result", cutoff=EVERYTHING - 1 if looks_beyond(first) else cutoff)
    engine.build("disagreeing_query", cutoff=reach)
    disagreeing = engine.count("disagreeing_query")
    if not tied and not disagreeing:
        return []
    engine.build("own_order", places=EVERYTHING if looks_beyond(first) else cutoff)
    engine.build("sensitive_doc", everything=looks_beyond(first))
    too_many = engine.count("sensitive_doc") > BOUNDED
    judged = judgments_of(engine, weights, with_grades=not too_many)
    found = []
    for (system_id,) in engine.rows("system", ("system_id",), order="place"):  # one at a time: memory
        mine = {} if too_many else tied_answers(engine, system_id)
        places = {query: count for (name, query), count in tied.items() if name == system_id}
        for metric in metrics:
            known = values_of(engine, metric, system_id)
            if disagreeing:
                found += rank_finding(engine, metric, system_id, known, judged)
            if places:
                found.append(tie_finding(metric, system_id, known, mine, judged, places))
    return found


def values_of(engine: Engine, metric: Metric, system_id: str) -> dict[str, float]:
    """query_id -> value."""
    which = {"metric_id": metric.hash, "system_id": system_id}
    return dict(engine.each("query_score", ("query_id", "value"), where=which))


def tied_answers(engine: Engine, system_id: str) -> dict[str, list[Result]]:
    """query_id -> a system's results where equal scores decide their order."""
    found: dict[str, list[Result]] = defaultdict(list)
    columns = ("query_id", "doc_id", "score", "rank_given")
    for query_id, *row in engine.each("sensitive_doc", columns, where={"system_id": system_id}):
        found[query_id].append(Result(*row))
    return found


def judgments_of(engine: Engine, weights: Mapping[str, float] | None, *, with_grades: bool) -> _Judged:
    """with_grades: those of the queries with ties are asked for, as they are where these are ordered again."""
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    columns = ("query_id", "doc_id", "grade")
    for query_id, doc_id, grade in engine.each("sensitive_judgment", columns) if with_grades else ():
        grades[query_id][doc_id] = grade
    return _Judged(grades, engine.rows("highest_grade")[0][0], weights)


def rank_finding(
    engine: Engine, metric: Metric, system_id: str, known: Mapping[str, float], judged: _Judged
) -> list[Finding]:
    """Says where the ranks that came with the scores order the results in another way.

    Ordered by ranks is every query whose ranks are not seen to be those of its scores: where scores are tied or ranks
    repeated, too, because the metric that the advice names orders all of them so.
    """
    mine = {"system_id": system_id}
    queries = engine.read("disagreeing_query", ("query_id",), where=mine, order="query_id")["query_id"]
    if not queries:
        return []
    by_rank = dataclasses.replace(metric, ties="given")
    moved = dict(known)
    for grades, all_grades, alike in engine.each("own_order", ("grades", "judged", "query_ids"), where=mine):
        value = value_of(by_rank, grades, all_grades, judged.highest)
        moved.update((query, value) for query in alike if query in known)
    first = queries[:MOST].to_pylist()
    here, there = judged.mean(known), judged.mean(moved)
    message = (
        f"system {system_id}: its rank column disagrees with its scores in {queries_text(len(queries))} (such as"
        f" {first[0]!r}). Scores decide here: {metric.name} is {here:.4f}; by its ranks it would be {there:.4f}."
        f" If the ranks are right, ask for {by_rank.name}"
    )
    examples = tuple(f"query {query!r}" for query in first)
    row = (len(queries), system_id, metric.name, abs(there - here), examples)
    return [Finding("rank_disagrees", "warning", message, *row)]


def value_of(by_rank: Metric, grades: Sequence[float | None], judged: Sequence[float], highest: float) -> float:
    """The value where documents of these grades stand in this order (None: unjudged); judged: all of the query."""
    results = [Result(str(place), rank_given=place) for place in range(len(grades))]
    judgments = {str(place): grade for place, grade in enumerate(grades) if grade is not None}
    others = Counter(judged) - Counter(judgments.values())
    judgments |= {f"not returned {place}": grade for place, grade in enumerate(others.elements())}
    return score_query(by_rank, results, judgments, highest) or 0.0


def tie_finding(
    metric: Metric,
    system_id: str,
    known: Mapping[str, float],
    answers: Mapping[str, Sequence[Result]],
    judged: _Judged,
    places: Mapping[str, int],
) -> Finding:
    """Says how many places equal scores decide, and between which values their order could move the mean.

    places: how many of the places that the metric looks at ties hold in each query.
    """
    decided = sum(places.values())
    where = (f"top-{metric.cutoff} " if metric.cutoff else "") + ("place" if decided == 1 else "places")
    told = (
        f"system {system_id}: equal scores decide {decided} {where} in {queries_text(len(places))} (such as"
        f" {min(places)!r}), ordered here by ties = {metric.ties}"
    )
    examples = tuple(f"query {query!r}" for query in sorted(places)[:MOST])
    if not answers or metric.has_own_ideal:
        return Finding("tied_places", "warning", told, decided, system_id, metric.name, examples=examples)
    low, expected, high = mean_bounds(metric, known, answers, judged)
    middle = "" if expected is None else f", expected {expected:.4f}"
    message = (
        f"{told}; over their orders {metric.name} lies between {low:.4f} and {high:.4f}{middle}"
        f" (here {judged.mean(known):.4f})"
    )
    if high - low <= UNSEEN:
        message = f"{told}; their order moves the mean of {metric.name} by less than {UNSEEN:g}"
    severity = "warning" if high - low > WORTH_A_WARNING else "note"
    return Finding("tied_places", severity, message, decided, system_id, metric.name, high - low, examples)


def mean_bounds(
    metric: Metric, known: Mapping[str, float], tied: Mapping[str, Sequence[Result]], judged: _Judged
) -> tuple[float, float | None, float]:
    """The lowest, the expected (of measures that are sums over places) and the highest mean over all orders."""
    worst, expected, best = dict(known), dict(known), dict(known)
    for query, results in tied.items():
        if query in known:
            bounds = tie_bounds(metric, results, judged.grades[query], judged.highest)
            worst[query], best[query] = bounds.worst, bounds.best
            expected[query] = known[query] if bounds.expected is None else bounds.expected
    middle = judged.mean(expected) if metric.traits.is_additive else None
    return judged.mean(worst), middle, judged.mean(best)
