"""Databases: what is read of a query's rows, and what is said where it cannot be."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ndcg_ab.config.model.inputs.judgments import ClicksSource
from ndcg_ab.config.model.inputs.sources import System, TableSource
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.memory import Memory
from ndcg_ab.sources import JUDGMENT, RANKING, pull_source
from ndcg_ab.sources import database_query as databases
from ndcg_ab.sources.base import RemarkCounter
from ndcg_ab.sources.tables.on_disk import TableOnDisk, TableWriter
from ndcg_ab.sources.tables.schema import query_layout
from tests import servers
from tests.cases import read_cases
from tests.sentences import refusal_text

ROWS = [("q1", "d1", 1.5), ("q1", "d2", 0.5), ("q2", "d1", 3.0)]


def judgments(folder: Path, database: Any, query: str = "select * from judgment", **keys: Any) -> list[tuple[Any, ...]]:
    described = TableSource.model_validate({"database": database, "query": query, **keys})
    table = pull_source(described.source, JUDGMENT, folder).table
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "lists.db") as lists:
        lists.execute("create table judgment (query_id text, doc_id text, grade real)")
        lists.executemany("insert into judgment values (?, ?, ?)", ROWS)
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as warehouse:
        warehouse.execute("create table judgment (query_id varchar, doc_id varchar, grade decimal(5, 2))")
        warehouse.executemany("insert into judgment values (?, ?, ?)", ROWS)
    return tmp_path


@pytest.mark.first_case
@pytest.mark.parametrize(
    "database",
    ["lists.db", "sqlite:///lists.db", "warehouse.duckdb", "duckdb:///warehouse.duckdb", {"uri": "lists.db"}]
    + [{"env": "LISTS"}, "${LISTS}"],
)
def test_a_file_is_a_database(database: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTS", f"sqlite:///{files}/lists.db")
    assert judgments(files, database) == ROWS
    assert judgments(files, database, "select * from judgment where grade > 2 ;\n") == [("q2", "d1", 3.0)]


@pytest.mark.parametrize("ranks", [[1, None], [None, 1]], ids=str)
def test_a_column_is_there_in_every_batch_or_in_none(ranks: list[int | None]) -> None:
    alike = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0]}
    batches = [pa.record_batch(alike | {"rank": pa.array([rank, rank and 2], pa.int64())}) for rank in ranks]
    described = TableSource.model_validate({"database": "lists.db", "query": "select 1"}).source
    source, answer = databases.DatabaseQuery(described, Path()), iter([batches[0].schema, *batches])
    read = source.read_batches(answer, "place", RANKING, RemarkCounter("unrated_row"))
    assert refusal_text(list, read) == "place: rank is missing in 2 rows: every row needs one, or none has"


CASES = read_cases("database_query")
REFUSED = CASES["REFUSED"]


@pytest.mark.parametrize(("database", "query", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_in_one_sentence(database: Any, query: str, said: str, files: Path) -> None:
    (files / "text.db").write_text("q1 0 d1 1\n")
    columns = {"grade": "relevant"} if "relevant" in query else {}
    message = refusal_text(judgments, files, database, query, columns=columns)
    assert said in message and "geheim" not in message
    assert not (files / "nowhere.db").exists()


KINDS = {  # what is read of a database -> columns that it needs
    "judgment": (JUDGMENT, "'1' as grade"),
    "ranking": (RANKING, "'1' as score"),
    "query": (query_layout(needed={"text": True}), "'1' as text"),
    "clicks": (JUDGMENT, "'click' as action_name, '1' as user_query, 'd' as object_id, 0 as ordinal"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_reads_no_other_file_whatever_is_read_of_the_database(kind: str, tmp_path: Path) -> None:
    layout, columns = KINDS[kind]
    (tmp_path / "secret.txt").write_text("planted")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as made:
        view = f"select content as query_id, content as doc_id, {columns} from read_text('{tmp_path}/secret.txt')"
        made.execute(f"create view v as {view}")
    place = {"database": "a.duckdb", "query": "select * from v"}
    described = ClicksSource.model_validate({"clicks": place}) if kind == "clicks" else TableSource(**place).source
    with pytest.raises(InputError, match=r"a\.duckdb: a query or a view reads another file: Permission") as caught:
        pull_source(described, layout, tmp_path, {"q": "1"})
    assert "planted" not in str(caught.value)


def test_a_view_of_sqlite_is_not_trusted(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.db") as made:
        made.execute("create view v as select file as query_id, name as doc_id, 1 as grade from pragma_database_list")
    with pytest.raises(InputError, match="unsafe use of virtual table"):
        judgments(tmp_path, "a.db", "select * from v")


def test_rows_go_to_disk_as_they_come(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    rows = "select 'q' || range % 9 as query_id, 'd' || range as doc_id, range * 1.0 as score from range(250000)"
    system = System.model_validate({"name": "a", "database": str(tmp_path / "a.duckdb"), "query": rows})
    with Memory("1GB") as memory:
        stored = pull_source(system.source, RANKING, tmp_path, writer=TableWriter(tmp_path / "rows", memory))
        assert isinstance(stored.table, TableOnDisk) and stored.count == 250_000
        assert stored.digest == pull_source(system.source, RANKING, tmp_path).digest


@pytest.fixture(scope="module")
def socket() -> Iterator[Path]:
    with servers.postgresql() as folder:
        yield folder


def address(socket: Path, name: str = "postgres") -> str:
    return f"postgresql://postgres:geheim@/{name}?host={socket}"


WRITING = CASES["WRITING"]
READING = (
    "select * from judgment -- of all nights",
    "select * from judgment; -- of all nights",
    "/* into; */ select query_id, doc_id, grade from judgment where doc_id <> 'insert into; x' ;;",
    'with "delete" as (select * from judgment) select * from "delete"',
    "with v(query_id, doc_id, grade) as (values ('q1', 'd1', 1.5), ('q1', 'd2', 0.5), ('q2', 'd1', 3)) select * from v",
    "(select * from judgment)",
    "table judgment",
)


def places(files: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from ("lists.db", "warehouse.duckdb")
    if servers.POSTGRESQL:
        yield address(request.getfixturevalue("judged"))


@pytest.fixture(scope="module")
def judged(socket: Path) -> Path:
    rows = "create table judgment as select * from (values ('q1', 'd1', 1.5), ('q1', 'd2', 0.5), ('q2', 'd1', 3.0)) v"
    words = ["psql", "-q", "-h", str(socket), "-U", "postgres", "-c", f"{rows}(query_id, doc_id, grade)"]
    subprocess.run(words, check=True)
    return socket


@pytest.mark.slow
def test_a_query_reads_and_does_not_write(files: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    before = sorted(tmp_path.iterdir())
    for database in places(files, request):
        for query, said in WRITING.items():
            with pytest.raises(InputError, match=said) as caught:
                judgments(files, database, query.replace("{file}", str(tmp_path / "written")))
            assert "it must be one statement that reads: SELECT, WITH, VALUES or TABLE" in str(caught.value)
        assert judgments(files, database) == ROWS
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_query_may_be_any_statement_that_reads(files: Path, request: pytest.FixtureRequest) -> None:
    for database in places(files, request):
        for query in READING[:-2] if database == "lists.db" else READING:  # SQLite has no TABLE, nor such parentheses
            assert judgments(files, database, query) == ROWS, (database, query)
    values = "values ('q1', 'd1', 1.5), ('q1', 'd2', 0.5), ('q2', 'd1', 3)"
    columns = {"query_id": "column1", "doc_id": "column2", "grade": "column3"}
    assert judgments(files, "lists.db", values, columns=columns) == ROWS


@pytest.mark.slow
def test_a_query_of_postgresql_ends_in_its_time(socket: Path, tmp_path: Path) -> None:
    query = "select 'q' as query_id, 'd' as doc_id, pg_sleep(30) is null as grade"
    began = time.monotonic()
    with pytest.raises(
        InputError, match=r"takes more than 0.3 seconds for 0 bytes, .* allow more time with `database: \{"
    ):
        judgments(tmp_path, {"uri": address(socket), "timeout": 0.3}, query)
    assert time.monotonic() - began < 5
    shown = "select 'q' as query_id, 'd' as doc_id, extract(epoch from current_setting('statement_timeout')::interval)"
    assert judgments(tmp_path, {"uri": address(socket), "timeout": 7}, f"{shown} as grade") == [("q", "d", 12.0)]


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "in use"])
@pytest.mark.parametrize("has_rows", [False, True], ids=["empty log", "rows in the log"])
def test_nothing_appears_beside_a_database_with_a_log(is_open: bool, has_rows: bool, tmp_path: Path) -> None:
    """SQLite's own way with `mode=ro` leaves -shm and -wal."""
    (data := tmp_path / "data").mkdir()
    writer = sqlite3.connect(tmp_path / "lists.db")
    writer.execute("pragma journal_mode = wal")
    writer.execute("create table judgment (query_id text, doc_id text, grade real)")
    writer.commit()
    writer.execute("pragma wal_checkpoint(truncate)")
    writer.executemany("insert into judgment values (?, ?, ?)", ROWS)
    writer.commit()
    if not has_rows:
        writer.execute("pragma wal_checkpoint(truncate)")
    for name in ("lists.db", "lists.db-wal"):
        (data / name).write_bytes((tmp_path / name).read_bytes())
    folder = tmp_path if is_open else data
    before = {path.name for path in folder.iterdir()}
    assert judgments(folder, "lists.db") == ROWS
    assert {path.name for path in folder.iterdir()} == before
    writer.close()


