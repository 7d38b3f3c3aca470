"""Every SQL file keeps to its header, and stays readable for other engines."""

import functools
import re
from pathlib import Path

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from ndcg_ab.engines.sql_files import (
    HISTORY,
    click_files,
    history_files,
    needed_files,
    pipeline_files,
    read_header,
    sql_directory,
    sql_files,
)
from ndcg_ab.history.database import RECORDS
from tests.paths import ROOT

FILES = sorted(sql_directory().glob("*/*.sql"))
# Functions that other engines lack, or that mean something else there (log is base 10 here, natural elsewhere).
UNPORTABLE = r"\blog\s*\(|//|\blist_|\bmacro\b|^\s*from .*\n\s*select|\bhash\s*\(|sum\([^)]*order by"
# Sums of whole numbers, which are the same in any order.
WHOLE = (
    r"copies|rank_given"
    r"|^sum\((case when search_id is null then )?(click_event\.)?(shown|clicked)( else 0 end)?\)$"
    r"|^sum\((returned|impressions|clicks|shown_events|click_events|events)\)$"
)


@functools.cache
def parsed(path: Path) -> exp.Expression:
    return sqlglot.parse_one(path.read_text(encoding="utf-8"), read="duckdb")


@functools.cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def read_tables(path: Path) -> set[str]:
    return {table.name for table in parsed(path).find_all(exp.Table) if table.name} - ctes(path)


def ctes(path: Path) -> set[str]:
    return {cte.alias for cte in parsed(path).find_all(exp.CTE)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
class TestFile:
    def test_its_number_and_name(self, path: Path) -> None:
        assert re.fullmatch(r"\d\d0_[a-z_]+\.sql", path.name), "numbers in steps of ten"
        assert path.parent.name.startswith(f"{path.name[0]}_"), "the first digit is the folder's"
        table = path.stem.partition("_")[2]
        first, second = path.read_text(encoding="utf-8").splitlines()[:2]
        assert first.startswith(f"-- {table}: "), "line 1 names the table and says what it is"
        assert second.startswith("-- grain:  one row per "), "line 2 gives the grain"

    def test_reads_what_its_header_says(self, path: Path) -> None:
        said = read_header(path.read_text(encoding="utf-8"))["reads"]
        assert sorted(read_tables(path)) == sorted(said.split(", "))
        assert said.split(", ") == sorted(said.split(", "))

    def test_takes_the_parameters_its_header_says(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        (statement,) = database().extract_statements(text)
        said = read_header(text)["params"]
        assert set(statement.named_parameters) == (set() if said == "-" else set(said.split(", ")))

    def test_reads_only_tables_of_lower_numbers(self, path: Path) -> None:
        """The order of the numbers is the order in which the engine builds."""
        if int(path.name[:3]) >= HISTORY:
            assert read_tables(path) <= RECORDS.keys()
            return
        lower = {other.stem.partition("_")[2] for other in FILES if other.name < path.name}
        assert {table for table in read_tables(path) if not table.startswith("pulled_")} <= lower

    def test_no_part_of_it_bears_a_table_s_name(self, path: Path) -> None:
        assert not ctes(path) & {*sql_files(), *RECORDS}

    def test_its_kind(self, path: Path) -> None:
        file = sql_files()[path.stem.partition("_")[2]]
        assert file.kind in ("table", "view", "query")
        assert not [other.name for other in sql_files().values() if file.kind == "query" and file.name in other.reads]

    def test_every_row_number_has_a_total_order(self, path: Path) -> None:
        for window in parsed(path).find_all(exp.Window):
            if isinstance(window.this, exp.RowNumber):
                order = window.args["order"].sql()
                assert re.search("doc_id|rank|query_id|client", order), order

    def test_is_portable(self, path: Path) -> None:
        text = re.sub(r"--.*", "", path.read_text(encoding="utf-8"))
        assert not re.search(UNPORTABLE, text, flags=re.MULTILINE)
        sqlglot.transpile(text, read="duckdb", write="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)

    def test_sums_only_over_windows_in_order(self, path: Path) -> None:
        """A plain sum or mean of doubles depends on the number of threads; counts and ranks are whole numbers."""
        for total in parsed(path).find_all(exp.Sum, exp.Avg):
            window = total.parent
            ordered = isinstance(window, exp.Window) and window.args.get("order")
            assert ordered or re.search(WHOLE, total.sql(), re.IGNORECASE), f"{total.sql()} is not reproducible"


def test_there_is_one_file_for_each_table() -> None:
    assert len(FILES) == len(sql_files()) > 20
    assert {*pipeline_files(), *click_files(), *history_files()} == {*sql_files()}
    assert not [path for path in sql_directory().iterdir() if path.suffix == ".py"]


def test_what_a_target_needs_is_in_the_order_of_the_numbers() -> None:
    names = [file.name for file in needed_files(["graded_doc", "judgment"], pipeline_files())]
    read = ["judgment", "query", "ranking", "rank_rule", "answered_query", "ordered_result"]
    assert names == [*read, "ranked_doc", "graded_doc"]
    with pytest.raises(KeyError):
        needed_files(["nonsense"], pipeline_files())


def test_no_select_stands_in_python() -> None:
    """SQL text belongs into the files; the engine itself makes tables of them and reads tables by name.

    What Vespa is asked (`inputs/http.py`) is its own language, and `mlflow/store.py` looks into MLflow's own tables.
    `function_grades.py` keeps a cache in SQLite, and no results; `database_query.py` sets how a server runs a query.
    In `warehouse` SQL is the result, not the way to one: every query is another, for another database.
    """
    elsewhere = ("inputs/http.py", "store.py", "function_grades.py", "database_query.py")
    for path in (ROOT / "ndcg_ab").rglob("*.py"):
        package = path.relative_to(ROOT / "ndcg_ab").parts[0]
        if package not in ("engines", "warehouse") and not str(path).endswith(elsewhere):
            assert not re.search(r"[\"'](select|with|insert|delete|update|create|alter) ", path.read_text()), path
