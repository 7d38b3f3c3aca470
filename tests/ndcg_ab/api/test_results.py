"""What `compare`, `explain` and `power` return: as text, in a notebook, as tables and files."""

import builtins
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import ndcg_ab
from ndcg_ab.results.codec import column_types
from ndcg_core.statistics.estimates.mean_difference import deviation_of_interval, minimal_detectable_effect
from tests.commands import invoke
from tests.ndcg_ab.api.frames import JUDGMENTS, QUERIES, SYSTEMS

HOSTILE = "<script>alert('&')</script>"
FILES = ["--judgments", JUDGMENTS, *(f"--system={name}={path}" for name, path in SYSTEMS.items())]


def printed(*command: str) -> str:
    found = invoke(command)
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.fixture(scope="module")
def result() -> ndcg_ab.CompareResult:
    """Of so few queries, weighted, the flips alone see the difference."""
    return ndcg_ab.compare(JUDGMENTS, SYSTEMS, metrics=["ndcg@5", "rr"], queries=QUERIES, slices=["language"])


@pytest.fixture(scope="module")
def plain() -> ndcg_ab.CompareResult:
    return ndcg_ab.compare(JUDGMENTS, SYSTEMS, metrics=["ndcg@5", "rr"])


@pytest.fixture(scope="module")
def hostile() -> ndcg_ab.CompareResult:
    """Names, ids and attributes that would be markup; the ids come into a finding."""
    queries = [f"{HOSTILE}{index}" for index in range(12)]
    judgments = {query: {f"{HOSTILE}a": 1, "b": 0} for query in queries}
    good = {query: {f"{HOSTILE}a": 2.0, "b": 1.0} for query in queries[1:]}
    bad = {query: {f"{HOSTILE}a": 1.0, "b": 2.0} for query in queries}
    about = {query: {HOSTILE: HOSTILE} for query in queries}
    systems = {f"old{HOSTILE}": bad, f"new{HOSTILE}": good}
    return ndcg_ab.compare(judgments, systems, queries=about, slices=[HOSTILE], smallest_slice=6, all_pairs=True)


def elements(page: str) -> ElementTree.Element:
    """Return a page as a tree, which it is if its elements are closed in order."""
    return ElementTree.fromstring(page.replace("<br>", "<br/>"))


def words_of(page: str) -> str:
    return "".join(elements(page).itertext())


SAFE = {"br", "div", "p", "span", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre"}
SAFE |= {"svg", "rect", "line"}


def test_the_html_answers_first_and_draws_the_intervals(result: ndcg_ab.CompareResult) -> None:
    page = result._repr_html_()
    words = " ".join(words_of(page).split())
    assert words.startswith("? judge more results: new ndcg@5 improved (+0.2151)")
    for name, metric in (("new", "ndcg@5"), ("new", "rr")):
        row = result.comparison(name, metric)
        assert row.verdict in words
        assert f"{row.difference:+.4f}" in words
    drawn = [row for row in result.comparisons if row.low is not None]
    assert result.comparison("new", "MRR") == result.comparison("new", "rr"), "a metric as people write it"
    assert page.count("<svg") == page.count('aria-label="interval ') == len(drawn) == 4
    assert "returned nothing for 1 of the judged queries (such as 'tofu')" in words
    assert f"seed 1935; {result.to_dict()['parity']['queries']} queries computed again" in words


def test_the_strip_shows_the_interval() -> None:
    """Zero in the middle, the whisker from low to high, on the scale that the table shares."""
    result = ndcg_ab.compare(JUDGMENTS, SYSTEMS, smallest_effect=0.02)
    row = result.comparison()
    page = result._repr_html_()
    low, high = (float(found) for found in re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="8"', page)[0])
    assert row.low is not None and row.high is not None
    assert (low - 100) / (high - 100) == pytest.approx(row.low / row.high, rel=1e-3)
    assert 100 < low < high < 200
    assert 'aria-label="interval ' in page and "smallest effect ±0.02" in page


def test_all_that_shows_itself_escapes_every_text(hostile: ndcg_ab.CompareResult) -> None:
    page = hostile._repr_html_()
    assert {each.tag for each in elements(page).iter()} <= SAFE
    assert not [name for each in elements(page).iter() for name in each.attrib if name.startswith("on")]
    words = words_of(page)
    assert words.count(f"new{HOSTILE}") >= 3  # in the answer, in the tables
    assert f"{HOSTILE} {HOSTILE}" in words  # the slice
    assert f"new{HOSTILE} " in words.partition("Data check:")[2]  # a finding
    explained = ndcg_ab.explain({"q": {HOSTILE: 1}}, ranking={"q": {HOSTILE: 1.0}}, query="q")
    plans = ndcg_ab.power(hostile)
    for shown in (explained, plans):
        page = shown._repr_html_()
        assert [each.tag for each in elements(page).iter()] == ["pre"]
        assert words_of(page) == str(shown)
        assert HOSTILE[:8] in words_of(page)


def test_it_takes_its_colours_from_the_page_around_it(result: ndcg_ab.CompareResult) -> None:
    """No style sheet that others would inherit; text in the notebook's own colour, on whatever is behind it."""
    page = result._repr_html_()
    assert "<style" not in page and "background" not in page
    assert set(re.findall(r"#[0-9a-f]{6}", page)) <= {"#2f81d6", "#d0611f", "#808890", "#a87900"}


def test_one_system_alone() -> None:
    result = ndcg_ab.compare(JUDGMENTS, {"old": SYSTEMS["old"]})
    assert repr(result) == "<CompareResult: old alone, ndcg@10>"
    assert "nothing to compare it with" in words_of(result._repr_html_())
    assert result.to_arrow().num_rows == 0 and len(result.to_pandas()) == 0


def test_a_query_set_that_no_metric_can_score() -> None:
    found = {"q": {"a": 0}}, {"old": {"q": {"a": 1.0}}, "new": {"q": {"a": 1.0}}}
    with pytest.raises(ndcg_ab.InputError, match=r"no query can be scored: .* \[nothing_scored\]"):
        ndcg_ab.compare(*found)
    result = ndcg_ab.compare(*found, findings={"nothing_scored": "warning"})
    assert "not testable" in words_of(result._repr_html_())
    assert "no query can be scored" in str(result)


@pytest.mark.slow
def test_text_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch, plain: ndcg_ab.CompareResult) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(80, 24): os.terminal_size(fallback))
    command = printed("compare", *FILES, "--metric", "ndcg@5", "--metric", "rr")
    assert str(plain) + "\n" == re.sub(r"\s+→ ndcg-ab judge-next .*", " → ndcg-ab judge-next", command)
    explained = ndcg_ab.explain(JUDGMENTS, SYSTEMS, query="pasta", metrics=["ndcg@5", "rr"])
    command = ["explain", *FILES, "--query", "pasta", "--metric", "ndcg@5", "--metric", "rr"]
    assert str(explained) == printed(*command).rstrip()
    plan = ndcg_ab.power(deviation=0.1, effects=[0.01], queries=100)
    options = ["--deviation", "0.1", "--effect", "0.01", "--queries", "100"]
    assert str(plan) + "\n" == printed("power", *options)
    assert plan.to_json() == printed("power", *options, "--json", "-")


