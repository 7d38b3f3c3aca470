"""Whether ranks are plain is told exactly of millions of them, and of ranks that begin anywhere below 10^12."""

import numpy as np
import pyarrow as pa
import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.sources.tables.reduced_ranking import ANSWER

MANY = 3_000_000
MOST = 10**12


def check_told_ranks(ranks: np.ndarray) -> bool:
    count = len(ranks)
    ranking = pa.table(
        {
            "system_id": pa.repeat("a", count),
            "query_id": pa.repeat("q", count),
            "doc_id": pa.repeat("d", count),
            "score": pa.nulls(count, pa.float64()),
            "rank_given": pa.array(ranks, pa.int64()),
        }
    )
    queries = pa.table([["q"], [True]], names=["query_id", "is_judged"])
    with DuckDBEngine() as engine:
        engine.put("pulled_ranking", ranking)
        schema = pa.schema([("system_id", pa.string()), *ANSWER])
        engine.put("pulled_answer", schema.empty_table())
        engine.put_computed("query", queries)
        found: bool = engine.rows("answered_query", ("has_plain_ranks",))[0][0]
    return found


@pytest.mark.first_case
@pytest.mark.parametrize("lowest", [1, -5, 10**10, MOST - 2, -MOST])
def test_ranks_that_rise_by_one_are_plain_wherever_they_begin(lowest: int) -> None:
    ranks = np.arange(lowest, lowest + 3)
    assert check_told_ranks(ranks)
    ranks[1] = ranks[0]
    assert not check_told_ranks(ranks)


@pytest.mark.slow
def test_millions_of_ranks_are_plain_and_one_that_is_off_is_seen() -> None:
    ranks = np.arange(1, MANY + 1)
    assert check_told_ranks(ranks)
    ranks[[5, 6]] = 3, 10  # of the same sum
    assert not check_told_ranks(ranks)
