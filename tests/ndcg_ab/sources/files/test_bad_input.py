"""Bad input: one sentence that names the place, the value and the rule; exit code 2; nothing written."""

import gzip
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from tests.cases import read_cases
from tests.commands import invoke

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"
RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 a 1 0.5 t\n"
CSV = "query_id,doc_id,grade\n"
JSON = '{"query_id": "q1", "doc_id": "a", "grade": 1}\n'
MANY = "".join(f"q1 0 d{index} {index % 3}\n" for index in range(5000))

Case = tuple[str, str | bytes, list[str]]

# what is in the file named -> what must stand in the message
CASES = read_cases("bad_input")
JUDGMENTS: dict[str, Case] = CASES["JUDGMENTS"] | {
    "not UTF-8": ("q", b"q1 0 a 1\nq1 0 caf\xe9 1\n", [r"q, line 2: byte b'\xe9' is not UTF-8", "convert the file"]),
    "not UTF-8 in CSV": ("q.csv", CSV.encode() + b"q1,caf\xe9,1\n", [r"q.csv, line 2: byte b'\xe9' is not UTF-8"]),
    "not UTF-8 in a header": ("q.csv", b"query_id,doc_id,grad\xe9\n", [r"q.csv, line 1: byte b'\xe9' is not UTF-8"]),
    "not UTF-8 in JSON": ("q.jsonl", JSON.encode() + b'{"query_id": "\xe9"}', [r"q.jsonl, line 2: byte b'\xe9'"]),
    "not UTF-8 in a JSON id": ("q.jsonl", JSON.encode().replace(b'"a"', b'"\xe9"'), [r"q.jsonl, line 1: byte b'\xe9'"]),
    "UTF-16": ("q.csv", (CSV + "q1,a,1\n").encode("utf-16"), [r"q.csv, line 1: byte b'\xff' is not UTF-8 text"]),
    "a gzip cut at its head": ("q.gz", gzip.compress(MANY.encode())[:5], ["q.gz: the gzip file is broken"]),
    "a gzip with a wrong sum": ("q.csv.gz", gzip.compress(CSV.encode())[:-8] + b"12345678", ["gzip file is broken"]),
    "no gzip after all": ("q.jsonl.gz", b"\x1f\x8bnonsense", ["q.jsonl.gz: the gzip file is broken"]),
    "a number without end": ("q.jsonl", JSON.replace("1}", "1" * 5000 + "}"), ["q.jsonl: cannot be read as JSON"]),
    "a line without end": ("q.csv", CSV + "q" * (1 << 21), ["the line after line 1 is longer than 1,048,576 bytes"]),
    "a long id": (
        "q",
        "q1 0 a 1\nq1 0 " + "b" * 9000 + " good 1\n",
        ["q, line 2: 5 fields ('q1 0 bbbb", "bb…), a TREC judgment"],
    ),
}
RANKINGS: dict[str, Case] = CASES["RANKINGS"]
PARQUET: dict[str, tuple[dict[str, list[object] | pa.Array], list[str]]] = {
    "a missing column": ({"query_id": ["q"], "doc_id": ["d"]}, ["a.pq: there is no column 'grade'"]),
    "null": ({"query_id": ["q", "q"], "doc_id": ["d", None], "grade": [1, 1]}, ["a.pq, row 2: doc_id is missing"]),
    "NaN": (
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "grade": [1.0, float("nan")]},
        ["a.pq, row 2: grade = 'nan'"],
    ),
    "yes": ({"query_id": ["q"], "doc_id": ["d"], "grade": [True]}, ["a.pq: column 'grade' is of type bool"]),
    "a fraction": ({"query_id": [1.5], "doc_id": ["d"], "grade": [1]}, ["a.pq: column 'query_id' is of type double"]),
    "no row": (
        {"query_id": pa.array([], "string"), "doc_id": pa.array([], "string"), "grade": pa.array([], "double")},
        ["a.pq: there is no judgment in the file"],
    ),
}
# what is given to `compare` beside good judgments and a good ranking `old`
OPTIONS: dict[str, tuple[list[str], list[str]]] = CASES["OPTIONS"]
# every list holds the one before it nine times: what a few hundred bytes stand for would fill any memory
LAUGHS = b"name: t\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (at, at, b", ".join([b"*a%d" % (at - 1)] * 9 if at else [b"x"])) for at in range(12)
)
MERGED = b"a0: &a0 {k: 1}\n" + b"".join(
    b"a%d: &a%d {<<: [*a%d, *a%d, *a%d]}\n" % (at, at, *[at - 1] * 3) for at in range(1, 40)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "old.run").write_text(RUN)
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes | None]:
    ours = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {path: path.read_bytes() if path.is_file() else None for path in ours}


def refused(folder: Path, command: Sequence[str], words: Sequence[str]) -> None:
    """The command ends with exit code 2 and one sentence that has the words, and leaves the folder as it was."""
    before = contents(folder)
    found = invoke(command)
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    assert "InputError" not in found.stderr
    assert found.stderr.startswith("ndcg-ab: ")
    assert found.stderr.count("\n") == 1, found.stderr
    for word in words:
        assert word in found.stderr
    assert contents(folder) == before


