"""Define the errors whose messages users see, and format values for those messages."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

SHOWN = 80  # characters of a value in a message


LONGEST = 20_000  # characters of a message, whatever is in it


class Setting(NamedTuple):
    """A configuration setting in an error message, which can be written as a key, an option or an argument.

    Attributes
    ----------
    key : str
        Dotted key of the configuration, such as ``statistics.alpha``, or an option without a key, such as
        ``--deviation``.
    entry : str
        Entry of the key's list or mapping that the message is about, as in ``metrics: [recall@10]``; empty for the
        whole key.
    number : float or None
        Value of the entry in a mapping, as in ``guardrails: {recall@10: 0.02}``; None for an entry of a list.
    """

    key: str
    entry: str = ""
    number: float | None = None

    def __str__(self) -> str:
        """Return the key, followed by the entry if there is one: ``metrics: [recall@10]``."""
        if not self.entry:
            return self.key
        return f"{self.key}: " + (f"[{self.entry}]" if self.number is None else f"{{{self.entry}: {self.number:g}}}")


Part = str | Setting
"""A part of a sentence: text, or a setting."""


def write_sentence(parts: Iterable[Part], name: Callable[[Setting], str] = str) -> str:
    """Return texts and settings joined into one sentence.

    name: a function that converts a setting to text; by default the setting's key and entry are written.
    """
    return "".join(part if isinstance(part, str) else name(part) for part in parts)


class RuleError(ValueError):
    """Raised if a value in the configuration breaks a rule.

    If the message begins with a `Setting`, that is the key at fault.
    """

    def __init__(self, *parts: Part) -> None:
        super().__init__(write_sentence(parts))
        self.parts = parts


class InputError(Exception):
    """Raised if the usage, the configuration or the data are invalid. Exit code 2.

    The message names the location, the value and the rule.
    """

    def __init__(self, *parts: Part) -> None:
        super().__init__(shorten(write_sentence(parts), LONGEST))
        self.parts = parts


class UnavailableError(InputError):
    """Raised if a source of data did not answer, and a retry may succeed. Exit code 2."""


class SqlError(RuntimeError):
    """Raised if a SQL file failed or the database could not be opened. Exit code 70."""


class TrackingError(Exception):
    """Raised if MLflow could not be reached or refused the results. Exit code 75.

    The results can be published later.
    """


class RefusedError(TrackingError):
    """Raised if MLflow rejected the bundle, so that a retry does not help. Exit code 75."""


class ParityError(Exception):
    """Raised if the SQL and the Python implementation of a metric disagree, so that no number can be trusted.

    Exit code 70.
    """


OPTIONAL = {  # import name -> what people call it, the extra of ndcg-ab that brings it
    "prefect": ("Prefect", "nightly"),
    "mlflow": ("MLflow", "nightly"),
    "adbc_driver_manager": ("adbc-driver-manager", "databases"),
    "adbc_driver_sqlite": ("adbc-driver-sqlite", "databases"),
    "httpx": ("httpx", "http"),
    "jmespath": ("jmespath", "http"),
    "pyspark": ("PySpark", "spark"),
    "sqlglot": ("sqlglot", "spark"),
}


def require_libraries(feature: str, *libraries: str) -> None:
    """Raise InputError, which says what to install, if one of the optional libraries is not installed.

    feature: the command or function that needs the libraries, for the message.
    libraries: import names, keys of `OPTIONAL`.
    """
    missing = [OPTIONAL[name] for name in libraries if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        names = " and ".join(name for name, _ in missing)
        extras = ",".join(sorted({extra for _, extra in missing}))
        raise InputError(f"{feature} needs {names}, which {verb} not installed: pip install 'ndcg-ab[{extras}]'")


# ---- texts of others in messages: their secrets are taken out first, then they are cut


_hide: Callable[[str], str] = str  # the text as it is, until `set_secret_remover` names what hides secrets
_reach: Callable[[], int] = int  # none


def set_secret_remover(hide: Callable[[str], str], reach: Callable[[], int]) -> None:
    """Set the function that removes secrets from the texts in messages.

    `ndcg_ab.config.secrets.redaction` calls this when it is imported, because this module imports no other.
    hide: a function that returns a text without its secrets.
    reach: a function that returns how many characters of a text `hide` needs to recognise any secret in it.
    """
    global _hide, _reach
    _hide, _reach = hide, reach


def first_characters(text: str, length: int) -> str:
    """Return at most the first `length` characters of a text, with secrets removed before the text is cut.

    Only the start of a long text is examined. A secret that crosses the end of the examined part cannot be recognised,
    so the last characters of that part are left out. The result can then be shorter than `length`.
    """
    reach = _reach()
    window = text[: length + 2 * reach]
    hidden = _hide(window)
    if len(window) < len(text):
        hidden = hidden[: max(0, len(hidden) - reach)]
    return hidden[:length]


def shorten(text: str, length: int = SHOWN) -> str:
    """Return the text without secrets, cut to `length` characters; an ellipsis marks a cut."""
    start = first_characters(text, length + 1)
    return start if len(start) <= length and len(text) <= length + 2 * _reach() else f"{start[:length]}…"


def format_value(value: object) -> str:
    """Return a value as messages show it: its repr without secrets, on one line, cut to `SHOWN` characters."""
    if isinstance(value, bytes | bytearray):
        # a character is up to four bytes: what is longer than `beginning` looks at stays longer
        decoded = bytes(value[: 4 * (SHOWN + 2 * _reach() + 2)]).decode(errors="backslashreplace")
        value = decoded if _hide(decoded) != decoded else value[: SHOWN + 1]
    if isinstance(value, str):
        value = first_characters(value, SHOWN + 1)  # what is left of it is too long still, and nothing longer is copied
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else " ".join(repr(value).splitlines())
    return shorten(text, SHOWN)


def on_one_line(text: str, length: int) -> str:
    """Return the text without secrets, on one line, cut to `length` characters."""
    return shorten(" ".join(first_characters(text, 4 * length).split()), length)


def message_of(error: BaseException) -> str:
    """Return the message of an error, or an empty text if the error cannot be converted to text."""
    try:
        return str(error)
    except BaseException:
        return ""


def error_text(error: BaseException) -> str:
    """Return the message of another library's error on one line, shortened.

    An error without a message gives the name of its type.
    """
    return on_one_line(message_of(error), 3 * SHOWN) or type(error).__name__


@contextlib.contextmanager
def refuse_unreadable(location: object) -> Iterator[None]:
    """Raise an OSError in the block as an InputError that says that `location`, such as a path, cannot be read."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{location}: cannot be read: {error_text(error)}") from None
