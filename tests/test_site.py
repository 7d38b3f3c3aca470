"""The documentation as a site: every page is in it, it loads nothing from elsewhere, and its search finds pages."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.browsing import NO_CHROMIUM, chromium, watched_pages
from tests.paths import ROOT

pytestmark = pytest.mark.slow
# What somebody types -> the page that should come first.
SEARCHES = {
    "compare two Elasticsearch templates": "http",
    "what does L mean": "glossary",
    "why judge more queries": "power",
    "import a csv of ratings": "inputs",
    "run every night": "scheduling",
    "why do the values differ from trec_eval": "definitions",
    "read from postgresql": "sources",
    "github action pull request comment": "pull-requests",
    "language model as judge": "judging",
    "latency limit p95": "costs",
    "sign flip test p value": "significance",
    "conversation turns cluster": "weights",
    "score_query": "reference/ndcg_core",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    made = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "docs" / "site" / "mkdocs.yml"), site_dir=str(made), strict=True))
    return made


def test_the_site_is_made_of_every_page(site: Path) -> None:
    """Strictly: every page is in the navigation, links and their places are there; it loads nothing from elsewhere."""
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    made_pages = {path.relative_to(site) for path in site.rglob("*.html")}
    assert pages | {Path("404.html")} == {path for path in made_pages if path.parent.name != "reference"}
    for path in made_pages:
        text = (site / path).read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?([^\"' >]+)", text)
        assert not [each for each in loaded if each.startswith(("http:", "https:", "//"))], path
        assert "```mermaid" not in text


@pytest.mark.parametrize("package", ["ndcg_ab", "ndcg_ab.testing", "ndcg_core"])
def test_every_public_name_has_an_entry(package: str, site: Path) -> None:
    text = (site / "reference" / f"{package}.html").read_text(encoding="utf-8")
    entries = dict(re.findall(r'<h2 id="([\w.]+)".*?</h2>(.*?)(?=<h2|$)', text, flags=re.DOTALL))
    assert {f"{package}.{name}" for name in import_module(package).__all__ if name != "__version__"} <= {*entries}
    assert [name for name, entry in entries.items() if "<p>" not in entry] == []


@NO_CHROMIUM
def test_the_search_finds_the_right_page_first(site: Path) -> None:
    found = {}
    with chromium() as browser, watched_pages(browser, [], []) as make_page:
        page = make_page()
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("f")
        words = page.locator("input[name=query]")
        for question in SEARCHES:
            words.fill("")
            words.click()
            page.keyboard.insert_text(question[:-1])
            page.keyboard.type(question[-1])
            for _ in range(20):  # the list follows what is typed
                page.wait_for_timeout(250)
                links = page.locator(".md-search-result__item > a.md-search-result__link")
                address = links.evaluate_all("links => links[0]?.href ?? ''")
                found[question] = address.partition("?")[0].removeprefix(f"{site.as_uri()}/").removesuffix(".html")
                if found[question] == SEARCHES[question]:
                    break
    assert found == SEARCHES
