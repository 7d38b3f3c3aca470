"""Trackers that keep results for dashboards."""

from ndcg_ab.tracking.base import Published, Tracker

__all__ = ["Published", "Tracker", "tracker"]


def tracker() -> Tracker:
    """The tracker that results go to."""
    from ndcg_ab.tracking.mlflow import MlflowTracker

    return MlflowTracker()
