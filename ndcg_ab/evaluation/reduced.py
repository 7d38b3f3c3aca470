"""A ranking as far as an evaluation looks at it, so that one that has not changed need not be loaded and checked again.

Kept are the first results of every query, with all that tie with the last of them, all results of a few queries, and
what is known of the others: how many there are, the ends of their ranks and scores, the ranks of relevant documents.
It holds for one set of judgments and metrics.  What reads rankings sees no difference:

- a sort by score, by document id among equal scores, or by ranks takes the places that the metrics look at from rows
  that are here; so do ties, and all that `sensitive_doc` and `contending_result` look at;
- `answered_query`, and all that asks for depths, takes how many there are from the answers, as they were;
- the parity check, `met_query` and the look for copies read whole queries, which are here;
- the report page shows ranks of documents below from those that are kept;
- a document twice, rows that rise, ranks that disagree with the order of the rows: such a ranking is not reduced.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.engines.base import Engine
from ndcg_ab.evaluation.metric_tables import depth_of, looks_beyond
from ndcg_ab.evaluation.parity import sample_queries
from ndcg_ab.evaluation.unmatched_ids import FIRST_QUERIES, count_met, is_rare
from ndcg_ab.sources import Pulled
from ndcg_core.measures.metric import Metric

NEAR = 2e-6  # of a score: what lies no further below it is kept as if it were tied
LARGEST_SCORE = 1e38  # beyond the largest 32-bit float scores tie that are far apart
ANSWER = ("query_id", "returned", "lowest_rank", "highest_rank", "has_plain_ranks", "lowest_score", "highest_score")
KNOWN_RANK = pa.schema(
    [("system_id", pa.string()), ("query_id", pa.string()), ("doc_id", pa.string()), ("rank", pa.int64())]
)


@dataclasses.dataclass(frozen=True)
class Reduced:
    """rows: as in a ranking's table.  answers: one for each query.  ranks: of relevant documents.  count: all rows."""

    rows: pa.Table
    answers: pa.Table
    ranks: pa.Table
    count: int


def can_reduce(metrics: Sequence[Metric]) -> bool:
    """Whether the metrics look at first places alone, and a document that comes twice is an error."""
    return not any(looks_beyond(metric) or metric.depth is None or metric.duplicates == "first" for metric in metrics)


def reduce(engine: Engine, name: str, pulled: Pulled, metrics: Sequence[Metric]) -> Reduced | None:
    """A system's ranking, loaded and checked, in short; None where it is none that can be.

    engine: the evaluation that it stands in.
    """
    met = count_met(engine, FIRST_QUERIES).get(name)
    if met is None or is_rare(met):
        return None
    answers = engine.read("answered_query", (*ANSWER, "is_judged"), where={"system_id": name}, order="query_id")
    if not pc.all(pc.fill_null(answers["has_plain_ranks"], True)).as_py():
        return None
    judged = answers.filter(answers["is_judged"])["query_id"].cast(pa.string()).to_pylist()
    every = [row[0] for row in engine.rows("query", ("query_id",), where={"is_judged": True}, order="query_id")]
    whole = {*sample_queries(every), *judged[:FIRST_QUERIES], answers["query_id"][0].as_py()}
    kept = kept_rows(pulled.table, depth_of(metrics) + 1, whole)
    if kept is None:
        return None
    ranks = engine.read("returned_rank", order="query_id, doc_id", system_id=name)
    return Reduced(pulled.table.filter(kept), answers, ranks, pulled.table.num_rows)


def kept_rows(table: pa.Table, depth: int, whole: Collection[str]) -> pa.Array | None:
    """Which rows are kept; None where queries are not in one piece each, scores rise, or ranks do not rise by 1."""
    if table["score"].null_count or table["rank"].null_count not in (0, table.num_rows) or table.num_rows == 0:
        return None
    ids = table["query_id"].cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries().combine_chunks()
    codes, scores = ids.indices.to_numpy(), table["score"].to_numpy()
    begins = np.concatenate([[True], codes[1:] != codes[:-1]])
    starts = np.flatnonzero(begins)
    inside = ~begins[1:]
    if len(np.unique(codes[starts])) < len(starts) or (np.diff(scores) > 0)[inside].any():
        return None
    if not np.isfinite(scores).all() or np.abs(scores).max() > LARGEST_SCORE:
        return None
    if table["rank"].null_count == 0 and (np.diff(table["rank"].to_numpy()) != 1)[inside].any():
        return None
    lengths = np.diff(np.append(starts, len(codes)))
    last = scores[starts + np.minimum(lengths, depth) - 1]
    least = np.repeat(last - NEAR * np.abs(last), lengths)
    chosen = scores >= least
    with np.errstate(under="ignore"):
        chosen |= scores.astype(np.float32) == np.repeat(last.astype(np.float32), lengths)
    of_whole = pc.index_in(pa.array(sorted(whole), pa.string()), value_set=ids.dictionary).drop_null().to_numpy()
    return pa.array(chosen | np.isin(codes, of_whole))


def give_answers(engine: Engine, known: Mapping[str, Reduced]) -> None:
    """Puts the answers of reduced rankings in the place of those that their rows would give."""
    if not known:
        return
    made = engine.read("answered_query")
    others = made.filter(pc.invert(pc.is_in(made["system_id"].cast(pa.string()), pa.array(list(known), pa.string()))))
    tables = [others]
    for name, reduced in known.items():
        named = reduced.answers.append_column("system_id", pa.array([name] * reduced.answers.num_rows, pa.string()))
        tables.append(named.select(made.column_names).cast(made.schema))
    engine.give("answered_query", pa.concat_tables(tables))


def known_ranks(known: Mapping[str, Reduced]) -> pa.Table:
    """The ranks of relevant documents of all reduced rankings."""
    rows = [KNOWN_RANK.empty_table()]
    for name, reduced in known.items():
        names = pa.array([name] * reduced.ranks.num_rows, pa.string())
        rows.append(pa.table([names, *(reduced.ranks[each] for each in KNOWN_RANK.names[1:])], KNOWN_RANK.names))
    return pa.concat_tables([each.cast(KNOWN_RANK) for each in rows])