@pytest.mark.slow
def test_the_types_of_postgresql(socket: Path, tmp_path: Path) -> None:
    query = (
        "select '0a0a0a0a-0000-4000-8000-000000000001'::uuid as query_id,"
        " 'd1'::char(5) as doc_id, 1.50::numeric as grade"
        " union all select '0a0a0a0a-0000-4000-8000-000000000001'::uuid, 'd2'::char(5), 2"
    )
    assert judgments(tmp_path, address(socket), query) == [
        ("0a0a0a0a-0000-4000-8000-000000000001", "d1", 1.5),
        ("0a0a0a0a-0000-4000-8000-000000000001", "d2", 2.0),
    ]
    number = "select 7::bigint as query_id, 8 as doc_id, 1::smallint as score"
    system = System.model_validate({"name": "a", "database": address(socket), "query": number})
    pulled = pull_source(system.source, RANKING, tmp_path)
    assert pulled.table.to_pylist() == [{"query_id": "7", "doc_id": "8", "score": 1.0, "rank": None}]
    assert pulled.origin == "postgresql:///postgres"


SAID = CASES["SAID"] | CASES["REFUSED_TYPES"]


@pytest.fixture(scope="module")
def prepared(socket: Path) -> Path:
    """A sequence, a table and a function that writes."""
    words = ["psql", "-q", "-h", str(socket), "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c"]
    body = (
        "create function made_it() returns int language plpgsql as $$ begin create table made (a int); return 1; end $$"
    )
    subprocess.run([*words, f"create sequence counted; create table held (a int); {body}"], check=True)
    return socket


