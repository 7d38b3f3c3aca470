"""Define the stages of an evaluation that is stored: those of every evaluation, then history, page and tracker.

`STAGES` lists them in order; `run` and the Prefect flow perform it.
"""

from dataclasses import replace

from ndcg_ab.comparing.since_last import check_drops
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history.database import query_set_digest
from ndcg_ab.history.last_night import compare_with_last
from ndcg_ab.history.working_folder import nominal_time
from ndcg_ab.pipeline import STAGES as OF_EVERY_EVALUATION
from ndcg_ab.pipeline import Context, Stage
from ndcg_ab.pipeline.conclude import write_query_scores
from ndcg_ab.pipeline.stages import PULLS, TEST_DIFFERENCES, is_new
from ndcg_ab.runs.folder import RunFolder


def folder_of(run: Context) -> RunFolder:
    assert isinstance(run.store, RunFolder)
    return run.store


def find_reusable_bundle(run: Context, _: str) -> None:
    run.bundle = bundles.find_reusable(run.evaluation, folder_of(run).inputs(), run.start_time)
    if run.bundle is not None:
        run.reused = True
        bundles.record_reuse(run.evaluation, run.bundle, run.start_time)
        earlier = bundles.read_bundle(run.bundle).copy_for_rerun()
        run.outcome, run.since_last = earlier.outcome, earlier.since_last


def compare_with_previous(run: Context, _: str) -> None:
    """Compare every system with its results in the previous evaluation, and set `run.since_last`.

    The values per query are written to a file of the working folder. The second argument, the part of the stage, is
    unused.
    """
    store = folder_of(run)
    scores = store.folder / bundles.SCORES
    write_query_scores(store.engine, scores)
    start_time = nominal_time(store.folder)
    run.since_last = compare_with_last(store.engine, run.evaluation, store.inputs(), start_time, scores)


def keep(run: Context, _: str) -> None:
    """Turn the working folder into the bundle of the evaluation, and enter the evaluation in the history.

    Before that, the gates for drops since the previous evaluation are added to the outcome, and the inputs to the
    cache.
    """
    assert run.outcome is not None
    evaluation, store = run.evaluation, folder_of(run)
    gates = (*run.outcome.gates, *check_drops(evaluation, run.since_last))
    run.outcome = outcome = replace(run.outcome, gates=gates)
    store.cache_inputs(evaluation)
    store.engine.write_tables(store.folder / bundles.TABLES)
    judged_queries = query_set_digest(store.engine)
    store.close()  # what draws and publishes reads the bundle, and needs the memory
    inputs = store.inputs()
    run.bundle = bundles.finish_bundle(store.folder, evaluation, outcome, inputs, judged_queries, run.since_last)


def draw_page(run: Context, _: str) -> None:
    from ndcg_ab.report.bundle_files import render_bundle_page

    assert run.bundle is not None
    render_bundle_page(run.bundle)


def tracker_name(run: Context) -> str:
    from ndcg_ab.trackers import tracker_label

    return tracker_label(run.evaluation)


def publish(run: Context, _: str) -> None:
    """Publish the bundle to the tracker, and set `run.published`.

    Bundles whose publication is still pending are published before it.
    """
    from ndcg_ab.trackers import make_tracker

    assert run.bundle is not None
    at, new = make_tracker(run.evaluation).publish_pending(run.evaluation, run.bundle, run.publishing)
    run.published = {"url": at.url, "trend_url": at.trend_url, "dashboard": at.dashboard, "delivered": new}


def remove_old(run: Context, _: str) -> None:
    bundles.remove_old_bundles(run.evaluation)


FIND_SAME = Stage(
    "look for an evaluation of the same inputs",
    find_reusable_bundle,
    # what was measured again is shown, and no earlier result stands for it
    applies=lambda run: not run.force and not run.evaluation.costs,
)
COMPARE_WITH_PREVIOUS = Stage("compare with the previous evaluation", compare_with_previous, applies=is_new)
KEEP = Stage("write results and history", keep, applies=is_new)
DRAW_PAGE = Stage("draw the page", draw_page, applies=lambda run: run.pending is None)
# A tracker's client has tried again by itself, and the next run delivers what is pending: one more attempt.
PUBLISH = Stage(
    "publish to {name}",
    publish,
    parts=lambda run: (tracker_name(run),),
    applies=lambda run: run.pending is None,
    outside=True,
    most_retries=1,
)
REMOVE_OLD = Stage(
    "remove what is too old",
    remove_old,
    applies=lambda run: {run.evaluation.retention.bundles, run.evaluation.retention.query_scores} != {None},
)

UNTIL_KEPT = (
    *PULLS,
    FIND_SAME,
    *OF_EVERY_EVALUATION[len(PULLS) : -1],
    COMPARE_WITH_PREVIOUS,
    TEST_DIFFERENCES,
    KEEP,
)
STAGES = (*UNTIL_KEPT, DRAW_PAGE, PUBLISH, REMOVE_OLD)
