"""The models of sources in a configuration: one class for each kind of source, with its keys.

An `InputSettings` has the keys of all kinds and uses those of one; `InputSettings.source` is the source of that kind.
"""

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import PrivateAttr, ValidationError, WrapValidator, model_validator

from ndcg_ab.config.model.inputs.connections import (
    Database,
    GivenFile,
    InMemoryFile,
    InMemoryFunction,
    SourceModel,
    Storage,
    file_name,
    safe_address,
)
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.keys import Model, Trait, key, obeys, with_keys_of
from ndcg_ab.config.model.operation import GivenPath, Spark
from ndcg_core.measures.notation import ExternalMetric, canonical_name

FileFormat = Literal["trec", "csv", "tsv", "jsonl", "parquet"]
FORMATS = {  # suffix of a file's name -> its format
    ".csv": "csv",
    ".tsv": "tsv",
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc"), "parquet"),
}
PACKED_SUFFIXES = (".gz", ".zst", ".lz4", ".xz", ".bz2", ".zip")  # say nothing of the format
# Whether an evaluation of scores is being read: its systems are only names, and its metrics those of another tool.
READING_SCORES: ContextVar[bool] = ContextVar("reading_scores", default=False)
STEM = "{stem}"  # in a system's name: the name of its file, without suffixes
COLUMNS = "Names of columns in it that differ: query_id, doc_id, grade, …"
MOST_GRADED_DEPTH, MOST_WORKERS = 100, 64
Arguments = Annotated[dict[str, Any], Trait.DATED, Trait.LATE]
Mark = Annotated[str | None, Trait.DATED]


class Readable(Model):
    """A model of data that are in a file or in memory."""

    @property
    def in_memory(self) -> InMemoryFile | None:
        """The path that carries data in memory, or None if a file is read."""
        file = getattr(self, "file", None)
        return file if isinstance(file, InMemoryFile) else None


def module_and_function(value: Any, read: Callable[[Any], str]) -> str:
    """Return a value after checking that it is a text such as ``module:function``.

    A text that carries a function in memory is returned unchanged. Raises ValueError for any other value. read: a
    function of pydantic that validates the value and returns it as text.
    """
    text = read(value)
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text):
        raise ValueError("must be module:function")
    return value if isinstance(value, InMemoryFunction) else text


class FileSource(Readable, SourceModel):
    """A file of judgments, queries or one system's rankings."""

    main_key = "file"
    has_tables = True

    file: GivenFile = key(
        "Path, relative to the configuration, or address (s3://, gs://, az://, https://); or a folder of one table."
    )
    format: FileFormat | None = key("trec, csv, tsv, jsonl or parquet; by default recognised by the file's name.", None)
    columns: dict[str, str] = key(COLUMNS, dict)
    parts: bool = key(
        "All files that the pattern matches, or that are in the folder, are parts of one table.", False, strict=True
    )
    storage: Annotated[Storage | None, Trait.LATE] = key(
        "How the object store is reached; by default as its variables of the environment say.", None
    )

    @property
    def display_name(self) -> str:
        """The name of the file in the tables of inputs in reports."""
        return file_name(self.file)

    @property
    def origin(self) -> str:
        """The path or address of the file as the configuration spells it, without secrets, for the HTML page."""
        return safe_address(str(self.file))


class DocumentsSource(FileSource):
    """The rules for document ids in rankings, and a file of titles and addresses of documents."""

    file: GivenFile | None = key(  # type: ignore[assignment]
        "Titles and addresses of documents for the page: doc_id, title, url; as a path or address.", None
    )
    prefix: str | None = key(
        "Rankings hold chunks: ids are cut at this sign, and the best chunk counts.", None, min_length=1
    )
    own: Literal["drop", "keep"] | None = key(
        "drop: leave out the document whose id equals the query's, as the preset beir does.", None
    )

    @model_validator(mode="after")
    def _keys_of_a_file(self) -> "DocumentsSource":
        if self.file is None and (self.format or self.columns or self.parts or self.storage):
            raise ValueError("file: missing; format, columns, parts and storage go with a file")
        return self


