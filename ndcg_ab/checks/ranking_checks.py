"""Check rankings without judgments: ranks, scores, number of queries, depth, copies."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ndcg_ab.checks.findings import MOST, id_examples, make_finding, row_examples
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.metric_tables import EVERYTHING
from ndcg_ab.sources import RANKING, Pulled
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.files.file import form_remarks
from ndcg_ab.sources.tables.on_disk import content_digest, read_batches
from ndcg_core.measures.metric import Metric

FAR_FEWER = 0.8  # share of another system's number below which a number is far fewer
NEARLY_ALL = 0.9  # share of the queries from which on an order of rows is intended
LEAST_RISING = 3  # results of a query, and queries, that show more than chance
OFTEN = 0.1  # share of the queries from which on shorter lists are reported
HALF = 0.5  # share of the queries from which on a fault is that of the whole ranking


@dataclass(frozen=True)
class TableNotice:
    """The counts and examples that the SQL table of findings reports for one code and one subject.

    The subject is a system, or "" for the judgments.

    Attributes
    ----------
    count : int
        Number of queries, results or judgments that the notice is about.
    queries : int
        Number of different queries that are concerned.
    documents : list of tuple
        The first (query_id, doc_id) pairs, as examples; the doc_id is "" if the notice is about a query.
    """

    count: int
    queries: int
    documents: list[tuple[str, str]]


Notices = Mapping[tuple[str, str], TableNotice]  # by code and subject


class AnswerCounts(NamedTuple):
    """The counts of the queries that one system answers, and its median number of results.

    Attributes
    ----------
    queries : int
        Number of judged queries that the system answers; if it answers none of them, number of all answered queries.
    depth : float
        Median number of results for the queries that `queries` counts.
    several : int
        Number of answered queries with more than one result.
    answered : int
        Number of all answered queries.
    """

    queries: int
    depth: float
    several: int
    answered: int


def read_notices(engine: Engine) -> Notices:
    """Return the notices of the SQL table of findings, in the order of the codes."""
    counts: dict[tuple[str, str], TableNotice] = {}
    columns = ("code", "subject", "query_id", "doc_id", "count", "queries")
    for code, subject, query_id, doc_id, count, queries in engine.rows(
        "finding", columns, order="code, subject, example"
    ):
        counts.setdefault((code, subject), TableNotice(count, queries, [])).documents.append((query_id, doc_id))
    return counts


def count_answers(engine: Engine) -> dict[str, AnswerCounts]:
    """Return {system_id: counts of the answered queries}."""
    columns = ("system_id", "queries", "depth", "several", "answered")
    return {name: AnswerCounts(*row) for name, *row in engine.rows("answering_system", columns, order="system_id")}


def check_rankings(engine: Engine, notices: Notices, rankings: Mapping[str, Pulled]) -> Iterator[Finding]:
    """Yield the findings on rankings that need neither judgments nor a metric."""
    answers = count_answers(engine)
    for name, pulled in rankings.items():
        yield from findings_from_pulled(name, pulled, name)
        if name in answers:
            yield from check_ranks(name, pulled, notices, answers[name])
            yield from check_rising_scores(name, pulled)
    yield from find_few_queries(answers, rankings)
    yield from check_copies(rankings)


def findings_from_pulled(table_kind: str, pulled: Pulled, system: str | None = None) -> Iterator[Finding]:
    """Yield one finding for each remark that was recorded when a table was read.

    table_kind: the name of a system, or a word for another table, such as "judgments". system: the name of the system;
    None for another table.
    """
    remarks = [*form_remarks(pulled), *pulled.remarks]
    return findings_from_remarks(remarks, f"system {table_kind}" if system else table_kind, system)


def findings_from_remarks(remarks: Iterable[Remark], about: str, system: str | None = None) -> Iterator[Finding]:
    """Yield one finding per remark that was recorded when a table was read.

    about: the subject with which the messages begin. system: the name of the system; None for another table.
    """
    for remark in remarks:
        words = {"queries": queries_text(remark.count), "are": "is" if remark.count == 1 else "are"}
        words["rows_have"] = f"{remark.count} {'row has' if remark.count == 1 else 'rows have'}"
        message = f"{about}: {remark.message or REMARKS[remark.code].format(count=remark.count, **words)}"
        if remark.examples:
            message += f" (such as {remark.examples[0]})"
        yield make_finding(remark.code, message, remark.count, system, examples=remark.examples)


REMARKS = {
    "several_tags": "its file has {count} tags, where one system has one: it may hold several rankings",
    "truncated_last_line": "its last line may be cut",
    "repeated_judgment": "{count} of them repeat another of their file, with the same grade: each counts once",
    "comment_line": "{count} lines that begin with # are left out as comments",
    "unrated_row": "{rows_have} no grade and {are} left out",
    "unread_rank": "{count} of its ranks cannot be read, so that none of its ranks is used",
    "failed_query": "{queries} failed and {are} left out of its comparisons",
}


def check_ranks(name: str, pulled: Pulled, notices: Notices, answers: AnswerCounts) -> Iterator[Finding]:
    """Yield findings on repeated or missing ranks, ranks below 1, and queries whose scores are all equal.

    name: the system. answers: the counts of the queries that the system answers.
    """

    def finding_of(code: str, message: str, count: int, is_warning: bool = True) -> Finding:
        examples = row_examples(pulled, notices[code, name].documents)
        severity = "warning" if is_warning else "note"
        return make_finding(code, message, count, name, examples=examples, severity=severity)

    if row := notices.get(("repeated_rank", name)):
        query_id = row.documents[0][0]
        if pulled.lacks("score"):
            message = (
                f"system {name} gives {row.count} result{'s' * (row.count != 1)} a rank that another result of the"
                f" query has (such as in query {query_id!r}): {'it is' if row.count == 1 else 'they are'} ordered by"
                " document id"
            )
        else:
            message = (
                f"system {name} repeats ranks in {queries_text(row.count)} (such as {query_id!r}); its scores decide"
                " the order, but one file may hold two rankings"
            )
        yield finding_of("repeated_rank", message, row.queries)
    if row := notices.get(("rank_gap", name)):
        message = (
            f"system {name}: ranks are missing in {queries_text(row.count)} (such as {row.documents[0][0]!r}), above"
            " the first result or between two: results may have been lost"
        )
        yield finding_of("rank_gap", message, row.count, row.count >= HALF * answers.answered)
    if row := notices.get(("rank_below_one", name)):
        below = row.count > row.queries
        start = "below 0" if below else "at 0"
        message = (
            f"system {name}: ranks begin {start} in {queries_text(row.queries)} (such as {row.documents[0][0]!r});"
            " their order alone counts"
        )
        if not below and row.queries < answers.answered:
            message += f", and in the other {queries_text(answers.answered - row.queries)} they begin later"
        yield finding_of("rank_below_one", message, row.count, below or row.queries < answers.answered)
    if row := notices.get(("constant_score", name)):
        message = (
            f"system {name}: all results have the same score in {row.count} of {queries_text(answers.several)} with"
            f" several results (such as {row.documents[0][0]!r}): scores do not order them"
        )
        yield finding_of("constant_score", message, row.count, row.count >= HALF * answers.several)


def check_rising_scores(name: str, pulled: Pulled) -> Iterator[Finding]:
    """Yield a finding if a ranking without ranks lists its results by rising score in nearly every query.

    Nothing is yielded for any other ranking, and if only the needed results of the ranking were loaded.
    """
    if pulled.reduced or not pulled.lacks("rank") or pulled.lacks("score"):  # no score of what is reduced rises
        return
    pairs, rising = count_neighbours(pulled.table)
    several = [query_id for query_id, count in pairs.items() if count >= LEAST_RISING - 1]
    risen = [query_id for query_id in several if rising[query_id] == pairs[query_id]]
    if len(risen) >= max(LEAST_RISING, NEARLY_ALL * len(several)):
        examples = row_examples(pulled, [(query_id, "") for query_id in risen[:MOST]])
        message = (
            f"system {name}: its rows go from the lowest score to the highest in {queries_text(len(risen))}, and it has"
            " no ranks: if lower scores are better (distances), negate them"
        )
        yield make_finding("rising_score", message, len(risen), name, examples=examples)


def count_neighbours(table: Any) -> tuple[Counter[str], Counter[str]]:
    """Count, per query, the adjacent pairs of rows, and the pairs whose second row has the higher score.

    Returns two counters, query_id -> number of pairs, with the queries in the order of the table.
    """
    pairs, rising = Counter[str](), Counter[str]()
    before: pa.Table | None = None
    for batch in read_batches(table, ["query_id", "score"]):
        batch = batch.set_column(0, "query_id", batch["query_id"].cast(pa.dictionary(pa.int32(), pa.string())))
        rows = batch if before is None else pa.concat_tables([before, batch])
        before = rows.slice(rows.num_rows - 1)
        ids = rows["query_id"].unify_dictionaries().combine_chunks()
        queries, scores = ids.indices.to_numpy(), rows["score"].to_numpy()
        is_same = queries[1:] == queries[:-1]
        for counter, which in ((pairs, is_same), (rising, is_same & (scores[1:] > scores[:-1]))):
            counts = np.bincount(queries[1:][which], minlength=len(ids.dictionary))
            counter.update(dict(zip(ids.dictionary.to_pylist(), counts.tolist(), strict=True)))
    return pairs, rising


def find_few_queries(answers: Mapping[str, AnswerCounts], rankings: Iterable[str]) -> Iterator[Finding]:
    """Yield findings on systems that answer far fewer judged queries than the system that answers most."""
    most = max(answers, key=lambda name: answers[name].queries, default="")
    for name in rankings:
        if name in answers and answers[name].queries < FAR_FEWER * answers[most].queries:
            count, other = answers[name].queries, answers[most].queries
            message = f"system {name} answers {queries_text(count)}, and {most} {other}: was its ranking cut?"
            yield make_finding("few_queries", message, other - count, name, value=count / other)


def check_depths(engine: Engine, metrics: Sequence[Metric]) -> Iterator[Finding]:
    """Yield findings on systems with far fewer results than another one, within the depth of each metric.

    A system is reported if its median number of results is far lower, or if a tenth of the queries that it answers have
    far fewer results.
    """
    answers = count_answers(engine)
    for metric in metrics:
        reach = metric.depth if metric.unjudged == "zero" else None
        depths = {name: min(row.depth, reach or row.depth) for name, row in answers.items()}
        deepest = max(depths, key=lambda name: depths[name], default="")
        shorter = queries_with_shorter_answers(engine, reach)
        for (name,) in engine.rows("system", ("system_id",), order="position"):
            if name not in answers:
                continue
            if depths[name] < FAR_FEWER * depths[deepest]:
                depth, other = answers[name].depth, answers[deepest].depth
                message = (
                    f"system {name} typically returns {depth:g} result{'s' * (depth != 1)} for a query, and {deepest}"
                    f" {other:g}, where {metric.name} looks at {reach or 'all of them'}: it compares depths as well"
                )
                count = answers[name].queries
                yield make_finding("different_depths", message, count, name, metric.name, float(depth))
                continue
            queries, answered = shorter.get(name, []), answers[name].queries
            if queries and len(queries) >= OFTEN * answered:
                message = (
                    f"system {name} returns far fewer results than another system in {len(queries)} of the"
                    f" {queries_text(answered)} that it answers (such as {queries[0]!r}), where {metric.name} looks at"
                    f" {reach or 'all of them'}: was its ranking cut there?"
                )
                row = (len(queries), name, metric.name, len(queries) / answered, id_examples(queries))
                yield make_finding("different_depths", message, *row)


def queries_with_shorter_answers(engine: Engine, reach: int | None) -> dict[str, list[str]]:
    """Return {system_id: query ids} of the queries for which another system returns far more results.

    reach: number of top results to count; None: all.
    """
    engine.build("shorter_answer", reach=EVERYTHING if reach is None else reach)
    queries: dict[str, list[str]] = {}
    for system_id, query_id in engine.rows("shorter_answer", ("system_id", "query_id"), order="query_id"):
        queries.setdefault(system_id, []).append(query_id)
    return queries


def check_copies(rankings: Mapping[str, Pulled]) -> Iterator[Finding]:
    """Yield a finding for each pair of systems with equal rankings, which are often one file under two names.

    Equal rankings hold equal documents with equal scores and ranks, in any order of rows. Scores or ranks that one of
    the two lacks are not compared. If only the needed results of both were loaded, these are compared before all rows
    are read. Of rankings on a cluster, digests of their content are compared; a local ranking never equals one there.
    """

    @cache
    def digest_of(name: str, columns: tuple[str, ...], is_whole: bool) -> str:
        pulled = rankings[name]
        if pulled.remote_table:
            return pulled.digest
        schema = pa.schema([RANKING.schema.field(column) for column in ("query_id", "doc_id", *columns)])
        return content_digest(pulled.table if is_whole else pulled.loaded_rows, schema).hexdigest()

    for (name, pulled), (other, copy) in combinations(rankings.items(), 2):
        if pulled.count != copy.count:
            continue
        columns = tuple(column for column in ("score", "rank") if not (pulled.lacks(column) or copy.lacks(column)))
        steps = [False, True] if pulled.reduced and copy.reduced else [True]
        if columns and all(digest_of(name, columns, step) == digest_of(other, columns, step) for step in steps):
            message = (
                f"systems {name} and {other} have the same ranking ({pulled.origin} and {copy.origin}):"
                " every difference between them is 0"
            )
            yield make_finding("same_ranking", message, pulled.count)
