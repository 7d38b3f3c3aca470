"""What a configuration says of the places that data come from: one class for each kind of place, and its key.

A place has the keys of one kind alone; `Place.source` is what they describe.
"""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, Field, PrivateAttr, field_validator, model_validator

from ndcg_ab.config.http import HttpRequest, HttpSource
from ndcg_ab.config.operation import Model

FileFormat = Literal["trec", "csv", "tsv", "jsonl", "parquet"]
STEM = "{stem}"  # in a system's name: the name of its file, without endings


def at_home(path: Path) -> Path:
    """A path whose first part is `~`, in the home directory; any other as it is."""
    try:
        return path.expanduser() if path.parts[:1] == ("~",) else path
    except RuntimeError:
        raise ValueError("there is no home directory here for ~: give the whole path") from None


GivenPath = Annotated[Path, AfterValidator(at_home)]


class Given(NamedTuple):
    """Data in memory. name: the argument that they were given as, for messages. data: a table, or dictionaries."""

    name: str
    data: Any


class Readable(Model):
    """What is read from a file, or from data in memory that stand in its place: the Python API's, in no key."""

    _given: Given | None = PrivateAttr(None)

    @property
    def given(self) -> Given | None:
        """The data in memory; None where there is a file to read."""
        return self._given

    def hold(self, given: Given | None) -> None:
        """Lets data in memory stand in the file's place."""
        self._given = given


class FileSource(Readable):
    """A file of judgments, queries or one system's rankings."""

    needs_queries: ClassVar[bool] = False

    file: GivenPath = Field(description="Path of the file, relative to the configuration.")
    format: FileFormat | None = Field(None, description="The file's format; by default told by its name.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Names of columns in the file that differ: query_id, doc_id, grade, …"
    )

    @property
    def shown(self) -> str:
        """Its name in tables of what was read."""
        return self.file.name

    @property
    def origin(self) -> str:
        """The place as it was given, without secrets, for the page."""
        return str(self.file)


class PythonSource(Model):
    """A function that is given the queries and returns documents with scores: any engine can stand behind it."""

    needs_queries: ClassVar[bool] = True

    python: str = Field(description="module:function; modules beside the configuration are found.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments for the function.")
    per_query: bool = Field(
        False, strict=True, description="Call the function for each query, with its text, instead of once with all."
    )

    @field_validator("python")
    @classmethod
    def _two_parts(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value):
            raise ValueError("must be module:function")
        return value

    @property
    def shown(self) -> str:
        return self.python

    @property
    def origin(self) -> str:
        return self.python


Source = FileSource | PythonSource | HttpSource
KINDS: dict[str, type[Source]] = {  # the key that tells a kind of place
    "file": FileSource,
    "python": PythonSource,
    "http": HttpSource,
}


class Place(Readable):
    """The keys of every kind of place that a model has fields for; those of exactly one kind are given."""

    @model_validator(mode="after")
    def _one_kind(self) -> "Place":
        _ = self.source
        return self

    @property
    def kind(self) -> str:
        """The key that tells what kind of place it is: `file`, `python`, …"""
        known = [key for key in KINDS if key in type(self).model_fields]
        given = [key for key in known if getattr(self, key) is not None]
        if len(given) != 1:
            names = " or ".join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)
            either = "either " if len(known) > 1 else ""
            raise ValueError(f"needs {either}{names}, to say where its {self.contents} come from")
        return given[0]

    contents: ClassVar[str] = "rows"

    @property
    def source(self) -> Source:
        """The one place that the keys describe."""
        kind = self.kind
        own = KINDS[kind].model_fields
        foreign = {
            field: [key for key, described in KINDS.items() if field in described.model_fields]
            for described in KINDS.values()
            for field in described.model_fields
            if field not in own and field in type(self).model_fields and getattr(self, field)
        }
        if foreign:
            verb = "goes" if list(foreign) in (["format"], ["query"]) else "go"
            belongs = next(iter(foreign.values()))[0]
            raise ValueError(f"{' and '.join(foreign)} {verb} with {belongs}, not with {kind}")
        source = KINDS[kind].model_validate({field: getattr(self, field) for field in own})
        if isinstance(source, Readable):
            source.hold(self.given)
        return source


class TableSource(Place):
    """A table of judgments or queries: a file's."""

    file: GivenPath | None = Field(None, description="Path of the file, relative to the configuration.")
    format: FileFormat | None = Field(None, description="The file's format; by default told by its name.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Names of columns in it that differ: query_id, doc_id, grade, …"
    )


class System(Place):
    """One version of a ranker, and where its rankings come from: `file`, `python` or `http`."""

    contents: ClassVar[str] = "rankings"

    name: str = Field(description="The system's name in every table.", min_length=1, max_length=100)
    version: str | None = Field(None, description="What the name stands for at the moment: a tag, a commit, a date.")
    file: GivenPath | None = Field(None, description="A file of rankings, relative to the configuration.")
    format: FileFormat | None = Field(None, description="The file's format; by default told by its name.")
    columns: dict[str, str] = Field(default_factory=dict, description="Names of columns in the file that differ.")
    python: str | None = Field(None, description="module:function that returns the rankings.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments for the function.")
    per_query: bool = Field(
        False, strict=True, description="Call the function for each query, with its text, instead of once with all."
    )
    http: HttpRequest | None = Field(None, description="A search engine that is asked over HTTP.")

    @field_validator("name")
    @classmethod
    def _on_one_line(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("must be printable text on one line")
        return value

    @property
    def stands_for_many(self) -> bool:
        """Whether it is one system for each file that its pattern matches (`ndcg_ab.config.moment`)."""
        return self.file is not None and STEM in self.name
