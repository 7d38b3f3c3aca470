"""Pairs of systems: families, slices, changes, gates."""
