"""Bundles in MLflow: what a run, its tags, metrics, files and views are there."""
