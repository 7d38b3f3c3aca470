"""What several judges say, against values worked out by hand; and where it is shown."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands import compare_command, invoke
from tests.inputs import write_rankings

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module")
def made(folder: Path, shown: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return content


def test_how_far_they_agree(made: dict[str, Any]) -> None:
    judges = made["judges"]
    told = [(row["name"], row["documents"], row["queries"], len(row["comparisons"])) for row in judges["judges"]]
    assert told == [("ann", 80, 40, 1), ("bob", 80, 40, 1), ("eve", 4, 4, 0)]
    assert (judges["several"], judges["disagreed"]) == (80, 60)
    first, *others = judges["pairs"]
    assert (first["first"], first["second"], first["shared"], first["same"]) == ("ann", "bob", 80, 0.25)
    assert first["kappa"] == pytest.approx((0.25 - 0.5) / 0.5)
    assert [(row["second"], row["shared"], row["kappa"]) for row in others] == [("eve", 4, None), ("eve", 4, None)]
    assert judges["alpha"] < 0


def test_the_verdict_under_each_who_judged_enough(made: dict[str, Any]) -> None:
    rows = [(judge["name"], row) for judge in made["judges"]["judges"] for row in judge["comparisons"]]
    told = [(name, row["queries"], row["difference"], row["conclusion"]) for name, row in rows]
    assert told == [("ann", 40, 0.5, "improved"), ("bob", 40, -0.25, "regressed")]
    assert all(row.keys() == made["comparisons"][0].keys() for _, row in rows), "one shape of comparisons"


def test_how_far_their_noise_moves_the_difference(made: dict[str, Any]) -> None:
    """Of each of 30 queries two documents are drawn: b alone 1/4, a alone 1/4, both 1/4 (a first in old), none 1/4.

    Differences: b alone 1/2, a alone -1/2, both 0, none left out; the other ten always 1/2. The mean over 10 + 30
    times 3/4 expected queries lies near 10 / 2 / 32.5, and no draw is beyond ±1/2.
    """
    (row,) = made["judges"]["noise"]
    assert (row["candidate"], row["metric"], row["draws"], row["queries"]) == ("new", "rr", 200, 30)
    assert row["mean"] == pytest.approx(5 / 32.5, abs=0.02)
    expected_sd = (22.5 * (2 / 3) * 0.25) ** 0.5 / 32.5
    assert row["sd"] == pytest.approx(expected_sd, rel=0.25)
    assert -0.5 <= row["lowest"] < row["mean"] < row["highest"] <= 0.5


def test_a_line_says_where_they_disagree_and_details_show_each(folder: Path, shown: str) -> None:
    line = "judges disagree on new, rr: improved under ann (40 queries), regressed under bob (40 queries)"
    told = " ".join(shown.split())
    assert f"! {line}" in told and "kappa" not in told
    page = (folder / "page.html").read_text()
    assert line in page and "Krippendorff" in page and len(re.findall(r"<td class=\"words\">bob</td>", page)) == 2
    details = " ".join(invoke(command(folder, "--combine", "highest", "--details")).stdout.split())
    assert "kappa" in details and "under each judge alone" in details and "in 200 draws" in details


def test_judges_who_agree_need_no_line(folder: Path) -> None:
    rows = [line for line in (folder / "judged.csv").read_text().splitlines() if not line.endswith("bob")]
    (folder / "agreed.csv").write_text("\n".join(rows) + "\n")
    shown = invoke(command(folder, "--json", "{}/agreed.json", judgments="agreed.csv"))
    assert shown.exit_code == 0 and "judges disagree" not in shown.stdout
    judges = json.loads((folder / "agreed.json").read_text())["judges"]
    assert judges["noise"] == [] and judges["disagreed"] == 0 and judges["alpha"] is None
