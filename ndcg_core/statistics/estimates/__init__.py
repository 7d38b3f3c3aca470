"""Estimate paired differences: intervals, power, and corrections by other judgments."""
