"""Texts that are kept among the user's caches."""

from pathlib import Path

import pytest

from ndcg_ab.disk_cache import cache_folder, cached_text


class Maker:
    """Makes a text, and counts how often."""

    def __init__(self, text: str) -> None:
        self.text, self.times = text, 0

    def __call__(self) -> str:
        self.times += 1
        return self.text


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "ndcg-ab"


def test_is_made_once_for_all_that_it_depends_on(cache: Path) -> None:
    first, second = Maker("ä\r\n\rb"), Maker("other")
    assert [cached_text(["a", "1"], first), cached_text(["a", "1"], first)] == ["ä\r\n\rb"] * 2
    assert cached_text(["a", "2"], second) == cached_text(["a", "2"], first) == "other"
    assert (first.times, second.times) == (1, 1)
    assert cache.stat().st_mode & 0o077 == 0 and len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"0" * 64 + b"\nother"], ids=["empty", "no text", "another seal"])
def test_what_is_damaged_is_made_anew(damage: bytes, cache: Path) -> None:
    make = Maker("whole")
    cached_text(["a"], make)
    (path,) = cache.iterdir()
    before = path.read_bytes()
    path.write_bytes(damage)
    assert cached_text(["a"], make) == "whole"
    assert make.times == 2 and path.read_bytes() == before


def test_without_a_place_it_is_made_every_time(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Maker("whole")
    cache.write_text("no folder")
    assert [cached_text(["a"], make), cached_text(["a"], make)] == ["whole"] * 2
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() is None and cached_text(["a"], make) == "whole"
    assert make.times == 3


def test_is_at_home_where_nothing_else_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "ndcg-ab"
