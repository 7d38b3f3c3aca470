"""`compare --scores` and runs of scores: our own values given back must give what they gave, and nothing is made up."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.results.wording import MAIN
from tests.commands import invoke
from tests.paths import DATA
from tests.repeated import mostly_soaked

RANKED = ["--judgments", str(DATA / "judgments.qrels"), "--system", f"old={DATA / 'old.run'}"]
RANKED += ["--system", f"new={DATA / 'new.run'}", "--system", f"last={DATA / 'old.run'}"]
METRICS = ["--metric", "ndcg@5", "--secondary", "rr", "--guardrail", "recall@5=0.05"]
ABSENT = {"unanswered", "judged"}  # of a system, where another tool computed the scores


def compared(*options: str) -> dict[str, Any]:
    found = invoke(["compare", "--json", "-", *options])
    content: dict[str, Any] = json.loads(found.stdout)
    assert found.exit_code == (0 if all(gate["passed"] for gate in content["gates"]) else 1), found.output
    return content


def refused(*options: str) -> str:
    found = invoke(["compare", *options])
    assert found.exit_code == 2, found.output
    return " ".join(found.stderr.split())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our own values of three systems and three metrics."""
    path = tmp_path_factory.mktemp("ours") / "scores.csv"
    found = invoke(["compare", *RANKED, *METRICS, "--per-query", str(path), "--resamples", "100", "--quiet"])
    assert found.exit_code == 0, found.output
    return path


OPTIONS = {
    "plain": [],
    "smallest effects": ["--smallest-effect", "ndcg@5=0.01"],
    "all pairs": ["--all-pairs", "--seed", "7"],
    "another baseline": ["--baseline", "new"],
    "slices and weights": ["--queries", str(DATA / "queries.tsv"), "--slice", "language", "--smallest-slice", "6"],
    "gate": ["--require", "rr=0.5"],
}


@pytest.mark.first_case
@pytest.mark.parametrize("what", mostly_soaked(OPTIONS, kept=["all pairs", "slices and weights"]))
def test_our_own_values_give_the_same_bits(what: str, ours: Path) -> None:
    options = [*METRICS, "--resamples", "1000", *OPTIONS[what]]
    ranked, given = compared(*RANKED, "--no-bounds", *options), compared("--scores", str(ours), *options)
    for content in (ranked, given):
        content["findings"] = [each for each in content["findings"] if each["code"] == "slices_disagree"]
        content["metrics"] = [each["name"] for each in content["metrics"]]
    assert given.pop("parity") is None and ranked.pop("parity")["queries"] > 0
    for row in ranked["comparisons"]:
        assert (row.pop("labels") is not None) == (row["family"] in MAIN)
    assert all(row.pop("labels") is None for row in given["comparisons"])
    for content in (ranked, given):  # another tool's values have no unjudged results
        content["comparisons"] = [row | {"unjudged": row["unjudged"] is not None} for row in content["comparisons"]]
    assert given.pop("decisions") and ranked.pop("decisions")
    assert given.pop("ledger") and ranked.pop("ledger")
    assert given.pop("changes") == [] and ranked.pop("changes")
    assert all(row.pop(key) is None for row in given["systems"] for key in ABSENT)
    assert all(row.pop(key) is not None for row in ranked["systems"] for key in ABSENT)
    assert given == ranked


def as_trec_eval(ours: Path, folder: Path) -> list[str]:
    """Our values as `trec_eval -q` prints them, a file for each system; the options that name them."""
    values: dict[str, list[tuple[str, str, float]]] = {}
    with ours.open(newline="") as file:
        for row in csv.DictReader(file):
            values.setdefault(row["system_id"], []).append((row["metric"], row["query_id"], float(row["value"])))
    options = []
    for system, rows in values.items():
        lines = [f"{'ndcg_cut_5':<22}\t{query}\t{value:.4f}" for metric, query, value in rows if metric == "ndcg@5"]
        mean = sum(float(line.split()[2]) for line in lines) / len(lines)
        lines += [f"{'runid':<22}\tall\t{system}", f"{'ndcg_cut_5':<22}\tall\t{mean:.4f}"]
        (folder / f"{system}.eval").write_text("\n".join(lines) + "\n")
        options += ["--scores", f"{system}={folder / system}.eval"]
    return options


@pytest.mark.slow
def test_what_trec_eval_prints_gives_the_same_within_rounding(ours: Path, tmp_path: Path) -> None:
    exact = compared(*RANKED, "--metric", "ndcg@5")["comparisons"]
    rounded = compared(*as_trec_eval(ours, tmp_path))
    assert [each["code"] for each in rounded["findings"]] == ["scores_given", "rounded_scores"]
    for one, other in zip(exact, rounded["comparisons"], strict=True):
        assert other["metric"] == "ndcg_cut_5" and other["candidate"] == one["candidate"]
        assert other["difference"] == pytest.approx(one["difference"], abs=1e-4)
        assert (other["p_value"] or 1) == pytest.approx(one["p_value"] or 1, abs=0.01)
        assert other["conclusion"] == one["conclusion"]


LONG = "system_id,query_id,metric,value\n"


def table(folder: Path, rows: list[str], name: str = "s.csv") -> str:
    (folder / name).write_text(LONG + "\n".join(rows) + "\n")
    return str(folder / name)


