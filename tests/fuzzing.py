"""Malformed files for every reader: always a result or a sentence, the same from both ways.

    python -m tests.fuzzing --seconds 3600 [--seed N] [--keep build/fuzz]

Good files of every format and form are broken in ways that files are broken by, several at once.  Each goes through
the fast reader and the careful one, which must give the same table or both refuse; what they raise must be an
InputError, whose message is short and names the file.  A failing input is kept, and the command ends with 1.
"""

import faulthandler
import gzip
import json
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab.config.model.inputs.sources import ScoresSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources import JUDGMENT, RANKING, Layout, pull_source
from ndcg_ab.sources.external_scores import PULLED
from ndcg_ab.sources.files.file import read_if_clean
from ndcg_ab.sources.forms.form import EVENTS, SCORES
from ndcg_ab.sources.forms.recognition import FORMS, recognise_file
from ndcg_ab.sources.tables.schema import query_layout
from ndcg_ab.studies.power import read_scores
from tests.paths import shared
from tests.readings import read_carefully, read_table, reading_of
from tests.repeated import read_options, require_work

LONGEST_MESSAGE = 3000  # characters, beside the path
SLOWEST = 10.0  # seconds
QUERIES = query_layout(blanks={"kind": "(none)"})
LAYOUTS: dict[str, Layout] = {"judgments": JUDGMENT, "ranking": RANKING, "queries": QUERIES}
FORMATS = ("trec", "csv", "tsv", "jsonl", "json", "parquet")
OF_FORM = "form"  # a file that is read by its form, whatever it is called
ROWS = [(f"q{query}", f"d{document}", 9 - document) for query in range(4) for document in range(5)]
MAPPINGS: list[dict[str, str]] = [
    *([{}] * 12),
    {"doc_id": "query_id"},
    {"score": "rank"},
    {"score": "rank", "rank": "score"},
    {"grade": "doc_id"},
    {"doc_id": "url"},
]
# What is put in the place of a value, or anywhere.
VALUES = [
    *(
        b"",
        b" ",
        b"0",
        b"-1",
        b"1,5",
        b"0x1F",
        b"0X1f",
        b"1e5",
        b"1e999",
        b"1e-999",
        b"nan",
        b"NaN",
        b"inf",
        b"-Infinity",
    ),
    *(
        b"9007199254740993",
        b"-9223372036854775808",
        b"99999999999999999999",
        b"1_000",
        b"+3",
        b".5",
        b"5.",
        b"3.0",
        b"2.5",
    ),
    *(
        b"null",
        b"true",
        b"None",
        b"NA",
        b"high",
        b'"',
        b'""',
        b'"q"9"',
        b'"a""b"',
        b"'",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
    ),
    *(
        b"#",
        b"# a comment",
        b"# one two three 4 five",
        b"\0",
        b"\x01",
        b"\x1a",
        b"\x7f",
        b"\xe9",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
    ),
    *(
        "\u00a0".encode(),
        "\u200b".encode(),
        "\u2028".encode(),
        "\u0663".encode(),
        "\ud83d\ude42".encode(errors="replace"),
    ),
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\t", b"\v", b"\f", b",", b";", b"|", b"  ", b"\\u0000", b"\\ud800", b"\\n"),
    *(
        b"null\n",
        b"{}",
        b"[]",
        b"{}\n",
        b'{"query_id": "q1"}',
        b'"query_id": "q9", ',
        b'"x": NaN, ',
        b'"x": [[[[1]]]], ',
    ),
    *(
        b"x" * 300,
        b"y" * 200_000,
        b"[" * 200,
        b"[" * 20_000,
        b"9" * 5000,
        b"query_id,doc_id,grade\n",
        b"q1 Q0 d1 1 0.5 t\n",
    ),
]


def good(kind: str, file_format: str) -> bytes:
    """A file without a fault."""
    names, rows = table_of(kind)
    if file_format == "parquet":
        stream = pa.BufferOutputStream()
        papq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), stream)
        return bytes(stream.getvalue())
    records = [dict(zip(names, row, strict=True)) for row in rows]
    if file_format == "jsonl":
        return "".join(json.dumps(record) + "\n" for record in records).encode()
    if file_format == "json":
        return json.dumps(records, indent=1).encode()
    if file_format == "trec":
        shaped = [(q, 0, d, v) if kind == "judgments" else (q, "Q0", d, 10 - v, v / 8, "tag") for q, d, v in ROWS]
        return "".join(" ".join(map(str, row)) + "\n" for row in shaped).encode()
    delimiter = "," if file_format == "csv" else "\t"
    lines = [names, *([f'"{cell}"' if index % 3 == 0 else str(cell) for index, cell in enumerate(row)] for row in rows)]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


