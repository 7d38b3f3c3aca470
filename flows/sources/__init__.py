"""Where judgments, queries and rankings come from: one module per kind of place, behind `pull`."""

from flows.sources.layout import JUDGMENT, QUERY, RANKING, Layout
from flows.sources.pull import Pulled, pull, pull_queries

__all__ = ["JUDGMENT", "QUERY", "RANKING", "Layout", "Pulled", "pull", "pull_queries"]
