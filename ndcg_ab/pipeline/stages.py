"""The stages of an evaluation, in one list: `compare`, the Python API, `run` and a Prefect run go through the same.

A stage reads and writes the store of its context, and says what there is to say of its result.  With Prefect every
stage is a task, without it a function call.
"""

import dataclasses

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.comparing.gates import check_gates
from ndcg_ab.labels.function_judge import summarize_judge
from ndcg_ab.labels.judges import compare_judges
from ndcg_ab.labels.left_out import leave_out, sources_among
from ndcg_ab.labels.proxy_judgments import load_proxy_scores
from ndcg_ab.labels.unjudged import refuse_little_memory
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.denominators import count_inputs
from ndcg_ab.pipeline.pulls import (
    judge_with_function,
    measure_by_turns,
    named_scores,
    pull_judgments,
    pull_named_queries,
    pull_proxy_judgments,
    pull_ranking,
    pull_scores,
)
from ndcg_ab.scoring import external_scores
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources.judgments.gathering import named_judgments


def check_data(context: Context, _: str) -> None:
    """The tables, and what the data check notices."""
    evaluation, store = context.evaluation, context.store
    with store.engine() as engine:
        if evaluation.scores:
            found = external_scores.load_scores(engine, evaluation, store.scores(), store.queries())
        else:
            read = store.read(engine.memory, force=context.force)
            found = load_and_check(engine, read, evaluation)
            refuse_little_memory(engine, evaluation, read.judgments.query_ids if read.judgments else ())
            context.ledger = count_inputs(engine, read, found)
    context.findings = list(found)


def score_all(context: Context, _: str) -> None:
    with context.store.engine() as engine:
        score_metrics(engine, context.evaluation.metric_list, summed_up=context.summed_up)


def verify_sample(context: Context, _: str) -> None:
    with context.store.engine() as engine:
        context.parity_queries = recompute_sample(engine, context.evaluation.metric_list)


# ---- what other judgments say


def score_by_proxy(context: Context, _: str) -> None:
    """By the proxy judgments, in tables that are not kept; what the data check noticed about them."""
    with context.store.memory() as memory:
        scored = load_proxy_scores(context.evaluation, context.store.read(memory, whole=True))
    context.proxy = scored.table
    context.findings = [*context.findings, *scored.findings]


def score_by_judges(context: Context, _: str) -> None:
    """What each of several judges says, in tables that are not kept."""
    with context.store.memory() as memory:
        context.judges = compare_judges(context.evaluation, context.store.read(memory, whole=True))


def leave_out_labels(context: Context, _: str) -> None:
    """The comparisons without what each system alone contributed to the judgments."""
    with context.store.memory() as memory:
        context.left_out = leave_out(context.evaluation, context.store.read(memory, whole=True))


def has_several_judges(context: Context) -> bool:
    judgments = context.store.judgments()
    return judgments is not None and judgments.singles is not None


def names_sources(context: Context) -> bool:
    """Whether judgments say that they came from systems that are compared."""
    judgments = context.store.judgments()
    return judgments is not None and bool(sources_among(context.evaluation, judgments.singles))


# ---- what comes of it


def test_differences(context: Context, _: str) -> None:
    """Every candidate against the baseline, and the gates."""
    evaluation, store = context.evaluation, context.store
    function = summarize_judge(evaluation, store.files(), said) if (said := store.by_function()) else None
    with store.engine() as engine:
        outcome = make_outcome(
            engine,
            evaluation,
            context.findings,
            context.parity_queries,
            proxy=context.proxy,
            judges=context.judges,
            left_out=context.left_out,
            function=function,
            ledger=context.ledger,
        )
        gates = check_gates(evaluation, outcome, context.since_last)
        context.outcome = dataclasses.replace(outcome, gates=gates)


# ---- the list


def has_rankings(context: Context) -> bool:
    return not context.evaluation.scores


def is_new(context: Context) -> bool:
    """No earlier evaluation stands for this one."""
    return context.bundle is None


def of_rankings(context: Context) -> bool:
    return has_rankings(context) and is_new(context)


PULL_JUDGMENTS = Stage(
    "pull judgments {name}",
    pull_judgments,
    lambda context: named_judgments(context.evaluation)[: len(context.evaluation.judgment_sources)],
    has_rankings,
    outside=True,
    task="pull judgments",
)
PULL_PROXY = Stage(
    "pull proxy judgments",
    pull_proxy_judgments,
    applies=lambda context: context.evaluation.cheap_judgments is not None,
    outside=True,
)
PULL_SCORES = Stage("pull scores {name}", pull_scores, named_scores, outside=True, task="pull scores")
PULL_QUERIES = Stage("pull queries", pull_named_queries, outside=True)
PULL_RANKING = Stage(
    "pull {name}",
    pull_ranking,
    lambda context: [system.name for system in context.evaluation.systems],
    has_rankings,
    outside=True,
    task="pull ranking",
)
MEASURE = Stage(
    "ask all systems by turns",
    measure_by_turns,
    applies=lambda context: context.measures and context.evaluation.costs.by_turns and bool(context.evaluation.costs),
    outside=True,
)
JUDGE = Stage(
    "judge what the systems return",
    judge_with_function,
    applies=lambda context: context.evaluation.judge is not None,
    outside=True,
)
CHECK_DATA = Stage("check the data", check_data, applies=is_new)
SCORE = Stage("score", score_all, applies=of_rankings)
VERIFY = Stage("recompute a sample in Python", verify_sample, applies=of_rankings)
SCORE_BY_PROXY = Stage(
    "score by the proxy judgments",
    score_by_proxy,
    applies=lambda context: is_new(context) and context.evaluation.cheap_judgments is not None,
)
SCORE_BY_JUDGES = Stage(
    "score by each judge", score_by_judges, applies=lambda context: is_new(context) and has_several_judges(context)
)
LEAVE_OUT = Stage(
    "leave out the labels of each system",
    leave_out_labels,
    applies=lambda context: is_new(context) and names_sources(context),
)
TEST_DIFFERENCES = Stage("test the differences", test_differences, applies=is_new)

STAGES = (
    PULL_QUERIES,
    PULL_JUDGMENTS,
    PULL_PROXY,
    PULL_SCORES,
    PULL_RANKING,
    MEASURE,
    JUDGE,
    CHECK_DATA,
    SCORE,
    VERIFY,
    SCORE_BY_PROXY,
    SCORE_BY_JUDGES,
    LEAVE_OUT,
    TEST_DIFFERENCES,
)
PULLS = STAGES[: STAGES.index(CHECK_DATA)]
