"""The steps of a kept evaluation as plain functions over its working folder, and their order.

`STEPS` is the one list of them: with Prefect every step is a task, without it a function call.  `perform` is the run.
"""

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as papq

from ndcg_ab.config.model import Evaluation
from ndcg_ab.config.moment import at_moment
from ndcg_ab.config.redaction import redacted
from ndcg_ab.deadlines import Budget
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError, TrackingError
from ndcg_ab.evaluation import given_scores, pipeline
from ndcg_ab.evaluation.cheap import refuse_uncovered
from ndcg_ab.evaluation.cheap import score_cheaply as by_cheap
from ndcg_ab.evaluation.codec import decode, encode
from ndcg_ab.evaluation.gates import check_gates
from ndcg_ab.evaluation.judge_records import Judges
from ndcg_ab.evaluation.judges import what_judges_say
from ndcg_ab.evaluation.judging import about_judge
from ndcg_ab.evaluation.left_out import leave_out
from ndcg_ab.evaluation.outcome import Finding, LeftOut, Outcome
from ndcg_ab.evaluation.parity import verify
from ndcg_ab.evaluation.since_last import SinceLast, check_drops
from ndcg_ab.files import write_text
from ndcg_ab.full_disks import is_full, no_room
from ndcg_ab.history import bundles
from ndcg_ab.history.last_night import since_last
from ndcg_ab.history.repetitions import find_same, note_reuse
from ndcg_ab.sources import JUDGMENT
from ndcg_ab.sources.judgments import named_judgments

from .inputs import (
    PULLED,
    files_from,
    judgments_from,
    memory_of,
    names_sources,
    pulled_from,
    queries_from,
    rankings_from,
    remember,
    said_from,
    whole_rankings,
)
from .pulling import (
    Inputs,
    answers_told,
    judge_with_function,
    named_scores,
    pull_cheap,
    pull_judgments,
    pull_more,
    pull_named_queries,
    pull_ranking,
    pull_scores,
    scores_from,
    unchanged,
)

PUBLISHING = 180.0  # seconds that all publishing of a run may take, however often it is tried
OUTCOME, SINCE_LAST = "outcome.json", "since_last.json"
CHEAP = "cheap.parquet"  # what the cheap judgments gave, among what was pulled


@dataclasses.dataclass(frozen=True)
class Step:
    """One step.

    name: what people see of it; ``{name}`` in it stands for the system.  work: what it does.
    outside: whether it talks to the outside world: then it is tried again when it fails, and given up after a time.
    most_retries: how often at the most, whatever the configuration says; None: as often as that.
    told: what there is to say of its result; None: nothing.
    """

    name: str
    work: Callable[..., Any]
    outside: bool = False
    most_retries: int | None = None
    told: Callable[[Any], str | None] = lambda found: None

    def shown(self, *arguments: Any) -> str:
        """``pull bm25``: the name of this step with these arguments."""
        return self.name.format_map(inspect.signature(self.work).bind(*arguments).arguments)


Call = Callable[..., Any]  # called with a step and its arguments


@dataclasses.dataclass(frozen=True)
class Performed:
    """What a run came to: its bundle, whether that is an earlier one with the same content, and the tracker's word.

    published: url, trend_url and dashboard, delivered (earlier bundles that were pending), or pending: why not.
    """

    bundle: Path
    reused: bool
    published: Mapping[str, Any]


# ---- what the steps do


def load_and_check(evaluation: Evaluation, folder: Path, anew: bool = False) -> list[dict[str, Any]]:
    """anew: look at rankings again that have not changed."""
    if evaluation.scores:
        return load_scores(evaluation, folder)
    judgments = judgments_from(evaluation, folder)
    with opened(evaluation, folder) as engine:
        rankings = rankings_from(evaluation, folder, judgments, engine.memory, anew)
        read = pipeline.Read(judgments, queries_from(evaluation, folder), rankings)
        found: list[dict[str, Any]] = encode(pipeline.load_and_check(engine, read, evaluation))
        return found


