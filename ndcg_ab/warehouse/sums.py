"""Write the selects of sums over ranks: cascade measures, where a factor depends on the results above, and ideals."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ndcg_ab.warehouse import expressions
from ndcg_ab.warehouse.dialects import Dialect
from ndcg_ab.warehouse.expressions import LEAST_LOGARITHM, gain_lines, number_literal
from ndcg_ab.warehouse.step import Step, indent_lines, select_columns
from ndcg_core.measures import registry
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import discount, gain

HIGHEST = """select power(2e0, max(case when judgment.grade > 0e0 then judgment.grade else 0e0 end)) as certain
from judgment"""
UNLIKELY = -70  # the logarithm of a chance that changes no value within 1e-12: some databases refuse far smaller ones


# ---- measures whose factor of a rank depends on the results above it


@dataclass(frozen=True)
class FactorSql:
    """The SQL of a measure whose factor at a rank depends on the results above, such as ap or err.

    Attributes
    ----------
    factor : str
        SQL expression of the factor, over the columns of the selects walked_doc and judged_query.
    cumulated : tuple of str
        Columns of the select graded_doc that are summed from rank 1 to each rank.
    marks : tuple of str
        Columns that the select judged_doc must have beside the gain.
    """

    factor: str
    cumulated: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()


_ABOVE = "walked_doc.unsatisfied_seen - walked_doc.unsatisfied"
_PREFERRED, _ALL = (
    f"(case when {count} < judged_query.relevant then {count} else judged_query.relevant end)"
    for count in ("walked_doc.nonrelevant_seen", "judged_query.nonrelevant")
)
_RELEVANT, _EPSILON = "(walked_doc.gain_seen - 1e0", number_literal(registry.INFERRED)
_LIKELY = (
    f"{_RELEVANT} + {_EPSILON}) / {_RELEVANT} + walked_doc.nonrelevant_seen + {number_literal(2 * registry.INFERRED)})"
)
FACTOR_SQL: dict[Callable[[registry.GradedRanking], list[float]], FactorSql] = {
    registry.precision_at_ranks: FactorSql("walked_doc.gain_seen / walked_doc.rank", ("gain",)),
    registry.stopping_factors: FactorSql(
        f"(case when {_ABOVE} > {number_literal(UNLIKELY)} then exp({_ABOVE}) else 0e0 end) / walked_doc.rank",
        ("unsatisfied",),
    ),
    registry.within_relevant_factors: FactorSql(
        "case when walked_doc.rank <= judged_query.relevant then 1e0 else 0e0 end"
    ),
    registry.preference_factors: FactorSql(
        f"case when walked_doc.nonrelevant_seen > 0e0 then 1e0 - {_PREFERRED} / {_ALL} else 1e0 end",
        ("nonrelevant",),
        ("nonrelevant",),
    ),
    registry.inferred_precision_factors: FactorSql(
        f"(1e0 + (walked_doc.pooled_seen - 1e0) * {_LIKELY}) / walked_doc.rank",
        ("gain", "nonrelevant", "pooled"),
        ("nonrelevant", "pooled"),
    ),
}
"""Factor function of a measure -> SQL cascade."""


def factor_sql_of(metric: Metric) -> FactorSql | None:
    """Return the cascade of a metric, the SQL of factors that depend on the results above a rank.

    Return None if the metric's factors do not depend on the results above.
    """
    return FACTOR_SQL[metric.traits.factors] if metric.traits.factors else None


def judged_columns(metric: Metric, cascade: FactorSql, dialect: Dialect) -> list[str]:
    """Return the SQL of the columns that the select judged_doc gets for a cascade; [] if the cascade needs none.

    `nonrelevant` is 1 if the document is judged not relevant, else 0. `pooled` is always 1.
    """
    least = "<= 0e0" if metric.relevant_from is None else f"< {number_literal(metric.relevant_from)}"
    values = {
        "nonrelevant": f"case when judgment.grade >= 0e0 and judgment.grade {least} then 1e0 else 0e0 end",
        "pooled": "1e0",
    }
    return [f"cast({values[mark]} as {dialect.real}) as {mark}" for mark in cascade.marks]


def cascade_steps(metric: Metric, cascade: FactorSql, dialect: Dialect) -> Iterator[Step]:
    """Yield the selects of a cascade.

    They compute sums from rank 1 to each rank, and then, per system and query, the sum of gain times factor.
    """
    columns = [f"graded_doc.{name}" for name in ("system_id", "query_id", "rank", "gain")]
    rest = ["from graded_doc"]
    if "unsatisfied" in cascade.cumulated:
        yield from satisfaction_steps(metric, dialect)
        rest = ["from satisfying_doc as graded_doc"]
        columns += ["graded_doc.unsatisfied"]
    for name in cascade.cumulated:
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
        walked_doc.gain * ({cascade.factor})
    ) as dcg
from walked_doc
inner join judged_query on walked_doc.query_id = judged_query.query_id
where walked_doc.gain > 0e0
group by
    walked_doc.system_id,
    walked_doc.query_id""",
    )


