"""Judgments that are made of clicks: which query an event belongs to, what is noticed, and what a command gets.

And `ndcg-ab clicks`: the grades of a log, written as judgments that compare reads.
"""

import csv
import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from ndcg_ab import evaluate, thresholds
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError
from ndcg_ab.finding_codes import CODES
from ndcg_ab.sources.base import Remark, read_remarks
from ndcg_ab.sources.clicks import click_judgments
from ndcg_ab.sources.clicks.click_judgments import ClickJudgments, grade_clicks
from ndcg_ab.sources.judgments.gathering import pull_judgment_source
from ndcg_ab.sources.registry import make_source, pull_source
from ndcg_ab.sources.tables import on_disk
from ndcg_ab.sources.tables.schema import JUDGED, JUDGMENT
from ndcg_core.statistics.estimates.click_positions import fit_joined
from tests.commands import invoke
from tests.inputs import write_evaluation, write_rankings, write_table
from tests.ndcg_ab.sources.clicks.logs import click_log, search
from tests.repeated import mostly_slow

LOG = [
    *(
        search(f"s{n}", "Pasta  carbonara", ["d1", "d2", "d3"], clicked=["d1"] if n % 2 else ["d2", "d3"])
        for n in range(20)
    ),
    *(search(f"t{n}", "pasta carbonara", ["d3", "d1"], clicked=["d3"]) for n in range(5)),
    *(search(f"u{n}", "soup", ["d9"], clicked=["d9"] * (n == 0)) for n in range(12)),
]


def source_of(path: Path, **keys: Any) -> ClickJudgments:
    described = JudgmentSource.model_validate({"clicks": {"file": path, **keys}})
    found = make_source(described.source, path.parent)
    assert isinstance(found, ClickJudgments)
    return found


def remarks_of(folder: Path, log: Iterable[list[dict[str, Any]]], **keys: Any) -> dict[str, Remark]:
    found = source_of(click_log(folder / "log.jsonl", log), floor=1, **keys).grade({})
    assert {remark.code for remark in found.remarks} <= CODES.keys()
    return {remark.code: remark for remark in found.remarks}


def test_texts_are_matched_as_they_stand_and_then_without_case_and_white_space(tmp_path: Path) -> None:
    log = click_log(tmp_path / "log.jsonl", LOG)
    found = source_of(log, model="rate").grade({"q1": "pasta carbonara", "q2": "other"})
    counts = {row["doc_id"]: row["impressions"] for row in found.table.to_pylist()}
    assert counts == {"d1": 25, "d2": 20, "d3": 25}, "both texts are of q1"
    by_code = {remark.code: remark for remark in found.remarks}
    unmatched = by_code["click_unmatched_query"]
    assert (unmatched.count, unmatched.examples) == (13, ("'soup': 13 events",))
    exact = source_of(log, floor=1, model="rate").grade({"q1": "Pasta  carbonara", "q2": "pasta carbonara"}).table
    counts = {(row["query_id"], row["doc_id"]): row["impressions"] for row in exact.to_pylist()}
    assert counts == {("q1", "d1"): 20, ("q1", "d2"): 20, ("q1", "d3"): 20, ("q2", "d1"): 5, ("q2", "d3"): 5}
    twins = source_of(log, model="rate").grade({"a": "soup", "b": "soup"}).table
    assert twins["query_id"].to_pylist() == ["a", "b"]


def test_what_gives_no_grade_is_refused(tmp_path: Path) -> None:
    log = click_log(tmp_path / "log.jsonl", LOG)
    texts = r"none of its 3 texts \(such as 'Pasta  carbonara'\) is the text of a query \(such as 'stew'\)"
    with pytest.raises(InputError, match=rf"^{log}: {texts}: give the queries that users typed$"):
        source_of(log).grade({"q1": "stew"})
    floor = r"no document has 100 impressions or more \(the most is 20\): give more events, or set a lower floor"
    with pytest.raises(InputError, match=f"^{log}: {floor}, such as --floor 20$"):
        source_of(log, floor=100).grade({})


