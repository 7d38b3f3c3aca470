"""What is settled when a run starts: dates in paths, versions and arguments, and files that are named by a pattern."""

import glob
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ndcg_ab.config.keys import Place
from ndcg_ab.config.model import Evaluation
from ndcg_ab.config.sources import STEM, System
from ndcg_ab.config.values import REQUEST
from ndcg_ab.errors import InputError

DATE = re.compile(r"(?<!\$)\{date(:(?P<form>[^{}]*))?\}")
ISO = "%Y-%m-%d"
CODES = "aAbBdeFGHIjmMpsSTuUVwWyYzZ%"  # of strftime: those that give a part of a date or a time
ENDINGS = (".gz", ".run", ".txt", ".trec", ".res", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq")
SHOWN = 3  # files in a message


def at_moment(evaluation: Evaluation, moment: datetime) -> Evaluation:
    """The evaluation as it is at a moment: with the dates written out, and the files that are there.

    Dates are those of the schedule's time zone, of UTC without a schedule.  What is settled already stays as it is.
    Raises InputError for a pattern that does not match what it must.
    """
    zone = ZoneInfo(evaluation.schedule.timezone) if evaluation.schedule else UTC
    local = moment.astimezone(zone)
    changes: dict[str, Any] = {}
    for name in ("judgments", "queries", "documents"):
        source = getattr(evaluation, name)
        if source is not None and source.file is not None:
            file = one_file(evaluation, dated_path(source.file, local), f"{name}.file")
            changes[name] = source.model_copy(update={"file": file})
    changes["systems"] = [
        system
        for at, given in enumerate(evaluation.systems)
        for system in systems_of(evaluation, dated_system(given, local), f"systems[{at}].file")
    ]
    settled = evaluation.model_copy(update=changes)
    if settled == evaluation and not any(system.stands_for_many for system in evaluation.systems):
        return evaluation
    return checked_again(settled)


def checked_again(evaluation: Evaluation) -> Evaluation:
    """The systems may have other names now: one name twice, or a baseline that is none of them, is refused."""
    names = [system.name for system in evaluation.systems]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{evaluation.name}: systems: the name {name!r} comes from two entries; every system needs its own"
            )
    if evaluation.baseline is not None and evaluation.baseline not in names:
        known = ", ".join(names)
        raise InputError(f"{evaluation.name}: baseline = {evaluation.baseline!r}: must be one of the systems ({known})")
    return evaluation


# ---- dates


def datable(evaluation: Evaluation) -> Iterator[tuple[Place, str]]:
    """The texts in which dates are written out, with their places."""
    for name in ("judgments", "queries", "documents"):
        source = getattr(evaluation, name)
        if source is not None and source.file is not None:
            yield (name, "file"), str(source.file)
    for at, system in enumerate(evaluation.systems):
        if system.file is not None:
            yield ("systems", at, "file"), str(system.file)
        if system.version is not None:
            yield ("systems", at, "version"), system.version
        yield from texts_in(system.arguments, ("systems", at, "arguments"))
        if system.http is not None:
            for key in REQUEST:
                yield from texts_in(getattr(system.http, key), ("systems", at, "http", key))


def texts_in(content: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(content, str):
        yield place, content
    elif isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from texts_in(value, (*place, key))


def check_dates(text: str, where: str) -> None:
    """InputError for a date whose form is none."""
    for found in DATE.finditer(text):
        form = found["form"]
        if form is None:
            continue
        wrong = next((code for code in re.findall(r"%.?", form) if code[1:] not in CODES or code == "%"), None)
        if wrong or "%" not in form:
            what = f"{wrong!r} is no code of a date" if wrong else "there is no code of a date in it"
            raise InputError(f"{where} = {text!r}: {found[0]}: {what}; write it as in {{date:%Y/%m/%d}}")


def dated(text: str, moment: datetime) -> str:
    """With the moment in the place of `{date}` (2026-11-20) and `{date:%Y/%m}`."""
    return DATE.sub(lambda found: moment.strftime(found["form"] or ISO), text)


def dated_path(path: Path, moment: datetime) -> Path:
    return Path(dated(str(path), moment))


def dated_system(system: System, moment: datetime) -> System:
    changes: dict[str, Any] = {"arguments": mapped(system.arguments, lambda text: dated(text, moment))}
    if system.file is not None:
        changes["file"] = dated_path(system.file, moment)
    if system.version is not None:
        changes["version"] = dated(system.version, moment)
    if system.http is not None:
        texts = {key: mapped(getattr(system.http, key), lambda text: dated(text, moment)) for key in REQUEST}
        changes["http"] = system.http.model_copy(update=texts)
    return system.model_copy(update=changes)


def mapped(content: Any, change: Callable[[str], str]) -> Any:
    """Every text in lists and mappings changed, keys excepted."""
    if isinstance(content, dict):
        return {key: mapped(value, change) for key, value in content.items()}
    if isinstance(content, list):
        return [mapped(value, change) for value in content]
    return change(content) if isinstance(content, str) else content


# ---- patterns


def is_pattern(evaluation: Evaluation, path: Path) -> bool:
    """Whether a path has `*`, `?` or `[…]` in it; a file of that very name is no pattern."""
    return bool(re.search(r"[*?\[]", str(path))) and not evaluation.path(path).exists()


def systems_of(evaluation: Evaluation, system: System, where: str) -> list[System]:
    """The system with its one file; with `{stem}` in its name one for each file, in the order of their names."""
    if system.file is None:
        return [system]
    if not system.stands_for_many:
        return [system.model_copy(update={"file": one_file(evaluation, system.file, where)})]
    files = files_of(evaluation, system.file, where)
    return [
        system.model_copy(update={"name": system.name.replace(STEM, stem_of(file)), "file": file}) for file in files
    ]


def one_file(evaluation: Evaluation, path: Path, where: str) -> Path:
    """The one file that a path names."""
    found = files_of(evaluation, path, where)
    if len(found) > 1:
        more = ", …" if len(found) > SHOWN else ""
        names = ", ".join(file.name for file in found[:SHOWN]) + more
        advice = "name it"
        if where.startswith("systems"):
            advice += f', or make each of them a system with name: "{STEM}"'
        said = f"{len(found)} files match it ({names}); one is needed: {advice}"
        raise InputError(f"{evaluation.name}: {where} = {str(path)!r}: {said}")
    return found[0]


def files_of(evaluation: Evaluation, path: Path, where: str) -> Sequence[Path]:
    """The files that match, by name; the path itself where it is no pattern."""
    if not is_pattern(evaluation, path):
        return [path]
    names = glob.glob(str(path), root_dir=evaluation.directory, recursive=True)  # noqa: PTH207 (absolute ones too)
    found = [Path(name) for name in sorted(names) if evaluation.path(Path(name)).is_file()]
    if not found:
        raise InputError(
            f"{evaluation.name}: {where} = {str(path)!r}: no file matches it; {instead(evaluation.path(path))}"
        )
    return found


def instead(path: Path) -> str:
    """What there is in the folder of a pattern that nothing matches."""
    folder = path.parent
    while re.search(r"[*?\[]", str(folder)) and not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    near = get_close_matches(path.name, names, n=SHOWN, cutoff=0.3) or names[:SHOWN]
    return f"in {folder} there is {', '.join(near)}" if near else f"the folder {folder} is empty"


def stem_of(path: Path) -> str:
    """The name of a file without the endings of its format: bm25.v2 of bm25.v2.run.gz."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in ENDINGS and ending != name.lower():
        name = name[: -len(ending)]
    return name
