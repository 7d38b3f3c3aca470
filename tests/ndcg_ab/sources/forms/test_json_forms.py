"""Forms of JSON: what is recognised, the records that it gives, and what is refused."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.sources.files.records import load_document
from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, Reading
from ndcg_ab.sources.forms.recognition import recognise
from ndcg_ab.sources.forms.sample import FIRST_BYTES, Sample
from tests.paths import shared

DATA = shared()
CASES = DATA.parent / "cases" / "forms" if DATA is not None else Path("none")
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the published cases are not here (NDCG_AB_DATA)")


def sample_of(text: str) -> Sample:
    return Sample(Path("x.json"), text.encode()[:FIRST_BYTES])


def recognised(value: Any, kind: str | None = None) -> Reading:
    found = recognise(sample_of(json.dumps(value)), kind)
    assert found is not None and found.records is not None
    return found


def records(value: Any, kind: str | None = None) -> list[dict[str, Any]]:
    """The records, checked to be the same from the beginning of a file as from data in memory."""
    reading = recognised(value, kind)
    assert reading.records is not None
    return [record for _, record in reading.records(value)]


def triples(found: list[dict[str, Any]], field: str) -> list[tuple[Any, ...]]:
    return [(row["query_id"], row["doc_id"], row[field]) for row in found]


# ---- the published cases: canonical.* says what is in all of them


def canonical(name: str, *, by_text: bool) -> list[tuple[str, str, float]]:
    texts = dict(csv.reader((CASES / "queries.tsv").read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    lines = [line.split() for line in (CASES / name).read_text(encoding="utf-8").splitlines()]
    return sorted((texts[line[0]] if by_text else line[0], line[2], float(line[3])) for line in lines)


def read_case(path: Path, value: Any = None) -> tuple[str, list[dict[str, Any]]]:
    reading = recognise(Sample.of_file(path))
    assert reading is not None and reading.records is not None, path
    return reading.kind, [record for _, record in reading.records(value or json.loads(path.read_bytes()))]


def ranked(found: list[dict[str, Any]]) -> list[tuple[str, str, float]]:
    """Each document with its rank, by the scores if there is no rank."""
    rows = []
    for query_id in {row["query_id"] for row in found}:
        of_query = [row for row in found if row["query_id"] == query_id]
        of_query.sort(key=lambda row: row["rank"] if "rank" in row else -row["score"])
        rows += [(query_id, row["doc_id"], float(rank)) for rank, row in enumerate(of_query, 1)]
    return sorted(rows)


@needs_cases
@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.name)
def test_a_published_case_holds_what_all_hold(path: Path) -> None:
    kind, found = read_case(path)
    by_text = path.name.startswith(("jt_", "rt_"))
    if path.name.startswith("j"):
        assert kind == JUDGMENTS
        pairs = sorted({(row["query_id"], row["doc_id"], float(row["grade"])) for row in found})
        assert pairs == canonical("canonical.qrels", by_text=by_text)
    else:
        system = "b" if path.name.startswith("r_b") else "a"
        assert kind == RANKING
        assert ranked(found) == canonical(f"canonical_{system}.run", by_text=by_text)


@needs_cases
def test_a_book_names_its_judges_and_leaves_out_the_unrateable() -> None:
    _, found = read_case(CASES / "jt_quepid_book.json")
    assert {row["judge"] for row in found} == {"one@example.org", "two@example.org"}
    assert len(found) == 24


# ---- {query: {document: number}}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"q1": {"d1": 0, "d2": 2, "d3": 0}}, JUDGMENTS),
        ({"q1": {"d1": 1}, "q2": {"d7": 1}}, JUDGMENTS),
        ({"q1": {"d1": "E", "d2": "I"}}, JUDGMENTS),
        ({"q1": {"d1": 9.5, "d2": 8.5}}, RANKING),
        ({"q1": {f"d{number}": (number * 7) % 30 for number in range(30)}}, RANKING),
        ({"q1": {"d1": 1e6, "d2": 3.0}}, RANKING),
        ({"q1": [["d1", 0], ["d2", 2]], "q2": []}, JUDGMENTS),
        ({"q1": [["d1", 9.5], ["d2", 8.5]]}, RANKING),
    ],
)
def test_numbers_tell_grades_from_scores(value: Any, kind: str) -> None:
    assert recognised(value).kind == kind


@pytest.mark.parametrize(("name", "field", "kind"), [("qrels", "grade", JUDGMENTS), ("run", "score", RANKING)])
def test_one_key_around_all_queries_names_their_kind(name: str, field: str, kind: str) -> None:
    value = {name: {"q1": {"d1": 2, "d2": 1}, "q2": {"d1": 1}}}
    assert recognised(value).kind == kind
    assert triples(records(value), field) == [("q1", "d1", 2), ("q1", "d2", 1), ("q2", "d1", 1)]
    assert recognised({name: {"d1": 0, "d2": 2}}).kind == JUDGMENTS, "a query may be called so"


def test_a_line_may_hold_the_documents_of_a_query(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"q1": {"d1": 9.5, "d2": 8.5}}\n{"q2": {"d1": 7.5}}\n{"q3": {"d1": 6.5}}\n')
    kind, found = read_case(path, load_document(path))
    assert kind == RANKING
    assert triples(found, "score") == [("q1", "d1", 9.5), ("q1", "d2", 8.5), ("q2", "d1", 7.5), ("q3", "d1", 6.5)]
    path.write_text(path.read_text() + '{"q2": {"d2": 5.5}}\n')
    with pytest.raises(InputError, match="query 'q2': is on 2 lines: give a query once"):
        read_case(path, load_document(path))


def test_few_falling_numbers_may_be_both() -> None:
    value = {"q1": {"d1": 2, "d2": 1}}
    with pytest.raises(InputError, match=r"may be judgments .*--judgments FILE.* or ranking .*--system NAME=FILE"):
        recognised(value)
    assert records(value, JUDGMENTS) == [
        {"query_id": "q1", "doc_id": "d1", "grade": 2},
        {"query_id": "q1", "doc_id": "d2", "grade": 1},
    ]
    assert triples(records(value, RANKING), "score") == [("q1", "d1", 2), ("q1", "d2", 1)]


# ---- lists and hits


HITS = [{"_index": "shop", "_id": "d1", "_score": 2.5, "_source": {"title": "x"}}, {"_id": "d2", "_score": 1.5}]
ANSWER = {"took": 3, "hits": {"total": {"value": 2}, "max_score": 2.5, "hits": HITS}}


@pytest.mark.parametrize(
    ("value", "query_id"),
    [
        ([{"qid": "q1", "query": "red shoes", **ANSWER}], "q1"),
        ([{"query": "red shoes", "response": ANSWER}], "red shoes"),
        ({"red shoes": ANSWER}, "red shoes"),
        ({"query_id": 7, "response": ANSWER}, 7),
        ([{"query": {"text": "red shoes", "qid": "q1"},
           "candidates": [{"docid": "d1", "score": 2.5, "doc": {}}, {"docid": "d2", "score": 1.5}]}], "q1"),
        ([{"query": "red shoes", "response": {"numFound": 2, "docs": [{"id": "d1", "score": 2.5},
                                                                     {"id": "d2", "score": 1.5}]}}], "red shoes"),
        ([{"qid": "q1", "results": {"d1": 2.5, "d2": 1.5}}], "q1"),
    ],
)  # fmt: skip
def test_answers_of_engines(value: Any, query_id: Any) -> None:
    assert triples(records(value), "score") == [(query_id, "d1", 2.5), (query_id, "d2", 1.5)]


GRADES = {"d1": 2, "d2": 0}


@pytest.mark.parametrize(
    ("value", "field", "rows"),
    [
        ({"q1": ["d1", "d2"], "q2": [], "q3": [7]}, "rank", [("q1", "d1", 1), ("q1", "d2", 2), ("q3", 7, 1)]),
        ({"q1": [{"id": "d1", "score": 2.5}, {"id": "d2", "score": 3.5}]}, "score",
         [("q1", "d1", 2.5), ("q1", "d2", 3.5)]),
        ({"q1": [{"doc_id": "d1", "label": 1}]}, "grade", [("q1", "d1", 1)]),
        ([{"query_id": "q1", "ratings": GRADES}], "grade", [("q1", "d1", 2), ("q1", "d2", 0)]),
        ([{"query_id": "q1", "judgments": GRADES}], "grade", [("q1", "d1", 2), ("q1", "d2", 0)]),
        ([{"qid": "q1", "results": [{"_id": "d2", "_score": None}, {"_id": "d1", "_score": None}]}], "rank",
         [("q1", "d2", 1), ("q1", "d1", 2)]),
    ],
)  # fmt: skip
def test_lists_are_in_the_order_of_their_places(value: Any, field: str, rows: list[Any]) -> None:
    assert triples(records(value), field) == rows


# ---- flat objects


@pytest.mark.parametrize(
    ("row", "kind", "expected"),
    [
        ({"qid": "q1", "docno": "d1", "label": 1}, JUDGMENTS, {"query_id": "q1", "doc_id": "d1", "grade": 1}),
        ({"qid": "q1", "docid": "d1", "sim": 0.5}, RANKING, {"query_id": "q1", "doc_id": "d1", "score": 0.5}),
        ({"qid": "q1", "query": "shoes", "age": 3}, QUERIES, {"query_id": "q1", "text": "shoes", "age": 3}),
    ],
)
def test_a_list_of_objects_is_a_table(row: dict[str, Any], kind: str, expected: dict[str, Any]) -> None:
    found = recognise(sample_of(json.dumps([row, row])))
    assert found is not None
    assert (found.kind, found.format) == (kind, "jsonl")
    assert {found.columns.get(field, field) for field in expected} == {*row}
    assert records({"name": "x", "rows": [row, row]}) == [expected] * 2


# ---- exports of tools


def test_a_document_that_is_only_rated_was_not_returned() -> None:
    docs = {"1": [{"id": "d1"}, {"id": "d2", "rated_only": True}, {"id": "d3", "rated_only": False}]}
    value = {"docs": docs, "queries": [{"query_id": 1, "query_text": "red shoes"}]}
    assert triples(records(value), "rank") == [("red shoes", "d1", 1), ("red shoes", "d3", 2)]
    with pytest.raises(InputError, match="docs, query '1': queries has no query_text of it"):
        records({**value, "queries": []})


@pytest.mark.parametrize("relevant", [{"d1": {"gain": 2}, "d2": {"gain": 0}}, {"2": ["d1"], "0": ["d2"]}])
@pytest.mark.parametrize("levels", [("topics", "query_groups"), ("query_groups",), ()])
def test_rre_has_documents_by_grade_or_by_id(relevant: Any, levels: tuple[str, ...]) -> None:
    value: Any = {"queries": [{"placeholders": {"$query": "shoes"}}, {"name": "boots"}]}
    value["relevant_documents"] = relevant
    for level in reversed(levels):
        value = {level: [value]}
    found = [(query, doc, float(grade)) for query, doc, grade in triples(records(value), "grade")]
    assert found == [("shoes", "d1", 2), ("shoes", "d2", 0), ("boots", "d1", 2), ("boots", "d2", 0)]


@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: {"hits": {"hits": [{"_source": each}]}}])
def test_search_workbench_in_both_of_its_forms(wrap: Any) -> None:
    for ratings in (
        {"judgmentRatings": [{"query": "shoes", "ratings": [{"docId": "d1", "rating": "0.844"}]}]},
        {"judgmentScores": {"shoes": [{"docId": "d1", "score": "0.844"}]}},
    ):
        assert triples(records(wrap({"name": "x", **ratings})), "grade") == [("shoes", "d1", "0.844")]


# ---- the beginning of a large document


@pytest.mark.first_case
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("make", "form"),
    [
        (lambda: {f"q{at}": {"d1": 9.5, "d2": 8.5} for at in range(20_000)}, "ranking {query: {document: score}}"),
        (lambda: {f"q{at}": ["d1", "d2"] for at in range(20_000)}, "ranking with the hits of each query, or {query: ["),
        (
            lambda: [{"qid": f"q{at}", "hits": [{"docid": "d1", "score": 1.5}] * 3} for at in range(5_000)],
            "ranking with the hits of each query",
        ),
    ],
)
def test_a_cut_document_is_recognised(make: Any, form: str, indent: int | None) -> None:
    text = json.dumps(make(), indent=indent)
    assert len(text) > FIRST_BYTES and sample_of('{ "q1" : 5 }').is_json
    found = recognise(sample_of(text))
    assert found is not None and found.words.startswith(form)


# ---- what is refused


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"q1": {"d1": 9.5, "d2": 8.5}, "q2": {"d1": 1}, "q3": 3}, "query 'q3': 3: must map every doc_id to its score"),
        ({"q1": ["d1"], "q2": ["d2"], "q3": "d3"}, "entry 3: .*'q3', .*'d3'.: has no list of documents"),
        ({"q1": ["d1", "d2", [3]]}, "query 'q1', document 3: .*must be a list of documents"),
        ([{"qid": "q1", "hits": ["d1"]}, {"qid": "q1", "hits": ["d2"]}], "entries 1 and 2: query 'q1' comes twice"),
        ([{"qid": "q1", "hits": ["d1"]}, {"qid": "q2", "hits": ["d1"]}, {"hits": ["d2"]}], "entry 3: .*no query_id"),
        ([{"qid": "q1", "hits": [{"docid": "d1"}, {"docid": "d2"}, {"x": 1}]}], "query 'q1', document 3: .*a doc_id"),
        ({"rows": [{"qid": "q1", "docno": "d1", "label": 1}] * 2 + [5]}, "entry 3: 5: must be an object"),
    ],
)  # fmt: skip
def test_what_breaks_the_form_has_a_place(value: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        records(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": 1},
        {"q1": [0.25, 0.5]},
        {"q1": [0, 3, 0, 2]},
        {"qid": ["1", "2"], "docno": ["d1", "d2"], "score": [1, 2]},
        {"products": [{"id": 1, "title": "x"}, {"id": 2, "title": "y"}]},
        {"columns": ["qid"], "data": [["q1"]], "index": [0]},
        [{"title": "x"}, {"title": "y"}],
        {"q1": {"d1": {"d2": 1}}},
    ],
    ids=repr,
)
def test_another_document_has_no_form(value: Any) -> None:
    assert recognise(sample_of(json.dumps(value)), RANKING) is None
    assert recognise(sample_of(json.dumps(value)), JUDGMENTS) is None
