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
from ndcg_ab.labels.bounds import Key, Known, code_numbers, load_known
from ndcg_ab.labels.grade_chances import Pool, fit_grade_model, load_pool, why_no_model
from ndcg_ab.labels.missing_labels import systems_judged_by_choice
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.places import Places
from ndcg_core.statistics.estimates.imputation import combine_draws
from ndcg_core.statistics.estimates.mean_difference import compute_moments
from ndcg_core.statistics.hypothesis_tests.flips import settle_ties
from ndcg_core.statistics.paired import moments_of, sort_by_query
from ndcg_core.statistics.verdicts.comparison import Column, Comparison
from ndcg_core.statistics.verdicts.record import Likely

DRAWS = 20
STREAM = 20  # of the seed, apart from those of the flips


def add_imputed_intervals(
    engine: Engine, evaluation: Evaluation, sampling: Sampling, compared: Sequence[Comparison]
) -> list[Comparison]:
    """Comparisons that have bounds with what is likely, the same grades in all of them; the others as they are."""
    wanted = {comparison_key(row) for row in compared if row.bound_exact is not None}
    if not wanted:
        return list(compared)
    metrics = {metric.name: metric for metric in evaluation.metric_list}
    bounded = [metrics[name] for name in sorted({name for name, _ in wanted})]
    pool = load_pool(engine, evaluation, bounded)
    found: dict[Key, Likely]
    if reason := why_no_model(pool):
        found = dict.fromkeys(wanted, Likely(0, why_none=reason))
    else:
        columns = [each for each in paired_columns(engine, evaluation, sampling) if comparison_key(each) in wanted]
        generator = np.random.default_rng([evaluation.statistics.seed, STREAM])
        grades = fit_grade_model(pool).draw(pool, generator, DRAWS)
        drawn = impute_interval(
            columns, metrics, load_known(engine, bounded), pool, grades, evaluation.statistics.alpha
        )
        found = dict(drawn)
    chosen = {} if reason else systems_judged_by_choice(pool)
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
    """Of each column that has an error; grades: (draws, n) of the pool's documents."""
    unjudged = np.flatnonzero(~pool.is_judged)
    query, grades = pool.query[unjudged], grades[:, unjudged]
    places = {key: number_documents(each, known, pool, unjudged) for key, each in known.places.items()}
    known = replace(known, places=places)
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
        each = [compute_moments(settle_ties(line) * scales, pairs.shares, pairs.units.members) for line in lines]
        yield comparison_key(column), combine_draws(each, alpha)


def number_documents(places: Places, known: Known, pool: Pool, unjudged: NDArray[np.intp]) -> Places:
    """Places whose doc is the number among the unjudged documents of the pool; unjudged ones not there are left out."""
    if not len(unjudged):
        return places.take(places.is_judged)
    docs = code_numbers(known.doc_ids, pool.doc_ids)[places.doc]
    width = len(pool.doc_ids)
    keys = pool.query[unjudged] * width + pool.doc[unjudged]
    order = np.argsort(keys)
    wanted = places.query * width + docs
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    is_there = (keys[order][at] == wanted) & (docs >= 0)
    return places._replace(doc=order[at]).take(is_there | places.is_judged)
