"""What there is to judge of drawn queries: the documents in the first places of any system."""

from collections import defaultdict

import pyarrow as pa

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.sources.documents import make_documents
from ndcg_ab.studies.draw import DrawStudy
from ndcg_ab.studies.to_judge import ToJudge

PLACES = 10  # of every system where a metric has no cutoff
Ranks = dict[tuple[str, str], dict[str, int]]  # (query, document) -> system -> its best place there


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
