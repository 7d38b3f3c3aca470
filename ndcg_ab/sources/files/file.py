"""Read TREC, CSV, TSV, JSON Lines and Parquet files, plain or compressed.

There are two kinds of readers. Fast readers use pyarrow on every core and must produce a clean table. If they give up,
or a value breaks a rule, `read_rows` reads the file again record by record: it accepts what is only unusual, and
reports the line of an error.
"""

import dataclasses
import itertools
import shlex
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson

from ndcg_ab.config.loading.hints import similar_file_hint
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError, refuse_unreadable
from ndcg_ab.sources import base
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.fast_reader.reduce import count_processors, reduce_file, work_in_threads
from ndcg_ab.sources.files import streams
from ndcg_ab.sources.files.parts import Part, list_parts, name_part_in_errors
from ndcg_ab.sources.files.records import COMMENT, parquet_batches, read_records, read_rows, tag_remarks, text_lines
from ndcg_ab.sources.files.stores import storage_kind
from ndcg_ab.sources.files.unpacking import binary_format_hint, folder_hint, open_bytes
from ndcg_ab.sources.forms.form import JUDGMENTS, Reading
from ndcg_ab.sources.forms.recognition import PLAIN_FORMS, choose_reading, recognise_file
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.tables import columns
from ndcg_ab.sources.tables.on_disk import AT_ONCE, IN_MEMORY, TableWriter, count_nulls, read_batches
from ndcg_ab.sources.tables.reduced_ranking import NeededResults, ReducedRanking
from ndcg_ab.sources.tables.schema import COSTS, Layout

T = TypeVar("T")
TAG = "tag"  # the column of a TREC ranking that names the system
MOST_TAGS = 100
MOST_THREADS = 8  # each has a block of a text and its table: a small part of the least memory that can be allowed
ANY_TEXT = pa.dictionary(pa.int32(), pa.string())  # each text is kept once, however many lines it is on


class File(base.Source):
    """A source that reads a table, such as judgments or the ranking of a system, from one or more files."""

    def __init__(self, described: FileSource, directory: Path) -> None:
        super().__init__(described, directory)
        if isinstance(described.file, Path):
            self.origin = str(directory / described.file)
        self.limits_key = storage_kind(described.file)

    def answer(self, layout: Layout, pull: base.PullRequest) -> base.PullResult:
        writer = pull.writer

        def read_part(part: Part, reading: Reading, index: int | None) -> Any:
            return read_file(part.path, layout, reading, writer if index is None else writer.sibling(f"part{index}"))

        tables = self.map_parts(layout, read_part)
        return base.PullResult(tables[0] if len(tables) == 1 else join_tables(tables, layout, self.origin, writer))

    def check(self, layout: Layout) -> None:
        def check_part(part: Part, reading: Reading, _at: int | None) -> None:
            refuse_unfit_format(part.path, layout, reading)
            next(read_records(part.path, layout, reading), None)

        self.map_parts(layout, check_part)

    def map_parts(self, layout: Layout, work: Callable[[Part, Reading, int | None], T]) -> list[T]:
        """Call `work` for each file of the source and return the results in order.

        work: receives the file, the `Reading` that says how it is read, and its index from 0, or None if there is only
        one file. Raises InputError for a file that is missing, empty or too large.
        """
        layout.refuse_unknown(str(self.described.file), self.described.columns)
        tables = []
        with list_parts(self.described, self.directory) as parts:
            for index, part in enumerate(parts):
                with name_part_in_errors(part):
                    refuse_unreadable_file(part.path)
                    reading = self.reading_of(part.path, layout, part.values)
                    tables.append(work(part, reading, index if len(parts) > 1 else None))
        return tables

    def reduce(self, layout: Layout, needed: NeededResults, pull: base.PullRequest) -> ReducedRanking | None:
        """Return the reduced ranking (first rows and a summary) of a local file, made by the fast reader.

        Return None if the source is not one local file, or if the fast reader is missing or cannot read the rows.
        Raises InputError if the file is empty, too large or of an unsupported format.
        """
        described = self.described
        if not isinstance(described.file, Path) or not (path := self.directory / described.file).is_file():
            return None
        refuse_unreadable_file(path)
        threads = pull.resources.threads if pull.resources else None
        return reduce_file(path, self.reading_of(path, layout), needed, threads, writer=pull.writer.sibling("reduced"))

    def reading_of(self, path: Path, layout: Layout, folders: Mapping[str, str | None] = {}) -> Reading:
        """Return the `Reading` that says how one of the files is read.

        folders: column -> value, from the names of the folders above the file.
        """
        mapped = self.described.columns
        names = {mapped.get(field.name, field.name) for field in layout.fields}
        values = {name: value for name, value in folders.items() if name in names}
        reading = choose_reading(Sample.of_file(path, mapped), layout.kind, self.described.format)
        return dataclasses.replace(reading, columns={**reading.columns, **mapped}, values=values)

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        if not isinstance(self.described.file, Path):
            return self.origin

        def find(part: Part, reading: Reading, index: int | None) -> str:
            locations = [
                location
                for location, record in read_records(part.path, layout, reading)
                if str(record.get("query_id")) == query_id and str(record.get("doc_id")) == doc_id
            ]
            return f"{part.name}, {base.join_locations(locations)}" if locations else part.name * (index is None)

        return " and ".join([*filter(None, self.map_parts(layout, find))][:3])


