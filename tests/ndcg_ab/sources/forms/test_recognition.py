"""What a file is taken for, by its first lines."""

import gzip
import math
from collections.abc import Iterable
from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.errors import InputError
from ndcg_ab.sources.forms import recognition
from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.forms.recognition import FORMS, choose_reading, recognise_file, refuse_unknown_form
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.tables import SCORED_FORM
from tests.commands import invoke
from tests.inputs import write_table
from tests.sentences import refusal_text

DELIMITED, TREC, JSONL = "delimited", "trec", "jsonl"
QUEPID = {"query_id": "Query Text", "doc_id": "Doc ID", "rank": "Doc Position"}
TAKEN = [  # name, content, kind, format, columns
    ("qrels.txt", "q1 0 d1 2\n", JUDGMENTS, TREC, {}),
    ("qrels.tsv", "q1\t0\td1\t2\n", JUDGMENTS, TREC, {}),
    ("a.run", "\nq1 Q0 d1 1 2.5 tag\n", RANKING, TREC, {}),
    ("a", "q1\tQ0\td1\t1\t2.5\ttag\n", RANKING, TREC, {}),
    ("a.csv", "q1 Q0 d1 1 2.5 tag\n", RANKING, TREC, {}),
    ("a", "q1 Q0 d1 0 2.5\nq1 Q0 d2 1 1.5\n", RANKING, TREC, {}),
    ("a", "q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n", RANKING, TREC, {}),
    ("a", "q1\td1\t1\nq1\td2\t1\nq2\td1\t0\n", JUDGMENTS, TREC, {}),
    ("a", "q1\td1\t1.25\nq1\td2\t1.125\nq2\td1\t0.5\n", RANKING, TREC, {}),
    ("a", "q1\td1\t1\nq1\td2\tNA\nq2\td1\t0\n", JUDGMENTS, TREC, {}),
    ("a", "q1 7 1 9.5\nq1 8 2 4.5\nq2 7 1 3\n", RANKING, TREC, {}),
    ("a", "q1 0 1 2\nq1 0 2 1\nq2 0 1 1\n", JUDGMENTS, TREC, {}),
    ("u.data", "1 2 3 881250949\n1 3 4 881250950\n", JUDGMENTS, TREC, {}),
    ("j.csv", "query_id,doc_id,grade\n", JUDGMENTS, DELIMITED, {}),
    ("j.csv", "\ufeffqid,url,rating\n", JUDGMENTS, DELIMITED, {"query_id": "qid", "doc_id": "url", "grade": "rating"}),
    ("j.txt", "query,doc_id,relevance\n", JUDGMENTS, DELIMITED, {"query_id": "query", "grade": "relevance"}),
    (
        "test.tsv",
        "query-id\tcorpus-id\tscore\n",
        JUDGMENTS,
        DELIMITED,
        {"query_id": "query-id", "doc_id": "corpus-id", "grade": "score"},
    ),
    (
        "r.tsv",
        "Query ID\tDoc ID\tposition\n",
        RANKING,
        DELIMITED,
        {"query_id": "Query ID", "doc_id": "Doc ID", "rank": "position"},
    ),
    ("r.jsonl", '{"query_id": "q", "doc_id": 1, "score": 2, "rank": 1}\n', RANKING, JSONL, {}),
    (
        "r.json",
        '[{"qid": "q", "docid": 1, "sim": 2}]',
        RANKING,
        JSONL,
        {"query_id": "qid", "doc_id": "docid", "score": "sim"},
    ),
    ("q", "12\tred shoes\n13\ttents\n", QUERIES, "lines", {}),
    ("q.jsonl", '{"_id": "1", "text": "red shoes", "metadata": {}}\n', QUERIES, JSONL, {"query_id": "_id"}),
    ("r", "Query Text,Doc ID,Doc Position\nq,d,1\n", RANKING, DELIMITED, QUEPID),
    ("r.csv", "qid,docid,docno,rank,score,query\n", RANKING, DELIMITED, {"query_id": "qid", "doc_id": "docno"}),
    ("q.tsv", "query_id\ttext\tlanguage\n", QUERIES, DELIMITED, {}),
    ("q.csv", "qid,query,weight\n", QUERIES, DELIMITED, {"query_id": "qid", "text": "query"}),
    ("q.txt", "qid\tquestion\n", QUERIES, DELIMITED, {"query_id": "qid", "text": "question"}),
]


