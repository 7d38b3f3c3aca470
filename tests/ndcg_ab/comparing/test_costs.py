"""What requests cost beside quality: values, differences, guardrails, what is decided and kept of it, failures."""

import dataclasses
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import ttest_rel

from ndcg_ab import CompareResult, evaluate
from ndcg_ab.comparing import costs as comparing_costs
from ndcg_ab.comparing.costs import Estimates, RecordedCost, refuse_other_quantile
from ndcg_ab.comparing.gates import breaks_cost_margin, gate_results
from ndcg_ab.config.model.costs import CostStatistic
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.settings import Gate
from ndcg_ab.errors import InputError, ParityError, UnavailableError
from ndcg_ab.report.explanations import explain_candidate
from ndcg_ab.report.sections import cost_notes, leading_costs, print_costs
from ndcg_ab.report.terminal.screen import print_answer_table
from ndcg_ab.results.cost_records import CostDifference, Costs, CostValue, format_cost
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.sources import registry
from ndcg_ab.sources.costs import COST, costs_of_rows
from ndcg_core.statistics.estimates.cost_quantiles import Sample, Tails
from ndcg_core.statistics.estimates.mean_difference import Interval
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.loopback import Asked, Said, serving
from tests.printing import print_to_text
from tests.small_evaluation import pull_inputs

COUNT = 100
IDS = [f"q{number:03}" for number in range(COUNT)]
BASE = np.random.default_rng(2).permutation(np.linspace(20, 119, COUNT))  # p95 is 114
MORE = {"slower": 30.0, "alike": 0.5, "open": 18.0}  # about how much longer a candidate takes


def latencies(name: str) -> np.ndarray:
    if name == "base":
        return BASE
    return BASE + MORE[name] + np.random.default_rng(len(name)).normal(0, 0.2, COUNT)


def folder_with(folder: Path, skipped: dict[str, str] | None = None) -> Path:
    """Judgments, queries with weights, and rankings with latencies; the candidates rank better on every query.

    skipped: system -> a query that it has no row of.
    """
    (folder / "j.csv").write_text("query_id,doc_id,grade\n" + "".join(f"{name},a,1\n" for name in IDS))
    weights = [1 + index % 4 for index in range(COUNT)]
    rows = (f"{name},{weight},c{index // 5}\n" for index, (name, weight) in enumerate(zip(IDS, weights, strict=True)))
    (folder / "q.csv").write_text("query_id,weight,cluster\n" + "".join(rows))
    for system in ("base", *MORE):
        order = "ba" if system == "base" else "ab"
        lines = [
            f"{name},{doc},{2 - index},{value!r}\n"
            for name, value in zip(IDS, latencies(system).tolist(), strict=True)
            for index, doc in enumerate(order)
            if (skipped or {}).get(system) != name
        ]
        (folder / f"{system}.csv").write_text("query_id,doc_id,score,latency_ms\n" + "".join(lines))
    return folder


def test_beside_the_metrics_stand_guardrails_or_p95_of_the_first_cost() -> None:
    rows = [
        CostDifference(name, "base", cost, statistic, 100, 1.0, 0.5, 1.5)
        for name in ("new", "other")
        for cost in ("latency_ms", "gpu_ms")
        for statistic in ("mean", "p95")
    ]
    values = tuple(CostValue("base", row.cost, row.statistic, 100, 9.0, 8.0, 10.0) for row in rows[:4])
    assert leading_costs(Costs(values, tuple(rows)), "new") == (rows[1],)
    guarded = [dataclasses.replace(row, margin=20.0) if row.statistic == "mean" else row for row in rows]
    assert leading_costs(Costs(values, tuple(guarded)), "new") == (guarded[0], guarded[2])
    assert leading_costs(None, "new") == ()


def configured(folder: Path, names: list[str], **keys: Any) -> Evaluation:
    systems = [{"name": name, "file": f"{name}.csv"} for name in ("base", *names)]
    given = {"name": "costs", "directory": folder, "judgments": {"file": "j.csv", "complete": True}, "systems": systems}
    usual = {"statistics": {"resamples": 1000, "weighted": False}, "guardrails": {"latency_ms@p95": 20}}
    return Evaluation.model_validate(given | usual | keys)


