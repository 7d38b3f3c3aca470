"""Findings: what the data check noticed, from the tables, as sentences."""

from collections.abc import Mapping, Sequence

from flows.config import Evaluation
from flows.errors import InputError
from flows.outcome import SEVERITIES, Finding, SystemSummary
from flows.rules import deepest_cutoff
from flows.sources import Pulled
from flows.warehouse import Warehouse
from flows.wording import queries_text
from ndcg_core.metric import Metric, number

FEW_JUDGED = 0.8  # below this share of judged results the unjudged ones can hide or fake a difference

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
    warehouse: Warehouse,
    judgments: Pulled,
    rankings: Mapping[str, Pulled],
    metrics: Sequence[Metric],
    *,
    one_query: bool = False,
) -> list[Finding]:
    """What is worth knowing before anything is scored; InputError on what makes scores meaningless.

    one_query: the rankings hold a single query, so that other queries are not missed.
    """
    refuse_contradictions(warehouse, judgments)
    refuse_grades(warehouse, judgments, metrics)
    refuse_missing_ranks(warehouse, rankings, metrics)
    found = check_duplicates(warehouse, rankings, metrics)
    warehouse.build("answered_query", "finding", cutoff=deepest_cutoff(metrics))
    if one_query:
        return found
    errors = []
    for code, severity, subject, count, example in warehouse.rows(
        "select code, severity, subject, count, example from finding order by code, subject"
    ):
        own = rankings[subject].table["query_id"][0].as_py() if subject in rankings else None
        words = numerus(count) | policies(metrics, count)
        message = SENTENCES[code].format(subject=subject, count=count, example=example, own=own, **words)
        found.append(Finding(code, severity, message, count))
        if severity == "error":
            errors.append(f"{rankings[subject].origin}: {message}")
    if errors:
        raise InputError("\n".join(errors))
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


def check_scored(warehouse: Warehouse, metrics: Sequence[Metric]) -> list[Finding]:
    """Says which metrics find nothing to count in queries that do have grades above 0."""
    found = []
    for name, count, example in warehouse.rows(
        "with graded as (select query_id from judgment group by query_id having max(grade) > 0)"
        " select metric.name, count(*), min(graded.query_id) from metric cross join graded"
        " left join scored_query as s on s.metric_id = metric.metric_id and s.query_id = graded.query_id"
        " where not coalesce(s.is_relevant, false) group by metric.name, metric.place order by metric.place"
    ):
        policy = next(metric.no_relevant for metric in metrics if metric.name == name)
        message = (
            f"{name}: {queries_text(count)} {numerus(count)['have']} grades above 0, but none that this metric counts"
            f" (such as {example!r});"
            f" no_relevant = {policy}"
        )
        found.append(Finding("nothing_counted", "note", message, count))
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


def refuse_contradictions(warehouse: Warehouse, judgments: Pulled) -> None:
    warehouse.build("contradicting_judgment")
    rows = warehouse.rows("select * from contradicting_judgment order by query_id, doc_id limit 1")
    for query_id, doc_id, lowest, highest in rows:
        total = warehouse.rows("select count(*) from contradicting_judgment")[0][0]
        raise InputError(
            f"{judgments.place_of(query_id, doc_id)}: document {doc_id!r} of query {query_id!r} is judged"
            f" {number(lowest)} and {number(highest)}: a document has one grade ({total} such in the file)"
        )


def refuse_grades(warehouse: Warehouse, judgments: Pulled, metrics: Sequence[Metric]) -> None:
    """Grades that a metric does not take: below 0, or above the highest that it names."""
    strict = next((metric for metric in metrics if metric.negative == "error"), None)
    capped = [metric for metric in metrics if metric.max_grade is not None]
    limits: list[tuple[Metric, str, str]] = []
    if strict:
        limits.append((strict, "grade < 0 order by grade, query_id, doc_id", "must not be below 0 (negative = error)"))
    if capped:
        lowest = min(capped, key=lambda metric: metric.max_grade or 0.0)
        rule = f"must not be above its max_grade = {number(lowest.max_grade or 0.0)}"
        limits.append((lowest, "grade > $limit order by grade desc, query_id, doc_id", rule))
    for metric, condition, rule in limits:
        select = f"select query_id, doc_id, grade from pulled_judgment where {condition} limit 1"
        rows = warehouse.rows(select, {"limit": metric.max_grade} if "$limit" in select else None)
        for query_id, doc_id, grade in rows:
            where = judgments.place_of(query_id, doc_id)
            raise InputError(f"{where}: grade = {number(grade)}: with the metric {metric.name} it {rule}")


