"""Variables of the environment in a configuration: `${NAME}` and `${NAME:-value}`; `$${` is a plain `${`.

They are looked up when the file is read.  Where an address or an argument may hold a password (`Trait.LATE`, and a path
that is an address as it is written), the text is kept as it is written, and looked up when it is used: what is kept of
an evaluation, or handed to Prefect, holds no secret.
"""

import os
import re
from typing import Any

import yaml

from ndcg_ab.config.loading.keys import is_late, is_path, takes_text
from ndcg_ab.config.loading.yaml_files import Loader
from ndcg_ab.config.model.inputs.connections import ADDRESS
from ndcg_ab.config.walking import Place, dotted_key, map_texts
from ndcg_ab.errors import InputError, format_value

VARIABLE = re.compile(r"\$\$\{|\$\{(?P<inner>[^{}]*)\}|\$\{")
INNER = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>.*))?", flags=re.DOTALL)


def fill_variables(text: str, where: str) -> str:
    """The text with the values of its variables.

    A variable that is set and empty counts as not set.  Raises InputError for one that is not set and has no default.
    """

    def value_of(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        inner = INNER.fullmatch(found["inner"] or "")
        if inner is None:
            raise InputError(
                f"{where}: {format_value(text[found.start() :])}: must be ${{NAME}} or ${{NAME:-value}};"
                " $${ writes a plain ${"
            )
        name, default = inner["name"], inner["default"]
        value = os.environ.get(name) or default
        if value is None:
            raise InputError(
                f"{where}: ${{{name}}} is not set (and has no default): set the variable, or write ${{{name}:-value}}"
            )
        return value

    return VARIABLE.sub(value_of, text)


def fill_in_content(content: Any, origin: str, place: Place = ()) -> Any:
    """What a file holds at a place, with the values of its variables.

    A value that is one variable and nothing else is what YAML makes of it where the key does not take text, and null
    where it is empty.
    """

    def fill(text: str, place: Place) -> Any:
        value = fill_variables(text, f"{origin}: {dotted_key(place)}")
        if is_late(place) or (is_path(place) and ADDRESS.match(text)):
            return text
        whole = VARIABLE.fullmatch(text.strip())
        if whole is None or whole["inner"] is None:
            return value
        return (value or None) if takes_text(place) else parse_yaml_text(value)

    return map_texts(content, fill, place)


def parse_yaml_text(text: str) -> Any:
    """What YAML makes of a text; the text itself where it is no YAML."""
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError):
        return text
