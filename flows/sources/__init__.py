"""Where judgments, queries and rankings come from: one module per kind of place, behind `pull`."""

from flows.sources.layout import JUDGMENT, RANKING, Layout
from flows.sources.pull import Pulled, pull
from flows.sources.queries import Queries, pull_queries

__all__ = ["JUDGMENT", "RANKING", "Layout", "Pulled", "Queries", "pull", "pull_queries"]
