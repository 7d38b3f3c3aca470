"""How far a value depends on the order of equal scores, and on whether scores or ranks are believed."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ndcg_ab.engines.base import Engine
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
TRIED = 8  # metrics that ties and ranks are tried on: those that look least deep, then by name


@dataclasses.dataclass(frozen=True, slots=True)
class _Sensitive:
    """One system's answer to one query that could have been ordered in another way."""

    results: list[Result]
    is_tied: bool
    is_disagreeing: bool


@dataclasses.dataclass(frozen=True)
class _Judged:
    """The judgments of the sensitive queries, the highest grade of all, and what queries weigh (None: all alike)."""

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

    Looks as deep as the deepest metric that orders by score. Of ties it states what they do to every metric that they
    could move, of ranks the metric that they would move most: neither depends on which metric comes first.
    weights: of the queries, where the means are weighted.
    """
    scored = [metric for metric in metrics if metric.ties != "given"]
    if not scored:
        return []
    deepest = max(scored, key=lambda metric: (metric.cutoff or EVERYTHING, metric.name))
    cutoff = deepest_cutoff(scored)
    rule = rank_rule(deepest)
    tried = sorted(scored, key=lambda metric: (metric.cutoff or EVERYTHING, metric.name))[:TRIED]
    engine.build("tied_query", cutoff=cutoff, rank_rule=rule)
    # Judged documents may stand anywhere in the ranking that a condensed one is made from.
    condensed = any(metric.unjudged == "condense" for metric in scored)
    reach = EVERYTHING - 1 if condensed else cutoff
    engine.build("suspicious_query", cutoff=reach, rank_rule=rule)
    tied = {(row[0], row[1]): row[2] for row in engine.rows("tied_query", ("system_id", "query_id", "places"))}
    suspicious = engine.count("suspicious_query")
    if not tied and not suspicious:  # spares a look at every result
        return []
    engine.build("disagreeing_query", cutoff=reach)
    disagreeing = engine.count("disagreeing_query")
    if not tied and not disagreeing:
        return []
    engine.build("sensitive_doc", everything=any(map(looks_beyond, tried)), places=cutoff)
    too_many = engine.count("sensitive_doc", {"is_tied": True}) > BOUNDED
    judged = judgments_of(engine, weights)
    found = []
    for (system_id,) in engine.rows("system", ("system_id",), order="place"):  # one at a time: memory
        mine = sensitive_answers(engine, system_id, everything=not too_many)
        known = {metric.name: values_of(engine, metric, system_id) for metric in tried}
        if disagreeing:
            found += rank_finding(tried, system_id, known, mine, judged)
        places = {query: count for (name, query), count in tied.items() if name == system_id}
        if places:
            found += tie_findings(tried, deepest, system_id, known, mine, judged, places)
    return found


def values_of(engine: Engine, metric: Metric, system_id: str) -> dict[str, float]:
    """query_id -> value."""
    which = {"metric_id": metric.hash, "system_id": system_id}
    return dict(engine.each("query_score", ("query_id", "value"), where=which))


def sensitive_answers(engine: Engine, system_id: str, *, everything: bool) -> dict[str, _Sensitive]:
    """query_id -> a system's answer that could have been ordered in another way.

    Without everything only those where ranks disagree.
    """
    found: dict[str, _Sensitive] = {}
    columns = ("query_id", "doc_id", "score", "rank_given", "is_tied", "is_disagreeing")
    which = {"system_id": system_id} | ({} if everything else {"is_disagreeing": True})
    for query_id, doc_id, score, rank_given, is_tied, is_disagreeing in engine.each(
        "sensitive_doc", columns, where=which
    ):
        answer = found.get(query_id)
        if answer is None:
            answer = found[query_id] = _Sensitive([], is_tied and everything, is_disagreeing)
        answer.results.append(Result(doc_id, score, rank_given))
    return found


def judgments_of(engine: Engine, weights: Mapping[str, float] | None) -> _Judged:
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, doc_id, grade in engine.each("sensitive_judgment", ("query_id", "doc_id", "grade")):
        grades[query_id][doc_id] = grade
    return _Judged(grades, engine.rows("highest_grade")[0][0], weights)


def rank_finding(
    metrics: Sequence[Metric],
    system_id: str,
    known: Mapping[str, Mapping[str, float]],
    answers: Mapping[str, _Sensitive],
    judged: _Judged,
) -> list[Finding]:
    """Says where the ranks that came with the scores order the results in another way."""
    queries = sorted(query for query, answer in answers.items() if answer.is_disagreeing)
    if not queries:
        return []
    moves: list[tuple[float, Metric, float, float]] = []
    for metric in metrics:
        by_rank = dataclasses.replace(metric, ties="given")
        values = known[metric.name]
        moved = dict(values)
        for query in queries:
            if query in moved:
                moved[query] = score_query(by_rank, answers[query].results, judged.grades[query], judged.highest) or 0.0
        here, there = judged.mean(values), judged.mean(moved)
        moves.append((abs(there - here), metric, here, there))
    moved_by, metric, here, there = max(moves, key=lambda move: move[0])
    message = (
        f"system {system_id}: its rank column disagrees with its scores in {queries_text(len(queries))} (such as"
        f" {queries[0]!r}). Scores decide here: {metric.name} is {here:.4f}; by its ranks it would be {there:.4f}."
        f" If the ranks are right, ask for {dataclasses.replace(metric, ties='given').name}"
    )
    return [Finding("rank_disagrees", "warning", message, len(queries), system_id, metric.name, moved_by)]


def tie_findings(
    metrics: Sequence[Metric],
    deepest: Metric,
    system_id: str,
    known: Mapping[str, Mapping[str, float]],
    answers: Mapping[str, _Sensitive],
    judged: _Judged,
    places: Mapping[str, int],
) -> list[Finding]:
    """Says how many places equal scores decide, and between which values their order could move each mean.

    metrics: those to bound. places: how many of the deepest metric's places ties hold in each query.
    """
    decided = sum(places.values())
    where = (f"top-{deepest.cutoff} " if deepest.cutoff else "") + ("place" if decided == 1 else "places")
    told = (
        f"system {system_id}: equal scores decide {decided} {where} in {queries_text(len(places))} (such as"
        f" {min(places)!r}), ordered here by ties = {deepest.ties}"
    )
    tied = {query: answer for query, answer in answers.items() if answer.is_tied}
    moved = []
    bounded = [metric for metric in metrics if not metric.has_own_ideal] if tied else []
    for metric in bounded:
        low, expected, high = mean_bounds(metric, known[metric.name], tied, judged)
        if high - low > UNSEEN:
            middle = "" if expected is None else f", expected {expected:.4f}"
            message = (
                f"{told}; over their orders {metric.name} lies between {low:.4f} and {high:.4f}{middle}"
                f" (here {judged.mean(known[metric.name]):.4f})"
            )
            severity = "warning" if high - low > WORTH_A_WARNING else "note"
            moved.append(Finding("tied_places", severity, message, decided, system_id, metric.name, high - low))
    if moved:
        return moved
    if bounded:
        names = " or ".join(metric.name for metric in bounded)
        message = f"{told}; their order moves the mean of {names} by less than {UNSEEN:g}"
        return [Finding("tied_places", "note", message, decided, system_id, value=0.0)]
    return [Finding("tied_places", "warning", told, decided, system_id)]


def mean_bounds(
    metric: Metric, known: Mapping[str, float], tied: Mapping[str, _Sensitive], judged: _Judged
) -> tuple[float, float | None, float]:
    """The lowest, the expected (of measures that are sums over places) and the highest mean over all orders."""
    worst, expected, best = dict(known), dict(known), dict(known)
    for query, answer in tied.items():
        if query in known:
            bounds = tie_bounds(metric, answer.results, judged.grades[query], judged.highest)
            worst[query], best[query] = bounds.worst, bounds.best
            expected[query] = known[query] if bounds.expected is None else bounds.expected
    middle = judged.mean(expected) if metric.traits.is_additive else None
    return judged.mean(worst), middle, judged.mean(best)
