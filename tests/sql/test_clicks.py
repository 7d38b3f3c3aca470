"""The SQL files that make grades of clicks, against the core, on events made by hand and by chance."""

import random
from typing import Any

import pyarrow as pa
import pytest
from click_models import MODELS, click_grades, click_values, logged_rates
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.engines import open_engine
from ndcg_ab.engines.sql_files import click_files
from ndcg_ab.sources.clicks.click_judgments import ATTRACTION, TEXTS, GradedClicks, grade_clicks
from ndcg_ab.sources.clicks.events import EVENTS, ReadEvents
from tests.click_counts import Event, count_clicks
from tests.examples import examples

pytestmark = pytest.mark.slow

WITHOUT_STEPS = [model for model in MODELS if model != "position"]
GRADES = ({"value": True}, {"thresholds": [0.3, 1.0, 1.4]}, {"quantiles": [0.2, 0.5, 0.9]})


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Impressions and clicks, in searches and out of any, some of them twice, some clicks without an impression."""
    of_search = st.tuples(
        st.sampled_from(["q1", "q2", "q3"]),
        st.sampled_from(["a", "b", "c", "d"]),
        st.integers(1, 5),
        st.sampled_from(["s1", "s2", "s3", "s4", "s5"]),
        st.sampled_from([(1, 0), (1, 0), (0, 1)]),
    )
    counted = st.tuples(
        st.sampled_from(["q1", "q2"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(1, 7),
        st.none(),
        st.integers(0, 40).flatmap(lambda shown: st.tuples(st.just(shown), st.integers(0, shown))),
    )
    rows = draw(st.lists(st.one_of(of_search, counted), min_size=1, max_size=60))
    found = [Event(query_id, doc_id, rank, search, *counts) for query_id, doc_id, rank, search, counts in rows]
    return [*found, Event("q1", "a", 1, None, 5, 1)]


def event_table(events: list[Event]) -> pa.Table:
    rows = [
        {"text": row.query_id, "client": None, **{name: getattr(row, name) for name in row._fields[1:]}}
        for row in events
    ]
    return pa.Table.from_pylist(rows, schema=EVENTS)


def by_sql(events: list[Event], **keys: object) -> GradedClicks:
    described = Clicks.model_validate({"file": "events.jsonl", "floor": 0, **keys})
    read = ReadEvents(event_table(events), "events.jsonl", len(events), ())
    with open_engine(files=click_files()) as engine:
        return grade_clicks(engine, read, described, {})


def assert_same(events: list[Event], model: str, grades: dict[str, object], floor: int = 0) -> None:
    found = by_sql(events, model=model, grades=grades, floor=floor)
    counts = count_clicks(events)
    expected = click_values(counts, model)
    scale = next(iter(grades))
    cuts = grades[scale] if scale != "value" else ()
    graded = click_grades(expected, floor, scale.removesuffix("s"), cuts)  # type: ignore[arg-type]
    rows = {(row["query_id"], row["doc_id"]): row for row in found.table.to_pylist()}
    assert rows.keys() == graded.keys()
    for document, row in rows.items():
        about = expected[document]
        assert (row["impressions"], row["clicks"]) == (about.impressions, about.clicks)
        for name in ("value", "low", "high"):
            expected_value = getattr(about, name)
            near = expected_value if expected_value is None else pytest.approx(expected_value, rel=1e-12, abs=1e-12)
            assert row[name] == near, (name, document)
        assert row["grade"] == pytest.approx(graded[document], rel=1e-12, abs=1e-12)
    rates = {row["place"]: row["rate"] for row in found.rates.to_pylist()}
    clicked = [row._replace(shown_events=row.impressions, click_events=row.clicks) for row in counts]
    assert rates == pytest.approx(logged_rates(clicked), abs=1e-15)
    assert found.documents == len({row[:2] for row in counts})


HAND = [
    *(Event("q", "d1", 1, f"s{n}", 1, 0) for n in range(10)),
    *(Event("q", "d1", 1, f"s{n}", 0, 1) for n in (1, 2, 2)),
    Event("q", "d1", 2, None, 90, 9),
    Event("q", "d2", 1, None, 10, 3),
    Event("q", "d2", 2, None, 10, 1),
]


@pytest.mark.parametrize(
    ("model", "d1", "d2"),
    [
        ("rate", 0.11, 0.2),
        ("opensearch", 12 / (100 * 0.3), 4 / (20 * 0.3)),  # it counts the click that was logged twice
    ],
)
def test_by_hand(model: str, d1: float, d2: float) -> None:
    found = by_sql(HAND, model=model, grades={"value": True}).table
    assert dict(zip(found["doc_id"].to_pylist(), found["grade"].to_pylist(), strict=True)) == pytest.approx(
        {"d1": d1, "d2": d2}, rel=1e-15
    )


@pytest.mark.parametrize("grades", GRADES, ids=lambda grades: next(iter(grades)))
@pytest.mark.parametrize("model", MODELS)
def test_by_hand_as_the_core(model: str, grades: dict[str, object]) -> None:
    """With a document where nobody clicks, of which no click is expected, and d4, which has more than ranks allow."""
    more = [("d3", 9, 5, 0), ("d4", 8, 10, 10), ("d4", 7, 1, 0), ("d5", 8, 100, 0), ("d5", 7, 99, 99)]
    assert_same([*HAND, *(Event("q", doc_id, rank, None, *counts) for doc_id, rank, *counts in more)], model, grades)


@settings(max_examples=examples(30))
@given(events=logs(), model=st.sampled_from(WITHOUT_STEPS), grades=st.sampled_from(GRADES), floor=st.integers(0, 3))
def test_any_events_as_the_core(events: list[Event], model: str, grades: dict[str, object], floor: int) -> None:
    assert_same(events, model, grades, floor)


@settings(max_examples=examples(20))
@given(events=logs())
def test_the_position_model_of_any_events_as_the_core(events: list[Event]) -> None:
    assert_same(events, "position", {"value": True})


@settings(max_examples=examples(20))
@given(events=logs(), seed=st.integers(0, 99))
def test_a_step_of_expectation_maximisation_by_hand(events: list[Event], seed: int) -> None:
    """From any probabilities, written out row by row."""
    rows = [row for row in count_clicks(events) if row.impressions]
    draw = random.Random(seed)
    before = {each: draw.random() for row in rows for each in (row.rank, (row.query_id, row.doc_id))}
    likely, impressions = dict.fromkeys(before, 0.0), dict.fromkeys(before, 0)
    for row in rows:
        document = (row.query_id, row.doc_id)
        e, a = before[row.rank], before[document]
        silent = (row.impressions - row.clicks) / (1 - e * a)
        for each, missed in ((row.rank, e * (1 - a)), (document, a * (1 - e))):
            likely[each] += row.clicks + silent * missed
            impressions[each] += row.impressions
    after = step_by_sql(events, before)
    assert after == pytest.approx({each: total / impressions[each] for each, total in likely.items()}, rel=1e-12)


def step_by_sql(events: list[Event], before: dict[Any, float]) -> dict[Any, float]:
    """A rank, or (query_id, doc_id) -> its probability after one step."""
    ranks = sorted(each for each in before if isinstance(each, int))
    with open_engine(files=click_files()) as engine:
        engine.expect_rows(len(events))
        engine.put("pulled_click_event", event_table(events))
        queries = sorted({row.query_id for row in events})
        engine.put("pulled_click_text", pa.table([queries, queries, [True] * len(queries)], schema=TEXTS))
        names = {row[:2]: row[2] for row in engine.rows("click_document", ("query_id", "doc_id", "document"))}
        documents = {names[each]: each for each in before if isinstance(each, tuple)}
        attraction = [before[each] for each in documents.values()]
        engine.put("pulled_attraction", pa.table([[*documents], attraction], schema=ATTRACTION))
        looked = {
            "place": pa.array(ranks),
            "examination": [before[each] for each in ranks],
            "doubt": [0.0] * len(ranks),
        }
        engine.put("pulled_examination", pa.table(looked))
        found = {documents[document]: value for document, value in engine.rows("attraction")}
        return found | dict(engine.rows("examination"))


@settings(max_examples=examples(20))
@given(events=logs(), model=st.sampled_from(WITHOUT_STEPS))
def test_the_order_of_events_changes_no_bit(events: list[Event], model: str) -> None:
    first = by_sql(events, model=model, grades={"value": True}).table
    assert by_sql(events[::-1], model=model, grades={"value": True}).table.equals(first)
