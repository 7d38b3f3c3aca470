"""Read user events into one table: User Behavior Insights (UBI 1.3), or counts of impressions and clicks.

UBI events (o19s/ubi, schema/1.3.0/event.schema.json) are nested objects. Events in the
columns of a table are read like other tables. UBI counts ranks from 0 (`event_attributes.position.ordinal`), this
module from 1. The schema has the text of a query in a separate table; collectors also write it into the event as
`user_query`, which is required here.

JSON Lines are read by pyarrow if all lines are regular, else line by line. Lines of bulk files of search engines, and
lines of queries, which have the texts, are read as well. A field is found at a path of keys with dots between, under
one key with dots in its name, or under the last key of the path alone (a flattened event).
"""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError, format_value, refuse_unreadable
from ndcg_ab.sources.base import PullRequest, Remark, RemarkCounter, Source
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.files.file import refuse_unreadable_file
from ndcg_ab.sources.files.parts import list_parts, name_part_in_errors
from ndcg_ab.sources.files.records import PIECE, json_objects
from ndcg_ab.sources.files.streams import BLOCK, UnusualError, count_objects, line_blocks
from ndcg_ab.sources.files.unpacking import open_bytes
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.forms.recognition import format_by_name
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.user_events import is_bulk_action, is_mixed, is_query, query_texts
from ndcg_ab.sources.tables.columns import UNCLEAR, holds_byte_below, holds_long_text
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, read_batches
from ndcg_ab.sources.tables.schema import MOST_RANK, Field, Layout, read_value

DEFAULTS = {  # field -> where UBI has it
    "action_name": "action_name",
    "user_query": "user_query",
    "object_id": "event_attributes.object.object_id",
    "ordinal": "event_attributes.position.ordinal",
    "search_id": "query_id",
    "client_id": "client_id",
    "session_id": "session_id",
}
SCHEMA = pa.schema([(name, pa.int64() if name == "ordinal" else pa.string()) for name in DEFAULTS])
NO_ORDINAL = -1  # the ordinal of an event without one
BLANKS = {"action_name": None, "ordinal": float(NO_ORDINAL)}  # of other fields an empty text
UBI = Layout(
    "event",
    tuple(
        Field(
            name, pa.float64() if name == "ordinal" else pa.string(), name == "action_name", BLANKS.get(name, ""), other
        )
        for name, other in DEFAULTS.items()
    ),
)
OTHERS = {"place": "position", "shown": "impressions", "clicked": "clicks"}  # field of whole numbers -> its other name
WHOLE = tuple(Field(name, pa.int64(), other=other) for name, other in OTHERS.items())
COUNTS = Layout("event", (Field("query"), Field("document", other="doc_id"), *WHOLE))
EVENTS = pa.schema(
    (name, pa.int64() if name in OTHERS else pa.string())
    for name in ("text", "doc_id", "place", "search_id", "client", "shown", "clicked")
)
TEXTS = ("text", "doc_id", "client")  # columns whose texts repeat
IMPRESSION, CLICKS = "impression", ("click", "click_through")
DEEPEST_RANK = BOUNDS["click log"].largest  # deeper ranks do not count: a model has a number for each rank
BEYOND = f"beyond place {DEEPEST_RANK:,}"
MOST_SHOWN = 10**12  # of one row: sums over millions of rows fit into 64 bits
NEEDED = ("user_query", "object_id", "ordinal")  # of an impression or a click


class ReadEvents(NamedTuple):
    """The impressions and clicks of a click log.

    Attributes
    ----------
    table : pyarrow.Table or TableOnDisk
        One row per event, or per row of a table of counts, in the columns of `EVENTS`.
    origin : str
        Name of the log, for messages.
    read : int
        Number of events or rows that were read, including those that are left out.
    remarks : tuple of Remark
        Findings about the events that are left out.
    """

    table: Any
    origin: str
    read: int
    remarks: tuple[Remark, ...]