def test_the_note_says_what_the_grades_are(tmp_path: Path) -> None:
    noticed = remarks_of(tmp_path, LOG, model="rate", grades={"thresholds": [0.2]})["click_grades"]
    assert noticed.message == (
        "grades come from clicks, model rate, at least 1 impressions, grades by thresholds 0.2: 6 documents of 3"
        " queries from 118 events (0: 2, 1: 4); 0 documents were shown too seldom for a grade"
    )


STILL = [search(f"s{n}", "q", ["a", "b"], clicked=["a"]) for n in range(3)]
EVERY = [search(f"s{n}", "q", order, clicked=["a", "b"]) for n, order in enumerate((["a", "b"], ["b", "a"]))]
FANS = [search(f"s{n}", "q", ["a", "b"], clicked=["b"], client="fan" if n < 4 else f"c{n}") for n in range(7)]
GAPS = [search("s", "q", ["a", None, "b", None, "c"], clicked=["a", "b", "c"])]
UNSEEN = [search("s", "q", ["a", "b"], clicked=["a"]), search("t", "q", [None, "c"], clicked=["c"])[1:]]
# what is noticed -> the searches, how often, what is said, one search more with which it is not
NOTICED: dict[str, tuple[list[list[dict[str, Any]]], int, str, list[dict[str, Any]] | None]] = {
    "click_one_ranking": (STILL, 2, "at one place only", search("x", "q", ["b", "a"])),
    "click_one_value": (EVERY, 2, "the 2 documents with a grade all have the value 1", search("x", "q", ["a"])),
    "click_one_client": (FANS, 1, "document 'b': 4 of 7 clicks", search("z", "q", "ab", clicked="b", client="z")),
    "click_place_gap": (GAPS, 2, "('place 2', 'place 4')", None),
    "click_without_impression": (UNSEEN, 1, "query 'q', document 'c', place 2", None),
}


@pytest.mark.parametrize("code", mostly_slow(NOTICED, kept=("click_place_gap", "click_without_impression")))
def test_what_is_noticed(code: str, tmp_path: Path) -> None:
    log, count, said, more = NOTICED[code]
    noticed = remarks_of(tmp_path, log)[code]
    assert noticed.count == count and said in f"{noticed.message} {noticed.examples}"
    assert more is None or code not in remarks_of(tmp_path, [*log, more])


@pytest.mark.slow
def test_documents_at_places_that_the_log_does_not_join(tmp_path: Path) -> None:
    """Two of four places have their documents exchanged in every second search; the others never, or too seldom."""
    orders = [["a", "b", "c", "d"], ["b", "a", "c", "d"]]
    log = [
        search(
            f"s{n}", "q", orders[n % 2], clicked=[document for at, document in enumerate("abcd") if n % (at + 2) == 0]
        )
        for n in range(400)
    ]
    for more in ([], [search(f"x{n}", "q", ["a", "b", "d", "c"], clicked=["c"] * (n % 9 == 0)) for n in range(9)]):
        found = source_of(click_log(tmp_path / "log.jsonl", [*log, *more])).grade({})
        assert found.table["doc_id"].to_pylist() == ["a", "b"] and found.documents == 4
        (noticed,) = (remark for remark in found.remarks if remark.code == "click_not_joined")
        assert noticed.count == 2 and noticed.message == (
            "2 of 4 documents have no grade, and 50 % of the impressions do not count: too few documents were shown"
            " both at one of the places 1, 2 and at another place to compare their clicks"
        )
    joined = [search(f"y{n}", "q", ["c", "d", "a", "b"], clicked=["a", "c", "d"]) for n in range(100)]
    assert "click_not_joined" not in remarks_of(tmp_path, [*log, *joined])
    assert "click_not_joined" not in remarks_of(tmp_path, log, model="rate")


