"""Find the tracker that stores an evaluation's results: MLflow, JSON Lines, or an extension."""

from importlib.metadata import EntryPoint
from pathlib import Path

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import TrackerChoice
from ndcg_ab.errors import InputError, require_libraries
from ndcg_ab.extensions import TRACKERS as GROUP
from ndcg_ab.extensions import load_named, translate_foreign_errors
from ndcg_ab.history.bundle import read_bundle
from ndcg_ab.trackers.base import Published, Tracker

__all__ = [
    "Published",
    "Tracker",
    "make_tracker",
    "refuse_unknown_tracker",
    "tracker_for_bundle",
    "tracker_label",
    "tracker_libraries",
]

TRACKERS = {
    "mlflow": EntryPoint("MLflow", "ndcg_ab.trackers.mlflow:MlflowTracker [mlflow]", GROUP),
    "json_lines": EntryPoint("JSON Lines", "ndcg_ab.trackers.json_lines:JsonLinesTracker", GROUP),
}
"""Name in a configuration -> a built-in tracker: its name in messages, its class, and the libraries it needs."""


def tracker_label(evaluation: Evaluation) -> str:
    """Return the name that messages use for an evaluation's tracker. The tracker is not imported."""
    name = evaluation.tracker.name
    return TRACKERS[name].name if name in TRACKERS else name


def tracker_libraries(evaluation: Evaluation) -> list[str]:
    """Return the optional libraries that an evaluation's tracker needs."""
    name = evaluation.tracker.name
    return TRACKERS[name].extras if name in TRACKERS else []


def make_tracker(evaluation: Evaluation) -> Tracker:
    """Return the tracker of an evaluation.

    Raise InputError if its name is unknown, its options are wrong, or a library that it needs is not installed.
    """
    name = evaluation.tracker.name
    with translate_foreign_errors(f"tracker = {name!r} failed"):
        require_libraries("ndcg-ab publish", *tracker_libraries(evaluation))
        tracker = (TRACKERS[name].load() if name in TRACKERS else load_added_tracker(name))(evaluation)
        tracker.label = tracker_label(evaluation)
    return tracker


def tracker_for_bundle(evaluation: Evaluation | None, folder: Path) -> Tracker:
    """Return the tracker for publishing a bundle, which is the folder of one evaluation's results.

    evaluation: the current configuration, which decides the tracker; None if only the bundle is given.
    folder: the bundle, whose stored configuration decides the tracker if `evaluation` is None.

    Raise InputError if the bundle's own configuration decides and names another tracker than MLflow: the bundle may
    come from somebody else, and such a tracker could write anywhere.
    """
    if evaluation is not None:
        return make_tracker(evaluation)
    found = read_bundle(folder).evaluation
    if found.tracker != TrackerChoice():
        raise InputError(
            f"{folder}: goes to {tracker_label(found)}, which a bundle alone does not decide: publish by the"
            " configuration: ndcg-ab publish CONFIG"
        )
    return make_tracker(found)


def refuse_unknown_tracker(evaluation: Evaluation) -> None:
    """Raise InputError if the tracker of an evaluation is unknown or has wrong options.

    No data are read for this check.
    """
    if evaluation.tracker.name not in TRACKERS or evaluation.tracker.options:
        make_tracker(evaluation)


def load_added_tracker(name: str) -> type[Tracker]:
    """Return the tracker class that an installed package adds under a name.

    Raise InputError if no package adds the name, or if what it adds is no subclass of Tracker.
    """
    tracker = load_named(GROUP, name, "tracker = ", TRACKERS)
    if not (isinstance(tracker, type) and issubclass(tracker, Tracker)):
        raise InputError(f"tracker = {name!r}: {tracker!r} is no subclass of ndcg_ab.trackers.Tracker")
    return tracker
