"""Find the configuration or the files among the arguments of a command.

Standard input and pipes are read once, into a temporary file that is removed when the process ends.
"""

import io
import itertools
import os
import re
import shlex
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_ab.errors import InputError
from ndcg_ab.visible import visible

from .console import option_of
from .options import Group, parameter_types

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation
    from ndcg_ab.config.options.positional import NamedFile

STDIN = "/dev/stdin"
FILES = {  # parameters of commands that name files to read
    *("files", "judgments", "system", "scores", "queries", "documents", "intended", "more_judgments"),
    *("cheap_judgments", "careful_unseen", "first", "second", "events", "weights", "clusters"),
}
DESCRIPTOR = re.compile(r"/dev/(?:stdin|fd/(\d+))")
BLOCK = 1 << 20  # bytes
COPY = "write it into a file first, as … > new.run, and name new.run"
_numbers = itertools.count()


def assign_inputs(options: Mapping[str, Any], command: str, otherwise: str = "") -> dict[str, Any]:
    """Return the options with `judgments` and `system` filled in from the positional files.

    options: parameter -> value. command: name of the command, for messages. otherwise: the end of the message about
    missing files, which offers another command. Raises InputError if files are missing or ambiguous.
    """
    from ndcg_ab.config.options.positional import assign_files

    inputs = assign_files(options, command, otherwise)
    return inputs | {"system": spread_files(inputs["system"])}


def can_only_be(kind: str, file: str, other: str) -> bool:
    """Return whether a local file looks like one kind of content and cannot be another kind.

    kind, other: kinds of content, such as `judgments` and `ranking`. Only the beginning of the file is read. The result
    is False if there is no such file.
    """
    from ndcg_ab.sources.forms.recognition import recognise_file

    path = Path(file)
    return path.is_file() and recognise_file(path, other) is None and recognise_file(path, kind) is not None


def spread_files(systems: "Sequence[NamedFile]") -> "list[NamedFile]":
    """Return the name and file of each system; a file with several systems gives one entry per system."""
    from ndcg_ab.sources.registry import split_by_system

    return list(split_by_system(systems))


def configuration_in(files: Sequence[str | Path] | None) -> Path | None:
    """Return the path of the configuration if it is the only argument, else None.

    A single argument counts as a configuration by its name or content, or if there is no such file.
    """
    from ndcg_ab.studies.first_configuration import is_configuration

    return Path(files[0]) if files and is_configuration([Path(file) for file in files]) else None


def evaluation_from_config(
    config: Path, options: Mapping[str, Any], of_files: Sequence[Group], more_settings: Sequence[str] = ()
) -> "Evaluation":
    """Return the evaluation of a configuration, with changes by options.

    options: `settings`, `at`, the resource options, and the options for data files. of_files: the groups of the options
    for data files. more_settings: further KEY=VALUE texts. Raises InputError if an option for data files is set.
    """
    from ndcg_ab.config.environment import prepare_environment
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.config.loading.templates import resolve_templates
    from ndcg_ab.config.options.from_options import with_resource_options

    for name in parameter_types(*of_files):
        if options[name] not in (None, []) and options[name] is not False:
            message = "goes with files, and a configuration was given: use --set KEY=VALUE"
            raise InputError(f"{option_of(name)}: {message}")
    settings = [*(options["settings"] or ()), *more_settings]
    evaluation = with_resource_options(read_config(config, settings), options)
    prepare_environment(evaluation)
    return resolve_templates(evaluation, parse_at_option(options["at"]) or datetime.now(UTC))


def refuse_options_of_config(options: Mapping[str, object]) -> None:
    """Raise InputError if `--at` or `--set`, which only apply to a configuration, are given with data files."""
    for option, value in (("--at", options["at"]), ("--set", options["settings"])):
        if value:
            raise InputError(f"{option}: goes with a configuration, and files were given")


