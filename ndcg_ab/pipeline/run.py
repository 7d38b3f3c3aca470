"""The stages, one after another."""

from collections.abc import Callable, Sequence

from ndcg_ab.checks.findings import apply_severities, refuse_errors
from ndcg_ab.checks.plausibility_checks import check_clusters
from ndcg_ab.comparing.drawn_queries import read_drawn_queries, with_drawn_findings
from ndcg_ab.comparing.intended import check_intended
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.labels.proxy_judgments import proxy_findings, score_by_proxy
from ndcg_ab.pipeline.conclude import note_configuration
from ndcg_ab.pipeline.context import Context, Say, Stage
from ndcg_ab.pipeline.stages import CHECK_DATA, PULLS, STAGES, VERIFY
from ndcg_ab.pipeline.store import MemoryStore
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.other_tools import own_metrics
from ndcg_ab.scoring.scoring import PulledInputs, refuse_missing_gains

Call = Callable[[Stage, Context, str], str | None]  # does one part of a stage; returns what there is to say of it


def run_stages(context: Context, stages: Sequence[Stage] = STAGES, call: Call = Stage.perform) -> None:
    """Do every stage that applies and is not done yet, part by part.  Raises what a stage raises."""
    for stage in stages:
        for part in stage.parts_left(context):
            context.say(stage.shown(part))
            if found := call(stage, context, part):
                context.say(f"{stage.shown(part)}: {found}")


def evaluate(
    evaluation: Evaluation, engine: Engine, say: Say = lambda step: None, *, whole: bool = True
) -> tuple[Outcome, MemoryStore]:
    """The whole evaluation in memory, and the store with its inputs.

    whole: rankings are needed whole afterwards, as for the page.  Raises InputError, ParityError.
    """
    store = MemoryStore(evaluation, engine, whole=whole)
    context = Context(evaluation, store, say)
    tell_spill_folder(engine, say)
    run_stages(context)
    assert context.outcome is not None
    return context.outcome, store


def score_systems(
    evaluation: Evaluation, engine: Engine, say: Say = lambda step: None, *, summed_up: bool = False
) -> list[Finding]:
    """The stages until everything is scored and verified, for what is asked besides a comparison: the findings.

    summed_up: as for `score`.
    """
    store = MemoryStore(evaluation, engine, whole=False)
    context = Context(evaluation, store, say, summed_up=summed_up, measures=False)
    run_stages(context, STAGES[: STAGES.index(VERIFY) + 1])
    return context.findings


def tell_spill_folder(engine: Engine, say: Say) -> None:
    if engine.memory and engine.memory.limit:
        say(f"starting (what memory has no room for: {engine.memory.spill})")


def check_only(evaluation: Evaluation, engine: Engine, say: Say = lambda step: None) -> tuple[list[Finding], str]:
    """Reads and checks everything, scores nothing: the findings, and a sentence that counts what is there."""
    store = MemoryStore(evaluation, engine, whole=False)
    context = Context(evaluation, store, say, measures=False)
    run_stages(context, STAGES[: STAGES.index(CHECK_DATA) + 1])
    evaluation, findings, read = context.evaluation, context.findings, store.inputs()
    if read.proxy is not None:
        with score_by_proxy(evaluation, read) as other:
            findings = [*findings, *proxy_findings(other.findings)]
    if not evaluation.scores:
        refuse_missing_gains(engine, own_metrics(evaluation.metric_list))
    findings = [*findings, *note_configuration(engine, evaluation)]
    findings += [*check_intended(engine, evaluation), *check_clusters(engine, evaluation)]
    findings = with_drawn_findings(findings, engine, evaluation, read_drawn_queries(engine, evaluation))
    refuse_errors(findings, evaluation)
    findings = apply_severities(findings, evaluation)
    if evaluation.scores:
        systems = ", ".join(system.name for system in evaluation.systems)
        counted = f"{queries_text(len(engine.rows('shown_query')), 'scored')}; systems {systems}"
    else:
        counts = [count for (count,) in engine.rows("query", ("judged",), where={"is_judged": True})]
        pairs = sum(counts)
        results = ", ".join(f"{name} {pulled.count} results" for name, pulled in read.rankings.items())
        counted = f"{queries_text(len(counts), 'judged')}, {pairs} judgment{'s' * (pairs != 1)}; {results}"
    return findings, f"{counted}; metrics {', '.join(metric.name for metric in evaluation.metric_list)}"


def pull_inputs(evaluation: Evaluation, say: Say = lambda step: None, *, whole: bool = True) -> PulledInputs:
    """The inputs alone.  whole: every row of the rankings, whatever the metrics look at."""
    store = MemoryStore(evaluation, whole=whole)
    run_stages(Context(evaluation, store, say, measures=False), PULLS)
    return store.inputs()