def read_events(described: Clicks, source: Source, directory: Path, writer: TableWriter = IN_MEMORY) -> ReadEvents:
    """Return the impressions and clicks of a log, which is read in pieces.

    directory: the folder that paths in the configuration start from. writer: receives the rows. Raise InputError with
    the location, the value and the rule if data cannot be read, and if there are no impressions or no clicks.
    """
    file = described.source
    limits = LimitCounter(BOUNDS["click log"], source.origin)
    kind = described.events or guess_kind(file, directory)
    if kind == "table":
        return events_from_counts(next(limits.count_pieces([source.pull(COUNTS, {})])), source.origin)
    is_json = isinstance(file, FileSource) and (file.format or format_by_name(Path(str(file.file)))) == "jsonl"
    if isinstance(file, FileSource) and (kind == "lines" or is_json):
        UBI.refuse_unknown(str(file.file), file.columns)
        pieces = file_pieces(file, directory)
    else:
        pieces = table_pieces(source, writer.sibling("table"))
    usual = CLICKS[:1] if described.model == "opensearch" else CLICKS
    chosen = EventFilter(tuple(name.lower() for name in described.actions or usual))
    selected = map(chosen.select, limits.count_pieces(pieces))
    table = writer.write(selected, EVENTS, names=TEXTS)
    return ReadEvents(table, source.origin, chosen.read, chosen.remarks(source.origin))


def file_pieces(source: FileSource, directory: Path) -> Iterator[pa.Table]:
    """Yield the events of JSON Lines files in tables, in the columns of `SCHEMA`."""
    with list_parts(source, directory) as parts:
        for part in parts:
            with name_part_in_errors(part):
                yield from json_event_pieces(part.path, source.columns)


def table_pieces(source: Source, writer: TableWriter) -> Iterator[pa.Table]:
    """Yield the events of a table in pieces, with integer ordinals."""
    rows = 0
    for piece in read_batches(source.answer(UBI, PullRequest({}, writer=writer)).table, UBI.schema.names):
        yield with_integer_ordinals(piece, source.origin, rows)
        rows += piece.num_rows


def guess_kind(source: Any, directory: Path) -> str:
    """Return the kind of an event source by its first lines: "table" (of counts), "lines" (of JSON) or "ubi".

    "ubi" stands for UBI events in the columns of a table, and for any source that is not a local file. Raise InputError
    if there is no such file.
    """
    if not isinstance(source, FileSource) or not isinstance(source.file, Path):
        return "ubi"
    with list_parts(source, directory) as parts:
        path = parts[0].path
        refuse_unreadable_file(path)
        sample = Sample.of_file(path)
        names = {*sample.column_names}
    is_table = any(field.name in source.columns or {field.name, field.other} & names for field in COUNTS.fields[2:])
    return "table" if is_table else "lines" if sample.is_json and not source.format else "ubi"


def with_integer_ordinals(table: pa.Table, origin: str, before: int) -> pa.Table:
    """Return events with their ordinals as integers.

    A missing ordinal becomes -1, and one above `MOST_RANK` becomes `MOST_RANK`. Raises InputError for a fraction or a
    number below -1. before: number of events before this piece, for messages.
    """
    ordinals = pc.fill_null(table["ordinal"], NO_ORDINAL)
    right = pc.and_(pc.equal(ordinals, pc.floor(ordinals)), pc.greater_equal(ordinals, NO_ORDINAL))
    if (row := pc.index(right, False).as_py()) >= 0:
        value = f"{ordinals[row].as_py():g}"
        raise InputError(f"{origin}, event {before + row + 1}: ordinal = {value}: must be a whole number, 0 or more")
    numbers = pc.min_element_wise(ordinals, float(MOST_RANK)).cast(pa.int64())
    return table.set_column(table.column_names.index("ordinal"), "ordinal", numbers)


