"""The stages of an evaluation, in one list: `compare`, the Python API, `run` and a Prefect run go through the same.

A stage reads and writes the store of its context, and says what there is to say of its result.  With Prefect every
stage is a task, without it a function call.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model import Evaluation
from ndcg_ab.evaluation import given_scores
from ndcg_ab.evaluation.cheap import refuse_uncovered
from ndcg_ab.evaluation.cheap import score_cheaply as score_by_cheap
from ndcg_ab.evaluation.concluding import conclude, extremes
from ndcg_ab.evaluation.gates import check_gates
from ndcg_ab.evaluation.judge_records import Judges
from ndcg_ab.evaluation.judges import what_judges_say
from ndcg_ab.evaluation.judging import about_judge, judged_by
from ndcg_ab.evaluation.left_out import leave_out, sources_among
from ndcg_ab.evaluation.outcome import Finding, LeftOut, Outcome
from ndcg_ab.evaluation.parity import verify
from ndcg_ab.evaluation.scoring import load_and_check, score
from ndcg_ab.evaluation.since_last import SinceLast, check_drops
from ndcg_ab.pipeline.store import (
    CHEAP,
    INTENDED,
    JUDGED_BY_FUNCTION,
    QUERIES,
    Place,
    Store,
    judgments_key,
    ranking_key,
    scores_key,
)
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, pull, pull_queries
from ndcg_ab.sources.judgments import judgments_layout, named_judgments, pull_judged
from ndcg_ab.sources.queries import INTENDED as INTENDED_LAYOUT
from ndcg_ab.sources.queries import layout_of
from ndcg_ab.sources.scores import PULLED as SCORES

Say = Callable[[str], None]


@dataclasses.dataclass
class Context:
    """One evaluation on its way through the stages.

    evaluation: scores of another tool settle its systems and metrics once they are read.  store: its inputs and tables.
    say: told what goes on inside a long stage.  force: read and compute again what an earlier evaluation has already.
    moment: that it stands for.  summed_up: say something of each system by itself, beside the differences.
    The rest is what stages found: see the stages of these names.
    """

    evaluation: Evaluation
    store: Store
    say: Say = lambda text: None
    force: bool = False
    moment: datetime = dataclasses.field(default_factory=lambda: datetime.now(UTC))
    summed_up: bool = True
    findings: list[Finding] = dataclasses.field(default_factory=list)
    parity_queries: int | None = None
    cheap: pa.Table | None = None
    judges: Judges | None = None
    left_out: tuple[LeftOut, ...] = ()
    since_last: SinceLast | None = None
    outcome: Outcome | None = None
    extremes: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    bundle: Path | None = None
    reused: bool = False
    published: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stage.

    name: what people see of it; ``{name}`` in it stands for the part.  run: does one part of it, and returns what there
    is to say of the result, or None.  parts: the names of its parts; one without a name where it has none.
    applies: whether it is to be done, as far as is known by now.
    outside: whether it talks to the outside world: then Prefect tries it again when it fails, and gives it up after a
    time.  most_retries: how often at the most, whatever the configuration says; None: as often as that.
    """

    name: str
    run: Callable[[Context, str], str | None]
    parts: Callable[[Context], Iterable[str]] = lambda context: ("",)
    applies: Callable[[Context], bool] = lambda context: True
    outside: bool = False
    most_retries: int | None = None

    def shown(self, part: str) -> str:
        """``pull bm25``: the name of this stage with a part of it."""
        return self.name.format(name=part)

    def parts_left(self, context: Context) -> list[str]:
        """The parts that are to be done; none where the stage does not apply."""
        return list(self.parts(context)) if self.applies(context) else []


# ---- inputs


def pull_judgments(context: Context, name: str) -> str | None:
    """The judgments of the first place, or of the named one."""
    at = named_judgments(context.evaluation).index(name) if name else 0
    source = context.evaluation.judgment_sources[at]
    return context.store.add(
        Place(judgments_key(at), source, judgments_layout(source), source.shown, "judgments"),
        lambda: pull_judged(source, context.evaluation.directory),
        force=context.force,
    )


def pull_cheap(context: Context, _: str) -> str | None:
    assert context.evaluation.cheap_judgments is not None
    source = context.evaluation.cheap_judgments.source
    said = context.store.add(
        Place(CHEAP, source, JUDGMENT, source.shown, "cheap judgments"),
        lambda: pull(source, JUDGMENT, context.evaluation.directory),
        force=context.force,
    )
    refuse_uncovered_queries(context)
    return said


def refuse_uncovered_queries(context: Context) -> None:
    """As soon as both are there: a function judges last."""
    judgments, cheap = context.store.judgments(), context.store.get(CHEAP)
    if judgments is not None and cheap is not None:
        refuse_uncovered(judgments, cheap)


