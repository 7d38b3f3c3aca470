"""Check inputs before scoring, and report findings; one module for each group of checks."""
