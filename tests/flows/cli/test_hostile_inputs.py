"""Files, exceptions and cells that are meant to hurt: each is told in one line, which names what it is about."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.flows.cli.exit_codes import LONGEST, fit_lines
from ndcg_ab.visible import find_formulas
from tests.commands import invoke, sentences
from tests.paths import DATA, ROOT

QRELS, RUN, NEW, QUERIES = (str(DATA / name) for name in ("judgments.qrels", "old.run", "new.run", "queries.tsv"))


def refused(*words: str) -> str:
    """The one line that a command ends with, and exit code 2."""
    found = invoke(words)
    assert (found.exit_code, found.stdout) == (2, ""), found.output
    (said,) = sentences(found.stderr)
    assert found.stderr.endswith(f"{said}\n") and len(said) < 3000
    return said


@pytest.mark.parametrize("command", ["check", "run", "history", "publish", "deploy"])
def test_links_that_lead_in_a_circle(command: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").symlink_to(tmp_path / "d.yaml")
    (tmp_path / "d.yaml").symlink_to(tmp_path / "c.yaml")
    assert "c.yaml" in refused(command, str(tmp_path / "c.yaml"))


@pytest.mark.parametrize("key", ["judgments", "output", "resources.spill"])
def test_such_links_inside_of_a_configuration(key: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "pool")
    (tmp_path / "pool").symlink_to(tmp_path / "loop")
    path = tmp_path / "c.yaml"
    path.write_text(f"name: t\njudgments: {QRELS}\nsystems: [{{name: a, file: {RUN}}}]\n")
    assert "loop" in refused("check", str(path), "--set", f"{key}={tmp_path / 'loop'}")


def test_nothing_follows_links_in_a_way_that_circles_break() -> None:
    """Path.resolve raises RuntimeError; `ndcg_ab.files.resolve_path` leaves it to whoever opens the path."""
    sources = [path for folder in ("ndcg_ab", "flows") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in sources if ".resolve()" in path.read_text(encoding="utf-8")] == []


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    (folder / "c.yaml").write_text(f"name: t\njudgments: {QRELS}\nsystems: [{{name: a, file: {RUN}}}]\n")
    assert "is no UTF-8 text: rename it" in refused("check", str(folder / "c.yaml"))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert "is no UTF-8 text: rename it" in refused("check", "c.yaml")
    finally:
        os.chdir(before)


def test_an_exception_that_cannot_say_itself(tmp_path: Path) -> None:
    (tmp_path / "mute.py").write_text(
        "class Mute(Exception):\n    def __str__(self): raise ValueError('no')\n    __repr__ = __str__\n"
        "def search(queries):\n    raise Mute\n"
    )
    path = tmp_path / "c.yaml"
    path.write_text(f"name: t\njudgments: {QRELS}\nqueries: {QUERIES}\nsystems: [{{name: a, python: 'mute:search'}}]\n")
    assert "python = 'mute:search' failed: Mute" in refused("check", str(path))


class Unreadable(io.RawIOBase):
    """A file that the kernel opens, and whose bytes it does not give."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize(
    "words",
    [
        ("check", "{}"),
        ("check", "--system", "a={}", "--judgments", QRELS),
        ("compare", "--judgments", "{}", "--system", f"a={RUN}"),
        ("compare", "--judgments", QRELS, "--system", f"a={RUN}", "--queries", "{}"),
        ("compare", "--scores", "a={}"),
        ("power", "--scores", "{}"),
        ("init", "{}", "--output-file", "-"),
    ],
    ids=" ".join,
)
def test_a_file_that_the_kernel_does_not_read_is_named(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sick.csv"
    path.write_text("q1 0 a 1\n")
    real = Path.open

    def opened(self: Path, *options: Any, **more: Any) -> Any:
        return io.BufferedReader(Unreadable()) if self == path else real(self, *options, **more)

    monkeypatch.setattr(Path, "open", opened)
    said = refused(*(word.replace("{}", str(path)) for word in words))
    assert "sick.csv" in said and "Input/output error" in said


@pytest.mark.parametrize("command", ["compare", "power"])
def test_scores_that_zstd_packed(command: str, tmp_path: Path) -> None:
    """As rankings are read; what is wrong with them is said of the file that was given."""
    text = "system_id,query_id,metric,value\n" + "".join(
        f"{system},q{at},m,{(at % 7 + shift) / 10}\n" for system, shift in (("a", 0), ("b", 1)) for at in range(30)
    )
    for name, content in (("s.csv.zst", text), ("bad.csv.zst", text + "a,q1,m,x\n")):
        with pa.output_stream(str(tmp_path / name), compression="zstd") as file:
            file.write(content.encode())
    found = invoke([command, "--scores", str(tmp_path / "s.csv.zst")])
    assert found.exit_code == 0, found.output
    said = refused(command, "--scores", str(tmp_path / "bad.csv.zst"))
    assert f"{tmp_path / 'bad.csv.zst'}" in said and "value = 'x': must be a number" in said and "ndcg-ab-" not in said


def test_a_home_folder_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.sources.files import parts

    monkeypatch.setattr(parts, "MOST_PARTS", 20)
    for at in range(30):
        (tmp_path / f"{at}.txt").touch()
    said = refused("compare", "--judgments", QRELS, "--system", f"a={tmp_path}")
    assert "is a folder of more than 20 files: name the one that is meant" in said


def test_formulas_are_texts_that_a_spreadsheet_computes() -> None:
    texts = ["=1+1", "+cmd", "-x", "@a", "-1.5", "+3", "-", "a=b", "", None, 3, "1e5", "-inf", "=1+1"]
    assert find_formulas(texts) == ["=1+1", "+cmd", "-x", "@a", "-", "=1+1"]


@pytest.mark.slow
def test_ids_that_are_formulas_are_said_where_csv_is_written(tmp_path: Path) -> None:
    for source, target in ((QRELS, "q"), (RUN, "a"), (NEW, "b")):
        (tmp_path / target).write_text(Path(source).read_text().replace("bread", "=bread()"))
    words = ["--judgments", "q", "--system", "a=a", "--system", "b=b"]
    words = [str(tmp_path / word) if word == "q" else word.replace("=", f"={tmp_path}/") for word in words]
    found = invoke(["compare", *words, "--resamples", "100", "--per-query", str(tmp_path / "s.csv")])
    assert found.exit_code == 0
    assert "1 text begins with =, +, - or @, as '=bread()' does: a spreadsheet takes that" in found.stderr
    assert "=bread()" in (tmp_path / "s.csv").read_text()
    assert invoke(["compare", *words, "--per-query", str(tmp_path / "s.parquet")]).stderr.count("=bread") == 0
    found = invoke(["judge-next", *words, "--csv", str(tmp_path / "n.csv"), "-n", "1000"])
    is_valid_text = "=bread()" in (tmp_path / "n.csv").read_text()
    assert (found.exit_code, "as '=bread()' does" in found.stderr) == (0, is_valid_text)


def test_a_message_has_an_end() -> None:
    lines = [f"line {at} " + "x" * 90 for at in range(99)]
    told = fit_lines(lines)
    assert told[:5] == lines[:5] and told[-1] == f"… and {99 - len(told) + 1} more such lines"
    assert sum(len(line) + 10 for line in told) <= LONGEST + 100
    assert fit_lines(lines[:3]) == lines[:3]
    assert [len(line) for line in fit_lines(["y" * 50_000])] == [1201]