def compared(folder: Path, names: list[str], **keys: Any) -> CompareResult:
    return evaluate(configured(folder, names, **keys))


def outcome_of(found: CompareResult) -> Outcome:
    return found._outcome


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_with(tmp_path_factory.mktemp("costs"))


@pytest.fixture(scope="module")
def all_three(folder: Path) -> CompareResult:
    return compared(folder, [*MORE], metrics=["rr"])


def costs_of(found: CompareResult) -> Costs:
    assert found.costs is not None
    return found.costs


def difference(found: CompareResult, candidate: str, statistic: str) -> CostDifference:
    return next(row for row in costs_of(found).differences if (row.candidate, row.statistic) == (candidate, statistic))


@pytest.mark.slow
def test_values_and_differences_are_numpys(all_three: CompareResult) -> None:
    for row in costs_of(all_three).values:
        values = latencies(row.system_id)
        own = values.mean() if row.statistic == "mean" else None
        share = None if own is not None else float(row.statistic[1:]) / 100
        expected = own if share is None else np.quantile(values, share, method="inverted_cdf")
        assert row.value == pytest.approx(expected, abs=1e-12)
        assert (row.queries, row.cost, row.measured) == (COUNT, "latency_ms", "read from the column latency_ms")
    for name in MORE:
        values = [latencies(each) for each in ("base", name)]
        for share in (50, 95, 99):
            base, other = (np.quantile(each, share / 100, method="inverted_cdf") for each in values)
            assert difference(all_three, name, f"p{share}").difference == pytest.approx(other - base)
        ends = ttest_rel(values[1], values[0]).confidence_interval()
        row = difference(all_three, name, "mean")
        assert (row.low, row.high) == pytest.approx((ends.low, ends.high))
        assert difference(all_three, name, "p99").high is None, "100 queries are too few"


def test_a_guardrail_that_is_broken_kept_or_open(all_three: CompareResult) -> None:
    rows = {name: difference(all_three, name, "p95") for name in MORE}
    assert {name: row.conclusion for name, row in rows.items()} == {
        "slower": Verdict.WORSE,
        "alike": Verdict.NOT_WORSE,
        "open": Verdict.MAY_BE_WORSE,
    }
    for row in rows.values():
        assert row.margin == 20
        assert row.low is not None and row.high is not None
        assert (row.high <= 20, row.low > 20) == (row.conclusion is Verdict.NOT_WORSE, row.conclusion is Verdict.WORSE)
    assert all(row.margin is None for row in costs_of(all_three).differences if row.statistic != "p95")


def test_what_is_decided(all_three: CompareResult) -> None:
    """Every candidate ranks better; one costs too much, of one that is not known."""
    found = {each.candidate: each for each in outcome_of(all_three).decisions}
    assert {name: each.decision for name, each in found.items()} == {
        "slower": Choice.DO_NOT_SHIP,
        "alike": Choice.SHIP_IF_CHEAP,
        "open": Choice.MEASURE_MORE,
    }
    assert found["slower"].reason.startswith("latency_ms@p95 higher by more than 20: +3")
    needed = difference(all_three, "open", "p95").queries_needed
    assert needed is not None and needed > COUNT
    assert found["open"].reason.endswith(f"], {COUNT} queries, about {needed:,} needed")


def printed(outcome: Outcome, width: int = 100) -> list[str]:
    return print_to_text(print_answer_table, outcome, width=width).splitlines()


def test_the_first_screen_has_a_column_for_costs(all_three: CompareResult) -> None:
    outcome = outcome_of(all_three)
    decided = dataclasses.replace(outcome, costs=None)
    with_costs, without = printed(outcome), printed(decided)
    assert len(with_costs) == len(without) + 1, "the reason of one candidate names its cost"
    assert "100 queries  rr                            latency_ms@p95" in with_costs
    row = difference(all_three, "slower", "p95")
    assert any(line.endswith(f"✗ {row.numbers}") for line in with_costs)
    assert "no room for latency_ms@p95: --details" in printed(outcome, 60)


def test_in_plain_words(all_three: CompareResult) -> None:
    parts = explain_candidate(outcome_of(all_three), "open")
    row = difference(all_three, "open", "p95")
    assert f"{row.sentence}." in parts["The answer"]
    asked = f"latency_ms@p95: ask about {row.queries_needed:,} queries; they need no judgments."
    assert asked in parts["What to do next"]


