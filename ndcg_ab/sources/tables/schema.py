"""The columns of tables of judgments, rankings and queries, and the rules for their values."""

import dataclasses
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import pyarrow as pa

from ndcg_ab.errors import InputError, format_value, shorten
from ndcg_ab.sources.boundary import EXACT
from ndcg_ab.sources.forms.plausible import guess_column, is_plain_number, match_columns, query_column
from ndcg_core.measures.metric import nearest_hint

SayColumns = Callable[[str, Mapping[str, str]], str]
"""A function that writes the advice to map columns: it takes the kind of table and the mapping field -> column."""


TEXT = pa.string()
MAPPING = {"judgment": "--judgments-columns", "ranking": "--columns", "event": "--columns"}


def columns_option(kind: str, mapping: Mapping[str, str]) -> str:
    """Return the advice to map columns, as the option ``--columns doc_id=url`` and as a configuration key.

    kind: the kind of table. mapping: field -> column.
    """
    mapping = {field: shorten(column) for field, column in mapping.items()}
    key = f"columns: {{{', '.join(f'{field}: {column}' for field, column in mapping.items())}}}"
    if kind == "query" and [*mapping] == ["cluster"]:
        return f"--cluster {shlex.quote(mapping['cluster'])} (in a configuration {key})"
    if kind not in MAPPING:
        return f"{key} in a configuration, or rename the column in the file"
    pairs = ",".join(f"{field}={column}" for field, column in mapping.items())
    return f"{MAPPING[kind]} {shlex.quote(pairs)} (in a configuration {key})"


@dataclasses.dataclass(frozen=True)
class Field:
    """A column of a table, of texts unless another type is given.

    Attributes
    ----------
    required : bool
        Whether every table must have the column.
    blank : str or float or None
        The value that an empty cell stands for; None: cells may not be empty.
    other : str or None
        An alternative name, used if no column has the field's name.
    is_word : bool
        For a field of texts, whether numbers with decimals are accepted and become texts; integers always are.
    is_unread : bool
        Whether the column is not read even if the table has it.
    """

    name: str
    type: pa.DataType = TEXT
    required: bool = True
    blank: str | float | None = None
    other: str | None = None
    is_word: bool = False
    is_unread: bool = False

    @property
    def may_lack(self) -> bool:
        """Whether the field may be empty in some rows and filled in others."""
        return not self.required and self.blank is not None


