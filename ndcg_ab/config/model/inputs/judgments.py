"""What a configuration says of judgments: a table of them, a function that judges, or clicks."""

import math
from typing import Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from ndcg_ab.config.model.inputs.clicks import ClicksSource
from ndcg_ab.config.model.inputs.sources import (
    KINDS,
    JudgeSource,
    Mark,
    Place,
    Source,
    SparkSource,
)
from ndcg_ab.config.model.keys import with_keys_of

JUDGMENT_KINDS: dict[str, type[Source]] = {key: kind for key, kind in KINDS.items() if kind.has_tables} | {
    "table": SparkSource,
    "python": JudgeSource,
    "clicks": cast(type[Source], ClicksSource),  # made of a table's place, and so no part of `Source` itself
}


@with_keys_of(JUDGMENT_KINDS)
class JudgmentSource(Place):
    """The judgments, and what their grades are; or a function that judges."""

    alone = "file"

    version: Mark = Field(None, description="What these judgments are called: a release, a date; a mark alone.")
    grades: Literal["integer"] | dict[str, float] | None = Field(
        None,
        description="integer: a grade with a fraction is an error; or {WORD: NUMBER, …} of grades that are words;"
        " by default grades are any numbers.",
    )
    complete: bool | None = Field(
        None,
        strict=True,
        description="Unjudged documents are not relevant, by design: one known item a user, clicks, sparse labels.",
    )

    @field_validator("grades", mode="before")
    @classmethod
    def _numbers_of_words(cls, value: Any) -> Any:
        """Whole numbers may be words, too; YAML reads yes and no as truth values."""
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
