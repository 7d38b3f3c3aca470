"""Reading: one table from every format and spelling, and both ways through a file agree."""

import csv
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import ipc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources import JUDGMENT, RANKING, Layout, pull_queries, pull_source
from ndcg_ab.sources.base import read_remarks
from ndcg_ab.sources.files import file as files
from ndcg_ab.sources.forms.recognition import format_by_name, recognise_file
from ndcg_ab.sources.tables.schema import JUDGED as SINGLE
from ndcg_ab.sources.tables.schema import query_layout
from tests.cases import read_cases
from tests.examples import examples
from tests.inputs import write_table
from tests.readings import read_carefully, read_table
from tests.sentences import refusal_text

Row = tuple[str | float | None, ...]

JUDGED: list[Row] = [("q1", "d1", 1.0), ("q1", "d2", 0.5), ("007", "d1", -2.0)]
RECORDS = [dict(zip(("query_id", "doc_id", "grade"), row, strict=True)) for row in JUDGED]
CASES = read_cases("file")
SPELLINGS = CASES["SPELLINGS"]
# None of them is a number, a missing value or two fields, whatever they look like.
TREC_IDS = CASES["TREC_IDS"]
IDS = [*TREC_IDS, "two words", ' "quoted" ', "a, b", "#", "\\", "2026-11-20", "a\tb", "one\nline more", "\r\n", " "]


