"""Draw the report page of a bundle if the page is missing."""

import dataclasses
import sys
from html import escape
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.engines.duckdb import StoredTables
from ndcg_ab.errors import InputError
from ndcg_ab.files import resolve_path, write_text
from ndcg_ab.full_disks import is_full, no_room
from ndcg_ab.history import database
from ndcg_ab.history.bundle import TABLES, Bundle, read_bundle, read_content
from ndcg_ab.history.repeated_tests import RepeatedTests, read_repeated_tests
from ndcg_ab.report.page.data import gather_page_data
from ndcg_ab.report.page.render import write_page
from ndcg_ab.sources.queries import documents_source
from ndcg_ab.visible import visible

PAGE = "report.html"
STUB = "<!doctype html><title>report</title><p>"  # how a page begins that says why there is none


def render_bundle_page(folder: Path) -> Path:
    """Draw the page of a bundle if it is missing, and return the path of the page.

    If drawing fails, an error page with the reason is written instead; the next call then tries again. Raise
    NoRoomError if the disk is full; no error page is written then.
    """
    page = folder / PAGE
    if not is_page_drawn(page):
        try:
            write_report(folder)
        except Exception as error:
            if is_full(error):
                raise no_room(error, folder) from error
            write_error_page(folder, error)
    return page


def is_page_drawn(page: Path) -> bool:
    try:
        with page.open(encoding="utf-8", errors="replace") as file:
            return file.read(len(STUB)) != STUB
    except FileNotFoundError:
        return False


def write_report(folder: Path) -> None:
    """Write `report.html` of a bundle."""
    bundle = read_bundle(folder)
    timeline, nights = read_timeline(bundle)
    memory = bundle.evaluation.resources.memory_limit
    with StoredTables(folder / TABLES, memory_limit=memory) as engine:
        documents = documents_source(bundle.evaluation)
        data = gather_page_data(engine, bundle.outcome, read_content(folder), timeline, documents, can_do_without=True)
    write_page(folder / PAGE, dataclasses.replace(data, over_nights=nights))


def read_timeline(bundle: Bundle) -> tuple[pa.Table | None, RepeatedTests | None]:
    """Return the results of all evaluations up to a bundle, and the tests repeated over these evaluations.

    The results are a table with one row per evaluation, system and metric. Both values are None if the history cannot
    be read. The tests are None if nothing was tested.
    """
    try:
        with database.open_history_to_read(resolve_path(bundle.folder).parent / database.HISTORY) as past:
            rows, nights = database.read_timeline_rows(past), read_repeated_tests(past, bundle.ordinal)
    except InputError:
        return None, None
    return rows.filter(pc.less_equal(rows["ordinal"], bundle.ordinal)), nights


def write_error_page(folder: Path, error: Exception) -> None:
    """Write a page with the reason why the report could not be drawn, and print the reason to standard error.

    If the page cannot be written, this is printed too, and no error is raised.
    """
    message = f"the page cannot be drawn: {type(error).__name__}: {error}"
    print(visible(f"ndcg-ab: {folder}: {message}"), file=sys.stderr)
    try:
        write_text(folder / PAGE, f"{STUB}{escape(message)}\n")
    except OSError as trouble:
        print(visible(f"ndcg-ab: {folder}: nor can a page that explains this be written: {trouble}"), file=sys.stderr)
