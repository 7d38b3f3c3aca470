"""Findings: what the data check noticed, from the tables, as sentences."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.evaluation.metric_tables import EVERYTHING
from ndcg_ab.evaluation.outcome import SEVERITIES, Finding, SystemSummary
from ndcg_ab.evaluation.phrases import FEW_JUDGED, percent_below, queries_text
from ndcg_ab.evaluation.unmatched_ids import check_documents, distinct, query_spelling
from ndcg_ab.sources import Pulled
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.writing import number

SENTENCES = {
    "no_shared_query": "system {subject} answers none of the {count} judged {queries} (the first is {example!r},"
    " the first of its own {own!r}): its query ids and those of the judgments must be the same",
    "unanswered_query": "system {subject} returned nothing for {count} of the judged queries (such as {example!r}):"
    " {unanswered}",
    "unjudged_query": "system {subject} answers {count} {queries} that nobody judged (such as {example!r}):"
    " {they_are} not scored",
    "repeated_rank": "system {subject} gives {count} {results} a rank that another result of the query has (such as"
    " in query {example!r}): {they_are} ordered by document id",
    "no_relevant_query": "{count} judged {queries} {have} no grade above 0 (such as {example!r}): {no_relevant}",
    "negative_grade": "{count} {judgments} {have} a grade below 0 (such as in query {example!r}): {they_gain} nothing",
    "repeated_judgment": "{count} {judgments} {stand} in the file more than once with the same grade (such as in query"
    " {example!r}): each counts once",
}


def check(
    engine: Engine,
    judgments: Pulled,
    rankings: Mapping[str, Pulled],
    metrics: Sequence[Metric],
    *,
    one_query: bool = False,
) -> list[Finding]:
    """What is worth knowing before anything is scored; InputError on what makes scores meaningless.

    one_query: the rankings hold a single query, so that other queries are not missed.
    """
    refuse_contradictions(engine, judgments)
    refuse_grades(engine, judgments, metrics)
    refuse_missing_ranks(engine, rankings, metrics)
    found = check_duplicates(engine, rankings, metrics)
    if one_query:
        return found
    errors = []
    columns = ("code", "severity", "subject", "count", "example")
    for code, severity, subject, count, example in engine.rows("finding", columns, order="code, subject"):
        own = rankings[subject].table["query_id"][0].as_py() if subject in rankings else None
        words = numerus(count) | policies(metrics, count)
        message = SENTENCES[code].format(subject=subject, count=count, example=example, own=own, **words)
        found.append(Finding(code, severity, message, count, subject if subject in rankings else None))
        if severity == "error":
            other = query_spelling(*(distinct(each.table["query_id"]) for each in (rankings[subject], judgments)))
            errors.append(f"{rankings[subject].origin}: {message}{other}")
    if errors:
        raise InputError("\n".join(errors))
    found += check_documents(engine, judgments, rankings)
    found += check_copies(rankings)
    return by_severity([*found, *left_out(found, metrics)])


def numerus(count: int) -> dict[str, str]:
    """Nouns and verbs that agree with a count."""
    plural = {"queries": "query", "results": "result", "judgments": "judgment", "have": "has", "stand": "stands"}
    plural |= {"they_are": "it is", "they_gain": "it gains"}
    return plural if count == 1 else {word: word.replace("_", " ") for word in plural}


def policies(metrics: Sequence[Metric], count: int) -> dict[str, str]:
    """What the metrics do with queries that nobody answered, or that have nothing to find, in words."""
    they_are, each = numerus(count)["they_are"], "it" if count == 1 else "each"
    unanswered = {metric.unanswered for metric in metrics}
    scores = f"{each} scores 0" if "zero" in unanswered else f"{they_are} left out"
    if len(unanswered) > 1:
        scores += ", or is left out by metrics with unanswered = exclude"
    no_relevant = {metric.no_relevant for metric in metrics}
    words = {"exclude": f"{they_are} left out", "zero": f"{each} scores 0", "one": f"{each} scores 1"}
    value = " or ".join(words[policy] for policy in words if policy in no_relevant) + ", for every system"
    return {"unanswered": scores, "no_relevant": value + (", by the metric" if len(no_relevant) > 1 else "")}


def check_scored(engine: Engine, metrics: Sequence[Metric]) -> list[Finding]:
    """Says which metrics find nothing to count in queries that do have grades above 0."""
    found = []
    uncounted = engine.rows("uncounted_query", ("metric_id", "query_id"), order="query_id")
    for metric in metrics:
        queries = [query_id for metric_id, query_id in uncounted if metric_id == metric.hash]
        if queries:
            count = len(queries)
            message = (
                f"{metric.name}: {queries_text(count)} {numerus(count)['have']} grades above 0, but none that this"
                f" metric counts (such as {queries[0]!r}); no_relevant = {metric.no_relevant}"
            )
            found.append(Finding("nothing_counted", "note", message, count, metric=metric.name))
    return found


def left_out(findings: Sequence[Finding], metrics: Sequence[Metric]) -> list[Finding]:
    """Says so where a metric forgives what a system did not answer."""
    names = [metric.name for metric in metrics if metric.unanswered == "exclude"]
    unanswered = sum(finding.count for finding in findings if finding.code == "unanswered_query")
    if not names or not unanswered:
        return []
    message = (
        f"{', '.join(names)} leaves out what a system did not answer, where others score 0: a system gains by not"
        " answering what it is bad at; differences are taken over the queries that both answered"
    )
    return [Finding("unanswered_left_out", "warning", message, unanswered)]


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """The gravest first, otherwise in the order given."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def refuse_contradictions(engine: Engine, judgments: Pulled) -> None:
    columns = ("query_id", "doc_id", "lowest", "highest")
    rows = engine.rows("contradicting_judgment", columns, order="query_id, doc_id")
    for query_id, doc_id, lowest, highest in rows:
        total = len(rows)
        raise InputError(
            f"{judgments.place_of(query_id, doc_id)}: document {doc_id!r} of query {query_id!r} is judged"
            f" {number(lowest)} and {number(highest)}: a document has one grade ({total} such)"
        )


