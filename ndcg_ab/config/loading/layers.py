"""Merge the layers of a configuration: the files that it extends, the file itself, and changes by `--set`."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from ndcg_ab.config.loading.hints import similar_file_hint
from ndcg_ab.config.loading.keys import (
    EXTENDS,
    annotation_of,
    expand,
    has_default,
    is_path,
    may_hold_secret,
    takes_text,
)
from ndcg_ab.config.model.inputs.connections import ADDRESS
from ndcg_ab.config.model.keys import inner_types, is_reference, to_list
from ndcg_ab.config.secrets.lookup import VARIABLE, fill_variables
from ndcg_ab.config.walking import KeyPath, dotted_key, map_texts
from ndcg_ab.errors import InputError
from ndcg_ab.files import resolve_path
from ndcg_core.measures.metric import nearest_hint

SET = "--set"


Layer = tuple[dict[Any, Any], dict[KeyPath, str]]
"""Keys and values, with variables filled in; key path -> the file, or `--set`, that gave the value."""


def read_layers(path: Path, settings: Sequence[str] = ()) -> Layer:
    """Return the content of a file merged with the files that it extends and the changes by `--set`.

    Keys that are null and have a default are left out. settings: the texts of the `--set` options. Raises InputError if
    a file or an option cannot be read.
    """
    content, origins = read_layer(path, (), resolve_path(path.parent))
    for text in settings:
        origins[assign_setting(content, text)] = SET
    return without_nulls(content), origins


def without_nulls(content: Any, key_path: KeyPath = ()) -> Any:
    """Return the content without the keys that are null and have a default, so that the default applies."""
    if isinstance(content, list):
        return [without_nulls(value, (*key_path, index)) for index, value in enumerate(content)]
    if not isinstance(content, dict):
        return content
    return {
        key: without_nulls(value, (*key_path, key))
        for key, value in content.items()
        if value is not None or not has_default((*key_path, key))
    }


def read_layer(path: Path, above: tuple[Path, ...], directory: Path) -> Layer:
    """Return the content of a file merged onto the files that it extends.

    directory: the folder from which relative paths start; paths in files of other folders become absolute. above: the
    files whose `extends` led to this one, to detect circles. Raises InputError if a file is missing, is no mapping,
    sets the key `directory` or a wrong `extends`, or extends itself.
    """
    if resolve_path(path) in map(resolve_path, above):
        chain = " extends ".join(map(str, (*above, path)))
        raise InputError(f"{above[0]}: {EXTENDS}: {chain}: a circle; take `{EXTENDS}` out of one of them")
    if not path.is_file():
        reason = f" ({above[-1]}: {EXTENDS})" if above else ""
        raise InputError(f"{path}: there is no such configuration file{reason}{similar_file_hint(path)}")
    from ndcg_ab.config.loading.yaml_files import read_yaml

    content = read_yaml(path)
    if not isinstance(content, dict):
        how = f"ndcg-ab init JUDGMENTS BASELINE CANDIDATE --force --output-file {shlex.quote(str(path))}"
        raise InputError(f"{path}: must hold keys and values → {how}")
    if "directory" in content:
        raise InputError(f"{path}: key 'directory' cannot be set in a file: paths are relative to the file")
    content = fill_in_content(content, str(path))
    extended = content.pop(EXTENDS, None)
    bases = to_list(extended)
    if not all(isinstance(name, str) and name for name in bases):
        raise InputError(f"{path}: {EXTENDS} = {extended!r}: must be the name of a file, or a list of names")
    if resolve_path(path.parent) != directory:
        content = rebase_paths(content, resolve_path(path.parent))
    below: dict[Any, Any] = {}
    origins: dict[KeyPath, str] = {}
    for base in bases:
        lower, of_lower = read_layer(path.parent / Path(base).expanduser(), (*above, path), directory)
        below, origins = merge_layers(below, lower), origins | of_lower
    origins |= dict.fromkeys(leaf_keys(content), str(path))
    return (merge_layers(below, content) if bases else content), origins


def merge_layers(below: dict[Any, Any], above: dict[Any, Any], key_path: KeyPath = ()) -> dict[Any, Any]:
    """Return two mappings merged key by key, with nested mappings merged as well.

    Values of `above` replace those of `below`, and null removes a key. key_path: the path of the mappings.
    """
    merged = dict(below)
    for key, value in above.items():
        lower_value = expand(merged.get(key), (*key_path, key))
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(lower_value, dict) and not is_reference(value):
            merged[key] = merge_layers(lower_value, value, (*key_path, key))
        else:
            merged[key] = value
    return merged


def leaf_keys(content: dict[Any, Any], key_path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the key path of every value in nested mappings; an empty mapping counts as a value."""
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield from leaf_keys(value, (*key_path, key))
        else:
            yield (*key_path, key)


