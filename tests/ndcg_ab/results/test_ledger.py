"""The ledger: what each stage read is what it used and what it left out, each row for the reason that is named."""

import json
import random
from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.results.ledger import LedgerRow, Omission
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring.scoring import open_engine_for
from tests.inputs import write_evaluation
from tests.ndcg_ab.sources.clicks.logs import click_log, search
from tests.repeated import mostly_soaked

QUERIES = [f"q{at:02}" for at in range(12)]


def write_inputs(folder: Path, rng: random.Random, gaining: int) -> dict[tuple[str, str | None], dict[str, int]]:
    """Write judgments and two rankings with known faults; return what must be left out, by stage and system."""
    judged = [(query, f"d{at}") for query in QUERIES for at in range(rng.randrange(1, 5))]
    rows = [f"{query} 0 {doc} {int(query in QUERIES[:gaining] and doc == 'd0')}" for query, doc in judged]
    repeated, comments = rng.choices(rows, k=rng.randrange(4)), ["# note"] * rng.randrange(3)
    lines = [*rows, *repeated, *comments]
    rng.shuffle(lines)
    (folder / "qrels").write_text("\n".join(lines) + "\n")
    expected: dict[tuple[str, str | None], dict[str, int]] = {
        ("judgments", None): {"comments": len(comments), "repeated": len(repeated)},
        ("judged queries", None): {},
        ("scored queries", "ndcg@3"): {"without a gain or value": len(QUERIES) - gaining},
    }
    for system in ("old", "new"):
        answered = QUERIES[: rng.randrange(gaining, 13)]
        unjudged = [f"u{at}" for at in range(rng.randrange(3))]
        results = [(query, f"d{at}") for query in [*answered, *unjudged] for at in range(rng.randrange(1, 6))]
        lines = [f"{query} Q0 {doc} {at + 1} {len(results) - at} {system}" for at, (query, doc) in enumerate(results)]
        comments = ["# note"] * rng.randrange(3)
        (folder / f"{system}.run").write_text("\n".join([*lines, *comments]) + "\n")
        of_unjudged = sum(query in unjudged for query, _ in results)
        expected["ranking", system] = {"comments": len(comments), "of unjudged queries": of_unjudged}
        expected["answered queries", system] = {"unanswered": len(QUERIES) - len(answered)}
    return expected


@pytest.mark.first_case
@pytest.mark.parametrize("seed", mostly_soaked(range(4), kept=range(2)))
def test_the_rows_add_up_and_name_their_reasons(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    expected = write_inputs(tmp_path, rng, rng.randrange(6, 13))
    systems = {name: str(tmp_path / f"{name}.run") for name in ("old", "new")}
    outcome = ndcg_ab.compare(str(tmp_path / "qrels"), systems, metrics="ndcg@3", resamples=100)._outcome
    assert {(row.stage, row.about) for row in outcome.ledger} == {*expected}
    for row in outcome.ledger:
        left_out = {each.reason: each.count for each in row.left_out}
        assert left_out == {reason: count for reason, count in expected[row.stage, row.about].items() if count}
        assert row.read == row.used + sum(left_out.values())
        if row.stage in ("judgments", "ranking"):
            path = tmp_path / ("qrels" if row.about is None else f"{row.about}.run")
            assert row.read == len(path.read_text().splitlines())
        else:
            assert row.read == len(QUERIES)
    assert Outcome.from_dict(json.loads(outcome.to_json())).ledger == outcome.ledger


def test_documents_twice_and_several_files_are_counted(tmp_path: Path) -> None:
    first = {"a": {"x": 1.0, "y": 0.0}}
    second = {"a": {"y": 1.0, "z": 0.0}, "b": {"x": 1.0}}
    (tmp_path / "twice.run").write_text("a Q0 x 1 3 t\na Q0 x 2 2 t\nb Q0 x 1 1 t\n")
    systems = {"old": {"a": {"x": 2.0, "y": 1.0}}, "new": str(tmp_path / "twice.run")}
    metric = "ndcg(duplicates=first)@3"
    rows = ndcg_ab.compare(first, systems, more_judgments=second, metrics=metric, resamples=100)._outcome.ledger
    found = {(row.stage, row.about): (row.read, row.used, row.reasons) for row in rows}
    assert found["judgments", None] == (5, 4, "in another file or by another judge: 1")
    assert found["ranking", "new"] == (3, 2, "repeated documents: 1")
    assert found["answered queries", "old"] == (2, 1, "unanswered: 1")


def test_events_of_a_click_log_are_counted(tmp_path: Path) -> None:
    """Ten searches of a query and three of another one that nobody asks for, and events that count nothing."""
    searches = [search(f"s{at}", "pasta", ["x", "y"], clicked=["x"] * (at < 7) + ["y"] * (at < 3)) for at in range(10)]
    searches += [search(f"t{at}", "soup", ["x"]) for at in range(3)]
    (view, incomplete, deep) = (dict(searches[0][0]) for _ in range(3))
    view["action_name"], incomplete["user_query"] = "view", ""
    deep["event_attributes"] = {"object": {"object_id": "x"}, "position": {"ordinal": 10**6}}
    log = click_log(tmp_path / "log.jsonl", [*searches, [view, view, incomplete, deep]])
    (tmp_path / "queries.tsv").write_text("query_id\ttext\nq1\tpasta\n")
    keys = {"judgments": {"clicks": {"file": log.name, "floor": 1}}, "queries": "queries.tsv"}
    evaluation = write_evaluation(tmp_path, {}, {"old": {"q1": "xy"}, "new": {"q1": "yx"}}, **keys)
    with open_engine_for(evaluation) as engine:
        (clicks, judgments, *_) = evaluate(evaluation, engine)[0].ledger
    assert (clicks.stage, clicks.read, clicks.used) == ("click log", 37, 30)
    assert clicks.reasons == "of another action: 2; incomplete: 1; at a place too deep: 1; of other queries: 3"
    assert (judgments.stage, judgments.read, judgments.used) == ("judgments", 2, 2)


def test_a_text_names_every_reason() -> None:
    row = LedgerRow("ranking", "old", 9, 6, (Omission("comments", 1), Omission("of unjudged queries", 2)))
    assert row.reasons == "comments: 1; of unjudged queries: 2"
