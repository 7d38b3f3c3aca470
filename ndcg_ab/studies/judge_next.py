"""`ndcg-ab judge-next`: which unjudged documents to judge first, so that a comparison is settled soonest.

A document is worth the root mean square change of the difference over its expected grades (`find_grade_effects`), by
the same chances of grades as the tipping factor (docs/statistics.md, "What is not judged").
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ndcg_ab.comparing.families import make_families, paired_columns
from ndcg_ab.comparing.sampling import Sampling, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, Setting, format_value
from ndcg_ab.labels.unjudged import Shown, add_unjudged, has_expected_value, number_values, read_shown
from ndcg_ab.pipeline import Say, score_systems
from ndcg_ab.results.decisions import settled_state
from ndcg_ab.scoring.metric_tables import own_metrics
from ndcg_ab.studies.drawn_documents import Ranks, ToJudge, list_unjudged, make_rows
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.unjudged.next_label import find_grade_effects
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

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


class Effect(NamedTuple):
    """What the grade of one document does to the mean difference of one comparison: fields of `ToJudge`."""

    effect: float
    lowest: float
    highest: float
    candidate: str


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
    score_systems(evaluation, engine, say)
    sampling = read_sampling(engine, evaluation)
    columns = paired_columns(engine, evaluation, sampling)
    (metric,) = evaluation.metric_list
    shown = read_shown(engine, [metric])
    compared = add_unjudged(
        engine, evaluation, sampling, columns, make_families(engine, evaluation, sampling, columns), shown
    )
    by_candidate = {row.candidate: row for row in compared}
    open_ones = [name for name, row in by_candidate.items() if settled_state(row).is_unsettled]
    wanted = list(candidates) or open_ones or list(by_candidate)
    say("weighing what is unjudged")
    columns = [column for column in columns if column.candidate in wanted]
    best: dict[Document, Effect] = {}
    for column in columns:
        for document, effect in label_effects(metric, column, shown, sampling):
            if effect.effect > 0 and (document not in best or effect.effect > best[document].effect):
                best[document] = effect
    order = sorted(best, key=lambda document: (-best[document].effect, document))
    of_drawn = list_unjudged(engine, evaluation) if sampling.drawn else []
    chosen = order[: max(0, most - len(of_drawn))]
    ranks = read_ranks(shown, metric, evaluation, chosen)
    by_id = {(row.query_id, row.doc_id): row for row in make_rows(ranks, engine, evaluation)}
    rows = [
        replace(by_id[shown.ids_of(document)], place=place, **best[document]._asdict())
        for place, document in enumerate(chosen, len(of_drawn) + 1)
    ]
    return ToJudgeNext(
        (*of_drawn[:most], *rows),
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
    metric: Metric, column: Column, shown: Shown, sampling: Sampling
) -> Iterator[tuple[Document, Effect]]:
    """Yield the effect of each unjudged document on the mean difference.

    A query without a relevant judgment counts from its first relevant document on.
    """
    ids = shown.query_ids.to_pylist()
    pair = shown.pair(metric, column.candidate, column.baseline, ids)
    found, query = find_grade_effects(pair), pair.unjudged.query
    counted = number_values(pa.array(column.query_ids, pa.string()), shown.query_ids)
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
        yield document, Effect(size, low, high, column.candidate)


def read_ranks(shown: Shown, metric: Metric, evaluation: Evaluation, documents: Sequence[Document]) -> Ranks:
    """Return the ranks of documents in each system, within the metric's depth."""
    found: Ranks = {shown.ids_of(document): {} for document in documents}
    for system in evaluation.systems:
        places = shown.within(metric, system.name)
        places = places.take(np.isin(places.doc, [doc for _, doc in documents]))
        for query, doc, rank in zip(places.query.tolist(), places.doc.tolist(), places.rank.tolist(), strict=True):
            if (key := shown.ids_of((query, doc))) in found:
                found[key][system.name] = rank
    return found
