"""Format marks, intervals and verdicts as text for the terminal, the page and MLflow."""

import math
from collections.abc import Callable, Iterator, Sequence

from ndcg_ab.results.decisions import Choice, can_be_reversed, describe_tipping, measured_state
from ndcg_ab.results.numbers import format_percent, format_plain, format_probability, format_range, signed
from ndcg_ab.results.outcome import Outcome, SystemSummary
from ndcg_ab.results.wording import GATE, GUARDRAILS, SECONDARY, fully_judged_text, has_clear_lead, queries_text
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import ExternalMetric
from ndcg_core.statistics.estimates.descriptive import Descriptive
from ndcg_core.statistics.estimates.mean_difference import Interval
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict


def deciding_interval(row: Comparison) -> Interval | None:
    """Return the (1 - alpha) interval of a difference that agrees with its verdict; None without an interval.

    For a guardrail, the lower end is the one-sided bound that decides. For any other comparison, it is the simultaneous
    interval of all comparisons of the family, or the comparison's own interval if there is none. If the verdict shows a
    difference, an end on the wrong side of 0 is set to 0; otherwise the interval is extended until it contains 0.

    Notes
    -----
    The p-value and the interval come from one set of resamples, but can disagree by a rounding error.
    """
    if row.low is None or row.high is None or row.difference is None:
        return None
    if row.lower_bound is not None and row.conclusion.is_guardrail:
        return Interval(min(row.lower_bound, row.difference), max(row.high, row.difference))
    low, high = row.low, row.high
    if row.simultaneous_low is not None and row.simultaneous_high is not None:
        low, high = row.simultaneous_low, row.simultaneous_high
    if row.conclusion.direction > 0:
        low = max(low, 0.0)
    elif row.conclusion.direction < 0:
        high = min(high, 0.0)
    else:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high)


MARKS = {kind: kind.traits.mark for kind in Verdict if kind.traits.mark}
UNDECIDED_MARK = "●"
OPEN_LABELS = "L"  # beside a difference that unjudged results could turn


def comparison_mark(comparison: Comparison) -> str:
    """Return the mark of a verdict: ▲ improved, ▼ regressed, ● other; for guardrails ✓ holds, ? open, ✗ worse.

    A guardrail that unjudged results could turn is open.
    """
    if comparison.conclusion.holds_margin and can_be_reversed(comparison):
        return MARKS[Verdict.MAY_BE_WORSE]
    return MARKS.get(comparison.conclusion, UNDECIDED_MARK)


def open_labels_mark(comparison: Comparison) -> str:
    """Return `` L`` for a verdict that unjudged results could turn, else an empty text."""
    return f" {OPEN_LABELS}" if can_be_reversed(comparison) else ""


def format_marked(comparison: Comparison, number: str) -> str:
    """Return a number with the mark of its verdict and, if unjudged results could turn it, ``L``: ``▼ -0.0481 L``."""
    return f"{comparison_mark(comparison)} {number}{open_labels_mark(comparison)}"


def describe_metric_role(outcome: Outcome, metric: str) -> Iterator[str]:
    """Yield texts on the role of a metric: guardrail or secondary, and the limit of the gate on it.

    Empty for a primary metric without a gate.
    """
    rows = [row for row in outcome.main if row.metric == metric]
    gated = next((row for row in outcome.comparisons if row.family == GATE and row.metric == metric), None)
    if rows and rows[0].family == GUARDRAILS:
        yield f"guardrail: not worse by {rows[0].smallest_effect:g}"
    elif rows and rows[0].family == SECONDARY:
        yield "secondary" if gated else "secondary, decides nothing"
    if gated:
        yield f"gate: not worse by {gated.smallest_effect:g}"


def format_interval(comparison: Comparison) -> str:
    """Return the interval of `deciding_interval` as ``[+0.0760, +0.1590]``, or ``–`` without an interval."""
    return format_range(*(deciding_interval(comparison) or (None, None)))


def format_wins_ties_losses(comparison: Comparison) -> str:
    return f"{comparison.wins}/{comparison.ties}/{comparison.losses}"


