"""`ndcg-ab power` as a user calls it: numbers against scipy.stats, both inputs, files, pictures, errors."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest
import scipy.stats
from rich.console import Console

from ndcg_core.statistics.estimates.mean_difference import compute_moments
from ndcg_core.statistics.estimates.power import queries_needed
from tests import commands

Rows = list[tuple[str, str, str, float]]
COLUMNS = ("system_id", "query_id", "metric", "value")


def write(path: Path, rows: Rows, columns: tuple[str, ...] = COLUMNS) -> Path:
    table = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
    if path.suffix == ".parquet":
        papq.write_table(table, path)
    else:
        pacsv.write_csv(table, path)
    return path


def values(queries: int = 40) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    base = rng.uniform(0.2, 0.8, queries)
    return {
        "bm25": base,
        "hybrid": base + rng.normal(0.02, 0.1, queries),
        "dense": base + rng.normal(0.0, 0.2, queries),
    }


def rows_of(found: dict[str, np.ndarray], metric: str = "ndcg@10") -> Rows:
    """Each system's queries in an order of its own."""
    rng = np.random.default_rng(1)
    return [
        (name, f"q{place:03d}", metric, float(column[place]))
        for name, column in found.items()
        for place in rng.permutation(len(column))
    ]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rows = rows_of(values()) + rows_of({name: column**2 for name, column in values().items()}, "rr")
    return write(tmp_path / "scores.csv", rows)


def invoke(*options: object) -> Any:
    return commands.invoke(["power", *map(str, options)])


def plans(*options: object) -> list[dict[str, Any]]:
    found = invoke(*options, "--json", "-")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)["comparisons"]


def detectable(n: int, deviation: float, alpha: float = 0.05, power: float = 0.8) -> float:
    t = scipy.stats.t(df=n - 1)
    return (t.ppf(1 - alpha / 2) + t.ppf(power)) * deviation / math.sqrt(n)


# ---- numbers


def test_the_numbers_of_other_settings() -> None:
    options = ("--effect", 0.03, "--effect", 0.1, "--queries", 300, "--queries", 30, "--alpha", 0.01, "--power", 0.9)
    (plan,) = plans("--deviation", 0.2, *options)
    assert [(row["effect"], row["queries"]) for row in plan["needed"]] == [
        (effect, queries_needed(effect, 0.2, 0.01, 0.9)) for effect in (0.03, 0.1)
    ]
    assert [row["queries"] for row in plan["curve"]] == [30, 300]
    for row in plan["curve"]:
        assert row["effect"] == pytest.approx(detectable(row["queries"], 0.2, 0.01, 0.9), rel=1e-9)


def test_the_numbers_of_a_family() -> None:
    (plan,) = plans("--deviation", 0.1, "--comparisons", 8)
    assert [row["queries"] for row in plan["needed"]] == [
        queries_needed(row["effect"], 0.1, alpha=0.05 / 8) for row in plan["needed"]
    ]
    for row in plan["curve"]:
        assert row["effect"] == pytest.approx(detectable(row["queries"], 0.1, alpha=0.05 / 8), rel=1e-9)
    told = "for each of 8 two-sided comparisons adjusted together, by Bonferroni's bound"
    assert told in " ".join(invoke("--deviation", 0.1, "--comparisons", 8).stdout.split())
    content = json.loads(invoke("--deviation", 0.1, "--comparisons", 8, "--json", "-").stdout)
    assert (content["family"], content["holds"]) == (8, told)


@pytest.fixture
def weighted(scores: Path) -> tuple[Path, dict[str, float]]:
    """A file of queries with weights, one of them of a query that has no values."""
    weights = {f"q{index:03d}": float(1 + index**2 % 11) for index in range(41)}
    path = scores.with_name("queries.csv")
    path.write_text("query_id,weight\n" + "".join(f"{query},{weight}\n" for query, weight in weights.items()))
    return path, weights


