"""Every command and setting that docs/scheduling.md prints exists; `tests/slow/test_scheduling_page.py` runs them."""

import re

import pytest
import typer.main

from ndcg_ab.flows.cli.app import app
from tests.paths import ROOT

pytestmark = pytest.mark.slow  # Prefect is imported
TEXT = (ROOT / "docs" / "scheduling.md").read_text(encoding="utf-8")
TOOL = r"(?:prefect|ndcg-ab) (?:--no-prompt )?[a-z]"
START = rf"(?m)^(?:ExecStart=\S+/)?({TOOL}.*?)(?: +#.*| &)?$"  # a line of a block
INLINE = rf"`({TOOL}[^`]*)`"


def printed_commands() -> list[str]:
    """In blocks and in sentences, where they may go over two lines."""
    blocks = re.findall(r"```(?:sh|ini)\n(.*?)```", TEXT, flags=re.DOTALL)
    lines = [command for block in blocks for command in re.findall(START, block)]
    inline = [
        " ".join(command.split()) for command in re.findall(INLINE, re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))
    ]
    return list(dict.fromkeys(lines + inline))


PRINTED = printed_commands()
COMMANDS = typer.main.get_command(app).commands


def test_the_page_has_commands() -> None:
    """Those of both set-ups, of the services and of a sentence are found."""
    assert {
        "prefect --no-prompt server start --background",
        "prefect server start --host 127.0.0.1 --port 4200",
        "prefect deployment run ndcg-ab/nightly --param force=true --watch",
        "prefect automation create --from-file automation.yaml",
        "ndcg-ab deploy nightly.yaml --pool local",
    } <= set(PRINTED)


@pytest.mark.parametrize("command", PRINTED)
def test_every_printed_command_exists(command: str) -> None:
    """With its options and values: it is parsed by the program itself, and not run."""
    program, *words = command.split()
    if program == "prefect":
        from prefect.cli import _app

        words = [word for word in words if word != "--no-prompt"]  # of the program, before any command
        _app._app.parse_args(words, exit_on_error=False, print_error=False)
    else:
        is_name = len(words) == 1  # of a sentence, without what it takes
        COMMANDS[words[0]].make_context(words[0], words[1:], resilient_parsing=is_name)


def test_every_printed_setting_of_prefect_exists() -> None:
    from prefect import settings
    from prefect.logging.configuration import DEFAULT_LOGGING_SETTINGS_PATH, load_logging_config
    from prefect.utilities.collections import dict_to_flatdict

    keys: dict[tuple[str, ...], object] = dict_to_flatdict(load_logging_config(DEFAULT_LOGGING_SETTINGS_PATH))
    logging = {"PREFECT_LOGGING_" + "_".join(key).upper() for key in keys}
    named = set(re.findall(r"PREFECT_[A-Z_]+", TEXT))
    assert len(named) >= 5
    assert {name for name in named if not hasattr(settings, name)} <= logging
