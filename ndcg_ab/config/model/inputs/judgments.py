"""The models of judgments in a configuration: a table, a judge function, or clicks."""

import math
from itertools import pairwise
from typing import Any, Literal, cast

from pydantic import field_validator, model_validator

from ndcg_ab.config.model.inputs.connections import SourceModel
from ndcg_ab.config.model.inputs.sources import (
    KINDS,
    InputSettings,
    JudgeSource,
    Mark,
    Source,
    SparkSource,
    TableSource,
)
from ndcg_ab.config.model.keys import Model, key, with_keys_of

FLOOR = 10  # impressions
QUANTILES = (0.25, 0.5, 0.75)
Scale = Literal["value", "quantile", "threshold"]


class ClickGrades(Model):
    """The conversion of click values into grades: 0, 1, 2 … by quantiles or thresholds, or the values themselves."""

    quantiles: list[float] | None = key(
        "Shares of graded documents with lower values, from which on grades are 1, 2, …", None, min_length=1
    )
    thresholds: list[float] | None = key("Values from which on grades are 1, 2, …", None, min_length=1)
    value: bool = key("The value is the grade.", False, strict=True)

    @model_validator(mode="after")
    def _one_way(self) -> "ClickGrades":
        if [self.quantiles is not None, self.thresholds is not None, self.value].count(True) != 1:
            raise ValueError("needs one of quantiles, thresholds and value: true")
        if any(first >= second for first, second in pairwise(self.boundaries)):
            raise ValueError(f"{self.rule}s = {self.boundaries}: must rise")
        if self.boundaries and (self.boundaries[0] <= 0 or (self.rule == "quantile" and self.boundaries[-1] >= 1)):
            rule = "must lie between 0 and 1" if self.rule == "quantile" else "must be above 0, which is no click"
            raise ValueError(f"{self.rule}s = {self.boundaries}: {rule}")
        return self

    @property
    def rule(self) -> Scale:
        return "value" if self.value else "quantile" if self.quantiles is not None else "threshold"

    @property
    def boundaries(self) -> list[float]:
        return list(self.quantiles or self.thresholds or ())


class Clicks(TableSource):
    """A click log, and the conversion of its events into grades."""

    contents = "events"

    events: Literal["ubi", "table"] | None = key(
        "ubi: User Behavior Insights. table: counts. By default recognised by a file's columns; else ubi.", None
    )
    model: Literal["position", "rate", "opensearch"] = key("How clicks become values: docs/clicks.md.", "position")
    actions: list[str] | None = key(
        "Actions of UBI that count as clicks, such as purchase; by default click, click_through.", None
    )
    floor: int | None = key(
        "Impressions that a document needs for a grade; by default 10, of opensearch 0.", None, ge=0
    )
    grades: ClickGrades | None = key(
        "{quantiles: […]}, {thresholds: […]} or {value: true}; by default quarters, or that model's.", None
    )

    @property
    def least_impressions(self) -> int:
        """The least number of impressions that a document needs for a grade."""
        usual = 0 if self.model == "opensearch" else FLOOR
        return usual if self.floor is None else self.floor

    @property
    def rule_and_boundaries(self) -> tuple[Scale, tuple[float, ...]]:
        """How values become grades ("value", "quantile" or "threshold"), and the boundaries between grades."""
        if self.grades is not None:
            return self.grades.rule, tuple(self.grades.boundaries)
        return ("value", ()) if self.model == "opensearch" else ("quantile", QUANTILES)

    @property
    def definition(self) -> str:
        """The definition of the grades in words, displayed with the name of the source."""
        scale, boundaries = self.rule_and_boundaries
        grades = "the value" if scale == "value" else f"by {scale}s {', '.join(f'{each:g}' for each in boundaries)}"
        counted = f" ({', '.join(self.actions)})" if self.actions else ""
        return f"clicks{counted}, model {self.model}, at least {self.least_impressions} impressions, grades {grades}"


class ClicksSource(SourceModel):
    """User events from which grades are computed; the texts of the queries say which query an event belongs to."""

    clicks: Clicks = key("User events from which grades are computed: docs/clicks.md.")

    @property
    def display_name(self) -> str:
        return f"{self.clicks.source.display_name} (clicks, {self.clicks.model})"

    @property
    def origin(self) -> str:
        return f"{self.clicks.source.origin} ({self.clicks.definition})"


JUDGMENT_KINDS: dict[str, type[Source]] = {key: kind for key, kind in KINDS.items() if kind.has_tables} | {
    "table": SparkSource,
    "python": JudgeSource,
    "clicks": cast(type[Source], ClicksSource),  # made from `TableSource`, and so no part of `Source` itself
}


@with_keys_of(JUDGMENT_KINDS)
class JudgmentSource(InputSettings):
    """A source of judgments with the numbers of their grades, or a function that judges."""

    main_key = "file"

    version: Mark = key("Name of these judgments, such as a release or a date; changes no result.", None)
    grades: Literal["integer"] | dict[str, float] | None = key(
        "integer: a grade with a fraction is an error; or {WORD: NUMBER, …} of grades that are words;"
        " by default grades are any numbers.",
        None,
    )
    complete: bool | None = key(
        "Unjudged documents are not relevant, by design: one known item a user, clicks, sparse labels.",
        None,
        strict=True,
    )

    @field_validator("grades", mode="before")
    @classmethod
    def _numbers_of_words(cls, value: Any) -> Any:
        """Return grades in words with their numbers as floats; raise ValueError for an invalid word or number."""
        if value in (None, "integer"):
            return value
        if not isinstance(value, dict):
            raise ValueError("must be 'integer', or words and their numbers, as {E: 3, S: 2, C: 1, I: 0}")
        for word, number in value.items():
            if isinstance(word, bool) or not str(word).strip():
                raise ValueError(f"{word}: must be a word: put it in quotes")
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise ValueError(f"{word}: {number!r}: must be a number")
        if not value:
            raise ValueError("names no word")
        return {str(word).strip(): float(number) for word, number in value.items()}

    @model_validator(mode="after")
    def _words_of_tables(self) -> "JudgmentSource":
        if isinstance(self.grades, dict) and self.kind in ("table", "clicks"):
            raise ValueError(f"grades: name the numbers of words, and those of {self.kind} are numbers: take them out")
        return self
