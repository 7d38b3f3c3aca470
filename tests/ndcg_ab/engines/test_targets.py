"""Targets: what is built for what is asked, once, and anew when what it comes from has changed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab import thresholds
from ndcg_ab.engines.duckdb import DuckDBEngine, StoredTables
from ndcg_ab.engines.sql_files import SqlFile
from ndcg_ab.errors import SqlError


def file(number: int, name: str, text: str, reads: str = "", params: str = "", kind: str = "table") -> SqlFile:
    return SqlFile(name, number, Path(f"{number}_{name}.sql"), text, tuple(reads.split()), tuple(params.split()), kind)


FILES = {
    each.name: each
    for each in (
        file(10, "number", "select n from pulled_number", "pulled_number"),
        file(20, "large", "select n from number where n >= $least", "number", "least"),
        file(30, "square", "select n * n as n from large", "large"),
        file(40, "sum", "select cast(sum(n) as bigint) as n from square", "square", kind="query"),
        file(50, "other", "select n from number", "number"),
    )
}


class Logged(DuckDBEngine):
    """Says what it makes."""

    def __init__(self, *given: Any) -> None:
        self.log: list[str] = []
        super().__init__(*given, files=FILES)

    def _make(self, file: SqlFile, parameters: object) -> None:
        self.log.append(file.name)
        super()._make(file, parameters)  # type: ignore[arg-type]

    def new(self) -> list[str]:
        found, self.log = self.log, []
        return found


class Kept(Logged, StoredTables):
    """Of a file."""


@pytest.fixture
def engine() -> Iterator[Logged]:
    with Logged() as made:
        made.put("pulled_number", pa.table({"n": [1, 2, 3]}))
        made.set_defaults(least=2)
        yield made


def test_a_target_brings_what_it_needs_and_nothing_else(engine: Logged) -> None:
    assert engine.read("square", order="n").to_pydict() == {"n": [4, 9]}
    assert engine.new() == ["number", "large", "square"]
    assert engine.rows("sum") == [(13,)]
    assert engine.new() == [], "what is there is not built again, and a query leaves nothing behind"


def test_a_new_pulled_table_makes_everything_that_comes_from_it_anew(engine: Logged) -> None:
    engine.build("square", "other")
    engine.new()
    engine.put("pulled_number", pa.table({"n": [5]}))
    assert engine.rows("square") == [(25,)]
    assert engine.new() == ["number", "large", "square"]
    assert engine.rows("other") == [(5,)]


def test_parameters_are_those_of_the_target(engine: Logged) -> None:
    assert engine.count("large") == 2
    engine.build("large", least=3)
    assert engine.rows("square") == [(9,)], "what reads it is made anew, too"
    assert engine.new() == ["number", "large", "large", "square"]
    engine.build("large", least=3)
    engine.build("square")
    assert engine.new() == []


def test_a_parameter_that_nobody_gives_is_named() -> None:
    with Logged() as engine:
        engine.put("pulled_number", pa.table({"n": [1]}))
        with pytest.raises(SqlError, match=r"sql/20_large\.sql: its parameter least is not given"):
            engine.build("square")


def test_a_table_can_take_the_place_of_a_pulled_one(engine: Logged) -> None:
    engine.replace_input_with("large", input_name="pulled_number")
    assert engine.rows("number", order="n") == [(2,), (3,)]


def test_rows_are_chosen_and_ordered(engine: Logged) -> None:
    assert engine.rows("number", ("n",), where={"n": [3, 1]}, order="n desc") == [(3,), (1,)]
    assert engine.rows("number", where={"n": 2}) == [(2,)]
    assert engine.count("number", {"n": 2}) == 1


@pytest.mark.parametrize(("small", "made"), [(0, []), (thresholds.QUICKLY_MADE_ROWS, ["number", "large"])])
def test_a_database_file_remembers_what_was_made_in_it(
    small: int, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with which parameters; where it is small, they are made again."""
    monkeypatch.setattr(thresholds, "QUICKLY_MADE_ROWS", small)
    with Logged() as engine:
        engine.put("pulled_number", pa.table({"n": [1, 2, 3]}))
        engine.set_defaults(least=3)
        engine.build("large")
        engine.write_tables(tmp_path / "t.duckdb")
    with Kept(tmp_path / "t.duckdb") as kept:
        assert kept.rows("square") == [(9,)]
        assert kept.new() == [*made, "square"]
        kept.build("large", least=1)
        assert kept.new() == ["large"]


def test_repeated_rows_are_noticed(engine: Logged) -> None:
    assert not engine.may_repeat("pulled_number", ["n"])
    engine.put("pulled_number", pa.table({"n": [1, 2, 1]}))
    assert engine.may_repeat("pulled_number", ["n"])


def test_what_is_released_is_made_anew_and_what_came_from_it_stays() -> None:
    with Logged() as engine:
        engine.set_defaults(least=2)
        engine.put("pulled_number", pa.table({"n": [1, 2]}))
        engine.build("square")
        engine.release("large", "number", "other")
        engine.log.clear()
        assert engine.rows("square") == [(4,)]
        assert engine.log == []
        assert engine.rows("large") == [(2,)]
        assert engine.log == ["number", "large"]
