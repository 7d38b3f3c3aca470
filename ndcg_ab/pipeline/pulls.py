"""Define the stages that read judgments, queries, rankings, costs and scores."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.errors import InputError
from ndcg_ab.labels.function_judge import grade_by_judge
from ndcg_ab.labels.proxy_judgments import check_proxy_coverage
from ndcg_ab.pipeline.context import Context, as_stage
from ndcg_ab.pipeline.store import (
    INTENDED,
    JUDGED_BY_FUNCTION,
    PROXY,
    QUERIES,
    UNSEEN,
    StoreEntry,
    judgments_key,
    ranking_key,
    scores_key,
)
from ndcg_ab.scoring import external_scores
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, make_source, pull_queries, pull_source
from ndcg_ab.sources.base import CostRequest, PullRequest
from ndcg_ab.sources.costs import ask_by_turns
from ndcg_ab.sources.external_scores import PULLED as SCORES
from ndcg_ab.sources.judgments.gathering import judgment_source_names, judgments_layout, pull_judgment_source
from ndcg_ab.sources.judgments.grades import with_grade_words
from ndcg_ab.sources.queries import UNSEEN as UNSEEN_LAYOUT
from ndcg_ab.sources.tables.document_rules import document_rules


def has_rankings(context: Context) -> bool:
    return not context.evaluation.scores


def has_proxy_judgments(context: Context) -> bool:
    return context.evaluation.cheap_judgments is not None


@as_stage(
    "pull judgments {name}",
    parts=lambda context: judgment_source_names(context.evaluation)[: len(context.evaluation.judgment_entries)],
    applies=has_rankings,
    outside=True,
    task="pull judgments",
)
def pull_judgments(context: Context, name: str) -> str | None:
    """Read one source of judgments into the store.

    Returns a sentence for the user if the judgments came from the cache, else None.
    name: the name of the source, one of `judgment_source_names`.
    """
    index = judgment_source_names(context.evaluation).index(name)
    entry, key = context.evaluation.judgment_entries[index], judgments_key(index)
    source, layout, texts = entry.source, judgments_layout(entry, context.evaluation), context.store.queries().texts
    return context.store.add(
        StoreEntry(key, source, layout, source.display_name, "judgments", entry.version, about=digest_texts(texts)),
        lambda: pull_judgment_source(source, context.evaluation.directory, texts, resources_for(context), layout),
        force=context.force,
    )


@as_stage("pull proxy judgments", applies=has_proxy_judgments, outside=True)
def pull_proxy_judgments(context: Context, _: str) -> str | None:
    """Read the proxy judgments (by a model or from clicks), and the file `careful_unseen` if it is configured.

    This file names the judged queries whose careful grades the proxy judge has not seen. Only these queries may correct
    the differences by proxy judgments. Returns a sentence for the user if the judgments came from the cache, else None.
    Raises InputError if the proxy judgments lack a judged query, or have too few other queries.
    """
    assert context.evaluation.cheap_judgments is not None
    source = context.evaluation.cheap_judgments.source
    layout = with_grade_words(JUDGMENT, context.evaluation.cheap_judgments, context.evaluation.judgments)
    version, texts = context.evaluation.cheap_judgments.version, context.store.queries().texts
    message = context.store.add(
        StoreEntry(PROXY, source, layout, source.display_name, "cheap judgments", version, about=digest_texts(texts)),
        lambda: pull_source(source, layout, context.evaluation.directory, texts, resources=resources_for(context)),
        force=context.force,
    )
    check_proxy_queries(context)
    if (unseen := context.evaluation.careful_unseen) is not None:
        context.store.add(
            StoreEntry(UNSEEN, unseen, UNSEEN_LAYOUT, unseen.display_name, "careful unseen", is_remembered=False),
            lambda: pull_source(unseen, UNSEEN_LAYOUT, context.evaluation.directory),
        )
    return message


def digest_texts(texts: Mapping[str, str]) -> str:
    """Return a digest of the texts of queries, or an empty text if there are none.

    texts: query_id -> text.
    """
    return hashlib.sha256(json.dumps(sorted(texts.items())).encode()).hexdigest()[:32] if texts else ""


def resources_for(context: Context) -> Resources:
    """Return the limits of threads and memory for making judgments, and the folder for data that does not fit."""
    with context.store.memory() as memory:
        spill = context.evaluation.spill_folder if memory is None else memory.spill
    return context.evaluation.resources.model_copy(update={"spill": spill})


def check_proxy_queries(context: Context) -> None:
    """Raise InputError if the proxy judgments lack a judged query, or have too few other queries.

    Nothing is done until both the judgments and the proxy judgments have been read.
    """
    judgments, proxy = context.store.judgments(), context.store.get(PROXY)
    if judgments is not None and proxy is not None:
        check_proxy_coverage(judgments, proxy)


@as_stage("pull queries", outside=True)
def pull_named_queries(context: Context, _: str) -> None:
    """Read the file of queries, and the ids of the queries that a change is meant to improve, into the store.

    Files that are not configured are skipped.
    """
    evaluation, read = context.evaluation, pull_queries(context.evaluation)

    def add(key: str, source: Any, pulled: Pulled | None) -> None:
        if pulled is not None:
            entry = StoreEntry(key, source, pulled.layout, source.display_name, key, is_remembered=False)
            context.store.add(entry, lambda: pulled)

    add(QUERIES, evaluation.queries and evaluation.queries.source, read.pulled)
    add(INTENDED, evaluation.intended, read.intended)


@as_stage(
    "pull {name}",
    parts=lambda context: [system.name for system in context.evaluation.systems],
    applies=has_rankings,
    outside=True,
    task="pull ranking",
)
def pull_ranking(context: Context, name: str) -> str | None:
    """Read the ranking of the system `name` into the store.

    Returns a sentence for the user if the ranking came from the cache, else None.
    """
    evaluation, store = context.evaluation, context.store
    index, system = next((index, each) for index, each in enumerate(evaluation.systems) if each.name == name)
    source, key = system.source, ranking_key(index)
    queries, rules = store.queries(), document_rules(evaluation, system)
    with store.memory() as memory:

        def read() -> Pulled:
            needed = store.results_to_read()
            ranking = pull_source(
                source,
                RANKING,
                evaluation.directory,
                queries.texts,
                attributes=attributes_for(source, queries),
                folder=store.answers_folder(key),
                writer=store.input_writer(key, memory),
                needed=needed,
                costs=costs_to_record(evaluation),
                resources=evaluation.resources,
                system=system.name,
                rules=rules,
                say=context.say,
            )
            return ranking if needed is None or store.covers_enough_queries(ranking) else ranking.with_all_rows()

        about = f"{digest_texts(queries.texts)} {rules}"
        entry = StoreEntry(key, source, RANKING, name, "ranking", system.version, not evaluation.costs, about)
        return store.add(entry, read, force=context.force)


def costs_to_record(evaluation: Evaluation) -> CostRequest | None:
    """Return which costs of requests to record, such as the latency, or None if no cost is configured.

    Raises InputError if costs are configured and rankings stay on Spark.
    """
    names = tuple(evaluation.costs.names)
    if names and evaluation.engine.spark is not None:
        raise InputError("costs: are not recorded where rankings stay with engine.spark: take one of the two out")
    costs, seed = evaluation.costs, evaluation.statistics.seed
    return CostRequest(names, costs.warm_up, seed, all_cold=costs.by_turns) if names else None


@as_stage(
    "ask all systems by turns",
    applies=lambda context: context.measures and context.evaluation.costs.by_turns and bool(context.evaluation.costs),
    outside=True,
)
def measure_by_turns(context: Context, _: str) -> str:
    """Send every query to each system once more, with the systems taking turns, to measure costs.

    Returns a message with the numbers of systems and queries. The costs that were recorded when the rankings were read
    are kept and marked as cold, since each query was then sent for the first time.
    """
    evaluation, store = context.evaluation, context.store
    requests, queries = costs_to_record(evaluation), store.queries()
    assert requests is not None
    rankings = store.rankings(None, complete=True)
    with contextlib.ExitStack() as opened:
        asks = []
        for system in evaluation.systems:
            source = system.source
            request = PullRequest(queries.texts, attributes_for(source, queries), costs=requests)
            asks.append(opened.enter_context(make_source(source, evaluation.directory).query_singly(request)))
        records = ask_by_turns(asks, list(queries.texts), requests.names, requests.seed, context.say)
    how = f"one request at a time, systems by turns, queries in random order (seed {requests.seed})"
    for index, (system, record) in enumerate(zip(evaluation.systems, records, strict=True)):
        cold = rankings[system.name].costs
        at_once = system.source.http.concurrency if isinstance(system.source, HttpSource) else 1
        pace = f", up to {at_once} at the same time" if at_once > 1 else ""
        warm = record.table(f"{how}, after every query was asked once (cold{pace})")
        store.put_costs(ranking_key(index), pa.concat_tables([warm, *([] if cold is None else [cold])]))
    return f"{len(asks)} systems, {len(queries.texts)} queries"


def attributes_for(source: Any, queries: Queries) -> Mapping[str, Mapping[str, str]]:
    """Return query_id -> {column: value} of the file of queries for a source whose requests use such columns.

    The result is {} for any other source.
    """
    return queries.records if getattr(source, "attributes", ()) else {}


@as_stage(
    "judge what the systems return",
    applies=lambda context: context.evaluation.judge is not None,
    outside=True,
)
def judge_with_function(context: Context, _: str) -> str:
    """Grade results of the systems with the judge function, and store the grades.

    Returns a message with the number of grades. Raises InputError if there is nothing to judge, or if the function
    fails.
    """
    evaluation, store = context.evaluation, context.store
    judge = evaluation.judge
    assert judge is not None
    with store.memory() as memory:
        rankings = store.rankings(memory, complete=True)
        since = store.answers_outdated_before(context.force)
        graded, known = grade_by_judge(judge, evaluation, store.files(), store.queries(), rankings, context.say, since)
    entry = StoreEntry(JUDGED_BY_FUNCTION, judge, graded.layout, judge.display_name, "judgments", is_remembered=False)
    store.add(entry, lambda: graded)
    check_proxy_queries(context)
    return f"{graded.count:,} grades ({known:,} answers known)"


def score_source_names(context: Context) -> list[str]:
    """Return a distinct name for each source of scores.

    This is the name of its system or file, with a number if it is repeated.
    """
    names = [each.display_name for each in context.evaluation.scores]
    return [
        name if names.count(name) == 1 else f"{name} {names[:end].count(name)}" for end, name in enumerate(names, 1)
    ]


@as_stage("pull scores {name}", parts=score_source_names, outside=True, task="pull scores")
def pull_scores(context: Context, name: str) -> str | None:
    """Read one file of scores into the store.

    After the last file, the systems and metrics of all files are added to the context's configuration. Returns a
    message for the user or None.
    name: the name of the file, one of `score_source_names`.
    """
    evaluation, store, index = context.evaluation, context.store, score_source_names(context).index(name)
    described = evaluation.scores[index]
    entry = StoreEntry(scores_key(index), described, SCORES, described.display_name, "scores", is_remembered=False)
    message = store.add(entry, lambda: pull_source(described, SCORES, evaluation.directory))
    if all(store.has(scores_key(each)) for each in range(len(evaluation.scores))):
        context.evaluation = external_scores.add_systems_of_scores(evaluation, store.scores())
    return message


PULLS = (
    pull_named_queries,
    pull_judgments,
    pull_proxy_judgments,
    pull_scores,
    pull_ranking,
    measure_by_turns,
    judge_with_function,
)
