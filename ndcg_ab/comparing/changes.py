"""Report what each candidate changes in the top ranks, and compare systems on the queries that a change was meant for.

See docs/changes.md.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.findings import MOST
from ndcg_ab.comparing.families import PairedValues, candidate_names, compare_columns, make_column, metric_columns
from ndcg_ab.comparing.sampling import PLAIN, Sampling, read_drawn_queries
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.results.change_records import MovedDocuments, QueryDifference, RankingChanges, TopDocument
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import INTENDED, OTHERS, queries_text
from ndcg_ab.scoring.parity import refuse_disagreement, sample_queries
from ndcg_core.measures.notation import ExternalMetric
from ndcg_core.measures.overlap import PERSISTENCE, overlap, rank_biased_overlap
from ndcg_core.statistics.averages import mean, median
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

DEFAULT_DEPTH = 10  # ranks that are compared if the first metric has no cutoff
DEEPEST = 100  # ranks that are compared at most
MOST_DOCUMENTS = 3_000_000  # queries x candidates x ranks, some seconds; more are not compared
LARGEST = 3  # queries that are shown side by side, for wins and for losses
SIDE_BY_SIDE = 10  # ranks that are shown side by side


def find_changes(engine: Engine, evaluation: Evaluation) -> tuple[RankingChanges, ...]:
    """Return one record of changes in the top ranks per candidate.

    The tuple is empty if there are no rankings or no candidates, if another tool computed the first metric, or if there
    are more than `MOST_DOCUMENTS` results to compare. The overlap and the RBO of some queries are computed a second
    time by `ndcg_core`; ParityError is raised if a value differs from that of the SQL.
    """
    metric = evaluation.metric_list[0]
    if evaluation.scores or isinstance(metric, ExternalMetric) or not candidate_names(evaluation):
        return ()
    depth = min(metric.cutoff or DEFAULT_DEPTH, DEEPEST)
    if engine.count("paired_difference", {"metric_id": metric.hash}) * depth > MOST_DOCUMENTS:
        return ()
    engine.build("top_document", default_depth=DEFAULT_DEPTH, deepest=DEEPEST)
    engine.build("query_change", persistence=PERSISTENCE)
    columns = ("candidate", "query_id", "difference", "is_changed", "overlap", "rbo")
    rows = engine.read("query_change", columns, order="query_id")
    moved = moved_documents(engine)
    names = candidate_names(evaluation)
    verify_overlaps(engine, rows, len(names) + 1)
    compared = {name: rows.filter(pc.equal(rows["candidate"], name)) for name in names}
    largest = make_changed_queries(engine, {name: most_changed(each) for name, each in compared.items()})
    engine.release("top_document")
    about = evaluation, depth
    return tuple(make_changes(name, compared[name], moved.get(name, ()), largest[name], about) for name in names)


def make_changes(
    candidate: str,
    rows: pa.Table,
    moved: Sequence[MovedDocuments],
    largest: tuple[QueryDifference, ...],
    about: tuple[Evaluation, int],
) -> RankingChanges:
    """Make the record of one candidate's changes.

    rows: rows of the table `query_change`, by rising query_id. moved: numbers of documents that entered and left the
    top ranks, by grade. largest: the queries with the largest differences. about: the evaluation, and the number of
    ranks that are compared.
    """
    evaluation, depth = about
    is_changed = rows["is_changed"].to_numpy()
    differs = np.abs(rows["difference"].to_numpy()) > TIE_TOLERANCE
    overlaps, rbo = rows["overlap"].to_pylist(), rows["rbo"].to_pylist()
    return RankingChanges(
        candidate=candidate,
        baseline=evaluation.baseline_name,
        metric=evaluation.metric_list[0].name,
        depth=depth,
        queries=rows.num_rows,
        changed=int(is_changed.sum()),
        metric_changed=int((is_changed & differs).sum()),
        overlap=mean(overlaps),
        overlap_median=median(overlaps),
        rbo=mean(rbo),
        rbo_median=median(rbo),
        entered=sum(each.entered for each in moved),
        entered_relevant=sum(each.entered for each in moved if (each.grade or 0) > 0),
        entered_unjudged=sum(each.entered for each in moved if each.grade is None),
        left=sum(each.left for each in moved),
        left_relevant=sum(each.left for each in moved if (each.grade or 0) > 0),
        left_unjudged=sum(each.left for each in moved if each.grade is None),
        grades=tuple(moved),
        largest=largest,
    )


def moved_documents(engine: Engine) -> dict[str, list[MovedDocuments]]:
    """Return, per candidate, the numbers of documents of each grade that entered and left the top ranks.

    The records of a candidate begin with the highest grade; the record of unjudged documents is the last.
    """
    moved_by_candidate: dict[str, list[MovedDocuments]] = defaultdict(list)
    for candidate, grade, entered, left in engine.rows("moved_document", ("candidate", "grade", "entered", "left_out")):
        moved_by_candidate[candidate].append(MovedDocuments(grade, entered, left))
    for moved in moved_by_candidate.values():
        moved.sort(key=lambda row: (row.grade is None, -(row.grade or 0.0)))
    return moved_by_candidate


def most_changed(rows: pa.Table) -> pa.Table:
    """Return the rows of the queries with a candidate's largest wins and losses, the wins first.

    rows: one row per query. At most `LARGEST` wins and `LARGEST` losses are returned.
    """
    query_ids, differences = rows["query_id"].to_pylist(), rows["difference"].to_pylist()
    order = sorted(range(len(query_ids)), key=lambda at: (-abs(differences[at]), query_ids[at]))
    wins = [at for at in order if differences[at] > TIE_TOLERANCE][:LARGEST]
    losses = [at for at in order if differences[at] < -TIE_TOLERANCE][:LARGEST]
    return rows.take(pa.array([*wins, *losses], pa.int64()))


def make_changed_queries(engine: Engine, chosen: Mapping[str, pa.Table]) -> dict[str, tuple[QueryDifference, ...]]:
    """Return, per candidate, records of the chosen queries with the top results of baseline and candidate.

    chosen: rows from `most_changed`, by candidate.
    """
    query_ids = sorted({query_id for rows in chosen.values() for query_id in rows["query_id"].to_pylist()})
    documents = read_top_documents(engine, query_ids)

    def shown_documents(candidate: str, query_id: str, is_baseline: bool) -> tuple[TopDocument, ...]:
        return tuple(row for row in documents[candidate, query_id, is_baseline] if row.rank <= SIDE_BY_SIDE)

    return {
        name: tuple(
            QueryDifference(
                query_id=row["query_id"],
                difference=row["difference"],
                overlap=row["overlap"],
                rbo=row["rbo"],
                baseline=shown_documents(name, row["query_id"], True),
                candidate=shown_documents(name, row["query_id"], False),
            )
            for row in rows.to_pylist()
        )
        for name, rows in chosen.items()
    }


def read_top_documents(engine: Engine, query_ids: Sequence[str]) -> dict[tuple[str, str, bool], list[TopDocument]]:
    """Return the top documents of baseline and candidate for some queries, by rising rank.

    The keys are (candidate, query_id, True for the documents of the baseline and False for those of the candidate).
    """
    documents: dict[tuple[str, str, bool], list[TopDocument]] = defaultdict(list)
    columns = ("candidate", "query_id", "doc_id", "baseline_rank", "candidate_rank", "grade")
    rows = engine.iter_rows("top_document", columns, where={"query_id": query_ids}) if query_ids else ()
    for candidate, query_id, doc_id, before, after, grade in rows:
        for is_baseline, rank, other_rank in ((True, before, after), (False, after, before)):
            if rank is not None:
                documents[candidate, query_id, is_baseline].append(TopDocument(rank, doc_id, grade, other_rank))
    for each in documents.values():
        each.sort(key=lambda row: row.rank)
    return documents


def verify_overlaps(engine: Engine, rows: pa.Table, systems: int) -> None:
    """Recompute overlap and RBO of sampled queries with `ndcg_core`; raise ParityError if a value differs.

    rows: rows of `query_change`. systems: number of systems, which determines the size of the sample.
    """
    sample = sample_queries(pc.unique(rows["query_id"]).to_pylist(), systems)
    documents = read_top_documents(engine, sample)
    for row in rows.filter(pc.is_in(rows["query_id"], value_set=pa.array(sample, pa.string()))).to_pylist():
        sides = (documents[row["candidate"], row["query_id"], is_baseline] for is_baseline in (True, False))
        before, after = ([document.doc_id for document in side] for side in sides)
        about = f"query {row['query_id']!r}, system {row['candidate']}"
        refuse_disagreement(f"{about}, overlap", row["overlap"], overlap(before, after))
        refuse_disagreement(f"{about}, rank-biased overlap", row["rbo"], rank_biased_overlap(before, after))


def intended_ids(engine: Engine) -> list[str]:
    """Return the sorted ids of the queries that the change is meant for (`intended`)."""
    return sorted({query_id for (query_id,) in engine.rows("pulled_intended")})


def check_intended(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """Return a warning if some of the intended queries are not judged.

    The list is empty if all of them are judged, or if no intended queries are configured. If the judged queries were
    drawn from a query log, the other queries of the log count as judged, too. Raises InputError if no intended query is
    judged.
    """
    if evaluation.intended is None:
        return []
    intended = intended_ids(engine)
    judged = {query_id for (query_id,) in engine.rows("query", ("query_id",), where={"is_judged": True})}
    log = read_drawn_queries(engine, evaluation)
    counted_ids = judged if log is None else {query_id for (query_id,) in engine.rows("query", ("query_id",))}
    unknown = [query_id for query_id in intended if query_id not in counted_ids]
    name, state = evaluation.intended.display_name, "scored" if evaluation.scores else "judged"
    if len(unknown) == len(intended):
        example = (
            f" (the first is {format_value(min(judged))}, the first of its own {format_value(intended[0])})"
            if judged
            else ""
        )
        raise InputError(
            f"intended: {name} names none of the {queries_text(len(judged), state)}{example}: the query ids of both"
            " must be the same"
        )
    if not unknown:
        return []
    message = (
        f"{len(unknown)} of the {queries_text(len(intended), 'intended')} of {name}"
        f" {'is' if len(unknown) == 1 else 'are'} not {state} (such as {format_value(unknown[0])}): left out"
    )
    examples = tuple(f"query {format_value(query_id)}" for query_id in unknown[:MOST])
    return [Finding("intended_unknown", "warning", message, len(unknown), examples=examples)]


def intended_comparisons(engine: Engine, evaluation: Evaluation, sampling: Sampling) -> list[Comparison]:
    """Compare the candidates on the intended queries, and on all other queries.

    Each candidate is compared on every primary metric. All tests are one max-T family, marked `INTENDED`. A part
    without queries is left out. The list is empty if no intended queries are configured.
    """
    if evaluation.intended is None:
        return []
    intended = set(intended_ids(engine))
    columns = [column for column in metric_columns(engine, evaluation, PLAIN) if column.metric in evaluation.metrics]
    parts = [
        select_part(evaluation, column, sampling, name, intended) for name in (INTENDED, OTHERS) for column in columns
    ]
    return compare_columns([part for part in parts if len(part.query_ids)], evaluation, INTENDED, least_queries=2)


def select_part(evaluation: Evaluation, column: Column, sampling: Sampling, name: str, intended: set[str]) -> Column:
    """Return a column of differences, reduced to the intended queries or to the other queries.

    name: `INTENDED` or `OTHERS`, the part to keep. intended: ids of the intended queries.
    """
    is_wanted = np.array([(query_id in intended) == (name == INTENDED) for query_id in column.query_ids], dtype=bool)
    query_ids = tuple(query_id for query_id, wanted in zip(column.query_ids, is_wanted, strict=True) if wanted)
    differences, values = (
        np.asarray(each, dtype=np.float64)[is_wanted] for each in (column.differences, column.baseline_values)
    )
    group = PairedValues(query_ids, differences, values)
    return make_column(evaluation, column.candidate, column.metric, group, sampling, (INTENDED, name))
