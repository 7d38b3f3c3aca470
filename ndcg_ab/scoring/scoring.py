"""Open an engine for an evaluation, and compute its scores from the inputs that were read."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.engines import Engine, open_engine
from ndcg_ab.errors import InputError
from ndcg_ab.scoring.metric_tables import add_external_values, metrics_of_other_tools
from ndcg_ab.sources import Pulled, Queries
from ndcg_ab.sources.spark_tables import make_cluster
from ndcg_core.measures.metric import Metric, format_number

# Large tables that only scoring reads; each is released when the last table that reads it has been made.
STEPS = ("graded_doc", "judged_doc", "dcg_by_rank", "ideal_by_rank", "own_ideal_by_rank", "query_dcg", "query_ideal")


class PulledInputs(NamedTuple):
    """The inputs of an evaluation, as they were read.

    Attributes
    ----------
    judgments : Pulled or None
        All judgments; None if another tool computed the scores.
    queries : Queries
        The texts and attributes of the queries; empty without a query file.
    rankings : dict of str to Pulled
        The rankings by system name; empty if another tool computed the scores.
    scores : tuple of Pulled
        The scores of another tool; else empty.
    proxy : Pulled or None
        The proxy judgments; None without them.
    files : tuple of Pulled
        The judgments of each configured source.
    by_function : Pulled or None
        The judgments by a judge function; None without one.
    unseen : Pulled or None
        Ids of queries that people judged after the proxy model was fixed (`careful_unseen`); None if not configured.
    """

    judgments: Pulled | None
    queries: Queries
    rankings: dict[str, Pulled]
    scores: tuple[Pulled, ...] = ()
    proxy: Pulled | None = None
    files: tuple[Pulled, ...] = ()
    by_function: Pulled | None = None
    unseen: Pulled | None = None


def open_engine_for(
    evaluation: Evaluation | None, spill: Path | None = None, resources: Resources | None = None
) -> Engine:
    """Open the engine of an evaluation, with the configured limits of threads and memory.

    evaluation: None to open an engine without a configuration, with the limits in `resources`. spill: folder for
    temporary files; None for the configured folder.
    """
    if evaluation is None:
        limits = resources or Resources()
        return open_engine(limits.threads, limits.memory_limit, limits.spill)
    limits, spark = evaluation.resources, evaluation.engine.spark
    cluster = make_cluster(spark, evaluation.directory) if spark else None
    return open_engine(limits.threads, limits.memory_limit, spill or evaluation.spill_folder, cluster)


def score_metrics(engine: Engine, metrics: Sequence[Metric], *, summed_up: bool = True) -> None:
    """Compute the score tables of all metrics in SQL.

    summed_up: True to compute the summaries per system, too. Raise InputError if a metric cannot be computed, such as
    for a grade that is not in its gain table.
    """
    refuse_missing_gains(engine, metrics)
    engine.build("query_score", *["coverage"] * summed_up, released=STEPS)
    add_external_values(engine, metrics_of_other_tools(metrics))
    engine.build("paired_difference", *["system_summary"] * summed_up)


def refuse_missing_gains(engine: Engine, metrics: Sequence[Metric]) -> None:
    """Raise InputError if a gain table has no entry for a grade above 0 in the judgments.

    Raise InputError also if a gain is too large to add up.
    """
    impossible = engine.rows("impossible_gain", ("gain_rule", "grade", "gain"), order="gain_rule, grade")
    for gain_rule, grade in (row[:2] for row in impossible if row[2] is not None):
        raise InputError(
            f"grade = {format_number(grade)}: its gain by the rule {gain_rule} is too large to add up;"
            " choose another gain, or a table of gains"
        )
    for gain_rule, grade, _ in impossible:
        names = [metric.name for metric in metrics if gain_rule in metric.name]
        raise InputError(
            f"metric {names[0]}: its gain table has no entry for grade {format_number(grade)}, which the judgments"
            " hold (or"
            f" max_grade names); add {format_number(grade)}:GAIN"
        )
