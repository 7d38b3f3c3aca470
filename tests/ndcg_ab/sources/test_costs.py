"""What requests cost, from every kind of place: measured, told by the engine, or in a column."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.http import HttpRequest, HttpSource
from ndcg_ab.config.model.inputs.sources import ExtensionSource, FileSource, PythonSource
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import RANKING, Pulled, pull_source
from ndcg_ab.sources.base import CostRequest
from ndcg_ab.sources.costs import CostRecord, measurement_text
from ndcg_ab.sources.http import client as http_client
from ndcg_ab.sources.http.exchange import QueryError, Request
from tests.loopback import Asked, Loopback, Said, serving
from tests.sentences import refusal_text

QUERIES = {f"q{number}": f"text {number}" for number in range(1, 9)}
HITS = {"hits": [{"id": "a"}, {"id": "b"}], "took": 7, "usage": {"total_tokens": 11}}
COST_PATHS = {"took_ms": "took", "tokens": "usage.total_tokens"}


def rows(found: Pulled) -> list[tuple[Any, ...]]:
    """query_id, cost, value and whether it was cold, of requests that were answered."""
    return [row[:4] for row in all_rows(found) if not row[4]]


def all_rows(found: Pulled) -> list[tuple[Any, ...]]:
    assert found.costs is not None
    return list(zip(*(column.to_pylist() for column in found.costs.columns), strict=True))


def http_source(server: Loopback, **keys: Any) -> HttpSource:
    given = {"url": server.address, "parameters": {"q": "{query}"}, "concurrency": 1, "costs": COST_PATHS, **keys}
    return HttpSource(http=HttpRequest.model_validate(given))


def pull_with_costs(
    answer: Callable[[Asked], Said], costs: CostRequest | None, **keys: Any
) -> tuple[Pulled, list[str]]:
    """What was pulled, and the texts as they were asked for."""
    with serving(answer) as server:
        return pull_source(http_source(server, **keys), RANKING, Path(), QUERIES, costs=costs), server.texts


def test_the_time_is_that_of_the_request_that_was_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute passes until each has its turn, 5 s until one fails, and 0.25 s until the next is answered."""
    clock, answers = [0.0], [(5.0, None), (0.25, b'{"hits": [{"id": "a"}]}')]

    async def body(self: http_client.Client, request: Request) -> bytes:
        seconds, content = answers.pop(0)
        clock[0] += seconds
        if content is None:
            raise QueryError("status 503", may_pass=True)
        return content

    async def turn(self: http_client.Client) -> None:
        clock[0] += 60.0

    monkeypatch.setattr(http_client.Client, "fetch_body", body)
    monkeypatch.setattr(http_client.Client, "wait_for_turn", turn)
    monkeypatch.setattr(http_client.Client, "retry_delay", lambda *_: 0.0)
    monkeypatch.setattr(http_client, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    described = HttpRequest.model_validate({"url": "http://localhost"})
    client = http_client.Client(described, "http")
    _, costs = asyncio.run(client.fetch_answer(Request("q", "GET", "http://localhost", {}, [], None, "")))
    assert costs == {"latency_ms": 250.0} and not answers


def test_what_is_recorded_changes_no_ranking_and_no_digest() -> None:
    """The first requests warm up and are asked again, all of them in random order."""
    plain, texts = pull_with_costs(lambda asked: Said(HITS), None)
    assert plain.costs is None
    assert texts == list(QUERIES.values()), "in the order of the queries where nothing is recorded"
    found, texts = pull_with_costs(
        lambda asked: Said(HITS), CostRequest(("latency_ms", "took_ms", "tokens"), warm_up=3, seed=5)
    )
    assert plain.table.equals(found.table)
    assert plain.digest == found.digest
    assert [is_cold for _, cost, _, is_cold in rows(found) if cost == "tokens"] == [True] * 3 + [False] * 8
    values = {(cost, value) for _, cost, value, _ in rows(found) if cost != "latency_ms"}
    assert values == {("took_ms", 7.0), ("tokens", 11.0)}
    assert texts[:3] == texts[3:6] and len(texts) == 3 + 8
    assert sorted(texts[3:]) == sorted(QUERIES.values()) and texts[3:] != list(QUERIES.values())
    how = "asked over HTTP, one request at a time after 3 to warm up, queries in random order (seed 5)"
    assert measurement_text(found.costs) == how


def test_a_warm_up_that_fails_is_asked_again() -> None:
    waking = [Said("", 500)]
    found, _ = pull_with_costs(
        lambda asked: waking.pop() if waking else Said(HITS), CostRequest(("latency_ms",), 1), retries=0
    )
    assert found.failed == ()


def test_answers_of_an_earlier_attempt_keep_their_costs(tmp_path: Path) -> None:
    """The second attempt of a pull asks for the rest alone, and knows what the others cost."""

    def broken_once(asked: Asked) -> Said:
        return Said("", 500) if asked.number == 5 else Said({**HITS, "took": asked.number})

    asked = CostRequest(("took_ms",), seed=1)
    with serving(broken_once) as server:
        source = http_source(server, retries=0)
        with pytest.raises(UnavailableError):
            pull_source(source, RANKING, Path(), QUERIES, folder=tmp_path, costs=asked)
        with (tmp_path / "answers.jsonl").open("ab") as file:
            file.write(b'{"key": "half of a li')
        found = pull_source(source, RANKING, Path(), QUERIES, folder=tmp_path, costs=asked)
        assert sorted(value for _, _, value, _ in rows(found)) == [1, 2, 3, 4, 6, 7, 8, 9]
        assert len(server.asked) == 9 and found.count == 16
        source = http_source(server, results={"id": "name || id"})
        pull_source(source, RANKING, Path(), QUERIES, folder=tmp_path)
        assert len(server.asked) == 9 + 8, "another reading is another request"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({**HITS, "took": "fast"}, "costs.took_ms = 'took' finds a text, and must find a finite number, 0 or more"),
        ({**HITS, "took": True}, "costs.took_ms = 'took' finds true or false, and must find a finite number"),
        ({**HITS, "took": 1e301}, "finds 1e+301, and must find a finite number"),
        ({**HITS, "took": -1}, "': costs.took_ms = 'took' finds -1, and must find a finite number, 0 or more"),
    ],
)
def test_a_cost_that_is_no_number_fails_its_query(answer: Any, said: str) -> None:
    assert said in refusal_text(pull_with_costs, lambda asked: Said(answer), CostRequest(("took_ms",)))


