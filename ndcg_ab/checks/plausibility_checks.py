"""Find implausible input: placeholders for documents, reversed grades, queries that belong together."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from statistics import median

import pyarrow.compute as pc

from ndcg_ab.checks.findings import id_examples, make_finding
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import format_value
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.metric_tables import rank_rule
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.on_disk import read_batches
from ndcg_core.measures.metric import Metric, format_number

PLACEHOLDERS = ("none", "nan", "null", "no_result", "n/a", "")
LEAST_OWN, OWN_SHARE = 3, 0.1  # queries that return themselves first
LEAST_QUERIES, MOST_QUERIES = 10, 0.5  # queries that one unjudged document is in
QUERIES = 300  # judged queries that are checked
PLACES = 20  # ranks of each ranking that are checked


def check_odd_documents(engine: Engine, metrics: Sequence[Metric]) -> Iterator[Finding]:
    """Yield findings on systems that return placeholders, or for many queries the query's own document first.

    A placeholder is an unjudged document whose id is a word such as ``null``, or the only unjudged document that most
    queries return. The own document of a query has the id of the query, and no judgment. The first `PLACES` ranks of
    the first `QUERIES` judged queries are checked, by the rank rule of the first metric.
    """
    judged = engine.read("query", ("query_id",), where={"is_judged": True}, order="query_id")["query_id"]
    chosen = judged.slice(0, QUERIES).to_pylist()
    where = {"rank_rule": rank_rule(metrics[0]), "query_id": chosen, "rank": list(range(1, PLACES + 1))}
    results = engine.read("ranked_doc", ("system_id", "query_id", "doc_id", "rank"), where=where)
    for system in sorted(pc.unique(results["system_id"]).to_pylist()):
        rows = results.filter(pc.equal(results["system_id"], system))
        queries = len(pc.unique(rows["query_id"]))
        counts = Counter(rows["doc_id"].to_pylist())
        most = max(MOST_QUERIES * queries, LEAST_QUERIES - 1)
        often = drop_judged(engine, [doc_id for doc_id, count in counts.items() if count > most])
        odd = set(drop_judged(engine, [doc_id for doc_id in counts if doc_id.lower() in PLACEHOLDERS]))
        if len(often) == 1:  # several are what a popular ranking returns
            odd.update(often)
        if odd:
            ids = sorted(odd)
            count = sum(counts[doc_id] for doc_id in odd)
            message = f"system {system}: {count} results look like placeholders (such as document {ids[0]!r})"
            yield make_finding("placeholder_document", message, count, system, examples=id_examples(ids, "document"))
        is_own = pc.and_(pc.equal(rows["rank"], 1), pc.equal(rows["query_id"], rows["doc_id"]))
        own = sorted(drop_judged(engine, rows.filter(is_own)["doc_id"].to_pylist()))
        if len(own) >= max(LEAST_OWN, OWN_SHARE * queries):
            message = f"system {system}: {queries_text(len(own))} of {queries:,} return themselves first, unjudged"
            message += f" (such as {own[0]!r}): leave them out with --own drop (documents: {{own: drop}})"
            yield make_finding("own_document", message, len(own), system, examples=id_examples(own, "document"))


def drop_judged(engine: Engine, doc_ids: Sequence[str]) -> list[str]:
    """Return the document ids that no query has a judgment of, in order."""
    rows = engine.rows("judgment", ("doc_id",), where={"doc_id": doc_ids}) if doc_ids else []
    judged = {doc_id for (doc_id,) in rows}
    return [doc_id for doc_id in doc_ids if doc_id not in judged]


MOST_GRADES = 10  # more distinct grades are no scale that could be reversed
FEWEST_QUERIES = 8  # queries with two different grades among the first ranks, for every system
REVERSED = -0.2  # mean concordance below which grades may be reversed
ERRORS = 3.0  # standard errors by which the mean must be below 0


def check_grade_order(
    engine: Engine, metrics: Sequence[Metric], judgments: Pulled, rankings: Mapping[str, Pulled]
) -> Iterator[Finding]:
    """Yield a warning if grades seem reversed: every system ranks lower grades above higher ones.

    Nothing is yielded if a grade is <= 0, if all grades are equal, if there are more than `MOST_GRADES` different
    grades, if no metric is graded, or if a table is on a cluster.
    """
    if judgments.remote_table or any(pulled.remote_table for pulled in rankings.values()):
        return
    scale = grade_scale(judgments)
    graded = next((each for each in metrics if each.traits.is_graded and isinstance(each.gain, str)), None)
    if not 1 < len(scale) <= MOST_GRADES or scale[0] <= 0 or graded is None:
        return
    orders = system_orders(engine, graded, judgments)
    if orders.keys() != rankings.keys() or not all(is_reversed(values) for values in orders.values()):
        return
    reversed_metric = replace(graded, gain=tuple((grade, scale[-1] - grade) for grade in scale))
    shares = ", ".join(f"{system} {sum(values) / len(values):+.2f}" for system, values in orders.items())
    message = (
        f"lower grades stand higher in every system: is {format_number(scale[0])} the best?"
        f" → --metric '{reversed_metric.name}' (from −1 against the grades to +1: {shares})"
    )
    queries = max(len(values) for values in orders.values())
    yield make_finding("reversed_grades", message, queries)


def grade_scale(judgments: Pulled) -> list[float]:
    """Return the distinct grades in rising order; reading stops after more than `MOST_GRADES`, or at a grade <= 0."""
    grades: set[float] = set()
    for batch in read_batches(judgments.table, ["grade"]):
        grades |= set(pc.unique(batch["grade"]).to_pylist())
        if len(grades) > MOST_GRADES or min(grades, default=1.0) <= 0:
            break
    return sorted(grades)


def system_orders(engine: Engine, metric: Metric, judgments: Pulled) -> dict[str, list[float]]:
    """Return {system: concordances}, with one `concordance` of ranks and grades per query.

    Only the first `QUERIES` judged queries are used. A query is left out for a system whose results at the top ranks do
    not have at least two different grades. A system without any other query is absent.
    """
    chosen = sorted(judgments.query_ids)[:QUERIES]
    ranks = list(range(1, min(metric.depth or PLACES, PLACES) + 1))
    where = {"query_id": chosen, "rank_rule": rank_rule(metric), "rank": ranks, "is_judged": True}
    columns = ("system_id", "query_id", "grade")
    grades: dict[tuple[str, str], list[float]] = defaultdict(list)
    for system, query, grade in engine.rows("graded_doc", columns, where=where, order="system_id, query_id, rank"):
        grades[system, query].append(grade)
    orders: dict[str, list[float]] = defaultdict(list)
    for (system, _), in_order in grades.items():
        if (value := concordance(in_order)) is not None:
            orders[system].append(value)
    return dict(orders)


def concordance(grades: Sequence[float]) -> float | None:
    """Return Goodman and Kruskal's gamma of ranks and grades, in [-1, 1]; None if all grades are equal.

    grades: in rank order. A positive value means that higher grades have better ranks.
    """
    pairs = [upper - lower for upper, lower in combinations(grades, 2) if upper != lower]
    return sum(1 if each > 0 else -1 for each in pairs) / len(pairs) if pairs else None


def is_reversed(values: Sequence[float]) -> bool:
    """Return whether the mean of concordances is at most `REVERSED` and more than `ERRORS` standard errors below 0.

    The result is False for fewer than `FEWEST_QUERIES` values.
    """
    if len(values) < FEWEST_QUERIES:
        return False
    mean = sum(values) / len(values)
    error = sqrt(sum((each - mean) ** 2 for each in values) / (len(values) - 1) / len(values))
    return mean <= REVERSED and mean + ERRORS * error < 0


NUMBERED = re.compile(r"(.+)([_\-.:/#])\d+")
FEWEST_GROUPS = 5  # with fewer the beginnings of ids name collections: dl19-1, dl19-2, …, dl20-1, …
MOST_OF_ALL = 0.8  # share of the queries that must be in groups
LARGEST_USUAL = 50  # median number of queries in a group at most
TOO_SURE = "results may look too certain"
REPEATED = 0.05  # share of the queries that must repeat the text of another query


def check_clusters(engine: Engine, evaluation: Evaluation) -> Iterator[Finding]:
    """Yield a warning if queries look clustered and the configuration does not say whether they are."""
    rows = engine.rows("query", ("query_id", "text", "cluster", "is_judged"), order="query_id")
    settings = evaluation.statistics
    if settings.clustered is False or settings.cluster_prefix is not None or any(row[2] is not None for row in rows):
        return
    judged = [row for row in rows if row[3]]
    texts = [row[:2] for row in judged if row[1]]
    if summary := describe_shared_ids([row[0] for row in judged]) or describe_repeated_texts(texts):
        yield make_finding("looks_clustered", *summary)


def describe_shared_ids(query_ids: Sequence[str]) -> tuple[str, int] | None:
    """Return a description of the clusters that query ids suggest, and the number of queries in them.

    Ids such as ``t1_1`` and ``t1_2`` suggest a cluster. The result is None if the clusters are too few or too large.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for query_id in query_ids:
        if match := NUMBERED.fullmatch(query_id):
            groups[match[1], match[2]].append(query_id)
    several = {part: ids for part, ids in groups.items() if len(ids) > 1}
    sizes = [len(ids) for ids in several.values()]
    if len(sizes) < FEWEST_GROUPS or sum(sizes) < MOST_OF_ALL * len(query_ids) or median(sizes) > LARGEST_USUAL:
        return None
    (_, mark), examples = next(iter(several.items()))
    summary = f"by their ids {sum(sizes)} of {len(query_ids)} queries form {len(sizes)} groups"
    such = ", ".join(map(format_value, examples[:2]))
    return f"{summary}: {TOO_SURE} → --cluster-prefix {mark} (groups such as {such})", sum(sizes)


def describe_repeated_texts(texts: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
    """Return a description of queries with equal texts, and their number; None if they are too few.

    Texts are compared without case and repeated spaces. texts: (query_id, text) pairs.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for query_id, text in texts:
        groups[" ".join(text.split()).casefold()].append(query_id)
    several = [ids for ids in groups.values() if len(ids) > 1]
    count = sum(map(len, several))
    if count < max(2, REPEATED * len(texts)):
        return None
    such = " and ".join(map(format_value, several[0][:2]))
    summary = f"{count} of {len(texts)} queries have the text of another one"
    return f"{summary}: {TOO_SURE} → --cluster COLUMN of the queries (such as {such})", count
