"""Grades of events: the SQL files of `sql/8_clicks`, one after another, and the position-based model.

`benchmarks/click_models.py` computes the grades again in plain Python; `tests/sql/test_clicks.py` compares both.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.engines import Engine
from ndcg_ab.engines.base import InFiles
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.clicks.events import EVENTS, ReadEvents
from ndcg_ab.sources.clicks.findings import CLIENT_RULES, event_remarks, grade_remark, joined_remarks, value_remarks
from ndcg_ab.sources.clicks.matching import match_texts
from ndcg_ab.sources.tables.on_disk import table_or_file
from ndcg_core.statistics.estimates.click_positions import IntArray, PlacedCounts, fit_joined

ATTRACTION = pa.schema([("document", pa.int64()), ("attraction", pa.float64())])
EXAMINATION = pa.schema([("place", pa.int64()), ("examination", pa.float64()), ("doubt", pa.float64())])
ORDER = "query_id, doc_id"
Z = 1.959963984540054  # of a 95 % interval: the .975 quantile of the normal distribution
SMALLEST_CHANGE = 1e-6  # of a probability: a step that moves none further says that the likelihood is the greatest


class GradedClicks(NamedTuple):
    """What clicks say.

    table: one row for each document with a grade: query_id, doc_id, grade, impressions, clicks, value, low, high, in
    the order of the ids. places: place, impressions, clicks, rate of each place. documents: with events, graded or not.
    queries: with events. change: of the position model, how far a step of expectation maximisation still moves a
    probability; 0 of other models. remarks: what was noticed.
    """

    table: pa.Table
    places: pa.Table
    documents: int
    queries: int
    change: float
    remarks: tuple[Remark, ...]


def grade_clicks(engine: Engine, events: ReadEvents, described: Clicks, queries: Mapping[str, str]) -> GradedClicks:
    """The grades by the model that `described` names.

    engine: with `click_files`, and nothing in it. queries: query_id -> text; without any the text of a search is its
    query_id. Raises InputError where no search has the text of a query, or no document has impressions enough.
    """
    texts, unmatched = match_texts(events, queries)
    scale, cuts = described.scale
    engine.expect(events.table.num_rows)
    engine.set(model=described.model, z=Z, floor=described.least, scale=scale, **CLIENT_RULES)
    columns = {name: name for name in EVENTS.names}
    engine.put_files("pulled_click_event", InFiles(columns, [(table_or_file(events.table), {})]))
    engine.put("pulled_click_text", texts)
    engine.put("pulled_click_cut", pa.table({"cut": pa.array(cuts, pa.float64())}))
    change, left_out = fit_model(engine, described.model)
    table = engine.read("click_grade", order=ORDER)
    places = engine.read("click_rate", ("place", "impressions", "clicks", "rate"), order="place")
    documents, queries_there = 0, set[str]()
    for piece in engine.pieces("click_document", ("query_id",), where={"is_asked": True}):
        documents += piece.num_rows
        queries_there.update(pc.unique(piece["query_id"]).to_pylist())
    if not table.num_rows:
        shown = engine.pieces("click_value", ("impressions",), where={"is_asked": True})
        most = max((pc.max(piece["impressions"]).as_py() or 0 for piece in shown), default=0)
        where = " at places that can be compared" if left_out else ""
        raise InputError(
            f"{events.origin}: no document has {described.least} impressions or more{where} (the most is {most}): give"
            " more events, or set a lower floor"
        )
    definition = described.definition
    if change > SMALLEST_CHANGE:
        definition += f", of which a step of expectation maximisation still moved a probability by {change:.1g}"
    told = grade_remark(table, documents, events.read, definition)
    remarks = (told, *left_out, *events.remarks, *unmatched, *value_remarks(table), *event_remarks(engine, places))
    return GradedClicks(table, places, documents, len(queries_there), change, remarks)


def fit_model(engine: Engine, model: str) -> tuple[float, list[Remark]]:
    """Put the tables of the position-based model into the engine, empty for other models.

    Returns the largest change of a probability by a step of expectation maximisation in SQL, which is none if the core
    found the greatest likelihood, and a remark if some documents cannot be compared.
    """
    if model != "position":
        engine.put("pulled_attraction", ATTRACTION.empty_table())
        engine.put("pulled_examination", EXAMINATION.empty_table())
        return 0.0, []
    documents, places, counts = read_counts(engine)
    fit = fit_joined(counts)
    shown, placed, top = documents[fit.document], places[fit.place], fit.examination.max(initial=1.0)
    doubt = fit.doubt if fit.is_identified else [None] * len(placed)

    def put(scale: float) -> None:
        engine.put("pulled_attraction", pa.table([shown, fit.attraction * scale], schema=ATTRACTION))
        engine.put("pulled_examination", pa.table([placed, fit.examination / scale, doubt], schema=EXAMINATION))

    put(top)  # a step moves nothing at its bounds, which are 1
    attracted = engine.read("attraction", ATTRACTION.names, order="document")["attraction"].to_numpy()
    looked = engine.read("examination", ("place", "examination"), order="place")["examination"].to_numpy()
    put(1.0)
    change = max(np.abs(attracted - fit.attraction * top).max(), np.abs(looked - fit.examination / top).max())
    return float(change), joined_remarks(fit, len(documents), placed)


def read_counts(engine: Engine) -> tuple[IntArray, IntArray, PlacedCounts]:
    """The documents and the places that were shown, in their order, and how often each document was at each place."""
    rows = engine.read("click_count", ("document", "place", "impressions", "clicks"), order="document, place")
    rows = rows.filter(pc.greater(rows["impressions"], 0))
    documents, document = np.unique(rows["document"].to_numpy(), return_inverse=True)
    places, place = np.unique(rows["place"].to_numpy(), return_inverse=True)
    counted = (rows[name].to_numpy().astype(np.float64) for name in ("impressions", "clicks"))
    return documents, places, PlacedCounts(document, place, *counted)
