"""Requests that failed are no fast requests, and queries whose cost is not known are counted."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ndcg_ab import CompareResult
from ndcg_ab.comparing import costs as comparing_costs
from ndcg_ab.comparing.costs import Estimates, RecordedCost, refuse_other_quantile
from ndcg_ab.comparing.gates import breaks_cost_margin
from ndcg_ab.config.model.costs import CostStatistic
from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.report.explanations import explain_candidate
from ndcg_ab.report.sections import cost_notes, print_costs
from ndcg_ab.results.cost_records import CostDifference, CostValue
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources import registry
from ndcg_ab.sources.costs import COST, costs_of_rows
from ndcg_core.statistics.estimates.cost_quantiles import Sample, Tails
from ndcg_core.statistics.estimates.mean_difference import Interval
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ndcg_ab.comparing.test_costs import (
    BASE,
    COUNT,
    IDS,
    compared,
    configured,
    costs_of,
    difference,
    folder_with,
    outcome_of,
)
from tests.printing import print_to_text

GIVEN_UP = 1000.0  # the value of a request that failed, in the files of these tests
GIVEN_UP_AT_ONCE = 3.0


def with_failures(table: pa.Table, names: Any, origin: str) -> pa.Table:
    """Return the costs of a file with its marked values as failed requests, which no file can hold."""
    found = costs_of_rows(table, names, origin)
    failed = pc.is_in(found["value"], pa.array([GIVEN_UP, GIVEN_UP_AT_ONCE]))
    return found.set_column(found.schema.get_field_index("is_failed"), COST.field("is_failed"), failed)


@pytest.fixture
def comparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CompareResult]:
    """A comparison with `alike`, in which some systems have other values: system -> {place of a query: value}."""
    monkeypatch.setattr(registry, "costs_of_rows", with_failures)

    def compare(changed: dict[str, dict[int, Any]], **keys: Any) -> CompareResult:
        folder_with(tmp_path)
        for system, values in changed.items():
            path = tmp_path / f"{system}.csv"
            lines = [line.split(",") for line in path.read_text().splitlines()]
            cells = {IDS[place]: str(value) for place, value in values.items()}
            lines = [[*line[:3], cells.get(line[0], line[3])] for line in lines]
            path.write_text("".join(",".join(line) + "\n" for line in lines))
        return compared(tmp_path, ["alike"], metrics=["rr"], **keys)

    return compare


def value(found: CompareResult, system: str, statistic: str) -> CostValue:
    row = costs_of(found).value_of(system, "latency_ms", statistic)
    assert row is not None
    return row


def of_code(found: CompareResult, code: str) -> list[Finding]:
    return [each for each in outcome_of(found).findings if each.code == code]


def failing(count: int, took: float = GIVEN_UP) -> dict[int, float]:
    return dict.fromkeys(range(count), took)


@pytest.mark.slow
def test_a_system_that_runs_into_its_timeout_keeps_no_guardrail(comparing: Callable[..., CompareResult]) -> None:
    """14 of 100 took a second at least: so does its p95, and what lies above is not known."""
    found = comparing({"alike": failing(14)}, guardrails={"latency_ms@p95": 300})
    p95 = value(found, "alike", "p95")
    assert (p95.value, p95.high, p95.number, p95.failed) == (1000, None, "≥1,000", 14)
    row = difference(found, "alike", "p95")
    assert (row.difference, row.high, row.bound) == (1000 - 114, None, "at_least")
    assert row.low is not None and row.low > 300
    assert row.conclusion is Verdict.WORSE
    assert row.sentence.endswith(", ?], 14 requests failed")
    assert row.numbers.startswith("≥+886 [")
    (decision,) = outcome_of(found).decisions
    assert decision.decision is Choice.DO_NOT_SHIP
    mean = value(found, "alike", "mean")
    assert (mean.bound, mean.high) == ("at_least", None), "a mean is a lower bound with one request that failed"
    base = value(found, "base", "p95")
    assert (base.bound, base.failed) == (None, 0)
    assert base.high is not None
    (finding,) = of_code(found, "failed_time")
    assert (finding.severity, finding.system, finding.count) == ("warning", "alike", 14)
    assert finding.message == (
        "system alike: 14 of 100 requests failed (such as query 'q000'): latency_ms counts the time until they were"
        " given up, which is only a lower bound"
    )
    note = "alike latency_ms: 14 of 100 requests failed; the time until one was given up is a lower bound (≥)"
    assert note in cost_notes(costs_of(found))


@pytest.mark.slow
def test_failing_at_once_is_not_fast(comparing: Callable[..., CompareResult]) -> None:
    """The time until it was given up is short, so that p95 is not even raised: the guardrail stays open."""
    found = comparing({"alike": failing(14, GIVEN_UP_AT_ONCE)})
    row = difference(found, "alike", "p95")
    assert row.difference is not None and row.difference < 20
    assert (row.high, row.bound, row.conclusion) == (None, "at_least", Verdict.MAY_BE_WORSE)
    assert breaks_cost_margin(row, proof=False), "an estimate that is only a lower bound passes no gate"
    assert row.queries_needed is None, "no number of queries settles it"
    advice = explain_candidate(outcome_of(found), "alike")["What to do next"]
    assert "latency_ms@p95: find out why 14 requests failed, and measure again." in advice


@pytest.mark.slow
def test_failures_beyond_the_quantile_change_nothing_of_it(comparing: Callable[..., CompareResult]) -> None:
    """Two of 100 that failed late hide p99, and neither p50 nor its interval."""
    found = comparing({"alike": failing(2)}, guardrails={f"latency_ms@{name}": 20 for name in ("p96", "p98", "p99")})
    median, p99 = (difference(found, "alike", each) for each in ("p50", "p99"))
    assert (median.bound, value(found, "alike", "p50").bound) == (None, None)
    assert median.high is not None and median.low is not None
    assert (p99.bound, p99.high, p99.queries_needed) == ("at_least", None, None), "nor would 368 queries settle it"
    p96, p98 = (difference(found, "alike", each) for each in ("p96", "p98"))
    assert (p96.bound, p96.high, p96.queries_needed) == (None, None, None), "91 queries would do without failures"
    assert (p98.bound, p98.high, p98.queries_needed) == (None, None, 183), "100 are too few in any case"


@pytest.mark.slow
def test_a_baseline_that_fails_shows_no_harm(comparing: Callable[..., CompareResult]) -> None:
    row = difference(comparing({"base": failing(14)}), "alike", "p95")
    assert (row.low, row.bound, row.failed, row.conclusion) == (None, "at_most", 0, Verdict.NOT_WORSE)
    assert row.numbers.startswith("≤-")
    mean = difference(comparing({"base": failing(14)}), "alike", "mean")
    assert mean.low is None and mean.high is not None


@pytest.mark.slow
def test_two_lower_bounds_have_no_difference(comparing: Callable[..., CompareResult]) -> None:
    row = difference(comparing({"base": failing(14), "alike": failing(14)}), "alike", "p95")
    assert (row.difference, row.low, row.high, row.bound) == (None, None, None, None)
    assert row.conclusion is Verdict.MAY_BE_WORSE
    assert row.numbers == "– [?, ?]"


@pytest.mark.slow
def test_the_sql_s_upper_value_is_held_against_the_core(
    comparing: Callable[..., CompareResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecordedCost, "values_or_infinity", property(lambda self: self.values))
    with pytest.raises(ParityError, match=r"system alike, latency_ms@p95: SQL gives inf, the Python core 1000"):
        comparing({"alike": failing(14)})


def test_a_quantile_that_is_endless_is_near_to_no_number() -> None:
    p95 = CostStatistic("ms", "p95")
    endless = Interval(5.0, math.inf)
    refuse_other_quantile(endless, endless, "new", p95)
    for stored in (Interval(5.0, 7.0), None):
        with pytest.raises(ParityError, match=r"system new, ms@p95"):
            refuse_other_quantile(stored, endless, "new", p95)


@pytest.mark.slow
def test_weights_decide_whether_a_quantile_falls_on_a_failure(comparing: Callable[..., CompareResult]) -> None:
    """SQL and core agree with weights, too; the second query, of weight 2, and the fourth, of 4, are 6 of 250."""
    keys = {"queries": {"file": "q.csv"}, "statistics": {"resamples": 1000, "clustered": False}}
    found = comparing({"alike": {1: GIVEN_UP, 3: GIVEN_UP}}, **keys)
    assert [value(found, "alike", each).bound for each in ("p50", "p95", "p99")] == [None, None, "at_least"]


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_holds_whatever_an_answer_would_have_taken(seed: int) -> None:
    """It contains that of the times that were never seen, by the same draws."""
    chance = np.random.default_rng(seed)
    times = chance.lognormal(3, 1, (150, 2))
    failed = times > chance.uniform(20, 120, (150, 2))
    seen = np.where(failed, times * chance.uniform(0, 1, (150, 2)), times)
    statistics = [CostStatistic("ms", name) for name in ("mean", "p50", "p95")]
    evaluation = configured(Path(), ["alike"])
    query_ids = [str(index) for index in range(150)]
    known, whole = (
        Estimates(RecordedCost(query_ids, values, flags, Sample(), {}), statistics, evaluation)
        for values, flags in ((seen, failed), (times, np.zeros_like(failed)))
    )
    tails = Tails(0.025, 0.025)
    for which in range(3):
        wide, narrow = known.interval(which, tails, 1, 0), whole.interval(which, tails, 1, 0)
        assert wide.low <= narrow.low and narrow.high <= wide.high
        for system in range(2):
            own, true = known.interval(which, tails, system), whole.interval(which, tails, system)
            assert own.low <= true.low and true.high <= own.high
            at_least, at_most = known.value(system, which)
            assert at_least <= whole.value(system, which).low <= at_most


# ---- costs that are not known


@pytest.mark.slow
def test_queries_without_a_cost_are_counted(comparing: Callable[..., CompareResult]) -> None:
    found = comparing({"alike": dict.fromkeys(range(34), "")})
    assert {(row.queries, row.asked) for row in costs_of(found).values} == {(66, 100)}
    assert value(found, "base", "mean").value == pytest.approx(BASE[34:].mean())
    (finding,) = of_code(found, "missing_cost")
    assert (finding.system, finding.count, finding.examples[0]) == ("alike", 34, "query 'q000'")
    assert finding.message == (
        "system alike: no latency_ms for 34 of 100 queries (such as 'q000'): left out for every system"
    )
    text = print_to_text(print_costs, outcome_of(found))
    assert text.startswith("what requests cost 66 of 100 queries\n")
    assert "alike latency_ms: missing for 34 of 100 queries" in text


@pytest.mark.slow
def test_costs_that_are_all_known_are_no_finding(comparing: Callable[..., CompareResult]) -> None:
    found = comparing({})
    assert not of_code(found, "missing_cost") and not of_code(found, "failed_time")
    assert {(row.queries, row.asked, row.missing) for row in costs_of(found).values} == {(COUNT, COUNT, 0)}


@pytest.mark.slow
def test_a_system_without_any_is_named(comparing: Callable[..., CompareResult]) -> None:
    with pytest.raises(InputError, match="costs: system alike has no latency_ms for any of 100 queries"):
        comparing({"alike": dict.fromkeys(range(100), "")})


def test_a_path_that_finds_nothing_is_named() -> None:
    http = {"url": "http://e/", "parameters": {"q": "{query}"}, "costs": {"price": "usage.price"}}
    systems = [{"name": name, "http": http} for name in ("old", "new")]
    evaluation = configured(Path(), [], systems=systems, queries={"file": "q.csv"}, costs=["price"], guardrails={})
    said = (
        "costs: system new has no price for any of 2 queries: http.costs.price = 'usage.price' finds nothing in the"
        " answers; correct the path (JMESPath, from the top)"
    )
    with pytest.raises(InputError) as error:
        comparing_costs.refuse_missing_cost(evaluation, "price", {"old": [], "new": ["q1", "q2"]})
    assert str(error.value) == said


def test_of_an_end_that_failures_hide_the_reason_is_said() -> None:
    row = CostDifference("new", "old", "latency_ms", "p95", 120, 5.0, 1.0, None, failed=1)
    assert row.sentence == "latency_ms@p95: +5.00 [+1.00, ?], 1 request failed"


@pytest.mark.slow
def test_what_queries_without_a_weight_lack_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests fail and two times are not there; one query of each pair is neither judged nor weighted."""
    monkeypatch.setattr(registry, "costs_of_rows", with_failures)
    folder_with(tmp_path, skipped={"alike": "q007"})
    for name, left_out in {"j": ("q000", "q003"), "q": ("q000", "q003"), "alike": ("q003",)}.items():
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        lines = [line for line in lines if not line.startswith(left_out)]
        if name == "alike":
            cells = [line.rsplit(",", 1) for line in lines]
            lines = [f"{row},{GIVEN_UP if row[:4] in ('q000', 'q001') else took}" for row, took in cells]
        (tmp_path / f"{name}.csv").write_text("".join(f"{line}\n" for line in lines))
    weighted = {"resamples": 1000, "clustered": False}
    found = compared(tmp_path, ["alike"], metrics=["rr"], queries={"file": "q.csv"}, statistics=weighted)
    row = value(found, "alike", "mean")
    assert (row.queries, row.failed, row.missing) == (COUNT - 3, 1, 1)
    for code, query in (("failed_time", "q001"), ("missing_cost", "q007")):
        (finding,) = of_code(found, code)
        assert (finding.count, finding.examples) == (1, (f"query '{query}'",)) and query in finding.message
