"""Report the judged shares of the two systems of each comparison, and warn of verdicts that may only reflect them.

Judgments often come from the results of some systems. Other systems then return more unjudged results, which count as
not relevant (docs/labels.md, "Where the labels came from").
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ndcg_ab.comparing.families import NOTHING, group_differences, make_column
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.decisions import can_be_reversed
from ndcg_ab.results.numbers import format_percent, signed
from ndcg_ab.results.outcome import Finding, LeftOut, SystemSummary
from ndcg_ab.results.wording import MAIN, PRIMARY, fully_judged_text, has_clear_lead
from ndcg_core.statistics.estimates.mean_difference import interval_from_moments
from ndcg_core.statistics.paired import sort_by_query
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.record import Labels
from ndcg_core.statistics.verdicts.verdict import Verdict


def add_judged_shares(
    engine: Engine,
    evaluation: Evaluation,
    sampling: Sampling,
    systems: Sequence[SystemSummary],
    compared: Sequence[Comparison],
) -> list[Comparison]:
    """Add the judged shares of both systems to the comparisons over all queries.

    The judged share is the share of a system's results, within the metric's depth, that have a judgment. Comparisons on
    other queries, and those without a known share, are returned unchanged.
    systems: the summaries with the judged share of each system and metric.
    """
    shares = {(row.metric, row.system_id): row.judged for row in systems if row.judged is not None}
    if not shares or not compared:
        return list(compared)
    hashes = {metric.name: metric.hash for metric in evaluation.metric_list}
    full = group_differences(engine.read("fully_judged_difference", order="query_id"), "metric_id", "candidate")

    def labels(row: Comparison) -> Labels | None:
        baseline, candidate = (shares.get((row.metric, name)) for name in (row.baseline, row.candidate))
        if row.family not in MAIN or (baseline is None and candidate is None):
            return None
        group = full.get((hashes[row.metric], row.candidate), NOTHING)
        (pairs,) = sort_by_query([make_column(evaluation, row.candidate, row.metric, group, sampling)])
        moments = pairs.moments()
        low, high = interval_from_moments(moments, 1 - row.alpha) if moments else (None, None)
        mean = moments.mean if moments else pairs.mean
        return Labels(baseline, candidate, len(pairs.query_ids), mean, low, high)

    return [replace(row, labels=labels(row)) for row in compared]


def check_judged_shares(compared: Sequence[Comparison], left_out: Sequence[LeftOut] = ()) -> Iterator[Finding]:
    """Yield warnings of verdicts that may only reflect that the favoured system has more judged results.

    If judgments came from the favoured system and not from the other, the primary verdict is compared with the verdict
    without the judgments that the favoured system alone contributed. Otherwise a warning is given if the favoured
    system has a clearly larger judged share, unless the verdict holds on the fully judged queries and unjudged results
    cannot reverse it.
    left_out: the comparisons without the judgments that one system alone contributed, one entry per system.
    """
    without = {each.system: each for each in left_out}
    for row in compared:
        labels, side = row.labels, favoured_side(row)
        if labels is None or not side:
            continue
        winner, loser = (row.candidate, row.baseline) if side > 0 else (row.baseline, row.candidate)
        without_own, next_step = "", " (ndcg-ab judge-next)"
        if row.family == PRIMARY and winner in without and loser not in without:
            rows = {(each.candidate, each.metric): each for each in without[winner].comparisons}
            other = rows[row.candidate, row.metric]
            if other.conclusion is row.conclusion:
                continue
            without_own, next_step = text_without_own_judgments(without[winner], other), ""
        else:
            is_favoured = has_clear_lead(labels) and labels.lead * side > 0
            if not is_favoured or (holds_on_fully_judged(row, labels) and not can_be_reversed(row)):
                continue
        shares = {row.candidate: labels.candidate_judged or 0.0, row.baseline: labels.baseline_judged or 0.0}
        message = (
            f"{row.metric}: {row.candidate} {row.verdict}, which favours {winner}, of whose results"
            f" {format_percent(shares[winner])} are judged, of those of {loser} {format_percent(shares[loser])};"
            f" {without_own}{fully_judged_text(labels)}: judge what {loser} alone shows before relying on it{next_step}"
        )
        count = row.queries - labels.full_queries
        yield Finding("labels_favour", "warning", message, count, row.candidate, row.metric, abs(labels.lead))


def favoured_side(row: Comparison) -> int:
    """Return 1 if the verdict favours the candidate, -1 if it favours the baseline, 0 if it favours neither."""
    return -1 if row.conclusion.is_harm else int(row.conclusion in (Verdict.IMPROVED, Verdict.NOT_WORSE))


def holds_on_fully_judged(row: Comparison, labels: Labels) -> bool:
    """Return whether the verdict holds on the queries whose results are all judged.

    It holds if the interval on these queries supports it. The result is False if there is no such interval.
    """
    if labels.full_low is None or labels.full_high is None:
        return False
    if row.conclusion is Verdict.NOT_WORSE:
        return labels.full_low > -(row.smallest_effect or 0.0)
    return labels.full_low > 0 if favoured_side(row) > 0 else labels.full_high < 0


def text_without_own_judgments(left_out: LeftOut, row: Comparison) -> str:
    """Return, in words, the verdict without the judgments that one system alone contributed.

    For example ``without the 40 judgments that bm25 alone contributed it is undecided (+0.0010); ``.
    left_out: the system, and the number of its judgments.
    row: the comparison without these judgments.
    """
    judgments = "the one judgment" if left_out.hidden == 1 else f"the {left_out.hidden} judgments"
    difference = "" if row.difference is None else f" ({signed(row.difference)})"
    return f"without {judgments} that {left_out.system} alone contributed it is {row.conclusion.words}{difference}; "
