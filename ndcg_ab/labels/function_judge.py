"""Grade documents with a judge function, and measure its agreement with people.

The function grades the documents within the deepest cutoff of any system that no file judges, for every query with a
known text, and also `SAMPLED` documents that files judge. A grade in a file takes precedence over one of the function.
"""

import hashlib
from collections.abc import Mapping, Sequence
from statistics import fmean

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import MOST_GRADED_DEPTH, JudgeSource
from ndcg_ab.deadlines import Say
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import FunctionJudge
from ndcg_ab.scoring.loading import document_table, load_tables
from ndcg_ab.scoring.metric_tables import deepest_cutoff, metric_tables
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.sources import JUDGMENT, Pulled, Queries
from ndcg_ab.sources.base import Remark, Source, with_remarks
from ndcg_ab.sources.judgments.function_grades import Document, JudgeFunctionCaller, Query
from ndcg_ab.sources.judgments.gathering import KEY, gather_judgments, layout_of_columns
from ndcg_ab.sources.queries import documents_source, merge_documents, read_documents
from ndcg_ab.sources.tables.schema import Layout
from ndcg_core.statistics.estimates.agreement import cohen_kappa, confusion_matrix, krippendorff_alpha

SAMPLED = 200  # documents that files judge and the function grades as well
UNSAID = "unsaid_grade"
Rankings = Mapping[str, Pulled]
Key = tuple[str, str]  # query_id and doc_id


class JudgeFunctionSource(Source):
    """The judge function as a source of judgments, named in reports. It cannot be read as a table."""

    def __init__(self, described: JudgeSource) -> None:
        self.origin = described.origin

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        raise AssertionError("a function is no table to pull: `grade_by_judge`")


def grade_by_judge(
    judge: JudgeSource,
    evaluation: Evaluation,
    files: Sequence[Pulled],
    queries: Queries,
    rankings: Rankings,
    say: Say,
    since: float | None = None,
) -> tuple[Pulled, int]:
    """Grade the unjudged pooled documents, and a sample of judged ones, with the judge function.

    Returns the function's judgments, and the number of grades that were already in the cache.
    files: the judgments of each file.
    queries: the texts of the queries and, if the judge needs them, their attributes.
    rankings: system -> complete ranking.
    since: Unix time before which cached grades are not reused; None if all are reused.
    Raises InputError if no system returns a document to judge, or if the function fails.
    """
    pool, titles = pool_documents(judge, evaluation, queries, rankings)
    if not pool:
        raise InputError(
            f"python = {judge.origin!r}: there is nothing to judge: no system returns a document for any of"
            f" {len(queries.texts)} queries"
        )
    graded = combine_file_grades(files, evaluation)
    lacking = [key for key in pool if key not in graded]
    batch = [*lacking, *sample_keys([key for key in pool if key in graded], evaluation.statistics.seed)]
    records = queries.records if judge.attributes else {}
    pairs = [
        (
            Query(query_id, queries.texts[query_id], {name: records[query_id][name] for name in judge.attributes}),
            titles.get(doc_id) or Document(doc_id),
        )
        for query_id, doc_id in batch
    ]
    grades, known_before = JudgeFunctionCaller(judge, evaluation.directory).grades_of(pairs, say, since)
    rows = [(*key, grade, judge.judge) for key, grade in zip(batch, grades, strict=True) if grade is not None]
    layout = layout_of_columns([*JUDGMENT.schema.names, "judge"])
    columns = list(zip(*rows, strict=True)) or [()] * len(layout.fields)
    table = pa.table([list(column) for column in columns], schema=layout.schema)
    ungraded = [key for key, grade in zip(lacking, grades, strict=False) if grade is None]
    examples = tuple(f"query {query_id!r}, document {doc_id!r}" for query_id, doc_id in ungraded[:5])
    message = f"{judge.origin}: could not say the grade of {len(ungraded):,} of {len(lacking):,} documents: unjudged"
    remarks = [Remark(UNSAID, len(ungraded), examples, message)] if ungraded else []
    return Pulled(with_remarks(table, remarks), layout, JudgeFunctionSource(judge)), known_before