class DatabaseSource(SourceModel):
    """The rows that a database returns for a query."""

    has_tables = True

    database: Annotated[Database, Trait.LATE] = key(
        "Address, as postgresql://reader@host/db, a file of SQLite or DuckDB, or uri, driver and options."
    )
    query: Annotated[str, Trait.DATED] = key(
        "The SELECT that gives the rows; {date} in it is the date, without quotes."
    )
    columns: dict[str, str] = key(COLUMNS, dict)


class FunctionModel(SourceModel):
    """A function of the user, in a module beside the configuration or in an installed package."""

    needs_queries: ClassVar[bool] = True

    python: Annotated[str, WrapValidator(module_and_function)] = key(
        "module:function; modules beside the configuration are found."
    )
    arguments: Arguments = key("Keyword arguments for the function, or the extension.", dict)


class PythonSource(FunctionModel):
    """A function that receives the queries and returns documents with scores, from any search engine."""

    per_query: bool = key(
        "Call the function for each query, with its text, instead of once with all.", False, strict=True
    )


class JudgeSource(FunctionModel):
    """A function that receives a query and a document and returns a grade; by name, or in memory."""

    attributes: list[str] = key(
        "Columns of the queries that a function which judges is given beside their texts.", list
    )
    depth: int | None = key(
        "How many of each ranking's first documents it judges; by default the deepest cutoff, at most 100.",
        None,
        ge=1,
        le=MOST_GRADED_DEPTH,
    )
    workers: int | None = key(
        "Number of documents that it grades at the same time, each in a thread; by default 1.",
        None,
        ge=1,
        le=MOST_WORKERS,
    )

    @property
    def in_memory(self) -> InMemoryFunction | None:
        """The text of `python` if it carries a function in memory, or None if it names a function to import."""
        return self.python if isinstance(self.python, InMemoryFunction) else None

    @property
    def judge(self) -> str:
        """The name of the function, which is the value of the column `judge` in its judgments."""
        return self.python.rpartition(":")[2]


class ExtensionSource(SourceModel):
    """A source of a kind that an installed package adds; it receives the texts of the queries if there are any."""

    has_tables = True

    extension: str = key(
        "Name of a source that an installed package adds by an entry point of the group ndcg_ab.sources.", min_length=1
    )
    arguments: Arguments = key("Keyword arguments for the function, or the extension.", dict)
    columns: dict[str, str] = key(COLUMNS, dict)


class OnSpark(Model):
    """A model of data that Spark reads if the evaluation configures Spark."""

    _spark: Spark | None = PrivateAttr(None)

    @property
    def spark(self) -> Spark | None:
        return self._spark

    def read_by(self, spark: Spark | None) -> None:
        self._spark = spark


class SparkSource(OnSpark, SourceModel):
    """A table that Spark reads, whose rows stay on the cluster."""

    table: Annotated[str, Trait.DATED] = key(
        "With engine.spark: a table of its catalogue, or the path or address of Parquet files; its rows stay there.",
        min_length=1,
    )
    where: Annotated[str | None, Trait.DATED] = key(
        "Which of the table's rows, as day = '{date}' and system = 'new'.", None
    )
    columns: dict[str, str] = key(COLUMNS, dict)

    @property
    def display_name(self) -> str:
        return file_name(self.table) if "/" in self.table else self.table

    @property
    def origin(self) -> str:
        return safe_address(self.table)


Source = FileSource | PythonSource | DatabaseSource | HttpSource | SparkSource | JudgeSource | ExtensionSource
KINDS: dict[str, type[Source]] = {  # the key that determines the kind of source
    "file": FileSource,
    "python": PythonSource,
    "database": DatabaseSource,
    "http": HttpSource,
    "table": SparkSource,
    "extension": ExtensionSource,
}


