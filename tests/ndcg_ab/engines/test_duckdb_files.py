"""Somebody's database file: one that another process holds may be free later."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from ndcg_ab.engines.duckdb.files import query_database_file
from ndcg_ab.errors import InputError, SilentError


@pytest.mark.parametrize(
    ("said", "is_silent"),
    [("Could not set lock on file: it is held in PID 7", True), ("Cannot open file: Permission denied", False)],
)
def test_one_that_is_held_is_asked_again(said: str, is_silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise duckdb.IOException(said)

    monkeypatch.setattr(duckdb, "connect", refuse)
    with pytest.raises(InputError, match="the database cannot be opened") as caught:
        query_database_file(Path("a.duckdb"), "select 1").__enter__()
    assert isinstance(caught.value, SilentError) == is_silent
