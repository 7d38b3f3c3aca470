"""Make the differences by careful judgments more precise by proxy judgments of many more queries.

Corrected differences decide nothing: verdicts and gates use the careful judgments (docs/labels.md).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.comparing.families import metric_columns
from ndcg_ab.comparing.sampling import PLAIN, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.finding_codes import CODES
from ndcg_ab.labels.rescoring import Rescored, rescore
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import PRIMARY, queries_text
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.sources import Pulled
from ndcg_core.statistics.estimates import prediction_powered
from ndcg_core.statistics.verdicts.comparison import Column, Comparison
from ndcg_core.statistics.verdicts.record import ProxyCorrected

FEWEST_OTHERS = 2  # queries with proxy judgments only
SURE = 0.001  # below this p, divided by the number of tests, the careful queries are no random sample
NO_RELEVANT = "no_relevant_query"
PROXY_ALONE = (  # codes of findings about judgments, of which the careful ones have their own
    "no_shared_query",
    "id_spelling",
    "no_judged_result",
    NO_RELEVANT,
    "negative_grade",
    "fractional_grade",
    "repeated_judgment",
    "truncated_last_line",
    "unanswered_query",
    *(code for code in CODES if code.startswith("click_")),
)
ProxyColumns = Mapping[tuple[str, str], Column]  # (metric, candidate) -> paired differences by the proxy judgments


def load_by_proxy(evaluation: Evaluation, read: PulledInputs, *, score: bool) -> AbstractContextManager[Rescored]:
    """Load the rankings and the proxy judgments (by a model or from clicks) into an engine, and check the data.

    Returns a context manager. It yields the engine, the configuration reduced to the primary metrics, and the findings.
    score: True to compute scores, too.
    """
    assert read.proxy is not None
    plain = read._replace(queries=read.queries.without_draws())  # proxy judgments are of all queries of a log
    by_proxy = evaluation.model_copy(update={"judgments": evaluation.cheap_judgments})
    return rescore(by_proxy, plain, read.proxy, "proxy judgments", score=score)


def load_proxy_differences(evaluation: Evaluation, read: PulledInputs) -> tuple[ProxyColumns, list[Finding]]:
    """Return the per-query differences by the proxy judgments, and findings on these judgments.

    Queries whose careful grades the proxy judge may have seen are left out. The rankings must be complete.
    """
    with load_by_proxy(evaluation, read, score=True) as (engine, single, findings):
        seen, unknown = seen_queries(read)
        return proxy_columns(engine, single, seen), [*proxy_findings(findings), *unknown]


def seen_queries(read: PulledInputs) -> tuple[frozenset[str], list[Finding]]:
    """Return the carefully judged queries whose grades the proxy judge may have seen, and findings.

    Careful judgments are made by people; the proxy judge is a model, or clicks. The returned queries are the carefully
    judged ones that the file `careful_unseen` does not name. Without this file the set is empty. A finding warns if the
    file names queries that are not carefully judged. Raises InputError if it names no carefully judged query.
    """
    if read.unseen is None or read.judgments is None:
        return frozenset(), []
    unseen, judged = set(read.unseen.table["query_id"].to_pylist()), set(read.judgments.query_ids)
    unknown = sorted(unseen - judged)
    if unknown and len(unknown) == len(unseen):
        raise InputError(
            f"{read.unseen.origin}: names none of the {queries_text(len(judged), 'carefully judged')} (such as"
            f" {unknown[0]!r}): name those that were judged after the judge of the proxy judgments was fixed"
        )
    if not unknown:
        return frozenset(judged - unseen), []
    message = (
        f"careful_unseen: {len(unknown)} of its {len(unseen)} queries {'is' if len(unknown) == 1 else 'are'} not judged"
        f" carefully (such as {unknown[0]!r}): left out"
    )
    return frozenset(judged - unseen), [Finding("cheap_judgments", "warning", message, len(unknown))]


def check_proxy_coverage(careful: Pulled, proxy: Pulled) -> None:
    """Raise InputError if proxy judgments do not cover every carefully judged query and two or more others."""
    judged, proxy_ids = set(careful.query_ids), set(proxy.query_ids)
    lacking = sorted(judged - proxy_ids)
    if lacking:
        raise InputError(
            f"{proxy.origin}: {len(lacking)} of {queries_text(len(judged), 'carefully judged')}"
            f" {'has' if len(lacking) == 1 else 'have'} no proxy judgments (such as {lacking[0]!r}): give them for"
            " these too; they show what such judgments are worth"
        )
    other_count = len(proxy_ids - judged)
    if other_count < FEWEST_OTHERS:
        raise InputError(
            f"{proxy.origin}: judges {queries_text(other_count)} beside the {len(judged)} that are judged carefully; at"
            f" least {FEWEST_OTHERS} are needed: give proxy judgments of more queries, or leave them out"
        )


def proxy_findings(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings that concern the proxy judgments, with the code `cheap_judgments`.

    Findings on rankings and other data are left out, since the careful judgments give them, too.
    findings: the findings of a data check with the proxy judgments in place of the careful ones.
    """
    for finding in findings:
        if finding.code in PROXY_ALONE:
            message = finding.message
            if finding.code == NO_RELEVANT:  # here the differences of queries that cannot be scored count as 0
                counts = "its difference counts" if finding.count == 1 else "their differences count"
                message = f"{message.rpartition(': ')[0]}: {counts} as 0"
            severity = "note" if finding.severity == "note" else CODES["cheap_judgments"].severity
            yield replace(finding, code="cheap_judgments", severity=severity, message=f"proxy judgments: {message}")


