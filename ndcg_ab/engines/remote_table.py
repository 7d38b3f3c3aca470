"""Describe a cluster and tables that stay on it, without importing the cluster's library."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The connection settings of a Spark cluster. Either `master` or `remote` is given.

    Attributes
    ----------
    master : str or None
        The master, such as ``local[4]`` or ``spark://host:7077``.
    remote : str or None
        The address of Spark Connect, such as ``sc://host:15002``.
    conf : mapping of str to str
        Spark's own settings, such as ``spark.executor.memory``.
    scratch : str or None
        Folder or address for temporary tables during an evaluation; None for the cluster's usual folder.
    patience : float
        Seconds to wait until the cluster begins to work; three times as long while an executor starts.
    """

    master: str | None
    remote: str | None = None
    conf: Mapping[str, str] = dataclasses.field(default_factory=dict)
    scratch: str | None = None
    patience: float = 300.0

    @property
    def address_without_secrets(self) -> str:
        """Return the address for messages, without the parts after the host, which may hold secrets."""
        return (self.master or self.remote or "").partition("/;")[0]


@dataclasses.dataclass(frozen=True)
class Column:
    """A requested column of a remote table.

    Attributes
    ----------
    name : str
        Name of the column in the result.
    source : str or None
        Name of the column in the table; None for a column of nulls.
    type : str
        Type in the result: ``string``, ``double`` or ``bigint``.
    """

    name: str
    source: str | None
    type: str


@dataclasses.dataclass(frozen=True)
class RemoteTable:
    """The description of a table that stays on a cluster and is never copied to this machine.

    Attributes
    ----------
    table : str
        Name in the catalogue of the cluster, or path of Parquet files.
    where : str or None
        A SQL condition that selects rows; None for all rows.
    columns : tuple of Column
        The requested columns.
    rows : int
        Number of rows when the table was last inspected.
    digest : str
        Digest of the content when the table was last inspected.
    system_id : str or None
        A value to add to every row in the column system_id; None for no such column.
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
        """Return a copy of this description of a ranking, with the name of its system in every row.

        In the copy, the column `rank` is named `rank_given`.
        """
        renamed = {"rank": "rank_given"}
        columns = tuple(dataclasses.replace(each, name=renamed.get(each.name, each.name)) for each in self.columns)
        return dataclasses.replace(self, columns=columns, system_id=system_id)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: bytes) -> "RemoteTable":
        content: dict[str, Any] = json.loads(text)
        return cls(**{**content, "columns": tuple(Column(**each) for each in content["columns"])})
