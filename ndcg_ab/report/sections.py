"""Write the report sections on costs, on changed results, and on judges."""

import itertools
from collections.abc import Iterator

from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from ndcg_ab.report import words
from ndcg_ab.report.terminal.grid import Grid, Row, print_dimmed, shorten_middle, table_title
from ndcg_ab.results.change_records import JudgeNoise, Judges, QueryDifference, RankingChanges, TopDocument
from ndcg_ab.results.cost_records import CostDifference, Costs, CostValue, format_cost, requests_text
from ndcg_ab.results.numbers import format_fraction, format_percent, format_plain, signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GATE, INTENDED, OTHERS, queries_text
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.averages import MEAN
from ndcg_core.statistics.verdicts.comparison import Comparison

SHOWN_FIRST = "p95"  # where no guardrail says which statistic matters


def leading_costs(costs: Costs | None, candidate: str) -> tuple[CostDifference, ...]:
    """Return the cost differences of a candidate that reports display beside the metrics.

    These are the differences with a guardrail. Without guardrails, the result has only the difference of the 95th
    percentile of the first cost. It is empty if costs are not recorded, or if this percentile is not computed.
    """
    if costs is None:
        return ()
    rows = [row for row in costs.differences if row.candidate == candidate]
    guarded = [row for row in rows if row.margin is not None]
    return tuple(guarded or [row for row in rows if (row.cost, row.statistic) == (costs.names[0], SHOWN_FIRST)])


def costs_with_differences(costs: Costs) -> Iterator[tuple[CostValue, CostDifference | None]]:
    """Yield every cost value with its difference from the baseline; the difference is None for the baseline."""
    pairs = {(row.candidate, row.cost, row.statistic): row for row in costs.differences}
    for statistic in dict.fromkeys((row.cost, row.statistic) for row in costs.values):
        for row in costs.values:
            if (row.cost, row.statistic) == statistic:
                yield row, pairs.get((row.system_id, row.cost, row.statistic))


def cost_cells(value: CostValue, row: CostDifference | None) -> list[str]:
    """Return the texts of a row: statistic, system, value, interval, difference with interval, guardrail verdict."""
    verdict = f"{row.mark} {row.verdict}" if row and row.verdict else ""
    numbers = row.numbers if row else ""
    name = f"{value.cost}@{value.statistic}"
    ends = ["?" if end is None else format_cost(end) for end in (value.low, value.high)]  # ?: too few queries
    return [name, value.system_id, value.number, f"[{', '.join(ends)}]", numbers, verdict]


def cost_heads(outcome: Outcome) -> list[str]:
    level = words.format_confidence_level(outcome.alpha)
    return ["cost", "system", "value", f"{level} interval", f"difference [{level} interval]", "guardrail"]


def cost_notes(costs: Costs) -> Iterator[str]:
    """Yield notes on how costs were measured, and on cold, failed and missing requests.

    If an upper end of an interval is unknown, a note explains its ``?``.
    """
    systems_by_method: dict[str, list[str]] = {}
    for row in costs.values:
        systems_by_method.setdefault(row.measured, []).append(row.system_id)
    systems = {row.system_id for row in costs.values}
    for method, names in systems_by_method.items():
        distinct = list(dict.fromkeys(names))
        prefix = "" if len(distinct) == len(systems) else f"{', '.join(distinct)}: "
        yield f"{prefix}{method}"
    if len(systems) > 1 and any("random order" in method and "by turns" not in method for method in systems_by_method):
        yield "systems were asked one after another"
    for row in costs.values:
        if row.statistic != MEAN:
            continue
        about = f"{row.system_id} {row.cost}:"
        if row.cold_requests:
            cold = requests_text(row.cold_requests)
            yield f"{about} {cold.replace(' ', ' cold ')}, mean {format_cost(row.cold_mean)}, not counted"
        if row.failed:
            failed = f"{row.failed} of {requests_text(row.queries)} failed"
            yield f"{about} {failed}; the time until one was given up is a lower bound (≥)"
        if row.missing:
            yield f"{about} missing for {row.missing} of {queries_text(row.asked)}"
    if any(row.high is None for row in costs.values):
        failed = ", or requests failed" if any(row.failed for row in costs.values) else ""
        yield f"? of an interval: too few queries for this end{failed}"


