"""Monitors, from the rows of a history: what is a look, and what is said."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.history import database
from ndcg_ab.history.repeated_tests import RepeatedTests, read_repeated_tests
from ndcg_ab.history.timeline import read_timeline, timeline_json
from ndcg_ab.report.over_time import print_repeated_tests
from ndcg_ab.results.codec import records_table
from ndcg_ab.results.outcome import Input
from ndcg_core.statistics.over_time import spend_alpha
from ndcg_core.statistics.verdicts.comparison import compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ndcg_core.statistics.columns import column
from tests.printing import print_to_text
from tests.small_evaluation import small

LOSS = [-0.5, -0.4, -0.45, -0.3, -0.55, 0.05] * 10
NOTHING = [0.3, -0.3, 0.2, -0.2, 0.1, -0.1] * 10


@pytest.fixture
def past(tmp_path: Path) -> Iterator[DuckDBEngine]:
    with database.open_history_for(tmp_path / "history.duckdb") as history:
        yield history


def night(
    past: DuckDBEngine, ordinal: int, shares: Mapping[str, list[float]], digests: str = "", largest_loss: float = 1.0
) -> None:
    """One evaluation: candidate -> differences; digests: those of the rankings, old first, and of the judgments."""
    columns = [replace(column(values, candidate=name), largest_loss=largest_loss) for name, values in shares.items()]
    tests = [replace(row, metric="ndcg@10") for row in compare_family(columns, resamples=10_000)]
    about = {"key": f"n/{ordinal}", "began": f"2026-11-{ordinal:02}T02:00:00+00:00", "baseline": "old"}
    about |= {"configuration": "{}", "content_key": digests, "query_set": "q"}
    names = ["old", *shares, "judgments"]
    kinds = ["ranking"] * (len(names) - 1) + ["judgments"]
    rows = [Input(name, kind, None, "", 1, digest) for name, kind, digest in zip(names, kinds, digests, strict=True)]
    past.append("evaluation", records_table([about], database.RECORDS["evaluation"], ordinal=ordinal))
    past.append("input", records_table(rows, Input, ordinal=ordinal))
    past.append("comparison", records_table(tests, database.Comparison, ordinal=ordinal))


def found(past: DuckDBEngine, until: int | None = None) -> RepeatedTests:
    nights = read_repeated_tests(past, until)
    assert nights is not None
    return nights


def said(nights: RepeatedTests | None) -> str:
    return print_to_text(print_repeated_tests, nights, width=200)


def test_the_same_content_is_the_same_look(past: DuckDBEngine) -> None:
    assert read_repeated_tests(past) is None and said(None) == ""
    night(past, 1, {"new": NOTHING}, "abj")
    night(past, 2, {"new": LOSS}, "acj")
    night(past, 3, {"new": NOTHING}, "abj")
    (monitor,) = found(past).monitors
    assert (monitor.looks, monitor.latest.ordinal, monitor.latest.level) == (2, 1, spend_alpha(0.05, 1))
    assert [(look.ordinal, look.conclusion) for look in monitor.detected] == [(2, Verdict.REGRESSED)]
    assert "tested 2 times, now at level 0.0096 (p " in said(found(past))
    assert "undecided now (regressed first in evaluation 2, 2026-11-02)" in said(found(past))
    assert "undecided so far" in said(found(past, until=1)) and "regressed over all evaluations" in said(
        found(past, until=2)
    )
    for ordinal, digests in enumerate(("adj", "dbj", "abk"), start=4):
        night(past, ordinal, {"new": NOTHING}, digests)
        assert found(past).monitors[0].looks == ordinal - 1, "another ranking, baseline, judgments"
    latest = found(past).monitors[0]
    assert latest.latest.level == spend_alpha(0.05, 5)
    assert latest.mde is not None and latest.mde_alone is not None and latest.mde > 1.3 * latest.mde_alone
    assert "can detect 0." in said(found(past))


def test_eight_queries_can_find_nothing_and_that_is_said(past: DuckDBEngine) -> None:
    night(past, 1, {"new": [0.1, -0.1] * 4}, "abj")
    (monitor,) = found(past).monitors
    assert monitor.mde is None and monitor.mde_alone is not None
    assert said(found(past)).count("undecided so far; tested once, ") == 1
    assert "on so few queries no difference would be enough" in " ".join(said(found(past)).split())


def test_a_monitor_says_that_its_promise_needs_the_range_of_the_metric(past: DuckDBEngine) -> None:
    """A metric of unknown range has no bound for skewed differences; once a range is declared the doubt is gone."""
    doubt = "; at most 0.05 does not hold without the range of ndcg@10: give it with statistics.ranges"
    night(past, 1, {"new": LOSS}, "abj", largest_loss=math.inf)
    assert doubt in " ".join(said(found(past)).split())
    night(past, 2, {"new": LOSS}, "acj", largest_loss=3.0)
    assert "does not hold" not in said(found(past)) and found(past).monitors[0].has_range


def test_a_difference_that_rare_losses_could_make_up_for_is_not_told(past: DuckDBEngine) -> None:
    """All of 60 queries lose .02: flips and t are sure, but one query in 50 that gains 1 would make up for it."""
    night(past, 1, {"new": [-0.02 - 0.0001 * at for at in range(60)]}, "abj")
    (monitor,) = found(past).monitors
    assert monitor.latest.conclusion is Verdict.UNDECIDED
    assert monitor.latest.p_value == pytest.approx(2 / 1.023**60, abs=0.03)


def test_what_cannot_be_tested_is_no_look(past: DuckDBEngine) -> None:
    night(past, 1, {"new": [0.0] * 60}, "aaj")
    night(past, 2, {"new": [-0.5] * 3 + [0.0] * 57}, "abj")
    assert read_repeated_tests(past) is None
    night(past, 3, {"new": LOSS, "other": NOTHING}, "acdj")
    assert [(each.candidate, each.looks) for each in found(past).monitors] == [("new", 1), ("other", 1)]
    night(past, 4, {"other": NOTHING}, "adj")
    assert [(each.candidate, each.looks) for each in found(past).monitors] == [("other", 1)], "those of the last night"


def test_the_timeline_has_it(tmp_path: Path) -> None:
    from tests.small_evaluation import nights

    nights(tmp_path, 2)
    content = json.loads(timeline_json(read_timeline(small(tmp_path), None, None)))
    (monitor,) = content["over_nights"]["monitors"]
    assert (monitor["candidate"], monitor["metric"], monitor["looks"]) == ("new", "ndcg@10", 2)
    assert [len(each["since_last"]) for each in content["evaluations"]] == [0, 1]
    assert {*content["evaluations"][1]["since_last"][0]} == {"system_id", "difference", "conclusion"}
