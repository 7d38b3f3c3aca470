"""Whether a cron expression has five fields of numbers and names that a clock has; `serve` and `deploy` ask Prefect."""

import re
from typing import NamedTuple

from ndcg_ab.errors import format_value

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
STEP = re.compile(r"/[0-9]+")
PART = re.compile(r"[a-z]+|[0-9]+")
LAST = "l"  # of a month: the last day, or weekday


class CronField(NamedTuple):
    """One of the five: its lowest and highest number, and the names that stand for numbers from the lowest on."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """How it must be written."""
        return f"{self.name} ({self.low}-{self.high}{f' or {self.names[0]}-{self.names[-1]}' if self.names else ''})"

    def holds(self, part: str) -> bool:
        """Whether a number or a name is one of the field's."""
        return part in self.names or (part.isdecimal() and len(part) <= 4 and self.low <= int(part) <= self.high)


FIELDS = (
    CronField("minute", 0, 59),
    CronField("hour", 0, 23),
    CronField("day", 1, 31),
    CronField("month", 1, 12, MONTHS),
    CronField("weekday", 0, 7, WEEKDAYS),
)


def cron_fault(cron: str) -> str | None:
    """The rule that a cron expression breaks; None where it breaks none."""
    texts = cron.lower().split()
    if len(texts) != len(FIELDS):
        return "must be five fields (minute hour day month weekday), as in 0 2 * * *"
    for field, text in zip(FIELDS, texts, strict=True):
        for part in PART.findall(STEP.sub("", text)):
            if part != LAST and not field.holds(part):
                return f"no moment fits it: {format_value(part)} is no {field.rule}, as in 0 2 * * *"
    return None
