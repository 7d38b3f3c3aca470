"""`--help` of commands with many options: those that are used most; `--help-all` shows every one."""

from typing import Annotated, Any

import typer

from .mistakes import Command

MOST_USED = frozenset(
    """system metric smallest_effect guardrail queries slice gate report json markdown details explain candidate count
    csv output sheet kept deviation gain discount ideal cutoff picture help_all""".split()  # noqa: SIM905  (words are easier to read)
)


class ShortHelp(Command):
    """A command with `--help-all` among its options."""

    shows_all = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        left_out = [each for each in self.params if each.param_type_name == "option" and each.name not in MOST_USED]
        for each in left_out:
            each.hidden = not self.shows_all  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in left_out:
                each.hidden = False  # type: ignore[attr-defined]  # shells complete it


def show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted and isinstance(ctx.command, ShortHelp):
        ctx.command.shows_all = True
        try:
            typer.echo(ctx.get_help(), color=ctx.color)
        finally:
            ctx.command.shows_all = False
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, callback=show_all, help="Show every option, and exit."),
]
