"""Grades that look turned round: 1 for the best, as ranks and school marks have it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt

import pyarrow.compute as pc

from ndcg_ab.engines.base import Engine
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.on_disk import read_batches
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.writing import format_number

CODE = "reversed_grades"
QUERIES = 300  # judged ones that are looked at
PLACES = 20  # of each ranking
MOST_GRADES = 10  # more are no scale that somebody counts down
FEWEST_QUERIES = 8  # with two grades among their first places, of every system
REVERSED = -0.2  # the mean of the queries, from which on
ERRORS = 3.0  # standard errors that this is below 0


def check_grade_order(
    engine: Engine, metrics: Sequence[Metric], judgments: Pulled, rankings: Mapping[str, Pulled]
) -> list[Finding]:
    """Warns where no grade is 0 or below, and in every system lower grades stand above higher ones."""
    if judgments.elsewhere or any(pulled.elsewhere for pulled in rankings.values()):
        return []
    scale = grade_scale(judgments)
    graded = next((each for each in metrics if each.traits.is_graded and isinstance(each.gain, str)), None)
    if not 1 < len(scale) <= MOST_GRADES or scale[0] <= 0 or graded is None:
        return []
    orders = system_orders(engine, graded, judgments)
    if orders.keys() != rankings.keys() or not all(is_reversed(values) for values in orders.values()):
        return []
    turned = replace(graded, gain=tuple((grade, scale[-1] - grade) for grade in scale))
    shares = ", ".join(f"{system} {sum(values) / len(values):+.2f}" for system, values in orders.items())
    message = (
        f"lower grades stand higher in every system: is {format_number(scale[0])} the best?"
        f" → --metric '{turned.name}' (from −1 against the grades to +1: {shares})"
    )
    queries = max(len(values) for values in orders.values())
    return [Finding(CODE, CODES[CODE].severity, message, queries)]


def grade_scale(judgments: Pulled) -> list[float]:
    """The grades that there are, lowest first; no more than one beyond MOST_GRADES."""
    found: set[float] = set()
    for batch in read_batches(judgments.table, ["grade"]):
        found |= set(pc.unique(batch["grade"]).to_pylist())
        if len(found) > MOST_GRADES or min(found, default=1.0) <= 0:
            break
    return sorted(found)


def system_orders(engine: Engine, metric: Metric, judgments: Pulled) -> dict[str, list[float]]:
    """system -> of each query with two grades among its first places, how far their order is that of the grades."""
    chosen = sorted(judgments.query_ids)[:QUERIES]
    judged = engine.rows("judgment", ("query_id", "doc_id", "grade"), where={"query_id": chosen})
    grades = {(query, doc): grade for query, doc, grade in judged}
    depth = min(metric.depth or PLACES, PLACES)
    ranked = engine.rows(
        "ranked_doc",
        ("system_id", "query_id", "doc_id", "rank"),
        where={"query_id": chosen, "rank_rule": rank_rule(metric)},
    )
    places: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for system, query, doc, rank in ranked:
        if rank <= depth and (query, doc) in grades:
            places[system, query][rank] = grades[query, doc]
    found: dict[str, list[float]] = defaultdict(list)
    for (system, _), by_rank in sorted(places.items()):
        if (value := concordance([by_rank[rank] for rank in sorted(by_rank)])) is not None:
            found[system].append(value)
    return dict(found)


def concordance(grades: Sequence[float]) -> float | None:
    """Goodman and Kruskal's gamma of places and grades, −1 to 1; grades: best place first; None where all are equal."""
    pairs = [upper - lower for upper, lower in combinations(grades, 2) if upper != lower]
    return sum(1 if each > 0 else -1 for each in pairs) / len(pairs) if pairs else None


def is_reversed(values: Sequence[float]) -> bool:
    """Whether the mean is far below 0, by itself and by its standard error."""
    if len(values) < FEWEST_QUERIES:
        return False
    mean = sum(values) / len(values)
    error = sqrt(sum((each - mean) ** 2 for each in values) / (len(values) - 1) / len(values))
    return mean <= REVERSED and mean + ERRORS * error < 0
