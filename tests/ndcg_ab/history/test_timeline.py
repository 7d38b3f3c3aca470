"""`ndcg-ab history`: the table, one query, the JSON, the picture; and docs/history.md, whose queries are run."""

import dataclasses
import html
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.history import database
from ndcg_ab.history import timeline as timelines
from ndcg_ab.history.bundle import mark_published, read_bundle
from ndcg_ab.history.digest import make_digest
from ndcg_ab.history.timeline import EvaluatedNight, PastComparison, ReusedNight, Timeline, read_timeline, timeline_json
from ndcg_ab.report.terminal.timeline import draw_sparkline, format_changed_inputs, print_timeline
from ndcg_ab.results.codec import records_table
from ndcg_ab.results.decisions import Choice, can_be_reversed
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.commands import invoke
from tests.paths import ROOT
from tests.printing import print_to_text
from tests.slow.broken_servers import configuration
from tests.small_evaluation import changed_run, rows_of, small, undrawn
from tests.small_evaluation import nights as nights_of

PAGE = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
LONG = "hybrid-retrieval-cross-encoder-reranked-v7.12-experimental"
FULL: dict[str, Any] = {
    "queries": {"file": "queries.tsv"},
    "slices": {"by": ["language"], "smallest": 6},
    "metrics": ["ndcg@10", "recall@5"],
    "gate": {"no_regression": True},
    "statistics": {"resamples": 100},
}


