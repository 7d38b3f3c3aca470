"""Make views instead of stored tables: the selects of SQL files with their parameter values filled in."""

import json
import re
from collections.abc import Container, Mapping

import pyarrow as pa

from ndcg_ab.engines.base import GIVEN, Parameters, Value
from ndcg_ab.engines.sql_files import SqlFile

VIEW = "view "  # prefix in the state of the names of views


def state_table(settings: Parameters, made_with: Mapping[str, Parameters], views: Container[str] = ()) -> pa.Table:
    """Return the table that records with which parameter values each table of a database file was made.

    Its columns are name and parameters (JSON). There is one row per table; the row with the name "" has the default
    values of all parameters.
    settings: the default values of parameters.
    made_with: table name -> parameter values.
    views: names of the tables that are stored as views; in their rows the name begins with `VIEW`.
    """
    states = {"": settings} | {VIEW * (name in views) + name: parameters for name, parameters in made_with.items()}
    texts = [json.dumps(parameters) for parameters in states.values()]
    return pa.table({"name": pa.array(states, pa.string()), "parameters": pa.array(texts, pa.string())})


def make_views(
    files: Mapping[str, SqlFile], made_with: Mapping[str, Parameters], tables: Container[str], *, are_small: bool
) -> dict[str, str]:
    """Return {name: select} of the tables that a database file holds as views, in the order of creation.

    A table is left out if its parameter values are unknown, or if a table that it reads is neither stored nor a view.
    made_with: table name -> parameter values with which the table was made.
    tables: names of the stored tables.
    are_small: whether the inputs are small. Then SQL files of kind ``table`` give views, too, since these views take
        little time; otherwise only SQL files of kind ``view`` do.
    """
    views: dict[str, str] = {}
    for file in sorted(files.values(), key=lambda file: file.number):
        parameters = made_with.get(file.name, {GIVEN: True})
        is_known = GIVEN not in parameters and {*file.params} <= parameters.keys()
        is_wanted = file.kind == "view" or (file.kind == "table" and are_small)
        if is_known and is_wanted and all(name in tables or name in views for name in file.reads):
            views[file.name] = fill_parameters(file, parameters)
    return views


def text_literal(text: str) -> str:
    """Return a text as a SQL literal, for views, in which parameters cannot be bound."""
    return "'" + text.replace("'", "''") + "'"


def fill_parameters(file: SqlFile, parameters: Parameters) -> str:
    """Return the select of a SQL file with its parameter values filled in, for a view."""
    lines = [line for line in file.text.splitlines() if not line.startswith("--")]
    return re.sub(r"\$(\w+)", lambda match: sql_literal(parameters[match[1]]), "\n".join(lines))


def sql_literal(value: Value) -> str:
    """Return a parameter value as SQL: null, a text, a number, a boolean, or a list of texts."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return f"[{', '.join(map(text_literal, value))}]"


def as_texts(table: pa.Table) -> pa.Table:
    """Return a table with plain columns instead of dictionary-encoded ones."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(field.type.value_type))
    return table