@pytest.mark.parametrize(("proof", "named"), [(False, ["slower"]), (True, ["slower", "open"])])
def test_the_gate_of_guardrails(all_three: CompareResult, proof: bool, named: list[str]) -> None:
    gates = {each.name: each for each in gate_results(Gate(proof=proof), outcome_of(all_three))}
    assert list(gates["guardrails"].systems) == named
    assert not gates["guardrails"].passed


def test_a_gate_that_passes_says_what_holds(all_three: CompareResult) -> None:
    costs = costs_of(all_three)
    for names, said in (
        (["alike"], "1 cost guardrail shown to hold"),
        (["alike", "open"], "1 of 2 cost guardrails not shown to hold (gate.proof would fail)"),
    ):
        kept = dataclasses.replace(costs, differences=tuple(r for r in costs.differences if r.candidate in names))
        outcome = dataclasses.replace(outcome_of(all_three), costs=kept)
        (gate,) = gate_results(Gate(no_regression=False), outcome)
        assert (gate.passed, gate.message) == (True, said)


def test_an_estimate_beyond_the_margin_fails_the_gate(all_three: CompareResult) -> None:
    row = dataclasses.replace(difference(all_three, "open", "p95"), difference=21.0)
    outcome = dataclasses.replace(outcome_of(all_three), costs=Costs((), (row,)))
    (gate,) = gate_results(Gate(no_regression=False), outcome)
    assert not gate.passed


def test_the_low_end_of_guardrails_holds_for_all_of_them_together(folder: Path, all_three: CompareResult) -> None:
    """Three candidates: alpha / 6; alone alpha / 2. The high end is the same: each must hold by itself."""
    alone = difference(compared(folder, ["slower"], metrics=["rr"]), "slower", "p95")
    together = difference(all_three, "slower", "p95")
    assert alone.low is not None and together.low is not None
    assert together.low < alone.low
    assert together.high == alone.high


def test_few_queries_leave_it_open_upwards(tmp_path: Path) -> None:
    """71 queries say nothing of how large p95 can be: 72 are needed, whatever they cost."""
    folder_with(tmp_path)
    for system in ("base", "alike"):
        lines = (tmp_path / f"{system}.csv").read_text().splitlines()
        (tmp_path / f"{system}.csv").write_text("\n".join(lines[: 1 + 2 * 40]) + "\n")
    row = difference(compared(tmp_path, ["alike"], metrics=["rr"]), "alike", "p95")
    assert (row.queries, row.high, row.conclusion, row.queries_needed) == (40, None, Verdict.MAY_BE_WORSE, 72)
    assert row.sentence.endswith(", ?], 40 queries, about 72 needed")


def test_a_query_that_one_system_lacks_is_left_out_for_all(tmp_path: Path) -> None:
    folder_with(tmp_path, skipped={"alike": "q007"})
    found = compared(tmp_path, ["alike"], metrics=["rr"])
    assert {row.queries for row in costs_of(found).values} == {COUNT - 1}
    kept = np.delete(BASE, 7)
    (base,) = (r.value for r in costs_of(found).values if (r.system_id, r.statistic) == ("base", "mean"))
    assert base == pytest.approx(kept.mean())


@pytest.mark.slow
def test_weights_and_clusters_count(folder: Path) -> None:
    """A query of weight 3 is three queries; queries of a cluster are fewer units."""
    keys = {"queries": {"file": "q.csv"}, "metrics": ["rr"]}
    weighed = compared(folder, ["alike"], statistics={"resamples": 1000, "clustered": False}, **keys)
    repeated = np.repeat(BASE, [1 + index % 4 for index in range(COUNT)])
    for row in costs_of(weighed).values:
        if row.system_id == "base" and row.statistic != "mean":
            share = float(row.statistic[1:]) / 100
            assert row.value == np.quantile(repeated, share, method="inverted_cdf")
        elif row.system_id == "base":
            assert row.value == pytest.approx(repeated.mean())
    plain = compared(folder, ["alike"], statistics={"resamples": 1000, "clustered": False, "weighted": False}, **keys)
    clustered = compared(folder, ["alike"], statistics={"resamples": 1000, "weighted": False}, **keys)
    p95 = difference(clustered, "alike", "p95")
    assert p95.high is None, "20 clusters are too few"
    assert difference(plain, "alike", "p95").high is not None


