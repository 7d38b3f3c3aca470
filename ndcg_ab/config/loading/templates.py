"""Fill in dates and replace file patterns of a configuration at the start of a run."""

import glob
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from ndcg_ab.config.model.consistency import broken_rules_of_names, refuse_first
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import safe_address
from ndcg_ab.config.model.inputs.sources import FORMATS, PACKED_SUFFIXES, STEM, System
from ndcg_ab.config.model.keys import Trait, change_keys, traits_of, walk_keys
from ndcg_ab.config.walking import KeyPath, dotted_key, map_texts, walk_texts
from ndcg_ab.errors import InputError, RuleError

DATE = re.compile(r"(?<!\$)\{date(:(?P<form>[^{}]*))?\}")
ISO = "%Y-%m-%d"
CODES = "aAbBdeFGHIjmMpsSTuUVwWyYzZ%"  # of strftime: those that give a part of a date or a time
ENDINGS = (*PACKED_SUFFIXES, *FORMATS, ".run", ".txt", ".trec", ".res")
P = TypeVar("P", bound=BaseModel)


WILD = re.compile(r"[*?\[]")
SHOWN = 3  # files in a message


def is_folder_or_pattern(path: Path) -> bool:
    """Return whether a path is a folder, or a pattern that is not the name of an existing file."""
    return path.is_dir() or bool(WILD.search(str(path)) and not path.exists())


def matching_files(path: Path, directory: Path) -> list[Path]:
    """Return the files that match a pattern, sorted by path.

    directory: the folder from which a relative pattern starts; the matches of a relative pattern are relative to it.
    """
    names = glob.glob(str(path), root_dir=directory, recursive=True)  # noqa: PTH207 (absolute ones too)
    return [Path(name) for name in sorted(names) if (directory / name).is_file()]


def nothing_matches_text(path: Path) -> str:
    """Return a text that says what is in the folder of a pattern that no file matches.

    The text names similar files, or says that the folder is empty or missing.
    """
    folder = path.parent
    while WILD.search(str(folder)) and not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    near = get_close_matches(path.name, names, n=SHOWN, cutoff=0.3) or names[:SHOWN]
    return f"in {folder} there is {', '.join(near)}" if near else f"the folder {folder} is empty"


def resolve_templates(evaluation: Evaluation, time: datetime) -> Evaluation:
    """Return the evaluation with dates filled in for a point in time, and patterns replaced by existing files.

    Dates are in the time zone of the schedule, or UTC without a schedule. An evaluation without dates and patterns is
    returned unchanged. Raises InputError for a pattern with too few or too many matches, and if systems named after
    files have equal names.
    """
    zone = ZoneInfo(evaluation.schedule.timezone) if evaluation.schedule else UTC
    dated = write_dates_in(evaluation, time.astimezone(zone))
    (resolved,) = resolve_files(dated, evaluation, ())
    if resolved == evaluation and not any(system.is_one_per_file for system in evaluation.systems):
        return evaluation
    try:  # systems may have other names now
        refuse_first(broken_rules_of_names(resolved))
    except RuleError as error:
        raise InputError(f"{evaluation.name}: {error}") from None
    return resolved


# ---- dates


def broken_dates(evaluation: Evaluation) -> Iterator[tuple[KeyPath, str]]:
    """Yield (key path of the text, rest of a sentence) for each date template with an invalid format."""
    for path, traits, value in walk_keys(evaluation):
        for key_path, text in walk_texts(as_text(value), path) if Trait.DATED in traits else ():
            for template in DATE.finditer(text):
                form = template["form"] if template[1] else ISO
                wrong = next((code for code in re.findall(r"%.?", form) if code[1:] not in CODES or code == "%"), None)
                if wrong or "%" not in form:
                    what = f"{wrong!r} is no code of a date" if wrong else "there is no code of a date in it"
                    yield key_path, f" = {text!r}: {template[0]}: {what}; write it as in {{date:%Y/%m/%d}}"


