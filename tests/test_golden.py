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