@pytest.mark.slow
def test_where_queries_were_drawn_for_judging_costs_are_of_the_whole_log(folder: Path) -> None:
    rows = (f"{name},{1 + index % 4},{'0.25' if index % 4 == 0 else ''}\n" for index, name in enumerate(IDS))
    (folder / "drawn.csv").write_text("query_id,weight,probability\n" + "".join(rows))
    statistics = {"resamples": 1000, "clustered": False}
    drawn, whole = (
        compared(folder, ["alike"], metrics=["rr"], statistics=statistics, queries={"file": name})
        for name in ("drawn.csv", "q.csv")
    )
    assert costs_of(drawn) == costs_of(whole)
    assert [row.queries for row in outcome_of(drawn).comparisons if row.metric == "rr"] == [25]


def test_the_sql_is_held_against_the_core(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing_costs, "quantile", lambda values, share, weights=None: max(values))
    with pytest.raises(ParityError, match=r"parity check: system base, latency_ms@p50: SQL gives .* Python core 119"):
        compared(folder, ["alike"], metrics=["rr"])


def test_json_has_costs_only_where_they_were_recorded(folder: Path, all_three: CompareResult) -> None:
    outcome = outcome_of(all_three)
    assert Outcome.from_dict(json.loads(outcome.to_json())) == outcome
    plain = outcome_of(compared(folder, ["alike"], guardrails={}, metrics=["rr"]))
    assert plain.costs is None
    assert "costs" not in plain.to_dict()


def test_no_query_in_common(tmp_path: Path) -> None:
    folder_with(tmp_path)
    for system, query_id in (("base", "q000"), ("alike", "q001")):
        (tmp_path / f"{system}.csv").write_text(f"query_id,doc_id,score,latency_ms\n{query_id},a,1,5\n")
    with pytest.raises(
        InputError, match="no query has a latency_ms for every system: of 2 queries it is missing for base 1, alike 1"
    ):
        compared(tmp_path, ["alike"])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00123, "0.00123"), (12.345, "12.3"), (1234.5, "1,234"), (0, "0"), (None, "–"), (1e12, "1e+12")],
)
def test_three_digits(value: float | None, text: str) -> None:
    assert format_cost(value) == text


MODULE = """
import time
asked = []


def search(text, version):
    asked.append((version, text))
    time.sleep(0.002 if version == "old" else 0.040)
    return [("a", 1.0)]
"""


def by_turns(folder: Path, systems: list[dict[str, Any]], *more: str) -> CompareResult:
    return evaluate(turned(folder, systems, *more))


def turned(folder: Path, systems: list[dict[str, Any]], *more: str, **costs: Any) -> Evaluation:
    ids = IDS[:12]
    (folder / "j.csv").write_text("query_id,doc_id,grade\n" + "".join(f"{name},a,1\n" for name in ids))
    (folder / "q.csv").write_text("query_id,text\n" + "".join(f"{name},text {name}\n" for name in ids))
    costs = {"record": ["latency_ms", *more], "by_turns": True} | costs
    given = {"queries": {"file": "q.csv"}, "systems": systems, "costs": costs, "guardrails": {"latency_ms@p50": 4}}
    return configured(folder, [], metrics=["rr"], **given)


def second_half_of_turns(asked: list[tuple[str, str]]) -> None:
    """The second half of what was asked: each of the two systems once in every turn, in changing order."""
    pulled, measured = asked[:24], asked[24:]
    assert sorted(pulled) == sorted(measured)
    pairs = [{version for version, _ in measured[at : at + 2]} for at in range(0, 24, 2)]
    assert pairs == [{"old", "new"}] * 12
    assert len({measured[at][0] for at in range(0, 24, 2)}) == 2, "neither is always the first"