def satisfaction_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """Yield the selects that compute, for err, the probability that a result satisfies the user.

    The column `gain` has this probability: gain / 2^highest grade. The column `unsatisfied` has the natural logarithm
    of the probability that the result does not satisfy the user. The highest grade is `max_grade`, or by default the
    highest grade of all judgments.
    """
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


# ---- what nDCG and recall divide by


def highest_grade_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """Yield the selects of the DCG of an ideal ranking that has the highest grade at every rank.

    The highest grade is `max_grade`, or by default the highest grade of all judgments.
    """
    if metric.max_grade is None:
        yield Step("highest_grade", "one row", "select max(judgment.grade) as grade\nfrom judgment")
        gained = indent_lines(gain_lines(metric, "highest_grade.grade", dialect.real))
        if expressions.gain_pairs(metric):
            gained = f"coalesce({gained}, -1e0)"
        source = "query_dcg\ncross join highest_grade"
    else:
        gained, source = number_literal(gain(metric, metric.max_grade)), "query_dcg"
    if metric.cutoff is None or metric.ideal_cut == "returned":
        discounts = "query_dcg.discounts"
    else:
        discounts = number_literal(math.fsum(discount(metric, rank) for rank in range(1, metric.cutoff + 1)))
    yield Step(
        "query_ideal",
        "one row per (system_id, query_id): the highest grade at every rank",
        f"""select
    query_dcg.system_id as system_id,
    query_dcg.query_id as query_id,
    {gained} * {discounts} as ideal
from {source}""",
    )


def best_order_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """Yield the selects of the ideal DCG: the sum over documents sorted by gain, the largest gain first.

    If the metric's ideal consists of the system's own results, there is one ideal ranking per system and query.
    Otherwise there is one per query, of all its judged documents.
    """
    if metric.has_own_ideal:
        gain_column = "own_gain" if metric.ties == "average" else "gain"
        keys, source, first = ["system_id", "query_id"], "graded_doc", f"graded_doc.{gain_column}"
        order, comment = "graded_doc.rank asc", "one row per (system_id, query_id, rank): its own results, best first"
    else:
        keys, source, first = ["query_id"], "judged_doc", "judged_doc.gain"
        order, comment = "judged_doc.doc_id asc", "one row per (query_id, rank): all judged documents, best first"
    within = ""
    if metric.has_own_ideal and metric.ties == "average" and metric.depth is not None:
        within = f"\n    and graded_doc.rank <= {metric.depth}"
    yield Step(
        "ideal_doc",
        comment,
        f"""select
{"".join(f"    {source}.{key},{chr(10)}" for key in keys)}    {first} as gain,
    row_number() over (
        partition by {", ".join(f"{source}.{key}" for key in keys)}
        order by {first} desc, {order}
    ) as rank
from {source}
where{chr(10) + "   " if within else ""} {first} > 0e0{within}""",
    )
    yield query_ideal_step(metric, dialect, keys)


def query_ideal_step(metric: Metric, dialect: Dialect, keys: list[str]) -> Step:
    """Return the select that computes the DCG of each ideal ranking.

    keys: the columns that identify an ideal ranking. If the ideal is cut at the number of results, the columns
    `system_id` and `query_id` are used instead.
    """
    is_cut = metric.traits.takes("ideal")
    end = metric.cutoff if is_cut and metric.ideal_cut != "none" else None
    by_answer = is_cut and metric.ideal_cut == "returned"
    factor = expressions.discount_lines(metric, "ideal_doc.rank", dialect.real, end)
    total = "sum(ideal_doc.gain) as ideal"
    if metric.effective_discount != "none":
        first, *more = factor
        total = f"sum(ideal_doc.gain * {first}) as ideal"
        if more:
            total = "\n    ".join([f"sum(ideal_doc.gain * {first}", *more[:-1], f"{more[-1]}) as ideal"])
    source = "query_dcg" if by_answer else "ideal_doc"
    keys = ["system_id", "query_id"] if by_answer else keys
    rest = [f"from {source}"]
    if by_answer:
        rest.append("inner join ideal_doc on query_dcg.query_id = ideal_doc.query_id")
        rest.append("where ideal_doc.rank <= query_dcg.places")
    elif end is not None:
        rest.append(f"where ideal_doc.rank <= {end}")
    rest += ["group by", ",\n".join(f"    {source}.{key}" for key in keys)]
    comment = f"one row per ({', '.join(keys)})"
    return Step(
        "query_ideal",
        comment,
        select_columns([f"    {source}.{key} as {key}" for key in keys] + [f"    {total}"], *rest),
    )
