"""Finished evaluations on disk, one folder each."""
