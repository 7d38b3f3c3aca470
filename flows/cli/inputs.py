"""The files that a command is given, with or without an option."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_ab.errors import InputError

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


def refuse_files(options: Mapping[str, object], names: Iterable[str]) -> None:
    """Raise InputError if options of files are given beside a configuration; names: of these options."""
    for name in names:
        if options[name] not in (None, []) and options[name] is not False:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: goes with files, and a configuration was given: use --set KEY=VALUE")