CELLS: dict[str, Callable[[Comparison], str]] = {  # column of a table of comparisons -> what makes its text
    "queries": lambda row: str(row.queries),
    "moved": lambda row: str(row.differing),
    "baseline": lambda row: format_plain(row.baseline_mean),
    "difference": lambda row: signed(row.difference),
    "interval": format_interval,
    "p": lambda row: format_probability(row.p_value),
    "adjusted p": lambda row: format_probability(row.p_adjusted),
    "wins/ties/losses": format_wins_ties_losses,
}


def comparison_cells(comparison: Comparison, columns: Sequence[str]) -> list[str]:
    """Return the texts of a comparison in some columns of `CELLS`."""
    return [CELLS[column](comparison) for column in columns]


def comparison_heads(outcome: Outcome, columns: Sequence[str]) -> list[str]:
    """Return the heads of some columns of `CELLS`: their names, with the level of intervals."""
    level = format_confidence_level(outcome.alpha)
    return [f"{level} interval" if column == "interval" else column for column in columns]


def judged_label(metric: Metric) -> str:
    return f"judged@{metric.cutoff}" if metric.cutoff else "judged"


def metric_origin(metric: Metric) -> str:
    """Return ``definition 1a2b3c4d5e6f`` (the metric's hash), or the tool that computed the metric."""
    if isinstance(metric, ExternalMetric):
        return f"computed once, by {metric.tool}" if metric.tool else "computed by another tool"
    return f"definition {metric.hash}"


def add_recomputed_count(outcome: Outcome, text: str) -> str:
    """Return `text` with {} replaced by the number of queries that were recomputed in Python.

    If no query was recomputed, return a note that another tool computed the scores.
    """
    if not outcome.parity_queries:
        return "scores computed by another tool"
    return text.format(queries_text(outcome.parity_queries))


def format_confidence_level(alpha: float) -> str:
    return f"{100 * (1 - alpha):g} %"


def format_verdict(comparison: Comparison) -> str:
    """Return the verdict with its notes and, for a guardrail, the bound that decides."""
    bound = ""
    if comparison.lower_bound is not None and comparison.conclusion.is_guardrail:
        bound = f" (lower {format_confidence_level(comparison.alpha)} bound {signed(comparison.lower_bound)})"
    return comparison.verdict + bound + "".join(f"; {note}" for note in comparison.notes)


def format_family(outcome: Outcome, family: str) -> str:
    """Return the size of a family of comparisons, the adjustment of its p-values, and its purpose."""
    row = next(row for row in outcome.comparisons if row.family == family)
    count = f"{row.family_size} comparison{'s' * (row.family_size != 1)}"
    procedures = dict.fromkeys(
        row.procedure for row in outcome.comparisons if row.family == family and row.p_value is not None
    )
    text = f"{family}: {count}, {' / '.join(procedures) or 'none tested'}"
    return text + (" (exploratory: shows where to look, decides nothing)" if row.exploratory else "")


def format_shared_queries(outcome: Outcome, comparison: Comparison) -> str:
    """Return the number of queries of a comparison in words, such as ``over 90 shared queries``.

    The text is empty if this is also the number of queries in the mean of each of the two systems. The numbers differ
    if a metric leaves out queries that a system did not answer.
    """
    pair = (comparison.baseline, comparison.candidate)
    counts = {row.queries for row in outcome.systems if row.metric == comparison.metric and row.system_id in pair}
    return "" if counts <= {comparison.queries} else f"over {queries_text(comparison.queries, 'shared')}"


def format_weights(outcome: Outcome) -> str | None:
    """Return a note that means are weighted, with the effective number of queries; None without weights.

    The effective number is the smallest of all comparisons. It is left out if it is not below the number of queries. If
    queries were drawn from a log, the note has only the effective number; if that is left out, the result is None.
    """
    if all(system.unweighted_mean is None for system in outcome.systems):
        return None
    counts = [(row.effective_queries, row.queries) for row in outcome.main if row.effective_queries is not None]
    tail = ""
    if counts and round(min(counts)[0]) < min(counts)[1]:
        effective, queries = min(counts)
        tail = f"{queries_text(queries)} settle as much as {effective:.0f} of equal weight"
    if query_kind(outcome):
        return tail or None
    return f"means and differences are weighted by the queries' weights{': ' * bool(tail)}{tail}"


