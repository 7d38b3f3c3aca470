"""Events as they are read: UBI in JSON Lines and in tables, counts, and everything that is refused."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from ndcg_ab.checks.ranking_checks import findings_from_remarks
from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.errors import InputError
from ndcg_ab.sources.clicks import events as reader
from ndcg_ab.sources.clicks.events import ReadEvents, read_events
from ndcg_ab.sources.files import streams
from ndcg_ab.sources.files.streams import UnusualError
from ndcg_ab.sources.registry import make_source
from tests.inputs import write_database, write_table
from tests.sentences import refusal_text


def event(action: str, ordinal: Any = 0, object_id: Any = "d1", **others: Any) -> dict[str, Any]:
    """An event as the schema has it."""
    attributes = {"object": {"object_id": object_id, "object_id_field": "sku"}, "position": {"ordinal": ordinal}}
    known = {"application": "shop", "query_id": "s1", "client_id": "c1", "user_query": "pasta"}
    return {
        "action_name": action,
        "timestamp": "2026-11-20T20:20:39Z",
        **known,
        "event_attributes": attributes,
    } | others


HEAD = "query,document,place,shown,clicked\n"
TWO = [event("impression"), event("click"), event("impression", 2, "d2", query_id="s2", client_id="c2")]
TEXTS = [{"query_id": "s1", "user_query": text} for text in ("pasta", "rice")]
ROWS = [
    {"text": "pasta", "doc_id": "d1", "place": 1, "search_id": "s1", "client": "c1", "shown": 1, "clicked": 0},
    {"text": "pasta", "doc_id": "d1", "place": 1, "search_id": "s1", "client": "c1", "shown": 0, "clicked": 1},
    {"text": "pasta", "doc_id": "d2", "place": 3, "search_id": "s2", "client": "c2", "shown": 1, "clicked": 0},
]


def read(path: Path, **keys: Any) -> ReadEvents:
    described = Clicks.model_validate({"file": path, **keys})
    return read_events(described, make_source(described.source, path.parent), path.parent)


def written(folder: Path, events: list[Any], name: str = "events.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in events))
    return path


@pytest.mark.parametrize("is_bulk", [True, False])
def test_the_text_of_a_query_may_be_on_a_line_of_its_own(is_bulk: bool, tmp_path: Path) -> None:
    """In the lines that an engine takes in bulk, or among the events; the query may come after them."""
    events = [{key: value for key, value in each.items() if key != "user_query"} for each in TWO]
    queries = [{"query_id": name, "user_query": "pasta", "query_attributes": {}} for name in ("s1", "s2")]
    documents = [queries[0], *events, queries[1]]
    target = {"index": {"_index": "ubi_events", "_id": "e1"}}
    lines = [line for each in documents for line in (target, each)] if is_bulk else documents
    found = read(written(tmp_path, lines, "events.ndjson"))
    assert found.table.to_pylist() == ROWS
    assert (found.read, found.remarks) == (3, ())


@pytest.mark.parametrize("names", ["last keys", "dots"])
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_flattened(form: str, names: str, tmp_path: Path) -> None:
    """A table's columns, named by the path or by its last key."""
    prefix = ("event_attributes.object.", "event_attributes.position.") if names == "dots" else ("", "")
    rows = [
        {
            **{key: each[key] for key in ("action_name", "user_query", "query_id", "client_id")},
            f"{prefix[0]}object_id": each["event_attributes"]["object"]["object_id"],
            f"{prefix[1]}ordinal": each["event_attributes"]["position"]["ordinal"],
        }
        for each in TWO
    ]
    path = write_table(tmp_path / f"events.{form}", rows)
    assert read(path).table.to_pylist() == ROWS


