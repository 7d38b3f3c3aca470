"""Rankings in files of ours: the same rows, remarks, digests, findings and results as in memory."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from ndcg_ab import thresholds
from ndcg_ab.checks.ranking_checks import check_copies, count_neighbours
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.memory import Memory
from ndcg_ab.sources import RANKING
from ndcg_ab.sources.base import PullRequest
from ndcg_ab.sources.files.file import File
from ndcg_ab.sources.registry import pull_source
from ndcg_ab.sources.tables import on_disk as spilled
from ndcg_ab.sources.tables.on_disk import TableOnDisk, TableWriter
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from tests.commands import invoke
from tests.inputs import write_table

ROWS = [(f"q{at % 7}", f"d{at * 7919 % 1009}é", 1 + at % 13 / 8, at // 7 + 1) for at in range(300)]


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rankings of a few rows go to files, in groups of a few rows."""
    monkeypatch.setattr(thresholds, "FILE_ROWS", 10)
    monkeypatch.setattr(spilled, "GROUP", 64)
    monkeypatch.setattr(spilled, "AT_ONCE", 50)


def written(folder: Path, name: str, rows: Any = ROWS) -> Path:
    path = folder / name
    if name.endswith(".run"):
        path.write_text("".join(f"{q} Q0 {d} {rank} {score} tag{rank > 40}\n" for q, d, score, rank in rows))
    else:
        write_table(path, [dict(zip(RANKING.schema.names, row, strict=True)) for row in rows])
    return path


def both(path: Path, memory: Memory) -> tuple[Any, Any]:
    source = FileSource(file=path)
    assert memory.folder is not None
    writer = TableWriter(memory.folder / f"{path.name}.parquet", memory)
    return pull_source(source, RANKING, Path()), pull_source(source, RANKING, Path(), writer=writer)


@pytest.mark.parametrize("name", ["a.run", "a.parquet", "a.jsonl", "a.csv.gz"])
def test_a_file_s_rows_remarks_and_digest_are_those_of_memory(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, random.Random(1).sample(ROWS, len(ROWS)))
    with Memory("1GB", tmp_path / "spill") as memory:
        there, spilt = both(path, memory)
        assert isinstance(spilt.table, TableOnDisk)
        assert spilt.table.select(RANKING.schema.names).cast(RANKING.schema).equals(there.table.cast(RANKING.schema))
        assert (spilt.remarks, spilt.digest) == (there.remarks, there.digest)
        assert bool(spilt.remarks) == (name == "a.run")
        assert (spilt.query_ids, spilt.lacks("score")) == (there.query_ids, False)
        assert len([*check_copies({"a": spilt, "b": there})]) == 1
        assert count_neighbours(spilt.table) == count_neighbours(there.table)


@pytest.mark.parametrize(
    "text", ["q1 Q0 d1 0x1 1.0 t\n", "q1  Q0 d1  1 1.0 t # more\n", "q1 Q0 d1 1 nan t\n", "q1 d1\n"]
)
def test_what_breaks_a_rule_late_in_a_file_is_said_as_ever(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.run")
    path.write_text(path.read_text() + text)
    said = []
    with Memory("1GB", tmp_path / "spill") as memory:
        for writer in (TableWriter(), TableWriter(tmp_path / "kept.parquet", memory)):
            try:
                found = File(FileSource(file=path), Path()).answer(RANKING, PullRequest({}, writer=writer)).table
                said.append(
                    pull_source(FileSource(file=path), RANKING, Path(), writer=writer).digest + str(found.num_rows)
                )
            except InputError as error:
                said.append(str(error))
    assert said[0] == said[1]


def test_parts_are_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    written(folder, "a.parquet", ROWS[:100])
    written(folder, "b.parquet", ROWS[100:])
    with Memory("1GB", tmp_path / "spill") as memory:
        there, spilt = both(folder, memory)
        assert isinstance(spilt.table, TableOnDisk)
        assert spilt.digest == there.digest


QRELS = "".join(f"q{query} 0 d{at * 7919 % 1009}é {at % 3}\n" for query in range(7) for at in range(query, 90, 7))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["{}.run", "{}.parquet"])
def test_a_comparison_in_files_is_the_one_in_memory(name: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    old = written(tmp_path, name.format("old"), random.Random(1).sample(ROWS, len(ROWS)))
    new = written(tmp_path, name.format("new"), [(q, d, rank / 8, rank) for q, d, score, rank in ROWS])
    command = ["compare", "--judgments", f"{tmp_path}/qrels", "--system", f"old={old}", "--system", f"new={new}"]
    command += ["--system", f"again={old}", "--json", "-", "--metric", "ndcg@10", "--metric", "recall"]
    there = invoke(command)
    spilt = invoke([*command, "--memory-limit", "1GB", "--spill", f"{tmp_path}/spill"])
    assert there.exit_code == spilt.exit_code == 0, there.output + spilt.output
    assert spilt.stdout == there.stdout
    assert {"same_ranking", "rank_disagrees"} <= {row["code"] for row in json.loads(there.stdout)["findings"]}
    assert not (tmp_path / "spill").exists()


def test_what_is_kept_of_a_reduced_ranking_stands_in_a_file_where_it_is_much(tmp_path: Path) -> None:
    path = tmp_path / "old.run"
    ranks = range(1, 41)
    path.write_text("".join(f"q{query} Q0 d{at}é {at} {91 - at} old\n" for query in range(7) for at in ranks))
    with Memory("1GB", tmp_path / "spill") as memory:
        assert memory.folder is not None
        writer = TableWriter(memory.folder / "ranking0.parquet", memory)
        wanted = NeededResults(3, frozenset({"q1", "q2"}))
        pulled = pull_source(FileSource(file=path), RANKING, Path(), writer=writer, needed=wanted)
        reduced, there = pulled.reduced, pull_source(FileSource(file=path), RANKING, Path(), needed=wanted).reduced
        assert reduced is not None and there is not None
        assert isinstance(reduced.rows, TableOnDisk) and isinstance(there.rows, pa.Table)
        kept = pa.concat_tables(reduced.rows.batches(RANKING.schema.names)).cast(RANKING.schema)
        assert kept.equals(there.rows.cast(RANKING.schema))
        assert reduced.answers.equals(there.answers) and not pulled.lacks("rank")
        assert isinstance(pulled.table, TableOnDisk) and pulled.table.num_rows == 280  # beside what is kept
        assert reduced.rows.num_rows == 7 * 3


@pytest.mark.slow
def test_duplicates_are_found_in_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    old = written(tmp_path, "old.run", [*ROWS, ROWS[0][:2] + (0.5, 99)])
    command = ["compare", "--judgments", f"{tmp_path}/qrels", "--system", f"old={old}", "--json", "-"]
    limit = ["--memory-limit", "1GB", "--spill", f"{tmp_path}/spill"]
    there, spilt = (invoke([*command, *more]) for more in ([], limit))
    assert there.exit_code == spilt.exit_code == 2
    assert there.output == spilt.output
    command += ["--metric", "ndcg(duplicates=first)@10"]
    there, spilt = (invoke([*command, *more]) for more in ([], limit))
    assert there.exit_code == spilt.exit_code == 0, spilt.output
    assert there.stdout == spilt.stdout


def test_a_full_spill_folder_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(papq.ParquetWriter, "write_table", full)
    with Memory("1GB", tmp_path / "spill") as memory, pytest.raises(InputError, match=r"there is no room .*No space"):
        both(written(tmp_path, "a.csv.gz"), memory)
