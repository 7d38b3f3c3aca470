"""Write the query of a metric as a chain of named selects, of which only the needed ones are included.

Names and formulas are those of `sql/`, but the choices of the metric are literals in the query, while `sql/` reads them
from tables, and only SQL with one meaning in all databases is used.
"""

import shlex
import textwrap
from collections.abc import Iterator

from ndcg_ab.errors import InputError, Setting
from ndcg_ab.warehouse import dialects, expressions
from ndcg_ab.warehouse.dialects import DIALECTS, JUDGMENT_FIELDS, RANKING_FIELDS, Dialect, Tables
from ndcg_ab.warehouse.documents import input_steps, judged_steps, query_dcg_step, ranked_steps, valid_judgments
from ndcg_ab.warehouse.step import Step, chain_steps, unused_prefix
from ndcg_ab.warehouse.sums import FACTOR_SQL, best_order_steps, cascade_steps, factor_sql_of, highest_grade_steps
from ndcg_core.measures.meanings import MEASURE_MEANINGS, TABLE_MEANING, VALUE_MEANINGS
from ndcg_core.measures.metric import Metric, choice_text, format_number, unknown_value_message

WIDTH = 117  # of a comment, so that no line is longer than 120 characters


def write_query(metric: Metric, dialect: str, tables: Tables = Tables(), *, mean: bool = False) -> str:  # noqa: B008
    """Return the SQL query of a metric, with the definition in a comment.

    Parameters
    ----------
    metric : Metric
        The metric to compute.
    dialect : str
        A key of `DIALECTS`.
    tables : Tables
        The tables of judgments and rankings.
    mean : bool, default False
        Whether the query returns one row per system instead of one per system and query.

    Returns
    -------
    str
        The query. It returns null instead of a value if ndcg-ab would refuse the data.

    Raises
    ------
    InputError
        If the dialect is unknown or cannot express the metric, if a table or column cannot be used, or if the gain of
        `max_grade` is too large to be summed.
    """
    if dialect not in DIALECTS:
        raise InputError(Setting("--dialect"), unknown_value_message("", dialect, DIALECTS))
    chosen = DIALECTS[dialect]
    is_cascade = metric.traits.factors is not None
    if not expressions.is_expressible(metric) or (is_cascade and metric.traits.factors not in FACTOR_SQL):
        raise InputError(f"metric {metric.name}: {metric.measure} is not written as one query: choose another measure")
    if metric.score_precision == "float32" and not chosen.real32:
        raise InputError(
            f"metric {metric.name}: score_precision = float32 cannot be said in {chosen.title}, which has no 32-bit"
            " numbers: choose score_precision = double"
        )
    dialects.refuse_unknown_fields("--judgments-columns", tables.judgments_columns, JUDGMENT_FIELDS)
    dialects.refuse_unknown_fields("--columns", tables.columns, RANKING_FIELDS)
    refuse_unread_fields(metric, tables)
    refuse_impossible_highest(metric)
    steps, final = list(query_steps(metric, chosen)), score_select(metric, chosen)
    if mean:
        steps.append(Step("query_score", "one row per (system_id, query_id)", final))
        final = MEAN
    prefix = unused_prefix([tables.judgments, *(tables.systems.values() or [tables.all_rankings])])
    text = chain_steps(list(input_steps(metric, chosen, tables)), steps, final, prefix)
    return format_header(metric, dialect, mean=mean) + text


def refuse_impossible_highest(metric: Metric) -> None:
    """Raise InputError if the metric's `max_grade` has a gain that is too large to be summed over ranks."""
    if metric.max_grade is not None and metric.max_grade > expressions.highest_grade_without_overflow(metric):
        raise InputError(
            f"metric {metric.name}: the gain of max_grade = {format_number(metric.max_grade)} is too large to add up;"
            " choose a lower one, or another gain"
        )


def refuse_unread_fields(metric: Metric, tables: Tables) -> None:
    """Raise InputError if the user names a column that the query would not read.

    Such a column holds ranks for a metric that orders by scores, scores for a metric that orders by ranks, or the
    system if each system has its own table.
    """
    unread = {"score": "orders by ranks"} if metric.ties == "given" else {"rank": "orders by scores"}
    if tables.systems:
        unread["system_id"] = "has a table for each system"
    for field in tables.columns:
        if field in unread:
            message = f"the query {unread[field]}, and does not read it; leave it out"
            raise InputError(Setting("--columns"), f" {field}={tables.columns[field]}: {message}")


