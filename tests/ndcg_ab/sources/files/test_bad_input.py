"""Bad input: one sentence that names the place, the value and the rule; exit code 2; nothing written."""

import gzip
import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from tests.commands import invoke

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n"
RUN = "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 t\nq2 Q0 a 1 0.5 t\n"
CSV = "query_id,doc_id,grade\n"
RANKS = "query_id,doc_id,score\n"
JSON = '{"query_id": "q1", "doc_id": "a", "grade": 1}\n'
MANY = "".join(f"q1 0 d{place} {place % 3}\n" for place in range(5000))

Case = tuple[str, str | bytes, list[str]]

# what is in the file named -> what must stand in the message
JUDGMENTS: dict[str, Case] = {
    "empty": ("q", "", ["q: the file is empty"]),
    "blank": ("q", "\n \n", ["q: there is no judgment in the file"]),
    "only a header": ("q.csv", CSV, ["q.csv: there is no judgment in the file"]),
    "too few fields": (
        "q",
        "q1 0 a 1\n\nq1 b 1\n",
        ["q, line 3: 3 fields ('q1 b 1')", "has 4 (query_id 0 doc_id grade)"],
    ),
    "too few fields, two spaces": ("q", "q1 0 a 1\nq1  b 1\n", ["q, line 2: 3 fields ('q1  b 1')"]),
    "too many fields": ("q", "q1 0 a 1\nq1 0 b 1 0\n", ["q, line 2: 5 fields", "say which"]),
    "too many fields, by a tab": ("q", "q1 0 a 1\nq1 0\tx b 1\n", ["q, line 2: 5 fields"]),
    "a line broken in two": ("q", "q1 0 a\r1\n", ["q, line 1: 3 fields ('q1 0 a')"]),
    "one field": ("q", "q1\n", ["q, line 1: 1 field (", "if the file is of another format, say which"]),
    "a grade that is no number": ("q", "q1 0 a 1\nq1 0 b good\n", ["q, line 2: grade = 'good': must be a number"]),
    "a grade in other digits": ("q", "q1 0 a ٣\n", ["q, line 1: grade = '٣': must be a number"]),
    "a grade that is NaN": ("q", "q1 0 a 1\nq1 0 b NaN\n", ["q, line 2: grade = 'NaN': must be a finite number"]),
    "an infinite grade": ("q", "q1 0 a -inf\n", ["q, line 1: grade = '-inf': must be a finite number"]),
    "a grade beyond all": ("q", "q1 0 a 1e999\n", ["q, line 1: grade = '1e999': must be a finite number"]),
    "contradiction": (
        "q",
        "q1 0 a 1\nq1 0 b 1\nq1 0 a 2\n",
        ["q, lines 1 and 3: document 'a' of query 'q1'", "1 and 2"],
    ),
    "not UTF-8": ("q", b"q1 0 a 1\nq1 0 caf\xe9 1\n", [r"q, line 2: byte b'\xe9' is not UTF-8", "convert the file"]),
    "not UTF-8 in CSV": ("q.csv", CSV.encode() + b"q1,caf\xe9,1\n", [r"q.csv, line 2: byte b'\xe9' is not UTF-8"]),
    "not UTF-8 in a header": ("q.csv", b"query_id,doc_id,grad\xe9\n", [r"q.csv, line 1: byte b'\xe9' is not UTF-8"]),
    "not UTF-8 in JSON": ("q.jsonl", JSON.encode() + b'{"query_id": "\xe9"}', [r"q.jsonl, line 2: byte b'\xe9'"]),
    "not UTF-8 in a JSON id": ("q.jsonl", JSON.encode().replace(b'"a"', b'"\xe9"'), [r"q.jsonl, line 1: byte b'\xe9'"]),
    "UTF-16": ("q.csv", (CSV + "q1,a,1\n").encode("utf-16"), [r"q.csv, line 1: byte b'\xff' is not UTF-8 text"]),
    "a zero byte": ("q.csv", CSV + "q1,a\0,1\n", ["q.csv, line 2: holds a zero byte"]),
    "a gzip cut short": (
        "q.gz",
        gzip.compress(MANY.encode())[:-2000],
        ["q.gz: the gzip file is broken, write it again"],
    ),
    "a gzip cut at its head": ("q.gz", gzip.compress(MANY.encode())[:5], ["q.gz: the gzip file is broken"]),
    "a gzip with a wrong sum": ("q.csv.gz", gzip.compress(CSV.encode())[:-8] + b"12345678", ["gzip file is broken"]),
    "no gzip after all": ("q.jsonl.gz", b"\x1f\x8bnonsense", ["q.jsonl.gz: the gzip file is broken"]),
    "a missing column": (
        "q.csv",
        "query_id,doc_id,grades\nq1,a,1\n",
        ["no column 'grade'", "say --judgments-columns grade=grades"],
    ),
    "no such column at all": (
        "q.tsv",
        "qid\turl\tx\n",
        ["'grade' for grade (columns: qid, url, x)", "say --judgments-columns grade=COLUMN"],
    ),
    "a column twice": ("q.csv", "query_id,doc_id,doc_id,grade\nq,a,b,1\n", ["q.csv: column 'doc_id' is there 2 times"]),
    "few fields in CSV": ("q.csv", CSV + "q1,a,1\nq1,b\n", ["q.csv, line 3: 2 fields, the header names 3"]),
    "many fields in CSV": ("q.csv", CSV + 'q1,"a\nb",1\nq1,b,1,2\n', ["q.csv, line 4: 4 fields, the header names 3"]),
    "nothing in a field": ("q.csv", CSV + "q1,,1\n", ["q.csv, line 2: doc_id is empty: every row needs one"]),
    "no grade in CSV": ("q.csv", CSV + "q1,a,\n", ["q.csv: there is no judgment in the file"]),
    "a quote that never ends": ("q.csv", CSV + 'q1,a,1\nq1,"b,1\nq2,c,1\n', ["q.csv, line 3: cannot be read as CSV"]),
    "a quote that ends late": ("q.csv", CSV + 'q1,"a,1\nq2,"b",1\n', ["q.csv, line 2: cannot be read as CSV"]),
    "no JSON": ("q.jsonl", JSON + "{'query_id': 'q1'}\n", ["q.jsonl, line 2: is not JSON", "one JSON object"]),
    "a JSON list of lists": (
        "q.json",
        '[\n["q1", "a", 1]]\n',
        ["q.json, entry 1: ['q1', 'a', 1]: every entry of the list must be an object"],
    ),
    "a JSON list cut short": ("q.json", f"[{JSON}", ["q.json, line 2: is not JSON (Expecting ',' delimiter at char"]),
    "a second JSON list": ("q.json", f"[{JSON}]\n[]", ["q.json, line 3: is not JSON (Extra data at character 1)"]),
    "a grade in a JSON list": (
        "q.json",
        f"[{JSON},\n{JSON.replace('1}', 'true}')}]",
        ["q.json, entry 2: grade = True: must be a number"],
    ),
    "JSON of documents, a number beside": (
        "q.json",
        '{"q1": {"a": 1},\n"q2": 3}',
        ["q.json: {", "has no form that is known", "{query_id: {doc_id: grade}}"],
    ),
    "JSON of documents, a bad grade": (
        "q.json",
        '{\n"q1": {"a": 1,\n"b": "good"}}',
        ["q.json, query 'q1', document 'b': grade = 'good': must be a number"],
    ),
    "JSON of documents, one twice": (
        "q.json",
        '{"q1": {"a": 1}, "q2": {"b": 1, \n"b": 2}}',
        ["q.json: cannot be read as JSON: key 'b' comes twice in one object"],
    ),
    "JSON of documents, a query twice": (
        "q.json",
        '{"q1": {"a": 1}, "q2": {"b": 1},\n"q1": {"c": 2}}',
        ["q.json: cannot be read as JSON: key 'q1' comes twice in one object: a key must come once"],
    ),
    "a missing key": (
        "q.jsonl",
        JSON + '{"query_id": "q1", "that": "b", "grade": 1}\n',
        ["line 2: there is no column 'doc_id'"],
    ),
    "null": ("q.jsonl", JSON.replace("1}", "null}"), ["q.jsonl: there is no judgment in the file"]),
    "NaN in JSON": ("q.jsonl", JSON.replace("1}", "NaN}"), ["q.jsonl, line 1: grade = 'nan': must be a finite number"]),
    "a yes for a grade": ("q.jsonl", JSON.replace("1}", "true}"), ["q.jsonl, line 1: grade = True: must be a number"]),
    "a fraction for an id": (
        "q.jsonl",
        JSON.replace('"a"', "1.5"),
        ["line 1: doc_id = 1.5: must be text or a whole number"],
    ),
    "a yes for an id": ("q.jsonl", JSON.replace('"a"', "true"), ["line 1: doc_id = True: must be text or a whole"]),
    "half a letter": (
        "q.jsonl",
        JSON.replace('"a"', r'"\ud800"'),
        [r"line 1: doc_id = '\ud800': must be text that UTF-8"],
    ),
    "a number without end": ("q.jsonl", JSON.replace("1}", "1" * 5000 + "}"), ["q.jsonl: cannot be read as JSON"]),
    "no Parquet": ("q.parquet", "PAR1 nonsense PAR1", ["q.parquet: is not a Parquet file"]),
    "a key twice": (
        "q.jsonl",
        JSON.replace('"a"', '"a", "doc_id": "b"'),
        ["line 1: cannot be read as JSON: key 'doc_id'"],
    ),
    "a quote inside a field": ("q.csv", CSV + 'q1,"q"9",1\n', ["q.csv, line 2: cannot be read as CSV"]),
    "null in the place of an object": ("q.jsonl", JSON + "null\n", ["q.jsonl, line 2: 'null'", "one JSON object"]),
    "two objects on a line": ("q.jsonl", JSON.strip() + JSON, ["q.jsonl, line 1: is not JSON (Extra data"]),
    "a zero byte where nobody looks": ("q.csv", CSV.strip() + ",x\nq1,a,1,\0\n", ["q.csv, line 2: holds a zero byte"]),
    "a line without end": ("q.csv", CSV + "q" * (1 << 21), ["the line after line 1 is longer than 1,048,576 bytes"]),
    "a long id": (
        "q",
        "q1 0 a 1\nq1 0 " + "b" * 9000 + " good 1\n",
        ["q, line 2: 5 fields ('q1 0 bbbb", "bb…), a TREC judgment"],
    ),
    "a line cut short": ("q", "q1 0 a 1\nq1 0 b", ["q, line 2: 3 fields", "is the file cut short?"]),
    "a ranking": ("q", RUN, ["q: this looks like a ranking (TREC ranking)", "are judgments and ranking swapped?"]),
}
RANKINGS: dict[str, Case] = {
    "empty": ("a.run", "", ["a.run: the file is empty"]),
    "no tag": (
        "a.run",
        "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 1.5 \n",
        ["a.run, line 2: 5 fields", "query_id Q0 doc_id rank score tag"],
    ),
    "a score that is no number": (
        "a.run",
        RUN + "q2 Q0 b 2 high t",
        ["a.run, line 4: score = 'high': must be a number"],
    ),
    "a score that is NaN": (
        "a.run",
        RUN + "q2 Q0 b 2 nan t",
        ["a.run, line 4: score = 'nan': must be a finite number"],
    ),
    "an infinite score": (
        "a.run",
        RUN + "q2 Q0 b 2 Infinity t",
        ["a.run, line 4: score = 'Infinity': must be a finite"],
    ),
    "half a rank": ("a.run", RUN + "q2 Q0 b 2.5 1 t", ["a.run, line 4: rank = '2.5': must be a whole number"]),
    "a rank beyond all": ("a.run", "q1 Q0 a 9007199254740993 1 t", ["line 1: rank = '9007199254740993'", "2^53"]),
    "a hexadecimal rank": ("a.csv", "query_id,doc_id,rank\nq1,a,0x1F\n", ["line 2: rank = '0x1F': must be a number"]),
    "a document twice": (
        "a.run",
        RUN + "q1 Q0 a 3 1 t",
        ["a.run, lines 1 and 4: document 'a' is 2 times", "query 'q1'"],
    ),
    "a document twice in CSV": ("a.csv", RANKS + "q1,a,2\nq1,b,1\nq1,a,1\n", ["a.csv, lines 2 and 4: document 'a'"]),
    "judgments": (
        "a.run",
        QRELS,
        ["a.run: this looks like judgments (TREC judgments)", "are judgments and ranking swapped?"],
    ),
    "neither score nor rank": (
        "a.csv",
        "query_id,doc_id\nq1,a\n",
        ["a.csv: a ranking needs a column 'score'", "'rank', or both"],
    ),
    "neither in JSON": (
        "a.jsonl",
        '{"query_id": "q1", "doc_id": "a"}\n',
        ["a.jsonl, line 1: a ranking needs a column"],
    ),
    "null for both": (
        "a.jsonl",
        '{"query_id": "1", "doc_id": "a", "score": null, "rank": null}',
        ["line 1: score is missing"],
    ),
    "a score only at first": (
        "a.jsonl",
        '{"query_id": "q1", "doc_id": "a", "score": 1}\n{"query_id": "q1", "doc_id": "b", "rank": 2}\n',
        ["a.jsonl, line 2: score is missing: every row needs one"],
    ),
    "a score only later": (
        "a.jsonl",
        '{"query_id": "q1", "doc_id": "a", "rank": 1}\n{"query_id": "q1", "doc_id": "b", "rank": 2, "score": 1}\n',
        ["a.jsonl, line 2: score appears here, but not in the rows before it"],
    ),
    "no shared query": (
        "a.run",
        RUN.replace("q1", "x1").replace("q2", "y2"),
        ["a.run: system new answers none of the 2 judged queries", "'q1'", "'x1'", "must be the same"],
    ),
}
PARQUET: dict[str, tuple[dict[str, list[object] | pa.Array], list[str]]] = {
    "a missing column": ({"query_id": ["q"], "doc_id": ["d"]}, ["a.pq: there is no column 'grade'"]),
    "null": ({"query_id": ["q", "q"], "doc_id": ["d", None], "grade": [1, 1]}, ["a.pq, row 2: doc_id is missing"]),
    "NaN": (
        {"query_id": ["q", "q"], "doc_id": ["d", "e"], "grade": [1.0, float("nan")]},
        ["a.pq, row 2: grade = 'nan'"],
    ),
    "text": (
        {"query_id": ["q"], "doc_id": ["d"], "grade": ["high"]},
        ["a.pq, row 1: grade = 'high': must be a number"],
    ),
    "yes": ({"query_id": ["q"], "doc_id": ["d"], "grade": [True]}, ["a.pq: column 'grade' is of type bool"]),
    "a fraction": ({"query_id": [1.5], "doc_id": ["d"], "grade": [1]}, ["a.pq: column 'query_id' is of type double"]),
    "bytes": (
        {"query_id": ["q", "q"], "doc_id": pa.array([b"d", b"\xe9"]), "grade": [1, 1]},
        [r"a.pq, row 2: doc_id = b'\xe9': must be text that UTF-8 can hold"],
    ),
    "contradiction": (
        {"query_id": ["q", "q"], "doc_id": ["d", "d"], "grade": [1, 2]},
        ["a.pq, rows 1 and 2: document 'd'"],
    ),
    "a date": (
        {"query_id": ["q"], "doc_id": ["d"], "grade": pa.array([1], pa.timestamp("us"))},
        ["a.pq: column 'grade' is of type timestamp[us]: grade must be a number"],
    ),
    "bytes for a number": (
        {"query_id": ["q"], "doc_id": ["d"], "grade": [b"1"]},
        ["a.pq: column 'grade' is of type binary: grade must be a number"],
    ),
    "no row": (
        {"query_id": pa.array([], "string"), "doc_id": pa.array([], "string"), "grade": pa.array([], "double")},
        ["a.pq: there is no judgment in the file"],
    ),
}
# what is given to `compare` beside good judgments and a good ranking `old`
OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "no such ranking": (["--system", "new={}/none.run"], ["none.run: there is no such file"]),
    "a directory": (["--system", "{}"], ["is not a file"]),
    "no equals sign": (["--system", "old"], ["--system 'old': must be NAME=FILE"]),
    "a name twice": (["--system", "old={}/old.run"], ["--system: the name 'old' is given twice"]),
    "no such baseline": (["--baseline", "odl"], ["--baseline = 'odl': must be one of the systems (old)"]),
    "no such metric": (["--metric", "ndgc@10"], ["--metric: metric 'ndgc@10'", "did you mean 'ndcg'?"]),
    "a metric with cutoff 0": (
        ["--metric", "ndcg@0"],
        ["--metric: metric 'ndcg@0'", "must be a whole number from 1 to 1000000"],
    ),
    "no such format": (
        ["--format", "xml", "--system", "new={}/old.run"],
        ["--format = 'xml': must be 'trec', 'csv', 'tsv', 'jsonl' or 'parquet'"],
    ),
    "no such format of judgments": (["--judgments-format", "xml"], ["--judgments-format = 'xml': must be 'trec'"]),
    "another format": (["--format", "csv"], ["old.run: there is no column 'query_id' for query_id"]),
    "columns of TREC": (["--columns", "query_id=qid"], ["old.run: columns cannot be mapped in a TREC file"]),
    "no such field": (
        ["--judgments-columns", "qurey_id=qid"],
        ["'qurey_id' is no field of a judgment", "mean 'query_id'?"],
    ),
    "columns without equals": (["--columns", "query_id"], ["--columns 'query_id': must be FIELD=COLUMN"]),
    "a field twice": (["--columns", "doc_id=a,doc_id=b"], ["--columns 'doc_id=a,doc_id=b': doc_id is named twice"]),
    "alpha": (["--alpha", "5"], ["--alpha = 5.0: must be below 0.5"]),
    "a tiny alpha": (["--alpha", "1e-10"], ["--alpha = 1e-10: must be 1e-09 or more"]),
    "seed": (["--seed", "-1"], ["--seed = -1: must be 0 or more"]),
    "resamples": (["--resamples", "9"], ["--resamples = 9: must be 100 or more"]),
    "threads": (["--threads", "0"], ["--threads = 0: must be 1 or more"]),
    "JSON into no directory": (["--json", "{}/none/out.json"], ["--json", "there is no directory", "none"]),
    "JSON into a directory": (["--json", "{}"], ["--json", "is a directory; a file name is needed"]),
    "JSON over an input": (["--json", "{}/qrels"], ["--json", "qrels: is one of the inputs, and would be overwritten"]),
    "values over an input": (["--per-query", "{}/old.run"], ["--per-query", "old.run: is one of the inputs"]),
}
PYTHON: dict[str, tuple[str, list[str]]] = {
    "no such module": ("", ["there is no module 'engine", "or installed"]),
    "an error": ("def search(queries):\n    raise ValueError('two\\nlines')", ["failed: ValueError: two lines"]),
    "NaN": (
        "def search(queries):\n    return {'q1': [('a', float('nan'))]}",
        ["'a': score = nan: must be a finite number"],
    ),
    "a document twice": ("def search(queries):\n    return {'q1': [('a', 1), ('a', 2)]}", ["document 'a' is 2 times"]),
    "no shared query": ("def search(queries):\n    return {'x': [('a', 1)]}", ["answers none of the 2 judged queries"]),
}
MODULES = itertools.count()
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
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.app", "check", str(folder / "a.pq"), str(folder / "old.run")]
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


