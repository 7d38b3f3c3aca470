"""Estimates of paired differences: intervals, power, corrections by other judgments."""