def test_text_fits_the_terminal_and_displays_nothing_by_itself(
    monkeypatch: pytest.MonkeyPatch, result: ndcg_ab.CompareResult
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, str(result).splitlines())) <= 60
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert "ndcg@5" in str(result)


def test_it_names_itself_briefly(result: ndcg_ab.CompareResult) -> None:
    assert repr(result) == "<CompareResult: new against old, ndcg@5: improved and 1 more>"
    assert repr(ndcg_ab.explain(JUDGMENTS, SYSTEMS, query="tofu")) == "<ExplainResult: query 'tofu', old, new>"
    assert repr(ndcg_ab.power(deviation=0.1)) == "<PowerResult: standard deviation 0.1>"


def test_the_summary_is_the_matrix_of_the_screen(result: ndcg_ab.CompareResult) -> None:
    """A row for each system, the baseline first and without a decision; numbers as in the comparisons."""
    rows = result.summary.to_pylist()
    assert [row["system"] for row in rows] == [result.baseline, *(row.candidate for row in result.decisions)]
    assert [row["decision"] for row in rows] == [None, *(row.decision.words for row in result.decisions)]
    means = {(row.system_id, row.metric): row.mean for row in result.systems}
    for row in rows:
        for metric in (metric.name for metric in result.metrics):
            assert row[metric] == means[row["system"], metric]
            if row["system"] != result.baseline:
                compared = result.comparison(row["system"], metric)
                assert row[f"{metric} difference"] == compared.difference
                assert row[f"{metric} low"] <= compared.difference <= row[f"{metric} high"]
                assert row[f"{metric} verdict"] == compared.verdict
    assert list(result.decisions.to_pandas().columns) == ["candidate", "decision", "reason"]
    assert len(result.findings.to_pandas()) == len(result.findings)


def test_the_summary_has_the_metrics_that_decide_first() -> None:
    """Whatever the order of the metrics is."""
    judgments = {f"q{at}": {"a": 2, "b": 1, "c": at % 2} for at in range(8)}
    rankings = {name: {query: list(order) for query in judgments} for name, order in (("old", "cba"), ("new", "abc"))}
    found = ndcg_ab.compare(judgments, rankings, metrics=["ndcg@2", "rr@1"], guardrails={"recall@1": 0.1})
    assert found.summary.column_names[2::5] == ["ndcg@2", "recall@1", "rr@1"]