def test_a_click_says_that_the_document_was_shown(tmp_path: Path) -> None:
    """Of `b` the click alone is logged. Of `a`, without `query_id`, two clicks and one impression: shown twice."""
    log = [event for _ in range(2) for event in search("s", "q", ["a"], clicked=["a"])][1:]
    for event in log:
        del event["query_id"]
    path = click_log(tmp_path / "log.jsonl", [log, search("t", "q", ["b"], clicked=["b"])[1:], search("u", "q", ["b"])])
    found = source_of(path, floor=1, model="rate").grade({}).table.to_pylist()
    rows = [(row["doc_id"], row["impressions"], row["clicks"], row["value"]) for row in found]
    assert rows == [("a", 2, 2, 1.0), ("b", 2, 1, 0.5)]


def test_a_model_that_did_not_come_to_its_end_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = [search(f"s{n}", "q", ["a", "b"] if n % 2 else ["b", "a"], clicked=["a"] * (n % 3 > 0)) for n in range(99)]
    path = click_log(tmp_path / "log.jsonl", log)

    found = source_of(path, floor=1, model="position").grade({})
    assert found.change < 1e-7 and "still moved" not in str(found.remarks[0].message)
    monkeypatch.setattr(click_judgments, "fit_joined", functools.partial(fit_joined, most_rounds=1))
    found = source_of(path, floor=1, model="position").grade({})
    assert "a step of expectation maximisation still moved a probability by" in str(found.remarks[0].message)


def test_a_client_with_improbably_many_events(tmp_path: Path) -> None:
    people = [search(f"s{n}", "q", ["a", "b"], clicked=["a"], client=f"c{n % 120}") for n in range(240)]
    robot = [search(f"r{n}", "q", ["b", "a"], client="robot") for n in range(60)]
    noticed = remarks_of(tmp_path, [*people, *robot])["click_bot"]
    assert (noticed.count, noticed.examples) == (1, ("client 'robot': 120 events",))
    assert noticed.message == (
        "1 of 121 clients make 14% of the events, each more than 10 times the 6 that 99 of 100 clients keep to:"
        " programs, not people?"
    )
    assert "click_bot" not in remarks_of(tmp_path, [*people, *robot[:30]]), "60 events are 10 times as many, not more"
    busy = [search(f"b{n}", "q", ["a", "b"], clicked=["a"], client="c0") for n in range(2)]
    assert "click_bot" not in remarks_of(tmp_path, [*people, *robot, *busy]), "99 of 100 are 120 of 121: to c0's 12"
    few = [search(f"s{n}", "q", ["a", "b"], clicked=["a"], client=f"c{n % 20}") for n in range(40)]
    assert "click_bot" not in remarks_of(tmp_path, [*few, *robot]), "20 clients do not tell what is usual"


def test_other_searches_tell_how_often_a_place_is_clicked(tmp_path: Path) -> None:
    """2 of all 8 impressions at place 1 are clicked, and 1 of 2 of the query: 1 / (2 x 1/4)."""
    log = [search("s", "q", ["a"], clicked=["a"]), search("t", "q", ["a"]), search("u", "x", ["b"], clicked=["b"])]
    path = click_log(tmp_path / "log.jsonl", [*log, *(search(f"v{n}", "y", ["b"]) for n in range(5))])
    found = source_of(path, floor=1, model="opensearch", grades={"value": True}).grade({"1": "q"})
    (row,) = found.table.to_pylist()
    assert (row["query_id"], row["grade"]) == ("1", 1 / (2 * 2 / 8)) and (found.documents, found.queries) == (1, 1)


@pytest.mark.parametrize("layout", [JUDGMENT, JUDGED])
def test_it_is_a_source_of_judgments(layout: Any, tmp_path: Path) -> None:
    log = click_log(tmp_path / "log.jsonl", LOG)
    described = JudgmentSource.model_validate({"clicks": {"file": log.name, "model": "opensearch"}})
    found = pull_source(described.source, layout, tmp_path, {"q1": "pasta carbonara"})
    assert found.table.schema.names == layout.schema.names
    assert found.origin == f"{log} (clicks, model opensearch, at least 0 impressions, grades the value)"
    assert [remark.code for remark in read_remarks(found.table)] == ["click_grades", "click_unmatched_query"]
    assert found.digest == pull_source(described.source, layout, tmp_path, {"q1": "PASTA carbonara"}).digest


