"""`ndcg-ab judge-next`: which unjudged documents to judge first, so that a comparison is settled soonest.

A document is worth the root mean square change of the difference over its expected grades (`find_grade_effects`), by
the same chances of grades as the tipping factor (docs/statistics.md, "What is not judged").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ndcg_ab.comparing.families import make_families, paired_columns
from ndcg_ab.comparing.sampling import Sampling, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, Setting, format_value
from ndcg_ab.labels.unjudged import Shown, add_unjudged, has_expected_value, read_shown
from ndcg_ab.pipeline import Say, score_systems
from ndcg_ab.results.decisions import settled_state
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.scoring.other_tools import own_metrics
from ndcg_ab.sources.documents import Documents, make_documents
from ndcg_ab.studies.drawn_documents import list_unjudged
from ndcg_ab.studies.to_judge import ToJudge
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.unjudged.next_label import find_grade_effects
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

FloatArray = NDArray[np.float64]
Document = tuple[int, int]  # the numbers of a query and a document


@dataclass(frozen=True)
class ToJudgeNext:
    """The documents to judge next, and the comparisons that they are for.

    rows: those of drawn queries that nobody judged, then the most telling first. unjudged: pairs of query and document
    that could be named. drawn, unjudged_queries: how many queries were drawn, and how many of them have no judgment.
    grades: every grade of the judgments, and 0. comparisons: as they stand now.
    """

    rows: tuple[ToJudge, ...]
    unjudged: int
    drawn: int
    unjudged_queries: int
    grades: tuple[float, ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class Effect:
    """What the grade of one document does to one comparison.

    expected: the root mean square change of the mean difference. lowest, highest: the mean difference with the lowest
    and the highest grade.
    """

    expected: float
    lowest: float
    highest: float
    comparison: Comparison


def with_one_metric(evaluation: Evaluation, metric: str | None) -> Evaluation:
    """Return the evaluation with one metric alone: by its name, or the first primary one.

    Raises InputError if the metric has no expected value, or the systems' rankings are not known.
    """
    if evaluation.scores:
        raise InputError("scores: name no documents that could be judged: give judgments and rankings")
    if evaluation.engine.spark:
        raise InputError("engine.spark: what is to be judged next is found by DuckDB alone: take engine.spark out")
    if len(evaluation.systems) < 2:
        raise InputError(
            Setting("--system"), ": given once; at least 2 systems are needed; add ", Setting("--system"), " NAME=FILE"
        )
    chosen = evaluation.metric_named(metric or evaluation.metrics[0])
    is_of_grades = has_expected_value(chosen) and chosen.traits.divisor is not Divisor.SHOWN
    if not own_metrics([chosen]) or not is_of_grades or chosen.unjudged == "condense":
        raise InputError(
            Setting("--metric"),
            f" {chosen.name}: the effect of a grade on it is not known; choose another metric, such as ndcg@10",
        )
    statistics = evaluation.statistics.model_copy(update={"all_pairs": False, "ranges": {}})
    slices = evaluation.slices.model_copy(update={"by": []})
    left_out: dict[str, Any] = {"secondary_metrics": [], "guardrails": {}, "gate": None, "cheap_judgments": None}
    kept = {"metrics": [chosen.name], "statistics": statistics, "slices": slices}
    return evaluation.model_copy(update={**left_out, **kept})


def find_documents_to_judge(
    evaluation: Evaluation,
    engine: Engine,
    candidates: Sequence[str] = (),
    most: int = 50,
    say: Say = lambda step: None,
) -> ToJudgeNext:
    """Return the documents that settle the comparisons soonest, at most so many.

    evaluation: from `with_one_metric`. candidates: by default those whose state the queries or the labels leave open;
    if there is none, all. Raises InputError, ParityError.
    """
    refuse_unknown_candidates(evaluation, candidates)
    documents = make_documents(evaluation)
    score_systems(evaluation, engine, say)
    sampling = read_sampling(engine, evaluation)
    compared = add_unjudged(engine, evaluation, sampling, make_families(engine, evaluation, sampling))
    by_candidate = {row.candidate: row for row in compared}
    open_ones = [name for name, row in by_candidate.items() if settled_state(row).is_unsettled]
    wanted = list(candidates) or open_ones or list(by_candidate)
    (metric,) = evaluation.metric_list
    say("weighing what is unjudged")
    shown = read_shown(engine, [metric])
    columns = [column for column in paired_columns(engine, evaluation, sampling) if column.candidate in wanted]
    best: dict[Document, Effect] = {}
    for column in columns:
        for document, effect in label_effects(metric, column, shown, sampling, by_candidate[column.candidate]):
            if effect.expected > 0 and (document not in best or effect.expected > best[document].expected):
                best[document] = effect
    order = sorted(best, key=lambda document: (-best[document].expected, document))
    of_drawn = list_unjudged(engine, evaluation) if sampling.drawn else []
    ranks = read_ranks(shown, metric, evaluation)
    rows = [
        make_row(place, document, shown, best[document], ranks.get(document, ()))
        for place, document in enumerate(order[: max(0, most - len(of_drawn))], len(of_drawn) + 1)
    ]
    return ToJudgeNext(
        (*of_drawn[:most], *(add_texts(rows, engine, documents) if rows else rows)),
        len(of_drawn) + len(order),
        len(sampling.drawn.weights) if sampling.drawn else 0,
        len({row.query_id for row in of_drawn}),
        shown.judged.grades,
        tuple(by_candidate[column.candidate] for column in columns),
    )


def refuse_unknown_candidates(evaluation: Evaluation, candidates: Iterable[str]) -> None:
    """Raise InputError for a name that no candidate has."""
    known = [system.name for system in evaluation.systems if system.name != evaluation.baseline_name]
    for name in candidates:
        if name not in known:
            said = f" {format_value(name)}: is none of the candidates ({', '.join(known)})"
            raise InputError(Setting("--candidate"), said)


def label_effects(
    metric: Metric, column: Column, shown: Shown, sampling: Sampling, comparison: Comparison
) -> Iterable[tuple[Document, Effect]]:
    """Yield the effect of each unjudged document on the mean difference.

    A query without a relevant judgment counts from its first relevant document on.
    """
    ids = shown.query_ids.to_pylist()
    pair = shown.pair(metric, column.candidate, column.baseline, ids)
    found, query = find_grade_effects(pair), pair.unjudged.query
    place = {query_id: number for number, query_id in enumerate(ids)}
    counted = np.array([place[query_id] for query_id in column.query_ids], dtype=np.int64)
    before, is_counted = np.zeros(len(ids)), np.zeros(len(ids), dtype=bool)
    before[counted], is_counted[counted] = column.differences, True
    weights, total = sampling.weights_and_total(ids, column.query_ids)
    difference = float(weights[counted] @ before[counted]) / (total or 1.0)
    weight = weights[query][:, None]
    of_counted = (found.differences - before[query][:, None]) * weight / (total or 1.0)
    brought_in = (found.differences - difference) * weight / np.maximum(total + weight, 1e-300)
    changes = np.where(is_counted[query][:, None], of_counted, np.where(found.is_scored, brought_in, 0.0))
    expected = np.sqrt((found.chances * np.square(changes)).sum(axis=1))
    ends = difference + changes[:, [0, -1]]
    documents = zip(query.tolist(), pair.unjudged.doc.tolist(), strict=True)
    for document, size, (low, high) in zip(documents, expected.tolist(), ends.tolist(), strict=True):
        yield document, Effect(size, low, high, comparison)


def read_ranks(shown: Shown, metric: Metric, evaluation: Evaluation) -> dict[Document, tuple[tuple[str, int], ...]]:
    """Return (system, rank) of each unjudged document within the metric's depth, in the order of the systems."""
    found: dict[Document, list[tuple[str, int]]] = {}
    for system in evaluation.systems:
        places = shown.places.get((rank_rule(metric), system.name))
        if places is None:
            continue
        places = places.within(metric.depth)
        places = places.take(~places.is_judged)
        for query, doc, rank in zip(places.query.tolist(), places.doc.tolist(), places.rank.tolist(), strict=True):
            found.setdefault((query, doc), []).append((system.name, rank))
    return {document: tuple(ranks) for document, ranks in found.items()}