def query_kind(outcome: Outcome) -> str:
    """Return "drawn" if the scored queries were drawn from a log, else an empty text."""
    return "drawn" if any(found.code == "drawn_queries" for found in outcome.findings) else ""


def format_clusters(outcome: Outcome) -> str | None:
    """Return a note on the number and sizes of the clusters that tests use.

    None if no cluster has more than one query.
    """
    counts = [row.clusters for row in outcome.main if row.clusters is not None and row.clusters.largest > 1]
    if not counts:
        return None
    fewest = min(counts, key=lambda row: row.count)
    sizes = f"{fewest.smallest} to {fewest.largest}" if fewest.smallest < fewest.largest else f"{fewest.largest}"
    as_much = "" if round(fewest.effective) == fewest.count else f", as much as {fewest.effective:.0f} equal ones"
    return f"queries are tested in {fewest.count} cluster{'s' * (fewest.count != 1)} of {sizes}{as_much}"


def format_tipping(comparison: Comparison) -> str | None:
    """Return how much better or worse unjudged results must be to turn a verdict, or that this is not known.

    None if unjudged results cannot turn the verdict, and for an undecided comparison.
    """
    return describe_tipping(comparison) if can_be_reversed(comparison) else None


def format_unjudged(comparison: Comparison) -> str | None:
    """Return the effect of unjudged results on a difference in a few words; None without unjudged results.

    Such as ``33 unjudged: tips at 1.3; over all grades -0.0185 to +0.3414``.
    33: number of unjudged results.
    1.3: the tipping factor: how many times as probable as in judged results relevant grades of unjudged results must be
        for the verdict to change, with 1/1.3 for the system that the verdict favours. Instead of ``tips at 1.3``, the
        text is ``does not tip up to 5`` if no factor up to 5 changes the verdict, and ``open by the queries`` if the
        queries show nothing: the verdict is undecided, not testable or, of a guardrail, a loss that is not ruled out.
    -0.0185 to +0.3414: range of the difference over all grades that the unjudged results could have; left out if it is
        unknown.
    """
    unjudged = comparison.unjudged
    if unjudged is None or not unjudged.documents:
        return None
    tips = "does not tip up to 5" if unjudged.tipping_factor is None else f"tips at {unjudged.tipping_factor:g}"
    if measured_state(comparison).is_undecided:
        tips = "open by the queries"
    between = "" if unjudged.low is None else f"; over all grades {signed(unjudged.low)} to {signed(unjudged.high)}"
    return f"{unjudged.documents:,} unjudged: {tips}{between}"


def completeness_note(outcome: Outcome) -> str | None:
    """Return the note that unjudged results count as not relevant; None if judgments are not declared complete."""
    is_declared = any(row.unjudged is not None and row.unjudged.is_declared for row in outcome.comparisons)
    return "unjudged results count as not relevant, as declared" if is_declared else None


def format_labels(comparison: Comparison) -> str | None:
    """Return the judged shares of candidate and baseline, and the difference on fully judged queries.

    None if the shares are similar or unknown.
    """
    labels = comparison.labels
    if labels is None or not has_clear_lead(labels):
        return None
    candidate_share, other = format_percent(labels.candidate_judged), format_percent(labels.baseline_judged)
    shares = f"{candidate_share} of its results, {other} of the baseline's"
    return f"judged: {shares}; {fully_judged_text(labels)}"


def format_proxy_correction(comparison: Comparison) -> str | None:
    """Return the difference corrected by proxy judgments, with its interval and p-value; None without proxy judgments.

    The text ends with the number of further carefully judged queries that would give an equally narrow interval. If the
    difference could not be corrected, the text is the reason.
    """
    corrected = comparison.cheap
    if corrected is None:
        return None
    if corrected.difference is None:
        return f"not corrected by proxy judgments: {corrected.why_none}"
    between = f"{format_range(corrected.low, corrected.high)}, p {format_probability(corrected.p_value)}"
    saved = round(corrected.saved)
    worth = f"{saved} more quer{'y' if saved == 1 else 'ies'} judged carefully" if saved else "no careful judgment"
    text = f"{signed(corrected.difference)} ({between}), worth {worth}"
    by = f"corrected by {corrected.cheap_queries} queries with proxy judgments"
    if corrected.seen_queries is not None:
        by += f" and {corrected.careful_queries} judged carefully afterwards"
    return f"{by}: {text}"


