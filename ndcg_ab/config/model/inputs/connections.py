"""The models of connections to object stores and databases, of addresses, and of data in memory."""

import re
from pathlib import Path, PosixPath
from typing import Annotated, Any, ClassVar

from pydantic import PlainValidator, WithJsonSchema

from ndcg_ab.config.model.keys import Model, SecretText, Trait, is_reference, key, obeys
from ndcg_ab.config.model.operation import expand_home

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class InMemoryFile(PosixPath):
    """A path object that carries data in memory, used by the Python API instead of a file.

    argument: the name of the argument with the data, for messages. data: a table, dictionaries or a list.
    """

    argument: str
    data: Any


class InMemoryFunction(str):
    """A ``module:function`` text that carries a function in memory, used by the Python API."""

    data: Any


def in_memory_file(argument: str, data: Any) -> InMemoryFile:
    """Return a path object that carries data.

    argument: the name of the Python argument with the data, for messages. data: a table, dictionaries or a list.
    """
    file = InMemoryFile(argument)
    file.argument, file.data = argument, data
    return file


def in_memory_function(label: str, function: Any) -> InMemoryFunction:
    """Return a label such as ``module:function`` as a text that carries a function in memory."""
    text = InMemoryFunction(label)
    text.data = function
    return text


def read_path_or_address(value: Any) -> Path | str:
    """Return a path, or the address of a remote file such as `s3://…` as text, since a path cannot hold `//`.

    Raises ValueError for any other value.
    """
    if isinstance(value, str) and ADDRESS.match(value):
        return value
    if isinstance(value, InMemoryFile):
        return value
    if isinstance(value, str | Path):
        return expand_home(Path(value))
    raise ValueError("must be a path")


GivenFile = Annotated[
    Path | str,
    PlainValidator(read_path_or_address),
    WithJsonSchema({"type": "string", "format": "path"}),
    Trait.INPUT,
    Trait.DATED,
]
"""A local path, or an address as text."""


def file_name(file: Path | str) -> str:
    """Return the name of a file or object, for the tables of inputs in reports."""
    return file.name if isinstance(file, Path) else safe_address(file).rstrip("/").rpartition("/")[2]


def safe_address(address: str) -> str:
    """Return an address without parts that may be secret: user and password, and everything after `?` or `#`."""
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    authority, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


class SourceModel(Model):
    """A source of data in a configuration; the base class of the models of sources.

    needs_queries: whether reading it requires the texts of the queries. has_tables: whether judgments and queries can
    be read from it, beside rankings.
    """

    needs_queries: ClassVar[bool] = False
    has_tables: ClassVar[bool] = False

    @property
    def display_name(self) -> str:
        """The name of the source in the tables of inputs in reports: by default the value of the first key."""
        first = getattr(self, next(iter(type(self).model_fields)))
        return str(getattr(first, "display_name", first))

    @property
    def origin(self) -> str:
        """The address of the source as the configuration spells it, without secrets, for the HTML page."""
        return self.display_name


class Storage(Model):
    """The settings for an object store; by default they come from the store's own environment variables."""

    endpoint: str | None = key("Address of a store that speaks S3, as http://127.0.0.1:9000.", None)
    region: str | None = key("The region of an S3 bucket.", None)
    anonymous: bool = key("Read without credentials, for public objects.", False, strict=True)
    access_key: SecretText | None = key("S3: the access key's id. Azure: the account's name.", None)
    secret_key: SecretText | None = key("The secret key, as {env: NAME}.", None)
    session_token: SecretText | None = key("The token of a passing S3 session, as {env: NAME}.", None)


class Database(Model):
    """The connection to a database: address, driver, options and timeout."""

    main_key = "uri"
    short_form = SecretText

    uri: Annotated[SecretText | None, obeys(lambda address: None if address else "must not be empty")] = key(
        "Its address, as postgresql://reader@host/db or sqlite:///x.db.", None
    )
    driver: str | None = key(
        "The ADBC driver: postgresql, snowflake, …, or its library's path; by default by the uri.", None
    )
    options: dict[str, SecretText] = key("Options of the driver; secrets as {env: NAME}.", dict)

    timeout: float = key("Seconds for the query, to its last row.", 3600.0, gt=0, le=86400)

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Return ``{uri: value}`` if the value is an address, or a reference to one such as ``{env: NAME}``.

        Any other value is returned unchanged.
        """
        return {"uri": value} if is_reference(value) else super().expand(value)

    @property
    def display_name(self) -> str:
        """The name of the database in reports: its address, or else its driver.

        The address has no user, password and parameters; a reference to an address is shown as it is written.
        """
        if isinstance(self.uri, dict):
            ((kind, name),) = self.uri.items()
            return f"{{{kind}: {name}}}"
        if self.uri is None:
            return self.driver or "database"
        if "://" in self.uri:
            return safe_address(self.uri)
        return self.uri if "=" not in self.uri else self.driver or "database"
