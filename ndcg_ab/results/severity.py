"""How grave a finding is, and how that is shown."""

from enum import StrEnum
from typing import NamedTuple, assert_never


class Severity(StrEnum):
    """How grave a finding is, the gravest first."""

    ERROR = "error"
    """Nothing is computed in spite of it."""
    WARNING = "warning"
    """It may change what the comparison says."""
    NOTE = "note"
    """Worth knowing; it changes nothing."""
    IGNORED = "ignored"
    """The configuration says not to report it."""

    @property
    def traits(self) -> "SeverityTraits":
        """How it is shown: a new member is described here, and nowhere else."""
        match self:
            case Severity.ERROR:
                return SeverityTraits(0, "!", "red")
            case Severity.WARNING:
                return SeverityTraits(1, "!", "yellow")
            case Severity.NOTE:
                return SeverityTraits(2, "i", "dim")
            case Severity.IGNORED:
                return SeverityTraits(3, "i", "dim")
            case _:
                assert_never(self)


class SeverityTraits(NamedTuple):
    """rank: 0 for the gravest.  mark, colour: in a terminal."""

    rank: int
    mark: str
    colour: str