def test_comparisons_as_tables(result: ndcg_ab.CompareResult) -> None:
    table = result.to_arrow()
    assert table.column_names == ["decision", *column_types(ndcg_ab.Comparison)]
    assert set(table["decision"].to_pylist()) == {row.decision.words for row in result.decisions}
    rows = table.to_pylist()
    for row, found in zip(rows, json.loads(result.to_json())["comparisons"], strict=True):
        for key in ("candidate", "metric", "difference", "p_adjusted", "verdict", "conclusion", "slice", "seed"):
            assert row[key] == found[key]
        assert row["p_t"] == (found["descriptive"] or {}).get("p_t")
    frame = result.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["difference"]) == table["difference"].to_pylist()


def test_query_scores_are_those_of_per_query(result: ndcg_ab.CompareResult, tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    printed("compare", *FILES, "--metric", "ndcg@5", "--metric", "rr", "--quiet", "--per-query", str(path))
    assert isinstance(result.query_scores, pa.Table)
    assert result.query_scores.to_pylist() == papq.read_table(path).to_pylist()
    assert str(ndcg_ab.power(path)) == str(ndcg_ab.power(result.query_scores))


def test_pandas_that_is_not_there(monkeypatch: pytest.MonkeyPatch, result: ndcg_ab.CompareResult) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas"):
        result.to_pandas()


def test_tables_need_no_other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def guarded(name: str, *arguments: Any, **keywords: Any) -> Any:
        assert name.partition(".")[0] not in ("pandas", "polars"), name
        return real(name, *arguments, **keywords)

    judgments = pa.table({"query_id": ["q"], "doc_id": ["a"], "grade": [1]})
    ranking = pa.table({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    monkeypatch.setattr(builtins, "__import__", guarded)
    assert ndcg_ab.compare(judgments, {"a": ranking}).to_arrow().num_rows == 0


@pytest.mark.slow
def test_the_page_is_the_command_s(tmp_path: Path) -> None:
    """All but the moment."""
    mine = ndcg_ab.compare(JUDGMENTS, SYSTEMS).report(tmp_path / "mine.html").read_text()
    printed("compare", *FILES, "--quiet", "--report", str(tmp_path / "theirs.html"))
    theirs = (tmp_path / "theirs.html").read_text()
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert re.sub(moment, "", mine) == re.sub(moment, "", theirs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.html", "theirs.html"]


def test_the_page_says_what_was_given_in_memory() -> None:
    ranking = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    rows = ndcg_ab.compare({"q": {"a": 1}}, {"new": ranking})._page.about["inputs"]
    assert [row["name"] for row in rows] == ["judgments", "new"]
    assert [row["origin"] for row in rows] == ["dict in memory", "polars.DataFrame in memory"]


def test_the_page_of_a_configuration_shows_it(tmp_path: Path) -> None:
    content = {"name": "nightly", "judgments": JUDGMENTS, "systems": [{"name": "old", "file": SYSTEMS["old"]}]}
    text = ndcg_ab.evaluate(content).report(tmp_path / "page.html").read_text()
    assert "<title>nightly" in text and "name: nightly" in text


@pytest.mark.parametrize(
    ("name", "rule"), [("page.pdf", "must end in .html"), ("no/page.html", "there is no directory")]
)
def test_a_page_that_cannot_be_written(name: str, rule: str, tmp_path: Path, result: ndcg_ab.CompareResult) -> None:
    with pytest.raises(ndcg_ab.InputError, match=f"^report .*{name}: {rule}"):
        result.report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_one_query_explained(plain: ndcg_ab.CompareResult) -> None:
    found = ndcg_ab.explain(JUDGMENTS, ranking=SYSTEMS["new"], query="pasta", metrics=["ndcg@5", "rr"])
    scores = plain.query_scores.to_pylist()
    for metric in ("ndcg@5", "rr"):
        keys = {"system_id": "new", "query_id": "pasta", "metric": metric}
        (value,) = (row["value"] for row in scores if row.items() >= keys.items())
        assert found.value(metric=metric) == pytest.approx(value, abs=1e-12)
    assert found.systems[0].explanations[0].ranking[0].doc_id == "pasta-guide"
    assert ndcg_ab.explain({7: {1: 1}}, ranking={7: {1: 2.0}}, query=7).value() == 1.0
    with pytest.raises(ndcg_ab.InputError, match="metric = 'rr@5': is not explained here"):
        found.value(metric="rr@5")


def test_what_comes_from_a_comparison_plans_the_next(plain: ndcg_ab.CompareResult) -> None:
    (plan,) = ndcg_ab.power(plain, metrics="rr", candidates="new", effects=0.1, queries=[50]).plans
    row = plain.comparison("new", "rr")
    assert (plan.metric, plan.queries, plan.difference) == ("rr", row.queries, pytest.approx(row.difference))
    deviation = deviation_of_interval(row.queries, row.high - row.low, 0.95)
    assert plan.mde == pytest.approx(minimal_detectable_effect(row.queries, deviation))
