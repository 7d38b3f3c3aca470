"""Define `assert_not_worse`, which fails a test if a ranking got worse, and names the queries that lost most."""

import inspect
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ndcg_ab.api.arguments import Data, as_configured
from ndcg_ab.api.comparing import compare
from ndcg_ab.api.results import CompareResult
from ndcg_ab.config.loading.hints import closest_hint
from ndcg_ab.config.model.by_metric import ALL
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.results.decisions import NO_REGRESSION, measured_state
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, queries_text
from ndcg_ab.visible import visible
from ndcg_core.measures.external_metric import canonical_name
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import translate
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import format_distinct_effect

LARGE = "large_difference"  # the finding about a margin that next to nothing fails
LOST = 10  # queries that a failure names
BASELINE, CANDIDATE = "baseline", "candidate"
UNDECIDED: list[str] = []  # what the comparisons that passed leave open; pytest's summary takes it from here
Margin = float | Mapping[Any, float]


def assert_not_worse(
    judgments: Data,
    baseline: Data,
    candidate: Data,
    *,
    metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
    margin: Margin | None = None,
    gate: Mapping[str, Any] | None = None,
    **options: Any,
) -> CompareResult:
    """Fail if a candidate ranking is worse than a baseline, else return the comparison.

    A "dataset" is a path, a table with the Arrow PyCapsule interface (pandas, polars, pyarrow, DuckDB), or nested
    dictionaries or lists as in docs/python.md.

    Parameters
    ----------
    judgments : dataset
        Grades by query and document.
    baseline : dataset
        Ranking of the accepted version.
    candidate : dataset
        Ranking of the new version.
    metrics : str, Metric, or sequence of them, default ("ndcg@10",)
        Metrics that must not be worse, unless `primary_metrics` or `secondary_metrics` among the options assign roles.
    margin : float, or mapping of metric to float, optional
        None: the test fails if a regression is shown on a metric. A number > 0, in the unit of the metric: the test
        fails unless it is shown for every metric that the candidate is not worse by that much; smaller regressions
        pass. A mapping gives such margins for single metrics.
    gate : mapping, optional
        Further conditions, as under `gate:` in a configuration (docs/gates.md).
    **options
        Further arguments of `ndcg_ab.compare`. Guardrails must be shown to hold.

    Returns
    -------
    CompareResult
        The comparison, if the test passes.

    Raises
    ------
    AssertionError
        If the candidate is worse; the message has the answer and the queries that lost most.
    InputError
        If an argument or the data are invalid.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
    """
    __tracebackhide__ = True
    refuse_unknown_arguments(options)
    systems = {BASELINE: baseline, CANDIDATE: candidate}
    return compare_with_gate(judgments, systems, {"metrics": metrics, "margin": margin, "gate": gate, **options})


def refuse_unknown_arguments(options: Mapping[str, Any]) -> None:
    """Raise TypeError for an argument that `compare` lacks, and InputError if the argument `scores` is given."""
    __tracebackhide__ = True
    if options.get("scores") is not None:
        raise InputError(
            "scores: assert_not_worse needs judgments and rankings, which scores of another tool do not hold; compare"
            " them with ndcg_ab.compare(scores=..., gate=True), and look at its gates"
        )
    names = list(inspect.signature(compare).parameters)
    for name in options:
        if name not in names:
            raise TypeError(
                f"assert_not_worse() got an unexpected keyword argument {name!r}{closest_hint(name, names)}"
            )


def compare_with_gate(judgments: Data, systems: Mapping[str, Data], options: Mapping[str, Any]) -> CompareResult:
    """Compare a baseline and a candidate; raise AssertionError if the comparison fails a condition of the gate.

    systems: {"baseline" or the name of a stored baseline: ranking, "candidate": ranking}. options: the arguments of
    `assert_not_worse`. An InputError is raised without the frames of this package, so that pytest shows the line of the
    test. Sentences about metrics that stay undecided are added to `UNDECIDED`.
    """
    __tracebackhide__ = True
    try:
        result = compare(judgments, systems, **compare_arguments(options))
    except InputError as error:
        raise error.with_traceback(None) from error.__cause__
    for finding in result.findings:
        if finding.code == LARGE:
            warnings.warn(finding.message, stacklevel=3)
    if failed := [f"{gate.name}: {gate.message}" for gate in result.gates if not gate.passed]:
        raise AssertionError(visible("\n".join(["; ".join(failed), *format_failure(result)])))
    UNDECIDED.extend(map(visible, format_undecided(result)))
    return result


