"""The selects of measures that count a place by what is above it: sums down to each place, and factors of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ndcg_ab.warehouse.dialects import Dialect
from ndcg_ab.warehouse.expressions import LEAST_LOGARITHM, number_literal
from ndcg_ab.warehouse.step import Step, select_columns
from ndcg_core.measures.factors import INFERRED
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import gain

HIGHEST = """select power(2e0, max(case when judgment.grade > 0e0 then judgment.grade else 0e0 end)) as certain
from judgment"""
UNLIKELY = -70  # the logarithm of a chance that changes no value within 1e-12: some databases refuse far smaller ones


@dataclass(frozen=True)
class CascadeMeasure:
    """How a measure goes down a ranking.

    factor: of a gaining place, from columns of walked_doc and judged_query. seen: the columns of graded_doc that are
    summed down to each place. marks: those of judged_doc that it needs beside the gain.
    """

    factor: Callable[[Metric], str]
    seen: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


def precision_sql(_: Metric) -> str:
    return "walked_doc.gain_seen / walked_doc.rank"


def stopping_sql(_: Metric) -> str:
    above = "walked_doc.unsatisfied_seen - walked_doc.unsatisfied"
    looking = f"case when {above} > {number_literal(UNLIKELY)} then exp({above}) else 0e0 end"
    return f"({looking}) / walked_doc.rank"


def within_relevant_sql(_: Metric) -> str:
    return "case when walked_doc.rank <= judged_query.relevant then 1e0 else 0e0 end"


def preferred_sql(_: Metric) -> str:
    above, all_ = (
        f"(case when {count} < judged_query.relevant then {count} else judged_query.relevant end)"
        for count in ("walked_doc.nonrelevant_seen", "judged_query.nonrelevant")
    )
    return f"case when walked_doc.nonrelevant_seen > 0e0 then 1e0 - {above} / {all_} else 1e0 end"


def inferred_precision_sql(_: Metric) -> str:
    above, epsilon = "(walked_doc.gain_seen - 1e0", number_literal(INFERRED)
    likely = f"{above} + {epsilon}) / {above} + walked_doc.nonrelevant_seen + {number_literal(2 * INFERRED)})"
    return f"(1e0 + (walked_doc.pooled_seen - 1e0) * {likely}) / walked_doc.rank"


CASCADE_MEASURES: Mapping[str, CascadeMeasure] = {
    "ap": CascadeMeasure(precision_sql, ("gain",)),
    "err": CascadeMeasure(stopping_sql, ("unsatisfied",)),
    "rprec": CascadeMeasure(within_relevant_sql),
    "bpref": CascadeMeasure(preferred_sql, ("nonrelevant",), ("nonrelevant",)),
    "infap": CascadeMeasure(inferred_precision_sql, ("gain", "nonrelevant", "pooled"), ("nonrelevant", "pooled")),
}


def judged_columns(metric: Metric, dialect: Dialect) -> list[str]:
    """The columns of judged_doc that a walk needs: 1 where a document is judged not relevant; 1."""
    least = "<= 0e0" if metric.relevant_from is None else f"< {number_literal(metric.relevant_from)}"
    values = {
        "nonrelevant": f"case when judgment.grade >= 0e0 and judgment.grade {least} then 1e0 else 0e0 end",
        "pooled": "1e0",
    }
    return [f"cast({values[mark]} as {dialect.real}) as {mark}" for mark in CASCADE_MEASURES[metric.measure].marks]


def cascade_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """The sums down to each place, and the sum of gain times factor."""
    walk = CASCADE_MEASURES[metric.measure]
    columns = [f"graded_doc.{name}" for name in ("system_id", "query_id", "rank", "gain")]
    rest = ["from graded_doc"]
    if "unsatisfied" in walk.seen:
        yield from satisfaction_steps(metric, dialect)
        rest = ["from satisfying_doc as graded_doc"]
        columns += ["graded_doc.unsatisfied"]
    for name in walk.seen:
        columns.append(
            f"""sum(graded_doc.{name}) over (
        partition by graded_doc.system_id, graded_doc.query_id
        order by graded_doc.rank
        rows between unbounded preceding and current row
    ) as {name}_seen"""
        )
    lines = [
        f"    {column}" if " as " in column else f"    {column} as {column.partition('.')[2]}" for column in columns
    ]
    comment = "one row per (system_id, query_id, rank): what stands down to there"
    yield Step("walked_doc", comment, select_columns(lines, *rest))
    yield Step(
        "query_dcg",
        "one row per (system_id, query_id): gains, each times a factor of what stands above it",
        f"""select
    walked_doc.system_id,
    walked_doc.query_id,
    sum(
        walked_doc.gain * ({walk.factor(metric)})
    ) as dcg
from walked_doc
inner join judged_query on walked_doc.query_id = judged_query.query_id
where walked_doc.gain > 0e0
group by
    walked_doc.system_id,
    walked_doc.query_id""",
    )


def satisfaction_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """The logarithm of the chance that a document does not satisfy: 1 - gain / 2^highest grade."""
    source = "graded_doc"
    if metric.max_grade is None:
        yield Step("highest_grade", "one row", HIGHEST)
        certain, source = "highest_grade.certain", "graded_doc\ncross join highest_grade"
    else:
        certain = number_literal(gain(metric, metric.max_grade) + 1.0)
    satisfied_by = f"case when graded_doc.gain < {certain} * 1e-100 then 0e0 else graded_doc.gain / {certain} end"
    chance = f"1e0 - ({satisfied_by})"
    yield Step(
        "satisfying_doc",
        "one row per (system_id, query_id, rank); gain: the chance that it satisfies; unsatisfied: ln of the rest",
        f"""select
    graded_doc.system_id as system_id,
    graded_doc.query_id as query_id,
    graded_doc.rank as rank,
    cast({satisfied_by} as {dialect.real}) as gain,
    cast(
        case
            when graded_doc.gain < {certain} then ln({chance})
            else {number_literal(LEAST_LOGARITHM)}
        end as {dialect.real}
    ) as unsatisfied
from {source}""",
    )
