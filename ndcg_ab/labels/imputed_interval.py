"""Differences with likely grades of the unjudged documents (docs/statistics.md, "Likely grades")."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ndcg_ab.comparing.families import paired_columns
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.labels.bounds import Key, Known, code_numbers
from ndcg_ab.labels.grade_chances import Pool, fit_grade_model, has_room_for_pool, load_pool, why_no_model
from ndcg_ab.labels.missing_labels import systems_judged_by_choice
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.places import Places
from ndcg_core.statistics.estimates.imputation import combine_draws
from ndcg_core.statistics.hypothesis_tests.flips import settle_ties
from ndcg_core.statistics.paired import moments_of, moments_over, sort_by_query
from ndcg_core.statistics.verdicts.comparison import Column, Comparison
from ndcg_core.statistics.verdicts.record import Likely

DRAWS = 20
STREAM = 20  # of the seed, apart from those of the flips


def add_imputed_intervals(
    engine: Engine, evaluation: Evaluation, sampling: Sampling, compared: Sequence[Comparison], known: Known | None
) -> list[Comparison]:
    """Comparisons that have bounds with what is likely, the same grades in all of them; the others as they are.

    known: what the bounds were made of; None where there are none.
    """
    wanted = {comparison_key(row) for row in compared if row.bound_exact is not None}
    if known is None or not wanted:
        return list(compared)
    metrics = {metric.name: metric for metric in evaluation.metric_list}
    bounded = [metrics[name] for name in sorted({name for name, _ in wanted})]
    if not has_room_for_pool(engine, bounded):
        none = Likely(0, why_none="the memory limit leaves no room for likely grades")
        return [row if row.bound_exact is None else replace(row, likely=none) for row in compared]
    pool = load_pool(engine, evaluation, bounded)
    found: dict[Key, Likely]
    chosen: dict[str, str]
    if reason := why_no_model(pool):
        found, chosen = dict.fromkeys(wanted, Likely(0, why_none=reason)), {}
    else:
        columns = [each for each in paired_columns(engine, evaluation, sampling) if comparison_key(each) in wanted]
        generator = np.random.default_rng([evaluation.statistics.seed, STREAM])
        model = fit_grade_model(pool)
        grades = model.draw(pool, generator, DRAWS)
        found = dict(impute_interval(columns, metrics, known, pool, grades, evaluation.statistics.alpha))
        chosen = systems_judged_by_choice(pool, model)
    return [
        replace(row, likely=against(row, chosen) or found.get(comparison_key(row)))
        if row.bound_exact is not None
        else row
        for row in compared
    ]


def against(row: Comparison, chosen: Mapping[str, str]) -> Likely | None:
    """Why there is no band where what one of the two alone shows was judged by choice; chosen: system -> reason."""
    reasons = [chosen[name] for name in (row.candidate, row.baseline) if name in chosen]
    return Likely(0, why_none="; ".join(reasons)) if reasons else None


def comparison_key(of: Comparison | Column) -> Key:
    return (of.metric, of.candidate)


def impute_interval(
    columns: Sequence[Column],
    metrics: dict[str, Metric],
    known: Known,
    pool: Pool,
    grades: NDArray[np.float64],
    alpha: float,
) -> Iterator[tuple[Key, Likely]]:
    """Of each column that has an error; grades: (draws, n) of the pool's unjudged documents."""
    unjudged = np.flatnonzero(~pool.is_judged)
    query = pool.query[unjudged]
    known = number_unjudged(known, pool, unjudged)
    completions: dict[str, Completions] = {}
    for column in columns:
        metric = metrics[column.metric]
        if column.metric not in completions:
            completions[column.metric] = Completions(metric, known.judged, query, grades)
        (pairs,) = sort_by_query([column])
        if moments_of(pairs) is None:
            continue
        numbers = code_numbers(pa.array(pairs.query_ids, pa.string()), known.query_ids)
        sides = (known.of(metric, name) for name in (column.candidate, column.baseline))
        scales = 1.0 if pairs.scales is None else pairs.scales
        lines = completions[column.metric].differences(pairs.differences / scales, numbers, *sides)
        each = [moments_over(pairs, settle_ties(line) * scales) for line in lines]
        yield comparison_key(column), combine_draws(each, alpha)


def number_unjudged(known: Known, pool: Pool, unjudged: NDArray[np.intp]) -> Known:
    """The same with the number among the unjudged documents of the pool as doc; unjudged ones not there are left out.

    unjudged: the rows of the pool.
    """
    docs = code_numbers(known.doc_ids, pool.doc_ids)
    keys = pool.query[unjudged] * len(pool.doc_ids) + pool.doc[unjudged]
    order = np.argsort(keys)
    numbered = (keys[order], order)
    return replace(known, places={key: _numbered(each, docs, numbered, pool) for key, each in known.places.items()})


def _numbered(
    places: Places, docs: NDArray[np.int64], numbered: tuple[NDArray[np.int64], NDArray[np.intp]], pool: Pool
) -> Places:
    """docs: the number in the pool of each document. numbered: the rising keys of unjudged ones, and their numbers."""
    keys, numbers = numbered
    if not len(keys):
        return places.take(places.is_judged)
    doc = docs[places.doc]
    wanted = places.query * len(pool.doc_ids) + doc
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    is_there = (keys[at] == wanted) & (doc >= 0)
    return places._replace(doc=numbers[at]).take(is_there | places.is_judged)