def test_events_that_are_more_than_a_few_go_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether memory is limited or not; the grades and the remarks are the same."""
    log = click_log(tmp_path / "log.jsonl", LOG)
    is_file: list[bool] = []

    def note_and_grade(engine: Any, events: Any, *given: Any) -> Any:
        is_file.append(isinstance(events.table, on_disk.TableOnDisk))
        return grade_clicks(engine, events, *given)

    monkeypatch.setattr(click_judgments, "grade_clicks", note_and_grade)
    in_memory = source_of(log).grade({"q1": "soup"})
    monkeypatch.setattr(thresholds, "FILE_ROWS", 10)
    for allowed in (Resources(), Resources(memory_limit="1GB", spill=tmp_path / "room")):
        found = source_of(log).grade({"q1": "soup"}, allowed)
        assert found.table.equals(in_memory.table) and found.remarks == in_memory.remarks
    assert is_file == [False, True, True]


def test_what_an_evaluation_may_use_reaches_its_clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a configuration, by the steps of `compare` and `run` and where judgments alone are read."""
    opened = Mock(wraps=open_engine)
    monkeypatch.setattr(click_judgments, "open_engine", opened)
    click_log(tmp_path / "log.jsonl", LOG)
    queries = [{"query_id": "q1", "text": "pasta carbonara"}, {"query_id": "q2", "text": "soup"}]
    write_table(tmp_path / "queries.tsv", queries)
    keys: dict[str, Any] = {
        "judgments": {"clicks": {"file": "log.jsonl"}},
        "queries": "queries.tsv",
        "resources": {"threads": 1, "memory_limit": "1GB", "spill": "room"},
    }
    ranking = {"q1": ["d1", "d2", "d3"]}
    evaluation = write_evaluation(tmp_path, {}, {"old": ranking, "new": ranking}, **keys)
    evaluate(evaluation)
    assert [call.args for call in opened.call_args_list] == [(1, "1GB", tmp_path / "room")]


HEAD = "query,document,place,shown,clicked\n"
COUNTS = HEAD + "shoes,a,1,400,200\nshoes,b,1,100,10\nshoes,b,2,500,100\nshoes,c,2,500,50\n"


def run(*words: object) -> tuple[int, str, str]:
    found = invoke(["clicks", *map(str, words)])
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS)
    return path


def test_clicks_become_judgments(counts: Path, tmp_path: Path) -> None:
    """Place 1 is clicked 21 of 50 times, place 2 15 of 100: a 200 / 168, b 110 / 252, c 50 / 75."""
    files = ("--output-file", tmp_path / "grades.csv", "--json", tmp_path / "found.json")
    code, said, _ = run(counts, "--model", "opensearch", "--quantiles", "0.25,0.5,0.75", *files)
    assert code == 0 and "3 of 3 documents have a grade, of 1 query" in said
    rows = list(csv.DictReader((tmp_path / "grades.csv").open()))
    values = {row["doc_id"]: float(row["value"]) for row in rows}
    assert values == pytest.approx({"a": 200 / 168, "b": 110 / 252, "c": 50 / 75}, abs=1e-12)
    assert [(row["doc_id"], row["grade"]) for row in rows] == [("a", "3"), ("b", "0"), ("c", "2")]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["places"][0] == {"place": 1, "impressions": 500, "clicks": 210, "rate": pytest.approx(0.42)}
    assert found["grades"][0]["value"] == pytest.approx(200 / 168) and found["findings"][0]["code"] == "click_grades"


