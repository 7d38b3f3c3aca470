"""The settings for tests and conditions: statistics, slices and gate."""

import math
from typing import Annotated, Any, Literal

from pydantic import field_validator, model_validator

from ndcg_ab.config.model.by_metric import Margins, Ranges, read_margin, read_margins
from ndcg_ab.config.model.keys import MEASURED, TESTED, Model, Option, key
from ndcg_ab.errors import RuleError, Setting
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED


class Statistics(Model):
    """The settings for testing differences: level, resampling, weights, clusters and smallest effects."""

    alpha: Annotated[float, Option("--alpha", "tests", TESTED, "A", read="parse_number")] = key(
        "Threshold of the adjusted p-value.", 0.05, strict=True, ge=1e-9, lt=0.5
    )
    resamples: Annotated[int, Option("--resamples", "tests", TESTED, "N")] = key(
        "Sign flips, and most bootstrap resamples.", DEFAULT_RESAMPLES, strict=True, ge=100, le=10_000_000
    )
    seed: Annotated[int, Option("--seed", "tests", TESTED, "N")] = key(
        "Seed of the flips; kept with the results.", DEFAULT_SEED, strict=True, ge=0, lt=2**63
    )
    smallest_effect: Annotated[
        dict[str, float] | float | None,
        Option(
            *("--smallest-effect", "effects", MEASURED, "[METRIC=]D"),
            read="parse_smallest_effect",
            help="The smallest difference that matters, for all metrics or for one.",
        ),
    ] = key("The smallest difference that matters, for every metric or as METRIC: DIFFERENCE.", None)
    weighted: Annotated[
        bool | None,
        Option("--unweighted", "weights", TESTED, read="negate", help="Ignore the queries' weights."),
    ] = key("Weigh queries; by default if the queries have weights.", None, strict=True)
    clustered: Annotated[
        bool | None,
        Option("--unclustered", "compared", TESTED, read="negate", help="Ignore the queries' clusters."),
    ] = key("Test clusters as units; by default if the queries have clusters.", None, strict=True)
    cluster_prefix: Annotated[str | None, Option("--cluster-prefix", "clusters", TESTED, "TEXT")] = key(
        "Ids that agree up to the last of this text make a cluster: _ for 106_1.", None, min_length=1
    )
    ranges: Ranges = key(
        "METRIC: [LOW, HIGH] that its values lie in, for guardrails; known of ours within [0, 1].", dict
    )
    all_pairs: Annotated[bool, Option("--all-pairs", "compared", MEASURED)] = key(
        "Compare every two systems too, as a family of its own.", False, strict=True
    )
    bounds: Annotated[bool, Option("--bounds", "compared", TESTED, also="--bounds/--no-bounds")] = key(
        "Show the lowest and highest difference over all grades of unjudged results; decides nothing.",
        True,
        strict=True,
    )
    label_factor: Annotated[float, Option("--label-factor", "compared", TESTED, "F")] = key(
        "How much better or worse than judged results unjudged ones may be without turning a decision.",
        1.2,
        strict=True,
        ge=1,
        le=5,
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
    ] = key("Attributes that are compared on their own: columns of the queries.", list)
    smallest: Annotated[int, Option("--smallest-slice", "compared", MEASURED, "N")] = key(
        "A slice of fewer queries is shown, but not tested.", 25, strict=True, ge=6
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

    no_regression: bool = key("No candidate regressed on a primary metric.", True, strict=True)
    guardrails: bool = key(
        "No guardrail is shown to be worse, and no estimate is beyond its margin.", True, strict=True
    )
    not_worse: Margins = key("METRIC: DIFFERENCE by which no candidate may be worse, as a guardrail.", dict)
    proof: bool = key("Guardrails and not_worse must be shown to hold: open ones fail, too.", False, strict=True)
    no_drop: bool | Literal["any"] | dict[str, float] = key(
        "No ranking got worse since the previous evaluation, by what may matter; any: by however little; or"
        " METRIC: DIFFERENCE, by more.",
        False,
    )
    scored: float = key("Least share of the judged queries that a primary metric scores.", 0.5, gt=0, le=1)
    judged: float | None = key("Least share of judged results of every system.", None, gt=0, le=1)
    slice_regression: float | None = key("No slice regressed by more than this difference.", None, ge=0)
    unanswered: int | None = key("Most queries that a system may leave unanswered.", None, strict=True, ge=0)

    @field_validator("no_drop", mode="before")
    @classmethod
    def _known_drops(cls, value: Any) -> Any:
        if isinstance(value, bool | dict) or value == "any":
            return read_margins(value)
        raise ValueError("must be true, false, any, or METRIC: DIFFERENCE")