def table_of(kind: str) -> tuple[list[str], list[tuple[object, ...]]]:
    if kind == "judgments":
        return ["query_id", "doc_id", "grade", "note"], [(q, d, v, "n") for q, d, v in ROWS]
    if kind == "ranking":
        return ["query_id", "doc_id", "score", "rank"], [(q, d, v / 8, 10 - v) for q, d, v in ROWS]
    return ["query_id", "text", "weight", "kind"], [(f"q{at}", f"text {at}", at + 1, "k") for at in range(6)]


def mutated(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    """The content with one to four faults."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        content = chance.choice(FAULTS)(content, chance, values)
    return content


def insert(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    at = chance.randint(0, len(content))
    return content[:at] + chance.choice(values) + content[at:]


def replace_word(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    words = list(re.finditer(rb"[^\s,:\"{}\[\]]+", content))
    if not words:
        return content
    word = chance.choice(words)
    return content[: word.start()] + chance.choice(values) + content[word.end() :]


def flip(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    if not content:
        return content
    at = chance.randrange(len(content))
    return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]


def cut(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    return content[: chance.randint(0, len(content))]


def delete(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    first, last = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:first] + content[min(last, first + 9) :]


def double(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    first, last = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:last] + content[first:last] + content[last:]


def join_lines(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    lines = content.splitlines(keepends=True)
    at = chance.randrange(len(lines)) if lines else 0
    return b"".join(line.rstrip(b"\r\n") if index == at else line for index, line in enumerate(lines))


def shuffle(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    lines = content.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def exchange(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    """One sign everywhere for another: line ends, delimiters, quotes."""
    signs = [b"\n", b"\r\n", b"\r", b" ", b"\t", b",", b";", b"  ", b'"', b"'", b":", b"1", b"q"]
    return content.replace(chance.choice(signs), chance.choice(signs))


def encode(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    """In an encoding of others."""
    text = content.decode(errors="replace")
    encoding = chance.choice(["utf-16", "utf-16-le", "utf-8-sig", "cp1252", "utf-32"])
    return text.replace("d", "\u00e9").encode(encoding, errors="replace")


def pack(content: bytes, chance: random.Random, values: list[bytes]) -> bytes:
    packed = gzip.compress(content, 1)
    return chance.choice([packed, packed + packed, packed + b"garbage", packed + b"\0" * 9, packed[:-5], packed[:9]])


FAULTS: list[Callable[[bytes, random.Random, list[bytes]], bytes]] = [
    *(insert, insert, replace_word, replace_word, replace_word, flip, flip, cut, delete, double, join_lines),
    *(shuffle, exchange, encode, pack),
]


def typed_parquet(kind: str, chance: random.Random) -> bytes:
    """A whole Parquet file with columns of types, and nulls, that nobody expects."""
    names, rows = table_of(kind)
    columns = {}
    for name, values in zip(names, map(list, zip(*rows, strict=True)), strict=True):
        array = pa.array([None if chance.random() < 0.02 else value for value in values])
        for target in chance.sample(TYPES, 2):
            try:
                array = array.cast(target)
            except pa.ArrowException:
                continue
        columns[name] = array
    stream = pa.BufferOutputStream()
    papq.write_table(pa.table(columns), stream)
    return bytes(stream.getvalue())


TYPES = [
    *(pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_()),
    *(pa.timestamp("us"), pa.date32(), pa.time64("us"), pa.duration("s"), pa.decimal128(20, 3), pa.binary(2)),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()), pa.int64(), pa.float64()),
]


def inputs(chance: random.Random) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """(kind, format, content, columns) without end."""
    originals = {
        (kind, each): good(kind, each) for kind in LAYOUTS for each in FORMATS if (kind, each) != ("queries", "trec")
    }
    forms = form_samples()
    while True:
        if chance.random() < 0.5:
            kind, content = chance.choice(forms)
            yield kind, OF_FORM, mutated(content, chance, VALUES), {}
            continue
        kind, file_format = chance.choice(list(originals))
        content = originals[kind, file_format]
        if file_format == "parquet" and chance.random() < 0.5:
            content = typed_parquet(kind, chance)
        if file_format != "parquet" or chance.random() < 0.7:
            content = mutated(content, chance, VALUES)
        yield kind, file_format, content, chance.choice(MAPPINGS)


def form_samples() -> list[tuple[str, bytes]]:
    """(kind, content) of every form: its own sample, and the published cases if they are here."""
    found = [(form.kind, form.sample.encode()) for form in FORMS if form.kind != EVENTS]
    data = shared()
    for path in sorted((data.parent / "cases" / "forms").glob("*")) if data is not None else ():
        kinds = ("judgments" if path.name.startswith("j") else SCORES if path.name.startswith("s_") else "ranking",)
        found += [(kind, path.read_bytes()) for kind in kinds if path.suffix not in (".tsv", ".ndjson")]
    return found


class FoundError(Exception):
    """A reader did what it must not do."""


def outcome_of(read: Callable[[], pa.Table | None], path: Path) -> pa.Table | str | None:
    """The table, or the message of what was refused; FoundError for anything else."""
    try:
        return read()
    except InputError as error:
        message = str(error)
        if path.name not in message or len(message.replace(str(path), "")) > LONGEST_MESSAGE:
            raise FoundError(f"not a sentence with its file: {message[:300]!r}") from error
        return message
    except Exception as error:
        raise FoundError(f"a traceback: {''.join(traceback.format_exception(error))}") from error


def check_file(path: Path, layout: Layout, file_format: str, columns: dict[str, str]) -> str | None:
    """Both ways through a file; FoundError where they do not agree. The message where it is refused."""
    told = {"json": "jsonl", OF_FORM: None}.get(file_format, file_format)
    whole = outcome_of(lambda: read_table(path, layout, told, columns), path)
    if path.stat().st_size:
        fast = None
        try:
            fast = read_if_clean(path, layout, reading_of(path, layout.kind, told, columns))
        except Exception:  # what `read_file` made of it is known already
            fast = None
        careful = outcome_of(lambda: read_carefully(path, layout, told, columns), path)
        if fast is not None and (isinstance(careful, str) or same(fast, layout) != same(careful, layout)):
            raise FoundError(f"the fast reader gives {fast.to_pylist()}, the careful one {careful}")
    return whole if isinstance(whole, str) else None


def same(table: pa.Table | None, layout: Layout) -> object:
    return repr(table.cast(layout.schema).to_pylist()) if table is not None else None


def check_one(folder: Path, kind: str, file_format: str, content: bytes, columns: dict[str, str]) -> str | None:
    """One input through everything that reads such a file; FoundError for what must not be."""
    path = folder / f"input.{'txt' if file_format == 'trec' else file_format}"
    path.write_bytes(content)
    start = time.monotonic()
    if kind == SCORES:
        source = ScoresSource(file=path, system="a")
        scores = outcome_of(lambda: pull_source(source, PULLED, folder).table, path)
        message = scores if isinstance(scores, str) else None
    else:
        columns = {field: name for field, name in columns.items() if field in LAYOUTS[kind].schema.names}
        message = check_file(path, LAYOUTS[kind], file_format, columns)
    outcome_of(lambda: recognise_file(path) and None, path)
    if file_format in ("csv", "parquet"):
        outcome_of(lambda: read_scores(path) and None, path)
    if time.monotonic() - start > SLOWEST:
        raise FoundError(f"took {time.monotonic() - start:.1f} s")
    return message


def run(seconds: float, seed: int, folder: Path, keep: Path | None = None) -> tuple[int, list[str]]:
    """(how many inputs, what was found); failing inputs are copied to `keep`."""
    chance = random.Random(seed)
    found: list[str] = []
    end = time.monotonic() + seconds
    of_forms = 0
    for count, (kind, file_format, content, columns) in enumerate(inputs(chance)):
        if count and time.monotonic() > end:  # making the first takes seconds on a busy machine
            print(f"{of_forms} of the inputs are of forms")
            return count, found
        try:
            of_forms += file_format == OF_FORM
            check_one(folder, kind, file_format, content, columns)
        except FoundError as error:
            name = f"input.{'txt' if file_format == 'trec' else file_format}"
            found.append(f"seed {seed}, input {count} ({kind} {file_format} {columns}): {error}")
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}-{count}-{kind}-{name}").write_bytes((folder / name).read_bytes())
    raise AssertionError("inputs have no end")


def main() -> int:
    options = read_options(__doc__, None, seconds=3600.0, keep=Path("build/fuzz"))
    faulthandler.enable()
    options.keep.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}: inputs are written to {options.keep}, and the last one stays there after a crash")
    count, found = run(options.seconds, options.seed, options.keep, options.keep / "found")
    for each in found:
        print(each)
    print(f"{count} inputs, {len(found)} of them wrong")
    require_work("fuzzing", inputs=count)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
