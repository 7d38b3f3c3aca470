"""Leave-one-system-out: the comparisons again without the judgments that one of the systems alone contributed.

Where the column `source` of the judgments names systems that are compared. (Zobel, SIGIR 1998; docs/statistics.md,
"Where the labels came from".)
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.comparing.families import candidate_names, compare_columns, paired_columns
from ndcg_ab.comparing.sampling import read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.labels.rescoring import name_judgments_in_errors, primary_alone
from ndcg_ab.results.outcome import LeftOut
from ndcg_ab.results.wording import PRIMARY
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import PulledInputs, open_engine_for, score_metrics
from ndcg_ab.sources import JUDGMENT, Pulled
from ndcg_core.statistics.verdicts.verdict import Verdict

NO_SOURCE = ""  # of judgments that name none, which are nobody's
KEYS = ["query_id", "doc_id"]


def sources_among(evaluation: Evaluation, singles: pa.Table | None) -> list[str]:
    """The compared systems that judgments came from, in the order given; none on Spark."""
    if singles is None or evaluation.engine.spark:
        return []
    named = set(pc.unique(singles["source"]).to_pylist())
    return [system.name for system in evaluation.systems if system.name in named]


def leave_out(evaluation: Evaluation, read: PulledInputs) -> tuple[LeftOut, ...]:
    """Every primary comparison without what each source among the systems alone contributed; rankings must be whole.

    There is no second data check: what it would say of the judgments that are left is what leaving out is about.
    """
    assert read.judgments is not None
    names = sources_among(evaluation, read.judgments.singles)
    if not names:
        return ()
    owned = sole_sources(read.judgments.singles)
    return tuple(row for name in names for row in leave_out_source(evaluation, read, name, owned))


def sole_sources(singles: pa.Table) -> pa.Table:
    """query_id, doc_id, source of the documents that one source alone contributed."""
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


def leave_out_source(evaluation: Evaluation, read: PulledInputs, name: str, owned: pa.Table) -> Iterator[LeftOut]:
    """The comparisons without a system's own judgments; not testable where no others are left."""
    assert read.judgments is not None
    hidden = owned.filter(pc.equal(owned["source"], name)).select(KEYS)
    table = read.judgments.table
    layout = pa.schema([field.with_type(pa.string()) if field.name in KEYS else field for field in table.schema])
    left = table.cast(layout).replace_schema_metadata().join(hidden, KEYS, join_type="left anti")
    left = left.sort_by([(key, "ascending") for key in KEYS]).select(table.column_names).cast(table.schema)
    alone = primary_alone(evaluation, evaluation.judgments)
    if not left.num_rows:
        nothing = (hidden.num_rows, 0, None, None, None, Verdict.NOT_TESTABLE)
        yield from (
            LeftOut(name, each, of, *nothing) for of in evaluation.metrics for each in candidate_names(evaluation)
        )
        return
    with name_judgments_in_errors(f"judgments without those of {name} alone"), open_engine_for(alone) as engine:
        load_tables(engine, Pulled(left, JUDGMENT, read.judgments.source), read.queries, read.rankings, alone)
        score_metrics(engine, alone.metric_list, summed_up=False)
        recompute_sample(engine, alone.metric_list)
        columns = paired_columns(engine, alone, read_sampling(engine, alone))
        compared = compare_columns(columns, alone, PRIMARY)
    for row in compared:
        numbers = (row.queries, row.difference, row.low, row.high, row.conclusion)
        yield LeftOut(name, row.candidate, row.metric, hidden.num_rows, *numbers)
