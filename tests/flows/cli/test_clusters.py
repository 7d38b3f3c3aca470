"""Queries that belong together: by a column, by their ids, ignored; what is refused, and what is asked."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import compare_command, invoke, read_json
from tests.inputs import write_judgments, write_rankings

pytestmark = pytest.mark.slow

TURNS = [f"{conversation}_{turn}" for conversation in range(101, 113) for turn in range(1, 6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve conversations of five turns; in each the new system is better, worse or neither, on nearly every turn."""
    rng = np.random.default_rng(4)
    place = tmp_path_factory.mktemp("clusters")
    better = dict(zip(range(101, 113), rng.uniform(0, 1, 12), strict=True))
    wins = {query: rng.random() < better[int(query.split("_")[0])] for query in TURNS}
    new = {query: "ab" if has_won else "ba" for query, has_won in wins.items()}
    write_rankings(place, {"old": {query: order[::-1] for query, order in new.items()}, "new": new})
    write_judgments(place / "qrels", {query: {"a": 1} for query in TURNS})
    named = [f"{query}\t{query.split('_')[0]}\ttext of {query}\n" for query in TURNS]
    (place / "queries.tsv").write_text("query_id\tcluster\ttext\n" + "".join(named))
    (place / "other.tsv").write_text("query_id\tconversation\ttext\n" + "".join(named))
    (place / "few.tsv").write_text("query_id\tcluster\ttext\n" + "".join(named[:-2]))
    return place


@functools.cache
def compare(folder: Path, *options: str) -> dict[str, Any]:
    content: dict[str, Any] = read_json(compare_command(folder, "--metric", "rr", *options))
    return content


def codes(content: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in content["findings"]}


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[str, Any]:
    return compare(folder)


@pytest.mark.parametrize(
    "options", [("--queries", "{}/other.tsv", "--cluster", "conversation"), ("--cluster-prefix", "_")]
)
def test_every_way_to_name_them_is_the_same(folder: Path, options: tuple[str, ...]) -> None:
    content = compare(folder, *options)
    assert content["comparisons"] == compare(folder, "--queries", "{}/queries.tsv")["comparisons"]
    assert content["comparisons"][0]["clusters"]["count"] == 12 and "looks_clustered" not in codes(content)
    assert "looks_clustered" not in codes(compare(folder, "--queries", "{}/queries.tsv", "--unclustered"))


def test_ids_that_come_in_groups_are_asked_about(plain: dict[str, Any]) -> None:
    (found,) = (each for each in plain["findings"] if each["code"] == "looks_clustered")
    assert found["message"] == (
        "by their ids 60 of 60 queries form 12 groups: results may look too certain → --cluster-prefix _ (groups such"
        " as '101_1', '101_2')"
    )


@pytest.mark.parametrize("named", [("--clusters", "{}/queries.tsv"), ("--cluster-prefix", "_")])
def test_power_plans_with_them(folder: Path, named: tuple[str, ...]) -> None:
    scores = str(folder / "scores.csv")
    (compared,) = compare(folder, "--cluster-prefix", "_", "--per-query", scores)["comparisons"]
    options = [option.replace("{}", str(folder)) for option in named]
    found = invoke(["power", "--scores", scores, "--json", "-", "--queries", "600", *options])
    assert found.exit_code == 0, found.output
    (plan,) = json.loads(found.stdout)["comparisons"]
    assert plan["mde"] == pytest.approx(compared["mde"])
    assert (plan["clusters"], plan["effective_clusters"]) == (12, 12)
    ten_times = next(row["effect"] for row in plan["curve"] if row["queries"] == 600)
    assert ten_times == pytest.approx(plan["mde"] / 10**0.5, rel=0.1)  # and a few more degrees of freedom


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--cluster", "conversation"),
            "--cluster: names a column of the queries; give their file too, with --queries",
        ),
        (("--queries", "{}/other.tsv", "--cluster", "user"), "other.tsv: there is no column 'user' for cluster"),
        (("--queries", "{}/few.tsv"), "queries: 2 judged queries have no cluster (such as '112_4'): give every judged"),
        (
            ("--queries", "{}/other.tsv", "--cluster", "conversation", "--cluster-prefix", "_"),
            "--cluster, --cluster-prefix: both name the clusters; take one of the two out",
        ),
        (("--cluster-prefix", "_", "--unclustered"), "cluster_prefix names clusters, and clustered = false"),
        (("--queries", "{}/queries.tsv", "--slice", "cluster"), "'cluster' is no attribute to slice by"),
    ],
)
def test_what_is_refused(folder: Path, options: tuple[str, ...], said: str) -> None:
    found = invoke(compare_command(folder, "--metric", "rr", *options))
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr.replace("\n", " ")