def test_weights_are_used(scores: Path, weighted: tuple[Path, dict[str, float]]) -> None:
    path, weights = weighted
    (plan,) = plans("--scores", scores, "--weights", path, "--candidate", "dense", "--metric", "ndcg@10")
    differences = values()["dense"] - values()["bm25"]
    share = np.array([weights[f"q{index:03d}"] for index in range(40)])
    found = compute_moments(differences, share)
    effective = share.sum() ** 2 / (share**2).sum()
    assert plan["difference"] == pytest.approx(np.average(differences, weights=share), rel=1e-12)
    assert plan["deviation"] == pytest.approx(found.deviation, rel=1e-12)
    assert plan["effective_queries"] == pytest.approx(effective, rel=1e-12)

    def detected(n: int) -> float:
        t = scipy.stats.t(df=max(1.0, n * effective / 40 - 1))
        return (t.ppf(0.975) + t.ppf(0.8)) * found.deviation / math.sqrt(n)

    assert plan["mde"] == pytest.approx(detected(40), rel=1e-9)
    assert [row["effect"] for row in plan["curve"]] == [
        pytest.approx(detected(row["queries"]), rel=1e-9) for row in plan["curve"]
    ]
    for row in plan["needed"]:
        assert detected(row["queries"]) <= row["effect"] < detected(row["queries"] - 1)
    shown = invoke("--scores", scores, "--weights", path).stdout
    assert f"40 queries (40 differing), that settle as much as {effective:.0f} of equal weight, weighted mean" in shown
    assert "of equal weight" not in invoke("--scores", scores).stdout


def test_only_queries_of_both_systems_are_paired(tmp_path: Path) -> None:
    column = values()
    rows = rows_of({"bm25": column["bm25"][:30], "hybrid": column["hybrid"]})
    rows = [row for row in rows if row[:2] != ("hybrid", "q003")] + [("hybrid", "q999", "ndcg@10", 0.5)]
    path = write(tmp_path / "s.csv", rows)
    (plan,) = plans("--scores", path)
    kept = [index for index in range(30) if index != 3]
    differences = (column["hybrid"] - column["bm25"])[kept]
    assert (plan["queries"], plan["unpaired"]) == (29, 12)
    assert plan["deviation"] == pytest.approx(np.std(differences, ddof=1), rel=1e-12)
    assert "12 left out that only one of the systems has a value for" in invoke("--scores", path).stdout


