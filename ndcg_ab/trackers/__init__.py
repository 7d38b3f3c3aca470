"""Find the tracker that stores an evaluation's results: MLflow, JSON Lines, or an extension."""

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import TrackerChoice
from ndcg_ab.errors import InputError, format_value, require_libraries
from ndcg_ab.extensions import TRACKERS as GROUP
from ndcg_ab.extensions import extensions, load_extension, translate_foreign_errors
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


class BuiltInTracker(NamedTuple):
    """A tracker that is part of ndcg-ab.

    label: its name in messages. implementation: the names of its module and class, imported when needed. libraries: the
    optional libraries that it needs.
    """

    label: str
    implementation: tuple[str, str]
    libraries: tuple[str, ...] = ()

    def load(self) -> type[Tracker]:
        require_libraries("ndcg-ab publish", *self.libraries)
        module, name = self.implementation
        tracker: type[Tracker] = getattr(import_module(f"ndcg_ab.trackers.{module}"), name)
        return tracker


TRACKERS = {
    "mlflow": BuiltInTracker("MLflow", ("mlflow", "MlflowTracker"), ("mlflow",)),
    "json_lines": BuiltInTracker("JSON Lines", ("json_lines", "JsonLinesTracker")),
}
"""Name in a configuration -> tracker."""


def tracker_label(evaluation: Evaluation) -> str:
    """Return the name of an evaluation's tracker in messages, without importing the tracker."""
    name = evaluation.tracker.name
    return TRACKERS[name].label if name in TRACKERS else name


def tracker_libraries(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the optional libraries that an evaluation's tracker needs."""
    name = evaluation.tracker.name
    return TRACKERS[name].libraries if name in TRACKERS else ()


def make_tracker(evaluation: Evaluation) -> Tracker:
    """Make the tracker of an evaluation; raise InputError for an unknown name or wrong options."""
    name = evaluation.tracker.name
    with translate_foreign_errors(f"tracker = {name!r} failed"):
        tracker = (TRACKERS[name].load() if name in TRACKERS else load_added_tracker(name))(evaluation)
        tracker.label = tracker_label(evaluation)
    return tracker


def tracker_for_bundle(evaluation: Evaluation | None, folder: Path) -> Tracker:
    """Make the tracker of an evaluation, or of the bundle in a folder if the evaluation is None.

    A bundle may come from somebody else.  Raise InputError if it names another tracker than MLflow, which could write
    anywhere.
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
    """Raise InputError if the tracker of an evaluation is unknown or has wrong options, before anything is read."""
    if evaluation.tracker.name not in TRACKERS or evaluation.tracker.options:
        make_tracker(evaluation)


def load_added_tracker(name: str) -> type[Tracker]:
    """Return the tracker class that an installed package adds; raise InputError if none has this name."""
    added = extensions(GROUP)
    if name not in added:
        names = ", ".join(sorted({*TRACKERS, *added}))
        raise InputError(
            f"tracker = {format_value(name)}: there is none of this name; take one of {names}, or install the package"
            " that adds it"
        )
    tracker = load_extension(added[name])
    if not (isinstance(tracker, type) and issubclass(tracker, Tracker)):
        raise InputError(f"tracker = {name!r}: {added[name].value} is no subclass of ndcg_ab.trackers.Tracker")
    return tracker
