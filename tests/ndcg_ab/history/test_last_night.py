"""Every system against itself in the previous evaluation: what it lost, why, and that it is told once."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.comparing.since_last import SAME_RANKING, SINCE_LAST, SinceLast
from ndcg_ab.flows.events import events_of
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history.last_night import find_evaluation_before
from ndcg_ab.report.markdown import format_since
from ndcg_ab.report.over_time import print_since
from ndcg_ab.results.ledger import SCORED, LedgerRow
from ndcg_ab.trackers.mlflow.values import parent_tags, parent_values, system_values
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.printing import print_to_text
from tests.small_evaluation import DATA, nights, rows_of, small, unlogged

pytestmark = pytest.mark.usefixtures("plain_pages")
Change = Callable[[list[str]], list[str]]
GATE = {"gate": {"no_regression": False, "guardrails": False, "no_drop": True}}


def rewrite(folder: Path, name: str, change: Change) -> None:
    small(folder)
    lines = (folder / "inputs" / name).read_text().splitlines()
    (folder / "inputs" / name).write_text("\n".join(change(lines)) + "\n")


def without_answers(count: int) -> Change:
    """Nothing for the first queries of the ranking."""

    def change(lines: list[str]) -> list[str]:
        gone = list(dict.fromkeys(line.split()[0] for line in lines))[:count]
        return [line for line in lines if line.split()[0] not in gone]

    return change


def night(folder: Path, day: int, *, force: bool = False, **changes: Any) -> bundles.Bundle:
    performed = unlogged(small(folder, **(GATE | changes)), force=force, at=datetime(2027, 1, day, 2, tzinfo=UTC))
    bundle = bundles.read_bundle(performed.bundle)
    return bundle.copy_for_rerun() if performed.reused else bundle


def since(bundle: bundles.Bundle) -> SinceLast:
    assert bundle.since_last is not None
    return bundle.since_last


def printed(found: SinceLast | None) -> str:
    return print_to_text(print_since, found, width=160)


@pytest.mark.slow
def test_a_drop_is_told_once(tmp_path: Path) -> None:
    """Found in its night, with what was lost; the night after nothing changed, and a way back is another change."""
    queries = {"queries": {"file": "queries.tsv"}}
    first = night(tmp_path, 1, **queries)
    assert first.since_last is None
    assert [gate.message for gate in first.outcome.gates] == ["there is no previous evaluation to compare with"]
    assert printed(None) == ""

    rewrite(tmp_path, "new.run", without_answers(17))
    second = night(tmp_path, 2, **queries)
    found = since(second)
    assert (found.ordinal, found.began) == (1, "2027-01-01T02:00:00+00:00")
    assert {each.system_id: each.changed for each in found.systems} == {"old": (), "new": ("ranking",)}
    (row,) = found.comparisons
    assert (row.baseline, row.candidate, row.family, row.family_size) == ("new", "new", SINCE_LAST, 1)
    assert row.conclusion is Verdict.REGRESSED and row.queries == 20 and row.losses >= 6 and row.wins == 0
    means = [
        next(each.mean for each in bundle.outcome.systems if each.system_id == "new") for bundle in (first, second)
    ]
    assert row.difference == pytest.approx(means[1] - means[0], abs=1e-12)
    assert row.low < row.difference < row.high < 0 and row.mde is not None
    assert len(found.lost) == 5 and all(lost.now == 0 < lost.before and lost.text for lost in found.lost)
    assert [lost.before for lost in found.lost] == sorted((lost.before for lost in found.lost), reverse=True)
    assert second.outcome.gate == "failed"
    assert second.outcome.gates[0].systems == ("new",)
    text = printed(found)
    assert "since evaluation 1 (2027-01-01 02:00)" in text and "unchanged: old" in text
    assert "▼ new, ndcg@10: -" in text and "changed: ranking" in text and found.lost[0].text in text
    assert "regressed" in format_since(found)

    third = night(tmp_path, 3, **queries)
    assert third.folder == second.folder and since(third).dropped == [] and since(third).ordinal == 2
    assert third.outcome.gate == "passed" and "nothing changed" in printed(third.since_last)

    (tmp_path / "inputs" / "new.run").write_bytes((DATA / "new.run").read_bytes())
    fourth = night(tmp_path, 4, **queries)
    assert fourth.ordinal == 3, "what goes back to an earlier state has changed since the night before"
    assert [row.conclusion for row in since(fourth).comparisons] == [Verdict.IMPROVED] and since(fourth).lost == ()
    assert fourth.outcome.gate == "passed"

    wanted = "select ordinal, system_id, earlier, changed from since_last order by all"
    assert rows_of(small(tmp_path), wanted) == [
        (2, "new", 1, "ranking"),
        (2, "old", 1, ""),
        (3, "new", 2, "ranking"),
        (3, "old", 2, ""),
    ]
    kept = rows_of(
        small(tmp_path), f"select ordinal, candidate from comparison where family = '{SINCE_LAST}' order by 1"
    )
    assert kept == [(2, "new"), (3, "new")]
    sent = [list(events_of(small(tmp_path), {}, each.outcome, each.since_last)) for each in (second, third, fourth)]
    drops = [[event for event in events if event["event"] == "ndcg-ab.dropped"] for events in sent]
    assert list(map(len, drops)) == [1, 0, 0]
    assert drops[0][0]["resource"]["prefect.resource.id"] == "ndcg-ab.system.small.new"
    assert {name: drops[0][0]["payload"][name] for name in ("since", "changed")} == {"since": 1, "changed": ["ranking"]}
    assert parent_values(second)["dropped"] == 1 and parent_values(fourth)["dropped"] == 0
    assert parent_tags(second)["since_last/new"].startswith("▼ ndcg@10 -")
    assert parent_tags(second)["since_last/old"] == "unchanged"
    assert system_values(second, "new")["since_last/ndcg_at_10"] == row.difference
    assert "since_last/ndcg_at_10" not in system_values(second, "old")


def regraded(lines: list[str]) -> list[str]:
    return [line.rsplit(maxsplit=1)[0] + " 1" for line in lines]


@pytest.fixture(scope="module")
def after_both(tmp_path_factory: pytest.TempPathFactory) -> bundles.Bundle:
    """The night after one whose judgments and ranking `new` were others."""
    folder = tmp_path_factory.mktemp("changed")
    nights(folder, 1)
    rewrite(folder, "judgments.qrels", regraded)
    rewrite(folder, "new.run", without_answers(12))
    return night(folder, 2)


def test_only_a_changed_ranking_counts_against_a_ranker(after_both: bundles.Bundle) -> None:
    found = since(after_both)
    changed = {"old": ("judgments",), "new": ("ranking", "judgments")}
    assert {each.system_id: each.changed for each in found.systems} == changed
    said = printed(found)
    assert " from 70 changed judgments" in said and "not the ranker's: its ranking is the same" in said
    families = {row.candidate: (row.family, row.exploratory) for row in found.comparisons}
    assert families == {"old": (SAME_RANKING, True), "new": (SINCE_LAST, False)}
    assert {row.candidate for row in found.dropped} == {"new"}
    assert after_both.outcome.gate == "failed"


def deeper(lines: list[str]) -> list[str]:
    """One more result of the first query, where no metric looks."""
    query_id, *_ = lines[0].split()
    return [*lines, f"{query_id} Q0 nobody-looks-here 900 -1000 new"]


@pytest.mark.slow
def test_new_judgments_are_no_drop_of_a_ranking(tmp_path: Path) -> None:
    """Harsher judgments take from a mean what a ranking, changed where no metric looks, has not lost."""
    nights(tmp_path, 1)
    rewrite(tmp_path, "judgments.qrels", regraded)
    rewrite(tmp_path, "new.run", deeper)
    bundle = night(tmp_path, 2)
    row = next(row for row in since(bundle).comparisons if row.candidate == "new")
    assert row.family == SINCE_LAST and row.conclusion is Verdict.IDENTICAL
    moved = since(bundle).moved_of("new", "ndcg@10")
    assert moved is not None and moved.ranking == 0 and moved.judgments == pytest.approx(moved.now - moved.before)
    assert moved.judgments < -0.01
    assert since(bundle).dropped == [] and bundle.outcome.gate == "passed"


@pytest.mark.slow
def test_a_drop_is_as_large_with_new_judgments_as_without(tmp_path: Path, after_both: bundles.Bundle) -> None:
    """Both changes in one night find of the ranking what they find when the judgments changed the night before."""
    rewrite(tmp_path, "judgments.qrels", regraded)
    night(tmp_path, 1)
    rewrite(tmp_path, "new.run", without_answers(12))
    found = [since(bundle) for bundle in (after_both, night(tmp_path, 2))]
    rows = [next(row for row in each.comparisons if row.candidate == "new") for each in found]
    assert rows[0] == rows[1] and rows[0].conclusion is Verdict.REGRESSED
    assert found[0].lost == found[1].lost
    assert "both rankings by the new judgments" in printed(found[0])
    assert " from the ranking" in printed(found[0]) and " from the ranking" in printed(found[1])


@pytest.mark.slow
def test_it_is_said_where_it_cannot_be_told(tmp_path: Path) -> None:
    nights(tmp_path, 1)
    rewrite(tmp_path, "judgments.qrels", regraded)
    rewrite(tmp_path, "new.run", without_answers(12))
    for tables in (tmp_path / "out").glob("*/*/evaluation.duckdb"):
        tables.unlink()
    bundle = night(tmp_path, 2)
    found = since(bundle)
    why = "the tables of evaluation 1 are not kept any more"
    assert {each.system_id: each.unknown for each in found.systems} == {"old": None, "new": why}
    assert found.comparisons_of("new") == [] and found.dropped == []
    assert bundle.outcome.gate == "passed" and f"new: cannot be told, {why}" in bundle.outcome.gates[0].message
    assert "? new, ndcg@10: 0." in printed(found) and "whether its ranking dropped cannot be told" in printed(found)
    assert parent_tags(bundle)["since_last/new"] == f"ranking, judgments: cannot be told, {why}"
    assert rows_of(small(tmp_path), "select system_id, unknown from since_last where unknown is not null") == [
        ("new", why)
    ]


@pytest.mark.slow
def test_what_can_be_compared(tmp_path: Path) -> None:
    """A metric of the same definition with its values per query; a system that is new is said."""
    nights(tmp_path, 1)
    third = [*small(tmp_path).systems, small(tmp_path).systems[1].model_copy(update={"name": "third"})]
    assert night(tmp_path, 2, metrics=["rr@10"], retention={"query_scores": 2}).since_last is None
    found = since(night(tmp_path, 3, systems=third, retention={"query_scores": 1}))
    assert found.ordinal == 1, "the latest that has the metric"
    assert found.scored == (LedgerRow(SCORED, "ndcg@10", 20, 20),)
    assert "third: was not there" in printed(found)
    hashes = [metric.hash for metric in small(tmp_path).deciding_metrics]
    with database.open_history_for(database.history_path(small(tmp_path))) as past:
        found = [find_evaluation_before(past, datetime(2027, 1, day, 3, tzinfo=UTC), hashes) for day in (2, 3)]
    assert found == [None, (3, "2027-01-03T02:00:00+00:00")], "values of earlier nights are gone"
