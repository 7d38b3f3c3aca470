"""The judging sheet as a text; tests/slow/test_judging_sheet_in_browser.py judges with it."""

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.report.judging_sheet import (
    assign_keys,
    grade_levels,
    levels_with_keys,
    render_judging_sheet,
    write_judging_sheet,
)
from ndcg_ab.studies.judge_next import ToJudge

HOSTILE = '</script><img src=x onerror="window.hacked=1">\'"&'


def to_judge(
    query_id: str,
    doc_id: str,
    text: str | None = None,
    title: str | None = None,
    url: str | None = None,
    ranks: tuple[tuple[str, int], ...] = (("old", 3), ("new", 1)),
) -> ToJudge:
    found = (1, query_id, doc_id, text, title, url, ranks, 0.00125, -0.01, 0.025, "old", "new", "ndcg@10")
    return ToJudge(**dict(zip(ToJudge.__annotations__, found, strict=True)))


def content(page: str) -> dict[str, Any]:
    """The data of a sheet, from the only block that holds them."""
    blocks = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, flags=re.DOTALL)
    assert len(blocks) == 1
    found: dict[str, Any] = json.loads(blocks[0])
    return found


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        ([2, 1, 1, 0], {"0": 0, "1": 1, "2": 2}),
        ([1, 9], {"0": 0, "1": 1, "9": 9}),  # a digit that is a grade means itself
        ([], {"0": 0, "1": 1}),
        ([0.0], {"0": 0, "1": 1}),
        ([1, 0.5], {"0": 0, "2": 0.5, "1": 1}),
        ([-2, 1, 2], {"3": -2, "0": 0, "1": 1, "2": 2}),
        ([10, 100], {"0": 0, "1": 10, "2": 100}),
    ],
)
def test_every_level_has_a_digit(grades: Sequence[float], expected: dict[str, float]) -> None:
    page = render_judging_sheet([to_judge("q", "d")], grades, "Sheet")
    assert content(page)["keys"] == [{"key": key, "grade": grade} for key, grade in expected.items()]
    assert "more than there are digits" not in page


def test_of_more_levels_than_digits_ten_are_offered() -> None:
    """Evenly spread, 0, the lowest and the highest among them, and the sheet says so."""
    given = [-1.5 + index / 8 for index in range(37)]
    chosen = levels_with_keys(grade_levels(given))
    assert len(chosen) == 10 and {0.0, -1.5, 3.0} < set(chosen) <= set(given)
    assert max(after - before for before, after in itertools.pairwise(chosen)) <= 0.75
    assert len({each["key"] for each in assign_keys(chosen)}) == 10
    assert "The judgments hold 37 grades, more than there are digits" in render_judging_sheet([], given, "Sheet")


def test_hostile_texts_are_data() -> None:
    row = to_judge(HOSTILE, HOSTILE + "\t\n", HOSTILE, HOSTILE, "javascript:alert(1)", ((HOSTILE, 2),))
    page = render_judging_sheet([row], [1], HOSTILE)
    shown = content(page)["pairs"][0]
    assert (shown["query_id"], shown["doc_id"], shown["text"]) == (HOSTILE, HOSTILE + "\t\n", HOSTILE)
    assert shown["url"] is None and HOSTILE in shown["why"][0]
    assert "<img" not in page and page.count("</script>") == 2
    assert "<title>&lt;/script&gt;" in page


def test_links_lead_to_web_pages_alone() -> None:
    urls = ["https://example.org/?a=1&b=2", "https://a b", "/p/17"]
    page = render_judging_sheet([to_judge("q", url, url=url) for url in urls], [1], "Sheet")
    assert [pair["url"] for pair in content(page)["pairs"]] == [urls[0], None, None]


def test_why_says_who_shows_it_and_what_it_would_move() -> None:
    assert content(render_judging_sheet([to_judge("q", "d")], [1], "Sheet"))["pairs"][0]["why"] == [
        "old shows it at rank 3, new shows it at rank 1",
        "new − old in ndcg@10: its grade is expected to move the difference by 0.0013, to between -0.0100 and +0.0250",
    ]


def test_what_is_kept_is_kept_for_the_same_content_alone() -> None:
    first = content(render_judging_sheet([to_judge("q", "d")], [1], "Sheet"))["identity"]
    assert first == content(render_judging_sheet([to_judge("q", "d")], [1, 1, 0], "Sheet"))["identity"]
    assert first != content(render_judging_sheet([to_judge("q", "e")], [1], "Sheet"))["identity"]
    assert first != content(render_judging_sheet([to_judge("q", "d")], [1, 2], "Sheet"))["identity"]


def test_asks_nothing_of_the_network(tmp_path: Path) -> None:
    write_judging_sheet(tmp_path / "sheet.html", [to_judge("q", "d")], [1], "Sheet")
    page = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and not re.search(r"https?://|@import|url\(", page)
