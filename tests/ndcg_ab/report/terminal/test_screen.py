"""The answer in terminals of every width: what to do comes first, no line is too long, and there are few."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import ndcg_ab
from ndcg_ab.finding_codes import CODES
from ndcg_ab.report.answer import make_answer
from ndcg_ab.report.doubts import Line, comparison_notes, find_hardly_judged, finding_lines
from ndcg_ab.report.terminal.screen import MOST_WARNINGS, print_outcome, short_number, split_warnings
from ndcg_ab.report.words import comparison_mark, deciding_interval
from ndcg_ab.results.decisions import can_be_reversed
from ndcg_ab.results.outcome import Finding, GateResult, Outcome
from ndcg_core.statistics.verdicts.record import Comparison, Unjudged
from ndcg_core.statistics.verdicts.verdict import State, Verdict, state_of
from tests.ceilings import CEILINGS
from tests.examples import examples
from tests.laboratory import Ranking, in_order, outcome_of
from tests.printing import print_to_text

QUERIES = [f"q{number:02d}" for number in range(40)]
JUDGMENTS = {query: {"a": 2, "b": 1, "z": 0} for query in QUERIES}
METRICS = ["ndcg@3", "rr@3", "precision@2", "recall@2"]


TURNED = Unjudged(9, State.UNKNOWN, 1.2, 1.1)


def ranking(place: int) -> Ranking:
    rng = np.random.default_rng(place)
    return {query: in_order(*rng.permutation([*"abx"])) for query in QUERIES}


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    """Twenty systems on four metrics."""
    names = [f"system-{index:02d}-with-a-long-name-of-build-{index * 731}" for index in range(20)]
    return outcome_of(JUDGMENTS, {name: ranking(index) for index, name in enumerate(names)}, METRICS)


@pytest.mark.slow
@pytest.mark.parametrize(("errors", "above"), [(0, 0), (2, 2), (4, 4), (5, 4), (9, 4)])
def test_a_line_is_left_for_warnings_below_the_answer(outcome: Outcome, errors: int, above: int) -> None:
    warned = [Line("error" if at < errors else "warning", str(at)) for at in range(10)]
    found = split_warnings(dataclasses.replace(make_answer(few(outcome, 2)), warnings=tuple(warned)))
    assert [*map(len, found)] == [above, 10 - above] and above < MOST_WARNINGS
    assert [*found[0], *found[1]] == warned


def few(outcome: Outcome, count: int) -> Outcome:
    """The outcome of the first systems."""
    names = list(dict.fromkeys(row.system_id for row in outcome.systems))[:count]
    return dataclasses.replace(
        outcome,
        systems=tuple(row for row in outcome.systems if row.system_id in names),
        comparisons=tuple(row for row in outcome.comparisons if row.candidate in names),
        findings=tuple(row for row in outcome.findings if row.system in (None, *names)),
    )


def printed(outcome: Outcome, width: int, **options: Any) -> list[str]:
    return print_to_text(print_outcome, outcome, width=width, **options).splitlines()


BUDGET = {tuple(map(int, size.split("x"))): lines for size, lines in CEILINGS["screen"].items()}


@pytest.mark.first_case
@pytest.mark.parametrize("size", BUDGET, ids=str)
@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_the_screen_keeps_its_budget(outcome: Outcome, width: int, size: tuple[int, ...]) -> None:
    asked = with_much_to_say(of_metrics(few(outcome, size[0]), size[1]))
    lines = printed(asked, width)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= BUDGET[size] + (width < 100)
    decisions, rows = parts_of_screen(lines)
    shown = make_answer(asked).candidates
    for found in shown:
        assert any(line[2:].startswith(found.choice.words) for line in decisions)
    assert len(rows) == len(shown)
    for line, found in zip(rows, shown, strict=True):
        assert found.name[:4] in line and found.choice.mark == line[0]
        (row,) = (row for row in asked.main if (row.candidate, row.metric) == (found.name, asked.metrics[0].name))
        interval = deciding_interval(row)
        assert interval is not None
        assert f"{comparison_mark(row)} {short_number(row.difference)} [{short_number(interval.low)}, " in line
    assert all(metric.name in " ".join(lines) for metric in asked.metrics), "what has no room is named"
    count = sum(max(line.count(" ["), 0) for line in rows) // len(rows)
    assert count == min(size[1], {60: 1, 80: 1, 100: 2, 120: 2, 200: 4}[width])


def parts_of_screen(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines of decisions and the rows of candidates."""
    head = next(at for at, line in enumerate(lines) if re.match("40 (drawn )?queries  ", line))
    rows = [line for line in lines[head + 1 :] if line[0] in "✓✗?=" and line[1:6] != " gate"]
    return [line for line in lines[:head] if line[0] in "✓✗?="], rows


