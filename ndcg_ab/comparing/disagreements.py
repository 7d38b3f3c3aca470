"""How far the rankings of every query are apart, before anything is judged."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import ParityError
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.scoring.parity import TOLERANCE, sample_queries
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.overlap import disagreement


class Disagreements(NamedTuple):
    """Of n queries. values: (n,) root mean square over the candidates, >= 0. is_changed: whether any candidate has
    other results than the baseline."""

    values: NDArray[np.float64]
    is_changed: NDArray[np.bool_]


def find_disagreements(
    engine: Engine, query_ids: Sequence[str], candidates: Sequence[str], baseline: str, metric: Metric
) -> Disagreements:
    """Of these queries, which all count as judged; a query that no system answers has none.

    metric: the first. Raises ParityError where a sample of the queries is found to be others by the core.
    """
    rows = engine.rows("disagreement", ("candidate", "query_id", "moved", "squares"), order="query_id")
    places = {query_id: place for place, query_id in enumerate(query_ids)}
    squares, is_changed = np.zeros(len(query_ids)), np.zeros(len(query_ids), dtype=bool)
    for _, query_id, moved, square in rows:
        if query_id in places:
            squares[places[query_id]] += square / len(candidates)
            is_changed[places[query_id]] |= moved > 0
    check_sample(engine, {(name, query_id): square for name, query_id, _, square in rows}, baseline, metric)
    return Disagreements(np.sqrt(squares), is_changed)


def check_sample(engine: Engine, squares: dict[tuple[str, str], float], baseline: str, metric: Metric) -> None:
    """Computes those of a sample of the queries again, with the core; a difference stops everything."""
    if metric.ties == "average":
        return  # tied documents stand at one place, and the core's are in an order
    names = sorted({name for name, _ in squares})
    sample = sample_queries(sorted({query_id for _, query_id in squares}), len(names) + 1)
    rankings: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    where = {"query_id": sample, "rank_rule": rank_rule(metric)}
    for system, query_id, rank, doc_id in engine.each(
        "ranked_doc", ("system_id", "query_id", "rank", "doc_id"), where=where
    ):
        if rank <= (metric.cutoff or rank):
            rankings[system, query_id].append((rank, doc_id))
    for name in names:
        for query_id in sample:
            sides = [[doc for _, doc in sorted(rankings[system, query_id])] for system in (baseline, name)]
            core = disagreement(*sides) ** 2
            if abs(squares.get((name, query_id), 0.0) - core) > TOLERANCE:
                raise ParityError(
                    f"parity check: query {query_id!r}, system {name}, disagreement: SQL gives"
                    f" {squares.get((name, query_id))!r}, the Python core {core!r} (more than {TOLERANCE} apart);"
                    " nothing of this draw can be believed"
                )
