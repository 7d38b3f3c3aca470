"""Tables that name queries by their texts meet those with ids, if a file of queries has both."""

import itertools
from pathlib import Path
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab import thresholds
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.document_rules import match_texts
from tests.inputs import write_table
from tests.repeated import mostly_soaked

TEXTS = {str(at): f"{chr(97 + at)} red shoe" for at in range(12)}
JUDGED = {query_id: {"a": 2, "b": 0, "c": 1} for query_id in TEXTS}
RANKINGS = {
    "old": {query_id: {"b": 3.0, "a": 2.0, "c": 1.0} for query_id in TEXTS},
    "new": {query_id: {"a": 3.0, "c": 2.0, "b": 1.0} for query_id in TEXTS},
}


def by_text(table: dict[str, Any]) -> dict[str, Any]:
    return {TEXTS[query_id]: each for query_id, each in table.items()}


def write_files(folder: Path) -> dict[str, str]:
    """The judgments and rankings by text, and the queries, as files."""
    for name, value, table in (("j", "grade", JUDGED), *((name, "score", each) for name, each in RANKINGS.items())):
        rows = [(text, doc, number) for text, docs in by_text(table).items() for doc, number in docs.items()]
        write_table(
            folder / f"{name}.csv", [dict(zip(("query_id", "doc_id", value), row, strict=True)) for row in rows]
        )
    write_table(folder / "queries.tsv", [{"query_id": query_id, "text": text} for query_id, text in TEXTS.items()])
    return {path.stem: str(path) for path in folder.iterdir()}


def codes(result: ndcg_ab.CompareResult) -> list[tuple[str, int]]:
    return [(each.code, each.count) for each in result._outcome.findings if "by_text" in each.code]


CASES = [*itertools.product(["judgments", "rankings", "both"], [True, False], [None, "1GB"])]


@pytest.mark.first_case
@pytest.mark.parametrize("case", mostly_soaked(CASES, kept=[("both", True, None), ("both", False, "1GB")]))
def test_texts_have_the_ids(
    case: tuple[str, bool, str | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    which, in_memory, memory_limit = case
    if memory_limit:
        monkeypatch.setattr(thresholds, "FILE_ROWS", 5)
    paths = write_files(tmp_path)
    of_judgments: Any = by_text(JUDGED) if in_memory else paths["j"]
    of_rankings: Any = (
        {name: by_text(each) for name, each in RANKINGS.items()}
        if in_memory
        else {name: paths[name] for name in RANKINGS}
    )
    judgments = JUDGED if which == "rankings" else of_judgments
    rankings = RANKINGS if which == "judgments" else of_rankings
    options: dict[str, Any] = {"resamples": 100, "memory_limit": memory_limit}
    queries: Any = TEXTS if in_memory else paths["queries"]
    found = ndcg_ab.compare(judgments, rankings, queries=queries, **options)
    assert found.comparisons == ndcg_ab.compare(JUDGED, RANKINGS, **options).comparisons
    number = {"judgments": 1, "rankings": 2, "both": 3}[which]
    assert codes(found) == [("query_by_text", 12)] * number


@pytest.mark.slow
def test_a_reduced_ranking_is_read_whole(tmp_path: Path) -> None:
    """The fast way through a plain file keeps what judged queries need, which it would not know by their texts."""
    texts = {query_id: text.replace(" ", "-") for query_id, text in TEXTS.items()}
    for name, ranking in RANKINGS.items():
        lines = [f"{texts[i]} Q0 {doc} 1 {score} t\n" for i, docs in ranking.items() for doc, score in docs.items()]
        (tmp_path / name).write_text("".join(lines))
    files = {name: str(tmp_path / name) for name in RANKINGS}
    found = ndcg_ab.compare(JUDGED, files, queries=texts, resamples=100)
    assert found.comparisons == ndcg_ab.compare(JUDGED, RANKINGS, resamples=100).comparisons


@pytest.mark.parametrize(
    ("query_ids", "texts", "replaced", "code"),
    [
        (["red", "blue"], {"1": "red", "2": "blue"}, 2, "query_by_text"),
        (["1", "2"], {"1": "red", "2": "blue"}, 0, None),
        (["red", "2"], {"1": "red", "2": "blue"}, 0, None),
        (["red", "blue", "2"], {"1": "red", "2": "blue"}, 0, "query_partly_by_text"),
        (["red", "green"], {"1": "red", "2": "blue"}, 0, "query_partly_by_text"),
        (["red", "blue"], {"1": "red", "2": "blue", "3": "blue"}, 0, "query_partly_by_text"),
        (["x", "y"], {"1": "red", "2": "blue"}, 0, None),
        (["a", "b"], {"a": "b", "b": "a"}, 0, None),
        ([*map(str, range(100, 119)), "x"], {str(at): str(at + 100) for at in range(30)}, 19, "query_by_text"),
    ],
)
def test_nearly_all_are_texts_of_one_id(
    query_ids: list[str], texts: dict[str, str], replaced: int, code: str | None
) -> None:
    ids, remarks = match_texts(query_ids, texts)
    assert len(ids) == replaced
    assert [each.code for each in remarks] == [code] * bool(code)


def test_without_the_file_of_queries_it_is_named() -> None:
    for judgments, new in ((JUDGED, by_text(RANKINGS["new"])), (by_text(JUDGED), RANKINGS["new"])):
        with pytest.raises(InputError, match="give the file that has their ids and texts: --queries FILE"):
            ndcg_ab.compare(judgments, {"new": new})
