"""A cluster, and rows that stay on it: what an engine knows of them, without a library."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Where Spark is.

    master: local[4], spark://host:7077, …, or remote: the address of Spark Connect, sc://host:15002; one of the two.
    conf: Spark's own settings.  scratch: the folder or address under which tables are written while an evaluation is at
    work; None: where the cluster keeps its tables.  patience: seconds that it may take until it begins to
    work; while an executor is starting, three times as many.
    """

    master: str | None
    remote: str | None = None
    conf: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scratch: str | None = None
    patience: float = 300.0

    @property
    def address(self) -> str:
        """For messages: without what may be secret behind the host."""
        return (self.master or self.remote or "").partition("/;")[0]


@dataclasses.dataclass(frozen=True)
class Column:
    """A column as it is asked for. source: its name in the table; None: null. type: string, double or bigint."""

    name: str
    source: str | None
    type: str


@dataclasses.dataclass(frozen=True)
class RemoteTable:
    """Rows that the engine reads by itself, and that are never here.

    table: a name in the catalogue, or the path of Parquet files.  where: a condition on its columns.
    system_id: is in every row, where it is given.  rows, digest: what was counted of them when they were looked at.
    """

    table: str
    where: str | None
    columns: tuple[Column, ...]
    rows: int = 0
    digest: str = ""
    system_id: str | None = None

    @property
    def is_path(self) -> bool:
        return "/" in self.table

    def named(self, system_id: str) -> "RemoteTable":
        """A ranking as the pipeline wants it: with its system in every row, and the rank that it came with."""
        renamed = {"rank": "rank_given"}
        columns = tuple(dataclasses.replace(each, name=renamed.get(each.name, each.name)) for each in self.columns)
        return dataclasses.replace(self, columns=columns, system_id=system_id)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> "RemoteTable":
        content: dict[str, Any] = json.loads(text)
        return cls(**{**content, "columns": tuple(Column(**each) for each in content["columns"])})
