"""Compute the measures of the library ir_measures that ndcg-ab does not implement."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import NEGATED, ExternalMetric, parse

# What ir_measures 0.4 has and `ndcg_core.measures` has not; known without it, so that it need not be there to be named.
NAMES = frozenset(
    """BPM Compat INSQ INST IPrec NERR8 NERR9 NERR10 NERR11 NumQ NumRel NumRelRet NumRet SDCG SetAP SetF SetP SetR
    SetRelP""".split()  # noqa: SIM905  (words are easier to read than a list of texts)
)
OF_SUBTOPICS = frozenset(
    "AP_IA ERR_IA MAP_IA NRBP P_IA StRecall alpha_DCG alpha_nDCG nERR_IA nNRBP".split()  # noqa: SIM905
)
EXTRA = "pip install 'ndcg-ab[measures]'"


ByQuery = Mapping[str, Mapping[str, float]]  # query_id -> doc_id -> grade of a judgment, or score of one system


def find_measure(text: str) -> Metric:
    """Return the metric that a text names: one of ndcg-ab, or else a measure of ir_measures.

    Raises MetricError if the text names neither.
    """
    try:
        return parse(text)
    except MetricError:
        metric = find_ir_measure(text)
        if metric is None:
            raise
        return metric


def parse_own_metric(text: str, command: str) -> Metric:
    """Return the metric of ndcg-ab that a text names.

    command: the end of the message about a measure of ir_measures, which says what is not possible with it.
    Raises MetricError if the text names a measure of ir_measures, or no metric at all.
    """
    try:
        return parse(text)
    except MetricError:
        if ir_measures_name(text) is None:
            raise
        raise MetricError(f"metric {text!r}: is computed by ir_measures, and {command}") from None


def ir_measures_name(text: str) -> str | None:
    """Return the name of the ir_measures measure with which a text begins, or None.

    A ``-`` before the name is skipped.
    """
    match = re.match(r"\s*-?\s*([A-Za-z_]+[0-9]*)", text)
    return match[1] if match and match[1] in NAMES | OF_SUBTOPICS else None


def find_ir_measure(text: str) -> ExternalMetric | None:
    """Return the ir_measures measure that a text names, or None if it names none.

    A leading ``-`` means that lower values are better. Raise MetricError if the text names a measure that cannot be
    computed; the message says what is missing.
    """
    name, bare = ir_measures_name(text), text.strip().removeprefix(NEGATED).strip()
    if name is None:
        return None
    where = f"metric {text!r}"
    if name in OF_SUBTOPICS:
        raise MetricError(
            f"{where}: counts subtopics, which judgments have none of here; compute it with ir_measures -q, and give"
            " its values: ndcg-ab compare --scores NAME=FILE"
        )
    try:
        import ir_measures
    except ImportError:
        raise MetricError(f"{where}: is a measure of ir_measures, which is not installed: {EXTRA}") from None
    try:
        measure: Any = ir_measures.parse_measure(bare)
        lacking = [name for name, choice in measure.SUPPORTED_PARAMS.items() if choice.required]
        lacking = [name for name in lacking if name not in measure.params]
        if lacking:
            raise ValueError(f"it needs {' and '.join(lacking)}, as {name}({lacking[0]}=…)")
        measure.validate_params()
    except (AssertionError, KeyError, NameError, ValueError) as error:
        raise MetricError(f"{where}: ir_measures does not read it: {error}") from None
    provider_of(measure, where)
    sign = NEGATED if text.strip().startswith(NEGATED) else ""
    return ExternalMetric(external_name=f"{sign}{measure}", tool=f"ir_measures {ir_measures.__version__}")


def provider_of(measure: Any, where: str) -> Any:
    """Return the provider, a part of ir_measures, that computes a measure.

    where: the beginning of messages.
    Raises MetricError if no installed provider computes the measure; the message says what to install.
    """
    import ir_measures

    able = [each for each in ir_measures.DefaultPipeline.providers if each.supports(measure)]
    for provider in able:
        if provider.is_available():
            return provider
    if not able:
        raise MetricError(f"{where}: ir_measures knows its name, and computes it with other parameters alone")
    raise MetricError(f"{where}: ir_measures computes it by {able[0].NAME}: {able[0].install_instructions()}")


def measure_values(metric: ExternalMetric, judged: ByQuery, ranking: ByQuery) -> dict[str, float]:
    """Return {query_id: value} of a measure for one ranking, negated if lower values are better.

    judged: query_id -> doc_id -> grade. ranking: query_id -> doc_id -> score. Queries without results have the default
    value of the measure. Raises MetricError if the values cannot be computed.
    """
    import ir_measures

    where = f"metric {metric.name!r}"
    measure = ir_measures.parse_measure(metric.source_name)
    judgments = {query: to_integer_grades(grades, query, where) for query, grades in judged.items()}
    run = {query: dict(by_query) for query, by_query in ranking.items() if query in judgments and by_query}
    by_query = dict.fromkeys(judgments, float(measure.DEFAULT))
    if run:
        rows: Iterable[Any] = provider_of(measure, where).iter_calc([measure], judgments, run)
        by_query |= {row.query_id: float(row.value) for row in rows}
    return {query: 0.0 - value if metric.is_negated else value for query, value in by_query.items()}


def to_integer_grades(grades: Mapping[str, float], query: str, where: str) -> dict[str, int]:
    """Return the grades as integers, which ir_measures requires; raise MetricError for a grade with a fraction."""
    for document, grade in grades.items():
        if not float(grade).is_integer():
            raise MetricError(
                f"{where}: takes whole grades alone; document {document!r} of query {query!r} has {grade:g}"
            )
    return {document: int(grade) for document, grade in grades.items()}
