"""The configuration: one model for file, flow parameter and Prefect's form; its paths start from the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from ndcg_ab.config.loading.hints import closest_hint
from ndcg_ab.config.model import roles as metric_roles
from ndcg_ab.config.model.by_metric import Margins, Metrics, drop_own
from ndcg_ab.config.model.costs import Costs, split_guardrails
from ndcg_ab.config.model.inputs.external_scores import ScoresSource
from ndcg_ab.config.model.inputs.judgments import JudgmentSource, refuse_judging_function
from ndcg_ab.config.model.inputs.sources import (
    READING_SCORES,
    DocumentsSource,
    FileSource,
    JudgeSource,
    Source,
    System,
    TableSource,
)
from ndcg_ab.config.model.keys import SEVERAL, Model, Operational
from ndcg_ab.config.model.operation import (
    EngineChoice,
    GivenPath,
    Prefect,
    Resources,
    Retention,
    Schedule,
    TrackerChoice,
    Tracking,
    matching_text,
)
from ndcg_ab.config.model.settings import Gate, Slices, Statistics
from ndcg_ab.config.model.units import NamedDifference
from ndcg_ab.config.secrets.redaction import remember_plain_secrets
from ndcg_ab.errors import RuleError, Setting
from ndcg_ab.files import resolved
from ndcg_ab.finding_codes import checked_severities
from ndcg_ab.other_measures import named
from ndcg_core.measures.external_metric import GivenMetric
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.ranges import Range, value_range

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
LONGEST_NAME = 200  # characters; it is a folder's
SCORES = Setting("scores")
Name = Annotated[
    str, matching_text(NAME, "must be letters, digits, '.', '_' and '-' only, the first a letter or a digit")
]


class Evaluation(Model):
    """One question: which of these systems ranks better, by these judgments and metrics?"""

    name: Name = Field(
        description="Names the evaluation, its folder and its MLflow experiment.", max_length=LONGEST_NAME
    )
    judgments: JudgmentSource | None = Field(
        None, description="The judgments: a file name, or file, format and columns."
    )
    cheap_judgments: JudgmentSource | None = Field(
        None, description="Proxy judgments (a model's, clicks) of those queries and of more: docs/statistics.md."
    )
    careful_unseen: FileSource | None = Field(
        None, description="Ids of the queries judged after the judge of cheap_judgments was fixed: docs/statistics.md."
    )
    more_judgments: Annotated[list[JudgmentSource], SEVERAL] = Field(
        default_factory=list,
        description="More files of judgments, each as `judgments`; later ones correct earlier ones.",
    )
    judgments_precedence: Literal["last", "first", "highest", "lowest", "together"] = Field(
        "last", description="Which grade counts where several files judge a document; together: as several judges do."
    )
    combine: Literal["majority", "median", "mean", "highest", "lowest"] | None = Field(
        None, description="The grade of a document that several judges judge; must be named where they disagree."
    )
    queries: TableSource | None = Field(None, description="The queries' texts; python and http sources need them.")
    documents: Operational[DocumentsSource | None] = Field(
        None, description="Titles and addresses of documents, for the page; prefix and own: what a document is."
    )
    intended: FileSource | None = Field(
        None, description="Ids of the queries that the change was meant for, tested apart: docs/changes.md."
    )
    systems: list[System] = Field(default_factory=list, description="The systems compared; the first is the baseline.")
    baseline: str | None = Field(None, description="The system that the others are compared with.")
    scores: Annotated[list[ScoresSource], SEVERAL] = Field(
        default_factory=list,
        description="Values per query that another tool computed, in the place of judgments and rankings.",
    )
    metrics: Metrics = Field(
        default=["ndcg@10"],
        min_length=1,
        description="Metrics, as ndcg@10 or as a mapping with measure and cutoff; the first decides, others describe.",
    )
    primary_metrics: metric_roles.Primary = Field(
        None, description="Which metrics decide: a list, first, or all; by default all where other roles are named."
    )
    secondary_metrics: Metrics = Field(
        default_factory=list, description="Metrics of a second, exploratory family of comparisons."
    )
    guardrails: Margins = Field(
        default_factory=dict, description="METRIC: DIFFERENCE by which no candidate may be worse (one-sided)."
    )
    costs: Costs = Costs()
    slices: Slices = Slices()
    statistics: Statistics = Statistics()
    checks: list[str] = Field(default_factory=list, description="Checks of installed packages that are run, by name.")
    findings: dict[str, Literal["error", "warning", "note", "ignore"]] = Field(
        default_factory=dict, description="CODE: SEVERITY of what the data check notices: error, warning, note, ignore."
    )
    strict: bool = Field(False, strict=True, description="Warnings are errors, unless `findings` says otherwise.")
    output: Operational[GivenPath] = Field(
        Path("ndcg-ab-results"), description="Directory for results, relative to the configuration."
    )
    tracker: Operational[TrackerChoice] = Field(
        TrackerChoice(),
        description="Where results go for dashboards: mlflow, json_lines, or what an installed package adds.",
    )
    mlflow: Operational[Tracking] = Tracking()
    prefect: Operational[Prefect] = Prefect()
    schedule: Operational[Schedule | None] = None
    gate: Gate | None = None  # true: no regression and the guardrails; false: none
    retention: Operational[Retention] = Retention()
    resources: Operational[Resources] = Resources()
    engine: Operational[EngineChoice] = EngineChoice()
    directory: Operational[Path] = Field(
        Path(), description="What relative paths start from; set by the file that was read."
    )

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, content: Any) -> Any:
        remember_plain_secrets(content)
        return split_guardrails(drop_own(content)) if isinstance(content, dict) else content

    @model_validator(mode="wrap")
    @classmethod
    def _knows_what_it_reads(cls, value: Any, handler: ModelWrapValidatorHandler["Evaluation"]) -> "Evaluation":
        """With scores the names of metrics are those of another tool, wherever they stand."""
        before = READING_SCORES.set(isinstance(value, dict) and bool(value.get("scores")))
        try:
            found = handler(value)
        finally:
            READING_SCORES.reset(before)
        if missing := found.missing_places(value):
            raise ValidationError.from_exception_data("Evaluation", missing)
        return found

    @field_validator("findings", mode="before")
    @classmethod
    def _known_codes(cls, value: Any, about: ValidationInfo) -> Any:
        return checked_severities(value, about.data.get("checks", ())) if isinstance(value, dict) else value

    @field_validator("gate", mode="before")
    @classmethod
    def _gate_alone(cls, value: Any) -> Any:
        return None if value is False else value

    @model_validator(mode="after")
    def _settle_roles(self) -> "Evaluation":
        """From here on `metrics` are those that decide, and `secondary_metrics` all that describe."""
        if not self.scores or self.names_metrics:
            given = (self.metrics, self.primary_metrics, self.secondary_metrics, self.guardrails)
            settled = metric_roles.settle_roles(*given, are_named="metrics" in self.model_fields_set)
            self.__dict__.update(settled._asdict())  # frozen for everybody else
        return self

    @model_validator(mode="after")
    def _consistent(self) -> "Evaluation":
        self._check_places()
        self._check_tables()
        refuse_judging_function(
            self.judgments, self.more_judgments, self.cheap_judgments, self.queries, self.engine.spark is not None
        )
        names = [system.name for system in self.systems]
        is_open = any(system.stands_for_many for system in self.systems)
        for name in names:
            if names.count(name) > 1 and not is_open:
                raise RuleError(Setting("systems"), f": the name {name!r} is given twice; every system needs its own")
        if self.baseline is not None and names and self.baseline not in names and not is_open:
            hint = closest_hint(self.baseline, names)
            rule = f" = {self.baseline!r}: must be one of the systems ({', '.join(names)}){hint}"
            raise RuleError(Setting("baseline"), rule)
        if not self.scores or self.names_metrics:
            self._check_metrics()
        if self.queries is None and (self.slices.by or self.statistics.weighted):
            key = "slices.by" if self.slices.by else "statistics.weighted"
            raise RuleError(
                Setting("queries"), ": missing; ", Setting(key), " needs a file of queries with the columns it names"
            )
        if self.gate is not None and self.gate.slice_regression is not None and not self.slices.by:
            raise RuleError(
                Setting("gate.slice_regression"),
                ": there are no slices to look at; name attributes with `",
                Setting("slices.by"),
                "`",
            )
        if self.queries is None and not self.scores:
            for system in self.systems:
                if system.source.needs_queries:
                    raise RuleError(
                        Setting("queries"),
                        f": missing; system {system.name!r} is a {system.kind} source and needs them",
                    )
        return self

    def missing_places(self, value: Any) -> list[InitErrorDetails]:
        """Judgments and systems that are not given, and must be where there are no scores."""
        if self.scores:
            return []
        keys = [key for key in ("judgments", "systems") if not getattr(self, key)]
        lacking = [InitErrorDetails(type="missing", loc=(key,), input=value) for key in keys]
        if "systems" in keys and "systems" in self.model_fields_set:
            length = {"field_type": "List", "min_length": 1, "actual_length": 0}
            lacking[-1] = InitErrorDetails(type="too_short", loc=("systems",), input=[], ctx=length)
        return lacking

    def _check_tables(self) -> None:
        """Tables of Spark are read by Spark."""
        given = [("judgments", self.judgments)] if self.judgments else []
        given += [(f"more_judgments[{at}]", place) for at, place in enumerate(self.more_judgments)]
        if self.cheap_judgments:
            given.append(("cheap_judgments", self.cheap_judgments))
        for key, place in [*given, *((f"system {system.name!r}", system) for system in self.systems)]:
            if isinstance(place, System) and self.scores:
                continue
            place.read_by(self.engine.spark)
            if place.kind == "table" and self.engine.spark is None:
                raise RuleError(
                    Setting(key), ": table is read by Spark, and there is none: say where, with engine: {spark: …}"
                )
        if self.more_judgments and any(place.kind == "table" for key, place in given if "judgments" in key):
            raise RuleError(
                Setting("more_judgments"),
                ": are put together on this machine, and rows of a `table` stay with Spark: give files",
            )
        for name in (*self.metrics, *self.secondary_metrics, *self.guardrails) if self.engine.spark else ():
            if not self.scores and isinstance(named(name), GivenMetric):
                raise ValueError(f"engine.spark: the rankings stay there, and {name} is computed here: leave it out")
        if self.careful_unseen is not None and self.cheap_judgments is None:
            raise RuleError(Setting("careful_unseen"), ": goes with `", Setting("cheap_judgments"), "`: give them, too")
        if self.cheap_judgments is not None and self.engine.spark is not None:
            raise ValueError("cheap_judgments: are not scored by Spark: take them or engine.spark out")
        if self.scores and self.engine.spark is not None:
            raise RuleError(
                "engine.spark: makes scores from rankings, and `", SCORES, "` hold none: take one of the two out"
            )

    def _check_places(self) -> None:
        """Rankings are scored by judgments, and scores need neither."""
        if not self.scores:
            return
        for key in ("judgments", "more_judgments", "cheap_judgments", "documents", "costs"):
            if getattr(self, key):
                raise RuleError(
                    Setting(key), ": goes with rankings, and `", SCORES, "` hold none: take one of the two out"
                )
        for key in ("judged", "unanswered"):
            if self.gate is not None and getattr(self.gate, key) is not None:
                raise RuleError(
                    Setting(f"gate.{key}"), ": is not known of scores that another tool computed; take it out"
                )

    @property
    def names_metrics(self) -> bool:
        """Whether the primary metrics are named; of scores they need not be, where there is one metric alone."""
        return "metrics" in self.model_fields_set or isinstance(self.primary_metrics, list)

    def _check_metrics(self) -> None:
        """A metric has one role, and a difference that matters belongs to a metric that is tested both ways."""
        roles = {key: tuple(getattr(self, key)) for key in metric_roles.ROLES}
        metric_roles.refuse_unknown_metrics(roles, self.statistics, self.gate)
        for each in self.named_differences():
            each.refuse_out_of(self.range_of(each.metric))

    def named_differences(self) -> Iterator[NamedDifference]:
        """Every margin, smallest effect and threshold that a key names, in the unit of its metric."""
        for name, margin in self.guardrails.items():
            yield NamedDifference("guardrails", name, margin, by_metric=True)
        effect = self.statistics.smallest_effect
        if isinstance(effect, dict):
            for name, least in effect.items():
                yield NamedDifference("statistics.smallest_effect", name, least, by_metric=True)
        elif effect is not None:
            for name in (*self.metrics, *self.secondary_metrics):
                yield NamedDifference("statistics.smallest_effect", name, effect)
        if self.gate is None:
            return
        for name, margin in self.gate.not_worse.items():
            yield NamedDifference("gate.not_worse", name, margin, by_metric=True)
        for name, drop in self.gate.no_drop.items() if isinstance(self.gate.no_drop, dict) else ():
            yield NamedDifference("gate.no_drop", name, drop, by_metric=True)
        for name in self.metrics if self.gate.slice_regression is not None else ():
            yield NamedDifference("gate.slice_regression", name, self.gate.slice_regression or 0.0)

    def range_of(self, name: str, highest_grade: float | None = None, seen: float | None = None) -> Range | None:
        """Where the values of a metric lie, as far as that is known or declared (`statistics.ranges`).

        highest_grade: of all judgments, once they are read. seen: how far values lie apart, once they are there: those
        of another tool may have another unit than ours of that name, and are known by it.
        """
        metric = self.metric_named(name)
        own = value_range(metric, highest_grade)
        if own is not None and (isinstance(metric, GivenMetric) if seen is None else seen > own.width):
            own = None
        declared = self.statistics.ranges.get(name)
        known = [each for each in (own, None if declared is None else Range(*declared)) if each is not None]
        return min(known, key=lambda each: each.width, default=None)

    def smallest_effect(self, metric: str) -> float | None:
        """The smallest difference of a metric that matters, in its unit; of a guardrail its margin."""
        if metric in self.guardrails:
            return self.guardrails[metric]
        given = self.statistics.smallest_effect
        return given.get(metric) if isinstance(given, dict) else given

    @property
    def baseline_name(self) -> str:
        return self.baseline or self.systems[0].name

    @property
    def declares_complete(self) -> bool:
        """Whether unjudged results are declared not to be relevant, by the first judgments of the evaluation."""
        return self.judgments is not None and bool(self.judgments.complete)

    @property
    def described_by_default(self) -> list[str]:
        """The metrics that only describe since nobody said which ones decide."""
        return self.secondary_metrics if self.primary_metrics == metric_roles.FIRST else []

    @property
    def deciding_metrics(self) -> list[Metric]:
        return [self.metric_named(name) for name in self.metrics]

    @property
    def metric_list(self) -> list[Metric]:
        """Every metric to score: the primary ones, the secondary ones, the guardrails."""
        return [self.metric_named(name) for name in (*self.metrics, *self.secondary_metrics, *self.guardrails)]

    def metric_named(self, name: str) -> Metric:
        return GivenMetric(given=name) if self.scores else named(name)

    @property
    def judgments_source(self) -> Source:
        """Where the judgments are; for an evaluation of rankings."""
        assert self.judgments is not None
        return self.judgments.source

    @property
    def judgment_places(self) -> list[JudgmentSource]:
        """Every place that judgments are pulled from, in their order; a function that judges is none."""
        places = [self.judgments, *self.more_judgments]
        return [place for place in places if place is not None and place.kind != "python"]

    @property
    def judgment_sources(self) -> list[Source]:
        return [place.source for place in self.judgment_places]

    @property
    def judge_place(self) -> JudgmentSource | None:
        """The function that judges what the systems return; None where none does."""
        places = [self.judgments, *self.more_judgments]
        return next((place for place in places if place is not None and place.kind == "python"), None)

    @property
    def judge(self) -> JudgeSource | None:
        """The same as a source."""
        source = self.judge_place.source if self.judge_place else None
        return source if isinstance(source, JudgeSource) else None

    def path(self, given: Path) -> Path:
        return given if given.is_absolute() else self.directory / given

    @property
    def spill_folder(self) -> Path | None:
        return None if self.resources.spill is None else resolved(self.path(self.resources.spill))

    @property
    def output_directory(self) -> Path:
        return resolved(self.path(self.output))
