"""Leave-one-system-out: the comparisons again without the judgments that one of the systems alone contributed.

The column `source` of the judgments names systems that are compared. (Zobel, SIGIR 1998; docs/statistics.md, "Where the
labels came from".)
"""

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.comparing.families import candidate_names
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.labels.rescoring import rescore
from ndcg_ab.results.outcome import LeftOut
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_core.statistics.verdicts.verdict import Verdict

NO_SOURCE = ""  # of judgments that name none
KEYS = ["query_id", "doc_id"]


def sources_among(evaluation: Evaluation, singles: pa.Table | None) -> list[str]:
    """Return the compared systems that judgments came from, in the order of the systems; none on Spark."""
    if singles is None or evaluation.engine.spark:
        return []
    named = set(pc.unique(singles["source"]).to_pylist())
    return [system.name for system in evaluation.systems if system.name in named]


def leave_out(evaluation: Evaluation, read: PulledInputs) -> tuple[LeftOut, ...]:
    """Return every primary comparison without what each source among the systems alone contributed.

    Rankings must be whole. The judgments that are left are not checked again: what a check would say of them is what
    leaving out is about.
    """
    assert read.judgments is not None
    names = sources_among(evaluation, read.judgments.singles)
    if not names:
        return ()
    owned = sole_sources(read.judgments.singles)
    return tuple(row for name in names for row in leave_out_source(evaluation, read, name, owned))


def sole_sources(singles: pa.Table) -> pa.Table:
    """Return query_id, doc_id and source of the documents that one source alone contributed."""
    texts = pa.table(
        {
            **{name: singles[name].cast(pa.string()) for name in KEYS},
            "source": pc.fill_null(singles["source"].cast(pa.string()), NO_SOURCE),
        }
    )
    sources = texts.group_by([*KEYS, "source"], use_threads=False).aggregate([])
    counted = sources.group_by(KEYS, use_threads=False).aggregate([("source", "count"), ("source", "min")])
    alone = counted.filter(pc.equal(counted["source_count"], 1)).rename_columns([*KEYS, "count", "source"])
    return alone.select([*KEYS, "source"])


def leave_out_source(evaluation: Evaluation, read: PulledInputs, name: str, owned: pa.Table) -> list[LeftOut]:
    """Return the comparisons without the judgments that one system alone contributed; not testable if none is left."""
    assert read.judgments is not None
    hidden = owned.filter(pc.equal(owned["source"], name)).select(KEYS)
    table = read.judgments.table
    layout = pa.schema([field.with_type(pa.string()) if field.name in KEYS else field for field in table.schema])
    left = table.cast(layout).replace_schema_metadata().join(hidden, KEYS, join_type="left anti")
    left = left.sort_by([(key, "ascending") for key in KEYS]).select(table.column_names).cast(table.schema)
    if not left.num_rows:
        nothing = (hidden.num_rows, 0, None, None, None, Verdict.NOT_TESTABLE)
        names = candidate_names(evaluation)
        return [LeftOut(name, candidate, metric, *nothing) for metric in evaluation.metrics for candidate in names]
    with rescore(evaluation, read, left, f"judgments without those of {name} alone", check=False) as found:
        compared = found.compare()
    return [
        LeftOut(
            name,
            row.candidate,
            row.metric,
            hidden.num_rows,
            row.queries,
            row.difference,
            row.low,
            row.high,
            row.conclusion,
        )
        for row in compared
    ]