def form_remarks(pulled: base.Pulled) -> list[base.Remark]:
    """Return a list with one remark on the form in which a file was recognised, such as BEIR judgments.

    The list is empty for plain TREC, tables with standard names, and sources that are not one local file.
    """
    source = pulled.source
    if not isinstance(source, File) or not (path := Path(source.origin)).is_file():
        return []
    reading = source.reading_of(path, pulled.layout)
    is_plain = reading.words in PLAIN_FORMS and not reading.columns
    return [] if is_plain else [base.Remark("file_form", 1, (), f"{path.name} is read as {reading.note}")]


def join_tables(tables: list[Any], layout: Layout, origin: str, writer: TableWriter) -> Any:
    """Return one table made of the tables of all parts of a source.

    origin: the source, for messages. writer: receives the rows. Raises InputError if a column is empty in only some of
    the parts.
    """
    for field in layout.fields if writer.only is None else ():
        kinds = {count_nulls(table, field.name) == table.num_rows for table in tables}
        if len(kinds) > 1:
            raise InputError(
                f"{origin}: some parts have {field.name}, others have not: all parts need the same columns"
            )
    remarks = [remark for table in tables for remark in base.read_remarks(table)]
    pieces = (piece for table in tables for piece in read_batches(table, layout.schema.names))
    return writer.write(pieces, layout.schema, lambda: base.remarks_metadata(remarks))


def read_file(path: Path, layout: Layout, reading: Reading, writer: TableWriter = IN_MEMORY) -> Any:
    """Return the table of a file in the columns of a layout, with nulls for absent optional columns.

    Parameters
    ----------
    path : Path
        The file, which exists and is not empty.
    layout : Layout
        The columns.
    reading : Reading
        How the rows are read.
    writer : TableWriter
        Receives the rows in pieces and returns the table, in memory or on disk.

    Raises
    ------
    InputError
        If the file cannot be read, has no rows, or breaks a rule.
    """
    refuse_unfit_format(path, layout, reading)
    with refuse_unreadable(path):
        table = read_if_clean(path, layout, reading, writer)
        if table is None:
            table = read_rows(path, layout, reading, writer)
    if table.num_rows == 0 and writer.only is None:
        raise InputError(f"{path}: there is no {layout.kind} in the file")
    return table


def refuse_unfit_format(path: Path, layout: Layout, reading: Reading) -> None:
    """Raise InputError if the recognised format of a file cannot hold the columns of the layout.

    Also raise InputError if columns are mapped although the format has no column names.
    """
    is_trec = reading.format == "trec"
    if is_trec and layout.kind == COSTS:
        names = ", ".join(field.name for field in layout.fields[1:])
        raise InputError(f"{path}: a TREC file has no column {names}: give csv, tsv, jsonl or parquet")
    if is_trec and not reading.names:
        kinds = "queries" if layout.kind == "query" else f"{layout.kind}s"
        needed = f"a file of {kinds} must be csv, tsv, jsonl or parquet, by its name or its format"
        raise InputError(f"{path}: {needed}{content_hint(path, layout)}")
    if reading.columns and (is_trec or reading.records is not None):
        form_name = "a TREC file" if is_trec else reading.words
        names = "; ".join(f"1s/\\b{column}\\b/{field}/" for field, column in reading.columns.items())
        raise InputError(
            f"{path}: columns cannot be mapped in {form_name}; say its format if it is another one; if the columns are"
            f" those of another file, name them there, and map none: sed {shlex.quote(names)} FILE > NEW"
        )


