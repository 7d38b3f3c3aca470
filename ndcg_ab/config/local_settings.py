"""The settings files of Prefect in the current folder: read only if the configuration names the server."""

import contextlib
import functools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILES = {  # name -> what is in it if it holds settings that a client of Prefect reads
    ".env": r"(?im)^\s*(export\s+)?prefect_",
    "prefect.toml": r"\S",
    "pyproject.toml": r"\btool\W{1,4}prefect\b(?!\W{1,3}server\b)",
}
PROFILES = "PREFECT_PROFILES_PATH"
MOST = 1_000_000  # characters of a file that are searched
_are_followed = False


def follow_local_settings(are_followed: bool) -> None:
    """Let Prefect read the settings files of the current folder, or keep it from that."""
    global _are_followed
    _are_followed = are_followed


def find_local_settings() -> list[str]:
    """Return the names of the files in the current folder that hold settings of Prefect."""
    found = []
    for name, pattern in FILES.items():
        if Path(name).is_file():  # nothing else ends
            with contextlib.suppress(OSError), Path(name).open(encoding="utf-8", errors="replace") as file:
                found += [name] * bool(re.search(pattern, file.read(MOST)))
    return found


def profiles_path() -> Path:
    """Return the file of Prefect's profiles that the environment or the home directory names."""
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    return Path(os.environ.get(PROFILES) or home / "profiles.toml")


@functools.cache
def guard_prefect() -> None:
    """Make Prefect read settings files of the current folder only while they are followed.

    Call it before Prefect is imported: importing Prefect reads its settings.
    """
    from pydantic_settings.sources import ConfigFileSourceMixin, DotEnvSettingsSource

    for source, method in (ConfigFileSourceMixin, "_read_files"), (DotEnvSettingsSource, "_read_env_files"):
        setattr(source, method, only_if_followed(getattr(source, method)))
    if not _are_followed:
        os.environ[PROFILES] = str(profiles_path())  # the files could name another one


def only_if_followed(read: Any) -> Any:
    """Return a reader of settings files that gives Prefect nothing while they are not followed."""

    @functools.wraps(read)
    def read_followed(source: Any, *arguments: Any, **options: Any) -> Mapping[str, Any]:
        if not _are_followed and source.settings_cls.__module__.partition(".")[0] == "prefect":
            return {}
        found: Mapping[str, Any] = read(source, *arguments, **options)
        return found

    return read_followed
