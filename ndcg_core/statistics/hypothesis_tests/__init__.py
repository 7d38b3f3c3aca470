"""Tests of paired differences: sign flips, bootstrap, families, and the guardrails' bound."""

DEFAULT_SEED = 1935
DEFAULT_RESAMPLES = 10_000
