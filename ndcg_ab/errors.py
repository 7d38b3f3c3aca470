"""The errors whose message is all that a user needs to see, and the one about libraries that are not installed."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import NamedTuple

SHOWN = 80  # characters of a value in a message


LONGEST = 20_000  # characters of a message, whatever is in it


class Setting(NamedTuple):
    """What a user sets, as an error names it: every reader of the error writes it as they set it (`write_sentence`).

    key: of a configuration, dotted (``statistics.alpha``); of what no configuration has the option (``--deviation``).
    entry, number: what to write for it: ``metrics: [recall@10]``, ``guardrails: {recall@10: 0.02}``.
    """

    key: str
    entry: str = ""
    number: float | None = None

    def __str__(self) -> str:
        """As a configuration has it."""
        if not self.entry:
            return self.key
        return f"{self.key}: " + (f"[{self.entry}]" if self.number is None else f"{{{self.entry}: {self.number:g}}}")


Part = str | Setting
"""A sentence is made of texts and of settings."""


def write_sentence(parts: Iterable[Part], name: Callable[[Setting], str] = str) -> str:
    """The sentence; name: how its reader writes a setting."""
    return "".join(part if isinstance(part, str) else name(part) for part in parts)


class RuleError(ValueError):
    """A key of a configuration breaks a rule; where it begins with a setting, that is what it is about."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(write_sentence(parts))
        self.parts = parts


class InputError(Exception):
    """Usage, configuration or data that cannot be used: what, where, which value, which rule. Exit code 2."""

    def __init__(self, *parts: Part) -> None:
        super().__init__(shortened(write_sentence(parts), LONGEST))
        self.parts = parts


class SilentError(InputError):
    """A place that data come from did not answer; it may later. Exit code 2."""


class SqlError(RuntimeError):
    """A SQL file failed, or the database could not be opened; the message says which. Exit code 70."""


class TrackingError(Exception):
    """MLflow could not be reached or refused; the bundle can be published later. Exit code 75."""


class RefusedError(TrackingError):
    """MLflow answered, and does not take the bundle: trying again will not help. Exit code 75."""


class ParityError(Exception):
    """The SQL and the Python core disagree: the numbers must not be believed. Exit code 70."""


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


def needs(what: str, *libraries: str) -> None:
    """Raises InputError where one of OPTIONAL is not installed; what: what cannot be done without."""
    missing = [OPTIONAL[name] for name in libraries if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        names = " and ".join(name for name, _ in missing)
        extras = ",".join(sorted({extra for _, extra in missing}))
        raise InputError(f"{what} needs {names}, which {verb} not installed: pip install 'ndcg-ab[{extras}]'")


# ---- texts of others in messages: their secrets are taken out first, then they are cut


_hide: Callable[[str], str] = str  # the text as it is, until `hide_with` names what hides secrets
_reach: Callable[[], int] = int  # none


def hide_with(hide: Callable[[str], str], reach: Callable[[], int]) -> None:
    """Names what takes secrets out of texts, and how many characters it may have to see of one to know it.

    `ndcg_ab.config.secrets.redaction`, which knows them, does so when it is imported: errors know nobody.
    """
    global _hide, _reach
    _hide, _reach = hide, reach


def beginning(text: str, most: int) -> str:
    """The first `most` characters of what is left of a text without its secrets, and nothing of a secret.

    Of a long text no more is looked at than can matter: a secret that goes on behind that is not known to be one, so
    as many characters before are left out.
    """
    reach = _reach()
    window = text[: most + 2 * reach]
    hidden = _hide(window)
    if len(window) < len(text):
        hidden = hidden[: max(0, len(hidden) - reach)]
    return hidden[:most]


def shortened(text: str, most: int = SHOWN) -> str:
    """The text without its secrets, and not longer than `most`."""
    found = beginning(text, most + 1)
    return found if len(found) <= most and len(text) <= most + 2 * _reach() else f"{found[:most]}…"


def format_value(value: object) -> str:
    """The value as it is in a message: without secrets, on one line, and not longer than `SHOWN`."""
    if isinstance(value, bytes | bytearray):
        # a character is up to four bytes: what is longer than `beginning` looks at stays longer
        decoded = bytes(value[: 4 * (SHOWN + 2 * _reach() + 2)]).decode(errors="backslashreplace")
        value = decoded if _hide(decoded) != decoded else value[: SHOWN + 1]
    if isinstance(value, str):
        value = beginning(value, SHOWN + 1)  # what is left of it is too long still, and nothing longer is copied
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else " ".join(repr(value).splitlines())
    return shortened(text, SHOWN)


def on_one_line(text: str, most: int) -> str:
    """The text without its secrets, on one line, and not longer than `most`."""
    return shortened(" ".join(beginning(text, 4 * most).split()), most)


def words_of(error: BaseException) -> str:
    """What an error says; nothing where it cannot say it: somebody else's function may raise anything."""
    try:
        return str(error)
    except BaseException:
        return ""


def in_short(error: BaseException) -> str:
    """What a library said, on one line of a length that can be read."""
    return on_one_line(words_of(error), 3 * SHOWN) or type(error).__name__
