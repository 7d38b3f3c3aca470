"""Families of comparisons through the command: roles of metrics, slices, weights, pairs; and what is refused."""

import functools
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ndcg_ab.comparing.families import PairedValues, make_column, refuse_beyond_range
from ndcg_ab.comparing.sampling import PLAIN
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_core.statistics.verdicts.comparison import Column, check_guardrails
from tests.commands import compare_command, invoke, read_json
from tests.inputs import write_judgments, write_rankings
from tests.repeated import mostly_soaked

pytestmark = pytest.mark.slow

Rows = list[dict[str, Any]]
QUERIES = [f"q{number:02d}" for number in range(60)]
SYSTEMS = ("old", "new", "other")
LANGUAGES = ["en"] * 30 + ["de"] * 24 + ["fr"] * 6
WEIGHTS = {query: 1 + index % 7 for index, query in enumerate(QUERIES)}
FAMILY = {"family", "family_size", "procedure", "p_adjusted", "exploratory", "attribute", "slice"}
VERDICT = {"verdict", "conclusion", "size", "underpowered", "obstacle", "least_queries"}
TOGETHER = {
    "bounded_p_value",
    "simultaneous_low",
    "simultaneous_high",
    "mde",
    "queries_needed",
    "notes",
    *VERDICT,
    *("unjudged", "reach", "narrow_reach"),
    "labels",
}  # what else depends on the family, and what slices and pairs have not


