"""Draw queries of a log for judging, with known probabilities, by how far their rankings disagree: `ndcg-ab draw`.

`ndcg_ab.comparing.sampling` uses the drawn queries in a comparison; docs/draw.md explains both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.comparing.families import candidate_names
from ndcg_ab.comparing.sampling import measure_disagreements
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.deadlines import Say
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, Setting, format_value
from ndcg_ab.labels.proxy_judgments import PROXY_ALONE
from ndcg_ab.labels.rescoring import rescore
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.pulls import pull_named_queries, pull_ranking
from ndcg_ab.pipeline.stages import run_stages
from ndcg_ab.pipeline.store import Store
from ndcg_ab.scoring.metric_tables import reads_below_cutoff
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.sources import JUDGMENT, pull_source
from ndcg_ab.sources.judgments.grades import with_grade_words
from ndcg_ab.sources.queries import distinct_rows, refuse_probabilities, unread_columns
from ndcg_ab.sources.tables.schema import NOT_DRAWN, query_layout
from ndcg_ab.studies.judge_next import ToJudge, refuse_no_rankings
from ndcg_core.sampling.draws import (
    ALIKE,
    DEVIATION,
    Draw,
    EarlierDraw,
    Population,
    draw_queries,
    drawn_standard_error,
    permanent_numbers,
    queries_to_decide,
    random_standard_error,
    relative_disagreements,
    unit_deviation,
)
from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect

FloatArray = NDArray[np.float64]

EFFECT, POWER = 0.02, 0.8
DIGITS = 12  # significant digits of probabilities and disagreements in the file
NOBODY = "(nobody judged)"  # placeholder for judgments that do not exist yet


class DrawPlan(NamedTuple):
    """The difference that the drawn queries detect, and the number of queries that the smallest effect needs.

    Attributes
    ----------
    effect : float
        Smallest effect that matters, in the metric's unit.
    alpha, power : float
        Level and power of the test.
    deviation : float
        Standard deviation of the differences over the whole log, in the metric's unit.
    judged : int or None
        Number of judged queries from which the deviation was estimated; None if it was given or assumed.
    is_supposed : bool
        Whether the deviation was assumed.
    detected : float or None
        Mean difference that the drawn queries detect; None for fewer than two queries.
    drawn, random : int or None
        Number of queries that detect `effect`. `drawn` is for queries drawn by disagreement, `random` for queries drawn
        with equal probabilities. None if the log has too few.
    """

    effect: float
    alpha: float
    power: float
    deviation: float
    judged: int | None
    is_supposed: bool
    detected: float | None
    drawn: int | None
    random: int | None


@dataclass(frozen=True)
class DrawStudy:
    """The queries drawn from a log, and the differences that they can detect.

    Attributes
    ----------
    table : pa.Table
        The log with the columns `probability` and `disagreement`; `compare` takes it as `queries`.
    drawn : tuple of str
        Ids of the drawn queries.
    plan : DrawPlan
        Detectable difference and needed numbers of queries.
    queries : int
        Number of queries of the log.
    changed : int
        Number of queries that could be drawn, since the systems' results differ.
    kept : int
        Number of drawn queries that come from an earlier draw.
    gone : int
        Number of queries of the earlier draw that are missing in the log.
    depth : int or None
        Number of top ranks that were compared; None for all.
    left_out : tuple of str
        Columns of the log that the table lacks.
    rows : tuple of ToJudge
        The documents to judge, from the top ranks of every system; empty until they are listed.
    """

    table: pa.Table
    drawn: tuple[str, ...]
    plan: DrawPlan
    queries: int
    changed: int
    kept: int
    gone: int
    depth: int | None
    left_out: tuple[str, ...] = ()
    rows: tuple[ToJudge, ...] = ()


class ReadLog(NamedTuple):
    """A log of N queries and their rankings, as they were read.

    Attributes
    ----------
    read : PulledInputs
        The queries and rankings.
    evaluation : Evaluation
        The evaluation to which they belong.
    disagreements : ndarray of shape (N,)
        How far the rankings of each query disagree, >= 0.
    is_changed : ndarray of bool of shape (N,)
        Whether the systems' results for the query differ.
    """

    read: PulledInputs
    evaluation: Evaluation
    disagreements: FloatArray
    is_changed: NDArray[np.bool_]

    @property
    def table(self) -> pa.Table:
        """Return the queries of the log as a table."""
        assert self.read.queries.pulled is not None
        return self.read.queries.pulled.table


def check_draw(evaluation: Evaluation, power: float, deviation: float | None, judgments: FileSource | None) -> None:
    """Raise InputError if queries cannot be drawn for an evaluation, or if an option of the plan breaks a rule."""
    if deviation is not None and not 0 < deviation < math.inf:
        raise InputError(Setting("--deviation"), f" {deviation:g}: must be above 0, in the metric's unit, such as 0.1")
    if deviation is not None and judgments is not None:
        rule = ": both tell how far differences deviate; take one of the two out"
        raise InputError(Setting("--deviation"), ", ", Setting("--judgments"), rule)
    if not evaluation.statistics.alpha < power < 1:
        alpha = f"{evaluation.statistics.alpha:g}"
        raise InputError(
            Setting("--power"), f" {power:g}: must be above alpha ({alpha}) and below 1, such as {POWER:g}"
        )
    refuse_no_rankings(evaluation)
    if evaluation.queries is None:
        raise InputError(Setting("--queries"), ": is missing: give the file of the log's queries")
    for metric in evaluation.metric_list:
        if reads_below_cutoff(metric) and (metric.cutoff is not None or metric.unjudged == "condense"):
            raise InputError(
                Setting("--metric"),
                f" {metric.name}: looks below its cutoff by what is judged, and nothing is: draw by another metric",
            )


def draw_from_log(
    evaluation: Evaluation,
    engine: Engine,
    count: int,
    earlier_draw: FileSource | None = None,
    *,
    deviation: float | None = None,
    judgments: FileSource | None = None,
    power: float = POWER,
    say: Say = lambda step: None,
) -> DrawStudy:
    """Draw queries from the evaluation's log for judging.

    evaluation: its judgments are ignored. count: number of queries to draw; if fewer queries have different results,
    all of them are drawn. earlier_draw: the file of an earlier draw, whose queries are drawn again. deviation: standard
    deviation of the differences over the log, if known. judgments: judgments of some queries of the log, from which the
    deviation is estimated. The result has no documents to judge yet.

    Raises InputError if the inputs are invalid or no results differ, and ParityError if the SQL and the Python core
    compute different disagreements.
    """
    check_draw(evaluation, power, deviation, judgments)
    log = read_log(evaluation, engine, say)
    draw, relative, weights, earlier, gone = draw_sample(log, evaluation, count, earlier_draw)
    table = log_table(log, draw, relative)
    query_ids = tuple(table.filter(pc.greater(table["probability"], 0))["query_id"].to_pylist())
    cutoffs = [metric.cutoff for metric in evaluation.metric_list]
    unit, judged = DEVIATION, None
    if judgments is not None:
        unit, judged = estimate_deviation(log, judgments, relative)
    values = log.disagreements
    spread = deviation if deviation is not None else unit * float(np.sqrt(np.square(values).mean()))
    population = Population(values, relative, weights, spread)
    is_supposed = deviation is None and judgments is None
    plan = make_plan(population, len(query_ids), evaluation, power, judged=judged, is_supposed=is_supposed)
    assert evaluation.queries is not None
    return DrawStudy(
        table=table,
        drawn=query_ids,
        plan=plan,
        queries=len(relative),
        changed=int((relative > 0).sum()),
        kept=0 if earlier is None else int((earlier.probability > 0).sum()),
        gone=gone,
        depth=None if None in cutoffs else max(cutoff for cutoff in cutoffs if cutoff is not None),
        left_out=unread_columns(log.read.queries, evaluation.queries.source, evaluation.directory),
    )


def draw_sample(
    log: ReadLog, evaluation: Evaluation, count: int, earlier_draw: FileSource | None
) -> tuple[Draw, FloatArray, FloatArray | None, EarlierDraw | None, int]:
    """Draw queries with the configured seed.

    Return the drawn queries with their probabilities; (N,) relative disagreements of the queries of the log; (N,)
    frequencies, or None if they are equal; the earlier draw, or None; and the number of its queries that the log lacks.
    earlier_draw: the file of an earlier draw, whose queries are drawn again. Raises InputError if no results differ
    between systems, or if the earlier draw has more queries than `count` or another seed.
    """
    query_ids = log.table["query_id"].to_pylist()
    weights = None
    if not log.table["weight"].null_count:
        weights = np.array(log.table["weight"].to_pylist(), dtype=np.float64)
    earlier, gone = read_earlier_draw(earlier_draw, query_ids) if earlier_draw is not None else (None, 0)
    # queries that could be drawn then can be drawn now, even if their results are equal now
    is_changed = log.is_changed if earlier is None else log.is_changed | (earlier.sizes > 0)
    if not is_changed.any():
        raise InputError(
            f"queries: the systems show the same for all {len(query_ids):,} queries of the log: there is nothing to"
            " judge"
        )
    relative = relative_disagreements(log.disagreements, is_changed)
    sizes = relative if weights is None else relative * weights / weights.mean()
    numbers = permanent_numbers(query_ids, evaluation.statistics.seed)
    try:
        draw = draw_queries(sizes, numbers, count, earlier)
    except ValueError as error:
        assert earlier is not None and earlier_draw is not None
        raise explain_refused_draw(earlier, earlier_draw.display_name, numbers, query_ids, count) from error
    return draw, relative, weights, earlier, gone


def explain_refused_draw(
    earlier: EarlierDraw, name: str, numbers: FloatArray, query_ids: Sequence[str], count: int
) -> InputError:
    """Return the error for an earlier draw with more than `count` queries, or with another seed.

    name: the file of the earlier draw. numbers: the random numbers of the queries by the seed of this draw.
    """
    is_kept = earlier.probability > 0
    if (kept := int(is_kept.sum())) > count:
        return InputError(Setting("--count"), f" {count}: {name} holds {kept} drawn queries already: ask for more")
    query_id = query_ids[int(np.flatnonzero(is_kept & (numbers > earlier.probability * (1 + ALIKE)))[0])]
    problem = f" {name}: query {format_value(query_id)}: was not drawn with this seed: give that of the earlier draw"
    return InputError(Setting("--kept"), f"{problem}, with ", Setting("--seed"))


def read_log(evaluation: Evaluation, engine: Engine, say: Say) -> ReadLog:
    """Read the log and the rankings, and compute how far the rankings of each query disagree.

    Raises InputError if a ranking answers no query of the log.
    """
    of_judgments = dict.fromkeys(PROXY_ALONE, "ignore")
    changes = {"intended": None, "cheap_judgments": None, "findings": evaluation.findings | of_judgments}
    plain = evaluation.model_copy(update=changes)
    store = Store(plain, engine, complete=True)
    run_stages(Context(plain, store, say), (pull_named_queries, pull_ranking))
    queries = store.queries()
    assert queries.pulled is not None
    query_ids = queries.pulled.table["query_id"].to_pylist()
    with store.memory() as memory:
        rankings = store.rankings(memory, complete=True)
    for name, pulled in rankings.items():
        if not set(pulled.query_ids).intersection(query_ids):
            raise InputError(
                f"system {name}: its ranking answers none of the {len(query_ids):,} queries of the log (such as"
                f" {format_value(query_ids[0])}): the query ids of both must be the same"
            )
    # one judgment for every query of the log, of no document, so that the rankings of all are looked at
    rows = pa.table([query_ids, [NOBODY] * len(query_ids), [0.0] * len(query_ids)], schema=JUDGMENT.schema)
    judgments = pull_source(FileSource(file=in_memory_file("judgments", rows)), JUDGMENT, Path())
    read = PulledInputs(judgments, queries, rankings, (), None, (), None, None)
    load_and_check(engine, read, plain)
    candidates = candidate_names(plain)
    disagreements = measure_disagreements(engine, query_ids, candidates, plain.baseline_name, plain.metric_list[0])
    return ReadLog(read, plain, *disagreements)


def estimate_deviation(log: ReadLog, judgments: FileSource, relative: FloatArray) -> tuple[float, int]:
    """Estimate the standard deviation of the differences of queries with a disagreement of 1.

    The estimate is made from judged queries whose results differ, on the first metric. relative: (N,) relative
    disagreements of the queries of the log. Returns the deviation, and the number of queries that it was estimated
    from. Raises InputError if there are fewer than two such queries, or if the estimate is 0.
    """
    pulled = pull_source(judgments, with_grade_words(JUDGMENT, log.evaluation.judgments), Path())
    first, names = log.evaluation.metric_list[0], candidate_names(log.evaluation)
    query_ids = log.table["query_id"].to_pylist()
    indices = {query_id: index for index, query_id in enumerate(query_ids) if log.disagreements[index] > 0}
    with rescore(log.evaluation, log.read, pulled, "judgments") as (engine, _, _):
        columns = ("candidate", "query_id", "difference")
        rows = engine.rows("paired_difference", columns, where={"metric_id": first.hash})
    known = {(name, query_id): difference for name, query_id, difference in rows if query_id in indices}
    judged = sorted({query_id for _, query_id in known})
    at = [indices[query_id] for query_id in judged]
    differences = [np.array([known.get((name, query_id), 0.0) for query_id in judged]) for name in names]
    unit = unit_deviation(differences, relative[at], log.disagreements[at]) if len(judged) > 1 else 0.0
    if unit == 0:
        raise InputError(
            Setting("--judgments"), f" {judgments.display_name}: tells of no differences that deviate: leave it out"
        )
    return unit, len(judged)


def read_earlier_draw(source: FileSource, query_ids: Sequence[str]) -> tuple[EarlierDraw, int]:
    """Read an earlier draw in the order of the log.

    Returns the draw, and the number of its drawn queries that the log lacks. query_ids: the queries of the log. Raises
    InputError if the file has no drawn query, or probabilities that `ndcg-ab draw` cannot have written.
    """
    pulled = pull_source(source, query_layout(), Path())
    rows = distinct_rows(pulled.table, pulled.origin)
    refuse_probabilities(rows, pulled.origin)
    rows_by_id = {row["query_id"]: row for row in rows.to_pylist()}
    probability, sizes = np.zeros(len(query_ids)), np.zeros(len(query_ids))
    for index, query_id in enumerate(query_ids):
        row = rows_by_id.get(query_id)
        if row is None or row["probability"] == 0:
            continue
        probability[index] = max(row["probability"] or 0.0, 0.0)
        sizes[index] = max(row["disagreement"] or 1.0, 0.0) * (row["weight"] or 1.0)
    drawn_ids = {query_id for query_id, row in rows_by_id.items() if (row["probability"] or NOT_DRAWN) > 0}
    if not drawn_ids:
        rule = "holds no drawn query: give a file that draw wrote"
        raise InputError(Setting("--kept"), f" {source.display_name}: {rule}")
    return EarlierDraw(probability, sizes), len(drawn_ids.difference(query_ids))


def make_plan(
    population: Population, count: int, evaluation: Evaluation, power: float, *, judged: int | None, is_supposed: bool
) -> DrawPlan:
    """Return the difference that `count` drawn queries detect, and the number of queries for the smallest effect.

    judged: number of judged queries from which the deviation was estimated; None if it was given or assumed.
    is_supposed: whether the deviation was assumed.
    """
    detected, alpha = None, evaluation.statistics.alpha
    effect = evaluation.smallest_effect(evaluation.metric_list[0].name) or EFFECT
    if count >= 2:
        error, freedom = drawn_standard_error(population, count)
        detected = minimal_detectable_effect(count, error * count**0.5, alpha, power, freedom)
    errors = (drawn_standard_error, random_standard_error)
    needs = (queries_to_decide(population, effect, error, alpha, power) for error in errors)
    return DrawPlan(effect, alpha, power, population.deviation, judged, is_supposed, detected, *needs)


def log_table(log: ReadLog, draw: Draw, relative: FloatArray) -> pa.Table:
    """Return the log's table with the columns probability and disagreement.

    The probability is 0 for queries with equal results, and null for other queries that were not drawn. Columns without
    any value are left out, and so is the column weight if weights were not used.
    """
    rows = log.table
    kept = [name for name in rows.column_names if name not in ("probability", "disagreement")]
    probabilities = [
        round_digits(value) if is_drawn else (0.0 if size == 0 else None)
        for value, is_drawn, size in zip(draw.probability, draw.is_drawn, relative, strict=True)
    ]
    columns = {name: rows[name].combine_chunks() for name in kept if rows[name].null_count < rows.num_rows}
    columns["probability"] = pa.array(probabilities, pa.float64())
    columns["disagreement"] = pa.array([round_digits(value) for value in relative], pa.float64())
    return pa.table(columns)


def round_digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
