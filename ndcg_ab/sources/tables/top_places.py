"""A ranking as far as a comparison looks at it: the first rows of every query, and what the others come to.

Of every query whose rows stand by falling score there are kept the first `depth`, with all that tie with the last of
them, and of some queries all rows.  Nothing that is left out can be in a place that a metric with a cutoff looks at:

- a sort by score, by document id among equal scores, or by ranks that rise by 1, takes its first places from them;
- what ties with the last place in 64 or in 32 bits, or lies 1e-6 of it below, as `sensitive_doc` looks, is among them;
- how many documents a query has, and the ends of its ranks and scores, are in `answers`, which `answered_query` takes
  as they are; `odd_answer`, `returned`, `finding` and all that asks for depths read those;
- the parity check looks at whole queries, which are kept whole; for `met_query` judged documents are counted;
- a document that comes twice, rows that rise, a value that is no number: such a file is never reduced;
- who asks for anything else (`Pulled.table`) has the file read whole.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ANSWER = pa.schema(
    [("query_id", pa.string()), ("returned", pa.int64()), ("lowest_rank", pa.int64()), ("highest_rank", pa.int64())]
    + [
        ("has_plain_ranks", pa.bool_()),
        ("lowest_score", pa.float64()),
        ("highest_score", pa.float64()),
        ("met", pa.int64()),
    ]
)
KNOWN_RANK = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("rank", pa.int64())])

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]


class NotPlainError(Exception):
    """A file is no plain one: it is read whole, by the way that says what is wrong."""


@dataclasses.dataclass(frozen=True)
class WantedPlaces:
    """What is kept. depth: of every query so many rows. whole: the queries of which every row is kept.

    judged: of the queries in which judged documents are counted at any depth, their ids.
    """

    depth: int
    whole: frozenset[str]
    judged: Mapping[str, pa.Array] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def ids(self) -> bytes:
        """The queries that are needed whole, whether they are kept so or not, a line feed after each."""
        return b"".join(each.encode() + b"\n" for each in self.whole | self.judged.keys() if "\n" not in each)


@dataclasses.dataclass(frozen=True)
class ReducedRanking:
    """A reduced ranking.

    rows: the columns of a ranking, in memory or `TableOnDisk`.  answers: one row for each query.  count: of all rows.
    ranks: of relevant documents (`KNOWN_RANK`), for the page; None: they are not known.
    """

    rows: Any
    answers: pa.Table
    count: int
    ranks: pa.Table | None = None


def make_table(columns: Sequence[pa.Array | npt.NDArray[Any] | list[int | None] | None], schema: pa.Schema) -> pa.Table:
    """A table of columns; None stands for one without values, which is not the first."""
    count = len(cast(pa.Array, columns[0]))
    arrays = [
        pa.nulls(count, field.type) if column is None else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.table(arrays, schema=schema)


def query_starts(query_ids: pa.Array) -> Whole:
    """The first row of each run of one query."""
    differs = pc.not_equal(query_ids[1:], query_ids[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(differs) + 1])


def places_of_scores(queries: Whole, scores: Real) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The first and the last place, from 1 on, of each row's score in its query.

    queries: a number for each row's query, whose rows stand together from its first place on; scores: never rise in it.
    """
    begins = np.ones(len(queries), dtype=bool)
    begins[1:] = queries[1:] != queries[:-1]
    starts = np.flatnonzero(begins)
    begins[1:] |= scores[1:] != scores[:-1]
    groups = np.flatnonzero(begins)
    sizes = np.diff(np.append(groups, len(queries)))
    first = groups - starts[np.searchsorted(starts, groups, side="right") - 1] + 1
    return np.repeat(first.astype(np.int32), sizes), np.repeat((first + sizes - 1).astype(np.int32), sizes)


def refuse_apart(heads: pa.Array) -> None:
    """A query that heads several runs of rows."""
    if len(heads.unique()) < len(heads):
        raise NotPlainError