def taken_for(path: Path) -> Reading:
    found = recognise_file(path)
    return found or refuse_unknown_form(path)


@pytest.mark.parametrize(("name", "content", "kind", "file_format", "columns"), TAKEN)
@pytest.mark.parametrize("zipped", [False, True])
def test_what_a_file_is_taken_for(
    name: str, content: str, kind: str, file_format: str, columns: dict[str, str], zipped: bool, tmp_path: Path
) -> None:
    path = tmp_path / (f"{name}.gz" if zipped else name)
    path.write_bytes(gzip.compress(content.encode()) if zipped else content.encode())
    found = taken_for(path)
    assert (found.kind, found.format, dict(found.columns)) == (kind, file_format, columns)


@pytest.mark.parametrize("name", ["x", "x.txt", "x.csv", "x.tsv"])
@pytest.mark.parametrize(
    ("layout", "columns"),
    [
        ("event", ["query", "document", "position", "impressions", "clicks"]),
        ("document", ["doc_id", "title of it", "url"]),
        ("query", ["query_id", "clicks"]),
        ("judgment", ["query", "doc", "impressions", "clicks"]),
    ],
)
def test_a_header_decides_how_its_table_is_read_and_no_name_does(
    layout: str, columns: list[str], name: str, tmp_path: Path
) -> None:
    for sign in ",;\t":
        if layout != "judgment" or sign != "\t":  # a TREC line may have tabs
            (tmp_path / name).write_text(f"{sign.join(columns)}\n{sign.join('1' * len(columns))}\n")
            found = choose_reading(Sample.of_file(tmp_path / name), layout)
            assert (found.format, found.delimiter) == (DELIMITED, sign)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.words)
def test_the_sample_of_a_form_is_taken_for_it(form: Form, tmp_path: Path) -> None:
    (tmp_path / "sample").write_text(form.sample)
    found = recognise_file(tmp_path / "sample")
    found = found if form is not SCORED_FORM else recognise_file(tmp_path / "sample", JUDGMENTS)
    assert found and (found.kind, found.words) == (form.kind, form.words)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("cell", "sign"),
    [("d1 d2 d3", ""), ("d1,d2,d3", ""), ("d1, d2, d3", ""), ("['d1', 'd2', 'd3']", ""), ("d,1 d,2 d,3", ",")]
    + [('[""d1"", ""d2"",""d3""]', "")],
)
def test_the_documents_of_a_line_are_told_apart(cell: str, sign: str, tmp_path: Path) -> None:
    """Ids with commas are divided by spaces."""
    third, fourth = f"d{sign}3", f"d{sign}4"
    (tmp_path / "r.csv").write_text(f'id,documents\nq1,"{cell}"\nq2,"{fourth}"\n')
    result = ndcg_ab.compare({"q1": {third: 1}, "q2": {fourth: 1}}, {"r": tmp_path / "r.csv"}, metrics="rr")
    assert result.systems[0].mean == pytest.approx((1 / 3 + 1) / 2)


DOCUMENT_NAMES = ("docno", "DOCNO", "sku", "asin", "passage_id", "item", "product_id", "did", "title_of_nobody")
ORDER_NAMES = ("score", "rank", "bm25", "similarity", "Position", "rating", "grade", "label")