def shifted(folder: Path, shift: int) -> None:
    """A candidate that is worse from some evaluation on: its order is reversed."""
    text = (folder / "inputs" / "new.run").read_text().splitlines()
    fields = [line.split() for line in text]
    worse = [[q, q0, doc, rank, str(-float(score) - shift), tag] for q, q0, doc, rank, score, tag in fields]
    (folder / "inputs" / "new.run").write_text("".join(" ".join(row) + "\n" for row in worse))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six: a new ranking, a regression, another alpha, a third system with a long name, one grade changed."""
    folder = tmp_path_factory.mktemp("history")
    undrawn(small(folder, **FULL))
    changed_run(folder, 3)
    mark_published(undrawn(small(folder, **FULL)).bundle, {})
    shifted(folder, 1)
    undrawn(small(folder, **FULL))
    relaxed = FULL | {"statistics": FULL["statistics"] | {"alpha": 0.1}}
    undrawn(small(folder, **relaxed))
    third = small(folder).systems + [small(folder).systems[1].model_copy(update={"name": LONG})]
    wider = relaxed | {"systems": [system.model_dump(exclude_defaults=True) for system in third]}
    undrawn(small(folder, **wider))
    judgments = folder / "inputs" / "judgments.qrels"
    judgments.write_text(judgments.read_text().replace("bread-guide 1", "bread-guide 2"))
    undrawn(small(folder, **relaxed))
    return folder


@pytest.fixture
def evaluation(folder: Path) -> Evaluation:
    return small(folder, **FULL)


def printed(found: Timeline, width: int, *, details: bool = False) -> list[str]:
    return print_to_text(print_timeline, found, width=width, details=details).splitlines()


@pytest.mark.parametrize("width", [80, 130])
@pytest.mark.parametrize("count", [5, 9, 14])
def test_no_number_breaks_however_many_systems_there_are(count: int, width: int) -> None:
    names = tuple(f"ranker-{index}" for index in range(count))
    values: dict[str, float | None] = {name: 0.1 + index / 100 for index, name in enumerate(names)}
    others = dict.fromkeys(names[1:])
    shown = {
        "compared": dict.fromkeys(others, PastComparison(-0.01, Verdict.MAY_BE_WORSE)),
        "decisions": dict.fromkeys(others, Choice.DO_NOT_SHIP),
        "reasons": dict.fromkeys(others, "it regressed"),
    }
    one = EvaluatedNight(1, "k", "2026-11-20T02:00:00+00:00", names[0], None, values, changed=("judgments",), **shown)
    lines = printed(Timeline("n", "ndcg@10", names, (one, dataclasses.replace(one, key="l"))), width)
    assert all(len(line.rstrip()) <= width for line in lines)
    assert any(line.startswith("? loss not ruled out") for line in lines)
    text = "\n".join(line for line in lines if " 11-20 02:00 " in line)
    for value in values.values():
        assert text.count(f" {value:.4f}") == 2


def test_a_guardrail_that_unjudged_results_turn_is_open_as_on_the_screen() -> None:
    compared = {"new": PastComparison(0.01, Verdict.NOT_WORSE, is_reversible=True)}
    one = EvaluatedNight(1, "k", "2026-11-20T02:00:00+00:00", "old", None, {"old": 0.5, "new": 0.51}, compared)
    lines = printed(Timeline("n", "rr@10", ("old", "new"), (one,)), 80)
    assert any("0.5100 ?" in line for line in lines)
    assert any(line.startswith("? ") for line in lines), "the legend has no other mark"


@pytest.mark.slow
def test_what_changed_is_named(evaluation: Evaluation) -> None:
    found = read_timeline(evaluation, None, None)
    assert [each.changed for each in found.evaluations] == [
        (),
        ("ranking new",),
        ("ranking new",),
        ("configuration (statistics.alpha)",),
        (f"ranking {LONG} new",),
        ("judgments", f"ranking {LONG} gone"),
    ]
    assert [each.pending for each in found.evaluations] == [True, False, True, True, True, True]
    assert [each.gate for each in found.evaluations][:3] == ["passed", "passed", "failed"]
    assert found.systems == ("old", "new", LONG)
    rows = read_bundle(evaluation.output_directory / found.evaluations[-1].key).outcome.main
    past = found.evaluations[-1].compared
    assert {row.candidate: can_be_reversed(row) for row in rows if row.metric == found.metric} == {
        name: each.is_reversible for name, each in past.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 200])
def test_one_line_for_each_evaluation_at_any_width(width: int, evaluation: Evaluation) -> None:
    found = read_timeline(evaluation, None, None)
    lines = printed(found, width)
    assert all(len(line.rstrip()) <= width for line in lines)
    text = "\n".join(lines)
    for each in found.evaluations:
        assert any(re.match(rf" *{each.ordinal}  +{each.began[5:10]} {each.began[11:16]} ", line) for line in lines)
    assert f": {LONG}" in text and "C: " not in text
    assert "▼" in text
    assert "monitor (" not in text
    words = " ".join(" ".join(printed(found, width, details=True)).split())
    assert re.search(r"pending; dropped: new \(-0\.\d{4}\); gate failed: no regression \(new\); ranking new", words)
    assert "monitor (false alarms of a system: at most 0.1 over all evaluations)" in words
    assert text.count("pending") == 5
    (decided,) = [line.strip() for line in lines if line.startswith("6: ")]
    (reason,) = found.evaluations[-1].reasons.values()
    assert decided.startswith("6: ✗ do not ship new: ") and reason[:30] in decided
    assert ("✗ do not ship" in text) and ((text.count("✗ do not ship new") > 1) == (width == 200))
    assert (f"{found.evaluations[0].compared['new'].difference:+.4f}" in text) == (width == 200)


@pytest.mark.slow
def test_short_names_stand_over_their_columns(evaluation: Evaluation) -> None:
    found = read_timeline(evaluation, None, 1)
    (head,) = [line for line in printed(found, 80) if "night" in line]
    assert head.split() == ["night", "old", "new", "what", "happened"]


@pytest.mark.slow
def test_last_and_metric(evaluation: Evaluation) -> None:
    found = read_timeline(evaluation, "Recall@5", 2)
    assert [each.ordinal for each in found.evaluations] == [5, 6]
    assert found.evaluations[0].changed, "compared with the one before, though that is not shown"
    with pytest.raises(InputError, match=r"--metric 'ndcg@7': .* has only ndcg@10, recall@5"):
        read_timeline(evaluation, "ndcg@7", None)
    other = evaluation.model_copy(update={"metrics": ("rr",)})
    with pytest.raises(InputError, match=r"^metrics\[0\] = 'rr': .* has only ndcg@10, recall@5"):
        read_timeline(other, None, None)


@pytest.mark.slow
def test_a_metric_that_changed_its_definition_is_said(evaluation: Evaluation, folder: Path) -> None:
    with database.open_history_for(database.history_path(evaluation)) as past:
        ((before,),) = past.rows("metric", ("hash",), where={"ordinal": 2, "metric": "ndcg@10"})
        past.connection.execute("update metric set hash = 'other' where ordinal = 2 and metric = 'ndcg@10'")
    try:
        found = read_timeline(evaluation, None, 5)
        assert "definition" in found.evaluations[0].changed
    finally:
        with database.open_history_for(database.history_path(evaluation)) as past:
            past.connection.execute(
                "update metric set hash = $hash where ordinal = 2 and metric = 'ndcg@10'", {"hash": before}
            )


@pytest.mark.slow
def test_many_evaluations_fit_the_bars(evaluation: Evaluation) -> None:
    found = read_timeline(evaluation, None, None)
    many = Timeline(found.name, found.metric, found.systems, found.evaluations * 30)
    assert all(len(line.rstrip()) <= 80 for line in printed(many, 80))


@pytest.mark.parametrize(
    ("values", "scale", "bars"),
    [
        ([None, 0.1, 0.2, 0.15], (0.1, 0.2), "·▁█▄"),
        ([0.1, 0.2], (0.0, 0.8), "▂▃"),  # on the scale of all systems, not on one of its own
        ([0.5, 0.5], (0.5, 0.5), "▁▁"),
    ],
)
def test_bars_of_all_systems_have_one_scale(values: list[float | None], scale: tuple[float, float], bars: str) -> None:
    assert draw_sparkline(values, scale) == bars


def night(ordinal: int, day: int, **changes: Any) -> EvaluatedNight:
    values = {"new": 0.4, "old": 0.5}
    known = {"key": f"k/{ordinal}", "began": f"2026-11-{day:02}T02:00:00+00:00", "baseline": "old", "gate": None}
    known |= {"values": values, "changed": ()}
    return EvaluatedNight(ordinal, **(known | changes))


def reused(ordinal: int, *days: int) -> tuple[ReusedNight, ...]:
    return tuple(ReusedNight(f"2026-11-{day:02}T02:00:00+00:00", ordinal) for day in days)


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ((), []),
        (reused(1, 4), ["11-04 02:00 same as 1"]),
        (reused(1, 4, 5, 6), ["11-04 02:00 3 nights same as 1, the last 11-06 02:00"]),
        (reused(1, 4) + reused(1, 9), ["11-04 02:00 same as 1", "11-09 02:00 same as 1"]),
        (reused(1, 9) + reused(2, 10), ["11-09 02:00 same as 1", "11-10 02:00 same as 2"]),
    ],
)
def test_nights_in_which_nothing_changed(again: tuple[ReusedNight, ...], said: list[str]) -> None:
    found = Timeline("n", "ndcg@10", ("old", "new"), (night(1, 3), night(2, 8)), again)
    lines = [" ".join(line.split()) for line in printed(found, 100)]
    assert [line for line in lines if "same as" in line] == said
    assert [line.split()[-4:-2] for line in lines if "0.5000" in line and "02:00" in line], "beside the evaluations"


def test_many_systems_leave_what_happened_below_the_table() -> None:
    names = tuple(f"system{number}" for number in range(6))
    one = night(1, 3, values=dict.fromkeys(names, 0.4), gate="failed", failures=("judged (system1)",))
    lines = printed(Timeline("n", "ndcg@10", names, (one,)), 80)
    assert "  1  11-03 02:00  gate failed: judged (system1)" in [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [90, 100])
def test_what_happened_takes_one_line_with_its_end_cut(width: int) -> None:
    long = ("configuration (statistics.alpha, statistics.resamples, gate.no_drop, gate.judged)", "judgments")
    found = Timeline("n", "ndcg@10", ("old", "new"), (night(1, 3), night(2, 4, changed=long, gate="failed")))
    lines = printed(found, width)
    start = next(at for at, line in enumerate(lines) if " 11-03 02:00 " in line)
    assert " 11-04 02:00 " in lines[start + 1] and lines[start + 1].rstrip().endswith("…")
    assert not lines[start + 2].strip(), "the table ends there"
    whole = " ".join(" ".join(printed(found, width, details=True)).split())
    assert "gate.judged), judgments" in whole


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"changed": ("judgments",), "judgments_version": "2026-11"}, "judgments 2026-11"),
        ({"changed": ("ranking old", "ranking new", "judgments")}, "judgments, all rankings"),
        ({"changed": ("ranking gone gone", "ranking new")}, "ranking gone gone, ranking new"),
    ],
)
def test_what_changed_is_told_in_few_words(changes: dict[str, Any], text: str) -> None:
    assert format_changed_inputs(night(1, 3, **changes)) == text


@pytest.mark.parametrize("values", [{}, {"old": None, "new": None}, {"old": None}, {"old": 0.5}, {LONG: None}], ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_every_view_takes_nights_without_a_value(values: dict[str, float | None], count: int, tmp_path: Path) -> None:
    """A metric that the configuration names anew has no value in earlier nights, and one that it dropped in later."""
    nights = tuple(night(number, number, values=values) for number in range(1, count + 1))
    found = Timeline("n", "ndcg@10", tuple(values), nights, latest_value=7)
    told = "no evaluation shown has a value of ndcg@10; --last 7 goes back to one that has"
    has_value = values.get("old") is not None
    for width in (80, 130):
        for details in (False, True):
            lines = [line.rstrip() for line in printed(found, width, details=details)]
            has_bars = any("█ 0.5000" in line for line in lines)
            assert (told in lines, has_bars) == (not has_value, has_value and count > 1)
    assert len(json.loads(timeline_json(found))["evaluations"]) == count
    assert make_digest(found, datetime(2026, 1, 1, tzinfo=UTC)).evaluations == count


@pytest.mark.slow
def test_the_latest_night_may_lack_the_metric(tmp_path: Path) -> None:
    """The advice works: the number of evaluations that it names reaches one with a value."""
    earlier = small(tmp_path)
    nights_of(tmp_path, 2)
    undrawn(small(tmp_path, metrics=["precision@5"]))
    found = command(earlier, "--last", "1")
    assert (found.exit_code, found.stderr) == (0, "")
    (told,) = re.findall("no evaluation shown has a value of ndcg@10; (--last [0-9]+) goes back", found.stdout)
    assert told == "--last 2"
    assert "no evaluation shown" not in command(earlier, *told.split()).stdout
    for words in (["--json", "-"], ["--since", "1d"], ["--query", "tea"], ["--metric", "precision@5"], ["--details"]):
        assert command(earlier, "--last", "1", *words).exit_code == 0, words


def command(evaluation: Evaluation, *words: str) -> Any:
    return invoke(["history", str(configuration(evaluation, evaluation.directory.parent)), *words])


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--query", "bread"]])
def test_the_picture_shows_what_is_printed(
    words: list[str], evaluation: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    drawn = tmp_path / "nights.svg"
    found = command(evaluation, *words, "--last", "4", "--picture", str(drawn))
    assert found.exit_code == 0, found.output
    shown = html.unescape("".join(re.findall(">([^<>]+)</text>", drawn.read_text())))
    assert "".join(shown.split()) == "ndcg-ab" + "".join(found.stdout.rpartition("written:")[0].split())
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("systems", "told"), [(None, "no drop"), ("new", "no drop (new)"), ("new; old; new", "no drop (new, old)")]
)
def test_a_failed_gate_names_each_system_once(systems: str | None, told: str) -> None:
    assert timelines.failure_text("no drop", systems) == told


@pytest.mark.slow
def test_the_command(evaluation: Evaluation, tmp_path: Path) -> None:
    found = command(evaluation)
    assert found.exit_code == 0, found.output
    content = json.loads(command(evaluation, "--json", "-", "--last", "3").stdout)
    assert [each["ordinal"] for each in content["evaluations"]] == [4, 5, 6]
    assert [each["pending"] for each in content["evaluations"]] == [True] * 3
    assert content["evaluations"][0]["changed"] == ["configuration (statistics.alpha)"]
    assert content["evaluations"][0]["failures"] == ["no regression (new)"]
    assert content["evaluations"][0]["decisions"] == [{"candidate": "new", "decision": "do_not_ship"}]
    assert content["reused"] == []
    assert {row["system_id"] for row in content["evaluations"][1]["systems"]} == {"old", "new", LONG}
    one = json.loads(command(evaluation, "--query", "bread", "--json", "-").stdout)
    assert one["query_id"] == "bread"
    assert len(one["values"]) == 13
    assert "0." in command(evaluation, "--query", "bread", "--metric", "recall@5").stdout
    unknown = command(evaluation, "--query", "braed")
    assert (unknown.exit_code, "(near: 'bread'" in unknown.stderr) == (2, True)
    nowhere = command(evaluation.model_copy(update={"output": tmp_path / "none"}))
    assert (nowhere.exit_code, "there is no history yet" in nowhere.stderr) == (2, True)
    assert not (tmp_path / "none").exists()


def described() -> dict[str, list[str]]:
    """Table -> its columns, as docs/history.md has them, by their names."""
    parts = re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
    return {
        name: sorted(re.findall(r"`(\w+)`", " ".join(re.findall(r"^- ([^:]*):", text, flags=re.M))))
        for name, text in parts
    }


def test_every_table_and_column_is_documented() -> None:
    kept = {name: sorted(records_table([], kind, ordinal=0).schema.names) for name, kind in database.RECORDS.items()}
    assert described() == kept


QUERIES = re.findall(r"\*\*(.+?)\*\*.*?\n\n```sql\n(.*?)```", PAGE, flags=re.DOTALL)


def test_there_are_queries_to_run() -> None:
    assert len(QUERIES) >= 8


@pytest.mark.slow
@pytest.mark.parametrize(("title", "text"), QUERIES, ids=[title for title, _ in QUERIES])
def test_the_queries_of_the_documentation_work(title: str, text: str, evaluation: Evaluation) -> None:
    assert rows_of(evaluation, text), title
