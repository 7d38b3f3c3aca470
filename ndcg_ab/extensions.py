"""What other packages add to ndcg-ab, by Python entry points: trackers, checks, sources.

A package names its addition in its own pyproject.toml, and it is loaded when a configuration asks for it:

    [project.entry-points."ndcg_ab.trackers"]
    our_dashboard = "our_package.dashboard:Dashboard"
"""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ndcg_ab.errors import InputError, format_value, words_of

TRACKERS, CHECKS, SOURCES = "ndcg_ab.trackers", "ndcg_ab.checks", "ndcg_ab.sources"  # groups of entry points


def extensions(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point of what installed packages add to a group."""
    return {found.name: found for found in entry_points(group=group)}


def load_named(group: str, name: str, where: str) -> Any:
    """What a configuration names of a group; where: its place in messages.  InputError where it is not installed."""
    added = extensions(group)
    if name not in added:
        known = f" ({', '.join(sorted(added))} are)" if added else ""
        raise InputError(f"{where}{format_value(name)}: is not installed{known}: install the package that adds it")
    return load_extension(added[name])


def load_extension(found: EntryPoint) -> Any:
    """What an entry point names. InputError, with the package's name, where it cannot be imported."""
    try:
        return found.load()
    except Exception as error:  # the module of somebody else may raise whatever it likes
        package = found.dist.name if found.dist else "a package"
        raise InputError(
            f"{found.group}: {found.name}: {found.value} of {package} cannot be loaded:"
            f" {type(error).__name__}: {words_of(error)}; mend or uninstall {package}"
        ) from None
