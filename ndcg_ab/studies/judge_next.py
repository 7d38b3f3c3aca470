"""`ndcg-ab judge-next`: which unjudged documents are to be judged first, so that a comparison is settled soonest.

Each is worth by how much its grade is expected to move the difference (`next_label`), under the
chances of `ndcg_ab.labels.grade_chances`; docs/judging.md says how well that does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ndcg_ab.comparing.drawn_queries import shares_not_drawn
from ndcg_ab.comparing.families import make_families, paired_columns
from ndcg_ab.comparing.sampling import Sampling, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, Setting, format_value
from ndcg_ab.labels.bounds import Known, add_bounds, code_numbers, find_bounds, load_known, metrics_to_bound, no_bounds
from ndcg_ab.labels.grade_chances import Pool, fit_grade_model, has_room_for_pool, load_pool, why_no_model
from ndcg_ab.labels.imputed_interval import number_unjudged
from ndcg_ab.pipeline import Say, score_systems
from ndcg_ab.scoring.other_tools import own_metrics
from ndcg_ab.sources.documents import Documents, make_documents
from ndcg_ab.studies.drawn_documents import list_unjudged
from ndcg_ab.studies.to_judge import ToJudge
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.bounds import why_unbounded
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.next_label import possible_differences, root_mean_square
from ndcg_core.measures.unjudged.places import Judged, Places
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DRAWS = 8  # sets of grades that the narrowing is the mean of
STREAM = 21  # of the seed, apart from those of the flips and the likely grades


@dataclass(frozen=True)
class Narrowed:
    """A comparison with its bounds, and the bounds that are expected once the rows are judged."""

    comparison: Comparison
    low: float
    high: float


@dataclass(frozen=True)
class ToJudgeNext:
    """rows: those of drawn queries that nobody judged, then the most telling first. unjudged: pairs of query and
    document that could be named. drawn, unjudged_queries: how many queries were drawn, and how many of these have no
    judgment. grades: that the judgments hold, and 0. comparisons: those that rows with an effect are
    for. why_even: in words, why every grade is taken to be equally likely; None where a model says how likely each
    is."""

    rows: tuple[ToJudge, ...]
    unjudged: int
    drawn: int
    unjudged_queries: int
    grades: tuple[float, ...]
    comparisons: tuple[Narrowed, ...]
    why_even: str | None


@dataclass(frozen=True, eq=False)
class Unjudged:
    """The unjudged documents that the systems show: their rows in the pool, the chances of each grade, and draws of
    them. known: what the bounds are made of, with the place among these as the number of a document."""

    pool: Pool
    rows: NDArray[np.intp]
    chances: FloatArray
    drawn: FloatArray
    known: Known
    why_even: str | None


@dataclass(frozen=True, eq=False)
class Effects:
    """(n,) of every unjudged document, on one comparison: expected effect, lowest and highest difference."""

    expected: FloatArray
    lowest: FloatArray
    highest: FloatArray


def with_one_metric(evaluation: Evaluation, metric: str | None) -> Evaluation:
    """The evaluation with one metric and its bounds alone; metric: by its name, by default the first primary one.

    Raises InputError where the metric has no bounds, or the systems' rankings are not known.
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
    if not own_metrics([chosen]) or why_unbounded(chosen):
        said = f" {chosen.name}: the effect of a grade is shown by bounds, and {no_bounds(chosen)}"
        raise InputError(Setting("--metric"), said)
    statistics = evaluation.statistics.model_copy(update={"bounds": True, "all_pairs": False, "ranges": {}})
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
    """The documents that settle the comparisons soonest, at most so many.

    evaluation: as `with_one_metric` gives it. candidates: by default all those whose verdict grades could turn; if
    there is none, all. Raises InputError, ParityError.
    """
    refuse_unknown_candidates(evaluation, candidates)
    documents = make_documents(evaluation)
    score_systems(evaluation, engine, say)
    if not metrics_to_bound(engine, evaluation):
        said = (
            f" {evaluation.metrics[0]}: too many places or different grades are looked at; name one with a lower cutoff"
        )
        raise InputError(Setting("--metric"), said)
    sampling = read_sampling(engine, evaluation)
    compared = add_bounds(engine, evaluation, sampling, [], make_families(engine, evaluation, sampling)).comparisons
    by_candidate = {row.candidate: row for row in compared}
    open_ones = [name for name, row in by_candidate.items() if not row.label_settled]
    wanted = list(candidates) or open_ones or list(by_candidate)
    (metric,) = evaluation.metric_list
    say("weighing what is unjudged")
    unjudged = read_unjudged(engine, evaluation)
    columns = [column for column in paired_columns(engine, evaluation, sampling) if column.candidate in wanted]
    effects = [label_effects(metric, column, unjudged, sampling) for column in columns]
    shape = (len(columns), len(unjudged.rows))
    expected = np.array([each.expected for each in effects]).reshape(shape)
    largest = expected.max(axis=0)
    order = np.argsort(-largest, kind="stable")
    order = order[largest[order] > 0]
    of_drawn = list_unjudged(engine, evaluation) if sampling.drawn else []
    chosen = order[: max(0, most - len(of_drawn))]
    best = expected.argmax(axis=0)
    rows = [
        make_row(place, number, unjudged, effects[best[number]], by_candidate[columns[best[number]].candidate])
        for place, number in enumerate(chosen.tolist(), len(of_drawn) + 1)
    ]
    rows = add_texts(rows, engine, documents) if rows else rows
    narrowed = [
        narrowed_bounds(metric, column, by_candidate[column.candidate], unjudged, np.sort(chosen), sampling)
        for column in columns
        if len(chosen) or not of_drawn
    ]
    if sampling.drawn:
        open_shares = shares_not_drawn(engine, evaluation, sampling.drawn)
        narrowed = [widen(each, open_shares, columns[0], sampling) for each in narrowed]
    return ToJudgeNext(
        (*of_drawn[:most], *rows),
        len(of_drawn) + len(order),
        len(sampling.drawn.weights) if sampling.drawn else 0,
        len({row.query_id for row in of_drawn}),
        unjudged.pool.grades,
        tuple(narrowed),
        unjudged.why_even,
    )


