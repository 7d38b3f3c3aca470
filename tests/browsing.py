"""Chromium for the tests of pages: they are opened, watched and closed."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
Open = Callable[..., Any]
NO_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """The browser; skips where playwright is not installed."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@contextlib.contextmanager
def watched_pages(
    browser: Any, asked: list[str], said: list[str] | None = None, dialogs: list[str] | None = None
) -> Iterator[Callable[..., Any]]:
    """Makes empty pages, each in a context with the options given; all that they ask for goes to `asked`.

    At the end they are closed; nothing was said on the console, and no dialog came.  said, dialogs: where these go.
    """
    said = [] if said is None else said
    dialogs = [] if dialogs is None else dialogs
    contexts = []

    def made(script: str = "", **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        context.add_init_script(script)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        return page

    yield made
    for context in contexts:
        context.close()
    assert said == dialogs == []
