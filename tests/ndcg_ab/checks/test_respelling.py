"""The command that a message names for ids that do not meet does make them meet."""

import re
import subprocess
from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.errors import InputError

pytestmark = pytest.mark.slow

QUERIES = [f"q{number}" for number in range(12)]
DOCS = [f"doc{number}" for number in range(10, 20)]


def judgments(query: str = "{}", doc: str = "{}") -> str:
    rows = [(query.format(each), doc.format(name), place % 3) for each in QUERIES for place, name in enumerate(DOCS)]
    return "".join(f"{each} 0 {name} {grade}\n" for each, name, grade in rows)


def ranking(query: str = "{}", doc: str = "{}", respelt: int = len(DOCS)) -> str:
    return "".join(
        f"{query.format(each)} Q0 {doc.format(name) if place <= respelt else name} {place} {20 - place} new\n"
        for each in QUERIES
        for place, name in enumerate(DOCS, 1)
    )


def message(folder: Path) -> str:
    """What is said of the two files, as an error or as the one finding; nothing where they meet."""
    try:
        found = ndcg_ab.compare(folder / "j.qrels", {"new": folder / "new.run"}, resamples=100, threads=1).findings
    except InputError as error:
        return str(error)
    return "".join(finding.message for finding in found)


@pytest.mark.parametrize(
    ("judged", "ranked", "mended"),
    [
        (judgments(), ranking(doc="doc:{}"), "new.run"),
        (judgments(), ranking(doc="{}.html"), "new.run"),
        (judgments(doc="shop/{}"), ranking(), "j.qrels"),
        (judgments(), ranking(doc="doc:{}", respelt=3), "new.run"),
        (judgments(), ranking(query="topic-{}"), "new.run"),
    ],
    ids=["a prefix", "an ending", "a prefix of judgments", "a prefix of some", "a prefix of queries"],
)
def test_the_command_mends_the_file(judged: str, ranked: str, mended: str, tmp_path: Path) -> None:
    (tmp_path / "j.qrels").write_text(judged)
    (tmp_path / "new.run").write_text(ranked)
    told = re.search(r" → (awk .* > )NEW", message(tmp_path))
    assert told and f"/{mended} > " in told[1]
    subprocess.run(["bash", "-c", f"{told[1]}NEW && mv NEW {mended}"], cwd=tmp_path, check=True)
    assert message(tmp_path) == ""


def test_no_command_is_named_for_a_file_that_it_would_spoil(tmp_path: Path) -> None:
    (tmp_path / "j.qrels").write_text(judgments())
    rows = "".join(f"{each},x:{name},{20 - place}\n" for each in QUERIES for place, name in enumerate(DOCS))
    (tmp_path / "new.csv").write_text(f"query_id,doc_id,score\n{rows}")
    with pytest.raises(InputError) as refused:
        ndcg_ab.compare(tmp_path / "j.qrels", {"new": tmp_path / "new.csv"}, resamples=100)
    assert "the prefix 'x:' is taken off its ids" in str(refused.value)
    assert "awk" not in str(refused.value)