def compare(folder: Path, *options: str, judgments: str = "qrels") -> list[str]:
    command = ["compare", "--judgments", str(folder / judgments), "--system", f"old={folder / 'old.run'}"]
    for option, name in (("--json", "out.json"), ("--per-query", "out.csv")):
        command += [option, str(folder / name)] * (option not in options)
    return [*command, *options]


def put(folder: Path, name: str, content: str | bytes) -> None:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("case", JUDGMENTS)
def test_bad_judgments(case: str, folder: Path) -> None:
    name, content, words = JUDGMENTS[case]
    put(folder, name, content)
    refused(folder, compare(folder, judgments=name), words)


@pytest.mark.parametrize("case", RANKINGS)
def test_a_bad_ranking(case: str, folder: Path) -> None:
    name, content, words = RANKINGS[case]
    put(folder, name, content)
    refused(folder, compare(folder, "--system", f"new={folder / name}"), words)


@pytest.mark.parametrize("case", PARQUET)
def test_bad_parquet(case: str, folder: Path) -> None:
    columns, words = PARQUET[case]
    papq.write_table(pa.table(columns), folder / "a.pq")
    refused(folder, compare(folder, judgments="a.pq"), words)


@pytest.mark.slow
def test_a_broken_column_of_a_parquet_file_ends_no_process(folder: Path) -> None:
    """The library ends the process over it where a group of rows is asked for what it says of its columns."""
    papq.write_table(pa.table({"query_id": ["q1"], "doc_id": ["a"], "grade": [1.0]}), folder / "a.pq")
    whole = (folder / "a.pq").read_bytes()
    may_be_null, never_null = b"\x25\x02\x18\x05grade", b"\x25\x00\x18\x05grade"
    assert whole.count(may_be_null) == 1
    (folder / "a.pq").write_bytes(whole.replace(may_be_null, never_null))
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "check", str(folder / "a.pq"), str(folder / "old.run")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "a.pq: the Parquet file is broken, write it again" in done.stderr


def test_parquet_with_text_that_is_none(folder: Path) -> None:
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xe9")])
    papq.write_table(pa.table({"query_id": ["q"], "doc_id": text, "grade": [1]}), folder / "a.pq")
    refused(folder, compare(folder, judgments="a.pq"), [r"a.pq, row 1: doc_id = b'\xe9': must be text that UTF-8"])


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option(case: str, folder: Path) -> None:
    options, words = OPTIONS[case]
    refused(folder, compare(folder, *(option.replace("{}", str(folder)) for option in options)), words)


def test_a_mapped_column_must_be_there(folder: Path) -> None:
    """Otherwise the ranks would order the results, and nobody would know."""
    put(folder, "old.run", '{"query_id": "q1", "doc_id": "a", "similarity": 1}\n')
    put(folder, "a.run", '{"query_id": "q1", "doc_id": "a", "rank": 1}\n')
    command = compare(
        folder, "--format", "jsonl", "--columns", "score=similarity", "--system", f"new={folder / 'a.run'}"
    )
    refused(folder, command, ["a.run, line 1: there is no column 'similarity' for score"])


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["c.yaml: there is no such configuration file"]),
        (b"", ["c.yaml: must hold keys and values"]),
        (b"name: t\njudgments: [q\n", ["c.yaml, line 3: is not YAML"]),
        (b"name: t\n\tjudgments: q\n", ["c.yaml, line 2: is not YAML: found character '\\t'"]),
        (b"name: t\nname: u\n", ["c.yaml, line 2: is not YAML: key 'name' is given twice"]),
        (b"name: t\n#\n# caf\xe9\n", [r"c.yaml, line 3: byte b'\xe9' is not UTF-8 text"]),
        (b"name: t\n# \0\n", ["c.yaml, line 2: is not YAML"]),
        (LAUGHS, ["c.yaml, line 7: is not YAML: more than 100,000 values, counting what aliases repeat"]),
        (b"name: t\n" + MERGED, ["is not YAML: more than 100,000 values"]),
        (b"name: &n [*n]\n", ["c.yaml, line 1: is not YAML: 'n' refers to something that contains it"]),
        (b"name: " + b"[" * 3000, ["c.yaml, line 1: is not YAML: more than 50 lists and mappings inside each other"]),
        (b"name: t\ngate: !!bool maybe\n", ["c.yaml, line 2: is not YAML: 'maybe' is not of the kind 'bool'"]),
        (b"name: t\ngate: !!set [a]\n", ["c.yaml: is not YAML: a value does not fit its tag"]),
        (b"#" * (1 << 21), ["c.yaml: is larger than 1,048,576 bytes"]),
        (
            b"name: t\njudgments: q\nsystems: [{name: a, file: a}]\nstatistics: {alpha: " + b"x" * 90_000 + b"}\n",
            [f"statistics.alpha = '{'x' * 79}…: must be a"],
        ),
    ],
)
def test_a_bad_configuration(command: str, content: bytes | None, words: list[str], folder: Path) -> None:
    if content is not None:
        put(folder, "c.yaml", content)
    refused(folder, [command, str(folder / "c.yaml")], words)