def rows_of(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def put(path: Path, content: str | bytes) -> Path:
    """Writes a file, gzipped where its name says so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def written(rows: Sequence[Row], layout: Layout, file_format: str) -> bytes:
    """The rows as a program would write them in that format."""
    names = [field.name for field in layout.fields]
    if file_format == "parquet":
        columns = [list(column) for column in zip(*rows, strict=True)]
        stream = pa.BufferOutputStream()
        papq.write_table(pa.table(columns, schema=layout.schema), stream)
        return bytes(stream.getvalue())
    if file_format == "jsonl":
        return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()
    if file_format == "trec":
        parts = [
            (row[0], "0", *row[1:]) if layout is JUDGMENT else (row[0], "Q0", row[1], row[3], row[2], "tag")
            for row in rows
        ]
        return "".join(" ".join(map(str, part)) + "\n" for part in parts).encode()
    text = io.StringIO()
    writer = csv.writer(text, delimiter="," if file_format == "csv" else "\t", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([names, *rows])
    return text.getvalue().encode()


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_gives_the_same_table(spelling: str, ending: str, tmp_path: Path) -> None:
    name, content = SPELLINGS[spelling]
    path = put(tmp_path / (name + ending), content)
    table = read_table(path, JUDGMENT, None, {})
    assert rows_of(table) == JUDGED
    assert table.schema == JUDGMENT.schema
    assert rows_of(read_carefully(path, JUDGMENT, format_by_name(path), {})) == JUDGED


def test_a_first_line_that_tells_excel_the_delimiter_is_no_header(tmp_path: Path) -> None:
    path = put(tmp_path / "q.csv", "sep=;\nquery_id;doc_id;grade\nq1;d1;1\nq1;d2;0,5\n007;d1;-2\n")
    assert rows_of(read_table(path, JUDGMENT)) == JUDGED
    queries = put(tmp_path / "t.csv", "sep=;\nquery_id;text\nq1;red shoes\n")
    found = read_table(queries, query_layout(needed={"text": True}))
    assert rows_of(found)[0][:2] == ("q1", "red shoes")
    put(path, "sep=;\nquery_id;doc_id;grade\nq1;d1;1\nq1;d2;0,5\n007;d1;1;2\n")
    with pytest.raises(InputError, match="line 5: 4 fields"):
        read_table(path, JUDGMENT)


def test_parquet_in_other_types_gives_the_same_values(tmp_path: Path) -> None:
    kinds = (pa.int32(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string()))
    for kind in kinds:
        ids = pa.array(["7", "8"]).cast(pa.int64() if pa.types.is_integer(kind) else pa.string()).cast(kind)
        for grades in (pa.array([1, 2], pa.int8()), pa.array([1, 2], pa.float32()), pa.array(["1", "2"])):
            papq.write_table(pa.table({"query_id": ids, "doc_id": ids, "grade": grades}), tmp_path / "q.pq")
            assert rows_of(read_table(tmp_path / "q.pq", JUDGMENT, None, {})) == [("7", "7", 1.0), ("8", "8", 2.0)]


@pytest.mark.parametrize("file_format", ["trec", "csv", "tsv", "jsonl", "parquet"])
def test_ids_stay_text(file_format: str, tmp_path: Path) -> None:
    ids = TREC_IDS if file_format == "trec" else IDS
    rows: list[Row] = [(one, other, 1.0) for one, other in zip(ids, reversed(ids), strict=True)]
    path = put(tmp_path / "file", written(rows, JUDGMENT, file_format))
    assert rows_of(read_table(path, JUDGMENT, file_format, {})) == rows


def test_json_ids_may_be_whole_numbers(tmp_path: Path) -> None:
    path = put(tmp_path / "q.jsonl", '{"query_id": 7, "doc_id": 10000000000000000000000, "grade": 1}\n')
    assert rows_of(read_table(path, JUDGMENT, None, {})) == [("7", "10000000000000000000000", 1.0)]


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "parquet"])
def test_a_column_relevance_holds_the_grades_where_none_is_called_so(file_format: str, tmp_path: Path) -> None:
    for columns, expected in ((("relevance",), 2.0), (("grade", "relevance"), 1.0)):
        row = {"query_id": "q", "doc_id": "d"} | dict(zip(columns, (1.0, 2.0)[-len(columns) :], strict=True))
        path = write_table(tmp_path / f"judged.{file_format}", [row])
        assert read_table(path, JUDGMENT, file_format, {})["grade"].to_pylist() == [expected]


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("a.run.gz", "trec"), ("qrels.dl19-passage.txt", "trec"), ("a.CSV", "csv"), ("a.csv.gz", "csv"), ("a.tsv", "tsv")]
    + [("a.json", "jsonl"), ("a.ndjson.gz", "jsonl"), ("a.parquet", "parquet"), ("a.pq", "parquet"), ("csv", "trec")]
    + [
        ("a.csv.gz.zst", "csv"),
        ("a.TSV.LZ4", "tsv"),
        ("a.xz", "trec"),
        ("a.feather.zip", "parquet"),
        ("a.csv.run", "trec"),
    ],
)
def test_the_name_tells_the_format(name: str, file_format: str) -> None:
    assert format_by_name(Path(name)) == file_format


def test_a_format_that_is_said_stands_above_the_name(tmp_path: Path) -> None:
    assert rows_of(read_table(put(tmp_path / "a.txt", "query_id,doc_id,grade\nq,d,1\n"), JUDGMENT, "csv", {}))
    assert rows_of(read_table(put(tmp_path / "a.csv", "q 0 d 1\n"), JUDGMENT, "trec", {}))


def asking(directory: Path, queries: str, **keys: object) -> Evaluation:
    """An evaluation of one system with this file of queries."""
    system = {"name": "a", "file": "a.run"}
    return Evaluation(name="t", judgments="q", queries=queries, systems=[system], directory=directory, **keys)


def test_texts_of_queries(tmp_path: Path) -> None:
    put(tmp_path / "q.tsv", "query_id\ttext\n1\twhat is, “this”?\n2\t1e5\n1\twhat is, “this”?\n")
    assert pull_queries(asking(tmp_path, "q.tsv")).texts == {"1": "what is, “this”?", "2": "1e5"}
    put(tmp_path / "two.csv", "query_id,text\n1,a\n1,b\n")
    with pytest.raises(InputError, match="query '1' has two texts: 'a' and 'b'"):
        pull_queries(asking(tmp_path, "two.csv"))


@pytest.mark.parametrize("layout", [JUDGMENT, RANKING], ids=["judgments", "ranking"])
@pytest.mark.parametrize("file_format", ["trec", "csv", "tsv", "jsonl", "parquet"])
def test_ordinary_files_go_the_fast_way(
    file_format: str, layout: Layout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(TREC_IDS[index % 5], f"\"d,{index}'", index / 2, *[index] * (layout is RANKING)) for index in range(9)]
    content = written(rows, layout, file_format)
    spellings: list[Callable[[bytes], bytes]] = [lambda text: text, gzip.compress]
    if file_format == "trec":
        spellings += [lambda text: text.replace(b" ", b"\t"), lambda text: text.replace(b" ", b"  ")]
        spellings += [lambda text: text.replace(b"\n", b" \r\n\n")]
    monkeypatch.setattr(files, "read_rows", None)
    for spell in spellings:
        (tmp_path / "file").write_bytes(spell(content))
        found = read_table(tmp_path / "file", layout, file_format, {})
        assert rows_of(found.cast(layout.schema)) == rows


def texts(*, trec: bool) -> st.SearchStrategy[str]:
    """Ids of any characters; in TREC without white space.  (A byte order mark at the start is none of the text.)"""
    letters = st.characters(codec="utf-8", exclude_characters="\0\ufeff" + " \t\n\v\f\r" * trec)
    return st.text(letters, min_size=1, max_size=5) | st.sampled_from(TREC_IDS if trec else IDS)


def tables(layout: Layout, *, trec: bool) -> st.SearchStrategy[list[Row]]:
    text, number = texts(trec=trec), st.floats(allow_nan=False, allow_infinity=False)
    query = text.filter(lambda each: not (trec and each == "#"))  # in TREC such a line is a comment
    grade = st.floats(-1000, 10)  # higher ones are times or ids, where documents are small numbers
    values = [grade] if layout is JUDGMENT else [number, st.integers(-(2**53) + 1, 2**53 - 1) | st.integers(0, 99)]
    row: st.SearchStrategy[Row] = st.tuples(query, text, *values)
    return st.lists(row, min_size=1, max_size=8, unique_by=lambda row: row[:2])


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
@pytest.mark.parametrize("layout", [JUDGMENT, RANKING], ids=["judgments", "ranking"])
@pytest.mark.parametrize(
    "formats", [["trec", "csv", "tsv", "jsonl", "parquet"], ["csv", "tsv", "jsonl", "parquet"]], ids=len
)
def test_any_table_is_the_same_from_every_format(formats: list[str], layout: Layout, data: st.DataObject) -> None:
    """The same rows, the same digest (in any order of rows), and the same the careful way."""
    rows = data.draw(tables(layout, trec="trec" in formats))
    digests = set()
    with tempfile.TemporaryDirectory() as folder:
        for file_format in formats:
            path = Path(folder, f"file.{file_format}{data.draw(st.sampled_from(['', '.gz']))}")
            shuffled = data.draw(st.permutations(rows))
            put(path, written(shuffled, layout, file_format))
            pulled = pull_source(FileSource(file=path), layout, Path(folder))
            assert rows_of(pulled.table.cast(layout.schema)) == shuffled
            assert rows_of(read_carefully(path, layout, file_format, {})) == shuffled
            digests.add(pulled.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("sign", [*"\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000[{", "[]", '{"q":1}'], ids=ascii)
def test_brackets_and_signs_that_only_unicode_takes_for_white_space_belong_to_ids(sign: str, tmp_path: Path) -> None:
    """As a whole id, at its beginning and within it, in judgments and rankings, in text and in JSON Lines."""
    rows: list[Row] = [(query, doc_id, 1.0) for query in (sign, f"{sign}q", f"q{sign}q") for doc_id in ("d", sign)]
    for file_format in ("trec", "tsv", "jsonl"):
        path = put(tmp_path / f"file.{file_format}", written(rows, JUDGMENT, file_format))
        assert rows_of(pull_source(FileSource(file=path), JUDGMENT, tmp_path).table.cast(JUDGMENT.schema)) == rows


def test_other_content_has_another_digest(tmp_path: Path) -> None:
    contents = ["q 0 d 1\n", "q 0 d 2\n", "q 0 e 1\n", "r 0 d 1\n", "q 0 d 1\nq 0 e 1\n"]
    found = {pull_source(FileSource(file=put(tmp_path / "q", each)), JUDGMENT, tmp_path).digest for each in contents}
    assert len(found) == len(contents)


def test_columns_are_mapped_in_a_list_and_not_in_a_mapping(tmp_path: Path) -> None:
    path = put(tmp_path / "r.json", '{"q1": {"a": 2.5, "b": 1}, "q2": {}}')
    with pytest.raises(InputError, match="columns cannot be mapped in "):
        read_table(path, RANKING, None, {"doc_id": "url"})
    listed = put(tmp_path / "l.json", '[{"query_id": "q1", "url": "a", "rank": 1}]')
    assert rows_of(read_table(listed, RANKING, None, {"doc_id": "url"})) == [("q1", "a", None, 1)]


def test_a_place_is_a_line_or_a_row(tmp_path: Path) -> None:
    rows: list[Row] = [("q", "d", 1.0), ("q", "e", 1.0), ("q", "d", 2.0)]
    for name, content, words in (
        ("q", "\nq 0 d 1\nq 0 e 1\nq 0 d 2\n", "lines 2 and 4"),
        ("q.csv", 'note,query_id,doc_id,grade\n"two\nlines",q,d,1\nx,q,e,1\nx,q,d,2\n', "lines 2 and 5"),
        ("q.jsonl", written(rows, JUDGMENT, "jsonl"), "lines 1 and 3"),
        ("q.parquet", written(rows, JUDGMENT, "parquet"), "rows 1 and 3"),
    ):
        path = put(tmp_path / name, content)
        assert pull_source(FileSource(file=path), JUDGMENT, tmp_path).locate("q", "d") == f"{path}, {words}"


WITH_REMARKS = CASES["WITH_REMARKS"]


@pytest.mark.parametrize("case", WITH_REMARKS)
def test_what_a_ranking_tells_beside_its_rows(case: str, tmp_path: Path) -> None:
    """Both ways notice the same; ranks that cannot be read are left out, all of them."""
    content, expected = WITH_REMARKS[case]
    path = put(tmp_path / "a.run", content)
    for table in (read_table(path, RANKING, None, {}), read_carefully(path, RANKING, "trec", {})):
        found = read_remarks(table)
        assert [(each.code, each.count) for each in found] == [(code, count) for code, count, _ in expected]
        assert all(each.examples[-1] == f"{path}, {words}" for each, (_, _, words) in zip(found, expected, strict=True))
        ranks = table["rank"].to_pylist()
        assert all(rank is None for rank in ranks) if "ranks" in case else ranks[:2] == [1, 2]


# ---- lines of TREC that begin with #: rows if they have the fields of one, else comments, which are counted

LINES = {"judgment": "{} 0 d1 1", "ranking": "{} Q0 d1 1 2.5 tag"}
COMMENTS = ("# a comment", "#", "#q9", "#q9 0", "# seven words that are no row 7", "# pooled by 3", "#q9 0 d1 high x y")


@pytest.mark.parametrize("layout", [JUDGMENT, SINGLE, RANKING], ids=["judgment", "judged", "ranking"])
@pytest.mark.parametrize(("query_id", "sign"), [("#1", "\t"), ("##é", "  ")])  # sign: what stands between fields
@pytest.mark.parametrize("comment", ["", *COMMENTS])
def test_a_query_id_may_begin_like_a_comment(
    layout: Layout, query_id: str, sign: str, comment: str, tmp_path: Path
) -> None:
    comments = [comment] * bool(comment)
    lines = [LINES[layout.kind].format(each).replace(" ", sign) for each in (query_id, "q2")]
    path = put(tmp_path / "trec", "\n".join([*comments, *lines, *comments]) + "\n")
    found = pull_source(FileSource(file=path), layout, tmp_path)
    assert found.query_ids == [query_id, "q2"]
    assert [(each.code, each.count) for each in found.remarks] == [("comment_line", 2)] * bool(comment)
    assert read_carefully(path, layout, "trec", {}).num_rows == read_table(path, layout, None, {}).num_rows == 2
    if len(comment.split()) not in (4, 6):  # else the first line alone does not tell
        form = recognise_file(path)
        assert form and form.kind.startswith(layout.kind)


# ---- Arrow's files and streams are read as the same table in Parquet is, archives with one file as that file


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
    "r.run.gz": (gzip.compress(zip_bytes("a.run")), "holds a packed file; unpack it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_said_what_is_wrong(name: str, tmp_path: Path) -> None:
    content, words = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    assert refusal_text(read_table, tmp_path / name, RANKING, None, {}).startswith(f"{tmp_path / name}: {words}")


def test_what_a_mac_adds_to_an_archive_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(zip_bytes("runs/", "runs/a.run", "__MACOSX/runs/._a.run"))
    assert read_table(tmp_path / "r.zip", RANKING, None, {}).num_rows == 1