MEAN = """select
    query_score.system_id,
    case when count(query_score.value) = count(*) then avg(query_score.value) end as value,
    count(*) as queries
from query_score
group by query_score.system_id"""


def query_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """Yield, in order, the selects between the selects that read tables and the last select."""
    yield from valid_judgments(metric)
    yield from judged_steps(metric, dialect)
    yield from ranked_steps(metric, dialect)
    if walk := factor_sql_of(metric):
        yield from cascade_steps(metric, walk, dialect)
        return
    yield query_dcg_step(metric)
    if metric.has_endless_ideal:
        yield from highest_grade_steps(metric, dialect)
    elif metric.ideal_entry is not None:
        yield from best_order_steps(metric, dialect)


def score_select(metric: Metric, dialect: Dialect) -> str:
    """Return the SQL of the last select, which has one row per (system_id, query_id) with the metric's value.

    The value is null if ndcg-ab would refuse the data.
    """
    cases = ["when unnamed_judgment.faults > 0 or unnamed_result.faults > 0 then null"]
    cases.append("when judged_query.faults > 0 or coalesce(answer.faults, 0) > 0 then null")
    if metric.no_relevant != "exclude":
        cases.append(f"when judged_query.best <= 0e0 then {'1e0' if metric.no_relevant == 'one' else '0e0'}")
    if metric.has_endless_ideal and expressions.gain_pairs(metric) and metric.max_grade is None:
        cases.append("when query_ideal.ideal < 0e0 then null")
    cases += expressions.value_case_lines(metric, dialect.real)
    value = "\n            ".join(cases)
    has_ideal = metric.ideal_entry is not None and metric.traits.factors is None
    shares_ideal = has_ideal and not (
        metric.has_own_ideal or metric.has_endless_ideal or metric.ideal_cut == "returned"
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


# ---- the comment: what is computed, by which definition, and what was tried


def format_header(metric: Metric, dialect: str, *, mean: bool) -> str:
    """Return the SQL comment above a query, with a line end at its end.

    The comment has the metric's hash, every choice with its meaning, and the kinds of data for which values are null.
    """
    chosen = DIALECTS[dialect]
    grain = "one row per system_id: the mean over its queries" if mean else "one row per (system_id, query_id)"
    tried = ("" if chosen.is_executed else "parsed, but not ") + "executed by the tests of ndcg-ab"
    command = f"ndcg-ab sql --metric {shlex.quote(metric.name)} --dialect {dialect}{' --mean' if mean else ''}"
    lines = [f"{metric.name}, {grain}.", f"Made by: {command}", f"For {chosen.title}: {tried}."]
    lines.append(f"Definition {metric.hash} (docs/definitions.md):")
    lines += [f"  {line}" for line in definition_lines(metric)]
    lines.append(f"A value is null where ndcg-ab refuses the data: {', '.join(refused_inputs(metric))}.")
    return "".join(f"-- {part}\n" for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="    "))


def definition_lines(metric: Metric) -> Iterator[str]:
    """Yield the lines of a metric's definition, such as ``gain = linear: the grade``.

    The measure and the cutoff come first, then each choice of the metric that is not None.
    """
    yield f"measure = {metric.measure}: {MEASURE_MEANINGS[metric.measure]}"
    yield f"cutoff = {metric.cutoff}" if metric.cutoff else "cutoff = none: everything returned"
    for choice in metric.choices():
        value = getattr(metric, choice)
        if value is None:
            continue
        meaning = TABLE_MEANING if isinstance(value, tuple) else VALUE_MEANINGS.get((choice, value))
        yield f"{choice} = {choice_text(value)}" + (f": {meaning}" if meaning else "")


def refused_inputs(metric: Metric) -> Iterator[str]:
    """Yield, in words, the kinds of data that ndcg-ab refuses, so that the query returns null for them."""
    yield "judgments that contradict each other"
    yield "grades and scores that are no finite numbers, missing scores"
    if metric.duplicates == "error":
        yield "a document twice in one ranking"
    if metric.negative == "error":
        yield "a grade below 0"
    if not isinstance(metric.effective_gain, str):
        yield "a grade that the gain table lacks"
    if metric.max_grade is not None:
        yield "a grade above max_grade"
