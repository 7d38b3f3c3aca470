"""Parse the arguments of a command, and suggest a correct command line for arguments that cannot be parsed."""

import contextlib
import itertools
import os
import re
import resource
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from ndcg_ab.errors import InputError, format_value, shorten
from ndcg_ab.extensions import hide_packages, skip_package_code
from ndcg_ab.files import CONFIGURATIONS, new_name, path_fault
from ndcg_ab.visible import is_number

from .console import program_name
from .exit_codes import TOPICS
from .inputs import can_only_be, replace_pipes
from .options import add_options, option

MOST_OF_PATH = 60  # characters of a path that cannot be used: its end, where its name is
LONGEST_COMPLAINT = 600  # characters of a parser's own words, which repeat a value
UsageError: Any = typer.BadParameter.__mro__[1]  # of click, or of the copy of it that a newer typer holds
# What other tools, or other commands, call an option -> ours, of which the first that a command has is meant.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("-m", "--metrics", "--measure"), ("--metric",)),
    **dict.fromkeys(("-k", "--cutoff", "--cutoffs"), ("--cutoff", "--metric ndcg@")),
    **dict.fromkeys(("-n", "--limit", "--top"), ("--count", "--last")),
    **dict.fromkeys(("-v", "--verbose"), ("--details", "--explain")),
    **dict.fromkeys(("-o", "--out", "--output"), ("--output-file", "--json")),
    **dict.fromkeys(("--effect", "--min-effect"), ("--smallest-effect",)),
    **dict.fromkeys(("-b", "--control"), ("--baseline",)),
    **dict.fromkeys(("-s", "--silent"), ("--quiet",)),
    "--html": ("--report", "--sheet"),
}
LIKE = 0.8  # how much of an option's name must be right for it to be meant
LONGEST_VALUE = 100  # characters of KEY=VALUE that is taken for an option
JUDGMENTS_FIRST = ("compare", "explain", "sensitivity", "judge-next")  # commands whose first file they are
OF_CONFIGURATIONS = ("config", "configs", "bundle")  # arguments that are a configuration, or its results
LEAST, FOR_A_CORE = 2_500_000_000, 250_000_000  # bytes; measured: 2 cores work with 3 GB, and not with 2 GB
MOST_USED = frozenset(
    """system metric smallest_effect guardrail queries slice gate report json markdown details explain candidate count
    csv output_file sheet kept deviation gain discount ideal cutoff picture help_all""".split()  # noqa: SIM905  (words are easier to read)
)


class Command(TyperCommand):
    """A command that answers common mistakes with a command to paste.

    A common mistake is a configuration in the place of data files. The options are made from the models of a
    configuration when `params` is first read. Importing these models takes a while, and a list of all commands needs no
    options.
    """

    def __init__(self, function: Callable[..., None], **settings: Any) -> None:
        super().__init__(**settings)
        self.function = function
        self.is_short = "help_all" in function.__annotations__  # whether --help lists only the most used options
        del self.params  # set by click, and in the way of the options below

    @cached_property
    def params(self) -> list[Any]:  # type: ignore[override]
        """The options and arguments of the command, made when they are first needed."""
        alone = typer.Typer(add_completion=False)
        alone.command()(add_options(self.function))
        made = typer.main.get_command(alone)
        self.callback = made.callback
        return made.params

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = rewrite_gate_option(args)
        for given in args:
            if problem := path_fault(given):
                raise InputError(f"{format_value(given[-MOST_OF_PATH:])}: {problem}")
        extra: list[str] = []
        try:
            for sentence in find_mistakes(self, args):
                raise InputError(sentence)
            parser: Any = self.make_parser(ctx)
            _, extra, used = parser.parse_args(list(args))
            for each in used:
                takes_one = each.param_type_name == "option" and not each.multiple and not each.count
                if takes_one and (not each.is_flag or each.secondary_opts) and (count := used.count(each)) > 1:
                    raise InputError(f"{each.opts[0]}: is given {count} times, and takes one value: give it once")
            return super().parse_args(ctx, list(args))
        except UsageError as error:
            raise InputError(next(explain_usage(self, error, args, extra))) from None

    def invoke(self, ctx: Any) -> Any:
        refuse_small_address_space()
        if self.name not in (*TOPICS, "sql"):  # which read no data
            import_without_extras()
        ctx.params = replace_pipes(str(self.name), ctx.params)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        left_out = [each for each in self.params if each.param_type_name == "option" and each.name not in MOST_USED]
        for each in left_out:
            each.hidden = self.is_short
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in left_out:
                each.hidden = False  # shells complete it


def show_all(ctx: typer.Context, is_requested: bool) -> None:
    if is_requested and isinstance(ctx.command, Command):
        ctx.command.is_short = False
        try:
            typer.echo(ctx.get_help(), color=ctx.color)
        finally:
            ctx.command.is_short = True
        raise typer.Exit


HELP_ALL = option(None, "Show every option, and exit.", "--help-all", is_eager=True, callback=show_all)


