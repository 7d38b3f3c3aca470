"""The part of a ranking that a comparison uses: the first rows of every query, and summaries of the other rows.

For every query whose rows are sorted by falling score, the first `depth` rows are kept with all rows that tie with the
last of them. No row that is left out can be at a rank that a metric with a cutoff uses:

- a sort by score, by document id among equal scores, or by ranks that rise by 1, takes its top ranks from kept rows;
- rows that tie with the last rank in 64 or 32 bits, or are up to 1e-6 below it, as in `sensitive_doc`, are kept;
- the number of documents of a query and the extremes of its ranks and scores are in `answers`, from which
  `answered_query` is made; `odd_answer`, `returned`, `finding` and everything about depths read those;
- of a sample of queries, all rows show whether a row that can be at these ranks was lost;
- judged documents of some queries are counted among all rows for `met_query`;
- a file with repeated documents, rising scores, or values that are no numbers is never reduced;
- a caller that needs other rows (`Pulled.table`) reads the whole file.
"""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

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


class FastReaderError(Exception):
    """Raised if the fast reader cannot read a ranking, so that the general reader must read it."""


@dataclasses.dataclass(frozen=True)
class NeededResults:
    """The part of a ranking that an evaluation needs.

    Attributes
    ----------
    depth : int
        Number of first rows of each query to keep, besides rows that tie with the last of them.
    sample : frozenset of str
        Ids of queries of which all rows are read, to verify that no needed row was lost.
    judged : mapping of str to pa.Array
        query_id -> ids of judged documents, for queries in which judged documents are counted at every rank.
    """

    depth: int
    sample: frozenset[str]
    judged: Mapping[str, pa.Array] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def ids(self) -> bytes:
        """The ids of the queries that must be read completely, each followed by a line feed.

        Ids that contain a line feed are left out.
        """
        return b"".join(each.encode() + b"\n" for each in self.sample | self.judged.keys() if "\n" not in each)


@dataclasses.dataclass(frozen=True)
class ReducedRanking:
    """The first rows of a ranking, with a summary of all rows.

    Attributes
    ----------
    rows : pa.Table or TableOnDisk
        The first rows of every query.
    answers : pa.Table
        One row per query, with its number of results and the extremes of ranks and scores (`ANSWER`).
    count : int
        Number of all rows.
    ranks : pa.Table or None
        Ranks of relevant documents (`KNOWN_RANK`), for the HTML page; None if unknown.
    """

    rows: Any
    answers: pa.Table
    count: int
    ranks: pa.Table | None = None


def query_starts(query_ids: pa.Array) -> Whole:
    """Return the row number at which each run of rows with equal query ids starts."""
    differs = pc.not_equal(query_ids[1:], query_ids[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.flatnonzero(differs) + 1])
