"""Lines of TREC that begin with #: rows if they have the fields of one, else comments, which are counted."""

import itertools
from pathlib import Path

import pytest

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.sources.forms.recognition import recognise_file
from ndcg_ab.sources.registry import pull_source
from ndcg_ab.sources.tables.schema import JUDGED, JUDGMENT, RANKING, Layout
from tests.readings import read_carefully, read_table
from tests.repeated import mostly_soaked

ROWS = {"judgment": "{} 0 d1 1", "ranking": "{} Q0 d1 1 2.5 tag"}
COMMENTS = ("# a comment", "#", "#q9", "#q9 0", "# seven words that are no row 7", "# pooled by 3", "#q9 0 d1 high x y")

WRITTEN = [("#1", "\t"), ("##é", "  ")]  # a query id, and what stands between fields


@pytest.mark.parametrize("layout", [JUDGMENT, JUDGED, RANKING], ids=["judgment", "judged", "ranking"])
@pytest.mark.parametrize("written", mostly_soaked(itertools.product(["#1", "##é"], ["\t", "  "]), kept=WRITTEN))
@pytest.mark.parametrize("comment", ["", *COMMENTS])
def test_a_query_id_may_begin_so(layout: Layout, written: tuple[str, str], comment: str, tmp_path: Path) -> None:
    query_id, sign = written
    path = tmp_path / "trec"
    lines = [ROWS[layout.kind].format(each).replace(" ", sign) for each in (query_id, "q2")]
    path.write_text("\n".join([*[comment] * bool(comment), *lines, *[comment] * bool(comment)]) + "\n")
    found = pull_source(FileSource(file=path), layout, tmp_path)
    assert found.query_ids == [query_id, "q2"]
    assert [(each.code, each.count) for each in found.remarks] == [("comment_line", 2)] * bool(comment)
    assert read_carefully(path, layout, "trec", {}).num_rows == read_table(path, layout, None, {}).num_rows == 2
    if len(comment.split()) not in (4, 6):  # else the first line alone does not tell
        found = recognise_file(path)
        assert found and found.kind.startswith(layout.kind)
