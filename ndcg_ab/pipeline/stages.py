"""List the stages of an evaluation in order, and run them for `compare`, the Python API, `run` and Prefect.

A stage reads and writes the store of its context, and returns a message on its result. With Prefect every stage is a
task, without Prefect a function call.
"""

import dataclasses
from collections.abc import Callable, Sequence

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.checks.findings import apply_severities, refuse_errors
from ndcg_ab.comparing.gates import check_gates
from ndcg_ab.comparing.sampling import add_drawn_findings, read_drawn_queries
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.deadlines import Say
from ndcg_ab.engines import Engine
from ndcg_ab.labels.function_judge import summarize_judge
from ndcg_ab.labels.proxy_judgments import load_by_proxy, load_proxy_differences, proxy_findings
from ndcg_ab.labels.rescoring import compare_judges, compare_leaving_out, contributing_systems
from ndcg_ab.labels.unjudged import refuse_little_memory
from ndcg_ab.pipeline.conclude import check_configuration, count_inputs, make_outcome
from ndcg_ab.pipeline.context import Context, Stage, as_stage
from ndcg_ab.pipeline.pulls import PULLS, has_proxy_judgments, has_rankings
from ndcg_ab.pipeline.store import JUDGED_BY_FUNCTION, Store
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring import external_scores
from ndcg_ab.scoring.metric_tables import own_metrics
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import refuse_missing_gains, score_metrics

Call = Callable[[Stage, Context, str], str | None]  # does one part of a stage and returns a message or None


def is_new(context: Context) -> bool:
    """Return whether the evaluation must be computed, because no stored evaluation is reused."""
    return context.bundle is None


def of_rankings(context: Context) -> bool:
    return has_rankings(context) and is_new(context)


@as_stage("check the data", applies=is_new)
def check_data(context: Context, _: str) -> None:
    """Load the tables, check them, and store findings and ledger (numbers of rows read and used) in the context."""
    evaluation, store, engine = context.evaluation, context.store, context.store.engine
    if evaluation.scores:
        context.findings = external_scores.load_scores(engine, evaluation, store.scores(), store.queries())
        return
    read = store.read(engine.memory, force=context.force)
    context.findings = list(load_and_check(engine, read, evaluation))
    refuse_little_memory(engine, evaluation, read.judgments.query_ids if read.judgments else ())
    context.ledger = count_inputs(engine, read, context.findings)


@as_stage("score", applies=of_rankings)
def score_all(context: Context, _: str) -> None:
    score_metrics(context.store.engine, context.evaluation.metric_list, summed_up=context.summed_up)


@as_stage("recompute a sample in Python", applies=of_rankings)
def verify_sample(context: Context, _: str) -> None:
    context.parity_queries = recompute_sample(context.store.engine, context.evaluation.metric_list)


# ---- proxy judgments, several judges, judgments by source


@as_stage("score by the proxy judgments", applies=lambda context: is_new(context) and has_proxy_judgments(context))
def score_by_proxy_judgments(context: Context, _: str) -> None:
    """Score the rankings by the proxy judgments, in an engine of their own.

    The scores are stored in the context, and findings on the proxy judgments are added to its findings.
    """
    with context.store.complete_inputs() as read:
        context.proxy, findings = load_proxy_differences(context.evaluation, read)
    context.findings = [*context.findings, *findings]


def has_several_judges(context: Context) -> bool:
    """Return whether a new evaluation has judgments that were combined from several judges or files."""
    judgments = context.store.judgments() if is_new(context) else None
    return judgments is not None and judgments.singles is not None


@as_stage("score by each judge", applies=has_several_judges)
def score_by_judges(context: Context, _: str) -> None:
    """Compare the systems by the judgments of each of several judges, and store the result in the context."""
    with context.store.complete_inputs() as read:
        context.judges = compare_judges(context.evaluation, read)


def has_named_sources(context: Context) -> bool:
    """Return whether a new evaluation has judgments that name a compared system as their source."""
    judgments = context.store.judgments() if is_new(context) else None
    return judgments is not None and bool(contributing_systems(context.evaluation, judgments.singles))


@as_stage("leave out the labels of each system", applies=has_named_sources)
def compare_without_sole_labels(context: Context, _: str) -> None:
    """Compare the systems without the judgments that one system alone contributed, once for each such system.

    The comparisons are stored in the context.
    """
    with context.store.complete_inputs() as read:
        context.left_out = tuple(compare_leaving_out(context.evaluation, read))


