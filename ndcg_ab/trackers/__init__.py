"""Trackers that keep results for dashboards: MLflow, JSON Lines in a folder, and those of other packages."""

from ndcg_ab.trackers.base import Published, Tracker
from ndcg_ab.trackers.registry import (
    make_tracker,
    refuse_unknown_tracker,
    tracker_for_bundle,
    tracker_label,
    tracker_libraries,
)

__all__ = [
    "Published",
    "Tracker",
    "make_tracker",
    "refuse_unknown_tracker",
    "tracker_for_bundle",
    "tracker_label",
    "tracker_libraries",
]
