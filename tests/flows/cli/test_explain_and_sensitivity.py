"""explain and sensitivity, as a user calls them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands import invoke
from tests.inputs import write_judgments, write_rankings
from tests.laboratory import plant_fault
from tests.paths import DATA

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


def test_a_step_that_no_metric_can_take_is_taken_with_the_next() -> None:
    """A table of gains has none for the highest grade, which is looked at until the ideal is another."""
    metrics = ["--metric", "ndcg(ideal=max, max_grade=5)@3", "--metric", "ndcg(gain={0:0, 1:1, 2:3, 3:7})@3"]
    assert "a choice at a time" in run("explain", *FILES, "--query", "pasta", *metrics)


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


@pytest.mark.slow
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


@pytest.mark.slow
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
    queries.write_text("query_id\ttopic\n" + "".join(f"{query_id}\tall\n" for query_id in ids), encoding="utf-8")
    assert "as with ndcg@5: not testable (all queries are of one cluster)." in run("sensitivity", *BOTH, *one, *sampled)


@pytest.mark.slow
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


TREC, WITHOUT_RANKS = "q Q0 a 1 1 t\n", "query_id,doc_id,score\nq,a,1\n"


@pytest.mark.parametrize(
    ("judgments", "ranking", "metric", "said"),
    [
        ("q 0 a 2\nq 0 b -1\n", TREC, "rr(negative=error)", "qrels, line 2: grade = -1: with the metric rr(negative"),
        ("q 0 a 2\n", TREC, "ndcg(ideal=max, max_grade=1)@10", "line 1: grade = 2"),
        ("q 0 a 2\n", WITHOUT_RANKS, "ndcg(ties=given)@10", "not every row of system new has a rank that is a number"),
        ("q 0 a 1000\n", TREC, "ndcg(gain=exponential)@1", "too large to add up"),
        ("q 0 a 3\n", TREC, "ndcg(gain={3:1e305})@1", "too large to add up"),
    ],
    ids=["a grade below 0", "a grade above the highest", "no ranks", "2^1000", "1e305"],
)
def test_data_that_a_metric_cannot_score_are_refused(
    judgments: str, ranking: str, metric: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "qrels").write_text(judgments)
    (tmp_path / "new.run").write_text(ranking)
    found = invoke(["compare", f"{tmp_path}/qrels", f"{tmp_path}/new.run", "--metric", metric])
    assert found.exit_code == 2 and said in found.stderr


def test_findings_follow_the_policies(tmp_path: Path) -> None:
    judged = write_judgments(tmp_path / "qrels", {"q": {"a": 2}, "none": {"a": 0}, "low": {"a": 1}})
    write_rankings(tmp_path, {"new": {"q": "a"}})
    command = ["compare", str(judged), f"{tmp_path}/new.run", "--json", "-", "--metric"]

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