def refuse_grades(engine: Engine, judgments: Pulled, metrics: Sequence[Metric]) -> None:
    """Grades that a metric does not take: below 0, or above the highest that it names."""
    strict = next((metric for metric in metrics if metric.negative == "error"), None)
    capped = [metric for metric in metrics if metric.max_grade is not None]
    limits: list[tuple[Metric, float, float, str, str]] = []
    if strict:
        limits.append((strict, 0.0, math.inf, "grade", "must not be below 0 (negative = error)"))
    if capped:
        lowest = min(capped, key=lambda metric: metric.max_grade or 0.0)
        highest = lowest.max_grade or 0.0
        rule = f"must not be above its max_grade = {number(highest)}"
        limits.append((lowest, -math.inf, highest, "grade desc", rule))
    for metric, least, most, worst_first, rule in limits:
        order = f"{worst_first}, query_id, doc_id"
        for query_id, doc_id, grade in engine.rows("refused_grade", order=order, lowest=least, highest=most):
            where = judgments.place_of(query_id, doc_id)
            raise InputError(f"{where}: grade = {number(grade)}: with the metric {metric.name} it {rule}")


def refuse_missing_ranks(engine: Engine, rankings: Mapping[str, Pulled], metrics: Sequence[Metric]) -> None:
    """ties = given orders by the rankings' own ranks: they must be there."""
    for metric in metrics:
        if metric.ties == "given":
            for name, pulled in rankings.items():
                if pulled.table["rank"].null_count:
                    raise InputError(
                        f"{pulled.origin}: system {name} gives no ranks, which the metric {metric.name} orders by;"
                        " choose another rule for ties"
                    )


def check_duplicates(engine: Engine, rankings: Mapping[str, Pulled], metrics: Sequence[Metric]) -> list[Finding]:
    """A document twice in one ranking would gain twice; it is looked up where a quick look cannot rule that out."""
    found = []
    for system_id, pulled in rankings.items():
        engine.put("pulled_one_ranking", pulled.table.select(["query_id", "doc_id"]))
        if not engine.repeats("pulled_one_ranking", ["query_id", "doc_id"]):
            continue
        columns = ("query_id", "doc_id", "copies")
        rows = engine.rows("duplicate_document", columns, order="query_id, doc_id", system_id=system_id)
        for query_id, doc_id, copies in rows[:1]:
            total = len(rows)
            if all(metric.duplicates == "first" for metric in metrics):
                message = (
                    f"system {system_id} holds {total} documents more than once for one query (such as {doc_id!r} of"
                    f" query {query_id!r}): the best placed of them counts (duplicates = first)"
                )
                found.append(Finding("duplicate_document", "warning", message, total, system_id))
                continue
            raise InputError(
                f"{pulled.place_of(query_id, doc_id)}: document {doc_id!r} stands {copies} times in the ranking of"
                f" query {query_id!r} by system {system_id}: a ranking holds a document once ({total} such in it)"
            )
    if found:
        engine.use("distinct_result", instead_of="pulled_ranking")
    return found


