"""Trackers that keep results for dashboards: MLflow, JSON Lines in a folder, and those of other packages."""

from ndcg_ab.trackers.base import Published, Tracker
from ndcg_ab.trackers.registry import label_of, refuse_unknown_tracker, tracker, tracker_of

__all__ = ["Published", "Tracker", "label_of", "refuse_unknown_tracker", "tracker", "tracker_of"]
