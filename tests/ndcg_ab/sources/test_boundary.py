"""Every limits_key has its bounds: a small one is set, a little more comes, and it is refused in one sentence."""

import json
import math
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pyarrow as pa
import pytest

from ndcg_ab import deadlines
from ndcg_ab.config.model.inputs.judgments import Clicks, ClicksSource
from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.errors import InputError
from ndcg_ab.sources import JUDGMENT, RANKING, boundary, functions, pull_source, registry
from ndcg_ab.sources import database_query as drivers
from ndcg_ab.sources.boundary import BOUNDS, EXACT
from ndcg_ab.sources.files import stores
from ndcg_ab.testing.asserting import digest_file_path, digest_text, load_ranking
from tests.loopback import Said, serving
from tests.paths import ROOT
from tests.sentences import refusal_text

ROWS = 30_000
COLUMNS = {"query_id": "q1", "doc_id": "d", "rank": 1}


def run_text(rank: int) -> str:
    return "".join(f"q1 Q0 d{row} {rank + row} 1.0 t\n" for row in range(3))


def pull(folder: Path, **described: Any) -> Any:
    system = System.model_validate({"name": "a", **described})
    return pull_source(system.source, RANKING, folder, {"q1": "one"})


def file(folder: Path, rank: int, _: pytest.MonkeyPatch) -> None:
    (folder / "a.run").write_text(run_text(rank))
    pull(folder, file="a.run")


def baseline(folder: Path, rank: int, _: pytest.MonkeyPatch) -> None:
    (folder / "a.tsv").write_text(
        "query_id\tdoc_id\trank\n" + "".join(f"q1\td{row}\t{rank + row}\n" for row in range(3))
    )
    path = folder / "a.tsv"
    digest_file_path(path).write_text(digest_text(path, path.read_bytes()))
    load_ranking(path, "test")


def web_server(folder: Path, rank: int, _: pytest.MonkeyPatch) -> None:
    with serving(lambda _: Said(run_text(rank).encode())) as server:
        pull(folder, file=f"{server.address}/a.run")


