"""What a candidate changed in the first places of its rankings, whatever the metric makes of it (docs/changes.md)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.comparing.families import candidate_names
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import ParityError
from ndcg_ab.results.change_records import ChangedQuery, Changes, MovedDocuments, TopDocument
from ndcg_ab.scoring.parity import TOLERANCE, sample_queries
from ndcg_core.measures.external_metric import GivenMetric
from ndcg_core.measures.overlap import PERSISTENCE, overlap, rank_biased_overlap
from ndcg_core.statistics.averages import mean, median
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE

PLACES = 10  # that are looked at where the first metric has no cutoff
DEEPEST = 100  # places that are looked at at the most
MOST_DOCUMENTS = 3_000_000  # queries x candidates x places: some seconds; of more it is left out
LARGEST = 3  # queries that are shown side by side, in either direction
SIDE_BY_SIDE = 10  # places that they are shown with


def find_changes(engine: Engine, evaluation: Evaluation) -> tuple[Changes, ...]:
    """One record for each candidate.

    None where there are no rankings, where another tool computes the first metric, and where it would take long.

    Raises ParityError where a sample of the queries, computed again by the core, has another overlap.
    """
    metric = evaluation.metric_list[0]
    if evaluation.scores or isinstance(metric, GivenMetric) or not candidate_names(evaluation):
        return ()
    depth = min(metric.cutoff or PLACES, DEEPEST)
    if engine.count("paired_difference", {"metric_id": metric.hash}) * depth > MOST_DOCUMENTS:
        return ()
    engine.build("top_document", places=PLACES, deepest=DEEPEST)
    engine.build("query_change", persistence=PERSISTENCE)
    columns = ("candidate", "query_id", "difference", "baseline_places", "candidate_places", "shared", "in_place")
    rows = engine.read("query_change", (*columns, "rbo"), order="query_id")
    moved = moved_documents(engine)
    names = candidate_names(evaluation)
    check_sample(engine, rows, len(names) + 1)
    compared = {name: rows.filter(pc.equal(rows["candidate"], name)) for name in names}
    largest = side_by_side(engine, {name: most_changed(each) for name, each in compared.items()})
    engine.release("top_document")
    about = evaluation, depth
    return tuple(make_changes(name, compared[name], moved.get(name, ()), largest[name], about) for name in names)


def make_changes(
    candidate: str,
    rows: pa.Table,
    moved: Sequence[MovedDocuments],
    largest: tuple[ChangedQuery, ...],
    about: tuple[Evaluation, int],
) -> Changes:
    """One candidate's; rows: of `query_change`, by rising query_id. about: evaluation, depth."""
    evaluation, depth = about
    is_changed = places_of_longer(rows) != rows["in_place"].to_numpy()
    overlaps = overlaps_of(rows)
    differs = np.abs(rows["difference"].to_numpy()) > TIE_TOLERANCE
    rbo = rows["rbo"].to_pylist()
    return Changes(
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


def places_of_longer(rows: pa.Table) -> NDArray[np.int64]:
    """The number of places of the longer of the two."""
    sides = (rows[name].to_numpy().astype(np.int64) for name in ("baseline_places", "candidate_places"))
    longest: NDArray[np.int64] = np.maximum(*sides)
    return longest


def overlaps_of(rows: pa.Table) -> list[float]:
    """The share of the places of the longer of the two that documents of both hold; 1 where neither has any."""
    longest = places_of_longer(rows)
    found: list[float] = np.where(longest > 0, rows["shared"].to_numpy() / np.maximum(longest, 1), 1.0).tolist()
    return found


def moved_documents(engine: Engine) -> dict[str, list[MovedDocuments]]:
    """Candidate -> how many documents of each grade came and went, the highest grade first, the unjudged ones last."""
    found: dict[str, list[MovedDocuments]] = defaultdict(list)
    for candidate, grade, entered, left in engine.rows("moved_document", ("candidate", "grade", "entered", "left_out")):
        found[candidate].append(MovedDocuments(grade, entered, left))
    for moved in found.values():
        moved.sort(key=lambda each: (each.grade is None, -(each.grade or 0.0)))
    return found


def most_changed(rows: pa.Table) -> pa.Table:
    """The rows of the queries that a candidate wins and loses most; the wins first."""
    query_ids, differences = rows["query_id"].to_pylist(), rows["difference"].to_pylist()
    order = sorted(range(len(query_ids)), key=lambda at: (-abs(differences[at]), query_ids[at]))
    wins = [at for at in order if differences[at] > TIE_TOLERANCE][:LARGEST]
    losses = [at for at in order if differences[at] < -TIE_TOLERANCE][:LARGEST]
    return rows.take(pa.array([*wins, *losses], pa.int64()))


def side_by_side(engine: Engine, chosen: Mapping[str, pa.Table]) -> dict[str, tuple[ChangedQuery, ...]]:
    """Candidate -> its queries among those chosen, with the first places of both; chosen: as of `most_changed`."""
    query_ids = {name: rows["query_id"].to_pylist() for name, rows in chosen.items()}
    wanted = sorted({query_id for each in query_ids.values() for query_id in each})
    sides: dict[tuple[str, str, bool], list[TopDocument]] = defaultdict(list)
    columns = ("candidate", "query_id", "doc_id", "baseline_rank", "candidate_rank", "grade")
    for name, query_id, doc_id, before, after, grade in (
        engine.each("top_document", columns, where={"query_id": wanted}) if wanted else ()
    ):
        if query_id not in query_ids[name]:
            continue
        if before is not None and before <= SIDE_BY_SIDE:
            sides[name, query_id, True].append(TopDocument(before, doc_id, grade, after))
        if after is not None and after <= SIDE_BY_SIDE:
            sides[name, query_id, False].append(TopDocument(after, doc_id, grade, before))
    for documents in sides.values():
        documents.sort(key=lambda each: each.rank)
    return {
        name: tuple(
            ChangedQuery(
                query_id=row["query_id"],
                difference=row["difference"],
                overlap=overlap_of_both,
                rbo=row["rbo"],
                baseline=tuple(sides[name, row["query_id"], True]),
                candidate=tuple(sides[name, row["query_id"], False]),
            )
            for row, overlap_of_both in zip(rows.to_pylist(), overlaps_of(rows), strict=True)
        )
        for name, rows in chosen.items()
    }


def check_sample(engine: Engine, rows: pa.Table, systems: int) -> None:
    """Computes overlap and RBO of the sampled queries again, with the core; a difference stops the evaluation."""
    sample = sample_queries(pc.unique(rows["query_id"]).to_pylist(), systems)
    if not sample:
        return
    rankings: dict[tuple[str, str, bool], dict[int, str]] = defaultdict(dict)
    columns = ("candidate", "query_id", "doc_id", "baseline_rank", "candidate_rank")
    for candidate, query_id, doc_id, before, after in engine.each("top_document", columns, where={"query_id": sample}):
        for rank, is_baseline in ((before, True), (after, False)):
            if rank is not None:
                rankings[candidate, query_id, is_baseline][rank] = doc_id
    sampled = rows.filter(pc.is_in(rows["query_id"], value_set=pa.array(sample)))
    for row in sampled.to_pylist():
        key = (row["candidate"], row["query_id"])
        before, after = ([doc for _, doc in sorted(rankings[*key, side].items())] for side in (True, False))
        longest = max(row["baseline_places"], row["candidate_places"])
        values = {
            "overlap": (row["shared"] / longest if longest else 1.0, overlap(before, after)),
            "rank-biased overlap": (row["rbo"], rank_biased_overlap(before, after)),
        }
        for name, (sql, core) in values.items():
            if not abs(sql - core) <= TOLERANCE:
                raise ParityError(
                    f"parity check: query {row['query_id']!r}, system {row['candidate']}, {name}: SQL gives {sql!r},"
                    f" the Python core {core!r} (more than {TOLERANCE} apart); nothing of this evaluation can be"
                    " believed"
                )
