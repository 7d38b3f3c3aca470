"""What several judges say, against values worked out by hand; and where it is shown."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ndcg_ab.labels.rescoring import compare_pairs_of_judges, disagreed_keys, list_judges
from ndcg_ab.sources.judgments.gathering import JudgmentCodes
from tests.commands import compare_command, invoke
from tests.inputs import write_rankings

QUERIES = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """new turns a and b of old round. ann finds b relevant everywhere, bob in the first ten queries a instead; eve
    judges four queries. Where the two disagree, the reciprocal rank differs by 0.5 or by -0.5.
    """
    made = tmp_path_factory.mktemp("judges")
    queries = [f"q{query:02d}" for query in range(QUERIES)]
    write_rankings(made, {"old": dict.fromkeys(queries, "abc"), "new": dict.fromkeys(queries, "bac")})
    rows = ["query_id,doc_id,grade,judge"]
    for query in range(QUERIES):
        rows.append(f"q{query:02d},b,1,ann")
        rows.append(f"q{query:02d},a,0,ann")
        rows.append(f"q{query:02d},b,{int(query >= 30)},bob")
        rows.append(f"q{query:02d},a,{int(query < 30)},bob")
        rows += [f"q{query:02d},b,1,eve"] * (query >= 36)
    (made / "judged.csv").write_text("\n".join(rows) + "\n")
    return made


def command(folder: Path, *options: str, judgments: str = "judged.csv") -> list[str]:
    return compare_command(folder, "--metric", "rr", *options, judgments=judgments)


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    """What the command prints; beside it, it writes out.json, comment.md and page.html."""
    options = ("--json", "{}/out.json", "--markdown", "{}/comment.md", "--report", "{}/page.html")
    found = invoke(command(folder, "--combine", "highest", *options))
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.slow
def test_a_line_says_where_they_disagree_and_details_show_each(folder: Path, shown: str) -> None:
    line = "judges disagree on new, rr: improved under ann (40 queries), regressed under bob (40 queries)"
    told = " ".join(shown.split())
    assert f"! {line}" in told and "kappa" not in told
    page = (folder / "page.html").read_text()
    assert line in page and "Krippendorff" in page and len(re.findall(r"<td class=\"words\">bob</td>", page)) == 2
    details = " ".join(invoke(command(folder, "--combine", "highest", "--details")).stdout.split())
    assert "kappa" in details and "under each judge alone" in details and "in 200 draws" in details


@pytest.mark.slow
def test_judges_who_agree_need_no_line(folder: Path) -> None:
    rows = [line for line in (folder / "judged.csv").read_text().splitlines() if not line.endswith("bob")]
    (folder / "agreed.csv").write_text("\n".join(rows) + "\n")
    shown = invoke(command(folder, "--json", "{}/agreed.json", judgments="agreed.csv"))
    assert shown.exit_code == 0 and "judges disagree" not in shown.stdout
    judges = json.loads((folder / "agreed.json").read_text())["judges"]
    assert judges["noise"] == [] and judges["disagreed"] == 0 and judges["alpha"] is None


@pytest.fixture
def judged() -> JudgmentCodes:
    """Documents 0 to 3 of two queries; a and b share three, a and c one, b and c two."""
    keys = pa.table({"query_id": ["q", "q", "r", "r"], "doc_id": ["1", "2", "1", "2"]})
    rows = [(0, 0, 1.0), (0, 1, 0.0), (0, 2, 2.0), (1, 0, 1.0), (1, 1, 1.0), (1, 2, 2.0), (1, 3, 0.0)]
    rows += [(2, 2, 2.0), (2, 3, 0.0)]
    judge, key, grade = (np.array(column) for column in zip(*rows, strict=True))
    return JudgmentCodes(keys, key, judge, np.zeros_like(key), grade, ("a", "b", "c"))


def test_pairs_that_share_most_and_judges_who_judged_most_come_first(judged: JudgmentCodes) -> None:
    pairs = compare_pairs_of_judges(judged)
    assert [(pair.first, pair.second, pair.shared) for pair in pairs] == [("a", "b", 3), ("b", "c", 2), ("a", "c", 1)]
    assert [pair.same for pair in pairs] == [pytest.approx(2 / 3), 1.0, 1.0]
    judges = list_judges(judged, enough=2, compare=lambda name: (name,))  # type: ignore[arg-type,return-value]
    assert [(judge.name, judge.documents, judge.queries) for judge in judges] == [("b", 4, 2), ("a", 3, 2), ("c", 2, 1)]
    assert [judge.comparisons for judge in judges] == [("b",), ("a",), ()]
    assert disagreed_keys(judged).tolist() == [1]
