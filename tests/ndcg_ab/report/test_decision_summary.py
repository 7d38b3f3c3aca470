"""Decisions in a line: names of runs, messages of states; doubts, at the decisions that they concern, not at others."""

import dataclasses
import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.config.model.settings import Gate
from ndcg_ab.report.answer import choices_by_candidate, format_decisions, format_headline, format_reasons, make_answer
from ndcg_ab.report.doubts import SHORT, finding_lines
from ndcg_ab.report.explanations import explain_outcome
from ndcg_ab.report.markdown import comparison_table, format_comment, format_note
from ndcg_ab.report.page import render
from ndcg_ab.results.decisions import FAILURES, Choice
from ndcg_ab.results.outcome import Finding, GateResult, Outcome
from tests.laboratory import Ranking, in_order, outcome_of
from tests.ndcg_ab.report.terminal.test_screen import printed
from tests.ndcg_ab.report.test_answer import plain, without_tables

WORDS = [f"q{number}" for number in range(12)]
JUDGMENTS = {query: {"good": 1, "bad": 0} for query in WORDS}
RANKINGS = {"good": in_order("good", "bad"), "bad": in_order("bad", "good")}
FAILED = (GateResult("unanswered", False, "old: 20 queries", ("old",)),)
UNSCORED = (GateResult("no regression", False, "new against old, rr: not testable (n = 0)", ("new",)),)


@functools.cache
def outcome(baseline: str, gates: tuple[GateResult, ...] = (), **candidates: str) -> Outcome:
    """Systems that answer every query with the good document first, or with the bad one; each is evaluated once."""
    systems = {"old": baseline, **candidates}
    rankings = {name: dict.fromkeys(WORDS, RANKINGS[kind]) for name, kind in systems.items()}
    return dataclasses.replace(outcome_of(JUDGMENTS, rankings, ["ndcg@2"]), gates=gates)


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ({}, "nothing is compared"),
        ({"a": Choice.SHIP}, "ship a"),
        ({"a": Choice.JUDGE_MORE}, "judge more queries: a"),
        ({"a": Choice.NOTHING_CHANGED, "b": Choice.SHIP_IF_CHEAP}, "ship if cheap: b; nothing changed: a"),
        ({"a": Choice.SHIP, "b": Choice.DO_NOT_SHIP}, "ship a; do not ship b"),
        (dict.fromkeys("abcde", Choice.DO_NOT_SHIP), "do not ship a, b and 3 more"),
    ],
)
def test_the_best_comes_first(decisions: dict[str, Choice], text: str) -> None:
    assert format_decisions(decisions) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda: outcome("good", new="bad"), "✗ do not ship new -0.3691 ndcg@2 (12)"),
        (lambda: outcome("bad", new="good"), "✓ new +0.3691 ndcg@2: ship if cheap (12)"),
        (lambda: outcome("good", new="good"), "= new +0.0000 ndcg@2: nothing changed (12)"),
        (
            lambda: outcome("good", new="bad", same="good"),
            "= same +0.0000 ndcg@2: nothing changed; do not ship new (12)",
        ),
        (lambda: outcome("good"), "nothing is compared (12)"),
        (
            lambda: outcome("bad", FAILED, new="good"),
            "✗ old leaves too many queries unanswered (gate failed); do not ship new +0.3691 ndcg@2 (12)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_s_name_says_what_to_do(made: Callable[[], Outcome], name: str) -> None:
    assert f"{format_headline(made())} (12)" == name


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ([("no regression", ["new"])], "new regressed"),
        ([("no regression", ["new", "newer", "new"])], "new and 1 more regressed"),
        ([("no drop", ["old"]), ("judged", ["new"])], "old dropped, 1 more"),
        ([("unanswered", [])], "unanswered"),  # which names no system
    ],
)
def test_a_failed_gate_says_first_what_happened(gates: list[tuple[str, list[str]]], why: str) -> None:
    failed = tuple(GateResult(name, False, "why", tuple(systems)) for name, systems in gates)
    found = dataclasses.replace(outcome("good"), gates=failed)
    assert format_headline(found) == f"✗ {why} (gate failed); nothing is compared"
    assert format_headline(outcome("good", UNSCORED, new="good")).startswith("✗ no regression (gate failed); new +")


def test_every_gate_has_words_for_its_failure() -> None:
    """Those that evaluations can have: of each key of `gate:` its name here."""
    assert {name.replace(" ", "_") for name in FAILURES} == {*Gate.model_fields} - {"proof"}