class InputSettings(OnSpark, Readable):
    """Settings for the source of one input: a file, a database, or another kind of source in `KINDS`.

    An entry of the configuration has only the keys of one kind.
    """

    kinds: ClassVar[Mapping[str, type[Source]]]
    contents: ClassVar[str] = "rows"

    if TYPE_CHECKING:  # the keys of all kinds

        def __getattr__(self, name: str) -> Any: ...

    @model_validator(mode="after")
    def _one_kind(self) -> "InputSettings":
        self.check_kind()
        return self

    def check_kind(self) -> None:
        """Raise ValueError if keys of another kind of source are given, or a required key is missing."""
        kind = self.kind
        own = self.kinds[kind].model_fields
        foreign = {
            name: key
            for key, described in reversed(list(self.kinds.items()))
            for name, field in described.model_fields.items()
            if name not in own and getattr(self, name) not in (None, field.get_default(call_default_factory=True))
        }
        if foreign:
            names = [name for name in type(self).model_fields if name in foreign]
            verb = "goes" if names in (["format"], ["query"], ["where"]) else "go"
            raise ValueError(f"{' and '.join(names)} {verb} with {foreign[names[0]]}, not with {kind}")
        if lacking := [key for key, field in own.items() if field.is_required() and getattr(self, key) is None]:
            raise ValueError(f"the key {' and '.join(lacking)} must be given with {kind}")
        try:
            self.kinds[kind].model_validate({name: getattr(self, name) for name in own})
        except ValidationError as error:  # a rule about several keys of this kind
            message = "; ".join(problem["msg"].removeprefix("Value error, ") for problem in error.errors())
            raise ValueError(message) from None

    @property
    def kind(self) -> str:
        """The key that names the kind of source, such as `file` or `python`.

        Raises ValueError unless exactly one key of `kinds` is given.
        """
        known = list(self.kinds)
        present = [key for key in known if getattr(self, key) is not None]
        if len(present) != 1:
            names = " or ".join([", ".join(known[:-1]), known[-1]])
            raise ValueError(f"needs either {names}, to say where its {self.contents} come from")
        return present[0]

    @property
    def source(self) -> Source:
        """The model of the described source, such as a `FileSource`."""
        described = self.kinds[self.kind]
        source = described.model_construct(**{name: getattr(self, name) for name in described.model_fields})
        if isinstance(source, OnSpark):
            source.read_by(self.spark)
        return source


@with_keys_of({key: kind for key, kind in KINDS.items() if kind.has_tables})
class TableSource(InputSettings):
    """A table of judgments or queries, in a file or a database, or from an extension."""

    main_key = "file"


@with_keys_of(KINDS)
class System(InputSettings):
    """One version of a ranker, with the source of its rankings, such as `file`, `database`, `http` or `python`."""

    contents = "rankings"

    name: Annotated[str, obeys(lambda name: None if name.isprintable() else "must be printable text on one line")] = (
        key("The system's name in every table.", min_length=1, max_length=100)
    )
    version: Mark = key("The version that is evaluated: a tag, a commit, a date.", None)
    duplicates: Literal["first"] | None = key(
        "first: a repeated document of a query counts at its first place, and is not refused.", None
    )

    @model_validator(mode="after")
    def _one_kind(self) -> "System":
        if not READING_SCORES.get():
            self.check_kind()
        elif present := [key for key in self.kinds if getattr(self, key) is not None]:
            raise ValueError(f"{present[0]} goes with judgments: with `scores` a system is a name alone")
        return self

    @property
    def is_one_per_file(self) -> bool:
        """Whether the entry becomes one system for each file that matches its pattern.

        It does if the entry reads a file and its name contains ``{stem}``, which stands for the name of the file.
        """
        return self.file is not None and STEM in self.name


ScoresFormat = Literal["csv", "tsv", "jsonl", "parquet", "trec_eval", "ir_measures", "pytrec_eval"]


class ScoresSource(Readable):
    """A file of metric values per query, for the system `system` or for those that its column system_id names."""

    main_key = "file"

    file: Annotated[GivenPath, Trait.INPUT, Trait.DATED] = key("Path of the file, relative to the configuration.")
    system: str | None = key("Whose values these are; without it the column system_id says it.", None)
    format: ScoresFormat | None = key("Format of the file; by default recognised by its name and lines.", None)
    columns: dict[str, str] = key("Names of columns that differ: system_id, query_id, metric, value.", dict)

    @property
    def display_name(self) -> str:
        """The name that reports show for this source: the configured system, or else the name of the file."""
        return self.system or self.file.name

    @property
    def origin(self) -> str:
        """The path of the file as the configuration spells it, for the HTML page."""
        return str(self.file)


def external_metric_name(text: Any) -> str:
    """Return the canonical name of a metric whose values another tool computed.

    Raises ValueError if `text` is not a string, and MetricError if it is no valid name of a metric.
    """
    if not isinstance(text, str):
        raise ValueError(f"{text!r}: must be the name of a metric in the scores")
    return ExternalMetric(external_name=canonical_name(text)).name
