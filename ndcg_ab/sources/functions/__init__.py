"""Python functions that return rankings."""