def load_scores(evaluation: Evaluation, folder: Path) -> list[dict[str, Any]]:
    """The scores of another tool in the tables of ours."""
    with opened(evaluation, folder) as engine:
        pulled, queries = scores_from(evaluation, folder), queries_from(evaluation, folder)
        found: list[dict[str, Any]] = encode(given_scores.load_scores(engine, evaluation, pulled, queries))
        pipeline.write_query_scores(engine, folder / bundles.SCORES)
        return found


def score(evaluation: Evaluation, folder: Path) -> None:
    with opened(evaluation, folder) as engine:
        pipeline.score(engine, evaluation.metric_list)
        pipeline.write_query_scores(engine, folder / bundles.SCORES)


def verify_sample(evaluation: Evaluation, folder: Path) -> int:
    with opened(evaluation, folder) as engine:
        return verify(engine, evaluation.metric_list)


def score_cheaply(evaluation: Evaluation, folder: Path) -> list[dict[str, Any]]:
    """By the cheap judgments, in tables that are not kept; what the data check noticed about them."""
    assert evaluation.cheap_judgments is not None
    judgments = judgments_from(evaluation, folder)
    source = evaluation.cheap_judgments.source
    cheap = pulled_from(folder / PULLED / "cheap_judgments.parquet", JUDGMENT, source, evaluation)
    refuse_uncovered(judgments, cheap)
    with memory_of(evaluation, folder) as memory:
        rankings = whole_rankings(evaluation, folder, memory)
        read = pipeline.Read(judgments, queries_from(evaluation, folder), rankings, cheap=cheap)
        scored = by_cheap(evaluation, read)
    papq.write_table(scored.table, folder / PULLED / CHEAP, compression="zstd")
    found: list[dict[str, Any]] = encode(scored.findings)
    return found


def without_own_labels(evaluation: Evaluation, folder: Path) -> tuple[LeftOut, ...]:
    """The comparisons without what each system alone contributed, where judgments name their sources."""
    if evaluation.scores or not names_sources(evaluation, folder):
        return ()
    with memory_of(evaluation, folder) as memory:
        judgments, rankings = judgments_from(evaluation, folder), whole_rankings(evaluation, folder, memory)
        return leave_out(evaluation, pipeline.Read(judgments, queries_from(evaluation, folder), rankings))


def test_differences(
    evaluation: Evaluation, folder: Path, findings: list[dict[str, Any]], parity_queries: int | None, inputs: Inputs
) -> list[dict[str, Any]]:
    """Against the baseline, and every system against itself in the evaluation before."""
    path = folder / PULLED / CHEAP
    cheap = papq.read_table(path) if path.exists() else None
    said = said_from(evaluation, folder)
    function = about_judge(evaluation, files_from(evaluation, folder), said) if said else None
    judges = None if evaluation.scores else judges_of(evaluation, folder)
    beside = pipeline.Beside(cheap, judges, without_own_labels(evaluation, folder), function)
    with opened(evaluation, folder) as engine:
        noticed = decode(tuple[Finding, ...], findings)
        outcome = pipeline.conclude(engine, evaluation, noticed, parity_queries, beside)
        since = since_last(engine, evaluation, inputs, bundles.moment_of(folder), folder / bundles.SCORES)
        write_text(folder / SINCE_LAST, json.dumps(encode(since)))
        gates = (*check_gates(evaluation, outcome), *check_drops(evaluation, since))
        outcome = dataclasses.replace(outcome, gates=gates)
        write_text(folder / OUTCOME, outcome.to_json())
        return pipeline.extremes(engine)


def judges_of(evaluation: Evaluation, folder: Path) -> Judges | None:
    """What several judges say, in tables that are not kept; None where there are not several."""
    judgments = judgments_from(evaluation, folder)
    if judgments.singles is None:
        return None
    with memory_of(evaluation, folder) as memory:
        rankings = whole_rankings(evaluation, folder, memory)
        return what_judges_say(evaluation, pipeline.Read(judgments, queries_from(evaluation, folder), rankings))