def content_hint(path: Path, layout: Layout) -> str:
    """Return a hint for the error message about a file that is not of the expected kind.

    The hint says what the file seems to hold, and gives a command to use instead. It is empty if the content is not
    recognised.
    """
    name, new = shlex.quote(str(path)), shlex.quote(str(path.with_suffix(".tsv")))
    if form := recognise_file(path):
        files = f"{name} BASELINE CANDIDATE" if form.kind == JUDGMENTS else f"JUDGMENTS {name}"
        return f"; this looks like {form.kind} ({form.note}) → ndcg-ab compare {files}"
    key = layout.fields[0].name
    line = next((each.strip() for _, each in text_lines(path)), "")
    if line.split() != [line]:
        return ""
    command = f"cp {name} {new}" if line == key else f"sed '1i {key}' {name} > {new}"
    return f"; if it is a list of ids → {command}"


def read_if_clean(path: Path, layout: Layout, reading: Reading, writer: TableWriter = IN_MEMORY) -> Any:
    """Return the table of a file, read by the first fast reader that succeeds, or None if every fast reader gives up.

    A fast reader gives up if a value breaks a rule; the file must then be read record by record.
    """
    tags: dict[str, int] = {}
    for pieces in fast_readers(path, layout, reading, tags):
        checked = columns.check_pieces(pieces, spaces=reading.format == "trec", from_text=reading.format != "parquet")
        try:
            return writer.write(checked, layout.schema, lambda: base.remarks_metadata(tag_remarks(path, tags)))
        except columns.UNCLEAR:
            tags.clear()
    return None


def fast_readers(path: Path, layout: Layout, reading: Reading, tags: dict[str, int]) -> list[Iterator[pa.Table]]:
    """Return a list with one iterator over the rows of a file for each fast reader that can be tried.

    An iterator yields tables, and raises one of the exceptions in UNCLEAR if its fast reader gives up. TREC files have
    two fast readers: the first expects single spaces or tabs between fields, the second accepts any white space. The
    list is empty if the file must be read record by record. tags: a dict to which the readers of TREC rankings add the
    tags of systems: tag -> number of its first row.
    """
    if reading.records is not None:
        return []
    if reading.format in ("trec", "delimited"):
        ways = (bytes, streams.collapse_spaces) if reading.format == "trec" else (bytes,)
        return [text_pieces(path, layout, reading, prepare, tags) for prepare in ways]
    pieces = {"parquet": parquet_pieces, "jsonl": jsonl_pieces}[reading.format]
    return [pieces(path, layout, reading)]


