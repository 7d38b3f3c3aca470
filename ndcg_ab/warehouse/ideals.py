"""The selects of what nDCG and recall divide by."""

from collections.abc import Iterator

from ndcg_ab.warehouse import expressions
from ndcg_ab.warehouse.dialects import Dialect
from ndcg_ab.warehouse.expressions import gain_lines, number_literal
from ndcg_ab.warehouse.step import Step, indent_lines, select_columns
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import gain


def highest_grade_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """The highest grade in every place."""
    if metric.max_grade is None:
        yield Step("highest_grade", "one row", "select max(judgment.grade) as grade\nfrom judgment")
        gained = indent_lines(gain_lines(metric, "highest_grade.grade", dialect.real))
        if expressions.gain_pairs(metric):
            gained = f"coalesce({gained}, -1e0)"
        source = "query_dcg\ncross join highest_grade"
    else:
        gained, source = number_literal(gain(metric, metric.max_grade)), "query_dcg"
    if metric.cutoff is None or metric.ideal_cut == "returned":
        places = "query_dcg.discounts"
    else:
        places = number_literal(expressions.sum_discounts(metric, metric.cutoff))
    yield Step(
        "query_ideal",
        "one row per (system_id, query_id): the highest grade in every place",
        f"""select
    query_dcg.system_id as system_id,
    query_dcg.query_id as query_id,
    {gained} * {places} as ideal
from {source}""",
    )


def best_order_steps(metric: Metric, dialect: Dialect) -> Iterator[Step]:
    """The gains of the judged documents, or of the system's own, best first."""
    if metric.has_own_ideal:
        own = "own_gain" if metric.ties == "average" else "gain"
        keys, source, first = ["system_id", "query_id"], "graded_doc", f"graded_doc.{own}"
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
    """The sum of an ideal down to where it ends."""
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
