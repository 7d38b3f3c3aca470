"""One codec for every record: JSON and back, rows of tables, files with other fields."""

import dataclasses
import json
from pathlib import Path

import pytest

from ndcg_ab.history import database
from ndcg_ab.results import codec
from ndcg_ab.results import outcome as outcome_module
from ndcg_ab.results.codec import column_types, decode, encode, record_row, records_table
from ndcg_ab.results.outcome import Finding, Input, Outcome, SystemSummary
from ndcg_core.statistics.paired import Column
from ndcg_core.statistics.verdicts.comparison import Comparison, check_guardrails, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.laboratory import in_order, outcome_of
from tests.small_evaluation import nights, small

IDS = tuple(f"q{number:02}" for number in range(12))
FALLING = [0.5 - 0.02 * index for index in range(12)]
MIXED = [0.3, -0.2, 0.1, -0.3, 0.25, -0.1, 0.0, 0.2, -0.25, 0.1, -0.05, 0.15]


def column(differences: list[float], **changes: object) -> Column:
    return Column("old", "new", "ndcg@10", IDS[: len(differences)], differences, smallest_effect=0.05, **changes)


def comparisons() -> list[Comparison]:
    """One of every kind."""
    found = compare_family([column(FALLING), column([-each for each in FALLING]), column(MIXED), column([0.0] * 12)])
    found += compare_family([column(FALLING[:3])], least_queries=6)
    found += compare_family([column([0.01, -0.01] * 6, largest_loss=float("inf"))])
    guarded = [column(each, largest_loss=float("inf")) for each in (FALLING, MIXED, [-each for each in FALLING])]
    return found + check_guardrails(guarded)


def test_every_comparison_is_read_as_it_was_written() -> None:
    found = comparisons()
    assert {each.conclusion for each in found} >= set(Verdict) - {Verdict.NOT_TESTABLE}
    for each in found:
        content = json.loads(json.dumps(encode(each)))
        assert content["verdict"] == each.verdict
        assert content["conclusion"] == each.conclusion.value
        assert decode(Comparison, content) == each


def test_what_a_record_lacks_has_its_default_and_what_nobody_knows_is_left_alone() -> None:
    old = {"system_id": "new", "metric": "rr", "mean": 0.5, "median": 0.5, "queries": 3, "unanswered": 0, "judged": 1.0}
    assert decode(SystemSummary, old).unweighted_mean is None
    assert decode(SystemSummary, old | {"from_the_future": 1}) == decode(SystemSummary, old)
    with pytest.raises(KeyError, match="mean"):
        decode(SystemSummary, {name: value for name, value in old.items() if name != "mean"})


def test_rows_are_flat() -> None:
    (each, *_) = comparisons()
    flat = record_row(each)
    assert flat["notes"] == "; ".join(each.notes)
    assert each.descriptive is not None
    assert flat["p_t"] == each.descriptive.p_t
    assert "carriers" not in flat
    assert "descriptive" not in flat
    assert list(records_table([each], Comparison, ordinal=3).to_pylist()[0]) == ["ordinal", *column_types(Comparison)]
    names = ["ordinal", "code", "severity", "message", "count", "system", "metric", "value", "examples"]
    assert records_table([], Finding, ordinal=3).schema.names == names


@dataclasses.dataclass(frozen=True)
class Longer(SystemSummary):
    """A summary that has gained a field."""

    share: float | None = None


def test_a_field_that_is_added_arrives_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON, the bundle and the history follow the dataclass; older files are read without it."""
    made = outcome_of({"q": {"a": 1}}, {"old": {"q": in_order("a")}, "new": {"q": in_order("b")}}, ["ndcg@2"])
    before = made.to_dict()
    kinds = codec.field_types(Outcome) | {"systems": tuple[Longer, ...]}
    monkeypatch.setattr(outcome_module, "field_types", lambda _: kinds)
    monkeypatch.setitem(database.RECORDS, "system_summary", Longer)
    assert Outcome.from_dict(before).systems[0] == Longer(**dataclasses.asdict(made.systems[0]))
    systems = tuple(Longer(**dataclasses.asdict(system), share=0.25) for system in made.systems)
    longer = dataclasses.replace(made, systems=systems)
    assert [system["share"] for system in longer.to_dict()["systems"]] == [0.25, 0.25]
    assert Outcome.from_dict(json.loads(longer.to_json())) == longer
    with monkeypatch.context() as shorter:
        shorter.setitem(database.RECORDS, "system_summary", SystemSummary)
        nights(tmp_path, 1)
    with database.open_history_for(database.history_path(small(tmp_path))) as past:
        database.add_evaluation(past, *as_entered(longer), 2)
        rows = past.rows("system_summary", ("ordinal", "share"), order="ordinal")
    assert rows == [(1, None), (1, None), (2, 0.25), (2, 0.25)]


def as_entered(outcome: Outcome) -> tuple[dict[str, str], list[dict[str, object]], Outcome]:
    about = {"key": "k", "began": "b", "finished": "f", "baseline": outcome.baseline, "configuration": "{}"}
    return about, [encode(Input("old", "ranking", None, "old.run", 1, "d"))], outcome
