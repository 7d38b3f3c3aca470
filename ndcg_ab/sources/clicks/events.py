"""Read user events into one table: User Behavior Insights (UBI 1.3), or counts of impressions and clicks.

UBI events (o19s/ubi, schema/1.3.0/event.schema.json) are nested objects, which `json_events` reads. Events in the
columns of a table are read like other tables. UBI counts ranks from 0 (`event_attributes.position.ordinal`), this
module from 1. The schema has the text of a query in a separate table; collectors also write it into the event as
`user_query`, which is required here.
"""

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import PullRequest, Remark, Source
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.clicks.json_events import DEFAULTS, NO_ORDINAL, json_event_pieces
from ndcg_ab.sources.files.file import refuse_unreadable_file
from ndcg_ab.sources.files.parts import list_parts, name_part_in_errors
from ndcg_ab.sources.forms.recognition import format_by_name
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.tables.format_warnings import RemarkCounter
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, read_batches
from ndcg_ab.sources.tables.schema import MOST_RANK, Field, Layout

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
    """Yield the events of JSON Lines files in tables, in the columns of `SCHEMA` of `json_events`."""
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
