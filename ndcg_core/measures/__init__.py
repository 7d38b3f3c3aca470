"""Effectiveness measures: definitions, and the value of one query."""
