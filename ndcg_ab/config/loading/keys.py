"""Look up in the model which keys a configuration can have, and which values they accept."""

import functools
import types
import typing
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin

from pydantic.fields import FieldInfo

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.keys import Trait, inner_types, input_keys, is_model, keys_with, models_in, traits_of
from ndcg_ab.config.walking import KeyPath

EXTENDS = "extends"  # the one key of a file that is none of an evaluation
OTHER_FILE_KEYS = ("path", "filename", "file_name", "filepath", "file_path")  # what others call `file`


def similar_keys(key_path: KeyPath) -> list[str]:
    """Return a list with the known key that an unknown key probably stands for, or an empty list.

    key_path: the path of the unknown key.
    """
    if key_path[-1] in OTHER_FILE_KEYS and "file" in known_keys(key_path[:-1]):
        return ["file"]
    return get_close_matches(str(key_path[-1]), known_keys(key_path[:-1]), n=1, cutoff=0.6)


def key_hint(key_path: KeyPath) -> str:
    """Return a hint such as ``; did you mean 'statistics.alpha'?`` for an unknown key, or an empty text.

    The hint names a key with the unknown key's name in another section; without one, a similar key in the same section.
    """
    sections = [name for name, field in Evaluation.model_fields.items() if models_in(field.annotation)]
    elsewhere = [
        f"{section}.{key_path[-1]}"
        for section in sections
        if key_path[-1] in known_keys((section,)) and section not in input_keys(Evaluation)
    ]
    similar = elsewhere[:1] or similar_keys(key_path)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def known_keys(key_path: KeyPath) -> list[str]:
    """Return the keys that the mapping at a key path can have.

    The empty path stands for the whole file, which can have `extends` as well. The list is empty if a key path holds no
    mapping with fixed keys.
    """
    models = [Evaluation] if not key_path else models_in(annotation_of(key_path))
    names = [name for name in models[0].model_fields if key_path or name != "directory"] if models else []
    return names if key_path else [*names, EXTENDS]


def fields_of(key_path: KeyPath) -> Iterator[FieldInfo]:
    """Yield the model fields of the keys along a key path, from the first key to the last."""
    annotation: Any = Evaluation
    for part in key_path:
        for model in models_in(annotation):
            if part in model.model_fields:
                yield model.model_fields[str(part)]
        annotation = entry_type(annotation, part)


def may_hold_secret(key_path: KeyPath) -> bool:
    """Return whether the value at a key path may hold a secret.

    A value that may hold a secret is looked up only when it is used.
    """
    return any(Trait.LATE in traits_of(field) for field in fields_of(key_path))


def is_path(key_path: KeyPath, traits: Collection[Trait] = (Trait.PATH, Trait.INPUT)) -> bool:
    """Return whether a text at a key path is a file path.

    The text can also be the short form of a mapping with a file path, such as ``run.txt`` for ``{file: run.txt}``.
    traits: the kinds of file paths to consider.
    """
    short = [(*key_path, kind.main_key) for kind in models_in(annotation_of(key_path)) if kind.main_key]
    fields = list(fields_of(key_path))
    is_own = bool(fields) and not traits_of(fields[-1]).isdisjoint(traits)
    return is_own or any(is_path(each, traits) for each in short)


def expand(value: Any, key_path: KeyPath) -> Any:
    """Return a value in short form written out as keys, such as ``run.txt`` -> ``{file: run.txt}``.

    A value for which the model at the key path has no short form is returned unchanged.
    """
    models = [] if isinstance(value, dict) else models_in(annotation_of(key_path))
    return models[0].expand(value) if models else value


def annotation_of(key_path: KeyPath) -> Any:
    """Return the type of the value at a key path, or None if a configuration has no such key."""
    return functools.reduce(entry_type, key_path, Evaluation)


def entry_type(annotation: Any, part: int | str) -> Any:
    """Return the type of a list entry, a mapping value or a model field, or None if there is none.

    annotation: the type of the list, mapping or model. part: the index or key.
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return next((kind for each in inner if (kind := entry_type(each, part)) is not None), None)
    if origin is Annotated:
        return entry_type(inner[0], part)
    if origin is list and isinstance(part, int):
        return inner[0]
    if origin is dict:
        return inner[1]
    if is_model(annotation) and part in annotation.model_fields:
        return annotation.model_fields[str(part)].annotation
    return Any if annotation is Any else None


def has_default(key_path: KeyPath) -> bool:
    """Return whether the key at a key path may be omitted.

    Every key of a metric that is given as a mapping counts as omissible.
    """
    if len(key_path) == 3 and key_path[0] in keys_with(Evaluation, Trait.METRICS):
        return True
    fields = [model.model_fields.get(str(key_path[-1])) for model in models_in(annotation_of(key_path[:-1]))]
    return any(field is not None and not field.is_required() for field in fields)


def takes_text(key_path: KeyPath) -> bool:
    """Return whether the value at a key path is always text.

    A value that is always text is not parsed as YAML.
    """
    for kind in inner_types(annotation_of(key_path)):
        if kind in (int, float, bool, Any) or get_origin(kind) in (list, dict):
            return False
        if is_model(kind) and kind.main_key is None:
            return False
    return True
