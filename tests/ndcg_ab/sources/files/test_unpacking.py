"""What unpacks to far more than it is: refused before much of it was unpacked, wherever it stands and comes from."""

import gzip
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from ndcg_ab.config.model.inputs.http import HttpRequest, HttpSource
from ndcg_ab.config.model.inputs.sources import FileSource, ScoresSource, System
from ndcg_ab.errors import InputError
from ndcg_ab.sources import JUDGMENT, RANKING, pull_source
from ndcg_ab.sources.external_scores import PULLED
from ndcg_ab.sources.files import unpacking
from ndcg_ab.sources.files.unpacking import GRACE, GZIP, SETTING
from ndcg_ab.sources.queries import read_documents
from ndcg_ab.sources.registry import file_source
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from ndcg_ab.sources.tables.schema import query_layout
from tests import bombing
from tests.loopback import Said, serving
from tests.readings import read_table, reduce_ranking
from tests.sentences import refusal_text

SIZE = 5 * GRACE  # bytes that each unpacks to
RATIO = GZIP.ratio
DENSE = "bytes for each of its own, and no ranking does: where it is meant, unpack it yourself"


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many bytes were unpacked, and that no temporary folder was made for them."""
    found: list[int] = []
    read = unpacking.UnpackedFile.readinto

    def counted(self: unpacking.UnpackedFile, buffer: Any) -> int:
        found.append(read(self, buffer))
        return found[-1]

    monkeypatch.setattr(unpacking.UnpackedFile, "readinto", counted)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    yield found


def read_scores(path: Path) -> Any:
    return pull_source(ScoresSource(file=path, system="a"), PULLED, Path())


def read_titles(path: Path) -> Any:
    return read_documents(file_source(FileSource(file=path), Path()), pa.chunked_array([["d"]]))


ONE_LINE = re.compile("of-(zeros|a-line|brackets)")  # either rule refuses them
QUERIES = query_layout()
READ: dict[str, Callable[[Path], Any]] = {
    "ranking": lambda path: read_table(path, RANKING, None, {}),
    "judgments": lambda path: read_table(path, JUDGMENT, None, {}),
    "queries": lambda path: read_table(path, QUERIES, None, {}),
    "documents": read_titles,
    "scores": read_scores,
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of bombs; names without blanks."""
    folder = tmp_path_factory.mktemp("bombs")
    for kind, (ending, make) in bombing.bombs("ranking", SIZE).items():
        name = kind.replace(" ", "-").replace(",", "")
        (folder / f"{name}{'.run' if ending.count('.') == 1 else ''}{ending}").write_bytes(make())
    return folder


@pytest.mark.slow
def test_every_kind_is_refused_before_it_is_unpacked(packed: Path, count: list[int]) -> None:
    paths = sorted(packed.iterdir())
    assert len(paths) == 18
    for path in paths:
        count.clear()
        message = refusal_text(READ["ranking"], path)
        twice = dict.fromkeys(("gzip-twice.run.gz", "ZIP-of-gzip.run.zip"), "holds a packed file; unpack it")
        other = {**twice, "ZIP-by-bzip2.run.zip": "in a rare way"}
        is_long_line = ONE_LINE.search(path.name) and "is longer than 1,048,576 bytes" in message
        assert is_long_line or other.get(path.name, DENSE) in message
        assert message.startswith(str(path))
        assert sum(count) < 4 * GRACE, path  # two ways through a file, and some is read at a time
        assert reduce_ranking(path, "trec", {}, NeededResults(10, frozenset(), {})) is None


@pytest.mark.slow
@pytest.mark.parametrize("place", READ)
@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_at_every_place(place: str, packing: str, tmp_path: Path, count: list[int]) -> None:
    make, ending = (bombing.gzipped, ".gz") if packing == "gzip" else (bombing.zstandard, ".zst")
    path = tmp_path / f"bomb{bombing.ENDINGS[place]}{ending}"
    path.write_bytes(make(bombing.LINES[place], SIZE, bombing.HEADS.get(place, b"")))
    with pytest.raises(InputError, match=DENSE):
        READ[place](path)
    assert sum(count) < 3 * GRACE


