"""explain and sensitivity, as a user calls them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ndcg_core.measures.notation import parse
from tests.commands import invoke
from tests.laboratory import plant_fault
from tests.paths import ROOT

pytestmark = pytest.mark.slow

DATA = ROOT / "tests" / "data"
FILES = ["--judgments", f"{DATA}/judgments.qrels", "--system", f"new={DATA}/new.run"]
BOTH = [*FILES, "--system", f"old={DATA}/old.run"]


def run(*command: str) -> str:
    found = invoke(list(command))
    assert found.exit_code == 0, found.output
    return " ".join(found.stdout.split())


def test_explain_shows_ranking_ideal_and_division() -> None:
    text = run("explain", *FILES, "--query", "pasta", "--metric", "ndcg@3")
    assert "1 pasta-guide 2.995 3 3 1.0000 3.0000 3.0000" in text
    assert "2 pasta-story 2.595 unjudged 0 0.6309 0.0000 3.0000" in text
    assert "2 documents beyond the cutoff" in text
    assert "ideal = global, best first" in text
    assert "ndcg@3 = 3.500000 / 4.130930 = 0.847267, in SQL as in the Python core" in text


def test_explain_as_json_has_the_places_and_the_value() -> None:
    content = json.loads(
        run("explain", *FILES, "--query", "pasta", "--metric", "nDCG@3", "--metric", "rr", "--json", "-")
    )
    (system,) = content["systems"]
    first, second = system["metrics"]
    assert (content["query_id"], system["system_id"], first["name"], second["name"]) == ("pasta", "new", "ndcg@3", "rr")
    assert first["value"] == pytest.approx(3.5 / 4.130930, abs=1e-6)
    assert first["places"][0]["doc_id"] == "pasta-guide"
    assert first["ideal"][0]["grade"] == 3
    assert system["steps"][0][-1]["value"] == second["value"]


def test_more_judgments_change_what_is_explained(tmp_path: Path) -> None:
    """As a comparison by them does; `judge-next` names what to put there."""
    more = tmp_path / "more.qrels"
    more.write_text("pasta 0 pasta-story 3\n")
    command = ["explain", *FILES, "--query", "pasta", "--metric", "ndcg@3"]
    assert "2 pasta-story 2.595 3 3" in run(*command, "--more-judgments", str(more))


def test_explain_goes_from_one_metric_to_the_other() -> None:
    command = ["explain", *BOTH, "--query", "pasta", "--metric", "ndcg(preset=elasticsearch)@10", "--metric", "ndcg@3"]
    text = run(*command)
    assert text.count("a choice at a time") == 2, "for both systems"
    for step in ("cutoff = 3 0.922404 -0.052968", "gain = linear 0.847267 -0.075137"):
        assert step in text


def test_explain_says_when_a_rule_decides() -> None:
    text = run("explain", *FILES, "--query", "tofu")
    assert "new, query 'tofu', ndcg@10: nothing was returned ideal = global, best first" in text
    assert "rank document grade gain" in text and "score" not in text, "what was missed, and no empty ranking"
    assert re.search(r" 1 tofu-\S+ \d \d 1\.0000 ", text)
    assert "ndcg@10: 0.000000: the system returned nothing" in text
    text = run("explain", *FILES, "--query", "tofu", "--metric", "ndcg(unanswered=exclude)@10")
    assert "left out: the system returned nothing, and unanswered = exclude leaves the query out" in text


def test_explain_holds_the_sql_against_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_fault(monkeypatch, "discount", "possible_rank.rank + 1)", "possible_rank.rank + 1.1)")
    found = invoke(["explain", *FILES, "--query", "pasta"])
    assert found.exit_code == 70
    assert "parity check: query 'pasta', system new" in found.stderr


def test_sensitivity_tries_72_definitions(tmp_path: Path) -> None:
    picture = tmp_path / "matrix.svg"
    text = run("sensitivity", *BOTH, "--picture", str(picture), "--json", str(tmp_path / "out.json"))
    assert "old against new under 72 definitions:" in text
    assert picture.read_text().count("▲") + picture.read_text().count("●") >= 36
    content = json.loads((tmp_path / "out.json").read_text())
    assert len({metric["hash"] for metric in content["metrics"]}) == 72
    rows = {row["metric"]: row for row in content["comparisons"]}
    assert rows["ndcg@5"]["family_size"] == 1, "each definition is a family of its own"
    compared = invoke(["compare", *BOTH, "--metric", "ndcg@5", "--json", "-"])
    (alone,) = json.loads(compared.stdout)["comparisons"]
    for key in ("difference", "p_value", "p_adjusted", "verdict"):
        assert rows["ndcg@5"][key] == alone[key]
    assert not list(tmp_path.glob("*.partial*"))


def test_sensitivity_knows_how_the_queries_were_sampled(tmp_path: Path) -> None:
    """With weights and clusters it is the comparison with the same weights and clusters, and another than without."""
    ids = dict.fromkeys(line.split()[0] for line in (DATA / "judgments.qrels").read_text(encoding="utf-8").splitlines())
    queries = tmp_path / "queries.tsv"
    rows = (f"{query_id}\t{1 + index}\tc{index // 2}\n" for index, query_id in enumerate(ids))
    queries.write_text("query_id\tweight\ttopic\n" + "".join(rows), encoding="utf-8")
    sampled = ["--queries", str(queries), "--cluster", "topic"]

    def row(*arguments: str) -> dict[str, Any]:
        (found,) = json.loads(run(*arguments, "--json", "-"))["comparisons"]
        keys = ("difference", "p_value", "p_adjusted", "clusters", "effective_queries", "verdict")
        return {key: found.get(key) for key in keys}

    one = ["--gain", "linear", "--discount", "log2", "--ideal", "global", "--cutoff", "5"]
    found = row("sensitivity", *BOTH, *one, *sampled)
    assert found == row("compare", *BOTH, "--metric", "ndcg@5", *sampled)
    assert found != row("sensitivity", *BOTH, *one)


@pytest.mark.parametrize(("width", "tables"), [(44, 0), (60, 2), (80, 1)])
def test_every_definition_can_be_read(width: int, tables: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: names take 28 columns, a definition 12 more: four fit 80, two (one ideal) 60; 44 has lists."""
    monkeypatch.setenv("COLUMNS", str(width))
    choices = ["--discount", "jarvelin_kekalainen", "--gain", "exponential", "--ideal", "local", "--ideal", "global"]
    found = invoke(["sensitivity", *BOTH, *choices, "--cutoff", "5", "--cutoff", "10"])
    assert found.exit_code == 0, found.output
    assert len(re.findall(r"^ *exponential +järvelin-k. +[+-]", found.stdout, re.M)) == tables
    assert len(re.findall(r"[+-]0\.\d{4} [▲▼=?●]", found.stdout)) == 4
    assert max(map(len, found.stdout.splitlines())) <= width and "…" not in found.stdout


