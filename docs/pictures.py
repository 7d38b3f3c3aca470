"""Draw the README's pictures from the demo: the terminal output, and the page in a browser.

    make pictures

The page needs Chromium; without one its picture stays, and a line says so.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import MONOKAI

import ndcg_ab
from ndcg_ab.report.terminal.grid import draw_picture
from ndcg_ab.report.terminal.screen import print_outcome

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
COMMAND = "ndcg-ab run configs/demo.yaml"
WIDTH = 100  # columns of the terminal
PAGE = {"width": 1200, "height": 900}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def draw_terminal(result: ndcg_ab.CompareResult) -> str:
    """Return the printed answer as SVG, which fetches no font."""

    def show(console: Console) -> None:
        console.print(f"[dim]$[/] [bold]{COMMAND}[/]\n", highlight=False)
        print_outcome(console, result._outcome)

    return draw_picture(show, WIDTH, MONOKAI)


def words_in_picture(drawn: str) -> str:
    """Return the text in an SVG picture."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", drawn)
    return " ".join(" ".join(lines).replace("&#160;", " ").split())


def photograph_page(result: ndcg_ab.CompareResult, path: Path) -> bool:
    """Take a picture of the page's first screen; return False without a browser."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None:
        return False
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        result.report(Path(folder) / "page.html")
        opened = started.chromium.launch(executable_path=browser, args=FLAGS)
        shown = opened.new_page(viewport=PAGE)
        shown.goto((Path(folder) / "page.html").as_uri())
        shown.wait_for_timeout(2000)
        shown.screenshot(path=path)
        opened.close()
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)  # a third of the size
    return True


def main() -> None:
    result = ndcg_ab.evaluate(ROOT / "configs" / "demo.yaml")
    (IMAGES / "terminal.svg").write_text(draw_terminal(result), encoding="utf-8")
    if not photograph_page(result, IMAGES / "page.png"):
        print("docs/images/page.png: no Chromium is here, so it is as it was", file=sys.stderr)


if __name__ == "__main__":
    main()
