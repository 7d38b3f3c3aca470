"""One table from many files, from packed ones, and from stores on real servers."""

import gzip
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from ndcg_ab.config.model.inputs.sources import System, TableSource
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import JUDGMENT, RANKING, pull_source
from tests import servers
from tests.loopback import Asked, Said, serving
from tests.sentences import refusal_text

LINES = ["q1 Q0 d1 1 2.5 a\n", "q1 Q0 d2 2 1.5 a\n", "q2 Q0 d1 1 9 a\n"]
FOUND = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", 9.0)]


def read(folder: Path, file: str, **keys: Any) -> list[tuple[Any, ...]]:
    described = System.model_validate({"name": "a", "file": file, **keys})
    table = pull_source(described.source, RANKING, folder).table
    return sorted(zip(*(table[name].to_pylist() for name in ("query_id", "doc_id", "score")), strict=True))


def ranking_of(path: Path, rows: list[tuple[str, str, float]], **more: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("query_id", "doc_id", "score")
    papq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) | more), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.run").write_text("".join(LINES[:2]))
    (tmp_path / "runs" / "b.run").write_text(LINES[2])
    (tmp_path / "runs" / "_SUCCESS").write_text("")
    frames = [pa.compress(line.encode(), "zstd", asbytes=True) for line in LINES]
    (tmp_path / "frames.run.zst").write_bytes(b"".join(frames))
    ranking_of(tmp_path / "parquet" / "set=de" / "part-0.parquet", FOUND[:2])
    ranking_of(tmp_path / "parquet" / "set=en%20gb" / "part-0.parquet", FOUND[2:])
    return tmp_path


@pytest.mark.parametrize(
    ("file", "keys"),
    [
        ("runs", {"parts": True}),
        ("runs/*.run", {"parts": True}),
        ("parquet", {}),
        ("parquet/*/*.parquet", {"parts": True}),
        ("frames.run.zst", {}),
    ],
)
def test_parts_of_one_table(file: str, keys: Any, folder: Path) -> None:
    assert read(folder, file, **keys) == FOUND


def test_the_names_of_folders_are_columns(folder: Path) -> None:
    assert read(folder, "parquet", columns={"query_id": "set"}) == [
        ("de", "d1", 2.5),
        ("de", "d2", 1.5),
        ("en gb", "d1", 9.0),
    ]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("runs", "is not a file; name one of its files, such as {}/runs/_SUCCESS; or, if all of them are parts of one"),
        ("none", "{}/none: there is no such file"),
        ("ftp://u:geheim@h/x", "ftp://h/x: is of a kind that is not read as a file (s3://"),
        ("postgresql://u:geheim@h/x", "is of a kind that is not read as a file: a database is named with `database`"),
        ("bad.run.zst", "{}/bad.run.zst: the zstd file is broken, write it again: Truncated compressed stream"),
        ("wrong.run.zst", "{}/wrong.run.zst, line 1: 2 fields"),
    ],
)
def test_what_is_no_table_is_said(file: str, said: str, folder: Path) -> None:
    packed = pa.compress("".join(LINES).encode(), "zstd", asbytes=True)
    (folder / "bad.run.zst").write_bytes(packed[:-3])
    (folder / "wrong.run.zst").write_bytes(pa.compress(b"not trec\n", "zstd", asbytes=True))
    message = refusal_text(read, folder, file)
    assert said.replace("{}", str(folder)) in message and "geheim" not in message


def test_parts_need_the_same_columns_and_a_row_is_found_in_its_part(folder: Path) -> None:
    (folder / "csv").mkdir()
    (folder / "csv" / "1.csv").write_text("query_id,doc_id,score\nq,d,1\n")
    (folder / "csv" / "2.csv").write_text("query_id,doc_id,rank\nq,d,1\n")
    with pytest.raises(InputError, match="some parts have score, others have not"):
        read(folder, "csv", parts=True)
    (folder / "csv" / "2.csv").write_text("query_id,doc_id,score\nq,d,1\n")
    described = System.model_validate({"name": "a", "file": "csv", "parts": True})
    where = pull_source(described.source, RANKING, folder).locate("q", "d")
    assert where == f"{folder}/csv/1.csv, line 2 and {folder}/csv/2.csv, line 2"


# ---- a web server


@pytest.fixture
def web(folder: Path) -> Iterator[str]:
    """A server of the folder's files, and of a status for each number."""

    def answer(request: Asked) -> Said:
        name = request.path.removeprefix("/")
        return Said(status=int(name)) if name.isdecimal() else Said((folder / name).read_bytes())

    with serving(answer) as server:
        yield server.address.removeprefix("http://").removesuffix("/search")