def write(folder: Path, orders: Mapping[str, Sequence[str]], queries: Sequence[str] = QUERIES) -> Path:
    """Judgments (a has grade 2, b 1), and each system's ranking of each query's documents: one letter each."""
    write_judgments(folder / "qrels", {query: {"a": 2, "b": 1} for query in queries})
    return write_rankings(folder, {name: dict(zip(queries, each, strict=True)) for name, each in orders.items()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 queries in three languages; of the candidates `new` is better, `other` about as good as `old`."""
    rng = np.random.default_rng(1)
    choices = {"old": [1, 1, 1, 1], "new": [4, 2, 1, 1], "other": [1, 1, 1, 1], "last": [1, 1, 2, 2]}
    orders = ["abxy", "baxy", "xaby", "xyba"]
    made = {
        name: rng.choice(orders, size=60, p=np.array(chance) / sum(chance)).tolist() for name, chance in choices.items()
    }
    place = write(tmp_path_factory.mktemp("families"), made)
    rows = [f"{query},{WEIGHTS[query]},{language}\n" for query, language in zip(QUERIES, LANGUAGES, strict=True)]
    (place / "queries.csv").write_text("query_id,weight,language\n" + "".join(rows))
    (place / "plain.csv").write_text((place / "queries.csv").read_text().replace("weight", "traffic"))
    return place


@functools.cache
def compare(folder: Path, *options: str, **inputs: Any) -> dict[str, Any]:
    """Return the JSON that the command writes; results are cached by folder and options."""
    return read_json(compare_command(folder, *options, **({"systems": SYSTEMS} | inputs)))


def rows(content: Mapping[str, Any], family: str) -> Rows:
    return [row for row in content["comparisons"] if row["family"] == family]


def without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


class Compared(NamedTuple):
    """The JSON, the values by (system, query, metric), and the printed text of one command."""

    content: dict[str, Any]
    values: dict[tuple[str, str, str], float]
    shown: str


def compare_and_show(folder: Path, *options: str, systems: Sequence[str] = SYSTEMS) -> Compared:
    paths = folder / "all.json", folder / "scores.csv"
    files = ("--json", str(paths[0]), "--per-query", str(paths[1]), "--details")
    found = invoke(compare_command(folder, *files, *options, systems=systems))
    assert found.exit_code == 0, found.output
    lines = [line.replace('"', "").split(",") for line in paths[1].read_text().splitlines()[1:]]
    values = {(line[0], line[1], line[2]): float(line[3]) for line in lines}
    return Compared(json.loads(paths[0].read_text()), values, found.output)


# ---- roles of metrics


def test_every_role_has_its_family(folder: Path) -> None:
    content = compare(
        folder,
        *("--metric", "ndcg@3", "--metric", "rr", "--secondary", "precision@1", "--guardrail", "recall@2=0.25"),
        *("--queries", "{}/plain.csv", "--slice", "language", "--smallest-slice", "7", "--all-pairs"),
    )
    found: dict[str, set[tuple[int, str, bool]]] = {}
    for row in content["comparisons"]:
        kept = (row["family_size"], row["procedure"].removeprefix("exact "), row["exploratory"])
        found.setdefault(row["family"], set()).add(kept)
    by_rate = "sign-flip, Benjamini-Hochberg"
    assert found == {
        "primary": {(4, "sign-flip and studentised bootstrap, step-down max-T (the larger p)", False)},
        "secondary": {(2, by_rate, True)},
        "guardrails": {(2, "one-sided Gaffke's bound, every guardrail must hold", False)},
        "slices by language": {(8, by_rate, True), (8, "not tested", True)},
        "all pairs": {(6, by_rate, True)},
    }
    assert list(found)[:3] == ["primary", "secondary", "guardrails"]
    assert [metric["name"] for metric in content["metrics"]] == ["ndcg@3", "rr", "precision@1", "recall@2"]
    plain = compare(folder, "--metric", "ndcg@3", "--metric", "rr", "--primary", "all")
    assert rows(content, "primary") == rows(plain, "primary")  # no other family has a part in it
    alone = compare(folder, "--metric", "precision@1")["comparisons"]
    for row, expected in zip(rows(content, "secondary"), alone, strict=True):
        assert without(row, *FAMILY, *TOGETHER) == without(expected, *FAMILY, *TOGETHER)


def test_a_guardrail_is_the_one_sided_test_of_its_metric(folder: Path) -> None:
    content, values, shown = compare_and_show(folder, "--guardrail", "recall@2=0.15", systems=("old", "new", "last"))
    new, last = rows(content, "guardrails")
    differences = [values["new", query, "recall@2"] - values["old", query, "recall@2"] for query in QUERIES]
    (expected,) = check_guardrails([Column("old", "new", "r", tuple(QUERIES), differences, smallest_effect=0.15)])
    assert new["p_value"] == new["p_adjusted"] == expected.p_value
    assert (new["lower_bound"], new["smallest_effect"]) == (expected.lower_bound, 0.15)
    assert (new["verdict"], last["verdict"]) == ("not worse than 0.15", "worse by more than 0.15 not ruled out")
    assert "not worse than 0.15 (lower 95 % bound" in shown


@pytest.mark.parametrize(
    ("effect", "effects"),
    [
        (None, [None, None, None, 0.3]),
        (0.02, [0.02, 0.02, 0.02, 0.3]),
        ({"rr": 0.03}, [None, 0.03, None, 0.3]),
        ({"ndcg(gain=exponential)@2": 0.01, "Precision@1": 0.1}, [0.01, None, 0.1, 0.3]),
    ],
)
def test_the_smallest_effect(effect: Any, effects: list[float | None]) -> None:
    roles = {"secondary_metrics": ["precision@1"], "guardrails": {"recall@2": 0.3}}
    systems = [{"name": name, "file": name} for name in ("old", "new")]
    metrics = ["ndcg(gain=exponential)@2", "rr"]
    statistics = {"smallest_effect": effect}
    found = Evaluation(name="x", judgments="j", systems=systems, metrics=metrics, statistics=statistics, **roles)
    assert [found.smallest_effect(metric.name) for metric in found.metric_list] == effects


# ---- slices and weights


@pytest.mark.parametrize("weighted", mostly_soaked([False, True], kept=[True]))
def test_a_slice_is_a_compare_of_its_queries_alone(folder: Path, tmp_path: Path, weighted: bool) -> None:
    queries = ["--queries", "{}/queries.csv" if weighted else "{}/plain.csv", "--metric", "ndcg@3"]
    queries += ["--metric", "rr", "--primary", "all", "--smallest-effect", "0.05"]
    content = compare(folder, *queries, "--slice", "language", "--smallest-slice", "6")
    found = rows(content, "slices by language")
    expected = itertools.product(("ndcg@3", "rr"), ("de", "en", "fr"), ("new", "other"))
    assert [(row["metric"], row["slice"], row["candidate"]) for row in found] == list(expected)
    for part in ("de", "en", "fr"):
        chosen = {query for query, language in zip(QUERIES, LANGUAGES, strict=True) if language == part}
        lines = [line for line in (folder / "qrels").read_text().splitlines() if line.split()[0] in chosen]
        (tmp_path / part).write_text("\n".join(lines))
        alone = compare(folder, *queries, judgments=str(tmp_path / part))["comparisons"]
        for row, expected in zip([row for row in found if row["slice"] == part], alone, strict=True):
            assert without(row, *FAMILY, *TOGETHER) == without(expected, *FAMILY, *TOGETHER)
            assert row["queries"] == len(chosen)
    assert {row["family_size"] for row in found} == {12}


def test_p_is_adjusted_within_a_family_and_not_over_all(folder: Path) -> None:
    from scipy.stats import false_discovery_control

    content = compare(
        folder,
        *("--queries", "{}/plain.csv", "--slice", "language", "--slice", "traffic", "--smallest-slice", "8"),
        *("--secondary", "rr", "--secondary", "precision@1", "--all-pairs"),
    )
    assert "queries_unmatched" not in {row["code"] for row in content["findings"]}
    names = ("secondary", "slices by language", "slices by traffic", "all pairs")
    for family in names:
        tested = [row for row in rows(content, family) if row["p_value"] is not None]
        assert {row["family_size"] for row in rows(content, family)} == {len(tested)}
        expected = false_discovery_control([row["p_value"] for row in tested])
        assert [row["p_adjusted"] for row in tested] == pytest.approx(expected)
    assert len(rows(content, "slices by traffic")) == 14
    assert {row["attribute"] for row in rows(content, "slices by traffic")} == {"traffic"}
    small = [row for row in rows(content, "slices by language") if row["slice"] == "fr"]
    shown = [(row["verdict"], row["p_value"], row["p_adjusted"]) for row in small]
    assert shown == [("not testable (n = 6, fewer than 8)", None, None)] * 2
    assert all(row["low"] is not None for row in small)


def test_queries_outside_the_file_are_a_slice_of_their_own(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("query_id,language\n" + "".join(f"{query},en\n" for query in QUERIES[:35]))
    content = compare(folder, "--queries", str(tmp_path / "few.csv"), "--slice", "language", systems=("old", "new"))
    parts = [(row["slice"], row["queries"]) for row in rows(content, "slices by language")]
    assert parts == [("(none)", 25), ("en", 35)]
    assert rows(content, "primary")[0]["effective_queries"] is None


def test_weights_count_by_default_and_can_be_ignored(folder: Path) -> None:
    total = sum(WEIGHTS.values())
    plain = compare(folder, "--metric", "rr")
    content, values, shown = compare_and_show(folder, "--metric", "rr", "--queries", "{}/queries.csv")
    (folder / "none.csv").write_text("query_id,weight\nq00,0\n")  # not read where weights are ignored
    assert compare(folder, "--metric", "rr", "--queries", "{}/none.csv", "--unweighted") == plain
    for system, before in zip(content["systems"], plain["systems"], strict=True):
        own = [values[system["system_id"], query, "rr"] for query in QUERIES]
        assert system["mean"] == pytest.approx(np.dot(own, list(WEIGHTS.values())) / total, abs=1e-12)
        assert system["unweighted_mean"] == before["mean"] == pytest.approx(np.mean(own), abs=1e-12)
        assert (system["median"], before["unweighted_mean"]) == (before["median"], None)
    means = {system["system_id"]: system["mean"] for system in content["systems"]}
    for row, before in zip(content["comparisons"], plain["comparisons"], strict=True):
        assert row["difference"] == pytest.approx(means[row["candidate"]] - means["old"], abs=1e-12)
        assert row["baseline_mean"] == pytest.approx(means["old"], abs=1e-12)
        assert row["unweighted_difference"] == before["difference"] != row["difference"]
        assert row["effective_queries"] == pytest.approx(total**2 / sum(w * w for w in WEIGHTS.values()))
        assert row["p_value"] != before["p_value"]
    assert "means and differences are weighted by the queries' weights: 60 queries settle as much as 48" in shown
    assert "unweighted" in shown


def test_a_slice_in_which_one_query_has_all_the_weight_is_not_tested(tmp_path: Path) -> None:
    """It was an error of ours: the variance of such a mean is 0 / 0."""
    write(tmp_path, {"old": ["abx"] * 60, "new": ["bax", "abx", "xab"] * 20})
    lines = [f"{query},{index % 2},{1 if index < 3 else 1e-20}\n" for index, query in enumerate(QUERIES)]
    (tmp_path / "q.csv").write_text("query_id,part,weight\n" + "".join(lines))
    options = ["--queries", "{}/q.csv", "--slice", "part", "--metric", "ndcg@1"]
    found = compare(tmp_path, *options, systems=("old", "new"))
    rows = {row["slice"]: row for row in found["comparisons"]}
    obstacles = {part: row["obstacle"] for part, row in rows.items()}
    assert obstacles == {None: "few_differing", "0": "few_differing", "1": "one_heavy_query"}
    alone = rows["1"]
    assert (alone["verdict"], alone["low"]) == ("not testable (one query has all the weight)", None)
    assert (alone["queries"], alone["effective_queries"], alone["family_size"]) == (30, 1.0, 1)
    assert abs(alone["difference"]) < 1e-15, "of the second query, which ranks the same"
    (finding,) = [row for row in found["findings"] if row["code"] == "one_heavy_query"]
    assert finding["message"] == (
        "1 comparison is not tested, since one query has all the weight there (part = '1', new, ndcg@1)"
    )


def test_a_warning_where_slices_and_the_whole_disagree(tmp_path: Path) -> None:
    """ndcg@1 is 1 for a, .5 for b: 15 untested queries win 1, of the 20 and 25 others 4 lose .5; halves cancel."""
    cancelling = ["axb"] * 30 + ["xab"] * 30
    write(tmp_path, {"old": ["xab"] * 15 + ["abx"] * 45, "new": ["abx"] * 15 + ["bax", *["abx"] * 4] * 9})
    write(tmp_path, {"up": cancelling, "down": cancelling[::-1]})
    parts = ["small"] * 15 + ["one"] * 20 + ["two"] * 25
    lines = [f"{query},{parts[index]},{index // 30}\n" for index, query in enumerate(QUERIES)]
    (tmp_path / "q.csv").write_text("query_id,part,half\n" + "".join(lines))
    options = ["--queries", "{}/q.csv", "--metric", "ndcg@1", "--smallest-slice", "20"]
    warnings = {}
    for systems in (("old", "new"), ("new", "old"), ("up", "down")):
        findings = compare(tmp_path, *options, "--slice", "part", "--slice", "half", systems=systems)["findings"]
        found = [row for row in findings if row["code"] == "slices_disagree"]
        assert all((row["severity"], row["count"]) == ("warning", 2) for row in found)
        for attribute in ("part", "half"):
            told = [row["message"] for row in found if f"(slices by {attribute})" in row["message"]]
            warnings[systems[1], attribute] = told
        assert sum(len(told) for (candidate, _), told in warnings.items() if candidate == systems[1]) == len(found)
    tail = "(slices by part): look at the slices before deciding"
    in_none = "overall, but in none of the 2 tested slices does the difference point there"
    cancels = "nothing is detected overall, but a difference is in each of the 2 tested slices"
    assert warnings == {
        ("new", "part"): [f"new, ndcg@1: improved {in_none} {tail}"],
        ("old", "part"): [f"old, ndcg@1: regressed {in_none} {tail}"],
        ("down", "half"): [f"down, ndcg@1: {cancels} {tail.replace('part', 'half')}"],
        ("new", "half"): [],
        ("old", "half"): [],
        ("down", "part"): [f"down, ndcg@1: {cancels} {tail}"],
    }


# ---- pairs, intervals, procedures, what is printed


@pytest.mark.parametrize("options", mostly_soaked([[], ["--queries", "{}/queries.csv"]], kept=[[]]))
def test_a_pair_is_a_compare_of_two(folder: Path, options: list[str]) -> None:
    systems = ("old", "new", "last")
    found = rows(compare(folder, "--all-pairs", "--smallest-effect", "0.1", *options, systems=systems), "all pairs")
    pairs = [(row["baseline"], row["candidate"]) for row in found]
    assert pairs == [(first, second) for index, first in enumerate(systems) for second in systems[index + 1 :]]
    for row, systems in zip(found, pairs, strict=True):
        (alone,) = compare(folder, "--all-pairs", "--smallest-effect", "0.1", *options, systems=systems)["comparisons"]
        assert without(row, *FAMILY, *TOGETHER) == without(alone, *FAMILY, *TOGETHER)
    turned = rows(compare(folder, "--all-pairs", "--baseline", "other", *options), "all pairs")
    assert [row["baseline"] + row["candidate"] for row in turned] == ["otherold", "othernew", "oldnew"]


# ---- queries that are not the judged ones


def test_queries_that_are_others_are_warned_of(folder: Path) -> None:
    (folder / "upper.csv").write_text((folder / "plain.csv").read_text().replace("\nq", "\nQ"))
    content = compare(folder, "--queries", "{}/upper.csv", "--slice", "language")
    (found,) = [row for row in content["findings"] if row["code"] == "queries_unmatched"]
    assert (found["severity"], found["count"]) == ("warning", 60)
    assert (
        "upper.csv names none of the 60 judged queries (the first is 'q00', the first of its own 'Q00')"
        in (found["message"])
    )
    assert "; they match if letters are compared without case (such as" in found["message"]
    content = compare(folder, "--queries", "{}/upper.csv")
    assert "queries_unmatched" not in {row["code"] for row in content["findings"]}


def test_the_lightest_and_the_heaviest_weights_can_be_computed_with(folder: Path) -> None:
    for name, lightest in (("far", "1e-100"), ("near", "1e99")):
        rows = [f"{query},{'1e100' if index % 3 else lightest}\n" for index, query in enumerate(QUERIES)]
        (folder / f"{name}.csv").write_text("query_id,weight\n" + "".join(rows))
        for row in compare(folder, "--queries", f"{{}}/{name}.csv", "--resamples", "200")["comparisons"]:
            assert row["low"] < row["difference"] < row["high"]


# ---- bad input


BAD: dict[str, tuple[list[str], list[str]]] = {
    "no attribute": (["--queries", "{}/plain.csv", "--slice", "weight"], ["--slice: 'weight' is no attribute"]),
    "an attribute twice": (
        ["--queries", "{}/plain.csv", "--slice", "language", "--slice", "language"],
        ["--slice: 'language' is named twice"],
    ),
    "a weight of 0": (["--queries", "{}/zero.csv"], ["zero.csv: query 'q01': weight = 0: must be above 0"]),
    "a weight below 0": (["--queries", "{}/minus.csv"], ["minus.csv: query 'q01': weight = -2: must be above 0"]),
    "a weight that is too small": (["--queries", "{}/tiny.csv"], ["weight = 1e-101: must be", "from 1e-100 to"]),
    "a weight that is too large": (["--queries", "{}/huge.csv"], ["weight = 1e+101: must be", "1e-100 to 1e+100"]),
    "a weight beside which no other counts": (
        ["--queries", "{}/lone.csv"],
        ["lone.csv: query 'q00': weight = 1e+100: all others together weigh 1e-200 of it", "one query decides alone"],
    ),
    "weights of others": (
        ["--queries", "{}/others.csv"],
        ["queries: 60 judged queries have no weight (such as 'q00'; the first of the file's own is 'Q00')"],
    ),
    "two values of an attribute": (
        ["--queries", "{}/two.csv", "--slice", "k", "--unweighted"],
        ["two.csv: query 'q00' has two values of 'k': 'a' and 'b'"],
    ),
    "a weight missing": (
        ["--queries", "{}/few.csv"],
        ["queries: 58 judged queries have no weight (such as 'q02')", "--unweighted"],
    ),
    "an empty weight": (["--queries", "{}/empty.csv"], ["empty.csv, line 3: weight is empty"]),
    "two weights": (["--queries", "{}/twice.csv"], ["twice.csv: query 'q00' has two weights: 1.0 and 2.0"]),
    "no effect": (["--smallest-effect", "0"], ["--smallest-effect '0': '0' must be a number above 0"]),
    "an effect that is NaN": (["--smallest-effect", "nan"], ["--smallest-effect 'nan': 'nan' must be a number above"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(folder: Path, case: str) -> None:
    for name, lines in {
        "tiny": "q00,1e-101\n",
        "lone": "q00,1e100\nq01,1e-100\n",
        "huge": "q00,1e101\n",
        "others": "Q00,1\n",
        "zero": "q00,1\nq01,0\n",
        "minus": "q01,-2\n",
        "few": "q00,1\nq01,2\n",
        "empty": "q00,1\nq01,\n",
        "twice": "q00,1\nq00,2\n",
    }.items():
        (folder / f"{name}.csv").write_text("query_id,weight\n" + lines)
    (folder / "two.csv").write_text("query_id,k\nq00,a\nq00,b\n")
    options, words = BAD[case]
    found = invoke(compare_command(folder, *options, systems=SYSTEMS))
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    lines = found.stderr.splitlines()
    assert len([line for line in lines if not re.match(r" +[\d.]+ s  ", line)]) == 1, "beside what a slow machine tells"
    assert "Traceback" not in found.stderr
    for word in words:
        assert word in found.stderr


# ---- what gates and guardrails ask for


def test_a_gate_on_slices_has_one_family_over_all_attributes(folder: Path) -> None:
    options = ["--metric", "ndcg@3", "--queries", "{}/plain.csv", "--smallest-slice", "6"]
    options += ["--slice", "language", "--slice", "traffic"]
    plain, gated = compare(folder, *options), compare(folder, *options, "--require", "slice_regression=0.9")
    by = ("slices by language", "slices by traffic")
    apart = [row for name in by for row in rows(plain, name)]
    found = rows(gated, "slice gate")
    assert apart == [row for name in by for row in rows(gated, name)]
    assert not rows(plain, "slice gate")
    assert [without(row, *FAMILY, *TOGETHER) for row in found] == [without(row, *FAMILY, *TOGETHER) for row in apart]
    tested = [row for row in found if row["p_value"] is not None]
    assert {row["family_size"] for row in found} == {len(tested)}
    assert {(row["procedure"], row["exploratory"]) for row in tested} <= {
        ("sign-flip and studentised bootstrap, step-down max-T (the larger p)", False),
        ("exact sign-flip and studentised bootstrap, step-down max-T (the larger p)", False),
    }


@pytest.fixture
def asked() -> Evaluation:
    content = {"name": "x", "judgments": "j", "systems": [{"name": "old", "file": "o"}, {"name": "new", "file": "n"}]}
    guardrails = {"recall@2": 0.2, "dcg@2": 0.2, "cg@2": 0.2}
    return Evaluation(**content, guardrails=guardrails, statistics={"ranges": {"cg@2": [0, 3]}})


@pytest.mark.parametrize(
    ("metric", "difference", "loss"),
    [("recall@2", -1.0, 1.0), ("recall@2", -1.5, math.inf), ("dcg@2", -0.5, math.inf), ("cg@2", -2.5, 3.0)],
)
def test_what_a_query_can_lose(asked: Evaluation, metric: str, difference: float, loss: float) -> None:
    group = PairedValues(("q",), np.array([difference]), np.array([0.0]))
    assert make_column(asked, "new", metric, group, PLAIN).largest_loss == loss


def test_a_declared_range_that_the_values_leave_is_refused(asked: Evaluation) -> None:
    with pytest.raises(InputError, match=r"ranges: cg@2: two values of one query are 4 apart, the range \[0.0, 3.0\]"):
        refuse_beyond_range([Column("old", "new", "cg@2", ("q",), [4.0])], asked)


def test_the_range_of_a_guardrail_is_in_its_row(folder: Path) -> None:
    guarded = rows(compare(folder, "--guardrail", "recall@2=0.2", "--guardrail", "dcg@2=0.2"), "guardrails")
    recall, dcg = guarded[0], guarded[2]
    assert (recall["bound_method"], recall["needed"]) == ("gaffke", 14)
    assert (dcg["bound_method"], dcg["needed"]) == ("t", None)
    assert "the metric's range is not known: rare harm may go unseen" in dcg["notes"]
