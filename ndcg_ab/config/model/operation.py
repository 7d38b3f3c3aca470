"""The settings for running an evaluation: tracking, schedule, retention, resources.

None of these settings changes a result.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, field_validator, model_validator

from ndcg_ab.config.model.keys import OUTPUT, Model, Option, SecretText, Trait, key, obeys
from ndcg_ab.errors import format_value
from ndcg_ab.files import path_fault
from ndcg_ab.memory import limit_fault

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
STEP = re.compile(r"/[0-9]+")
PART = re.compile(r"[a-z]+|[0-9]+")
LAST = "l"  # of a month: the last day, or weekday


FIELDS: dict[str, tuple[int, int, tuple[str, ...]]] = {  # of a cron expression: lowest and highest number, and names
    "minute": (0, 59, ()),
    "hour": (0, 23, ()),
    "day": (1, 31, ()),
    "month": (1, 12, MONTHS),
    "weekday": (0, 7, WEEKDAYS),
}


def cron_fault(cron: str) -> str | None:
    """Return the rule that a cron expression breaks, or None if it breaks no rule."""
    texts = cron.lower().split()
    if len(texts) != len(FIELDS):
        return "must be five fields (minute hour day month weekday), as in 0 2 * * *"
    for (name, (low, high, names)), text in zip(FIELDS.items(), texts, strict=True):
        for part in PART.findall(STEP.sub("", text)):
            is_number = part.isdecimal() and len(part) <= 4 and low <= int(part) <= high
            if not is_number and part not in (LAST, *names):
                rule = f"{name} ({low}-{high}{f' or {names[0]}-{names[-1]}' if names else ''})"
                return f"no moment fits it: {format_value(part)} is no {rule}, as in 0 2 * * *"
    return None


RULES_OF_PATTERNS: dict[str, str] = {}  # pattern -> the rule in our words


def matching_text(pattern: str, rule: str) -> Any:
    """Return a pydantic field for text that must match a regular expression.

    rule: the message for text that does not match.
    """
    RULES_OF_PATTERNS[pattern] = rule
    return Field(pattern=pattern)


MASTER = r"(local(-cluster)?(\[[^\]]+\])?|yarn)$|(spark|k8s)://."  # as Spark reads it
SIZE = r"^[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B$"
MEMORY = r"^((0\.0*)?[1-9][0-9]*(\.[0-9]+)? ?([KMGTkmgt]|[KMGTkmgt][iI]?[bB])|([1-9][0-9]?|100) ?%)$"
Size = Annotated[str, matching_text(SIZE, "must be a size such as 20GB or 512MiB")]
MemorySize = Annotated[
    str,
    matching_text(MEMORY, "must be a size such as 4GB or 512MiB, or a share such as 50%"),
    obeys(lambda size: None if size.endswith("%") else limit_fault(size)),
]

TRACKERS = ("sqlite", "postgresql", "mysql", "mssql", "databricks", "databricks-uc", "uc")  # of MLflow, beside http
HOST_AND_PORT = re.compile(r"[\w.-]+:\d+(/.*)?")
LONGEST = 255  # characters of an experiment's name
NO_ZONES = ("Factory", "localtime", "posixrules")  # files of the zone database that Prefect knows no clock of


def expand_home(path: Path) -> Path:
    """Return a path with a leading `~` replaced by the home directory.

    Raises ValueError if no file can have this path, or if there is no home directory.
    """
    if (problem := path_fault(str(path))) is not None:
        raise ValueError(problem)
    try:
        return path.expanduser() if path.parts[:1] == ("~",) else path
    except RuntimeError:
        raise ValueError("there is no home directory here for ~: give the whole path") from None


GivenPath = Annotated[Path, AfterValidator(expand_home), Trait.PATH]


def tracker_address_fault(address: str) -> str | None:
    """Return the rule that an MLflow address breaks, or None if MLflow accepts it."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9.+-]*):", address)
    kind = scheme[1].lower().partition("+")[0] if scheme else ""
    if HOST_AND_PORT.fullmatch(address):
        return f"must begin with http:// or https://; did you mean http://{address}?"
    if kind in ("http", "https"):
        return server_address_fault(address)
    if address in TRACKERS or kind in TRACKERS:
        return None
    if kind in ("", "file") and os.environ.get("MLFLOW_ALLOW_FILE_STORE", "").lower() in ("true", "1"):
        return None
    named = "is a folder, in which MLflow keeps nothing any more" if kind in ("", "file") else "is no address of MLflow"
    return f"{named}: it must be as http://127.0.0.1:5000, or a file of a database as sqlite:///mlflow.db"


