"""The tables in terminals of every width: no number breaks or vanishes, every verdict can be read."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.text import Text

from ndcg_ab.config.options.from_options import evaluation_from_options
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.report import words as wording
from ndcg_ab.report.terminal import tables
from ndcg_ab.report.terminal.grid import Grid, Row, shorten_middle, shorten_names, wrap_items
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.report.terminal.tables import print_findings, print_tables, verdict_cell
from ndcg_ab.results import numbers
from ndcg_ab.results.outcome import Finding, Outcome
from tests.inputs import write_judgments, write_rankings
from tests.paths import ROOT
from tests.printing import print_to_text
from tests.repeated import mostly_soaked

WIDTHS = (60, 80, 120, 200)
QUERIES = [f"q{number:02d}" for number in range(60)]
LONG = "a very long value of the attribute that goes on and on " * 6
NAMES = ("old", "new", "bm25-with-synonyms-and-a-reranker-of-2026-11-20-build-4711", "tail\\")
METRIC = "ndcg(gain=exponential, unanswered=exclude)@3"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Four systems, of which `tail` answers half; a guardrail, slices with a long value, weights, all pairs."""
    folder = tmp_path_factory.mktemp("tables")
    write_judgments(folder / "qrels", {query: {"a": 2, "b": 1} for query in QUERIES})
    rng = np.random.default_rng(3)
    for place in range(len(NAMES)):
        orders = rng.choice(["abx", "bax", "xab", "xyb"][place % 2 :], size=60)
        ranked = dict(zip(QUERIES, orders, strict=True))
        write_rankings(folder, {str(place): {q: docs for q, docs in ranked.items() if place < 3 or q < "q30"}})
    values = ["en"] * 30 + ["de"] * 20 + [LONG] * 10
    lines = [f"{query},{1 + index % 7},{values[index]}\n" for index, query in enumerate(QUERIES)]
    (folder / "queries.csv").write_text("query_id,weight,language\n" + "".join(lines))
    named = [f"{name}={folder}/{index}.run" for index, name in enumerate(NAMES)]
    options: dict[str, object] = {
        "judgments": str(folder / "qrels"),
        "system": named,
        "metric": [METRIC, "rr"],
        "primary": ["all"],
    }
    options |= {"guardrail": ["recall@2=0.15"], "smallest_effect": ["0.02"]}
    options |= {"queries": str(folder / "queries.csv"), "slice": ["language"], "smallest_slice": 15}
    evaluation = evaluation_from_options(options | {"all_pairs": True, "resamples": 500})
    with DuckDBEngine() as engine:
        return evaluate(evaluation, engine)[0]


def printed(found: Any, width: int, show: Callable[..., None] = print_tables, **options: Any) -> str:
    return print_to_text(show, found, width=width, **options)


def numbers_of(outcome: Outcome) -> Iterator[str]:
    """Every number that the tables hold, as often as they do."""
    for system in outcome.systems:
        yield from tables.system_cells(system)
    for row in outcome.main:
        yield from wording.comparison_cells(row, tables.TESTED)
        found = row.descriptive
        assert found is not None
        yield from (
            wording.format_relative_change(found),
            numbers.format_range(row.low, row.high),
            numbers.signed(row.unweighted_difference),
        )
        yield from map(numbers.format_percent, (found.changed, found.top_share))
        yield from map(numbers.format_probability, (found.p_t, found.p_wilcoxon))
    for row in outcome.slices:
        yield from (str(row.queries), numbers.format_plain(row.baseline_mean), numbers.signed(row.difference))
        yield from (
            wording.format_interval(row),
            numbers.format_probability(row.p_adjusted),
            wording.format_wins_ties_losses(row),
        )
    for row in outcome.pairs:
        yield from (
            numbers.signed(row.difference),
            numbers.format_probability(row.p_adjusted),
            wording.format_wins_ties_losses(row),
        )


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_every_number_and_every_verdict_is_whole(outcome: Outcome, width: int) -> None:
    text = printed(outcome, width)
    assert max(map(len, text.splitlines())) <= width
    assert not re.search(r"[\d.]…", re.sub(r"\S*-\S*…\S+", "", text)), "a number is cut"
    for number, count in Counter(numbers_of(outcome)).items():
        shown = re.findall(rf"(?<!\S){re.escape(number)}(?=[\s,)]|$)", text, flags=re.MULTILINE)
        assert len(shown) >= count, number
    verdicts = [wording.format_verdict(row) for row in (*outcome.main, *outcome.slices, *outcome.pairs)]
    for verdict, count in Counter(verdicts).items():
        assert words(text).count(words(verdict)) >= count, verdict


