"""Check judgments and rankings before anything is scored, and write the findings."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from ndcg_ab.checks.findings import MOST, apply_severities, id_examples, make_finding, refuse_errors, row_examples
from ndcg_ab.checks.id_spellings import check_spellings, query_spelling_hint
from ndcg_ab.checks.order_checks import check_order_alone
from ndcg_ab.checks.plausibility_checks import check_grade_order, check_odd_documents
from ndcg_ab.checks.ranking_checks import Notices, check_depths, check_rankings, findings_from_pulled, read_notices
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import CHECKS, load_named, translate_foreign_errors
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.needed_results import FIRST_QUERIES
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, pull_source
from ndcg_ab.sources.tables.document_rules import document_rules
from ndcg_ab.sources.tables.on_disk import table_or_file
from ndcg_core.measures.metric import Metric, format_number

SENTENCES = {
    "no_shared_query": "system {subject} answers none of the {count} judged {queries} (the first is {example!r},"
    " the first of its own {own!r}): its query ids and those of the judgments must be the same",
    "unanswered_query": "system {subject} returned nothing for {count} of the judged queries (such as {example!r}):"
    " {unanswered}",
    "unjudged_query": "system {subject} answers {count} {queries} that nobody judged (such as {example!r}):"
    " {they_are} not scored",
    "no_relevant_query": "{count} judged {queries} {have} no grade above 0 (such as {example!r}): {no_relevant}",
    "negative_grade": "{count} {judgments} {have} a grade below 0 (such as in query {example!r}): {they_gain} nothing",
    "fractional_grade": "{count} {judgments} {have} a grade with a fraction (such as document {document!r} of query"
    " {example!r}), and grades = integer",
    "repeated_judgment": "{count} {judgments} {are} in the file more than once with the same grade (such as in query"
    " {example!r}): each counts once",
}
TAGS = "several_tags"


def check_tables(
    engine: Engine,
    judgments: Pulled,
    rankings: Mapping[str, Pulled],
    evaluation: Evaluation,
    *,
    one_query: bool = False,
) -> list[Finding]:
    """Check the loaded judgments and rankings, and return findings.

    The findings have the default severity of their code; `apply_severities` replaces it by the configured one. Raises
    InputError for input that makes scores meaningless. Raises CompleteRankingNeededError if a check needs all rows of a
    ranking of which only the needed results were loaded. one_query: True if the rankings hold a single query; then only
    the checks for contradictions, refused grades, missing ranks and duplicates run.
    """
    metrics = evaluation.metric_list
    refuse_contradictions(engine, judgments)
    refuse_grades(engine, judgments, metrics)
    refuse_missing_ranks(rankings, metrics)
    findings = check_duplicates(engine, rankings, metrics)
    if one_query:
        return findings
    notices = read_notices(engine)
    findings += check_loaded_rows(notices, judgments, rankings, evaluation)
    findings += check_rankings(engine, notices, rankings)
    findings += findings_from_pulled("judgments", judgments)
    findings += check_spellings(engine, metrics, judgments, rankings)
    misspelt = {finding.system for finding in findings if finding.code == "id_spelling" and finding.severity == "error"}
    findings += check_judged_results(engine, rankings, misspelt)
    findings += check_odd_documents(engine, metrics)
    findings += unanswered_note(findings, metrics)
    findings += run_extension_checks(engine, evaluation)
    if any(finding.severity == "error" for finding in findings):
        refuse_errors(findings, evaluation, {name: pulled.origin for name, pulled in rankings.items()})
    findings += check_depths(engine, metrics)
    findings += check_grade_order(engine, metrics, judgments, rankings)
    return [*findings, *remote_table_notes(judgments, rankings)]


def remote_table_notes(judgments: Pulled, rankings: Mapping[str, Pulled]) -> Iterator[Finding]:
    """Yield a note if tables stay on a cluster, where the order of their rows is not checked."""
    staying = ["the judgments"] * bool(judgments.remote_table)
    staying += [f"system {name}" for name, pulled in rankings.items() if pulled.remote_table]
    if staying:
        message = f"{', '.join(staying)}: rows stay on the cluster, where their order (rising_score) is not looked at"
        yield make_finding("rows_elsewhere", message, len(staying))


def check_loaded_rows(
    notices: Notices, judgments: Pulled, rankings: Mapping[str, Pulled], evaluation: Evaluation
) -> Iterator[Finding]:
    """Yield findings on grades and judgments, and on queries that are unanswered or not judged.

    Notices with other codes are skipped.
    """
    wants_integers = evaluation.judgments is not None and evaluation.judgments.grades == "integer"
    for (code, subject), row in notices.items():
        if code not in SENTENCES or (code == "fractional_grade" and not wants_integers):
            continue
        example, document = row.documents[0]
        pulled = rankings[subject] if subject else judgments
        words = inflect_words(row.count) | describe_policies(evaluation.metric_list, row.count) | {"document": document}
        message = SENTENCES[code].format(
            subject=subject, count=row.count, example=example, own=pulled.query_ids[0], **words
        )
        if code == "no_shared_query":
            message += texts_hint(pulled, judgments, evaluation)
        examples = row_examples(pulled, row.documents)
        yield make_finding(code, message, row.count, subject or None, examples=examples)


def texts_hint(ranking: Pulled, judgments: Pulled, evaluation: Evaluation) -> str:
    """Return a hint to give a file of queries, or an empty text.

    The hint is given if the ids in only one of the two inputs look like query texts: most of them contain spaces. It is
    not given if a file of queries is configured.
    """
    are_texts = [sum(" " in each for each in ids) > len(ids) / 2 for ids in (ranking.query_ids, judgments.query_ids)]
    if evaluation.queries is not None or are_texts[0] == are_texts[1]:
        return ""
    return "; if one of them has the texts of the queries, give the file that has their ids and texts: --queries FILE"


def inflect_words(count: int) -> dict[str, str]:
    """Return {plural: form to print} for words such as ``queries`` and ``have``.

    The form is the singular if count is 1; else the plural.
    """
    plural = {"queries": "query", "results": "result", "judgments": "judgment", "have": "has", "are": "is"}
    plural |= {"they_are": "it is", "they_gain": "it gains"}
    return plural if count == 1 else {word: word.replace("_", " ") for word in plural}


def describe_policies(metrics: Sequence[Metric], count: int) -> dict[str, str]:
    """Return how metrics score queries, as {"unanswered": phrase, "no_relevant": phrase}.

    `unanswered` is about queries without results, `no_relevant` about queries without relevant documents. count: number
    of the queries in the sentence, for singular or plural.
    """
    they_are, each = inflect_words(count)["they_are"], "it" if count == 1 else "each"
    unanswered = {metric.unanswered for metric in metrics}
    scores = f"{each} scores 0" if "zero" in unanswered else f"{they_are} left out"
    if len(unanswered) > 1:
        scores += ", or is left out by metrics with unanswered = exclude"
    no_relevant = {metric.no_relevant for metric in metrics}
    words = {"exclude": f"{they_are} left out", "zero": f"{each} scores 0", "one": f"{each} scores 1"}
    value = " or ".join(words[policy] for policy in words if policy in no_relevant) + ", for every system"
    return {"unanswered": scores, "no_relevant": value + (", by the metric" if len(no_relevant) > 1 else "")}


def find_uncounted_queries(engine: Engine, metrics: Sequence[Metric]) -> Iterator[Finding]:
    """Yield findings on metrics that count nothing as relevant in queries with grades above 0."""
    uncounted = engine.rows("uncounted_query", ("metric_id", "query_id"), order="query_id")
    for metric in metrics:
        queries = [query_id for metric_id, query_id in uncounted if metric_id == metric.hash]
        if queries:
            count = len(queries)
            message = (
                f"{metric.name}: {queries_text(count)} {inflect_words(count)['have']} grades above 0, but none that"
                f" this metric counts (such as {queries[0]!r}); no_relevant = {metric.no_relevant}"
            )
            examples = id_examples(queries)
            yield make_finding("nothing_counted", message, count, metric=metric.name, examples=examples)


def unanswered_note(findings: Sequence[Finding], metrics: Sequence[Metric]) -> Iterator[Finding]:
    """Yield a note if metrics leave out unanswered queries, and the findings report any."""
    names = [metric.name for metric in metrics if metric.unanswered == "exclude"]
    unanswered = sum(finding.count for finding in findings if finding.code == "unanswered_query")
    if names and unanswered:
        message = (
            f"{', '.join(names)} leaves out what a system did not answer, where others score 0: a system gains by not"
            " answering what it is bad at; differences are taken over the queries that both answered"
        )
        yield make_finding("unanswered_left_out", message, unanswered)


def refuse_contradictions(engine: Engine, judgments: Pulled) -> None:
    """Raise InputError if a document of a query has two grades."""
    columns = ("query_id", "doc_id", "lowest", "highest")
    rows = engine.rows("contradicting_judgment", columns, order="query_id, doc_id")
    for query_id, doc_id, lowest, highest in rows:
        total = len(rows)
        raise InputError(
            f"{judgments.locate(query_id, doc_id)}: document {doc_id!r} of query {query_id!r} is judged"
            f" {format_number(lowest)} and {format_number(highest)}: a document has one grade ({total} such);"
            " take all but one out: of TREC text awk '!seen[$1 FS $3]++' FILE > NEW keeps the first"
        )


def refuse_grades(engine: Engine, judgments: Pulled, metrics: Sequence[Metric]) -> None:
    """Raise InputError for grades below 0 if a metric refuses them, or above the max_grade of a metric."""
    strict = next((metric for metric in metrics if metric.negative == "error"), None)
    capped = [metric for metric in metrics if metric.max_grade is not None]
    limits: list[tuple[Metric, float, float, str, str]] = []
    if strict:
        limits.append((strict, 0.0, math.inf, "grade", "must not be below 0 (negative = error)"))
    if capped:
        lowest = min(capped, key=lambda metric: metric.max_grade or 0.0)
        highest = lowest.max_grade or 0.0
        rule = f"must not be above its max_grade = {format_number(highest)}"
        limits.append((lowest, -math.inf, highest, "grade desc", rule))
    for metric, least, most, worst_first, rule in limits:
        order = f"{worst_first}, query_id, doc_id"
        for query_id, doc_id, grade in engine.rows("refused_grade", order=order, lowest=least, highest=most):
            where = judgments.locate(query_id, doc_id)
            raise InputError(f"{where}: grade = {format_number(grade)}: with the metric {metric.name} it {rule}")


def refuse_missing_ranks(rankings: Mapping[str, Pulled], metrics: Sequence[Metric]) -> None:
    """Raise InputError if a metric has ties = given and a ranking lacks ranks."""
    for metric in (metric for metric in metrics if metric.ties == "given"):
        for name, pulled in rankings.items():
            if pulled.lacks("rank"):
                rule = f"{metric.name} orders by ranks; choose another rule for ties"
                raise InputError(f"{pulled.origin}: not every row of system {name} has a rank that is a number: {rule}")


def check_duplicates(engine: Engine, rankings: Mapping[str, Pulled], metrics: Sequence[Metric]) -> list[Finding]:
    """Drop repeated documents from the loaded rankings, and return findings on them.

    The best ranked copy of a document stays. Rankings of which only the needed results were loaded are skipped. Raises
    InputError if a ranking repeats a document and a metric does not have duplicates = first.
    """
    findings = []
    for system_id, pulled in rankings.items():
        if pulled.reduced:  # it was looked at
            continue
        columns = ("query_id", "doc_id")
        if not pulled.remote_table:
            names = {name: name for name in columns}
            engine.put_files("pulled_one_ranking", names, [(table_or_file(pulled.table), {})], is_written=False)
            if not engine.may_repeat("pulled_one_ranking", columns):
                continue
        rows = engine.rows("duplicate_document", (*columns, "copies"), order="query_id, doc_id", system_id=system_id)
        for query_id, doc_id, copies in rows[:1]:
            total = len(rows)
            if all(metric.duplicates == "first" for metric in metrics):
                message = (
                    f"system {system_id} holds {total} document{'s' * (total != 1)} more than once for one query (such"
                    f" as {doc_id!r} of query {query_id!r}): the best placed of them counts (duplicates = first)"
                )
                examples = row_examples(pulled, [row[:2] for row in rows[:MOST]])
                findings.append(
                    make_finding("duplicate_document", message, total, system_id, examples=examples, severity="warning")
                )
                continue
            raise InputError(
                f"{pulled.locate(query_id, doc_id)}: document {doc_id!r} is {copies} times in the ranking of"
                f" query {query_id!r} by system {system_id}: a ranking holds a document once ({total} such in it)"
                f"{copies_hint(pulled)}"
            )
    if findings:
        engine.replace_input_with("distinct_result", input_name="pulled_ranking")
    return findings


def copies_hint(pulled: Pulled) -> str:
    """Return advice on documents that a ranking repeats, to be appended to a message.

    The advice is the option that counts the first copy of each document. If the file has several run tags, they are
    listed as well, since the file may hold several systems.
    """
    tags = [
        each.rpartition(": tag ")[2] for remark in pulled.remarks if remark.code == TAGS for each in remark.examples
    ]
    hint = f"; the file has the tags {' and '.join(tags)}: if they are systems, give each a file" if tags else ""
    return f"{hint}; to count the first place of each, say --duplicates first (duplicates=first, of the system)"


def check_query_ids(engine: Engine, evaluation: Evaluation) -> Iterator[Finding]:
    """Yield a warning if the file of queries names no judged query; the ids are probably spelt differently.

    Nothing is yielded if neither slices nor weights use the file.
    """
    if evaluation.queries is None:
        return
    rows = engine.rows("query", ("query_id", "is_judged", "is_named", "weight"), order="query_id")
    weighed = evaluation.statistics.weighted is not False and any(row[3] is not None for row in rows)
    ids = [query_id for query_id, is_judged, *_ in rows if is_judged]
    if not (evaluation.slices.by or weighed) or not ids or any(judged and named for _, judged, named, _ in rows):
        return
    state = "scored" if evaluation.scores else "judged"
    named_ids = [query_id for query_id, _, is_named, _ in rows if is_named]
    first = named_ids[0] if named_ids else None
    message = (
        f"queries: {evaluation.queries.source.display_name} names none of the {queries_text(len(ids), state)}"
        f" (the first is {ids[0]!r}, the first of its own {first!r}): the query ids of both must be the same"
    )
    yield make_finding("queries_unmatched", message + query_spelling_hint(named_ids, ids), len(ids))


LEAST_RESULTS, LEAST_QUERIES = 50, 5  # of a system that is refused because none of its results is judged
EVERY_QUERY = 2**62


class CompleteRankingNeededError(Exception):
    """The error that a check needs all rows of a ranking of which only the needed results were loaded."""


def check_judged_results(
    engine: Engine, rankings: Mapping[str, Pulled], explained: Collection[str | None]
) -> Iterator[Finding]:
    """Yield findings on systems without a single judged result.

    explained: systems to leave out, because another finding gives the reason. Raises CompleteRankingNeededError if a
    system has no judged result in its first `FIRST_QUERIES` judged queries, while of at least one ranking, of whichever
    system, only the needed results were loaded.
    """
    counts = count_results(engine, FIRST_QUERIES)
    unjudged = [name for name, (*_, met) in counts.items() if not met and name not in explained]
    if not unjudged:
        return
    if any(pulled.reduced for pulled in rankings.values()):
        raise CompleteRankingNeededError
    for name, (query_id, queries, returned, met) in count_results(engine, EVERY_QUERY).items():
        if met or name not in unjudged:
            continue
        is_many = returned >= LEAST_RESULTS and queries >= LEAST_QUERIES
        where = {"query_id": query_id}
        (doc_id,) = engine.rows("ranking", ("doc_id",), where={**where, "system_id": name}, order="doc_id")[0]
        (judged,) = engine.rows("judgment", ("doc_id",), where=where, order="doc_id")[0]
        message = (
            f"system {name}: none of its {returned} results in {queries_text(queries, 'judged')} is judged (in query"
            f" {query_id!r} the first document id is {doc_id!r}, the first judged one {judged!r}): its document ids"
            f" {'must be' if is_many else 'may not be'} those of the judgments"
        )
        severity = None if is_many else "warning"
        examples = row_examples(rankings[name], [(query_id, doc_id)])
        yield make_finding("no_judged_result", message, returned, name, examples=examples, severity=severity)


def count_results(engine: Engine, queries: int) -> dict[str, tuple[str, int, int, int]]:
    """Count the results and the judged results of each system in judged queries.

    Returns {system: (lowest query_id, number of queries, results, judged results)}. queries: the largest number of
    queries to count per system.
    """
    counts: dict[str, tuple[str, int, int, int]] = {}
    columns = ("system_id", "query_id", "returned", "met")
    for name, query_id, returned, met in engine.rows("met_query", columns, queries=queries):
        first, *numbers = counts.get(name, (query_id, 0, 0, 0))
        counts[name] = (min(first, query_id), numbers[0] + 1, numbers[1] + returned, numbers[2] + met)
    return counts


def run_extension_checks(engine: Engine, evaluation: Evaluation) -> Iterator[Finding]:
    """Run the configured checks of extensions, in order, and yield their findings.

    The code of a finding is replaced by the name of the check. Raises InputError if a check is not installed, fails, or
    returns anything other than findings.
    """
    for name in evaluation.checks:
        check = load_named(CHECKS, name, "checks: ")
        with translate_foreign_errors(f"checks: {name}: fails"):
            added = list(check(engine, evaluation))
            if wrong := [each for each in added if not isinstance(each, Finding)]:
                raise InputError(
                    f"checks: {name}: gives {format_value(wrong[0])}: must give ndcg_ab.results.outcome.Finding"
                )
        yield from [replace(finding, code=name) for finding in added]


def load_and_check(engine: Engine, read: PulledInputs, evaluation: Evaluation) -> list[Finding]:
    """Load the tables and return the findings of the data check.

    If a check needs all rows of a ranking, the check is repeated with all rows of every ranking.
    """
    assert read.judgments is not None
    rankings = read.rankings
    load_tables(engine, read.judgments, read.queries, rankings, evaluation)
    try:
        return check_tables(engine, read.judgments, rankings, evaluation)
    except CompleteRankingNeededError:
        rankings = {name: each.with_all_rows() for name, each in rankings.items()}
        load_tables(engine, read.judgments, read.queries, rankings, evaluation)
        return check_tables(engine, read.judgments, rankings, evaluation)


# ---- rankings without judgments

NOT_CHECKED = (
    "not checked, because there are no judgments: grades, whether ids meet, how much is judged, what ties can move"
)


def check_rankings_alone(
    evaluation: Evaluation, engine: Engine, say: Callable[[str], object]
) -> tuple[list[Finding], str]:
    """Read and check the rankings of an evaluation without judgments; return findings and a summary text.

    say: receives progress messages. Raises InputError if a finding has severity error.
    """
    rankings = {}
    for system in evaluation.systems:
        say(f"pull {system.name}")
        rules = document_rules(evaluation, system)
        rankings[system.name] = pull_source(
            system.source, RANKING, evaluation.directory, system=system.name, rules=rules
        )
    say("check the data")
    every = sorted({query_id for pulled in rankings.values() for query_id in pulled.query_ids})
    rows = {"query_id": every, "doc_id": [""] * len(every), "grade": [1.0] * len(every)}
    source = next(iter(rankings.values())).source
    placeholders = Pulled(pa.table(rows, schema=JUDGMENT.schema), JUDGMENT, source)
    load_tables(engine, placeholders, Queries(), rankings, evaluation)
    metrics = evaluation.metric_list
    refuse_missing_ranks(rankings, metrics)
    findings = check_duplicates(engine, rankings, metrics)
    findings += check_rankings(engine, read_notices(engine), rankings)
    findings += check_spellings(engine, metrics, None, rankings)
    findings += check_depths(engine, metrics)
    for metric in metrics:
        findings += check_order_alone(engine, metric)
    refuse_errors(findings, evaluation, {name: pulled.origin for name, pulled in rankings.items()})
    results = ", ".join(f"{name} {pulled.count} results" for name, pulled in rankings.items())
    names = ", ".join(metric.name for metric in metrics)
    return apply_severities(findings, evaluation), f"{results}; metrics {names}\n{NOT_CHECKED}"