@dataclasses.dataclass(frozen=True)
class Layout:
    """The columns of one kind of table.

    Attributes
    ----------
    kind : str
        The word for a row in messages, such as ``judgment`` or ``ranking``.
    fields : tuple of Field
        The columns.
    words : tuple of (str, float)
        For judgments with grades in words, each word and its number.
    """

    kind: str
    fields: tuple[Field, ...]
    words: tuple[tuple[str, float], ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(field.name, field.type) for field in self.fields])

    def refuse_unknown(self, where: str, columns: Mapping[str, str]) -> None:
        """Raise InputError if `columns` (field -> column) maps a name that is no field."""
        names = [field.name for field in self.fields]
        for name in sorted(set(columns) - set(names)):
            hint = nearest_hint(name, names)
            if columns[name] in names:
                hint = f"; it is FIELD=COLUMN: say {columns[name]}={name}"
            kind = f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"
            raise InputError(f"{where}: columns: {format_value(name)} is no field of {kind} ({', '.join(names)}){hint}")

    def choose_columns(self, column_names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
        """Return the mapping field -> column for every field of the layout.

        The column is the configured one, else the one with the field's name, else one with a name that other tools use.
        If the table has none of them, it is the field's name. column_names: the columns of the table. columns: field ->
        configured column.
        """
        names = {field.name: columns.get(field.name, field.name) for field in self.fields}
        lacking = [field for field in self.fields if field.name not in columns and field.name not in column_names]
        others = {field.name: field.other for field in lacking if field.other and field.other in column_names}
        free = [name for name in column_names if name not in names.values()]
        alike = match_columns([field.name for field in lacking], free)
        if self.kind == "query" and lacking and lacking[0].name == "query_id" and (column := query_column(free)):
            alike["query_id"] = column
        return names | alike | others

    def check_columns(
        self, where: str, names: list[str], columns: dict[str, str], say: SayColumns = columns_option
    ) -> dict[str, str]:
        """Return the mapping field -> column name for the fields that a table has.

        where: the file or argument, for messages. names: the columns of the table. columns: field -> configured column.
        say: writes the advice on how to map columns with other names.
        Raises InputError for a mapped or required column that is missing or repeated; names that differ only in case
        count as repeated, unless `columns` says which is meant.
        """
        chosen: dict[str, str] = {}
        missing: list[Field] = []
        for field, name in zip(self.fields, self.choose_columns(names, columns).values(), strict=True):
            if field.is_unread:
                continue
            shown = format_value(name)
            if names.count(name) > 1:
                rule = "each column needs a name of its own"
                raise InputError(f"{where}: column {shown} is there {names.count(name)} times: {rule}")
            if name in chosen.values():
                raise InputError(f"{where}: column {shown} is named for two fields: every field has its own column")
            alike = [each for each in names if each != name and each.casefold() == name.casefold()]
            if name in names and alike and field.name not in columns:
                raise InputError(
                    f"{where}: columns {shown} and {format_value(alike[0])} differ in upper and lower case alone: leave"
                    f" one out, or name the one that is meant: columns: {{{field.name}: {name}}}"
                )
            if name in names:
                chosen[field.name] = name
            elif field.required or field.name in columns:
                missing.append(field)
        text = f"{where}: there is no column"
        unused = [name for name in names if name not in chosen.values()]
        for field in missing:
            name = columns.get(field.name, field.name)
            if isinstance(field.blank, str) and field.required:
                others = [each for each in unused if each not in self.schema.names]
                use = f"for {{{field.name}}} in a request" if not field.blank else "to slice by"
                hint = "; give each column by itself" if "," in name else nearest_hint(name, others)
                raise InputError(f"{text} {format_value(name)} {use} (columns: {names_text(others)}){hint}")
        if missing and self.kind == "query" and "doc_id" in names:
            raise InputError(
                f"{text} 'query_id' (columns: {names_text(names)}): give documents with --documents {where}"
            )
        if missing:
            guesses = {field.name: guess_column(field.name, unused) or "COLUMN" for field in missing}
            name = columns.get(missing[0].name, missing[0].name)
            raise InputError(
                f"{text} {format_value(name)} for {missing[0].name} (columns: {names_text(names)}); say"
                f" {say(self.kind, {**columns, **guesses})}"
            )
        if self.kind == "ranking" and not {"score", "rank"} & set(chosen):
            guess = guess_column("score", unused) or "COLUMN"
            raise InputError(
                f"{where}: a ranking needs a column 'score', a column 'rank', or both (columns: {names_text(names)});"
                f" say {say(self.kind, {**columns, 'score': guess})}"
            )
        return chosen


def names_text(columns: Sequence[str]) -> str:
    """Return the names of columns as text for a message, shortened if there are many."""
    return ", ".join([*map(shorten, columns[:MOST_COLUMNS]), *["…"] * (len(columns) > MOST_COLUMNS)]) or "none"


QUERY_ID, DOC_ID = Field("query_id"), Field("doc_id")
JUDGMENT = Layout("judgment", (QUERY_ID, DOC_ID, Field("grade", pa.float64())))
OF_JUDGES = tuple(Field(name, required=False, blank="") for name in ("judge", "source"))  # which a file may have
JUDGED = Layout(JUDGMENT.kind, (*JUDGMENT.fields, *OF_JUDGES))
SINGLE_JUDGMENT = Layout(JUDGMENT.kind, (*JUDGED.fields, Field("file")))
SCORE, RANK = Field("score", pa.float64(), required=False), Field("rank", pa.int64(), required=False)
RANKING = Layout("ranking", (QUERY_ID, DOC_ID, SCORE, RANK))
OF_DOCUMENTS = tuple(Field(name, required=False, blank="", is_word=True) for name in ("title", "url"))
DOCUMENT = Layout("document", (DOC_ID, *OF_DOCUMENTS))
COSTS = "ranking with costs"  # the kind of a table of what requests cost
NOT_DRAWN = -1e-300  # the probability of a query whose own is empty; nobody writes this number
OF_DRAWS = (  # of queries that `ndcg-ab draw` wrote
    Field("probability", pa.float64(), required=False, blank=NOT_DRAWN),
    Field("disagreement", pa.float64(), required=False, blank=NOT_DRAWN),
)
NO_VALUE = "(none)"  # the slice of queries whose attribute is empty


def query_layout(needed: Mapping[str, bool | None] | None = None, blanks: Mapping[str, str] | None = None) -> Layout:
    """Return the layout of queries: id, text, weight, cluster, columns of `ndcg-ab draw`, and further columns.

    needed: for text, weight and cluster, whether it is required (True), optional (None) or not read (False); None: all
    are optional. blanks: further column -> the value that an empty cell stands for.
    """
    texts = (Field(name, blank=blank) for name, blank in (blanks or {}).items())
    types = {"text": TEXT, "weight": pa.float64(), "cluster": TEXT}
    use = dict.fromkeys(types) | dict(needed or {})
    own_fields = (Field(name, kind, use[name] is True, is_unread=use[name] is False) for name, kind in types.items())
    return Layout("query", (QUERY_ID, *own_fields, *OF_DRAWS, *texts))


MOST_COLUMNS = 12  # in a message
LONGEST_ID = 10_000  # characters; whatever is longer is a document, and no name of one
IDS = ("query_id", "doc_id", "object_id", "document")  # fields that hold one, of rankings, judgments and clicks
MOST_RANK = EXACT  # the ranks below it are exact in every tool


class WordGradeError(InputError):
    """Raised if a grade is a word without a number."""


def read_value(field: Field, value: object, where: str) -> str | float | int:
    """Return a value in the type of its field; raise InputError if it breaks a rule.

    An empty value becomes the field's `blank`, if it has one. A grade that is a word raises WordGradeError. where: the
    location for messages.
    """
    if field.blank is not None and value in (None, "", b""):
        return field.blank
    if value is None:
        raise InputError(f"{where}: {shorten(field.name)} is missing: every row needs one")
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    if value in ("", b"") or (field.type != pa.string() and not str(value).strip()):
        raise InputError(f"{where}: {shorten(field.name)} is empty: every row needs one")
    if field.type == pa.string():
        return read_text(field, value, where)
    text = str(value).strip()

    def refused(rule: str) -> InputError:
        return InputError(f"{where}: {shorten(field.name)} = {format_value(text)}: {rule}")

    if re.fullmatch(r"[+-]?(nan|inf|infinity)", text, flags=re.IGNORECASE):
        raise refused("must be a finite number")
    if not is_plain_number(text):
        with_comma = re.fullmatch(r"[+-]?\d+,\d+", text)
        hint = f"; write it with a point: {text.replace(',', '.')}" if with_comma else ""
        is_word = field.name == "grade" and isinstance(value, str | bytes) and not hint
        kind = WordGradeError if is_word else InputError
        raise kind(f"{where}: {shorten(field.name)} = {format_value(value)}: must be a number{hint}")
    parsed = float(text)
    if not math.isfinite(parsed):
        raise refused("must be a finite number")
    if field.type == pa.int64():
        if not parsed.is_integer():
            raise refused("must be a whole number")
        integer = int(text) if text.lstrip("+-").isdecimal() else int(parsed)
        if abs(integer) >= MOST_RANK:
            raise refused("must be between -2^53 and 2^53")
        return integer
    digits = text.lstrip("+-0")
    is_exact = abs(parsed) < MOST_RANK or not digits.isdecimal() or int(digits) == abs(int(parsed))
    if not is_exact and field.blank is None:
        raise refused(
            f"is a whole number beyond 2^53 that a double cannot hold ({int(parsed)} is next to it), so that"
            " different numbers become equal: divide all, or write their ranks"
        )
    return parsed


def is_valid_text(value: object) -> bool:
    """Return whether a value is a text that is not empty and can be encoded as UTF-8."""
    try:
        return isinstance(value, str) and len(value.encode()) > 0
    except UnicodeEncodeError:
        return False


def read_text(field: Field, value: object, where: str) -> str:
    kinds = (str, bytes, int, float, Decimal) if field.is_word else (str, bytes, int)
    if isinstance(value, bool) or not isinstance(value, kinds):
        rule = "must be text or a whole number"
    else:
        try:
            text = value.decode() if isinstance(value, bytes) else str(value)
            text.encode()
            if len(text) <= LONGEST_ID or field.name.rpartition(".")[2] not in IDS:
                return text
            rule = f"is {len(text):,} characters long, and must be no longer than {LONGEST_ID:,}: is it an id?"
        except UnicodeError:
            rule = "must be text that UTF-8 can hold"
    raise InputError(f"{where}: {shorten(field.name)} = {format_value(value)}: {rule}")


def check_types(schema: pa.Schema, layout: Layout, chosen: Mapping[str, str], where: str) -> None:
    """Raise InputError for a column of an impossible type: ids must be texts or integers, other fields numbers.

    chosen: field -> column of the schema. where: the file or argument, for messages.
    """
    for field in layout.fields:
        if field.name not in chosen:
            continue
        dtype = schema.field(chosen[field.name]).type
        inner = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
        column = f"{where}: column {format_value(chosen[field.name])} is of type {shorten(str(dtype))}: {field.name}"
        if field.type == pa.string():
            if not is_id_type(dtype) and not (field.is_word and is_number_type(inner)):
                remedy = f'; in pandas: [{format_value(chosen[field.name])}].astype("Int64").astype(str)'
                hint = remedy if pa.types.is_floating(inner) else ""
                raise InputError(f"{column} must be text or a whole number{hint}")
        elif not is_number_type(inner) and not is_text_type(inner):
            raise InputError(f"{column} must be a number")


def is_id_type(column: pa.DataType) -> bool:
    inner = column.value_type if pa.types.is_dictionary(column) else column
    is_whole = pa.types.is_integer(inner) or (pa.types.is_decimal(inner) and inner.scale <= 0)
    return is_whole or is_text_type(inner) or pa.types.is_binary(inner) or pa.types.is_null(inner)


def is_text_type(column: pa.DataType) -> bool:
    return any(is_kind(column) for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def is_number_type(column: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(column) for is_kind in kinds)
