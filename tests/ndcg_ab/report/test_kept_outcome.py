"""What reports say of an outcome that was kept: pure functions of a record, without an evaluation."""

import dataclasses
from collections import Counter

import pytest

from ndcg_ab.history.bundle import Bundle, read_bundle
from ndcg_ab.report.markdown import format_comment
from ndcg_ab.report.words import comparison_mark, open_labels_mark
from ndcg_ab.results.outcome import Finding, GateResult
from ndcg_ab.trackers.json_lines import bundle_records
from ndcg_core.statistics.verdicts.record import Unjudged
from ndcg_core.statistics.verdicts.state import State
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.small_evaluation import nights


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A kept evaluation, with a gate and a finding."""
    kept = read_bundle(nights(tmp_path_factory.mktemp("kept"), 1)[0])
    gates, findings = (GateResult("judged", True, "at least 50 %"),), (Finding("few_queries", "note", "few", 20),)
    return dataclasses.replace(kept, outcome=dataclasses.replace(kept.outcome, gates=gates, findings=findings))


def test_a_line_of_json_for_every_record(bundle: Bundle) -> None:
    found = Counter(line["record"] for line in bundle_records(bundle))
    outcome = bundle.outcome
    parts = {
        "system": outcome.systems,
        "comparison": outcome.comparisons,
        "decision": outcome.decisions,
        "gate": outcome.gates,
        "finding": outcome.findings,
    }
    assert all(parts.values()), "the bundle holds some of each"
    assert found == {"evaluation": 1, **{kind: len(rows) for kind, rows in parts.items()}}


def test_what_questions_the_answer_is_above_it_in_a_comment(bundle: Bundle) -> None:
    grave = Finding("rank_disagrees", "warning", "system new: its ranks disagree", 9, "new", "ndcg@10", 0.1)
    text = format_comment(dataclasses.replace(bundle.outcome, findings=(grave,)))
    assert text.index("> **system new: its ranks disagree**") < text.index("| candidate |")
    assert "> **" not in format_comment(dataclasses.replace(bundle.outcome, findings=()))


def test_a_guardrail_that_labels_could_turn_is_open(bundle: Bundle) -> None:
    row = dataclasses.replace(bundle.outcome.comparisons[0], conclusion=Verdict.NOT_WORSE)
    states = (State.HOLDS, State.UNKNOWN)
    rows = [dataclasses.replace(row, unjudged=Unjudged(3, state, 1.2)) for state in states]
    assert [comparison_mark(each) for each in rows] == ["✓", "?"]
    assert [open_labels_mark(each) for each in rows] == ["", " L"]
    unknown = dataclasses.replace(row, unjudged=None)
    assert (comparison_mark(unknown), open_labels_mark(unknown)) == ("?", " L")
