"""The command, called by tests in their own process."""

import json
from collections.abc import Sequence
from typing import Any

from typer.testing import CliRunner


def invoke(words: Sequence[str], **options: Any) -> Any:
    """Return what a command wrote, and its exit code; options: those of `CliRunner.invoke`."""
    from ndcg_ab.flows.cli.app import app

    return CliRunner().invoke(app, words, **options)


def read_json(words: Sequence[str]) -> Any:
    """Return the JSON that a command writes with `--json -`; it must end with exit code 0."""
    found = invoke([*words, "--json", "-"])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)
