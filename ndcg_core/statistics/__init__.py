"""Paired comparisons: tests, estimates, verdicts."""