def refuse_small_address_space() -> None:
    """Raise InputError if `ulimit -v` leaves too little address space for numpy, Arrow and DuckDB.

    If the address space is too small, OpenBLAS retries to allocate forever, and threads of the other libraries end the
    process without a message.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = LEAST + FOR_A_CORE * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise InputError(
            f"ulimit -v: {limit / 1e6:,.0f} MB of address space are too little, {needed / 1e6:,.0f} MB are needed, most"
            " of them never used: raise it; what DuckDB may use is said by resources.memory_limit"
        )


def rewrite_gate_option(args: Sequence[str]) -> list[str]:
    """Return the arguments with ``--gate proof`` replaced by ``--gate --require proof``.

    This is needed because an option of typer cannot have an optional value.
    """
    found: list[str] = []
    for given in args:
        found += ["--require", given] if given == "proof" and found[-1:] == ["--gate"] else [given]
    return found


def find_mistakes(command: Command, args: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each common mistake in the arguments.

    Most sentences end with a command to paste. A common mistake is a configuration in the place of data files, or an
    option without its dashes.
    """
    program, name = program_name(), command.name
    options = {option for each in command.params for option in each.opts}
    files = list(itertools.takewhile(lambda each: not each.startswith("-"), args))
    is_config = bool(files) and files[0].endswith(CONFIGURATIONS)
    takes_config = any(each.name in OF_CONFIGURATIONS for each in command.params)
    if (takes_config or name == "draw") and files and not is_config and Path(files[0]).is_file():
        from ndcg_ab.studies.first_configuration import is_configuration

        if takes_config and not is_configuration([Path(files[0])]):
            given = shlex.join(files if len(files) > 1 else [*files, "BASELINE", "CANDIDATE"])
            yield (
                f"{name} {files[0]}: takes a configuration, and this is data → {program} compare {given}, or for a"
                f" configuration: {program} init {given}"
            )
        if name == "draw" and can_only_be("judgments", files[0], "ranking"):
            how = shlex.join([*args[1:], "--judgments", files[0]])
            yield f"{files[0]}: looks like judgments, and draw takes rankings → {program} draw {how}"
    is_named = any(each.startswith(("--judgments", "--qrels")) for each in args)
    if name in JUDGMENTS_FIRST and files and not is_named and can_only_be("ranking", files[0], "judgments"):
        first = [each for each in files if can_only_be("judgments", each, "ranking")] or ["JUDGMENTS"]
        how = shlex.join([*first, *(each for each in args if each not in first)])
        yield f"{files[0]}: looks like a ranking, and judgments come first → {program} {name} {how}"
    if is_config and "--set" in options and len(files) > 1 and not files[1].endswith(CONFIGURATIONS):
        yield f"{files[1]}: goes without a configuration, which names files → {program} {name} {shlex.quote(files[0])}"
    for given in files:
        several = re.split(r"[\s,]+", given)
        if len(several) > 1 and all(Path(each).is_file() for each in several) and not Path(given).exists():
            rest = [part for each in args for part in (several if each == given else [each])]
            yield f"{given}: is no file, and its parts are → {program} {name} {shlex.join(rest)}"
    if "--system" not in options:
        return
    for before, given in zip(["", *args], args, strict=False):
        option, equals, value = given.partition("=")
        is_text = (
            len(given) < LONGEST_VALUE and not before.startswith("-") and not re.search(r"[/\\]|\.[A-Za-z]", value)
        )
        if equals and f"--{option}" in options and is_text and not Path(given).exists() and not Path(value).exists():
            changed = [part for each in args for part in ([f"--{option}", value] if each == given else [each])]
            yield f"{given}: is no file → {program} {name} {shlex.join(changed)}"
        if before == "--gate" and re.fullmatch(r"\w+", given) and not Path(given).exists():
            rest = [each for each in args if each != given]
            yield f"--gate {given}: is neither proof nor a file → {program} {name} {shlex.join(rest)}"
    if is_config and "--set" not in options:
        yield f"{name} {files[0]}: takes files, not a configuration; say ndcg-ab run {files[0]}"