def object_store(folder: Path, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import fs

    (folder / "a.run").write_text(run_text(rank))
    monkeypatch.setitem(stores.OPENED, "s3", lambda *_: fs.LocalFileSystem())
    pull(folder, file=f"s3://{folder}/a.run")


def database(folder: Path, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: Any) -> Iterator[Any]:
        batch = pa.record_batch([["q1"] * 3, ["d1", "d2", "d3"], [rank] * 3], names=list(COLUMNS))
        yield batch.schema
        yield batch

    monkeypatch.setattr(drivers, "query_by_adbc", answer)
    pull(folder, database=timed({"uri": "postgresql://h/d"}, "database"), query="select 1")


def database_file(folder: Path, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NDCG_AB_UNPACK_RATIO", "1")
    with duckdb.connect(str(folder / "a.duckdb")) as made:
        about = f"'q1' as query_id, 'document ' || range as doc_id, {rank} as rank"
        made.execute(f"create or replace view v as select {about} from range({ROWS})")
    pull(folder, database=timed({"uri": "a.duckdb"}, "database file"), query="select * from v")


def timed(described: dict[str, Any], limits_key: str) -> dict[str, Any]:
    """The configuration says the seconds of a query."""
    return described | {"timeout": max(BOUNDS[limits_key].seconds, 1e-9)}


def search_engine(folder: Path, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = BOUNDS["search engine"]
    hits = {"hits": [{"id": f"d{row}" * 500, "score": rank} for row in range(3)]}
    asked = {
        "most_bytes": max(bounds.bytes, 1000),
        "deadline": max(bounds.seconds, 1e-9),
        "results": {"score": "score"},
    }
    with serving(lambda _: Said(hits)) as server:
        pull(folder, http={"url": f"{server.address}?q={{query}}", "preset": "json", **asked})


def function(folder: Path, rank: int, _: pytest.MonkeyPatch) -> None:
    (folder / "mine.py").write_text(
        f"def search(queries):\n    return {{'q1': [(f'd{{i}}', {rank}) for i in range(3)]}}\n"
    )
    pull(folder, python="mine:search")


def an_extension(folder: Path, rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch([["q1"] * 3, ["d1", "d2", "d3"], [rank] * 3], schema=schema)

    schema = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("rank", pa.int64())])
    stream = pa.RecordBatchReader.from_batches(schema, batches())
    monkeypatch.setattr(functions, "load_named", lambda *_: lambda *_: stream)
    pull(folder, extension="mine")


def click_log(folder: Path, rank: int, _: pytest.MonkeyPatch) -> None:
    place = {"object": {"object_id": "d1"}, "position": {"ordinal": rank}}
    events = [{"action_name": name, "user_query": "one", "event_attributes": place} for name in ("impression", "click")]
    (folder / "e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events * 12))
    clicks = ClicksSource(clicks=Clicks.model_validate({"file": "e.jsonl"}))
    found = pull_source(clicks, JUDGMENT, folder, {"q1": "one"})
    if any(remark.code == "click_deep_place" for remark in found.remarks):
        raise InputError("left out, with a finding")


PULLS: dict[str, Callable[[Path, int, pytest.MonkeyPatch], None]] = {
    "file": file,
    "baseline": baseline,
    "web server": web_server,
    "object store": object_store,
    "database": database,
    "database file": database_file,
    "search engine": search_engine,
    "function": function,
    "extension": an_extension,
    "click log": click_log,
}
SMALL = {"bytes": 10, "rows": 2, "seconds": 0.0}


def test_every_source_has_bounds_that_the_documentation_says() -> None:
    assert {*PULLS, "cluster"} == set(BOUNDS)
    for bounds in BOUNDS.values():
        assert 0 < bounds.bytes < 1 << 41 and 0 < bounds.rows <= 10**11 and 0 < bounds.largest <= EXACT
        assert bounds.seconds > 0 and bounds.remedy
    text = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    for limits_key, bounds in BOUNDS.items():
        powers = ((bounds.bytes / 2**power, unit) for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")))
        size = next(
            (f"{size:g} {unit}" for size, unit in powers if size >= 1 and size.is_integer()), f"{bounds.bytes:,}"
        )
        seconds = "–" if bounds.seconds == math.inf else f"{bounds.seconds:,g}"
        assert f"| {limits_key} | {size} | {bounds.rows:,} | {seconds} |" in text


@pytest.mark.parametrize("limits_key", PULLS)
def test_what_is_usual_comes_through(limits_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PULLS[limits_key](tmp_path, 1, monkeypatch)


@pytest.mark.parametrize(("limits_key", "bound"), [*product(PULLS, ("bytes", "rows", "seconds", "largest"))])
def test_what_is_more_than_a_bound_is_refused(
    limits_key: str, bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if getattr(BOUNDS[limits_key], bound) == math.inf:
        return  # its bytes are there from the beginning, and they are counted
    if bound in SMALL:
        monkeypatch.setitem(BOUNDS, limits_key, BOUNDS[limits_key]._replace(**{bound: SMALL[bound]}))
    rank = BOUNDS[limits_key].largest + 1 if bound == "largest" else 1
    said = refusal_text(PULLS[limits_key], tmp_path, rank, monkeypatch)
    if limits_key != "search engine" and bound in SMALL:
        remedy = BOUNDS[limits_key].remedy
        assert remedy in said and (
            f"more than {SMALL[bound]:,g} {bound}" in said or limits_key == "database file" or not SMALL[bound]
        )


def test_rows_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "cluster", BOUNDS["cluster"]._replace(rows=2))
    table = SimpleNamespace(limits_key="cluster", count=3, origin="table lake.run", remote_table=None)
    table.source = table
    with pytest.raises(InputError, match=r"table lake\.run: gives more than 2 rows"):
        registry.check_row_count(cast(Any, table))


# ---- what never comes, or never ends

ENDLESS = """
import itertools
def rows(queries):
    return {"q1": ((f"d{i}", 1.0) for i in itertools.count())}
def queries_(queries):
    return ((f"q{i}", [("d", 1.0)]) for i in itertools.count())
"""


@pytest.mark.parametrize(("name", "said"), [("rows", "3 rows"), ("queries_", "3 rows")])
def test_a_function_without_an_end(name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    monkeypatch.setitem(BOUNDS, "function", BOUNDS["function"]._replace(rows=3))
    with pytest.raises(InputError, match=f"more than {said}"):
        pull(tmp_path, python=f"endless:{name}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_query_that_gives_no_row_is_given_up(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "_left", [])  # threads that other tests abandoned may last for minutes
    query = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) select max(i) from n"
    path = tmp_path / "a.db"
    if kind == "duckdb":
        query = "select count(*) from range(100000) a, range(1500) b where (a.range * b.range) % 7 = 3"
        duckdb.connect(str(path)).close()
    else:
        with sqlite3.connect(path) as made:
            made.execute("create table t (a)")
    with pytest.raises(InputError, match=r"a.db: takes more than 0.1 seconds for 0 bytes, .*timeout: SECONDS|set NDCG"):
        pull(tmp_path, database={"uri": str(path), "timeout": 0.1}, query=query)
    wait_for_threads()


@pytest.mark.slow
def test_a_server_that_sends_a_line_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "_left", [])
    monkeypatch.setattr(boundary, "START", 0.3)
    began = time.monotonic()
    with serving(lambda _: Said(b"q1 Q0 d 1 1.0 t\n" * 4, slowly=0.05)) as server:
        with pytest.raises(InputError, match=r"/a.run: takes more than 0\.3\d* seconds for \d+ bytes"):
            pull(tmp_path, file=f"{server.address}/a.run")
        assert time.monotonic() - began < 2
        wait_for_threads()


def wait_for_threads() -> None:
    end = time.monotonic() + 90
    while deadlines.has_abandoned_work() and time.monotonic() < end:
        time.sleep(0.02)
    assert not deadlines.has_abandoned_work()