def test_no_judgments(folder: Path) -> None:
    refused(folder, compare(folder, judgments="none"), ["none: there is no such file"])


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


@pytest.mark.parametrize("case", PYTHON)
def test_a_bad_function(case: str, folder: Path) -> None:
    source, words = PYTHON[case]
    name = f"engine{next(MODULES)}"  # a module is imported once in a process
    if source:
        put(folder, f"{name}.py", source)
    put(folder, "queries.csv", "query_id,text\nq1,one\nq2,two\n")
    systems = f"[{{name: new, python: '{name}:search'}}]"
    put(folder, "c.yaml", f"name: t\njudgments: qrels\nqueries: queries.csv\nsystems: {systems}\n")
    refused(folder, ["check", str(folder / "c.yaml")], [f"{name}:search", *words])


def findings(folder: Path, judgments: str, ranking: str) -> dict[str, tuple[str, int]]:
    put(folder, "qrels", judgments)
    put(folder, "old.run", ranking)
    found = invoke(compare(folder, "--json", "-"))
    assert found.exit_code == 0, found.output
    return {row["code"]: (row["severity"], row["count"]) for row in json.loads(found.stdout)["findings"]}


def test_what_is_only_worth_a_note(folder: Path) -> None:
    assert findings(folder, QRELS, RUN) == {}
    assert findings(folder, QRELS + "q1 0 a 1.0\n", RUN) == {"repeated_judgment": ("note", 1)}
    unjudged = RUN + "q8 Q0 a 1 1 t\nq9 Q0 a 1 1 t\n"
    assert findings(folder, QRELS, unjudged) == {"unjudged_query": ("note", 2)}
