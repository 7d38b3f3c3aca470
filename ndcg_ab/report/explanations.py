"""Explain each candidate in plain words, for readers who decide and do not read tables.

The parts are: the comparison, the answer, its certainty, doubts, and next steps. All numbers are in the tables, too.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ndcg_ab.report import words
from ndcg_ab.report.answer import Candidate, make_answer
from ndcg_ab.report.doubts import finding_lines, list_doubts
from ndcg_ab.report.sections import format_changes, leading_costs
from ndcg_ab.results.cost_records import requests_text
from ndcg_ab.results.decisions import Choice, can_be_reversed, describe_tipping, measured_state
from ndcg_ab.results.numbers import format_percent, format_plain, signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, fully_judged_text, queries_text
from ndcg_core.measures.meanings import PLAIN_MEANINGS
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import ExternalMetric, make_metric
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Size, Verdict, format_distinct_effect

TITLES = ("What was compared", "The answer", "How sure", "What could overturn it", "What to do next")
CARRIED = 0.3  # share of the difference from which on the one query in a hundred that carries it is told
NAMED = 3  # queries, and candidates of many
MOST = 1_000_000  # queries; more are not advised
PlainWords = dict[str, list[str]]
"""The explanation of one candidate: the sentences below each title, in the order of `TITLES`."""


def explain_outcome(outcome: Outcome) -> dict[str, PlainWords]:
    """Return the explanation of each candidate by its name, the best decision first."""
    return {row.name: explain_choice(outcome, row) for row in make_answer(outcome).candidates}


def explain_candidate(outcome: Outcome, candidate: str) -> PlainWords:
    return next(explain_choice(outcome, row) for row in make_answer(outcome).candidates if row.name == candidate)


def explain_choice(outcome: Outcome, row: Candidate) -> PlainWords:
    tellers = (explain_comparison, explain_answer, explain_certainty, explain_doubts, advise_next_steps)
    return {title: list(tell(outcome, row.name, row.deciding)) for title, tell in zip(TITLES, tellers, strict=True)}


# ---- what was compared


def explain_comparison(outcome: Outcome, candidate: str, rows: Sequence[Comparison]) -> Iterator[str]:
    counts = {row.queries for row in rows}
    least, most = min(counts, default=0), max(counts, default=0)
    kind = words.query_kind(outcome)
    over = queries_text(most, kind) if least == most else f"{least} to {most} {kind + ' ' if kind else ''}queries"
    yield f"{candidate} against the baseline {outcome.baseline}, on {over}."
    for row in rows:
        metric = make_metric(row.metric)
        if row.family == PRIMARY:
            article = "The" if sum(each.family == PRIMARY for each in rows) == 1 else "A"
            yield f"{article} deciding metric: {metric.name}{explain_metric(metric)}."
        else:
            yield f"Must not get worse by {row.smallest_effect:g}: {metric.name}{explain_metric(metric)}."
    if judged := format_judged_shares(outcome, candidate, rows):
        yield judged
    for sentences in filter(None, (words.format_weights(outcome), words.format_clusters(outcome))):
        yield f"{sentences[0].upper()}{sentences[1:]}."
    for changes in outcome.changes:
        if changes.candidate == candidate:
            sentences = format_changes(changes)
            yield f"{sentences[0].upper()}{sentences[1:]}."
    if len(outcome.candidates) > 1:
        yield f"It is one of {len(outcome.candidates)} candidates; the tests below account for that."


def explain_metric(metric: Metric) -> str:
    if isinstance(metric, ExternalMetric):
        return ", as another tool computed it"
    results = f"the first {metric.cutoff} results" if metric.cutoff else "the results"
    return f": {PLAIN_MEANINGS[metric.measure].format(results=results)}"


def format_judged_shares(outcome: Outcome, candidate: str, rows: Sequence[Comparison]) -> str:
    """Return the judged shares of a candidate's and the baseline's results on the first metric; empty if unknown."""
    shares = {row.system_id: row.judged for row in outcome.systems if rows and row.metric == rows[0].metric}
    ours, theirs = shares.get(candidate), shares.get(outcome.baseline)
    if ours is None or theirs is None:
        return ""
    cutoff = make_metric(rows[0].metric).cutoff
    where = f"in the top {cutoff}" if cutoff else "of all results"
    if ours == theirs == 1:
        return f"Every result {where} is judged."
    each = f"{format_percent(ours)} ({candidate}) and {format_percent(theirs)} ({outcome.baseline})"
    return f"Judged results {where}: {each}."


# ---- the answer


def explain_answer(outcome: Outcome, candidate: str, rows: Sequence[Comparison]) -> Iterator[str]:
    for row in rows:
        yield f"{row.metric}: {explain_verdict(row)}{format_means(outcome, row)}."
    yield from (f"Gate, {row.metric}: {explain_verdict(row)}." for row in gate_margins(outcome, candidate))
    if not rows:
        yield "No deciding metric could be compared."
    yield from (f"{row.sentence}." for row in leading_costs(outcome.costs, candidate))


def gate_margins(outcome: Outcome, candidate: str) -> list[Comparison]:
    return [row for row in outcome.comparisons if row.family == GATE and row.candidate == candidate]


EXPLAINED = {
    Verdict.IMPROVED: "{row.candidate} ranks better than {row.baseline}{size}",
    Verdict.REGRESSED: "{row.candidate} ranks worse than {row.baseline}{size}",
    Verdict.EQUIVALENT: "{row.candidate} ranks as well as {row.baseline}, to within {row.smallest_effect:g} either way",
    Verdict.UNDECIDED: "the data do not show which of the two ranks better",
    Verdict.IDENTICAL: "both give the same value on every query",
    Verdict.NOT_TESTABLE: "the data cannot decide: {row.verdict}",
    Verdict.NOT_WORSE: "it did not get worse by {row.smallest_effect:g} or more ({difference})",
    Verdict.MAY_BE_WORSE: "a loss of {row.smallest_effect:g} is not ruled out ({difference})",
    Verdict.WORSE: "it got worse ({difference}), and a loss of {row.smallest_effect:g} is not ruled out",
}


def explain_verdict(row: Comparison) -> str:
    """Return the verdict of a comparison in plain words, without means."""
    difference, size = signed(row.difference), explain_effect_size(row)
    return EXPLAINED[row.conclusion].format(row=row, difference=difference, size=size)


def explain_effect_size(row: Comparison) -> str:
    """Return the end of a sentence that compares the difference with the smallest effect.

    It says that the difference is larger, that it is smaller, or that this is open. Empty if no smallest effect is set.
    """
    if row.smallest_effect is None:
        return ""
    if row.size is None:
        return f"; it is open whether by the {row.smallest_effect:g} that matters"
    return f", by {'more' if row.size is Size.BY_MORE_THAN else 'less'} than the {row.smallest_effect:g} that matters"


def format_means(outcome: Outcome, row: Comparison) -> str:
    """Return the end of a sentence with the means of both systems, the difference, wins, losses and ties.

    If the queries were drawn from a log, the means are left out. The text is empty for a guardrail, for a comparison
    without a difference, and if both systems have the same value on every query.
    """
    if row.family == GUARDRAILS or row.difference is None or row.conclusion is Verdict.IDENTICAL:
        return ""
    others = f"worse on {row.losses}, equal on {row.ties}"
    if words.query_kind(outcome):
        drawn = f"of the drawn queries better on {row.wins}, {others}"
        return f": {signed(row.difference)} over the whole log; {drawn}"
    means = {each.system_id: format_plain(each.mean) for each in outcome.systems if each.metric == row.metric}
    relative = row.descriptive.relative if row.descriptive else None
    share = "" if relative is None else f", {100 * relative:+.1f} %"
    figure = f"{signed(row.difference)} {words.format_shared_queries(outcome, row)}".rstrip()
    between = f"{means[row.candidate]} against {means[row.baseline]} ({figure}{share})"
    return f": a mean of {between}; better on {queries_text(row.wins)}, {others}"


# ---- how sure


def explain_certainty(outcome: Outcome, candidate: str, rows: Sequence[Comparison]) -> Iterator[str]:
    for row in rows:
        yield from (f"{row.metric}: {text}." for text in certainty_sentences(row))
    if any(row.notes for row in rows):
        yield f"Note: {'; '.join(dict.fromkeys(note for row in rows for note in row.notes))}."


def certainty_sentences(row: Comparison) -> Iterator[str]:
    if row.family == GUARDRAILS:
        if row.lower_bound is not None and row.conclusion.is_guardrail:
            loss = abs(min(row.lower_bound, 0.0))
            loss_text = f"a loss of more than {format_distinct_effect(loss)}" if loss else "any loss"
            yield f"{loss_text} is ruled out, with {words.format_confidence_level(row.alpha)} certainty"
        return
    if row.conclusion.is_detected and row.p_adjusted is not None:
        others = f" in one of the {row.family_size} comparisons tested together" if row.family_size > 1 else ""
        chance = format_chance(row.p_adjusted)
        yield f"if no system ranked better, chance alone would show a difference as clear{others} {chance}"
    interval = words.deciding_interval(row)
    if interval is not None and row.conclusion is not Verdict.IDENTICAL:
        yield (
            f"the true difference is estimated to lie between {signed(interval.low)} and {signed(interval.high)} (a"
            f" {words.format_confidence_level(row.alpha)} interval)"
        )
    if row.conclusion is Verdict.UNDECIDED and row.mde is not None:
        sentence = f"a true difference of {format_plain(row.mde)} would be detected four times out of five"
        yield f"{sentence}, smaller ones less often"


def format_chance(chance: float) -> str:
    """Return a p-value as the frequency with which chance alone would give it: ``4 times in 100 evaluations``."""
    if chance < 1e-4:
        return "less than once in 10,000 evaluations"
    scale = next(scale for scale in (100, 1000, 10_000) if chance * scale >= 0.95)
    count = round(chance * scale)
    return f"{'once' if count == 1 else f'{count} times'} in {scale:,} evaluations"


# ---- what could overturn it


def explain_doubts(outcome: Outcome, candidate: str, rows: Sequence[Comparison]) -> Iterator[str]:
    about = [doubt.sentence for doubt in list_doubts(outcome) if doubt.reasons_about(candidate, outcome.baseline)]
    yield from (f"{text[0].upper()}{text[1:]}." for text in about)
    for row in rows:
        if sentence := explain_label_effect(row):
            yield f"{row.metric}: {sentence}."
        is_partial = row.unjudged is not None and row.unjudged.documents > 0
        if row.labels is not None and row.labels.full_difference is not None and is_partial:
            yield f"{row.metric}: {fully_judged_text(row.labels)}."
        facts = row.descriptive
        if row.conclusion.is_detected and facts and facts.top_share is not None and facts.top_share >= CARRIED:
            heavy = math.ceil(row.queries / 100)
            names = ", ".join(each.query_id for each in facts.carriers[: min(NAMED, heavy)])
            share = format_percent(facts.top_share)
            yield f"{row.metric}: the difference rests on few queries: {share} of it comes from {heavy} ({names})."
    yield from explain_other_judgments(outcome, candidate)
    for text in warning_sentences(outcome, candidate):
        yield f"The data check warns: {text}{'' if text.endswith(('?', '.')) else '.'}"
    yield "All of this holds only for queries like these, chosen in the same way."


def explain_other_judgments(outcome: Outcome, candidate: str) -> Iterator[str]:
    """Yield a sentence for each metric on which the candidate's verdict differs with other judgments.

    The other judgments are those by one judge alone, or all judgments except those that one system alone contributed.
    """
    verdicts = {row.metric: row.conclusion for row in outcome.main if row.candidate == candidate}
    others = [
        (f"by the judge {judge.name or 'without a name'} alone", judge.comparisons)
        for judge in (outcome.judges.judges if outcome.judges else ())
    ]
    others += [
        (f"without the judgments that {left.system} alone contributed", left.comparisons) for left in outcome.left_out
    ]
    for how, rows in others:
        for row in rows:
            if row.candidate == candidate and row.conclusion is not verdicts.get(row.metric):
                yield f"{row.metric}: {how} the verdict is {row.conclusion.words}."


def warning_sentences(outcome: Outcome, candidate: str) -> list[str]:
    """Return the warnings about a candidate, the baseline or all systems, without those with the code `few_judged`."""
    concerned = [
        finding
        for finding in outcome.findings
        if finding.system in (None, candidate, outcome.baseline) and finding.code != "few_judged"
    ]
    lines = finding_lines(replace(outcome, findings=tuple(concerned)))
    return [line.text for line in lines if line.severity == "warning"]


def explain_label_effect(row: Comparison) -> str:
    """Return a clause on whether unjudged results could change a verdict, and how.

    The text is empty if the queries show nothing, so that the comparison is open; if no result is unjudged; or if the
    effect of unjudged results was not computed.
    """
    unjudged = row.unjudged
    if unjudged is None or not unjudged.documents or measured_state(row).is_undecided:
        return ""
    between = ""
    if unjudged.low is not None:
        between = f"; over all their grades the difference is {signed(unjudged.low)} to {signed(unjudged.high)}"
    if can_be_reversed(row) or unjudged.tipping_factor is not None:
        return f"the verdict {describe_tipping(row)}{between}"
    stands = "the direction of the difference" if row.size is Size.BY_MORE_THAN else "the verdict"
    return f"{stands} stands even if unjudged results are 5 times as good, or as bad, as judged ones{between}"


# ---- what to do next


def advise_next_steps(outcome: Outcome, candidate: str, rows: Sequence[Comparison]) -> Iterator[str]:
    decision = next(found for found in outcome.decisions if found.candidate == candidate)
    yield decision.decision.traits.advice
    if decision.decision is Choice.DO_NOT_SHIP:
        for row in rows:  # the queries that lose most
            if row.difference is not None and row.difference < 0 and row.descriptive and row.descriptive.carriers:
                each = [f"{found.query_id} ({signed(found.difference)})" for found in row.descriptive.carriers[:NAMED]]
                yield f"{row.metric}: look first at {', '.join(each)}."
        return
    if any(can_be_reversed(row) for row in rows):
        unjudged = max(row.unjudged.documents if row.unjudged else 0 for row in rows)
        is_other = any(found.code == "no_longer_zero" for found in outcome.findings)
        if unjudged or not is_other:
            yield (
                f"Judge documents: {unjudged:,} results shown by either system are unjudged;"
                " `ndcg-ab judge-next` lists first those that would settle most."
            )
        if is_other:
            yield "Draw again (`ndcg-ab draw --kept`): queries that should show the same in every system differ."
    for row in [*rows, *gate_margins(outcome, candidate)]:
        if sentence := advise_more_queries(row, words.query_kind(outcome)):
            yield f"{'Gate, ' * (row.family == GATE)}{row.metric}: {sentence}."
    for cost in leading_costs(outcome.costs, candidate):
        if cost.queries_needed:
            yield f"{cost.metric}: ask about {cost.queries_needed:,} queries; they need no judgments."
        elif cost.has_unknown_upper_bound:
            yield f"{cost.metric}: find out why {requests_text(cost.failed)} failed, and measure again."


def advise_more_queries(row: Comparison, kind: str = "") -> str:
    """Return advice on settling an open comparison, usually the number of queries needed; empty if none is needed.

    If an undecided comparison has no smallest effect, the advice is to set one. For clustered queries, numbers are
    numbers of clusters. kind: the word before "queries", such as drawn.
    """
    count, units = row.queries, f"{kind} queries" if kind else "queries"
    if row.clusters is not None:
        count, units = row.clusters.count, "clusters"
    if row.conclusion is Verdict.MAY_BE_WORSE and row.queries_needed is not None and row.queries_needed > count:
        return f"about {row.queries_needed:,} {units} like these would settle it, with a probability of 80 %"
    if row.conclusion is not Verdict.UNDECIDED or not row.mde:
        return ""
    effect = row.smallest_effect
    if effect is None:
        advice = "set the smallest difference that matters (--smallest-effect)"
        half = f"detecting {format_plain(row.mde / 2)}, half of the present limit, needs about {4 * count:,} {units}"
        return advice if kind else f"{advice}; {half} like these"
    if row.mde <= effect:
        return f"a difference of {effect:g} would probably have been detected; more {units} can show that it is smaller"
    if kind and row.queries_needed is None:
        return f"all queries whose results differ would not detect a difference of {effect:g}"
    needed = row.queries_needed or math.ceil(count * (row.mde / effect) ** 2)
    if needed > MOST:
        return f"{effect:g} needs more than {MOST:,} {units} like these: does so little matter?"
    if kind:
        return f"about {needed:,} {units} would detect a difference of {effect:g}: add some (`ndcg-ab draw --kept`)"
    return f"collect about {needed - count:,} more {units} like these to detect a difference of {effect:g}"
