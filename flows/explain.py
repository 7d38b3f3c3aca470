"""`ndcg-ab explain`: one query, place by place, so that nobody has to ask why two tools differ."""

import dataclasses
from collections.abc import Sequence
from difflib import get_close_matches

import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flows import pipeline
from flows.checks import check
from flows.config import Evaluation
from flows.errors import InputError
from flows.parity import agree
from flows.sources import JUDGMENT, RANKING, pull, pull_queries
from flows.tables import plain_table
from flows.warehouse import Warehouse
from ndcg_core.explain import Explanation, Place, Step, explain, steps
from ndcg_core.metric import number
from ndcg_core.ndcg import Result

SHOWN = 30  # places shown of a ranking that no cutoff ends


@dataclasses.dataclass(frozen=True)
class Explained:
    """One system's explanations, one for each metric, and the steps from the first metric to each other one."""

    system_id: str
    explanations: tuple[Explanation, ...]
    steps: tuple[tuple[Step, ...], ...]


def explain_query(evaluation: Evaluation, query_id: str, warehouse: Warehouse) -> list[Explained]:
    """Explains every system and metric on one query; every value is computed by the SQL as well, and must agree.

    Raises InputError when nobody judged the query, ParityError when the two disagree.
    """
    judgments = pull(evaluation.judgments, JUDGMENT, evaluation.directory)
    known = judgments.table.filter(pc.equal(judgments.table["query_id"], query_id))
    if known.num_rows == 0:
        hint = nearest(query_id, judgments.table)
        raise InputError(f"--query {query_id!r}: has no judgments in {judgments.origin}{hint}")
    queries = pull_queries(evaluation)
    rankings = {}
    for system in evaluation.systems:
        pulled = pull(system.source, RANKING, evaluation.directory, queries.texts)
        mine = pulled.table.filter(pc.equal(pulled.table["query_id"].cast("string"), query_id))
        rankings[system.name] = dataclasses.replace(pulled, table=mine)
    pipeline.load(warehouse, judgments, queries, rankings, evaluation)
    check(warehouse, judgments, rankings, evaluation.metric_list, one_query=True)
    pipeline.score(warehouse, evaluation.metric_list)
    grades = dict(zip(known["doc_id"].to_pylist(), known["grade"].to_pylist(), strict=True))
    highest = pc.max(judgments.table["grade"]).as_py()
    found = []
    for name, pulled in rankings.items():
        columns = (pulled.table[column].to_pylist() for column in ("doc_id", "score", "rank"))
        results = [Result(*row) for row in zip(*columns, strict=True)]
        explained = tuple(explain(metric, results, grades, highest) for metric in evaluation.metric_list)
        for explanation in explained:
            compare_with_sql(warehouse, explanation, name, query_id)
        first, *others = evaluation.metric_list
        ways = tuple(tuple(steps(first, other, results, grades, highest)) for other in others)
        found.append(Explained(name, explained, ways))
    return found


def nearest(query_id: str, table: object) -> str:
    ids = pc.unique(table["query_id"]).to_pylist()  # type: ignore[index]
    near = get_close_matches(query_id, ids, n=1)
    return f"; did you mean {near[0]!r}?" if near else f" (they judge {len(ids)} queries, such as {ids[0]!r})"


def compare_with_sql(warehouse: Warehouse, explanation: Explanation, system_id: str, query_id: str) -> None:
    rows = warehouse.rows(
        "select value from query_score"
        " where system_id = $system_id and query_id = $query_id and metric_id = $metric_id",
        {"system_id": system_id, "query_id": query_id, "metric_id": explanation.metric.hash},
    )
    agree(rows[0][0] if rows else None, explanation.value, query_id, system_id, explanation.metric)


def print_explained(console: Console, explained: Sequence[Explained], query_id: str) -> None:
    for system in explained:
        for explanation in system.explanations:
            title = f"[bold]{escape(system.system_id)}[/], query {escape(repr(query_id))}, "
            console.print(ranking_table(title + f"[bold]{escape(explanation.metric.name)}[/]", explanation))
            if explanation.ideal:
                console.print(ideal_table(explanation))
            console.print(conclusion(explanation), highlight=False, markup=False)
            console.print()
        for way in system.steps:
            console.print(steps_table(system.system_id, way))


