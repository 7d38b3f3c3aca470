"""Files, exceptions, cells and names that are meant to hurt: told in one line, and nothing that a terminal obeys."""

import errno
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

from ndcg_ab.flows.cli.exit_codes import LONGEST, fit_lines
from ndcg_ab.visible import find_formulas
from tests.commands import invoke, sentences
from tests.inputs import write_judgments, write_rankings
from tests.paths import DATA, ROOT
from tests.repeated import mostly_soaked
from tests.small_evaluation import nights

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


ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eexe\u2066\u200b\ufeff\x1b[8m"
WORD = f"q{ESCAPES}[link=http://evil.example]x[/link][bold]:smile:"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]")
QUERY_IDS = [f"{WORD}{number}" for number in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judgments, two rankings, queries with texts and slices, in a folder that is called so too."""
    made = tmp_path_factory.mktemp("hostile") / f"d{ESCAPES}[red]"
    made.mkdir()
    docs = [f"{WORD}d{number}" for number in range(3)]
    write_judgments(made / "judgments.qrels", {query: {docs[at % 3]: 1} for at, query in enumerate(QUERY_IDS)})
    write_rankings(made, {"old": dict.fromkeys(QUERY_IDS, docs), "new": dict.fromkeys(QUERY_IDS, docs[::-1])})
    rows = [f'"{query}","text {WORD}","{WORD}{number % 2}"\n' for number, query in enumerate(QUERY_IDS)]
    (made / "queries.csv").write_text(f'query_id,text,"kind{ESCAPES}"\n{"".join(rows)}', encoding="utf-8")
    (made / "broken.csv").write_text(f"query_id,doc_id,score\n{WORD},d1,high{ESCAPES}\n", encoding="utf-8")
    (made / "columns.csv").write_text(f"query_id,doc{ESCAPES},score\nq,d,1\n", encoding="utf-8")
    files = "queries: {file: queries.csv}\nsystems:\n  - {name: old, file: old.run}\n  - {name: new, file: new.run}"
    (made / "e.yaml").write_text(f"name: e\njudgments: {{file: judgments.qrels}}\n{files}\nmetrics: [ndcg@2]\n")
    nights(made / "kept", 2)
    files = "judgments: judgments.qrels\nsystems: [{name: old, file: old.run}, {name: new, file: new.run}]\n"
    (made / "kept" / "inputs" / "config.yaml").write_text(f"name: small\noutput: ../out\n{files}")
    return made


def commands(folder: Path, width: int = 200) -> dict[str, tuple[list[str], int]]:
    """Command -> its arguments, its exit code."""
    data = ["--judgments", str(folder / "judgments.qrels"), "--metric", "ndcg@2"]
    systems = ["--system", f"old={folder / 'old.run'}", "--system", f"new={folder / 'new.run'}"]
    sliced = ["--queries", str(folder / "queries.csv"), "--slice", f"kind{ESCAPES}", "--smallest-slice", "6"]
    compare = ["compare", *data, *systems]
    init = ["init", *(str(folder / name) for name in INIT), "--output-file"]
    return {
        "compare": ([*compare, *sliced, "--gate"], 0),
        "a gate that fails": ([*compare, "--require", "judged=1"], 1),
        "details": ([*compare, *sliced, "--details"], 0),
        "all pairs": ([*compare, *sliced, "--details", "--all-pairs"], 0),
        "markdown": ([*compare, *sliced, "--markdown", "-"], 0),
        "json": ([*compare, *sliced, "--json", "-"], 0),
        "explain": (["explain", *data, *systems[:2], "--query", QUERY_IDS[3], "--metric", "recall@2"], 0),
        "explain nothing": (["explain", *data, *systems[:2], "--query", f"no{ESCAPES}"], 2),
        "sensitivity": (["sensitivity", *data[:2], *systems, "--cutoff", "2", "--resamples", "100"], 0),
        "draw": (["draw", str(folder / "old.run"), str(folder / "new.run"), *sliced[:2], "-n", "5"], 0),
        "judge-next": (["judge-next", *data[:2], *systems], 0),
        "judgments": (["judgments", data[1], data[1], *systems], 0),
        "power": (["power", "--deviation", "0.2", "--effect", "0.05"], 0),
        "check": (["check", str(folder / "e.yaml")], 0),
        "history": (["history", str(folder / "kept" / "inputs" / "config.yaml")], 0),
        "metrics": (["help", "metrics"], 0),
        "findings": (["help", "findings"], 0),
        "options": (["compare", "--help-all"], 0),
        "no configuration": (["check", str(folder / f"none{ESCAPES}.yaml")], 2),
        "an unknown key": (["check", str(folder / "e.yaml"), "--set", f"na{ESCAPES}=1"], 2),
        "init": ([*init, str(folder / "new.yaml"), "--force"], 0),
        "init prints": ([*init, "-"], 0),
        "example": (["example", str(folder / f"example{width}")], 0),
        "no history": (["history", str(folder / "e.yaml")], 2),
        "no bundle": (["publish", str(folder / f"none{ESCAPES}")], 2),
        "no scores": (["power", "--scores", str(folder / f"none{ESCAPES}.csv")], 2),
        "a score": ([*compare[:5], "--system", f"a={folder / 'broken.csv'}", *systems], 2),
        "a column": ([*compare[:5], "--system", f"a={folder / 'columns.csv'}", *systems], 2),
        "a metric": (["metrics", f"ndcg{ESCAPES}@10"], 2),
        "an option": ([*compare, f"--al{ESCAPES}", "1"], 2),
        "a name": ([*compare, "--system", f"a{ESCAPES}={folder / 'old.run'}"], 2),
        "a number": ([*compare, "--alpha", f"1{ESCAPES}"], 2),
    }


INIT = ("judgments.qrels", "old.run", "new.run", "queries.csv")


CASES = [(name, width) for name in commands(Path()) for width in (1, 200)]
KEPT = [(name, width) for name, width in CASES if width == 1 or name in ("details", "explain", "json")]


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_soaked(CASES, KEPT), ids=lambda case: f"{case[0]}, {case[1]} columns")
def test_no_command_sends_what_a_terminal_obeys(case: tuple[str, int], folder: Path) -> None:
    name, width = case
    arguments, code = commands(folder, width)[name]
    found: Result = invoke(arguments, env={"COLUMNS": str(width)})
    written = found.stdout_bytes.decode() + found.stderr_bytes.decode()
    assert found.exit_code == code, written
    assert written
    assert not FORBIDDEN.search(written), FORBIDDEN.search(written)
    if case in [("explain", 200), ("details", 200)]:
        assert r"\x1b" in written
    if case == ("explain", 200):
        assert "[link=" in written and ":smile:" in written
    if name == "json":
        assert json.loads(found.stdout)["findings"] is not None


@pytest.mark.slow
def test_commands_print_by_the_functions_that_show_what_is_hidden() -> None:
    for module in (ROOT / "flows" / "cli").rglob("*.py"):
        calls = set(re.findall(r"(?<![\w.])(print|output_console|echo|secho)\(", module.read_text(encoding="utf-8")))
        allowed = {"console.py": {"print", "output_console"}, "app.py": {"print"}, "about.py": {"print"}}
        allowed |= {"starting.py": {"print"}, "exit_codes.py": {"print"}}
        assert calls <= allowed.get(module.name, set()), module.name
