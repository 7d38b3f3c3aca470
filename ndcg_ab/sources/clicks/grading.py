"""Grades of events: the SQL files of `sql/8_clicks`, one after another, and the steps of the position-based model.

`ndcg_core.clicks` computes the same in plain Python; `tests/sql/test_clicks.py` holds both against each other.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.clicks import Clicks
from ndcg_ab.engines import Engine, open_engine
from ndcg_ab.engines.sql_files import click_files
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.clicks.events import ReadEvents
from ndcg_ab.sources.clicks.findings import event_remarks, grade_remark
from ndcg_ab.sources.clicks.matching import match_texts
from ndcg_core.clicks.models import MOST_STEPS, SMALLEST_CHANGE, START, Z

ATTRACTION = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("attraction", pa.float64())])
EXAMINATION = pa.schema([("place", pa.int64()), ("examination", pa.float64())])
ORDER = "query_id, doc_id"


class GradedClicks(NamedTuple):
    """What clicks say.

    table: one row for each document with a grade: query_id, doc_id, grade, impressions, clicks, value, low, high, in
    the order of the ids. places: place, impressions, clicks, rate of each place. documents: with events, graded or not.
    queries: with events. steps, change: of the position model, how many steps it took, and the largest change of a
    probability in the last; 0 of other models. remarks: what was noticed.
    """

    table: pa.Table
    places: pa.Table
    documents: int
    queries: int
    steps: int
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
        steps, change = fit_model(engine, described.model)
        table = engine.read("click_grade", order=ORDER)
        places = engine.read("click_rate", ("place", "impressions", "clicks", "rate"), order="place")
        values = engine.read("click_value", ("query_id", "impressions"))
        asked = texts.filter(texts["is_asked"])["query_id"]
        values = values.filter(pc.is_in(values["query_id"], asked))
        remarks = [*events.remarks, *unmatched, *event_remarks(engine, places)]
    if not table.num_rows:
        most = pc.max(values["impressions"]).as_py()
        raise InputError(
            f"{events.origin}: no document has {described.least} impressions or more (the most is {most}) at places"
            " where something is clicked: give more events, or set a lower floor"
        )
    queries_there = pc.count_distinct(values["query_id"]).as_py()
    found = GradedClicks(table, places, values.num_rows, queries_there, steps, change, ())
    definition = described.definition
    if change > SMALLEST_CHANGE:
        definition += f", whose last of {steps} steps still moved a probability by {change:.1g}"
    told = grade_remark(table, values.num_rows, events.read, definition)
    return found._replace(remarks=(told, *remarks))


def fit_model(engine: Engine, model: str) -> tuple[int, float]:
    """Makes what the values are made of; of the position model the last step, of others nothing.

    Returns the number of steps and the largest change of a probability in the last.
    """
    if model != "position":
        engine.put("pulled_attraction", ATTRACTION.empty_table())
        engine.put("pulled_examination", EXAMINATION.empty_table())
        return 0, 0.0
    attraction = start_of(engine, ATTRACTION)
    examination = start_of(engine, EXAMINATION)
    steps, change = 0, 1.0
    while steps < MOST_STEPS and change > SMALLEST_CHANGE:
        engine.put("pulled_attraction", attraction)
        engine.put("pulled_examination", examination)
        after = engine.read("attraction", ATTRACTION.names, order=ORDER)
        places = engine.read("examination", EXAMINATION.names, order="place")
        change = max(
            largest_change(after["attraction"], attraction["attraction"]),
            largest_change(places["examination"], examination["examination"]),
        )
        attraction, examination, steps = after, places, steps + 1
    top = pa.scalar(pc.max(examination["examination"]).as_py() or 1.0)
    scaled = pc.multiply(attraction["attraction"], top)
    engine.put("pulled_attraction", attraction.set_column(2, "attraction", scaled))
    engine.put(
        "pulled_examination", examination.set_column(1, "examination", pc.divide(examination["examination"], top))
    )
    return steps, change


def start_of(engine: Engine, schema: pa.Schema) -> pa.Table:
    """Every place, or every document, with the probability of the start."""
    names = schema.names[:-1]
    rows = engine.read("click_count", [*names, "impressions"])
    rows = (
        rows.filter(pc.greater(rows["impressions"], 0)).select(names).group_by(names, use_threads=False).aggregate([])
    )
    rows = rows.select(names).sort_by([(name, "ascending") for name in names])
    return rows.append_column(schema.names[-1], pa.repeat(START, rows.num_rows)).cast(schema)


def largest_change(after: pa.ChunkedArray, before: pa.ChunkedArray) -> float:
    return float(pc.max(pc.abs(pc.subtract(after, before))).as_py())