def check_copies(rankings: Mapping[str, Pulled]) -> list[Finding]:
    """Says so where two systems gave the same rows: often one file was given under two names."""
    found = []
    for (name, pulled), (other, copy) in combinations(rankings.items(), 2):
        first, second = pulled.table, copy.table
        # The documents first: where they differ, they do so early.
        if first["doc_id"].equals(second["doc_id"]) and first.equals(second):
            message = (
                f"systems {name} and {other} have the same ranking ({pulled.origin} and {copy.origin}):"
                " every difference between them is 0"
            )
            found.append(Finding("same_ranking", "warning", message, first.num_rows))
    return found


def check_queries(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """Warns where the file of queries is used, and names none of the judged ones: the two spell their ids otherwise."""
    if evaluation.queries is None:
        return []
    rows = engine.rows("query", ("query_id", "is_judged", "is_named", "weight"), order="query_id")
    weighed = evaluation.statistics.weighted is not False and any(row[3] is not None for row in rows)
    ids = [query_id for query_id, is_judged, *_ in rows if is_judged]
    if not (evaluation.slices.by or weighed) or not ids or any(judged and named for _, judged, named, _ in rows):
        return []
    judged, example, own = len(ids), ids[0], next((query_id for query_id, _, named, _ in rows if named), None)
    message = (
        f"queries: {evaluation.queries.source.shown} names none of the {judged} judged {numerus(judged)['queries']}"
        f" (the first is {example!r}, the first of its own {own!r}): the query ids of both must be the same"
        + query_spelling([query_id for query_id, _, named, _ in rows if named], ids)
    )
    return [Finding("queries_unmatched", "warning", message, judged)]


def refuse_missing_gains(engine: Engine, metrics: Sequence[Metric]) -> None:
    """A gain table must know every grade above 0 that occurs, and every gain must be a number to add up."""
    impossible = engine.rows("impossible_gain", ("gain_rule", "grade", "gain"), order="gain_rule, grade")
    for gain_rule, grade in (row[:2] for row in impossible if row[2] is not None):
        raise InputError(
            f"grade = {number(grade)}: its gain by the rule {gain_rule} is too large to add up;"
            " choose another gain, or a table of gains"
        )
    for gain_rule, grade, _ in impossible:
        names = [metric.name for metric in metrics if gain_rule in metric.name]
        raise InputError(
            f"metric {names[0]}: its gain table has no entry for grade {number(grade)}, which the judgments hold (or"
            f" max_grade names); add {number(grade)}:GAIN"
        )


def check_coverage(systems: Sequence[SystemSummary]) -> list[Finding]:
    """Warns where many results are unjudged: they count as not relevant, which may be untrue for one system.

    One finding for each system and each cutoff, of the metric that finds the fewest judged there.
    """
    worst: dict[tuple[str, int], SystemSummary] = {}
    for summary in sorted(systems, key=lambda summary: (summary.judged or 0.0, summary.metric)):
        if summary.judged is not None and summary.judged < FEW_JUDGED:
            worst.setdefault((summary.system_id, cutoff_of(summary)), summary)
    places = list(dict.fromkeys(summary.system_id for summary in systems))
    found = []
    for (system_id, _), summary in sorted(worst.items(), key=lambda item: (item[0][1], places.index(item[0][0]))):
        share = summary.judged or 0.0
        message = (
            f"system {system_id}: only {percent_below(share, FEW_JUDGED)} of the results that {summary.metric} looks at"
            " have a judgment; the others count as not relevant"
        )
        count = summary.queries
        found.append(Finding("few_judged", "warning", message, count, system_id, summary.metric, share))
    return found


def cutoff_of(summary: SystemSummary) -> int:
    """Down to which rank a system's metric looks."""
    return parse(summary.metric).cutoff or EVERYTHING
