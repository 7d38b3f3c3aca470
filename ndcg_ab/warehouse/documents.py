"""Write the selects over documents: the user's tables, judgments with gains, and results in rank order."""

from collections.abc import Iterator

from ndcg_ab.warehouse import dialects, expressions
from ndcg_ab.warehouse.dialects import Dialect, Tables
from ndcg_ab.warehouse.expressions import gain_lines, number_literal
from ndcg_ab.warehouse.step import Step, indent_lines, select_columns
from ndcg_ab.warehouse.sums import factor_sql_of, judged_columns
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import GAINS

LARGEST32 = 3.4028234663852886e38
NOTHING32 = 2.0**-150  # what is not above it is 0 as a 32-bit number


# ---- the tables with our names and types for their columns


def input_steps(metric: Metric, dialect: Dialect, tables: Tables) -> Iterator[Step]:
    """Yield the selects that read the user's tables and rename and cast the columns.

    The first select reads the judgments and drops rows without a grade; the second reads the rankings of all systems.
    Raise InputError if the name of a table, column or system cannot be used in a query.
    """

    def text(alias: str, option: str, field: str) -> str:
        columns = tables.judgments_columns if alias == "judged" else tables.columns
        column = dialects.quote_column(option, columns, field, dialect)
        return f"    cast({alias}.{column} as {dialect.text}){dialect.bytewise} as {field}"

    option = "--judgments-columns"
    grade = dialects.quote_column(option, tables.judgments_columns, "grade", dialect)
    lines = [text("judged", option, "query_id"), text("judged", option, "doc_id")]
    lines.append(f"    cast(judged.{grade} as {dialect.real}) as grade")
    table = dialects.quote_table("--judgments", tables.judgments, dialect)
    rows = f"from {table} as judged\nwhere judged.{grade} is not null"
    yield Step("given_judgment", "your judgments; a row without a grade is none", select_columns(lines, rows))

    def ranking(table: str, system: str) -> str:
        lines = [system, text("returned", "--columns", "query_id"), text("returned", "--columns", "doc_id")]
        lines.append(order_column(metric, dialect, tables))
        return select_columns(lines, f"from {table} as returned")

    if not tables.systems:
        table = dialects.quote_table("--rankings", tables.all_rankings, dialect)
        selects = [ranking(table, text("returned", "--columns", "system_id"))]
    else:
        selects = []
        for name, path in tables.systems.items():
            system = f"    cast({dialects.quote_system('--system', name)} as {dialect.text}) as system_id"
            selects.append(ranking(dialects.quote_table("--system", path, dialect), system))
    yield Step("given_ranking", "your rankings", "\nunion all\n".join(selects))


def order_column(metric: Metric, dialect: Dialect, tables: Tables) -> str:
    """Return the SQL of the column by which results are sorted, highest first.

    The column is the score, or the negated rank if the metric uses ranks instead of scores. Adding 0 makes -0.0 and 0.0
    equal scores.
    """
    if metric.ties == "given":
        rank = dialects.quote_column("--columns", tables.columns, "rank", dialect)
        return f"    -cast(returned.{rank} as {dialect.real}) as order_score"
    column = dialects.quote_column("--columns", tables.columns, "score", dialect)
    return f"    cast(returned.{column} as {dialect.real}) + 0e0 as order_score"


# ---- judgments


def valid_judgments(metric: Metric) -> Iterator[Step]:
    """Yield the selects that merge repeated judgments and count invalid ones.

    The final query returns null for a query with an invalid judgment, and for all queries if a judgment has no
    query_id.
    """
    condition = expressions.named_ids_sql("given_judgment.query_id")
    yield Step(
        "unnamed_judgment",
        "one row; faults: judgments that name no query, so that nothing can be believed",
        f"select count(*) - count(case when {condition} then 1 end) as faults\nfrom given_judgment",
    )
    possible = [expressions.finite_sql("given_judgment.grade")]
    if (highest := expressions.highest_grade_without_overflow(metric)) < expressions.LARGEST:
        possible.append(f"given_judgment.grade <= {number_literal(highest)}")
    rules = "\n            and ".join(possible)
    yield Step(
        "possible_judgment",
        "one row for each of yours; a grade that is refused is 0 from here on; faults: 1 there",
        f"""select
    given_judgment.query_id as query_id,
    given_judgment.doc_id as doc_id,
    case
        when {rules} then given_judgment.grade
        else 0e0
    end as grade,
    case
        when {rules}
            and {expressions.named_ids_sql("given_judgment.doc_id")} then 0
        else 1
    end as faults
from given_judgment
where {condition}""",
    )
    yield Step(
        "judgment",
        "one row per (query_id, doc_id): repetitions that agree are one",
        """select
    possible_judgment.query_id,
    possible_judgment.doc_id,
    max(possible_judgment.grade) as grade,
    min(possible_judgment.grade) as lowest_grade,
    sum(possible_judgment.faults) as faults
from possible_judgment
group by
    possible_judgment.query_id,
    possible_judgment.doc_id""",
    )


