"""Ids that are spelt otherwise in rankings and judgments are refused, with what would make them meet."""

import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import ndcg_ab
from ndcg_ab.checks.ids import unmatched_ids
from ndcg_ab.checks.ids.unmatched_ids import best_results, find_spelling
from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.app import app

pytestmark = pytest.mark.slow

RUNNER = CliRunner()
QUERIES = [f"{number:03}" for number in range(1, 13)]
DOCS = [f"00{number}Ab" for number in range(1, 9)]
JUDGMENTS = {query: {doc: place % 3 for place, doc in enumerate(DOCS)} for query in QUERIES}
RANKING = {query: {doc: -float(place) for place, doc in enumerate(DOCS)} for query in QUERIES}

# how a document id of the judgments is spelt in the ranking -> what the message says
SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "prefix": ("doc:{}".format, "they meet when the prefix 'doc:' is taken off its ids"),
    "address": ("https://shop.example/p/{}".format, "the prefix 'https://shop.example/p/' is taken off its ids"),
    "ending": ("{}.html".format, "they meet when the ending '.html' is taken off its ids"),
    "floats": ("{}.0".format, "they meet when the ending '.0' is taken off its ids"),
    "capitals": (str.upper, "they meet when letters are compared without case"),
    "spaces": (" {} ".format, "they meet when surrounding spaces are taken off"),
    "zeros": (lambda text: text.lstrip("0"), "they meet when leading zeros are taken off"),
    "two at once": (
        lambda text: f"doc:{text.upper()}",
        "letters are compared without case and the prefix 'doc:' is taken off its ids",
    ),
}


def respelt(spelling: Callable[[str], str], of: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {query: {spelling(doc): value for doc, value in documents.items()} for query, documents in of.items()}


def as_csv(path: Path, of: dict[str, dict[str, float]], value: str) -> str:
    rows = [f'"{query}","{doc}",{number}' for query, documents in of.items() for doc, number in documents.items()]
    path.write_text("\n".join([f"query_id,doc_id,{value}", *rows]))
    return str(path)


def said(judgments: object, ranking: object) -> str:
    with pytest.raises(InputError) as error:
        ndcg_ab.compare(judgments, {"old": RANKING, "new": ranking}, threads=1)
    return str(error.value)


@pytest.mark.parametrize("case", SPELLINGS)
def test_document_ids_spelt_otherwise(case: str) -> None:
    spelling, words = SPELLINGS[case]
    message = said(JUDGMENTS, respelt(spelling, RANKING))
    assert words in message
    assert message.startswith("systems['new']: system new: none of its 96 results in 12 judged queries is judged")
    assert f"the first is {spelling(DOCS[0])!r}, the first judged one {DOCS[0]!r}" in message
    assert message.count("\n") == 0


def test_of_long_answers_the_best_results_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(f"q{at % 3}", f"d{at}", float(at * 7 % 1000)) for at in range(1000)]
    table = pa.table([list(column) for column in zip(*rows, strict=True)], names=["query_id", "doc_id", "order_score"])
    pieces = [table.slice(start, 9) for start in range(0, 1000, 9)]
    assert best_results(pieces).num_rows == 1000
    for most in (30, 600):
        monkeypatch.setattr(unmatched_ids, "MOST_OWN", most)
        assert sorted(best_results(pieces)["order_score"].to_pylist()) == [
            float(score) for score in range(1000 - most, 1000)
        ]


def test_the_judgments_may_be_the_longer_ones() -> None:
    with pytest.raises(InputError, match="the prefix 'doc:' is taken off the judgments' ids"):
        ndcg_ab.compare(respelt("doc:{}".format, JUDGMENTS), {"old": RANKING, "new": RANKING}, threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["prefix", "spaces"])
def test_in_files(case: str, tmp_path: Path) -> None:
    spelling, words = SPELLINGS[case]
    judgments = as_csv(tmp_path / "judgments.csv", JUDGMENTS, "grade")
    old = as_csv(tmp_path / "old.csv", RANKING, "score")
    new = as_csv(tmp_path / "new.csv", respelt(spelling, RANKING), "score")
    found = RUNNER.invoke(
        app, ["compare", "--judgments", judgments, "--system", f"old={old}", "--system", f"new={new}"]
    )
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    assert found.stderr.startswith(f"ndcg-ab: {new}: system new: none of its 96 results")
    assert words in found.stderr


def test_by_a_function(tmp_path: Path) -> None:
    (tmp_path / "shouting_engine.py").write_text(
        "def search(queries):\n    return {query: [(f'00{n}AB', -n) for n in range(1, 9)] for query in queries}\n"
    )
    as_csv(tmp_path / "judgments.csv", JUDGMENTS, "grade")
    (tmp_path / "queries.csv").write_text("query_id,text\n" + "".join(f"{query},words\n" for query in QUERIES))
    systems = "[{name: new, python: 'shouting_engine:search'}]"
    config = tmp_path / "c.yaml"
    config.write_text(f"name: t\njudgments: judgments.csv\nqueries: queries.csv\nsystems: {systems}\n")
    found = RUNNER.invoke(app, ["check", str(config)])
    assert found.exit_code == 2
    assert "shouting_engine:search: system new: none of its 96" in found.stderr
    assert "letters are compared without case" in found.stderr