def proxy_note(outcome: Outcome) -> str | None:
    """Return a note on the meaning of differences corrected by proxy judgments; None without proxy judgments."""
    corrections = [row.cheap for row in outcome.main if row.cheap is not None]
    if not corrections:
        return None
    said = any(each.seen_queries is not None for each in corrections)
    unseen = "judged before the proxy judge was fixed are left out" if said else "must be unknown to the proxy judge"
    return (
        f"careful grades {unseen}; proxy judgments correct the difference alone, and verdicts, decisions and gates"
        " are those of the careful judgments"
    )


def function_note(outcome: Outcome) -> str | None:
    """Return how many documents a judge function judged, and how well its grades agree with those in files.

    None without a judge function.
    """
    judge = outcome.function_judge
    if judge is None:
        return None
    judged = f"{judge.function} judged {judge.judged:,} document{'s' * (judge.judged != 1)}"
    if judge.unsaid:
        judged += f", and could not say the grade of {judge.unsaid:,}"
    if not judge.compared:
        return f"{judged}; with no grade of a file to compare its own with"
    numbers = [f"mean difference {signed(judge.mean_difference)}"]
    if judge.cohen_kappa is not None:
        numbers.append(f"kappa {judge.cohen_kappa:.2f}")
    if judge.krippendorff_alpha is not None:
        numbers.append(f"alpha {judge.krippendorff_alpha:.2f}")
    equal_text = f"{judge.equal:,} of {judge.compared:,} grades of files"
    return f"{judged}; it agrees with {equal_text} ({', '.join(numbers)})"


def format_relative_change(descriptive: Descriptive | None) -> str:
    """Return the relative change with its interval, ``+3.1 % (+0.4 … +5.8)``; ``–`` if it is unknown."""
    if descriptive is None or descriptive.relative is None:
        return "–"
    text = f"{100 * descriptive.relative:+.1f} %"
    if descriptive.relative_low is None or descriptive.relative_high is None:
        return text
    return f"{text} ({100 * descriptive.relative_low:+.1f} … {100 * descriptive.relative_high:+.1f})"


def system_rows(outcome: Outcome, metric: Metric) -> Iterator[tuple[SystemSummary, Comparison | None]]:
    """Yield the summary of each system on a metric, and its comparison with the baseline or None.

    The baseline comes first. Then come the candidates: the best decision first, among equal decisions the largest
    difference first. Other systems are last.
    """
    rows = {row.candidate: row for row in outcome.main if row.metric == metric.name}
    summaries = {row.system_id: row for row in outcome.systems if row.metric == metric.name}
    for name in dict.fromkeys([outcome.baseline, *order_candidates(outcome), *summaries]):
        if name in summaries:
            yield summaries[name], rows.get(name)


def order_comparisons(outcome: Outcome, metric: Metric) -> list[Comparison]:
    """Return the comparisons on one metric, in the order of `order_candidates`: the best decision first."""
    rows = {row.candidate: row for row in outcome.main if row.metric == metric.name}
    return [rows[name] for name in order_candidates(outcome) if name in rows]


def order_candidates(outcome: Outcome) -> list[str]:
    """Return the candidates, the best decision first; candidates without a decision are last.

    Among equal decisions, the largest difference on the first metric is first.
    """
    first = [metric.name for metric in outcome.metrics[:1]]
    differences = {row.candidate: row.difference for row in outcome.main if row.metric in first}
    choices = {found.candidate: found.decision for found in outcome.decisions}

    def sort_key(name: str) -> tuple[int, float]:
        known = differences.get(name)
        position = choices[name].traits.position if name in choices else len(Choice) + 1
        return position, math.inf if known is None else -known

    return sorted(dict.fromkeys([*choices, *(row.candidate for row in outcome.main)]), key=sort_key)
