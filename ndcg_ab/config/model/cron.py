"""Whether a cron expression fits any moment: the same rules as Prefect's, which is not asked before it is deployed.

Five fields with commas between their entries: `*`, a number, a name, a range (which may pass the end, as `fri-mon`),
each with a step behind `/`.  In the day also `L`, the last of the month; in the weekday `5#2` and `L5`, the second and
the last Friday, beside no other kind of entry and of any day; in both `?` for `*`.  A day that none of the months has
never comes, whatever the weekday.
"""

import re
from typing import NamedTuple

from ndcg_ab.errors import format_value

DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # of a month, at the most
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
ENTRY = re.compile(r"(?P<first>\*|[a-z0-9]+)(-(?P<last>[a-z0-9]+))?(/(?P<step>[0-9]{1,4}))?")
ORDINAL = re.compile(r"(?P<day>[a-z0-9]+)#[1-5]|l(?P<last>[0-9]+)")


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

    def number(self, text: str) -> int | None:
        """The number that a text stands for; None where it is none of the field's."""
        if text in self.names:
            return self.names.index(text) + self.low
        found = int(text) if text.isdecimal() and len(text) <= 4 else -1
        return found if self.low <= found <= self.high else None

    def holds(self, entry: str) -> bool:
        """Whether it can have an entry."""
        if self.name == "day" and entry == "l":
            return True
        if self.name == "weekday" and (special := ORDINAL.fullmatch(entry)) is not None:
            return self.number(special["day"] or special["last"]) is not None
        found = ENTRY.fullmatch(entry)
        if found is None or (found["first"] == "*" and found["last"]):
            return False
        ends = [end for end in (found["first"], found["last"]) if end not in (None, "*")]
        return all(self.number(end) is not None for end in ends) and (found["step"] is None or int(found["step"]) > 0)


FIELDS = (
    CronField("minute", 0, 59),
    CronField("hour", 0, 23),
    CronField("day", 1, 31),
    CronField("month", 1, 12, MONTHS),
    CronField("weekday", 0, 7, WEEKDAYS),
)


def cron_fault(cron: str) -> str | None:
    """The rule that a cron expression breaks; None where some moment fits it."""
    texts = ["*" if text == "?" and at in (2, 4) else text for at, text in enumerate(cron.lower().split())]
    if len(texts) != len(FIELDS):
        return "must be five fields (minute hour day month weekday), as in 0 2 * * *"
    for field, text in zip(FIELDS, texts, strict=True):
        if wrong := [entry for entry in text.split(",") if not field.holds(entry)]:
            return f"no moment fits it: {format_value(wrong[0])} is no {field.rule}, as in 0 2 * * *"
    ordinals = [entry for entry in texts[4].split(",") if ORDINAL.fullmatch(entry)]
    if ordinals and (len(ordinals) < len(texts[4].split(",")) or texts[2] != "*"):
        return f"no moment fits it: {ordinals[0]!r} cannot be combined with other weekdays, or with a day of the month"
    days, months = first_numbers(FIELDS[2], texts[2]), first_numbers(FIELDS[3], texts[3])
    if days and months and min(days) > max(DAYS[month - 1] for month in months):
        return f"no moment fits it: none of its months has a day {min(days)}"
    return None


def first_numbers(field: CronField, text: str) -> set[int]:
    """The numbers that the entries of a field begin with; none where it takes any, or the last of a month."""
    firsts = [entry.partition("/")[0].partition("-") for entry in text.split(",")]
    if any(first in ("*", "l") for first, _, _ in firsts):
        return set()
    found = set()
    for first, _, last in firsts:
        low, high = field.number(first), field.number(last or first)
        assert low is not None and high is not None
        found |= (
            set(range(low, high + 1)) if low <= high else {*range(low, field.high + 1), *range(field.low, high + 1)}
        )
    return found