@pytest.mark.slow
@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize(("query", "said"), SAID.items())
def test_what_postgresql_refuses(query: str, said: str, socket: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        judgments(tmp_path, address(socket), query)
    assert said in str(caught.value) and "geheim" not in str(caught.value)
    assert not isinstance(caught.value, UnavailableError)
    with pytest.raises(InputError, match='relation "made" does not exist'):
        judgments(tmp_path, address(socket), "select * from made")


@pytest.mark.slow
def test_a_server_that_is_away_may_answer_later_and_a_refusal_stays_one(socket: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as silent:
        judgments(tmp_path, "postgresql://u:geheim@127.0.0.1:1/search")
    assert "postgresql://127.0.0.1:1/search: the database does not answer" in str(silent.value)
    with pytest.raises(InputError) as refused:
        judgments(tmp_path, address(socket, "nodb"))
    assert 'cannot be opened: database "nodb" does not exist' in str(refused.value)
    assert not isinstance(refused.value, UnavailableError)
    assert "geheim" not in f"{silent.value}{refused.value}"


PEAK = """
import re, sys
from pathlib import Path
from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.sources import RANKING, pull_source
query = "select g / 100 || 'q' as query_id, 'doc' || g as doc_id, g::float8 as score from generate_series(1, 400000) g"
system = System.model_validate({"name": "a", "database": sys.argv[1], "query": query})
def peak():  # what rusage tells begins with the parent's
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024
before = peak()
table = pull_source(system.source, RANKING, Path()).table
print(table.num_rows, peak() - before, "polars" in sys.modules)
"""


@pytest.mark.slow
def test_rows_stream(socket: Path) -> None:
    found = subprocess.run([sys.executable, "-c", PEAK, address(socket)], capture_output=True, text=True, check=True)
    rows, peak, imported = found.stdout.split(maxsplit=2)
    assert int(rows) == 400_000
    assert int(peak) < 100, "13 MB of rows: they became Python objects, or were kept twice"
    assert imported.strip() == "False", "the driver's interface of PEP 249 imports what nobody needs"


@pytest.mark.slow
def test_names_that_differ_in_case_are_told_apart_by_columns(socket: Path, tmp_path: Path) -> None:
    query = """select 'q' as query_id, 7 as doc_id, 1 as grade, 2.5::money::numeric as "GRADE" """
    for column, value in (("grade", 1.0), ("GRADE", 2.5)):
        assert judgments(tmp_path, address(socket), query, columns={"grade": column}) == [("q", "7", value)]


def test_names_that_differ_in_case_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("query_id,doc_id,grade,Grade\nq,d,1,2\n")
    with pytest.raises(InputError, match="columns 'grade' and 'Grade' differ in upper and lower case alone"):
        pull_source(TableSource.model_validate({"file": "j.csv"}).source, JUDGMENT, tmp_path)


SLOWLY = "select 'q' || g as query_id, repeat('d', 1000) || g as doc_id, 1 as grade from generate_series(1, 200000) g"
WAITING = "select 'q' || g as query_id, 'd' as doc_id, 1 as grade, pg_sleep(.001) from generate_series(1, 60000) g"
END_BACKENDS = (
    "select pg_terminate_backend(pid) from pg_stat_activity"
    " where query ilike '%generate_series(1%' and pid <> pg_backend_pid()"
)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "query"), [("fast", SLOWLY), ("immediate", WAITING), ("terminated", SLOWLY)])
def test_a_restart_in_the_middle_of_a_pull_may_be_tried_again(
    how: str, query: str, socket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart, a failover, an administrator who ends the connection: SQLSTATE 57P01, or no answer at all.

    While rows come, and before.
    """
    read = databases.convert_batch
    monkeypatch.setattr(databases, "convert_batch", lambda *given: (time.sleep(0.05), read(*given))[1])

    def disturb() -> None:
        time.sleep(0.5)
        if how == "terminated":
            words = ["psql", "-h", str(socket), "-U", "postgres", "-c", END_BACKENDS]
            subprocess.run(words, check=True, capture_output=True)
        else:
            servers.restart_postgresql(socket, how)

    thread = threading.Thread(target=disturb)
    thread.start()
    with pytest.raises(UnavailableError) as caught:
        judgments(tmp_path, address(socket), query)
    thread.join()
    assert "postgresql:///postgres: the database does not answer: " in str(caught.value)
    assert "geheim" not in str(caught.value) and "\n" not in str(caught.value)
    assert len(judgments(tmp_path, address(socket), "select 'q' as query_id, 'd' as doc_id, 1 as grade")) == 1


@pytest.mark.slow
def test_a_server_with_too_many_clients_may_answer_later(socket: Path, tmp_path: Path) -> None:
    """SQLSTATE 53300."""
    words = ["psql", "-h", str(socket), "-U", "postgres", "-c", "select pg_sleep(30)"]
    clients: list[subprocess.Popen[bytes]] = []
    try:
        end = time.monotonic() + 20
        with pytest.raises(UnavailableError, match=r"does not answer: .*(too many clients|connection slots)"):
            while time.monotonic() < end:
                lacking = 30 - sum(client.poll() is None for client in clients)  # a server that starts refuses some
                clients += [
                    subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for _ in range(lacking)
                ]
                judgments(tmp_path, address(socket), "select 'q' as query_id, 'd' as doc_id, 1 as grade")
    finally:
        for client in clients:
            client.kill()
            client.wait()


@pytest.mark.parametrize(
    ("state", "is_silent"),
    [
        *((state, True) for state in ("57P01", "57P02", "57P03", "08000", "08003", "08006", "08P01", "53300", "40001")),
        *((state, False) for state in ("42P01", "57014", "22012", "28P01", "3D000")),
    ],
)
def test_what_may_be_tried_again_by_its_sqlstate(state: str, is_silent: bool) -> None:
    adbc = pytest.importorskip("adbc_driver_manager")
    error = adbc.OperationalError("FATEL: in another language", status_code=10, sqlstate=state)
    assert databases.is_unavailable_error(error, "postgresql") is is_silent
