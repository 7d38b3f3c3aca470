"""Search engines over HTTP: what is sent, what is read, and what is said of an engine that misbehaves."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab import deadlines
from ndcg_ab.config.model.inputs.http import HttpRequest, HttpSource
from ndcg_ab.config.secrets.lookup import remember_secret
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import RANKING, Pulled, pull_source
from ndcg_ab.sources.http import client as http_client
from ndcg_ab.sources.http.exchange import Hit
from ndcg_ab.sources.http.search_engine import make_documents
from tests.loopback import Asked, Loopback, Said, serving
from tests.sentences import refusal_text

QUERIES = {f"q{number}": f"text {number}" for number in range(1, 9)}
NASTY = 'a "quote", a \\ back\\slash, {query} ${HOME}\n& é 日本 \x07 </script>'
TWO = {"hits": [{"id": "b", "name": "B"}, {"id": 7, "name": ["Seven", "7"]}]}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.002)


def described(server: Loopback | None, **keys: Any) -> HttpSource:
    url = server.address if server else "http://127.0.0.1:9/search"
    given: dict[str, Any] = {"url": url, "parameters": {"q": "{query}"}, **keys}
    return HttpSource(http=HttpRequest.model_validate(given))


def pulled(server: Loopback | None, queries: dict[str, str] = QUERIES, **keys: Any) -> Pulled:
    attributes = keys.pop("attributes", {})
    options = {name: keys.pop(name) for name in ("folder", "say") if name in keys}
    return pull_source(described(server, **keys), RANKING, Path(), queries, attributes=attributes, **options)


def rows(found: Pulled) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in found.table.columns), strict=True))


def always(content: Any, **keys: Any) -> Callable[[Asked], Said]:
    return lambda asked: Said(content, **keys)


def test_a_long_pull_says_its_share_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "PAUSE", 0)
    messages: list[str] = []
    with serving(always(TWO)) as server:
        pulled(server, concurrency=1, say=messages.append)
    assert ": asking: 4 of 8 (50%), about " in messages[3]
    assert messages[7].endswith(": asking: 8 of 8 (100%), about 0 s left")


# ---- the request


def test_the_text_of_a_query_goes_into_values_never_into_json_text() -> None:
    body = {
        "q": "{query}",
        "size": "{depth}",
        "filter": [{"term": {"lang": "{language}"}}, "{language}", "{empty}"],
        "text": "{query_id}: {query} {{query}} {empty}",
        "price": {"lte": "{price:number}"},
        "left_out": "{empty}",
        "kept": None,
        "boost": 1.5,
    }
    attributes = {"q": {"language": 'd"e', "price": "12", "empty": ""}}
    with serving(always(TWO)) as server:
        pulled(server, {"q": NASTY}, body=body, parameters={"x": ["{query}", True, 3]}, attributes=attributes)
    (asked,) = server.asked
    assert (asked.method, asked.headers["content-type"]) == ("POST", "application/json")
    assert asked.body == {
        "q": NASTY,
        "size": 100,
        "filter": [{"term": {"lang": 'd"e'}}, 'd"e'],
        "text": f"q: {NASTY} {{query}} ",
        "price": {"lte": 12},
        "boost": 1.5,
    }
    assert asked.query == {"x": [NASTY, "true", "3"]}


def test_values_in_a_path_cannot_leave_it() -> None:
    with serving(always(TWO)) as server:
        base = server.address.removesuffix("/search")
        pulled(server, {"q": "../a?b#c/d"}, url=f"{base}/find/{{query}}/x?fixed=1", parameters={"more": "2"})
    (asked,) = server.asked
    assert asked.path == "/find/..%2Fa%3Fb%23c%2Fd/x"
    assert asked.query == {"fixed": ["1"], "more": ["2"]}


def test_secrets_are_sent_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_KEY", "s3cret-of-http")

    def answer(asked: Asked) -> Said:
        return Said({"message": f"key {asked.headers['x-key']} has no right"}, 403)

    with serving(answer) as server, pytest.raises(InputError, match="status 403") as caught:
        pulled(server, headers={"X-Key": {"env": "ENGINE_KEY"}}, parameters={"k": "${ENGINE_KEY}", "q": "{query}"})
    assert server.asked[0].headers["x-key"] == "s3cret-of-http" == server.asked[0].query["k"][0]
    assert "s3cret" not in str(caught.value)
    source = described(server, headers={"X-Key": {"env": "ENGINE_KEY"}})
    assert "s3cret" not in source.model_dump_json() + source.origin + source.display_name


# ---- what is read


def test_the_order_as_returned_counts_where_no_score_is_named() -> None:
    """A hit without a title is no hole: a projection of JMESPath drops what is null."""
    with serving(always({"hits": [{"id": "a", "s": 1}, *TWO["hits"]]})) as server:
        found = pulled(server, {"q": "x"}, results={"title": "name", "url": "nowhere"})
    assert rows(found) == [("q", "a", None, 1), ("q", "b", None, 2), ("q", "7", None, 3)]
    assert found.documents is not None
    assert found.documents.to_pylist() == [
        {"doc_id": "7", "title": "Seven", "url": None},
        {"doc_id": "b", "title": "B", "url": None},
    ]


def test_a_query_that_finds_nothing_is_empty_and_not_failed() -> None:
    with serving(lambda asked: Said({"hits": []} if asked.text == "text 1" else TWO)) as server:
        found = pulled(server)
    assert "q1" not in found.table["query_id"].to_pylist()
    assert found.failed == () == found.remarks
    with serving(always({"hits": []})) as server, pytest.raises(InputError, match="no hit came for any of 8 queries"):
        pulled(server)


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "nothing at hits": (
        {"took": 1, "items": []},
        {},
        "results.hits = 'hits' finds nothing in the answer, and must find a list; the answer has the keys took, items",
    ),
    "a mapping at hits": ({"hits": {"hits": [], "total": 1}}, {}, "finds a mapping"),
    "no id": (
        {"hits": [{"id": "a"}, {"_id": "b", "x": 1}]},
        {},
        "hit 2: results.id = 'id': doc_id is missing: every row needs one; the hit has the keys _id, x",
    ),
    "truth for an id": ({"hits": [{"id": True}]}, {}, "doc_id = True: must be text or a whole number"),
    "an empty id": ({"hits": [{"id": ""}]}, {}, "results.id = 'id': doc_id is empty"),
    "half of a letter for an id": (b'{"hits": [{"id": "\\ud800"}]}', {}, "must be text that UTF-8 can hold"),
    "a long id": ({"hits": [{"id": "x" * 10_001}]}, {}, "is 10,001 characters long, and must be no longer than 10,000"),
    "no score": ({"hits": [{"id": "a"}]}, {"score": "s"}, "document 'a': results.score = 's': score is missing"),
    "a word for a score": ({"hits": [{"id": "a", "s": "x"}]}, {"score": "s"}, "score = 'x': must be a number"),
    "NaN": (b'{"hits": [{"id": "a", "s": NaN}]}', {"score": "s"}, "score = 'nan': must be a finite number"),
    "a score beyond 2^53": ({"hits": [{"id": "a", "s": 2**53 + 1}]}, {"score": "s"}, "different numbers become equal"),
    "an error inside": (
        {"error": {"reason": "no shard"}, "hits": []},
        {"error": "error.reason"},
        "holds an error: no shard",
    ),
    "a function that fails": ({"hits": 5}, {"hits": "keys(hits)"}, "results.hits = 'keys(hits)' fails: "),
    "HTML": (b"<!doctype html><title>Log in</title>", {}, "no JSON but HTML (<!doctype html><title>Log in</title>)"),
    "broken JSON": (b'{"hits": [', {}, "the answer is no whole JSON: Expecting value"),
    "no content": (b"", {}, "the answer is empty (asked 2 times)"),
    "a key twice": (b'{"hits": [], "hits": []}', {}, "cannot be read: key 'hits' comes twice in one object"),
    "an id twice": (b'{"hits": [{"_id": "a", "_id": "b"}]}', {}, "cannot be read: key '_id' comes twice in one object"),
    "a deep nest": (b"[" * 100_000, {}, "the answer is nested too deeply"),
    "too much": (b" " * 300_000, {}, "larger than most_bytes = 200000"),
    "too many hits": ({"hits": [{"id": str(at)} for at in range(4)]}, {}, "4 hits came, more than depth = 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_answer_that_is_none_is_told_in_one_sentence(case: str) -> None:
    content, results, words = BAD[case]
    with serving(always(content)) as server:
        message = refusal_text(pulled, server, results=results, retries=1, most_bytes=200_000, depth=3, concurrency=1)
    assert message.startswith(f"{server.address}: query 'q1': ")
    assert words in message


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"results": {"hits": "a["}}, r"http\.results\.hits = 'a\[': must be a JMESPath expression"),
        ({"headers": {"X": {"env": "NOT_THERE"}}}, r"http\.headers\.X: the variable NOT_THERE is not set"),
        ({"queries": {"q": "a\r\nY: b"}, "headers": {"X": "{query}"}}, r"query 'q': headers\.X: must be plain ASCII"),
        ({"body": {"q": "{query_id:number}"}}, r"query 'q1': \{query_id:number\} = 'q1': must be a finite number"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_is_asked(keys: dict[str, Any], words: str) -> None:
    with serving(always(TWO)) as server, pytest.raises(InputError, match=words):
        pulled(server, **keys)
    assert server.asked == []


# ---- faults, bounds, patience


def test_every_fourth_request_fails_and_is_asked_again() -> None:
    """Out of order, too: the first are the slowest."""

    def answer(asked: Asked) -> Said:
        time.sleep(0.02 if asked.number < 4 else 0)
        failing = [Said("busy", 503), Said(b'{"hi', cut=5), Said(b'{"hits": [{'), Said("slow down", 429)]
        return failing[asked.number // 4 % 4] if asked.number % 4 == 0 else Said({"hits": [{"id": asked.text}]})

    with serving(answer) as server:
        found = pulled(server)
    assert [row[:2] for row in rows(found)] == list(QUERIES.items())
    assert len(server.asked) == 8 + len(server.asked) // 4
    assert 1 < server.most_at_once <= 4


@pytest.mark.slow
def test_it_waits_as_long_as_the_engine_asks() -> None:
    times: list[float] = []

    def answer(asked: Asked) -> Said:
        times.append(time.monotonic())
        return Said("", 429, {"Retry-After": "1"}) if asked.number == 1 else Said(TWO)

    with serving(answer) as server:
        pulled(server, {"q": "x"})
    assert 0.9 <= times[1] - times[0] < 3


@pytest.mark.slow
def test_a_server_that_sends_a_byte_at_a_time_is_given_up() -> None:
    begun = time.monotonic()
    with (
        serving(always(TWO, slowly=0.05)) as server,
        pytest.raises(UnavailableError, match=r"no whole answer came within timeout = 0\.2 s \(asked 2 times\)"),
    ):
        pulled(server, {"q": "x"}, timeout=0.2, retries=1)
    assert time.monotonic() - begun < 2


@pytest.mark.slow
def test_all_queries_together_have_a_deadline() -> None:
    with (
        serving(lambda asked: (time.sleep(0.1), Said(TWO))[1]) as server,
        pytest.raises(UnavailableError, match=r"[1-7] of 8 queries were answered within deadline = 0\.35 s"),
    ):
        pulled(server, concurrency=1, deadline=0.35)


@pytest.mark.slow
def test_no_more_begin_in_a_second_than_may() -> None:
    times: list[float] = []

    def answer(asked: Asked) -> Said:
        times.append(time.monotonic())
        return Said(TWO)

    with serving(answer) as server:
        began = time.monotonic()  # not when the first arrived, which a busy machine puts off
        pulled(server, per_second=20, concurrency=8)
    assert len(times) == 8 and times[-1] - began >= 7 / 20


def test_an_engine_that_is_not_there_may_come_back() -> None:
    with pytest.raises(UnavailableError, match=r"query 'q1': the engine cannot be reached: .* \(asked 2 times\)"):
        pulled(None, retries=1, concurrency=1)


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (404, {}, "status 404: "),
        (
            302,
            {"Location": "http://localhost:1/x?key=abc"},
            "redirects are not followed, here to http://localhost:1/x: n",
        ),
        (301, {"Location": "/elsewhere"}, "status 301: redirects are not .* to /elsewhere: name that address in `url`"),
        (503, {"Retry-After": "86400"}, "status 503.*; it asks to wait 86400 s"),
    ],
)
def test_what_is_not_asked_again(status: int, headers: dict[str, str], words: str) -> None:
    """A redirect is not followed: another server would be given the headers, and other methods lose the body."""
    with (
        serving(always("", status=status, headers=headers)) as server,
        pytest.raises(InputError, match=words) as caught,
    ):
        pulled(server, {"q": "x"}, concurrency=1)
    assert len(server.asked) == 1
    assert status == 503 or not isinstance(caught.value, UnavailableError)


# ---- queries that fail


def failing(*texts: str) -> Callable[[Asked], Said]:
    return lambda asked: Said("broken", 400) if asked.text in texts else Said(TWO)


def test_queries_that_fail_are_missing_where_that_is_admitted() -> None:
    with serving(failing("text 2", "text 5")) as server:
        found = pulled(server, allow_failed_queries=2)
        (remark,) = found.remarks
        assert (remark.code, remark.count) == ("failed_query", 2)
        assert remark.examples[0] == "query 'q2': status 400: \"broken\""
        assert found.failed == ("q2", "q5")
        assert "q2" not in found.table["query_id"].to_pylist()
    with serving(lambda asked: Said({"hits": []} if asked.text in ("text 2", "text 5") else TWO)) as server:
        empty = pulled(server)
    assert empty.table.equals(found.table)
    assert empty.digest != found.digest, "a query that found nothing is another result than one that failed"


@pytest.mark.parametrize(
    ("texts", "allowed", "words"),
    [
        (["text 2", "text 5"], 1, r"'q2': status 400.*\(and 1 more\); 1 may fail \(allow_failed_queries\)"),
        ([*QUERIES.values()], 100, r"query 'q1': .*\(and 7 more\)"),
    ],
)
def test_more_than_admitted_or_all_fail_the_pull(texts: list[str], allowed: int, words: str) -> None:
    with serving(failing(*texts)) as server, pytest.raises(InputError, match=words):
        pulled(server, allow_failed_queries=allowed)


def test_what_is_kept_holds_no_secret(tmp_path: Path) -> None:
    with serving(always(TWO)) as server:
        key = remember_secret("s3cret-of-answers")
        pulled(server, headers={"x": "${HTTP_KEY:-s3cret-of-answers}"}, folder=tmp_path)
    assert server.asked[0].headers["x"] == key
    kept = (tmp_path / "answers.jsonl").read_text()
    assert len(kept.splitlines()) == 8
    assert json.loads(kept.splitlines()[0])["hits"] == [["b", None, None, None], ["7", None, None, None]]
    assert "s3cret" not in kept.replace("${HTTP_KEY:-s3cret-of-answers}", "")


def test_a_document_has_the_first_title_and_the_first_address_of_its_hits() -> None:
    hits = {"q": [Hit("b", 1.0, url="u"), Hit("a", 1.0), Hit("c", 1.0, "t")], "r": [Hit("b", 1.0, "t", "v")]}
    found = make_documents(hits)
    assert found is not None
    assert [(*row.values(),) for row in found.to_pylist()] == [("b", "t", "u"), ("c", "t", None)]
    assert make_documents({"q": [Hit("a", 1.0)]}) is None
