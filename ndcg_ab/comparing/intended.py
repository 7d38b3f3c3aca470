"""The queries that a change was meant for, tested apart from the rest (docs/changes.md)."""

from collections.abc import Sequence

import numpy as np

from ndcg_ab.checks.findings import MOST
from ndcg_ab.comparing.drawn_queries import read_drawn_queries
from ndcg_ab.comparing.families import Group, compare_columns, make_column, paired_columns
from ndcg_ab.comparing.sampling import PLAIN, Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import INTENDED, OTHERS, queries_text
from ndcg_core.statistics.verdicts.comparison import Column, Comparison


def intended_ids(engine: Engine) -> list[str]:
    """The ids as they were given, each once, in their order."""
    return sorted({query_id for (query_id,) in engine.rows("pulled_intended")})


def check_intended(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """Warns of ids that no judged query has; InputError where none of them is one."""
    if evaluation.intended is None:
        return []
    given = intended_ids(engine)
    judged = {query_id for (query_id,) in engine.rows("query", ("query_id",), where={"is_judged": True})}
    drawn = read_drawn_queries(engine, evaluation)
    counted = judged if drawn is None else {query_id for (query_id,) in engine.rows("query", ("query_id",))}
    unknown = [query_id for query_id in given if query_id not in counted]
    name, state = evaluation.intended.shown, "scored" if evaluation.scores else "judged"
    if len(unknown) == len(given):
        example = (
            f" (the first is {format_value(min(judged))}, the first of its own {format_value(given[0])})"
            if judged
            else ""
        )
        raise InputError(
            f"intended: {name} names none of the {queries_text(len(judged), state)}{example}: the query ids of both"
            " must be the same"
        )
    if not unknown:
        return []
    message = (
        f"{len(unknown)} of the {queries_text(len(given), 'intended')} of {name}"
        f" {'is' if len(unknown) == 1 else 'are'} not {state} (such as {format_value(unknown[0])}): left out"
    )
    examples = tuple(f"query {format_value(query_id)}" for query_id in unknown[:MOST])
    return [Finding("intended_unknown", "warning", message, len(unknown), examples=examples)]


def intended_comparisons(engine: Engine, evaluation: Evaluation, sampling: Sampling) -> list[Comparison]:
    """Every candidate on every primary metric, on the intended queries and on the others: one family by max-T."""
    if evaluation.intended is None:
        return []
    known = set(intended_ids(engine))
    columns = [column for column in paired_columns(engine, evaluation, PLAIN) if column.metric in evaluation.metrics]
    parts = [
        compare_part(evaluation, column, sampling, name, known) for name in (INTENDED, OTHERS) for column in columns
    ]
    return compare_columns([part for part in parts if len(part.query_ids)], evaluation, INTENDED, least_queries=2)


def compare_part(evaluation: Evaluation, column: Column, sampling: Sampling, name: str, known: set[str]) -> Column:
    """The rows of a column whose queries are intended, or are not."""
    is_wanted = np.array([(query_id in known) == (name == INTENDED) for query_id in column.query_ids], dtype=bool)
    query_ids = tuple(query_id for query_id, wanted in zip(column.query_ids, is_wanted, strict=True) if wanted)
    differences, values = (
        np.asarray(each, dtype=np.float64)[is_wanted] for each in (column.differences, column.baseline_values)
    )
    group = Group(query_ids, differences, values)
    return make_column(evaluation, column.candidate, column.metric, group, sampling, (INTENDED, name))


def rows_of_candidate(rows: Sequence[Comparison], candidate: str, metric: str) -> dict[str, Comparison]:
    """Part -> its comparison, of one candidate on one metric."""
    return {row.slice or "": row for row in rows if (row.candidate, row.metric) == (candidate, metric)}