def proxy_columns(engine: Engine, evaluation: Evaluation, left_out: Collection[str]) -> ProxyColumns:
    """Return the differences candidate - baseline by the proxy judgments, one column per metric and candidate.

    Each column has all judged queries without those in `left_out`. A difference is 0 if the metric cannot score the
    query. engine: an engine with scores by the proxy judgments.
    """
    rows = engine.rows("query", ("query_id",), where={"is_judged": True}, order="query_id")
    judged = tuple(query_id for (query_id,) in rows if query_id not in left_out)
    sampling = read_sampling(engine, evaluation)
    weights, clusters = sampling.weights_in_order(judged), sampling.clusters_in_order(judged)

    def values_of_judged(column: Column, values: Any) -> NDArray[np.float64]:
        known = dict(zip(column.query_ids, values, strict=True))
        return np.array([known.get(query_id, 0.0) for query_id in judged], dtype=np.float64)

    return {
        (column.metric, column.candidate): Column(
            column.baseline,
            column.candidate,
            column.metric,
            judged,
            values_of_judged(column, column.differences),
            values_of_judged(column, column.baseline_values),
            weights,
            clusters,
        )
        for column in metric_columns(engine, evaluation, PLAIN)
    }


def add_proxy_corrections(
    engine: Engine, evaluation: Evaluation, compared: Sequence[Comparison], proxy: ProxyColumns
) -> tuple[list[Comparison], list[Finding]]:
    """Add differences corrected by proxy judgments to the primary comparisons.

    Returns all comparisons, and findings on whether the carefully judged queries are a random sample. If the queries
    were drawn from a log, the known mean proxy difference over the log corrects the differences. If the systems then
    differ on queries of the log without proxy judgments, nothing is corrected, and a finding says so.
    engine: an engine with the tables of the careful judgments.
    """
    sampling = read_sampling(engine, evaluation)
    log = sampling.log
    by_proxy = {query_id for column in proxy.values() for query_id in column.query_ids}
    if log is not None and (lacking := sorted(set(log.disagreements) - by_proxy)):
        message = (
            f"the proxy judgments correct nothing: {queries_text(len(lacking))} of the log that"
            f" {'differs' if len(lacking) == 1 else 'differ'} between systems (such as {lacking[0]!r}) have none"
        )
        return list(compared), [Finding("proxy_not_whole", "note", message, len(lacking))]
    rows = engine.rows("query", ("query_id",), where={"is_judged": True})
    judged = frozenset(query_id for (query_id,) in rows if query_id in by_proxy)
    seen_count = len(rows) - len(judged) if evaluation.careful_unseen else None
    columns = metric_columns(engine, evaluation, PLAIN if log is None else sampling)
    careful = {(column.metric, column.candidate): column for column in columns}

    def correct(row: Comparison) -> ProxyCorrected | None:
        key = (row.metric, row.candidate)
        if log is None:
            own = careful[key]
            kept = [index for index, query_id in enumerate(own.query_ids) if query_id in judged]
            ids, differences = tuple(own.query_ids[index] for index in kept), np.asarray(own.differences)[kept]
            own = replace(own, query_ids=ids, differences=differences, baseline_values=None)
            corrected = prediction_powered.correct_difference(own, proxy[key], judged, row.alpha)
            return corrected and replace(corrected, seen_queries=seen_count)
        known = dict(zip(proxy[key].query_ids, np.asarray(proxy[key].differences).tolist(), strict=True))
        drawn = np.array([known[query_id] for query_id in careful[key].query_ids], dtype=np.float64)
        return prediction_powered.correct_drawn(careful[key], drawn, log.mean_over_log(known), len(by_proxy), row.alpha)

    corrected_rows = [
        replace(row, cheap=correct(row)) if row.family == PRIMARY and (row.metric, row.candidate) in proxy else row
        for row in compared
    ]
    return corrected_rows, check_randomness(proxy, judged) if proxy and log is None else []


def check_randomness(proxy: ProxyColumns, judged: frozenset[str]) -> list[Finding]:
    """Return a warning if the carefully judged queries are no random sample of the queries with proxy judgments.

    The proxy values of carefully judged queries are tested against those of all other queries. This is done for the
    difference of each candidate and for the values of the baseline, at level `SURE` divided by the number of tests.
    proxy: at least one column.
    judged: ids of the carefully judged queries.
    """
    tested: dict[tuple[str, str], prediction_powered.Balance] = {}
    for (metric, candidate), column in proxy.items():
        tested[metric, f"the difference of {candidate}"] = prediction_powered.check_balance(column, judged)
        if (metric, "the baseline's mean") not in tested and column.baseline_values is not None:
            values = replace(column, differences=column.baseline_values)
            tested[metric, "the baseline's mean"] = prediction_powered.check_balance(values, judged)
    (metric, noun), worst = min(tested.items(), key=lambda item: item[1].p_value)
    if worst.p_value * len(tested) > SURE:
        return []
    message = (
        f"the {len(judged)} carefully judged queries are no random sample of those with proxy judgments: by these"
        f" {noun} on {metric} is {worst.careful:.4f} on them and {worst.others:.4f} on the others; what is corrected by"
        " proxy judgments holds for a random sample alone"
    )
    return [Finding("careful_not_random", "warning", message, len(judged))]
