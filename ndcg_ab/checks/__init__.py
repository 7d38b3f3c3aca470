"""Findings: what the data check notices, one module for each group."""
