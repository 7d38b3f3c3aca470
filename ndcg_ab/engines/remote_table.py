"""Describe a cluster and tables that stay on it, without importing the cluster's library."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The connection settings of a Spark cluster.

    master: local[4], spark://host:7077 or another master; remote: the address of Spark Connect, sc://host:15002.  One
    of the two is given.  conf: Spark's own settings.  scratch: folder or address for temporary tables during an
    evaluation; None for the cluster's usual folder.  patience: seconds to wait until the cluster begins to work; three
    times as many while an executor starts.
    """

    master: str | None
    remote: str | None = None
    conf: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scratch: str | None = None
    patience: float = 300.0

    @property
    def address(self) -> str:
        """Return the address for messages, without the parts after the host, which may hold secrets."""
        return (self.master or self.remote or "").partition("/;")[0]


@dataclasses.dataclass(frozen=True)
class Column:
    """A requested column of a remote table.

    name: name in the result. source: name in the table; None for a column of nulls. type: string, double or bigint.
    """

    name: str
    source: str | None
    type: str


@dataclasses.dataclass(frozen=True)
class RemoteTable:
    """A table that the engine on a cluster reads, and that is never copied to this machine.

    table: a name in the catalogue, or the path of Parquet files. where: a SQL condition on its columns, or None.
    columns: the requested columns. system_id: a value to add to every row, or None. rows, digest: number of rows, and
    digest of the content, when the table was inspected.
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

    def with_system(self, system_id: str) -> "RemoteTable":
        """Return a ranking with the system's name in every row, and with the column `rank` renamed to `rank_given`."""
        renamed = {"rank": "rank_given"}
        columns = tuple(dataclasses.replace(each, name=renamed.get(each.name, each.name)) for each in self.columns)
        return dataclasses.replace(self, columns=columns, system_id=system_id)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> "RemoteTable":
        content: dict[str, Any] = json.loads(text)
        return cls(**{**content, "columns": tuple(Column(**each) for each in content["columns"])})
