"""A command line that cannot be parsed, in one sentence that says what to write instead."""

from typing import Any

import typer
from typer.core import TyperCommand

from .console import complain


class Command(TyperCommand):
    """A command that knows the usual slip: ``--system NAME FILE`` for ``--system NAME=FILE``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for option, name, file in zip(args, args[1:], args[2:], strict=False):
            if option == "--system" and "=" not in name and not file.startswith("-"):
                complain(f"--system {name} {file}: must be NAME=FILE; say --system {name}={file}")
                raise typer.Exit(2)
        return super().parse_args(ctx, args)