@pytest.mark.parametrize("more", ["", "query", "text", "lang"])
@pytest.mark.parametrize("ordered", ORDER_NAMES)
@pytest.mark.parametrize("document", DOCUMENT_NAMES)
def test_a_score_a_rank_or_a_grade_is_never_in_queries(document: str, ordered: str, more: str, tmp_path: Path) -> None:
    names = [name for name in ("qid", document, ordered, more) if name]
    (tmp_path / "f.csv").write_text(",".join(names) + "\n")
    if document == "title_of_nobody":
        with pytest.raises(InputError, match="give its columns these names"):
            taken_for(tmp_path / "f.csv")
        return
    found = taken_for(tmp_path / "f.csv")
    assert found.kind == (JUDGMENTS if ordered in ("rating", "grade", "label") else RANKING)
    assert (found.columns["query_id"], found.columns["doc_id"]) == ("qid", document)


def test_parquet(tmp_path: Path) -> None:
    found = taken_for(write_table(tmp_path / "j.parquet", [{"topic": "q", "doc": "d", "label": 1}]))
    assert (found.kind, dict(found.columns)) == (JUDGMENTS, {"query_id": "topic", "doc_id": "doc", "grade": "label"})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.txt",
            b"one two three\n",
            "its first line (one two three) is that of neither judgments (query_id, doc_id, grade)",
        ),
        (
            "a.csv",
            b"a,b\n",
            "the columns (a, b) are those of neither judgments (query_id, doc_id, grade) nor a ranking",
        ),
        ("a.csv", b"query_id,doc_id\n", "the columns (query_id, doc_id) are those of neither"),
        ("a.csv", b"query,docno\n", "the columns (query, docno) are those of neither"),
        ("a.jsonl", b"5\n", "its first line (5) is that of neither"),
        ("a.run", b"\n\n", "the columns (none) are those of neither"),
        ("a.gz", b"\x1f\x8bxx", "the gzip file is broken, write it again: "),
    ],
)
def test_what_cannot_be_told(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert refusal_text(taken_for, tmp_path / name).startswith(f"{tmp_path / name}: {said}")


def read_dummy(lines: Iterable[tuple[int, str]]) -> Records:
    for number, line in lines:
        query_id, doc_id, grade = line.removeprefix("%").split("/")
        yield f"line {number}", {"query_id": query_id, "doc_id": doc_id, "grade": grade.strip()}


def sniff_dummy(sample: Sample) -> Reading | None:
    is_dummy = bool(sample.lines) and all(line.startswith("%") for line in sample.lines)
    return Reading(JUDGMENTS, "lines", records=read_dummy) if is_dummy else None


@pytest.mark.slow
def test_a_form_is_added_in_one_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every reader has it: commands, configurations, Python, and the list of forms."""
    form = Form("judgments of a dummy", JUDGMENTS, "%q1/a/2\n%q1/b/0\n%q2/a/1\n", sniff_dummy)
    monkeypatch.setattr(recognition, "FORMS", (form, *FORMS))
    judged, ranked, config = (tmp_path / name for name in ("judged", "r.run", "c.yaml"))
    judged.write_text(form.sample)
    ranked.write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 a 1 2 t\n")
    for command in (["compare", str(judged), str(ranked)], ["check", str(judged), str(ranked)],
                    ["init", str(judged), str(ranked), "--output-file", str(config)], ["check", str(config)],
                    ["explain", str(judged), str(ranked), "--query", "q1"]):  # fmt: skip
        found = invoke(command)
        assert found.exit_code == 0, (command, found.output)
    outcome = ndcg_ab.compare(judged, [ranked])
    assert outcome.systems[0].mean == pytest.approx((1 + 1 / math.log2(3)) / 2)
    assert "- judgments of a dummy" in invoke(["help", "formats"]).stdout


# ---- what counts as a number in a text


def test_a_long_text_that_is_nearly_a_number_is_told_in_a_moment() -> None:
    """A pattern that can split its digits in two ways would take hours, and exceed the time that every test has."""
    assert not is_plain_number("9" * 1_000_000 + "x")
    assert is_plain_number("9" * 1_000_000)
