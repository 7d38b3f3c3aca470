"""What a configuration says of judgments: a table of them, a function that judges, or clicks."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field, field_validator, model_validator

from ndcg_ab.config.model.inputs.clicks import Clicks, ClicksSource
from ndcg_ab.config.model.inputs.sources import (
    GRADED,
    GRADED_DEPTH,
    KINDS,
    MOST_GRADED_DEPTH,
    MOST_WORKERS,
    TABLE,
    WHERE,
    WORKERS,
    JudgeSource,
    Source,
    TableSource,
    read_source,
)
from ndcg_ab.errors import RuleError, Setting


class JudgmentSource(TableSource):
    """The judgments, and what their grades are; or a function that judges."""

    kinds: ClassVar[dict[str, type[Source]]] = KINDS | {
        "python": JudgeSource,
        "clicks": cast(type[Source], ClicksSource),  # made of a table's place, and so no part of `Source` itself
    }

    version: str | None = Field(None, description="What these judgments are called: a release, a date; a mark alone.")
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
    table: str | None = Field(None, description=TABLE, min_length=1)
    where: str | None = Field(None, description=WHERE)
    python: str | None = Field(None, description="module:function that is given a query and a document, and judges.")
    attributes: list[str] = Field(default_factory=list, description=GRADED)
    depth: int | None = Field(None, description=GRADED_DEPTH, ge=1, le=MOST_GRADED_DEPTH)
    workers: int | None = Field(None, description=WORKERS, ge=1, le=MOST_WORKERS)
    clicks: Annotated[Clicks | None, BeforeValidator(read_source)] = Field(
        None, description="Events of users, of which grades are made: docs/clicks.md."
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


def refuse_judging_function(
    judgments: JudgmentSource | None,
    more: Sequence[JudgmentSource],
    proxy: JudgmentSource | None,
    queries: TableSource | None,
    with_spark: bool,
) -> None:
    """A function judges what the systems return: there is one, it needs texts, and rows that are here."""
    if proxy is not None and proxy.kind == "python":
        raise RuleError(
            Setting("cheap_judgments"), ": a function judges for `judgments` or `more_judgments`: name it there"
        )
    places = [("judgments", judgments), *((f"more_judgments[{at}]", place) for at, place in enumerate(more))]
    keys = [key for key, place in places if place is not None and place.kind == "python"]
    if not keys:
        return
    if len(keys) > 1:
        raise RuleError(
            Setting(keys[1]), f": {keys[0]} names a function that judges, and there can be one: take one out"
        )
    if with_spark:
        raise RuleError(
            Setting(keys[0]), ": a function judges rankings that are here, and Spark's stay there: give files"
        )
    if proxy is not None:
        rule = f": go with judgments of files alone: take it or the python of {keys[0]} out"
        raise RuleError(Setting("cheap_judgments"), rule)
    if queries is None:
        raise RuleError(Setting("queries"), f": missing; the function of {keys[0]} is given their texts")
