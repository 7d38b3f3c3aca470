"""Arrow's files and streams are read as the same table in Parquet is, and archives with one file as that file."""

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from pyarrow import ipc

from ndcg_ab.errors import InputError
from ndcg_ab.sources import RANKING
from tests.readings import read_table

TABLE = pa.table(
    {
        "unused": [[1], [2, 3], None] * 40,
        "score": [3.0, 2.0, 1.0] * 40,
        "doc_id": ["a", "b", "é"] * 40,
        "query_id": [f"q{row // 3}" for row in range(120)],
    }
)
TEXTS: dict[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "texts": lambda column: column,
    "views": lambda column: column.cast(pa.string_view()),
    "dictionaries": lambda column: column.dictionary_encode(),
}


def arrow_bytes(table: pa.Table, compression: str | None = None, *, is_stream: bool = False) -> bytes:
    found = pa.BufferOutputStream()
    make = ipc.new_stream if is_stream else ipc.new_file
    with make(found, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=50)
    return bytes(found.getvalue().to_pybytes())


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_an_arrow_table_is_read_as_parquet(
    texts: str, compression: str | None, is_stream: bool, tmp_path: Path
) -> None:
    if texts == "views" and compression and int(pa.__version__.partition(".")[0]) < 25:
        pytest.skip("pyarrow below 25 crashes when it packs views")
    table = TABLE.set_column(3, "query_id", TEXTS[texts](TABLE["query_id"]))
    papq.write_table(TABLE, tmp_path / "r.parquet")
    content = arrow_bytes(table, compression, is_stream=is_stream)
    (tmp_path / "r.arrow").write_bytes(content)
    (tmp_path / "r.arrow.gz").write_bytes(gzip.compress(content))
    expected = read_table(tmp_path / "r.parquet", RANKING, None, {})
    for name in ("r.arrow", "r.arrow.gz"):
        assert read_table(tmp_path / name, RANKING, None, {}).equals(expected)


def zip_bytes(*names: str) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as archive:
        for name in names:
            archive.writestr(name, "q Q0 d 1 1 t\n")
    return found.getvalue()


REFUSED = {
    "cut.arrow": (arrow_bytes(TABLE)[:-6], "the Arrow file is broken, write it again: it is cut"),
    "cut.arrows": (arrow_bytes(TABLE, is_stream=True)[:-8], "the Arrow file is broken, write it again: it is cut"),
    "old.feather": (b"FEA1nonsense", "is a Feather file of version 1, which is not read here; write it again"),
    "two.zip": (zip_bytes("a.run", "b.run"), "the ZIP file holds 2 files (a.run, b.run), and one is read: unpack it"),
    "none.zip": (zip_bytes("_a", "a/.b"), "the ZIP file holds 0 files, and one is read"),
    "r.run.gz": (gzip.compress(zip_bytes("a.run")), "is packed more than twice, or holds a ZIP file; unpack it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_said_what_is_wrong(name: str, tmp_path: Path) -> None:
    content, words = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / name, RANKING, None, {})
    assert str(caught.value).startswith(f"{tmp_path / name}: {words}")


def test_what_a_mac_adds_to_an_archive_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(zip_bytes("runs/", "runs/a.run", "__MACOSX/runs/._a.run"))
    assert read_table(tmp_path / "r.zip", RANKING, None, {}).num_rows == 1