def make_row(
    place: int, document: Document, shown: Shown, effect: Effect, ranks: tuple[tuple[str, int], ...]
) -> ToJudge:
    """Return one row of the list."""
    return ToJudge(
        place=place,
        query_id=shown.query_ids[document[0]].as_py(),
        doc_id=shown.doc_ids[document[1]].as_py(),
        text=None,
        title=None,
        url=None,
        ranks=ranks,
        effect=effect.expected,
        lowest=effect.lowest,
        highest=effect.highest,
        baseline=effect.comparison.baseline,
        candidate=effect.comparison.candidate,
        metric=effect.comparison.metric,
    )


def add_texts(rows: Sequence[ToJudge], engine: Engine, documents: Documents | None) -> list[ToJudge]:
    """With the texts of the queries, and titles and addresses of the documents where these are known."""
    texts = dict(engine.rows("query", ("query_id", "text")))
    titles: dict[str, tuple[str | None, str | None]] = {}
    if documents:
        found = documents.of(pa.chunked_array([pa.array([row.doc_id for row in rows], pa.string())]))
        titles = {each["doc_id"]: (each["title"], each["url"]) for each in found.to_pylist()}
    named = [(row, texts.get(row.query_id) or None, *titles.get(row.doc_id, (None, None))) for row in rows]
    return [replace(row, text=text, title=title, url=url) for row, text, title, url in named]