def test_what_was_sparse_before_buys_nothing(tmp_path: Path) -> None:
    """A megabyte of noise would pay for a hundred of zeros."""
    noise = os.urandom(1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(bombing.gzipped(b"\0", SIZE, noise))
    with pytest.raises(InputError, match=DENSE), unpacking.UnpackedFile(path, GZIP) as stream:
        while stream.read(GRACE):
            pass


# ---- what is meant


def dense_ranking() -> bytes:
    """Padded ids, a long tag, one score: as dense as rankings come."""
    tag = "0.000000 a-very-long-tag-of-a-system-with-many-parameters-k1=0.9-b=0.4"
    names = (f"query-{query:08d}" for query in range(90))
    return "".join(
        f"{name} Q0 {name}-document-{at:06d} {at} {tag}\n" for name in names for at in range(1, 1001)
    ).encode()


@pytest.mark.first_case
@pytest.mark.parametrize(("ending", "least"), [(".gz", 20), (".zst", 60)])
def test_a_dense_ranking_is_read(ending: str, least: int, tmp_path: Path) -> None:
    content = dense_ranking()
    path = tmp_path / f"r.run{ending}"
    path.write_bytes(gzip.compress(content) if ending == ".gz" else pa.compress(content, "zstd", asbytes=True))
    assert len(content) > least * path.stat().st_size and len(content) > 2 * GRACE
    assert READ["ranking"](path).num_rows == content.count(b"\n")


def test_a_small_file_may_be_as_dense_as_it_likes(tmp_path: Path) -> None:
    content = b"q 0 d 1\n" * (GRACE // 8)
    path = tmp_path / "j.qrels.gz"
    path.write_bytes(gzip.compress(content))
    assert len(content) > 5 * RATIO * path.stat().st_size
    assert READ["judgments"](path).num_rows == GRACE // 8


def test_who_means_it_raises_the_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j.qrels.gz"
    path.write_bytes(bombing.gzipped(b"q 0 d 1\n", 2 * GRACE))
    with pytest.raises(InputError, match=rf"\(gunzip -c < {path} > NEW\), or set {SETTING} to more"):
        READ["judgments"](path)
    monkeypatch.setenv(SETTING, "1100")
    assert READ["judgments"](path).num_rows == 2 * GRACE // 8
    for wrong in ("much", "-1", "0", "1.5", "9" * 30):
        monkeypatch.setenv(SETTING, wrong)
        with pytest.raises(InputError, match=f"{SETTING} = '{wrong}': must be a whole number from 1, such as {RATIO}"):
            READ["judgments"](path)


# ---- tables


@pytest.mark.slow
def test_a_table_that_says_a_billion_times(tmp_path: Path) -> None:
    bombing.table_of_rows(tmp_path / "rows.parquet", 4 * bombing.MEGA)
    bombing.table_of_pages(tmp_path / "pages.parquet", 30 * bombing.MEGA)
    packed = tmp_path / "rows.parquet.gz"
    packed.write_bytes(gzip.compress((tmp_path / "rows.parquet").read_bytes()))
    for name in ("rows.parquet", "pages.parquet", "rows.parquet.gz"):
        for read in READ.values():
            with pytest.raises(InputError, match=rf"{name}: the Parquet file .* set {SETTING} to more|has no column"):
                read(tmp_path / name)
        assert reduce_ranking(tmp_path / name, "parquet", {}, NeededResults(10, frozenset(), {})) is None
    (tmp_path / "day=1").mkdir()
    (tmp_path / "rows.parquet").rename(tmp_path / "day=1" / "r.parquet")
    described = System.model_validate({"name": "a", "file": "day=1", "columns": {"query_id": "day"}})
    with pytest.raises(InputError, match="the Parquet file"):
        pull_source(described.source, RANKING, tmp_path)


def test_a_table_of_the_same_documents_for_every_query_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "TABLE_GRACE", 0)
    queries, ids = 300, [f"doc-{index * 7919:09d}" for index in range(1000)]
    columns = {
        "query_id": np.repeat(np.arange(queries).astype(str), 1000),
        "doc_id": ids * queries,
        "score": np.ones(queries * 1000),
    }
    columns["score"][:16_000] = np.random.default_rng(1).integers(0, 30, 16_000)  # newer versions pack less well
    path = tmp_path / "r.parquet"
    papq.write_table(pa.table(columns), path, compression="zstd")
    with unpacking.open_table(path) as file:
        assert 8 * 3 * file.metadata.num_rows > 150 * path.stat().st_size


# ---- answers


def refusal_of_answer(said: Said) -> str:
    """What is said of an engine that answers so; nothing where its answer is read."""
    with serving(lambda _: said) as server:
        request = HttpRequest.model_validate(
            {"url": server.address, "parameters": {"q": "{query}"}, "retries": 0, "timeout": 20}
        )
        try:
            pull_source(HttpSource(http=request), RANKING, Path(), {"q": "text"})
        except InputError as error:
            return str(error)
        assert [each.headers["accept-encoding"] for each in server.asked] == ["identity"]
        return ""


HITS = b'{"hits": [{"id": "a"}]}'


def test_an_answer_that_is_not_packed_is_read() -> None:
    assert refusal_of_answer(Said(HITS, headers={"content-encoding": "Identity"})) == ""
    assert refusal_of_answer(Said(HITS)) == ""


@pytest.mark.first_case
@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("kind", bombing.ANSWERS)
def test_an_answer_that_is_a_bomb_is_not_unpacked(kind: str, status: int, count: list[int]) -> None:
    encoding, pack = bombing.ANSWERS[kind]
    content = pack(bombing.gzipped(b"[],", SIZE, b"["))
    said = refusal_of_answer(Said(content, status, headers={"content-encoding": encoding}))
    words = f"the answer is packed by {encoding}, and was asked for unpacked" if status == 200 else "status 404"
    assert words in said
    assert not count


def test_what_a_redirect_holds_is_not_read(tmp_path: Path, count: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """httpx reads all of it, unpacked: 20 GB, twice."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bomb = gzip.compress(bombing.gzipped(b"\0", 50 * bombing.MEGA))
    headers = {"content-encoding": "gzip, gzip", "location": "/next.run"}
    turned, ranking = Said(bomb, 302, headers), Said(b"q Q0 d 1 1 t\n")
    with serving(lambda asked: ranking if asked.path == "/next.run" else turned) as server:
        described = System.model_validate({"name": "a", "file": f"{server.address}.run"})
        assert pull_source(described.source, RANKING, tmp_path).table.num_rows == 1
    with serving(lambda asked: turned) as server:
        described = System.model_validate({"name": "a", "file": f"{server.address}.run"})
        with pytest.raises(InputError, match="cannot be asked for: more than 20 redirects"):
            pull_source(described.source, RANKING, tmp_path)


# ---- what a whole process takes


@pytest.mark.slow
def test_what_refusing_one_takes(tmp_path: Path) -> None:
    """tests/bombing.py tries every kind at every place."""
    only = "judgments: zstd of zeros"
    assert bombing.main(["--size", "40", "--only", only]) == 0
    for _, arguments in bombing.all_files(tmp_path, 100 * bombing.MEGA, only):
        found = bombing.run_with_own_temporary_folder(arguments, tmp_path)
        assert found.is_within and found.said.startswith("ndcg-ab: ") and found.said.count("\n") == 1, found


def test_a_text_that_many_rows_share_counts_for_each(tmp_path: Path) -> None:
    """Parquet keeps it once: a file of kilobytes may become gigabytes."""
    path = tmp_path / "q.parquet"
    for size in (1 << 20, 1 << 10):
        texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array(["x" * size]))
        table = pa.table({"query_id": [str(number) for number in range(100)], "text": texts.cast(pa.string())})
        papq.write_table(table, path, dictionary_pagesize_limit=1 << 21)
        if size > 1 << 14:
            with pytest.raises(InputError, match=r"holds 100 rows of 2 columns, 104,857,600 bytes unpacked"):
                unpacking.open_table(path)
        else:
            unpacking.open_table(path).close()
