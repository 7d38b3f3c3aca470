"""The command, called by tests in their own process."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.testing import CliRunner


def invoke(words: Sequence[str], **options: Any) -> Any:
    """Return what a command wrote, and its exit code; options: those of `CliRunner.invoke`."""
    from ndcg_ab.flows.cli.app import app

    return CliRunner().invoke(app, words, **options)


def compare_command(
    folder: Path, *options: str, judgments: str = "qrels", systems: Sequence[str] = ("old", "new")
) -> list[str]:
    """Return the words that compare rankings of a folder; `{}` in an option stands for the folder."""
    named = [word for name in systems for word in ("--system", f"{name}={folder / name}.run")]
    written = [option.replace("{}", str(folder)) for option in options]
    return ["compare", "--judgments", str(folder / judgments), *named, *written]


def sentences(said: str) -> list[str]:
    """Return the lines on standard error but those that tell how far a slow machine is."""
    return [line for line in said.splitlines() if not re.match(r" *\d+\.\d s  ", line)]


def read_json(words: Sequence[str]) -> Any:
    """Return the JSON that a command writes with `--json -`; it must end with exit code 0."""
    found = invoke([*words, "--json", "-"])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)