def pool_documents(
    judge: JudgeSource, evaluation: Evaluation, queries: Queries, rankings: Rankings
) -> tuple[list[Key], dict[str, Document]]:
    """Pool the documents that any system ranks within the depth to judge.

    Returns the sorted (query_id, doc_id) keys, and doc_id -> document for the documents with known content. The depth
    is that of the judge if configured. Otherwise it is the deepest cutoff of the metrics, at most `MOST_GRADED_DEPTH`.
    """
    metrics = evaluation.metric_list
    depth = judge.depth or min(deepest_cutoff(metrics), MOST_GRADED_DEPTH)
    texts = list(queries.texts)
    query_table = pa.table([texts, [""] * len(texts), [0.0] * len(texts)], schema=JUDGMENT.schema)
    rules = metric_tables(metrics)["pulled_rank_rule"]
    index = rules.schema.get_field_index("unjudged")
    rules = rules.set_column(
        index, rules.schema.field(index), [["zero"] * len(rules)]
    )  # unjudged results stay in the ranking
    with open_engine_for(evaluation) as engine:
        load_tables(engine, Pulled(query_table, JUDGMENT, JudgeFunctionSource(judge)), queries, rankings, evaluation)
        engine.put("pulled_rank_rule", rules.group_by(rules.schema.names).aggregate([]))
        engine.set_defaults(depth=depth)
        rows = engine.read("ranked_doc", KEY).group_by(KEY).aggregate([])
    pool = sorted(zip(*(rows[name].cast(pa.string()).to_pylist() for name in KEY), strict=True))
    doc_ids = pa.table({"doc_id": pa.array(sorted({doc_id for _, doc_id in pool}), pa.string())})["doc_id"]
    came_along = document_table(rankings)
    known_documents = came_along.filter(pc.is_in(came_along["doc_id"], pc.unique(doc_ids)))
    if documents := documents_source(evaluation):
        known_documents = merge_documents(read_documents(documents, doc_ids), known_documents)
    return pool, {row["doc_id"]: Document(**row) for row in known_documents.to_pylist()}


def combine_file_grades(files: Sequence[Pulled], evaluation: Evaluation) -> dict[Key, float]:
    """Return {(query_id, doc_id): grade} from the judgments of all files.

    Several judgments of one document are combined by the configured rule.
    """
    if not files:
        return {}
    table = gather_judgments(files, evaluation).table
    columns = [*(table[name].cast(pa.string()).to_pylist() for name in KEY), table["grade"].to_pylist()]
    return {(query_id, doc_id): grade for query_id, doc_id, grade in zip(*columns, strict=True)}


def sample_keys(keys: Sequence[Key], seed: int) -> list[Key]:
    """Return a sorted sample of at most `SAMPLED` keys, chosen by a hash of key and seed.

    If keys are added, most of the sample stays.
    """
    hashed = sorted(keys, key=lambda key: hashlib.sha256("\0".join([str(seed), *key]).encode()).digest())
    return sorted(hashed[:SAMPLED])


def summarize_judge(evaluation: Evaluation, files: Sequence[Pulled], by_function: Pulled) -> FunctionJudge:
    """Return how many grades the judge function gave, and how they agree with the judgments of the files.

    files: the judgments of each file.
    by_function: the judgments of the function.
    """
    assert evaluation.judge is not None
    ours = combine_file_grades([by_function], evaluation)
    grade_pairs = [(grade, ours[key]) for key, grade in combine_file_grades(files, evaluation).items() if key in ours]
    first, second = [grade for grade, _ in grade_pairs], [grade for _, grade in grade_pairs]
    return FunctionJudge(
        function=evaluation.judge.origin,
        judged=len(ours) - len(grade_pairs),
        unsaid=sum(remark.count for remark in by_function.remarks if remark.code == UNSAID),
        compared=len(grade_pairs),
        equal=sum(one == other for one, other in grade_pairs),
        mean_difference=fmean(other - one for one, other in grade_pairs) if grade_pairs else None,
        cohen_kappa=cohen_kappa(confusion_matrix(first, second)) if grade_pairs else None,
        krippendorff_alpha=krippendorff_alpha([*range(len(grade_pairs))] * 2, first + second) if grade_pairs else None,
    )
