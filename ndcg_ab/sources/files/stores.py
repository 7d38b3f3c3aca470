"""Download objects from object stores and web servers into files, in pieces and within limits.

Credentials come from the usual environment variables (AWS_…, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_…), or from
references in the `storage:` key of a configuration.
"""

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from os import environ
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ndcg_ab.config.model.inputs.connections import Storage, safe_address
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.config.secrets.lookup import remember_secret, reveal_secrets
from ndcg_ab.errors import InputError, UnavailableError, error_text, on_one_line, require_libraries
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter

PIECE = 1 << 22  # bytes
PATIENCE = 30.0  # seconds for a connection, and for every piece
MOST_REDIRECTS = 20
AWAY = re.compile(
    r"NETWORK_CONNECTION|curlCode|[Tt]imeout|SLOW_DOWN|THROTTLING|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|"
    r"Couldn't connect|Connection refused|HTTP (status|response code) 5\d\d"
)
DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|INVALID_CLIENT|EXPIRED|credential|40[13]\b", re.IGNORECASE
)
AS_IT_IS = {"Accept-Encoding": "identity"}
GONE = (404, 410)
REFUSED = (401, 403, 407)
TRANSIENT = (408, 425, 429)


def storage_kind(file: Path | str) -> str:
    """Return where a file is stored: ``file``, ``web server`` or ``object store``, a key of `BOUNDS`.

    file: a local path, or an address as a text.
    """
    if isinstance(file, Path):
        return "file"
    return "web server" if file.lower().startswith(("http://", "https://")) else "object store"


class Store(ABC):
    """An object store or web server.

    path: the path of an object, or a pattern. shown: the address without secrets.
    """

    def __init__(self, address: str, path: str) -> None:
        self.address, self.path, self.shown = address, path, safe_address(address)

    def address_of(self, name: str) -> str:
        return self.shown.removesuffix(self.path) + name

    def fetch(self, name: str, target: Path) -> None:
        """Download an object to `target`.

        name: the path of the object. Raises InputError if the object is missing, refused or too large, and
        UnavailableError if it changes during the download or the store does not answer.
        """
        limits = LimitCounter(BOUNDS[storage_kind(self.shown)], self.address_of(name))
        limits.wait(lambda: self.copy(name, target, limits))

    def version_mark(self, name: str) -> str | None:
        """Return a text that changes with the content of an object, or None if the store has no such text."""
        return None

    @abstractmethod
    def copy(self, name: str, target: Path, limits: LimitCounter) -> None:
        """Download an object to `target`, counting its bytes in `limits`."""


def open_store(described: FileSource, directory: Path) -> Store:
    """Return the store for the address of a source; raise InputError for an unknown scheme."""
    address = str(reveal_secrets(str(described.file), "file", directory))
    scheme = address.partition("://")[0].lower()
    with contextlib.suppress(ValueError):
        parts = urlsplit(address)
        for secret in (parts.password, parts.query):
            if secret:
                remember_secret(secret)
    if scheme in ("http", "https"):
        return WebStore(address, safe_address(address))
    if scheme not in OPENED:
        schemes = ", ".join(f"{name}://" for name in (*OPENED, "http", "https"))
        hint = ": a database is named with `database` and `query`" if "sql" in scheme or scheme == "duckdb" else ""
        raise InputError(f"{safe_address(address)}: is of a kind that is not read as a file{hint} ({schemes})")
    storage = described.storage or Storage()
    values = {name: reveal_secrets(value, f"storage.{name}", directory) for name, value in storage if value is not None}
    return ObjectStore(address, values)