def of_metrics(outcome: Outcome, count: int) -> Outcome:
    names = [metric.name for metric in outcome.metrics][:count]
    return dataclasses.replace(
        outcome,
        metrics=outcome.metrics[:count],
        systems=tuple(row for row in outcome.systems if row.metric in names),
        comparisons=tuple(row for row in outcome.comparisons if row.metric in names),
    )


def with_much_to_say(outcome: Outcome) -> Outcome:
    """Every finding there is, of every system, notes, and labels that could turn everything."""
    names = {row.system_id for row in outcome.systems}
    findings = [
        Finding(code, "warning", f"{name}: {code} " * 9, 9, name, "rr@3", 0.5) for code in CODES for name in names
    ]
    rows = [dataclasses.replace(row, notes=("skewed " * 30,), unjudged=TURNED) for row in outcome.comparisons]
    gates = (GateResult("unanswered", True, "fine"),)
    return dataclasses.replace(outcome, findings=tuple(findings), comparisons=tuple(rows), gates=gates)


def test_a_warning_has_one_line_for_each_cause_and_a_command(outcome: Outcome) -> None:
    findings = [Finding("different_depths", "warning", f"system {name} is short", 9, name) for name in "abc"]
    findings += [Finding("few_judged", "warning", "…", 9, "a", "ndcg@10", 0.7)]
    lines = printed(dataclasses.replace(few(outcome, 2), findings=tuple(findings)), 100)
    told = [line for line in lines if line.startswith("! ")]
    assert told == [
        "! judged@10: a 70 % → ndcg-ab judge-next",
        "! system a is short (likewise b, c) → ndcg-ab findings different_depths",
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_what_stands_after_an_arrow_is_never_cut(outcome: Outcome, width: int) -> None:
    """Commands of findings, those that a message hands over, and one that is too long for a line."""
    remedies = ["--cluster-prefix _", "ndcg-ab check judgments.qrels", f"sed {'s/a/b/' * 40}"]
    messages = [f"a sentence about {at} that goes on and on for a while → {told}" for at, told in enumerate(remedies)]
    findings = [Finding(code, "warning", told, 9) for code, told in zip(list(CODES)[1:], messages, strict=False)]
    findings += [Finding(code, "warning", "a long sentence " * 9, 9) for code in ("few_judged", "different_depths")]
    asked = dataclasses.replace(few(outcome, 5), findings=tuple(findings))
    known = {"--details", *remedies[:2], "ndcg-ab judge-next", "ndcg-ab findings different_depths"}
    text = "\n".join(printed(asked, width))
    shown = {" ".join(found.split()) for found in re.findall(r"→([^→]*?)(?=\n\S|\n  L:|$)", text)}
    assert shown and shown <= known, shown - known
    assert width < 80 or ("→ --details" in text and "→ --cluster-prefix _" in text)


def test_labels_that_could_turn_it_are_marked_and_explained(outcome: Outcome) -> None:
    asked = few(outcome, 2)
    rows = tuple(dataclasses.replace(row, conclusion=Verdict.IMPROVED, unjudged=TURNED) for row in asked.comparisons)
    lines = printed(dataclasses.replace(asked, comparisons=rows), 100)
    assert parts_of_screen(lines)[1][0].count(" L") == 3, "a fourth metric has no room"
    assert "  L: unjudged results could turn it → ndcg-ab judge-next" in lines
    assert not any(" L" in line for line in printed(asked, 100))


def random_comparison(outcome: Outcome, rng: np.random.Generator) -> Comparison:
    """Any numbers with any verdict that they can have."""
    low, middle, high = sorted(rng.normal(0, 0.1, 3))
    wider = sorted((low - abs(rng.normal(0, 0.02)), high + abs(rng.normal(0, 0.02))))
    verdicts = [Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.IMPROVED if middle > 0 else Verdict.REGRESSED]
    guardrails = [Verdict.NOT_WORSE, Verdict.MAY_BE_WORSE]
    conclusion = [*verdicts, *guardrails][rng.integers(5)]
    is_guardrail = conclusion in guardrails
    bound = float(rng.uniform(low - 0.05, middle))
    bound = min(bound, -0.002)
    margin = {Verdict.NOT_WORSE: -bound + 0.001, Verdict.MAY_BE_WORSE: -bound - 0.001}.get(conclusion, 0.02)
    return dataclasses.replace(
        outcome.main[0],
        difference=float(middle),
        low=float(low),
        high=float(high),
        simultaneous_low=None if is_guardrail or rng.random() < 0.3 else float(wider[0]),
        simultaneous_high=None if is_guardrail or rng.random() < 0.3 else float(wider[1]),
        lower_bound=bound if is_guardrail else None,
        smallest_effect=float(margin),
        conclusion=conclusion,
        unjudged=[None, Unjudged(0, state_of(conclusion, None), 1.2), TURNED][rng.integers(3)],
        size=None,
    )


def test_no_interval_contradicts_its_verdict(outcome: Outcome) -> None:
    """Comparisons by chance: 0 is outside exactly where a difference is shown; a bound decides a guardrail."""
    rng = np.random.default_rng(1)
    for _ in range(examples(10_000)):
        row = random_comparison(outcome, rng)
        interval = deciding_interval(row)
        assert interval is not None and row.difference is not None and row.smallest_effect is not None
        assert interval.low <= row.difference <= interval.high
        if row.conclusion.is_guardrail:
            assert (interval.low > -row.smallest_effect) == row.conclusion.holds_margin
        else:
            ends = {0: interval.low <= 0 <= interval.high, 1: interval.low >= 0, -1: interval.high <= 0}
            assert ends[row.conclusion.direction]
        if row.conclusion.holds_margin and can_be_reversed(row):
            assert comparison_mark(row) == "?", "no tick beside labels that are open"


def test_details_say_the_answer_once_and_everything_else_below(outcome: Outcome) -> None:
    asked = few(outcome, 2)
    short, long = printed(asked, 120), printed(asked, 120, details=True)
    assert long[0].startswith(short[0][:40]) and "\n".join(long).count(short[0][:40]) == 1
    assert "every number: --details" not in "\n".join(long)
    assert any("wins/ties/losses" in line for line in long)
    assert short[-1].endswith("every number: --details · terms: ndcg-ab help terms")
    for metric in METRICS:
        assert any(line.startswith(f"{metric}  definition ") for line in long)


def test_a_failed_gate_is_the_first_thing_read(outcome: Outcome) -> None:
    (candidate,) = few(outcome, 2).candidates
    failed = dataclasses.replace(
        few(outcome, 2), gates=(GateResult("unanswered", False, "3 left", (candidate,), ("3 left",)),)
    )
    lines = printed(failed, 100)
    first = " ".join(map(str.strip, parts_of_screen(lines)[0] + lines[1:2]))
    assert first.startswith("✗ do not ship  ") and "gate unanswered failed: 3 left" in first


def test_slices_to_look_at_name_the_metric_where_there_are_several(outcome: Outcome) -> None:
    rows = [
        dataclasses.replace(
            outcome.main[0],
            family="slices by language",
            attribute="language",
            slice="de",
            metric=metric,
            difference=0.1,
        )
        for metric in ("ndcg@10", "rr")
    ]
    shown = [dataclasses.replace(row, conclusion=Verdict.IMPROVED, size=None) for row in rows]
    one, two = (comparison_notes(dataclasses.replace(outcome, comparisons=tuple(each))) for each in (shown[:1], shown))
    name = rows[0].candidate
    assert f"slices, where to look: language de: {name} improved (+0.1000)" in one
    each = [f"language de: {name} on {metric} improved (+0.1000)" for metric in ("ndcg@10", "rr")]
    assert f"slices, where to look: {'; '.join(each)}" in two


FINDINGS = {
    "alone, it is told in full as it was": (
        [Finding("slices_disagree", "warning", "the sentence", 3)],
        ["! the sentence"],
    ),
    "the same of all": (
        [Finding("unjudged_query", "note", "…", 81, name) for name in ("a", "b", "c")],
        ["i each of 3 systems answers 81 unjudged queries"],
    ),
    "different, the most first": (
        [Finding("unanswered_query", "warning", "…", count, name) for name, count in (("a", 1), ("c", 12))],
        ["! 2 of 3 systems return nothing for judged queries: c 12, a 1"],
    ),
    "of all, and not the same": (
        [Finding("unjudged_query", "note", "…", count, name) for name, count in (("a", 1), ("b", 2), ("c", 1))],
        ["i 3 of 3 systems answer unjudged queries: b 2, a 1, c 1"],
    ),
    "the same of some": (
        [Finding("repeated_rank", "note", "…", 2, name) for name in ("a", "b")],
        ["i 2 of 3 systems repeat ranks in queries: a 2, b 2"],
    ),
    "one of each": (
        [Finding("duplicate_document", "note", "…", 1, name) for name in ("a", "b", "c")],
        ["i each of 3 systems holds 1 document more than once"],
    ),
    "of one system": (
        [Finding("unanswered_query", "warning", "system b returned nothing for 4", 4, "b")],
        ["! system b returned nothing for 4"],
    ),
    "few judged, the same at two cutoffs": (
        [
            *(Finding("few_judged", "warning", "…", 9, "a", metric, 0.7) for metric in ("ndcg@10", "ndcg@100", "ndcg")),
            *(Finding("few_judged", "warning", "…", 9, "b", metric, 0.4) for metric in ("ndcg@100", "ndcg")),
        ],
        ["! judged@10: a 70 %", "! judged@100, judged: b 40 %, a 70 %"],
    ),
    "few judged, the fewest first, for each cutoff": (
        [
            Finding("few_judged", "warning", "…", 9, "a", "ndcg@10", 0.77),
            Finding("few_judged", "warning", "…", 9, "b", "rr@10", 0.7),
            Finding("few_judged", "warning", "…", 9, "a", "recall@100", 0.4),
        ],
        ["! judged@10: b 70 %, a 77 %", "! judged@100: a 40 %"],
    ),
    "ties that move nothing are not told": ([Finding("tied_places", "note", "…", 9, "a", None, 0.0)], []),
    "ties that move something": (
        [
            Finding("tied_places", "warning", "…", 9, "a", "rr@10", 0.0016),
            Finding("tied_places", "warning", "…", 9, "b", "rr@10", 0.0371),
        ],
        ["! the order of equal scores could move rr@10: b 0.0371, a 0.0016"],
    ),
    "what questions everything stands above": ([Finding("rank_disagrees", "warning", "…", 9, "a", "rr", 0.1)], []),
    "few judged of many": (
        [Finding("few_judged", "warning", "…", 9, f"s{index}", "rr", 0.9 - index / 10) for index in range(7)],
        ["! judged: 7 of 3 systems from 30 % (s6) up"],
    ),
    "many are counted": (
        [Finding("repeated_rank", "warning", "…", 20 - index, f"s{index}") for index in range(8)],
        ["! 8 of 3 systems repeat ranks in queries: s0 20, s1 19, s2 18, s3 17, s4 16, s5 15 and 2 more"],
    ),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_findings_are_grouped_over_systems(outcome: Outcome, name: str) -> None:
    findings, expected = FINDINGS[name]
    systems = tuple(dataclasses.replace(row, system_id=name) for row in outcome.systems[:1] for name in "abc")
    asked = dataclasses.replace(outcome, findings=tuple(findings), systems=systems)
    assert [f"{'!' if line.severity == 'warning' else 'i'} {line.text}" for line in finding_lines(asked)] == expected


def test_hardly_judged_stands_above_the_decision() -> None:
    """One of twelve results is judged: 8 %."""
    unknown = [f"x{number}" for number in range(11)]
    judgments = {query: {"a": 1} for query in QUERIES}
    rankings = {
        "old": {query: in_order("a", *unknown) for query in QUERIES},
        "new": {query: in_order(*unknown, "a") for query in QUERIES},
    }
    found = outcome_of(judgments, rankings, ["ndcg@12", "rr@1"])
    (banner,) = (doubt.text for doubt in make_answer(found).doubts)
    assert banner.startswith("hardly any result is judged (judged@1: new 0 %; judged@12: old 8 %, new 8 %): ")
    lines = printed(found, 200)
    assert lines[0] == f"! {banner} → ndcg-ab judge-next"
    assert lines[1].startswith("? judge more results  new: in doubt") and "20 queries" not in lines[1]
    assert printed(found, 200, details=True).count(lines[0]) == 1
    enough = dataclasses.replace(found, systems=tuple(dataclasses.replace(row, judged=0.1) for row in found.systems))
    assert list(find_hardly_judged(enough)) == []


def test_notes_of_comparisons_are_grouped(outcome: Outcome) -> None:
    asked = few(outcome, 3)
    rows = tuple(dataclasses.replace(row, notes=("small sample",)) for row in asked.comparisons)
    lines = printed(dataclasses.replace(asked, comparisons=rows), 200, details=True)
    text = " ".join(" ".join(lines).split())
    assert text.count("small sample: ") == 1
    assert "small sample: 8 of 8 comparisons" in text


def test_one_system_alone_is_no_comparison() -> None:
    lines = printed(outcome_of(JUDGMENTS, {"only": ranking(1)}, ["ndcg@3"]), 80)
    assert re.fullmatch(r"40 queries  ndcg@3", lines[0]) and re.fullmatch(r"  only      \.\d{3}", lines[1])
    assert lines[-1] == "give a second ranking to compare it with"


def test_what_the_gate_asks_stands_beside_its_metric(outcome: Outcome) -> None:
    """A metric that the gate tests decides something, whatever it is else; with its mark and its verdict."""
    asked = few(outcome, 2)
    row = next(row for row in asked.main if row.metric == "rr@3")
    secondary = dataclasses.replace(row, family="secondary", exploratory=True)
    margin = {"family": "gate", "conclusion": Verdict.MAY_BE_WORSE, "smallest_effect": 0.01, "underpowered": False}
    tested = dataclasses.replace(row, **margin)  # type: ignore[arg-type]
    text = "\n".join(printed(dataclasses.replace(asked, comparisons=(secondary, tested)), 160, details=True))
    assert re.search(r"rr@3  definition \w+, secondary, gate: not worse by 0.01\n", text)
    assert "rr@3: gate: ? worse by more than 0.01 not ruled out" in text
    alone = printed(dataclasses.replace(asked, comparisons=(secondary,)), 160, details=True)
    assert "secondary, decides nothing" in "\n".join(alone)


def test_the_gate_is_told_in_a_line(outcome: Outcome) -> None:
    passed = GateResult("judged", True, "fine")
    failed = GateResult("unanswered", False, "old: 3", ("old",), ("old: 3",))
    asked = few(outcome, 2)
    assert "✓ gate passed: judged" in printed(dataclasses.replace(asked, gates=(passed,)), 100)
    assert "✗ gate failed: unanswered" in printed(dataclasses.replace(asked, gates=(passed, failed)), 100)
    assert not any("gate" in line for line in printed(asked, 100))


def test_nothing_to_score_stands_above_everything() -> None:
    systems = {"old": {"q": {"a": 1.0}}, "new": {"q": {"b": 1.0}}}
    options = {"nothing_scored": "warning", "id_spelling": "warning"}
    found = ndcg_ab.compare({"q": {"a": 0}}, systems, metrics="ndcg@3", findings=options)
    lines = printed(found._outcome, 200)
    assert lines[0] == (
        "! no query can be scored: no judged document has a grade that gains anything; is the grade column right?"
    )


def test_weights_that_leave_hardly_a_query_are_a_warning(outcome: Outcome) -> None:
    asked = few(outcome, 2)
    marks = {}
    for effective in (1.2, 30.0):
        rows = tuple(dataclasses.replace(row, effective_queries=effective) for row in asked.comparisons)
        systems = tuple(dataclasses.replace(row, unweighted_mean=0.5) for row in asked.systems)
        lines = printed(dataclasses.replace(asked, comparisons=rows, systems=systems), 200, details=effective > 10)
        line = next(line for line in lines if "weighted by the queries' weights" in line)
        marks[effective] = line[0]
    assert marks == {1.2: "!", 30.0: "i"}


def test_reasons_take_two_lines_and_are_whole_with_details(outcome: Outcome) -> None:
    gates = (GateResult("unanswered", False, "a reason " * 20, (), ()),)
    five = dataclasses.replace(few(outcome, 5), gates=gates)
    lines = printed(five, 100)
    heads = [at for at, line in enumerate(lines) if line.startswith("✗ do not ship  ")]
    assert len(heads) == 4 and all(lines[at + 1].startswith("    ") for at in heads)
    assert not any(lines[at + 2].startswith("    ") for at in heads)
    whole = " ".join(" ".join(printed(five, 100, details=True)).split())
    assert whole.count("a reason") >= 4 * 20


def test_what_must_not_ship_stands_last(outcome: Outcome) -> None:
    """However small its loss; the others before it by the difference on the first metric."""
    asked = few(outcome, 5)
    best = max(asked.main[:4], key=lambda row: row.difference or 0.0).candidate
    failed = GateResult("unanswered", False, f"{best}: few", (best,), (f"{best}: few",))
    for some in (asked, outcome):
        marks = [line[0] for line in parts_of_screen(printed(dataclasses.replace(some, gates=(failed,)), 120))[1]]
        assert marks == [*["?"] * (len(some.decisions) - 1), "✗"]


def test_of_more_candidates_than_rows_the_others_are_counted(outcome: Outcome) -> None:
    (first, *_) = outcome.decisions
    many = [dataclasses.replace(first, candidate=f"{first.candidate}-{at}") for at in range(100)]
    rows = [dataclasses.replace(outcome.main[0], candidate=found.candidate) for found in many]
    baseline, one = (
        row
        for row in outcome.systems
        if row.system_id in (outcome.baseline, outcome.main[0].candidate) and row.metric == METRICS[0]
    )
    systems = [baseline, *(dataclasses.replace(one, system_id=found.candidate) for found in many)]
    lines = printed(dataclasses.replace(outcome, gates=(), comparisons=tuple(rows), systems=tuple(systems)), 100)
    assert len(lines) <= BUDGET[20, 4]
    assert "and 81 more systems: --details" in lines