def refuse_unknown_candidates(evaluation: Evaluation, candidates: Iterable[str]) -> None:
    known = [system.name for system in evaluation.systems if system.name != evaluation.baseline_name]
    for name in candidates:
        if name not in known:
            said = f" {format_value(name)}: is none of the candidates ({', '.join(known)})"
            raise InputError(Setting("--candidate"), said)


def read_unjudged(engine: Engine, evaluation: Evaluation) -> Unjudged:
    has_room_for_pool(engine, evaluation.metric_list, "documents whose grades are weighed")
    pool = load_pool(engine, evaluation, evaluation.metric_list)
    known = load_known(engine, evaluation.metric_list)
    known = replace(known, judged=known.judged.add_possible_grade(evaluation.metric_list[0]))
    pool = replace(pool, grades=known.judged.grades)
    rows = np.flatnonzero(~pool.is_judged)
    generator = np.random.default_rng([evaluation.statistics.seed, STREAM])
    why_even = why_no_model(pool)
    if why_even is None:
        model = fit_grade_model(pool)
        chances = model.chances(pool)[rows]
        drawn = model.draw(pool, generator, DRAWS)
    else:
        chances = np.full((len(rows), len(pool.grades)), 1 / len(pool.grades))
        drawn = generator.choice(pool.grades, (DRAWS, len(rows)))
    return Unjudged(pool, rows, chances, drawn, number_unjudged(known, pool, rows), why_even)


def label_effects(metric: Metric, column: Column, unjudged: Unjudged, sampling: Sampling) -> Effects:
    """On the mean difference; a query that a first relevant document would bring in counts from then on."""
    known = unjudged.known
    ids = known.query_ids.to_pylist()
    counted = code_numbers(pa.array(column.query_ids, pa.string()), known.query_ids)
    before, is_counted = np.zeros(len(ids)), np.zeros(len(ids), dtype=bool)
    before[counted], is_counted[counted] = column.differences, True
    weights, total = sampling.weights_and_total(ids, column.query_ids)
    difference = float(weights[counted] @ before[counted]) / (total or 1.0)
    candidate, baseline = (known.of(metric, name) for name in (column.candidate, column.baseline))
    moved = possible_differences(metric, before, candidate, baseline, known.judged, unjudged.pool.grades)
    weight = weights[moved.query][:, None]
    of_counted = (moved.differences - before[moved.query][:, None]) * weight / (total or 1.0)
    brought_in = (moved.differences - difference) * weight / np.maximum(total + weight, 1e-300)
    enters = moved.counts & ~moved.counts[:, :1]
    changes = np.where(is_counted[moved.query][:, None], of_counted, np.where(enters, brought_in, 0.0))
    found = [np.zeros(len(unjudged.rows)) for _ in range(3)]
    found[0][moved.doc] = root_mean_square(changes, unjudged.chances[moved.doc])
    found[1][moved.doc], found[2][moved.doc] = difference + changes[:, 0], difference + changes[:, -1]
    return Effects(*found)


