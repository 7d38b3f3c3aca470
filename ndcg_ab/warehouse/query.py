"""The query: a chain of named selects, each of which is in it only where the metric needs it.

Names and formulas are those of `sql/`; but a query for one metric holds its choices as text, where `sql/` reads them
from tables, and keeps to what all databases mean the same by.
"""

from collections.abc import Iterator

from ndcg_ab.errors import InputError, Setting
from ndcg_ab.warehouse import expressions, names
from ndcg_ab.warehouse.cascade_measures import CASCADE_MEASURES, cascade_steps
from ndcg_ab.warehouse.dialects import DIALECTS, Dialect
from ndcg_ab.warehouse.documents import judged_steps, query_dcg_step, ranked_steps, valid_judgments
from ndcg_ab.warehouse.header import format_header
from ndcg_ab.warehouse.ideals import best_order_steps, highest_grade_steps
from ndcg_ab.warehouse.input_tables import input_steps
from ndcg_ab.warehouse.names import JUDGMENT_FIELDS, RANKING_FIELDS, Tables
from ndcg_ab.warehouse.step import Step, chain_steps, unused_prefix
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.writing import format_number, unknown_value_message


def write_query(metric: Metric, dialect: str, tables: Tables = Tables(), *, mean: bool = False) -> str:  # noqa: B008
    """The query, with the definition in a comment; InputError for what cannot be said in that database.

    Its rows: the value of each system and query, or with mean of each system.  A value is null where ndcg-ab refuses.
    """
    if dialect not in DIALECTS:
        raise InputError(Setting("--dialect"), unknown_value_message("", dialect, DIALECTS))
    chosen = DIALECTS[dialect]
    if metric.measure not in expressions.MEASURES:
        raise InputError(f"metric {metric.name}: {metric.measure} is not written as one query: choose another measure")
    if metric.score_precision == "float32" and not chosen.real32:
        raise InputError(
            f"metric {metric.name}: score_precision = float32 cannot be said in {chosen.title}, which has no 32-bit"
            " numbers: choose score_precision = double"
        )
    names.refuse_unknown_fields("--judgments-columns", tables.judgments_columns, JUDGMENT_FIELDS)
    names.refuse_unknown_fields("--columns", tables.columns, RANKING_FIELDS)
    refuse_unread_fields(metric, tables)
    refuse_impossible_highest(metric)
    steps, final = list(query_steps(metric, chosen)), score_select(metric, chosen)
    if mean:
        steps.append(Step("query_score", "one row per (system_id, query_id)", final))
        final = MEAN
    prefix = unused_prefix([tables.judgments, *(tables.systems.values() or [tables.rankings])])
    text = chain_steps(list(input_steps(metric, chosen, tables)), steps, final, prefix)
    return format_header(metric, dialect, mean=mean) + text


def refuse_impossible_highest(metric: Metric) -> None:
    """A max_grade whose gain `compare` refuses, too."""
    if metric.max_grade is not None and metric.max_grade > expressions.highest_addable_grade(metric):
        raise InputError(
            f"metric {metric.name}: the gain of max_grade = {format_number(metric.max_grade)} is too large to add up;"
            " choose"
            " a lower one, or another gain"
        )


def refuse_unread_fields(metric: Metric, tables: Tables) -> None:
    """A column that is named, and that the query would not read."""
    unread = {"score": "orders by ranks"} if metric.ties == "given" else {"rank": "orders by scores"}
    if tables.systems:
        unread["system_id"] = "has a table for each system"
    for field in tables.columns:
        if field in unread:
            said = f"the query {unread[field]}, and does not read it; leave it out"
            raise InputError(Setting("--columns"), f" {field}={tables.columns[field]}: {said}")


MEAN = """select
    query_score.system_id,
    case when count(query_score.value) = count(*) then avg(query_score.value) end as value,
    count(*) as queries
from query_score
group by query_score.system_id"""


def query_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """The steps between the tables and the last select, in their order."""
    yield from valid_judgments(metric)
    yield from judged_steps(metric, dialect)
    yield from ranked_steps(metric, dialect)
    if metric.measure in CASCADE_MEASURES:
        yield from cascade_steps(metric, dialect)
        return
    yield query_dcg_step(metric)
    if metric.has_endless_ideal:
        yield from highest_grade_steps(metric, dialect)
    elif metric.ideal_traits is not None:
        yield from best_order_steps(metric, dialect)


def score_select(metric: Metric, dialect: Dialect) -> str:
    """The last select: one row per (system_id, query_id)."""
    cases = ["when unnamed_judgment.faults > 0 or unnamed_result.faults > 0 then null"]
    cases.append("when judged_query.faults > 0 or coalesce(answer.faults, 0) > 0 then null")
    if metric.no_relevant != "exclude":
        cases.append(f"when judged_query.best <= 0e0 then {'1e0' if metric.no_relevant == 'one' else '0e0'}")
    if metric.has_endless_ideal and expressions.gain_pairs(metric) and metric.max_grade is None:
        cases.append("when query_ideal.ideal < 0e0 then null")
    cases += expressions.MEASURES[metric.measure](metric, dialect.real)
    value = "\n            ".join(cases)
    has_ideal = metric.ideal_traits is not None and metric.measure not in CASCADE_MEASURES
    shares_ideal = has_ideal and not (
        metric.has_own_ideal
        or metric.has_endless_ideal
        or (metric.traits.takes("ideal") and metric.ideal_cut == "returned")
    )
    joins = [join_clause("answer", outer=metric.unanswered == "zero"), join_clause("query_dcg")]
    if has_ideal:
        joins.append(join_clause("query_ideal", shared=shares_ideal))
    return f"""select
    compared_system.system_id as system_id,
    judged_query.query_id as query_id,
    cast(
        case
            {value}
        end as {dialect.real}
    ) as value
from judged_query
cross join compared_system
cross join unnamed_judgment
cross join unnamed_result
""" + "\n".join(joins)


def join_clause(name: str, *, outer: bool = True, shared: bool = False) -> str:
    by_query = f"judged_query.query_id = {name}.query_id"
    kind = "left" if outer else "inner"
    if shared:
        return f"{kind} join {name} on {by_query}"
    return f"{kind} join {name}\n    on\n        compared_system.system_id = {name}.system_id\n        and {by_query}"