def test_reasons_are_told_with_the_decisions() -> None:
    assert format_reasons(outcome("good", new="bad")) == "✗ do not ship new (ndcg@2 regressed (-0.3691))"
    assert format_reasons(outcome("good")) == "nothing is compared"


def test_the_table_begins_with_the_decision_and_is_rounded() -> None:
    table = comparison_table(outcome("good", new="bad"))
    assert table["columns"][:4] == ["decision", "candidate", "metric", "verdict"]
    (row,) = table["data"]
    assert row[:5] == ["✗ do not ship", "new", "ndcg@2", "▼ regressed; zero variance; small sample", "-0.3691"]


def test_notes_begin_with_the_decision_and_failed_gates_stand_before_tables() -> None:
    found = outcome("bad", FAILED, new="good")
    for text in (format_note(found), format_comment(found)):
        first, *rest = text.replace("\N{NO-BREAK SPACE}", " ").splitlines()
        assert first == "### ✗ do not ship: new"
        places = [
            rest.index("| ✗ | new | **do not ship** | gate unanswered failed: old: 20 queries |"),
            rest.index("- gate unanswered failed: old: 20 queries"),
            rest.index("| system, 12 queries | ndcg@2 |"),
            rest.index("| old | 0.6309 |"),
        ]
        assert places == sorted(places)
        assert any(line.startswith("| new | 1.0000 ▲ +0.3691 [") for line in rest)
    assert format_note(outcome("good")).startswith("### Nothing is compared")


# ---- doubts about some systems: nothing is struck out


QUERIES = [f"q{number:02d}" for number in range(12)]
GRADED = {query: {"a": 2, "b": 1, "x": 0} for query in QUERIES}
DOUBT = "in doubt, since its ranks disagree with the scores: "


@functools.cache
def undoubted(count: int) -> Outcome:
    """The baseline c00 and worse candidates."""
    names = [f"c{index:02d}" for index in range(count)]
    rankings: dict[str, Ranking] = {
        name: {query: in_order(*("ab" if index == 0 else "xa")) for query in QUERIES}
        for index, name in enumerate(names)
    }
    return outcome_of(GRADED, rankings, ["ndcg@2"])


def evaluated(count: int, doubts: list[str]) -> Outcome:
    """Compare systems, some of whose ranks disagree with their scores."""
    found = undoubted(count)
    findings = [
        Finding("rank_disagrees", "warning", f"system {name}: its rank column disagrees", 3, name, metric, value)
        for name in doubts
        for metric, value in (("ndcg@2", 0.1), ("rr@2", 0.05))
    ]
    return dataclasses.replace(found, findings=(*found.findings, *findings))


def doubts_of(outcome: Outcome) -> dict[str, str]:
    return {each.name: each.doubt for each in make_answer(outcome).candidates if each.doubt}


def test_every_report_counts_one_warning_for_each_cause() -> None:
    """By hand: two causes, of which one has two lines, and a note."""
    codes = ("few_judged", "judged_differs", "looks_clustered", "fractional_grades")
    findings = tuple(Finding(code, "note" if code == codes[-1] else "warning", f"{code} it is", 3) for code in codes)
    outcome = dataclasses.replace(undoubted(2), findings=findings)
    texts = [line.texts for line in make_answer(outcome).findings]
    assert texts[:3] == [
        ["few_judged it is", "judged_differs it is"],
        ["looks_clustered it is"],
        [f"{codes[-1]} it is"],
    ]
    screen = printed(outcome, 200, details=True)
    assert [line[:5] for line in screen if " it is" in line] == ["! few", "! loo", "  als", "i fra"]
    comment = format_comment(outcome)
    assert f"({len(texts)})" in comment and comment.count("- warning: ") == 2
    assert render.template_functions(outcome)["severities"].startswith("2 warnings, ")


def test_of_the_baseline_it_concerns_every_candidate() -> None:
    outcome = evaluated(4, ["c00", "c02"])
    assert doubts_of(outcome) == {
        "c01": "the baseline's ranks disagree with the scores",
        "c02": "the baseline's ranks disagree with the scores and its ranks disagree with the scores",
        "c03": "the baseline's ranks disagree with the scores",
    }


