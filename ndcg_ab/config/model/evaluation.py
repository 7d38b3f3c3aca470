"""The model of a configuration, which is also the parameter of flows; its paths are relative to its file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ModelWrapValidatorHandler, ValidationError, ValidationInfo, field_validator, model_validator

from ndcg_ab.config.model import operation
from ndcg_ab.config.model.by_metric import FIRST, Margins, Metrics, NamedDifference, Primary, add_own_rule
from ndcg_ab.config.model.consistency import (
    ROLES,
    assign_roles,
    check_consistency,
    missing_inputs,
    refuse_first,
    settings_of_unknown_metrics,
)
from ndcg_ab.config.model.costs import CostSettings, split_guardrails
from ndcg_ab.config.model.inputs import sources
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.keys import DATA, MEASURED, OUTPUT, SEVERAL, Model, Operational, Option, key
from ndcg_ab.config.model.settings import GATE_CONDITIONS, Gate, Slices, Statistics
from ndcg_ab.config.secrets.redaction import remember_plain_secrets
from ndcg_ab.files import resolve_path
from ndcg_ab.finding_codes import check_severities
from ndcg_ab.other_measures import find_measure
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import ExternalMetric
from ndcg_core.measures.score import Range, value_range

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
LONGEST_NAME = 200  # characters; it is a folder's
Name = Annotated[
    str, operation.matching_text(NAME, "must be letters, digits, '.', '_' and '-' only, the first a letter or a digit")
]


class Evaluation(Model):
    """The complete configuration of an evaluation: inputs, metrics, tests, gate and operation.

    Attributes
    ----------
    name : str
        Name of the evaluation, of its folder and of its MLflow experiment.
    judgments : JudgmentSource or None
        Source of the judgments. Required, like `systems`, unless `scores` is given.
    systems : list of System
        The systems with the sources of their rankings.
    scores : list of ScoresSource
        Per-query values that another tool computed, instead of `judgments` and `systems`.
    metrics, primary_metrics, secondary_metrics : list of str
        The metrics and their roles: primary metrics decide, secondary ones describe.
    guardrails : mapping of str to float
        Largest acceptable loss by metric.
    statistics : Statistics
        How differences are tested.
    gate : Gate or None
        The conditions for passing.

    Raises
    ------
    pydantic.ValidationError
        If a key breaks a rule, or keys contradict each other.

    Notes
    -----
    All keys have a description in the JSON Schema that `ndcg-ab help schema` prints (docs/configuration.md). Paths are
    relative to the file of the configuration.

    Examples
    --------
    >>> from ndcg_ab import Evaluation
    >>> systems = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}]
    >>> Evaluation(name="demo", judgments="judgments.qrels", systems=systems).metrics
    ['ndcg@10']
    """

    name: Name = key("Names the evaluation, its folder and its MLflow experiment.", max_length=LONGEST_NAME)
    judgments: Annotated[
        JudgmentSource | None,
        Option(
            *("--judgments", "files", DATA, "FILE", ".file"),
            help="The judgments (qrels), instead of the first argument.",
            also="--qrels",
        ),
        Option("--judgments-format", "forms", DATA, "FORMAT", ".format"),
        Option(
            *("--judgments-columns", "forms", DATA, "FIELD=COLUMN,…", ".columns"),
            read="parse_columns",
            help="Names of columns: query_id=qid,doc_id=url,grade=rating",
        ),
        Option(
            *("--grades", "forms", DATA, "WORD=NUMBER,…", ".grades"),
            read="parse_grades",
            help="Numbers of grades that are words: E=3,S=2,C=1,I=0",
        ),
        Option("--complete-judgments", "compared", DATA, None, ".complete"),
    ] = key("The judgments: a file name, or file, format and columns.", None)
    more_judgments: Annotated[
        list[JudgmentSource],
        SEVERAL,
        Option("--more-judgments", "judges", DATA, "FILE", read="as_list", near=("more_judgments[].file",)),
    ] = key("More judgments, each as `judgments`; they add to and correct earlier ones.", list)
    judgments_precedence: Annotated[
        Literal["last", "first", "highest", "lowest", "together"],
        Option("--judgments-precedence", "judges", DATA, "RULE"),
    ] = key("If files judge the same document: last, first, highest, lowest, together.", "last")
    combine: Annotated[
        Literal["majority", "median", "mean", "highest", "lowest"] | None, Option("--combine", "judges", DATA, "RULE")
    ] = key("If judges disagree: majority, median, mean, highest or lowest.", None)
    cheap_judgments: Annotated[JudgmentSource | None, Option("--cheap-judgments", "compared", DATA, "FILE")] = key(
        "Proxy judgments of more queries: clicks, or a model that saw no human grade.", None
    )
    careful_unseen: Annotated[sources.FileSource | None, Option("--careful-unseen", "compared", DATA, "FILE")] = key(
        "Ids of queries judged after that model was fixed: only these correct it.", None
    )
    queries: Annotated[sources.TableSource | None, Option("--queries", "queries", DATA, "FILE")] = key(
        "The queries: texts, which python and http sources need, attributes and weights.", None
    )
    documents: Annotated[
        Operational[sources.DocumentsSource | None],
        Option("--documents", "documents", DATA, "FILE", ".file"),
        Option("--document-prefix", "rules", DATA, "SIGN", ".prefix"),
        Option("--own", "rules", DATA, "drop", ".own"),
    ] = key("Titles and addresses of documents, for the page; prefix and own: what a document is.", None)
    intended: Annotated[sources.FileSource | None, Option("--intended", "compared", DATA, "FILE")] = key(
        "Ids of the queries that the change was meant for, tested apart: docs/changes.md.", None
    )
    systems: Annotated[
        list[sources.System],
        Option(
            *("--system", "files", DATA, "[NAME=]FILE"),
            read="parse_systems",
            help="A system and its rankings; the first is the baseline.",
            near=("systems[].name",),
            also="--run",
        ),
        Option(
            *("--format", "rankings", DATA, "FORMAT", "[].format"),
            help="Format of every ranking: trec, csv, tsv, jsonl or parquet; by default recognised by the file's name.",
        ),
        Option(
            *("--columns", "rankings", DATA, "FIELD=COLUMN,…", "[].columns"),
            read="parse_columns",
            help="Names of columns of every ranking: query_id=qid,doc_id=url,score=s",
        ),
        Option("--duplicates", "rules", DATA, "first", "[].duplicates"),
    ] = key("The systems compared; the first is the baseline.", list)
    baseline: Annotated[str | None, Option("--baseline", "baseline", DATA, "NAME")] = key(
        "The system that the others are compared with; by default the first.", None
    )
    scores: Annotated[
        list[sources.ScoresSource], SEVERAL, Option("--scores", "compared", DATA, "[NAME=]FILE", read="parse_scores")
    ] = key("Values per query that another tool computed, in the place of judgments and rankings.", list)
    metrics: Annotated[
        Metrics,
        Option(
            *("--metric", "metric", MEASURED, "METRIC"),
            read="parse_metrics",
            help="A metric: the first one decides; by default ndcg@10",
        ),
    ] = key(
        "Metrics, as ndcg@10 or as a mapping with measure and cutoff; the first decides, others describe.",
        ["ndcg@10"],
        min_length=1,
    )
    primary_metrics: Annotated[
        Primary,
        Option(
            *("--primary", "compared", MEASURED, "METRIC"),
            read="parse_primary",
            help="A metric that decides; all: every --metric does.",
        ),
    ] = key("Which metrics decide: a list, first, or all; by default all if other roles are named.", None)
    secondary_metrics: Annotated[
        Metrics, Option("--secondary", "compared", MEASURED, "METRIC", read="parse_metrics")
    ] = key("Exploratory metrics, which do not decide.", list)
    guardrails: Annotated[
        Margins,
        Option(
            *("--guardrail", "compared", MEASURED, "METRIC=D"),
            read="parse_margins",
            help="No candidate may be worse by D on this metric (one-sided).",
            near=("costs.guardrails",),
        ),
    ] = key("METRIC: DIFFERENCE by which no candidate may be worse (one-sided).", dict)
    costs: CostSettings = CostSettings()
    slices: Slices = Slices()
    statistics: Statistics = Statistics()
    checks: list[str] = key("Checks of installed packages that are run, by name.", list)
    findings: Annotated[
        dict[str, Literal["error", "warning", "note", "ignore"]],
        Option(
            *("--finding", "compared", DATA, "CODE=SEVERITY"),
            read="parse_severities",
            help="Severity of a finding: error, warning, note or ignore.",
        ),
    ] = key("CODE: SEVERITY of what the data check notices: error, warning, note, ignore.", dict)
    strict: Annotated[bool, Option("--strict", "compared", DATA)] = key(
        "Warnings are errors, unless `findings` says otherwise.", False, strict=True
    )
    output: Operational[operation.GivenPath] = key(
        "Directory for results, relative to the configuration.", Path("ndcg-ab-results")
    )
    tracker: Operational[operation.TrackerChoice] = key(
        "Where results go for dashboards: mlflow, json_lines, or what an installed package adds.",
        operation.TrackerChoice(),
    )
    mlflow: Operational[operation.Tracking] = operation.Tracking()
    prefect: Operational[operation.Prefect] = operation.Prefect()
    schedule: Operational[operation.Schedule | None] = None
    gate: Annotated[Gate | None, Option("--require", "", OUTPUT, read="parse_gate", near=GATE_CONDITIONS)] = (
        None  # true: no regression and the guardrails; false: none
    )
    retention: Operational[operation.Retention] = operation.Retention()
    resources: Operational[operation.Resources] = operation.Resources()
    engine: Operational[operation.EngineChoice] = operation.EngineChoice()
    directory: Operational[Path] = key("What relative paths start from; set by the file that was read.", Path())

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, content: Any) -> Any:
        remember_plain_secrets(content)
        return split_guardrails(add_own_rule(content)) if isinstance(content, dict) else content

    @model_validator(mode="wrap")
    @classmethod
    def _validate_configuration(cls, value: Any, handler: ModelWrapValidatorHandler["Evaluation"]) -> "Evaluation":
        """Make an evaluation of a configuration; raise ValidationError if a rule is broken or an input is missing.

        Judgments and systems must be given. A configuration with `scores` needs neither, and may name metrics of
        another tool.
        """
        before = sources.READING_SCORES.set(isinstance(value, dict) and bool(value.get("scores")))
        try:
            evaluation = handler(value)
        finally:
            sources.READING_SCORES.reset(before)
        if missing := missing_inputs(evaluation, value):
            raise ValidationError.from_exception_data("Evaluation", missing)
        return evaluation

    @field_validator("findings", mode="before")
    @classmethod
    def _known_codes(cls, value: Any, about: ValidationInfo) -> Any:
        return check_severities(value, about.data.get("checks", ())) if isinstance(value, dict) else value

    @field_validator("gate", mode="before")
    @classmethod
    def _gate_alone(cls, value: Any) -> Any:
        return None if value is False else value

    @model_validator(mode="after")
    def _consistent(self) -> "Evaluation":
        """Sort the metrics by role, primary ones into `metrics`, others into `secondary_metrics`; check all rules."""
        has_roles = not self.scores or self.names_metrics
        if has_roles:
            roles = (self.metrics, self.primary_metrics, self.secondary_metrics, self.guardrails)
            # frozen for everybody else
            self.__dict__.update(assign_roles(*roles, are_named="metrics" in self.model_fields_set))
        check_consistency(self)
        if has_roles:
            self._check_settings_of_metrics()
        return self

    @property
    def names_metrics(self) -> bool:
        """Whether the configuration names metrics, under `metrics` or `primary_metrics`."""
        return "metrics" in self.model_fields_set or isinstance(self.primary_metrics, list)

    def _check_settings_of_metrics(self) -> None:
        """Raise RuleError if a difference or range is given for an unsuitable metric, or a difference is too large.

        A metric is unsuitable if it has no role, or a role for which the key is not meant. A difference must be smaller
        than the range of the metric.
        """
        roles = {key: tuple(getattr(self, key)) for key in ROLES}
        refuse_first(settings_of_unknown_metrics(roles, self.statistics, self.gate))
        for each in self.named_differences():
            each.refuse_if_beyond_range(self.range_of(each.metric))

    def named_differences(self) -> Iterator[NamedDifference]:
        """Yield every margin, smallest effect and threshold that a key gives, in the unit of its metric."""
        effect, gate = self.statistics.smallest_effect, self.gate
        named: list[tuple[str, Any]] = [("guardrails", self.guardrails), ("statistics.smallest_effect", effect)]
        if gate is not None:
            named += [("gate.not_worse", gate.not_worse), ("gate.no_drop", gate.no_drop)]
        for dotted, differences in named:
            if isinstance(differences, dict):
                yield from (NamedDifference(dotted, name, each, by_metric=True) for name, each in differences.items())
            elif isinstance(differences, float):
                names = (*self.metrics, *self.secondary_metrics)
                yield from (NamedDifference(dotted, name, differences) for name in names)
        if gate is not None and gate.slice_regression is not None:
            yield from (NamedDifference("gate.slice_regression", name, gate.slice_regression) for name in self.metrics)

    def range_of(self, name: str, highest_grade: float | None = None, width: float | None = None) -> Range | None:
        """Return the range of a metric's values, or None if it is unknown.

        If a range is known and another one is declared under `statistics.ranges`, the narrower one is returned.

        Parameters
        ----------
        name : str
            Name of the metric.
        highest_grade : float, optional
            Highest grade of all judgments, if they have been read.
        width : float, optional
            Width of the range of the actual values, if known. If it exceeds the range of the metric of ndcg-ab with
            that name, another tool computed the metric in another unit, and only a declared range counts.

        Returns
        -------
        Range or None
            The lowest and the highest possible value.
        """
        metric = self.metric_named(name)
        own = value_range(metric, highest_grade)
        if own is not None and (isinstance(metric, ExternalMetric) if width is None else width > own.width):
            own = None
        declared = self.statistics.ranges.get(name)
        known = [each for each in (own, None if declared is None else Range(*declared)) if each is not None]
        return min(known, key=lambda each: each.width, default=None)

    def smallest_effect(self, metric: str) -> float | None:
        """Return the smallest difference of a metric that matters, in its unit, or None if none is configured.

        The smallest difference of a guardrail is its margin.

        Parameters
        ----------
        metric : str
            Name of the metric.

        Returns
        -------
        float or None
            The smallest difference, > 0, in the unit of the metric.
        """
        if metric in self.guardrails:
            return self.guardrails[metric]
        effects = self.statistics.smallest_effect
        return effects.get(metric) if isinstance(effects, dict) else effects

    @property
    def baseline_name(self) -> str:
        return self.baseline or self.systems[0].name

    @property
    def declares_complete(self) -> bool:
        """Whether the first judgments declare that unjudged documents are not relevant."""
        return self.judgments is not None and bool(self.judgments.complete)

    @property
    def default_secondary_metrics(self) -> list[str]:
        """The secondary metrics if the first metric decides (`primary_metrics` is "first"), else an empty list."""
        return self.secondary_metrics if self.primary_metrics == FIRST else []

    @property
    def deciding_metrics(self) -> list[Metric]:
        return [self.metric_named(name) for name in self.metrics]

    @property
    def metric_list(self) -> list[Metric]:
        """All metrics to compute: primary metrics, secondary metrics, guardrails."""
        return [self.metric_named(name) for name in (*self.metrics, *self.secondary_metrics, *self.guardrails)]

    def metric_named(self, name: str) -> Metric:
        return ExternalMetric(external_name=name) if self.scores else find_measure(name)

    @property
    def judgment_entries(self) -> list[JudgmentSource]:
        """The configured sources of judgments in order, without a judge function."""
        entries = [self.judgments, *self.more_judgments]
        return [entry for entry in entries if entry is not None and entry.kind != "python"]

    @property
    def judge(self) -> sources.JudgeSource | None:
        """The source that names the judge function, or None without a judge function."""
        entries = [self.judgments, *self.more_judgments]
        source = next((entry.source for entry in entries if entry is not None and entry.kind == "python"), None)
        return source if isinstance(source, sources.JudgeSource) else None

    def path(self, path: Path) -> Path:
        return path if path.is_absolute() else self.directory / path

    @property
    def spill_folder(self) -> Path | None:
        return None if self.resources.spill is None else resolve_path(self.path(self.resources.spill))

    @property
    def output_directory(self) -> Path:
        return resolve_path(self.path(self.output))
