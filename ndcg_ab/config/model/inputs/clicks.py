"""Judgments from clicks: where the events are, by which model, and how its values become grades."""

from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from ndcg_ab.config.model.inputs.connections import DescribedPlace
from ndcg_ab.config.model.inputs.sources import TableSource
from ndcg_ab.config.model.keys import Model

FLOOR = 10  # impressions
QUANTILES = (0.25, 0.5, 0.75)
Scale = Literal["value", "quantile", "threshold"]


class ClickGrades(Model):
    """How values become grades 0, 1, 2 …: by quantiles or thresholds; or each value is the grade."""

    quantiles: list[float] | None = Field(
        None, description="Shares of graded documents with lower values, from which on grades are 1, 2, …", min_length=1
    )
    thresholds: list[float] | None = Field(None, description="Values from which on grades are 1, 2, …", min_length=1)
    value: bool = Field(False, strict=True, description="The value is the grade.")

    @model_validator(mode="after")
    def _one_way(self) -> "ClickGrades":
        if [self.quantiles is not None, self.thresholds is not None, self.value].count(True) != 1:
            raise ValueError("needs one of quantiles, thresholds and value: true")
        if any(first >= second for first, second in pairwise(self.cuts)):
            raise ValueError(f"{self.scale}s = {self.cuts}: must rise")
        if self.cuts and (self.cuts[0] <= 0 or (self.scale == "quantile" and self.cuts[-1] >= 1)):
            rule = "must lie between 0 and 1" if self.scale == "quantile" else "must be above 0, which is no click"
            raise ValueError(f"{self.scale}s = {self.cuts}: {rule}")
        return self

    @property
    def scale(self) -> Scale:
        return "value" if self.value else "quantile" if self.quantiles is not None else "threshold"

    @property
    def cuts(self) -> list[float]:
        return list(self.quantiles or self.thresholds or ())


class Clicks(TableSource):
    """Events of users, and how they become grades."""

    contents = "events"

    events: Literal["ubi", "table"] | None = Field(
        None, description="ubi: User Behavior Insights. table: counts. By default told by a file's columns; else ubi."
    )
    model: Literal["position", "rate", "opensearch"] = Field(
        "position", description="How clicks become values: docs/clicks.md."
    )
    actions: list[str] | None = Field(
        None, description="Actions of UBI that count as clicks, such as purchase; by default click, click_through."
    )
    floor: int | None = Field(
        None, description="Impressions that a document needs for a grade; by default 10, of opensearch 0.", ge=0
    )
    grades: ClickGrades | None = Field(
        None, description="{quantiles: […]}, {thresholds: […]} or {value: true}; by default quarters, or that model's."
    )

    @property
    def least(self) -> int:
        """The floor that holds."""
        usual = 0 if self.model == "opensearch" else FLOOR
        return usual if self.floor is None else self.floor

    @property
    def scale(self) -> tuple[Scale, tuple[float, ...]]:
        """How values become grades, and the cuts."""
        if self.grades is not None:
            return self.grades.scale, tuple(self.grades.cuts)
        return ("value", ()) if self.model == "opensearch" else ("quantile", QUANTILES)

    @property
    def definition(self) -> str:
        """What the grades are, in words: a part of their place's name wherever it is shown."""
        scale, cuts = self.scale
        grades = "the value" if scale == "value" else f"by {scale}s {', '.join(f'{cut:g}' for cut in cuts)}"
        counted = f" ({', '.join(self.actions)})" if self.actions else ""
        return f"clicks{counted}, model {self.model}, at least {self.least} impressions, grades {grades}"


class ClicksSource(DescribedPlace):
    """Events of users, of which grades are made; texts of the queries say which query an event belongs to."""

    clicks: Clicks = Field(description="Events of users, of which grades are made: docs/clicks.md.")

    @property
    def shown(self) -> str:
        return f"{self.clicks.source.shown} (clicks, {self.clicks.model})"

    @property
    def origin(self) -> str:
        return f"{self.clicks.source.origin} ({self.clicks.definition})"