def test_a_cost_that_an_answer_does_not_hold_is_missing() -> None:
    def sometimes(asked: Asked) -> Said:
        return Said(HITS if asked.text != "text 4" else {**HITS, "took": None})

    found, _ = pull_with_costs(sometimes, CostRequest(("took_ms",)))
    assert {query_id: value for query_id, _, value, _ in rows(found)} == dict.fromkeys(QUERIES, 7.0) | {"q4": None}


@pytest.mark.slow
def test_a_request_that_fails_counts_until_it_was_given_up() -> None:
    """The last attempt alone: its timeout, or how long it took to fail; and nothing else is known of it."""

    def failing(asked: Asked) -> Said:
        time.sleep({"text 4": 0.6, "text 5": 0.05}.get(asked.text, 0))
        return Said("", 500) if asked.text == "text 5" else Said(HITS)

    costs = CostRequest(("latency_ms", "tokens"))
    found, texts = pull_with_costs(failing, costs, timeout=0.3, retries=1, allow_failed_queries=2)
    assert texts.count("text 4") == texts.count("text 5") == 2
    failed = {(query_id, cost): value for query_id, cost, value, _, is_failed in all_rows(found) if is_failed}
    assert failed["q4", "latency_ms"] == 300
    assert 50 <= failed["q5", "latency_ms"] < 300
    assert failed["q4", "tokens"] is None and failed["q5", "tokens"] is None
    assert len(rows(found)) == 2 * 6


def test_a_cold_request_that_fails_is_no_measured_one() -> None:
    record = CostRecord(CostRequest(("latency_ms", "tokens"), all_cold=True))
    record.add("q1", {"latency_ms": 300.0}, True)
    record.add("q2", {"latency_ms": 3.0})
    assert record.rows == [("q2", "latency_ms", 3.0, True, False)]


def test_presets_know_where_engines_tell_their_time() -> None:
    took = {name: HttpRequest(preset=name, url="http://e/").costs for name in ("elasticsearch", "solr", "meilisearch")}
    assert took["elasticsearch"] == {"took_ms": "took"}
    assert took["solr"] == {"took_ms": "responseHeader.QTime"}
    assert took["meilisearch"] == {"took_ms": "processingTimeMs"}
    own = HttpRequest.model_validate({"preset": "solr", "url": "http://e/", "costs": {"cpu": "debug.cpu"}})
    assert own.costs == {"took_ms": "responseHeader.QTime", "cpu": "debug.cpu"}


# ---- functions


