"""What others say: the golden data of our own (golden/README.md), and shared data where a folder of it is there.

It is decided when tests are collected: without the folder there are fewer tests, and none is skipped.
"""

import csv
import functools
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.paths import GOLDEN, shared

Case = dict[str, Any]
Scored = dict[str, dict[str, float]]


@functools.cache
def statistics_cases() -> dict[str, Case]:
    """Ours and the shared ones, by their ids; ours are exact to 1e-12."""
    found: list[Case] = json.loads((GOLDEN / "statistics_cases.json").read_text(encoding="utf-8"))
    for case in found:
        case["tolerance"] = defaultdict(lambda: 1e-12)
    folder = shared()
    if folder:
        found += json.loads((folder / "statistics_cases.json").read_text(encoding="utf-8"))["cases"]
    return {case["id"]: case for case in found}


def cases(golden: str, *others: str) -> pytest.MarkDecorator:
    """One test for our case, and one for each of the shared cases that is there; each is the argument `case`."""
    known = statistics_cases()
    assert golden in known, f"tests/golden/statistics_cases.json has no case {golden!r}"
    ids = [golden, *(name for name in others if name in known)]
    assert shared() is None or len(ids) == 1 + len(others), "a shared case is gone"
    return pytest.mark.parametrize("case", [known[name] for name in ids], ids=ids)


def published(*groups: Sequence[str]) -> pytest.MarkDecorator:
    """Return the parameters of a test over several cases: each group is one for `cases`."""
    return pytest.mark.parametrize("case", [each for group in groups for each in cases(*group).args[1]], ids=str_id)


def str_id(case: Case) -> str:
    return str(case["id"])


@functools.cache
def ndcg_cases() -> list[Case]:
    """Small judgments and rankings with what a tool says of them; ours name the metric, shared ones describe it."""
    found: list[Case] = json.loads((GOLDEN / "ndcg_cases.json").read_text(encoding="utf-8"))
    folder = shared()
    return found + (json.loads((folder / "ndcg_vectors.json").read_text(encoding="utf-8")) if folder else [])


class Collection(NamedTuple):
    """A test collection in TREC format.

    files: its folder.  systems: in the order in which results are expected.  first, second: two of them.
    means: metric -> every system's mean over the judged queries, to four decimals.
    """

    name: str
    files: Path
    systems: tuple[str, ...]
    first: str
    second: str
    means: dict[str, list[float]]

    def __str__(self) -> str:
        return self.name

    @property
    def qrels(self) -> Path:
        return self.files / "qrels.txt.gz"

    def run(self, system: str) -> Path:
        return self.files / f"{system}.run.gz"

    def judgments(self) -> dict[str, dict[str, int]]:
        return {query: {doc: int(grade) for doc, grade in row.items()} for query, row in read_at(self.qrels, 3).items()}

    def ranking(self, system: str) -> Scored:
        return read_at(self.run(system), 4)

    def expected(self) -> dict[tuple[str, str, str], float]:
        """(system, query, metric) -> trec_eval's value; it leaves out a query that a ranking does not answer."""
        with gzip.open(self.files / "expected_per_query.tsv.gz", "rt") as file:
            return {
                (
                    row["run"].removeprefix("org_").removesuffix(".run"),
                    row["qid"],
                    row["measure"].replace("ndcg_cut_", "ndcg@"),
                ): float(row["value"])
                for row in csv.DictReader(file, delimiter="\t")
            }


def read_at(path: Path, place: int) -> Scored:
    """query -> document -> the number at a place of each line."""
    found: Scored = defaultdict(dict)
    with gzip.open(path, "rt") as file:
        for line in file:
            parts = line.split()
            found[parts[0]][parts[2]] = float(parts[place])
    return dict(found)


@functools.cache
def collections() -> list[Collection]:
    means = {"ndcg@10": [0.6248, 0.6478, 0.6919, 0.7042], "ndcg@3": [0.5391, 0.6832, 0.7002, 0.6431]}
    ours = ("words", "names", "vectors", "both")
    found = [Collection("golden", GOLDEN / "collection", ours, "names", "vectors", means)]
    folder = shared()
    if folder:
        means = {
            "ndcg@10": [0.3764, 0.3444, 0.3911, 0.4938, 0.5138],
            "ndcg@3": [0.3974, 0.3542, 0.4110, 0.5300, 0.5196],
        }
        theirs = ("manual_bm25", "convdr", "convdr_bert", "manual_ance", "manual_ance_bert")
        found.append(Collection("cast2021", folder / "cast2021", theirs, "manual_bm25", "convdr", means))
    return found
