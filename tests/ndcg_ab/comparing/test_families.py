"""Families of comparisons through the command: roles of metrics, slices, weights, pairs; and what is refused."""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndcg_ab.comparing.families import PairedValues, make_column, refuse_beyond_range
from ndcg_ab.comparing.sampling import PLAIN
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_core.statistics.verdicts.comparison import Column
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


# ---- slices and weights


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


def test_ignored_weights_and_clusters_are_not_looked_at(folder: Path) -> None:
    (folder / "none.csv").write_text("query_id,weight,cluster\nq00,0,\nq01,none,\nq02,,c\n")
    found = compare(folder, "--metric", "rr", "--queries", "{}/none.csv", "--unweighted", "--unclustered")
    assert found == compare(folder, "--metric", "rr")


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
    said = "upper.csv names none of the 60 judged queries (the first is 'q00', the first of its own 'Q00')"
    assert said in found["message"]
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
    "no clusters": (["--queries", "{}/plain.csv", "--cluster", "k"], ["for cluster", "; say --cluster COLUMN (in a"]),
    "an attribute twice": (
        ["--queries", "{}/plain.csv", "--slice", "language", "--slice", "language"],
        ["--slice: 'language' is named twice"],
    ),
    "a weight of 0": (["--queries", "{}/zero.csv"], ["zero.csv: query 'q01': weight = 0: must be above 0"]),
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
    "no effect": (["--smallest-effect", "0"], ["--smallest-effect = 0: 0: must be a number above 0"]),
    "an effect that is NaN": (["--smallest-effect", "nan"], ["--smallest-effect = nan: nan: must be a number above"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(folder: Path, case: str) -> None:
    for name, lines in {
        "tiny": "q00,1e-101\n",
        "lone": "q00,1e100\nq01,1e-100\n",
        "huge": "q00,1e101\n",
        "others": "Q00,1\n",
        "zero": "q00,1\nq01,0\n",
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
