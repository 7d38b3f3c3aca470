"""Build the command line from its commands, which parse options and call plain functions of other modules."""

import gc
from functools import partial
from inspect import getdoc
from typing import Any

import typer

from ndcg_ab import __version__

from .base_command import Command
from .commands import about, comparing, judging, judgments, planning, running, starting
from .exit_codes import TOPICS, Program
from .options import option

OBJECTS = 50_000  # new ones after which Python looks for circles; after 700 it takes a fifth of MLflow's import

app = typer.Typer(
    name="ndcg-ab",
    cls=Program,
    help="Is this ranker version better than that one, by how much, and can the data settle it?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def show_version(is_requested: bool) -> None:
    if is_requested:
        print(f"ndcg-ab {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = option(None, "Print the version and exit.", "--version", callback=show_version, is_eager=True),
) -> None:
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


explaining = typer.Typer(name="help", no_args_is_help=True, help="Explain what there is, or another command.")
for group in (comparing, judging, judgments, planning, running, starting, about):
    for command in group.COMMANDS:
        name, is_topic = command.__name__.replace("_", "-"), command.__name__ in TOPICS
        text, _, example = (getdoc(command) or "").rpartition("\n\nExample: ndcg-ab ")
        for tree, words in ((app, ""), (explaining, "help ")) if is_topic else ((app, ""),):
            cls: Any = partial(Command, command)  # which makes the command's own options when they are needed
            epilog = f"Example: ndcg-ab {words}{' '.join(example.split())}"
            tree.command(name, cls=cls, help=text, epilog=epilog)(lambda: None)
app.add_typer(explaining)
