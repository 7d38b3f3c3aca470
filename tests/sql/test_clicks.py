"""The SQL files that make grades of clicks, against the core, on events made by hand and by chance."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_ab.config.model.clicks import Clicks
from ndcg_ab.sources.clicks import grading
from ndcg_ab.sources.clicks.events import EVENTS, ReadEvents
from ndcg_ab.sources.clicks.grading import GradedClicks, grade_clicks
from ndcg_core.clicks.models import MODELS, Event, click_grades, click_rates, click_values, count_clicks, fit_positions

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
    found = [Event(query_id, doc_id, place, search, *counts) for query_id, doc_id, place, search, counts in rows]
    return [*found, Event("q1", "a", 1, None, 5, 1)]


def by_sql(events: list[Event], **keys: object) -> GradedClicks:
    rows = [
        {"event": at, "text": row.query_id, "client": None, **{name: getattr(row, name) for name in row._fields[1:]}}
        for at, row in enumerate(events)
    ]
    table = pa.Table.from_pylist(rows, schema=EVENTS)
    described = Clicks.model_validate({"file": "events.jsonl", "floor": 0, **keys})
    return grade_clicks(ReadEvents(table, "events.jsonl", len(events), ()), described, {})


def assert_same(events: list[Event], model: str, grades: dict[str, object], floor: int = 0) -> None:
    found = by_sql(events, model=model, grades=grades, floor=floor)
    counts = count_clicks(events)
    expected = click_values(counts, model, found.steps if model == "position" else 0)
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
    rates = {row["place"]: row["rate"] for row in found.places.to_pylist()}
    assert rates == pytest.approx(click_rates(counts), abs=1e-15)
    assert found.documents == len(expected)


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
        ("coec", 11 / 11.5, 4 / 3.5),
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
    assert_same(HAND, model, grades)


@settings(max_examples=30)
@given(events=logs(), model=st.sampled_from(WITHOUT_STEPS), grades=st.sampled_from(GRADES), floor=st.integers(0, 3))
def test_any_events_as_the_core(events: list[Event], model: str, grades: dict[str, object], floor: int) -> None:
    assert_same(events, model, grades, floor)


@settings(max_examples=20)
@given(events=logs(), steps=st.integers(1, 12))
def test_steps_of_any_events_as_the_core(events: list[Event], steps: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grading, "MOST_STEPS", steps)
        assert_same(events, "position", {"value": True})


def test_the_steps_end_where_those_of_the_core_do() -> None:
    found = by_sql(HAND, model="position")
    fitted = fit_positions(count_clicks(HAND))
    assert found.steps == fitted.steps < 500
    assert found.change == pytest.approx(fitted.change, abs=1e-12)


@settings(max_examples=20)
@given(events=logs(), model=st.sampled_from(WITHOUT_STEPS))
def test_the_order_of_events_changes_no_bit(events: list[Event], model: str) -> None:
    first = by_sql(events, model=model, grades={"value": True}).table
    assert by_sql(events[::-1], model=model, grades={"value": True}).table.equals(first)


def test_steps_end_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "MOST_STEPS", 3)
    found = by_sql(HAND, model="position")
    assert found.steps == 3 and found.change > 1e-8
