"""A memory limit and a spill folder: what they mean, what is refused, and what is left behind (nothing)."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from ndcg_ab import memory
from ndcg_ab.config.options.from_options import read_resources
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.exit_codes import report_error
from ndcg_ab.labels import unjudged
from ndcg_ab.memory import LEAST, LimitReached, Memory, bytes_of
from ndcg_ab.scoring import loading
from tests.commands import invoke
from tests.paths import DATA


@pytest.mark.parametrize(
    ("size", "expected"),
    [("4GB", 4 * 10**9), ("512MiB", 512 * 2**20), ("1.5 GB", 15 * 10**8), ("0.5TB", 5 * 10**11), ("600KB", 600_000)]
    + [("4G", 4 * 10**9), ("4gb", 4 * 10**9), ("1.5 g", 15 * 10**8), ("4GiB", 2**32), ("4gib", 2**32)]
    + [("50%", pytest.approx(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2))],
)
def test_sizes_are_bytes_and_a_share_is_of_the_machine_s_memory(size: str, expected: int) -> None:
    assert bytes_of(size) == expected


@pytest.mark.parametrize("size", ["4", "4B", "4i", "G", "-4G", "4 giga", "4G\n"])
def test_other_sizes_are_refused(size: str) -> None:
    with pytest.raises(InputError, match="must be a size such as 4GB or 512MiB, or a share such as 50%"):
        read_resources({"memory_limit": size})


def test_duckdb_gets_less_where_the_process_holds_much_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `run`, which loads Prefect and MLflow."""
    shares = []
    for held in (100_000_000, 350_000_000, 900_000_000):
        monkeypatch.setattr(memory, "free_and_measure_memory", lambda held=held: held)
        with Memory("1GB", tmp_path) as given:
            shares.append(given.duckdb_bytes)
    assert shares == [550_000_000, 350_000_000, memory.LEAST_OF_DUCKDB]


def test_the_footprint_is_what_the_process_holds() -> None:
    before = memory.free_and_measure_memory()
    held = bytearray(100_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert 80_000_000 < memory.free_and_measure_memory() - before < 150_000_000
    del held
    assert memory.free_and_measure_memory() - before < 20_000_000


def test_duckdb_gets_the_limit_less_what_python_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_and_measure_memory", lambda: 100_000_000)
    asked = "select current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
    with DuckDBEngine(memory_limit="1GB", spill=tmp_path, threads=64) as engine:
        limit, threads, folder = engine.connection.execute(asked).fetchall()[0]
        assert (limit, threads) == ("524.5 MiB", 3)
        assert Path(folder).parent == tmp_path
    with DuckDBEngine(memory_limit="1GB", spill=tmp_path, threads=1) as engine:
        assert engine.connection.execute(asked).fetchall()[0][1] == 1


def test_what_others_have_in_the_spill_folder_stays(tmp_path: Path) -> None:
    for name in ("uv", "notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kept").touch()
    for name in ("uv.lock", "notes.new", "12-notes.lock"):
        (tmp_path / name).touch()
    before = sorted(tmp_path.rglob("*"))
    with Memory("1GB", tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("limit", ["799MB", "0.5GB", "1%"])
def test_a_limit_that_is_too_small_is_refused(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**20}.__getitem__)
    with pytest.raises(InputError, match=rf"'{limit}'.* is too little .* must be {LEAST // 10**6}MB or more"):
        Memory(limit, tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_folder_is_made_and_removed(tmp_path: Path) -> None:
    spill = tmp_path / "not" / "there"
    with Memory("1GB", spill) as own, Memory("1GB", spill) as other:
        assert own.folder is not None and other.folder is not None
        assert own.folder != other.folder
        (own.folder / "rows.parquet").write_text("rows")
    assert not spill.exists()


def test_a_folder_that_is_none_or_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--spill is empty: it must be a folder"):
        read_resources({"spill": ""})
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/spill: the folder .* cannot be written .*--spill"):
        Memory(None, tmp_path / "file" / "spill")


HOLDER = """
import sys, time
from pathlib import Path
from ndcg_ab.memory import Memory
memory = Memory("1GB", Path(sys.argv[1]))
(memory.folder / "rows.parquet").write_text("rows")
print(memory.folder.name, flush=True)
time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, text=True) for _ in "ab"
    ]
    names = [process.stdout.readline().strip() for process in processes if process.stdout]
    try:
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        assert {each.name for each in tmp_path.iterdir() if each.is_dir()} == set(names)
        with Memory("1GB", tmp_path) as own:
            assert own.folder is not None
            assert {each.name for each in tmp_path.iterdir() if each.is_dir()} == {names[1], own.folder.name}
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_full_spill_folder_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "duckdb_bytes_beside", lambda self, held, size=0: 20_000_000)
    with DuckDBEngine(memory_limit="800MB", spill=tmp_path, threads=1) as engine:
        engine.connection.execute("set max_temp_directory_size = '1MB'")
        with pytest.raises(InputError, match=rf"{tmp_path}: there is no room .*--spill"):
            engine._run("select hash(i) as h from range(5000000) as t(i) order by h", {}, None)


def test_work_ends_with_a_sentence_when_the_limit_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer one of two limits watches, and only while it is open."""
    with Memory("1GB", tmp_path), Memory("1GB", tmp_path):
        monkeypatch.setattr(memory, "resident_bytes", lambda: 2 * 10**9)
        with pytest.raises(LimitReached, match=r"^memory limit '1GB': .* 2,000MB were in use.* allow 3GB"):
            for _ in range(500):
                time.sleep(0.01)
    assert memory.Guard.at_work is None
    monkeypatch.setattr(memory, "resident_bytes", lambda: 0)
    assert report_error(LimitReached()) == 2


COMMANDS = ("compare", "judge-next", "sensitivity")


@pytest.mark.first_case
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("module", "size"), [(loading, "VALUE"), (unjudged, "RESULT")])
def test_a_command_without_room_says_what_it_needs(
    name: str, module: ModuleType, size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [str(DATA / each) for each in ("judgments.qrels", "old.run", "new.run")]
    monkeypatch.setattr(module, size, 10**9)
    found = invoke([name, *files, "--memory-limit", "1GB", "--spill", str(tmp_path)])
    if name == "sensitivity" and size != "VALUE":
        assert found.exit_code == 0, found.output
    else:
        assert found.exit_code == 2
        said = r"memory limit '1GB': is too little for [\d,]+ \w.*, with which .* some [\d,]+MB: allow [\d.]+GB or more"
        assert re.search(said, found.output)
