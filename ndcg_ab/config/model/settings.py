"""The settings for tests and conditions: statistics, slices and gate."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ndcg_ab.config.model.by_metric import Margins, Ranges, read_margin, read_margins
from ndcg_ab.config.model.keys import MEASURED, TESTED, Model, Option
from ndcg_ab.errors import RuleError, Setting
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED


class Statistics(Model):
    """The settings for testing differences: level, resampling, weights, clusters and smallest effects."""

    alpha: Annotated[float, Option("--alpha", "tests", TESTED, "A", read="parse_number")] = Field(
        0.05, strict=True, ge=1e-9, lt=0.5, description="Threshold of the adjusted p-value."
    )
    resamples: Annotated[int, Option("--resamples", "tests", TESTED, "N")] = Field(
        DEFAULT_RESAMPLES, strict=True, ge=100, le=10_000_000, description="Sign flips, and most bootstrap resamples."
    )
    seed: Annotated[int, Option("--seed", "tests", TESTED, "N")] = Field(
        DEFAULT_SEED, strict=True, ge=0, lt=2**63, description="Seed of the flips; kept with the results."
    )
    smallest_effect: Annotated[
        dict[str, float] | float | None,
        Option(
            *("--smallest-effect", "effects", MEASURED, "[METRIC=]D"),
            read="parse_smallest_effect",
            help="The smallest difference that matters, for all metrics or for one.",
        ),
    ] = Field(None, description="The smallest difference that matters, for every metric or as METRIC: DIFFERENCE.")
    weighted: Annotated[
        bool | None,
        Option("--unweighted", "weights", TESTED, read="negate", help="Ignore the queries' weights."),
    ] = Field(None, strict=True, description="Weigh queries; by default if the queries have weights.")
    clustered: Annotated[
        bool | None,
        Option("--unclustered", "compared", TESTED, read="negate", help="Ignore the queries' clusters."),
    ] = Field(
        None,
        strict=True,
        description="Test clusters as units; by default if the queries have clusters.",
    )
    cluster_prefix: Annotated[str | None, Option("--cluster-prefix", "clusters", TESTED, "TEXT")] = Field(
        None,
        min_length=1,
        description="Ids that agree up to the last of this text make a cluster: _ for 106_1.",
    )
    ranges: Ranges = Field(
        default_factory=dict,
        description="METRIC: [LOW, HIGH] that its values lie in, for guardrails; known of ours within [0, 1].",
    )
    all_pairs: Annotated[bool, Option("--all-pairs", "compared", MEASURED)] = Field(
        False, strict=True, description="Compare every two systems too, as a family of its own."
    )
    bounds: Annotated[bool, Option("--bounds", "compared", TESTED, also="--bounds/--no-bounds")] = Field(
        True,
        strict=True,
        description="Show the lowest and highest difference over all grades of unjudged results; decides nothing.",
    )
    label_factor: Annotated[float, Option("--label-factor", "compared", TESTED, "F")] = Field(
        1.2,
        strict=True,
        ge=1,
        le=5,
        description="How much better or worse than judged results unjudged ones may be without turning a decision.",
    )

    @model_validator(mode="after")
    def _alpha_can_be_reached(self) -> "Statistics":
        if 1 / (self.resamples + 1) > self.alpha:
            raise RuleError(
                Setting("statistics.resamples"),
                f" = {self.resamples}: p cannot fall to alpha = {self.alpha:g};"
                f" {math.ceil(1 / self.alpha)} or more are needed",
            )
        return self

    @model_validator(mode="after")
    def _one_kind_of_cluster(self) -> "Statistics":
        if self.cluster_prefix is not None and self.clustered is False:
            raise ValueError(
                "cluster_prefix names clusters, and clustered = false ignores them: take one of the two out"
            )
        return self

    @field_validator("smallest_effect", mode="before")
    @classmethod
    def _canonical_effects(cls, value: Any) -> Any:
        return read_margins(value) if isinstance(value, dict) else None if value is None else read_margin(value)


class Slices(Model):
    """The attributes by which queries are sliced, and the number of queries from which a slice is tested."""

    by: Annotated[
        list[str],
        Option("--slice", "slices", MEASURED, "ATTRIBUTE", argument="slices", read="as_list"),
    ] = Field(default_factory=list, description="Attributes that are compared on their own: columns of the queries.")
    smallest: Annotated[int, Option("--smallest-slice", "compared", MEASURED, "N")] = Field(
        25, strict=True, ge=6, description="A slice of fewer queries is shown, but not tested."
    )

    @field_validator("by")
    @classmethod
    def _attributes(cls, value: list[str]) -> list[str]:
        for name in value:
            if name in ("query_id", "text", "weight", "cluster"):
                raise ValueError(f"{name!r} is no attribute to slice by")
            if value.count(name) > 1:
                raise ValueError(f"{name!r} is named twice")
        return value


GATE_NUMBERS = ("scored", "judged", "unanswered", "slice_regression")  # conditions that are one number
GATE_CONDITIONS = tuple(f"gate.{key}" for key in (*GATE_NUMBERS, "not_worse"))


class Gate(Model):
    """The conditions for an evaluation to pass. If one fails, the exit code is 1 and the flow run fails."""

    short_form = bool

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Return an empty mapping for `true`, which stands for the default conditions.

        Any other value is returned unchanged.
        """
        return {} if value is True else value

    no_regression: bool = Field(True, strict=True, description="No candidate regressed on a primary metric.")
    guardrails: bool = Field(
        True, strict=True, description="No guardrail is shown to be worse, and no estimate is beyond its margin."
    )
    not_worse: Margins = Field(
        default_factory=dict, description="METRIC: DIFFERENCE by which no candidate may be worse, as a guardrail."
    )
    proof: bool = Field(
        False, strict=True, description="Guardrails and not_worse must be shown to hold: open ones fail, too."
    )
    no_drop: bool | Literal["any"] | dict[str, float] = Field(
        False,
        description="No ranking got worse since the previous evaluation, by what may matter; any: by however little; or"
        " METRIC: DIFFERENCE, by more.",
    )
    scored: float = Field(
        0.5, gt=0, le=1, description="Least share of the judged queries that a primary metric scores."
    )
    judged: float | None = Field(None, gt=0, le=1, description="Least share of judged results of every system.")
    slice_regression: float | None = Field(None, ge=0, description="No slice regressed by more than this difference.")
    unanswered: int | None = Field(
        None, strict=True, ge=0, description="Most queries that a system may leave unanswered."
    )

    @field_validator("no_drop", mode="before")
    @classmethod
    def _known_drops(cls, value: Any) -> Any:
        if isinstance(value, bool | dict) or value == "any":
            return read_margins(value)
        raise ValueError("must be true, false, any, or METRIC: DIFFERENCE")
