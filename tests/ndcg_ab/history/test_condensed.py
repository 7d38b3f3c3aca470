"""What a kept evaluation takes of the disk, and that nothing of it is lost or changed by being read."""

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ndcg_ab import thresholds
from ndcg_ab.engines.duckdb import DuckDBEngine, StoredTables
from ndcg_ab.engines.duckdb import engine as engine_module
from ndcg_ab.errors import InputError
from ndcg_ab.history.bundle import TABLES, read_bundle
from ndcg_ab.pipeline.conclude import extreme_queries
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.report import bundle_files
from tests.inputs import write_judgments, write_rankings
from tests.small_evaluation import plain_page, small, unlogged

pytestmark = pytest.mark.slow

MOST_OF_INPUT, MOST = 3, 1_000_000  # a bundle: three times its input, or a megabyte, whichever is larger


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of an evaluation, which no test changes."""
    folder = tmp_path_factory.mktemp("kept")
    with DuckDBEngine() as engine:
        evaluate(small(folder), engine)
        extreme_queries(engine)
        engine.write_tables(folder / "kept.duckdb")
    (folder / "kept.duckdb").chmod(0o444)
    return folder / "kept.duckdb"


def as_texts(rows: list[tuple[Any, ...]]) -> list[str]:
    """In one order; sums of numbers that come in another order differ in the last digits."""
    return sorted(
        repr([float(f"{value:.12g}") if isinstance(value, float) else value for value in row]) for row in rows
    )


def rows_of_all(path: Path) -> dict[str, list[str]]:
    """Table or view -> its rows, as any DuckDB reads them."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = connection.execute("select table_name from information_schema.tables").fetchall()
        return {
            name: as_texts(connection.execute(f'select * from "{name}"').fetchall())
            for (name,) in names
            if name != engine_module.STATE
        }


def kinds_of(path: Path) -> dict[str, str]:
    with duckdb.connect(str(path), read_only=True) as connection:
        select = "select table_name, table_type from information_schema.tables"
        return dict(connection.execute(select).fetchall())


BOTH = [(thresholds.QUICKLY_MADE_ROWS, thresholds.FEW_ROWS), (0, -1)]


@pytest.mark.parametrize(("most", "few"), BOTH)
def test_every_table_has_its_rows(most: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are views of what was pulled, and of others none is."""
    monkeypatch.setattr(thresholds, "QUICKLY_MADE_ROWS", most)
    monkeypatch.setattr(thresholds, "FEW_ROWS", few)
    path = tmp_path / "kept.duckdb"
    with DuckDBEngine() as engine:
        evaluate(small(tmp_path), engine)
        engine.build("graded_doc", "judged_doc")
        engine.write_tables(path)
        found = rows_of_all(path)
        assert len(found["graded_doc"]) > 100 and found.keys() >= engine.made.keys()
        for name, rows in found.items():
            assert rows == as_texts(engine.rows(name)), name
    kinds = kinds_of(path)
    assert (kinds["graded_doc"] == "VIEW") == (most > 0)
    assert kinds["pulled_ranking"] == kinds["query_score"].replace("VIEW", "BASE TABLE") == "BASE TABLE"


def test_what_no_file_made_stays_a_table(tmp_path: Path) -> None:
    path = tmp_path / "kept.duckdb"
    with DuckDBEngine() as engine:
        evaluate(small(tmp_path), engine)
        engine.put_computed("coverage", engine.read("coverage").slice(0, 3))
        engine.build("system_summary")
        engine.write_tables(path)
    assert (kinds_of(path)["coverage"], kinds_of(path)["system_summary"]) == ("BASE TABLE", "VIEW")
    with StoredTables(path) as kept:
        assert kept.count("coverage") == 3


def test_a_kept_evaluation_is_read_and_not_written_and_a_table_of_other_parameters_made_anew(kept: Path) -> None:
    content = kept.read_bytes()
    with StoredTables(kept) as engine:
        assert engine.count("grade_count") > 10 and engine.count("graded_doc") > 100
    assert kept.read_bytes() == content
    with StoredTables(kept) as engine:
        before = engine.read("extreme_difference").num_rows
        assert 0 < engine.read("extreme_difference", most=1).num_rows < before
    assert len(rows_of_all(kept)["extreme_difference"]) == before


@pytest.mark.parametrize("content", [None, "empty"])
def test_tables_that_are_gone_are_said_in_a_sentence(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / TABLES
    if content:
        duckdb.connect(str(path)).close()
    with pytest.raises(InputError, match="the judgments and rankings of the evaluation") as caught:
        StoredTables(path)
    assert "Catalog" not in str(caught.value) and "sql/" not in str(caught.value)


def test_the_tables_of_a_small_evaluation_are_small(kept: Path) -> None:
    assert kept.stat().st_size < 450_000  # of 10,500,000 in blocks of DuckDB's own size


def larger(folder: Path, queries: int, depth: int) -> Any:
    """An evaluation of random rankings of so many results."""
    chance = random.Random(7)
    evaluation = small(folder)
    ids = {f"q{query}": [f"doc{query}_{doc}" for doc in range(2 * depth)] for query in range(queries)}
    write_judgments(
        folder / "inputs" / "judgments.qrels",
        {query: {doc: chance.randint(0, 3) for doc in chance.sample(docs, depth // 4)} for query, docs in ids.items()},
    )
    ranked = {name: {query: chance.sample(docs, depth) for query, docs in ids.items()} for name in ("old", "new")}
    write_rankings(folder / "inputs", ranked)
    return evaluation


def test_a_bundle_takes_no_more_than_three_times_its_input(tmp_path: Path) -> None:
    """The page among it; metrics that look at whole rankings keep more."""
    bundle = unlogged(larger(tmp_path, 300, 50)).bundle
    given = sum((tmp_path / "inputs" / name).stat().st_size for name in ("judgments.qrels", "old.run", "new.run"))
    taken = {path.name: path.stat().st_size for path in bundle.rglob("*") if path.is_file()}
    assert taken["report.html"] > 50_000
    assert sum(taken.values()) <= max(MOST_OF_INPUT * given, MOST), (given, taken)


def test_a_page_is_drawn_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the views, and the file is as before; the history knows the same queries."""
    drawn: list[Path] = []
    with monkeypatch.context() as patch:
        patch.setattr(bundle_files, "write_report", lambda folder: (drawn.append(folder), plain_page(folder)))
        bundle = unlogged(small(tmp_path)).bundle
    assert drawn == [bundle]
    content = (bundle / TABLES).read_bytes()
    gathered: list[Any] = []
    monkeypatch.setattr(bundle_files, "write_page", lambda path, data: gathered.append(data))
    bundle_files.write_report(bundle)
    assert len(gathered) == 1 and (bundle / TABLES).read_bytes() == content
    assert read_bundle(bundle).query_set and json.loads((bundle / "bundle.json").read_text())["query_set"]
