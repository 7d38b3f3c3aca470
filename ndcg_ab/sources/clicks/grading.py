"""Grades of events: the SQL files of `sql/8_clicks`, one after another, and the position-based model.

`ndcg_core.clicks` computes the same in plain Python; `tests/sql/test_clicks.py` holds both against each other.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.clicks import Clicks
from ndcg_ab.engines import Engine, open_engine
from ndcg_ab.engines.sql_files import click_files
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.clicks.events import ReadEvents
from ndcg_ab.sources.clicks.findings import event_remarks, grade_remark
from ndcg_ab.sources.clicks.matching import match_texts
from ndcg_core.clicks.models import Z
from ndcg_core.clicks.positions import PlacedCounts, fit_counts

ATTRACTION = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("attraction", pa.float64())])
EXAMINATION = pa.schema([("place", pa.int64()), ("examination", pa.float64())])
ORDER = "query_id, doc_id"
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


def grade_clicks(events: ReadEvents, described: Clicks, queries: Mapping[str, str]) -> GradedClicks:
    """The grades by the model that `described` names.

    queries: query_id -> text; without any the text of a search is its query_id. Raises InputError where no search has
    the text of a query, or no document has impressions enough.
    """
    texts, unmatched = match_texts(events, queries)
    scale, cuts = described.scale
    with open_engine(files=click_files()) as engine:
        engine.expect(events.table.num_rows)
        engine.set(model=described.model, z=Z, floor=described.least, scale=scale)
        engine.put("pulled_click_event", events.table)
        engine.put("pulled_click_text", texts)
        engine.put("pulled_click_cut", pa.table({"cut": pa.array(cuts, pa.float64())}))
        change = fit_model(engine, described.model)
        table = engine.read("click_grade", order=ORDER)
        places = engine.read("click_rate", ("place", "impressions", "clicks", "rate"), order="place")
        values = engine.read("click_value", ("query_id", "impressions"))
        asked = texts.filter(texts["is_asked"])["query_id"]
        values = values.filter(pc.is_in(values["query_id"], asked))
        remarks = [*events.remarks, *unmatched, *event_remarks(engine, places)]
    if not table.num_rows:
        most = pc.max(values["impressions"]).as_py() or 0
        raise InputError(
            f"{events.origin}: no document has {described.least} impressions or more (the most is {most}) at places"
            " where something is clicked: give more events, or set a lower floor"
        )
    queries_there = pc.count_distinct(values["query_id"]).as_py()
    found = GradedClicks(table, places, values.num_rows, queries_there, change, ())
    definition = described.definition
    if change > SMALLEST_CHANGE:
        definition += f", of which a step of expectation maximisation still moved a probability by {change:.1g}"
    told = grade_remark(table, values.num_rows, events.read, definition)
    return found._replace(remarks=(told, *remarks))


def fit_model(engine: Engine, model: str) -> float:
    """Makes what the values of the position model are made of; of other models nothing.

    The core finds the greatest likelihood, and the SQL takes a step of expectation maximisation from there. Returns the
    largest change of a probability by that step, which is none where both are right.
    """
    if model != "position":
        engine.put("pulled_attraction", ATTRACTION.empty_table())
        engine.put("pulled_examination", EXAMINATION.empty_table())
        return 0.0
    rows = engine.read("click_count", ("query_id", "doc_id", "place", "impressions", "clicks"), order=f"{ORDER}, place")
    rows = rows.filter(pc.greater(rows["impressions"], 0))
    is_first = np.ones(rows.num_rows, dtype=bool)  # of its document
    before, after = rows.slice(0, max(rows.num_rows - 1, 0)), rows.slice(1)
    differs = (pc.not_equal(after[name], before[name]) for name in ATTRACTION.names[:2])
    is_first[1:] = pc.or_(*differs).to_numpy()
    places, place = np.unique(rows["place"].to_numpy(), return_inverse=True)
    counted = (rows[name].to_numpy().astype(np.float64) for name in ("impressions", "clicks"))
    fit = fit_counts(PlacedCounts(np.cumsum(is_first) - 1, place, *counted))
    documents = rows.filter(pa.array(is_first))
    attraction = [documents["query_id"], documents["doc_id"], fit.attraction]
    engine.put("pulled_attraction", pa.table(attraction, schema=ATTRACTION))
    engine.put("pulled_examination", pa.table([places, fit.examination], schema=EXAMINATION))
    attracted = engine.read("attraction", ATTRACTION.names, order=ORDER)["attraction"]
    looked = engine.read("examination", EXAMINATION.names, order="place")["examination"]
    return max(
        float(np.abs(attracted.to_numpy() - fit.attraction).max(initial=0.0)),
        float(np.abs(looked.to_numpy() - fit.examination).max(initial=0.0)),
    )
