"""What is settled when a run starts: dates in paths, versions and arguments, and files that are named by a pattern."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from ndcg_ab.config.loading.patterns import SHOWN, WILD, matching_files, nothing_matches_text
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import plain_address
from ndcg_ab.config.model.inputs.sources import PACKED_SUFFIXES, STEM, FileSource, System, TableSource
from ndcg_ab.config.model.references import FILE_KEYS, REQUEST
from ndcg_ab.config.walking import Place, map_texts, walk_texts
from ndcg_ab.errors import InputError

DATE = re.compile(r"(?<!\$)\{date(:(?P<form>[^{}]*))?\}")
ISO = "%Y-%m-%d"
CODES = "aAbBdeFGHIjmMpsSTuUVwWyYzZ%"  # of strftime: those that give a part of a date or a time
ENDINGS = (
    *PACKED_SUFFIXES,
    ".run",
    ".txt",
    ".trec",
    ".res",
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".parquet",
    ".pq",
    ".arrow",
    ".arrows",
    ".feather",
    ".ipc",
)
DATED = ("file", "query", "table", "where", "version", "arguments")  # keys of a place in which dates are written out
AnyPlace = TableSource | FileSource | System
P = TypeVar("P", TableSource, FileSource, System)


def resolve_at(evaluation: Evaluation, moment: datetime) -> Evaluation:
    """The evaluation as it is at a moment: with the dates written out, and the files that are there.

    Dates are those of the schedule's time zone, of UTC without a schedule.  What is settled already stays as it is.
    Raises InputError for a pattern that does not match what it must.
    """
    zone = ZoneInfo(evaluation.schedule.timezone) if evaluation.schedule else UTC
    local = moment.astimezone(zone)
    changes: dict[str, Any] = {}
    for name in FILE_KEYS:
        source = getattr(evaluation, name)
        if source is not None:
            changes[name] = resolve_place(evaluation, source, local, f"{name}.file")
    changes["more_judgments"] = [
        resolve_place(evaluation, source, local, f"more_judgments[{at}].file")
        for at, source in enumerate(evaluation.more_judgments)
    ]
    changes["systems"] = [
        system
        for at, given in enumerate(evaluation.systems)
        for system in resolve_systems(evaluation, write_dates_in_place(given, local), f"systems[{at}].file")
    ]
    changes["scores"] = [
        each.model_copy(
            update={"file": only_match(evaluation, Path(write_dates(str(each.file), local)), f"scores[{at}].file")}
            if each.given is None
            else {}
        )
        for at, each in enumerate(evaluation.scores)
    ]
    settled = evaluation.model_copy(update=changes)
    if settled == evaluation and not any(system.stands_for_many for system in evaluation.systems):
        return evaluation
    return check_again(settled)


def check_again(evaluation: Evaluation) -> Evaluation:
    """The systems may have other names now: one name twice, or a baseline that is none of them, is refused."""
    names = [system.name for system in evaluation.systems]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{evaluation.name}: systems: the name {name!r} comes from two entries; every system needs its own"
            )
    if evaluation.baseline is not None and names and evaluation.baseline not in names:
        known = ", ".join(names)
        raise InputError(f"{evaluation.name}: baseline = {evaluation.baseline!r}: must be one of the systems ({known})")
    return evaluation


# ---- dates


def texts_with_dates(evaluation: Evaluation) -> Iterator[tuple[Place, str]]:
    """The texts in which dates are written out, with their places."""
    for name in FILE_KEYS:
        if (source := getattr(evaluation, name)) is not None:
            yield from texts_of(source, (name,))
    for at, place in enumerate(evaluation.more_judgments):
        yield from texts_of(place, ("more_judgments", at))
    for at, scores in enumerate(evaluation.scores):
        yield ("scores", at, "file"), str(scores.file)
    for at, system in enumerate(evaluation.systems):
        yield from texts_of(system, ("systems", at))


def texts_of(source: AnyPlace, place: Place) -> Iterator[tuple[Place, str]]:
    for key in DATED:
        yield from walk_texts(as_text(getattr(source, key, None)), (*place, key))
    if (clicks := getattr(source, "clicks", None)) is not None:
        yield from texts_of(clicks, (*place, "clicks"))
    if isinstance(source, System) and source.http is not None:
        for key in REQUEST:
            yield from walk_texts(getattr(source.http, key), (*place, "http", key))


def as_text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


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


def write_dates(text: str, moment: datetime) -> str:
    """With the moment instead of `{date}` (2026-11-20) and `{date:%Y/%m}`."""
    seconds = str(int(moment.timestamp()))

    def written(found: re.Match[str]) -> str:  # strftime's own %s takes the machine's time zone for the moment's
        form = re.sub(r"%.", lambda code: seconds if code[0] == "%s" else code[0], found["form"] or ISO)
        return moment.strftime(form)

    return DATE.sub(written, text)


def write_dates_in_place(source: P, moment: datetime) -> P:
    def changed(value: Any) -> Any:
        written = map_texts(as_text(value), lambda text, _: write_dates(text, moment))
        return Path(written) if isinstance(value, Path) else written

    changes = {key: changed(value) for key in DATED if (value := getattr(source, key, None)) is not None}
    if isinstance(source, System) and source.http is not None:
        changes["http"] = source.http.model_copy(update={key: changed(getattr(source.http, key)) for key in REQUEST})
    return source.model_copy(update=changes)


def resolve_place(evaluation: Evaluation, source: P, moment: datetime, where: str) -> P:
    """The place with its dates written out, and the one file that it names."""
    source = write_dates_in_place(source, moment)
    clicks = getattr(source, "clicks", None)
    if clicks is not None:
        inner = resolve_place(evaluation, clicks, moment, where.removesuffix("file") + "clicks.file")
        return source.model_copy(update={"clicks": inner})
    file = resolve_file(evaluation, source, where)
    return source if file is None else source.model_copy(update={"file": file})


# ---- patterns


def resolve_systems(evaluation: Evaluation, system: System, where: str) -> list[System]:
    """The system with its one file; with `{stem}` in its name one for each file, in the order of their names."""
    if not system.stands_for_many:
        file = resolve_file(evaluation, system, where)
        return [system if file is None else system.model_copy(update={"file": file})]
    if not isinstance(system.file, Path):
        said = f"{STEM} in a name matches files of this machine, not addresses: name each of the systems"
        raise InputError(f"{evaluation.name}: {where} = {plain_address(str(system.file))!r}: {said}")
    files = find_files(evaluation, system.file, where)
    return [
        system.model_copy(update={"name": system.name.replace(STEM, file_stem(file)), "file": file}) for file in files
    ]


def resolve_file(evaluation: Evaluation, source: AnyPlace, where: str) -> Path | str | None:
    """The one file that a place names; None where it names none, a pattern or an address as it stands for parts."""
    path = source.file
    if not isinstance(path, Path) or source.parts:
        return path
    return only_match(evaluation, path, where)


def only_match(evaluation: Evaluation, path: Path, where: str) -> Path:
    """The one file that a path or a pattern names."""
    found = find_files(evaluation, path, where)
    if len(found) > 1:
        more = ", …" if len(found) > SHOWN else ""
        names = ", ".join(file.name for file in found[:SHOWN]) + more
        advice = "name it"
        if where.startswith("systems"):
            advice += f', make each of them a system with name: "{STEM}"'
        if not where.startswith("scores"):
            advice += ", or say parts: true where they are parts of one table"
        said = f"{len(found)} files match it ({names}); one is needed: {advice}"
        raise InputError(f"{evaluation.name}: {where} = {str(path)!r}: {said}")
    return found[0]


def find_files(evaluation: Evaluation, path: Path, where: str) -> Sequence[Path]:
    """The files that match, by name; the path itself where it is no pattern."""
    if not WILD.search(str(path)) or evaluation.path(path).exists():
        return [path]
    found = matching_files(path, evaluation.directory)
    if not found:
        raise InputError(
            f"{evaluation.name}: {where} = {str(path)!r}: no file matches it;"
            f" {nothing_matches_text(evaluation.path(path))}"
        )
    return found


def file_stem(path: Path) -> str:
    """The name of a file without the endings of its format: bm25.v2 of bm25.v2.run.gz."""
    name = path.name
    while (ending := Path(name).suffix.lower()) in ENDINGS and ending != name.lower():
        name = name[: -len(ending)]
    return name
