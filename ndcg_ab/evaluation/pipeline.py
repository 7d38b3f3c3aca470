"""The steps of an evaluation as plain functions: `compare` calls them in a row, the flow one task each."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.evaluation.bounds import with_bounds
from ndcg_ab.evaluation.changes import changes_of
from ndcg_ab.evaluation.cheap import cheap_findings, cheaply, refuse_uncovered, score_cheaply, with_cheap
from ndcg_ab.evaluation.cluster_checks import check_clusters
from ndcg_ab.evaluation.data_checks import check_queries, check_scored, refuse_missing_gains
from ndcg_ab.evaluation.families import check_heavy_queries, check_slices, families
from ndcg_ab.evaluation.given_scores import load_scores, settled_by
from ndcg_ab.evaluation.intended import check_intended, intended_comparisons
from ndcg_ab.evaluation.judge_records import Judges
from ndcg_ab.evaluation.judges import what_judges_say
from ndcg_ab.evaluation.judging import about_judge, judged_by
from ndcg_ab.evaluation.labels import check_labels, with_labels
from ndcg_ab.evaluation.left_out import leave_out
from ndcg_ab.evaluation.likely import with_likely
from ndcg_ab.evaluation.measured_scores import of_ours
from ndcg_ab.evaluation.not_asked import check_asked
from ndcg_ab.evaluation.order_checks import check_order
from ndcg_ab.evaluation.outcome import Finding, FunctionJudge, LeftOut, Outcome, SystemSummary
from ndcg_ab.evaluation.parity import verify
from ndcg_ab.evaluation.phrases import queries_text
from ndcg_ab.evaluation.reducing import holds_enough, wanted_of
from ndcg_ab.evaluation.sampling import sampling_of
from ndcg_ab.evaluation.score_checks import check_coverage
from ndcg_ab.evaluation.scoring import Read as Read
from ndcg_ab.evaluation.scoring import load_and_check as load_and_check
from ndcg_ab.evaluation.scoring import opened as opened
from ndcg_ab.evaluation.scoring import score as score
from ndcg_ab.evaluation.secret_checks import check_secrets
from ndcg_ab.evaluation.severities import refuse_errors, settled
from ndcg_ab.evaluation.unit_checks import check_units
from ndcg_ab.files import replacing
from ndcg_ab.memory import Memory
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, Wanted, pull, pull_queries
from ndcg_ab.sources.judgments import completed, gathered, pull_files
from ndcg_ab.sources.scores import PULLED
from ndcg_ab.sources.spilled import Keep, keep_in
from ndcg_core.statistics.averages import mean, median, weighted_mean

Say = Callable[[str], None]
SHOWN_QUERIES = 300  # whose results are fetched from a cluster, for the page


WhenRead = Callable[[Read], None]


class Beside(NamedTuple):
    """What other judgments say beside those that count.

    cheap: `Cheap.table` of the cheap ones; None without. judges: what several judges say. left_out: the comparisons
    without what each system alone contributed. function: what a function judged.
    """

    cheap: pa.Table | None = None
    judges: Judges | None = None
    left_out: tuple[LeftOut, ...] = ()
    function: FunctionJudge | None = None


NOTHING_BESIDE = Beside()


def run_pipeline(
    evaluation: Evaluation,
    engine: Engine,
    say: Say = lambda step: None,
    when_read: WhenRead = lambda read: None,
    *,
    whole: bool = True,
) -> Outcome:
    """Every step of one evaluation, in the tables of `engine`.

    say: told what begins.  when_read: given the inputs as they were read.  whole: rankings are needed whole afterwards,
    as for the page; else they may come in reduced, which changes no number.  Raises InputError, ParityError.
    """
    if evaluation.scores:
        settled, findings = take_scores(evaluation, engine, say, when_read)
        return conclude(engine, settled, findings, None)
    kept: list[Read] = []

    def keep_and_tell(read: Read) -> None:
        kept.append(read)
        when_read(read)

    findings, parity_queries = score_all(evaluation, engine, say, keep_and_tell, whole=whole)
    read = kept[0]
    beside = Beside(
        judges=judged_apart(evaluation, read, say),
        left_out=leave_out(evaluation, read),
        function=about_judge(evaluation, read.files, read.by_function) if read.by_function else None,
    )
    if read.cheap is not None:
        say("scoring by the cheap judgments")
        cheap = score_cheaply(evaluation, read)
        findings, beside = [*findings, *cheap.findings], beside._replace(cheap=cheap.table)
    return conclude(engine, evaluation, findings, parity_queries, beside)


def judged_apart(evaluation: Evaluation, read: Read, say: Say) -> Judges | None:
    """What several judges say; None where there are not several."""
    if read.judgments is None or read.judgments.singles is None:
        return None
    say("scoring by each judge")
    return what_judges_say(evaluation, read)


def take_scores(
    evaluation: Evaluation,
    engine: Engine,
    say: Say,
    when_read: WhenRead = lambda read: None,
) -> tuple[Evaluation, list[Finding]]:
    """Scores of another tool in the tables of `engine`: the evaluation with what they settle, and the findings."""
    say("reading scores")
    pulled = tuple(pull(each, PULLED, evaluation.directory) for each in evaluation.scores)
    queries = pull_queries(evaluation)
    when_read(Read(None, queries, {}, pulled))
    say("checking the data")
    settled = settled_by(evaluation, pulled)
    findings = load_scores(engine, settled, pulled, queries)
    say("testing the differences")
    return settled, findings


def score_all(
    evaluation: Evaluation,
    engine: Engine,
    say: Say,
    when_read: WhenRead = lambda read: None,
    *,
    whole: bool = True,
    summed_up: bool = True,
) -> tuple[list[Finding], int]:
    """Everything before the tests: the data check's findings, and how many queries were computed twice.

    summed_up: as for `score`.
    """
    read = pull_all(evaluation, say, engine.memory, whole=whole)
    when_read(read)
    say("checking the data")
    findings = load_and_check(engine, read, evaluation)
    say("scoring")
    score(engine, evaluation.metric_list, summed_up=summed_up)
    say("recomputing a sample")
    parity_queries = verify(engine, evaluation.metric_list)
    say("testing the differences")
    return findings, parity_queries


def pull_all(evaluation: Evaluation, say: Say, memory: Memory | None = None, *, whole: bool = True) -> Read:
    """Judgments, queries and every system's ranking, in that order; where a function judges, what it says comes last.

    memory: what may be used; where it has a limit, rankings go to its folder as they are read.  whole: every row of the
    rankings, whatever the metrics look at.
    """
    say("reading judgments" + (f" (what memory has no room for: {memory.spill})" if memory and memory.limit else ""))
    files = pull_files(evaluation)
    judge = evaluation.judge
    judgments = None if judge else gathered(files, evaluation)
    cheap = pull_cheap(evaluation)
    if cheap is not None and judgments is not None:
        refuse_uncovered(judgments, cheap)
    queries = pull_queries(evaluation)
    wanted = None
    has_one_set = cheap is None and judgments is not None and judgments.singles is None
    if judgments and has_one_set and not whole:  # else other judgments look at other parts of them
        wanted = wanted_of(evaluation.metric_list, judgments, len(evaluation.systems))
    rankings = {}
    for place, system in enumerate(evaluation.systems):
        say(f"reading {system.name}")
        keep = keep_in(memory, f"ranking{place}.parquet")
        found = pull_system(evaluation, system.source, queries, wanted, keep)
        if found.reduced and judgments is not None and not holds_enough(found, judgments):
            found = pull_system(evaluation, system.source, queries, None, keep)
        rankings[system.name] = found
    if judge is None:
        return Read(judgments, queries, rankings, cheap=cheap)
    by_function, _ = judged_by(judge, evaluation, files, queries, rankings, say)
    judgments = completed(files, by_function, evaluation)
    return Read(judgments, queries, rankings, files=tuple(files), by_function=by_function)


def pull_cheap(evaluation: Evaluation) -> Pulled | None:
    if evaluation.cheap_judgments is None:
        return None
    return pull(evaluation.cheap_judgments.source, JUDGMENT, evaluation.directory)


def pull_system(
    evaluation: Evaluation, source: Any, queries: Queries, wanted: Wanted | None, keep: Keep | None
) -> Pulled:
    return pull(
        source,
        RANKING,
        evaluation.directory,
        queries.texts,
        attributes=attributes_for(source, queries),
        keep=keep,
        wanted=wanted,
        threads=evaluation.resources.threads,
    )


def attributes_for(source: Any, queries: Queries) -> Mapping[str, Mapping[str, str]]:
    """query_id -> {column: value}, where the requests to a source name columns of the queries."""
    return queries.records if getattr(source, "attributes", ()) else {}


def conclude(
    engine: Engine,
    evaluation: Evaluation,
    findings: Sequence[Finding],
    parity_queries: int | None,
    beside: Beside = NOTHING_BESIDE,
) -> Outcome:
    """Summaries and tests (ndcg_core) over the tables of sql/5x; what rankings show is looked at where there are some.

    parity_queries: None where another tool computed the scores. beside: what other judgments say.
    """
    statistics = evaluation.statistics
    metrics = evaluation.metric_list
    sampling = sampling_of(engine, evaluation)
    weights = sampling.weights
    systems = summaries(engine, weights)
    unknown = check_intended(engine, evaluation)
    compared = families(engine, evaluation, sampling)
    systems, compared = with_bounds(engine, evaluation, sampling, systems, compared)
    compared = with_likely(engine, evaluation, sampling, compared)
    compared = with_labels(engine, evaluation, sampling, systems, compared)
    compared += intended_comparisons(engine, evaluation, sampling)
    noticed = [*findings, *about_configuration(engine, evaluation), *unknown]
    noticed += check_clusters(engine, evaluation)
    if evaluation.scores:
        systems = [replace(row, unanswered=None) for row in systems]
    else:
        ours = of_ours(metrics)
        noticed += [*check_order(engine, ours, weights), *check_scored(engine, ours), *check_coverage(systems)]
        noticed += check_labels(compared, beside.left_out)
    changes = changes_of(engine, evaluation)
    noticed += check_asked(engine, evaluation, changes)
    engine.settle(lambda: shown_queries(engine))
    noticed += check_slices(compared)
    noticed += check_heavy_queries(compared)
    if beside.cheap is not None:
        compared, of_sample = with_cheap(engine, evaluation, compared, beside.cheap)
        noticed += of_sample
    refuse_errors(noticed, evaluation)
    return Outcome(
        baseline=evaluation.baseline_name,
        metrics=tuple(metrics),
        systems=tuple(systems),
        comparisons=tuple(compared),
        findings=tuple(settled(noticed, evaluation)),
        alpha=statistics.alpha,
        seed=statistics.seed,
        resamples=statistics.resamples,
        parity_queries=parity_queries,
        function_judge=beside.function,
        judges=beside.judges,
        changes=changes,
        left_out=beside.left_out,
    )


def summaries(engine: Engine, weights: Mapping[str, float] | None = None) -> list[SystemSummary]:
    """One row per metric and system, in the order asked for; weights: query_id -> weight of the mean."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    weighing: dict[tuple[str, str], list[float]] = defaultdict(list)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for metric_id, system_id, query_id, value, share in engine.each(
        "covered_score", ("metric_id", "system_id", "query_id", "value", "judged")
    ):
        values[metric_id, system_id].append(value)
        if weights is not None:
            weighing[metric_id, system_id].append(weights[query_id])
        if share is not None:
            shares[metric_id, system_id].append(share)
    found = []
    columns = ("metric_id", "metric", "system_id", "queries", "unanswered")
    for metric_id, name, system_id, queries, unanswered in engine.rows(
        "system_summary", columns, order="metric_place, system_place"
    ):
        key = (metric_id, system_id)
        plain = mean(values[key])
        compared = plain if weights is None else weighted_mean(values[key], weighing[key])
        row = (compared, median(values[key]), queries, unanswered, mean(shares[key]))
        found.append(SystemSummary(system_id, name, *row, None if weights is None else plain))
    return found