def keep(evaluation: Evaluation, folder: Path, inputs: Inputs, extremes: list[dict[str, Any]]) -> Path:
    outcome = Outcome.read(folder / OUTCOME)
    since: SinceLast | None = decode(SinceLast, json.loads((folder / SINCE_LAST).read_text(encoding="utf-8")))
    for name in (OUTCOME, SINCE_LAST):
        (folder / name).unlink()
    return bundles.keep(folder, evaluation, outcome, inputs, extremes, since)


def draw_page(bundle: Path) -> None:
    from ndcg_ab.report.bundle_files import render

    render(bundle)


def publish(evaluation: Evaluation, bundle: Path, budget: Budget | None = None) -> dict[str, Any]:
    """Delivers the bundle, and before it those that are still pending, in their order.

    budget: the time for all of it, which attempts share; by default that of one attempt.
    """
    from ndcg_ab.tracking import tracker

    found, new = tracker().publish_pending(evaluation, bundle, budget)
    return {"url": found.url, "trend_url": found.trend_url, "dashboard": found.dashboard, "delivered": new}


PULL_JUDGMENTS = Step("pull judgments", pull_judgments, outside=True, told=unchanged)
PULL_MORE = Step("pull judgments {name}", pull_more, outside=True, told=unchanged)
PULL_CHEAP = Step("pull cheap judgments", pull_cheap, outside=True, told=unchanged)
PULL_QUERIES = Step("pull queries", pull_named_queries, outside=True)
PULL_RANKING = Step("pull {name}", pull_ranking, outside=True, told=unchanged)
JUDGE = Step("judge what the systems return", judge_with_function, outside=True, told=answers_told)
PULL_SCORES = Step("pull scores {name}", pull_scores, outside=True)
FIND_SAME = Step("look for an evaluation of the same inputs", find_same)
LOAD_AND_CHECK = Step("check the data", load_and_check)
SCORE = Step("score", score)
VERIFY = Step("recompute a sample in Python", verify_sample)
SCORE_CHEAPLY = Step("score by the cheap judgments", score_cheaply)
TEST_DIFFERENCES = Step("test the differences", test_differences)
KEEP = Step("write results and history", keep)
DRAW_PAGE = Step("draw the page", draw_page)
# A tracker's client has tried again by itself, and the next run delivers what is pending: one more attempt.
PUBLISH = Step("publish to MLflow", publish, outside=True, most_retries=1)

STEPS = (
    PULL_JUDGMENTS,
    PULL_MORE,
    PULL_CHEAP,
    PULL_QUERIES,
    PULL_RANKING,
    JUDGE,
    PULL_SCORES,
    FIND_SAME,
    LOAD_AND_CHECK,
    SCORE,
    VERIFY,
    SCORE_CHEAPLY,
    TEST_DIFFERENCES,
    KEEP,
    DRAW_PAGE,
    PUBLISH,
)


def count_of(evaluation: Evaluation) -> int:
    """How many steps a run takes whose result no earlier one has."""
    always = len(STEPS) - len((PULL_MORE, PULL_CHEAP, SCORE_CHEAPLY, JUDGE))
    if evaluation.scores:
        return len(evaluation.scores) + always - len((PULL_JUDGMENTS, PULL_RANKING, PULL_SCORES, SCORE, VERIFY))
    cheap = 0 if evaluation.cheap_judgments is None else len((PULL_CHEAP, SCORE_CHEAPLY))
    judged = len(evaluation.more_judgments) + 1  # files, and a function that judges
    return judged + len(evaluation.systems) + cheap + always - len((PULL_JUDGMENTS, PULL_RANKING, PULL_SCORES))


# ---- the run


def plain(step: Step, *arguments: Any) -> Any:
    """A step as a function call."""
    return step.work(*arguments)


