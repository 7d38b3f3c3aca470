"""Files and answers of some kilobytes that unpack to gigabytes, and what refusing them costs a whole process.

``python -m tests.bombing`` tries every kind at every place, and prints processor time, memory and disk of each.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
from pyarrow import feather, ipc

from tests.loopback import Said, serving
from tests.paths import DATA
from tests.repeated import read_options, require_work

SECONDS, MEMORY, DISK = 2.0, 300_000_000, 100_000_000  # what refusing one may take, of a whole process
MEGA = 1 << 20
LINES = {
    "ranking": b"".join(b"q Q0 d%d %d 1 t\n" % (rank, rank) for rank in range(1, 11)),
    "judgments": b"".join(b"q 0 d%d 0\n" % index for index in range(10)),
    "queries": b"q\ttext\n" * 1000,
    "documents": b"d\ttitle\n" * 1000,
    "scores": b"ndcg\t" + b"q" * 500 + b"\t1\n",
}
HEADS = {"queries": b"query_id\ttext\n", "documents": b"doc_id\ttitle\n"}


def gzipped(piece: bytes, size: int, before: bytes = b"") -> bytes:
    """Gzip of a beginning and `size` bytes of a piece again and again."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = piece * max(1, MEGA // len(piece))
    parts = [packer.compress(before), *(packer.compress(block) for _ in range(size // len(block)))]
    return b"".join([*parts, packer.flush()])


def zstandard(piece: bytes, size: int, before: bytes = b"", codec: str = "zstd") -> bytes:
    found = pa.BufferOutputStream()
    block = piece * max(1, MEGA // len(piece))
    with pa.CompressedOutputStream(found, codec) as packer:
        packer.write(before)
        for _ in range(size // len(block)):
            packer.write(block)
    return bytes(found.getvalue().to_pybytes())


def zipped(content: bytes, way: int = zipfile.ZIP_DEFLATED) -> bytes:
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", way) as archive:
        archive.writestr("bomb", content)
    return found.getvalue()


def table_of_rows(path: Path, rows: int) -> None:
    """A billion rows of the same values are some kilobytes."""
    columns = {"query_id": "q", "doc_id": "d", "score": 1.0, "grade": 1.0, "text": "t"}
    group = pa.table({name: pa.repeat(pa.scalar(value), MEGA) for name, value in columns.items()})
    with papq.ParquetWriter(path, group.schema) as writer:
        for _ in range(rows // MEGA):
            writer.write_table(group)


def table_of_one_text(path: Path, size: int) -> None:
    """A text of a megabyte in every row is kept once."""
    columns = {name: pa.repeat(pa.scalar("x" * MEGA), 1) for name in ("query_id", "doc_id", "text")}
    rows = size // MEGA + 1
    index = pa.repeat(pa.scalar(0, pa.int32()), rows)
    table = pa.table({name: pa.DictionaryArray.from_arrays(index, column) for name, column in columns.items()})
    numbers = pa.table(dict.fromkeys(("score", "grade"), pa.repeat(pa.scalar(1.0), rows)))
    for name in numbers.column_names:
        table = table.append_column(name, numbers[name])
    papq.write_table(table, path, dictionary_pagesize_limit=2 * MEGA)


def arrow_of_rows(path: Path, rows: int) -> None:
    """A billion rows of the same values, which zstd packs into kilobytes."""
    piece = pa.table(dict.fromkeys(("query_id", "doc_id", "score", "grade", "text"), pa.repeat(pa.scalar(1.0), MEGA)))
    with ipc.new_stream(path, piece.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        for _ in range(rows // MEGA):
            writer.write_table(piece)


def arrow_of_one_text(path: Path, size: int) -> None:
    """Many rows, each of which names one long text in a dictionary."""
    ids = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), size // 1000), ["x" * MEGA])
    names = ("query_id", "doc_id", "grade", "score", "text", "metric", "value", "weight")
    feather.write_feather(pa.table(dict.fromkeys(names, ids)), path)


def table_of_pages(path: Path, size: int) -> None:
    """Few rows, whose texts are pages of zeros."""
    text = "x" * (10 * MEGA)
    ids = [f"{at}{text}" for at in range(size // len(text))]
    ones = [1.0] * len(ids)
    table = pa.table({"query_id": ids, "doc_id": ids, "score": ones, "grade": ones, "text": ids})
    papq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)


def bombs(place: str, size: int) -> dict[str, tuple[str, Callable[[], bytes]]]:
    """Kind -> (ending of its name, its content) of every kind of packed text; size: what they unpack to."""
    head, lines = HEADS.get(place, b""), LINES[place]
    noise = os.urandom(MEGA).hex().encode()
    return {
        "gzip of lines": (".gz", lambda: gzipped(lines, size, head)),
        "gzip of zeros": (".gz", lambda: gzipped(b"\0" * 1000, size)),
        "gzip, twice": (".gz", lambda: gzip.compress(gzipped(lines, size, head))),
        "gzip, sparse first": (".gz", lambda: gzipped(lines, size, noise)),
        "gzip in many members": (".gz", lambda: gzipped(lines, size // 5, head) * 5),
        "gzip of a line": (".gz", lambda: gzipped(b"a" * 1000, size)),
        "gzip of brackets": (".json.gz", lambda: gzipped(b"[],", size, b"[")),
        "lz4 of lines": (".lz4", lambda: zstandard(lines, size, head, "lz4")),
        "xz of lines": (".xz", lambda: lzma.compress(head + lines * (size // len(lines)))),
        "xz of zeros": (".xz", lambda: lzma.compress(bytes(size))),
        "bzip2 of lines": (".bz2", lambda: bz2.compress(head + lines * (size // len(lines)))),
        "bzip2 of zeros": (".bz2", lambda: bz2.compress(bytes(size))),
        "ZIP of lines": (".zip", lambda: zipped(head + lines * (size // len(lines)))),
        "ZIP of gzip": (".zip", lambda: zipped(gzipped(lines, size, head))),
        "ZIP by bzip2": (".zip", lambda: zipped(bytes(size), zipfile.ZIP_BZIP2)),
        "zstd of lines": (".zst", lambda: zstandard(lines, size, head)),
        "zstd of zeros": (".zst", lambda: zstandard(b"\0" * 1000, size)),
        "zstd, sparse first": (".zst", lambda: zstandard(lines, size, noise)),
    }


# ---- what a whole process takes


@dataclass(frozen=True)
class Taken:
    """What a process took: seconds of processor time, bytes of memory at its peak, bytes on disk at their peak."""

    code: int
    said: str
    seconds: float
    memory: int
    disk: int

    @property
    def is_within(self) -> bool:
        return self.code == 2 and self.seconds <= SECONDS and self.memory <= MEMORY and self.disk <= DISK


def run_with_own_temporary_folder(arguments: list[str], folder: Path) -> Taken:
    """The command run with a folder of temporary files of its own."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "", "COLUMNS": "200"}
    most = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.02):
            most = max(most, size_of(temporary))

    watcher = threading.Thread(target=watch)
    watcher.start()
    command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "ndcg_ab.flows.cli.main", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    over.set()
    watcher.join()
    code, seconds, memory = found.stdout.split()[-3:]
    return Taken(int(code), found.stderr, float(seconds), int(memory) * 1024, most)


# A small process in between: a child's peak begins with what the process that started it takes.
MEASURED = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def size_of(folder: Path) -> int:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(above) / name).stat().st_size
    return total


def command(place: str, path: Path) -> list[str]:
    """The command that reads a file at a place."""
    judgments, old, new = (str(DATA / name) for name in ("judgments.qrels", "old.run", "new.run"))
    systems = ["--system", f"old={old}", "--system", f"new={new}"]
    if place == "ranking":
        return ["compare", "--judgments", judgments, "--system", f"old={old}", "--system", f"new={path}"]
    if place == "judgments":
        return ["compare", "--judgments", str(path), *systems]
    if place == "scores":
        return ["compare", "--scores", f"a={path}", "--scores", f"b={path}"]
    option = ["--queries", str(path)] if place == "queries" else ["--documents", str(path), "--report", "r.html"]
    return ["compare", "--judgments", judgments, *systems, *option]


ENDINGS = {"ranking": ".run", "judgments": ".qrels", "queries": ".tsv", "documents": ".tsv", "scores": ".txt"}


def all_files(folder: Path, size: int, only: str = "") -> Iterator[tuple[str, list[str]]]:
    """(place and kind, command) of everything that is read from files, each of them there while it is asked for.

    only: what stands in their names.
    """
    for place, ending in ENDINGS.items():
        for kind, (packed, make) in bombs(place, size).items():
            if only in (name := f"{place}: {kind}"):
                path = folder / f"bomb{ending if packed.count('.') == 1 else ''}{packed}"
                path.write_bytes(make())
                yield name, command(place, path)
                path.unlink()
        for kind, write, much in (
            ("Parquet of rows", table_of_rows, 64 * MEGA),
            ("Parquet of pages", table_of_pages, size),
            ("Parquet of one text", table_of_one_text, size),
            ("Arrow of rows", arrow_of_rows, 64 * MEGA),
            ("Arrow of one text", arrow_of_one_text, size),
        ):
            if only in (name := f"{place}: {kind}"):
                path = folder / "bomb.parquet"
                write(path, much)
                yield name, command(place, path)
                path.unlink()


ANSWERS = {
    "gzip": ("gzip", lambda bomb: bomb),
    "gzip, gzip": ("gzip, gzip", gzip.compress),
    "gzip within gzip": ("gzip", gzip.compress),
    "deflate": ("deflate", lambda bomb: zlib.compress(gzip.decompress(bomb))),
    "br": ("br", lambda bomb: bomb),
    "zstd": ("zstd", lambda bomb: zstandard(b"[],", 100 * MEGA)),
    "gzip that is none": ("gzip", lambda bomb: b"nonsense" * 1000),
}
CONFIG = """
name: bombed
judgments: {data}/judgments.qrels
queries: {data}/queries.tsv
systems:
  - {{name: old, file: {data}/old.run}}
  - {{name: new, {new}}}
"""
HTTP = """http: {{url: "{address}", parameters: {{q: "{{query}}"}}, retries: 0}}"""


def checking(folder: Path, new: str) -> list[str]:
    path = folder / "bombed.yaml"
    path.write_text(CONFIG.format(data=DATA, new=new))
    return ["check", str(path)]


def all_answers(folder: Path, size: int, only: str = "") -> Iterator[tuple[str, list[str]]]:
    """The same of everything that is read from servers."""
    bomb = gzipped(b"[],", size, b"[")
    for status in (200, 500):
        for kind, (encoding, pack) in ANSWERS.items():
            if only not in f"answer {status}: {kind}":
                continue
            said = Said(pack(bomb), status=status, headers={"content-encoding": encoding})
            with serving(lambda _, said=said: said) as server:
                yield f"answer {status}: {kind}", checking(folder, HTTP.format(address=server.address))
    turned = Said(gzip.compress(bomb), 302, {"content-encoding": "gzip, gzip", "location": "/next"})
    with serving(lambda _: turned) as server:
        yield "web: redirects", checking(folder, f"file: {server.address}.run")
    for kind, content in (("gzip", bomb), ("gzip, gzip", gzip.compress(bomb)), ("zstd", zstandard(b"q ", size))):
        said = Said(content, headers={"content-encoding": kind})
        with serving(lambda _, said=said: said) as server:
            yield f"web: {kind}", checking(folder, f"file: {server.address}.run")


def main(words: Sequence[str] | None = None) -> int:
    """size: megabytes that each unpacks to; only: what stands in the names of those that are tried."""
    given = read_options(__doc__, words, size=400, only="")
    folder = Path(tempfile.mkdtemp(prefix="bombing-"))
    worst: list[str] = []
    count, began = 0, time.monotonic()
    try:
        for cases in (all_files, all_answers):
            for kind, arguments in cases(folder, given.size * MEGA, given.only):
                if given.only not in kind:
                    continue
                found = run_with_own_temporary_folder(arguments, folder)
                count += 1
                line = (
                    f"{kind:32}{found.code:4}{found.seconds:7.2f} s{found.memory / 1e6:7.0f} MB"
                    f"{found.disk / 1e6:7.1f} MB  {found.said.strip()[:200]!r}"
                )
                print(line if found.is_within else f"{line}  TOO MUCH", flush=True)
                worst += [] if found.is_within else [kind]
    finally:
        shutil.rmtree(folder)
    require_work("bombing", bombs=count)
    print(f"{count} bombs in {time.monotonic() - began:.0f} s, {len(worst)} of them cost too much: {', '.join(worst)}")
    return bool(worst)


if __name__ == "__main__":
    sys.exit(main())
