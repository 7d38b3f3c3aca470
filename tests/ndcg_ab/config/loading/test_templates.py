"""Dates and patterns: what an evaluation is at a moment, and what is refused."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.templates import resolve_templates
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from tests.sentences import refusal_text

NIGHT = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)  # half past midnight of the 21st in Berlin
BERLIN = {"cron": "0 2 * * *", "timezone": "Europe/Berlin"}


def evaluation(folder: Path, **changes: Any) -> Evaluation:
    content: dict[str, Any] = {
        "name": "t",
        "directory": folder,
        "judgments": {"file": "qrels"},
        "systems": [{"name": "old", "file": "old.run"}],
    }
    return Evaluation.model_validate(content | changes)


def touched(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")


@pytest.mark.parametrize(
    ("written", "schedule", "expected"),
    [
        ("r-{date}.run", None, "r-2026-11-20.run"),
        ("r-{date}.run", BERLIN, "r-2026-11-21.run"),
        ("{date:%Y/%m}/{date:%d}.run", None, "2026/11/20.run"),
        ("{date:%Y%m%dT%H%M}.run", BERLIN, "20261121T0030.run"),
        ("{date:%s}.run", None, "1795217400.run"),
        ("{date:%s}.run", BERLIN, "1795217400.run"),
        ("{date:%%s %s}.run", BERLIN, "%s 1795217400.run"),
        ("{day}-{date}s-{}.run", None, "{day}-2026-11-20s-{}.run"),
        ("${date}.run", None, "${date}.run"),
    ],
)
def test_dates_are_written_out(written: str, schedule: Any, expected: str, tmp_path: Path) -> None:
    systems = [
        {"name": "old", "file": written, "version": written},
        {"name": "{date}", "python": "a:b", "arguments": {"{date}": [written, {"x": written}], "k": 5}},
    ]
    given = evaluation(tmp_path, judgments={"file": written}, queries={"file": written}, systems=systems)
    found = resolve_templates(
        given.model_copy(update={"schedule": evaluation(tmp_path, schedule=schedule).schedule}), NIGHT
    )
    assert found.queries is not None
    old, live = found.systems
    assert {str(file) for file in (found.judgments.file, found.queries.file, old.file)} == {expected}
    assert old.version == expected
    assert (live.name, live.arguments) == ("{date}", {"{date}": [expected, {"x": expected}], "k": 5})
    assert resolve_templates(found, datetime(2030, 1, 1, tzinfo=UTC)) is found, "what is settled stays"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{date:%Q}", "{date:%Q}: '%Q' is no code of a date; write it as in {date:%Y/%m/%d}"),
        ("{date:%Y%}", "{date:%Y%}: '%' is no code of a date"),
        ("{date:today}", "{date:today}: there is no code of a date in it"),
        ("{date:}", "{date:}: there is no code of a date in it"),
    ],
)
@pytest.mark.parametrize("key", ["file", "version", "arguments"])
def test_a_form_that_is_none_is_refused_when_the_file_is_read(form: str, said: str, key: str, tmp_path: Path) -> None:
    where = {
        "file": f"file: 'x{form}'",
        "version": f"file: x\n    version: 'x{form}'",
        "arguments": f"python: a:b\n    arguments: {{depth: ['x{form}']}}",
    }[key]
    path = tmp_path / "c.yaml"
    path.write_text(f"name: t\njudgments: q\nqueries: q.tsv\nsystems:\n  - name: a\n    {where}\n")
    place = f"systems[0].{key}" + (".depth[0]" if key == "arguments" else "")
    assert refusal_text(read_config, path).startswith(f"{path}: {place} = 'x{form}': {said}")


FILES = ("runs/a.run", "runs/b.v2.run.gz", "runs/2026-11-20.run", "runs/.hidden.run", "qrels-1.txt", "x[1].run")


@pytest.mark.parametrize(
    ("name", "file", "expected"),
    [
        ("{stem}", "runs/*.run*", {"2026-11-20": 0, "a": 0, "b.v2": 0}),
        ("night {stem}", "runs/[ab].*", {"night a": 0, "night b.v2": 0}),
        ("{stem}", "**/{date}.run", {"2026-11-20": 0}),
        ("{stem}", "runs/{date}.run", {"2026-11-20": 0}),
        ("old", "runs/b*", {"old": "runs/b.v2.run.gz"}),
        ("old", "x[1].run", {"old": "x[1].run"}),
        ("old", "runs/{date}.run", {"old": "runs/2026-11-20.run"}),
    ],
)
def test_patterns(name: str, file: str, expected: dict[str, Any], tmp_path: Path) -> None:
    touched(tmp_path, *FILES)
    for given in (file, str(tmp_path / file)):
        if given.startswith("/") and any(expected.values()):
            continue
        found = resolve_templates(evaluation(tmp_path, systems=[{"name": name, "file": given, "version": "v"}]), NIGHT)
        assert [system.name for system in found.systems] == list(expected)
        for system in found.systems:
            assert system.file is not None and found.path(system.file).is_file()
            assert system.version == "v"
            assert expected[system.name] in (0, str(system.file))
        assert resolve_templates(found, NIGHT) is found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"judgments": {"file": "x-?.run"}}, "t: judgments.file = 'x-?.run': no file matches it; in {f} there is x[1]"),
        ({"judgments": {"file": "none/*"}}, "t: judgments.file = 'none/*': no file matches it; there is no folder {f}"),
        (
            {"queries": {"file": "runs/*"}},
            "t: queries.file = 'runs/*': 3 files match it (2026-11-20.run, a.run, b.v2.run.gz); one is needed: name it",
        ),
        (
            {"systems": [{"name": "old", "file": "runs/*.run"}]},
            "t: systems[0].file = 'runs/*.run': 2 files match it (2026-11-20.run, a.run); one is needed: name it,"
            ' make each of them a system with name: "{stem}"',
        ),
        (
            {"systems": [{"name": "{stem}", "file": "runs/a*"}, {"name": "a", "file": "x"}]},
            "t: systems: the name 'a' is given twice",
        ),
        (
            {"systems": [{"name": "{stem}", "file": "runs/*.run"}], "baseline": "c"},
            "t: baseline = 'c': must be one of the systems (2026-11-20, a)",
        ),
    ],
)
def test_patterns_that_are_refused(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    touched(tmp_path, *FILES)
    given = evaluation(tmp_path, **changes)
    assert refusal_text(resolve_templates, given, NIGHT).startswith(said.replace("{f}", str(tmp_path)))


def test_the_python_api_finds_files_too(tmp_path: Path) -> None:
    from ndcg_ab import evaluate

    with pytest.raises(InputError, match=r"^t: judgments\.file = 'q\*': no file matches it; the folder .* is empty$"):
        evaluate(evaluation(tmp_path, judgments={"file": "q*"}))
