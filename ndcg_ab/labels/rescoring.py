"""Score rankings again by other judgments, such as those of one judge, or all but those of one system.

Rankings must be complete: a reduced ranking may lack results that other judgments need. `compare_leaving_out` repeats
comparisons without the judgments that one system alone contributed; the column `source` of the judgments names systems
that are compared. (Leave-one-system-out: Zobel, SIGIR 1998; docs/labels.md, "Where the labels came from".)
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.comparing.families import NOTHING, candidate_names, compare_columns, make_column, metric_columns
from ndcg_ab.comparing.sampling import PLAIN, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.settings import Slices
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import Finding, LeftOut
from ndcg_ab.results.wording import PRIMARY
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import PulledInputs, open_engine_for, score_metrics
from ndcg_ab.sources import JUDGMENT, Pulled
from ndcg_core.statistics.verdicts.comparison import Comparison

PRIMARY_ALONE: dict[str, Any] = {  # of an evaluation: the systems on the primary metrics alone
    "more_judgments": [],
    "cheap_judgments": None,
    "secondary_metrics": [],
    "guardrails": {},
    "slices": Slices(),
    "gate": None,
    "findings": {},
    "strict": False,
}


# An engine with the rankings and other judgments, whose tables are gone when its context ends; the systems on the
# primary metrics alone; and what the data check noticed
Rescored = tuple[Engine, Evaluation, Sequence[Finding]]


def compare_primary(engine: Engine, evaluation: Evaluation) -> list[Comparison]:
    """Return the comparisons of the candidates with the baseline on the primary metrics."""
    columns = metric_columns(engine, evaluation, read_sampling(engine, evaluation))
    return compare_columns(columns, evaluation, PRIMARY)


@contextlib.contextmanager
def rescore(
    evaluation: Evaluation,
    read: PulledInputs,
    judgments: Pulled | pa.Table,
    about: str,
    *,
    check: bool = True,
    score: bool = True,
) -> Iterator[Rescored]:
    """Score rankings by other judgments; yield an engine, the reduced configuration, and findings.

    The reduced configuration compares the systems on the primary metrics alone.
    read: all inputs, with complete rankings.
    judgments: pulled judgments, or a table in the columns of `JUDGMENT`.
    about: the beginning of the message of an InputError.
    check: True to check the data; otherwise there are no findings.
    score: True to compute scores.
    Raises InputError if the judgments cannot be used.
    """
    if isinstance(judgments, pa.Table):
        assert read.judgments is not None
        judgments = Pulled(judgments, JUDGMENT, read.judgments.source)
    single = evaluation.model_copy(update=PRIMARY_ALONE)
    findings: Sequence[Finding] = ()
    try:
        with open_engine_for(single) as engine:
            if check:
                findings = load_and_check(engine, read._replace(judgments=judgments, proxy=None), single)
            else:
                load_tables(engine, judgments, read.queries, read.rankings, single)
            if score:
                score_metrics(engine, single.metric_list, summed_up=False)
                recompute_sample(engine, single.metric_list)
            yield engine, single, findings
    except InputError as error:
        raise type(error)(f"{about}: {error}") from error.__cause__


NO_SOURCE = ""  # of judgments without a source
KEYS = ["query_id", "doc_id"]


def contributing_systems(evaluation: Evaluation, singles: pa.Table | None) -> list[str]:
    """Return the compared systems that judgments name as their source, in configured order.

    The list is empty on Spark, and if judgments name no sources.
    singles: the judgments with their sources, before several judgments of one document were combined; None if nothing
        was combined.
    """
    if singles is None or evaluation.engine.spark:
        return []
    names = set(pc.unique(singles["source"]).to_pylist())
    return [system.name for system in evaluation.systems if system.name in names]


def compare_leaving_out(evaluation: Evaluation, read: PulledInputs) -> Iterator[LeftOut]:
    """Repeat each primary comparison without the judgments that one system alone contributed.

    Yields one record for each system that judgments name as their source. The rankings must be complete. The remaining
    judgments are not checked, since they are incomplete on purpose.
    """
    assert read.judgments is not None
    names = contributing_systems(evaluation, read.judgments.singles)
    if not names:
        return
    owned = sole_sources(read.judgments.singles)
    for name in names:
        hidden = owned.filter(pc.equal(owned["source"], name)).select(KEYS)
        yield LeftOut(name, hidden.num_rows, tuple(compare_without(evaluation, read, name, hidden)))


def sole_sources(singles: pa.Table) -> pa.Table:
    """Return (query_id, doc_id, source) of the judged documents that exactly one source contributed.

    The source is "" for judgments without a source.
    """
    texts = pa.table(
        {
            **{name: singles[name].cast(pa.string()) for name in KEYS},
            "source": pc.fill_null(singles["source"].cast(pa.string()), NO_SOURCE),
        }
    )
    sources = texts.group_by([*KEYS, "source"], use_threads=False).aggregate([])
    counts = sources.group_by(KEYS, use_threads=False).aggregate([("source", "count"), ("source", "min")])
    sole = counts.filter(pc.equal(counts["source_count"], 1)).rename_columns([*KEYS, "count", "source"])
    return sole.select([*KEYS, "source"])


def compare_without(evaluation: Evaluation, read: PulledInputs, name: str, hidden: pa.Table) -> list[Comparison]:
    """Return the primary comparisons without the judgments in `hidden`.

    If no judgment remains, the comparisons have no queries.
    name: the system that alone contributed these judgments, for messages.
    hidden: query_id and doc_id of the judgments to leave out.
    """
    assert read.judgments is not None
    table = read.judgments.table
    layout = pa.schema([field.with_type(pa.string()) if field.name in KEYS else field for field in table.schema])
    rest = table.cast(layout).replace_schema_metadata().join(hidden, KEYS, join_type="left anti")
    rest = rest.sort_by([(key, "ascending") for key in KEYS]).select(table.column_names).cast(table.schema)
    if not rest.num_rows:
        pairs = [(metric, candidate) for metric in evaluation.metrics for candidate in candidate_names(evaluation)]
        columns = [make_column(evaluation, candidate, metric, NOTHING, PLAIN) for metric, candidate in pairs]
        return compare_columns(columns, evaluation, PRIMARY)
    with rescore(evaluation, read, rest, f"judgments without those of {name} alone", check=False) as (engine, fewer, _):
        return compare_primary(engine, fewer)