def test_a_doubt_is_above_the_decisions_in_a_comment() -> None:
    text = format_comment(evaluated(4, ["c02"]))
    assert text.index("> **system c02: its rank column disagrees**") < text.index("| candidate |")
    assert "> **" not in format_comment(undoubted(4))


def test_the_plain_words_of_others_are_silent_about_it() -> None:
    pages = {name: str(words) for name, words in explain_outcome(evaluated(4, ["c02"])).items()}
    assert [name for name, text in pages.items() if "its rank column disagrees" in text] == ["c02"]


@pytest.mark.parametrize(
    ("metric", "judged", "reasons"),
    [
        ("ndcg@2", 0.05, {"c01": "hardly any of its results is judged"}),
        ("ndcg@2", 0.1, {}),
        ("ndcg@2", None, {}),
        ("rr@2", 0.05, {}),  # decides nothing
    ],
)
def test_hardly_judged_is_doubted_where_it_decides(metric: str, judged: float | None, reasons: dict[str, str]) -> None:
    found = undoubted(2)
    last = dataclasses.replace(found.systems[-1], metric=metric, judged=judged)
    assert doubts_of(dataclasses.replace(found, systems=(*found.systems[:-1], last))) == reasons


def test_many_systems_share_a_sentence() -> None:
    (banner,) = make_answer(evaluated(20, [f"c{index:02d}" for index in range(1, 9)])).doubts
    assert banner.text == (
        "8 of 20 systems give ranks that disagree with their scores, which decide, in queries:"
        " c01 3, c02 3, c03 3, c04 3, c05 3, c06 3 and 2 more"
    )


@pytest.mark.parametrize("count", [4, 20])
def test_it_is_written_where_the_decision_is(count: int) -> None:
    outcome = evaluated(count, ["c02"])
    assert (
        choices_by_candidate(outcome)["c02 (in doubt)"] == "do_not_ship"
        and choices_by_candidate(outcome)["c01"] == "do_not_ship"
    )
    screen = " ".join(" ".join(printed(outcome, 200)).split())
    written = (screen, format_comment(outcome), format_note(outcome), format_decisions(choices_by_candidate(outcome)))
    for text in written[:3]:
        assert text.count("in doubt") >= 1 and "do not ship" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert ("c02 (in doubt)" in screen) is (count == 20)
    assert ("c02 (in doubt)" in plain(render.render_page(without_tables(outcome)))) is (count == 20)
    assert (f" {DOUBT}" in screen) is (count == 4)
    assert re.search(r"c02 *\| \*\*do.not.ship\*\* *\| in doubt, since its ranks", written[1])
    assert "c02 (in doubt)" in written[1].splitlines()[0]
    for text in written:
        assert not re.search(r"~~|<s>|<del|<strike|\x1b\[9m", text)


def test_nothing_that_is_shown_strikes_anything_out() -> None:
    places = [*Path(render.__file__).parent.rglob("*"), *Path(render.__file__).parents[1].rglob("*.py")]
    texts = {
        path: path.read_text(encoding="utf-8") for path in places if path.suffix in (".py", ".css", ".html", ".js")
    }
    assert len(texts) > 20
    assert not [path for path, text in texts.items() if re.search(r"line-through|<s>|<del>|strike", text)]


# ---- one sentence for several systems

COUNTED = ("unjudged_query", "unanswered_query", "repeated_rank", "duplicate_document")


def test_every_code_whose_counts_are_merged_is_here() -> None:
    assert {*SHORT} == {*COUNTED, "few_judged", "tied_places", "rank_disagrees"}  # the last is a doubt


def test_repeated_ranks_are_counted_in_queries(tmp_path: Path) -> None:
    """With scores and without: a sentence over both systems has one unit."""
    rows = [(query, document) for query in GRADED for document in "abc"]
    scored = "".join(f"{query} Q0 {document} 1 {9 - ord(document) % 9} t\n" for query, document in rows)
    (tmp_path / "scored.run").write_text(scored)
    ranked = "".join(f"{query},{document},1\n" for query, document in rows)
    (tmp_path / "ranked.csv").write_text(f"query_id,doc_id,rank\n{ranked}")
    found = ndcg_ab.compare(GRADED, {name: tmp_path / name for name in ("scored.run", "ranked.csv")})._outcome
    assert [each.count for each in found.findings if each.code == "repeated_rank"] == [12, 12]
    assert "each of 2 systems repeats ranks in 12 queries" in [line.text for line in finding_lines(found)]