def test_a_list_of_events_numbers_as_ids_and_other_names(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    wrapped = [{"_source": each | {"sku": 7 + at}} for at, each in enumerate(TWO)]
    path.write_text(json.dumps(wrapped))
    sources = {name: f"_source.{at}" for name, at in reader.DEFAULTS.items()}
    found = read(path, columns=sources | {"object_id": "_source.sku"})
    assert found.table["doc_id"].to_pylist() == ["7", "8", "9"]
    assert found.table["place"].to_pylist() == [1, 1, 3]
    lines = written(tmp_path, [event("impression", object_id=5), event("click", object_id=6)])
    assert read(lines).table["doc_id"].to_pylist() == ["5", "6"]


def test_both_ways_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [*TWO, event("purchase", event_attributes={"position": {"xy": {"x": 1, "y": 2}}}), event("click", None)]
    events += [event("impression", session_id="x", client_id=None), event("impression", query_id="")]
    path = written(tmp_path, events)
    fast = read(path)

    def refuse(*_: object) -> Any:
        raise UnusualError

    monkeypatch.setattr(reader, "read_regular_events", refuse)
    careful = read(path)
    assert careful.table.equals(fast.table) and careful.remarks == fast.remarks and careful.read == 7
    assert fast.table["client"].to_pylist()[-2:] == ["x", "c1"], "a session stands for a client that has no id"
    assert fast.table["search_id"].to_pylist()[-1] is None


def test_a_file_in_pieces_of_which_some_are_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line each; numbers as ids are plain, a place as text is not: from there on line by line."""
    monkeypatch.setattr(streams, "BLOCK", 200)
    events = [event("click" if at == 3 else "impression", at % 7, f"d{at}", query_id=f"s{at}") for at in range(40)]
    events[10]["event_attributes"]["object"]["object_id"] = 10
    path = written(tmp_path, events)
    assert [piece.num_rows for piece in reader.json_event_pieces(path, {})] == [1] * 40
    events[30]["event_attributes"]["position"]["ordinal"] = "2"
    rows = read(written(tmp_path, events)).table.to_pylist()
    assert [row["doc_id"] for row in rows] == [f"d{at}" * (at != 10) or "10" for at in range(40)]
    assert [row["place"] for row in rows] == [at % 7 + 1 for at in range(40)]
    events[35]["action_name"] = None
    with pytest.raises(InputError, match=r"line 36: action_name is missing"):
        read(written(tmp_path, events))


@pytest.mark.parametrize(
    ("events", "columns", "said"),
    [
        ([*TWO, json.dumps(TWO[0]) + json.dumps(TWO[1]), *TWO], {}, "line 4: is not JSON"),
        ([*TEXTS, *TWO], {}, "line 2: query_id 's1' has two texts, 'pasta' and 'rice'"),
        (TWO, {"doc": "sku"}, "columns: 'doc' is no field of an event"),
    ],
)
def test_logs_that_are_refused(
    events: list[Any], columns: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK", 400)
    with pytest.raises(InputError, match=said):
        read(written(tmp_path, events), columns=columns)


def test_what_counts_nothing_and_what_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces of one event or two."""
    monkeypatch.setattr(streams, "BLOCK", 400)
    events = [*TWO, event("add_to_cart"), event("purchase"), event("purchase")]
    events += [
        event("click", user_query=None),
        event("impression", object_id=None, ordinal=None),
        event("click_through"),
    ]
    found = read(written(tmp_path, events))
    other, incomplete = found.remarks
    assert (other.code, other.count) == ("click_other_action", 3)
    message = "3 events are neither impressions nor clicks, and count nothing: purchase (2), add_to_cart (1)"
    assert other.message == message
    assert (incomplete.code, incomplete.count) == ("click_incomplete", 2)
    assert incomplete.examples == (
        "click without user_query (object_id 'd1', ordinal 0)",
        "impression without object_id and ordinal (user_query 'pasta')",
    )
    assert found.table["clicked"].to_pylist() == [0, 1, 0, 1], "click_through is a click"
    assert read(written(tmp_path, events), model="opensearch").table.num_rows == 3, "there it is none"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "{",
            "line 2: is not JSON (Expecting property name enclosed in double quotes at character 3); every line must be"
            " one JSON object",
        ),
        ("[1]", "line 2: '[1]': every line must be one JSON object"),
        (event("click", "two"), "line 2: event_attributes.position.ordinal = 'two': must be a number"),
        (event("click", 1.5), "line 2: event_attributes.position.ordinal = '1.5': must be a whole number"),
        (
            event("click", -1),
            "line 2: event_attributes.position.ordinal = -1: must be 0 or more: UBI counts places from 0",
        ),
        (event("click", 0, True), "line 2: event_attributes.object.object_id = True: must be text or a whole number"),
        (event("click", event_attributes=3), "line 2: event_attributes = 3: must be an object with the key 'object'"),
        (event("click", action_name=None), "line 2: action_name is missing: every row needs one"),
        (event("click", action_name=""), "line 2: action_name is empty: every row needs one"),
    ],
)
def test_lines_that_break_a_rule(line: Any, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, [TWO[0], line])
    assert refusal_text(read, path) == f"{path}, {said}"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("e.jsonl", "", "the file is empty"),
        ("e.jsonl", "\n\n", "there is no event in the file"),
        (
            "e.jsonl",
            '{"action_name": "view"}\n',
            "no event is an impression with user_query, object_id, ordinal (actions: view): without what was shown"
            " nobody knows what was not clicked; log them, or name the columns that hold these",
        ),
        (
            "e.csv",
            "action_name,user_query,object_id,ordinal\nimpression,a,d,0\nclick,a,d,\n",
            "no event is a click (click, click_through) with user_query, object_id, ordinal (actions: click,"
            " impression, click without ordinal (user_query 'a', object_id 'd')): name the actions that are",
        ),
        ("e.csv", HEAD + "a,d,1,9,0\n", "clicked is 0 in every row"),
        ("e.csv", "action_name,user_query,object_id,ordinal\nclick,a,d,x\n",
         "line 2: ordinal = 'x': must be a number"),
        ("e.csv", "action_name,user_query,object_id,ordinal\nclick,a,d,-2\n",
         "event 1: ordinal = -2: must be a whole number, 0 or more"),
        ("e.csv", HEAD + "a,d,0,1,1\n", "row 1: place = 0: must be 1 or more: the first place is 1"),
        ("e.csv", HEAD + "a,d,1,9,1\na,d,1,1,2\n",
         "row 2: clicked = 2 (shown = 1): must be 0 or more, and no more than shown"),
        ("e.csv", HEAD + "a,d,1,-1,0\n", "row 1: shown = -1: must be 0 or more"),
        ("e.csv", f"{HEAD}a,d1,1,{10**12},1\na,d2,1,{10**12 + 1},1\n",
         "row 2: shown = 1000000000001: must be 0 or more, and no more than 1,000"),
        ("e.csv", HEAD + "a,d,one,1,0\n", "line 2: place = 'one': must be a number"),
        ("e.csv", "query,document,shown,clicked\na,d,1,0\n",
         "there is no column 'place' for place (columns: query, document, shown, clicked)"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(name: str, text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    message = refusal_text(read, path)
    assert said in message and message.startswith(str(path))


def test_other_actions_can_be_clicks_and_places_can_be_floats(tmp_path: Path) -> None:
    """As a table has them whose column has gaps."""
    path = tmp_path / "events.parquet"
    names = {"action_name": ["impression", "click", "Purchase", "purchase"], "user_query": ["a"] * 4}
    columns = names | {"object_id": ["d", "d", "d", "e"], "ordinal": pa.array([0.0, 0.0, 2.0, None])}
    papq.write_table(pa.table(columns), path)
    described = Clicks.model_validate({"file": path, "actions": ["purchase"]})
    found = read_events(described, make_source(described.source, tmp_path), tmp_path)
    assert found.table["place"].to_pylist() == [1, 3] and found.table["clicked"].to_pylist() == [0, 1]
    assert {remark.code: remark.count for remark in found.remarks} == {"click_other_action": 1, "click_incomplete": 1}
    assert "clicks (purchase), model position" in described.definition
    assert [finding.message for finding in findings_from_remarks(found.remarks, "clicks")][1].startswith(
        "clicks: 1 event without the query's text, the document or the place: left out (such as"
    )


LARGE = [10_000, 2**31 - 1, 10**12, 2**53, 2**63 - 1, 1e300]  # ordinals from 0: the last one that counts is 9,999


@pytest.mark.parametrize("ordinal", LARGE)
@pytest.mark.parametrize("form", ["plain", "careful", "csv", "parquet", "duckdb"])
def test_events_beyond_the_deepest_place_are_left_out(form: str, ordinal: float, tmp_path: Path) -> None:
    events = [*TWO, event("click", 9_999, "d3"), event("click", ordinal, "d4")]
    rows = [
        {
            "action_name": each["action_name"],
            "user_query": "pasta",
            "object_id": each["event_attributes"]["object"]["object_id"],
            "ordinal": each["event_attributes"]["position"]["ordinal"],
            "search_id": each["query_id"],
        }
        for each in events
    ]
    path, keys = tmp_path / f"log.{form}", {"events": "ubi"} if form == "csv" else {}
    if form in ("plain", "careful"):
        odd = "\n" + json.dumps(event("login", "3")) + "\n" if form == "careful" else ""
        path = written(tmp_path, [*events, *([odd] if odd else [])])
    elif form != "duckdb":
        write_table(path, rows)
    if form == "duckdb":
        write_database(path, rows, "log")
        described = Clicks.model_validate({"database": str(path), "query": "select * from log"})
        found = read_events(described, make_source(described.source, tmp_path), tmp_path)
    else:
        found = read(path, **keys)
    assert found.table["doc_id"].to_pylist() == ["d1", "d1", "d2", "d3"]
    assert found.table["place"].to_pylist() == [1, 1, 3, 10_000]
    remarks = {remark.code: remark for remark in found.remarks}
    assert remarks["click_deep_place"].count == 1 and "'d4'" in remarks["click_deep_place"].examples[0]


@pytest.mark.parametrize("place", [10_001, 2**31 - 1, 10**12, 2**53 - 1])
def test_counts_beyond_the_deepest_place_are_left_out(place: int, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(f"query,doc_id,position,impressions,clicks\na,d1,10000,9,2\na,d2,{place},9,3\n")
    found = read(path)
    assert found.table["place"].to_pylist() == [10_000] and found.read == 2
    assert [(each.code, each.count) for each in found.remarks] == [("click_deep_place", 1)]
    path.write_text(f"{HEAD}a,d1,10000,9,0\na,d2,{place},9,3\n")
    with pytest.raises(InputError, match="clicked is 0 in every row up to place 10,000"):
        read(path)
