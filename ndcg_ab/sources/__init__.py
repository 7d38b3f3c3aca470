"""Read judgments, queries and rankings: one module for each kind of source; `pull_source` reads any of them."""

from ndcg_ab.sources.base import Pulled
from ndcg_ab.sources.queries import Queries, pull_queries
from ndcg_ab.sources.registry import make_source, pull_source
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from ndcg_ab.sources.tables.schema import JUDGMENT, RANKING, Layout

__all__ = [
    "JUDGMENT",
    "RANKING",
    "Layout",
    "NeededResults",
    "Pulled",
    "Queries",
    "make_source",
    "pull_queries",
    "pull_source",
]
