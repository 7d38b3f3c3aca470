"""Where judgments, queries and rankings come from: one module per kind of place, behind `pull`."""

from ndcg_ab.sources.base import Pulled
from ndcg_ab.sources.judgments.gathering import pull_judgments
from ndcg_ab.sources.queries import Queries, pull_queries
from ndcg_ab.sources.registry import pull, source_of
from ndcg_ab.sources.tables.schema import JUDGMENT, RANKING, Layout
from ndcg_ab.sources.tables.top_places import Wanted

__all__ = [
    "JUDGMENT",
    "RANKING",
    "Layout",
    "Pulled",
    "Queries",
    "Wanted",
    "pull",
    "pull_judgments",
    "pull_queries",
    "source_of",
]
