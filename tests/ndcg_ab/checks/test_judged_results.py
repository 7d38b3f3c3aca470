"""Systems of whose results none is judged are refused, a few unjudged results are a warning; copies of rankings."""

from pathlib import Path

import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.checks.ranking_checks import check_copies
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.sources import RANKING, Pulled, make_source
from tests.sentences import refusal_text

QUERIES = [f"{number:03}" for number in range(1, 13)]
DOCS = [f"00{number}Ab" for number in range(1, 9)]
JUDGMENTS = {query: {doc: index % 3 for index, doc in enumerate(DOCS)} for query in QUERIES}
RANKED = {query: {doc: -float(index) for index, doc in enumerate(DOCS)} for query in QUERIES}


@pytest.mark.slow
def test_ids_of_another_collection() -> None:
    other = {query: {f"x{sum(map(ord, doc))}y": score for doc, score in RANKED[query].items()} for query in QUERIES}
    assert refusal_text(ndcg_ab.compare, JUDGMENTS, {"old": RANKED, "new": other}, threads=1) == (
        "systems['new']: system new: none of its 96 results in 12 judged queries is judged (in query '001' the first"
        " document id is 'x308y', the first judged one '001Ab'): its document ids must be those of the judgments"
        " [no_judged_result]"
    )


@pytest.mark.slow
def test_a_few_unjudged_results_are_a_warning() -> None:
    few = {"001": {"x": 1.0, "y": 0.5}}
    found = ndcg_ab.compare(JUDGMENTS, {"old": RANKED, "new": few}, threads=1).findings
    (finding,) = [finding for finding in found if finding.code == "no_judged_result"]
    assert (finding.severity, finding.count, finding.system) == ("warning", 2, "new")
    assert finding.message.endswith("its document ids may not be those of the judgments")


@pytest.mark.slow
def test_few_judged_is_no_other_spelling() -> None:
    """One document of each query is judged, among ten times as many that are not."""
    sparse = {query: {DOCS[0]: 1.0} for query in QUERIES}
    deep = {query: ranking | {f"z{index}": -9.0 - index for index in range(90)} for query, ranking in RANKED.items()}
    codes = {finding.code for finding in ndcg_ab.compare(sparse, {"old": deep}, threads=1).findings}
    assert codes == {"few_judged"}


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
