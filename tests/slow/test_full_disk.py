"""Every command that writes, on a disk that takes no more: one line, which says where, and that there is no room."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcg_ab.full_disks import no_room
from tests import full_disks
from tests.commands import invoke
from tests.full_disks import ENOUGH, disk, leave_room, wrong_at_levels
from tests.paths import DATA
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import configuration
from tests.small_evaluation import nights, small

JUDGMENTS, OLD, NEW = (str(DATA / name) for name in ("judgments.qrels", "old.run", "new.run"))
COMPARED = ["--judgments", JUDGMENTS, "--system", f"old={OLD}", "--system", f"new={NEW}"]
COMMANDS = {
    "JSON": ["compare", *COMPARED, "--quiet", "--json", "FULL/x.json"],
    "a page": ["compare", *COMPARED, "--quiet", "--report", "FULL/x.html"],
    "values as CSV": ["compare", *COMPARED, "--quiet", "--per-query", "FULL/x.csv"],
    "values as Parquet": ["compare", *COMPARED, "--quiet", "--per-query", "FULL/x.parquet"],
    "Markdown": ["compare", *COMPARED, "--quiet", "--markdown", "FULL/x.md"],
    "the history": ["history", "CONFIG", "--json", "FULL/x.json"],
    "a picture of the history": ["history", "CONFIG", "--picture", "FULL/x.svg"],
    "documents to judge": ["judge-next", *COMPARED, "--quiet", "--csv", "FULL/x.csv"],
    "what to judge as JSON": ["judge-next", *COMPARED, "--quiet", "--json", "FULL/x.json"],
    "a sheet": ["judge-next", *COMPARED, "--quiet", "--sheet", "FULL/x.html"],
    "judgments": ["judgments", JUDGMENTS, JUDGMENTS, "--json", "FULL/x.json"],
    "a plan": ["power", "--deviation", "0.2", "--effect", "0.05", "--json", "FULL/x.json"],
    "a picture of a plan": ["power", "--deviation", "0.2", "--effect", "0.05", "--picture", "FULL/x.svg"],
    "a configuration": ["init", JUDGMENTS, OLD, NEW, "--output-file", "FULL/x.yaml"],
    "an example": ["example", "FULL/x"],
    "a schema": ["schema", "--json", "FULL/x.json"],
}


@pytest.fixture(scope="module")
def full() -> Iterator[Path]:
    """A disk without a byte left."""
    with disk(1 << 20) as folder:
        if folder is None:
            pytest.skip("a small file system cannot be mounted here: that takes root, and Linux's tmpfs")
        leave_room(folder, 0)
        yield folder


@pytest.mark.parametrize("name", mostly_soaked(COMMANDS, kept=["JSON", "a page", "a sheet", "an example"]))
def test_a_command_that_has_no_room_says_so_in_a_line(name: str, full: Path, tmp_path: Path) -> None:
    words = COMMANDS[name]
    if "CONFIG" in words:
        nights(tmp_path, 2)
    config = str(configuration(small(tmp_path), tmp_path))
    words = [config if word == "CONFIG" else word.replace("FULL", str(full)) for word in words]
    found = invoke(words)
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1), found.stderr
    where = next(word for word in words if str(full) in word)
    assert found.stderr.startswith(f"ndcg-ab: {where}"), found.stderr
    assert "there is no room (No space left on device): make some, and run it again" in found.stderr
    assert [path.name for path in full.rglob("*") if path.is_file()] == ["filler"]


def test_temporary_files_without_room_are_named(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written there names no file."""
    monkeypatch.setattr("tempfile.tempdir", str(full))
    found = no_room(OSError(errno.ENOSPC, "Error writing bytes to file"))
    assert str(found) == f"{full}: there is no room (No space left on device): make some, and run it again"
    assert str(no_room(OSError(errno.ENOSPC, ""), tmp_path)).startswith(f"{full}: ")
    assert str(no_room(OSError(errno.ENOSPC, "", "named"), tmp_path)).startswith("named: ")


def test_the_next_run_makes_what_an_undisturbed_one_makes(full: Path) -> None:
    """Where nothing is kept. Twenty numbers of bytes by chance: python -m tests.full_disks."""
    assert full_disks.main(["--room", "3000000"]) == 0


@pytest.mark.soak
def test_so_does_one_without_a_page_a_store_or_files_of_mlflow(full: Path, tmp_path: Path) -> None:
    assert wrong_at_levels([11_000_000, 12_900_000, int(ENOUGH * 0.92)], tmp_path / "levels") == []