def judged_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """Yield two selects: the gain of each judged document, and the queries that the metric scores.

    Queries without a relevant judgment are left out if the metric excludes them.
    """
    walk = factor_sql_of(metric)
    marked = "".join(f",\n    {column}" for column in judged_columns(metric, walk, dialect)) if walk else ""
    yield Step(
        "judged_doc",
        "one row per (query_id, doc_id): what the document is worth; faults: 1 where the judgment is refused",
        f"""select
    judgment.query_id,
    judgment.doc_id,
    judgment.grade,
    {indent_lines(gain_lines(metric, "judgment.grade", dialect.real))} as gain,
    case
        when {valid_judgment_sql(metric)} then 0
        else 1
    end as faults{marked}
from judgment""",
    )
    relevant = "gain"
    if isinstance(metric.effective_gain, str) and GAINS[metric.effective_gain].relevance:
        relevant = "grade"
    only = f"\nhaving max(judged_doc.{relevant}) > 0e0 or sum(judged_doc.faults) > 0"
    totals = ""
    if walk:
        totals = ",\n    sum(judged_doc.gain) as relevant"
        totals += ",\n    sum(judged_doc.nonrelevant) as nonrelevant" * ("nonrelevant" in walk.marks)
    yield Step(
        "judged_query",
        "one row per query_id: the queries that count",
        f"""select
    judged_doc.query_id,
    max(judged_doc.{relevant}) as best,
    sum(judged_doc.faults) as faults{totals}
from judged_doc
group by judged_doc.query_id{only if metric.no_relevant == "exclude" else ""}""",
    )


def valid_judgment_sql(metric: Metric) -> str:
    """Return the SQL condition that is true if a judgment can be used.

    The judgment must have valid ids and a finite grade, no other judgment may give the document another grade, and the
    metric must allow the grade.
    """
    rules = ["judgment.faults = 0", "judgment.lowest_grade = judgment.grade"]
    if metric.negative == "error":
        rules.append("judgment.grade >= 0e0")
    if table := expressions.gain_pairs(metric):
        most = expressions.largest_gain_without_overflow(metric)
        grades = ", ".join(number_literal(grade) for grade, gain in table if grade > 0 and gain <= most)
        rules.append(f"(judgment.grade <= 0e0 or judgment.grade in ({grades}))" if grades else "judgment.grade <= 0e0")
    if metric.max_grade is not None:
        rules.append(f"judgment.grade <= {number_literal(metric.max_grade)}")
    return "\n            and ".join(rules)


# ---- rankings


def ranked_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """Yield the selects that read the rankings.

    They count invalid results, list the systems, and give the results in rank order with their gains.
    """
    condition = expressions.named_ids_sql("given_ranking.system_id", "given_ranking.query_id")
    yield Step(
        "unnamed_result",
        "one row; faults: results that name no system or no query, so that nothing can be believed",
        f"select\n    count(*)\n    - count(case when {condition} then 1 end) as faults\nfrom given_ranking",
    )
    finite = expressions.finite_sql("given_ranking.order_score")
    faults = f"count(*)\n        - count(case when {finite} then 1 end)"
    faults += f"\n        + count(*) - count(case when {expressions.named_ids_sql('given_ranking.doc_id')} then 1 end)"
    if metric.duplicates == "error":
        faults += "\n        + count(*) - count(distinct given_ranking.doc_id)"
    yield Step(
        "answer",
        "one row per (system_id, query_id); faults: results that are refused",
        f"""select
    given_ranking.system_id,
    given_ranking.query_id,
    {faults} as faults
from given_ranking
where {condition}
group by
    given_ranking.system_id,
    given_ranking.query_id""",
    )
    yield Step(
        "compared_system",
        "one row per system_id",
        "select distinct answer.system_id\nfrom answer",
    )
    yield ranking_step(metric, dialect)
    direction = "asc" if metric.ties == "doc_id_asc" else "desc"
    averages = metric.ties == "average"
    columns = ["system_id", "query_id", "doc_id"] + ["order_score"] * averages
    order = f"""    row_number() over (
        partition by ranking.system_id, ranking.query_id
        order by ranking.order_score desc, ranking.doc_id {direction}
    ) as rank"""
    comment = "one row per (system_id, query_id, rank)"
    yield Step(
        "ranked_doc", comment, select_columns([f"    ranking.{name}" for name in columns] + [order], "from ranking")
    )
    yield graded_doc_step(metric, dialect)