def as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def write_dates_in(model: P, time: datetime) -> P:
    """Return a model with dates filled in, also in nested models.

    Templates are `{date}` (2026-11-20) or have a format, such as `{date:%Y/%m}`.
    """
    seconds = str(int(time.timestamp()))

    def written(match: re.Match[str]) -> str:  # strftime's own %s takes the machine's time zone for the moment's
        form = re.sub(r"%.", lambda code: seconds if code[0] == "%s" else code[0], match["form"] or ISO)
        return time.strftime(form)

    def change(traits: set[Trait], value: Any) -> Any:
        if Trait.DATED not in traits or value is None:
            return value
        dated = map_texts(as_text(value), lambda text, _: DATE.sub(written, text))
        return Path(dated) if isinstance(value, Path) else dated

    return change_keys(model, change)


# ---- patterns


def resolve_files(model: P, evaluation: Evaluation, key_path: KeyPath) -> list[P]:
    """Return the models that take the place of a model, with each file pattern replaced by the file that matches it.

    A system with `{stem}` in its name becomes one system per matching file; any other model stays one. Addresses, data
    in memory, and files that are parts of one table stay unchanged. Raises InputError for a pattern with too few or too
    many matches, and if a system with `{stem}` has an address in the place of a path.
    """
    if isinstance(model, System) and model.is_one_per_file:
        where = f"{dotted_key(key_path)}.file"
        if not isinstance(model.file, Path):
            message = f"{STEM} in a name matches files of this machine, not addresses: name each of the systems"
            raise InputError(f"{evaluation.name}: {where} = {safe_address(str(model.file))!r}: {message}")
        return [
            model.model_copy(update={"name": model.name.replace(STEM, file_stem(file)), "file": file})
            for file in find_files(evaluation, model.file, where)
        ]
    changes: dict[str, Any] = {}
    is_one = not getattr(model, "parts", False) and getattr(model, "in_memory", None) is None
    for name, field in type(model).model_fields.items():
        value, inner = getattr(model, name), (*key_path, name)
        if isinstance(value, list) and value and isinstance(value[0], BaseModel):
            entries = (resolve_files(each, evaluation, (*inner, index)) for index, each in enumerate(value))
            changes[name] = [each for several in entries for each in several]
        elif isinstance(value, BaseModel):
            (changes[name],) = resolve_files(value, evaluation, inner)
        elif isinstance(value, Path) and is_one and Trait.INPUT in traits_of(field):
            changes[name] = find_single_file(evaluation, value, dotted_key(inner))
    return [model.model_copy(update=changes)]


def find_single_file(evaluation: Evaluation, path: Path, where: str) -> Path:
    """Return the one file that a path or pattern names; raise InputError if none or several match.

    where: the key, for messages.
    """
    files = find_files(evaluation, path, where)
    if len(files) > 1:
        more = ", …" if len(files) > SHOWN else ""
        names = ", ".join(file.name for file in files[:SHOWN]) + more
        advice = "name it"
        if where.startswith("systems"):
            advice += f', make each of them a system with name: "{STEM}"'
        if not where.startswith("scores"):
            advice += ", or say parts: true where they are parts of one table"
        message = f"{len(files)} files match it ({names}); one is needed: {advice}"
        raise InputError(f"{evaluation.name}: {where} = {str(path)!r}: {message}")
    return files[0]


def find_files(evaluation: Evaluation, path: Path, where: str) -> Sequence[Path]:
    """Return the files that match a pattern, sorted by path.

    A path that is no pattern is returned as the only item, even if there is no such file. Raises InputError if no file
    matches the pattern. where: the key, for the message.
    """
    if not WILD.search(str(path)) or evaluation.path(path).exists():
        return [path]
    files = matching_files(path, evaluation.directory)
    if not files:
        raise InputError(
            f"{evaluation.name}: {where} = {str(path)!r}: no file matches it;"
            f" {nothing_matches_text(evaluation.path(path))}"
        )
    return files


def file_stem(path: Path) -> str:
    """Return the name of a file without the suffixes of its format: bm25.v2 for bm25.v2.run.gz."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in ENDINGS and ending != name.lower():
        name = name[: -len(ending)]
    return name