def server_address_fault(address: str) -> str | None:
    """Return the rule that a server address breaks, or None if it has a scheme and a host."""
    try:
        parts = urlsplit(address)
        has_host = bool(parts.hostname) and parts.port != 0 and not re.search(r"\s", address)
    except ValueError:
        return "is no address: it must be as http://127.0.0.1:4200/api"
    if parts.scheme.lower() in ("http", "https") and has_host:
        return None
    hint = f"; did you mean http://{address}?" if HOST_AND_PORT.fullmatch(address) else ", as http://127.0.0.1:4200/api"
    return f"must begin with http:// or https:// and name a host{hint}"


def check_address(fault_of: Callable[[str], str | None]) -> AfterValidator:
    """Return a pydantic validator that raises ValueError for an invalid address.

    An address that contains a variable ``${NAME}`` or is a reference to a secret is accepted, since it is checked when
    it is used.
    fault_of: a function that returns the rule that an address breaks, or None for a valid address.
    """
    return obeys(lambda address: fault_of(address) if address and "${" not in address else None)


class Tracking(Model):
    """The settings for MLflow: its address and the experiment."""

    tracking_uri: Annotated[SecretText | None, check_address(tracker_address_fault), Trait.LATE] = key(
        "MLflow server or store; by default MLFLOW_TRACKING_URI, else SQLite in the output directory.", None
    )
    experiment: str | None = key("Experiment name; by default the evaluation's name.", None)

    @field_validator("experiment")
    @classmethod
    def _fits(cls, value: str | None) -> str | None:
        if value is not None and not (value.isprintable() and 0 < len(value.strip()) == len(value) <= LONGEST):
            raise ValueError(f"must be 1 to {LONGEST} printable characters, without a space at either end")
        return value


