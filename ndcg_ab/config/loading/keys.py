"""The keys that a configuration can have, and what each of them takes: read from the model."""

import functools
import types
import typing
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.keys import Trait, inner_types, is_model, keys_with, models_in, places_of, traits_of
from ndcg_ab.config.walking import Place

EXTENDS = "extends"  # the one key of a file that is none of an evaluation
FILE_ELSEWHERE = ("path", "filename", "file_name", "filepath", "file_path")  # what others call `file`


def near_keys(place: Place) -> list[str]:
    """The known key that an unknown one is most like, if any is."""
    if place[-1] in FILE_ELSEWHERE and "file" in known_keys(place[:-1]):
        return ["file"]
    return get_close_matches(str(place[-1]), known_keys(place[:-1]), n=1, cutoff=0.6)


def key_hint(place: Place) -> str:
    """``; did you mean 'statistics.alpha'?``: a key like an unknown one, or of its name elsewhere; else nothing."""
    sections = [name for name, field in Evaluation.model_fields.items() if models_in(field.annotation)]
    elsewhere = [
        f"{section}.{place[-1]}"
        for section in sections
        if place[-1] in known_keys((section,)) and section not in places_of(Evaluation)
    ]
    found = elsewhere[:1] or near_keys(place)
    return f"; did you mean {found[0]!r}?" if found else ""


def known_keys(place: Place) -> list[str]:
    """The keys that a mapping at this place of the configuration can have."""
    models = [Evaluation] if not place else models_in(annotation_of(place))
    names = [name for name in models[0].model_fields if place or name != "directory"] if models else []
    return names if place else [*names, EXTENDS]


def fields_of(place: Place) -> Iterator[FieldInfo]:
    """Yield the keys on the way to a place, as their models declare them, and last the one at the place."""
    found: Any = Evaluation
    for part in place:
        for model in models_in(found):
            if part in model.model_fields:
                yield model.model_fields[str(part)]
        found = entry_type(found, part)


def is_late(place: Place) -> bool:
    """Return whether what is at a place of the configuration is looked up when it is used."""
    return any(Trait.LATE in traits_of(field) for field in fields_of(place))


def is_path(place: Place, traits: Collection[Trait] = (Trait.PATH, Trait.INPUT)) -> bool:
    """Return whether a text at a place of the configuration is a path; traits: of which kinds."""
    short = [(*place, kind.alone) for kind in models_in(annotation_of(place)) if kind.alone]
    fields = list(fields_of(place))
    is_own = bool(fields) and not traits_of(fields[-1]).isdisjoint(traits)
    return is_own or any(is_path(each, traits) for each in short)


def expand(value: Any, place: Place) -> Any:
    """Return the keys that a short form at a place stands for; anything else as it is."""
    models = [] if isinstance(value, dict) else models_in(annotation_of(place))
    return models[0].expand(value) if models else value


def annotation_of(place: Place) -> Any:
    """The type of what is at a place; None where a configuration has no such place."""
    return functools.reduce(entry_type, place, Evaluation)


def entry_type(annotation: Any, part: int | str) -> Any:
    """The type of one entry of a list or a mapping, or of one key of a model; None where there is none."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return next((found for each in inner if (found := entry_type(each, part)) is not None), None)
    if origin is Annotated:
        return entry_type(inner[0], part)
    if origin is list and isinstance(part, int):
        return inner[0]
    if origin is dict:
        return inner[1]
    if is_model(annotation) and part in annotation.model_fields:
        return annotation.model_fields[str(part)].annotation
    return Any if annotation is Any else None


def has_default(place: Place) -> bool:
    """Whether a key of the configuration, or of a metric's mapping, need not be given."""
    if len(place) == 3 and place[0] in keys_with(Evaluation, Trait.METRICS):
        return True
    fields = [model.model_fields.get(str(place[-1])) for model in models_in(annotation_of(place[:-1]))]
    return any(field is not None and not field.is_required() for field in fields)


def takes_text(place: Place) -> bool:
    """Whether a text at this place is meant as it stands; else YAML says what it is (a number, a list, …)."""
    for kind in inner_types(annotation_of(place)):
        if kind in (int, float, bool, Any) or get_origin(kind) in (list, dict):
            return False
        if is_model(kind) and kind.alone is None:
            return False
    return True
