"""Tests of paired differences: sign flips, bootstrap, families, and the guardrails' bound."""
