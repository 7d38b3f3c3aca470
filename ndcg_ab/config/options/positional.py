"""Assign files given without an option: first the judgments, then one ranking per system, the baseline first."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ndcg_ab.config.loading.templates import file_stem, is_folder_or_pattern, matching_files, nothing_matches_text
from ndcg_ab.config.model.inputs.connections import ADDRESS
from ndcg_ab.config.options.from_options import parse_system
from ndcg_ab.errors import InputError, format_value

USAGE = "JUDGMENTS BASELINE CANDIDATE…"


class NamedFile(NamedTuple):
    """The name and the file of a system.

    Attributes
    ----------
    name : str
        Name of the system.
    file : str
        Path or address of its ranking, a folder, or a pattern such as ``runs/*.run``.
    parts : bool
        True if all files in the folder, or all that match the pattern, together form one table.
    """

    name: str
    file: str
    parts: bool = False


def assign_files(options: Mapping[str, Any], command: str, otherwise: str = "") -> dict[str, Any]:
    """Return the options with `judgments` and `system` filled from the positional `files`.

    Without --judgments, the first file holds the judgments. Without --system, the other files are rankings. In the
    result `system` is a list of `NamedFile`.
    command: the name of the command, for messages.
    otherwise: the end of the message about missing files, which names an alternative.
    Raises InputError if files are missing, or if it is ambiguous which file is which.
    """
    assigned = dict(options)
    files = list(expand_patterns(options.get("files") or ()))
    if files and options.get("scores"):
        advice = f"say --scores {shlex.quote(files[0])}, or --judgments or --system if it holds no scores"
        raise InputError(f"{quote_if_needed(files[0])}: is no option; {advice}")
    if files and options.get("system"):
        assigned["judgments"] = single_judgments_file(files, options)
    elif files and options.get("judgments"):
        assigned["system"] = files
    elif files:
        assigned["judgments"], assigned["system"] = files[0], files[1:]
        if is_named(files[0]):
            raise InputError(f"{quote_if_needed(files[0])}: the first file is the judgments, without a name: {USAGE}")
    for name in ("judgments", "system"):
        if not assigned.get(name) and not options.get("scores"):
            raise InputError(f"--{name}: is missing: give the files, ndcg-ab {command} {USAGE}{otherwise}")
    return assigned | {"system": parse_named_files(assigned.get("system") or (), of_option=bool(options.get("system")))}


def single_judgments_file(files: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the single positional file of a command line in which --system names the rankings.

    This file holds the judgments. Raises InputError if there are further files, if the file is written as NAME=FILE, or
    if --judgments is given, too.
    """
    rest = [file for index, file in enumerate(files) if index or options.get("judgments") or is_named(file)]
    if rest:
        systems = " ".join(
            f"--system {shlex.quote(f'{each.name}={each.file}')}" for each in parse_named_files(rest, of_option=False)
        )
        raise InputError(
            f"{' '.join(map(quote_if_needed, rest))}: is no option; say {systems}, or give all files without --system"
            f" and --judgments: {USAGE}"
        )
    return files[0]


def quote_if_needed(text: str) -> str:
    """Return a user's text for a message, in quotes only if it has spaces or other special characters."""
    return text if re.fullmatch(r"[\w./=:+-]{1,80}", text) else format_value(text)


def is_named(text: str) -> bool:
    """Return whether a text has the form NAME=FILE.

    The result is False for the name of an existing file and for an address, even if they contain a `=`. If NAME
    contains a slash, the result is True only if FILE exists.
    """
    name, equals, file = text.partition("=")
    is_name = not re.search(r"[/\\]", name) or Path(file).exists()
    return bool(equals) and is_name and not ADDRESS.match(text) and not Path(text).exists()


def expand_patterns(files: Sequence[str | Path]) -> Iterator[str]:
    """Yield the files with each pattern, such as ``runs/*.run``, replaced by the files that match it.

    Patterns with a name (NAME=PATTERN), folders and addresses stay unchanged. Raises InputError if no file matches a
    pattern.
    """
    for text in map(str, files):
        path = Path(text)
        if ADDRESS.match(text) or is_named(text) or path.is_dir() or not is_folder_or_pattern(path):
            yield text
        elif matching := matching_files(path, Path()):
            yield from map(str, matching)
        else:
            raise InputError(f"{text}: no file matches it; {nothing_matches_text(path)}")


def parse_named_files(texts: Sequence[str], *, of_option: bool = True) -> list[NamedFile]:
    """Return the name and the file of each system in texts FILE or NAME=FILE.

    The system of a text FILE is named after the file. A text that is a pattern becomes one system for each file that
    matches it. A pattern or folder with a name (NAME=PATTERN) is one system, whose files are parts of one table.
    of_option: True if the texts are values of the option --system. Such a text must be NAME=FILE, an existing file, or
        contain a dot or a slash.
    Raises InputError for any other value of --system, and for a pattern without matches.
    """
    texts = list(expand_patterns(texts))
    unnamed = [text for text in texts if not is_named(text)]
    alone = [text for text in unnamed if not of_option or re.search(r"[./\\]", text) or Path(text).exists()]
    named = {text: parse_system(text) for text in texts if text not in alone}
    names = iter(distinct_names(alone, [name for name, _ in named.values()]))
    return [
        NamedFile(*named[text], not ADDRESS.match(named[text][1]) and is_folder_or_pattern(Path(named[text][1])))
        if text in named
        else NamedFile(next(names), text)
        for text in texts
    ]


def systems_by_name(texts: Sequence[str]) -> dict[str, Path]:
    """Return the mapping name -> file of texts NAME=FILE or FILE, the values of --system.

    Raises InputError for a repeated name, for a folder without a name, and for an invalid text.
    """
    by_name: dict[str, Path] = {}
    for name, file, parts in parse_named_files(texts):
        if Path(file).is_dir() and not parts:
            proposal = shlex.quote(f"{name}={file}")
            raise InputError(f"--system {file}: is a folder: if it is one table, say --system {proposal}")
        if name in by_name:
            raise InputError(f"--system: the name {name!r} is given twice; every system needs its own")
        by_name[name] = Path(file)
    return by_name


def distinct_names(files: Sequence[str], used_names: Sequence[str] = ()) -> list[str]:
    """Return a distinct name for each file, in the order of the files.

    All names have one style, the simplest that makes them distinct: ``bm25`` (the file), ``runs`` (its folder),
    ``runs-bm25``, or the file's name with a number, ``bm25-2``.
    used_names: names that must not be used again.
    """
    styles: tuple[Callable[[str], str], ...] = (stem, parent_name, lambda file: f"{parent_name(file)}-{stem(file)}")
    for style in styles:
        names = [style(file) for file in files]
        if all(names) and len({*names, *used_names}) == len(names) + len({*used_names}):
            return names
    counts: Counter[str] = Counter(used_names)
    names = []
    for name in map(stem, files):
        counts[name] += 1
        names.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    return names


def parts_of(file: str) -> list[str]:
    return [part for part in re.split(r"[/\\]", file.partition("?")[0]) if part]


def stem(file: str) -> str:
    """Return the name of a file, given as path or address, without the suffixes of its format."""
    return file_stem(Path((parts_of(file) or [file])[-1]))


def parent_name(file: str) -> str:
    """Return the name, not the path, of the folder that holds a file: ``runs`` for ``a/runs/x.run``; else ""."""
    return (parts_of(file)[-2:-1] or [""])[0]