def test_a_query_without_a_weight_is_refused(scores: Path) -> None:
    path = scores.with_name("queries.csv")
    path.write_text("query_id,weight\nq000,1\nq001,2\n")
    found = invoke("--scores", scores, "--weights", path)
    assert found.exit_code == 2
    assert "--weights: 38 queries have a value and no weight (such as 'q002')" in found.stderr


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_cuts_no_number(scores: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcg_ab.flows.cli.console.output_console", lambda: Console(width=width))
    shown = invoke("--scores", scores).stdout
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("← here") == 4


def test_baseline_candidates_and_metrics_are_chosen(scores: Path) -> None:
    found = plans("--scores", scores, "--baseline", "dense", "--candidate", "hybrid", "--candidate", "bm25")
    assert [(row["baseline"], row["candidate"], row["metric"]) for row in found] == [
        ("dense", "hybrid", "ndcg@10"),
        ("dense", "hybrid", "rr"),
        ("dense", "bm25", "ndcg@10"),
        ("dense", "bm25", "rr"),
    ]
    options = ("--metric", "RR", "--metric", "nDCG( gain=linear )@10", "--metric", "rr", "--candidate", "hybrid")
    found = plans("--scores", scores, *options)
    assert [row["metric"] for row in found] == ["rr", "ndcg@10"]


def test_spellings_in_the_file_are_one_metric_and_strange_measures_keep_their_names(tmp_path: Path) -> None:
    rows = rows_of({"a": values()["bm25"]}, "nDCG@10") + rows_of({"b": values()["hybrid"]}, "ndcg(gain=linear)@10")
    rows += rows_of({"a": values()["bm25"], "b": values()["hybrid"]}, "Happiness!")
    first, second = plans("--scores", write(tmp_path / "s.csv", rows))
    assert (first["metric"], second["metric"]) == ("ndcg@10", "Happiness!")
    assert first["deviation"] == second["deviation"]
    assert len(plans("--scores", tmp_path / "s.csv", "--metric", "Happiness!")) == 1


# ---- what a person reads


def test_the_answer_in_words(scores: Path) -> None:
    found = invoke("--scores", scores, "--metric", "ndcg@10", "--candidate", "hybrid", "--effect", 0.005)
    assert found.exit_code == 0
    deviation = np.std(values()["hybrid"] - values()["bm25"], ddof=1)
    words = (
        f"→ hybrid against bm25, ndcg@10: to detect 0.005 with 80 % power you need {queries_needed(0.005, deviation):,}"
        f" queries like these; the 40 here detect {detectable(40, deviation):.4f}."
    )
    assert words in found.stdout
    assert "40 queries (40 differing)" in found.stdout
    for head in ("effect", "queries needed", "queries", "MDE", "█ ← here"):
        assert head in found.stdout
    assert found.stdout.count("for one two-sided comparison alone; each one of a family needs more queries") == 1
    assert found.stdout.count("← here") == 1


def test_enough_queries_are_enough(scores: Path) -> None:
    found = invoke("--scores", scores, "--candidate", "hybrid", "--metric", "ndcg@10", "--effect", 0.5, "--power", 0.9)
    n = queries_needed(0.5, np.std(values()["hybrid"] - values()["bm25"], ddof=1), power=0.9)
    assert f"to detect 0.5 with 90 % power {n} queries like these are enough; the 40 here detect" in found.stdout


@pytest.mark.parametrize(
    ("options", "words", "queries"),
    [
        ((0.1, "--effect", 0.02, "--power", 0.9), "to detect 0.02 with 90 % power you need 265 queries.", [265]),
        ((1, "--effect", 1e-7), "you need more than 1,000,000,000,000 queries", [None]),
        ((0, "--queries", 9), "standard deviation 0: without any spread two queries detect every effect.", None),
    ],
)
def test_words_about_a_deviation(options: tuple[object, ...], words: str, queries: list[int | None] | None) -> None:
    assert words in invoke("--deviation", *options).stdout
    if queries is not None:
        (plan,) = plans("--deviation", *options)
        assert [row["queries"] for row in plan["needed"]] == queries


@pytest.mark.parametrize(
    ("differences", "words", "facts"),
    [
        ([0.1], "one query has a value for both systems; two at least are needed", (1, 1, 0.1, None)),
        ([0.0] * 9, "none of the 9 queries differs; there is no spread to plan with", (9, 0, 0.0, 0.0)),
        ([0.25] * 9, "all 9 queries differ by +0.2500; there is no spread to plan with", (9, 9, 0.25, 0.0)),
        ([0.5] + [0.0] * 8, "only 1 of the 9 queries differs; a standard deviation from so few", (9, 1, 0.5 / 9, None)),
        ([0.5] * 5 + [0.0] * 4, "only 5 of the 9 queries differ; a standard deviation from", (9, 5, 2.5 / 9, None)),
    ],
)
def test_words_where_numbers_would_mislead(
    tmp_path: Path, differences: list[float], words: str, facts: tuple[Any, ...]
) -> None:
    base = np.full(len(differences), 0.25)
    path = write(tmp_path / "s.csv", rows_of({"old": base, "new": base + differences}))
    found = invoke("--scores", path)
    assert f"→ new against old, ndcg@10: {words}" in found.stdout
    assert "queries needed" not in found.stdout
    (plan,) = plans("--scores", path, "--picture", tmp_path / "p.svg")
    assert (plan["queries"], plan["differing"]) == facts[:2]
    assert plan["difference"] == pytest.approx(facts[2])
    if facts[3] is not None:
        assert plan["deviation"] == facts[3]
    assert (plan["needed"], plan["curve"], plan["mde"]) == ([], [], None)
    assert (tmp_path / "p.svg").read_text().startswith("<svg")


def test_systems_without_a_query_in_common(tmp_path: Path) -> None:
    path = write(tmp_path / "s.csv", [("a", "q1", "rr", 1.0), ("b", "q2", "rr", 0.5), ("b", "q1", "ap", 0.5)])
    first, second = plans("--scores", path)
    assert (first["queries"], first["unpaired"], first["difference"]) == (0, 2, None)
    assert (second["queries"], second["unpaired"]) == (0, 1)
    assert "no query has a value for both systems" in invoke("--scores", path).stdout


def test_names_are_no_markup(tmp_path: Path) -> None:
    column = values()
    path = write(tmp_path / "s.csv", rows_of({"[red]$a$": column["bm25"], r"$\b$ [/x]": column["hybrid"]}))
    found = invoke("--scores", path, "--picture", tmp_path / "p.svg")
    assert found.exit_code == 0
    assert r"$\b$ [/x] against [red]$a$, ndcg@10: to detect" in found.stdout


# ---- files


def test_the_json_keeps_its_contract(scores: Path, tmp_path: Path) -> None:
    found = invoke("--scores", scores, "--json", tmp_path / "p.json", "--quiet")
    assert (found.exit_code, found.output) == (0, "")
    content = json.loads((tmp_path / "p.json").read_text())
    assert set(content) == {"schema", "alpha", "power", "family", "holds", "comparisons"}
    assert (content["schema"], content["alpha"], content["power"]) == (1, 0.05, 0.8)
    assert len(content["comparisons"]) == 4
    fields = "baseline candidate metric queries unpaired differing difference deviation mde needed curve obstacle"
    fields += " is_drawn effective_queries clusters effective_clusters questions"
    for row in content["comparisons"]:
        assert set(row) == {*fields.split(), "sentence"}
        assert all(set(cell) == {"effect", "queries"} for cell in (*row["needed"], *row["curve"]))
    assert invoke("--scores", scores, "--json", "-").stdout == (tmp_path / "p.json").read_text()


@pytest.mark.parametrize("given", [("--scores", "scores.csv"), ("--deviation", 0.1)])
def test_the_picture_is_whole_and_shows_what_is_printed(
    scores: Path, given: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scores.parent)
    found = invoke(*given, "--picture", "p.svg", "--quiet")
    assert (found.exit_code, found.output) == (0, "")
    content = (scores.parent / "p.svg").read_text()
    assert content.startswith("<svg")
    assert content.rstrip().endswith("</svg>")
    assert "http" not in content.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")
    shown = re.findall(">([^<>]+)</text>", content)
    told = invoke(*given).stdout.replace("written: p.svg", "")
    assert "".join("".join(shown).replace("&#160;", "").split()) == "ndcg-ab" + "".join(told.split())
    assert sorted(file.name for file in scores.parent.iterdir()) == ["p.svg", "scores.csv"]


# ---- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--deviation, --scores: neither is given; exactly one of them is needed"),
        (["--deviation", "1", "--scores", "scores.csv"], "--deviation, --scores: both are given; exactly one"),
        (["--deviation", "nan"], "--deviation nan: must be from 0"),
        (["--deviation", "1", "--metric", "rr"], "--metric: is about the file of --scores"),
        (["--deviation", "1", "--comparisons", "0"], "--comparisons 0: must be a whole number from 1 to 50,"),
        (["--scores", "scores.csv", "--weights", "scores.csv"], "scores.csv: there is no column 'weight' for weight"),
        (["--deviation", "1", "--effect", "0.1", "--effect", "nan"], "--effect nan: must be above 0 and finite"),
        (["--deviation", "1", "--queries", "1"], "--queries 1: must be a whole number from 2 to 1,000,000,000,000"),
        (["--deviation", "1", "--queries", "1000000000001"], "--queries 1000000000001: must be a whole number"),
        (["--deviation", "1", "--alpha", "1"], "--alpha 1: must be at least 1e-12 and below 0.5"),
        (["--deviation", "1", "--power", "0.05"], "--power 0.05: must be above alpha (0.05)"),
        (["--deviation", "1", "--picture", "p.gif"], "--picture p.gif: must end in .svg"),
        (["--scores", "scores.csv", "--baseline", "bm52"], "--baseline 'bm52': is not in scores.csv (there: bm25,"),
        (["--scores", "scores.csv", "--candidate", "hybird"], "did you mean 'hybrid'?"),
        (["--scores", "scores.csv", "--candidate", "bm25"], "is the baseline, as the first system of the file"),
        (["--scores", "scores.csv", "--baseline", "dense", "--candidate", "dense"], "'dense': is the baseline;"),
        (["--scores", "scores.csv", "--metric", "ap"], "--metric 'ap': is not in scores.csv (there: ndcg@10, rr)"),
    ],
)
def test_options_that_cannot_be_used(
    scores: Path, options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scores.parent)
    found = invoke(*options)
    assert found.exit_code == 2
    assert message in " ".join(found.stderr.replace("│", " ").split())
    assert "Traceback" not in found.output
    assert [file.name for file in scores.parent.iterdir()] == ["scores.csv"]


HEAD = "system_id,query_id,metric,value,metric_hash\n"
GOOD = "a,q1,rr,0.5,h\nb,q1,rr,1,h\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "s.csv: there is no value in the file"),
        ("system_id,query_id,metric\na,q,rr\n", "there is no column 'value'"),
        (HEAD + GOOD + "a,q2,rr,1e101,h\n", "row 3 (without the header): rr of system 'a' on query 'q2' is 1e+101"),
        (
            HEAD + GOOD + "a,q1,RR,0.5,h\n",
            "s.csv, lines 2 and 4: 'rr' of system 'a' on query 'q1' is twice: a query has one value",
        ),
        (HEAD + GOOD + "a,q2,rr,1,other\n", "rr of system 'a' on query 'q2' has metric_hash other, rows before it h"),
        (HEAD + "a,q1,rr,0.5,h\na,q2,rr,1,h\n", "s.csv: holds the values of 'a' alone; two systems are needed"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text(text)
    found = invoke("--scores", "s.csv")
    assert found.exit_code == 2
    assert found.stderr.startswith("ndcg-ab: s.csv")
    assert message in found.stderr
    assert found.stdout == ""
