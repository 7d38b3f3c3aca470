"""Temporary folders: nobody else's, nothing planted, nothing left."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcg_ab import temporary
from ndcg_ab.errors import InputError
from ndcg_ab.memory import Memory
from ndcg_ab.temporary import Folder, clear_abandoned, folder_of_process, temporary_folder, user_folder
from tests import leaving
from tests.leaving import names_in
from tests.sentences import refusal_text


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of temporary files of its own, where everything may be read by all."""
    found = tmp_path / "tmp"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    before = os.umask(0)
    yield found
    os.umask(before)


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_a_folder_is_this_user_s_alone_and_goes_with_what_is_in_it(place: Path) -> None:
    """Of a user's folder that was open to others, too."""
    user_folder().mkdir(mode=0o755)
    with temporary_folder() as one, temporary_folder() as other:
        (one / "copy").write_text("rows")
        assert one.parent == other.parent == user_folder() == place / f"ndcg-ab-spill-{os.geteuid()}"
        assert [mode(each) for each in (user_folder(), one, other)] == ["0o700"] * 3
        assert [mode(each) for each in user_folder().glob("*.lock")] == ["0o600"] * 2
    assert names_in(place) == []


def test_what_a_spill_folder_of_others_holds_is_this_user_s_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with Memory("1GB", shared) as memory:
        assert memory.folder is not None
        assert (mode(shared), mode(memory.folder)) == ("0o777", "0o700")
    with Memory("1GB", tmp_path / "new") as memory:
        assert mode(memory.spill) == "0o700"


@pytest.mark.parametrize("planted", ["link", "file", "of another"])
def test_a_folder_that_others_planted_is_refused(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if planted == "link":
        (tmp_path / "theirs").mkdir()
        user_folder().symlink_to(tmp_path / "theirs")
        said = "is a link"
    elif planted == "file":
        user_folder().write_text("")
        said = "is no folder"
    else:
        mine = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
        user_folder().mkdir()
        said = f"belongs to user {mine}, who could read and change what is put there"
    for make in (Folder, Memory, temporary_folder):
        rest = "and temporary files go there: remove it, or set TMPDIR to a folder of yours"
        assert refusal_text(make) == f"{user_folder()}: {said}, {rest}"
    assert names_in(tmp_path / "theirs") == [] if planted == "link" else True


def test_planted_locks_are_no_locks(tmp_path: Path) -> None:
    """A link is not followed, a pipe is not waited for, and what a name points at stays."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    user_folder().mkdir(mode=0o700)
    (user_folder() / "1-00000001.lock").symlink_to(kept / "file")
    os.mkfifo(user_folder() / "1-00000002.lock")
    (user_folder() / "1-00000003").symlink_to(kept)
    (user_folder() / "1-00000003.lock").write_text("")
    clear_abandoned()
    assert names_in(kept) == ["file"]
    assert (user_folder() / "1-00000001.lock").is_symlink() and (user_folder() / "1-00000002.lock").exists()


HOLDER = "from ndcg_ab.temporary import *; f = Folder(); (f.path / 'copy').write_text('x'); print(f.path); input()"


@pytest.mark.parametrize("after", ["another folder", "a spill folder elsewhere", "nothing that needs one"])
def test_what_a_killed_process_left_goes_with_the_next(after: str, place: Path, tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(place)}
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        clear_abandoned()
        assert (left / "copy").exists(), "it is still held"
        process.kill()
    assert (left / "copy").exists()
    if after == "another folder":
        with temporary_folder():
            assert not left.exists()
    else:
        Memory("1GB", tmp_path / "spill", has_folder=after != "nothing that needs one").close()
    assert names_in(place) == []


def test_no_room_for_a_folder_is_a_sentence(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(place / "none" / "file"))
    (place / "none").write_text("")
    with pytest.raises(InputError, match=r"no temporary folder can be made there .*: make room, or set TMPDIR"):
        temporary_folder().__enter__()


def test_a_process_has_one_folder_until_it_ends(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_is_ending", False)
    assert folder_of_process() == folder_of_process()
    assert mode(folder_of_process()) == "0o700"
    temporary.remove_open_folders()
    with pytest.raises(InputError, match="the process ends"):
        temporary_folder().__enter__()
    assert names_in(place) == []


@pytest.mark.slow
def test_nothing_is_left_after_kills() -> None:
    """tests/leaving.py kills more of them."""
    assert leaving.main(["--kills", "2", "--seed", "5"]) == 0


def test_of_the_files_that_are_kept_the_oldest_go(place: Path) -> None:
    others = place / "ndcg-ab-error-mine.log"
    others.write_text("another ending")
    made = []
    for number in range(25):
        made.append(temporary.write_temporary_file(str(number), "ndcg-ab-error-", ".txt"))
        os.utime(made[-1], ns=(number, number))
    made.append(temporary.write_temporary_file("last", "ndcg-ab-error-", ".txt"))
    assert sorted(place.iterdir()) == sorted([others, *made[16:]])
    assert made[-1].read_text() == "last"