def ranking_step(metric: Metric, dialect: Dialect) -> Step:
    """Return the select of the results of the queries that the metric scores.

    Unjudged documents are left out if the metric condenses rankings. Of a repeated document only the best result is
    selected if the metric keeps the first.
    """
    value = "given_ranking.order_score"
    if metric.score_precision == "float32":
        largest = number_literal(LARGEST32)
        clipped = [f"when {value} > {largest} then {largest}", f"when {value} < -{largest} then -{largest}"]
        clipped.append(f"when abs({value}) <= {number_literal(NOTHING32)} then 0e0")  # some refuse to cast these
        clipped = ["cast(cast(case", *(f"    {line}" for line in [*clipped, f"else {value}"])]
        value = "\n    ".join([*clipped, f"end as {dialect.real32}) as {dialect.real})"])
    once = metric.duplicates == "first"
    lines = [f"    given_ranking.{name} as {name}" for name in ("system_id", "query_id", "doc_id")]
    lines.append(f"    {f'max({value})' if once else value} as order_score")
    rest = ["from given_ranking", "inner join judged_query on given_ranking.query_id = judged_query.query_id"]
    comment = "one row per (system_id, query_id, doc_id): the results of queries that count"
    if metric.unjudged == "condense":
        comment += ", of them the judged ones"
        rest += ["inner join judged_doc", "    on", "        given_ranking.query_id = judged_doc.query_id"]
        rest += ["        and given_ranking.doc_id = judged_doc.doc_id"]
        rest += ["where judged_doc.grade >= 0e0"] * (metric.negative == "unjudged")
    if once:
        rest += ["group by", ",\n".join(f"    given_ranking.{name}" for name in ("system_id", "query_id", "doc_id"))]
    return Step("ranking", comment, select_columns(lines, *rest))


def graded_doc_step(metric: Metric, dialect: Dialect) -> Step:
    """Return the select of the gain at each rank within the depth of the metric.

    An unjudged document gains nothing. If the metric averages ties, each document has the mean gain of its tie, and
    ranks below the depth are selected, too.
    """
    gain = "coalesce(judged_doc.gain, 0e0)"
    columns = [f"ranked_doc.{name} as {name}" for name in ("system_id", "query_id", "rank")]
    comment = "one row per (system_id, query_id, rank); an unjudged document gains nothing"
    if metric.ties == "average":
        comment = "one row per (system_id, query_id, rank); every rank of a tie gains the mean of the tie"
        columns += [f"{gain} as own_gain"] * metric.has_own_ideal
        columns.append(
            f"""avg({gain}) over (
        partition by ranked_doc.system_id, ranked_doc.query_id, ranked_doc.order_score
    ) as gain"""
        )
    else:
        columns.append(f"{gain} as gain")
    if walk := factor_sql_of(metric):
        columns += [f"coalesce(judged_doc.{mark}, 0e0) as {mark}" for mark in walk.marks]
    if metric.effective_discount != "none":
        factor = expressions.discount_lines(metric, "ranked_doc.rank", dialect.real, metric.cutoff)
        columns.append("\n    ".join(factor) + " as discount")
    rest = ["from ranked_doc", "left join judged_doc", "    on"]
    rest += ["        ranked_doc.query_id = judged_doc.query_id", "        and ranked_doc.doc_id = judged_doc.doc_id"]
    if metric.depth is not None and metric.ties != "average":
        rest.append(f"where ranked_doc.rank <= {metric.depth}")
    return Step("graded_doc", comment, select_columns([f"    {column}" for column in columns], *rest))


def query_dcg_step(metric: Metric) -> Step:
    """Return the select of the DCG within the cutoff, one row per system and query.

    The select adds the columns that the measure needs: the number of results, the rank of the first relevant document,
    or the sum of discounts.
    """
    has_discount = metric.effective_discount != "none"
    lines = ["graded_doc.system_id", "graded_doc.query_id"]
    lines.append(f"sum(graded_doc.gain{' * graded_doc.discount' * has_discount}) as dcg")
    cut_ideal = metric.ideal_cut == "returned"
    if expressions.divides_by_results(metric) or cut_ideal:
        lines.append("count(*) as places")
    if metric.traits.is_decided_by_first:
        lines.append("min(case when graded_doc.gain > 0e0 then graded_doc.rank end) as first_rank")
    if metric.has_endless_ideal and (metric.cutoff is None or cut_ideal):
        lines.append("sum(graded_doc.discount) as discounts" if has_discount else "count(*) * 1e0 as discounts")
    rest = ["from graded_doc"]
    if metric.cutoff is not None and (metric.depth != metric.cutoff or metric.ties == "average"):
        rest.append(f"where graded_doc.rank <= {metric.cutoff}")
    rest += ["group by", "    graded_doc.system_id,", "    graded_doc.query_id"]
    return Step(
        "query_dcg", "one row per (system_id, query_id)", select_columns([f"    {line}" for line in lines], *rest)
    )
