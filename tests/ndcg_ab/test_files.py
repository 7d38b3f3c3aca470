"""Files appear whole or not at all, and what a killed process left goes with the next file in the folder."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_ab.files import PARTIAL, replace_atomically, write_text
from tests.paths import ROOT

DYING = """
import os, signal, sys
from pathlib import Path
from ndcg_ab.files import replace_atomically
with replace_atomically(Path(sys.argv[1])) as partial:
    partial.write_text("ha")
    os.kill(os.getpid(), signal.SIGKILL)
"""

WRITING = """
import sys
from pathlib import Path
from ndcg_ab.files import write_text
write_text(Path(sys.argv[1]), "")
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next_file(tmp_path: Path) -> None:
    (tmp_path / ".notes.partial.html").write_text("somebody else's")
    done = subprocess.run([sys.executable, "-c", DYING, str(tmp_path / "p.html")], cwd=ROOT, check=False)
    assert done.returncode == -9
    assert sum(PARTIAL in name for name in names(tmp_path)) == 1
    write_text(tmp_path / "other.json", "{}")
    assert names(tmp_path) == [".notes.partial.html", "other.json"]


def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    with replace_atomically(tmp_path / "p.html") as partial:
        partial.write_text("ha")
        subprocess.run([sys.executable, "-c", WRITING, str(tmp_path / "other")], cwd=ROOT, check=True)
        with replace_atomically(tmp_path / "p.html") as second:  # in this thread, too: the later one wins
            second.write_text("other")
        assert (tmp_path / "p.html").read_text() == "other"
    assert names(tmp_path) == ["other", "p.html"]


def test_errors_name_the_file_that_was_wanted(tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    with pytest.raises(OSError, match=r"^\[Errno 28\] No room: '[^']*p.html'$"), replace_atomically(path):
        raise OSError(errno.ENOSPC, "No room")
    with pytest.raises(OSError, match=r"^\[Errno 2\] No such file or directory: '[^']*none/p.html'$"):
        write_text(tmp_path / "none" / "p.html", "")
    assert names(tmp_path) == []


def test_a_name_as_long_as_names_may_be(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".html")
    write_text(path, "whole")
    assert names(tmp_path) == [path.name]
