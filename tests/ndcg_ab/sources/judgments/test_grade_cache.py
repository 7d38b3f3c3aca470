"""Where the answers of functions that judge are kept."""

from pathlib import Path

import pytest

from ndcg_ab.sources.judgments.function_grades import cache_folder


def test_it_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "ndcg-ab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() is None


def test_it_is_at_home_where_nothing_else_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "ndcg-ab"
