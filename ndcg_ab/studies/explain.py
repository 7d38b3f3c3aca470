"""Explain the values of one query rank by rank: `ndcg-ab explain`."""

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow.compute as pc

from ndcg_ab.checks.data_checks import check_tables
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, Setting
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.pulls import pull_judgments, pull_named_queries, pull_ranking
from ndcg_ab.pipeline.stages import run_stages
from ndcg_ab.pipeline.store import Store
from ndcg_ab.results.codec import encode, json_text
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.metric_tables import metrics_of_other_tools
from ndcg_ab.scoring.parity import refuse_disagreement
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_core.measures.explain import Explanation, Step, explain, steps
from ndcg_core.measures.score import Result


@dataclasses.dataclass(frozen=True)
class SystemExplanation:
    """The explanations of one system's values on a query.

    Attributes
    ----------
    system_id : str
        The system.
    explanations : tuple of Explanation
        One explanation per metric.
    steps : tuple of tuples of Step
        For each metric after the first, the steps from the first metric to it. A step is one change of the definition,
        with the value after the change.
    """

    system_id: str
    explanations: tuple[Explanation, ...]
    steps: tuple[tuple[Step, ...], ...]


def explain_query(evaluation: Evaluation, query_id: str, engine: Engine) -> Iterator[SystemExplanation]:
    """Yield the explained value of every system and metric on one query, each verified against the SQL.

    Raises InputError if the query is not judged, or if another tool computes a metric. Raises ParityError if Python and
    SQL disagree.
    """
    for metric in metrics_of_other_tools(evaluation.metric_list):
        raise InputError(f"metric {metric.name!r}: {metric.tool} computes it, and how is not known here: leave it out")
    store = Store(evaluation, engine)
    run_stages(Context(evaluation, store), (pull_named_queries, pull_judgments))
    if (judgments := store.judgments()) is None:
        raise InputError("judgments: are made by a function, and explained are those of files: give a file")
    judged = judgments.table.filter(pc.equal(judgments.table["query_id"], query_id))
    if judged.num_rows == 0:
        ids = pc.unique(judgments.table["query_id"]).to_pylist()
        near = get_close_matches(query_id, ids, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f" (they judge {len(ids)} queries, such as {ids[0]!r})"
        if matches := [each for each, text in store.queries().texts.items() if text.lower() == query_id.lower()]:
            hint = f"; it is the text of query {matches[0]!r}: say --query {shlex.quote(matches[0])}"
        problem = f" {query_id!r}: has no judgments in {judgments.origin}" if query_id else ": is missing"
        raise InputError(Setting("--query"), problem, hint)
    run_stages(Context(evaluation, store), (pull_ranking,))
    rankings = store.rankings(None)
    for name, pulled in rankings.items():
        mine = pulled.table.filter(pc.equal(pulled.table["query_id"].cast("string"), query_id))
        rankings[name] = dataclasses.replace(pulled, content=mine)
    loading.load_tables(engine, judgments, store.queries(), rankings, evaluation)
    check_tables(engine, judgments, rankings, evaluation, one_query=True)
    score_metrics(engine, evaluation.metric_list)
    grades = dict(zip(judged["doc_id"].to_pylist(), judged["grade"].to_pylist(), strict=True))
    highest = pc.max(judgments.table["grade"]).as_py()
    for name, pulled in rankings.items():
        columns = (pulled.table[column].to_pylist() for column in ("doc_id", "score", "rank"))
        results = [Result(*row) for row in zip(*columns, strict=True)]
        explained = tuple(explain(metric, results, grades, highest) for metric in evaluation.metric_list)
        for explanation in explained:
            where = {"system_id": name, "query_id": query_id, "metric_id": explanation.metric.hash}
            rows = engine.rows("query_score", ("value",), where=where)
            about = f"query {query_id!r}, system {name}, metric {explanation.metric.name}"
            refuse_disagreement(about, rows[0][0] if rows else None, explanation.value)
        first, *others = evaluation.metric_list
        ways = tuple(tuple(steps(first, other, results, grades, highest)) for other in others)
        yield SystemExplanation(name, explained, ways)


def explained_to_json(explained: Sequence[SystemExplanation], query_id: str) -> str:
    """Return the explanations of all systems as a JSON text.

    It has each system's ranking and ideal ranking by metric, and the steps from the first metric to each other metric.
    """
    systems = [
        {
            "system_id": each.system_id,
            "metrics": [explanation_record(explanation) for explanation in each.explanations],
            "steps": [[encode(step._asdict()) for step in way] for way in each.steps],
        }
        for each in explained
    ]
    return json_text({"query_id": query_id, "systems": systems})


def explanation_record(explanation: Explanation) -> dict[str, Any]:
    rankings = {"places": explanation.ranking, "ideal": explanation.ideal}
    ranks = {name: [rank._asdict() for rank in ranking] for name, ranking in rankings.items()}
    metric: dict[str, Any] = encode(explanation.metric)
    return metric | {"value": explanation.value, "because": explanation.because} | ranks