def test_sensitivity_is_of_something(tmp_path: Path) -> None:
    judgments = tmp_path / "zero.qrels"
    judgments.write_text("pasta 0 d1 0\n")
    run = tmp_path / "a.run"
    run.write_text("pasta Q0 d1 1 1 a\n")
    found = invoke(["sensitivity", str(judgments), f"a={run}", f"b={run}"])
    assert found.exit_code == 2
    assert "no query can be scored" in found.stderr


def write(path: Path, *rows: str) -> str:
    path.write_text("\n".join(rows))
    return str(path)


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    judgments = write(tmp_path / "qrels", "q 0 a 2", "q 0 b -1", "p 0 a 1")
    ranking = write(tmp_path / "new.run", "q Q0 a 1 1.0 t", "q Q0 b 2 2.0 t", "q Q0 a 3 0.5 t", "p Q0 a 1 1 t")
    return ["compare", "--judgments", judgments, "--system", f"new={ranking}", "--json", "-"]


def test_duplicates_first_counts_the_better_place(small: list[str]) -> None:
    found = invoke(small)
    assert found.exit_code == 2
    assert "lines 1 and 3: document 'a' is 2 times" in found.stderr
    text = invoke([*small, "--metric", "rr(duplicates=first)@10"]).stdout
    content = json.loads(text)
    assert content["systems"][0]["mean"] == (1 / 2 + 1) / 2
    assert [row["count"] for row in content["findings"] if row["code"] == "duplicate_document"] == [1]
    text = invoke([*small, "--metric", "rr(duplicates=first, ties=given)@10"]).stdout
    assert json.loads(text)["systems"][0]["mean"] == 1.0
    found = invoke([*small, "--metric", "rr(duplicates=first)@10", "--metric", "rr@10"])
    assert found.exit_code == 2, "one of the metrics refuses them"


def test_grades_that_a_metric_refuses(small: list[str]) -> None:
    metric = "rr(negative=error, duplicates=first)@10"
    found = invoke([*small, "--metric", metric])
    assert found.exit_code == 2
    assert f"qrels, line 2: grade = -1: with the metric {parse(metric).name} it must not be below 0" in found.stderr
    found = invoke([*small, "--metric", "ndcg(ideal=max, max_grade=1, duplicates=first)@10"])
    assert found.exit_code == 2
    assert "line 1: grade = 2" in found.stderr
    assert "must not be above its max_grade = 1" in found.stderr


