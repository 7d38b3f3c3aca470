"""Queries that look as if they belonged together, though nobody says so: turns of a conversation, variants of one."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import format_value
from ndcg_ab.results.outcome import Finding

NUMBERED = re.compile(r"(.+)([_\-.:/#])\d+")
FEWEST_GROUPS = 5  # with fewer the beginnings of ids name collections: dl19-1, dl19-2, …, dl20-1, …
MOST_OF_ALL = 0.8  # of the queries are in groups
LARGEST_USUAL = 50  # queries of a usual group
TOO_SURE = "results may look too certain"
REPEATED = 0.05  # of the queries repeat the text of another


def check_clusters(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """Warns where the queries look clustered and are compared as if each stood for itself."""
    rows = engine.rows("query", ("query_id", "text", "cluster", "is_judged"), order="query_id")
    settings = evaluation.statistics
    if settings.clustered is False or settings.cluster_prefix is not None or any(row[2] is not None for row in rows):
        return []
    judged = [row for row in rows if row[3]]
    told = clusters_by_id([row[0] for row in judged]) or clusters_by_text([row[:2] for row in judged if row[1]])
    if told is None:
        return []
    message, count = told
    return [Finding("looks_clustered", "warning", message, count)]


def clusters_by_id(query_ids: Sequence[str]) -> tuple[str, int] | None:
    """What the ids show, and how many of them do."""
    parts = [(found[1], found[2]) for query_id in query_ids if (found := NUMBERED.fullmatch(query_id))]
    groups = Counter(parts)
    sizes = [size for size in groups.values() if size > 1]
    if len(sizes) < FEWEST_GROUPS or sum(sizes) < MOST_OF_ALL * len(query_ids) or median(sizes) > LARGEST_USUAL:
        return None
    start, mark = next(part for part in parts if groups[part] > 1)
    examples = [each for each in query_ids if (found := NUMBERED.fullmatch(each)) and found.groups() == (start, mark)]
    told = f"by their ids {sum(sizes)} of {len(query_ids)} queries form {len(sizes)} groups"
    such = ", ".join(map(format_value, examples[:2]))
    return f"{told}: {TOO_SURE} → --cluster-prefix {mark} (groups such as {such})", sum(sizes)


def clusters_by_text(texts: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
    """The same of texts that agree but for case and space."""
    groups = Counter(" ".join(text.split()).casefold() for _, text in texts)
    repeated = {text for text, size in groups.items() if size > 1}
    same = [(query_id, text) for query_id, text in texts if " ".join(text.split()).casefold() in repeated]
    if len(same) < max(2, REPEATED * len(texts)):
        return None
    (first, text), *others = same
    key = " ".join(text.split()).casefold()
    second = next(query_id for query_id, other in others if " ".join(other.split()).casefold() == key)
    told = f"{len(same)} of {len(texts)} queries have the text of another one"
    such = f"{format_value(first)} and {format_value(second)}"
    return f"{told}: {TOO_SURE} → --cluster COLUMN of the queries (such as {such})", len(same)
