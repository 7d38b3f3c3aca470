"""One answer, many renderings: wherever an outcome is read, it says the same decision, numbers and doubts."""

import dataclasses
import re
from html import unescape

import numpy as np
import pyarrow as pa
import pytest

from ndcg_ab.report.answer import Candidate, format_reasons, make_answer, metric_to_judge
from ndcg_ab.report.markdown import comparison_table, format_comment, format_note
from ndcg_ab.report.page.data import PageData
from ndcg_ab.report.page.render import format_outcome_html, render_page
from ndcg_ab.report.terminal.grid import format_printed
from ndcg_ab.report.terminal.screen import print_answer_and_gates, short_number
from ndcg_ab.report.words import comparison_mark, deciding_interval, open_labels_mark
from ndcg_ab.results.numbers import format_range, signed
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_core.statistics.verdicts.record import Unjudged
from ndcg_core.statistics.verdicts.verdict import State, Verdict
from tests.examples import examples
from tests.ndcg_ab.report.terminal.test_screen import TURNED, few, outcome, printed, random_comparison

__all__ = ["outcome"]  # the fixture

OUTCOMES = examples(12)
STANDS, UNKNOWN = Unjudged(9, State.BETTER, 1.2), Unjudged(0, State.UNKNOWN, 1.2)


def by_chance(outcome: Outcome, rng: np.random.Generator) -> Outcome:
    """Three candidates on two metrics with comparisons by chance; in every third outcome ranks of one are in doubt."""
    some = few(outcome, 4)
    names = [metric.name for metric in some.metrics[:2]]
    rows = []
    for row in some.main:
        if row.metric in names:
            made = random_comparison(outcome, rng)
            kept = {"candidate": row.candidate, "metric": row.metric, "baseline": row.baseline}
            rows.append(dataclasses.replace(made, **kept, family="primary" if row.metric == names[0] else made.family))
    finding = Finding("rank_disagrees", "warning", "ranks disagree", 3, some.main[0].candidate, names[0], 0.1)
    return dataclasses.replace(
        some,
        metrics=some.metrics[:2],
        comparisons=tuple(rows),
        systems=tuple(row for row in some.systems if row.metric in names),
        findings=(finding,) if rng.integers(3) == 0 else (),
    )


def without_tables(outcome: Outcome) -> PageData:
    none = {name: pa.array([], pa.string()) for name in ("query_id", "text", "system_id", "metric")}
    about = {"name": "shop", "ordinal": None, "began": None, "finished": "2026-11-19T02:01:10+00:00", "inputs": []}
    scores = pa.table(none | {"value": pa.array([], pa.float64())})
    shown = pa.table(none | {name: pa.array([], pa.string()) for name in ("rank", "doc_id", "grade")})
    return PageData(outcome, about, pa.table(none), scores, shown)


def plain(text: str) -> str:
    """Return the words and numbers of a text without its markup."""
    inside = text.partition("<main>")[2].partition('<section id="queries"')[0] or text
    words = unescape(re.sub(r"<[^>]+>", " ", inside)).replace("\N{NO-BREAK SPACE}", " ")
    return " ".join(re.sub(r"\\([!-/:-@[-`{-~])", r"\1", words).replace("**", "").split())


def renderings(outcome: Outcome) -> dict[str, str]:
    table = comparison_table(outcome)
    return {
        "terminal": "\n".join(printed(outcome, 400, details=True)),
        "notebook, text": format_printed(print_answer_and_gates, outcome),
        "notebook, HTML": format_outcome_html(outcome),
        "comment": format_comment(outcome),
        "note": format_note(outcome),
        "table of a tracker": "\n".join("  ".join(map(str, row)) for row in table["data"]),
        "message of a state": format_reasons(outcome),
        "page": render_page(without_tables(outcome)),
    }


WITH_NUMBERS = {"terminal", "notebook, HTML", "comment", "note", "table of a tracker", "page"}
WITH_REASONS = {"terminal", "comment", "note", "message of a state", "page"}


@pytest.mark.first_case
@pytest.mark.parametrize("seed", range(OUTCOMES))
def test_every_rendering_says_the_same(outcome: Outcome, seed: int) -> None:
    made = by_chance(outcome, np.random.default_rng(seed))
    answer = make_answer(made)
    assert len(answer.candidates) == 3
    for name, text in renderings(made).items():
        told = plain(text)
        places = []
        for found in answer.candidates:
            places.append(place_of_decision(told, found))
            assert found.choice.words in told, name
            if name in WITH_REASONS:
                assert " ".join(found.reason.split()) in told, name
            first, interval = found.rows[0], deciding_interval(found.rows[0])
            assert interval is not None
            if name in WITH_NUMBERS:
                assert f"{signed(first.difference)}" in told and format_range(*interval) in told, name
            if name.startswith("notebook, text") or name == "terminal":
                ends = f"[{short_number(interval.low)}, {short_number(interval.high)}]"
                told_first = (
                    f"{comparison_mark(first)} {short_number(first.difference)} {ends}{open_labels_mark(first)}"
                )
                assert told_first in told, name
        assert places == sorted(places), f"{name}: the best decision first"
        if name in WITH_REASONS - {"message of a state"}:
            assert all(" ".join(doubt.text.split()) in told for doubt in answer.doubts), name


def place_of_decision(told: str, found: Candidate) -> int:
    """Where the first decision in the words of this candidate is."""
    names = rf"(?<![\w-]){re.escape(found.name)}(?![\w-])|{re.escape(found.name[:8])}\S*…"
    match = re.search(names, told)
    return match.start() if match else -1


@pytest.mark.parametrize(
    ("unjudged", "family", "is_judged"),
    [
        (TURNED, "guardrails", True),
        (TURNED, "secondary", False),  # which decides nothing
        (UNKNOWN, "primary", False),  # whose effect judge-next does not know either
        (STANDS, "guardrails", False),
    ],
)
def test_judge_next_is_about_a_metric_that_unjudged_results_turn(
    outcome: Outcome, unjudged: Unjudged, family: str, is_judged: bool
) -> None:
    one = dataclasses.replace(outcome.main[0], conclusion=Verdict.IMPROVED, size=None, family="primary")
    two = dataclasses.replace(one, metric=outcome.metrics[1].name, unjudged=unjudged, family=family)
    found = dataclasses.replace(outcome, comparisons=(dataclasses.replace(one, unjudged=STANDS), two))
    assert metric_to_judge(found) == [two.metric] * is_judged
    condensed = dataclasses.replace(outcome.metrics[0], unjudged="condense")
    for metrics, name in (((condensed, outcome.metrics[1]), two.metric), ((condensed,), "ndcg@10")):
        assert metric_to_judge(dataclasses.replace(found, metrics=metrics)) == [name], "judge-next refuses the first"
    both = dataclasses.replace(outcome, comparisons=(dataclasses.replace(one, unjudged=TURNED), two))
    assert metric_to_judge(both) == [], "the first metric is what is judged for anyway"
