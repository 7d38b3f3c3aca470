"""Every rule of the model, read from its schema: a value that breaks it is refused by `check`, in one sentence."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.loading.file import RULES, read_config
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import RULES_OF_PATTERNS
from ndcg_ab.config.walking import dotted_key
from ndcg_ab.errors import InputError
from tests.mistaking import GOOD, with_slot, write_flow_yaml

SCHEMA = Evaluation.model_json_schema()
LIMITS = ("pattern", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")
Rule = tuple[tuple[str, ...], str, str]  # the place, the rule's name, a YAML value that breaks it
# What must stand beside a key, for nothing else to be wrong.
BESIDE: dict[str, dict[str, Any]] = {
    "http": {"url": "http://127.0.0.1:9/x"},
    "database": {"uri": "sqlite:///x.db"},
    "spark": {"master": "local"},
    "schedule": {"cron": "0 2 * * *"},
    "more_judgments": {"file": "x"},
    "cheap_judgments": {"file": "x"},
    "documents": {"file": "x"},
    "intended": {"file": "x"},
    "scores": {"file": "x", "system": "a"},
    "systems": {"name": "a", "file": "x"},
}


def rules(schema: dict[str, Any], place: tuple[str, ...] = (), inside: tuple[str, ...] = ()) -> Iterator[Rule]:
    """Every rule below a place; inside: the models that led there."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in inside:
            yield from rules(SCHEMA["$defs"][name], place, (*inside, name))
        return
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    for each in choices:
        if len(choices) == 1 or each.keys() & {*LIMITS, *LENGTHS, "properties"}:
            yield from rules(each, place, inside)
    for name in {*LIMITS, *LENGTHS} & schema.keys():
        yield place, name, breaking(name, schema[name], schema)
    if schema.get("type") in WRONG:
        yield place, schema["type"], WRONG[schema["type"]]
    if schema.get("additionalProperties") is False and place not in ((), ("tracker",)):  # whose key is a name
        yield (*place, "no_such_key"), "additionalProperties", "1"
    for name, inner in schema.get("properties", {}).items():
        if (name, place) != ("directory", ()):
            yield from rules(inner, (*place, name), inside)
    if isinstance(items := schema.get("items"), dict) and "$ref" in items:
        yield from rules(items, (*place, "[]"), inside)


WRONG = {"integer": "2.5", "number": "[1]", "boolean": "maybe", "string": "[a]"}


def breaking(name: str, bound: Any, schema: dict[str, Any]) -> str:
    """A value that keeps the type, and breaks the rule."""
    if name in ("pattern", "enum", "const"):
        return "'?!'"
    if name in LENGTHS:
        many = {"minLength": "''", "maxLength": "a" * 1000, "minItems": "[]", "maxItems": "[0, 1, 2]"}
        return many[name]
    step = 1 if schema["type"] == "integer" else 1e-3
    below, above = {"minimum": bound - step, "exclusiveMinimum": bound}, {"maximum": bound + step}
    return str({**below, **above, "exclusiveMaximum": bound}[name])


def all_rules() -> list[Rule]:
    return sorted(set(rules(SCHEMA)))


def least_around(place: tuple[str, ...]) -> dict[str, Any]:
    """A good configuration with what a key needs beside it."""
    content: dict[str, Any] = {**GOOD, "queries": {"file": "x"}}
    if place[0] == "scores":
        content = {key: value for key, value in content.items() if key not in ("judgments", "systems")}
    holder: Any = content
    for part, following in zip(place, (*place[1:], ""), strict=True):
        if part == "[]" or not following:
            continue
        if following == "[]":
            holder[part] = [dict(BESIDE.get(part, {}))]
            holder = holder[part][0]
        elif part not in ("judgments", "queries"):
            holder[part] = dict(BESIDE.get(part, {}))
            holder = holder[part]
        else:
            holder[part] = dict(holder[part])
            holder = holder[part]
    if (place[0] in ("systems", "scores") and place[-1] in ("python", "http", "table", "database")) or "http" in place:
        content[place[0]][0].pop("file", None)
    return content


def wrong_file(folder: Path, rule: Rule) -> Path:
    place, _, value = rule
    path = folder / "c.yaml"
    path.write_text(write_flow_yaml(with_slot(least_around(place), place), value))
    return path


def assert_one_sentence(said: str, rule: Rule) -> None:
    key = dotted_key(tuple(0 if part == "[]" else part for part in rule[0]))
    about = [line for line in said.splitlines() if re.search(rf"{re.escape(key)}\b", line)]
    assert len(about) == 1, f"{rule}: {said}"
    assert len(said) < 3000 and "pattern" not in said and "Input should" not in said, f"{rule}: {said}"


@pytest.mark.slow
def test_what_breaks_a_rule_is_refused_in_one_sentence(tmp_path: Path) -> None:
    assert len(all_rules()) > 200
    for rule in all_rules():
        with pytest.raises(InputError) as caught:
            read_config(wrong_file(tmp_path, rule))
        assert_one_sentence(str(caught.value), rule)


def test_every_kind_of_rule_has_its_sentence() -> None:
    """What pydantic calls a rule that the schema has is told in our words."""
    assert {SCHEMA_RULES[name] for _, name, _ in all_rules() if name in SCHEMA_RULES} <= set(RULES) | {""}
    patterns = re.findall(r"'pattern': '(.*?)'[,}]", str(SCHEMA))
    assert {pattern.replace("\\\\", "\\") for pattern in patterns} == set(RULES_OF_PATTERNS)


SCHEMA_RULES = {
    "minimum": "greater_than_equal",
    "maximum": "less_than_equal",
    "exclusiveMinimum": "greater_than",
    "exclusiveMaximum": "less_than",
    "minLength": "string_too_short",
    "maxLength": "string_too_long",
    "minItems": "too_short",
    "enum": "literal_error",
    "integer": "int_type",
    "number": "float_type",
    "boolean": "bool_type",
    "string": "string_type",
}
