"""Check inputs before scoring, and report findings."""
