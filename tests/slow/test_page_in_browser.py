"""The report page as a person meets it: by mouse and keyboard, on a phone, on paper, in the dark (in Chromium)."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from ndcg_ab.report.page.data import PageData
from ndcg_ab.report.page.render import render_page, write_page
from ndcg_ab.results.numbers import format_plain, signed
from ndcg_ab.sources.tables.schema import DOCUMENT
from tests.browsing import NO_CHROMIUM, Open, browser, watched_pages
from tests.ndcg_ab.report.test_page import (
    ABOUT,
    HOSTILE_DOC,
    HOSTILE_QUERY,
    HOSTILE_SYSTEM,
    HOSTILE_TEXT,
    NEW,
    OLD,
    data,
    small_outcome,
)

__all__ = ["browser", "data"]  # fixtures
pytestmark = NO_CHROMIUM

DARK_AND_LIGHT = ("light", "dark")
CONTRAST = """selector => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const linear = c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map(c => linear(c / 255))
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll(selector)].filter(e => e.checkVisibility() && e.textContent.trim()).map(e => {
    const [a, b] = [light(parts(getComputedStyle(e).color)), light(behind(e))];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  });
}"""


@pytest.fixture(scope="module")
def address(data: PageData, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, data)
    return path.as_uri()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Open]:
    """Opens the page; at the end nothing was asked of the network, no dialog came, nothing was said on the console."""
    asked: list[str] = []
    opens: list[None] = []
    with watched_pages(browser, asked) as made:

        def opened(width: int = 1280, height: int = 900, ready: bool = True, fragment: str = "", **options: Any) -> Any:
            page = made(viewport={"width": width, "height": height}, **options)
            opens.append(None)
            page.goto(f"{address}#{fragment}" if fragment else address)
            if ready:
                page.wait_for_selector("html[data-ready]", timeout=20_000)
            return page

        yield opened
    assert asked == [address] * len(opens)


@pytest.fixture
def empty_page(browser: Any) -> Iterator[Open]:
    """Makes empty pages; at the end nothing was said on the console of any."""
    with watched_pages(browser, []) as made:
        yield made


class Tab(NamedTuple):
    """What tests share that want a page of the usual size, and what it did: see `open_page`."""

    page: Any
    asked: list[str]
    said: list[str]
    dialogs: list[str]


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Tab]:
    heard: tuple[list[str], list[str], list[str]] = ([], [], [])
    with watched_pages(browser, *heard) as made:
        yield Tab(made(viewport={"width": 1280, "height": 900}), *heard)


@pytest.fixture
def open_in_tab(tab: Tab, address: str) -> Iterator[Open]:
    """Loads the page anew in the tab of all tests: one in a tab of its own takes Chromium three times as long."""

    def opened(width: int = 1280, height: int = 900, scheme: str = "light") -> Any:
        tab.page.goto("about:blank")
        tab.page.mouse.move(0, 0)
        tab.page.set_viewport_size({"width": width, "height": height})
        tab.page.emulate_media(media="screen", color_scheme=scheme)
        for heard in (tab.asked, tab.said, tab.dialogs):
            heard.clear()
        tab.page.goto(address)
        tab.page.wait_for_selector("html[data-ready]", timeout=20_000)
        return tab.page

    yield opened
    assert tab.dialogs == tab.said == []
    assert tab.asked == [address]


@pytest.fixture
def page(open_in_tab: Open) -> Any:
    return open_in_tab()


def column(page: Any, name: str) -> list[str]:
    place = {"id": 1, "difference": 2, "text": 3, "baseline": 4, "candidate": 5}[name]
    if not head(page, "text").is_visible() and place > 2:
        place -= 1
    found: list[str] = page.locator(f"#query-table tr[data-query] > td:nth-child({place})").all_inner_texts()
    return found


def head(page: Any, name: str) -> Any:
    return page.locator(f"#query-table th[data-column={name}]")


def ranking(page: Any, role: str) -> list[list[str]]:
    rows = page.locator(f"#detail table[data-role={role}] tbody tr")
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def values(data: PageData, metric: str, system: str) -> dict[str, float]:
    rows = data.scores.to_pylist()
    return {row["query_id"]: row["value"] for row in rows if (row["metric"], row["system_id"]) == (metric, system)}


class TestTable:
    def test_holds_every_query_s_values(self, page: Any, data: PageData) -> None:
        before, after = values(data, "ndcg@10", "old"), values(data, "ndcg@10", "new")
        shown = dict(zip(column(page, "id"), zip(*(column(page, name) for name in NUMBERS), strict=True), strict=True))
        assert shown == {
            query: (format_plain(before[query]), format_plain(after[query]), signed(after[query] - before[query]))
            for query in before
        }

    def test_sorts_by_number_not_by_text(self, page: Any) -> None:
        """Negative ones too: as text -0.1 comes before -0.9."""
        numbers = [float(text) for text in column(page, "difference")]
        assert numbers == sorted(numbers) and numbers[0] < numbers[1] < 0 < numbers[-1]
        assert head(page, "difference").get_attribute("aria-sort") == "ascending"
        head(page, "difference").get_by_role("button").click()
        assert [float(text) for text in column(page, "difference")] == sorted(numbers, reverse=True)
        assert head(page, "difference").get_attribute("aria-sort") == "descending"
        head(page, "id").get_by_role("button").click()
        assert column(page, "id")[:3] == ["q01", "q02", "q03"]
        assert head(page, "difference").get_attribute("aria-sort") is None

    def test_searches_ids_and_texts(self, page: Any) -> None:
        page.locator("#search").fill("WORDS OF 12")
        assert column(page, "id") == ["q12"]
        page.locator("#search").fill("q03")
        assert column(page, "text") == ["words of 3"]
        page.locator("#search").fill("nowhere")
        assert column(page, "id") == [] and page.locator("#shown").inner_text() == "no query fits"

    def test_shows_wins_or_losses_alone(self, page: Any, data: PageData) -> None:
        row = next(row for row in data.outcome.main if (row.metric, row.candidate) == ("ndcg@10", "new"))
        for show, count in (("win", row.wins), ("loss", row.losses), ("tie", row.ties)):
            page.locator("#queries select[data-choice=show]").select_option(show)
            assert len(column(page, "id")) == count

    def test_follows_metric_and_candidate(self, page: Any, data: PageData) -> None:
        page.locator("#queries select[data-choice=metric]").select_option(label="dcg@5")
        page.locator("#queries select[data-choice=candidate]").select_option(label=HOSTILE_SYSTEM)
        expected = values(data, "dcg@5", HOSTILE_SYSTEM)
        found = dict(zip(column(page, "id"), column(page, "candidate"), strict=True))
        assert found == {query: format_plain(value) for query, value in expected.items()}
        assert page.locator("#figures select[data-choice=metric]").input_value() == "1"
        assert "dcg@5" in page.locator("#figure-differences h3").inner_text()


NUMBERS = ("baseline", "candidate", "difference")


NO_RANKINGS = pa.table(
    {name: pa.array([], pa.string()) for name in ("system_id", "query_id", "rank", "doc_id", "grade")}
)


def open_file(page: Any, folder: Path, data: PageData, fragment: str = "") -> Any:
    """Write the page of an evaluation to a file, and open it."""
    write_page(folder / "r.html", data)
    page.goto((folder / "r.html").as_uri() + fragment)
    page.wait_for_selector("html[data-ready]")
    return page


def open_small(page: Any, folder: Path, values: dict[str, list[float]], rankings: pa.Table = NO_RANKINGS) -> Any:
    """Open a page of these systems; each has a value of every query, and queries have no texts."""
    rows = [
        {"system_id": name, "query_id": f"q{index:02d}", "metric": "ndcg@10", "value": value}
        for name, column in values.items()
        for index, value in enumerate(column)
    ]
    scores, ids = pa.Table.from_pylist(rows), list(dict.fromkeys(row["query_id"] for row in rows))
    queries = pa.table({"query_id": ids, "text": pa.array([None] * len(ids), pa.string())})
    return open_file(
        page, folder, PageData(small_outcome(list(values)), ABOUT | {"inputs": []}, queries, scores, rankings)
    )


def test_rounds_as_python_does(empty_page: Open, tmp_path: Path) -> None:
    """Halves go to the even digit; the tables beside it are written by Python."""
    sizes = [0.03125, 0.09375, 0.15625, 0.5, 0.00005, 0.12345, 1.0, 0.99995, 1.96875, 0.0, 1 / 3]
    page = open_small(empty_page(), tmp_path, {"old": [0.0] * len(sizes), "new": sizes})
    head(page, "id").get_by_role("button").click()
    assert column(page, "candidate") == [format_plain(size) for size in sizes]
    assert column(page, "difference") == [signed(size) for size in sizes]
    page.get_by_role("button", name="q01").click()
    assert ranking(page, "candidate") == [["returned nothing"]]
    assert not head(page, "text").is_visible()


def test_one_system_alone(empty_page: Open, tmp_path: Path) -> None:
    rankings = {"system_id": ["old"], "query_id": ["q00"], "rank": [1], "doc_id": ["a"], "grade": [1.0]}
    page = open_small(empty_page(), tmp_path, {"old": [1.0]}, pa.table(rankings))
    assert (column(page, "baseline"), column(page, "candidate")) == (["1.0000"], ["–"])
    page.get_by_role("button", name="q00", exact=True).click()
    assert ranking(page, "baseline") == [["1", "a", "1", "–", "= same"]]
    assert page.locator("#detail .pair table").count() == 1 and not page.locator("figure:visible").count()


class TestRankings:
    def test_side_by_side_with_grades_and_marks(self, page: Any, data: PageData) -> None:
        page.get_by_role("button", name="q01", exact=True).press("Enter")
        before = values(data, "ndcg@10", "old")["q01"]
        assert page.locator("#detail-title").inner_text() == "q01 · words of 1"
        assert f"old {format_plain(before)}, new" in page.locator("#detail-values").inner_text()
        assert ranking(page, "baseline") == [
            ["1", OLD[0], "0", "0", "▼ down 1"],
            ["2", OLD[1], "1", "1", "✕ left"],
            ["3", OLD[2], "3", "3", "▲ up 2"],
        ]
        assert ranking(page, "candidate") == [
            ["1", NEW[0], "3", "3", "▲ up 2"],
            ["2", NEW[1], "0", "0", "▼ down 1"],
            ["3", NEW[2], "unjudged", "0", "+ new"],
        ]
        said = "2 of these results are in both, 1 came in, 1 went; rank-biased overlap 0.5"
        assert page.locator("#detail .changed").inner_text().startswith(said)
        assert page.evaluate("document.activeElement.id") == "detail-title"

    def test_are_those_of_the_chosen_candidate(self, page: Any, data: PageData) -> None:
        page.get_by_role("button", name="q02", exact=True).click()
        page.locator("#queries select[data-choice=candidate]").select_option(label=HOSTILE_SYSTEM)
        rows = data.rankings.to_pylist()
        for role, system in (("baseline", "old"), ("candidate", HOSTILE_SYSTEM)):
            mine = [row for row in rows if (row["query_id"], row["system_id"]) == ("q02", system)]
            grades = ["unjudged" if row["grade"] is None else f"{row['grade']:g}" for row in mine]
            shown = [row[:3] for row in ranking(page, role)]
            assert shown == [[str(row["rank"]), row["doc_id"], grade] for row, grade in zip(mine, grades, strict=True)]
            assert page.locator(f"#detail table[data-role={role}] caption").inner_text() == f"{system}, {role}"

    def test_open_in_place_and_close(self, page: Any) -> None:
        """By its button again, by Close, by Escape; the keyboard is where it was."""
        button = page.get_by_role("button", name="q05", exact=True)
        for leave in (
            lambda: button.press("Enter"),
            lambda: page.get_by_role("button", name="Close").press("Enter"),
            lambda: page.keyboard.press("Escape"),
        ):
            button.press("Enter")
            below = "document.querySelector('tr.chosen').nextElementSibling.querySelector('#detail') !== null"
            assert page.evaluate(below) and button.get_attribute("aria-expanded") == "true"
            leave()
            assert page.evaluate("document.activeElement.textContent") == "q05"
            assert page.locator("#detail").count() == 0 and button.get_attribute("aria-expanded") == "false"

    def test_have_an_address(self, page: Any, address: str, open_page: Open) -> None:
        """By hand: opened, another one, back, forward, and in a page of its own."""
        page.get_by_role("button", name="q02", exact=True).click()
        page.locator("#search").fill("q03")
        page.get_by_role("button", name="q03", exact=True).click()
        assert page.url == f"{address}#q=q03&c=new"
        assert page.get_by_role("link", name="link to this query").get_attribute("href") == "#q=q03&c=new"
        page.go_back()
        assert page.locator("#detail-title").inner_text() == "q02 · words of 2" and column(page, "id") != ["q03"]
        page.go_back()
        assert page.locator("#detail").count() == 0
        page.go_forward()
        assert page.locator("#detail-title").inner_text() == "q02 · words of 2"
        page.locator("#queries select[data-choice=candidate]").select_option(label=HOSTILE_SYSTEM)
        page.locator("#queries select[data-choice=metric]").select_option(label="dcg@5")
        other = open_page(fragment=page.url.partition("#")[2])
        shown = other.locator("#detail-values").inner_text()
        assert shown.startswith("dcg@5: old") and HOSTILE_SYSTEM in shown
        assert other.locator("tr.chosen").is_visible() and other.evaluate("scrollY") > 1000
        other.goto(f"{address}#q=nowhere&c=new")
        assert "the query nowhere" in other.locator("#unknown").inner_text() and not other.locator("#detail").count()

    def test_say_what_is_relevant_and_not_among_them(self, page: Any, data: PageData) -> None:
        page.get_by_role("button", name="q02", exact=True).click()
        mine = [
            row for row in data.missed.to_pylist() if row["query_id"] == "q02" and row["system_id"] in ("old", "new")
        ]
        assert mine
        shown = {row[1]: row for row in ranking(page, "missed")}
        assert shown.keys() == {row["doc_id"] for row in mine}
        for row in mine:
            said = "not returned" if row["rank"] is None else f"returned at rank {row['rank']}"
            assert shown[row["doc_id"]][2 if row["system_id"] == "old" else 3] == said

    def test_titles_are_links_only_to_the_web(self, browser: Any, data: PageData, tmp_path: Path) -> None:
        rows = [
            {"doc_id": "a", "title": HOSTILE_TEXT, "url": "https://example.org/a?x=1&y=2"},
            {"doc_id": "c", "title": "C", "url": "javascript:window.hacked=1"},
        ]
        documents = pa.Table.from_pylist(rows, schema=DOCUMENT.schema)
        changed = dataclasses.replace(data, documents=documents)
        page = open_file(browser.new_page(), tmp_path, changed, "#q=q01&c=new")
        links = page.locator("#detail .pair a")
        assert [link.get_attribute("href") for link in links.all()] == ["https://example.org/a?x=1&y=2"] * 2
        assert links.first.get_attribute("rel") == "noopener noreferrer"
        assert ranking(page, "baseline")[0][1].split("\n") == [HOSTILE_TEXT, "a"]
        assert page.evaluate("window.hacked === undefined")
        page.close()

    def test_open_from_a_figure(self, page: Any) -> None:
        page.locator("#figure-differences rect.mark").first.click()
        assert page.locator("#detail-title").inner_text().startswith(column(page, "id")[0])

    def test_open_from_a_card(self, page: Any) -> None:
        link = page.locator("#card-1 .losses a").first
        text = link.inner_text()
        link.click()
        assert page.locator("#detail-title").inner_text().endswith(text)
        assert page.locator("#queries select[data-choice=candidate]").input_value() == "1"

    def test_by_keys(self, page: Any) -> None:
        """By hand: down twice, up once, open; the next, the one before, none beyond the first; fields take letters."""
        ids = column(page, "id")
        for key in "jjk":
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent") == ids[0]
        page.keyboard.press("Enter")
        titles = []
        for key in "nnppp":
            page.keyboard.press(key)
            titles.append(page.locator("#detail-title").inner_text().partition(" · ")[0])
        assert titles == [ids[1], ids[2], ids[1], ids[0], ids[0]]
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.textContent") == ids[1]
        page.keyboard.press("Escape")
        assert page.locator("#detail").count() == 0
        page.locator("#search").press_sequentially("jn")
        assert page.locator("#search").input_value() == "jn" and page.locator("#detail").count() == 0


class TestFigures:
    def test_are_drawn_with_words(self, page: Any, data: PageData) -> None:
        for name in ("differences", "values", "nights"):
            figure = page.locator(f"#figure-{name}")
            assert figure.locator("h3").inner_text() and "{" not in figure.locator("h3").inner_text()
            assert figure.locator("figcaption").inner_text()
            assert figure.locator(".plot").get_attribute("aria-label")
        row = next(row for row in data.outcome.main if (row.metric, row.candidate) == ("ndcg@10", "new"))
        told = page.locator("#figure-differences figcaption").inner_text()
        assert re.search(rf"{row.wins} wins?, {row.ties} ties?, {row.losses} loss(es)?", told)
        assert "new in evaluation 2" in page.locator("#figure-nights figcaption").inner_text()

    def test_bars_are_as_high_as_their_differences(self, page: Any) -> None:
        """By the axis that stands beside them: 0 is where a bar begins, and the largest is the longest."""
        heights = [float(bar.get_attribute("height")) for bar in page.locator("#figure-differences rect.mark").all()]
        sizes = [abs(float(text)) for text in column(page, "difference")]
        assert len(heights) == page.locator("#figure-values path.mark:visible").count() == 40
        assert page.locator("#figure-nights path.mark.loss").count() == 1, "the bad night"
        scale = max(heights) / max(sizes)
        assert all(
            height == pytest.approx(max(1.5, scale * size), abs=0.05)
            for height, size in zip(heights, sizes, strict=True)
        )

    def test_tell_more_under_the_pointer(self, page: Any) -> None:
        tip = page.locator("#figure-differences rect.mark title").last.text_content()
        (query, difference) = (column(page, name)[-1] for name in ("id", "difference"))
        assert tip.startswith(f"{query} · words of") and tip.endswith(f"difference {difference}")


class TestInert:
    def test_hostile_texts_do_nothing(self, page: Any) -> None:
        page.locator("#search").fill(HOSTILE_QUERY)
        assert column(page, "id") == [HOSTILE_QUERY]
        page.locator("#query-table tr[data-query] button").click()
        page.locator("#queries select[data-choice=candidate]").select_option(label=HOSTILE_SYSTEM)
        documents = [row[1] for role in ("baseline", "candidate") for row in ranking(page, role)]
        assert HOSTILE_DOC in documents
        page.locator("#search").fill("")
        place = column(page, "id").index(HOSTILE_QUERY)
        tip = page.locator("#figure-differences rect.mark title").nth(place).text_content()
        assert tip.startswith(f"{HOSTILE_QUERY} · {HOSTILE_TEXT}"), "texts from data are no placeholders"
        page.locator("#figure-differences rect.mark").nth(place).hover(force=True)
        assert page.evaluate("window.hacked === undefined && !document.querySelector('img, [onload], [onerror]')")


def test_tables_of_metrics_are_sorted_by_their_heads(page: Any) -> None:
    """Rising, falling, as given; by number, and what has none (the baseline's difference) last."""
    head = page.locator("#metrics table").first.locator("thead th", has_text="difference")
    cells = page.locator("#metrics table").first.locator("tbody td:nth-child(2)")
    given = cells.all_inner_texts()
    numbers = sorted(float(text) for text in given if text)
    for order, expected in (
        ("ascending", [*numbers, None]),
        ("descending", [*reversed(numbers), None]),
        (None, [float(text) if text else None for text in given]),
    ):
        head.get_by_role("button").press("Enter")
        assert [float(text) if text else None for text in cells.all_inner_texts()] == expected
        assert head.get_attribute("aria-sort") == order


def test_bounds_and_thousands_are_sorted_as_numbers(page: Any) -> None:
    """Costs: 1,234 is more than 20, and ≥1,000 a number."""
    table = page.locator("#metrics table").first
    texts = ["≥1,000", "20.0", "1,234", "≤3"]
    rows = "".join(f"<tr><th>x</th><td>{text}</td><td>y</td></tr>" for text in texts)
    table.evaluate("(each, rows) => { each.tBodies[0].innerHTML = rows; delete each.givenRows }", rows)
    table.locator("thead th", has_text="difference").get_by_role("button").press("Enter")
    assert table.locator("tbody td:nth-child(2)").all_inner_texts() == ["≤3", "20.0", "≥1,000", "1,234"]


@pytest.mark.parametrize("width", [360, 768])
def test_narrow_screens_scroll_inside_tables_alone(open_in_tab: Open, width: int) -> None:
    page = open_in_tab(width=width, height=740)
    page.get_by_role("button", name="q01", exact=True).click()
    page.get_by_text("More columns").click()
    page.locator("#findings summary").first.click()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    wide = "[...document.querySelectorAll('svg')].filter(e => e.getBoundingClientRect().width > innerWidth).length"
    assert page.evaluate(wide) == 0


@pytest.mark.parametrize(("width", "name"), [(1400, "new"), (390, "long-name-" * 8)])
def test_nothing_sticks_out(empty_page: Open, tmp_path: Path, width: int, name: str) -> None:
    """On a wide screen no table, if by a pixel, or it has a scroll bar; on a telephone no list of long names."""
    values = {each: [0.5] for each in ("old", f"a {name}", f"b {name}")}
    page = open_small(empty_page(viewport={"width": width, "height": 844}), tmp_path, values)
    assert page.locator("select[data-choice=candidate]").first.is_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    if width > 1000:
        page.evaluate("document.querySelectorAll('#metrics > details').forEach(each => { each.open = true; })")
        tables = "[...document.querySelectorAll('#metrics .scroll')].filter(e => e.checkVisibility()).slice(0, 3)"
        assert page.evaluate(f"{tables}.map(e => e.scrollWidth - e.clientWidth)") == [0, 0, 0]


@pytest.mark.parametrize("scheme", DARK_AND_LIGHT)
def test_contrast(open_in_tab: Open, scheme: str) -> None:
    page = open_in_tab(scheme=scheme)
    page.get_by_role("button", name="q01", exact=True).click()
    ratios = page.evaluate(CONTRAST, "p, li, a, td, th, caption, figcaption, button, label, summary, span, small, code")
    assert len(ratios) > 200 and min(ratios) >= 4.5
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_on_paper_are_the_answer_and_what_is_in_doubt_on_two_pages(open_in_tab: Open, data: PageData) -> None:
    page = open_in_tab(scheme="dark")
    page.emulate_media(media="print")
    for text in [*(each.reason for each in data.outcome.decisions), "Gates"]:
        assert page.get_by_text(text).first.is_visible()
    assert page.locator(".card .choice").first.is_visible() and page.locator("#findings li").first.is_visible()
    for name in ("queries", "figures", "metrics", "slices", "definitions", "inputs", "configuration"):
        assert not page.locator(f"#{name}").is_visible(), name
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    made = page.pdf(format="A4", prefer_css_page_size=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", made)) <= 2


def test_without_javascript_words_and_tables_are_there(open_page: Open, data: PageData) -> None:
    page = open_page(ready=False, java_script_enabled=False)
    row = data.outcome.main[0]
    assert page.get_by_text(signed(row.difference)).first.is_visible()
    assert page.locator("noscript p").is_visible()
    assert page.locator("#metrics table").first.is_visible() and page.locator("#findings").is_visible()
    assert page.locator(".card .choice").first.is_visible()
    assert not page.locator("#queries").is_visible() and not page.locator("#figures").is_visible()


def test_the_keyboard_reaches_what_the_mouse_does(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answer"
    seen = []
    for _ in range(400):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.slice(0, 20)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", seen[-1]
        if seen[-1] == "configuration":
            break
        if "q01" in seen and "search" in seen:
            break
    assert "search" in seen and "q01" in seen and seen.index("search") < seen.index("q01")


def test_works_inside_another_page(empty_page: Open, data: PageData) -> None:
    """As MLflow shows an artifact: in a frame whose links would lead to the page around it."""
    around = empty_page()
    around.set_content("<iframe sandbox='allow-scripts' style='width: 900px; height: 700px'></iframe>")
    around.evaluate("text => { document.querySelector('iframe').srcdoc = text; }", render_page(data))
    inside = around.frame_locator("iframe")
    inside.locator("html[data-ready]").wait_for(timeout=20_000)
    inside.get_by_role("link", name="Queries").click()
    assert inside.locator("#queries").evaluate("section => document.activeElement === section")
    inside.get_by_role("button", name="q01", exact=True).click()
    inside.get_by_role("link", name="link to this query").click()
    assert inside.locator("#detail-title").inner_text() == "q01 · words of 1"
    inside.get_by_role("button", name="Close").click()
    assert not inside.locator("#detail").count()
    assert inside.locator("#figure-differences svg").count()


def test_links_inside_stay_on_the_page(page: Any) -> None:
    before = page.url
    page.get_by_role("link", name="Queries").click()
    assert page.evaluate("document.activeElement.id") == "queries" and page.url == before