def pull_named_queries(context: Context, _: str) -> None:
    """The queries that a file names, and those that a change was meant for."""
    evaluation, store = context.evaluation, context.store
    found = pull_queries(evaluation)
    if (queries := found.pulled) is not None and evaluation.queries is not None:
        source = evaluation.queries.source
        place = Place(QUERIES, source, layout_of(evaluation), source.shown, "queries", is_remembered=False)
        store.add(place, lambda: queries)
    if (intended := found.intended) is not None and evaluation.intended is not None:
        source, layout = evaluation.intended, INTENDED_LAYOUT
        store.add(Place(INTENDED, source, layout, source.shown, "intended", is_remembered=False), lambda: intended)


def pull_ranking(context: Context, name: str) -> str | None:
    evaluation, store = context.evaluation, context.store
    at, system = next((at, each) for at, each in enumerate(evaluation.systems) if each.name == name)
    source, key = system.source, ranking_key(at)
    queries = store.queries() if source.needs_queries else Queries()
    with store.memory() as memory:

        def read() -> Pulled:
            wanted = store.wanted()
            found = read_as_wanted(wanted)
            return found if wanted is None or store.holds_enough(found) else read_as_wanted(None)

        def read_as_wanted(wanted: Any) -> Pulled:
            return pull(
                source,
                RANKING,
                evaluation.directory,
                queries.texts,
                attributes=attributes_for(source, queries),
                folder=store.answers_folder(key),
                keep=store.keep_file(key, memory),
                wanted=wanted,
                threads=evaluation.resources.threads,
            )

        return store.add(Place(key, source, RANKING, name, "ranking", system.version), read, force=context.force)


def attributes_for(source: Any, queries: Queries) -> Mapping[str, Mapping[str, str]]:
    """query_id -> {column: value}, where the requests to a source name columns of the queries."""
    return queries.records if getattr(source, "attributes", ()) else {}


def judge_with_function(context: Context, _: str) -> str:
    """What a function says of what the systems return."""
    evaluation, store = context.evaluation, context.store
    judge = evaluation.judge
    assert judge is not None
    with store.memory() as memory:
        rankings = store.rankings(memory, whole=True)
        since = store.asked_since(context.force)
        found, known = judged_by(judge, evaluation, store.files(), store.queries(), rankings, context.say, since)
    place = Place(JUDGED_BY_FUNCTION, judge, found.layout, judge.shown, "judgments", is_remembered=False)
    store.add(place, lambda: found)
    refuse_uncovered_queries(context)
    return f"{found.count:,} grades ({known:,} answers known)"


def pull_scores(context: Context, name: str) -> str | None:
    at = named_scores(context).index(name)
    described = context.evaluation.scores[at]
    return context.store.add(
        Place(scores_key(at), described, SCORES, described.shown, "scores", is_remembered=False),
        lambda: pull(described, SCORES, context.evaluation.directory),
    )


def named_scores(context: Context) -> list[str]:
    """What the places of scores are called: by their systems or files, with a number where a name comes again."""
    names = [each.shown for each in context.evaluation.scores]
    return [
        name if names.count(name) == 1 else f"{name} {names[: at + 1].count(name)}" for at, name in enumerate(names)
    ]


def settle(context: Context, _: str) -> None:
    """The systems and metrics that the scores name."""
    context.evaluation = given_scores.settled_by(context.evaluation, context.store.scores())


# ---- scores


def find_same(context: Context, _: str) -> None:
    context.bundle = context.store.find_same(context)
    context.reused = context.bundle is not None


def check_data(context: Context, _: str) -> None:
    """The tables, and what the data check notices."""
    evaluation, store = context.evaluation, context.store
    with store.engine() as engine:
        if evaluation.scores:
            found = given_scores.load_scores(engine, evaluation, store.scores(), store.queries())
            if store.keeps:
                store.write_scores(engine)
        else:
            read = store.read(engine.memory, force=context.force)
            found = load_and_check(engine, read, evaluation)
    context.findings = list(found)


def score_all(context: Context, _: str) -> None:
    with context.store.engine() as engine:
        score(engine, context.evaluation.metric_list, summed_up=context.summed_up)
        if context.store.keeps:
            context.store.write_scores(engine)


def verify_sample(context: Context, _: str) -> None:
    with context.store.engine() as engine:
        context.parity_queries = verify(engine, context.evaluation.metric_list)


# ---- what other judgments say


def score_cheaply(context: Context, _: str) -> None:
    """By the cheap judgments, in tables that are not kept; what the data check noticed about them."""
    with context.store.memory() as memory:
        scored = score_by_cheap(context.evaluation, context.store.read(memory, whole=True))
    context.cheap = scored.table
    context.findings = [*context.findings, *scored.findings]