# ---- comparisons


@as_stage("test the differences", applies=is_new)
def compare_and_check_gates(context: Context, _: str) -> None:
    """Compare every candidate with the baseline, check the gates, and store the outcome in the context."""
    evaluation, store = context.evaluation, context.store
    function = summarize_judge(evaluation, store.files(), graded) if (graded := store.get(JUDGED_BY_FUNCTION)) else None
    outcome = make_outcome(store.engine, context)
    gates = check_gates(evaluation, outcome, context.since_last)
    context.outcome = dataclasses.replace(outcome, gates=gates, function_judge=function)


STAGES = (
    *PULLS,
    check_data,
    score_all,
    verify_sample,
    score_by_proxy_judgments,
    score_by_judges,
    compare_without_sole_labels,
    compare_and_check_gates,
)


def run_stages(context: Context, stages: Sequence[Stage] = STAGES, call: Call = Stage.perform) -> None:
    """Do every part of the stages in order; skip stages that do not apply, and parts that are done already.

    call: a function that does one part of a stage, and returns a message or None. An error that it raises ends the run.
    """
    for stage in stages:
        parts = stage.parts(context) if stage.applies(context) else ()
        for part in [part for part in parts if (stage.name, part) not in context.done]:
            context.say(stage.part_name(part))
            if message := call(stage, context, part):
                context.say(f"{stage.part_name(part)}: {message}")


def evaluate(
    evaluation: Evaluation, engine: Engine, say: Say = lambda step: None, *, complete: bool = True
) -> tuple[Outcome, Store]:
    """Run a complete evaluation in memory; return its outcome, and the store with its inputs.

    say: a function that receives progress messages.
    complete: True if complete rankings are needed afterwards, as for the page.
    Raises InputError for invalid inputs, and ParityError if SQL and Python disagree on a value.
    """
    store = Store(evaluation, engine, complete=complete)
    context = Context(evaluation, store, say)
    if engine.memory and engine.memory.limit:
        say(f"starting (what memory has no room for: {engine.memory.spill})")
    run_stages(context)
    assert context.outcome is not None
    return context.outcome, store


def score_systems(
    evaluation: Evaluation, engine: Engine, say: Say = lambda step: None, *, summed_up: bool = False
) -> list[Finding]:
    """Read all inputs, compute and verify all scores, and return the findings.

    No comparison is made, and no requests are sent to measure costs.
    say: a function that receives progress messages.
    summed_up: True to compute summaries of each system, too.
    """
    store = Store(evaluation, engine, complete=False)
    context = Context(evaluation, store, say, summed_up=summed_up, measures=False)
    run_stages(context, STAGES[: STAGES.index(verify_sample) + 1])
    return context.findings


def check_only(evaluation: Evaluation, engine: Engine, say: Say = lambda step: None) -> tuple[list[Finding], str]:
    """Read and check all inputs without scoring; return the findings, and a text with the numbers of rows.

    say: a function that receives progress messages.
    Raises InputError if a finding has severity error.
    """
    store = Store(evaluation, engine, complete=False)
    context = Context(evaluation, store, say, measures=False)
    run_stages(context, (*PULLS, check_data))
    evaluation, findings, read = context.evaluation, context.findings, store.inputs()
    if read.proxy is not None:
        with load_by_proxy(evaluation, read, score=False) as (_, _, proxy_findings_list):
            findings = [*findings, *proxy_findings(proxy_findings_list)]
    if not evaluation.scores:
        refuse_missing_gains(engine, own_metrics(evaluation.metric_list))
    findings = [*findings, *check_configuration(engine, evaluation)]
    findings = add_drawn_findings(findings, engine, evaluation, read_drawn_queries(engine, evaluation))
    refuse_errors(findings, evaluation)
    findings = apply_severities(findings, evaluation)
    if evaluation.scores:
        systems = ", ".join(system.name for system in evaluation.systems)
        count_text = f"{queries_text(len(engine.rows('shown_query')), 'scored')}; systems {systems}"
    else:
        counts = [count for (count,) in engine.rows("query", ("judged",), where={"is_judged": True})]
        pairs = sum(counts)
        results = ", ".join(f"{name} {pulled.count} results" for name, pulled in read.rankings.items())
        count_text = f"{queries_text(len(counts), 'judged')}, {pairs} judgment{'s' * (pairs != 1)}; {results}"
    return findings, f"{count_text}; metrics {', '.join(metric.name for metric in evaluation.metric_list)}"
