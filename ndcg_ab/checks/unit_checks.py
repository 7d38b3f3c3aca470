"""Differences that the evaluation names, once its data show what the metrics can differ by."""

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, RuleError
from ndcg_ab.results.outcome import Finding


def check_units(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """Asks about margins, smallest effects and thresholds that are half of what a metric can differ by, or more.

    What dcg can be is known with the highest grade, and the unit of another tool's metric with its values.  Raises
    InputError for a difference that the metric cannot have.
    """
    named = list(evaluation.named_differences())
    if not named:
        return []
    needs_grade = not evaluation.scores and any(evaluation.range_of(each.metric) is None for each in named)
    grade = engine.rows("highest_grade", ("grade",))[0][0] if needs_grade else None
    spread = column_spreads(engine) if evaluation.scores else {}
    questions = []
    for each in named:
        seen = spread.get(evaluation.metric_named(each.metric).hash, 0.0)
        known = evaluation.range_of(each.metric, grade, seen)
        try:
            each.refuse_out_of(known)
        except RuleError as error:
            raise InputError(str(error)) from None
        if question := each.question(known):
            questions.append(question)
    return [Finding("large_difference", "warning", question, 1) for question in questions]


def column_spreads(engine: Engine) -> dict[str, float]:
    """metric's hash -> how far its values lie apart."""
    rows = engine.read("query_score", ("metric_id", "value"))
    least_most = rows.group_by("metric_id").aggregate([("value", "min"), ("value", "max")]).to_pylist()
    return {row["metric_id"]: row["value_max"] - row["value_min"] for row in least_most}