def score_by_judges(context: Context, _: str) -> None:
    """What each of several judges says, in tables that are not kept."""
    with context.store.memory() as memory:
        context.judges = what_judges_say(context.evaluation, context.store.read(memory, whole=True))


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
    """Against the baseline, and where something was kept every system against itself in the evaluation before."""
    evaluation, store = context.evaluation, context.store
    function = about_judge(evaluation, store.files(), said) if (said := store.by_function()) else None
    with store.engine() as engine:
        outcome = conclude(
            engine,
            evaluation,
            context.findings,
            context.parity_queries,
            cheap=context.cheap,
            judges=context.judges,
            left_out=context.left_out,
            function=function,
        )
        gates = check_gates(evaluation, outcome)
        if store.keeps:
            context.since_last = store.since_last(engine, context)
            context.extremes = extremes(engine)
            gates = (*gates, *check_drops(evaluation, context.since_last))
        context.outcome = dataclasses.replace(outcome, gates=gates)


def keep(context: Context, _: str) -> None:
    context.bundle = context.store.keep(context)


def draw_page(context: Context, _: str) -> None:
    context.store.draw_page(context)


def publish(context: Context, _: str) -> None:
    context.published = context.store.publish(context)


# ---- the list


def has_rankings(context: Context) -> bool:
    return not context.evaluation.scores


def has_scores(context: Context) -> bool:
    return bool(context.evaluation.scores)


def is_new(context: Context) -> bool:
    """No earlier evaluation stands for this one."""
    return context.bundle is None


def of_rankings(context: Context) -> bool:
    return has_rankings(context) and is_new(context)


def first_judgments(context: Context) -> bool:
    return has_rankings(context) and bool(context.evaluation.judgment_sources)


def more_judgments(context: Context) -> list[str]:
    return named_judgments(context.evaluation)[1 : len(context.evaluation.judgment_sources)]


PULL_JUDGMENTS = Stage("pull judgments", pull_judgments, applies=first_judgments, outside=True)
PULL_MORE = Stage("pull judgments {name}", pull_judgments, more_judgments, has_rankings, outside=True)
PULL_CHEAP = Stage(
    "pull cheap judgments",
    pull_cheap,
    applies=lambda context: context.evaluation.cheap_judgments is not None,
    outside=True,
)
PULL_SCORES = Stage("pull scores {name}", pull_scores, named_scores, outside=True)
PULL_QUERIES = Stage("pull queries", pull_named_queries, outside=True)
PULL_RANKING = Stage(
    "pull {name}",
    pull_ranking,
    lambda context: [system.name for system in context.evaluation.systems],
    has_rankings,
    outside=True,
)
JUDGE = Stage(
    "judge what the systems return",
    judge_with_function,
    applies=lambda context: context.evaluation.judge is not None,
    outside=True,
)
SETTLE = Stage("take systems and metrics from the scores", settle, applies=has_scores)
FIND_SAME = Stage(
    "look for an evaluation of the same inputs",
    find_same,
    applies=lambda context: context.store.keeps and not context.force,
)
CHECK_DATA = Stage("check the data", check_data, applies=is_new)
SCORE = Stage("score", score_all, applies=of_rankings)
VERIFY = Stage("recompute a sample in Python", verify_sample, applies=of_rankings)
SCORE_CHEAPLY = Stage(
    "score by the cheap judgments",
    score_cheaply,
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
KEEP = Stage("write results and history", keep, applies=lambda context: context.store.keeps and is_new(context))
DRAW_PAGE = Stage("draw the page", draw_page, applies=lambda context: context.store.keeps)
# A tracker's client has tried again by itself, and the next run delivers what is pending: one more attempt.
PUBLISH = Stage("publish to MLflow", publish, applies=lambda context: context.store.keeps, outside=True, most_retries=1)

STAGES = (
    PULL_JUDGMENTS,
    PULL_MORE,
    PULL_CHEAP,
    PULL_SCORES,
    PULL_QUERIES,
    PULL_RANKING,
    JUDGE,
    SETTLE,
    FIND_SAME,
    CHECK_DATA,
    SCORE,
    VERIFY,
    SCORE_CHEAPLY,
    SCORE_BY_JUDGES,
    LEAVE_OUT,
    TEST_DIFFERENCES,
    KEEP,
    DRAW_PAGE,
    PUBLISH,
)
PULLS = STAGES[: STAGES.index(SETTLE)]
UNTIL_KEPT, AFTERWARDS = STAGES[: STAGES.index(DRAW_PAGE)], STAGES[STAGES.index(DRAW_PAGE) :]