def refuse_unreadable_file(path: Path) -> None:
    """Raise InputError if a path is no readable file, or the file is empty, too large or of an unsupported format."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file{similar_file_hint(path)}")
    if not path.is_file():
        raise InputError(f"{path}: is not a file{folder_hint(path) if path.is_dir() else ''}")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty: write it again, or leave it out")
    LimitCounter(BOUNDS["file"], str(path)).count(size=path.stat().st_size)
    with refuse_unreadable(path), path.open("rb") as file:
        start = file.read(16)
    if problem := binary_format_hint(path, start):
        raise InputError(f"{path}: {problem}")


def arrow_types(layout: Layout, chosen: dict[str, str]) -> dict[str, pa.DataType]:
    """Return the mapping column -> Arrow type of the columns that a fast reader converts.

    chosen: field -> column. Query ids of rankings are dictionary-encoded because they repeat. Ranks are read as floats.
    """
    types = {chosen[field.name]: field.type for field in layout.fields if field.name in chosen}
    if "rank" in chosen:
        types[chosen["rank"]] = pa.float64()  # read as a whole number, 0x1F would be one
    if layout.kind == "ranking":
        types[chosen["query_id"]] = ANY_TEXT
    return types


def text_pieces(
    path: Path, layout: Layout, reading: Reading, prepare: Callable[[bytes], bytes], tags: dict[str, int]
) -> Iterator[pa.Table]:
    """Yield the rows of a TREC file, or of CSV and similar text, as tables.

    prepare: changes each block of bytes of a TREC file before it is parsed. tags: a dict to which the tags of systems
    are added: tag -> number of its first row, from 1. Raises ArrowInvalid if a TREC file has a comment, or if an unused
    field of it is empty or has spaces.
    """
    is_trec = reading.format == "trec"
    with open_bytes(path) as file:
        blocks = map(prepare, streams.line_blocks(file)) if is_trec else streams.quoted_blocks(file, reading.delimiter)
        first = next(blocks, b"")
        if first.startswith((b"sep=", b"\xef\xbb\xbfsep=")):
            raise streams.UnusualError("the first line tells the delimiter")
        line = first.partition(b"\n")[0]
        is_tabbed = is_trec and prepare is bytes and b"\t" in line and b" " not in line.strip()
        parse = pacsv.ParseOptions(
            delimiter="\t" if is_tabbed else reading.delimiter,
            quote_char=False if is_trec else '"',
            newlines_in_values=not is_trec,
            ignore_empty_lines=True,
        )
        names = list(reading.names) or pacsv.open_csv(pa.BufferReader(first), parse_options=parse).schema.names
        if is_trec:
            chosen = {field.name: field.name for field in layout.fields if field.name in names}
        else:
            chosen = layout.check_columns(str(path), names, dict(reading.columns))
        unused = [name for name in names if name not in chosen] if is_trec else []
        types = arrow_types(layout, chosen) | dict.fromkeys(unused, ANY_TEXT)
        convert = pacsv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[],
            strings_can_be_null=False,
            decimal_point=reading.decimal,
        )

        def read(block: bytes) -> pa.Table:
            head = None if block is first and not reading.names else names
            options = pacsv.ReadOptions(use_threads=False, column_names=head, block_size=len(block) + 1)
            table = pacsv.read_csv(pa.BufferReader(block), options, parse, convert)
            if any(columns.breaks_text_rule(table[name], spaces=True) for name in unused):
                raise pa.ArrowInvalid("fields are missing, or there are too many")
            ids = columns.text_chunks(table["query_id"]) if is_trec else []
            if any(pc.any(pc.equal(chunk, COMMENT)).as_py() for chunk in ids):
                raise pa.ArrowInvalid("there are comments")
            return table

        rows = 0
        for table in read_blocks(read, itertools.chain([first], blocks)):
            for chunk in table[TAG].chunks if TAG in unused and layout.kind == "ranking" else ():
                for text in islice(chunk.dictionary.to_pylist(), MOST_TAGS):
                    if text not in tags and len(tags) < MOST_TAGS:
                        tags[text] = 1 + rows + pc.index(chunk.cast(pa.string()), text).as_py()
            rows += table.num_rows
            yield columns.select_columns(table, layout, chosen)


def read_blocks(read: Callable[[bytes], pa.Table], blocks: Iterator[bytes]) -> Iterator[pa.Table]:
    """Yield the table of each block of text, in order; threads parse the blocks."""
    return work_in_threads(read, blocks, min(MOST_THREADS, count_processors()))


def jsonl_pieces(path: Path, layout: Layout, reading: Reading) -> Iterator[pa.Table]:
    names = layout.choose_columns(Sample.of_file(path).column_names, reading.columns)
    if len(set(names.values())) < len(names):
        raise streams.UnusualError("a column for two fields")
    parse = pajson.ParseOptions(
        pa.schema([(names[field.name], field.type) for field in layout.fields]), False, "ignore"
    )
    options = pajson.ReadOptions(use_threads=False, block_size=2 * streams.BLOCK)

    def read(block: bytes) -> pa.Table:
        objects = streams.count_objects(block)
        table = pajson.read_json(pa.BufferReader(block), options, parse)
        if any(table[names[name]].null_count for name in reading.columns):
            raise pa.ArrowInvalid("a column that is named is not everywhere")
        if table.num_rows != objects:
            raise streams.UnusualError("several objects on a line")
        return columns.select_columns(table, layout, names)

    with open_bytes(path) as file:
        yield from read_blocks(read, streams.line_blocks(file))


def parquet_pieces(path: Path, layout: Layout, reading: Reading) -> Iterator[pa.Table]:
    try:
        for batch, chosen in parquet_batches(path, layout, reading, AT_ONCE):
            yield columns.cast_columns(pa.Table.from_batches([batch]), layout, chosen, str(path))
    except (InputError, pa.ArrowException):
        raise
    except Exception as error:  # a broken file makes the library raise nearly anything
        raise streams.UnusualError(str(error)) from error
