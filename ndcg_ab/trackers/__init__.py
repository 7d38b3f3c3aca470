"""Trackers that keep results for dashboards: MLflow, JSON Lines in a folder, and those that other packages add."""

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import TrackerChoice
from ndcg_ab.errors import InputError, format_value, needs
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


class Kind(NamedTuple):
    """A tracker of ours.

    label: its name in messages. place: module and class, imported when it is asked for. libraries: of OPTIONAL.
    """

    label: str
    place: tuple[str, str]
    libraries: tuple[str, ...] = ()

    def load(self) -> type[Tracker]:
        needs("ndcg-ab publish", *self.libraries)
        module, name = self.place
        found: type[Tracker] = getattr(import_module(f"ndcg_ab.trackers.{module}"), name)
        return found


TRACKERS = {
    "mlflow": Kind("MLflow", ("mlflow.tracker", "MlflowTracker"), ("mlflow",)),
    "json_lines": Kind("JSON Lines", ("json_lines", "JsonLinesTracker")),
}
"""Name in a configuration -> tracker."""


def tracker_label(evaluation: Evaluation) -> str:
    """Return the tracker's name in messages, without importing it."""
    name = evaluation.tracker.name
    return TRACKERS[name].label if name in TRACKERS else name


def tracker_libraries(evaluation: Evaluation) -> tuple[str, ...]:
    """What the tracker needs of what an installation may lack."""
    name = evaluation.tracker.name
    return TRACKERS[name].libraries if name in TRACKERS else ()


def make_tracker(evaluation: Evaluation) -> Tracker:
    """The tracker that an evaluation's results go to; InputError for an unknown name or wrong options."""
    name = evaluation.tracker.name
    with translate_foreign_errors(f"tracker = {name!r} failed"):
        found = (TRACKERS[name].load() if name in TRACKERS else load_added_tracker(name))(evaluation)
        found.label = tracker_label(evaluation)
    return found


def tracker_for_bundle(evaluation: Evaluation | None, folder: Path) -> Tracker:
    """The tracker of an evaluation as it is configured, or else that of the bundle in a folder.

    A bundle may come from somebody else: what it says of a tracker other than MLflow is not followed, since that may
    write where it likes.  Raises InputError for such a bundle.
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
    """Raises InputError where `make_tracker` would, before anything is read; imports what is not ours alone."""
    if evaluation.tracker.name not in TRACKERS or evaluation.tracker.options:
        make_tracker(evaluation)


def load_added_tracker(name: str) -> type[Tracker]:
    """A tracker of an installed package."""
    added = extensions(GROUP)
    if name not in added:
        known = ", ".join(sorted({*TRACKERS, *added}))
        raise InputError(
            f"tracker = {format_value(name)}: there is none of this name; take one of {known}, or install the package"
            " that adds it"
        )
    found = load_extension(added[name])
    if not (isinstance(found, type) and issubclass(found, Tracker)):
        raise InputError(f"tracker = {name!r}: {added[name].value} is no subclass of ndcg_ab.trackers.Tracker")
    return found