def ranking_table(title: str, explanation: Explanation) -> Table:
    made = plain_table(title)
    for name in ("rank", "document", "score", "grade", "gain", "discount", "gain · discount", "sum"):
        made.add_column(name, justify="left" if name == "document" else "right", overflow="fold")
    counted = explanation.counted[: explanation.metric.cutoff or SHOWN]
    for place in counted:
        score = "–" if place.score is None else number(place.score)
        made.add_row(str(place.rank), Text(place.doc_id or ""), score, grade_text(place), *numbers(place))
    if len(explanation.places) > len(counted):
        rest = len(explanation.places) - len(counted)
        beyond = "beyond the cutoff" if explanation.metric.cutoff else "that follow"
        made.add_row("…", f"[dim]{rest} documents {beyond}[/]", *[""] * 6)
    return made


def ideal_table(explanation: Explanation) -> Table:
    made = plain_table(f"ideal = {explanation.metric.ideal}, best first")
    for name in ("rank", "document", "grade", "gain", "discount", "gain · discount", "sum"):
        made.add_column(name, justify="left" if name == "document" else "right", overflow="fold")
    for place in explanation.ideal[:SHOWN]:
        document = Text("any of this grade", "dim") if place.doc_id is None else Text(place.doc_id)
        made.add_row(str(place.rank), document, grade_text(place), *numbers(place))
    if len(explanation.ideal) > SHOWN:
        last = explanation.ideal[-1]
        made.add_row(
            f"…{last.rank}", f"[dim]{len(explanation.ideal) - SHOWN} more[/]", "", "", "", "", f"{last.cumulated:.4f}"
        )
    return made


def grade_text(place: Place) -> str:
    return "[dim]unjudged[/]" if place.grade is None else number(place.grade)


def numbers(place: Place) -> list[str]:
    return [f"{place.gain:g}", f"{place.discount:.4f}", f"{place.contribution:.4f}", f"{place.cumulated:.4f}"]


def conclusion(explanation: Explanation) -> str:
    """The last line: how the value comes out of the sums."""
    metric, value = explanation.metric, explanation.value
    if value is None or explanation.because:
        return f"{metric.name}: {'left out' if value is None else f'{value:.6f}'}: {explanation.because}"
    if metric.measure == "ndcg":
        top = explanation.counted[-1].cumulated if explanation.counted else 0.0
        ideal = explanation.ideal[-1].cumulated if explanation.ideal else 0.0
        return f"{metric.name} = {top:.6f} / {ideal:.6f} = {value:.6f}, in SQL as in the Python core"
    how = quotient(explanation)
    return f"{metric.name} = {how}{value:.6f}, in SQL as in the Python core"


def quotient(explanation: Explanation) -> str:
    """The last step of the measures that are no sum, as ``2 / 5 = ``."""
    metric, counted = explanation.metric, explanation.counted
    if not counted:
        return ""
    total = f"{counted[-1].cumulated:g}"
    if metric.measure == "precision":
        return f"{total} / {metric.cutoff or len(explanation.places)} = "
    if metric.measure == "judged":
        return f"{total} / {len(counted)} = "
    if metric.measure == "recall" and explanation.value:
        return f"{total} / {counted[-1].cumulated / explanation.value:g} = "
    first = next((place.rank for place in counted if place.gain > 0), None)
    return f"1 / {first} = " if metric.measure == "rr" and first else ""


def steps_table(system_id: str, way: Sequence[Step]) -> Table:
    first, last = way[0].metric.name, way[-1].metric.name
    made = plain_table(f"[bold]{escape(system_id)}[/]: from {escape(first)} to {escape(last)}, a choice at a time")
    for name in ("change", "value", "moves it by"):
        made.add_column(name, justify="left" if name == "change" else "right")
    before: float | None = None
    for step in way:
        value = "left out" if step.value is None else f"{step.value:.6f}"
        known = step.choices and step.value is not None and before is not None
        moved = f"{(step.value or 0.0) - (before or 0.0):+.6f}" if known else ""
        made.add_row(escape(step.choices) or f"[dim]{escape(first)}[/]", value, moved)
        before = step.value
    return made
