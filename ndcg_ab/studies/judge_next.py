"""List the unjudged documents to judge first, so that a comparison is decided soonest: `ndcg-ab judge-next`.

Documents are sorted by the root mean square change of the mean difference over their random grades
(`find_grade_effects`), with the probabilities of grades that the tipping factor uses (docs/labels.md, "Unjudged
results").
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_ab.comparing.families import candidate_names, make_families, metric_columns
from ndcg_ab.comparing.sampling import Sampling, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.deadlines import Say
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, Setting, format_value
from ndcg_ab.labels.unjudged import AllResults, add_unjudged, index_values, read_ranked_results
from ndcg_ab.pipeline.stages import score_systems
from ndcg_ab.results.decisions import state_despite_unjudged
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.sources.queries import documents_source, read_documents
from ndcg_ab.sources.tables.schema import DOCUMENT
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.contributions import has_grade_effect
from ndcg_core.measures.unjudged.differences import find_grade_effects
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

DEFAULT_DEPTH = 10  # ranks of every system if a metric has no cutoff
Document = tuple[int, int]  # the numbers of a query and a document
Ranks = dict[tuple[str, str], dict[str, int]]  # (query, document) -> system -> its best rank there


@dataclass(frozen=True, kw_only=True)
class ToJudge:
    """One unjudged document of a query, with the reasons to judge it.

    Attributes
    ----------
    place : int
        Number in the list, from 1.
    query_id, doc_id : str
        Ids of the query and of the document.
    text : str or None
        Text of the query; None if unknown.
    title, url : str or None
        Title and address of the document; None if unknown.
    ranks : tuple of (str, int)
        (system, rank) for every system that returned the document, in the order of the systems.
    effect : float or None
        Expected change of the comparison's difference by the grade (root mean square), in the unit of the metric. None,
        like `lowest` and `highest`, if the query has no judgment yet.
    lowest, highest : float or None
        The difference of the comparison if the document had the lowest, or the highest, grade.
    baseline, candidate, metric : str
        The comparison that the document changes most.
    """

    place: int
    query_id: str
    doc_id: str
    text: str | None
    title: str | None = None
    url: str | None = None
    ranks: tuple[tuple[str, int], ...]
    effect: float | None = None
    lowest: float | None = None
    highest: float | None = None
    baseline: str
    candidate: str
    metric: str


@dataclass(frozen=True)
class ToJudgeNext:
    """The unjudged documents whose grades would decide a comparison soonest.

    Attributes
    ----------
    rows : tuple of ToJudge
        Documents of drawn queries without judgments come first; the other documents follow by falling effect.
    unjudged : int
        Number of unjudged pairs of query and document that could be listed.
    grades : tuple of float
        All grades of the judgments, and 0.
    drawn : int
        Number of queries that were drawn from a log; 0 without a log.
    unjudged_queries : int
        Number of drawn queries without a judgment.
    comparisons : tuple of Comparison
        The comparisons by the present judgments.
    """

    rows: tuple[ToJudge, ...]
    unjudged: int
    grades: tuple[float, ...]
    drawn: int
    unjudged_queries: int
    comparisons: tuple[Comparison, ...]


def with_one_metric(evaluation: Evaluation, metric: str | None) -> Evaluation:
    """Return the evaluation reduced to one metric, without slices, guardrails, gate and proxy judgments.

    metric: name of the metric; None for the first primary one. Raises InputError if the effect of a grade on the metric
    cannot be computed, or if there are not two systems with rankings on this machine.
    """
    refuse_no_rankings(evaluation)
    chosen = evaluation.metric_named(metric or evaluation.metrics[0])
    if not has_grade_effect(chosen):
        rule = "the effect of a grade on it is not known; choose another metric, such as ndcg@10"
        raise InputError(Setting("--metric"), f" {chosen.name}: {rule}")
    statistics = evaluation.statistics.model_copy(update={"all_pairs": False, "ranges": {}})
    slices = evaluation.slices.model_copy(update={"by": []})
    left_out: dict[str, Any] = {"secondary_metrics": [], "guardrails": {}, "gate": None, "cheap_judgments": None}
    settings = {"metrics": [chosen.name], "statistics": statistics, "slices": slices}
    return evaluation.model_copy(update={**left_out, **settings})


def refuse_no_rankings(evaluation: Evaluation) -> None:
    """Raise InputError unless an evaluation has rankings of at least two systems on this machine."""
    if evaluation.scores:
        raise InputError("scores: name no documents that could be judged: give rankings")
    if evaluation.engine.spark:
        raise InputError("engine.spark: what is to be judged is found by DuckDB alone: take engine.spark out")
    if len(evaluation.systems) < 2:
        raise InputError(
            Setting("--system"), ": given once; at least 2 systems are needed; add ", Setting("--system"), " NAME=FILE"
        )


def find_documents_to_judge(
    evaluation: Evaluation,
    engine: Engine,
    candidates: Sequence[str] = (),
    count: int = 50,
    say: Say = lambda step: None,
) -> ToJudgeNext:
    """Find at most `count` documents whose grades would decide the comparisons soonest.

    evaluation: the result of `with_one_metric`. candidates: names of candidates. By default they are those whose
    comparison is undecided or could be reversed by unjudged results, or all if there is none. Raises InputError for an
    unknown candidate or invalid data, and ParityError if the SQL and the Python core compute different values.
    """
    names = candidate_names(evaluation)
    for name in candidates:
        if name not in names:
            message = f" {format_value(name)}: is none of the candidates ({', '.join(names)})"
            raise InputError(Setting("--candidate"), message)
    score_systems(evaluation, engine, say)
    sampling = read_sampling(engine, evaluation)
    columns = metric_columns(engine, evaluation, sampling)
    (metric,) = evaluation.metric_list
    results = read_ranked_results(engine, [metric])
    compared = add_unjudged(
        engine, evaluation, sampling, columns, make_families(engine, evaluation, sampling, columns), results
    )
    by_candidate = {row.candidate: row for row in compared}
    open_ones = [name for name, row in by_candidate.items() if state_despite_unjudged(row).is_undecided]
    chosen_names = list(candidates) or open_ones or list(by_candidate)
    say("weighing what is unjudged")
    columns = [column for column in columns if column.candidate in chosen_names]
    effects = [each for column in columns for each in label_effects(metric, column, results, sampling)]
    best: dict[Document, dict[str, Any]] = {}  # of each document the comparison that it moves furthest
    for document, effect in sorted(effects, key=lambda each: (-each[1]["effect"], each[0])):
        best.setdefault(document, effect)
    unjudged: Ranks = defaultdict(dict)  # of drawn queries that have no judgment yet
    first_results = ("query_id", "doc_id", "system_id", "rank")
    for query_id, doc_id, system, rank in engine.rows("first_result", first_results) if sampling.log else ():
        unjudged[query_id, doc_id][system] = rank
    of_drawn = make_rows(unjudged, engine, evaluation)
    chosen = list(best)[: max(0, count - len(of_drawn))]
    ranks = read_ranks(results, metric, evaluation, chosen)
    by_id = {(row.query_id, row.doc_id): row for row in make_rows(ranks, engine, evaluation)}
    rows = [
        replace(by_id[results.ids_of(document)], place=place, **best[document])
        for place, document in enumerate(chosen, len(of_drawn) + 1)
    ]
    return ToJudgeNext(
        (*of_drawn[:count], *rows),
        len(of_drawn) + len(best),
        results.judged.grades,
        len(sampling.log.weights) if sampling.log else 0,
        len({row.query_id for row in of_drawn}),
        tuple(by_candidate[column.candidate] for column in columns),
    )


def label_effects(
    metric: Metric, column: Column, results: AllResults, sampling: Sampling
) -> Iterator[tuple[Document, dict[str, Any]]]:
    """Yield (document, fields) for each unjudged document whose grade can change the mean difference.

    document: (query number, document number). fields: the values of `effect`, `lowest`, `highest` and `candidate` in
    `ToJudge`. If a query is not in the mean, because no relevant document of it is judged, a relevant document brings
    it in.
    """
    ids = results.query_ids.to_pylist()
    pair = results.pair(metric, column.candidate, column.baseline, ids)
    (chances, effects), query = find_grade_effects(pair), pair.unjudged.query
    numbers = index_values(pa.array(column.query_ids, pa.string()), results.query_ids)
    before, is_counted = np.zeros(len(ids)), np.zeros(len(ids), dtype=bool)
    before[numbers], is_counted[numbers] = column.differences, True
    weights, total = sampling.weights_and_total(ids, column.query_ids)
    difference = float(weights[numbers] @ before[numbers]) / (total or 1.0)
    weight = weights[query][:, None]
    of_counted = (np.nan_to_num(effects) - before[query][:, None]) * weight / (total or 1.0)
    brought_in = np.nan_to_num((effects - difference) * weight / np.maximum(total + weight, 1e-300))
    changes = np.where(is_counted[query][:, None], of_counted, brought_in)
    expected = np.sqrt((chances * np.square(changes)).sum(axis=1))
    ends = difference + changes[:, [0, -1]]
    documents = zip(query.tolist(), pair.unjudged.doc.tolist(), strict=True)
    for document, size, (low, high) in zip(documents, expected.tolist(), ends.tolist(), strict=True):
        if size > 0:
            yield document, {"effect": size, "lowest": low, "highest": high, "candidate": column.candidate}


def read_ranks(results: AllResults, metric: Metric, evaluation: Evaluation, documents: Sequence[Document]) -> Ranks:
    """Return the mapping (query_id, doc_id) -> {system: rank} of documents within the metric's depth.

    documents: (query number, document number) of the documents to look up.
    """
    ranks: Ranks = {results.ids_of(document): {} for document in documents}
    for system in evaluation.systems:
        ranked = results.within(metric, system.name)
        ranked = ranked.take(np.isin(ranked.doc, [doc for _, doc in documents]))
        for query, doc, rank in zip(ranked.query.tolist(), ranked.doc.tolist(), ranked.rank.tolist(), strict=True):
            if (key := results.ids_of((query, doc))) in ranks:
                ranks[key][system.name] = rank
    return ranks


# ---- documents to judge for drawn queries: those in the top ranks of any system


def list_documents(
    query_ids: Sequence[str], depth: int | None, engine: Engine, evaluation: Evaluation
) -> tuple[ToJudge, ...]:
    """Return the documents to judge for drawn queries: those within the top `depth` ranks of any system.

    query_ids: ids of the drawn queries. depth: None for `DEFAULT_DEPTH`. engine: the engine with which the queries were
    drawn.
    """
    depth = depth or DEFAULT_DEPTH
    rules = {rank_rule(metric) for metric in evaluation.metric_list}
    ranks: Ranks = defaultdict(dict)
    columns = ("rank_rule", "query_id", "doc_id", "system_id", "first_rank")
    for rule, query_id, doc_id, system, rank in engine.iter_rows("ranked_doc", columns, where={"query_id": query_ids}):
        if rule in rules and rank <= depth:
            ranks_of = ranks[query_id, doc_id]
            ranks_of[system] = min(rank, ranks_of.get(system, rank))
    return tuple(make_rows(ranks, engine, evaluation))


def make_rows(ranks: Ranks, engine: Engine, evaluation: Evaluation) -> list[ToJudge]:
    """Return one row per query and document to judge; the effect of each row is None.

    Rows are sorted by ids, so that the order does not reveal the system. ranks: (query_id, doc_id) -> {system: rank}.
    """
    texts = dict(engine.rows("query", ("query_id", "text")))
    titles: dict[str, dict[str, Any]] = {}
    if ranks and (documents := documents_source(evaluation)):
        documents.check(DOCUMENT)
        doc_ids = sorted({doc_id for _, doc_id in ranks})
        titled = read_documents(documents, pa.chunked_array([pa.array(doc_ids, pa.string())]))
        titles = {each.pop("doc_id"): each for each in titled.select(["doc_id", "title", "url"]).to_pylist()}
    names = [system.name for system in evaluation.systems]
    return [
        ToJudge(
            place=place,
            query_id=query_id,
            doc_id=doc_id,
            text=texts.get(query_id) or None,
            **titles.get(doc_id, {}),
            ranks=tuple((name, shown[name]) for name in names if name in shown),
            baseline=evaluation.baseline_name,
            candidate=next(name for name in names if name != evaluation.baseline_name),
            metric=evaluation.metrics[0],
        )
        for place, ((query_id, doc_id), shown) in enumerate(sorted(ranks.items()), 1)
    ]