def format_query_counts(costs: Costs) -> str:
    """Return the number of queries with costs: ``120 queries``; ``latency_ms 120, price 66 of 120 queries``."""
    counts = {row.cost: row.queries for row in costs.values}
    total = max((max(row.asked, row.queries) for row in costs.values), default=0)
    if all(count == total for count in counts.values()):
        return queries_text(total)
    each = [f"{cost} {count}" if len(counts) > 1 else str(count) for cost, count in counts.items()]
    return f"{', '.join(each)} of {queries_text(total)}"


def print_costs(console: Console, outcome: Outcome) -> None:
    """Print every cost statistic of every system, and how the costs were measured; nothing without costs."""
    if outcome.costs is None:
        return
    head = cost_heads(outcome)
    rows = [cost_cells(*pair) for pair in costs_with_differences(outcome.costs)]
    title = table_title("what requests cost", format_query_counts(outcome.costs))
    lines = [Row(cells[:2], [*cells[2:4], f"{cells[5][:1]} {cells[4]}".strip()]) for cells in rows]
    Grid(head[:2], head[2:5], lines).print(console, title)
    for note in cost_notes(outcome.costs):
        print_dimmed(console, note)
    console.print()


MOST_SHOWN = 8  # candidates with a sentence each; of more the tables tell
SIDE_BY_SIDE = 4  # candidates whose largest changes stand side by side
COLUMNS = (20, 40)  # of a document, at least and at most


def format_changes(changes: RankingChanges) -> str:
    """Return the changes in the top results: ``top 10 changed on 131 of 158 queries (ndcg@10 on 120): …``."""
    if not changes.changed:
        return f"top {changes.depth} unchanged on {queries_text(changes.queries)}"
    moved = (
        f"{changes.entered} document{'s' * (changes.entered != 1)} added"
        f" ({changes.entered_relevant} relevant, {changes.entered_unjudged} unjudged),"
        f" {changes.left} dropped ({changes.left_relevant} relevant, {changes.left_unjudged} unjudged)"
    )
    if not changes.entered and not changes.left:
        moved = "no document added or dropped"
    head = f"top {changes.depth} changed on {changes.changed} of {queries_text(changes.queries)}"
    return f"{head} ({changes.metric} on {changes.metric_changed}): {moved}"


def changes_by_candidate(outcome: Outcome) -> dict[str, str]:
    """Return candidate -> sentence about changed results; empty if there are more than `MOST_SHOWN` candidates."""
    return {row.candidate: format_changes(row) for row in outcome.changes} if len(outcome.changes) <= MOST_SHOWN else {}


def changes_heads(changes: RankingChanges) -> list[str]:
    """Return the column heads of the table of changed results, such as "queries changed" and "added, relevant"."""
    shares = ["shared, mean", "shared, median", "RBO, mean", "RBO, median"]
    counts = [f"{what}{kind}" for what in ("added", "dropped") for kind in ("", ", relevant", ", unjudged")]
    return ["queries changed", f"{changes.metric} changed", *shares, *counts]


def print_changes(console: Console, outcome: Outcome) -> None:
    """Print what changed in the top results of each candidate; print nothing if this is unknown.

    A table of all candidates comes first. For each of the first `SIDE_BY_SIDE` candidates, it is followed by the
    numbers of added and removed documents by grade, and by the results of candidate and baseline on the queries with
    the largest differences.
    """
    if not outcome.changes:
        return
    first = outcome.changes[0]
    order = {name: index for index, name in enumerate(words.order_candidates(outcome))}
    changes = sorted(outcome.changes, key=lambda row: order.get(row.candidate, len(order)))
    rows = []
    for found in changes:
        counts = [found.entered, found.entered_relevant, found.entered_unjudged]
        counts += [found.left, found.left_relevant, found.left_unjudged]
        shares = map(format_fraction, (found.overlap, found.overlap_median, found.rbo, found.rbo_median))
        cells = [f"{found.changed} of {found.queries}", str(found.metric_changed), *shares, *map(str, counts)]
        rows.append(Row([found.candidate], cells))
    title = table_title(f"what changed in the top {first.depth}", "(decides nothing)")
    Grid(["system"], changes_heads(first), rows).print(console, title)
    for found in changes[:SIDE_BY_SIDE]:
        if found.grades:
            each = ", ".join(f"{format_grade(row.grade)}: {row.entered} in, {row.left} out" for row in found.grades)
            print_dimmed(console, f"{found.candidate}, by grade: {each}")
        queries = sorted(found.largest, key=lambda query: -query.difference)
        for query in queries if len(changes) == 1 else dict.fromkeys([*queries[:1], *queries[-1:]]):
            for line in format_side_by_side(found, query, console.width):
                print_dimmed(console, line)
    console.print()