def explain_usage(command: Command, error: Any, args: Sequence[str], extra: Sequence[str]) -> Iterator[str]:
    """Yield sentences that explain an error of the parser, the most specific first.

    At least one sentence is yielded, and the caller shows only the first. Most sentences end with a command that works.
    error: the error of the parser. extra: arguments that the command does not take.
    """
    from ndcg_ab.config.loading.hints import guess_positive_number

    program, name = f"{program_name()} {command.name}", getattr(error, "option_name", "")
    message, parameter = str(error.message), vars(error).get("param")
    args = [
        "KEY=VALUE" if before == "--set" else each for before, each in zip(["", *args], args, strict=False)
    ]  # secret
    options = {option: each for each in command.params for option in each.opts}
    if hasattr(error, "possibilities"):
        known = [each for each in OTHER_NAMES.get(name, ()) if each.partition(" ")[0] in options]
        meant = [*known, *get_close_matches(name, options, 1, LIKE)]
        lists = f"{program} {'--help-all' if '--help-all' in options else '--help'}"
        how = f"{program} {replace_option(args, name, meant[0])}" if meant else lists
        if not known and "--set" in options and (setting := as_setting(args, name)):
            how = f"{program} {shlex.join(setting)}"
        yield f"{name}: is no option of {command.name} → {how}"
    if hasattr(error, "param_type"):  # a parameter is missing
        what = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
        how = str(command.epilog).removeprefix("Example: ")
        if parameter.name in OF_CONFIGURATIONS:
            configs = sorted(map(str, Path().glob("[!.]*.y*ml")))
            how = f"{program} {shlex.quote(configs[0])}" if configs else f"{program_name()} init JUDGMENTS BASELINE …"
        yield f"{command.name}: {what} is missing → {how}"
    if "requires an argument" in message:
        yield f"{name}: needs a value → {program} {shlex.join(args)} {options[name].metavar}"
    if "does not take a value" in message:
        bare = shlex.join(name if each.startswith(f"{name}=") else each for each in args)
        yield f"{name}: takes no value → {program} {bare}"
    if extra:
        rest = [each for each in args if each not in extra]
        files = [each for each in args if Path(each).is_file()]
        for kind in ("ranking", "judgments") if command.name == "clicks" else ():
            rest = ["EVENTS" if can_only_be(kind, each, "events") else each for each in rest]
        if "--scores" not in options:
            metric = ["--metric", extra[0]] if "@" in extra[0] and "--metric" in options else []
            yield f"{extra[0]}: is more than {command.name} takes → {program} {shlex.join([*metric, *rest])}".rstrip()
        if len(files) > 1:  # those that are compared
            values, made = new_name("values.csv"), [each for each in rest if each not in ("--scores", *files)]
            how = f"{program_name()} compare {shlex.join(files)} --per-query {values}"
            how += f" && {program} {shlex.join(['--scores', values, *made])}"
            yield f"{files[0]}: {command.name} takes what compare writes → {how}"
        option = "--deviation" if is_number(extra[0]) else "--scores"
        yield f"{extra[0]}: is no option → {program} {option} {shlex.join(args)}"
    least = re.search(r"(?: equal to |>=)(\d+)", message)  # typer from 0.29 on, and before
    for option, after in zip(args, [*args[1:], ""], strict=False):
        name, equals, value = option.partition("=")
        text = value if equals else after
        if parameter and name in parameter.opts:
            if least:
                how = shlex.join(least[1] if each == text else each for each in args)
                yield f"{name} {text}: must be at least {least[1]} → {program} {how}"
            if " valid int" in message and not re.fullmatch(r"[+-]?\d+", text):
                yield f"{name} {text!r}: must be a whole number"
            if re.search(" valid (number|float)", message) and not is_number(text):
                hint = f"; say {name} {guess_positive_number(text)}" if guess_positive_number(text) else ""
                yield f"{name} {text!r}: must be a number{hint}"
    yield f"{command.name}: {shorten(message, LONGEST_COMPLAINT)} → {program} --help"


def as_setting(args: Sequence[str], name: str) -> list[str] | None:
    """Return the arguments with an option replaced by an equivalent ``--set KEY=VALUE``, or None if there is none.

    name: the option to replace, such as ``--metric``. There is no equivalent if no single configuration key belongs to
    the option, or if a value is missing or contains ``=``.
    """
    from ndcg_ab.api.arguments import LISTS
    from ndcg_ab.config.options.from_options import OPTIONS

    option = next((each for each in OPTIONS if each.name == name and each.metavar and "[]" not in each.key), None)
    pairs = list(zip(["", *args], [*args, ""], strict=True))
    values = [after for before, after in pairs if before == name]
    if option is None or not all(values) or any("=" in value for value in values):
        return None
    text = f"[{', '.join(values)}]" if option.argument_name in LISTS else values[-1]
    rest = [each for before, each in pairs if each and name not in (before, each)]
    return [*rest, "--set", f"{option.key}={text}"]


def replace_option(args: Sequence[str], name: str, replacement: str) -> str:
    """Return a command's arguments as shell text, with the option `name` replaced by `replacement`.

    The replacement is an option, or an option and the beginning of its value: with ``--metric ndcg@`` for ``--ndcg``,
    the arguments ``--ndcg 10`` become ``--metric ndcg@10``.
    """
    at = next(index for index, each in enumerate(args) if each.startswith(name))
    value = args[at].removeprefix(name).removeprefix("=")
    option, _, start = replacement.partition(" ")
    rest = [value, *args[at + 1 :]] if value else [*args[at + 1 :]]
    return shlex.join([*args[:at], option, *([start + rest[0], *rest[1:]] if start and rest else rest)])


def import_without_extras() -> None:
    """Import pyarrow without pandas, and only the functions of `scipy.special`.

    Call this before other imports. Libraries that are loaded already stay as they are.
    """
    if "pandas" not in sys.modules:
        with hide_packages("pandas"):
            import pyarrow as pa

            pa.array([0])  # it looks for pandas once
    with skip_package_code("scipy.special"), contextlib.suppress(ImportError):  # another scipy may differ
        import scipy.special._ufuncs  # type: ignore[import-untyped]  # noqa: F401