@pytest.mark.slow
def test_functions_are_asked_by_turns(tmp_path: Path) -> None:
    (tmp_path / "by_turns_engine.py").write_text(MODULE)
    described = {"python": "by_turns_engine:search", "per_query": True}
    systems = [{"name": name, "arguments": {"version": name}, **described} for name in ("old", "new")]
    found = by_turns(tmp_path, systems)
    second_half_of_turns(sys.modules["by_turns_engine"].asked)
    sys.modules["by_turns_engine"].asked.clear()
    pull_inputs(turned(tmp_path, systems))
    assert len(sys.modules["by_turns_engine"].asked) == 24, "for anything else than a comparison once is enough"
    values = {row.system_id: row for row in costs_of(found).values if row.statistic == "p50"}
    assert {row.cold_requests for row in values.values()} == {12}, "what was pulled"
    assert 2 <= (values["old"].value or 0) < 25 < 40 <= (values["new"].value or 0) < 100
    assert values["new"].measured.startswith("one request at a time, systems by turns, queries in random order (seed")
    assert not any("one after another" in note for note in cost_notes(costs_of(found)))


@pytest.mark.slow
def test_requests_that_warm_up_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "warmed_engine.py").write_text(MODULE)
    described = {"python": "warmed_engine:search", "per_query": True}
    systems = [{"name": name, "arguments": {"version": name}, **described} for name in ("old", "new")]
    found = evaluate(turned(tmp_path, systems, by_turns=False, warm_up=2))
    assert {(row.queries, row.cold_requests) for row in costs_of(found).values} == {(12, 2)}


def test_an_engine_that_fails_while_it_is_measured(tmp_path: Path) -> None:
    """As in a pull: one query too many is an error; one that may fail has a time, and no other cost."""

    def failing(asked: Asked) -> Said:
        broken = asked.number > 24 and asked.query["v"] == ["new"] and asked.text == "text q003"
        return Said("", 500) if broken else Said({"hits": [{"id": "a"}], "tokens": 7})

    for allowed in (0, 1):
        with serving(failing) as server:
            http = {"url": server.address, "concurrency": 2, "retries": 0, "allow_failed_queries": allowed}
            http["costs"] = {"tokens": "tokens"}
            systems = [
                {"name": name, "http": {**http, "parameters": {"q": "{query}", "v": name}}} for name in ("old", "new")
            ]
            if not allowed:
                with pytest.raises(UnavailableError, match="query 'q003': status 500"):
                    by_turns(tmp_path, systems)
            else:
                found = by_turns(tmp_path, systems, "tokens")
                rows = {(row.system_id, row.cost): row for row in costs_of(found).values if row.statistic == "mean"}
                assert [(row.queries, row.failed, row.missing) for row in rows.values()] == [
                    *((12, 0, 0), (12, 1, 0)),
                    *((11, 0, 0), (11, 0, 1)),
                ]
                assert rows["new", "latency_ms"].bound == "at_least"
                assert rows["new", "latency_ms"].cold_requests == 12
                ways = {row.measured.rpartition(", after ")[2] for row in rows.values()}
                assert ways == {"every query was asked once (cold, up to 2 at the same time)"}
                messages = {each.code: each.message for each in outcome_of(found).findings}
                assert messages["failed_time"].startswith(
                    "system new: 1 of 12 requests failed (such as query 'q003'): "
                )
                assert messages["missing_cost"] == (
                    "system new: no tokens for 1 of 12 queries (such as 'q003'; 1 request failed): left out for every"
                    " system"
                )


def test_a_file_cannot_be_asked(folder: Path) -> None:
    with pytest.raises(InputError, match=r"base\.csv: cannot be asked again, as costs.by_turns needs: take by_turns"):
        compared(folder, ["alike"], costs={"by_turns": True})


# ---- requests that failed are no fast requests


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


def test_two_lower_bounds_have_no_difference(comparing: Callable[..., CompareResult]) -> None:
    row = difference(comparing({"base": failing(14), "alike": failing(14)}), "alike", "p95")
    assert (row.difference, row.low, row.high, row.bound) == (None, None, None, None)
    assert row.conclusion is Verdict.MAY_BE_WORSE
    assert row.numbers == "– [?, ?]"


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


def test_costs_that_are_all_known_are_no_finding(comparing: Callable[..., CompareResult]) -> None:
    found = comparing({})
    assert not of_code(found, "missing_cost") and not of_code(found, "failed_time")
    assert {(row.queries, row.asked, row.missing) for row in costs_of(found).values} == {(COUNT, COUNT, 0)}


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