def format_grade(grade: float | None) -> str:
    return "unjudged" if grade is None else f"grade {grade:g}"


def format_side_by_side(changes: RankingChanges, query: QueryDifference, width: int) -> Iterator[str]:
    """Yield lines with the top results of both systems on one query; ✕ marks removed documents, + added ones.

    width: columns of the terminal.
    """
    yield (
        f"{changes.candidate}, {query.query_id}: {signed(query.difference)} on {changes.metric},"
        f" overlap {format_fraction(query.overlap)}, RBO {format_fraction(query.rbo)}"
    )
    room = min(COLUMNS[1], max(COLUMNS[0], (width - 9) // 2))
    left, right = (
        [format_document(row, "✕" if is_baseline else "+", room) for row in rows]
        for is_baseline, rows in ((True, query.baseline), (False, query.candidate))
    )
    for rank, (one, other) in enumerate(itertools.zip_longest(left, right, fillvalue=""), 1):
        yield f"  {rank:>3}  {set_cell_size(one, room)}  {other}".rstrip()


def format_document(row: TopDocument, mark: str, room: int) -> str:
    """Return a document with its mark and grade: ``+ d17 (2)``, in at most `room` columns; ``–`` for no grade.

    mark: the symbol of a document that only one of the systems returns; it is left out if both return the document.
    """
    grade = "–" if row.grade is None else f"{row.grade:g}"
    tail = f" ({grade})"
    return f"{mark if row.other_rank is None else ' '} {shorten_middle(row.doc_id, room - 2 - len(tail))}{tail}"


def format_intended(outcome: Outcome, candidate: str, metric: str) -> str | None:
    """Return how many queries changed among those that the change is meant for, and among the others.

    None if no such queries are configured. ``moved 31 of the 40 queries it was meant for: +0.0312 [+0.0100, +0.0524],
    improved; and 212 of 300 others: …``
    """
    rows = [row for row in outcome.intended if (row.candidate, row.metric) == (candidate, metric)]
    parts = {row.slice or "": row for row in rows}
    if not parts:
        return None
    target, others = parts.get(INTENDED), parts.get(OTHERS)
    texts = []
    if target:
        texts.append(
            f"moved {target.differing} of the {queries_text(target.queries)} it was meant for{format_part(target)}"
        )
    if others:
        head = f"{others.differing} of {others.queries} other{'s' * (others.queries != 1)}"
        texts.append(f"{'and' if target else 'moved'} {head}{format_part(others)}")
    return "; ".join(texts)


def notes_on_metric(outcome: Outcome, metric: Metric, *, has_tables: bool = False) -> Iterator[str]:
    """Yield further remarks about the comparisons on a metric, each with the name of the candidate.

    They are about gates, intended queries, proxy judgments, unjudged results and changed results. has_tables: True if
    tables beside the remarks show unjudged and changed results; the remarks on these are then left out.
    """
    changed = changes_by_candidate(outcome) if metric == outcome.metrics[0] else {}
    gates = [row for row in outcome.comparisons if row.family == GATE and row.metric == metric.name]
    for row in words.order_comparisons(outcome, metric):
        for text in (
            *(
                f"gate: {words.comparison_mark(gate)} {gate.verdict}"
                for gate in gates
                if gate.candidate == row.candidate
            ),
            format_intended(outcome, row.candidate, row.metric),
            words.format_proxy_correction(row),
            *(() if has_tables else (words.format_tipping(row), words.format_labels(row), changed.get(row.candidate))),
        ):
            if text:
                yield f"{row.candidate}, {row.metric}: {text}"


def format_part(row: Comparison) -> str:
    between = f" {words.format_interval(row)}" if row.low is not None else ""
    return f": {signed(row.difference)}{between}, {row.verdict}"


SHOWN_PAIRS = 10  # pairs of judges in the terminal; the JSON has all
MOST_NAMED = 4  # judges that a line names


def format_judges_line(outcome: Outcome) -> str | None:
    """Return a line with the comparisons on which judges disagree: ``judges disagree on new, ndcg@10: …``.

    None if no document has several judges, or if all judges give the same verdicts.
    """
    if outcome.judges is None:
        return None
    texts = []
    for (metric, candidate), rows in group_by_comparison(outcome.judges).items():
        if len({row.conclusion for row in rows.values()}) > 1:
            each = [
                f"{row.conclusion.words} under {judge_name(judge)} ({queries_text(row.queries)})"
                for judge, row in rows.items()
            ]
            more = f" and {len(each) - MOST_NAMED} more" if len(each) > MOST_NAMED else ""
            texts.append(f"{candidate}, {metric}: {', '.join(each[:MOST_NAMED])}{more}")
    return f"judges disagree on {'; '.join(texts)}" if texts else None


def group_by_comparison(judges: Judges) -> dict[tuple[str, str], dict[str, Comparison]]:
    """Return the comparisons by each judge alone, as (metric, candidate) -> name of the judge -> comparison."""
    groups: dict[tuple[str, str], dict[str, Comparison]] = {}
    for judge in judges.judges:
        for row in judge.comparisons:
            groups.setdefault((row.metric, row.candidate), {})[judge.name] = row
    return groups


def judge_name(judge: str) -> str:
    return judge or "no name"


def format_agreement(judges: Judges) -> str:
    """Return a sentence on the agreement of the judges."""
    count = len(judges.judges)
    text = f"{count} judges; several judged {judges.several:,} documents, and disagree on {judges.disagreed:,}"
    return f"{text}; Krippendorff's alpha {format_plain(judges.alpha)} (of ordinal grades)"


def format_noise(row: JudgeNoise) -> str:
    """Return a sentence on how much a difference varies if a random judge grades each document."""
    return (
        f"{row.candidate}, {row.metric}: with a judge drawn for each document the difference is {signed(row.mean)} ±"
        f" {row.sd:.4f} (standard deviation; {signed(row.lowest)} to {signed(row.highest)} in {row.draws} draws), of"
        f" the other sign in {format_percent(row.turned)}"
    )


def print_judges(console: Console, outcome: Outcome) -> None:
    """Print the agreement of the judges, and the verdicts by each judge alone.

    Print nothing if no document has several judges.
    """
    judges = outcome.judges
    if judges is None:
        return
    rows = [Row([judge_name(each.name)], [f"{each.documents:,}", f"{each.queries:,}"]) for each in judges.judges]
    Grid(["judge"], ["documents", "queries"], rows).print(console, Text(format_agreement(judges)))
    pairs = [
        Row(
            [judge_name(pair.first), judge_name(pair.second)],
            [f"{pair.shared:,}", format_percent(pair.same), format_plain(pair.kappa)],
        )
        for pair in judges.pairs[:SHOWN_PAIRS]
    ]
    title = Text("two judges on the documents of both")
    Grid(["judge", "and"], ["documents", "same grade", "kappa"], pairs).print(console, title)
    columns = ("queries", "difference", "interval", "adjusted p")
    verdicts = [
        Row([row.candidate, row.metric, judge_name(judge)], words.comparison_cells(row, columns), Text(row.verdict))
        for found in group_by_comparison(judges).values()
        for judge, row in found.items()
    ]
    Grid(["system", "metric", "judge"], columns, verdicts).print(console, Text("under each judge alone"))
    for noise in judges.noise:
        print_dimmed(console, format_noise(noise))
    console.print()
