"""A kept evaluation from its configuration to its bundle, page and tracker."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ndcg_ab.config.loading.templates import resolve_at
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.errors import InputError, TrackingError, words_of
from ndcg_ab.full_disks import is_full, no_room
from ndcg_ab.history.bundles import bundle as bundles
from ndcg_ab.pipeline import Context, Say, run_stages
from ndcg_ab.pipeline.run import Call, call_directly
from ndcg_ab.pipeline.stages import AFTERWARDS, UNTIL_KEPT
from ndcg_ab.runs.folder import RunFolder
from ndcg_ab.trackers import refuse_unknown_tracker


@dataclass(frozen=True)
class Performed:
    """What a run came to: its bundle, whether that is an earlier one with the same content, and the tracker's word.

    published: tracker (its name), url, trend_url and dashboard, delivered (earlier bundles that were pending), or
    pending: why not.
    """

    bundle: Path
    reused: bool
    published: dict[str, Any]


def perform_run(
    evaluation: Evaluation,
    call: Call = call_directly,
    *,
    say: Say = lambda text: None,
    force: bool = False,
    at: datetime | None = None,
    when_begun: Callable[[Context], None] = lambda context: None,
    when_kept: Callable[[Context], None] = lambda context: None,
) -> Performed:
    """The whole run.

    call: how a part of a stage is called; see `call_directly`.  say: told what goes on inside a long stage.
    force: read and compute again what an earlier evaluation has already.
    at: the moment that it stands for, and that its dates are of; by default now.
    when_begun: told the context before the first stage.  when_kept: told it as soon as the bundle is safe,
    before anything else can fail.
    """
    refuse_unknown_tracker(evaluation)
    moment = at or datetime.now(UTC)
    evaluation = resolve_at(evaluation, moment)
    with bundles.working_folder(evaluation, moment) as folder, RunFolder(evaluation, folder) as store:
        context = Context(evaluation, store, say, force=force, moment=moment)
        when_begun(context)
        run_stages(context, UNTIL_KEPT, call)
    assert context.bundle is not None
    when_kept(context)
    return finish_run(context, call)


def finish_run(context: Context, call: Call = call_directly) -> Performed:
    """The end of a run, when the bundle is safe: its page is drawn, the tracker gets it, and what is too old goes."""
    assert context.bundle is not None
    pending = None
    try:
        run_stages(context, AFTERWARDS, call)
    except Exception as error:  # whatever the tracker does, the work is done
        told = no_room(error, context.bundle) if is_full(error) and not isinstance(error, TrackingError) else error
        reason = (
            str(told) if isinstance(told, TrackingError | InputError) else f"{type(error).__name__}: {words_of(error)}"
        )
        context.published = {"url": None, "trend_url": None, "dashboard": None, "delivered": 0}
        context.published["is_full"] = is_full(error)
        pending = redact(reason)
    bundles.remove_old_bundles(context.evaluation)
    published = {**context.published, "pending": pending, "tracker": context.store.tracker_label}
    return Performed(context.bundle, context.reused, published)
