"""Options that take one value, given twice: refused by every command."""

from typing import Any

import pytest
import typer

from flows.cli.app import app
from tests.commands import invoke

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SINGLE = [
    (name, option)
    for name, command in COMMANDS.items()
    for each in command.params
    if each.param_type_name == "option" and not each.multiple and not each.is_flag
    for option in each.opts
]


@pytest.mark.parametrize(("command", "option"), SINGLE)
def test_an_option_that_takes_one_value_takes_no_second(command: str, option: str) -> None:
    for given in ([option, "1", option, "2"], [option, "1", "x.run", option, "1"]):
        found = invoke([command, *given])
        assert (found.exit_code, found.stdout) == (2, "")
        assert "is given 2 times, and takes one value: give it once\n" in found.stderr, found.stderr


def test_another_spelling_of_an_option_counts() -> None:
    for given in (["--qrels", "a", "--judgments", "b"], ["--judgments=a", "--qrels=b"], ["--bounds", "--no-bounds"]):
        assert "is given 2 times" in invoke(["compare", *given]).stderr


def test_all_commands_are_there_and_several_values_are_taken_by_others() -> None:
    assert len({name for name, _ in SINGLE}) > 12 and len(SINGLE) > 100
    text = invoke(["compare", "--metric", "ap", "--metric", "rr", "--strict", "--strict"]).stderr
    assert "is given" not in text and "--judgments: is missing" in text
