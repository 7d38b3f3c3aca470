"""The keys that a configuration can have, and what each of them takes: read from the model."""

import types
import typing
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.clicks import Clicks
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.inputs.sources import FileSource, TableSource
from ndcg_ab.config.walking import Place

EXTENDS = "extends"  # the one key of a file that is none of an evaluation
SECTIONS = ("statistics", "slices", "gate", "mlflow", "prefect", "schedule", "retention", "resources", "engine")
FILE_ELSEWHERE = ("path", "filename", "file_name", "filepath", "file_path")  # what others call `file`
FILES = (FileSource, JudgmentSource, TableSource, Clicks)  # a text alone is the path of one
METRIC_LISTS = ("metrics", "primary_metrics", "secondary_metrics")  # whose entries may be mappings


def near_keys(place: Place) -> list[str]:
    """The known key that an unknown one is most like, if any is."""
    if place[-1] in FILE_ELSEWHERE and "file" in known_keys(place[:-1]):
        return ["file"]
    return get_close_matches(str(place[-1]), known_keys(place[:-1]), n=1, cutoff=0.6)


def key_hint(place: Place) -> str:
    """``; did you mean 'statistics.alpha'?``: a key like an unknown one, or of its name elsewhere; else nothing."""
    elsewhere = [f"{section}.{place[-1]}" for section in SECTIONS if place[-1] in known_keys((section,))]
    found = elsewhere[:1] or near_keys(place)
    return f"; did you mean {found[0]!r}?" if found else ""


def known_keys(place: Place) -> list[str]:
    """The keys that a mapping at this place of the configuration can have."""
    model: type[BaseModel] = Evaluation
    for part in place:
        if isinstance(part, str) and part in model.model_fields:
            for inner in inner_types(model.model_fields[part].annotation):
                if isinstance(inner, type) and issubclass(inner, BaseModel):
                    model = inner
    names = [name for name in model.model_fields if not (model is Evaluation and name == "directory")]
    return [*names, EXTENDS] if model is Evaluation else names


def inner_types(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from inner_types(inner)


def annotation_of(place: Place) -> Any:
    """The type of what is at a place; None where a configuration has no such place."""
    found: Any = Evaluation
    for part in place:
        found = entry_type(found, part)
    return found


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
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and part in annotation.model_fields:
        return annotation.model_fields[str(part)].annotation
    return Any if annotation is Any else None


def has_default(place: Place) -> bool:
    """Whether a key of the configuration, or of a metric's mapping, need not be given."""
    if len(place) == 3 and place[0] in METRIC_LISTS:
        return True
    models = [kind for kind in inner_types(annotation_of(place[:-1])) if is_model(kind)]
    return any(place[-1] in model.model_fields and not model.model_fields[place[-1]].is_required() for model in models)


def is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def takes_text(place: Place) -> bool:
    """Whether a text at this place is meant as it stands; else YAML says what it is (a number, a list, …)."""
    for kind in inner_types(annotation_of(place)):
        if kind in (int, float, bool, Any) or get_origin(kind) in (list, dict):
            return False
        if is_model(kind) and kind not in FILES:
            return False
    return True