@pytest.mark.parametrize(
    ("words", "grades"),
    [
        (["--model", "rate", "--thresholds", "0.15,0.4"], {"a": 2, "b": 1, "c": 0}),
        (["--quantiles", "0.5"], {"a": 1, "b": 1, "c": 0}),
        (["--floor", "550"], {"b": 0}),
    ],
)
def test_what_is_asked_for_changes_the_grades(
    words: list[str], grades: dict[str, int], counts: Path, tmp_path: Path
) -> None:
    assert run(counts, *words, "--output-file", tmp_path / "grades.tsv", "-q")[0] == 0
    rows = csv.DictReader((tmp_path / "grades.tsv").open(), delimiter="\t")
    assert {row["doc_id"]: float(row["grade"]) for row in rows} == grades


def test_what_the_command_may_use_reaches_its_engine(
    counts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(wraps=open_engine)
    monkeypatch.setattr(click_judgments, "open_engine", opened)
    assert run(counts, "--threads", 1, "--memory-limit", "1GB", "--spill", tmp_path / "room", "-q")[0] == 0
    assert [call.args for call in opened.call_args_list] == [(1, "1GB", tmp_path / "room")]


def test_compare_says_that_what_is_written_comes_from_clicks(counts: Path, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    assert run(counts, "--output-file", path, "-q")[0] == 0
    pulled = pull_judgment_source(FileSource(file=path), tmp_path)
    assert [(remark.code, remark.count) for remark in pulled.remarks] == [("click_grades", pulled.table.num_rows)]
    lines = [line.partition(",clicks")[0] for line in path.read_text().splitlines()]
    path.write_text("".join(f"{','.join(line.split(',')[:3])}\n" for line in lines))
    assert pull_judgment_source(FileSource(file=path), tmp_path).remarks == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "best"], "--model = 'best': must be 'position', 'rate' or 'opensearch'"),
        (["--quantiles", "0.5", "--thresholds", "1"], "--quantiles, --thresholds: both say where grades begin"),
        (["--quantiles", "0.5,x"], "--quantiles 0.5,x: must be numbers with commas between"),
        (["--quantiles", "0.5,0.2"], "--quantiles, --thresholds: quantiles = [0.5, 0.2]: must rise"),
        (["--floor", "1000"], "no document has 1000 impressions or more (the most is 600)"),
        (["--memory-limit", "1MB"], "--memory-limit = '1MB': is too little to work with: it is of the whole process"),
        (["--output-file", "grades.txt"], "--output-file grades.txt: must end in .csv, .tsv, .parquet or .pq"),
    ],
)
def test_what_is_wrong_is_one_sentence(words: list[str], said: str, counts: Path) -> None:
    code, _, told = run(counts, *words)
    assert code == 2 and said in told and told.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_proxy", [False, True])
def test_a_page_says_whether_clicks_decided(is_proxy: bool, counts: Path, tmp_path: Path) -> None:
    """In its first line, where they are the judgments; proxy judgments decide nothing."""
    queries = ("shoes", "boots", "hats")
    head, rows = COUNTS.split("\n", 1)
    counts.write_text(head + "\n" + "".join(rows.replace("shoes", query) for query in queries))
    (tmp_path / "careful.qrels").write_text("shoes 0 a 2\nshoes 0 b 0\n")
    write_rankings(tmp_path, {"old": dict.fromkeys(queries, "cba"), "new": dict.fromkeys(queries, "abc")})
    clicks = f"{{clicks: {counts.name}}}"
    judged = f"judgments: careful.qrels\ncheap_judgments: {clicks}" if is_proxy else f"judgments: {clicks}"
    systems = "systems: [{name: old, file: old.run}, {name: new, file: new.run}]"
    content = f"name: shop\n{judged}\n{systems}\ntracker: json_lines\noutput: out\n"
    (tmp_path / "shop.yaml").write_text(content)
    found = invoke(["run", str(tmp_path / "shop.yaml"), "-q"])
    assert found.exit_code == 0, found.output
    (page,) = (tmp_path / "out" / "shop").glob("2*/report.html")
    assert ("judged by clicks" in page.read_text()) == (not is_proxy)
