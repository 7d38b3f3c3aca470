"""What a file is taken for, from its name and its first line."""

import gzip
from pathlib import Path

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.sources.files.guessing import JUDGMENTS, QUERIES, RANKING, guess_content

GUESSED = [  # name, content, kind, format where the name does not tell it, columns
    ("qrels.txt", "q1 0 d1 2\n", JUDGMENTS, None, {}),
    ("a.run", "\nq1 Q0 d1 1 2.5 tag\n", RANKING, None, {}),
    ("a", "q1\tQ0\td1\t1\t2.5\ttag\n", RANKING, None, {}),
    ("j.csv", "query_id,doc_id,grade\n", JUDGMENTS, None, {}),
    ("j.csv", "\ufeffqid,url,rating\n", JUDGMENTS, None, {"query_id": "qid", "doc_id": "url", "grade": "rating"}),
    ("j.txt", "query,doc_id,relevance\n", JUDGMENTS, "csv", {"query_id": "query", "grade": "relevance"}),
    (
        "test.tsv",
        "query-id\tcorpus-id\tscore\n",
        JUDGMENTS,
        None,
        {"query_id": "query-id", "doc_id": "corpus-id", "grade": "score"},
    ),
    (
        "r.tsv",
        "Query ID\tDoc ID\tposition\n",
        RANKING,
        None,
        {"query_id": "Query ID", "doc_id": "Doc ID", "rank": "position"},
    ),
    ("r.jsonl", '{"query_id": "q", "doc_id": 1, "score": 2, "rank": 1}\n', RANKING, None, {}),
    (
        "r.json",
        '[{"qid": "q", "docid": 1, "sim": 2}]',
        RANKING,
        None,
        {"query_id": "qid", "doc_id": "docid", "score": "sim"},
    ),
    ("q.tsv", "query_id\ttext\tlanguage\n", QUERIES, None, {}),
    ("q.csv", "qid,query,weight\n", QUERIES, None, {"query_id": "qid", "text": "query"}),
    ("q.txt", "qid\tquestion\n", QUERIES, "tsv", {"query_id": "qid", "text": "question"}),
]


@pytest.mark.parametrize(("name", "content", "kind", "file_format", "columns"), GUESSED)
@pytest.mark.parametrize("zipped", [False, True])
def test_what_a_file_is_taken_for(
    name: str, content: str, kind: str, file_format: str | None, columns: dict[str, str], zipped: bool, tmp_path: Path
) -> None:
    path = tmp_path / (f"{name}.gz" if zipped else name)
    path.write_bytes(gzip.compress(content.encode()) if zipped else content.encode())
    found = guess_content(path)
    assert (found.kind, found.format, found.columns) == (kind, file_format, columns)


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
            guess_content(tmp_path / "f.csv")
        return
    found = guess_content(tmp_path / "f.csv")
    assert found.kind == (JUDGMENTS if ordered in ("rating", "grade", "label") else RANKING)
    assert (found.columns["query_id"], found.columns["doc_id"]) == ("qid", document)


def test_pyterrier_numbers_documents_beside_their_ids(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("qid,docid,docno,rank,score,query\n")
    assert guess_content(tmp_path / "r.csv").columns == {"query_id": "qid", "doc_id": "docno"}


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as papq

    papq.write_table(pa.table({"topic": ["q"], "doc": ["d"], "label": [1]}), tmp_path / "j.parquet")
    found = guess_content(tmp_path / "j.parquet")
    assert (found.kind, found.columns) == (JUDGMENTS, {"query_id": "topic", "doc_id": "doc", "grade": "label"})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"one two three\n", "the first line has 3 fields: judgments have 4, rankings 6"),
        (
            "a.csv",
            b"a,b\n",
            "the columns (a, b) are those of neither judgments (query_id, doc_id, grade) nor a ranking",
        ),
        ("a.csv", b"query_id,doc_id\n", "the columns (query_id, doc_id) are those of neither"),
        ("a.csv", b"query,docno\n", "the columns (query, docno) are those of neither"),
        ("a.jsonl", b"5\n", "the columns (none) are those of neither"),
        ("a.run", b"\n\n", "the file is empty"),
        ("a.gz", b"\x1f\x8bxx", "the gzip file is broken, write it again: "),
    ],
)
def test_what_cannot_be_told(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        guess_content(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: {said}")
    assert "\n" not in str(caught.value)