@pytest.mark.slow
def test_whole_numbers_in_a_frame_are_their_digits() -> None:
    rows = [(query, place) for query in QUERIES for place in range(1, 9)]
    numbers = {"query_id": [query for query, _ in rows], "doc_id": [place for _, place in rows]}
    judged = {query: {str(place): 9 - place for place in range(1, 9)} for query in QUERIES}
    ranking = pa.table({**numbers, "score": [-float(place) for _, place in rows]})
    assert ndcg_ab.compare(judged, {"old": ranking}, threads=1).findings == ()
    padded = {query: {f"{place:04}": place for place in range(1, 9)} for query in QUERIES}
    with pytest.raises(InputError, match="they meet when leading zeros are taken off"):
        ndcg_ab.compare(padded, {"old": ranking, "new": ranking}, threads=1)


def test_ids_of_another_collection() -> None:
    message = said(JUDGMENTS, respelt(lambda doc: f"x{sum(map(ord, doc))}y", RANKING))
    assert message.endswith("its document ids and those of the judgments must be the same [unmatched_document]")


@pytest.mark.slow
def test_a_few_unjudged_results_are_a_warning() -> None:
    few = {"001": {"x": 1.0, "y": 0.5}}
    (finding,) = [
        finding
        for finding in ndcg_ab.compare(JUDGMENTS, {"old": RANKING, "new": few}, threads=1).findings
        if finding.code == "no_judged_result"
    ]
    assert (finding.severity, finding.count) == ("warning", 2)
    assert "are its document ids those of the judgments?" in finding.message


def test_hardly_any_that_meet() -> None:
    spelling, words = SPELLINGS["prefix"]
    nearly = respelt(spelling, RANKING)
    nearly["001"] = RANKING["001"]
    message = said(JUDGMENTS, nearly)
    assert "only 8 of its 96 results" in message
    assert words in message


def test_few_judged_is_no_other_spelling() -> None:
    """One relevant document of each query is judged, among ten times as many that are not."""
    sparse = {query: {doc: 1.0 for doc in documents if doc == DOCS[0]} for query, documents in JUDGMENTS.items()}
    deep = {
        query: documents | {f"z{place}": -9.0 - place for place in range(90)} for query, documents in RANKING.items()
    }
    codes = {finding.code for finding in ndcg_ab.compare(sparse, {"old": deep}, threads=1).findings}
    assert codes == {"few_judged"}


@pytest.mark.slow
def test_one_ranking_under_two_names_is_a_warning() -> None:
    again = {query: dict(documents) for query, documents in RANKING.items()}
    (finding,) = ndcg_ab.compare(JUDGMENTS, {"old": RANKING, "new": again}, threads=1).findings
    assert (finding.code, finding.severity, finding.count) == ("same_ranking", "warning", 96)
    assert finding.message.startswith("systems old and new have the same ranking (systems['old'] and systems['new'])")
    other = {**again, "001": {doc: -score for doc, score in RANKING["001"].items()}}
    assert ndcg_ab.compare(JUDGMENTS, {"old": RANKING, "new": other}, threads=1).findings == ()


@pytest.mark.parametrize(
    ("spelling", "words"),
    [
        ("q{}".format, "they meet when the prefix 'q' is taken off its ids"),
        (lambda query: query.lstrip("0"), "they meet when leading zeros are taken off"),
        ("{}.0".format, "they meet when the ending '.0' is taken off its ids"),
    ],
)
def test_query_ids_spelt_otherwise(spelling: Callable[[str], str], words: str) -> None:
    message = said(JUDGMENTS, {spelling(query): documents for query, documents in RANKING.items()})
    assert "answers none of the 12 judged queries" in message
    assert words in message


@pytest.mark.parametrize(
    ("own", "judged"),
    [
        ({"12", "13"}, {"2", "3"}),  # not the prefix '1': numbers have none
        ({"pear"}, {"ear"}),
        ({"doc:1", "2", "3", "4"}, {"1"}),  # one of four
        ({"7"}, {"8"}),
    ],
)
def test_what_is_no_spelling(own: set[str], judged: set[str]) -> None:
    assert find_spelling({"q": frozenset(own)}, {"q": frozenset(judged)}) is None


def test_a_long_id_costs_no_more_than_its_length() -> None:
    """An id of a megabyte was cut at each of its places, which took minutes."""
    long = "x/" * 500_000
    begun = time.process_time()
    assert find_spelling({"q": frozenset({long})}, {"q": frozenset({"a", "bb"})}) is None
    found = find_spelling({"q": frozenset({f"{long}a"})}, {"q": frozenset({"a", "bb"})})
    assert time.process_time() - begun < 2
    assert found is not None and found.words.endswith("is taken off its ids")