def rebase_paths(content: Any, folder: Path, key_path: KeyPath = ()) -> Any:
    """Return the content with relative file paths made absolute, also in references {file: PATH} to secrets.

    folder: the folder from which the relative paths start.
    """

    def absolute(value: Any) -> Any:
        is_relative = isinstance(value, str) and value and not value.startswith("~") and not ADDRESS.match(value)
        return str(folder / value) if is_relative else value

    if is_reference(content) and "file" in content and may_hold_secret(key_path):
        return {"file": absolute(content["file"])}
    if isinstance(content, dict):
        return {part: rebase_paths(value, folder, (*key_path, part)) for part, value in content.items()}
    if isinstance(content, list):
        return [rebase_paths(value, folder, (*key_path, index)) for index, value in enumerate(content)]
    return absolute(content) if is_path(key_path) else content


# ---- variables of the environment
#
# Variables are filled in when the file is read.  If an address or an argument may hold a password (`Trait.LATE`, and a
# path that is an address), the text stays as it is written, and variables are filled in when it is used.  A stored
# evaluation, or one handed to Prefect, therefore holds no secret.


def fill_in_content(content: Any, origin: str, key_path: KeyPath = ()) -> Any:
    """Return the content of a file with environment variables replaced by their values.

    Variables are not replaced in addresses of files, and in values that may hold secrets. If a value is a single
    variable, the text of the variable is parsed as YAML, unless the key takes text; an empty text becomes null. origin:
    the file, for messages. Raises InputError for a variable that is not set and has no default.
    """

    def fill(text: str, key_path: KeyPath) -> Any:
        value = fill_variables(text, f"{origin}: {dotted_key(key_path)}")
        if may_hold_secret(key_path) or (is_path(key_path) and ADDRESS.match(text)):
            return text
        match = VARIABLE.fullmatch(text.strip())
        if match is None or match["inner"] is None:
            return value
        if takes_text(key_path):
            return value or None
        from ndcg_ab.config.loading.yaml_files import parse_yaml

        try:
            return parse_yaml(value)
        except ValueError:
            return value

    return map_texts(content, fill, key_path)


# ---- changes by --set


def assign_setting(content: dict[Any, Any], text: str) -> KeyPath:
    """Set the key that a `--set` option names in the content, and return the key path.

    text: the option, such as ``statistics.alpha=0.01``; ``gate=null`` removes the key. Missing mappings are created.
    Raises InputError for `extends`, for a list entry that is not there, for a key below a plain value, and for a value
    that is not YAML. An unknown key is refused later, by the model.
    """
    rest, written = split_setting(text)
    if rest.partition(".")[0] == EXTENDS:
        raise InputError(f"{SET} {text!r}: {EXTENDS} is allowed in a file only; name the file that extends another")
    key_path: KeyPath = ()
    holder: Any = content
    while True:
        part, rest = next_part(holder, key_path, rest, text)
        key_path = (*key_path, part)
        if not rest:
            break
        inner = expand((holder[part] if isinstance(part, int) else holder.get(part)) or {}, key_path)
        if not isinstance(inner, dict | list):
            raise InputError(f"{SET} {text!r}: key {dotted_key(key_path)!r} has no keys below it")
        holder[part] = inner
        holder = inner
    from ndcg_ab.config.loading.yaml_files import parse_yaml

    try:
        value = parse_yaml(written)
    except ValueError as error:
        raise InputError(f"{SET} {text!r}: {written!r} is not YAML: {error}") from None
    if takes_text(key_path) and isinstance(value, int | float):
        value = written
    if value is None and isinstance(holder, dict) and annotation_of(key_path) is not Any:
        holder.pop(part, None)
    else:
        holder[part] = fill_in_content(value, SET, key_path)
    return key_path


def split_setting(text: str) -> tuple[str, str]:
    """Return the key and the value of a `--set` option, split at the first `=` outside of parentheses.

    Raises InputError if the option is not KEY=VALUE.
    """
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "=" and depth == 0 and index > 0:
            return text[:index].strip(), text[index + 1 :].strip()
    raise InputError(f"{SET} {text!r}: must be KEY=VALUE, such as statistics.alpha=0.01")


def next_part(holder: Any, key_path: KeyPath, rest: str, text: str) -> tuple[int | str, str]:
    """Return the first part of a dotted key, as a name or a list index, and the rest of the key.

    A list entry can be written as an index or as the name of the entry. holder: the mapping or list at `key_path`.
    rest: the dotted key. text: the `--set` option, for messages. Raises InputError if a list has no such entry.
    """
    first, _, others = rest.partition(".")
    if isinstance(holder, list):
        names = [str(entry["name"]) for entry in holder if isinstance(entry, dict) and "name" in entry]
        for name in sorted(names, key=len, reverse=True):
            if rest == name or rest.startswith(f"{name}."):
                at = next(at for at, entry in enumerate(holder) if isinstance(entry, dict) and entry["name"] == name)
                return at, rest[len(name) + 1 :]
        if first.isdecimal() and len(first) < 10 and int(first) < len(holder):
            return int(first), others
        known = ", ".join(names) or f"0 to {len(holder) - 1}" if holder else "none"
        hint = nearest_hint(first, names)
        raise InputError(f"{SET} {text!r}: {dotted_key(key_path)} has no entry {first!r}{hint} (entries: {known})")
    values = [get_args(kind)[1] for kind in inner_types(annotation_of(key_path)) if get_origin(kind) is dict]
    return (rest, "") if values and Any not in values else (first, others)  # names of metrics may hold points
