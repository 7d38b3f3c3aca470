"""The files that a command is given, with or without an option."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndcg_ab.config.options.positional import NamedFile


def place_inputs(options: Mapping[str, Any], command: str, otherwise: str = "") -> dict[str, Any]:
    """Return the options with `judgments` and `system` from the files without an option (`place_files`)."""
    from ndcg_ab.config.options.positional import place_files

    placed = place_files(options, command, otherwise)
    return placed | {"system": spread_files(placed["system"])}


def spread_files(systems: "Sequence[NamedFile]") -> "list[NamedFile]":
    """Return the name and file of each system, of a table of several systems each of them."""
    from ndcg_ab.sources import make_source
    from ndcg_ab.sources.tables.one_system import spread_systems

    return spread_systems(systems, make_source)
