"""The command, called by tests in their own process."""

from collections.abc import Sequence
from typing import Any

from typer.testing import CliRunner


def invoke(words: Sequence[str], **options: Any) -> Any:
    """Return what a command wrote, and its exit code; options: those of `CliRunner.invoke`."""
    from ndcg_ab.flows.cli.app import app

    return CliRunner().invoke(app, words, **options)
