"""Where a command may write: never two files in one place."""

from pathlib import Path

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.outputs import Output


@pytest.mark.parametrize("other", ["page.html", "./page.html", "there/../page.html", "link.html", "also/page.html"])
def test_one_file_under_two_names_is_named_twice(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("link.html").symlink_to("page.html")
    Path("also").symlink_to(".")
    with pytest.raises(InputError, match=r"^--report and --json both name page\.html: one would overwrite the other$"):
        Output([], report=Path("page.html"), csv=None, json=other)
    Output([], report=Path("page.html"), json="there/page.html")
