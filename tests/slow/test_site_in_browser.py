"""The documentation's site opened as a file: its search works without a network (in Chromium)."""

from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from tests.browsing import NO_CHROMIUM, chromium, watched_pages
from tests.paths import ROOT

pytestmark = [NO_CHROMIUM, pytest.mark.soak]


def test_the_search_works_without_a_server(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(load_config(str(ROOT / "docs" / "site" / "mkdocs.yml"), site_dir=str(site)))
    asked: list[str] = []
    said: list[str] = []
    with chromium() as browser, watched_pages(browser, asked, said) as made:
        page = made()
        page.goto((site / "tutorials" / "judging.html").as_uri())
        page.keyboard.press("f")
        page.keyboard.type("guardrail margin")
        page.locator(".md-search-result__item h1", has_text="Gates").first.wait_for()
    assert said == [] and not [url for url in asked if not url.startswith("file:")]
