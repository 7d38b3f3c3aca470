"""The golden data can be made again: the same collection, and the same values from the tools that are installed."""

import gzip
import importlib.metadata
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.golden import make_golden
from tests.paths import GOLDEN

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    make_golden.main(folder)
    return folder


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_the_collection(made: Path) -> None:
    names = sorted(path.name for path in (GOLDEN / "collection").iterdir())
    assert names == sorted(path.name for path in (made / "collection").iterdir())
    for name in names:
        kept, again = lines(GOLDEN / "collection" / name), lines(made / "collection" / name)
        if name.startswith("expected"):
            pairs = zip((line.rsplit("\t", 1) for line in kept), (line.rsplit("\t", 1) for line in again), strict=True)
            for (key, value), (key_again, value_again) in list(pairs)[1:]:
                assert key == key_again
                assert float(value) == pytest.approx(float(value_again), abs=1e-12), key
        else:
            assert kept == again


def test_the_collection_is_hard_enough() -> None:
    """Ties across the cutoff, unjudged documents, unanswered and unjudged queries, every grade."""
    judgments, runs = make_golden.collection()
    assert {grade for grades in judgments.values() for grade in grades.values()} == {0, 1, 2, 3, 4}
    assert all(max(grades.values()) >= 2 for grades in judgments.values())
    assert [name for name, run in runs.items() if judgments.keys() - run.keys()] == ["names", "both"]
    assert all(run.keys() - judgments.keys() for run in runs.values())
    tied = 0
    for run in runs.values():
        tops = {query: make_golden.trec_order(found) for query, found in run.items()}
        tied += sum(run[query][top[9]] == run[query][top[10]] for query, top in tops.items())
        judged = [doc in judgments[query] for query, top in tops.items() if query in judgments for doc in top[:10]]
        assert 0.1 < 1 - sum(judged) / len(judged) < 0.4
    assert tied > 20


def assert_close(kept: Any, again: Any, where: str) -> None:
    if isinstance(kept, dict):
        assert kept.keys() == again.keys(), where
        for key in kept:
            assert_close(kept[key], again[key], f"{where} {key}")
    elif isinstance(kept, list):
        assert len(kept) == len(again), where
        for index, pair in enumerate(zip(kept, again, strict=True)):
            assert_close(*pair, f"{where} {index}")
    elif isinstance(kept, float) and not isinstance(again, str):
        assert kept == pytest.approx(again, rel=1e-9, abs=1e-12), where
    else:
        assert kept == again, where


@pytest.mark.parametrize("name", ["ndcg_cases", "statistics_cases"])
def test_the_cases(made: Path, name: str) -> None:
    kept, again = (json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for folder in (GOLDEN, made))
    assert [case["id"] for case in kept] == [case["id"] for case in again]
    for one, other in zip(kept, again, strict=True):
        assert_close(one, other, one["id"])


def test_every_tool_and_its_version_is_named() -> None:
    text = (GOLDEN / "README.md").read_text(encoding="utf-8")
    (versions,) = re.findall(r"<!-- versions -->\n(.*?)\n<!-- end", text, flags=re.DOTALL)
    named = dict(part.rsplit(" ", 1) for part in versions.split(", "))
    assert tuple(named) == make_golden.TOOLS
    for tool in named:
        assert importlib.metadata.version(tool)
        assert re.fullmatch(r"[\d.]+\w*", named[tool])