def make_row(place: int, number: int, unjudged: Unjudged, effects: Effects, comparison: Comparison) -> ToJudge:
    pool, at = unjudged.pool, int(unjudged.rows[number])
    return ToJudge(
        place=place,
        query_id=pool.query_ids[int(pool.query[at])].as_py(),
        doc_id=pool.doc_ids[int(pool.doc[at])].as_py(),
        text=None,
        title=None,
        url=None,
        ranks=tuple((name, int(rank)) for name, rank in zip(pool.systems, pool.ranks[at], strict=True) if rank),
        effect=float(effects.expected[number]),
        lowest=float(effects.lowest[number]),
        highest=float(effects.highest[number]),
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        metric=comparison.metric,
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


def narrowed_bounds(
    metric: Metric, column: Column, comparison: Comparison, unjudged: Unjudged, chosen: IntArray, sampling: Sampling
) -> Narrowed:
    """The bounds once `chosen`, rising numbers of unjudged documents, are judged: the mean over drawn grades."""
    known = unjudged.known
    taken = {key: select_places(places, chosen) for key, places in known.places.items()}
    query = unjudged.pool.query[unjudged.rows[chosen]]
    grades = unjudged.drawn[:, chosen]
    numbers = code_numbers(pa.array(column.query_ids, pa.string()), known.query_ids)
    sides = [replace(known, places=taken).of(metric, name) for name in (column.candidate, column.baseline)]
    lines = Completions(metric, known.judged, query, grades).differences(
        np.asarray(column.differences, dtype=np.float64), numbers, *sides
    )
    ends = []
    for line, drawn in zip(lines, grades, strict=True):
        places = {key: grade_chosen(each, chosen, drawn) for key, each in known.places.items()}
        judged = replace(known, places=places, judged=add_grade(known.judged, query, drawn))
        bounds = find_bounds(metric, column.query_ids, line, column.candidate, column.baseline, judged)
        ends.append([sampling.mean_of(column.query_ids, values) for values in (bounds.low, bounds.high)])
    low, high = np.mean(ends, axis=0).tolist()
    return Narrowed(comparison, low, high)


def widen(of: Narrowed, shares: Mapping[tuple[str, str], float], column: Column, sampling: Sampling) -> Narrowed:
    """With what queries of a log could do that count as 0 and differ now: no grade tells (`add_bounds`)."""
    share = shares.get((column.metric, of.comparison.candidate), 0.0)
    reach = share * column.largest_loss / sampling.largest_scale() if share else 0.0
    return replace(of, low=of.low - reach, high=of.high + reach) if np.isfinite(reach) else of


def select_places(places: Places, chosen: IntArray) -> Places:
    """The places of what is judged, and of these documents, numbered again in their order."""
    part = places.take(places.is_judged | np.isin(places.doc, chosen))
    return part._replace(doc=np.searchsorted(chosen, part.doc))


def grade_chosen(places: Places, chosen: IntArray, grades: FloatArray) -> Places:
    """The places with these grades of the chosen documents, which are rising."""
    if not len(chosen):
        return places
    at = np.minimum(np.searchsorted(chosen, places.doc), len(chosen) - 1)
    is_chosen = ~places.is_judged & (chosen[at] == places.doc)
    return places._replace(grade=np.where(is_chosen, grades[at], places.grade))


def add_grade(judged: Judged, query: IntArray, grades: FloatArray) -> Judged:
    """With one more document of each query with each grade; a grade that the judgments do not hold gains nothing."""
    counts = judged.counts.copy()
    for column, grade in enumerate(judged.grades):
        np.add.at(counts[:, column], query[grades == grade], 1)
    return judged._replace(counts=counts)
