"""Test paired differences: sign flips, bootstrap, families, and the bound for guardrails."""

DEFAULT_SEED = 1935
DEFAULT_RESAMPLES = 10_000