def latencies(folder: Path) -> str:
    rows = [f"old,q{at},latency,{100 + at}" for at in range(20)]
    return table(folder, [*rows, *(f"new,q{at},latency,{90 + at + at % 3}" for at in range(20))])


def test_lower_is_better_where_a_minus_stands(tmp_path: Path) -> None:
    path = latencies(tmp_path)
    plain, turned = (compared("--scores", path, "--metric", name) for name in ("latency", "-latency"))
    assert [each["comparisons"][0]["conclusion"] for each in (plain, turned)] == ["regressed", "improved"]
    assert turned["comparisons"][0]["difference"] == -plain["comparisons"][0]["difference"] > 0
    assert turned["comparisons"][0]["descriptive"]["relative"] > 0 > plain["comparisons"][0]["descriptive"]["relative"]
    assert turned["metrics"][0]["definition"] == {
        "measure": "latency", "computed": "elsewhere", "lower_is_better": True
    }  # fmt: skip
    assert "negated_scores" in [each["code"] for each in turned["findings"]]
    held = compared("--scores", path, "--metric", "latency", "--require", "latency=20")
    assert {gate["name"]: gate["passed"] for gate in held["gates"]} == {"no regression": False, "not worse": True}


def test_queries_that_one_lacks_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [f"{name},q{at},map,{at / 100 + shift}" for name, shift in (("old", 0), ("new", 0.1)) for at in range(30)]
    found = compared("--scores", table(tmp_path, rows[:-4]))
    assert found["comparisons"][0]["queries"] == 26
    missing = [(each["system"], each["count"]) for each in found["findings"] if each["code"] == "missing_score"]
    assert missing == [("new", 4)]
    assert [row["queries"] for row in found["systems"]] == [30, 26]


def test_a_mean_that_the_file_says_otherwise_is_a_warning(tmp_path: Path) -> None:
    lines = [f"map\t{at}\t0.{at:02d}01" for at in range(10, 60)]
    for name, mean in (("old", 0.3451), ("new", 0.3051)):
        (tmp_path / name).write_text("\n".join([*lines, f"map\tall\t{mean}"]))
    found = compared("--scores", f"old={tmp_path / 'old'}", "--scores", f"new={tmp_path / 'new'}")["findings"]
    assert [each["system"] for each in found if each["code"] == "mean_disagrees"] == ["new"]


def test_the_answer_and_the_page_say_once_what_is_not_known(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    found = invoke(["compare", "--scores", latencies(tmp_path), "--report", str(page), "--details"])
    assert found.exit_code == 0, found.output
    assert "unanswered" not in found.stdout and "judged" not in found.stdout.replace("what is judged", "").replace(
        "judged queries", ""
    )
    assert "definition" not in found.stdout and "None" not in found.stdout
    text = re.sub(r"<script.*?</script>|<style>.*?</style>", "", page.read_text(), flags=re.DOTALL)
    text = re.sub(r"<section id=.terms.*?</section>", "", text, flags=re.DOTALL)  # where the words are explained
    assert "another tool computed the values" in text
    assert "judged" not in text.replace("what is judged", "").lower()
    assert "computed twice" not in text and "None" not in text and "unanswered" not in text


def test_what_is_refused(tmp_path: Path) -> None:
    two = table(tmp_path, ["a,1,map,1", "b,1,map,2", "a,1,rr,1", "b,1,rr,1"])
    one = table(tmp_path, ["a,1,map,1", "b,2,map,2"], "apart.csv")
    mixed = table(tmp_path, ["a,1,value,1", "b,1,map,2", "b,1,rr,2"], "mixed.csv")
    cases = {
        "holds 2 metrics (map, rr): say which is the primary one, as --metric map": ["--scores", two],
        "share no metric (a: value; b: map, rr): give one metric the same name in each file": ["--scores", mixed],
        "metric 'mpa': is not in": ["--scores", two, "--metric", "mpa"],
        "did you mean 'map'?": ["--scores", two, "--metric", "mpa"],
        "baseline = 'c': is not in": ["--scores", two, "--metric", "map", "--baseline", "c"],
        "share no query that both have a value for": ["--scores", one],
        "is in both; a query has one value": ["--scores", two, "--scores", one],
        "--judgments: goes with rankings": ["--scores", two, "--judgments", "q"],
        "--system: goes with rankings": ["--scores", two, "--system", "a=b"],
        "--documents: goes with rankings": ["--scores", two, "--documents", "d.csv"],
        "is not known of scores that another tool computed": ["--scores", two, "--require", "judged=0.5"],
        "--judgments: is missing: give the files, ndcg-ab compare JUDGMENTS BASELINE CANDIDATE…, or --scores": [],
        "a.eval: is no option; say --scores a.eval": ["--scores", one, "a.eval"],
        "does not say whose values these are": ["--scores", str(DATA / "old.run"), "--format", "trec_eval"],
    }
    for sentence, options in cases.items():
        assert sentence in refused(*options)


def test_the_metrics_of_a_file_are_those_that_queries_have(ours: Path, tmp_path: Path) -> None:
    """trec_eval counts queries in its last lines alone; that is no second metric to choose from."""
    options = as_trec_eval(ours, tmp_path)
    with (tmp_path / "old.eval").open("a") as file:
        file.write("num_q\tall\t20\n")
    assert [each["name"] for each in compared(*options, "--resamples", "100")["metrics"]] == ["ndcg_cut_5"]