@pytest.mark.first_case
@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_hide_nothing_and_stay_different(outcome: Outcome, width: int) -> None:
    rows = [row for row in outcome.slices if row.metric == "rr"]
    twins = [LONG.replace("very", word) for word in ("most", "less", "even")]
    parts = dict(zip(dict.fromkeys(row.slice for row in rows), twins, strict=True))
    renamed = replace(outcome, comparisons=tuple(replace(row, slice=parts[row.slice]) for row in rows), metrics=())
    text = printed(renamed, width)
    for row in rows:
        assert wording.format_interval(row) in words(text)
    for twin in twins:
        assert words(twin)[:6] in words(text)


@pytest.mark.slow
@pytest.mark.parametrize("columns", mostly_soaked([80, 120], kept=[80]))
def test_a_terminal_of_its_own(columns: int, tmp_path: Path) -> None:
    """The command on a real terminal; its JSON says what must stand there."""
    data = ROOT / "tests" / "data"
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "compare", "--judgments", f"{data}/judgments.qrels"]
    command += [
        "--system",
        f"old={data}/old.run",
        "--system",
        f"new={data}/new.run",
        "--queries",
        f"{data}/queries.tsv",
    ]
    command += ["--slice", "language", "--smallest-slice", "6", "--guardrail", "recall@100=0.02", "--all-pairs"]
    command += ["--details", "--json", str(tmp_path / "found.json")]
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env={**environment, "TERM": "xterm"}, cwd=ROOT
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "")
    *lines, last = text.splitlines()
    assert last.startswith("written: ") and max(map(len, lines)) <= columns, "a path is as long as it is"
    outcome = Outcome.read(tmp_path / "found.json")
    for number in numbers_of(outcome):
        assert re.search(rf"(?<!\S){re.escape(number)}(?=[\s,])", text), number
    for row in (*outcome.main, *outcome.slices, *outcome.pairs):
        assert words(wording.format_verdict(row)) in words(text)


def test_a_backslash_at_the_end_of_a_name_stands_once(outcome: Outcome) -> None:
    text = printed(outcome, 200)
    assert "tail\\" in text
    assert "tail\\\\" not in text
    turned = replace(outcome, baseline="tail\\", findings=(Finding("x", "note", "ends in \\", 1),))
    text = printed(turned, 80)
    assert "against tail\\\n" in text
    assert printed(turned.findings, 80, print_findings) == "note: ends in \\ [x]\n"


def test_a_comparison_over_other_queries_says_so(outcome: Outcome) -> None:
    row = next(row for row in outcome.main if (row.candidate, row.metric) == ("tail\\", METRIC))
    other = next(row for row in outcome.main if (row.candidate, row.metric) == ("new", METRIC))
    assert wording.format_shared_queries(outcome, row) == "over 30 shared queries"
    assert wording.format_shared_queries(outcome, other) == ""
    text = words(printed(outcome, 80))
    assert words(verdict_cell(row, "over 30 shared queries").plain) in text
    # of the primary comparison, and of the pairs with `tail` on the metric that leaves out
    assert text.count("over 30 shared queries") == 4


def test_names_that_would_look_alike_keep_what_differs() -> None:
    names = ["manual_ance_bert_variant_0", "manual_ance_variant_0", "manual_bm25_variant_0", "short"]
    for width in (14, 20, 25):
        short = shorten_names(names, width)
        assert len(set(short.values())) == len(names) and max(map(len, short.values())) <= width
    assert short["short"] == "short" and shorten_names(names, 20)[names[0]] == "manual…bert_…riant_0"


def test_names_are_shortened_in_their_middle() -> None:
    assert shorten_middle("abcdefghij", 10) == "abcdefghij"
    assert shorten_middle("abcdefghijk", 6) == "abc…jk"
    assert Text(shorten_middle("日本語の長い名前です", 8)).cell_len <= 8


def test_names_that_would_look_alike_are_written_out() -> None:
    rows = [Row([f"{'a' * 60}{letter}{'b' * 60}"], ["1"], Text("improved")) for letter in "xy"]
    grid = Grid(["system"], ["n"], rows)
    assert grid.layout(80) is None
    found = printed(Text("title"), 80, grid.print).replace("\n", "")
    assert all(row.names[0] in found for row in rows)


def test_lines_break_between_items() -> None:
    assert list(wrap_items(["a 1", "b 2", "c … 3"], 9)) == ["a 1, b 2,", "c … 3"]
    assert list(wrap_items([], 9)) == []


def test_nothing_to_report_stands_below_no_warning(outcome: Outcome) -> None:
    judged = tuple(replace(row, judged=1.0) for row in outcome.systems)
    unweighted = tuple(replace(row, effective_queries=None) for row in outcome.comparisons)
    clean = replace(outcome, findings=(), systems=judged, comparisons=unweighted)
    assert "data check: nothing to report" in printed(clean, 100, print_outcome, details=True)
    warned = replace(clean, systems=tuple(replace(row, judged=0.01) for row in judged))
    assert "nothing to report" not in printed(warned, 100, print_outcome, details=True)