def format_undecided(result: CompareResult) -> Iterator[str]:
    """Yield a sentence for each metric on which the comparison passed undecided.

    A sentence is such as ``ndcg@5 undecided (-0.0310): 20 queries find only …``. Metrics with a margin are left out,
    because a margin must be proven. Metrics on which the queries would have detected the smallest effect are left out,
    too.
    """
    proven = {row.metric for row in result.comparisons if row.family in (GUARDRAILS, GATE)}
    is_asked = any(gate.name == NO_REGRESSION for gate in result.gates)
    for row in result.comparisons if is_asked else ():
        if row.family != PRIMARY or not measured_state(row).is_undecided or row.metric in proven:
            continue
        if row.mde is None:
            yield f"{row.metric} {row.verdict}"
        elif row.smallest_effect is None or row.mde > row.smallest_effect:
            is_possible = row.largest_loss is None or row.mde <= row.largest_loss
            least = f"find only differences of {format_distinct_effect(row.mde)} or more"
            least = least if is_possible else "can find no difference"
            yield f"{row.metric} undecided ({signed(row.difference)}): {queries_text(row.queries)} {least}"


def compare_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for `compare`, made from the arguments of `assert_not_worse`.

    Margins and conditions become the argument `gate`. Raises InputError for a gate or margin that is not allowed.
    """
    arguments = {name: value for name, value in options.items() if name != "margin"}
    metrics = [canonical_metric_name(name) for name in as_configured("metrics", options["metrics"])]
    margins = parse_margins(options["margin"], metrics)
    gate = options["gate"]
    if gate is not None and not isinstance(gate, Mapping):
        raise InputError(f"gate = {format_value(gate)}: must be a mapping, such as {{'judged': 0.8}}")
    if margins and gate and "not_worse" in gate:
        raise InputError("margin and gate['not_worse']: both say by how much the candidate may be worse; give one")
    conditions: dict[str, Any] = {"no_regression": not set(metrics) <= set(margins)}
    if margins or options.get("guardrails"):
        conditions |= {"proof": True, "not_worse": margins}
    roles = {} if options.get("primary_metrics") or options.get("secondary_metrics") else {"primary_metrics": ALL}
    return arguments | roles | {"gate": conditions | dict(gate or {})}


def parse_margins(margin: Margin | None, metrics: Sequence[str]) -> dict[str, float]:
    """Return the margin of each metric, or an empty mapping if `margin` is None.

    A single number is the margin of all `metrics`. Raises InputError if a margin is no number above 0.
    """
    if margin is None:
        return {}
    margins = as_configured("guardrails", margin if isinstance(margin, Mapping) else dict.fromkeys(metrics, margin))
    for number in margins.values():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not 0 < number < math.inf:
            raise InputError(
                f"margin = {format_value(margin)}: must be a number above 0, or map metrics to such numbers"
            )
    return {canonical_metric_name(name): number for name, number in margins.items()}


def canonical_metric_name(name: Any) -> Any:
    """Return the canonical name of a metric; a value other than a text is returned unchanged."""
    return canonical_name(translate(name)) if isinstance(name, str) else name


def format_failure(result: CompareResult) -> Iterator[str]:
    """Yield the lines of the report without its gates, then the queries that lost most on the first failed metric."""
    lines = str(result).splitlines()
    yield from ("", *(line for line in lines if not line.startswith("gate ")))
    worst = next((row for row in result.comparisons if fails_gate(row)), result.comparison())
    lost = result.losses(worst.candidate, worst.metric, most=LOST)
    if lost:
        yield f"\nthe {queries_text(len(lost))} that lost most, {worst.metric}"
    for row in lost:
        yield f"  {signed(row.difference)}  {row.query_id}  {row.text or ''}".rstrip()


def fails_gate(row: Comparison) -> bool:
    """Return whether a comparison fails its gate: a margin is not proven, or a primary metric regressed."""
    if row.family in (GUARDRAILS, GATE):
        return row.conclusion.fails_margin
    return row.family == PRIMARY and measured_state(row).is_harm
