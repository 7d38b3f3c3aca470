"""A command: what its help shows, what it cannot do here, and what to write instead of what cannot be parsed."""

import os
import re
import resource
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ndcg_ab.errors import InputError, format_value, shortened
from ndcg_ab.files import unusable

from .exit_codes import TOPICS, write_error
from .inputs import replace_pipes
from .light_imports import import_lightly
from .options import add_options

MOST_OF_PATH = 60  # characters of a path that cannot be used: its end, where its name is
LONGEST_COMPLAINT = 600  # characters of a parser's own words, which repeat a value
UsageError: Any = typer.BadParameter.__mro__[1]  # of click, or of the copy of it that a newer typer holds
LEAST, FOR_A_CORE = 2_500_000_000, 250_000_000  # bytes; measured: 2 cores work with 3 GB, and not with 2 GB
MOST_USED = frozenset(
    """system metric smallest_effect guardrail queries slice gate report json markdown details explain candidate count
    csv output_file sheet kept deviation gain discount ideal cutoff picture help_all""".split()  # noqa: SIM905  (words are easier to read)
)


class Command(TyperCommand):
    """A command that knows the usual slips, such as a configuration for options.

    Its options are made when they are needed: they are read from the models of a configuration, which take a while to
    import, and a list of all commands needs none.
    """

    def __init__(self, function: Callable[..., None], **settings: Any) -> None:
        super().__init__(**settings)
        self.function = function
        del self.params  # set by click, and in the way of the options below

    @cached_property
    def params(self) -> list[Any]:  # type: ignore[override]
        """The options and arguments of the function, which is called with them from now on."""
        alone = typer.Typer(add_completion=False)
        alone.command()(add_options(self.function))
        made = typer.main.get_command(alone)
        self.callback = made.callback
        return made.params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {option for each in self.params for option in each.opts}
        args = insert_gate_word(args)
        for given in args:
            if problem := unusable(given):
                write_error(f"{format_value(given[-MOST_OF_PATH:])}: {problem}")
                raise typer.Exit(2)
        if said := find_mistake(str(self.name), options, args):
            write_error(said)
            raise typer.Exit(2)
        try:
            if said := find_repeated_option(self.make_parser(ctx).parse_args(list(args))[2]):
                write_error(said)
                raise typer.Exit(2)
            return super().parse_args(ctx, list(args))
        except UsageError as error:
            if said := explain_number(error, args):
                write_error(said)
                raise typer.Exit(2) from None
            error.message = shortened(str(error.message), LONGEST_COMPLAINT)
            raise

    def invoke(self, ctx: Any) -> Any:
        refuse_little_room()
        if self.name not in (*TOPICS, "sql"):  # which read no data
            import_lightly()
        ctx.params = replace_pipes(str(self.name), ctx.params)
        return super().invoke(ctx)


class ShortHelp(Command):
    """A command with `--help-all` among its options."""

    shows_all = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        left_out = [each for each in self.params if each.param_type_name == "option" and each.name not in MOST_USED]
        for each in left_out:
            each.hidden = not self.shows_all
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in left_out:
                each.hidden = False  # shells complete it


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


def refuse_little_room() -> None:
    """Raise InputError if `ulimit -v` leaves too little address space for what numpy, Arrow and DuckDB map when loaded.

    With less OpenBLAS tries to allocate for ever, and threads of the others end the process without a word.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = LEAST + FOR_A_CORE * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise InputError(
            f"ulimit -v: {limit / 1e6:,.0f} MB of address space are too little, {needed / 1e6:,.0f} MB are needed, most"
            " of them never used: raise it; what DuckDB may use is said by resources.memory_limit"
        )


def find_repeated_option(given: Sequence[Any]) -> str | None:
    """Return the sentence about an option that takes one value and has several; given: a parameter for each value."""
    for each in given:
        takes_one = each.param_type_name == "option" and not each.multiple and not each.count
        if takes_one and (not each.is_flag or each.secondary_opts) and given.count(each) > 1:
            return f"{each.opts[0]}: is given {given.count(each)} times, and takes one value: give it once"
    return None


def insert_gate_word(args: Sequence[str]) -> list[str]:
    """``--gate proof`` as ``--gate --require proof``: an option with a value or without one is none that typer has."""
    found: list[str] = []
    for given in args:
        found += ["--require", given] if given == "proof" and found[-1:] == ["--gate"] else [given]
    return found


def find_mistake(command: str, options: set[str], args: Sequence[str]) -> str | None:
    """What is wrong with arguments that no parser has to see."""
    from ndcg_ab.config.loading.hints import removed_key_text

    if "--system" not in options:
        return None
    for option in {each.partition("=")[0] for each in args} - options:
        if removed := removed_key_text(f"statistics.{option.removeprefix('--')}"):
            return f"{option} {removed}"
    if args and "--set" not in options and re.fullmatch(r"[^-].*\.ya?ml", args[0]):
        return f"{command} {args[0]}: takes files, not a configuration; say ndcg-ab run {args[0]}"
    return None


def explain_number(error: Any, args: Sequence[str]) -> str | None:
    """Return the sentence about a value that is no number, which the parser does not name; None for other errors."""
    from ndcg_ab.config.loading.hints import is_number, plain_number

    found = re.search(r" valid (float|number|int)", str(error.message))
    for option, after in zip(args, [*args[1:], ""], strict=False):
        name, equals, value = option.partition("=")
        text = value if equals else after
        if found and name in error.param.opts:
            if found[1] == "int" and not re.fullmatch(r"[+-]?\d+", text):
                return f"{name} {text!r}: must be a whole number"
            if found[1] != "int" and not is_number(text):
                meant = plain_number(text)
                return f"{name} {text!r}: must be a number" + (f"; say {name} {meant}" if meant else "")
    return None
