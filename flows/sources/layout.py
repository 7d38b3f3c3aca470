"""What a table of judgments, rankings or queries holds, and the rules that each value must keep."""

import dataclasses
import math
import re
from difflib import get_close_matches

import pyarrow as pa

from flows.errors import InputError


@dataclasses.dataclass(frozen=True)
class Field:
    """One column: its name here, its type, and whether a table can do without it."""

    name: str
    type: pa.DataType
    required: bool = True


@dataclasses.dataclass(frozen=True)
class Layout:
    """One kind of table.

    kind: the word for one of its rows in messages.
    fields: its columns.
    trec: the place of each field in a line of the TREC format, and the number of fields in such a line;
        None where TREC has no such file.
    """

    kind: str
    fields: tuple[Field, ...]
    trec: tuple[dict[str, int], int] | None = None

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(field.name, field.type) for field in self.fields])

    def check_columns(self, where: str, found: list[str], columns: dict[str, str]) -> dict[str, str]:
        """field -> column name in the file, for the fields that it has.

        Raises InputError for a column that is mapped or required and not there.
        """
        chosen = {}
        for field in self.fields:
            name = columns.get(field.name, field.name)
            if name in found:
                chosen[field.name] = name
            elif field.required or field.name in columns:
                near = get_close_matches(name, found, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise InputError(
                    f"{where}: there is no column {name!r} for {field.name} (columns: {', '.join(found) or 'none'})"
                    f"{hint} Name it with columns: {field.name}=COLUMN"
                )
        if self.kind == "ranking" and not {"score", "rank"} & set(chosen):
            raise InputError(
                f"{where}: a ranking needs a column 'score', a column 'rank', or both (columns: {', '.join(found)})"
            )
        return chosen


JUDGMENT = Layout(
    "judgment",
    (Field("query_id", pa.string()), Field("doc_id", pa.string()), Field("grade", pa.float64())),
    ({"query_id": 0, "doc_id": 2, "grade": 3}, 4),
)
RANKING = Layout(
    "ranking",
    (
        Field("query_id", pa.string()),
        Field("doc_id", pa.string()),
        Field("score", pa.float64(), required=False),
        Field("rank", pa.int64(), required=False),
    ),
    ({"query_id": 0, "doc_id": 2, "rank": 3, "score": 4}, 6),
)
QUERY = Layout("query", (Field("query_id", pa.string()), Field("text", pa.string())))

PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_value(field: Field, value: object, where: str) -> str | float | int:
    """A value as its field's type; raises InputError with the place, the value and the rule."""
    if value is None:
        raise InputError(f"{where}: {field.name} is missing: every row needs one")
    if field.type == pa.string():
        if isinstance(value, bool | float) or not isinstance(value, str | int):
            raise InputError(f"{where}: {field.name} = {value!r}: must be text")
        if str(value) == "":
            raise InputError(f"{where}: {field.name} is empty: every row needs one")
        return str(value)
    text = str(value).strip()
    if isinstance(value, bool) or not PLAIN_NUMBER.fullmatch(text):
        if re.fullmatch(r"[+-]?(nan|inf|infinity)", text, flags=re.IGNORECASE):
            raise InputError(f"{where}: {field.name} = {text!r}: must be a finite number")
        raise InputError(f"{where}: {field.name} = {value!r}: must be a number")
    parsed = float(text)
    if not math.isfinite(parsed):
        raise InputError(f"{where}: {field.name} = {text!r}: must be a finite number")
    if field.type == pa.int64():
        if not parsed.is_integer():
            raise InputError(f"{where}: {field.name} = {text!r}: must be a whole number")
        return int(parsed)
    return parsed