class TrackerChoice(Model):
    """The tracker that stores results for dashboards, as a name or as `{NAME: {OPTION: VALUE}}`."""

    main_key = "name"
    short_form = str | dict[str, Any]

    name: str = key("mlflow, json_lines, or what an installed package adds.", "mlflow", min_length=1)
    options: dict[str, Any] = key("What the tracker of that name wants to know.", dict)

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Return `NAME` or `{NAME: {OPTION: VALUE}}` as a mapping with the keys `name` and `options`.

        Any other value is returned unchanged. Raises ValueError for a mapping with several names.
        """
        if value and isinstance(value, dict) and not {"name", "options"} & set(value):
            if len(value) != 1:
                raise ValueError("must be a name, or one name with its options: {NAME: {OPTION: VALUE}}")
            [(name, options)] = value.items()
            return {"name": name, "options": {} if options is None else options}
        return super().expand(value)


class Prefect(Model):
    """The settings for Prefect: the server that records the flow run, and retries and timeouts of its tasks."""

    server: Literal["temporary"] | None = key(
        "temporary: start a server for the run if none is named; by default the run needs none.", None
    )
    api_url: Annotated[SecretText | None, check_address(server_address_fault), Trait.LATE] = key(
        "Prefect server; by default PREFECT_API_URL, else none is needed.", None
    )

    retries: int = key("How often a pull is tried again; the publishing once at most.", 2, strict=True, ge=0, le=20)
    retry_seconds: float = key("Seconds between the attempts.", 5.0, ge=0, le=3600)
    timeout_seconds: float | None = key("Seconds after which one attempt is given up; by default never.", None, gt=0)


class Schedule(Model):
    """The times at which `serve` and `deploy` run the evaluation."""

    cron: Annotated[str, obeys(cron_fault)] = key("As 0 2 * * * for every night at two.")
    timezone: str = key("As Europe/Berlin; the clock that cron means.", "UTC")

    @field_validator("timezone")
    @classmethod
    def _known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
            if value in NO_ZONES:
                raise ValueError(value)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError("is no known time zone; say it as in Europe/Berlin") from None
        return value


class Retention(Model):
    """The limits for stored evaluations and inputs. Comparisons and means always stay in the history."""

    bundles: int | None = key(
        "Folders of evaluations; by default all. Never one that is not published.", None, strict=True, ge=1
    )
    query_scores: int | None = key(
        "Evaluations whose values per query stay in the history; by default all.", None, strict=True, ge=1
    )
    inputs: Size = key(
        "Disk for inputs as they were read, so that unchanged ones are not read again; 0B keeps none.", "20GB"
    )


class Resources(Model):
    """The limits for the threads, the memory and the temporary files of an evaluation."""

    threads: Annotated[int | None, Option("--threads", "resources", OUTPUT, "N")] = key(
        "Threads; by default every core.", None, strict=True, ge=1, le=10_000
    )
    memory_limit: Annotated[MemorySize | None, Option("--memory-limit", "resources", OUTPUT, "SIZE")] = key(
        "Memory limit of the process, as 4GB or 50%; by default DuckDB takes 80 % of the memory.", None
    )
    spill: Annotated[GivenPath | None, Option("--spill", "resources", OUTPUT, "FOLDER")] = key(
        "Folder for what does not fit into memory, relative to the configuration;"
        " by default the one of temporary files, of `run` the output directory.",
        None,
    )


class Spark(Model):
    """The Apache Spark cluster that computes the tables of judgments and rankings, named by `master` or `remote`."""

    master: str | None = key("local[4], spark://host:7077, yarn, k8s://…; or say remote.", None)
    remote: Annotated[SecretText | None, Trait.LATE] = key("Spark Connect: sc://host:15002, or {env: NAME}.", None)
    conf: Annotated[dict[str, SecretText], Trait.LATE] = key(
        "Spark's own settings, as spark.executor.memory; secrets as {env: NAME}.", dict
    )
    scratch: str | None = key(
        "Folder or address for tables while it works, for every worker to reach; emptied at the end.", None
    )
    patience: float = key(
        "Seconds in which the cluster must begin to work; thrice as many while an executor is starting.",
        300.0,
        gt=0,
        le=86400,
    )

    @field_validator("conf", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        """Return settings of Spark as text, with numbers and booleans as Spark spells them."""
        if not isinstance(value, dict):
            return value
        spelt = {True: "true", False: "false"}
        return {
            key: spelt[each] if isinstance(each, bool) else str(each) if isinstance(each, int | float) else each
            for key, each in value.items()
        }

    @model_validator(mode="after")
    def _is_somewhere(self) -> "Spark":
        if (self.master is None) == (self.remote is None):
            raise ValueError("needs either master, as local[4] or spark://host:7077, or remote, as sc://host:15002")
        if self.master is not None and "$" not in self.master and not re.match(MASTER, self.master):
            raise ValueError(f"master = {self.master!r}: must be local[4], spark://host:7077, yarn or k8s://…")
        if isinstance(self.remote, str) and "$" not in self.remote and not self.remote.startswith("sc://"):
            raise ValueError(f"remote = {self.remote!r}: must be the address of Spark Connect, as sc://host:15002")
        if self.master is not None and self.scratch is None and not self.master.startswith("local"):
            raise ValueError(
                "scratch: missing; it must be a folder or address that this machine and every worker of"
                f" {self.master} reach"
            )
        return self


class EngineChoice(Model):
    """The engine that computes the tables of judgments and rankings: DuckDB on this machine, or Spark."""

    spark: Spark | None = None