def announced(say: Callable[[str], None], call: Call = plain, done: Callable[[], None] = lambda: None) -> Call:
    """The same call; `say` is told what begins and what there is to say of its result, `done` that it ended."""

    def announcing(step: Step, *arguments: Any) -> Any:
        say(step.shown(*arguments))
        found = call(step, *arguments)
        if told := step.told(found):
            say(f"{step.shown(*arguments)}: {told}")
        done()
        return found

    return announcing


def perform(
    evaluation: Evaluation,
    call: Call = plain,
    *,
    force: bool = False,
    at: datetime | None = None,
    when_kept: Callable[[Path, bool], None] = lambda bundle, reused: None,
    publishing: Budget | None = None,
) -> Performed:
    """The whole run.

    call: how a step is called; see `plain`.  force: read and compute anew what an earlier evaluation has already.
    at: the moment that it stands for, and that its dates are of; by default now.  when_kept: told the bundle as soon
    as it is safe, before anything else can fail.  publishing: the time for all of it; by default PUBLISHING.
    """
    moment = at or datetime.now(UTC)
    evaluation = at_moment(evaluation, moment)
    with bundles.working(evaluation, moment) as folder:
        (folder / PULLED).mkdir()
        if evaluation.scores:
            scores = [call(PULL_SCORES, evaluation, name, folder) for name in named_scores(evaluation)]
            inputs = [*scores, *call(PULL_QUERIES, evaluation, folder)]
            evaluation = given_scores.settled_by(evaluation, scores_from(evaluation, folder))
        else:
            files = named_judgments(evaluation)[: len(evaluation.judgment_places)]
            judgments = [call(PULL_JUDGMENTS, evaluation, folder, force)] if files else []
            judgments += [call(PULL_MORE, evaluation, name, folder, force) for name in files[1:]]
            cheap = [call(PULL_CHEAP, evaluation, folder, force)] if evaluation.cheap_judgments else []
            queries = call(PULL_QUERIES, evaluation, folder)
            rankings = [call(PULL_RANKING, evaluation, system.name, folder, force) for system in evaluation.systems]
            if evaluation.judge:
                judgments.append(call(JUDGE, evaluation, folder, force)["input"])
            inputs = [*judgments, *cheap, *rankings, *queries]
        same = None if force else call(FIND_SAME, evaluation, inputs, moment)
        if same is None:
            findings = call(LOAD_AND_CHECK, evaluation, folder, force)
            parity_queries = None
            if not evaluation.scores:
                call(SCORE, evaluation, folder)
                parity_queries = call(VERIFY, evaluation, folder)
            if evaluation.cheap_judgments:
                findings = [*findings, *call(SCORE_CHEAPLY, evaluation, folder)]
            extremes = call(TEST_DIFFERENCES, evaluation, folder, findings, parity_queries, inputs)
            remember(evaluation, folder)
            bundle = call(KEEP, evaluation, folder, inputs, extremes)
        else:
            bundle = same
            note_reuse(evaluation, same, moment)
    when_kept(bundle, same is not None)
    return finish(evaluation, bundle, same is not None, call, publishing)


def finish(
    evaluation: Evaluation, bundle: Path, reused: bool, call: Call = plain, publishing: Budget | None = None
) -> Performed:
    """The end of a run, when the bundle is safe: its page is drawn, the tracker is told, and what is too old goes."""
    try:
        call(DRAW_PAGE, bundle)
        published = {"pending": None, **call(PUBLISH, evaluation, bundle, publishing or Budget(PUBLISHING))}
    except Exception as error:  # whatever the tracker does, the work is done
        told = no_room(error, bundle) if is_full(error) and not isinstance(error, TrackingError) else error
        reason = str(told) if isinstance(told, TrackingError | InputError) else f"{type(error).__name__}: {error}"
        published = {"pending": redacted(reason), "url": None, "trend_url": None, "dashboard": None, "delivered": 0}
        published |= {"is_full": is_full(error)}
    bundles.retain(evaluation)
    return Performed(bundle, reused, published)


def opened(evaluation: Evaluation, folder: Path) -> Engine:
    return pipeline.opened(evaluation, folder / bundles.TABLES)