def repeat_options(options: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the files and some options of a command as shell text, for another command to paste.

    options: parameter -> value. names: the parameters to repeat. The text is empty if it cannot be pasted, because it
    names a pipe or has control characters.
    """
    words = [*(options["files"] or ())]
    for name in names:
        value = options[name]
        for each in value if isinstance(value, list | tuple) else [value] * (value not in (None, False)):
            words += [option_of(name), *([] if each is True else [str(each)])]
    text = shlex.join(words)
    return "" if re.search(r"/dev/|/pipe\d+/", text) or visible(text) != text else text


def parse_at_option(text: str | None) -> datetime | None:
    """Return the time in the text of the option `--at`, in UTC, or None if the text is None.

    A time without a zone counts as UTC. Raises InputError if the text is not in ISO format, and for times before 1970.
    """
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--at {text!r}: must be a date and time, as 2026-11-20T02:00 (UTC) or with a zone") from None
    try:
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:
        time = datetime.min.replace(tzinfo=UTC)
    if not 1970 <= time.year < 9999:
        raise InputError(f"--at {text!r}: must lie in 1970 or later")
    return time


def replace_pipes(command: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command's parameters with each pipe replaced by a file with its content.

    Raises InputError if a pipe is named twice, or if the command is `init`, whose configuration needs files that stay.
    """
    files = {name: value for name, value in parameters.items() if name in FILES and value}
    texts = [str(each) for value in files.values() for each in (value if isinstance(value, list | tuple) else [value])]
    pipes = [path for path in (split_name(text)[1] for text in texts) if path == STDIN or is_pipe(path)]
    for path, count in Counter(pipes).items():
        if count > 1:
            raise InputError(f"{path}: is given {count} times, and can be read once: {COPY}")
        if command == "init":
            raise InputError(f"{path}: a configuration names files that stay: {COPY}")
    copies = {path: store_pipe(path) for path in pipes if is_pipe(path)}

    def replaced(value: Any) -> Any:
        if isinstance(value, list | tuple):  # tuples come from typer 0.19
            return [replaced(each) for each in value]
        name, path = split_name(str(value))
        return type(value)(name + copies.get(path, path)) if path in pipes else value

    return {**parameters, **{name: replaced(value) for name, value in files.items()}}


def split_name(text: str) -> tuple[str, str]:
    """Split an argument such as ``NAME=PATH`` into ``NAME=`` and the path.

    The first item is empty if the argument is a path alone. The path ``-`` is replaced by the path of standard input.
    """
    name, equals, file = text.partition("=")
    is_named = bool(equals) and not Path(text).exists()
    path = file if is_named else text
    return (name + equals if is_named else ""), STDIN if path == "-" else path


def is_pipe(path: str) -> bool:
    """Return whether a path is a pipe, or a socket that this process has open; False for a device or a missing file."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or (stat.S_ISSOCK(mode) and DESCRIPTOR.fullmatch(path) is not None)


def store_pipe(path: str) -> str:
    """Copy the content of a pipe to a temporary file, and return a path from which it can be read repeatedly.

    The returned path is the path of the pipe if its file descriptor could be redirected to the temporary file, else the
    path of the temporary file. Raises InputError if the pipe cannot be read.
    """
    from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
    from ndcg_ab.temporary import folder_of_process

    passage = LimitCounter(BOUNDS["file"], path)
    copy = folder_of_process() / f"pipe{next(_numbers)}" / Path(path).name
    copy.parent.mkdir()
    descriptor = DESCRIPTOR.fullmatch(path)
    number = int(descriptor[1] or 0) if descriptor else -1
    try:
        source: Any = os.dup(number) if descriptor else path
        with io.FileIO(source) as pipe, copy.open("xb") as file:
            while block := pipe.read(BLOCK):
                passage.count(size=len(block))
                file.write(block)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if descriptor:
        with copy.open("rb") as file:
            os.dup2(file.fileno(), number)
        if Path(path).is_file():  # the same name, by which it can be read again from its beginning
            return path
    return str(copy)