def test_ranks_that_a_metric_needs(tmp_path: Path) -> None:
    judgments = write(tmp_path / "qrels", "q 0 a 2")
    ranking = write(tmp_path / "new.csv", "query_id,doc_id,score", "q,a,1")
    command = ["compare", "--judgments", judgments, "--system", f"new={ranking}", "--metric", "ndcg(ties=given)@10"]
    found = invoke(command)
    assert found.exit_code == 2
    assert "system new gives no ranks, which the metric ndcg(ties=given)@10 orders by" in found.stderr


def test_ranks_that_disagree_stand_above_the_table(tmp_path: Path) -> None:
    judgments = write(tmp_path / "qrels", "q 0 a 2")
    ranking = write(tmp_path / "new.run", "q Q0 a 1 1.0 t", "q Q0 b 2 2.0 t")
    found = invoke(["compare", "--judgments", judgments, "--system", f"new={ranking}"])
    assert found.stdout.index("its rank column disagrees with its scores") < found.stdout.index("  ndcg@10")


def test_one_metrics_max_grade_is_no_other_metrics_business(tmp_path: Path) -> None:
    judgments = write(tmp_path / "qrels", "q 0 a 1", "q 0 b 3")
    ranking = write(tmp_path / "new.run", "q Q0 a 1 1.0 t")
    command = ["compare", "--judgments", judgments, "--system", f"new={ranking}", "--json", "-"]
    command += ["--metric", "ndcg(ideal=max, max_grade=5)@1", "--metric", "ndcg(gain={1:1, 3:7})@1"]
    means = [row["mean"] for row in json.loads(run(*command))["systems"]]
    assert means == [pytest.approx(1 / 5), pytest.approx(1 / 7)]
    explained = ["explain", *command[1:5], "--query", "q", *command[-4:]]
    assert "a choice at a time" in run(*explained)


@pytest.mark.parametrize(("grade", "gain"), [("1000", "exponential"), ("3", "{3:1e305}")])
def test_a_gain_too_large_to_add_up(grade: str, gain: str, tmp_path: Path) -> None:
    judgments = write(tmp_path / "qrels", f"q 0 a {grade}")
    ranking = write(tmp_path / "new.run", "q Q0 a 1 1.0 t")
    command = ["compare", "--judgments", judgments, "--system", f"new={ranking}", "--metric", f"ndcg(gain={gain})@1"]
    found = invoke(command)
    assert found.exit_code == 2
    assert "too large to add up" in found.stderr


def test_ids_are_shown_as_they_are(tmp_path: Path) -> None:
    ids = ["q:fire:1", "[bold]d[/]:smile:", "back\\"]
    judgments = tmp_path / "qrels.csv"
    judgments.write_text(f"query_id,doc_id,grade\n{ids[0]},{ids[1]},1\n{ids[0]},{ids[2]},2\n")
    ranking = write(
        tmp_path / "new.csv", "query_id,doc_id,score", f"{ids[0]},{ids[1]},2", f"{ids[0]},{ids[2]},1.000001"
    )
    text = run("explain", "--judgments", str(judgments), "--system", f"new={ranking}", "--query", ids[0])
    assert f"1 {ids[1]} 2 1 1" in text
    assert f"2 {ids[2]} 1.000001 2 2" in text
    assert f"query '{ids[0]}'" in text


def test_findings_follow_the_policies(tmp_path: Path) -> None:
    judgments = write(tmp_path / "qrels", "q 0 a 2", "none 0 a 0", "low 0 a 1")
    ranking = write(tmp_path / "new.run", "q Q0 a 1 1.0 t")
    command = ["compare", "--judgments", judgments, "--system", f"new={ranking}", "--json", "-", "--metric"]

    def messages(metric: str) -> dict[str, str]:
        return {row["code"]: row["message"] for row in json.loads(run(*command, metric))["findings"]}

    found = messages("precision(relevant_from=2)@1")
    assert found["no_relevant_query"].endswith("it is left out, for every system")
    assert "1 query has grades above 0, but none that this metric counts (such as 'low')" in found["nothing_counted"]
    assert found["unanswered_query"].endswith("each scores 0")
    found = messages("ndcg(no_relevant=zero, unanswered=exclude)@1")
    assert found["no_relevant_query"].endswith("it scores 0, for every system")
    assert found["unanswered_query"].endswith("they are left out")
    assert "nothing_counted" not in found