class EventFilter:
    """A filter that selects the impressions and clicks of UBI events, and counts the other events.

    clicks: the action names that are clicks, in lower case.
    """

    def __init__(self, clicks: tuple[str, ...]) -> None:
        self.clicks = pa.array(clicks)
        self.read = 0
        self.others = Counter[str]()
        self.used: set[str] = set()
        self.has_shown = self.has_clicked = False
        self.lacking, self.deep = RemarkCounter("click_incomplete"), RemarkCounter("click_deep_place")

    def select(self, events: pa.Table) -> pa.Table:
        """Return the impressions and clicks of a piece in the columns of `EVENTS`, counting the events left out.

        events: in the columns of `UBI`, `ordinal` as integers.
        """
        action = pc.utf8_lower(events["action_name"])
        is_shown = pc.equal(action, IMPRESSION)
        is_click = pc.is_in(action, self.clicks)
        is_used = pc.or_(is_shown, is_click)
        for row in pc.value_counts(action.filter(pc.invert(is_used))).to_pylist():
            self.others[row["values"]] += row["counts"]
        self.used.update(pc.unique(action.filter(is_used)).to_pylist())
        has_texts = (pc.greater(pc.binary_length(events[name]), 0) for name in NEEDED[:2])
        is_whole = functools.reduce(pc.and_, has_texts, pc.greater_equal(events["ordinal"], 0))
        self.lacking.add_rows(events.filter(pc.and_(is_used, pc.invert(is_whole))), incomplete_text)
        is_kept = pc.and_(is_used, is_whole)
        is_deep = pc.greater_equal(events["ordinal"], DEEPEST_RANK)
        self.deep.add_rows(events.filter(pc.and_(is_kept, is_deep)).select(NEEDED), values_text)
        is_kept = pc.and_(is_kept, pc.invert(is_deep))
        rows, is_shown_row, clicked = (each.filter(is_kept) for each in (events, is_shown, is_click))
        self.has_shown |= pc.any(is_shown_row).as_py() or False
        self.has_clicked |= pc.any(clicked).as_py() or False
        self.read += events.num_rows
        client = pc.if_else(pc.equal(rows["client_id"], ""), rows["session_id"], rows["client_id"])
        columns = {
            "text": rows["user_query"],
            "doc_id": rows["object_id"],
            "place": pc.add_checked(rows["ordinal"], 1),
            "search_id": without_blanks(rows["search_id"]),
            "client": without_blanks(client),
            "shown": is_shown_row.cast(pa.int64()),
            "clicked": clicked.cast(pa.int64()),
        }
        return pa.table(columns).cast(EVENTS)

    def remarks(self, origin: str) -> tuple[Remark, ...]:
        """Return remarks on the events that were left out.

        origin: the log, for messages. Raises InputError if no event is an impression, or none is a click.
        """
        actions = ", ".join(sorted({*self.others, *self.used})[:5])
        lacking = "".join(f", {example}" for example in self.lacking.examples[:1])
        if not self.has_shown:
            raise InputError(
                f"{origin}: no event is an impression with {', '.join(NEEDED)} (actions: {actions}{lacking}): without"
                " what was shown nobody knows what was not clicked; log them, or name the columns that hold these"
            )
        if not self.has_clicked:
            raise InputError(
                f"{origin}: no event is a click ({', '.join(self.clicks.to_pylist())}) with {', '.join(NEEDED)}"
                f" (actions: {actions}{lacking}): name the actions that are, with actions"
            )
        remarks_found = []
        if self.others:
            names = ", ".join(f"{name} ({count:,})" for name, count in self.others.most_common(5))
            count = self.others.total()
            message = f"{count:,} events are neither impressions nor clicks, and count nothing: {names}"
            remarks_found.append(Remark("click_other_action", count, (), message))
        incomplete = left_out_remarks(self.lacking, "event", "without the query's text, the document or the place")
        return (*remarks_found, *incomplete, *left_out_remarks(self.deep, "event", BEYOND))