def test_a_file_of_a_web_server(web: str, folder: Path) -> None:
    (folder / "all.run").write_text("".join(LINES))
    assert read(folder, f"http://me:geheim@{web}/all.run?signature=planted") == FOUND
    assert read(folder, f"http://{web}/parquet/set=de/part-0.parquet") == FOUND[:2]


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["dense.gz", "twice.gz", "two.zip"])
def test_a_remedy_for_a_packed_file_of_a_web_server_works(name: str, web: str, folder: Path) -> None:
    """The command that is printed unpacks what lies at the address: a shell cannot read from an address."""
    content = "".join(LINES).encode()
    (folder / "twice.gz").write_bytes(gzip.compress(gzip.compress(content)))
    (folder / "dense.gz").write_bytes(gzip.compress(content + (b" " * 99_999 + b"\n") * 84))
    with zipfile.ZipFile(folder / "two.zip", "w") as archive:
        archive.writestr("NEW", content)
        archive.writestr("other.run", content)
    command = re.search(r"curl [^)]*?(> NEW|$)", said := refusal_text(read, folder, f"http://{web}/{name}"))
    assert command, said
    subprocess.run(["bash", "-c", command[0]], check=True, cwd=folder, capture_output=True)
    assert read(folder, "NEW") == FOUND


@pytest.mark.parametrize(
    ("path", "kind", "said"),
    [
        ("404", InputError, "there is no such file on the server (HTTP 404)"),
        ("403", InputError, "the server refuses it (HTTP 403): see the name and password"),
        ("503", UnavailableError, "the server answers HTTP 503"),
        ("wrong.run", InputError, "http://{}/wrong.run, line 1: 2 fields"),
    ],
)
def test_what_a_web_server_does_not_give(path: str, kind: type, said: str, web: str, folder: Path) -> None:
    (folder / "wrong.run").write_text("not trec\n")
    with pytest.raises(InputError) as caught:
        read(folder, f"http://me:geheim@{web}/{path}?signature=planted")
    assert said.replace("{}", web) in str(caught.value)
    assert type(caught.value) is kind
    assert "geheim" not in str(caught.value) and "planted" not in str(caught.value)


def test_no_server(folder: Path) -> None:
    with pytest.raises(UnavailableError, match=r"http://127.0.0.1:1/x: the server does not answer"):
        read(folder, "http://me:geheim@127.0.0.1:1/x")


# ---- an object store


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with servers.s3() as address:
        yield address


@pytest.fixture
def bucket(store: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from pyarrow import fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", store)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", servers.S3_KEYS[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", servers.S3_KEYS[1])
    system = fs.S3FileSystem(endpoint_override=store, region="us-east-1")
    fs.copy_files(str(folder), "bucket/data", destination_filesystem=system)
    return system


@pytest.mark.slow
def test_objects_of_s3(bucket: Any, store: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(folder, "s3://bucket/data/parquet/") == FOUND
    assert read(folder, "s3://bucket/data/runs/a.run") == FOUND[:2]
    assert read(folder, "s3://bucket/data/runs/*.run", parts=True) == FOUND
    with pytest.raises(InputError, match=r"s3://bucket/data/runs/\*.run: 2 objects match it \(a.run, b.run\); one is"):
        read(folder, "s3://bucket/data/runs/*.run")
    with pytest.raises(InputError, match=r"s3://bucket/nope.run: there is no such object"):
        read(folder, "s3://bucket/nope.run")
    judged = TableSource.model_validate({"file": "s3://bucket/data/runs/a.run"})
    with pytest.raises(InputError, match=r"^s3://bucket/data/runs/a.run: this looks like a ranking"):
        pull_source(judged.source, JUDGMENT, folder)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-wrong")
    with pytest.raises(InputError, match="the store refuses the credentials") as refused:
        read(folder, "s3://bucket/data/runs/a.run")
    assert "planted" not in str(refused.value)
    monkeypatch.setenv("BY_REFERENCE", servers.S3_KEYS[1])
    storage = {"endpoint": store, "access_key": servers.S3_KEYS[0], "secret_key": {"env": "BY_REFERENCE"}}
    assert read(folder, "s3://bucket/data/runs/a.run", storage=storage) == FOUND[:2]


@pytest.mark.slow
def test_an_object_that_changes_while_it_is_read(bucket: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.sources.files import stores

    asked = stores.object_mark

    def changed(metadata: Any) -> Any:
        with bucket.open_output_stream("bucket/data/runs/a.run") as file:
            file.write(LINES[2].encode())
        return asked(metadata)

    monkeypatch.setattr(stores, "object_mark", changed)
    with pytest.raises(UnavailableError, match=r"s3://bucket/data/runs/a.run: changed while it was read"):
        read(folder, "s3://bucket/data/runs/a.run")


@pytest.mark.slow
def test_a_store_that_is_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "planted")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")
    with pytest.raises(UnavailableError, match=r"s3://bucket/x: the store does not answer"):
        read(folder, "s3://bucket/x")