def test_a_function_is_timed_until_its_last_result(tmp_path: Path) -> None:
    (tmp_path / "slow_function.py").write_text(
        "import time\ndef search(text):\n    for name in 'ab':\n        time.sleep(0.005)\n        yield name, 1.0\n"
    )
    described = PythonSource(python="slow_function:search", per_query=True)
    costs = CostRequest(("latency_ms",), warm_up=1)
    found = pull_source(described, RANKING, tmp_path, {"q": "x"}, costs=costs)
    assert [row[2] >= 10 for row in rows(found)] == [True, True] and found.count == 2
    assert [is_cold for *_, is_cold in rows(found)] == [True, False]


@pytest.mark.parametrize(
    ("described", "cost", "said"),
    [
        (PythonSource(python="m:f"), "latency_ms", "is not recorded where one call answers all queries: give per"),
        (PythonSource(python="m:f", per_query=True), "tokens", r"is not recorded of a function.*\(known: latency_ms\)"),
        (
            HttpSource(http=HttpRequest(url="http://e/", costs={"a": "a"})),
            "b",
            r"needs its path in the answer.*\(known: latency_ms, a\)",
        ),
        (ExtensionSource(extension="x"), "latency_ms", "is recorded only of files, databases, functions and"),
    ],
)
def test_a_cost_that_a_place_does_not_tell_is_refused_first(described: Any, cost: str, said: str) -> None:
    with pytest.raises(InputError, match=f"costs: {cost} {said}"):
        pull_source(described, RANKING, Path(), QUERIES, costs=CostRequest((cost,)))


# ---- columns

TABLE = "query_id,doc_id,score,latency_ms\nq1,a,2,12.5\nq1,b,1,12.5\nq2,a,1,30\n"


def read(text: str, folder: Path, name: str = "r.csv", **keys: Any) -> Pulled:
    (folder / name).write_text(text)
    return pull_source(FileSource(file=Path(name), **keys), RANKING, folder, costs=CostRequest(("latency_ms",)))


def test_columns_of_other_names_are_still_mapped(tmp_path: Path) -> None:
    text = TABLE.replace("query_id", "qid").replace("score", "similarity").replace("latency_ms", "ms")
    found = read(text, tmp_path, columns={"query_id": "qid", "score": "similarity", "latency_ms": "ms"})
    assert [row[2] for row in rows(found)] == [12.5, 30.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE.replace("q1,b,1,12.5", "q1,b,1,13"), "query 'q1': latency_ms = 12.5 and 13: must be the same in every"),
        (TABLE.replace("latency_ms", "ms"), "there is no column 'latency_ms' for latency_ms"),
        (TABLE.replace("q1,b,1,12.5", "q1,b,1,"), "query 'q1': latency_ms = 12.5 and an empty cell: must be the same"),
        (TABLE.replace("30", "1e301"), "query 'q2': latency_ms = 1e+301: must be a number from 0 to 1e300"),
        (TABLE.replace("30", "-3"), "query 'q2': latency_ms = -3: must be a number from 0 to 1e300"),
        (TABLE.replace("30", "nan"), "latency_ms = 'nan': must be a finite number"),
    ],
)
def test_a_column_that_is_wrong(text: str, said: str, tmp_path: Path) -> None:
    message = refusal_text(read, text, tmp_path)
    assert said in message and "r.csv" in message


def test_a_query_whose_cells_are_empty_has_no_cost_that_is_known(tmp_path: Path) -> None:
    text = TABLE.replace("12.5", "").replace("30", "0")
    expected = [("q1", "latency_ms", None, False), ("q2", "latency_ms", 0.0, False)]
    assert rows(read(text, tmp_path)) == expected
    line = '{"query_id": "q1", "doc_id": "a", "score": 1, "latency_ms": null}'
    lines = f"{line}\n{line.replace('q1', 'q2').replace('null', '0')}\n"
    assert rows(read(lines, tmp_path, "r.jsonl")) == expected
    table = pa.table({"query_id": ["q1", "q2"], "doc_id": ["a", "a"], "score": [1.0, 1.0], "latency_ms": [None, 0.0]})
    assert rows(pull_source(in_memory_source(table), RANKING, Path(), costs=CostRequest(("latency_ms",)))) == expected


def in_memory_source(data: Any) -> FileSource:
    return FileSource(file=in_memory_file("systems['new']", data))


def test_trec_files_and_dictionaries_have_no_columns(tmp_path: Path) -> None:
    said = r"r\.run: a TREC file has no column latency_ms: give csv, tsv, jsonl or parquet"
    with pytest.raises(InputError, match=said):
        read("q1 Q0 a 1 2.0 run\n", tmp_path, "r.run")
    with pytest.raises(InputError, match="costs are columns of a table, and dictionaries have none: give a table"):
        pull_source(in_memory_source({"q1": {"a": 1.0}}), RANKING, Path(), costs=CostRequest(("latency_ms",)))