def without_blanks(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def incomplete_text(row: Mapping[str, Any]) -> str:
    missing = [name for name in NEEDED if row[name] in ("", None, NO_ORDINAL)]
    values = values_text({name: row[name] for name in NEEDED if name not in missing})
    return f"{row['action_name']} without {' and '.join(missing)}" + (f" ({values})" if values else "")


def values_text(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {format_value(value)}" for name, value in row.items())


def left_out_remarks(counter: RemarkCounter, word: str, problem: str) -> list[Remark]:
    """Return a list with a remark on events or rows that were left out, empty if there are none.

    counter: counts them. word: ``event`` or ``row``. problem: the clause that says why they do not count.
    """
    return counter.remarks(f"{counter.count:,} {word}{'s' * (counter.count != 1)} {problem}: left out")


def events_from_counts(table: pa.Table, origin: str) -> ReadEvents:
    """Return the impressions and clicks of a table of counts, as events with one row per table row.

    Raise InputError if counts are impossible, such as more clicks than impressions, or if no row has a click.
    """
    for name, least, most, rule in (
        ("place", 1, MOST_RANK, "must be 1 or more: the first place is 1"),
        ("shown", 0, MOST_SHOWN, f"must be 0 or more, and no more than {MOST_SHOWN:,}"),
        ("clicked", 0, table["shown"], "must be 0 or more, and no more than shown"),
    ):
        broken = pc.or_(pc.less(table[name], least), pc.greater(table[name], most))
        if (row := pc.index(broken, True).as_py()) >= 0:
            about = f" (shown = {table['shown'][row].as_py()})" if name == "clicked" else ""
            raise InputError(f"{origin}, row {row + 1}: {name} = {table[name][row].as_py()}{about}: {rule}")
    is_deep = pc.greater(table["place"], DEEPEST_RANK)
    deep = RemarkCounter("click_deep_place")
    deep.add_rows(table.filter(is_deep).select(COUNTS.schema.names[:3]), values_text)
    remarks = tuple(left_out_remarks(deep, "row", BEYOND))
    read, table = table.num_rows, table.filter(pc.invert(is_deep))
    if not pc.any(pc.greater(table["clicked"], 0)).as_py():
        where = f" up to place {DEEPEST_RANK:,}" if remarks else ""
        raise InputError(f"{origin}: clicked is 0 in every row{where}: clicks that nobody made say nothing")
    nothing = pa.nulls(table.num_rows, pa.string())
    columns = [table["query"].cast(pa.string()), table["document"], table["place"], nothing, nothing]
    columns += [table["shown"], table["clicked"]]
    return ReadEvents(pa.table(columns, names=EVENTS.names).cast(EVENTS), origin, read, remarks)


# ---- events of JSON Lines


def json_event_pieces(path: Path, columns: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the events of a file in tables, in the columns of `SCHEMA`.

    A missing text is empty, and a missing ordinal is -1. columns: field -> its path of keys in an event, with dots
    between. Raise InputError with the line that breaks a rule, and if the file has no event.
    """
    refuse_unreadable_file(path)
    rows = 0
    with refuse_unreadable(path):
        if is_mixed(Sample.of_file(path)):
            yield from read_events_by_line(path, columns, query_texts(located_objects(path)))
            return
        try:
            for piece in read_regular_events(path, columns):
                rows += piece.num_rows
                yield piece
        except UNCLEAR:
            for piece in read_events_by_line(path, columns):  # both ways make one row of each line
                yield (rest := piece.slice(rows))
                rows -= piece.num_rows - rest.num_rows


def field_paths(field: str, columns: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the paths of keys at which a field may be, in the order in which they are tried."""
    path = columns.get(field, DEFAULTS[field])
    return list(dict.fromkeys([tuple(path.split(".")), (path,), (path if field in columns else field,)]))


def nested_type(paths: Mapping[tuple[str, ...], pa.DataType]) -> list[pa.Field]:
    """Return the fields of an Arrow struct that contains every path; paths: path of keys -> type."""
    inner: dict[str, dict[tuple[str, ...], pa.DataType]] = {}
    for path, kind in paths.items():
        inner.setdefault(path[0], {})[path[1:]] = kind
    return [pa.field(key, rest[()] if () in rest else pa.struct(nested_type(rest))) for key, rest in inner.items()]


def read_regular_events(path: Path, columns: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the events of a file that has one JSON object on each line; this is the fast way.

    Raise one of the exceptions in `UNCLEAR` if the file must be read line by line, such as for several objects on a
    line or an event that breaks a rule. columns: field -> its path of keys in an event, with dots between.
    """
    identifiers = [pa.string(), pa.int64()]  # the types that ids of documents may have, the one of the last block first
    with open_bytes(path) as file:
        for block in line_blocks(file):
            objects = count_objects(block)
            try:
                piece = parse_block(block, columns, identifiers[0])
            except UNCLEAR:
                identifiers.reverse()
                piece = parse_block(block, columns, identifiers[0])
            if not objects or piece.num_rows != objects:
                raise UnusualError("several objects on a line, or none")
            yield piece


def parse_block(block: bytes, columns: Mapping[str, str], identifiers: pa.DataType) -> pa.Table:
    """Return the events of a block of complete lines, in the columns of `SCHEMA`.

    identifiers: the Arrow type of document ids in the block. Raise one of the exceptions in `UNCLEAR` if the block must
    be read line by line.
    """
    kinds = {"ordinal": pa.int64(), "object_id": identifiers}
    paths = {way: kinds.get(field, pa.string()) for field in DEFAULTS for way in field_paths(field, columns)}
    options = pajson.ParseOptions(pa.schema(nested_type(paths)), False, "ignore")
    rows = pajson.read_json(pa.BufferReader(block), pajson.ReadOptions(block_size=BLOCK // 4), options)
    values = {path: pc.struct_field(rows[path[0]], list(path[1:])) if path[1:] else rows[path[0]] for path in paths}
    table = pa.table({field: pc.coalesce(*map(values.get, field_paths(field, columns))) for field in DEFAULTS})
    table = table.set_column(2, "object_id", table["object_id"].cast(pa.string()))
    if is_irregular(table):
        raise UnusualError("a missing action, a place below 0, or a control character")
    filled = {name: pc.fill_null(table[name], NO_ORDINAL if name == "ordinal" else "") for name in SCHEMA.names}
    return pa.table(filled).cast(SCHEMA)


def is_irregular(table: pa.Table) -> bool:
    """Return whether a row lacks an action, or has a negative ordinal, a very long id or a control character."""
    texts = [chunk for name in table.column_names if name != "ordinal" for chunk in table[name].chunks]
    return (
        table["action_name"].null_count > 0
        or bool(pc.any(pc.equal(table["action_name"], "")).as_py())
        or bool(pc.any(pc.less(table["ordinal"], 0)).as_py())
        or any(holds_byte_below(32, chunk) for chunk in texts)
        or holds_long_text(table["object_id"])
    )


def located_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (location, object) for each JSON object of a file, with the file in the location."""
    for location, row in json_objects(path):
        yield f"{path}, {location}", row


def read_events_by_line(
    path: Path, columns: Mapping[str, str], texts: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the events of a file in tables, read line by line.

    columns: field -> its path of keys in an event, with dots between.
    texts: query_id -> text if the file also has other lines than events: queries, and actions of a search engine's bulk
        format. These lines are skipped, and an event without a text gets the text of its query. None if all lines are
        events.
    Raise InputError with the line that breaks a rule, and if the file has no event.
    """
    fields = {
        name: Field(columns.get(name, index), SCHEMA.field(name).type, required=name == "action_name")
        for name, index in DEFAULTS.items()
    }

    def event_rows() -> Iterator[dict[str, Any]]:
        for where, event in located_objects(path):
            if texts is None or not (is_bulk_action(event) or is_query(event)):
                values = {name: find_value(event, field_paths(name, columns), where) for name in fields}
                row = {name: event_value(field, values[name], where) for name, field in fields.items()}
                row["user_query"] = row["user_query"] or (texts or {}).get(row["search_id"], "")
                yield row

    rows = event_rows()
    pieces = iter(lambda: list(islice(rows, PIECE)), [])
    if not (first := next(pieces, [])):
        raise InputError(f"{path}: there is no event in the file")
    yield from (pa.Table.from_pylist(piece, SCHEMA) for piece in chain([first], pieces))


def find_value(event: Mapping[str, Any], paths: list[tuple[str, ...]], where: str) -> Any:
    """Return the first value at one of the paths of keys, or None.

    Raises InputError if a value inside a path is not an object.
    """
    for path in paths:
        here: Any = event
        for depth, key in enumerate(path):
            if here is None:
                break
            if not isinstance(here, dict):
                name = ".".join(path[:depth])
                raise InputError(f"{where}: {name} = {format_value(here)}: must be an object with the key {key!r}")
            here = here.get(key)
        if here is not None:
            return here
    return None


def event_value(field: Field, value: Any, where: str) -> Any:
    is_number = field.type == pa.int64()
    if value in (None, "") and not field.required:
        return NO_ORDINAL if is_number else ""
    if is_number and is_plain_number(text := str(value).strip()) and MOST_RANK <= float(text) < math.inf:
        return MOST_RANK  # which is left out, however it is written
    read = read_value(field, cast(object, value), where)
    if is_number and cast(int, read) < 0:
        raise InputError(f"{where}: {field.name} = {format_value(value)}: must be 0 or more: UBI counts places from 0")
    return read