class ObjectStore(Store):
    """S3, Google Cloud Storage or Azure, accessed through pyarrow."""

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        from pyarrow import fs

        scheme, _, rest = address.partition("://")
        super().__init__(address, rest)
        with self.translate_errors():
            self.library, self.system = fs, OPENED[scheme.lower()](fs, rest, options)
        if scheme.startswith("abfs") and "@" in rest:  # abfs://container@account.dfs.core.windows.net/path
            container, _, path = rest.partition("@")
            self.path = f"{container}/{path.partition('/')[2]}"

    def copy(self, name: str, target: Path, limits: LimitCounter) -> None:
        with (
            self.translate_errors(),
            self.system.open_input_stream(name, compression=None) as stream,
            target.open("wb") as file,
        ):
            before = object_mark(stream.metadata())
            while piece := stream.read(PIECE):
                limits.count(size=len(piece))
                file.write(piece)
        with self.translate_errors(), self.system.open_input_stream(name, compression=None) as stream:
            if object_mark(stream.metadata()) != before:
                raise UnavailableError(f"{self.address_of(name)}: changed while it was read: run it again")

    def has(self, name: str) -> bool:
        with self.translate_errors():
            return bool(self.system.get_file_info(name).is_file)

    def version_mark(self, name: str) -> str | None:
        """Return a text that changes with the content of an object.

        None if the store gives neither an etag nor a generation.
        """
        with self.translate_errors(), self.system.open_input_stream(name, compression=None) as stream:
            mark = object_mark(stream.metadata())
        etag, _, _, generation, _ = mark
        return repr(mark) if etag or generation else None

    def below(self, name: str) -> list[str]:
        """Return the paths of the objects below a folder, sorted."""
        selector = self.library.FileSelector(name, recursive=True, allow_not_found=True)
        with self.translate_errors():
            infos = self.system.get_file_info(selector)
        return sorted(each.path for each in infos if each.is_file)

    @contextlib.contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise errors of the object store as InputError, or as UnavailableError if a retry may succeed."""
        try:
            yield
        except FileNotFoundError:
            raise InputError(f"{self.shown}: there is no such object: see the bucket and the path") from None
        except (OSError, ValueError) as error:
            text = on_one_line(str(error), 300)
            if AWAY.search(text):
                advice = "see that its address is right and that it can be reached"
                raise UnavailableError(f"{self.shown}: the store does not answer: {text}; {advice}") from None
            if DENIED.search(text):
                advice = "set its variables of the environment, or `storage` (docs/sources.md)"
                raise InputError(f"{self.shown}: the store refuses the credentials: {text}; {advice}") from None
            raise InputError(f"{self.shown}: cannot be read: {text}") from None


def object_mark(metadata: dict[Any, Any]) -> tuple[Any, ...]:
    """Return the metadata of an object that change with its content.

    They are etag, content-length, last-modified, generation and size, in this order; None for each that is missing.
    """
    values = {(key.decode() if isinstance(key, bytes) else str(key)).lower(): value for key, value in metadata.items()}
    return tuple(values.get(name) for name in ("etag", "content-length", "last-modified", "generation", "size"))


def open_s3(fs: Any, _rest: str, options: dict[str, Any]) -> Any:
    endpoint = options.get("endpoint") or environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    region = options.get("region") or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    return fs.S3FileSystem(
        access_key=options.get("access_key"),
        secret_key=options.get("secret_key"),
        session_token=options.get("session_token"),
        anonymous=options.get("anonymous", False),
        region=region or ("us-east-1" if endpoint else None),
        endpoint_override=endpoint,
        connect_timeout=PATIENCE / 3,
        request_timeout=PATIENCE,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2),
    )


def open_gcs(fs: Any, _rest: str, options: dict[str, Any]) -> Any:
    from datetime import timedelta

    scheme, _, host = (options.get("endpoint") or "").rpartition("://")
    endpoint_options = {"endpoint_override": host, "scheme": scheme or "https"} if host else {}
    return fs.GcsFileSystem(
        anonymous=options.get("anonymous", False), retry_time_limit=timedelta(seconds=PATIENCE), **endpoint_options
    )


def open_azure(fs: Any, rest: str, options: dict[str, Any]) -> Any:
    account = re.match(r"[^/@]*@([^./]+)\.", rest)
    account_name = environ.get("AZURE_STORAGE_ACCOUNT_NAME") or environ.get("AZURE_STORAGE_ACCOUNT")
    name = options.get("access_key") or (account[1] if account else account_name)
    if not name:
        raise InputError("az://: names no account: set AZURE_STORAGE_ACCOUNT, or storage: {access_key: ACCOUNT}")
    key = options.get("secret_key") or environ.get("AZURE_STORAGE_KEY") or environ.get("AZURE_STORAGE_ACCOUNT_KEY")
    token = options.get("session_token") or environ.get("AZURE_STORAGE_SAS_TOKEN")
    return fs.AzureFileSystem(name, account_key=key, sas_token=token if not key else None)


OPENED = {  # scheme of an address -> function that opens the store
    "s3": open_s3,
    **dict.fromkeys(("gs", "gcs"), open_gcs),
    **dict.fromkeys(("az", "abfs", "abfss"), open_azure),
}


class WebStore(Store):
    """One file of a web server, downloaded by GET."""

    def copy(self, name: str, target: Path, limits: LimitCounter) -> None:
        require_libraries(f"reading {self.shown}", "httpx")
        import httpx

        try:
            with httpx.Client(timeout=PATIENCE, headers=AS_IT_IS) as client, target.open("wb") as file:
                with contextlib.closing(last_answer(client, self.address)) as answer:
                    self.refuse(answer.status_code)
                    for piece in answer.iter_raw():
                        limits.count(size=len(piece))
                        file.write(piece)
                before = web_mark(answer.headers)
                if any(before):
                    after = client.head(self.address, follow_redirects=True)
                    if after.status_code == 200 and any(web_mark(after.headers)) and web_mark(after.headers) != before:
                        raise UnavailableError(f"{self.shown}: changed while it was read: run it again")
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
            raise InputError(f"{self.shown}: cannot be asked for: {error_text(error)}") from None
        except httpx.HTTPError as error:
            advice = "see that its address is right and can be reached"
            raise UnavailableError(f"{self.shown}: the server does not answer: {error_text(error)}; {advice}") from None

    def refuse(self, status: int) -> None:
        if status == 200:
            return
        if status in GONE:
            raise InputError(f"{self.shown}: there is no such file on the server (HTTP {status}): see the address")
        if status in REFUSED:
            advice = "see the name and password, or the signature, in the address"
            raise InputError(f"{self.shown}: the server refuses it (HTTP {status}): {advice}")
        kind = UnavailableError if status in TRANSIENT or status >= 500 else InputError
        raise kind(f"{self.shown}: the server answers HTTP {status}, and sends no file")


def last_answer(client: Any, address: str) -> Any:
    """Send a GET request, follow redirects without reading their contents, and return the last response.

    Raises httpx.TooManyRedirects after more than `MOST_REDIRECTS` redirects.
    """
    import httpx

    request = client.build_request("GET", address)
    for _ in range(MOST_REDIRECTS + 1):
        answer = client.send(request, stream=True)
        if answer.next_request is None:
            return answer
        answer.close()
        request = answer.next_request
    raise httpx.TooManyRedirects(f"more than {MOST_REDIRECTS} redirects", request=request)


def web_mark(headers: Any) -> tuple[str | None, str | None]:
    return headers.get("etag"), headers.get("last-modified")
