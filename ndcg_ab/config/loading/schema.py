"""Write the JSON Schema of configuration files from the model; editors use it to complete and explain keys."""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from ndcg_ab.config.loading.keys import EXTENDS
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.config.model.keys import SEVERAL, Trait, keys_with
from ndcg_core.measures.metric import COUNTS, NUMBERS, VALUES, Metric
from ndcg_core.measures.notation import PRESETS
from ndcg_core.measures.registry import MEASURES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VARIABLE = {"type": "string", "pattern": r"\$\{", "description": "A variable of the environment: ${NAME}."}
TEXT = {"type": "string"}
NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "[0-9]"}]}
GROUPS = ("anyOf", "items", "additionalProperties")
Schema = dict[str, Any]


def json_schema() -> Schema:
    """Return the JSON Schema of configuration files.

    The schema accepts every file that `ndcg-ab check` accepts. In addition to the keys of the model it has `extends`,
    short forms of files and metrics, variables, and null for a default.
    """
    schema = Evaluation.model_json_schema()
    keys, parts = schema["properties"], schema["$defs"]
    del keys["directory"]
    for key in keys.values():
        named = [each["$ref"].rpartition("/")[2] for each in (key, *key.get("anyOf", ())) if "$ref" in each]
        if named and "description" not in key:
            key["description"] = parts[named[0]]["description"]
    for name in keys_with(Evaluation, Trait.METRICS):
        lists = [each for each in (keys[name], *keys[name].get("anyOf", ())) if each.get("type") == "array"]
        lists[0]["items"] = {"anyOf": [TEXT, {"$ref": "#/$defs/Metric"}]}
    for name, field in Evaluation.model_fields.items():
        if SEVERAL in field.metadata:
            entry = keys[name].pop("items")
            keys[name]["anyOf"] = [entry, {"type": "array", "items": entry}]
            del keys[name]["type"]
    kinds = System.kinds
    not_null = {name: {"not": {"type": "null"}} for name in kinds}
    alternatives = [{"required": [name], "properties": {name: kind}} for name, kind in not_null.items()]
    nowhere = {"properties": {name: {"type": "null"} for name in kinds}}
    parts["System"]["oneOf"] = [*alternatives, nowhere]
    parts = {name: loosen_schema(part) for name, part in {**parts, "Metric": metric_schema()}.items()}
    extends = {
        "anyOf": [TEXT, {"type": "array", "items": TEXT}, {"type": "null"}],
        "description": "Files whose keys hold where this one does not give them, each above those before it.",
    }
    needed = schema["required"]
    ranked = [*needed, "judgments", "systems"]
    somewhere = {"items": {"anyOf": [{"required": [name]} for name in kinds]}}
    ways = [{"required": way} for way in (ranked, [*needed, "scores"], [EXTENDS])]
    return {
        "$schema": DIALECT,
        "title": "ndcg-ab",
        "description": "Configuration of an evaluation for ndcg-ab.",
        "type": "object",
        "properties": {
            EXTENDS: extends,
            **loosen_schema({"type": "object", "properties": keys, "required": ranked})["properties"],
        },
        "additionalProperties": False,
        "anyOf": ways,
        "if": {"required": ["judgments"]},
        "then": {"properties": {"systems": somewhere}},
        "$defs": {**parts, "Variable": VARIABLE},
    }


def metric_schema() -> Schema:
    """Return the schema of a metric given as a mapping."""
    keys: Schema = {
        field.name: NUMBER if field.name in NUMBERS else one_of(VALUES.get(field.name, ()))
        for field in dataclasses.fields(Metric)
    }
    positive_integer = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^0*[1-9][0-9]*$"}]}
    keys |= dict.fromkeys(COUNTS, positive_integer)
    keys["measure"] = one_of(MEASURES) | {"description": "What is measured."}
    keys["preset"] = one_of(PRESETS) | {"description": "The choices of another tool."}
    tables = [{"type": "object", "additionalProperties": NUMBER}, {"type": "string", "pattern": r"^\{"}]
    keys["gain"] = {"anyOf": [*keys["gain"]["anyOf"], *tables]}
    return {"type": "object", "properties": keys, "additionalProperties": False, "description": "A metric."}


def one_of(names: Iterable[str]) -> Schema:
    """Return a schema that accepts one of the names in any case; editors offer the names."""
    known = list(names)
    letters = [
        "".join(f"[{each.lower()}{each.upper()}]" if each.isalpha() else each for each in name) for name in known
    ]
    return {"anyOf": [{"enum": known}, {"type": "string", "pattern": f"^({'|'.join(letters)})$"}]}


def loosen_schema(schema: Schema) -> Schema:
    """Return a schema that also accepts variables and null.

    A variable is accepted in the place of every value other than free text, which accepts it anyway. Null is accepted
    for keys with a default, and for entries of a mapping: in a file with `extends`, null removes the entry.
    """
    loose = {key: value for key, value in schema.items() if key != "title"}
    if "properties" in loose:
        needed = loose.get("required", ())
        loose["properties"] = {
            key: loosen_schema(value) if key in needed else either_schema(loosen_schema(value), {"type": "null"})
            for key, value in loose["properties"].items()
        }
    for group in GROUPS:
        if isinstance(loose.get(group), dict):
            inner = loosen_schema(loose[group])
            loose[group] = either_schema(inner, {"type": "null"}) if group == "additionalProperties" else inner
        elif isinstance(loose.get(group), list):
            loose[group] = [loosen_schema(each) for each in loose[group]]
    is_free = loose.get("type") == "string" and not {"enum", "pattern"} & loose.keys()
    if "$ref" not in loose and "anyOf" not in loose and not is_free and loose.get("type") not in ("object", "null"):
        return either_schema(loose, {"$ref": "#/$defs/Variable"})
    return loose


def either_schema(schema: Schema, other: Schema) -> Schema:
    """Return a schema that accepts what either of two schemas accepts.

    The description and the default of `schema` move to the top level.
    """
    about: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    rule = {key: value for key, value in schema.items() if key not in about}
    if not rule:
        return schema
    choices = rule["anyOf"] if set(rule) == {"anyOf"} else [rule]
    return {**about, "anyOf": choices if other in choices else [*choices, other]}


def schema_text() -> str:
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
