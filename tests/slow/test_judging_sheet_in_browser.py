"""The judging sheet as a judge uses it: by keyboard alone, and the file is read back (in Chromium)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.report.judging_sheet import write_judging_sheet
from ndcg_ab.sources import JUDGMENT, pull_source
from tests.browsing import NO_CHROMIUM, Open, browser, watched_pages
from tests.ndcg_ab.report.test_judging_sheet import HOSTILE, to_judge

__all__ = ["browser"]  # the fixture
pytestmark = NO_CHROMIUM

ODD = 'a "tab"\tand\na line, # '
ROWS = [
    to_judge("q1", "d1", "green tea", "Sencha", "https://example.org/sencha"),
    to_judge("q1", ODD, "green tea"),
    to_judge(HOSTILE, HOSTILE, HOSTILE, HOSTILE),
    to_judge("007", "#4"),
    to_judge("q5", "d5", "مرحبا"),
]
NO_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("sheet") / "sheet.html"
    write_judging_sheet(path, ROWS, [-1, 0, 0.5, 2], "Judge these")
    return path.as_uri()


@pytest.fixture
def open_sheet(browser: Any, address: str) -> Iterator[Open]:
    """Opens the sheet; at the end nothing was asked of the network and nothing was said on the console."""
    asked: list[str] = []
    with watched_pages(browser, asked) as made:

        def opened(script: str = "", **options: Any) -> Any:
            page = made(script, accept_downloads=True, **options)
            page.goto(address)
            return page

        yield opened
    assert {each for each in asked if not each.startswith("blob:")} == {address}


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def at(page: Any) -> str:
    return str(page.locator("#position").inner_text())


def progress(page: Any) -> str:
    return str(page.locator("#count").inner_text())


def downloaded(page: Any, key: str, path: Path) -> dict[tuple[str, str], float]:
    """The grades of the file that a key downloads, as the reader of judgments reads it."""
    with page.expect_download() as waiting:
        page.keyboard.press(key)
    assert waiting.value.suggested_filename.endswith(".tsv")
    waiting.value.save_as(path)
    table = pull_source(FileSource(file=path), JUDGMENT, path.parent).table
    columns = (table[name].to_pylist() for name in ("query_id", "doc_id", "grade"))
    return {(query, doc): grade for query, doc, grade in zip(*columns, strict=True)}


def test_judged_by_keyboard_alone(open_sheet: Open, tmp_path: Path) -> None:
    page = open_sheet()
    press(page, "A n n Enter")
    assert at(page) == "Pair 1 of 5" and not page.locator("#why").is_visible()
    press(page, "w")
    assert "new shows it at rank 1" in page.locator("#why").inner_text()
    press(page, "2")
    assert not page.locator("#why").is_visible()
    assert page.locator("#said").inner_text().startswith("Grade 2. 1 of 5 judged. Query: green tea. Document: a ")
    press(page, "1")  # stands for -1
    assert page.locator("#query").inner_text() == HOSTILE
    press(page, "2 u s 7 0")  # 7 stands for nothing
    assert progress(page) == "3 of 5 judged, 1 skipped" and at(page) == "Pair 5 of 5"
    expected = {("q1", "d1"): 2.0, ("q1", ODD): -1.0, ("007", "#4"): 0.0}
    assert downloaded(page, "Control+s", tmp_path / "some.tsv") == expected
    assert (tmp_path / "some.tsv").read_text().startswith("query_id\tdoc_id\tgrade\tjudge\nq1\td1\t2\tAnn\n")
    press(page, "3")  # stands for 0.5
    assert page.locator("#end-title").inner_text() == "4 judged, 1 skipped"
    press(page, "s")
    assert page.locator("#document").inner_text() == HOSTILE
    press(page, "0 ArrowLeft")
    assert at(page) == "Pair 5 of 5" and page.locator("#state").inner_text().strip() == "· grade 0.5"
    press(page, "2 Backspace ArrowRight")
    assert page.locator("#end-title").inner_text() == "All 5 judged"
    expected |= {(HOSTILE, HOSTILE): 0.0, ("q5", "d5"): 0.5}
    assert downloaded(page, "d", tmp_path / "all.tsv") == expected
    assert page.evaluate("window.hacked === undefined && !document.querySelector('img')")


def test_a_closed_tab_loses_nothing(open_sheet: Open, address: str) -> None:
    page = open_sheet()
    press(page, "Enter 2 s 0")
    assert page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))") is False
    again = page.context.new_page()
    page.close()
    again.goto(address)
    assert progress(again) == "2 of 5 judged, 1 skipped" and at(again) == "Pair 4 of 5"
    press(again, "u u u")
    assert progress(again) == "0 of 5 judged" and at(again) == "Pair 1 of 5"
    assert again.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))") is True


def test_works_where_the_browser_keeps_nothing(open_sheet: Open, tmp_path: Path) -> None:
    page = open_sheet(NO_STORAGE)
    press(page, "Enter 2")
    assert page.locator("#unkept").is_visible()
    assert downloaded(page, "d", tmp_path / "j.tsv") == {("q1", "d1"): 2.0}
    assert (tmp_path / "j.tsv").read_text() == "query_id\tdoc_id\tgrade\nq1\td1\t2\n"


def test_tab_reaches_every_button(open_sheet: Open) -> None:
    page = open_sheet(viewport={"width": 390, "height": 800})
    press(page, "Enter 2")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent.trim()"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", seen[-1]
    grades = ["Grade -1, key 1", "Grade 0, key 0", "Grade 0.5, key 3", "Grade 2, key 2"]
    others = ["← Back", "Forward →", "s Skip", "w Why this pair", "u Undo", "d Download", "No judge's name"]
    assert {*grades, *others} <= set(seen)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