def query_scores(engine: Engine) -> pa.Table:
    """One row per (system_id, query_id, metric) with its value and its hash, in the order of systems and metrics."""
    columns = ("system_id", "query_id", "metric", "value", "metric_hash")
    return engine.read("metric_value", columns, order="system_place, metric_place, query_id")


def write_query_scores(engine: Engine, path: Path) -> None:
    """The same as a file: CSV or Parquet by the name."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as papq

    table = query_scores(engine)
    with replacing(path) as partial:
        if path.suffix.lower() in (".parquet", ".pq"):
            papq.write_table(table, partial)
        else:
            pacsv.write_csv(table, partial)


def check_only(evaluation: Evaluation, engine: Engine, say: Say = lambda step: None) -> tuple[list[Finding], str]:
    """Reads and checks everything, scores nothing: the findings, and a sentence that counts what is there."""
    if evaluation.scores:
        evaluation, findings = take_scores(evaluation, engine, say)
        findings = [*findings, *about_configuration(engine, evaluation)]
        findings += [*check_intended(engine, evaluation), *check_clusters(engine, evaluation)]
        refuse_errors(findings, evaluation)
        findings = settled(findings, evaluation)
        systems = ", ".join(system.name for system in evaluation.systems)
        counted = f"{queries_text(len(engine.rows('shown_query')), 'scored')}; systems {systems}"
        return findings, f"{counted}; metrics {', '.join(evaluation.metrics)}"
    read = pull_all(evaluation, say, engine.memory, whole=False)
    say("checking the data")
    findings = load_and_check(engine, read, evaluation)
    refuse_missing_gains(engine, of_ours(evaluation.metric_list))
    if read.cheap is not None:
        with cheaply(evaluation, read) as other:
            findings += cheap_findings(other.findings)
    findings = [*findings, *about_configuration(engine, evaluation)]
    findings += [*check_intended(engine, evaluation), *check_clusters(engine, evaluation)]
    refuse_errors(findings, evaluation)
    findings = settled(findings, evaluation)
    counts = [count for (count,) in engine.rows("query", ("judged",), where={"is_judged": True})]
    judged, pairs = len(counts), sum(counts)
    results = ", ".join(f"{name} {pulled.count} results" for name, pulled in read.rankings.items())
    counted = f"{queries_text(judged, 'judged')}, {pairs} judgment{'s' * (pairs != 1)}"
    return findings, f"{counted}; {results}; metrics {', '.join(evaluation.metrics)}"


def about_configuration(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """What is noticed of the configuration, and of the queries that it names."""
    return [*check_secrets(evaluation), *check_units(engine, evaluation), *check_queries(engine, evaluation)]


def shown_queries(engine: Engine) -> list[str]:
    """The queries whose rankings a page shows where they cannot all be here: first those of the largest differences."""
    largest = [row["query_id"] for row in extremes(engine)]
    scored = [query_id for (query_id,) in engine.rows("shown_query", ("query_id",), order="query_id")]
    return list(dict.fromkeys([*largest, *scored]))[:SHOWN_QUERIES]


def extremes(engine: Engine, places: int = 5) -> list[dict[str, Any]]:
    """The queries that each candidate wins and loses most, `places` of each, in the order of metrics and systems."""
    found: list[dict[str, Any]] = engine.read(
        "extreme_difference",
        ("candidate", "metric", "direction", "place", "query_id", "text", "difference"),
        order="metric_place, system_place, direction desc, place",
        places=places,
    ).to_pylist()
    return found
