"""Nights of drawn queries, a week of them in `make soak`: the sample is kept, and what is said of the log is right."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest

import ndcg_ab
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.history.bundle import read_bundle
from tests.small_evaluation import calling, no_tracker, perform_run, plain_page

pytestmark = pytest.mark.slow

QUERIES, DOCS = 80, [f"d{number}" for number in range(12)]
CONFIGURATION = """
name: week
judgments: judged.tsv
queries: drawn.tsv
systems:
  - {name: old, file: old.tsv}
  - {name: new, file: new.tsv}
metrics: [ndcg@5]
statistics: {resamples: 1000}
"""
Ranking = dict[str, list[str]]


def write(path: Path, ranking: Ranking) -> None:
    lines = (f"{query}\t{doc}\t{-index}\n" for query, docs in ranking.items() for index, doc in enumerate(docs))
    path.write_text("query_id\tdoc_id\tscore\n" + "".join(lines))


def ndcg(docs: list[str], grades: dict[str, int]) -> float:
    def total(values: list[int]) -> float:
        return sum(value / math.log2(index + 2) for index, value in enumerate(values[:5]))

    return total([grades[doc] for doc in docs]) / total(sorted(grades.values(), reverse=True))


@pytest.mark.parametrize("nights", [2, pytest.param(7, marks=pytest.mark.soak)])
def test_a_week(nights: int, tmp_path: Path) -> None:
    """Every night another version is compared; nobody judges a query twice, and none that is the same or not drawn."""
    rng = np.random.default_rng(11)
    old: Ranking = {f"q{number:02}": rng.permutation(DOCS).tolist() for number in range(QUERIES)}
    grades = {query: dict(zip(DOCS, [3, *rng.integers(0, 4, 11).tolist()], strict=True)) for query in old}
    (tmp_path / "log.tsv").write_text("query_id\n" + "".join(f"{query}\n" for query in old))
    (tmp_path / "week.yaml").write_text(CONFIGURATION)
    write(tmp_path / "old.tsv", old)
    evaluation = read_config(tmp_path / "week.yaml")
    judged: set[str] = set()
    errors, sizes = [], []
    for night in range(nights):
        changed = set(rng.choice([*old], 30, replace=False).tolist())
        new = {query: rng.permutation(docs).tolist() if query in changed else docs for query, docs in old.items()}
        write(tmp_path / "new.tsv", new)
        files = [tmp_path / "old.tsv", tmp_path / "new.tsv"]
        kept = tmp_path / "drawn.tsv" if night else None
        count = max(15, len(judged) + 5)
        found = ndcg_ab.draw(files, tmp_path / "log.tsv", metrics="ndcg@5", count=count, kept=kept)
        assert judged <= set(found.drawn), "what was judged stays in the sample"
        judged = set(found.drawn)
        pacsv.write_csv(found.table, tmp_path / "drawn.tsv", pacsv.WriteOptions(delimiter="\t"))
        lines = [f"{query}\t{doc}\t{grades[query][doc]}\n" for query in judged for doc in DOCS]
        (tmp_path / "judged.tsv").write_text("query_id\tdoc_id\tgrade\n" + "".join(lines))
        performed = perform_run(evaluation, calling(PUBLISH=no_tracker, DRAW_PAGE=plain_page))
        bundle = read_bundle(performed.bundle)
        (row,) = bundle.outcome.comparisons
        assert night == 0 or (bundle.since_last and bundle.since_last.is_drawn)
        differences = {
            query: ndcg(new[query], grades[query]) - ndcg(docs, grades[query]) for query, docs in old.items()
        }
        assert row.difference == pytest.approx(by_hand(tmp_path / "drawn.tsv", differences), abs=1e-9)
        errors.append((row.difference - float(np.mean([*differences.values()]))) / (row.high - row.low) * 2)
        sizes.append(len(judged))
    assert sizes == [15 + 5 * night for night in range(nights)]
    assert sum(abs(error) <= 1 for error in errors) >= nights - 1, "intervals hold the difference over the whole log"


def by_hand(path: Path, differences: dict[str, float]) -> float:
    """A sum(d / p) / sum(a / p), over the drawn queries; A the mean disagreement of all."""
    rows: list[dict[str, Any]] = list(csv.DictReader(path.open(), delimiter="\t"))
    drawn = [row for row in rows if row["probability"] and float(row["probability"])]
    above = sum(differences[row["query_id"]] / float(row["probability"]) for row in drawn)
    below = sum(float(row["disagreement"]) / float(row["probability"]) for row in drawn)
    return sum(float(row["disagreement"]) for row in rows) / len(rows) * above / below
