"""Where a command may write: never two files in one place."""

from pathlib import Path

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.outputs import refuse_one_file_twice


@pytest.mark.parametrize("other", ["page", "./page", "there/../page", "link", "also/page"])
def test_one_file_under_two_names_is_named_twice(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("link").symlink_to("page")
    Path("also").symlink_to(".")
    with pytest.raises(InputError, match=r"^--report and --json both name page: one would overwrite the other$"):
        refuse_one_file_twice({"--report": Path("page"), "--csv": None, "--json": Path(other)})
    refuse_one_file_twice({"--report": Path("page"), "--json": Path("there/page")})
