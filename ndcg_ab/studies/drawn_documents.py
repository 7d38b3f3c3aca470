"""What there is to judge of drawn queries: the documents in the first places of any system."""

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.sources.queries import make_documents
from ndcg_ab.studies.draw import DrawStudy

PLACES = 10  # of every system where a metric has no cutoff
Ranks = dict[tuple[str, str], dict[str, int]]  # (query, document) -> system -> its best place there


@dataclass(frozen=True)
class ToJudge:
    """One query and one document that nobody has judged.

    place: 1, 2, 3 …, the first first. text: the query's; title, url: the document's; None where they are not known.
    ranks: (system, rank) of every system that shows the document, in the order of the systems.
    effect: by how much its grade is expected to move the difference of the comparison, in the unit of the metric; None
        where nothing of the query is judged yet, and lowest and highest are not known either.
    lowest, highest: the difference of the comparison if it had the lowest and the highest grade, and no other changed.
    baseline, candidate, metric: the comparison.
    """

    place: int
    query_id: str
    doc_id: str
    text: str | None
    title: str | None
    url: str | None
    ranks: tuple[tuple[str, int], ...]
    effect: float | None
    lowest: float | None
    highest: float | None
    baseline: str
    candidate: str
    metric: str


def list_documents(study: DrawStudy, engine: Engine, evaluation: Evaluation) -> list[ToJudge]:
    """Of all drawn queries; engine: that the study was made with."""
    places = study.places or PLACES
    rules = {rank_rule(metric) for metric in evaluation.metric_list}
    ranks: Ranks = defaultdict(dict)
    columns = ("rank_rule", "query_id", "doc_id", "system_id", "first_rank")
    for rule, query_id, doc_id, system, rank in engine.each("ranked_doc", columns, where={"query_id": study.drawn_ids}):
        if rule in rules and rank <= places:
            known = ranks[query_id, doc_id]
            known[system] = min(rank, known.get(system, rank))
    return make_rows(ranks, engine, evaluation)


def list_unjudged(engine: Engine, evaluation: Evaluation) -> list[ToJudge]:
    """Of drawn queries that nobody has judged; engine: with the tables of the evaluation."""
    ranks: Ranks = defaultdict(dict)
    for query_id, doc_id, system, rank in engine.rows("first_result", ("query_id", "doc_id", "system_id", "rank")):
        ranks[query_id, doc_id][system] = rank
    return make_rows(ranks, engine, evaluation)


def make_rows(ranks: Ranks, engine: Engine, evaluation: Evaluation) -> list[ToJudge]:
    """Query by query, the documents in the order of their ids, which does not tell who shows them."""
    texts = dict(engine.rows("query", ("query_id", "text")))
    titles: dict[str, tuple[str | None, str | None]] = {}
    if ranks and (documents := make_documents(evaluation)):
        documents.check()
        named = sorted({doc_id for _, doc_id in ranks})
        found = documents.of(pa.chunked_array([pa.array(named, pa.string())]))
        titles = {each["doc_id"]: (each["title"], each["url"]) for each in found.to_pylist()}
    names = [system.name for system in evaluation.systems]
    return [
        ToJudge(
            place=place,
            query_id=query_id,
            doc_id=doc_id,
            text=texts.get(query_id) or None,
            title=titles.get(doc_id, (None, None))[0],
            url=titles.get(doc_id, (None, None))[1],
            ranks=tuple((name, shown[name]) for name in names if name in shown),
            effect=None,
            lowest=None,
            highest=None,
            baseline=evaluation.baseline_name,
            candidate=next(name for name in names if name != evaluation.baseline_name),
            metric=evaluation.metrics[0],
        )
        for place, ((query_id, doc_id), shown) in enumerate(sorted(ranks.items()), 1)
    ]
