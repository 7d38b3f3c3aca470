"""Which rankings are copies of each other."""

from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab.checks.ranking_checks import check_copies
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.sources import RANKING, Pulled, make_source

Row = tuple[str, str, float | None, int | None]
ROWS: list[Row] = [("q1", "d1", 3.0, 1), ("q1", "d2", 2.0, 2), ("q2", "d1", 1.5, 1), ("q2", "d3", 1.0, 2)]


def ranking(rows: list[Row]) -> Pulled:
    schema = pa.schema([RANKING.schema.field(name) for name in ("query_id", "doc_id", "score", "rank")])
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)
    return Pulled(table, RANKING, make_source(FileSource(file="one.run"), Path()))


CASES: dict[str, tuple[list[list[Row]], int]] = {
    "other scores": ([ROWS, [(*row[:2], 9.0 - number, row[3]) for number, row in enumerate(ROWS)]], 0),
    "in another order": ([ROWS, ROWS[::-1]], 1),
    "without the query that is looked at": ([[("q0", *row[1:]) for row in ROWS], ROWS, ROWS[::-1]], 1),
    "other rows of another query": ([ROWS, [*ROWS[:2], ("q2", "d1", 1.5, 1), ("q2", "d4", 1.0, 2)]], 0),
    "scores of one are missing": ([[(*row[:2], None, row[3]) for row in ROWS], ROWS], 1),
    "three of one": ([ROWS, ROWS, ROWS], 3),
    "fewer rows": ([ROWS, ROWS[:3]], 0),
}


@pytest.mark.parametrize("name", CASES)
def test_copies(name: str) -> None:
    tables, count = CASES[name]
    rankings = {f"s{number}": ranking(rows) for number, rows in enumerate(tables)}
    assert len([*check_copies(rankings)]) == count