def refuse_missing_ranks(warehouse: Warehouse, rankings: Mapping[str, Pulled], metrics: Sequence[Metric]) -> None:
    """ties = given orders by the rankings' own ranks: they must be there."""
    for metric in metrics:
        if metric.ties == "given":
            for name, pulled in rankings.items():
                if pulled.table["rank"].null_count:
                    raise InputError(
                        f"{pulled.origin}: system {name} gives no ranks, which the metric {metric.name} orders by;"
                        " choose another rule for ties"
                    )


def check_duplicates(warehouse: Warehouse, rankings: Mapping[str, Pulled], metrics: Sequence[Metric]) -> list[Finding]:
    """A document twice in one ranking would gain twice.

    Sorting one hash per result is several times faster than grouping by two texts, and distinct hashes
    prove distinct documents; only where two are equal is the SQL asked whether the documents are.
    """
    found = []
    for system_id, pulled in rankings.items():
        warehouse.put("one_ranking", pulled.table.select(["query_id", "doc_id"]))
        hashes = warehouse.hashes("one_ranking", ["query_id", "doc_id"])
        hashes.sort()
        if not (hashes[1:] == hashes[:-1]).any():
            continue
        warehouse.build("duplicate_document", system_id=system_id)
        rows = warehouse.rows("select * from duplicate_document order by query_id, doc_id limit 1")
        for _, query_id, doc_id, copies in rows:
            total = warehouse.rows("select count(*) from duplicate_document")[0][0]
            if all(metric.duplicates == "first" for metric in metrics):
                message = (
                    f"system {system_id} holds {total} documents more than once for one query (such as {doc_id!r} of"
                    f" query {query_id!r}): the best placed of them counts (duplicates = first)"
                )
                found.append(Finding("duplicate_document", "warning", message, total))
                continue
            raise InputError(
                f"{pulled.place_of(query_id, doc_id)}: document {doc_id!r} stands {copies} times in the ranking of"
                f" query {query_id!r} by system {system_id}: a ranking holds a document once ({total} such in it)"
            )
    if found:
        warehouse.build("distinct_result")
        warehouse.put("pulled_ranking", warehouse.arrow("select * from distinct_result"))
    return found


def check_queries(warehouse: Warehouse, evaluation: Evaluation) -> list[Finding]:
    """Warns where the file of queries is used, and names none of the judged ones: the two spell their ids otherwise."""
    weighted = evaluation.statistics.weighted is not False
    weighed = weighted and warehouse.rows("select count(*) from pulled_query where weight is not null")[0][0]
    if evaluation.queries is None or not (evaluation.slices.by or weighed):
        return []
    judged, named, example, own = warehouse.rows(
        "select count(*), count(pulled_query.query_id), min(query.query_id),"
        " (select min(query_id) from pulled_query)"
        " from query left join pulled_query using (query_id) where query.is_judged"
    )[0]
    if named or not judged:
        return []
    message = (
        f"queries: {evaluation.queries.file.name} names none of the {judged} judged {numerus(judged)['queries']}"
        f" (the first is {example!r}, the first of its own {own!r}): the query ids of both must be the same"
    )
    return [Finding("queries_unmatched", "warning", message, judged)]


def refuse_missing_gains(warehouse: Warehouse, metrics: Sequence[Metric]) -> None:
    """A gain table must know every grade above 0 that occurs, and every gain must be a number to add up."""
    # The tests take cubes of differences; those of dcg and cg are as large as the gains.
    beyond = (
        "select gain_rule, min(grade) from gain where gain > 1e300 or (gain > 1e90 and gain_rule in"
        " (select gain_rule from metric where measure in ('dcg', 'cg'))) group by gain_rule"
    )
    for gain_rule, grade in warehouse.rows(beyond):
        raise InputError(
            f"grade = {number(grade)}: its gain by the rule {gain_rule} is too large to add up;"
            " choose another gain, or a table of gains"
        )
    rows = warehouse.rows("select gain_rule, min(grade) from gain where gain is null group by gain_rule")
    for gain_rule, grade in rows:
        names = [metric.name for metric in metrics if gain_rule in metric.name]
        raise InputError(
            f"metric {names[0]}: its gain table has no entry for grade {number(grade)}, which the judgments hold (or"
            f" max_grade names); add {number(grade)}:GAIN"
        )


def check_coverage(systems: Sequence[SystemSummary]) -> list[Finding]:
    """Warns where many results are unjudged: they count as not relevant, which may be untrue for one system."""
    worst: dict[str, SystemSummary] = {}
    for summary in systems:
        known = worst.get(summary.system_id)
        if summary.judged is None or summary.judged >= FEW_JUDGED:
            continue
        if known is None or summary.judged < (known.judged or 0.0):
            worst[summary.system_id] = summary
    return [
        Finding(
            "few_judged",
            "warning",
            f"system {summary.system_id}: only {100 * (summary.judged or 0.0):.0f} % of the results that"
            f" {summary.metric} looks at have a judgment; the others count as not relevant",
            summary.queries,
        )
        for summary in worst.values()
    ]
